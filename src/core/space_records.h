/* space_records.h - what a space and its index share: records of entities and nodes, and the arrays of answers.
 *
 *   space (core)  -- owns -->  world: records, candidates, hits  <-- reads --  grid and engine
 *
 * A slot, a small number that never changes, identifies an entity or a node.  Records may move in memory when one is
 * added, never during a call into the index. */
#ifndef AOI_SPACE_RECORDS_H
#define AOI_SPACE_RECORDS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash_index.h"

/* The shape, for the index, of an area with an offset: its bounds are around the watcher, but the area is not.  What it is
 * really is `of` in its block. */
enum { AOI_SHIFTED = AOI_POLYGON + 1 };

typedef struct aoi_cell_slot { /* where an index holds an item (spatial_hash.h) */
    uint32_t cell, slot;
} aoi_cell_slot;

typedef struct aoi_entity_record {          /* one cache line */
    _Alignas(AOI_CACHE_LINE) double pos[3]; /* its position in the index */
    int64_t id;
    uint64_t kind;
    uint32_t nodes;      /* chain of its nodes */
    uint32_t generation; /* odd: alive */
    uint32_t mover;      /* its number among the movers of this batch, or AOI_NONE */
    union {
        aoi_cell_slot place; /* the grid's */
        uint32_t home;       /* of a free record: the next one */
    };
    uint32_t link : 31;     /* the grid's: the entity that moved after it the last time */
    uint32_t scattered : 1; /* the grid's: some of its nodes may be in cells of nodes */
} aoi_entity_record;

/* flags of a node */
enum {
    AOI_NODE_SILENT = 1,    /* makes no events */
    AOI_NODE_PLAIN = 2,     /* a square without keep: its box decides alone */
    AOI_NODE_KEEPS = 4,     /* has a zone BETWEEN, or sees what is outside of its area */
    AOI_NODE_OVERRIDES = 8, /* has exceptions for single targets */
    AOI_NODE_PLUGIN = 16,   /* a plugin's: its events are sightings (plugin_hook.h) */
    AOI_NODE_INDEXED = 32,  /* one of many nodes of its owner (node_index.h) */
    AOI_NODE_LAYERED = 64,  /* has layers of its own (looks.h) */
    AOI_NODE_TURNED = 128   /* a sector that has turned since movers were judged */
};

typedef struct aoi_node_record {              /* one cache line */
    _Alignas(AOI_CACHE_LINE) double reach[2]; /* half-extents of its box on the first two axes */
    uint64_t mask;
    int64_t node_id;
    uint32_t owner, next; /* its entity; the next node of that */
    uint32_t generation;  /* odd: alive */
    uint32_t pending;     /* its waiting events; the slot of a dead node is free when there are none */
    uint32_t level;       /* the grid's: its level; AOI_NONE of an unbounded one */
    union {
        aoi_cell_slot place; /* the grid's, if the level has cells */
        struct {
            uint32_t home, slot; /* of a free record `home` is the next one; of an unbounded node both neighbours */
        };
    };
    uint8_t shape;        /* AOI_SQUARE ... AOI_SHIFTED */
    uint8_t flags;        /* the space's: AOI_NODE_SILENT ... */
    uint16_t part : 11;   /* the engine's: the part that holds the node, from 1 on; 0: none */
    uint16_t carried : 1; /* the grid's: its reach is in the cells of entities */
    uint16_t fixed : 1;   /* extents of targets do not count */
    uint16_t outside : 1; /* the space's: the node sees what its area does not hold; the index has the area */
    uint16_t crosses : 1; /* it has a handler of crossings (crossing.c) */
    uint16_t fresh : 1;   /* added since the last delivery, so that nothing crosses it */
} aoi_node_record;

_Static_assert(sizeof(aoi_entity_record) == AOI_CACHE_LINE, "an entity is one cache line");
_Static_assert(sizeof(aoi_node_record) == AOI_CACHE_LINE, "a node is one cache line");

typedef struct aoi_shape aoi_shape;
struct aoi_shape {    /* parameters and bounds of an area other than square and circle, or with an offset */
    double height;    /* half-extent of its box on the third axis, may be INFINITY */
    double fx, fy, c; /* sector: cos(facing), sin(facing), cos(angle / 2) */
    uint32_t corners;
    uint32_t uses;           /* nodes that share it (shape_pool.h) */
    float nearest, farthest; /* polygon: distances of its sides from the watcher; moves read up to here */
    double half_height;      /* of shapes but boxes, in 3D; INFINITY: any height */
    double margin;
    double inner[2];
    double extents[3];     /* box */
    double facing, angle;  /* sector, as they were given */
    double was_fx, was_fy; /* of a node that has turned */
    double room;           /* polygon with a tree: more than its rounding errors */
    double offset[3];
    uint32_t of;             /* the area's shape without its offset */
    uint32_t place;          /* in the pool, or AOI_NONE */
    uint32_t bytes;          /* of the block */
    uint32_t rings;          /* of a polygon with a tree of sides (side_tree.h); 0: it has few sides, in one ring */
    uint32_t levels, leaves; /* of that tree */
    uint32_t columns;        /* and rows, of its cells; 0: it has none */
    double points[];         /* polygon: x, y of each corner, relative to the watcher; behind them its sides */
};

