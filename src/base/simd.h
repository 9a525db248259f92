/* simd.h - vectors of 16 bytes, and tests of consecutive numbers in memory with them.
 *
 *   aoi_i16x8   int16_t      aoi_f32x4   float       aoi_m64x2   a comparison of aoi_f64x2
 *   aoi_i32x4   int32_t      aoi_f64x2   double
 *
 * An operation is a row of a table: for SSE2, which every x86-64 has, for NEON, and for any processor, where x and y
 * are the numbers of one lane, or statements do it; all three give the same bits.  AOI_PORTABLE chooses the last column
 * everywhere.  Sums of integers are modulo 2^16 and 2^32; a comparison gives all ones or 0, that of floats in an
 * aoi_i32x4.  Wider instructions saved a twentieth of a move and are not used. */
#ifndef AOI_SIMD_H
#define AOI_SIMD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/platform.h"

#if defined(__SSE2__) && !defined(AOI_PORTABLE)
#include <emmintrin.h>

typedef __m128i aoi_i16x8, aoi_i32x4;
typedef __m128 aoi_f32x4;
typedef __m128d aoi_f64x2, aoi_m64x2;

#define AOI_LANES(to, lane, name, from, number, sse2, neon, any) AOI_OPERATION(to name(from a, from b), sse2, neon, )
#define AOI_OPERATION(head, sse2, neon, ...)                                                                           \
    static inline head {                                                                                               \
        return sse2;                                                                                                   \
    }
/* One lane in all of them; the number is a constant. */
#define aoi_i16_lane(v, i)                                                                                             \
    _mm_shuffle_epi32((i) < 4 ? _mm_shufflelo_epi16(v, ((i)&3) * 0x55) : _mm_shufflehi_epi16(v, ((i)&3) * 0x55),       \
                      (i) < 4 ? 0x00 : 0xAA)

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(AOI_PORTABLE)
#include <arm_neon.h>

typedef int16x8_t aoi_i16x8;
typedef int32x4_t aoi_i32x4;
typedef float32x4_t aoi_f32x4;
typedef float64x2_t aoi_f64x2;
typedef uint64x2_t aoi_m64x2;

#define AOI_LANES(to, lane, name, from, number, sse2, neon, any) AOI_OPERATION(to name(from a, from b), sse2, neon, )
#define AOI_OPERATION(head, sse2, neon, ...)                                                                           \
    static inline head {                                                                                               \
        return neon;                                                                                                   \
    }
#define aoi_i16_lane(v, i) vdupq_laneq_s16(v, i)

