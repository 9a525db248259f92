/* visibility.c - pairs before and after a change: the only place where events are made.
 *
 *   a pair (node, target)   zone before ---+                 +--> event: seen before and after differ
 *                           zone after  ---+--> judge_pair --+
 *                           was it kept ---+                 +--> kept: seen, but only BETWEEN the two borders
 *
 * Of a node that is `outside` the zones are those of its area, as of any node, so that the index proposes the same pairs:
 * the area holds a target by the rule, and the node sees what it does not hold.
 *
 * An engine proposes pairs whose zone may have changed; zones follow from exact positions (rule.h).  Within a batch
 * both ends of a pair may move, one after the other.  Then the pair is judged by the positions before and after the
 * batch, and only once: on the later of the two moves that changes its zone. */
#include <assert.h>
#include <stdlib.h>

#include "core/space.h"

enum { CHANGE_AHEAD = 16, CHANGE_SOON = 8 }; /* changes of a tick that are prefetched */
enum { SEEN_AHEAD = 8 };                     /* ids whose places in the index of ids are prefetched */
enum { JUDGE_AHEAD = 4, JUDGE_SOON = 2 };    /* candidates whose records, and states, are prefetched */

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* Records the event of a layer's node, which is not for the queue. */
static AOI_NOINLINE void record_sighting(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    uint32_t name = AOI_NONE;
    if (AOI_GROW(&s->world.memory, s->sightings, s->sighting_cap, s->sighting_count + (size_t)1))
        name = aoi_sighting_name(s, node, target);
    if (name == AOI_NONE) s->world.failed = true;
    else s->sightings[s->sighting_count++] = (aoi_sighting){node, name & INT32_MAX, kind == AOI_ENTER};
}

/* The queue has room. */
static inline void append_event(aoi_space *s, int kind, uint32_t node, uint32_t target, uint32_t life, int64_t id) {
    const aoi_node_record *n = s->world.nodes + node;
    const int64_t watcher = s->world.entities[n->owner].id;
    if (!s->deferred) AOI_PREFETCH(&s->world.areas[node].user_data); /* read when the event is taken */
    aoi_append(s, &s->queue,
               &(aoi_queued){watcher, id, n->node_id, node, target, life, (uint8_t)kind, false, s->because});
}

/* For a queue that is full, or that has events of former calls, one of which may be the opposite. */
static AOI_NOINLINE void record_among(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    aoi_event_queue *q = &s->queue;
    const aoi_entity_record *t = s->world.entities + target;
    if (!aoi_queue_ready(&s->world.memory, q)) s->world.failed = true;
    else if (q->call && aoi_queue_cancel(q, node, target, t->generation)) s->world.nodes[node].pending--;
    else append_event(s, kind, node, target, t->generation, t->id);
}

static inline aoi_index *pairs_with(aoi_space *s, uint32_t target) {
    return AOI_WITNESS && target & AOI_PAIR_REPORTED ? &s->reported : &s->kept;
}

static void record_kept(aoi_space *s, uint32_t node, uint32_t target) {
    aoi_memory *m = &s->world.memory;
    aoi_index *kept = pairs_with(s, target);
    if (!AOI_GROW(m, s->undo, s->undo_cap, s->undo_count + (size_t)1) ||
        !aoi_index_reserve(m, kept, kept->count + (size_t)1)) {
        s->world.failed = true;
        return;
    }
    aoi_pair_table_add(kept, node, target);
    s->undo[s->undo_count++] = (aoi_pair_undo){node, target, true};
}

/* Removes a pair from the kept ones; returns whether it was one. */
static bool release_kept(aoi_space *s, uint32_t node, uint32_t target) {
    if (!AOI_GROW(&s->world.memory, s->undo, s->undo_cap, s->undo_count + (size_t)1)) s->world.failed = true;
    else if (aoi_pair_table_remove(pairs_with(s, target), node, target)) {
        s->undo[s->undo_count++] = (aoi_pair_undo){node, target, false};
        return true;
    }
    return false;
}

