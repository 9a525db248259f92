/* journal_hook.h - what the space tells the journal (src/journal/) that records it.
 *
 *   a call of the C API is over --(space->journal != NULL)--> aoi_log_...: a record
 *
 * The slot of a node that has just been removed keeps its ids until the next call.  Events that are taken, and moves that
 * are judged between calls, are told as well; all else follows. */
#ifndef AOI_JOURNAL_HOOK_H
#define AOI_JOURNAL_HOOK_H

#include "core/event_queue.h"

/* A call with its result.  Of nodes of clients nothing is recorded. */
void aoi_log_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, int result);
void aoi_log_move(aoi_space *s, aoi_entity e, const double *pos, int result);
int64_t aoi_logged_id(const aoi_space *s, aoi_entity e); /* 0 where it is stale */
void aoi_log_leave(aoi_space *s, aoi_entity e, int64_t id, int result);
void aoi_log_kind(aoi_space *s, int call, aoi_entity e, uint64_t bits, int result); /* or layers */
void aoi_log_extent(aoi_space *s, aoi_entity e, double extent, int result);
void aoi_log_attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset, int result);
void aoi_log_rows(aoi_space *s, int call, const aoi_row *rows, size_t n, uint64_t kind, int result);
void aoi_log_leave_many(aoi_space *s, const int64_t *ids, size_t n, int result);
void aoi_log_add(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, int result);
void aoi_log_adopt(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, const int64_t *seen, size_t n,
                   int result);
void aoi_log_add_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                      int result);
void aoi_log_remove(aoi_space *s, aoi_node n, int result);
void aoi_log_area(aoi_space *s, aoi_node n, const aoi_area *area, int result);
void aoi_log_values(aoi_space *s, int call, aoi_node n, const double *values, int count, int result);
void aoi_log_mask(aoi_space *s, aoi_node n, uint64_t mask, int result);
void aoi_log_override(aoi_space *s, aoi_node n, aoi_entity target, int how, int result);
void aoi_log_flush(aoi_space *s, int result);
/* Fields: a message of state_hook.h; a result other than AOI_OK ends the journal. */
void aoi_log_state(aoi_space *s, uint32_t number, const void *bytes, size_t size, int result);

void aoi_log_taken(aoi_space *s, const aoi_queued *e); /* it has been taken */
void aoi_log_all_taken(aoi_space *s);                  /* all that wait are about to be */
void aoi_log_settled(aoi_space *s, bool all);          /* or some, and then memory was refused */
void aoi_log_kept_order(aoi_space *s);
void aoi_log_close(aoi_space *s); /* the space is about to close */

#endif
