/* nine_grid.c - see nine_grid.h: the layers. */
#include "engines/shared/nine_grid.h"

enum { NINE_SPARSE = 2, NINE_DENSE = 16 }; /* items in a cell */
enum { NINE_GROWTHS = 64 };                /* of a layer's box, before it is measured anew */
enum { NINE_TUNERS = 8, NINE_ASKED = 64 }; /* nodes, and entities, or questions, that choose the side of cells */
enum { NINE_VOTERS = 8 };                  /* a majority of fewer nodes is of no use */

/* ---- life and entities ------------------------------------------------------------------------------------------- */

void aoi_nine_open(aoi_nine_grid *g, aoi_engine *engine, double hint) {
    g->engine = engine;
    g->fixed = hint > 0;
    g->base = g->fixed ? fmax(hint, AOI_NINE_LEAST_SIDE) : 1;
    g->last = AOI_NONE;
    aoi_spatial_open(&g->points, g->fixed ? g->base : AOI_NINE_SIDE);
    aoi_spatial_open(&g->sought.cells, g->points.side);
}

void aoi_nine_close(aoi_nine_grid *g) {
    while (g->layer_count) aoi_spatial_close(aoi_nine_memory(g), &g->layers[--g->layer_count].cells);
    AOI_CLEAR(aoi_nine_memory(g), g->layers, g->layer_cap);
    aoi_spatial_close(aoi_nine_memory(g), &g->points);
    aoi_sought_clear(g->engine->world, &g->sought);
    g->tuned = 0;
}

static void nine_note_change(aoi_nine_grid *g) {
    g->changed = g->engine->world->untidy = true;
}

bool aoi_nine_enter(aoi_nine_grid *g, uint32_t entity) {
    aoi_world *w = g->engine->world;
    bool sought = aoi_is_sought(&g->sought, w->entities[entity].kind);
    if (sought && !aoi_sought_insert(w, &g->sought, entity)) return false;
    if (!aoi_entities_insert(w, &g->points, entity)) {
        if (sought) aoi_sought_remove(&g->sought, entity);
        return false;
    }
    w->entities[entity].link = AOI_NONE;
    nine_note_change(g);
    return true;
}

void aoi_nine_leave(aoi_nine_grid *g, uint32_t entity) {
    aoi_world *w = g->engine->world;
    if (g->last == entity) g->last = AOI_NONE;
    nine_note_change(g);
    aoi_entities_remove(w, &g->points, entity);
    if (aoi_is_sought(&g->sought, w->entities[entity].kind)) aoi_sought_remove(&g->sought, entity);
}

bool aoi_nine_set_kind(aoi_nine_grid *g, uint32_t entity, uint64_t kind) {
    return aoi_sought_change(g->engine->world, &g->sought, entity, kind);
}

