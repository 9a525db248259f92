/* compat.h - Lua 5.1 to 5.5 and LuaJIT under the names of 5.4. */
#ifndef LAOI_COMPAT_H
#define LAOI_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if LUA_VERSION_NUM < 501
#error "aoi needs Lua 5.1 or newer"
#endif

/* Handlers may yield since Lua 5.3.  In earlier versions a continuation is never called. */
#if LUA_VERSION_NUM >= 503
#define LAOI_YIELDS 1
#else
#define LAOI_YIELDS 0
typedef intptr_t lua_KContext;
#undef LUA_OK
#define LUA_OK 0
#define lua_callk(L, n, r, ctx, k) ((void)(ctx), (void)(k), lua_call(L, n, r))
#define lua_pcallk(L, n, r, h, ctx, k) ((void)(ctx), (void)(k), lua_pcall(L, n, r, h))
#define lua_isyieldable(L) ((void)(L), 0)
#if LUA_VERSION_NUM == 502 /* there these are macros of the functions above: avoid recursion */
#undef lua_call
#undef lua_pcall
#define lua_call(L, n, r) ((lua_callk)((L), (n), (r), 0, NULL))
#define lua_pcall(L, n, r, h) ((lua_pcallk)((L), (n), (r), (h), 0, NULL))
#endif
#endif

/* Userdata with one table as user value. */
#if LUA_VERSION_NUM >= 504
#define laoi_newuserdata(L, size) lua_newuserdatauv((L), (size), 1)
#define laoi_gettable(L, i) ((void)lua_getiuservalue((L), (i), 1))
#define laoi_settable(L, i) ((void)lua_setiuservalue((L), (i), 1))
#elif LUA_VERSION_NUM >= 502
#define laoi_newuserdata(L, size) lua_newuserdata((L), (size))
#define laoi_gettable(L, i) ((void)lua_getuservalue((L), (i)))
#define laoi_settable(L, i) ((void)lua_setuservalue((L), (i)))
#else
#define laoi_newuserdata(L, size) lua_newuserdata((L), (size))
#define laoi_gettable(L, i) lua_getfenv((L), (i))
#define laoi_settable(L, i) ((void)lua_setfenv((L), (i)))
#endif

/* A buffer that is collected after it has left the stack. */
#if LUA_VERSION_NUM >= 504
#define laoi_newbuffer(L, size) lua_newuserdatauv((L), (size), 0)
#else
#define laoi_newbuffer(L, size) lua_newuserdata((L), (size))
#endif

#if LUA_VERSION_NUM < 502
#define lua_rawlen(L, i) lua_objlen((L), (i))
#endif

#if defined(_WIN32)
#define LAOI_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define LAOI_EXPORT __attribute__((visibility("default")))
#else
#define LAOI_EXPORT
#endif

/* Pushes and returns the type. */
#if LUA_VERSION_NUM >= 503
#define laoi_rawgeti(L, i, n) lua_rawgeti((L), (i), (n))
#define laoi_rawget(L, i) lua_rawget((L), (i))
#else
#define laoi_rawget(L, i) (lua_rawget((L), (i)), lua_type((L), -1))
#define laoi_rawgeti(L, i, n) (lua_rawgeti((L), (i), (n)), lua_type((L), -1))
#endif

/* Raw access to an array; plain: it has no metatable, so that the faster lua_geti and lua_seti are equivalent. */
#if LUA_VERSION_NUM >= 503
#define laoi_geti(L, i, n, plain) ((plain) ? lua_geti((L), (i), (n)) : lua_rawgeti((L), (i), (n)))
#define laoi_seti(L, i, n, plain) ((plain) ? lua_seti((L), (i), (n)) : lua_rawseti((L), (i), (n)))
#else
#define laoi_geti(L, i, n, plain) ((void)(plain), laoi_rawgeti((L), (i), (n)))
#define laoi_seti(L, i, n, plain) ((void)(plain), lua_rawseti((L), (i), (n)))
#endif

static inline bool laoi_is_plain(lua_State *L, int i) {
    if (!lua_getmetatable(L, i)) return true;
    lua_pop(L, 1);
    return false;
}

/* Pushes a field of the table at i without metamethods; returns the type. */
static inline int laoi_rawfield(lua_State *L, int i, const char *name) {
    lua_pushstring(L, name);
    return laoi_rawget(L, i > 0 ? i : i - 1);
}

/* Pushes the text of debug.traceback from that level on. */
static inline void laoi_traceback(lua_State *L, int level) {
#if LUA_VERSION_NUM >= 502
    luaL_traceback(L, L, NULL, level);
#else
    lua_getglobal(L, "debug");
    if (lua_istable(L, -1)) lua_getfield(L, -1, "traceback");
    if (lua_isfunction(L, -1)) {
        lua_pushliteral(L, "");
        lua_pushinteger(L, level + 1);
        lua_call(L, 2, 1);
    }
#endif
}

/* The type of an index into a table: lua_Integer since 5.3, int before. */
#if LUA_VERSION_NUM >= 503
typedef lua_Integer laoi_index;
#else
typedef int laoi_index;
#endif

/* Reads an id: any lua_Integer; before 5.3 a whole number within 2^53.  False for other numbers. */
static inline bool laoi_tointeger(lua_State *L, int i, int64_t *out) {
#if LUA_VERSION_NUM >= 503
    int whole;
    *out = lua_tointegerx(L, i, &whole);
    return whole;
#else
    lua_Number d = lua_tonumber(L, i);
    bool whole = floor(d) == d && fabs(d) <= 9007199254740992.0;
    *out = whole ? (int64_t)d : 0;
    return whole;
#endif
}

static inline void laoi_pushinteger(lua_State *L, int64_t v) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)v);
#else
    lua_pushnumber(L, (lua_Number)v);
#endif
}

#endif
