/* nine_queries.c - see nine_grid.h: what is asked of points and layers.
 *
 * A move makes two kinds of candidates.  Targets of the mover's nodes: a ring query around each node over `points`.
 * Nodes that have the mover as a target: a ring query of each layer's borders, around the mover, over the layer; a few
 * huge nodes are a few items in a layer of their own.  For a crowd both are one query over `points`. */
#include "core/rule.h"
#include "engines/shared/nine_grid.h"

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

enum { NINE_AHEAD = 6, NINE_SOON = 3 }; /* items of a visit whose nodes, and shapes, are prefetched */

typedef struct nine_mover {
    aoi_world *world;
    uint32_t entity, node, level;
    uint64_t kind; /* of the mover */
    const double *from, *to;
    double step; /* how far it goes, or more */
    bool thick;  /* the ring is wide, so that most of what it hits does not change: looked at before it is proposed */
} nine_mover;

/* Whether a target may come into a sector or leave it, in the plane, when the place of one against the other changes by no
 * more than `step`: d.f - c |d| changes by at most twice that, as f is a unit vector and |c| <= 1.  Squares that underflow are
 * those of less than 1e-150. */
AOI_INLINE bool nine_sector_changes(const aoi_area_record *a, const double *w, const double *t, double step) {
    const aoi_shape *p = a->shape;
    double dx = t[0] - w[0], dy = t[1] - w[1], away = sqrt(dx * dx + dy * dy), beside = dx * p->fx + dy * p->fy;
    double room = step + (away + a->radius) * 0x1p-40 + 1e-150, depth = beside - p->c * away;
    if (!(room <= DBL_MAX)) return true;
    return (away < a->radius + room) & (depth > -2.5 * room) & !((away < a->radius - room) & (depth > 2.5 * room));
}

/* Whether a pair changes its zone when the watcher goes from w0 to w1, the target from t0 to t1; true for shapes that take
 * long to tell. */
AOI_INLINE bool nine_changes(const aoi_world *w, uint32_t node, const double *w0, const double *t0, const double *w1,
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
    if (n->shape == AOI_SECTOR) return was != is || (was && nine_sector_changes(a, w0, t0, step));
    if (n->shape != AOI_CYLINDER) return true;
    return (was && aoi_in_ball(2, w0, t0, a->radius)) != (is && aoi_in_ball(2, w1, t1, a->radius));
}

/* One of the mover's nodes and another entity; another's node and the mover. */
AOI_INLINE bool nine_target_changes(const nine_mover *m, uint32_t node, uint32_t other) {
    const double *at = m->world->entities[other].pos;
    return nine_changes(m->world, node, m->from, at, m->to, at, m->step);
}

AOI_INLINE bool nine_node_changes(const nine_mover *m, uint32_t node) {
    const double *at = m->world->entities[m->world->nodes[node].owner].pos;
    return nine_changes(m->world, node, at, m->from, at, m->to, m->step);
}

/* Entities around one of the mover's nodes. */
static void nine_visit_points(void *ud, const uint32_t *refs, size_t count) {
    const nine_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity && aoi_may_see(w->nodes + m->node, w->entities[refs[i]].kind) &&
            (!m->thick || nine_target_changes(m, m->node, refs[i])))
            aoi_add_candidate(w, m->node, refs[i]);
}

/* Nodes around the mover. */
static void nine_visit_nodes(void *ud, const uint32_t *refs, size_t count) {
    const nine_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_node_record *n = w->nodes + refs[i];
        if (n->owner != m->entity && aoi_may_see(n, m->kind) && (!m->thick || nine_node_changes(m, refs[i])))
            aoi_add_candidate(w, refs[i], m->entity);
    }
}

