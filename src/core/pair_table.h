/* pair_table.h - a set of pairs (node, target): those that are seen only because they were seen before.
 *
 *   slots   [ node | target ] [ empty ] [ node | target ] ...    open addressing, linear probing, a power of two, at most
 *                                                                 three quarters full; 8 bytes a slot
 *
 * A removal closes the gap (Knuth, TAOCP 3, 6.4, algorithm R), so that there are no tombstones. */
#ifndef AOI_PAIR_TABLE_H
#define AOI_PAIR_TABLE_H

#include "base/hash_index.h"

#define AOI_PAIR_EMPTY UINT64_MAX /* a slot without a pair */

typedef struct aoi_pair_table {
    uint64_t *slots;
    uint32_t size, count; /* size: 0 or a power of two */
} aoi_pair_table;

static inline uint64_t aoi_pair_key(uint32_t node, uint32_t target) {
    return (uint64_t)node << 32 | target;
}

static inline uint32_t aoi_pair_home(const aoi_pair_table *p, uint64_t key) {
    return aoi_hash64(key) & (p->size - 1);
}

/* Prefetches the slot of a look-up; the table is not empty. */
static inline void aoi_pair_table_fetch(const aoi_pair_table *p, uint32_t node, uint32_t target) {
    AOI_PREFETCH(p->slots + aoi_pair_home(p, aoi_pair_key(node, target)));
}

void aoi_pair_table_free(aoi_memory *m, aoi_pair_table *p);
bool aoi_pair_table_reserve(aoi_memory *m, aoi_pair_table *p, uint32_t count); /* room for count pairs in all */
bool aoi_pair_table_has(const aoi_pair_table *p, uint32_t node, uint32_t target);
void aoi_pair_table_add(aoi_pair_table *p, uint32_t node, uint32_t target);    /* a new pair; room is reserved */
bool aoi_pair_table_remove(aoi_pair_table *p, uint32_t node, uint32_t target); /* false: not in it */
void aoi_pair_table_tidy(aoi_memory *m, aoi_pair_table *p);                    /* shrinks a far too large table */

#endif
