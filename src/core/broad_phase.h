/* broad_phase.h - the index of a space: the grid, and beside it the structure of the engine.
 *
 *   verb ---> grid     every entity, every bounded node            (grid/nine_grid.h)
 *        \--> engine   every entity, the nodes that it takes       (engine.h)
 *
 * A deferred space has no engine beside the grid, unless the engine takes all nodes: its ticks are judged as a whole
 * (tick/join.h), and ticks with few movers are cheapest with the grid alone.
 *
 * A verb that runs out of memory changes neither structure: the step of the grid comes first, and undoing it needs no
 * memory. */
#ifndef AOI_BROAD_PHASE_H
#define AOI_BROAD_PHASE_H

#include "core/engine.h"
#include "grid/nine_grid.h"

typedef struct aoi_broad_phase {
    aoi_records *records;
    const aoi_engine_class *class; /* the one that the space was opened with */
    aoi_engine *engine;            /* of that class, or of one that takes nothing */
    double cell;                   /* the hint */
    aoi_grid grid;
} aoi_broad_phase;

/* false, or AOI_ENOMEM: memory is refused, nothing has changed. */
bool aoi_broad_open(aoi_broad_phase *b, aoi_records *r, const aoi_engine_class *class, double cell, bool deferred);
void aoi_broad_close(aoi_broad_phase *b); /* also one that could not be opened */

bool aoi_broad_enter(aoi_broad_phase *b, uint32_t entity);
void aoi_broad_leave(aoi_broad_phase *b, uint32_t entity); /* after its nodes are removed */

/* Bounded nodes; the record holds the owner and the bounds, during a resize the old bounds. */
bool aoi_broad_add_node(aoi_broad_phase *b, uint32_t node);
void aoi_broad_remove_node(aoi_broad_phase *b, uint32_t node);
bool aoi_broad_resize_node(aoi_broad_phase *b, uint32_t node, const aoi_bounds *now);

/* Moves an entity from the position in its record, which the caller changes afterwards.  propose: adds a candidate, at
 * most once, for every pair of the entity and another entity's bounded node, or of its own node and another entity,
 * that may have changed.  Pairs are left out that are in the inner rectangle before and after, out of the box before
 * and after, of a kind that the node does not match, of an idle node, or of the same zone before and after. */
bool aoi_broad_move(aoi_broad_phase *b, uint32_t entity, const double *to, bool propose);

void aoi_broad_tidy(aoi_broad_phase *b);
/* Includes the parts of an engine that the space leaves out: it is built for this question, O(all). */
void aoi_broad_describe(aoi_broad_phase *b, aoi_describer *d);

#endif
