/* tower_parts.c - the cells of the tower engine to look at: entities, and the nodes that each tower knows. */
#include "engines/tower/towers.h"

static void describe_tower(const tower_layer *y, uint32_t layer, tower *t, aoi_describer *d) {
    aoi_part p = {.kind = AOI_PART_TOWER, .layer = layer, .nodes = t->count};
    aoi_cell_interval(t->cx, y->side, p.lo, p.hi);
    aoi_cell_interval(t->cy, y->side, p.lo + 1, p.hi + 1);
    if (!aoi_tell_part(d, &p)) return;
    for (uint32_t k = 0; k < t->count; k++)
        d->entry(d, 0, k < t->edges ? AOI_ENTRY_NODE : AOI_ENTRY_COVER, tower_list(t)[k]);
}

void aoi_towers_describe(const aoi_engine *head, aoi_describer *d) {
    const towers *g = (const towers *)(const void *)head;
    uint32_t layer = g->around.layer_count + 1;
    aoi_nine_describe(&g->around, d, 0);
    for (uint32_t i = 0; i < g->layer_count; i++)
        for (uint32_t k = 0; k < g->layers[i].top; k++)
            if (tower_exists(g->layers[i].towers + k))
                describe_tower(g->layers + i, layer + i, g->layers[i].towers + k, d);
}
