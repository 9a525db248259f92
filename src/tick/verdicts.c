/* verdicts.c - decides the pairs that may have passed a border.
 *
 * The columns decide pairs that are well off the borders before and after.  The rule, on doubles, decides the others, and
 * pairs found around the seam of the torus. */
#include <stdlib.h>

#include "tick/lanes.h"

/* mutual: as in aoi_change. */
static void join_emit(join_strip *o, uint32_t node, uint32_t target, unsigned before, unsigned after, int mutual) {
    if (!AOI_GROW(o->memory, o->changes, o->change_cap, o->change_count + (size_t)1)) o->failed = true;
    else o->changes[o->change_count++] = (aoi_change){node, target, (uint8_t)before, (uint8_t)after, (uint8_t)mutual};
}

/* ---- by the rule ------------------------------------------------------------------------------------------------- */

typedef struct join_zone_pair {
    aoi_zone before, after;
} join_zone_pair;

/* Both OUTSIDE if the node does not match the target. */
static inline join_zone_pair join_rule(const join_tick *t, uint32_t node, uint32_t target) {
    const aoi_world *w = t->world;
    const aoi_node_record *n = w->nodes + node;
    if (!aoi_node_matches(n, w->entities[target].kind) || n->owner == target)
        return (join_zone_pair){AOI_OUTSIDE, AOI_OUTSIDE};
    const double *w0 = aoi_position_before(w, n->owner), *t0 = aoi_position_before(w, target);
    const double *w1 = w->entities[n->owner].pos, *t1 = w->entities[target].pos;
    aoi_area_record area;
    aoi_shape shape;
    return (join_zone_pair){aoi_zone_of(w->dims, n->shape, aoi_area_before(w, node, &area, &shape), w0, t0),
                            aoi_zone_of(w->dims, n->shape, w->areas + node, w1, t1)};
}

void aoi_join_judge_undecided(join_strip *o) {
    for (uint32_t i = 0; i < o->undecided_count; i++) {
        join_pair p = o->undecided[i];
        join_zone_pair z = join_rule(o->tick, p.node, p.target);
        if (z.before != z.after) join_emit(o, p.node, p.target, z.before, z.after, 0);
    }
    o->judged += o->undecided_count;
    o->undecided_count = 0;
}

static void join_defer(join_strip *o, uint32_t node, uint32_t target) {
    const aoi_world *w = o->tick->world;
    AOI_PREFETCH(w->nodes + node);
    AOI_PREFETCH(w->areas + node);
    AOI_PREFETCH(w->entities + target);
    o->undecided[o->undecided_count++] = (join_pair){node, target};
    if (o->undecided_count == JOIN_HITS) aoi_join_judge_undecided(o);
}

/* ---- by the columns ---------------------------------------------------------------------------------------------- */

/* Heights are modulo 2^16 in the columns: those far apart are surely out, before and after. */
static inline bool join_is_higher(const join_tick *t, uint32_t a, uint32_t b) {
    uint32_t apart = (uint32_t)t->height[a] - (uint32_t)t->height[b];
    return apart + 40000 > 80000;
}

typedef struct join_sides { /* of an item, a bit a border: it is surely out, surely in */
    uint32_t out, in;
} join_sides;

/* The same comparison as the lanes, for a simple area: few of sixteen are hit, so one by one. */
AOI_INLINE join_sides join_sides_of(const join_tick *t, const join_probe *p, uint32_t item, uint32_t k, int c,
                                    int kind) {
    int d = kind & JOIN_ROUND ? 0 : INT16_MIN;
    for (int a = 0; a < (kind & JOIN_TALL ? 3 : 2); a++) {
        int v = (int16_t)(t->column[c + a][k] - t->column[c + a][item]), beyond = abs(v) - p->extent[a];
        d = kind & JOIN_ROUND ? d + (v * v >> 16) : beyond > d ? beyond : d;
    }
    join_sides s = {d > p->out[0], d < p->in[0]};
    for (int b = 1; b < (kind & JOIN_MANY ? p->borders : 1); b++)
        s.out |= (uint32_t)(d > p->out[b]) << b, s.in |= (uint32_t)(d < p->in[b]) << b;
    return s;
}

/* The same for an area with sides, in the first lane. */
AOI_INLINE join_sides join_shaped_sides(const join_tick *t, const join_limits *l, uint32_t k, int c, int kind) {
    join_zones z = join_zones_of(t, k, l, c, 0, join_distance(t, k, l, c, kind), kind);
    return (join_sides){aoi_i16_bits(z.out, z.out) & 1, aoi_i16_bits(z.in, z.in) & 1};
}

