/* Journals: what was recorded makes the same space and the same events again, on any engine, from any mark. */
#include <math.h>

#include "../../fuzz/journal.c"
#include "calls.h"
#include "play.h"

enum { PEOPLE = 12, STEPS = 120, MARKS = 64, DAMAGED = 200, MOST_TAKEN = 4096 };

/* ---- what was -------------------------------------------------------------------------------------------------------- */

typedef struct
    recording { /* of a history: at each mark the space, and the events that were taken since the one before */
    output bytes;
    uint32_t marks;
    bool refusing; /* memory, now and then */
    text space[MARKS], events[MARKS];
} recording;

static struct {
    aoi_event list[MOST_TAKEN];
    size_t count;
} taken;

static text sorted_events(void) {
    text t = {0};
    text_add(&t, "%d events\n", (int)taken.count);
    qsort(taken.list, taken.count, sizeof *taken.list, dump_compare_events);
    for (size_t i = 0; i < taken.count; i++) {
        const aoi_event *e = taken.list + i;
        text_add(&t, "%d %lld/%lld > %lld\n", e->kind, (long long)e->watcher, (long long)e->node_id,
                 (long long)e->target);
    }
    taken.count = 0;
    return t;
}

static void take(aoi_space *s, size_t most) {
    while (most-- > 0 && taken.count < MOST_TAKEN && aoi_next(s, taken.list + taken.count)) taken.count++;
}

static void take_all(aoi_space *s) {
    uint32_t cursor = 0;
    size_t n;
    while ((n = aoi_peek(s, &cursor, taken.list + taken.count, MOST_TAKEN - taken.count)) > 0) taken.count += n;
    aoi_take_all(s);
}

static void play_call(aoi_space *s, const call *c) {
    if (c->verb == NEXT) take(s, 1);
    else if (c->verb == DRAIN) take(s, c->n);
    else if (c->verb == TAKE_ALL) take_all(s);
    else (void)make_call(s, c);
}

static void mark(aoi_journal *j, aoi_space *s, recording *r) {
    r->space[r->marks] = dump(s, false);
    r->events[r->marks] = sorted_events();
    EXPECT(aoi_journal_mark(j, r->marks) == AOI_OK);
    r->marks++;
}

static call next_call(aoi_space *s) {
    call c = random_call(PEOPLE);
    c.area.user_data = 0;
    make_possible(s, &c);
    return c;
}

static void history(aoi_space *s, aoi_journal *j, recording *r, bool refusing) {
    for (int i = 0; i < STEPS; i++) {
        call c = next_call(s);
        if (refusing && random_below(3) == 0) host_refuse((long)(1 + random_below(4)), 1);
        play_call(s, &c);
        (void)host_relent();
        if (j && random_below(6) == 0) mark(j, s, r);
    }
}

static recording record(const setup *u, bool refusing) {
    recording r = {.refusing = refusing};
    aoi_journal *j = NULL;
    aoi_space *s = open_space(u);
    history(s, NULL, NULL, false);
    taken.count = 0;
    EXPECT(aoi_journal_start(s, &(aoi_journal_options){.write = output_write, .ud = &r.bytes}, &j) == AOI_OK);
    history(s, j, &r, refusing);
    mark(j, s, &r);
    uint64_t size = aoi_journal_bytes(j);
    EXPECT(size == r.bytes.size);
    if (random_below(2)) {
        EXPECT(aoi_journal_stop(j) == AOI_OK);
        aoi_close(s);
    } else {
        aoi_close(s);
        EXPECT(aoi_journal_mark(j, 1e9) == AOI_EGONE && aoi_journal_stop(j) == AOI_OK);
    }
    EXPECT(r.bytes.size > size && host.used == 0);
    return r;
}

static void recording_free(recording *r) {
    for (uint32_t i = 0; i < r->marks; i++) text_free(r->space + i), text_free(r->events + i);
    output_free(&r->bytes);
}

/* ---- and is again ---------------------------------------------------------------------------------------------------- */

