/* block_list.c - see block_list.h. */
#include "engines/list/block_list.h"

#include <assert.h>
#include <string.h>

enum { SPARSE = AOI_BLOCK_MOST / 3, MERGED = 2 * AOI_BLOCK_MOST / 3 }; /* entries: at most to merge; after merging */

_Static_assert(sizeof(aoi_block) + 4 * 8 == 1 * AOI_CACHE_LINE,
               "an entry takes 8 bytes, the head as much as 4 of them");
_Static_assert((4 + 12) * 8 == 2 * AOI_CACHE_LINE && (4 + 20) * 8 == 3 * AOI_CACHE_LINE &&
                   (4 + AOI_BLOCK_MOST) * 8 == 7 * AOI_CACHE_LINE,
               "the capacities of blocks of 2, 3 and 7 lines");
_Static_assert((4 * 8 + AOI_BLOCK_MOST * 4 - 1) / AOI_CACHE_LINE + 1 == AOI_BLOCK_KEY_LINES, "lines of head and keys");
_Static_assert(AOI_BLOCK_MOST <= 1 << AOI_PLACE_SHIFT, "a place tells the entries apart");

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

static void pool_put(aoi_block_pool *p, uint32_t block, int size) {
    *(uint32_t *)aoi_pool_at(p, block) = p->blocks[size].count ? p->blocks[size].first : AOI_NONE;
    p->blocks[size].first = block;
    p->blocks[size].count++;
}

static uint32_t pool_take(aoi_block_pool *p, int size) {
    uint32_t block = p->blocks[size].first;
    p->blocks[size].first = *(const uint32_t *)aoi_pool_at(p, block);
    p->blocks[size].count--;
    return block;
}

static bool add_chunk(aoi_memory *m, aoi_block_pool *p, int size) {
    if (p->chunk_count >= (UINT32_MAX >> AOI_PLACE_SHIFT) / AOI_CHUNK_LINES) return false;
    if (!AOI_GROW(m, p->chunks, p->chunk_cap, p->chunk_count + (size_t)1) ||
        !AOI_GROW(m, p->raw, p->raw_cap, p->chunk_count + (size_t)1))
        return false;
    char *raw = aoi_resize(m, NULL, 0, (AOI_CHUNK_LINES + 1) * AOI_CACHE_LINE);
    if (!raw) return false;
    p->raw[p->chunk_count] = raw;
    p->chunks[p->chunk_count] = raw + (AOI_CACHE_LINE - (uintptr_t)raw % AOI_CACHE_LINE) % AOI_CACHE_LINE;
    uint32_t first = p->chunk_count++ * AOI_CHUNK_LINES, lines = AOI_BLOCK_LINES[size];
    uint32_t blocks = AOI_CHUNK_LINES / lines; /* a line may be left over */
    for (uint32_t i = blocks; i > 0; i--) pool_put(p, first + (i - 1) * lines, size);
    p->blocks[size].all += blocks;
    return true;
}

bool aoi_pool_add(aoi_memory *m, aoi_block_pool *p, uint32_t blocks) {
    while (p->blocks[AOI_LARGEST].count < blocks)
        if (!add_chunk(m, p, AOI_LARGEST)) return false;
    for (int size = 0; size < AOI_LARGEST; size++)
        while (p->blocks[size].count < blocks && add_chunk(m, p, size)) {
        }
    return true;
}

void aoi_pool_close(aoi_memory *m, aoi_block_pool *p) {
    for (uint32_t i = 0; i < p->chunk_count; i++) aoi_resize(m, p->raw[i], (AOI_CHUNK_LINES + 1) * AOI_CACHE_LINE, 0);
    AOI_FREE(m, p->chunks, p->chunk_cap);
    AOI_FREE(m, p->raw, p->raw_cap);
    *p = (aoi_block_pool){0};
}

