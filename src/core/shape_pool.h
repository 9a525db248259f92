/* shape_pool.h - the blocks of parameters of areas (shapes.h): nodes with equal parameters share one block.
 *
 *   nodes   [ area | area | area | ... ]
 *               \     |       |
 *   shapes   [ block: uses | block: uses | ... ]    found by a hash of what is in a block
 *
 * Games have thousands of nodes with the same area: these share the parameters that a move compares.  A sector can
 * turn, so it has a block of its own. */
#ifndef AOI_SHAPE_POOL_H
#define AOI_SHAPE_POOL_H

#include "core/shapes.h"

/* The state of a valid area; its block, if it needs one, is in the pool.  False when memory is refused. */
bool aoi_area_resolve(aoi_records *r, const aoi_area *a, aoi_area_state *out);
void aoi_shape_drop(aoi_records *r, aoi_shape *p); /* ends one use; NULL is harmless */
void aoi_shapes_free(aoi_records *r);              /* when all have been dropped */

#endif
