/* batches.c - the methods that take rows: move_many, enter_many. */
#include "lua/binding.h"

static const char *row_fault(int result) {
    return result == AOI_EGONE       ? "no entity %s"
           : result == AOI_EATTACHED ? "entity %s is attached: it moves with its carrier"
           : result == AOI_EEXIST    ? "entity %s is already in the space"
                                     : "a passenger would be beyond 2^50";
}

static int done_rows(lua_State *L, laoi_space *b, int result, size_t bad, int64_t id) {
    if (result == AOI_EVALUE) return laoi_argerror(L, 2, row_fault(result));
    if (result != AOI_EGONE && result != AOI_EEXIST && result != AOI_EATTACHED) return laoi_changed(L, b, result);
    return laoi_argerror(L, 2, "row %d: %s", (int)bad + 1, lua_pushfstring(L, row_fault(result), laoi_spell(L, id)));
}

/* ---- bad rows ---------------------------------------------------------------------------------------------------- */

/* The stack of move_many with `bad`: self, the array, bad, then what reading the rows has made. */
enum { BAD = 3, UNREAD, CHECKED };

/* move_checked(self, checked): moves those that may move.  Makes nothing in Lua before, so that no finalizer runs. */
static int move_checked(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_checked_row *checked = lua_touserdata(L, 2);
    size_t n = lua_rawlen(L, 2) / sizeof *checked, good = 0;
    aoi_row *rows = aoi_row_buffer(b->core, n);
    if (!rows && n) return laoi_nomemory(L);
    for (laoi_checked_row *c = checked; c < checked + n; c++) {
        if (c->unread) continue;
        c->result = aoi_move_fault(b->core, &c->row);
        if (c->result == AOI_OK) rows[good++] = c->row;
    }
    return laoi_changed(L, b, aoi_move_many(b->core, rows, good, NULL));
}

/* Calls bad(row, id, reason) for each refused row from k on. */
static int tell_bad(lua_State *L, int status, lua_KContext k) {
    const laoi_checked_row *checked = lua_touserdata(L, CHECKED);
    lua_KContext n = (lua_KContext)(lua_rawlen(L, CHECKED) / sizeof *checked);
    (void)status;
    lua_settop(L, CHECKED);
    for (; k < n; k++) {
        const laoi_checked_row *c = checked + k;
        if (!c->unread && c->result == AOI_OK) continue;
        lua_pushvalue(L, BAD);
        lua_pushinteger(L, (lua_Integer)k + 1);
        for (int v = 1; c->unread && v < LAOI_UNREAD; v++)
            lua_rawgeti(L, UNREAD, (laoi_index)(c->unread + (uint32_t)v));
        if (!c->unread) {
            laoi_pushinteger(L, c->row.id);
            lua_pushfstring(L, row_fault(c->result), laoi_spell(L, c->row.id));
            lua_remove(L, -2);
        }
        lua_callk(L, 3, 0, k + 1, tell_bad);
    }
    return 0;
}

bool laoi_skips_rows(lua_State *L, int i) {
    if (lua_isfunction(L, i)) {
        laoi_no_more(L, i + 1);
        lua_pushnil(L);
        lua_insert(L, i);
    }
    if (lua_isnoneornil(L, i + 1)) return false;
    if (!lua_isfunction(L, i + 1)) laoi_typeerror(L, i + 1, "function");
    return true;
}

static int move_and_tell(lua_State *L, const laoi_space *b) {
    size_t n = laoi_row_count(L, b->dims, 2);
    lua_settop(L, BAD + 1);
    lua_remove(L, BAD); /* n */
    lua_newtable(L);
    (void)laoi_check_rows(L, b->dims, 2, n, laoi_newbuffer(L, n * sizeof(laoi_checked_row)), UNREAD);
    lua_pushcfunction(L, move_checked);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, CHECKED);
    lua_callk(L, 2, 0, 0, tell_bad); /* a handler may yield */
    return tell_bad(L, 0, 0);
}

/* ---- the methods ------------------------------------------------------------------------------------------------- */

