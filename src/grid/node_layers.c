/* node_layers.c - nodes and their layers; see nine_grid.h. */
#include <assert.h>

#include "grid/nine_grid.h"

enum { GRID_GROWTHS = 64 };                   /* of a layer's box, before it is measured anew */
enum { GRID_VOTERS = 8 };                     /* a majority of fewer nodes is of no use */
enum { SPREAD_ITEMS = 3, SPREAD_LEAST = 16 }; /* nodes in a cell of a scattered layer; in all */

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static bool grid_same_bounds(const aoi_bounds *a, const aoi_bounds *b) {
    return a->reach[0] == b->reach[0] && a->reach[1] == b->reach[1] && a->inner[0] == b->inner[0] &&
           a->inner[1] == b->inner[1] && a->shape == b->shape && a->round == b->round;
}

/* Moves skip layers for which this is not 0. */
static int grid_silence_of(const aoi_grid *g, const aoi_bounds *b) {
    return b->idle | aoi_is_taken(g->world, b) << 1;
}

static bool grid_is_in(const aoi_node_record *n, uint32_t level) {
    return aoi_is_live(n->generation) && n->level == level && aoi_is_bounded(n);
}

static uint32_t grid_find_uniform(const aoi_grid *g, const aoi_bounds *b) {
    int silence = grid_silence_of(g, b);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *y = g->layers + i;
        if (y->count && y->uniform && grid_same_bounds(&y->bounds, b) && grid_silence_of(g, &y->bounds) == silence)
            return i;
    }
    return AOI_NONE;
}

/* A layer without nodes, AOI_NONE when memory is refused. */
static uint32_t grid_new_layer(aoi_grid *g, const aoi_bounds *b, bool uniform) {
    uint32_t i = 0;
    while (i < g->layer_count && g->layers[i].count) i++;
    if (i == g->layer_count) {
        if (!AOI_GROW(aoi_grid_memory(g), g->layers, g->layer_cap, g->layer_count + (size_t)1)) return AOI_NONE;
        g->layer_count++;
    } else aoi_spatial_close(aoi_grid_memory(g), &g->layers[i].cells);
    aoi_grid_layer *y = g->layers + i;
    aoi_borders borders = aoi_borders_of(g->world->dims, b);
    *y = (aoi_grid_layer){.borders = borders, .bounds = *b, .kind = aoi_borders_kind(&borders, grid_silence_of(g, b))};
    y->uniform = uniform;
    y->idle = b->idle;
    y->taken = aoi_is_taken(g->world, b);
    y->side = aoi_grid_side_for(g, fmax(b->reach[0], b->reach[1]));
    for (int a = 0; a < 2; a++) y->exponent[a] = aoi_size_class(b->reach[a]);
    aoi_spatial_open(&y->cells, y->side, true);
    return i;
}

static uint32_t grid_mixed_layer(aoi_grid *g, const aoi_bounds *b) {
    aoi_borders borders = aoi_borders_of(g->world->dims, b);
    int x = aoi_size_class(b->reach[0]), y = aoi_size_class(b->reach[1]),
        kind = aoi_borders_kind(&borders, grid_silence_of(g, b));
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *l = g->layers + i;
        if (l->count && !l->uniform && l->exponent[0] == x && l->exponent[1] == y && l->kind == kind) return i;
    }
    return grid_new_layer(g, b, false);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Makes room in the layer; a crowd needs no cell. */
static bool grid_reserve_in(aoi_grid *g, uint32_t node, aoi_grid_place *place) {
    const aoi_world *w = g->world;
    if (place->level == AOI_NONE) return false;
    aoi_grid_layer *y = g->layers + place->level;
    place->cell = AOI_NONE;
    if (y->crowd) return true;
    place->cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, w->entities[w->nodes[node].owner].pos);
    return place->cell != AOI_NONE;
}

