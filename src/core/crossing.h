/* crossing.h - targets that go through an area between two deliveries, and are inside at neither.
 *
 *   ways      [ entity, from | ... ]   where everybody who has moved was at the last delivery; broken: it has jumped or
 *                                      entered since, so that it crosses nothing
 *   way_of    by slot: the number of its way, or AOI_NONE
 *   nodes     those with `crosses`; without them there are no ways, and nothing of this is done
 *   found     crossings of one delivery, until they are sorted and appended to the queue
 *
 * Room for a way of each entity is reserved when it enters, so that noting one cannot fail. */
#ifndef AOI_CROSSING_H
#define AOI_CROSSING_H

#include "base/memory.h"

typedef struct aoi_way {
    double from[3];
    uint32_t entity;
    bool broken;
} aoi_way;

typedef struct aoi_crossed {
    double t;
    int64_t watcher, node_id, target_id;
    uint32_t node, target;
} aoi_crossed;

typedef struct aoi_crossings {
    uint32_t *nodes, *way_of;
    aoi_way *ways;
    aoi_crossed *found;
    uint32_t node_cap, node_count, way_of_cap, way_cap, way_count, found_cap, found_count;
    uint32_t moving; /* ways that are not broken */
    bool fresh;      /* some node is: it has been added since the last delivery */
    bool jumping;    /* moves break ways */
} aoi_crossings;

#endif
