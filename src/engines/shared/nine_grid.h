/* nine_grid.h - entities in cells, and nodes in layers: those of like borders are asked about together.
 *
 *   points    all entities, in cells of a side like the radius most in use, or larger where entities are few
 *   sought    the few that most nodes look for, a second time (sought.h)
 *   layer     uniform   nodes of exactly the same bounds: the ring around them is as thin as a step is long
 *             mixed     the rest, by size class on each axis, roundness and kind of border; idle nodes (engine.h) apart
 *                crowd  most entities carry such a node: its nodes are found through their owners, in `points`
 *                rare   its nodes are items of cells of its own
 *
 * A new node joins a mixed layer, unless a uniform one has its bounds.  When a mixed layer has doubled and most of its
 * nodes agree, those become a uniform layer: a few odd nodes do not widen the ring of the others.  A uniform layer
 * that has lost nearly all of its nodes returns them to a mixed one.
 *
 * An entity's `home` and `slot` are its cell and slot in `points`, `link` is used, too.  A node's `level` is its layer;
 * `home` and `slot` are its cell and slot there if the layer is rare.  An engine may index some nodes by other means: their
 * levels are AOI_NINE_ELSEWHERE or more. */
#ifndef AOI_NINE_GRID_H
#define AOI_NINE_GRID_H

#include "engines/shared/owner_box.h"
#include "engines/shared/ring_query.h"
#include "engines/shared/sought.h"

typedef struct aoi_nine_layer {
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
    bool idle;         /* all of its nodes are: moves do not ask it */
    aoi_owner_box box; /* of a rare one: around the owners of all of its nodes */
} aoi_nine_layer;

typedef struct aoi_nine_grid {
    aoi_engine *engine; /* whose part this is: its world, its steps */
    double base;        /* sides are this times a power of two */
    bool fixed;         /* by the `cell` hint */
    bool changed;       /* other numbers of entities or nodes since the last tuning */
    aoi_spatial_hash points;
    aoi_sought sought;
    aoi_nine_layer *layers;
    uint32_t layer_cap, layer_count;
    uint32_t tuned;        /* nodes in the layer that chose the side of `points` */
    int asked, asked_lead; /* without nodes: the size class of most questions, and by how many (Boyer and Moore 1981) */
    uint32_t rare;         /* nodes in rare layers */
    uint32_t last, streak; /* the last mover, and how many movers in a row were predicted */
} aoi_nine_grid;

#define AOI_NINE_ELSEWHERE UINT32_C(0x80000000)
#define AOI_NINE_SIDE 64.0           /* where nothing tells the side of cells */
#define AOI_NINE_LEAST_SIDE 0x1p-200 /* finer cells are of no use, and the inverse must be finite */

static inline aoi_memory *aoi_nine_memory(aoi_nine_grid *g) {
    return &g->engine->world->memory;
}

/* Whether some node of the layer may see targets of this kind. */
static inline bool aoi_nine_looks_for(const aoi_nine_layer *y, uint64_t kind) {
    return (y->masks & kind) || y->excepts;
}

static inline void aoi_nine_note_mask(aoi_nine_layer *y, const aoi_node_record *n) {
    y->masks |= n->mask;
    if (n->flags & AOI_NODE_OVERRIDES) y->excepts = true;
}

void aoi_nine_open(aoi_nine_grid *g, aoi_engine *engine, double hint); /* hint: a side of cells, or 0 */
void aoi_nine_close(aoi_nine_grid *g);
/* Chooses sides of cells, uniform layers, crowds and the sought anew, where numbers have changed enough to pay for it, and
 * gives memory back; where memory is refused all goes on as it was. */
void aoi_nine_tidy(aoi_nine_grid *g);

bool aoi_nine_enter(aoi_nine_grid *g, uint32_t entity); /* false: memory is refused, nothing changed; so below */
void aoi_nine_leave(aoi_nine_grid *g, uint32_t entity);
bool aoi_nine_set_kind(aoi_nine_grid *g, uint32_t entity, uint64_t kind); /* before its record has it */
void aoi_nine_mask_changed(aoi_nine_grid *g, uint32_t node);

/* Indexes a node of these bounds, false when memory is refused; and removes it. */
bool aoi_nine_insert_node(aoi_nine_grid *g, uint32_t node, const aoi_bounds *b);
void aoi_nine_remove_node(aoi_nine_grid *g, uint32_t node);
/* The same for a node that is in the index with other bounds. */
bool aoi_nine_resize_node(aoi_nine_grid *g, uint32_t node, const aoi_bounds *b);

/* Whether some node of a chain is in a rare layer. */
static inline bool aoi_nine_is_rare(const aoi_nine_grid *g, uint32_t n) {
    const aoi_node_record *nodes = g->engine->world->nodes;
    for (; n != AOI_NONE; n = nodes[n].next)
        if (nodes[n].level < g->layer_count && !g->layers[nodes[n].level].crowd && aoi_is_bounded(nodes + n))
            return true;
    return false;
}

/* Moves an entity's nodes, and then the entity, from one place to another; false when memory is refused, and then nothing
 * has moved. */
bool aoi_nine_move_chain(aoi_nine_grid *g, uint32_t owner, const double *from, const double *to);

/* A question of this half-extent is asked. */
void aoi_nine_learn(aoi_nine_grid *g, double reach);

/* Cells of `points` like areas of this reach, which so many nodes have; for nodes that are indexed elsewhere. */
void aoi_nine_suit(aoi_nine_grid *g, double reach, uint32_t nodes);

/* ---- nine_queries.c ---------------------------------------------------------------------------------------------- */

/* A move: candidates for all pairs that may change, of nodes that are in layers; then the index.  The entity's record has
 * the old position until both are done. */
void aoi_nine_propose(aoi_nine_grid *g, uint32_t entity, const double *to);
bool aoi_nine_relocate(aoi_nine_grid *g, uint32_t entity, const double *to);
/* Candidates of a node that is indexed elsewhere and moves with its owner. */
void aoi_nine_propose_box(aoi_nine_grid *g, uint32_t node, const double *from, const double *to);
void aoi_nine_prefetch(const aoi_nine_grid *g, uint32_t entity, int stage);

void aoi_nine_targets(aoi_nine_grid *g, const double *lo, const double *hi);
double aoi_nine_nearest(const aoi_nine_grid *g, const double *at, double within, size_t count); /* as in engine.h */
void aoi_nine_watchers(aoi_nine_grid *g, const double *at, bool idle); /* idle: those layers, too */
/* The nodes of one level, which may be indexed elsewhere, of all owners around that have a place within these borders. */
void aoi_nine_owned(aoi_nine_grid *g, const double *at, const aoi_borders *b, uint32_t level);
uint32_t aoi_nine_beside(const aoi_nine_grid *g, uint32_t entity); /* another entity close by, or AOI_NONE */

void aoi_nine_stats(const aoi_nine_grid *g, aoi_stats *out);
void aoi_nine_describe(const aoi_nine_grid *g, aoi_describer *d, uint32_t layer); /* its parts from that layer on */
const char *aoi_nine_check(const aoi_nine_grid *g); /* NULL, or the invariant that does not hold */

#endif
