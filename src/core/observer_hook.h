/* observer_hook.h - what the space tells the observers (src/view/) that are open on it.
 *
 *   an event is taken --(space->observers != NULL)--> aoi_observers_took: each remembers it until it is asked
 *
 * All else an observer reads from the records when it is asked.  Without one, taking an event costs one predictable
 * branch more, and nothing else costs anything. */
#ifndef AOI_OBSERVER_HOOK_H
#define AOI_OBSERVER_HOOK_H

#include "core/event_queue.h"

void aoi_observers_took(aoi_observer *first, const aoi_queued *e);
void aoi_observers_detach(aoi_observer *first); /* the space closes */

#endif
