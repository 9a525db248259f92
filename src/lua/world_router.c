/* world_router.c - one shard of a world: which entities of its core are its own, and the moves of an epoch.
 *
 *   core         all entities whose tile is near this shard's: reals, its own, and ghosts, reported by their owners
 *   records[]    by the core's slot of an entity: real or ghost, and of a real the shards that know its place
 *   movers[]     of the coming epoch: the last place of each real that has been moved
 *   concerning[] those of them that others must hear of, by the tiles where they were and are: few in a large region
 *   closed[]     of the closed epoch: the movers, once their moves have been sent and while they wait to be applied
 *
 *   rows from clients -> read -> movers -> close -> closed          -> apply (world_parts.c)
 *                                                -> out[shard][tag] -> part -> the other shards
 *
 * A real that has left its owner's region is not routed but listed: the caller hands it over. */
#include "lua/world.h"

#define ROUTER_NAME "aoi.world.router"

/* ---- self and arguments ------------------------------------------------------------------------------------------ */

world_router *world_self(lua_State *L) {
    world_router *r = laoi_object(L, ROUTER_NAME);
    if (!r->space || !r->space->core) luaL_error(L, "attempt to use a closed space");
    r->map = r->box->map;
    if (!r->map) luaL_error(L, "attempt to use a closed map");
    return r;
}

uint32_t world_slot(world_router *r, int64_t id, world_record **record) {
    uint32_t slot = aoi_slot_of_id(r->space->core, id);
    *record = slot < r->record_cap ? r->records + slot : NULL;
    return slot;
}

world_record *world_argument(lua_State *L, world_router **r) {
    world_record *record;
    *r = world_self(L);
    (void)world_slot(*r, laoi_integer(L, 2), &record);
    return record;
}

static world_record *entity_arg(lua_State *L, world_router *r, uint32_t *slot) {
    int64_t id = laoi_integer(L, 2);
    world_record *record;
    *slot = world_slot(r, id, &record);
    if (!record) laoi_argerror(L, 2, "no entity %s", laoi_spell(L, id));
    return record;
}

/* `mover_at` may be one of an epoch before: nothing is reset when an epoch is closed. */
world_mover *world_find_mover(const world_router *r, uint32_t slot, const world_record *record) {
    uint32_t at = record->mover_at;
    return at < r->mover_count && r->movers[at].slot == slot ? r->movers + at : NULL;
}

world_mover *world_place(const world_router *r, uint32_t slot, const world_record *record, double *pos) {
    world_mover *mover = world_find_mover(r, slot, record);
    if (mover) memcpy(pos, mover->pos, sizeof mover->pos);
    else (void)aoi_position(r->space->core, world_handle(r, slot), pos);
    return mover;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

bool world_note(world_router *r, uint32_t slot, uint32_t life, uint32_t flags) {
    uint32_t had = r->record_cap;
    if (!AOI_GROW(&r->memory, r->records, r->record_cap, slot + (size_t)1)) return false;
    if (had < r->record_cap) memset(r->records + had, 0, (r->record_cap - had) * sizeof *r->records);
    double pos[3];
    (void)aoi_position(r->space->core, world_handle(r, slot), pos);
    uint32_t audience = world_audience(r->map, world_tile(r->map, pos[0], pos[1]));
    world_forget_follows(r, r->records + slot);
    r->records[slot] = (world_record){.life = life, .audience = audience, .flags = flags};
    if (world_is_wide(r->space->core->world.entities[slot].id)) r->width = 8;
    return true;
}

/* note(id, life, real [, followers]): the core has this entity, from now on as this shard's own or as a ghost.  Of an own
 * one the audience is that of its place now, and the followers, a list of shards, which know it. */
static int r_note(lua_State *L) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 2);
    uint32_t slot = aoi_slot_of_id(r->space->core, id);
    if (slot == AOI_NONE) return laoi_argerror(L, 2, "no entity %s", laoi_spell(L, id));
    if (!world_note(r, slot, (uint32_t)laoi_integer(L, 3), lua_toboolean(L, 4) ? WORLD_REAL : 0))
        return laoi_nomemory(L);
    if (lua_type(L, 5) == LUA_TTABLE && !world_take_follows(L, r, r->records + slot, 5)) return laoi_nomemory(L);
    return 0;
}

/* owns(id): whether it is real here and has not left. */
static int r_owns(lua_State *L) {
    world_router *r;
    lua_pushboolean(L, world_is_own(world_argument(L, &r)));
    return 1;
}

