/* Deferred spaces, in every engine: moves are noted, judged when they are asked for, and told as net change.  What memory
 * that is refused does to them is in faults.c. */
#include "fixture.h"

static bool moves(aoi_space *s, aoi_entity e, double x) {
    return aoi_move(s, e, (double[3]){x}) == AOI_OK;
}

/* A deferred space looks when it is asked: net change, leaves first, behind what has its order already. */
static void moves_wait(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1), c = enter(s, 3, 20), d = enter(s, 4, 30);
    add_node(s, a, 1, 5);
    EXPECT(aoi_flush(s) == AOI_OK);
    expect_event(s, AOI_ENTER, 1, 1, 2);
    expect_silence(s);
    EXPECT(moves(s, b, 20) && moves(s, c, 0) && moves(s, d, 2) && moves(s, d, 40) && moves(s, d, 3));
    EXPECT(aoi_pending(s) > 0 && stands_at(s, b, 20) && stands_at(s, d, 3)); /* noted, and told when asked for */
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 3);
    expect_event(s, AOI_LEAVE, 1, 1, 2);
    aoi_take_all(s);
    EXPECT(moves(s, b, 0) && moves(s, b, 20) && aoi_flush(s) == AOI_OK); /* there and back: nothing */
    expect_silence(s);
    EXPECT(moves(s, b, 0) && aoi_sees(s, aoi_first_node(s, a), b)); /* a question has the moves judged */
    EXPECT(aoi_pending(s) == 1 && moves(s, b, 20) && aoi_flush(s) == AOI_OK);
    expect_silence(s);
    EXPECT(moves(s, b, 0) && aoi_flush(s) == AOI_OK);
    aoi_keep_order(s); /* this enter stays in front */
    EXPECT(moves(s, c, 20) && aoi_set_kind(s, d, 0) == AOI_OK && moves(s, c, 1) && moves(s, c, 25));
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 3);
    expect_event(s, AOI_ENTER, 1, 1, 2);
    EXPECT(moves(s, b, 50) && aoi_leave(s, b) == AOI_OK && aoi_flush(s) == AOI_OK && aoi_pending(s) == 3);
    aoi_take_all(s);
    EXPECT(moves(s, a, 25) && moves(s, c, 100) && aoi_check(s) == NULL && aoi_flush(s) == AOI_OK);
    expect_silence(s);
    close_space(s);
}

/* What a node with a margin holds on to is what it saw at the last delivery, whatever it saw in between. */
static void margins_hold_what_was_delivered(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_node n = {0, 0};
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 7);
    EXPECT(aoi_add_node(s, a, 1, &(aoi_area){.radius = 5, .margin = 3, .mask = 1}, &n) == AOI_OK);
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 0);
    EXPECT(moves(s, b, 3) && aoi_sees(s, n, b) && moves(s, b, 7) && !aoi_sees(s, n, b)); /* it was never told */
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 0);
    EXPECT(moves(s, b, 3) && aoi_flush(s) == AOI_OK);
    expect_event(s, AOI_ENTER, 1, 1, 2);
    EXPECT(moves(s, b, 9) && !aoi_sees(s, n, b) && moves(s, b, 7) && aoi_sees(s, n, b)); /* its leave was never told */
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 0 && aoi_check(s) == NULL);
    EXPECT(moves(s, a, -10) && !aoi_sees(s, n, b) && moves(s, a, 0) && aoi_sees(s, n, b));
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 0);
    EXPECT(moves(s, b, 9) && aoi_flush(s) == AOI_OK);
    expect_event(s, AOI_LEAVE, 1, 1, 2);
    EXPECT(moves(s, b, 7) && !aoi_sees(s, n, b));
    EXPECT(aoi_flush(s) == AOI_OK && aoi_pending(s) == 0 && aoi_check(s) == NULL);
    close_space(s);
}

/* One of so many moves a little, by calls or as rows; then one look.  What the tick took at most, beside events: nobody
 * hears any. */
static size_t tick_memory(aoi_space *s, size_t people, size_t every, double step, bool rows) {
    static aoi_row batch[2000];
    size_t n = 0, before = host.peak = host.used;
    for (size_t id = 0; id < people; id += every) {
        aoi_entity e = aoi_find(s, (int64_t)id);
        aoi_row *r = batch + n++;
        r->id = (int64_t)id;
        EXPECT(aoi_position(s, e, r->pos));
        for (int a = 0; a < 2; a++) r->pos[a] += step;
        if (!rows) EXPECT(aoi_move(s, e, r->pos) == AOI_OK);
    }
    EXPECT(!rows || aoi_move_many(s, batch, n, NULL) == AOI_OK);
    EXPECT(aoi_flush(s) == AOI_OK);
    return (host.peak - before) / n;
}

static void a_tick_takes_little_memory(const setup *u) {
    enum { PEOPLE = 2000, MOST = 64 };
    aoi_space *s = open_space(u);
    for (int64_t id = 0; id < PEOPLE; id++) {
        aoi_entity e;
        double at[3] = {(double)random_below(10000) / 10, (double)random_below(10000) / 10, (double)random_below(100)};
        EXPECT(aoi_enter(s, id, at, 1, &e) == AOI_OK);
        EXPECT(aoi_add_node(s, e, 1, &(aoi_area){.radius = 50, .mask = 1, .silent = true}, NULL) == AOI_OK);
    }
    for (int i = 0; i < 10; i++) { /* the first ones to let the index grow; then few move, so that all is given back */
        size_t every = i % 4 < 2 ? 1 : 2, took = tick_memory(s, PEOPLE, every, i & 1 ? -1 : 1, i % 3 == 0);
        expect_at("%s %dD, tick %d: %u bytes a mover", u->engine, u->dims, i, (unsigned)took);
        EXPECT(i < 2 || took <= MOST);
        (void)tick_memory(s, PEOPLE, PEOPLE, 0.01, false);
    }
    close_space(s);
}

int main(void) {
    random_start("deferred");
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        u.deferred = true;
        moves_wait(&u);
        margins_hold_what_was_delivered(&u);
        a_tick_takes_little_memory(&u);
    }
    return expect_report("deferred");
}
