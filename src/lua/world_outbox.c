/* world_outbox.c - the client's side of a world: moves sorted by the shard that owns the entity.
 *
 *   entries[]          by id: the shard that owns the entity, as far as this client knows, and its row; of an entity that
 *                      this client has entered also what it would take to enter it again: clients are the backup of shards
 *   boxes[shard]       rows that wait to be sent: the last place of each entity */
#include "lua/world.h"

#define OUTBOX_NAME "aoi.world.outbox"

typedef struct outbox_entry {
    int64_t id;
    uint32_t shard;  /* 0: not known; of an entry that is not `own`: unused, and then row is the next unused one */
    uint32_t row;    /* in its box, + 1; 0: none */
    uint32_t sent;   /* the shard to which its last row went, until `settle`; 0: none */
    uint32_t life;   /* with kind and pos: of an own one */
    bool own, moved; /* moved: by this client */
    int64_t kind;
    double pos[3]; /* the last one that has been asked for */
} outbox_entry;

typedef struct outbox_row {
    uint32_t entry; /* AOI_NONE: it has gone to another box */
    double pos[3];
} outbox_row;

typedef struct outbox_box {
    outbox_row *rows;
    uint32_t count, cap, live;
} outbox_box;

typedef struct world_outbox {
    aoi_memory memory;
    int dims;
    aoi_index by_id;
    aoi_hash_key hash_key; /* of ids */
    outbox_entry *entries;
    uint32_t entry_count, entry_cap, unused;
    outbox_box *boxes; /* by shard */
    uint32_t box_cap;
} world_outbox;

static world_outbox *outbox_self(lua_State *L) {
    return laoi_object(L, OUTBOX_NAME);
}

static outbox_entry *find_entry(const world_outbox *o, int64_t id) {
    uint32_t at = AOI_SEEK, e, hash = aoi_id_hash(&o->hash_key, id);
    while ((e = aoi_index_next(&o->by_id, hash, &at)) != AOI_NONE)
        if (o->entries[e].id == id) return o->entries + e;
    return NULL;
}

static outbox_entry *new_entry(world_outbox *o, int64_t id) {
    uint32_t e = o->unused;
    if (!aoi_index_reserve(&o->memory, &o->by_id, o->by_id.count + (size_t)1)) return NULL;
    if (e != AOI_NONE) o->unused = o->entries[e].row;
    else {
        if (!AOI_GROW(&o->memory, o->entries, o->entry_cap, o->entry_count + (size_t)1)) return NULL;
        e = o->entry_count++;
    }
    o->entries[e] = (outbox_entry){.id = id};
    aoi_index_add(&o->by_id, aoi_id_hash(&o->hash_key, id), e);
    return o->entries + e;
}

static void free_entry(world_outbox *o, outbox_entry *e) {
    aoi_index_remove(&o->by_id, aoi_id_hash(&o->hash_key, e->id), (uint32_t)(e - o->entries));
    *e = (outbox_entry){.row = o->unused};
    o->unused = (uint32_t)(e - o->entries);
}

static bool put_row(world_outbox *o, outbox_entry *e, const double *pos) {
    outbox_box *b = o->boxes + e->shard;
    if (!e->row) {
        if (!AOI_GROW(&o->memory, b->rows, b->cap, b->count + (size_t)1)) return false;
        e->row = ++b->count;
        b->live++;
    }
    b->rows[e->row - 1].entry = (uint32_t)(e - o->entries);
    memcpy(b->rows[e->row - 1].pos, pos, sizeof b->rows->pos);
    return true;
}

static void drop_row(world_outbox *o, outbox_entry *e) {
    if (!e->row) return;
    o->boxes[e->shard].rows[e->row - 1].entry = AOI_NONE;
    o->boxes[e->shard].live--;
    e->row = 0;
}

static int push_place(lua_State *L, const double *pos, int dims) {
    for (int a = 0; a < dims; a++) lua_pushnumber(L, pos[a]);
    return dims;
}

