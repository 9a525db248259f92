/* args.c - see binding.h.  A string is never converted to a number. */
#include "lua/binding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------------------------------------------- */

/* The frame of laoi_call_as has these before the function and its arguments: the function, if it is one of the binding,
 * finds them there.  CALLED_AS: its name, or nil; the number of the argument that it refuses. */
enum { REFUSED = 1, CALLED_AS, COUNTED_LESS };

static int called_as(lua_State *L, int status, lua_KContext ctx) {
    const bool good = status <= 1; /* LUA_OK or LUA_YIELD */
    (void)ctx;
    if (!good && lua_isnil(L, CALLED_AS)) lua_pushvalue(L, REFUSED);
    lua_pushboolean(L, good);
    lua_replace(L, COUNTED_LESS);
    return lua_gettop(L) - CALLED_AS;
}

int laoi_call_as(lua_State *L) {
    lua_pushvalue(L, 1);
    lua_insert(L, COUNTED_LESS + 1);
    lua_pushnil(L);
    lua_replace(L, REFUSED);
    return called_as(L, lua_pcallk(L, lua_gettop(L) - COUNTED_LESS - 1, LUA_MULTRET, 0, 0, called_as), 0);
}

/* Whether laoi_call_as has called the running function: then pushes CALLED_AS and COUNTED_LESS. */
static bool is_called_as(lua_State *L, lua_Debug *ar) {
    if (!lua_getstack(L, 1, ar) || !lua_getinfo(L, "f", ar)) return false;
    const bool is = lua_tocfunction(L, -1) == laoi_call_as;
    lua_pop(L, 1);
    return is && lua_getlocal(L, ar, CALLED_AS) && lua_getlocal(L, ar, COUNTED_LESS);
}

int laoi_argerror(lua_State *L, int i, const char *format, ...) {
    va_list args;
    lua_Debug ar;
    va_start(args, format);
    const char *why = lua_pushvfstring(L, format, args);
    va_end(args);
    if (is_called_as(L, &ar)) {
        if (lua_isstring(L, -2))
            return luaL_error(L, "bad argument #%d to '%s' (%s)", i - (int)lua_tointeger(L, -1), lua_tostring(L, -2),
                              why);
        lua_pushinteger(L, i);
        (void)lua_setlocal(L, &ar, REFUSED);
        lua_pushstring(L, why);
        return lua_error(L);
    }
    bool known = lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar);
    bool named = known && ar.name && strcmp(ar.name, "?") != 0;
    const char *name = named ? ar.name : lua_tostring(L, lua_upvalueindex(LAOI_NAME));
    if (known && !strcmp(ar.namewhat, "method")) {
        if (--i == 0) return luaL_error(L, "calling '%s' on bad self (%s)", name, why);
    }
    return luaL_error(L, "bad argument #%d to '%s' (%s)", i, name ? name : "?", why);
}

int laoi_typeerror(lua_State *L, int i, const char *expected) {
    const char *got = laoi_got(L, i);
    if (luaL_getmetafield(L, i, "__name") && lua_type(L, -1) == LUA_TSTRING) got = lua_tostring(L, -1);
    return laoi_argerror(L, i, "%s expected, got %s", expected, got);
}

int laoi_nomemory(lua_State *L) {
    lua_pushliteral(L, "not enough memory"); /* the message of Lua itself */
    return lua_error(L);
}

/* ---- self ---------------------------------------------------------------------------------------------------------- */

static const char MARK = 0; /* its address is the mark of spaces */

void laoi_mark(laoi_space *b) {
    b->mark = &MARK;
}

