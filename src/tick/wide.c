/* wide.c - judges nodes that reach too far for 16 bits, and movers too far away for fixed point, one by one.
 *
 * If the owner of a node has moved no farther than `step`, the grid finds all targets around it that may have passed a
 * border, as they moved no farther either, except those that are judged one by one as well. */
#include "tick/join.h"

static void join_judge_one(join_strip *o, uint32_t node, uint32_t target) {
    if (target == o->tick->world->nodes[node].owner) return;
    o->undecided[o->undecided_count++] = (join_pair){node, target};
    if (o->undecided_count == JOIN_HITS) aoi_join_judge_undecided(o);
}

static bool join_is_ordinary(const join_tick *t, uint32_t entity) {
    const aoi_world *w = t->world;
    bool ordinary = w->entities[entity].mover >= w->moved || !join_goes_far(t, entity);
    for (uint32_t i = 0; i < t->remote_count; i++) ordinary &= t->remote[i] != entity;
    return ordinary;
}

/* Judges targets in its ring, and those that the ring may not hold. */
static void join_judge_around(join_strip *o, uint32_t node) {
    const join_tick *t = o->tick;
    aoi_world *w = t->world;
    uint32_t owner = w->nodes[node].owner;
    bool moves = w->entities[owner].mover < w->moved || join_has_turned(w, node);
    bool solid = w->dims == 3 && t->space->moves.lo[2] != t->space->moves.hi[2];
    w->hit_count = 0;
    aoi_grid_passing(w->grid, node, aoi_position_before(w, owner), t->step, solid);
    for (uint32_t i = 0; i < w->hit_count; i++)
        if ((moves || w->entities[w->hits[i]].mover < w->moved) && join_is_ordinary(t, w->hits[i]))
            join_judge_one(o, node, w->hits[i]);
    for (uint32_t k = 0; k < t->far_count; k++) join_judge_one(o, node, t->far[k]);
    for (uint32_t k = 0; k < t->remote_count; k++) join_judge_one(o, node, t->remote[k]);
}

/* Judges a remote target for all nodes but those that are judged one by one anyway. */
static void join_judge_remote(join_strip *o, uint32_t target) {
    const join_tick *t = o->tick;
    const aoi_world *w = t->world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_live(r->generation) || !join_is_watching(r) || aoi_join_is_wide(t, n)) continue;
        bool listed = false;
        for (uint32_t i = 0; i < t->remote_count; i++) listed |= t->remote[i] == r->owner;
        if (!listed) join_judge_one(o, n, target);
    }
}

void aoi_join_judge_wide(join_strip *o) {
    const join_tick *t = o->tick;
    const aoi_world *w = t->world;
    for (uint32_t i = 0; i < t->wide_count; i++) {
        uint32_t node = t->wide[i];
        if (join_is_ordinary(t, w->nodes[node].owner)) join_judge_around(o, node);
        else
            for (uint32_t e = 0; e < w->entity_top; e++)
                if (aoi_is_live(w->entities[e].generation)) join_judge_one(o, node, e);
    }
    for (uint32_t i = 0; i < t->remote_count; i++) join_judge_remote(o, t->remote[i]);
    aoi_join_judge_undecided(o);
}
