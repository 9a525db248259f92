/* verdicts.c - pairs that may have passed a border: what has become of them.
 *
 * The columns say it of all that are well off the borders, before and after.  Of the others, of those found around the seam
 * of the torus, and of those that go far the rule does, on doubles. */
#include "tick/lanes.h"

static void join_emit(join_strip *o, uint32_t node, uint32_t target, unsigned before, unsigned after, bool couple) {
    if (!AOI_GROW(o->memory, o->changes, o->change_cap, o->change_count + (size_t)1)) o->failed = true;
    else o->changes[o->change_count++] = (aoi_change){node, target, (uint8_t)before, (uint8_t)after, couple};
}

/* ---- by the rule -------------------------------------------------------------------------------------------------- */

typedef struct join_zone_pair {
    aoi_zone before, after;
} join_zone_pair;

/* Both OUTSIDE of a target that the node does not look for. */
static inline join_zone_pair join_rule(const join_tick *t, uint32_t node, uint32_t target) {
    const aoi_world *w = t->world;
    const aoi_node_record *n = w->nodes + node;
    if (!aoi_may_see(n, w->entities[target].kind) || n->owner == target)
        return (join_zone_pair){AOI_OUTSIDE, AOI_OUTSIDE};
    const double *w0 = aoi_position_before(w, n->owner), *t0 = aoi_position_before(w, target);
    const double *w1 = w->entities[n->owner].pos, *t1 = w->entities[target].pos;
    return (join_zone_pair){aoi_zone_of(w->dims, n->shape, w->areas + node, w0, t0),
                            aoi_zone_of(w->dims, n->shape, w->areas + node, w1, t1)};
}

void aoi_join_judge_doubts(join_strip *o) {
    for (uint32_t i = 0; i < o->doubt_count; i++) {
        join_pair p = o->doubts[i];
        join_zone_pair z = join_rule(o->tick, p.node, p.target);
        if (z.before != z.after) join_emit(o, p.node, p.target, z.before, z.after, false);
    }
    o->judged += o->doubt_count;
    o->doubt_count = 0;
}

static void join_doubt(join_strip *o, uint32_t node, uint32_t target) {
    const aoi_world *w = o->tick->world;
    AOI_PREFETCH(w->nodes + node);
    AOI_PREFETCH(w->areas + node);
    AOI_PREFETCH(w->entities + target);
    o->doubts[o->doubt_count++] = (join_pair){node, target};
    if (o->doubt_count == JOIN_HITS) aoi_join_judge_doubts(o);
}

/* ---- by the columns ----------------------------------------------------------------------------------------------- */

/* Of one border: the zones of sixteen items. */
typedef struct join_sides {
    uint32_t out, in;
} join_sides;

AOI_INLINE join_sides join_sides_of(const join_tick *t, uint32_t k, const join_limits *l, int c, int b, int kind) {
    join_zones low = join_zones_of(t, k, l, c, b, join_distance(t, k, l, c, kind), kind);
    join_zones high = join_zones_of(t, k + 8, l, c, b, join_distance(t, k + 8, l, c, kind), kind);
    return (join_sides){aoi_i16_bits(low.out, high.out), aoi_i16_bits(low.in, high.in)};
}

/* Heights are modulo 2^16 in the columns: those far apart are surely out, before and after. */
static inline bool join_is_higher(const join_tick *t, uint32_t a, uint32_t b) {
    uint32_t apart = (uint32_t)t->height[a] - (uint32_t)t->height[b];
    return apart + 40000 > 80000;
}

typedef struct join_verdict { /* of sixteen items and each border: who has come in, gone out, is not sure */
    uint32_t met[JOIN_BORDERS], parted[JOIN_BORDERS], unsure[JOIN_BORDERS];
    uint32_t sure, was[2], is[2]; /* all borders are sure; within them */
} join_verdict;

AOI_INLINE void join_read_columns(const join_tick *t, const join_hit *h, const join_limits *l, int borders,
                                  join_verdict *v, int kind) {
    v->sure = UINT32_MAX;
    for (int b = 0; b < borders; b++) {
        join_sides was = join_sides_of(t, h->first, l, 3, b, kind), is = join_sides_of(t, h->first, l, 0, b, kind);
        v->met[b] = was.out & is.in;
        v->parted[b] = was.in & is.out;
        uint32_t sure = (was.out | was.in) & (is.out | is.in);
        v->unsure[b] = ~sure;
        v->sure &= sure;
        if (b < 2) v->was[b] = was.in, v->is[b] = is.in;
    }
}

