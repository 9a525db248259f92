/* walls.h - walls in a grid that lines walk through.
 *
 *   +------+------+------+
 *   |      |   b  |      |      a wall is filed in every cell that it passes; a line visits the cells that it passes,
 *   |w . . | . /. |. t   |      column by column along its longer side
 *   |      |  /   |      |
 *   +------+-a----+------+      both are widened by more than rounding can move a crossing, so that no wall is missed
 *
 * Cells are squares of a power of two, base * 16^k for layer k.  A wall is in the first layer where it passes at most
 * MOST_CELLS, so that a wall of any length takes few; a line walks through each layer in use, or looks at all walls of
 * the layer where these are fewer than its cells.  The base follows from the walls: so many of them that a cell in use has
 * a few. */
#ifndef AOI_WALLS_H
#define AOI_WALLS_H

#include "aoi_sight.h"
#include "base/hash_index.h"
#include "base/lattice.h"
#include "core/rule.h"

typedef struct aoi_wall_record {
    _Alignas(AOI_CACHE_LINE) aoi_wall w;
    uint32_t next; /* of a free slot, in their chain */
    uint8_t layer; /* its place in walls->layers */
    bool live;
    int64_t id;
} aoi_wall_record;
_Static_assert(sizeof(aoi_wall_record) == 2 * AOI_CACHE_LINE, "a wall is two cache lines");

typedef struct aoi_wall_entry { /* a wall in a cell of a layer */
    int32_t cx, cy;
    uint32_t wall, next; /* in the bucket, or in the chain of free ones */
} aoi_wall_entry;

typedef struct aoi_wall_layer {
    int exponent;   /* of the side of its cells */
    uint32_t count; /* walls */
    double side, inverse;
    aoi_span span; /* of cells that have been used */
} aoi_wall_layer;

typedef struct aoi_wall_changes aoi_wall_changes;
struct aoi_wall_changes { /* walls that have come, gone, opened or shut, for one sight */
    aoi_wall_changes *next;
    bool wanted; /* it has nodes */
    struct aoi_wall_box {
        double lo[2], hi[2];
    } * boxes;
    uint32_t cap, count;
};

enum { AOI_WALL_LAYERS = 64 };

typedef struct aoi_walls {
    aoi_memory *memory; /* the space's */
    int dims;
    aoi_wall_changes *listeners; /* one for each sight */
    int64_t last_id;
    aoi_index ids; /* slots by id */
    aoi_wall_record *records;
    uint32_t record_cap, record_top, free_record, count, tuned_for;
    int base; /* exponent of the side of layer 0's cells */
    uint32_t layer_count;
    aoi_wall_layer layers[AOI_WALL_LAYERS];
    uint32_t *heads; /* buckets of entries, a power of two of them, or none */
    uint32_t head_count;
    aoi_wall_entry *entries;
    uint32_t entry_cap, entry_top, free_entry, entry_count;
} aoi_walls;

aoi_walls *aoi_walls_new(aoi_memory *m, int dims); /* NULL: memory refused */
void aoi_walls_join(aoi_walls *k, aoi_wall_changes *c);
void aoi_walls_part(aoi_walls *k, aoi_wall_changes *c); /* the last one frees the walls */

uint32_t aoi_wall_slot(const aoi_walls *k, int64_t id);                          /* AOI_NONE: there is none */
int aoi_walls_add(aoi_walls *k, const aoi_wall *wall, int64_t id, int64_t *out); /* id 0: the next */
int aoi_walls_set_open(aoi_walls *k, int64_t id, bool open);
int aoi_walls_remove(aoi_walls *k, int64_t id);

/* The slot of a shut wall that hides t from w, AOI_NONE if none does; `first` is looked at first if it is a slot. */
uint32_t aoi_walls_hide(const aoi_walls *k, const double *w, const double *t, uint32_t first);
int64_t aoi_walls_ray(const aoi_walls *k, const double *p, const double *q, double *at); /* aoi_sight_ray */
const char *aoi_walls_check(const aoi_walls *k);

/* cross(b - a, p - a), as the rule has it. */
static inline double aoi_cross(const double *a, const double *b, const double *p) {
    AOI_PRODUCT left = (b[0] - a[0]) * (p[1] - a[1]), right = (b[1] - a[1]) * (p[0] - a[0]);
    return left - right;
}

/* The one rule; *s: how far along the line it is crossed. */
AOI_INLINE bool aoi_wall_hides(const aoi_wall *k, int dims, const double *w, const double *t, double *s) {
    double cw = aoi_cross(k->a, k->b, w), ct = aoi_cross(k->a, k->b, t);
    if ((cw > 0) == (ct > 0)) return false;
    if ((aoi_cross(w, t, k->a) > 0) == (aoi_cross(w, t, k->b) > 0)) return false;
    if (k->open) return false;
    *s = cw / (cw - ct);
    if (dims < 3) return true;
    AOI_PRODUCT rise = *s * (t[2] - w[2]);
    double z = w[2] + rise;
    return k->z0 <= z && z <= k->z1;
}

#endif
