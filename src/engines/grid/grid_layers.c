/* grid_layers.c - see grid_layers.h. */
#include "engines/grid/grid_layers.h"

#include <limits.h>

enum { GRID_SPARSE = 2, GRID_DENSE = 16 }; /* items in a cell */
enum { GRID_GROWTHS = 64 };                /* of a layer's box, before it is measured anew */
enum { GRID_VOTERS = 8 };                  /* a majority of fewer nodes is of no use */

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* The least power of two times the base that is no less than the reach; a hint is also the least side. */
static double grid_side_for(const aoi_grid *g, double reach) {
    int e;
    if (reach == 0) return g->fixed ? g->base : AOI_GRID_SIDE;
    double m = frexp(reach / g->base, &e);
    if (m == 0.5) e--;
    if (g->fixed && e < 0) e = 0;
    return fmax(ldexp(g->base, e), AOI_GRID_LEAST_SIDE);
}

static int grid_exponent(double reach) {
    int e;
    double m = frexp(reach, &e);
    return reach == 0 ? INT_MIN : m == 0.5 ? e - 1 : e;
}

/* Borders that have nothing in common do not share a layer: round ones, those with a gap, those without an inner
 * region. */
static int grid_kind(const aoi_borders *b) {
    int depth = b->enter_min[0] <= 0 || b->enter_min[1] <= 0 ? 0 : b->enter_min[0] < 0.6 * b->leave_max[0] ? 1 : 2;
    return b->round | b->gap << 1 | depth << 2;
}

static bool grid_same_bounds(const aoi_bounds *a, const aoi_bounds *b) {
    return a->reach[0] == b->reach[0] && a->reach[1] == b->reach[1] && a->hole[0] == b->hole[0] &&
           a->hole[1] == b->hole[1] && a->shape == b->shape;
}

static bool grid_is_indexed(const aoi_node_record *n) {
    return aoi_is_live(n->generation) && aoi_is_bounded(n);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static uint32_t grid_find_uniform(const aoi_grid *g, const aoi_bounds *b) {
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (g->layers[i].count && g->layers[i].uniform && grid_same_bounds(&g->layers[i].bounds, b)) return i;
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
    aoi_borders borders = aoi_borders_of(g->head.world->dims, b);
    *y = (aoi_grid_layer){.borders = borders, .bounds = *b, .kind = grid_kind(&borders), .uniform = uniform};
    y->side = grid_side_for(g, fmax(b->reach[0], b->reach[1]));
    for (int a = 0; a < 2; a++) y->exponent[a] = grid_exponent(b->reach[a]);
    aoi_spatial_open(&y->cells, y->side);
    return i;
}

static uint32_t grid_mixed_layer(aoi_grid *g, const aoi_bounds *b) {
    aoi_borders borders = aoi_borders_of(g->head.world->dims, b);
    int x = grid_exponent(b->reach[0]), y = grid_exponent(b->reach[1]), kind = grid_kind(&borders);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *l = g->layers + i;
        if (l->count && !l->uniform && l->exponent[0] == x && l->exponent[1] == y && l->kind == kind) return i;
    }
    return grid_new_layer(g, b, false);
}

static uint32_t grid_layer_for(aoi_grid *g, const aoi_bounds *b) {
    uint32_t uniform = grid_find_uniform(g, b);
    return uniform != AOI_NONE ? uniform : grid_mixed_layer(g, b);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* A cell with room in the layer, AOI_NONE when memory is refused; a crowd needs none. */
static bool grid_reserve(aoi_grid *g, uint32_t level, uint32_t node, uint32_t *cell) {
    const aoi_world *w = g->head.world;
    *cell = AOI_NONE;
    if (level == AOI_NONE) return false;
    aoi_grid_layer *y = g->layers + level;
    if (y->crowd) return true;
    *cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, w->entities[w->nodes[node].owner].pos);
    return *cell != AOI_NONE;
}

/* Grows the box around the layer's owners; measured anew when it has grown so often that most of it may be empty. */
static void grid_cover(aoi_grid *g, aoi_grid_layer *y, const double *at) {
    bool grows = false;
    for (int a = 0; a < 2; a++) {
        grows = grows || at[a] < y->lo[a] || at[a] > y->hi[a];
        y->lo[a] = fmin(y->lo[a], at[a]);
        y->hi[a] = fmax(y->hi[a], at[a]);
    }
    if (grows && ++y->grown >= GRID_GROWTHS + y->count) g->changed = g->head.world->untidy = true;
}

