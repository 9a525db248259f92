/* owner_box.h - a box around the owners of a few nodes, so that areas far away cost a mover no query.
 *
 *   +- - - - - - - - - -+    The box holds all places of owners since it was measured, and the areas around them
 *     +-------------+        reach no farther than the dashed line.  It only grows: an owner that comes back inside
 *   | | o     o     | |      does not shrink it, so it is measured anew when it has grown often.
 *     |          o  |   x
 *   | +-------------+ |      A mover that was and is beyond the line, as x, cannot change these nodes.
 *   +- - - - - - - - - -+ */
#ifndef AOI_OWNER_BOX_H
#define AOI_OWNER_BOX_H

#include <math.h>

#include "base/simd.h"

typedef struct aoi_owner_box {
    double lo[2], hi[2]; /* lo > hi: it is empty */
    uint32_t grown;      /* how often it has grown since it was measured */
} aoi_owner_box;

static inline void aoi_owner_box_clear(aoi_owner_box *b) {
    *b = (aoi_owner_box){{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, 0};
}

static inline bool aoi_owner_box_holds(const aoi_owner_box *b, const double *at) {
    return b->lo[0] <= at[0] && at[0] <= b->hi[0] && b->lo[1] <= at[1] && at[1] <= b->hi[1];
}

/* Grows the box to hold a place; false if it holds it. */
static inline bool aoi_owner_box_cover(aoi_owner_box *b, const double *at) {
    if (aoi_owner_box_holds(b, at)) return false;
    b->grown++;
    for (int a = 0; a < 2; a++) {
        b->lo[a] = fmin(b->lo[a], at[a]);
        b->hi[a] = fmax(b->hi[a], at[a]);
    }
    return true;
}

/* Whether an area of at most these half-extents around an owner may hold one of the two places.  The sums are rounded
 * like those of the area's own border, which lies no farther out. */
static inline bool aoi_owner_box_reaches(const aoi_owner_box *b, const double *reach, const double *from,
                                         const double *to) {
    return aoi_lanes_in_reach(b->lo, b->hi, reach, from) || aoi_lanes_in_reach(b->lo, b->hi, reach, to);
}

#endif
