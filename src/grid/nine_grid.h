/* nine_grid.h - the index of every space: entities in cells, and nodes of similar borders in levels.
 *
 *   points    all entities, in cells of a side like the radius most in use, or larger where entities are few
 *   rare      kinds that few entities have: such entities are marked, so that a node whose mask has no other kind
 *             reads nothing of the crowd around it
 *   level     uniform   nodes of exactly the same bounds: the ring around them is as thin as a step is long
 *             mixed     the rest, by size class, roundness and kind of border; all that are smaller than the cells of
 *                       `points` are one class.  The items carry how far each area reaches
 *                crowd      most entities carry such a node: its nodes are found through their owners, in `points`
 *                scattered  its nodes are items of cells of its own
 *
 * A new node joins a mixed level, unless a uniform one has its bounds.  When a mixed level has doubled and most of its
 * nodes have the same bounds, these become a uniform level, so that a few odd nodes do not widen their ring.  A uniform
 * level that loses nearly all of its nodes returns the rest to a mixed one.  Idle nodes, and those that the engine
 * takes, are in levels that moves skip.
 *
 * An entity's `place` is its cell and slot in `points`, `link` predicts the next mover.  A bounded node's `level` is
 * its level; `place` is its cell and slot in a scattered level. */
#ifndef AOI_NINE_GRID_H
#define AOI_NINE_GRID_H

#include "grid/owner_box.h"
#include "grid/ring_query.h"

typedef struct aoi_grid_level {
    aoi_spatial_hash cells; /* of nodes; empty in a crowd */
    aoi_borders borders;    /* of all of its nodes */
    aoi_bounds bounds;      /* of each of its nodes, if it is uniform */
    double side;            /* for its reach: its cells are no smaller */
    double depth;           /* mixed: aoi_borders_depth(), the greatest */
    uint64_t masks;         /* all masks of its nodes */
    bool excepts;           /* some node may have exceptions, for targets of any kind */
    uint32_t spread;        /* nodes when the side of its cells was chosen */
    int size, kind;         /* of its mixed class */
    uint32_t count, voted;  /* nodes, now and at the last search for a majority */
    bool uniform, crowd;
    bool idle, taken;  /* all of its nodes are: moves skip it */
    aoi_owner_box box; /* scattered: around the owners of its nodes */
} aoi_grid_level;

typedef struct aoi_grid_ahead { /* a coarse cell if `cell` is AOI_NONE */
    double distance;            /* a lower bound for its entities, squared */
    uint32_t coarse, cell;
} aoi_grid_ahead;

struct aoi_grid {
    aoi_records *records;
    double base;  /* sides are this times a power of two */
    bool fixed;   /* by the `cell` hint */
    bool changed; /* entities or nodes have come or gone since the last tuning */
    bool watched; /* there have been nodes since the space was empty: questions do not change the cells */
    aoi_spatial_hash points;
    uint64_t rare;
    uint32_t counted; /* entities when `rare` was chosen, and the side of `points` last looked at */
    aoi_grid_level *levels;
    uint32_t level_cap, level_count;
    uint32_t tuned;        /* nodes in the level that chose the side of `points`, then; 0: none has */
    double chosen;         /* the side that it chose */
    int asked, asked_lead; /* without nodes: the size class of most questions, and by how many (Boyer and Moore 1981) */
    uint32_t last, streak; /* the last mover, and how many movers in a row were predicted */
    aoi_grid_ahead *ahead; /* a heap, while a search goes outward */
    uint32_t ahead_cap, ahead_count;
};

typedef struct aoi_grid_place { /* room for a node in a level */
    uint32_t level, cell;
} aoi_grid_place;

#define AOI_GRID_SIDE 64.0             /* of cells without a hint, nodes and questions */
#define AOI_GRID_LEAST_SIDE 0x1p-200   /* finer cells are of no use, and the inverse must be finite */
enum { AOI_GRID_NO_LINK = INT32_MAX }; /* no link */

static inline aoi_memory *aoi_grid_memory(aoi_grid *g) {
    return &g->records->memory;
}

/* Whether some node of the level matches targets of this kind. */
static inline bool aoi_grid_level_matches(const aoi_grid_level *y, uint64_t kind) {
    return (y->masks & kind) || y->excepts;
}

/* Whether the node matches none but rare kinds, whose entities are marked. */
static inline bool aoi_grid_matches_rare(const aoi_grid *g, const aoi_node_record *n) {
    return !(n->mask & ~g->rare) && !(n->flags & AOI_NODE_OVERRIDES);
}

void aoi_grid_open(aoi_grid *g, aoi_records *r, double hint); /* hint: a side of cells, or 0 */
void aoi_grid_close(aoi_grid *g);

bool aoi_grid_enter(aoi_grid *g, uint32_t entity); /* false: memory is refused, nothing changed; so below */
void aoi_grid_leave(aoi_grid *g, uint32_t entity);
void aoi_grid_set_kind(aoi_grid *g, uint32_t entity, uint64_t kind);
void aoi_grid_mask_changed(aoi_grid *g, uint32_t node); /* or its exceptions have */

