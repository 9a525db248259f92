/* near.h - areas around any place: the parts that near.c (one place) and near_many.c share. */
#ifndef AOI_NEAR_H
#define AOI_NEAR_H

#include "core/space.h"

/* Whether t is in the area, without a margin, around `at`. */
AOI_INLINE bool aoi_near_holds(int dims, int shape, const aoi_area_state *is, const double *at, const double *t) {
    return shape == AOI_SQUARE   ? aoi_in_box(dims, at, t, is->area.radius)
           : shape == AOI_CIRCLE ? aoi_in_ball(dims, at, t, is->area.radius)
                                 : aoi_shape_holds(dims, shape, &is->area, at, t, 0, 0);
}

/* Whether targets may be large, or the area has layers. */
static inline bool aoi_near_needs_looks(const aoi_space *s, const aoi_area_state *is) {
    return s->larges.count || is->layered;
}

/* Half-extents without a margin. */
void aoi_near_reach(const aoi_area_state *is, double *reach);
/* Writes the hits in the area around the place, of any kind if its mask is 0; returns how many. */
size_t aoi_near_answer(const aoi_space *s, const aoi_area_state *is, const double *pos, int64_t *out);

#endif
