/* grid.c - an engine without a structure of its own: the nine-grid (grid/nine_grid.h), which every space has for its
 * questions, proposes the candidates of all moves. */
#include "core/engine.h"

const aoi_engine_class aoi_engine_grid = {.name = "grid", .size = sizeof(aoi_engine), .takes = AOI_TAKES_NONE};
