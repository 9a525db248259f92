/* override_table.h - exceptions for single pairs of node and target: hide, show, match; and whose end is told.
 *
 *               target A      target B
 *   node 1 ----[1,A hide]----[1,B show]--     each record is in two chains, of its node and of its target, whose heads
 *                                |            are found by hash, and in an index by pair
 *   node 2 -----------------[2,B match]--
 *
 * Nodes with overrides are flagged, so that others need no look-up. */
#ifndef AOI_OVERRIDE_TABLE_H
#define AOI_OVERRIDE_TABLE_H

#include "base/hash_index.h"

enum { AOI_OVERRIDE_BY_NODE, AOI_OVERRIDE_BY_TARGET, AOI_OVERRIDE_CHAINS };

typedef struct aoi_override_record {
    uint32_t end[AOI_OVERRIDE_CHAINS]; /* node, target */
    uint32_t next[AOI_OVERRIDE_CHAINS],
        prev[AOI_OVERRIDE_CHAINS]; /* next[0] of an unused record: the next unused one */
    int how;                       /* AOI_HIDE ..., and AOI_TOLD; 0: unused */
} aoi_override_record;

enum { AOI_TOLD = 4 }; /* bit: the node is told the end of the target, seen or not */

static inline int aoi_how_of(const aoi_override_record *r) {
    return r->how & ~AOI_TOLD;
}

typedef struct aoi_override_table {
    aoi_override_record *records;
    uint32_t cap, top, unused;
    aoi_hash_index pairs;                      /* records by pair */
    aoi_hash_index heads[AOI_OVERRIDE_CHAINS]; /* first records by node and by target */
} aoi_override_table;

void aoi_overrides_open(aoi_override_table *t);
void aoi_overrides_free(aoi_memory *m, aoi_override_table *t);
bool aoi_overrides_reserve(aoi_memory *m, aoi_override_table *t); /* room for one more */

static inline uint32_t aoi_overrides_count(const aoi_override_table *t) {
    return t->pairs.count;
}

int aoi_overrides_get(const aoi_override_table *t, uint32_t node, uint32_t target); /* as in the record; 0: none */
/* After a reserve; cannot fail.  0 removes the override. */
void aoi_overrides_set(aoi_override_table *t, uint32_t node, uint32_t target, int how);

/* The first record of a node, or of a target, and the one that follows another in that chain; NULL: none. */
const aoi_override_record *aoi_overrides_first(const aoi_override_table *t, int chain, uint32_t slot);
const aoi_override_record *aoi_overrides_next(const aoi_override_table *t, int chain, const aoi_override_record *r);
/* Removes all of a node, or of a target; frees the table with the last one. */
void aoi_overrides_drop(aoi_memory *m, aoi_override_table *t, int chain, uint32_t slot);

#endif