/* Events of a pair alternate. */
static AOI_NOINLINE void note_reported(aoi_space *s, uint32_t node, uint32_t target, bool seen) {
    assert(s->world.failed || aoi_pair_table_has(&s->reported, node, target | AOI_PAIR_REPORTED) != seen);
    if (seen) record_kept(s, node, target | AOI_PAIR_REPORTED);
    else (void)release_kept(s, node, target | AOI_PAIR_REPORTED);
}

static inline void record_event(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    const aoi_event_queue *q = &s->queue;
    const aoi_entity_record *t = s->world.entities + target;
    if (s->world.nodes[node].flags & AOI_NODE_LAYER) {
        record_sighting(s, kind, node, target);
        return;
    }
    if (AOI_WITNESS) note_reported(s, node, target, kind == AOI_ENTER);
    if (q->call || q->top == q->cap) record_among(s, kind, node, target);
    else append_event(s, kind, node, target, t->generation, t->id);
}

void aoi_rollback_to(aoi_space *s, aoi_mark mark) {
    const aoi_queued *e;
    while ((e = aoi_queue_take_back(&s->queue, mark.top)) != NULL) s->world.nodes[e->node].pending--;
    while ((e = aoi_queue_restore(&s->queue, mark.queue_undo)) != NULL) s->world.nodes[e->node].pending++;
    while (s->undo_count > mark.undo) {
        const aoi_pair_undo *u = s->undo + --s->undo_count;
        aoi_index *kept = pairs_with(s, u->target);
        if (u->added) (void)aoi_pair_table_remove(kept, u->node, u->target);
        else aoi_pair_table_add(kept, u->node, u->target); /* its slot was freed by the removal */
    }
    s->sighting_count = mark.sightings;
    s->world.candidate_count = 0;
    s->world.failed = false;
}

void aoi_rollback(aoi_space *s) {
    aoi_rollback_to(s, (aoi_mark){s->queue.call, 0, 0, s->sighting_call});
}

void aoi_tidy(aoi_space *s) {
    if (!s->world.untidy) return;
    s->world.untidy = false;
    aoi_broad_tidy(&s->index);
}

void aoi_commit(aoi_space *s) {
    assert(!s->world.failed && !s->world.candidate_count);
    aoi_queue_commit(&s->world.memory, &s->queue);
    aoi_tidy(s);
    if (s->undo_count) aoi_index_shrink(&s->world.memory, &s->kept);
    if (!s->world.entity_count) aoi_release_storage(s);
}

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

/* Whether the node saw the target at the last delivery; `was`: whether it sees it now. */
static bool saw_at_delivery(aoi_space *s, uint32_t node, uint32_t target, bool was) {
    if (s->world.nodes[node].flags & AOI_NODE_LAYER) {
        const aoi_layer_node *n = aoi_layer_node_from(s->world.areas[node].user_data);
        return n->layer->class->saw(n, target);
    }
    if (!s->deferred || !s->queue.call) return was;
    int kind = aoi_queue_waiting(&s->world.memory, &s->queue, node, target, s->world.entities[target].generation);
    if (kind < 0) s->world.failed = true;
    return kind == AOI_LEAVE || (kind != AOI_ENTER && was);
}

/* Whether the area of a node that is `outside` held the target at the last delivery; `held`: whether it does now. */
static bool held_at_delivery(const aoi_space *s, uint32_t node, uint32_t target, bool held) {
    return held != aoi_pair_table_has(&s->kept, node, target | AOI_PAIR_CHANGED);
}

static void mark_changed(aoi_space *s, uint32_t node, uint32_t target, bool changed) {
    if (!s->deferred || aoi_pair_table_has(&s->kept, node, target | AOI_PAIR_CHANGED) == changed) return;
    if (!changed) (void)release_kept(s, node, target | AOI_PAIR_CHANGED);
    else if (!AOI_GROW(&s->world.memory, s->changed, s->changed_cap, s->changed_count + (size_t)1))
        s->world.failed = true;
    else {
        record_kept(s, node, target | AOI_PAIR_CHANGED);
        s->changed[s->changed_count++] = (aoi_candidate){node, target};
    }
}

void aoi_forget_changed(aoi_space *s) {
    for (uint32_t i = 0; i < s->changed_count; i++)
        (void)aoi_pair_table_remove(&s->kept, s->changed[i].node, s->changed[i].target | AOI_PAIR_CHANGED);
    s->changed_count = 0;
    if (s->changed_cap > AOI_QUEUE_KEEPS) AOI_CLEAR(&s->world.memory, s->changed, s->changed_cap);
}

