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
    LEAVE,
    SET_KIND,
    MOVE_MANY,
    ENTER_MANY,
    ROW_BUFFER,
    ADD_NODE,
    REMOVE_NODE,
    SET_RADIUS,
    SET_MASK,
    NEXT,
    TAKE_ALL,
    LEAVES_FIRST,
    KEEP_ORDER,
    NEXT_FREED,
    VIEW,
    VIEWERS,
    NEAR,
    IDS,
    CHECK,
    VERBS
} verb;

static const char *const verb_names[VERBS] = {
    "enter",      "move",        "leave",      "set_kind", "move_many", "enter_many", "row_buffer",
    "add_node",   "remove_node", "set_radius", "set_mask", "next",      "take_all",   "leaves_first",
    "keep_order", "next_freed",  "view",       "viewers",  "near",      "ids",        "check",
};

enum { MOST_ROWS = 40 };

typedef struct call {
    verb verb;
    int64_t id, node_id;
    uint64_t bits; /* kind or mask */
    aoi_area area;
    size_t n; /* rows */
    aoi_row rows[MOST_ROWS];
} call;

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
    const double *pos = c->rows[0].pos;
    size_t count;
    aoi_event event;
    uint32_t slot;
    switch (c->verb) {
    case ENTER:
        return aoi_enter(s, c->id, pos, c->bits, NULL);
    case MOVE:
        return aoi_move(s, e, pos);
    case LEAVE:
        return aoi_leave(s, e);
    case SET_KIND:
        return aoi_set_kind(s, e, c->bits);
    case MOVE_MANY:
        return aoi_move_many(s, c->rows, c->n, NULL);
    case ENTER_MANY:
        return aoi_enter_many(s, c->rows, c->n, c->bits, NULL);
    case ROW_BUFFER:
        return aoi_row_buffer(s, c->n * c->n) || !c->n ? AOI_OK : AOI_ENOMEM;
    case ADD_NODE:
        return aoi_add_node(s, e, c->node_id, &c->area, NULL);
    case REMOVE_NODE:
        return aoi_remove_node(s, n);
    case SET_RADIUS:
        return aoi_set_radius(s, n, c->area.radius, c->area.keep);
    case SET_MASK:
        return aoi_set_mask(s, n, c->bits);
    case NEXT:
        return aoi_next(s, &event), AOI_OK;
    case TAKE_ALL:
        return aoi_take_all(s), AOI_OK;
    case LEAVES_FIRST:
        return aoi_leaves_first(s), AOI_OK;
    case KEEP_ORDER:
        return aoi_keep_order(s), AOI_OK;
    case NEXT_FREED:
        return aoi_next_freed(s, &slot), AOI_OK;
    case VIEW:
        return aoi_view(s, n, &ids, &count);
    case VIEWERS:
        return aoi_viewers(s, e, &ids, &nodes, &count);
    case NEAR:
        return aoi_near(s, pos, c->area.radius, c->bits, &ids, &count);
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

/* Small whole numbers, so that ties and exact edges are common; now and then far away, which is another size of cell. */
static inline double random_coordinate(void) {
    uint32_t k = random_below(100);
    double v = (double)random_below(17) - 8;
    if (k < 80) return v;
    if (k < 90) return v * 0.1;
    if (k < 95) return v * 1000;
    if (k < 98) return v * 1e9;
    return v * 1e290;
}

static inline double random_radius(void) {
    static const double radii[] = {0, 0.1, 0.5, 1, 1, 2, 2, 3, 4, 5, 8, 13, 100, 4000, 1e6, 1e12, 1e300, INFINITY};
    return radii[random_below(sizeof radii / sizeof *radii)];
}

static inline uint64_t random_bits(void) {
    static const uint64_t bits[] = {0, 1, 1, 1, 1, 2, 3, 3, UINT64_C(1) << 63, AOI_ALL_KINDS};
    return bits[random_below(sizeof bits / sizeof *bits)];
}

static inline int64_t random_id(uint32_t entities) {
    return (int64_t)random_below(entities) * INT64_C(0x100000001) - 7;
}

static inline call random_call(uint32_t entities) {
    static const int weights[VERBS] = {
        [ENTER] = 14,     [MOVE] = 25,        [LEAVE] = 5,       [SET_KIND] = 5,   [MOVE_MANY] = 8, [ENTER_MANY] = 3,
        [ROW_BUFFER] = 1, [ADD_NODE] = 16,    [REMOVE_NODE] = 4, [SET_RADIUS] = 7, [SET_MASK] = 4,  [NEXT] = 5,
        [TAKE_ALL] = 2,   [LEAVES_FIRST] = 1, [KEEP_ORDER] = 1,  [NEXT_FREED] = 2, [VIEW] = 2,      [VIEWERS] = 2,
        [NEAR] = 2,       [IDS] = 1,          [CHECK] = 1};
    call c = {.id = random_id(entities), .node_id = random_below(3), .bits = random_bits()};
    int all = 0, at = 0;
    for (int v = 0; v < VERBS; v++) all += weights[v];
    for (at = (int)random_below((uint32_t)all); at >= weights[c.verb]; c.verb++) at -= weights[c.verb];
    c.area = (aoi_area){.radius = random_radius(),
                        .mask = random_below(3) ? AOI_ALL_KINDS : random_bits(),
                        .shape = random_below(3) ? AOI_SQUARE : AOI_CIRCLE,
                        .silent = random_below(20) == 0};
    if (random_below(3) == 0) c.area.keep = c.area.radius + random_radius();
    c.n = c.verb == ENTER_MANY ? random_below(8) : random_below(MOST_ROWS + 1);
    for (size_t i = 0; i < MOST_ROWS; i++) {
        c.rows[i].id = random_id(entities);
        for (int a = 0; a < 3; a++) c.rows[i].pos[a] = random_coordinate();
    }
    if (c.verb == MOVE_MANY || c.verb == ENTER_MANY) c.n = c.n < MOST_ROWS ? c.n : MOST_ROWS;
    return c;
}

/* Most random rows name somebody who is not there, or is: a batch that should succeed keeps those for whom it can. */
static inline void make_possible(aoi_space *s, call *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->n && (c->verb == MOVE_MANY || c->verb == ENTER_MANY); i++) {
        bool twice = false;
        for (size_t k = 0; k < kept; k++) twice = twice || c->rows[k].id == c->rows[i].id;
        bool good = c->verb == MOVE_MANY ? aoi_find(s, c->rows[i].id) != 0 : !aoi_find(s, c->rows[i].id) && !twice;
        if (good) c->rows[kept++] = c->rows[i];
    }
    if (c->verb == MOVE_MANY || c->verb == ENTER_MANY) c->n = kept;
}

#endif
