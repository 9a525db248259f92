/* simd.h - questions to neighbours in memory, several at a time: which of these keys lie between two?
 *
 * In two versions, for any processor and for SSE2, which every x86-64 has; both give the same bits.  They read whole
 * lanes: up to seven keys too many.  Wider instructions saved a twentieth of a move and are not used. */
#ifndef AOI_SIMD_H
#define AOI_SIMD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/platform.h"

#ifdef __SSE2__
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
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

/* The greatest of n numbers of which none is negative; 0 of none. */
static inline float aoi_lanes_greatest(const float *numbers, uint32_t n) {
    float greatest = 0;
    uint32_t i = 0;
#ifdef __SSE2__
    __m128 four = _mm_setzero_ps();
    for (; i + 4 <= n; i += 4) four = _mm_max_ps(four, _mm_loadu_ps(numbers + i));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    greatest = _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
#endif
    for (; i < n; i++) greatest = aoi_lanes_most(greatest, numbers[i]);
    return greatest;
}

/* Squared distances from (x, y) of n places, each two numbers in a row, of those `which` says; whole lanes of four. */
static inline void aoi_lanes_distances2(const float *places, const uint32_t *which, uint32_t n, float x, float y,
                                        float *out) {
    for (uint32_t i = 0; i < n; i += 4) {
#ifdef __SSE2__
        const __m128 from = _mm_setr_ps(x, y, x, y);
        const __m64 *p[4];
        for (uint32_t k = 0; k < 4; k++) p[k] = (const __m64 *)(const void *)(places + 2 * (size_t)which[i + k]);
        __m128 da = _mm_loadh_pi(_mm_loadl_pi(from, p[0]), p[1]), db = _mm_loadh_pi(_mm_loadl_pi(from, p[2]), p[3]);
        da = _mm_sub_ps(da, from);
        db = _mm_sub_ps(db, from);
        da = _mm_mul_ps(da, da);
        db = _mm_mul_ps(db, db);
        _mm_storeu_ps(out + i, _mm_add_ps(_mm_shuffle_ps(da, db, 0x88), _mm_shuffle_ps(da, db, 0xDD)));
#else
        for (uint32_t k = i; k < i + 4; k++) {
            float dx = places[2 * (size_t)which[k]] - x, dy = places[2 * (size_t)which[k] + 1] - y;
            out[k] = dx * dx + dy * dy;
        }
#endif
    }
}

/* Steps of a stair that n numbers have passed: of those up to `many` they are above outside[k].  Whole lanes of four.
 * True if any lies between inside[k] and outside[k], bounds included, or is infinite. */
