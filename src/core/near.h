/* near.h - areas around places that no entity has: what one place (near.c) and many (near_many.c) have in common. */
#ifndef AOI_NEAR_H
#define AOI_NEAR_H

#include "core/space.h"

/* Whether a place is in the area, without a margin, around another. */
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
/* The hits that are in the area around the place, of any kind if its mask is 0; how many. */
size_t aoi_near_answer(const aoi_space *s, const aoi_area_state *is, const double *pos, int64_t *out);

#endif
