/* ring_plan.h - the usual case of a ring query: a move from the middle one of nine cells, and areas that reach no
 * farther than these.  Finds which of the nine the ring meets, and its numbers in fixed-point units.
 *
 *   +-----+-----+-----+     Units count from the first of the nine, so that doubles hold them exactly enough however far
 *   |  .--+-----+--.  |     away the map is; what is stored is their low 16 bits.  Both axes are planned at once.
 *   +--|--+-----+--|--+
 *   |  |  |  m  |  |  |     Each plan returns a bit for each cell to scan, 0 if it is not this case.
 *   +--|--+-----+--|--+ */
#ifndef AOI_RING_PLAN_H
#define AOI_RING_PLAN_H

#include "grid/ring_match.h"
#include "grid/ring_query.h"

#define RING_CELL (1 << AOI_FIXED_BITS) /* fixed-point units in a cell */
/* An upper bound of all rounding errors, in fixed-point units, which are less than 2^44. */
#define RING_SAFE 0x1p-4
/* Fixed-point coordinates of items and of the center are up to 1 too low: the error of a distance is less than 1 on an
 * axis, and less than the root of 2 in the plane. */
#define RING_BAND 1.5

/* The cells of the nine that a ring meets if it goes beyond the middle one to the left, above, to the right, below.
 * covered: the inner region covers the middle cell; it covers no other, since the outer border stays in the nine. */
static inline unsigned ring_cells_met(unsigned beyond, bool covered) {
    unsigned columns = 2 | (beyond & 5), rows = 8 | (beyond >> 1 & 1) | (beyond >> 3 & 1) << 6;
    return columns * rows & ~((unsigned)covered << AOI_MIDDLE);
}

/* The outer side of a border, and the inner side, which is 0 if there is none. */
AOI_INLINE aoi_f64x2 ring_plan_outer(const double *border, aoi_f64x2 scale, aoi_f64x2 step) {
    const aoi_f64x2 more = aoi_f64_all(2 + RING_SAFE);
    return aoi_f64_add(step, aoi_f64_add(aoi_f64_mul(aoi_f64_load(border), scale), more));
}

AOI_INLINE aoi_f64x2 ring_plan_inner(const double *border, aoi_f64x2 scale, aoi_f64x2 step, bool solid) {
    const aoi_f64x2 none = aoi_f64_all(0), less = aoi_f64_all(RING_SAFE);
    if (solid) return none;
    return aoi_f64_most(aoi_f64_sub(aoi_f64_sub(aoi_f64_mul(aoi_f64_load(border), scale), less), step), none);
}

AOI_INLINE unsigned ring_plan_box(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                                  const aoi_borders *b, bool solid, bool gap, ring_lanes *lanes) {
    static const int32_t edge_out[4] = {RING_CELL - 1, RING_CELL - 1, -2 * RING_CELL, -2 * RING_CELL};
    static const int32_t edge_in[4] = {RING_CELL, RING_CELL, 1 - 2 * RING_CELL, 1 - 2 * RING_CELL};
    const aoi_f64x2 p = aoi_f64_load(from), q = aoi_f64_load(to), scale = aoi_f64_all(h->scale);
    const aoi_f64x2 half = aoi_f64_all(h->scale * 0.5), end = aoi_f64_all(3 * RING_CELL);
    const aoi_f64x2 step = aoi_f64_mul(aoi_f64_apart(p, q), half);
    const aoi_f64x2 center = aoi_f64_sub(aoi_f64_mul(aoi_f64_add(p, q), half), aoi_f64_load(mid->begin));
    const aoi_f64x2 outer = ring_plan_outer(b->leave_max, scale, step);
    const aoi_f64x2 inner = ring_plan_inner(b->enter_min, scale, step, solid);
    if (aoi_m64_bits(aoi_m64_and(aoi_f64_below(outer, end), aoi_f64_atmost(outer, center))) != 3) return 0;
    if (aoi_m64_bits(aoi_f64_atmost(aoi_f64_add(center, outer), end)) != 3) return 0;
    const aoi_i32x4 borders = aoi_f64_to_i32(outer, inner);
    aoi_i32x4 gaps = borders;
    if (gap)
        gaps = aoi_f64_to_i32(ring_plan_outer(b->enter_max, scale, step),
                              ring_plan_inner(b->leave_min, scale, step, solid));
    /* x and y from the first of the nine, and their negatives */
    const aoi_i32x4 both = aoi_f64_to_i32(center, aoi_f64_sub(aoi_f64_all(0), center));
    const aoi_i32x4 at = aoi_f64_to_i32(center, center);
    const aoi_i16x8 origin = aoi_i16_pairs(((uint32_t)mid->cx - 1) * RING_CELL, ((uint32_t)mid->cy - 1) * RING_CELL);
    ring_spread_box(lanes, aoi_i16_add(aoi_i32_narrow(at, at), origin), aoi_i32_narrow(borders, gaps), gap);
    const aoi_i32x4 out = aoi_i32_sub(both, aoi_f64_to_i32(outer, outer));
    const aoi_i32x4 in = aoi_i32_sub(both, aoi_f64_to_i32(inner, inner));
    return ring_cells_met(aoi_i32_bits(aoi_i32_above(aoi_i32_load(edge_out), out)),
                          aoi_i32_bits(aoi_i32_above(aoi_i32_load(edge_in), in)) == 15);
}

