/* candidates.c - the candidates of a single move; see nine_grid.h.
 *
 * A move makes two kinds of candidates.  Targets of the mover's nodes: a ring query around each node over `points`.
 * Nodes that have the mover as a target: a ring query of each layer's borders, around the mover, over the layer; a few
 * huge nodes are a few items in a layer of their own.  For a crowd both are one query over `points`. */
#include "core/rule.h"
#include "grid/nine_grid.h"

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

enum { GRID_AHEAD = 6, GRID_SOON = 3 }; /* items of a visit whose nodes, and shapes, are prefetched */

typedef struct grid_mover {
    aoi_world *world;
    uint32_t entity, node, level;
    uint64_t kind; /* of the mover */
    const double *from, *to;
    double step; /* how far it goes, or more */
    bool thick;  /* the ring is wide, so that most of what it hits does not change: looked at before it is proposed */
} grid_mover;

/* Whether a target may come into a sector or leave it, in the plane, when the place of one against the other changes by no
 * more than `step`: d.f - c |d| changes by at most twice that, as f is a unit vector and |c| <= 1.  Squares that underflow are
 * those of less than 1e-150. */
AOI_INLINE bool grid_sector_changes(const aoi_area_record *a, const double *w, const double *t, double step) {
    const aoi_shape *p = a->shape;
    double dx = t[0] - w[0], dy = t[1] - w[1], away = sqrt(dx * dx + dy * dy), beside = dx * p->fx + dy * p->fy;
    double room = step + (away + a->radius) * 0x1p-40 + 1e-150, depth = beside - p->c * away;
    if (!(room <= DBL_MAX)) return true;
    return (away < a->radius + room) & (depth > -2.5 * room) & !((away < a->radius - room) & (depth > 2.5 * room));
}

/* Whether a target comes into a polygon or leaves it; was, is: whether the height lets it be inside before and after. */
static bool grid_polygon_changes(const aoi_shape *p, const double *w0, const double *t0, const double *w1,
                                 const double *t1, bool was, bool is) {
    double x0 = t0[0] - w0[0], y0 = t0[1] - w0[1], x1 = t1[0] - w1[0], y1 = t1[1] - w1[1];
    bool before = false, after = false;
    for (uint32_t i = 0, j = p->corners - 1; i < p->corners; j = i++) {
        before ^= aoi_crosses_side(p, i, j, x0, y0);
        after ^= aoi_crosses_side(p, i, j, x1, y1);
    }
    return (before & was) != (after & is);
}

/* Whether a pair changes its zone when the watcher goes from w0 to w1, the target from t0 to t1; true for areas
 * that it does not look at. */
AOI_INLINE bool grid_changes(const aoi_world *w, uint32_t node, const double *w0, const double *t0, const double *w1,
                             const double *t1, double step) {
    const aoi_node_record *n = w->nodes + node;
    int dims = w->dims;
    if (n->flags & AOI_NODE_PLAIN)
        return aoi_in_box(dims, w0, t0, n->reach[0]) != aoi_in_box(dims, w1, t1, n->reach[0]);
    const aoi_area_record *a = w->areas + node;
    if (!a->shape && n->shape == AOI_SQUARE)
        return aoi_zone_of(dims, AOI_SQUARE, a, w0, t0) != aoi_zone_of(dims, AOI_SQUARE, a, w1, t1);
    if (!a->shape) return aoi_zone_of(dims, AOI_CIRCLE, a, w0, t0) != aoi_zone_of(dims, AOI_CIRCLE, a, w1, t1);
    if (n->flags & AOI_NODE_KEEPS) return true;
    bool was = dims < 3 || aoi_in_side(w0[2], t0[2], a->shape->height);
    bool is = dims < 3 || aoi_in_side(w1[2], t1[2], a->shape->height);
    if (n->shape == AOI_BOX)
        return (was & !aoi_lanes_outside(w0, t0, n->reach)) != (is & !aoi_lanes_outside(w1, t1, n->reach));
    if (n->shape == AOI_SECTOR) return was != is || (was && grid_sector_changes(a, w0, t0, step));
    if (n->shape == AOI_POLYGON) return grid_polygon_changes(a->shape, w0, t0, w1, t1, was, is);
    if (n->shape != AOI_CYLINDER) return true;
    return (was && aoi_in_ball(2, w0, t0, a->radius)) != (is && aoi_in_ball(2, w1, t1, a->radius));
}

