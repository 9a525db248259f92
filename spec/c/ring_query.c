/* Ring queries over cells: the SIMD variant agrees with the plain one; no candidate is missed, whatever rounding does
 * and however far from the origin; few others are visited. */
#include "engines/shared/ring_query.h"

#include <math.h>

#include "core/rule.h"
#include "host.h"

enum { MOST = 300, ROUNDS = 3000 };

static aoi_memory memory = {.alloc = host_alloc};

static struct {
    aoi_cells cells;
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
    return unit() * 8 / (1 << AOI_CELL_BITS) * field.cells.side;
}

static void random_place(const double *center, double spread, double *at) {
    for (int a = 0; a < 2; a++) {
        double v = center[a] + unit() * spread;
        at[a] = random_below(3) ? v * field.cells.side : floor(v) * field.cells.side + a_little(); /* at a border */
    }
}

static void put(uint32_t i, uint32_t near) {
    uint32_t cell = aoi_cells_ready(&memory, &field.cells, near, field.at[i]);
    EXPECT(cell != AOI_NONE);
    field.slot[i] = aoi_cells_put(&field.cells, cell, field.at[i], i);
    field.home[i] = cell;
}

static void take(uint32_t i) {
    uint32_t moved = aoi_cells_take(&field.cells, field.home[i], field.slot[i]);
    if (moved != AOI_NONE) field.slot[moved] = field.slot[i];
}

static void move(uint32_t i, const double *to) {
    memcpy(field.at[i], to, sizeof field.at[i]);
    if (aoi_cells_set(&field.cells, field.home[i], field.slot[i], to)) return;
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
    return (aoi_visitor){visit, f, (uintptr_t)field.at, (uintptr_t)field.at};
}

static void expect_alike(const found *a, const found *b) {
    for (uint32_t i = 0; i < field.count; i++) EXPECT(a->times[i] <= 1 && a->times[i] == b->times[i]);
}

static bool sees(const double *w, const double *t, double r) {
    return aoi_in_box(2, w, t, r);
}

/* May the item have come in or gone out, as target or as watcher?  With `all`, may it be inside? */
static bool matters(const double *from, const double *to, const double *at, double r, bool all) {
    bool a = sees(from, at, r), b = sees(to, at, r), c = sees(at, from, r), d = sees(at, to, r);
    return all ? a || b || c || d : a != b || c != d;
}

/* Farther out, or in, than roundings explain: by more than five marks. */
static bool is_idle(const double *from, const double *to, const double *at, double least, double most, bool all) {
    double mark = field.cells.side / (1 << AOI_CELL_BITS);
    bool kept = !all;
    for (int a = 0; a < 2; a++) {
        double low = fmin(from[a], to[a]), high = fmax(from[a], to[a]);
        if (at[a] < low - most - 5 * mark || at[a] > high + most + 5 * mark) return true;
        kept = kept && at[a] > high - least + 5 * mark && at[a] < low + least - 5 * mark;
    }
    return kept;
}

static void check_move(const double *from, const double *to, double least, double most, bool all, uint32_t center) {
    found best, plain;
    aoi_visitor v = visitor(&best), u = visitor(&plain);
    uint64_t steps = aoi_best_sweeper()->move(&field.cells, from, to, all ? 0 : least, most, center, &v);
    EXPECT(aoi_plain_sweeper()->move(&field.cells, from, to, all ? 0 : least, most, center, &u) == steps);
    expect_alike(&best, &plain);
    bool far = false; /* at the end of the world boxes are cut off, and holes with them */
    for (int a = 0; a < 2; a++)
        far = far || fmax(fabs(from[a]), fabs(to[a])) + most > ((double)AOI_CELL_MOST - 2) * field.cells.side;
    for (uint32_t i = 0; i < field.count; i++) {
        const double *at = field.at[i], reaches[] = {least, most, least / 2 + most / 2};
        for (int k = 0; k < 3; k++)
            if (matters(from, to, at, reaches[k], all)) EXPECT(best.times[i] == 1);
        if (!far && is_idle(from, to, at, least, most, all)) EXPECT(best.times[i] == 0);
    }
}

static void check_box(const double *at, double r) {
    double lo[2] = {at[0] - r, at[1] - r}, hi[2] = {at[0] + r, at[1] + r};
    found best, plain;
    aoi_visitor v = visitor(&best), u = visitor(&plain);
    uint64_t steps = aoi_best_sweeper()->box(&field.cells, lo, hi, &v);
    EXPECT(aoi_plain_sweeper()->box(&field.cells, lo, hi, &u) == steps);
    expect_alike(&best, &plain);
    for (uint32_t i = 0; i < field.count; i++)
        if (sees(at, field.at[i], r)) EXPECT(best.times[i] == 1);
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
    aoi_cells_open(&field.cells, side);
    field.count = 1 + random_below(random_below(4) ? 40 : MOST);
    for (uint32_t i = 0; i < field.count; i++) {
        random_place(center, spread, field.at[i]);
        put(i, AOI_NONE);
    }
    for (int k = 0; k < 12; k++) {
        uint32_t i = random_below(field.count);
        double *from = field.at[i], to[2], least = random_reach(from), most = random_below(2) ? least : least * 1.5;
        uint32_t home = random_below(4) ? field.home[i] : AOI_NONE;
        random_place(center, spread, to);
        if (random_below(4))
            for (int a = 0; a < 2; a++) to[a] = from[a] + (random_below(3) ? unit() * side / 8 : a_little());
        check_move(from, to, least, most, random_below(4) == 0, home);
        check_box(to, most);
        move(i, to);
        EXPECT(aoi_cells_has(&field.cells, field.home[i], field.slot[i], to, i));
    }
    EXPECT(aoi_cells_check(&field.cells) == NULL);
    aoi_cells_close(&memory, &field.cells);
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
