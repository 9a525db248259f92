/* towers.h - the tower engine's structure.  tower.c says how it works. */
#ifndef AOI_TOWERS_H
#define AOI_TOWERS_H

#include "engines/shared/nine_grid.h"

enum { TOWER_FEW = 2 };

typedef struct tower {
    int32_t cx, cy;
    union {
        uint32_t *many;
        uint32_t few[TOWER_FEW]; /* a lonely node costs no block of its own */
    } list;
    uint32_t count, cap, edges;
} tower;

typedef struct tower_layer {
    double side, inverse;
    tower *towers;
    uint32_t cap, top, unused, used, empty; /* used: those that exist; empty: those of them without nodes */
    uint32_t count;                         /* nodes */
    double least, most;                     /* half-extents of their boxes lie between these */
    aoi_index index;
} tower_layer;

typedef struct tower_box { /* of a node, bounds as in the rule: all that a walk over a list reads */
    double lo[2], hi[2];
} tower_box;

typedef struct towers {
    aoi_engine head;
    double base;          /* sides are this times a power of two */
    bool fixed;           /* by the `cell` hint */
    aoi_nine_grid around; /* all entities, and the nodes that are no plain boxes */
    tower_layer *layers;
    uint32_t layer_cap, layer_count;
    tower_box *boxes; /* by slot of node */
    uint32_t box_cap;
} towers;

static inline uint32_t *tower_list(tower *t) {
    return t->cap > TOWER_FEW ? t->list.many : t->list.few;
}

static inline bool tower_exists(const tower *t) {
    return t->cap > 0;
}

void aoi_towers_describe(const aoi_engine *head, aoi_describer *d);

#endif
