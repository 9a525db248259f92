/* c_api.c - fuzzes the C API: bytes become calls on two spaces, one of the engine under test and one of brute force.
 *
 *   bytes -> call -> engine under test, now and then with memory refused -> checked, and compared with
 *                 -> brute force, with all memory                          -> results, events, answers
 *
 * Events are also checked for themselves: enter and leave alternate, and what they add up to is what the nodes see. */
#include <stdlib.h>
#include <string.h>

#include "../spec/c/host.h"
#include "aoi_history.h"
#include "bytes.h"
#include "core/space.h"

enum { IDS = 40, NODES = 3, OLD = 16, MOST_CALLS = 120, MOST_EVENTS = 100000, MOST_ROWS = 24, ROW = 5, PAST = 3 };

static struct {
    input in;
    aoi_space *tested, *brute;
    aoi_history *past[2]; /* of either */
    uint32_t ids;         /* how many are in play */
    bool deferred;
    aoi_entity old_entity[2][OLD];
    aoi_node old_node[2][OLD];
    uint32_t old_entities, old_nodes;
    bool seen[IDS][NODES][IDS];
    int calls;
} f;

static void require(bool holds, const char *what) {
    if (holds && !expect_state.failures) return;
    fprintf(stderr, "call %d: %s\n", f.calls, holds ? "an expectation failed" : what);
    abort();
}

static aoi_space *space(int which) {
    return which ? f.brute : f.tested;
}

/* ---- ids, handles, areas ------------------------------------------------------------------------------------------ */

static int64_t id_of(uint32_t i) {
    return i == 0 ? INT64_MIN : i == 1 ? INT64_MAX : (int64_t)i * 7 - 100;
}

static uint32_t index_of(int64_t id) {
    return id == INT64_MIN ? 0 : id == INT64_MAX ? 1 : (uint32_t)((id + 100) / 7);
}

static int64_t next_id(void) {
    return id_of(choose(&f.in, f.ids));
}

/* The same entity in both spaces; now and then one that is gone, or none. */
static void next_entity(aoi_entity out[2]) {
    uint32_t b = next_byte(&f.in);
    for (int w = 0; w < 2; w++) {
        out[w] = b < 240 ? aoi_find(space(w), id_of(b % f.ids)) : f.old_entity[w][b % OLD];
        if (b < 240 && !AOI_IS_NULL(out[w])) f.old_entity[w][f.old_entities % OLD] = out[w];
    }
    f.old_entities++;
}

static void next_node(aoi_node out[2]) {
    uint32_t b = next_byte(&f.in), node_id = choose(&f.in, NODES);
    for (int w = 0; w < 2; w++) {
        out[w] =
            b < 240 ? aoi_find_node(space(w), aoi_find(space(w), id_of(b % f.ids)), node_id) : f.old_node[w][b % OLD];
        if (b < 240 && !AOI_IS_NULL(out[w])) f.old_node[w][f.old_nodes % OLD] = out[w];
    }
    f.old_nodes++;
}

static void next_position(double *pos) {
    for (int a = 0; a < 3; a++) pos[a] = a < aoi_dimensions(f.tested) ? next_number(&f.in) : 0;
}

static double next_radius(void) {
    double r = next_number(&f.in);
    return next_byte(&f.in) < 240 ? fabs(r) : r;
}

static double next_keep(double radius) {
    uint32_t b = next_byte(&f.in);
    return b < 128 ? 0 : b < 240 ? radius + fabs(next_number(&f.in)) : next_number(&f.in);
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    return memcmp(a, b, ROW * sizeof(int64_t));
}

/* Five numbers a row: as events, and as answers with zeros. */
static int64_t rows[2][MOST_EVENTS][ROW];

static void require_same_rows(size_t n0, size_t n1, const char *what) {
    require(n0 == n1, what);
    qsort(rows[0], n0, sizeof *rows[0], by_value);
    qsort(rows[1], n1, sizeof *rows[1], by_value);
    require(!memcmp(rows[0], rows[1], n0 * sizeof *rows[0]), what);
}

