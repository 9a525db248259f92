/* tiles.c - see tiles.h. */
#include <assert.h>
#include <string.h>

#include "engines/list/list.h"

/* ---- tile maps --------------------------------------------------------------------------------------------------- */

uint32_t aoi_tiles_make(aoi_memory *m, aoi_tile_map *t, int32_t tx, int32_t ty) {
    uint32_t i = aoi_tiles_find(t, tx, ty);
    if (i != AOI_NONE) return i;
    if (!aoi_hash_index_reserve(m, &t->index, t->index.count + (size_t)1)) return AOI_NONE;
    if ((i = t->unused) != AOI_NONE) t->unused = t->tiles[i].entries;
    else if (AOI_GROW(m, t->tiles, t->cap, t->top + (size_t)1)) i = t->top++;
    else return AOI_NONE;
    aoi_tile *tile = t->tiles + i;
    *tile = (aoi_tile){.tx = tx, .ty = ty};
    for (int a = 0; a < 3; a++) tile->axis[a] = (aoi_block_list){AOI_NONE, AOI_NONE};
    aoi_hash_index_add(&t->index, aoi_cell_hash(tx, ty), i);
    t->used++;
    t->empty++;
    return i;
}

bool aoi_tiles_make_all(aoi_memory *m, aoi_tile_map *t, const aoi_span *s) {
    for (int32_t ty = s->y0; ty <= s->y1; ty++)
        for (int32_t tx = s->x0; tx <= s->x1; tx++)
            if (aoi_tiles_make(m, t, tx, ty) == AOI_NONE) return false;
    return true;
}

void aoi_tiles_tidy(aoi_tile_map *t) {
    if (t->empty < 32 || t->empty < t->used / 4) return;
    for (uint32_t i = 0; i < t->top; i++) {
        aoi_tile *tile = t->tiles + i;
        if (tile->entries || aoi_tiles_find(t, tile->tx, tile->ty) != i) continue;
        aoi_hash_index_remove(&t->index, aoi_cell_hash(tile->tx, tile->ty), i);
        tile->entries = t->unused;
        t->unused = i;
        t->used--;
    }
    t->empty = 0;
}

void aoi_tiles_close(aoi_memory *m, aoi_tile_map *t) {
    AOI_FREE(m, t->tiles, t->cap);
    aoi_hash_index_free(m, &t->index);
    *t = (aoi_tile_map){0};
}

/* ---- entries in the lists of a level ----------------------------------------------------------------------------- */

enum { FEW_POINTS = 8 }; /* in a tile */

/* The word that stores the place of an entry. */
static uint32_t *place_word(const aoi_list *g, uint32_t ref, uint32_t level, int axis, int parity) {
    int side = (int)(ref >> AOI_SIDE_SHIFT), dims = aoi_list_dims(g), high = side == AOI_HIGH;
    uint32_t slot = ref & AOI_SLOT_MASK;
    if (side == AOI_POINT) return aoi_point_places(g->levels + level, dims, slot) + axis;
    return aoi_edge_places(g, slot) + (axis < 2 ? axis * 4 + high * 2 : 8 + high * 4) + parity;
}

void aoi_level_moved(void *list, uint32_t ref, const aoi_block *b, uint32_t place) {
    *place_word(list, ref, b->level, (int)b->axis, (int)b->parity) = place;
}

static void insert_entry(aoi_list *g, aoi_level *y, uint32_t tile, int axis, uint32_t near, double key, uint32_t ref) {
    assert(tile < y->map.top);
    aoi_tile *t = y->map.tiles + tile;
    int parity = aoi_tiles_parity(axis, t->tx, t->ty);
    aoi_label label = {tile, (uint8_t)axis, (uint8_t)(y - g->levels), (uint8_t)parity,
                       aoi_tiles_base(&y->map, axis, t->tx, t->ty)};
    uint32_t place = aoi_block_insert(&g->lists, t->axis + axis, label, near, key, ref);
    *place_word(g, ref, label.level, axis, parity) = place;
    aoi_tiles_count(&y->map, t, 1);
}

