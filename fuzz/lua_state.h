/* lua_state.h - a Lua state for fuzzers: its memory is counted and refused on demand, its script reads the bytes.
 *
 * A script that returns a function is loaded once, and the function called for each input; any other script runs anew
 * for each, in a state of its own, and then all memory must be given back.
 *
 * What the script finds: byte() the next byte, or nil past the last; rest() all that are left, as a string; hit(n) tells
 * the fuzzer that something new may have happened; fail(text) is a finding; refuse(n, many) and relent() as in
 * spec/support/faulty.c. */
#ifndef LUA_STATE_H
#define LUA_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTERS = 1 << 14 };

/* libFuzzer takes these for coverage, beside that of the compiled code. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static struct {
    const uint8_t *at, *end;
    size_t used;
    long countdown, many, refused;
} host;

static void *host_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    (void)ud;
    if (!ptr) osize = 0;
    if (nsize == 0) {
        host.used -= osize;
        free(ptr);
        return NULL;
    }
    if (nsize > osize && host.countdown) {
        if (host.countdown > 1) {
            host.countdown--;
        } else {
            if (host.many && --host.many == 0) host.countdown = 0;
            host.refused++;
            return NULL;
        }
    }
    void *to = realloc(ptr, nsize);
    if (to) host.used += nsize - osize;
    return to;
}

static int l_byte(lua_State *L) {
    if (host.at == host.end) return 0;
    lua_pushinteger(L, *host.at++);
    return 1;
}

static int l_rest(lua_State *L) {
    lua_pushlstring(L, (const char *)host.at, (size_t)(host.end - host.at));
    host.at = host.end;
    return 1;
}

static int l_hit(lua_State *L) {
    uint8_t *c = counters + (uint64_t)lua_tointeger(L, 1) % COUNTERS;
    if (*c < 255) ++*c;
    return 0;
}

static int l_fail(lua_State *L) {
    fprintf(stderr, "FINDING: %s\n", lua_tostring(L, 1));
    abort();
}

static int l_refuse(lua_State *L) {
    host.many = (long)luaL_optinteger(L, 2, 1);
    host.refused = 0;
    host.countdown = (long)luaL_checkinteger(L, 1);
    return 0;
}

static int l_relent(lua_State *L) {
    host.countdown = 0;
    lua_pushinteger(L, host.refused);
    return 1;
}

/* Lines of Lua code are coverage, too: a pair of lines that follow each other is one place. */
static void on_line(lua_State *L, lua_Debug *ar) {
    static uint32_t last;
    (void)L;
    uint32_t here = (uint32_t)ar->currentline * 2654435761u;
    uint8_t *c = counters + ((here ^ last >> 1) >> 8) % COUNTERS;
    if (*c < 255) ++*c;
    last = here;
}

static const luaL_Reg host_functions[] = {{"byte", l_byte},     {"rest", l_rest},     {"hit", l_hit}, {"fail", l_fail},
                                          {"refuse", l_refuse}, {"relent", l_relent}, {NULL, NULL}};

static const char *script; /* its file */
static lua_CFunction core; /* luaopen_aoi_core, where it is needed */
static int by_line;        /* lines of Lua code are coverage */

static int work(lua_State *L) {
    luaL_openlibs(L);
    lua_getglobal(L, "package");
    lua_pushliteral(L, "lua/?.lua;lua/?/init.lua;fuzz/?.lua;?.lua");
    lua_setfield(L, -2, "path");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "cpath");
    if (core) {
        lua_getfield(L, -1, "preload");
        lua_pushcfunction(L, core);
        lua_setfield(L, -2, "aoi.core");
    }
    lua_pushglobaltable(L);
    luaL_setfuncs(L, host_functions, 0);
    lua_settop(L, 0);
    if (by_line) lua_sethook(L, on_line, LUA_MASKLINE, 0);
    if (luaL_dofile(L, script)) return lua_error(L);
    return lua_gettop(L);
}

/* Whatever it raises is a finding. */
static void must(lua_State *L, int result) {
    if (result == LUA_OK) return;
    fprintf(stderr, "FINDING: %s\n", lua_tostring(L, -1));
    abort();
}

static int run_script(const uint8_t *data, size_t size) {
    static lua_State *kept;
    if (!kept) {
        memset(&host, 0, sizeof host);
        kept = lua_newstate(host_alloc, NULL);
        if (!kept) abort();
        host.at = data;
        host.end = data + size;
        lua_pushcfunction(kept, work);
        must(kept, lua_pcall(kept, 0, 1, 0));
    }
    host.at = data;
    host.end = data + size;
    if (lua_isfunction(kept, 1)) {
        lua_pushvalue(kept, 1);
        must(kept, lua_pcall(kept, 0, 0, 0));
        return 0;
    }
    host.countdown = 0;
    lua_close(kept);
    kept = NULL;
    if (host.used) {
        fprintf(stderr, "FINDING: %zu bytes were not given back\n", host.used);
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
