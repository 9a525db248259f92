/* candidates.c - the candidates of a single move; see nine_grid.h.
 *
 * The candidates of a move are the targets of the mover's nodes, by a ring query around each node over `points`, and
 * the nodes that have the mover as a target, by a ring query with each layer's borders around the mover; a few huge
 * nodes are few items in a layer of their own.  For a crowd both are one query over `points`. */
#include "grid/may_change.h"
#include "grid/nine_grid.h"

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

enum { GRID_AHEAD = 6, GRID_SOON = 3 }; /* items of a visit whose nodes and shapes are prefetched */

typedef struct grid_mover { /* and the present query */
    aoi_world *world;
    uint32_t entity;
    uint64_t kind;
    const double *from, *to;
    bool solid;           /* its height changes */
    uint32_t node, level; /* of the query; node: its own first node in the layer */
    bool thick;           /* the ring is so wide that most hits do not change: each is tested before it is proposed */
    bool measured;
    may_move move; /* valid if measured */
} grid_mover;

/* Entities around one of the mover's nodes. */
static void grid_visit_points(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity && aoi_node_matches(w->nodes + m->node, w->entities[refs[i]].kind))
            aoi_add_candidate(w, m->node, refs[i]);
}

static void grid_visit_thick_points(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *target = w->entities + refs[i];
        if (refs[i] != m->entity && aoi_node_matches(w->nodes + m->node, target->kind) &&
            may_change_own(w, m->node, target->pos, &m->move))
            aoi_add_candidate(w, m->node, refs[i]);
    }
}

/* Nodes around the mover. */
static void grid_visit_nodes(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_node_record *n = w->nodes + refs[i];
        if (n->owner == m->entity || !aoi_node_matches(n, m->kind)) continue;
        if (m->thick && !may_change_other(w, refs[i], w->entities[n->owner].pos, &m->move)) continue;
        aoi_add_candidate(w, refs[i], m->entity);
    }
}

/* Prefetch in two steps what the tests of a visit read of its entities' nodes. */
static inline void grid_fetch_areas(const aoi_world *w, const uint32_t *refs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t n = w->entities[refs[i]].nodes;
        if (n == AOI_NONE) continue;
        AOI_PREFETCH(w->areas + n);
        AOI_PREFETCH(w->nodes + n);
    }
}

static inline void grid_fetch_shape(const aoi_world *w, uint32_t entity) {
    uint32_t n = w->entities[entity].nodes;
    const char *p = n == AOI_NONE ? NULL : (const char *)w->areas[n].shape;
    if (!p) return;
    AOI_PREFETCH(p);
    AOI_PREFETCH(p + sizeof(aoi_shape) + AOI_CACHE_LINE); /* sides of a polygon */
}

/* Adds the nodes of the mover in the layer, from n on, that may change for a target. */
AOI_INLINE void grid_add_own(const grid_mover *m, uint32_t n, uint32_t next, uint32_t target, uint64_t kind) {
    aoi_world *w = m->world;
    for (; n != AOI_NONE; n = next, next = n == AOI_NONE ? n : aoi_next_in_level(w, w->nodes[n].next, m->level))
        if (may_change_own(w, n, w->entities[target].pos, &m->move) && aoi_node_matches(w->nodes + n, kind))
            aoi_add_candidate(w, n, target);
}

/* Entities around the mover; both may have nodes in the layer: adds those nodes of either that may change. */
static void grid_visit_thick_crowd(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    const uint32_t first = m->node;
    const uint32_t second = first == AOI_NONE ? first : aoi_next_in_level(w, w->nodes[first].next, m->level);
    uint32_t may[AOI_RING_HITS / 32];
    const bool lanes = first != AOI_NONE && second == AOI_NONE && may_lane_sectors(w, first);
    grid_fetch_areas(w, refs, count);
    if (lanes) may_mark_sectors(w, first, &m->move, refs, count, may);
    for (size_t i = 0; i < count; i++) {
        if (i + GRID_SOON < count) grid_fetch_shape(w, refs[i + GRID_SOON]);
        if (refs[i] == m->entity) continue;
        const aoi_entity_record *other = w->entities + refs[i];
        if (!lanes) grid_add_own(m, first, second, refs[i], other->kind);
        else if (may[i / 32] >> i % 32 & 1 && aoi_node_matches(w->nodes + first, other->kind))
            aoi_add_candidate(w, first, refs[i]);
        uint32_t n = aoi_next_in_level(w, other->nodes, m->level);
        for (; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, m->level))
            if (aoi_node_matches(w->nodes + n, m->kind) && may_change_other(w, n, other->pos, &m->move))
                aoi_add_candidate(w, n, m->entity);
    }
}

