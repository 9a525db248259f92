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

enum { PAIRS_AHEAD = 16, PAIRS_SOON = 8 }; /* of a tick, that are prefetched */
enum { SEEN_AHEAD = 8 };                   /* ids whose places in the index of ids are prefetched */
enum { JUDGE_AHEAD = 4, JUDGE_SOON = 2 };  /* candidates whose records, and states, are prefetched */

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* Records the event of a plugin's node, which is not for the queue. */
static AOI_NOINLINE void record_sighting(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    uint32_t name = AOI_NONE;
    if (AOI_GROW(&s->records.memory, s->sightings, s->sighting_cap, s->sighting_count + (size_t)1))
        name = aoi_sighting_name(s, node, target);
    if (name == AOI_NONE) s->records.failed = true;
    else s->sightings[s->sighting_count++] = (aoi_sighting){node, name & INT32_MAX, kind == AOI_ENTER};
}

/* The queue has room. */
static inline void append_event(aoi_space *s, int kind, uint32_t node, uint32_t target, uint32_t life, int64_t id) {
    const aoi_node_record *n = s->records.nodes + node;
    const int64_t watcher = s->records.entities[n->owner].id;
    if (!s->deferred) AOI_PREFETCH(&s->records.areas[node].user_data); /* read when the event is taken */
    aoi_append(s, &s->queue,
               &(aoi_queued){watcher, id, n->node_id, node, target, life, (uint8_t)kind, false, s->because, 0});
}

/* For a queue that is full, or that has events of former calls, one of which may be the opposite. */
static AOI_NOINLINE void record_among(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    aoi_event_queue *q = &s->queue;
    const aoi_entity_record *t = s->records.entities + target;
    if (!aoi_queue_ready(&s->records.memory, q)) s->records.failed = true;
    else if (q->call && aoi_queue_cancel(q, node, target, t->generation)) s->records.nodes[node].pending--;
    else append_event(s, kind, node, target, t->generation, t->id);
}

static inline aoi_hash_index *pairs_with(aoi_space *s, uint32_t target) {
    return AOI_WITNESS && target & AOI_PAIR_REPORTED ? &s->reported : &s->kept;
}

static void record_kept(aoi_space *s, uint32_t node, uint32_t target) {
    aoi_memory *m = &s->records.memory;
    aoi_hash_index *kept = pairs_with(s, target);
    if (!AOI_GROW(m, s->undo, s->undo_cap, s->undo_count + (size_t)1) ||
        !aoi_hash_index_reserve(m, kept, kept->count + (size_t)1)) {
        s->records.failed = true;
        return;
    }
    aoi_pair_table_add(kept, node, target);
    s->undo[s->undo_count++] = (aoi_pair_undo){node, target, true};
}

/* Removes a pair from the kept ones; returns whether it was one. */
static bool release_kept(aoi_space *s, uint32_t node, uint32_t target) {
    if (!AOI_GROW(&s->records.memory, s->undo, s->undo_cap, s->undo_count + (size_t)1)) s->records.failed = true;
    else if (aoi_pair_table_remove(pairs_with(s, target), node, target)) {
        s->undo[s->undo_count++] = (aoi_pair_undo){node, target, false};
        return true;
    }
    return false;
}

/* Events of a pair alternate. */
static AOI_NOINLINE void note_reported(aoi_space *s, uint32_t node, uint32_t target, bool seen) {
    assert(s->records.failed || aoi_pair_table_has(&s->reported, node, target | AOI_PAIR_REPORTED) != seen);
    if (seen) record_kept(s, node, target | AOI_PAIR_REPORTED);
    else (void)release_kept(s, node, target | AOI_PAIR_REPORTED);
}

static inline void record_event(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    const aoi_event_queue *q = &s->queue;
    const aoi_entity_record *t = s->records.entities + target;
    if (s->records.nodes[node].flags & AOI_NODE_PLUGIN) {
        record_sighting(s, kind, node, target);
        return;
    }
    if (AOI_WITNESS) note_reported(s, node, target, kind == AOI_ENTER);
    if (q->call || q->top == q->cap) record_among(s, kind, node, target);
    else append_event(s, kind, node, target, t->generation, t->id);
}

