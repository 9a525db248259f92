/* engine.h - the contract between the space and an engine.
 *
 *        space                                   engine
 *   records: positions, bounds   -- reads -->    an index over positions and over the bounds of nodes
 *   the rule: visibility         <-- proposes -- candidates: (node, target) pairs that may have changed
 *                                <-- answers --  hits: slots in a box, nodes around a point
 *
 * An engine never decides visibility, so engines cannot differ in meaning: it answers for single moves and for questions.
 * The pairs of a tick that moves many the space finds itself (tick/join.h), of the index it only wants `place`.  A sixth
 * engine is one new file that defines `const aoi_engine_class aoi_engine_NAME`, and one line in engines.c.
 *
 * Bounds.  To an engine the area of a node is a box around its owner, half-extents `reach`, bounds inclusive in IEEE
 * double exactly as written: pos - reach <= t && t <= pos + reach.  Outside of the box a target is surely not seen, or
 * never loses or gains by moving.  Within the rectangle of half-extents `hole` around the owner (first two axes) a target
 * is surely inside as long as the heights do not change; hole < 0: there is no such rectangle.  Squares and boxes without
 * a margin are plain: only the box's border matters, on every axis.  That does not follow from hole == reach, since a
 * margin may be lost to rounding on the first two axes and not on the third.  Nodes of infinite reach are the space's own affair: an engine
 * skips them (aoi_is_bounded) where it walks an entity's chain, and is never called about them.
 *
 * Entities and nodes are known by slot, a small number that stays.  Records move when one is added, never during a call
 * into an engine.
 *
 * Memory.  A verb that returns AOI_ENOMEM has changed nothing that can be observed.  Storage may be released in any verb
 * or in `tidy`; nothing is ever taken back through an engine. */
#ifndef AOI_ENGINE_H
#define AOI_ENGINE_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash_index.h"

typedef struct aoi_entity_record {          /* one cache line */
    _Alignas(AOI_CACHE_LINE) double pos[3]; /* where the index has it */
    int64_t id;
    uint64_t kind;
    uint32_t nodes;            /* chain of its nodes */
    uint32_t generation;       /* odd: alive */
    uint32_t mover;            /* its record among those that move in this batch, or AOI_NONE */
    uint32_t home, slot, link; /* the engine's, free for its use; a free record is chained through `home` */
} aoi_entity_record;

/* flags of a node */
enum {
    AOI_NODE_SILENT = 1,    /* makes no events */
    AOI_NODE_PLAIN = 2,     /* a square without keep: its box tells everything */
    AOI_NODE_KEEPS = 4,     /* has a zone BETWEEN */
    AOI_NODE_OVERRIDES = 8, /* has exceptions for single targets */
    AOI_NODE_LAYER = 16,    /* a layer's: its events are sightings (layer_hook.h) */
    AOI_NODE_INDEXED = 32,  /* one of many nodes of its owner (node_index.h) */
    AOI_NODE_LAYERED = 64   /* has layers of its own (looks.h) */
};

typedef struct aoi_node_record {              /* one cache line */
    _Alignas(AOI_CACHE_LINE) double reach[2]; /* half-extents of its box on the first two axes */
    uint64_t mask;
    int64_t node_id;
    uint32_t owner, next;       /* the carrying entity; the next node in its chain */
    uint32_t generation;        /* odd: alive */
    uint32_t pending;           /* events of it that wait; the slot of a dead node is free when there are none */
    uint32_t level, home, slot; /* the engine's; a free record is chained through `home` */
    uint8_t shape;              /* AOI_SQUARE ... */
    uint8_t flags;              /* the space's: AOI_NODE_SILENT ... */
} aoi_node_record;

_Static_assert(sizeof(aoi_entity_record) == AOI_CACHE_LINE, "an entity is one cache line");
_Static_assert(sizeof(aoi_node_record) == AOI_CACHE_LINE, "a node is one cache line");

typedef struct aoi_shape { /* parameters of an area that is neither square nor circle, and its bounds */
    double hole[2];
    double height;      /* half-extent of its box on the third axis, may be INFINITY */
    double extents[3];  /* box */
    double half_height; /* the others in 3D; INFINITY: any height */
    double margin;
    double facing, angle; /* sector, as they were given */
    double fx, fy, c;     /* cos(facing), sin(facing), cos(angle / 2) */
    uint32_t corners;
    double points[]; /* polygon: x, y of each corner, relative to the watcher */
} aoi_shape;

