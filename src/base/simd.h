/* simd.h - questions to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * In two versions, for any processor and for SSE2, which every x86-64 has; both give the same bits.  They read whole
 * lanes: up to seven keys too many.  Wider instructions saved a twentieth of a move and are not used. */
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

/* The first of n numbers that is this one; n if there is none. */
static inline uint32_t aoi_lanes_find(const uint32_t *numbers, uint32_t n, uint32_t one) {
    uint32_t i = 0;
#ifdef __SSE2__
    const __m128i x = _mm_set1_epi32((int)one);
    for (; i + 8 <= n; i += 8) {
        const __m128i *p = (const __m128i *)(const void *)(numbers + i);
        __m128i a = _mm_cmpeq_epi32(_mm_loadu_si128(p), x), b = _mm_cmpeq_epi32(_mm_loadu_si128(p + 1), x);
        int bits = _mm_movemask_epi8(_mm_packs_epi32(a, b));
        if (bits) return i + (uint32_t)aoi_lanes_first((uint64_t)bits) / 2;
    }
#endif
    while (i < n && numbers[i] != one) i++;
    return i;
}

/* The first n bits. */
static inline uint64_t aoi_lanes_mask(int n) {
    return ((uint64_t)1 << n) - 1;
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

#endif
