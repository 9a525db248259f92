/* looks.h - the properties of a target that count beside its position: kind, layers, extent.
 *
 *   layers   of entities and of nodes, in arrays by slot, which exist once one has others than the first; a node
 *            without layers of its own has its owner's
 *   extent   of the few that are large: records of their own, by place (larges below)
 *
 *        x:   [ 3 | 17 | 17.5 | 40 | .. ]     extents from 1 to 2     each level is sorted by x, so that the entities
 *             [ 5 | 900 ]                     extents from 512 on     near a box are a run of it, wide as the extents
 *
 * Large entities have kind 0 in their records, so an engine, or a tick, never proposes a pair with a large target and
 * pays nothing for it.  The space finds those pairs itself (larges.c), by the real kind.  aoi_find_targets and
 * aoi_find_watchers add the large entities to the answers of the index. */
#ifndef AOI_LOOKS_H
#define AOI_LOOKS_H

#include "core/space_records.h"

typedef struct aoi_looks {
    uint64_t kind, layers;
    double extent; /* 0: not large */
} aoi_looks;

typedef struct aoi_large {
    double extent;
    uint64_t kind;
    uint32_t entity;
} aoi_large;

typedef struct aoi_large_place {
    double x, y;
    double room; /* the extent and the rounding of sums */
    uint32_t entity;
    bool before; /* a second place: the position before the batch */
} aoi_large_place;

typedef struct aoi_large_level {
    int exponent; /* extents are below 2^exponent, and at least half of it */
    double room;  /* the largest of its places */
    aoi_large_place *places;
    uint32_t cap, count;
} aoi_large_level;

typedef struct aoi_larges {
    uint32_t count;
    bool moved;     /* some places are out of date */
    uint32_t stale; /* the entity whose place, at stale_x, may be out of date, or AOI_NONE */
    double stale_x;
    double slack; /* in a batch: entities that move farther have two places; else 0 */
    uint32_t *of; /* by entity slot: its record, or AOI_NONE */
    aoi_large *records;
    aoi_large_level *levels;
    uint32_t of_cap, record_cap, level_cap, level_count;
} aoi_larges;

#endif
