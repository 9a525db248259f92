/* near_many.c - one area around many places: aoi_near_many.
 *
 *   +-------+-------+     Places that share a square, eight times as wide as the area, are a group.  It queries the index
 *   |  . .  |       |     once for the box around the areas of a group, which gives its items.  Answers are then put in the
 *   | .     |     . |     order of the places.  A group of one costs about what aoi_near costs.
 *   +-------+-------+
 *
 *   +--+--+--+--+--+      The items of a group stand in rows of small squares, with a column of 16 bits an axis: 2^14 units
 *   |  |##|##|##|  |      are the longer side of the box.  An area touches a run of items in each of three rows or
 *   |  |##|##|##|  |      so.  Sixteen items are compared at a time: most are surely in or out, the rule decides the
 *   +--+--+--+--+--+      others. */
#include "base/lattice.h"
#include "core/near.h"

typedef struct aoi_question {
    uint32_t group, count;
    size_t start; /* of its answer, among the answers in the order of the groups */
} aoi_question;

typedef struct aoi_question_group {
    int32_t cx, cy;        /* its square */
    uint32_t count, first; /* its places: the first, in the order of the groups */
    double lo[2], hi[2];   /* the box around their areas */
} aoi_question_group;

typedef struct aoi_item { /* an entity that the index has found */
    double pos[3];
    int64_t id;
} aoi_item;

void aoi_near_clear(aoi_memory *m, aoi_near_scratch *n) {
    AOI_CLEAR(m, n->coordinates, n->coordinate_cap);
    AOI_CLEAR(m, n->places, n->place_cap);
    AOI_CLEAR(m, n->groups, n->group_cap);
    AOI_CLEAR(m, n->order, n->order_cap);
    AOI_CLEAR(m, n->items, n->item_cap);
    AOI_CLEAR(m, n->columns, n->column_cap);
    AOI_CLEAR(m, n->item_ids, n->item_id_cap);
    AOI_CLEAR(m, n->found, n->found_cap);
    AOI_CLEAR(m, n->ends, n->end_cap);
    aoi_hash_index_free(m, &n->squares);
}

double *aoi_coordinate_buffer(aoi_space *s, size_t n) {
    aoi_near_scratch *t = &s->near;
    return AOI_GROW(&s->records.memory, t->coordinates, t->coordinate_cap, n * (size_t)s->records.dims) ? t->coordinates
                                                                                                        : NULL;
}

/* The group of a square, made if it is missing; AOI_NONE: memory is refused.  alone: the place gets a group of its own,
 * as on the unbounded outermost squares of the lattice. */
