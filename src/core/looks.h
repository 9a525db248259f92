/* looks.h - what of a target counts beside its place: kind, layers, extent.
 *
 *   layers   of entities and of nodes, in arrays by slot, which are there as soon as one has others than the first; a node
 *            without layers of its own has its owner's
 *   extent   of the few that are large: records of their own, by place (larges below)
 *
 *        x:   [ 3 | 17 | 17.5 | 40 | .. ]     extents from 1 to 2     each level is sorted by x, so that what is near a box
 *             [ 5 | 900 ]                     extents from 512 on     is a run of it, as wide as the extents of the level
 *
 * Large entities are of kind 0 in their records: so an engine, or a tick, never proposes a pair of them as targets, and
 * pays nothing for them.  The space looks for those pairs itself (larges.c), by the real kind.  What asks the engine for
 * entities in a box, or for nodes around a point, gets the large ones as well from aoi_find_targets and aoi_find_watchers. */
#ifndef AOI_LOOKS_H
#define AOI_LOOKS_H

#include "core/space_records.h"

typedef struct aoi_looks {
    uint64_t kind, layers;
    double extent; /* 0: it is not large */
} aoi_looks;

typedef struct aoi_large {
    double extent;
    uint64_t kind;
    uint32_t entity;
} aoi_large;

typedef struct aoi_large_place {
    double x, y;
    double room; /* the extent, with room for what sums are rounded by */
    uint32_t entity;
    bool before; /* where it was before the batch, beside where it is */
} aoi_large_place;

typedef struct aoi_large_level {
    int exponent; /* extents are below 2^exponent, and at least half of it */
    double room;  /* the largest of its places */
    aoi_large_place *places;
    uint32_t cap, count;
} aoi_large_level;

typedef struct aoi_larges {
    uint32_t count;
    bool moved;     /* some are not where their places say */
    uint32_t stale; /* one that may not be where its place says, which was at stale_x; or AOI_NONE */
    double stale_x;
    double slack; /* of a batch: farther than that one goes that has two places; else 0 */
    uint32_t *of; /* by entity slot: its record, AOI_NONE: it is not large */
    aoi_large *records;
    aoi_large_level *levels;
    uint32_t of_cap, record_cap, level_cap, level_count;
} aoi_larges;

#endif
