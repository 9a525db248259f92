/* ring_plan.h - the usual case of a ring query: a step from a place in the middle of nine cells, and areas that reach no
 * farther than these.  Which of the nine the ring meets, and its numbers in fixed-point units.
 *
 *   +-----+-----+-----+     Units count from the first of the nine, so that doubles hold them exactly enough however far
 *   |  .--+-----+--.  |     away the map is; what is stored is their low 16 bits.  Both axes are planned at once.
 *   +--|--+-----+--|--+
 *   |  |  |  m  |  |  |     Each plan returns a bit for each cell to scan, 0 if it is not this case.  For any processor
 *   +--|--+-----+--|--+     and for SSE2: the same operations on doubles in the same order give the same bits. */
#ifndef AOI_RING_PLAN_H
#define AOI_RING_PLAN_H

#include "grid/ring_match.h"

#define RING_CELL (1 << AOI_FIXED_BITS) /* fixed-point units in a cell */
/* More than all roundings together, in fixed-point units, which are less than 2^44. */
#define RING_SAFE 0x1p-4
/* An item's fixed-point coordinate is up to 1 below where it is, and so is the center's: on an axis a distance is off
 * by less than 1, in the plane by less than the root of 2. */
#define RING_BAND 1.5

static inline unsigned ring_lowest(uint32_t bits) {
    return (unsigned)aoi_lanes_first(bits);
}

/* Which of the nine a ring meets if it goes beyond the middle one to the left, above, to the right, below. */
#define RING_ROWS(columns, above, below) (uint16_t)((columns) * ((above) | 8 | (below) << 6))
static const uint16_t RING_MET[16] = {
    RING_ROWS(2, 0, 0), RING_ROWS(3, 0, 0), RING_ROWS(2, 1, 0), RING_ROWS(3, 1, 0),
    RING_ROWS(6, 0, 0), RING_ROWS(7, 0, 0), RING_ROWS(6, 1, 0), RING_ROWS(7, 1, 0),
    RING_ROWS(2, 0, 1), RING_ROWS(3, 0, 1), RING_ROWS(2, 1, 1), RING_ROWS(3, 1, 1),
    RING_ROWS(6, 0, 1), RING_ROWS(7, 0, 1), RING_ROWS(6, 1, 1), RING_ROWS(7, 1, 1),
};

/* Without the middle one if the inner region covers it; it covers no other, since the outer border stays in the
 * nine. */
static inline unsigned ring_cells_met(unsigned beyond, bool covered) {
    return RING_MET[beyond] & ~((unsigned)covered << AOI_MIDDLE);
}

/* The corners among the nine: of the row above left and right, of the row below left and right. */
#define RING_CORNERS(i) (uint16_t)(((i)&1) | ((i)&2) << 1 | ((i)&4) << 4 | ((i)&8) << 5)
static const uint16_t RING_CORNER[16] = {
    RING_CORNERS(0),  RING_CORNERS(1),  RING_CORNERS(2),  RING_CORNERS(3),  RING_CORNERS(4),  RING_CORNERS(5),
    RING_CORNERS(6),  RING_CORNERS(7),  RING_CORNERS(8),  RING_CORNERS(9),  RING_CORNERS(10), RING_CORNERS(11),
    RING_CORNERS(12), RING_CORNERS(13), RING_CORNERS(14), RING_CORNERS(15),
};

#ifdef __SSE2__

/* The first of the nine, x and y in 32-bit lanes, modulo 2^32; the other two lanes mean nothing. */
AOI_INLINE __m128i ring_origin(const aoi_cell *mid) {
    const __m128i c = _mm_loadl_epi64((const __m128i *)(const void *)&mid->cx);
    return _mm_slli_epi32(_mm_sub_epi32(c, _mm_set1_epi32(1)), AOI_FIXED_BITS);
}

AOI_INLINE __m128d ring_magnitude(__m128d v) {
    return _mm_andnot_pd(_mm_set1_pd(-0.0), v);
}

