/* bytes.h - the fuzzer's bytes as choices and as numbers that are worth trying. At the end everything is 0. */
#ifndef BYTES_H
#define BYTES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct input {
    const uint8_t *at, *end;
} input;

static inline uint32_t next_byte(input *in) {
    return in->at < in->end ? *in->at++ : 0;
}

static inline uint32_t choose(input *in, uint32_t n) {
    return next_byte(in) % n;
}

/* Mostly small whole numbers and tenths, where ties and rounding are; then sizes of all kinds, and what is refused. */
static inline double next_number(input *in) {
    static const double special[] = {0.0,
                                     -0.0,
                                     5e-324,
                                     -5e-324,
                                     1e-160,
                                     0x1p-537,
                                     1e15,
                                     1e15 + 0.125,
                                     -1e15,
                                     0x1p50,
                                     -0x1p50,
                                     0x1.0000000000001p50,
                                     1e300,
                                     DBL_MAX,
                                     1e9,
                                     -1e9,
                                     NAN,
                                     INFINITY,
                                     -INFINITY,
                                     0.1,
                                     0.3,
                                     100,
                                     -100,
                                     64,
                                     63.999999999999993,
                                     1e6,
                                     4096,
                                     0.5};
    uint32_t b = next_byte(in);
    if (b < 128) return (double)(b % 32) - 16;
    if (b < 192) return ((double)(b % 32) - 16) * 0.1;
    if (b < 224) return (double)(b % 32) * 37 - 400;
    return special[b % (sizeof special / sizeof *special)];
}

static inline uint64_t next_bits(input *in) {
    static const uint64_t bits[] = {1, UINT64_MAX, 0, 2, 3, 6, UINT64_C(1) << 63, UINT64_C(1) << 40};
    return bits[choose(in, 8)];
}

#endif
