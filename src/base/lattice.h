/* lattice.h - an unbounded lattice of square cells over the plane: numbers, spans and hashes of cells.
 *
 *         |       |       |               cell (cx, cy) holds the points with floor(x / side) = cx, floor(y / side) = cy
 *   ------+-------+-------+------         (floor, so that cell (0,0) is as large as any other)
 *         | -1, 0 |  0, 0 |
 *   ------+-------+-------+------         Beyond +-2^30 cells all coordinates share the outermost ones. */
#ifndef AOI_LATTICE_H
#define AOI_LATTICE_H

#include <float.h>
#include <math.h>

#include "aoi.h"
#include "base/hash_index.h"

#define AOI_CELL_MOST (1 << 30)

static inline bool aoi_is_coordinate(double v) { /* also for lengths: nan is none */
    return v >= -AOI_FARTHEST && v <= AOI_FARTHEST;
}

typedef struct aoi_span { /* cells, bounds included */
    int32_t x0, y0, x1, y1;
} aoi_span;

/* The number of the cell, or tile, that a coordinate is in; never falls while the coordinate rises. */
static inline int32_t aoi_cell_number(double v, double inverse) {
    double k = v * inverse;
    if (k > -AOI_CELL_MOST && k < AOI_CELL_MOST) {
        int32_t i = (int32_t)k;
        return i - (k < i); /* floor */
    }
    return k > 0 ? AOI_CELL_MOST : -AOI_CELL_MOST;
}

static inline uint32_t aoi_cell_hash(int32_t cx, int32_t cy) {
    return aoi_pair_hash((uint32_t)cx, (uint32_t)cy);
}

/* The interval of a cell, but for rounding; the outermost ones have no end, nor has the one of an infinite side. */
static inline void aoi_cell_interval(int32_t k, double side, double *lo, double *hi) {
    bool all = isinf(side);
    *lo = all || k <= -AOI_CELL_MOST ? (double)-INFINITY : k * side;
    *hi = all || k >= AOI_CELL_MOST ? (double)INFINITY : (k + 1.0) * side;
}

/* Whether a count has doubled, or fallen to a quarter, since it chose something; then it chooses anew.  Both change a
 * count by as much as choosing costs. */
static inline bool aoi_chooses_anew(uint32_t now, uint32_t *then) {
    if (now == *then || (now < 2 * *then && now >= *then / 4)) return false;
    *then = now;
    return true;
}

static inline bool aoi_span_holds(const aoi_span *s, int32_t cx, int32_t cy) {
    return s->x0 <= cx && cx <= s->x1 && s->y0 <= cy && cy <= s->y1;
}

#endif
