/* visibility.c - the truth about who sees whom, before and after a change.
 *
 *   engine proposes (node, target)  ->  the rule, asked for before and after  ->  log  ->  pairs' states and the queue
 *
 * Plain square nodes have no memory: what they saw follows from where everybody was.  Only nodes that keep, and round
 * ones, have a state for each pair; those are asked at every move, the engine only tells who comes within reach. */
#include <string.h>

#include "core/rule.h"
#include "core/space.h"

void aoi_log_add(aoi_space *s, uint32_t node, uint32_t target, int event, int pair) {
    if (!event && pair == AOI_PAIR_SAME) return;
    if (!AOI_GROW(&s->world.memory, s->log.items, s->log.cap, s->log.count + (size_t)1)) {
        s->failed = true;
        return;
    }
    s->log.items[s->log.count++] =
        (aoi_change){.node = node, .target = target, .event = (uint8_t)event, .pair = (uint8_t)pair};
    s->log.added += pair == AOI_PAIR_ADD || pair == AOI_PAIR_ADD_SEEN;
}

static inline int event_of(bool was, bool is) {
    return was == is ? 0 : is ? AOI_ENTER : AOI_LEAVE;
}

static inline void put_event(aoi_space *s, aoi_waiting *e) {
    aoi_node_record *n = s->world.nodes + e->node;
    n->pending++;
    e->watcher = s->world.entities[n->owner].id;
    e->target = s->world.entities[e->entity].id;
    e->node_id = n->node_id;
}

/* ---- gathering ------------------------------------------------------------------------------------------------- */

/* A pair with a state: what becomes of it when the watcher is at w and the target, of this kind, at t. */
static void ask_pair(aoi_space *s, const aoi_pair *p, const double *w, const double *t, uint64_t kind) {
    aoi_area a = aoi_node_area(s, p->end[AOI_BY_NODE]);
    double reach = s->world.nodes[p->end[AOI_BY_NODE]].reach;
    bool is = aoi_rule(s->world.dims, &a, w, t, kind, p->seen);
    bool stays = is || ((kind & a.mask) && aoi_in_box(s->world.dims, w, t, reach));
    aoi_log_add(s, p->end[AOI_BY_NODE], p->end[AOI_BY_TARGET], event_of(p->seen, is),
                stays ? AOI_PAIR_SAME : AOI_PAIR_DROP);
}

/* The same for a pair that has no state yet: it was not seen, and was out of reach.  Within a batch it only gets its
 * state; what a node sees is judged once, where the batch has ended. */
static void ask_stranger(aoi_space *s, uint32_t node, uint32_t target, const double *w, const double *t,
                         uint64_t kind) {
    aoi_area a = aoi_node_area(s, node);
    if (!(kind & a.mask)) return;
    bool is = !s->mover.in_batch && aoi_rule(s->world.dims, &a, w, t, kind, false);
    if (is || aoi_in_box(s->world.dims, w, t, s->world.nodes[node].reach))
        aoi_log_add(s, node, target, event_of(false, is), is ? AOI_PAIR_ADD_SEEN : AOI_PAIR_ADD);
}

static void put_directly(aoi_space *s, int kind, uint32_t node, uint32_t target) {
    aoi_queue *q = &s->queue;
    if (!AOI_GROW(&s->world.memory, q->events, q->cap, q->top + (size_t)1)) s->failed = true;
    else put_event(s, aoi_queue_add(q, kind, node, target, s->world.entities[target].generation));
}

/* Within a batch a pair may change twice, as first one and then the other moves, and then it has not changed at all.
 * Where the other is in the end, or has been at first, tells; of the two moves one remains that makes the difference. */
static inline bool is_net(const aoi_space *s, uint32_t other, bool watches, const double *from, const double *to,
                          double reach, bool was, bool is) {
    const aoi_entity_record *e = s->world.entities + other;
    uint32_t row = e->row;
    if (!s->mover.rows || row >= s->mover.row_count) return true;
    bool later = row > s->mover.row, moves = later ? s->mover.rows[row].id == e->id : s->steps[row].entity == other;
    if (!moves) return true;
    const double *me = later ? to : from, *there = later ? s->mover.rows[row].pos : s->steps[row].from;
    bool sees = watches ? aoi_in_box(s->world.dims, me, there, reach) : aoi_in_box(s->world.dims, there, me, reach);
    return sees == (later ? is : was);
}

