/* world_queries.c - methods of a router that only read. */
#include "skynet/world.h"

/* where(id): the position of an own entity after all accepted moves; nothing: not an own entity. */
static int r_where(lua_State *L) {
    world_router *r = world_self(L);
    world_record *record;
    uint32_t slot = world_slot(r, laoi_integer(L, 2), &record);
    if (!world_is_own(record)) return 0;
    double pos[3];
    (void)world_place(r, slot, record, pos);
    for (int a = 0; a < r->space->dims; a++) lua_pushnumber(L, pos[a]);
    return r->space->dims;
}

/* life(id): the life of an entity of the core, real or ghost; nothing: not in the core. */
static int r_life(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    if (!record) return 0;
    return LAOI_INTEGERS(L, record->life);
}

/* counts(): reals, ghosts; totals of rows written of MOVE, NEAR, FAR. */
static int r_counts(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_records *w = &r->space->core->records;
    int64_t reals = 0, ghosts = 0;
    for (uint32_t i = 0; i < w->entity_top; i++) {
        if (!aoi_is_live(w->entities[i].generation)) continue;
        if (i < r->record_cap && r->records[i].flags & WORLD_REAL) reals++;
        else ghosts++;
    }
    laoi_pushinteger(L, reals);
    laoi_pushinteger(L, ghosts);
    for (int tag = WORLD_MOVE; tag <= WORLD_FAR; tag++) laoi_pushinteger(L, (int64_t)r->rows[tag]);
    return 5;
}

enum { OWN, DISTANT, UNCONFIRMED };

static bool matches_question(const world_router *r, uint32_t slot, int what, int64_t epoch) {
    const world_record *record = r->records + slot;
    double pos[3];
    if (what == OWN) return world_is_own(record);
    if (what == UNCONFIRMED) return record->unconfirmed && record->unconfirmed <= epoch;
    (void)aoi_position(r->space->core, world_handle(r, slot), pos);
    return !(record->flags & WORLD_REAL) && !world_has_member(r->map, world_audience(r->map, pos), r->self);
}

/* ids(what [, epoch]): a list of ids and its length: "own" entities; "distant" ghosts, on tiles without this shard in
 * the audience; or ghosts "unconfirmed" since that epoch or an earlier one. */
static int r_ids(lua_State *L) {
    static const char *const whats[] = {"own", "distant", "unconfirmed", NULL};
    world_router *r = world_self(L);
    const int what = luaL_checkoption(L, 2, NULL, whats);
    const int64_t epoch = what == UNCONFIRMED ? laoi_integer(L, 3) : 0;
    int64_t n = 0;
    lua_newtable(L); /* may run a finalizer, which may close the space */
    for (uint32_t i = 0; r->space->core && i < r->space->core->records.entity_top && i < r->record_cap; i++) {
        const aoi_entity_record *e = r->space->core->records.entities + i;
        if (!aoi_is_live(e->generation) || !matches_question(r, i, what, epoch)) continue;
        laoi_set_item(L, -1, (laoi_index)++n, e->id);
    }
    laoi_pushinteger(L, n);
    return 2;
}

/* wholes(): a flat list of pairs, an entity with traits and a shard that receives it as NEAR, since the last call; and
 * the number of pairs. */
static int r_wholes(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t n = r->whole_count;
    lua_createtable(L, (int)(2 * n), 0);
    for (uint32_t i = 0; i < n; i++) {
        laoi_set_item(L, -1, (laoi_index)(2 * i) + 1, r->wholes[i].id);
        laoi_set_item(L, -1, (laoi_index)(2 * i) + 2, r->wholes[i].shard);
    }
    r->whole_count = 0;
    laoi_pushinteger(L, n);
    return 2;
}

/* audience(id): the shards that receive an entity in the closed epoch, known exactly only for an own entity; nothing:
 * not in the core. */
static int r_audience(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    return record ? world_push_shards(L, world_audience_of(r, record, record->audience, WORLD_IS)) : 0;
}

const luaL_Reg world_query_methods[] = {{"wholes", r_wholes}, {"audience", r_audience}, {"where", r_where},
                                        {"life", r_life},     {"counts", r_counts},     {"ids", r_ids},
                                        {NULL, NULL}};
