/* side_tree.h - the sides of a polygon of many corners, or of several rings.  Cells tell of most places whether they are
 * inside; where a side is near, a place is compared with those sides alone that a ray from it may cross, by height:
 *
 *   levels  y0     y1     y2     y3     y4     the corners' heights, each once
 *   leaves  |   4  |   5  |   6  |   7  |      a leaf for each interval [y0, y1), [y1, y2) ...
 *           |      2      |      3      |      a side from y0 to y3 is of the nodes 2 and 6, the fewest that make its
 *           |             1             |      interval: all sides on the way from a leaf to the root have its height
 *
 * So a side is of at most two nodes a floor.  A node of many sides that do not cross has them from left to right, and is
 * searched: only those that are beside the place by less than rounding errors are judged one by one.
 *
 *   block   [ shape | points | box of cells | levels | ends of rings | corner before each | cells | start of each node |
 *             sides of node 1, of node 2 ... ]
 */
#ifndef AOI_SIDE_TREE_H
#define AOI_SIDE_TREE_H

#include "core/shapes.h"

typedef struct aoi_side_tree {
    double *box; /* of the cells: x and y where they begin, cells in a unit along x and y */
    double *levels;
    int *ends;
    uint16_t *before;
    unsigned char *cells; /* 0: outside, 1: inside, 2: near a side */
    uint32_t *starts;     /* in `sides`, times 2; odd: they are in order */
    uint16_t *sides;      /* by the corner where they end */
} aoi_side_tree;

static inline aoi_side_tree aoi_side_tree_of(const aoi_shape *p) {
    aoi_side_tree t = {.box = (double *)(uintptr_t)p->points + 2 * (size_t)p->corners};
    t.levels = t.box + 4;
    t.ends = (int *)(void *)(t.levels + p->corners);
    t.before = (uint16_t *)(t.ends + p->rings);
    t.cells = (unsigned char *)(t.before + (p->corners + 1) / 2 * 2);
    t.starts = (uint32_t *)(t.cells + (size_t)p->columns * p->columns);
    t.sides = (uint16_t *)(t.starts + 2 * (size_t)p->leaves + 1);
    return t;
}

/* The corner from which side i comes. */
static inline uint32_t aoi_corner_before(const aoi_shape *p, uint32_t i) {
    if (p->rings) return aoi_side_tree_of(p).before[i];
    return (i ? i : p->corners) - 1;
}

/* Room for a block in the records' scratch, which keeps what it has; NULL: memory is refused. */
aoi_shape *aoi_shape_scratch(aoi_records *r, size_t bytes);

/* Adds rings, tree and cells to the block in the scratch, which has the corners; NULL: memory is refused. */
aoi_shape *aoi_side_tree_fill(aoi_records *r, const aoi_area *a);
/* Whether the block, which may be NULL, has them, of the same polygon. */
bool aoi_side_tree_is_of(const aoi_shape *p, const aoi_area *a);

/* The even-odd rule for the place (dx, dy), relative to the watcher. */
bool aoi_in_side_tree(const aoi_shape *p, double dx, double dy);

#endif
