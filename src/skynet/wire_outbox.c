/* wire_outbox.c - see wire_outbox.h: collects moves as rows, and writes messages of them.
 *
 * The `move` and `flush` of a map are closures over the outbox, so that a move is a single call from Lua to C, and
 * reads few cache lines: a process has thousands of clients that move one entity each. */
#include "skynet/wire_outbox.h"

#define OUTBOX_NAME "aoi.Outbox"

enum { OUTBOX = 3, FLUSH_SEND, FLUSH_OTHERWISE }; /* upvalues of `move` and `flush` */
enum { FEW_ROWS = 8, FEW_BYTES = 256 };

outbox *laoi_outbox_self(lua_State *L) {
    return laoi_object(L, OUTBOX_NAME);
}

/* outbox(dimensions [, link [, drives [, shards]]]): of a map, or with `shards` of a world. */
static int new_outbox(lua_State *L) {
    int64_t dims = laoi_integer(L, 1), shards = lua_isnoneornil(L, 4) ? 0 : laoi_integer(L, 4);
    uint32_t link = lua_isnoneornil(L, 2) ? 0 : laoi_u32(L, 2);
    bool drives = lua_toboolean(L, 3);
    if (dims != 2 && dims != 3) return laoi_argerror(L, 1, "2 or 3 expected");
    if (shards < 0 || shards > UINT16_MAX) return laoi_argerror(L, 4, "0 to 65535 expected");
    outbox *o = laoi_new_object(L, sizeof *o);
    o->memory = laoi_memory(L);
    o->hash_key = aoi_new_hash_key(o);
    o->dims = (int)dims;
    o->unrouted.width = 2;
    o->unused = AOI_NONE;
    o->link = link;
    o->drives = drives;
    if (!shards) return 1;
    o->boxes = aoi_resize(&o->memory, NULL, 0, (size_t)shards * sizeof *o->boxes);
    if (!o->boxes) return laoi_nomemory(L);
    o->shards = (uint32_t)shards;
    for (uint32_t i = 0; i < o->shards; i++) o->boxes[i] = (outbox_box){.width = 2};
    return 1;
}

static void empty_box(outbox *o, outbox_box *b) {
    AOI_FREE(&o->memory, b->rows, b->cap);
    *b = (outbox_box){.width = 2};
}

/* close(): drops all rows and ends `move` and `flush`; the entries stay. */
static int outbox_close(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    empty_box(o, &o->unrouted);
    for (uint32_t i = 0; i < o->shards; i++) empty_box(o, o->boxes + i);
    AOI_CLEAR(&o->memory, o->bytes, o->byte_cap);
    aoi_hash_index_free(&o->memory, &o->index);
    o->closed = true;
    return 0;
}

