/* ring.h - where an area that moves a little may change: between its borders before and after.
 *
 *      +-----------------+    A target changes sides only near a border.  Targets surely within the inner border before
 *      | . . . . . . . . |    and after, and those surely beyond the outer one, do not matter: the ring between the two
 *      | . +---------+ . |    holds all that may have changed, and a few that have not.
 *      | . | a -> b  | . |
 *      | . +---------+ . |    Rings are rectangles around the middle of the move, in world units.  Rounding is on the
 *      +-----------------+     safe side: a ring is a superset, and exact positions decide. */
#ifndef AOI_RING_H
#define AOI_RING_H

#include "core/space_records.h"

/* The borders of one area, or of all areas of a level: half-extents on two axes.  Round: radii, in [0]. */
typedef struct aoi_borders {
    double enter_min[2], enter_max[2]; /* least and greatest border of entering; enter_min <= 0: no inner region */
    double leave_min[2], leave_max[2]; /* and of leaving */
    bool round, gap;                   /* gap: every border of entering is well within every border of leaving */
    bool fixed;                        /* polygons: the extents of targets do not make them larger */
} aoi_borders;

/* Circles and sectors in the plane, cylinders, and polygons whose circle is smaller than their box are round; spheres
 * are boxes without an inner region, as heights matter. */
aoi_borders aoi_borders_of(int dims, const aoi_bounds *b);
/* Borders of one kind can share a level: they agree in roundness, gap and depth of the inner region; silence: of nodes
 * that moves skip, below 4. */
int aoi_borders_kind(const aoi_borders *b, int silence);
/* By how much less than it reaches an area surely holds all around it. */
double aoi_borders_depth(const aoi_borders *b);
/* The exponent of the least power of two that is no less; INT_MIN for 0. */
int aoi_size_class(double reach);
/* Widens the borders by others of the same roundness. */
void aoi_borders_include(aoi_borders *all, const aoi_borders *b);

typedef struct aoi_ring {
    double center[2], inner[2], outer[2]; /* half-extents, bounds inclusive; inner < 0: no inner region */
} aoi_ring;

/* An upper bound of all rounding errors of the sums, the largest of which is below `size`; the constant covers the loss
 * of halving a denormal. */
static inline double aoi_ring_margin(double size) {
    return size * 0x1p-49 + DBL_MIN;
}

static inline double aoi_magnitude(const double *p) {
    double x = fabs(p[0]), y = fabs(p[1]);
    return x > y ? x : y;
}

/* For a watcher, or a target, that moves between the two places.  solid: all that may be inside at either end, as
 * needed when heights change. */
aoi_ring aoi_ring_of_move(const double *from, const double *to, const aoi_borders *b, bool solid);
/* The same as one ring, or, for a jump so far that the areas at its ends do not meet, as two disjoint rings without
 * inner regions, whose cost does not depend on the distance.  Returns how many. */
size_t aoi_rings_of_move(const double *from, const double *to, const aoi_borders *b, bool solid, aoi_ring out[2]);
/* For all in the box lo..hi. */
aoi_ring aoi_ring_of_box(const double *lo, const double *hi);

#endif
