/* candidates.c - the candidates of a single move; see nine_grid.h.
 *
 * The candidates of a move are the targets of the mover's nodes, by a ring query around each node over `points`, and
 * the nodes that have the mover as a target, by a ring query with each level's borders around the mover; a few huge
 * nodes are few items in a level of their own.  For a crowd both are one query over `points`. */
#include "grid/may_change.h"
#include "grid/nine_grid.h"

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

enum { GRID_AHEAD = 6, GRID_SOON = 3 }; /* items of a visit whose nodes and shapes are prefetched */

typedef struct grid_mover { /* and the present query */
    aoi_records *records;
    uint32_t entity;
    uint64_t kind;
    const double *from, *to;
    bool solid;           /* its height changes */
    uint32_t node, level; /* of the query; node: its own first node in the level */
    bool thick;           /* the ring is so wide that most hits do not change: each is tested before it is proposed */
    bool measured;
    may_move move; /* valid if measured */
} grid_mover;

/* Entities around one of the mover's nodes. */
static void grid_visit_points(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_records *r = m->records;
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *target = r->entities + refs[i];
        if (refs[i] != m->entity && aoi_node_matches(r->nodes + m->node, target->kind) &&
            (!m->thick || may_change_own(r, m->node, target->pos, &m->move)))
            aoi_add_candidate(r, m->node, refs[i]);
    }
}

/* Nodes around the mover; the refs of a mixed level come with bits. */
static void grid_visit_nodes(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_records *r = m->records;
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = refs[i] & AOI_RING_REF;
        const aoi_node_record *n = r->nodes + node;
        if (n->owner == m->entity || !aoi_node_matches(n, m->kind)) continue;
        if (m->thick && !may_change_other(r, node, r->entities[n->owner].pos, &m->move)) continue;
        aoi_add_candidate(r, node, m->entity);
    }
}

/* Prefetch in two steps what the tests of a visit read of its entities' nodes. */
static inline void grid_fetch_areas(const aoi_records *r, const uint32_t *refs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t n = r->entities[refs[i] & AOI_RING_REF].nodes;
        if (n == AOI_NONE) continue;
        AOI_PREFETCH(r->areas + n);
        AOI_PREFETCH(r->nodes + n);
    }
}

static inline void grid_fetch_shape(const aoi_records *r, uint32_t ref) {
    uint32_t n = r->entities[ref & AOI_RING_REF].nodes;
    const char *p = n == AOI_NONE ? NULL : (const char *)r->areas[n].shape;
    if (!p) return;
    AOI_PREFETCH(p);
    AOI_PREFETCH(p + sizeof(aoi_shape) + AOI_CACHE_LINE); /* sides of a polygon */
}

/* Entities around the mover in a mixed level, or a thick ring: adds those nodes of either that may change. */
static void grid_visit_either(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_records *r = m->records;
    if (m->thick) grid_fetch_areas(r, refs, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t e = refs[i] & AOI_RING_REF;
        const aoi_entity_record *other = r->entities + e;
        if (m->thick && i + GRID_SOON < count) grid_fetch_shape(r, refs[i + GRID_SOON]);
        if (e == m->entity) continue;
        if (refs[i] & AOI_RING_OWN && aoi_node_matches(r->nodes + m->node, other->kind) &&
            (!m->thick || may_change_own(r, m->node, other->pos, &m->move)))
            aoi_add_candidate(r, m->node, e);
        uint32_t n = refs[i] & AOI_RING_THEIRS ? aoi_next_in_level(r, other->nodes, m->level) : AOI_NONE;
        for (; n != AOI_NONE; n = aoi_next_in_level(r, r->nodes[n].next, m->level))
            if (aoi_node_matches(r->nodes + n, m->kind) && (!m->thick || may_change_other(r, n, other->pos, &m->move)))
                aoi_add_candidate(r, n, m->entity);
    }
}

/* The same in a uniform level of sectors in two dimensions: both areas of a pair take one distance, and the numbers of the
 * mover's own are made once. */
static void grid_visit_sectors(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_records *r = m->records;
    const bool watches = m->node != AOI_NONE;
    const may_sector own = watches ? may_sector_of(r, m->node) : (may_sector){0};
    grid_fetch_areas(r, refs, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t e = refs[i] & AOI_RING_REF;
        const aoi_entity_record *other = r->entities + e;
        if (i + GRID_SOON < count) grid_fetch_shape(r, refs[i + GRID_SOON]);
        if (e == m->entity) continue;
        const may_gap g = may_gap_to(&m->move, other->pos);
        if (watches && aoi_node_matches(r->nodes + m->node, other->kind) && may_pass_sector(&g, 1, m->move.half, &own))
            aoi_add_candidate(r, m->node, e);
        uint32_t n = aoi_next_in_level(r, other->nodes, m->level);
        for (; n != AOI_NONE; n = aoi_next_in_level(r, r->nodes[n].next, m->level)) {
            const may_sector theirs = may_sector_of(r, n);
            if (aoi_node_matches(r->nodes + n, m->kind) && may_pass_sector(&g, -1, m->move.half, &theirs))
                aoi_add_candidate(r, n, m->entity);
        }
    }
}

