/* override_table.c - see override_table.h. */
#include "core/override_table.h"

void aoi_overrides_open(aoi_override_table *t) {
    *t = (aoi_override_table){.unused = AOI_NONE};
}

void aoi_overrides_free(aoi_memory *m, aoi_override_table *t) {
    AOI_FREE(m, t->records, t->cap);
    aoi_hash_index_free(m, &t->pairs);
    for (int c = 0; c < AOI_OVERRIDE_CHAINS; c++) aoi_hash_index_free(m, t->heads + c);
    aoi_overrides_open(t);
}

bool aoi_overrides_reserve(aoi_memory *m, aoi_override_table *t) {
    if (!aoi_hash_index_reserve(m, &t->pairs, t->pairs.count + (size_t)1)) return false;
    for (int c = 0; c < AOI_OVERRIDE_CHAINS; c++)
        if (!aoi_hash_index_reserve(m, t->heads + c, t->heads[c].count + (size_t)1)) return false;
    return t->unused != AOI_NONE || AOI_GROW(m, t->records, t->cap, t->top + (size_t)1);
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static uint32_t find_override(const aoi_override_table *t, uint32_t node, uint32_t target) {
    uint32_t hash = aoi_pair_hash(node, target), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&t->pairs, hash, &at)) != AOI_NONE)
        if (t->records[i].end[0] == node && t->records[i].end[1] == target) break;
    return i;
}

static uint32_t override_head(const aoi_override_table *t, int chain, uint32_t slot) {
    uint32_t hash = aoi_hash64(slot), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(t->heads + chain, hash, &at)) != AOI_NONE)
        if (t->records[i].end[chain] == slot) break;
    return i;
}

int aoi_overrides_get(const aoi_override_table *t, uint32_t node, uint32_t target) {
    uint32_t i = find_override(t, node, target);
    return i == AOI_NONE ? 0 : t->records[i].how;
}

const aoi_override_record *aoi_overrides_first(const aoi_override_table *t, int chain, uint32_t slot) {
    uint32_t i = override_head(t, chain, slot);
    return i == AOI_NONE ? NULL : t->records + i;
}

const aoi_override_record *aoi_overrides_next(const aoi_override_table *t, int chain, const aoi_override_record *r) {
    return r->next[chain] == AOI_NONE ? NULL : t->records + r->next[chain];
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static void link_override(aoi_override_table *t, int chain, uint32_t i) {
    aoi_override_record *r = t->records + i;
    uint32_t hash = aoi_hash64(r->end[chain]), head = override_head(t, chain, r->end[chain]);
    r->prev[chain] = AOI_NONE;
    r->next[chain] = head;
    if (head == AOI_NONE) {
        aoi_hash_index_add(t->heads + chain, hash, i);
        return;
    }
    t->records[head].prev[chain] = i;
    aoi_hash_index_replace(t->heads + chain, hash, head, i);
}

static void unlink_override(aoi_override_table *t, int chain, uint32_t i) {
    const aoi_override_record *r = t->records + i;
    uint32_t hash = aoi_hash64(r->end[chain]), next = r->next[chain], prev = r->prev[chain];
    if (next != AOI_NONE) t->records[next].prev[chain] = prev;
    if (prev != AOI_NONE) t->records[prev].next[chain] = next;
    else if (next != AOI_NONE) aoi_hash_index_replace(t->heads + chain, hash, i, next);
    else aoi_hash_index_remove(t->heads + chain, hash, i);
}

static void remove_override(aoi_override_table *t, uint32_t i) {
    aoi_override_record *r = t->records + i;
    aoi_hash_index_remove(&t->pairs, aoi_pair_hash(r->end[0], r->end[1]), i);
    for (int c = 0; c < AOI_OVERRIDE_CHAINS; c++) unlink_override(t, c, i);
    r->how = AOI_BY_RULE;
    r->next[0] = t->unused;
    t->unused = i;
}

void aoi_overrides_set(aoi_override_table *t, uint32_t node, uint32_t target, int how) {
    uint32_t i = find_override(t, node, target);
    if (how == AOI_BY_RULE) {
        if (i != AOI_NONE) remove_override(t, i);
        return;
    }
    if (i == AOI_NONE) {
        if ((i = t->unused) != AOI_NONE) t->unused = t->records[i].next[0];
        else i = t->top++;
        t->records[i] = (aoi_override_record){.end = {node, target}};
        aoi_hash_index_add(&t->pairs, aoi_pair_hash(node, target), i);
        for (int c = 0; c < AOI_OVERRIDE_CHAINS; c++) link_override(t, c, i);
    }
    t->records[i].how = how;
}

void aoi_overrides_drop(aoi_memory *m, aoi_override_table *t, int chain, uint32_t slot) {
    for (uint32_t i; (i = override_head(t, chain, slot)) != AOI_NONE;) remove_override(t, i);
    if (!aoi_overrides_count(t)) aoi_overrides_free(m, t);
}
