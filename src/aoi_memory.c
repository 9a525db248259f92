/* aoi_memory.c - see aoi_memory.h. */
#include "aoi_memory.h"

void *aoi_resize(aoi_memory *m, void *ptr, size_t osize, size_t nsize) {
    if (!ptr && nsize == 0) return NULL;
    void *p = m->alloc(m->ud, ptr, ptr ? osize : 0, nsize);
    if (!p && nsize > 0) {
        if (nsize <= osize) p = ptr; /* a host that may refuse to shrink: the block simply stays larger */
        else return NULL;
    }
    m->used += nsize - (ptr ? osize : 0);
    return p;
}

bool aoi_grow(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size) {
    size_t to = (size_t)*cap + *cap / 2;
    if (to < 16) to = 16;
    if (to < need) to = need;
    if (to > UINT32_MAX - 1 || to > SIZE_MAX / size) return false;
    void *p = aoi_resize(m, *items, *cap * size, to * size);
    if (!p) return false;
    *items = p;
    *cap = (uint32_t)to;
    return true;
}
