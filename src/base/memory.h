/* memory.h - the host's allocator with a counter, and growing arrays on top of it. */
#ifndef AOI_MEMORY_H
#define AOI_MEMORY_H

#include "aoi.h"
#include "base/platform.h"

typedef struct aoi_memory {
    aoi_alloc alloc;
    void *ud;
    size_t used; /* bytes held */
} aoi_memory;

/* As aoi_alloc: NULL when refused; the old block stays valid then. */
void *aoi_resize(aoi_memory *m, void *ptr, size_t osize, size_t nsize);

/* Makes room for `need` items of `size` bytes in the array *items of *cap; grows by half.  False when refused. */
bool aoi_grow(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size);

/* The same, for `need` items and no more. */
bool aoi_grow_to(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size);

/* As aoi_grow; new items are copies of a value. */
bool aoi_grow_filled(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size, const void *value);

/* The same for items of a whole number of cache lines: each item starts where a line starts. */
bool aoi_grow_lines(aoi_memory *m, void **items, uint32_t *cap, size_t need, size_t size);
void aoi_free_lines(aoi_memory *m, void *items, uint32_t cap, size_t size);

/* For a typed array: AOI_GROW(mem, list->items, list->cap, need) */
#define AOI_GROW(m, items, cap, need)                                                                                  \
    ((need) <= (cap) || aoi_grow((m), (void **)&(items), &(cap), (need), sizeof *(items)))

#define AOI_GROW_TO(m, items, cap, need)                                                                               \
    ((need) <= (cap) || aoi_grow_to((m), (void **)&(items), &(cap), (need), sizeof *(items)))

#define AOI_GROW_FILLED(m, items, cap, need, value)                                                                    \
    ((need) <= (cap) || aoi_grow_filled((m), (void **)&(items), &(cap), (need), sizeof *(items), (value)))

#define AOI_FREE(m, items, cap) ((void)aoi_resize((m), (items), (size_t)(cap) * sizeof *(items), 0))

/* The same, and leaves an empty array. */
#define AOI_CLEAR(m, items, cap) (AOI_FREE(m, items, cap), (items) = NULL, (cap) = 0)

#define AOI_GROW_LINES(m, items, cap, need)                                                                            \
    ((need) <= (cap) || aoi_grow_lines((m), (void **)&(items), &(cap), (need), sizeof *(items)))

#define AOI_FREE_LINES(m, items, cap) aoi_free_lines((m), (items), (cap), sizeof *(items))

#endif
