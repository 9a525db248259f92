/* sight_check.c - verifies every invariant of a sight, and what its nodes see by a loop over all walls. */
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
    const aoi_world *w = &g->layer.space->world;
    bool area = aoi_node_sees(g->layer.space, n->node, p->target), due = p->due != AOI_NONE;
    if (area != ((p->flags & AOI_PAIR_AREA) != 0))
        return aoi_wrong(g->layer.space, "entity %lld has %lld wrongly in its area or not", (long long)n->watcher,
                         (long long)p->id);
    if (due || n->stale || !area || g->things[p->target].moved || g->things[n->owner].moved || g->changes.count)
        return NULL; /* the next tick tests it */
    bool shown = aoi_override_of(g->layer.space, n->node, p->target) == AOI_SHOW;
    bool clear = shown || !is_hidden(g, w->entities[n->owner].pos, w->entities[p->target].pos);
    if (clear != ((p->flags & AOI_PAIR_CLEAR) != 0) || clear != ((p->flags & AOI_PAIR_SEEN) != 0))
        return aoi_wrong(g->layer.space, "entity %lld sees %lld wrongly or not", (long long)n->watcher,
                         (long long)p->id);
    return NULL;
}

static const char *check_watch(const aoi_sight *g, const aoi_watch *n) {
    const aoi_world *w = &g->layer.space->world;
    const char *wrong = NULL;
    uint32_t pairs = 0, seen = 0;
    for (uint32_t i = 0; i < n->pair_count && !wrong; i++) {
        const aoi_sight_pair *p = n->pairs + i;
        const bool listed = p->due < g->due_count && g->due[p->due].watch == n->number && g->due[p->due].pair == i;
        if (p->due != AOI_NONE && !listed) return "a pair is not due where it says";
        if (p->flags & AOI_PAIR_GONE) continue;
        const aoi_thing *t = g->things + p->target;
        if (n->gone) return "a node has gone and its pairs have not";
        if (aoi_pair_find(g, n, p->target) != p) return "a pair is not found";
        if (p->at >= t->seen_count || t->seen_by[p->at] != n->number) return "a target does not know what sees it";
        pairs += (p->flags & AOI_PAIR_AREA) != 0;
        wrong = check_pair(g, n, p);
    }
    for (uint32_t e = 0; e < w->entity_top && !n->gone; e++)
        seen += aoi_is_live(w->entities[e].generation) && e != n->owner && aoi_node_sees(g->layer.space, n->node, e);
    if (!wrong && seen != pairs)
        return aoi_wrong(g->layer.space, "node of entity %lld misses what its area sees", (long long)n->watcher);
    return wrong;
}

const char *aoi_sight_check(const aoi_layer *layer) {
    const aoi_sight *g = (const aoi_sight *)layer;
    const char *wrong = aoi_walls_check(g->walls);
    uint32_t due = 0, pairs = 0, live = 0, seen_by = 0, watches = 0;
    uint64_t seen = 0;
    if (!wrong) wrong = aoi_queue_check(&g->queue);
    for (uint32_t k = 0; k < g->watch_top && !wrong; k++) {
        const aoi_watch *n = g->watches[k];
        if (!n) continue;
        watches++;
        pairs += n->pair_count;
        wrong = check_watch(g, n);
        for (uint32_t i = 0; i < n->pair_count; i++) {
            due += n->pairs[i].due != AOI_NONE;
            seen += (n->pairs[i].flags & AOI_PAIR_SEEN) != 0;
            live += !(n->pairs[i].flags & AOI_PAIR_GONE);
        }
    }
    for (uint32_t e = 0; e < g->thing_cap; e++) seen_by += g->things[e].seen_count;
    if (wrong) return wrong;
    if (pairs != g->pair_count || due != g->due_count || seen != g->seen || watches != g->watch_count ||
        live != g->index.count || live != seen_by)
        return "pairs and nodes are counted wrongly";
    return NULL;
}
