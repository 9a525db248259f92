/* aoi.h - area of interest: which entity is inside which area, and what comes and goes.  The C API of the library.
 *
 *   space    one map                     entity  something with a position and an id
 *   node     one area of interest, carried by an entity, with kinds that it looks for
 *   watcher  the entity that carries the node            target  the entity that the node sees
 *
 * The rule.  A square node of half-extent r on a watcher at w sees a target at t if and only if on every axis
 * w - r <= t && t <= w + r in IEEE double (bounds inclusive), and kind(target) & mask(node) != 0, and target != watcher.
 * A circle (in 3D a sphere): dx*dx + dy*dy (+ dz*dz) <= r*r with dx = t - w.  A node with keep > radius goes on seeing
 * what it saw until that is outside of `keep`.
 *
 * Results.  Every call changes the space completely or not at all: any result but AOI_OK means that nothing changed.
 * Events.   No call calls back.  What changed waits as events, in order and as net change, until it is taken.
 * Units.    Coordinates and radii are in world units, any finite double; there are no borders and no map size.
 * Options.  Structures of options are zeroed first, and zero is always the default.
 * Threads.  A space is used by one thread at a time, questions included: they write buffers of the space.  Different
 *           spaces are independent and may live on different threads.
 *
 * Cost of a call, with d entities or nodes in the neighbourhood it touches, E the events it makes, n entities in all:
 *
 *                    list         grid         tower        quadtree       brute
 *   move (a step)    O(passed+E)  O(ring+E)    O(ring+d)    O(ring+E)      O(n)       passed: entries passed in the lists
 *   move (a jump)    O(d)         O(d)         O(d)         O(d)           O(n)       ring: what lies about the border
 *   enter, leave     O(d)         O(d)         O(d)         O(d + depth)   O(n)
 *   add, remove,     O(d)         O(d)         O(d)         O(d + depth)   O(n)
 *     set a node
 *   near, view,      O(d)         O(d)         O(d)         O(d + depth)   O(n)
 *     viewers
 *
 * Whole tables of measured figures are in docs/ and bench/results/. */
#ifndef AOI_H
#define AOI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AOI_VERSION_MAJOR 0
#define AOI_VERSION_MINOR 2
#define AOI_VERSION_PATCH 0
#define AOI_VERSION "0.2.0"

/* AOI_SHARED: the program uses the shared library.  AOI_BUILD_SHARED: the library is being built. */
#if defined(_WIN32) && defined(AOI_BUILD_SHARED)
#define AOI_API __declspec(dllexport)
#elif defined(_WIN32) && defined(AOI_SHARED)
#define AOI_API __declspec(dllimport)
#elif defined(__GNUC__) && defined(AOI_BUILD_SHARED)
#define AOI_API __attribute__((visibility("default")))
#else
#define AOI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aoi_space aoi_space;

/* Handles.  All zeros is null.  A handle outlives its object safely: a stale one is an error (AOI_EGONE), never another
 * object; the generation tells lives of a slot apart. */
typedef struct aoi_entity {
    uint32_t index, generation;
} aoi_entity;

typedef struct aoi_node {
    uint32_t index, generation;
} aoi_node;

#define AOI_IS_NULL(handle) ((handle).generation == 0)
#define AOI_EQUALS(a, b) ((a).index == (b).index && (a).generation == (b).generation)

enum {
    AOI_OK = 0,
    AOI_ENOMEM, /* the allocator refused */
    AOI_EGONE,  /* a handle that is stale or null; an id that is not in the space */
    AOI_EEXIST, /* that id, or that node id on this entity, is taken */
    AOI_EVALUE  /* a coordinate that is not finite, a radius that is negative or NaN, keep < radius, a bad option */
};

enum { AOI_ENTER = 1, AOI_LEAVE = 2 };   /* kinds of events */
enum { AOI_SQUARE = 0, AOI_CIRCLE = 1 }; /* shapes of areas; in three dimensions a cube and a sphere */

