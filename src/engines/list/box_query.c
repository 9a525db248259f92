/* box_query.c - see box_query.h. */
#include "engines/list/box_query.h"

#include "core/rule.h"

enum { SIGHTED = 256 };

/* Whom the lists offer.  Their records are anywhere in memory: they are asked for long before they are read. */
typedef struct sight {
    aoi_world *world;
    const double *lo, *hi; /* for entities: the box; for nodes: the point, twice */
    aoi_look visit;
    void *ud;
    bool nodes;
    int count;
    uint32_t slots[SIGHTED];
} sight;

static void judge_nodes(const sight *s) {
    const aoi_world *w = s->world;
    for (int i = 0; i < s->count; i++) AOI_PREFETCH(w->entities + w->nodes[s->slots[i]].owner);
    for (int i = 0; i < s->count; i++) {
        const aoi_node_record *n = w->nodes + s->slots[i];
        if (aoi_in_box(w->dims, w->entities[n->owner].pos, s->lo, n->reach)) s->visit(s->ud, s->slots[i]);
    }
}

static void judge_entities(const sight *s) {
    for (int i = 0; i < s->count; i++) {
        const double *p = s->world->entities[s->slots[i]].pos;
        if ((s->lo[0] <= p[0]) & (p[0] <= s->hi[0]) & (s->lo[1] <= p[1]) & (p[1] <= s->hi[1]))
            s->visit(s->ud, s->slots[i]);
    }
}

static void judge(sight *s) {
    if (s->nodes) judge_nodes(s);
    else judge_entities(s);
    s->count = 0;
}

/* The low edges, or the points, of a list from one value to another, and maybe a few next to them. */
static void look_along(aoi_list *g, sight *s, const aoi_chain *l, double from, double to) {
    if (l->head == AOI_NONE) return;
    aoi_block *b = aoi_block_at(&g->chains, aoi_chain_seek(&g->chains, l, AOI_NONE, from));
    float lo = aoi_block_key(b, from), hi = aoi_block_key(b, to);
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(&g->chains, b->prev);
    for (;; b = aoi_block_at(&g->chains, b->next)) {
        const uint32_t *refs = aoi_block_refs(b);
        g->head.steps++;
        if (s->count > SIGHTED - AOI_MOST) judge(s);
        for (uint64_t bits = aoi_passed_places(b, lo, hi, !s->nodes, aoi_lanes_plain); bits; bits &= bits - 1) {
            uint32_t ref = refs[aoi_lanes_first(bits)], slot = ref & AOI_SLOT_MASK;
            if (s->nodes) AOI_PREFETCH(s->world->nodes + slot);
            else AOI_PREFETCH(s->world->entities + slot);
            s->slots[s->count] = slot;
            s->count += ref >> AOI_SIDE_SHIFT != AOI_HIGH;
        }
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

/* Every node of the level whose box contains the point: its low edge stands in this tile or in the one before, in the
 * row of the point, once. */
void aoi_look_for_watchers(aoi_list *g, const aoi_level *y, const double *at, aoi_look visit, void *ud) {
    double least = at[0] - 2.5 * y->most - fabs(at[0]) * 0x1p-50; /* an edge is a rounded sum */
    int32_t tx = aoi_tiles_number(y, at[0]), ty = aoi_tiles_number(y, at[1]);
    sight s;
    s.world = g->head.world, s.lo = s.hi = at, s.visit = visit, s.ud = ud, s.nodes = true, s.count = 0;
    for (int32_t x = tx - 1; x <= tx; x++) {
        uint32_t t = y->nodes ? aoi_tiles_find(y, x, ty) : AOI_NONE;
        if (t != AOI_NONE) look_along(g, &s, y->tiles[t].axis, least, at[0]);
    }
    judge(&s);
}

/* Every entity in the box, by the lists of the finest level of which the box covers few tiles. */
void aoi_look_for_targets(aoi_list *g, const double *lo, const double *hi, aoi_look visit, void *ud) {
    int i = 0;
    double places = 0;
    aoi_span b = AOI_NOWHERE;
    for (; i < g->level_count; i++) {
        const aoi_level *y = g->levels + g->order[i];
        b = (aoi_span){aoi_tiles_number(y, lo[0]), aoi_tiles_number(y, lo[1]), aoi_tiles_number(y, hi[0]),
                       aoi_tiles_number(y, hi[1])};
        places = ((double)b.x1 - b.x0 + 1) * ((double)b.y1 - b.y0 + 1);
        if (places <= 16 || i + 1 == g->level_count) break;
    }
    if (i == g->level_count) return;
    const aoi_level *y = g->levels + g->order[i];
    sight s;
    s.world = g->head.world, s.lo = lo, s.hi = hi, s.visit = visit, s.ud = ud, s.nodes = false, s.count = 0;
    for (uint32_t t = 0; places > (double)y->top && t < y->top; t++)
        if (aoi_tiles_find(y, y->tiles[t].tx, y->tiles[t].ty) == t) look_along(g, &s, y->tiles[t].axis, lo[0], hi[0]);
    for (int32_t ty = b.y0; places <= (double)y->top && ty <= b.y1; ty++)
        for (int32_t tx = b.x0; tx <= b.x1; tx++) {
            uint32_t t = aoi_tiles_find(y, tx, ty);
            if (t != AOI_NONE) look_along(g, &s, y->tiles[t].axis, lo[0], hi[0]);
        }
    judge(&s);
}