static uint32_t group_of(aoi_space *s, int32_t cx, int32_t cy, bool alone) {
    aoi_near_scratch *t = &s->near;
    uint32_t hash = aoi_cell_hash(cx, cy), seek = AOI_SEEK, i;
    while (!alone && (i = aoi_hash_index_next(&t->squares, hash, &seek)) != AOI_NONE)
        if (t->groups[i].cx == cx && t->groups[i].cy == cy) return i;
    if (!AOI_GROW(&s->records.memory, t->groups, t->group_cap, t->group_count + (size_t)1) ||
        !aoi_hash_index_reserve(&s->records.memory, &t->squares, t->squares.count + (size_t)1))
        return AOI_NONE;
    if (!alone) aoi_hash_index_add(&t->squares, hash, t->group_count);
    t->groups[t->group_count] = (aoi_question_group){cx, cy, 0, 0, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    return t->group_count++;
}

/* Sorts the places by group. */
static bool group_places(aoi_space *s, const double *at, size_t n, const double *reach) {
    aoi_near_scratch *t = &s->near;
    double side = 16 * fmax(reach[0], reach[1]), inverse = 1 / (side > 1e-300 ? side : 1);
    uint32_t first = 0;
    aoi_hash_index_free(&s->records.memory, &t->squares);
    t->group_count = 0;
    for (size_t i = 0; i < n; i++, at += s->records.dims) {
        int32_t cx = aoi_cell_number(at[0], inverse), cy = aoi_cell_number(at[1], inverse);
        bool far = abs(cx) >= AOI_CELL_MOST || abs(cy) >= AOI_CELL_MOST;
        uint32_t group = group_of(s, cx, cy, far && reach[0] <= DBL_MAX);
        if (group == AOI_NONE) return false;
        aoi_question_group *g = t->groups + group;
        t->places[i].group = group;
        g->count++;
        for (int a = 0; a < 2; a++) {
            double low = at[a] - reach[a], high = at[a] + reach[a];
            g->lo[a] = low < g->lo[a] ? low : g->lo[a];
            g->hi[a] = high > g->hi[a] ? high : g->hi[a];
        }
    }
    for (uint32_t i = 0; i < t->group_count; first += t->groups[i++].count) t->groups[i].first = first;
    for (size_t i = 0; i < n; i++) t->order[t->groups[t->places[i].group].first++] = (uint32_t)i;
    return true;
}

/* ---- the items of a group ---------------------------------------------------------------------------------------- */

enum { NEAR_UNITS = 1 << 14, NEAR_SLACK = 2 }; /* units of rounding: places and half-extents are cut off */
enum { NEAR_COLUMNS = 64, NEAR_ROWS = 32, NEAR_ITEMS = 32 }; /* most; groups of fewer items are not cut */
enum { NEAR_LANES = 16, NEAR_AHEAD = 4 };
#define NEAR_SHARE 0.5    /* largest ratio of the box to the sum of the areas */
#define NEAR_EXACT 0x1p46 /* units from the origin within which the rule's sums are rounded by much less than a unit */

typedef struct near_group {
    double lo[2], hi[2], scale; /* its box; units per length, 0: the rule decides all items */
    int squares[2];
    int reach[2], radius, sure; /* in units: half-extents; a circle's; surely in is less than that beyond the box */
    uint32_t count;             /* of items */
    const uint16_t *column[2];  /* of the items as they are sorted */
    const int64_t *ids;
    uint32_t first[NEAR_COLUMNS * NEAR_ROWS + 2]; /* of the items of each square, row by row */
} near_group;

static inline int near_units(const near_group *g, int a, double v) {
    return (int)((v - g->lo[a]) * g->scale);
}

/* The number of the small square on an axis; never falls while the units rise. */
static inline int near_square(const near_group *g, int a, int units) {
    int k = units * g->squares[a] / NEAR_UNITS;
    return k < 0 ? 0 : k < g->squares[a] ? k : g->squares[a] - 1;
}

/* Collects the items in the box behind room for as many; false: memory is refused. */
static bool gather_items(aoi_space *s, near_group *g, uint64_t mask) {
    aoi_records *r = &s->records;
    aoi_near_scratch *t = &s->near;
    aoi_find_in_box(s, g->lo, g->hi);
    size_t most = r->hit_count;
    if (r->failed || !AOI_GROW(&r->memory, t->items, t->item_cap, 2 * most + 1) ||
        !AOI_GROW(&r->memory, t->item_ids, t->item_id_cap, most + NEAR_LANES + 1) ||
        !AOI_GROW(&r->memory, t->columns, t->column_cap, 3 * most + 2 * (size_t)NEAR_LANES))
        return false;
    aoi_item *out = t->items + most;
    g->count = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_entity_record *e = r->entities + r->hits[i];
        const double *p = e->pos;
        out[g->count] = (aoi_item){{p[0], p[1], p[2]}, e->id};
        g->count += (g->lo[0] <= p[0]) & (p[0] <= g->hi[0]) & (g->lo[1] <= p[1]) & (p[1] <= g->hi[1]) &
                    (!mask || (e->kind & mask));
    }
    return true;
}

/* Chooses the units and the squares of the box: rows are half as high as the area, squares a sixth as wide. */
static void measure_group(near_group *g, const aoi_area_state *is, int dims, const double *reach) {
    double size[2] = {g->hi[0] - g->lo[0], g->hi[1] - g->lo[1]};
    double far = fmax(fmax(-g->lo[0], g->hi[0]), fmax(-g->lo[1], g->hi[1]));
    g->scale = NEAR_UNITS / fmax(size[0], size[1]);
    bool underflows = is->shape == AOI_CIRCLE && is->area.radius < 1e-140; /* the rule's squares */
    if (!(g->scale > 0 && g->scale * far < NEAR_EXACT) || underflows) g->scale = 0;
    for (int a = 0; a < 2; a++) {
        if (g->scale == 0) g->lo[a] = 0;
        bool cut = g->scale > 0 && g->count >= NEAR_ITEMS;
        g->reach[a] = (int)(g->scale > 0 ? reach[a] * g->scale : 0);
        g->squares[a] =
            cut ? (int)fmax(fmin(NEAR_UNITS / (reach[a] * g->scale) * (a ? 1 : 3), a ? NEAR_ROWS : NEAR_COLUMNS), 1)
                : 1;
    }
    g->radius = g->scale > 0 && is->shape == AOI_CIRCLE ? g->reach[0] : 0;
    g->sure = g->scale > 0 && is->shape == AOI_SQUARE && dims == 2 ? -1 - NEAR_SLACK : INT16_MIN;
}

