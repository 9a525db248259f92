/* seekers.c - nodes that look for few entities alone (sought.h): where they move they ask the cells of these, and as rings
 * they stand in fields of their own, which a mover that they do not look for leaves out. */
#include "engines/list/list.h"
#include "engines/shared/ring_query.h"

bool aoi_list_seeks(const aoi_list *g, uint32_t node) {
    return g->sought.mask && aoi_seeks(&g->sought, g->head.world->nodes + node);
}

typedef struct seeker {
    aoi_world *world;
    uint32_t node;
} seeker;

static void seeker_visit(void *ud, const uint32_t *refs, size_t count) {
    const seeker *s = ud;
    const aoi_node_record *n = s->world->nodes + s->node;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != n->owner && aoi_may_see(n, s->world->entities[refs[i]].kind))
            aoi_add_candidate(s->world, s->node, refs[i]);
}

void aoi_sought_passed(aoi_list *g, uint32_t node, const aoi_bounds *b, const double *from, const double *to) {
    aoi_world *w = g->head.world;
    aoi_borders borders = aoi_borders_of(w->dims, b);
    uintptr_t entities = (uintptr_t)w->entities;
    aoi_visitor v = {seeker_visit, &(seeker){w, node}, entities, entities};
    bool solid = w->dims == 3 && from[2] != to[2];
    g->head.steps += aoi_ring_query(&g->sought.cells, from, to, &borders, solid, AOI_NONE, &v);
}

/* Where memory is refused a ring stays in the field that it is in: its mask is known there as well. */
static void change_field(aoi_list *g, uint32_t node) {
    const aoi_world *w = g->head.world;
    const aoi_node_record *n = w->nodes + node;
    const double *at = w->entities[n->owner].pos;
    bool seeks = aoi_list_seeks(g, node);
    if (g->rings[n->level - AOI_MOST_LEVELS].seeks == seeks) return;
    aoi_bounds b = aoi_bounds_of(w, node);
    aoi_field *f = aoi_rings_field(g, &b, seeks);
    if (f == g->rings + (n->level - AOI_MOST_LEVELS) || !aoi_field_ready(g, f, at)) return;
    aoi_rings_remove(g, node);
    aoi_rings_insert(g, f, node, at, &b);
}

void aoi_seekers_tidy(aoi_list *g) {
    aoi_world *w = g->head.world;
    uint64_t mask = g->sought.mask;
    if (aoi_spatial_is_untidy(&g->sought.cells)) aoi_spatial_tidy(&w->memory, &g->sought.cells);
    aoi_sought_tune(w, &g->sought, w->node_top, g->points.map.side);
    for (uint32_t n = 0; n < w->node_top && mask != g->sought.mask; n++)
        if (aoi_is_live(w->nodes[n].generation) && aoi_is_bounded(w->nodes + n) && !aoi_list_has_edges(w->nodes + n))
            change_field(g, n);
}
