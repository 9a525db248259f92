/* wire_moves.c - see wire.h: moves from a client's buffer to the service's space, and what all of the wire has in common.
 *
 *   buffer  rows   [ id x y z | id x y z | ... ]    of an id the last move counts
 *           index  id -> row, from 8 rows on
 *
 * The functions that a map has as its `move` and `flush` are closures over the buffer: one call from Lua to C a move.  An
 * agent that moves itself is one of thousands, and what it needs for its move lies in few places. */
#include "lua/wire_post.h"

#define BUFFER_NAME "aoi.MoveBuffer"

enum { BUFFER = 3, FLUSH_SEND, FLUSH_OTHERWISE }; /* upvalues of `move`, `rows` and `flush` */
enum { FEW_ROWS = 8, FEW_BYTES = 256 };

typedef struct move_buffer {
    aoi_memory memory;
    aoi_row *rows;
    aoi_index index;
    aoi_hash_key hash_key; /* of ids */
    unsigned char *bytes;
    uint32_t row_cap, count, byte_cap, link, batch;
    int dims, width;
    bool drives; /* its messages are ticks */
    bool dead;   /* its map is closed */
    uint64_t batches, moves;
} move_buffer;

/* ---- objects ------------------------------------------------------------------------------------------------------ */

void *laoi_new_wire(lua_State *L, size_t size) {
    void *p = laoi_newuserdata(L, size);
    memset(p, 0, size);
    lua_newtable(L);
    laoi_settable(L, -2);
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_setmetatable(L, -2);
    return p;
}

uint32_t laoi_u32(lua_State *L, int i) {
    int64_t v = laoi_integer(L, i);
    if (v < 0 || v > UINT32_MAX) laoi_argerror(L, i, "an unsigned number of 32 bits expected");
    return (uint32_t)v;
}

/* ---- head --------------------------------------------------------------------------------------------------------- */

/* What the head of each kind may say, and how long the message is at least; exact: not longer either. */
static const struct {
    unsigned char flags, least;
    bool exact, ids;
} wire_rules[WIRE_KINDS + 1] = {
    {0, 0, true, false},                   /* there is no kind 0 */
    {WIRE_ASK, 8, false, false},           /* EVENTS */
    {WIRE_TICK | WIRE_Z, 16, false, true}, /* MOVES */
    {0, 16, false, true},                  /* REFUSED */
    {15, 8, true, false},                  /* ACK */
    {0, 8, true, false},                   /* PING */
    {0, 8, false, false},                  /* BYE */
    {WIRE_ASK, 8, false, false},           /* PACKETS */
    {WIRE_ASK, 28, false, false},          /* BROADCAST */
    {0, 16, true, false},                  /* TAKEN */
    {0, 8, true, false},                   /* GONE */
    {0, 24, false, false},                 /* LOST */
    {0, 12, false, false},                 /* ROUTES */
    {0, 22, false, false},                 /* RENEWED */
};

/* NULL, or what is wrong with the head. */
static const char *head_fault(const unsigned char *p, size_t size) {
    if (size < 4) return "message too short";
    if (p[0] != WIRE_VERSION) return "unknown version %d";
    if (p[1] < 1 || p[1] > WIRE_KINDS) return "unknown kind %d";
    if (p[2] & ~wire_rules[p[1]].flags) return "unknown flags %d";
    bool width = p[3] == 2 || p[3] == 4 || p[3] == 8;
    if (wire_rules[p[1]].ids ? !width : p[3] != 0) return "impossible width of ids %d";
    if (size < wire_rules[p[1]].least || (wire_rules[p[1]].exact && size != wire_rules[p[1]].least))
        return "wrong length";
    return NULL;
}

