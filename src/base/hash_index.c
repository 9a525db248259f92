/* hash_index.c - see hash_index.h. */
#include "base/hash_index.h"

#include <string.h>
#include <time.h>

enum { LEAST_INDEX = 16 }; /* slots */

static uint64_t next_of(uint64_t *state) { /* splitmix64: Steele, Lea, Flood, Fast splittable pseudorandom generators */
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

aoi_hash_key aoi_new_hash_key(const void *owner) {
    uint64_t state = (uint64_t)(uintptr_t)owner; /* addresses are random where the system makes them so */
    state = next_of(&state) ^ (uint64_t)(uintptr_t)&state;
    state = next_of(&state) ^ (uint64_t)time(NULL);
    state = next_of(&state) ^ (uint64_t)clock();
    uint64_t a = next_of(&state), b = next_of(&state);
    return (aoi_hash_key){a, b, next_of(&state)};
}

static void index_put(aoi_hash_index *ix, uint32_t hash, uint32_t value) {
    uint32_t mask = ix->size - 1, i = hash & mask;
    while (ix->slots[i].value != AOI_NONE) i = (i + 1) & mask;
    ix->slots[i].hash = hash;
    ix->slots[i].value = value;
}

static bool index_resize(aoi_memory *m, aoi_hash_index *ix, size_t size) {
    aoi_hash_index to = {.size = (uint32_t)size, .count = ix->count};
    to.slots = aoi_resize(m, NULL, 0, size * sizeof *to.slots);
    if (!to.slots) return false;
    memset(to.slots, 0xFF, size * sizeof *to.slots);
    for (uint32_t i = 0; i < ix->size; i++)
        if (ix->slots[i].value != AOI_NONE) index_put(&to, ix->slots[i].hash, ix->slots[i].value);
    aoi_hash_index_free(m, ix);
    *ix = to;
    return true;
}

bool aoi_hash_index_reserve(aoi_memory *m, aoi_hash_index *ix, size_t count) {
    if (count <= ix->size / 4u * 3) return true;
    size_t size = ix->size ? ix->size : LEAST_INDEX, most = SIZE_MAX / 2 / sizeof *ix->slots;
    if (most > UINT32_MAX / 4) most = UINT32_MAX / 4;
    if (count > most / 4 * 3) return false; /* tested first: doubling must end, in 32 bits as well */
    while (count > size / 4 * 3) size *= 2;
    return index_resize(m, ix, size);
}

void aoi_hash_index_shrink(aoi_memory *m, aoi_hash_index *ix) {
    if (!ix->count) aoi_hash_index_free(m, ix);
    else if (ix->size > LEAST_INDEX && ix->count < ix->size / 16) (void)index_resize(m, ix, ix->size / 4);
}

void aoi_hash_index_add(aoi_hash_index *ix, uint32_t hash, uint32_t value) {
    index_put(ix, hash, value);
    ix->count++;
}

uint32_t aoi_hash_index_seek(const aoi_hash_index *ix, uint32_t hash, uint32_t value) {
    uint32_t at = AOI_SEEK, v;
    while ((v = aoi_hash_index_next(ix, hash, &at)) != AOI_NONE)
        if (v == value) return at;
    return AOI_NONE;
}

bool aoi_hash_index_remove(aoi_hash_index *ix, uint32_t hash, uint32_t value) {
    uint32_t gap = aoi_hash_index_seek(ix, hash, value), mask = ix->size - 1;
    if (gap == AOI_NONE) return false;
    for (uint32_t i = (gap + 1) & mask; ix->slots[i].value != AOI_NONE; i = (i + 1) & mask) {
        uint32_t home = ix->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) { /* its probe path crosses the gap */
            ix->slots[gap] = ix->slots[i];
            gap = i;
        }
    }
    ix->slots[gap].value = AOI_NONE;
    ix->count--;
    return true;
}

void aoi_hash_index_replace(aoi_hash_index *ix, uint32_t hash, uint32_t value, uint32_t by) {
    uint32_t at = aoi_hash_index_seek(ix, hash, value);
    if (at != AOI_NONE) ix->slots[at].value = by;
}

void aoi_hash_index_clear(aoi_hash_index *ix) {
    if (ix->count) memset(ix->slots, 0xFF, ix->size * sizeof *ix->slots);
    ix->count = 0;
}

void aoi_hash_index_free(aoi_memory *m, aoi_hash_index *ix) {
    AOI_FREE(m, ix->slots, ix->size);
    *ix = (aoi_hash_index){0};
}
