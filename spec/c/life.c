/* The life of the API, call by call, from C alone: results, handles, errors, who owns what. */
#include "fixture.h"

#include <math.h>

static const aoi_area five = {.radius = 5, .mask = AOI_ALL_KINDS};

static bool same_dump(const text *before, aoi_space *s) {
    text now = dump(s, true);
    bool same = dump_same(before, &now);
    text_free(&now);
    return same;
}

static void options_are_checked(void) {
    aoi_space *s = NULL;
    const aoi_options bad[] = {{.engine = "crystal ball"}, {.engine = ""}, {.dimensions = 1}, {.dimensions = 4},
                               {.dimensions = -2},         {.cell = -1},   {.cell = NAN},     {.cell = -INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(aoi_open(bad + i, &s) == AOI_EVALUE);
        EXPECT(s == NULL);
    }
    EXPECT(aoi_open(&(aoi_options){0}, &s) == AOI_OK); /* everything by default, on the host's own memory */
    EXPECT(aoi_dimensions(s) == 2);
    EXPECT(aoi_enter(s, 1, (double[2]){1, 2}, 1, NULL) == AOI_OK);
    aoi_close(s);
    aoi_close(NULL);
    EXPECT(aoi_engine_name(-1) == NULL && aoi_engine_name(1000) == NULL);
}

static void any_cell_will_do(void) {
    const double cells[] = {0, 1e-300, 5e-324, 0.1, 1, 1e6, 1e300, INFINITY};
    for (int i = 0; aoi_engine_name(i); i++)
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
            aoi_space *s = NULL;
            expect_at("%s, cell %g", aoi_engine_name(i), cells[k]);
            aoi_options o = {.engine = aoi_engine_name(i), .cell = cells[k], .alloc = host_alloc};
            if (!EXPECT(aoi_open(&o, &s) == AOI_OK)) continue;
            aoi_entity e = enter(s, 1, 3);
            add_node(s, e, 1, 5);
            aoi_entity t = enter(s, 2, 1e9);
            EXPECT(aoi_move(s, t, (double[2]){8, -5}) == AOI_OK);
            EXPECT(aoi_check(s) == NULL);
            expect_event(s, AOI_ENTER, 1, 1, 2);
            expect_silence(s);
            close_space(s);
        }
}

static void a_space_from_beginning_to_end(const setup *u) {
    aoi_space *s = open_space(u);
    EXPECT(aoi_count(s) == 0 && aoi_dimensions(s) == u->dims);
    aoi_entity a = enter(s, 10, 0), b = enter(s, -20, 3);
    EXPECT(a && b && a != b && aoi_find(s, 10) == a && aoi_find(s, -20) == b && aoi_find(s, 11) == 0);
    EXPECT(aoi_first_node(s, a) == 0);
    aoi_node n = add_node(s, a, 7, 5), wide = add_node(s, a, 8, INFINITY);
    EXPECT(aoi_find_node(s, a, 7) == n && aoi_find_node(s, a, 9) == 0 && aoi_find_node(s, b, 7) == 0);
    EXPECT(aoi_first_node(s, a) == wide && aoi_following_node(s, wide) == n && aoi_following_node(s, n) == 0);
    expect_event(s, AOI_ENTER, 10, 7, -20);
    expect_event(s, AOI_ENTER, 10, 8, -20);
    expect_silence(s);
    EXPECT(aoi_sees(s, n, b) && !aoi_sees(s, n, a) && aoi_sees(s, wide, b));

    EXPECT(aoi_move(s, b, (double[3]){5.5}) == AOI_OK);
    expect_event(s, AOI_LEAVE, 10, 7, -20);
    EXPECT(aoi_set_radius(s, n, 5.5, 0) == AOI_OK);
    expect_event(s, AOI_ENTER, 10, 7, -20);
    EXPECT(aoi_set_mask(s, n, 6) == AOI_OK);
    expect_event(s, AOI_LEAVE, 10, 7, -20);
    EXPECT(aoi_set_kind(s, b, 2) == AOI_OK);
    expect_event(s, AOI_ENTER, 10, 7, -20);
    EXPECT(aoi_remove_node(s, wide) == AOI_OK);
    expect_event(s, AOI_LEAVE, 10, 8, -20);
    EXPECT(aoi_leave(s, b) == AOI_OK);
    expect_event(s, AOI_LEAVE, 10, 7, -20);
    EXPECT(aoi_leave(s, a) == AOI_OK);
    expect_silence(s);
    EXPECT(aoi_count(s) == 0 && aoi_check(s) == NULL);
    close_space(s);
}

