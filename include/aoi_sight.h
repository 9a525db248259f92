/* aoi_sight.h - what nodes see past walls, in addition to aoi.h.
 *
 *      w . . . . . . t     a node of a sight sees what its area sees and no shut wall hides; walls are segments of
 *        \     |           the plane, in 3D with a lowest and a highest height; doors are walls that open
 *          \   | wall
 *            . | - - u     u is hidden from w
 *
 * The rule.  With cross(u, v) = u.x * v.y - u.y * v.x in doubles as written, a shut wall a-b hides t from w if and only if
 *     (cross(b-a, w-a) > 0) != (cross(b-a, t-a) > 0)  and  (cross(t-w, a-w) > 0) != (cross(t-w, b-w) > 0)
 * and in 3D the height of the line w-t where it crosses, w.z + s * (t.z - w.z) with
 *     s = cross(b-a, w-a) / (cross(b-a, w-a) - cross(b-a, t-a)),
 * is within z0..z1, bounds included.  Of two walls that share an end one counts for it: there is no gap.
 *
 * A node of a sight is a node of the space: aoi_set_area, aoi_set_facing, aoi_override, aoi_remove_node take it as any
 * other.  Its events are not in the space's queue: aoi_sight_tick makes them, the net change since the last tick, and
 * aoi_sight_next takes them.  An exception AOI_SHOW is seen through walls.  Several sights and synchronisers may be open
 * on a space, and sights may share walls.
 *
 * Cost.  A tick tests the pairs of which an end has moved, and those of nodes in whose reach a wall has changed: some
 * 50 ns each, as many as their areas see.  A tick in which nothing has moved looks at nothing.  A pair takes about 64
 * bytes, a wall 64 and 16 for each cell of the grid that it passes. */
#ifndef AOI_SIGHT_H_PUBLIC
#define AOI_SIGHT_H_PUBLIC

#include "aoi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aoi_sight aoi_sight;

typedef struct aoi_wall {
    double a[2], b[2]; /* finite; where both are the same the wall hides nothing */
    double z0, z1;     /* 3D: z0 <= z1, may be infinite; in 2D they count for nothing */
    bool open;
} aoi_wall;

/* A new sight in *out, with walls of its own, or those of `walls` if that is not NULL (of the same space; AOI_EVALUE).
 * Without, on a space that was loaded: the first sight that was saved and has not been taken over yet.  Snapshots have all
 * sights but those that share another's walls.  AOI_ENOMEM. */
AOI_API int aoi_sight_open(aoi_space *s, aoi_sight *walls, aoi_sight **out);
/* Before its space; NULL is harmless.  Its nodes are removed, without events.  Walls go with the last sight. */
AOI_API void aoi_sight_close(aoi_sight *g);

/* Walls.  Ids count from 1 and are not used again.  AOI_EVALUE, AOI_ENOMEM; AOI_EGONE where there is no such wall. */
AOI_API int aoi_sight_add_wall(aoi_sight *g, const aoi_wall *wall, int64_t *id);
AOI_API int aoi_sight_open_wall(aoi_sight *g, int64_t id, bool open);
AOI_API int aoi_sight_remove_wall(aoi_sight *g, int64_t id);
AOI_API bool aoi_sight_read_wall(const aoi_sight *g, int64_t id, aoi_wall *out);
/* All walls, one a call, in no special order; *cursor begins at 0; false past the last. */
AOI_API bool aoi_sight_next_wall(const aoi_sight *g, size_t *cursor, int64_t *id, aoi_wall *out);

/* A node that holds on to what it saw for `linger` ticks.  As aoi_add_node. */
AOI_API int aoi_sight_add_node(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger,
                               aoi_node *out);
AOI_API bool aoi_sight_has_node(const aoi_sight *g, aoi_node n); /* one of this sight's */

/* A tick: the net change since the last one waits to be taken, leaves first; enters no longer when their node or target
 * has gone.  AOI_ENOMEM: nothing has changed, the next tick makes up for it. */
AOI_API int aoi_sight_tick(aoi_sight *g);
AOI_API bool aoi_sight_next(aoi_sight *g, aoi_event *out); /* takes the oldest; false: none waits */
AOI_API size_t aoi_sight_pending(const aoi_sight *g);

/* Questions, as everything is now; what lingers counts as seen.  Lists are the space's, as in aoi_view. */
AOI_API bool aoi_sight_sees(aoi_sight *g, aoi_node n, aoi_entity target);
AOI_API int aoi_sight_view(aoi_sight *g, aoi_node n, const int64_t **ids, size_t *count);
AOI_API int aoi_sight_viewers(aoi_sight *g, aoi_entity target, const int64_t **ids, const int64_t **nodes,
                              size_t *count);

/* Pairs in the areas of a sight's nodes: how many there are, how many of them are seen, and what has been done so far. */
typedef struct aoi_sight_stats {
    uint64_t walls, nodes, pairs, seen;
    uint64_t tested; /* lines tested by ticks since it was opened */
} aoi_sight_stats;
AOI_API void aoi_sight_read_stats(const aoi_sight *g, aoi_sight_stats *out);

/* The first shut wall on the line from p to q, of as many coordinates as the space has: its id, and where it is crossed;
 * of walls crossed at the same place that with the lowest id.  0: none. */
AOI_API int64_t aoi_sight_ray(const aoi_sight *g, const double *p, const double *q, double *at);

/* aoi_explain, and why == AOI_WHY_WALL with the wall and where it is crossed, or AOI_WHY_LINGERS. */
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
