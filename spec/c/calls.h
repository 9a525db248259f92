/* calls.h - calls of the C API as data: histories that can be made up, played again and again, and cut anywhere.
 *
 * A call names entities and nodes by id, so it means the same in every space that has the same in it. What the call
 * cannot do is part of the history: its result is compared, too. */
#ifndef CALLS_H
#define CALLS_H

#include <math.h>

#include "fixture.h"

typedef enum verb {
    ENTER,
    MOVE,
    JUMP,
    LEAVE,
    SET_KIND,
    ATTACH,
    SET_LAYERS,
    SET_LAYERS_OF_ALL,
    SET_EXTENT,
    MOVE_MANY,
    ENTER_MANY,
    LEAVE_MANY,
    ROW_BUFFER,
    ADD_NODE,
    ADD_NODE_MANY,
    REMOVE_NODE,
    SET_AREA,
    SET_RADIUS,
    SET_FACING,
    SET_MASK,
    OVERRIDE,
    NEXT,
    DRAIN,
    TAKE_ALL,
    FLUSH,
    KEEP_ORDER,
    NEXT_FREED,
    VIEW,
    VIEWERS,
    NEAR,
    NEAR_MANY,
    NEAREST,
    SWEEP,
    OVERRIDES,
    EXPLAIN,
    IDS,
    CHECK,
    VERBS
} verb;

static const char *const verb_names[VERBS] = {
    "enter",      "move",       "jump",          "leave",
    "set_kind",   "attach",     "set_layers",    "set_layers_of_all",
    "set_extent", "move_many",  "enter_many",    "leave_many",
    "row_buffer", "add_node",   "add_node_many", "remove_node",
    "set_area",   "set_radius", "set_facing",    "set_mask",
    "override",   "next",       "drain",         "take_all",
    "flush",      "keep_order", "next_freed",    "view",
    "viewers",    "near",       "near_many",     "nearest",
    "sweep",      "overrides",  "explain",       "ids",
    "check",
};

enum { MOST_ROWS = 40 };

typedef struct call {
    verb verb;
    int64_t id, node_id;
    uint64_t bits; /* kind or mask, or how to override */
    aoi_area area;
    size_t n; /* rows */
    aoi_row rows[MOST_ROWS];
} call;

/* Of a batch by ids: those of the rows. */
static inline int leave_many(aoi_space *s, const call *c) {
    int64_t ids[MOST_ROWS];
    for (size_t i = 0; i < c->n; i++) ids[i] = c->rows[i].id;
    return aoi_leave_many(s, ids, c->n, NULL);
}

static inline int add_node_many(aoi_space *s, const call *c) {
    aoi_entity entities[MOST_ROWS];
    for (size_t i = 0; i < c->n; i++) entities[i] = aoi_find(s, c->rows[i].id);
    return aoi_add_node_many(s, entities, c->n, c->node_id, &c->area, NULL);
}

/* Around the places of the rows: as aoi_near says of the first. */
static inline int near_many(aoi_space *s, const call *c) {
    double places[3 * MOST_ROWS];
    const int64_t *ids;
    const uint32_t *ends = NULL;
    size_t count, dims = (size_t)aoi_dimensions(s);
    for (size_t i = 0; i < c->n; i++)
        for (size_t a = 0; a < dims; a++) places[i * dims + a] = c->rows[i].pos[a];
    int result = aoi_near_many(s, places, c->n, &c->area, &ids, &ends, &count);
    if (result == AOI_OK && c->n) {
        size_t first = ends[0];
        EXPECT(ends[c->n - 1] == count);
        EXPECT(aoi_near(s, c->rows[0].pos, &c->area, &ids, &count) != AOI_OK || count == first);
    }
    return result;
}

/* aoi_check says "not enough memory" with words; everybody else with a number. */
static inline int check_result(aoi_space *s) {
    const char *wrong = aoi_check(s);
    if (wrong && !strcmp(wrong, "not enough memory")) return AOI_ENOMEM;
    if (wrong) fprintf(stderr, "  %s\n", wrong);
    return wrong ? -1 : AOI_OK;
}

