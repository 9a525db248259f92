/* move.c - see move.h. */
#include "engines/list/move.h"

#include <float.h>

#include "engines/list/tiles.h"

/* An entry, if it stands anywhere: whether it does nobody can predict, so that is no branch.  Returns the next one's number. */
AOI_INLINE uint32_t add(aoi_list *g, uint32_t n, uint32_t *place, double to) {
    aoi_stride *s = &g->stride;
    uint32_t more = *place + 1, stands = more != 0, at = more - stands; /* any other place if it is AOI_NONE */
    s->block[n] = aoi_block_of(&g->chains, at);
    s->key[n] = aoi_block_keys(s->block[n]) + (at & AOI_PLACE_MASK);
    s->place[n] = place;
    s->to[n] = to;
    AOI_PREFETCH(s->block[n]);
    AOI_PREFETCH(s->key[n]);
    return n + stands;
}

/* One whose block is to be compared: a point with the edges, which may be all of its keys, an edge with the points. */
AOI_INLINE uint32_t add_compared(aoi_list *g, uint32_t n, uint32_t *place, double from, double to, uint32_t tag,
                                 uint32_t own) {
    aoi_stride *s = &g->stride;
    uint32_t next = add(g, n, place, to);
    const char *line = (const char *)s->block[n];
    for (int i = 1; i < (tag ? 2 : AOI_KEY_LINES); i++) AOI_PREFETCH(line + i * AOI_CACHE_LINE);
    s->from[n] = from;
    s->tag[n] = tag;
    s->own[n] = own;
    return next;
}

static inline bool is_safe(const float *safe, const double *to) {
    return safe[0] <= to[0] && to[0] <= safe[1] && safe[2] <= to[1] && to[1] <= safe[3];
}

/* Which parts of the mover keep to their tiles.  Most often one node's safe area tells of its level's point, too. */
AOI_INLINE void plan_parts(aoi_list *g, int dims, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    uint64_t levels = 0;
    uint32_t far = 0;
    int i = 1;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i += i < AOI_FAR_NODES) {
        if (isinf(w->nodes[n].reach)) continue;
        if (i < AOI_FAR_NODES && is_safe(aoi_tiles_safe_of(g, n), to)) levels |= (uint64_t)1 << w->nodes[n].level;
        else far |= (uint32_t)1 << i;
    }
    for (i = 0; i < g->level_count; i++) {
        const aoi_level *y = g->levels + g->order[i];
        if (!(levels >> g->order[i] & 1) && (aoi_tiles_number(y, from[0]) != aoi_tiles_number(y, to[0]) ||
                                             aoi_tiles_number(y, from[1]) != aoi_tiles_number(y, to[1])))
            far |= 1;
    }
    if (g->level_count * dims > AOI_STANDS) far |= 1;
    g->stride.far = far;
}

AOI_INLINE uint32_t plan_box(aoi_list *g, int dims, uint32_t next, uint32_t node, const double *from, const double *to,
                             bool compared) {
    double r = g->head.world->nodes[node].reach;
    uint32_t *place = aoi_tiles_frame_of(g, node);
    for (int a = 0; a < dims; a++) {
        int runs = a < 2 ? 2 : 4;
        uint32_t own = aoi_own_of(node, a), *low = place, *high = low + runs;
        place = high + runs;
        if (from[a] == to[a]) continue;
        for (int i = 0; i < runs; i++)
            next = compared ? add_compared(g, next, low + i, from[a] - r, to[a] - r, aoi_ref_of(AOI_LOW, 0), own)
                            : add(g, next, low + i, to[a] - r);
        for (int i = 0; i < runs; i++)
            next = compared ? add_compared(g, next, high + i, from[a] + r, to[a] + r, aoi_ref_of(AOI_HIGH, 0), own)
                            : add(g, next, high + i, to[a] + r);
    }
    return next;
}

/* Both ends are in the safe area: its margin is larger than this one, so that what is passed stands in the mover's tile. */
AOI_INLINE void plan_alike(aoi_list *g, int dims, uint32_t entity, const double *from, const double *to,
                           bool has_room) {
    const aoi_world *w = g->head.world;
    aoi_stride *s = &g->stride;
    s->margin = 0;
    s->mate = AOI_NONE;
    if (!aoi_all_alike(&g->alike) || s->far || !has_room) return;
    uint32_t n = w->entities[entity].nodes;
    while (isinf(w->nodes[n].reach)) n = w->nodes[n].next;
    if (!is_safe(aoi_tiles_safe_of(g, n), from)) return;
    s->mate = n;
    double size = w->nodes[n].reach;
    for (int a = 0; a < dims; a++) size += fabs(from[a]) + fabs(to[a]);
    s->margin = size * 0x1p-48 + DBL_MIN;
}