/* Sorts the items by square (a counting sort). */
static void sort_items(aoi_space *s, near_group *g) {
    aoi_near_scratch *t = &s->near;
    size_t most = s->records.hit_count;
    uint32_t squares = (uint32_t)(g->squares[0] * g->squares[1]), *first = g->first;
    const aoi_item *in = t->items + most;
    uint16_t *x = t->columns, *y = x + most + NEAR_LANES, *square = y + most + NEAR_LANES;
    memset(first, 0, (squares + 2) * sizeof *first);
    for (uint32_t i = 0; i < g->count; i++) {
        int row = near_square(g, 1, near_units(g, 1, in[i].pos[1]));
        square[i] = (uint16_t)(row * g->squares[0] + near_square(g, 0, near_units(g, 0, in[i].pos[0])));
        first[square[i] + 2]++;
    }
    for (uint32_t c = 2; c < squares + 2; c++) first[c] += first[c - 1];
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t k = first[square[i] + 1]++;
        t->items[k] = in[i];
        t->item_ids[k] = in[i].id;
        x[k] = (uint16_t)near_units(g, 0, in[i].pos[0]);
        y[k] = (uint16_t)near_units(g, 1, in[i].pos[1]);
    }
    g->column[0] = x, g->column[1] = y, g->ids = t->item_ids;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

typedef struct near_window { /* the area around a place, in all lanes */
    aoi_i16x8 centre[2], upper[2], lower[2], sure, slack;
    aoi_i32x4 inner2, outer2; /* a circle's: squares of two radii */
} near_window;

typedef struct near_zones { /* all ones: surely in, surely out */
    aoi_i16x8 in, out;
} near_zones;

AOI_INLINE near_zones near_in_circle(const near_window *w, aoi_i16x8 x, aoi_i16x8 y) {
    aoi_i16x8 dx = aoi_i16_sub(x, w->centre[0]), dy = aoi_i16_sub(y, w->centre[1]);
    aoi_i32x4 low = aoi_i16_squares_low(dx, dy), high = aoi_i16_squares_high(dx, dy);
    return (near_zones){aoi_i32_narrow(aoi_i32_above(w->inner2, low), aoi_i32_above(w->inner2, high)),
                        aoi_i32_narrow(aoi_i32_above(low, w->outer2), aoi_i32_above(high, w->outer2))};
}

/* By the distance beyond the nearest edge, which is negative within the box. */
AOI_INLINE near_zones near_in_box(const near_window *w, aoi_i16x8 x, aoi_i16x8 y) {
    aoi_i16x8 d = aoi_i16_most(aoi_i16_most(aoi_i16_sub(x, w->upper[0]), aoi_i16_sub(w->lower[0], x)),
                               aoi_i16_most(aoi_i16_sub(y, w->upper[1]), aoi_i16_sub(w->lower[1], y)));
    return (near_zones){aoi_i16_above(w->sure, d), aoi_i16_above(d, w->slack)};
}

/* The bits of sixteen items that may be in the area; *in: of those that surely are. */
AOI_INLINE uint32_t near_match(const near_group *g, const near_window *w, uint32_t k, bool round, uint32_t *in) {
    near_zones z[2];
    for (uint32_t i = 0; i < 2; i++) {
        aoi_i16x8 x = aoi_i16_load(g->column[0] + k + 8 * i), y = aoi_i16_load(g->column[1] + k + 8 * i);
        z[i] = round ? near_in_circle(w, x, y) : near_in_box(w, x, y);
    }
    *in = aoi_i16_bits(z[0].in, z[1].in);
    return aoi_i16_bits(z[0].out, z[1].out) ^ 0xffff;
}