void aoi_nine_mask_changed(aoi_nine_grid *g, uint32_t node) {
    const aoi_node_record *n = g->engine->world->nodes + node;
    if (n->level < g->layer_count) aoi_nine_note_mask(g->layers + n->level, n);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* The least power of two times the base that is no less than the reach; a hint is also the least side. */
static double nine_side_for(const aoi_nine_grid *g, double reach) {
    int e;
    if (reach == 0) return g->fixed ? g->base : AOI_NINE_SIDE;
    double m = frexp(reach / g->base, &e);
    if (m == 0.5) e--;
    if (g->fixed && e < 0) e = 0;
    return fmax(ldexp(g->base, e), AOI_NINE_LEAST_SIDE);
}

static bool nine_same_bounds(const aoi_bounds *a, const aoi_bounds *b) {
    return a->reach[0] == b->reach[0] && a->reach[1] == b->reach[1] && a->hole[0] == b->hole[0] &&
           a->hole[1] == b->hole[1] && a->shape == b->shape && a->idle == b->idle;
}

static bool nine_is_indexed(const aoi_node_record *n) {
    return aoi_is_live(n->generation) && aoi_is_bounded(n) && n->level < AOI_NINE_ELSEWHERE;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static uint32_t nine_find_uniform(const aoi_nine_grid *g, const aoi_bounds *b) {
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (g->layers[i].count && g->layers[i].uniform && nine_same_bounds(&g->layers[i].bounds, b)) return i;
    return AOI_NONE;
}

/* A layer without nodes, AOI_NONE when memory is refused. */
static uint32_t nine_new_layer(aoi_nine_grid *g, const aoi_bounds *b, bool uniform) {
    uint32_t i = 0;
    while (i < g->layer_count && g->layers[i].count) i++;
    if (i == g->layer_count) {
        if (!AOI_GROW(aoi_nine_memory(g), g->layers, g->layer_cap, g->layer_count + (size_t)1)) return AOI_NONE;
        g->layer_count++;
    } else aoi_spatial_close(aoi_nine_memory(g), &g->layers[i].cells);
    aoi_nine_layer *y = g->layers + i;
    aoi_borders borders = aoi_borders_of(g->engine->world->dims, b);
    *y = (aoi_nine_layer){.borders = borders, .bounds = *b, .kind = aoi_borders_kind(&borders, b->idle)};
    y->uniform = uniform;
    y->idle = b->idle;
    y->side = nine_side_for(g, fmax(b->reach[0], b->reach[1]));
    for (int a = 0; a < 2; a++) y->exponent[a] = aoi_size_class(b->reach[a]);
    aoi_spatial_open(&y->cells, y->side);
    return i;
}

static uint32_t nine_mixed_layer(aoi_nine_grid *g, const aoi_bounds *b) {
    aoi_borders borders = aoi_borders_of(g->engine->world->dims, b);
    int x = aoi_size_class(b->reach[0]), y = aoi_size_class(b->reach[1]), kind = aoi_borders_kind(&borders, b->idle);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_nine_layer *l = g->layers + i;
        if (l->count && !l->uniform && l->exponent[0] == x && l->exponent[1] == y && l->kind == kind) return i;
    }
    return nine_new_layer(g, b, false);
}

static uint32_t nine_layer_for(aoi_nine_grid *g, const aoi_bounds *b) {
    uint32_t uniform = nine_find_uniform(g, b);
    return uniform != AOI_NONE ? uniform : nine_mixed_layer(g, b);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* A cell with room in the layer, AOI_NONE when memory is refused; a crowd needs none. */
static bool nine_reserve(aoi_nine_grid *g, uint32_t level, uint32_t node, uint32_t *cell) {
    const aoi_world *w = g->engine->world;
    *cell = AOI_NONE;
    if (level == AOI_NONE) return false;
    aoi_nine_layer *y = g->layers + level;
    if (y->crowd) return true;
    *cell = aoi_spatial_reserve(aoi_nine_memory(g), &y->cells, AOI_NONE, w->entities[w->nodes[node].owner].pos);
    return *cell != AOI_NONE;
}

/* Grows the box around the layer's owners; measured anew when it has grown so often that most of it may be empty. */
static void nine_cover(aoi_nine_grid *g, aoi_nine_layer *y, const double *at) {
    if (aoi_owner_box_cover(&y->box, at) && y->box.grown >= NINE_GROWTHS + y->count)
        g->changed = g->engine->world->untidy = true;
}

static void nine_settle(aoi_nine_grid *g, uint32_t level, uint32_t node, uint32_t cell, const aoi_bounds *b) {
    aoi_node_record *n = g->engine->world->nodes + node;
    aoi_nine_layer *y = g->layers + level;
    aoi_borders borders = aoi_borders_of(g->engine->world->dims, b);
    n->level = level;
    aoi_nine_note_mask(y, n);
    if (!y->crowd) {
        g->rare++;
        n->home = cell;
        n->slot = aoi_spatial_insert(&y->cells, cell, g->engine->world->entities[n->owner].pos, node);
    }
    if (y->count == 0) aoi_owner_box_clear(&y->box);
    nine_cover(g, y, g->engine->world->entities[n->owner].pos);
    if (y->count++ == 0) y->borders = borders;
    else if (!y->uniform) aoi_borders_include(&y->borders, &borders);
}

static void nine_take(aoi_nine_grid *g, aoi_nine_layer *y, uint32_t node) {
    aoi_node_record *nodes = g->engine->world->nodes, *n = nodes + node;
    uint32_t moved = aoi_spatial_remove(&y->cells, n->home, n->slot);
    if (moved != AOI_NONE) nodes[moved].slot = n->slot;
}

static void nine_unsettle(aoi_nine_grid *g, uint32_t node) {
    aoi_nine_layer *y = g->layers + g->engine->world->nodes[node].level;
    y->count--;
    if (y->crowd) return;
    g->rare--;
    nine_take(g, y, node);
}

bool aoi_nine_insert_node(aoi_nine_grid *g, uint32_t node, const aoi_bounds *b) {
    uint32_t level = nine_layer_for(g, b), cell;
    if (!nine_reserve(g, level, node, &cell)) return false;
    nine_settle(g, level, node, cell, b);
    nine_note_change(g);
    return true;
}

void aoi_nine_remove_node(aoi_nine_grid *g, uint32_t node) {
    nine_unsettle(g, node);
    nine_note_change(g);
}

bool aoi_nine_resize_node(aoi_nine_grid *g, uint32_t node, const aoi_bounds *b) {
    uint32_t level = nine_layer_for(g, b), cell;
    if (!nine_reserve(g, level, node, &cell)) return false;
    nine_unsettle(g, node);
    nine_settle(g, level, node, cell, b);
    nine_note_change(g);
    return true;
}

static bool nine_move_rare(aoi_nine_grid *g, aoi_nine_layer *y, uint32_t node, const double *to) {
    aoi_node_record *n = g->engine->world->nodes + node;
    nine_cover(g, y, to);
    if (aoi_spatial_update(&y->cells, n->home, n->slot, to)) return true;
    uint32_t cell = aoi_spatial_reserve(aoi_nine_memory(g), &y->cells, n->home, to);
    if (cell == AOI_NONE) return false;
    nine_take(g, y, node);
    n->slot = aoi_spatial_insert(&y->cells, cell, to, node);
    n->home = cell;
    if (aoi_spatial_is_untidy(&y->cells)) g->engine->world->untidy = true;
    return true;
}

static inline bool nine_move_node(aoi_nine_grid *g, uint32_t node, const double *to) {
    const aoi_node_record *n = g->engine->world->nodes + node;
    if (n->level >= AOI_NINE_ELSEWHERE || !aoi_is_bounded(n)) return true;
    aoi_nine_layer *y = g->layers + n->level;
    return y->crowd || nine_move_rare(g, y, node, to);
}

/* What has moved already when memory is refused moves back to the storage that it has left: that cannot fail. */
bool aoi_nine_move_chain(aoi_nine_grid *g, uint32_t owner, const double *from, const double *to) {
    aoi_world *w = g->engine->world;
    uint32_t first = w->entities[owner].nodes, n = first;
    while (n != AOI_NONE && nine_move_node(g, n, to)) n = w->nodes[n].next;
    if (n == AOI_NONE && aoi_entities_move(w, &g->points, owner, to)) return true;
    for (uint32_t back = first; back != n; back = w->nodes[back].next) (void)nine_move_node(g, back, from);
    return false;
}

/* ---- uniform layers ---------------------------------------------------------------------------------------------- */

/* Moves nodes of one layer to another: those of these bounds, or all.  Stops where memory is refused: each node is in
 * one layer or the other. */
static void nine_transfer(aoi_nine_grid *g, uint32_t from, uint32_t to, const aoi_bounds *only) {
    const aoi_world *w = g->engine->world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        uint32_t cell;
        if (!nine_is_indexed(w->nodes + n) || w->nodes[n].level != from) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        if (only && !nine_same_bounds(&b, only)) continue;
        if (!nine_reserve(g, to, n, &cell)) return;
        nine_unsettle(g, n);
        nine_settle(g, to, n, cell, &b);
    }
}

/* The borders of a mixed layer anew, after it has lost nodes. */
static void nine_measure(aoi_nine_grid *g, uint32_t level) {
    const aoi_world *w = g->engine->world;
    bool first = true;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!nine_is_indexed(w->nodes + n) || w->nodes[n].level != level) continue;
        aoi_bounds b = aoi_bounds_of(w, n);
        aoi_borders borders = aoi_borders_of(w->dims, &b);
        if (first) g->layers[level].borders = borders;
        else aoi_borders_include(&g->layers[level].borders, &borders);
        first = false;
    }
}