/* The mover and another entity: nodes of the layer that change, of either. */
AOI_INLINE void nine_add_changes(const nine_mover *m, uint32_t other) {
    aoi_world *w = m->world;
    uint64_t kind = w->entities[other].kind;
    for (uint32_t n = m->node; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, m->level))
        if (aoi_may_see(w->nodes + n, kind) && nine_target_changes(m, n, other)) aoi_add_candidate(w, n, other);
    uint32_t n = aoi_next_in_level(w, w->entities[other].nodes, m->level);
    for (; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, m->level))
        if (aoi_may_see(w->nodes + n, m->kind) && nine_node_changes(m, n)) aoi_add_candidate(w, n, m->entity);
}

static inline void nine_fetch_area(const aoi_world *w, uint32_t entity) {
    uint32_t n = w->entities[entity].nodes;
    if (n == AOI_NONE) return;
    AOI_PREFETCH(w->areas + n);
    AOI_PREFETCH(w->nodes + n);
}

static inline void nine_fetch_shape(const aoi_world *w, uint32_t entity) {
    uint32_t n = w->entities[entity].nodes;
    const char *p = n == AOI_NONE ? NULL : (const char *)w->areas[n].shape;
    if (!p) return;
    AOI_PREFETCH(p);
    AOI_PREFETCH(p + AOI_CACHE_LINE);
}

/* Entities around the mover, in whose layer both may have nodes. */
static void nine_visit_crowd(void *ud, const uint32_t *refs, size_t count) {
    const nine_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < NINE_AHEAD && i < count && m->thick; i++) nine_fetch_area(w, refs[i]);
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *other = w->entities + refs[i];
        if (m->thick && i + NINE_AHEAD < count) nine_fetch_area(w, refs[i + NINE_AHEAD]);
        if (m->thick && i + NINE_SOON < count) nine_fetch_shape(w, refs[i + NINE_SOON]);
        if (other->nodes != AOI_NONE)
            AOI_PREFETCH(&w->areas[other->nodes].user_data); /* for events: most hits make one */
        if (i + NINE_AHEAD < count) aoi_prefetch_node(w, w->entities[refs[i + NINE_AHEAD]].nodes);
        if (refs[i] == m->entity) continue;
        if (m->thick) {
            nine_add_changes(m, refs[i]);
            continue;
        }
        aoi_add_candidates(w, m->node, m->level, refs[i], other->kind);
        aoi_add_candidates(w, aoi_next_in_level(w, other->nodes, m->level), m->level, m->entity, m->kind);
    }
}

/* Reads entities, and nodes: those of one entity are often in the slots of the same numbers. */
static aoi_visitor nine_crowd_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->entities, (uintptr_t)w->nodes};
}

static aoi_visitor nine_node_visitor(const aoi_world *w, aoi_visit visit, void *ud) {
    return (aoi_visitor){visit, ud, (uintptr_t)w->nodes, (uintptr_t)w->nodes};
}

/* With room for the rounding of differences of places. */
static double nine_step(const double *from, const double *to) {
    double dx = to[0] - from[0], dy = to[1] - from[1];
    return sqrt(dx * dx + dy * dy) * (1 + 0x1p-40) + aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to));
}

/* Whether the ring of the layer's borders is much wider than what its nodes pass. */
static bool nine_is_thick(const aoi_nine_layer *y, bool solid) {
    return solid || !y->uniform || y->borders.enter_min[0] < 0.9 * y->borders.leave_max[0];
}

static void nine_query_crowd(aoi_nine_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    nine_mover m = {
        w, entity, aoi_next_in_level(w, e->nodes, level), level, e->kind, e->pos, to, nine_step(e->pos, to), solid};
    m.thick = nine_is_thick(g->layers + level, solid);
    aoi_visitor v = nine_crowd_visitor(w, nine_visit_crowd, &m);
    g->engine->steps += aoi_ring_query(&g->points, e->pos, to, &g->layers[level].borders, solid, e->home, &v);
}

/* Targets of the mover's nodes in a layer, among those that are looked for where the node looks for no others.  A node
 * that the layer's borders are those of need not have its own made up. */
