/* grid.c - the nine-grid: cells record the entities that stand in them, coordinates side by side.
 *
 *   points   all entities, in cells of a side like the radius most in use, or larger where entities are few
 *   layers   nodes of like borders (grid_layers.h); of a crowd, which most entities carry, no node needs a place of its
 *            own: the entities around a mover also tell which nodes are around it; rare nodes stand in their own cells
 *
 * A move makes two kinds of candidates.  Targets of the mover's nodes: a ring query around each node over `points`.
 * Nodes that have the mover as a target: a ring query of each layer's borders, around the mover, over the layer; a few
 * huge nodes are a few items in a layer of their own.  For a crowd both are one query over `points`.
 *
 * Cost, d entities in an area: move O(cells on the border + d), with a small constant; enter, leave, add_node O(1);
 * memory about 40 bytes an entity, and a rare node.  Cells are sparse (spatial_hash.h): memory follows the entities.
 * Method: the nine-grid of Chinese MMO servers, which is a spatial hash with per-radius layers and exact comparison. */
#include "engines/grid/grid_layers.h"
#include "engines/grid/self_join.h"

static int grid_open(aoi_engine *head, double cell) {
    aoi_grid *g = aoi_grid_of(head);
    g->fixed = cell > 0;
    g->base = g->fixed ? fmax(cell, AOI_GRID_LEAST_SIDE) : 1;
    g->last = AOI_NONE;
    aoi_spatial_open(&g->points, g->fixed ? g->base : AOI_GRID_SIDE);
    aoi_spatial_open(&g->sought.cells, g->points.side);
    return AOI_OK;
}

static void grid_close(aoi_engine *head) {
    aoi_grid *g = aoi_grid_of(head);
    while (g->layer_count) aoi_spatial_close(aoi_grid_memory(g), &g->layers[--g->layer_count].cells);
    AOI_CLEAR(aoi_grid_memory(g), g->layers, g->layer_cap);
    aoi_spatial_close(aoi_grid_memory(g), &g->points);
    aoi_sought_clear(head->world, &g->sought);
    g->tuned = 0;
}

static int grid_enter(aoi_engine *head, uint32_t entity) {
    aoi_grid *g = aoi_grid_of(head);
    bool sought = aoi_is_sought(&g->sought, head->world->entities[entity].kind);
    if (sought && !aoi_sought_insert(head->world, &g->sought, entity)) return AOI_ENOMEM;
    if (!aoi_entities_insert(head->world, &g->points, entity)) {
        if (sought) aoi_sought_remove(&g->sought, entity);
        return AOI_ENOMEM;
    }
    head->world->entities[entity].link = AOI_NONE;
    g->changed = head->world->untidy = true;
    return AOI_OK;
}

static void grid_leave(aoi_engine *head, uint32_t entity) {
    aoi_grid *g = aoi_grid_of(head);
    if (g->last == entity) g->last = AOI_NONE;
    g->changed = head->world->untidy = true;
    aoi_entities_remove(head->world, &g->points, entity);
    if (aoi_is_sought(&g->sought, head->world->entities[entity].kind)) aoi_sought_remove(&g->sought, entity);
}

static int grid_set_kind(aoi_engine *head, uint32_t entity, uint64_t kind) {
    return aoi_sought_change(head->world, &aoi_grid_of(head)->sought, entity, kind) ? AOI_OK : AOI_ENOMEM;
}

static void grid_mask_changed(aoi_engine *head, uint32_t node) {
    const aoi_node_record *n = head->world->nodes + node;
    aoi_grid_note_mask(aoi_grid_of(head)->layers + n->level, n);
}

static int grid_add_node(aoi_engine *head, uint32_t node) {
    aoi_bounds b = aoi_bounds_of(head->world, node);
    return aoi_grid_insert_node(aoi_grid_of(head), node, &b) ? AOI_OK : AOI_ENOMEM;
}

static void grid_remove_node(aoi_engine *head, uint32_t node) {
    aoi_grid_remove_node(aoi_grid_of(head), node);
}

static int grid_resize_node(aoi_engine *head, uint32_t node, const aoi_bounds *now) {
    return aoi_grid_resize_node(aoi_grid_of(head), node, now) ? AOI_OK : AOI_ENOMEM;
}