/* Raises the error for argument 1: space.move(id, x, y) with a dot passes the id as the space. */
static int not_a_space(lua_State *L) {
    lua_Debug ar;
    bool dot = lua_type(L, 1) == LUA_TNUMBER && lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) &&
               !strcmp(ar.namewhat, "field");
    if (dot) return laoi_argerror(L, 1, "aoi.space expected, got number: call it with a colon, space:%s(...)", ar.name);
    const bool named = lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && ar.name;
    if (lua_istable(L, 1) && named && !strcmp(ar.name, "new")) {
        const bool module = laoi_rawfield(L, 1, "new") == LUA_TFUNCTION;
        return laoi_argerror(L, 1, "aoi.space expected, got table: call new(space%s) with a dot",
                             module ? "" : ", options");
    }
    return laoi_typeerror(L, 1, "aoi.space");
}

void *laoi_object(lua_State *L, const char *name) {
    void *p = lua_touserdata(L, 1);
    bool is = p && lua_getmetatable(L, 1);
    if (is) {
        is = lua_rawequal(L, -1, lua_upvalueindex(LAOI_META));
        lua_pop(L, 1);
    }
    if (!is) laoi_argerror(L, 1, "%s expected, got %s: call it with a colon", name, luaL_typename(L, 1));
    return p;
}

static laoi_space *maybe_at(lua_State *L, int i) {
    laoi_space *b = lua_touserdata(L, i);
    if (!b || lua_rawlen(L, i) != sizeof *b || b->mark != &MARK) {
        if (i == 1) not_a_space(L);
        laoi_typeerror(L, i, "aoi.space");
        return NULL; /* for static analysis: errors do not return */
    }
    b->calls++;
    return b;
}

laoi_space *laoi_maybe(lua_State *L) {
    return maybe_at(L, 1);
}

void laoi_refuse_played(lua_State *L, const laoi_space *b) {
    if (b->playing) luaL_error(L, "attempt to use a space while its journal is being played");
}

laoi_space *laoi_space_argument(lua_State *L, int i) {
    laoi_space *b = maybe_at(L, i);
    laoi_refuse_played(L, b);
    if (b->sink_due && b->core) {
        laoi_gettable(L, i);
        laoi_hand_on(L, b); /* may close the space */
    }
    if (!b->core) luaL_error(L, "attempt to use a closed space");
    return b;
}

laoi_space *laoi_self(lua_State *L) {
    return laoi_space_argument(L, 1);
}

laoi_space *laoi_self_of(lua_State *L, int most) {
    laoi_space *b = laoi_self(L);
    if (lua_gettop(L) > most) laoi_no_more(L, most + 1);
    return b;
}

void laoi_no_more(lua_State *L, int i) {
    for (int top = lua_gettop(L); i <= top; i++)
        if (!lua_isnil(L, i)) laoi_argerror(L, i, "nothing expected, got %s", luaL_typename(L, i));
}

