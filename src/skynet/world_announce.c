/* world_announce.c - sends entities to their audiences when they enter, when tiles change owners, and after the loss of
 * a shard: lua/aoi/skynet/world/recovery.lua.
 *
 *   remap      own entities are handed over to the new owners of their tiles, or sent to their new audiences
 *   announce_all     every own entity is sent as NEAR to its whole audience; every ghost becomes unconfirmed
 *   (apply)    a row NEAR confirms the ghost: world_parts.c
 *   ids        ghosts that stay unconfirmed were owned by the lost shard: they leave after a while
 *   restored   an entity that a client restores is sent as NEAR, too */
#include "skynet/world.h"

/* remap(all): after tiles have changed owners, before close: reroutes own entities; all: the shard gives away all
 * entities, whatever the map contains. */
static int r_remap(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_records *w = &r->space->core->records;
    if (lua_toboolean(L, 2)) r->self = 0;
    for (uint32_t i = 0; i < w->entity_top && i < r->record_cap; i++)
        if (aoi_is_live(w->entities[i].generation) && !world_reroute(r, i)) return laoi_nomemory(L);
    return 0;
}

/* announce_all([again]): before close: the epoch sends every own entity as NEAR to its whole audience, whether it moves
 * or not; every ghost is unconfirmed until its owner has confirmed it.  One that is already stays so since that epoch;
 * again: since this one. */
static int r_announce_all(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_records *w = &r->space->core->records;
    const bool again = lua_toboolean(L, 2);
    r->announces_all = true;
    for (uint32_t i = 0; i < w->entity_top && i < r->record_cap; i++) {
        world_record *record = r->records + i;
        double pos[3] = {0};
        if (!aoi_is_live(w->entities[i].generation)) continue;
        if (!(record->flags & WORLD_REAL) && (again || !record->unconfirmed)) record->unconfirmed = r->epoch;
        const world_mover *mover = world_find_mover(r, i, record);
        if (!world_is_own(record) || (mover && mover->routed)) continue;
        (void)aoi_position(r->space->core, world_handle(r, i), pos);
        world_members all = world_audience_of(r, record, record->audience, WORLD_IS);
        FOR_OTHERS(r, all, r->self, shard) if (!world_write_near(r, i, shard, pos)) return laoi_nomemory(L);
    }
    return 0;
}

/* Writes rows of a new entity for its audience except its owner; with NEAR also for this shard.  Pushes the owner, and
 * whether this shard is in the audience. */
static int write_new(lua_State *L, int tag) {
    world_router *r = world_self(L);
    double pos[3] = {0};
    const world_row row = {laoi_integer(L, 2), (uint32_t)laoi_integer(L, 3), (uint64_t)laoi_integer(L, 4), pos};
    bool here = false;
    laoi_position(L, r->space, 5, pos);
    if (wire_width(row.id, r->width) != r->width) return luaL_error(L, "aoi: widen() comes first");
    uint32_t owner = world_owner(r->map, pos), audience = world_audience(r->map, pos);
    const world_set *set = r->map->sets + audience;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t shard = r->map->members[set->first + i];
        here = here || shard == r->self;
        if (shard == owner || (shard == r->self && tag == WORLD_ENTER)) continue;
        if (!world_write(r, shard, tag, &row)) return laoi_nomemory(L);
    }
    laoi_pushinteger(L, owner);
    lua_pushboolean(L, here);
    return 2;
}

/* born(id, life, kind, x, y [, z]): an entity enters.  Returns the owner and whether this shard is in the audience. */
static int r_enter_world(lua_State *L) {
    return write_new(L, WORLD_ENTER);
}

/* restored(id, life, kind, x, y [, z]): the same for an entity that was lost with a shard. */
static int r_restored(lua_State *L) {
    return write_new(L, WORLD_NEAR);
}

const luaL_Reg world_announce_methods[] = {{"remap", r_remap},
                                           {"announce_all", r_announce_all},
                                           {"enter", r_enter_world},
                                           {"restored", r_restored},
                                           {NULL, NULL}};
