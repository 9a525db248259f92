/* What a tick of a deferred space takes of memory.  What memory that is refused does to it is in faults.c. */
#include "fixture.h"

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
        a_tick_takes_little_memory(&u);
    }
    return expect_report("deferred");
}