/* One of the mover's nodes and another entity; another's node and the mover. */
AOI_INLINE bool grid_target_changes(const grid_mover *m, uint32_t node, uint32_t other) {
    const double *at = m->world->entities[other].pos;
    return grid_changes(m->world, node, m->from, at, m->to, at, m->step);
}

AOI_INLINE bool grid_node_changes(const grid_mover *m, uint32_t node) {
    const double *at = m->world->entities[m->world->nodes[node].owner].pos;
    return grid_changes(m->world, node, at, m->from, at, m->to, m->step);
}

/* Entities around one of the mover's nodes. */
static void grid_visit_points(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity && aoi_may_see(w->nodes + m->node, w->entities[refs[i]].kind) &&
            (!m->thick || grid_target_changes(m, m->node, refs[i])))
            aoi_add_candidate(w, m->node, refs[i]);
}

/* Nodes around the mover. */
static void grid_visit_nodes(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_node_record *n = w->nodes + refs[i];
        if (n->owner != m->entity && aoi_may_see(n, m->kind) && (!m->thick || grid_node_changes(m, refs[i])))
            aoi_add_candidate(w, refs[i], m->entity);
    }
}

/* The mover and another entity: nodes of the layer that change, of either. */
AOI_INLINE void grid_add_changes(const grid_mover *m, uint32_t other) {
    aoi_world *w = m->world;
    uint64_t kind = w->entities[other].kind;
    for (uint32_t n = m->node; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, m->level))
        if (aoi_may_see(w->nodes + n, kind) && grid_target_changes(m, n, other)) aoi_add_candidate(w, n, other);
    uint32_t n = aoi_next_in_level(w, w->entities[other].nodes, m->level);
    for (; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, m->level))
        if (aoi_may_see(w->nodes + n, m->kind) && grid_node_changes(m, n)) aoi_add_candidate(w, n, m->entity);
}

static inline void grid_fetch_area(const aoi_world *w, uint32_t entity) {
    uint32_t n = w->entities[entity].nodes;
    if (n == AOI_NONE) return;
    AOI_PREFETCH(w->areas + n);
    AOI_PREFETCH(w->nodes + n);
}

static inline void grid_fetch_shape(const aoi_world *w, uint32_t entity) {
    uint32_t n = w->entities[entity].nodes;
    const char *p = n == AOI_NONE ? NULL : (const char *)w->areas[n].shape;
    if (!p) return;
    AOI_PREFETCH(p);
    AOI_PREFETCH(p + AOI_CACHE_LINE);
}

/* Entities around the mover, in whose layer both may have nodes. */
static void grid_visit_crowd(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < GRID_AHEAD && i < count && m->thick; i++) grid_fetch_area(w, refs[i]);
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *other = w->entities + refs[i];
        if (m->thick && i + GRID_AHEAD < count) grid_fetch_area(w, refs[i + GRID_AHEAD]);
        if (m->thick && i + GRID_SOON < count) grid_fetch_shape(w, refs[i + GRID_SOON]);
        if (other->nodes != AOI_NONE)
            AOI_PREFETCH(&w->areas[other->nodes].user_data); /* for events: most hits make one */
        if (i + GRID_AHEAD < count) aoi_prefetch_node(w, w->entities[refs[i + GRID_AHEAD]].nodes);
        if (refs[i] == m->entity) continue;
        if (m->thick) {
            grid_add_changes(m, refs[i]);
            continue;
        }
        aoi_add_candidates(w, m->node, m->level, refs[i], other->kind);
        aoi_add_candidates(w, aoi_next_in_level(w, other->nodes, m->level), m->level, m->entity, m->kind);
    }
}

