/* points.h - all entities of a space, in cells (spatial_hash.h): who stands in this box?
 *
 * An entity's `home` and `slot` are its cell and its place there.  The side of the cells is that of the boxes most in
 * use, since a sweep reads whole cells. */
#ifndef AOI_POINTS_H
#define AOI_POINTS_H

#include "core/engine.h"
#include "engines/shared/spatial_hash.h"

bool aoi_points_put(aoi_world *w, aoi_cells *points, uint32_t entity); /* false: memory refused, nothing has changed */
void aoi_points_take(aoi_world *w, aoi_cells *points, uint32_t entity);

/* False when memory is refused; never back to where it has been since the last tidying. */
bool aoi_points_move(aoi_world *w, aoi_cells *points, uint32_t entity, const double *to);

/* Moves everybody into cells of another side; when memory is refused the old ones go on serving. */
void aoi_points_resize(aoi_world *w, aoi_cells *points, double side);

const char *aoi_points_check(const aoi_world *w, const aoi_cells *points);

#endif