static void answers(const setup *u) {
    aoi_space *s = open_space(u);
    const int64_t *ids, *nodes;
    size_t count;
    aoi_entity a = enter(s, 1, -0.0), b = enter(s, 2, 1);
    aoi_node n = add_node(s, a, 3, 1), keeps = 0;
    EXPECT(aoi_add_node(s, b, 4, &(aoi_area){.radius = 2, .keep = 3, .mask = 1, .shape = AOI_CIRCLE, .silent = true},
                        &keeps) == AOI_OK);
    EXPECT(aoi_view(s, n, &ids, &count) == AOI_OK && count == 1 && ids[0] == 2);
    EXPECT(aoi_view(s, keeps, &ids, &count) == AOI_OK && count == 1 && ids[0] == 1);
    EXPECT(aoi_viewers(s, b, &ids, &nodes, &count) == AOI_OK && count == 1 && ids[0] == 1 && nodes[0] == 3);
    EXPECT(aoi_viewers(s, a, &ids, &nodes, &count) == AOI_OK && count == 1 && ids[0] == 2 && nodes[0] == 4);
    EXPECT(aoi_near(s, (double[3]){2}, 1, AOI_ALL_KINDS, &ids, &count) == AOI_OK && count == 1 && ids[0] == 2);
    EXPECT(aoi_near(s, (double[3]){0}, INFINITY, 1, &ids, &count) == AOI_OK && count == 2);
    EXPECT(aoi_near(s, (double[3]){0}, INFINITY, 2, &ids, &count) == AOI_OK && count == 0);
    EXPECT(aoi_ids(s, &ids, &count) == AOI_OK && count == 2 && ids[0] + ids[1] == 3);
    const double *p = aoi_position(s, a);
    EXPECT(p[0] == 0 && signbit(p[0])); /* the very numbers that were set */
    EXPECT(aoi_move(s, a, (double[3]){0.0}) == AOI_OK && !signbit(aoi_position(s, a)[0]));
    aoi_area area;
    EXPECT(aoi_area_of(s, keeps, &area) && area.radius == 2 && area.keep == 3 && area.mask == 1);
    EXPECT(area.shape == AOI_CIRCLE && area.silent);
    EXPECT(aoi_area_of(s, n, &area) && area.keep == 1 && !area.silent);
    expect_event(s, AOI_ENTER, 1, 3, 2); /* and nothing from the silent one */
    expect_silence(s);
    close_space(s);
}

/* All calls that take handles, with handles that are null, stale, or of something else. */
static void refuse_handle(aoi_space *s, aoi_entity e, aoi_node n) {
    const int64_t *ids, *nodes;
    size_t count;
    uint64_t kind;
    int64_t node_id;
    aoi_area a;
    double p[3] = {0};
    EXPECT(aoi_move(s, e, p) == AOI_EGONE);
    EXPECT(aoi_leave(s, e) == AOI_EGONE);
    EXPECT(aoi_set_kind(s, e, 1) == AOI_EGONE);
    EXPECT(aoi_add_node(s, e, 1, &five, NULL) == AOI_EGONE);
    EXPECT(aoi_remove_node(s, n) == AOI_EGONE);
    EXPECT(aoi_set_radius(s, n, 1, 0) == AOI_EGONE);
    EXPECT(aoi_set_mask(s, n, 1) == AOI_EGONE);
    EXPECT(aoi_view(s, n, &ids, &count) == AOI_EGONE);
    EXPECT(aoi_viewers(s, e, &ids, &nodes, &count) == AOI_EGONE);
    EXPECT(aoi_find_node(s, e, 1) == 0 && aoi_first_node(s, e) == 0 && aoi_following_node(s, n) == 0);
    EXPECT(aoi_position(s, e) == NULL && !aoi_kind(s, e, &kind));
    EXPECT(!aoi_area_of(s, n, &a) && !aoi_node_id(s, n, &node_id) && !aoi_sees(s, n, e));
}