/* head(message): kind, flags, the u32 behind them; or nil and a reason. */
static int wire_head(lua_State *L) {
    size_t size = 0;
    const unsigned char *p = NULL;
    const char *fault = "a message is a string";
    if (lua_type(L, 1) == LUA_TSTRING) {
        p = (const unsigned char *)lua_tolstring(L, 1, &size);
        fault = head_fault(p, size);
    }
    if (fault) {
        static const char *const fields[] = {"version", "kind", "flags", "width"};
        int at = 0;
        lua_pushnil(L);
        for (int k = 0; k < 4; k++)
            if (strstr(fault, fields[k])) at = k;
        lua_pushfstring(L, fault, p && size >= 4 ? (int)p[at] : 0);
        return 2;
    }
    lua_pushinteger(L, p[1]);
    lua_pushinteger(L, p[2]);
    laoi_pushinteger(L, (int64_t)wire_get32(p + 4));
    return 3;
}

/* ---- the client's buffer ------------------------------------------------------------------------------------------ */

static move_buffer *buffer_self(lua_State *L) {
    return laoi_object(L, BUFFER_NAME);
}

/* buffer(dimensions [, link [, drives]]) */
static int buffer_new(lua_State *L) {
    int64_t dims = laoi_integer(L, 1);
    uint32_t link = lua_isnoneornil(L, 2) ? 0 : laoi_u32(L, 2);
    bool drives = lua_toboolean(L, 3);
    if (dims != 2 && dims != 3) return laoi_argerror(L, 1, "2 or 3 expected");
    move_buffer *b = laoi_new_wire(L, sizeof *b);
    b->memory = laoi_memory(L);
    b->hash_key = aoi_new_hash_key(b);
    b->dims = (int)dims;
    b->width = 2;
    b->link = link;
    b->drives = drives;
    return 1;
}

static int buffer_gc(lua_State *L) {
    move_buffer *b = buffer_self(L);
    AOI_FREE(&b->memory, b->rows, b->row_cap);
    AOI_FREE(&b->memory, b->bytes, b->byte_cap);
    aoi_index_free(&b->memory, &b->index);
    b->rows = NULL;
    b->bytes = NULL;
    b->row_cap = b->byte_cap = b->count = 0;
    b->dead = true;
    return 0;
}

static aoi_row *find_buffered(move_buffer *b, uint32_t hash, int64_t id) {
    for (uint32_t i = 0; b->count < FEW_ROWS && i < b->count; i++)
        if (b->rows[i].id == id) return b->rows + i;
    for (uint32_t at = AOI_SEEK, v; b->count >= FEW_ROWS && (v = aoi_index_next(&b->index, hash, &at)) != AOI_NONE;)
        if (b->rows[v].id == id) return b->rows + v;
    return NULL;
}

/* Room for a row; the index has it, too. */
static bool buffer_room(move_buffer *b, size_t rows) {
    return AOI_GROW(&b->memory, b->rows, b->row_cap, b->count + rows) &&
           (b->count + rows < FEW_ROWS || aoi_index_reserve(&b->memory, &b->index, b->count + rows));
}

/* After buffer_room: cannot fail. */
static void buffer_put(move_buffer *b, int64_t id, const double *pos) {
    uint32_t hash = aoi_id_hash(&b->hash_key, id);
    aoi_row *row = find_buffered(b, hash, id);
    if (!row) {
        row = b->rows + b->count++;
        row->id = id;
        for (uint32_t i = b->count > FEW_ROWS ? b->count - 1 : 0; b->count >= FEW_ROWS && i < b->count; i++)
            aoi_index_add(&b->index, aoi_id_hash(&b->hash_key, b->rows[i].id), i);
        b->width = wire_width(id, b->width);
    }
    row->pos[0] = pos[0];
    row->pos[1] = pos[1];
    row->pos[2] = b->dims == 3 ? pos[2] : 0;
}

static move_buffer *buffer_upvalue(lua_State *L) {
    move_buffer *b = lua_touserdata(L, lua_upvalueindex(BUFFER));
    if (b->dead) luaL_error(L, "attempt to use a closed space");
    return b;
}

