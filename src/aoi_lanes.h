/* aoi_lanes.h - a question to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * In versions: for any processor, two at a time where the compiler can count on SSE2, as on every x86-64; and four at a
 * time for AVX2, which must be asked for (aoi_scan.h does the same).  They read whole lanes: up to three keys too many. */
#ifndef AOI_LANES_H
#define AOI_LANES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define AOI_HAS_AVX2 1
#else
#define AOI_HAS_AVX2 0
#endif

/* For a function that is to be compiled anew wherever it is called. */
#ifdef __GNUC__
#define AOI_INLINE static inline __attribute__((always_inline))
#else
#define AOI_INLINE static inline
#endif

/* Bit i: lo <= key[i] <= hi, for four keys. */
typedef unsigned (*aoi_lanes)(const double *key, double lo, double hi);

static inline unsigned aoi_lanes_plain(const double *key, double lo, double hi) {
#ifdef __SSE2__
    const __m128d low = _mm_set1_pd(lo), high = _mm_set1_pd(hi), a = _mm_loadu_pd(key), b = _mm_loadu_pd(key + 2);
    return (unsigned)_mm_movemask_pd(_mm_and_pd(_mm_cmpge_pd(a, low), _mm_cmple_pd(a, high))) |
           (unsigned)_mm_movemask_pd(_mm_and_pd(_mm_cmpge_pd(b, low), _mm_cmple_pd(b, high))) << 2;
#else
    unsigned bits = 0;
    for (int i = 0; i < 4; i++) bits |= (unsigned)(lo <= key[i] && key[i] <= hi) << i;
    return bits;
#endif
}

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static inline unsigned aoi_lanes_avx2(const double *key, double lo, double hi) {
    const __m256d low = _mm256_set1_pd(lo), high = _mm256_set1_pd(hi), k = _mm256_loadu_pd(key);
    return (unsigned)_mm256_movemask_pd(
        _mm256_and_pd(_mm256_cmp_pd(k, low, _CMP_GE_OQ), _mm256_cmp_pd(k, high, _CMP_LE_OQ)));
}
#endif

/* The same for twelve, for forty; for any number up to 64, where bits from the n-th on mean nothing. */
AOI_INLINE uint64_t aoi_lanes_twelve(const double *key, double lo, double hi, aoi_lanes between) {
    return (uint64_t)between(key, lo, hi) | between(key + 4, lo, hi) << 4 | between(key + 8, lo, hi) << 8;
}

AOI_INLINE uint64_t aoi_lanes_forty(const double *key, double lo, double hi, aoi_lanes between) {
    return aoi_lanes_twelve(key, lo, hi, between) | aoi_lanes_twelve(key + 12, lo, hi, between) << 12 |
           aoi_lanes_twelve(key + 24, lo, hi, between) << 24 | (uint64_t)between(key + 36, lo, hi) << 36;
}

AOI_INLINE uint64_t aoi_lanes_many(const double *key, int n, double lo, double hi, aoi_lanes between) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i += 4) bits |= (uint64_t)between(key + i, lo, hi) << i;
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