static inline void record_sight(aoi_space *s, uint32_t node, uint32_t target, bool was, bool is) {
    if (was != is && !(s->world.nodes[node].flags & AOI_NODE_SILENT))
        record_event(s, is ? AOI_ENTER : AOI_LEAVE, node, target);
}

/* Records the change of a pair: kept -> keeps between two borders, seen was -> is. */
static void record_change(aoi_space *s, uint32_t node, uint32_t target, bool kept, bool keeps, bool was, bool is) {
    if (kept && !keeps) (void)release_kept(s, node, target);
    if (keeps && !kept) record_kept(s, node, target);
    record_sight(s, node, target, was, is);
}

/* Judges a pair by its zones and by whether kind and mask meet, before and after; `outside` as well may change. */
static AOI_NOINLINE void judge_change(aoi_space *s, uint32_t node, uint32_t target, bool met, aoi_zone before,
                                      bool was_outside, bool meets, aoi_zone after, bool is_outside) {
    bool kept = met && before == AOI_BETWEEN && aoi_pair_table_has(&s->kept, node, target);
    bool held = (met && before == AOI_INSIDE) || kept, was = met && held != was_outside;
    bool held_then = was_outside && held_at_delivery(s, node, target, held), holds = meets && after == AOI_INSIDE;
    if (meets && after == AOI_BETWEEN) holds = is_outside ? held_then : saw_at_delivery(s, node, target, was);
    record_change(s, node, target, kept, holds && after == AOI_BETWEEN, was, meets && holds != is_outside);
    if (was_outside | is_outside) mark_changed(s, node, target, is_outside && held_then != holds);
}

static inline void judge_pair(aoi_space *s, uint32_t node, uint32_t target, aoi_zone before, aoi_zone after) {
    if (before == after) return;
    if (s->world.nodes[node].outside) {
        judge_change(s, node, target, true, before, true, true, after, true);
        return;
    }
    bool was = before == AOI_INSIDE || (before == AOI_BETWEEN && release_kept(s, node, target));
    bool is = after == AOI_INSIDE || (after == AOI_BETWEEN && saw_at_delivery(s, node, target, was));
    if (is && after == AOI_BETWEEN) record_kept(s, node, target);
    record_sight(s, node, target, was, is);
}

/* Whether events of the pair can follow from positions.  large: the caller judges targets with an extent, which have
 * kind 0 for the index; else it judges the others. */
static inline bool is_judged(const aoi_space *s, uint32_t node, uint32_t target, bool large) {
    const aoi_node_record *n = s->world.nodes + node;
    if (aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS)) return false;
    if (large) return aoi_pair_meets(s, node, target);
    if (n->flags & AOI_NODE_OVERRIDES) return aoi_pair_meets(s, node, target) && !aoi_is_large(s, target);
    return (s->world.entities[target].kind & n->mask) && aoi_layers_meet(s, node, target);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* A square without keep, or a circle.  Enters and leaves are not predictable: one branch for both. */
static inline void judge_simple(aoi_space *s, uint32_t node, uint32_t target, const double *w0, const double *t0,
                                const double *w1, const double *t1) {
    const aoi_node_record *n = s->world.nodes + node;
    bool was, is;
    if (n->flags == AOI_NODE_PLAIN) {
        was = aoi_in_box(s->world.dims, w0, t0, n->reach[0]);
        is = aoi_in_box(s->world.dims, w1, t1, n->reach[0]);
    } else {
        double radius = s->world.areas[node].radius;
        was = aoi_in_ball(s->world.dims, w0, t0, radius);
        is = aoi_in_ball(s->world.dims, w1, t1, radius);
    }
    if (was != is) record_event(s, AOI_LEAVE - is, node, target);
}

/* Any other area, or a target with an extent. */
static AOI_NOINLINE void judge_zones(aoi_space *s, uint32_t node, uint32_t target, const double *w0, const double *t0,
                                     const double *w1, const double *t1, bool large) {
    if (is_judged(s, node, target, large))
        judge_pair(s, node, target, aoi_pair_zone(s, node, target, w0, t0), aoi_pair_zone(s, node, target, w1, t1));
}