/* ghost(id): whether the core has it as a ghost, and since which epoch that is doubted, false: it is not. */
static int r_ghost(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    lua_pushboolean(L, record && !(record->flags & WORLD_REAL));
    if (record && record->doubted) laoi_pushinteger(L, record->doubted);
    else lua_pushboolean(L, 0);
    return 2;
}

/* leave(id): an own entity leaves in the coming epoch: it moves no more, and is asked for no more. */
static int r_leave(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot;
    world_record *record = entity_arg(L, r, &slot);
    world_mover *mover = world_find_mover(r, slot, record);
    if (mover) mover->slot = AOI_NONE;
    record->flags |= WORLD_LEFT;
    return 0;
}

/* ---- moves of the coming epoch ----------------------------------------------------------------------------------- */

static bool reserve_movers(world_router *r, size_t more) {
    return AOI_GROW(&r->memory, r->movers, r->mover_cap, r->mover_count + more) &&
           AOI_GROW(&r->memory, r->concerning, r->concerning_cap, r->mover_count + more);
}

/* Whether the tile where the entity was last reported and that of `pos` concern this shard alone. */
static bool is_inner(const world_router *r, const world_record *record, const double *pos) {
    uint32_t audience = r->map->audience[world_tile(r->map, pos[0], pos[1])];
    return audience == record->audience && !record->follows && r->map->sets[audience].count == 1 &&
           r->map->members[r->map->sets[audience].first] == r->self;
}

/* There is room for one more. */
static void add_mover(world_router *r, uint32_t slot, world_record *record, const double *pos) {
    world_mover *m = world_find_mover(r, slot, record);
    if (!m) {
        m = r->movers + r->mover_count;
        record->mover_at = r->mover_count++;
        *m = (world_mover){.slot = slot};
    }
    memcpy(m->pos, pos, sizeof m->pos);
    if (m->concerning || is_inner(r, record, pos)) return;
    m->concerning = true;
    r->concerning[r->concerning_count++] = record->mover_at;
}

/* a row that comes from its client straight away, behind all earlier ones */
#define NOT_LATE UINT32_MAX

/* Whether a row of this batch is newer than the last one that the same client has sent for that entity, and than its
 * entering: a batch has one row of an entity at most.  A late row, which another shard had in epoch `since`, may be of a
 * client that is forgotten: its last one may be as new as the last time that one was.  Shards of two processes may be an
 * epoch apart. */
static bool is_newer(const world_record *record, uint32_t client, uint32_t batch, uint32_t since) {
    for (int i = 0; i < 2; i++)
        if (record->mover[i] == client) return (int32_t)(batch - record->batch[i]) > 0;
    return !record->forgot || since - 1 > record->forgot;
}

/* Two are remembered: one that takes over from another must not be overtaken by a late row of that one. */
static void note_mover(const world_router *r, world_record *record, uint32_t client, uint32_t batch) {
    if (record->mover[0] != client) {
        if (record->mover[1] && record->mover[1] != client) record->forgot = r->epoch;
        record->mover[1] = record->mover[0];
        record->batch[1] = record->batch[0];
    }
    record->mover[0] = client;
    record->batch[0] = batch;
}

/* move(id, client, batch, since, x, y [, z]): true where it is an own entity; an older row than the last of the same
 * client changes nothing.  since: of a late row, see is_newer; 0: it is none. */
static int r_move(lua_State *L) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 2);
    uint32_t client = (uint32_t)laoi_integer(L, 3), batch = (uint32_t)laoi_integer(L, 4);
    double pos[3] = {0};
    world_record *record;
    laoi_position(L, r->space, 6, pos);
    uint32_t slot = world_slot(r, id, &record), since = (uint32_t)laoi_integer(L, 5);
    bool own = world_is_own(record);
    if (own && is_newer(record, client, batch, since ? since : NOT_LATE)) {
        if (!reserve_movers(r, 1)) return laoi_nomemory(L);
        add_mover(r, slot, record, pos);
        note_mover(r, record, client, batch);
    }
    lua_pushboolean(L, own);
    return 1;
}

/* mover(id [, client, batch, client, batch]): the two clients that moved it last, and the number of that batch of each,
 * which may be set. */
