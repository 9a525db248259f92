/* event_queue.h - events that wait to be taken, as net change.
 *
 *   events   [ taken | taken | leave | cancelled | enter | enter |           ]
 *                              ^ head              ^ call            ^ top
 *
 * A call appends its events at the top.  A commit puts the leaves of the call before its enters; a rollback cuts the
 * queue back to where the call began and restores the events that it cancelled.
 *
 * An enter cancels the waiting leave of its pair (same node, same life of the target), and a leave the waiting enter.
 * Crossings come with the enters; they have no opposite, and are in no index.
 *
 * An index by pair finds the opposite.  It is built only when events of two calls wait together: usually the events of
 * a call are taken before the next call, and no pair can occur twice.  A call whose events have no waiting opposite
 * needs no index either: entering and adding make new pairs, and leaves cancel no leaves. */
#ifndef AOI_EVENT_QUEUE_H
#define AOI_EVENT_QUEUE_H

#include "base/hash_index.h"

enum { AOI_QUEUE_KEEPS = 1024 }; /* records that an empty queue keeps */

typedef struct aoi_queued {
    int64_t watcher, target, node_id;
    uint32_t node, entity, life; /* the pair: the node's slot, the target's slot and generation */
    uint8_t kind;
    bool cancelled;
    uint16_t because; /* 1 + the reason for which an end of the pair left the space; 0: none has */
    double t;         /* of AOI_CROSS */
} aoi_queued;

typedef struct aoi_event_queue {
    aoi_queued *events;
    uint32_t cap, head, top, count; /* count: events from head to top that are not cancelled */
    uint32_t call;                  /* the first event of the present call */
    bool entered, late;             /* the call has appended an enter; and a leave after it */
    bool alone;                     /* events of the call have no waiting opposite */
    bool enters;                    /* a former call has appended an enter since the queue was empty */
    bool crosses;                   /* an event AOI_CROSS may wait */
    uint32_t ordered_end;           /* events before it keep their order */
    uint32_t parted, parted_end;    /* a range with leaves before enters; end 0: none */
    uint32_t peak;                  /* most events at once, lately */
    aoi_hash_index index;           /* of pairs; entries before head are of taken events */
    uint32_t indexed;               /* events before it are in the index */
    uint32_t *undo;                 /* events of former calls that the present call has cancelled */
    uint32_t undo_cap, undo_count;
} aoi_event_queue;

void aoi_queue_open(aoi_event_queue *q);
void aoi_queue_close(aoi_memory *m, aoi_event_queue *q);

/* A call appends its events between begin and commit, each pair at most once. */
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

/* Makes room for one more event; false when memory is refused. */
bool aoi_queue_grow(aoi_memory *m, aoi_event_queue *q);
static inline bool aoi_queue_ready(aoi_memory *m, aoi_event_queue *q) {
    return (q->top < q->cap && (!q->call || q->alone)) || aoi_queue_grow(m, q);
}

/* Cancels the waiting event of this pair, which is the opposite of a new one, since the two alternate; false: none. */
bool aoi_queue_cancel(aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

/* Appends an event. */
static inline void aoi_queue_append(aoi_event_queue *q, const aoi_queued *e) {
    q->events[q->top++] = *e;
    q->count++;
    q->late |= q->entered & (e->kind == AOI_LEAVE);
    q->entered |= e->kind != AOI_LEAVE;
}

/* To undo the present call, or the end of it: first remove its events, last first, then restore those that it
 * cancelled; each returns NULL when the queue is back at that mark.  Neither can fail. */
const aoi_queued *aoi_queue_take_back(aoi_event_queue *q, uint32_t top);
const aoi_queued *aoi_queue_restore(aoi_event_queue *q, uint32_t undo_count);

/* The kind of the waiting event of this pair from a former call; 0: none; -1: memory is refused. */
int aoi_queue_waiting(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

/* Outside of a call: cancels the waiting enter of this pair; false if there is none. */
bool aoi_queue_withdraw(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life);

void aoi_queue_clear(aoi_event_queue *q);              /* all are taken */
void aoi_queue_remove(aoi_event_queue *q, uint32_t i); /* takes one that waits, not the oldest */
/* Puts leaves before enters, stably, among the events whose order is not fixed yet, and fixes the order of all. */
void aoi_queue_leaves_first(aoi_memory *m, aoi_event_queue *q);

/* The first waiting event at i or after, or top. */
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