AOI_INLINE void judge_alone(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                            bool large) {
    const aoi_node_record *n = s->world.nodes + node;
    const double *w = s->world.entities[n->owner].pos, *t = s->world.entities[target].pos;
    bool watches = n->owner == entity;
    const double *w1 = watches ? to : w, *t1 = watches ? t : to;
    if (!large && (n->flags == AOI_NODE_PLAIN || (!n->flags && n->shape == AOI_CIRCLE))) {
        if ((s->world.entities[target].kind & n->mask) && aoi_layers_meet(s, node, target))
            judge_simple(s, node, target, w, t, w1, t1);
    } else judge_zones(s, node, target, w, t, w1, t1, large);
}

/* Both ends move in one batch.  The pair is judged on the later move that changes its zone, by the zones before and
 * after the batch. */
static void judge_both(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to) {
    const aoi_world *w = &s->world;
    uint32_t owner = w->nodes[node].owner, other = owner == entity ? target : owner;
    const aoi_entity_record *o = w->entities + other;
    const double *from = w->entities[entity].pos, *there = aoi_mover_end(w, o->mover);
    bool watches = owner == entity, done = o->mover < w->moved;
    aoi_zone z0 = watches ? aoi_pair_zone(s, node, target, from, o->pos) : aoi_pair_zone(s, node, target, o->pos, from);
    aoi_zone z1 = watches ? aoi_pair_zone(s, node, target, to, o->pos) : aoi_pair_zone(s, node, target, o->pos, to);
    if (z0 == z1) return;
    if (done) { /* `there` is the other's position before the batch */
        z0 = watches ? aoi_pair_zone(s, node, target, from, there) : aoi_pair_zone(s, node, target, there, from);
        judge_pair(s, node, target, z0, z1);
    } else if (z1 ==
               (watches ? aoi_pair_zone(s, node, target, to, there) : aoi_pair_zone(s, node, target, there, to))) {
        judge_pair(s, node, target, z0, z1); /* the later move of the other changes nothing */
    }
}

static bool is_alone(const aoi_space *s, uint32_t entity, uint32_t node, uint32_t target) {
    uint32_t owner = s->world.nodes[node].owner;
    return s->world.entities[owner == entity ? target : owner].mover == AOI_NONE;
}

AOI_INLINE void judge_in_batch(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                               bool large) {
    if (is_alone(s, entity, node, target)) judge_alone(s, entity, node, target, to, large);
    else if (is_judged(s, node, target, large)) judge_both(s, entity, node, target, to);
}

typedef void judge_function(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                            bool large);

AOI_INLINE void judge_candidates(aoi_space *s, uint32_t entity, const double *to, judge_function *judge, bool large) {
    aoi_world *w = &s->world;
    bool keeps = s->kept.count != 0;
    for (uint32_t i = 0; i < w->candidate_count; i++) {
        aoi_candidate c = w->candidates[i];
        if (i + JUDGE_AHEAD < w->candidate_count) {
            AOI_PREFETCH(w->entities + w->candidates[i + JUDGE_AHEAD].target);
            AOI_PREFETCH(w->nodes + w->candidates[i + JUDGE_AHEAD].node);
        }
        if (keeps && i + JUDGE_SOON < w->candidate_count)
            aoi_index_fetch(&s->kept, aoi_pair_table_hash(w->candidates[i + JUDGE_SOON].node,
                                                          w->candidates[i + JUDGE_SOON].target));
        judge(s, entity, c.node, c.target, to, large);
    }
    s->candidates += w->candidate_count;
    w->candidate_count = 0;
}

/* Pairs of nodes of infinite reach, which engines do not have. */
AOI_INLINE void judge_unbounded(aoi_space *s, uint32_t entity, const double *to, judge_function *judge) {
    const aoi_world *w = &s->world;
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = w->nodes[n].home)
        if (w->nodes[n].owner != entity) judge(s, entity, n, entity, to, aoi_is_large(s, entity));
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next)
        for (uint32_t t = 0; t < w->entity_top && !aoi_is_bounded(w->nodes + n); t++)
            if (t != entity && aoi_is_live(w->entities[t].generation)) judge(s, entity, n, t, to, aoi_is_large(s, t));
}

