/* aoi_stride.c - see aoi_stride.h. */
#include "aoi_stride.h"

#include <float.h>

#include "aoi_tiles.h"

/* An entry, if it stands anywhere: whether it does nobody can predict, so that is no branch.  Returns where the next goes. */
AOI_INLINE aoi_stand *add(const aoi_list *g, aoi_stand *s, uint32_t *place, double from, double to, uint32_t tag,
                          uint32_t own) {
    uint32_t at = *place == AOI_NONE ? 0 : *place;
    s->block = aoi_block_of(&g->chains, at);
    s->key = aoi_block_keys(s->block) + (at & AOI_PLACE_MASK);
    const char *line = (const char *)s->block;
    AOI_PREFETCH(line);
    AOI_PREFETCH(s->key);
    if (!tag)
        for (int i = 1; i < 5; i++) AOI_PREFETCH(line + i * AOI_LINE);  /* where its block's edges are */
    else if (g->stride.mate == AOI_NONE) AOI_PREFETCH(line + AOI_LINE); /* the rest of its points */
    s->place = place;
    s->from = from;
    s->to = to;
    s->tag = tag;
    s->own = own;
    return s + (*place != AOI_NONE);
}

static bool is_safe(const float *safe, const double *to) {
    return safe[0] <= to[0] && to[0] <= safe[1] && safe[2] <= to[1] && to[1] <= safe[3];
}

/* Which parts of the mover keep to their tiles.  Most often one node's safe area tells of its level's point, too. */
static void plan_parts(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    uint64_t levels = 0;
    int i = 1;
    g->stride.far = 0;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i += i < AOI_FAR_NODES) {
        if (isinf(w->nodes[n].reach)) continue;
        if (i < AOI_FAR_NODES && is_safe(aoi_tiles_safe_of(g, n), to)) levels |= (uint64_t)1 << w->nodes[n].level;
        else g->stride.far |= (uint32_t)1 << i;
    }
    for (i = 0; i < g->level_count; i++) {
        const aoi_level *y = g->levels + g->order[i];
        if (!(levels >> g->order[i] & 1) && (aoi_tiles_number(y, from[0]) != aoi_tiles_number(y, to[0]) ||
                                             aoi_tiles_number(y, from[1]) != aoi_tiles_number(y, to[1])))
            g->stride.far |= 1;
    }
    if (g->level_count * w->dims > AOI_STANDS) g->stride.far |= 1;
}

static aoi_stand *plan_box(const aoi_list *g, aoi_stand *s, uint32_t node, const double *from, const double *to) {
    double r = g->head.world->nodes[node].reach;
    uint32_t *place = aoi_tiles_frame_of(g, node);
    for (int a = 0; a < aoi_tiles_dims(g); a++) {
        int runs = a < 2 ? 2 : 4;
        uint32_t own = aoi_own_of(node, a);
        for (int i = 0; i < runs && from[a] != to[a]; i++) {
            s = add(g, s, place + i, from[a] - r, to[a] - r, aoi_ref_of(AOI_LOW, 0), own);
            s = add(g, s, place + runs + i, from[a] + r, to[a] + r, aoi_ref_of(AOI_HIGH, 0), own);
        }
        place += 2 * runs;
    }
    return s;
}

/* Both ends are in the safe area: its margin is larger than this one, so that what is passed stands in the mover's tile. */
static void plan_alike(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    aoi_stride *s = &g->stride;
    s->margin = 0;
    s->mate = AOI_NONE;
    if (!aoi_all_alike(&g->alike) || s->far) return;
    uint32_t n = w->entities[entity].nodes;
    while (isinf(w->nodes[n].reach)) n = w->nodes[n].next;
    if (!is_safe(aoi_tiles_safe_of(g, n), from)) return;
    s->mate = n;
    s->margin = w->nodes[n].reach;
    for (int a = 0; a < w->dims; a++) s->margin += fabs(from[a]) + fabs(to[a]);
    s->margin = s->margin * 0x1p-48 + DBL_MIN;
}

