/* Ring queries over cells, of boxes and of circles, with and without hysteresis: no candidate is missed, whatever rounding
 * does and however far from the origin; few others are visited. */
#include "grid/ring_query.h"

#include <math.h>

#include "core/rule.h"
#include "host.h"

enum { MOST = 2000, ROUNDS = 3000 };

static aoi_memory memory = {.alloc = host_alloc};

static struct {
    aoi_spatial_hash cells;
    uint32_t count, home[MOST], slot[MOST];
    double at[MOST][2];
} field;

/* -1 .. 1, often a border of something. */
static double unit(void) {
    if (random_below(4) == 0) return ((double)random_below(17) - 8) / 8;
    return (double)random_below(UINT32_MAX) / (UINT32_MAX / 2) - 1;
}

/* Where the items are, in sides: around the origin, far from it, and where the world ends. */
static double random_center(void) {
    static const double far[] = {0, 0, 0, 7, -300.5, 1e6, -0x1p29, AOI_CELL_MOST - 2.5};
    double v = far[random_below(sizeof far / sizeof *far)];
    if (random_below(8) == 0) v = (double)(random_below(2) ? AOI_CELL_MOST : -AOI_CELL_MOST) + random_below(3);
    return v;
}

/* A few marks. */
static double a_little(void) {
    return unit() * 8 / (1 << AOI_FIXED_BITS) * field.cells.side;
}

static void random_place(const double *center, double spread, double *at) {
    for (int a = 0; a < 2; a++) {
        double v = center[a] + unit() * spread;
        at[a] = random_below(3) ? v * field.cells.side : floor(v) * field.cells.side + a_little(); /* at a border */
    }
}

static void put(uint32_t i, uint32_t near) {
    uint32_t cell = aoi_spatial_reserve(&memory, &field.cells, near, field.at[i]);
    EXPECT(cell != AOI_NONE);
    field.slot[i] = aoi_spatial_insert(&field.cells, cell, field.at[i], i, i % 3 == 0);
    field.home[i] = cell;
}

static void take(uint32_t i) {
    uint32_t moved = aoi_spatial_remove(&field.cells, field.home[i], field.slot[i]);
    if (moved != AOI_NONE) field.slot[moved] = field.slot[i];
}

static void move(uint32_t i, const double *to) {
    memcpy(field.at[i], to, sizeof field.at[i]);
    if (aoi_spatial_update(&field.cells, field.home[i], field.slot[i], to)) return;
    take(i);
    put(i, field.home[i]);
}

typedef struct found {
    uint32_t times[MOST], visits;
} found;

static void visit(void *ud, const uint32_t *refs, size_t count) {
    found *f = ud;
    f->visits++;
    for (size_t i = 0; i < count; i++)
        if (EXPECT(refs[i] < field.count)) f->times[refs[i]]++;
}

static aoi_visitor visitor(found *f) {
    memset(f, 0, sizeof *f);
    return (aoi_visitor){visit, f, (uintptr_t)field.at, (uintptr_t)field.at, false};
}

/* The distance of a from b: the larger one of the axes, or the one in the plane. */
static double distance(const double *a, const double *b, bool round) {
    double x = fabs(a[0] - b[0]), y = fabs(a[1] - b[1]);
    return round ? sqrt(x * x + y * y) : fmax(x, y);
}

/* The zone as the rule has it: inside, kept, outside. */
static int zone(const double *w, const double *t, double r, double keep, bool round) {
    if (round) return aoi_in_ball(2, w, t, r) ? 0 : aoi_in_ball(2, w, t, keep) ? 1 : 2;
    return aoi_in_box(2, w, t, r) ? 0 : aoi_in_box(2, w, t, keep) ? 1 : 2;
}

typedef struct area {
    double r, keep;
    bool round, solid;
} area;

/* May the item have changed, as target or as watcher?  Solid: may it be inside? */
static bool matters(const area *k, const double *from, const double *to, const double *at) {
    int a = zone(from, at, k->r, k->keep, k->round), b = zone(to, at, k->r, k->keep, k->round);
    int c = zone(at, from, k->r, k->keep, k->round), d = zone(at, to, k->r, k->keep, k->round);
    return k->solid ? a < 2 || b < 2 || c < 2 || d < 2 : a != b || c != d;
}

/* 1 farther in, or 2 farther out, than roundings explain: by more than a few fixed-point units; else 0. */
static int idle_side(const area *k, const double *from, const double *to, const double *at) {
    double slack = 8 * field.cells.side / (1 << AOI_FIXED_BITS), step = distance(from, to, true);
    double near = fmin(distance(from, at, k->round), distance(to, at, k->round));
    double far = fmax(distance(from, at, k->round), distance(to, at, k->round));
    if (near > k->keep + step + slack) return 2;
    return !k->solid && far < k->r - step - slack;
}