typedef struct aoi_area_record { /* of a node, by its slot: what a usual move does not read */
    double radius, keep;         /* squares and circles: enter and leave radius */
    uint64_t user_data;
    aoi_shape *shape; /* of the other shapes, or NULL */
} aoi_area_record;

typedef struct aoi_bounds { /* all that an engine knows of an area */
    double reach[3], hole[2];
    uint8_t shape;
    bool plain; /* a target can change only by passing an edge of the box */
    bool idle;  /* no event or kept pair follows from moves: the node answers questions only */
} aoi_bounds;

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

typedef struct aoi_engine_class aoi_engine_class;

/* What engines may read of the space; of the records they write `home`, `slot`, `link` and `level`. */
typedef struct aoi_world {
    aoi_memory memory;
    aoi_hash_key hash_key; /* of ids */
    int dims;              /* 2 or 3 */
    bool failed;           /* memory ran out while candidates or hits were added: the space undoes the call */
    bool untidy;           /* set by an engine that wants `tidy` called before the present call returns */
    aoi_entity_record *entities;
    aoi_node_record *nodes;
    aoi_area_record *areas;                                        /* by node */
    uint32_t entity_cap, entity_top, node_cap, area_cap, node_top; /* top: slots ever used */
    uint32_t entity_count;
    aoi_candidate *candidates;
    uint32_t *hits;
    uint32_t candidate_cap, candidate_count, hit_cap, hit_count;
    /* Those that move in a batch, and of each a place, `dims` coordinates: until its turn comes where it goes, after that
     * where it was before the batch. */
    uint32_t *movers;
    double *ways;
    uint32_t mover_cap, way_cap, mover_count;
    uint32_t moved; /* movers that have had their turn */
} aoi_world;

/* What an index is made of, for those who want to look at it.  A part is a rectangle and what the index has filed there;
 * lo and hi may be infinite.  Its entries come in the order of the index, list by list.  Kinds of parts: */
enum {
    AOI_PART_ALL,    /* no index: everything */
    AOI_PART_CELL,   /* entities that stand in it */
    AOI_PART_NODES,  /* nodes whose owners stand in it */
    AOI_PART_TOWER,  /* nodes that reach it */
    AOI_PART_TILE,   /* sorted lists, one for each axis, of points and of edges of boxes */
    AOI_PART_LEAF,   /* a leaf of a tree and its entities */
    AOI_PART_SQUARE, /* an inner square of a tree */
    AOI_PART_KINDS
};

/* kinds of entries; of an entity the slot is told, of all others that of a node */
enum {
    AOI_ENTRY_ENTITY,
    AOI_ENTRY_NODE,  /* of a tower: its border runs through the cell */
    AOI_ENTRY_COVER, /* of a tower: it covers the cell wholly */
    AOI_ENTRY_LOW,   /* the low edge of a box */
    AOI_ENTRY_HIGH,
    AOI_ENTRY_BREAK, /* no entry: here one block of a list ends and the next begins */
    AOI_ENTRY_KINDS
};

typedef struct aoi_part {
    uint8_t kind;
    uint32_t layer; /* parts of like sides; of a tree the depth */
    double lo[2], hi[2];
    uint32_t entities, nodes; /* filed in it; of a tile the entries of its lists, points and edges */
} aoi_part;

typedef struct aoi_describer aoi_describer;
struct aoi_describer {
    double lo[2], hi[2];                             /* parts that this rectangle does not touch are left out */
    bool (*part)(aoi_describer *, const aoi_part *); /* true: its entries are wanted */
    void (*entry)(aoi_describer *, int list, int kind, uint32_t slot); /* list: 0, or the axis of a tile's list */
};

typedef struct aoi_engine { /* the head of every engine's own structure */
    const aoi_engine_class *class;
    aoi_world *world;
    uint64_t steps; /* entries walked */
} aoi_engine;

enum { AOI_FETCH_PLACE = 2 };

struct aoi_engine_class {
    const char *name;
    size_t size; /* of its structure, whose head is aoi_engine; the rest is zeroed before open */