static aoi_player *open_player(const output *o) {
    aoi_player *p = NULL;
    const char *fault = NULL;
    if (!EXPECT(aoi_play_open(o->bytes, o->size, &(aoi_load_options){.alloc = host_alloc}, &p, &fault) == AOI_OK)) {
        fprintf(stderr, "  %s\n", fault ? fault : "no fault");
        exit(expect_report("journal"));
    }
    return p;
}

static bool hear(aoi_player *p, aoi_space *s) {
    for (;;) {
        aoi_event e;
        if (!EXPECT(aoi_play_next(p, s, &e) == AOI_OK)) return false;
        if (!e.kind) return true;
        if (!EXPECT(taken.count < MOST_TAKEN)) return false;
        taken.list[taken.count++] = e;
    }
}

/* Up to the next mark; false at the end. */
static bool play_on(aoi_player *p, aoi_space *s, double *time) {
    for (;;) {
        aoi_step step;
        if (!hear(p, s)) return false; /* what was taken since the last call or mark */
        if (!EXPECT(aoi_play_step(p, s, NULL, &step) == AOI_OK) || step.call == AOI_STEP_END) return false;
        *time = step.time;
        if (step.call == AOI_STEP_MARK) return true;
        EXPECT(aoi_call_name(step.call) != NULL);
    }
}

static bool as_recorded(const recording *r, uint32_t i, aoi_space *s, bool events) {
    text space = dump(s, false), heard = sorted_events();
    bool same = EXPECT(dump_same(r->space + i, &space)) && (!events || EXPECT(dump_same(r->events + i, &heard)));
    text_free(&space);
    text_free(&heard);
    return same;
}

static void play(const recording *r, const char *engine) {
    aoi_load_options lo = {.engine = engine, .alloc = host_alloc};
    aoi_player *p = open_player(&r->bytes);
    aoi_space *s = NULL;
    double time = -1;
    uint32_t i = 0;
    EXPECT(aoi_play_start(p, 0, &lo, &s, NULL) == AOI_OK);
    taken.count = 0;
    aoi_play_info info;
    aoi_play_read_info(p, &info);
    EXPECT(!info.inexact || r->refusing);
    while (play_on(p, s, &time)) {
        EXPECT(time == i);
        if (!info.inexact && !as_recorded(r, i, s, true)) break;
        i++;
    }
    EXPECT(i == r->marks);
    aoi_close(s);
    aoi_play_close(p);
    EXPECT(host.used == 0);
}

/* From a snapshot of the replay, as a host seeks backwards. */
static void jump(const recording *r, const char *engine) {
    aoi_load_options lo = {.engine = engine, .alloc = host_alloc};
    aoi_player *p = open_player(&r->bytes);
    aoi_space *s = NULL;
    double time = -1;
    uint32_t there = random_below(r->marks), i;
    output kept = {0};
    uint64_t place = 0, mark_place = 1;
    EXPECT(aoi_play_start(p, 0, &lo, &s, NULL) == AOI_OK);
    for (i = 0; play_on(p, s, &time); i++)
        if (i == there) {
            kept = save(s);
            place = aoi_play_tell(p);
        }
    EXPECT(aoi_play_mark(p, there, &time, &mark_place) && time == there && mark_place == place);
    EXPECT(!aoi_play_mark(p, r->marks, &time, &mark_place));
    aoi_close(s);
    s = NULL;
    EXPECT(aoi_load(kept.bytes, kept.size, &lo, &s, NULL) == AOI_OK);
    EXPECT(aoi_play_goto(p, place + 1) == AOI_EVALUE && aoi_play_goto(p, place) == AOI_OK);
    taken.count = 0;
    aoi_play_info info;
    aoi_play_read_info(p, &info);
    if (!info.inexact) as_recorded(r, there, s, false);
    for (i = there + 1; play_on(p, s, &time); i++)
        if (!info.inexact && !as_recorded(r, i, s, true)) break;
    EXPECT(i == r->marks);
    output_free(&kept);
    aoi_close(s);
    aoi_play_close(p);
}