/* The least size, from this one on, of which there are unused blocks; the largest if there are none. */
static int pool_size(const aoi_block_pool *p, int size) {
    while (size < AOI_LARGEST && !p->blocks[size].count) size++;
    return size;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Adds an empty block with this label and size behind another one or at the head. */
static uint32_t add_block(aoi_block_lists *c, aoi_block_list *l, aoi_label label, int size, uint32_t after) {
    uint32_t i = pool_take(&c->pool, size);
    aoi_block *b = aoi_block_at(c, i);
    *b = (aoi_block){.tile = label.tile, .level = label.level, .base = label.base, .low = -INFINITY, .high = INFINITY};
    b->size = (uint32_t)size & 3U;
    b->axis = label.axis & 3U;
    b->parity = label.parity & 3U;
    b->prev = after;
    b->next = after != AOI_NONE ? aoi_block_at(c, after)->next : l->head;
    if (b->prev != AOI_NONE) aoi_block_at(c, b->prev)->next = i;
    else l->head = i;
    if (b->next != AOI_NONE) aoi_block_at(c, b->next)->prev = i;
    else l->tail = i;
    return i;
}

/* Frees an empty block; a neighbour takes its interval over. */
static void free_block(aoi_block_lists *c, aoi_block_list *l, uint32_t i) {
    aoi_block *b = aoi_block_at(c, i);
    aoi_block *prev = b->prev != AOI_NONE ? aoi_block_at(c, b->prev) : NULL;
    aoi_block *next = b->next != AOI_NONE ? aoi_block_at(c, b->next) : NULL;
    if (prev) prev->next = b->next, prev->high = b->high;
    else l->head = b->next;
    if (next) next->prev = b->prev, next->low = prev ? b->high : b->low;
    else l->tail = b->prev;
    pool_put(&c->pool, i, (int)b->size);
}

static aoi_label label_of(const aoi_block *b) {
    return (aoi_label){b->tile, (uint8_t)b->axis, (uint8_t)b->level, (uint8_t)b->parity, b->base};
}

static uint32_t put(aoi_block *b, uint32_t i, float key, uint32_t ref) {
    int k = aoi_ref_is_point(ref) ? (int)b->points++ : aoi_block_cap(b) - (int)++b->edges;
    assert(aoi_block_count(b) <= aoi_block_cap(b));
    aoi_block_keys(b)[k] = key;
    aoi_block_refs(b)[k] = ref;
    return aoi_place_of(i, k);
}

/* Fills the gap with the innermost entry of its side. */
static void take(aoi_block_lists *c, aoi_block *b, uint32_t i, int k) {
    float *key = aoi_block_keys(b);
    uint32_t *ref = aoi_block_refs(b);
    int last = aoi_ref_is_point(ref[k]) ? (int)--b->points : aoi_block_cap(b) - (int)b->edges--;
    if (last == k) return;
    key[k] = key[last];
    ref[k] = ref[last];
    c->moved(c->ud, ref[k], b, aoi_place_of(i, k));
}

static void move_across(aoi_block_lists *c, uint32_t from, int k, uint32_t to) {
    aoi_block *b = aoi_block_at(c, from), *t = aoi_block_at(c, to);
    uint32_t ref = aoi_block_refs(b)[k], place = put(t, to, aoi_block_keys(b)[k], ref);
    take(c, b, from, k);
    c->moved(c->ud, ref, t, place);
}

static void move_all_across(aoi_block_lists *c, uint32_t from, uint32_t to) {
    const aoi_block *b = aoi_block_at(c, from);
    while (b->points) move_across(c, from, (int)b->points - 1, to); /* the innermost leave no gaps */
    while (b->edges) move_across(c, from, aoi_block_cap(b) - (int)b->edges, to);
}

/* ---- room in a list ---------------------------------------------------------------------------------------------- */

/* The key in the middle of a full block of the largest size, by Hoare's selection. */
static float median(aoi_block *b) {
    float key[AOI_BLOCK_MOST];
    memcpy(key, aoi_block_keys(b), sizeof key);
    for (int first = 0, last = AOI_BLOCK_MOST - 1; first < last;) {
        float pivot = key[AOI_BLOCK_MOST / 2];
        int i = first, j = last;
        while (i <= j) {
            while (key[i] < pivot) i++;
            while (key[j] > pivot) j--;
            if (i > j) break;
            float t = key[i];
            key[i++] = key[j];
            key[j--] = t;
        }
        if (j < AOI_BLOCK_MOST / 2) first = i;
        if (i > AOI_BLOCK_MOST / 2) last = j;
    }
    return key[AOI_BLOCK_MOST / 2];
}

static bool stays(aoi_block *b, int k, float bound, int *equal) {
    float key = aoi_block_keys(b)[k];
    return key < bound || (key == bound && (*equal)-- > 0);
}

/* A full block becomes two; returns the one for this key. */
static uint32_t split(aoi_block_lists *c, aoi_block_list *l, uint32_t i, float key) {
    aoi_block *b = aoi_block_at(c, i);
    uint32_t n = add_block(c, l, label_of(b), AOI_LARGEST, i);
    aoi_block *second = aoi_block_at(c, n);
    float bound = median(b);
    int equal = AOI_BLOCK_MOST / 2; /* entries equal to the bound that stay */
    for (int k = 0; k < AOI_BLOCK_MOST; k++) equal -= aoi_block_keys(b)[k] < bound;
    for (int k = 0; k < (int)b->points;) /* inwards, so that the entry that fills a gap is visited */
        if (stays(b, k, bound, &equal)) k++;
        else move_across(c, i, k, n);
    for (int k = AOI_BLOCK_MOST - 1; k >= AOI_BLOCK_MOST - (int)b->edges;)
        if (stays(b, k, bound, &equal)) k--;
        else move_across(c, i, k, n);
    second->high = b->high;
    second->low = b->high = bound;
    return key > bound ? n : i;
}

static int size_of(int entries) {
    int size = 0;
    while (size < AOI_LARGEST && AOI_BLOCK_CAPS[size] < entries) size++;
    return size;
}

/* The only block of a list is replaced by one that has room for one entry more. */
static uint32_t enlarge(aoi_block_lists *c, aoi_block_list *l) {
    uint32_t i = l->head;
    aoi_block *b = aoi_block_at(c, i);
    uint32_t n = add_block(c, l, label_of(b), pool_size(&c->pool, size_of(aoi_block_count(b) + 1)), AOI_NONE);
    move_all_across(c, i, n);
    l->tail = n;
    aoi_block_at(c, n)->next = AOI_NONE;
    pool_put(&c->pool, i, (int)b->size);
    return n;
}

static uint32_t insert_at(aoi_block_lists *c, aoi_block_list *l, uint32_t i, float key, uint32_t ref) {
    aoi_block *b = aoi_block_at(c, i);
    if (aoi_block_count(b) == aoi_block_cap(b)) i = b->size == AOI_LARGEST ? split(c, l, i, key) : enlarge(c, l);
    return put(aoi_block_at(c, i), i, key, ref);
}

/* The entries of a sparse block go to a neighbour that has room. */
static void merge_if_sparse(aoi_block_lists *c, aoi_block_list *l, uint32_t i) {
    aoi_block *b = aoi_block_at(c, i);
    int count = aoi_block_count(b);
    if (count && (count > SPARSE || l->head == l->tail)) return;
    uint32_t other = AOI_NONE;
    if (b->next != AOI_NONE && count + aoi_block_count(aoi_block_at(c, b->next)) <= MERGED) other = b->next;
    else if (b->prev != AOI_NONE && count + aoi_block_count(aoi_block_at(c, b->prev)) <= MERGED) other = b->prev;
    if (other == AOI_NONE && count) return;
    if (count) move_all_across(c, i, other);
    if (count && other == b->next) aoi_block_at(c, other)->low = b->high = b->low; /* takes its interval */
    free_block(c, l, i);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static uint32_t seek(aoi_block_lists *c, const aoi_block_list *l, uint32_t near, float key) {
    if (near == AOI_NONE) {
        const aoi_block *head = aoi_block_at(c, l->head), *tail = aoi_block_at(c, l->tail);
        near = key - head->high < tail->low - key ? l->head : l->tail;
    }
    const aoi_block *b = aoi_block_at(c, near);
    for (; key > b->high; (*c->steps)++) b = aoi_block_at(c, near = b->next);
    for (; key < b->low; (*c->steps)++) b = aoi_block_at(c, near = b->prev);
    return near;
}

uint32_t aoi_block_insert(aoi_block_lists *c, aoi_block_list *l, aoi_label label, uint32_t near, double value,
                          uint32_t ref) {
    if (near != AOI_NONE) near >>= AOI_PLACE_SHIFT;
    if (l->head == AOI_NONE) near = add_block(c, l, label, pool_size(&c->pool, 0), AOI_NONE);
    float key = aoi_block_key(aoi_block_at(c, l->head), value);
    return insert_at(c, l, seek(c, l, near, key), key, ref);
}

void aoi_block_remove(aoi_block_lists *c, aoi_block_list *l, uint32_t place) {
    uint32_t i = place >> AOI_PLACE_SHIFT;
    take(c, aoi_block_at(c, i), i, (int)(place & AOI_PLACE_MASK));
    merge_if_sparse(c, l, i);
}

uint32_t aoi_block_rekey(aoi_block_lists *c, aoi_block_list *l, uint32_t place, double value) {
    uint32_t i = place >> AOI_PLACE_SHIFT;
    aoi_block *b = aoi_block_at(c, i);
    int k = (int)(place & AOI_PLACE_MASK);
    float key = aoi_block_key(b, value);
    if (b->low <= key && key <= b->high) {
        aoi_block_keys(b)[k] = key;
        return place;
    }
    uint32_t ref = aoi_block_refs(b)[k];
    take(c, b, i, k);
    uint32_t now = insert_at(c, l, seek(c, l, i, key), key, ref);
    merge_if_sparse(c, l, i);
    return now;
}

void aoi_block_free_all(aoi_block_lists *c, aoi_block_list *l) {
    for (uint32_t i = l->head, next; i != AOI_NONE; i = next) {
        const aoi_block *b = aoi_block_at(c, i);
        next = b->next;
        pool_put(&c->pool, i, (int)b->size);
    }
    l->head = l->tail = AOI_NONE;
}
