/* larges.c - the few entities with an extent, and the pairs with such targets; see looks.h.
 *
 * A pair exists if the box of the node, grown by the extent, holds the target.  The targets of a watcher are a run of
 * each level.  The watchers of a target are the nodes that the grid finds around it with all borders grown by the
 * extent. */
#include "core/space.h"

enum { SLACK_SHARE = 8 }; /* the slack of a batch is at most an eighth of a cell's side */

/* ---- records and places ------------------------------------------------------------------------------------------ */

/* The extent and an upper bound of the rounding error of a sum of the two numbers. */
static double room_of(double extent, double at) {
    double room = extent * (1 + 0x1p-20) + ((fabs(extent) + fabs(at)) * 0x1p-48 + 1e-150);
    return room < 1e100 ? room : INFINITY; /* its square may overflow, and then everything is inside */
}

static int exponent_of(double extent) {
    int exponent;
    (void)frexp(extent, &exponent);
    return exponent;
}

static aoi_large_level *level_of(aoi_larges *l, int exponent) {
    for (uint32_t i = 0; i < l->level_count; i++)
        if (l->levels[i].exponent == exponent) return l->levels + i;
    return NULL;
}

bool aoi_larges_ready(aoi_space *s, uint32_t entity, double extent) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->world.memory;
    if (!AOI_GROW_FILLED(m, l->of, l->of_cap, entity + (size_t)1, &(uint32_t){AOI_NONE}) ||
        !AOI_GROW(m, l->records, l->record_cap, l->count + (size_t)1))
        return false;
    aoi_large_level *level = level_of(l, exponent_of(extent));
    if (!level) {
        if (!AOI_GROW(m, l->levels, l->level_cap, l->level_count + (size_t)1)) return false;
        level = l->levels + l->level_count;
        *level = (aoi_large_level){.exponent = exponent_of(extent)};
        l->level_count++;
    }
    return AOI_GROW(m, level->places, level->cap, 2 * (level->count + (size_t)1)); /* two for each in a batch */
}

static void take_large_place(aoi_space *s, uint32_t record) {
    aoi_larges *l = &s->larges;
    aoi_large_level *level = level_of(l, exponent_of(l->records[record].extent));
    uint32_t i = 0;
    while (level->places[i].entity != l->records[record].entity) i++;
    memmove(level->places + i, level->places + i + 1, (--level->count - i) * sizeof *level->places);
}

static void put_large_place(aoi_space *s, uint32_t record) {
    aoi_larges *l = &s->larges;
    const aoi_large *r = l->records + record;
    aoi_large_level *level = level_of(l, exponent_of(r->extent));
    level->places[level->count++] = (aoi_large_place){.entity = r->entity};
    l->moved = true;
}

void aoi_larges_set(aoi_space *s, uint32_t entity, const aoi_looks *looks) {
    aoi_larges *l = &s->larges;
    if (!(looks->extent > 0)) {
        if (aoi_is_large(s, entity)) aoi_larges_remove(s, entity);
        return;
    }
    uint32_t record = l->of[entity];
    if (record == AOI_NONE) record = l->of[entity] = l->count++;
    else take_large_place(s, record);
    l->records[record] = (aoi_large){looks->extent, looks->kind, entity};
    put_large_place(s, record);
}

void aoi_larges_remove(aoi_space *s, uint32_t entity) {
    aoi_larges *l = &s->larges;
    uint32_t record = l->of[entity], last = l->count - 1;
    take_large_place(s, record);
    l->records[record] = l->records[last];
    l->of[l->records[record].entity] = record;
    l->of[entity] = AOI_NONE;
    if (!--l->count) aoi_larges_free(s);
}

void aoi_larges_free(aoi_space *s) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->world.memory;
    for (uint32_t i = 0; i < l->level_count; i++) AOI_FREE(m, l->levels[i].places, l->levels[i].cap);
    AOI_FREE(m, l->of, l->of_cap);
    AOI_FREE(m, l->records, l->record_cap);
    AOI_FREE(m, l->levels, l->level_cap);
    *l = (aoi_larges){.stale = AOI_NONE};
}

/* The first place with no less than x.  The side is not predictable, so no branch depends on it. */
static const aoi_large_place *first_place(const aoi_large_level *level, double x) {
    const aoi_large_place *from = level->places;
    uint32_t n = level->count;
    for (; n > 1; n -= n / 2) from += (n / 2) & (0u - (from[n / 2 - 1].x < x));
    return from + (n == 1 && from->x < x);
}

/* The Chebyshev distance of its move in the batch, heights included, because the grid is queried with all axes; 0 if it
 * is no mover. */
static double step_of(const aoi_space *s, uint32_t entity) {
    return aoi_chebyshev(s->world.dims, aoi_position_before(&s->world, entity), s->world.entities[entity].pos);
}

static aoi_large_place large_place_of(const aoi_space *s, uint32_t entity, const double *at, double slack) {
    double far = fmax(fabs(at[0]), fabs(at[1]));
    return (aoi_large_place){at[0], at[1], room_of(aoi_extent_of(s, entity) + slack, far), entity, false};
}

