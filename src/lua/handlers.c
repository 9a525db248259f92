/* handlers.c - the handlers of nodes.
 *
 *   node -> user data: two refs      ref -> space's table [ref] = function or table of handlers
 *                                    [function] = ref, and `uses` counts the nodes with the function
 *
 * Thousands of nodes usually share a few functions: the table has each function once, so that it stays in the cache,
 * and a node costs 8 bytes.  A function is removed with its last node.
 *
 * Memory: keys are added to the table first, which may raise; assigning to an existing key cannot.  A function added
 * before a later step failed is still in `prepared`, and removed by the next call. */
#include "lua/binding.h"

/* ---- tables of handlers ------------------------------------------------------------------------------------------- */

/* Raises an error for a field that is a likely misspelling of a handler's name. */
static void refuse_handler(lua_State *L, int i, const char *name) {
    if (laoi_rawfield(L, i, name) != LUA_TNIL)
        laoi_argerror(L, i, "unknown handler '%s': 'enter', 'leave' or 'cross' expected", name);
    lua_pop(L, 1);
}

const char *laoi_bad_handler(lua_State *L, int i, bool *any, const char **got) {
    static const char *const names[] = {"enter", "leave", "cross"};
    const char *bad = NULL;
    for (int k = 0; k < 3; k++) {
        int top = lua_gettop(L);
        *any |= laoi_rawfield(L, i, names[k]) != LUA_TNIL;
        bool called = lua_isnoneornil(L, -1) || lua_isfunction(L, -1) ||
                      (!lua_isstring(L, -1) && luaL_getmetafield(L, -1, "__call"));
        if (!called) bad = names[k], *got = luaL_typename(L, -1);
        lua_settop(L, top);
    }
    return bad;
}

/* A table of handlers is looked up at each delivery: it may be filled later, inherit, and have other fields.  Refuses a
 * table with a handler that cannot be called, or with fields but neither handlers nor a metatable. */
static void check_handler_table(lua_State *L, int i) {
    bool any = false;
    refuse_handler(L, i, "on_enter");
    refuse_handler(L, i, "on_leave");
    refuse_handler(L, i, "on_cross");
    const char *got, *bad = laoi_bad_handler(L, i, &any, &got);
    if (bad) laoi_argerror(L, i, "handler '%s': function expected, got %s", bad, got);
    if (any) return;
    if (lua_getmetatable(L, i)) {
        lua_pop(L, 1);
        return;
    }
    lua_pushnil(L);
    if (!lua_next(L, i)) return;
    laoi_argerror(L, i, "unknown handler '%s': 'enter', 'leave' or 'cross' expected", laoi_key_name(L, -2));
}

bool laoi_has_cross(lua_State *L, int i) {
    enum { MOST_HEIRS = 16 };
    const int top = lua_gettop(L);
    bool has = false;
    lua_pushvalue(L, i);
    for (int k = 0; k < MOST_HEIRS && !has && lua_istable(L, -1); k++) {
        has = laoi_rawfield(L, lua_gettop(L), "cross") != LUA_TNIL;
        lua_pop(L, 1);
        if (!luaL_getmetafield(L, -1, "__index")) break;
    }
    lua_settop(L, top);
    return has;
}

bool laoi_check_handlers(lua_State *L, int enter) {
    int leave = enter + 1;
    if (lua_istable(L, enter)) {
        check_handler_table(L, enter);
        if (lua_gettop(L) > enter && !lua_isnil(L, leave))
            laoi_argerror(L, leave, "nothing expected after a table of handlers, got %s", luaL_typename(L, leave));
        laoi_no_more(L, leave);
        lua_settop(L, enter);
        lua_pushvalue(L, enter); /* the table serves both kinds */
        return true;
    }
    laoi_no_more(L, leave + 1);
    lua_settop(L, leave);
    if (!lua_isnil(L, enter) && !lua_isfunction(L, enter)) laoi_typeerror(L, enter, "function or table");
    if (!lua_isnil(L, leave) && !lua_isfunction(L, leave)) laoi_typeerror(L, leave, "function");
    return !lua_isnil(L, enter) || !lua_isnil(L, leave);
}