/* A node and a target of this kind, one of which moves: the watcher is at w0, then at w, the target at t0, then at t. */
static inline void ask(aoi_space *s, uint32_t node, uint32_t target, uint64_t kind, const double *w0, const double *w,
                       const double *t0, const double *t) {
    const aoi_node_record *n = s->world.nodes + node;
    s->candidates++;
    if (!(kind & n->mask)) return;
    if (n->by_pair) {
        if (aoi_pairs_find(&s->pairs, node, target) == AOI_NONE) ask_stranger(s, node, target, w, t, kind);
        return;
    }
    if (n->silent) return;
    bool was = aoi_in_box(s->world.dims, w0, t0, n->reach), is = aoi_in_box(s->world.dims, w, t, n->reach);
    if (was == is) return;
    if (s->mover.in_batch) {
        bool watches = n->owner == s->mover.entity;
        if (!is_net(s, watches ? target : n->owner, watches, watches ? w0 : t0, watches ? w : t, n->reach, was, is))
            return;
    }
    if (s->direct) put_directly(s, event_of(was, is), node, target);
    else aoi_log_add(s, node, target, event_of(was, is), AOI_PAIR_SAME);
}

void aoi_propose(aoi_world *world, uint32_t node, uint32_t target) {
    aoi_space *s = (aoi_space *)world;
    uint32_t owner = world->nodes[node].owner;
    const double *w = world->entities[owner].pos, *t = world->entities[target].pos, *to = s->mover.to;
    uint64_t kind = world->entities[target].kind;
    if (owner == s->mover.entity) ask(s, node, target, kind, w, to, t, t);
    else ask(s, node, target, kind, w, w, t, to);
}

/* The nodes of this level of two entities, which go from a0 to a1 and from b0 to b1, each with the other as the target. */
static inline void ask_both(aoi_space *s, uint32_t level, uint32_t a, const double *a0, const double *a1, uint32_t b,
                            const double *b0, const double *b1) {
    const aoi_world *w = &s->world;
    const aoi_entity_record *e = w->entities + a, *f = w->entities + b;
    for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (w->nodes[n].level == level) ask(s, n, b, f->kind, a0, a1, b0, b1);
    for (uint32_t n = f->nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (w->nodes[n].level == level) ask(s, n, a, e->kind, b0, b1, a0, a1);
}

enum { AHEAD = 4 }; /* of what will be judged, to have its memory asked for */

void aoi_propose_each_other(aoi_world *world, uint32_t level, uint32_t mover, const uint32_t *others, size_t count) {
    aoi_space *s = (aoi_space *)world;
    const double *from = world->entities[mover].pos, *to = s->mover.to;
    for (size_t i = 0; i < count; i++) {
        const double *at = world->entities[others[i]].pos;
        if (i + AHEAD < count) AOI_PREFETCH(world->nodes + world->entities[others[i + AHEAD]].nodes);
        if (others[i] != mover) ask_both(s, level, mover, from, to, others[i], at, at);
    }
}

/* Where it was before the batch that has moved it; where it is, if none has. */
static inline const double *before(const aoi_space *s, uint32_t entity) {
    const aoi_entity_record *e = s->world.entities + entity;
    bool moved = e->row < s->mover.row_count && s->steps[e->row].entity == entity;
    return moved ? s->steps[e->row].from : e->pos;
}

void aoi_positions_before(const aoi_world *world, const uint32_t *entities, size_t count, double (*was_at)[2]) {
    const aoi_space *s = (const aoi_space *)world;
    for (size_t i = 0; i < count; i++) AOI_PREFETCH(world->entities + entities[i]);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = world->entities[entities[i]].row;
        AOI_PREFETCH(s->steps + (row < s->mover.row_count ? row : 0));
    }
    for (size_t i = 0; i < count; i++) memcpy(was_at[i], before(s, entities[i]), sizeof *was_at);
}

void aoi_propose_moved(aoi_world *world, uint32_t level, const aoi_couple *couples, size_t count) {
    aoi_space *s = (aoi_space *)world;
    for (size_t i = 0; i < count; i++) AOI_PREFETCH(world->entities + couples[i].b);
    for (size_t i = 0; i < count; i++) {
        uint32_t a = couples[i].a, b = couples[i].b;
        ask_both(s, level, a, before(s, a), world->entities[a].pos, b, before(s, b), world->entities[b].pos);
    }
}

void aoi_found(aoi_world *world, uint32_t slot) {
    aoi_space *s = (aoi_space *)world;
    if (AOI_GROW(&world->memory, s->found.items, s->found.cap, s->found.count + (size_t)1))
        s->found.items[s->found.count++] = slot;
    else s->failed = true;
}

/* What becomes of the entity's pairs that have a state, when it is at `to`. */
static void ask_pairs(aoi_space *s, uint32_t entity, const double *to) {
    const aoi_entity_record *e = s->world.entities + entity;
    for (uint32_t i = e->watched; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_TARGET]) {
        const aoi_node_record *n = s->world.nodes + s->pairs.pairs[i].end[AOI_BY_NODE];
        ask_pair(s, s->pairs.pairs + i, s->world.entities[n->owner].pos, to, e->kind);
    }
    for (uint32_t k = e->nodes; k != AOI_NONE; k = s->world.nodes[k].next) {
        const aoi_node_record *n = s->world.nodes + k;
        for (uint32_t i = n->targets; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_NODE]) {
            const aoi_entity_record *t = s->world.entities + s->pairs.pairs[i].end[AOI_BY_TARGET];
            ask_pair(s, s->pairs.pairs + i, to, t->pos, t->kind);
        }
    }
}

