/* expect.h - what the C specs need of a test framework, and random numbers that can be replayed.
 *
 *   static void something_holds(void) { EXPECT(1 + 1 == 2); }
 *   int main(void) { RUN(something_holds); return expect_report("topic"); }
 *
 * A program is one topic. It says one line, after the failures if there are any, and exits with 0 if there are none. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    unsigned long checks, failures;
    char where[200]; /* what is being tested: engine, dimensions, step; shown with a failure */
} expect_state;

#define EXPECT(condition) expect_that((condition), #condition, __FILE__, __LINE__)
#define RUN(function) (expect_at("%s", #function), function())

/* Names what is being tested from here on. */
#define expect_at(...) ((void)snprintf(expect_state.where, sizeof expect_state.where, __VA_ARGS__))

static inline bool expect_that(bool holds, const char *what, const char *file, int line) {
    expect_state.checks++;
    if (holds) return true;
    if (expect_state.failures++ < 10) fprintf(stderr, "%s:%d: %s: not so: %s\n", file, line, expect_state.where, what);
    return false;
}

static inline int expect_report(const char *topic) {
    printf("%s: %lu checks, %lu failures\n", topic, expect_state.checks, expect_state.failures);
    return expect_state.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- random histories: AOI_SEED replays them, AOI_STEPS and AOI_LENGTH as in spec/support/random_run.lua --------- */

static uint64_t random_state;

/* Sebastiano Vigna's splitmix. */
static inline uint64_t random_mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline void random_start(const char *topic) {
    const char *given = getenv("AOI_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 4;
    printf("%s: AOI_SEED=%llu\n", topic, (unsigned long long)seed);
    random_state = random_mix(seed); /* else the next seed would give the same numbers, one later */
}

static inline long random_steps(long usual) {
    const char *steps = getenv("AOI_STEPS"), *length = getenv("AOI_LENGTH");
    if (steps) return strtol(steps, NULL, 10);
    long n = length ? (long)((double)usual * strtod(length, NULL)) : usual;
    return n > 1 ? n : 1;
}

/* 0 .. n - 1. */
static inline uint32_t random_below(uint32_t n) {
    return (uint32_t)(random_mix(random_state += UINT64_C(0x9E3779B97F4A7C15)) >> 32) % n;
}

#endif
