/* world_outbox.c - see wire_outbox.h: the entries of a client of a world: owners of entities, and own entities. */
#include "skynet/wire_outbox.h"
#include "skynet/world.h"

enum { FEW_ENTRIES = 1024 };     /* so many stay, whatever they are of */
enum { IN_FLIGHT = UINT16_MAX }; /* messages after which a row has arrived, though it was not settled */

static void free_if_unknown(outbox *o, outbox_entry *e) {
    if (e->own || e->shard) return;
    aoi_hash_index_remove(&o->by_id, aoi_id_hash(&o->hash_key, e->id), (uint32_t)(e - o->entries));
    *e = (outbox_entry){.row = o->unused};
    o->unused = (uint32_t)(e - o->entries);
}

/* Frees the entries of entities that are not own and have no row under way: their owners can be asked for again.
 * Returns their number. */
static uint32_t free_foreign(outbox *o) {
    uint32_t freed = 0;
    for (uint32_t i = 0; o->entry_count >= FEW_ENTRIES && i < o->entry_count; i++) {
        outbox_entry *e = o->entries + i;
        const bool waits = e->sent && (uint32_t)o->batches - e->moved < IN_FLIGHT;
        if (!e->shard || e->own || waits || laoi_row_of(o, e, e->id)) continue;
        e->shard = 0;
        free_if_unknown(o, e);
        freed++;
    }
    return freed;
}

static outbox_entry *new_entry(outbox *o, int64_t id) {
    const bool full = o->unused == AOI_NONE && o->entry_count == o->entry_cap;
    if (!aoi_hash_index_reserve(&o->memory, &o->by_id, o->by_id.count + (size_t)1)) return NULL;
    if (full && free_foreign(o) <= o->entry_count / 2 /* otherwise the next time would be soon */
        && !AOI_GROW(&o->memory, o->entries, o->entry_cap, o->entry_count + (size_t)1))
        return NULL;
    uint32_t e = o->unused;
    if (e != AOI_NONE) o->unused = o->entries[e].row;
    else e = o->entry_count++;
    o->entries[e] = (outbox_entry){.id = id, .moved = (uint32_t)o->batches};
    aoi_hash_index_add(&o->by_id, aoi_id_hash(&o->hash_key, id), e);
    return o->entries + e;
}

/* Sets the owner and moves the unsent row to its box.  False when memory is refused: then nothing has changed. */
static bool set_shard(outbox *o, outbox_entry *e, uint32_t shard) {
    uint32_t former = e->shard;
    aoi_row *row = former == shard ? NULL : laoi_row_of(o, e, e->id);
    if (row) {
        const aoi_row moved = *row;
        e->shard = shard;
        if (!laoi_put_row(o, e, e->id, moved.pos)) {
            e->shard = former;
            return false;
        }
        laoi_drop_row(o, former, row);
    }
    e->shard = shard;
    if (!shard) e->sent = 0;
    return true;
}

static uint32_t shard_argument(lua_State *L, const outbox *o, int i, int64_t least) {
    int64_t shard = laoi_integer(L, i);
    if (shard < least || shard > (int64_t)o->shards) laoi_argerror(L, i, "no shard %s", laoi_spell(L, shard));
    return (uint32_t)shard;
}

/* set(id, shard): sets the owner; 0: not known.  The unsent row moves to the box of the owner. */
static int o_set(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    int64_t id = laoi_integer(L, 2);
    uint32_t shard = shard_argument(L, o, 3, 0);
    outbox_entry *e = outbox_find(o, id);
    if (!e && !shard) return 0;
    if (!e && !(e = new_entry(o, id))) return laoi_nomemory(L);
    bool done = set_shard(o, e, shard);
    free_if_unknown(o, e);
    return done ? 0 : laoi_nomemory(L);
}

/* where(id): the owner, and the destination of the last row if that may be in flight or unsent; nothing: not known. */
static int o_where(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    const outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (!e || !e->shard) return 0;
    laoi_pushinteger(L, e->shard);
    if (!e->sent) return 1;
    laoi_pushinteger(L, e->sent);
    return 2;
}

/* settle(id): the owner has received the last row; no effect while a row is unsent. */
static int o_settle(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (e && !laoi_row_of(o, e, e->id)) e->sent = 0;
    return 0;
}

/* pending(): a list of the shards with unsent rows, and its length. */
static int o_pending(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    int n = 0;
    lua_newtable(L);
    for (uint32_t s = 1; s <= o->shards; s++) {
        if (!o->boxes[s - 1].count) continue;
        laoi_set_item(L, -1, ++n, s);
    }
    lua_pushinteger(L, n);
    return 2;
}

/* lost(list): fills the list with the entities of unrouted rows; returns their number. */
static int o_lost(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    uint32_t n = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    for (; n < o->unrouted.count; n++) laoi_set_item(L, 2, (laoi_index)n + 1, o->unrouted.rows[n].id);
    return LAOI_INTEGERS(L, n);
}

