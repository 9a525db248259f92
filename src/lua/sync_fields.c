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

static const char *type_name(int type) {
    return type < AOI_TYPES ? type_names[type] : NULL;
}

static const char *to_name(int k) {
    static const char *const names[] = {"own", "team", NULL};
    return names[k];
}

/* Reads field k, on top of the stack. */
static void read_sync_field(lua_State *L, int i, int k, sync_fields_arg *a) {
    size_t n = 0;
    if (!lua_istable(L, -1)) bad_fields(L, i, k, "{name, type} expected");
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const bool place = lua_type(L, -2) == LUA_TNUMBER && (lua_tonumber(L, -2) == 1 || lua_tonumber(L, -2) == 2);
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        if (!place && strcmp(key, "to") != 0 && strcmp(key, "own") != 0)
            bad_fields(L, i, k, "{name, type, to = 'own' or 'team'} expected");
    }
    const int given = laoi_rawfield(L, -1, "own");
    const bool own = lua_toboolean(L, -1), all = laoi_rawfield(L, -2, "to") == LUA_TNIL;
    const int to = !all ? AOI_TO_OWN + laoi_word(L, to_name) : own ? AOI_TO_OWN : AOI_TO_ALL;
    if (given != LUA_TNIL && given != LUA_TBOOLEAN) bad_fields(L, i, k, "own must be a boolean");
    if (to == AOI_TO_ALL && !all) bad_fields(L, i, k, "to must be 'own' or 'team'");
    if (own && to != AOI_TO_OWN) bad_fields(L, i, k, "own = true is to = 'own'");
    lua_pop(L, 2);
    lua_rawgeti(L, -1, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &n) : NULL;
    if (!name || !n || n > AOI_MOST_FIELD_NAME || strlen(name) != n)
        bad_fields(L, i, k, "a name of 1 to 64 bytes expected");
    lua_rawgeti(L, -2, 2);
    const int type = laoi_word(L, type_name);
    if (type < 0) {
        const char *got = laoi_value(L, lua_gettop(L));
        lua_pushfstring(
            L, "a type expected: bool, u8, u16, u32, i8, i16, i32, f32, f64, angle8, angle16, string or bytes, got %s",
            got);
        bad_fields(L, i, k, lua_tostring(L, -1));
    }
    for (uint32_t f = 0; f < a->count; f++)
        if (!strcmp(a->names[f], name)) bad_fields(L, i, k, "two fields have the same name");
    memcpy(a->names[a->count], name, n + 1);
    a->fields[a->count] = (aoi_field){a->names[a->count], type, to};
    a->count++;
    lua_pop(L, 2);
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

static void no_field(lua_State *L, const aoi_sync *y, int i, const char *name) {
    const char *names[AOI_MOST_FIELDS + 1] = {NULL}, *known;
    luaL_checkstack(L, AOI_MOST_FIELDS + 10, NULL);
    for (uint32_t size, k = 0; (known = aoi_field_name(y, k, &size)) != NULL; k++) {
        lua_pushlstring(L, known, size);
        names[k] = lua_tostring(L, -1);
    }
    if (!names[0]) laoi_argerror(L, i, "no field '%s': 'fields' of new(space, options) names them", name);
    known = laoi_choices(L, names);
    laoi_argerror(L, i, "no field '%s': %s expected%s", name, known, laoi_nearest(L, name, names));
}

static uint32_t field_arg(lua_State *L, const aoi_sync *y, int i, int *type) {
    size_t n;
    uint32_t field = 0;
    if (lua_type(L, i) != LUA_TSTRING) laoi_typeerror(L, i, "string");
    const char *name = lua_tolstring(L, i, &n);
    if (!aoi_sync_field(y, name, n, &field, type)) no_field(L, y, i, name);
    return field;
}

/* Reads the value at i; false: it is of another type of Lua than the field. */
static bool read_put_value(lua_State *L, int i, int type, aoi_value *v) {
    const int lua = type == AOI_BOOL ? LUA_TBOOLEAN : type >= AOI_STRING ? LUA_TSTRING : LUA_TNUMBER;
    size_t n = 0;
    *v = (aoi_value){0};
    if (lua_type(L, i) != lua) return false;
    if (lua == LUA_TBOOLEAN) v->number = lua_toboolean(L, i);
    else if (lua == LUA_TNUMBER) v->number = lua_tonumber(L, i);
    else v->bytes = lua_tolstring(L, i, &n);
    v->size = n > AOI_MOST_VALUE ? AOI_MOST_VALUE + 1 : (uint32_t)n;
    return true;
}

int laoi_put_fields(lua_State *L, const laoi_space *b, int i, int t, const aoi_entity *e) {
    int result = AOI_OK;
    for (lua_pushnil(L); lua_next(L, t) && result == AOI_OK; lua_pop(L, 1)) {
        size_t n = 0;
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &n) : "";
        bool found = false;
        for (aoi_sync *y = aoi_sync_after(b->core, NULL); y && result == AOI_OK; y = aoi_sync_after(b->core, y)) {
            uint32_t field;
            aoi_value v;
            int type;
            if (!aoi_sync_field(y, name, n, &field, &type)) continue;
            found = true;
            if (!read_put_value(L, -1, type, &v) || !aoi_sync_holds(y, field, &v))
                return laoi_argerror(L, i, "field '%s' (%s) holds %s, got %s", name, type_names[type],
                                     type_ranges[type], laoi_value(L, lua_gettop(L)));
            if (e) result = aoi_sync_put(y, *e, field, &v);
        }
        if (!found) return laoi_argerror(L, i, "no synchroniser of the space has a field '%s'", laoi_key_name(L, -2));
    }
    return result;
}

/* put(id, name, value [, ago]) */
int laoi_sync_put(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 5);
    aoi_entity e = laoi_entity(L, y->space, 2);
    aoi_value v;
    int type;
    uint32_t field = field_arg(L, y->core, 3, &type);
    const int64_t ago = lua_isnoneornil(L, 5) ? 0 : laoi_integer(L, 5);
    if (ago < 0 || ago > UINT32_MAX) return laoi_argerror(L, 5, "a whole number of ticks expected");
    if (!read_put_value(L, 4, type, &v)) {
        const char *expected = type == AOI_BOOL ? "boolean" : type >= AOI_STRING ? "string" : "number";
        const char *name = lua_tostring(L, 3), *of = type_names[type];
        return laoi_argerror(L, 4, "%s expected for field '%s' (%s), got %s", expected, name, of, laoi_got(L, 4));
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
