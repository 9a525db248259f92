/* wall_rule.h - what a wall hides, by the words of the contract: for models that loop over all walls. */
#ifndef WALL_RULE_H
#define WALL_RULE_H

#include "aoi_sight.h"

/* Walls that had an end on the line, or an end of the line on theirs. */
static unsigned long wall_touches;

static double cross(double ux, double uy, double vx, double vy) {
    volatile double a = ux * vy, b = uy * vx;
    return a - b;
}

/* Of both ends the one with the smaller x is w, then y, then z. */
static bool wall_hides(const aoi_wall *k, int dims, const double *w, const double *t) {
    bool later = w[0] > t[0] || (w[0] == t[0] && (w[1] > t[1] || (dims == 3 && w[1] == t[1] && w[2] > t[2])));
    if (later) return wall_hides(k, dims, t, w);
    double bx = k->b[0] - k->a[0], by = k->b[1] - k->a[1], lx = t[0] - w[0], ly = t[1] - w[1];
    double c = cross(bx, by, w[0] - k->a[0], w[1] - k->a[1]), d = cross(bx, by, t[0] - k->a[0], t[1] - k->a[1]);
    double e = cross(lx, ly, k->a[0] - w[0], k->a[1] - w[1]), f = cross(lx, ly, k->b[0] - w[0], k->b[1] - w[1]);
    wall_touches += c == 0 || d == 0 || e == 0 || f == 0;
    if (k->open || (c > 0) == (d > 0) || (e > 0) == (f > 0)) return false;
    double s = c / (c - d);
    volatile double rise = s * (t[2] - w[2]);
    double z = w[2] + rise;
    return dims == 2 || (k->z0 <= z && z <= k->z1);
}

#endif
