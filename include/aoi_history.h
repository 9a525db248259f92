/* aoi_history.h - past positions of all entities: lag compensation, replays of the last second.  On top of aoi.h. */
#ifndef AOI_HISTORY_API_H
#define AOI_HISTORY_API_H

#include "aoi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A history records at each tick which entities have moved, entered, left or changed kind, layers or extent, and
 * answers questions about the last `ticks` ticks.  It belongs to its space, which frees it when the space closes; a
 * space may have several.  Snapshots and journals do not contain it.
 *
 * Cost of a tick: some 5 ns for each entity that has moved since the last one, none for others.  A question costs what
 * aoi_near costs in the box grown by the longest steps since, and 1 ns per tick.  Memory: about 100 bytes per entity,
 * and a position for each tick of those that have moved within these ticks. */
typedef struct aoi_history aoi_history;

enum { AOI_MOST_TICKS = 1 << 20 };

/* Opens a history into *out and records the present as tick 0.  AOI_EVALUE: ticks 0 or too many.  AOI_ENOMEM. */
AOI_API int aoi_history_open(aoi_space *s, uint32_t ticks, aoi_history **out);
AOI_API void aoi_history_close(aoi_history *h); /* before its space; NULL does nothing */

/* Records the present positions as the next tick, including moves of a deferred space that wait.  AOI_ENOMEM: no tick
 * is recorded; the next call records all changes. */
AOI_API int aoi_history_tick(aoi_history *h);

/* The position of an entity at the tick `ago` ticks before the last one (0: the last one); moves after that tick do not
 * count, and the entity may have left since.  AOI_EVALUE: ago is more than `ticks`.  AOI_EGONE: the entity was not in
 * the space, or there was no such tick yet. */
AOI_API int aoi_history_position(const aoi_history *h, uint32_t ago, int64_t id, double *pos);

/* aoi_near at that tick, with the kinds, layers and extents of that tick; empty before the first tick.  The list as in
 * aoi_view.  AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_history_near(aoi_history *h, uint32_t ago, const double *pos, const aoi_area *area, const int64_t **ids,
                             size_t *count);

#ifdef __cplusplus
}
#endif

#endif
