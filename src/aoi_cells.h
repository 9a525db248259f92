/* aoi_cells.h - a sparse, unbounded field of square cells, and the items that stand in them.
 *
 *         |       |       |               cell (cx, cy) holds the points with floor(x / side) = cx, floor(y / side) = cy
 *   ------+-------+-------+------         (floor, so that cell (0,0) is as large as any other)
 *         | -1, 0 |  0, 0 |
 *   ------+-------+-------+------         one block a cell:  x x x x x .  y y y y y .  ref ref ref ref ref .
 *         |       |       |               items are contiguous, in no order; a removal fills the hole with the last
 *
 * Only cells that have held something since the last tidying exist: memory follows the items, not the map.  Beyond
 * +-2^30 cells all coordinates share the outermost ones.  Method: spatial hashing; nine-grid in the AOI literature. */
#ifndef AOI_CELLS_H
#define AOI_CELLS_H

#include <float.h>

#include "aoi_index.h"
#include "aoi_scan.h"

typedef struct aoi_cell {
    int32_t cx, cy;
    double *items; /* x[cap], y[cap], ref[cap] */
    uint32_t count, cap;
    uint32_t near[9]; /* itself and its neighbours that exist, row by row */
} aoi_cell;

typedef struct aoi_cells {
    double side, inverse;
    aoi_cell *cells;
    uint32_t cap, top, unused, used, empty; /* used: cells that exist; empty: those of them without items */
    uint32_t count;                         /* items in all */
    aoi_index index;
} aoi_cells;

typedef struct aoi_span { /* cells, bounds included */
    int32_t x0, y0, x1, y1;
} aoi_span;

void aoi_cells_open(aoi_cells *c, double side);
void aoi_cells_close(aoi_memory *m, aoi_cells *c);

#define AOI_CELL_MOST (1 << 30)

static inline int aoi_cell_direction(int dx, int dy) {
    return (dy + 1) * 3 + dx + 1;
}

/* The number of the cell, or tile, that a coordinate is in; never falls while the coordinate rises. */
static inline int32_t aoi_cell_number(double v, double inverse) {
    double k = v * inverse;
    if (k > -AOI_CELL_MOST && k < AOI_CELL_MOST) {
        int32_t i = (int32_t)k;
        return i - (k < i); /* floor */
    }
    if (v > DBL_MAX)
        return aoi_cell_number(DBL_MAX, inverse); /* a bound that overflowed is no farther than the points */
    if (v < -DBL_MAX) return aoi_cell_number(-DBL_MAX, inverse);
    return k > 0 ? AOI_CELL_MOST : -AOI_CELL_MOST;
}
static inline int32_t aoi_cell_of(const aoi_cells *c, double v) {
    return aoi_cell_number(v, c->inverse);
}

static inline const double *aoi_cell_x(const aoi_cell *c) {
    return c->items;
}
static inline const double *aoi_cell_y(const aoi_cell *c) {
    return c->items + c->cap;
}
static inline uint32_t *aoi_cell_refs(const aoi_cell *c) {
    return (uint32_t *)(void *)(c->items + 2 * (size_t)c->cap);
}

static inline uint32_t aoi_cell_hash(int32_t cx, int32_t cy) {
    return aoi_hash64((uint64_t)(uint32_t)cx << 32 | (uint32_t)cy);
}

static inline uint32_t aoi_cells_find(const aoi_cells *c, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_index_next(&c->index, hash, &at)) != AOI_NONE)
        if (c->cells[i].cx == cx && c->cells[i].cy == cy) break;
    return i;
}

/* The cell of a point with room for one more item; AOI_NONE when memory is refused. */
uint32_t aoi_cells_ready(aoi_memory *m, aoi_cells *c, double x, double y);
/* Puts an item into a cell that is ready; returns its slot. */
uint32_t aoi_cells_put(aoi_cells *c, uint32_t cell, double x, double y, uint32_t ref);
/* Takes an item out; returns the ref of the item that has got its slot, or AOI_NONE. */
uint32_t aoi_cells_take(aoi_cells *c, uint32_t cell, uint32_t slot);
/* New coordinates within the same cell. */
static inline void aoi_cells_set(aoi_cells *c, uint32_t cell, uint32_t slot, double x, double y) {
    aoi_cell *k = c->cells + cell;
    k->items[slot] = x;
    k->items[k->cap + slot] = y;
}
/* Gives back the storage of empty cells once they are many; cheap to call. */
void aoi_cells_tidy(aoi_memory *m, aoi_cells *c);

/* Cells are numbered with gaps: a free record has no room at all. */
static inline bool aoi_cell_exists(const aoi_cell *k) {
    return k->cap != UINT32_MAX;
}

/* Whether to walk all cells instead of the span: it has more places than there are cells. */
static inline bool aoi_span_is_wide(const aoi_cells *c, const aoi_span *s) {
    return ((double)s->x1 - s->x0 + 1) * ((double)s->y1 - s->y0 + 1) > (double)c->top + 1;
}
static inline bool aoi_span_holds(const aoi_span *s, int32_t cx, int32_t cy) {
    return s->x0 <= cx && cx <= s->x1 && s->y0 <= cy && cy <= s->y1;
}

const char *aoi_cells_check(const aoi_cells *c);

#endif