/* Bit i: byte i of eight is not 0. */
static inline uint32_t neon_bits(int16x8_t a) {
    static const uint8_t weight[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddv_u8(vand_u8(vreinterpret_u8_s8(vmovn_s16(a)), vld1_u8(weight)));
}

#else

typedef struct aoi_i16x8 {
    int16_t of[8];
} aoi_i16x8;

typedef struct aoi_i32x4 {
    int32_t of[4];
} aoi_i32x4;

typedef struct aoi_f32x4 {
    float of[4];
} aoi_f32x4;

typedef struct aoi_f64x2 {
    double of[2];
} aoi_f64x2;

typedef struct aoi_m64x2 {
    int64_t of[2];
} aoi_m64x2;

#define AOI_OPERATION(head, sse2, neon, ...)                                                                           \
    static inline head {                                                                                               \
        __VA_ARGS__                                                                                                    \
    }
#define AOI_LANES(to, lane, name, from, number, sse2, neon, any)                                                       \
    static inline to name(from a, from b) {                                                                            \
        to out;                                                                                                        \
        for (size_t i = 0; i < sizeof out.of / sizeof *out.of; i++) {                                                  \
            const number x = a.of[i], y = b.of[i];                                                                     \
            out.of[i] = (lane)(any);                                                                                   \
        }                                                                                                              \
        return out;                                                                                                    \
    }
#define aoi_i16_lane(v, i) aoi_i16_all((v).of[i])

#endif

/* ---- of any form ------------------------------------------------------------------------------------------------- */

/* clang-format off */
/* The same number in all lanes. */
AOI_OPERATION(aoi_i16x8 aoi_i16_all(int v), _mm_set1_epi16((short)v), vdupq_n_s16((int16_t)v),
    const int16_t x = (int16_t)v; return (aoi_i16x8){{x, x, x, x, x, x, x, x}};)
AOI_OPERATION(aoi_i32x4 aoi_i32_all(int32_t v), _mm_set1_epi32(v), vdupq_n_s32(v), return (aoi_i32x4){{v, v, v, v}};)
AOI_OPERATION(aoi_f32x4 aoi_f32_all(float v), _mm_set1_ps(v), vdupq_n_f32(v), return (aoi_f32x4){{v, v, v, v}};)
AOI_OPERATION(aoi_f64x2 aoi_f64_all(double v), _mm_set1_pd(v), vdupq_n_f64(v), return (aoi_f64x2){{v, v}};)
/* x, y, x, y ...: the low 16 bits of each. */
AOI_OPERATION(aoi_i16x8 aoi_i16_pairs(uint32_t x, uint32_t y), _mm_set1_epi32((int32_t)((x & 0xffff) | y << 16)),
    vzip1q_s16(vdupq_n_s16((int16_t)x), vdupq_n_s16((int16_t)y)),
    const int16_t a = (int16_t)x, b = (int16_t)y; return (aoi_i16x8){{a, b, a, b, a, b, a, b}};)
/* Bit i: comparison i; of two vectors, those of the first are the lower bits. */
AOI_OPERATION(uint32_t aoi_i16_bits(aoi_i16x8 low, aoi_i16x8 high),
    (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)), neon_bits(low) | neon_bits(high) << 8, uint32_t bits = 0;
    for (int i = 0; i < 8; i++) bits |= (uint32_t)(low.of[i] & 1) << i | (uint32_t)(high.of[i] & 1) << (8 + i);
    return bits;)
AOI_OPERATION(unsigned aoi_i32_bits(aoi_i32x4 a), (unsigned)_mm_movemask_ps(_mm_castsi128_ps(a)),
    vaddvq_u32(vandq_u32(vreinterpretq_u32_s32(a), vcombine_u32(vcreate_u32(0x200000001), vcreate_u32(0x800000004)))),
    return (unsigned)((a.of[0] & 1) | (a.of[1] & 2) | (a.of[2] & 4) | (a.of[3] & 8));)
AOI_OPERATION(unsigned aoi_m64_bits(aoi_m64x2 a), (unsigned)_mm_movemask_pd(a),
    (unsigned)((vgetq_lane_u64(a, 0) & 1) | (vgetq_lane_u64(a, 1) & 2)),
    return (unsigned)((a.of[0] & 1) | (a.of[1] & 2));)
/* Two times four comparisons as eight. */
AOI_OPERATION(aoi_i16x8 aoi_i32_narrow(aoi_i32x4 low, aoi_i32x4 high), _mm_packs_epi32(low, high),
    vcombine_s16(vmovn_s32(low), vmovn_s32(high)), aoi_i16x8 out;
    for (int i = 0; i < 4; i++) out.of[i] = (int16_t)low.of[i], out.of[4 + i] = (int16_t)high.of[i];
    return out;)
/* As numbers without a sign, n bits lower. */
AOI_OPERATION(aoi_i16x8 aoi_i16_right(aoi_i16x8 a, int n), _mm_srl_epi16(a, _mm_cvtsi32_si128(n)),
    vreinterpretq_s16_u16(vshlq_u16(vreinterpretq_u16_s16(a), vdupq_n_s16((int16_t)-n))),
    for (int i = 0; i < 8; i++) a.of[i] = (int16_t)((uint16_t)a.of[i] >> n);
    return a;)
/* x * x + y * y of the first four, of the last four. */
#define AOI_SQUARES(name, first, sse2, neon) AOI_OPERATION(aoi_i32x4 name(aoi_i16x8 x, aoi_i16x8 y), sse2, neon, \
    aoi_i32x4 out; \
    for (int i = 0; i < 4; i++) { \
        const int a = x.of[first + i], b = y.of[first + i]; \
        out.of[i] = (int32_t)((uint32_t)(a * a) + (uint32_t)(b * b)); \
    } \
    return out;)