static void grid_cover_nothing(aoi_grid_layer *y) {
    for (int a = 0; a < 2; a++) y->lo[a] = INFINITY, y->hi[a] = -INFINITY;
    y->grown = 0;
}

static void grid_settle(aoi_grid *g, uint32_t level, uint32_t node, uint32_t cell, const aoi_bounds *b) {
    aoi_node_record *n = g->head.world->nodes + node;
    aoi_grid_layer *y = g->layers + level;
    aoi_borders borders = aoi_borders_of(g->head.world->dims, b);
    n->level = level;
    aoi_grid_note_mask(y, n);
    if (!y->crowd) {
        g->rare++;
        n->home = cell;
        n->slot = aoi_spatial_insert(&y->cells, cell, g->head.world->entities[n->owner].pos, node);
    }
    if (y->count == 0) grid_cover_nothing(y);
    grid_cover(g, y, g->head.world->entities[n->owner].pos);
    if (y->count++ == 0) y->borders = borders;
    else if (!y->uniform) aoi_borders_include(&y->borders, &borders);
}

static void grid_take(aoi_grid *g, aoi_grid_layer *y, uint32_t node) {
    aoi_node_record *nodes = g->head.world->nodes, *n = nodes + node;
    uint32_t moved = aoi_spatial_remove(&y->cells, n->home, n->slot);
    if (moved != AOI_NONE) nodes[moved].slot = n->slot;
}

static void grid_unsettle(aoi_grid *g, uint32_t node) {
    aoi_grid_layer *y = g->layers + g->head.world->nodes[node].level;
    y->count--;
    if (y->crowd) return;
    g->rare--;
    grid_take(g, y, node);
}

static void grid_note_change(aoi_grid *g) {
    g->changed = g->head.world->untidy = true;
}

bool aoi_grid_insert_node(aoi_grid *g, uint32_t node, const aoi_bounds *b) {
    uint32_t level = grid_layer_for(g, b), cell;
    if (!grid_reserve(g, level, node, &cell)) return false;
    grid_settle(g, level, node, cell, b);
    grid_note_change(g);
    return true;
}

void aoi_grid_remove_node(aoi_grid *g, uint32_t node) {
    grid_unsettle(g, node);
    grid_note_change(g);
}

bool aoi_grid_resize_node(aoi_grid *g, uint32_t node, const aoi_bounds *b) {
    uint32_t level = grid_layer_for(g, b), cell;
    if (!grid_reserve(g, level, node, &cell)) return false;
    grid_unsettle(g, node);
    grid_settle(g, level, node, cell, b);
    grid_note_change(g);
    return true;
}

static bool grid_move_node(aoi_grid *g, uint32_t node, const double *to) {
    aoi_node_record *n = g->head.world->nodes + node;
    if (!aoi_is_bounded(n)) return true;
    aoi_grid_layer *y = g->layers + n->level;
    if (y->crowd) return true;
    grid_cover(g, y, to);
    if (aoi_spatial_update(&y->cells, n->home, n->slot, to)) return true;
    uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, n->home, to);
    if (cell == AOI_NONE) return false;
    grid_take(g, y, node);
    n->slot = aoi_spatial_insert(&y->cells, cell, to, node);
    n->home = cell;
    if (aoi_spatial_is_untidy(&y->cells)) g->head.world->untidy = true;
    return true;
}

/* Nodes are moved back in the opposite order, each with the storage that it has left: that cannot fail. */
bool aoi_grid_move_chain(aoi_grid *g, uint32_t node, uint32_t owner, const double *from, const double *to) {
    if (node == AOI_NONE) return aoi_entities_move(g->head.world, &g->points, owner, to);
    if (!grid_move_node(g, node, to)) return false;
    if (aoi_grid_move_chain(g, g->head.world->nodes[node].next, owner, from, to)) return true;
    (void)grid_move_node(g, node, from);
    return false;
}

/* ---- uniform layers ---------------------------------------------------------------------------------------------- */

/* Moves nodes of one layer to another: those of these bounds, or all.  Stops where memory is refused: each node is in
 * one layer or the other. */
static void grid_transfer(aoi_grid *g, uint32_t from, uint32_t to, const aoi_bounds *only) {
    const aoi_world *w = g->head.world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        uint32_t cell;
        if (!grid_is_indexed(w->nodes + n) || w->nodes[n].level != from) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        if (only && !grid_same_bounds(&b, only)) continue;
        if (!grid_reserve(g, to, n, &cell)) return;
        grid_unsettle(g, n);
        grid_settle(g, to, n, cell, &b);
    }
}

