/* wire_moves.c - see wire.h: applies messages of moves to the space of a service; also what all messages share. */
#include "skynet/wire_post.h"

/* ---- objects ------------------------------------------------------------------------------------------------------ */

int laoi_refuse(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

int laoi_push_verdict(lua_State *L, const char *fault) {
    if (fault) return laoi_refuse(L, fault);
    lua_pushboolean(L, 1);
    return 1;
}

uint32_t laoi_u32(lua_State *L, int i) {
    int64_t v = laoi_integer(L, i);
    if (v < 0 || v > UINT32_MAX) laoi_argerror(L, i, "an unsigned number of 32 bits expected");
    return (uint32_t)v;
}

/* ---- head --------------------------------------------------------------------------------------------------------- */

/* By kind: allowed flags, the least size of a message; exact: the only size; ids: byte 3 is a width. */
static const struct {
    unsigned char flags, least;
    bool exact, ids;
} wire_rules[WIRE_KINDS + 1] = {
    {0, 0, true, false},                   /* there is no kind 0 */
    {WIRE_ASK, 8, false, false},           /* EVENTS */
    {WIRE_TICK | WIRE_Z, 16, false, true}, /* MOVES */
    {0, 8, false, false},                  /* REFUSED */
    {15, 8, true, false},                  /* ACK */
    {0, 8, true, false},                   /* PING */
    {0, 8, false, false},                  /* BYE */
    {WIRE_ASK, 8, false, false},           /* PACKETS */
    {WIRE_ASK, 12, false, false},          /* BROADCAST */
    {0, 8, false, false},                  /* TAKEN */
    {0, 8, true, false},                   /* GONE */
    {0, 8, false, false},                  /* LOST */
    {0, 8, false, false},                  /* ROUTES */
    {0, 8, false, false},                  /* RENEWED */
    {WIRE_ASK, 12, false, false},          /* CROSSED */
};

/* Faults of a head by the index of the wrong byte; 4, 5: of the whole message. */
static const char *const head_faults[] = {"unknown version %d",         "unknown kind %d",   "unknown flags %d",
                                          "impossible width of ids %d", "message too short", "wrong length"};

/* The fault of a head, or -1. */
static int head_fault(const unsigned char *p, size_t size) {
    if (size < 4) return 4;
    if (p[0] != WIRE_VERSION) return 0;
    if (p[1] < 1 || p[1] > WIRE_KINDS) return 1;
    if (p[2] & ~wire_rules[p[1]].flags) return 2;
    bool width = p[3] == 2 || p[3] == 4 || p[3] == 8;
    if (wire_rules[p[1]].ids ? !width : p[3] != 0) return 3;
    if (size < wire_rules[p[1]].least || (wire_rules[p[1]].exact && size != wire_rules[p[1]].least)) return 5;
    return -1;
}

/* head(message): kind, flags and the u32 at byte 4; or nil and a reason. */
static int wire_head(lua_State *L) {
    size_t size = 0;
    if (lua_type(L, 1) != LUA_TSTRING) return laoi_refuse(L, "a message is a string");
    const unsigned char *p = (const unsigned char *)lua_tolstring(L, 1, &size);
    const int fault = head_fault(p, size);
    if (fault >= 0) {
        lua_pushnil(L);
        lua_pushfstring(L, head_faults[fault], fault < 4 ? (int)p[fault] : 0);
        return 2;
    }
    lua_pushinteger(L, p[1]);
    lua_pushinteger(L, p[2]);
    laoi_pushinteger(L, (int64_t)wire_get32(p + 4));
    return 3;
}

/* ---- the service -------------------------------------------------------------------------------------------------- */

const char *wire_read_moves(wire_moves *m, const unsigned char *p, size_t size) {
    if (!p || size < WIRE_MOVES_HEAD || p[1] != WIRE_MOVES || head_fault(p, size) >= 0) return "not a message of moves";
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

/* Applies all rows or none, as aoi_move_many; refuse_all: only reads the rows into the buffer. */
static int apply_moves(laoi_space *b, const wire_moves *m, bool refuse_all) {
    aoi_row *rows = aoi_row_buffer(b->core, m->count);
    if (!rows && m->count) return AOI_ENOMEM;
    for (size_t i = 0; i < m->count; i++) rows[i].id = wire_get_row(m, i, rows[i].pos);
    return refuse_all ? AOI_EGONE : aoi_move_many(b->core, rows, m->count, NULL);
}

/* Whether the table at index `barred`, if there is one, has the id as a key. */
static bool is_barred(lua_State *L, int barred, int64_t id) {
    if (!lua_istable(L, barred)) return false;
    laoi_pushinteger(L, id);
    bool found = laoi_rawget(L, barred) != LUA_TNIL;
    lua_pop(L, 1);
    return found;
}

/* Applies the valid rows.  Ids of refused rows are collected at the beginning of the buffer; returns their number. */
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

/* apply(space, message, refused [, barred]): applies the moves of a message to a deferred space.  Rows of entities that
 * are not in the space, or are keys of `barred`, are skipped, and their ids written to the list `refused`.  Returns the
 * numbers of rows applied and refused, and the batch; or nil and a reason: then nothing has changed. */
static int wire_apply(lua_State *L) {
    laoi_space *b = laoi_space_argument(L, 1);
    size_t size, bad = 0;
    wire_moves m;
    if (!b->deferred) return laoi_argerror(L, 1, "a space with deferred delivery expected");
    if (lua_type(L, 2) != LUA_TSTRING) return laoi_typeerror(L, 2, "string");
    if (!lua_istable(L, 3)) return laoi_typeerror(L, 3, "table");
    const unsigned char *p = (const unsigned char *)lua_tolstring(L, 2, &size);
    const char *fault = wire_read_moves(&m, p, size);
    if (fault) return laoi_refuse(L, fault);
    if (m.dims != b->dims) return laoi_refuse(L, "wrong dimensions");
    int result = apply_moves(b, &m, lua_istable(L, 4));
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    if (result != AOI_OK) bad = move_good_rows(L, 4, b, aoi_row_buffer(b->core, m.count), m.count);
    for (size_t i = 0; i < bad; i++) {
        const aoi_row *rows = aoi_row_buffer(laoi_space_argument(L, 1)->core, m.count);
        laoi_set_item(L, 3, (laoi_index)i + 1, rows[i].id); /* may run a finalizer, which may close the space */
    }
    return LAOI_INTEGERS(L, (int64_t)(m.count - bad), (int64_t)bad, (int64_t)m.batch);
}

/* moves(address, message [, bytes]): the fast path for most messages to a service: applies moves of the subscriber with
 * that address.  Returns the number of the link if its space has to tick, else false.  Returns nothing, and changes
 * nothing, if the message is not MOVES, has an invalid row, or its subscriber is barred from any entity. */
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

/* check_rows(rows, n, values): the number of rows in a flat array, each an id and values - 1 coordinates; or raises. */
static int wire_check_rows(lua_State *L) {
    int dims = (int)laoi_integer(L, 3) - 1;
    size_t n = laoi_row_count(L, dims, 1);
    laoi_read_rows(L, dims, 1, 0, n, laoi_newbuffer(L, n * sizeof(aoi_row)));
    return LAOI_INTEGERS(L, (int64_t)n);
}

/* ---- the module --------------------------------------------------------------------------------------------------- */

int luaopen_aoi_core_wire(lua_State *L) {
#if LUA_VERSION_NUM >= 502
    luaL_checkversion(L);
#endif
    static const luaL_Reg functions[] = {
        {"head", wire_head},       {"apply", wire_apply},          {"check_rows", wire_check_rows},
        {"call_as", laoi_call_as}, {"end_list", laoi_end_list_of}, {NULL, NULL}};
    lua_createtable(L, 0, 8);
    laoi_set_functions(L, lua_gettop(L), functions);
    laoi_open_outbox(L);
    laoi_open_post(L);
    laoi_open_inbox(L);
    return 1;
}