void aoi_rollback_to(aoi_space *s, aoi_mark mark) {
    const aoi_queued *e;
    while ((e = aoi_queue_take_back(&s->queue, mark.top)) != NULL) s->records.nodes[e->node].pending--;
    while ((e = aoi_queue_restore(&s->queue, mark.queue_undo)) != NULL) s->records.nodes[e->node].pending++;
    while (s->undo_count > mark.undo) {
        const aoi_pair_undo *u = s->undo + --s->undo_count;
        aoi_hash_index *kept = pairs_with(s, u->target);
        if (u->added) (void)aoi_pair_table_remove(kept, u->node, u->target);
        else aoi_pair_table_add(kept, u->node, u->target); /* its slot was freed by the removal */
    }
    s->sighting_count = mark.sightings;
    s->records.candidate_count = 0;
    s->records.failed = false;
}

void aoi_rollback(aoi_space *s) {
    aoi_rollback_to(s, (aoi_mark){s->queue.call, 0, 0, s->sighting_call});
}

void aoi_tidy(aoi_space *s) {
    if (!s->records.untidy) return;
    s->records.untidy = false;
    aoi_broad_tidy(&s->index);
}

void aoi_commit(aoi_space *s) {
    assert(!s->records.failed && !s->records.candidate_count);
    aoi_queue_commit(&s->records.memory, &s->queue);
    aoi_tidy(s);
    if (s->undo_count) aoi_hash_index_shrink(&s->records.memory, &s->kept);
    if (!s->records.entity_count) aoi_release_storage(s);
}

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

/* Whether the node saw the target at the last delivery; `was`: whether it sees it now. */
static bool saw_at_delivery(aoi_space *s, uint32_t node, uint32_t target, bool was) {
    if (s->records.nodes[node].flags & AOI_NODE_PLUGIN) {
        const aoi_plugin_node *n = aoi_plugin_node_from(s->records.areas[node].user_data);
        return n->plugin->class->saw(n, target);
    }
    if (!s->deferred || !s->queue.call) return was;
    int kind = aoi_queue_waiting(&s->records.memory, &s->queue, node, target, s->records.entities[target].generation);
    if (kind < 0) s->records.failed = true;
    return kind == AOI_LEAVE || (kind != AOI_ENTER && was);
}

/* Whether the area of a node that is `outside` held the target at the last delivery; `held`: whether it does now. */
static bool held_at_delivery(const aoi_space *s, uint32_t node, uint32_t target, bool held) {
    return held != aoi_pair_table_has(&s->kept, node, target | AOI_PAIR_CHANGED);
}

static void mark_changed(aoi_space *s, uint32_t node, uint32_t target, bool changed) {
    if (!s->deferred || aoi_pair_table_has(&s->kept, node, target | AOI_PAIR_CHANGED) == changed) return;
    if (!changed) (void)release_kept(s, node, target | AOI_PAIR_CHANGED);
    else if (!AOI_GROW(&s->records.memory, s->changed, s->changed_cap, s->changed_count + (size_t)1))
        s->records.failed = true;
    else {
        record_kept(s, node, target | AOI_PAIR_CHANGED);
        s->changed[s->changed_count++] = (aoi_candidate){node, target};
    }
}

void aoi_forget_changed(aoi_space *s) {
    for (uint32_t i = 0; i < s->changed_count; i++)
        (void)aoi_pair_table_remove(&s->kept, s->changed[i].node, s->changed[i].target | AOI_PAIR_CHANGED);
    s->changed_count = 0;
    if (s->changed_cap > AOI_QUEUE_KEEPS) AOI_CLEAR(&s->records.memory, s->changed, s->changed_cap);
}

