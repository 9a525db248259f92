/* grid.c - the nine-grid (grid/nine_grid.h), which every space has for its questions, answers for all moves, too: an engine
 * without a structure of its own. */
#include "core/engine.h"

const aoi_engine_class aoi_engine_grid = {.name = "grid", .size = sizeof(aoi_engine), .takes = AOI_TAKES_NONE};
