/* choose.c - chooses scale, lines and bins of a tick by a sample of nodes and the places of movers.
 *
 * The choice only affects speed: nodes that reach farther than it allows are judged one by one, movers that go farther
 * have their turns afterwards, and places without bins of their own share bins. */
#include <stdlib.h>

#include "tick/join.h"

enum { JOIN_SAMPLE = 256, JOIN_MOST_WIDE = 64, JOIN_FAR_SAMPLE = 64, JOIN_MOST_FAR = 32 }; /* one in so many */

typedef struct join_sample {
    uint32_t count;
    uint32_t node[JOIN_SAMPLE];
} join_sample;

/* The i-th of n scattered numbers below `top`; i itself if top is at most n. */
static uint32_t join_pick(uint32_t i, uint32_t n, uint32_t top) {
    return top <= n ? i : (uint32_t)((uint64_t)(i * UINT32_C(2654435769)) * top >> 32);
}

static void join_add_sample(const aoi_records *w, join_sample *out, uint32_t n) {
    const aoi_node_record *r = w->nodes + n;
    if (aoi_is_live(r->generation) && join_is_watching(r) && out->count < JOIN_SAMPLE) out->node[out->count++] = n;
}

/* Scans all slots if most are unused, or have nodes without events. */
static void join_take_sample(const aoi_records *r, join_sample *out) {
    uint32_t n = r->node_top < JOIN_SAMPLE ? r->node_top : JOIN_SAMPLE;
    out->count = 0;
    for (uint32_t i = 0; i < n; i++) join_add_sample(r, out, join_pick(i, JOIN_SAMPLE, r->node_top));
    if (out->count >= n / 8 || n < JOIN_SAMPLE) return;
    out->count = 0;
    for (uint32_t i = 0; i < r->node_top && out->count < JOIN_SAMPLE; i++) join_add_sample(r, out, i);
}

/* ---- the usual areas ------------------------------------------------------------------------------------- */

static bool join_same_carrier(const aoi_records *r, uint32_t n, uint32_t m) {
    return join_are_alike(r, r->entities[r->nodes[n].owner].nodes, r->entities[r->nodes[m].owner].nodes);
}

/* Whether two carriers of these nodes see each other or neither does, and the nodes make one probe. */
static bool join_is_mutual(const join_tick *t, uint32_t first) {
    const aoi_records *w = t->records;
    const aoi_node_record *f = w->nodes + first;
    bool alone = f->next == AOI_NONE, simple = f->shape == AOI_SQUARE || f->shape == AOI_CIRCLE;
    int count = 0;
    if (!(simple || (alone && (f->shape == AOI_BOX || f->shape == AOI_CYLINDER)))) return false;
    for (uint32_t n = first; n != AOI_NONE; n = w->nodes[n].next) {
        const aoi_node_record *r = w->nodes + n;
        if ((r->flags & AOI_NODE_OVERRIDES) || !join_is_watching(r) || aoi_join_is_wide(t, n)) return false;
        if (!alone && (r->shape != f->shape || r->mask != f->mask || (r->flags & AOI_NODE_KEEPS))) return false;
        if (++count > JOIN_BORDERS) return false;
    }
    return true;
}

/* A node with the same areas on its carrier as more than half of the sample, or AOI_NONE (Boyer and Moore 1981). */
static uint32_t join_majority(const aoi_records *r, const join_sample *s) {
    uint32_t most = AOI_NONE, lead = 0, votes = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!lead) most = s->node[i];
        lead += !lead || join_same_carrier(r, most, s->node[i]) ? 1 : UINT32_MAX;
    }
    for (uint32_t i = 0; i < s->count; i++) votes += join_same_carrier(r, most, s->node[i]);
    return 2 * votes > s->count ? most : AOI_NONE;
}

static void join_choose_usual(join_tick *t, const join_sample *s) {
    const aoi_records *r = t->records;
    uint32_t most = join_majority(r, s), first = most != AOI_NONE ? r->entities[r->nodes[most].owner].nodes : AOI_NONE;
    if (first != AOI_NONE && join_is_mutual(t, first)) t->usual.node = first;
}

