/* Fault injection: each allocation of each call fails once; n = 1, 2, 3 ... until the call makes fewer than n.
 *
 *   a history of random calls    c0 c1 c2 ... ck ...
 *   for each k and n             a fresh space, c0 .. c(k-1), then ck with the n-th allocation refused
 *
 * Refused once, or from then on, so that undoing cannot need memory either. The space must then be as it was, the
 * queued events in their order, and ck must do afterwards what it does in a space without refusals. Nothing may leak.
 *
 * A deferred space may have judged some of its moves by then: its events then come in another order.
 *
 * The order of the events of ck may differ: it follows from where an index keeps its entries, which is not observable
 * otherwise. Restoring the place of every entry would need a copy of what each call touches, on every call, for the
 * sake of one that fails. */
#include "aoi_sight.h"
#include "aoi_sync.h"
#include "calls.h"

static bool same(const text *expected, aoi_space *s, bool in_order) {
    text now = dump(s, in_order);
    bool equal = dump_same(expected, &now);
    text_free(&now);
    return equal;
}

static const char *ticks(const setup *u) {
    return u->deferred ? ", deferred" : "";
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void opening(const setup *u) {
    aoi_options o = options_of(u);
    for (long many = 1; many <= HOST_FOR_EVER; many += HOST_FOR_EVER - 1)
        for (long n = 1;; n++) {
            aoi_space *s = NULL;
            host_refuse(n, many);
            int result = aoi_open(&o, &s);
            if (!host_relent()) {
                EXPECT(result == AOI_OK && n > 1);
                close_space(s);
                break;
            }
            EXPECT(result == AOI_ENOMEM && s == NULL && host.used == 0);
        }
}

/* ---- one call after a history ------------------------------------------------------------------------------------ */

static aoi_space *play(const setup *u, const call *calls, size_t n) {
    aoi_space *s = open_space(u);
    for (size_t i = 0; i < n; i++) make_call(s, calls + i);
    return s;
}

typedef struct outcome { /* of a call where nothing is refused */
    int result;
    text before, after, after_sorted;
} outcome;

/* Does call k with the n-th allocation refused; false when it did not need that many. */
static bool refuse(const setup *u, const call *calls, size_t k, const outcome *wanted, long n, long many) {
    aoi_space *s = play(u, calls, k);
    expect_at("%s %dD%s, call %d %s, allocation %ld%s", u->engine, u->dims, ticks(u), (int)k, verb_names[calls[k].verb],
              n, many > 1 ? " and on" : "");
    host_refuse(n, many);
    int result = make_call(s, calls + k);
    bool refused = host_relent() > 0, again = refused && result == AOI_ENOMEM; /* else it could do without */
    if (again) {
        EXPECT(same(&wanted->before, s, !u->deferred));
        result = make_call(s, calls + k);
    }
    EXPECT(result == wanted->result);
    EXPECT(again || u->deferred ? same(&wanted->after_sorted, s, false) : same(&wanted->after, s, true));
    close_space(s);
    return refused;
}

static outcome look_ahead(const setup *u, const call *calls, size_t k) {
    outcome o = {0};
    aoi_space *s = play(u, calls, k);
    o.before = dump(s, !u->deferred);
    close_space(s);
    s = play(u, calls, k);
    o.result = make_call(s, calls + k);
    o.after = dump(s, true);
    o.after_sorted = dump(s, false);
    close_space(s);
    return o;
}

/* ---- histories --------------------------------------------------------------------------------------------------- */

static unsigned long refusals[VERBS];

static void refuse_all(const setup *u, const call *calls, size_t first, size_t length) {
    for (size_t k = first; k < length; k++) {
        outcome o = look_ahead(u, calls, k);
        for (long n = 1; refuse(u, calls, k, &o, n, 1); n++) {
            refusals[calls[k].verb] += !u->deferred;
            refuse(u, calls, k, &o, n, HOST_FOR_EVER);
        }
        text_free(&o.before);
        text_free(&o.after);
        text_free(&o.after_sorted);
    }
}

static void history(const setup *u, uint32_t entities, size_t length) {
    call *calls = calloc(length, sizeof *calls);
    if (!calls) abort();
    aoi_space *s = open_space(u);
    for (size_t i = 0; i < length; i++) {
        calls[i] = random_call(entities);
        make_possible(s, calls + i);
        make_call(s, calls + i);
    }
    close_space(s);
    refuse_all(u, calls, 0, length);
    free(calls);
}

/* A scene whose last call concerns far more than any before it, so that whatever it fills has to grow: CROWD entities
 * came to one spot one by one, and each carries a node. */
enum { CROWD = 40 };

static void scene(const setup *u, verb last, int shape, bool counted) {
    call *calls = calloc(4 * CROWD + 2, sizeof *calls);
    size_t n = 0;
    if (!calls) abort();
    aoi_area all = {.radius = 5, .mask = AOI_ALL_KINDS, .shape = shape}, nothing = all;
    nothing.mask = counted ? 4 : 0; /* no entity has that kind */
    calls[n++] = (call){.verb = ENTER, .id = 0, .bits = 1};
    /* 0 carries three nodes; the first sees everybody, or nobody before the last call */
    bool wakes = last == SET_RADIUS || last == SET_MASK || last == SET_AREA;
    for (int64_t k = 0; k < 3; k++) {
        calls[n++] = (call){.verb = ADD_NODE, .id = 0, .node_id = k, .area = wakes ? nothing : all};
        if (last == SET_FACING) /* away from the others */
            calls[n - 1].area = (aoi_area){.shape = AOI_SECTOR, .mask = 1, .radius = 5, .facing = 2, .angle = 1};
        if (last == SET_RADIUS) calls[n - 1].area = (aoi_area){.radius = 0.5, .mask = AOI_ALL_KINDS, .shape = shape};
    }
    for (int64_t id = 1; id < CROWD; id++) {
        calls[n++] = (call){.verb = ENTER, .id = id, .bits = 1, .n = 1, .rows = {{.pos = {1, -1, 1}}}};
        if (last != CHECK && last != VIEW)
            calls[n++] = (call){.verb = ADD_NODE, .id = id, .area = {.radius = 2, .mask = 8, .shape = shape}};
        if (last == VIEWERS) calls[n - 1].area.mask = AOI_ALL_KINDS;
    }
    for (int64_t id = 1; id < CROWD && last == OVERRIDES; id++)
        calls[n++] = (call){.verb = OVERRIDE, .bits = AOI_HIDE, .rows = {{.id = id}}};
    call *c = calls + n++;
    *c = (call){.verb = last, .bits = last == SET_KIND ? 8 : AOI_ALL_KINDS, .area = all};
    if (is_batch(last))
        for (int64_t id = 0; id < CROWD; id++)
            c->rows[c->n++] = (aoi_row){.id = last == ENTER_MANY ? id + CROWD : id, .pos = {(double)(id % 3) * 4 - 50}};
    if (last == SET_FACING) c->area.facing = -0.78; /* towards them */
    if (last == OVERRIDE) c->bits = AOI_HIDE, c->rows[0].id = 1;
    if (last == MOVE) c->rows[0].pos[0] = 1000;
    if (last == ATTACH) c->rows[0].id = 1, c->rows[1].pos[0] = 1000; /* a carrier, and an offset from it */
    if (last == ADD_NODE_MANY) c->node_id = 9;
    if (last == ROW_BUFFER) c->n = CROWD;
    refuse_all(u, calls, n - 1, n);
    free(calls);
}

static void scenes(const setup *u) {
    for (int v = 0; v < VERBS; v++) {
        scene(u, (verb)v, AOI_SQUARE, false);
        scene(u, (verb)v, AOI_CIRCLE, true);
    }
}

/* Long, and without looking back: refused at random, repeated until it works, compared with a space of plenty. What was
 * refused may leave lists in another order, so events are compared as sets and taken all at once. */
static void endurance(const setup *u, uint32_t entities, int length) {
    aoi_space *poor = open_space(u), *rich = NULL;
    aoi_options o = options_of(u);
    o.alloc = NULL;
    EXPECT(aoi_open(&o, &rich) == AOI_OK);
    for (int i = 0; i < length; i++) {
        call c = random_call(entities);
        if (c.verb == NEXT || c.verb == DRAIN) c.verb = TAKE_ALL;
        make_possible(rich, &c);
        c.area.silent = c.area.silent && !u->deferred; /* its margin holds what it saw when it was judged */
        if (c.verb == TAKE_ALL) EXPECT(aoi_flush(rich) == AOI_OK && aoi_flush(poor) == AOI_OK);
        expect_at("%s %dD%s, endurance, call %d %s", u->engine, u->dims, ticks(u), i, verb_names[c.verb]);
        int wanted = make_call(rich, &c), result;
        for (long n = 1 + (long)random_below(4);; n++) {
            host_refuse(n, random_below(2) ? 1 : HOST_FOR_EVER);
            result = make_call(poor, &c);
            if (!host_relent() || result != AOI_ENOMEM) break;
            if (random_below(4) == 0) EXPECT(aoi_check(poor) == NULL);
        }
        EXPECT(result == wanted);
        if (i % 20 == 0 || i == length - 1) {
            text expected = dump(rich, false);
            EXPECT(same(&expected, poor, false));
            text_free(&expected);
        }
    }
    close_space(poor);
    aoi_close(rich);
}

/* Batches of hundreds in a crowd, with no memory at all: how far they come depends on what is left over in the engine's
 * own pools, and taking back has to do with that. */
static void crowd(const setup *u, int batches) {
    enum { PEOPLE = 500, ROWS = 250 };
    static aoi_row rows[ROWS];
    aoi_space *s = open_space(u);
    int refused = 0;
    for (int64_t id = 0; id < PEOPLE; id++) {
        double pos[3] = {random_below(40), random_below(40), random_below(40)};
        aoi_entity e;
        EXPECT(aoi_enter(s, id, pos, 1, &e) == AOI_OK);
        if (id % 25 == 0) add_node(s, e, 1, 1 + (double)random_below(4));
        if (id % 50 == 0)
            EXPECT(aoi_add_node(s, e, 2, &(aoi_area){.radius = 2, .keep = 3, .mask = 1, .label = "keeps"}, NULL) ==
                   AOI_OK);
    }
    aoi_take_all(s);
    for (int i = 0; i < batches; i++) {
        double spread = random_below(3) ? 40 : 4 + random_below(300);
        for (size_t k = 0; k < ROWS; k++) {
            rows[k].id = random_below(PEOPLE);
            for (int a = 0; a < 3; a++) rows[k].pos[a] = (double)random_below(1000) * spread / 1000;
        }
        expect_at("%s %dD, crowd, batch %d", u->engine, u->dims, i);
        text before = i % 10 == 0 ? dump(s, true) : (text){0};
        host_refuse(1 + (long)random_below(3), HOST_FOR_EVER);
        int result = aoi_move_many(s, rows, ROWS, NULL);
        refused += host_relent() > 0;
        if (result != AOI_OK) {
            EXPECT(result == AOI_ENOMEM && aoi_check(s) == NULL);
            if (before.bytes) EXPECT(same(&before, s, true));
            EXPECT(aoi_move_many(s, rows, ROWS, NULL) == AOI_OK);
        }
        text_free(&before);
        aoi_take_all(s);
    }
    EXPECT(aoi_check(s) == NULL && refused > 0);
    close_space(s);
}

/* Everything is where it was: told from the records, without a call that would put the index right. */
static bool same_places(aoi_space *a, aoi_space *b) {
    const int64_t *ids;
    size_t n;
    bool same = aoi_count(a) == aoi_count(b) && aoi_ids(b, &ids, &n) == AOI_OK;
    for (size_t i = 0; same && i < n; i++) {
        double p[3] = {0}, q[3] = {0};
        same = aoi_position(a, aoi_find(a, ids[i]), p) && aoi_position(b, aoi_find(b, ids[i]), q) &&
               !memcmp(p, q, sizeof p);
    }
    return same;
}

/* Batches that are refused while there is no memory at all, and calls after them for which there is none either: a call
 * that returns AOI_OK has happened, in a space of plenty as well, and no other has. */
static void hard_times(const setup *u, int length) {
    enum { ENTITIES = 80 };
    aoi_space *poor = open_space(u), *rich = NULL;
    aoi_options o = options_of(u);
    unsigned refused = 0, managed = 0;
    o.alloc = NULL;
    EXPECT(aoi_open(&o, &rich) == AOI_OK);
    for (int i = 0; i < length; i++) {
        bool hard = i % 40 >= 15;
        call c = random_call(ENTITIES);
        if (hard && random_below(4) == 0) c.verb = MOVE_MANY, c.n = MOST_ROWS;
        if (c.verb == NEXT || c.verb == DRAIN || c.verb == TAKE_ALL) c.verb = hard ? MOVE : TAKE_ALL;
        make_possible(rich, &c);
        if (c.verb == TAKE_ALL) EXPECT(aoi_flush(poor) == AOI_OK && aoi_flush(rich) == AOI_OK);
        c.area.silent = c.area.silent && !u->deferred; /* its margin holds what it saw when it was judged */
        expect_at("%s %dD%s, hard times, call %d %s", u->engine, u->dims, ticks(u), i, verb_names[c.verb]);
        if (hard) host_refuse(1 + (long)random_below(3), HOST_FOR_EVER); /* another sequence each time */
        int result = make_call(poor, &c);
        refused += host_relent();
        EXPECT(hard || result != AOI_ENOMEM);
        if (result == AOI_ENOMEM) EXPECT(same_places(poor, rich));
        else EXPECT(make_call(rich, &c) == result);
        managed += hard && result == AOI_OK;
        if (i % 40 != 39) continue;
        text expected = dump(rich, false);
        EXPECT(same(&expected, poor, false));
        text_free(&expected);
    }
    EXPECT(refused > 0 && managed > 0);
    close_space(poor);
    aoi_close(rich);
}

/* Moves of plain nodes with an empty queue, which need no undo log, one by one or in ticks in which all move a little, which
 * an engine may handle as a whole: each allocation of theirs refused. */
static void plain_moves(const setup *u, bool ticks) {
    enum { MOST = 200 };
    static aoi_row rows[MOST];
    const uint32_t people = ticks ? MOST : 40;
    aoi_space *s = open_space(u);
    unsigned refused = 0;
    for (uint32_t id = 0; id < people; id++) {
        rows[id] = (aoi_row){id, {random_below(people / 5), random_below(people / 5), 0}};
        aoi_entity e;
        EXPECT(aoi_enter(s, id, rows[id].pos, 1, &e) == AOI_OK);
        add_node(s, e, 1, 3);
    }
    aoi_take_all(s);
    for (int i = 0, steps = (int)random_steps(ticks ? 40 : 300); i < steps; i++) {
        const uint32_t one = random_below(people);
        const double far = i % 3 ? 0 : 1000.0 * (i + 1); /* to an empty place, and back among the others */
        for (uint32_t k = ticks ? 0 : one; k < (ticks ? people : one + 1); k++) {
            double *pos = rows[k].pos; /* a little eastwards, to new places */
            pos[0] = ticks ? pos[0] + 0.1 * random_below(5) : far + random_below(10);
            pos[1] = ticks ? pos[1] + 0.1 * random_below(5) - 0.2 : far + random_below(10);
        }
        text before = dump(s, true);
        int result = AOI_ENOMEM;
        for (long n = 1; result == AOI_ENOMEM; n++) {
            expect_at("%s %dD, plain %s %d, request %ld", u->engine, u->dims, ticks ? "tick" : "move", i, n);
            host_refuse(n, 1);
            if (ticks) result = aoi_move_many(s, rows, people, NULL);
            else result = aoi_move(s, aoi_find(s, one), rows[one].pos);
            refused += host_relent();
            if (result == AOI_ENOMEM) EXPECT(aoi_check(s) == NULL && same(&before, s, true));
        }
        EXPECT(result == AOI_OK && (!ticks || aoi_pending(s)) && aoi_check(s) == NULL);
        text_free(&before);
        aoi_take_all(s);
    }
    EXPECT(refused > 0 || (!ticks && !strcmp(u->engine, "brute")));
    close_space(s);
}

/* Closing a synchroniser and a sight needs no memory, whatever waits to be judged: their nodes are gone. */
static void closing(const setup *u, int rounds) {
    enum { PEOPLE = 30 };
    unsigned refused = 0;
    for (int round = 0; round < rounds; round++) {
        const aoi_area area = {.radius = random_below(4), .margin = random_below(6), .mask = AOI_ALL_KINDS};
        aoi_space *s = open_space(u);
        aoi_sync *y = NULL;
        aoi_sight *g = NULL;
        EXPECT(aoi_sync_open(s, &(aoi_sync_options){0}, &y) == AOI_OK && aoi_sight_open(s, NULL, &g) == AOI_OK);
        for (int64_t id = 0; id < PEOPLE; id++) {
            aoi_entity e = enter(s, id, (double)random_below(12));
            if (id % 4 == 0) add_node(s, e, 1, 3);
            if (id % 3 == 0) EXPECT(aoi_sync_add(y, e, &area, 1, NULL) == AOI_OK);
            if (id % 5 == 0) EXPECT(aoi_sight_add_node(g, e, 2, &area, 0, NULL) == AOI_OK);
        }
        for (int i = 0; i < 60; i++) {
            if (i % 20 == 0)
                EXPECT(aoi_flush(s) == AOI_OK && aoi_sync_begin(y) == AOI_OK && aoi_sight_tick(g) == AOI_OK);
            if (i > 50) host_refuse(1 + (long)random_below(3), HOST_FOR_EVER);
            (void)aoi_move(s, aoi_find(s, random_below(PEOPLE)), (double[3]){random_below(12), random_below(3), 0});
        }
        expect_at("%s %dD%s, closing, round %d", u->engine, u->dims, ticks(u), round);
        host_refuse(1, HOST_FOR_EVER);
        aoi_sync_close(y);
        aoi_sight_close(g);
        refused += host_relent();
        aoi_stats stats;
        aoi_read_stats(s, &stats);
        EXPECT(stats.nodes == (PEOPLE + 3) / 4 && aoi_check(s) == NULL);
        close_space(s);
    }
    EXPECT(refused > 0);
}

int main(void) {
    setup u;
    random_start("faults");
    for (int i = 0; every_setup(i, &u); i++) {
        opening(&u);
        scenes(&u);
        for (int deferred = 0; deferred < 2; deferred++) {
            u.deferred = deferred;
            history(&u, 6, 60);
            history(&u, 60, 120);
            endurance(&u, 50, (int)random_steps(1500));
            for (int k = 0; k < 4; k++) hard_times(&u, (int)random_steps(2500));
            closing(&u, 10);
        }
        u.deferred = false;
        crowd(&u, (int)random_steps(200));
        for (int ticks = 0; ticks < 2; ticks++) plain_moves(&u, ticks);
    }
    for (int v = 0; v < VERBS; v++) { /* whatever can need memory was refused some */
        bool frugal = v == NEXT || v == DRAIN || v == TAKE_ALL || v == FLUSH || v == KEEP_ORDER || v == NEXT_FREED ||
                      v == EXPLAIN;
        expect_at("%s", verb_names[v]);
        EXPECT((refusals[v] == 0) == frugal);
    }
    return expect_report("faults");
}
