/* world.c - feeds any bytes to the readers of a world's messages; world.lua says what must hold. */
#include "lua_state.h"

int luaopen_aoi_core(lua_State *L);

/* The state is kept from input to input, so that what an input leaves in it is no leak. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    script = "fuzz/world.lua";
    core = luaopen_aoi_core;
    by_line = 1;
    return run_script(data, size);
}