/* The node of a border of a hit: the usual probe stores none. */
static inline uint32_t join_node_of(const join_strip *o, const join_hit *h, int border) {
    uint32_t i = join_probe_index(h);
    const aoi_world *w = o->tick->world;
    if (i) return o->probes[i].node[border];
    return join_nth_node(w, w->entities[join_entity(o->tick, join_item_of(h))].nodes, o->usual_place[border]);
}

static AOI_NOINLINE void join_defer_hit(join_strip *o, const join_hit *h, int border, uint32_t other) {
    const join_tick *t = o->tick;
    join_defer(o, join_node_of(o, h, border), other);
    if (!(h->bits & JOIN_MUTUAL)) return;
    uint32_t node = join_nth_node(t->world, t->world->entities[other].nodes, o->usual_place[border]);
    join_defer(o, node, join_entity(t, join_item_of(h)));
}

/* Decides an item that was hit by its sides before and after, for a probe with one node, or one for each border. */
AOI_INLINE void join_decide(join_strip *o, const join_hit *h, const join_probe *p, uint32_t item, join_sides was,
                            join_sides is, int kind) {
    const join_tick *t = o->tick;
    uint32_t ref = t->ref[item], other = ref & ~JOIN_ELSEWHERE, self = join_entity(t, join_item_of(h));
    uint32_t all = (UINT32_C(1) << (kind & JOIN_MANY ? p->borders : 1)) - 1;
    uint32_t sure = (was.out | was.in) & (is.out | is.in), changed = sure & (was.in ^ is.in);
    bool mutual = h->bits & JOIN_MUTUAL, keeps = kind & JOIN_MANY ? p->keeps : false;
    if ((h->bits & JOIN_UNSURE) | (ref & JOIN_ELSEWHERE) | (keeps && sure != all)) sure = changed = 0;
    if (keeps && changed) { /* its zone is the count of borders around it */
        unsigned before = (was.in & 1) + (was.in >> 1), after = (is.in & 1) + (is.in >> 1);
        join_emit(o, mutual ? self : join_node_of(o, h, 0), other, before, after, mutual ? 1 : 0);
        changed = 0;
    }
    for (; changed; changed &= changed - 1) {
        int b = aoi_lanes_first(changed);
        unsigned zone = is.in >> b & 1 ? AOI_INSIDE : AOI_OUTSIDE;
        join_emit(o, mutual ? self : join_node_of(o, h, b), other, AOI_INSIDE - zone, zone,
                  mutual ? 1 + o->usual_place[b] : 0);
    }
    for (uint32_t undecided = all & ~sure; undecided; undecided = keeps ? 0 : undecided & (undecided - 1))
        join_defer_hit(o, h, keeps ? 0 : aoi_lanes_first(undecided), other);
}

AOI_INLINE void join_decide_hits(join_strip *o, const join_hit *h, const join_hit *end, int kind) {
    const join_tick *t = o->tick;
    join_limits l = {.borders = 1};
    join_side_lanes room;
    uint64_t last = UINT64_MAX;
    for (; h < end && !o->failed; h++) {
        const join_probe *p = o->probes + join_probe_index(h);
        uint32_t self = join_item_of(h);
        if ((kind & JOIN_SHAPED) && h->watcher != last) {
            join_limits_of(p, o->sides, &l, room, kind);
            join_centre(t, self, &l, kind);
        }
        last = h->watcher;
        for (uint32_t bits = h->bits & 0xffff; bits; bits &= bits - 1) {
            uint32_t k = h->first + (uint32_t)aoi_lanes_first(bits);
            if (k == self || ((kind & JOIN_TALL) && join_is_higher(t, k, self))) continue;
            if (kind & JOIN_SHAPED)
                join_decide(o, h, p, k, join_shaped_sides(t, &l, k, 3, kind), join_shaped_sides(t, &l, k, 0, kind),
                            kind);
            else
                join_decide(o, h, p, k, join_sides_of(t, p, self, k, 3, kind), join_sides_of(t, p, self, k, 0, kind),
                            kind);
        }
    }
}

void aoi_join_decide(join_strip *o, int kind) {
    if (o->failed) o->undecided_count = 0;
    else if (kind == 0) join_decide_hits(o, o->hits[kind], o->hit[kind], 0);
    else if (kind & JOIN_SHAPED) join_decide_hits(o, o->hits[kind], o->hit[kind], kind | JOIN_SHAPED);
    else join_decide_hits(o, o->hits[kind], o->hit[kind], kind & ~JOIN_SHAPED);
    o->hit[kind] = o->hits[kind];
}
