/* helpers.c - the module aoi.core.helpers: functions for the modules in Lua. */
#include "base/bytes.h"
#include "lua/binding.h"

/* lowest(space, from, to): the lowest ids of an entity and of a node in [from, to]; `to` if there is none.  Modules,
 * which choose ids (lua/aoi/reserved.lua), find the ones in use after a space was loaded or played. */
static int helper_lowest(lua_State *L) {
    const laoi_space *b = laoi_self(L);
    int64_t entity, node;
    aoi_lowest_ids(b->core, laoi_integer(L, 2), laoi_integer(L, 3), &entity, &node);
    return LAOI_INTEGERS(L, entity, node);
}

/* life(space, id): a number that differs between the lives of an id, nil if there is no such entity.  It has the 30
 * bits of the entity's index and 23 bits of its generation, without the lowest, which is always 1: as many as a double
 * holds.  The number repeats after 2^23 lives of one record. */
static int helper_life(lua_State *L) {
    const laoi_space *b = laoi_self(L);
    const aoi_entity e = aoi_find(b->core, laoi_integer(L, 2));
    return laoi_push_known(L, !AOI_IS_NULL(e), (int64_t)(e.generation >> 1 & 0x7fffff) << 30 | e.index);
}

static int helper_base64(lua_State *L) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n;
    const unsigned char *p = (const unsigned char *)luaL_checklstring(L, 1, &n);
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (size_t i = 0; i < n; i += 3) {
        const bool two = i + 1 < n, three = i + 2 < n;
        const unsigned v = (unsigned)p[i] << 16 | (two ? (unsigned)p[i + 1] << 8 : 0u) | (three ? p[i + 2] : 0u);
        luaL_addchar(&text, digits[v >> 18]);
        luaL_addchar(&text, digits[v >> 12 & 63]);
        luaL_addchar(&text, two ? digits[v >> 6 & 63] : '=');
        luaL_addchar(&text, three ? digits[v & 63] : '=');
    }
    luaL_pushresult(&text);
    return 1;
}

/* double(v): the eight bytes of a number, little-endian. */
static int helper_double(lua_State *L) {
    unsigned char bytes[8];
    (void)aoi_put_double(bytes, laoi_number(L, 1));
    lua_pushlstring(L, (const char *)bytes, sizeof bytes);
    return 1;
}

/* fnv(text): the upper and the lower 32 bits of its FNV-1a-64 hash, as not every Lua has integers of 64 bits. */
static int helper_fnv(lua_State *L) {
    size_t n;
    const char *p = luaL_checklstring(L, 1, &n);
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)p[i]) * 0x100000001b3;
    return LAOI_INTEGERS(L, (int64_t)(hash >> 32), (int64_t)(hash & 0xffffffff));
}

/* expected(word, list [, got]): "'a', 'b' or 'c' expected[, got 'd']; did you mean 'c'?". */
static int helper_expected(lua_State *L) {
    const char *names[LAOI_MOST_NAMES + 1] = {NULL}, *word = luaL_checkstring(L, 1);
    const int n = (int)lua_rawlen(L, 2);
    lua_settop(L, 3);
    luaL_checkstack(L, n + 10, NULL);
    for (int k = 0; k < n && k < LAOI_MOST_NAMES; k++) {
        lua_rawgeti(L, 2, k + 1);
        names[k] = lua_tostring(L, -1);
    }
    const char *got = lua_isnoneornil(L, 3) ? "" : lua_pushfstring(L, ", got '%s'", word);
    const char *choices = laoi_choices(L, names);
    lua_pushfstring(L, "%s expected%s%s", choices, got, laoi_nearest(L, word, names));
    return 1;
}

/* spell(id): an integer as exact text, in every version of Lua. */
static int helper_spell(lua_State *L) {
    (void)laoi_spell(L, laoi_integer(L, 1));
    return 1;
}

/* is_sight(space, v): whether it is an open sight of the space. */
static int helper_is_sight(lua_State *L) {
    const laoi_space *b = laoi_self(L);
    lua_pushboolean(L, laoi_sight_argument(L, 2, b) != NULL);
    return 1;
}

void laoi_open_helpers(lua_State *L) {
    static const luaL_Reg helpers[] = {
        {"lowest", helper_lowest}, {"life", helper_life},         {"base64", helper_base64},
        {"double", helper_double}, {"fnv", helper_fnv},           {"end_list", laoi_end_list_of},
        {"call_as", laoi_call_as}, {"as_one", laoi_as_one},       {"expected", helper_expected},
        {"spell", helper_spell},   {"is_sight", helper_is_sight}, {NULL, NULL}};
    lua_createtable(L, 0, 12);
    laoi_set_functions(L, lua_gettop(L), helpers);
    (void)luaL_newmetatable(L, LAOI_EXPLANATION);
    lua_setfield(L, -2, "explained");
}
