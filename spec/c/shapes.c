/* Bounds of shapes: what is inside an area is within its reach and its height, what is in `inner` is inside; for random
 * areas of every shape, with numbers at the ends of the double's range, and for targets close to each border. */
#include "core/shapes.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/space.h"
#include "host.h"

static aoi_records records = {.memory = {.alloc = host_alloc}, .dims = 2};

static double lattice(void) {
    return (double)random_below(9) - 4;
}

static double extreme(void) {
    static const double some[] = {0,       1,        -1,        1e15,       1e15 + 0.125, 0x1p50,
                                  -0x1p50, 0x1p49,   -1e12,     1e9,        1e-160,       -1e-170,
                                  DBL_MIN, -DBL_MIN, 0x1p-1074, -0x1p-1074, 0x1p-1073,    0x1p-537};
    return some[random_below(sizeof some / sizeof *some)];
}

static double fraction(void) {
    return (double)random_below(1u << 30) / (1 << 30) * 20 - 10;
}

static double coordinate(int scene) {
    return scene == 0 ? lattice() : scene == 1 ? fraction() : random_below(3) ? extreme() : lattice();
}

static void make_area(int scene, int dims, double *points, aoi_area *a) {
    static const double angles[] = {6.283185307179586, 3.141592653589793, 1.5707963267948966, 1e-9, 5};
    *a = (aoi_area){.mask = AOI_ALL_KINDS, .points = points, .corners = 3 + (int)random_below(5)};
    do a->shape = (int)random_below(6);
    while (a->shape == AOI_CYLINDER && dims == 2);
    for (int i = 0; i < 2 * a->corners; i++) points[i] = coordinate(scene);
    for (int i = 0; i < 3; i++) a->extents[i] = fabs(coordinate(scene));
    a->radius = fabs(coordinate(scene));
    a->margin = random_below(2) && a->shape != AOI_POLYGON ? fabs(coordinate(scene)) : 0;
    a->half_height = fabs(coordinate(scene));
    a->facing = fraction();
    a->angle = angles[random_below(5)];
    for (int i = 0, beside = random_below(4) == 0; i < 3 && beside; i++) a->offset[i] = coordinate(scene);
}

/* Somewhere, or next to a border: a watcher, moved by one of the area's own numbers, and a few steps aside. */
static double aside(int scene, double w, const aoi_area *a) {
    double by = random_below(2)   ? a->radius
                : random_below(2) ? a->extents[random_below(2)]
                                  : a->points[random_below(6)];
    double t = random_below(4) == 0 ? coordinate(scene) : w + (random_below(2) ? by : -by);
    if (random_below(2)) t = w + by * (double)random_below(1000) / 999;
    for (uint32_t steps = random_below(4); steps > 0; steps--) t = nextafter(t, random_below(2) ? DBL_MAX : -DBL_MAX);
    return fabs(t) <= AOI_FARTHEST ? t : fmax(fmin(w, AOI_FARTHEST), -AOI_FARTHEST);
}

static bool within(double w, double t, double reach) {
    return w - reach <= t && t <= w + reach;
}

/* For squares and boxes `inner` is the box of the rule; for round areas a distance test decides. */
static bool in_hole(int shape, const double *inner, const double *w, const double *t) {
    if (inner[0] < 0 || inner[1] < 0) return false;
    if (shape == AOI_CIRCLE || shape == AOI_CYLINDER)
        return fabs(t[0] - w[0]) <= inner[0] && fabs(t[1] - w[1]) <= inner[1];
    return within(w[0], t[0], inner[0]) && within(w[1], t[1], inner[1]);
}

static void bounds_hold(int scene, int dims) {
    double points[2 * 8], w[3], t[3];
    unsigned long inside = 0;
    records.dims = dims;
    for (int round = 0; round < 60000; round++) {
        aoi_area a;
        aoi_area_state is;
        make_area(scene, dims, points, &a);
        if (!EXPECT(aoi_area_fault(dims, &a) == NULL)) return;
        if (!EXPECT(aoi_area_resolve(&records, &a, &is))) return;
        aoi_bounds bounds = aoi_bounds_from(dims, &is, 0);
        expect_at("scene %d, %dD, round %d, shape %d", scene, dims, round, a.shape);
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 3; i++) w[i] = random_below(2) ? 0 : coordinate(scene);
            for (int i = 0; i < 3; i++) t[i] = random_below(5) ? aside(scene, w[i] + a.offset[i], &a) : w[i];
            aoi_zone zone = aoi_zone_of(dims, is.shape, &is.area, w, t);
            bool reached = within(w[0], t[0], is.reach[0]) && within(w[1], t[1], is.reach[1]);
            bool high = dims == 2 || within(w[2], t[2], bounds.reach[2]);
            bool deep = in_hole(a.shape, bounds.inner, w, t);
            if (zone != AOI_OUTSIDE) EXPECT(reached && high);
            if (zone == AOI_BETWEEN) EXPECT(is.margined);
            if (deep && dims == 2) EXPECT(zone == AOI_INSIDE);
            inside += zone != AOI_OUTSIDE;
        }
        EXPECT(isinf(is.reach[0]) == isinf(is.reach[1]));
        aoi_shape_drop(&records, is.area.shape);
    }
    EXPECT(inside > 10000);
    EXPECT(records.shape_count == 0);
}

