/* block_pool.h - blocks of four sizes, a whole number of cache lines each, for the unrolled lists of an engine.
 *
 *   chunks  [ 1 1 1 1 ... ] [ 7 lines | 7 lines | ... ] [ 2 | 2 | ... ]      64 lines, divided into blocks of one size
 *   unused  size 0 -> block -> block     size 3 -> block                     chained through their first word
 *
 * A block is known by the number of its first line, an entry by its place: that number and a slot in the block.  Chunks
 * never move, and unused blocks wait for the next list that needs one. */
#ifndef AOI_BLOCK_POOL_H
#define AOI_BLOCK_POOL_H

#include "base/hash_index.h"

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

/* So many unused blocks of each size; false when memory is refused. */
bool aoi_pool_reserve_sizes(aoi_memory *m, aoi_block_pool *p, const uint32_t blocks[AOI_BLOCK_SIZES]);

/* So many unused ones of the largest size, which any list is content with, and of the others if memory is granted. */
bool aoi_pool_add(aoi_memory *m, aoi_block_pool *p, uint32_t blocks);
static inline bool aoi_pool_reserve(aoi_memory *m, aoi_block_pool *p, uint32_t blocks) {
    bool ready = true;
    for (int size = 0; size < AOI_BLOCK_SIZES; size++) ready &= p->blocks[size].count >= blocks;
    return ready || aoi_pool_add(m, p, blocks);
}

/* After a reserve. */
uint32_t aoi_pool_take(aoi_block_pool *p, int size);
void aoi_pool_put(aoi_block_pool *p, uint32_t block, int size);
/* The least size, from this one on, of which there are unused blocks; the largest if there are none. */
static inline int aoi_pool_size(const aoi_block_pool *p, int size) {
    while (size < AOI_LARGEST && !p->blocks[size].count) size++;
    return size;
}

void aoi_pool_close(aoi_memory *m, aoi_block_pool *p);

#endif