static int r_mover(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot;
    world_record *record = entity_arg(L, r, &slot);
    if (!lua_isnoneornil(L, 3)) {
        for (int i = 0; i < 2; i++) {
            record->mover[i] = (uint32_t)laoi_integer(L, 3 + 2 * i);
            record->batch[i] = (uint32_t)laoi_integer(L, 4 + 2 * i);
        }
        record->forgot = record->mover[1] ? r->epoch - 1 : 0; /* more may have moved it where it comes from */
    }
    for (int i = 0; i < 2; i++) {
        laoi_pushinteger(L, record->mover[i]);
        laoi_pushinteger(L, record->batch[i]);
    }
    return 4;
}

enum { FIND_AHEAD_ROWS = 8 };

/* The next stray row into the flat list at `list`. */
static void push_stray(lua_State *L, int list, size_t at, int64_t id, const double *pos, int dims) {
    laoi_pushinteger(L, id);
    lua_rawseti(L, list, (int)at + 1);
    for (int a = 0; a < dims; a++) {
        lua_pushnumber(L, pos[a]);
        lua_rawseti(L, list, (int)at + 2 + a);
    }
}

/* read(bytes) or read(pointer, length): a message of moves.  Returns the number of rows, the client, the batch, and the
 * rows of entities that are not this shard's own: a flat list and their number; or nil and a reason. */
static int r_read(lua_State *L) {
    world_router *r = world_self(L);
    size_t size = 0, strays = 0;
    int dims = r->space->dims;
    wire_moves m;
    const unsigned char *bytes = laoi_message(L, 2, &size);
    const char *fault = wire_read_moves(&m, bytes, size);
    if (!fault && m.dims != dims) fault = "wrong dimensions";
    if (fault) return laoi_refuse(L, fault);
    lua_settop(L, 3);
    lua_newtable(L);
    if (!reserve_movers(r, m.count)) return laoi_nomemory(L);
    const aoi_index *ids = &r->space->core->ids;
    for (size_t i = 0; i < m.count; i++) {
        world_record *record;
        double pos[3] = {0};
        if (i + FIND_AHEAD_ROWS < m.count) {
            int64_t ahead = wire_get_id(m.rows + (i + FIND_AHEAD_ROWS) * m.row, m.width);
            aoi_index_fetch(ids, aoi_id_hash(&r->space->core->world.hash_key, ahead));
        }
        int64_t id = wire_get_row(&m, i, pos);
        bool finite = isfinite(pos[0]) && isfinite(pos[1]) && isfinite(pos[2]);
        uint32_t slot = world_slot(r, id, &record);
        if (!world_is_own(record) || !finite || record->flags & WORLD_BARRED) {
            push_stray(L, 4, strays++ * (size_t)(dims + 1), id, pos, dims);
        } else if (is_newer(record, m.link, m.batch, NOT_LATE)) {
            add_mover(r, slot, record, pos);
            note_mover(r, record, m.link, m.batch);
        }
    }
    laoi_pushinteger(L, (int64_t)m.count);
    laoi_pushinteger(L, m.link);
    laoi_pushinteger(L, m.batch);
    lua_pushvalue(L, 4);
    laoi_pushinteger(L, (int64_t)strays);
    return 5;
}

/* ---- rows for other shards ---------------------------------------------------------------------------------------- */

/* Room for a row with that tag for that shard, with the id written; NULL when memory is refused. */
static unsigned char *row_for(world_router *r, uint32_t shard, int tag, int64_t id, size_t more) {
    unsigned char *at = world_append(&r->memory, r->out + (size_t)shard * WORLD_TAGS + tag, r->width + more);
    if (!at) return NULL;
    r->rows[tag]++;
    return world_put_id(at, id, (int)r->width);
}

static void put_position(unsigned char *at, const double *pos, int dims) {
    for (int a = 0; a < dims; a++) aoi_put_double(at + 8 * a, pos[a]);
}

static bool tell_place(world_router *r, uint32_t shard, int tag, int64_t id, const double *pos) {
    int dims = r->space->dims;
    unsigned char *at = row_for(r, shard, tag, id, (size_t)(8 * dims));
    if (at) put_position(at, pos, dims);
    return at != NULL;
}

bool world_tell_whole(world_router *r, uint32_t shard, int tag, int64_t id, uint32_t life, uint64_t kind,
                      const double *pos) {
    int dims = r->space->dims;
    unsigned char *at = row_for(r, shard, tag, id, (size_t)(12 + 8 * dims));
    if (!at) return false;
    aoi_put_bytes(at, life, 4);
    aoi_put_bytes(at + 4, kind, 8);
    put_position(at + 12, pos, dims);
    return true;
}

