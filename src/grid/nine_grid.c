/* nine_grid.c - see nine_grid.h. */
#include "grid/nine_grid.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void aoi_grid_open(aoi_grid *g, aoi_world *w, double hint) {
    *g = (aoi_grid){.world = w, .fixed = hint > 0 && isfinite(hint), .base = 1, .last = AOI_NONE};
    if (g->fixed) g->base = fmax(hint, AOI_GRID_LEAST_SIDE);
    aoi_spatial_open(&g->points, g->fixed ? g->base : AOI_GRID_SIDE, false);
}

void aoi_grid_close(aoi_grid *g) {
    while (g->layer_count) aoi_spatial_close(aoi_grid_memory(g), &g->layers[--g->layer_count].cells);
    AOI_CLEAR(aoi_grid_memory(g), g->layers, g->layer_cap);
    AOI_CLEAR(aoi_grid_memory(g), g->ahead, g->ahead_cap);
    aoi_spatial_close(aoi_grid_memory(g), &g->points);
    g->tuned = g->counted = 0;
    g->watched = false;
    g->chosen = 0;
    g->rare = 0;
}

static void grid_note_change(aoi_grid *g) {
    g->changed = g->world->untidy = true;
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

bool aoi_grid_enter(aoi_grid *g, uint32_t entity) {
    aoi_world *w = g->world;
    aoi_entity_record *e = w->entities + entity;
    uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &g->points, AOI_NONE, e->pos);
    if (cell == AOI_NONE) return false;
    aoi_item_insert(w, &g->points, cell, e->pos, entity, (e->kind & g->rare) != 0);
    e->link = AOI_GRID_NO_LINK;
    e->scattered = 0;
    grid_note_change(g);
    return true;
}

void aoi_grid_leave(aoi_grid *g, uint32_t entity) {
    if (g->last == entity) g->last = AOI_NONE;
    grid_note_change(g);
    aoi_item_remove(g->world, &g->points, entity);
}

void aoi_grid_set_kind(aoi_grid *g, uint32_t entity, uint64_t kind) {
    aoi_spatial_mark(&g->points, g->world->entities[entity].place.slot, (kind & g->rare) != 0);
}

bool aoi_grid_relocate(aoi_grid *g, uint32_t entity, const double *to) {
    aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    return e->scattered ? aoi_grid_move_chain(g, entity, e->pos, to) : aoi_item_move(w, &g->points, entity, to);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

bool aoi_grid_add_node(aoi_grid *g, uint32_t node, const aoi_bounds *b) {
    aoi_grid_place place;
    if (!aoi_grid_reserve(g, node, b, &place)) return false;
    aoi_grid_layer_insert(g, node, b, place);
    grid_note_change(g);
    return true;
}

void aoi_grid_remove_node(aoi_grid *g, uint32_t node) {
    aoi_grid_layer_remove(g, node);
    grid_note_change(g);
}

void aoi_grid_resize_node(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place) {
    aoi_grid_layer_remove(g, node);
    aoi_grid_layer_insert(g, node, b, place);
    grid_note_change(g);
}

void aoi_grid_mask_changed(aoi_grid *g, uint32_t node) {
    const aoi_node_record *n = g->world->nodes + node;
    g->layers[n->level].masks |= n->mask;
    g->layers[n->level].excepts |= (n->flags & AOI_NODE_OVERRIDES) != 0;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

void aoi_grid_stats(const aoi_grid *g, aoi_stats *out) {
    out->cells += g->points.used;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        out->cells += g->layers[i].cells.used;
        out->levels += g->layers[i].count > 0;
    }
}

void aoi_grid_describe(const aoi_grid *g, aoi_describer *d, uint32_t layer) {
    aoi_spatial_describe(&g->points, d, AOI_PART_CELL, layer, AOI_ENTRY_ENTITY);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (!g->layers[i].crowd)
            aoi_spatial_describe(&g->layers[i].cells, d, AOI_PART_NODES, layer + i + 1, AOI_ENTRY_NODE);
}

const char *aoi_grid_check(const aoi_grid *g) {
    const aoi_world *w = g->world;
    const char *wrong = NULL;
    uint32_t entities = 0;
    for (uint32_t e = 0; e < w->entity_top && !wrong; e++) {
        const aoi_entity_record *r = w->entities + e;
        if (!aoi_is_live(r->generation)) continue;
        entities++;
        if (!aoi_spatial_has(&g->points, r->place.cell, r->place.slot, r->pos, e))
            return "an entity is not where its cell has it";
        if (aoi_spatial_is_marked(&g->points, r->place.slot) != ((r->kind & g->rare) != 0))
            return "an entity of a rare kind is not marked, or another is";
    }
    if (!wrong && entities != g->points.count) wrong = "the grid counts its entities wrongly";
    return wrong ? wrong : aoi_grid_check_layers(g);
}
