/* sight.c - fuzzes sights: bytes become calls, and every tick is compared with a loop over all walls.
 *
 *   bytes -> call -> space with a sight, now and then with memory refused, saved and loaded, recorded
 *                 -> model: [ walls ], what each node saw at the last tick  -> events, answers, rays
 *   record -> player -> the same events, and a space of the same bytes */
#include <stdlib.h>
#include <string.h>

#include "../spec/c/host.h"
#include "../spec/c/output.h"
#include "../spec/c/wall_rule.h"
#include "aoi_journal.h"
#include "aoi_sight.h"
#include "bytes.h"
#include "core/space.h"

enum { IDS = 10, NODES = 2, WALLS = 16, MOST_CALLS = 150, DATA = 42 };

typedef struct model_node {
    bool there, seen[IDS];
    int how[IDS];                /* overrides */
    uint32_t linger, clear[IDS]; /* last tick at which the target was seen without lingering */
} model_node;

static struct {
    input in;
    aoi_space *s;
    aoi_sight *g;
    int dims, calls;
    uint32_t tick;
    model_node nodes[IDS][NODES];
    struct {
        int64_t id; /* 0: there is none */
        aoi_wall w;
    } walls[WALLS];
    int balance[IDS][NODES][IDS]; /* enters less leaves that the next tick is to make */
    uint32_t events, played;
    int64_t sum, played_sum; /* of all events, whatever their order */
} f;

static void require(bool holds, const char *what) {
    if (holds && !expect_state.failures) return;
    fprintf(stderr, "call %d: %s\n", f.calls, holds ? "an expectation failed" : what);
    abort();
}

static aoi_entity entity(uint32_t i) {
    return aoi_find(f.s, i);
}

static void next_place(double *pos) {
    for (int a = 0; a < 3; a++) pos[a] = next_number(&f.in);
}

/* ---- model --------------------------------------------------------------------------------------------------------- */

static bool is_hidden(const double *w, const double *t) {
    bool hidden = false;
    for (int i = 0; i < WALLS && !hidden; i++) hidden = f.walls[i].id && wall_hides(&f.walls[i].w, f.dims, w, t);
    return hidden;
}

static bool is_clear(uint32_t i, uint32_t k, uint32_t t) {
    double w[3] = {0}, at[3] = {0};
    const aoi_node n = aoi_find_node(f.s, entity(i), k);
    if (!f.nodes[i][k].there || AOI_IS_NULL(entity(t)) || !aoi_sees(f.s, n, entity(t))) return false;
    (void)aoi_position(f.s, entity(i), w);
    (void)aoi_position(f.s, entity(t), at);
    return f.nodes[i][k].how[t] == AOI_SHOW || !is_hidden(w, at);
}

static void node_goes(uint32_t i, uint32_t k) {
    for (uint32_t t = 0; t < IDS; t++) f.balance[i][k][t] -= f.nodes[i][k].seen[t];
    f.nodes[i][k] = (model_node){0};
}

static void entity_goes(uint32_t t) {
    for (uint32_t k = 0; k < NODES; k++) node_goes(t, k);
    for (uint32_t i = 0; i < IDS; i++)
        for (uint32_t k = 0; k < NODES; k++) {
            f.balance[i][k][t] -= f.nodes[i][k].seen[t];
            f.nodes[i][k].seen[t] = false;
            f.nodes[i][k].how[t] = AOI_BY_RULE;
        }
}