static void handles_go_stale(const setup *u) {
    aoi_space *s = open_space(u);
    refuse_handle(s, 0, 0); /* in an empty space */
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1);
    aoi_node n = add_node(s, a, 1, 5), m = add_node(s, a, 2, 5);
    EXPECT(aoi_remove_node(s, m) == AOI_OK);
    EXPECT(!aoi_sees(s, m, b) && aoi_sees(s, n, b));
    EXPECT(aoi_leave(s, a) == AOI_OK);
    aoi_take_all(s);
    const uint64_t bad[] = {0, 1, a, UINT64_MAX, UINT32_MAX, (uint64_t)UINT32_MAX << 32, (a & UINT32_MAX) | a << 33};
    text before = dump(s, true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuse_handle(s, bad[i], n);
        refuse_handle(s, bad[i], m);
        EXPECT(same_dump(&before, s));
    }
    aoi_entity again = enter(s, 1, 0); /* the same id, in a slot that was used before: a new handle */
    aoi_node node_again = add_node(s, again, 1, 0.5);
    EXPECT(again != a && node_again != n && node_again != m);
    refuse_handle(s, a, n);
    EXPECT(aoi_find(s, 1) == again && aoi_find_node(s, again, 1) == node_again);
    EXPECT(aoi_position(s, b)[0] == 1);
    text_free(&before);
    close_space(s);
}