AOI_INLINE unsigned ring_plan_box(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                                  const aoi_borders *b, bool solid, bool gap, ring_lanes *lanes) {
    const __m128d p = _mm_loadu_pd(from), q = _mm_loadu_pd(to), zero = _mm_setzero_pd();
    const __m128d scale = _mm_set1_pd(h->scale), half = _mm_set1_pd(h->scale * 0.5), safe = _mm_set1_pd(RING_SAFE);
    const __m128d end = _mm_set1_pd(3 * RING_CELL), more = _mm_set1_pd(2 + RING_SAFE);
    const __m128d step = _mm_mul_pd(ring_magnitude(_mm_sub_pd(p, q)), half);
    const __m128d center = _mm_sub_pd(_mm_mul_pd(_mm_add_pd(p, q), half), _mm_loadu_pd(mid->begin));
    const __m128d outer = _mm_add_pd(step, _mm_add_pd(_mm_mul_pd(_mm_loadu_pd(b->leave_max), scale), more));
    __m128d fits = _mm_and_pd(_mm_cmplt_pd(outer, end), _mm_cmpge_pd(center, outer));
    fits = _mm_and_pd(fits, _mm_cmple_pd(_mm_add_pd(center, outer), end));
    if (_mm_movemask_pd(fits) != 3) return 0;
    __m128d inner = zero;
    if (!solid) inner = _mm_sub_pd(_mm_sub_pd(_mm_mul_pd(_mm_loadu_pd(b->enter_min), scale), safe), step);
    const __m128i at = _mm_cvttpd_epi32(center), o = _mm_cvttpd_epi32(outer);
    const __m128i i = _mm_cvttpd_epi32(_mm_max_pd(inner, zero));
    __m128i halves = _mm_unpacklo_epi64(o, i), gaps = halves;
    if (gap) {
        const __m128d first = _mm_add_pd(step, _mm_add_pd(_mm_mul_pd(_mm_loadu_pd(b->enter_max), scale), more));
        __m128d last = zero;
        if (!solid) last = _mm_sub_pd(_mm_sub_pd(_mm_mul_pd(_mm_loadu_pd(b->leave_min), scale), safe), step);
        gaps = _mm_unpacklo_epi64(_mm_cvttpd_epi32(first), _mm_cvttpd_epi32(_mm_max_pd(last, zero)));
    }
    const __m128i place = _mm_shufflelo_epi16(_mm_add_epi32(at, ring_origin(mid)), 0x88);
    ring_spread_box(lanes, _mm_shuffle_epi32(place, 0), _mm_packs_epi32(halves, gaps), gap);
    /* x and y of how far the borders are from the first of the nine, and, negative, from there to the other side */
    const __m128i both = _mm_unpacklo_epi64(at, _mm_sub_epi32(_mm_setzero_si128(), at));
    const __m128i out = _mm_cmplt_epi32(_mm_sub_epi32(both, _mm_unpacklo_epi64(o, o)),
                                        _mm_setr_epi32(RING_CELL - 1, RING_CELL - 1, -2 * RING_CELL, -2 * RING_CELL));
    const __m128i in = _mm_cmplt_epi32(_mm_sub_epi32(both, _mm_unpacklo_epi64(i, i)),
                                       _mm_setr_epi32(RING_CELL, RING_CELL, 1 - 2 * RING_CELL, 1 - 2 * RING_CELL));
    return ring_cells_met((unsigned)_mm_movemask_ps(_mm_castsi128_ps(out)),
                          _mm_movemask_ps(_mm_castsi128_ps(in)) == 15);
}

/* A circle's limits, of the ring in the first lane, of the ends in the second.  A gap that does not exist ends before it
 * begins; `near` and `far` are the whole ring then. */
AOI_INLINE void ring_spread_limits(const aoi_borders *b, double scale, __m128d slack, bool solid, bool gap,
                                   ring_lanes *lanes, ring_ends *e, int32_t *covered) {
    const __m128d zero = _mm_setzero_pd(), out = _mm_add_pd(_mm_set1_pd(b->leave_max[0] * scale), slack);
    const __m128i one = _mm_set1_epi32(1), bias = _mm_set1_epi32(INT32_MIN);
    __m128d in = zero;
    if (!solid) in = _mm_max_pd(_mm_sub_pd(_mm_set1_pd(b->enter_min[0] * scale), slack), zero);
    const __m128i outer = _mm_add_epi32(_mm_cvttpd_epi32(_mm_mul_pd(out, out)), one);
    const __m128i inner = _mm_cvttpd_epi32(_mm_mul_pd(in, in));
    __m128i near = outer, far = inner, begin = one, end = _mm_setzero_si128();
    if (gap && !solid) {
        const __m128d first = _mm_add_pd(_mm_set1_pd(b->enter_max[0] * scale), slack);
        const __m128d last = _mm_max_pd(_mm_sub_pd(_mm_set1_pd(b->leave_min[0] * scale), slack), zero);
        begin = _mm_add_epi32(_mm_cvttpd_epi32(_mm_mul_pd(first, first)), one);
        end = _mm_cvttpd_epi32(_mm_mul_pd(last, last));
        const __m128i parted = _mm_cmplt_epi32(begin, end);
        near = _mm_or_si128(_mm_and_si128(parted, begin), _mm_andnot_si128(parted, outer));
        far = _mm_or_si128(_mm_and_si128(parted, end), _mm_andnot_si128(parted, inner));
    }
    lanes->near = (ring_range){_mm_shuffle_epi32(_mm_xor_si128(inner, bias), 0),
                               _mm_shuffle_epi32(_mm_xor_si128(_mm_sub_epi32(near, inner), bias), 0)};
    lanes->far = (ring_range){_mm_shuffle_epi32(_mm_xor_si128(far, bias), 0),
                              _mm_shuffle_epi32(_mm_xor_si128(_mm_sub_epi32(outer, far), bias), 0)};
    _mm_storeu_si128((__m128i *)(void *)&e->limits,
                     _mm_unpackhi_epi64(_mm_unpacklo_epi32(inner, outer), _mm_unpacklo_epi32(begin, end)));
    *covered = _mm_cvtsi128_si32(inner);
}