static void model_tick(void) {
    f.tick++;
    for (uint32_t i = 0; i < IDS; i++)
        for (uint32_t k = 0; k < NODES; k++)
            for (uint32_t t = 0; t < IDS; t++) {
                model_node *n = f.nodes[i] + k;
                const bool clear = is_clear(i, k, t), was = n->seen[t];
                if (clear) n->clear[t] = f.tick;
                n->seen[t] = clear || (was && n->how[t] != AOI_HIDE && f.tick - n->clear[t] <= n->linger);
                f.balance[i][k][t] += n->seen[t] - was;
            }
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* Of an event, in sums that do not depend on the order. */
static int64_t weight(const aoi_event *e) {
    return e->kind * (1 + e->watcher * 1009 + e->node_id * 101 + e->target);
}

static void take_events(void) {
    aoi_event e;
    bool entered = false;
    while (aoi_sight_next(f.g, &e)) {
        entered |= e.kind == AOI_ENTER;
        require(!entered || e.kind == AOI_ENTER, "a leave comes behind an enter");
        require(e.user_data == DATA, "an event has other user data");
        f.balance[e.watcher][e.node_id][e.target] -= e.kind == AOI_ENTER ? 1 : -1;
        f.sum += weight(&e);
        f.events++;
    }
    for (uint32_t i = 0; i < IDS; i++)
        for (uint32_t k = 0; k < NODES; k++)
            for (uint32_t t = 0; t < IDS; t++) require(!f.balance[i][k][t], "a tick makes other events");
}

static void tick(void) {
    if (aoi_sight_tick(f.g) != AOI_OK) return; /* it is made up for */
    model_tick();
    take_events();
    const char *wrong = aoi_check(f.s);
    require(wrong == NULL, wrong);
}

/* Of one node: each target, and all of them. */
static void compare_node(uint32_t i, uint32_t k) {
    const model_node *n = f.nodes[i] + k;
    const aoi_node node = aoi_find_node(f.s, entity(i), k);
    const int64_t *ids;
    size_t count, seen = 0;
    aoi_sight_explanation why;
    aoi_area a = {0};
    require(aoi_area_of(f.s, node, &a) && a.user_data == DATA, "a node has other user data");
    for (uint32_t t = 0; t < IDS; t++) {
        const bool lingers = n->linger && n->seen[t] && n->how[t] != AOI_HIDE, clear = i != t && is_clear(i, k, t);
        const bool sees = aoi_sight_sees(f.g, node, entity(t));
        require(sees == (clear || (i != t && lingers)), "it sees something else");
        aoi_sight_explain(f.g, i, k, t, &why);
        require(why.e.sees == sees, "something else is explained");
        require(clear || i == t || !aoi_sees(f.s, node, entity(t)) || why.wall, "no wall is told that hides it");
        seen += sees;
    }
    if (aoi_sight_view(f.g, node, &ids, &count) == AOI_OK) require(count == seen, "others are in view");
}

static void compare(void) {
    double p[3] = {0}, q[3] = {0}, at[3];
    const int64_t *ids, *nodes;
    size_t count;
    for (uint32_t i = 0; i < IDS; i++)
        for (uint32_t k = 0; k < NODES; k++)
            if (f.nodes[i][k].there) compare_node(i, k);
    for (uint32_t t = 0; t < IDS; t++) {
        if (AOI_IS_NULL(entity(t)) || aoi_sight_viewers(f.g, entity(t), &ids, &nodes, &count) != AOI_OK) continue;
        for (size_t v = 0; v < count; v++)
            require(aoi_sight_sees(f.g, aoi_find_node(f.s, aoi_find(f.s, ids[v]), nodes[v]), entity(t)),
                    "a viewer does not see it");
    }
    for (int a = 0; a < f.dims; a++) p[a] = (double)choose(&f.in, 32) - 16, q[a] = (double)choose(&f.in, 32) - 16;
    require(!aoi_sight_ray(f.g, p, q, at) == !is_hidden(p, q), "a ray meets something else");
}

static void change_wall(uint32_t i, uint32_t what) {
    aoi_wall w = {.z0 = -INFINITY, .z1 = INFINITY, .open = what == 3};
    if (!f.walls[i].id) {
        w.a[0] = next_number(&f.in), w.a[1] = next_number(&f.in);
        w.b[0] = next_number(&f.in), w.b[1] = next_number(&f.in);
        if (what & 1) w.z0 = next_number(&f.in), w.z1 = next_number(&f.in);
        if (f.dims == 2) w.z0 = -INFINITY, w.z1 = INFINITY;
        if (aoi_sight_add_wall(f.g, &w, &f.walls[i].id) == AOI_OK) f.walls[i].w = w;
        else f.walls[i].id = 0;
    } else if (what < 2) {
        if (aoi_sight_remove_wall(f.g, f.walls[i].id) == AOI_OK) f.walls[i].id = 0;
    } else if (aoi_sight_open_wall(f.g, f.walls[i].id, what == 2) == AOI_OK) {
        f.walls[i].w.open = what == 2;
    }
}

static void put_node(uint32_t i, uint32_t k) {
    const double radius = fabs(next_number(&f.in));
    const uint32_t ticks = choose(&f.in, 4), linger = ticks < 3 ? ticks : UINT32_MAX, shape = choose(&f.in, 3);
    aoi_area a = {.radius = radius, .mask = AOI_ALL_KINDS, .user_data = DATA};
    a.shape = shape == 2 && f.dims == 2 ? AOI_SECTOR : shape ? AOI_CIRCLE : AOI_SQUARE;
    if (a.shape == AOI_SECTOR) a.facing = next_number(&f.in), a.angle = 2;
    else a.keep = choose(&f.in, 2) ? radius + 2 : 0;
    if (aoi_sight_add_node(f.g, entity(i), k, &a, linger, NULL) == AOI_OK)
        f.nodes[i][k] = (model_node){.there = true, .linger = linger};
}

static void change(uint32_t what) {
    const uint32_t i = choose(&f.in, IDS), k = choose(&f.in, NODES), t = choose(&f.in, IDS);
    const aoi_node n = aoi_find_node(f.s, entity(i), k);
    double pos[3];
    switch (what) {
    case 0:
        if (aoi_leave(f.s, entity(i)) == AOI_OK) entity_goes(i);
        break;
    case 1:
        if (aoi_remove_node(f.s, n) == AOI_OK) node_goes(i, k);
        break;
    case 2:
        put_node(i, k);
        break;
    case 3: {
        const int how = (int)choose(&f.in, 4);
        if (aoi_override(f.s, n, entity(t), how) == AOI_OK && f.nodes[i][k].there) f.nodes[i][k].how[t] = how;
        break;
    }
    case 4:
        (void)aoi_set_radius(f.s, n, fabs(next_number(&f.in)), 0);
        break;
    case 5:
    case 6:
        change_wall(choose(&f.in, WALLS), choose(&f.in, 4));
        break;
    default:
        next_place(pos);
        if (AOI_IS_NULL(entity(i))) (void)aoi_enter(f.s, i, pos, 1, NULL);
        else (void)aoi_move(f.s, entity(i), pos);
    }
}

static bool give_data(void *ud, aoi_loaded_node *n) {
    (void)ud;
    n->user_data = DATA;
    return true;
}

/* Goes on in a copy. */
static void replace(void) {
    output o = save(f.s);
    const char *fault = NULL;
    aoi_close(f.s);
    require(aoi_load(o.bytes, o.size, &(aoi_load_options){.node = give_data, .alloc = host_alloc}, &f.s, &fault) ==
                AOI_OK,
            "it is not loaded");
    require(aoi_sight_open(f.s, NULL, &f.g) == AOI_OK, "no sight is taken over");
    output_free(&o);
}

static void step(void) {
    const uint32_t b = next_byte(&f.in);
    if (b >= 244) host_refuse(1 + b % 4, 1);
    if (b < 190 || b >= 244) change(b % 10);
    else if (b < 230) tick();
    else if (b < 242) compare();
    else if (!f.s->journal) replace();
    (void)host_relent();
    f.calls++;
}

/* ---- the record ---------------------------------------------------------------------------------------------------- */

static void play(const output *record, const output *end) {
    aoi_player *p = NULL;
    aoi_space *s = NULL;
    const char *fault = NULL;
    const aoi_load_options o = {.alloc = host_alloc};
    aoi_step st = {.call = AOI_STEP_MARK};
    aoi_event e = {0};
    require(aoi_play_open(record->bytes, record->size, &o, &p, &fault) == AOI_OK, "the record is refused");
    require(aoi_play_start(p, 0, &o, &s, &fault) == AOI_OK, "the record does not begin");
    while (st.call != AOI_STEP_END) {
        do {
            require(aoi_play_next(p, s, &e) == AOI_OK, "an event is not played");
            f.played += e.kind != 0;
            if (e.kind) f.played_sum += weight(&e);
        } while (e.kind);
        require(aoi_play_step(p, s, &o, &st) == AOI_OK, "a call is not played");
    }
    require(f.played == f.events && f.played_sum == f.sum, "other events are played");
    output again = save(s);
    require(output_same(end, &again), "another space is played");
    output_free(&again);
    aoi_close(s);
    aoi_play_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    output record = {0};
    aoi_journal *j = NULL;
    memset(&f, 0, sizeof f);
    f.in = (input){.at = data, .end = data + size};
    uint32_t engines = 0, b = next_byte(&f.in);
    while (aoi_engine_name((int)engines)) engines++;
    f.dims = b & 128 ? 3 : 2;
    const bool records = (b & 64) != 0;
    aoi_options o = {.engine = aoi_engine_name((int)(b % engines)), .dimensions = f.dims, .alloc = host_alloc};
    o.deferred = (b & 32) != 0;
    require(aoi_open(&o, &f.s) == AOI_OK && aoi_sight_open(f.s, NULL, &f.g) == AOI_OK, "a sight opens");
    for (uint32_t i = 0; b & 16 && i < IDS; i++) { /* so that short inputs matter */
        const double pos[3] = {i % 4, i / 4, i % 3};
        require(aoi_enter(f.s, i, pos, 1, NULL) == AOI_OK, "an entity enters");
        put_node(i, 0);
    }
    if (records)
        require(aoi_journal_start(f.s, &(aoi_journal_options){.write = output_write, .ud = &record}, &j) == AOI_OK,
                "no record");
    while (f.in.at < f.in.end && f.calls < MOST_CALLS) step();
    tick();
    compare();
    if (records) {
        output end = save(f.s);
        require(aoi_journal_stop(j) == AOI_OK, "the record does not end");
        play(&record, &end);
        output_free(&end);
    }
    aoi_close(f.s);
    output_free(&record);
    require(host.used == 0 && host.blocks == 0, "nothing leaks");
    return 0;
}
