/* engine.h - what the space promises an engine, and an engine the space.
 *
 * An engine is an index over positions and over the boxes of nodes.  It never decides who sees whom: it proposes pairs
 * that may have changed, and the space asks the rule.  So engines cannot differ in meaning, and a sixth engine is one
 * new file, engine_NAME.c, that defines `const aoi_engine_class aoi_engine_NAME`, and one line in engines.c.
 *
 * To an engine a node is a box: its owner's position +- its reach, bounds inclusive.  Nodes of infinite reach are the
 * space's own affair; an engine never hears of them.  Entities and nodes are known by slot, a small number that stays.
 *
 * Memory.  A verb that returns AOI_ENOMEM has changed nothing that can be observed.  `relocate` releases no storage,
 * so that within one batch every step can be taken back, last first, without fail; `tidy` releases, between calls. */
#ifndef AOI_ENGINE_H
#define AOI_ENGINE_H

#include "base/hash_index.h"

/* Each record is one line of memory. */
typedef struct aoi_entity_record {
    _Alignas(AOI_CACHE_LINE) double pos[3];
    int64_t id;
    uint64_t kind;
    uint32_t nodes;      /* chain of its nodes */
    uint32_t watched;    /* chain of pairs of which it is the target */
    uint32_t generation; /* odd: alive */
    uint32_t home, slot; /* the engine's, free for its use; a free record is chained through `home` */
    uint32_t row;        /* the one that moved it in a batch, or who moved after it; either only a guess */
} aoi_entity_record;

typedef struct aoi_node_record {
    _Alignas(AOI_CACHE_LINE) double reach; /* half-extent of its box */
    uint64_t mask;
    int64_t node_id;
    uint32_t owner, next; /* the carrying entity; the next node in its chain */
    uint32_t generation;  /* odd: alive */
    uint32_t pending;     /* events of it that wait; a dead node's slot is free when there are none */
    uint32_t targets;     /* chain of pairs of which it is the node */
    /* The engine's.  A node of infinite reach has level AOI_NONE and is chained through home and slot, a free record
     * through home. */
    uint32_t level, home, slot;
    uint32_t tag;
    uint8_t shape;
    bool silent, by_pair; /* by_pair: it has a state for each pair; what the others see follows from their box */
} aoi_node_record;

typedef struct aoi_extent { /* of a node: what its box does not tell; keep is never below radius */
    double radius, keep;
} aoi_extent;

typedef struct aoi_engine_class aoi_engine_class;

/* What engines may read of the space, and the records whose `home` and `slot` they may write.  The pools move when an
 * entity or a node is added, never during a call into an engine. */
typedef struct aoi_world {
    aoi_memory memory;
    int dims;     /* 2 or 3 */
    bool undoing; /* a step of a batch is being taken back: `relocate` must succeed, and can */
    aoi_entity_record *entities;
    aoi_node_record *nodes;
    aoi_extent *extents;                                             /* by node */
    uint32_t entity_cap, entity_top, node_cap, extent_cap, node_top; /* top: slots ever used */
} aoi_world;

typedef struct aoi_engine { /* the head of every engine's own structure */
    const aoi_engine_class *class;
    aoi_world *world;
    uint64_t steps; /* entries walked */
} aoi_engine;

struct aoi_engine_class {
    const char *name;
    size_t size; /* of its structure, whose head is aoi_engine; the rest is zeroed before open */

    int (*open)(aoi_engine *, double cell); /* cell: the hint, 0 if there is none */
    void (*close)(aoi_engine *);

    /* Structure.  The entity's record holds the position; of a node, the owner and the reach. */
    int (*enter)(aoi_engine *, uint32_t entity);
    void (*leave)(aoi_engine *, uint32_t entity); /* it has no nodes any more */
    int (*attach)(aoi_engine *, uint32_t node);
    void (*detach)(aoi_engine *, uint32_t node);
    int (*resize)(aoi_engine *, uint32_t node, double reach); /* the record still holds the old reach */
    int (*relocate)(aoi_engine *, uint32_t entity, const double *from, const double *to); /* the record holds `from` */
    void (*tidy)(aoi_engine *);

    /* It will soon be asked about this entity: asks for the memory that it will read.  First with `soon` unset, then, when
     * that should have come, set.  May be NULL. */
    void (*fetch)(const aoi_engine *, uint32_t entity, bool soon);

    /* aoi_propose() for every pair whose being in the box may differ between `from` and `to`, exactly once each.
     * The record holds `from`, the index is as before. */
    void (*propose)(aoi_engine *, uint32_t entity, const double *from, const double *to);

    /* A batch that moves many at once.  Would the engine rather propose when all are where they arrive, if nobody goes farther
     * than that on an axis, nor up or down?  Then, once they are: aoi_propose_moved() for all pairs of entities, each once,
     * that may see more or less of each other than before; false when memory is refused.  Both may be NULL. */
    bool (*joins)(const aoi_engine *, double farthest);
    bool (*propose_all)(aoi_engine *);

    /* aoi_found() for every entity in the box lo..hi, and maybe others; each once. */
    void (*targets)(aoi_engine *, const double *lo, const double *hi);
    /* aoi_found() for every node whose box contains the point, and maybe others; each once. */
    void (*watchers)(aoi_engine *, const double *at);

    const char *(*check)(aoi_engine *); /* NULL, or the invariant that does not hold */
    void (*stats)(const aoi_engine *, aoi_stats *);
};

/* The table of engines, ended by NULL; the first is the default. */
extern const aoi_engine_class *const aoi_engines[];

/* ---- what the space offers ------------------------------------------------------------------------------------ */

/* Neither can fail towards the engine: when memory runs out the space notes it and undoes the call afterwards. */
void aoi_propose(aoi_world *w, uint32_t node, uint32_t target);
/* All boxed nodes of this level, the mover's with each of the others as the target, and theirs with the mover; the mover
 * may be among the others. */
void aoi_propose_each_other(aoi_world *w, uint32_t level, uint32_t mover, const uint32_t *others, size_t count);
/* For propose_all: two entities, of whose nodes those of this level are asked; and where they were, x and y. */
typedef struct aoi_couple {
    uint32_t a, b;
} aoi_couple;
void aoi_propose_moved(aoi_world *w, uint32_t level, const aoi_couple *couples, size_t count);
void aoi_positions_before(const aoi_world *w, const uint32_t *entities, size_t count, double (*was_at)[2]);
void aoi_found(aoi_world *w, uint32_t slot);

static inline bool aoi_alive(uint32_t generation) {
    return generation & 1;
}

#endif