void aoi_gather_move(aoi_space *s, uint32_t entity, const double *from, const double *to) {
    s->mover.entity = entity;
    s->mover.to = to;
    if (!s->mover.in_batch && s->pairs.index.count) ask_pairs(s, entity, to);
    s->engine->class->propose(s->engine, entity, from, to);
}

void aoi_gather_settled(aoi_space *s, uint32_t entity) {
    ask_pairs(s, entity, s->world.entities[entity].pos);
}

void aoi_gather_target(aoi_space *s, uint32_t entity, const uint64_t *was, const uint64_t *is) {
    const aoi_entity_record *e = s->world.entities + entity;
    uint64_t kind = is ? *is : 0;
    for (uint32_t i = e->watched; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_TARGET]) {
        const aoi_node_record *n = s->world.nodes + s->pairs.pairs[i].end[AOI_BY_NODE];
        ask_pair(s, s->pairs.pairs + i, s->world.entities[n->owner].pos, e->pos, kind);
    }
    aoi_find_watchers(s, entity);
    s->candidates += s->found.count;
    for (uint32_t k = 0; k < s->found.count; k++) {
        uint32_t node = s->found.items[k];
        const aoi_node_record *n = s->world.nodes + node;
        const double *w = s->world.entities[n->owner].pos;
        if (n->by_pair) {
            if (aoi_pairs_find(&s->pairs, node, entity) == AOI_NONE) ask_stranger(s, node, entity, w, e->pos, kind);
        } else if (!n->silent) {
            aoi_area a = aoi_node_area(s, node);
            bool saw = was && aoi_rule(s->world.dims, &a, w, e->pos, *was, false);
            bool sees = is && aoi_rule(s->world.dims, &a, w, e->pos, *is, false);
            aoi_log_add(s, node, entity, event_of(saw, sees), AOI_PAIR_SAME);
        }
    }
}

void aoi_gather_node(aoi_space *s, uint32_t node, const aoi_area *was, const aoi_area *is) {
    const aoi_node_record *n = s->world.nodes + node;
    const double *w = s->world.entities[n->owner].pos;
    int dims = s->world.dims;
    bool had = was && aoi_needs_pairs(was), has = is && aoi_needs_pairs(is);
    double reach = is ? aoi_reach(is) : 0;
    for (uint32_t i = n->targets; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_NODE]) {
        const aoi_pair *p = s->pairs.pairs + i;
        const aoi_entity_record *t = s->world.entities + p->end[AOI_BY_TARGET];
        bool sees = is && aoi_rule(dims, is, w, t->pos, t->kind, p->seen);
        bool stays = has && (sees || ((t->kind & is->mask) && aoi_in_box(dims, w, t->pos, reach)));
        aoi_log_add(s, node, p->end[AOI_BY_TARGET], event_of(p->seen, sees), stays ? AOI_PAIR_SAME : AOI_PAIR_DROP);
    }
    if (!had && !has && n->silent) return;
    if (had && !is) return; /* all that it saw were pairs */
    aoi_find_targets(s, w, fmax(was && !had ? aoi_reach(was) : 0, reach));
    s->candidates += s->found.count;
    for (uint32_t k = 0; k < s->found.count; k++) {
        uint32_t target = s->found.items[k];
        const aoi_entity_record *t = s->world.entities + target;
        if (target == n->owner || (had && aoi_pairs_find(&s->pairs, node, target) != AOI_NONE)) continue;
        bool saw = was && !had && aoi_rule(dims, was, w, t->pos, t->kind, false);
        bool sees = is && aoi_rule(dims, is, w, t->pos, t->kind, saw);
        bool near = has && (t->kind & is->mask) && aoi_in_box(dims, w, t->pos, reach);
        int pair = has && sees ? AOI_PAIR_ADD_SEEN : near ? AOI_PAIR_ADD : AOI_PAIR_SAME;
        aoi_log_add(s, node, target, event_of(saw, sees), pair);
    }
}

/* ---- applying -------------------------------------------------------------------------------------------------- */

static bool is_added(const aoi_change *c) {
    return c->pair == AOI_PAIR_ADD || c->pair == AOI_PAIR_ADD_SEEN;
}

bool aoi_log_pairs_ready(aoi_space *s, uint32_t since) {
    if (!s->failed && aoi_pairs_reserve(&s->world.memory, &s->pairs, s->log.added)) return true;
    aoi_log_drop(s, since);
    return false;
}

