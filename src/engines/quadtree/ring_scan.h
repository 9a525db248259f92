/* ring_scan.h - for which of many points an area that moves a little may change (ring.h), several at a time.
 *
 *   x  [ 0 1 2 3 4 5 6 7 ... ]     bits <- points within `outer` and not within `inner`; nor, where areas keep, in the
 *   y  [ 0 1 2 3 4 5 6 7 ... ]             gap between the borders of entering and those of leaving
 *
 *   box      by distances on each axis from the middle of the step: only corners are hit in vain
 *   circle   by squares of distances from both of its ends: idle is what is on the same side of each border at either
 *
 * Points are floats, four to an instruction, and borders are moved by more than all roundings together: a superset is
 * hit, and exact positions decide.  Where coordinates are beyond all floats every point is. */
#ifndef AOI_RING_SCAN_H
#define AOI_RING_SCAN_H

#include "engines/shared/ring.h"

typedef struct aoi_scan {
    aoi_ring box; /* all that may be hit is within `outer` of it, nothing within `inner` */
    bool round, gap;
    float x[2], y[2];                                   /* round: both ends of the step; else its middle */
    float inner[2], outer[2], gap_begin[2], gap_end[2]; /* by axis; round: squares of distances, in [0] */
} aoi_scan;

/* As rings of a move, one or two that hit no point both (aoi_rings_of_move). */
size_t aoi_scans_of_move(const double *from, const double *to, const aoi_borders *b, bool solid, aoi_scan out[2]);
/* For all in the box lo..hi. */
aoi_scan aoi_scan_of_box(const double *lo, const double *hi);

/* A coordinate as scans have it. */
static inline float aoi_scan_float(double v) {
    return (float)(v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v);
}

/* Points that are asked about at once; fewer are readable, not initialised, up to the next multiple of the width, unless
 * they are fewer than that. */
enum { AOI_SCAN_WIDTH = 4, AOI_SCAN_MOST = 64 };

/* Bit i: point i is hit. */
uint64_t aoi_ring_scan(const aoi_scan *s, const float *x, const float *y, size_t n);

#endif
