/* Vectors against numbers one by one, at the ends of their ranges and at random. */
#include "base/simd.h"

#include "expect.h"

enum { ROUNDS = 20000 };

static int16_t random_i16(void) {
    static const int16_t edges[] = {0, 1, -1, INT16_MAX, INT16_MIN, INT16_MAX - 1, INT16_MIN + 1, 0x4000};
    return random_below(3) ? (int16_t)(uint16_t)random_below(0x10000) : edges[random_below(8)];
}

static int32_t random_i32(void) {
    static const int32_t edges[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1, 0x40000000};
    return random_below(3) ? (int32_t)random_below(UINT32_MAX) : edges[random_below(8)];
}

/* Whole numbers and halves, so that many are equal. */
static double random_number(void) {
    return ((double)random_below(41) - 20) / 2;
}

typedef struct pair16 {
    int16_t a[8], b[8];
} pair16;

static aoi_i16x8 load(const int16_t *p) {
    return aoi_i16_load((const uint16_t *)p);
}

static void is(aoi_i16x8 v, int lane, int32_t expected) {
    int16_t out[8];
    memcpy(out, &v, sizeof out);
    EXPECT(out[lane] == (int16_t)expected);
}

static void is32(aoi_i32x4 v, int lane, int64_t expected) {
    int32_t out[4];
    memcpy(out, &v, sizeof out);
    EXPECT(out[lane] == (int32_t)expected);
}

static int32_t clamped(int32_t v) {
    return v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v;
}

static void test_i16(void) {
    pair16 p;
    for (int i = 0; i < 8; i++) p.a[i] = random_i16(), p.b[i] = random_below(4) ? random_i16() : p.a[i];
    const aoi_i16x8 a = load(p.a), b = load(p.b);
    const int shift = (int)random_below(16);
    uint32_t bits = aoi_i16_bits(aoi_i16_above(a, b), aoi_i16_equal(a, b));
    for (int i = 0; i < 8; i++) {
        int32_t x = p.a[i], y = p.b[i];
        is(aoi_i16_add(a, b), i, x + y);
        is(aoi_i16_sub(a, b), i, x - y);
        is(aoi_i16_most(a, b), i, x > y ? x : y);
        is(aoi_i16_least(a, b), i, x < y ? x : y);
        is(aoi_i16_and(a, b), i, x & y);
        is(aoi_i16_or(a, b), i, x | y);
        is(aoi_i16_xor(a, b), i, x ^ y);
        is(aoi_i16_less(a, b), i, x & ~y);
        is(aoi_i16_not(a), i, ~x);
        is(aoi_i16_sum(a, b), i, clamped(x + y));
        is(aoi_i16_high(a, b), i, x * y >> 16);
        is(aoi_i16_right(a, shift), i, (uint16_t)x >> shift);
        is(aoi_i16_all(x), i, x);
        is(aoi_i16_pairs((uint32_t)p.a[0], (uint32_t)p.b[0]), i, i & 1 ? p.b[0] : p.a[0]);
        EXPECT((bits >> i & 1) == (x > y));
        EXPECT((bits >> (8 + i) & 1) == (x == y));
        int64_t square = (int64_t)x * x + (int64_t)y * y;
        is32(i < 4 ? aoi_i16_squares_low(a, b) : aoi_i16_squares_high(a, b), i % 4, square);
        is(aoi_i16_lane(a, 0), i, p.a[0]);
        is(aoi_i16_lane(a, 3), i, p.a[3]);
        is(aoi_i16_lane(a, 4), i, p.a[4]);
        is(aoi_i16_lane(a, 7), i, p.a[7]);
    }
}

static void test_i32(void) {
    int32_t x[4], y[4];
    for (int i = 0; i < 4; i++) x[i] = random_i32(), y[i] = random_below(4) ? random_i32() : x[i];
    const aoi_i32x4 a = aoi_i32_load(x), b = aoi_i32_load(y), above = aoi_i32_above(a, b);
    for (int i = 0; i < 4; i++) {
        is32(aoi_i32_sub(a, b), i, (int64_t)x[i] - y[i]);
        is32(aoi_i32_and(a, b), i, x[i] & y[i]);
        is32(aoi_i32_or(a, b), i, x[i] | y[i]);
        is32(aoi_i32_all(x[0]), i, x[0]);
        EXPECT((aoi_i32_bits(above) >> i & 1) == (x[i] > y[i]));
        is(aoi_i32_narrow(above, aoi_i32_all(-1)), i, -(x[i] > y[i]));
        is(aoi_i32_narrow(above, aoi_i32_all(-1)), 4 + i, -1);
    }
}

