/* box_query.c - questions: entities in a box, nodes around a point. */
#include "engines/list/list.h"

enum { BOXES_MOST = 256 };

typedef struct box_look { /* nodes whose low edge is close by; their records are prefetched before the first is read */
    aoi_world *world;
    const double *at;
    int count;
    uint32_t nodes[BOXES_MOST];
} box_look;

bool aoi_list_box_holds(const aoi_world *w, uint32_t node, const double *t) {
    const double *at = w->entities[w->nodes[node].owner].pos;
    double reach[3];
    bool inside = true;
    aoi_list_reach(w, node, reach);
    for (int a = 0; a < w->dims; a++) inside &= at[a] - reach[a] <= t[a] && t[a] <= at[a] + reach[a];
    return inside;
}

static void visit_boxes(box_look *s) {
    for (int i = 0; i < s->count; i++) AOI_PREFETCH(s->world->entities + s->world->nodes[s->nodes[i]].owner);
    for (int i = 0; i < s->count; i++)
        if (aoi_list_box_holds(s->world, s->nodes[i], s->at)) aoi_add_hit(s->world, s->nodes[i]);
    s->count = 0;
}

/* The low edges of a list from one value to another, and maybe a few next to them. */
static void look_along(aoi_list *g, box_look *s, const aoi_block_list *l, double from, double to) {
    if (l->head == AOI_NONE) return;
    aoi_block *b = aoi_block_at(&g->lists, aoi_block_seek(&g->lists, l, from));
    float lo = aoi_block_key(b, from), hi = aoi_block_key(b, to);
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(&g->lists, b->prev);
    for (;; b = aoi_block_at(&g->lists, b->next)) {
        const uint32_t *refs = aoi_block_refs(b);
        g->head.steps++;
        if (s->count > BOXES_MOST - AOI_BLOCK_MOST) visit_boxes(s);
        for (uint64_t bits = aoi_block_between(b, lo, hi, false); bits; bits &= bits - 1) {
            uint32_t ref = refs[aoi_lanes_first(bits)], node = ref & AOI_SLOT_MASK;
            AOI_PREFETCH(s->world->nodes + node);
            s->nodes[s->count] = node;
            s->count += ref >> AOI_SIDE_SHIFT == AOI_LOW;
        }
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

/* The low edge of such a node stands in this tile or in the one before, in the row of the point, once. */
static void look_in_row(aoi_list *g, const aoi_level *y, const double *at) {
    double least = at[0] - 2.5 * y->most - fabs(at[0]) * 0x1p-50; /* an edge is a rounded sum */
    int32_t tx = aoi_tiles_number(&y->map, at[0]), ty = aoi_tiles_number(&y->map, at[1]);
    box_look s;
    s.world = g->head.world, s.at = at, s.count = 0;
    for (int32_t x = tx - 1; x <= tx; x++) {
        uint32_t t = y->nodes ? aoi_tiles_find(&y->map, x, ty) : AOI_NONE;
        if (t != AOI_NONE) look_along(g, &s, y->map.tiles[t].axis, least, at[0]);
    }
    visit_boxes(&s);
}

enum { BOXES_RARE = 8 }; /* entities for each node of a level, from which on its edges are looked at */

void aoi_find_boxes_around(aoi_list *g, const aoi_level *y, const double *at) {
    aoi_borders b = {.leave_max = {y->most, y->most}};
    if (y->nodes < g->around.points.count / BOXES_RARE) look_in_row(g, y, at);
    else aoi_nine_owned(&g->around, at, &b, AOI_NINE_ELSEWHERE + (uint32_t)(y - g->levels));
}

void aoi_list_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_nine_targets(&((aoi_list *)(void *)head)->around, lo, hi);
}

void aoi_list_watchers(aoi_engine *head, const double *at, bool idle) {
    aoi_list *g = (aoi_list *)(void *)head;
    for (int i = 0; i < g->level_count; i++) aoi_find_boxes_around(g, g->levels + g->order[i], at);
    aoi_nine_watchers(&g->around, at, idle);
}
