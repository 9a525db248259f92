/* sync_fields.c - fields of `aoi.sync`: their option, put and get. */
#include "lua/sync_binding.h"

#include <string.h>

static const char *const type_names[AOI_TYPES] = {"bool", "u8",  "u16",    "u32",     "i8",     "i16",  "i32",
                                                  "f32",  "f64", "angle8", "angle16", "string", "bytes"};
static const char *const type_ranges[AOI_TYPES] = {
    "true or false",
    "whole numbers from 0 to 255",
    "whole numbers from 0 to 65535",
    "whole numbers from 0 to 4294967295",
    "whole numbers from -128 to 127",
    "whole numbers from -32768 to 32767",
    "whole numbers from -2147483648 to 2147483647",
    "finite numbers within a 32-bit float",
    "finite numbers",
    "finite numbers",
    "finite numbers",
    "up to 65535 bytes",
    "up to 65535 bytes",
};

/* ---- the option -------------------------------------------------------------------------------------------------- */

static void bad_fields(lua_State *L, int i, int k, const char *why) {
    if (!k) laoi_argerror(L, i, "bad value for option 'fields' (%s)", why);
    laoi_argerror(L, i, "bad value for option 'fields' (%s, at %d)", why, k);
}

/* Raises an error for a key other than 1, 2 and "own". */
static void check_keys(lua_State *L, int i, int k) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        bool place = lua_type(L, -2) == LUA_TNUMBER && (lua_tonumber(L, -2) == 1 || lua_tonumber(L, -2) == 2);
        bool own = lua_type(L, -2) == LUA_TSTRING && !strcmp(lua_tostring(L, -2), "own");
        if (!place && !own) bad_fields(L, i, k, "{name, type, own = true} expected");
        if (own && !lua_isboolean(L, -1)) bad_fields(L, i, k, "own must be a boolean");
    }
}

static int field_type(const char *name) {
    for (int t = 0; t < AOI_TYPES; t++)
        if (!strcmp(name, type_names[t])) return t;
    return -1;
}

/* Reads field k, on top of the stack. */
static void read_sync_field(lua_State *L, int i, int k, sync_fields_arg *a) {
    size_t n = 0;
    if (!lua_istable(L, -1)) bad_fields(L, i, k, "{name, type} expected");
    check_keys(L, i, k);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    laoi_rawfield(L, -3, "own");
    const char *name = lua_type(L, -3) == LUA_TSTRING ? lua_tolstring(L, -3, &n) : NULL;
    const char *type = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (!name || !n || n > AOI_MOST_FIELD_NAME || strlen(name) != n)
        bad_fields(L, i, k, "a name of 1 to 64 bytes expected");
    if (!type || field_type(type) < 0) {
        const char *got = laoi_value(L, lua_gettop(L) - 1);
        lua_pushfstring(
            L, "a type expected: bool, u8, u16, u32, i8, i16, i32, f32, f64, angle8, angle16, string or bytes, got %s",
            got);
        bad_fields(L, i, k, lua_tostring(L, -1));
    }
    for (uint32_t f = 0; f < a->count; f++)
        if (!strcmp(a->names[f], name)) bad_fields(L, i, k, "two fields have the same name");
    memcpy(a->names[a->count], name, n + 1);
    a->fields[a->count] = (aoi_field){a->names[a->count], field_type(type), lua_toboolean(L, -1)};
    a->count++;
    lua_pop(L, 3);
}

void laoi_fields_option(lua_State *L, int i, sync_fields_arg *a) {
    if (!lua_istable(L, -1)) bad_fields(L, i, 0, "a table of {name, type} expected");
    size_t n = lua_rawlen(L, -1);
    if (n > AOI_MOST_FIELDS) bad_fields(L, i, 0, "at most 64 fields");
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) bad_fields(L, i, 0, "a list of {name, type} expected, got names");
    for (size_t k = 1; k <= n; k++) {
        lua_rawgeti(L, -1, (int)k);
        read_sync_field(L, i, (int)k, a);
        lua_pop(L, 1);
    }
}

/* ---- put and get ------------------------------------------------------------------------------------------------- */

