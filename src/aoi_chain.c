/* aoi_chain.c - see aoi_chain.h. */
#include "aoi_chain.h"

#include <math.h>
#include <string.h>

enum { LINE = 64 };

/* ---- the pool ------------------------------------------------------------------------------------------------------------- */

static bool add_chunk(aoi_memory *m, aoi_chains *c) {
    size_t size = AOI_CHUNK * sizeof(aoi_block) + LINE;
    if (c->chunk_count > UINT32_MAX / AOI_CHUNK - 2) return false;
    if (!AOI_GROW(m, c->chunks, c->chunk_cap, c->chunk_count + (size_t)1) ||
        !AOI_GROW(m, c->raw, c->raw_cap, c->chunk_count + (size_t)1))
        return false;
    char *raw = aoi_resize(m, NULL, 0, size);
    if (!raw) return false;
    c->raw[c->chunk_count] = raw;
    c->chunks[c->chunk_count] = (aoi_block *)(void *)(raw + (LINE - (uintptr_t)raw % LINE) % LINE);
    uint32_t first = c->chunk_count++ * AOI_CHUNK;
    for (uint32_t i = first + AOI_CHUNK; i-- > first;) {
        aoi_block_at(c, i)->next = c->unused_count ? c->unused : AOI_NONE;
        c->unused = i;
        c->unused_count++;
    }
    return true;
}

bool aoi_chains_reserve(aoi_memory *m, aoi_chains *c, uint32_t blocks) {
    while (c->unused_count < blocks)
        if (!add_chunk(m, c)) return false;
    return true;
}

void aoi_chains_close(aoi_memory *m, aoi_chains *c) {
    for (uint32_t i = 0; i < c->chunk_count; i++) aoi_resize(m, c->raw[i], AOI_CHUNK * sizeof(aoi_block) + LINE, 0);
    AOI_FREE(m, c->chunks, c->chunk_cap);
    AOI_FREE(m, c->raw, c->raw_cap);
    c->chunks = NULL;
    c->raw = NULL;
    c->chunk_cap = c->raw_cap = c->chunk_count = c->unused_count = 0;
}

static uint32_t take_block(aoi_chains *c) {
    uint32_t i = c->unused;
    c->unused = aoi_block_at(c, i)->next;
    c->unused_count--;
    return i;
}

static void free_block(aoi_chains *c, aoi_chain *l, uint32_t i) {
    aoi_block *b = aoi_block_at(c, i);
    if (b->prev != AOI_NONE) aoi_block_at(c, b->prev)->next = b->next;
    else l->head = b->next;
    if (b->next != AOI_NONE) aoi_block_at(c, b->next)->prev = b->prev;
    else l->tail = b->prev;
    b->next = c->unused_count ? c->unused : AOI_NONE;
    c->unused = i;
    c->unused_count++;
}

static uint32_t add_block(aoi_chains *c, aoi_chain *l, aoi_label label, uint32_t after) {
    uint32_t i = take_block(c);
    aoi_block *b = aoi_block_at(c, i);
    b->count = 0;
    b->tile = label.tile;
    b->axis = label.axis;
    b->level = label.level;
    b->parity = label.parity;
    b->prev = after;
    b->next = after != AOI_NONE ? aoi_block_at(c, after)->next : l->head;
    if (b->prev != AOI_NONE) aoi_block_at(c, b->prev)->next = i;
    else l->head = i;
    if (b->next != AOI_NONE) aoi_block_at(c, b->next)->prev = i;
    else l->tail = i;
    return i;
}

/* ---- entries ---------------------------------------------------------------------------------------------------------------- */

static void put_at(aoi_block *b, int k, double key, uint32_t ref) {
    for (int i = b->count; i > k; i--) {
        b->key[i] = b->key[i - 1];
        b->ref[i] = b->ref[i - 1];
    }
    b->key[k] = key;
    b->ref[k] = ref;
    b->count++;
}

static void take_at(aoi_block *b, int k) {
    b->count--;
    for (int i = k; i < b->count; i++) {
        b->key[i] = b->key[i + 1];
        b->ref[i] = b->ref[i + 1];
    }
}

