/* shape_pool.h - the blocks of parameters of areas (shapes.h): nodes to which the same were given have one block.
 *
 *   nodes   [ area | area | area | ... ]
 *               \     |       |
 *   shapes   [ block: uses | block: uses | ... ]    found by a hash of what is in a block
 *
 * Nodes of one kind, as games have them by the thousand, share what a move compares with each of its neighbours.  A sector
 * turns by itself: its block is its own. */
#ifndef AOI_SHAPE_POOL_H
#define AOI_SHAPE_POOL_H

#include "core/shapes.h"

/* The state of an area without fault; its block, if it needs one, is of the pool.  False when memory is refused. */
bool aoi_area_resolve(aoi_world *w, const aoi_area *a, aoi_area_state *out);
void aoi_shape_drop(aoi_world *w, aoi_shape *p); /* one use less; NULL is harmless */
void aoi_shapes_free(aoi_world *w);              /* when all have been dropped */
const char *aoi_shapes_check(const aoi_world *w);

#endif