/* Entities around the mover; both may have nodes in the level. */
static void grid_visit_crowd(void *ud, const uint32_t *refs, size_t count) {
    const grid_mover *m = ud;
    aoi_records *r = m->records;
    for (size_t i = 0; i < count; i++) {
        const aoi_entity_record *other = r->entities + refs[i];
        if (other->nodes != AOI_NONE)
            AOI_PREFETCH(&r->areas[other->nodes].user_data); /* for events: most hits make one */
        if (i + GRID_AHEAD < count) aoi_prefetch_node(r, r->entities[refs[i + GRID_AHEAD]].nodes);
        if (refs[i] == m->entity) continue;
        aoi_add_candidates(r, m->node, m->level, refs[i], other->kind);
        aoi_add_candidates(r, aoi_next_in_level(r, other->nodes, m->level), m->level, m->entity, m->kind);
    }
}

/* Whether the ring of the level's borders is much wider than the band that its nodes pass. */
static bool grid_is_thick(const aoi_grid_level *y, bool solid) {
    return solid || (y->uniform ? y->borders.enter_min[0] < 0.9 * y->borders.leave_max[0]
                                : y->depth > 0.1 * fmax(y->borders.leave_max[0], y->borders.leave_max[1]));
}

AOI_INLINE void grid_set_query(grid_mover *m, uint32_t node, uint32_t level, bool thick) {
    m->node = node, m->level = level, m->thick = thick;
    if (thick && !m->measured) {
        m->move = may_move_of(m->records->dims, m->from, m->to);
        m->measured = true;
    }
}

AOI_INLINE void grid_query_ring(grid_mover *m, const aoi_spatial_hash *h, const aoi_borders *b, uint32_t cell,
                                const aoi_visitor *v) {
    m->records->steps += aoi_ring_query(h, m->from, m->to, b, m->solid, cell, v);
}

/* Queries the targets of the mover's nodes in a level, from n on; each node of a uniform level has the level's borders. */
AOI_NOINLINE static void grid_query_own(const aoi_grid *g, grid_mover *m, uint32_t level, uint32_t n) {
    aoi_records *r = m->records;
    const aoi_entity_record *e = r->entities + m->entity;
    const aoi_grid_level *y = g->levels + level;
    for (; (n = aoi_next_in_level(r, n, level)) != AOI_NONE; n = r->nodes[n].next) {
        grid_set_query(m, n, level, m->solid || y->borders.enter_min[0] <= 0);
        aoi_visitor v = aoi_visits(grid_visit_points, m, r->entities, r->entities);
        v.marked = aoi_grid_matches_rare(g, r->nodes + n);
        aoi_borders own = y->borders;
        if (!y->uniform) {
            aoi_bounds b = aoi_bounds_of(r, n);
            own = aoi_borders_of(r->dims, &b);
        }
        grid_query_ring(m, &g->points, &own, e->place.cell, &v);
    }
}

static void grid_query_crowd(const aoi_grid *g, grid_mover *m, uint32_t level) {
    const aoi_records *r = m->records;
    const aoi_entity_record *e = r->entities + m->entity;
    const aoi_grid_level *y = g->levels + level;
    grid_set_query(m, aoi_next_in_level(r, e->nodes, level), level, grid_is_thick(y, m->solid));
    /* Prefetches entities, and the nodes in the same slots, which are often theirs. */
    const bool either = m->thick || !y->uniform;
    const bool sectors = m->thick && r->dims == 2 && y->uniform && y->bounds.shape == AOI_SECTOR;
    const aoi_visit visit = sectors ? grid_visit_sectors : either ? grid_visit_either : grid_visit_crowd;
    aoi_visitor v = aoi_visits(visit, m, r->entities, r->nodes);
    const double *reach = m->node == AOI_NONE ? NULL : r->nodes[m->node].reach;
    v.tells = either, v.each = !y->uniform;
    v.depth = y->depth, v.own = reach ? fmax(reach[0], reach[1]) : -1;
    grid_query_ring(m, &g->points, &y->borders, e->place.cell, &v);
    uint32_t second = either && reach ? r->nodes[m->node].next : AOI_NONE;
    if (second != AOI_NONE) grid_query_own(g, m, level, second);
}

