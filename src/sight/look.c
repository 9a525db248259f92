/* look.c - a tick of a sight (sight.h): the pairs to be tested, and the changes since the last one.
 *
 *   walls that changed --(nodes whose reach touches them)--+
 *   owners that moved, areas that changed -----------------+--> stale watches --+
 *   targets that moved, pairs new and lost, lingering ------------------------ -+--> due pairs --> tested --> events
 */
#include "sight/sight.h"

enum { PLACES_AHEAD = 4 }; /* prefetch distance */

/* ---- pairs to be tested ------------------------------------------------------------------------------------------ */

/* Makes the watches with areas that touch the box stale. */
static bool notice_near(aoi_sight *g, const struct aoi_wall_box *box) {
    aoi_space *s = g->plugin.space;
    double at[2], half = 0;
    for (int a = 0; a < 2; a++) {
        at[a] = box->lo[a] / 2 + box->hi[a] / 2;
        half = fmax(half, box->hi[a] / 2 - box->lo[a] / 2);
    }
    aoi_find_nodes(s, at, half * 1.4143, true, false); /* to its corners */
    bool found = !s->records.failed;
    s->records.failed = false;
    for (uint32_t i = 0; i < s->records.hit_count && found; i++) {
        aoi_watch *n = aoi_watch_of(g, s->records.hits[i]);
        if (n) aoi_watch_stale(g, n);
    }
    return found;
}

/* Makes the pairs with this target due. */
static void notice_target(aoi_sight *g, uint32_t target) {
    const aoi_thing *t = g->things + target;
    for (uint32_t i = 0; i < t->seen_count; i++) {
        const aoi_watch *n = g->watches[t->seen_by[i]];
        if (!n->stale) aoi_pair_due(g, n, aoi_pair_find(g, n, target));
    }
}

/* An extent makes a target visible from farther away: its line may cross a wall beyond the watcher's reach, but then
 * within the target's extent. */
