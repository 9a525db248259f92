/* lua_api.c - fuzzes the Lua API: bytes become a random program of calls with hostile values; lua_api.lua writes it. */
#include "lua_state.h"

int luaopen_aoi_core(lua_State *L);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    script = "fuzz/lua_api.lua";
    core = luaopen_aoi_core;
    return run_script(data, size);
}
