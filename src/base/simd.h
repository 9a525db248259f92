/* simd.h - questions to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * Each in two versions: for any processor, and for SSE2, which every x86-64 has.  Kernels for AVX2, to be chosen when the
 * program runs, were measured: they gain 4 to 7 % of a move, and are not worth a second copy of every loop.  They read whole
 * lanes: up to seven keys too many. */
#ifndef AOI_LANES_H
#define AOI_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/platform.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Bit i: lo <= key[i] <= hi, for eight keys. */
enum { AOI_LANE = 8 };
typedef unsigned (*aoi_lanes)(const float *key, float lo, float hi);

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

/* The same for sixteen keys. */
AOI_INLINE uint64_t aoi_lanes_sixteen(const float *key, float lo, float hi) {
#ifdef __SSE2__
    const __m128 low = _mm_set1_ps(lo), high = _mm_set1_ps(hi);
    __m128i in[4];
    for (int i = 0; i < 4; i++) {
        const __m128 k = _mm_loadu_ps(key + 4 * i);
        in[i] = _mm_castps_si128(_mm_and_ps(_mm_cmpge_ps(k, low), _mm_cmple_ps(k, high)));
    }
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(in[0], in[1]), _mm_packs_epi32(in[2], in[3])));
#else
    return aoi_lanes_plain(key, lo, hi) | aoi_lanes_plain(key + AOI_LANE, lo, hi) << AOI_LANE;
#endif
}

/* The same for any number up to 64; bits from the n-th on mean nothing. */
AOI_INLINE uint64_t aoi_lanes_many(const float *key, int n, float lo, float hi, aoi_lanes between) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i += AOI_LANE) bits |= (uint64_t)between(key + i, lo, hi) << i;
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

/* ---- borders around points ----------------------------------------------------------------------------------------
 *
 *     outer border     d0, d1: distances, squared, from a centre to the two ends of a move, by the centre's metric:
 *    +-----------+             Euclid's (circles), or the greater of the two axes (boxes)
 *    |  inner    |
 *    | +-----+   |     A pair stays as it is if both ends are within the inner border, or both beyond the outer one, or
 *    | |  .  |   |     both surely between them, unless the inner border is negative.  The borders leave room for rounding.
 *    | +-----+   |     NaN: it may change. */
enum { AOI_LANES_BORDER = 4 };          /* compared at once */
#define AOI_LANES_BETWEEN (1 + 0x1p-8f) /* how far beyond a border, squared, a distance is surely beyond it */

typedef struct aoi_lanes_ends {
    float x[2], y[2];
    float scale[2]; /* of the axes, for points: makes a rectangle a square */
    float most_in;  /* a limit to inner borders; 0: there are none */
    bool boxes;     /* measure all as boxes */
} aoi_lanes_ends;

#ifdef __SSE2__
/* box: all bits set where the metric is that of a box.  Bits of those that may change. */
AOI_INLINE unsigned aoi_lanes_changing(const float *x, const float *y, __m128 in, __m128 out, __m128 box,
                                       const aoi_lanes_ends *e, bool scaled) {
    const __m128 px = _mm_loadu_ps(x), py = _mm_loadu_ps(y), sx = _mm_set1_ps(e->scale[0]),
                 sy = _mm_set1_ps(e->scale[1]);
    __m128 d[2];
    for (int i = 0; i < 2; i++) {
        __m128 dx = _mm_sub_ps(px, _mm_set1_ps(e->x[i])), dy = _mm_sub_ps(py, _mm_set1_ps(e->y[i]));
        if (scaled) dx = _mm_mul_ps(dx, sx), dy = _mm_mul_ps(dy, sy);
        dx = _mm_mul_ps(dx, dx);
        dy = _mm_mul_ps(dy, dy);
        d[i] = _mm_or_ps(_mm_and_ps(box, _mm_max_ps(dx, dy)), _mm_andnot_ps(box, _mm_add_ps(dx, dy)));
    }
    const __m128 lo = _mm_min_ps(d[0], d[1]), hi = _mm_max_ps(d[0], d[1]), wide = _mm_set1_ps(AOI_LANES_BETWEEN);
    const __m128 limit = _mm_set1_ps(e->most_in), inner = _mm_min_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), in), limit);
    __m128 same = _mm_and_ps(_mm_cmpgt_ps(lo, _mm_mul_ps(inner, wide)), _mm_cmple_ps(_mm_mul_ps(hi, wide), out));
    same = _mm_and_ps(same, _mm_cmpgt_ps(_mm_min_ps(in, limit), _mm_setzero_ps()));
    same = _mm_or_ps(same, _mm_or_ps(_mm_cmplt_ps(hi, inner), _mm_cmpgt_ps(lo, out)));
    return (unsigned)_mm_movemask_ps(same) ^ 15U;
}

/* Four centres with an outer border each, which is negative if the metric is that of a box. */
AOI_INLINE unsigned aoi_lanes_rings(const float *x, const float *y, const float *in, const float *out,
                                    const aoi_lanes_ends *e) {
    const __m128 sign = _mm_set1_ps(-0.0f), o = _mm_loadu_ps(out);
    const __m128 box = e->boxes ? _mm_cmpeq_ps(sign, sign) : _mm_cmplt_ps(o, _mm_setzero_ps());
    return aoi_lanes_changing(x, y, _mm_loadu_ps(in), _mm_andnot_ps(sign, o), box, e, false);
}

/* Four centres with the same borders. */
AOI_INLINE unsigned aoi_lanes_points(const float *x, const float *y, float in, float out, const aoi_lanes_ends *e) {
    const __m128 zero = _mm_setzero_ps(), box = e->boxes ? _mm_cmpeq_ps(zero, zero) : zero;
    return aoi_lanes_changing(x, y, _mm_set1_ps(in), _mm_set1_ps(out), box, e, true);
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

static inline unsigned aoi_lanes_rings(const float *x, const float *y, const float *in, const float *out,
                                       const aoi_lanes_ends *e) {
    unsigned bits = 0;
    for (int i = 0; i < AOI_LANES_BORDER; i++) {
        float most = out[i] < 0 ? -out[i] : out[i];
        bits |= aoi_lanes_changes(x[i], y[i], in[i], most, e->boxes || out[i] < 0, e, false) << i;
    }
    return bits;
}

static inline unsigned aoi_lanes_points(const float *x, const float *y, float in, float out, const aoi_lanes_ends *e) {
    unsigned bits = 0;
    for (int i = 0; i < AOI_LANES_BORDER; i++) bits |= aoi_lanes_changes(x[i], y[i], in, out, e->boxes, e, true) << i;
    return bits;
}
#endif

#endif