/* An error of `move`; i counts the map, the message does not, however the function was called. */
static int bad_move(lua_State *L, int i, const char *why, const char *what) {
    lua_pushfstring(L, why, what);
    return luaL_error(L, "bad argument #%d to 'move' (%s)", i - 1, lua_tostring(L, -1));
}

static int bad_coordinate(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TNUMBER) return bad_move(L, i, "number expected, got %s", luaL_typename(L, i));
    double v = lua_tonumber(L, i);
    return bad_move(L, i, "finite number expected, got %s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

/* move(map, id, x, y [, z]) */
static int buffer_move(lua_State *L) {
    move_buffer *b = buffer_upvalue(L);
    double pos[3];
    int64_t id;
    if (lua_type(L, 2) != LUA_TNUMBER) return bad_move(L, 2, "integer expected, got %s", luaL_typename(L, 2));
    if (!laoi_tointeger(L, 2, &id)) return bad_move(L, 2, "%s", "number has no integer representation");
    for (int a = 0; a < b->dims; a++) {
        pos[a] = lua_type(L, 3 + a) == LUA_TNUMBER ? lua_tonumber(L, 3 + a) : NAN;
        if (!isfinite(pos[a])) return bad_coordinate(L, 3 + a);
    }
    if (!lua_isnoneornil(L, 3 + b->dims))
        return bad_move(L, 3 + b->dims, "nothing expected, got %s", luaL_typename(L, 3 + b->dims));
    if (!buffer_room(b, 1)) return laoi_nomemory(L);
    buffer_put(b, id, pos);
    return 0;
}

/* rows(map, t [, n]): all of them, or an error and none. */
static int buffer_rows(lua_State *L) {
    move_buffer *b = buffer_upvalue(L);
    size_t n = laoi_row_count(L, b->dims, 2);
    if (!buffer_room(b, n)) return laoi_nomemory(L);
    aoi_row *rows = b->rows + b->count; /* behind those that count */
    laoi_read_rows(L, b->dims, 2, n, rows);
    for (size_t k = 0; k < n; k++) {
        aoi_row row = rows[k];
        buffer_put(b, row.id, row.pos);
    }
    return 0;
}

/* writers(): the functions `move` and `rows` of a map. */
static int buffer_writers(lua_State *L) {
    static const struct {
        const char *name;
        lua_CFunction f;
    } writers[] = {{"move", buffer_move}, {"flush", buffer_rows}};
    buffer_self(L);
    for (int k = 0; k < 2; k++) {
        lua_pushvalue(L, lua_upvalueindex(LAOI_META));
        lua_pushstring(L, writers[k].name);
        lua_pushvalue(L, 1);
        lua_pushcclosure(L, writers[k].f, 3);
    }
    return 2;
}

/* count(): rows; messages that have been taken, and their rows. */
static int buffer_count(lua_State *L) {
    const move_buffer *b = buffer_self(L);
    laoi_pushinteger(L, b->count);
    laoi_pushinteger(L, (int64_t)b->batches);
    laoi_pushinteger(L, (int64_t)b->moves);
    return 3;
}

static int buffer_close(lua_State *L) {
    return buffer_gc(L);
}

/* Pushes the message; the buffer is empty then. */
static void take_message(lua_State *L, move_buffer *b, bool tick) {
    unsigned char few[FEW_BYTES], *bytes = few;
    uint32_t n = b->count;
    size_t size = wire_moves_size(n, b->width, b->dims);
    if (size > sizeof few) {
        if (!AOI_GROW(&b->memory, b->bytes, b->byte_cap, size)) (void)laoi_nomemory(L);
        bytes = b->bytes;
    }
    const wire_moves m = {
        .tick = tick, .dims = b->dims, .width = b->width, .link = b->link, .batch = b->batch + 1, .count = n};
    unsigned char *p = wire_put_moves(bytes, &m);
    for (uint32_t i = 0; i < n; i++) p = wire_put_row(p, b->rows[i].id, b->rows[i].pos, b->width, b->dims);
    lua_pushlstring(L, (const char *)bytes, size);
    if (n >= FEW_ROWS) aoi_index_clear(&b->index);
    b->count = 0;
    b->width = 2;
    b->batch++;
    b->batches++;
    b->moves += n;
}

/* take([tick]): the message. */
static int buffer_take(lua_State *L) {
    take_message(L, buffer_self(L), lua_toboolean(L, 2));
    return 1;
}

#if LAOI_YIELDS
static int end_flush(lua_State *L, int status, lua_KContext context) {
    (void)status, (void)context;
    lua_settop(L, 0);
    return 0;
}
#endif

/* flush(map): sends the message, if there is one.  With rows, or where that fails, it is `otherwise` that is called. */
static int buffer_flush(lua_State *L) {
    move_buffer *b = buffer_upvalue(L);
    if (lua_isnoneornil(L, 2)) {
        if (!b->count && !b->drives) return 0;
        lua_pushvalue(L, lua_upvalueindex(FLUSH_SEND));
        take_message(L, b, b->drives);
        lua_call(L, 1, 1);
        if (lua_toboolean(L, -1)) return 0;
        lua_settop(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(FLUSH_OTHERWISE));
    lua_insert(L, 1);
    lua_callk(L, lua_gettop(L) - 1, 0, 0, end_flush); /* handlers of on_close may wait */
    return 0;
}

/* flusher(send, otherwise): the function `flush` of a map. */
static int buffer_flusher(lua_State *L) {
    buffer_self(L);
    lua_settop(L, 3);
    lua_pushvalue(L, lua_upvalueindex(LAOI_META));
    lua_pushliteral(L, "flush");
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushcclosure(L, buffer_flush, FLUSH_OTHERWISE);
    return 1;
}

/* ---- the service -------------------------------------------------------------------------------------------------- */

const char *wire_read_moves(wire_moves *m, const unsigned char *p, size_t size) {
    if (!p || size < WIRE_MOVES_HEAD || p[1] != WIRE_MOVES || head_fault(p, size)) return "not a message of moves";
    m->rows = p + WIRE_MOVES_HEAD;
    m->count = wire_get32(p + WIRE_HEAD + 4);
    m->link = wire_get32(p + 4);
    m->batch = wire_get32(p + WIRE_HEAD);
    m->dims = p[2] & WIRE_Z ? 3 : 2;
    m->width = p[3];
    m->tick = p[2] & WIRE_TICK;
    m->row = (size_t)m->width + 8 * (size_t)m->dims;
    size -= WIRE_MOVES_HEAD;
    return size / m->row != m->count || size % m->row ? "wrong length" : NULL;
}

/* All or none, as aoi_move_many; refuse_all: the rows are read, and none is made. */
static int apply_moves(laoi_space *b, const wire_moves *m, bool refuse_all) {
    aoi_row *rows = aoi_row_buffer(b->core, m->count);
    if (!rows && m->count) return AOI_ENOMEM;
    for (size_t i = 0; i < m->count; i++) rows[i].id = wire_get_row(m, i, rows[i].pos);
    return refuse_all ? AOI_EGONE : aoi_move_many(b->core, rows, m->count, NULL);
}

static int refuse_moves(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* Whether the table at index `barred`, if there is one, has the id as a key. */
static bool is_barred(lua_State *L, int barred, int64_t id) {
    if (!lua_istable(L, barred)) return false;
    laoi_pushinteger(L, id);
    bool found = laoi_rawget(L, barred) != LUA_TNIL;
    lua_pop(L, 1);
    return found;
}

/* Row by row.  Ids of rows that cannot be made are gathered at the beginning of the buffer; returns how many. */
static size_t move_good_rows(lua_State *L, int barred, laoi_space *b, aoi_row *rows, size_t n) {
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        int result = AOI_EGONE;
        if (!is_barred(L, barred, rows[i].id)) result = aoi_move(b->core, aoi_find(b->core, rows[i].id), rows[i].pos);
        if (result == AOI_ENOMEM) laoi_nomemory(L);
        if (result != AOI_OK) rows[bad++].id = rows[i].id;
    }
    return bad;
}

/* apply(space, message, refused [, barred]): the moves of a message to a deferred space.  Rows that cannot be made, and
 * those of entities that are keys of `barred`, are passed over, their ids put into the list `refused`.  Returns the rows
 * that were made, those that were refused, the batch; or nil and a reason, and nothing has changed. */
static int wire_apply(lua_State *L) {
    laoi_space *b = laoi_space_argument(L, 1);
    size_t size, bad = 0;
    wire_moves m;
    if (!b->deferred) return laoi_argerror(L, 1, "a space with deferred delivery expected");
    if (lua_type(L, 2) != LUA_TSTRING) return laoi_typeerror(L, 2, "string");
    if (!lua_istable(L, 3)) return laoi_typeerror(L, 3, "table");
    const unsigned char *p = (const unsigned char *)lua_tolstring(L, 2, &size);
    const char *fault = wire_read_moves(&m, p, size);
    if (fault) return refuse_moves(L, fault);
    if (m.dims != b->dims) return refuse_moves(L, "wrong dimensions");
    int result = apply_moves(b, &m, lua_istable(L, 4));
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    if (result != AOI_OK) bad = move_good_rows(L, 4, b, aoi_row_buffer(b->core, m.count), m.count);
    for (size_t i = 0; i < bad; i++) {
        laoi_pushinteger(L, aoi_row_buffer(laoi_space_argument(L, 1)->core, m.count)[i].id);
        lua_rawseti(L, 3, (laoi_index)i + 1); /* may run a finalizer, which may close the space */
    }
    laoi_pushinteger(L, (int64_t)(m.count - bad));
    laoi_pushinteger(L, (int64_t)bad);
    laoi_pushinteger(L, (int64_t)m.batch);
    return 3;
}

/* moves(address, message [, bytes]): applies moves of the subscriber with that address, as nearly all messages are that a
 * service gets.  Nothing, and nothing has changed, if the message is another, has a row that cannot be made, or is of a
 * subscriber that is barred from some entity; else the number of the link if its space is to tick, or false. */
int laoi_post_moves(lua_State *L) {
    post *p = laoi_post_self(L);
    size_t size = 0;
    wire_moves m;
    const unsigned char *message = laoi_message(L, 3, &size);
    if (wire_read_moves(&m, message, size)) return 0;
    uint32_t l = laoi_link_of_number(p, m.link, laoi_integer(L, 2));
    if (l == AOI_NONE) return 0;
    laoi_space *b = p->links[l].space;
    post_subscriber *u = p->subscribers + p->links[l].subscriber;
    if (!b->core || b->dims != m.dims || u->barred || apply_moves(b, &m, false) != AOI_OK) return 0;
    u->batches++;
    p->batches++;
    p->moves += m.count;
    if (m.tick) laoi_pushinteger(L, (int64_t)m.link);
    else lua_pushboolean(L, 0);
    return 1;
}

/* ---- the module --------------------------------------------------------------------------------------------------- */

static const luaL_Reg buffer_methods[] = {
    {"writers", buffer_writers}, {"flusher", buffer_flusher}, {"count", buffer_count},
    {"take", buffer_take},       {"close", buffer_close},     {NULL, NULL},
};

void laoi_open_moves(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"head", wire_head}, {"apply", wire_apply}, {"call_as", laoi_call_as}, {NULL, NULL}};
    laoi_set_type(L, BUFFER_NAME, "buffer", buffer_new, buffer_methods, buffer_gc);
    lua_pushvalue(L, -1);
    laoi_set_functions(L, lua_gettop(L), functions);
    lua_pop(L, 1);
}

void laoi_open_wire(lua_State *L) {
    lua_createtable(L, 0, 8);
    laoi_open_moves(L);
    laoi_open_post(L);
    laoi_open_inbox(L);
}
