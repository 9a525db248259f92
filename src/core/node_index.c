/* node_index.c - see node_index.h. */
#include "core/node_index.h"

static uint32_t node_hash(const aoi_world *w, uint32_t owner, int64_t id) {
    return aoi_id_hash(&w->hash_key, id) ^ aoi_hash64(owner);
}

static bool is_indexed(const aoi_world *w, uint32_t node) {
    return node != AOI_NONE && (w->nodes[node].flags & AOI_NODE_INDEXED);
}

uint32_t aoi_node_of(const aoi_world *w, const aoi_node_index *x, uint32_t owner, int64_t id) {
    uint32_t n = w->entities[owner].nodes;
    if (!is_indexed(w, n)) {
        while (n != AOI_NONE && w->nodes[n].node_id != id) n = w->nodes[n].next;
        return n;
    }
    uint32_t hash = node_hash(w, owner, id), at = AOI_SEEK;
    while ((n = aoi_index_next(&x->by_id, hash, &at)) != AOI_NONE)
        if (w->nodes[n].node_id == id && w->nodes[n].owner == owner) break;
    return n;
}

static void add_indexed(aoi_world *w, aoi_node_index *x, uint32_t node, uint32_t before) {
    aoi_node_record *n = w->nodes + node;
    n->flags |= AOI_NODE_INDEXED;
    aoi_index_add(&x->by_id, node_hash(w, n->owner, n->node_id), node);
    x->before[node] = before;
}

bool aoi_chain_reserve(aoi_world *w, aoi_node_index *x, uint32_t owner, uint32_t node) {
    uint32_t first = w->entities[owner].nodes, count = 0, before = AOI_NONE;
    bool indexed = is_indexed(w, first);
    for (uint32_t n = first; !indexed && n != AOI_NONE; n = w->nodes[n].next) count++;
    if (!indexed && count < AOI_FEW_NODES) return true;
    if (!aoi_index_reserve(&w->memory, &x->by_id, x->by_id.count + (size_t)count + 1)) return false;
    uint32_t slots = node < w->node_top ? w->node_top : node + 1;
    if (!AOI_GROW(&w->memory, x->before, x->before_cap, slots)) return false;
    for (uint32_t n = first; !indexed && n != AOI_NONE; before = n, n = w->nodes[n].next) add_indexed(w, x, n, before);
    return true;
}

void aoi_chain_add(aoi_world *w, aoi_node_index *x, uint32_t node) {
    uint32_t *first = &w->entities[w->nodes[node].owner].nodes;
    if (is_indexed(w, *first)) {
        add_indexed(w, x, node, AOI_NONE);
        x->before[*first] = node;
    }
    *first = node;
}

void aoi_chain_remove(aoi_world *w, aoi_node_index *x, uint32_t node) {
    const aoi_node_record *n = w->nodes + node;
    uint32_t *link = &w->entities[n->owner].nodes;
    if (is_indexed(w, node)) {
        if (x->before[node] != AOI_NONE) link = &w->nodes[x->before[node]].next;
        if (n->next != AOI_NONE) x->before[n->next] = x->before[node];
        aoi_index_remove(&x->by_id, node_hash(w, n->owner, n->node_id), node);
        if (!x->by_id.count) aoi_node_index_free(&w->memory, x);
    } else {
        while (*link != node) link = &w->nodes[*link].next;
    }
    *link = n->next;
}

void aoi_node_index_free(aoi_memory *m, aoi_node_index *x) {
    aoi_index_free(m, &x->by_id);
    AOI_CLEAR(m, x->before, x->before_cap);
}

bool aoi_chain_is_sound(const aoi_world *w, const aoi_node_index *x, uint32_t owner, uint32_t *count) {
    uint32_t first = w->entities[owner].nodes, before = AOI_NONE, length = 0;
    for (uint32_t n = first; n != AOI_NONE; before = n, n = w->nodes[n].next, length++) {
        if (is_indexed(w, n) != is_indexed(w, first)) return false;
        if (!is_indexed(w, n)) continue;
        ++*count;
        if (x->before[n] != before || aoi_node_of(w, x, owner, w->nodes[n].node_id) != n) return false;
    }
    return is_indexed(w, first) || length <= AOI_FEW_NODES;
}