static void grid_tidy(aoi_engine *head) {
    aoi_grid *g = aoi_grid_of(head);
    if (!head->world->entity_count) grid_close(head);
    if (g->changed || aoi_grid_is_untidy(g)) aoi_grid_tune(g);
    if (aoi_spatial_is_untidy(&g->points)) aoi_spatial_tidy(aoi_grid_memory(g), &g->points);
}

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

enum { GRID_AHEAD = 4 }; /* items of a visit whose nodes are prefetched */

typedef struct grid_mover {
    aoi_world *world;
    uint32_t entity, node, level;
    uint64_t kind; /* of the mover */
} grid_mover;

/* The next node of a chain, from this one on, that is in the layer. */
static inline uint32_t grid_in_layer(const aoi_world *w, uint32_t node, uint32_t level) {
    while (node != AOI_NONE && (w->nodes[node].level != level || !aoi_is_bounded(w->nodes + node)))
        node = w->nodes[node].next;
    return node;
}

/* Entities around one of the mover's nodes. */
static void grid_visit_points(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity && aoi_may_see(w->nodes + m->node, w->entities[refs[i]].kind))
            aoi_add_candidate(w, m->node, refs[i]);
}

/* Nodes around the mover. */
static void grid_visit_nodes(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_node_record *n = w->nodes + refs[i];
        if (n->owner != m->entity && aoi_may_see(n, m->kind)) aoi_add_candidate(w, refs[i], m->entity);
    }
}

/* The node need not exist. */
static inline void grid_prefetch_node(const aoi_world *w, uint32_t node) {
    AOI_PREFETCH((const void *)((uintptr_t)w->nodes + (size_t)node * sizeof *w->nodes));
}

/* Entities around the mover, in whose layer both may have nodes. */
static void grid_visit_crowd(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *other = w->entities + refs[i];
        if (other->nodes != AOI_NONE)
            AOI_PREFETCH(&w->areas[other->nodes].user_data); /* for events: most hits make one */
        if (i + GRID_AHEAD < count) grid_prefetch_node(w, w->entities[refs[i + GRID_AHEAD]].nodes);
        if (refs[i] == m->entity) continue;
        for (uint32_t n = m->node; n != AOI_NONE; n = grid_in_layer(w, w->nodes[n].next, m->level))
            if (aoi_may_see(w->nodes + n, other->kind)) aoi_add_candidate(w, n, refs[i]);
        for (uint32_t n = grid_in_layer(w, other->nodes, m->level); n != AOI_NONE;
             n = grid_in_layer(w, w->nodes[n].next, m->level))
            if (aoi_may_see(w->nodes + n, m->kind)) aoi_add_candidate(w, n, m->entity);
    }
}

/* Reads entities, and nodes: those of one entity are often in the slots of the same numbers. */
static aoi_visitor grid_crowd_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->entities, (uintptr_t)w->nodes};
}

static aoi_visitor grid_node_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->nodes, (uintptr_t)w->nodes};
}

static void grid_query_crowd(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    grid_mover m = {w, entity, grid_in_layer(w, e->nodes, level), level, e->kind};
    aoi_visitor v = grid_crowd_visitor(w, grid_visit_crowd, &m);
    g->head.steps += aoi_ring_query(&g->points, e->pos, to, &g->layers[level].borders, solid, e->home, &v);
}

/* Targets of the mover's nodes in a layer, among those that are looked for where the node looks for no others.  A node
 * that the layer's borders are those of need not have its own made up. */
AOI_NOINLINE static void grid_query_own(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_grid_layer *y = g->layers + level;
    for (uint32_t n = e->nodes; (n = grid_in_layer(w, n, level)) != AOI_NONE; n = w->nodes[n].next) {
        grid_mover m = {w, entity, n, level, e->kind};
        aoi_visitor v = {grid_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities};
        aoi_borders own = y->borders;
        if (!y->uniform) {
            aoi_bounds b = aoi_bounds_of(w, n);
            own = aoi_borders_of(w->dims, &b);
        }
        bool few = aoi_seeks(&g->sought, w->nodes + n);
        g->head.steps +=
            aoi_ring_query(few ? &g->sought.cells : &g->points, e->pos, to, &own, solid, few ? AOI_NONE : e->home, &v);
    }
}