/* The borders of a mixed layer anew, after it has lost nodes. */
static void grid_measure(aoi_grid *g, uint32_t level) {
    const aoi_world *w = g->head.world;
    bool first = true;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!grid_is_indexed(w->nodes + n) || w->nodes[n].level != level) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        aoi_borders borders = aoi_borders_of(w->dims, &b);
        if (first) g->layers[level].borders = borders;
        else aoi_borders_include(&g->layers[level].borders, &borders);
        first = false;
    }
}

/* The bounds of more than half of the nodes, if there are such (Boyer and Moore 1981); returns of how many. */
static uint32_t grid_majority(const aoi_grid *g, uint32_t level, aoi_bounds *most) {
    const aoi_world *w = g->head.world;
    uint32_t lead = 0, votes = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t n = 0; n < w->node_top; n++) {
            if (!grid_is_indexed(w->nodes + n) || w->nodes[n].level != level) continue;
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
    if (y->uniform || y->count < GRID_VOTERS || y->count < 2 * y->voted || y->count < g->points.count / 16) return;
    y->voted = y->count;
    uint32_t votes = grid_majority(g, level, &most);
    if (votes <= y->count / 2) return;
    if (votes == y->count) {
        y->uniform = true;
        y->bounds = most;
        y->borders = aoi_borders_of(g->head.world->dims, &most);
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

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

static uint32_t grid_occupied(const aoi_grid *g) {
    return g->points.used - g->points.empty;
}

static bool grid_resize_points(aoi_grid *g, double side) {
    if (!isfinite(side)) return false;
    aoi_entities_resize(g->head.world, &g->points, side);
    return g->points.side == side;
}

/* Cells like the areas most in use suit the queries over points, but not if most are empty.  Looked at when the nodes
 * in one layer have doubled. */
static void grid_tune_points(aoi_grid *g, const aoi_grid_layer *y) {
    if (y->count < 2 * g->tuned || y->count < 8 || g->points.count < 8) return;
    bool good = g->points.side >= y->side || grid_resize_points(g, y->side);
    g->tuned = y->count;
    while (good && g->points.side >= 2 * y->side && g->points.count / GRID_DENSE > grid_occupied(g))
        good = grid_resize_points(g, g->points.side / 2);
    while (good && g->points.count / GRID_SPARSE < grid_occupied(g)) /* ends: at last four cells hold all */
        good = grid_resize_points(g, g->points.side * 2);
}

/* The box around the owners anew. */
static void grid_measure_box(aoi_grid *g, aoi_grid_layer *y) {
    const aoi_world *w = g->head.world;
    grid_cover_nothing(y);
    for (uint32_t i = 0; i < y->cells.top; i++) {
        if (!aoi_cell_exists(y->cells.cells + i)) continue;
        for (uint32_t b = y->cells.cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = y->cells.buckets[b].next)
            for (uint32_t lane = 0; lane < y->cells.buckets[b].count; lane++)
                grid_cover(g, y, w->entities[w->nodes[y->cells.buckets[b].ref[lane]].owner].pos);
    }
    y->grown = 0;
}

/* Makes a crowd a rare layer: each of its nodes gets a place. */
static void grid_disperse(aoi_grid *g, uint32_t level) {
    aoi_world *w = g->head.world;
    aoi_grid_layer *y = g->layers + level;
    for (uint32_t n = 0; n < w->node_top; n++) {
        aoi_node_record *r = w->nodes + n;
        if (!grid_is_indexed(r) || r->level != level) continue;
        const double *pos = w->entities[r->owner].pos;
        uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, pos);
        if (cell == AOI_NONE) {
            aoi_spatial_close(aoi_grid_memory(g), &y->cells);
            return;
        }
        r->home = cell;
        r->slot = aoi_spatial_insert(&y->cells, cell, pos, n);
    }
    y->crowd = false;
    grid_measure_box(g, y);
    g->rare += y->count;
}

/* Whether a query over all entities that finds the nodes of some is worth it. */
static void grid_choose_crowd(aoi_grid *g, uint32_t level) {
    aoi_grid_layer *y = g->layers + level;
    bool fits = y->side <= g->points.side;
    if (!y->crowd && fits && y->count && y->count >= g->points.count / 2) {
        aoi_spatial_close(aoi_grid_memory(g), &y->cells);
        y->crowd = true;
        y->spread = 0;
        g->rare -= y->count;
    } else if (y->crowd && (!fits || y->count < g->points.count / 8)) grid_disperse(g, level);
}

static const double *grid_node_position(const aoi_world *w, uint32_t node) {
    return w->entities[w->nodes[node].owner].pos;
}

static void grid_node_placed(void *ud, uint32_t node, uint32_t cell, uint32_t slot) {
    aoi_node_record *n = (aoi_node_record *)ud + node;
    n->home = cell;
    n->slot = slot;
}

/* A few nodes are to share a cell: most queries find the cell that they begin with, and look at four. */
static void grid_spread(aoi_grid *g, aoi_grid_layer *y) {
    aoi_world *w = g->head.world;
    if (y->crowd || y->count < 2 * y->spread) return;
    y->spread = y->count;
    aoi_spatial_spread(w, &y->cells, y->side, grid_node_position, grid_node_placed, w->nodes);
}

void aoi_grid_tune(aoi_grid *g) {
    uint32_t count = g->layer_count;
    for (uint32_t i = 0; i < g->layer_count; i++) grid_tune_points(g, g->layers + i);
    for (uint32_t i = 0; i < count; i++) grid_divide(g, i);
    for (uint32_t i = 0; i < count; i++) grid_dissolve(g, i);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        grid_choose_crowd(g, i);
        aoi_grid_layer *y = g->layers + i;
        if (!y->crowd && y->grown >= GRID_GROWTHS + y->count) grid_measure_box(g, y);
        grid_spread(g, y);
        if (aoi_spatial_is_untidy(&g->layers[i].cells)) aoi_spatial_tidy(aoi_grid_memory(g), &g->layers[i].cells);
    }
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < g->layer_count; i++) nodes += g->layers[i].count;
    aoi_sought_tune(g->head.world, &g->sought, nodes, g->points.side);
    if (aoi_spatial_is_untidy(&g->sought.cells)) aoi_spatial_tidy(aoi_grid_memory(g), &g->sought.cells);
    g->changed = false;
}

