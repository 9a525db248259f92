/* list_parts.c - describes the tiles of the list engine, with their lists by rising key.
 *
 * Blocks are in order, entries within a block are not: they are found by key, at equal keys as the rule has them, low
 * edges before points before high edges. */
#include "engines/list/list.h"

/* Rank of a side among equal keys. */
static int side_rank(uint32_t ref) {
    static const int ranks[] = {[AOI_POINT] = 1, [AOI_LOW] = 0, [AOI_HIGH] = 2};
    return ranks[ref >> AOI_SIDE_SHIFT];
}

static bool comes_before(aoi_block *b, int i, int k) {
    float x = aoi_block_keys(b)[i], y = aoi_block_keys(b)[k];
    uint32_t p = aoi_block_refs(b)[i], q = aoi_block_refs(b)[k];
    if (x != y) return x < y;
    return side_rank(p) != side_rank(q) ? side_rank(p) < side_rank(q) : p < q;
}

static void describe_block(aoi_describer *d, int axis, aoi_block *b) {
    static const int kinds[] = {[AOI_POINT] = AOI_ENTRY_ENTITY, [AOI_LOW] = AOI_ENTRY_LOW, [AOI_HIGH] = AOI_ENTRY_HIGH};
    int order[AOI_BLOCK_MOST], n = 0, cap = aoi_block_cap(b);
    for (int k = 0; k < cap; k++) {
        if (k >= (int)b->points && k < cap - (int)b->edges) continue; /* the gap */
        int at = n++;
        for (; at > 0 && comes_before(b, k, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = k;
    }
    for (int k = 0; k < n; k++) {
        uint32_t ref = aoi_block_refs(b)[order[k]];
        d->entry(d, axis, kinds[ref >> AOI_SIDE_SHIFT], ref & AOI_SLOT_MASK);
    }
}

static void describe_list(const aoi_list *g, aoi_describer *d, int axis, const aoi_block_list *l) {
    for (uint32_t i = l->head; i != AOI_NONE; i = aoi_block_at(&g->lists, i)->next) {
        if (i != l->head) d->entry(d, axis, AOI_ENTRY_BREAK, 0);
        describe_block(d, axis, aoi_block_at(&g->lists, i));
    }
}

static aoi_part part_of(const aoi_tile_map *map, const aoi_tile *t, uint32_t level) {
    aoi_part p = {.kind = AOI_PART_TILE, .level = level};
    aoi_cell_interval(t->tx, map->side, p.lo, p.hi);
    aoi_cell_interval(t->ty, map->side, p.lo + 1, p.hi + 1);
    return p;
}

static void describe_level(const aoi_list *g, aoi_describer *d, const aoi_level *y, uint32_t level) {
    int dims = aoi_list_dims(g);
    for (uint32_t i = 0; i < y->map.top; i++) {
        const aoi_tile *t = y->map.tiles + i;
        if (aoi_tiles_find(&y->map, t->tx, t->ty) != i) continue; /* unused */
        aoi_part p = part_of(&y->map, t, level);
        for (int axis = 0; axis < dims; axis++)
            for (uint32_t k = t->axis[axis].head; k != AOI_NONE; k = aoi_block_at(&g->lists, k)->next) {
                p.entities += aoi_block_at(&g->lists, k)->points;
                p.nodes += aoi_block_at(&g->lists, k)->edges;
            }
        if (!aoi_report_part(d, &p)) continue;
        for (int axis = 0; axis < dims; axis++) describe_list(g, d, axis, t->axis + axis);
    }
}

uint32_t aoi_list_describe(const aoi_engine *head, aoi_describer *d) {
    const aoi_list *g = (const aoi_list *)(const void *)head;
    uint32_t level = 0;
    for (int i = 0; i < g->level_count; i++) describe_level(g, d, g->levels + g->order[i], level++);
    return level;
}
