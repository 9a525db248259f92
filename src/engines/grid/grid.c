/* grid.c - the nine-grid: cells record the entities that stand in them, coordinates side by side.
 *
 *   points    all entities, in cells of a side like the radius most in use, or larger where entities are few
 *   layer     nodes of about one radius, side/2 < reach <= side; a crowd of them, which most entities carry, needs no
 *             place of its own: who stands around me also tells which nodes are around me
 *   layer     rare nodes, where their watchers stand, in cells of that side ... one layer for each power of two in use
 *
 * A move asks two things.  Whom do my nodes gain or lose?  A sweep of each node's box over `points`.  Whose nodes gain
 * or lose me?  A sweep of each layer's box, around me, over the layer: a few huge nodes are a few items in a layer of
 * their own.  For a layer that is a crowd both are one sweep over `points`.
 *
 * Cost, d entities in an area: move O(outline's cells + d), with a small constant; enter, leave, attach O(d); memory
 * about 40 bytes an entity, and a rare node.  Cells are sparse (spatial_hash.h): no borders, memory follows the entities.
 * Method: the nine-grid of Chinese MMO servers, which is a spatial hash with per-radius layers and exact comparison. */
#include <math.h>

#include "engines/grid/self_join.h"
#include "engines/shared/points.h"
#include "engines/shared/ring_query.h"

#define DEFAULT_SIDE 64.0
#define LEAST_SIDE 0x1p-200 /* finer cells serve nobody, and the inverse must be finite */

typedef struct layer {
    aoi_cells cells;    /* of node slots; empty if it is a crowd */
    double least, most; /* bounds of the nodes' reaches */
    uint32_t count;     /* nodes */
    bool crowd;         /* its nodes are found through their owners */
} layer;

typedef struct grid {
    aoi_engine head;
    double base;  /* sides are this times a power of two */
    bool fixed;   /* by the `cell` hint */
    bool changed; /* other numbers of entities or nodes since the last tidying */
    aoi_cells points;
    const aoi_sweeper *sweeper;
    aoi_join join;
    layer *layers;
    uint32_t layer_cap, layer_count;
    uint32_t tuned; /* nodes in the layer that chose the side of `points` */
    uint32_t rare;  /* nodes in layers that are no crowds */
} grid;

static grid *self(aoi_engine *g) {
    return (grid *)(void *)g;
}

static aoi_memory *memory_of(grid *g) {
    return &g->head.world->memory;
}

static int grid_open(aoi_engine *head, double cell) {
    grid *g = self(head);
    g->fixed = cell > 0;
    g->base = g->fixed ? fmax(cell, LEAST_SIDE) : 1;
    g->sweeper = aoi_best_sweeper();
    g->join = aoi_best_join();
    aoi_cells_open(&g->points, g->fixed ? g->base : DEFAULT_SIDE);
    return AOI_OK;
}

static void grid_close(aoi_engine *head) {
    grid *g = self(head);
    for (uint32_t i = 0; i < g->layer_count; i++) aoi_cells_close(memory_of(g), &g->layers[i].cells);
    AOI_FREE(memory_of(g), g->layers, g->layer_cap);
    aoi_cells_close(memory_of(g), &g->points);
}

/* ---- layers ------------------------------------------------------------------------------------------------------------ */

/* The least power of two times the base that is no less than the reach; a hint is also the least side. */
static double side_for(const grid *g, double reach) {
    int e;
    if (reach == 0) return g->fixed ? g->base : DEFAULT_SIDE;
    double m = frexp(reach / g->base, &e);
    if (m == 0.5) e--;
    if (g->fixed && e < 0) e = 0;
    return fmax(ldexp(g->base, e), LEAST_SIDE);
}

static layer *layer_of(const grid *g, uint32_t node) {
    return g->layers + g->head.world->nodes[node].level;
}