AOI_INLINE void judge_pairs_of_move(aoi_space *s, uint32_t entity, const double *to, judge_function *judge) {
    judge_candidates(s, entity, to, judge, false);
    if (s->unbounded_positional) judge_unbounded(s, entity, to, judge);
    if (!s->larges.count) return;
    aoi_add_large_candidates(s, entity, s->world.entities[entity].pos, to);
    judge_candidates(s, entity, to, judge, true);
    aoi_large_moves(s, entity, to);
}

void aoi_judge_move(aoi_space *s, uint32_t entity, const double *to) {
    judge_pairs_of_move(s, entity, to, judge_alone);
}

void aoi_judge_mover(aoi_space *s, uint32_t entity, const double *to) {
    judge_pairs_of_move(s, entity, to, judge_in_batch);
}

/* ---- after a whole batch ----------------------------------------------------------------------------------------- */

/* The node of an entity that a mutual change concerns. */
static inline uint32_t mutual_node(const aoi_world *w, uint32_t entity, int mutual) {
    uint32_t node = w->entities[entity].nodes;
    while (--mutual > 0) node = w->nodes[node].next;
    return node;
}

static inline uint32_t change_node(const aoi_world *w, const aoi_change *c) {
    return c->mutual ? mutual_node(w, c->node, c->mutual) : c->node;
}

static inline bool has_its_turn_later(const aoi_world *w, uint32_t entity) {
    uint32_t mover = w->entities[entity].mover;
    return mover != AOI_NONE && mover >= w->moved;
}

/* Whether an end that moves after the join changes the zone once more: then its turn judges the pair. */
static inline bool is_judged_later(const aoi_space *s, uint32_t node, uint32_t target, aoi_zone now) {
    const aoi_world *w = &s->world;
    uint32_t owner = w->nodes[node].owner;
    return w->moved < w->mover_count && (has_its_turn_later(w, owner) || has_its_turn_later(w, target)) &&
           aoi_pair_zone(s, node, target, aoi_position_now(s, owner), aoi_position_now(s, target)) != now;
}

static inline void record_zones(aoi_space *s, uint32_t node, uint32_t target, const aoi_change *c) {
    aoi_zone before = (aoi_zone)c->before, after = (aoi_zone)c->after;
    if (is_judged(s, node, target, false) && !is_judged_later(s, node, target, after))
        judge_pair(s, node, target, before, after);
}

void aoi_record_changes(aoi_space *s, const aoi_change *changes, size_t count) {
    const aoi_world *w = &s->world;
    for (size_t i = 0; i < count && !w->failed; i++) {
        const aoi_change *c = changes + i, *ahead = c + (count - i > CHANGE_AHEAD ? CHANGE_AHEAD : 0);
        const aoi_change *soon = c + (count - i > CHANGE_SOON ? CHANGE_SOON : 0);
        AOI_PREFETCH(w->entities + ahead->target);
        if (ahead->mutual) AOI_PREFETCH(w->entities + ahead->node);
        else aoi_prefetch_node(w, ahead->node);
        uint32_t node = change_node(w, soon);
        aoi_prefetch_node(w, node);
        if (soon->mutual) aoi_prefetch_node(w, w->entities[soon->target].nodes);
        else AOI_PREFETCH(w->entities + w->nodes[node].owner);
        record_zones(s, change_node(w, c), c->target, c);
        if (c->mutual) record_zones(s, mutual_node(w, c->target, c->mutual), c->node, c);
    }
}

/* Judges a pair of which at least one end has moved. */
static void judge_moved(aoi_space *s, uint32_t node, uint32_t target, bool large) {
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    aoi_area_record area;
    aoi_shape shape;
    aoi_zone before =
        aoi_zone_grown(w->dims, n->shape, aoi_area_before(w, node, &area, &shape), aoi_position_before(w, n->owner),
                       aoi_position_before(w, target), n->fixed ? 0 : aoi_extent_of(s, target));
    aoi_zone after = aoi_pair_zone(s, node, target, w->entities[n->owner].pos, w->entities[target].pos);
    s->candidates++;
    if (before != after && is_judged(s, node, target, large) && !is_judged_later(s, node, target, after))
        judge_pair(s, node, target, before, after);
}

