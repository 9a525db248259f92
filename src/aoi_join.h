/* aoi_join.h - which items of a field of cells stand about so far from each other?
 *
 *   +-----+-----+-----+     Of every two items the distance is taken on the axis where it is larger. Far from `near` and
 *   |     | own |  1  |     `far` it does not matter, so that coordinates as the lines keep them are good enough: a line
 *   +-----+-----+-----+     of items is compared at once.  A cell is joined with itself and with four of its neighbours,
 *   |  2  |  3  |  4  |     and the other four with it: no two meet twice, and all that is read stays at hand from one
 *   +-----+-----+-----+     item of a cell to the next.  Method: spatial self-join by a grid. */
#ifndef AOI_JOIN_H
#define AOI_JOIN_H

#include "aoi_cells.h"
#include "aoi_engine.h"

typedef struct aoi_joiner {
    /* `size`: no coordinate of theirs is larger */
    void (*meet)(void *ud, aoi_couple *couples, size_t count, double size);
    void *ud;
    uintptr_t records; /* an array of lines (AOI_LINE) in which it reads those of the items: asked for ahead */
} aoi_joiner;

/* All couples from near to far of each other, and some others; far must be less than the side of a cell.  Returns the
 * number of comparisons.  Cost: O(items * items in a cell). */
typedef uint64_t (*aoi_join)(const aoi_cells *c, double near, double far, const aoi_joiner *j);

aoi_join aoi_best_join(void);  /* for this processor */
aoi_join aoi_plain_join(void); /* for any */

#endif