bool aoi_grid_reserve(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place *place) {
    place->level = grid_find_uniform(g, b);
    if (place->level == AOI_NONE) place->level = grid_mixed_layer(g, b);
    return grid_reserve_in(g, node, place);
}

/* Grows the box around the layer's owners; asks for a new measure when it has grown often, as most may be empty. */
static void grid_cover(aoi_grid *g, aoi_grid_layer *y, const double *at) {
    if (aoi_owner_box_cover(&y->box, at) && y->box.grown >= GRID_GROWTHS + y->count)
        g->changed = g->world->untidy = true;
}

void aoi_grid_layer_insert(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place) {
    aoi_node_record *n = g->world->nodes + node;
    aoi_entity_record *owner = g->world->entities + n->owner;
    aoi_grid_layer *y = g->layers + place.level;
    aoi_borders borders = aoi_borders_of(g->world->dims, b);
    assert(place.level < g->layer_count && (y->crowd || place.cell < y->cells.top));
    n->level = place.level;
    y->masks |= n->mask;
    y->excepts |= (n->flags & AOI_NODE_OVERRIDES) != 0;
    if (!y->crowd) {
        owner->scattered = 1;
        aoi_item_insert(g->world, &y->cells, place.cell, owner->pos, node, false);
    }
    if (y->count == 0) aoi_owner_box_clear(&y->box);
    grid_cover(g, y, owner->pos);
    if (y->count++ == 0) y->borders = borders;
    else if (!y->uniform) aoi_borders_include(&y->borders, &borders);
}

void aoi_grid_layer_remove(aoi_grid *g, uint32_t node) {
    aoi_grid_layer *y = g->layers + g->world->nodes[node].level;
    assert(g->world->nodes[node].level < g->layer_count && y->count);
    y->count--;
    if (!y->crowd) aoi_item_remove(g->world, &y->cells, node);
}

/* False when memory is refused. */
static inline bool grid_move_node(aoi_grid *g, uint32_t node, const double *to, bool *scattered) {
    const aoi_node_record *n = g->world->nodes + node;
    if (!aoi_is_bounded(n)) return true;
    aoi_grid_layer *y = g->layers + n->level;
    if (y->crowd) return true;
    *scattered = true;
    grid_cover(g, y, to);
    return aoi_item_move(g->world, &y->cells, node, to);
}

/* When memory is refused, the nodes that have moved go back to the storage that they left: that cannot fail. */
bool aoi_grid_move_chain(aoi_grid *g, uint32_t owner, const double *from, const double *to) {
    const aoi_world *w = g->world;
    aoi_entity_record *e = w->entities + owner;
    bool scattered = false;
    uint32_t n = e->nodes;
    while (n != AOI_NONE && grid_move_node(g, n, to, &scattered)) n = w->nodes[n].next;
    if (n == AOI_NONE && aoi_item_move(g->world, &g->points, owner, to)) {
        e->scattered = scattered;
        return true;
    }
    for (uint32_t back = e->nodes; back != n; back = w->nodes[back].next)
        (void)grid_move_node(g, back, from, &scattered);
    return false;
}

/* ---- uniform layers ---------------------------------------------------------------------------------------------- */

/* Moves the nodes of these bounds, or all, from one layer to another.  Stops when memory is refused: each node is in
 * one layer or the other. */
static void grid_transfer(aoi_grid *g, uint32_t from, uint32_t to, const aoi_bounds *only) {
    const aoi_world *w = g->world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        aoi_grid_place place = {.level = to};
        if (!grid_is_in(w->nodes + n, from)) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        if (only && !grid_same_bounds(&b, only)) continue;
        if (!grid_reserve_in(g, n, &place)) return;
        aoi_grid_layer_remove(g, n);
        aoi_grid_layer_insert(g, n, &b, place);
    }
}