bool aoi_grid_add_node(aoi_grid *g, uint32_t node, const aoi_bounds *b);
void aoi_grid_remove_node(aoi_grid *g, uint32_t node);
/* Changes the bounds of a node; aoi_grid_reserve has made room. */
void aoi_grid_resize_node(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place);

/* Moves the entity and its nodes. */
bool aoi_grid_relocate(aoi_grid *g, uint32_t entity, const double *to);

void aoi_grid_stats(const aoi_grid *g, aoi_stats *out);
void aoi_grid_describe(const aoi_grid *g, aoi_describer *d, uint32_t level); /* its parts from that level on */

/* ---- node_levels.c: the level of a node ------------------------------------------------------------------------- */

/* Chooses a level and makes room for a node of these bounds; aoi_grid_level_insert then puts it there. */
bool aoi_grid_reserve(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place *place);
void aoi_grid_level_insert(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place);
void aoi_grid_level_remove(aoi_grid *g, uint32_t node);
bool aoi_grid_move_chain(aoi_grid *g, uint32_t owner, const double *from, const double *to); /* all nodes of an owner */

/* Makes uniform levels of mixed ones, or dissolves them. */
void aoi_grid_divide_levels(aoi_grid *g);
/* Turns scattered levels into crowds or back; renews cells and boxes of the others where that pays. */
void aoi_grid_choose_crowds(aoi_grid *g);

/* ---- tuning.c: choices by counts -------------------------------------------------------------------------------- */

/* The least side of cells for this reach: a power of two times the base. */
double aoi_grid_side_for(const aoi_grid *g, double reach);
/* Chooses sides of cells, uniform levels, crowds and rare kinds anew where the counts have changed enough to pay for
 * it, and releases memory; what lacks memory stays as it was. */
void aoi_grid_tidy(aoi_grid *g);
/* Called before any node is added; false: memory is refused, nothing changed. */
bool aoi_grid_begin_watch(aoi_grid *g);
/* Counts a question of this half-extent. */
void aoi_grid_count_question(aoi_grid *g, double reach);

/* ---- candidates.c: single moves ---------------------------------------------------------------------------------- */

/* Adds candidates for all pairs that may change by a move from the position in the record; of the nodes that are not
 * idle, those that the engine takes, or the others. */
void aoi_grid_propose(aoi_grid *g, uint32_t entity, const double *to, bool taken);
/* The targets of one node that moves with its owner, by its own borders; the owner may have been relocated. */
void aoi_grid_propose_targets(aoi_grid *g, uint32_t node, const double *from, const double *to);
/* Prefetches what `propose` reads of this entity: stage 0 some movers ahead, stage 1 just before; or what `relocate`
 * reads, which needs no nodes: AOI_FETCH_PLACE some movers ahead. */
enum { AOI_FETCH_PLACE = 2 };
void aoi_grid_prefetch(const aoi_grid *g, uint32_t entity, int stage);

/* ---- lookups.c: questions ---------------------------------------------------------------------------------------- */

/* aoi_add_hit() for every entity in the box lo..hi (first two axes), and maybe others; each once. */
void aoi_grid_targets(aoi_grid *g, const double *lo, const double *hi);
typedef struct aoi_grid_target { /* the centre of a search for nodes */
    const double *from, *to;     /* of its move, or one place twice */
    double extent, slack;        /* slack: most that nodes have moved on an axis; 0 without an extent */
    bool solid;                  /* all nodes that may hold it at either place, also if unchanged */
} aoi_grid_target;

/* aoi_add_hit() for every node whose box or circle (ring.h), grown by the extent, contains the target before or after
 * its move, with `idle` also for idle nodes, and maybe for others; each once. */
void aoi_grid_watchers(aoi_grid *g, const aoi_grid_target *t, bool idle);
/* aoi_add_hit() for every entity that may have passed a border of the node, whose owner was at `from`, if entities
 * moved up to `slack` on each axis, and maybe for others; each once.  solid: heights change. */
void aoi_grid_passing(aoi_grid *g, uint32_t node, const double *from, double slack, bool solid);
uint32_t aoi_grid_beside(const aoi_grid *g, uint32_t entity); /* another entity close by, or AOI_NONE */

/* ---- outward.c: entities around a place by distance -------------------------------------------------------------- */

/* Whether a square of that half-extent has so many cells that a search outward is cheaper than a query for it. */
bool aoi_grid_is_far(const aoi_grid *g, double within);
bool aoi_grid_begin_outward(aoi_grid *g, const double *at); /* false when memory is refused */
/* Sets the hits to the entities of the next cell.  All others nearer than the square root of the result have been hits
 * before.  INFINITY: there is no cell left, or memory is refused. */
double aoi_grid_step_outward(aoi_grid *g, const double *at);

#endif
