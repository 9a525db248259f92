/* may_change.h - whether a move may change the zone of a pair: a test before the rule, for thick rings, where most hits
 * do not change.
 *
 *      border of an area, widened by the move and by rounding
 *        :         :
 *   in   :  here   :   out        mid: the middle of the move; a place farther than half of the move from a border
 *        :  may    :              is on the same side of it before and after
 *
 * Squares, circles, boxes and cylinders are compared by the rule, sectors and polygons by their borders in floats.
 * Every `room` includes the rounding of doubles to floats, and of floats: less than 16 * 2^-24 of the compared values.
 * Values that floats cannot hold compare as false: such a pair may change. */
#ifndef AOI_MAY_CHANGE_H
#define AOI_MAY_CHANGE_H

#include "core/rule.h"
#include "grid/ring_query.h"

#define MAY_ROUNDED 0x1p-20f
#define MAY_LEAST 1e-20f /* below it squares of floats lose digits */
#define MAY_MOST 1e15f   /* up to it products of floats do not overflow */

typedef struct may_move { /* of a mover */
    int dims;
    const double *from, *to;
    double mid[2];
    float half; /* half of its length in the plane, and the rounding of places */
} may_move;

typedef struct may_gap { /* in the plane: from the middle of a move to another place */
    float x, y, away;
} may_gap;

static inline may_move may_move_of(int dims, const double *from, const double *to) {
    double dx = to[0] * 0.5 - from[0] * 0.5, dy = to[1] * 0.5 - from[1] * 0.5;
    double half = sqrt(dx * dx + dy * dy) + aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to));
    may_move m = {dims, from, to, {from[0] + dx, from[1] + dy}, (float)half * (1 + MAY_ROUNDED) + MAY_LEAST};
    return m;
}

static inline may_gap may_gap_to(const may_move *m, const double *at) {
    may_gap g = {(float)(at[0] - m->mid[0]), (float)(at[1] - m->mid[1]), 0};
    g.away = sqrtf(g.x * g.x + g.y * g.y);
    return g;
}

typedef struct may_sector { /* in floats; an infinite radius: it may change wherever the other is */
    float fx, fy, c, radius;
} may_sector;

static inline may_sector may_sector_of(const aoi_records *r, uint32_t node) {
    const aoi_area_record *a = r->areas + node;
    const bool keeps = (r->nodes[node].flags & AOI_NODE_KEEPS) != 0;
    return (may_sector){(float)a->shape->fx, (float)a->shape->fy, (float)a->shape->c,
                        keeps ? INFINITY : (float)a->radius};
}

/* d.f - c |d| of a sector is not negative, and changes by no more than twice the move, as |f| = 1 and |c| <= 1.
 * sign: as below. */
static inline bool may_pass_sector(const may_gap *g, float sign, float half, const may_sector *q) {
    float room = half + (g->away + q->radius) * MAY_ROUNDED, in = q->radius - room, out = q->radius + room;
    float depth = sign * (g->x * q->fx + g->y * q->fy) - q->c * g->away, twice = room + room;
    return !((g->away > out) | (depth < -twice) | ((g->away < in) & (depth > twice)));
}

static inline bool may_pass_polygon(const may_gap *g, float x, float y, float half, const aoi_shape *p) {
    const float far = p->farthest <= MAY_MOST ? p->farthest : MAY_MOST, room = half + (g->away + far) * MAY_ROUNDED;
    const aoi_f32x4 xs = aoi_f32_all(x), ys = aoi_f32_all(y), rooms = aoi_f32_all(room);
    unsigned beside = !(g->away < MAY_MOST);
    if ((g->away > p->farthest + room) | (g->away < p->nearest - room)) return false;
    if (p->rings) return true; /* its tree of sides is quick */
    for (uint32_t i = 0; i < p->corners && !beside; i += 4) {
        const float(*s)[4] = (const float(*)[4])aoi_sides_of(p)[i / 4];
        const aoi_f32x4 sides[5] = {aoi_f32_load(s[0]), aoi_f32_load(s[1]), aoi_f32_load(s[2]), aoi_f32_load(s[3]),
                                    aoi_f32_load(s[4])};
        beside = aoi_i32_bits(aoi_f32_beside(sides, xs, ys, rooms));
    }
    return beside != 0;
}

