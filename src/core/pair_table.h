/* pair_table.h - a set of pairs (node, target): those that the area holds only because it held them before.
 *
 * With AOI_PAIR_CHANGED in the target: the area of a node that sees what is outside holds the target and did not at the
 * last delivery, or the other way round.  Other nodes need no such mark: there a waiting event says the same.
 *
 * In builds with assertions a second table has the pairs that nodes have reported as seen, for aoi_check: AOI_PAIR_REPORTED.
 *
 * It is a hash index (base/hash_index.h) whose value is the target, and whose hash of both is such that the node follows
 * from it and the target: a slot of 8 bytes is all that a pair takes. */
#ifndef AOI_PAIR_TABLE_H
#define AOI_PAIR_TABLE_H

#include "base/hash_index.h"

#define AOI_PAIR_CHANGED UINT32_C(0x80000000)
#define AOI_PAIR_REPORTED UINT32_C(0x40000000) /* in a table of its own; ids of targets are less */

static inline uint32_t aoi_pair_table_hash(uint32_t node, uint32_t target) {
    return node * UINT32_C(0x9E3779B9) ^ aoi_hash64(target);
}

static inline uint32_t aoi_pair_table_node(uint32_t hash, uint32_t target) {
    return (hash ^ aoi_hash64(target)) * UINT32_C(0x144CBC89); /* the inverse factor */
}

static inline bool aoi_pair_table_has(const aoi_hash_index *p, uint32_t node, uint32_t target) {
    return aoi_hash_index_seek(p, aoi_pair_table_hash(node, target), target) != AOI_NONE;
}

/* A new pair; room is reserved. */
static inline void aoi_pair_table_add(aoi_hash_index *p, uint32_t node, uint32_t target) {
    aoi_hash_index_add(p, aoi_pair_table_hash(node, target), target);
}

/* False: not in it. */
static inline bool aoi_pair_table_remove(aoi_hash_index *p, uint32_t node, uint32_t target) {
    return aoi_hash_index_remove(p, aoi_pair_table_hash(node, target), target);
}

#endif