/* ---- how far ----------------------------------------------------------------------------------------------------- */

typedef struct join_movers { /* a sample of the movers */
    uint32_t count;
    double step[JOIN_FAR_SAMPLE], at[2][JOIN_FAR_SAMPLE], size[JOIN_FAR_SAMPLE]; /* size: greatest coordinate */
} join_movers;

/* Of the first `count`. */
static void join_sample_movers(const aoi_records *r, uint32_t count, join_movers *m) {
    m->count = count < JOIN_FAR_SAMPLE ? count : JOIN_FAR_SAMPLE;
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t k = join_pick(i, JOIN_FAR_SAMPLE, count);
        const double *is = r->entities[r->movers[k]].pos;
        m->step[i] = aoi_chebyshev(r->dims, is, aoi_mover_end(r, k));
        m->at[0][i] = is[0], m->at[1][i] = is[1];
        m->size[i] = 0;
        for (int a = 0; a < r->dims; a++) m->size[i] = fmax(m->size[i], fabs(is[a]));
    }
}

static int join_exponent(double v) {
    int e = -1000;
    if (v > 0) (void)frexp(v, &e);
    return e;
}

/* A bound that at most one in `most` numbers exceeds, by exponents: slightly more than the greatest of the others, so
 * that it holds for more than the sample. */
static double join_quantile(const double *numbers, uint32_t count, uint32_t most) {
    int exponents[JOIN_SAMPLE], top = -1000;
    for (uint32_t i = 0; i < count; i++) {
        exponents[i] = join_exponent(numbers[i]);
        if (exponents[i] > top) top = exponents[i];
    }
    for (; top > -1000; top--) {
        uint32_t above = 0;
        for (uint32_t i = 0; i < count; i++) above += exponents[i] >= top;
        if (above * most > count) break;
    }
    double greatest = 0, step = ldexp(1, top - 5);
    for (uint32_t i = 0; i < count; i++) greatest = exponents[i] <= top ? fmax(greatest, numbers[i]) : greatest;
    return (floor(greatest / step) + 2) * step;
}

/* The longest move of an item: that of most movers, but not much farther than areas reach. */
static double join_choose_step(const join_tick *t, const join_movers *m) {
    double least = t->reach / 4, farthest = t->space->moves.farthest;
    if (farthest <= least) return farthest;
    return fmin(fmax(fmin(join_quantile(m->step, m->count, JOIN_MOST_FAR), t->reach), least), farthest);
}

/* If doubles do not suffice, no mover suits. */
static void join_choose_scale(join_tick *t, const join_sample *s, const join_movers *m) {
    double reach[JOIN_SAMPLE];
    for (uint32_t i = 0; i < s->count; i++) {
        const aoi_node_record *n = t->records->nodes + s->node[i];
        reach[i] = fmax(n->reach[0], n->reach[1]);
    }
    t->reach = join_quantile(reach, s->count, JOIN_MOST_WIDE);
    t->step = join_choose_step(t, m);
    double top = join_quantile(m->size, m->count, JOIN_MOST_FAR);
    t->scale = fmin(JOIN_LARGEST / (t->reach + 2 * t->step), 0x1p47 / top);
    if (t->scale > 1e-280 && t->scale < 1e280) return;
    t->step = -1;
    t->scale = 1;
}

/* ---- lines and bins ---------------------------------------------------------------------------------------------- */

static double join_most_cells(const join_tick *t) {
    return fmin(t->records->entity_count + 64.0, 0x1p26);
}

/* Lines are half as high as the farthest areas reach, unless there would be more lines than items; then as high. */
static void join_choose_lines(join_tick *t) {
    const aoi_travel *m = &t->space->moves;
    double most = join_most_cells(t), extent[2], margin = (t->range + 2) / t->scale;
    for (int a = 0; a < 2; a++) {
        t->origin[a] = m->lo[a] - margin;
        extent[a] = (m->hi[a] - t->origin[a] + margin) * t->scale;
    }
    double area = extent[0] * extent[1];
    t->line_bits = JOIN_LINE_BITS - (area * ldexp(4, -2 * (JOIN_LINE_BITS - 1)) < most);
    t->bin_bits = t->line_bits - 2;
    while (t->bin_bits < t->line_bits && area * ldexp(1, -t->bin_bits - t->line_bits) > most) t->bin_bits++;
    t->window[0] = (int64_t)fmin(extent[0] * ldexp(1, -t->bin_bits) + 1, 0x1p60);
    t->window[1] = (int64_t)fmin(extent[1] * ldexp(1, -t->line_bits) + 1, 0x1p60);
}

