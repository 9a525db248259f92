/* world_announce.c - what shards tell each other when tiles change owners, and after one of them has died:
 * lua/aoi/skynet/world/recovery.lua.
 *
 *   remap      own entities go to the shards that own their tiles now, or are named to those that must hear of them now
 *   retell     every own entity is named as NEAR to its whole audience; every ghost is doubted
 *   (apply)    a ghost that is named is doubted no more: world_parts.c
 *   ids        what no shard has named is the dead one's: it waits, and then leaves
 *   restored   what goes on after it was lost is named, too */
#include "lua/world.h"

/* remap(all): before close, where tiles have changed owners; all: this shard is to have no entities from now on, whatever
 * the map says. */
static int r_remap(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_world *w = &r->space->core->world;
    if (lua_toboolean(L, 2)) r->self = 0;
    for (uint32_t i = 0; i < w->entity_top && i < r->record_cap; i++)
        if (aoi_is_live(w->entities[i].generation) && !world_reconsider(r, i)) return laoi_nomemory(L);
    return 0;
}

/* retell(): before close: the epoch that is closed names every own entity as NEAR to its whole audience, whether or not
 * it moves, and each ghost is doubted until its owner has named it. */
static int r_retell(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_world *w = &r->space->core->world;
    r->retells = true;
    for (uint32_t i = 0; i < w->entity_top && i < r->record_cap; i++) {
        world_record *record = r->records + i;
        double pos[3] = {0};
        if (!aoi_is_live(w->entities[i].generation)) continue;
        if (!(record->flags & WORLD_REAL) && !record->doubted) record->doubted = r->epoch;
        const world_mover *mover = world_find_mover(r, i, record);
        if ((record->flags & (WORLD_REAL | WORLD_LEFT)) != WORLD_REAL || (mover && mover->concerning)) continue;
        (void)aoi_position(r->space->core, world_handle(r, i), pos);
        world_members all = world_audience_of(r, record, record->audience, WORLD_IS);
        FOR_OTHERS(r, all, r->self, shard) if (!world_tell_near(r, i, shard, pos)) return laoi_nomemory(L);
    }
    return 0;
}

/* An entity that comes into the world tells its audience, but not its owner; this shard only where it comes back. */
static int tell_new(lua_State *L, int tag) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 2);
    uint32_t life = (uint32_t)laoi_integer(L, 3);
    uint64_t kind = (uint64_t)laoi_integer(L, 4);
    double pos[3] = {0};
    bool here = false;
    laoi_position(L, r->space, 5, pos);
    if (world_is_wide(id) && r->width == 4) return luaL_error(L, "aoi: widen() comes first");
    uint32_t owner = world_owner(r->map, pos), audience = world_audience(r->map, world_tile(r->map, pos[0], pos[1]));
    const world_set *set = r->map->sets + audience;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t shard = r->map->members[set->first + i];
        here = here || shard == r->self;
        if (shard == owner || (shard == r->self && tag == WORLD_BORN)) continue;
        if (!world_tell_whole(r, shard, tag, id, life, kind, pos)) return laoi_nomemory(L);
    }
    laoi_pushinteger(L, owner);
    lua_pushboolean(L, here);
    return 2;
}

/* born(id, life, kind, x, y [, z]): it enters.  Returns the owner and whether this shard is in the audience. */
static int r_born(lua_State *L) {
    return tell_new(L, WORLD_BORN);
}

/* restored(id, life, kind, x, y [, z]): it was lost, and goes on. */
static int r_restored(lua_State *L) {
    return tell_new(L, WORLD_NEAR);
}

const luaL_Reg world_announce_methods[] = {
    {"remap", r_remap}, {"retell", r_retell}, {"born", r_born}, {"restored", r_restored}, {NULL, NULL}};
