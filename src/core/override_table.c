/* override_table.c - see override_table.h. */
#include "core/override_table.h"

static uint32_t override_hash(int which, uint32_t node, uint32_t target) {
    if (which == AOI_OVERRIDE_BY_PAIR) return aoi_hash64((uint64_t)node << 32 | target);
    return aoi_hash64(which == AOI_OVERRIDE_BY_NODE ? node : target);
}

void aoi_overrides_open(aoi_override_table *t) {
    *t = (aoi_override_table){.unused = AOI_NONE};
}

void aoi_overrides_free(aoi_memory *m, aoi_override_table *t) {
    AOI_FREE(m, t->records, t->cap);
    for (int i = 0; i < AOI_OVERRIDE_INDEXES; i++) aoi_index_free(m, t->index + i);
    aoi_overrides_open(t);
}

bool aoi_overrides_reserve(aoi_memory *m, aoi_override_table *t) {
    for (int i = 0; i < AOI_OVERRIDE_INDEXES; i++)
        if (!aoi_index_reserve(m, t->index + i, t->index[i].count + (size_t)1)) return false;
    return t->unused != AOI_NONE || AOI_GROW(m, t->records, t->cap, t->top + (size_t)1);
}

static uint32_t find_override(const aoi_override_table *t, uint32_t node, uint32_t target) {
    uint32_t hash = override_hash(AOI_OVERRIDE_BY_PAIR, node, target), at = AOI_SEEK, i;
    while ((i = aoi_index_next(t->index + AOI_OVERRIDE_BY_PAIR, hash, &at)) != AOI_NONE)
        if (t->records[i].node == node && t->records[i].target == target) break;
    return i;
}

int aoi_overrides_get(const aoi_override_table *t, uint32_t node, uint32_t target) {
    uint32_t i = find_override(t, node, target);
    return i == AOI_NONE ? AOI_BY_RULE : t->records[i].how;
}

static void remove_override(aoi_override_table *t, uint32_t i) {
    aoi_override_record *r = t->records + i;
    for (int k = 0; k < AOI_OVERRIDE_INDEXES; k++)
        aoi_index_remove(t->index + k, override_hash(k, r->node, r->target), i);
    r->how = AOI_BY_RULE;
    r->target = t->unused;
    t->unused = i;
}

void aoi_overrides_set(aoi_override_table *t, uint32_t node, uint32_t target, int how) {
    uint32_t i = find_override(t, node, target);
    if (how == AOI_BY_RULE) {
        if (i != AOI_NONE) remove_override(t, i);
        return;
    }
    if (i == AOI_NONE) {
        if ((i = t->unused) != AOI_NONE) t->unused = t->records[i].target;
        else i = t->top++;
        for (int k = 0; k < AOI_OVERRIDE_INDEXES; k++) aoi_index_add(t->index + k, override_hash(k, node, target), i);
    }
    t->records[i] = (aoi_override_record){node, target, how};
}

const aoi_override_record *aoi_overrides_next(const aoi_override_table *t, int which, uint32_t slot, uint32_t *at) {
    uint32_t hash = override_hash(which, slot, slot), i;
    while ((i = aoi_index_next(t->index + which, hash, at)) != AOI_NONE) {
        const aoi_override_record *r = t->records + i;
        if ((which == AOI_OVERRIDE_BY_NODE ? r->node : r->target) == slot) return r;
    }
    return NULL;
}

void aoi_overrides_drop(aoi_override_table *t, int which, uint32_t slot) {
    const aoi_override_record *r;
    uint32_t at;
    while (at = AOI_SEEK, (r = aoi_overrides_next(t, which, slot, &at)) != NULL)
        remove_override(t, (uint32_t)(r - t->records));
}

const char *aoi_overrides_check(const aoi_override_table *t) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < t->top; i++) {
        const aoi_override_record *r = t->records + i;
        if (r->how == AOI_BY_RULE) continue;
        used++;
        if (find_override(t, r->node, r->target) != i) return "an override is not found by its pair";
    }
    for (int k = 0; k < AOI_OVERRIDE_INDEXES; k++) {
        const char *wrong = aoi_index_check(t->index + k);
        if (wrong || t->index[k].count != used) return wrong ? wrong : "overrides are counted wrongly";
    }
    return NULL;
}