/* The number of the layer for a reach; made if there is none; AOI_NONE when memory is refused. */
static uint32_t make_layer(grid *g, double reach) {
    double side = side_for(g, reach);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (g->layers[i].cells.side == side) return i;
    if (!AOI_GROW(memory_of(g), g->layers, g->layer_cap, g->layer_count + (size_t)1)) return AOI_NONE;
    layer *y = g->layers + g->layer_count;
    *y = (layer){.least = INFINITY};
    aoi_cells_open(&y->cells, side);
    return g->layer_count++;
}

/* ---- items ----------------------------------------------------------------------------------------------------------------- */

static void take_node(grid *g, layer *y, uint32_t node) {
    aoi_node_record *nodes = g->head.world->nodes, *n = nodes + node;
    uint32_t moved = aoi_cells_take(&y->cells, n->home, n->slot);
    if (moved != AOI_NONE) nodes[moved].slot = n->slot;
}

static bool move_node(grid *g, uint32_t node, const double *to) {
    aoi_node_record *n = g->head.world->nodes + node;
    if (isinf(n->reach)) return true;
    layer *y = layer_of(g, node);
    if (y->crowd) return true;
    if (aoi_cells_set(&y->cells, n->home, n->slot, to)) return true;
    uint32_t cell = aoi_cells_ready(memory_of(g), &y->cells, n->home, to);
    if (cell == AOI_NONE) return false;
    take_node(g, y, node);
    n->slot = aoi_cells_put(&y->cells, cell, to, node);
    n->home = cell;
    return true;
}

/* ---- structure --------------------------------------------------------------------------------------------------------------- */

static int grid_enter(aoi_engine *head, uint32_t entity) {
    self(head)->changed = true;
    return aoi_points_put(head->world, &self(head)->points, entity) ? AOI_OK : AOI_ENOMEM;
}

static void grid_leave(aoi_engine *head, uint32_t entity) {
    self(head)->changed = true;
    aoi_points_take(head->world, &self(head)->points, entity);
}

/* Into a layer and, if it is no crowd, one of its cells that has room. */
static void settle(grid *g, uint32_t node, double reach, uint32_t level, uint32_t cell) {
    aoi_node_record *n = g->head.world->nodes + node;
    layer *y = g->layers + level;
    n->level = level;
    if (!y->crowd) {
        g->rare++;
        n->home = cell;
        n->slot = aoi_cells_put(&y->cells, cell, g->head.world->entities[n->owner].pos, node);
    }
    if (y->count++ == 0) y->least = y->most = reach;
    y->least = fmin(y->least, reach);
    y->most = fmax(y->most, reach);
    g->changed = true;
}

static void grid_detach(aoi_engine *head, uint32_t node) {
    grid *g = self(head);
    layer *y = layer_of(g, node);
    if (!y->crowd) {
        g->rare--;
        take_node(g, y, node);
    }
    y->count--;
    g->changed = true;
}

/* The layer of this reach, and a cell in it with room if it needs one; false when memory is refused. */
static bool ready(grid *g, uint32_t node, double reach, uint32_t *level, uint32_t *cell) {
    const double *pos = g->head.world->entities[g->head.world->nodes[node].owner].pos;
    if ((*level = make_layer(g, reach)) == AOI_NONE) return false;
    layer *y = g->layers + *level;
    *cell = AOI_NONE;
    if (y->crowd) return true;
    *cell = aoi_cells_ready(memory_of(g), &y->cells, AOI_NONE, pos);
    return *cell != AOI_NONE;
}

static int grid_attach(aoi_engine *head, uint32_t node) {
    grid *g = self(head);
    double reach = head->world->nodes[node].reach;
    uint32_t level, cell;
    if (!ready(g, node, reach, &level, &cell)) return AOI_ENOMEM;
    settle(g, node, reach, level, cell);
    return AOI_OK;
}

static int grid_resize(aoi_engine *head, uint32_t node, double reach) {
    grid *g = self(head);
    uint32_t level, cell;
    if (!ready(g, node, reach, &level, &cell)) return AOI_ENOMEM;
    grid_detach(head, node);
    settle(g, node, reach, level, cell);
    return AOI_OK;
}