void aoi_judge_unjoined(aoi_space *s) {
    aoi_world *w = &s->world;
    if (s->larges.count) aoi_add_large_changes(s);
    for (uint32_t i = 0; i < w->candidate_count && !w->failed; i++)
        judge_moved(s, w->candidates[i].node, w->candidates[i].target, true);
    w->candidate_count = 0;
    for (uint32_t n = s->unbounded; n != AOI_NONE && s->unbounded_positional; n = w->nodes[n].home)
        for (uint32_t t = 0; t < w->entity_top; t++)
            if (t != w->nodes[n].owner && aoi_is_live(w->entities[t].generation))
                judge_moved(s, n, t, aoi_is_large(s, t));
}

/* ---- other changes ----------------------------------------------------------------------------------------------- */

/* While there are no movers, `mover` numbers the entities that leave in one call: the first of a pair judges it. */
static inline bool is_judged_already(const aoi_world *w, uint32_t entity, uint32_t other) {
    return !w->mover_count && w->entities[other].mover < w->entities[entity].mover;
}

/* A leave of an id that is not in the space, or about the end of one that the node may not see; `life` distinguishes such
 * events of one node. */
static void record_absent(aoi_space *s, uint32_t node, int64_t id, uint32_t life) {
    if (aoi_queue_ready(&s->world.memory, &s->queue)) append_event(s, AOI_LEAVE, node, AOI_NONE, life, id);
    else s->world.failed = true;
}

void aoi_record_end(aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_entity_record *t = s->world.entities + target;
    record_absent(s, node, t->id, t->generation);
}

/* Records the leaves of pairs with AOI_SHOW of a node or target that is removed, and those that tell the end of it. */
static void judge_shown(aoi_space *s, int which, uint32_t slot, uint32_t entity) {
    const aoi_world *w = &s->world;
    const aoi_override_record *r;
    for (r = aoi_overrides_first(&s->overrides, which, slot); r; r = aoi_overrides_next(&s->overrides, which, r)) {
        uint32_t node = r->end[0], target = r->end[1], owner = w->nodes[node].owner;
        if (w->nodes[node].flags & AOI_NODE_SILENT || is_judged_already(w, entity, owner == entity ? target : owner))
            continue;
        if (aoi_how_of(r) == AOI_SHOW) record_event(s, AOI_LEAVE, node, target);
        if (r->how & AOI_TOLD && entity == target) aoi_record_end(s, node, target);
    }
}

void aoi_judge_target(aoi_space *s, uint32_t entity, const aoi_looks *was, const aoi_looks *is) {
    const aoi_world *w = &s->world;
    double before = was ? was->extent : 0, after = is ? is->extent : 0;
    aoi_find_watchers(s, entity, before > after ? before : after, false, false);
    s->candidates += w->hit_count;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        uint32_t node = w->hits[i];
        const aoi_node_record *n = w->nodes + node;
        int how = aoi_override_of(s, node, entity);
        uint64_t layers = aoi_node_layers_of(s, node);
        bool met = was && aoi_meets(how, was->kind, n->mask) && (was->layers & layers);
        bool meets = is && aoi_meets(how, is->kind, n->mask) && (is->layers & layers);
        bool ends = !is && n->outside; /* a mark may have to go */
        if ((!met && !meets && !ends) || is_judged_already(w, entity, n->owner)) continue;
        const double *at = w->entities[n->owner].pos, *t = w->entities[entity].pos;
        aoi_zone z0 = aoi_zone_grown(w->dims, n->shape, w->areas + node, at, t, n->fixed ? 0 : before), z1 = z0;
        if (after != before && !n->fixed) z1 = aoi_zone_grown(w->dims, n->shape, w->areas + node, at, t, after);
        if (z0 != AOI_OUTSIDE || z1 != AOI_OUTSIDE || n->outside)
            judge_change(s, node, entity, met, z0, was && n->outside, meets, z1, is && n->outside);
    }
    if (!is && aoi_overrides_count(&s->overrides)) judge_shown(s, AOI_OVERRIDE_BY_TARGET, entity, entity);
}

