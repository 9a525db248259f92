/* block_list.c - see block_list.h. */
#include "engines/list/block_list.h"

#include <string.h>

enum { FEW = AOI_MOST / 3, MERGED = 2 * AOI_MOST / 3 }; /* when a block looks for a neighbour to merge with; at most */

/* ---- the pool ------------------------------------------------------------------------------------------------------------- */

static const uint32_t LINES[AOI_SIZES] = {1, 2, 3, 7};
_Static_assert(sizeof(aoi_block) + 4 * 8 == 1 * AOI_CACHE_LINE,
               "an entry takes 8 bytes, the head as much as 4 of them");
_Static_assert((4 + 12) * 8 == 2 * AOI_CACHE_LINE && (4 + 20) * 8 == 3 * AOI_CACHE_LINE &&
                   (4 + AOI_MOST) * 8 == 7 * AOI_CACHE_LINE,
               "");
_Static_assert((4 * 8 + AOI_MOST * 4 - 1) / AOI_CACHE_LINE + 1 == AOI_KEY_LINES, "");
_Static_assert(AOI_MOST <= 1 << AOI_PLACE_SHIFT, "a place tells them apart");

static void put_back(aoi_chains *c, uint32_t i, int size) {
    aoi_block_at(c, i)->next = c->blocks[size].count ? c->blocks[size].first : AOI_NONE;
    c->blocks[size].first = i;
    c->blocks[size].count++;
}

static bool add_chunk(aoi_memory *m, aoi_chains *c, int size) {
    if (c->chunk_count >= (UINT32_MAX >> AOI_PLACE_SHIFT) / AOI_CHUNK) return false;
    if (!AOI_GROW(m, c->chunks, c->chunk_cap, c->chunk_count + (size_t)1) ||
        !AOI_GROW(m, c->raw, c->raw_cap, c->chunk_count + (size_t)1))
        return false;
    char *raw = aoi_resize(m, NULL, 0, (AOI_CHUNK + 1) * AOI_CACHE_LINE);
    if (!raw) return false;
    c->raw[c->chunk_count] = raw;
    c->chunks[c->chunk_count] = raw + (AOI_CACHE_LINE - (uintptr_t)raw % AOI_CACHE_LINE) % AOI_CACHE_LINE;
    uint32_t first = c->chunk_count++ * AOI_CHUNK;
    uint32_t blocks = AOI_CHUNK / LINES[size]; /* a line may be left over */
    for (uint32_t i = blocks; i > 0; i--) put_back(c, first + (i - 1) * LINES[size], size);
    c->blocks[size].all += blocks;
    return true;
}

bool aoi_chains_reserve_sizes(aoi_memory *m, aoi_chains *c, const uint32_t *blocks) {
    for (int size = 0; size < AOI_SIZES; size++)
        while (c->blocks[size].count < blocks[size])
            if (!add_chunk(m, c, size)) return false;
    return true;
}

/* A short list wants a smaller one, but is content with one of the largest: so these are what must be there. */
bool aoi_chains_make(aoi_memory *m, aoi_chains *c, uint32_t blocks) {
    while (c->blocks[AOI_LARGEST].count < blocks)
        if (!add_chunk(m, c, AOI_LARGEST)) return false;
    for (int size = 0; size < AOI_LARGEST; size++)
        while (c->blocks[size].count < blocks && add_chunk(m, c, size)) {
        }
    return true;
}

void aoi_chains_close(aoi_memory *m, aoi_chains *c) {
    for (uint32_t i = 0; i < c->chunk_count; i++) aoi_resize(m, c->raw[i], (AOI_CHUNK + 1) * AOI_CACHE_LINE, 0);
    AOI_FREE(m, c->chunks, c->chunk_cap);
    AOI_FREE(m, c->raw, c->raw_cap);
    c->chunks = NULL;
    c->raw = NULL;
    c->chunk_cap = c->raw_cap = c->chunk_count = 0;
    for (int size = 0; size < AOI_SIZES; size++) c->blocks[size].count = c->blocks[size].all = 0;
}

/* An empty block with this label, of this size, behind another one or at the head. */
static uint32_t add_block(aoi_chains *c, aoi_chain *l, aoi_label label, int size, uint32_t after) {
    uint32_t i = c->blocks[size].first;
    aoi_block *b = aoi_block_at(c, i);
    c->blocks[size].first = b->next;
    c->blocks[size].count--;
    b->points = b->edges = 0;
    b->size = (uint32_t)size & 3U;
    b->tile = label.tile;
    b->axis = label.axis & 3U;
    b->level = label.level;
    b->parity = label.parity & 3U;
    b->prev = after;
    b->next = after != AOI_NONE ? aoi_block_at(c, after)->next : l->head;
    if (b->prev != AOI_NONE) aoi_block_at(c, b->prev)->next = i;
    else l->head = i;
    if (b->next != AOI_NONE) aoi_block_at(c, b->next)->prev = i;
    else l->tail = i;
    b->base = label.base;
    b->low = -INFINITY;
    b->high = INFINITY;
    return i;
}