#define AOI_ALL_KINDS UINT64_MAX

/* The host's allocator, in the manner of lua_Alloc: resizes ptr from osize to nsize bytes; ptr is NULL for a new block,
 * nsize 0 frees and returns NULL.  Blocks are aligned as malloc's.  Shrinking should not fail; where it does the block
 * stays as it is. */
typedef void *(*aoi_alloc)(void *ud, void *ptr, size_t osize, size_t nsize);

typedef struct aoi_options {
    const char *engine; /* one of aoi_engine_name(); NULL is the default, "list" */
    int dimensions;     /* 2 or 3; 0 is 2 */
    double cell;        /* hint: cell size in world units, > 0, may be INFINITY; 0 leaves it to the engine */
    aoi_alloc alloc;    /* NULL is realloc and free */
    void *alloc_ud;
} aoi_options;

typedef struct aoi_area {
    double radius;      /* half-extent, >= 0, may be INFINITY */
    double keep;        /* leave radius, >= radius; 0 is the same as radius */
    uint64_t mask;      /* kinds it looks for; AOI_ALL_KINDS for all */
    int shape;          /* AOI_SQUARE or AOI_CIRCLE */
    bool silent;        /* it answers questions but makes no events */
    uint64_t user_data; /* the caller's own: its events bring it back */
} aoi_area;

typedef struct aoi_event {
    int kind; /* AOI_ENTER or AOI_LEAVE */
    int64_t watcher, target, node_id;
    uint64_t user_data; /* the node's */
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
    uint64_t pairs;      /* pairs with a state of their own: seen, but only by `keep` */
    uint64_t cells;      /* cells, tiles or tree nodes in use */
    uint64_t levels;     /* size classes of nodes in use */
} aoi_stats;

/* ---- the library ------------------------------------------------------------------------------------------------ */

/* The version of the library that is linked, as AOI_VERSION; differs from the macro where header and library do. */
AOI_API const char *aoi_version(void);

/* One English phrase for a result of any call, for instance "not enough memory".  A constant; never NULL. */
AOI_API const char *aoi_result_text(int result);

/* Name of engine i, in the order of the table of engines, NULL past the last.  Engine 0 is the default. */
AOI_API const char *aoi_engine_name(int i);

/* ---- the space -------------------------------------------------------------------------------------------------- */

/* New space in *out; the caller owns it and closes it.  AOI_EVALUE for an engine that does not exist or an option out of
 * its range, AOI_ENOMEM; *out is then as it was.  The options may go away after the call. */
AOI_API int aoi_open(const aoi_options *options, aoi_space **out);

/* Frees everything; no events; every handle, row buffer and answer of the space is invalid.  NULL is harmless. */
AOI_API void aoi_close(aoi_space *s);

/* ---- entities --------------------------------------------------------------------------------------------------- */

/* A new entity at pos: 2 or 3 finite coordinates.  The handle in *out, which may be NULL.  kind: bits that masks look
 * for; with 0 it is seen by no node.  AOI_EVALUE, AOI_EEXIST, AOI_ENOMEM. */
AOI_API int aoi_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out);

/* Any distance: a teleport is an ordinary move, at the cost of both places.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_move(aoi_space *s, aoi_entity e, const double *pos);

/* With all its nodes; whatever saw it, and whatever its nodes saw, makes a leave event.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_leave(aoi_space *s, aoi_entity e);

/* Exactly the difference in events.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_set_kind(aoi_space *s, aoi_entity e, uint64_t kind);

/* Batches.  The events are the net change over all rows: pairs are judged by where everything is before and after.  All
 * rows are checked before the first is applied; *bad (may be NULL) is then the index of the row that was refused.  An id
 * may stand in several rows of aoi_move_many: the last one counts.  aoi_leave_many: ids. */
AOI_API int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad);
AOI_API int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad);
AOI_API int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad);

