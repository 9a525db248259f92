/* sight_check.c - verifies what the nodes of a sight see by a loop over all walls. */
#include "sight/sight.h"

static bool is_hidden(const aoi_sight *g, const double *p, const double *q) {
    const aoi_walls *k = g->walls;
    const bool ordered = aoi_ends_ordered(k->dims, p, q);
    double s;
    for (uint32_t i = 0; i < k->record_top; i++)
        if (k->records[i].live && aoi_wall_hides(&k->records[i].w, k->dims, ordered ? p : q, ordered ? q : p, &s))
            return true;
    return false;
}

static const char *check_pair(const aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p) {
    const aoi_records *r = &g->plugin.space->records;
    bool area = aoi_node_sees(g->plugin.space, n->node, p->target), due = p->due != AOI_NONE;
    if (area != ((p->flags & AOI_PAIR_AREA) != 0))
        return aoi_wrong(g->plugin.space, "entity %lld has %lld wrongly in its area or not", (long long)n->watcher,
                         (long long)p->id);
    if (due || n->stale || !area || g->things[p->target].moved || g->things[n->owner].moved || g->changes.count)
        return NULL; /* the next tick tests it */
    bool shown = aoi_override_of(g->plugin.space, n->node, p->target) == AOI_SHOW;
    bool clear = shown || !is_hidden(g, r->entities[n->owner].pos, r->entities[p->target].pos);
    if (clear != ((p->flags & AOI_PAIR_CLEAR) != 0) || clear != ((p->flags & AOI_PAIR_SEEN) != 0))
        return aoi_wrong(g->plugin.space, "entity %lld sees %lld wrongly or not", (long long)n->watcher,
                         (long long)p->id);
    return NULL;
}

static const char *check_watch(const aoi_sight *g, const aoi_watch *n) {
    const aoi_records *r = &g->plugin.space->records;
    const char *wrong = NULL;
    uint32_t pairs = 0, seen = 0;
    for (uint32_t i = 0; i < n->pair_count && !wrong; i++) {
        const aoi_sight_pair *p = n->pairs + i;
        if (p->flags & AOI_PAIR_GONE) continue;
        pairs += (p->flags & AOI_PAIR_AREA) != 0;
        wrong = check_pair(g, n, p);
    }
    for (uint32_t e = 0; e < r->entity_top && !n->gone; e++)
        seen += aoi_is_live(r->entities[e].generation) && e != n->owner && aoi_node_sees(g->plugin.space, n->node, e);
    if (!wrong && seen != pairs)
        return aoi_wrong(g->plugin.space, "node of entity %lld misses what its area sees", (long long)n->watcher);
    return wrong;
}

const char *aoi_sight_check(const aoi_plugin *plugin) {
    const aoi_sight *g = (const aoi_sight *)plugin;
    const char *wrong = NULL;
    for (uint32_t k = 0; k < g->watch_top && !wrong; k++)
        if (g->watches[k]) wrong = check_watch(g, g->watches[k]);
    return wrong;
}
