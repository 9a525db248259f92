/* world_router.c - one shard of a world: its own entities in the core, and the moves of an epoch.
 *
 *   core         the entities with this shard in their audience: reals, its own, and ghosts, reported by their owners
 *   records[]    by the core's slot of an entity: real or ghost; for a real its audience at the last report
 *   movers[]     of the coming epoch: the last position of each real entity that has been moved
 *   routed[]     the movers with other shards in their old or new audience: few in a large region
 *   closed[]     of the closed epoch: the movers, after their rows are written and until they are applied
 *
 *   rows from clients -> read -> movers -> close -> closed          -> apply (world_parts.c)
 *                                                -> out[shard][tag] -> part -> the other shards
 *
 * A real entity that has left the region of this shard is not routed but listed: the caller hands it over. */
#include "skynet/world.h"

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

/* The record and the slot of the entity whose id is the first argument, or an error. */
static world_record *entity_arg(lua_State *L, world_router *r, uint32_t *slot) {
    int64_t id = laoi_integer(L, 2);
    world_record *record;
    *slot = world_slot(r, id, &record);
    if (!record) laoi_argerror(L, 2, "no entity %s", laoi_spell(L, id));
    return record;
}

/* `mover_at` may be outdated: closing an epoch does not reset it. */
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
    uint32_t audience = world_audience(r->map, pos);
    world_drop_follows(r, r->records + slot);
    r->records[slot] = (world_record){.life = life, .audience = audience, .flags = flags};
    r->width = wire_width(r->space->core->records.entities[slot].id, r->width);
    return true;
}

/* note(id, life, real [, followers]): makes an entity of the core an own entity or a ghost.  For an own entity: sets
 * its audience from its position; followers: a list of shards that have received it. */
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

/* owns(id): whether the entity is real here and has not left. */
static int r_owns(lua_State *L) {
    world_router *r;
    lua_pushboolean(L, world_is_own(world_argument(L, &r)));
    return 1;
}

/* ghost(id): whether the entity is a ghost; and the epoch since which it is unconfirmed, or false. */
static int r_ghost(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    lua_pushboolean(L, record && !(record->flags & WORLD_REAL));
    if (record && record->unconfirmed) laoi_pushinteger(L, record->unconfirmed);
    else lua_pushboolean(L, 0);
    return 2;
}

/* leave(id): an own entity leaves in the coming epoch: cancels its move; it is not an own entity any more. */
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
           AOI_GROW(&r->memory, r->routed, r->routed_cap, r->mover_count + more);
}

/* Whether the audience of the entity contains only this shard, at its last reported position and at pos. */
static bool is_inner(const world_router *r, const world_record *record, const double *pos) {
    uint32_t audience = world_audience(r->map, pos);
    return audience == record->audience && !record->follows && r->map->sets[audience].count == 1 &&
           r->map->members[r->map->sets[audience].first] == r->self;
}

/* reserve_movers must have reserved the room. */
static void add_mover(world_router *r, uint32_t slot, world_record *record, const double *pos) {
    world_mover *m = world_find_mover(r, slot, record);
    if (!m) {
        m = r->movers + r->mover_count;
        record->mover_at = r->mover_count++;
        *m = (world_mover){.slot = slot};
    }
    memcpy(m->pos, pos, sizeof m->pos);
    if (m->routed || is_inner(r, record, pos)) return;
    m->routed = true;
    r->routed[r->routed_count++] = record->mover_at;
}

/* `since` of a row that arrives directly from its client, after all earlier rows of that client */
#define ON_TIME UINT32_MAX

/* Whether a row of this batch is newer than the last row of the same client for the entity; a batch has at most one row
 * of an entity.  The client of a late row, which another shard received in epoch `since`, may have been evicted from
 * the record: the row is newer only if that was before `since`.  Epochs of different processes may differ by one. */
static bool is_newer(const world_record *record, uint32_t client, uint32_t batch, uint32_t since) {
    for (int i = 0; i < 2; i++)
        if (record->mover[i] == client) return (int32_t)(batch - record->batch[i]) > 0;
    return !record->evicted || since - 1 > record->evicted;
}

/* The record holds two clients, so that late rows of a former client are recognised after another has taken over. */
static void note_mover(const world_router *r, world_record *record, uint32_t client, uint32_t batch) {
    if (record->mover[0] != client) {
        if (record->mover[1] && record->mover[1] != client) record->evicted = r->epoch;
        record->mover[1] = record->mover[0];
        record->batch[1] = record->batch[0];
    }
    record->mover[0] = client;
    record->batch[0] = batch;
}

/* move(id, client, batch, since, x, y [, z]): moves an own entity, unless a newer row of the client has arrived.
 * Returns whether it is an own entity.  since: of a late row, see is_newer; 0: not late. */
