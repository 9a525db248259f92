/* fixture.h - a space per engine and number of dimensions, and calls that must succeed. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "aoi.h"
#include "dump.h"
#include "host.h"

typedef struct setup {
    const char *engine;
    int dims;
    bool deferred;
} setup;

/* Setup number i; false past the last. */
static inline bool every_setup(int i, setup *out) {
    *out = (setup){.engine = aoi_engine_name(i / 2), .dims = i & 1 ? 3 : 2};
    if (out->engine) expect_at("%s %dD", out->engine, out->dims);
    return out->engine != NULL;
}

/* How many histories of about 300 calls each setup has: 8, in which every kind is; more as AOI_STEPS or AOI_LENGTH say. */
static inline long history_rounds(void) {
    long n = 8 * random_steps(300) / 300;
    return n < 8 ? 8 : n;
}

static inline aoi_options options_of(const setup *u) {
    return (aoi_options){.engine = u->engine, .dimensions = u->dims, .deferred = u->deferred, .alloc = host_alloc};
}

static inline aoi_space *open_space(const setup *u) {
    aoi_options o = options_of(u);
    aoi_space *s = NULL;
    if (!EXPECT(aoi_open(&o, &s) == AOI_OK)) exit(expect_report("no space"));
    return s;
}

static inline void close_space(aoi_space *s) {
    aoi_close(s);
    EXPECT(host.used == 0 && host.blocks == 0);
}

static inline aoi_entity enter(aoi_space *s, int64_t id, double x) {
    aoi_entity e = {0, 0};
    EXPECT(aoi_enter(s, id, (double[3]){x}, 1, &e) == AOI_OK);
    return e;
}

static inline aoi_node add_node(aoi_space *s, aoi_entity e, int64_t node_id, double radius) {
    aoi_node n = {0, 0};
    EXPECT(aoi_add_node(s, e, node_id, &(aoi_area){.radius = radius, .mask = AOI_ALL_KINDS}, &n) == AOI_OK);
    return n;
}

static inline bool stands_at(const aoi_space *s, aoi_entity e, double x) {
    double p[3] = {0};
    return aoi_position(s, e, p) && p[0] == x;
}

/* Takes the next event, which must be this one. */
static inline void expect_event(aoi_space *s, int kind, int64_t watcher, int64_t node_id, int64_t target) {
    aoi_event e = {0};
    EXPECT(aoi_next(s, &e));
    EXPECT(e.kind == kind && e.watcher == watcher && e.node_id == node_id && e.target == target);
}

static inline void expect_silence(aoi_space *s) {
    aoi_event e;
    EXPECT(aoi_pending(s) == 0 && !aoi_next(s, &e));
}

#endif