typedef struct aoi_area_record { /* the fields of a node that most moves do not read, by its slot */
    double radius, keep;         /* squares and circles: enter and leave radius */
    uint64_t user_data;
    aoi_shape *shape; /* of the other shapes, or NULL */
} aoi_area_record;

typedef struct aoi_bounds { /* an area as an index sees it */
    double reach[3], inner[2];
    uint8_t shape;
    bool plain; /* a target can change only by passing an edge of the box */
    bool idle;  /* moves cause no event and keep no pair: the node serves questions only */
    bool round; /* a polygon: see aoi_is_round() */
} aoi_bounds;

/* Whether a polygon's box bounds a circle around it; then its inner rectangle is in a circle that no side enters. */
static inline bool aoi_is_round(int shape, const aoi_shape *p, const double *reach) {
    return shape == AOI_POLYGON && reach[0] == reach[1] && p->farthest <= reach[0] && reach[0] > 1e-100;
}

typedef enum aoi_takes { /* the nodes for which an engine proposes candidates of single moves; never idle ones */
                         AOI_TAKES_NONE,
                         AOI_TAKES_BOXES, /* plain ones */
                         AOI_TAKES_ALL    /* all bounded ones; ticks are made of single moves */
} aoi_takes;

/* flags: of the node. */
static inline bool aoi_is_idle(int flags, bool margined) {
    return !margined && (flags & AOI_NODE_SILENT);
}

/* margined: the area has a zone BETWEEN. */
static inline bool aoi_is_plain_shape(int shape, bool margined) {
    return !margined && (shape == AOI_SQUARE || shape == AOI_BOX);
}

typedef struct aoi_candidate {
    uint32_t node, target;
} aoi_candidate;

typedef struct aoi_grid aoi_grid;

typedef struct aoi_records {
    aoi_memory memory;
    aoi_grid *grid;        /* nine_grid.h */
    aoi_takes takes;       /* of the engine's class */
    uint64_t steps;        /* entries of the index walked */
    aoi_hash_key hash_key; /* of ids */
    int dims;              /* 2 or 3 */
    bool failed;           /* memory ran out while candidates or hits were added: the space undoes the call */
    bool untidy;           /* set by an index that is to be tidied before the present call returns */
    aoi_entity_record *entities;
    aoi_node_record *nodes;
    aoi_area_record *areas;                                        /* by node */
    uint32_t entity_cap, entity_top, node_cap, area_cap, node_top; /* top: slots ever used */
    uint32_t entity_count;
    aoi_candidate *candidates;
    uint32_t *hits;
    uint32_t candidate_cap, candidate_count, hit_cap, hit_count;
    /* The movers of a batch and, for each, the other end of its move, `dims` coordinates: its target until its turn
     * comes, after that its position before the batch. */
    uint32_t *movers;
    double *ends;
    uint32_t mover_cap, end_cap, mover_count;
    uint32_t moved;     /* movers whose turn is over */
    aoi_shape **shapes; /* shape_pool.h */
    aoi_hash_index shape_index;
    aoi_shape *shape_scratch; /* of a question, or of a node that is being added */
    uint32_t shape_cap, shape_count, scratch_cap;
} aoi_records;

/* ---- what follows from the records ------------------------------------------------------------------------------- */

static inline bool aoi_is_live(uint32_t generation) {
    return generation & 1;
}

static inline bool aoi_is_bounded(const aoi_node_record *n) {
    return n->reach[0] <= DBL_MAX;
}

/* Half-extent of a rectangle that is surely inside a square or circle on x and y as long as heights stay the same; < 0:
 * none. */
static inline double aoi_inner_extent(int dims, int shape, double radius) {
    if (shape == AOI_SQUARE) return radius;
    if (dims == 3 || !(radius > 1e-150) || isinf(radius)) return -1;
    return radius * (0.70710678118654752 * (1 - 0x1p-40));
}

/* The shape of a node's area as it was given. */
static inline int aoi_given_shape(const aoi_records *r, uint32_t node) {
    const aoi_shape *p = r->areas[node].shape;
    return p ? (int)p->of : r->nodes[node].shape;
}