/* Inserts a place at `at` and moves it to its position by x. */
static void put_in_order(aoi_large_level *level, uint32_t at, aoi_large_place p) {
    for (; at > 0 && level->places[at - 1].x > p.x; at--) level->places[at] = level->places[at - 1];
    for (; at + 1 < level->count && level->places[at + 1].x < p.x; at++) level->places[at] = level->places[at + 1];
    level->places[at] = p;
    level->room = fmax(level->room, p.room);
}

/* Sorts all places by insertion, as most have moved little.  In a batch, with all movers in place, the slack in the
 * room of each covers its position before; those that move farther have a second place there. */
static void sort_places(aoi_space *s, double slack) {
    aoi_larges *l = &s->larges;
    for (uint32_t k = 0; k < l->level_count; k++) {
        aoi_large_level *level = l->levels + k;
        uint32_t all = level->count;
        level->count = 0;
        level->room = 0;
        for (uint32_t i = 0; i < all; i++) {
            uint32_t e = level->places[i].entity;
            if (!level->places[i].before)
                put_in_order(level, level->count++, large_place_of(s, e, s->world.entities[e].pos, slack));
        }
    }
    for (uint32_t i = 0; i < l->count && slack > 0; i++) {
        uint32_t e = l->records[i].entity;
        aoi_large_level *level = level_of(l, exponent_of(l->records[i].extent));
        aoi_large_place was = large_place_of(s, e, aoi_position_before(&s->world, e), 0);
        was.before = true;
        if (step_of(s, e) > slack) put_in_order(level, level->count++, was);
    }
    l->moved = false;
    l->stale = AOI_NONE;
}

/* Updates the place of the entity that moved last. */
static void renew_place(aoi_space *s) {
    aoi_larges *l = &s->larges;
    uint32_t e = l->stale;
    l->stale = AOI_NONE;
    if (e == AOI_NONE || l->moved || !aoi_is_large(s, e)) return;
    aoi_large_level *level = level_of(l, exponent_of(aoi_extent_of(s, e)));
    uint32_t at = (uint32_t)(first_place(level, l->stale_x) - level->places);
    while (at < level->count && level->places[at].entity != e) at++;
    if (at < level->count) put_in_order(level, at, large_place_of(s, e, s->world.entities[e].pos, 0));
}

void aoi_large_moves(aoi_space *s, uint32_t entity) {
    if (!aoi_is_large(s, entity)) return;
    renew_place(s);
    s->larges.stale = entity;
    s->larges.stale_x = s->world.entities[entity].pos[0];
}

/* ---- the large ones near a box ----------------------------------------------------------------------------------- */

typedef struct large_span { /* a box by its centre and its half-extents, with room for their rounding */
    double at[2], half[2];
} large_span;

static inline large_span span_of(const double *lo, const double *hi, const double *reach) {
    large_span b;
    for (int a = 0; a < 2; a++) {
        b.at[a] = lo[a] / 2 + hi[a] / 2;
        b.half[a] = fabs(hi[a] / 2 - lo[a] / 2) + reach[a];
        b.half[a] += (fabs(b.at[a]) + b.half[a]) * 0x1p-47 + 1e-150;
    }
    return b;
}

/* True also if both sides are infinite. */
static inline bool meets(const large_span *b, const aoi_large_place *p) {
    return !((fabs(p->x - b->at[0]) - b->half[0] > p->room) | (fabs(p->y - b->at[1]) - b->half[1] > p->room));
}

/* Whether another question, or its other place of the batch, finds the same entity. */
static bool is_second(const aoi_space *s, const large_span *b, const large_span *but, const aoi_large_place *p) {
    if (but && meets(but, p)) return true;
    if (!(s->larges.slack > 0) || !(step_of(s, p->entity) > s->larges.slack)) return false;
    const double *was = aoi_position_before(&s->world, p->entity), *is = s->world.entities[p->entity].pos;
    aoi_large_place other = large_place_of(s, p->entity, p->before ? is : was, p->before ? s->larges.slack : 0);
    return (p->before && meets(b, &other)) || (but && meets(but, &other));
}

/* Calls f for each large entity that meets `b` and not `but`, which may be NULL. */
AOI_INLINE void each_near(aoi_space *s, const large_span *b, const large_span *but, uint32_t node,
                          void (*f)(aoi_space *, uint32_t, uint32_t)) {
    for (uint32_t k = 0; k < s->larges.level_count; k++) {
        const aoi_large_level *level = s->larges.levels + k;
        if (!level->count) continue; /* it may have no places */
        double room = b->half[0] + level->room;
        const aoi_large_place *end = level->places + level->count;
        for (const aoi_large_place *p = first_place(level, b->at[0] - room); p < end && p->x <= b->at[0] + room; p++)
            if (meets(b, p) && (!(but || p->before) || !is_second(s, b, but, p))) f(s, node, p->entity);
    }
    s->world.steps++;
}

static void places_ready(aoi_space *s) {
    if (s->larges.moved) sort_places(s, 0);
    else if (s->larges.stale != AOI_NONE) renew_place(s);
}

