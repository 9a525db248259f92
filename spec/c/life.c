/* The C API call by call: results, handles, errors, ownership. */
#include "core/space.h"

#include "fixture.h"

#include <math.h>

static const aoi_area five = {.radius = 5, .mask = AOI_ALL_KINDS};

static bool same_dump(const text *before, aoi_space *s) {
    text now = dump(s, true);
    bool same = dump_same(before, &now);
    text_free(&now);
    return same;
}

static void the_library_names_itself_and_its_results(void) {
    char version[40];
    EXPECT(!strcmp(aoi_version(), AOI_VERSION));
    (void)snprintf(version, sizeof version, "%d.%d.%d", AOI_VERSION_MAJOR, AOI_VERSION_MINOR, AOI_VERSION_PATCH);
    EXPECT(!strcmp(aoi_version(), version));
    for (int r = AOI_OK; r <= AOI_EVALUE; r++) {
        const char *phrase = aoi_result_text(r);
        EXPECT(phrase && strlen(phrase) > 5 && strcmp(phrase, aoi_result_text(-1)) != 0);
        for (int other = AOI_OK; other < r; other++) EXPECT(strcmp(phrase, aoi_result_text(other)) != 0);
    }
    EXPECT(!strcmp(aoi_result_text(AOI_ENOMEM), "not enough memory"));
    EXPECT(aoi_result_text(1000) && !strcmp(aoi_result_text(1000), aoi_result_text(INT32_MIN)));
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
    EXPECT(!AOI_IS_NULL(a) && !AOI_IS_NULL(b) && !AOI_EQUALS(a, b));
    EXPECT(AOI_EQUALS(aoi_find(s, 10), a) && AOI_EQUALS(aoi_find(s, -20), b) && AOI_IS_NULL(aoi_find(s, 11)));
    EXPECT(AOI_IS_NULL(aoi_first_node(s, a)));
    aoi_node n = add_node(s, a, 7, 5), wide = add_node(s, a, 8, INFINITY);
    EXPECT(AOI_EQUALS(aoi_find_node(s, a, 7), n) && AOI_IS_NULL(aoi_find_node(s, a, 9)));
    EXPECT(AOI_IS_NULL(aoi_find_node(s, b, 7)));
    EXPECT(AOI_EQUALS(aoi_first_node(s, a), wide) && AOI_EQUALS(aoi_next_node(s, wide), n));
    EXPECT(AOI_IS_NULL(aoi_next_node(s, n)));
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
    aoi_node n = add_node(s, a, 3, 1), keeps = {0, 0};
    EXPECT(aoi_add_node(s, b, 4, &(aoi_area){.radius = 2, .keep = 3, .mask = 1, .shape = AOI_CIRCLE, .silent = true},
                        &keeps) == AOI_OK);
    EXPECT(aoi_view(s, n, &ids, &count) == AOI_OK && count == 1 && ids[0] == 2);
    EXPECT(aoi_view(s, keeps, &ids, &count) == AOI_OK && count == 1 && ids[0] == 1);
    EXPECT(aoi_viewers(s, b, &ids, &nodes, &count) == AOI_OK && count == 1 && ids[0] == 1 && nodes[0] == 3);
    EXPECT(aoi_viewers(s, a, &ids, &nodes, &count) == AOI_OK && count == 1 && ids[0] == 2 && nodes[0] == 4);
    EXPECT(aoi_near(s, (double[3]){2}, &(aoi_area){.radius = 1}, &ids, &count) == AOI_OK && count == 1 && ids[0] == 2);
    EXPECT(aoi_near(s, (double[3]){0}, &(aoi_area){.radius = INFINITY, .mask = 1}, &ids, &count) == AOI_OK &&
           count == 2);
    EXPECT(aoi_near(s, (double[3]){0}, &(aoi_area){.radius = INFINITY, .mask = 2}, &ids, &count) == AOI_OK &&
           count == 0);
    EXPECT(aoi_ids(s, &ids, &count) == AOI_OK && count == 2 && ids[0] + ids[1] == 3);
    double p[4] = {9, 9, 9, 9};
    EXPECT(aoi_position(s, a, p) && p[0] == 0 && signbit(p[0])); /* the very numbers that were set */
    EXPECT(p[2] == (u->dims == 3 ? 0 : 9) && p[3] == 9);         /* and no more than there are dimensions */
    EXPECT(aoi_move(s, a, (double[3]){0.0}) == AOI_OK && aoi_position(s, a, p) && !signbit(p[0]));
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
    EXPECT(aoi_set_area(s, n, &five) == AOI_EGONE && aoi_set_facing(s, n, 1) == AOI_EGONE);
    EXPECT(aoi_override(s, n, e, AOI_HIDE) == AOI_EGONE && aoi_overrides(s, n, &ids, &nodes, &count) == AOI_EGONE);
    EXPECT(aoi_view(s, n, &ids, &count) == AOI_EGONE);
    EXPECT(aoi_viewers(s, e, &ids, &nodes, &count) == AOI_EGONE);
    EXPECT(AOI_IS_NULL(aoi_find_node(s, e, 1)) && AOI_IS_NULL(aoi_first_node(s, e)));
    EXPECT(AOI_IS_NULL(aoi_next_node(s, n)));
    EXPECT(!aoi_position(s, e, p) && p[0] == 0 && !aoi_kind(s, e, &kind));
    size_t bad = 9;
    EXPECT(aoi_add_node_many(s, &e, 1, 1, &five, &bad) == AOI_EGONE && bad == 0);
    EXPECT(!aoi_area_of(s, n, &a) && !aoi_node_id(s, n, &node_id) && !aoi_sees(s, n, e));
}

