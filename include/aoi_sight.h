/* aoi_sight.h - line of sight: targets that walls hide from nodes.  On top of aoi.h.
 *
 *      w . . . . . . t     a node of a sight sees targets in its area that no shut wall hides; walls are segments
 *        \     |           of the plane, in 3D with a lowest and a highest height; doors are walls that can be opened
 *          \   | wall
 *            . | - - u     u is hidden from w
 * * The rule.  The one of watcher and target with the smaller x (then y, then z) is called w, the other t, so that
 * a line is clear from both sides or from none.  With cross(u, v) = u.x * v.y - u.y * v.x in doubles as written, a shut
 * wall a-b hides them from each other if and only if
 *     (cross(b-a, w-a) > 0) != (cross(b-a, t-a) > 0)  and  (cross(t-w, a-w) > 0) != (cross(t-w, b-w) > 0)
 * and in 3D the height of the line w-t where it crosses, w.z + s * (t.z - w.z) with
 *     s = cross(b-a, w-a) / (cross(b-a, w-a) - cross(b-a, t-a)),
 * is within z0..z1, bounds included.  Walls that share an end leave no gap: the end belongs to exactly one of them.
 * * A node of a sight belongs to the space: aoi_set_area, aoi_set_facing, aoi_override, aoi_remove_node accept it.  Its
 * events are not in the space's queue: aoi_sight_tick makes them, the net change since the last tick, and
 * aoi_sight_next takes them.  AOI_SHOW ignores walls.  A space may have several sights and synchronisers, and sights
 * may share walls.
 *
 * Cost.  A tick tests the pairs of areas of which an end has moved, and those of nodes with a changed wall in reach:
 * some 50 ns each; if nothing has moved it tests none.  A pair takes about 80 bytes, a wall 128, and some 40 a cell. */
#ifndef AOI_SIGHT_H_PUBLIC
#define AOI_SIGHT_H_PUBLIC

#include "aoi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aoi_sight aoi_sight;

typedef struct aoi_wall {
    double a[2], b[2]; /* the ends, within AOI_FARTHEST; if they are equal the wall hides nothing */
    double z0, z1;     /* 3D: z0 <= z1, may be infinite; ignored in 2D */
    bool open;
} aoi_wall;

/* Opens a sight into *out, with its own walls if `walls` is NULL, else with those of `walls`, a sight of the same space
 * (AOI_EVALUE).  With NULL on a loaded space it returns the first saved sight that has not been returned yet.
 * Snapshots contain all sights except those that share the walls of another.  AOI_ENOMEM. */
AOI_API int aoi_sight_open(aoi_space *s, aoi_sight *walls, aoi_sight **out);
/* Closes a sight, before its space; NULL does nothing.  Its nodes go without events, walls with their last sight. */
AOI_API void aoi_sight_close(aoi_sight *g);

/* Walls.  Ids count from 1 and are not reused.  AOI_EVALUE, AOI_ENOMEM; AOI_EGONE: no wall has that id. */
AOI_API int aoi_sight_add_wall(aoi_sight *g, const aoi_wall *wall, int64_t *id);
AOI_API int aoi_sight_open_wall(aoi_sight *g, int64_t id, bool open);
AOI_API int aoi_sight_remove_wall(aoi_sight *g, int64_t id);
AOI_API bool aoi_sight_read_wall(const aoi_sight *g, int64_t id, aoi_wall *out);
/* Iterates over all walls, in no order; *cursor is 0 at first; false past the last. */
AOI_API bool aoi_sight_next_wall(const aoi_sight *g, size_t *cursor, int64_t *id, aoi_wall *out);

/* aoi_add_node for a node of the sight.  A target that is no longer seen, because of a wall, its place, its kind or the
 * mask, stays seen for `linger` more ticks; what AOI_HIDE hides does not. */
AOI_API int aoi_sight_add_node(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger,
                               aoi_node *out);
AOI_API bool aoi_sight_has_node(const aoi_sight *g, aoi_node n); /* n is a node of this sight */

/* A tick: queues the net change since the last one as events, leaves first; a waiting enter is withdrawn when its node
 * or target goes.  AOI_ENOMEM: nothing has changed, and the next tick has all changes. */
AOI_API int aoi_sight_tick(aoi_sight *g);
AOI_API bool aoi_sight_next(aoi_sight *g, aoi_event *out); /* takes the oldest event; false: none waits */
AOI_API size_t aoi_sight_pending(const aoi_sight *g);      /* events that wait */

/* Questions about the present state; a target that lingers counts as seen.  Lists and errors as in aoi_view.  Viewers
 * are without nodes of modules on top, such as those of Lua's triggers, with ids of -2^52 and below. */
AOI_API bool aoi_sight_sees(aoi_sight *g, aoi_node n, aoi_entity target);
AOI_API int aoi_sight_view(aoi_sight *g, aoi_node n, const int64_t **ids, size_t *count);
AOI_API int aoi_sight_viewers(aoi_sight *g, aoi_entity target, const int64_t **ids, const int64_t **nodes,
                              size_t *count);

typedef struct aoi_sight_stats {
    uint64_t walls, nodes, pairs, seen; /* pairs: in areas, and how many are seen; removed nodes count until the tick */
    uint64_t tested;                    /* lines tested by ticks since the sight was opened */
} aoi_sight_stats;
AOI_API void aoi_sight_read_stats(const aoi_sight *g, aoi_sight_stats *out);

/* The id of the first shut wall on the line from p to q, the lowest one if several are crossed at the same place, with the
 * crossing in *at, computed from w.  0: none, or an end is not within AOI_FARTHEST.  All three have as many coordinates as
 * the space. */
AOI_API int64_t aoi_sight_ray(const aoi_sight *g, const double *p, const double *q, double *at);

/* aoi_explain for a sight; why may also be AOI_WHY_WALL, with the wall and the crossing, or AOI_WHY_LINGERS. */
typedef struct aoi_sight_explanation {
    aoi_explanation e;
    int64_t wall; /* 0: none */
    double at[3];
} aoi_sight_explanation;
AOI_API void aoi_sight_explain(aoi_sight *g, int64_t watcher, int64_t node_id, int64_t target,
                               aoi_sight_explanation *out);

#ifdef __cplusplus
}
#endif

#endif
