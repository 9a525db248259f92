/* ring_match.h - which items of a bucket are in a ring: rectangles and circles on 16-bit fixed-point coordinates.
 *
 *   rectangle   distances on each axis, eight items at a time: within the outer border, and not within the inner one
 *   circle      differences of x and y interleaved, multiplied and added in pairs (pmaddwd), give squares of distances
 *               in 32 bits, eight items at a time: compared with the squares of the borders, with room for roundings
 *
 * Either has a second ring if areas have a border of leaving besides that of entering: nothing changes in the gap. */
#ifndef AOI_RING_MATCH_H
#define AOI_RING_MATCH_H

#include <stdlib.h>

#include "base/simd.h"
#include "engines/shared/ring.h"
#include "engines/shared/spatial_hash.h"

enum { RING_BOX, RING_ROUND, RING_GAP }; /* kinds of rings; RING_GAP is added to either */

typedef struct ring_limits { /* squares of distances: nothing has changed below `inner`, above `outer`, in the gap */
    int32_t inner, outer, gap_begin, gap_end;
} ring_limits;

/* Limits for circles whose distances may be off by `slack`; no distance is beyond 2^15. */
AOI_INLINE ring_limits ring_limits_of(const aoi_borders *b, double scale, double slack, bool solid, bool gap) {
    double inner = solid ? 0 : b->enter_min[0] * scale - slack, outer = b->leave_max[0] * scale + slack;
    ring_limits l = {inner > 0 ? (int32_t)(inner * inner) : 0, (int32_t)(outer * outer) + 1, INT32_MAX, 0};
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
    /* circles: around the center, and around the two ends of the step */
    ring_limits limits, end_limits;
    uint16_t ends[2][2];
    bool has_ends;
    /* circles too wide for 16 bits: coordinates relative to `base`, in units of 2^shift */
    uint16_t base[2];
    int shift;
} ring_window;

#ifdef __SSE2__

/* All v with |v - center| < half, modulo 2^16: from - v is greater than a limit, two instructions. */
typedef struct ring_range {
    __m128i from, limit;
} ring_range;

typedef struct ring_lanes { /* numbers of a window, eight or four times each, to be kept in registers */
    __m128i center[2];
    ring_range outer[2], inner[2], gap_begin[2], gap_end[2];
    __m128i near, far, from, to; /* squares: inner, outer, of the gap */
    __m128i base[2], shift;
} ring_lanes;

AOI_INLINE ring_range ring_range_of(uint16_t center, int16_t half) {
    return (ring_range){_mm_set1_epi16((int16_t)(center - half - 0x8000)),
                        _mm_set1_epi16(half > 0 ? (int16_t)(0x8000 - 2 * half) : INT16_MAX)};
}

AOI_INLINE ring_lanes ring_spread(const ring_window *w, int kind, bool wide) {
    ring_lanes r;
    for (int a = 0; a < 2; a++) {
        r.center[a] = _mm_set1_epi16((int16_t)w->center[a]);
        if (wide) r.base[a] = _mm_set1_epi16((int16_t)w->base[a]);
        if (kind & RING_ROUND) continue;
        r.outer[a] = ring_range_of(w->center[a], w->outer[a]);
        r.inner[a] = ring_range_of(w->center[a], w->inner[a]);
        if (!(kind & RING_GAP)) continue;
        r.gap_begin[a] = ring_range_of(w->center[a], w->gap_begin[a]);
        r.gap_end[a] = ring_range_of(w->center[a], w->gap_end[a]);
    }
    if (wide) r.shift = _mm_cvtsi32_si128(w->shift);
    if (!(kind & RING_ROUND)) return r;
    r.near = _mm_set1_epi32(w->limits.inner);
    r.far = _mm_set1_epi32(w->limits.outer);
    if (!(kind & RING_GAP)) return r;
    r.from = _mm_set1_epi32(w->limits.gap_begin);
    r.to = _mm_set1_epi32(w->limits.gap_end);
    return r;
}

static inline __m128i ring_load(const uint16_t *item) {
    return _mm_load_si128((const __m128i *)(const void *)item);
}

