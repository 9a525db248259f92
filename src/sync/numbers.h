/* numbers.h - an array of mostly small numbers, in two halves:
 *
 *   low    [ 7 | 3 | 9 | 4 |     ]   the low bits of each
 *   high   [ 0 | 0 | 1 | 0 |     ]   the others; NULL while no number has any
 *
 * The halves lie in one block, the high one behind all the room of the low one. */
#ifndef AOI_SYNC_NUMBERS_H
#define AOI_SYNC_NUMBERS_H

#include <string.h>

#include "base/simd.h"

#ifndef AOI_LOW_BITS /* spec/c/sync_tall.c has fewer, so that few numbers need both halves */
#define AOI_LOW_BITS 16
#endif

typedef struct aoi_numbers {
    uint16_t *low, *high;
} aoi_numbers;

/* Whether the number needs both halves. */
static inline bool aoi_is_tall(uint32_t number) {
    return number >> AOI_LOW_BITS != 0;
}

static inline size_t aoi_numbers_bytes(size_t cap, bool tall) {
    return cap * sizeof(uint16_t) * (tall ? 2 : 1);
}

static inline aoi_numbers aoi_numbers_in(void *block, uint32_t cap, bool tall) {
    uint16_t *low = block;
    return (aoi_numbers){low, tall ? low + cap : NULL};
}

static inline uint32_t aoi_number_at(aoi_numbers n, uint32_t i) {
    return n.high ? n.low[i] | (uint32_t)n.high[i] << AOI_LOW_BITS : n.low[i];
}

/* A tall number requires an array with both halves. */
static inline void aoi_number_put(aoi_numbers n, uint32_t i, uint32_t number) {
    n.low[i] = (uint16_t)(number & ((UINT32_C(1) << AOI_LOW_BITS) - 1));
    if (n.high) n.high[i] = (uint16_t)(number >> AOI_LOW_BITS);
}

static inline void aoi_numbers_swap(aoi_numbers n, uint32_t i, uint32_t k) {
    uint16_t low = n.low[i], high;
    n.low[i] = n.low[k];
    n.low[k] = low;
    if (!n.high) return;
    high = n.high[i];
    n.high[i] = n.high[k];
    n.high[k] = high;
}

static inline void aoi_numbers_copy(aoi_numbers to, aoi_numbers from, uint32_t count) {
    if (!count) return;
    memcpy(to.low, from.low, count * sizeof *to.low);
    if (to.high && from.high) memcpy(to.high, from.high, count * sizeof *to.high);
    else if (to.high) memset(to.high, 0, count * sizeof *to.high);
}

/* The index of the first entry with that number; count if there is none. */
static inline uint32_t aoi_numbers_find(aoi_numbers n, uint32_t count, uint32_t number) {
    const uint16_t low = (uint16_t)(number & ((UINT32_C(1) << AOI_LOW_BITS) - 1));
    uint32_t i = aoi_lanes_find(n.low, 0, count, low);
    while (i < count && aoi_number_at(n, i) != number) i = aoi_lanes_find(n.low, i + 1, count, low);
    return i;
}

/* Expands the numbers into `out`, by eights: both arrays have room for whole eights. */
static inline void aoi_numbers_spread(aoi_numbers n, uint32_t count, uint32_t *out) {
    for (size_t i = 0; i < count; i += 8)
        for (size_t k = 0; k < 8; k++) out[i + k] = n.low[i + k];
    for (uint32_t i = 0; i < count && n.high; i++) out[i] |= (uint32_t)n.high[i] << AOI_LOW_BITS;
}

#endif