static void handles_go_stale(const setup *u) {
    aoi_space *s = open_space(u);
    refuse_handle(s, (aoi_entity){0, 0}, (aoi_node){0, 0}); /* in an empty space */
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1);
    aoi_node n = add_node(s, a, 1, 5), m = add_node(s, a, 2, 5);
    EXPECT(aoi_remove_node(s, m) == AOI_OK);
    EXPECT(!aoi_sees(s, m, b) && aoi_sees(s, n, b));
    EXPECT(aoi_leave(s, a) == AOI_OK);
    aoi_take_all(s);
    const aoi_entity bad[] = {{0, 0},
                              {0, 1},
                              a,
                              {a.index, a.generation + 1}, /* as the record of a dead entity has it */
                              {a.index, a.generation + 2}, /* a life to come */
                              {UINT32_MAX, 1},
                              {UINT32_MAX, UINT32_MAX},
                              {0, UINT32_MAX},
                              {2, 1}};
    text before = dump(s, true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuse_handle(s, bad[i], n);
        refuse_handle(s, bad[i], m);
        refuse_handle(s, a, (aoi_node){bad[i].index, bad[i].generation});
        EXPECT(same_dump(&before, s));
    }
    aoi_entity again = enter(s, 1, 0); /* the same id, in a slot that was used before: a new handle */
    aoi_node node_again = add_node(s, again, 1, 0.5);
    EXPECT(!AOI_EQUALS(again, a) && !AOI_EQUALS(node_again, n) && !AOI_EQUALS(node_again, m));
    refuse_handle(s, a, n);
    EXPECT(AOI_EQUALS(aoi_find(s, 1), again) && AOI_EQUALS(aoi_find_node(s, again, 1), node_again));
    EXPECT(stands_at(s, b, 1));
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
        EXPECT(aoi_near(s, p, &five, &ids, &count) == AOI_EVALUE);
        EXPECT(aoi_nearest(s, p, 3, 5, 1, &ids, &count) == AOI_EVALUE);
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
        size_t bad_entity = 9;
        EXPECT(aoi_add_node_many(s, &a, 1, 2, &area, &bad_entity) == AOI_EVALUE && bad_entity == 0);
        EXPECT(aoi_add_node_many(s, NULL, 0, 2, &area, NULL) == AOI_EVALUE);
        EXPECT(aoi_set_area(s, n, &area) == AOI_EVALUE);
    }
    EXPECT(aoi_add_node(s, a, 2, &(aoi_area){.radius = 1, .mask = 1, .shape = 6}, NULL) == AOI_EVALUE);
    EXPECT(aoi_add_node(s, a, 2, &(aoi_area){.radius = 1, .mask = 1, .shape = -1}, NULL) == AOI_EVALUE);
    EXPECT(aoi_add_node(s, a, 2, &(aoi_area){.radius = 1, .mask = 1, .shape = 256}, NULL) == AOI_EVALUE);
    EXPECT(aoi_near(s, (double[3]){0}, &(aoi_area){.radius = -1}, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_near(s, (double[3]){0}, &(aoi_area){.radius = NAN}, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_nearest(s, (double[3]){0}, 1, -1, 0, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_nearest(s, (double[3]){0}, 1, NAN, 0, &ids, &count) == AOI_EVALUE);
    EXPECT(aoi_enter(s, 1, (double[3]){9}, 1, NULL) == AOI_EEXIST);
    EXPECT(aoi_add_node(s, a, 1, &five, NULL) == AOI_EEXIST);
    EXPECT(same_dump(&before, s));
    text_free(&before);
    close_space(s);
}

/* A space that all have left gives its records back, and yet knows the handles of those that were there. */
static void an_empty_space_is_small(const setup *u) {
    enum { MANY = 3000 };
    static aoi_entity old[MANY];
    static aoi_node old_nodes[MANY];
    aoi_space *s = open_space(u);
    aoi_stats full, empty;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            aoi_entity e = enter(s, i, i * 100);
            aoi_node n = add_node(s, e, 1, 5);
            double pos[3];
            EXPECT(!round || !aoi_position(s, old[i], pos));
            EXPECT(!round || aoi_remove_node(s, old_nodes[i]) == AOI_EGONE);
            EXPECT(aoi_position(s, e, pos) && pos[0] == i * 100);
            old[i] = e;
            old_nodes[i] = n;
            const aoi_area named = {.radius = 5, .mask = AOI_ALL_KINDS, .label = "alert"};
            EXPECT(i % 100 || aoi_set_area(s, n, &named) == AOI_OK);
        }
        EXPECT(aoi_pending(s) == 0);
        aoi_read_stats(s, &full);
        for (int i = 0; i < MANY; i++) {
            uint64_t user_data;
            EXPECT(aoi_leave(s, old[i]) == AOI_OK);
            while (aoi_next_freed(s, &user_data)) {
            }
        }
        aoi_read_stats(s, &empty);
        EXPECT(empty.memory < full.memory / 16);
        EXPECT(aoi_check(s) == NULL);
        EXPECT(AOI_IS_NULL(aoi_find(s, 1)) && aoi_leave(s, old[0]) == AOI_EGONE);
    }
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
    EXPECT(aoi_move_fault(s, unknown) == AOI_OK && aoi_move_fault(s, unknown + 1) == AOI_EGONE);
    EXPECT(aoi_move_fault(s, &(aoi_row){.id = 2, .pos = {NAN}}) == AOI_EVALUE);
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

static void entities_leave_together(const setup *u) {
    aoi_space *s = open_space(u);
    size_t bad = 9;
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1), c = enter(s, 3, 2);
    add_node(s, a, 1, 5);
    add_node(s, b, 1, 5);
    EXPECT(aoi_add_node(s, c, 1, &(aoi_area){.radius = 1, .keep = 5, .mask = 1}, NULL) == AOI_OK); /* sees b alone */
    EXPECT(aoi_pending(s) == 5);
    text before = dump(s, true);
    EXPECT(aoi_leave_many(s, (int64_t[]){2, 3, 4}, 3, &bad) == AOI_EGONE && bad == 2);
    EXPECT(aoi_leave_many(s, (int64_t[]){4, 2}, 2, &bad) == AOI_EGONE && bad == 0);
    EXPECT(aoi_leave_many(s, (int64_t[]){2, 1, 2}, 3, &bad) == AOI_EGONE && bad == 2); /* gone by then */
    EXPECT(aoi_leave_many(s, (int64_t[]){2, 2}, 2, NULL) == AOI_EGONE);
    EXPECT(aoi_leave_many(s, NULL, 0, &bad) == AOI_OK);
    EXPECT(same_dump(&before, s));
    text_free(&before);
    aoi_take_all(s);

    EXPECT(aoi_move(s, a, (double[3]){-1}) == AOI_OK && aoi_move(s, b, (double[3]){-1}) == AOI_OK);
    expect_silence(s); /* c keeps b */
    EXPECT(aoi_leave_many(s, (int64_t[]){3, 2}, 2, &bad) == AOI_OK);
    EXPECT(aoi_pending(s) == 5 && aoi_count(s) == 1 && aoi_check(s) == NULL);
    aoi_event e[6];
    EXPECT(aoi_drain(s, e, 6) == 5);
    int times[4][4] = {{0}};
    for (int i = 0; i < 5; i++) EXPECT(e[i].kind == AOI_LEAVE && times[e[i].watcher][e[i].target]++ == 0);
    EXPECT(times[1][2] && times[1][3] && times[2][1] && times[2][3] && times[3][2]);
    refuse_handle(s, b, (aoi_node){1, 1});
    aoi_stats st;
    aoi_read_stats(s, &st);
    EXPECT(st.nodes == 1 && st.pairs == 0);

    enter(s, 2, 1);
    EXPECT(aoi_pending(s) == 1 && aoi_leave_many(s, (int64_t[]){2, 1}, 2, NULL) == AOI_OK);
    expect_silence(s); /* its enter was not taken: both are gone */
    EXPECT(aoi_count(s) == 0 && aoi_check(s) == NULL);
    close_space(s);
}

