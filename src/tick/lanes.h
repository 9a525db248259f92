/* lanes.h - compares a watcher with sixteen items: finds those that may have passed a border.
 *
 *             |<- in |   not sure   | out ->|      of the distance in fixed point, as it was and as it is
 *
 *   box       max(x - (X + e), (X - e) - x, ...)      a subtraction and a maximum an edge, whatever the extents
 *   round     high half of dx * dx, added up
 *   shaped    a circle, or a box, with sides: each is the sign of a sum of two products
 */
#ifndef AOI_LANES_H
#define AOI_LANES_H

#include "tick/join.h"

typedef struct join_limits {      /* a probe in all lanes */
    aoi_i16x8 upper[6], lower[6]; /* edges of its box, as it is and was; round: upper is the centre */
    aoi_i16x8 centre[6];          /* shaped */
    aoi_i16x8 out[JOIN_BORDERS], in[JOIN_BORDERS], in_height, extent[3];
    const aoi_i16x8 (*side)[5]; /* a, b, low, high, y */
    int turn;                   /* offset of the sides before the turn */
    int borders, sides;
    bool any, polygon;
} join_limits;

typedef aoi_i16x8 join_side_lanes[AOI_FEW_CORNERS][5];

/* Borders, the same wherever the watcher is. */
AOI_INLINE void join_limits_of(const join_probe *p, const join_side *sides, join_limits *l, aoi_i16x8 (*room)[5],
                               int kind) {
    l->borders = kind & JOIN_MANY ? p->borders : 1;
    for (int a = 0; a < 3; a++) l->extent[a] = aoi_i16_all(p->extent[a]);
    for (int b = 0; b < l->borders; b++) l->out[b] = aoi_i16_all(p->out[b]), l->in[b] = aoi_i16_all(p->in[b]);
    if (!(kind & JOIN_SHAPED)) return;
    l->in_height = aoi_i16_all(p->in_height);
    l->side = (const aoi_i16x8(*)[5])room;
    l->turn = p->turned ? 2 : 0;
    l->sides = p->side_count - l->turn, l->any = p->any, l->polygon = p->polygon;
    for (int i = 0; i < p->side_count; i++) {
        const join_side *s = sides + p->sides + i;
        const int16_t values[5] = {s->a, s->b, s->low, s->high, s->y};
        for (int k = 0; k < 5; k++) room[i][k] = aoi_i16_all(values[k]);
    }
}

/* The place of the watcher. */
AOI_INLINE void join_centre(const join_tick *t, uint32_t item, join_limits *l, int kind) {
    for (int c = 0; c < 6; c++) {
        if (c % 3 == 2 && !(kind & JOIN_TALL)) continue;
        aoi_i16x8 at = aoi_i16_all(t->column[c][item]);
        bool round = (kind & JOIN_ROUND) && (c % 3 < 2 || !(kind & JOIN_SHAPED));
        if (kind & JOIN_SHAPED) l->centre[c] = at;
        l->upper[c] = round ? at : aoi_i16_add(at, l->extent[c % 3]);
        if (!round) l->lower[c] = aoi_i16_sub(at, l->extent[c % 3]);
    }
}

AOI_INLINE aoi_i16x8 join_load(const join_tick *t, int c, uint32_t k) {
    return aoi_i16_load(t->column[c] + k);
}

/* The distance beyond the nearer edge of an axis. */
AOI_INLINE aoi_i16x8 join_beyond(const join_limits *l, int c, aoi_i16x8 v) {
    return aoi_i16_most(aoi_i16_sub(v, l->upper[c]), aoi_i16_sub(l->lower[c], v));
}

AOI_INLINE aoi_i16x8 join_square(aoi_i16x8 d) {
    return aoi_i16_high(d, d);
}