/* Entities around the mover; both may have nodes in the layer. */
static void grid_visit_crowd(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_world *w = m->world;
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *other = w->entities + refs[i];
        if (other->nodes != AOI_NONE)
            AOI_PREFETCH(&w->areas[other->nodes].user_data); /* for events: most hits make one */
        if (i + GRID_AHEAD < count) aoi_prefetch_node(w, w->entities[refs[i + GRID_AHEAD]].nodes);
        if (refs[i] == m->entity) continue;
        aoi_add_candidates(w, m->node, m->level, refs[i], other->kind);
        aoi_add_candidates(w, aoi_next_in_level(w, other->nodes, m->level), m->level, m->entity, m->kind);
    }
}

/* Whether the ring of the layer's borders is much wider than the band that its nodes pass. */
static bool grid_is_thick(const aoi_grid_layer *y, bool solid) {
    return solid || !y->uniform || y->borders.enter_min[0] < 0.9 * y->borders.leave_max[0];
}

AOI_INLINE void grid_set_query(grid_mover *m, uint32_t node, uint32_t level, bool thick) {
    m->node = node, m->level = level, m->thick = thick;
    if (thick && !m->measured) {
        m->move = may_move_of(m->world->dims, m->from, m->to);
        m->measured = true;
    }
}

AOI_INLINE void grid_query_ring(grid_mover *m, const aoi_spatial_hash *h, const aoi_borders *b, uint32_t cell,
                                const aoi_visitor *v) {
    m->world->steps += aoi_ring_query(h, m->from, m->to, b, m->solid, cell, v);
}

static void grid_query_crowd(const aoi_grid *g, grid_mover *m, uint32_t level) {
    const aoi_world *w = m->world;
    const aoi_entity_record *e = w->entities + m->entity;
    const aoi_grid_layer *y = g->layers + level;
    grid_set_query(m, aoi_next_in_level(w, e->nodes, level), level, grid_is_thick(y, m->solid));
    /* Prefetches entities, and the nodes in the same slots, which are often theirs. */
    aoi_visitor v = {m->thick ? grid_visit_thick_crowd : grid_visit_crowd, m, (uintptr_t)w->entities,
                     (uintptr_t)w->nodes, false};
    grid_query_ring(m, &g->points, &y->borders, e->place.cell, &v);
}

/* Queries the targets of the mover's nodes in a layer; each node of a uniform layer has the layer's borders. */
AOI_NOINLINE static void grid_query_own(const aoi_grid *g, grid_mover *m, uint32_t level) {
    aoi_world *w = m->world;
    const aoi_entity_record *e = w->entities + m->entity;
    const aoi_grid_layer *y = g->layers + level;
    for (uint32_t n = e->nodes; (n = aoi_next_in_level(w, n, level)) != AOI_NONE; n = w->nodes[n].next) {
        grid_set_query(m, n, level, m->solid || y->borders.enter_min[0] <= 0);
        aoi_visitor v = {m->thick ? grid_visit_thick_points : grid_visit_points, m, (uintptr_t)w->entities,
                         (uintptr_t)w->entities, aoi_grid_matches_rare(g, w->nodes + n)};
        aoi_borders own = y->borders;
        if (!y->uniform) {
            aoi_bounds b = aoi_bounds_of(w, n);
            own = aoi_borders_of(w->dims, &b);
        }
        grid_query_ring(m, &g->points, &own, e->place.cell, &v);
    }
}

