/* events.c - taking the waiting events. */
#include "core/space.h"

enum { EVENTS_AHEAD = 8 }; /* events whose nodes are prefetched */

size_t aoi_pending(const aoi_space *s) {
    const uint32_t movers = s->records.mover_count, ways = s->crossings.moving;
    return s->queue.count + (s->stage == AOI_STAGE_REPAIR ? 0 : (movers > ways ? movers : ways) + s->turned_count);
}

/* After everything else is judged, as a call of its own. */
static bool flush_crossings(aoi_space *s) {
    aoi_open_call(s);
    const bool judged = aoi_judge_crossings(s);
    if (!judged) aoi_rollback(s);
    aoi_commit(s);
    return judged;
}

int aoi_flush(aoi_space *s) {
    if (!s->deferred) return AOI_OK;
    bool settled = aoi_settle(s) && (!s->crossings.node_count || flush_crossings(s));
    if (settled) {
        aoi_queue_leaves_first(&s->records.memory, &s->queue);
        if (s->changed_count) aoi_forget_changed(s);
    }
    return aoi_logged(s, &(aoi_call){.call = AOI_CALL_FLUSH, .result = settled ? AOI_OK : AOI_ENOMEM});
}

void aoi_keep_order(aoi_space *s) {
    if (s->journal) aoi_log_kept_order(s);
    s->queue.ordered_end = s->queue.top;
}

void aoi_read_event(const aoi_space *s, const aoi_queued *e, aoi_event *out) {
    *out = (aoi_event){e->kind, e->watcher, e->target, e->node_id, aoi_user_data_of(s, e->node), e->because - 1, e->t};
}

void aoi_notify_taken(aoi_space *s, const aoi_queued *e) {
    if (s->observers) aoi_observers_took(s->observers, e);
    if (s->journal) aoi_log_taken(s, e);
}

bool aoi_next(aoi_space *s, aoi_event *out) {
    const aoi_queued *e = aoi_take(s);
    if (e) aoi_read_event(s, e, out);
    return e != NULL;
}

static bool take_event_from(aoi_space *s, aoi_event_queue *q, const aoi_event *which, aoi_event *out) {
    for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        const aoi_queued *e = q->events + i;
        if (e->kind != which->kind || e->watcher != which->watcher || e->node_id != which->node_id ||
            e->target != which->target)
            continue;
        aoi_read_event(s, e, out);
        aoi_queued taken = *e;
        aoi_queue_remove(q, i);
        aoi_notify_taken(s, &taken);
        aoi_count_taken(s, taken.node);
        return true;
    }
    return false;
}

bool aoi_take_event(aoi_space *s, const aoi_event *which, aoi_event *out) {
    bool taken = take_event_from(s, &s->queue, which, out);
    for (aoi_plugin *l = s->plugins; l && !taken; l = l->next)
        taken = l->queue && take_event_from(s, l->queue, which, out);
    return taken;
}

static void prefetch_event(const aoi_space *s, uint32_t i) {
    if (i >= s->queue.top) return;
    AOI_PREFETCH(s->records.nodes + s->queue.events[i].node);
    AOI_PREFETCH(s->records.areas + s->queue.events[i].node);
}

size_t aoi_drain(aoi_space *s, aoi_event *events, size_t max) {
    size_t n = 0;
    while (n < max && s->queue.count) {
        prefetch_event(s, s->queue.head + EVENTS_AHEAD);
        (void)aoi_next(s, events + n++);
    }
    return n;
}

size_t aoi_peek(const aoi_space *s, uint32_t *cursor, aoi_event *out, size_t max) {
    const aoi_event_queue *q = &s->queue;
    size_t n = 0;
    uint32_t i = *cursor > q->head ? *cursor : q->head;
    for (; n < max && (i = aoi_queue_from(q, i)) < q->top; i++) {
        prefetch_event(s, i + EVENTS_AHEAD);
        aoi_read_event(s, q->events + i, out + n++);
    }
    *cursor = i;
    return n;
}

void aoi_take_all(aoi_space *s) {
    aoi_event_queue *q = &s->queue;
    if (s->journal) aoi_log_all_taken(s);
    for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        if (i + EVENTS_AHEAD < q->top) AOI_PREFETCH(s->records.nodes + q->events[i + EVENTS_AHEAD].node);
        if (s->observers) aoi_observers_took(s->observers, q->events + i);
        aoi_count_taken(s, q->events[i].node);
    }
    aoi_queue_clear(q);
}