AOI_INLINE uint32_t plan_points(aoi_list *g, int dims, uint32_t entity, const double *from, const double *to) {
    uint32_t next = 0;
    for (int i = 0; i < g->level_count; i++) {
        uint32_t *places = aoi_tiles_spot_of(g, g->levels + g->order[i], entity) + 1;
        for (int a = 0; a < dims; a++)
            if (from[a] != to[a]) next = add_compared(g, next, places + a, from[a], to[a], 0, aoi_own_of(AOI_NONE, a));
    }
    return next;
}

AOI_INLINE void plan(aoi_list *g, int dims, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    aoi_stride *s = &g->stride;
    const uint32_t last = AOI_STANDS - aoi_tiles_frame_places(g);
    plan_parts(g, dims, entity, from, to);
    s->points = s->far & 1 ? 0 : plan_points(g, dims, entity, from, to);
    plan_alike(g, dims, entity, from, to, s->points <= last);
    uint32_t next = s->points;
    if (s->mate != AOI_NONE) {
        next = plan_box(g, dims, next, s->mate, from, to, false);
    } else {
        int i = 1;
        for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i++) {
            if (isinf(w->nodes[n].reach) || aoi_stride_far(s, i)) continue;
            if (next <= last) next = plan_box(g, dims, next, n, from, to, true);
            else s->far |= (uint32_t)1 << i;
        }
    }
    s->count = next;
}

/* Compiled once for each number of axes. */
void aoi_stride_plan(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    if (aoi_tiles_dims(g) == 2) plan(g, 2, entity, from, to);
    else plan(g, 3, entity, from, to);
}

/* Most entries go from one place of a block's interval to another, and few points are in it. */
AOI_INLINE void compare(aoi_list *g, aoi_passed *p, uint32_t i, bool is_point, aoi_lanes between) {
    enum { FEW = 2 * AOI_LANE };
    const aoi_stride *s = &g->stride;
    aoi_block *b = s->block[i];
    double least = (s->from[i] < s->to[i] ? s->from[i] : s->to[i]) - s->margin,
           most = (s->from[i] < s->to[i] ? s->to[i] : s->from[i]) + s->margin;
    float lo = aoi_block_key(b, least), hi = aoi_block_key(b, most);
    if (b->size == AOI_LARGEST && b->low < lo && hi < b->high && (is_point || b->points <= FEW)) {
        const float *key = aoi_block_keys(b);
        uint64_t bits = aoi_lanes_many(key, is_point ? AOI_MOST : FEW, lo, hi, between);
        if (is_point) bits &= aoi_lanes_mask(AOI_MOST) ^ aoi_lanes_mask(AOI_MOST - (int)b->edges);
        else bits &= aoi_lanes_mask((int)b->points);
        aoi_passed_note(p, (const uint32_t *)(const void *)(key + AOI_MOST), bits, is_point ? 0 : s->tag[i], s->own[i]);
    } else {
        p->walk(p, &g->chains, b, least, most, s->tag[i], s->own[i]);
    }
}

static inline void see_who_leaves(aoi_stride *s) {
    uint32_t leaving = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const aoi_block *b = s->block[i];
        float key = aoi_block_key(b, s->to[i]), low = b->low, high = b->high;
        float next = key < low ? low : key;
        s->next[i] = next > high ? high : next;
        s->leaves[i] = (key < low) | (key > high);
        leaving += s->leaves[i];
    }
    s->leaving = leaving;
}

AOI_INLINE void propose(aoi_list *g, aoi_passed *p, aoi_lanes between, aoi_walker walk) {
    aoi_stride *s = &g->stride;
    p->walk = walk;
    for (uint32_t i = 0; i < s->points; i++) compare(g, p, i, true, between);
    aoi_passed_fetch(p);
    for (uint32_t i = s->points; i < s->count && s->mate == AOI_NONE; i++) compare(g, p, i, false, between);
    see_who_leaves(s);
    g->head.steps += s->count;
}

static void walk_plain(aoi_passed *p, const aoi_chains *c, aoi_block *b, double v0, double v1, uint32_t tag,
                       uint32_t own) {
    aoi_passed_walk_by(p, c, b, v0, v1, tag, own, aoi_lanes_plain);
}

static void propose_plain(aoi_list *g, aoi_passed *p) {
    propose(g, p, aoi_lanes_plain, walk_plain);
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

#endif

aoi_strider aoi_best_strider(void) {
#if AOI_HAS_AVX2
    if (aoi_lanes_avx2_here()) return propose_avx2;
#endif
    return propose_plain;
}

/* First all keys are written, before an entry that leaves its block brings others to another place. */
void aoi_stride_commit(aoi_list *g) {
    aoi_stride *s = &g->stride;
    for (uint32_t i = 0; i < s->count; i++) *s->key[i] = s->next[i];
    for (uint32_t i = 0; s->leaving && i < s->count; i++) {
        uint32_t *place = s->place[i];
        if (!s->leaves[i]) continue;
        const aoi_block *b = aoi_block_of(&g->chains, *place);
        aoi_chain *l = g->levels[b->level].tiles[b->tile].axis + b->axis;
        uint32_t now = aoi_chain_rekey(&g->chains, l, *place, s->to[i]);
        *place = now;
    }
}
