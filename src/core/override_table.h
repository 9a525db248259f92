/* override_table.h - exceptions for single pairs of node and target: hide, show, match.
 *
 *   records   [ node, target, how ] [ unused ] [ node, target, how ] ...
 *   three indexes of record numbers: by pair, by node, by target
 *
 * A node that has any is flagged, so that all others never look here. */
#ifndef AOI_OVERRIDE_TABLE_H
#define AOI_OVERRIDE_TABLE_H

#include "base/hash_index.h"

typedef struct aoi_override_record {
    uint32_t node, target; /* target: the next unused record */
    int how;               /* AOI_BY_RULE: unused */
} aoi_override_record;

enum { AOI_OVERRIDE_BY_PAIR, AOI_OVERRIDE_BY_NODE, AOI_OVERRIDE_BY_TARGET, AOI_OVERRIDE_INDEXES };

typedef struct aoi_override_table {
    aoi_override_record *records;
    uint32_t cap, top, unused;
    aoi_index index[AOI_OVERRIDE_INDEXES];
} aoi_override_table;

void aoi_overrides_open(aoi_override_table *t);
void aoi_overrides_free(aoi_memory *m, aoi_override_table *t);
bool aoi_overrides_reserve(aoi_memory *m, aoi_override_table *t); /* room for one more */

static inline uint32_t aoi_overrides_count(const aoi_override_table *t) {
    return t->index[AOI_OVERRIDE_BY_PAIR].count;
}

int aoi_overrides_get(const aoi_override_table *t, uint32_t node, uint32_t target); /* AOI_BY_RULE: none */
/* After a reserve; cannot fail.  AOI_BY_RULE removes what is there. */
void aoi_overrides_set(aoi_override_table *t, uint32_t node, uint32_t target, int how);

/* The records of a node, or of a target, one after the other: *at starts with AOI_SEEK; NULL past the last.  Nothing may
 * be set meanwhile. */
const aoi_override_record *aoi_overrides_next(const aoi_override_table *t, int which, uint32_t slot, uint32_t *at);
void aoi_overrides_drop(aoi_override_table *t, int which, uint32_t slot); /* all of a node, or of a target */
const char *aoi_overrides_check(const aoi_override_table *t);

#endif