/* An empty block goes; a neighbour takes its interval over. */
static void free_block(aoi_chains *c, aoi_chain *l, uint32_t i) {
    aoi_block *b = aoi_block_at(c, i);
    aoi_block *prev = b->prev != AOI_NONE ? aoi_block_at(c, b->prev) : NULL;
    aoi_block *next = b->next != AOI_NONE ? aoi_block_at(c, b->next) : NULL;
    if (prev) prev->next = b->next, prev->high = b->high;
    else l->head = b->next;
    if (next) next->prev = b->prev, next->low = prev ? b->high : b->low;
    else l->tail = b->prev;
    put_back(c, i, (int)b->size);
}

static aoi_label label_of(const aoi_block *b) {
    return (aoi_label){b->tile, (uint8_t)b->axis, (uint8_t)b->level, (uint8_t)b->parity, b->base};
}

/* ---- entries in a block --------------------------------------------------------------------------------------------------- */

static bool is_full(const aoi_block *b) {
    return aoi_block_count(b) == aoi_block_cap(b);
}

static uint32_t place_of(uint32_t block, int k) {
    return block << AOI_PLACE_SHIFT | (uint32_t)k;
}

static uint32_t put(aoi_block *b, uint32_t i, float key, uint32_t ref) {
    int k = aoi_ref_is_point(ref) ? (int)b->points++ : aoi_block_cap(b) - (int)++b->edges;
    aoi_block_keys(b)[k] = key;
    aoi_block_refs(b)[k] = ref;
    return place_of(i, k);
}

/* The hole is filled with the innermost of its side. */
static void take(aoi_chains *c, aoi_block *b, uint32_t i, int k) {
    float *key = aoi_block_keys(b);
    uint32_t *ref = aoi_block_refs(b);
    int last = aoi_ref_is_point(ref[k]) ? (int)--b->points : aoi_block_cap(b) - (int)b->edges--;
    if (last == k) return;
    key[k] = key[last];
    ref[k] = ref[last];
    c->moved(c->ud, ref[k], b, place_of(i, k));
}

static void carry(aoi_chains *c, uint32_t from, int k, uint32_t to) {
    aoi_block *b = aoi_block_at(c, from), *t = aoi_block_at(c, to);
    uint32_t ref = aoi_block_refs(b)[k], place = put(t, to, aoi_block_keys(b)[k], ref);
    take(c, b, from, k);
    c->moved(c->ud, ref, t, place);
}

/* The next place that is taken, from k on; the capacity if there is none. */
static int next_place(const aoi_block *b, int k) {
    int edges = aoi_block_cap(b) - (int)b->edges;
    return k >= (int)b->points && k < edges ? edges : k;
}

/* The place of the least or the greatest key of a block that is not empty. */
static int extreme(aoi_block *b, bool least) {
    const float *key = aoi_block_keys(b);
    int best = next_place(b, 0);
    for (int k = best; (k = next_place(b, k)) < aoi_block_cap(b); k++)
        if (least ? key[k] < key[best] : key[k] > key[best]) best = k;
    return best;
}

static void carry_all(aoi_chains *c, uint32_t from, uint32_t to) {
    const aoi_block *b = aoi_block_at(c, from);
    while (b->points) carry(c, from, (int)b->points - 1, to); /* the innermost: they leave no holes */
    while (b->edges) carry(c, from, aoi_block_cap(b) - (int)b->edges, to);
}

/* ---- room in a list ------------------------------------------------------------------------------------------------------- */

static void set_fence(aoi_chains *c, aoi_block *b, float key) {
    b->high = aoi_block_at(c, b->next)->low = key;
}

/* The key in the middle of a full block of the largest size: what is certainly before it, or behind it, is left out. */
static float median(aoi_block *b) {
    float key[AOI_MOST];
    memcpy(key, aoi_block_keys(b), sizeof key);
    for (int first = 0, last = AOI_MOST - 1; first < last;) {
        float pivot = key[AOI_MOST / 2];
        int i = first, j = last;
        while (i <= j) {
            while (key[i] < pivot) i++;
            while (key[j] > pivot) j--;
            if (i > j) break;
            float t = key[i];
            key[i++] = key[j];
            key[j--] = t;
        }
        if (j < AOI_MOST / 2) first = i;
        if (i > AOI_MOST / 2) last = j;
    }
    return key[AOI_MOST / 2];
}

