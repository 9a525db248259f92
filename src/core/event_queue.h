/* event_queue.h - events that wait to be taken, as net change.
 *
 *   events   [ taken | taken | leave | cancelled | enter | enter |           ]
 *                              ^ head                              ^ top
 *
 * An enter that meets its own waiting leave (same node, same life of the target) cancels it, and the other way round.
 * To find it the queue keeps an index by pair, but only from the moment two calls' events wait together: in the usual
 * case, a call whose events are taken before the next, no pair can occur twice and nothing is hashed. */
#ifndef AOI_QUEUE_H
#define AOI_QUEUE_H

#include "base/hash_index.h"

enum { AOI_QUEUE_KEEPS = 1024 }; /* records that an empty queue keeps */

typedef struct aoi_waiting {
    int64_t watcher, target, node_id;
    uint32_t node, entity, life; /* the pair: the node's slot, the target's slot and generation */
    uint8_t kind;
    bool cancelled;
    bool sleeps; /* cancelled by the present batch, which may bring it back */
} aoi_waiting;

typedef struct aoi_queue {
    aoi_waiting *events;
    uint32_t cap, head, top, count; /* count: of those from head to top that are not cancelled */
    uint32_t placed; /* where the events begin whose order is not settled: none of those before has been taken since */
    uint32_t batch;  /* where the present batch began */
    uint32_t sleeping; /* events that it has cancelled but may bring back */
    uint32_t storm;    /* events in one go, lately at most */
    bool hashed, in_batch;
    aoi_index index; /* also of events that have been taken: head tells */
} aoi_queue;

void aoi_queue_open(aoi_queue *q);
void aoi_queue_close(aoi_memory *m, aoi_queue *q);

/* Room for n events.  `alone`: they come from one single change and no event waits, so that no pair occurs twice; if not,
 * a batch begins.  An empty queue of the size it keeps needs nothing more, and that is how it nearly always is. */
bool aoi_queue_make_room(aoi_memory *m, aoi_queue *q, size_t n, bool alone);
static inline bool aoi_queue_reserve(aoi_memory *m, aoi_queue *q, size_t n, bool alone) {
    bool idle = q->top == 0 && !q->hashed && !q->in_batch && q->cap <= AOI_QUEUE_KEEPS;
    return (alone && idle && n <= q->cap) || aoi_queue_make_room(m, q, n, alone);
}
/* Adds an event and returns its record, whose ids the caller fills in; or cancels its opposite and returns NULL.  Cannot
 * fail after a reserve.  Within a batch what waited before it keeps its place when it is cancelled and comes back. */
aoi_waiting *aoi_queue_cancel_or_add(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life);
void aoi_queue_end_batch(aoi_queue *q);           /* puts its leaves before its enters */
void aoi_queue_part(aoi_queue *q, uint32_t from); /* leaves before enters, of those that were put from there on */

/* At the end, whatever waits. */
static inline aoi_waiting *aoi_queue_add(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life) {
    aoi_waiting *e = q->events + q->top++;
    e->kind = (uint8_t)kind;
    e->cancelled = e->sleeps = false;
    e->node = node;
    e->entity = entity;
    e->life = life;
    q->count++;
    return e;
}

static inline aoi_waiting *aoi_queue_put(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life) {
    return q->hashed ? aoi_queue_cancel_or_add(q, kind, node, entity, life)
                     : aoi_queue_add(q, kind, node, entity, life);
}

/* Takes the oldest; the queue must not be empty.  The record is valid until the next call. */
static inline const aoi_waiting *aoi_queue_take(aoi_queue *q);
void aoi_queue_clear(aoi_queue *q); /* all are taken */
/* All leaves before all enters, otherwise in the same order, behind those whose place is settled; it settles all. */
void aoi_queue_leaves_first(aoi_queue *q);
const char *aoi_queue_check(const aoi_queue *q);

/* The first at i or after that waits, or top. */
static inline uint32_t aoi_queue_from(const aoi_queue *q, uint32_t i) {
    while (i < q->top && q->events[i].cancelled) i++;
    return i;
}

static inline const aoi_waiting *aoi_queue_take(aoi_queue *q) {
    uint32_t i = aoi_queue_from(q, q->head);
    q->head = i + 1;
    q->placed = q->top;
    if (--q->count == 0) aoi_queue_clear(q);
    return q->events + i;
}

#endif
