/* larges.c - the few entities with an extent, and the pairs with such targets; see looks.h.
 *
 * A pair exists if the box of the node, grown by the extent, holds the target.  The targets of a watcher are found by a
 * scan of all large ones.  The watchers of a target are the nodes that the grid finds around it with all borders grown
 * by the extent. */
#include "core/space.h"

enum { SLACK_SHARE = 8 }; /* the slack of a batch is at most an eighth of a cell's side */

/* ---- records and places ------------------------------------------------------------------------------------------ */

static const aoi_large_places no_places = {.room = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};

bool aoi_larges_ready(aoi_space *s, uint32_t entity) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->records.memory;
    return AOI_GROW_FILLED(m, l->of, l->of_cap, entity + (size_t)1, &(uint32_t){AOI_NONE}) &&
           AOI_GROW(m, l->records, l->record_cap, l->count + (size_t)1) &&
           AOI_GROW_FILLED(m, l->places, l->place_cap, l->count / 4 + (size_t)1, &no_places);
}

/* The extent and an upper bound of the rounding of a place to floats. */
static float room_of(double extent, const double *at) {
    const double far = fmax(fabs(at[0]), fabs(at[1]));
    return (float)((extent + far * 0x1p-23) * (1 + 0x1p-20)) + 1e-30f;
}

/* slack: how far it has moved in a batch; then both ends of its way are in its room. */
static void set_large_place(aoi_larges *l, uint32_t record, const double *at, double slack) {
    aoi_large_places *p = l->places + record / 4;
    p->x[record % 4] = (float)at[0];
    p->y[record % 4] = (float)at[1];
    p->room[record % 4] = room_of(fmax(l->records[record].extent, 0) + slack, at);
}

void aoi_large_moves(aoi_space *s, uint32_t entity, const double *to) {
    if (aoi_is_large(s, entity)) set_large_place(&s->larges, s->larges.of[entity], to, 0);
}

static void places_ready(aoi_space *s) {
    aoi_larges *l = &s->larges;
    for (uint32_t k = 0; k < l->count && l->moved; k++)
        set_large_place(l, k, s->records.entities[l->records[k].entity].pos, 0);
    l->moved = false;
}

void aoi_larges_set(aoi_space *s, uint32_t entity, const aoi_looks *looks) {
    aoi_larges *l = &s->larges;
    if (looks->extent == 0) {
        if (aoi_is_large(s, entity)) aoi_larges_remove(s, entity);
        return;
    }
    if (!aoi_is_large(s, entity)) l->of[entity] = l->count++;
    l->records[l->of[entity]] = (aoi_large){looks->extent, looks->kind, entity};
    l->moved = true;
}

void aoi_larges_remove(aoi_space *s, uint32_t entity) {
    aoi_larges *l = &s->larges;
    const uint32_t record = l->of[entity], last = --l->count;
    l->records[record] = l->records[last];
    l->places[last / 4].room[last % 4] = -INFINITY;
    l->moved = true;
    l->of[l->records[record].entity] = record;
    l->of[entity] = AOI_NONE;
    if (!l->count) aoi_larges_free(s);
}

void aoi_larges_free(aoi_space *s) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->records.memory;
    AOI_FREE(m, l->of, l->of_cap);
    AOI_FREE(m, l->records, l->record_cap);
    AOI_FREE(m, l->places, l->place_cap);
    *l = (aoi_larges){0};
}

/* ---- the large ones near a box ----------------------------------------------------------------------------------- */

typedef struct large_span { /* a box by its centre and its half-extents, with room for their rounding to floats */
    float at[2], half[2];
} large_span;

static inline large_span span_of(const double *lo, const double *hi, const double *reach) {
    large_span b;
    for (int a = 0; a < 2; a++) {
        const double at = (lo[a] + hi[a]) / 2, half = fabs(hi[a] - lo[a]) / 2 + reach[a];
        b.at[a] = (float)at;
        b.half[a] = (float)((half + fabs(at) * 0x1p-23) * (1 + 0x1p-20)) + 1e-30f;
    }
    return b;
}

/* Bit i: the square of the ith of four meets the box. */
static inline unsigned meeting(const large_span *b, const aoi_large_places *p) {
    const aoi_f32x4 room = aoi_f32_load(p->room);
    const aoi_f32x4 dx = aoi_f32_size(aoi_f32_sub(aoi_f32_load(p->x), aoi_f32_all(b->at[0])));
    const aoi_f32x4 dy = aoi_f32_size(aoi_f32_sub(aoi_f32_load(p->y), aoi_f32_all(b->at[1])));
    return aoi_i32_bits(aoi_i32_and(aoi_f32_atmost(dx, aoi_f32_add(room, aoi_f32_all(b->half[0]))),
                                    aoi_f32_atmost(dy, aoi_f32_add(room, aoi_f32_all(b->half[1])))));
}