AOI_INLINE near_window near_window_around(const near_group *g, const int *units) {
    int inner = g->radius > NEAR_SLACK ? g->radius - NEAR_SLACK : 0, outer = g->radius + NEAR_SLACK + 1;
    near_window w = {.sure = aoi_i16_all(g->sure), .slack = aoi_i16_all(NEAR_SLACK)};
    w.inner2 = aoi_i32_all(inner * inner), w.outer2 = aoi_i32_all(outer * outer);
    for (int a = 0; a < 2; a++) {
        w.centre[a] = aoi_i16_all(units[a]);
        w.lower[a] = aoi_i16_all(units[a] - g->reach[a]), w.upper[a] = aoi_i16_all(units[a] + g->reach[a]);
    }
    return w;
}

/* A place against the items of its group; returns how many ids it has written. */
AOI_INLINE size_t answer_place(const near_group *g, const aoi_item *items, const aoi_area_state *is, int dims,
                               int shape, const double *p, int64_t *out) {
    const double at[3] = {p[0], p[1], dims == 3 ? p[2] : 0};
    const int units[2] = {near_units(g, 0, p[0]), near_units(g, 1, p[1])};
    const near_window w = near_window_around(g, units);
    int from[2], to[2];
    static const uint8_t skips[4] = {0, 0, 1, 0}, counts[4] = {0, 1, 1, 2};
    const int64_t *start = out;
    for (int a = 0; a < 2; a++) {
        from[a] = near_square(g, a, units[a] - g->reach[a] - NEAR_SLACK);
        to[a] = near_square(g, a, units[a] + g->reach[a] + NEAR_SLACK);
    }
    const uint32_t *row = g->first + from[1] * g->squares[0], *last = g->first + to[1] * g->squares[0];
    for (; row <= last; row += g->squares[0])
        for (uint32_t k = row[from[0]], end = row[to[0] + 1]; k < end; k += NEAR_LANES) {
            uint32_t in, maybe = near_match(g, &w, k, dims == 2 && shape == AOI_CIRCLE, &in), left = end - k;
            uint32_t there = (UINT32_C(1) << (left < NEAR_LANES ? left : NEAR_LANES)) - 1;
            in &= there;
            for (uint32_t unsure = maybe & there & ~in; unsure; unsure &= unsure - 1) {
                int i = aoi_lanes_first(unsure);
                in |= (uint32_t)aoi_near_holds(dims, shape, is, at, items[k + (uint32_t)i].pos) << i;
            }
            for (uint32_t i = 0; i < NEAR_LANES; i += 2, in >>= 2) { /* writes two, keeps none, one or both */
                memcpy(out, g->ids + k + i + skips[in & 3], 2 * sizeof *out);
                out += counts[in & 3];
            }
        }
    return (size_t)(out - start);
}

/* Places of a group, `n` of them from `i` on. */
AOI_INLINE bool answer_group(aoi_space *s, const aoi_area_state *is, int dims, int shape, const double *at,
                             const uint32_t *i, uint32_t n, const near_group *g, size_t *found) {
    aoi_near_scratch *t = &s->near;
    for (const uint32_t *end = i + n; i < end; i++) {
        if (!AOI_GROW(&s->records.memory, t->found, t->found_cap, *found + g->count + NEAR_LANES)) return false;
        AOI_PREFETCH(at + i[NEAR_AHEAD] * (size_t)dims);
        AOI_PREFETCH(t->places + i[NEAR_AHEAD]);
        size_t count = answer_place(g, t->items, is, dims, shape, at + *i * (size_t)dims, t->found + *found);
        t->places[*i].start = *found;
        t->places[*i].count = (uint32_t)count;
        *found += count;
    }
    return true;
}

static bool answer_by_shape(aoi_space *s, const aoi_area_state *is, const double *at, const uint32_t *i, uint32_t n,
                            const near_group *g, size_t *found) {
    int dims = s->records.dims;
    if (is->shape == AOI_SQUARE && dims == 2) return answer_group(s, is, 2, AOI_SQUARE, at, i, n, g, found);
    if (is->shape == AOI_CIRCLE && dims == 2) return answer_group(s, is, 2, AOI_CIRCLE, at, i, n, g, found);
    return answer_group(s, is, dims, is->shape, at, i, n, g, found);
}

