/* classes.c - classes of objects that stand on a space: aoi.Sync, aoi.Sight, aoi.History, aoi.Observer.
 *
 *   userdata { core, ... } --user value--> { the space's userdata }      an object keeps its space alive
 *        | metatable
 *        v
 *   { __name, __gc = __close = close, __tostring, __index = { methods } }
 *
 * The space frees what is open on it when it closes, so that an object's core is valid while both are open. */
#include "lua/binding.h"

#include <string.h>

void *laoi_new_on_space(lua_State *L, size_t size) {
    lua_settop(L, 2);
    void *p = laoi_newuserdata(L, size);
    memset(p, 0, size);
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    laoi_settable(L, 3);
    return p;
}

laoi_space *laoi_give_class(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(LAOI_CLASS));
    lua_setmetatable(L, 3);
    return laoi_self(L);
}

void laoi_expect_open(lua_State *L, bool open, const laoi_space *b, const char *what) {
    if (!open) luaL_error(L, "attempt to use a closed %s", what);
    if (!b->core) luaL_error(L, "attempt to use a closed space");
}

int laoi_done(lua_State *L, int result) {
    if (result == AOI_OK) return 0;
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    return luaL_error(L, "aoi: %s", aoi_result_text(result));
}

int laoi_name_object(lua_State *L, const char *name, bool open) {
    if (open) lua_pushfstring(L, "%s: %p", name, lua_touserdata(L, 1));
    else lua_pushfstring(L, "%s (closed)", name);
    return 1;
}

void laoi_open_class(lua_State *L, int space_meta, const laoi_class *c) {
    const int module = lua_gettop(L), meta = module + 1;
    const luaL_Reg metamethods[] = {
        {"__gc", c->close},
        {"__tostring", c->tostring},
#if LUA_VERSION_NUM >= 504
        {"__close", c->close},
#endif
        {NULL, NULL}
    };
    lua_createtable(L, 0, 5);
    lua_pushstring(L, c->name);
    lua_setfield(L, meta, "__name");
    laoi_set_functions(L, meta, metamethods);
    lua_newtable(L);
    laoi_set_functions(L, meta, c->methods);
    lua_setfield(L, meta, "__index");
    lua_pushvalue(L, space_meta);
    lua_pushstring(L, c->constructor);
    lua_pushvalue(L, meta);
    lua_pushcclosure(L, c->make, 3);
    lua_setfield(L, module, c->constructor);
    lua_settop(L, module);
}