AOI_INLINE unsigned ring_plan_round(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from,
                                    const double *to, const aoi_borders *b, bool solid, bool gap, ring_lanes *lanes,
                                    ring_ends *e) {
    const __m128d p = _mm_loadu_pd(from), q = _mm_loadu_pd(to), half = _mm_set1_pd(h->scale * 0.5);
    const __m128d d = _mm_mul_pd(_mm_sub_pd(q, p), half), dd = _mm_mul_pd(d, d);
    const __m128d step = _mm_sqrt_pd(_mm_add_sd(dd, _mm_unpackhi_pd(dd, dd)));
    /* `slack` of the ring, then of the ends */
    const __m128d slack = _mm_add_pd(_mm_move_sd(_mm_setzero_pd(), step), _mm_set1_pd(RING_BAND + RING_SAFE));
    const __m128d outer = _mm_set1_pd(b->leave_max[0] * h->scale + _mm_cvtsd_f64(slack));
    const __m128d center = _mm_sub_pd(_mm_mul_pd(_mm_add_pd(p, q), half), _mm_loadu_pd(mid->begin));
    __m128d fits = _mm_and_pd(_mm_cmplt_pd(outer, _mm_set1_pd(1.5 * RING_CELL)), _mm_cmpge_pd(center, outer));
    fits = _mm_and_pd(fits, _mm_cmple_pd(_mm_add_pd(center, outer), _mm_set1_pd(3 * RING_CELL - 1)));
    if (_mm_movemask_pd(fits) != 3) return 0;
    const __m128i origin = ring_origin(mid);
    const __m128i at = _mm_add_epi32(_mm_cvttpd_epi32(center), origin);
    lanes->center[0] = _mm_shuffle_epi32(_mm_shufflelo_epi16(at, 0x00), 0x00);
    lanes->center[1] = _mm_shuffle_epi32(_mm_shufflelo_epi16(at, 0xAA), 0x00);
    const __m128i ends = _mm_unpacklo_epi64(_mm_add_epi32(_mm_cvttpd_epi32(_mm_sub_pd(center, d)), origin),
                                            _mm_add_epi32(_mm_cvttpd_epi32(_mm_add_pd(center, d)), origin));
    const __m128i low = _mm_shufflehi_epi16(_mm_shufflelo_epi16(ends, 0x88), 0x88);
    _mm_storel_epi64((__m128i *)(void *)e->at, _mm_shuffle_epi32(low, 0x88));
    e->known = !solid;
    int32_t covered;
    ring_spread_limits(b, h->scale, slack, solid, gap, lanes, e, &covered);
    /* the room between the center and the edges of the middle cell: left and above, right and below */
    const __m128d before = _mm_sub_pd(center, _mm_set1_pd(RING_CELL)),
                  after = _mm_sub_pd(_mm_set1_pd(2 * RING_CELL), center);
    const __m128d b2 = _mm_mul_pd(before, before), a2 = _mm_mul_pd(after, after), outer2 = _mm_mul_pd(outer, outer);
    __m128d far = _mm_max_pd(before, after);
    far = _mm_mul_pd(far, far);
    const __m128d columns = _mm_unpacklo_pd(b2, a2);
    int beyond = _mm_movemask_pd(_mm_cmpge_pd(outer, before)) | _mm_movemask_pd(_mm_cmpge_pd(outer, after)) << 2;
    int corners = _mm_movemask_pd(_mm_cmpgt_pd(_mm_add_pd(columns, _mm_unpackhi_pd(b2, b2)), outer2)) |
                  _mm_movemask_pd(_mm_cmpgt_pd(_mm_add_pd(columns, _mm_unpackhi_pd(a2, a2)), outer2)) << 2;
    double far2 = _mm_cvtsd_f64(_mm_add_sd(far, _mm_unpackhi_pd(far, far)));
    return ring_cells_met((unsigned)beyond, far2 < covered) & ~(unsigned)RING_CORNER[corners];
}

