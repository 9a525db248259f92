/* lookups.c - questions: entities in a box, nodes around a point; see nine_grid.h. */
#include "grid/nine_grid.h"

typedef struct grid_question {
    aoi_records *records;
    uint32_t level;
} grid_question;

static void grid_visit_hits(void *ud, const uint32_t *refs, size_t count) {
    aoi_add_hits(((const grid_question *)ud)->records, refs, count);
}

/* Nodes of a crowd, by their owners. */
static void grid_visit_owners(void *ud, const uint32_t *refs, size_t count) {
    const grid_question *q = ud;
    aoi_records *r = q->records;
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = r->entities[refs[i]].nodes; n != AOI_NONE; n = r->nodes[n].next)
            if (r->nodes[n].level == q->level) aoi_add_hit(r, n);
}

void aoi_grid_targets(aoi_grid *g, const double *lo, const double *hi) {
    aoi_grid_count_question(g, fmax(hi[0] / 2 - lo[0] / 2, hi[1] / 2 - lo[1] / 2));
    const aoi_entity_record *entities = g->records->entities;
    aoi_visitor v = aoi_visits(grid_visit_hits, &(grid_question){.records = g->records}, entities, entities);
    g->records->steps += aoi_box_query(&g->points, lo, hi, &v);
}

/* The borders around a moving target with an extent, if watchers move up to `slack` on each axis.  The inner one does
 * not grow: areas to which no extent applies stay as they are. */
static aoi_borders grid_grown_borders(const aoi_borders *b, double extent, double slack) {
    double away = slack * 1.4143, inner = fmin(extent, 0);
    aoi_borders r = {.round = b->round};
    for (int a = 0; a < 2; a++) {
        r.enter_min[a] = b->enter_min[a] > 0 ? fmax(b->enter_min[a] + inner - away, 0) : 0;
        r.leave_max[a] = b->leave_max[a] + fmax(extent, 0) + away;
    }
    return r;
}

void aoi_grid_watchers(aoi_grid *g, const aoi_grid_target *t, bool idle) {
    aoi_records *r = g->records;
    grid_question q = {.records = r};
    aoi_visitor owners = aoi_visits(grid_visit_owners, &q, r->entities, r->nodes);
    aoi_visitor nodes = aoi_visits(grid_visit_hits, &q, r->nodes, r->nodes);
    for (uint32_t i = 0; i < g->level_count; i++) {
        const aoi_grid_level *y = g->levels + i;
        if (!y->count || (y->idle && !idle)) continue;
        aoi_borders b = y->borders;
        if (t->extent != 0 || t->slack > 0) b = grid_grown_borders(&y->borders, t->extent, t->slack);
        q.level = i;
        r->steps += aoi_ring_query(y->crowd ? &g->points : &y->cells, t->from, t->to, &b, t->solid, AOI_NONE,
                                   y->crowd ? &owners : &nodes);
    }
}

void aoi_grid_passing(aoi_grid *g, uint32_t node, const double *from, double slack, bool solid) {
    const aoi_entity_record *entities = g->records->entities, *owner = entities + g->records->nodes[node].owner;
    aoi_bounds bounds = aoi_bounds_of(g->records, node);
    aoi_borders b = aoi_borders_of(g->records->dims, &bounds);
    b = grid_grown_borders(&b, 0, slack);
    aoi_visitor v = aoi_visits(grid_visit_hits, &(grid_question){.records = g->records}, entities, entities);
    g->records->steps += aoi_ring_query(&g->points, from, owner->pos, &b, solid, owner->place.cell, &v);
}

uint32_t aoi_grid_beside(const aoi_grid *g, uint32_t entity) {
    const aoi_bucket *b = g->points.buckets + g->records->entities[entity].place.slot / AOI_BUCKET_LANES;
    if (b->ref[0] != entity) return b->ref[0];
    return b->count > 1 ? b->ref[1] : AOI_NONE;
}