static aoi_borders borders_of(const area *k) {
    aoi_bounds b = {.reach = {k->keep, k->keep, INFINITY}, .inner = {k->r, k->r}, .shape = AOI_SQUARE};
    if (k->round) {
        b.shape = AOI_CIRCLE;
        for (int a = 0; a < 2; a++) {
            b.reach[a] = k->keep * (1 + 0x1p-40);
            b.inner[a] = k->r * (0.70710678118654752 * (1 - 0x1p-40));
        }
    }
    return aoi_borders_of(2, &b);
}

static void check_move(const double *from, const double *to, const area *least, const area *most, uint32_t center) {
    found f;
    aoi_visitor v = visitor(&f);
    aoi_borders b = borders_of(least), more = borders_of(most);
    aoi_borders_include(&b, &more);
    aoi_ring_query(&field.cells, from, to, &b, least->solid, center, &v);
    bool far = false; /* at the border of the lattice rings are cut off, and inner regions with them */
    for (int a = 0; a < 2; a++)
        far = far || fmax(fabs(from[a]), fabs(to[a])) + most->keep > ((double)AOI_CELL_MOST - 8) * field.cells.side;
    bool step = most->keep < field.cells.side && distance(from, to, false) < field.cells.side / 4;
    for (uint32_t i = 0; i < field.count; i++) {
        const double *at = field.at[i];
        EXPECT(f.times[i] <= 1);
        if (matters(least, from, to, at) || matters(most, from, to, at)) EXPECT(f.times[i] == 1);
        int side = idle_side(least, from, to, at);
        if (!far && step && side && side == idle_side(most, from, to, at)) EXPECT(f.times[i] == 0);
    }
}

static void check_box(const double *at, double r) {
    double lo[2] = {at[0] - r, at[1] - r}, hi[2] = {at[0] + r, at[1] + r};
    found f;
    aoi_visitor v = visitor(&f);
    aoi_box_query(&field.cells, lo, hi, &v);
    for (uint32_t i = 0; i < field.count; i++) {
        EXPECT(f.times[i] <= 1);
        if (aoi_in_box(2, at, field.at[i], r)) EXPECT(f.times[i] == 1);
    }
}

/* At random, or so that an edge comes to lie at an item. */
static double random_reach(const double *from) {
    double r = fabs(unit()) * field.cells.side;
    int a = (int)random_below(2);
    switch (random_below(8)) {
    case 0:
        return r / 100;
    case 1:
        return r * 4;
    case 2:
        return r * 1000;
    case 3:
    case 4:
    case 5:
        return fabs(fabs(field.at[random_below(field.count)][a] - from[a]) + a_little());
    default:
        return r;
    }
}

static void round_of(double side, double spread) {
    double center[2] = {random_center(), random_center()};
    aoi_spatial_open(&field.cells, side, false);
    field.count = 1 + random_below(random_below(4) ? 40 : 300);
    if (random_below(50) == 0) field.count = MOST, spread /= 16; /* cells of many buckets */
    for (uint32_t i = 0; i < field.count; i++) {
        random_place(center, spread, field.at[i]);
        put(i, AOI_NONE);
    }
    for (int k = 0; k < 12; k++) {
        uint32_t i = random_below(field.count);
        double *from = field.at[i], to[2], r = random_reach(from);
        area least = {r, r * (random_below(2) ? 1 : 1.2), random_below(2), random_below(4) == 0}, most = least;
        if (least.round && r < 1e-140) continue; /* the space takes such circles for boxes */
        if (random_below(3) == 0) most.r *= 1.5, most.keep *= 1.5;
        uint32_t home = random_below(4) ? field.home[i] : AOI_NONE;
        random_place(center, spread, to);
        if (random_below(4))
            for (int a = 0; a < 2; a++) to[a] = from[a] + (random_below(3) ? unit() * side / 8 : a_little());
        check_move(from, to, &least, &most, home);
        check_box(to, most.keep);
        move(i, to);
        EXPECT(aoi_spatial_has(&field.cells, field.home[i], field.slot[i], to, i));
    }
    aoi_spatial_close(&memory, &field.cells);
    EXPECT(host.used == 0);
}

int main(void) {
    static const double sides[] = {64, 1, 0.1, 1e-30, 0x1p-200, 1e15, 3};
    random_start("ring_query");
    for (int i = 0; i < ROUNDS; i++) {
        double side = sides[random_below(sizeof sides / sizeof *sides)], spread = random_below(3) ? 2 : 0.3;
        if (random_below(8) == 0) spread = 40;
        expect_at("side %g, spread %g, round %d", side, spread, i);
        round_of(side, spread);
    }
    return expect_report("ring_query");
}
