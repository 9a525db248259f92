/* aoi_chain.h - sorted, doubly linked lists, unrolled: a list node is one cache line with up to four entries.
 *
 *   chain   head -> [ 3.0 p7 | 3.5 <2 | 8.0 p1 |  ] <-> [ 8.0 >2 | 9.1 p4 |  |  ] <-> ... <- tail
 *
 * An entry is a key and a ref; they are sorted by key, then by ref, so that the order is total.  Who put an entry in
 * remembers its block; where entries move to another block, `moved` is told.  Links are 32-bit numbers of blocks.
 * Neighbours in a list are neighbours in memory: that is what unrolled lists are for (Shao, Reppy, Appel, 1994). */
#ifndef AOI_CHAIN_H
#define AOI_CHAIN_H

#include "aoi_index.h"

enum { AOI_ENTRIES = 4, AOI_CHUNK = 128 }; /* entries in a block, blocks that are allocated together */

typedef struct aoi_label { /* what a block belongs to; the chains only carry it along */
    uint32_t tile;
    uint8_t axis, level, parity;
} aoi_label;

typedef struct aoi_block {
    double key[AOI_ENTRIES];
    uint32_t ref[AOI_ENTRIES];
    uint32_t next, prev;
    uint32_t tile;
    uint8_t axis, level, parity, count;
} aoi_block;

typedef struct aoi_chain {
    uint32_t head, tail;
} aoi_chain;

typedef struct aoi_chains { /* the pool of blocks that all chains of an engine share */
    aoi_block **chunks;     /* aligned to cache lines */
    void **raw;             /* as the allocator gave them */
    uint32_t chunk_cap, raw_cap, chunk_count;
    uint32_t unused, unused_count;
    void (*moved)(void *ud, uint32_t ref, const aoi_block *b, uint32_t block);
    void *ud;
    uint64_t steps;
} aoi_chains;

static inline aoi_block *aoi_block_at(const aoi_chains *c, uint32_t i) {
    return c->chunks[i / AOI_CHUNK] + i % AOI_CHUNK;
}

/* a before b? */
static inline bool aoi_entry_less(double ka, uint32_t ra, double kb, uint32_t rb) {
    return ka < kb || (ka == kb && ra < rb);
}

/* The place of an entry in its block. */
static inline int aoi_entry_slot(const aoi_block *b, uint32_t ref) {
    int k = 0;
    while (b->ref[k] != ref) k++;
    return k;
}

bool aoi_chains_reserve(aoi_memory *m, aoi_chains *c, uint32_t blocks); /* so many unused ones */
void aoi_chains_close(aoi_memory *m, aoi_chains *c);

/* Each returns the entry's block.  An insertion needs at most one unused block.  `near`: a block of the chain from which
 * to look for the place, or AOI_NONE. */
uint32_t aoi_chain_insert(aoi_chains *c, aoi_chain *l, aoi_label label, uint32_t near, double key, uint32_t ref);
uint32_t aoi_chain_rekey(aoi_chains *c, aoi_chain *l, uint32_t block, double key, uint32_t ref);
void aoi_chain_remove(aoi_chains *c, aoi_chain *l, uint32_t block, uint32_t ref);
/* Fills the blocks from the front and frees those left over: where memory is short. */
void aoi_chain_pack(aoi_chains *c, aoi_chain *l);

const char *aoi_chain_check(const aoi_chains *c, const aoi_chain *l);

#endif