void aoi_stride_plan(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    aoi_stride *s = &g->stride;
    aoi_stand *next = s->stands;
    plan_parts(g, entity, from, to);
    plan_alike(g, entity, from, to);
    for (int i = 0; !(s->far & 1) && i < g->level_count; i++) {
        uint32_t *places = aoi_tiles_spot_of(g, g->levels + g->order[i], entity) + 1;
        for (int a = 0; a < w->dims; a++)
            if (from[a] != to[a]) next = add(g, next, places + a, from[a], to[a], 0, aoi_own_of(AOI_NONE, a));
    }
    s->points = (int)(next - s->stands);
    const aoi_stand *last = s->stands + AOI_STANDS - aoi_tiles_frame_places(g);
    int i = 1;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i++) {
        if (isinf(w->nodes[n].reach) || aoi_stride_far(s, i)) continue;
        if (next <= last) next = plan_box(g, next, n, from, to);
        else s->far |= (uint32_t)1 << i;
    }
    s->count = (int)(next - s->stands);
}

/* Most entries go from one place of a block's interval to another, and few points are in it. */
AOI_INLINE void compare(aoi_list *g, aoi_passed *p, const aoi_stand *s, bool is_point, aoi_lanes between,
                        aoi_walker walk) {
    enum { FEW = 2 * AOI_LANE };
    aoi_block *b = s->block;
    double least = (s->from < s->to ? s->from : s->to) - g->stride.margin,
           most = (s->from < s->to ? s->to : s->from) + g->stride.margin;
    float lo = aoi_block_key(b, least), hi = aoi_block_key(b, most);
    if (b->size == AOI_LARGEST && b->low < lo && hi < b->high && (is_point || b->points <= FEW)) {
        const float *key = aoi_block_keys(b);
        uint64_t bits = aoi_lanes_many(key, is_point ? AOI_MOST : FEW, lo, hi, between);
        if (is_point) bits &= aoi_lanes_mask(AOI_MOST) ^ aoi_lanes_mask(AOI_MOST - (int)b->edges);
        else bits &= aoi_lanes_mask((int)b->points);
        aoi_passed_note(p, (const uint32_t *)(const void *)(key + AOI_MOST), bits, s->tag, s->own);
    } else {
        walk(p, &g->chains, b, least, most, s->tag, s->own);
    }
}

static inline void see_who_leaves(aoi_list *g) {
    g->stride.leaving = 0;
    for (int i = 0; i < g->stride.count; i++) {
        aoi_stand *s = g->stride.stands + i;
        const aoi_block *b = s->block;
        float key = aoi_block_key(b, s->to);
        s->next = key < b->low ? b->low : key;
        s->next = s->next > b->high ? b->high : s->next;
        s->leaves = s->next != key;
        g->stride.leaving += s->leaves;
    }
}

AOI_INLINE void propose(aoi_list *g, aoi_passed *p, aoi_lanes between, aoi_walker walk) {
    aoi_stride *s = &g->stride;
    for (int i = 0; i < s->points; i++) compare(g, p, s->stands + i, true, between, walk);
    aoi_passed_fetch(p);
    for (int i = s->points; i < s->count && s->mate == AOI_NONE; i++)
        compare(g, p, s->stands + i, false, between, walk);
    see_who_leaves(g);
    g->head.steps += (uint64_t)s->count;
}

static void propose_plain(aoi_list *g, aoi_passed *p) {
    propose(g, p, aoi_lanes_plain, aoi_passed_walk);
}

aoi_strider aoi_plain_strider(void) {
    return propose_plain;
}

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static void walk_avx2(aoi_passed *p, const aoi_chains *c, aoi_block *b, double v0,
                                                      double v1, uint32_t tag, uint32_t own) {
    aoi_passed_walk_by(p, c, b, v0, v1, tag, own, aoi_lanes_avx2);
}

__attribute__((target("avx2"))) static void propose_avx2(aoi_list *g, aoi_passed *p) {
    propose(g, p, aoi_lanes_avx2, walk_avx2);
}

aoi_strider aoi_best_strider(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? propose_avx2 : propose_plain;
}
#else
aoi_strider aoi_best_strider(void) {
    return propose_plain;
}
#endif

/* First all keys are written, before an entry that leaves its block brings others to another place. */
void aoi_stride_commit(aoi_list *g) {
    aoi_stride *st = &g->stride;
    for (int i = 0; i < st->count; i++) *st->stands[i].key = st->stands[i].next;
    for (int i = 0; st->leaving && i < st->count; i++) {
        const aoi_stand *s = st->stands + i;
        if (!s->leaves) continue;
        const aoi_block *b = aoi_block_of(&g->chains, *s->place);
        aoi_chain *l = g->levels[b->level].tiles[b->tile].axis + b->axis;
        uint32_t now = aoi_chain_rekey(&g->chains, l, *s->place, s->to);
        *s->place = now;
    }
}
