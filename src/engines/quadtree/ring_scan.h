/* ring_scan.h - which of many points are in a rectangle but not in a smaller one inside it, several at a time.
 *
 *      +-----------------+     A box of half-extent r that moves a little, from a to b: a point can have come in or gone
 *      | . . . . . . . . |     out only if it is in one of the two but not in both.  Those that are surely in both are in
 *      | . +---------+ . |     the inner rectangle, those in either one are in the outer: the ring between holds all that
 *      | . |  a b    | . |     may have changed, and a few that have not.
 *      | . +---------+ . |
 *      +-----------------+     No inner rectangle: everybody in the outer one.
 *
 * Plain loops over contiguous coordinates, without branches, that compilers turn into vector code; on x86-64 there is a
 * second version for AVX2, chosen when a space is opened.  A ring is a superset: rounding is on the safe side, and the
 * rule, in double, decides. */
#ifndef AOI_SCAN_H
#define AOI_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs of so many points or more must be readable, not initialised, up to the next multiple of it. */
#define AOI_SCAN_LANES 4

typedef struct aoi_ring {
    double center[2], inner[2], outer[2]; /* half-extents, bounds inclusive; inner < 0: there is none */
} aoi_ring;

/* For boxes of half-extents from `least` to `most`, and a mover between the two places, as watcher or as target.
 * `all`: everyone who is inside at either end, since something else than x and y, the height, may make the difference. */
aoi_ring aoi_ring_of_move(const double *from, const double *to, double least, double most, bool all);
/* The same as one ring, or as two without inner rectangles for a move so far that the boxes at its ends do not meet: the
 * cost is that of the two places, whatever lies between.  Nobody is in both.  Returns how many. */
size_t aoi_rings_of_move(const double *from, const double *to, double least, double most, bool all, aoi_ring out[2]);
/* For everybody in the box lo..hi. */
aoi_ring aoi_ring_of_box(const double *lo, const double *hi);

typedef struct aoi_run { /* n points and what they stand for */
    const double *x, *y;
    const uint32_t *refs;
    size_t n;
} aoi_run;

/* Writes the refs of the points in the ring to out (room for all points of all runs), returns how many. */
typedef size_t (*aoi_scanner)(const aoi_ring *q, const aoi_run *runs, size_t count, uint32_t *out);

aoi_scanner aoi_best_scanner(void);  /* for this processor */
aoi_scanner aoi_plain_scanner(void); /* for any */

#endif
