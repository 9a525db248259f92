/* event_queue.h - events that wait to be taken, as net change.
 *
 *   events   [ taken | taken | leave | cancelled | enter | enter |           ]
 *                              ^ head              ^ call            ^ top
 *
 * A call appends its events at the top; when it succeeds its leaves are put before its enters, when it fails the queue is
 * cut back to where the call began and what it cancelled waits again.
 *
 * An enter that meets its own waiting leave (same node, same life of the target) cancels it, and the other way round.
 * An index by pair finds it, but only from the moment two calls' events wait together: usually a call's events are taken
 * before the next call, no pair can occur twice, and nothing is hashed.  Nor is it by a call whose events have no
 * opposite that waits: what enters or is added makes new pairs, and leaves meet no leaves. */
#ifndef AOI_EVENT_QUEUE_H
#define AOI_EVENT_QUEUE_H

#include "base/hash_index.h"

enum { AOI_QUEUE_KEEPS = 1024 }; /* records that an empty queue keeps */

typedef struct aoi_queued {
    int64_t watcher, target, node_id;
    uint32_t node, entity, life; /* the pair: the node's slot, the target's slot and generation */
    uint8_t kind;
    bool cancelled;
} aoi_queued;

typedef struct aoi_event_queue {
    aoi_queued *events;
    uint32_t cap, head, top, count; /* count: of those from head to top that are not cancelled */
    uint32_t call;                  /* where the events of the present call begin */
    bool entered, late;             /* it has appended an enter; and a leave after it */
    bool alone;                     /* its events have no opposite that waits */
    bool enters;                    /* a former call has appended an enter since the queue was empty */
    uint32_t ordered_end;           /* events before it keep their order */
    uint32_t parted, parted_end;    /* between them leaves are before enters, unless the end is 0 */
    uint32_t peak;                  /* most events at once, lately */
    aoi_index index;                /* of pairs; also of events that have been taken: head tells */
    uint32_t indexed;               /* events before it are in the index */
    uint32_t *undo;                 /* events of former calls that the present call has cancelled */
    uint32_t undo_cap, undo_count;
} aoi_event_queue;

void aoi_queue_open(aoi_event_queue *q);
void aoi_queue_close(aoi_memory *m, aoi_event_queue *q);

/* Between begin and commit a call puts its events, each pair at most once. */
void aoi_queue_tidy(aoi_memory *m, aoi_event_queue *q);
static inline void aoi_queue_begin(aoi_memory *m, aoi_event_queue *q) {
    if (q->top || q->cap > AOI_QUEUE_KEEPS) aoi_queue_tidy(m, q);
    q->call = q->top;
    q->undo_count = 0;
    q->enters |= q->entered;
    q->entered = q->late = q->alone = false;
}
/* After begin: the call makes only leaves, or only pairs that are new. */
static inline void aoi_queue_only_leaves(aoi_event_queue *q) {
    q->alone = !q->enters;
}
static inline void aoi_queue_only_new(aoi_event_queue *q) {
    q->alone = true;
}
void aoi_queue_commit(aoi_memory *m, aoi_event_queue *q); /* leaves before enters; cannot fail */

/* Makes room for one event more; false when memory is refused. */
bool aoi_queue_grow(aoi_memory *m, aoi_event_queue *q);
static inline bool aoi_queue_ready(aoi_memory *m, aoi_event_queue *q) {
    return (q->top < q->cap && (!q->call || q->alone)) || aoi_queue_grow(m, q);
}

/* Cancels the waiting event of this pair; false if there is none.  The opposite of a new event: the two alternate. */
bool aoi_queue_cancel(aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

/* Appends an event. */
static inline void aoi_queue_append(aoi_event_queue *q, const aoi_queued *e) {
    q->events[q->top++] = *e;
    q->count++;
    q->late |= q->entered & (e->kind == AOI_LEAVE);
    q->entered |= e->kind == AOI_ENTER;
}

/* To undo the present call, or the end of it: takes its events back, last first, then lets what it cancelled wait again;
 * NULL when as many are left as there were then.  Neither can fail. */
const aoi_queued *aoi_queue_take_back(aoi_event_queue *q, uint32_t top);
const aoi_queued *aoi_queue_restore(aoi_event_queue *q, uint32_t undo_count);

/* The kind of the event of this pair that waits since a former call, 0 if none does, -1 when memory is refused. */
int aoi_queue_waiting(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

/* Outside of a call: cancels the enter of this pair, if it waits. */
bool aoi_queue_withdraw(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

void aoi_queue_clear(aoi_event_queue *q);              /* all are taken */
void aoi_queue_remove(aoi_event_queue *q, uint32_t i); /* takes one that waits, not the oldest */
/* All leaves before all enters, otherwise in the same order, behind those whose order is fixed; then all are fixed. */
void aoi_queue_leaves_first(aoi_memory *m, aoi_event_queue *q);
const char *aoi_queue_check(const aoi_event_queue *q);

/* The first at i or after that waits, or top. */
static inline uint32_t aoi_queue_from(const aoi_event_queue *q, uint32_t i) {
    while (i < q->top && q->events[i].cancelled) i++;
    return i;
}

/* Takes the oldest; the queue must not be empty.  The record is valid until the next call. */
static inline const aoi_queued *aoi_queue_take(aoi_event_queue *q) {
    uint32_t i = q->head;
    while (q->events[i].cancelled) i++;
    q->head = i + 1;
    q->ordered_end = q->top;
    if (--q->count == 0) aoi_queue_clear(q);
    return q->events + i;
}

#endif