static inline void record_sight(aoi_space *s, uint32_t node, uint32_t target, bool was, bool is) {
    if (was != is && !(s->records.nodes[node].flags & AOI_NODE_SILENT))
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
    if (s->records.nodes[node].outside) {
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
    const aoi_node_record *n = s->records.nodes + node;
    if (aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS)) return false;
    if (large) return aoi_pair_meets(s, node, target);
    if (n->flags & AOI_NODE_OVERRIDES) return aoi_pair_meets(s, node, target) && !aoi_is_large(s, target);
    return (s->records.entities[target].kind & n->mask) && aoi_layers_meet(s, node, target);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* A square without keep, or a circle.  Enters and leaves are not predictable: one branch for both. */
static inline void judge_simple(aoi_space *s, uint32_t node, uint32_t target, const double *w0, const double *t0,
                                const double *w1, const double *t1) {
    const aoi_node_record *n = s->records.nodes + node;
    bool was, is;
    if (n->flags == AOI_NODE_PLAIN) {
        was = aoi_in_box(s->records.dims, w0, t0, n->reach[0]);
        is = aoi_in_box(s->records.dims, w1, t1, n->reach[0]);
    } else {
        double radius = s->records.areas[node].radius;
        was = aoi_in_ball(s->records.dims, w0, t0, radius);
        is = aoi_in_ball(s->records.dims, w1, t1, radius);
    }
    if (was != is) record_event(s, AOI_LEAVE - is, node, target);
}

/* Any other area, or a target with an extent. */
static AOI_NOINLINE void judge_zones(aoi_space *s, uint32_t node, uint32_t target, const double *w0, const double *t0,
                                     const double *w1, const double *t1, bool large) {
    const int dims = s->records.dims, shape = s->records.nodes[node].shape;
    const aoi_area_record *a = s->records.areas + node;
    if (!is_judged(s, node, target, large)) return;
    if (large)
        judge_pair(s, node, target, aoi_pair_zone(s, node, target, w0, t0), aoi_pair_zone(s, node, target, w1, t1));
    else judge_pair(s, node, target, aoi_zone_of(dims, shape, a, w0, t0), aoi_zone_of(dims, shape, a, w1, t1));
}

AOI_INLINE void judge_alone(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                            bool large) {
    const aoi_node_record *n = s->records.nodes + node;
    const double *w = s->records.entities[n->owner].pos, *t = s->records.entities[target].pos;
    bool watches = n->owner == entity;
    const double *w1 = watches ? to : w, *t1 = watches ? t : to;
    if (!large && (n->flags == AOI_NODE_PLAIN || (!n->flags && n->shape == AOI_CIRCLE))) {
        if ((s->records.entities[target].kind & n->mask) && aoi_layers_meet(s, node, target))
            judge_simple(s, node, target, w, t, w1, t1);
    } else judge_zones(s, node, target, w, t, w1, t1, large);
}

/* Both ends move in one batch.  The pair is judged on the later move that changes its zone, by the zones before and
 * after the batch. */
static void judge_both(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to) {
    const aoi_records *r = &s->records;
    uint32_t owner = r->nodes[node].owner, other = owner == entity ? target : owner;
    const aoi_entity_record *o = r->entities + other;
    const double *from = r->entities[entity].pos, *there = aoi_mover_end(r, o->mover);
    bool watches = owner == entity, done = o->mover < r->moved;
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
    uint32_t owner = s->records.nodes[node].owner;
    return s->records.entities[owner == entity ? target : owner].mover == AOI_NONE;
}

AOI_INLINE void judge_in_batch(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                               bool large) {
    if (is_alone(s, entity, node, target)) judge_alone(s, entity, node, target, to, large);
    else if (is_judged(s, node, target, large)) judge_both(s, entity, node, target, to);
}

typedef void judge_function(aoi_space *s, uint32_t entity, uint32_t node, uint32_t target, const double *to,
                            bool large);

AOI_INLINE void judge_candidates(aoi_space *s, uint32_t entity, const double *to, judge_function *judge, bool large) {
    aoi_records *r = &s->records;
    bool keeps = s->kept.count != 0;
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        aoi_candidate c = r->candidates[i];
        if (i + JUDGE_AHEAD < r->candidate_count) {
            AOI_PREFETCH(r->entities + r->candidates[i + JUDGE_AHEAD].target);
            AOI_PREFETCH(r->nodes + r->candidates[i + JUDGE_AHEAD].node);
        }
        if (keeps && i + JUDGE_SOON < r->candidate_count)
            aoi_hash_index_fetch(&s->kept, aoi_pair_table_hash(r->candidates[i + JUDGE_SOON].node,
                                                               r->candidates[i + JUDGE_SOON].target));
        judge(s, entity, c.node, c.target, to, large);
    }
    s->candidates += r->candidate_count;
    r->candidate_count = 0;
}