static void grid_query_rare(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_grid_layer *y = g->layers + level;
    grid_mover m = {w, entity, AOI_NONE, level, e->kind};
    aoi_visitor v = grid_node_visitor(w, grid_visit_nodes, &m);
    g->head.steps += aoi_ring_query(&y->cells, e->pos, to, &y->borders, solid, AOI_NONE, &v);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

AOI_INLINE void grid_fetch(const aoi_grid *g, uint32_t entity, int stage) {
    const aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_cell *k = g->points.cells + e->home;
    if (stage) {
        for (int d = 0; d < 9; d++)
            AOI_PREFETCH((const void *)((uintptr_t)g->points.buckets + (size_t)k->head[d] * sizeof(aoi_bucket)));
        return;
    }
    AOI_PREFETCH(k);
    AOI_PREFETCH(g->points.buckets + e->slot / AOI_BUCKET_LANES);
    if (e->nodes == AOI_NONE) return;
    AOI_PREFETCH(w->nodes + e->nodes);
    AOI_PREFETCH(&w->areas[e->nodes].user_data); /* for the space, when it takes the node's events */
}

static void grid_prefetch(const aoi_engine *head, uint32_t entity, int stage) {
    grid_fetch((const aoi_grid *)(const void *)head, entity, stage);
}

enum { GRID_LARGE = 1 << 12, GRID_TRUSTED = 8 }; /* entities that no near cache holds; right predictions in a row */

/* The entity that moved after this one the last time, AOI_NONE if it is gone. */
static uint32_t grid_follower(const aoi_world *w, uint32_t entity) {
    uint32_t next = entity != AOI_NONE ? w->entities[entity].link : AOI_NONE;
    return next < w->entity_top && aoi_is_live(w->entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often move all entities in the same order, tick by tick: `link` of each is the entity that moved after it.
 * While that proves right, what the next movers read is prefetched: in a large world a move waits mostly for memory. */
static void grid_predict(aoi_grid *g, uint32_t entity) {
    const aoi_world *w = g->head.world;
    if (g->last != AOI_NONE) {
        uint32_t *link = &w->entities[g->last].link;
        g->streak = *link == entity ? g->streak + (g->streak < GRID_TRUSTED) : 0;
        *link = entity;
    }
    g->last = entity;
    if (g->streak < GRID_TRUSTED) return;
    uint32_t next = grid_follower(w, entity), second = grid_follower(w, next);
    if (next != AOI_NONE) grid_fetch(g, next, 1);
    if (second == AOI_NONE) return;
    grid_fetch(g, second, 0);
    uint32_t third = w->entities[second].link;
    if (third < w->entity_top) AOI_PREFETCH(w->entities + third);
}

typedef struct grid_levels { /* bit i: layer i; bit 63 stands for all layers from there on */
    uint64_t own;            /* the entity has a node in it */
    uint64_t wide;           /* and one that does not only look for the sought */
} grid_levels;

static grid_levels grid_levels_of(const aoi_grid *g, uint32_t entity) {
    const aoi_world *w = g->head.world;
    grid_levels levels = {0, 0};
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n)) continue;
        uint64_t bit = UINT64_C(1) << (w->nodes[n].level < 63 ? w->nodes[n].level : 63);
        levels.own |= bit;
        if (!aoi_seeks(&g->sought, w->nodes + n)) levels.wide |= bit;
    }
    return levels;
}

/* carries: the entity may have rare nodes. */
static int grid_relocate(aoi_grid *g, uint32_t entity, const double *to, bool carries) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    bool sought = aoi_is_sought(&g->sought, e->kind);
    if (sought && !aoi_sought_move(w, &g->sought, entity, to)) return AOI_ENOMEM;
    bool moved =
        carries ? aoi_grid_move_chain(g, e->nodes, entity, e->pos, to) : aoi_entities_move(w, &g->points, entity, to);
    if (sought && !moved) (void)aoi_sought_move(w, &g->sought, entity, e->pos); /* there is room where it was */
    if (aoi_spatial_is_untidy(&g->points)) w->untidy = true;
    return moved ? AOI_OK : AOI_ENOMEM;
}

static int grid_place(aoi_engine *head, uint32_t entity, const double *to) {
    return grid_relocate(aoi_grid_of(head), entity, to, aoi_grid_of(head)->rare > 0);
}

