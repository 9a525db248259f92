/* may_change.c - the test of may_change.h for a sector of the mover and all entities of a visit, four at a time. */
#include "grid/may_change.h"

bool may_lane_sectors(const aoi_world *w, uint32_t node) {
    const aoi_node_record *n = w->nodes + node;
    return n->shape == AOI_SECTOR && !(n->flags & AOI_NODE_KEEPS) &&
           (w->dims < 3 || isinf(w->areas[node].shape->height));
}

static unsigned sector_lanes(const may_gap *g, float half, float r, const aoi_shape *p) {
    const aoi_f32x4 x = aoi_f32_load((const float[4]){g[0].x, g[1].x, g[2].x, g[3].x});
    const aoi_f32x4 y = aoi_f32_load((const float[4]){g[0].y, g[1].y, g[2].y, g[3].y});
    const aoi_f32x4 away = aoi_f32_load((const float[4]){g[0].away, g[1].away, g[2].away, g[3].away});
    const aoi_f32x4 radius = aoi_f32_all(r), rounded = aoi_f32_mul(aoi_f32_add(away, radius), aoi_f32_all(MAY_ROUNDED));
    const aoi_f32x4 room = aoi_f32_add(rounded, aoi_f32_all(half)), twice = aoi_f32_add(room, room);
    const aoi_f32x4 ahead =
        aoi_f32_add(aoi_f32_mul(x, aoi_f32_all((float)p->fx)), aoi_f32_mul(y, aoi_f32_all((float)p->fy)));
    const aoi_f32x4 depth = aoi_f32_sub(ahead, aoi_f32_mul(away, aoi_f32_all((float)p->c)));
    const aoi_i32x4 out = aoi_f32_above(away, aoi_f32_add(radius, room));
    const aoi_i32x4 behind = aoi_f32_above(aoi_f32_sub(aoi_f32_all(0), twice), depth);
    const aoi_i32x4 in = aoi_i32_and(aoi_f32_above(aoi_f32_sub(radius, room), away), aoi_f32_above(depth, twice));
    return ~aoi_i32_bits(aoi_i32_or(aoi_i32_or(out, behind), in)) & 15;
}

void may_mark_sectors(const aoi_world *w, uint32_t node, const may_move *m, const uint32_t *refs, size_t count,
                      uint32_t bits[AOI_RING_HITS / 32]) {
    const aoi_area_record *a = w->areas + node;
    memset(bits, 0, (count + 31) / 32 * sizeof *bits);
    for (size_t i = 0; i < count; i += 4) {
        may_gap g[4];
        for (size_t k = 0; k < 4; k++) g[k] = may_gap_to(m, w->entities[refs[i + k < count ? i + k : i]].pos);
        bits[i / 32] |= sector_lanes(g, m->half, (float)a->radius, a->shape) << i % 32;
    }
}
