/* aoi.h - area of interest: which entities are inside which areas, enter or leave them.  The C API of the library.
 *
 *   space    one map                     entity  an object with a position and an id
 *   node     one area of interest, carried by an entity, with a mask of the kinds that it sees
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
 *             dx < (xj - xi) * (dy - yi) / (yj - yi) + xi, over the sides of all rings; in 3D also the rule of height
 *
 * A node with a margin keeps a target in view until the target is outside the area grown by the margin: radius, extents
 * and half_height + margin, the angle unchanged.  Squares and circles may give the leave radius itself: keep.
 *
 * Results.  Every call changes the space completely or not at all: any result but AOI_OK means that nothing changed.
 * Events.   The library has no callbacks for events.  Events wait in a queue, in order and as net change, until taken.
 * Units.    Coordinates and radii are in world units, doubles of at most 2^50 either way; there is no map size.  Extents,
 *           margins and offsets have the same limit; a radius may also be INFINITY where that is said.  Others: AOI_EVALUE.
 * Options.  The caller zeroes structures of options first; zero is always the default.
 * Threads.  One thread at a time uses a space, for questions too, because they write buffers of the space.  Different
 *           spaces are independent and may be used by different threads.
 *
 * Cost of a call, with d entities or nodes in the neighbourhood it touches, E the events it makes, n entities in all:
 *
 *                    list         grid         tower        quadtree       brute
 *   move (a step)    O(passed+E)  O(ring+E)    O(ring+d)    O(ring+E)      O(n)       passed: entries passed in the lists
 *   move (a jump)    O(d)         O(d)         O(d)         O(d)           O(n)       ring: entities near the border
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

/* AOI_SHARED: the program uses the shared library.  AOI_BUILD_SHARED: the library is being built.  A program that
 * includes the sources may define AOI_API itself, for instance as static. */
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

/* Handles.  All zeros is null.  A handle may be used after its object has gone: a stale one is an error (AOI_EGONE) and
 * never refers to another object, because the generation differs for each object in a slot. */
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
    AOI_EGONE,  /* a handle is stale or null; an id is not in the space */
    AOI_EEXIST, /* the id, or the node id on this entity, is already in use */
    AOI_EVALUE, /* a coordinate is nan or beyond 2^50, an area has a fault (aoi_area_fault), an option is out of range */
    AOI_EATTACHED, /* the entity is attached, so that only its carrier moves it */
    AOI_ECHAIN     /* a chain of carriers is a cycle, or longer than AOI_MOST_CHAIN */
};

enum { AOI_ENTER = 1, AOI_LEAVE = 2, AOI_CROSS = 3 };                                /* kinds of events */
enum { AOI_SQUARE = 0, AOI_CIRCLE, AOI_BOX, AOI_CYLINDER, AOI_SECTOR, AOI_POLYGON }; /* shapes of areas */
#define AOI_FARTHEST 1125899906842624.0 /* 2^50: the most that a coordinate may be, either way */
enum { AOI_MOST_CORNERS = 65535, AOI_MOST_LABEL = 255 };

/* How a node treats one target instead of by the rule (aoi_override). */
enum {
    AOI_BY_RULE = 0,
    AOI_HIDE,     /* the target is never seen */
    AOI_SHOW,     /* the target is always seen, at any distance */
    AOI_MATCH,    /* kind and mask count as met; the target must still be inside the area */
    AOI_TELL_END, /* beside the others: when the target leaves the space, a leave about it comes even if it is not seen */
    AOI_TELL_NO_END, /* ends that */
    AOI_TELL_NOW     /* the same, and that leave comes now */
};

#define AOI_ALL_KINDS UINT64_MAX

/* The host's allocator, like lua_Alloc: resizes ptr from osize to nsize bytes; ptr is NULL for a new block, nsize 0
 * frees and returns NULL.  Blocks are aligned like those of malloc.  A failed shrink leaves the block as it is. */
typedef void *(*aoi_alloc)(void *ud, void *ptr, size_t osize, size_t nsize);