AOI_SQUARES(aoi_i16_squares_low, 0, _mm_madd_epi16(_mm_unpacklo_epi16(x, y), _mm_unpacklo_epi16(x, y)),
    vmlal_s16(vmull_s16(vget_low_s16(x), vget_low_s16(x)), vget_low_s16(y), vget_low_s16(y)))
AOI_SQUARES(aoi_i16_squares_high, 4, _mm_madd_epi16(_mm_unpackhi_epi16(x, y), _mm_unpackhi_epi16(x, y)),
    vmlal_high_s16(vmull_high_s16(x, x), y, y))
/* Two numbers from one place, two from another. */
AOI_OPERATION(aoi_f32x4 aoi_f32_load_pairs(const float *p, const float *q),
    _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)p), (const __m64 *)(const void *)q),
    vcombine_f32(vld1_f32(p), vld1_f32(q)), return (aoi_f32x4){{p[0], p[1], q[0], q[1]}};)
/* a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3] */
AOI_OPERATION(aoi_f32x4 aoi_f32_add_pairs(aoi_f32x4 a, aoi_f32x4 b),
    _mm_add_ps(_mm_shuffle_ps(a, b, 0x88), _mm_shuffle_ps(a, b, 0xDD)), vpaddq_f32(a, b),
    return (aoi_f32x4){{a.of[0] + a.of[1], a.of[2] + a.of[3], b.of[0] + b.of[1], b.of[2] + b.of[3]}};)
/* Two and two numbers truncated; they fit. */
AOI_OPERATION(aoi_i32x4 aoi_f64_to_i32(aoi_f64x2 a, aoi_f64x2 b),
    _mm_unpacklo_epi64(_mm_cvttpd_epi32(a), _mm_cvttpd_epi32(b)),
    vcombine_s32(vmovn_s64(vcvtq_s64_f64(a)), vmovn_s64(vcvtq_s64_f64(b))),
    return (aoi_i32x4){{(int32_t)a.of[0], (int32_t)a.of[1], (int32_t)b.of[0], (int32_t)b.of[1]}};)
/* clang-format on */

/* ---- lane by lane ------------------------------------------------------------------------------------------------ */