/* Half-extent of a node's box on the third axis. */
static inline double aoi_height_of(const aoi_records *r, uint32_t node) {
    const aoi_shape *p = r->areas[node].shape;
    return p ? p->height : r->nodes[node].reach[0];
}

/* Whether the mask lets a node see targets of this kind; a node with exceptions matches every kind. */
static inline bool aoi_node_matches(const aoi_node_record *n, uint64_t kind) {
    return (n->mask & kind) || (n->flags & AOI_NODE_OVERRIDES);
}

/* The first node of the level in a chain, from this node on, or AOI_NONE. */
static inline uint32_t aoi_next_in_level(const aoi_records *r, uint32_t node, uint32_t level) {
    while (node != AOI_NONE && r->nodes[node].level != level) node = r->nodes[node].next;
    return node;
}

/* The node need not exist. */
static inline void aoi_prefetch_node(const aoi_records *r, uint32_t node) {
    AOI_PREFETCH((const void *)((uintptr_t)r->nodes + (size_t)node * sizeof *r->nodes));
}

static inline aoi_bounds aoi_bounds_of(const aoi_records *r, uint32_t node) {
    const aoi_node_record *n = r->nodes + node;
    const aoi_area_record *a = r->areas + node;
    aoi_bounds b = {{n->reach[0], n->reach[1], aoi_height_of(r, node)}, {0, 0}, n->shape, false, false, false};
    b.plain = aoi_is_plain_shape(n->shape, n->flags & AOI_NODE_KEEPS);
    b.idle = aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS);
    b.round = aoi_is_round(n->shape, a->shape, n->reach);
    b.inner[0] = a->shape ? a->shape->inner[0] : aoi_inner_extent(r->dims, n->shape, a->radius);
    b.inner[1] = a->shape ? a->shape->inner[1] : b.inner[0];
    return b;
}

static inline bool aoi_is_taken(const aoi_records *r, const aoi_bounds *b) {
    return !b->idle && (r->takes == AOI_TAKES_ALL || (r->takes == AOI_TAKES_BOXES && b->plain));
}

/* These cannot fail towards the index: when memory runs out the space undoes the call afterwards. */
static inline void aoi_add_candidate(aoi_records *r, uint32_t node, uint32_t target) {
    if (!AOI_GROW(&r->memory, r->candidates, r->candidate_cap, r->candidate_count + (size_t)1)) r->failed = true;
    else r->candidates[r->candidate_count++] = (aoi_candidate){node, target};
}

/* Adds a target of this kind for all nodes of a level in a chain, from `node`, which is in it, on. */
static inline void aoi_add_candidates(aoi_records *r, uint32_t node, uint32_t level, uint32_t target, uint64_t kind) {
    for (uint32_t n = node; n != AOI_NONE; n = aoi_next_in_level(r, r->nodes[n].next, level))
        if (aoi_node_matches(r->nodes + n, kind)) aoi_add_candidate(r, n, target);
}

static inline void aoi_add_hit(aoi_records *r, uint32_t slot) {
    if (!AOI_GROW(&r->memory, r->hits, r->hit_cap, r->hit_count + (size_t)1)) r->failed = true;
    else r->hits[r->hit_count++] = slot;
}

static inline void aoi_add_hits(aoi_records *r, const uint32_t *slots, size_t count) {
    if (!AOI_GROW(&r->memory, r->hits, r->hit_cap, r->hit_count + count)) r->failed = true;
    else {
        memcpy(r->hits + r->hit_count, slots, count * sizeof *slots);
        r->hit_count += (uint32_t)count;
    }
}

static inline double *aoi_mover_end(const aoi_records *r, uint32_t mover) {
    return r->ends + mover * (size_t)r->dims;
}

/* Exchanges the position of a mover and the other end of its move. */
static inline void aoi_swap_places(aoi_records *r, uint32_t mover) {
    double *pos = r->entities[r->movers[mover]].pos, *end = aoi_mover_end(r, mover);
    double x = pos[0], y = pos[1];
    pos[0] = end[0], end[0] = x;
    pos[1] = end[1], end[1] = y;
    if (r->dims == 3) {
        double z = pos[2];
        pos[2] = end[2], end[2] = z;
    }
}

/* Ends the turn of the next mover. */
static inline void aoi_take_turn(aoi_records *r) {
    aoi_swap_places(r, r->moved++);
}

/* The position of an entity before the present batch. */
static inline const double *aoi_position_before(const aoi_records *r, uint32_t entity) {
    const aoi_entity_record *e = r->entities + entity;
    return e->mover < r->moved ? aoi_mover_end(r, e->mover) : e->pos;
}

#endif
