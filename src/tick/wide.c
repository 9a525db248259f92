/* wide.c - nodes that reach too far for 16 bits, and movers that fixed point does not hold: one by one, over all entities.
 *
 *   x  [ entity 0 | 1 | 2 ... ]   places as floats, 32 bits each, relative to the tick's origin; INFINITY is near nothing
 *   y  [ entity 0 | 1 | 2 ... ]
 *   z  [ entity 0 | 1 | 2 ... ]   in three dimensions
 *
 * A target that has come no farther than `way`, as the watcher has, and is well within the area or well beyond it, is
 * idle; all others are judged on doubles.  A float is off by a part of 2^24, so that slack grows with what it holds; and so is
 * a border, as w + r is rounded, by a part of 2^53 of the coordinate itself. */
#include "tick/join.h"

#define JOIN_FLOAT_SLACK 0x1p-21

typedef struct join_floats {
    float *at[3];
    uint32_t cap[3];
} join_floats;

static inline float join_float(double v) {
    return (float)(v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v);
}

static bool join_fill_floats(const join_tick *t, join_floats *f) {
    const aoi_world *w = t->world;
    for (int a = 0; a < w->dims; a++) {
        if (!AOI_GROW_TO(&t->world->memory, f->at[a], f->cap[a], w->entity_top)) return false;
        for (uint32_t e = 0; e < w->entity_top; e++) {
            bool live = aoi_is_live(w->entities[e].generation);
            f->at[a][e] = live ? join_float(w->entities[e].pos[a] - t->origin[a]) : INFINITY;
        }
    }
    for (uint32_t i = 0; i < t->far_count; i++) f->at[0][t->far[i]] = INFINITY;
    for (uint32_t i = 0; i < t->lost_count; i++) f->at[0][t->lost[i]] = INFINITY;
    return true;
}

static void join_judge_one(join_strip *o, uint32_t node, uint32_t target) {
    if (target == o->tick->world->nodes[node].owner) return;
    o->doubts[o->doubt_count++] = (join_pair){node, target};
    if (o->doubt_count == JOIN_HITS) aoi_join_judge_doubts(o);
}

typedef struct
    join_ring { /* around a place: idle within `inner` on all axes, or within a ball, and beyond `outer` on one */
    float at[3], outer[3], inner[3], ball;
    int dims;
} join_ring;

/* Half-extents in which everything is surely inside; below 0: nothing is. */
static void join_inner_extents(const join_tick *t, uint32_t node, double inner[3]) {
    const aoi_node_record *n = t->world->nodes + node;
    const aoi_area_record *a = t->world->areas + node;
    for (int k = 0; k < 3; k++)
        inner[k] = n->flags & AOI_NODE_KEEPS ? -1
                   : n->shape == AOI_SQUARE  ? a->radius
                   : n->shape == AOI_BOX     ? a->shape->extents[k]
                                             : -1;
}

static join_ring join_ring_of(const join_tick *t, uint32_t node) {
    const aoi_node_record *n = t->world->nodes + node;
    const double *pos = t->world->entities[n->owner].pos;
    double inner[3], outer[3] = {n->reach[0], n->reach[1], aoi_height_of(t->world, node)}, most = 0, border = 0;
    join_ring r = {.dims = t->world->dims, .ball = -1};
    join_inner_extents(t, node, inner);
    for (int a = 0; a < r.dims; a++) {
        r.at[a] = join_float(pos[a] - t->origin[a]);
        double extent = isfinite(outer[a]) ? outer[a] : 0;
        most = fmax(most, fabs(pos[a] - t->origin[a]) + extent);
        border = fmax(border, fabs(pos[a]) + t->way + extent);
    }
    double slack = 2 * t->way + most * JOIN_FLOAT_SLACK + border * 0x1p-51;
    for (int a = 0; a < r.dims; a++) {
        r.outer[a] = join_float(outer[a] * (1 + JOIN_FLOAT_SLACK) + slack);
        r.inner[a] = join_float(inner[a] - slack);
    }
    if (n->shape == AOI_CIRCLE && !(n->flags & AOI_NODE_KEEPS)) {
        double ball = t->world->areas[node].radius - sqrt(r.dims) * slack;
        r.ball = ball > 0 ? join_float(ball * ball * (1 - JOIN_FLOAT_SLACK)) : -1;
    }
    return r;
}

enum { JOIN_PART = 256 };

