/* looks.h - the properties of a target that count beside its position: kind, layers, extent.
 *
 *   layers   of entities and of nodes, in arrays by slot, which exist once one has others than the first; a node
 *            without layers of its own has its owner's
 *   extent   of the few that are large: records of their own, whose places are scanned (larges below)
 *
 * Large entities have kind 0 in their records, so an engine, or a tick, never proposes a pair with a large target and
 * pays nothing for it.  The space finds those pairs itself (larges.c), by the real kind.  aoi_find_targets and
 * aoi_find_watchers add the large entities to the answers of the index. */
#ifndef AOI_LOOKS_H
#define AOI_LOOKS_H

#include "core/space_records.h"

typedef struct aoi_looks {
    uint64_t kind, layers;
    double extent; /* 0: not large; below 0 it is found as one of extent 0 */
} aoi_looks;

typedef struct aoi_large {
    double extent;
    uint64_t kind;
    uint32_t entity;
} aoi_large;

typedef struct aoi_large_places { /* of four; room: the extent and the rounding, -INFINITY in a lane that is free */
    float x[4], y[4], room[4];
} aoi_large_places;

typedef struct aoi_larges {
    uint32_t count;
    bool moved;   /* places may be out of date */
    uint32_t *of; /* by entity slot: its record, or AOI_NONE */
    aoi_large *records;
    aoi_large_places *places; /* of the records */
    uint32_t of_cap, record_cap, place_cap;
} aoi_larges;

#endif
