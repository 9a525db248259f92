/* broad_phase.h - the index of a space: the grid, and beside it the structure of the engine.
 *
 *   verb ---> grid     every entity, every bounded node            (grid/nine_grid.h)
 *        \--> engine   every entity, the nodes that it takes       (engine.h)
 *
 * A deferred space has no engine beside the grid, unless it takes all nodes: there ticks are judged as a whole (tick/join.h),
 * and those in which few move cost the grid alone least.
 *
 * A verb that is refused memory by either leaves both as they were: what takes memory of the grid is done first, and can be
 * undone without any. */
#ifndef AOI_BROAD_PHASE_H
#define AOI_BROAD_PHASE_H

#include "core/engine.h"
#include "grid/nine_grid.h"

typedef struct aoi_broad_phase {
    aoi_world *world;
    const aoi_engine_class *class; /* what the space was opened with */
    aoi_engine *engine;            /* of that class, or of one that takes nothing */
    double cell;                   /* the hint */
    aoi_grid grid;
} aoi_broad_phase;

/* false, or AOI_ENOMEM: memory is refused, nothing has changed. */
bool aoi_broad_open(aoi_broad_phase *b, aoi_world *w, const aoi_engine_class *class, double cell, bool deferred);
void aoi_broad_close(aoi_broad_phase *b); /* also one that could not be opened */

bool aoi_broad_enter(aoi_broad_phase *b, uint32_t entity);
void aoi_broad_leave(aoi_broad_phase *b, uint32_t entity); /* it has no nodes any more */

/* Bounded nodes; the record tells the owner and the bounds, of one that is resized the old ones. */
bool aoi_broad_add_node(aoi_broad_phase *b, uint32_t node);
void aoi_broad_remove_node(aoi_broad_phase *b, uint32_t node);
bool aoi_broad_resize_node(aoi_broad_phase *b, uint32_t node, const aoi_bounds *now);

/* From where the record has the entity, which the caller changes afterwards.  propose: with candidates for every pair of it
 * and a bounded node of another entity, or of a node of its own and another entity, that may have changed: all but those
 * that are in the inner before and after, those that are out of the box before and after, those whose target the node does
 * not look for, all of idle nodes, and those that the rule has in one zone before and after.  Each pair at most once. */
bool aoi_broad_move(aoi_broad_phase *b, uint32_t entity, const double *to, bool propose);

void aoi_broad_tidy(aoi_broad_phase *b);
const char *aoi_broad_check(aoi_broad_phase *b); /* NULL, or the invariant that does not hold */
/* With the engine's parts also where the space has no use for them: then they are made for this question, O(all). */
void aoi_broad_describe(aoi_broad_phase *b, aoi_describer *d);

#endif
