/* history.h - a history from inside: history.c notes and answers, past_cells.c finds what was near a place.
 *
 *   trace   one life of an entity, or the part of it in which its looks were the same: [ entered, left ) in ticks
 *   row     of a trace that has moved within the window: a place for each of its ticks, as a ring
 *   cell    a square of the plane: -> [ trace | from, to ) -> [ trace | from, to ) ->      where a trace was, and when
 *
 *                         tick:  .. 5   6   7   8 = now       window: the ticks that can be asked about
 *   moves at 7      row   [ a | a | b | b ]   cells: a's [ 0, 7 )   b's [ 7, .. )
 *   stands still    no row                    cell of its place [ 0, .. )
 *
 * The space's hook notes which entities are dirty; a tick looks at those alone, and at the rows in use.  A trace that
 * has not moved for a whole window gives its row back; one that has ended goes when the window has passed its end, as do
 * the stays of cells.  Cells are made with the first question about a neighbourhood, with sides that fit it. */
#ifndef AOI_HISTORY_H
#define AOI_HISTORY_H

#include "aoi_history.h"
#include "base/lattice.h"
#include "core/space.h"

typedef struct aoi_trace {
    int64_t id;
    aoi_looks looks;
    double pos[3];          /* as of the last tick */
    uint32_t entered, left; /* ticks; left: AOI_NONE while it is there */
    uint32_t row;           /* or AOI_NONE */
    uint32_t stay;          /* the last of it, or AOI_NONE */
    uint32_t next;          /* free, or ended: in the order of their ends */
} aoi_trace;

typedef struct aoi_stay { /* of a trace in a cell */
    uint32_t trace, cell;
    uint32_t from, to;   /* ticks; to: AOI_NONE while it goes on */
    uint32_t next, last; /* in the cell */
    uint32_t after;      /* free, or over: in the order of their ends */
} aoi_stay;

typedef struct aoi_past_cell {
    int32_t cx, cy;
    uint32_t first; /* stay; a free one: the next */
} aoi_past_cell;

typedef struct aoi_fifo {
    uint32_t first, last;
} aoi_fifo;

struct aoi_history {
    aoi_layer layer;
    uint32_t ticks;     /* how far back it answers */
    uint32_t columns;   /* places of a row: one for each tick that can be asked about, and one that is being noted */
    uint32_t now;       /* the number of the last tick */
    bool all_dirty;     /* memory for noting was refused: the next tick looks at everything */
    uint32_t *trace_of; /* by entity slot; AOI_NONE: it has come since the last tick */
    uint8_t *is_dirty;  /* by entity slot */
    uint32_t *dirty;    /* slots, in the order in which they became so */
    uint32_t trace_of_cap, is_dirty_cap, dirty_cap, dirty_count;
    aoi_trace *traces;
    uint32_t trace_cap, trace_top, unused_trace, trace_count;
    aoi_fifo ended;
    uint32_t *larges; /* traces with an extent: they are in no cell */
    uint32_t large_cap, large_count;
    aoi_index ids;  /* traces */
    double *places; /* of row r those from r * columns * dims on */
    uint32_t *row_trace,
        *row_moved; /* by row: AOI_NONE: unused; the tick at which it last moved, or the next unused one */
    uint32_t place_cap, row_trace_cap, row_moved_cap, row_top, row_count, unused_row;
    double side; /* of cells; 0: there are none */
    aoi_stay *stays;
    aoi_past_cell *cells;
    aoi_index cell_index;
    uint32_t stay_cap, stay_top, unused_stay, cell_cap, cell_top, unused_cell, cell_count;
    aoi_fifo over;
    uint32_t misfits; /* questions in a row whose area is of quite another size than the cells */
};

static inline aoi_memory *aoi_history_memory(const aoi_history *h) {
    return &h->layer.space->world.memory;
}

/* The first tick that can be asked about. */
static inline uint32_t aoi_history_first(const aoi_history *h) {
    return h->now < h->ticks ? 0 : h->now - h->ticks;
}

static inline bool aoi_trace_was(const aoi_trace *t, uint32_t tick) {
    return t->entered <= tick && tick < t->left;
}

/* Where the trace was at a tick of the window at which it was there. */
static inline const double *aoi_trace_place(const aoi_history *h, const aoi_trace *t, uint32_t tick) {
    size_t dims = (size_t)h->layer.space->world.dims;
    return t->row == AOI_NONE ? t->pos : h->places + ((size_t)t->row * h->columns + tick % h->columns) * dims;
}

/* past_cells.c: all of these but the last three do nothing while there are no cells.  `at`: the tick that is noted. */
bool aoi_past_put(aoi_history *h, uint32_t trace, const double *pos, uint32_t at); /* false: memory is refused */
void aoi_past_end(aoi_history *h, uint32_t trace, uint32_t at);
void aoi_past_forget(aoi_history *h, uint32_t first); /* what ended at that tick or before */
/* The traces that were within reach of a place on the first two axes at that tick, and maybe others, into world.hits; false: memory is refused. */
bool aoi_past_find(aoi_history *h, uint32_t tick, const double *at, double reach);
void aoi_past_free(aoi_history *h);
const char *aoi_past_check(const aoi_history *h);

#endif