/* Answers one place by itself, like aoi_near. */
static bool answer_alone(aoi_space *s, const aoi_area_state *is, const double *p, aoi_question *q, const double *reach,
                         size_t *found) {
    const aoi_records *r = &s->records;
    aoi_near_scratch *t = &s->near;
    aoi_find_targets(s, p, reach);
    if (r->failed || !AOI_GROW(&s->records.memory, t->found, t->found_cap, *found + r->hit_count + 1)) return false;
    q->start = *found;
    q->count = (uint32_t)aoi_near_answer(s, is, p, t->found + *found);
    *found += q->count;
    return true;
}

/* Whether one question for all places pays: most of the box is in one of their areas. */
static bool is_crowded(const aoi_question_group *g, const double *reach) {
    double most = g->count * (4 * NEAR_SHARE) * reach[0] * reach[1];
    return reach[0] > DBL_MAX || (g->count > 1 && (g->hi[0] - g->lo[0]) * (g->hi[1] - g->lo[1]) <= most);
}

/* The places of a group. */
static bool answer_together(aoi_space *s, const aoi_area_state *is, const double *at, const aoi_question_group *q,
                            const double *reach, size_t *found) {
    aoi_near_scratch *t = &s->near;
    const uint32_t *i = t->order + q->first - q->count; /* `first` is at the end by now */
    near_group g;
    if (aoi_near_needs_looks(s, is) || !is_crowded(q, reach)) {
        for (const uint32_t *end = i + q->count; i < end; i++)
            if (!answer_alone(s, is, at + *i * (size_t)s->records.dims, t->places + *i, reach, found)) return false;
        return true;
    }
    memcpy(g.lo, q->lo, sizeof g.lo);
    memcpy(g.hi, q->hi, sizeof g.hi);
    if (!gather_items(s, &g, is->mask)) return false;
    measure_group(&g, is, s->records.dims, reach);
    sort_items(s, &g);
    return answer_by_shape(s, is, at, i, q->count, &g, found);
}

static bool answer_places(aoi_space *s, const aoi_area_state *is, const double *at, size_t n, const double *reach) {
    aoi_near_scratch *t = &s->near;
    size_t found = 0;
    for (uint32_t i = 0; i < NEAR_AHEAD; i++) t->order[n + i] = 0;
    for (uint32_t i = 0; i < t->group_count; i++)
        if (!answer_together(s, is, at, t->groups + i, reach, &found)) return false;
    if (!aoi_answer_ready(s, found, false)) return false;
    for (size_t i = 0; i < n; i++) {
        const aoi_question *p = t->places + i, *ahead = i + NEAR_AHEAD < n ? p + NEAR_AHEAD : p;
        for (uint32_t k = 0; k < ahead->count; k += AOI_CACHE_LINE / 8) AOI_PREFETCH(t->found + ahead->start + k);
        if (p->count) { /* else the arrays may be NULL */
            int64_t *out = s->ids_out + s->answer_count;
            const int64_t *from = t->found + p->start;
            for (uint32_t k = 0; k < p->count; k++) out[k] = from[k];
        }
        s->answer_count += p->count;
        t->ends[i] = s->answer_count;
    }
    return true;
}

int aoi_near_many(aoi_space *s, const double *places, size_t n, const aoi_area *area, const int64_t **ids,
                  const uint32_t **ends, size_t *count) {
    aoi_records *r = &s->records;
    aoi_near_scratch *t = &s->near;
    aoi_area_state is;
    double reach[2];
    if (aoi_area_fault(r->dims, area) || area->outside || n >= AOI_NONE) return AOI_EVALUE;
    for (size_t i = 0; i < n; i++)
        if (!aoi_is_place(s, places + i * (size_t)r->dims)) return AOI_EVALUE;
    if (!aoi_settle(s) || !aoi_area_borrow(r, area, &is)) return AOI_ENOMEM;
    aoi_near_reach(&is, reach);
    bool done = AOI_GROW(&r->memory, t->places, t->place_cap, n) &&
                AOI_GROW(&r->memory, t->order, t->order_cap, n + NEAR_AHEAD) &&
                AOI_GROW(&r->memory, t->ends, t->end_cap, n) && group_places(s, places, n, reach) &&
                answer_places(s, &is, places, n, reach);
    r->failed = false;
    if (!done) return AOI_ENOMEM;
    *ends = t->ends;
    return aoi_give(s, ids, count);
}
