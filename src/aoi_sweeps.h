/* aoi_sweeps.h - walks over the cells of a field that a ring (aoi_scan.h) concerns.
 *
 *   +---+---+---+---+      Only cells that the ring touches (o) are scanned; those wholly inside its inner rectangle (i)
 *   | o | o | o | o |  .   are skipped, whatever they hold, and so are all outside.
 *   +---+---+---+---+
 *   | o | i | i | o |      The cells of a large ring are found by walking it; if even that is longer than the list of all
 *   +---+---+---+---+      cells, by walking the list.
 *   | o | o | o | o | */
#ifndef AOI_SWEEPS_H
#define AOI_SWEEPS_H

#include "aoi_cells.h"
#include "aoi_scan.h"

/* What to do with the items that were hit. */
typedef void (*aoi_visit)(void *ud, const uint32_t *refs, size_t count);

/* All return the number of items compared.  `center`: a cell near it all, or AOI_NONE; it saves look-ups. */
uint64_t aoi_walk_ring(const aoi_cells *c, aoi_scanner scan, const aoi_ring *q, uint32_t center, aoi_visit visit,
                       void *ud);

/* The ring of a move.  A move so far that the boxes at its ends do not meet is two, without inner rectangles: the cost
 * is that of the two places, whatever lies between. */
uint64_t aoi_walk_move(const aoi_cells *c, aoi_scanner scan, const double *from, const double *to, double least,
                       double most, bool all, uint32_t center, aoi_visit visit, void *ud);

#endif