/* Up to so many entities from one on, without a branch: most are idle. */
static void join_scan_ring(const join_floats *f, const join_ring *r, uint32_t first, uint32_t n, uint8_t *matters) {
    float beyond[JOIN_PART], within[JOIN_PART], squares[JOIN_PART];
    for (uint32_t k = 0; k < n; k++) beyond[k] = within[k] = -FLT_MAX, squares[k] = 0;
    for (int a = 0; a < r->dims; a++) {
        const float *at = f->at[a] + first;
        float middle = r->at[a], outer = r->outer[a], inner = r->inner[a];
        for (uint32_t k = 0; k < n; k++) {
            float d = fabsf(at[k] - middle), over = d - outer, inside = d - inner;
            beyond[k] = over > beyond[k] ? over : beyond[k];
            within[k] = inside > within[k] ? inside : within[k];
            squares[k] += d * d;
        }
    }
    for (uint32_t k = 0; k < n; k++) matters[k] = (beyond[k] <= 0) & (within[k] >= 0) & (squares[k] >= r->ball);
}

static void join_judge_around(join_strip *o, const join_floats *f, uint32_t node) {
    const aoi_world *w = o->tick->world;
    join_ring r = join_ring_of(o->tick, node);
    uint32_t owner = w->nodes[node].owner;
    bool moves = w->entities[owner].mover < w->moved || join_has_turned(w, node);
    uint8_t matters[JOIN_PART];
    for (uint32_t e = 0; e < w->entity_top; e += JOIN_PART) {
        uint32_t end = w->entity_top - e < JOIN_PART ? w->entity_top : e + JOIN_PART;
        join_scan_ring(f, &r, e, end - e, matters);
        for (uint32_t k = e; k < end; k++)
            if (matters[k - e] && (moves || w->entities[k].mover < w->moved)) join_judge_one(o, node, k);
        o->steps += end - e;
    }
}

/* All nodes but those that are judged one by one anyway. */
static void join_judge_lost(join_strip *o, uint32_t target) {
    const join_tick *t = o->tick;
    const aoi_world *w = t->world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_live(r->generation) || !join_is_watching(r) || aoi_join_is_wide(t, n)) continue;
        bool listed = false;
        for (uint32_t i = 0; i < t->lost_count; i++) listed |= t->lost[i] == r->owner;
        if (!listed) join_judge_one(o, n, target);
    }
}

static bool join_is_settled(const join_tick *t, uint32_t entity) {
    const aoi_world *w = t->world;
    bool settled = w->entities[entity].mover >= w->moved || !join_goes_far(t, entity);
    for (uint32_t i = 0; i < t->lost_count; i++) settled &= t->lost[i] != entity;
    return settled;
}

/* Whether floats hold its owner's place and how far it reaches. */
static bool join_fits_floats(const join_tick *t, uint32_t node) {
    const aoi_node_record *n = t->world->nodes + node;
    const double *pos = t->world->entities[n->owner].pos;
    double height = aoi_height_of(t->world, node), far = fmax(n->reach[0], n->reach[1]);
    if (t->world->dims == 3 && isfinite(height)) far = fmax(far, height);
    for (int a = 0; a < t->world->dims; a++) far = fmax(far, fabs(pos[a] - t->origin[a]));
    return far < FLT_MAX / 16;
}

void aoi_join_judge_wide(join_strip *o) {
    const join_tick *t = o->tick;
    const aoi_world *w = t->world;
    join_floats f = {{NULL}, {0}};
    o->failed |= !join_fill_floats(t, &f);
    for (uint32_t i = 0; i < t->wide_count && !o->failed; i++) {
        uint32_t node = t->wide[i];
        if (join_is_settled(t, w->nodes[node].owner) && join_fits_floats(t, node)) {
            join_judge_around(o, &f, node);
            for (uint32_t k = 0; k < t->far_count; k++) join_judge_one(o, node, t->far[k]);
            for (uint32_t k = 0; k < t->lost_count; k++) join_judge_one(o, node, t->lost[k]);
        } else
            for (uint32_t e = 0; e < w->entity_top; e++)
                if (aoi_is_live(w->entities[e].generation)) join_judge_one(o, node, e);
    }
    for (uint32_t i = 0; i < t->lost_count && !o->failed; i++) join_judge_lost(o, t->lost[i]);
    aoi_join_judge_doubts(o);
    for (int a = 0; a < 3; a++) AOI_FREE(o->memory, f.at[a], f.cap[a]);
}
