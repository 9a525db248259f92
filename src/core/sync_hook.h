/* sync_hook.h - what the space tells the synchronisers (src/sync/) that are open on it.
 *
 *   record_event ----(node flagged AOI_NODE_SYNC)----> aoi_client_enter, aoi_client_leave     pictures, not the queue
 *   moves, kinds, deaths ----(space->syncs != NULL)--> aoi_sync_moved, ...                    what is news at the next tick
 *
 * The user data of a flagged node is the address of its client.  Without a synchroniser each of these costs one
 * predictable branch. */
#ifndef AOI_SYNC_HOOK_H
#define AOI_SYNC_HOOK_H

#include "aoi.h"

typedef struct aoi_client aoi_client;

static inline aoi_client *aoi_client_from(uint64_t user_data) {
    return (aoi_client *)(uintptr_t)user_data;
}

/* Events of a client's node; each undoes the other.  False when memory is refused: only the first can fail, and not where
 * it undoes. */
bool aoi_client_enter(aoi_client *c, uint32_t target);
void aoi_client_leave(aoi_client *c, uint32_t target);
/* Whether the client's node saw the target at the last tick. */
bool aoi_client_saw(const aoi_client *c, uint32_t target);
void aoi_client_end(aoi_client *c); /* its node is being freed */

/* To every synchroniser of the chain. */
void aoi_syncs_moved(aoi_sync *first, uint32_t entity);   /* or is about to: where it is counts only at the tick */
void aoi_syncs_touched(aoi_sync *first, uint32_t entity); /* its kind has changed */
void aoi_syncs_left(aoi_sync *first, uint32_t entity);    /* its slot is about to be freed */
void aoi_syncs_free(aoi_sync *first);                     /* the space closes */
const char *aoi_syncs_check(const aoi_sync *first);       /* NULL, or the invariant that does not hold */

#endif