/* The bounds of more than half of the nodes, if there are such (Boyer and Moore 1981); returns of how many. */
static uint32_t nine_majority(const aoi_nine_grid *g, uint32_t level, aoi_bounds *most) {
    const aoi_world *w = g->engine->world;
    uint32_t lead = 0, votes = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t n = 0; n < w->node_top; n++) {
            if (!nine_is_indexed(w->nodes + n) || w->nodes[n].level != level) continue;
            aoi_bounds b = aoi_bounds_of(w, n);
            bool same = (round || lead) && nine_same_bounds(&b, most);
            if (round) votes += same;
            else if (!lead) *most = b, lead = 1;
            else lead += same ? 1u : UINT32_MAX;
        }
    return votes;
}

static void nine_divide(aoi_nine_grid *g, uint32_t level) {
    aoi_nine_layer *y = g->layers + level;
    aoi_bounds most = {0};
    if (y->uniform || y->count < NINE_VOTERS || y->count < 2 * y->voted || y->count < g->points.count / 16) return;
    y->voted = y->count;
    uint32_t votes = nine_majority(g, level, &most);
    if (votes <= y->count / 2) return;
    if (votes == y->count) {
        y->uniform = true;
        y->bounds = most;
        y->borders = aoi_borders_of(g->engine->world->dims, &most);
        return;
    }
    uint32_t to = nine_new_layer(g, &most, true);
    if (to == AOI_NONE) return;
    g->layers[to].crowd = g->layers[level].crowd;
    nine_transfer(g, level, to, &most);
    nine_measure(g, level);
    g->layers[level].voted = g->layers[level].count;
}