static void put_row(int w, size_t i, int64_t a, int64_t b, int64_t c, int64_t d, uint64_t data) {
    require(i < MOST_EVENTS, "room for events");
    int64_t row[ROW] = {a, b, c, d, (int64_t)data};
    memcpy(rows[w][i], row, sizeof row);
}

static size_t peek_all(int w) {
    size_t all = aoi_pending(space(w)), n = 0;
    uint32_t cursor = 0;
    while (n < all) {
        aoi_event e[16];
        size_t k = aoi_peek(space(w), &cursor, e, 16);
        require(k > 0, "as many events as are pending can be read");
        for (size_t i = 0; i < k; i++, n++)
            put_row(w, n, e[i].kind * 1000 + e[i].reason, e[i].watcher, e[i].node_id, e[i].target, e[i].user_data);
    }
    require(n == all, "no more events can be read than are pending");
    return n;
}

static void flush(void) {
    require(aoi_flush(f.tested) == AOI_OK && aoi_flush(f.brute) == AOI_OK, "what waits can be judged");
}

/* Those of a deferred space once all its moves are judged. */
static void require_same_events(void) {
    flush();
    size_t n0 = peek_all(0), n1 = peek_all(1);
    require_same_rows(n0, n1, "the same events wait");
}

static void require_same_answer(int r0, int r1, const int64_t *ids[2], const int64_t *nodes[2], const size_t n[2]) {
    require(r0 == r1, "the same result");
    if (r0 != AOI_OK) return;
    for (int w = 0; w < 2; w++)
        for (size_t i = 0; i < n[w]; i++) put_row(w, i, ids[w][i], nodes[w] ? nodes[w][i] : 0, 0, 0, 0);
    require_same_rows(n[0], n[1], "the same answer");
}

/* ---- taking events ---------------------------------------------------------------------------------------------------- */

static void toggle(const aoi_event *e) {
    bool *seen = &f.seen[index_of(e->watcher)][e->node_id][index_of(e->target)];
    require(*seen == (e->kind == AOI_LEAVE), "enter and leave alternate, and what is seen crosses nothing");
    if (e->kind != AOI_CROSS) *seen = !*seen;
}

/* With nothing waiting, what the events add up to is what every node sees. */
static void require_sum(void) {
    for (uint32_t i = 0; i < f.ids; i++)
        for (uint32_t k = 0; k < NODES; k++) {
            aoi_node n = aoi_find_node(f.tested, aoi_find(f.tested, id_of(i)), k);
            aoi_area a;
            bool silent = aoi_area_of(f.tested, n, &a) && a.silent;
            for (uint32_t t = 0; t < f.ids && !silent; t++)
                require(f.seen[i][k][t] == aoi_sees(f.tested, n, aoi_find(f.tested, id_of(t))),
                        "events add up to what is seen");
        }
}

