/* block_list.h - sorted, doubly linked lists, unrolled: a list node is a block of entries.
 *
 *   list   head -> [ ..3.5] p7 p2 . . <4 >2 ] <-> [3.5..9] p1 . . >4 <8 <3 ] <-> [9..   ] ... <- tail
 *
 * An entry is a key and a ref: a point (p), or a low (<) or high (>) edge.  A block owns an interval of keys; blocks
 * are sorted, and neighbours share a bound.  Within a block points stand in front and edges at the back, in no order:
 * what an entry passes is found by comparing a whole block at once, and a key that stays in its interval is changed in
 * place. The owner of an entry stores its place; `moved` is called when the place changes.
 *
 * Keys are floats, of the distance from the list's base: half the memory of doubles, and twice as many in a compare.
 * Rounding keeps the order but may make neighbours equal, so a scan between two values returns a superset; exact
 * positions decide.
 *
 * Neighbours in the list are neighbours in memory: unrolled linked lists (Shao, Reppy, Appel 1994).  A short list is
 * one block of a smaller size, so that memory follows the entries. */
#ifndef AOI_BLOCK_LIST_H
#define AOI_BLOCK_LIST_H

#include <math.h>

#include "base/hash_index.h"
#include "base/simd.h"

/* ---- blocks of four sizes, a whole number of cache lines each ---------------------------------------------------------
 *
 *   chunks  [ 1 1 1 1 ... ] [ 7 lines | 7 lines | ... ] [ 2 | 2 | ... ]      64 lines, divided into blocks of one size
 *   unused  size 0 -> block -> block     size 3 -> block                     chained through their first word
 *
 * The number of its first line identifies a block; that number and a slot in the block, its place, identify an entry.
 * Chunks never move, and any list may reuse an unused block. */
enum { AOI_CHUNK_LINES = 64, AOI_BLOCK_SIZES = 4, AOI_LARGEST = 3 };
enum { AOI_PLACE_SHIFT = 6, AOI_PLACE_MASK = (1 << AOI_PLACE_SHIFT) - 1 };

static const uint32_t AOI_BLOCK_LINES[AOI_BLOCK_SIZES] = {1, 2, 3, 7};

typedef struct aoi_block_pool {
    char **chunks; /* aligned to cache lines */
    void **raw;    /* as the allocator gave them */
    uint32_t chunk_cap, raw_cap, chunk_count;
    struct {
        uint32_t first, count; /* unused */
        uint32_t all;
    } blocks[AOI_BLOCK_SIZES];
} aoi_block_pool;

static inline void *aoi_pool_at(const aoi_block_pool *p, uint32_t block) {
    uint32_t within = (block % AOI_CHUNK_LINES) * AOI_CACHE_LINE;
    return p->chunks[block / AOI_CHUNK_LINES] + within;
}

static inline uint32_t aoi_place_of(uint32_t block, int slot) {
    return block << AOI_PLACE_SHIFT | (uint32_t)slot;
}

/* Makes that many unused blocks of the largest size, which suits any list, and of the others if there is memory. */
bool aoi_pool_add(aoi_memory *m, aoi_block_pool *p, uint32_t blocks);
static inline bool aoi_pool_reserve(aoi_memory *m, aoi_block_pool *p, uint32_t blocks) {
    bool ready = true;
    for (int size = 0; size < AOI_BLOCK_SIZES; size++) ready &= p->blocks[size].count >= blocks;
    return ready || aoi_pool_add(m, p, blocks);
}

void aoi_pool_close(aoi_memory *m, aoi_block_pool *p);

/* ---- lists of them ----------------------------------------------------------------------------------------------- */

enum { AOI_BLOCK_MOST = 52 };          /* entries of the largest block */
enum { AOI_BLOCK_KEY_LINES = 4 };      /* of the largest: those of its head and keys */
enum { AOI_POINT, AOI_LOW, AOI_HIGH }; /* sides of a ref */
enum { AOI_SIDE_SHIFT = 30, AOI_SLOT_MASK = (1 << AOI_SIDE_SHIFT) - 1 };

static const int AOI_BLOCK_CAPS[AOI_BLOCK_SIZES] = {4, 12, 20, AOI_BLOCK_MOST};

typedef struct aoi_label { /* the list of a block; the base is finite, and equal for all blocks of a list */
    uint32_t tile;
    uint8_t axis, level, parity;
    double base;
} aoi_label;

typedef struct aoi_block { /* behind this head: the keys, then the refs */
    uint32_t next, prev, tile;
    uint32_t points : 8, edges : 8, level : 8, axis : 2, parity : 2, size : 2;
    float low, high; /* all keys are within; shared with the neighbours */
    double base;
} aoi_block;

typedef struct aoi_block_list {
    uint32_t head, tail;
} aoi_block_list;

typedef struct aoi_block_lists { /* what all lists of an engine share */
    aoi_block_pool pool;
    void (*moved)(void *ud, uint32_t ref, const aoi_block *b, uint32_t place);
    void *ud;
    uint64_t *steps; /* counts blocks passed by searches */
} aoi_block_lists;

static inline aoi_block *aoi_block_at(const aoi_block_lists *c, uint32_t i) {
    return aoi_pool_at(&c->pool, i);
}

static inline aoi_block *aoi_block_of(const aoi_block_lists *c, uint32_t place) {
    return aoi_block_at(c, place >> AOI_PLACE_SHIFT);
}

static inline int aoi_block_cap(const aoi_block *b) {
    return AOI_BLOCK_CAPS[b->size];
}

/* The key of a value; never falls while the value rises.  What a float cannot hold is infinite. */
static inline float aoi_block_key(const aoi_block *b, double value) {
    return (float)(value - b->base);
}

static inline float *aoi_block_keys(aoi_block *b) {
    return (float *)(void *)(b + 1);
}

static inline uint32_t *aoi_block_refs(aoi_block *b) {
    return (uint32_t *)(void *)(aoi_block_keys(b) + aoi_block_cap(b));
}

static inline int aoi_block_count(const aoi_block *b) {
    return (int)(b->points + b->edges);
}

static inline uint32_t aoi_ref_of(int side, uint32_t slot) {
    return (uint32_t)side << AOI_SIDE_SHIFT | slot;
}

static inline bool aoi_ref_is_point(uint32_t ref) {
    return ref >> AOI_SIDE_SHIFT == AOI_POINT;
}

/* Bit k: entry k is one of the block's points, or of its edges, and its key lies between two, bounds included. */
AOI_INLINE uint64_t aoi_block_between(aoi_block *b, float lo, float hi, bool points) {
    int cap = aoi_block_cap(b);
    uint64_t bits = aoi_lanes_many(aoi_block_keys(b), points ? (int)b->points : cap, lo, hi);
    return points ? bits & aoi_lanes_mask((int)b->points)
                  : bits & aoi_lanes_mask(cap) & ~aoi_lanes_mask(cap - (int)b->edges);
}

/* Insertions need an unused block of the largest size, so does a rekey that leaves the block's interval.  `near`: a place
 * in the list where the search begins, or AOI_NONE: from the nearer end.  Both return the entry's place. */
uint32_t aoi_block_insert(aoi_block_lists *c, aoi_block_list *l, aoi_label label, uint32_t near, double value,
                          uint32_t ref);
uint32_t aoi_block_rekey(aoi_block_lists *c, aoi_block_list *l, uint32_t place, double value);
void aoi_block_remove(aoi_block_lists *c, aoi_block_list *l, uint32_t place);
void aoi_block_free_all(aoi_block_lists *c, aoi_block_list *l); /* with all entries */

#endif