/* Reads entities, and nodes: those of one entity are often in the slots of the same numbers. */
static aoi_visitor grid_crowd_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->entities, (uintptr_t)w->nodes, false};
}

static aoi_visitor grid_node_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->nodes, (uintptr_t)w->nodes, false};
}

/* With room for the rounding of differences of places. */
static double grid_step(const double *from, const double *to) {
    double dx = to[0] - from[0], dy = to[1] - from[1];
    return sqrt(dx * dx + dy * dy) * (1 + 0x1p-40) + aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to));
}

/* Whether the ring of the layer's borders is much wider than what its nodes pass. */
static bool grid_is_thick(const aoi_grid_layer *y, bool solid) {
    return solid || !y->uniform || y->borders.enter_min[0] < 0.9 * y->borders.leave_max[0];
}

static void grid_query_crowd(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    grid_mover m = {
        w, entity, aoi_next_in_level(w, e->nodes, level), level, e->kind, e->pos, to, grid_step(e->pos, to), solid};
    m.thick = grid_is_thick(g->layers + level, solid);
    aoi_visitor v = grid_crowd_visitor(w, grid_visit_crowd, &m);
    g->world->steps += aoi_ring_query(&g->points, e->pos, to, &g->layers[level].borders, solid, e->place.cell, &v);
}

/* Targets of the mover's nodes in a layer.  A node that the layer's borders are those of need not have its own made up. */
AOI_NOINLINE static void grid_query_own(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_grid_layer *y = g->layers + level;
    for (uint32_t n = e->nodes; (n = aoi_next_in_level(w, n, level)) != AOI_NONE; n = w->nodes[n].next) {
        grid_mover m = {
            w, entity, n, level, e->kind, e->pos, to, grid_step(e->pos, to), solid || y->borders.enter_min[0] <= 0};
        aoi_visitor v = {grid_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities,
                         aoi_grid_seeks_few(g, w->nodes + n)};
        aoi_borders own = y->borders;
        if (!y->uniform) {
            aoi_bounds b = aoi_bounds_of(w, n);
            own = aoi_borders_of(w->dims, &b);
        }
        w->steps += aoi_ring_query(&g->points, e->pos, to, &own, solid, e->place.cell, &v);
    }
}