/* set(id, shard): it is owned by that shard; 0: by none that is known, and its row waits no more: returns its place. */
static int o_set(lua_State *L) {
    world_outbox *o = outbox_self(L);
    int64_t id = laoi_integer(L, 2), shard = laoi_integer(L, 3);
    double pos[3];
    bool moved;
    if (shard < 0 || shard >= (int64_t)o->box_cap) return laoi_argerror(L, 3, "no shard %s", laoi_spell(L, shard));
    outbox_entry *e = find_entry(o, id);
    if (!shard) {
        if (!e) return 0;
        moved = e->row != 0;
        if (moved) memcpy(pos, o->boxes[e->shard].rows[e->row - 1].pos, sizeof pos);
        drop_row(o, e);
        e->shard = e->sent = 0;
        if (!e->own) free_entry(o, e);
        return moved ? push_place(L, pos, o->dims) : 0;
    }
    if (!e && !(e = new_entry(o, id))) return laoi_nomemory(L);
    if (e->shard == (uint32_t)shard) return 0;
    moved = e->row != 0;
    if (moved) memcpy(pos, o->boxes[e->shard].rows[e->row - 1].pos, sizeof pos);
    drop_row(o, e);
    e->shard = (uint32_t)shard;
    if (moved && !put_row(o, e, pos)) return laoi_nomemory(L);
    return 0;
}

/* where(id): the shard that owns it, and the one that got its last row where that may still be on its way; or nil. */
static int o_where(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    const outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    if (!e || !e->shard) return 0;
    laoi_pushinteger(L, e->shard);
    if (!e->sent) return 1;
    laoi_pushinteger(L, e->sent);
    return 2;
}

/* settle(id): its last row has come to its owner. */
static int o_settle(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    if (e) e->sent = 0;
    return 0;
}

/* move(id, x, y [, z]): whether it is known whose the entity is, so that the row waits to be sent. */
static int o_move(lua_State *L) {
    world_outbox *o = outbox_self(L);
    int64_t id = laoi_integer(L, 2);
    double pos[3] = {0};
    for (int a = 0; a < o->dims; a++) pos[a] = laoi_finite(L, 3 + a);
    outbox_entry *e = find_entry(o, id);
    if (e && e->own) {
        memcpy(e->pos, pos, sizeof pos);
        e->moved = true;
    }
    if (e && e->shard && !put_row(o, e, pos)) return laoi_nomemory(L);
    lua_pushboolean(L, e && e->shard);
    return 1;
}

/* ---- own entities ------------------------------------------------------------------------------------------------ */

/* keep(id, shard, life, kind, x, y [, z]): an entity that this client has entered, or taken over. */
static int o_keep(lua_State *L) {
    world_outbox *o = outbox_self(L);
    int64_t id = laoi_integer(L, 2), shard = laoi_integer(L, 3);
    double pos[3] = {0};
    if (shard < 1 || shard >= (int64_t)o->box_cap) return laoi_argerror(L, 3, "no shard %s", laoi_spell(L, shard));
    uint32_t life = (uint32_t)laoi_integer(L, 4);
    int64_t kind = laoi_integer(L, 5);
    for (int a = 0; a < o->dims; a++) pos[a] = laoi_finite(L, 6 + a);
    outbox_entry *e = find_entry(o, id);
    if (!e && !(e = new_entry(o, id))) return laoi_nomemory(L);
    if (e->row && e->shard != (uint32_t)shard) drop_row(o, e);
    e->shard = (uint32_t)shard;
    e->own = true;
    e->moved = false;
    e->life = life;
    e->kind = kind;
    memcpy(e->pos, pos, sizeof pos);
    return 0;
}

/* forget(id): it is this client's own no more. */
static int o_forget(lua_State *L) {
    world_outbox *o = outbox_self(L);
    outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    if (!e) return 0;
    e->own = false;
    if (!e->shard) free_entry(o, e);
    return 0;
}