static void carry(aoi_chains *c, aoi_block *from, int k, uint32_t to, int at) {
    aoi_block *b = aoi_block_at(c, to);
    put_at(b, at, from->key[k], from->ref[k]);
    c->moved(c->ud, from->ref[k], b, to);
    take_at(from, k);
}

/* Puts it at place k of the block or, where that is full, makes room: in a neighbour, or by a new block. */
static uint32_t put(aoi_chains *c, aoi_chain *l, uint32_t i, int k, double key, uint32_t ref) {
    aoi_block *b = aoi_block_at(c, i);
    if (b->count < AOI_ENTRIES) {
        put_at(b, k, key, ref);
        return i;
    }
    aoi_block *next = b->next != AOI_NONE ? aoi_block_at(c, b->next) : NULL;
    if (next && next->count < AOI_ENTRIES) {
        if (k == AOI_ENTRIES) {
            put_at(next, 0, key, ref);
            return b->next;
        }
        carry(c, b, AOI_ENTRIES - 1, b->next, 0);
        put_at(b, k, key, ref);
        return i;
    }
    aoi_block *prev = b->prev != AOI_NONE ? aoi_block_at(c, b->prev) : NULL;
    if (prev && prev->count < AOI_ENTRIES) {
        if (k == 0) {
            put_at(prev, prev->count, key, ref);
            return b->prev;
        }
        carry(c, b, 0, b->prev, prev->count);
        put_at(b, k - 1, key, ref);
        return i;
    }
    uint32_t n = add_block(c, l, (aoi_label){b->tile, b->axis, b->level, b->parity}, i);
    if (k == AOI_ENTRIES && l->tail == n) { /* at the end: chains that grow there stay full */
        put_at(aoi_block_at(c, n), 0, key, ref);
        return n;
    }
    for (int j = AOI_ENTRIES / 2; j < AOI_ENTRIES; j++) carry(c, b, AOI_ENTRIES / 2, n, j - AOI_ENTRIES / 2);
    if (k <= AOI_ENTRIES / 2) {
        put_at(b, k, key, ref);
        return i;
    }
    put_at(aoi_block_at(c, n), k - AOI_ENTRIES / 2, key, ref);
    return n;
}

/* The block that holds the place of the entry, looked for from i; *k is the place in it. */
static uint32_t seek(aoi_chains *c, uint32_t i, double key, uint32_t ref, int *k) {
    aoi_block *b = aoi_block_at(c, i);
    while (b->prev != AOI_NONE && aoi_entry_less(key, ref, b->key[0], b->ref[0])) {
        i = b->prev;
        b = aoi_block_at(c, i);
        c->steps += b->count;
    }
    while (b->next != AOI_NONE) {
        const aoi_block *n = aoi_block_at(c, b->next);
        if (aoi_entry_less(key, ref, n->key[0], n->ref[0])) break;
        i = b->next;
        b = aoi_block_at(c, i);
        c->steps += b->count;
    }
    for (*k = 0; *k < b->count && !aoi_entry_less(key, ref, b->key[*k], b->ref[*k]);) ++*k;
    return i;
}

uint32_t aoi_chain_insert(aoi_chains *c, aoi_chain *l, aoi_label label, uint32_t near, double key, uint32_t ref) {
    int k;
    if (l->head == AOI_NONE) {
        uint32_t i = add_block(c, l, label, AOI_NONE);
        put_at(aoi_block_at(c, i), 0, key, ref);
        return i;
    }
    if (near == AOI_NONE) { /* from the nearer end */
        const aoi_block *head = aoi_block_at(c, l->head), *tail = aoi_block_at(c, l->tail);
        near = key - head->key[0] < tail->key[0] - key ? l->head : l->tail;
    }
    uint32_t i = seek(c, near, key, ref, &k);
    return put(c, l, i, k, key, ref);
}

