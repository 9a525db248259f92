/* node_index.h - the nodes of an entity: a chain, with an index of ids once there are many.
 *
 *   entity.nodes -> node -> node -> ... -> node    newest first, chained through `next`
 *   by_id   (owner, node_id) -> node               all nodes of entities that have had more than a few at once
 *   before  [node] = the next newer one            of those nodes only
 *
 * A short chain is walked.  When the chain of an entity gets long, all its nodes enter the index and stay there until
 * they are removed: all nodes of an entity are in it or none, as the flag AOI_NODE_INDEXED of the first shows. */
#ifndef AOI_NODE_INDEX_H
#define AOI_NODE_INDEX_H

#include "core/space_records.h"

enum { AOI_FEW_NODES = 16 }; /* the longest chain that is walked */

typedef struct aoi_node_index {
    aoi_hash_index by_id;
    uint32_t *before;
    uint32_t before_cap;
} aoi_node_index;

uint32_t aoi_node_of(const aoi_records *r, const aoi_node_index *x, uint32_t owner, int64_t id);

/* Room for one more node of the owner, in this slot; false when memory is refused. */
bool aoi_chain_reserve(aoi_records *r, aoi_node_index *x, uint32_t owner, uint32_t node);
void aoi_chain_add(aoi_records *r, aoi_node_index *x, uint32_t node); /* at the front; `next` is set */
void aoi_chain_remove(aoi_records *r, aoi_node_index *x, uint32_t node);
void aoi_node_index_free(aoi_memory *m, aoi_node_index *x);

#endif
