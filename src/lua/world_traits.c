/* world_traits.c - entities with traits, which travel in Lua (lua/aoi/skynet/world/traits.lua): which shards must have
 * all of them, as they have received the entity as a whole, and which the changes. */
#include "lua/world.h"

bool world_note_whole(world_router *r, const world_record *record, int64_t id, uint32_t shard) {
    if (!(record->flags & WORLD_TRAITS)) return true;
    if (!AOI_GROW(&r->memory, r->wholes, r->whole_cap, r->whole_count + (size_t)1)) return false;
    r->wholes[r->whole_count++] = (world_whole){id, shard};
    return true;
}

/* wholes(): pairs of an entity with traits and a shard that receives it as a whole, since the last call; and how many. */
static int r_wholes(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t n = r->whole_count;
    lua_createtable(L, (int)(2 * n), 0);
    for (uint32_t i = 0; i < n; i++) {
        laoi_pushinteger(L, r->wholes[i].id);
        lua_rawseti(L, -2, (laoi_index)(2 * i) + 1);
        laoi_pushinteger(L, r->wholes[i].shard);
        lua_rawseti(L, -2, (laoi_index)(2 * i) + 2);
    }
    r->whole_count = 0;
    laoi_pushinteger(L, n);
    return 2;
}

/* audience(id): the shards that know the entity in the closed epoch, as far as this one does; nil: it is not in the core. */
static int r_audience(lua_State *L) {
    world_router *r;
    const world_record *record = world_argument(L, &r);
    return record ? world_push_shards(L, world_audience_of(r, record, record->audience, WORLD_IS)) : 0;
}

const luaL_Reg world_trait_methods[] = {{"wholes", r_wholes}, {"audience", r_audience}, {NULL, NULL}};