static int join_by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* As many bins and lines as the window has, but not many more than items, and at least twice those that a watcher
 * scans.  The numbers are odd, so that items far apart in one bin differ in their coordinates modulo a power of two.
 * If bins must be shared, the first turn of the torus is around the middle of the movers. */
static void join_choose_torus(join_tick *t) {
    join_movers m;
    m.count = 0;
    const int bits[2] = {t->bin_bits, t->line_bits};
    double most = 2 * join_most_cells(t), n[2], least[2];
    for (int a = 0; a < 2; a++) {
        least[a] = 2 * ((t->range >> bits[a]) + 1) + 1;
        n[a] = fmax(fmin((double)t->window[a], 65000), least[a]);
    }
    while (n[0] * n[1] > most && (n[0] > least[0] || n[1] > least[1])) {
        int a = n[1] <= least[1] || (n[0] > least[0] && n[0] > n[1]) ? 0 : 1;
        n[a] = fmax(floor(n[a] / 2), least[a]);
    }
    t->bins = (uint32_t)n[0] | 1;
    t->lines = (uint32_t)n[1] | 1;
    for (int a = 0; a < 2; a++) {
        if (t->window[a] <= (int64_t)n[a]) continue;
        if (!m.count) join_sample_movers(t->records, t->space->joined, &m);
        qsort(m.at[a], m.count, sizeof *m.at[a], join_by_number);
        double first = m.at[a][m.count / 2] - n[a] / 2 * ldexp(1, bits[a]) / t->scale;
        t->origin[a] = fmax(t->origin[a], first);
        t->window[a] = INT64_MAX;
    }
}

/* Bounds all heights, before and after. */
static void join_bound_heights(join_tick *t) {
    const aoi_records *r = t->records;
    double low = INFINITY, high = -INFINITY;
    for (uint32_t e = 0; e < r->entity_top; e++) {
        double z = r->entities[e].pos[2];
        if (!aoi_is_live(r->entities[e].generation)) continue;
        low = z < low ? z : low;
        high = z > high ? z : high;
    }
    t->low = low - 2 * t->step, t->high = high + 2 * t->step;
}

bool aoi_tick_choose(aoi_space *s) {
    const aoi_travel *m = &s->moves;
    join_tick t = {.space = s, .records = &s->records, .usual = {.node = AOI_NONE}};
    join_sample nodes;
    join_movers movers;
    join_take_sample(&s->records, &nodes);
    s->frame = (aoi_frame){.usual = AOI_NONE};
    if (!nodes.count || !s->records.mover_count) return true;
    join_sample_movers(&s->records, s->records.mover_count, &movers);
    join_choose_scale(&t, &nodes, &movers);
    if (s->records.dims == 3) join_bound_heights(&t);
    join_choose_usual(&t, &nodes);
    s->frame = (aoi_frame){t.step, t.scale, t.reach, t.low, t.high, t.usual.node};
    double far = 0;
    for (int a = 0; a < s->records.dims; a++) far = fmax(far, fmax(fabs(m->lo[a]), fabs(m->hi[a])));
    return m->farthest <= t.step && far * t.scale < AOI_FRAME_FARTHEST;
}

void aoi_join_lay(join_tick *t) {
    const aoi_frame *f = &t->space->frame;
    t->step = f->step, t->scale = f->scale, t->reach = f->reach, t->low = f->low, t->high = f->high;
    t->usual.node = f->usual;
    t->range = (int)((t->reach + 2 * t->step) * t->scale) + JOIN_ROUNDED;
    join_choose_lines(t);
    join_choose_torus(t);
    t->origin[2] = t->space->moves.lo[2];
}
