/* look.c - a tick of a sight (sight.h): the pairs to be tested, and the changes since the last one.
 *
 *   walls that changed --(nodes whose reach touches them)--+
 *   owners that moved, areas that changed -----------------+--> stale watches --+
 *   targets that moved, pairs new and lost, lingering ------------------------ -+--> due pairs --> tested --> events
 */
#include "sight/sight.h"

enum { WATCHES_AHEAD = 4, PAIRS_AHEAD = 12, PLACES_AHEAD = 6 }; /* prefetch distances */

/* ---- pairs to be tested ------------------------------------------------------------------------------------------ */

/* Makes the watches with areas that touch the box stale. */
static bool notice_near(aoi_sight *g, const struct aoi_wall_box *box) {
    aoi_space *s = g->layer.space;
    double at[2], half = 0;
    for (int a = 0; a < 2; a++) {
        at[a] = box->lo[a] / 2 + box->hi[a] / 2;
        half = fmax(half, box->hi[a] / 2 - box->lo[a] / 2);
    }
    aoi_find_nodes(s, at, half * 1.4143, true, false); /* to its corners */
    bool found = !s->world.failed;
    s->world.failed = false;
    for (uint32_t i = 0; i < s->world.hit_count && found; i++) {
        aoi_watch *n = aoi_watch_of(g, s->world.hits[i]);
        if (n) aoi_watch_stale(g, n);
    }
    return found;
}

/* An extent makes a target visible from farther away: its line may cross a wall beyond the watcher's reach, but then
 * within the target's extent. */
static void notice_large(aoi_sight *g) {
    const aoi_space *s = g->layer.space;
    const aoi_wall_changes *c = &g->changes;
    for (uint32_t k = 0; k < s->larges.count; k++) {
        const aoi_large *large = s->larges.records + k;
        const double *t = s->world.entities[large->entity].pos, e = large->extent * (1 + 0x1p-40);
        uint32_t p = large->entity < g->thing_cap ? g->things[large->entity].targets : AOI_NONE, i = 0;
        if (p == AOI_NONE) continue;
        while (i < c->count && !(c->boxes[i].lo[0] - e <= t[0] && t[0] <= c->boxes[i].hi[0] + e &&
                                 c->boxes[i].lo[1] - e <= t[1] && t[1] <= c->boxes[i].hi[1] + e))
            i++;
        for (; i < c->count && p != AOI_NONE; p = g->pairs[p].of_target[0]) aoi_pair_due(g, p);
    }
}

/* Other lines are no longer than the watcher's reach, and only cross walls within it. */
static bool notice_walls(aoi_sight *g) {
    aoi_wall_changes *c = &g->changes;
    if (c->count > g->watch_count) {
        for (uint32_t k = 0; k < g->watch_top; k++)
            if (g->watches[k]) aoi_watch_stale(g, g->watches[k]);
        c->count = 0;
    }
    if (c->count) notice_large(g);
    for (uint32_t i = 0; i < c->count; i++)
        if (!notice_near(g, c->boxes + i)) return false;
    c->count = 0;
    return true;
}

/* Goes watch by watch, so that a watch is read once; then through the pairs of which only the target has moved. */
static void notice_moves(aoi_sight *g) {
    for (uint32_t i = 0; i < g->moved_count; i++)
        for (uint32_t k = g->things[g->moved[i]].watches; k != AOI_NONE; k = g->watches[k]->next)
            aoi_watch_stale(g, g->watches[k]);
    for (uint32_t i = 0; i < g->stale_count; i++) {
        uint32_t ahead = i + WATCHES_AHEAD < g->stale_count ? g->watches[g->stale[i + WATCHES_AHEAD]]->pairs : AOI_NONE;
        if (ahead != AOI_NONE) AOI_PREFETCH(g->pairs + ahead);
        aoi_watch *n = g->watches[g->stale[i]];
        n->stale = false;
        for (uint32_t p = n->pairs; p != AOI_NONE && !n->gone; p = g->pairs[p].of_watch[0]) aoi_pair_due(g, p);
        if (n->gone && n->pairs == AOI_NONE) aoi_watch_free(g, n);
    }
    for (uint32_t i = 0; i < g->moved_count; i++) {
        g->things[g->moved[i]].moved = false;
        for (uint32_t p = g->things[g->moved[i]].targets; p != AOI_NONE; p = g->pairs[p].of_target[0])
            aoi_pair_due(g, p);
    }
    g->moved_count = g->stale_count = 0;
}

