/* aoi.h - area of interest: which entity is inside which area, and what comes and goes.  The C API of the library.
 *
 *   space    one map                     entity  something with a position and an id
 *   node     one area of interest, carried by an entity, with kinds that it looks for
 *   watcher  the entity that carries the node            target  the entity that the node sees
 *
 * The rule.  A node on a watcher at w sees a target at t if and only if t is inside the node's area,
 * kind(target) & mask(node) != 0, and target != watcher.  Inside, with dx = t.x - w.x and so on, all in IEEE double as
 * written and bounds inclusive:
 *
 *   square    w - radius <= t && t <= w + radius on every axis (in 3D a cube)
 *   circle    dx*dx + dy*dy (+ dz*dz) <= radius*radius (in 3D a sphere)
 *   box       w - e <= t && t <= w + e on every axis, e of extents
 *   cylinder  dx*dx + dy*dy <= radius*radius and w.z - half_height <= t.z && t.z <= w.z + half_height; 3D only
 *   sector    the circle in x and y, and dx*fx + dy*fy >= c * sqrt(dx*dx + dy*dy) with fx, fy, c = cos(facing),
 *             sin(facing), cos(angle / 2); angle 2 pi is the whole circle; in 3D also the cylinder's rule of height
 *   polygon   even-odd: for each side from corner j to corner i toggle if (yi > dy) != (yj > dy) and
 *             dx < (xj - xi) * (dy - yi) / (yj - yi) + xi; in 3D also the rule of height
 *
 * A node with a margin goes on seeing what it saw until that is outside the area grown by the margin: radius, extents and
 * half_height + margin, the angle as it is.  Squares and circles may name the leave radius itself: keep.
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

#define AOI_VERSION_MAJOR 1
#define AOI_VERSION_MINOR 0
#define AOI_VERSION_PATCH 0
#define AOI_VERSION "1.0.0"

/* AOI_SHARED: the program uses the shared library.  AOI_BUILD_SHARED: the library is being built.  A program that includes
 * the sources may define AOI_API itself: static makes the functions its own. */
#if defined(AOI_API)
#elif defined(_WIN32) && defined(AOI_BUILD_SHARED)
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
    AOI_ENOMEM,    /* the allocator refused */
    AOI_EGONE,     /* a handle that is stale or null; an id that is not in the space */
    AOI_EEXIST,    /* that id, or that node id on this entity, is taken */
    AOI_EVALUE,    /* a coordinate that is not finite, an area that is none, a bad option */
    AOI_EATTACHED, /* it is attached: its carrier moves it */
    AOI_ECHAIN     /* a chain of carriers that is a circle, or longer than AOI_MOST_CHAIN */
};

enum { AOI_ENTER = 1, AOI_LEAVE = 2 };                                               /* kinds of events */
enum { AOI_SQUARE = 0, AOI_CIRCLE, AOI_BOX, AOI_CYLINDER, AOI_SECTOR, AOI_POLYGON }; /* shapes of areas */
enum { AOI_MOST_CORNERS = 64, AOI_MOST_LABEL = 255 };

/* What a node does with one target, whatever the rule says (aoi_override). */
enum {
    AOI_BY_RULE = 0,
    AOI_HIDE, /* never seen */
    AOI_SHOW, /* seen wherever both are */
    AOI_MATCH /* as if kind and mask met: the area still counts */
};

#define AOI_ALL_KINDS UINT64_MAX

/* The host's allocator, in the manner of lua_Alloc: resizes ptr from osize to nsize bytes; ptr is NULL for a new block,
 * nsize 0 frees and returns NULL.  Blocks are aligned as malloc's.  Shrinking should not fail; where it does the block
 * stays as it is. */
typedef void *(*aoi_alloc)(void *ud, void *ptr, size_t osize, size_t nsize);

typedef struct aoi_options {
    const char *engine; /* one of aoi_engine_name(); NULL is the default, "list" */
    int dimensions;     /* 2 or 3; 0 is 2 */
    double cell;        /* hint: cell size in world units, > 0, may be INFINITY; 0 leaves it to the engine */
    bool deferred;      /* moves are judged together, by aoi_flush or the next call that needs them judged */
    aoi_alloc alloc;    /* NULL is realloc and free */
    void *alloc_ud;
} aoi_options;