/* The corners that a circle does not reach; room: the distances of the center from the four edges of the middle cell,
 * left, above, right, below. */
static inline unsigned ring_far_corners(const double *room, double outer2) {
    static const uint8_t side[4] = {0, 2, 0, 2}, row[4] = {1, 1, 3, 3}, corner[4] = {0, 2, 6, 8};
    unsigned corners = 0;
    for (int i = 0; i < 4; i++) {
        double x = room[side[i]], y = room[row[i]];
        corners |= (unsigned)(x * x + y * y > outer2) << corner[i];
    }
    return corners;
}

AOI_INLINE unsigned ring_plan_round(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from,
                                    const double *to, const aoi_borders *b, bool solid, bool gap, ring_lanes *lanes) {
    double half = h->scale * 0.5, dx = (to[0] - from[0]) * half, dy = (to[1] - from[1]) * half;
    double slack = sqrt(dx * dx + dy * dy) + (RING_BAND + RING_SAFE), outer = b->leave_max[0] * h->scale + slack;
    double center[2], room[4], far2 = 0;
    uint16_t at[2];
    unsigned beyond = 0;
    for (int a = 0; a < 2; a++) {
        center[a] = (from[a] + to[a]) * half - mid->begin[a];
        if (!(outer < 1.5 * RING_CELL && center[a] >= outer && center[a] + outer <= 3 * RING_CELL - 1)) return 0;
        uint32_t origin = ((uint32_t)(a ? mid->cy : mid->cx) - 1) * RING_CELL;
        at[a] = (uint16_t)((uint32_t)(int)center[a] + origin);
        room[a] = center[a] - RING_CELL;
        room[a + 2] = 2 * RING_CELL - center[a];
        beyond |= ((unsigned)(outer >= room[a]) | (unsigned)(outer >= room[a + 2]) << 2) << a;
        double far = room[a] > room[a + 2] ? room[a] : room[a + 2];
        far2 += far * far;
    }
    const ring_limits limits = ring_limits_of(b, h->scale, slack, solid, gap);
    ring_spread_round(lanes, at, &limits, gap);
    return ring_cells_met(beyond, far2 < limits.inner) & ~ring_far_corners(room, outer * outer);
}

/* The numbers of rings of items, as far as plans of both kinds have not set them. */
AOI_INLINE void ring_plan_each(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                               const aoi_visitor *v, bool solid, int kind, ring_lanes *lanes) {
    const double most = RING_CELL * 2.0, deep = v->depth * h->scale + 1, reach = v->own * h->scale;
    double move[2], depth = solid || deep > most ? most : deep, own = reach > most ? most : reach;
    double inner = v->own < 0 ? -most : own - depth;
    for (int a = 0; a < 2; a++) {
        move[a] = (to[a] - from[a]) * h->scale * 0.5;
        uint32_t at = (uint32_t)(int)((from[a] + to[a]) * h->scale * 0.5 - mid->begin[a]);
        lanes->center[a] = aoi_i16_all((uint16_t)(at + ((uint32_t)(a ? mid->cy : mid->cx) - 1) * RING_CELL));
        lanes->half[a] = aoi_i16_all((int)fabs(move[a]) + 3);
    }
    lanes->less = aoi_i16_all(-1 - (int)depth);
    lanes->own_out = aoi_i16_all(v->own < 0 ? -RING_CELL * 2 : (int)own);
    lanes->own_in = aoi_i16_all((int)inner);
    if (!(kind & RING_ROUND)) return;
    double half = sqrt(move[0] * move[0] + move[1] * move[1]) + 4, far = own + half, near = inner - half;
    lanes->half[0] = aoi_i16_all((int)half);
    lanes->own_far = aoi_i32_all(v->own < 0 ? -1 : (int32_t)(far * far) + 1);
    lanes->own_near = aoi_i32_all(near > 0 ? (int32_t)(near * near) : 0);
}

AOI_INLINE unsigned ring_plan(const aoi_spatial_hash *h, const aoi_cell *mid, const double *from, const double *to,
                              const aoi_borders *b, bool solid, const aoi_visitor *v, int kind, ring_lanes *lanes) {
    unsigned cells = kind & RING_ROUND ? ring_plan_round(h, mid, from, to, b, solid, kind & RING_GAP, lanes)
                                       : ring_plan_box(h, mid, from, to, b, solid, kind & RING_GAP, lanes);
    if (cells && kind & RING_EACH) ring_plan_each(h, mid, from, to, v, solid, kind, lanes);
    return cells;
}

#endif