void aoi_add_large_targets(aoi_space *s, const double *lo, const double *hi) {
    aoi_records *r = &s->records;
    const aoi_larges *l = &s->larges;
    const large_span b = span_of(lo, hi, (double[2]){0, 0});
    uint32_t others = 0;
    for (uint32_t i = 0; i < r->hit_count; i++)
        if (!aoi_is_large(s, r->hits[i])) r->hits[others++] = r->hits[i];
    r->hit_count = others;
    places_ready(s);
    for (uint32_t k = 0; k < l->count; k += 4)
        for (unsigned bits = meeting(&b, l->places + k / 4); bits; bits &= bits - 1)
            aoi_add_hit(r, l->records[k + (uint32_t)aoi_lanes_first(bits)].entity);
    r->steps += l->count / 4;
}

/* ---- candidates of moves ----------------------------------------------------------------------------------------- */

static void add_large_pair(aoi_space *s, uint32_t node, uint32_t target) {
    if (s->records.nodes[node].owner != target) aoi_add_candidate(&s->records, node, target);
}

/* The targets around the way of a node, or around both ends of a long one. */
static void add_pairs_of_node(aoi_space *s, uint32_t node, const double *from, const double *to) {
    const aoi_larges *l = &s->larges;
    const double *reach = s->records.nodes[node].reach;
    const bool far = fabs(to[0] - from[0]) > reach[0] || fabs(to[1] - from[1]) > reach[1];
    const large_span is = span_of(far ? to : from, to, reach), was = far ? span_of(from, from, reach) : is;
    for (uint32_t k = 0; k < l->count; k += 4) {
        unsigned bits = meeting(&is, l->places + k / 4);
        if (far) bits |= meeting(&was, l->places + k / 4);
        for (; bits; bits &= bits - 1) add_large_pair(s, node, l->records[k + (uint32_t)aoi_lanes_first(bits)].entity);
    }
    s->records.steps += l->count / 4;
}

/* The Chebyshev distance of its move in the batch, heights included, because the grid is queried with all axes; 0 if it
 * is no mover. */
static double step_of(const aoi_space *s, uint32_t entity) {
    return aoi_chebyshev(s->records.dims, aoi_position_before(&s->records, entity), s->records.entities[entity].pos);
}

/* Sets the hits to the nodes that the move of an entity may concern, if they have moved no farther than the slack. */
static void find_around_move(aoi_space *s, uint32_t entity, const double *from, const double *to, double slack) {
    bool solid = s->records.dims == 3 && (slack > 0 || from[2] != to[2]);
    aoi_grid_target t = {from, to, aoi_extent_of(s, entity), slack, solid};
    s->records.hit_count = 0;
    aoi_grid_watchers(&s->index.grid, &t, false);
}

void aoi_add_large_candidates(aoi_space *s, uint32_t entity, const double *from, const double *to) {
    const aoi_records *r = &s->records;
    places_ready(s);
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (aoi_is_bounded(r->nodes + n)) add_pairs_of_node(s, n, from, to);
    if (!aoi_is_large(s, entity)) return;
    find_around_move(s, entity, from, to, 0);
    for (uint32_t i = 0; i < r->hit_count; i++) add_large_pair(s, r->hits[i], entity);
}

/* Called with all movers in place.  Each large entity finds the nodes around it that moved within the slack; nodes that
 * moved farther find their targets themselves. */
void aoi_add_large_changes(aoi_space *s) {
    aoi_records *r = &s->records;
    aoi_larges *l = &s->larges;
    double slack = fmin(s->index.grid.points.side / SLACK_SHARE, s->moves.farthest);
    for (uint32_t k = 0; k < l->count && s->moves.farthest > slack; k++) {
        const uint32_t e = l->records[k].entity;
        set_large_place(l, k, r->entities[e].pos, step_of(s, e));
    }
    l->moved = true;
    for (uint32_t i = 0; i < r->mover_count && s->moves.farthest > slack; i++) {
        uint32_t e = r->movers[i];
        if (!(step_of(s, e) > slack)) continue;
        for (uint32_t n = r->entities[e].nodes; n != AOI_NONE; n = r->nodes[n].next)
            if (aoi_is_bounded(r->nodes + n)) add_pairs_of_node(s, n, aoi_mover_end(r, i), r->entities[e].pos);
    }
    for (uint32_t k = 0; k < l->count; k++) {
        uint32_t target = l->records[k].entity;
        bool stands = r->entities[target].mover == AOI_NONE;
        find_around_move(s, target, aoi_position_before(r, target), r->entities[target].pos, slack);
        for (uint32_t i = 0; i < r->hit_count; i++) {
            const aoi_node_record *n = r->nodes + r->hits[i];
            uint32_t owner = n->owner;
            bool changes = !stands || r->entities[owner].mover != AOI_NONE || (n->flags & AOI_NODE_TURNED);
            if (changes && !(step_of(s, owner) > slack)) add_large_pair(s, r->hits[i], target);
        }
    }
}
