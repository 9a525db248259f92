/* Snapshots: what is loaded is what was saved, in every answer and every later event; other bytes are refused. */
#include <math.h>

#include "../../fuzz/snapshot.c"
#include "calls.h"
#include "play.h"

enum { PEOPLE = 12, BEFORE = 240, AFTER = 40, DAMAGED = 200 };

/* User data is the host's: here it follows from the ids. */
static bool same_data(void *ud, aoi_loaded_node *n) {
    (void)ud;
    n->user_data = (uint64_t)(n->node_id & 3);
    return true;
}

static aoi_load_options load_options(const char *engine) {
    return (aoi_load_options){.engine = engine, .node = same_data, .alloc = host_alloc};
}

static aoi_space *load_by(const output *o, aoi_load_options lo) {
    const char *fault = NULL;
    aoi_space *s = NULL;
    if (!EXPECT(aoi_load(o->bytes, o->size, &lo, &s, &fault) == AOI_OK)) {
        fprintf(stderr, "  %s\n", fault ? fault : "no fault");
        exit(expect_report("snapshot"));
    }
    return s;
}

static aoi_space *load(const output *o, const char *engine) {
    return load_by(o, load_options(engine));
}

static call next_call(aoi_space *s) {
    call c = random_call(PEOPLE);
    c.area.user_data = (uint64_t)(c.node_id & 3);
    make_possible(s, &c);
    return c;
}

static bool equal(aoi_space *a, aoi_space *b, bool in_order) {
    text x = dump(a, in_order), y = dump(b, in_order);
    bool same = dump_same(&x, &y);
    text_free(&x);
    text_free(&y);
    return EXPECT(same);
}

/* ---- random histories --------------------------------------------------------------------------------------------- */

/* The order in which a call's events wait may differ, so that both spaces take all that wait or nothing. */
static void live_on(aoi_space *a, aoi_space *b) {
    for (int i = 0; i < AFTER; i++) {
        call c = next_call(a);
        if (c.verb == NEXT || c.verb == DRAIN) c.verb = TAKE_ALL;
        if (c.verb == TAKE_ALL) EXPECT(aoi_flush(a) == AOI_OK && aoi_flush(b) == AOI_OK);
        EXPECT(make_call(a, &c) == make_call(b, &c));
        if (!equal(a, b, false)) return;
    }
}

static void one_history(const setup *u) {
    aoi_space *s = open_space(u);
    for (uint32_t i = random_below(BEFORE); i > 0; i--) {
        call c = next_call(s);
        (void)make_call(s, &c);
    }
    const char *other = aoi_engine_name((int)random_below(5));
    output saved = save(s), again = save(s);
    EXPECT(output_same(&saved, &again));
    output_free(&again);
    aoi_space *same = load(&saved, NULL), *copy = load(&saved, other);
    equal(s, same, true);
    equal(s, copy, true);
    again = save(same);
    EXPECT(output_same(&saved, &again));
    output_free(&again);
    live_on(s, copy);
    output_free(&saved);
    aoi_close(s);
    aoi_close(same);
    close_space(copy);
}

static void loaded_spaces_live_on_as_the_saved_ones(void) {
    long rounds = history_rounds();
    setup u;
    for (int i = 0; every_setup(i, &u); i++)
        for (long round = 0; round < rounds; round++) {
            u.deferred = round & 1;
            one_history(&u);
        }
}

/* ---- the same bytes on every machine ------------------------------------------------------------------------------ */

/* All but sectors: sines and cosines are those of the C library. */
static output of_a_history(const setup *u, bool all_taken) {
    aoi_space *s = open_space(u);
    random_state = random_mix(16);
    for (int i = 0; i < 400; i++) {
        call c = next_call(s);
        if (c.area.shape == AOI_SECTOR || c.verb == SET_FACING) continue;
        if (c.verb == NEXT || c.verb == DRAIN || c.verb == TAKE_ALL) EXPECT(aoi_flush(s) == AOI_OK);
        if (all_taken && (c.verb == NEXT || c.verb == DRAIN)) c.verb = TAKE_ALL;
        (void)make_call(s, &c);
    }
    if (all_taken) EXPECT(aoi_flush(s) == AOI_OK);
    if (all_taken) aoi_take_all(s);
    output o = save(s);
    close_space(s);
    return o;
}