typedef struct aoi_options {
    const char *engine; /* one of aoi_engine_name(); NULL is the default, "list" */
    int dimensions;     /* 2 or 3; 0 is 2 */
    double cell;        /* hint: cell size in world units, > 0, may be INFINITY; 0 leaves it to the engine */
    bool deferred;      /* moves are evaluated together, by aoi_flush or the next call that needs their results */
    aoi_alloc alloc;    /* NULL is realloc and free */
    void *alloc_ud;
} aoi_options;

typedef struct aoi_area { /* fields that the shape does not use are not read */
    int shape;            /* AOI_SQUARE ... */
    uint64_t mask;        /* kinds that the area sees; AOI_ALL_KINDS for all */
    double radius;        /* square, circle: >= 0, may be INFINITY */
    double margin;        /* >= 0; a seen target leaves only outside the area grown by it; not for polygons */
    double keep;          /* square, circle, instead of margin: leave radius, >= radius; 0: none */
    double extents[3];    /* box: half-extents */
    double half_height;   /* cylinder; in 3D also sector and polygon, where INFINITY is any height */
    double facing, angle; /* sector: radians, 0 is along +x, counter-clockwise; the whole opening, 0 < angle <= 2 pi */
    const double *points; /* polygon: x, y of 3 to 65,535 corners relative to the watcher, in either winding; copied */
    int corners;
    const int *ends;  /* polygon of several rings (parts, holes): for each the number of corners up to its end, the
                             last `corners`; at least 3 each; copied */
    int rings;        /* 0: all corners are one ring */
    double offset[3]; /* the area is that of a watcher at its place plus this; no facing turns it */
    bool layered;     /* true: `layers` are used; false: the layers of the owner, in a question all */
    uint64_t layers;
    bool outside; /* nodes only: the node sees what the area does not hold; with a margin the area keeps what it
                        held, so that the node sees a target between the borders unless that was inside before */
    bool fixed;   /* tested as if every target had no extent */
    bool silent;  /* the node answers questions but makes no events */
    bool crosses; /* of nodes: a target that goes through the area between two deliveries makes an event AOI_CROSS */
    const char *label;  /* 1 to 255 bytes, copied: names the node in explanations, journals, viewers; NULL: aoi_set_area
                           keeps the present one.  Questions do not read it */
    uint64_t user_data; /* of the caller; a copy is in each event of the node */
} aoi_area;

typedef struct aoi_event {
    int kind; /* AOI_ENTER, AOI_LEAVE or AOI_CROSS */
    int64_t watcher, target, node_id;
    uint64_t user_data; /* of the node */
    int reason;         /* given to aoi_leave_because, of a leave that it made; else AOI_NO_REASON */
    double t;           /* of AOI_CROSS: where on its way the target came into the area, 0 < t < 1 */
} aoi_event;
enum { AOI_NO_REASON = -1, AOI_MOST_REASON = 255 };

typedef struct aoi_row { /* one row of a batch: id and position */
    int64_t id;
    double pos[3];
} aoi_row;

typedef struct aoi_stats {
    uint64_t entities, nodes;
    uint64_t events;     /* events taken so far */
    uint64_t pending;    /* events that wait */
    uint64_t memory;     /* bytes allocated */
    uint64_t candidates; /* pairs examined so far */
    uint64_t steps;      /* list or cell entries walked so far */
    uint64_t pairs;      /* stored pairs: seen only because of margin or keep */
    uint64_t cells;      /* cells of the grid in use */
    uint64_t levels;     /* size classes of nodes in use */
} aoi_stats;

/* ---- the library ------------------------------------------------------------------------------------------------ */

/* The version of the linked library, in the form of AOI_VERSION, for comparison with the header's macro. */
AOI_API const char *aoi_version(void);

/* One English phrase for the result of any call, for instance "not enough memory".  A constant; never NULL. */
AOI_API const char *aoi_result_text(int result);

