/* ring_scan.c - see ring_scan.h. */
#include "engines/quadtree/ring_scan.h"

#include "base/simd.h"

/* ---- borders as floats, on the safe side -------------------------------------------------------------------------- */

/* More than what coordinates as floats are off, and sums of them, for points that are not beyond the outer border. */
static double scan_band(double center, double outer) {
    double far = center + outer;
    return far < 1e37 ? far * 0x1p-20 + 1e-37 : (double)INFINITY;
}

static float scan_above(double v) {
    return v < FLT_MAX / 2 ? (float)v : INFINITY;
}

/* Nothing is below 0. */
static float scan_below(double v) {
    return v > 0 ? aoi_scan_float(v) : 0;
}

/* Squares that floats have: tiny ones are none, and above all that may have become 0. */
static float scan_square_above(double v) {
    return scan_above(fmax(v * v * (1 + 0x1p-20), 1e-30));
}

static float scan_square_below(double v) {
    double square = v > 0 ? v * v * (1 - 0x1p-20) : 0;
    return square > 1e-30 ? scan_below(square) : 0;
}

static aoi_scan scan_of_box(const aoi_ring *q) {
    aoi_scan s = {.box = *q};
    double band = scan_band(aoi_magnitude(q->center), aoi_magnitude(q->outer));
    s.x[0] = aoi_scan_float(q->center[0]);
    s.y[0] = aoi_scan_float(q->center[1]);
    for (int a = 0; a < 2; a++) {
        s.inner[a] = scan_below(q->inner[a] - band);
        s.outer[a] = scan_above(q->outer[a] + band);
    }
    return s;
}

static void scan_set_gap(aoi_scan *s, const double *from, const double *to, const aoi_borders *b) {
    double band = scan_band(aoi_magnitude(s->box.center), aoi_magnitude(s->box.outer));
    s->gap = true;
    for (int a = 0; a < 2; a++) {
        double half = fabs(to[a] / 2 - from[a] / 2);
        s->gap_begin[a] = scan_above(b->enter_max[a] + half + band);
        s->gap_end[a] = scan_below(b->leave_min[a] - half - band);
    }
}

static void scan_set_round(aoi_scan *s, const double *from, const double *to, const aoi_borders *b, bool solid) {
    double band = scan_band(fmax(aoi_magnitude(from), aoi_magnitude(to)), b->leave_max[0]);
    s->round = true;
    for (int i = 0; i < 2; i++) {
        s->x[i] = aoi_scan_float(i ? to[0] : from[0]);
        s->y[i] = aoi_scan_float(i ? to[1] : from[1]);
    }
    s->inner[0] = solid ? 0 : scan_square_below(b->enter_min[0] - band);
    s->outer[0] = scan_square_above(b->leave_max[0] + band);
    s->gap = b->gap && !solid;
    if (!s->gap) return;
    s->gap_begin[0] = scan_square_above(b->enter_max[0] + band);
    s->gap_end[0] = scan_square_below(b->leave_min[0] - band);
}

static aoi_scan scan_of_move(const aoi_ring *q, const double *from, const double *to, const aoi_borders *b,
                             bool solid) {
    aoi_scan s = scan_of_box(q);
    if (b->round) scan_set_round(&s, from, to, b, solid);
    else if (b->gap && !solid) scan_set_gap(&s, from, to, b);
    return s;
}

/* Whether no point is hit by both, which are around two places. */
static bool scans_are_apart(const aoi_scan *s, const double *from, const double *to) {
    double size = fmax(aoi_magnitude(from), aoi_magnitude(to));
    bool apart = false;
    for (int a = 0; a < 2; a++) {
        double p = s[0].round ? sqrt(s[0].outer[0]) : s[0].outer[a],
               q = s[1].round ? sqrt(s[1].outer[0]) : s[1].outer[a];
        apart = apart || fabs(to[a] - from[a]) > p + q + scan_band(size, p + q);
    }
    return apart;
}

size_t aoi_scans_of_move(const double *from, const double *to, const aoi_borders *b, bool solid, aoi_scan out[2]) {
    aoi_ring q[2];
    if (aoi_rings_of_move(from, to, b, solid, q) == 2) {
        out[0] = scan_of_move(q, from, from, b, true);
        out[1] = scan_of_move(q + 1, to, to, b, true);
        if (scans_are_apart(out, from, to)) return 2;
        q[0] = aoi_ring_of_move(from, to, b, solid);
    }
    out[0] = scan_of_move(q, from, to, b, solid);
    return 1;
}

aoi_scan aoi_scan_of_box(const double *lo, const double *hi) {
    aoi_ring q = aoi_ring_of_box(lo, hi);
    return scan_of_box(&q);
}

/* ---- scans: idle is only what compares so, and a number that is none does not ------------------------------------- */

#ifdef __SSE2__

typedef struct scan_lanes { /* each number four times */
    __m128 x[2], y[2], inner[2], outer[2], gap_begin[2], gap_end[2];
} scan_lanes;

AOI_INLINE scan_lanes scan_spread(const aoi_scan *s) {
    scan_lanes r;
    for (int i = 0; i < 2; i++) {
        r.x[i] = _mm_set1_ps(s->x[i]);
        r.y[i] = _mm_set1_ps(s->y[i]);
        r.inner[i] = _mm_set1_ps(s->inner[i]);
        r.outer[i] = _mm_set1_ps(s->outer[i]);
        r.gap_begin[i] = _mm_set1_ps(s->gap_begin[i]);
        r.gap_end[i] = _mm_set1_ps(s->gap_end[i]);
    }
    return r;
}

