/* history.h - a history from inside.
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
 *   step     the longest way that an entity has gone between two ticks, on either axis
 *   jumper   a trace that has gone farther than is usual; it is listed while its jump is in the window
 *
 * Hooks of the space list dirty entities; a tick only reads these and the rows in use.  A trace that has not moved for
 * a whole window gives its row back; one that has ended is removed when the window has passed its end.
 *
 * A question asks the grid of the space for its box, grown by the steps since its tick.  Past places decide.  The jumpers
 * and the traces that have ended since are looked at one by one. */
#ifndef AOI_HISTORY_H
#define AOI_HISTORY_H

#include "aoi_history.h"
#include "core/space.h"

typedef struct aoi_trace {
    int64_t id;
    aoi_looks looks;
    double rest[3];         /* its position if it has no row */
    uint32_t entered, left; /* ticks; left: AOI_NONE until it ends */
    uint32_t jumped;        /* the tick of its last jump; 0: it is not listed */
    uint32_t next;          /* the next free one, or the next to end */
    uint32_t entity;        /* slot; AOI_NONE: the trace has ended */
} aoi_trace;

typedef struct aoi_past_row {
    uint32_t trace; /* AOI_NONE: unused */
    uint32_t moved; /* the tick of the last move; of an unused row the next one */
} aoi_past_row;

typedef struct aoi_column { /* `dims` coordinates for each row */
    double *places;
    uint32_t cap;
} aoi_column;

struct aoi_history {
    aoi_plugin plugin;
    uint32_t ticks;     /* length of the window before the last tick */
    uint32_t columns;   /* of the ring: one for each tick of the window, and one for the tick being recorded */
    uint32_t now;       /* the number of the last tick */
    bool all_dirty;     /* memory was refused: the next tick reads all entities */
    uint32_t *trace_of; /* by entity slot; AOI_NONE: it has entered since the last tick */
    uint8_t *is_dirty;  /* by entity slot: HISTORY_MOVED ... */
    uint32_t *dirty;    /* slots, in the order in which they became dirty */
    uint32_t trace_of_cap, is_dirty_cap, dirty_cap, dirty_count;
    aoi_trace *traces;
    uint32_t *row_of; /* by trace; AOI_NONE: it has none */
    uint32_t trace_cap, row_of_cap, trace_top, unused_trace, trace_count;
    uint32_t large_count;             /* traces with an extent */
    uint32_t first_ended, last_ended; /* chain of traces */
    aoi_hash_index ids;               /* traces */
    aoi_past_row *rows;
    aoi_column *ring;
    uint32_t row_cap, row_top, row_count, unused_row, ring_cap;
    double *steps;      /* a ring, as of columns */
    double step, usual; /* since the last tick; longer ones are jumps */
    uint32_t *jumpers;
    uint32_t step_cap, jumper_cap, jumper_count;
};

static inline aoi_memory *aoi_history_memory(const aoi_history *h) {
    return &h->plugin.space->records.memory;
}

/* The first tick of the window. */
static inline uint32_t aoi_history_first(const aoi_history *h) {
    return h->now < h->ticks ? 0 : h->now - h->ticks;
}

static inline bool aoi_trace_was(const aoi_trace *t, uint32_t tick) {
    return t->entered <= tick && tick < t->left;
}

static inline double *aoi_row_place(const aoi_history *h, uint32_t row, uint32_t column) {
    return h->ring[column].places + row * (size_t)h->plugin.space->records.dims;
}

/* The position of the trace at a tick of the window between entered and left. */
static inline const double *aoi_trace_place(const aoi_history *h, uint32_t trace, uint32_t tick) {
    uint32_t row = h->row_of[trace];
    return row == AOI_NONE ? h->traces[trace].rest : aoi_row_place(h, row, tick % h->columns);
}

#endif