void laoi_no_more_in(lua_State *L, const laoi_space *b, int i) {
    for (int top = lua_gettop(L); i <= top; i++)
        if (!lua_isnil(L, i))
            laoi_argerror(L, i, "nothing expected in %d dimensions, got %s", b->dims, luaL_typename(L, i));
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static const char *not_finite(double v) {
    return isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

int64_t laoi_integer(lua_State *L, int i) {
    int64_t v;
    if (lua_type(L, i) != LUA_TNUMBER) laoi_typeerror(L, i, "integer");
    if (!laoi_tointeger(L, i, &v)) laoi_argerror(L, i, "number has no integer representation: %s", laoi_value(L, i));
    return v;
}

const unsigned char *laoi_message(lua_State *L, int i, size_t *size) {
    if (lua_type(L, i) == LUA_TLIGHTUSERDATA) {
        *size = (size_t)laoi_integer(L, i + 1);
        return lua_touserdata(L, i);
    }
    return lua_type(L, i) == LUA_TSTRING ? (const unsigned char *)lua_tolstring(L, i, size) : NULL;
}

double laoi_number(lua_State *L, int i) {
    if (lua_type(L, i) != LUA_TNUMBER) laoi_typeerror(L, i, "number");
    return lua_tonumber(L, i);
}

/* Pushes why the number at i is no coordinate. */
static const char *coordinate_fault(lua_State *L, int i) {
    const double v = lua_tonumber(L, i);
    if (!isfinite(v)) return lua_pushfstring(L, "finite number expected, got %s", not_finite(v));
    return lua_pushfstring(L, "number of at most 2^50 either way expected, got %s", laoi_value(L, i));
}

double laoi_finite(lua_State *L, int i) {
    const double v = laoi_number(L, i);
    if (!isfinite(v)) laoi_argerror(L, i, "%s", coordinate_fault(L, i));
    return v;
}

double laoi_coordinate(lua_State *L, int i) {
    const double v = laoi_number(L, i);
    if (!aoi_is_coordinate(v)) laoi_argerror(L, i, "%s", coordinate_fault(L, i));
    return v;
}

int laoi_position(lua_State *L, const laoi_space *b, int i, double *pos) {
    for (int a = 0; a < b->dims; a++) pos[a] = laoi_coordinate(L, i++);
    return i;
}

static const char *bad_radius(double v) {
    if (!(v >= 0)) return "radius must not be negative or nan";
    return v <= AOI_FARTHEST || isinf(v) ? NULL : "radius must be at most 2^50 or infinite";
}

double laoi_radius(lua_State *L, int i) {
    double v = laoi_number(L, i);
    if (bad_radius(v)) laoi_argerror(L, i, "%s, got %s", bad_radius(v), laoi_value(L, i));
    return v;
}

/* ---- entities, nodes ------------------------------------------------------------------------------------------------- */

const char *laoi_spell(lua_State *L, int64_t id) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)id);
    lua_pushstring(L, text);
    return lua_tostring(L, -1);
}

aoi_entity laoi_entity(lua_State *L, const laoi_space *b, int i) {
    int64_t id = laoi_integer(L, i);
    aoi_entity e = aoi_find(b->core, id);
    if (AOI_IS_NULL(e)) laoi_argerror(L, i, "no entity %s", laoi_spell(L, id));
    return e;
}

aoi_node laoi_node(lua_State *L, const laoi_space *b, int i, aoi_entity *owner) {
    aoi_entity e = laoi_entity(L, b, i);
    int64_t node_id = laoi_integer(L, i + 1);
    aoi_node n = aoi_find_node(b->core, e, node_id);
    if (AOI_IS_NULL(n)) {
        const char *id = laoi_spell(L, laoi_integer(L, i));
        laoi_argerror(L, i + 1, "entity %s has no node %s", id, laoi_spell(L, node_id));
    }
    if (owner) *owner = e;
    return n;
}

