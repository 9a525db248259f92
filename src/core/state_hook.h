/* state_hook.h - what snapshots, journals and observers know of fields, which synchronisers keep (src/sync/saved.c), and of
 * sights (src/sight/sight_saved.c).
 *
 *   a synchroniser with fields: number --> a message of aoi.sync (docs/sync-wire.md) of records of state alone
 *
 * A message that begins anew names all fields, and has what differs from the defaults, by rising id; without fields it
 * ends the synchroniser of that number.  Another one has what has been put.
 *
 * What is loaded or played is kept by a synchroniser without clients, a stand-in, until one with fields is opened on the
 * space: that takes over the values of the first stand-in, by name and type, and the stand-in ends. */
#ifndef AOI_STATE_HOOK_H
#define AOI_STATE_HOOK_H

#include "core/event_queue.h"

enum { AOI_MOST_STATES = 1 << 30 }; /* numbers are below */

/* The lowest number from *number on that has fields, into *number; false: there is none. */
bool aoi_states_next(const aoi_space *s, uint32_t *number);
/* Its message, anew; or, with `since`, of what has been put after that count of changes (s->state_changes), records that
 * have changed with all that was ever put.  Valid until the next call for it; false when memory is refused.  No records,
 * and not anew: size 0. */
bool aoi_states_pack(aoi_space *s, uint32_t number, const uint64_t *since, const unsigned char **bytes, size_t *size);
/* Such a message becomes true of the stand-in of that number; *id: the entity it is about, if any.  AOI_EVALUE: *fault
 * says why. */
int aoi_states_apply(aoi_space *s, uint32_t number, const void *bytes, size_t size, int64_t *id, const char **fault);

/* Sights have numbers and messages as well (docs/snapshot.md has the format).  What is loaded or played is kept by a sight
 * that has no owner until one is opened on the space.
 *
 * A snapshot has all sights but those that a host has for teams and clients, of another's walls: a journal has them behind
 * it, and a player's snapshots have their stand-ins. */
bool aoi_sights_next(const aoi_space *s, uint32_t *number); /* of those in snapshots */
bool aoi_sights_pack(aoi_space *s, uint32_t number, const unsigned char **bytes, size_t *size);
/* A stand-in as the message has it, whose number must be free. */
int aoi_sights_apply(aoi_space *s, const void *bytes, size_t size, uint32_t *number, const struct aoi_load_options *o,
                     const char **fault);
void aoi_sights_log(aoi_space *s); /* a journal has begun: what its snapshot lacks */
bool aoi_sights_of_clients(const struct aoi_sight *g);
/* Whether a view of the client sees the target, of those past walls. */
bool aoi_sights_show(aoi_space *s, aoi_entity client, aoi_entity target);
struct aoi_sight *aoi_sights_numbered(const aoi_space *s, uint32_t number); /* NULL: there is none */

/* For observers.  The sight of the lowest number from `number` on that shares no walls with a lower one; NULL: none. */
const struct aoi_sight *aoi_sights_with_walls(const aoi_space *s, uint32_t number);
/* The number of such a sight whose walls the node sees past, and how many ticks it lingers; false: it sees past none. */
bool aoi_sights_of_node(const aoi_space *s, uint32_t node, uint32_t *number, uint32_t *linger);

#endif
