/* grid_layers.h - the nodes of the grid engine in layers: nodes of like borders are asked about together.
 *
 *   points    all entities
 *   layer     uniform   nodes of exactly the same bounds: the ring around them is as thin as a step is long
 *             mixed     the rest, by size class on each axis, roundness and kind of border
 *                crowd  most entities carry such a node: its nodes are found through their owners, in `points`
 *                rare   its nodes are items of cells of its own
 *
 * A new node joins a mixed layer, unless a uniform one has its bounds.  When a mixed layer has doubled and most of its
 * nodes agree, those become a uniform layer: a few odd nodes do not widen the ring of the others.  A uniform layer
 * that has lost nearly all of its nodes returns them to a mixed one.
 *
 * A node's `level` is its layer; `home` and `slot` are its cell and slot there if the layer is rare. */
#ifndef AOI_GRID_LAYERS_H
#define AOI_GRID_LAYERS_H

#include "engines/shared/ring_query.h"
#include "engines/shared/sought.h"

typedef struct aoi_grid_layer {
    aoi_spatial_hash cells; /* of nodes; empty if it is a crowd */
    aoi_borders borders;    /* of all of its nodes */
    aoi_bounds bounds;      /* of each of its nodes, if it is uniform */
    double side;            /* that suits its reach: its cells are no smaller */
    uint64_t masks;         /* kinds that some node of it may see */
    bool excepts;           /* some node may have exceptions for single targets, of any kind */
    uint32_t spread;        /* nodes when the side of its cells was chosen */
    int exponent[2], kind;  /* of its mixed class */
    uint32_t count, voted;  /* nodes; and how many there were when a majority was looked for */
    bool uniform, crowd;
    double lo[2], hi[2]; /* rare: a box that has held the owners of all of its nodes since it was measured */
    uint32_t grown;      /* how often that box has grown */
} aoi_grid_layer;

typedef struct aoi_grid {
    aoi_engine head;
    double base;  /* sides are this times a power of two */
    bool fixed;   /* by the `cell` hint */
    bool changed; /* other numbers of entities or nodes since the last tuning */
    aoi_spatial_hash points;
    aoi_sought sought;
    aoi_grid_layer *layers;
    uint32_t layer_cap, layer_count;
    uint32_t tuned;        /* nodes in the layer that chose the side of `points` */
    uint32_t rare;         /* nodes in rare layers */
    uint32_t last, streak; /* the last mover, and how many movers in a row were predicted */
} aoi_grid;

#define AOI_GRID_SIDE 64.0           /* where nothing tells the side of cells */
#define AOI_GRID_LEAST_SIDE 0x1p-200 /* finer cells are of no use, and the inverse must be finite */

static inline aoi_grid *aoi_grid_of(aoi_engine *e) {
    return (aoi_grid *)(void *)e;
}

static inline aoi_memory *aoi_grid_memory(aoi_grid *g) {
    return &g->head.world->memory;
}

/* Whether some node of the layer may see targets of this kind. */
static inline bool aoi_grid_looks_for(const aoi_grid_layer *y, uint64_t kind) {
    return (y->masks & kind) || y->excepts;
}

static inline void aoi_grid_note_mask(aoi_grid_layer *y, const aoi_node_record *n) {
    y->masks |= n->mask;
    if (n->flags & AOI_NODE_OVERRIDES) y->excepts = true;
}

/* Indexes a node of these bounds, false when memory is refused; and removes it. */
bool aoi_grid_insert_node(aoi_grid *g, uint32_t node, const aoi_bounds *b);
void aoi_grid_remove_node(aoi_grid *g, uint32_t node);
/* The same for a node that is in the index with other bounds. */
bool aoi_grid_resize_node(aoi_grid *g, uint32_t node, const aoi_bounds *b);

/* Moves the nodes of a chain, and then their owner, from one place to another; false when memory is refused, and then
 * nothing has moved. */
bool aoi_grid_move_chain(aoi_grid *g, uint32_t node, uint32_t owner, const double *from, const double *to);

/* Whether an area of a rare layer may reach one of the two places: few nodes far away cost the others no query. */
static inline bool aoi_grid_reaches(const aoi_grid_layer *y, const double *from, const double *to) {
    double safe = aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to) + aoi_magnitude(y->borders.leave_max));
    bool was = true, is = true;
    for (int a = 0; a < 2; a++) {
        double lo = y->lo[a] - y->borders.leave_max[a] - safe, hi = y->hi[a] + y->borders.leave_max[a] + safe;
        was = was && lo <= from[a] && from[a] <= hi;
        is = is && lo <= to[a] && to[a] <= hi;
    }
    return was || is;
}

/* Chooses sides of cells, uniform layers and crowds anew, where numbers have changed enough to pay for it; where memory
 * is refused all goes on as it was. */
void aoi_grid_tune(aoi_grid *g);
/* Whether some cells of layers want to be given back. */
bool aoi_grid_is_untidy(const aoi_grid *g);

const char *aoi_grid_check_layers(const aoi_grid *g);

#endif
