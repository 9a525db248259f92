/* faulty.c - a second Lua inside the one that runs the specs, whose memory is counted, limited, and refused on demand.
 *
 *   local faulty = package.loadlib(path, "luaopen_faulty")()
 *   local ok, result, left = faulty.run(file, package_path, package_cpath, ...)
 *
 * runs the file, with the strings ... for arguments, in a new state with all libraries, closes that, and returns what it
 * returned (a string) or raised, and how many bytes were not given back. Four functions are there in the new state:
 *
 *   refuse(n, many)   the n-th request for memory from now on is refused, and many - 1 more (0: all) after it
 *   relent()          nothing is refused any more; returns how many were
 *   limit(bytes)      no request may bring the total over this; 0: any may; returns the bytes in use
 *   foreign_userdata(size)   userdata of so many bytes that belongs to no library; without a size: light userdata */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

typedef struct host {
    size_t used, limit;
    long countdown, many, refused;
} host;

static int refuses(host *h, size_t more) {
    if (h->limit && h->used + more > h->limit) {
        h->refused++;
        return 1;
    }
    if (!h->countdown) return 0;
    if (h->countdown > 1) {
        h->countdown--;
        return 0;
    }
    if (h->many && --h->many == 0) h->countdown = 0;
    h->refused++;
    return 1;
}

static void *host_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    host *h = ud;
    if (!ptr) osize = 0;
    if (nsize == 0) {
        h->used -= osize;
        free(ptr);
        return NULL;
    }
    if (nsize > osize && refuses(h, nsize - osize)) return NULL;
    void *to = realloc(ptr, nsize);
    if (to) h->used += nsize - osize;
    return to;
}

static host *host_of(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int l_refuse(lua_State *L) {
    host *h = host_of(L);
    long n = (long)luaL_checkinteger(L, 1), many = (long)luaL_optinteger(L, 2, 1);
    h->refused = 0;
    h->many = many;
    h->countdown = n;
    return 0;
}

static int l_relent(lua_State *L) {
    host *h = host_of(L);
    h->countdown = 0;
    lua_pushinteger(L, (lua_Integer)h->refused);
    h->refused = 0;
    return 1;
}

static int l_limit(lua_State *L) {
    host *h = host_of(L);
    h->limit = (size_t)luaL_optinteger(L, 1, 0);
    lua_pushinteger(L, (lua_Integer)h->used);
    return 1;
}

static int l_foreign_userdata(lua_State *L) {
    if (lua_isnoneornil(L, 1)) {
        lua_pushlightuserdata(L, L);
    } else {
        size_t size = (size_t)luaL_checkinteger(L, 1);
#if LUA_VERSION_NUM >= 504
        memset(lua_newuserdatauv(L, size, 0), 1, size);
#else
        memset(lua_newuserdata(L, size), 1, size);
#endif
    }
    return 1;
}

typedef struct job {
    host *host;
    lua_State *from; /* the state of the specs: file, path, cpath, arguments */
} job;

static void set_path(lua_State *L, const char *name, const char *value) {
    lua_getglobal(L, "package");
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static void set_function(lua_State *L, host *h, const char *name, lua_CFunction f) {
    lua_pushlightuserdata(L, h);
    lua_pushcclosure(L, f, 1);
    lua_setglobal(L, name);
}

static int traceback(lua_State *L) {
    if (!lua_isstring(L, 1)) lua_pushfstring(L, "(an error that is a %s)", luaL_typename(L, 1));
    lua_getglobal(L, "debug");
    lua_getfield(L, -1, "traceback");
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);
    return 1;
}

/* In the new state, protected. */
static int work(lua_State *L) {
    const job *j = lua_touserdata(L, 1);
    luaL_openlibs(L);
    set_path(L, "path", lua_tostring(j->from, 2));
    set_path(L, "cpath", lua_tostring(j->from, 3));
    set_function(L, j->host, "refuse", l_refuse);
    set_function(L, j->host, "relent", l_relent);
    set_function(L, j->host, "limit", l_limit);
    set_function(L, j->host, "foreign_userdata", l_foreign_userdata);
    lua_pushcfunction(L, traceback);
    if (luaL_loadfile(L, lua_tostring(j->from, 1))) return lua_error(L);
    int args = 0;
    for (int i = 4; i <= lua_gettop(j->from); i++, args++) lua_pushstring(L, lua_tostring(j->from, i));
    if (lua_pcall(L, args, 1, -2 - args)) return lua_error(L);
    return 1;
}

static int l_run(lua_State *L) {
    host h = {0};
    job j = {.host = &h, .from = L};
    for (int i = 1; i <= 3 || i <= lua_gettop(L); i++) luaL_checkstring(L, i);
    lua_State *to =
#if LUA_VERSION_NUM >= 505
        lua_newstate(host_alloc, &h, 1);
#else
        lua_newstate(host_alloc, &h);
#endif
    if (!to) {
        lua_pushnil(L);
        lua_pushliteral(L, "this Lua allows no allocator of one's own");
        return 2;
    }
    lua_pushcfunction(to, work);
    lua_pushlightuserdata(to, &j);
    int failed = lua_pcall(to, 1, 1, 0);
    lua_pushboolean(L, !failed);
    lua_pushstring(L, lua_tostring(to, -1));
    lua_close(to);
    lua_pushnumber(L, (lua_Number)h.used);
    return 3;
}

int luaopen_faulty(lua_State *L);

__attribute__((visibility("default"))) int luaopen_faulty(lua_State *L) {
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, l_run);
    lua_setfield(L, -2, "run");
    return 1;
}
