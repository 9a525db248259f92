/* node_index.c - see node_index.h. */
#include "core/node_index.h"

static uint32_t node_hash(const aoi_records *r, uint32_t owner, int64_t id) {
    return aoi_id_hash(&r->hash_key, id) ^ aoi_hash64(owner);
}

static bool is_indexed(const aoi_records *r, uint32_t node) {
    return node != AOI_NONE && (r->nodes[node].flags & AOI_NODE_INDEXED);
}

uint32_t aoi_node_of(const aoi_records *r, const aoi_node_index *x, uint32_t owner, int64_t id) {
    uint32_t n = r->entities[owner].nodes;
    if (!is_indexed(r, n)) {
        while (n != AOI_NONE && r->nodes[n].node_id != id) n = r->nodes[n].next;
        return n;
    }
    uint32_t hash = node_hash(r, owner, id), at = AOI_SEEK;
    while ((n = aoi_hash_index_next(&x->by_id, hash, &at)) != AOI_NONE)
        if (r->nodes[n].node_id == id && r->nodes[n].owner == owner) break;
    return n;
}

static void add_indexed(aoi_records *r, aoi_node_index *x, uint32_t node, uint32_t before) {
    aoi_node_record *n = r->nodes + node;
    n->flags |= AOI_NODE_INDEXED;
    aoi_hash_index_add(&x->by_id, node_hash(r, n->owner, n->node_id), node);
    x->before[node] = before;
}

bool aoi_chain_reserve(aoi_records *r, aoi_node_index *x, uint32_t owner, uint32_t node) {
    uint32_t first = r->entities[owner].nodes, count = 0, before = AOI_NONE;
    bool indexed = is_indexed(r, first);
    for (uint32_t n = first; !indexed && n != AOI_NONE; n = r->nodes[n].next) count++;
    if (!indexed && count < AOI_FEW_NODES) return true;
    if (!aoi_hash_index_reserve(&r->memory, &x->by_id, x->by_id.count + (size_t)count + 1)) return false;
    uint32_t slots = node < r->node_top ? r->node_top : node + 1;
    if (!AOI_GROW(&r->memory, x->before, x->before_cap, slots)) return false;
    for (uint32_t n = first; !indexed && n != AOI_NONE; before = n, n = r->nodes[n].next) add_indexed(r, x, n, before);
    return true;
}

void aoi_chain_add(aoi_records *r, aoi_node_index *x, uint32_t node) {
    uint32_t *first = &r->entities[r->nodes[node].owner].nodes;
    if (is_indexed(r, *first)) {
        add_indexed(r, x, node, AOI_NONE);
        x->before[*first] = node;
    }
    *first = node;
}

void aoi_chain_remove(aoi_records *r, aoi_node_index *x, uint32_t node) {
    const aoi_node_record *n = r->nodes + node;
    uint32_t *link = &r->entities[n->owner].nodes;
    if (is_indexed(r, node)) {
        if (x->before[node] != AOI_NONE) link = &r->nodes[x->before[node]].next;
        if (n->next != AOI_NONE) x->before[n->next] = x->before[node];
        aoi_hash_index_remove(&x->by_id, node_hash(r, n->owner, n->node_id), node);
        if (!x->by_id.count) aoi_node_index_free(&r->memory, x);
    } else {
        while (*link != node) link = &r->nodes[*link].next;
    }
    *link = n->next;
}

void aoi_node_index_free(aoi_memory *m, aoi_node_index *x) {
    aoi_hash_index_free(m, &x->by_id);
    AOI_CLEAR(m, x->before, x->before_cap);
}