static inline int make_call(aoi_space *s, const call *c) {
    aoi_entity e = aoi_find(s, c->id);
    aoi_node n = aoi_find_node(s, e, c->node_id);
    const int64_t *ids, *nodes;
    const double *pos = c->rows[0].pos, *times;
    size_t count;
    aoi_event events[MOST_ROWS];
    uint64_t user_data;
    aoi_explanation why;
    switch (c->verb) {
    case ENTER:
        return aoi_enter(s, c->id, pos, c->bits, NULL);
    case MOVE:
        return aoi_move(s, e, pos);
    case JUMP:
        return aoi_jump(s, e, pos);
    case LEAVE:
        return aoi_leave(s, e);
    case SET_KIND:
        return aoi_set_kind(s, e, c->bits);
    case ATTACH: /* now and then let go */
        return aoi_attach(s, e, c->bits == 3 ? (aoi_entity){0, 0} : aoi_find(s, c->rows[0].id), c->rows[1].pos);
    case SET_LAYERS:
        return aoi_set_layers(s, e, c->bits);
    case SET_LAYERS_OF_ALL:
        return aoi_set_layers_with_passengers(s, e, c->bits);
    case SET_EXTENT:
        return aoi_set_extent(s, e, c->node_id ? c->area.radius : 0);
    case MOVE_MANY:
        return aoi_move_many(s, c->rows, c->n, NULL);
    case ENTER_MANY:
        return aoi_enter_many(s, c->rows, c->n, c->bits, NULL);
    case LEAVE_MANY:
        return leave_many(s, c);
    case ROW_BUFFER:
        return aoi_row_buffer(s, c->n * c->n) || !c->n ? AOI_OK : AOI_ENOMEM;
    case ADD_NODE:
        return aoi_add_node(s, e, c->node_id, &c->area, NULL);
    case ADD_NODE_MANY:
        return add_node_many(s, c);
    case REMOVE_NODE:
        return aoi_remove_node(s, n);
    case SET_AREA:
        return aoi_set_area(s, n, &c->area);
    case SET_RADIUS:
        return aoi_set_radius(s, n, c->area.radius, c->area.keep);
    case SET_FACING:
        return aoi_set_facing(s, n, c->area.facing);
    case SET_MASK:
        return aoi_set_mask(s, n, c->bits);
    case OVERRIDE:
        return aoi_override(s, n, aoi_find(s, c->rows[0].id), (int)(c->bits & 3));
    case NEXT:
        return aoi_next(s, events), AOI_OK;
    case DRAIN:
        return EXPECT(aoi_drain(s, events, c->n) <= c->n), AOI_OK;
    case TAKE_ALL:
        return aoi_take_all(s), AOI_OK;
    case FLUSH:
        return aoi_flush(s);
    case KEEP_ORDER:
        return aoi_keep_order(s), AOI_OK;
    case NEXT_FREED:
        return aoi_next_freed(s, &user_data), AOI_OK;
    case VIEW:
        return aoi_view(s, n, &ids, &count);
    case VIEWERS:
        return aoi_viewers(s, e, &ids, &nodes, &count);
    case NEAR:
        return aoi_near(s, pos, &c->area, &ids, &count);
    case NEAR_MANY:
        return near_many(s, c);
    case NEAREST:
        return aoi_nearest(s, pos, c->n, c->area.radius, c->bits, &ids, &count);
    case SWEEP:
        return aoi_sweep(s, pos, c->rows[1].pos, c->area.radius, c->bits, &ids, &times, &count);
    case OVERRIDES:
        return aoi_overrides(s, n, &ids, &nodes, &count);
    case EXPLAIN:
        if (aoi_flush(s) != AOI_OK) return AOI_ENOMEM; /* it has no result of its own */
        aoi_explain(s, c->id, c->node_id, c->rows[0].id, &why);
        return EXPECT(why.sees == aoi_sees(s, n, aoi_find(s, c->rows[0].id))), AOI_OK;
    case IDS:
        return aoi_ids(s, &ids, &count);
    case CHECK:
        return check_result(s);
    case VERBS:
        break;
    }
    abort();
}

/* ---- random calls ----------------------------------------------------------------------------------------------- */

/* Small whole numbers, so that ties and exact edges are common; now and then far away, in cells of another size. */
static inline double random_coordinate(void) {
    uint32_t k = random_below(100);
    double v = (double)random_below(17) - 8;
    if (k < 80) return v;
    if (k < 90) return v * 0.1;
    if (k < 95) return v * 1000;
    if (k < 98) return v * 1e9;
    return v * 1e14;
}

static inline double random_radius(void) {
    static const double radii[] = {0, 0.1, 0.5, 1, 1, 2, 2, 3, 4, 5, 8, 13, 100, 4000, 1e6, 1e12, 0x1p50, INFINITY};
    return radii[random_below(sizeof radii / sizeof *radii)];
}

static inline uint64_t random_bits(void) {
    static const uint64_t bits[] = {0, 1, 1, 1, 1, 2, 3, 3, UINT64_C(1) << 63, AOI_ALL_KINDS};
    return bits[random_below(sizeof bits / sizeof *bits)];
}