AOI_NOINLINE static void nine_query_own(aoi_nine_grid *g, uint32_t entity, uint32_t level, const double *to,
                                        bool solid) {
    aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_nine_layer *y = g->layers + level;
    for (uint32_t n = e->nodes; (n = aoi_next_in_level(w, n, level)) != AOI_NONE; n = w->nodes[n].next) {
        nine_mover m = {
            w, entity, n, level, e->kind, e->pos, to, nine_step(e->pos, to), solid || y->borders.enter_min[0] <= 0};
        aoi_visitor v = {nine_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities};
        aoi_borders own = y->borders;
        if (!y->uniform) {
            aoi_bounds b = aoi_bounds_of(w, n);
            own = aoi_borders_of(w->dims, &b);
        }
        bool few = aoi_seeks(&g->sought, w->nodes + n);
        g->engine->steps +=
            aoi_ring_query(few ? &g->sought.cells : &g->points, e->pos, to, &own, solid, few ? AOI_NONE : e->home, &v);
    }
}

static void nine_query_rare(aoi_nine_grid *g, uint32_t entity, uint32_t level, const double *to, bool solid) {
    aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_nine_layer *y = g->layers + level;
    nine_mover m = {w, entity, AOI_NONE, level, e->kind, e->pos, to, nine_step(e->pos, to), nine_is_thick(y, solid)};
    aoi_visitor v = nine_node_visitor(w, nine_visit_nodes, &m);
    g->engine->steps += aoi_ring_query(&y->cells, e->pos, to, &y->borders, solid, AOI_NONE, &v);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

AOI_INLINE void nine_fetch(const aoi_nine_grid *g, uint32_t entity, int stage) {
    const aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    const aoi_cell *k = g->points.cells + e->home;
    if (stage == 1) {
        for (int d = 0; d < 9; d++)
            AOI_PREFETCH((const void *)((uintptr_t)g->points.buckets + (size_t)k->head[d] * sizeof(aoi_bucket)));
        return;
    }
    AOI_PREFETCH(k);
    AOI_PREFETCH(g->points.buckets + e->slot / AOI_BUCKET_LANES);
    if (stage == AOI_FETCH_PLACE || e->nodes == AOI_NONE) return;
    AOI_PREFETCH(w->nodes + e->nodes);
    AOI_PREFETCH(&w->areas[e->nodes].user_data); /* for the space, when it takes the node's events */
}

void aoi_nine_prefetch(const aoi_nine_grid *g, uint32_t entity, int stage) {
    nine_fetch(g, entity, stage);
}

enum { NINE_LARGE = 1 << 12, NINE_TRUSTED = 8 }; /* entities that no near cache holds; right predictions in a row */

/* The entity that moved after this one the last time, AOI_NONE if it is gone. */
static uint32_t nine_follower(const aoi_world *w, uint32_t entity) {
    uint32_t next = entity != AOI_NONE ? w->entities[entity].link : AOI_NONE;
    return next < w->entity_top && aoi_is_live(w->entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often move all entities in the same order, tick by tick: `link` of each is the entity that moved after it.
 * While that proves right, what the next movers read is prefetched: in a large world a move waits mostly for memory. */
static void nine_predict(aoi_nine_grid *g, uint32_t entity) {
    const aoi_world *w = g->engine->world;
    if (g->last != AOI_NONE) {
        uint32_t *link = &w->entities[g->last].link;
        g->streak = *link == entity ? g->streak + (g->streak < NINE_TRUSTED) : 0;
        *link = entity;
    }
    g->last = entity;
    if (g->streak < NINE_TRUSTED) return;
    uint32_t next = nine_follower(w, entity), second = nine_follower(w, next);
    if (next != AOI_NONE) nine_fetch(g, next, 1);
    if (second == AOI_NONE) return;
    nine_fetch(g, second, 0);
    uint32_t third = w->entities[second].link;
    if (third < w->entity_top) AOI_PREFETCH(w->entities + third);
}

typedef struct nine_levels { /* bit i: layer i; bit 63 stands for all layers from there on */
    uint64_t own;            /* the entity has a node in it */
    uint64_t wide;           /* and one that does not only look for the sought */
} nine_levels;

static nine_levels nine_levels_of(const aoi_nine_grid *g, uint32_t entity) {
    const aoi_world *w = g->engine->world;
    nine_levels levels = {0, 0};
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n) || w->nodes[n].level >= g->layer_count) continue;
        uint64_t bit = UINT64_C(1) << (w->nodes[n].level < 63 ? w->nodes[n].level : 63);
        levels.own |= bit;
        if (!aoi_seeks(&g->sought, w->nodes + n)) levels.wide |= bit;
    }
    return levels;
}

