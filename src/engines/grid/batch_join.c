/* batch_join.c - the join of a batch: crowds by the self-join, rare nodes and far travellers one by one
 * (self_join.h). */
#include "engines/grid/self_join.h"

/* ---- what can be joined ------------------------------------------------------------------------------------------ */

/* How far an entity may go on an axis to take part in the self-join.  Two that both move change their distance by twice
 * that at most, and those whose distance was about a radius must be in neighbouring cells now.  Below 0: never. */
static double batch_limit(const aoi_grid *g) {
    double limit = -1;
    for (uint32_t i = 0; i < g->nine.layer_count; i++) {
        const aoi_nine_layer *y = g->nine.layers + i;
        if (!y->count || !y->crowd) continue;
        double room = (0.999 * g->nine.points.side - fmax(y->borders.leave_max[0], y->borders.leave_max[1])) / 2;
        limit = limit < 0 || room < limit ? room : limit;
        if (limit <= 0) return -1;
    }
    return fmin(limit, 0.4 * g->nine.points.side);
}

static double batch_distance(const double *a, const double *b) {
    return fmax(fabs(a[0] - b[0]), fabs(a[1] - b[1]));
}

/* A mover that goes up or down counts as one that goes far: rings in the plane do not tell what it loses and gains. */
static double batch_way(const aoi_world *w, const double *from, const double *to) {
    return w->dims == 3 && from[2] != to[2] ? INFINITY : batch_distance(from, to);
}

/* Far travellers are compared with each other one by one: the cost stays below that of the others. */
bool aoi_grid_supports_join(const aoi_grid *g, double farthest) {
    const aoi_world *w = g->head.world;
    double limit = batch_limit(g), far = 0;
    if (limit < 0) return false;
    if (farthest <= limit && w->dims == 2) return true;
    for (uint32_t i = 0; i < w->mover_count; i++)
        far += batch_way(w, w->entities[w->movers[i].entity].pos, w->movers[i].pos) > limit;
    return far * far <= 4.0 * w->mover_count;
}

enum { BATCH_COUPLES = 128 }; /* judged together */

/* ---- the rest, one by one ---------------------------------------------------------------------------------------- */

typedef struct batch {
    aoi_grid *g;
    aoi_world *w;
    aoi_join_rows rows;
    uint32_t *far; /* entities that go too far for the self-join */
    uint64_t *far_bits;
    uint32_t far_cap, far_count, bits_cap, level, entity;
    bool carries;    /* the entity has a node of the level: then couples that both ends find are passed on once */
    double farthest; /* on an axis, of the others */
} batch;

static bool batch_is_far(const batch *b, uint32_t entity) {
    return b->far_count && (b->far_bits[entity / 64] >> entity % 64 & 1);
}

static bool batch_find_far(batch *b) {
    const aoi_world *w = b->w;
    double limit = batch_limit(b->g);
    for (uint32_t i = 0; i < w->mover_count; i++) {
        uint32_t e = w->movers[i].entity;
        double way = batch_way(w, w->entities[e].pos, aoi_position_before(w, e));
        if (way <= limit) b->farthest = fmax(b->farthest, way);
        else if (!AOI_GROW(&b->w->memory, b->far, b->far_cap, b->far_count + (size_t)1)) return false;
        else b->far[b->far_count++] = e;
    }
    if (!b->far_count) return true;
    uint32_t words = w->entity_top / 64 + 1;
    if (!AOI_GROW(&b->w->memory, b->far_bits, b->bits_cap, words)) return false;
    for (uint32_t i = 0; i < words; i++) b->far_bits[i] = 0;
    for (uint32_t i = 0; i < b->far_count; i++) b->far_bits[b->far[i] / 64] |= UINT64_C(1) << b->far[i] % 64;
    return true;
}

/* Couples of the self-join: coordinates of far travellers are meaningless to it. */
static void batch_meet(void *ud, const aoi_couple *couples, size_t count) {
    const batch *b = ud;
    aoi_couple kept[BATCH_COUPLES];
    size_t n = 0;
    if (!b->far_count) {
        aoi_judge_couples(b->w, b->level, couples, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (batch_is_far(b, couples[i].a) || batch_is_far(b, couples[i].b)) continue;
        kept[n++] = couples[i];
        if (n == BATCH_COUPLES) aoi_judge_couples(b->w, b->level, kept, n), n = 0;
    }
    if (n) aoi_judge_couples(b->w, b->level, kept, n);
}

static bool batch_carries(const batch *b, uint32_t entity) {
    const aoi_world *w = b->w;
    uint32_t n = w->entities[entity].nodes;
    while (n != AOI_NONE && (w->nodes[n].level != b->level || !aoi_is_bounded(w->nodes + n))) n = w->nodes[n].next;
    return n != AOI_NONE;
}

/* Entities around a far traveller, or around the owner of a rare node. */
static void batch_visit(void *ud, const uint32_t *refs, size_t count) {
    const batch *b = ud;
    aoi_couple kept[BATCH_COUPLES];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (refs[i] == b->entity || batch_is_far(b, refs[i])) continue;
        if (b->carries && refs[i] < b->entity && batch_carries(b, refs[i])) continue;
        kept[n++] = (aoi_couple){b->entity, refs[i]};
        if (n == BATCH_COUPLES) aoi_judge_couples(b->w, b->level, kept, n), n = 0;
    }
    if (n) aoi_judge_couples(b->w, b->level, kept, n);
}