static uint32_t sum_of_brute_force(int dims, bool deferred) {
    setup u = {"brute", dims, deferred};
    output o = of_a_history(&u, false);
    uint32_t sum = output_sum(o.bytes, o.size - 4); /* with its own sum at the end it would be the same for all */
    output_free(&o);
    return sum;
}

/* Whatever the compiler, the processor and its words. */
static void the_bytes_are_the_same_on_every_machine(void) {
    static const uint32_t sums[2][2] = {{0x2e702a57, 0x14dcdfef}, {0x2e9704a7, 0xda9bc139}};
    uint64_t kept = random_state;
    for (int dims = 2; dims <= 3; dims++)
        for (int deferred = 0; deferred < 2; deferred++) {
            uint32_t sum = sum_of_brute_force(dims, deferred);
            expect_at("%dD %d: 0x%08x", dims, deferred, (unsigned)sum);
            EXPECT(sum == sums[dims - 2][deferred]);
        }
    random_state = kept;
}

/* But for its name, and the order in which events wait. */
static void the_bytes_do_not_depend_on_the_engine(void) {
    uint64_t kept = random_state;
    for (int i = 0; aoi_engine_name(i); i++)
        for (int deferred = 0; deferred < 2; deferred++) {
            setup brute = {"brute", 2, deferred}, u = {aoi_engine_name(i), 2, deferred};
            expect_at("%s %d", u.engine, deferred);
            output wanted = of_a_history(&brute, true), o = of_a_history(&u, true);
            aoi_space *s = load(&o, "brute");
            output again = save(s);
            EXPECT(output_same(&wanted, &again));
            close_space(s);
            output_free(&o);
            output_free(&again);
            output_free(&wanted);
        }
    random_state = kept;
}

static void the_format_is_the_documented_one(void) {
    static const unsigned char wanted[] = {
        'A', 'O', 'I', 'S',  1, 1, 2,  0, 5, 'b',  'r',  'u',  't',  'e', 0, 0, 0, 0, 0, 0, 0, 0, /* a state; cell 0 */
        1,   2, /* one event delivered, two entities */
        16,  13,  1,   0,    0, 0, 0,  0, 0, 0xF0, 0x3F, 0,    0,    0,   0, 0, 0, 0, 0, /* enter -7, kind 1, at 1, 0 */
        16,  6,   1,   0,    0, 0, 0,  0, 0, 0,    0x40, 0,    0,    0,   0, 0, 0, 0, 0, /* 3, at 2, 0 */
        23,  6,   8,   0x11, 5, 0, 0,  0, 0, 0,    0,    0x14, 0x40, /* add_node 4 of 3, a circle of radius 5, mask 5 */
        13,  0,   1,   10,   6, 2, 13, /* of the space one event: leave, node 1 of 3 is gone, target -7 */
        4,                             /* end */
    };
    aoi_space *s = NULL;
    expect_at("format");
    EXPECT(aoi_open(&(aoi_options){.engine = "brute", .alloc = host_alloc}, &s) == AOI_OK);
    aoi_entity e = enter(s, 3, 2);
    enter(s, -7, 1);
    EXPECT(aoi_add_node(s, e, 4, &(aoi_area){.shape = AOI_CIRCLE, .radius = 5, .mask = 5}, NULL) == AOI_OK);
    aoi_node n = add_node(s, e, 1, 5);
    expect_event(s, AOI_ENTER, 3, 4, -7);
    aoi_event taken;
    EXPECT(aoi_next(s, &taken) && taken.node_id == 1);
    s->taken = 1;
    EXPECT(aoi_remove_node(s, n) == AOI_OK);
    output o = save(s);
    EXPECT(o.size == sizeof wanted + 4 && !memcmp(o.bytes, wanted, sizeof wanted));
    for (size_t i = 0; i < sizeof wanted && i < o.size; i++)
        if (o.bytes[i] != wanted[i]) fprintf(stderr, "  byte %d: %d instead of %d\n", (int)i, o.bytes[i], wanted[i]);
    output_free(&o);
    close_space(s);
    EXPECT(output_sum((const unsigned char *)"123456789", 9) == 0xCBF43926u); /* the check value of this CRC */
}

