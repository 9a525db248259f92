/* history.h - a history from inside: history.c records and answers, past_cells.c finds the traces near a position.
 *
 *   trace   the time of an entity in the space, or a part of it with constant looks: [ entered, left ) in ticks
 *   row     the number of a trace that has moved within the window; one that stands still stores its position instead
 *   column  the positions of all rows at one tick; a ring of columns holds the window
 *
 *      row      0   1   2   3                            a tick writes one column from end to end: the movers in the
 *      tick 6 [ a | f | k | p ]                          order in which they moved, the others as they stood
 *      tick 7 [ b | f | l | p ]   now = 8
 *      tick 8 [ c | g | l | p ]                          place of a trace at a tick: columns[ tick ][ row of trace ]
 *
 *   cell    a square of the plane: [ trace, from, to | trace, from, to | .. ]   which traces were there, and when
 *
 * Hooks of the space list dirty entities; a tick only reads these and the rows in use.  A trace that has not moved for
 * a whole window gives its row back; one that has ended is removed when the window has passed its end, as are the stays
 * of cells.  The first question about a neighbourhood makes the cells, with sides that fit it; a trace with an extent
 * is in a cell of a higher level, at least as large as the extent. */
#ifndef AOI_HISTORY_H
#define AOI_HISTORY_H

#include "aoi_history.h"
#include "base/lattice.h"
#include "core/space.h"

enum { AOI_PAST_LEVELS = 24 }; /* the last level has all larger extents */

typedef struct aoi_trace {
    int64_t id;
    aoi_looks looks;
    double rest[3];         /* its position if it has no row */
    uint32_t entered, left; /* ticks; left: AOI_NONE until it ends */
    uint32_t cell, stay;    /* its cell at the last tick, AOI_NONE: none, and its stay there */
    uint32_t next;          /* the next free one, or the next to end */
    uint32_t entity;        /* slot; AOI_NONE: the trace has ended */
} aoi_trace;

typedef struct aoi_past_row {
    uint32_t trace; /* AOI_NONE: unused */
    uint32_t moved; /* the tick of the last move; of an unused row the next one */
    double cell[2]; /* the cell of level 0 in which it is filed, in sides; NAN: unknown */
} aoi_past_row;

typedef struct aoi_column { /* `dims` coordinates for each row */
    double *places;
    uint32_t cap;
} aoi_column;

typedef struct aoi_stay {     /* of a trace in a cell, in ticks [ from, to ) */
    uint32_t trace, from, to; /* to: AOI_NONE while it goes on */
} aoi_stay;

typedef struct aoi_past_cell {
    int32_t cx, cy;
    uint32_t level;
    uint32_t cap, count; /* count: 0: free, `next` is the next free one */
    uint32_t next;
    aoi_stay *stays;
} aoi_past_cell;

typedef struct aoi_past_level { /* 0: of traces without an extent */
    uint32_t stays;             /* number in its cells */
    double extent;              /* the largest extent that was ever filed in it */
} aoi_past_level;

struct aoi_history {
    aoi_layer layer;
    uint32_t ticks;     /* length of the window before the last tick */
    uint32_t columns;   /* of the ring: one for each tick of the window, and one for the tick being recorded */
    uint32_t now;       /* the number of the last tick */
    bool all_dirty;     /* memory was refused: the next tick reads all entities */
    uint32_t *trace_of; /* by entity slot; AOI_NONE: it has entered since the last tick */
    uint8_t *is_dirty;  /* by entity slot: HISTORY_MOVED ... */
    uint32_t *dirty;    /* slots, in the order in which they became dirty */
    uint32_t *row_at;   /* by entity slot: the row of its trace, AOI_NONE if there is none */
    uint32_t trace_of_cap, row_at_cap, is_dirty_cap, dirty_cap, dirty_count;
    aoi_trace *traces;
    uint32_t *row_of; /* by trace; AOI_NONE: it has none */
    uint32_t trace_cap, row_of_cap, trace_top, unused_trace, trace_count;
    uint32_t large_count;             /* traces with an extent */
    uint32_t first_ended, last_ended; /* chain of traces */
    aoi_index ids;                    /* traces */
    aoi_past_row *rows;
    aoi_column *ring;
    uint32_t row_cap, row_top, row_count, unused_row, ring_cap;
    double side, per_side; /* of cells of level 0, and 1 / side; 0: there are none */
    aoi_past_level levels[AOI_PAST_LEVELS];
    aoi_past_cell *cells;
    aoi_index cell_index;
    uint32_t cell_cap, cell_top, unused_cell, cell_count;
    uint32_t over_count; /* stays that have ended */
    uint32_t swept;      /* the next cell to be swept */
    uint32_t misfits;    /* consecutive questions with an area much larger or smaller than the cells */
};

static inline aoi_memory *aoi_history_memory(const aoi_history *h) {
    return &h->layer.space->world.memory;
}

/* The first tick of the window. */
static inline uint32_t aoi_history_first(const aoi_history *h) {
    return h->now < h->ticks ? 0 : h->now - h->ticks;
}

static inline bool aoi_trace_was(const aoi_trace *t, uint32_t tick) {
    return t->entered <= tick && tick < t->left;
}

static inline double *aoi_row_place(const aoi_history *h, uint32_t row, uint32_t column) {
    return h->ring[column].places + row * (size_t)h->layer.space->world.dims;
}

/* The position of the trace at a tick of the window between entered and left. */
static inline const double *aoi_trace_place(const aoi_history *h, uint32_t trace, uint32_t tick) {
    uint32_t row = h->row_of[trace];
    return row == AOI_NONE ? h->traces[trace].rest : aoi_row_place(h, row, tick % h->columns);
}

/* ---- past_cells.c: except aoi_past_find these functions do nothing while there are no cells ------------------------- */

/* Whether the row is filed in the cell of that position: then it is on every level. */
static inline bool aoi_past_is_in_cell(const aoi_past_row *r, double per_side, const double *pos) {
    double x = pos[0] * per_side, y = pos[1] * per_side;
    return (x >= r->cell[0]) & (x < r->cell[0] + 1) & (y >= r->cell[1]) & (y < r->cell[1] + 1);
}
bool aoi_past_put(aoi_history *h, uint32_t trace, const double *pos, uint32_t tick); /* false: memory is refused */
void aoi_past_end(aoi_history *h, uint32_t trace, uint32_t tick);                    /* ends its stay at that tick */
void aoi_past_sweep(aoi_history *h); /* drops stays of some cells that ended before the window */
/* Stores into world.hits the traces with extents within reach of a position on the first two axes at that tick, and
 * maybe others; false: memory is refused. */
bool aoi_past_find(aoi_history *h, uint32_t tick, const double *at, double reach);
void aoi_past_free(aoi_history *h);
const char *aoi_past_check(const aoi_history *h);

#endif
