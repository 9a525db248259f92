/* classes.c - classes of objects that belong to a space: aoi.Sync, aoi.Sight, aoi.History, aoi.Observer.
 *
 *   userdata { core, ... } --user value--> { the space's userdata }      an object keeps its space alive
 *        | metatable
 *        v
 *   { __name, __gc = __close = close, __tostring, __index = { methods } }
 *
 * A space that closes frees the cores of its objects, except an observer's: a core is valid while both are open. */
#include "lua/binding.h"

#include <string.h>

void *laoi_new_on_space(lua_State *L, laoi_space *b, size_t size) {
    lua_settop(L, 2);
    laoi_child *c = laoi_newuserdata(L, size);
    memset(c, 0, size);
    c->space = b;
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    laoi_settable(L, 3);
    return c;
}

laoi_space *laoi_give_class(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(LAOI_CLASS));
    lua_setmetatable(L, 3);
    return laoi_self(L);
}

bool laoi_is_open(const laoi_child *c) {
    return c->core && c->space->core;
}

void *laoi_child_maybe(lua_State *L, const laoi_class *c) {
    laoi_child *self = laoi_object(L, c->name);
    self->space->calls++;
    return self;
}

void *laoi_child_self(lua_State *L, const laoi_class *c, int most) {
    laoi_child *self = laoi_child_maybe(L, c);
    if (!self->core) luaL_error(L, "attempt to use a closed %s", c->word);
    if (!self->space->core) luaL_error(L, "attempt to use a closed space");
    laoi_refuse_played(L, self->space);
    laoi_no_more(L, most + 1);
    return self;
}

int laoi_close_child(lua_State *L, const laoi_class *c) {
    laoi_child *self = laoi_child_maybe(L, c);
    void *core = self->core;
    self->core = NULL;
    if (core && (self->space->core || c->outlives)) c->end(core);
    return 0;
}

static int child_close(lua_State *L) {
    return laoi_close_child(L, lua_touserdata(L, lua_upvalueindex(LAOI_CLASS)));
}

/* The method `close`; an argument is an error: sight:close(wall) is a mistake for sight:shut_wall(wall). */
static int close_method(lua_State *L) {
    const laoi_class *c = lua_touserdata(L, lua_upvalueindex(LAOI_CLASS));
    const laoi_child *self = laoi_child_maybe(L, c);
    laoi_no_more(L, 2);
    laoi_refuse_played(L, self->space); /* only here: the collector may close at any time */
    return c->close ? c->close(L) : child_close(L);
}

static int child_tostring(lua_State *L) {
    const laoi_class *c = lua_touserdata(L, lua_upvalueindex(LAOI_CLASS));
    laoi_child *self = laoi_child_maybe(L, c);
    if (laoi_is_open(self)) lua_pushfstring(L, "%s: %p", c->name, (void *)self);
    else lua_pushfstring(L, "%s (closed)", c->name);
    return 1;
}

int laoi_done(lua_State *L, int result) {
    if (result == AOI_OK) return 0;
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    return luaL_error(L, "aoi: %s", aoi_result_text(result));
}

/* As laoi_set_functions; with c, the class is a further upvalue. */
static void set_class_functions(lua_State *L, int meta, const laoi_class *c, const luaL_Reg *f) {
    for (; f->name; f++) {
        lua_pushvalue(L, meta);
        lua_pushstring(L, f->name);
        if (c) lua_pushlightuserdata(L, (void *)(uintptr_t)c);
        lua_pushcclosure(L, f->func, c ? LAOI_CLASS : LAOI_NAME);
        lua_setfield(L, -2, f->name);
    }
}

void laoi_set_functions(lua_State *L, int meta, const luaL_Reg *f) {
    set_class_functions(L, meta, NULL, f);
}

void laoi_open_class(lua_State *L, int space_meta, const laoi_class *c) {
    const int module = lua_gettop(L), meta = module + 1;
    const lua_CFunction close = c->close ? c->close : child_close;
    const luaL_Reg metamethods[] = {
        {"__gc", close},
        {"__tostring", child_tostring},
#if LUA_VERSION_NUM >= 504
        {"__close", close},
#endif
        {NULL, NULL}
    };
    const luaL_Reg closing[] = {{"close", close_method}, {NULL, NULL}};
    lua_createtable(L, 0, 5);
    lua_pushstring(L, c->name);
    lua_setfield(L, meta, "__name");
    set_class_functions(L, meta, c, metamethods);
    lua_newtable(L);
    laoi_set_functions(L, meta, c->methods);
    set_class_functions(L, meta, c, closing);
    lua_setfield(L, meta, "__index");
    lua_pushvalue(L, space_meta);
    lua_pushstring(L, c->constructor);
    lua_pushvalue(L, meta);
    lua_pushcclosure(L, c->make, LAOI_CLASS);
    lua_setfield(L, module, c->constructor);
    lua_settop(L, module);
}

/* ---- other types ------------------------------------------------------------------------------------------------- */

void *laoi_new_object(lua_State *L, size_t size) {
    void *p = laoi_newuserdata(L, size);
    memset(p, 0, size);
    lua_newtable(L);
    laoi_settable(L, -2);
    lua_pushvalue(L, lua_upvalueindex(LAOI_META));
    lua_setmetatable(L, -2);
    return p;
}

void laoi_set_type(lua_State *L, const char *type, const char *maker, lua_CFunction make, const luaL_Reg *m,
                   lua_CFunction gc) {
    int module = lua_gettop(L), meta = module + 1;
    const luaL_Reg collector[] = {{"__gc", gc}, {NULL, NULL}};
    lua_createtable(L, 0, 4);
    lua_pushstring(L, type);
    lua_setfield(L, meta, "__name");
    laoi_set_functions(L, meta, collector);
    lua_createtable(L, 0, 16);
    laoi_set_functions(L, meta, m);
    lua_setfield(L, meta, "__index");
    lua_pushvalue(L, meta);
    lua_pushstring(L, maker);
    lua_pushcclosure(L, make, 2);
    lua_setfield(L, module, maker);
    lua_settop(L, module);
}