AOI_INLINE __m128 scan_idle_box(const scan_lanes *r, __m128 x, __m128 y, bool gap) {
    const __m128 sign = _mm_set1_ps(-0.0f);
    __m128 dx = _mm_andnot_ps(sign, _mm_sub_ps(x, r->x[0])), dy = _mm_andnot_ps(sign, _mm_sub_ps(y, r->y[0]));
    __m128 within = _mm_and_ps(_mm_cmplt_ps(dx, r->inner[0]), _mm_cmplt_ps(dy, r->inner[1]));
    __m128 idle = _mm_or_ps(within, _mm_or_ps(_mm_cmpgt_ps(dx, r->outer[0]), _mm_cmpgt_ps(dy, r->outer[1])));
    if (!gap) return idle;
    __m128 beyond = _mm_or_ps(_mm_cmpgt_ps(dx, r->gap_begin[0]), _mm_cmpgt_ps(dy, r->gap_begin[1]));
    within = _mm_and_ps(_mm_cmplt_ps(dx, r->gap_end[0]), _mm_cmplt_ps(dy, r->gap_end[1]));
    return _mm_or_ps(idle, _mm_and_ps(beyond, within));
}

AOI_INLINE __m128 scan_square(__m128 dx, __m128 dy) {
    return _mm_add_ps(_mm_mul_ps(dx, dx), _mm_mul_ps(dy, dy));
}

AOI_INLINE __m128 scan_idle_round(const scan_lanes *r, __m128 x, __m128 y, bool gap) {
    __m128 d = scan_square(_mm_sub_ps(x, r->x[0]), _mm_sub_ps(y, r->y[0]));
    __m128 e = scan_square(_mm_sub_ps(x, r->x[1]), _mm_sub_ps(y, r->y[1]));
    __m128 near = _mm_min_ps(d, e), far = _mm_max_ps(d, e);
    __m128 idle = _mm_or_ps(_mm_cmplt_ps(far, r->inner[0]), _mm_cmpgt_ps(near, r->outer[0]));
    if (!gap) return idle;
    return _mm_or_ps(idle, _mm_and_ps(_mm_cmpgt_ps(near, r->gap_begin[0]), _mm_cmplt_ps(far, r->gap_end[0])));
}

AOI_INLINE uint64_t scan_by(const aoi_scan *s, const float *x, const float *y, size_t n, bool round, bool gap) {
    const scan_lanes r = scan_spread(s);
    uint64_t idle = 0;
    for (size_t i = 0; i < n; i += AOI_SCAN_WIDTH) {
        __m128 a = _mm_loadu_ps(x + i), b = _mm_loadu_ps(y + i);
        __m128 four = round ? scan_idle_round(&r, a, b, gap) : scan_idle_box(&r, a, b, gap);
        idle |= (uint64_t)(unsigned)_mm_movemask_ps(four) << i;
    }
    return ~idle & (UINT64_MAX >> (AOI_SCAN_MOST - n)); /* lanes past the end hold anything */
}

uint64_t aoi_ring_scan(const aoi_scan *s, const float *x, const float *y, size_t n) {
    float few[2][AOI_SCAN_WIDTH];
    if (n < AOI_SCAN_WIDTH) {
        for (size_t i = 0; i < AOI_SCAN_WIDTH; i++) few[0][i] = i < n ? x[i] : 0, few[1][i] = i < n ? y[i] : 0;
        x = few[0], y = few[1];
    }
    if (!n) return 0;
    if (s->round) return s->gap ? scan_by(s, x, y, n, true, true) : scan_by(s, x, y, n, true, false);
    return s->gap ? scan_by(s, x, y, n, false, true) : scan_by(s, x, y, n, false, false);
}

#else

static bool scan_is_idle_box(const aoi_scan *s, float x, float y) {
    float dx = fabsf(x - s->x[0]), dy = fabsf(y - s->y[0]);
    bool idle = ((dx < s->inner[0]) & (dy < s->inner[1])) | (dx > s->outer[0]) | (dy > s->outer[1]);
    bool between = ((dx > s->gap_begin[0]) | (dy > s->gap_begin[1])) & (dx < s->gap_end[0]) & (dy < s->gap_end[1]);
    return idle | (s->gap & between);
}

static bool scan_is_idle_round(const aoi_scan *s, float x, float y) {
    float dx = x - s->x[0], dy = y - s->y[0], ex = x - s->x[1], ey = y - s->y[1];
    float d = dx * dx + dy * dy, e = ex * ex + ey * ey, near = d < e ? d : e, far = d < e ? e : d;
    bool between = (near > s->gap_begin[0]) & (far < s->gap_end[0]);
    return (far < s->inner[0]) | (near > s->outer[0]) | (s->gap & between);
}

uint64_t aoi_ring_scan(const aoi_scan *s, const float *x, const float *y, size_t n) {
    uint64_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits |= (uint64_t) !(s->round ? scan_is_idle_round(s, x[i], y[i]) : scan_is_idle_box(s, x[i], y[i])) << i;
    return hits;
}

#endif
