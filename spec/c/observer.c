/* Observers under memory that is refused: an observation is told completely, or not at all and then anew; and the order in
 * which observers and their space close.  What they tell is the business of spec/viewer/observer_spec.lua. */
#include "aoi_sight.h"
#include "fixture.h"

enum { PEOPLE = 40 };

static const double corners[] = {-3, -3, 3, -3, 0, 4};

static aoi_space *town(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_area areas[] = {
        {.shape = AOI_SQUARE, .radius = 4},
        {.shape = AOI_CIRCLE, .radius = 3, .margin = 1, .offset = {2, -1, 0}},
        {.shape = AOI_BOX, .extents = {2, 5, 1}},
        {.shape = AOI_SECTOR, .radius = 6, .facing = 1, .angle = 2, .half_height = INFINITY},
        {.shape = AOI_POLYGON, .points = corners, .corners = 3, .half_height = INFINITY},
    };
    for (int i = 0; i < PEOPLE; i++) {
        aoi_entity e = enter(s, i, i * 2);
        aoi_area a = areas[i % 5];
        a.mask = AOI_ALL_KINDS;
        EXPECT(aoi_add_node(s, e, 1, &a, NULL) == AOI_OK);
    }
    aoi_node n = aoi_find_node(s, aoi_find(s, 1), 1);
    for (int i = 2; i < 9; i++) EXPECT(aoi_override(s, n, aoi_find(s, i), AOI_HIDE) == AOI_OK);
    const double seat[3] = {1, 0, 0};
    for (int i = 10; i < 20; i++) {
        aoi_entity e = aoi_find(s, i);
        EXPECT(aoi_set_layers(s, e, 3) == AOI_OK && aoi_set_extent(s, e, i % 3) == AOI_OK);
        if (i % 3) EXPECT(aoi_attach(s, e, aoi_find(s, i - 1), seat) == AOI_OK);
    }
    aoi_sight *g = NULL;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    for (int i = 0; i < 5; i++)
        EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {i, 0}, .b = {i, 9}, .open = i & 1}, NULL) == AOI_OK);
    EXPECT(aoi_sight_add_node(g, aoi_find(s, 1), 2, areas, 3, NULL) == AOI_OK);
    return s;
}

static void stir(aoi_space *s, int round) {
    aoi_event e;
    for (int i = 0; i < PEOPLE; i += 3) {
        double at[3] = {i * 2 + round, round};
        EXPECT(aoi_move(s, aoi_find(s, i), at) == AOI_OK);
    }
    EXPECT(aoi_flush(s) == AOI_OK);
    while (aoi_next(s, &e)) continue;
}

static void expect_all(aoi_observer *o) {
    const unsigned char *bytes;
    size_t size;
    EXPECT(aoi_observe(o, &bytes, &size) == AOI_OK && size > 0 && bytes[0] == 'R');
}

static void refused(const setup *u) {
    const aoi_observer_options options = {.quantum = 0.25, .exact = true, .events = 100};
    const double lo[2] = {-INFINITY, -INFINITY}, hi[2] = {INFINITY, INFINITY};
    const unsigned char *bytes;
    size_t size;
    aoi_space *s = town(u);
    aoi_observer *o = NULL;
    host_refuse(1, 1);
    EXPECT(aoi_observer_open(s, &options, &o) == AOI_ENOMEM && !o);
    host_relent();
    for (long n = 1, refusals = 1; refusals; n++) { /* each request in turn, until there are no more */
        EXPECT(aoi_observer_open(s, &options, &o) == AOI_OK);
        stir(s, (int)n);
        host_refuse(n, 1);
        int result = aoi_observe(o, &bytes, &size);
        refusals = (long)host_relent();
        EXPECT(result == (refusals ? AOI_ENOMEM : AOI_OK));
        if (refusals) expect_all(o);
        EXPECT(aoi_observe(o, &bytes, &size) == AOI_OK && size == 0);
        EXPECT(!aoi_check(s));
        aoi_observer_close(o);
    }
    for (long n = 1, refusals = 1; refusals; n++) {
        EXPECT(aoi_observer_open(s, &options, &o) == AOI_OK);
        host_refuse(n, 1);
        int result = aoi_observe_structure(o, lo, hi, NULL, UINT32_MAX, &bytes, &size);
        refusals = (long)host_relent();
        EXPECT(result == (refusals ? AOI_ENOMEM : AOI_OK));
        EXPECT(aoi_observe_structure(o, lo, hi, NULL, UINT32_MAX, &bytes, &size) == AOI_OK && bytes[0] == 'G');
        expect_all(o);
        aoi_observer_close(o);
    }
    close_space(s);
}

/* An event that cannot be remembered is counted. */
static void dropped(const setup *u) {
    const unsigned char *bytes;
    size_t size;
    aoi_event e;
    aoi_space *s = open_space(u);
    aoi_observer *o = NULL;
    EXPECT(aoi_observer_open(s, &(aoi_observer_options){.events = 100}, &o) == AOI_OK);
    add_node(s, enter(s, 1, 0), 1, 5);
    enter(s, 2, 1);
    expect_all(o);
    EXPECT(aoi_flush(s) == AOI_OK);
    host_refuse(1, HOST_FOR_EVER);
    EXPECT(aoi_next(s, &e));
    host_relent();
    EXPECT(aoi_observe(o, &bytes, &size) == AOI_OK && size == 5 + 2 && bytes[0] == 'E');
    EXPECT(bytes[5] == 0 && bytes[6] == 1);
    aoi_observer_close(o);
    close_space(s);
}

/* A record that is free reads no place among those of movers, whatever batch its entity left in. */
static void left_together(const setup *u) {
    int64_t ids[PEOPLE];
    const unsigned char *bytes;
    size_t size;
    aoi_space *s = open_space(u);
    aoi_observer *o = NULL;
    EXPECT(aoi_observer_open(s, NULL, &o) == AOI_OK);
    for (int i = 0; i < PEOPLE; i++) enter(s, ids[i] = i, i);
    expect_all(o);
    EXPECT(aoi_leave_many(s, ids, PEOPLE, NULL) == AOI_OK);
    EXPECT(aoi_observe(o, &bytes, &size) == AOI_OK && size > 0 && bytes[0] == 'S');
    aoi_observer_close(o);
    close_space(s);
}

static void closing(const setup *u) {
    const unsigned char *bytes;
    size_t size;
    aoi_space *s = town(u);
    aoi_observer *o[3];
    for (int i = 0; i < 3; i++) EXPECT(aoi_observer_open(s, NULL, o + i) == AOI_OK);
    aoi_observer_close(o[1]);
    expect_all(o[0]);
    aoi_close(s);
    EXPECT(aoi_observe(o[0], &bytes, &size) == AOI_EGONE);
    EXPECT(aoi_observe_structure(o[2], (double[2]){0}, (double[2]){0}, NULL, 1, &bytes, &size) == AOI_EGONE);
    aoi_observer_close(o[2]);
    aoi_observer_close(o[0]);
    aoi_observer_close(NULL);
    EXPECT(host.used == 0 && host.blocks == 0);
}

int main(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        refused(&u);
        dropped(&u);
        left_together(&u);
        closing(&u);
    }
    return expect_report("observer");
}