/* The rule as aoi.h has it. */
static bool in_rings_by_the_rule(const aoi_area *a, double dx, double dy) {
    bool in = false;
    for (int k = 0, from = 0; k < a->rings; from = a->ends[k++])
        for (int i = from, j = a->ends[k] - 1; i < a->ends[k]; j = i++) {
            const double xi = a->points[2 * i], yi = a->points[2 * i + 1];
            const double xj = a->points[2 * j], yj = a->points[2 * j + 1];
            in ^= (yi > dy) != (yj > dy) && dx < (xj - xi) * (dy - yi) / (yj - yi) + xi;
        }
    return in;
}

/* Shapes of many sides: anything; a comb, upright and leaning; a shore. */
static void draw(int scene, int shape, int corners, double *points) {
    for (int i = 0; i < corners; i++) {
        const double turn = 6.283185307179586 * i / corners, far = 8 + sin(9 * turn) + 0.3 * sin(41 * turn);
        const double x = i, y = i % 2 ? 100 : fraction();
        points[2 * i] = shape == 0 ? coordinate(scene) : shape == 3 ? far * cos(turn) : x + (shape == 2 ? y : 0);
        points[2 * i + 1] = shape == 0 ? coordinate(scene) : shape == 3 ? far * sin(turn) : y;
    }
}

/* Polygons of any number of corners and rings, some with the same height; places at corners and on sides, too. */
static void trees_follow_the_rule(int scene) {
    enum { MOST = 300 };
    static double points[2 * MOST];
    int ends[4];
    unsigned long inside = 0;
    records.dims = 2;
    for (int round = 0; round < 3000; round++) {
        const int rings = 1 + (int)random_below(4), shape = (int)random_below(4);
        aoi_area a = {.shape = AOI_POLYGON, .mask = 1, .points = points, .ends = ends, .rings = rings};
        aoi_area_state is;
        for (int k = 0; k < rings; k++) {
            const int n = 3 + (int)random_below(random_below(2) ? 6 : (MOST - 3) / (uint32_t)rings);
            draw(scene, shape, n, points + 2 * a.corners);
            ends[k] = a.corners += n;
        }
        if (!EXPECT(aoi_area_fault(2, &a) == NULL) || !EXPECT(aoi_area_resolve(&records, &a, &is))) return;
        expect_at("scene %d, round %d, shape %d, %d rings, %d corners", scene, round, shape, rings, a.corners);
        for (int k = 0; k < 40; k++) {
            const double *u = points + 2 * random_below((uint32_t)a.corners),
                         *v = points + 2 * random_below((uint32_t)a.corners);
            double t[3] = {u[0], v[1]}, w[3] = {0}, part = (double)random_below(9) / 8;
            if (random_below(2))
                v = u + (u > points ? -2 : 0), t[0] = u[0] + part * (v[0] - u[0]), t[1] = u[1] + part * (v[1] - u[1]);
            for (uint32_t n = random_below(4); n > 0; n--) t[0] = nextafter(t[0], random_below(2) ? 1e9 : -1e9);
            const bool in = in_rings_by_the_rule(&a, t[0], t[1]);
            EXPECT((aoi_zone_of(2, a.shape, &is.area, w, t) == AOI_INSIDE) == in);
            inside += in;
        }
        aoi_area told;
        aoi_area_describe(&is, &told);
        EXPECT(told.corners == a.corners && !memcmp(told.points, points, 16 * (size_t)a.corners));
        EXPECT(told.rings == (rings > 1 ? rings : 0) &&
               (rings == 1 || !memcmp(told.ends, ends, sizeof *ends * (size_t)rings)));
        aoi_shape_drop(&records, is.area.shape);
    }
    EXPECT(inside > 10000);
}

