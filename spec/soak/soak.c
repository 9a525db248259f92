/* soak.c - a million entities in one space, and minutes of coming, going and moving, on one engine after the other.
 *
 *   soak [ENGINE ...]      all but brute force, when none is named
 *
 *   SOAK_TIME      seconds in all, divided among the engines (600)
 *   SOAK_ENTITIES  how many (1000000)
 *   AOI_SEED       replays what happens
 *
 * Memory is what the process really holds. It must not grow once everything has happened a few times; and what nodes
 * see in the end must be what brute force says. Exits with 0 when both are so. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../c/expect.h"
#include "aoi.h"

enum { BATCH = 100000, PARTS = 20 };

static const double RADIUS = 10, SPACING = 10; /* a node sees four others, about */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long number_from(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* Megabytes that the process holds. */
static double resident(void) {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* ---- what happens ------------------------------------------------------------------------------------------------- */

static struct {
    aoi_space *s;
    long entities;
    double size;
    int64_t next_id, oldest; /* everybody between them is there */
    uint64_t changes, events;
} w;

static double anywhere(void) {
    return w.size * (random_below(1 << 30) + random_below(1024) / 1024.0) / (1 << 30);
}

static void must(int result) {
    if (result == AOI_OK) return;
    fprintf(stderr, "a call failed: %s\n", aoi_result_text(result));
    exit(EXIT_FAILURE);
}

static void take_events(void) {
    static aoi_event events[1000];
    for (size_t n; (n = aoi_drain(w.s, events, 1000)) > 0;) w.events += n;
}

static void add_node(aoi_entity e) {
    aoi_area a = {.radius = RADIUS, .mask = AOI_ALL_KINDS};
    if (random_below(8) == 0) a.keep = RADIUS + 3;
    if (random_below(100) == 0) a.radius = a.keep = RADIUS * 5;
    must(aoi_add_node(w.s, e, 1, &a, NULL));
}

static void enter_crowd(void) {
    static aoi_row rows[BATCH];
    for (long done = 0; done < w.entities;) {
        size_t n = 0;
        for (; n < BATCH && done < w.entities; n++, done++)
            rows[n] = (aoi_row){.id = w.next_id++, .pos = {anywhere(), anywhere()}};
        must(aoi_enter_many(w.s, rows, n, 1, NULL));
    }
}

static void add_nodes(void) {
    for (int64_t id = w.oldest; id < w.next_id; id++) {
        add_node(aoi_find(w.s, id));
        if (id % 1000 == 0) take_events();
    }
    take_events();
}

static aoi_entity somebody(void) {
    return aoi_find(w.s, w.oldest + (int64_t)random_below((uint32_t)(w.next_id - w.oldest)));
}

/* The oldest leaves and somebody new enters: ids are never used again, slots are. */
static void replace_oldest(void) {
    aoi_entity e;
    must(aoi_leave(w.s, aoi_find(w.s, w.oldest++)));
    must(aoi_enter(w.s, w.next_id++, (double[2]){anywhere(), anywhere()}, 1, &e));
    add_node(e);
}

static void change(void) {
    uint32_t k = random_below(100);
    aoi_entity e = somebody();
    aoi_node n = aoi_first_node(w.s, e);
    double p[2] = {0, 0};
    EXPECT(aoi_position(w.s, e, p));
    w.changes++;
    if (k < 80) {
        double to[2] = {p[0] + random_below(2001) / 500.0 - 2, p[1] + random_below(2001) / 500.0 - 2};
        must(aoi_move(w.s, e, to));
    } else if (k < 85) {
        must(aoi_move(w.s, e, (double[2]){anywhere(), anywhere()}));
    } else if (k < 91) {
        replace_oldest();
    } else if (k < 94) {
        must(aoi_remove_node(w.s, n));
        add_node(e);
    } else if (k < 97) {
        must(aoi_set_radius(w.s, n, random_below(20), 0));
    } else if (k < 99) {
        must(aoi_set_kind(w.s, e, random_below(3)));
    } else {
        static aoi_row rows[50];
        for (size_t i = 0; i < 50; i++)
            rows[i] = (aoi_row){.id = w.oldest + random_below((uint32_t)w.entities), .pos = {anywhere(), anywhere()}};
        must(aoi_move_many(w.s, rows, 50, NULL));
    }
}

/* ---- what must hold ----------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Nodes without a leave radius, which see what is in their square. */
static void compare_with_brute_force(int nodes) {
    static int64_t seen[100000];
    for (int i = 0; i < nodes;) {
        const int64_t *ids;
        size_t n, wanted = 0;
        aoi_area a;
        aoi_entity e = somebody();
        aoi_node node = aoi_first_node(w.s, e);
        if (!aoi_area_of(w.s, node, &a) || a.keep > a.radius) continue;
        i++;
        must(aoi_view(w.s, node, &ids, &n));
        if (!EXPECT(n <= sizeof seen / sizeof *seen)) return;
        memcpy(seen, ids, n * sizeof *seen);
        qsort(seen, n, sizeof *seen, by_id);
        double p[2] = {0, 0}, q[2];
        EXPECT(aoi_position(w.s, e, p));
        for (int64_t id = w.oldest; id < w.next_id; id++) {
            aoi_entity t = aoi_find(w.s, id);
            uint64_t kind = 0;
            if (AOI_EQUALS(t, e) || !aoi_kind(w.s, t, &kind) || !(kind & a.mask)) continue;
            EXPECT(aoi_position(w.s, t, q));
            if (p[0] - a.radius <= q[0] && q[0] <= p[0] + a.radius && p[1] - a.radius <= q[1] &&
                q[1] <= p[1] + a.radius)
                EXPECT(wanted < n && seen[wanted++] == id);
        }
        EXPECT(wanted == n);
    }
}

static void report(const char *what, double since, double changes) {
    aoi_stats st;
    aoi_read_stats(w.s, &st);
    printf("  %-28s %8.2f s", what, seconds() - since);
    if (changes > 0) printf(" %8.2f us each", (seconds() - since) / changes * 1e6);
    printf(" %9.1f MB held by the space (%.0f bytes an entity), %9.1f MB by the process\n", (double)st.memory / 1e6,
           (double)st.memory / (double)w.entities, resident());
    (void)fflush(stdout);
}

static void soak(const char *engine, double time) {
    double start = seconds(), first = 0, last = 0;
    printf("%s, %ld entities\n", engine, w.entities);
    expect_at("%s", engine);
    w.size = SPACING * sqrt((double)w.entities);
    w.next_id = w.oldest = 1;
    w.changes = w.events = 0;
    must(aoi_open(&(aoi_options){.engine = engine}, &w.s));
    enter_crowd();
    report("entered, in batches", start, (double)w.entities);
    start = seconds();
    add_nodes();
    report("with a node each", start, (double)w.entities);
    double churn = seconds();
    for (int part = 0; part < PARTS; part++) {
        char name[40];
        double until = churn + time * (part + 1) / PARTS;
        uint64_t changes = w.changes;
        start = seconds();
        do {
            for (int i = 0; i < 1000; i++) change();
            take_events();
        } while (seconds() < until);
        (void)snprintf(name, sizeof name, "churn, part %d of %d", part + 1, PARTS);
        if (part % 5 == 4) report(name, start, (double)(w.changes - changes));
        double now = resident();
        if (part < PARTS * 3 / 4) first = now > first ? now : first; /* the most until then, and in the last quarter */
        else last = now > last ? now : last;
    }
    printf("  %llu changes, %llu events; at most %.1f MB until the last quarter, %.1f MB in it\n",
           (unsigned long long)w.changes, (unsigned long long)w.events, first, last);
    EXPECT(last <= first * 1.02 + 4);
    EXPECT(aoi_count(w.s) == (size_t)w.entities);
    compare_with_brute_force(20);
    aoi_close(w.s);
}

/* Each engine in a process of its own, whose memory is its alone. */
static void soak_apart(const char *engine, double time) {
    int status = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        soak(engine, time);
        exit(expect_report(engine));
    }
    expect_at("%s", engine);
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv) {
    random_start("soak");
    double time = (double)number_from("SOAK_TIME", 600);
    int engines = argc - 1;
    w.entities = number_from("SOAK_ENTITIES", 1000000);
    if (w.entities < 100) w.entities = 100;
    for (int i = 0; argc < 2 && aoi_engine_name(i); i++) engines += strcmp(aoi_engine_name(i), "brute") != 0;
    for (int i = 1; i < argc; i++) soak_apart(argv[i], time / engines);
    for (int i = 0; argc < 2 && aoi_engine_name(i); i++)
        if (strcmp(aoi_engine_name(i), "brute")) soak_apart(aoi_engine_name(i), time / engines);
    return expect_report("soak");
}