void aoi_log_drop(aoi_space *s, uint32_t since) {
    s->failed = false;
    s->log.count = since;
    s->log.added = 0;
}

int aoi_log_ready(aoi_space *s, uint32_t since, bool single) {
    if (s->log.count == since && !s->failed) return AOI_OK;
    if (!aoi_log_pairs_ready(s, since)) return AOI_ENOMEM;
    if (aoi_queue_reserve(&s->world.memory, &s->queue, s->log.count - since, single)) return AOI_OK;
    aoi_log_drop(s, since);
    return AOI_ENOMEM;
}

void aoi_log_apply_pairs(aoi_space *s, uint32_t since) {
    if (!s->log.added && !s->pairs.index.count) return;
    s->log.added = 0;
    for (uint32_t i = since; i < s->log.count; i++) {
        const aoi_change *c = s->log.items + i;
        aoi_node_record *n = s->world.nodes + c->node;
        uint32_t *watched = &s->world.entities[c->target].watched;
        if (is_added(c)) {
            aoi_pairs_add(&s->pairs, c->node, c->target, c->pair == AOI_PAIR_ADD_SEEN, &n->targets, watched);
        } else if (c->pair == AOI_PAIR_DROP) {
            aoi_pairs_remove(&s->pairs, aoi_pairs_find(&s->pairs, c->node, c->target), &n->targets, watched);
        } else if (n->targets != AOI_NONE) {
            uint32_t p = aoi_pairs_find(&s->pairs, c->node, c->target);
            if (p != AOI_NONE) s->pairs.pairs[p].seen = c->event == AOI_ENTER;
        }
    }
}

void aoi_log_revert_pairs(aoi_space *s, uint32_t since) {
    for (uint32_t i = s->log.count; i-- > since;) {
        const aoi_change *c = s->log.items + i;
        aoi_node_record *n = s->world.nodes + c->node;
        uint32_t *watched = &s->world.entities[c->target].watched;
        uint32_t p = aoi_pairs_find(&s->pairs, c->node, c->target);
        if (is_added(c)) aoi_pairs_remove(&s->pairs, p, &n->targets, watched);
        else if (c->pair == AOI_PAIR_DROP)
            aoi_pairs_add(&s->pairs, c->node, c->target, c->event == AOI_LEAVE, &n->targets, watched);
        else if (p != AOI_NONE) s->pairs.pairs[p].seen = c->event == AOI_LEAVE;
    }
    s->log.count = since;
}

static void put_change(aoi_space *s, const aoi_change *c) {
    aoi_node_record *n = s->world.nodes + c->node;
    if (n->silent) return;
    uint32_t life = s->world.entities[c->target].generation;
    aoi_waiting *e = aoi_queue_put(&s->queue, c->event, c->node, c->target, life);
    if (e) put_event(s, e);
    else n->pending--;
}

void aoi_log_apply_events(aoi_space *s, uint32_t since) {
    const aoi_change *log = s->log.items; /* NULL as long as it is empty */
    if (s->queue.in_batch) { /* a pair may change to and fro: the queue puts the leaves first, once it knows them */
        for (uint32_t i = since; i < s->log.count; i++)
            if (log[i].event) put_change(s, log + i);
    } else {
        for (uint32_t i = since; i < s->log.count; i++)
            if (log[i].event == AOI_LEAVE) put_change(s, log + i);
        for (uint32_t i = since; i < s->log.count; i++)
            if (log[i].event == AOI_ENTER) put_change(s, log + i);
    }
    s->log.count = since;
    aoi_queue_end_batch(&s->queue);
}

void aoi_log_apply(aoi_space *s, uint32_t since) {
    if (s->log.count == since) return;
    aoi_log_apply_pairs(s, since);
    aoi_log_apply_events(s, since);
}

/* ---- without the log ------------------------------------------------------------------------------------------- */

int aoi_direct_begin(aoi_space *s) {
    s->direct = aoi_queue_reserve(&s->world.memory, &s->queue, 1, true);
    return s->direct ? AOI_OK : AOI_ENOMEM;
}

void aoi_direct_undo(aoi_space *s) {
    for (uint32_t i = 0; i < s->queue.top; i++) s->world.nodes[s->queue.events[i].node].pending--;
    aoi_queue_clear(&s->queue);
    s->direct = s->failed = false;
}

void aoi_direct_settle(aoi_space *s) {
    aoi_queue *q = &s->queue;
    uint32_t i = 1;
    s->direct = false;
    while (i < q->top && q->events[i - 1].kind >= q->events[i].kind) i++; /* AOI_LEAVE is the greater */
    if (i >= q->top) return;
    (void)AOI_GROW(&s->world.memory, q->events, q->cap, q->top + (size_t)q->count / 2); /* with room it is quicker */
    aoi_queue_part(q, 0);
}