static int r_move(lua_State *L) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 2);
    uint32_t client = (uint32_t)laoi_integer(L, 3), batch = (uint32_t)laoi_integer(L, 4);
    double pos[3] = {0};
    world_record *record;
    laoi_position(L, r->space, 6, pos);
    uint32_t slot = world_slot(r, id, &record), since = (uint32_t)laoi_integer(L, 5);
    bool own = world_is_own(record);
    if (own && is_newer(record, client, batch, since ? since : ON_TIME)) {
        if (!reserve_movers(r, 1)) return laoi_nomemory(L);
        add_mover(r, slot, record, pos);
        note_mover(r, record, client, batch);
    }
    lua_pushboolean(L, own);
    return 1;
}

/* mover(id [, client, batch, client, batch]): returns the last two clients that moved the entity, each with the number
 * of its last batch; sets them first if given. */
static int r_mover(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot;
    world_record *record = entity_arg(L, r, &slot);
    if (!lua_isnoneornil(L, 3)) {
        for (int i = 0; i < 2; i++) {
            record->mover[i] = (uint32_t)laoi_integer(L, 3 + 2 * i);
            record->batch[i] = (uint32_t)laoi_integer(L, 4 + 2 * i);
        }
        record->evicted = record->mover[1] ? r->epoch - 1 : 0; /* its former shard may have evicted others */
    }
    for (int i = 0; i < 2; i++) {
        laoi_pushinteger(L, record->mover[i]);
        laoi_pushinteger(L, record->batch[i]);
    }
    return 4;
}

enum { ROWS_AHEAD = 8 };

/* read(bytes, nil [, sender]) or read(pointer, length [, sender]): accepts the moves of a message, which names the sender
 * as its client.  Returns the number of rows, the client, the batch, a flat list of the rows left to the caller (not an
 * own entity, barred, or not finite), and their number; or nil and a reason. */
static int r_read(lua_State *L) {
    world_router *r = world_self(L);
    size_t size = 0, misrouted = 0;
    int dims = r->space->dims;
    wire_moves m;
    const unsigned char *bytes = laoi_message(L, 2, &size);
    const char *fault = wire_read_moves(&m, bytes, size);
    if (!fault && m.dims != dims) fault = "wrong dimensions";
    if (!fault && !lua_isnoneornil(L, 4) && laoi_u32(L, 4) != m.link) fault = "they are not its own";
    if (fault) return laoi_refuse(L, fault);
    lua_settop(L, 3);
    lua_newtable(L);
    if (!reserve_movers(r, m.count)) return laoi_nomemory(L);
    const aoi_hash_index *ids = &r->space->core->ids;
    for (size_t i = 0; i < m.count; i++) {
        world_record *record;
        double pos[3] = {0};
        if (i + ROWS_AHEAD < m.count) {
            int64_t ahead = wire_get_id(m.rows + (i + ROWS_AHEAD) * m.row, m.width);
            aoi_hash_index_fetch(ids, aoi_id_hash(&r->space->core->records.hash_key, ahead));
        }
        int64_t id = wire_get_row(&m, i, pos);
        bool good = aoi_is_place(r->space->core, pos);
        uint32_t slot = world_slot(r, id, &record);
        if (!world_is_own(record) || !good || record->flags & WORLD_BARRED) {
            const laoi_index at = (laoi_index)(misrouted++ * (size_t)(dims + 1));
            laoi_set_item(L, 4, at + 1, id);
            laoi_set_numbers(L, 4, at + 2, pos, dims);
        } else if (is_newer(record, m.link, m.batch, ON_TIME)) {
            add_mover(r, slot, record, pos);
            note_mover(r, record, m.link, m.batch);
        }
    }
    laoi_pushinteger(L, (int64_t)m.count);
    laoi_pushinteger(L, m.link);
    laoi_pushinteger(L, m.batch);
    lua_pushvalue(L, 4);
    laoi_pushinteger(L, (int64_t)misrouted);
    return 5;
}

/* ---- rows for other shards ---------------------------------------------------------------------------------------- */

bool world_write_near(world_router *r, uint32_t slot, uint32_t shard, const double *pos) {
    const world_record *record = r->records + slot;
    const int64_t id = r->space->core->records.entities[slot].id;
    if (record->flags & WORLD_TRAITS) {
        if (!AOI_GROW(&r->memory, r->wholes, r->whole_cap, r->whole_count + (size_t)1)) return false;
        r->wholes[r->whole_count++] = (world_whole){id, shard};
    }
    const world_row row = {id, record->life, aoi_kind_of(r->space->core, slot), pos};
    return world_write(r, shard, WORLD_NEAR, &row);
}

/* Writes rows for an entity whose tile audience changes from `was` to `is`: MOVE for shards in both, NEAR or FAR for
 * shards in one of them, followers included; none for this shard and for new_owner. */
