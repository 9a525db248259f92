/* box_query.h - who is there: by the lists of the tiles around. */
#ifndef AOI_LOOKS_H
#define AOI_LOOKS_H

#include "engines/list/tiles.h"

/* Every entity in the box; every node of the level whose box contains the point: each once. */
typedef void (*aoi_look)(void *ud, uint32_t slot);
void aoi_look_for_targets(aoi_list *g, const double *lo, const double *hi, aoi_look visit, void *ud);
void aoi_look_for_watchers(aoi_list *g, const aoi_level *y, const double *at, aoi_look visit, void *ud);

#endif