/* The name of engine i, a constant; NULL past the last.  Engine 0 is the default. */
AOI_API const char *aoi_engine_name(int i);

/* ---- the space -------------------------------------------------------------------------------------------------- */

/* Opens a space into *out; the caller owns it and closes it.  AOI_EVALUE: the engine does not exist or an option is out
 * of range; AOI_ENOMEM; on errors *out is unchanged.  The options are not used after the call. */
AOI_API int aoi_open(const aoi_options *options, aoi_space **out);

/* Frees the space, without events; its handles, row buffer and answers are invalid afterwards.  NULL does nothing. */
AOI_API void aoi_close(aoi_space *s);

/* ---- entities --------------------------------------------------------------------------------------------------- */

/* Adds an entity at pos, 2 or 3 finite coordinates.  *out receives the handle; out may be NULL.  kind: bits that are
 * compared with masks; a target of kind 0 matches no mask.  AOI_EVALUE, AOI_EEXIST, AOI_ENOMEM. */
AOI_API int aoi_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out);

/* The same for an entity with layers and an extent, which nobody sees for a moment without them.  Its journal has the
 * calls that this is made of. */
AOI_API int aoi_enter_with(aoi_space *s, int64_t id, const double *pos, uint64_t kind, uint64_t layers, double extent,
                           aoi_entity *out);

/* Moves an entity, any distance; a long move costs both places.  AOI_EGONE, AOI_EVALUE, AOI_EATTACHED, AOI_ENOMEM. */
AOI_API int aoi_move(aoi_space *s, aoi_entity e, const double *pos);

/* The same for a move that is no way: until the next delivery neither the entity nor its passengers cross anything, and
 * nothing crosses their nodes. */
AOI_API int aoi_jump(aoi_space *s, aoi_entity e, const double *pos);

/* Removes an entity with its nodes; each pair that saw it or that they saw makes a leave.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_leave(aoi_space *s, aoi_entity e);

/* The same for a reason of the host's, from 0, that of aoi_leave, to AOI_MOST_REASON (AOI_EVALUE): these leaves have it,
 * and so have messages of aoi_sync.h. */
AOI_API int aoi_leave_because(aoi_space *s, aoi_entity e, int reason);

/* Set a property; events are the exact difference.  AOI_EGONE, AOI_ENOMEM.  Layers: bits, by default the first alone; a
 * node sees a target only if they share a layer, besides kind and mask.  Extent: finite (AOI_EVALUE), by default
 * 0: every area is tested grown by the target's extent, as by a margin; polygons and infinite radii do not grow.  Below
 * zero the area shrinks, and is empty where radius + extent < 0.
 * Extents are meant for a few per cent of the entities: each move examines all of them. */
AOI_API int aoi_set_kind(aoi_space *s, aoi_entity e, uint64_t kind);
AOI_API int aoi_set_layers(aoi_space *s, aoi_entity e, uint64_t layers);
AOI_API int aoi_set_layers_with_passengers(aoi_space *s, aoi_entity e, uint64_t layers); /* and theirs, too */
AOI_API int aoi_set_extent(aoi_space *s, aoi_entity e, double extent);

/* Batches.  The events are the net change over all rows, from the positions before the call and after it.  All rows are
 * checked before the first is applied; on refusal *bad (bad may be NULL) is the index of the row that was refused.  An
 * id may be in several rows of aoi_move_many: the last one counts.  aoi_leave_many takes ids. */
AOI_API int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad);
AOI_API int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad);
AOI_API int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad);

/* What aoi_move_many would return for this row alone, refused memory aside: a host that goes on when a row is bad leaves
 * out those that are not AOI_OK, since one of them refuses the whole batch. */
AOI_API int aoi_move_fault(const aoi_space *s, const aoi_row *row);

/* A buffer for n rows that the space owns, valid until the next call of this; NULL when the allocator refuses. */
AOI_API aoi_row *aoi_row_buffer(aoi_space *s, size_t n);

