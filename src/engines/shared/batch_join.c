/* batch_join.c - the join of a batch, whatever the index: crowds by the self-join, rare nodes and far travellers one by
 * one (self_join.h). */
#include "engines/shared/self_join.h"

/* ---- what can be joined ------------------------------------------------------------------------------------------ */

/* The largest reach of a crowd; below 0 if there is none. */
static double batch_reach(const aoi_join_source *s) {
    double reach = -1;
    for (uint32_t i = 0; i < s->count; i++) {
        aoi_join_field f = s->field(s->ud, i);
        if (f.count && f.crowd) reach = fmax(reach, aoi_magnitude(f.borders.leave_max));
    }
    return reach;
}

/* How far an entity may go on an axis to take part in the self-join: that widens the neighbourhoods of all. */
static double batch_limit(const aoi_join_source *s, double reach) {
    double most = fmax(0.25 * reach, 0.0625 * s->side), farthest = s->engine->world->travels.farthest;
    return farthest < most ? farthest : most;
}

/* Far travellers are compared with each other one by one: the cost stays below that of the others. */
bool aoi_supports_join(const aoi_join_source *s) {
    const aoi_world *w = s->engine->world;
    double reach = batch_reach(s), limit = batch_limit(s, reach), far = 0;
    if (reach < 0 || !(reach < 0x1p500) || !(reach + limit > 0x1p-500)) return false;
    if (w->travels.farthest <= limit) return true;
    for (uint32_t i = 0; i < w->mover_count; i++)
        far += aoi_apart(w->entities[w->movers[i]].pos, aoi_way_of(w, i)) > limit;
    return far * far <= 4.0 * w->mover_count;
}

enum { BATCH_COUPLES = 128 }; /* judged together */

/* ---- the rest, one by one ---------------------------------------------------------------------------------------- */

typedef struct batch {
    const aoi_join_source *source;
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

/* Borders as seen from where things are now, if they have come nearer or gone farther by no more than `way` on an axis;
 * and a little wider, for the rounding of what that is added to. */
static aoi_borders batch_widened(const aoi_borders *b, double way) {
    aoi_borders r = *b;
    way += (way + aoi_magnitude(b->leave_max)) * 0x1p-20;
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
    aoi_visitor v = {batch_visit, b, (uintptr_t)w->entities, (uintptr_t)w->entities};
    b->entity = entity;
    b->source->engine->steps += b->source->query(b->source->ud, from, w->entities[entity].pos, borders, solid, &v);
}

typedef struct batch_rare { /* fields whose nodes are looked for in one pass over all nodes */
    aoi_join_field fields[8];
    uint32_t count;
} batch_rare;

/* The first node of an entity in a level asks for all of them. */
static void batch_join_rare(batch *b, batch_rare *rare) {
    const aoi_world *w = b->w;
    b->carries = true;
    for (uint32_t i = 0; i < rare->count; i++)
        rare->fields[i].borders = batch_widened(&rare->fields[i].borders, 2 * b->limit);
    for (uint32_t n = 0; n < w->node_top && rare->count; n++) {
        const aoi_node_record *r = w->nodes + n;
        uint32_t i = 0;
        while (i < rare->count && rare->fields[i].level != r->level) i++;
        if (i == rare->count || !aoi_is_live(r->generation) || !aoi_is_bounded(r)) continue;
        b->level = r->level;
        if (batch_first_node(b, r->owner) == n && !batch_is_far(b, r->owner))
            batch_query(b, r->owner, w->entities[r->owner].pos, &rare->fields[i].borders, false);
    }
    rare->count = 0;
}

/* Far travellers with the others, which are at most `limit` from where they were, and with each other. */
static void batch_join_far(batch *b, const aoi_join_field *f) {
    const aoi_world *w = b->w;
    aoi_borders widened = batch_widened(&f->borders, b->limit);
    double reach = aoi_magnitude(f->borders.leave_max) * (1 + 0x1p-20);
    b->carries = false;
    b->level = f->level;
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

static void batch_join_crowd(batch *b, const aoi_join_field *f) {
    b->level = f->level;
    b->source->engine->steps += aoi_self_join(&b->rows, &f->borders, batch_meet, b);
}

int aoi_join(const aoi_join_source *s) {
    batch b = {.source = s, .w = s->engine->world};
    double reach = batch_reach(s);
    b.limit = batch_limit(s, reach);
    bool good = aoi_join_rows_fill(b.w, (reach + 2 * b.limit) * 1.001, b.limit, &b.rows) && batch_mark_far(&b);
    batch_rare rare = {.count = 0};
    for (uint32_t i = 0; good && i < s->count; i++) {
        aoi_join_field f = s->field(s->ud, i);
        if (!f.count) continue;
        if (f.crowd) batch_join_crowd(&b, &f);
        else rare.fields[rare.count++] = f;
        if (rare.count == sizeof rare.fields / sizeof *rare.fields) batch_join_rare(&b, &rare);
        if (b.rows.far_count) batch_join_far(&b, &f);
    }
    if (good) batch_join_rare(&b, &rare);
    aoi_join_rows_free(&b.w->memory, &b.rows);
    AOI_FREE(&b.w->memory, b.far_bits, b.bits_cap);
    return good ? AOI_OK : AOI_ENOMEM;
}