/* drop(id): drops the unrouted row of an entity; returns whether there was one. */
static int o_drop(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    aoi_row *row = laoi_row_of(o, NULL, laoi_integer(L, 2));
    if (row) laoi_drop_row(o, 0, row);
    lua_pushboolean(L, row != NULL);
    return 1;
}

/* ---- own entities ------------------------------------------------------------------------------------------------ */

/* keep(id, shard, life, kind, x, y [, z]): adds an own entity, which this client has entered or taken over. */
static int o_keep(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    int64_t id = laoi_integer(L, 2);
    double pos[3] = {0};
    uint32_t shard = shard_argument(L, o, 3, 1), life = (uint32_t)laoi_integer(L, 4);
    int64_t kind = laoi_integer(L, 5);
    for (int a = 0; a < o->dims; a++) pos[a] = laoi_finite(L, 6 + a);
    outbox_entry *e = outbox_find(o, id);
    if (!e && !(e = new_entry(o, id))) return laoi_nomemory(L);
    aoi_row *former = e->shard && e->shard != shard ? laoi_row_of(o, e, id) : NULL; /* row of an earlier life */
    if (former) laoi_drop_row(o, e->shard, former);
    if (!set_shard(o, e, shard)) {
        free_if_unknown(o, e);
        return laoi_nomemory(L);
    }
    e->own = true;
    e->moved = 0;
    e->life = life;
    e->kind = kind;
    memcpy(e->pos, pos, sizeof pos);
    return 0;
}

/* disown(id): another client has taken the entity over; the entry keeps its shard. */
static int o_disown(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (!e) return 0;
    e->own = false;
    free_if_unknown(o, e);
    return 0;
}

/* forget(id): the entity has left: drops its entry and its unsent row. */
static int o_forget(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    int64_t id = laoi_integer(L, 2);
    outbox_entry *e = outbox_find(o, id);
    aoi_row *row = laoi_row_of(o, e, id);
    if (row) laoi_drop_row(o, e ? e->shard : 0, row);
    if (!e) return 0;
    e->own = false;
    e->shard = 0;
    free_if_unknown(o, e);
    return 0;
}

/* sent(id): the least number that the message with the last move of an own entity may have, which is newer than the
 * move before it; nothing: this client has not moved it, or the row is unsent. */
static int o_sent(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    const outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (!e || !e->own || !e->moved || laoi_row_of(o, e, e->id)) return 0;
    laoi_pushinteger(L, e->moved);
    return 1;
}

/* rekind(id, kind) */
static int o_rekind(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    int64_t kind = laoi_integer(L, 3);
    outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (e) e->kind = kind;
    return 0;
}

/* owns(id): life, kind, x, y [, z] of an own entity; nothing: not an own entity. */
static int o_owns(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    const outbox_entry *e = outbox_find(o, laoi_integer(L, 2));
    if (!e || !e->own) return 0;
    laoi_pushinteger(L, e->life);
    laoi_pushinteger(L, e->kind);
    for (int a = 0; a < o->dims; a++) lua_pushnumber(L, e->pos[a]);
    return 2 + o->dims;
}

/* owned(): a list of the ids of all own entities, and its length. */
static int o_owned(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    int64_t n = 0;
    lua_newtable(L);
    for (uint32_t i = 0; i < o->entry_count; i++)
        if (o->entries[i].own) laoi_set_item(L, -1, (laoi_index)++n, o->entries[i].id);
    laoi_pushinteger(L, n);
    return 2;
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

/* home(id, n): the bucket of the id among n equal buckets, from 1 on; the same on every machine. */
static int l_home(lua_State *L) {
    uint64_t id = (uint64_t)laoi_integer(L, 1);
    int64_t n = laoi_integer(L, 2);
    if (n < 1 || n > UINT16_MAX) return laoi_argerror(L, 2, "1 to 65535 expected");
    lua_pushinteger(L, (int)(aoi_hash64(id) % 1024 % (uint64_t)n) + 1);
    return 1;
}

void world_open_outbox(lua_State *L) {
    static const luaL_Reg methods[] = {{"set", o_set},         {"where", o_where},   {"settle", o_settle},
                                       {"pending", o_pending}, {"lost", o_lost},     {"drop", o_drop},
                                       {"keep", o_keep},       {"disown", o_disown}, {"forget", o_forget},
                                       {"rekind", o_rekind},   {"owns", o_owns},     {"owned", o_owned},
                                       {"sent", o_sent},       {NULL, NULL}};
    static const luaL_Reg functions[] = {{"home", l_home}, {NULL, NULL}};
    int world = lua_gettop(L);
    laoi_open_outbox(L);
    int meta = world_push_methods(L, world, "outbox");
    laoi_set_functions(L, meta, methods);
    lua_pushvalue(L, world);
    laoi_set_functions(L, meta, functions);
    laoi_set_functions(L, meta, world_part_functions);
    lua_settop(L, world);
}