/* From now on the passenger's position is the carrier's plus the offset, one addition a coordinate.  It moves there,
 * and with every move of its carrier, in the same call and delivery, and its own passengers with it.  Moving it
 * directly is AOI_EATTACHED; a move that would give a passenger a position that is not finite is AOI_EVALUE as a whole.
 * A null carrier detaches it; it then stays where it is, as do all passengers when their carrier leaves.  A chain has
 * at most AOI_MOST_CHAIN entities, first carrier to last passenger.  AOI_EGONE, AOI_EVALUE, AOI_ECHAIN, AOI_ENOMEM. */
enum { AOI_MOST_CHAIN = 16 };
AOI_API int aoi_attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset);

/* The carrier of an entity and its offset; false if it is not attached.  offset may be NULL. */
AOI_API bool aoi_carrier(const aoi_space *s, aoi_entity passenger, aoi_entity *carrier, double *offset);
/* Lists the entities attached directly to this one, in no order; as aoi_view.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_passengers(aoi_space *s, aoi_entity carrier, const int64_t **ids, size_t *count);

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* Adds a node with a node_id that is unique on its entity; the area is copied.  *out receives the handle; out may be
 * NULL.  AOI_EGONE, AOI_EEXIST, AOI_EVALUE for an area with a fault, AOI_ENOMEM. */
AOI_API int aoi_add_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, aoi_node *out);

/* aoi_add_node with a history: the node counts as having seen the entities with these ids (a hand-over, a restart), in
 * any order; only differences are events.  An id that is not in the space makes a leave event; the watcher's own id and
 * repeated ids are ignored.  Cost: aoi_add_node plus O(count log count). */
AOI_API int aoi_adopt_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, const int64_t *seen,
                           size_t count, aoi_node *out);

/* Adds one node to each of n entities, all or none; *bad (bad may be NULL) is the index of the one refused. */
AOI_API int aoi_add_node_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                              size_t *bad);

/* Removes a node, with a leave event for each target that it saw.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_remove_node(aoi_space *s, aoi_node n);

/* Replaces the whole area, shape and mask included; user_data, silent and crosses are kept.  Events are the exact difference: a
 * target that was seen and still is makes none.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_set_area(aoi_space *s, aoi_node n, const aoi_area *area);

/* aoi_set_area for one field.  Radius: squares and circles; keep 0 is no leave radius.  Facing: sectors. */
AOI_API int aoi_set_radius(aoi_space *s, aoi_node n, double radius, double keep);
AOI_API int aoi_set_facing(aoi_space *s, aoi_node n, double facing);
AOI_API int aoi_set_mask(aoi_space *s, aoi_node n, uint64_t mask);

/* Sets an exception for one pair: AOI_HIDE, AOI_SHOW, AOI_MATCH, or AOI_BY_RULE to end it; events are the exact
 * difference.  It ends with the node, the watcher or the target.  Nodes without overrides pay nothing for them.  The last
 * three are for hosts that go on counting a target that is out of view; they do not change what is seen.
 * AOI_EGONE, AOI_ENOMEM; AOI_EVALUE: the target is the watcher itself, or `how` is another value. */
AOI_API int aoi_override(aoi_space *s, aoi_node n, aoi_entity target, int how);

/* The fault of an area in a space of that many dimensions: a constant English phrase that begins with the name of the
 * field; NULL if it has none. */
AOI_API const char *aoi_area_fault(int dimensions, const aoi_area *area);

/* "square" ...; NULL if there is no such shape. */
AOI_API const char *aoi_shape_name(int shape);

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Events wait in the order of the calls; the leaves of a call come before its enters.  An event and its waiting
 * opposite cancel each other.
 *
 * A deferred space is for hosts that tick.  A move only stores the new position (some ten nanoseconds); aoi_flush
 * evaluates all moves once, around each mover when few have moved, over the whole space when many have.  Events are the
 * difference between what each node saw at the last delivery and what it sees now; positions in between do not count: a
 * node with a margin keeps what it saw at the last delivery.  All leaves then come before all enters.  Other changes
 * and questions first evaluate the moves made before them. */