    int (*open)(aoi_engine *, double cell); /* cell: the hint, 0 if there is none */
    void (*close)(aoi_engine *);

    /* Structure.  The entity's record holds the position; of a node, the owner and the bounds. */
    int (*enter)(aoi_engine *, uint32_t entity);
    void (*leave)(aoi_engine *, uint32_t entity); /* it has no nodes any more */
    int (*add_node)(aoi_engine *, uint32_t node);
    void (*remove_node)(aoi_engine *, uint32_t node);
    int (*resize_node)(aoi_engine *, uint32_t node, const aoi_bounds *now); /* the records still hold the old bounds */

    /* The entity's kind becomes this one, its record still holds the old.  A node's mask has become another, or it has
     * exceptions for single targets now: the record tells.  Both may be NULL. */
    int (*set_kind)(aoi_engine *, uint32_t entity, uint64_t kind);
    void (*mask_changed)(aoi_engine *, uint32_t node);

    /* Moves the entity in the index from where its record has it to `to`, and adds a candidate for every pair of it and
     * a bounded node of another entity, or of a node of its own and another entity, that may have changed: all but
     * those that are in the hole before and after, those that are out of the box before and after, those whose target the
     * node does not look for (aoi_may_see), all of idle nodes, and those that the rule has in one zone before and after.  Each pair at most once; others may be among them.  The record still holds `from` when the call returns. */
    int (*move)(aoi_engine *, uint32_t entity, const double *to);
    void (*tidy)(aoi_engine *); /* gives back what is not needed any more, all where no entity is left; may be NULL */

    /* Prefetches what `move` will read of this entity: stage 0 some movers ahead, stage 1 just before; or `place`, which
     * reads no nodes: AOI_FETCH_PLACE some movers ahead.  May be NULL. */
    void (*prefetch)(const aoi_engine *, uint32_t entity, int stage);

    /* The same without candidates: for a batch that the space judges when all are in place (tick/join.h).  NULL: batches
     * are moved one by one. */
    int (*place)(aoi_engine *, uint32_t entity, const double *to);

    /* aoi_add_hit() for every entity in the box lo..hi (first two axes), and maybe others; each once. */
    void (*targets)(aoi_engine *, const double *lo, const double *hi);
    /* aoi_add_hit() for every node whose box, in the plane whose circle, contains the point, idle ones if they are wanted,
     * and maybe others; each once. */
    void (*watchers)(aoi_engine *, const double *at, bool idle);

    /* `within`, unless a walk over the whole index costs less than one over the square of that half-extent: then a distance
     * within which, heights aside, so many entities stand.  INFINITY: there are none so far away.  May be NULL. */
    double (*nearest)(aoi_engine *, const double *at, double within, size_t count);

    const char *(*check)(aoi_engine *); /* NULL, or the invariant that does not hold */
    void (*stats)(const aoi_engine *, aoi_stats *);
    void (*describe)(const aoi_engine *, aoi_describer *); /* changes nothing */
};

/* The table of engines, ended by NULL; the first is the default. */
extern const aoi_engine_class *const aoi_engines[];

/* ---- what the space offers -------------------------------------------------------------------------------------- */

static inline bool aoi_is_live(uint32_t generation) {
    return generation & 1;
}

static inline bool aoi_is_bounded(const aoi_node_record *n) {
    return n->reach[0] <= DBL_MAX;
}

/* Half-extent of a rectangle that is surely inside a square or a circle on x and y, as long as heights do not change; < 0:
 * none. */
static inline double aoi_inner_extent(int dims, int shape, double radius) {
    if (shape == AOI_SQUARE) return radius;
    if (dims == 3 || !(radius > 1e-150) || isinf(radius * radius)) return -1;
    return radius * (0.70710678118654752 * (1 - 0x1p-40));
}

/* Tells a part if it is asked about; true: its entries are wanted. */
static inline bool aoi_tell_part(aoi_describer *d, const aoi_part *p) {
    bool apart = p->lo[0] > d->hi[0] || p->lo[1] > d->hi[1] || p->hi[0] < d->lo[0] || p->hi[1] < d->lo[1];
    return !apart && d->part(d, p);
}

/* Half-extent of a node's box on the third axis. */
static inline double aoi_height_of(const aoi_world *w, uint32_t node) {
    const aoi_shape *p = w->areas[node].shape;
    return p ? p->height : w->nodes[node].reach[0];
}