AOI_NOINLINE static bool relocate_with_nodes(grid *g, uint32_t entity, const double *from, const double *to) {
    aoi_world *w = g->head.world;
    uint32_t n = w->entities[entity].nodes, failed;
    while (n != AOI_NONE && move_node(g, n, to)) n = w->nodes[n].next;
    if ((failed = n) == AOI_NONE && aoi_points_move(w, &g->points, entity, to)) return true;
    for (n = w->entities[entity].nodes; n != failed; n = w->nodes[n].next) move_node(g, n, from);
    return false;
}

static int grid_relocate(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    grid *g = self(head);
    bool moved =
        g->rare ? relocate_with_nodes(g, entity, from, to) : aoi_points_move(head->world, &g->points, entity, to);
    return moved ? AOI_OK : AOI_ENOMEM;
}

/* ---- tuning: between calls, and where memory refuses all goes on as it was --------------------------------------------------- */

enum { FEW = 2, MANY = 16 }; /* items in a cell */

static uint32_t occupied(const grid *g) {
    return g->points.used - g->points.empty;
}

static bool resize_points(grid *g, double side) {
    if (!isfinite(side)) return false;
    aoi_points_resize(g->head.world, &g->points, side);
    return g->points.side == side;
}

/* Cells like the boxes most in use suit the sweeps over points, but not if most are empty.  Asked when the nodes in one
 * layer have doubled. */
static void tune(grid *g, const layer *y) {
    if (y->count < 2 * g->tuned || y->count < 8 || g->points.count < 8) return;
    bool good = g->points.side >= y->cells.side || resize_points(g, y->cells.side);
    g->tuned = y->count;
    while (good && g->points.side >= 2 * y->cells.side && g->points.count / MANY > occupied(g))
        good = resize_points(g, g->points.side / 2);
    while (good && g->points.count / FEW < occupied(g)) /* ends: at last four cells hold everybody */
        good = resize_points(g, g->points.side * 2);
}

/* Gives each of its nodes a place. */
static void disperse(grid *g, uint32_t level) {
    aoi_world *w = g->head.world;
    layer *y = g->layers + level;
    for (uint32_t n = 0; n < w->node_top; n++) {
        aoi_node_record *r = w->nodes + n;
        if (!aoi_alive(r->generation) || isinf(r->reach) || r->level != level) continue;
        const double *pos = w->entities[r->owner].pos;
        uint32_t cell = aoi_cells_ready(memory_of(g), &y->cells, AOI_NONE, pos);
        if (cell == AOI_NONE) {
            aoi_cells_close(memory_of(g), &y->cells);
            return;
        }
        r->home = cell;
        r->slot = aoi_cells_put(&y->cells, cell, pos, n);
    }
    y->crowd = false;
    g->rare += y->count;
}

/* Whether a sweep over all entities that finds the nodes of some is worth it. */
static void decide(grid *g, uint32_t level) {
    layer *y = g->layers + level;
    bool fits = y->cells.side <= g->points.side;
    if (!y->crowd && fits && y->count >= g->points.count / 2) {
        aoi_cells_close(memory_of(g), &y->cells);
        y->crowd = true;
        g->rare -= y->count;
    } else if (y->crowd && (!fits || y->count < g->points.count / 8)) disperse(g, level);
}

static void retune(grid *g) {
    for (uint32_t i = 0; i < g->layer_count; i++) tune(g, g->layers + i);
    for (uint32_t i = 0; i < g->layer_count; i++) decide(g, i);
}

AOI_NOINLINE static void tidy_layers(grid *g) {
    if (g->changed) retune(g);
    for (uint32_t i = 0; i < g->layer_count; i++) aoi_cells_tidy(memory_of(g), &g->layers[i].cells);
    g->changed = false;
}

static void grid_tidy(aoi_engine *head) {
    grid *g = self(head);
    if (g->changed || g->rare) tidy_layers(g);
    aoi_cells_tidy(memory_of(g), &g->points);
}

/* ---- proposals --------------------------------------------------------------------------------------------------------------- */

typedef struct mover {
    grid *g;
    uint32_t entity, node, level;
} mover;