static void test_f32(void) {
    float x[4], y[4], out[4];
    for (int i = 0; i < 4; i++) x[i] = (float)random_number(), y[i] = (float)random_number();
    if (random_below(4) == 0) x[random_below(4)] = random_below(2) ? INFINITY : NAN;
    const aoi_f32x4 a = aoi_f32_load(x), b = aoi_f32_load(y);
    const unsigned atmost = aoi_i32_bits(aoi_f32_atmost(a, b)), above = aoi_i32_bits(aoi_f32_above(a, b));
    for (int i = 0; i < 4; i++) {
        EXPECT((atmost >> i & 1) == (x[i] <= y[i]));
        EXPECT((above >> i & 1) == (x[i] > y[i]));
    }
    float numbers[64] = {0}, greatest = 0;
    uint32_t n = random_below(64), steps[64], which[4] = {3, 1, 0, 2};
    const float inside[2] = {2, 5}, outside[2] = {3, 5.5f};
    bool doubt = false;
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = (float)fabs(random_number());
        greatest = numbers[i] > greatest ? numbers[i] : greatest;
        for (int k = 0; k < 2; k++) doubt |= inside[k] <= numbers[i] && numbers[i] <= outside[k];
    }
    EXPECT(aoi_lanes_greatest(numbers, n) == greatest);
    EXPECT(aoi_lanes_steps(numbers, n, inside, outside, 2, steps) == doubt);
    for (uint32_t i = 0; i < n; i++)
        EXPECT(steps[i] == (uint32_t)(numbers[i] > outside[0]) + (uint32_t)(numbers[i] > outside[1]));
    const uint64_t many = aoi_lanes_many(numbers, 56, 2, 5), keys = aoi_lanes_keys(numbers, 56, 2, 5);
    for (int i = 0; i < 56; i++) EXPECT((many >> i & 1) == (2 <= numbers[i] && numbers[i] <= 5));
    EXPECT((many & aoi_lanes_mask(56)) == (keys & aoi_lanes_mask(56)));
    aoi_lanes_distances2(numbers, which, 4, 1.5f, -2, out);
    for (int i = 0; i < 4; i++) {
        float dx = numbers[2 * which[i]] - 1.5f, dy = numbers[2 * which[i] + 1] + 2;
        EXPECT(out[i] == dx * dx + dy * dy);
    }
}

static bool one_side(float a, float b) {
    return (a > 1 && b > 1) || (a < -1 && b < -1);
}

static void test_cross(void) {
    float ends[4][4], x = (float)random_number(), y = (float)random_number();
    float dx = (float)random_number(), dy = (float)random_number();
    for (int i = 0; i < 16; i++) ends[i / 4][i % 4] = (float)random_number();
    const unsigned bits = aoi_lanes_cross((const float(*)[4])ends, x, y, dx, dy, 1);
    for (int i = 0; i < 4; i++) {
        float ax = ends[0][i] - x, ay = ends[1][i] - y, bx = ends[2][i] - x, by = ends[3][i] - y;
        float a = dx * ay - dy * ax, b = dx * by - dy * bx, w = ax * by - ay * bx, t = w + (a - b);
        EXPECT((bits >> i & 1) == !(one_side(a, b) || one_side(w, t)));
    }
}

static void test_f64(void) {
    double x[2], y[2], r[2];
    for (int i = 0; i < 2; i++) x[i] = random_number(), y[i] = random_number(), r[i] = fabs(random_number());
    const aoi_f64x2 a = aoi_f64_load(x), b = aoi_f64_load(y);
    double out[2];
    const aoi_f64x2 apart = aoi_f64_apart(a, b);
    memcpy(out, &apart, sizeof out);
    unsigned outside = 0;
    bool within = true, square = true, holds = true;
    for (int i = 0; i < 2; i++) {
        EXPECT(out[i] == fabs(x[i] - y[i]));
        outside |= (unsigned)(y[i] < x[i] - r[i]) << i | (unsigned)(x[i] + r[i] < y[i]) << (4 + i);
        within = within && x[i] - r[i] <= y[i] && y[i] <= x[i] + r[i];
        square = square && x[i] - r[0] <= y[i] && y[i] <= x[i] + r[0];
        holds = holds && x[i] - r[0] < y[i] && y[i] < x[i] + r[0];
        is32(aoi_f64_to_i32(a, b), i, (int32_t)x[i]);
        is32(aoi_f64_to_i32(a, b), 2 + i, (int32_t)y[i]);
    }
    EXPECT(aoi_lanes_outside(x, y, r) == outside);
    EXPECT(aoi_lanes_in_reach(x, x, r, y) == within);
    EXPECT(aoi_lanes_in_square(x, y, r[0]) == square);
    EXPECT(aoi_lanes_holds(x, r[0], y, y) == holds);
}

/* Places that a tick knows in fixed point, and those too far for it. */
static void test_fixed(void) {
    static const double far[] = {0,     0x1p30, -0x1p30,  -0x1p30 - 1, 0x1p30 - 1, 0x1p30 - 0.5,
                                 1e300, -1e300, INFINITY, NAN};
    double at[2], origin[2] = {0, 0};
    int32_t out[2];
    bool fits = true;
    for (int i = 0; i < 2; i++) {
        at[i] = random_below(2) ? far[random_below(10)] : random_number();
        fits = fits && at[i] + 0x1p30 >= 0 && at[i] + 0x1p30 < 0x1p31;
    }
    if (!EXPECT(aoi_lanes_fixed(at, origin, 1, out) == fits) || !fits) return;
    for (int i = 0; i < 2; i++) EXPECT(out[i] == (int32_t)(at[i] + 0x1p30));
}

static void test_find(void) {
    uint32_t numbers[64], n = random_below(65), first = 0;
    for (uint32_t i = 0; i < n; i++) numbers[i] = random_below(40) << (random_below(2) ? 16 : 0);
    while (first < n && numbers[first] != 7) first++;
    EXPECT(aoi_lanes_find(numbers, n, 7) == first);
}

int main(void) {
    random_start("simd");
    for (int i = 0; i < ROUNDS; i++) {
        RUN(test_i16);
        RUN(test_i32);
        RUN(test_f32);
        RUN(test_cross);
        RUN(test_f64);
        RUN(test_fixed);
        RUN(test_find);
    }
    return expect_report("simd");
}