/* Borders as seen from where things are now, if they have come nearer or gone farther by no more than `way` on an
 * axis. */
static aoi_borders batch_widened(const aoi_borders *b, double way) {
    aoi_borders r = *b;
    if (r.round) way *= 1.4143;
    for (int a = 0; a < 2; a++) {
        r.enter_min[a] = fmax(r.enter_min[a] - way, 0);
        r.enter_max[a] += way;
        r.leave_min[a] -= way;
        r.leave_max[a] += way;
    }
    r.gap = r.gap && r.enter_max[0] < r.leave_min[0] && (r.round || r.enter_max[1] < r.leave_min[1]);
    return r;
}

static void batch_query(batch *b, uint32_t entity, const double *from, const aoi_borders *borders, bool solid) {
    const aoi_world *w = b->w;
    const double *to = w->entities[entity].pos;
    aoi_visitor v = {batch_visit, b, (uintptr_t)w->entities, (uintptr_t)w->entities};
    b->entity = entity;
    b->g->head.steps += aoi_ring_query(&b->g->nine.points, from, to, borders, solid, AOI_NONE, &v);
}

/* The first node of an entity in the layer asks for all of them. */
static void batch_join_rare(batch *b, const aoi_nine_layer *y) {
    const aoi_world *w = b->w;
    aoi_borders widened = batch_widened(&y->borders, 2 * b->farthest + y->cells.side * 0x1p-20);
    b->carries = true;
    for (uint32_t i = 0; i < y->cells.top; i++) {
        if (!aoi_cell_exists(y->cells.cells + i)) continue;
        for (uint32_t k = y->cells.cells[i].head[AOI_MIDDLE]; k != AOI_NONE; k = y->cells.buckets[k].next)
            for (uint32_t lane = 0; lane < y->cells.buckets[k].count; lane++) {
                uint32_t node = y->cells.buckets[k].ref[lane], owner = w->nodes[node].owner,
                         n = w->entities[owner].nodes;
                while (w->nodes[n].level != b->level || !aoi_is_bounded(w->nodes + n)) n = w->nodes[n].next;
                if (n == node && !batch_is_far(b, owner))
                    batch_query(b, owner, w->entities[owner].pos, &widened, false);
            }
    }
}

/* Far travellers with the others, which are at most `farthest` from where they were, and with each other. */
static void batch_join_far(batch *b, const aoi_nine_layer *y) {
    const aoi_world *w = b->w;
    aoi_borders widened = batch_widened(&y->borders, b->farthest + y->cells.side * 0x1p-20);
    double reach = fmax(y->borders.leave_max[0], y->borders.leave_max[1]) * (1 + 0x1p-20);
    b->carries = false;
    for (uint32_t i = 0; i < b->far_count; i++) {
        uint32_t e = b->far[i];
        const double *was = aoi_position_before(w, e), *is = w->entities[e].pos;
        batch_query(b, e, was, &widened, true);
        for (uint32_t k = 0; k < i; k++) {
            const double *at = w->entities[b->far[k]].pos;
            double slack = 0x1p-40 * (aoi_magnitude(is) + aoi_magnitude(was) + aoi_magnitude(at));
            if (batch_distance(was, aoi_position_before(w, b->far[k])) <= reach + slack ||
                batch_distance(is, at) <= reach + slack)
                aoi_judge_couples(b->w, b->level, &(aoi_couple){e, b->far[k]}, 1);
        }
    }
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

bool aoi_grid_join(aoi_grid *g) {
    batch b = {.g = g, .w = g->head.world};
    bool good = batch_find_far(&b) && aoi_join_rows_fill(&b.w->memory, b.w, &g->nine.points, &b.rows);
    for (b.level = 0; good && b.level < g->nine.layer_count; b.level++) {
        const aoi_nine_layer *y = g->nine.layers + b.level;
        if (!y->count) continue;
        if (y->crowd) g->head.steps += aoi_self_join(&g->nine.points, &b.rows, &y->borders, batch_meet, &b);
        else batch_join_rare(&b, y);
        if (b.far_count) batch_join_far(&b, y);
    }
    aoi_join_rows_free(&b.w->memory, &b.rows);
    AOI_FREE(&b.w->memory, b.far, b.far_cap);
    AOI_FREE(&b.w->memory, b.far_bits, b.bits_cap);
    return good;
}
