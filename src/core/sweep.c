/* sweep.c - the targets that a moving ball touches, and the times: aoi_sweep.
 *
 *      p0 ---d---> p1     The distance of target and centre, |m + t d| with m = p0 - target, falls to R at the smaller
 *     (  )        (  )    root of  a t*t + 2 b t + c = 0,  a = d.d, b = m.d, c = m.m - R*R.  Christer Ericson, Real-Time
 *                         Collision Detection, 5.3.2.
 *
 * The index is queried with the box of the whole path.  Rounding may count a target as touched that is slightly farther
 * than R: q = b*b - a*c cancels, an error of some 2^-50 of m.m in the square of a distance; and if a is tiny, its
 * product with c has only the digits above 2^-1074.  The box has room for both. */
#include <stdlib.h>

#include "core/space.h"

static double dot(int dims, const double *u, const double *v) {
    AOI_PRODUCT x = u[0] * v[0], y = u[1] * v[1];
    if (dims < 3) return x + y;
    AOI_PRODUCT z = u[2] * v[2];
    return x + y + z;
}

typedef struct sweep {
    int dims;
    const double *from;
    double d[3], a, radius;
} sweep;

/* Whether the ball touches the target, and when. */
static bool touches(const sweep *w, const double *target, double radius, double *t) {
    double m[3] = {w->from[0] - target[0], w->from[1] - target[1], w->dims == 3 ? w->from[2] - target[2] : 0};
    if (radius < 0) return false;
    AOI_PRODUCT rr = radius * radius;
    double b = dot(w->dims, m, w->d), c = dot(w->dims, m, m) - rr;
    *t = 0;
    if (c <= 0) return true;
    if (w->a == 0 || b >= 0) return false;
    AOI_PRODUCT bb = b * b, ac = w->a * c;
    double q = bb - ac;
    if (q < 0) return false;
    *t = (-b - sqrt(q)) / w->a;
    return *t <= 1;
}

/* The distance from the path within which targets may be touched. */
static double sweep_room(const sweep *w) {
    double length = sqrt(w->a), reach = w->radius + (length + w->radius) * 0x1p-22;
    return w->a > 0 ? reach + sqrt(1e-322 / w->a) : fmax(reach, 1e-150);
}

static void find_swept(aoi_space *s, const sweep *w, const double *to) {
    double reach = sweep_room(w), lo[2], hi[2];
    for (int i = 0; i < 2; i++) {
        lo[i] = fmin(w->from[i], to[i]) - reach;
        hi[i] = fmax(w->from[i], to[i]) + reach;
    }
    aoi_find_in_box(s, lo, hi);
}

int aoi_sweep(aoi_space *s, const double *from, const double *to, double radius, uint64_t mask, const int64_t **ids,
              const double **times, size_t *count) {
    aoi_records *r = &s->records;
    aoi_memory *m = &r->memory;
    if (!aoi_is_place(s, from) || !aoi_is_place(s, to) || !(radius >= 0) || (radius > AOI_FARTHEST && !isinf(radius)))
        return AOI_EVALUE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    sweep ball = {.dims = r->dims, .from = from, .radius = radius};
    for (int i = 0; i < r->dims; i++) ball.d[i] = to[i] - from[i];
    ball.a = dot(r->dims, ball.d, ball.d);
    find_swept(s, &ball, to);
    if (!aoi_answer_ready(s, r->hit_count, false) || !AOI_GROW(m, s->ranked, s->ranked_cap, r->hit_count) ||
        !AOI_GROW(m, s->times_out, s->times_cap, r->hit_count))
        return AOI_ENOMEM;
    size_t n = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_entity_record *e = r->entities + r->hits[i];
        aoi_looks looks = aoi_looks_of(s, r->hits[i]);
        double t;
        if ((!mask || (looks.kind & mask)) && touches(&ball, e->pos, radius + looks.extent, &t))
            s->ranked[n++] = (aoi_ranked){t, e->id};
    }
    if (n) qsort(s->ranked, n, sizeof *s->ranked, aoi_by_rank);
    for (size_t i = 0; i < n; i++) {
        s->ids_out[i] = s->ranked[i].id;
        s->times_out[i] = s->ranked[i].by;
    }
    s->answer_count = (uint32_t)n;
    *times = s->times_out;
    return aoi_give(s, ids, count);
}
