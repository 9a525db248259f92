/* may_change.c - the tests of may_change.h for a node of the mover and all entities of a visit.
 *
 *   refs   [ e0 | e1 | e2 | e3 | e4 ..      one node of the mover, a sector or polygon, is compared with four places
 *   x      [ ....  lane  ..... | ....       at a time.  Nodes of others differ: a polygon is compared by four of its
 *   y      [ ................. | ....       sides at a time. */
#include "grid/may_change.h"

typedef struct may_lanes { /* the gaps of a visit's entities */
    float x[AOI_RING_HITS], y[AOI_RING_HITS], away[AOI_RING_HITS], half;
} may_lanes;

static void measure(may_lanes *h, const aoi_world *w, const may_move *m, const uint32_t *refs, size_t count) {
    h->half = m->half;
    for (size_t i = 0; i < count; i++) {
        may_gap g = may_gap_to(m, w->entities[refs[i]].pos);
        h->x[i] = g.x, h->y[i] = g.y, h->away[i] = g.away;
    }
    for (size_t i = count; i % 4; i++) h->x[i] = h->y[i] = h->away[i] = 0;
}

/* ---- lanes of places --------------------------------------------------------------------------------------------- */

static unsigned sector_lanes(const may_lanes *h, size_t i, float r, const aoi_shape *p) {
    const aoi_f32x4 x = aoi_f32_load(h->x + i), y = aoi_f32_load(h->y + i), away = aoi_f32_load(h->away + i);
    const aoi_f32x4 radius = aoi_f32_all(r), rounded = aoi_f32_mul(aoi_f32_add(away, radius), aoi_f32_all(MAY_ROUNDED));
    const aoi_f32x4 room = aoi_f32_add(rounded, aoi_f32_all(h->half)), twice = aoi_f32_add(room, room);
    const aoi_f32x4 ahead =
        aoi_f32_add(aoi_f32_mul(x, aoi_f32_all((float)p->fx)), aoi_f32_mul(y, aoi_f32_all((float)p->fy)));
    const aoi_f32x4 depth = aoi_f32_sub(ahead, aoi_f32_mul(away, aoi_f32_all((float)p->c)));
    const aoi_i32x4 out = aoi_f32_above(away, aoi_f32_add(radius, room));
    const aoi_i32x4 behind = aoi_f32_above(aoi_f32_sub(aoi_f32_all(0), twice), depth);
    const aoi_i32x4 in = aoi_i32_and(aoi_f32_above(aoi_f32_sub(radius, room), away), aoi_f32_above(depth, twice));
    return ~aoi_i32_bits(aoi_i32_or(aoi_i32_or(out, behind), in)) & 15;
}

static void mark_polygon(const may_lanes *h, size_t count, const aoi_shape *p, uint32_t *bits) {
    const float far = p->farthest <= MAY_MOST ? p->farthest : MAY_MOST;
    const aoi_f32x4 fars = aoi_f32_all(far), rounded = aoi_f32_all(MAY_ROUNDED), half = aoi_f32_all(h->half);
    aoi_f32x4 sides[AOI_MOST_CORNERS][5];
    for (uint32_t k = 0; k < p->corners; k++)
        for (int i = 0; i < 5; i++) sides[k][i] = aoi_f32_all(aoi_sides_of(p)[k / 4][i][k % 4]);
    for (size_t i = 0; i < count; i += 4) {
        const aoi_f32x4 x = aoi_f32_load(h->x + i), y = aoi_f32_load(h->y + i), away = aoi_f32_load(h->away + i);
        const aoi_f32x4 room = aoi_f32_add(aoi_f32_mul(aoi_f32_add(away, fars), rounded), half);
        aoi_i32x4 beside = aoi_f32_atmost(aoi_f32_all(MAY_MOST), away);
        for (uint32_t k = 0; k < p->corners; k++) beside = aoi_i32_or(beside, aoi_f32_beside(sides[k], x, y, room));
        bits[i / 32] |= (unsigned)aoi_i32_bits(beside) << i % 32;
    }
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

void may_mark_own(const aoi_world *w, uint32_t node, const may_move *m, const uint32_t *refs, size_t count,
                  uint32_t bits[AOI_RING_HITS / 32]) {
    const aoi_node_record *n = w->nodes + node;
    const aoi_area_record *a = w->areas + node;
    may_lanes h;
    bool bent = (n->shape == AOI_SECTOR || n->shape == AOI_POLYGON) && !(n->flags & AOI_NODE_KEEPS);
    bool lanes = bent && (m->dims < 3 || isinf(a->shape->height));
    memset(bits, 0, (count + 31) / 32 * sizeof *bits);
    if (lanes) measure(&h, w, m, refs, count);
    if (lanes && n->shape == AOI_POLYGON) mark_polygon(&h, count, a->shape, bits);
    for (size_t i = 0; i < count && lanes && n->shape == AOI_SECTOR; i += 4)
        bits[i / 32] |= sector_lanes(&h, i, (float)a->radius, a->shape) << i % 32;
    for (size_t i = 0; i < count && !lanes; i++)
        bits[i / 32] |= (uint32_t)may_change_own(w, node, w->entities[refs[i]].pos, m) << i % 32;
}