typedef struct aoi_area { /* fields that a shape has no use for are not read */
    int shape;            /* AOI_SQUARE ... */
    uint64_t mask;        /* kinds it looks for; AOI_ALL_KINDS for all */
    double radius;        /* square, circle: >= 0, may be INFINITY; cylinder, sector: finite */
    double margin;        /* >= 0; what was seen is lost only outside the area grown by it; not for polygons */
    double keep;          /* square, circle, instead of margin: leave radius, >= radius; 0: none */
    double extents[3];    /* box: half-extents, finite */
    double half_height;   /* cylinder, finite; in 3D sector and polygon, too: there INFINITY is any height */
    double facing, angle; /* sector: radians, 0 is along +x, counter-clockwise; the whole opening, 0 < angle <= 2 pi */
    const double *points; /* polygon: x, y of 3 to 64 corners relative to the watcher, in either winding; copied */
    int corners;
    bool layered; /* it has these layers; else those of its owner, in a question all */
    uint64_t layers;
    bool silent;        /* it answers questions but makes no events */
    const char *label;  /* 1 to 255 bytes, copied: names the node in explanations, journals, viewers; NULL: aoi_set_area
                           keeps the one it has.  Not read by questions */
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
    uint64_t cells;      /* of the grid, in use */
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

/* Exactly the difference in events.  AOI_EGONE, AOI_ENOMEM.  Layers: bits, the first alone without this; a node sees a
 * target only if layers of both meet, besides kind and mask.  Extent: finite, >= 0, 0 without this (AOI_EVALUE): every area
 * is tested grown by the target's, as a margin grows it, polygons and infinite radii as they are.  Extents are for some in
 * a hundred: a move looks through those in its column of the map, and that of a large one asks its surroundings. */
AOI_API int aoi_set_kind(aoi_space *s, aoi_entity e, uint64_t kind);
AOI_API int aoi_set_layers(aoi_space *s, aoi_entity e, uint64_t layers);
AOI_API int aoi_set_extent(aoi_space *s, aoi_entity e, double extent);

/* Batches.  The events are the net change over all rows: pairs are judged by where everything is before and after.  All
 * rows are checked before the first is applied; *bad (may be NULL) is then the index of the row that was refused.  An id
 * may stand in several rows of aoi_move_many: the last one counts.  aoi_leave_many: ids. */
AOI_API int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad);
AOI_API int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad);
AOI_API int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad);

/* Room for n rows, the space's own, valid until the next call of this; NULL when the allocator refuses. */
AOI_API aoi_row *aoi_row_buffer(aoi_space *s, size_t n);

/* From now on the passenger's position is the carrier's plus the offset, one addition a coordinate: it moves there, and with
 * every move of its carrier, in the same call and delivery, and its own passengers with it.  Moving it is AOI_EATTACHED; a
 * move that would take a passenger to no finite place is AOI_EVALUE, all of it.  A null carrier lets go: it stays where it
 * is, as all passengers do when their carrier leaves.  At most AOI_MOST_CHAIN entities from the first carrier to the last
 * passenger.  AOI_EGONE, AOI_EVALUE, AOI_ECHAIN, AOI_ENOMEM. */
enum { AOI_MOST_CHAIN = 16 };
AOI_API int aoi_attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset);

/* False where it is not attached.  offset may be NULL. */
AOI_API bool aoi_carrier(const aoi_space *s, aoi_entity passenger, aoi_entity *carrier, double *offset);
/* Those attached to this one itself, in no order.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_passengers(aoi_space *s, aoi_entity carrier, const int64_t **ids, size_t *count);

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* A new node with a node_id that is unique on its entity; the area is copied.  The handle in *out, which may be NULL.
 * AOI_EGONE, AOI_EEXIST, AOI_EVALUE for an area that is none, AOI_ENOMEM. */
AOI_API int aoi_add_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, aoi_node *out);

/* aoi_add_node with a past: the node counts as having seen the entities with these ids (a hand-over, a restart), in any
 * order; only differences are events.  An id that is not in the space makes a leave event; the watcher's own and ids that
 * stand there twice are passed over.  Cost: that of aoi_add_node and O(count log count). */
AOI_API int aoi_adopt_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, const int64_t *seen,
                           size_t count, aoi_node *out);