/* A journal contains the rows, and needs them in one array; else they are staged as movers directly. */
static int l_move_many(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    size_t n, bad = 0;
    int64_t id = 0;
    int result;
    if (laoi_skips_rows(L, 3)) return move_and_tell(L, b);
    if (b->core->journal) {
        const aoi_row *rows = laoi_rows(L, b, 2, &n);
        result = aoi_move_many(b->core, rows, n, &bad);
        if (result == AOI_EGONE || result == AOI_EATTACHED) id = rows[bad].id;
    } else {
        n = laoi_row_count(L, b->dims, 2);
        result = laoi_stage_rows(L, b, 2, n, &bad, &id);
        if (result == AOI_OK) result = aoi_move_staged(b->core, n);
    }
    return done_rows(L, b, result, bad, id);
}

static void read_whole_fields(lua_State *L, int i, const char *name, void *to) {
    if (!lua_istable(L, -1)) laoi_bad_option(L, i, name, "a table { name = value } expected");
    ((laoi_whole *)to)->fields = 1;
}

void laoi_whole_argument(lua_State *L, const laoi_space *b, int i, laoi_whole *w) {
    static const laoi_option options[] = {{"kind", .type = LAOI_BITS, .at = offsetof(laoi_whole, kind)},
                                          {"layers", .type = LAOI_BITS, .at = offsetof(laoi_whole, layers)},
                                          {"extent", .type = LAOI_COORDINATE, .at = offsetof(laoi_whole, extent)},
                                          {"fields", .read = read_whole_fields},
                                          {.name = NULL}};
    *w = (laoi_whole){.kind = 1, .layers = AOI_FIRST_LAYER, .whole = lua_istable(L, i)};
    if (w->whole) laoi_read_options(L, i, options, w);
    else if (!lua_isnoneornil(L, i)) w->kind = (uint64_t)laoi_integer(L, i);
    if (!w->fields) return;
    laoi_rawfield(L, i, "fields");
    w->fields = lua_gettop(L);
    (void)laoi_put_fields(L, b, i, w->fields, NULL);
}

/* Gives rows that have entered with kind 0, which no node sees, their layers, extent, fields and kind. */
static int complete_rows(lua_State *L, const laoi_space *b, const aoi_row *rows, size_t n, const laoi_whole *w) {
    aoi_space *s = b->core;
    int result = AOI_OK;
    for (size_t k = 0; k < n && result == AOI_OK; k++) {
        aoi_entity e = aoi_find(s, rows[k].id);
        if (w->layers != AOI_FIRST_LAYER) result = aoi_set_layers(s, e, w->layers);
        if (result == AOI_OK && w->extent != 0) result = aoi_set_extent(s, e, w->extent);
        if (result == AOI_OK && w->fields) result = laoi_put_fields(L, b, 4, w->fields, &e);
        if (result == AOI_OK) result = aoi_set_kind(s, e, w->kind);
    }
    for (size_t k = 0; k < n && result != AOI_OK; k++) (void)aoi_leave(s, aoi_find(s, rows[k].id));
    return result;
}

static int l_enter_many(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    size_t n, bad = 0;
    laoi_whole w;
    laoi_whole_argument(L, b, 4, &w);
    b = laoi_self(L); /* once more */
    const aoi_row *rows = laoi_rows(L, b, 2, &n);
    size_t most = lua_rawlen(L, 2) / ((size_t)b->dims + 1);
    if (lua_gettop(L) == 3 && n != most)
        return laoi_argerror(L, 3, "the array has %d rows, and the kind comes third: with it n may be less", (int)most);
    int result = aoi_enter_many(b->core, rows, n, w.whole ? 0 : w.kind, &bad);
    if (result == AOI_OK && w.whole) result = complete_rows(L, b, rows, n, &w);
    return done_rows(L, b, result, bad, result == AOI_EEXIST ? rows[bad].id : 0);
}

const luaL_Reg laoi_batches[] = {{"move_many", l_move_many}, {"enter_many", l_enter_many}, {NULL, NULL}};