/* Renews the borders of a mixed layer after it has lost nodes. */
static void grid_measure(aoi_grid *g, uint32_t level) {
    const aoi_world *w = g->world;
    bool first = true;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!grid_is_in(w->nodes + n, level)) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        aoi_borders borders = aoi_borders_of(w->dims, &b);
        if (first) g->layers[level].borders = borders;
        else aoi_borders_include(&g->layers[level].borders, &borders);
        first = false;
    }
}

/* The bounds that more than half of the nodes share, if any (Boyer and Moore 1981); returns how many have them. */
static uint32_t grid_majority(const aoi_grid *g, uint32_t level, aoi_bounds *most) {
    const aoi_world *w = g->world;
    uint32_t lead = 0, votes = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t n = 0; n < w->node_top; n++) {
            if (!grid_is_in(w->nodes + n, level)) continue;
            aoi_bounds b = aoi_bounds_of(w, n);
            bool same = (round || lead) && grid_same_bounds(&b, most);
            if (round) votes += same;
            else if (!lead) *most = b, lead = 1;
            else lead += same ? 1u : UINT32_MAX;
        }
    return votes;
}

static void grid_divide(aoi_grid *g, uint32_t level) {
    aoi_grid_layer *y = g->layers + level;
    aoi_bounds most = {0};
    if (y->uniform || y->count < GRID_VOTERS || y->count < g->points.count / 16) return;
    if (!aoi_chooses_anew(y->count, &y->voted)) return;
    uint32_t votes = grid_majority(g, level, &most);
    if (votes <= y->count / 2) return;
    if (votes == y->count) {
        y->uniform = true;
        y->bounds = most;
        y->borders = aoi_borders_of(g->world->dims, &most);
        return;
    }
    uint32_t to = grid_new_layer(g, &most, true);
    if (to == AOI_NONE) return;
    g->layers[to].crowd = g->layers[level].crowd;
    grid_transfer(g, level, to, &most);
    grid_measure(g, level);
    g->layers[level].voted = g->layers[level].count;
}

/* A uniform layer of few nodes is not worth a query of its own. */
static void grid_dissolve(aoi_grid *g, uint32_t level) {
    aoi_grid_layer *y = g->layers + level;
    if (!y->uniform || !y->count || y->count >= GRID_VOTERS || y->count >= g->points.count / 64) return;
    aoi_bounds b = y->bounds;
    uint32_t to = grid_mixed_layer(g, &b);
    if (to != AOI_NONE) grid_transfer(g, level, to, NULL);
}

void aoi_grid_divide_layers(aoi_grid *g) {
    uint32_t count = g->layer_count;
    for (uint32_t i = 0; i < count; i++) grid_divide(g, i);
    for (uint32_t i = 0; i < count; i++) grid_dissolve(g, i);
}

/* ---- crowds ------------------------------------------------------------------------------------------------------ */

static void grid_cover_node(void *ud, uint32_t node) {
    const aoi_grid *g = ud;
    const aoi_node_record *n = g->world->nodes + node;
    (void)aoi_owner_box_cover(&g->layers[n->level].box, g->world->entities[n->owner].pos);
}

static void grid_measure_box(aoi_grid *g, aoi_grid_layer *y) {
    aoi_owner_box_clear(&y->box);
    aoi_each_item(&y->cells, grid_cover_node, g);
    y->box.grown = 0;
}

/* Makes a crowd a scattered layer: each of its nodes gets a place. */
static void grid_scatter(aoi_grid *g, uint32_t level) {
    aoi_world *w = g->world;
    aoi_grid_layer *y = g->layers + level;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!grid_is_in(w->nodes + n, level)) continue;
        aoi_entity_record *owner = w->entities + w->nodes[n].owner;
        uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, owner->pos);
        if (cell == AOI_NONE) {
            aoi_spatial_close(aoi_grid_memory(g), &y->cells);
            return;
        }
        aoi_item_insert(w, &y->cells, cell, owner->pos, n, false);
        owner->scattered = 1;
    }
    y->crowd = false;
    grid_measure_box(g, y);
}

