/* ring_match.h - finds the items of a bucket in a ring: rectangles and circles on 16-bit fixed-point coordinates.
 *
 *   rectangle   distances on each axis, eight items at a time: within the outer border, and not within the inner one
 *   circle      squares of distances in 32 bits, four at a time: compared with the squares of the borders, with room for
 *               roundings
 *
 * Either has a second ring if areas have separate borders of entering and leaving: nothing changes in the gap.
 *
 * Where items carry a reach (spatial_hash.h) each has a ring of its own; `own` is one more around the mover. */
#ifndef AOI_RING_MATCH_H
#define AOI_RING_MATCH_H

#include "base/simd.h"
#include "grid/ring.h"
#include "grid/spatial_hash.h"

enum { RING_BOX, RING_ROUND, RING_GAP, RING_EACH = 4 }; /* kinds of rings; RING_GAP or RING_EACH is added to either */

/* Squares of distances: nothing changes below `inner`, above `outer`, and in the gap; without a gap gap_end is below
 * gap_begin. */
typedef struct ring_limits {
    int32_t inner, outer, gap_begin, gap_end;
} ring_limits;

/* Limits for circles whose distances may be off by `slack`; no distance is beyond 2^15. */
AOI_INLINE ring_limits ring_limits_of(const aoi_borders *b, double scale, double slack, bool solid, bool gap) {
    double inner = solid ? 0 : b->enter_min[0] * scale - slack, outer = b->leave_max[0] * scale + slack;
    ring_limits l = {inner > 0 ? (int32_t)(inner * inner) : 0, (int32_t)(outer * outer) + 1, 1, 0};
    if (gap && !solid) {
        double begin = b->enter_max[0] * scale + slack, end = b->leave_min[0] * scale - slack;
        l.gap_begin = (int32_t)(begin * begin) + 1;
        l.gap_end = end > 0 ? (int32_t)(end * end) : 0;
    }
    return l;
}

/* A ring in the coordinates of a bucket, modulo 2^16; the items are less than half of that from the center. */
typedef struct ring_window {
    uint16_t center[2];
    /* rectangles: an item is within if it is less than that far from the center on both axes */
    uint16_t half[8];   /* outer, inner, where the gap begins, where it ends */
    ring_limits limits; /* circles */
    /* circles too wide for 16 bits: coordinates relative to `base`, in units of 2^shift */
    uint16_t base[2];
    int shift;
} ring_window;

/* 16 bits: all v with |v - center| < half, that is, from - v is greater than a limit.  32 bits: all d with least <= d and
 * d <= most, else d - from is greater than a limit. */
typedef struct ring_range {
    aoi_i16x8 from, limit;
} ring_range;

typedef struct ring_band {
    aoi_i32x4 from, limit;
} ring_band;

typedef struct ring_lanes { /* the numbers of a window in all lanes, kept in registers */
    ring_range outer[2], inner[2], gap_begin[2], gap_end[2];
    aoi_i16x8 center[2];
    ring_band near, far; /* squares around the borders of entering and of leaving; without a gap `near` is all */
    aoi_i16x8 base[2];
    int shift;
    /* of each item: half of the move, on an axis or as a band of circles; how much less of a reach is surely inside; the
     * distances, or their squares, beyond and within which the mover's own border surely holds all or nothing */
    aoi_i16x8 half[2], less, own_out, own_in;
    aoi_i32x4 own_far, own_near;
} ring_lanes;

/* center: x and y again and again; half: x and y of the outer border, of the inner one, where the gap begins, where it ends.
 * Half-extents of 0 hold nothing: that sum saturates. */
AOI_INLINE void ring_spread_box(ring_lanes *r, aoi_i16x8 center, aoi_i16x8 half, bool gap) {
    const aoi_i16x8 from = aoi_i16_xor(aoi_i16_sub(center, half), aoi_i16_all(INT16_MIN));
    const aoi_i16x8 limit = aoi_i16_sum(aoi_i16_xor(half, aoi_i16_all(INT16_MAX)), aoi_i16_sub(aoi_i16_all(1), half));
#define RING_RANGE(i) ((ring_range){aoi_i16_lane(from, i), aoi_i16_lane(limit, i)})
    r->outer[0] = RING_RANGE(0), r->outer[1] = RING_RANGE(1);
    r->inner[0] = RING_RANGE(2), r->inner[1] = RING_RANGE(3);
    if (!gap) return;
    r->gap_begin[0] = RING_RANGE(4), r->gap_begin[1] = RING_RANGE(5);
    r->gap_end[0] = RING_RANGE(6), r->gap_end[1] = RING_RANGE(7);
#undef RING_RANGE
}