static void add_target(aoi_space *s, uint32_t node, uint32_t entity) {
    (void)node;
    aoi_add_hit(&s->world, entity);
}

void aoi_add_large_targets(aoi_space *s, const double *lo, const double *hi) {
    aoi_world *w = &s->world;
    large_span b = span_of(lo, hi, (double[2]){0, 0});
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->hit_count; i++)
        if (!aoi_is_large(s, w->hits[i])) w->hits[others++] = w->hits[i];
    w->hit_count = others;
    places_ready(s);
    each_near(s, &b, NULL, AOI_NONE, add_target);
}

/* ---- candidates of moves ----------------------------------------------------------------------------------------- */

static void add_large_pair(aoi_space *s, uint32_t node, uint32_t target) {
    if (s->world.nodes[node].owner != target) aoi_add_candidate(&s->world, node, target);
}

static void add_pairs_of_node(aoi_space *s, uint32_t node, const double *from, const double *to) {
    const aoi_node_record *n = s->world.nodes + node;
    bool far = fabs(to[0] - from[0]) > n->reach[0] || fabs(to[1] - from[1]) > n->reach[1];
    large_span b = span_of(far ? to : from, to, n->reach);
    each_near(s, &b, NULL, node, add_large_pair);
    if (!far) return;
    large_span was = span_of(from, from, n->reach);
    each_near(s, &was, &b, node, add_large_pair);
}

/* Sets the hits to the nodes that the move of an entity may concern, if they have moved no farther than the slack. */
static void find_around_move(aoi_space *s, uint32_t entity, const double *from, const double *to, double slack) {
    bool solid = s->world.dims == 3 && (slack > 0 || from[2] != to[2]);
    aoi_grid_target t = {from, to, aoi_extent_of(s, entity), slack, solid};
    s->world.hit_count = 0;
    aoi_grid_watchers(&s->index.grid, &t, false);
}

void aoi_add_large_candidates(aoi_space *s, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = &s->world;
    places_ready(s);
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (aoi_is_bounded(w->nodes + n)) add_pairs_of_node(s, n, from, to);
    if (!aoi_is_large(s, entity)) return;
    find_around_move(s, entity, from, to, 0);
    for (uint32_t i = 0; i < w->hit_count; i++) add_large_pair(s, w->hits[i], entity);
}

/* Called with all movers in place.  Each large entity finds the nodes around it that moved within the slack; nodes that
 * moved farther find their targets themselves. */
void aoi_add_large_changes(aoi_space *s) {
    aoi_world *w = &s->world;
    aoi_larges *l = &s->larges;
    double slack = fmin(s->index.grid.points.side / SLACK_SHARE, s->moves.farthest);
    bool sorted = false;
    for (uint32_t i = 0; i < w->mover_count && s->moves.farthest > slack; i++) {
        uint32_t e = w->movers[i];
        if (!(step_of(s, e) > slack)) continue;
        if (!sorted) sort_places(s, l->slack = slack);
        sorted = true;
        for (uint32_t n = w->entities[e].nodes; n != AOI_NONE; n = w->nodes[n].next)
            if (aoi_is_bounded(w->nodes + n)) add_pairs_of_node(s, n, aoi_mover_end(w, i), w->entities[e].pos);
    }
    for (uint32_t k = 0; k < l->count; k++) {
        uint32_t target = l->records[k].entity;
        bool stands = w->entities[target].mover == AOI_NONE;
        find_around_move(s, target, aoi_position_before(w, target), w->entities[target].pos, slack);
        for (uint32_t i = 0; i < w->hit_count; i++) {
            const aoi_node_record *n = w->nodes + w->hits[i];
            uint32_t owner = n->owner;
            bool changes = !stands || w->entities[owner].mover != AOI_NONE || (n->flags & AOI_NODE_TURNED);
            if (changes && !(step_of(s, owner) > slack)) add_large_pair(s, w->hits[i], target);
        }
    }
    l->slack = 0;
    if (sorted) sort_places(s, 0); /* without second places */
    l->moved = !sorted;
}

/* ---- the invariants ---------------------------------------------------------------------------------------------- */

const char *aoi_check_looks(aoi_space *s) {
    const aoi_larges *l = &s->larges;
    uint32_t places = 0;
    if (l->count) places_ready(s);
    for (uint32_t i = 0; i < l->count; i++) {
        const aoi_large *r = l->records + i;
        if (r->entity >= l->of_cap || l->of[r->entity] != i || !aoi_is_live(s->world.entities[r->entity].generation))
            return "an extent is of an entity that is gone";
        if (s->world.entities[r->entity].kind != 0) return "a large entity has a kind for the index";
    }
    for (uint32_t k = 0; k < l->level_count; k++) {
        const aoi_large_level *level = l->levels + k;
        for (uint32_t i = 0; i < level->count; i++, places++) {
            const double *pos = s->world.entities[level->places[i].entity].pos;
            if (level->places[i].x != pos[0] || level->places[i].y != pos[1]) return "a large entity stands elsewhere";
            if (i && level->places[i - 1].x > level->places[i].x) return "large entities are not sorted";
        }
    }
    return places == l->count ? NULL : "large entities are counted wrongly";
}
