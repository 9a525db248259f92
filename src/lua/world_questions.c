/* world_questions.c - what a router says of its entities. */
#include "lua/world.h"

/* where(id): the position of an own entity after all that has been accepted; nothing if it is none. */
static int r_where(lua_State *L) {
    world_router *r = world_self(L);
    world_record *record;
    uint32_t slot = world_slot(r, laoi_integer(L, 2), &record);
    if (!world_is_own(record)) return 0;
    double pos[3];
    (void)aoi_position(r->space->core, (aoi_entity){slot, r->space->core->world.entities[slot].generation}, pos);
    const world_mover *mover = world_find_mover(r, slot, record);
    if (mover) memcpy(pos, mover->pos, sizeof pos);
    for (int a = 0; a < r->space->dims; a++) lua_pushnumber(L, pos[a]);
    return r->space->dims;
}

/* life(id): of an entity of the core, real or ghost; nothing if it is not there. */
static int r_life(lua_State *L) {
    world_router *r = world_self(L);
    world_record *record;
    (void)world_slot(r, laoi_integer(L, 2), &record);
    if (!record) return 0;
    laoi_pushinteger(L, record->life);
    return 1;
}

/* counts(): reals, ghosts, and the rows written so far: moves, nears, fars. */
static int r_counts(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_world *w = &r->space->core->world;
    int64_t reals = 0, ghosts = 0;
    for (uint32_t i = 0; i < w->entity_top; i++) {
        if (!aoi_is_live(w->entities[i].generation)) continue;
        if (i < r->record_cap && r->records[i].flags & WORLD_REAL) reals++;
        else ghosts++;
    }
    laoi_pushinteger(L, reals);
    laoi_pushinteger(L, ghosts);
    for (int tag = WORLD_MOVE; tag <= WORLD_FAR; tag++) laoi_pushinteger(L, (int64_t)r->rows[tag]);
    return 5;
}

/* reals([buf]): the ids of all own entities, and their number. */
static int r_reals(lua_State *L) {
    world_router *r = world_self(L);
    lua_settop(L, 2);
    laoi_buffer(L, 2, r->space->core->world.entity_count);
    r = world_self(L);
    const aoi_world *w = &r->space->core->world;
    int64_t n = 0;
    for (uint32_t i = 0; i < w->entity_top; i++) {
        if (!aoi_is_live(w->entities[i].generation) || i >= r->record_cap || !world_is_own(r->records + i)) continue;
        laoi_pushinteger(L, w->entities[i].id);
        lua_rawseti(L, 3, (laoi_index)++n);
    }
    lua_pushnil(L);
    lua_rawseti(L, 3, (laoi_index)n + 1);
    laoi_pushinteger(L, n);
    return 2;
}

const luaL_Reg world_question_methods[] = {
    {"where", r_where}, {"life", r_life}, {"counts", r_counts}, {"reals", r_reals}, {NULL, NULL}};