const char *laoi_key_name(lua_State *L, int i) {
    lua_pushvalue(L, i);
    return lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

const char *laoi_value(lua_State *L, int i) {
    int type = lua_type(L, i);
    lua_pushvalue(L, i);
    if (type == LUA_TSTRING) return lua_pushfstring(L, "'%s'", lua_tostring(L, -1));
    if (type == LUA_TNUMBER) return lua_tostring(L, -1);
    if (type == LUA_TBOOLEAN) return lua_toboolean(L, -1) ? "true" : "false";
    return luaL_typename(L, -1);
}

const char *laoi_got(lua_State *L, int i) {
    char text[32];
    if (lua_type(L, i) != LUA_TSTRING) return luaL_typename(L, i);
    snprintf(text, sizeof text, "string '%.20s'", lua_tostring(L, i));
    return lua_pushstring(L, text), lua_tostring(L, -1);
}

void laoi_refuse_module(lua_State *L, int i, const char *has, const char *expected) {
    if (!lua_istable(L, i)) return;
    laoi_rawfield(L, i, has);
    if (lua_iscfunction(L, -1)) laoi_argerror(L, i, "the module, not %s with a dot", expected);
    lua_pop(L, 1);
}

/* ---- flat arrays --------------------------------------------------------------------------------------------------- */

/* Pushes why the value at `at` is none of a row. */
static const char *value_fault(lua_State *L, int at, const char *expected) {
    if (lua_type(L, at) != LUA_TNUMBER) return lua_pushfstring(L, "%s expected, got %s", expected, laoi_got(L, at));
    return coordinate_fault(L, at);
}

/* Reads a row, the values of which begin at `at` on the stack; numbers: all values are numbers.  Returns NULL, or why it
 * is none, pushed. */
static inline const char *array_row(lua_State *L, int dims, int at, bool numbers, int64_t *id, double *pos) {
    if (!numbers && lua_type(L, at) != LUA_TNUMBER) return value_fault(L, at, "integer");
    if (!laoi_tointeger(L, at, id))
        return lua_pushfstring(L, "number has no integer representation: %s", laoi_value(L, at));
    for (int a = 0; a < dims; a++) {
        at++;
        pos[a] = numbers || lua_type(L, at) == LUA_TNUMBER ? lua_tonumber(L, at) : NAN;
        if (!aoi_is_coordinate(pos[a])) return value_fault(L, at, "number");
    }
    return NULL;
}

enum { ROWS_AT_ONCE = 4 }; /* at most 16 values, within LUA_MINSTACK, 20 */

/* Several at once, so that a value costs only two calls of Lua. */
void laoi_read_rows(lua_State *L, int dims, int i, size_t first, size_t n, aoi_row *out) {
    int top = lua_gettop(L), stride = dims + 1;
    bool plain = laoi_is_plain(L, i);
    for (size_t k = 0; k < n;) {
        int rows = n - k < ROWS_AT_ONCE ? (int)(n - k) : ROWS_AT_ONCE, others = 0;
        for (int v = 1; v <= rows * stride; v++)
            others |= laoi_geti(L, i, (laoi_index)((first + k) * (size_t)stride) + v, plain) ^ LUA_TNUMBER;
        for (int at = top + 1; rows-- > 0; at += stride, k++) {
            const char *fault = array_row(L, dims, at, !others, &out[k].id, out[k].pos);
            if (fault) laoi_argerror(L, i, "row %d: %s", (int)(first + k) + 1, fault);
        }
        lua_settop(L, top);
    }
}

size_t laoi_check_rows(lua_State *L, int dims, int i, size_t n, laoi_checked_row *out, int unread) {
    int top = lua_gettop(L), stride = dims + 1;
    uint32_t faults = 0;
    bool plain = laoi_is_plain(L, i);
    for (size_t k = 0; k < n; k++, lua_settop(L, top)) {
        laoi_index values = (laoi_index)(k * (size_t)stride), fault = (laoi_index)(faults * LAOI_UNREAD);
        for (int v = 1; v <= stride; v++) (void)laoi_geti(L, i, values + v, plain);
        bool good = !array_row(L, dims, top + 1, false, &out[k].row.id, out[k].row.pos);
        out[k].unread = good ? 0 : faults++ * LAOI_UNREAD + 1;
        if (good) continue;
        lua_rawseti(L, unread, fault + 3);
        lua_pushvalue(L, top + 1);
        lua_rawseti(L, unread, fault + 2);
        lua_pushinteger(L, (lua_Integer)k + 1);
        lua_rawseti(L, unread, fault + 1);
    }
    return faults;
}

size_t laoi_row_count(lua_State *L, int dims, int i) {
    if (!lua_istable(L, i)) laoi_typeerror(L, i, "table");
    size_t stride = (size_t)dims + 1, length = lua_rawlen(L, i);
    const bool nested = laoi_rawgeti(L, i, 1) == LUA_TTABLE;
    lua_pop(L, 1);
    if (nested) laoi_argerror(L, i, "row 1: integer expected, got table: rows are flat, {id, x, y, id, x, y}");
    if (lua_isnoneornil(L, i + 1)) {
        if (length % stride) laoi_argerror(L, i, "the length of the array is no multiple of %d", (int)stride);
        return length / stride;
    }
    int64_t rows = laoi_integer(L, i + 1);
    if (rows < 0 || (uint64_t)rows > length / stride)
        laoi_argerror(L, i + 1, "the array has %d rows", (int)(length / stride));
    return (size_t)rows;
}

double *laoi_places(lua_State *L, laoi_space *b, int i, size_t *n) {
    size_t dims = (size_t)b->dims, length = lua_rawlen(L, i);
    bool plain = laoi_is_plain(L, i);
    if (length % dims) laoi_argerror(L, i, "the length of the array is no multiple of %d", b->dims);
    *n = length / dims;
    double *to = aoi_coordinate_buffer(b->core, *n);
    if (!to && *n) laoi_nomemory(L);
    for (size_t k = 0; k < length; k++) {
        bool number = laoi_geti(L, i, (laoi_index)k + 1, plain) == LUA_TNUMBER;
        to[k] = number ? lua_tonumber(L, -1) : NAN;
        if (!aoi_is_coordinate(to[k]))
            laoi_argerror(L, i, "row %d: %s", (int)(k / dims) + 1, value_fault(L, -1, "number"));
        lua_pop(L, 1);
    }
    return to;
}

aoi_row *laoi_rows(lua_State *L, laoi_space *b, int i, size_t *n) {
    *n = laoi_row_count(L, b->dims, i);
    aoi_row *rows = aoi_row_buffer(b->core, *n);
    if (!rows && *n) laoi_nomemory(L);
    laoi_read_rows(L, b->dims, i, 0, *n, rows);
    return rows;
}

int laoi_stage_rows(lua_State *L, laoi_space *b, int i, size_t n, size_t *bad, int64_t *bad_id) {
    aoi_row rows[AOI_STAGED];
    int result = aoi_stage_ready(b->core, n) ? AOI_OK : AOI_ENOMEM;
    for (size_t k = 0, part = 0; k < n && result == AOI_OK; k += part) {
        part = n - k < AOI_STAGED ? n - k : AOI_STAGED;
        laoi_read_rows(L, b->dims, i, k, part, rows);
        result = aoi_stage(b->core, k, rows, part, bad);
        *bad_id = rows[*bad - k].id;
    }
    return result;
}

void laoi_buffer(lua_State *L, int i, size_t n) {
    if (lua_isnoneornil(L, i)) lua_createtable(L, n < 1 << 20 ? (int)n : 0, 0);
    else if (lua_istable(L, i)) lua_pushvalue(L, i);
    else laoi_typeerror(L, i, "table");
}

/* Whether the value on top may be an item of a list: a number, or a word of `overrides`. */
static bool is_item(lua_State *L) {
    if (lua_type(L, -1) != LUA_TSTRING) return lua_type(L, -1) == LUA_TNUMBER;
    return laoi_word(L, laoi_override_name) >= 0;
}

void laoi_end_list(lua_State *L, int i, laoi_index n) {
    for (bool more = true; more;) {
        const bool none = laoi_rawgeti(L, i, ++n) == LUA_TNIL;
        more = is_item(L);
        lua_pop(L, 1);
        if (none) return;
        lua_pushnil(L);
        lua_rawseti(L, i, n);
    }
}

int laoi_end_list_of(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    laoi_end_list(L, 1, (laoi_index)laoi_integer(L, 2));
    return 0;
}

int laoi_return_list(lua_State *L, laoi_index last, size_t n) {
    laoi_end_list(L, lua_gettop(L), last);
    laoi_pushinteger(L, (int64_t)n);
    return 2;
}

int laoi_push_integers(lua_State *L, const int64_t *v, int n) {
    for (int i = 0; i < n; i++) laoi_pushinteger(L, v[i]);
    return n;
}

int laoi_fill_list(lua_State *L, const int64_t *ids, const int64_t *nodes, size_t n) {
    laoi_index at = 0;
    int list = lua_gettop(L);
    bool plain = laoi_is_plain(L, list);
    for (size_t k = 0; k < n; k++) {
        laoi_pushinteger(L, ids[k]);
        laoi_seti(L, list, ++at, plain);
        if (!nodes) continue;
        laoi_pushinteger(L, nodes[k]);
        laoi_seti(L, list, ++at, plain);
    }
    return laoi_return_list(L, at, n);
}