/* A uniform layer of few nodes is not worth a query of its own. */
static void nine_dissolve(aoi_nine_grid *g, uint32_t level) {
    aoi_nine_layer *y = g->layers + level;
    if (!y->uniform || !y->count || y->count >= NINE_VOTERS || y->count >= g->points.count / 64) return;
    aoi_bounds b = y->bounds;
    uint32_t to = nine_mixed_layer(g, &b);
    if (to != AOI_NONE) nine_transfer(g, level, to, NULL);
}

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

static uint32_t nine_occupied(const aoi_nine_grid *g) {
    return g->points.used - g->points.empty;
}

static bool nine_resize_points(aoi_nine_grid *g, double side) {
    if (!isfinite(side)) return false;
    aoi_entities_resize(g->engine->world, &g->points, side);
    return g->points.side == side;
}

/* Cells like the areas most in use suit the queries over points, but not if most are empty. */
static void nine_fit_points(aoi_nine_grid *g, double side) {
    bool good = g->points.side >= side || nine_resize_points(g, side);
    while (good && g->points.side >= 2 * side && g->points.count / NINE_DENSE > nine_occupied(g))
        good = nine_resize_points(g, g->points.side / 2);
    while (good && g->points.count / NINE_SPARSE < nine_occupied(g)) /* ends: at last four cells hold all */
        good = nine_resize_points(g, g->points.side * 2);
}

/* Looked at when the nodes in one layer have doubled. */
static void nine_tune_points(aoi_nine_grid *g, double side, uint32_t nodes) {
    if (nodes < 2 * g->tuned || nodes < NINE_TUNERS || g->points.count < NINE_TUNERS) return;
    g->tuned = nodes;
    nine_fit_points(g, side);
}

