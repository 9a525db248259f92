/* journal_hook.h - what the journal (src/journal/) that records a space learns of it.
 *
 *   a call of the C API is over --(space->journal != NULL)--> aoi_log: a record
 *
 * The slot of a node that has just been removed keeps its ids until the next call.  Events that are taken, and moves that
 * are judged between calls, are recorded as well; all else follows. */
#ifndef AOI_JOURNAL_HOOK_H
#define AOI_JOURNAL_HOOK_H

#include "core/event_queue.h"

/* A call and its arguments, as far as it has them. */
typedef struct aoi_call {
    int call, result; /* AOI_CALL_ENTER ... */
    bool named;       /* `id` is that of the entity, whose handle may be stale already or not valid yet */
    int64_t id, node_id;
    aoi_entity entity, target;
    aoi_node node;
    uint64_t bits;  /* kind, mask, layers, how, number of a state, ticks that a node lingers */
    uint32_t sight; /* its number */
    const double *values;
    const aoi_area *area;
    const aoi_row *rows;
    const int64_t *ids;
    const aoi_entity *entities;
    const void *bytes; /* a message of state_hook.h; a result other than AOI_OK ends the journal */
    size_t count;      /* of what there is many of */
} aoi_call;

/* Of nodes of clients nothing is recorded, but for those of a sight: aoi_layer_class. */
void aoi_log(aoi_space *s, const aoi_call *c);

void aoi_log_taken(aoi_space *s, const aoi_queued *e); /* it has been taken */
void aoi_log_all_taken(aoi_space *s);                  /* all that wait are about to be */
void aoi_log_settled(aoi_space *s, bool all);          /* or some, and then memory was refused */
void aoi_log_kept_order(aoi_space *s);
void aoi_log_close(aoi_space *s); /* the space is about to close */

#endif