static void grid_query_scattered(const aoi_grid *g, grid_mover *m, uint32_t level) {
    const aoi_grid_layer *y = g->layers + level;
    grid_set_query(m, AOI_NONE, level, grid_is_thick(y, m->solid));
    const uintptr_t nodes = (uintptr_t)m->world->nodes;
    aoi_visitor v = {grid_visit_nodes, m, nodes, nodes, false};
    grid_query_ring(m, &y->cells, &y->borders, AOI_NONE, &v);
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
    AOI_PREFETCH(&w->areas[e->nodes].user_data); /* for the space's events */
}

enum { GRID_LARGE = 1 << 12, GRID_TRUSTED = 8 }; /* more than caches hold; correct predictions */
enum { GRID_ALONE = 4 }; /* movers up to which a batch is a carrier with its passengers; larger ones look ahead */

/* The entity that moved after this one the last time, or AOI_NONE. */
static uint32_t grid_follower(const aoi_world *w, uint32_t entity) {
    uint32_t next = entity != AOI_NONE ? w->entities[entity].link : AOI_NONE;
    return next < w->entity_top && aoi_is_live(w->entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often move all entities in the same order, tick by tick: `link` of each is the entity that moved after it.
 * While this prediction is correct, the memory of the next movers is prefetched: moves of a large world wait for it. */
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
    uint64_t wide;           /* and one whose mask has other than rare kinds */
} grid_levels;

static grid_levels grid_levels_of(const aoi_grid *g, uint32_t entity) {
    const aoi_world *w = g->world;
    grid_levels levels = {0, 0};
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n)) continue;
        uint64_t bit = UINT64_C(1) << (w->nodes[n].level < 63 ? w->nodes[n].level : 63);
        levels.own |= bit;
        if (!aoi_grid_matches_rare(g, w->nodes + n)) levels.wide |= bit;
    }
    return levels;
}

static void grid_open_mover(grid_mover *m, aoi_world *w, uint32_t entity, const double *from, const double *to) {
    m->world = w, m->entity = entity, m->kind = w->entities[entity].kind, m->from = from, m->to = to;
    m->solid = w->dims == 3 && from[2] != to[2];
    m->measured = false;
}

void aoi_grid_propose(aoi_grid *g, uint32_t entity, const double *to, bool taken) {
    aoi_world *w = g->world;
    grid_mover m;
    grid_open_mover(&m, w, entity, w->entities[entity].pos, to);
    if (g->points.count >= GRID_LARGE && w->mover_count <= GRID_ALONE && !taken) grid_predict(g, entity);
    grid_levels levels = grid_levels_of(g, entity);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_grid_layer *y = g->layers + i;
        if (!y->count || y->idle || y->taken != taken) continue;
        bool own = levels.own >> (i < 63 ? i : 63) & 1, wide = levels.wide >> (i < 63 ? i : 63) & 1;
        bool seen = aoi_grid_layer_matches(y, m.kind);
        if (y->crowd && (wide || seen)) {
            grid_query_crowd(g, &m, i);
            continue;
        }
        if (own) grid_query_own(g, &m, i);
        if (seen && aoi_owner_box_reaches(&y->box, y->borders.leave_max, m.from, to)) grid_query_scattered(g, &m, i);
    }
}

void aoi_grid_propose_targets(aoi_grid *g, uint32_t node, const double *from, const double *to) {
    aoi_world *w = g->world;
    uint32_t owner = w->nodes[node].owner;
    aoi_bounds b = aoi_bounds_of(w, node);
    aoi_borders borders = aoi_borders_of(w->dims, &b);
    grid_mover m;
    grid_open_mover(&m, w, owner, from, to);
    grid_set_query(&m, node, 0, false);
    aoi_visitor v = {grid_visit_points, &m, (uintptr_t)w->entities, (uintptr_t)w->entities, false};
    grid_query_ring(&m, &g->points, &borders, w->entities[owner].place.cell, &v);
}