AOI_INLINE __m128i ring_within(const ring_range *r, __m128i x, __m128i y) {
    return _mm_and_si128(_mm_cmpgt_epi16(_mm_sub_epi16(r[0].from, x), r[0].limit),
                         _mm_cmpgt_epi16(_mm_sub_epi16(r[1].from, y), r[1].limit));
}

AOI_INLINE uint32_t ring_match_box(const ring_lanes *r, const uint16_t *at_x, const uint16_t *at_y, bool gap) {
    __m128i x = ring_load(at_x), y = ring_load(at_y), idle = ring_within(r->inner, x, y);
    if (gap)
        idle = _mm_or_si128(idle, _mm_andnot_si128(ring_within(r->gap_begin, x, y), ring_within(r->gap_end, x, y)));
    return (uint32_t)_mm_movemask_epi8(_mm_andnot_si128(idle, ring_within(r->outer, x, y)));
}

AOI_INLINE __m128i ring_idle(const ring_lanes *r, __m128i d, bool gap) {
    __m128i idle = _mm_or_si128(_mm_cmpgt_epi32(r->near, d), _mm_cmpgt_epi32(d, r->far));
    if (gap) idle = _mm_or_si128(idle, _mm_and_si128(_mm_cmpgt_epi32(d, r->from), _mm_cmpgt_epi32(r->to, d)));
    return idle;
}

/* Interleaved differences, multiplied and added in pairs, are squares of distances in 32 bits. */
AOI_INLINE uint32_t ring_match_round(const ring_lanes *r, const uint16_t *x, const uint16_t *y, bool gap, bool wide) {
    __m128i px = ring_load(x), py = ring_load(y);
    if (wide) {
        px = _mm_srl_epi16(_mm_sub_epi16(px, r->base[0]), r->shift);
        py = _mm_srl_epi16(_mm_sub_epi16(py, r->base[1]), r->shift);
    }
    __m128i dx = _mm_sub_epi16(px, r->center[0]), dy = _mm_sub_epi16(py, r->center[1]);
    __m128i lo = _mm_unpacklo_epi16(dx, dy), hi = _mm_unpackhi_epi16(dx, dy);
    __m128i idle =
        _mm_packs_epi32(ring_idle(r, _mm_madd_epi16(lo, lo), gap), ring_idle(r, _mm_madd_epi16(hi, hi), gap));
    return (uint32_t)_mm_movemask_epi8(idle) ^ 0xFFFF;
}

/* Two bits for each item, of which the lower is set if the item is in a ring.  The last two of sixteen lanes hold
 * none. */
AOI_INLINE uint32_t ring_match(const ring_lanes *r, const aoi_bucket *b, int kind, bool wide) {
    uint32_t low, high;
    if (kind & RING_ROUND) {
        low = ring_match_round(r, b->x, b->y, kind & RING_GAP, wide);
        high = ring_match_round(r, b->x + 8, b->y + 8, kind & RING_GAP, wide);
    } else {
        low = ring_match_box(r, b->x, b->y, kind & RING_GAP);
        high = ring_match_box(r, b->x + 8, b->y + 8, kind & RING_GAP);
    }
    return (low | high << 16) & b->used;
}

#else

typedef ring_window ring_lanes;

static inline ring_window ring_spread(const ring_window *w, int kind, bool wide) {
    (void)kind, (void)wide;
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

/* Two bits for each item, of which the lower is set if the item is in a ring. */
AOI_INLINE uint32_t ring_match(const ring_window *w, const aoi_bucket *b, int kind, bool wide) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        bool hit = kind & RING_ROUND ? ring_match_round(w, b->x[i], b->y[i], kind & RING_GAP, wide)
                                     : ring_match_box(w, b->x[i], b->y[i], kind & RING_GAP);
        bits |= (uint32_t)hit << 2 * i;
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
AOI_INLINE bool ring_keeps_sides(const ring_window *w, uint16_t x, uint16_t y, bool gap) {
    const ring_limits *l = &w->end_limits;
    int32_t d = ring_square(w->ends[0], x, y), e = ring_square(w->ends[1], x, y);
    bool same = ((d < l->inner) & (e < l->inner)) | ((d > l->outer) & (e > l->outer));
    if (gap) same |= (d > l->gap_begin) & (d < l->gap_end) & (e > l->gap_begin) & (e < l->gap_end);
    return same;
}

#endif
