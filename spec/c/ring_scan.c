/* Ring scans over arrays of points agree with the definition, and a ring misses no candidate, whatever rounding does. */
#include "engines/quadtree/ring_scan.h"

#include <float.h>
#include <math.h>

#include "core/rule.h"
#include "expect.h"

enum { MOST = 40, RUNS = 5 };

/* Blocks of exactly as many items as must be readable, so that a sanitizer sees each item too many. */
typedef struct points {
    double *x, *y;
    size_t n, first; /* first: the number of the first of them in the scene */
} points;

static double random_double(int scale) {
    static const double special[] = {0,    -0.0,     5e-324, -5e-324, DBL_MIN, 1e-160,   1,          -1,
                                     1e15, 1e15 + 1, 1e300,  -1e300,  DBL_MAX, -DBL_MAX, DBL_MAX / 2};
    switch (scale) {
    case 0:
        return (double)random_below(21) - 10;
    case 1:
        return ((double)random_below(21) - 10) * 0.1;
    case 2:
        return ((double)random_below(2000001) - 1000000) * 1e-3;
    case 3:
        return ldexp((double)random_below(2001) - 1000, (int)random_below(1900) - 950);
    default:
        return special[random_below(sizeof special / sizeof *special)];
    }
}

static points random_points(size_t n, size_t first, int scale) {
    size_t room = n < AOI_SCAN_WIDTH ? n : (n + AOI_SCAN_WIDTH - 1) / AOI_SCAN_WIDTH * AOI_SCAN_WIDTH;
    points p = {malloc(room * sizeof(double) + 1), malloc(room * sizeof(double) + 1), n, first};
    if (!p.x || !p.y) abort();
    for (size_t i = 0; i < n; i++) {
        p.x[i] = random_double(scale);
        p.y[i] = random_double(scale);
    }
    return p;
}

/* The definition. */
static bool in_ring(const aoi_ring *q, double x, double y) {
    double dx = fabs(x - q->center[0]), dy = fabs(y - q->center[1]);
    volatile double xx = dx * dx, yy = dy * dy;
    if (q->round) return xx + yy <= q->outer2 && xx + yy > q->inner2;
    return dx <= q->outer[0] && dy <= q->outer[1] && !(dx <= q->inner[0] && dy <= q->inner[1]);
}

typedef struct scene {
    points p[RUNS];
    size_t count, all;
} scene;

static scene random_scene(int scale) {
    scene s = {.count = random_below(RUNS + 1)};
    for (size_t k = 0; k < s.count; k++) {
        s.p[k] = random_points(random_below(3) ? random_below(MOST) : random_below(6), s.all, scale);
        s.all += s.p[k].n;
    }
    return s;
}

static void free_scene(scene *s) {
    for (size_t k = 0; k < s->count; k++) {
        free(s->p[k].x);
        free(s->p[k].y);
    }
}

/* Adds the points that this ring holds to `found`, where none of them may be yet. */
static void check_scan(const aoi_ring *q, const scene *s, bool *found) {
    for (size_t k = 0; k < s->count; k++) {
        const points *p = s->p + k;
        bool hit[MOST] = {false};
        uint32_t *out = malloc(p->n * sizeof *out + 1);
        if (!out) abort();
        size_t n = aoi_ring_scan(q, p->x, p->y, p->n, out);
        EXPECT(n <= p->n);
        for (size_t i = 0; i < n; i++) {
            EXPECT(out[i] < p->n && !hit[out[i]]);
            hit[out[i]] = true;
        }
        free(out);
        for (size_t i = 0; i < p->n; i++) {
            EXPECT(hit[i] == in_ring(q, p->x[i], p->y[i]) && !(hit[i] && found[p->first + i]));
            found[p->first + i] |= hit[i];
        }
    }
}

static bool sees(const double *w, double x, double y, double r, bool round) {
    const double t[3] = {x, y, 0};
    return round ? aoi_in_ball(2, w, t, r) : aoi_in_box(2, w, t, r);
}

static bool is_seen(const double *t, double x, double y, double r, bool round) {
    const double w[3] = {x, y, 0};
    return round ? aoi_in_ball(2, w, t, r) : aoi_in_box(2, w, t, r);
}

/* Whoever is inside at one end of the move and not at the other is found, for all reaches between the bounds. */
static void check_move(int scale) {
    double from[3] = {random_double(scale), random_double(scale)}, to[3] = {random_double(scale), random_double(scale)};
    double least = fabs(random_double(scale)), most = random_below(2) ? least : least + fabs(random_double(scale));
    bool all = random_below(4) == 0, found[RUNS * MOST] = {false};
    if (random_below(2)) /* a step */
        for (int a = 0; a < 2; a++) to[a] = from[a] + random_double(scale) / 16;
    if (!isfinite(to[0]) || !isfinite(to[1]) || !isfinite(most)) return;
    aoi_ring rings[2];
    scene s = random_scene(scale);
    bool round = random_below(3) == 0 && least > 1e-150 && most < 1e150; /* other circles are boxes to an engine */
    aoi_borders borders = {
        .enter_min = {least, least}, .enter_max = {most, most}, .leave_min = {least, least}, .leave_max = {most, most}};
    borders.round = round;
    size_t n = aoi_rings_of_move(from, to, &borders, all, rings);
    EXPECT(n == 1 || n == 2);
    for (size_t i = 0; i < n; i++) check_scan(rings + i, &s, found); /* no point is found in both */
    const double reaches[] = {least, most, least / 2 + most / 2};
    for (size_t k = 0; k < s.count; k++)
        for (size_t i = 0; i < s.p[k].n; i++)
            for (size_t r = 0; r < sizeof reaches / sizeof *reaches; r++) {
                double x = s.p[k].x[i], y = s.p[k].y[i];
                bool a = sees(from, x, y, reaches[r], round), b = sees(to, x, y, reaches[r], round);
                bool c = is_seen(from, x, y, reaches[r], round), d = is_seen(to, x, y, reaches[r], round);
                if (all ? a || b || c || d : a != b || c != d) EXPECT(found[s.p[k].first + i]);
            }
    free_scene(&s);
}

static void check_box(int scale) {
    double at[3] = {random_double(scale), random_double(scale)}, r = fabs(random_double(scale));
    double lo[2] = {at[0] - r, at[1] - r}, hi[2] = {at[0] + r, at[1] + r}; /* may overflow */
    bool found[RUNS * MOST] = {false};
    scene s = random_scene(scale);
    aoi_ring q = aoi_ring_of_box(lo, hi);
    check_scan(&q, &s, found);
    for (size_t k = 0; k < s.count; k++)
        for (size_t i = 0; i < s.p[k].n; i++)
            if (sees(at, s.p[k].x[i], s.p[k].y[i], r, false)) EXPECT(found[s.p[k].first + i]);
    free_scene(&s);
}

int main(void) {
    random_start("ring_scan");
    for (int i = 0; i < 20000; i++) {
        int scale = (int)random_below(5);
        expect_at("scale %d, round %d", scale, i);
        check_move(scale);
        check_box(scale);
    }
    return expect_report("ring_scan");
}