static bool write_transition(world_router *r, uint32_t slot, uint32_t was, uint32_t is, uint32_t new_owner,
                             const double *pos) {
    const aoi_entity_record *e = r->space->core->records.entities + slot;
    world_record *record = r->records + slot;
    world_members old = world_audience_of(r, record, was, WORLD_WAS), new = world_audience_of(r, record, is, WORLD_IS);
    const world_row row = {.id = e->id, .pos = pos};
    bool done = true;
    for (uint32_t i = 0, k = 0; done && (i < old.count || k < new.count);) {
        uint32_t from = i < old.count ? old.at[i] : UINT32_MAX, to = k < new.count ? new.at[k] : UINT32_MAX;
        uint32_t shard = from < to ? from : to;
        i += from == shard;
        k += to == shard;
        if (shard == r->self || shard == new_owner) continue;
        if (from == to && !r->announces_all) done = world_write(r, shard, WORLD_MOVE, &row);
        else if (to == shard) done = world_write_near(r, slot, shard, pos);
        else done = world_write(r, shard, WORLD_FAR, &row);
    }
    if (record->follows) world_settle_follows(r, record);
    return done;
}

enum { MOVERS_AHEAD = 16, ROUTED_AHEAD = 8 }; /* distances of prefetches */

/* Writes the rows of a mover; or sets *handed and writes none: it has left the region. */
static bool route(world_router *r, const world_mover *m, bool *handed) {
    world_record *record = r->records + m->slot;
    uint32_t audience = world_audience(r->map, m->pos), was = record->audience;
    *handed = !world_stays(r->map, r->self, m->pos);
    if (*handed) return true;
    record->audience = audience;
    return write_transition(r, m->slot, was, audience, r->self, m->pos);
}

/* Swaps the two arrays: the movers that are not routed, usually most of them, are not read. */
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

/* Prefetches the data that `route` reads for the next movers. */
static void prefetch_routed(const world_router *r, uint32_t i) {
    uint32_t left = r->routed_count - i - 1;
    AOI_PREFETCH(r->closed + r->routed[i + (left < MOVERS_AHEAD ? left : MOVERS_AHEAD)]);
    uint32_t slot = r->closed[r->routed[i + (left < ROUTED_AHEAD ? left : ROUTED_AHEAD)]].slot;
    if (slot == AOI_NONE) return;
    AOI_PREFETCH(r->records + slot);
    AOI_PREFETCH(r->space->core->records.entities + slot);
}

/* close(): closes the coming epoch and writes the rows of its moves.  Returns a flat list `id, shard, x, y [, z]` of
 * the own entities to be handed over, and their number. */
static int r_close(lua_State *L) {
    world_router *r = world_self(L);
    int dims = r->space->dims, n = 0;
    if (r->closed_count) return luaL_error(L, "aoi: the closed epoch has not been applied");
    lua_settop(L, 1);
    lua_newtable(L);
    close_movers(r);
    for (uint32_t i = 0; i < r->routed_count; i++) {
        world_mover *m = r->closed + r->routed[i];
        bool handed = false;
        prefetch_routed(r, i);
        if (m->slot == AOI_NONE) continue;
        if (!route(r, m, &handed)) return laoi_nomemory(L);
        if (!handed) continue;
        laoi_set_item(L, 2, ++n, r->space->core->records.entities[m->slot].id);
        laoi_set_item(L, 2, ++n, world_owner(r->map, m->pos));
        laoi_set_numbers(L, 2, n + 1, m->pos, dims);
        n += dims;
        m->slot = AOI_NONE;
    }
    r->routed_count = 0;
    lua_pushinteger(L, n / (dims + 2));
    return 2;
}

bool world_reroute(world_router *r, uint32_t slot) {
    world_record *record = r->records + slot;
    double pos[3] = {0};
    if (!world_is_own(record)) return true;
    const world_mover *mover = world_place(r, slot, record, pos);
    uint32_t audience = world_audience(r->map, pos);
    if (!reserve_movers(r, 1)) return false;
    if (mover || record->follows || !world_stays(r->map, r->self, pos) || audience != record->audience)
        add_mover(r, slot, record, pos);
    return true;
}

/* hand(id, shard, x, y [, z]): gives an own entity to a shard in the closed epoch.  Returns whether it stays in this
 * core as a ghost, which moves with the closed epoch (one that stays as it is wanted is unconfirmed from then on); its
 * kind, its life, a list of its followers, nil: none. */
