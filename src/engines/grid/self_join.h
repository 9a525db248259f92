/* self_join.h - which items of a field of cells, most of which have just moved, have come to, or gone from, a distance?
 *
 *   +-----+-----+-----+     Of every two items the distance is taken on the axis where it is larger, as it was and as it is.
 *   |     | own |  1  |     If both are less than `near`, or both more than `far`, nothing has happened that matters; and
 *   +-----+-----+-----+     coordinates as the lines keep them are good enough to tell that for a line at once.  A cell is
 *   |  2  |  3  |  4  |     joined with itself and with four of its neighbours, and the other four with it: no two meet
 *   +-----+-----+-----+     twice, and what is read stays at hand from one item of a cell to the next.
 *
 * Method: spatial self-join by a grid. */
#ifndef AOI_JOIN_H
#define AOI_JOIN_H

#include "core/engine.h"
#include "engines/shared/spatial_hash.h"

typedef struct aoi_past { /* of a line of the field: where its items were, in marks (aoi_cell_mark) */
    _Alignas(AOI_CACHE_LINE) uint16_t x[AOI_LANES], y[AOI_LANES];
} aoi_past;

typedef void (*aoi_recall)(const void *ud, const uint32_t *refs, size_t count, double (*was_at)[2]);

/* For each line of the field one, to be filled in.  An item must have moved less than half a side. */
void aoi_join_recall(const aoi_cells *c, aoi_past *past, aoi_recall recall, const void *ud);

typedef void (*aoi_meet)(void *ud, const aoi_couple *couples, size_t count);

/* All couples for which something may matter, and a few others; no two that matter may be farther apart than a side now.
 * Returns the number of comparisons.  Cost: O(items * items in a cell). */
typedef uint64_t (*aoi_join)(const aoi_cells *c, const aoi_past *past, double near, double far, aoi_meet meet,
                             void *ud);

aoi_join aoi_best_join(void);  /* for this processor */
aoi_join aoi_plain_join(void); /* for any */

#endif
