/* simd.h - questions to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * In versions: for any processor; for SSE2, which every x86-64 has; and for AVX2, where the program finds it when it runs
 * (aoi_lanes_have_avx2): borders of rings alone, where it saves a fifth of a move in a town and with views that keep; of
 * keys it saves a twentieth. All versions give the same bits.  They read whole lanes: up to seven keys too many. */
#ifndef AOI_LANES_H
#define AOI_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/platform.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__) && defined(__SSE2__)
#define AOI_HAS_AVX2 1
#define AOI_AVX2 __attribute__((target("avx2")))
#else
#define AOI_HAS_AVX2 0
#endif

static inline bool aoi_lanes_have_avx2(void) {
#if AOI_HAS_AVX2
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

/* Bit i: lo <= key[i] <= hi, for eight keys. */
enum { AOI_LANE = 8 };

static inline unsigned aoi_lanes_plain(const float *key, float lo, float hi) {
#ifdef __SSE2__
    const __m128 low = _mm_set1_ps(lo), high = _mm_set1_ps(hi), a = _mm_loadu_ps(key), b = _mm_loadu_ps(key + 4);
    return (unsigned)_mm_movemask_ps(_mm_and_ps(_mm_cmpge_ps(a, low), _mm_cmple_ps(a, high))) |
           (unsigned)_mm_movemask_ps(_mm_and_ps(_mm_cmpge_ps(b, low), _mm_cmple_ps(b, high))) << 4;
#else
    unsigned bits = 0;
    for (int i = 0; i < AOI_LANE; i++) bits |= (unsigned)(lo <= key[i] && key[i] <= hi) << i;
    return bits;
#endif
}

/* The same for n keys, of which there are 16 or 56. */
AOI_INLINE uint64_t aoi_lanes_keys(const float *key, int n, float lo, float hi) {
    uint64_t bits = 0;
#ifdef __SSE2__
    const __m128 low = _mm_set1_ps(lo), high = _mm_set1_ps(hi);
    for (int i = 0; i + 16 <= n; i += 16) {
        __m128i in[4];
        for (int k = 0; k < 4; k++) {
            const __m128 v = _mm_loadu_ps(key + i + 4 * k);
            in[k] = _mm_castps_si128(_mm_and_ps(_mm_cmpge_ps(v, low), _mm_cmple_ps(v, high)));
        }
        const __m128i all = _mm_packs_epi16(_mm_packs_epi32(in[0], in[1]), _mm_packs_epi32(in[2], in[3]));
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(all) << i;
    }
    if (n & 8) bits |= (uint64_t)aoi_lanes_plain(key + n - 8, lo, hi) << (n - 8);
#else
    for (int i = 0; i < n; i += AOI_LANE) bits |= (uint64_t)aoi_lanes_plain(key + i, lo, hi) << i;
#endif
    return bits;
}

/* The same for any number up to 64; bits from the n-th on mean nothing. */
AOI_INLINE uint64_t aoi_lanes_many(const float *key, int n, float lo, float hi) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i += AOI_LANE) bits |= (uint64_t)aoi_lanes_plain(key + i, lo, hi) << i;
    return bits;
}

/* Of two numbers, without a branch, which would often be mispredicted. */
static inline float aoi_lanes_least(float a, float b) {
#ifdef __SSE2__
    return _mm_cvtss_f32(_mm_min_ss(_mm_set_ss(a), _mm_set_ss(b)));
#else
    return a < b ? a : b;
#endif
}

static inline float aoi_lanes_most(float a, float b) {
#ifdef __SSE2__
    return _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(a), _mm_set_ss(b)));
#else
    return a > b ? a : b;
#endif
}

/* The first of n numbers that is this one; n if there is none. */
static inline uint32_t aoi_lanes_find(const uint32_t *numbers, uint32_t n, uint32_t one) {
    uint32_t i = 0;
#ifdef __SSE2__
    const __m128i x = _mm_set1_epi32((int)one);
    for (; i + 8 <= n; i += 8) {
        const __m128i *p = (const __m128i *)(const void *)(numbers + i);
        __m128i a = _mm_cmpeq_epi32(_mm_loadu_si128(p), x), b = _mm_cmpeq_epi32(_mm_loadu_si128(p + 1), x);
        if (_mm_movemask_epi8(_mm_or_si128(a, b))) break;
    }
#endif
    while (i < n && numbers[i] != one) i++;
    return i;
}

