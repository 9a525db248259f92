/* self_join.h - a batch that moves most entities, judged when all have arrived: couples of entities that may see more
 * or less of each other than before.
 *
 *   +-----+-----+-----+    All items are copied row by row, so that cells side by side are one span of memory: where each
 *   |     | own |  1  |    is and was, in fixed point.  Of every two items the distance is taken as it was and as it is,
 *   +-----+-----+-----+    eight couples at once, and those that were and are on the same side of the borders are left
 *   |  2  |  3  |  4  |    out.  An item is joined with the rest of its cell and four neighbours, which are two spans,
 *   +-----+-----+-----+    and the other four cells with it: no couple meets twice.
 *
 *   x, y, was_x, was_y, ref   [ cell | cell | cell ... ][ next row ... ]      first[cell]: where its items begin
 *
 * Crowds whose areas fit into the neighbourhood of a cell are joined like that.  The rest goes one by one: each node of
 * a rare layer by a ring query, as wide as two steps, over all entities; each entity that goes far by queries around
 * the two places.  So neither keeps the others from the join.
 *
 * Method: spatial self-join by a grid, over structures of arrays. */
#ifndef AOI_SELF_JOIN_H
#define AOI_SELF_JOIN_H

#include "engines/shared/nine_grid.h"

typedef struct aoi_grid {
    aoi_engine head;
    aoi_nine_grid nine;
} aoi_grid;

typedef struct aoi_join_rows { /* starts zeroed */
    uint16_t *x, *y, *was_x, *was_y;
    uint32_t *ref, *first;
    uint32_t x_cap, y_cap, was_x_cap, was_y_cap, ref_cap, first_cap;
} aoi_join_rows;

/* Copies the items of a hash of entities.  Coordinates of entities that moved half a side or more are meaningless.  False
 * when memory is refused; to be freed in any case. */
bool aoi_join_rows_fill(aoi_memory *m, const aoi_world *w, const aoi_spatial_hash *h, aoi_join_rows *rows);
void aoi_join_rows_free(aoi_memory *m, aoi_join_rows *rows);

typedef void (*aoi_meet)(void *ud, const aoi_couple *couples, size_t count);

/* Passes on all couples that may have passed a border, and a few others, each once.  No couple for which that matters
 * may be farther apart than a side now.  Returns the comparisons.  O(items * items in a cell). */
uint64_t aoi_self_join(const aoi_spatial_hash *h, const aoi_join_rows *rows, const aoi_borders *b, aoi_meet meet,
                       void *ud);

/* The `supports_join` and the `join` of the grid; false when memory is refused. */
bool aoi_grid_supports_join(const aoi_grid *g, double farthest);
bool aoi_grid_join(aoi_grid *g);

#endif
