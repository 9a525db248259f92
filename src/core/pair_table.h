/* pair_table.h - pairs of node and target that need a state of their own: those of nodes that keep, and of round ones.
 *
 *            target A    target B
 *   node 1 --[1,A]-------[1,B]--        each pair stands in two chains, its node's and its target's,
 *                           |           and in an index; `seen` is whether the node sees the target
 *   node 2 ----------------[2,B]--
 *
 * A pair is there while the target is within the node's reach (rule.h) and of a kind it looks for, or is seen. */
#ifndef AOI_PAIRS_H
#define AOI_PAIRS_H

#include "base/hash_index.h"

enum { AOI_BY_NODE, AOI_BY_TARGET };

typedef struct aoi_pair {
    uint32_t end[2];           /* node, target */
    uint32_t next[2], prev[2]; /* in the chain of each */
    bool seen;
} aoi_pair;

typedef struct aoi_pairs {
    aoi_pair *pairs;
    uint32_t cap, top, unused;
    aoi_index index;
} aoi_pairs;

void aoi_pairs_open(aoi_pairs *p);
void aoi_pairs_close(aoi_memory *m, aoi_pairs *p);
bool aoi_pairs_reserve(aoi_memory *m, aoi_pairs *p, size_t n);
uint32_t aoi_pairs_find(const aoi_pairs *p, uint32_t node, uint32_t target);
/* by_node, by_target: the heads of the two chains.  Adding cannot fail after a reserve. */
void aoi_pairs_add(aoi_pairs *p, uint32_t node, uint32_t target, bool seen, uint32_t *by_node, uint32_t *by_target);
void aoi_pairs_remove(aoi_pairs *p, uint32_t pair, uint32_t *by_node, uint32_t *by_target);

#endif