/* Entities around one of the mover's nodes. */
static void on_point(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity) aoi_propose(m->g->head.world, m->node, refs[i]);
}

/* Nodes around the mover. */
static void on_node(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    aoi_world *w = m->g->head.world;
    for (size_t i = 0; i < count; i++)
        if (w->nodes[refs[i]].owner != m->entity) aoi_propose(w, refs[i], m->entity);
}

/* Entities around the mover and its nodes, where the layer is a crowd. */
static void on_neighbor(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    aoi_propose_each_other(m->g->head.world, m->level, m->entity, refs, count);
}

/* Reads whoever stands around, and nodes: those of one entity are often in the slots of the same numbers. */
static aoi_visitor crowd_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->entities, (uintptr_t)w->nodes};
}

static aoi_visitor layer_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->nodes, (uintptr_t)w->nodes};
}

static void propose_crowd(grid *g, uint32_t entity, uint32_t level, const double *from, const double *to, bool height) {
    aoi_world *w = g->head.world;
    const layer *y = g->layers + level;
    mover m = {g, entity, AOI_NONE, level};
    aoi_visitor v = crowd_visitor(w, on_neighbor, &m);
    g->head.steps +=
        g->sweeper->move(&g->points, from, to, height ? 0 : y->least, y->most, w->entities[entity].home, &v);
}

AOI_NOINLINE static void propose_rare(grid *g, uint32_t entity, uint32_t level, const double *from, const double *to,
                                      bool height) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next) {
        double r = w->nodes[n].reach;
        mover m = {g, entity, n, level};
        aoi_visitor v = {on_point, &m, (uintptr_t)w->entities, (uintptr_t)w->entities};
        if (w->nodes[n].level != level || isinf(r)) continue;
        g->head.steps += g->sweeper->move(&g->points, from, to, height ? 0 : r, r, e->home, &v);
    }
    const layer *y = g->layers + level;
    mover m = {g, entity, AOI_NONE, level};
    aoi_visitor v = layer_visitor(w, on_node, &m);
    g->head.steps += g->sweeper->move(&y->cells, from, to, height ? 0 : y->least, y->most, AOI_NONE, &v);
}

static void grid_propose(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    grid *g = self(head);
    bool height = head->world->dims == 3 && from[2] != to[2];
    for (uint32_t i = 0; i < g->layer_count; i++) {
        if (!g->layers[i].count) continue;
        if (g->layers[i].crowd) propose_crowd(g, entity, i, from, to, height);
        else propose_rare(g, entity, i, from, to, height);
    }
}

/* ---- batches --------------------------------------------------------------------------------------------------------- */

typedef struct meeting {
    aoi_world *world;
    uint32_t level;
} meeting;

static void on_couples(void *ud, const aoi_couple *couples, size_t count) {
    const meeting *m = ud;
    aoi_propose_moved(m->world, m->level, couples, count);
}

static void recall(const void *ud, const uint32_t *entities, size_t count, double (*was_at)[2]) {
    aoi_positions_before(ud, entities, count, was_at);
}

/* Two who both move change their distance by twice that at most; whose distance was about a reach must be at hand. */
static bool grid_joins(const aoi_engine *head, double farthest) {
    const grid *g = (const grid *)(const void *)head;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const layer *y = g->layers + i;
        if (y->count && !(y->crowd && y->most + 2 * farthest < 0.999 * g->points.side)) return false;
    }
    return true;
}

static bool grid_propose_all(aoi_engine *head) {
    grid *g = self(head);
    aoi_past *past = NULL;
    uint32_t cap = 0;
    if (!AOI_GROW_LINES(memory_of(g), past, cap, g->points.line_top)) return false;
    aoi_join_recall(&g->points, past, recall, head->world);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const layer *y = g->layers + i;
        meeting m = {head->world, i};
        if (y->count) head->steps += g->join(&g->points, past, y->least, y->most, on_couples, &m);
    }
    AOI_FREE_LINES(memory_of(g), past, cap);
    return true;
}

