/* brute.c - every entity with every node, without a structure: the oracle for the moves of the other engines.
 *
 *   move(e)   candidates: (each node of e, every other entity), (every node of another entity, e)
 *
 * Cost: a move O(entities * own nodes + nodes).  Memory: none of its own. */
#include "core/engine.h"

static bool brute_takes(const aoi_records *r, uint32_t node) {
    const aoi_node_record *n = r->nodes + node;
    if (!aoi_is_live(n->generation) || !aoi_is_bounded(n)) return false;
    return !aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS);
}

static int brute_move(aoi_engine *g, uint32_t entity, const double *to, bool propose) {
    aoi_records *r = g->records;
    (void)to;
    if (!propose) return AOI_OK;
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next) {
        if (!brute_takes(r, n)) continue;
        for (uint32_t t = 0; t < r->entity_top; t++)
            if (t != entity && aoi_is_live(r->entities[t].generation)) aoi_add_candidate(r, n, t);
        r->steps += r->entity_top;
    }
    for (uint32_t n = 0; n < r->node_top; n++)
        if (brute_takes(r, n) && r->nodes[n].owner != entity) aoi_add_candidate(r, n, entity);
    r->steps += r->node_top;
    return AOI_OK;
}

static uint32_t brute_describe(const aoi_engine *g, aoi_describer *d) {
    const aoi_records *r = g->records;
    aoi_part all = {.kind = AOI_PART_ALL, .lo = {-INFINITY, -INFINITY}, .hi = {INFINITY, INFINITY}};
    all.entities = r->entity_count;
    for (uint32_t n = 0; n < r->node_top; n++) all.nodes += brute_takes(r, n);
    if (!aoi_report_part(d, &all)) return AOI_NONE;
    for (uint32_t e = 0; e < r->entity_top; e++)
        if (aoi_is_live(r->entities[e].generation)) d->entry(d, 0, AOI_ENTRY_ENTITY, e);
    for (uint32_t n = 0; n < r->node_top; n++)
        if (brute_takes(r, n)) d->entry(d, 0, AOI_ENTRY_NODE, n);
    return AOI_NONE;
}

const aoi_engine_class aoi_engine_brute = {.name = "brute",
                                           .size = sizeof(aoi_engine),
                                           .takes = AOI_TAKES_ALL,
                                           .move = brute_move,
                                           .describe = brute_describe};