static void remove_at(aoi_chains *c, aoi_chain *l, uint32_t i, int k) {
    aoi_block *b = aoi_block_at(c, i);
    take_at(b, k);
    if (b->count == 0) {
        free_block(c, l, i);
    } else if (b->count == 1 && b->next != AOI_NONE && aoi_block_at(c, b->next)->count < AOI_ENTRIES - 1) {
        carry(c, b, 0, b->next, 0);
        free_block(c, l, i);
    }
}

void aoi_chain_remove(aoi_chains *c, aoi_chain *l, uint32_t block, uint32_t ref) {
    remove_at(c, l, block, aoi_entry_slot(aoi_block_at(c, block), ref));
}

/* Shifts the entries between two places of a block and writes the entry into the gap. */
static uint32_t shift_to(aoi_block *b, uint32_t i, int k, int to, double key, uint32_t ref) {
    for (; k < to; k++) {
        b->key[k] = b->key[k + 1];
        b->ref[k] = b->ref[k + 1];
    }
    for (; k > to; k--) {
        b->key[k] = b->key[k - 1];
        b->ref[k] = b->ref[k - 1];
    }
    b->key[to] = key;
    b->ref[to] = ref;
    return i;
}

uint32_t aoi_chain_rekey(aoi_chains *c, aoi_chain *l, uint32_t i, double key, uint32_t ref) {
    aoi_block *b = aoi_block_at(c, i);
    int k = aoi_entry_slot(b, ref), to = k;
    uint32_t near;
    if (key >= b->key[k]) { /* most stay in their block */
        while (to + 1 < b->count && aoi_entry_less(b->key[to + 1], b->ref[to + 1], key, ref)) to++;
        if (to + 1 < b->count || (near = b->next) == AOI_NONE) return shift_to(b, i, k, to, key, ref);
        const aoi_block *n = aoi_block_at(c, near);
        if (!aoi_entry_less(n->key[0], n->ref[0], key, ref)) return shift_to(b, i, k, to, key, ref);
    } else {
        while (to > 0 && aoi_entry_less(key, ref, b->key[to - 1], b->ref[to - 1])) to--;
        if (to > 0 || (near = b->prev) == AOI_NONE) return shift_to(b, i, k, to, key, ref);
        const aoi_block *p = aoi_block_at(c, near);
        if (!aoi_entry_less(key, ref, p->key[p->count - 1], p->ref[p->count - 1]))
            return shift_to(b, i, k, to, key, ref);
    }
    take_at(b, k); /* not remove_at: that might free the block that `near` is a neighbour of */
    int place;
    uint32_t found = seek(c, near, key, ref, &place);
    found = put(c, l, found, place, key, ref);
    if (b->count == 0) free_block(c, l, i);
    return found;
}

void aoi_chain_pack(aoi_chains *c, aoi_chain *l) {
    for (uint32_t i = l->head; i != AOI_NONE; i = aoi_block_at(c, i)->next) {
        aoi_block *b = aoi_block_at(c, i);
        while (b->count < AOI_ENTRIES && b->next != AOI_NONE) {
            uint32_t n = b->next;
            carry(c, aoi_block_at(c, n), 0, i, b->count);
            if (aoi_block_at(c, n)->count == 0) free_block(c, l, n);
        }
    }
}

const char *aoi_chain_check(const aoi_chains *c, const aoi_chain *l) {
    uint32_t prev = AOI_NONE;
    const aoi_block *before = NULL;
    for (uint32_t i = l->head; i != AOI_NONE; prev = i, i = before->next) {
        const aoi_block *b = aoi_block_at(c, i);
        if (b->prev != prev) return "the links of a list disagree";
        if (b->count < 1 || b->count > AOI_ENTRIES) return "a block of a list has a wrong count";
        if (before &&
            !aoi_entry_less(before->key[before->count - 1], before->ref[before->count - 1], b->key[0], b->ref[0]))
            return "a list is not sorted";
        for (int k = 1; k < b->count; k++)
            if (!aoi_entry_less(b->key[k - 1], b->ref[k - 1], b->key[k], b->ref[k])) return "a list is not sorted";
        before = b;
    }
    return l->tail == prev ? NULL : "a list's tail is not its last block";
}
