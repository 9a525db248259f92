/* ring_scan.c - see ring_scan.h. */
#include "engines/quadtree/ring_scan.h"

#include <float.h>
#include <math.h>

#include "base/simd.h"

/* More than all the roundings together of the sums that take part, the largest of which is below `size`; the constant
 * covers what halving a denormal loses. */
static inline double margin(double size) {
    return size * 0x1p-49 + DBL_MIN;
}

static inline double larger(double a, double b) {
    return a > b ? a : b;
}

aoi_ring aoi_ring_of_move(const double *from, const double *to, double least, double most, bool all) {
    aoi_ring q;
    double far = larger(larger(fabs(from[0]), fabs(from[1])), larger(fabs(to[0]), fabs(to[1])));
    double safe = margin(far + most);
    for (int a = 0; a < 2; a++) {
        double half = fabs(to[a] / 2 - from[a] / 2); /* halves first: the sum might overflow */
        q.center[a] = to[a] / 2 + from[a] / 2;
        q.outer[a] = most + half + safe;
        q.inner[a] = all ? -1 : least - half - safe;
    }
    return q;
}

size_t aoi_rings_of_move(const double *from, const double *to, double least, double most, bool all, aoi_ring out[2]) {
    double dx = fabs(to[0] - from[0]), dy = fabs(to[1] - from[1]);
    if (dx > 2 * most || dy > 2 * most) {
        out[0] = aoi_ring_of_move(from, from, most, most, true);
        out[1] = aoi_ring_of_move(to, to, most, most, true);
        double apart = 2.5 * larger(out[0].outer[0], out[1].outer[0]);
        if (dx > apart || dy > apart) return 2;
    }
    out[0] = aoi_ring_of_move(from, to, least, most, all);
    return 1;
}

aoi_ring aoi_ring_of_box(const double *lo, const double *hi) {
    aoi_ring q;
    for (int a = 0; a < 2; a++) {
        double l = lo[a] < -DBL_MAX ? -DBL_MAX : lo[a], h = hi[a] > DBL_MAX ? DBL_MAX : hi[a];
        q.center[a] = h / 2 + l / 2;
        q.outer[a] = h / 2 - l / 2 + margin(larger(fabs(l), fabs(h)));
        q.inner[a] = -1;
    }
    return q;
}

/* ---- portable: eight at a time, without a branch, then the few that hit ---------------------------------------------- */

enum { WIDTH = 8 };

static inline int64_t in_ring(const aoi_ring *q, double x, double y) {
    double dx = fabs(x - q->center[0]), dy = fabs(y - q->center[1]);
    return (dx <= q->outer[0]) & (dy <= q->outer[1]) & ((dx > q->inner[0]) | (dy > q->inner[1]));
}

static inline size_t scan_run(const aoi_ring *q, const aoi_run *r, uint32_t *out) {
    size_t found = 0, i = 0;
    for (; i + WIDTH <= r->n; i += WIDTH) {
        int64_t hit[WIDTH], any = 0;
        for (size_t j = 0; j < WIDTH; j++) hit[j] = in_ring(q, r->x[i + j], r->y[i + j]);
        for (size_t j = 0; j < WIDTH; j++) any |= hit[j];
        for (size_t j = 0; any && j < WIDTH; j++)
            if (hit[j]) out[found++] = r->refs[i + j];
    }
    for (; i < r->n; i++)
        if (in_ring(q, r->x[i], r->y[i])) out[found++] = r->refs[i];
    return found;
}

static size_t plain_scan(const aoi_ring *q, const aoi_run *runs, size_t count, uint32_t *out) {
    size_t found = 0;
    for (size_t k = 0; k < count; k++) found += scan_run(q, runs + k, out + found);
    return found;
}

aoi_scanner aoi_plain_scanner(void) {
    return plain_scan;
}

/* ---- AVX2: four at a time, one bit each -------------------------------------------------------------------------------- */

#if AOI_HAS_AVX2

__attribute__((target("avx2"))) static size_t avx2_scan(const aoi_ring *q, const aoi_run *runs, size_t count,
                                                        uint32_t *out) {
    const __m256d cx = _mm256_set1_pd(q->center[0]), cy = _mm256_set1_pd(q->center[1]);
    const __m256d ix = _mm256_set1_pd(q->inner[0]), iy = _mm256_set1_pd(q->inner[1]);
    const __m256d ox = _mm256_set1_pd(q->outer[0]), oy = _mm256_set1_pd(q->outer[1]);
    const __m256d sign = _mm256_set1_pd(-0.0);
    size_t found = 0;
    for (const aoi_run *r = runs; r < runs + count; r++) {
        if (r->n < AOI_SCAN_LANES) {
            found += scan_run(q, r, out + found);
            continue;
        }
        for (size_t i = 0; i < r->n; i += AOI_SCAN_LANES) {
            __m256d dx = _mm256_andnot_pd(sign, _mm256_sub_pd(_mm256_loadu_pd(r->x + i), cx));
            __m256d dy = _mm256_andnot_pd(sign, _mm256_sub_pd(_mm256_loadu_pd(r->y + i), cy));
            __m256d near = _mm256_and_pd(_mm256_cmp_pd(dx, ox, _CMP_LE_OQ), _mm256_cmp_pd(dy, oy, _CMP_LE_OQ));
            __m256d out_of = _mm256_or_pd(_mm256_cmp_pd(dx, ix, _CMP_GT_OQ), _mm256_cmp_pd(dy, iy, _CMP_GT_OQ));
            unsigned bits = (unsigned)_mm256_movemask_pd(_mm256_and_pd(near, out_of));
            if (!bits) continue;
            if (r->n - i < AOI_SCAN_LANES) bits &= (1u << (r->n - i)) - 1; /* lanes past the end hold anything */
            for (; bits; bits &= bits - 1) out[found++] = r->refs[i + (size_t)__builtin_ctz(bits)];
        }
    }
    return found;
}

#endif

aoi_scanner aoi_best_scanner(void) {
#if AOI_HAS_AVX2
    if (aoi_lanes_avx2_here()) return avx2_scan;
#endif
    return plain_scan;
}