/* Where there are no nodes to learn from, and no hint, cells are like most of the questions. */
void aoi_nine_learn(aoi_nine_grid *g, double reach) {
    int size = aoi_size_class(reach);
    if (g->fixed || g->tuned || !(reach > 0) || !isfinite(reach)) return;
    if (!g->asked_lead) g->asked = size;
    g->asked_lead += size == g->asked ? 1 : -1;
    if (g->asked_lead < NINE_ASKED) return;
    g->asked_lead = 0;
    if (g->points.count >= NINE_TUNERS) nine_fit_points(g, nine_side_for(g, ldexp(1, size)));
}

void aoi_nine_suit(aoi_nine_grid *g, double reach, uint32_t nodes) {
    nine_tune_points(g, nine_side_for(g, reach), nodes);
}

/* The box around the owners anew. */
static void nine_measure_box(aoi_nine_grid *g, aoi_nine_layer *y) {
    const aoi_world *w = g->engine->world;
    aoi_owner_box_clear(&y->box);
    for (uint32_t i = 0; i < y->cells.top; i++) {
        if (!aoi_cell_exists(y->cells.cells + i)) continue;
        for (uint32_t b = y->cells.cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = y->cells.buckets[b].next)
            for (uint32_t lane = 0; lane < y->cells.buckets[b].count; lane++)
                (void)aoi_owner_box_cover(&y->box, w->entities[w->nodes[y->cells.buckets[b].ref[lane]].owner].pos);
    }
    y->box.grown = 0;
}

/* Makes a crowd a rare layer: each of its nodes gets a place. */
static void nine_disperse(aoi_nine_grid *g, uint32_t level) {
    aoi_world *w = g->engine->world;
    aoi_nine_layer *y = g->layers + level;
    for (uint32_t n = 0; n < w->node_top; n++) {
        aoi_node_record *r = w->nodes + n;
        if (!nine_is_indexed(r) || r->level != level) continue;
        const double *pos = w->entities[r->owner].pos;
        uint32_t cell = aoi_spatial_reserve(aoi_nine_memory(g), &y->cells, AOI_NONE, pos);
        if (cell == AOI_NONE) {
            aoi_spatial_close(aoi_nine_memory(g), &y->cells);
            return;
        }
        r->home = cell;
        r->slot = aoi_spatial_insert(&y->cells, cell, pos, n);
    }
    y->crowd = false;
    nine_measure_box(g, y);
    g->rare += y->count;
}

/* Whether a query over all entities that finds the nodes of some is worth it. */
static void nine_choose_crowd(aoi_nine_grid *g, uint32_t level) {
    aoi_nine_layer *y = g->layers + level;
    bool fits = y->side <= g->points.side;
    if (!y->crowd && fits && y->count && y->count >= g->points.count / 2) {
        aoi_spatial_close(aoi_nine_memory(g), &y->cells);
        y->crowd = true;
        y->spread = 0;
        g->rare -= y->count;
    } else if (y->crowd && (!fits || y->count < g->points.count / 8)) nine_disperse(g, level);
}

static const double *nine_node_position(const aoi_world *w, uint32_t node) {
    return w->entities[w->nodes[node].owner].pos;
}

static void nine_node_placed(void *ud, uint32_t node, uint32_t cell, uint32_t slot) {
    aoi_node_record *n = (aoi_node_record *)ud + node;
    n->home = cell;
    n->slot = slot;
}

/* A few nodes are to share a cell: most queries find the cell that they begin with, and look at four. */
static void nine_spread(aoi_nine_grid *g, aoi_nine_layer *y) {
    aoi_world *w = g->engine->world;
    if (y->crowd || y->count < 2 * y->spread) return;
    y->spread = y->count;
    aoi_spatial_spread(w, &y->cells, y->side, nine_node_position, nine_node_placed, w->nodes);
}