/* Any shape; of another that squares and circles one in three, and now and then one that is none. */
static inline aoi_area random_area(void) {
    static const double polygons[][80] = {{-2, -2, 2, -2, 2, 2, -2, 2, 0, 0},
                                          {0, 0, 3, 1, -1, 4},
                                          {-1e3, 0, 0.1, 5, 7, -2},
                                          {-5, -5, 5, -5, 5, 5, -5, 5, 0, 1, 3, -2, -3, -2, 0, 2},
                                          {-9, -9, -9, 9, -8, 9, -8, 1, -7, 1, -7, 9, -6, 9, -6, 1, -5, 1, -5, 9,
                                           -4, 9,  -4, 1, -3, 1, -3, 9, -2, 9, -2, 1, -1, 1, -1, 9, 0,  9, 0,  1,
                                           1,  1,  1,  9, 2,  9, 2,  1, 3,  1, 3,  9, 4,  9, 4,  1, 5,  1, 5,  9,
                                           6,  9,  6,  1, 7,  1, 7,  9, 8,  9, 8,  1, 9,  1, 9,  9, 10, 9, 10, -9}};
    static const int corners[] = {5, 3, 3, 8, 40}, ends[] = {4, 8};
    aoi_area a = {.shape = random_below(3) ? AOI_SQUARE : AOI_CIRCLE,
                  .mask = random_below(3) ? AOI_ALL_KINDS : random_bits(),
                  .radius = random_radius(),
                  .layered = random_below(6) == 0,
                  .layers = random_below(4),
                  .silent = random_below(20) == 0,
                  .crosses = random_below(4) == 0,
                  .user_data = random_below(5)};
    if (random_below(3) == 0) a.keep = fmax(a.radius, random_radius());
    for (int i = 0, beside = random_below(5) == 0; i < 3 && beside; i++) a.offset[i] = random_coordinate();
    if (random_below(3)) return a;
    uint32_t polygon = random_below(5);
    a.shape = (int)random_below(AOI_POLYGON + 1);
    if (a.shape != AOI_POLYGON && random_below(3) == 0) a.keep = 0, a.margin = random_radius();
    for (int i = 0; i < 3; i++) a.extents[i] = random_radius();
    a.half_height = random_radius();
    a.facing = (double)random_below(9) * 0.78539816339744831;
    a.angle = 0.1 + (double)random_below(7);
    a.points = polygons[polygon];
    a.corners = corners[polygon];
    if (polygon == 3) a.ends = ends, a.rings = 2;
    return a;
}

static inline int64_t random_id(uint32_t entities) {
    return (int64_t)random_below(entities) * INT64_C(0x100000001) - 7;
}

static inline call random_call(uint32_t entities) {
    static const int weights[VERBS] = {[ENTER] = 14,     [MOVE] = 25,      [JUMP] = 3,          [LEAVE] = 4,
                                       [SET_KIND] = 5,   [ATTACH] = 4,     [SET_LAYERS] = 3,    [SET_LAYERS_OF_ALL] = 2,
                                       [SET_EXTENT] = 5, [MOVE_MANY] = 8,  [ENTER_MANY] = 4,    [LEAVE_MANY] = 2,
                                       [ROW_BUFFER] = 1, [ADD_NODE] = 14,  [ADD_NODE_MANY] = 3, [REMOVE_NODE] = 4,
                                       [SET_AREA] = 4,   [SET_RADIUS] = 5, [SET_FACING] = 1,    [SET_MASK] = 4,
                                       [OVERRIDE] = 5,   [NEXT] = 5,       [DRAIN] = 2,         [TAKE_ALL] = 2,
                                       [FLUSH] = 1,      [KEEP_ORDER] = 1, [NEXT_FREED] = 2,    [VIEW] = 2,
                                       [VIEWERS] = 2,    [NEAR] = 2,       [NEAR_MANY] = 2,     [NEAREST] = 2,
                                       [SWEEP] = 2,      [OVERRIDES] = 1,  [EXPLAIN] = 1,       [IDS] = 1,
                                       [CHECK] = 1};
    call c = {.id = random_id(entities), .node_id = random_below(3), .bits = random_bits()};
    int all = 0, at = 0;
    for (int v = 0; v < VERBS; v++) all += weights[v];
    for (at = (int)random_below((uint32_t)all); at >= weights[c.verb]; c.verb++) at -= weights[c.verb];
    c.area = random_area();
    bool few = c.verb == ENTER_MANY || c.verb == LEAVE_MANY || c.verb == ADD_NODE_MANY;
    c.n = random_below(few ? 8 : MOST_ROWS + 1);
    for (size_t i = 0; i < MOST_ROWS; i++) {
        c.rows[i].id = random_id(entities);
        for (int a = 0; a < 3; a++) c.rows[i].pos[a] = random_coordinate();
    }
    return c;
}

static inline bool is_batch(verb v) {
    return v == MOVE_MANY || v == ENTER_MANY || v == LEAVE_MANY || v == ADD_NODE_MANY;
}

/* Most random rows name an entity that is not there, or is: a batch that should succeed keeps those that are possible,
 * but now and then one of the others stays, and the whole batch is refused. */
static inline void make_possible(aoi_space *s, call *c) {
    size_t kept = 0;
    if (!is_batch(c->verb)) return;
    for (size_t i = 0; i < c->n; i++) {
        aoi_entity e = aoi_find(s, c->rows[i].id);
        bool good = AOI_IS_NULL(e) == (c->verb == ENTER_MANY);
        for (size_t k = 0; k < kept && c->verb != MOVE_MANY; k++) good = good && c->rows[k].id != c->rows[i].id;
        if (c->verb == ADD_NODE_MANY) good = good && AOI_IS_NULL(aoi_find_node(s, e, c->node_id));
        if (good || random_below(200) == 0) c->rows[kept++] = c->rows[i];
    }
    c->n = kept;
}

#endif