/* ---- testing ----------------------------------------------------------------------------------------------------- */

bool aoi_line_clear(const aoi_sight *g, uint32_t node, uint32_t target, uint32_t *wall) {
    const aoi_space *s = g->layer.space;
    if (aoi_override_of(s, node, target) == AOI_SHOW) return true;
    const double *w = aoi_position_now(s, s->world.nodes[node].owner), *t = aoi_position_now(s, target);
    uint32_t hides = aoi_walls_hide(g->walls, w, t, *wall);
    if (hides != AOI_NONE) *wall = hides;
    return hides == AOI_NONE;
}

/* Whether the node sees the target at the present tick, g->now + 1. */
static bool look_at(aoi_sight *g, aoi_sight_pair *p) {
    const aoi_watch *n = g->watches[p->watch];
    if (p->flags & AOI_PAIR_GONE) return false;
    bool clear = p->flags & AOI_PAIR_AREA && aoi_line_clear(g, n->node, p->target, &p->wall);
    g->tested += (p->flags & AOI_PAIR_AREA) != 0;
    if (clear) {
        p->flags |= AOI_PAIR_CLEAR;
        return true;
    }
    if (p->flags & AOI_PAIR_CLEAR) p->clear = g->now;
    p->flags &= (uint8_t)~AOI_PAIR_CLEAR;
    return aoi_pair_lingers(g, p) && g->now + 1 - p->clear <= n->linger;
}

/* Whether the pair is as at the last tick, in area, and either seen then and now with a clear line, or neither. */
static bool is_settled(const aoi_sight_pair *p) {
    const unsigned seen = AOI_PAIR_AREA | AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_SEES | AOI_PAIR_CLEAR;
    const unsigned hidden = AOI_PAIR_AREA | AOI_PAIR_WAS, is = p->flags & (seen | AOI_PAIR_GONE);
    return is == seen || is == hidden;
}

/* Tests the due pairs; only unsettled ones stay due. */
static void look_at_due(aoi_sight *g) {
    const aoi_world *w = &g->layer.space->world;
    uint32_t stay = 0;
    for (uint32_t i = 0; i < g->due_count; i++) {
        if (i + PAIRS_AHEAD < g->due_count) AOI_PREFETCH(g->pairs + g->due[i + PAIRS_AHEAD]);
        if (i + PLACES_AHEAD < g->due_count) {
            const aoi_sight_pair *next = g->pairs + g->due[i + PLACES_AHEAD];
            if (!(next->flags & AOI_PAIR_GONE)) AOI_PREFETCH(w->entities + next->target);
            if (next->wall != AOI_NONE) AOI_PREFETCH(g->walls->records + next->wall);
        }
        aoi_sight_pair *p = g->pairs + g->due[i];
        p->flags &= (uint8_t)~AOI_PAIR_SEES;
        if (look_at(g, p)) p->flags |= AOI_PAIR_SEES;
        if (is_settled(p)) p->flags &= (uint8_t)~AOI_PAIR_DUE;
        else g->due[stay++] = g->due[i];
    }
    g->due_count = stay;
}

static bool has_changed(const aoi_sight_pair *p) {
    return !(p->flags & AOI_PAIR_SEES) != !(p->flags & AOI_PAIR_SEEN);
}