AOI_API int aoi_flush(aoi_space *s);            /* AOI_ENOMEM: some moves are not evaluated yet; call it again */
AOI_API size_t aoi_pending(const aoi_space *s); /* events that wait plus moves to be evaluated */

/* Takes the oldest event into *out; false when none waits. */
AOI_API bool aoi_next(aoi_space *s, aoi_event *out);

/* Takes up to max events, oldest first, into the caller's array; returns their number.  Cheaper than aoi_next. */
AOI_API size_t aoi_drain(aoi_space *s, aoi_event *events, size_t max);

/* Crossings.  A node with `crosses` makes an event AOI_CROSS, behind the enters of its delivery and by rising t, for a
 * target that it saw neither at the last delivery nor sees now, if some place of the target's straight way relative to
 * the watcher, d0 + t * (d1 - d0) with 0 < t < 1, is inside the area without margin and grown by the extent; t is the
 * first such, to within 2^-20.  Each call is a delivery, in a deferred space each aoi_flush.  Area, kind, mask, layers and
 * exceptions are those of the delivery: what they hide crosses nothing.  Nor does anything cross nodes added since the
 * last delivery, those that see what is outside, and those of aoi_sync.h and aoi_sight.h.  An event of a node or target
 * that goes before it is taken is dropped.
 * Cost: for each mover the nodes that cross, if there are few, else one aoi_near of its way; none without such nodes. */

/* Fixes the order of the waiting events: the next aoi_flush puts leaves before enters only among later ones. */
AOI_API void aoi_keep_order(aoi_space *s);

/* ---- questions: they change nothing and make no events ---------------------------------------------------------- */

AOI_API aoi_entity aoi_find(const aoi_space *s, int64_t id);                       /* null: no such entity */
AOI_API aoi_node aoi_find_node(const aoi_space *s, aoi_entity e, int64_t node_id); /* null: no such node */
AOI_API aoi_node aoi_first_node(const aoi_space *s, aoi_entity e);                 /* the newest one; null: no nodes */
AOI_API aoi_node aoi_next_node(const aoi_space *s, aoi_node n); /* the next older one; null past the last */

/* Copy a property out, positions bit by bit as they were set; false for a stale handle, and nothing is copied. */
AOI_API bool aoi_position(const aoi_space *s, aoi_entity e, double *pos);
AOI_API bool aoi_layers(const aoi_space *s, aoi_entity e, uint64_t *layers);
AOI_API bool aoi_extent(const aoi_space *s, aoi_entity e, double *extent);
AOI_API bool aoi_kind(const aoi_space *s, aoi_entity e, uint64_t *kind);
AOI_API bool aoi_area_of(const aoi_space *s, aoi_node n, aoi_area *area); /* points, label: valid until it changes */
AOI_API bool aoi_node_id(const aoi_space *s, aoi_node n, int64_t *node_id);

AOI_API bool aoi_sees(aoi_space *s, aoi_node n, aoi_entity target); /* false also for stale handles */
AOI_API size_t aoi_count(const aoi_space *s);
AOI_API int aoi_dimensions(const aoi_space *s);
AOI_API void aoi_read_stats(const aoi_space *s, aoi_stats *out);

/* What a node sees; which watchers see an entity, and by which nodes.  Lists in no particular order that the space
 * owns: *ids (and *nodes, the node ids) are valid until the next call on the space.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_view(aoi_space *s, aoi_node n, const int64_t **ids, size_t *count);
AOI_API int aoi_viewers(aoi_space *s, aoi_entity e, const int64_t **ids, const int64_t **nodes, size_t *count);

/* Lists the entities inside that area placed at pos whose kind meets its mask; mask 0 is any kind, 0 included; the list
 * as in aoi_view.  AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_near(aoi_space *s, const double *pos, const aoi_area *area, const int64_t **ids, size_t *count);

/* aoi_near for n places, an array of 2 or 3 coordinates each: *ids has the ids of all places, in their order, and
 * (*ends)[i] is the index in *ids after the last id of place i.  Close places share their search: as many places as
 * entities cost three fifths to nine tenths of that many aoi_near, distant ones as much.  n may be 0.  AOI_EVALUE. */