static void nodes_come_together(const setup *u) {
    aoi_space *s = open_space(u);
    enum { N = 30 };
    aoi_entity list[N + 1];
    size_t bad = 9;
    aoi_area area = {.radius = 1, .mask = AOI_ALL_KINDS, .user_data = 8};
    for (int i = 0; i < N; i++) list[i] = enter(s, i, i);
    list[N] = list[3];
    text before = dump(s, true);
    EXPECT(aoi_add_node_many(s, list, N + 1, 1, &area, &bad) == AOI_EEXIST && bad == N); /* an entity twice */
    EXPECT(same_dump(&before, s));
    list[N] = (aoi_entity){list[3].index, list[3].generation + 2};
    EXPECT(aoi_add_node_many(s, list, N + 1, 1, &area, &bad) == AOI_EGONE && bad == N);
    EXPECT(aoi_add_node_many(s, list, N + 1, 1, &area, NULL) == AOI_EGONE);
    EXPECT(aoi_add_node_many(s, NULL, 0, 1, &area, &bad) == AOI_OK);
    EXPECT(same_dump(&before, s));
    text_free(&before);
    EXPECT(aoi_add_node_many(s, list, N, 1, &area, &bad) == AOI_OK);
    EXPECT(aoi_pending(s) == 2 * N - 2 && aoi_check(s) == NULL);
    aoi_event e = {0};
    EXPECT(aoi_next(s, &e) && e.kind == AOI_ENTER && e.user_data == 8);
    aoi_take_all(s);
    for (int i = 0; i < N; i++) EXPECT(!AOI_IS_NULL(aoi_find_node(s, list[i], 1)));
    EXPECT(aoi_add_node_many(s, list + 2, 1, 1, &area, &bad) == AOI_EEXIST && bad == 0);
    EXPECT(aoi_add_node_many(s, list, N, 2, &area, NULL) == AOI_OK && aoi_pending(s) == 2 * N - 2);
    close_space(s);
}