static bool stays(aoi_block *b, int k, float fence, int *equal) {
    float key = aoi_block_keys(b)[k];
    return key < fence || (key == fence && (*equal)-- > 0);
}

/* A full block becomes two; the one for this key. */
static uint32_t split(aoi_chains *c, aoi_chain *l, uint32_t i, float key) {
    aoi_block *b = aoi_block_at(c, i);
    float high = b->high, fence = median(b);
    uint32_t n = add_block(c, l, label_of(b), AOI_LARGEST, i);
    aoi_block_at(c, n)->high = high;
    float greatest = aoi_block_keys(b)[extreme(b, false)];
    if (l->tail == n && key >= greatest) { /* at the end: chains that grow there stay full */
        set_fence(c, b, greatest);
        return n;
    }
    int equal = AOI_MOST / 2; /* so many of the middle's equals stay */
    for (int k = 0; k < AOI_MOST; k++) equal -= aoi_block_keys(b)[k] < fence;
    for (int k = 0; k < (int)b->points;) /* inwards, so that the one that fills a hole is looked at */
        if (stays(b, k, fence, &equal)) k++;
        else carry(c, i, k, n);
    for (int k = AOI_MOST - 1; k >= AOI_MOST - (int)b->edges;)
        if (stays(b, k, fence, &equal)) k--;
        else carry(c, i, k, n);
    set_fence(c, b, fence);
    return key > fence ? n : i;
}

/* The only block of a list, and what is in it, becomes one of another size. */
static uint32_t replace(aoi_chains *c, aoi_chain *l, int size) {
    uint32_t i = l->head;
    aoi_block *b = aoi_block_at(c, i);
    uint32_t n = add_block(c, l, label_of(b), size, AOI_NONE);
    carry_all(c, i, n);
    l->head = l->tail = n;
    aoi_block_at(c, n)->next = AOI_NONE;
    put_back(c, i, (int)b->size);
    return n;
}

int aoi_chain_size(uint32_t entries) {
    int size = 0;
    while (size < AOI_LARGEST && (uint32_t)AOI_CAPS[size] < entries) size++;
    return size;
}

/* The least size that is to be had and has room for so many. */
static int size_for(const aoi_chains *c, int entries) {
    int size = aoi_chain_size((uint32_t)entries);
    while (size < AOI_LARGEST && !c->blocks[size].count) size++;
    return size;
}

/* Into a full block of a packed list without a block to spare: each hands its greatest on, the last has room. */
static uint32_t squeeze(aoi_chains *c, uint32_t i, float key, uint32_t ref) {
    uint32_t found = AOI_NONE, own = ref;
    for (aoi_block *b = aoi_block_at(c, i);; b = aoi_block_at(c, i)) {
        bool full = is_full(b);
        int k = full ? extreme(b, false) : 0;
        float greatest = aoi_block_keys(b)[k];
        uint32_t other = aoi_block_refs(b)[k];
        if (!full || greatest > key) {
            if (full) take(c, b, i, k);
            uint32_t place = put(b, i, key, ref);
            if (ref == own) found = place;
            else c->moved(c->ud, ref, b, place);
            if (!full) return found;
            key = greatest;
            ref = other;
        }
        set_fence(c, b, key);
        i = b->next;
    }
}

