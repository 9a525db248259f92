/* bags.c - unrolled lists of tiles, in no order (rings.h). */
#include <string.h>

#include "engines/list/list.h"

_Static_assert(sizeof(aoi_bag) == 16, "so that the smallest block holds four points");

aoi_bag *aoi_bag_of(const aoi_list *g, uint32_t block) {
    return aoi_pool_at(&g->lists.pool, block);
}

uint32_t *aoi_bag_home(const aoi_list *g, const aoi_field *f, uint32_t ref) {
    return f->lanes == AOI_POINT_LANES ? &g->head.world->entities[ref].home : &g->head.world->nodes[ref].home;
}

static uint32_t new_bag(aoi_list *g, int size, uint32_t tile, uint32_t next) {
    uint32_t block = aoi_pool_take(&g->lists.pool, size);
    *aoi_bag_of(g, block) = (aoi_bag){next, tile, 0, (uint32_t)size};
    return block;
}

static void copy_entry(const aoi_field *f, aoi_bag *from, int k, aoi_bag *to, int into) {
    for (int lane = 0; lane <= f->lanes; lane++) /* the refs are the last lane */
        memcpy(aoi_bag_lane(to, f->lanes, lane) + into, aoi_bag_lane(from, f->lanes, lane) + k, sizeof(float));
}

static uint32_t enlarge_bag(aoi_list *g, const aoi_field *f, uint32_t head) {
    aoi_bag *b = aoi_bag_of(g, head);
    uint32_t block = new_bag(g, aoi_pool_size(&g->lists.pool, (int)b->size + 1), b->tile, b->next);
    aoi_bag *larger = aoi_bag_of(g, block);
    for (; larger->count < b->count; larger->count++) {
        int k = (int)larger->count;
        copy_entry(f, b, k, larger, k);
        *aoi_bag_home(g, f, aoi_bag_refs(b, f->lanes)[k]) = aoi_place_of(block, k);
    }
    aoi_pool_put(&g->lists.pool, head, (int)b->size);
    return block;
}

void aoi_bag_insert(aoi_list *g, aoi_field *f, uint32_t tile, const float *values, uint32_t ref) {
    aoi_tile *t = f->map.tiles + tile;
    uint32_t *head = &t->axis[0].head;
    const aoi_bag *first = *head != AOI_NONE ? aoi_bag_of(g, *head) : NULL;
    if (!first || (first->size == AOI_LARGEST && first->count == (uint32_t)aoi_bag_cap(first->size, f->lanes)))
        *head = new_bag(g, aoi_pool_size(&g->lists.pool, 0), tile, *head);
    else if (first->count == (uint32_t)aoi_bag_cap(first->size, f->lanes)) *head = enlarge_bag(g, f, *head);
    aoi_bag *b = aoi_bag_of(g, *head);
    int k = (int)b->count++;
    for (int lane = 0; lane < f->lanes; lane++) aoi_bag_lane(b, f->lanes, lane)[k] = values[lane];
    aoi_bag_refs(b, f->lanes)[k] = ref;
    *aoi_bag_home(g, f, ref) = aoi_place_of(*head, k);
    aoi_tiles_count(&f->map, t, 1);
}

/* The last entry of the first block fills the hole. */
void aoi_bag_remove(aoi_list *g, aoi_field *f, uint32_t place) {
    aoi_bag *b = aoi_bag_of(g, place >> AOI_PLACE_SHIFT);
    aoi_tile *t = f->map.tiles + b->tile;
    uint32_t head = t->axis[0].head;
    aoi_bag *first = aoi_bag_of(g, head);
    int k = (int)(place & AOI_PLACE_MASK), last = (int)--first->count;
    if (first != b || k != last) {
        copy_entry(f, first, last, b, k);
        *aoi_bag_home(g, f, aoi_bag_refs(b, f->lanes)[k]) = place;
    }
    if (!first->count) {
        t->axis[0].head = first->next;
        aoi_pool_put(&g->lists.pool, head, (int)first->size);
    }
    aoi_tiles_count(&f->map, t, -1);
}