void aoi_nine_propose(aoi_nine_grid *g, uint32_t entity, const double *to) {
    const aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    const double *from = e->pos;
    bool solid = w->dims == 3 && from[2] != to[2];
    if (g->points.count >= NINE_LARGE && !w->mover_count) nine_predict(g, entity);
    nine_levels levels = {0, e->nodes == AOI_NONE ? 0 : UINT64_MAX};
    if (g->rare || g->sought.mask) levels = nine_levels_of(g, entity);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_nine_layer *y = g->layers + i;
        if (!y->count || y->idle) continue;
        bool own = levels.own >> (i < 63 ? i : 63) & 1, wide = levels.wide >> (i < 63 ? i : 63) & 1;
        bool seen = aoi_nine_looks_for(y, e->kind);
        if (y->crowd && (wide || seen)) {
            nine_query_crowd(g, entity, i, to, solid);
            continue;
        }
        if (own) nine_query_own(g, entity, i, to, solid);
        if (seen && aoi_owner_box_reaches(&y->box, y->borders.leave_max, from, to))
            nine_query_rare(g, entity, i, to, solid);
    }
}

void aoi_nine_propose_box(aoi_nine_grid *g, uint32_t node, const double *from, const double *to) {
    aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + w->nodes[node].owner;
    aoi_bounds b = aoi_bounds_of(w, node);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    nine_mover m = {w, w->nodes[node].owner, node, 0, e->kind, from, to, 0, false};
    aoi_visitor v = {nine_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities};
    bool solid = w->dims == 3 && from[2] != to[2];
    g->engine->steps += aoi_ring_query(&g->points, from, to, &borders, solid, e->home, &v);
}

bool aoi_nine_relocate(aoi_nine_grid *g, uint32_t entity, const double *to) {
    aoi_world *w = g->engine->world;
    const aoi_entity_record *e = w->entities + entity;
    bool sought = aoi_is_sought(&g->sought, e->kind);
    if (sought && !aoi_sought_move(w, &g->sought, entity, to)) return false;
    bool rare = g->rare && aoi_nine_is_rare(g, e->nodes);
    bool moved = rare ? aoi_nine_move_chain(g, entity, e->pos, to) : aoi_entities_move(w, &g->points, entity, to);
    if (sought && !moved) (void)aoi_sought_move(w, &g->sought, entity, e->pos); /* there is room where it was */
    if (aoi_spatial_is_untidy(&g->points)) w->untidy = true;
    return moved;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void nine_visit_hits(void *ud, const uint32_t *refs, size_t count) {
    const nine_mover *m = ud;
    aoi_add_hits(m->world, refs, count);
}

static void nine_visit_owners(void *ud, const uint32_t *refs, size_t count) {
    const nine_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = w->entities[refs[i]].nodes; n != AOI_NONE; n = w->nodes[n].next)
            if (w->nodes[n].level == m->level && aoi_is_bounded(w->nodes + n)) aoi_add_hit(w, n);
}

void aoi_nine_targets(aoi_nine_grid *g, const double *lo, const double *hi) {
    aoi_nine_learn(g, fmax(hi[0] / 2 - lo[0] / 2, hi[1] / 2 - lo[1] / 2));
    uintptr_t entities = (uintptr_t)g->engine->world->entities;
    aoi_visitor v = {nine_visit_hits, &(nine_mover){.world = g->engine->world}, entities, entities};
    g->engine->steps += aoi_box_query(&g->points, lo, hi, &v);
}

