/* self_join.h - a batch that moves most entities, judged when all have arrived: couples of entities that may see more
 * or less of each other than before.
 *
 *   +-----+-----+-----+    Of every two items the distance is taken as it was and as it is, and couples that were and
 *   |     | own |  1  |    are on the same side of the borders are left out, a bucket at a time.  A cell is joined with
 *   +-----+-----+-----+    itself and with four of its neighbours, and the other four with it: no couple meets twice,
 *   |  2  |  3  |  4  |    and what is read stays in the cache from one item of a cell to the next.
 *   +-----+-----+-----+
 *
 * Crowds whose areas fit into the neighbourhood of a cell are joined like that.  The rest goes one by one: each node of
 * a rare layer by a ring query, as wide as two steps, over all entities; each entity that goes far by queries around
 * the two places.  So neither keeps the others from the join.
 *
 * Method: spatial self-join by a grid. */
#ifndef AOI_SELF_JOIN_H
#define AOI_SELF_JOIN_H

#include "engines/grid/grid_layers.h"

typedef struct aoi_past { /* of a bucket: where its items were, in fixed-point coordinates */
    _Alignas(AOI_CACHE_LINE) uint16_t x[AOI_BUCKET_LANES], y[AOI_BUCKET_LANES];
} aoi_past;

/* Fills in past[i] for bucket i of a hash of entities.  Coordinates of entities that moved half a side or more are
 * meaningless. */
void aoi_join_recall(const aoi_world *w, const aoi_spatial_hash *h, aoi_past *past);

typedef void (*aoi_meet)(void *ud, const aoi_couple *couples, size_t count);

/* Passes on all couples that may have passed a border, and a few others, each once.  No couple for which that matters
 * may be farther apart than a side now.  Returns the comparisons.  O(items * items in a cell). */
uint64_t aoi_self_join(const aoi_spatial_hash *h, const aoi_past *past, const aoi_borders *b, aoi_meet meet, void *ud);

/* The `supports_join` and the `join` of the grid; false when memory is refused. */
bool aoi_grid_supports_join(const aoi_grid *g, double farthest);
bool aoi_grid_join(aoi_grid *g);

#endif
