/* batch_join.c - the join of a batch: crowds by the self-join, rare nodes and far travellers one by one
 * (self_join.h). */
#include "engines/shared/self_join.h"

/* ---- what can be joined ------------------------------------------------------------------------------------------ */

/* The largest reach of a crowd; below 0 if there is none. */
static double batch_reach(const aoi_nine_grid *g, const aoi_join_field *fields, int count) {
    double reach = -1;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const aoi_nine_layer *y = g->layers + i;
        if (y->count && y->crowd) reach = fmax(reach, aoi_magnitude(y->borders.leave_max));
    }
    for (int i = 0; i < count; i++)
        if (fields[i].count) reach = fmax(reach, aoi_magnitude(fields[i].borders.leave_max));
    return reach;
}

/* How far an entity may go on an axis to take part in the self-join: that widens the neighbourhoods of all. */
static double batch_limit(const aoi_nine_grid *g, double reach) {
    double most = fmax(0.25 * reach, 0.0625 * g->points.side), farthest = g->engine->world->farthest;
    return farthest < most ? farthest : most;
}

/* Far travellers are compared with each other one by one: the cost stays below that of the others. */
bool aoi_nine_supports_join(const aoi_nine_grid *g, const aoi_join_field *fields, int count) {
    const aoi_world *w = g->engine->world;
    double reach = batch_reach(g, fields, count), limit = batch_limit(g, reach), far = 0;
    if (reach < 0 || !(reach < 0x1p500) || !(reach + limit > 0x1p-500)) return false;
    if (w->farthest <= limit) return true;
    for (uint32_t i = 0; i < w->mover_count; i++)
        far += aoi_apart(w->entities[w->movers[i]].pos, aoi_way_of(w, i)) > limit;
    return far * far <= 4.0 * w->mover_count;
}

enum { BATCH_COUPLES = 128 }; /* judged together */

/* ---- the rest, one by one ---------------------------------------------------------------------------------------- */

typedef struct batch {
    aoi_nine_grid *g;
    aoi_world *w;
    aoi_join_rows rows;
    uint64_t *far_bits; /* of entities that go too far for the self-join */
    uint32_t bits_cap, level, entity;
    bool carries; /* the entity has a node of the level: then couples that both ends find are passed on once */
    double limit;
} batch;

static bool batch_is_far(const batch *b, uint32_t entity) {
    return b->rows.far_count && (b->far_bits[entity / 64] >> entity % 64 & 1);
}

static bool batch_mark_far(batch *b) {
    uint32_t words = b->w->entity_top / 64 + 1;
    if (!b->rows.far_count) return true;
    if (!AOI_GROW(&b->w->memory, b->far_bits, b->bits_cap, words)) return false;
    for (uint32_t i = 0; i < words; i++) b->far_bits[i] = 0;
    for (uint32_t i = 0; i < b->rows.far_count; i++)
        b->far_bits[b->rows.far[i] / 64] |= UINT64_C(1) << b->rows.far[i] % 64;
    return true;
}

static void batch_meet(void *ud, const aoi_couple *couples, size_t count) {
    const batch *b = ud;
    aoi_judge_couples(b->w, b->level, couples, count);
}

/* The entity's first node of the level, or AOI_NONE. */
static uint32_t batch_first_node(const batch *b, uint32_t entity) {
    return aoi_next_in_level(b->w, b->w->entities[entity].nodes, b->level);
}

/* Entities around a far traveller, or around the owner of a rare node. */
static void batch_visit(void *ud, const uint32_t *refs, size_t count) {
    const batch *b = ud;
    aoi_couple kept[BATCH_COUPLES];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (refs[i] == b->entity || batch_is_far(b, refs[i])) continue;
        if (b->carries && refs[i] < b->entity && batch_first_node(b, refs[i]) != AOI_NONE) continue;
        kept[n++] = (aoi_couple){b->entity, refs[i], AOI_UNTOLD};
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
    b->g->engine->steps += aoi_ring_query(&b->g->points, from, to, borders, solid, AOI_NONE, &v);
}

/* The first node of an entity in the layer asks for all of them. */
static void batch_join_rare(batch *b, const aoi_nine_layer *y) {
    const aoi_world *w = b->w;
    aoi_borders widened = batch_widened(&y->borders, 2 * b->limit + y->cells.side * 0x1p-20);
    b->carries = true;
    for (uint32_t i = 0; i < y->cells.top; i++) {
        if (!aoi_cell_exists(y->cells.cells + i)) continue;
        for (uint32_t k = y->cells.cells[i].head[AOI_MIDDLE]; k != AOI_NONE; k = y->cells.buckets[k].next)
            for (uint32_t lane = 0; lane < y->cells.buckets[k].count; lane++) {
                uint32_t node = y->cells.buckets[k].ref[lane], owner = w->nodes[node].owner;
                if (batch_first_node(b, owner) == node && !batch_is_far(b, owner))
                    batch_query(b, owner, w->entities[owner].pos, &widened, false);
            }
    }
}

/* Far travellers with the others, which are at most `limit` from where they were, and with each other. */
static void batch_join_far(batch *b, const aoi_borders *borders) {
    const aoi_world *w = b->w;
    aoi_borders widened = batch_widened(borders, b->limit + b->g->points.side * 0x1p-20);
    double reach = aoi_magnitude(borders->leave_max) * (1 + 0x1p-20);
    b->carries = false;
    for (uint32_t i = 0; i < b->rows.far_count; i++) {
        uint32_t e = b->rows.far[i];
        const double *was = aoi_position_before(w, e), *is = w->entities[e].pos;
        batch_query(b, e, was, &widened, true);
        for (uint32_t k = 0; k < i; k++) {
            const double *at = w->entities[b->rows.far[k]].pos;
            double slack = 0x1p-40 * (aoi_magnitude(is) + aoi_magnitude(was) + aoi_magnitude(at));
            if (aoi_apart(was, aoi_position_before(w, b->rows.far[k])) <= reach + slack ||
                aoi_apart(is, at) <= reach + slack)
                aoi_judge_couples(b->w, b->level, &(aoi_couple){e, b->rows.far[k], AOI_UNTOLD}, 1);
        }
    }
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

static void batch_join_crowd(batch *b, uint32_t level, const aoi_borders *borders) {
    b->level = level;
    b->g->engine->steps += aoi_self_join(&b->rows, borders, batch_meet, b);
    if (b->rows.far_count) batch_join_far(b, borders);
}

bool aoi_nine_join(aoi_nine_grid *g, const aoi_join_field *fields, int count) {
    batch b = {.g = g, .w = g->engine->world};
    double reach = batch_reach(g, fields, count);
    b.limit = batch_limit(g, reach);
    bool good = aoi_join_rows_fill(b.w, (reach + 2 * b.limit) * 1.001, b.limit, &b.rows) && batch_mark_far(&b);
    for (int i = 0; good && i < count; i++)
        if (fields[i].count) batch_join_crowd(&b, fields[i].level, &fields[i].borders);
    for (uint32_t i = 0; good && i < g->layer_count; i++) {
        const aoi_nine_layer *y = g->layers + i;
        if (!y->count) continue;
        if (y->crowd) {
            batch_join_crowd(&b, i, &y->borders);
            continue;
        }
        b.level = i;
        batch_join_rare(&b, y);
        if (b.rows.far_count) batch_join_far(&b, &y->borders);
    }
    aoi_join_rows_free(&b.w->memory, &b.rows);
    AOI_FREE(&b.w->memory, b.far_bits, b.bits_cap);
    return good;
}
