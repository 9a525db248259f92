/* sync_hook.h - what the space tells the synchronisers (src/sync/) that are open on it.
 *
 *   record_event --(node flagged AOI_NODE_SYNC)--> sightings [ node, track, enters | ... ] --> pictures, not the queue
 *   moves, kinds, deaths --(space->syncs != NULL)--> aoi_syncs_moved ...       what is news at the tick
 *
 * The user data of a flagged node is the address of its client.  Sightings wait for the tick that tells them, or until
 * very many have come together: sorted by client they cost half.  A call that fails cuts its own off; those of a node
 * that goes are void.  Without a synchroniser each of these costs one predictable branch. */
#ifndef AOI_SYNC_HOOK_H
#define AOI_SYNC_HOOK_H

#include "aoi.h"

typedef struct aoi_client aoi_client;

enum { AOI_SIGHTINGS = 256, AOI_SIGHTINGS_A_NODE = 16 }; /* that wait, at most, before a call */
enum { AOI_SIGHTING_DONE = INT32_MAX };                  /* instead of a track: it is in the picture */

typedef struct aoi_sighting {
    uint32_t node;
    uint32_t track : 31; /* of the target, sync.h; or DONE */
    uint32_t enters : 1;
} aoi_sighting;

static inline aoi_client *aoi_client_from(uint64_t user_data) {
    return (aoi_client *)(uintptr_t)user_data;
}

uint32_t aoi_node_track(const aoi_space *s, uint32_t node, uint32_t target); /* AOI_NONE: memory refused */
bool aoi_client_saw(const aoi_client *c, uint32_t target); /* whether its node saw the target at the last tick */
void aoi_client_end(aoi_client *c);                        /* its node is being freed */
bool aoi_syncs_see(aoi_space *s); /* all sightings into the pictures; false: memory refused, some wait */
/* At the beginning of a tick: sorts them by client and queues the clients that have some; aoi_client_see applies one's. */
bool aoi_syncs_group(aoi_space *s);
bool aoi_client_see(aoi_client *c);

/* To every synchroniser of the chain. */
void aoi_syncs_moved(aoi_sync *first, uint32_t entity);   /* or is about to: where it is counts only at the tick */
void aoi_syncs_touched(aoi_sync *first, uint32_t entity); /* its kind has changed */
void aoi_syncs_left(aoi_sync *first, uint32_t entity);    /* its slot is being freed */
void aoi_syncs_free(aoi_sync *first);                     /* the space closes */
const char *aoi_syncs_check(const aoi_sync *first);       /* NULL, or the invariant that does not hold */

#endif
