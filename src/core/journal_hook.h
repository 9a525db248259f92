/* journal_hook.h - the calls by which a space reports to its journal (src/journal/).
 *
 *   a call of the C API is over --(space->journal != NULL)--> aoi_log: a record
 *
 * The slot of a node that has just been removed keeps its ids until the next call.  Taken events, and moves that are
 * judged between calls, are recorded as well; everything else follows from the calls. */
#ifndef AOI_JOURNAL_HOOK_H
#define AOI_JOURNAL_HOOK_H

#include "aoi_journal.h"
#include "core/event_queue.h"

/* A call and its arguments; those that it does not have are 0. */
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
    size_t count;      /* of rows, ids, entities or bytes */
} aoi_call;

/* Nodes of clients are recorded only if their plugin is (aoi_plugin_class). */
void aoi_log(aoi_space *s, const aoi_call *c);

void aoi_log_taken(aoi_space *s, const aoi_queued *e); /* after it is taken */
void aoi_log_all_taken(aoi_space *s);                  /* before all events are taken */
void aoi_log_settled(aoi_space *s, bool all);          /* all: movers are judged; else memory was refused */
void aoi_log_kept_order(aoi_space *s);
void aoi_log_close(aoi_space *s); /* before the space closes */

#endif
