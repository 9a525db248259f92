/* walls.h - walls by slots and ids, the rule, and the first wall on a line (sight/wall_cells.h). */
#ifndef AOI_WALLS_H
#define AOI_WALLS_H

#include "aoi_sight.h"
#include "base/hash_index.h"
#include "core/rule.h"
#include "sight/wall_cells.h"

typedef struct aoi_wall_record {
    _Alignas(AOI_CACHE_LINE) aoi_wall w;
    uint32_t next; /* of a free slot, in their chain */
    bool live;
    int64_t id;
} aoi_wall_record;
_Static_assert(sizeof(aoi_wall_record) == 2 * AOI_CACHE_LINE, "a wall is two cache lines");

typedef struct aoi_wall_changes aoi_wall_changes;
struct aoi_wall_changes { /* boxes of walls that were added, removed, opened or shut, for one sight */
    aoi_wall_changes *next;
    bool wanted; /* the sight has had nodes */
    struct aoi_wall_box {
        double lo[2], hi[2];
    } * boxes;
    uint32_t cap, count;
};

typedef struct aoi_walls {
    aoi_memory *memory; /* the space's */
    int dims;
    aoi_wall_changes *listeners; /* one for each sight */
    int64_t last_id;
    aoi_hash_index ids;    /* slots by id */
    aoi_hash_index slopes; /* slots of walls that are parallel to no axis, by the slopes of lines along them */
    aoi_wall_record *records;
    uint32_t record_cap, record_top, free_record, count, tuned_for;
    aoi_wall_cells cells;
} aoi_walls;

aoi_walls *aoi_walls_new(aoi_memory *m, int dims); /* NULL: memory refused */
void aoi_walls_join(aoi_walls *k, aoi_wall_changes *c);
void aoi_walls_part(aoi_walls *k, aoi_wall_changes *c); /* the last sight frees the walls */

uint32_t aoi_wall_slot(const aoi_walls *k, int64_t id);                          /* AOI_NONE: there is none */
int aoi_walls_add(aoi_walls *k, const aoi_wall *wall, int64_t id, int64_t *out); /* id 0: the next */
int aoi_walls_set_open(aoi_walls *k, int64_t id, bool open);
int aoi_walls_remove(aoi_walls *k, int64_t id);

/* The slot of a shut wall that hides t from w, AOI_NONE if none does; `first`, if it is a slot, is tested first. */
uint32_t aoi_walls_hide(const aoi_walls *k, const double *w, const double *t, uint32_t first);
int64_t aoi_walls_ray(const aoi_walls *k, const double *p, const double *q, double *at); /* aoi_sight_ray */

/* As records have it: the ends, then the heights. */
static inline void aoi_wall_values(const aoi_wall *w, double values[6]) {
    memcpy(values, (double[]){w->a[0], w->a[1], w->b[0], w->b[1], w->z0, w->z1}, 6 * sizeof *values);
}

/* cross(b - a, p - a) of the rule in aoi_sight.h. */
static inline double aoi_cross(const double *a, const double *b, const double *p) {
    AOI_PRODUCT left = (b[0] - a[0]) * (p[1] - a[1]), right = (b[1] - a[1]) * (p[0] - a[0]);
    return left - right;
}

/* Whether the ends of a line are in the order of the rule in aoi_sight.h. */
static inline bool aoi_ends_ordered(int dims, const double *p, const double *q) {
    int a = 0;
    while (a + 1 < dims && p[a] == q[a]) a++;
    return p[a] <= q[a];
}

/* The rule of aoi_sight.h, for ends in its order; *s: the crossing, from 0 at w to 1 at t. */
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