bool aoi_grid_is_untidy(const aoi_grid *g) {
    if (aoi_spatial_is_untidy(&g->sought.cells)) return true;
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (aoi_spatial_is_untidy(&g->layers[i].cells)) return true;
    return false;
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *grid_check_node(const aoi_grid *g, uint32_t n) {
    const aoi_world *w = g->head.world;
    const aoi_node_record *r = w->nodes + n;
    if (r->level >= g->layer_count) return "a node is in no layer";
    const aoi_grid_layer *y = g->layers + r->level;
    aoi_bounds b = aoi_bounds_of(w, n);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    const aoi_area_record *a = w->areas + n;
    if (y->uniform ? !grid_same_bounds(&y->bounds, &b) : y->kind != grid_kind(&borders))
        return "a node is in the wrong layer";
    if (!aoi_borders_contain(&y->borders, &borders)) return "a node's borders are not in those of its layer";
    if (borders.round && !(borders.enter_min[0] <= a->radius && a->radius <= borders.enter_max[0] &&
                           borders.leave_min[0] <= a->keep && a->keep <= borders.leave_max[0]))
        return "the bounds of a circle do not tell its radius";
    if ((r->mask & ~y->masks) || ((r->flags & AOI_NODE_OVERRIDES) && !y->excepts))
        return "a layer does not know what its nodes look for";
    const double *at = w->entities[r->owner].pos;
    for (int i = 0; i < 2 && !y->crowd; i++)
        if (at[i] < y->lo[i] || at[i] > y->hi[i]) return "a node is beyond the box of its layer";
    if (!y->crowd && !aoi_spatial_has(&y->cells, r->home, r->slot, w->entities[r->owner].pos, n))
        return "the grid has lost a node";
    return NULL;
}

const char *aoi_grid_check_layers(const aoi_grid *g) {
    const aoi_world *w = g->head.world;
    const char *wrong = NULL;
    uint32_t nodes = 0, counted = 0, rare = 0;
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        if (!grid_is_indexed(w->nodes + n)) continue;
        wrong = grid_check_node(g, n);
        nodes++;
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        const aoi_grid_layer *y = g->layers + i;
        counted += y->count;
        rare += y->crowd ? 0 : y->count;
        wrong = aoi_spatial_check(&y->cells);
        if (!wrong && y->cells.count != (y->crowd ? 0 : y->count)) wrong = "a layer counts its nodes wrongly";
    }
    return wrong || (nodes == counted && rare == g->rare) ? wrong : "the grid counts its nodes wrongly";
}
