/* wide.c - judges nodes that reach too far for 16 bits, one by one.
 *
 * The grid finds all targets around such a node that may have passed a border, as they moved no farther than `step`. */
#include "tick/join.h"

static void join_judge_one(join_strip *o, uint32_t node, uint32_t target) {
    if (target == o->tick->world->nodes[node].owner) return;
    o->undecided[o->undecided_count++] = (join_pair){node, target};
    if (o->undecided_count == JOIN_HITS) aoi_join_judge_undecided(o);
}

void aoi_join_judge_wide(join_strip *o) {
    const join_tick *t = o->tick;
    aoi_world *w = t->world;
    bool solid = w->dims == 3 && t->space->moves.lo[2] != t->space->moves.hi[2];
    for (uint32_t i = 0; i < t->wide_count; i++) {
        uint32_t node = t->wide[i], owner = w->nodes[node].owner;
        bool moves = w->entities[owner].mover < w->moved || join_has_turned(w, node);
        w->hit_count = 0;
        aoi_grid_passing(w->grid, node, aoi_position_before(w, owner), t->step, solid);
        for (uint32_t k = 0; k < w->hit_count; k++)
            if (moves || w->entities[w->hits[k]].mover < w->moved) join_judge_one(o, node, w->hits[k]);
    }
    aoi_join_judge_undecided(o);
}
