/* alike.h - is everybody like everybody: does each entity carry one node, and all of them with the same reach?
 *
 * Then who sees whom is mutual, but for roundings, and half of the looking around is enough. */
#ifndef AOI_ALIKE_H
#define AOI_ALIKE_H

#include <math.h>

#include "core/engine.h"

typedef struct aoi_alike {
    double reach;
    uint32_t entities, nodes; /* of finite reach */
    uint32_t same, more;      /* nodes of that one reach, or fewer; nodes beyond the first of an entity */
    uint32_t calls;           /* since the last count */
} aoi_alike;

static inline bool aoi_all_alike(const aoi_alike *a) {
    return a->same == a->nodes && a->nodes == a->entities && !a->more;
}

/* Has its owner other nodes of finite reach? */
static inline bool aoi_alike_has_others(const aoi_world *w, uint32_t node) {
    for (uint32_t n = w->entities[w->nodes[node].owner].nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (n != node && !isinf(w->nodes[n].reach)) return true;
    return false;
}

static inline void aoi_alike_add(aoi_alike *a, const aoi_world *w, uint32_t node, double reach) {
    if (!a->nodes) a->reach = reach;
    a->nodes++;
    a->same += reach == a->reach;
    a->more += aoi_alike_has_others(w, node);
}

static inline void aoi_alike_remove(aoi_alike *a, const aoi_world *w, uint32_t node, double reach) {
    a->nodes--;
    a->same -= reach == a->reach;
    a->more -= aoi_alike_has_others(w, node);
}

/* When those of another reach are gone, nobody knows how many of the present one there are: they are counted, but only
 * once so many calls have gone by that it costs little in each. */
static inline void aoi_alike_tidy(aoi_alike *a, const aoi_world *w) {
    if (a->same == a->nodes || a->nodes != a->entities || a->more || a->calls++ < w->node_top) return;
    a->calls = a->same = 0;
    bool first = true;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!aoi_alive(w->nodes[n].generation) || isinf(w->nodes[n].reach)) continue;
        if (first) a->reach = w->nodes[n].reach;
        first = false;
        a->same += w->nodes[n].reach == a->reach;
    }
}

#endif
