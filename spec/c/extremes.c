/* Areas and questions as large and as small as may be: infinite and half infinite areas, squares that underflow, places
 * where rounding is as large as the area, in every engine. */
#include "fixture.h"

#include <math.h>

/* Where neighbouring doubles are 1/8 apart, what a rectangle holds after rounding may be outside of the circle. */
static void far_from_the_origin(const setup *u, int shape) {
    static const double far = 1e15, step = 0.125, radii[] = {1.1, 1.42, 1.5, 1.9, 2.2, 2.9, 3.3, 4.4, 5.7, 8.1};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        aoi_space *s = open_space(u);
        double at[3] = {far, -far, 0};
        aoi_entity e[2];
        bool was = true;
        EXPECT(aoi_enter(s, 1, at, 1, e) == AOI_OK && aoi_enter(s, 2, at, 1, e + 1) == AOI_OK);
        EXPECT(aoi_add_node(s, e[0], 1, &(aoi_area){.radius = radii[i] * step / 2, .mask = 1, .shape = shape}, NULL) ==
               AOI_OK);
        expect_event(s, AOI_ENTER, 1, 1, 2);
        for (int k = 0; k < 300; k++) {
            double to[3] = {far + step * random_below(5), -far + step * random_below(5), 0};
            EXPECT(aoi_move(s, e[random_below(2)], to) == AOI_OK);
            bool is = aoi_sees(s, aoi_first_node(s, e[0]), e[1]);
            if (was != is) expect_event(s, is ? AOI_ENTER : AOI_LEAVE, 1, 1, 2);
            expect_silence(s);
            was = is;
        }
        EXPECT(aoi_check(s) == NULL);
        close_space(s);
    }
}

/* A margin so large that the box around it all is as large as an index gets: inside it the area's own borders count. */
static void small_areas_with_huge_margins(const setup *u) {
    static const aoi_area areas[] = {{.shape = AOI_BOX, .extents = {1, 8, 9}, .margin = 0x1p50},
                                     {.shape = AOI_BOX, .extents = {3, 2, 9}, .margin = 1e12},
                                     {.radius = 3, .keep = 0x1p50},
                                     {.radius = 3, .keep = 1e6, .shape = AOI_CIRCLE},
                                     {.radius = 3, .keep = 0x1p50, .shape = AOI_CIRCLE},
                                     {.radius = 3, .margin = 4000, .shape = AOI_SECTOR, .angle = 2, .half_height = 9}};
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        aoi_space *s = open_space(u);
        aoi_area area = areas[i];
        aoi_node n = {0, 0};
        aoi_entity e[12];
        bool saw[12] = {false};
        area.mask = 1;
        for (int k = 0; k < 12; k++) e[k] = enter(s, k, 100 + k);
        EXPECT(aoi_add_node(s, e[0], 1, &area, &n) == AOI_OK);
        for (int step = 0; step < 400; step++) {
            uint32_t k = random_below(4) ? random_below(12) : 0;
            double to[3] = {random_below(13), random_below(13), 0};
            expect_at("%s %dD, huge margin %d, step %d", u->engine, u->dims, (int)i, step);
            EXPECT(aoi_move(s, e[k], to) == AOI_OK);
            for (aoi_event event; aoi_next(s, &event);) saw[event.target] = event.kind == AOI_ENTER;
            for (int t = 1; t < 12; t++) EXPECT(saw[t] == aoi_sees(s, n, e[t]));
            if (step == 200) EXPECT(aoi_set_area(s, n, &(aoi_area){.radius = 0.5, .mask = 1}) == AOI_OK);
            if (step == 202) EXPECT(aoi_set_area(s, n, &area) == AOI_OK);
        }
        EXPECT(aoi_check(s) == NULL);
        close_space(s);
    }
}

