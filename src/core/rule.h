/* rule.h - the visibility rule, as aoi.h states it.  Nothing else in the library decides what is seen.
 *
 *            +-----------------+
 *            |  BETWEEN        |     INSIDE    seen, if kind and mask meet
 *            |   +---------+   |     BETWEEN   seen if it was seen before: only areas with keep > radius have such a zone
 *            |   | INSIDE  |   |     OUTSIDE   not seen
 *            |   |    w    |   |
 *            |   +--radius-+   |     So only a pair that is BETWEEN needs a memory (pair_table.h); everything else
 *            |                 |     follows from positions.
 *            +------keep-------+   OUTSIDE                                                                        */
#ifndef AOI_RULE_H
#define AOI_RULE_H

#include <math.h>

#include "base/simd.h"
#include "core/shapes.h"

/* Where fused multiply-add is fast a compiler may fuse a product into a sum; a store keeps the rule to the letter. */
#ifdef FP_FAST_FMA
#define AOI_PRODUCT volatile double
#else
#define AOI_PRODUCT double
#endif

typedef enum aoi_zone { AOI_OUTSIDE, AOI_BETWEEN, AOI_INSIDE } aoi_zone;

/* On one axis.  Neither side is predictable, so there is no branch. */
static inline unsigned aoi_in_side(double w, double t, double r) {
    return (unsigned)(w - r <= t) & (unsigned)(t <= w + r);
}

static inline bool aoi_in_box(int dims, const double *w, const double *t, double r) {
    bool flat = aoi_lanes_in_square(w, t, r);
    return dims < 3 ? flat : flat & (aoi_in_side(w[2], t[2], r) != 0);
}

/* The same in the box of a square or box without a margin: what the rule says of them. */
static inline bool aoi_in_plain_box(const aoi_records *records, uint32_t node, const double *w, const double *t) {
    bool flat = !aoi_lanes_outside(w, t, records->nodes[node].reach);
    return records->dims < 3 ? flat : flat & (aoi_in_side(w[2], t[2], aoi_height_of(records, node)) != 0);
}

static inline double aoi_distance2(int dims, const double *w, const double *t) {
    double dx = t[0] - w[0], dy = t[1] - w[1];
    AOI_PRODUCT xx = dx * dx, yy = dy * dy;
    if (dims < 3) return xx + yy;
    double dz = t[2] - w[2];
    AOI_PRODUCT zz = dz * dz;
    return xx + yy + zz;
}

static inline bool aoi_in_ball(int dims, const double *w, const double *t, double r) {
    AOI_PRODUCT rr = r * r;
    return aoi_distance2(dims, w, t) <= rr;
}

/* The zone of a target at t around a watcher at w.  Most areas are squares or circles: the others take a call.  The
 * radius is within keep, so the zone is the count of borders that the target is within, without a branch. */
AOI_INLINE aoi_zone aoi_zone_of(int dims, int shape, const aoi_area_record *a, const double *w, const double *t) {
    if (shape == AOI_SQUARE)
        return (aoi_zone)((unsigned)aoi_in_box(dims, w, t, a->radius) + aoi_in_box(dims, w, t, a->keep));
    if (shape == AOI_CIRCLE) {
        AOI_PRODUCT inner = a->radius * a->radius, outer = a->keep * a->keep;
        double d = aoi_distance2(dims, w, t);
        return (aoi_zone)((unsigned)(d <= inner) + (unsigned)(d <= outer));
    }
    if (aoi_shape_holds(dims, shape, a, w, t, 0, 0)) return AOI_INSIDE;
    double margin = a->shape->margin;
    return margin > 0 && aoi_shape_holds(dims, shape, a, w, t, margin, 0) ? AOI_BETWEEN : AOI_OUTSIDE;
}

/* The same for a target with an extent, by which the area grows, except polygons and infinite radii.  An area that an
 * extent below zero leaves no radius is empty. */
AOI_INLINE aoi_zone aoi_zone_grown(int dims, int shape, const aoi_area_record *a, const double *w, const double *t,
                                   double extent) {
    if (extent == 0) return aoi_zone_of(dims, shape, a, w, t);
    aoi_area_record grown = {.radius = a->radius + extent, .keep = a->keep + extent};
    const bool empty = grown.radius < 0;
    if (shape == AOI_SQUARE || shape == AOI_CIRCLE) {
        if (empty) grown.radius = grown.keep; /* then the zone is OUTSIDE or INSIDE */
        if (empty && (grown.keep < 0 || !aoi_zone_of(dims, shape, &grown, w, t))) return AOI_OUTSIDE;
        return empty ? AOI_BETWEEN : aoi_zone_of(dims, shape, &grown, w, t);
    }
    if (aoi_shape_holds(dims, shape, a, w, t, 0, extent)) return AOI_INSIDE;
    double margin = a->shape->margin;
    return margin > 0 && aoi_shape_holds(dims, shape, a, w, t, margin, extent) ? AOI_BETWEEN : AOI_OUTSIDE;
}

/* Half-extent of a box that holds everything within a leave radius.  For a square that is exactly the radius.  A ball
 * is rounded outwards: dx is rounded, and its square may underflow to 0. */
static inline double aoi_outer_extent(int shape, double keep) {
    if (shape == AOI_SQUARE) return keep;
    return fmax(keep, 1e-150) * (1 + 0x1p-40);
}

#endif
