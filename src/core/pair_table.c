/* pair_table.c - see pair_table.h. */
#include "core/pair_table.h"

void aoi_pairs_open(aoi_pairs *p) {
    *p = (aoi_pairs){.unused = AOI_NONE};
}

void aoi_pairs_close(aoi_memory *m, aoi_pairs *p) {
    AOI_FREE(m, p->pairs, p->cap);
    aoi_index_free(m, &p->index);
    aoi_pairs_open(p);
}

static uint32_t hash_of(uint32_t node, uint32_t target) {
    return aoi_hash64((uint64_t)node << 32 | target);
}

bool aoi_pairs_reserve(aoi_memory *m, aoi_pairs *p, size_t n) {
    return n == 0 || (AOI_GROW(m, p->pairs, p->cap, p->top + n) && aoi_index_reserve(m, &p->index, p->index.count + n));
}

uint32_t aoi_pairs_find(const aoi_pairs *p, uint32_t node, uint32_t target) {
    uint32_t at = AOI_SEEK, i;
    while ((i = aoi_index_next(&p->index, hash_of(node, target), &at)) != AOI_NONE)
        if (p->pairs[i].end[AOI_BY_NODE] == node && p->pairs[i].end[AOI_BY_TARGET] == target) break;
    return i;
}

void aoi_pairs_add(aoi_pairs *p, uint32_t node, uint32_t target, bool seen, uint32_t *by_node, uint32_t *by_target) {
    uint32_t i = p->unused, *heads[2] = {by_node, by_target};
    if (i != AOI_NONE) p->unused = p->pairs[i].next[0];
    else i = p->top++;
    aoi_pair *pair = p->pairs + i;
    *pair = (aoi_pair){.end = {node, target}, .prev = {AOI_NONE, AOI_NONE}, .seen = seen};
    for (int c = 0; c < 2; c++) {
        pair->next[c] = *heads[c];
        if (*heads[c] != AOI_NONE) p->pairs[*heads[c]].prev[c] = i;
        *heads[c] = i;
    }
    aoi_index_add(&p->index, hash_of(node, target), i);
}

void aoi_pairs_remove(aoi_pairs *p, uint32_t i, uint32_t *by_node, uint32_t *by_target) {
    aoi_pair *pair = p->pairs + i;
    uint32_t *heads[2] = {by_node, by_target};
    for (int c = 0; c < 2; c++) {
        if (pair->prev[c] != AOI_NONE) p->pairs[pair->prev[c]].next[c] = pair->next[c];
        else *heads[c] = pair->next[c];
        if (pair->next[c] != AOI_NONE) p->pairs[pair->next[c]].prev[c] = pair->prev[c];
    }
    aoi_index_remove(&p->index, hash_of(pair->end[AOI_BY_NODE], pair->end[AOI_BY_TARGET]), i);
    pair->next[0] = p->unused;
    p->unused = i;
}
