/* aoi.h - area of interest: who sees whom, and who comes and goes.  The C API; it knows nothing of Lua.
 *
 *   space   one map.  entity  something with a position and an id.  node  one area of interest carried by an entity.
 *   watcher the entity that carries the node.  target  the entity that the node sees.
 *
 * The rule.  A square node of half-extent r on a watcher at w sees a target at t if and only if on every axis
 * w - r <= t && t <= w + r in IEEE double (bounds inclusive), and kind(target) & mask(node) != 0, and target != watcher.
 * A round node: dx*dx + dy*dy (+ dz*dz) <= r*r with dx = t - w.  A node with keep > radius goes on seeing what it saw
 * until that is outside `keep`.
 *
 * Every call changes the space completely or not at all: whatever it returns other than AOI_OK changed nothing.
 * Calls never call back.  What changed waits as events, in order and as net change, until aoi_next takes them.
 * Coordinates and radii are in world units.  A space is not thread-safe: one thread at a time.
 */
#ifndef AOI_H
#define AOI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct aoi_space aoi_space;

/* A handle is generation and slot in one; 0 is nobody.  A stale handle is an error (AOI_EGONE), never a wrong object. */
typedef uint64_t aoi_entity;
typedef uint64_t aoi_node;

enum {
    AOI_OK = 0,
    AOI_ENOMEM, /* the allocator refused; nothing changed */
    AOI_EGONE,  /* a handle that is stale or null */
    AOI_EEXIST, /* that id, or that node id on this entity, is taken */
    AOI_EVALUE  /* a coordinate that is not finite, a radius that is negative or NaN, keep < radius, a bad option */
};

enum { AOI_ENTER = 1, AOI_LEAVE = 2 };   /* kinds of events */
enum { AOI_SQUARE = 0, AOI_CIRCLE = 1 }; /* shapes of areas; in three dimensions a cube and a sphere */

#define AOI_ALL_KINDS UINT64_MAX

/* The host's allocator, in the manner of lua_Alloc: resizes ptr from osize to nsize bytes; ptr is NULL for a new block,
 * nsize 0 frees and returns NULL.  Shrinking may not fail. */
typedef void *(*aoi_alloc)(void *ud, void *ptr, size_t osize, size_t nsize);

typedef struct aoi_options {
    const char *engine; /* one of aoi_engine_name(); NULL is the default, "list" */
    int dimensions;     /* 2 or 3; 0 is 2 */
    double cell;        /* hint: cell size in world units, > 0, may be INFINITY; 0 leaves it to the engine */
    aoi_alloc alloc;    /* NULL is realloc and free */
    void *alloc_ud;
} aoi_options;

typedef struct aoi_area {
    double radius; /* half-extent, >= 0, may be INFINITY */
    double keep;   /* leave radius, >= radius; 0 is the same as radius */
    uint64_t mask; /* kinds it looks for; AOI_ALL_KINDS for all */
    int shape;     /* AOI_SQUARE or AOI_CIRCLE */
    bool silent;   /* it answers queries but makes no events */
    uint32_t tag;  /* the caller's own: its events bring it back */
} aoi_area;

typedef struct aoi_event {
    int kind; /* AOI_ENTER or AOI_LEAVE */
    int64_t watcher, target, node_id;
    uint32_t slot; /* the node's slot: no other node has it until this node is removed and its last event taken */
    uint32_t tag;  /* the node's */
    bool last;     /* taken: the node is gone and this was its last event, so that its slot is free now */
} aoi_event;

typedef struct aoi_row { /* one row of a batch: id and position */
    int64_t id;
    double pos[3];
} aoi_row;

typedef struct aoi_stats {
    uint64_t entities, nodes;
    uint64_t events;     /* taken so far */
    uint64_t pending;    /* waiting */
    uint64_t memory;     /* bytes held */
    uint64_t candidates; /* pairs that were examined */
    uint64_t steps;      /* list or cell entries walked */
    uint64_t pairs;      /* pairs with a state of their own: nodes that keep, and round ones */
    uint64_t cells;      /* cells, tiles or tree nodes in use */
    uint64_t levels;     /* size classes of nodes in use */
} aoi_stats;

/* ---- the space ---------------------------------------------------------------------------------------------- */

/* Name of engine i, in the order of the table of engines, NULL past the last.  Engine 0 is the default. */
const char *aoi_engine_name(int i);