/* Whether a node may see targets of this kind.  An exception for one target sets its kind aside. */
static inline bool aoi_may_see(const aoi_node_record *n, uint64_t kind) {
    return (n->mask & kind) || (n->flags & AOI_NODE_OVERRIDES);
}

/* The next bounded node of a chain, from this one on, that has the level; AOI_NONE if there is none. */
static inline uint32_t aoi_next_in_level(const aoi_world *w, uint32_t node, uint32_t level) {
    while (node != AOI_NONE && (w->nodes[node].level != level || !aoi_is_bounded(w->nodes + node)))
        node = w->nodes[node].next;
    return node;
}

/* The node need not exist. */
static inline void aoi_prefetch_node(const aoi_world *w, uint32_t node) {
    AOI_PREFETCH((const void *)((uintptr_t)w->nodes + (size_t)node * sizeof *w->nodes));
}

static inline aoi_bounds aoi_bounds_of(const aoi_world *w, uint32_t node) {
    const aoi_node_record *n = w->nodes + node;
    const aoi_area_record *a = w->areas + node;
    aoi_bounds b = {{n->reach[0], n->reach[1], aoi_height_of(w, node)}, {0, 0}, n->shape, false, false};
    b.plain = aoi_is_plain_shape(n->shape, n->flags & AOI_NODE_KEEPS);
    b.idle = aoi_is_idle(n->flags, n->flags & AOI_NODE_KEEPS);
    b.hole[0] = a->shape ? a->shape->hole[0] : aoi_inner_extent(w->dims, n->shape, a->radius);
    b.hole[1] = a->shape ? a->shape->hole[1] : b.hole[0];
    return b;
}

/* Neither can fail towards the engine: when memory runs out the space undoes the call afterwards. */
static inline void aoi_add_candidate(aoi_world *w, uint32_t node, uint32_t target) {
    if (!AOI_GROW(&w->memory, w->candidates, w->candidate_cap, w->candidate_count + (size_t)1)) w->failed = true;
    else w->candidates[w->candidate_count++] = (aoi_candidate){node, target};
}

/* The target, of this kind, for all nodes of a level in a chain, from this one of that level on. */
static inline void aoi_add_candidates(aoi_world *w, uint32_t node, uint32_t level, uint32_t target, uint64_t kind) {
    for (uint32_t n = node; n != AOI_NONE; n = aoi_next_in_level(w, w->nodes[n].next, level))
        if (aoi_may_see(w->nodes + n, kind)) aoi_add_candidate(w, n, target);
}

static inline void aoi_add_hit(aoi_world *w, uint32_t slot) {
    if (!AOI_GROW(&w->memory, w->hits, w->hit_cap, w->hit_count + (size_t)1)) w->failed = true;
    else w->hits[w->hit_count++] = slot;
}

static inline void aoi_add_hits(aoi_world *w, const uint32_t *slots, size_t count) {
    if (!AOI_GROW(&w->memory, w->hits, w->hit_cap, w->hit_count + count)) w->failed = true;
    else {
        memcpy(w->hits + w->hit_count, slots, count * sizeof *slots);
        w->hit_count += (uint32_t)count;
    }
}

static inline double *aoi_way_of(const aoi_world *w, uint32_t mover) {
    return w->ways + mover * (size_t)w->dims;
}

/* The places of a mover and of its entity change. */
static inline void aoi_swap_places(aoi_world *w, uint32_t mover) {
    double *pos = w->entities[w->movers[mover]].pos, *way = aoi_way_of(w, mover);
    double x = pos[0], y = pos[1];
    pos[0] = way[0], way[0] = x;
    pos[1] = way[1], way[1] = y;
    if (w->dims == 3) {
        double z = pos[2];
        pos[2] = way[2], way[2] = z;
    }
}

/* The next mover has had its turn. */
static inline void aoi_take_turn(aoi_world *w) {
    aoi_swap_places(w, w->moved++);
}

/* Where an entity was before the batch that moves it; where it is, if none does. */
static inline const double *aoi_position_before(const aoi_world *w, uint32_t entity) {
    const aoi_entity_record *e = w->entities + entity;
    return e->mover < w->moved ? aoi_way_of(w, e->mover) : e->pos;
}

#endif