/* has_moved(id): whether this client has moved that own entity. */
static int o_has_moved(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    const outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    lua_pushboolean(L, e && e->own && e->moved);
    return 1;
}

/* rekind(id, kind) */
static int o_rekind(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    int64_t kind = laoi_integer(L, 3);
    outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    if (e) e->kind = kind;
    return 0;
}

/* owns(id): life, kind, x, y [, z] of that own entity; nothing: it is none. */
static int o_owns(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    const outbox_entry *e = find_entry(o, laoi_integer(L, 2));
    if (!e || !e->own) return 0;
    laoi_pushinteger(L, e->life);
    laoi_pushinteger(L, e->kind);
    for (int a = 0; a < o->dims; a++) lua_pushnumber(L, e->pos[a]);
    return 2 + o->dims;
}

/* owned(): of all own entities, flat: id and what owns(id) returns; and their number. */
static int o_owned(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    laoi_index at = 0;
    int64_t n = 0;
    lua_newtable(L);
    for (uint32_t i = 0; i < o->entry_count; i++) {
        const outbox_entry *e = o->entries + i;
        if (!e->own) continue;
        laoi_pushinteger(L, e->id);
        lua_rawseti(L, -2, ++at);
        laoi_pushinteger(L, e->life);
        lua_rawseti(L, -2, ++at);
        laoi_pushinteger(L, e->kind);
        lua_rawseti(L, -2, ++at);
        for (int a = 0; a < o->dims; a++) {
            lua_pushnumber(L, e->pos[a]);
            lua_rawseti(L, -2, ++at);
        }
        n++;
    }
    laoi_pushinteger(L, n);
    return 2;
}

/* pending(): the shards for which rows wait, a list, and their number. */
static int o_pending(lua_State *L) {
    const world_outbox *o = outbox_self(L);
    int n = 0;
    lua_newtable(L);
    for (uint32_t s = 1; s < o->box_cap; s++) {
        if (!o->boxes[s].live) continue;
        lua_pushinteger(L, (int)s);
        lua_rawseti(L, -2, ++n);
    }
    lua_pushinteger(L, n);
    return 2;
}

/* take(shard, client, batch): the rows for that shard as a message, and their number; they wait no more. */
static int o_take(lua_State *L) {
    world_outbox *o = outbox_self(L);
    int64_t shard = laoi_integer(L, 2);
    uint32_t client = (uint32_t)laoi_integer(L, 3), batch = (uint32_t)laoi_integer(L, 4);
    if (shard < 1 || shard >= (int64_t)o->box_cap) return laoi_argerror(L, 2, "no shard %s", laoi_spell(L, shard));
    outbox_box *b = o->boxes + shard;
    if (!b->live) {
        b->count = 0;
        return 0;
    }
    wire_moves m = {.dims = o->dims, .width = 2, .link = client, .batch = batch, .count = b->live};
    for (uint32_t i = 0; i < b->count; i++)
        if (b->rows[i].entry != AOI_NONE) m.width = wire_width(o->entries[b->rows[i].entry].id, m.width);
    size_t size = wire_moves_size(m.count, m.width, m.dims);
    unsigned char *bytes = laoi_newbuffer(L, size), *at = wire_put_moves(bytes, &m);
    for (uint32_t i = 0; i < b->count; i++) {
        const outbox_row *r = b->rows + i;
        if (r->entry != AOI_NONE) at = wire_put_row(at, o->entries[r->entry].id, r->pos, m.width, m.dims);
    }
    lua_pushlstring(L, (const char *)bytes, size);
    laoi_pushinteger(L, b->live);
    for (uint32_t i = 0; i < b->count; i++)
        if (b->rows[i].entry != AOI_NONE) {
            o->entries[b->rows[i].entry].row = 0;
            o->entries[b->rows[i].entry].sent = (uint32_t)shard;
        }
    b->count = b->live = 0;
    return 2;
}

