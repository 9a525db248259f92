/* world_follow.c - own entities that distant shards follow: lua/aoi/skynet/world/distant.lua.
 *
 *   record.follows -> follows[] -> ... -> 0     the shards that follow the entity wherever it is, unordered
 *
 * The audience of an entity consists of the audience of its tile and its followers.  When an epoch is closed, a new
 * follower receives the entity in a row NEAR, and a former follower receives a row FAR. */
#include "skynet/world.h"

world_members world_audience_of(world_router *r, const world_record *record, uint32_t set, int when) {
    const world_set *s = r->map->sets + set;
    const uint16_t *members = r->map->members + s->first;
    if (!record->follows) return (world_members){members, s->count};
    uint16_t *all = r->merged[when];
    uint32_t n = s->count;
    memcpy(all, members, n * sizeof *all);
    for (uint32_t at = record->follows; at; at = r->follows[at].next) {
        const world_follow *f = r->follows + at;
        if (f->state == (when == WORLD_WAS ? WORLD_BEGINS : WORLD_ENDS)) continue;
        if (!world_has_member(r->map, set, f->shard)) all[n++] = f->shard;
    }
    world_sort_shards(all, n);
    return (world_members){all, n};
}

static void free_follow(world_router *r, uint32_t *link) {
    uint32_t at = *link;
    *link = r->follows[at].next;
    r->follows[at].next = r->free_follow;
    r->free_follow = at;
}

void world_drop_follows(world_router *r, world_record *record) {
    while (record->follows) free_follow(r, &record->follows);
}

void world_settle_follows(world_router *r, world_record *record) {
    for (uint32_t *link = &record->follows; *link;) {
        world_follow *f = r->follows + *link;
        if (f->state == WORLD_ENDS) {
            free_follow(r, link);
            continue;
        }
        f->state = WORLD_FOLLOWS;
        link = &f->next;
    }
}

static bool add_follow(world_router *r, world_record *record, uint32_t shard, int state) {
    uint32_t at = r->free_follow;
    if (at) r->free_follow = r->follows[at].next;
    else if (!AOI_GROW(&r->memory, r->follows, r->follow_cap, r->follow_count + (size_t)2)) return false;
    else at = ++r->follow_count; /* 0 is the end of a list */
    r->follows[at] = (world_follow){.next = record->follows, .shard = (uint16_t)shard, .state = (uint8_t)state};
    record->follows = at;
    return true;
}

bool world_take_follows(lua_State *L, world_router *r, world_record *record, int list) {
    for (int i = 1;; i++) {
        lua_rawgeti(L, list, i);
        double shard = lua_tonumber(L, -1);
        lua_pop(L, 1);
        if (!(shard >= 1 && shard <= r->map->shards)) return true;
        if (!add_follow(r, record, (uint32_t)shard, WORLD_FOLLOWS)) return false;
    }
}

int world_push_follows(lua_State *L, world_router *r, const world_record *record) {
    int n = 0;
    if (!record->follows) lua_pushnil(L);
    else lua_newtable(L);
    for (uint32_t at = record->follows; at; at = r->follows[at].next) {
        if (r->follows[at].state != WORLD_ENDS) laoi_set_item(L, -1, ++n, r->follows[at].shard);
    }
    return 1;
}

/* follow(id, shard, whether): from the coming epoch on the shard receives the own entity wherever it is; or only while
 * the shard is in the audience of its tile. */
static int r_follow(lua_State *L) {
    world_router *r = world_self(L);
    world_record *record;
    uint32_t slot = world_slot(r, laoi_integer(L, 2), &record);
    bool begins = lua_toboolean(L, 4);
    if (!record || !(record->flags & WORLD_REAL)) return laoi_argerror(L, 2, "it is none of this shard's own");
    const uint32_t shard = world_shard_argument(L, r->map, 3);
    uint32_t *link = &record->follows;
    while (*link && r->follows[*link].shard != shard) link = &r->follows[*link].next;
    world_follow *f = *link ? r->follows + *link : NULL;
    if (!f && begins && !add_follow(r, record, shard, WORLD_BEGINS)) return laoi_nomemory(L);
    if (f && begins && f->state == WORLD_ENDS) f->state = WORLD_FOLLOWS;
    if (f && !begins) {
        if (f->state == WORLD_BEGINS) free_follow(r, link);
        else f->state = WORLD_ENDS;
    }
    return world_reroute(r, slot) ? 0 : laoi_nomemory(L);
}

/* unconfirm(id): marks a ghost that no owner has confirmed yet: a row NEAR may confirm it. */
static int r_unconfirm(lua_State *L) {
    world_router *r;
    world_record *record = world_argument(L, &r);
    if (record && !(record->flags & WORLD_REAL)) record->unconfirmed = r->epoch - 1;
    return 0;
}

const luaL_Reg world_follow_methods[] = {{"follow", r_follow}, {"unconfirm", r_unconfirm}, {NULL, NULL}};