/* The first with no less than x. */
static size_t first_from(const aoi_ranked *r, size_t n, double x) {
    size_t from = 0;
    while (from < n) {
        size_t mid = from + (n - from) / 2;
        if (r[mid].by < x) from = mid + 1;
        else n = mid;
    }
    return from;
}

void aoi_judge_entered(aoi_space *s, const aoi_ranked *entered, size_t count) {
    const aoi_world *w = &s->world;
    for (uint32_t node = 0; node < w->node_top && !w->failed; node++) {
        const aoi_node_record *n = w->nodes + node;
        if (!aoi_is_live(n->generation) || aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS)) continue;
        const double *at = w->entities[n->owner].pos;
        const double *reach = aoi_seen_reach(n->reach, n->outside), last = at[0] + reach[0];
        size_t i = first_from(entered, count, at[0] - reach[0]);
        for (; i < count && entered[i].by <= last; i++) {
            uint32_t target = (uint32_t)entered[i].id;
            const aoi_entity_record *t = w->entities + target;
            if (!(t->kind & n->mask) || !aoi_in_side(at[1], t->pos[1], reach[1]) || !aoi_layers_meet(s, node, target))
                continue;
            aoi_zone z = aoi_pair_zone(s, node, target, at, t->pos);
            s->candidates++;
            if (z != AOI_OUTSIDE || n->outside) judge_change(s, node, target, false, z, false, true, z, n->outside);
        }
    }
}

void aoi_judge_node(aoi_space *s, uint32_t node, const aoi_area_state *was, const aoi_area_state *is) {
    const aoi_world *w = &s->world;
    uint32_t owner = w->nodes[node].owner;
    bool keeps = (was && was->margined) || (is && is->margined);
    if ((w->nodes[node].flags & AOI_NODE_SILENT) && !keeps) return;
    const double *at = w->entities[owner].pos;
    double reach[2];
    for (int i = 0; i < 2; i++) reach[i] = fmax(was ? was->reach[i] : 0, is ? is->reach[i] : 0);
    bool was_outside = was && was->outside, is_outside = is && is->outside;
    aoi_find_targets(s, at, aoi_seen_reach(reach, was_outside | is_outside));
    s->candidates += w->hit_count;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        uint32_t target = w->hits[i];
        int how = aoi_override_of(s, node, target);
        aoi_looks looks = aoi_looks_of(s, target);
        bool met = was && aoi_meets(how, looks.kind, was->mask) && (looks.layers & was->layers);
        bool meets = is && aoi_meets(how, looks.kind, is->mask) && (looks.layers & is->layers);
        bool ends = was_outside && !is_outside;
        if (target == owner || (!met && !meets && !ends) || is_judged_already(w, owner, target)) continue;
        aoi_zone before = met ? aoi_state_zone(s, was, at, target) : AOI_OUTSIDE;
        aoi_zone after = meets ? aoi_state_zone(s, is, at, target) : AOI_OUTSIDE;
        judge_change(s, node, target, met, before, was_outside, meets, after, is_outside);
    }
    if (!is && w->nodes[node].flags & AOI_NODE_OVERRIDES) judge_shown(s, AOI_OVERRIDE_BY_NODE, node, owner);
}

/* The zone of a target for a node with that area at that place, where INSIDE is seen: of an area that is `outside` what is
 * beyond it.  OUTSIDE if kind or layers do not match. */
static aoi_zone zone_when_added(const aoi_space *s, const aoi_area_state *is, const double *at, uint32_t target) {
    aoi_looks looks = aoi_looks_of(s, target);
    if (!(looks.kind & is->mask) || !(looks.layers & is->layers)) return AOI_OUTSIDE;
    aoi_zone z = aoi_state_zone(s, is, at, target);
    return is->outside ? (aoi_zone)(AOI_INSIDE - z) : z;
}

static bool holds_when_added(const aoi_space *s, const aoi_area_state *is, const double *at, uint32_t target) {
    aoi_looks looks = aoi_looks_of(s, target);
    return (looks.kind & is->mask) && (looks.layers & is->layers) && aoi_state_zone(s, is, at, target) == AOI_INSIDE;
}

/* Marks the seen targets in the space, keeps those between two borders, and lists the others: outside, or not in the
 * space, maybe several times.  Returns the length of that list. */