static inline bool aoi_lanes_steps(const float *numbers, uint32_t n, const float *inside, const float *outside,
                                   uint32_t many, uint32_t *steps) {
#ifdef __SSE2__
    __m128i doubt = _mm_setzero_si128();
    for (uint32_t i = 0; i < n; i += 4) {
        const __m128 d = _mm_loadu_ps(numbers + i);
        __m128i passed = _mm_setzero_si128();
        doubt = _mm_or_si128(doubt, _mm_castps_si128(_mm_cmpnle_ps(d, _mm_set1_ps(FLT_MAX))));
        for (uint32_t k = 0; k < many; k++) {
            const __m128 beyond = _mm_cmpgt_ps(d, _mm_set1_ps(outside[k]));
            const __m128 above = _mm_andnot_ps(beyond, _mm_cmpge_ps(d, _mm_set1_ps(inside[k])));
            passed = _mm_sub_epi32(passed, _mm_castps_si128(beyond));
            doubt = _mm_or_si128(doubt, _mm_castps_si128(above));
        }
        _mm_storeu_si128((__m128i *)(void *)(steps + i), passed);
    }
    return _mm_movemask_epi8(doubt) != 0;
#else
    bool doubt = false;
    for (uint32_t i = 0; i < n; i++) {
        steps[i] = 0;
        doubt |= !(numbers[i] <= FLT_MAX);
        for (uint32_t k = 0; k < many; k++) {
            steps[i] += numbers[i] > outside[k];
            doubt |= numbers[i] >= inside[k] && numbers[i] <= outside[k];
        }
    }
    return doubt;
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

/* The first of n numbers, from the i-th on, that is this one; n if there is none. */
static inline uint32_t aoi_lanes_find(const uint16_t *numbers, uint32_t i, uint32_t n, uint16_t one) {
#ifdef __SSE2__
    const __m128i x = _mm_set1_epi16((short)one);
    for (; i + 16 <= n; i += 16) {
        const __m128i *p = (const __m128i *)(const void *)(numbers + i);
        __m128i a = _mm_cmpeq_epi16(_mm_loadu_si128(p), x), b = _mm_cmpeq_epi16(_mm_loadu_si128(p + 1), x);
        unsigned bits = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(a, b));
        if (bits) return i + (uint32_t)aoi_lanes_first(bits);
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

/* On two axes: w[a] - r <= t[a] && t[a] <= w[a] + r. */
static inline bool aoi_lanes_in_square(const double *w, const double *t, double r) {
#ifdef __SSE2__
    const __m128d at = _mm_loadu_pd(w), p = _mm_loadu_pd(t), half = _mm_set1_pd(r);
    return _mm_movemask_pd(_mm_and_pd(_mm_cmple_pd(_mm_sub_pd(at, half), p), _mm_cmple_pd(p, _mm_add_pd(at, half)))) ==
           3;
#else
    return (w[0] - r <= t[0]) & (t[0] <= w[0] + r) & (w[1] - r <= t[1]) & (t[1] <= w[1] + r);
#endif
}

/* On two axes: lo[a] - r[a] <= p[a] && p[a] <= hi[a] + r[a]. */
static inline bool aoi_lanes_in_reach(const double *lo, const double *hi, const double *r, const double *p) {
#ifdef __SSE2__
    const __m128d at = _mm_loadu_pd(p), reach = _mm_loadu_pd(r);
    return _mm_movemask_pd(_mm_and_pd(_mm_cmple_pd(_mm_sub_pd(_mm_loadu_pd(lo), reach), at),
                                      _mm_cmple_pd(at, _mm_add_pd(_mm_loadu_pd(hi), reach)))) == 3;
#else
    return (lo[0] - r[0] <= p[0]) & (p[0] <= hi[0] + r[0]) & (lo[1] - r[1] <= p[1]) & (p[1] <= hi[1] + r[1]);
#endif
}

/* On two axes: p[a] - r < lo[a] && hi[a] < p[a] + r. */
static inline bool aoi_lanes_holds(const double *p, double r, const double *lo, const double *hi) {
#ifdef __SSE2__
    const __m128d at = _mm_loadu_pd(p), reach = _mm_set1_pd(r);
    return _mm_movemask_pd(_mm_and_pd(_mm_cmplt_pd(_mm_sub_pd(at, reach), _mm_loadu_pd(lo)),
                                      _mm_cmplt_pd(_mm_loadu_pd(hi), _mm_add_pd(at, reach)))) == 3;
#else
    return (p[0] - r < lo[0]) & (hi[0] < p[0] + r) & (p[1] - r < lo[1]) & (hi[1] < p[1] + r);
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

/* Bit i: the line, x and y of one end and of the other, and segment i of four, x and y of one end and of the other, may
 * cross: of neither are both ends on one side of the other, by cross products of more than `within`. */
static inline unsigned aoi_lanes_cross(const float (*ends)[4], const float *line, float within) {
#ifdef __SSE2__
    const __m128 wx = _mm_set1_ps(line[0]), wy = _mm_set1_ps(line[1]), dx = _mm_set1_ps(line[2] - line[0]),
                 dy = _mm_set1_ps(line[3] - line[1]), most = _mm_set1_ps(within), least = _mm_set1_ps(-within);
    const __m128 ax = _mm_sub_ps(_mm_loadu_ps(ends[0]), wx), ay = _mm_sub_ps(_mm_loadu_ps(ends[1]), wy);
    const __m128 bx = _mm_sub_ps(_mm_loadu_ps(ends[2]), wx), by = _mm_sub_ps(_mm_loadu_ps(ends[3]), wy);
    const __m128 a = _mm_sub_ps(_mm_mul_ps(dx, ay), _mm_mul_ps(dy, ax));
    const __m128 b = _mm_sub_ps(_mm_mul_ps(dx, by), _mm_mul_ps(dy, bx));
    const __m128 w = _mm_sub_ps(_mm_mul_ps(ax, by), _mm_mul_ps(ay, bx)); /* cross(b - a, w - a) */
    const __m128 t = _mm_add_ps(w, _mm_sub_ps(a, b));                    /* cross(b - a, t - a) */
    const __m128 above = _mm_or_ps(_mm_cmpgt_ps(_mm_min_ps(a, b), most), _mm_cmpgt_ps(_mm_min_ps(w, t), most));
    const __m128 below = _mm_or_ps(_mm_cmplt_ps(_mm_max_ps(a, b), least), _mm_cmplt_ps(_mm_max_ps(w, t), least));
    return ~(unsigned)_mm_movemask_ps(_mm_or_ps(above, below)) & 15;
#else
    unsigned bits = 0;
    for (int i = 0; i < 4; i++) {
        float dx = line[2] - line[0], dy = line[3] - line[1], ax = ends[0][i] - line[0], ay = ends[1][i] - line[1];
        float bx = ends[2][i] - line[0], by = ends[3][i] - line[1];
        float a = dx * ay - dy * ax, b = dx * by - dy * bx, w = ax * by - ay * bx, t = w + (a - b);
        bool apart = (a > within && b > within) || (a < -within && b < -within) || (w > within && t > within) ||
                     (w < -within && t < -within);
        bits |= (unsigned)!apart << i;
    }
    return bits;
#endif
}

/* ---- eight numbers of 16 bits ---------------------------------------------------------------------------------------- */

/* Each operation is on all eight.  Sums and differences are modulo 2^16; a comparison gives all ones, or 0. */
#ifdef __SSE2__

typedef __m128i aoi_i16x8;

#define AOI_I16_UNARY(name, expression)                                                                                \
    static inline aoi_i16x8 aoi_i16_##name(aoi_i16x8 a) {                                                              \
        return expression;                                                                                             \
    }
#define AOI_I16_BINARY(name, expression)                                                                               \
    static inline aoi_i16x8 aoi_i16_##name(aoi_i16x8 a, aoi_i16x8 b) {                                                 \
        return expression;                                                                                             \
    }

static inline aoi_i16x8 aoi_i16_load(const uint16_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline aoi_i16x8 aoi_i16_all(int value) {
    return _mm_set1_epi16((short)value);
}

AOI_I16_BINARY(add, _mm_add_epi16(a, b))
AOI_I16_BINARY(sub, _mm_sub_epi16(a, b))
AOI_I16_BINARY(most, _mm_max_epi16(a, b))
AOI_I16_BINARY(least, _mm_min_epi16(a, b))
AOI_I16_BINARY(above, _mm_cmpgt_epi16(a, b))
AOI_I16_BINARY(and, _mm_and_si128(a, b))
AOI_I16_BINARY(or, _mm_or_si128(a, b))
AOI_I16_BINARY(xor, _mm_xor_si128(a, b))
AOI_I16_BINARY(sum, _mm_adds_epi16(a, b))   /* no more than 2^15 - 1 */
AOI_I16_BINARY(high, _mm_mulhi_epi16(a, b)) /* the upper half of the product, rounded down */
AOI_I16_UNARY(not, _mm_xor_si128(a, _mm_set1_epi16(-1)))

/* Bit i: of comparison i, of two times eight. */
static inline uint32_t aoi_i16_bits(aoi_i16x8 low, aoi_i16x8 high) {
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

typedef int16x8_t aoi_i16x8;

#define AOI_I16_UNARY(name, expression)                                                                                \
    static inline aoi_i16x8 aoi_i16_##name(aoi_i16x8 a) {                                                              \
        return expression;                                                                                             \
    }
#define AOI_I16_BINARY(name, expression)                                                                               \
    static inline aoi_i16x8 aoi_i16_##name(aoi_i16x8 a, aoi_i16x8 b) {                                                 \
        return expression;                                                                                             \
    }

static inline aoi_i16x8 aoi_i16_load(const uint16_t *p) {
    return vreinterpretq_s16_u16(vld1q_u16(p));
}

static inline aoi_i16x8 aoi_i16_all(int value) {
    return vdupq_n_s16((int16_t)value);
}

AOI_I16_BINARY(add, vaddq_s16(a, b))
AOI_I16_BINARY(sub, vsubq_s16(a, b))
AOI_I16_BINARY(most, vmaxq_s16(a, b))
AOI_I16_BINARY(least, vminq_s16(a, b))
AOI_I16_BINARY(above, vreinterpretq_s16_u16(vcgtq_s16(a, b)))
AOI_I16_BINARY(and, vandq_s16(a, b))
AOI_I16_BINARY(or, vorrq_s16(a, b))
AOI_I16_BINARY(xor, veorq_s16(a, b))
AOI_I16_BINARY(sum, vqaddq_s16(a, b))
AOI_I16_BINARY(high, vuzp2q_s16(vreinterpretq_s16_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                                vreinterpretq_s16_s32(vmull_high_s16(a, b))))
AOI_I16_UNARY(not, vmvnq_s16(a))

static inline uint32_t aoi_i16_bits(aoi_i16x8 low, aoi_i16x8 high) {
    static const uint8_t weight[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    int8x16_t all = vcombine_s8(vmovn_s16(low), vmovn_s16(high));
    uint8x16_t bits = vandq_u8(vreinterpretq_u8_s8(all), vld1q_u8(weight));
    return vaddv_u8(vget_low_u8(bits)) | (uint32_t)vaddv_u8(vget_high_u8(bits)) << 8;
}

#else

typedef struct aoi_i16x8 {
    int16_t of[8];
} aoi_i16x8;

/* With x and y, a number of each. */
#define AOI_I16_BINARY(name, expression)                                                                               \
    static inline aoi_i16x8 aoi_i16_##name(aoi_i16x8 a, aoi_i16x8 b) {                                                 \
        for (int i = 0; i < 8; i++) {                                                                                  \
            int32_t x = a.of[i], y = b.of[i];                                                                          \
            a.of[i] = (int16_t)(uint16_t)(expression);                                                                 \
        }                                                                                                              \
        return a;                                                                                                      \
    }

static inline aoi_i16x8 aoi_i16_load(const uint16_t *p) {
    aoi_i16x8 a;
    for (int i = 0; i < 8; i++) a.of[i] = (int16_t)p[i];
    return a;
}

static inline aoi_i16x8 aoi_i16_all(int value) {
    aoi_i16x8 a;
    for (int i = 0; i < 8; i++) a.of[i] = (int16_t)(uint16_t)value;
    return a;
}

AOI_I16_BINARY(add, x + y)
AOI_I16_BINARY(sub, x - y)
AOI_I16_BINARY(most, x > y ? x : y)
AOI_I16_BINARY(least, x < y ? x : y)
AOI_I16_BINARY(above, -(x > y))
AOI_I16_BINARY(and, x &y)
AOI_I16_BINARY(or, x | y)
AOI_I16_BINARY(xor, x ^ y)
AOI_I16_BINARY(sum, x + y > INT16_MAX ? INT16_MAX : x + y < INT16_MIN ? INT16_MIN : x + y)
AOI_I16_BINARY(high, x *y >> 16)

static inline aoi_i16x8 aoi_i16_not(aoi_i16x8 a) {
    return aoi_i16_xor(a, aoi_i16_all(-1));
}

static inline uint32_t aoi_i16_bits(aoi_i16x8 low, aoi_i16x8 high) {
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) bits |= (uint32_t)(low.of[i] & 1) << i | (uint32_t)(high.of[i] & 1) << (8 + i);
    return bits;
}

#endif

/* (at[a] - origin[a]) * scale + 2^30 of two axes, rounded down but for a part of 2^22; true if both are positive and below
 * 2^31: else they mean nothing. */
static inline bool aoi_lanes_fixed(const double *at, const double *origin, double scale, int32_t out[2]) {
#ifdef __SSE2__
    const __m128d k = _mm_mul_pd(_mm_sub_pd(_mm_loadu_pd(at), _mm_loadu_pd(origin)), _mm_set1_pd(scale));
    const __m128i fixed = _mm_cvttpd_epi32(_mm_add_pd(k, _mm_set1_pd(0x1p30))); /* INT32_MIN where it does not fit */
    _mm_storel_epi64((__m128i *)(void *)out, fixed);
    return !(_mm_movemask_ps(_mm_castsi128_ps(fixed)) & 3);
#else
    for (int a = 0; a < 2; a++) {
        double k = (at[a] - origin[a]) * scale + 0x1p30;
        if (!(k >= 0 && k < 0x1p31)) return false;
        out[a] = (int32_t)k;
    }
    return true;
#endif
}

#endif
