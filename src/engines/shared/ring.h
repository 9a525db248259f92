/* ring.h - where an area that moves a little may change: between its borders before and after.
 *
 *      +-----------------+    A target changes sides only near a border.  Targets surely within the inner border before
 *      | . . . . . . . . |    and after, and those surely beyond the outer one, do not matter: the ring between the two
 *      | . +---------+ . |    holds all that may have changed, and a few that have not.
 *      | . | a -> b  | . |
 *      | . +---------+ . |    Rings are rectangles around the middle of the step, in world units.  Rounding is on the
 *      +-----------------+     safe side: a ring is a superset, and exact positions decide. */
#ifndef AOI_RING_H
#define AOI_RING_H

#include "core/engine.h"

/* The borders of one area, or of all areas of a layer: half-extents on two axes.  Round: radii, in [0]. */
typedef struct aoi_borders {
    double enter_min[2], enter_max[2]; /* least and greatest border of entering; enter_min <= 0: no inner region */
    double leave_min[2], leave_max[2]; /* and of leaving */
    bool round, gap;                   /* gap: every border of entering is well within every border of leaving */
} aoi_borders;

/* Round are circles in the plane; spheres are boxes without an inner region, as heights matter. */
aoi_borders aoi_borders_of(int dims, const aoi_bounds *b);
/* Widens the borders by others of the same roundness. */
void aoi_borders_include(aoi_borders *all, const aoi_borders *b);
/* Whether `all` contains the borders b. */
bool aoi_borders_contain(const aoi_borders *all, const aoi_borders *b);

typedef struct aoi_ring {
    double center[2], inner[2], outer[2]; /* half-extents, bounds inclusive; inner < 0: no inner region */
    bool round;                           /* then also, of distances from the center: */
    double inner2, outer2;                /* squares of radii, bounds inclusive; inner2 < 0: no inner region */
} aoi_ring;

/* More than all the roundings together of the sums that take part, the largest of which is below `size`; the constant
 * covers what halving a denormal loses. */
static inline double aoi_ring_margin(double size) {
    return size * 0x1p-49 + DBL_MIN;
}

static inline double aoi_magnitude(const double *p) {
    double x = fabs(p[0]), y = fabs(p[1]);
    return x > y ? x : y;
}

/* How far two places are apart on the axis where they are farther apart. */
static inline double aoi_apart(const double *p, const double *q) {
    double x = fabs(p[0] - q[0]), y = fabs(p[1] - q[1]);
    return x > y ? x : y;
}

/* The zone of a distance: 0 inside, 1 in the gap, 2 outside, 3 too near to a border to tell. */
static inline int aoi_zone_in_borders(const aoi_borders *b, double dx, double dy, double safe) {
    double x = fabs(dx), y = fabs(dy), d = x * x + y * y;
    double in = b->enter_min[0] - safe, out = b->leave_max[0] + safe;
    double begin = b->enter_max[0] + safe, end = b->leave_min[0] - safe;
    if (b->round) {
        if (in > 0 && d < in * in) return 0;
        if (d > out * out) return 2;
        return b->gap && d > begin * begin && end > 0 && d < end * end ? 1 : 3;
    }
    if (x < in && y < b->enter_min[1] - safe) return 0;
    if (x > out || y > b->leave_max[1] + safe) return 2;
    bool beyond = x > begin || y > b->enter_max[1] + safe;
    return b->gap && beyond && x < end && y < b->leave_min[1] - safe ? 1 : 3;
}

/* Whether a target at `at` may change when the watcher goes from one place to the other; or the other way round. */
static inline bool aoi_borders_passed(const aoi_borders *b, const double *from, const double *to, const double *at) {
    double far = aoi_magnitude(from) + aoi_magnitude(to) + aoi_magnitude(at);
    double safe = aoi_ring_margin(far + aoi_magnitude(b->leave_max));
    int was = aoi_zone_in_borders(b, at[0] - from[0], at[1] - from[1], safe);
    int is = aoi_zone_in_borders(b, at[0] - to[0], at[1] - to[1], safe);
    return was != is || was == 3;
}

/* For a watcher, or a target, that moves between the two places.  solid: all that may be inside at either end, as where
 * heights change. */
aoi_ring aoi_ring_of_move(const double *from, const double *to, const aoi_borders *b, bool solid);
/* The same as one ring, or as two disjoint ones without inner regions for a jump, at whose ends the areas do not meet:
 * the cost is that of the two places, whatever lies between.  Returns how many. */
size_t aoi_rings_of_move(const double *from, const double *to, const aoi_borders *b, bool solid, aoi_ring out[2]);
/* For all in the box lo..hi. */
aoi_ring aoi_ring_of_box(const double *lo, const double *hi);

#endif