AOI_INLINE ring_band ring_band_of(int32_t least, int32_t most) {
    return (ring_band){aoi_i32_all((int32_t)((uint32_t)least ^ 0x80000000u)),
                       aoi_i32_all((int32_t)(((uint32_t)most - (uint32_t)least) ^ 0x80000000u))};
}

AOI_INLINE void ring_spread_round(ring_lanes *r, const uint16_t *center, const ring_limits *l, bool gap) {
    for (int a = 0; a < 2; a++) r->center[a] = aoi_i16_all(center[a]);
    bool parted = gap && l->gap_begin < l->gap_end;
    r->near = ring_band_of(l->inner, parted ? l->gap_begin : l->outer);
    if (gap) r->far = ring_band_of(parted ? l->gap_end : l->inner, l->outer);
}

AOI_INLINE ring_lanes ring_spread(const ring_window *w, int kind) {
    ring_lanes r;
    if (kind & RING_ROUND) ring_spread_round(&r, w->center, &w->limits, kind & RING_GAP);
    else ring_spread_box(&r, aoi_i16_pairs(w->center[0], w->center[1]), aoi_i16_load(w->half), kind & RING_GAP);
    for (int a = 0; a < 2; a++) r.base[a] = aoi_i16_all(w->base[a]);
    r.shift = w->shift;
    return r;
}

AOI_INLINE aoi_i16x8 ring_within(const ring_range *r, aoi_i16x8 x, aoi_i16x8 y) {
    return aoi_i16_and(aoi_i16_above(aoi_i16_sub(r[0].from, x), r[0].limit),
                       aoi_i16_above(aoi_i16_sub(r[1].from, y), r[1].limit));
}

AOI_INLINE aoi_i16x8 ring_match_box(const ring_lanes *r, const uint16_t *at_x, const uint16_t *at_y, bool gap) {
    aoi_i16x8 x = aoi_i16_load(at_x), y = aoi_i16_load(at_y), idle = ring_within(r->inner, x, y);
    if (gap) idle = aoi_i16_or(idle, aoi_i16_less(ring_within(r->gap_end, x, y), ring_within(r->gap_begin, x, y)));
    return aoi_i16_less(ring_within(r->outer, x, y), idle);
}

AOI_INLINE aoi_i32x4 ring_beyond(ring_band r, aoi_i32x4 d) {
    return aoi_i32_above(aoi_i32_sub(d, r.from), r.limit);
}

AOI_INLINE aoi_i32x4 ring_idle(const ring_lanes *r, aoi_i32x4 d, bool gap) {
    aoi_i32x4 idle = ring_beyond(r->near, d);
    return gap ? aoi_i32_and(idle, ring_beyond(r->far, d)) : idle;
}

AOI_INLINE aoi_i16x8 ring_idle_round(const ring_lanes *r, const uint16_t *x, const uint16_t *y, bool gap, bool wide) {
    aoi_i16x8 px = aoi_i16_load(x), py = aoi_i16_load(y);
    if (wide) {
        px = aoi_i16_right(aoi_i16_sub(px, r->base[0]), r->shift);
        py = aoi_i16_right(aoi_i16_sub(py, r->base[1]), r->shift);
    }
    aoi_i16x8 dx = aoi_i16_sub(px, r->center[0]), dy = aoi_i16_sub(py, r->center[1]);
    return aoi_i32_narrow(ring_idle(r, aoi_i16_squares_low(dx, dy), gap),
                          ring_idle(r, aoi_i16_squares_high(dx, dy), gap));
}

/* A bit for each item, set if the item is in a ring; lanes without an item may be set, too. */
AOI_INLINE uint32_t ring_match(const ring_lanes *r, const aoi_bucket *b, int kind, bool wide) {
    const void *lanes = AOI_ALIGNED(b, AOI_CACHE_LINE); /* from b->x on: sixteen of x, then of y */
    const uint16_t *x = lanes, *y = x + AOI_BUCKET_LANES;
    bool gap = kind & RING_GAP;
    if (kind & RING_ROUND)
        return 0xffff ^ aoi_i16_bits(ring_idle_round(r, x, y, gap, wide), ring_idle_round(r, x + 8, y + 8, gap, wide));
    return aoi_i16_bits(ring_match_box(r, x, y, gap), ring_match_box(r, x + 8, y + 8, gap));
}