static void remove_entry(aoi_list *g, aoi_level *y, uint32_t *place) {
    const aoi_block *b = aoi_block_of(&g->lists, *place);
    aoi_tile *t = y->map.tiles + b->tile;
    aoi_block_remove(&g->lists, t->axis + b->axis, *place);
    *place = AOI_NONE;
    aoi_tiles_count(&y->map, t, -1);
}

bool aoi_point_ready(aoi_list *g, aoi_level *y, const double *at) {
    aoi_memory *m = aoi_list_memory(g);
    return aoi_tiles_make(m, &y->map, aoi_tiles_number(&y->map, at[0]), aoi_tiles_number(&y->map, at[1])) != AOI_NONE;
}

/* The place in this tile's list of an entity close by, near which the search begins, or AOI_NONE. */
static uint32_t near_place(const aoi_list *g, const aoi_level *y, uint32_t tile, int axis, uint32_t entity) {
    uint32_t other = aoi_grid_beside(g->head.records->grid, entity);
    if (other == AOI_NONE) return AOI_NONE;
    uint32_t place = aoi_point_places(y, aoi_list_dims(g), other)[axis];
    return place != AOI_NONE && aoi_block_of(&g->lists, place)->tile == tile ? place : AOI_NONE;
}

void aoi_insert_point(aoi_list *g, aoi_level *y, uint32_t entity, const double *at) {
    uint32_t tile = aoi_tiles_find(&y->map, aoi_tiles_number(&y->map, at[0]), aoi_tiles_number(&y->map, at[1]));
    for (int a = 0; a < aoi_list_dims(g); a++)
        insert_entry(g, y, tile, a, near_place(g, y, tile, a, entity), at[a], aoi_ref_of(AOI_POINT, entity));
}

void aoi_remove_point(aoi_list *g, aoi_level *y, uint32_t entity) {
    uint32_t *place = aoi_point_places(y, aoi_list_dims(g), entity);
    for (int a = 0; a < aoi_list_dims(g); a++) remove_entry(g, y, place + a);
}

bool aoi_box_ready(aoi_list *g, aoi_level *y, const double *at, const double *reach) {
    aoi_span s = aoi_tiles_span_around(&y->map, at, reach[0], reach[1]);
    return aoi_tiles_make_all(aoi_list_memory(g), &y->map, &s);
}

/* A box without an upper and lower end needs no edges of the height. */
static int box_axes(const aoi_list *g, const double *reach) {
    return aoi_list_dims(g) == 3 && reach[2] <= DBL_MAX ? 3 : 2;
}

void aoi_insert_box(aoi_list *g, aoi_level *y, uint32_t node, const double *at, const double *reach) {
    aoi_span box = aoi_tiles_span_around(&y->map, at, reach[0], reach[1]);
    uint32_t *place = aoi_edge_places(g, node);
    for (uint32_t i = 0; i < aoi_edge_count(aoi_list_dims(g)); i++) place[i] = AOI_NONE;
    for (int a = 0; a < box_axes(g, reach); a++)
        for (int side = AOI_LOW; side <= AOI_HIGH; side++) {
            aoi_span s = aoi_tiles_span_of_edge(&box, a, side);
            for (int32_t ty = s.y0; ty <= s.y1; ty++)
                for (int32_t tx = s.x0; tx <= s.x1; tx++)
                    insert_entry(g, y, aoi_tiles_find(&y->map, tx, ty), a, AOI_NONE, aoi_edge_at(at, reach, a, side),
                                 aoi_ref_of(side, node));
        }
}

