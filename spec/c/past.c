/* The history of a space: each allocation of opening, ticking and asking is refused once, or from then on.  What was
 * refused has changed nothing that can be asked; asked again, with memory, it is as if nothing had happened. */
#include "history/history.h"

#include "fixture.h"

enum { IDS = 20, TICKS = 5, STEPS = 120 };

typedef struct copy { /* of one tick */
    bool there[IDS];
    double pos[IDS][3], extent[IDS];
    uint64_t layers[IDS];
} copy;

static copy copies[STEPS + 1];

static void note(const aoi_space *s, copy *c) {
    for (int64_t id = 0; id < IDS; id++) {
        aoi_entity e = aoi_find(s, id);
        c->there[id] = aoi_position(s, e, c->pos[id]);
        (void)aoi_extent(s, e, c->extent + id);
        (void)aoi_layers(s, e, c->layers + id);
    }
}

static void expect_past(aoi_history *h, int now) {
    const int64_t *ids;
    size_t count;
    for (int ago = 0; ago <= TICKS && ago <= now; ago++) {
        const copy *c = copies + now - ago;
        size_t there = 0;
        for (int64_t id = 0; id < IDS; id++) {
            double p[3] = {0};
            bool was = aoi_history_position(h, (uint32_t)ago, id, p) == AOI_OK;
            EXPECT(was == c->there[id] && (!was || (p[0] == c->pos[id][0] && p[1] == c->pos[id][1])));
            double reach = 3 + c->extent[id];
            there += c->there[id] && c->layers[id] & 1 && fabs(c->pos[id][0]) <= reach &&
                     fabs(c->pos[id][1]) <= reach &&
                     (h->plugin.space->records.dims < 3 || fabs(c->pos[id][2]) <= reach);
        }
        aoi_area area = {.radius = 3, .layered = true, .layers = 1};
        EXPECT(aoi_history_near(h, (uint32_t)ago, (double[3]){0}, &area, &ids, &count) == AOI_OK && count == there);
    }
    EXPECT(aoi_check(h->plugin.space) == NULL);
}

/* A few calls of any kind; one that is refused memory changes nothing. */
static void change(aoi_space *s) {
    for (uint32_t n = random_below(8); n > 0; n--) {
        int64_t id = random_below(IDS);
        aoi_entity e = aoi_find(s, id);
        double pos[3] = {(double)random_below(9) - 4, (double)random_below(9) - 4, 0};
        uint32_t what = random_below(9);
        if (AOI_IS_NULL(e)) (void)aoi_enter(s, id, pos, 1, NULL);
        else if (what == 0) (void)aoi_leave(s, e);
        else if (what == 1) (void)aoi_set_kind(s, e, random_below(4));
        else if (what == 2) (void)aoi_set_layers(s, e, random_below(4));
        else if (what == 3) (void)aoi_set_extent(s, e, (double)(random_below(3) << random_below(4)));
        else if (what == 4) (void)aoi_attach(s, e, aoi_find(s, random_below(IDS)), (double[3]){1, -1, 0});
        else (void)aoi_move(s, e, pos);
    }
}

static void a_game(const setup *u, long n, long many) {
    aoi_space *s = open_space(u);
    aoi_history *h = NULL;
    int now = 0;
    for (int i = 0; i < 10; i++) change(s);
    host_refuse(n, many);
    int result = aoi_history_open(s, TICKS, &h);
    if (host_relent() && result == AOI_ENOMEM) result = aoi_history_open(s, TICKS, &h);
    EXPECT(result == AOI_OK);
    note(s, copies);
    expect_past(h, 0);
    while (now < STEPS) {
        if (random_below(4) == 0) host_refuse(n, many); /* noting in hooks is refused, too, and not reported */
        change(s);
        (void)host_relent();
        host_refuse(n, many);
        result = aoi_history_tick(h);
        if (host_relent() && result == AOI_ENOMEM) {
            expect_past(h, now);
            if (random_below(2)) change(s);
            result = aoi_history_tick(h);
        }
        EXPECT(result == AOI_OK);
        note(s, copies + ++now);
        const int64_t *ids;
        size_t count;
        aoi_area area = {.shape = AOI_CIRCLE, .radius = now % 3 ? 1 : 1 << now % 9};
        host_refuse(n, many);
        (void)aoi_history_near(h, 1, (double[3]){0}, &area, &ids, &count);
        (void)host_relent();
        expect_past(h, now);
    }
    if (random_below(2)) aoi_history_close(h);
    close_space(s);
}

/* Ids that are the same modulo 1,024 under a hash without a key stand in as many places as any others. */
static void crafted_ids_are_found_as_soon(void) {
    enum { CRAFTED = 200 };
    setup u = {"grid", 2, false};
    aoi_space *s = open_space(&u);
    aoi_history *h = NULL;
    uint32_t homes = 0, count = 0;
    bool taken[1024] = {false};
    for (int64_t id = 0; count < CRAFTED; id++)
        if ((aoi_hash64((uint64_t)id) & 1023) == 7 && ++count)
            EXPECT(aoi_enter(s, id, (double[3]){0}, 1, NULL) == AOI_OK);
    EXPECT(aoi_history_open(s, TICKS, &h) == AOI_OK);
    for (uint32_t i = 0; i < h->ids.size; i++) {
        uint32_t home = h->ids.slots[i].hash & 1023;
        if (h->ids.slots[i].value == AOI_NONE) continue;
        homes += !taken[home];
        taken[home] = true;
    }
    EXPECT(homes > CRAFTED / 2);
    close_space(s);
}

int main(void) {
    setup u = {"grid", 2, false};
    random_start("past");
    for (long n = 1; n < 12; n++) {
        u.deferred = n % 2;
        u.dims = n % 3 ? 2 : 3;
        expect_at("refused from %ld on", n);
        a_game(&u, n, 1);
        a_game(&u, n, HOST_FOR_EVER);
    }
    crafted_ids_are_found_as_soon();
    return expect_report("past");
}
