/* reserved_ids.c - module aoi.core.reserved: which ids of a range are taken already, for the layers in Lua that choose ids
 * of their own (lua/aoi/reserved.lua).  Those of a space that was loaded or played stand there before any layer does. */
#include "lua/binding.h"

/* lowest(space, from, to): the lowest ids of an entity and of a node in [from, to]; `to` where there is none. */
static int r_lowest(lua_State *L) {
    const laoi_space *b = laoi_self(L);
    int64_t entity, node;
    aoi_lowest_ids(b->core, laoi_integer(L, 2), laoi_integer(L, 3), &entity, &node);
    laoi_pushinteger(L, entity);
    laoi_pushinteger(L, node);
    return 2;
}

static const luaL_Reg reserved_functions[] = {{"lowest", r_lowest}, {NULL, NULL}};

void laoi_open_reserved(lua_State *L, int space_meta) {
    lua_createtable(L, 0, 1);
    laoi_set_functions(L, space_meta, reserved_functions);
    laoi_register(L, "aoi.core.reserved");
}