/* New space in *out; the caller owns it and closes it.  AOI_EVALUE for options out of their range. */
int aoi_open(const aoi_options *options, aoi_space **out);
void aoi_close(aoi_space *s); /* frees everything, no events; NULL is harmless */

/* ---- entities: all cost what the neighbourhood they touch costs (see each engine's header) ------------------- */

/* pos: 2 or 3 finite coordinates.  out may be NULL. */
int aoi_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out);
int aoi_move(aoi_space *s, aoi_entity e, const double *pos);
int aoi_leave(aoi_space *s, aoi_entity e); /* with all its nodes */
int aoi_set_kind(aoi_space *s, aoi_entity e, uint64_t kind);

/* A batch: the events are the net change over all rows.  All rows are checked first; *bad (may be NULL) is then the
 * offending row.  An id may stand in several rows of a move, which then happen in order. */
int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad);
int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad);

/* Room for n rows, the space's own, valid until the next call of this; NULL when the allocator refuses. */
aoi_row *aoi_row_buffer(aoi_space *s, size_t n);

/* ---- nodes --------------------------------------------------------------------------------------------------- */

int aoi_add_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, aoi_node *out);
int aoi_remove_node(aoi_space *s, aoi_node n);
int aoi_set_radius(aoi_space *s, aoi_node n, double radius, double keep); /* keep 0: the same as radius */
int aoi_set_mask(aoi_space *s, aoi_node n, uint64_t mask);

/* The slot that the next aoi_add_node will use: for a caller who keeps data by slot and must not fail afterwards. */
uint32_t aoi_next_slot(const aoi_space *s);

/* Tells each slot that has become free, once, one a call; false when all are told.  For callers who keep data by slot
 * (ask after every call that removes, and after taking events); all others may forget it. */
bool aoi_next_freed(aoi_space *s, uint32_t *slot);

/* ---- events -------------------------------------------------------------------------------------------------- */

size_t aoi_pending(const aoi_space *s);
/* Events wait call by call, each call's leaves before its enters.  Whoever takes them once a tick may call this first:
 * then all leaves that wait come before all enters, otherwise in the same order. */
void aoi_leaves_first(aoi_space *s);
void aoi_keep_order(aoi_space *s); /* what waits now stays as it is: aoi_leaves_first orders only what comes later */
bool aoi_next(aoi_space *s, aoi_event *out); /* takes the oldest; false when none waits */
/* Reads without taking: up to max events from *cursor on, which starts at 0 and moves on; how many were read.  Nothing
 * else may be called between the reads. */
size_t aoi_peek(const aoi_space *s, uint32_t *cursor, aoi_event *out, size_t max);
void aoi_take_all(aoi_space *s); /* what has been peeked counts as taken */

/* ---- questions: they change nothing and make no events -------------------------------------------------------- */

aoi_entity aoi_find(const aoi_space *s, int64_t id);                       /* 0: nobody */
aoi_node aoi_find_node(const aoi_space *s, aoi_entity e, int64_t node_id); /* 0: none */
aoi_node aoi_first_node(const aoi_space *s, aoi_entity e);                 /* newest first; 0 past the last */
aoi_node aoi_following_node(const aoi_space *s, aoi_node n);
const double *aoi_position(const aoi_space *s, aoi_entity e);       /* NULL: stale */
bool aoi_kind(const aoi_space *s, aoi_entity e, uint64_t *kind);    /* false: stale */
bool aoi_area_of(const aoi_space *s, aoi_node n, aoi_area *area);   /* false: stale */
bool aoi_node_id(const aoi_space *s, aoi_node n, int64_t *node_id); /* false: stale */
bool aoi_sees(const aoi_space *s, aoi_node n, aoi_entity target);
size_t aoi_count(const aoi_space *s);
int aoi_dimensions(const aoi_space *s);
void aoi_read_stats(const aoi_space *s, aoi_stats *out);

/* These leave their answer in the space: *ids (and *nodes, the node ids of the watchers) are valid until the next call. */
int aoi_view(aoi_space *s, aoi_node n, const int64_t **ids, size_t *count);
int aoi_viewers(aoi_space *s, aoi_entity e, const int64_t **ids, const int64_t **nodes, size_t *count);
int aoi_near(aoi_space *s, const double *pos, double radius, uint64_t mask, const int64_t **ids, size_t *count);
int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count);

/* Verifies every invariant and compares with brute force: O(n * nodes).  NULL if all holds, else what does not; the
 * text is the space's, valid until the next call. */
const char *aoi_check(aoi_space *s);

#endif