#define AOI_LOAD(type, name, lane)                                                                                     \
    static inline type name(const lane *p) {                                                                           \
        type v;                                                                                                        \
        memcpy(&v, p, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }
AOI_LOAD(aoi_i16x8, aoi_i16_load, uint16_t)
AOI_LOAD(aoi_i32x4, aoi_i32_load, int32_t)
AOI_LOAD(aoi_f32x4, aoi_f32_load, float)
AOI_LOAD(aoi_f64x2, aoi_f64_load, double)

/* clang-format off */
#define AOI_I16(name, sse2, neon, any) \
    AOI_LANES(aoi_i16x8, int16_t, aoi_i16_##name, aoi_i16x8, int32_t, sse2, neon, any)
AOI_I16(add,   _mm_add_epi16(a, b),   vaddq_s16(a, b),  x + y)
AOI_I16(sub,   _mm_sub_epi16(a, b),   vsubq_s16(a, b),  x - y)
AOI_I16(most,  _mm_max_epi16(a, b),   vmaxq_s16(a, b),  x > y ? x : y)
AOI_I16(least, _mm_min_epi16(a, b),   vminq_s16(a, b),  x < y ? x : y)
AOI_I16(and,   _mm_and_si128(a, b),   vandq_s16(a, b),  x & y)
AOI_I16(or,    _mm_or_si128(a, b),    vorrq_s16(a, b),  x | y)
AOI_I16(xor,   _mm_xor_si128(a, b),   veorq_s16(a, b),  x ^ y)
/* a without b */
AOI_I16(less,  _mm_andnot_si128(b, a), vbicq_s16(a, b), x & ~y)
AOI_I16(above, _mm_cmpgt_epi16(a, b), vreinterpretq_s16_u16(vcgtq_s16(a, b)), -(x > y))
AOI_I16(equal, _mm_cmpeq_epi16(a, b), vreinterpretq_s16_u16(vceqq_s16(a, b)), -(x == y))
/* no more than 2^15 - 1 */
AOI_I16(sum,   _mm_adds_epi16(a, b),  vqaddq_s16(a, b), x + y > INT16_MAX ? INT16_MAX : x + y < INT16_MIN ? INT16_MIN : x + y)
/* the upper half of the product, rounded down */
AOI_I16(high,  _mm_mulhi_epi16(a, b), vuzp2q_s16(vreinterpretq_s16_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                                                 vreinterpretq_s16_s32(vmull_high_s16(a, b))), x * y >> 16)

#define AOI_I32(name, sse2, neon, any) \
    AOI_LANES(aoi_i32x4, int32_t, aoi_i32_##name, aoi_i32x4, int64_t, sse2, neon, any)
AOI_I32(sub,   _mm_sub_epi32(a, b),   vsubq_s32(a, b),  x - y)
AOI_I32(and,   _mm_and_si128(a, b),   vandq_s32(a, b),  x & y)
AOI_I32(or,    _mm_or_si128(a, b),    vorrq_s32(a, b),  x | y)
AOI_I32(above, _mm_cmpgt_epi32(a, b), vreinterpretq_s32_u32(vcgtq_s32(a, b)), -(x > y))
AOI_I32(equal, _mm_cmpeq_epi32(a, b), vreinterpretq_s32_u32(vceqq_s32(a, b)), -(x == y))

#define AOI_F32(name, sse2, neon, any) \
    AOI_LANES(aoi_f32x4, float, aoi_f32_##name, aoi_f32x4, float, sse2, neon, any)
AOI_F32(add,   _mm_add_ps(a, b),      vaddq_f32(a, b),  x + y)
AOI_F32(sub,   _mm_sub_ps(a, b),      vsubq_f32(a, b),  x - y)
AOI_F32(mul,   _mm_mul_ps(a, b),      vmulq_f32(a, b),  x * y)
/* not of NaN, nor of zeros of both signs */
AOI_F32(most,  _mm_max_ps(a, b),      vmaxq_f32(a, b),  x > y ? x : y)
AOI_F32(least, _mm_min_ps(a, b),      vminq_f32(a, b),  x < y ? x : y)

#define AOI_F32_TEST(name, sse2, neon, any) \
    AOI_LANES(aoi_i32x4, int32_t, aoi_f32_##name, aoi_f32x4, float, sse2, neon, any)
AOI_F32_TEST(atmost, _mm_castps_si128(_mm_cmple_ps(a, b)), vreinterpretq_s32_u32(vcleq_f32(a, b)), -(x <= y))
AOI_F32_TEST(above,  _mm_castps_si128(_mm_cmpgt_ps(a, b)), vreinterpretq_s32_u32(vcgtq_f32(a, b)), -(x > y))

#define AOI_F64(name, sse2, neon, any) \
    AOI_LANES(aoi_f64x2, double, aoi_f64_##name, aoi_f64x2, double, sse2, neon, any)
AOI_F64(add,   _mm_add_pd(a, b),      vaddq_f64(a, b),  x + y)
AOI_F64(sub,   _mm_sub_pd(a, b),      vsubq_f64(a, b),  x - y)
AOI_F64(mul,   _mm_mul_pd(a, b),      vmulq_f64(a, b),  x * y)
AOI_F64(most,  _mm_max_pd(a, b),      vmaxq_f64(a, b),  x > y ? x : y)
AOI_F64(apart, _mm_andnot_pd(_mm_set1_pd(-0.0), _mm_sub_pd(a, b)), vabdq_f64(a, b), fabs(x - y))

#define AOI_F64_TEST(name, from, number, sse2, neon, any) \
    AOI_LANES(aoi_m64x2, int64_t, name, from, number, sse2, neon, any)
AOI_F64_TEST(aoi_f64_atmost, aoi_f64x2, double,  _mm_cmple_pd(a, b), vcleq_f64(a, b), -(x <= y))
AOI_F64_TEST(aoi_f64_below,  aoi_f64x2, double,  _mm_cmplt_pd(a, b), vcltq_f64(a, b), -(x < y))
AOI_F64_TEST(aoi_m64_and,    aoi_m64x2, int64_t, _mm_and_pd(a, b),   vandq_u64(a, b), x & y)
/* clang-format on */

static inline aoi_i16x8 aoi_i16_not(aoi_i16x8 a) {
    return aoi_i16_xor(a, aoi_i16_all(-1));
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Bit i: lo <= key[i] <= hi, for eight keys.  They read whole lanes: up to seven keys too many. */
enum { AOI_LANE = 8 };

static inline aoi_i32x4 aoi_lanes_between(aoi_f32x4 v, float lo, float hi) {
    return aoi_i32_and(aoi_f32_atmost(aoi_f32_all(lo), v), aoi_f32_atmost(v, aoi_f32_all(hi)));
}

static inline unsigned aoi_lanes_plain(const float *key, float lo, float hi) {
    return aoi_i32_bits(aoi_lanes_between(aoi_f32_load(key), lo, hi)) |
           aoi_i32_bits(aoi_lanes_between(aoi_f32_load(key + 4), lo, hi)) << 4;
}

/* The same for n keys, of which there are 16 or 56. */
AOI_INLINE uint64_t aoi_lanes_keys(const float *key, int n, float lo, float hi) {
    uint64_t bits = 0;
    for (int i = 0; i + 16 <= n; i += 16) {
        aoi_i32x4 in[4];
        for (int k = 0; k < 4; k++) in[k] = aoi_lanes_between(aoi_f32_load(key + i + 4 * k), lo, hi);
        bits |= (uint64_t)aoi_i16_bits(aoi_i32_narrow(in[0], in[1]), aoi_i32_narrow(in[2], in[3])) << i;
    }
    if (n & 8) bits |= (uint64_t)aoi_lanes_plain(key + n - 8, lo, hi) << (n - 8);
    return bits;
}

/* The same for any number up to 64; bits from the n-th on mean nothing. */
AOI_INLINE uint64_t aoi_lanes_many(const float *key, int n, float lo, float hi) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i += AOI_LANE) bits |= (uint64_t)aoi_lanes_plain(key + i, lo, hi) << i;
    return bits;
}

/* Minimum and maximum of two numbers, as one instruction instead of a branch that is often mispredicted. */
static inline float aoi_lanes_least(float a, float b) {
    return a < b ? a : b;
}

static inline float aoi_lanes_most(float a, float b) {
    return a > b ? a : b;
}

/* The greatest of n numbers, none of which is negative; 0 if n is 0. */
static inline float aoi_lanes_greatest(const float *numbers, uint32_t n) {
    aoi_f32x4 four = aoi_f32_all(0);
    float greatest[4];
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) four = aoi_f32_most(four, aoi_f32_load(numbers + i));
    memcpy(greatest, &four, sizeof greatest);
    for (; i < n; i++) greatest[0] = aoi_lanes_most(greatest[0], numbers[i]);
    return aoi_lanes_most(aoi_lanes_most(greatest[0], greatest[1]), aoi_lanes_most(greatest[2], greatest[3]));
}

/* Squared distances from (x, y) of n places, pairs of numbers, chosen by index in `which`; whole lanes of four. */
static inline void aoi_lanes_distances2(const float *places, const uint32_t *which, uint32_t n, float x, float y,
                                        float *out) {
    const float at[2] = {x, y};
    const aoi_f32x4 from = aoi_f32_load_pairs(at, at);
    for (uint32_t i = 0; i < n; i += 4) {
        aoi_f32x4 d[2];
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t *two = which + i + 2 * k;
            d[k] = aoi_f32_sub(aoi_f32_load_pairs(places + 2 * (size_t)two[0], places + 2 * (size_t)two[1]), from);
        }
        d[0] = aoi_f32_add_pairs(aoi_f32_mul(d[0], d[0]), aoi_f32_mul(d[1], d[1]));
        memcpy(out + i, d, sizeof *d);
    }
}

/* Counts for each of n numbers the steps k < many with outside[k] below it.  Whole lanes of four.
 * True if any lies between inside[k] and outside[k], bounds included, or is infinite. */
static inline bool aoi_lanes_steps(const float *numbers, uint32_t n, const float *inside, const float *outside,
                                   uint32_t many, uint32_t *steps) {
    aoi_i32x4 unsure = aoi_i32_all(0), finite = aoi_i32_all(-1);
    for (uint32_t i = 0; i < n; i += 4) {
        const aoi_f32x4 d = aoi_f32_load(numbers + i);
        aoi_i32x4 passed = aoi_i32_all(0);
        finite = aoi_i32_and(finite, aoi_f32_atmost(d, aoi_f32_all(FLT_MAX)));
        for (uint32_t k = 0; k < many; k++) {
            passed = aoi_i32_sub(passed, aoi_f32_above(d, aoi_f32_all(outside[k])));
            unsure = aoi_i32_or(unsure, aoi_lanes_between(d, inside[k], outside[k]));
        }
        memcpy(steps + i, &passed, sizeof passed);
    }
    return aoi_i32_bits(unsure) != 0 || aoi_i32_bits(finite) != 15;
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

/* The index of the first of n numbers that is this one; n if there is none. */
static inline uint32_t aoi_lanes_find(const uint32_t *numbers, uint32_t n, uint32_t one) {
    const aoi_i32x4 all = aoi_i32_all((int32_t)one);
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        aoi_i32x4 equal[4];
        for (int k = 0; k < 4; k++) equal[k] = aoi_i32_equal(aoi_i32_load((const int32_t *)numbers + i + 4 * k), all);
        uint32_t bits = aoi_i16_bits(aoi_i32_narrow(equal[0], equal[1]), aoi_i32_narrow(equal[2], equal[3]));
        if (bits) return i + (uint32_t)aoi_lanes_first(bits);
    }
    while (i < n && numbers[i] != one) i++;
    return i;
}

/* The first n bits. */
static inline uint64_t aoi_lanes_mask(int n) {
    return ((uint64_t)1 << n) - 1;
}

/* ---- two axes at once -------------------------------------------------------------------------------------------- */

/* Whether lo <= p <= hi on both. */
static inline bool aoi_lanes_both(aoi_f64x2 lo, aoi_f64x2 p, aoi_f64x2 hi) {
    return aoi_m64_bits(aoi_m64_and(aoi_f64_atmost(lo, p), aoi_f64_atmost(p, hi))) == 3;
}

/* Bit a: t[a] < w[a] - reach[a]; bit 4 + a: w[a] + reach[a] < t[a]; for two axes. */
static inline unsigned aoi_lanes_outside(const double *w, const double *t, const double *reach) {
    const aoi_f64x2 at = aoi_f64_load(w), p = aoi_f64_load(t), r = aoi_f64_load(reach);
    return aoi_m64_bits(aoi_f64_below(p, aoi_f64_sub(at, r))) | aoi_m64_bits(aoi_f64_below(aoi_f64_add(at, r), p)) << 4;
}

/* On two axes: w[a] - r <= t[a] && t[a] <= w[a] + r. */
static inline bool aoi_lanes_in_square(const double *w, const double *t, double r) {
    const aoi_f64x2 at = aoi_f64_load(w), half = aoi_f64_all(r);
    return aoi_lanes_both(aoi_f64_sub(at, half), aoi_f64_load(t), aoi_f64_add(at, half));
}

/* On two axes: lo[a] - r[a] <= p[a] && p[a] <= hi[a] + r[a]. */
static inline bool aoi_lanes_in_reach(const double *lo, const double *hi, const double *r, const double *p) {
    const aoi_f64x2 reach = aoi_f64_load(r);
    return aoi_lanes_both(aoi_f64_sub(aoi_f64_load(lo), reach), aoi_f64_load(p), aoi_f64_add(aoi_f64_load(hi), reach));
}

/* On two axes: p[a] - r < lo[a] && hi[a] < p[a] + r. */
static inline bool aoi_lanes_holds(const double *p, double r, const double *lo, const double *hi) {
    const aoi_f64x2 at = aoi_f64_load(p), reach = aoi_f64_all(r);
    return aoi_m64_bits(aoi_m64_and(aoi_f64_below(aoi_f64_sub(at, reach), aoi_f64_load(lo)),
                                    aoi_f64_below(aoi_f64_load(hi), aoi_f64_add(at, reach)))) == 3;
}

/* Bit i: the line from (x, y) to (x + u, y + v) and segment i of four, x and y of one end and of the other, may cross: of
 * neither are both ends on one side of the other, by cross products of more than `within`. */
AOI_INLINE unsigned aoi_lanes_cross(const float (*ends)[4], float x, float y, float u, float v, float within) {
    const aoi_f32x4 wx = aoi_f32_all(x), wy = aoi_f32_all(y), dx = aoi_f32_all(u), dy = aoi_f32_all(v);
    const aoi_f32x4 most = aoi_f32_all(within), least = aoi_f32_all(-within);
    const aoi_f32x4 ax = aoi_f32_sub(aoi_f32_load(ends[0]), wx), ay = aoi_f32_sub(aoi_f32_load(ends[1]), wy);
    const aoi_f32x4 bx = aoi_f32_sub(aoi_f32_load(ends[2]), wx), by = aoi_f32_sub(aoi_f32_load(ends[3]), wy);
    const aoi_f32x4 a = aoi_f32_sub(aoi_f32_mul(dx, ay), aoi_f32_mul(dy, ax));
    const aoi_f32x4 b = aoi_f32_sub(aoi_f32_mul(dx, by), aoi_f32_mul(dy, bx));
    const aoi_f32x4 w = aoi_f32_sub(aoi_f32_mul(ax, by), aoi_f32_mul(ay, bx)); /* cross(b - a, w - a) */
    const aoi_f32x4 t = aoi_f32_add(w, aoi_f32_sub(a, b));                     /* cross(b - a, t - a) */
    const aoi_f32x4 above = aoi_f32_most(aoi_f32_least(a, b), aoi_f32_least(w, t));
    const aoi_f32x4 below = aoi_f32_least(aoi_f32_most(a, b), aoi_f32_most(w, t));
    return ~aoi_i32_bits(aoi_i32_or(aoi_f32_above(above, most), aoi_f32_above(least, below))) & 15;
}

static inline aoi_f32x4 aoi_f32_size(aoi_f32x4 a) {
    return aoi_f32_most(a, aoi_f32_sub(aoi_f32_all(0), a));
}

/* Segments as x and y of their middles, x and y of their directions, of length 1, and half of their lengths: those from which
 * (x, y) is no farther than `room`, along and across. */
static inline aoi_i32x4 aoi_f32_beside(const aoi_f32x4 segment[5], aoi_f32x4 x, aoi_f32x4 y, aoi_f32x4 room) {
    const aoi_f32x4 dx = aoi_f32_sub(x, segment[0]), dy = aoi_f32_sub(y, segment[1]);
    const aoi_f32x4 along = aoi_f32_add(aoi_f32_mul(dx, segment[2]), aoi_f32_mul(dy, segment[3]));
    const aoi_f32x4 across = aoi_f32_sub(aoi_f32_mul(dx, segment[3]), aoi_f32_mul(dy, segment[2]));
    return aoi_i32_and(aoi_f32_atmost(aoi_f32_size(across), room),
                       aoi_f32_atmost(aoi_f32_size(along), aoi_f32_add(segment[4], room)));
}

/* (at[a] - origin[a]) * scale + 2^30 of two axes, rounded down but for a part of 2^22; true if both are positive and below
 * 2^31: else they mean nothing. */
static inline bool aoi_lanes_fixed(const double *at, const double *origin, double scale, int32_t out[2]) {
    const aoi_f64x2 k = aoi_f64_mul(aoi_f64_sub(aoi_f64_load(at), aoi_f64_load(origin)), aoi_f64_all(scale));
    const aoi_f64x2 fixed = aoi_f64_add(k, aoi_f64_all(0x1p30));
    if (!aoi_lanes_both(aoi_f64_all(0), fixed, aoi_f64_all(0x1.fffffffffffffp30))) return false;
    const aoi_i32x4 v = aoi_f64_to_i32(fixed, fixed);
    memcpy(out, &v, sizeof v / 2);
    return true;
}

#endif
