/* nine_grid.c - see nine_grid.h. */
#include "grid/nine_grid.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void aoi_grid_open(aoi_grid *g, aoi_records *r, double hint) {
    *g = (aoi_grid){.records = r, .fixed = hint > 0 && isfinite(hint), .base = 1, .last = AOI_NONE};
    if (g->fixed) g->base = fmax(hint, AOI_GRID_LEAST_SIDE);
    aoi_spatial_open(&g->points, g->fixed ? g->base : AOI_GRID_SIDE, false);
}

void aoi_grid_close(aoi_grid *g) {
    while (g->level_count) aoi_spatial_close(aoi_grid_memory(g), &g->levels[--g->level_count].cells);
    AOI_CLEAR(aoi_grid_memory(g), g->levels, g->level_cap);
    AOI_CLEAR(aoi_grid_memory(g), g->ahead, g->ahead_cap);
    aoi_spatial_close(aoi_grid_memory(g), &g->points);
    g->points.carries = false;
    g->tuned = g->counted = 0;
    g->watched = false;
    g->chosen = 0;
    g->rare = 0;
}

static void grid_note_change(aoi_grid *g) {
    g->changed = g->records->untidy = true;
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

bool aoi_grid_enter(aoi_grid *g, uint32_t entity) {
    aoi_records *r = g->records;
    aoi_entity_record *e = r->entities + entity;
    uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &g->points, AOI_NONE, e->pos);
    if (cell == AOI_NONE) return false;
    aoi_item_insert(r, &g->points, cell, e->pos, entity, (e->kind & g->rare) != 0);
    e->link = AOI_GRID_NO_LINK;
    e->scattered = 0;
    grid_note_change(g);
    return true;
}

void aoi_grid_leave(aoi_grid *g, uint32_t entity) {
    if (g->last == entity) g->last = AOI_NONE;
    grid_note_change(g);
    aoi_item_remove(g->records, &g->points, entity);
}

void aoi_grid_set_kind(aoi_grid *g, uint32_t entity, uint64_t kind) {
    aoi_spatial_mark(&g->points, g->records->entities[entity].place.slot, (kind & g->rare) != 0);
}

bool aoi_grid_relocate(aoi_grid *g, uint32_t entity, const double *to) {
    aoi_records *r = g->records;
    const aoi_entity_record *e = r->entities + entity;
    return e->scattered ? aoi_grid_move_chain(g, entity, e->pos, to) : aoi_item_move(r, &g->points, entity, to);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

bool aoi_grid_add_node(aoi_grid *g, uint32_t node, const aoi_bounds *b) {
    aoi_grid_place place;
    if (!aoi_grid_reserve(g, node, b, &place)) return false;
    aoi_grid_level_insert(g, node, b, place);
    grid_note_change(g);
    return true;
}

void aoi_grid_remove_node(aoi_grid *g, uint32_t node) {
    aoi_grid_level_remove(g, node);
    grid_note_change(g);
}

void aoi_grid_resize_node(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place) {
    aoi_grid_level_remove(g, node);
    memcpy(g->records->nodes[node].reach, b->reach, sizeof g->records->nodes[node].reach);
    aoi_grid_level_insert(g, node, b, place);
    grid_note_change(g);
}

void aoi_grid_mask_changed(aoi_grid *g, uint32_t node) {
    const aoi_node_record *n = g->records->nodes + node;
    g->levels[n->level].masks |= n->mask;
    g->levels[n->level].excepts |= (n->flags & AOI_NODE_OVERRIDES) != 0;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

void aoi_grid_stats(const aoi_grid *g, aoi_stats *out) {
    out->cells += g->points.used;
    for (uint32_t i = 0; i < g->level_count; i++) {
        out->cells += g->levels[i].cells.used;
        out->levels += g->levels[i].count > 0;
    }
}

void aoi_grid_describe(const aoi_grid *g, aoi_describer *d, uint32_t level) {
    aoi_spatial_describe(&g->points, d, AOI_PART_CELL, level, AOI_ENTRY_ENTITY);
    for (uint32_t i = 0; i < g->level_count; i++)
        if (!g->levels[i].crowd)
            aoi_spatial_describe(&g->levels[i].cells, d, AOI_PART_NODES, level + i + 1, AOI_ENTRY_NODE);
}