bool world_tell_near(world_router *r, uint32_t slot, uint32_t shard, const double *pos) {
    const world_record *record = r->records + slot;
    const int64_t id = r->space->core->world.entities[slot].id;
    if (record->flags & WORLD_TRAITS) {
        if (!AOI_GROW(&r->memory, r->wholes, r->whole_cap, r->whole_count + (size_t)1)) return false;
        r->wholes[r->whole_count++] = (world_whole){id, shard};
    }
    return world_tell_whole(r, shard, WORLD_NEAR, id, record->life, aoi_kind_of(r->space->core, slot), pos);
}

/* An entity whose tile had the audience `was` and has `is` now: each shard of them, and of its followers, receives what
 * is new to it, but this one and `taker`, which know. */
static bool tell_others(world_router *r, uint32_t slot, uint32_t was, uint32_t is, uint32_t taker, const double *pos) {
    const aoi_entity_record *e = r->space->core->world.entities + slot;
    world_record *record = r->records + slot;
    world_members old = world_audience_of(r, record, was, WORLD_WAS), new = world_audience_of(r, record, is, WORLD_IS);
    bool done = true;
    for (uint32_t i = 0, k = 0; done && (i < old.count || k < new.count);) {
        uint32_t from = i < old.count ? old.at[i] : UINT32_MAX, to = k < new.count ? new.at[k] : UINT32_MAX;
        uint32_t shard = from < to ? from : to;
        i += from == shard;
        k += to == shard;
        if (shard == r->self || shard == taker) continue;
        if (from == to && !r->retells) done = tell_place(r, shard, WORLD_MOVE, e->id, pos);
        else if (to == shard) done = world_tell_near(r, slot, shard, pos);
        else done = tell_place(r, shard, WORLD_FAR, e->id, pos);
    }
    if (record->follows) world_settle_follows(r, record);
    return done;
}

enum { ROUTE_AHEAD = 16, ROUTE_SOON = 8 }; /* movers that are prefetched, and their records */

/* Routes one mover; *handed: it has left the region, and nothing has been done. */
static bool route(world_router *r, const world_mover *m, bool *handed) {
    world_record *record = r->records + m->slot;
    uint32_t tile = world_tile(r->map, m->pos[0], m->pos[1]);
    uint32_t audience = world_audience(r->map, tile), was = record->audience;
    *handed = !world_stays(r->map, r->self, m->pos);
    if (*handed) return true;
    record->audience = audience;
    return tell_others(r, m->slot, was, audience, r->self, m->pos);
}

/* The two arrays change places: most movers concern no other shard, and are not even looked at. */
static void close_movers(world_router *r) {
    world_mover *movers = r->movers;
    uint32_t cap = r->mover_cap;
    r->movers = r->closed;
    r->mover_cap = r->closed_cap;
    r->closed = movers;
    r->closed_cap = cap;
    r->closed_count = r->mover_count;
    r->mover_count = 0;
    r->epoch++;
}

/* What `route` reads of the movers that come soon. */
static void prefetch_concerning(const world_router *r, uint32_t i) {
    uint32_t left = r->concerning_count - i - 1;
    AOI_PREFETCH(r->closed + r->concerning[i + (left < ROUTE_AHEAD ? left : ROUTE_AHEAD)]);
    uint32_t slot = r->closed[r->concerning[i + (left < ROUTE_SOON ? left : ROUTE_SOON)]].slot;
    if (slot == AOI_NONE) return;
    AOI_PREFETCH(r->records + slot);
    AOI_PREFETCH(r->space->core->world.entities + slot);
}

/* close(): the coming epoch's moves are the closed one's.  Returns a flat list `id, shard, x, y [, z]` of the own
 * entities that are to be handed over, and their number. */
static int r_close(lua_State *L) {
    world_router *r = world_self(L);
    int dims = r->space->dims, n = 0;
    if (r->closed_count) return luaL_error(L, "aoi: the closed epoch has not been applied");
    lua_settop(L, 1);
    lua_newtable(L);
    close_movers(r);
    for (uint32_t i = 0; i < r->concerning_count; i++) {
        world_mover *m = r->closed + r->concerning[i];
        bool handed = false;
        prefetch_concerning(r, i);
        if (m->slot == AOI_NONE) continue;
        if (!route(r, m, &handed)) return laoi_nomemory(L);
        if (!handed) continue;
        laoi_pushinteger(L, r->space->core->world.entities[m->slot].id);
        lua_rawseti(L, 2, ++n);
        lua_pushinteger(L, (int)world_owner(r->map, m->pos));
        lua_rawseti(L, 2, ++n);
        for (int a = 0; a < dims; a++) {
            lua_pushnumber(L, m->pos[a]);
            lua_rawseti(L, 2, ++n);
        }
        m->slot = AOI_NONE;
    }
    r->concerning_count = 0;
    lua_pushinteger(L, n / (dims + 2));
    return 2;
}