/* Positions are read as far as there are dimensions: here they are blocks of just that size. */
static void no_more_is_read_than_there_is(const setup *u) {
    aoi_space *s = open_space(u);
    const int64_t *ids;
    size_t count;
    size_t size = (size_t)u->dims * sizeof(double);
    double *at = malloc(size);
    if (!at) abort();
    for (int i = 0; i < u->dims; i++) at[i] = 3;
    aoi_entity e;
    EXPECT(aoi_enter(s, 1, at, 1, &e) == AOI_OK && aoi_move(s, e, at) == AOI_OK && aoi_position(s, e, at));
    for (int shape = AOI_SQUARE; shape <= AOI_POLYGON; shape++) {
        static const double triangle[] = {-2, -2, 2, -2, 0, 3};
        aoi_area area = {.shape = shape, .radius = 1, .angle = 1, .points = triangle, .corners = 3};
        bool good = shape != AOI_CYLINDER || u->dims == 3;
        EXPECT(aoi_near(s, at, &area, &ids, &count) == (good ? AOI_OK : AOI_EVALUE) && (!good || count == 1));
    }
    EXPECT(aoi_nearest(s, at, 4, 1, 0, &ids, &count) == AOI_OK && count == 1);
    free(at);
    close_space(s);
}

/* Radii whose squares are 0, or as large as may be: the answer follows from the formula, whatever was asked before. */
static void nearest_of_extreme_radii(const setup *u) {
    static const struct {
        double x, radius;
        size_t count;
    } cases[] = {{1e-170, 0, 2},      {1e-170, 1e-200, 2}, {1e-150, 0, 1},
                 {0x1p50, 0x1p50, 2}, {0x1p50, 0x1p49, 1}, {3, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoi_space *s = open_space(u);
        const int64_t *ids;
        size_t count;
        enter(s, 1, 0);
        enter(s, 2, cases[i].x);
        for (int64_t id = 3; id < 40; id++)
            EXPECT(aoi_enter(s, id, (double[3]){0x1p50, (double)id}, 1, NULL) == AOI_OK);
        for (int k = 0; k < 3; k++) {
            expect_at("%s %dD, the nearest within %g, %d", u->engine, u->dims, cases[i].radius, k);
            EXPECT(aoi_nearest(s, (double[3]){0}, 2, cases[i].radius, 0, &ids, &count) == AOI_OK);
            EXPECT(count == cases[i].count && ids[0] == 1 && (count == 1 || ids[1] == 2));
            EXPECT(aoi_nearest(s, (double[3]){0}, k ? 1 : 50, INFINITY, 0, &ids, &count) == AOI_OK);
        }
        close_space(s);
    }
}

/* A sector so small that squares of floats underflow is left all the same. */
static void sectors_that_floats_cannot_square(const setup *u) {
    static const double places[] = {5.48e-23, 4.7e-21, 1e-30};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        aoi_space *s = open_space(u);
        aoi_area area = {.shape = AOI_SECTOR, .mask = 1, .radius = places[i] / 60, .angle = 3, .half_height = INFINITY};
        aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 0);
        EXPECT(aoi_add_node(s, a, 1, &area, NULL) == AOI_OK);
        expect_event(s, AOI_ENTER, 1, 1, 2);
        EXPECT(aoi_move(s, b, (double[3]){places[i]}) == AOI_OK);
        expect_event(s, AOI_LEAVE, 1, 1, 2);
        close_space(s);
    }
}

/* Many move, one leaves a large area. */
static void large_areas(const setup *u) {
    enum { MANY = 300 };
    aoi_space *s = open_space(u);
    aoi_entity first = {0};
    aoi_row rows[MANY];
    aoi_area large = {.mask = 1, .radius = 5e14};
    for (int i = 0; i < MANY; i++) {
        double x = i == 0 ? 1e15 : i == 1 ? 5e14 + 5e9 : i * 3e12, y = i < 2 ? 1e15 : i * 1e12;
        aoi_entity e;
        rows[i] = (aoi_row){i, {x, y, 0}};
        EXPECT(aoi_enter(s, i, rows[i].pos, 1, &e) == AOI_OK);
        if (i) EXPECT(aoi_add_node(s, e, 1, &(aoi_area){.mask = 2, .radius = 1e10}, NULL) == AOI_OK);
        else first = e;
    }
    EXPECT(aoi_add_node(s, first, 1, &large, NULL) == AOI_OK);
    expect_event(s, AOI_ENTER, 0, 1, 1);
    expect_silence(s);
    for (int i = 1; i < MANY; i++) rows[i].pos[0] -= 1e10;
    EXPECT(aoi_move_many(s, rows, MANY, NULL) == AOI_OK);
    expect_event(s, AOI_LEAVE, 0, 1, 1);
    expect_silence(s);
    close_space(s);
}