/* What the tick has found is what holds; whether the pair has to be looked at by the next one. */
static bool settle_pair(aoi_sight *g, uint32_t pair) {
    aoi_sight_pair *p = g->pairs + pair;
    aoi_watch *n = g->watches[p->watch];
    bool sees = p->flags & AOI_PAIR_SEES;
    g->seen = g->seen + sees - ((p->flags & AOI_PAIR_SEEN) != 0);
    p->flags &= (uint8_t) ~(AOI_PAIR_SEEN | AOI_PAIR_WAS | AOI_PAIR_DUE);
    if (sees) p->flags |= AOI_PAIR_SEEN;
    if (p->flags & AOI_PAIR_AREA) p->flags |= AOI_PAIR_WAS;
    bool lingers = sees && !(p->flags & AOI_PAIR_CLEAR);
    if (lingers) p->flags |= AOI_PAIR_DUE;
    if (sees || p->flags & AOI_PAIR_AREA) return lingers;
    p->flags |= AOI_PAIR_DUE; /* while it is freed it must not be listed again */
    aoi_pair_free(g, pair);
    if (n->gone && n->pairs == AOI_NONE) {
        if (n->holds) aoi_let_go(g->layer.space, n->node);
        aoi_watch_free(g, n);
    }
    return false;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* False when memory is refused. */
static bool put_change(aoi_sight *g, const aoi_sight_pair *p) {
    aoi_space *s = g->layer.space;
    const aoi_watch *n = g->watches[p->watch];
    aoi_event_queue *q = &g->queue;
    const uint8_t kind = p->flags & AOI_PAIR_SEES ? AOI_ENTER : AOI_LEAVE;
    if (!aoi_queue_ready(&s->world.memory, q)) return false;
    if (q->call && aoi_queue_cancel(q, n->node, p->target, p->life)) {
        s->world.nodes[n->node].pending--; /* the node lives, or its slot is held */
        return true;
    }
    aoi_append(s, q,
               &(aoi_queued){n->watcher, p->id, n->node_id, n->node, p->target, p->life, kind, false, p->because});
    return true;
}

static bool put_changes(aoi_sight *g) {
    aoi_space *s = g->layer.space;
    const aoi_queued *e;
    bool put = true;
    aoi_queue_begin(&s->world.memory, &g->queue);
    for (uint32_t i = 0; i < g->due_count && put; i++)
        if (has_changed(g->pairs + g->due[i])) put = put_change(g, g->pairs + g->due[i]);
    if (put) aoi_queue_commit(&s->world.memory, &g->queue);
    while (!put && (e = aoi_queue_take_back(&g->queue, g->queue.call)) != NULL) s->world.nodes[e->node].pending--;
    while (!put && (e = aoi_queue_restore(&g->queue, 0)) != NULL) s->world.nodes[e->node].pending++;
    return put;
}

/* Passes a change to the sink, unless the node, and with it the client, has gone. */
static bool put_to_sink(aoi_sight *g, aoi_sight_pair *p) {
    const aoi_watch *n = g->watches[p->watch];
    return n->gone || !has_changed(p) || g->sink->see(n->client, p->target, &p->name, p->flags & AOI_PAIR_SEES);
}

static int tick(aoi_sight *g) {
    uint32_t i = 0, stay = 0;
    if (!aoi_layers_see(g->layer.space) || !notice_walls(g)) return AOI_ENOMEM;
    notice_moves(g);
    look_at_due(g);
    if (!g->sink && !put_changes(g)) return AOI_ENOMEM;
    g->layer.owes = false;
    g->layer.held = 0;
    for (; i < g->due_count && (!g->sink || put_to_sink(g, g->pairs + g->due[i])); i++)
        if (settle_pair(g, g->due[i])) g->due[stay++] = g->due[i];
    bool all = i == g->due_count;
    while (i < g->due_count) g->due[stay++] = g->due[i++];
    g->due_count = stay;
    if (!all) return AOI_ENOMEM;
    g->now++;
    return AOI_OK;
}

int aoi_sight_tick(aoi_sight *g) {
    aoi_space *s = g->layer.space;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    return aoi_logged(s, &(aoi_call){AOI_CALL_TICK_SIGHT, tick(g), .sight = g->number});
}

bool aoi_sight_next(aoi_sight *g, aoi_event *out) {
    const aoi_queued *e = aoi_layer_waiting(&g->layer) ? aoi_take_from(g->layer.space, &g->queue) : NULL;
    if (e) aoi_read_event(g->layer.space, e, out);
    return e != NULL;
}

size_t aoi_sight_pending(const aoi_sight *g) {
    return aoi_layer_waiting(&g->layer);
}