/* ---- bytes that are no snapshot ------------------------------------------------------------------------------------ */

static output history_to_damage(int i) {
    setup u = {aoi_engine_name(i % 5), 2 + i / 5 % 2, i & 1};
    aoi_space *s = open_space(&u);
    for (int k = 0; k < BEFORE; k++) {
        call c = next_call(s);
        (void)make_call(s, &c);
    }
    output o = save(s);
    close_space(s);
    return o;
}

/* Refused; and with the right sum, so that the reader has to judge by itself, refused, or a sound space that is saved as
 * these very bytes and lives on. */
static void damaged_bytes_are_refused(void) {
    for (int i = 0; i < DAMAGED; i++) {
        output whole = history_to_damage(i), o = output_copy(&whole);
        expect_at("damaged %d", i);
        output_damage(&o);
        aoi_space *s = try_load(&o, NULL);
        EXPECT((s != NULL) == output_same(&whole, &o));
        aoi_close(s);
        output_free(&o);
        o = output_copy(&whole);
        o.size -= 4;
        output_damage(&o);
        (void)LLVMFuzzerTestOneInput(o.bytes, o.size);
        output_free(&o);
        for (size_t size = 0; i == 3 && size + 4 < whole.size; size++) (void)LLVMFuzzerTestOneInput(whole.bytes, size);
        output_free(&whole);
    }
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

/* Loads with each allocation refused once, nothing may stay of those; the space that the last load gives.  Some are not
 * needed: a grid that can not choose its cells keeps those that it has. */
static aoi_space *load_refused(const output *o) {
    aoi_load_options lo = load_options(NULL);
    aoi_space *s = NULL;
    bool again = true;
    for (long n = 1; again; n++) {
        host_refuse(n, HOST_FOR_EVER);
        int result = aoi_load(o->bytes, o->size, &lo, &s, NULL);
        again = host_relent() > 0;
        EXPECT(result == AOI_OK || (again && result == AOI_ENOMEM));
        EXPECT((s == NULL) == (result != AOI_OK) && (host.used == 0) == (s == NULL));
        if (!again || !s) continue;
        EXPECT(aoi_check(s) == NULL);
        aoi_close(s);
        s = NULL;
    }
    return s;
}

/* Saves with each allocation refused once: the same bytes in the end, and nothing has changed. */
static void save_refused(aoi_space *s, const output *wanted) {
    output o = {0};
    text before = dump(s, true);
    bool again = true;
    for (long n = 1; again; n++) {
        o.size = 0;
        host_refuse(n, HOST_FOR_EVER);
        int result = aoi_save(s, output_write, &o);
        again = host_relent() > 0;
        EXPECT(result == (again ? AOI_ENOMEM : AOI_OK) && aoi_check(s) == NULL);
        text after = dump(s, true);
        EXPECT(dump_same(&before, &after));
        text_free(&after);
    }
    EXPECT(output_same(wanted, &o));
    text_free(&before);
    output_free(&o);
}

static void memory_may_be_refused(void) {
    output o = history_to_damage(2);
    aoi_space *s = load_refused(&o);
    save_refused(s, &o);
    output_free(&o);
    close_space(s);
}

/* Loading, saving, taking over and packing again what synchronisers and sights have in a space. */
static void memory_for_layers_may_be_refused(void) {
    const aoi_field fields[] = {{"hp", AOI_U16, AOI_TO_ALL}, {"name", AOI_STRING, AOI_TO_OWN}};
    const aoi_sync_options so = {.fields = fields, .field_count = 2};
    const aoi_area area = {.radius = 4, .keep = 9, .mask = AOI_ALL_KINDS};
    aoi_space *s = open_space(&(setup){.dims = 2});
    aoi_sync *y = NULL;
    aoi_sight *g = NULL;
    aoi_node node = {0, 0};
    output o = {0}, other = {0};
    EXPECT(aoi_sync_open(s, &so, &y) == AOI_OK && aoi_sight_open(s, NULL, &g) == AOI_OK);
    for (int64_t id = 0; id < 6; id++) {
        const double at = (double)id + 0.5;
        const aoi_wall wall = {.a = {at, -1}, .b = {at, at}, .open = id < 3};
        const aoi_entity e = enter(s, id, (double)id);
        EXPECT(aoi_sync_put(y, e, 0, &(aoi_value){.number = (double)id}) == AOI_OK);
        EXPECT(aoi_sync_put(y, e, 1, &(aoi_value){.bytes = "name", .size = 4}) == AOI_OK);
        EXPECT(aoi_sight_add_wall(g, &wall, NULL) == AOI_OK);
        EXPECT(aoi_sight_add_node(g, e, 7, &area, 2, &node) == AOI_OK && aoi_sight_tick(g) == AOI_OK);
    }
    EXPECT(aoi_override(s, node, aoi_find(s, 1), AOI_SHOW) == AOI_OK && aoi_leave(s, aoi_find(s, 0)) == AOI_OK);
    EXPECT(aoi_save(s, output_write, &o) == AOI_OK);
    close_space(s);
    s = load_refused(&o);
    save_refused(s, &o);
    bool again = true;
    for (long n = 1; again; n++) {
        aoi_news_value v;
        uint64_t cursor = 0;
        host_refuse(n, HOST_FOR_EVER);
        int result = aoi_sync_open(s, &so, &y);
        again = host_relent() > 0;
        EXPECT(result == (again ? AOI_ENOMEM : AOI_OK) && aoi_check(s) == NULL);
        EXPECT(aoi_next_field(s, aoi_find(s, 3), &cursor, &v) && v.value.number == 3);
        EXPECT(aoi_next_field(s, aoi_find(s, 3), &cursor, &v) && v.value.size == 4);
        EXPECT(!aoi_next_field(s, aoi_find(s, 3), &cursor, &v));
        other.size = 0;
        EXPECT(!again || (aoi_save(s, output_write, &other) == AOI_OK && output_same(&o, &other)));
    }
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK && aoi_sight_pending(g) > 0 && aoi_sight_tick(g) == AOI_OK);
    EXPECT(aoi_check(s) == NULL);
    output_free(&o);
    output_free(&other);
    close_space(s);
}