void aoi_remove_box(aoi_list *g, aoi_level *y, uint32_t node) {
    uint32_t *place = aoi_edge_places(g, node);
    for (uint32_t i = 0; i < aoi_edge_count(aoi_list_dims(g)); i++)
        if (place[i] != AOI_NONE) remove_entry(g, y, place + i);
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static void close_level(aoi_list *g, aoi_level *y) {
    for (uint32_t t = 0; t < y->map.top; t++)
        for (int a = 0; a < aoi_list_dims(g); a++) aoi_block_free_all(&g->lists, y->map.tiles[t].axis + a);
    AOI_FREE(aoi_list_memory(g), y->point_places, y->place_cap);
    aoi_tiles_close(aoi_list_memory(g), &y->map);
    *y = (aoi_level){0};
}

void aoi_level_drop(aoi_list *g, int i) {
    close_level(g, g->levels + g->order[i]);
    g->level_count--;
    for (; i < g->level_count; i++) g->order[i] = g->order[i + 1];
}

/* Adds all entities to a new level in the order of the map, so that searches in long lists begin close by. */
static bool populate(aoi_list *g, aoi_level *y) {
    aoi_records *r = g->head.records;
    aoi_memory *m = aoi_list_memory(g);
    size_t words = (size_t)r->entity_top * (size_t)r->dims;
    if (!AOI_GROW(m, y->point_places, y->place_cap, words)) return false;
    memset(y->point_places, 255, words * sizeof *y->point_places);
    const aoi_spatial_hash *h = &g->head.records->grid->points;
    for (uint32_t c = 0; c < h->top; c++) {
        if (!aoi_cell_exists(h->cells + c)) continue;
        for (uint32_t b = h->cells[c].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t k = 0; k < h->buckets[b].count; k++) {
                uint32_t e = h->buckets[b].ref[k];
                if (!aoi_point_ready(g, y, r->entities[e].pos) ||
                    !aoi_pool_reserve(m, &g->lists.pool, (uint32_t)r->dims))
                    return false;
                aoi_insert_point(g, y, e, r->entities[e].pos);
            }
    }
    return true;
}

static aoi_level *make_level(aoi_list *g, double side) {
    int slot = 0, i = g->level_count;
    while (slot < AOI_MOST_LEVELS && g->levels[slot].map.side != 0) slot++;
    aoi_level *y = g->levels + slot;
    *y = (aoi_level){.map = {.side = side, .inverse = 1 / side, .unused = AOI_NONE}};
    if (!populate(g, y)) {
        close_level(g, y);
        return NULL;
    }
    for (; i > 0 && g->levels[g->order[i - 1]].map.side > side; i--) g->order[i] = g->order[i - 1];
    g->order[i] = slot;
    g->level_count++;
    return y;
}

/* Sides of tiles: 2*4^k, or the hint times 4^k. */
double aoi_level_side(double hint, double least) {
    if (hint > 0) {
        double side = hint;
        while (side < least) side *= 4;
        return side;
    }
    int e;
    frexp(least, &e);
    return isinf(least) ? INFINITY : fmax(ldexp(1, e + !(e & 1)), AOI_LEAST_SIDE);
}

bool aoi_level_is_native(const aoi_list *g, const aoi_level *y, double reach) {
    return reach == 0 || y->map.side <= 4 * aoi_level_side(g->hint, 2.5 * reach);
}

/* The level for nodes of this reach; an existing one may have up to four times the side.  Tiles that would hold hardly
 * any points cost memory and save nothing: they are made larger, towards the next level.  Where that has enough natives
 * to stay, nodes join it as guests. */
aoi_level *aoi_level_for(aoi_list *g, double reach) {
    if (reach == 0 && g->level_count) return g->levels + g->order[0];
    double side = reach == 0 && !(g->hint > 0) ? AOI_DEFAULT_SIDE : aoi_level_side(g->hint, 2.5 * reach);
    bool full = g->level_count == AOI_MOST_LEVELS; /* then the last one is a single tile for all the rest */
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        const aoi_tile_map *t = &y->map;
        if (t->side < side) continue;
        double points = t->used && !isinf(t->side) ? (double)g->head.records->entity_count / t->used : INFINITY;
        if (aoi_level_has_natives(y, y->nodes + 1))
            while (t->side > 4 * side && points * (side / t->side) * (side / t->side) < FEW_POINTS) side *= 4;
        if (t->side <= 4 * side || full) return y;
        break;
    }
    return make_level(g, g->level_count < AOI_MOST_LEVELS - 1 ? side : INFINITY);
}