/* The first n bits. */
static inline uint64_t aoi_lanes_mask(int n) {
    return ((uint64_t)1 << n) - 1;
}

/* The lowest bit's number; bits is not 0. */
static inline int aoi_lanes_first(uint64_t bits) {
#ifdef __GNUC__
    return __builtin_ctzll(bits);
#else
    int i = 0;
    while (!(bits >> i & 1)) i++;
    return i;
#endif
}

/* ---- two axes at once ---------------------------------------------------------------------------------------------- */

/* Bit a: t[a] < w[a] - reach[a]; bit 4 + a: w[a] + reach[a] < t[a]; for two axes. */
static inline unsigned aoi_lanes_outside(const double *w, const double *t, const double *reach) {
#ifdef __SSE2__
    const __m128d at = _mm_loadu_pd(w), p = _mm_loadu_pd(t), r = _mm_loadu_pd(reach);
    return (unsigned)_mm_movemask_pd(_mm_cmplt_pd(p, _mm_sub_pd(at, r))) |
           (unsigned)_mm_movemask_pd(_mm_cmplt_pd(_mm_add_pd(at, r), p)) << 4;
#else
    unsigned bits = 0;
    for (int a = 0; a < 2; a++)
        bits |= (unsigned)(t[a] < w[a] - reach[a]) << a | (unsigned)(w[a] + reach[a] < t[a]) << (4 + a);
    return bits;
#endif
}

/* Whether a point lies in a rectangle: x and y of the lower corner, of the upper corner. */
static inline bool aoi_lanes_inside(const float *corners, const double *p) {
#ifdef __SSE2__
    const __m128 both = _mm_loadu_ps(corners);
    const __m128d at = _mm_loadu_pd(p), low = _mm_cvtps_pd(both), high = _mm_cvtps_pd(_mm_movehl_ps(both, both));
    return _mm_movemask_pd(_mm_and_pd(_mm_cmple_pd(low, at), _mm_cmple_pd(at, high))) == 3;
#else
    return corners[0] <= p[0] && p[0] <= corners[2] && corners[1] <= p[1] && p[1] <= corners[3];
#endif
}

/* ---- borders around points ----------------------------------------------------------------------------------------
 *
 *     outer border     d0, d1: distances, squared, from a centre to the two ends of a move, by the centre's metric:
 *    +-----------+             Euclid's (circles), or the greater of the two axes (boxes)
 *    |  inner    |
 *    | +-----+   |     A pair stays as it is if both ends are within the inner border, or both beyond the outer one, or
 *    | |  .  |   |     both surely between them, unless the inner border is negative.  The borders leave room for rounding.
 *    | +-----+   |     NaN: it may change. */
#define AOI_LANES_BETWEEN (1 + 0x1p-8f) /* how far beyond a border, squared, a distance is surely beyond it */

typedef struct aoi_lanes_ends {
    float x[2], y[2];
    float scale[2]; /* of the axes, for points: makes a rectangle a square */
    float most_in;  /* a limit to inner borders; 0: there are none */
    bool boxes;     /* measure all as boxes */
} aoi_lanes_ends;

/* Bit i: the pair with centre i of n, at most 63, may change.  _rings: each centre has borders of its own; an outer one is
 * negative if the metric is that of a box.  _points: all have the borders *in and *out. */
typedef uint64_t (*aoi_lanes_borders)(const float *x, const float *y, const float *in, const float *out, int n,
                                      const aoi_lanes_ends *e);