/* The square of how near, or how far, anything in a cell may be. */
AOI_INLINE double nine_cell_distance(const aoi_nine_grid *g, const aoi_cell *k, const double *at, bool near) {
    double sum = 0;
    for (int a = 0; a < 2; a++) {
        double lo, hi;
        aoi_cell_interval(a ? k->cy : k->cx, g->points.side, &lo, &hi);
        double before = lo - at[a], behind = at[a] - hi, off = before > behind ? before : behind;
        if (!near) off = -before > -behind ? -before : -behind;
        sum += off > 0 ? off * off : 0;
    }
    return sum;
}

enum { NINE_RANGES = 32 }; /* of distances, each as wide as a quarter of a cell, from the nearest cell on */

double aoi_nine_nearest(const aoi_nine_grid *g, const double *at, double within, size_t count) {
    const aoi_spatial_hash *h = &g->points;
    double least = INFINITY, across = 2 * within / h->side, width = h->side / 4;
    uint64_t held[NINE_RANGES + 1] = {0}, sum = 0;
    if (!(across * across > 2 * (double)h->used)) return within;
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i) || !h->cells[i].count) continue;
        double near = nine_cell_distance(g, h->cells + i, at, true);
        if (near < least) least = near;
    }
    least = sqrt(least);
    double last = least + NINE_RANGES * width;
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i) || !h->cells[i].count) continue;
        double far = nine_cell_distance(g, h->cells + i, at, false);
        if (far < last * last) held[(int)((sqrt(far) - least) / width)] += h->cells[i].count;
    }
    for (int k = 0; k < NINE_RANGES; k++)
        if ((sum += held[k]) >= count) return least + (k + 1.01) * width;
    return fmax(within, last);
}

void aoi_nine_owned(aoi_nine_grid *g, const double *at, const aoi_borders *b, uint32_t level) {
    nine_mover m = {.world = g->engine->world, .level = level};
    aoi_visitor v = nine_crowd_visitor(m.world, nine_visit_owners, &m);
    g->engine->steps += aoi_ring_query(&g->points, at, at, b, true, AOI_NONE, &v);
}

void aoi_nine_watchers(aoi_nine_grid *g, const double *at, bool idle) {
    nine_mover m = {.world = g->engine->world};
    aoi_visitor v = nine_node_visitor(m.world, nine_visit_hits, &m);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_nine_layer *y = g->layers + i;
        if (!y->count || (y->idle && !idle)) continue;
        if (y->crowd) aoi_nine_owned(g, at, &y->borders, i);
        else g->engine->steps += aoi_ring_query(&y->cells, at, at, &y->borders, true, AOI_NONE, &v);
    }
}

uint32_t aoi_nine_beside(const aoi_nine_grid *g, uint32_t entity) {
    const aoi_entity_record *e = g->engine->world->entities + entity;
    const aoi_bucket *b = g->points.buckets + e->slot / AOI_BUCKET_LANES;
    if (b->ref[0] != entity) return b->ref[0];
    return b->count > 1 ? b->ref[1] : AOI_NONE;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

void aoi_nine_stats(const aoi_nine_grid *g, aoi_stats *out) {
    out->cells += g->points.used + g->sought.cells.used;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        out->cells += g->layers[i].cells.used;
        out->levels += g->layers[i].count > 0;
    }
}

void aoi_nine_describe(const aoi_nine_grid *g, aoi_describer *d, uint32_t layer) {
    aoi_spatial_describe(&g->points, d, AOI_PART_CELL, layer, AOI_ENTRY_ENTITY);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (!g->layers[i].crowd)
            aoi_spatial_describe(&g->layers[i].cells, d, AOI_PART_NODES, layer + i + 1, AOI_ENTRY_NODE);
}