static int r_hand(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t slot, shard = (uint32_t)laoi_integer(L, 3);
    world_record *record = entity_arg(L, r, &slot);
    double pos[3] = {0};
    laoi_position(L, r->space, 4, pos);
    uint32_t audience = world_audience(r->map, pos), was = record->audience;
    if (!AOI_GROW(&r->memory, r->closed, r->closed_cap, r->closed_count + (size_t)1) ||
        !write_transition(r, slot, was, audience, shard, pos))
        return laoi_nomemory(L);
    world_members all = world_audience_of(r, record, audience, WORLD_IS);
    bool named = false;
    for (uint32_t i = 0; i < all.count; i++) named = named || all.at[i] == r->self;
    const bool stays = named || record->flags & WORLD_WANTED;
    record->flags &= ~(uint32_t)WORLD_REAL;
    record->audience = audience;
    if (stays && !named) record->unconfirmed = r->epoch - 1;
    if (stays) {
        r->closed[r->closed_count] = (world_mover){.slot = slot};
        memcpy(r->closed[r->closed_count++].pos, pos, sizeof pos);
    }
    lua_pushboolean(L, stays);
    laoi_pushinteger(L, (int64_t)aoi_kind_of(r->space->core, slot));
    laoi_pushinteger(L, record->life);
    return 3 + world_push_follows(L, r, record);
}

/* Writes rows with that tag and kind for the audience of the entity whose id is the first argument, except new_owner. */
static int write_audience(lua_State *L, int tag, int when, uint32_t new_owner, int64_t kind) {
    world_router *r = world_self(L);
    uint32_t slot;
    const world_record *record = entity_arg(L, r, &slot);
    world_members all = world_audience_of(r, record, record->audience, when);
    const world_row row = {.id = r->space->core->records.entities[slot].id, .kind = (uint64_t)kind};
    FOR_OTHERS(r, all, new_owner, shard) if (!world_write(r, shard, tag, &row)) return laoi_nomemory(L);
    return 0;
}

/* gone(id): writes rows GONE for the audience of an own entity. */
static int r_gone(lua_State *L) {
    return write_audience(L, WORLD_GONE, WORLD_WAS, 0, 0);
}

/* rekind(id, kind, new_owner): writes rows KIND for the audience in the closed epoch, except new_owner. */
static int r_rekind(lua_State *L) {
    return write_audience(L, WORLD_KIND, WORLD_IS, (uint32_t)laoi_integer(L, 4), laoi_integer(L, 3));
}

/* widen(id): must be called for each new id before the epoch is closed: all rows of an epoch have ids of one width. */
static int r_widen(lua_State *L) {
    world_router *r = world_self(L);
    r->width = wire_width(laoi_integer(L, 2), r->width);
    return 0;
}

/* mark(id, what, whether): sets a flag of an entity of the core.  "barred": some clients may not move it, `read`
 * returns its rows to the caller; "wanted": the ghost stays on FAR, unconfirmed until confirmed; "traits": see `wholes`. */
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
    AOI_CLEAR(m, r->routed, r->routed_cap);
    AOI_CLEAR(m, r->closed, r->closed_cap);
    AOI_CLEAR(m, r->ids, r->id_cap);
    AOI_CLEAR(m, r->wholes, r->whole_cap);
    AOI_CLEAR(m, r->follows, r->follow_cap);
    for (int i = 0; i < 2; i++) AOI_CLEAR(m, r->merged[i], r->merged_cap[i]);
    r->space = NULL;
    return 0;
}

/* router(space, map, shard [, epoch]): a router for a space with deferred delivery, the only one of the space; epoch:
 * the coming one, 1 by default. */
static int l_router(lua_State *L) {
    laoi_space *b = laoi_self(L);
    const world_box *box = world_check_box(L, 2);
    if (!b->deferred) return laoi_argerror(L, 1, "a space with deferred delivery expected");
    const uint32_t shard = world_shard_argument(L, box->map, 3);
    int64_t epoch = lua_isnoneornil(L, 4) ? 1 : laoi_integer(L, 4);
    lua_settop(L, 3);
    world_router *r = laoi_new_object(L, sizeof *r);
    r->memory = laoi_memory(L);
    r->space = laoi_self(L);
    r->box = box;
    r->map = box->map;
    r->self = shard;
    r->width = 4;
    r->epoch = (uint32_t)epoch;
    laoi_gettable(L, 4); /* keeps space and map alive */
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

/* The module `aoi.core.world`, internal to lua/aoi/skynet/world. */
int luaopen_aoi_core_world(lua_State *L) {
    static const luaL_Reg *const others[] = {world_part_methods, world_area_methods, world_announce_methods,
                                             world_query_methods, world_follow_methods};
#if LUA_VERSION_NUM >= 502
    luaL_checkversion(L);
#endif
    lua_newtable(L);
    int world = lua_gettop(L);
    laoi_set_type(L, ROUTER_NAME, "router", l_router, router_methods, r_gc);
    int meta = world_push_methods(L, world, "router");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) laoi_set_functions(L, meta, others[i]);
    lua_settop(L, world);
    world_open_map(L);
    world_open_outbox(L);
    return 1;
}
