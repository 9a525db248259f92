/* spatial_hash.h - a sparse, unbounded field of square cells, and the items that stand in them.
 *
 *         |       |       |               cell (cx, cy) holds the points with floor(x / side) = cx, floor(y / side) = cy
 *   ------+-------+-------+------         (floor, so that cell (0,0) is as large as any other)
 *         | -1, 0 |  0, 0 |
 *   ------+-------+-------+------         its items stand in lines of fourteen; only the first has gaps:
 *         |       |       |               cell -> [ x x . . | y y . . | next ] -> [ full ] -> [ full ]
 *                                                 [ ref ref . .       | count]
 *
 * A line keeps coordinates as multiples of 1/8192 of a side, rounded down, and of these the low 16 bits, which tell
 * apart what is within 8 cells: enough to leave out nearly all that need not be asked, a line at a time.  They and the
 * way to the next line are one line of memory; the refs, the other, are read only where one is hit.  Exact positions are
 * the records' affair.
 *
 * Only cells that have held something since the last tidying exist: memory follows the items, not the map.  Beyond
 * +-2^30 cells all coordinates share the outermost ones.  Method: spatial hashing; nine-grid in the AOI literature. */
#ifndef AOI_CELLS_H
#define AOI_CELLS_H

#include <math.h>

#include "base/lattice.h"

enum { AOI_ITEMS = 14, AOI_LANES = 16 }; /* in a line; and by lanes are slots counted */

typedef struct aoi_line {
    _Alignas(AOI_CACHE_LINE) uint16_t x[AOI_ITEMS];
    uint32_t used; /* the lower of two bits for each item, as bytes of vectors are compared */
    uint16_t y[AOI_ITEMS];
    uint32_t next; /* the next line of the cell, or AOI_NONE */
    uint32_t ref[AOI_ITEMS];
    uint32_t count;
} aoi_line;

typedef struct aoi_cell { /* the first of its lines of memory is all that a sweep around it reads, but for the items */
    _Alignas(AOI_CACHE_LINE) int32_t cx;
    int32_t cy;
    uint32_t count;                            /* items */
    uint32_t first[9];                         /* lines: its own, in the middle, and its neighbours', row by row */
    double begin[2];                           /* the first mark of the nine; not a number at the end of the world */
    _Alignas(AOI_CACHE_LINE) uint32_t near[9]; /* in the same order the cells that exist */
} aoi_cell;

typedef struct aoi_cells {
    double side, scale; /* scale: marks (aoi_cell_mark) in a unit of length */
    aoi_cell *cells;
    uint32_t cap, top, unused, used, empty; /* used: cells that exist; empty: those of them without items */
    uint32_t count;                         /* items in all */
    aoi_line *lines;
    uint32_t line_cap, line_top, unused_line;
    aoi_index index;
} aoi_cells;

void aoi_cells_open(aoi_cells *c, double side);
void aoi_cells_close(aoi_memory *m, aoi_cells *c);

#define AOI_CELL_BITS 13 /* of a coordinate within its cell */

enum { AOI_MIDDLE = 4 };

static inline int aoi_cell_direction(int dx, int dy) {
    return (dy + 1) * 3 + dx + 1;
}

static inline int64_t aoi_floor(double k) {
    int64_t i = (int64_t)k;
    return i - (k < (double)i);
}

#define AOI_MARK_MOST ((int64_t)AOI_CELL_MOST << AOI_CELL_BITS)

/* The same in finer units, of which a cell has 2^AOI_CELL_BITS. */
static inline int64_t aoi_cell_mark(const aoi_cells *c, double v) {
    double k = v * c->scale;
    if (k > (double)-AOI_MARK_MOST && k < (double)AOI_MARK_MOST) return aoi_floor(k);
    if (v > DBL_MAX) return aoi_cell_mark(c, DBL_MAX);
    if (v < -DBL_MAX) return aoi_cell_mark(c, -DBL_MAX);
    return k > 0 ? AOI_MARK_MOST : -AOI_MARK_MOST;
}
static inline int32_t aoi_cell_of_mark(int64_t mark) {
    return (int32_t)(mark >> AOI_CELL_BITS); /* an arithmetic shift: downwards */
}

/* Of a cell's neighbourhood.  The outermost cells hold what is beyond them, too: where it is their marks do not tell. */
static inline double aoi_cell_begin(int32_t k) {
    return k > 1 - AOI_CELL_MOST && k < AOI_CELL_MOST - 1 ? ((double)k - 1) * (1 << AOI_CELL_BITS) : NAN;
}

static inline uint32_t aoi_cells_find(const aoi_cells *c, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_index_next(&c->index, hash, &at)) != AOI_NONE)
        if (c->cells[i].cx == cx && c->cells[i].cy == cy) break;
    return i;
}

/* Whether the place is the cell's own or a neighbour's. */
static inline bool aoi_cell_touches(const aoi_cell *k, int32_t cx, int32_t cy) {
    return (uint32_t)cx - (uint32_t)k->cx + 1 <= 2 && (uint32_t)cy - (uint32_t)k->cy + 1 <= 2;
}

/* The cell of a point with room for one more item; AOI_NONE when memory is refused.  `near`: a cell that may be that
 * one or a neighbour, or AOI_NONE; it saves a look-up. */
uint32_t aoi_cells_ready(aoi_memory *m, aoi_cells *c, uint32_t near, const double *at);
/* Puts an item into a cell that is ready; returns its slot. */
uint32_t aoi_cells_put(aoi_cells *c, uint32_t cell, const double *at, uint32_t ref);
/* Takes an item out; returns the ref of the item that has got its slot, or AOI_NONE. */
uint32_t aoi_cells_take(aoi_cells *c, uint32_t cell, uint32_t slot);
/* New coordinates, if that is within the same cell; false if it is not, or at the end of the world. */
static inline bool aoi_cells_set(aoi_cells *c, uint32_t cell, uint32_t slot, const double *at) {
    const double *begin = c->cells[cell].begin, side = 1 << AOI_CELL_BITS;
    double x = at[0] * c->scale, y = at[1] * c->scale, x0 = begin[0] + side, y0 = begin[1] + side;
    if (!(x0 <= x && x < x0 + side && y0 <= y && y < y0 + side)) return false;
    aoi_line *l = c->lines + slot / AOI_LANES;
    l->x[slot % AOI_LANES] = (uint16_t)aoi_floor(x);
    l->y[slot % AOI_LANES] = (uint16_t)aoi_floor(y);
    return true;
}
/* Forgets empty cells once they are many, and gives everything back where no item is left. */
void aoi_cells_clear_out(aoi_memory *m, aoi_cells *c);
static inline void aoi_cells_tidy(aoi_memory *m, aoi_cells *c) { /* many steps pay for one walk over all cells */
    if (c->empty >= 32 ? c->empty >= c->used / 4 : c->used && !c->count) aoi_cells_clear_out(m, c);
}

/* Cells are numbered with gaps. */
static inline bool aoi_cell_exists(const aoi_cell *k) {
    return k->count != UINT32_MAX;
}

/* Whether to walk all cells instead of the span: it has more places than there are cells. */
static inline bool aoi_span_is_wide(const aoi_cells *c, const aoi_span *s) {
    return ((double)s->x1 - s->x0 + 1) * ((double)s->y1 - s->y0 + 1) > (double)c->top + 1;
}
/* Whether the item stands there, at this position as far as a line tells. */
bool aoi_cells_has(const aoi_cells *c, uint32_t cell, uint32_t slot, const double *at, uint32_t ref);
const char *aoi_cells_check(const aoi_cells *c);

#endif