/* The same node for each of n entities; all or nothing; *bad (may be NULL) is the index of the entity that was refused. */
AOI_API int aoi_add_node_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                              size_t *bad);

/* Leave events for all that it saw.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_remove_node(aoi_space *s, aoi_node n);

/* The whole area, shape and mask included, becomes this one; user_data and silent stay.  Exactly the difference in
 * events: what it saw and still sees is not reported again.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_set_area(aoi_space *s, aoi_node n, const aoi_area *area);

/* The same for one field.  Radius: squares and circles; keep 0: there is none.  Facing: sectors. */
AOI_API int aoi_set_radius(aoi_space *s, aoi_node n, double radius, double keep);
AOI_API int aoi_set_facing(aoi_space *s, aoi_node n, double facing);
AOI_API int aoi_set_mask(aoi_space *s, aoi_node n, uint64_t mask);

/* One pair: AOI_HIDE, AOI_SHOW, AOI_MATCH, or AOI_BY_RULE to end it.  Exactly the difference in events.  It ends by itself
 * when the node, the watcher or the target goes.  Costs nothing to nodes without.  AOI_EGONE, AOI_ENOMEM; AOI_EVALUE for
 * the watcher itself or another value. */
AOI_API int aoi_override(aoi_space *s, aoi_node n, aoi_entity target, int how);

/* NULL, or what is wrong with an area in a space of that many dimensions: an English phrase that begins with the name of
 * the field.  A constant. */
AOI_API const char *aoi_area_fault(int dimensions, const aoi_area *area);

/* "square" ...; NULL where there is no such shape. */
AOI_API const char *aoi_shape_name(int shape);

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Events wait call by call, each call's leaves before its enters.  An event that meets its waiting opposite cancels it.
 *
 * A deferred space is for hosts that tick: a move only notes where the entity goes (some ten nanoseconds), and aoi_flush
 * looks once, at each mover's neighbourhood when few have moved, at the whole space when many have.  What is delivered is
 * the difference between what each node saw at the last delivery and what it sees now; what lay in between is not judged:
 * a node with a margin holds on to what it saw at the last delivery.  Then all leaves come before all enters.  Other
 * changes, and questions, have the moves before them judged first. */
AOI_API int aoi_flush(aoi_space *s);            /* AOI_ENOMEM: some moves wait to be judged; call it again */
AOI_API size_t aoi_pending(const aoi_space *s); /* events that wait, and moves to be judged */

/* Takes the oldest event into *out; false when none waits. */
AOI_API bool aoi_next(aoi_space *s, aoi_event *out);

/* Takes up to max events, oldest first, into the caller's array; returns how many.  Cheaper than aoi_next one by one. */
AOI_API size_t aoi_drain(aoi_space *s, aoi_event *events, size_t max);

/* What waits now keeps its order: the next aoi_flush puts leaves before enters only among what comes later. */
AOI_API void aoi_keep_order(aoi_space *s);

/* ---- questions: they change nothing and make no events ---------------------------------------------------------- */

AOI_API aoi_entity aoi_find(const aoi_space *s, int64_t id);                       /* null: no such entity */
AOI_API aoi_node aoi_find_node(const aoi_space *s, aoi_entity e, int64_t node_id); /* null: no such node */
AOI_API aoi_node aoi_first_node(const aoi_space *s, aoi_entity e); /* newest first; null past the last */
AOI_API aoi_node aoi_next_node(const aoi_space *s, aoi_node n);

/* Copies out 2 or 3 coordinates, the very numbers that were set; false, and nothing copied, for a stale handle. */
AOI_API bool aoi_position(const aoi_space *s, aoi_entity e, double *pos);
AOI_API bool aoi_layers(const aoi_space *s, aoi_entity e, uint64_t *layers);
AOI_API bool aoi_extent(const aoi_space *s, aoi_entity e, double *extent);
AOI_API bool aoi_kind(const aoi_space *s, aoi_entity e, uint64_t *kind);
AOI_API bool aoi_area_of(const aoi_space *s, aoi_node n, aoi_area *area); /* points: valid until the area changes */
AOI_API bool aoi_node_id(const aoi_space *s, aoi_node n, int64_t *node_id);

AOI_API bool aoi_sees(aoi_space *s, aoi_node n, aoi_entity target); /* false for stale handles, too */
AOI_API size_t aoi_count(const aoi_space *s);
AOI_API int aoi_dimensions(const aoi_space *s);
AOI_API void aoi_read_stats(const aoi_space *s, aoi_stats *out);