typedef struct ring_both { /* a bit for each item that may change sides of the mover's own border, and for its own */
    uint32_t own, theirs;
} ring_both;

/* Of eight items: all ones for those that surely stay. */
typedef struct ring_stays {
    aoi_i16x8 own, theirs;
} ring_stays;

AOI_INLINE aoi_i16x8 ring_away(aoi_i16x8 v, aoi_i16x8 center) {
    return aoi_i16_most(aoi_i16_sub(v, center), aoi_i16_sub(center, v));
}

AOI_INLINE ring_stays ring_stay_box(const ring_lanes *r, const uint16_t *at_x, const uint16_t *at_y,
                                    const int16_t *reach) {
    aoi_i16x8 x = ring_away(aoi_i16_load(at_x), r->center[0]), y = ring_away(aoi_i16_load(at_y), r->center[1]);
    aoi_i16x8 out = aoi_i16_most(aoi_i16_sub(x, r->half[0]), aoi_i16_sub(y, r->half[1]));
    aoi_i16x8 in = aoi_i16_most(aoi_i16_sum(x, r->half[0]), aoi_i16_sum(y, r->half[1]));
    aoi_i16x8 far = aoi_i16_load((const uint16_t *)reach), near = aoi_i16_sum(far, r->less);
    far = aoi_i16_most(far, aoi_i16_sub(aoi_i16_all(0), far));
    return (ring_stays){aoi_i16_or(aoi_i16_above(out, r->own_out), aoi_i16_above(r->own_in, in)),
                        aoi_i16_or(aoi_i16_above(out, far), aoi_i16_above(near, in))};
}

AOI_INLINE ring_stays ring_stay_round(const ring_lanes *r, const uint16_t *at_x, const uint16_t *at_y,
                                      const int16_t *reach) {
    const aoi_i16x8 none = aoi_i16_all(0);
    aoi_i16x8 x = aoi_i16_sub(aoi_i16_load(at_x), r->center[0]), y = aoi_i16_sub(aoi_i16_load(at_y), r->center[1]);
    aoi_i16x8 far = aoi_i16_load((const uint16_t *)reach), near = aoi_i16_sum(far, r->less);
    far = aoi_i16_sum(aoi_i16_most(far, aoi_i16_sub(none, far)), r->half[0]);
    near = aoi_i16_most(aoi_i16_sub(near, r->half[0]), none);
    aoi_i32x4 low = aoi_i16_squares_low(x, y), high = aoi_i16_squares_high(x, y);
#define RING_STAY(d, squares) aoi_i32_or(aoi_i32_above(d, squares(far, none)), aoi_i32_above(squares(near, none), d))
    aoi_i16x8 theirs = aoi_i32_narrow(RING_STAY(low, aoi_i16_squares_low), RING_STAY(high, aoi_i16_squares_high));
#undef RING_STAY
#define RING_STAY(d) aoi_i32_or(aoi_i32_above(d, r->own_far), aoi_i32_above(r->own_near, d))
    return (ring_stays){aoi_i32_narrow(RING_STAY(low), RING_STAY(high)), theirs};
#undef RING_STAY
}

AOI_INLINE ring_both ring_match_each(const ring_lanes *r, const aoi_bucket *b, const int16_t *reach, int kind) {
    const void *lanes = AOI_ALIGNED(b, AOI_CACHE_LINE);
    const uint16_t *x = lanes, *y = x + AOI_BUCKET_LANES;
    ring_stays low, high;
    if (kind & RING_ROUND) low = ring_stay_round(r, x, y, reach), high = ring_stay_round(r, x + 8, y + 8, reach + 8);
    else low = ring_stay_box(r, x, y, reach), high = ring_stay_box(r, x + 8, y + 8, reach + 8);
    return (ring_both){aoi_i16_bits(low.own, high.own) ^ 0xffff, aoi_i16_bits(low.theirs, high.theirs) ^ 0xffff};
}

#endif