static void notice_large(aoi_sight *g) {
    const aoi_space *s = g->plugin.space;
    const aoi_wall_changes *c = &g->changes;
    for (uint32_t k = 0; k < s->larges.count; k++) {
        const aoi_large *large = s->larges.records + k;
        const double *t = s->records.entities[large->entity].pos, e = fmax(large->extent, 0) * (1 + 0x1p-40);
        uint32_t i = 0;
        if (large->entity >= g->thing_cap) continue;
        while (i < c->count && !(c->boxes[i].lo[0] - e <= t[0] && t[0] <= c->boxes[i].hi[0] + e &&
                                 c->boxes[i].lo[1] - e <= t[1] && t[1] <= c->boxes[i].hi[1] + e))
            i++;
        if (i < c->count) notice_target(g, large->entity);
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

/* Makes watches of owners that have moved stale, and then pairs due of which only the target has moved. */
static void notice_moves(aoi_sight *g) {
    for (uint32_t i = 0; i < g->moved_count; i++)
        for (uint32_t k = g->things[g->moved[i]].watches; k != AOI_NONE; k = g->watches[k]->next)
            aoi_watch_stale(g, g->watches[k]);
    for (uint32_t i = 0; i < g->moved_count; i++) {
        g->things[g->moved[i]].moved = false;
        notice_target(g, g->moved[i]);
    }
    g->moved_count = 0;
}

/* ---- testing ----------------------------------------------------------------------------------------------------- */

/* The line of a pair has been tested: whether it is clear. */
static void note_line(const aoi_sight *g, aoi_sight_pair *p, bool clear) {
    if (p->flags & AOI_PAIR_CLEAR && !clear) p->clear = g->now;
    p->flags = (uint8_t)((p->flags & ~AOI_PAIR_CLEAR) | (clear ? AOI_PAIR_CLEAR : 0));
}

/* Tells the mirror of a pair whether the line is clear, if this tick is still to look at it. */
static void tell_mirror(const aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p, bool clear) {
    aoi_watch *m;
    aoi_sight_pair *back = aoi_pair_mirror(g, n, p, &m);
    if (!back || !(back->flags & AOI_PAIR_AREA)) return;
    if (m->stale ? m->stale == AOI_LOOKED_AT : back->due == AOI_NONE) return;
    if (!clear) back->wall = p->wall;
    note_line(g, back, clear);
    back->flags |= AOI_PAIR_TOLD;
}

/* Finds whether no wall hides the target, w being the place of the watcher; `tells`: stale watches are looked at.  The
 * wall that last hid it is asked first: that costs less than to tell the mirror. */
static bool line_is_clear(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p, const double *w, bool tells) {
    const aoi_space *s = g->plugin.space;
    if (!(p->flags & AOI_PAIR_AREA)) return false;
    if (aoi_override_of(s, n->node, p->target) == AOI_SHOW) return true;
    if (p->flags & AOI_PAIR_TOLD) return (p->flags & AOI_PAIR_CLEAR) != 0;
    const uint32_t hides = aoi_walls_hide(g->walls, w, aoi_position_now(s, p->target), p->wall);
    g->tested++;
    if (hides != AOI_NONE && hides == p->wall) return false;
    if (hides != AOI_NONE) p->wall = hides;
    if (tells) tell_mirror(g, n, p, hides == AOI_NONE);
    return hides == AOI_NONE;
}

/* Finds whether the node sees the target at the present tick, g->now + 1. */
static void look_at(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p, const double *w, bool tells) {
    p->flags &= (uint8_t)~AOI_PAIR_SEES;
    if (p->flags & AOI_PAIR_GONE) return;
    const bool clear = line_is_clear(g, n, p, w, tells);
    note_line(g, p, clear);
    p->flags &= (uint8_t)~AOI_PAIR_TOLD;
    if (clear || (aoi_pair_lingers(g, n, p) && g->now + 1 - p->clear <= n->linger)) p->flags |= AOI_PAIR_SEES;
}

/* Whether the pair is as at the last tick, in area, and either seen then and now with a clear line, or neither. */
static bool is_settled(const aoi_sight_pair *p) {
    const unsigned seen = AOI_PAIR_AREA | AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_SEES | AOI_PAIR_CLEAR;
    const unsigned hidden = AOI_PAIR_AREA | AOI_PAIR_WAS, is = p->flags & (seen | AOI_PAIR_GONE);
    return is == seen || is == hidden;
}

/* Tests the pairs of a stale watch; unsettled ones become due. */
static void look_at_watch(aoi_sight *g, aoi_watch *n) {
    const aoi_records *r = &g->plugin.space->records;
    const double *from = aoi_position_now(g->plugin.space, n->owner);
    n->stale = AOI_LOOKED_AT;
    for (uint32_t i = 0; i < n->pair_count; i++) {
        aoi_sight_pair *p = n->pairs + i;
        if (i + PLACES_AHEAD < n->pair_count) {
            if (!(p[PLACES_AHEAD].flags & AOI_PAIR_GONE)) AOI_PREFETCH(r->entities + p[PLACES_AHEAD].target);
            if (p[PLACES_AHEAD].wall != AOI_NONE) AOI_PREFETCH(g->walls->records + p[PLACES_AHEAD].wall);
        }
        look_at(g, n, p, from, true);
        if (!is_settled(p)) aoi_pair_due(g, n, p);
    }
}

/* Tests the pairs of stale watches, and the due ones of others; only unsettled ones stay due. */
static void look_at_all(aoi_sight *g) {
    uint32_t stay = 0;
    for (uint32_t i = 0; i < g->stale_count; i++) look_at_watch(g, g->watches[g->stale[i]]);
    for (uint32_t i = 0; i < g->due_count; i++) {
        const aoi_due d = g->due[i];
        const aoi_watch *n = g->watches[d.watch];
        aoi_sight_pair *p = n->pairs + d.pair;
        if (!n->stale) look_at(g, n, p, aoi_position_now(g->plugin.space, n->owner), false);
        p->due = is_settled(p) ? AOI_NONE : stay;
        if (p->due != AOI_NONE) g->due[stay++] = d;
    }
    g->due_count = stay;
    while (g->stale_count) {
        aoi_watch *n = g->watches[g->stale[--g->stale_count]];
        n->stale = 0;
        if (n->gone && !n->pair_count) aoi_watch_free(g, n);
    }
}

static bool has_changed(const aoi_sight_pair *p) {
    return !(p->flags & AOI_PAIR_SEES) != !(p->flags & AOI_PAIR_SEEN);
}

/* What the tick has found is what holds; whether the pair has to be looked at by the next one. */
static bool settle_pair(aoi_sight *g, aoi_watch *n, aoi_sight_pair *p) {
    bool sees = p->flags & AOI_PAIR_SEES;
    g->seen = g->seen + sees - ((p->flags & AOI_PAIR_SEEN) != 0);
    p->flags &= (uint8_t) ~(AOI_PAIR_SEEN | AOI_PAIR_WAS);
    if (sees) p->flags |= AOI_PAIR_SEEN;
    if (p->flags & AOI_PAIR_AREA) p->flags |= AOI_PAIR_WAS;
    if (sees || p->flags & AOI_PAIR_AREA) return sees && !(p->flags & AOI_PAIR_CLEAR);
    aoi_pair_free(g, n, p);
    if (n->gone && !n->pair_count) {
        if (n->holds) aoi_let_go(g->plugin.space, n->node);
        aoi_watch_free(g, n);
    }
    return false;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* False when memory is refused. */
static bool put_change(aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p) {
    aoi_space *s = g->plugin.space;
    aoi_event_queue *q = &g->queue;
    const uint8_t kind = p->flags & AOI_PAIR_SEES ? AOI_ENTER : AOI_LEAVE;
    if (!aoi_queue_ready(&s->records.memory, q)) return false;
    if (q->call && aoi_queue_cancel(q, n->node, p->target, p->life)) {
        s->records.nodes[n->node].pending--; /* the node lives, or its slot is held */
        return true;
    }
    aoi_append(s, q,
               &(aoi_queued){n->watcher, p->id, n->node_id, n->node, p->target, p->life, kind, false, p->because, 0});
    return true;
}

static bool put_changes(aoi_sight *g) {
    aoi_space *s = g->plugin.space;
    const aoi_queued *e;
    bool put = true;
    aoi_queue_begin(&s->records.memory, &g->queue);
    for (uint32_t i = 0; i < g->due_count && put; i++) {
        const aoi_watch *n = g->watches[g->due[i].watch];
        const aoi_sight_pair *p = n->pairs + g->due[i].pair;
        if (has_changed(p)) put = put_change(g, n, p);
    }
    if (put) aoi_queue_commit(&s->records.memory, &g->queue);
    while (!put && (e = aoi_queue_take_back(&g->queue, g->queue.call)) != NULL) s->records.nodes[e->node].pending--;
    while (!put && (e = aoi_queue_restore(&g->queue, 0)) != NULL) s->records.nodes[e->node].pending++;
    return put;
}

/* Passes a change to the sink, unless the node, and with it the client, has gone. */
static bool put_to_sink(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p) {
    return n->gone || !has_changed(p) || g->sink->see(n->client, p->target, &p->name, p->flags & AOI_PAIR_SEES);
}

/* Settles the due pairs, of which those that linger stay due; false: memory is refused, and the rest stays as it is. */
static bool settle_pairs(aoi_sight *g) {
    uint32_t stay = 0;
    bool put = true;
    for (uint32_t i = 0; i < g->due_count; i++) {
        const aoi_due d = g->due[i];
        aoi_watch *n = g->watches[d.watch];
        aoi_sight_pair *p = n->pairs + d.pair;
        put = put && (!g->sink || put_to_sink(g, n, p));
        p->due = put ? AOI_NONE : stay;
        if (put && !settle_pair(g, n, p)) continue;
        p->due = stay;
        g->due[stay++] = d;
    }
    g->due_count = stay;
    return put;
}

static int tick(aoi_sight *g) {
    if (!aoi_plugins_see(g->plugin.space) || !notice_walls(g)) return AOI_ENOMEM;
    notice_moves(g);
    look_at_all(g);
    if (!g->sink && !put_changes(g)) return AOI_ENOMEM;
    g->plugin.owes = false;
    g->plugin.held = 0;
    if (!settle_pairs(g)) return AOI_ENOMEM;
    g->now++;
    return AOI_OK;
}

int aoi_sight_tick(aoi_sight *g) {
    aoi_space *s = g->plugin.space;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    return aoi_logged(s, &(aoi_call){AOI_CALL_TICK_SIGHT, tick(g), .sight = g->number});
}

bool aoi_sight_next(aoi_sight *g, aoi_event *out) {
    const aoi_queued *e = aoi_plugin_waiting(&g->plugin) ? aoi_take_from(g->plugin.space, &g->queue) : NULL;
    if (e) aoi_read_event(g->plugin.space, e, out);
    return e != NULL;
}

size_t aoi_sight_pending(const aoi_sight *g) {
    return aoi_plugin_waiting(&g->plugin);
}