#ifdef __SSE2__
/* box: all bits set where the metric is that of a box. */
AOI_INLINE unsigned aoi_lanes_changing(const float *x, const float *y, __m128 in, __m128 out, __m128 box,
                                       const aoi_lanes_ends *e, bool scaled) {
    const __m128 px = _mm_loadu_ps(x), py = _mm_loadu_ps(y), limit = _mm_set1_ps(e->most_in);
    const __m128 wide = _mm_set1_ps(AOI_LANES_BETWEEN),
                 inner = _mm_min_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), in), limit);
    __m128 d[2];
    for (int i = 0; i < 2; i++) {
        __m128 dx = _mm_sub_ps(px, _mm_set1_ps(e->x[i])), dy = _mm_sub_ps(py, _mm_set1_ps(e->y[i]));
        if (scaled) dx = _mm_mul_ps(dx, _mm_set1_ps(e->scale[0])), dy = _mm_mul_ps(dy, _mm_set1_ps(e->scale[1]));
        dx = _mm_mul_ps(dx, dx);
        dy = _mm_mul_ps(dy, dy);
        d[i] = _mm_or_ps(_mm_and_ps(box, _mm_max_ps(dx, dy)), _mm_andnot_ps(box, _mm_add_ps(dx, dy)));
    }
    const __m128 lo = _mm_min_ps(d[0], d[1]), hi = _mm_max_ps(d[0], d[1]);
    __m128 same = _mm_and_ps(_mm_cmpgt_ps(lo, _mm_mul_ps(inner, wide)), _mm_cmple_ps(_mm_mul_ps(hi, wide), out));
    same = _mm_and_ps(same, _mm_cmpgt_ps(_mm_min_ps(in, limit), _mm_setzero_ps()));
    same = _mm_or_ps(same, _mm_or_ps(_mm_cmplt_ps(hi, inner), _mm_cmpgt_ps(lo, out)));
    return ~(unsigned)_mm_movemask_ps(same) & 15U;
}

static inline uint64_t aoi_lanes_rings(const float *x, const float *y, const float *in, const float *out, int n,
                                       const aoi_lanes_ends *e) {
    const __m128 sign = _mm_set1_ps(-0.0f), boxes = _mm_castsi128_ps(_mm_set1_epi32(-(int)e->boxes));
    uint64_t bits = 0;
    for (int k = 0; k < n; k += 4) {
        const __m128 o = _mm_loadu_ps(out + k), box = _mm_or_ps(boxes, _mm_cmplt_ps(o, _mm_setzero_ps()));
        bits |= (uint64_t)aoi_lanes_changing(x + k, y + k, _mm_loadu_ps(in + k), _mm_andnot_ps(sign, o), box, e, false)
                << k;
    }
    return bits & aoi_lanes_mask(n);
}

static inline uint64_t aoi_lanes_points(const float *x, const float *y, const float *in, const float *out, int n,
                                        const aoi_lanes_ends *e) {
    const __m128 boxes = _mm_castsi128_ps(_mm_set1_epi32(-(int)e->boxes));
    uint64_t bits = 0;
    for (int k = 0; k < n; k += 4)
        bits |= (uint64_t)aoi_lanes_changing(x + k, y + k, _mm_set1_ps(*in), _mm_set1_ps(*out), boxes, e, true) << k;
    return bits & aoi_lanes_mask(n);
}
#else
static inline unsigned aoi_lanes_changes(float x, float y, float in, float out, bool box, const aoi_lanes_ends *e,
                                         bool scaled) {
    float d[2];
    for (int i = 0; i < 2; i++) {
        float dx = (x - e->x[i]) * (scaled ? e->scale[0] : 1), dy = (y - e->y[i]) * (scaled ? e->scale[1] : 1);
        dx *= dx;
        dy *= dy;
        d[i] = !box ? dx + dy : dx > dy ? dx : dy;
    }
    float lo = d[0] < d[1] ? d[0] : d[1], hi = d[0] < d[1] ? d[1] : d[0];
    float size = in < 0 ? -in : in, inner = size < e->most_in ? size : e->most_in;
    bool between = in > 0 && inner > 0 && lo > inner * AOI_LANES_BETWEEN && hi * AOI_LANES_BETWEEN <= out;
    return !(between || hi < inner || lo > out);
}

static inline uint64_t aoi_lanes_rings(const float *x, const float *y, const float *in, const float *out, int n,
                                       const aoi_lanes_ends *e) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) {
        float most = out[i] < 0 ? -out[i] : out[i];
        bits |= (uint64_t)aoi_lanes_changes(x[i], y[i], in[i], most, e->boxes || out[i] < 0, e, false) << i;
    }
    return bits;
}

