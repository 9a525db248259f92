/* The self-join of items that have moved: every couple that may have passed a border, once, for boxes and
 * for circles, with and without hysteresis; and few that have not. */
#include "engines/shared/self_join.h"

#include <math.h>

#include "host.h"

enum { MOST = 300 };

typedef struct crowd {
    uint32_t n;
    double at[MOST][2], was_at[MOST][2];
    unsigned char met[MOST][MOST];
} crowd;

static crowd w;

static double distance(double (*p)[2], uint32_t a, uint32_t b, bool round) {
    double x = fabs(p[a][0] - p[b][0]), y = fabs(p[a][1] - p[b][1]);
    return round ? sqrt(x * x + y * y) : fmax(x, y);
}

static int zone(double d, double near, double far) {
    return d < near ? 0 : d <= far ? 1 : 2;
}

static struct { double near, far; } border;

/* That they have met, or parted, is told only where it is sure. */
static void expect_told(uint32_t a, uint32_t b, uint32_t change) {
    int was = zone(distance(w.was_at, a, b, false), border.near, border.far);
    int is = zone(distance(w.at, a, b, false), border.near, border.far);
    EXPECT(change == AOI_MET ? was == 2 && is == 0 : was == 0 && is == 2);
}

static void meet(void *ud, const aoi_couple *couples, size_t count) {
    (void)ud;
    for (size_t i = 0; i < count; i++) {
        uint32_t a = couples[i].a < couples[i].b ? couples[i].a : couples[i].b, b = couples[i].a + couples[i].b - a;
        EXPECT(a < b && b < w.n);
        if (couples[i].change != AOI_UNTOLD) expect_told(a, b, couples[i].change);
        w.met[a][b]++;
    }
}

/* sharp: coordinates are such that fixed-point ones can tell; then few meet in vain. */
static void look(const aoi_join_rows *rows, double near, double far, bool round, bool sharp) {
    long idle = 0, due = 0;
    aoi_borders b = {.enter_min = {near, near},
                     .enter_max = {near, near},
                     .leave_min = {far, far},
                     .leave_max = {far, far},
                     .round = round,
                     .gap = round && near < far};
    memset(w.met, 0, sizeof w.met);
    border.near = near, border.far = far;
    (void)aoi_self_join(rows, &b, meet, NULL);
    for (uint32_t i = 0; i < w.n; i++)
        for (uint32_t k = i + 1; k < w.n; k++) {
            int was = zone(distance(w.was_at, i, k, round), near, far),
                is = zone(distance(w.at, i, k, round), near, far);
            bool matters = round ? was != is : !(was == is && was != 1); /* boxes have no gap here */
            EXPECT(w.met[i][k] <= 1 && w.met[i][k] >= matters);
            due += matters;
            idle += w.met[i][k] && !matters;
        }
    if (sharp) EXPECT(idle <= 10 + due / 4);
}

static void field(aoi_world *world, int run) {
    static const double offsets[] = {0, -1e6, 0x1p40, -0x1p36 - 3, 1e300};
    aoi_join_rows rows = {0};
    aoi_memory *m = &world->memory;
    double side = ldexp(1 + (double)random_below(3) / 4, (int)random_below(9) - 2);
    double spread = side * (1 + (double)random_below(8)), offset = offsets[run % 5], step = side * 0.4;
    bool scattered = run % 3 == 0; /* few bins for many places: they wrap around */
    w.n = 2 + (uint32_t)random_below(MOST - 1);
    aoi_forget_ways(world);
    for (uint32_t i = 0; i < w.n; i++) {
        double place = offset + (scattered ? side * 40 * (double)(i % 7 * i % 5) : 0);
        for (int a = 0; a < 2; a++) {
            w.at[i][a] = place + spread * (double)random_below(100000) / 100000;
            w.was_at[i][a] = w.at[i][a] + step * ((double)random_below(2001) / 1000 - 1);
            world->entities[i].pos[a] = w.at[i][a];
            aoi_way_of(world, i)[a] = w.was_at[i][a];
            world->travels.lo[a] = fmin(world->travels.lo[a], w.at[i][a]);
            world->travels.hi[a] = fmax(world->travels.hi[a], w.at[i][a]);
        }
        world->entities[i].mover = i;
        world->entities[i].generation = 1;
    }
    world->entity_top = world->entity_count = world->moved = world->mover_count = w.n;
    EXPECT(aoi_join_rows_fill(world, side, INFINITY, &rows));
    EXPECT(rows.far_count == 0 && rows.count == w.n);
    for (int i = 0; i < 8; i++) {
        double far = 0.19 * side * (double)random_below(1001) / 1000, near = far * (double)random_below(11) / 10;
        bool sharp = !scattered && fabs(offset) < side * 0x1p29;
        expect_at("run %d: %u items, side %g, from %g to %g", run, w.n, side, near, far);
        look(&rows, near, far, i & 1, sharp);
    }
    aoi_join_rows_free(m, &rows);
}

int main(void) {
    aoi_world world = {.memory = {.alloc = host_alloc}, .dims = 2};
    random_start("self_join");
    EXPECT(AOI_GROW_LINES(&world.memory, world.entities, world.entity_cap, MOST));
    EXPECT(AOI_GROW(&world.memory, world.ways, world.way_cap, 2 * MOST));
    for (int run = 0; run < 90; run++) field(&world, run);
    AOI_FREE_LINES(&world.memory, world.entities, world.entity_cap);
    AOI_FREE(&world.memory, world.ways, world.way_cap);
    EXPECT(host.used == 0);
    return expect_report("self_join");
}