/* ---- refs ---------------------------------------------------------------------------------------------------------- */

static bool grow_uses(laoi_space *b, uint32_t need) {
    if (need < b->use_cap) return true;
    uint32_t to = need + need / 2 + 8;
    void *p = b->alloc(b->ud, b->uses, b->use_cap * sizeof *b->uses, to * sizeof *b->uses);
    if (!p) return false;
    b->uses = p;
    b->use_cap = to;
    return true;
}

/* Removes a handler from the table at index t; needs no memory. */
static void remove_handler(lua_State *L, laoi_space *b, int t, uint32_t ref) {
    lua_rawgeti(L, t, (laoi_index)ref);
    lua_pushnil(L);
    lua_rawset(L, t); /* the key is the function itself */
    lua_pushnil(L);
    lua_rawseti(L, t, (laoi_index)ref);
    b->uses[ref].next = b->unused_ref;
    b->unused_ref = ref;
}

static void release_handler(lua_State *L, laoi_space *b, int t, uint32_t ref) {
    if (ref && --b->uses[ref].count == 0) remove_handler(L, b, t, ref);
}

/* The ref of the function at index i, 0 for nil; adds a new function, without uses. */
static uint32_t intern(lua_State *L, laoi_space *b, int t, int i) {
    if (lua_isnil(L, i)) return 0;
    lua_pushvalue(L, i);
    lua_rawget(L, t);
    uint32_t ref = (uint32_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (ref) return ref;
    ref = b->unused_ref ? b->unused_ref : b->ref_top + 1;
    if (!grow_uses(b, ref)) laoi_nomemory(L);
    lua_pushboolean(L, 0);
    lua_rawseti(L, t, (laoi_index)ref);
    lua_pushvalue(L, i);
    lua_pushboolean(L, 0);
    lua_rawset(L, t);
    if (ref == b->unused_ref) b->unused_ref = b->uses[ref].next; /* the rest cannot fail */
    else b->ref_top = ref;
    lua_pushvalue(L, i);
    lua_rawseti(L, t, (laoi_index)ref);
    lua_pushvalue(L, i);
    lua_pushinteger(L, (lua_Integer)ref);
    lua_rawset(L, t);
    b->uses[ref].count = 0;
    return ref;
}

static void drop_prepared(lua_State *L, laoi_space *b, int t) {
    for (int i = 0; i < 2; i++) {
        uint32_t ref = b->prepared[i];
        b->prepared[i] = 0;
        if (ref && b->uses[ref].count == 0) remove_handler(L, b, t, ref);
        if (b->prepared[1] == ref) b->prepared[1] = 0; /* the same function for both */
    }
}

void laoi_forget_freed(lua_State *L, laoi_space *b, int t) {
    uint64_t refs;
    while (b->core && aoi_next_freed(b->core, &refs)) {
        release_handler(L, b, t, (uint32_t)(refs >> 32));
        release_handler(L, b, t, (uint32_t)refs);
    }
}

uint64_t laoi_prepare_handlers(lua_State *L, laoi_space *b, int t, int on_enter, int on_leave) {
    drop_prepared(L, b, t);
    b->prepared[0] = intern(L, b, t, on_enter);
    b->prepared[1] = intern(L, b, t, on_leave);
    return (uint64_t)b->prepared[0] << 32 | b->prepared[1];
}

void laoi_settle_handlers(lua_State *L, laoi_space *b, int t, bool added) {
    for (int i = 0; i < 2 && added; i++)
        if (b->prepared[i]) b->uses[b->prepared[i]].count++;
    drop_prepared(L, b, t);
}

void laoi_free_handlers(laoi_space *b) {
    if (b->uses) b->alloc(b->ud, b->uses, b->use_cap * sizeof *b->uses, 0);
    b->uses = NULL;
    b->use_cap = 0;
}
