/* engines.c - the table of engines: one line each; the first is the default.
 *
 * A further engine is one file below src/engines that defines `const aoi_engine_class aoi_engine_NAME`, its line here, and
 * the line of its file in aoi.c. */
#include "core/engine.h"

#define AOI_EACH_ENGINE(E)                                                                                             \
    E(list)                                                                                                            \
    E(grid)                                                                                                            \
    E(tower)                                                                                                           \
    E(quadtree)                                                                                                        \
    E(brute)

#define AOI_DECLARE_ENGINE(name) extern const aoi_engine_class aoi_engine_##name;
#define AOI_NAME_ENGINE(name) &aoi_engine_##name,

AOI_EACH_ENGINE(AOI_DECLARE_ENGINE)

const aoi_engine_class *const aoi_engines[] = {AOI_EACH_ENGINE(AOI_NAME_ENGINE) NULL};

const char *aoi_engine_name(int i) {
    for (int k = 0; aoi_engines[k]; k++)
        if (k == i) return aoi_engines[k]->name;
    return NULL;
}
