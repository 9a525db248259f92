/* Ring scans over arrays of points agree with the definition, and miss no candidate, whatever rounding does. */
#include "engines/quadtree/ring_scan.h"

#include <float.h>
#include <math.h>

#include "core/rule.h"
#include "expect.h"

enum { MOST = AOI_SCAN_MOST, RUNS = 5 };

/* Blocks of exactly as many items as must be readable, so that a sanitizer sees each item too many. */
typedef struct points {
    float *x, *y;
    double at[MOST][2];
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
    case 3: /* whose squares floats hardly have */
        return ((double)random_below(21) - 10) * 3e-23;
    case 4:
        return ldexp((double)random_below(2001) - 1000, (int)random_below(1900) - 950);
    default:
        return special[random_below(sizeof special / sizeof *special)];
    }
}

static points random_points(size_t n, size_t first, int scale) {
    size_t room = n < AOI_SCAN_WIDTH ? n : (n + AOI_SCAN_WIDTH - 1) / AOI_SCAN_WIDTH * AOI_SCAN_WIDTH;
    points p = {.x = malloc(room * sizeof(float) + 1), .y = malloc(room * sizeof(float) + 1), .n = n, .first = first};
    if (!p.x || !p.y) abort();
    for (size_t i = 0; i < n; i++) {
        for (int a = 0; a < 2; a++) p.at[i][a] = random_double(scale);
        p.x[i] = aoi_scan_float(p.at[i][0]);
        p.y[i] = aoi_scan_float(p.at[i][1]);
    }
    return p;
}

/* The definition. */
static bool is_idle(const aoi_scan *s, float x, float y) {
    float d[2][2];
    for (int i = 0; i < 2; i++) {
        volatile float dx = fabsf(x - s->x[i]), dy = fabsf(y - s->y[i]), xx = dx * dx, yy = dy * dy;
        d[i][0] = s->round ? xx + yy : dx;
        d[i][1] = s->round ? 0 : dy;
    }
    if (s->round) {
        float near = fminf(d[0][0], d[1][0]), far = fmaxf(d[0][0], d[1][0]);
        return far < s->inner[0] || near > s->outer[0] || (s->gap && near > s->gap_begin[0] && far < s->gap_end[0]);
    }
    const float *v = d[0];
    bool beyond = v[0] > s->gap_begin[0] || v[1] > s->gap_begin[1];
    return (v[0] < s->inner[0] && v[1] < s->inner[1]) || v[0] > s->outer[0] || v[1] > s->outer[1] ||
           (s->gap && beyond && v[0] < s->gap_end[0] && v[1] < s->gap_end[1]);
}

typedef struct scene {
    points p[RUNS];
    size_t count, all;
} scene;

