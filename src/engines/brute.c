/* brute.c - everybody with everybody: no index at all.  The oracle for the others, and fast for a few dozen.
 *
 * Cost: enter, leave, attach, detach O(1); a move proposes every other entity to each of the mover's nodes and the
 * mover to every other node.  Memory: none of its own. */
#include "core/engine.h"

#include <math.h>

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

static int brute_resize(aoi_engine *g, uint32_t node, double reach) {
    (void)g, (void)node, (void)reach;
    return AOI_OK;
}

static int brute_relocate(aoi_engine *g, uint32_t entity, const double *from, const double *to) {
    (void)g, (void)entity, (void)from, (void)to;
    return AOI_OK;
}

static bool is_boxed(const aoi_node_record *n) {
    return aoi_alive(n->generation) && !isinf(n->reach);
}

static void brute_propose(aoi_engine *g, uint32_t entity, const double *from, const double *to) {
    aoi_world *w = g->world;
    (void)from, (void)to;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!is_boxed(w->nodes + n)) continue;
        for (uint32_t t = 0; t < w->entity_top; t++)
            if (t != entity && aoi_alive(w->entities[t].generation)) aoi_propose(w, n, t);
        g->steps += w->entity_top;
    }
    for (uint32_t n = 0; n < w->node_top; n++)
        if (is_boxed(w->nodes + n) && w->nodes[n].owner != entity) aoi_propose(w, n, entity);
    g->steps += w->node_top;
}

static void brute_targets(aoi_engine *g, const double *lo, const double *hi) {
    aoi_world *w = g->world;
    (void)lo, (void)hi;
    for (uint32_t t = 0; t < w->entity_top; t++)
        if (aoi_alive(w->entities[t].generation)) aoi_found(w, t);
    g->steps += w->entity_top;
}

static void brute_watchers(aoi_engine *g, const double *at) {
    aoi_world *w = g->world;
    (void)at;
    for (uint32_t n = 0; n < w->node_top; n++)
        if (is_boxed(w->nodes + n)) aoi_found(w, n);
    g->steps += w->node_top;
}

static const char *brute_check(aoi_engine *g) {
    (void)g;
    return NULL;
}

static void brute_stats(const aoi_engine *g, aoi_stats *out) {
    (void)g, (void)out;
}

const aoi_engine_class aoi_engine_brute = {
    .name = "brute",
    .size = sizeof(aoi_engine),
    .open = brute_open,
    .close = brute_close,
    .enter = brute_add,
    .leave = brute_remove,
    .attach = brute_add,
    .detach = brute_remove,
    .resize = brute_resize,
    .relocate = brute_relocate,
    .tidy = brute_close,
    .propose = brute_propose,
    .targets = brute_targets,
    .watchers = brute_watchers,
    .check = brute_check,
    .stats = brute_stats,
};