/* The sides of a polygon may be so short that their squares are 0. */
static void polygons_with_next_to_no_side(const setup *u) {
    enum { MANY = 40 };
    static const double points[] = {-10, -10, 10, 0, 10, 1e-170, -10, 10};
    aoi_area area = {.shape = AOI_POLYGON, .mask = 1, .points = points, .corners = 4, .half_height = INFINITY};
    aoi_space *s = open_space(u);
    aoi_row rows[MANY];
    for (int i = 0; i < MANY; i++) {
        aoi_entity e;
        rows[i] = (aoi_row){i, {i, i % 7, 0}};
        EXPECT(aoi_enter(s, i, rows[i].pos, 1, &e) == AOI_OK && aoi_add_node(s, e, 1, &area, NULL) == AOI_OK);
        rows[i].pos[0] += 1;
    }
    EXPECT(aoi_move_many(s, rows, MANY, NULL) == AOI_OK && aoi_check(s) == NULL);
    close_space(s);
}

/* A watcher beside the crowd that moves looks over both ends of as many lines as there can be. */
static void watched_from_beside(void) {
    enum { MANY = 400000, STEP = 1000 };
    setup u = {.engine = "grid", .dims = 2, .deferred = true};
    aoi_space *s = open_space(&u);
    aoi_row *rows = malloc(MANY * sizeof *rows);
    size_t seen, left = 0, n;
    aoi_event events[256];
    if (!rows) abort();
    for (int i = 0; i < MANY; i++)
        rows[i] = (aoi_row){
            i, {i ? random_below(1 << 20) * 0x1p-20 * 10 : -900, i ? random_below(1 << 20) * 0x1p-20 * 10 : 5}};
    EXPECT(aoi_enter_many(s, rows, MANY, 1, NULL) == AOI_OK);
    aoi_entity guard = aoi_find(s, 0);
    EXPECT(aoi_add_node(s, guard, 1, &(aoi_area){.mask = 1, .radius = 1000}, NULL) == AOI_OK && aoi_flush(s) == AOI_OK);
    for (seen = 0; (n = aoi_drain(s, events, 256));) seen += n;
    EXPECT(seen == MANY - 1);
    for (int i = 1; i < MANY; i++) {
        rows[i].pos[0] = random_below(1 << 20) * 0x1p-20 * 10 + (i % STEP ? 0 : 100);
        rows[i].pos[1] = random_below(1 << 20) * 0x1p-20 * 10;
    }
    EXPECT(aoi_move_many(s, rows + 1, MANY - 1, NULL) == AOI_OK && aoi_flush(s) == AOI_OK);
    while ((n = aoi_drain(s, events, 256)))
        for (size_t i = 0; i < n; i++) left += events[i].kind == AOI_LEAVE;
    EXPECT(left == (MANY - 1) / STEP);
    free(rows);
    close_space(s);
}

int main(void) {
    setup u;
    random_start("extremes");
    for (int i = 0; every_setup(i, &u); i++) {
        sectors_that_floats_cannot_square(&u);
        large_areas(&u);
        polygons_with_next_to_no_side(&u);
        far_from_the_origin(&u, AOI_CIRCLE);
        if (u.dims == 3) far_from_the_origin(&u, AOI_CYLINDER);
        small_areas_with_huge_margins(&u);
        no_more_is_read_than_there_is(&u);
        nearest_of_extreme_radii(&u);
    }
    watched_from_beside();
    return expect_report("extremes");
}
