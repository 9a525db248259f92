/* questions.c - what a sight's nodes see now, and why: from areas and walls, as pairs may be older. */
#include "sight/sight.h"

/* Whether no wall hides the target, or an override shows it; first: the wall to test first. */
static bool line_clear(const aoi_sight *g, uint32_t node, uint32_t target, uint32_t first) {
    const aoi_space *s = g->plugin.space;
    if (aoi_override_of(s, node, target) == AOI_SHOW) return true;
    const double *w = aoi_position_now(s, s->records.nodes[node].owner), *t = aoi_position_now(s, target);
    return aoi_walls_hide(g->walls, w, t, first) == AOI_NONE;
}

/* Whether the target is seen; in_area: the area sees it. */
static bool is_seen(const aoi_sight *g, const aoi_watch *n, uint32_t target, bool in_area) {
    const aoi_sight_pair *p = n->linger || in_area ? aoi_pair_find(g, n, target) : NULL;
    if (in_area && line_clear(g, n->node, target, p ? p->wall : AOI_NONE)) return true;
    return p && aoi_pair_lingers(g, n, p);
}

bool aoi_sight_sees(aoi_sight *g, aoi_node handle, aoi_entity target) {
    aoi_space *s = g->plugin.space;
    (void)aoi_settle(s);
    uint32_t t = aoi_entity_slot(s, target);
    const aoi_watch *n = aoi_watch_of(g, aoi_node_slot(s, handle));
    return n && t != AOI_NONE && t != n->owner && is_seen(g, n, t, aoi_node_sees(s, n->node, t));
}

int aoi_sight_view(aoi_sight *g, aoi_node handle, const int64_t **ids, size_t *count) {
    aoi_space *s = g->plugin.space;
    const aoi_watch *n = aoi_watch_of(g, aoi_node_slot(s, handle));
    uint32_t kept = 0;
    if (!n) return AOI_EGONE;
    int result = aoi_view(s, handle, ids, count);
    if (result != AOI_OK) return result;
    for (size_t i = 0; i < *count; i++)
        if (is_seen(g, n, aoi_slot_of_id(s, s->ids_out[i]), true)) s->ids_out[kept++] = s->ids_out[i];
    for (uint32_t i = 0; i < n->pair_count && n->linger; i++) {
        const aoi_sight_pair *r = n->pairs + i;
        if (!aoi_pair_lingers(g, n, r) || aoi_node_sees(s, n->node, r->target)) continue;
        if (!AOI_GROW(&s->records.memory, s->ids_out, s->ids_cap, kept + (size_t)1)) return AOI_ENOMEM;
        s->ids_out[kept++] = r->id;
    }
    s->answer_count = kept;
    return aoi_give(s, ids, count);
}

int aoi_sight_viewers(aoi_sight *g, aoi_entity target, const int64_t **ids, const int64_t **nodes, size_t *count) {
    aoi_space *s = g->plugin.space;
    uint32_t t = aoi_entity_slot(s, target);
    uint32_t kept = 0;
    int result = aoi_viewers(s, target, ids, nodes, count);
    if (result != AOI_OK) return result;
    for (size_t i = 0; i < *count; i++) {
        aoi_entity watcher = aoi_find(s, s->ids_out[i]);
        const aoi_watch *n = aoi_watch_of(g, aoi_node_slot(s, aoi_find_node(s, watcher, s->nodes_out[i])));
        if (!n || n->node_id <= AOI_PLUGINS_ID || !is_seen(g, n, t, true)) continue;
        s->ids_out[kept] = s->ids_out[i];
        s->nodes_out[kept++] = s->nodes_out[i];
    }
    for (uint32_t i = 0; t < g->thing_cap && i < g->things[t].seen_count; i++) {
        const aoi_watch *n = g->watches[g->things[t].seen_by[i]];
        if (n->node_id <= AOI_PLUGINS_ID || !n->linger || !aoi_pair_lingers(g, n, aoi_pair_find(g, n, t)) ||
            aoi_node_sees(s, n->node, t))
            continue;
        if (!AOI_GROW(&s->records.memory, s->ids_out, s->ids_cap, kept + (size_t)1) ||
            !AOI_GROW(&s->records.memory, s->nodes_out, s->nodes_cap, kept + (size_t)1))
            return AOI_ENOMEM;
        s->ids_out[kept] = n->watcher;
        s->nodes_out[kept++] = n->node_id;
    }
    s->answer_count = kept;
    *nodes = s->nodes_out;
    return aoi_give(s, ids, count);
}

int64_t aoi_sight_ray(const aoi_sight *g, const double *p, const double *q, double *at) {
    for (int a = 0; a < g->walls->dims; a++)
        if (!aoi_is_coordinate(p[a]) || !aoi_is_coordinate(q[a])) return 0;
    return aoi_walls_ray(g->walls, p, q, at);
}

void aoi_sight_explain(aoi_sight *g, int64_t watcher, int64_t node_id, int64_t target, aoi_sight_explanation *out) {
    aoi_space *s = g->plugin.space;
    *out = (aoi_sight_explanation){0};
    aoi_explain(s, watcher, node_id, target, &out->e);
    uint32_t node = aoi_node_slot(s, aoi_find_node(s, aoi_find(s, watcher), node_id));
    uint32_t t = aoi_entity_slot(s, aoi_find(s, target));
    const aoi_watch *n = aoi_watch_of(g, node);
    out->e.pending |= aoi_is_pending(&g->queue, watcher, node_id, target);
    if (!n && out->e.why > AOI_WHY_NO_NODE) out->e.why = AOI_WHY_NO_NODE; /* a node of the space, not of the sight */
    if (!n || t == AOI_NONE || out->e.why == AOI_WHY_SELF) {
        out->e.sees = false;
        return;
    }
    const double *from = aoi_position_now(s, n->owner), *to = aoi_position_now(s, t);
    if (out->e.sees && out->e.why != AOI_WHY_SHOWN && (out->wall = aoi_walls_ray(g->walls, from, to, out->at)) != 0)
        out->e.why = AOI_WHY_WALL;
    bool clear = out->e.sees && !out->wall;
    out->e.sees = is_seen(g, n, t, aoi_node_sees(s, node, t));
    if (out->e.sees && !clear) out->e.why = AOI_WHY_LINGERS;
}

void aoi_sight_read_stats(const aoi_sight *g, aoi_sight_stats *out) {
    *out = (aoi_sight_stats){g->walls->count, g->watch_count, g->pair_count, g->seen, g->tested};
}