/* Pairs of nodes of infinite reach, which engines do not have. */
AOI_INLINE void judge_unbounded(aoi_space *s, uint32_t entity, const double *to, judge_function *judge) {
    const aoi_records *r = &s->records;
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = r->nodes[n].home)
        if (r->nodes[n].owner != entity) judge(s, entity, n, entity, to, aoi_is_large(s, entity));
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        for (uint32_t t = 0; t < r->entity_top && !aoi_is_bounded(r->nodes + n); t++)
            if (t != entity && aoi_is_live(r->entities[t].generation)) judge(s, entity, n, t, to, aoi_is_large(s, t));
}

AOI_INLINE void judge_pairs_of_move(aoi_space *s, uint32_t entity, const double *to, judge_function *judge) {
    judge_candidates(s, entity, to, judge, false);
    if (s->unbounded_positional) judge_unbounded(s, entity, to, judge);
    if (!s->larges.count) return;
    aoi_add_large_candidates(s, entity, s->records.entities[entity].pos, to);
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

static inline bool has_its_turn_later(const aoi_records *r, uint32_t entity) {
    uint32_t mover = r->entities[entity].mover;
    return mover != AOI_NONE && mover >= r->moved;
}

/* Whether an end that moves after the join changes the zone once more: then its turn judges the pair. */
static inline bool is_judged_later(const aoi_space *s, uint32_t node, uint32_t target, aoi_zone now) {
    const aoi_records *r = &s->records;
    uint32_t owner = r->nodes[node].owner;
    return r->moved < r->mover_count && (has_its_turn_later(r, owner) || has_its_turn_later(r, target)) &&
           aoi_pair_zone(s, node, target, aoi_position_now(s, owner), aoi_position_now(s, target)) != now;
}

/* Judges a pair of which at least one end has moved. */
AOI_INLINE void judge_moved(aoi_space *s, uint32_t node, uint32_t target, bool large) {
    const aoi_records *r = &s->records;
    const aoi_node_record *n = r->nodes + node;
    const double *w0 = aoi_position_before(r, n->owner), *t0 = aoi_position_before(r, target);
    const double *w1 = r->entities[n->owner].pos, *t1 = r->entities[target].pos;
    const double extent = large && !n->fixed ? aoi_extent_of(s, target) : 0;
    aoi_zone before = AOI_OUTSIDE, after = AOI_OUTSIDE;
    if (!is_judged(s, node, target, large)) return;
    if (aoi_is_plain_shape(n->shape, n->flags & AOI_NODE_KEEPS) && extent == 0) {
        if (aoi_in_plain_box(r, node, w0, t0)) before = AOI_INSIDE;
        if (aoi_in_plain_box(r, node, w1, t1)) after = AOI_INSIDE;
    } else {
        aoi_area_record area;
        aoi_shape shape;
        before = aoi_zone_grown(r->dims, n->shape, aoi_area_before(r, node, &area, &shape), w0, t0, extent);
        after = aoi_zone_grown(r->dims, n->shape, r->areas + node, w1, t1, extent);
    }
    if (before != after && !is_judged_later(s, node, target, after)) judge_pair(s, node, target, before, after);
}

void aoi_judge_joined(aoi_space *s) {
    aoi_records *r = &s->records;
    for (uint32_t i = 0; i < r->candidate_count && !r->failed; i++) {
        const aoi_candidate *c = r->candidates + i,
                            *ahead = c + (r->candidate_count - i > PAIRS_AHEAD ? PAIRS_AHEAD : 0);
        const aoi_candidate *soon = c + (r->candidate_count - i > PAIRS_SOON ? PAIRS_SOON : 0);
        AOI_PREFETCH(r->entities + ahead->target);
        aoi_prefetch_node(r, ahead->node);
        AOI_PREFETCH(r->entities + r->nodes[soon->node].owner);
        judge_moved(s, c->node, c->target, false);
    }
    s->candidates += r->candidate_count;
    r->candidate_count = 0;
}

void aoi_judge_unjoined(aoi_space *s) {
    aoi_records *r = &s->records;
    if (s->larges.count) aoi_add_large_changes(s);
    for (uint32_t i = 0; i < r->candidate_count && !r->failed; i++)
        judge_moved(s, r->candidates[i].node, r->candidates[i].target, true);
    s->candidates += r->candidate_count;
    r->candidate_count = 0;
    for (uint32_t n = s->unbounded; n != AOI_NONE && s->unbounded_positional; n = r->nodes[n].home)
        for (uint32_t t = 0; t < r->entity_top; t++)
            if (t != r->nodes[n].owner && aoi_is_live(r->entities[t].generation)) {
                judge_moved(s, n, t, aoi_is_large(s, t));
                s->candidates++;
            }
}

/* ---- other changes ----------------------------------------------------------------------------------------------- */

/* While there are no movers, `mover` numbers the entities that leave in one call: the first of a pair judges it. */
static inline bool is_judged_already(const aoi_records *r, uint32_t entity, uint32_t other) {
    return !r->mover_count && r->entities[other].mover < r->entities[entity].mover;
}

/* The layers of an entity after the call. */
static inline uint64_t layers_then(const aoi_space *s, uint32_t entity, uint64_t layers) {
    return s->relayered && s->records.entities[entity].mover != AOI_NONE ? *s->relayered : layers;
}

/* A leave of an id that is not in the space, or about the end of one that the node may not see; `life` distinguishes such
 * events of one node. */
static void record_absent(aoi_space *s, uint32_t node, int64_t id, uint32_t life) {
    if (aoi_queue_ready(&s->records.memory, &s->queue)) append_event(s, AOI_LEAVE, node, AOI_NONE, life, id);
    else s->records.failed = true;
}

void aoi_record_end(aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_entity_record *t = s->records.entities + target;
    record_absent(s, node, t->id, t->generation);
}

/* Records the leaves of pairs with AOI_SHOW of a node or target that is removed, and those that tell the end of it. */
static void judge_shown(aoi_space *s, int which, uint32_t slot, uint32_t entity) {
    const aoi_records *w = &s->records;
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
    const aoi_records *r = &s->records;
    double before = was ? was->extent : 0, after = is ? is->extent : 0;
    aoi_find_watchers(s, entity, before > after ? before : after, false, false);
    s->candidates += r->hit_count;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        uint32_t node = r->hits[i];
        const aoi_node_record *n = r->nodes + node;
        int how = aoi_override_of(s, node, entity);
        uint64_t layers = aoi_node_layers_of(s, node), then = layers;
        if (!(n->flags & AOI_NODE_LAYERED)) then = layers_then(s, n->owner, layers);
        bool met = was && aoi_meets(how, was->kind, n->mask) && (was->layers & layers);
        bool meets = is && aoi_meets(how, is->kind, n->mask) && (is->layers & then);
        bool ends = !is && n->outside; /* a mark may have to go */
        if ((!met && !meets && !ends) || is_judged_already(r, entity, n->owner)) continue;
        const double *at = r->entities[n->owner].pos, *t = r->entities[entity].pos;
        aoi_zone z0 = aoi_zone_grown(r->dims, n->shape, r->areas + node, at, t, n->fixed ? 0 : before), z1 = z0;
        if (after != before && !n->fixed) z1 = aoi_zone_grown(r->dims, n->shape, r->areas + node, at, t, after);
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
    const aoi_records *r = &s->records;
    for (uint32_t node = 0; node < r->node_top && !r->failed; node++) {
        const aoi_node_record *n = r->nodes + node;
        if (!aoi_is_live(n->generation) || aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS)) continue;
        const double *at = r->entities[n->owner].pos;
        const double *reach = aoi_seen_reach(n->reach, n->outside), last = at[0] + reach[0];
        size_t i = first_from(entered, count, at[0] - reach[0]);
        for (; i < count && entered[i].by <= last; i++) {
            uint32_t target = (uint32_t)entered[i].id;
            const aoi_entity_record *t = r->entities + target;
            if (!(t->kind & n->mask) || !aoi_in_side(at[1], t->pos[1], reach[1]) || !aoi_layers_meet(s, node, target))
                continue;
            aoi_zone z = aoi_pair_zone(s, node, target, at, t->pos);
            s->candidates++;
            if (z != AOI_OUTSIDE || n->outside) judge_change(s, node, target, false, z, false, true, z, n->outside);
        }
    }
}

