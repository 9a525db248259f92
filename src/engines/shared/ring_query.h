/* ring_query.h - who, in a field of cells, may have come into a box that moves a little, or gone out of it?
 *
 *      +-----------------+     A box moves from a to b: an item can have come in or gone out only if it is in one of the
 *      | . . . . . . . . |     two but not in both.  Those that are surely in both are in the hole, those in either one
 *      | . +---------+ . |     are in the frame: the ring between holds all that may have changed, and a few that have
 *      | . |  hole   | . |     not.  Lines of items are compared whole, without branches; cells wholly inside the hole
 *      | . +---------+ . |     are skipped, whatever they hold.
 *      +-----------------+     A ring is a superset: rounding is on the safe side, and the rule, in double, decides. */
#ifndef AOI_SWEEPS_H
#define AOI_SWEEPS_H

#include "engines/shared/spatial_hash.h"

/* What to do with the items that were hit. */
typedef void (*aoi_visit)(void *ud, const uint32_t *refs, size_t count);

typedef struct aoi_visitor {
    aoi_visit visit;
    void *ud;
    uintptr_t records,
        others; /* arrays of lines (AOI_CACHE_LINE) in which it may read those of the refs: asked for ahead */
} aoi_visitor;

/* Both return the number of items compared, gaps included, and visit an item once. */
typedef struct aoi_sweeper {
    /* Everybody in the box, and maybe others. */
    uint64_t (*box)(const aoi_cells *c, const double *lo, const double *hi, const aoi_visitor *v);

    /* For boxes of half-extents from `least` to `most`, and a mover between the two places, as watcher or as target.
     * least 0: everyone who is inside at either end, as where something else than x and y, the height, may make the
     * difference.  `center`: a cell near `from`, or AOI_NONE.  The cost is that of the two places, whatever lies
     * between. */
    uint64_t (*move)(const aoi_cells *c, const double *from, const double *to, double least, double most,
                     uint32_t center, const aoi_visitor *v);
} aoi_sweeper;

const aoi_sweeper *aoi_best_sweeper(void);  /* for this processor */
const aoi_sweeper *aoi_plain_sweeper(void); /* for any */

#endif
