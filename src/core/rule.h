/* rule.h - the one visibility rule (aoi.h states it).  Nothing else in the library decides who sees whom. */
#ifndef AOI_RULE_H
#define AOI_RULE_H

#include <math.h>

#include "aoi.h"

/* Where fused multiply-add is fast a compiler may fuse a product into a sum; a store keeps the rule to the letter. */
#ifdef FP_FAST_FMA
#define AOI_PRODUCT volatile double
#else
#define AOI_PRODUCT double
#endif

/* On one axis.  Nobody can foretell which side decides, so there is no branch for each. */
static inline unsigned aoi_in_side(double w, double t, double r) {
    return (unsigned)(w - r <= t) & (unsigned)(t <= w + r);
}

static inline bool aoi_in_box(int dims, const double *w, const double *t, double r) {
    unsigned flat = aoi_in_side(w[0], t[0], r) & aoi_in_side(w[1], t[1], r);
    return (dims < 3 ? flat : flat & aoi_in_side(w[2], t[2], r)) != 0;
}

static inline bool aoi_in_ball(int dims, const double *w, const double *t, double r) {
    double dx = t[0] - w[0], dy = t[1] - w[1], dz = t[2] - w[2];
    AOI_PRODUCT xx = dx * dx, yy = dy * dy, zz = dz * dz, rr = r * r;
    return (dims < 3 ? xx + yy : xx + yy + zz) <= rr;
}

static inline bool aoi_inside(int dims, int shape, const double *w, const double *t, double r) {
    return shape == AOI_SQUARE ? aoi_in_box(dims, w, t, r) : aoi_in_ball(dims, w, t, r);
}

/* Does a node with this area, on a watcher at w, see a target of this kind at t, when it saw it before, or not? */
static inline bool aoi_rule(int dims, const aoi_area *a, const double *w, const double *t, uint64_t kind, bool saw) {
    if (!(kind & a->mask)) return false;
    return aoi_inside(dims, a->shape, w, t, a->radius) ||
           (saw && a->keep > a->radius && aoi_inside(dims, a->shape, w, t, a->keep));
}

/* Half-extent of a box that holds everything that can newly come into the area.  For a square that is the area itself,
 * exactly.  A ball is rounded outwards: dx is rounded, and its square may underflow to 0 or overflow to infinity. */
static inline double aoi_reach(const aoi_area *a) {
    if (a->shape == AOI_SQUARE) return a->radius;
    if (isinf(a->radius * a->radius)) return INFINITY;
    return fmax(a->radius, 1e-150) * (1 + 0x1p-40);
}

/* Whether a node needs a state for each pair: its box alone doesn't tell what it sees. */
static inline bool aoi_needs_pairs(const aoi_area *a) {
    return !isinf(aoi_reach(a)) && (a->shape != AOI_SQUARE || a->keep > a->radius);
}

#endif
