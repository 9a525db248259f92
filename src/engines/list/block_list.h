/* block_list.h - sorted, doubly linked lists, unrolled: a list node is a block of entries.
 *
 *   chain   head -> [ ..3.5] p7 p2 . . <4 >2 ] <-> [3.5..9] p1 . . >4 <8 <3 ] <-> [9..   ] ... <- tail
 *
 * An entry is a key and a ref.  A block owns an interval of keys and the blocks are sorted, bounds shared; within a block
 * points stand in front and edges at the back, in no order: what a move passes is found by comparing a block at once,
 * and a key that stays in its interval is changed in place.  Who put an entry in remembers its place, a 32-bit number of
 * block and slot; where an entry moves to another place, `moved` is told.  Links are numbers of blocks.
 *
 * Keys are floats, of the distance from the list's base: half the memory of doubles, and twice as many in a compare.
 * That keeps the order, but neighbours may become equal: whoever looks for what lies between two values finds all of it,
 * bounds included, and maybe others, and has to ask about the values themselves.
 *
 * Neighbours in a list are neighbours in memory: that is what unrolled lists are for (Shao, Reppy, Appel, 1994).  A short
 * list is one block of a smaller size, so that memory follows the entries where there are few in each list, too. */
#ifndef AOI_CHAIN_H
#define AOI_CHAIN_H

#include <math.h>

#include "base/hash_index.h"
#include "base/simd.h"

enum { AOI_CHUNK = 64 };                                /* lines that are allocated together */
enum { AOI_SIZES = 4, AOI_LARGEST = 3, AOI_MOST = 52 }; /* sizes of blocks; the largest, and its entries */
enum { AOI_PLACE_SHIFT = 6, AOI_PLACE_MASK = (1 << AOI_PLACE_SHIFT) - 1 };
enum { AOI_POINT, AOI_LOW, AOI_HIGH }; /* sides of a ref */
enum { AOI_SIDE_SHIFT = 30, AOI_SLOT_MASK = (1 << AOI_SIDE_SHIFT) - 1 };

static const int AOI_CAPS[AOI_SIZES] = {4, 12, 20, AOI_MOST}; /* entries in 1, 2, 3 and 7 lines */
enum { AOI_KEY_LINES = 4 };                                   /* of the largest: where its head and its keys are */

typedef struct aoi_label { /* what a block belongs to; the chains only carry it along, but for the base */
    uint32_t tile;
    uint8_t axis, level, parity;
    double base; /* finite, and the same for all of a list */
} aoi_label;

typedef struct aoi_block { /* numbered by its first line; behind the head: keys, then refs, of as many as fit in */
    uint32_t tile, next, prev;
    uint32_t points : 8, edges : 8, level : 8, axis : 2, parity : 2, size : 2;
    float low, high; /* all keys are within; shared with the neighbours */
    double base;
} aoi_block;

typedef struct aoi_chain {
    uint32_t head, tail;
} aoi_chain;

typedef struct aoi_chains { /* the pool of blocks that all chains of an engine share */
    char **chunks;          /* aligned to cache lines; each holds blocks of one size */
    void **raw;             /* as the allocator gave them */
    uint32_t chunk_cap, raw_cap, chunk_count;
    struct {
        uint32_t first, count; /* unused */
        uint32_t all;
    } blocks[AOI_SIZES];
    void (*moved)(void *ud, uint32_t ref, const aoi_block *b, uint32_t place);
    void *ud;
    uint64_t steps; /* blocks walked past in search of a place */
} aoi_chains;

static inline aoi_block *aoi_block_at(const aoi_chains *c, uint32_t i) {
    uint32_t within = (i % AOI_CHUNK) * AOI_CACHE_LINE;
    return (aoi_block *)(void *)(c->chunks[i / AOI_CHUNK] + within);
}

static inline int aoi_block_cap(const aoi_block *b) {
    return AOI_CAPS[b->size];
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

/* The places of a block's points or of its edges: from *first, before *end. */
static inline void aoi_block_range(const aoi_block *b, bool points, int *first, int *end) {
    int cap = aoi_block_cap(b);
    *first = points ? 0 : cap - (int)b->edges;
    *end = points ? (int)b->points : cap;
}

static inline aoi_block *aoi_block_of(const aoi_chains *c, uint32_t place) {
    return aoi_block_at(c, place >> AOI_PLACE_SHIFT);
}

/* So many unused ones of the largest size; of the others as many, if they are to be had. */
bool aoi_chains_make(aoi_memory *m, aoi_chains *c, uint32_t blocks);
static inline bool aoi_chains_reserve(aoi_memory *m, aoi_chains *c, uint32_t blocks) {
    bool ready = true;
    for (int size = 0; size < AOI_SIZES; size++) ready &= c->blocks[size].count >= blocks;
    return ready || aoi_chains_make(m, c, blocks);
}
bool aoi_chains_reserve_sizes(aoi_memory *m, aoi_chains *c, const uint32_t *blocks); /* of each size */
void aoi_chains_close(aoi_memory *m, aoi_chains *c);

/* Each returns the entry's place.  An insertion needs at most one unused block, and none when the list is packed and not
 * full.  `near`: a place in the chain from which to look, or AOI_NONE. */
int aoi_chain_size(uint32_t entries);                                         /* of the blocks of a list with so many */
void aoi_chain_begin(aoi_chains *c, aoi_chain *l, aoi_label label, int size); /* for entries that follow at once */
uint32_t aoi_chain_insert(aoi_chains *c, aoi_chain *l, aoi_label label, uint32_t near, double value, uint32_t ref);
uint32_t aoi_chain_rekey(aoi_chains *c, aoi_chain *l, uint32_t place, double value);
void aoi_chain_remove(aoi_chains *c, aoi_chain *l, uint32_t place);
/* A block whose interval holds the value's key, looked for from block `near` or, if that is none, from an end. */
uint32_t aoi_chain_seek(aoi_chains *c, const aoi_chain *l, uint32_t near, double value);
/* Fills the blocks from the front and frees those left over: where memory is short. */
void aoi_chain_pack(aoi_chains *c, aoi_chain *l);

const char *aoi_chain_check(const aoi_chains *c, const aoi_chain *l);

#endif