AOI_API int aoi_near_many(aoi_space *s, const double *places, size_t n, const aoi_area *area, const int64_t **ids,
                          const uint32_t **ends, size_t *count);

/* Lists up to n entities, nearest first by dx*dx + dy*dy (+ dz*dz), ties by rising id, at most radius away (inclusive,
 * may be INFINITY); mask as in aoi_near.  Costs as much as the neighbourhood: it searches growing squares, then cells
 * by distance. */
AOI_API int aoi_nearest(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, const int64_t **ids,
                        size_t *count);
/* The same with all that the answer may be narrowed by. */
typedef struct aoi_nearest_only {
    double radius, least;  /* none farther, none nearer: both >= 0, may be INFINITY */
    uint64_t mask;         /* 0: any kind */
    const int64_t *except; /* NULL, or an id that is left out */
} aoi_nearest_only;
AOI_API int aoi_nearest_of(aoi_space *s, const double *pos, size_t n, const aoi_nearest_only *only, const int64_t **ids,
                           size_t *count);

/* Lists the entities that a ball of that radius touches on its way from `from` to `to` (a bullet, a dash), and when,
 * 0 at `from` and 1 at `to`, by rising time, then id; mask as in aoi_near.  With d = to - from, m = from - target,
 * a = d.d, b = m.d, c = m.m - radius*radius: c <= 0: time 0; else if a is 0 or b >= 0: no hit; else with q = b*b - a*c:
 * none if q < 0, time = (-b - sqrt(q)) / a, a hit if that is <= 1.  Costs about as much as aoi_near of its box. */
AOI_API int aoi_sweep(aoi_space *s, const double *from, const double *to, double radius, uint64_t mask,
                      const int64_t **ids, const double **times, size_t *count);

/* Lists the targets for which the node has an override, and its value (AOI_HIDE ...); as aoi_view. */
AOI_API int aoi_overrides(aoi_space *s, aoi_node n, const int64_t **targets, const int64_t **hows, size_t *count);

/* Why a node does or does not see a target: the first reason that applies. */
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
    AOI_WHY_WALL, /* this and the next: aoi_sight.h */
    AOI_WHY_LINGERS,
    AOI_WHY_LAYERS /* kind and mask match, layers do not */
};

typedef struct aoi_explanation {
    bool sees;
    int why;               /* AOI_WHY_...; aoi_why_text names it */
    bool pending;          /* an event of the pair waits */
    double d[3], distance; /* target minus watcher; without a watcher, node or target this and the rest are not set */
    int shape;
    bool outside; /* of the node's area: `why` says where the target is, and the node sees what is outside */
    uint64_t kind, mask;
    uint64_t layers, node_layers; /* of the target; of the node */
    double extent;                /* of the target */
    double offset[3];             /* of the node's area */
    const char *label;            /* of the node, valid until its area changes; NULL: none */
    double facing;                /* of the node's area, if it is a sector */
} aoi_explanation;

/* Explains a pair, given by ids because any of them may be missing.  O(1) plus a scan of the events that wait. */
AOI_API void aoi_explain(aoi_space *s, int64_t watcher, int64_t node_id, int64_t target, aoi_explanation *out);
AOI_API const char *aoi_why_text(int why);                             /* "no watcher" ... */
AOI_API int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count); /* all entities, as aoi_view; AOI_ENOMEM */

/* Compares what has been reported, what is kept and what the grid finds with brute force: O(n * nodes).  NULL, or a
 * description of the first difference that the space owns, valid until the next call. */
AOI_API const char *aoi_check(aoi_space *s);

/* ---- snapshots: a space as bytes ---------------------------------------------------------------------------------- */

/* Receives the next bytes of an output; if it returns false, it is not called again. */
typedef bool (*aoi_write)(void *ud, const void *bytes, size_t size);

