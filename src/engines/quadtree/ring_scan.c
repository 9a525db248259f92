/* ring_scan.c - see ring_scan.h. */
#include "engines/quadtree/ring_scan.h"

#include "base/simd.h"

static inline bool scan_in_ring(const aoi_ring *q, double x, double y) {
    double dx = fabs(x - q->center[0]), dy = fabs(y - q->center[1]);
    if (q->round) return dx * dx + dy * dy <= q->outer2 && dx * dx + dy * dy > q->inner2;
    return (dx <= q->outer[0]) & (dy <= q->outer[1]) & ((dx > q->inner[0]) | (dy > q->inner[1]));
}

static inline size_t scan_rest(const aoi_ring *q, const double *x, const double *y, size_t first, size_t n,
                               uint32_t *out, size_t found) {
    for (size_t i = first; i < n; i++) {
        out[found] = (uint32_t)i; /* without a branch: written, and kept if it is a hit */
        found += scan_in_ring(q, x[i], y[i]);
    }
    return found;
}

#ifdef __SSE2__

typedef struct scan_lanes { /* the ring, each number twice */
    __m128d cx, cy, ix, iy, ox, oy;
} scan_lanes;

/* Of a round ring ix and ox are the squares. */
static inline unsigned scan_two_round(const scan_lanes *r, const double *x, const double *y) {
    __m128d dx = _mm_sub_pd(_mm_loadu_pd(x), r->cx), dy = _mm_sub_pd(_mm_loadu_pd(y), r->cy);
    __m128d d = _mm_add_pd(_mm_mul_pd(dx, dx), _mm_mul_pd(dy, dy));
    return (unsigned)_mm_movemask_pd(_mm_and_pd(_mm_cmple_pd(d, r->ox), _mm_cmpgt_pd(d, r->ix)));
}

static inline unsigned scan_two(const scan_lanes *r, const double *x, const double *y) {
    const __m128d sign = _mm_set1_pd(-0.0);
    __m128d dx = _mm_andnot_pd(sign, _mm_sub_pd(_mm_loadu_pd(x), r->cx));
    __m128d dy = _mm_andnot_pd(sign, _mm_sub_pd(_mm_loadu_pd(y), r->cy));
    __m128d near = _mm_and_pd(_mm_cmple_pd(dx, r->ox), _mm_cmple_pd(dy, r->oy));
    __m128d beyond = _mm_or_pd(_mm_cmpgt_pd(dx, r->ix), _mm_cmpgt_pd(dy, r->iy));
    return (unsigned)_mm_movemask_pd(_mm_and_pd(near, beyond));
}

AOI_INLINE size_t scan_by(const aoi_ring *q, const double *x, const double *y, size_t n, uint32_t *out, bool round) {
    scan_lanes r = {_mm_set1_pd(q->center[0]), _mm_set1_pd(q->center[1]), _mm_set1_pd(q->inner[0]),
                    _mm_set1_pd(q->inner[1]),  _mm_set1_pd(q->outer[0]),  _mm_set1_pd(q->outer[1])};
    if (round) r.ix = _mm_set1_pd(q->inner2), r.ox = _mm_set1_pd(q->outer2);
    size_t found = 0;
    for (size_t i = 0; i < n; i += AOI_SCAN_WIDTH) {
        unsigned bits = round ? scan_two_round(&r, x + i, y + i) | scan_two_round(&r, x + i + 2, y + i + 2) << 2
                              : scan_two(&r, x + i, y + i) | scan_two(&r, x + i + 2, y + i + 2) << 2;
        if (n - i < AOI_SCAN_WIDTH) bits &= (1u << (n - i)) - 1; /* lanes past the end hold anything */
        for (; bits; bits &= bits - 1) out[found++] = (uint32_t)(i + (size_t)aoi_lanes_first(bits));
    }
    return found;
}

size_t aoi_ring_scan(const aoi_ring *q, const double *x, const double *y, size_t n, uint32_t *out) {
    if (n < AOI_SCAN_WIDTH) return scan_rest(q, x, y, 0, n, out, 0);
    return q->round ? scan_by(q, x, y, n, out, true) : scan_by(q, x, y, n, out, false);
}

#else

size_t aoi_ring_scan(const aoi_ring *q, const double *x, const double *y, size_t n, uint32_t *out) {
    return scan_rest(q, x, y, 0, n, out, 0);
}

#endif
