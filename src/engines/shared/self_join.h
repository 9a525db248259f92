/* self_join.h - a tick that moves most entities, judged when all have arrived: couples of entities that may see more or
 * less of each other than before.
 *
 *   line  | | | |i| | | | |    All items are sorted by bins, line by line, so that bins side by side are one span of
 *   next  |#|#|#|#|#|#|#|#|    memory: where each is and was, in fixed point.  A line is as high as items may be apart, a
 *                              bin a quarter of that wide: an item i is joined with what follows it in its own line up
 *   to four bins further, and with the bins up to four away in the next line (#).  No couple meets twice.  Of every two
 *   the distance is taken as it was and as it is, sixteen couples at once, and those that were and are on the same side of
 *   the borders are left out.
 *
 *   ref, bin, x, y, was_x, was_y   [ bin | bin | bin ... ][ next line ... ]      first[bin]: where its items begin
 *
 * There are as many bins as the bounds of the movers take, but not many more than items: beyond that they wrap around
 * like those of a torus, so that places far from each other may share one.
 *
 * Crowds whose areas fit are joined like that.  The rest goes one by one: each node of a rare layer by a ring query, as
 * wide as two steps, over all entities; each entity that goes far by queries around the two places.  So neither keeps the
 * others from the join.
 *
 * Method: spatial self-join by a grid, over structures of arrays, sorted anew by counting. */
#ifndef AOI_SELF_JOIN_H
#define AOI_SELF_JOIN_H

#include "engines/shared/ring_query.h"

typedef struct aoi_join_rows {             /* starts zeroed */
    double side, scale;                    /* height of a line; fixed-point units per unit of length */
    int64_t bin0, line0;                   /* numbers of the first ones */
    uint32_t bins, lines;                  /* bins in a line */
    uint32_t reach;                        /* bins that a line is high */
    int bin_bits;                          /* of a coordinate within its bin */
    uint32_t count;                        /* items */
    bool clamped;                          /* some coordinate is too large to be told */
    bool remote;                           /* numbers of bins take more than 32 bits */
    uint16_t *x, *y, *was_x, *was_y, *bin; /* bin: its number in its line */
    uint32_t *ref, *first, *far;           /* far: entities that go too far to be items */
    uint32_t x_cap, y_cap, was_x_cap, was_y_cap, bin_cap, ref_cap, first_cap, far_cap, far_count;
} aoi_join_rows;

/* Sorts all entities but those that move farther than `limit` on an axis; `side` is as far as items may be apart.  False
 * when memory is refused; to be freed in any case. */
bool aoi_join_rows_fill(aoi_world *w, double side, double limit, aoi_join_rows *rows);
void aoi_join_rows_free(aoi_memory *m, aoi_join_rows *rows);

typedef void (*aoi_meet)(void *ud, const aoi_couple *couples, size_t count);

/* Passes on all couples that may have passed a border, and a few others, each once.  No couple for which that matters
 * may be farther apart than a side now, on either axis.  Returns the comparisons.  O(items * items in a bin). */
uint64_t aoi_self_join(const aoi_join_rows *rows, const aoi_borders *b, aoi_meet meet, void *ud);

/* ---- batch_join.c ------------------------------------------------------------------------------------------------ */

typedef struct aoi_join_field { /* nodes of one level */
    aoi_borders borders;
    uint32_t level, count;
    bool crowd; /* so many that they are found through their owners; else their number is small */
} aoi_join_field;

typedef struct aoi_join_source { /* what an engine has to join */
    aoi_engine *engine;
    void *ud;
    uint32_t count; /* of fields, some of which may have no nodes */
    double side;    /* of cells; 0: there are none */
    aoi_join_field (*field)(const void *ud, uint32_t i);
    /* What aoi_ring_query does, over all entities. */
    uint64_t (*query)(void *ud, const double *from, const double *to, const aoi_borders *b, bool solid,
                      const aoi_visitor *v);
} aoi_join_source;

/* Whether so many entities carry a node of a field that it is a crowd. */
static inline bool aoi_is_crowd(const aoi_world *w, uint32_t nodes) {
    return nodes >= w->entity_count / 4;
}

/* Squares without hysteresis, whose half-extents lie between these. */
static inline aoi_join_field aoi_join_field_of_boxes(const aoi_world *w, uint32_t level, uint32_t count, double least,
                                                     double most) {
    return (aoi_join_field){.borders = {{least, least}, {most, most}, {least, least}, {most, most}, false, false},
                            .level = level,
                            .count = count,
                            .crowd = aoi_is_crowd(w, count)};
}

/* The `supports_join` and the `join` of an engine. */
bool aoi_supports_join(const aoi_join_source *s);
int aoi_join(const aoi_join_source *s);

#endif
