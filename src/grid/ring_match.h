/* ring_match.h - which items of a bucket are in a ring: rectangles and circles on 16-bit fixed-point coordinates.
 *
 *   rectangle   distances on each axis, eight items at a time: within the outer border, and not within the inner one
 *   circle      differences of x and y interleaved, multiplied and added in pairs (pmaddwd), give squares of distances
 *               in 32 bits, four at a time: compared with the squares of the borders, with room for roundings
 *
 * Either has a second ring if areas have a border of leaving besides that of entering: nothing changes in the gap. */
#ifndef AOI_RING_MATCH_H
#define AOI_RING_MATCH_H

#include <stdlib.h>

#include "base/simd.h"
#include "grid/ring.h"
#include "grid/spatial_hash.h"

enum { RING_BOX, RING_ROUND, RING_GAP }; /* kinds of rings; RING_GAP is added to either */

/* Squares of distances: nothing has changed below `inner`, above `outer`, in the gap; where there is none gap_end is below
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

/* A ring as a bucket sees it, modulo 2^16; its items are less than half of that from the center. */
typedef struct ring_window {
    uint16_t center[2];
    /* rectangles: an item is within if it is less than that far from the center on both axes */
    int16_t outer[2], inner[2], gap_begin[2], gap_end[2];
    ring_limits limits; /* circles */
    /* circles too wide for 16 bits: coordinates relative to `base`, in units of 2^shift */
    uint16_t base[2];
    int shift;
} ring_window;

/* The two ends of a step, for circles: what has the same sides around both has not changed. */
typedef struct ring_ends {
    uint16_t at[2][2];
    ring_limits limits;
    bool known;
} ring_ends;

#ifdef __SSE2__

/* 16 bits: all v with |v - center| < half, that is, from - v is greater than a limit.  32 bits: all d with least <= d and
 * d <= most, else d - from is greater than a limit. */
typedef struct ring_range {
    __m128i from, limit;
} ring_range;

typedef struct ring_lanes { /* numbers of a window, eight or four times each, to be kept in registers */
    ring_range outer[2], inner[2], gap_begin[2], gap_end[2];
    __m128i center[2];
    ring_range near, far; /* squares around the borders of entering and of leaving; without a gap `near` is all */
    __m128i base[2], shift;
} ring_lanes;

AOI_INLINE void ring_spread_pair(ring_range *r, __m128i from, __m128i limit) {
    r[0] = (ring_range){_mm_shuffle_epi32(from, 0x00), _mm_shuffle_epi32(limit, 0x00)};
    r[1] = (ring_range){_mm_shuffle_epi32(from, 0x55), _mm_shuffle_epi32(limit, 0x55)};
}

/* Lanes of `half`: x and y of the outer border, of the inner one, where the gap begins, where it ends.  Half-extents of 0
 * hold nothing: that subtraction saturates. */
AOI_INLINE void ring_spread_box(ring_lanes *r, __m128i center, __m128i half, bool gap) {
    const __m128i from = _mm_xor_si128(_mm_sub_epi16(center, half), _mm_set1_epi16(INT16_MIN));
    const __m128i limit =
        _mm_subs_epi16(_mm_xor_si128(half, _mm_set1_epi16(INT16_MAX)), _mm_add_epi16(half, _mm_set1_epi16(-1)));
    const __m128i f = _mm_unpacklo_epi16(from, from), l = _mm_unpacklo_epi16(limit, limit);
    ring_spread_pair(r->outer, f, l);
    ring_spread_pair(r->inner, _mm_unpackhi_epi64(f, f), _mm_unpackhi_epi64(l, l));
    if (!gap) return;
    const __m128i f2 = _mm_unpackhi_epi16(from, from), l2 = _mm_unpackhi_epi16(limit, limit);
    ring_spread_pair(r->gap_begin, f2, l2);
    ring_spread_pair(r->gap_end, _mm_unpackhi_epi64(f2, f2), _mm_unpackhi_epi64(l2, l2));
}

AOI_INLINE ring_range ring_between(int32_t least, int32_t most) {
    return (ring_range){_mm_set1_epi32((int32_t)((uint32_t)least ^ 0x80000000u)),
                        _mm_set1_epi32((int32_t)(((uint32_t)most - (uint32_t)least) ^ 0x80000000u))};
}

AOI_INLINE void ring_spread_round(ring_lanes *r, const uint16_t *center, const ring_limits *l, bool gap) {
    for (int a = 0; a < 2; a++) r->center[a] = _mm_set1_epi16((int16_t)center[a]);
    bool parted = gap && l->gap_begin < l->gap_end;
    r->near = ring_between(l->inner, parted ? l->gap_begin : l->outer);
    if (gap) r->far = ring_between(parted ? l->gap_end : l->inner, l->outer);
}

AOI_INLINE ring_lanes ring_spread(const ring_window *w, int kind) {
    ring_lanes r;
    const __m128i x = _mm_set1_epi32(w->center[0] | (int32_t)((uint32_t)w->center[1] << 16));
    if (kind & RING_ROUND) ring_spread_round(&r, w->center, &w->limits, kind & RING_GAP);
    else
        ring_spread_box(&r, x,
                        _mm_setr_epi16(w->outer[0], w->outer[1], w->inner[0], w->inner[1], w->gap_begin[0],
                                       w->gap_begin[1], w->gap_end[0], w->gap_end[1]),
                        kind & RING_GAP);
    for (int a = 0; a < 2; a++) r.base[a] = _mm_set1_epi16((int16_t)w->base[a]);
    r.shift = _mm_cvtsi32_si128(w->shift);
    return r;
}

static inline __m128i ring_load(const uint16_t *item) {
    return _mm_load_si128((const __m128i *)(const void *)item);
}