static int o_gc(lua_State *L) {
    world_outbox *o = lua_touserdata(L, 1);
    for (uint32_t s = 0; s < o->box_cap; s++) AOI_FREE(&o->memory, o->boxes[s].rows, o->boxes[s].cap);
    AOI_FREE(&o->memory, o->boxes, o->box_cap);
    AOI_FREE(&o->memory, o->entries, o->entry_cap);
    aoi_index_free(&o->memory, &o->by_id);
    return 0;
}

/* outbox(dimensions, shards) */
static int l_outbox(lua_State *L) {
    int64_t dims = laoi_integer(L, 1), shards = laoi_integer(L, 2);
    if (dims != 2 && dims != 3) return laoi_argerror(L, 1, "2 or 3 expected");
    if (shards < 1 || shards > UINT16_MAX) return laoi_argerror(L, 2, "1 to 65535 expected");
    world_outbox *o = laoi_newuserdata(L, sizeof *o);
    memset(o, 0, sizeof *o);
    o->memory = laoi_memory(L);
    o->hash_key = aoi_new_hash_key(o);
    o->dims = (int)dims;
    o->unused = AOI_NONE;
    lua_pushvalue(L, lua_upvalueindex(LAOI_META));
    lua_setmetatable(L, -2);
    o->boxes = aoi_resize(&o->memory, NULL, 0, (size_t)(shards + 1) * sizeof *o->boxes);
    if (!o->boxes) return laoi_nomemory(L);
    o->box_cap = (uint32_t)shards + 1;
    memset(o->boxes, 0, o->box_cap * sizeof *o->boxes);
    return 1;
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

/* read_rows(bytes, list): MOVES into a flat list; returns the number of rows; for replays of what a shard has logged.  Raises where it is none. */
static int l_read_rows(lua_State *L) {
    size_t size;
    const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, 1, &size);
    wire_moves m;
    luaL_checktype(L, 2, LUA_TTABLE);
    if (wire_read_moves(&m, bytes, size)) return laoi_argerror(L, 1, "no message of moves");
    laoi_index at = 0;
    for (size_t i = 0; i < m.count; i++) {
        double pos[3];
        laoi_pushinteger(L, wire_get_row(&m, i, pos));
        lua_rawseti(L, 2, ++at);
        for (int a = 0; a < m.dims; a++) {
            lua_pushnumber(L, pos[a]);
            lua_rawseti(L, 2, ++at);
        }
    }
    laoi_pushinteger(L, (int64_t)m.count);
    return 1;
}

/* home(id, n): which of n equal buckets the id falls into, from 1 on; the same on every machine. */
static int l_home(lua_State *L) {
    uint64_t id = (uint64_t)laoi_integer(L, 1);
    int64_t n = laoi_integer(L, 2);
    if (n < 1 || n > UINT16_MAX) return laoi_argerror(L, 2, "1 to 65535 expected");
    lua_pushinteger(L, (int)(aoi_hash64(id) % 1024 % (uint64_t)n) + 1);
    return 1;
}

static const luaL_Reg outbox_methods[] = {
    {"set", o_set},       {"where", o_where}, {"move", o_move},     {"pending", o_pending}, {"take", o_take},
    {"settle", o_settle}, {"keep", o_keep},   {"forget", o_forget}, {"rekind", o_rekind},   {"has_moved", o_has_moved},
    {"owns", o_owns},     {"owned", o_owned}, {NULL, NULL}};
static const luaL_Reg outbox_meta[] = {{"__gc", o_gc}, {NULL, NULL}};

/* Into the table on top. */
void world_open_outbox(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"outbox", l_outbox}, {"read_rows", l_read_rows}, {"home", l_home}, {NULL, NULL}};
    int world = lua_gettop(L);
    world_add_class(L, OUTBOX_NAME, outbox_meta, outbox_methods);
    int meta = lua_gettop(L);
    lua_pushvalue(L, world);
    laoi_set_functions(L, meta, functions);
    laoi_set_functions(L, meta, world_part_functions);
    laoi_set_functions(L, meta, world_area_functions);
    lua_settop(L, world);
}