typedef struct may_places { /* of a watcher before and after the move, and of a target */
    const double *w0, *t0, *w1, *t1;
} may_places;

/* shape: the node's own, as a constant; sign: 1 if the watcher moves, -1 if the target does. */
AOI_INLINE bool may_change_by(const aoi_records *r, uint32_t node, int shape, const may_places *at, const may_move *m,
                              float sign) {
    const aoi_node_record *n = r->nodes + node;
    const aoi_area_record *a = r->areas + node;
    int dims = m->dims;
    if (shape == AOI_SQUARE || shape == AOI_CIRCLE)
        return aoi_zone_of(dims, shape, a, at->w0, at->t0) != aoi_zone_of(dims, shape, a, at->w1, at->t1);
    if (n->flags & AOI_NODE_KEEPS) return true;
    bool was = dims < 3 || aoi_in_side(at->w0[2], at->t0[2], a->shape->height);
    bool is = dims < 3 || aoi_in_side(at->w1[2], at->t1[2], a->shape->height);
    if (shape == AOI_BOX)
        return (was & !aoi_lanes_outside(at->w0, at->t0, n->reach)) !=
               (is & !aoi_lanes_outside(at->w1, at->t1, n->reach));
    if (shape == AOI_CYLINDER)
        return (was & aoi_in_ball(2, at->w0, at->t0, a->radius)) != (is & aoi_in_ball(2, at->w1, at->t1, a->radius));
    if (was != is || !was) return was != is;
    may_gap g = may_gap_to(m, sign > 0 ? at->t0 : at->w0);
    if (shape == AOI_SECTOR) {
        const may_sector sector = may_sector_of(r, node);
        return may_pass_sector(&g, sign, m->half, &sector);
    }
    return may_pass_polygon(&g, sign * g.x, sign * g.y, m->half, a->shape);
}

/* Compiled once for each shape. */
AOI_INLINE bool may_change_of(const aoi_records *r, uint32_t node, const may_places *at, const may_move *m,
                              float sign) {
    const aoi_node_record *n = r->nodes + node;
    if (n->flags & AOI_NODE_PLAIN)
        return aoi_in_box(m->dims, at->w0, at->t0, n->reach[0]) != aoi_in_box(m->dims, at->w1, at->t1, n->reach[0]);
    switch (n->shape) {
    case AOI_SQUARE:
        return may_change_by(r, node, AOI_SQUARE, at, m, sign);
    case AOI_CIRCLE:
        return may_change_by(r, node, AOI_CIRCLE, at, m, sign);
    case AOI_BOX:
        return may_change_by(r, node, AOI_BOX, at, m, sign);
    case AOI_CYLINDER:
        return may_change_by(r, node, AOI_CYLINDER, at, m, sign);
    case AOI_SECTOR:
        return may_change_by(r, node, AOI_SECTOR, at, m, sign);
    case AOI_POLYGON:
        return may_change_by(r, node, AOI_POLYGON, at, m, sign);
    default:
        return true; /* AOI_SHIFTED */
    }
}

/* For a node of the mover and the place of another entity; for a node of that entity. */
AOI_INLINE bool may_change_own(const aoi_records *r, uint32_t node, const double *other, const may_move *m) {
    return may_change_of(r, node, &(may_places){m->from, other, m->to, other}, m, 1);
}

AOI_INLINE bool may_change_other(const aoi_records *r, uint32_t node, const double *other, const may_move *m) {
    return may_change_of(r, node, &(may_places){other, m->from, other, m->to}, m, -1);
}

#endif
