/* world_queries.c - what a router says of its entities. */
#include "lua/world.h"

/* where(id): the position of an own entity after all that has been accepted; nothing if it is none. */
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

/* life(id): of an entity of the core, real or ghost; nothing if it is not there. */
static int r_life(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    if (!record) return 0;
    laoi_pushinteger(L, record->life);
    return 1;
}

/* counts(): reals, ghosts, and the rows written so far: moves, nears, fars. */
static int r_counts(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_world *w = &r->space->core->world;
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

enum { OWN, DISTANT, DOUBTED };

static bool is_among(const world_router *r, uint32_t slot, int what, int64_t epoch) {
    const world_record *record = r->records + slot;
    double pos[3];
    if (what == OWN) return world_is_own(record);
    if (what == DOUBTED) return record->doubted && record->doubted <= epoch;
    (void)aoi_position(r->space->core, world_handle(r, slot), pos);
    return !(record->flags & WORLD_REAL) &&
           !world_has_member(r->map, world_audience(r->map, world_tile(r->map, pos[0], pos[1])), r->self);
}

/* ids(what [, epoch]): a list of the "own" entities; of the ghosts that are "distant", here though their tiles do not concern
 * this shard; or of those that have been "doubted" since that epoch or an earlier one; and their number. */
static int r_ids(lua_State *L) {
    static const char *const whats[] = {"own", "distant", "doubted", NULL};
    world_router *r = world_self(L);
    const int what = luaL_checkoption(L, 2, NULL, whats);
    const int64_t epoch = what == DOUBTED ? laoi_integer(L, 3) : 0;
    int64_t n = 0;
    lua_newtable(L); /* it may run a finalizer, which may close the space */
    for (uint32_t i = 0; r->space->core && i < r->space->core->world.entity_top && i < r->record_cap; i++) {
        const aoi_entity_record *e = r->space->core->world.entities + i;
        if (!aoi_is_live(e->generation) || !is_among(r, i, what, epoch)) continue;
        laoi_pushinteger(L, e->id);
        lua_rawseti(L, -2, (laoi_index)++n);
    }
    laoi_pushinteger(L, n);
    return 2;
}

/* wholes(): pairs of an entity with traits and a shard that receives it as a whole, since the last call; and how many. */
static int r_wholes(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t n = r->whole_count;
    lua_createtable(L, (int)(2 * n), 0);
    for (uint32_t i = 0; i < n; i++) {
        laoi_pushinteger(L, r->wholes[i].id);
        lua_rawseti(L, -2, (laoi_index)(2 * i) + 1);
        laoi_pushinteger(L, r->wholes[i].shard);
        lua_rawseti(L, -2, (laoi_index)(2 * i) + 2);
    }
    r->whole_count = 0;
    laoi_pushinteger(L, n);
    return 2;
}

/* audience(id): the shards that know the entity in the closed epoch, as far as this one does; nil: it is not in the core. */
static int r_audience(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    return record ? world_push_shards(L, world_audience_of(r, record, record->audience, WORLD_IS)) : 0;
}

const luaL_Reg world_query_methods[] = {{"wholes", r_wholes}, {"audience", r_audience}, {"where", r_where},
                                           {"life", r_life},     {"counts", r_counts},     {"ids", r_ids},
                                           {NULL, NULL}};