/* Rings that end nowhere, or have too few corners, and too many corners. */
static void bad_outlines(void) {
    static double points[2 * AOI_MOST_CORNERS + 2];
    static const int bad[][3] = {{2, 7}, {3, 5}, {3, 6}, {3, 8}, {4, 3}, {-1, 7}, {INT_MAX, 7}, {INT_MIN, 7}};
    for (int i = 0; i < 2 * AOI_MOST_CORNERS + 2; i++) points[i] = random_below(100);
    aoi_area a = {.shape = AOI_POLYGON, .points = points, .corners = 7, .ends = (int[]){3, 7}, .rings = 2};
    EXPECT(aoi_area_fault(2, &a) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        aoi_area b = a;
        b.ends = bad[i];
        EXPECT(aoi_area_fault(2, &b) != NULL);
    }
    a.rings = -1;
    EXPECT(aoi_area_fault(2, &a) != NULL);
    a.rings = 2, a.ends = NULL;
    EXPECT(aoi_area_fault(2, &a) != NULL);
    a.rings = 0, a.corners = AOI_MOST_CORNERS;
    EXPECT(aoi_area_fault(2, &a) == NULL);
    a.corners++;
    EXPECT(aoi_area_fault(2, &a) != NULL);
}

/* (0.6, 0), (0, d), (0, 0) with d the smallest double: the product of the side that rises is rounded up to d, so that it
 * is crossed at 1 instead of 0.6. */
static void flat_side(void) {
    const double points[] = {0.6, 0, 0, 0x1p-1074, 0, 0}, w[3] = {0}, t[3] = {0.9};
    aoi_area a = {.shape = AOI_POLYGON, .points = points, .corners = 3};
    aoi_area_state is;
    if (!EXPECT(aoi_area_resolve(&records, &a, &is))) return;
    EXPECT(aoi_zone_of(2, a.shape, &is.area, w, t) == AOI_INSIDE);
    EXPECT(is.reach[0] >= 0.9);
    aoi_shape_drop(&records, is.area.shape);
}

/* Areas of a hundred kinds, each given to some: one block for each kind, but for sectors; two areas that differ in one number
 * have two, or one if they have an offset and differ in their radius. */
static void blocks_are_shared(int dims) {
    enum { KINDS = 100, AREAS = 1000 };
    static double points[KINDS][2 * 8];
    static aoi_area kinds[KINDS];
    static aoi_area_state is[AREAS];
    uint32_t own = 0;
    records.dims = dims;
    for (int i = 0; i < KINDS; i++) {
        if (i % 4 == 1) { /* like the one before, but for one number */
            kinds[i] = kinds[i - 1];
            memcpy(points[i], points[i - 1], sizeof points[i]);
            kinds[i].points = points[i];
            if (kinds[i].shape == AOI_POLYGON) points[i][3] += 1;
            else if (kinds[i].shape == AOI_BOX) kinds[i].extents[1] += 1;
            else kinds[i].radius += 1;
        } else make_area(1, dims, points[i], kinds + i);
    }
    for (int i = 0; i < AREAS; i++) {
        if (!EXPECT(aoi_area_resolve(&records, kinds + i * 7 % KINDS, is + i))) return;
        const aoi_shape *p = is[i].area.shape, *q = i < KINDS ? NULL : is[i - KINDS].area.shape;
        own += p && p->place == AOI_NONE;
        if (q) EXPECT((p == q) == (p->place != AOI_NONE));
    }
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < i; k++)
            if (is[i].area.shape && is[i].area.shape == is[k].area.shape)
                EXPECT(kinds[i * 7 % KINDS].shape == kinds[k * 7 % KINDS].shape &&
                       (is[i].shape == AOI_SHIFTED || !memcmp(is[i].reach, is[k].reach, 16)));
    EXPECT(own > 0 && records.shape_count > 20 && records.shape_count <= KINDS);
    for (int i = 0; i < AREAS; i++) aoi_shape_drop(&records, is[i * 3 % AREAS].area.shape);
    EXPECT(records.shape_count == 0);
}

int main(void) {
    random_start("shapes");
    RUN(flat_side);
    RUN(bad_outlines);
    for (int scene = 0; scene < 3; scene++) trees_follow_the_rule(scene);
    for (int dims = 2; dims <= 3; dims++) blocks_are_shared(dims);
    for (int scene = 0; scene < 3; scene++)
        for (int dims = 2; dims <= 3; dims++) bounds_hold(scene, dims);
    aoi_shapes_free(&records);
    EXPECT(host.used == 0);
    return expect_report("shapes");
}