AOI_INLINE __m128i ring_within(const ring_range *r, __m128i x, __m128i y) {
    return _mm_and_si128(_mm_cmpgt_epi16(_mm_sub_epi16(r[0].from, x), r[0].limit),
                         _mm_cmpgt_epi16(_mm_sub_epi16(r[1].from, y), r[1].limit));
}

AOI_INLINE __m128i ring_match_box(const ring_lanes *r, const uint16_t *at_x, const uint16_t *at_y, bool gap) {
    __m128i x = ring_load(at_x), y = ring_load(at_y), idle = ring_within(r->inner, x, y);
    if (gap)
        idle = _mm_or_si128(idle, _mm_andnot_si128(ring_within(r->gap_begin, x, y), ring_within(r->gap_end, x, y)));
    return _mm_andnot_si128(idle, ring_within(r->outer, x, y));
}

AOI_INLINE __m128i ring_beyond(ring_range r, __m128i d) {
    return _mm_cmpgt_epi32(_mm_sub_epi32(d, r.from), r.limit);
}

AOI_INLINE __m128i ring_idle(const ring_lanes *r, __m128i d, bool gap) {
    __m128i idle = ring_beyond(r->near, d);
    return gap ? _mm_and_si128(idle, ring_beyond(r->far, d)) : idle;
}

/* Interleaved differences, multiplied and added in pairs, are squares of distances in 32 bits. */
AOI_INLINE __m128i ring_idle_round(const ring_lanes *r, const uint16_t *x, const uint16_t *y, bool gap, bool wide) {
    __m128i px = ring_load(x), py = ring_load(y);
    if (wide) {
        px = _mm_srl_epi16(_mm_sub_epi16(px, r->base[0]), r->shift);
        py = _mm_srl_epi16(_mm_sub_epi16(py, r->base[1]), r->shift);
    }
    __m128i dx = _mm_sub_epi16(px, r->center[0]), dy = _mm_sub_epi16(py, r->center[1]);
    __m128i lo = _mm_unpacklo_epi16(dx, dy), hi = _mm_unpackhi_epi16(dx, dy);
    return _mm_packs_epi32(ring_idle(r, _mm_madd_epi16(lo, lo), gap), ring_idle(r, _mm_madd_epi16(hi, hi), gap));
}

/* A bit for each item, set if the item is in a ring; lanes without an item may be set, too. */
AOI_INLINE uint32_t ring_match(const ring_lanes *r, const aoi_bucket *b, int kind, bool wide) {
    bool gap = kind & RING_GAP;
    if (kind & RING_ROUND) {
        __m128i low = ring_idle_round(r, b->x, b->y, gap, wide),
                high = ring_idle_round(r, b->x + 8, b->y + 8, gap, wide);
        return ~(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
    }
    __m128i low = ring_match_box(r, b->x, b->y, gap), high = ring_match_box(r, b->x + 8, b->y + 8, gap);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}

#else

typedef ring_window ring_lanes;

static inline ring_window ring_spread(const ring_window *w, int kind) {
    (void)kind;
    return *w;
}

static inline bool ring_within(int dx, int dy, const int16_t *half) {
    return (dx < half[0]) & (dy < half[1]);
}

AOI_INLINE bool ring_match_box(const ring_window *w, uint16_t x, uint16_t y, bool gap) {
    int dx = abs((int16_t)(uint16_t)(x - w->center[0])), dy = abs((int16_t)(uint16_t)(y - w->center[1]));
    bool idle = ring_within(dx, dy, w->inner);
    if (gap) idle |= ring_within(dx, dy, w->gap_end) & !ring_within(dx, dy, w->gap_begin);
    return ring_within(dx, dy, w->outer) & !idle;
}

AOI_INLINE bool ring_match_round(const ring_window *w, uint16_t x, uint16_t y, bool gap, bool wide) {
    const ring_limits *l = &w->limits;
    if (wide) {
        x = (uint16_t)((uint16_t)(x - w->base[0]) >> w->shift);
        y = (uint16_t)((uint16_t)(y - w->base[1]) >> w->shift);
    }
    int32_t dx = (int16_t)(uint16_t)(x - w->center[0]), dy = (int16_t)(uint16_t)(y - w->center[1]);
    int32_t d = dx * dx + dy * dy;
    return !((d < l->inner) | (d > l->outer) | (gap & (d > l->gap_begin) & (d < l->gap_end)));
}

/* A bit for each item, set if the item is in a ring. */
AOI_INLINE uint32_t ring_match(const ring_window *w, const aoi_bucket *b, int kind, bool wide) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        bool hit = kind & RING_ROUND ? ring_match_round(w, b->x[i], b->y[i], kind & RING_GAP, wide)
                                     : ring_match_box(w, b->x[i], b->y[i], kind & RING_GAP);
        bits |= (uint32_t)hit << i;
    }
    return bits;
}

#endif

static inline int32_t ring_square(const uint16_t *end, uint16_t x, uint16_t y) {
    int32_t dx = (int16_t)(uint16_t)(x - end[0]), dy = (int16_t)(uint16_t)(y - end[1]);
    return dx * dx + dy * dy;
}

/* Whether an item in the ring has surely not changed sides: a circle's ring is half as wide again as what the circle
 * passes. */
AOI_INLINE bool ring_keeps_sides(const ring_ends *r, uint16_t x, uint16_t y, bool gap) {
    const ring_limits *l = &r->limits;
    int32_t d = ring_square(r->at[0], x, y), e = ring_square(r->at[1], x, y);
    bool same = ((d < l->inner) & (e < l->inner)) | ((d > l->outer) & (e > l->outer));
    if (gap) same |= (d > l->gap_begin) & (d < l->gap_end) & (e > l->gap_begin) & (e < l->gap_end);
    return same;
}

#endif