/* Room for n rows, the space's own, valid until the next call of this; NULL when the allocator refuses. */
AOI_API aoi_row *aoi_row_buffer(aoi_space *s, size_t n);

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* A new node with a node_id that is unique on its entity; the area is copied.  The handle in *out, which may be NULL.
 * AOI_EGONE, AOI_EEXIST, AOI_EVALUE for an area that is none, AOI_ENOMEM. */
AOI_API int aoi_add_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, aoi_node *out);

/* The same node for each of n entities; all or nothing; *bad (may be NULL) is the index of the entity that was refused. */
AOI_API int aoi_add_node_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                              size_t *bad);

/* Leave events for all that it saw.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_remove_node(aoi_space *s, aoi_node n);

/* Exactly the difference in events.  keep 0: the same as radius.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_set_radius(aoi_space *s, aoi_node n, double radius, double keep);
AOI_API int aoi_set_mask(aoi_space *s, aoi_node n, uint64_t mask);

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Events wait call by call, each call's leaves before its enters.  An event that meets its waiting opposite cancels it. */
AOI_API size_t aoi_pending(const aoi_space *s);

/* Takes the oldest event into *out; false when none waits. */
AOI_API bool aoi_next(aoi_space *s, aoi_event *out);

/* Takes up to max events, oldest first, into the caller's array; returns how many.  Cheaper than aoi_next one by one. */
AOI_API size_t aoi_drain(aoi_space *s, aoi_event *events, size_t max);

/* For a host that takes events once a tick: all waiting leaves come before all waiting enters, otherwise in the same
 * order.  Events that were taken in part, or that aoi_keep_order fixed, keep their places in front. */
AOI_API void aoi_leaves_first(aoi_space *s);
AOI_API void aoi_keep_order(aoi_space *s);

/* ---- questions: they change nothing and make no events ---------------------------------------------------------- */

AOI_API aoi_entity aoi_find(const aoi_space *s, int64_t id);                       /* null: no such entity */
AOI_API aoi_node aoi_find_node(const aoi_space *s, aoi_entity e, int64_t node_id); /* null: no such node */
AOI_API aoi_node aoi_first_node(const aoi_space *s, aoi_entity e); /* newest first; null past the last */
AOI_API aoi_node aoi_next_node(const aoi_space *s, aoi_node n);

/* Copies out 2 or 3 coordinates, the very numbers that were set; false, and nothing copied, for a stale handle. */
AOI_API bool aoi_position(const aoi_space *s, aoi_entity e, double *pos);
AOI_API bool aoi_kind(const aoi_space *s, aoi_entity e, uint64_t *kind);
AOI_API bool aoi_area_of(const aoi_space *s, aoi_node n, aoi_area *area);
AOI_API bool aoi_node_id(const aoi_space *s, aoi_node n, int64_t *node_id);

AOI_API bool aoi_sees(const aoi_space *s, aoi_node n, aoi_entity target); /* false for stale handles, too */
AOI_API size_t aoi_count(const aoi_space *s);
AOI_API int aoi_dimensions(const aoi_space *s);
AOI_API void aoi_read_stats(const aoi_space *s, aoi_stats *out);

/* Lists, in no particular order.  The answer is the space's: *ids (and *nodes, the node ids of the watchers) are valid
 * until the next call on the space.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_view(aoi_space *s, aoi_node n, const int64_t **ids, size_t *count);
AOI_API int aoi_viewers(aoi_space *s, aoi_entity e, const int64_t **ids, const int64_t **nodes, size_t *count);

/* The entities whose kind meets the mask in the square of half-extent `radius` around pos, bounds inclusive. */
AOI_API int aoi_near(aoi_space *s, const double *pos, double radius, uint64_t mask, const int64_t **ids, size_t *count);
AOI_API int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count);

/* Verifies every invariant and compares with brute force: O(n * nodes).  NULL if all holds, else what does not; the
 * text is the space's, valid until the next call. */
AOI_API const char *aoi_check(aoi_space *s);

#ifdef __cplusplus
}
#endif

#endif