static void bad_values_change_nothing(const setup *u) {
    aoi_space *s = open_space(u);
    const int64_t *ids;
    size_t count;
    aoi_entity a = enter(s, 1, 0);
    aoi_node n = add_node(s, a, 1, 5);
    enter(s, 2, 1);
    text before = dump(s, true);
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3 * u->dims; i++) {
        double p[3] = {0};
        p[i % u->dims] = bad[i / u->dims];
        EXPECT(aoi_enter(s, 3, p, 1, NULL) == AOI_EVALUE);
        EXPECT(aoi_move(s, a, p) == AOI_EVALUE);
        EXPECT(aoi_near(s, p, 1, 1, &ids, &count) == AOI_EVALUE);
        aoi_row rows[2] = {{.id = 1, .pos = {7, 7, 7}}, {.id = 2, .pos = {p[0], p[1], p[2]}}};
        size_t row = 9;
        EXPECT(aoi_move_many(s, rows, 2, &row) == AOI_EVALUE && row == 1);
        rows[0].id = 3;
        rows[1].id = 4;
        EXPECT(aoi_enter_many(s, rows, 2, 1, &row) == AOI_EVALUE && row == 1);
        EXPECT(same_dump(&before, s));
    }
    if (u->dims == 2) { /* the third coordinate is not read */
        EXPECT(aoi_move(s, a, (double[3]){0, 0, NAN}) == AOI_OK);
    }
    const double radii[][2] = {{-1, 0}, {-5e-324, 0}, {NAN, 0}, {-INFINITY, 0}, {5, 4}, {5, -1}, {5, NAN}, {0, NAN}};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        EXPECT(aoi_set_radius(s, n, radii[i][0], radii[i][1]) == AOI_EVALUE);
        aoi_area area = {.radius = radii[i][0], .keep = radii[i][1], .mask = 1};
        EXPECT(aoi_add_node(s, a, 2, &area, NULL) == AOI_EVALUE);
    }
    EXPECT(aoi_add_node(s, a, 2, &(aoi_area){.radius = 1, .mask = 1, .shape = 2}, NULL) == AOI_EVALUE);
    EXPECT(aoi_near(s, (double[3]){0}, -1, 1, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_near(s, (double[3]){0}, NAN, 1, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_enter(s, 1, (double[3]){9}, 1, NULL) == AOI_EEXIST);
    EXPECT(aoi_add_node(s, a, 1, &five, NULL) == AOI_EEXIST);
    EXPECT(same_dump(&before, s));
    text_free(&before);
    close_space(s);
}

static void batches_are_checked_first(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0);
    add_node(s, a, 1, 5);
    enter(s, 2, 1);
    text before = dump(s, true);
    size_t row = 9;
    aoi_row unknown[] = {{.id = 2, .pos = {50}}, {.id = 3, .pos = {1}}};
    EXPECT(aoi_move_many(s, unknown, 2, &row) == AOI_EGONE && row == 1);
    EXPECT(aoi_move_many(s, unknown, 2, NULL) == AOI_EGONE);
    aoi_row known[] = {{.id = 7, .pos = {1}}, {.id = 2, .pos = {1}}};
    EXPECT(aoi_enter_many(s, known, 2, 1, &row) == AOI_EEXIST && row == 1);
    aoi_row twice[] = {{.id = 7, .pos = {1}}, {.id = 8, .pos = {1}}, {.id = 7, .pos = {2}}};
    EXPECT(aoi_enter_many(s, twice, 3, 1, &row) == AOI_EEXIST && row == 2);
    EXPECT(aoi_enter_many(s, twice, 3, 1, NULL) == AOI_EEXIST);
    EXPECT(same_dump(&before, s));
    EXPECT(aoi_move_many(s, NULL, 0, NULL) == AOI_OK && aoi_enter_many(s, NULL, 0, 1, NULL) == AOI_OK);
    EXPECT(same_dump(&before, s));
    text_free(&before);
    aoi_take_all(s);

    EXPECT(aoi_enter_many(s, twice, 2, 1, &row) == AOI_OK);
    EXPECT(aoi_pending(s) == 2);
    aoi_row away[] = {{.id = 7, .pos = {90}}, {.id = 8, .pos = {90}}, {.id = 7, .pos = {2}}}; /* 7 comes back in it */
    EXPECT(aoi_move_many(s, away, 3, &row) == AOI_OK);
    EXPECT(aoi_pending(s) == 1); /* net: 7 entered, 8 neither */
    expect_event(s, AOI_ENTER, 1, 1, 7);
    aoi_row *buffer = aoi_row_buffer(s, 1000);
    EXPECT(buffer != NULL);
    if (buffer) memset(buffer, 0, 1000 * sizeof *buffer);
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

static void positions_may_come_from_the_space_itself(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity first = enter(s, 0, 42);
    for (int64_t id = 1; id < 200; id++) { /* its memory moves in the meantime */
        EXPECT(aoi_enter(s, id, aoi_position(s, first), 1, NULL) == AOI_OK);
        EXPECT(aoi_position(s, aoi_find(s, id))[0] == 42);
    }
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

static void events_can_be_read_first(const setup *u) {
    enum { TARGETS = 50 };
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 0, 0);
    for (int64_t id = 1; id <= TARGETS; id++) enter(s, id, (double)id / TARGETS);
    add_node(s, a, 1, 5);
    aoi_event peeked[TARGETS], e;
    uint32_t cursor = 0;
    size_t n = 0, more;
    while (n < TARGETS && (more = aoi_peek(s, &cursor, peeked + n, 7)) > 0) n += more;
    EXPECT(n == TARGETS && aoi_pending(s) == TARGETS);
    for (size_t i = 0; i < TARGETS; i++) {
        EXPECT(aoi_next(s, &e));
        EXPECT(e.kind == peeked[i].kind && e.target == peeked[i].target && e.slot == peeked[i].slot);
    }
    expect_silence(s);
    EXPECT(aoi_remove_node(s, aoi_first_node(s, a)) == AOI_OK);
    EXPECT(aoi_pending(s) == TARGETS);
    aoi_take_all(s);
    expect_silence(s);
    aoi_stats st;
    aoi_read_stats(s, &st);
    EXPECT(st.events == 2 * TARGETS && st.pending == 0 && st.entities == TARGETS + 1 && st.nodes == 0);
    EXPECT(st.memory == host.used);
    close_space(s);
}

/* A slot is told free once, when its node is gone and its last event taken, and until then nobody else gets it. */
static void slots_are_told_when_free(const setup *u) {
    aoi_space *s = open_space(u);
    uint32_t slot = 99, kept = aoi_next_slot(s);
    aoi_entity a = enter(s, 1, 0);
    EXPECT(!aoi_next_freed(s, &slot));
    aoi_node n = add_node(s, a, 1, 5);
    EXPECT(aoi_next_slot(s) != kept);
    enter(s, 2, 1);
    expect_event(s, AOI_ENTER, 1, 1, 2);
    EXPECT(aoi_remove_node(s, n) == AOI_OK);
    EXPECT(aoi_pending(s) == 1 && !aoi_next_freed(s, &slot) && aoi_next_slot(s) != kept);
    aoi_event e = {0};
    EXPECT(aoi_next(s, &e) && e.slot == kept);
    EXPECT(aoi_next_freed(s, &slot) && slot == kept && !aoi_next_freed(s, &slot));
    EXPECT(aoi_next_slot(s) == kept);
    close_space(s);
}

static void whoever_has_no_handle_need_not_ask(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0);
    uint32_t slot, most = 0;
    for (int i = 0; i < 1000; i++) { /* slots are used again, though nobody asks which are free */
        slot = aoi_next_slot(s);
        if (slot > most) most = slot;
        EXPECT(aoi_remove_node(s, add_node(s, a, 1, 5)) == AOI_OK);
    }
    EXPECT(most == 0);
    close_space(s);
}