/* Writes a snapshot of the space: options, entities, nodes with their areas, overrides, what every node sees (kept
 * pairs included), events that wait; not user data, handles, the views of clients (aoi_sync), statistics.  The bytes
 * are the same on every machine for the same calls; docs/snapshot.md describes them.  Moves that wait are evaluated
 * first, as for any question.  Cost: O(n log n) if ids were not entered in rising order, and 16 bytes of memory an
 * entity during the call.  AOI_ENOMEM; AOI_EVALUE: `write` returned false. */
AOI_API int aoi_save(aoi_space *s, aoi_write write, void *ud);

typedef struct aoi_loaded_node {
    int64_t watcher, node_id;
    bool gone;          /* the node was removed, but events of it wait and receive this user data */
    bool deferred;      /* of the space that is being loaded */
    bool silent;        /* as it was saved; the callback may change it */
    bool crosses;       /* the same */
    uint64_t user_data; /* 0; the callback may set it */
} aoi_loaded_node;

typedef struct aoi_load_options {
    const char *engine;                         /* of the new space; NULL: the engine of the saved one */
    bool (*node)(void *ud, aoi_loaded_node *n); /* called once for each node; false: the load fails; may be NULL */
    void *node_ud;
    aoi_alloc alloc; /* as in aoi_options */
    void *alloc_ud;
} aoi_load_options;

/* Opens a space equal to the saved one into *out, without evaluating pairs or making events.  Bytes that aoi_save does
 * not write are refused: AOI_EVALUE, and *fault (fault may be NULL) is the reason, a constant phrase that follows "not
 * a snapshot:"; *out is unchanged.  options may be NULL.  Cost: that of aoi_enter_many.  AOI_ENOMEM. */
AOI_API int aoi_load(const void *bytes, size_t size, const aoi_load_options *options, aoi_space **out,
                     const char **fault);

/* ---- observers: the state of a whole space as bytes, for viewers -------------------------------------------------- */

/* An observer reports the state of a space and its changes as blocks of bytes (docs/viewer-wire.md), and does not
 * affect the space: its answers and deliveries are the same.  A space may have several observers.
 *
 * Cost: without an observer one branch for each event taken; aoi_observe O(entities + nodes), some 10 ns each, some 20
 * ns more for those that have changed; memory 40 to 48 bytes per entity, 32 per node, and the bytes of one report. */
typedef struct aoi_observer aoi_observer;

typedef struct aoi_observer_options {
    double quantum;  /* of positions, as in aoi_sync_options; 0: floats */
    bool exact;      /* a position that this encoding changes is sent as doubles */
    uint32_t events; /* at most so many events taken between two calls are listed, oldest first; all are counted */
    uint32_t share;  /* a call examines one in so many of the nodes, in turn; 0 or 1: all */
} aoi_observer_options;

/* AOI_EVALUE: the quantum is negative, infinite or nan.  AOI_ENOMEM.  options may be NULL. */
AOI_API int aoi_observer_open(aoi_space *s, const aoi_observer_options *options, aoi_observer **out);
AOI_API void aoi_observer_close(aoi_observer *o); /* before or after its space; NULL does nothing */

/* Reports the changes since the last call; the first call and one after AOI_ENOMEM report all.  The bytes are valid
 * until the next call on the observer; *size is 0 if nothing has changed.  AOI_EGONE: the space is closed.
 * AOI_ENOMEM. */
AOI_API int aoi_observe(aoi_observer *o, const unsigned char **bytes, size_t *size);
AOI_API void aoi_observer_restart(aoi_observer *o); /* the next call reports everything */

/* Reports the parts of the engine's index within the rectangle lo..hi (x and y): at most `most` parts, the others are
 * counted; with the entries of the parts that contain the point `at`, or of all if `at` is NULL.  As aoi_observe. */
AOI_API int aoi_observe_structure(aoi_observer *o, const double *lo, const double *hi, const double *at, uint32_t most,
                                  const unsigned char **bytes, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