static void journals_make_the_same_again(void) {
    long rounds = history_rounds();
    setup u;
    for (int i = 0; every_setup(i, &u); i++)
        for (long round = 0; round < rounds; round++) {
            u.deferred = round & 1;
            expect_at("%s %dD %d round %ld", u.engine, u.dims, u.deferred, round);
            recording r = record(&u, round % 4 > 1);
            play(&r, NULL);
            play(&r, aoi_engine_name((int)random_below(5)));
            jump(&r, aoi_engine_name((int)random_below(5)));
            recording_free(&r);
        }
}

/* ---- what a crash leaves, and damage ----------------------------------------------------------------------------------- */

static void a_cut_journal_is_good_up_to_there(void) {
    setup u = {"grid", 2, false};
    recording r = record(&u, false);
    uint32_t marks = 0;
    size_t first = 0;
    for (size_t size = 0; size < r.bytes.size; size++) {
        aoi_player *p = NULL;
        aoi_space *s = NULL;
        const char *fault = NULL;
        aoi_play_info info;
        double time;
        uint32_t i = 0;
        expect_at("cut at %d", (int)size);
        if (aoi_play_open(r.bytes.bytes, size, &(aoi_load_options){.alloc = host_alloc}, &p, &fault) != AOI_OK) {
            EXPECT(!p && fault && !first && host.used == 0); /* within the first snapshot */
            continue;
        }
        if (!first) first = size;
        aoi_play_read_info(p, &info);
        EXPECT(info.bytes <= size && info.whole == (size == r.bytes.size) && info.marks >= marks);
        marks = (uint32_t)info.marks;
        if (size % 7 == 0) {
            EXPECT(aoi_play_start(p, 0, &(aoi_load_options){.alloc = host_alloc}, &s, NULL) == AOI_OK);
            taken.count = 0;
            while (play_on(p, s, &time) && as_recorded(&r, i, s, true)) i++;
            EXPECT(i == marks);
            aoi_close(s);
        }
        aoi_play_close(p);
    }
    EXPECT(marks == r.marks && first > 0);
    recording_free(&r);
}

/* Refused, or played on a sound space to the end, or to the call that does not fit; also where the sums fit. */
static void damaged_journals_are_refused(void) {
    for (int i = 0; i < DAMAGED; i++) {
        setup u = {aoi_engine_name(i % 5), 2 + i / 5 % 2, i & 1};
        expect_at("damaged %d", i);
        recording r = record(&u, false);
        output o = output_copy(&r.bytes);
        output_damage(&o);
        refuse_or_play(&o);
        if (o.size > AOI_JOURNAL_HEAD)
            (void)LLVMFuzzerTestOneInput(o.bytes + AOI_JOURNAL_HEAD, o.size - AOI_JOURNAL_HEAD);
        output_free(&o);
        recording_free(&r);
    }
}

/* ---- the ring ---------------------------------------------------------------------------------------------------------- */