bool world_reconsider(world_router *r, uint32_t slot) {
    world_record *record = r->records + slot;
    double pos[3] = {0};
    if (!world_is_own(record)) return true;
    const world_mover *mover = world_place(r, slot, record, pos);
    uint32_t audience = world_audience(r->map, world_tile(r->map, pos[0], pos[1]));
    if (!reserve_movers(r, 1)) return false;
    if (mover || record->follows || !world_stays(r->map, r->self, pos) || audience != record->audience)
        add_mover(r, slot, record, pos);
    return true;
}

/* hand(id, shard, x, y [, z]): it belongs to that shard from the closed epoch on.  Returns whether it stays in this core
 * as a ghost, which then moves with the closed epoch; its kind, its life, and a list of its followers, nil: none. */
static int r_hand(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot, shard = (uint32_t)laoi_integer(L, 3);
    world_record *record = entity_arg(L, r, &slot);
    double pos[3] = {0};
    laoi_position(L, r->space, 4, pos);
    uint32_t audience = world_audience(r->map, world_tile(r->map, pos[0], pos[1])), was = record->audience;
    if (!AOI_GROW(&r->memory, r->closed, r->closed_cap, r->closed_count + (size_t)1) ||
        !tell_others(r, slot, was, audience, shard, pos))
        return laoi_nomemory(L);
    world_members all = world_audience_of(r, record, audience, WORLD_IS);
    bool stays = false;
    for (uint32_t i = 0; i < all.count; i++) stays = stays || all.at[i] == r->self;
    record->flags &= ~(uint32_t)WORLD_REAL;
    record->audience = audience;
    if (stays) {
        r->closed[r->closed_count] = (world_mover){.slot = slot};
        memcpy(r->closed[r->closed_count++].pos, pos, sizeof pos);
    }
    lua_pushboolean(L, stays);
    laoi_pushinteger(L, (int64_t)aoi_kind_of(r->space->core, slot));
    laoi_pushinteger(L, record->life);
    return 3 + world_push_follows(L, r, record);
}

/* gone(id): tells the audience of an own entity that it leaves the world. */
static int r_gone(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot;
    const world_record *record = entity_arg(L, r, &slot);
    world_members all = world_audience_of(r, record, record->audience, WORLD_WAS);
    int64_t id = r->space->core->world.entities[slot].id;
    FOR_OTHERS(r, all, r->self, shard) if (!row_for(r, shard, WORLD_GONE, id, 0)) return laoi_nomemory(L);
    return 0;
}

/* rekind(id, kind, taker): tells the audience as of the closed epoch; taker, which knows, may be this shard. */
static int r_rekind(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot, taker = (uint32_t)laoi_integer(L, 4);
    const world_record *record = entity_arg(L, r, &slot);
    uint64_t kind = (uint64_t)laoi_integer(L, 3);
    world_members all = world_audience_of(r, record, record->audience, WORLD_IS);
    int64_t id = r->space->core->world.entities[slot].id;
    FOR_OTHERS(r, all, taker, shard) {
        unsigned char *at = row_for(r, shard, WORLD_KIND, id, 8);
        if (!at) return laoi_nomemory(L);
        aoi_put_bytes(at, kind, 8);
    }
    return 0;
}

/* widen(id): before an epoch is closed, for each id that has come since: rows of one epoch have ids of one width. */
static int r_widen(lua_State *L) {
    world_router *r = world_self(L);
    if (world_is_wide(laoi_integer(L, 2))) r->width = 8;
    return 0;
}

/* mark(id, what, whether): of an entity of the core: "barred": some clients may not move this own entity, `read` leaves its rows
 * to the caller; "wanted": it stays when it goes far, doubted until an owner has named it; "traits": it has some. */
