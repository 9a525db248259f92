/* aoi_history.h - where everything was some ticks ago: lag compensation, replays of the last second.  A layer on aoi.h. */
#ifndef AOI_HISTORY_API_H
#define AOI_HISTORY_API_H

#include "aoi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A history notes, tick by tick, what has moved, entered, left or changed its kind, and answers as of a tick that is not
 * older than `ticks`.  It belongs to its space, which frees it when it closes; a space may have several.  It is in no
 * snapshot and no journal.
 *
 * Cost: some 5 ns for each entity that has moved since the last tick, 10 to 25 as soon as neighbourhoods have been asked about;
 * nothing for others.  A question costs two to three times aoi_near.  About 100 bytes an entity, and
 * a place for each tick of those that have moved within them. */
typedef struct aoi_history aoi_history;

enum { AOI_MOST_TICKS = 1 << 20 };

/* New history in *out that has noted the space as it is: that is its tick 0.  AOI_EVALUE: ticks is 0 or more than
 * AOI_MOST_TICKS.  AOI_ENOMEM. */
AOI_API int aoi_history_open(aoi_space *s, uint32_t ticks, aoi_history **out);
AOI_API void aoi_history_close(aoi_history *h); /* before its space; NULL is harmless */

/* A tick: where everything is now is noted; moves of a deferred space count at once.  AOI_ENOMEM: nothing is, the next
 * call notes it. */
AOI_API int aoi_history_tick(aoi_history *h);

/* As of `ago` ticks before the last one, 0: as of the last one; what has moved since then does not count.  Entities that
 * have left since are included.  AOI_EVALUE: ago is more than `ticks`.  AOI_EGONE: it was not there, or there was no such
 * tick yet. */
AOI_API int aoi_history_position(const aoi_history *h, uint32_t ago, int64_t id, double *pos);

/* aoi_near as of then, kinds included.  Of a tick before the first one there is nothing.  AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_history_near(aoi_history *h, uint32_t ago, const double *pos, const aoi_area *area, const int64_t **ids,
                             size_t *count);

#ifdef __cplusplus
}
#endif

#endif
