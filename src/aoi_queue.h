/* aoi_queue.h - events that wait to be taken, as net change.
 *
 *   head -> [leave] <-> [leave] <-> [enter] <-> [enter] <- tail      one doubly linked list through a pool of records
 *                                   ^ first_enter: a call's leaves are put in before it, so they come first
 *
 * An enter that meets its own waiting leave (same node, same life of the target) cancels it, and the other way round.
 * To find it the queue keeps an index by pair, but only from the moment two calls' events wait together: in the usual
 * case, a call whose events are taken before the next, no pair can occur twice and nothing is hashed. */
#ifndef AOI_QUEUE_H
#define AOI_QUEUE_H

#include "aoi_index.h"

typedef struct aoi_waiting {
    int64_t watcher, target, node_id;
    uint32_t node, entity, life; /* the pair: the node's slot, the target's slot and generation */
    uint32_t next, prev;
    uint32_t batch; /* the latest batch when it was put */
    uint8_t kind;
    bool cancelled; /* by the present batch, which may bring it back */
} aoi_waiting;

typedef struct aoi_queue {
    aoi_waiting *events;
    uint32_t cap, top, unused; /* records in the pool, ever used, and the chain of those free again */
    uint32_t head, tail, first_enter, count;
    uint32_t placed; /* the last whose place is settled: it waited when another was taken, or has been put in order */
    uint32_t batch, cancelled; /* the number of the latest batch; records it has cancelled but kept */
    uint32_t storm;            /* records in use at once, lately at most */
    bool hashed, in_batch;
    aoi_index index;
} aoi_queue;

void aoi_queue_open(aoi_queue *q);
void aoi_queue_close(aoi_memory *m, aoi_queue *q);

/* Room for n events.  `alone`: they come from one single change and no event waits, so that no pair occurs twice. */
bool aoi_queue_reserve(aoi_memory *m, aoi_queue *q, size_t n, bool alone); /* not alone: begins a batch */
/* Adds an event and returns its record, whose ids the caller fills in; or cancels its opposite and returns NULL.  Cannot
 * fail after a reserve.  Within a batch what waited before it keeps its place when it is cancelled and comes back. */
aoi_waiting *aoi_queue_put(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life);
void aoi_queue_end_batch(aoi_queue *q);
/* Takes the oldest; the queue must not be empty.  The record is valid until the next call. */
const aoi_waiting *aoi_queue_take(aoi_queue *q);
void aoi_queue_clear(aoi_queue *q); /* all are taken */
/* All leaves before all enters, otherwise in the same order, behind those whose place is settled; it settles all. */
void aoi_queue_leaves_first(aoi_queue *q);
const char *aoi_queue_check(const aoi_queue *q);

#endif