static void grid_fetch(const aoi_engine *head, uint32_t entity, bool soon) {
    const grid *g = (const grid *)(const void *)head;
    const aoi_entity_record *e = head->world->entities + entity;
    const aoi_cell *k = g->points.cells + e->home;
    if (soon) {
        for (int d = 0; d < 9; d++)
            AOI_PREFETCH((const void *)((uintptr_t)g->points.lines + (size_t)k->first[d] * sizeof(aoi_line)));
        return;
    }
    AOI_PREFETCH(k);
    AOI_PREFETCH(g->points.lines + e->slot / AOI_LANES);
    if (e->nodes != AOI_NONE) AOI_PREFETCH(head->world->nodes + e->nodes);
}

static void on_found(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    for (size_t i = 0; i < count; i++) aoi_found(m->g->head.world, refs[i]);
}

static void on_owner(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    aoi_world *w = m->g->head.world;
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = w->entities[refs[i]].nodes; n != AOI_NONE; n = w->nodes[n].next)
            if (w->nodes[n].level == m->level && !isinf(w->nodes[n].reach)) aoi_found(w, n);
}

static void grid_targets(aoi_engine *head, const double *lo, const double *hi) {
    grid *g = self(head);
    uintptr_t entities = (uintptr_t)head->world->entities;
    aoi_visitor v = {on_found, &(mover){.g = g}, entities, entities};
    head->steps += g->sweeper->box(&g->points, lo, hi, &v);
}

static void grid_watchers(aoi_engine *head, const double *at) {
    grid *g = self(head);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const layer *y = g->layers + i;
        mover m = {g, AOI_NONE, AOI_NONE, i};
        if (!y->count) continue;
        aoi_visitor v = y->crowd ? crowd_visitor(head->world, on_owner, &m) : layer_visitor(head->world, on_found, &m);
        head->steps += g->sweeper->move(y->crowd ? &g->points : &y->cells, at, at, 0, y->most, AOI_NONE, &v);
    }
}

/* ---- invariants --------------------------------------------------------------------------------------------------------------- */

static const char *grid_check(aoi_engine *head) {
    grid *g = self(head);
    const aoi_world *w = head->world;
    const char *wrong = aoi_points_check(w, &g->points);
    uint32_t nodes = 0, counted = 0, rare = 0;
    for (uint32_t n = 0; n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_alive(r->generation) || isinf(r->reach)) continue;
        const layer *y = layer_of(g, n);
        const double *pos = w->entities[r->owner].pos;
        nodes++;
        if (y->cells.side != side_for(g, r->reach) || !(y->least <= r->reach && r->reach <= y->most))
            return "a node is in the wrong layer";
        if (!y->crowd && !aoi_cells_has(&y->cells, r->home, r->slot, pos, n)) return "the grid has lost a node";
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        const layer *y = g->layers + i;
        counted += y->count;
        rare += y->crowd ? 0 : y->count;
        wrong = aoi_cells_check(&y->cells);
        if (!wrong && y->cells.count != (y->crowd ? 0 : y->count)) wrong = "a layer counts its nodes wrongly";
    }
    if (!wrong && (nodes != counted || rare != g->rare)) return "the grid counts its items wrongly";
    return wrong;
}

static void grid_stats(const aoi_engine *head, aoi_stats *out) {
    const grid *g = (const grid *)(const void *)head;
    out->cells = g->points.used;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        out->cells += g->layers[i].cells.used;
        out->levels += g->layers[i].count > 0;
    }
}

const aoi_engine_class aoi_engine_grid = {
    .name = "grid",
    .size = sizeof(grid),
    .open = grid_open,
    .close = grid_close,
    .enter = grid_enter,
    .leave = grid_leave,
    .attach = grid_attach,
    .detach = grid_detach,
    .resize = grid_resize,
    .relocate = grid_relocate,
    .tidy = grid_tidy,
    .fetch = grid_fetch,
    .propose = grid_propose,
    .joins = grid_joins,
    .propose_all = grid_propose_all,
    .targets = grid_targets,
    .watchers = grid_watchers,
    .check = grid_check,
    .stats = grid_stats,
};