/* Lists, in no particular order.  The answer is the space's: *ids (and *nodes, the node ids of the watchers) are valid
 * until the next call on the space.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_view(aoi_space *s, aoi_node n, const int64_t **ids, size_t *count);
AOI_API int aoi_viewers(aoi_space *s, aoi_entity e, const int64_t **ids, const int64_t **nodes, size_t *count);

/* The entities inside that area put at pos whose kind meets its mask; with mask 0 of any kind, 0 included. */
AOI_API int aoi_near(aoi_space *s, const double *pos, const aoi_area *area, const int64_t **ids, size_t *count);

/* The answers of aoi_near for n places, whose coordinates stand in a row, 2 or 3 of each: *ids are all ids, those of the
 * first place first, and (*ends)[i] is how many there are up to and with place i.  Places close together are asked about
 * together: as many questions as entities cost three fifths to nine tenths of aoi_near for each, places that lie far from
 * each other as much as that.  No places are no error.  AOI_EVALUE: as aoi_near for any of them. */
AOI_API int aoi_near_many(aoi_space *s, const double *places, size_t n, const aoi_area *area, const int64_t **ids,
                          const uint32_t **ends, size_t *count);

/* Up to n entities, nearest first by dx*dx + dy*dy (+ dz*dz), equal ones by id, none farther than radius, which may be
 * INFINITY; mask as in aoi_near.  Costs what the neighbourhood costs: it looks around in growing squares, then at
 * cells in the order of their distances. */
AOI_API int aoi_nearest(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, const int64_t **ids,
                        size_t *count);

/* What a ball of that radius touches on its way from `from` to `to`, and when, 0 at `from` and 1 at `to`: a bullet, a
 * dash.  Ascending by time, then id; mask as in aoi_near.  With d = to - from, m = from - target, a = d.d, b = m.d,
 * c = m.m - radius*radius: c <= 0: time 0; else where a is 0 or b >= 0: no hit; else with q = b*b - a*c: none if q < 0,
 * time = (-b - sqrt(q)) / a, a hit if that is <= 1.  Costs about what aoi_near costs of the box of the whole way. */
AOI_API int aoi_sweep(aoi_space *s, const double *from, const double *to, double radius, uint64_t mask,
                      const int64_t **ids, const double **times, size_t *count);

/* The targets for which the node has an override, and what it is; both valid until the next call on the space. */
AOI_API int aoi_overrides(aoi_space *s, aoi_node n, const int64_t **targets, const int64_t **hows, size_t *count);

/* Why a node does or does not see a target: the first of these that applies. */
enum {
    AOI_WHY_NO_WATCHER,
    AOI_WHY_NO_NODE,
    AOI_WHY_NO_TARGET,
    AOI_WHY_SELF,
    AOI_WHY_HIDDEN,
    AOI_WHY_SHOWN,
    AOI_WHY_MASK,
    AOI_WHY_INSIDE,
    AOI_WHY_KEPT,
    AOI_WHY_OUTSIDE,
    AOI_WHY_WALL, /* of aoi_sight.h */
    AOI_WHY_LINGERS,
    AOI_WHY_LAYERS /* kind and mask meet, layers do not */
};

typedef struct aoi_explanation {
    bool sees;
    int why;               /* AOI_WHY_...; aoi_why_text names it */
    bool pending;          /* an event about the pair waits */
    double d[3], distance; /* target minus watcher; from "no target" on these and what follows are not set */
    int shape;
    uint64_t kind, mask;
    uint64_t layers, node_layers; /* the target's, and those the node has */
    double extent;                /* the target's */
    const char *label;            /* the node's, valid until its area changes; NULL: it has none */
} aoi_explanation;

/* By ids, since any of them may be missing.  O(1), but for the events that wait. */
AOI_API void aoi_explain(aoi_space *s, int64_t watcher, int64_t node_id, int64_t target, aoi_explanation *out);
AOI_API const char *aoi_why_text(int why); /* "no watcher" ... */
AOI_API int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count);

/* Verifies every invariant and compares with brute force: O(n * nodes).  NULL if all holds, else what does not; the
 * text is the space's, valid until the next call. */