static void grid_query_scattered(aoi_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_grid_layer *y = g->layers + level;
    grid_mover m = {w, entity, AOI_NONE, level, e->kind, e->pos, to, grid_step(e->pos, to), grid_is_thick(y, solid)};
    aoi_visitor v = grid_node_visitor(w, grid_visit_nodes, &m);
    g->world->steps += aoi_ring_query(&y->cells, e->pos, to, &y->borders, solid, AOI_NONE, &v);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

void aoi_grid_prefetch(const aoi_grid *g, uint32_t entity, int stage) {
    const aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_cell *k = g->points.cells + e->place.cell;
    if (stage == 1) {
        for (int d = 0; d < 9; d++)
            AOI_PREFETCH((const void *)((uintptr_t)g->points.buckets + (size_t)k->head[d] * sizeof(aoi_bucket)));
        return;
    }
    AOI_PREFETCH(k);
    AOI_PREFETCH(g->points.buckets + e->place.slot / AOI_BUCKET_LANES);
    if (stage == AOI_FETCH_PLACE || e->nodes == AOI_NONE) return;
    AOI_PREFETCH(w->nodes + e->nodes);
    AOI_PREFETCH(&w->areas[e->nodes].user_data); /* for the space, when it takes the node's events */
}

enum { GRID_LARGE = 1 << 12, GRID_TRUSTED = 8 }; /* entities that no near cache holds; right predictions in a row */
enum { GRID_ALONE = 4 }; /* movers up to which a batch is a carrier with its passengers; larger ones look ahead */

/* The entity that moved after this one the last time, AOI_NONE if it is gone. */
static uint32_t grid_follower(const aoi_world *w, uint32_t entity) {
    uint32_t next = entity != AOI_NONE ? w->entities[entity].link : AOI_NONE;
    return next < w->entity_top && aoi_is_live(w->entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often move all entities in the same order, tick by tick: `link` of each is the entity that moved after it.
 * While that proves right, what the next movers read is prefetched: in a large world a move waits mostly for memory. */
static void grid_predict(aoi_grid *g, uint32_t entity) {
    const aoi_world *w = g->world;
    if (g->last != AOI_NONE) {
        aoi_entity_record *last = w->entities + g->last;
        g->streak = last->link == entity ? g->streak + (g->streak < GRID_TRUSTED) : 0;
        last->link = entity & INT32_MAX;
    }
    g->last = entity;
    if (g->streak < GRID_TRUSTED) return;
    uint32_t next = grid_follower(w, entity), second = grid_follower(w, next);
    if (next != AOI_NONE) aoi_grid_prefetch(g, next, 1);
    if (second == AOI_NONE) return;
    aoi_grid_prefetch(g, second, 0);
    uint32_t third = w->entities[second].link;
    if (third < w->entity_top) AOI_PREFETCH(w->entities + third);
}

typedef struct grid_levels { /* bit i: layer i; bit 63 stands for all layers from there on */
    uint64_t own;            /* the entity has a node in it */
    uint64_t wide;           /* and one that does not only look for the seldom */
} grid_levels;

static grid_levels grid_levels_of(const aoi_grid *g, uint32_t entity) {
    const aoi_world *w = g->world;
    grid_levels levels = {0, 0};
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n)) continue;
        uint64_t bit = UINT64_C(1) << (w->nodes[n].level < 63 ? w->nodes[n].level : 63);
        levels.own |= bit;
        if (!aoi_grid_seeks_few(g, w->nodes + n)) levels.wide |= bit;
    }
    return levels;
}

void aoi_grid_propose(aoi_grid *g, uint32_t entity, const double *to, bool taken) {
    const aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + entity;
    const double *from = e->pos;
    bool solid = w->dims == 3 && from[2] != to[2];
    if (g->points.count >= GRID_LARGE && w->mover_count <= GRID_ALONE && !taken) grid_predict(g, entity);
    grid_levels levels = grid_levels_of(g, entity);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *y = g->layers + i;
        if (!y->count || y->idle || y->taken != taken) continue;
        bool own = levels.own >> (i < 63 ? i : 63) & 1, wide = levels.wide >> (i < 63 ? i : 63) & 1;
        bool seen = aoi_grid_looks_for(y, e->kind);
        if (y->crowd && (wide || seen)) {
            grid_query_crowd(g, entity, i, to, solid);
            continue;
        }
        if (own) grid_query_own(g, entity, i, to, solid);
        if (seen && aoi_owner_box_reaches(&y->box, y->borders.leave_max, from, to))
            grid_query_scattered(g, entity, i, to, solid);
    }
}

void aoi_grid_propose_targets(aoi_grid *g, uint32_t node, const double *from, const double *to) {
    aoi_world *w = g->world;
    const aoi_entity_record *e = w->entities + w->nodes[node].owner;
    aoi_bounds b = aoi_bounds_of(w, node);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    grid_mover m = {w, w->nodes[node].owner, node, 0, e->kind, from, to, 0, false};
    aoi_visitor v = {grid_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities, false};
    bool solid = w->dims == 3 && from[2] != to[2];
    g->world->steps += aoi_ring_query(&g->points, from, to, &borders, solid, e->place.cell, &v);
}