/* AOI_MATCH: kind and mask do not meet, and yet the area counts, whichever of the two moves, alone or in a batch. */
static void a_match_follows_the_area(const setup *u) {
    static const aoi_area areas[] = {
        {.radius = 5, .mask = 2},
        {.radius = 5, .mask = 2, .margin = 1},
        {.radius = 5, .mask = 2, .shape = AOI_CIRCLE},
        {.mask = 2, .shape = AOI_BOX, .extents = {5, 5, 5}},
        {.radius = INFINITY, .mask = 2},
    };
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        aoi_space *s = open_space(u);
        bool all = isinf(areas[i].radius);
        aoi_node n = {0, 0};
        aoi_entity a = enter(s, 1, 0), b = enter(s, 2, all ? 50 : 3), c = enter(s, 3, 40);
        EXPECT(aoi_add_node(s, a, 1, areas + i, &n) == AOI_OK && aoi_pending(s) == 0);
        EXPECT(aoi_override(s, n, b, AOI_MATCH) == AOI_OK);
        expect_event(s, AOI_ENTER, 1, 1, 2);
        for (int way = 0; way < 4; way++) { /* out and in again */
            double x = way & 1 ? 3 : 40;
            aoi_row rows[] = {{1, {0}}, {2, {x, 0, 0}}, {3, {41, 0, 0}}};
            if (way < 2) EXPECT(aoi_move(s, b, (double[3]){x}) == AOI_OK);
            else EXPECT(aoi_move_many(s, rows, 3, NULL) == AOI_OK);
            if (!all) expect_event(s, way & 1 ? AOI_ENTER : AOI_LEAVE, 1, 1, 2);
            expect_silence(s);
        }
        for (int way = 0; way < 2; way++) { /* the watcher goes and comes, through 3, which does not match */
            EXPECT(aoi_move(s, a, (double[3]){way ? 1 : 40}) == AOI_OK);
            if (!all) expect_event(s, way & 1 ? AOI_ENTER : AOI_LEAVE, 1, 1, 2);
            expect_silence(s);
        }
        EXPECT(!aoi_sees(s, n, c) && aoi_sees(s, n, b) && aoi_check(s) == NULL);
        EXPECT(aoi_override(s, n, b, AOI_BY_RULE) == AOI_OK);
        expect_event(s, AOI_LEAVE, 1, 1, 2);
        close_space(s);
    }
}