/* An item that has been hit, with a probe of one node for each border. */
AOI_INLINE void join_decide(join_strip *o, const join_hit *h, const join_probe *p, const join_verdict *v, int i,
                            int kind) {
    const join_tick *t = o->tick;
    const aoi_entity_record *entities = t->world->entities;
    uint32_t item = h->first + (uint32_t)i, other = join_entity(t, item), self = join_entity(t, join_item_of(h));
    bool couple = h->bits & JOIN_COUPLE, unsure = (h->bits & JOIN_UNSURE) || (t->ref[item] & JOIN_ELSEWHERE);
    if (item == join_item_of(h) || ((kind & JOIN_TALL) && join_is_higher(t, item, join_item_of(h)))) return;
    bool usual = join_probe_index(h) == 0, keeps = (kind & JOIN_MANY) && p->keeps;
    for (int b = 0; b < p->nodes; b++) {
        uint32_t node = usual ? entities[self].nodes : p->node[b];
        unsigned before, after;
        if (keeps) {
            before = (v->was[0] >> i & 1) + (v->was[1] >> i & 1), after = (v->is[0] >> i & 1) + (v->is[1] >> i & 1);
            unsure |= !(v->sure >> i & 1);
        } else
            before = v->parted[b] >> i & 1 ? AOI_INSIDE : AOI_OUTSIDE,
            after = v->met[b] >> i & 1 ? AOI_INSIDE : AOI_OUTSIDE;
        if (unsure || (!keeps && (v->unsure[b] >> i & 1))) {
            join_doubt(o, node, other);
            if (couple) join_doubt(o, entities[other].nodes, self);
        } else if (before != after) join_emit(o, couple ? self : node, other, before, after, couple);
    }
}

AOI_INLINE void join_look_at(join_strip *o, int kind) {
    const join_tick *t = o->tick;
    const join_hit *before = o->hits[kind];
    join_limits l;
    join_side_lanes room;
    join_limits_of(o->probes + join_probe_index(before), o->sides, &l, room, kind);
    join_centre(t, join_item_of(before), &l, kind);
    for (const join_hit *h = before; h < o->hit[kind] && !o->failed; before = h++) {
        const join_probe *p = o->probes + join_probe_index(h);
        join_verdict v;
        if (join_probe_index(h) != join_probe_index(before)) join_limits_of(p, o->sides, &l, room, kind);
        if (join_probe_index(h) != join_probe_index(before) || join_item_of(h) != join_item_of(before))
            join_centre(t, join_item_of(h), &l, kind);
        join_read_columns(t, h, &l, l.borders, &v, kind);
        for (uint32_t bits = h->bits & 0xffff; bits; bits &= bits - 1)
            join_decide(o, h, p, &v, aoi_lanes_first(bits), kind);
    }
}

/* ---- those that go far -------------------------------------------------------------------------------------------- */

/* A pair is found where both are, and where both were: it is judged there if the target is not outside now, else here. */
static void join_judge_far(join_strip *o, uint32_t watcher, uint32_t target, bool gone) {
    const aoi_world *w = o->tick->world;
    for (uint32_t n = w->entities[watcher].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!join_is_watching(w->nodes + n) || aoi_join_is_wide(o->tick, n)) continue;
        join_zone_pair z = join_rule(o->tick, n, target);
        o->judged++;
        if (z.before != z.after && gone == (z.after == AOI_OUTSIDE)) join_emit(o, n, target, z.before, z.after, false);
    }
}

static void join_look_at_far(join_strip *o) {
    const join_tick *t = o->tick;
    for (const join_hit *h = o->hits[JOIN_FAR]; h < o->hit[JOIN_FAR] && !o->failed; h++) {
        uint32_t e = join_entity(t, join_item_of(h));
        bool gone = t->set_of[JOIN_GONE] >= 0 && join_item_of(h) >= t->first[t->sets[t->set_of[JOIN_GONE]].cell] &&
                    join_item_of(h) < t->first[t->sets[t->set_of[JOIN_GONE]].cell + t->bins * t->lines];
        for (uint32_t bits = h->bits & 0xffff; bits; bits &= bits - 1) {
            uint32_t item = h->first + (uint32_t)aoi_lanes_first(bits), other = join_entity(t, item);
            if (other == e || (other < e && join_goes_far(t, other))) continue; /* two that go far find each other */
            join_judge_far(o, e, other, gone);
            join_judge_far(o, other, e, gone);
        }
    }
}

/* One version a kind. */
#define JOIN_LOOK(kind)                                                                                                \
    static AOI_NOINLINE void join_look_##kind(join_strip *o) {                                                         \
        join_look_at(o, kind);                                                                                         \
    }
JOIN_LOOK(0)
JOIN_LOOK(1)
JOIN_LOOK(2)
JOIN_LOOK(3)
JOIN_LOOK(4)
JOIN_LOOK(5)
JOIN_LOOK(8)
JOIN_LOOK(9)
JOIN_LOOK(10)
JOIN_LOOK(11)
JOIN_LOOK(12)
JOIN_LOOK(13)

static void (*const join_looks[JOIN_KINDS])(join_strip *) = {
    join_look_0,      join_look_1,  join_look_2, join_look_3, join_look_4,  join_look_5,
    join_look_at_far, NULL,         join_look_8, join_look_9, join_look_10, join_look_11,
    join_look_12,     join_look_13, NULL,        NULL};

void aoi_join_look(join_strip *o, int kind) {
    if (o->failed) o->doubt_count = 0;
    else if (o->hit[kind] > o->hits[kind]) join_looks[kind](o);
    o->hit[kind] = o->hits[kind];
}