static int outbox_gc(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    outbox_close(L);
    AOI_CLEAR(&o->memory, o->boxes, o->shards);
    AOI_CLEAR(&o->memory, o->entries, o->entry_cap);
    aoi_hash_index_free(&o->memory, &o->by_id);
    o->entry_count = 0;
    o->unused = AOI_NONE;
    return 0;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static aoi_row *find_unrouted(const outbox *o, uint32_t hash, int64_t id) {
    const outbox_box *b = &o->unrouted;
    for (uint32_t i = 0; b->count < FEW_ROWS && i < b->count; i++)
        if (b->rows[i].id == id) return b->rows + i;
    for (uint32_t at = AOI_SEEK, v;
         b->count >= FEW_ROWS && (v = aoi_hash_index_next(&o->index, hash, &at)) != AOI_NONE;)
        if (b->rows[v].id == id) return b->rows + v;
    return NULL;
}

aoi_row *laoi_row_of(const outbox *o, const outbox_entry *e, int64_t id) {
    if (!e || !e->shard) return find_unrouted(o, aoi_id_hash(&o->hash_key, id), id);
    const outbox_box *b = o->boxes + e->shard - 1;
    return e->row < b->count && b->rows[e->row].id == id ? b->rows + e->row : NULL;
}

/* Reserves room for that many more unrouted rows, in the index too. */
static bool reserve_unrouted(outbox *o, size_t rows) {
    outbox_box *b = &o->unrouted;
    return AOI_GROW(&o->memory, b->rows, b->cap, b->count + rows) &&
           (b->count + rows < FEW_ROWS || aoi_hash_index_reserve(&o->memory, &o->index, b->count + rows));
}

/* Appends a row without a position; its box must have room. */
static aoi_row *add_row(outbox_box *b, int64_t id) {
    aoi_row *row = b->rows + b->count++;
    row->id = id;
    b->width = wire_width(id, b->width);
    return row;
}

static void set_place(const outbox *o, aoi_row *row, const double *pos) {
    row->pos[0] = pos[0];
    row->pos[1] = pos[1];
    row->pos[2] = o->dims == 3 ? pos[2] : 0;
}

static inline bool put_unrouted(outbox *o, int64_t id, const double *pos) {
    outbox_box *b = &o->unrouted;
    uint32_t hash = aoi_id_hash(&o->hash_key, id);
    aoi_row *row = find_unrouted(o, hash, id);
    if (!row) {
        if (!reserve_unrouted(o, 1)) return false;
        row = add_row(b, id);
        if (b->count > FEW_ROWS) aoi_hash_index_add(&o->index, hash, b->count - 1);
        for (uint32_t i = 0; b->count == FEW_ROWS && i < FEW_ROWS; i++)
            aoi_hash_index_add(&o->index, aoi_id_hash(&o->hash_key, b->rows[i].id), i);
    }
    set_place(o, row, pos);
    return true;
}

bool laoi_put_row(outbox *o, outbox_entry *e, int64_t id, const double *pos) {
    if (!e || !e->shard) return put_unrouted(o, id, pos);
    outbox_box *b = o->boxes + e->shard - 1;
    aoi_row *row = laoi_row_of(o, e, id);
    if (!row) {
        if (!AOI_GROW(&o->memory, b->rows, b->cap, b->count + (size_t)1)) return false;
        e->row = b->count;
        row = add_row(b, id);
    }
    e->sent = e->shard;
    set_place(o, row, pos);
    return true;
}

static inline bool put_move(outbox *o, int64_t id, const double *pos) {
    outbox_entry *e = o->by_id.count ? outbox_find(o, id) : NULL;
    if (!e) return put_unrouted(o, id, pos);
    if (!laoi_put_row(o, e, id, pos)) return false;
    if (e->own) memcpy(e->pos, pos, (size_t)o->dims * sizeof *pos);
    e->moved = (uint32_t)(o->batches + 1);
    return true;
}

/* The last row of the box replaces the dropped one. */
void laoi_drop_row(outbox *o, uint32_t shard, aoi_row *row) {
    outbox_box *b = shard ? o->boxes + shard - 1 : &o->unrouted;
    uint32_t at = (uint32_t)(row - b->rows), last = b->count - 1;
    int64_t id = row->id;
    *row = b->rows[last];
    if (shard && at != last) outbox_find(o, row->id)->row = at;
    if (!shard && b->count == FEW_ROWS) aoi_hash_index_clear(&o->index);
    if (!shard && b->count > FEW_ROWS) {
        aoi_hash_index_remove(&o->index, aoi_id_hash(&o->hash_key, id), at);
        if (at != last) aoi_hash_index_replace(&o->index, aoi_id_hash(&o->hash_key, row->id), last, at);
    }
    b->count = last;
}

/* ---- moving ------------------------------------------------------------------------------------------------------- */

static outbox *outbox_upvalue(lua_State *L) {
    outbox *o = lua_touserdata(L, lua_upvalueindex(OUTBOX));
    if (o->closed) luaL_error(L, "attempt to use a closed %s", o->shards ? "world" : "space");
    return o;
}

/* Raises an error of `move`; i counts the map, the message does not, with a colon or a dot. */
static int bad_move(lua_State *L, int i, const char *why, const char *what) {
    lua_pushfstring(L, why, what);
    return luaL_error(L, "bad argument #%d to 'move' (%s)", i - 1, lua_tostring(L, -1));
}

static int bad_coordinate(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TNUMBER) return bad_move(L, i, "number expected, got %s", laoi_got(L, i));
    double v = lua_tonumber(L, i);
    if (isfinite(v)) return bad_move(L, i, "number of at most 2^50 either way expected, got %s", laoi_value(L, i));
    return bad_move(L, i, "finite number expected, got %s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static inline int move_arguments(lua_State *L, outbox *o) {
    double pos[3];
    int64_t id;
    if (lua_type(L, 2) != LUA_TNUMBER) return bad_move(L, 2, "integer expected, got %s", laoi_got(L, 2));
    if (!laoi_tointeger(L, 2, &id)) return bad_move(L, 2, "number has no integer representation: %s", laoi_value(L, 2));
    for (int a = 0; a < o->dims; a++) {
        pos[a] = lua_type(L, 3 + a) == LUA_TNUMBER ? lua_tonumber(L, 3 + a) : NAN;
        if (!aoi_is_coordinate(pos[a])) return bad_coordinate(L, 3 + a);
    }
    if (!lua_isnoneornil(L, 3 + o->dims))
        return bad_move(L, 3 + o->dims, "nothing expected, got %s", luaL_typename(L, 3 + o->dims));
    if (!put_move(o, id, pos)) return laoi_nomemory(L);
    return 0;
}

/* move(map, id, x, y [, z]): the closure of `mover`. */
static int map_move(lua_State *L) {
    return move_arguments(L, outbox_upvalue(L));
}

/* move(id, x, y [, z]) as a method of the outbox, whether its map is closed or not. */
static int outbox_move(lua_State *L) {
    return move_arguments(L, laoi_outbox_self(L));
}

/* Applies the rows that are good. */
static int good_rows(lua_State *L, outbox *o, size_t n) {
    laoi_checked_row *rows = laoi_newbuffer(L, n * sizeof *rows);
    size_t faults = laoi_check_rows(L, o->dims, 2, n, rows, 4);
    for (size_t k = 0; k < n; k++)
        if (!rows[k].unread && !put_move(o, rows[k].row.id, rows[k].row.pos)) return laoi_nomemory(L);
    return LAOI_INTEGERS(L, (int64_t)faults);
}

/* rows(t [, n [, unread]]): moves from a flat array.  Applies all rows; on an error none, but in a world that is refused
 * memory the rows before.  With the list `unread` leaves out bad rows; appends row, id, reason of each; returns their
 * number. */
static int outbox_rows(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    size_t n = laoi_row_count(L, o->dims, 2);
    if (lua_istable(L, 4)) return good_rows(L, o, n);
    if (!reserve_unrouted(o, n)) return laoi_nomemory(L);
    aoi_row *rows = o->unrouted.rows + o->unrouted.count; /* reserved room as a buffer */
    laoi_read_rows(L, o->dims, 2, 0, n, rows);
    for (size_t k = 0; k < n; k++) {
        aoi_row row = rows[k];
        if (!put_move(o, row.id, row.pos)) return laoi_nomemory(L);
    }
    return 0;
}

/* mover(): makes the function `move` of a map. */
static int outbox_mover(lua_State *L) {
    laoi_outbox_self(L);
    lua_pushvalue(L, lua_upvalueindex(LAOI_META));
    lua_pushliteral(L, "move");
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, map_move, OUTBOX);
    return 1;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Pushes the message of a box and empties the box. */
static void take_message(lua_State *L, outbox *o, outbox_box *b, bool tick) {
    unsigned char few[FEW_BYTES], *bytes = few;
    uint32_t n = b->count;
    size_t size = wire_moves_size(n, b->width, o->dims);
    if (size > sizeof few) {
        if (!AOI_GROW(&o->memory, o->bytes, o->byte_cap, size)) (void)laoi_nomemory(L);
        bytes = o->bytes;
    }
    const uint32_t batch = (uint32_t)(o->batches + 1);
    const wire_moves m = {
        .tick = tick, .dims = o->dims, .width = b->width, .link = o->link, .batch = batch, .count = n};
    unsigned char *p = wire_put_moves(bytes, &m);
    for (uint32_t i = 0; i < n; i++) p = wire_put_row(p, b->rows[i].id, b->rows[i].pos, b->width, o->dims);
    lua_pushlstring(L, (const char *)bytes, size);
    if (b == &o->unrouted && n >= FEW_ROWS) aoi_hash_index_clear(&o->index);
    b->count = 0;
    b->width = 2;
    o->batches++;
    o->moves += n;
}

/* take([tick [, shard]]): the message for a shard; without `shard`, of the unrouted rows, as for a map. */
static int outbox_take(lua_State *L) {
    outbox *o = laoi_outbox_self(L);
    int64_t shard = lua_isnoneornil(L, 3) ? 0 : laoi_integer(L, 3);
    if (shard < 0 || shard > (int64_t)o->shards) return laoi_argerror(L, 3, "no shard %s", laoi_spell(L, shard));
    take_message(L, o, shard ? o->boxes + shard - 1 : &o->unrouted, lua_toboolean(L, 2));
    return 1;
}

/* count(): the number of unrouted rows; totals of messages taken and of their rows. */
static int outbox_count(lua_State *L) {
    const outbox *o = laoi_outbox_self(L);
    return LAOI_INTEGERS(L, o->unrouted.count, (int64_t)o->batches, (int64_t)o->moves);
}

static int end_flush(lua_State *L, int status, lua_KContext context) {
    (void)status, (void)context;
    lua_settop(L, 0);
    return 0;
}

/* flush(map [, rows ...]): sends the unrouted rows.  With arguments, calls `otherwise` with them; without any, if that
 * fails. */
static int outbox_flush(lua_State *L) {
    outbox *o = outbox_upvalue(L);
    if (lua_gettop(L) < 3 && lua_isnoneornil(L, 2)) {
        if (!o->unrouted.count && !o->drives) return 0;
        lua_pushvalue(L, lua_upvalueindex(FLUSH_SEND));
        take_message(L, o, &o->unrouted, o->drives);
        lua_call(L, 1, 1);
        if (lua_toboolean(L, -1)) return 0;
        lua_settop(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(FLUSH_OTHERWISE));
    lua_insert(L, 1);
    lua_callk(L, lua_gettop(L) - 1, 0, 0, end_flush); /* handlers of on_close may wait */
    return 0;
}

/* flusher(send, otherwise): makes the function `flush` of a map. */
static int outbox_flusher(lua_State *L) {
    laoi_outbox_self(L);
    lua_settop(L, 3);
    lua_pushvalue(L, lua_upvalueindex(LAOI_META));
    lua_pushliteral(L, "flush");
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushcclosure(L, outbox_flush, FLUSH_OTHERWISE);
    return 1;
}

void laoi_open_outbox(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"mover", outbox_mover}, {"move", outbox_move}, {"flusher", outbox_flusher}, {"rows", outbox_rows},
        {"count", outbox_count}, {"take", outbox_take}, {"close", outbox_close},     {NULL, NULL},
    };
    laoi_set_type(L, OUTBOX_NAME, "outbox", new_outbox, methods, outbox_gc);
}
