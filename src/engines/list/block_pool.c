/* block_pool.c - see block_pool.h. */
#include "engines/list/block_pool.h"

void aoi_pool_put(aoi_block_pool *p, uint32_t block, int size) {
    *(uint32_t *)aoi_pool_at(p, block) = p->blocks[size].count ? p->blocks[size].first : AOI_NONE;
    p->blocks[size].first = block;
    p->blocks[size].count++;
}

uint32_t aoi_pool_take(aoi_block_pool *p, int size) {
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
    for (uint32_t i = blocks; i > 0; i--) aoi_pool_put(p, first + (i - 1) * lines, size);
    p->blocks[size].all += blocks;
    return true;
}

bool aoi_pool_reserve_sizes(aoi_memory *m, aoi_block_pool *p, const uint32_t blocks[AOI_BLOCK_SIZES]) {
    for (int size = 0; size < AOI_BLOCK_SIZES; size++)
        while (p->blocks[size].count < blocks[size])
            if (!add_chunk(m, p, size)) return false;
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
