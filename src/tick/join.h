/* join.h - judges a tick with many movers when all are in place: finds the pairs of nodes and targets whose zone has
 * changed.  The space does it, the same for every engine, which only puts the movers in place.
 *
 *   line   | | | |i| | | | |    All entities are items, sorted by bins, line by line, so that bins side by side are one
 *   line   |#|#|#|#|#|#|#|#|    span of memory.  Columns of 16 bits have where each is and was, in fixed point.  A
 *   line   |#|#|#|w|#|#|#|#|    watcher is compared with all in the bins that its areas touch (#), sixteen at a time:
 *   line   |#|#|#|#|#|#|#|#|    those that were and are surely on the same sides of its borders are left out (lanes.h).
 *
 *   choose.c    the fixed-point scale, lines and bins, from the movers and a sample of nodes
 *   items.c     entities in sets, sorted
 *   probes.c    areas -> probes: borders in fixed point; several concentric ones of a watcher are one probe
 *   scan.c      watchers and the spans around them -> hits
 *   join.c      hits -> candidates, which the rule decides; those of areas too large for 16 bits are what the grid finds
 *
 * Sets.  Moving and still items are sorted apart, as two still items do not change.  Often most watchers carry the same
 * symmetric areas: two of them see each other or neither does, so these are a set of their own and a mutual pair is
 * compared once, for both.  A mover that goes too far stands still here: it has its turn afterwards (core/movers.c).
 *
 * Lines go in strips, so that the candidates of some are decided before there are too many.
 *
 * Bins and lines that would outnumber the items wrap around like those of a torus, and columns after 16 bits: places far
 * from each other may look close.  The rule denies such pairs.
 *
 * Layers count when a pair is judged (visibility.c); targets with an extent have no kind here, and the space judges
 * them.
 *
 * Method: a self-join by a grid over structures of arrays, sorted anew by counting. */
#ifndef AOI_JOIN_H
#define AOI_JOIN_H

#include "core/space.h"

enum {
    JOIN_LANES = 16,      /* compared at once */
    JOIN_LINE_BITS = 14,  /* the highest line, in fixed point */
    JOIN_LARGEST = 16000, /* most that a border and two moves may be together */
    JOIN_ROUNDED = 12,    /* extra range, as places are cut off */
    JOIN_BORDERS = 3,     /* of a probe */
    JOIN_HITS = 64,       /* gathered before they are decided */
    JOIN_PROBES = 256     /* scanned together */
};

enum { /* classes of items, one set each */
       JOIN_STILL = 1,
       JOIN_ODD = 2, /* carries other than the usual areas */
       JOIN_CLASSES = 4
};

enum { JOIN_ROUND = 1, JOIN_MANY = 2, JOIN_SHAPED = 4, JOIN_TALL = 8, JOIN_KINDS = 16 }; /* kinds of probes */

/* Up to three borders around a watcher.  A distance is, of a box, how far the point is beyond the extents on the axis
 * where it is farthest; of a round one its square, in units of 2^16. */
typedef struct join_probe {
    uint64_t mask;
    uint32_t item, line, node[JOIN_BORDERS];     /* nodes: one, or one for each border */
    uint32_t sides;                              /* shaped: the first of its sides */
    int16_t left, right, low, high;              /* range of targets, two moves included */
    int16_t extent[3];                           /* 0 on an axis that is round */
    int16_t out[JOIN_BORDERS], in[JOIN_BORDERS]; /* surely out above, surely in below */
    int16_t in_height;
    uint8_t kind, borders, nodes, side_count;
    bool polygon;
    bool any;    /* a sector of more than half a turn */
    bool turned; /* its last two sides are the ones before the turn */
} join_probe;

typedef struct join_side { /* of a shape: a * x + b * y is below low, or above high, or not sure */
    int16_t a, b, low, high;
    int16_t y; /* polygons: of the corner where it ends */
} join_side;

typedef struct join_set {
    uint64_t kinds; /* of its entities */
    uint32_t cell;  /* its first */
    uint8_t class;
} join_set;

typedef struct join_usual { /* the areas that most watchers carry, and no others */
    uint32_t node;          /* the first node of one of them, or AOI_NONE */
    uint64_t mask;          /* all of their masks */
} join_usual;