static int grid_move(aoi_engine *head, uint32_t entity, const double *to) {
    aoi_grid *g = aoi_grid_of(head);
    aoi_world *w = head->world;
    const aoi_entity_record *e = w->entities + entity;
    const double *from = e->pos;
    uint32_t had = w->candidate_count;
    bool solid = w->dims == 3 && from[2] != to[2], carries = false;
    if (g->points.count >= GRID_LARGE && !w->mover_count) grid_predict(g, entity);
    grid_levels levels = {0, e->nodes == AOI_NONE ? 0 : UINT64_MAX};
    if (g->rare || g->sought.mask) levels = grid_levels_of(g, entity);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *y = g->layers + i;
        if (!y->count) continue;
        bool own = levels.own >> (i < 63 ? i : 63) & 1, wide = levels.wide >> (i < 63 ? i : 63) & 1;
        bool seen = aoi_grid_looks_for(y, e->kind);
        carries |= own && !y->crowd;
        if (y->crowd && (wide || seen)) {
            grid_query_crowd(g, entity, i, to, solid);
            continue;
        }
        if (own) grid_query_own(g, entity, i, to, solid);
        if (seen && aoi_grid_reaches(y, from, to)) grid_query_rare(g, entity, i, to, solid);
    }
    if (grid_relocate(g, entity, to, carries) == AOI_OK) return AOI_OK;
    w->candidate_count = had;
    return AOI_ENOMEM;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void grid_visit_hits(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    for (size_t i = 0; i < count; i++) aoi_add_hit(m->world, refs[i]);
}

static void grid_visit_owners(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = w->entities[refs[i]].nodes; (n = grid_in_layer(w, n, m->level)) != AOI_NONE;
             n = w->nodes[n].next)
            aoi_add_hit(w, n);
}

static void grid_targets(aoi_engine *head, const double *lo, const double *hi) {
    uintptr_t entities = (uintptr_t)head->world->entities;
    aoi_visitor v = {grid_visit_hits, &(grid_mover){.world = head->world}, entities, entities};
    head->steps += aoi_box_query(&aoi_grid_of(head)->points, lo, hi, &v);
}

static void grid_watchers(aoi_engine *head, const double *at) {
    aoi_grid *g = aoi_grid_of(head);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *y = g->layers + i;
        grid_mover m = {.world = head->world, .level = i};
        if (!y->count) continue;
        aoi_visitor v = y->crowd ? grid_crowd_visitor(head->world, grid_visit_owners, &m)
                                 : grid_node_visitor(head->world, grid_visit_hits, &m);
        head->steps += aoi_ring_query(y->crowd ? &g->points : &y->cells, at, at, &y->borders, true, AOI_NONE, &v);
    }
}

static const char *grid_check(aoi_engine *head) {
    const char *wrong = aoi_entities_check(head->world, &aoi_grid_of(head)->points);
    if (!wrong) wrong = aoi_sought_check(head->world, &aoi_grid_of(head)->sought);
    return wrong ? wrong : aoi_grid_check_layers(aoi_grid_of(head));
}

static void grid_stats(const aoi_engine *head, aoi_stats *out) {
    const aoi_grid *g = (const aoi_grid *)(const void *)head;
    out->cells = g->points.used + g->sought.cells.used;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        out->cells += g->layers[i].cells.used;
        out->levels += g->layers[i].count > 0;
    }
}

static bool grid_supports_join(const aoi_engine *head, double farthest) {
    return aoi_grid_supports_join((const aoi_grid *)(const void *)head, farthest);
}

static int grid_join(aoi_engine *head) {
    return aoi_grid_join(aoi_grid_of(head)) ? AOI_OK : AOI_ENOMEM;
}

static void grid_describe(const aoi_engine *head, aoi_describer *d) {
    const aoi_grid *g = (const aoi_grid *)(const void *)head;
    aoi_spatial_describe(&g->points, d, AOI_PART_CELL, 0, AOI_ENTRY_ENTITY);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (!g->layers[i].crowd) aoi_spatial_describe(&g->layers[i].cells, d, AOI_PART_NODES, i + 1, AOI_ENTRY_NODE);
}

const aoi_engine_class aoi_engine_grid = {
    .name = "grid",
    .size = sizeof(aoi_grid),
    .open = grid_open,
    .close = grid_close,
    .enter = grid_enter,
    .leave = grid_leave,
    .add_node = grid_add_node,
    .remove_node = grid_remove_node,
    .resize_node = grid_resize_node,
    .set_kind = grid_set_kind,
    .mask_changed = grid_mask_changed,
    .move = grid_move,
    .tidy = grid_tidy,
    .prefetch = grid_prefetch,
    .supports_join = grid_supports_join,
    .place = grid_place,
    .join = grid_join,
    .targets = grid_targets,
    .watchers = grid_watchers,
    .check = grid_check,
    .stats = grid_stats,
    .describe = grid_describe,
};