static void grid_query_scattered(const aoi_grid *g, grid_mover *m, uint32_t level) {
    const aoi_grid_level *y = g->levels + level;
    grid_set_query(m, AOI_NONE, level, grid_is_thick(y, m->solid));
    aoi_visitor v = aoi_visits(grid_visit_nodes, m, m->records->nodes, m->records->nodes);
    v.tells = v.each = !y->uniform, v.depth = y->depth, v.own = -1;
    grid_query_ring(m, &y->cells, &y->borders, AOI_NONE, &v);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

void aoi_grid_prefetch(const aoi_grid *g, uint32_t entity, int stage) {
    const aoi_records *r = g->records;
    const aoi_entity_record *e = r->entities + entity;
    const aoi_cell *k = g->points.cells + e->place.cell;
    if (stage == 1) {
        for (int d = 0; d < 9; d++)
            AOI_PREFETCH((const void *)((uintptr_t)g->points.buckets + (size_t)k->head[d] * sizeof(aoi_bucket)));
        return;
    }
    AOI_PREFETCH(k);
    AOI_PREFETCH(g->points.buckets + e->place.slot / AOI_BUCKET_LANES);
    if (stage == AOI_FETCH_PLACE || e->nodes == AOI_NONE) return;
    AOI_PREFETCH(r->nodes + e->nodes);
    AOI_PREFETCH(&r->areas[e->nodes].user_data); /* for the space's events */
}

enum { GRID_LARGE = 1 << 12, GRID_TRUSTED = 8 }; /* more than caches hold; correct predictions */
enum { GRID_ALONE = 4 }; /* movers up to which a batch is a carrier with its passengers; larger ones look ahead */

/* The entity that moved after this one the last time, or AOI_NONE. */
static uint32_t grid_follower(const aoi_records *r, uint32_t entity) {
    uint32_t next = entity != AOI_NONE ? r->entities[entity].link : AOI_NONE;
    return next < r->entity_top && aoi_is_live(r->entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often move all entities in the same order, tick by tick: `link` of each is the entity that moved after it.
 * While this prediction is correct, the memory of the next movers is prefetched: moves of a large world wait for it. */
static void grid_predict(aoi_grid *g, uint32_t entity) {
    const aoi_records *r = g->records;
    if (g->last != AOI_NONE) {
        aoi_entity_record *last = r->entities + g->last;
        g->streak = last->link == entity ? g->streak + (g->streak < GRID_TRUSTED) : 0;
        last->link = entity & INT32_MAX;
    }
    g->last = entity;
    if (g->streak < GRID_TRUSTED) return;
    uint32_t next = grid_follower(r, entity), second = grid_follower(r, next);
    if (next != AOI_NONE) aoi_grid_prefetch(g, next, 1);
    if (second == AOI_NONE) return;
    aoi_grid_prefetch(g, second, 0);
    uint32_t third = r->entities[second].link;
    if (third < r->entity_top) AOI_PREFETCH(r->entities + third);
}

typedef struct grid_levels { /* bit i: level i; bit 63 stands for all levels from there on */
    uint64_t own;            /* the entity has a node in it */
    uint64_t wide;           /* and one whose mask has other than rare kinds */
} grid_levels;

static grid_levels grid_levels_of(const aoi_grid *g, uint32_t entity) {
    const aoi_records *r = g->records;
    grid_levels levels = {0, 0};
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next) {
        if (!aoi_is_bounded(r->nodes + n)) continue;
        uint64_t bit = UINT64_C(1) << (r->nodes[n].level < 63 ? r->nodes[n].level : 63);
        levels.own |= bit;
        if (!aoi_grid_matches_rare(g, r->nodes + n)) levels.wide |= bit;
    }
    return levels;
}

static void grid_open_mover(grid_mover *m, aoi_records *r, uint32_t entity, const double *from, const double *to) {
    m->records = r, m->entity = entity, m->kind = r->entities[entity].kind, m->from = from, m->to = to;
    m->solid = r->dims == 3 && from[2] != to[2];
    m->measured = false;
}

void aoi_grid_propose(aoi_grid *g, uint32_t entity, const double *to, bool taken) {
    aoi_records *r = g->records;
    grid_mover m;
    grid_open_mover(&m, r, entity, r->entities[entity].pos, to);
    if (g->points.count >= GRID_LARGE && r->mover_count <= GRID_ALONE && !taken) grid_predict(g, entity);
    grid_levels levels = grid_levels_of(g, entity);
    for (uint32_t i = 0; i < g->level_count; i++) {
        const aoi_grid_level *y = g->levels + i;
        if (!y->count || y->idle || y->taken != taken) continue;
        bool own = levels.own >> (i < 63 ? i : 63) & 1, wide = levels.wide >> (i < 63 ? i : 63) & 1;
        bool seen = aoi_grid_level_matches(y, m.kind);
        if (y->crowd && (wide || seen)) {
            grid_query_crowd(g, &m, i);
            continue;
        }
        if (own) grid_query_own(g, &m, i, r->entities[entity].nodes);
        if (seen && aoi_owner_box_reaches(&y->box, y->borders.leave_max, m.from, to)) grid_query_scattered(g, &m, i);
    }
}

void aoi_grid_propose_targets(aoi_grid *g, uint32_t node, const double *from, const double *to) {
    aoi_records *r = g->records;
    uint32_t owner = r->nodes[node].owner;
    aoi_bounds b = aoi_bounds_of(r, node);
    aoi_borders borders = aoi_borders_of(r->dims, &b);
    grid_mover m;
    grid_open_mover(&m, r, owner, from, to);
    grid_set_query(&m, node, 0, false);
    aoi_visitor v = aoi_visits(grid_visit_points, &m, r->entities, r->entities);
    grid_query_ring(&m, &g->points, &borders, r->entities[owner].place.cell, &v);
}