static void leaves_come_first(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1), c = enter(s, 3, 20);
    add_node(s, a, 1, 5);
    aoi_take_all(s);
    EXPECT(aoi_move(s, a, (double[3]){20}) == AOI_OK);
    expect_event(s, AOI_LEAVE, 1, 1, 2);
    expect_event(s, AOI_ENTER, 1, 1, 3);
    for (int asked = 0; asked < 2; asked++) { /* over two calls, only where that is asked for */
        EXPECT(aoi_move(s, b, (double[3]){20}) == AOI_OK);
        EXPECT(aoi_move(s, c, (double[3]){0}) == AOI_OK);
        if (asked) aoi_leaves_first(s);
        EXPECT(aoi_check(s) == NULL);
        if (asked) expect_event(s, AOI_LEAVE, 1, 1, 3);
        expect_event(s, AOI_ENTER, 1, 1, 2);
        if (!asked) expect_event(s, AOI_LEAVE, 1, 1, 3);
        expect_silence(s);
        aoi_leaves_first(s);
        EXPECT(aoi_move(s, b, (double[3]){0}) == AOI_OK && aoi_move(s, c, (double[3]){20}) == AOI_OK);
        aoi_take_all(s);
    }
    EXPECT(aoi_move(s, b, (double[3]){20}) == AOI_OK);
    aoi_keep_order(s); /* and this enter stays in front */
    EXPECT(aoi_move(s, c, (double[3]){0}) == AOI_OK);
    aoi_leaves_first(s);
    expect_event(s, AOI_ENTER, 1, 1, 2);
    expect_event(s, AOI_LEAVE, 1, 1, 3);
    close_space(s);
}

static void the_ends_of_the_integers_are_ids(const setup *u) {
    const int64_t ids[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1, INT64_C(1) << 32};
    enum { N = sizeof ids / sizeof *ids };
    aoi_space *s = open_space(u);
    for (size_t i = 0; i < N; i++) add_node(s, enter(s, ids[i], (double)i), ids[N - 1 - i], 0.5);
    EXPECT(aoi_count(s) == N);
    for (size_t i = 0; i < N; i++) {
        aoi_entity e = aoi_find(s, ids[i]);
        EXPECT(e && aoi_position(s, e)[0] == (double)i && aoi_find_node(s, e, ids[N - 1 - i]));
        EXPECT(aoi_find_node(s, e, 77) == 0);
    }
    EXPECT(aoi_check(s) == NULL);
    for (size_t i = 0; i < N; i++) EXPECT(aoi_leave(s, aoi_find(s, ids[i])) == AOI_OK);
    close_space(s);
}

int main(void) {
    setup u;
    RUN(options_are_checked);
    RUN(any_cell_will_do);
    for (int i = 0; every_setup(i, &u); i++) {
        a_space_from_beginning_to_end(&u);
        answers(&u);
        handles_go_stale(&u);
        bad_values_change_nothing(&u);
        batches_are_checked_first(&u);
        positions_may_come_from_the_space_itself(&u);
        events_can_be_read_first(&u);
        slots_are_told_when_free(&u);
        whoever_has_no_handle_need_not_ask(&u);
        leaves_come_first(&u);
        the_ends_of_the_integers_are_ids(&u);
    }
    return expect_report("life");
}