#else

static inline int16_t ring_positive(double v) {
    return v > 0 ? (int16_t)v : 0;
}

AOI_INLINE unsigned ring_plan_box(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                                  const aoi_borders *b, bool solid, bool gap, ring_window *w) {
    unsigned beyond = 0;
    bool covered = true;
    for (int a = 0; a < 2; a++) {
        double half = h->scale * 0.5, step = fabs(from[a] - to[a]) * half,
               center = (from[a] + to[a]) * half - mid->begin[a];
        double outer = step + (b->leave_max[a] * h->scale + (2 + RING_SAFE));
        double inner = solid ? 0 : b->enter_min[a] * h->scale - RING_SAFE - step;
        if (!(outer < 3 * RING_CELL && center >= outer && center + outer <= 3 * RING_CELL)) return 0;
        int at = (int)center, o = (int)outer, i = ring_positive(inner);
        w->center[a] = (uint16_t)((uint32_t)at + ((uint32_t)(a ? mid->cy : mid->cx) - 1) * RING_CELL);
        w->outer[a] = (int16_t)o;
        w->inner[a] = (int16_t)i;
        if (gap) {
            w->gap_begin[a] = (int16_t)(step + (b->enter_max[a] * h->scale + (2 + RING_SAFE)));
            w->gap_end[a] = ring_positive(solid ? 0 : b->leave_min[a] * h->scale - RING_SAFE - step);
        }
        beyond |= ((unsigned)(at - o < RING_CELL - 1) | (unsigned)(at + o > 2 * RING_CELL) << 2) << a;
        covered = covered && at - i < RING_CELL && at + i > 2 * RING_CELL - 1;
    }
    return ring_cells_met(beyond, covered);
}

/* Corners that a circle does not reach: `room` is that between the center and the four edges of the middle cell, left,
 * above, right, below. */
static inline unsigned ring_far_corners(const double *room, double outer2) {
    static const uint8_t side[4] = {0, 2, 0, 2}, row[4] = {1, 1, 3, 3};
    unsigned corners = 0;
    for (int i = 0; i < 4; i++) {
        double x = room[side[i]], y = room[row[i]];
        corners |= (unsigned)(x * x + y * y > outer2) << i;
    }
    return RING_CORNER[corners];
}

AOI_INLINE unsigned ring_plan_round(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from,
                                    const double *to, const aoi_borders *b, bool solid, bool gap, ring_window *w,
                                    ring_ends *e) {
    double half = h->scale * 0.5, dx = (to[0] - from[0]) * half, dy = (to[1] - from[1]) * half;
    double slack = sqrt(dx * dx + dy * dy) + (RING_BAND + RING_SAFE), outer = b->leave_max[0] * h->scale + slack;
    double center[2], room[4], far2 = 0;
    unsigned beyond = 0;
    for (int a = 0; a < 2; a++) {
        center[a] = (from[a] + to[a]) * half - mid->begin[a];
        if (!(outer < 1.5 * RING_CELL && center[a] >= outer && center[a] + outer <= 3 * RING_CELL - 1)) return 0;
        uint32_t origin = ((uint32_t)(a ? mid->cy : mid->cx) - 1) * RING_CELL;
        w->center[a] = (uint16_t)((uint32_t)(int)center[a] + origin);
        e->at[0][a] = (uint16_t)((uint32_t)(int)(center[a] - (a ? dy : dx)) + origin);
        e->at[1][a] = (uint16_t)((uint32_t)(int)(center[a] + (a ? dy : dx)) + origin);
        room[a] = center[a] - RING_CELL;
        room[a + 2] = 2 * RING_CELL - center[a];
        beyond |= ((unsigned)(outer >= room[a]) | (unsigned)(outer >= room[a + 2]) << 2) << a;
        double far = room[a] > room[a + 2] ? room[a] : room[a + 2];
        far2 += far * far;
    }
    w->limits = ring_limits_of(b, h->scale, slack, solid, gap);
    e->limits = ring_limits_of(b, h->scale, RING_BAND + RING_SAFE, solid, gap);
    e->known = !solid;
    return ring_cells_met(beyond, far2 < w->limits.inner) & ~ring_far_corners(room, outer * outer);
}

#endif

AOI_INLINE unsigned ring_plan(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                              const aoi_borders *b, bool solid, int kind, ring_lanes *lanes, ring_ends *ends) {
    return kind & RING_ROUND ? ring_plan_round(h, mid, from, to, b, solid, kind & RING_GAP, lanes, ends)
                             : ring_plan_box(h, mid, from, to, b, solid, kind & RING_GAP, lanes);
}

#endif