/* A layer is a crowd where a query over all entities, which finds the nodes of some, pays. */
static void grid_choose_crowd(aoi_grid *g, uint32_t level) {
    aoi_grid_layer *y = g->layers + level;
    bool fits = y->side <= g->points.side;
    if (!y->crowd && fits && y->count && y->count >= g->points.count / 2) {
        aoi_spatial_close(aoi_grid_memory(g), &y->cells);
        y->crowd = true;
        y->spread = 0;
    } else if (y->crowd && (!fits || y->count < g->points.count / 8)) grid_scatter(g, level);
}

/* Doubles the side until a few nodes share a cell: most queries then find their first cell, and read four. */
static void grid_spread(aoi_grid *g, aoi_grid_layer *y) {
    aoi_spatial_hash *h = &y->cells;
    if (y->crowd || !aoi_chooses_anew(y->count, &y->spread)) return;
    bool good = h->side == y->side || aoi_items_resize(g->world, h, y->side);
    while (good && h->count >= SPREAD_LEAST && h->count < SPREAD_ITEMS * (h->used - h->empty) && isfinite(2 * h->side))
        good = aoi_items_resize(g->world, h, 2 * h->side);
}

void aoi_grid_choose_crowds(aoi_grid *g) {
    for (uint32_t i = 0; i < g->layer_count; i++) {
        aoi_grid_layer *y = g->layers + i;
        grid_choose_crowd(g, i);
        if (!y->crowd && y->box.grown >= GRID_GROWTHS + y->count) grid_measure_box(g, y);
        grid_spread(g, y);
        if (aoi_spatial_is_untidy(&y->cells)) aoi_spatial_tidy(aoi_grid_memory(g), &y->cells);
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *grid_check_node(const aoi_grid *g, uint32_t n) {
    const aoi_world *w = g->world;
    const aoi_node_record *r = w->nodes + n;
    if (r->level >= g->layer_count) return "a node is in no layer";
    const aoi_grid_layer *y = g->layers + r->level;
    aoi_bounds b = aoi_bounds_of(w, n);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    const aoi_area_record *a = w->areas + n;
    if (y->uniform ? !grid_same_bounds(&y->bounds, &b) : y->kind != aoi_borders_kind(&borders, grid_silence_of(g, &b)))
        return "a node is in the wrong layer";
    if (!aoi_borders_contain(&y->borders, &borders)) return "a node's borders are not in those of its layer";
    if (borders.round && r->shape == AOI_CIRCLE &&
        !(borders.enter_min[0] <= a->radius && a->radius <= borders.enter_max[0] && borders.leave_min[0] <= a->keep &&
          a->keep <= borders.leave_max[0]))
        return "the bounds of a circle do not tell its radius";
    if ((r->mask & ~y->masks) || ((r->flags & AOI_NODE_OVERRIDES) && !y->excepts))
        return "a layer does not know what its nodes look for";
    const double *at = w->entities[r->owner].pos;
    if (!y->crowd && !aoi_owner_box_holds(&y->box, at)) return "a node is beyond the box of its layer";
    if (!y->crowd && !w->entities[r->owner].scattered) return "the owner of a scattered node is not known as such";
    if (!y->crowd && !aoi_spatial_has(&y->cells, r->place.cell, r->place.slot, at, n))
        return "the grid has lost a node";
    return NULL;
}

const char *aoi_grid_check_layers(const aoi_grid *g) {
    const aoi_world *w = g->world;
    const char *wrong = NULL;
    uint32_t nodes = 0, counted = 0;
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        if (!aoi_is_live(w->nodes[n].generation) || !aoi_is_bounded(w->nodes + n)) continue;
        wrong = grid_check_node(g, n);
        nodes++;
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        const aoi_grid_layer *y = g->layers + i;
        counted += y->count;
        if (y->cells.count != (y->crowd ? 0 : y->count)) wrong = "a layer counts its nodes wrongly";
    }
    return wrong || nodes == counted ? wrong : "the grid counts its nodes wrongly";
}
