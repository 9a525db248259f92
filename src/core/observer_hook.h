/* observer_hook.h - the calls by which a space notifies its observers (src/view/).
 *
 *   an event is taken --(space->observers != NULL)--> aoi_observers_took: each keeps it for its next reading
 *
 * Observers read everything else from the records on demand.  Without an observer, taking an event costs one
 * predictable branch more, and nothing else has a cost. */
#ifndef AOI_OBSERVER_HOOK_H
#define AOI_OBSERVER_HOOK_H

#include "core/event_queue.h"

void aoi_observers_took(aoi_observer *first, const aoi_queued *e);
void aoi_observers_detach(aoi_observer *first); /* before the space closes */

#endif