static uint32_t field_arg(lua_State *L, const aoi_sync *y, int i, int *type) {
    size_t n;
    uint32_t field = 0;
    if (lua_type(L, i) != LUA_TSTRING) laoi_typeerror(L, i, "string");
    const char *name = lua_tolstring(L, i, &n);
    if (!aoi_sync_field(y, name, n, &field, type)) laoi_argerror(L, i, "no field '%s'", name);
    return field;
}

static void expect_value(lua_State *L, int i, int lua, int type) {
    if (lua_type(L, i) == lua) return;
    const char *expected = lua_typename(L, lua), *name = lua_tostring(L, i - 1), *of = type_names[type];
    laoi_argerror(L, i, "%s expected for field '%s' (%s), got %s", expected, name, of, luaL_typename(L, i));
}

/* put(id, name, value [, ago]) */
int laoi_sync_put(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 5);
    aoi_entity e = laoi_entity(L, y->space, 2);
    aoi_value v = {0};
    int type;
    size_t n;
    uint32_t field = field_arg(L, y->core, 3, &type);
    const int64_t ago = lua_isnoneornil(L, 5) ? 0 : laoi_integer(L, 5);
    if (ago < 0 || ago > UINT32_MAX) return laoi_argerror(L, 5, "a whole number of ticks expected");
    if (type == AOI_BOOL) {
        expect_value(L, 4, LUA_TBOOLEAN, type);
        v.number = lua_toboolean(L, 4);
    } else if (type >= AOI_STRING) {
        expect_value(L, 4, LUA_TSTRING, type);
        v.bytes = lua_tolstring(L, 4, &n);
        v.size = n > AOI_MOST_VALUE ? AOI_MOST_VALUE + 1 : (uint32_t)n;
    } else {
        expect_value(L, 4, LUA_TNUMBER, type);
        v.number = lua_tonumber(L, 4);
    }
    int result = aoi_sync_put_past(y->core, e, field, &v, (uint32_t)ago);
    if (result != AOI_EVALUE) return laoi_done(L, result);
    const char *name = lua_tostring(L, 3), *range = type_ranges[type];
    if (v.bytes) return laoi_argerror(L, 4, "field '%s' (%s) holds %s", name, type_names[type], range);
    return laoi_argerror(L, 4, "field '%s' (%s) holds %s, got %s", name, type_names[type], range, lua_tostring(L, 4));
}

void laoi_push_value(lua_State *L, int type, const aoi_value *v) {
    if (type == AOI_BOOL) lua_pushboolean(L, v->number != 0);
    else if (type >= AOI_STRING) {
#if LUA_VERSION_NUM < 502
        char copy[AOI_MOST_VALUE]; /* lua_pushlstring collects garbage first: a finalizer may free the bytes */
        const char *bytes = v->size ? memcpy(copy, v->bytes, v->size) : "";
#else
        const char *bytes = v->bytes;
#endif
        lua_pushlstring(L, bytes, v->size);
    } else if (type >= AOI_F32) lua_pushnumber(L, v->number);
    else laoi_pushinteger(L, (int64_t)v->number);
}

int laoi_sync_get(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = laoi_entity(L, y->space, 2);
    aoi_value v;
    int type;
    uint32_t field = field_arg(L, y->core, 3, &type);
    int result = aoi_sync_value(y->core, e, field, &v);
    if (result != AOI_OK) return laoi_done(L, result);
    laoi_push_value(L, type, &v);
    return 1;
}

/* state(space, id): a table of all fields by name, or nil.  Copies names, as pushing a value may run a finalizer. */
int laoi_sync_state(lua_State *L) {
    laoi_space *b = laoi_self(L);
    const int64_t id = laoi_integer(L, 2);
    aoi_news_value v;
    laoi_no_more(L, 3);
    if (AOI_IS_NULL(aoi_find(b->core, id))) return 0;
    lua_newtable(L);
    for (uint64_t cursor = 0; b->core && aoi_next_field(b->core, aoi_find(b->core, id), &cursor, &v);) {
        char name[AOI_MOST_FIELD_NAME];
        memcpy(name, v.name, v.name_size);
        laoi_push_value(L, v.type, &v.value);
        lua_pushlstring(L, name, v.name_size);
        lua_insert(L, -2);
        lua_rawset(L, -3);
    }
    return 1;
}