void aoi_judge_node(aoi_space *s, uint32_t node, const aoi_area_state *was, const aoi_area_state *is) {
    const aoi_records *r = &s->records;
    uint32_t owner = r->nodes[node].owner;
    bool keeps = (was && was->margined) || (is && is->margined);
    if ((r->nodes[node].flags & AOI_NODE_SILENT) && !keeps) return;
    const double *at = r->entities[owner].pos;
    bool was_outside = was && was->outside, is_outside = is && is->outside;
    aoi_turn turn;
    const bool turns = aoi_find_changed(s, was, is, at, &turn);
    s->candidates += r->hit_count;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        uint32_t target = r->hits[i];
        if (target == owner) continue;
        if (turns ? aoi_turn_keeps(&turn, at, r->entities[target].pos)
                  : !s->relayered && aoi_stays(s, was, is, at, target))
            continue;
        int how = aoi_override_of(s, node, target);
        aoi_looks looks = aoi_looks_of(s, target);
        bool met = was && aoi_meets(how, looks.kind, was->mask) && (looks.layers & was->layers);
        bool meets = is && aoi_meets(how, looks.kind, is->mask) && (layers_then(s, target, looks.layers) & is->layers);
        if ((!met && !meets && was_outside <= is_outside) || is_judged_already(r, owner, target)) continue;
        aoi_zone before = met ? aoi_state_zone(s, was, at, target) : AOI_OUTSIDE;
        aoi_zone after = meets ? aoi_state_zone(s, is, at, target) : AOI_OUTSIDE;
        judge_change(s, node, target, met, before, was_outside, meets, after, is_outside);
    }
    if (!is && r->nodes[node].flags & AOI_NODE_OVERRIDES) judge_shown(s, AOI_OVERRIDE_BY_NODE, node, owner);
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
    const aoi_records *r = &s->records;
    size_t gone = 0;
    for (size_t i = 0; i < seen->count; i++) {
        size_t ahead = seen->count - i > SEEN_AHEAD ? i + SEEN_AHEAD : i;
        aoi_hash_index_fetch(&s->ids, aoi_id_hash(&r->hash_key, seen->ids[ahead]));
        uint32_t target = aoi_slot_of_id(s, seen->ids[i]);
        aoi_zone z = AOI_OUTSIDE;
        if (target != AOI_NONE) {
            const uint64_t bit = UINT64_C(1) << target % 64;
            if (target == r->nodes[node].owner || seen->marks[target / 64] & bit) continue;
            seen->marks[target / 64] |= bit;
            if (AOI_WITNESS && !(r->nodes[node].flags & (AOI_NODE_SILENT | AOI_NODE_PLUGIN)))
                note_reported(s, node, target, true);
            z = zone_when_added(s, is, at, target);
        }
        if (z == AOI_BETWEEN && !is->outside) record_kept(s, node, target);
        else if (z == AOI_OUTSIDE) seen->gone[gone++] = seen->ids[i];
    }
    return gone;
}

void aoi_judge_adopted(aoi_space *s, uint32_t node, const aoi_area_state *is, const aoi_seen *seen) {
    const aoi_records *r = &s->records;
    const aoi_node_record *n = r->nodes + node;
    const double *at = r->entities[n->owner].pos;
    size_t gone = mark_seen(s, node, is, at, seen);
    if (n->flags & AOI_NODE_SILENT && !is->outside) return;
    aoi_find_targets(s, at, aoi_seen_reach(is->reach, is->outside));
    s->candidates += r->hit_count;
    for (uint32_t i = 0; i < r->hit_count; i++) { /* unseen targets that are inside */
        uint32_t target = r->hits[i];
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
    const aoi_node_record *n = s->records.nodes + node;
    const aoi_entity_record *t = s->records.entities + target;
    aoi_zone z = aoi_pair_zone(s, node, target, s->records.entities[n->owner].pos, t->pos);
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