static void nine_tune(aoi_nine_grid *g) {
    uint32_t count = g->layer_count;
    for (uint32_t i = 0; i < g->layer_count; i++) nine_tune_points(g, g->layers[i].side, g->layers[i].count);
    for (uint32_t i = 0; i < count; i++) nine_divide(g, i);
    for (uint32_t i = 0; i < count; i++) nine_dissolve(g, i);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        nine_choose_crowd(g, i);
        aoi_nine_layer *y = g->layers + i;
        if (!y->crowd && y->box.grown >= NINE_GROWTHS + y->count) nine_measure_box(g, y);
        nine_spread(g, y);
        if (aoi_spatial_is_untidy(&g->layers[i].cells)) aoi_spatial_tidy(aoi_nine_memory(g), &g->layers[i].cells);
    }
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < g->layer_count; i++) nodes += g->layers[i].count;
    aoi_sought_tune(g->engine->world, &g->sought, nodes, g->points.side);
    if (aoi_spatial_is_untidy(&g->sought.cells)) aoi_spatial_tidy(aoi_nine_memory(g), &g->sought.cells);
    g->changed = false;
}

static bool nine_is_untidy(const aoi_nine_grid *g) {
    if (aoi_spatial_is_untidy(&g->sought.cells)) return true;
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (aoi_spatial_is_untidy(&g->layers[i].cells)) return true;
    return false;
}

void aoi_nine_tidy(aoi_nine_grid *g) {
    if (!g->engine->world->entity_count) aoi_nine_close(g);
    if (g->changed || nine_is_untidy(g)) nine_tune(g);
    if (aoi_spatial_is_untidy(&g->points)) aoi_spatial_tidy(aoi_nine_memory(g), &g->points);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *nine_check_node(const aoi_nine_grid *g, uint32_t n) {
    const aoi_world *w = g->engine->world;
    const aoi_node_record *r = w->nodes + n;
    if (r->level >= g->layer_count) return "a node is in no layer";
    const aoi_nine_layer *y = g->layers + r->level;
    aoi_bounds b = aoi_bounds_of(w, n);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    const aoi_area_record *a = w->areas + n;
    if (y->uniform ? !nine_same_bounds(&y->bounds, &b) : y->kind != aoi_borders_kind(&borders, b.idle))
        return "a node is in the wrong layer";
    if (!aoi_borders_contain(&y->borders, &borders)) return "a node's borders are not in those of its layer";
    if (borders.round && !(borders.enter_min[0] <= a->radius && a->radius <= borders.enter_max[0] &&
                           borders.leave_min[0] <= a->keep && a->keep <= borders.leave_max[0]))
        return "the bounds of a circle do not tell its radius";
    if ((r->mask & ~y->masks) || ((r->flags & AOI_NODE_OVERRIDES) && !y->excepts))
        return "a layer does not know what its nodes look for";
    const double *at = w->entities[r->owner].pos;
    if (!y->crowd && !aoi_owner_box_holds(&y->box, at)) return "a node is beyond the box of its layer";
    if (!y->crowd && !aoi_spatial_has(&y->cells, r->home, r->slot, w->entities[r->owner].pos, n))
        return "the grid has lost a node";
    return NULL;
}

const char *aoi_nine_check(const aoi_nine_grid *g) {
    const aoi_world *w = g->engine->world;
    const char *wrong = aoi_entities_check(w, &g->points);
    if (!wrong) wrong = aoi_sought_check(w, &g->sought);
    uint32_t nodes = 0, counted = 0, rare = 0;
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        if (!nine_is_indexed(w->nodes + n)) continue;
        wrong = nine_check_node(g, n);
        nodes++;
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        const aoi_nine_layer *y = g->layers + i;
        counted += y->count;
        rare += y->crowd ? 0 : y->count;
        wrong = aoi_spatial_check(&y->cells);
        if (!wrong && y->cells.count != (y->crowd ? 0 : y->count)) wrong = "a layer counts its nodes wrongly";
    }
    return wrong || (nodes == counted && rare == g->rare) ? wrong : "the grid counts its nodes wrongly";
}
