/* aoi_looks.c - see aoi_looks.h. */
#include "aoi_looks.h"

#include "aoi_rule.h"

static void look_at_boxes(aoi_list *g, const aoi_tile *t, const double *at, double least, aoi_look visit, void *ud) {
    const aoi_world *w = g->head.world;
    if (t->axis[0].head == AOI_NONE) return;
    uint32_t i = aoi_chain_seek(&g->chains, t->axis, AOI_NONE, at[0]);
    while (at[0] >= aoi_block_high(aoi_block_at(&g->chains, i)) && aoi_block_at(&g->chains, i)->next != AOI_NONE)
        i = aoi_block_at(&g->chains, i)->next;
    for (; i != AOI_NONE && aoi_block_high(aoi_block_at(&g->chains, i)) >= least;
         i = aoi_block_at(&g->chains, i)->prev) {
        aoi_block *b = aoi_block_at(&g->chains, i);
        const uint32_t *ref = aoi_block_refs(b);
        g->head.steps++;
        uint64_t bits = aoi_passed_places(b, least, at[0], false, aoi_lanes_plain);
        for (; bits; bits &= bits - 1) {
            uint32_t r = ref[aoi_lanes_first(bits)], n = r & AOI_SLOT_MASK;
            if (r >> AOI_SIDE_SHIFT == AOI_LOW &&
                aoi_in_box(w->dims, w->entities[w->nodes[n].owner].pos, at, w->nodes[n].reach))
                visit(ud, n);
        }
    }
}

/* Every node of the level whose box contains the point: its low edge stands in this tile or in the one before, in the
 * row of the point, once. */
void aoi_look_for_watchers(aoi_list *g, const aoi_level *y, const double *at, aoi_look visit, void *ud) {
    double least = at[0] - 2.5 * y->most - fabs(at[0]) * 0x1p-50; /* an edge is a rounded sum */
    int32_t tx = aoi_tiles_number(y, at[0]), ty = aoi_tiles_number(y, at[1]);
    for (int32_t x = tx - 1; x <= tx; x++) {
        uint32_t t = y->nodes ? aoi_tiles_find(y, x, ty) : AOI_NONE;
        if (t == AOI_NONE) continue;
        look_at_boxes(g, y->tiles + t, at, least, visit, ud);
    }
}

static void look_in_tile(aoi_list *g, const aoi_tile *t, const double *lo, const double *hi, aoi_look visit, void *ud) {
    const aoi_world *w = g->head.world;
    if (t->axis[0].head == AOI_NONE) return;
    uint32_t i = aoi_chain_seek(&g->chains, t->axis, AOI_NONE, lo[0]);
    while (lo[0] <= aoi_block_low(aoi_block_at(&g->chains, i)) && aoi_block_at(&g->chains, i)->prev != AOI_NONE)
        i = aoi_block_at(&g->chains, i)->prev;
    for (; i != AOI_NONE && aoi_block_low(aoi_block_at(&g->chains, i)) <= hi[0];
         i = aoi_block_at(&g->chains, i)->next) {
        aoi_block *b = aoi_block_at(&g->chains, i);
        const uint32_t *ref = aoi_block_refs(b);
        g->head.steps++;
        uint64_t bits = aoi_passed_places(b, lo[0], hi[0], true, aoi_lanes_plain);
        for (; bits; bits &= bits - 1) {
            uint32_t e = ref[aoi_lanes_first(bits)] & AOI_SLOT_MASK;
            if (lo[1] <= w->entities[e].pos[1] && w->entities[e].pos[1] <= hi[1]) visit(ud, e);
        }
    }
}

/* Every entity in the box, by the lists of the finest level of which the box covers few tiles. */
void aoi_look_for_targets(aoi_list *g, const double *lo, const double *hi, aoi_look visit, void *ud) {
    for (int i = 0; i < g->level_count; i++) {
        const aoi_level *y = g->levels + g->order[i];
        aoi_span s = {aoi_tiles_number(y, lo[0]), aoi_tiles_number(y, lo[1]), aoi_tiles_number(y, hi[0]),
                      aoi_tiles_number(y, hi[1])};
        double places = ((double)s.x1 - s.x0 + 1) * ((double)s.y1 - s.y0 + 1);
        if (places > 16 && i + 1 < g->level_count) continue;
        if (places > (double)y->top) {
            for (uint32_t t = 0; t < y->top; t++)
                if (aoi_tiles_find(y, y->tiles[t].tx, y->tiles[t].ty) == t)
                    look_in_tile(g, y->tiles + t, lo, hi, visit, ud);
            return;
        }
        for (int32_t ty = s.y0; ty <= s.y1; ty++)
            for (int32_t tx = s.x0; tx <= s.x1; tx++) {
                uint32_t t = aoi_tiles_find(y, tx, ty);
                if (t != AOI_NONE) look_in_tile(g, y->tiles + t, lo, hi, visit, ud);
            }
        return;
    }
}