/* One by one, a few at a time, or read first and then taken all. */
static void take_events(uint32_t how) {
    aoi_event e[5];
    uint32_t cursor = 0;
    require_same_events();
    aoi_take_all(f.brute);
    if (how == 0) {
        while (aoi_next(f.tested, e)) toggle(e);
    } else if (how == 1) {
        for (size_t n = aoi_pending(f.tested), k; n > 0; n -= k) {
            k = aoi_drain(f.tested, e, 5);
            require(k == (n < 5 ? n : 5), "what is pending can be taken");
            for (size_t i = 0; i < k; i++) toggle(e + i);
        }
    } else {
        for (size_t n = aoi_pending(f.tested); n > 0; n--) {
            require(aoi_peek(f.tested, &cursor, e, 1) == 1, "what is pending can be read");
            toggle(e);
        }
        aoi_take_all(f.tested);
    }
    require(!aoi_pending(f.tested) && !aoi_next(f.tested, e), "nothing waits after everything is taken");
    require_sum();
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

typedef struct call {
    uint32_t verb;
    int64_t id, node_id;
    aoi_entity e[2], other[2]; /* other: a carrier */
    aoi_node n[2];
    double pos[3];
    uint64_t bits;
    aoi_area area;
    aoi_row rows[MOST_ROWS];
    size_t count, bad[2];
} call;

static int do_call(call *c, int w) {
    aoi_space *s = space(w);
    int64_t ids[MOST_ROWS];
    aoi_entity entities[MOST_ROWS];
    switch (c->verb) {
    case 0:
        return aoi_enter(s, c->id, c->pos, c->bits, NULL);
    case 1:
        return aoi_move(s, c->e[w], c->pos);
    case 2:
        return aoi_leave(s, c->e[w]);
    case 3:
        return aoi_set_kind(s, c->e[w], c->bits);
    case 4:
        return aoi_move_many(s, c->rows, c->count, c->bad + w);
    case 5:
        return aoi_enter_many(s, c->rows, c->count, c->bits, c->bad + w);
    case 6:
        return aoi_add_node(s, c->e[w], c->node_id, &c->area, NULL);
    case 7:
        return aoi_remove_node(s, c->n[w]);
    case 8:
        return aoi_set_radius(s, c->n[w], c->area.radius, c->area.keep);
    case 9:
        return aoi_set_mask(s, c->n[w], c->bits);
    case 10:
        for (size_t i = 0; i < c->count; i++) ids[i] = c->rows[i].id;
        return aoi_leave_many(s, ids, c->count, c->bad + w);
    case 12:
        return aoi_set_area(s, c->n[w], &c->area);
    case 13:
        return aoi_set_facing(s, c->n[w], c->area.facing);
    case 14:
        return aoi_override(s, c->n[w], c->e[w], (int)(c->bits & 3));
    case 16:
        return aoi_set_layers(s, c->e[w], c->bits);
    case 17:
        return aoi_set_extent(s, c->e[w], c->area.radius);
    case 18:
        return aoi_jump(s, c->e[w], c->pos);
    case 15:
        return aoi_attach(s, c->e[w], c->other[w], c->pos);
    case 19:
        return aoi_enter_with(s, c->id, c->pos, c->bits, c->bits >> 1, c->area.radius, NULL);
    case 20:
        return aoi_leave_because(s, c->e[w], (int)(c->bits & 511) - 1);
    case 21:
        return aoi_set_layers_with_passengers(s, c->e[w], c->bits);
    default: /* the first rows' entities; where they are not there, null */
        for (size_t i = 0; i < c->count; i++) entities[i] = aoi_find(s, c->rows[i].id);
        return aoi_add_node_many(s, entities, c->count, c->node_id, &c->area, c->bad + w);
    }
}

/* Boxes, cylinders, sectors, polygons; what does not fit is refused. */
static void next_shape(aoi_area *a, uint32_t b) {
    static double points[2 * 36];
    static int ends[2];
    uint32_t margined = next_byte(&f.in);
    a->shape = AOI_BOX + (int)(b % 5); /* the last is no shape */
    a->keep = 0;
    a->margin = margined < 100 ? 0 : fabs(next_number(&f.in));
    for (int i = 0; i < 3; i++) a->extents[i] = next_radius();
    a->half_height = margined & 1 ? INFINITY : next_radius();
    a->facing = next_number(&f.in);
    a->angle = next_byte(&f.in) / 40.0;
    a->points = points;
    a->corners = a->shape == AOI_POLYGON ? (int)choose(&f.in, 9) : 0;
    if (a->corners == 8 && margined > 127) a->corners = 36; /* more than are gone through one by one */
    for (int i = 0; i < 2 * a->corners; i++) points[i] = next_number(&f.in);
    if (a->corners && margined & 2) { /* a second ring, now and then of too few corners */
        a->ends = ends, a->rings = 2;
        ends[0] = a->corners;
        a->corners += (int)(margined >> 3);
        if (a->corners > 36) a->corners = 36;
        ends[1] = a->corners;
        for (int i = 2 * ends[0]; i < 2 * ends[1]; i++) points[i] = points[i % (2 * ends[0])] + i % 5;
    }
    if (a->shape == AOI_POLYGON && margined < 250) a->margin = 0;
}

static void next_area(aoi_area *a) {
    uint32_t b = next_byte(&f.in);
    a->radius = next_radius();
    a->keep = b & 1 ? next_keep(a->radius) : 0;
    a->mask = b & 2 ? next_bits(&f.in) : AOI_ALL_KINDS;
    a->shape = b & 4 ? b & 128 && b & 64 ? (int)(b >> 3) : AOI_CIRCLE : AOI_SQUARE;
    a->silent = (b & 56) == 56;
    a->fixed = (b & 35) == 34;
    a->crosses = (b & 10) == 10;
    a->layered = (b & 3) == 3;
    a->layers = b >> 6;
    a->label = (b & 24) == 24 ? (b & 32 ? "" : "label") : NULL;
    a->user_data = b;
    if ((b & 12) == 12) next_shape(a, b >> 4);
    for (int i = 0; i < 3; i++) a->offset[i] = (b & 24) == 8 ? next_number(&f.in) : 0;
}

/* Entities that follow one another, so that whole batches succeed; any one, now and then, in between. */
static void next_few(call *c) {
    uint32_t b = next_byte(&f.in), at = choose(&f.in, f.ids);
    c->count = b % 8;
    for (size_t i = 0; i < c->count; i++) c->rows[i].id = id_of((at + (uint32_t)i) % f.ids);
    if (b >= 224 && c->count) c->rows[c->count - 1].id = next_id();
}

static call next_call(uint32_t verb) {
    call c = {.verb = verb};
    if (verb == 0 || verb == 19) c.id = next_id();
    if (verb <= 3 || verb == 6 || verb >= 14) next_entity(c.e);
    if (verb == 15) next_entity(c.other);
    if ((verb >= 7 && verb <= 9) || (verb >= 12 && verb <= 14)) next_node(c.n);
    if (verb <= 1 || verb == 15 || verb == 18 || verb == 19) next_position(c.pos);
    if (verb == 0 || verb == 3 || verb == 5 || verb == 9 || verb == 14 || verb == 16 || verb >= 19)
        c.bits = next_bits(&f.in);
    if (verb == 6 || verb == 11) c.node_id = choose(&f.in, NODES);
    if (verb == 6 || verb == 11 || verb == 12) next_area(&c.area);
    if (verb == 13) c.area.facing = next_number(&f.in);
    if (verb == 8 || verb == 17 || verb == 19) c.area.radius = next_radius();
    if (verb == 8) c.area.keep = next_keep(c.area.radius);
    if (verb == 4 || verb == 5) {
        c.count = choose(&f.in, 25);
        for (size_t i = 0; i < c.count; i++) {
            c.rows[i].id = next_id();
            next_position(c.rows[i].pos);
        }
    }
    if (verb == 10 || verb == 11) next_few(&c);
    return c;
}

/* On the space under test first, with the n-th request for memory refused: then nothing has happened yet. */
static void change(uint32_t verb, uint32_t refuse) {
    call c = next_call(verb);
    aoi_stats before, after;
    aoi_read_stats(f.tested, &before);
    if (refuse) host_refuse(refuse % 16, refuse & 16 ? HOST_FOR_EVER : 1);
    int result = do_call(&c, 0);
    bool refused = host_relent() && result == AOI_ENOMEM;
    for (uint32_t again = refuse % 3; refused && again > 0;
         again--) { /* putting right what was refused is refused, too */
        host_refuse((long)again, HOST_FOR_EVER);
        result = do_call(&c, 0);
        refused = host_relent() && result == AOI_ENOMEM;
    }
    if (refused) {
        require(aoi_check(f.tested) == NULL, "sound after a refusal");
        require_same_events();
        result = do_call(&c, 0);
    }
    require(result == do_call(&c, 1), "the same result");
    if (result != AOI_OK && (verb == 4 || verb == 5 || verb == 10 || verb == 11))
        require(c.bad[0] == c.bad[1], "the same row is bad");
    aoi_read_stats(f.tested, &after);
    if (result != AOI_OK) require(before.entities == after.entities && before.nodes == after.nodes, "nothing happened");
    require(after.memory == host.used, "memory is counted rightly");
}

static void ask(uint32_t what) {
    const int64_t *ids[2] = {NULL, NULL}, *nodes[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    int r[2];
    aoi_entity e[2];
    aoi_node node[2];
    double pos[3];
    if (what == 0) {
        next_node(node);
        for (int w = 0; w < 2; w++) r[w] = aoi_view(space(w), node[w], ids + w, n + w);
    } else if (what == 1) {
        next_entity(e);
        for (int w = 0; w < 2; w++) r[w] = aoi_viewers(space(w), e[w], ids + w, nodes + w, n + w);
    } else if (what == 2) {
        aoi_area area = {0};
        next_position(pos);
        next_area(&area);
        if (choose(&f.in, 4)) {
            for (int w = 0; w < 2; w++) r[w] = aoi_near(space(w), pos, &area, ids + w, n + w);
        } else {
            const uint32_t *ends[2] = {NULL, NULL};
            double places[3 * 3];
            for (int i = 0; i < 3; i++) {
                next_position(pos);
                for (int a = 0; a < aoi_dimensions(f.tested); a++) places[i * aoi_dimensions(f.tested) + a] = pos[a];
            }
            for (int w = 0; w < 2; w++) r[w] = aoi_near_many(space(w), places, 3, &area, ids + w, ends + w, n + w);
            for (int i = 0; r[0] == AOI_OK && r[1] == AOI_OK && i < 3; i++)
                require(ends[0][i] == ends[1][i], "as many around each place");
        }
    } else if (what == 3) {
        next_position(pos);
        size_t most = choose(&f.in, 20);
        double radius = next_radius();
        uint64_t mask = next_bits(&f.in);
        for (int w = 0; w < 2; w++) r[w] = aoi_nearest(space(w), pos, most, radius, mask, ids + w, n + w);
        for (size_t i = 0; r[0] == AOI_OK && r[1] == AOI_OK && i < n[0] && i < n[1]; i++)
            require(ids[0][i] == ids[1][i], "the same order of nearness");
    } else if (what == 5) {
        const double *t[2] = {NULL, NULL};
        double to[3];
        next_position(pos);
        next_position(to);
        double radius = next_radius();
        uint64_t mask = next_bits(&f.in);
        for (int w = 0; w < 2; w++) r[w] = aoi_sweep(space(w), pos, to, radius, mask, ids + w, t + w, n + w);
        for (size_t i = 0; r[0] == AOI_OK && r[1] == AOI_OK && i < n[0] && i < n[1]; i++)
            require(ids[0][i] == ids[1][i] && t[0][i] == t[1][i], "the same order of touches");
    } else if (what == 6) {
        aoi_area area = {0};
        uint32_t ago = choose(&f.in, PAST + 1);
        bool ticks = choose(&f.in, 2);
        next_position(pos);
        next_area(&area);
        if (ticks) {
            for (int w = 0; w < 2; w++) require(aoi_history_tick(f.past[w]) == AOI_OK, "a tick is noted");
            ago = 0;
        }
        r[0] = aoi_history_near(f.past[0], ago, pos, &area, ids, n);
        r[1] = ticks ? aoi_near(f.brute, pos, &area, ids + 1, n + 1)
                     : aoi_history_near(f.past[1], ago, pos, &area, ids + 1, n + 1);
    } else if (what == 4) {
        next_node(node);
        for (int w = 0; w < 2; w++) r[w] = aoi_overrides(space(w), node[w], ids + w, nodes + w, n + w);
    } else {
        for (int w = 0; w < 2; w++) r[w] = aoi_ids(space(w), ids + w, n + w);
    }
    require_same_answer(r[0], r[1], ids, nodes, n);
}

static void free_slots(void) {
    uint64_t user_data;
    while (aoi_next_freed(f.tested, &user_data)) continue;
}

static void step(void) {
    uint32_t b = next_byte(&f.in);
    if (b < 200) change(b % 10, b >= 120 ? next_byte(&f.in) % 32 : 0);
    else if (b < 208) ask(b % 8);
    else if (b < 220) change(10 + b % 12, b >= 214 ? next_byte(&f.in) % 32 : 0);
    else if (b < 240) take_events(b % 3);
    else if (b < 245) free_slots();
    else if (b < 249) flush();
    else if (b < 251) aoi_keep_order(f.tested);
    else require_same_events();
    f.calls++;
    /* looking at everything takes time: in a crowd only now and then */
    if (f.ids <= 16 || f.calls % 16 == 0) {
        const char *wrong = aoi_check(f.tested);
        require(wrong == NULL, wrong);
    }
}

/* A crowd to begin with, so that short inputs already matter: positions and areas from one byte.  From 192 on everybody is
 * alike, one node each with the same reach, at distances whose sums are rounded: engines take short cuts then. */
static void populate(uint32_t b) {
    bool alike = b >= 192;
    static const double radii[] = {0, 1, 1.5, 2, 3, 5, 9, INFINITY};
    uint32_t state = b * 2654435761u + 1;
    for (uint32_t i = 0; b && i < f.ids; i++) {
        state = state * 1664525u + 1013904223u;
        if (state >> 30 == 0) continue;
        double unit = alike ? 0.1 : 1;
        double pos[3] = {unit * (state >> 8 & 7), unit * (state >> 11 & 7), unit * (state >> 14 & 3)};
        for (int w = 0; w < 2; w++) {
            aoi_entity e;
            require(aoi_enter(space(w), id_of(i), pos, state >> 17 & 3, &e) == AOI_OK, "an entity enters");
            for (uint32_t k = 0; k < (alike ? 1 : state >> 19 & 3); k++) {
                double r = alike ? unit * radii[b >> 2 & 7] : radii[(state >> (20 + 3 * k)) & 7];
                aoi_area a = {.radius = r,
                              .keep = !alike && state & 16 ? r + 2 : 0,
                              .mask = state & 32 ? 1 : AOI_ALL_KINDS,
                              .crosses = state & 128,
                              .shape = !alike && state & 64 ? AOI_CIRCLE : AOI_SQUARE};
                require(aoi_add_node(space(w), e, k, &a, NULL) == AOI_OK, "a node is added");
            }
        }
    }
    if (b & 1) take_events(b % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const double cells[] = {0, 0, 0, 1, 3, 0.1, 100, INFINITY};
    memset(&f, 0, sizeof f);
    f.in = (input){.at = data, .end = data + size};
    uint32_t engines = 0, b = next_byte(&f.in);
    while (aoi_engine_name((int)engines)) engines++;
    aoi_options o = {.engine = aoi_engine_name((int)(b % engines)), .dimensions = b & 128 ? 3 : 2, .alloc = host_alloc};
    b = next_byte(&f.in);
    o.cell = cells[b % 8];
    o.deferred = f.deferred = (b & 48) == 48;
    f.ids = b & 128 ? IDS : 12;
    if (b & 64) host_refuse(1 + b / 8 % 8, 1);
    int result = aoi_open(&o, &f.tested);
    if (host_relent() && result == AOI_ENOMEM) {
        require(host.used == 0, "nothing leaks where opening fails");
        result = aoi_open(&o, &f.tested);
    }
    require(result == AOI_OK, "a space opens");
    o.engine = "brute";
    o.alloc = NULL;
    require(aoi_open(&o, &f.brute) == AOI_OK, "a space opens");
    for (int w = 0; w < 2; w++) require(aoi_history_open(space(w), PAST, f.past + w) == AOI_OK, "a history opens");
    populate(next_byte(&f.in));
    while (f.in.at < f.in.end && f.calls < MOST_CALLS) step();
    const char *wrong = aoi_check(f.tested);
    require(wrong == NULL, wrong);
    take_events(0);
    aoi_close(f.tested);
    aoi_close(f.brute);
    require(host.used == 0 && host.blocks == 0, "nothing leaks");
    return 0;
}