static size_t mark_seen(aoi_space *s, uint32_t node, const aoi_area_state *is, const double *at, const aoi_seen *seen) {
    const aoi_world *w = &s->world;
    size_t gone = 0;
    for (size_t i = 0; i < seen->count; i++) {
        size_t ahead = seen->count - i > SEEN_AHEAD ? i + SEEN_AHEAD : i;
        aoi_index_fetch(&s->ids, aoi_id_hash(&w->hash_key, seen->ids[ahead]));
        uint32_t target = aoi_slot_of_id(s, seen->ids[i]);
        aoi_zone z = AOI_OUTSIDE;
        if (target != AOI_NONE) {
            const uint64_t bit = UINT64_C(1) << target % 64;
            if (target == w->nodes[node].owner || seen->marks[target / 64] & bit) continue;
            seen->marks[target / 64] |= bit;
            if (AOI_WITNESS && !(w->nodes[node].flags & (AOI_NODE_SILENT | AOI_NODE_LAYER)))
                note_reported(s, node, target, true);
            z = zone_when_added(s, is, at, target);
        }
        if (z == AOI_BETWEEN && !is->outside) record_kept(s, node, target);
        else if (z == AOI_OUTSIDE) seen->gone[gone++] = seen->ids[i];
    }
    return gone;
}

void aoi_judge_adopted(aoi_space *s, uint32_t node, const aoi_area_state *is, const aoi_seen *seen) {
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    const double *at = w->entities[n->owner].pos;
    size_t gone = mark_seen(s, node, is, at, seen);
    if (n->flags & AOI_NODE_SILENT && !is->outside) return;
    aoi_find_targets(s, at, aoi_seen_reach(is->reach, is->outside));
    s->candidates += w->hit_count;
    for (uint32_t i = 0; i < w->hit_count; i++) { /* unseen targets that are inside */
        uint32_t target = w->hits[i];
        if (target == n->owner || seen->marks[target / 64] >> target % 64 & 1) continue;
        aoi_zone z = zone_when_added(s, is, at, target);
        if (z == AOI_INSIDE) record_sight(s, node, target, false, true);
        if (z == AOI_INSIDE && is->outside) mark_changed(s, node, target, true);
        if (z == AOI_BETWEEN && is->outside) record_kept(s, node, target); /* it was not seen: the area holds it */
    }
    if (n->flags & AOI_NODE_SILENT) return;
    qsort(seen->gone, gone, sizeof *seen->gone, aoi_by_id);
    for (size_t i = 0; i < gone; i++) {
        if (i && seen->gone[i] == seen->gone[i - 1]) continue;
        uint32_t target = aoi_slot_of_id(s, seen->gone[i]);
        if (target != AOI_NONE && is->outside && holds_when_added(s, is, at, target))
            mark_changed(s, node, target, true);
        if (target != AOI_NONE) record_event(s, AOI_LEAVE, node, target);
        else record_absent(s, node, seen->gone[i], (uint32_t)i);
    }
}

void aoi_judge_override(aoi_space *s, uint32_t node, uint32_t target, int how) {
    const aoi_node_record *n = s->world.nodes + node;
    const aoi_entity_record *t = s->world.entities + target;
    aoi_zone z = aoi_pair_zone(s, node, target, s->world.entities[n->owner].pos, t->pos);
    bool layers = aoi_layers_meet(s, node, target), met = aoi_pair_meets(s, node, target);
    bool kept = aoi_pair_table_has(&s->kept, node, target), was = aoi_node_sees(s, node, target);
    bool held_then = n->outside && held_at_delivery(s, node, target, (met && z == AOI_INSIDE) || kept);
    bool holds = z == AOI_INSIDE;
    if (z == AOI_BETWEEN) holds = n->outside ? held_then : saw_at_delivery(s, node, target, was);
    bool meets = aoi_meets(how, aoi_kind_of(s, target), n->mask) && layers, is = how == AOI_SHOW;
    holds = holds && meets;
    record_change(s, node, target, kept, holds && z == AOI_BETWEEN, was, is || (meets && holds != n->outside));
    if (n->outside) mark_changed(s, node, target, held_then != holds);
}