static inline uint64_t aoi_lanes_points(const float *x, const float *y, const float *in, const float *out, int n,
                                        const aoi_lanes_ends *e) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) bits |= (uint64_t)aoi_lanes_changes(x[i], y[i], *in, *out, e->boxes, e, true) << i;
    return bits;
}
#endif

#if AOI_HAS_AVX2
AOI_AVX2 static inline unsigned aoi_wide_changing(const float *x, const float *y, __m256 in, __m256 out, __m256 box,
                                                  const aoi_lanes_ends *e, bool scaled) {
    const __m256 px = _mm256_loadu_ps(x), py = _mm256_loadu_ps(y), limit = _mm256_set1_ps(e->most_in);
    const __m256 wide = _mm256_set1_ps(AOI_LANES_BETWEEN),
                 inner = _mm256_min_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), in), limit);
    __m256 d[2];
    for (int i = 0; i < 2; i++) {
        __m256 dx = _mm256_sub_ps(px, _mm256_set1_ps(e->x[i])), dy = _mm256_sub_ps(py, _mm256_set1_ps(e->y[i]));
        if (scaled)
            dx = _mm256_mul_ps(dx, _mm256_set1_ps(e->scale[0])), dy = _mm256_mul_ps(dy, _mm256_set1_ps(e->scale[1]));
        dx = _mm256_mul_ps(dx, dx);
        dy = _mm256_mul_ps(dy, dy);
        d[i] = _mm256_or_ps(_mm256_and_ps(box, _mm256_max_ps(dx, dy)), _mm256_andnot_ps(box, _mm256_add_ps(dx, dy)));
    }
    const __m256 lo = _mm256_min_ps(d[0], d[1]), hi = _mm256_max_ps(d[0], d[1]);
    __m256 same = _mm256_and_ps(_mm256_cmp_ps(lo, _mm256_mul_ps(inner, wide), _CMP_GT_OQ),
                                _mm256_cmp_ps(_mm256_mul_ps(hi, wide), out, _CMP_LE_OQ));
    same = _mm256_and_ps(same, _mm256_cmp_ps(_mm256_min_ps(in, limit), _mm256_setzero_ps(), _CMP_GT_OQ));
    same = _mm256_or_ps(same, _mm256_or_ps(_mm256_cmp_ps(hi, inner, _CMP_LT_OQ), _mm256_cmp_ps(lo, out, _CMP_GT_OQ)));
    return ~(unsigned)_mm256_movemask_ps(same) & 255U;
}

AOI_AVX2 static inline uint64_t aoi_wide_rings(const float *x, const float *y, const float *in, const float *out, int n,
                                               const aoi_lanes_ends *e) {
    const __m256 sign = _mm256_set1_ps(-0.0f), boxes = _mm256_castsi256_ps(_mm256_set1_epi32(-(int)e->boxes));
    uint64_t bits = 0;
    for (int k = 0; k < n; k += 8) {
        const __m256 o = _mm256_loadu_ps(out + k),
                     box = _mm256_or_ps(boxes, _mm256_cmp_ps(o, _mm256_setzero_ps(), _CMP_LT_OQ));
        bits |=
            (uint64_t)aoi_wide_changing(x + k, y + k, _mm256_loadu_ps(in + k), _mm256_andnot_ps(sign, o), box, e, false)
            << k;
    }
    return bits & aoi_lanes_mask(n);
}

AOI_AVX2 static inline uint64_t aoi_wide_points(const float *x, const float *y, const float *in, const float *out,
                                                int n, const aoi_lanes_ends *e) {
    const __m256 boxes = _mm256_castsi256_ps(_mm256_set1_epi32(-(int)e->boxes));
    uint64_t bits = 0;
    for (int k = 0; k < n; k += 8)
        bits |= (uint64_t)aoi_wide_changing(x + k, y + k, _mm256_set1_ps(*in), _mm256_set1_ps(*out), boxes, e, true)
                << k;
    return bits & aoi_lanes_mask(n);
}
#endif

static inline void aoi_lanes_choose(aoi_lanes_borders *rings, aoi_lanes_borders *points) {
    *rings = aoi_lanes_rings;
    *points = aoi_lanes_points;
#if AOI_HAS_AVX2
    if (!aoi_lanes_have_avx2()) return;
    *rings = aoi_wide_rings;
    *points = aoi_wide_points;
#endif
}

#endif
