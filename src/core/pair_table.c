/* pair_table.c - see pair_table.h. */
#include "core/pair_table.h"

#include <string.h>

enum { LEAST_PAIRS = 16 };

/* The slot that has the key, or the empty one where the search ends. */
static uint32_t pair_slot(const aoi_pair_table *p, uint64_t key) {
    uint32_t i = aoi_pair_home(p, key);
    while (p->slots[i] != AOI_PAIR_EMPTY && p->slots[i] != key) i = (i + 1) & (p->size - 1);
    return i;
}

void aoi_pair_table_free(aoi_memory *m, aoi_pair_table *p) {
    AOI_FREE(m, p->slots, p->size);
    *p = (aoi_pair_table){0};
}

static bool pair_rehash(aoi_memory *m, aoi_pair_table *p, uint32_t size) {
    aoi_pair_table to = {.size = size, .count = p->count};
    if (!(to.slots = aoi_resize(m, NULL, 0, size * sizeof *to.slots))) return false;
    memset(to.slots, 0xFF, size * sizeof *to.slots);
    for (uint32_t i = 0; i < p->size; i++)
        if (p->slots[i] != AOI_PAIR_EMPTY) to.slots[pair_slot(&to, p->slots[i])] = p->slots[i];
    AOI_FREE(m, p->slots, p->size);
    *p = to;
    return true;
}

bool aoi_pair_table_reserve(aoi_memory *m, aoi_pair_table *p, uint32_t count) {
    if (count <= p->size / 4 * 3) return true;
    uint32_t size = LEAST_PAIRS;
    while (size / 4 * 3 < count) {
        if (size >= UINT32_MAX / 2) return false;
        size *= 2;
    }
    return pair_rehash(m, p, size);
}

bool aoi_pair_table_has(const aoi_pair_table *p, uint32_t node, uint32_t target) {
    return p->count && p->slots[pair_slot(p, aoi_pair_key(node, target))] != AOI_PAIR_EMPTY;
}

void aoi_pair_table_add(aoi_pair_table *p, uint32_t node, uint32_t target) {
    uint64_t key = aoi_pair_key(node, target);
    p->slots[pair_slot(p, key)] = key;
    p->count++;
}

bool aoi_pair_table_remove(aoi_pair_table *p, uint32_t node, uint32_t target) {
    if (!p->count) return false;
    uint32_t mask = p->size - 1, gap = pair_slot(p, aoi_pair_key(node, target));
    if (p->slots[gap] == AOI_PAIR_EMPTY) return false;
    for (uint32_t i = (gap + 1) & mask; p->slots[i] != AOI_PAIR_EMPTY; i = (i + 1) & mask) {
        uint32_t home = aoi_pair_home(p, p->slots[i]);
        if (((i - home) & mask) < ((i - gap) & mask)) continue; /* its home lies behind the gap */
        p->slots[gap] = p->slots[i];
        gap = i;
    }
    p->slots[gap] = AOI_PAIR_EMPTY;
    p->count--;
    return true;
}

void aoi_pair_table_tidy(aoi_memory *m, aoi_pair_table *p) {
    if (!p->count) aoi_pair_table_free(m, p);
    else if (p->size > LEAST_PAIRS && p->count < p->size / 16) (void)pair_rehash(m, p, p->size / 4);
}
