/* aoi_walks.h - moves along the lists, and looks around.
 *
 *   from ----> (to.x, from.y) ----> to        one leg an axis: what is passed on a leg, and comes in or goes out of the box
 *                                             on that axis while it is inside on the others, is proposed
 *
 * Engine_list.c says why that is every pair that changes, and each once. */
#ifndef AOI_WALKS_H
#define AOI_WALKS_H

#include "aoi_tiles.h"

enum { AOI_PASSED = 64 };

typedef struct aoi_route { /* from, then with one coordinate more of `to` each */
    double stage[4][3];
} aoi_route;

typedef struct
    aoi_passing { /* the mover's point has passed an edge of the node in this slot, or its node's edge an entity */
    uint32_t slot, node;
    int axis;
} aoi_passing;

typedef struct aoi_leg { /* a move along one axis, on the way from `from` to `to` */
    aoi_list *g;
    uint32_t entity, node; /* who moves; node: its own, whose edges move, or none, when its point moves */
    int axis;
    const double *from, *to;
    const aoi_route *r;
    int count;
    aoi_passing passed[AOI_PASSED];
} aoi_leg;

void aoi_walk_fetch(const aoi_list *g, uint32_t entity, const double *from,
                    const double *to); /* what walks will read */
void aoi_walk_point(aoi_leg *k, aoi_level *y);
void aoi_walk_box(aoi_leg *k, aoi_level *y, uint32_t node);
void aoi_walk_judge(aoi_leg *k); /* proposes what has been passed */

/* Where the lists of a tile are still the right ones for the place. */
bool aoi_point_stays(const aoi_list *g, const aoi_level *y, uint32_t entity, const double *to);
bool aoi_box_stays(const aoi_list *g, const aoi_level *y, uint32_t node, const double *to);

/* Every entity in the box, every node of the level whose box contains the point: each once. */
typedef void (*aoi_look)(void *ud, uint32_t slot);
void aoi_look_for_targets(aoi_list *g, const double *lo, const double *hi, aoi_look visit, void *ud);
void aoi_look_for_watchers(aoi_list *g, const aoi_level *y, const double *at, aoi_look visit, void *ud);

#endif
