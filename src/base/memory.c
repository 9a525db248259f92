/* memory.c - see memory.h. */
#include "base/memory.h"

#include <string.h>

void *aoi_resize(aoi_memory *m, void *ptr, size_t osize, size_t nsize) {
    if (!ptr && nsize == 0) return NULL;
    void *p = m->alloc(m->ud, ptr, ptr ? osize : 0, nsize);
    if (!p && nsize > 0) {
        if (nsize <= osize) p = ptr; /* the host refuses to shrink: the block stays larger */
        else return NULL;
    }
    m->used += nsize - (ptr ? osize : 0);
    return p;
}

static size_t grown(uint32_t cap, size_t need) {
    size_t to = (size_t)cap + cap / 2;
    if (to < 16) to = 16;
    return to < need ? need : to;
}

bool aoi_grow_to(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size) {
    if (need > UINT32_MAX - 1 || need > SIZE_MAX / size) return false;
    void *p = aoi_resize(m, *items, *cap * size, need * size);
    if (!p) return false;
    *items = p;
    *cap = (uint32_t)need;
    return true;
}

bool aoi_grow(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size) {
    return aoi_grow_to(m, items, cap, grown(*cap, need), size);
}

bool aoi_grow_filled(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size, const void *value) {
    uint32_t had = *cap;
    if (!aoi_grow(m, items, cap, need, size)) return false;
    for (size_t i = had; i < *cap; i++) memcpy((char *)*items + i * size, value, size);
    return true;
}

/* A block is a line longer than its items; the byte before them is their offset in the block. */
static unsigned char *block_of(void *items) {
    unsigned char *p = items;
    return p ? p - p[-1] : NULL;
}

bool aoi_grow_lines(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size) {
    size_t to = grown(*cap, need);
    if (to > UINT32_MAX - 1 || to > SIZE_MAX / size - 1) return false;
    unsigned char *block = aoi_resize(m, NULL, 0, to * size + AOI_CACHE_LINE);
    if (!block) return false;
    size_t shift = AOI_CACHE_LINE - (uintptr_t)block % AOI_CACHE_LINE;
    unsigned char *p = block + shift;
    p[-1] = (unsigned char)shift;
    if (*cap) memcpy(p, *items, *cap * size);
    aoi_free_lines(m, *items, *cap, size);
    *items = p;
    *cap = (uint32_t)to;
    return true;
}

void aoi_free_lines(aoi_memory *m, void *items, uint32_t cap, size_t size) {
    if (items) aoi_resize(m, block_of(items), cap * size + AOI_CACHE_LINE, 0);
}