/* Distances of eight items from k on.  c: the first column, 0 for the places after, 3 for those before. */
AOI_INLINE aoi_i16x8 join_distance(const join_tick *t, uint32_t k, const join_limits *l, int c, int kind) {
    aoi_i16x8 x = join_load(t, c, k), y = join_load(t, c + 1, k);
    bool tall = (kind & JOIN_TALL) && !(kind & JOIN_SHAPED);
    if (kind & JOIN_ROUND) {
        aoi_i16x8 d =
            aoi_i16_sum(join_square(aoi_i16_sub(x, l->upper[c])), join_square(aoi_i16_sub(y, l->upper[c + 1])));
        return tall ? aoi_i16_sum(d, join_square(aoi_i16_sub(join_load(t, c + 2, k), l->upper[c + 2]))) : d;
    }
    aoi_i16x8 d = aoi_i16_most(join_beyond(l, c, x), join_beyond(l, c + 1, y));
    return tall ? aoi_i16_most(d, join_beyond(l, c + 2, join_load(t, c + 2, k))) : d;
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

typedef struct join_zones { /* all ones: surely out, surely in */
    aoi_i16x8 out, in;
} join_zones;

AOI_INLINE aoi_i16x8 join_product(const aoi_i16x8 *side, aoi_i16x8 x, aoi_i16x8 y) {
    return aoi_i16_sum(aoi_i16_high(x, side[0]), aoi_i16_high(y, side[1]));
}

/* Even-odd: a ray to the right crosses an odd number of sides.  Not sure next to a side that it crosses, or as high as a
 * corner. */
AOI_INLINE join_zones join_in_polygon(const join_limits *l, aoi_i16x8 x, aoi_i16x8 y) {
    const aoi_i16x8 slack = aoi_i16_all(6);
    aoi_i16x8 in = aoi_i16_all(0), near = in, above = aoi_i16_above(y, l->side[l->sides - 1][4]);
    for (int i = 0; i < l->sides; i++) {
        const aoi_i16x8 *side = l->side[i];
        aoi_i16x8 s = join_product(side, x, y), left = aoi_i16_above(side[2], s), right = aoi_i16_above(s, side[3]);
        aoi_i16x8 next = aoi_i16_above(y, side[4]), crosses = aoi_i16_xor(above, next);
        aoi_i16x8 off = aoi_i16_most(aoi_i16_sub(y, side[4]), aoi_i16_sub(side[4], y));
        near = aoi_i16_or(near, aoi_i16_and(crosses, aoi_i16_not(aoi_i16_or(left, right))));
        near = aoi_i16_or(near, aoi_i16_above(slack, off));
        in = aoi_i16_xor(in, aoi_i16_and(crosses, left));
        above = next;
    }
    return (join_zones){aoi_i16_not(aoi_i16_or(in, near)), aoi_i16_and(in, aoi_i16_not(near))};
}

/* Of two half-planes: within both, or, beyond half a turn, within any. */
AOI_INLINE join_zones join_in_sector(const join_limits *l, const aoi_i16x8 (*side)[5], aoi_i16x8 x, aoi_i16x8 y) {
    aoi_i16x8 low[2], high[2];
    for (int i = 0; i < 2; i++) {
        aoi_i16x8 s = join_product(side[i], x, y);
        low[i] = aoi_i16_above(side[i][2], s), high[i] = aoi_i16_above(s, side[i][3]);
    }
    if (l->any) return (join_zones){aoi_i16_and(low[0], low[1]), aoi_i16_or(high[0], high[1])};
    return (join_zones){aoi_i16_or(low[0], low[1]), aoi_i16_and(high[0], high[1])};
}

/* The zones of eight items at distances d, for a border. */
AOI_INLINE join_zones join_zones_of(const join_tick *t, uint32_t k, const join_limits *l, int c, int b, aoi_i16x8 d,
                                    int kind) {
    join_zones z = {aoi_i16_above(d, l->out[b]), aoi_i16_above(l->in[b], d)};
    if (!(kind & JOIN_SHAPED)) return z;
    if (kind & JOIN_TALL) {
        aoi_i16x8 h = join_beyond(l, c + 2, join_load(t, c + 2, k));
        z.out = aoi_i16_or(z.out, aoi_i16_above(h, aoi_i16_all(1)));
        z.in = aoi_i16_and(z.in, aoi_i16_above(l->in_height, h));
    }
    if (!l->sides) return z;
    aoi_i16x8 x = aoi_i16_sub(join_load(t, c, k), l->centre[c]),
              y = aoi_i16_sub(join_load(t, c + 1, k), l->centre[c + 1]);
    join_zones s = l->polygon ? join_in_polygon(l, x, y) : join_in_sector(l, l->side + (c ? l->turn : 0), x, y);
    return (join_zones){aoi_i16_or(z.out, s.out), aoi_i16_and(z.in, s.in)};
}

/* ---- before and after -------------------------------------------------------------------------------------------- */

/* All ones for those of eight items that were and are on the same sides. */
AOI_INLINE aoi_i16x8 join_idle(const join_tick *t, uint32_t k, const join_limits *l, int kind) {
    aoi_i16x8 is = join_distance(t, k, l, 0, kind), was = join_distance(t, k, l, 3, kind);
    if (kind & JOIN_SHAPED) {
        join_zones i = join_zones_of(t, k, l, 0, 0, is, kind), w = join_zones_of(t, k, l, 3, 0, was, kind);
        return aoi_i16_or(aoi_i16_and(i.out, w.out), aoi_i16_and(i.in, w.in));
    }
    aoi_i16x8 most = aoi_i16_most(is, was), least = aoi_i16_least(is, was);
    aoi_i16x8 idle = aoi_i16_or(aoi_i16_above(l->in[0], most), aoi_i16_above(least, l->out[0]));
    for (int b = 1; (kind & JOIN_MANY) && b < l->borders; b++)
        idle = aoi_i16_and(idle, aoi_i16_or(aoi_i16_above(l->in[b], most), aoi_i16_above(least, l->out[b])));
    return idle;
}

/* A bit for each of sixteen items, from k on, that may have passed a border. */
AOI_INLINE uint32_t join_match(const join_tick *t, uint32_t k, const join_limits *l, int kind) {
    aoi_i16x8 low = join_idle(t, k, l, kind), high = join_idle(t, k + 8, l, kind);
    return aoi_i16_bits(low, high) ^ 0xffff;
}

#endif
