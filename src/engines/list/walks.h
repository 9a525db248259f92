/* walks.h - moves in which entries of the mover change to other tiles' lists: along these, or, when it is far, from
 * where it was and where it arrives. */
#ifndef AOI_WALKS_H
#define AOI_WALKS_H

#include "engines/list/tiles.h"

void aoi_walk_point(aoi_list *g, aoi_level *y, aoi_passed *p);
void aoi_walk_box(aoi_list *g, aoi_level *y, uint32_t node, aoi_passed *p);

#endif