static int r_mark(lua_State *L) {
    static const char *const whats[] = {"barred", "wanted", "traits", NULL};
    static const uint32_t flags[] = {WORLD_BARRED, WORLD_WANTED, WORLD_TRAITS};
    world_router *r = world_self(L);
    world_record *record;
    (void)world_slot(r, laoi_integer(L, 2), &record);
    const uint32_t flag = flags[luaL_checkoption(L, 3, NULL, whats)];
    if (record) record->flags = lua_toboolean(L, 4) ? record->flags | flag : record->flags & ~flag;
    return 0;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static int r_gc(lua_State *L) {
    world_router *r = laoi_object(L, ROUTER_NAME);
    aoi_memory *m = &r->memory;
    for (uint32_t i = 0; i < r->out_cap; i++) AOI_CLEAR(m, r->out[i].at, r->out[i].cap);
    AOI_CLEAR(m, r->out, r->out_cap);
    AOI_CLEAR(m, r->records, r->record_cap);
    AOI_CLEAR(m, r->movers, r->mover_cap);
    AOI_CLEAR(m, r->concerning, r->concerning_cap);
    AOI_CLEAR(m, r->closed, r->closed_cap);
    AOI_CLEAR(m, r->ids, r->id_cap);
    AOI_CLEAR(m, r->wholes, r->whole_cap);
    AOI_CLEAR(m, r->follows, r->follow_cap);
    for (int i = 0; i < 2; i++) AOI_CLEAR(m, r->merged[i], r->merged_cap[i]);
    r->space = NULL;
    return 0;
}

/* router(space, map, shard [, epoch]): the coming epoch, 1; for a space with deferred delivery, which it then owns; there is one router for a space. */
static int l_router(lua_State *L) {
    laoi_space *b = laoi_self(L);
    const world_box *box = world_check_box(L, 2);
    int64_t shard = laoi_integer(L, 3);
    if (!b->deferred) return laoi_argerror(L, 1, "a space with deferred delivery expected");
    if (shard < 1 || shard > (int64_t)box->map->shards)
        return laoi_argerror(L, 3, "the map has %d shards", (int)box->map->shards);
    int64_t epoch = lua_isnoneornil(L, 4) ? 1 : laoi_integer(L, 4);
    lua_settop(L, 3);
    world_router *r = laoi_new_object(L, sizeof *r);
    r->memory = laoi_memory(L);
    r->space = laoi_self(L);
    r->box = box;
    r->map = box->map;
    r->self = (uint32_t)shard;
    r->width = 4;
    r->epoch = (uint32_t)epoch;
    laoi_gettable(L, 4); /* keeps both alive */
    for (int i = 1; i <= 2; i++) {
        lua_pushvalue(L, i);
        lua_rawseti(L, 5, i);
    }
    lua_settop(L, 4);
    size_t n = ((size_t)r->map->shards + 1) * WORLD_TAGS;
    if (!AOI_GROW(&r->memory, r->out, r->out_cap, n)) return laoi_nomemory(L);
    memset(r->out, 0, r->out_cap * sizeof *r->out);
    for (int i = 0; i < 2; i++)
        if (!AOI_GROW(&r->memory, r->merged[i], r->merged_cap[i], (size_t)r->map->shards)) return laoi_nomemory(L);
    return 1;
}

static const luaL_Reg router_methods[] = {
    {"note", r_note},     {"owns", r_owns},   {"ghost", r_ghost}, {"leave", r_leave}, {"move", r_move},
    {"mover", r_mover},   {"read", r_read},   {"close", r_close}, {"hand", r_hand},   {"gone", r_gone},
    {"rekind", r_rekind}, {"widen", r_widen}, {"mark", r_mark},   {NULL, NULL},
};

int world_push_methods(lua_State *L, int world, const char *maker) {
    lua_getfield(L, world, maker);
    (void)lua_getupvalue(L, -1, LAOI_META);
    int meta = lua_gettop(L);
    lua_getfield(L, meta, "__index");
    return meta;
}

/* The module `aoi.core.world`: it is for lua/aoi/skynet/world alone, and no part of `aoi`. */
void laoi_open_world(lua_State *L) {
    static const luaL_Reg *const others[] = {world_part_methods, world_area_methods, world_announce_methods,
                                             world_query_methods, world_follow_methods};
    lua_newtable(L);
    int world = lua_gettop(L);
    laoi_set_type(L, ROUTER_NAME, "router", l_router, router_methods, r_gc);
    int meta = world_push_methods(L, world, "router");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) laoi_set_functions(L, meta, others[i]);
    lua_settop(L, world);
    world_open_map(L);
    world_open_outbox(L);
}
