/* simd.h - a question to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * In versions: for any processor, four at a time where the compiler can count on SSE2, as on every x86-64; and eight at a
 * time for AVX2, which must be asked for (ring_scan.h does the same).  They read whole lanes: up to seven keys too many. */
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
#else
#define AOI_HAS_AVX2 0
#endif

/* Whether this processor has it. */
static inline bool aoi_lanes_avx2_here(void) {
#if AOI_HAS_AVX2
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

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

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static inline unsigned aoi_lanes_avx2(const float *key, float lo, float hi) {
    const __m256 low = _mm256_set1_ps(lo), high = _mm256_set1_ps(hi), k = _mm256_loadu_ps(key);
    return (unsigned)_mm256_movemask_ps(
        _mm256_and_ps(_mm256_cmp_ps(k, low, _CMP_GE_OQ), _mm256_cmp_ps(k, high, _CMP_LE_OQ)));
}
#endif

/* The same for any number up to 64; bits from the n-th on mean nothing. */
AOI_INLINE uint64_t aoi_lanes_many(const float *key, int n, float lo, float hi, aoi_lanes between) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i += AOI_LANE) bits |= (uint64_t)between(key + i, lo, hi) << i;
    return bits;
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

#endif
