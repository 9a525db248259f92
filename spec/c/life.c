/* What C alone has: results, handles that go stale, ownership of user data, slots and memory. What calls do is compared with
 * brute force by corpus.c. */
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

/* The first row that cannot be, and nothing has changed. */
static void batches_name_the_bad_row(const setup *u) {
    aoi_space *s = open_space(u);
    size_t row = 9;
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1);
    add_node(s, a, 1, 5);
    text before = dump(s, true);
    EXPECT(aoi_move_many(s, (aoi_row[]){{.id = 2, .pos = {50}}, {.id = 3}}, 2, &row) == AOI_EGONE && row == 1);
    EXPECT(aoi_move_many(s, &(aoi_row){.id = 3}, 1, NULL) == AOI_EGONE);
    EXPECT(aoi_move_fault(s, &(aoi_row){.id = 2}) == AOI_OK && aoi_move_fault(s, &(aoi_row){.id = 3}) == AOI_EGONE);
    EXPECT(aoi_move_fault(s, &(aoi_row){.id = 2, .pos = {NAN}}) == AOI_EVALUE);
    EXPECT(aoi_enter_many(s, (aoi_row[]){{.id = 7}, {.id = 2}}, 2, 1, &row) == AOI_EEXIST && row == 1);
    EXPECT(aoi_enter_many(s, (aoi_row[]){{.id = 7}, {.id = 8}, {.id = 7}}, 3, 1, &row) == AOI_EEXIST && row == 2);
    EXPECT(aoi_leave_many(s, (int64_t[]){2, 3, 4}, 3, &row) == AOI_EGONE && row == 1);
    EXPECT(aoi_leave_many(s, (int64_t[]){2, 1, 2}, 3, &row) == AOI_EGONE && row == 2); /* gone by then */
    EXPECT(aoi_add_node_many(s, (aoi_entity[]){b, b}, 2, 1, &five, &row) == AOI_EEXIST && row == 1);
    EXPECT(aoi_add_node_many(s, (aoi_entity[]){b, {b.index, b.generation + 2}}, 2, 1, &five, &row) == AOI_EGONE);
    EXPECT(row == 1 && same_dump(&before, s));
    EXPECT(aoi_move_many(s, NULL, 0, NULL) == AOI_OK && aoi_enter_many(s, NULL, 0, 1, NULL) == AOI_OK);
    EXPECT(aoi_leave_many(s, NULL, 0, &row) == AOI_OK && aoi_add_node_many(s, NULL, 0, 1, &five, NULL) == AOI_OK);
    EXPECT(same_dump(&before, s) && aoi_row_buffer(s, 1000));
    text_free(&before);
    close_space(s);
}

/* A position is copied out, so that it stays while the space grows; and the argument may lie in the space's own memory,
 * which moves in the meantime. */
static void positions_are_copies(const setup *u) {
    aoi_space *s = open_space(u);
    double at[3];
    EXPECT(aoi_position(s, enter(s, 0, 42), at));
    for (int64_t id = 1; id < 200; id++) {
        EXPECT(aoi_enter(s, id, s->records.entities[0].pos, 1, NULL) == AOI_OK);
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

/* What the host has been told of stays in front of what comes later. */
static void order_can_be_kept(const setup *u) {
    aoi_space *s = open_space(&(setup){u->engine, u->dims, true});
    aoi_entity b = enter(s, 2, 1), c = enter(s, 3, 20);
    aoi_node n = add_node(s, enter(s, 1, 0), 1, 5);
    EXPECT(aoi_flush(s) == AOI_OK);
    aoi_take_all(s);
    EXPECT(aoi_move(s, c, (double[3]){2}) == AOI_OK && aoi_sees(s, n, c)); /* a question has moves judged */
    aoi_keep_order(s);
    EXPECT(aoi_move(s, b, (double[3]){50}) == AOI_OK && aoi_flush(s) == AOI_OK);
    expect_event(s, AOI_ENTER, 1, 1, 3);
    expect_event(s, AOI_LEAVE, 1, 1, 2);
    expect_silence(s);
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
    EXPECT(s->records.node_top == 1);
    aoi_entity list[3] = {a, enter(s, 2, 0), {0, 0}};
    aoi_take_all(s);
    for (int i = 0; i < 1000; i++) EXPECT(aoi_add_node_many(s, list, 3, 1, &five, NULL) == AOI_EGONE);
    EXPECT(s->records.node_top == 2 && aoi_check(s) == NULL);
    for (int i = 0; i < 1000; i++) {
        enter(s, 3, 0);
        EXPECT(aoi_leave_many(s, (int64_t[1]){3}, 1, NULL) == AOI_OK);
    }
    EXPECT(s->records.entity_top == 3);
    close_space(s);
}

int main(void) {
    setup u;
    RUN(the_library_names_itself_and_its_results);
    RUN(options_are_checked);
    for (int i = 0; every_setup(i, &u); i++) {
        handles_go_stale(&u);
        bad_values_change_nothing(&u);
        an_empty_space_is_small(&u);
        batches_name_the_bad_row(&u);
        positions_are_copies(&u);
        events_can_be_read_first(&u);
        order_can_be_kept(&u);
        user_data_is_told_when_free(&u);
        nodes_without_events_are_free_at_once(&u);
        freed_slots_are_used_again(&u);
    }
    return expect_report("life");
}