static scene random_scene(int scale) {
    scene s = {.count = random_below(RUNS + 1)};
    for (size_t k = 0; k < s.count; k++) {
        s.p[k] = random_points(random_below(3) ? random_below(MOST + 1) : random_below(6), s.all, scale);
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

/* Adds the points that this scan hits to `found`, where none of them may be yet. */
static void check_scan(const aoi_scan *q, const scene *s, bool *found) {
    for (size_t k = 0; k < s->count; k++) {
        const points *p = s->p + k;
        uint64_t hits = aoi_ring_scan(q, p->x, p->y, p->n);
        EXPECT(p->n == MOST || hits >> p->n == 0);
        for (size_t i = 0; i < p->n; i++) {
            bool hit = hits >> i & 1;
            EXPECT(hit == !is_idle(q, p->x[i], p->y[i]) && !(hit && found[p->first + i]));
            found[p->first + i] |= hit;
        }
    }
}

/* The zone as the rule has it: inside, kept, outside. */
static int zone(const double *w, const double *t, double r, double keep, bool round) {
    if (round) return aoi_in_ball(2, w, t, r) ? 0 : aoi_in_ball(2, w, t, keep) ? 1 : 2;
    return aoi_in_box(2, w, t, r) ? 0 : aoi_in_box(2, w, t, keep) ? 1 : 2;
}

/* By how much more than roundings explain a point is on one side of all borders at both ends of a small step; of a box, on
 * one and the same axis. */
static bool is_surely_idle(const aoi_borders *b, const double *from, const double *to, const double *at) {
    double near[3], far[3], slack = 0.01; /* by axis, and in the plane */
    for (int a = 0; a < 3; a++) {
        double d = a < 2 ? fabs(at[a] - from[a]) : hypot(at[0] - from[0], at[1] - from[1]);
        double e = a < 2 ? fabs(at[a] - to[a]) : hypot(at[0] - to[0], at[1] - to[1]);
        near[a] = fmin(d, e), far[a] = fmax(d, e);
    }
    if (b->round)
        return far[2] < b->enter_min[0] - slack || near[2] > b->leave_max[0] + slack ||
               (b->gap && near[2] > b->enter_max[0] + slack && far[2] < b->leave_min[0] - slack);
    double x = fmax(far[0], far[1]);
    bool beyond = near[0] > b->enter_max[0] + slack || near[1] > b->enter_max[1] + slack;
    for (int a = 0; a < 2; a++) /* across the watcher the nearer end is not the middle less half of the step */
        if (near[a] < fabs(to[a] - from[a])) beyond = false;
    return x < b->enter_min[0] - slack || near[0] > b->leave_max[0] + fabs(to[0] - from[0]) + slack ||
           near[1] > b->leave_max[1] + fabs(to[1] - from[1]) + slack ||
           (b->gap && beyond && x < b->leave_min[0] - slack);
}

/* Whoever is in another zone at the other end of the move is hit, for all areas between the borders; few others are. */
static void check_move(int scale) {
    double from[3] = {random_double(scale), random_double(scale)}, to[3] = {random_double(scale), random_double(scale)};
    double r[2] = {fabs(random_double(scale)), 0}, keep[2], wider = random_below(2) ? 1 : 1 + random_below(8) / 8.0;
    bool solid = random_below(4) == 0, round = random_below(2), found[RUNS * MOST] = {false};
    if (random_below(2)) /* a step */
        for (int a = 0; a < 2; a++) to[a] = from[a] + random_double(scale) / 16;
    r[1] = random_below(2) ? r[0] : r[0] + fabs(random_double(scale));
    for (int i = 0; i < 2; i++) keep[i] = r[i] * wider;
    if (!isfinite(to[0]) || !isfinite(to[1]) || !isfinite(keep[1])) return;
    round = round && r[0] > 1e-150 && keep[1] < 1e150; /* other circles are boxes to an engine */
    aoi_borders b = {.enter_min = {r[0], r[0]}, .enter_max = {r[1], r[1]}, .round = round};
    for (int a = 0; a < 2; a++) b.leave_min[a] = keep[0], b.leave_max[a] = keep[1];
    b.gap = b.enter_max[0] < b.leave_min[0];
    aoi_scan scans[2];
    scene s = random_scene(scale);
    size_t n = aoi_scans_of_move(from, to, &b, solid, scans);
    EXPECT(n == 1 || n == 2);
    for (size_t i = 0; i < n; i++) check_scan(scans + i, &s, found); /* no point is hit by both */
    for (size_t k = 0; k < s.count; k++)
        for (size_t i = 0; i < s.p[k].n; i++) {
            const double *at = s.p[k].at[i], t[3] = {at[0], at[1], 0};
            bool hit = found[s.p[k].first + i];
            for (int j = 0; j < 2; j++) {
                int was = zone(from, t, r[j], keep[j], round), is = zone(to, t, r[j], keep[j], round);
                int seen = zone(t, from, r[j], keep[j], round), sees = zone(t, to, r[j], keep[j], round);
                if (solid ? was < 2 || is < 2 || seen < 2 || sees < 2 : was != is || seen != sees) EXPECT(hit);
            }
            if (n == 1 && !solid && scale < 3 && is_surely_idle(&b, from, to, at)) EXPECT(!hit);
        }
    free_scene(&s);
}

static void check_box(int scale) {
    double at[3] = {random_double(scale), random_double(scale)}, r = fabs(random_double(scale));
    double lo[2] = {at[0] - r, at[1] - r}, hi[2] = {at[0] + r, at[1] + r}; /* may overflow */
    bool found[RUNS * MOST] = {false};
    scene s = random_scene(scale);
    aoi_scan q = aoi_scan_of_box(lo, hi);
    check_scan(&q, &s, found);
    for (size_t k = 0; k < s.count; k++)
        for (size_t i = 0; i < s.p[k].n; i++)
            if (aoi_in_box(2, at, s.p[k].at[i], r)) EXPECT(found[s.p[k].first + i]);
    free_scene(&s);
}

int main(void) {
    random_start("ring_scan");
    for (int i = 0; i < 20000; i++) {
        int scale = (int)random_below(6);
        expect_at("scale %d, round %d", scale, i);
        check_move(scale);
        check_box(scale);
    }
    return expect_report("ring_scan");
}