AOI_API const char *aoi_check(aoi_space *s);

/* ---- snapshots: a space as bytes ---------------------------------------------------------------------------------- */

/* Takes the next bytes of an output; false: it refuses, and gets no more. */
typedef bool (*aoi_write)(void *ud, const void *bytes, size_t size);

/* Writes all that the space is: options, entities, nodes with their areas, overrides, what every node sees (kept pairs
 * included), events that wait.  Not the caller's: user data, handles, the views of clients (aoi_sync), statistics.  The
 * bytes are the same on every machine for the same calls; their format is in docs/snapshot.md.  A question like others:
 * moves that wait are judged.  Cost: O(n log n) where ids were not entered in order, and 16 bytes an entity of memory for
 * a while.  AOI_ENOMEM; AOI_EVALUE when write has refused. */
AOI_API int aoi_save(aoi_space *s, aoi_write write, void *ud);

typedef struct aoi_loaded_node {
    int64_t watcher, node_id;
    bool gone;          /* removed, but events of it wait: the caller's user data is asked for them */
    bool deferred;      /* of the space that is being loaded */
    bool silent;        /* as it was saved; the caller may change it */
    uint64_t user_data; /* 0; the caller may set it */
} aoi_loaded_node;

typedef struct aoi_load_options {
    const char *engine;                         /* to load it into; NULL: the one that it was in */
    bool (*node)(void *ud, aoi_loaded_node *n); /* once for each node; false: the space is not loaded; may be NULL */
    void *node_ud;
    aoi_alloc alloc; /* as in aoi_options */
    void *alloc_ud;
} aoi_load_options;

/* A new space in *out that is the one that was saved; nothing is judged, and no event is made.  Other bytes than aoi_save
 * makes are refused: AOI_EVALUE, and *fault (may be NULL) says why in words that follow "not a snapshot:", a constant;
 * *out is then as it was.  options may be NULL.  Cost: that of aoi_enter_many.  AOI_ENOMEM. */
AOI_API int aoi_load(const void *bytes, size_t size, const aoi_load_options *options, aoi_space **out,
                     const char **fault);

#include "aoi_journal.h" /* a journal: every call that changes a space, as bytes */

#include "aoi_sync.h" /* client synchronisation: what each client must be sent, as bytes */

/* ---- observers: a whole space to look at, for viewers ------------------------------------------------------------- */

/* An observer tells what a space is and how it changes, without being in it: nothing that the space answers or delivers
 * is otherwise.  What it tells are blocks of bytes; docs/viewer-wire.md has the format.  A space may have several.
 *
 * Cost: taking an event is one branch dearer while there is none; of aoi_observe O(entities + nodes), some 10 ns each, and
 * those that have changed some 20 ns more; memory 40 to 48 bytes an entity, 32 a node, and what it tells at a time. */
typedef struct aoi_observer aoi_observer;

typedef struct aoi_observer_options {
    double quantum; /* of positions, as in aoi_sync_options; 0: floats */
    bool exact;     /* a position that does not come back from that exactly is sent as doubles */
    uint32_t
        events; /* so many of the events that are taken between two calls are listed, oldest first; all are counted */
    uint32_t share; /* of all nodes one in so many is looked at in a call, in turn; 0 or 1: all in each */
} aoi_observer_options;

AOI_API int aoi_observer_open(aoi_space *s, const aoi_observer_options *options, aoi_observer **out);
AOI_API void aoi_observer_close(aoi_observer *o); /* before or after its space; NULL is harmless */

/* What has changed since the last call, of the first one all there is.  The bytes are valid until the next call on the
 * observer; *size is 0 where nothing has changed.  AOI_EGONE: the space is closed.  AOI_ENOMEM: the next call tells
 * everything anew. */
AOI_API int aoi_observe(aoi_observer *o, const unsigned char **bytes, size_t *size);
AOI_API void aoi_observer_restart(aoi_observer *o); /* the next call tells everything anew */

/* What the engine's index is made of within the rectangle lo..hi (x and y): at most `most` parts, the others are counted.
 * The entries of the parts that hold the point `at`; of all of them if it is NULL.  As aoi_observe. */
AOI_API int aoi_observe_structure(aoi_observer *o, const double *lo, const double *hi, const double *at, uint32_t most,
                                  const unsigned char **bytes, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