/* A position is copied out, so that it stays while the space grows; and the argument may lie in the space's own memory,
 * which moves in the meantime. */
static void positions_are_copies(const setup *u) {
    aoi_space *s = open_space(u);
    double at[3];
    EXPECT(aoi_position(s, enter(s, 0, 42), at));
    for (int64_t id = 1; id < 200; id++) {
        EXPECT(aoi_enter(s, id, s->world.entities[0].pos, 1, NULL) == AOI_OK);
        EXPECT(stands_at(s, aoi_find(s, id), 42) && at[0] == 42);
    }
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

static void events_can_be_read_first(const setup *u) {
    enum { TARGETS = 50 };
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 0, 0);
    for (int64_t id = 1; id <= TARGETS; id++) enter(s, id, (double)id / TARGETS);
    EXPECT(aoi_add_node(s, a, 1, &(aoi_area){.radius = 5, .mask = 1, .user_data = 77}, NULL) == AOI_OK);
    aoi_event peeked[TARGETS], drained[TARGETS];
    uint32_t cursor = 0;
    size_t n = 0, more;
    while (n < TARGETS && (more = aoi_peek(s, &cursor, peeked + n, 7)) > 0) n += more;
    EXPECT(n == TARGETS && aoi_pending(s) == TARGETS);
    EXPECT(aoi_next(s, drained) && aoi_drain(s, drained + 1, 0) == 0);
    for (n = 1; n < TARGETS; n += more) {
        more = aoi_drain(s, drained + n, 9);
        if (!EXPECT(more == (TARGETS - n < 9 ? TARGETS - n : 9) && aoi_pending(s) == TARGETS - n - more)) break;
    }
    for (size_t i = 0; i < TARGETS; i++)
        EXPECT(drained[i].kind == AOI_ENTER && drained[i].watcher == 0 && drained[i].node_id == 1 &&
               drained[i].target == peeked[i].target && drained[i].user_data == 77 && peeked[i].user_data == 77);
    expect_silence(s);
    EXPECT(aoi_drain(s, drained, TARGETS) == 0);
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

/* The user data of a node is told once, when the node is gone and its last event taken; until then its events have it. */
static void user_data_is_told_when_free(const setup *u) {
    aoi_space *s = open_space(u);
    uint64_t data = 99;
    aoi_area area = five;
    aoi_node n = {0, 0};
    aoi_event e = {0};
    aoi_entity a = enter(s, 1, 0);
    EXPECT(!aoi_next_freed(s, &data) && data == 99);
    area.user_data = UINT64_MAX;
    EXPECT(aoi_add_node(s, a, 1, &area, &n) == AOI_OK);
    EXPECT(aoi_area_of(s, n, &area) && area.user_data == UINT64_MAX);
    enter(s, 2, 1);
    EXPECT(aoi_next(s, &e) && e.kind == AOI_ENTER && e.user_data == UINT64_MAX);
    EXPECT(aoi_set_radius(s, n, 7, 8) == AOI_OK && aoi_set_mask(s, n, 1) == AOI_OK);
    EXPECT(aoi_remove_node(s, n) == AOI_OK);
    EXPECT(aoi_pending(s) == 1 && !aoi_next_freed(s, &data));
    area = (aoi_area){.radius = 5, .mask = 1, .user_data = 5};
    EXPECT(aoi_add_node(s, a, 1, &area, NULL) == AOI_OK); /* in another slot: the old one still has an event */
    EXPECT(aoi_next(s, &e) && e.kind == AOI_LEAVE && e.user_data == UINT64_MAX);
    EXPECT(aoi_next(s, &e) && e.kind == AOI_ENTER && e.user_data == 5);
    EXPECT(aoi_next_freed(s, &data) && data == UINT64_MAX && !aoi_next_freed(s, &data));
    EXPECT(aoi_leave(s, a) == AOI_OK && !aoi_next_freed(s, &data));
    aoi_take_all(s);
    EXPECT(aoi_next_freed(s, &data) && data == 5 && !aoi_next_freed(s, &data));
    close_space(s);
}

/* A node that sees nothing is free at once; one whose only event is cancelled, too. */
static void nodes_without_events_are_free_at_once(const setup *u) {
    aoi_space *s = open_space(u);
    uint64_t data = 0;
    aoi_entity a = enter(s, 1, 0);
    aoi_area area = {.radius = 5, .mask = 1, .user_data = 1};
    aoi_node n = {0, 0};
    EXPECT(aoi_add_node(s, a, 1, &area, &n) == AOI_OK && aoi_remove_node(s, n) == AOI_OK);
    EXPECT(aoi_next_freed(s, &data) && data == 1);
    enter(s, 2, 1);
    area.user_data = 2;
    EXPECT(aoi_add_node(s, a, 1, &area, &n) == AOI_OK && aoi_pending(s) == 1);
    EXPECT(aoi_remove_node(s, n) == AOI_OK && aoi_pending(s) == 0);
    EXPECT(aoi_next_freed(s, &data) && data == 2 && !aoi_next_freed(s, &data));
    close_space(s);
}

/* Slots are used again, also where nothing asks which are free. */
static void freed_slots_are_used_again(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0);
    for (int i = 0; i < 1000; i++) EXPECT(aoi_remove_node(s, add_node(s, a, 1, 5)) == AOI_OK);
    EXPECT(s->world.node_top == 1);
    aoi_entity list[3] = {a, enter(s, 2, 0), {0, 0}};
    aoi_take_all(s);
    for (int i = 0; i < 1000; i++) EXPECT(aoi_add_node_many(s, list, 3, 1, &five, NULL) == AOI_EGONE);
    EXPECT(s->world.node_top == 2 && aoi_check(s) == NULL);
    for (int i = 0; i < 1000; i++) {
        enter(s, 3, 0);
        EXPECT(aoi_leave_many(s, (int64_t[1]){3}, 1, NULL) == AOI_OK);
    }
    EXPECT(s->world.entity_top == 3);
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
    EXPECT(aoi_move(s, b, (double[3]){20}) == AOI_OK && aoi_move(s, c, (double[3]){0}) == AOI_OK);
    EXPECT(aoi_flush(s) == AOI_OK); /* which is for deferred spaces: here each call has its own order */
    expect_event(s, AOI_ENTER, 1, 1, 2);
    expect_event(s, AOI_LEAVE, 1, 1, 3);
    expect_silence(s);
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
        EXPECT(stands_at(s, e, (double)i) && !AOI_IS_NULL(aoi_find_node(s, e, ids[N - 1 - i])));
        EXPECT(AOI_IS_NULL(aoi_find_node(s, e, 77)));
    }
    EXPECT(aoi_check(s) == NULL);
    for (size_t i = 0; i < N; i++) EXPECT(aoi_leave(s, aoi_find(s, ids[i])) == AOI_OK);
    close_space(s);
}

int main(void) {
    setup u;
    RUN(the_library_names_itself_and_its_results);
    RUN(options_are_checked);
    RUN(any_cell_will_do);
    for (int i = 0; every_setup(i, &u); i++) {
        a_space_from_beginning_to_end(&u);
        answers(&u);
        handles_go_stale(&u);
        bad_values_change_nothing(&u);
        an_empty_space_is_small(&u);
        batches_are_checked_first(&u);
        entities_leave_together(&u);
        nodes_come_together(&u);
        a_match_follows_the_area(&u);
        positions_are_copies(&u);
        events_can_be_read_first(&u);
        user_data_is_told_when_free(&u);
        nodes_without_events_are_free_at_once(&u);
        freed_slots_are_used_again(&u);
        leaves_come_first(&u);
        the_ends_of_the_integers_are_ids(&u);
    }
    return expect_report("life");
}
