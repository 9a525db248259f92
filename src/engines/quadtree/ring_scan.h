/* ring_scan.h - which of many points are in a ring (ring.h), several at a time.
 *
 *   x  [ 0 1 2 3 4 5 6 7 ... ]     out <- numbers of the points whose distance from the center is within `outer`
 *   y  [ 0 1 2 3 4 5 6 7 ... ]            on both axes and beyond `inner` on one
 *
 * Compared in double, without branches; the few that hit are then written.  In versions: for any processor, and two at
 * a time where the compiler can count on SSE2, as on every x86-64. */
#ifndef AOI_RING_SCAN_H
#define AOI_RING_SCAN_H

#include "engines/shared/ring.h"

/* Arrays of so many points or more must be readable, not initialised, up to the next multiple of it. */
enum { AOI_SCAN_WIDTH = 4 };

/* Writes the numbers of the points in the ring to out, which has room for n; returns how many. */
size_t aoi_ring_scan(const aoi_ring *q, const double *x, const double *y, size_t n, uint32_t *out);

#endif
