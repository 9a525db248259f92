/* engines.c - the table of engines.  A sixth is one line here and one file beside this one. */
#include "core/engine.h"

extern const aoi_engine_class aoi_engine_list, aoi_engine_grid, aoi_engine_tower, aoi_engine_quadtree, aoi_engine_brute;

const aoi_engine_class *const aoi_engines[] = {
    &aoi_engine_list, &aoi_engine_grid, &aoi_engine_tower, &aoi_engine_quadtree, &aoi_engine_brute, NULL,
};

const char *aoi_engine_name(int i) {
    for (int k = 0; aoi_engines[k]; k++)
        if (k == i) return aoi_engines[k]->name;
    return NULL;
}
