/* ring_query.h - finds the items of a spatial hash for which an area that moves a little may change.
 *
 *   +-----+-----+-----+     The ring (ring.h) in which something may change meets some of the nine cells around the
 *   |  .--+-----+--.  |     mover, whose head buckets its cell records: these are compared as a whole (ring_match.h).
 *   +--|--+-----+--|--+     A cell wholly in the inner region is skipped, whatever it holds, and so is one at a corner
 *   |  |  |  m  |  |  |     that a circle does not reach.  Larger rings, and rings around places without a cell, go by
 *   +--|--+-----+--|--+     look-ups, or over all cells where these are fewer.
 *   |  '--+-----+--'  |
 *   +-----+-----+-----+     Round areas have rings of circles; areas with hysteresis have two, and a gap between them.
 *
 * Coordinates are rounded, so that a query returns a superset: rounding is on the safe side, and exact positions
 * decide. Cost: the cells that the ring meets and the items in them; for a jump those of both places, whatever lies
 * between. */
#ifndef AOI_RING_QUERY_H
#define AOI_RING_QUERY_H

#include "grid/ring.h"
#include "grid/spatial_hash.h"

enum { AOI_RING_HITS = 256 }; /* of a visit, at most */

/* Consumes items that were hit. */
typedef void (*aoi_visit)(void *ud, const uint32_t *refs, size_t count);

typedef struct aoi_visitor {
    aoi_visit visit;
    void *ud;
    uintptr_t records, others; /* two arrays of cache lines; the lines of the refs are prefetched before the visit */
    bool marked;               /* marked items only */
    bool tells;                /* refs come with the bits below */
    bool each;                 /* the items carry reaches, which set them; else all are set */
    /* each: how far the mover's own area reaches, or -1; least by which an area is inside of its reach, of any item. */
    double own, depth;
} aoi_visitor;

static inline aoi_visitor aoi_visits(aoi_visit visit, void *ud, const void *records, const void *others) {
    return (aoi_visitor){.visit = visit, .ud = ud, .records = (uintptr_t)records, .others = (uintptr_t)others};
}

#define AOI_RING_OWN (UINT32_C(1) << 31)    /* the mover's own area may change for the item, */
#define AOI_RING_THEIRS (UINT32_C(1) << 30) /* and the item's one for the mover */
#define AOI_RING_REF (AOI_RING_THEIRS - 1)

/* Visits every item in the box lo..hi (bounds inclusive), and maybe others, each once.  Returns the items compared,
 * gaps included. */
uint64_t aoi_box_query(const aoi_spatial_hash *h, const double *lo, const double *hi, const aoi_visitor *v);

/* Visits every item for which an area with these borders may change when the area, or the item's own one, moves between
 * the two places: each once, and maybe others.  solid: every item that may be inside at either end, as needed when
 * heights change.  `center`: a cell near `from`, or AOI_NONE.  Returns the items compared. */
uint64_t aoi_ring_query(const aoi_spatial_hash *h, const double *from, const double *to, const aoi_borders *b,
                        bool solid, uint32_t center, const aoi_visitor *v);

#endif
