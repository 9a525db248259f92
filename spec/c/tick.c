/* The kernels of a tick (tick/lanes.h): what the columns claim about a probe and an item is what the rule says of their
 * places; and eight numbers of 16 bits against one at a time. */
#include "tick/lanes.h"

#include <math.h>

#include "host.h"

enum { ITEMS = 64, RUNS = 4000 };

static double places[2][ITEMS][3]; /* where they are, and were */
static uint16_t columns[6][ITEMS + JOIN_LANES];

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static int16_t wrapped(int v) {
    return (int16_t)(uint16_t)v;
}

static void numbers_are_those_of_one_at_a_time(void) {
    uint16_t a[8], b[8], out[8];
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < 8; i++) a[i] = (uint16_t)random_below(1 << 16), b[i] = (uint16_t)random_below(1 << 16);
        aoi_i16x8 x = aoi_i16_load(a), y = aoi_i16_load(b);
        const aoi_i16x8 results[] = {aoi_i16_add(x, y),  aoi_i16_sub(x, y), aoi_i16_most(x, y), aoi_i16_least(x, y),
                                     aoi_i16_high(x, y), aoi_i16_sum(x, y), aoi_i16_not(x)};
        for (int i = 0; i < 8; i++) {
            int p = wrapped(a[i]), q = wrapped(b[i]), sum = p + q < -32768 ? -32768 : p + q > 32767 ? 32767 : p + q;
            const int wanted[] = {p + q, p - q, p > q ? p : q, p < q ? p : q, (p * q) >> 16, sum, ~p};
            for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
                memcpy(out, results + k, sizeof out);
                EXPECT(wrapped(out[i]) == wrapped(wanted[k]));
            }
        }
        uint32_t bits = aoi_i16_bits(aoi_i16_above(x, y), aoi_i16_above(y, x));
        for (int i = 0; i < 8; i++) {
            EXPECT((bits >> i & 1) == (wrapped(a[i]) > wrapped(b[i])));
            EXPECT((bits >> (8 + i) & 1) == (wrapped(b[i]) > wrapped(a[i])));
        }
    }
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static double random_length(double most) {
    return random_below(2) ? (double)random_below((uint32_t)most + 1) : most * (double)random_below(10001) / 10000;
}

static aoi_area random_shape(int dims) {
    static double points[2 * 8];
    aoi_area a = {.shape = (int)random_below(AOI_POLYGON + 1), .mask = AOI_ALL_KINDS, .radius = random_length(30)};
    if (a.shape == AOI_CYLINDER && dims == 2) a.shape = AOI_CIRCLE;
    for (int i = 0; i < 3; i++) a.extents[i] = random_length(30);
    if (a.shape != AOI_POLYGON && random_below(2)) a.margin = random_length(5);
    a.half_height = random_below(2) ? random_length(30) : 1000;
    a.facing = (double)random_below(629) / 100;
    a.angle = random_below(5) ? 0.01 + (double)random_below(627) / 100 : 6.283185307179586;
    a.corners = 3 + (int)random_below(6);
    a.points = points;
    for (int i = 0; i < 16; i++) points[i] = random_length(60) - 30;
    return a;
}

static void fill_columns(const join_tick *t) {
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < ITEMS; i++)
            for (int a = 0; a < 3; a++) {
                double step = b ? random_length(2) - 1 : 0;
                places[b][i][a] = b ? places[0][i][a] + step : random_length(60);
                columns[3 * b + a][i] = (uint16_t)(int64_t)floor((places[b][i][a] - t->origin[a]) * t->scale);
            }
}

static aoi_zone zone_at(const aoi_space *s, uint32_t node, int b, uint32_t watcher, uint32_t target) {
    const aoi_node_record *n = s->world.nodes + node;
    return aoi_zone_of(s->world.dims, n->shape, s->world.areas + node, places[b][watcher], places[b][target]);
}

static void expect_claims(const join_tick *t, const join_limits *l, const join_probe *p, uint32_t self, uint32_t k,
                          int kind) {
    uint32_t bits = join_match(t, k, l, kind);
    for (int b = 0; b < 2; b++) {
        join_zones low = join_zones_of(t, k, l, 3 * b, 0, join_distance(t, k, l, 3 * b, kind), kind);
        uint32_t out = aoi_i16_bits(low.out, low.out), in = aoi_i16_bits(low.in, low.in);
        for (uint32_t i = 0; i < 8; i++) {
            aoi_zone z = zone_at(t->space, p->node[0], b, self, k + i);
            EXPECT(!(out >> i & in >> i & 1));
            EXPECT(!(out >> i & 1) || z == AOI_OUTSIDE);
            EXPECT(!(in >> i & 1) || z != AOI_OUTSIDE);
        }
    }
    for (uint32_t i = 0; i < JOIN_LANES; i++) {
        if (bits >> i & 1) continue;
        EXPECT(zone_at(t->space, p->node[0], 0, self, k + i) == zone_at(t->space, p->node[0], 1, self, k + i));
    }
}

static void claims_are_what_the_rule_says(int dims) {
    aoi_options o = {.dimensions = dims, .deferred = true, .alloc = host_alloc};
    static join_strip strip;
    aoi_space *s;
    aoi_entity e;
    EXPECT(aoi_open(&o, &s) == AOI_OK && aoi_enter(s, 1, (double[3]){0}, 1, &e) == AOI_OK);
    join_tick t = {.space = s, .world = &s->world, .scale = 200, .step = 2, .reach = 64, .low = -100, .high = 100};
    for (int c = 0; c < 6; c++) t.column[c] = columns[c];
    for (int run = 0; run < RUNS / 8; run++) {
        aoi_area area = random_shape(dims);
        static join_limits l;
        join_side_lanes room;
        aoi_node n;
        EXPECT(aoi_add_node(s, e, 1, &area, &n) == AOI_OK);
        fill_columns(&t);
        strip.tick = &t, strip.memory = &s->world.memory, strip.probe_count = strip.side_count = 0;
        aoi_join_probes_of(&strip, 0, e.index);
        EXPECT(strip.probe_count == 1 && !strip.failed);
        const join_probe *p = strip.probes;
        expect_at("%dD, run %d, shape %d, kind %d", dims, run, area.shape, p->kind);
        join_limits_of(p, strip.sides, &l, room, p->kind);
        for (uint32_t self = 0; self < 4; self++) {
            join_centre(&t, self, &l, p->kind);
            for (uint32_t k = 0; k < ITEMS; k += JOIN_LANES) expect_claims(&t, &l, p, self, k, p->kind);
        }
        EXPECT(aoi_remove_node(s, n) == AOI_OK);
    }
    AOI_FREE(strip.memory, strip.probes, strip.probe_cap);
    AOI_FREE(strip.memory, strip.sides, strip.side_cap);
    strip.probe_cap = strip.side_cap = 0, strip.probes = NULL, strip.sides = NULL;
    aoi_close(s);
}

int main(void) {
    random_start("tick");
    numbers_are_those_of_one_at_a_time();
    claims_are_what_the_rule_says(2);
    claims_are_what_the_rule_says(3);
    EXPECT(host.used == 0);
    return expect_report("tick");
}
