/* ring.c - see ring.h. */
#include "grid/ring.h"

#include <limits.h>

#define RING_SQRT2 1.4142135623730951

/* Whether a ring of circles suits: squares must not underflow.  Heights of a cylinder do not matter while they stay. */
static bool ring_is_round(int dims, const aoi_bounds *b) {
    if (b->shape == AOI_SECTOR) return dims == 2 && b->reach[0] > 1e-100;
    if (b->shape == AOI_POLYGON) return b->round;
    return b->shape == (dims == 2 ? AOI_CIRCLE : AOI_CYLINDER) && b->inner[0] > 1e-100;
}

/* The bounds give a circle by its inscribed square, and so its radius to within 2^-14. */
static aoi_borders ring_round_borders(const aoi_bounds *b) {
    double enter = fmax(b->inner[0], 0) * (RING_SQRT2 * (1 - 0x1p-45)), leave = b->reach[0];
    if (b->shape == AOI_SECTOR || b->shape == AOI_POLYGON) /* borders anywhere between the two circles */
        return (aoi_borders){.enter_min = {enter, enter},
                             .enter_max = {leave, leave},
                             .leave_min = {enter, enter},
                             .leave_max = {leave, leave},
                             .round = true};
    return (aoi_borders){.enter_min = {enter, enter},
                         .enter_max = {enter * (1 + 0x1p-14)},
                         .leave_min = {leave * (1 - 0x1p-30)},
                         .leave_max = {leave, leave},
                         .round = true};
}

aoi_borders aoi_borders_of(int dims, const aoi_bounds *b) {
    aoi_borders r = {.round = ring_is_round(dims, b)};
    if (r.round) r = ring_round_borders(b);
    else
        for (int a = 0; a < 2; a++) {
            bool none = b->inner[0] < 0 || b->inner[1] < 0;
            r.enter_min[a] = none ? 0 : b->inner[a];
            r.enter_max[a] = b->shape == AOI_SQUARE && !none ? b->inner[a] : b->reach[a];
            r.leave_min[a] = r.leave_max[a] = b->reach[a];
        }
    r.fixed = b->shape == AOI_POLYGON;
    r.gap =
        r.enter_max[0] < r.leave_min[0] * (1 - 0x1p-6) && (r.round || r.enter_max[1] < r.leave_min[1] * (1 - 0x1p-6));
    return r;
}

double aoi_borders_depth(const aoi_borders *b) {
    if (b->round) return b->leave_max[0] - b->enter_min[0];
    return fmax(b->leave_max[0], b->leave_max[1]) - fmin(b->enter_min[0], b->enter_min[1]);
}

int aoi_borders_kind(const aoi_borders *b, int silence) {
    double reach = fmax(b->leave_max[0], b->leave_max[1]), depth = aoi_borders_depth(b);
    int class = depth >= reach ? 0 : depth > 0.4 * reach ? 1 : depth > 0.01 * reach ? 2 : 3;
    return b->round | b->gap << 1 | silence << 2 | class << 4 | b->fixed << 6;
}

int aoi_size_class(double reach) {
    int e;
    double m = frexp(reach, &e);
    return reach == 0 ? INT_MIN : m == 0.5 ? e - 1 : e;
}

void aoi_borders_include(aoi_borders *all, const aoi_borders *b) {
    for (int a = 0; a < 2; a++) {
        if (b->enter_min[a] < all->enter_min[a]) all->enter_min[a] = b->enter_min[a];
        if (b->enter_max[a] > all->enter_max[a]) all->enter_max[a] = b->enter_max[a];
        if (b->leave_min[a] < all->leave_min[a]) all->leave_min[a] = b->leave_min[a];
        if (b->leave_max[a] > all->leave_max[a]) all->leave_max[a] = b->leave_max[a];
    }
    all->gap = all->gap && b->gap && all->enter_max[0] < all->leave_min[0] &&
               (all->round || all->enter_max[1] < all->leave_min[1]);
}

aoi_ring aoi_ring_of_move(const double *from, const double *to, const aoi_borders *b, bool solid) {
    aoi_ring q;
    double far = fmax(aoi_magnitude(from), aoi_magnitude(to));
    double safe = aoi_ring_margin(far + aoi_magnitude(b->leave_max));
    for (int a = 0; a < 2; a++) {
        double half = fabs(to[a] - from[a]) / 2;
        double enter = b->round ? b->enter_min[0] * 0.7071 : b->enter_min[a];
        q.center[a] = (to[a] + from[a]) / 2;
        q.outer[a] = b->leave_max[a] + half + safe;
        q.inner[a] = solid ? -1 : enter - half - safe;
    }
    return q;
}

size_t aoi_rings_of_move(const double *from, const double *to, const aoi_borders *b, bool solid, aoi_ring out[2]) {
    double dx = fabs(to[0] - from[0]), dy = fabs(to[1] - from[1]);
    if (dx > 2 * b->leave_max[0] || dy > 2 * b->leave_max[1]) {
        out[0] = aoi_ring_of_move(from, from, b, true);
        out[1] = aoi_ring_of_move(to, to, b, true);
        if (dx > 2.5 * fmax(out[0].outer[0], out[1].outer[0]) || dy > 2.5 * fmax(out[0].outer[1], out[1].outer[1]))
            return 2;
    }
    out[0] = aoi_ring_of_move(from, to, b, solid);
    return 1;
}

aoi_ring aoi_ring_of_box(const double *lo, const double *hi) {
    aoi_ring q;
    for (int a = 0; a < 2; a++) {
        q.center[a] = (hi[a] + lo[a]) / 2;
        q.outer[a] = (hi[a] - lo[a]) / 2 + aoi_ring_margin(fmax(fabs(lo[a]), fabs(hi[a])));
        q.inner[a] = -1;
    }
    return q;
}