static uint32_t insert_at(aoi_chains *c, aoi_chain *l, uint32_t i, float key, uint32_t ref) {
    aoi_block *b = aoi_block_at(c, i);
    if (is_full(b)) {
        if (b->size != AOI_LARGEST) i = replace(c, l, size_for(c, aoi_block_count(b) + 1));
        else if (c->blocks[AOI_LARGEST].count) i = split(c, l, i, key);
        else return squeeze(c, i, key, ref);
        b = aoi_block_at(c, i);
    }
    return put(b, i, key, ref);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------------ */

static uint32_t seek(aoi_chains *c, const aoi_chain *l, uint32_t near, float key) {
    if (near == AOI_NONE) { /* from the nearer end */
        const aoi_block *head = aoi_block_at(c, l->head), *tail = aoi_block_at(c, l->tail);
        near = key - head->high < tail->low - key ? l->head : l->tail;
    }
    const aoi_block *b = aoi_block_at(c, near);
    for (; key > b->high; c->steps++) b = aoi_block_at(c, near = b->next);
    for (; key < b->low; c->steps++) b = aoi_block_at(c, near = b->prev);
    return near;
}

uint32_t aoi_chain_seek(aoi_chains *c, const aoi_chain *l, uint32_t near, double value) {
    return seek(c, l, near, aoi_block_key(aoi_block_at(c, l->head), value));
}

void aoi_chain_begin(aoi_chains *c, aoi_chain *l, aoi_label label, int size) {
    (void)add_block(c, l, label, size, AOI_NONE);
}

uint32_t aoi_chain_insert(aoi_chains *c, aoi_chain *l, aoi_label label, uint32_t near, double value, uint32_t ref) {
    if (near != AOI_NONE) near >>= AOI_PLACE_SHIFT;
    if (l->head == AOI_NONE) near = add_block(c, l, label, size_for(c, 1), AOI_NONE);
    float key = aoi_block_key(aoi_block_at(c, l->head), value);
    return insert_at(c, l, seek(c, l, near, key), key, ref);
}

/* Where little is left in a block, its entries go to a neighbour that has room. */
static void relieve(aoi_chains *c, aoi_chain *l, uint32_t i) {
    aoi_block *b = aoi_block_at(c, i);
    int count = aoi_block_count(b);
    if (count > FEW || l->head == l->tail) {
        if (!count) free_block(c, l, i);
        return;
    }
    uint32_t other = AOI_NONE;
    if (b->next != AOI_NONE && count + aoi_block_count(aoi_block_at(c, b->next)) <= MERGED) other = b->next;
    else if (b->prev != AOI_NONE && count + aoi_block_count(aoi_block_at(c, b->prev)) <= MERGED) other = b->prev;
    if (other == AOI_NONE && count) return;
    if (other != AOI_NONE) {
        carry_all(c, i, other);
        if (other == b->next) { /* free_block would give the interval to the block before */
            aoi_block_at(c, other)->low = b->low;
            b->high = b->low;
        }
    }
    free_block(c, l, i);
}

void aoi_chain_remove(aoi_chains *c, aoi_chain *l, uint32_t place) {
    uint32_t i = place >> AOI_PLACE_SHIFT;
    take(c, aoi_block_at(c, i), i, (int)(place & AOI_PLACE_MASK));
    relieve(c, l, i);
}

uint32_t aoi_chain_rekey(aoi_chains *c, aoi_chain *l, uint32_t place, double value) {
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
    relieve(c, l, i);
    return now;
}

void aoi_chain_pack(aoi_chains *c, aoi_chain *l) {
    if (l->head == AOI_NONE) return;
    for (uint32_t i = l->head; i != AOI_NONE; i = aoi_block_at(c, i)->next) {
        aoi_block *b = aoi_block_at(c, i);
        while (!is_full(b) && b->next != AOI_NONE) {
            uint32_t n = b->next;
            aoi_block *next = aoi_block_at(c, n);
            if (aoi_block_count(next)) {
                int k = extreme(next, true);
                set_fence(c, b, aoi_block_keys(next)[k]);
                carry(c, n, k, i);
            }
            if (!aoi_block_count(next)) free_block(c, l, n);
        }
    }
    const aoi_block *b = aoi_block_at(c, l->head);
    int size = size_for(c, aoi_block_count(b));
    if (l->head == l->tail && size < (int)b->size) (void)replace(c, l, size);
}

const char *aoi_chain_check(const aoi_chains *c, const aoi_chain *l) {
    uint32_t prev = AOI_NONE;
    float fence = -INFINITY;
    for (uint32_t i = l->head; i != AOI_NONE; i = aoi_block_at(c, i)->next) {
        aoi_block *b = aoi_block_at(c, i);
        float low = b->low, high = b->high;
        if (b->prev != prev) return "the links of a list disagree";
        if (aoi_block_count(b) < 1 || aoi_block_count(b) > aoi_block_cap(b))
            return "a block of a list has a wrong count";
        if (b->size != AOI_LARGEST && l->head != l->tail) return "a small block is not alone";
        if (!isfinite(b->base) || b->base != aoi_block_at(c, l->head)->base) return "keys of a list have other bases";
        if (low != fence || low > high) return "the blocks of a list are not sorted";
        for (int k = 0; (k = next_place(b, k)) < aoi_block_cap(b); k++) {
            if (!(low <= aoi_block_keys(b)[k] && aoi_block_keys(b)[k] <= high)) return "a list is not sorted";
            if (aoi_ref_is_point(aoi_block_refs(b)[k]) != (k < (int)b->points))
                return "points and edges stand mixed in a block";
        }
        fence = high;
        prev = i;
    }
    if (l->head != AOI_NONE && fence != INFINITY) return "the blocks of a list are not sorted";
    return l->tail == prev ? NULL : "a list's tail is not its last block";
}