static bool no_node(void *ud, aoi_loaded_node *n) {
    int *left = ud;
    (void)n;
    return (*left)-- > 0;
}

static void the_host_may_refuse(void) {
    setup u = {"grid", 2, false};
    aoi_space *s = open_space(&u), *copy = NULL;
    for (int64_t id = 0; id < 900; id++) add_node(s, enter(s, id, (double)id), 1, 2);
    output o = save(s), half = {.most = o.size / 2};
    EXPECT(aoi_save(s, output_write, &half) == AOI_EVALUE && half.size <= half.most);
    output_free(&half);
    close_space(s);
    int left = 899;
    const char *fault = NULL;
    aoi_load_options lo = {.node = no_node, .node_ud = &left, .alloc = host_alloc};
    EXPECT(aoi_load(o.bytes, o.size, &lo, &copy, &fault) == AOI_EVALUE && !copy && fault && host.used == 0);
    left = 900;
    EXPECT(aoi_load(o.bytes, o.size, &lo, &copy, &fault) == AOI_OK && left == 0);
    close_space(copy);
    lo.engine = "crystal ball";
    copy = NULL;
    EXPECT(aoi_load(o.bytes, o.size, &lo, &copy, &fault) == AOI_EVALUE && !copy && strstr(fault, "engine"));
    EXPECT(aoi_load(o.bytes, o.size, NULL, &copy, NULL) == AOI_OK);
    aoi_close(copy);
    output_free(&o);
}

int main(void) {
    random_start("snapshot");
    RUN(the_format_is_the_documented_one);
    RUN(loaded_spaces_live_on_as_the_saved_ones);
    RUN(the_bytes_are_the_same_on_every_machine);
    RUN(the_bytes_do_not_depend_on_the_engine);
    RUN(damaged_bytes_are_refused);
    play_corpus("fuzz/corpus/snapshot");
    RUN(memory_may_be_refused);
    RUN(memory_for_layers_may_be_refused);
    RUN(the_host_may_refuse);
    return expect_report("snapshot");
}