typedef struct join_tick {
    aoi_space *space;
    aoi_records *records;
    double origin[3], scale; /* fixed-point units per unit of length */
    double reach;            /* of nodes that are not wide */
    double step;             /* longest move of an item on an axis */
    double low, high;        /* of all heights, two moves included */
    join_usual usual;
    int line_bits, bin_bits;
    int range;            /* reach and two moves, in fixed point */
    int64_t window[2];    /* bins and lines that hold all movers, and what is near them */
    uint32_t bins, lines; /* of the torus */
    join_set sets[JOIN_CLASSES];
    int set_count, set_of[JOIN_CLASSES];
    uint32_t *first;           /* by set, line and bin: its first item */
    uint32_t *ref;             /* by item: its entity */
    uint16_t *column[6], *bin; /* x, y, z, and where it was; bin in its line */
    uint32_t count;
    uint32_t *wide; /* nodes that are judged one by one */
    uint32_t first_cap, ref_cap, column_cap[6], bin_cap, wide_cap, wide_count;
} join_tick;

typedef struct join_hit { /* of sixteen items from `first` on, those that may have passed a border */
    uint64_t watcher;     /* its item, and above that the number of its probe */
    uint32_t first, bits;
} join_hit;

static inline uint32_t join_item_of(const join_hit *h) {
    return (uint32_t)h->watcher;
}

static inline uint32_t join_probe_index(const join_hit *h) {
    return (uint32_t)(h->watcher >> 32);
}

enum { JOIN_MUTUAL = 1 << 16 }; /* a bit of a hit beside the lanes' */

typedef struct join_strip { /* the watchers of some lines */
    const join_tick *tick;
    aoi_memory *memory;
    bool failed;
    uint64_t steps;
    join_probe *probes;                /* the first is that of the usual areas */
    uint8_t usual_place[JOIN_BORDERS]; /* where in their chain the node of each of its borders is */
    join_side *sides;
    uint32_t probe_cap, probe_count, side_cap, side_count;
    join_hit *hit, hits[JOIN_HITS];
} join_strip;

/* Chooses the frame of a tick before anything moves; false: some movers do not suit it. */
bool aoi_tick_choose(aoi_space *s);
/* Judges the first `joined` movers, which suit the frame and are in place in the index; false when memory is refused, now
 * or when an event was recorded.  O(items * items in the bins around them). */
bool aoi_tick_join(aoi_space *s);

/* ---- its parts --------------------------------------------------------------------------------------------------- */

void aoi_join_lay(join_tick *t); /* lines and bins of the frame */
bool aoi_join_sort(join_tick *t);
void aoi_join_free(join_tick *t);
void aoi_join_probes_of(join_strip *o, uint32_t item, uint32_t entity); /* of its nodes that are not wide */
bool aoi_join_is_wide(const join_tick *t, uint32_t node);
void aoi_join_scan(join_strip *o, int set, uint32_t line, uint32_t end); /* watchers in these lines of a set */
void aoi_join_propose(join_strip *o);                                    /* the hits as candidates */

/* Whether moves can cause events or kept pairs of the node. */
static inline bool join_is_watching(const aoi_node_record *n) {
    return (n->flags & (AOI_NODE_SILENT | AOI_NODE_KEEPS)) != AOI_NODE_SILENT && aoi_is_bounded(n);
}

/* Whether both chains of nodes have the same areas, in the same order.  By what was given, never by bounds made of it:
 * extents 50 with margin 10 and 40 with margin 20 have one box.  Blocks of shapes are shared where all of their
 * parameters are the same (core/shape_pool.h). */
static inline bool join_are_alike(const aoi_records *r, uint32_t a, uint32_t b) {
    for (; a != AOI_NONE && b != AOI_NONE; a = r->nodes[a].next, b = r->nodes[b].next) {
        const aoi_node_record *n = r->nodes + a, *m = r->nodes + b;
        const aoi_area_record *p = r->areas + a, *q = r->areas + b;
        if (n->shape != m->shape || n->flags != m->flags || p->radius != q->radius || p->keep != q->keep ||
            p->shape != q->shape)
            return false;
    }
    return a == b;
}

/* Such a node may see other targets even if neither moves. */
static inline bool join_has_turned(const aoi_records *r, uint32_t node) {
    return (r->nodes[node].flags & AOI_NODE_TURNED) != 0;
}

static inline uint64_t join_mask(const aoi_node_record *n) {
    return n->flags & AOI_NODE_OVERRIDES ? UINT64_MAX : n->mask;
}

/* The node at a place in a chain, from 0 on. */
static inline uint32_t join_nth_node(const aoi_records *r, uint32_t first, int place) {
    while (place-- > 0) first = r->nodes[first].next;
    return first;
}

#endif
