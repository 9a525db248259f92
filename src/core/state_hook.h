/* state_hook.h - how snapshots, journals and observers access the fields that synchronisers keep (src/sync/saved.c),
 * and sights (src/sight/sight_saved.c).
 *
 *   a synchroniser with fields: number --> a message of aoi.sync (docs/sync-wire.md) of records of state alone
 *
 * A complete message names all fields and holds the values that differ from the defaults, by rising id; without fields
 * it ends the synchroniser of that number.  A partial message holds the values that have been put.
 *
 * Loaded or played state belongs to a synchroniser without clients, a stand-in, until one with fields is opened on the
 * space: it takes over the values of the first stand-in, by name and type, and the stand-in ends. */
#ifndef AOI_STATE_HOOK_H
#define AOI_STATE_HOOK_H

#include "core/space.h"

enum { AOI_MOST_STATES = 1 << 30 }; /* numbers are less */

/* Sets *number to the lowest number with fields from *number on; false: there is none. */
bool aoi_states_next(const aoi_space *s, uint32_t *number);
/* Its complete message; or, with `since`, the partial message of the records that changed after that count of changes
 * (s->state_changes), with all values ever put; size 0 if there are none.  Valid until its next call; false when memory
 * is refused. */
bool aoi_states_pack(aoi_space *s, uint32_t number, const uint64_t *since, const unsigned char **bytes, size_t *size);
/* Applies such a message to the stand-in of that number.  AOI_EVALUE: *fault is the reason, *id the entity concerned,
 * if any. */
int aoi_states_apply(aoi_space *s, uint32_t number, const void *bytes, size_t size, int64_t *id, const char **fault);

/* Sights have numbers as well; their contents are records (src/snapshot/snapshot.h).  A loaded or played sight has no
 * owner until one is opened on the space.
 *
 * A snapshot has all sights but those for teams and clients, which share another's walls: a journal has these, too, and
 * the snapshots of a player have their stand-ins. */
struct aoi_sight;
struct aoi_output;
struct aoi_record;
/* all: those that snapshots leave out, too.  False: memory is refused. */
bool aoi_sights_put(aoi_space *s, struct aoi_output *out, bool all);
/* Repeats a record of a sight.  AOI_EVALUE: *fault may be set. */
int aoi_sights_repeat(aoi_space *s, const aoi_load_options *o, struct aoi_record *r, const char **fault);
/* Whether the client sees the target by one of its views past walls. */
bool aoi_sights_show(aoi_space *s, aoi_entity client, aoi_entity target);
struct aoi_sight *aoi_sights_numbered(const aoi_space *s, uint32_t number); /* or NULL */

/* Calls the host's `node` for a node that is loaded or played; false: the host refuses it. */
static inline bool aoi_host_takes(const aoi_load_options *o, const aoi_space *s, aoi_loaded_node *n) {
    n->deferred = s->deferred;
    return !o || !o->node || o->node(o->node_ud, n);
}

/* For observers.  The sight of the lowest number from `number` on that shares no walls with a lower one; NULL: none. */
const struct aoi_sight *aoi_sights_with_walls(const aoi_space *s, uint32_t number);
/* The number of such a sight whose walls the node sees past, and how many ticks it lingers; false: it sees past none. */
bool aoi_sights_of_node(const aoi_space *s, uint32_t node, uint32_t *number, uint32_t *linger);

#endif
