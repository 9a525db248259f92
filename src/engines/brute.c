/* brute.c - every entity with every node: no index at all.  The oracle for the other engines, and fast for a few dozen.
 *
 *   move(e)   candidates: (each node of e, every other entity), (every node of another entity, e)
 *
 * Cost: enter, leave, add_node, remove_node O(1); a move O(entities * own nodes + nodes).  Memory: none of its own. */
#include "core/engine.h"

static int brute_open(aoi_engine *g, double cell) {
    (void)g, (void)cell;
    return AOI_OK;
}

static void brute_close(aoi_engine *g) {
    (void)g;
}

static int brute_add(aoi_engine *g, uint32_t slot) {
    (void)g, (void)slot;
    return AOI_OK;
}

static void brute_remove(aoi_engine *g, uint32_t slot) {
    (void)g, (void)slot;
}

static int brute_resize_node(aoi_engine *g, uint32_t node, const aoi_bounds *now) {
    (void)g, (void)node, (void)now;
    return AOI_OK;
}

static bool brute_is_indexed(const aoi_node_record *n) {
    return aoi_is_live(n->generation) && aoi_is_bounded(n);
}

static int brute_move(aoi_engine *g, uint32_t entity, const double *to) {
    aoi_world *w = g->world;
    (void)to;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n)) continue;
        for (uint32_t t = 0; t < w->entity_top; t++)
            if (t != entity && aoi_is_live(w->entities[t].generation)) aoi_add_candidate(w, n, t);
        g->steps += w->entity_top;
    }
    for (uint32_t n = 0; n < w->node_top; n++)
        if (brute_is_indexed(w->nodes + n) && w->nodes[n].owner != entity) aoi_add_candidate(w, n, entity);
    g->steps += w->node_top;
    return AOI_OK;
}

static void brute_targets(aoi_engine *g, const double *lo, const double *hi) {
    aoi_world *w = g->world;
    (void)lo, (void)hi;
    for (uint32_t t = 0; t < w->entity_top; t++)
        if (aoi_is_live(w->entities[t].generation)) aoi_add_hit(w, t);
    g->steps += w->entity_top;
}

static void brute_watchers(aoi_engine *g, const double *at, bool idle) {
    aoi_world *w = g->world;
    (void)at, (void)idle;
    for (uint32_t n = 0; n < w->node_top; n++)
        if (brute_is_indexed(w->nodes + n)) aoi_add_hit(w, n);
    g->steps += w->node_top;
}

static const char *brute_check(aoi_engine *g) {
    (void)g;
    return NULL;
}

static void brute_stats(const aoi_engine *g, aoi_stats *out) {
    (void)g, (void)out;
}

static void brute_describe(const aoi_engine *g, aoi_describer *d) {
    const aoi_world *w = g->world;
    aoi_part all = {.kind = AOI_PART_ALL, .lo = {-INFINITY, -INFINITY}, .hi = {INFINITY, INFINITY}};
    all.entities = w->entity_count;
    for (uint32_t n = 0; n < w->node_top; n++) all.nodes += brute_is_indexed(w->nodes + n);
    if (!aoi_tell_part(d, &all)) return;
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_is_live(w->entities[e].generation)) d->entry(d, 0, AOI_ENTRY_ENTITY, e);
    for (uint32_t n = 0; n < w->node_top; n++)
        if (brute_is_indexed(w->nodes + n)) d->entry(d, 0, AOI_ENTRY_NODE, n);
}

const aoi_engine_class aoi_engine_brute = {
    .name = "brute",
    .size = sizeof(aoi_engine),
    .open = brute_open,
    .close = brute_close,
    .enter = brute_add,
    .leave = brute_remove,
    .add_node = brute_add,
    .remove_node = brute_remove,
    .resize_node = brute_resize_node,
    .move = brute_move,
    .targets = brute_targets,
    .watchers = brute_watchers,
    .check = brute_check,
    .stats = brute_stats,
    .describe = brute_describe,
};