static void the_ring_keeps_the_last_bytes(void) {
    for (int deferred = 0; deferred < 2; deferred++) {
        setup u = {"list", 2, deferred};
        aoi_space *s = open_space(&u);
        aoi_journal *j = NULL;
        recording r = {0};
        enum { RING = 16000 };
        EXPECT(aoi_journal_start(s, &(aoi_journal_options){.ring = RING}, &j) == AOI_OK);
        EXPECT(aoi_journal_dump(j, output_write, &r.bytes) == AOI_OK);
        EXPECT(r.bytes.size == aoi_journal_bytes(j));
        double last = 0;
        for (int i = 0; i < 3000; i++) {
            call c = next_call(s);
            play_call(s, &c);
            if (i % 50 == 49) EXPECT(aoi_journal_mark(j, last = i) == AOI_OK);
            EXPECT(aoi_journal_bytes(j) <= RING + RING / 4);
        }
        r.bytes.size = 0;
        text now = dump(s, false);
        EXPECT(aoi_journal_dump(j, output_write, &r.bytes) == AOI_OK && r.bytes.size > RING / 2);
        EXPECT(aoi_journal_stop(j) == AOI_OK);
        close_space(s);
        aoi_player *p = open_player(&r.bytes);
        aoi_play_info info;
        double time = 0;
        uint64_t place = 0;
        aoi_play_read_info(p, &info);
        EXPECT(!info.whole && info.marks > 0 && info.last == last && info.first > 49);
        EXPECT(aoi_play_mark(p, (size_t)info.marks - 1, &time, &place));
        for (uint64_t from = 0; from <= place; from += place) { /* from the first snapshot, and from the last */
            s = NULL;
            EXPECT(aoi_play_start(p, from, &(aoi_load_options){.engine = "tower", .alloc = host_alloc}, &s, NULL) ==
                   AOI_OK);
            taken.count = 0;
            while (play_on(p, s, &time)) taken.count = 0;
            text then = dump(s, false);
            const char *a = strchr(now.bytes, '\n'), *b = strchr(then.bytes, '\n'); /* but for the first line */
            EXPECT(a && b && !strcmp(a, b));
            text_free(&then);
            aoi_close(s);
            if (!place) break;
        }
        aoi_play_close(p);
        text_free(&now);
        recording_free(&r);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------------- */

static bool write_some(void *ud, const void *bytes, size_t size) {
    int *left = ud;
    (void)bytes, (void)size;
    return (*left)-- > 0;
}

static void what_cannot_be_written_is_told(void) {
    setup u = {"list", 2, false};
    aoi_space *s = open_space(&u);
    aoi_journal *j = NULL, *other = NULL;
    int left = 0;
    aoi_journal_options o = {.write = write_some, .ud = &left};
    EXPECT(aoi_journal_start(s, &o, &j) == AOI_EVALUE && !j);
    EXPECT(aoi_journal_start(s, &(aoi_journal_options){0}, &j) == AOI_EVALUE);
    EXPECT(aoi_journal_start(s, &(aoi_journal_options){.write = write_some, .ring = 5}, &j) == AOI_EVALUE);
    left = 3;
    EXPECT(aoi_journal_start(s, &o, &j) == AOI_OK && aoi_journal_start(s, &o, &other) == AOI_EEXIST);
    EXPECT(aoi_journal_mark(j, 5) == AOI_OK && aoi_journal_mark(j, 4) == AOI_EVALUE);
    EXPECT(aoi_journal_mark(j, NAN) == AOI_EVALUE && aoi_journal_dump(j, write_some, &left) == AOI_EVALUE);
    enter(s, 1, 1);
    EXPECT(aoi_journal_mark(j, 6) == AOI_EVALUE); /* it cannot be written */
    enter(s, 2, 1);
    EXPECT(aoi_journal_mark(j, 7) == AOI_EVALUE && aoi_journal_stop(j) == AOI_EVALUE);
    enter(s, 3, 1);
    EXPECT(aoi_count(s) == 3);
    EXPECT(aoi_journal_stop(NULL) == AOI_OK);
    close_space(s);
}

static void memory_may_be_refused(void) {
    setup u = {"list", 2, false};
    recording r = record(&u, false);
    aoi_space *s = open_space(&u);
    bool again = true;
    for (long n = 1; again; n++) {
        aoi_journal *j = NULL;
        host_refuse(n, HOST_FOR_EVER);
        int result = aoi_journal_start(s, &(aoi_journal_options){.ring = 1000}, &j);
        again = host_relent() > 0;
        EXPECT(result == (again ? AOI_ENOMEM : AOI_OK) && (j == NULL) == again);
        EXPECT(aoi_journal_stop(j) == AOI_OK);
    }
    close_space(s);
    again = true;
    for (long n = 1; again; n++) {
        aoi_player *p = NULL;
        aoi_load_options lo = {.alloc = host_alloc};
        s = NULL;
        host_refuse(n, HOST_FOR_EVER);
        int result = aoi_play_open(r.bytes.bytes, r.bytes.size, &lo, &p, NULL);
        if (result == AOI_OK) result = aoi_play_start(p, 0, &lo, &s, NULL);
        again = host_relent() > 0; /* a grid that cannot choose its cells keeps those that it has */
        EXPECT((result == AOI_OK || (again && result == AOI_ENOMEM)) && (s == NULL) == (result != AOI_OK));
        aoi_close(s);
        aoi_play_close(p);
        EXPECT(host.used == 0);
    }
    recording_free(&r);
}

/* Every call has a name, and what is refused is told with the ids it named. */
static void refused_calls_are_told(void) {
    setup u = {"list", 2, false};
    aoi_space *s = open_space(&u);
    aoi_journal *j = NULL;
    output o = {0};
    EXPECT(aoi_journal_start(s, &(aoi_journal_options){.write = output_write, .ud = &o}, &j) == AOI_OK);
    aoi_entity e = enter(s, 7, 1), gone = enter(s, 8, 1);
    aoi_node n = add_node(s, e, 4, 3);
    EXPECT(aoi_leave(s, gone) == AOI_OK);
    EXPECT(aoi_enter(s, 7, (double[2]){0, 0}, 1, NULL) == AOI_EEXIST);
    EXPECT(aoi_move(s, e, (double[2]){NAN, 0}) == AOI_EVALUE && aoi_move(s, gone, (double[2]){0, 0}) == AOI_EGONE);
    EXPECT(aoi_set_radius(s, n, -1, 0) == AOI_EVALUE && aoi_set_facing(s, n, 0) == AOI_EVALUE);
    EXPECT(aoi_add_node(s, e, 4, &(aoi_area){0}, NULL) == AOI_EEXIST);
    EXPECT(aoi_override(s, n, e, AOI_HIDE) == AOI_EVALUE);
    EXPECT(aoi_journal_stop(j) == AOI_OK);
    close_space(s);
    static const struct {
        int call, result, id, node_id;
    } wanted[] = {{AOI_CALL_ENTER, AOI_EEXIST, 7, 0},      {AOI_CALL_MOVE, AOI_EVALUE, 7, 0},
                  {AOI_CALL_MOVE, AOI_EGONE, 0, 0},        {AOI_CALL_SET_RADIUS, AOI_EVALUE, 7, 4},
                  {AOI_CALL_SET_FACING, AOI_EVALUE, 7, 4}, {AOI_CALL_ADD_NODE, AOI_EEXIST, 7, 4},
                  {AOI_CALL_OVERRIDE, AOI_EVALUE, 7, 4}};
    aoi_player *p = open_player(&o);
    aoi_play_info info;
    aoi_step step;
    size_t k = 0;
    aoi_play_read_info(p, &info);
    EXPECT(info.refused == 7 && info.calls == 4 && info.whole);
    s = NULL;
    EXPECT(aoi_play_start(p, 0, &(aoi_load_options){.alloc = host_alloc}, &s, NULL) == AOI_OK);
    while (aoi_play_step(p, s, NULL, &step) == AOI_OK && step.call) {
        if (step.result == AOI_OK) continue;
        EXPECT(k < 7 && step.call == wanted[k].call && step.result == wanted[k].result);
        EXPECT(step.id == wanted[k].id && step.node_id == wanted[k].node_id);
        k++;
    }
    EXPECT(k == 7);
    aoi_close(s);
    aoi_play_close(p);
    output_free(&o);
    for (int i = -1; i < 100; i++) EXPECT((aoi_call_name(i) != NULL) == (i >= AOI_CALL_ENTER && i < AOI_CALLS_END));
}

int main(void) {
    random_start("journal");
    RUN(refused_calls_are_told);
    RUN(journals_make_the_same_again);
    RUN(a_cut_journal_is_good_up_to_there);
    RUN(damaged_journals_are_refused);
    play_corpus("fuzz/corpus/journal");
    RUN(the_ring_keeps_the_last_bytes);
    RUN(what_cannot_be_written_is_told);
    RUN(memory_may_be_refused);
    return expect_report("journal");
}
