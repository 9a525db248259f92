/* host.c - a Lua with aoi in it for a page: what playground.js calls.
 *
 *   page --code--> aoi_run --> a Lua state --print--> stdout --> the page
 *
 * One state at a time.  A program that does not end is stopped by a count of instructions, as a page has no other way to get
 * its thread back. */
#include <emscripten.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int luaopen_aoi_core(lua_State *L);

enum { MOST_INSTRUCTIONS = 400000000 };

static lua_State *state;

static void stop(lua_State *L, lua_Debug *ar) {
    (void)ar;
    luaL_error(L, "stopped: the program does not end");
}

static int traceback(lua_State *L) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

/* A state with the standard libraries and aoi; the one before is closed. */
EMSCRIPTEN_KEEPALIVE void aoi_reset(void) {
    if (state) lua_close(state);
    state = luaL_newstate();
    luaL_openlibs(state);
    luaL_getsubtable(state, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(state, luaopen_aoi_core);
    lua_setfield(state, -2, "aoi.core");
    lua_getglobal(state, "package");
    lua_pushstring(state, "/lua/?.lua;/lua/?/init.lua");
    lua_setfield(state, -2, "path");
    lua_settop(state, 0);
}

/* Runs a program; "+" and what it returns as text, or "-" and the error.  Valid until the next call. */
EMSCRIPTEN_KEEPALIVE const char *aoi_run(const char *code, const char *name) {
    if (!state) aoi_reset();
    lua_settop(state, 0);
    lua_pushcfunction(state, traceback);
    lua_sethook(state, stop, LUA_MASKCOUNT, MOST_INSTRUCTIONS);
    int status = luaL_loadbufferx(state, code, __builtin_strlen(code), name, "t");
    if (status == LUA_OK) status = lua_pcall(state, 0, 1, 1);
    lua_sethook(state, NULL, 0, 0);
    lua_pushstring(state, status == LUA_OK ? "+" : "-");
    luaL_tolstring(state, 2, NULL);
    lua_concat(state, 2);
    return lua_tostring(state, -1);
}
