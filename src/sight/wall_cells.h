/* wall_cells.h - a grid of walls, to find those near a line.
 *
 *   +------+------+------+
 *   |      |   b  |      |      a wall is filed in every cell that it passes, or comes near to by a part of a side;
 *   |w . . | . /. |. t   |      a line then visits the cells that it passes, with one comparison a step: no rounding
 *   |      |  /   |      |      moves a crossing by as much as that part
 *   +------+-a----+------+
 *
 * Cells are squares of a power of two, base * 16^k for level k.  A wall is in the first level where it passes at most
 * MOST_CELLS, so that a wall of any length takes few; a line walks through each level in use.
 *
 *   heads --hash of a cell--> chunk [ cell | 4 walls | their ends as floats ] --> chunk --> ...
 *
 * The hash of a cell is linear, so that a step adds a number to it.  The walls of a cell are an unrolled list.  The ends
 * are in cells from the lower corner of the cell.  Four walls at a time are compared with the line in floats; the exact
 * wall is read only if it hides within their error. */
#ifndef AOI_WALL_CELLS_H
#define AOI_WALL_CELLS_H

#include "aoi_sight.h"
#include "base/hash_index.h"
#include "base/memory.h"

enum { AOI_WALL_LEVELS = 64, AOI_WALL_LANES = 4 };

typedef struct aoi_wall_chunk {
    uint32_t cx, cy; /* cells are counted from 2^30 sides below 0 */
    uint32_t next;   /* in the bucket, or in the chain of free ones */
    uint16_t level, count;
    uint32_t wall[AOI_WALL_LANES];
    float ends[4][AOI_WALL_LANES]; /* x of a, y of a, x of b, y of b */
} aoi_wall_chunk;

typedef struct aoi_wall_level {
    int exponent;           /* of the side of its cells */
    uint32_t count;         /* walls */
    double inverse;         /* of the side */
    double longest;         /* length of the longest wall that has been filed, in cells */
    double low[2], high[2]; /* span of the cells that have been used */
} aoi_wall_level;

typedef struct aoi_wall_cells {
    int base; /* exponent of the side of level 0's cells */
    uint32_t level_count;
    aoi_wall_level levels[AOI_WALL_LEVELS];
    uint32_t *heads; /* buckets of chunks, 2^(32 - shift) of them, or none */
    uint32_t head_count, shift;
    aoi_wall_chunk *chunks;
    uint32_t chunk_cap, chunk_top, free_chunk, chunk_count;
    uint32_t underflowing; /* walls with which products underflow */
    uint32_t filed;        /* sum over the walls of the cells in which they are filed */
} aoi_wall_cells;

void aoi_wall_cells_open(aoi_wall_cells *k, int base);
void aoi_wall_cells_free(aoi_memory *m, aoi_wall_cells *k);

/* Files a wall under its slot.  False: memory refused. */
bool aoi_wall_cells_add(aoi_memory *m, aoi_wall_cells *k, const aoi_wall *w, uint32_t slot);
void aoi_wall_cells_remove(aoi_wall_cells *k, const aoi_wall *w, uint32_t slot);
uint32_t aoi_wall_cells_used(const aoi_wall_cells *k); /* buckets */

/* Whether the ends differ by so little on an axis that the rule's products underflow: then what it takes for crossed may
 * be anywhere. */
bool aoi_products_underflow(const double *a, const double *b);

/* The ends are in the order of the rule.  Calls `meet` for every wall that may hide one of them from the other, some
 * more than once, until it returns true; with `whole` for every wall filed in a cell on the line through both ends.
 * -1: there are more than `most` cells, or they are too small to be told apart, or products underflow; else whether
 * `meet` has ended the walk. */
typedef bool aoi_wall_meet(void *ud, uint32_t slot);
int aoi_wall_cells_walk(const aoi_wall_cells *k, const double *w, const double *t, bool whole, uint32_t most,
                        aoi_wall_meet *meet, void *ud);

#endif
