/* ring_query.c - see ring_query.h. */
#include "grid/ring_query.h"

#include "grid/ring_plan.h"

enum { RING_MATCHED = 64 }; /* buckets before their refs are read */
enum { RING_OPEN = 16 };    /* a power of two, more than cells */

/* ---- scans of cells ---------------------------------------------------------------------------------------------- */

typedef struct ring_scan {
    const aoi_spatial_hash *h;
    const aoi_visitor *v;
    uint64_t steps;
    size_t found;
    uint32_t bits; /* of all refs, where items do not tell */
    uint32_t hits[AOI_RING_HITS];
} ring_scan;

static void ring_flush(ring_scan *s) {
    if (s->found) s->v->visit(s->v->ud, s->hits, s->found);
    s->found = 0;
}

typedef struct ring_matched { /* buckets, and which of their items are in the ring */
    uint32_t bucket[RING_MATCHED], bits[RING_MATCHED], count;
} ring_matched;

AOI_INLINE void ring_gather(ring_scan *s, ring_matched *m, int kind) {
    for (uint32_t i = 0; i < m->count; i++) {
        const aoi_bucket *b = s->h->buckets + m->bucket[i];
        const uint32_t own = m->bits[i] >> 16, all = m->bits[i] | own;
        for (uint32_t bits = all & 0xffff; bits; bits &= bits - 1) {
            int lane = aoi_lanes_first(bits);
            uint32_t ref = b->ref[lane], mark = s->bits;
            if (kind & RING_EACH) mark = (own >> lane & 1) << 31 | (m->bits[i] >> lane & 1) << 30;
            s->hits[s->found++] = ref | mark;
            AOI_PREFETCH((const void *)(s->v->records + (size_t)ref * AOI_CACHE_LINE));
            AOI_PREFETCH((const void *)(s->v->others + (size_t)ref * AOI_CACHE_LINE));
        }
        if (s->found > AOI_RING_HITS - AOI_BUCKET_ITEMS) ring_flush(s);
    }
    m->count = 0;
}

/* Whether a bucket matches is not predictable, so there is no branch.  Returns the next bucket of the cell. */
AOI_INLINE uint32_t ring_scan_bucket(const aoi_spatial_hash *h, uint32_t i, const ring_lanes *lanes, int kind,
                                     bool wide, bool marked, ring_matched *m) {
    const aoi_bucket *buckets = h->buckets;
    uint32_t bits = buckets[i].bits[marked];
    if (kind & RING_EACH) {
        ring_both both = ring_match_each(lanes, buckets + i, h->reach + (size_t)i * AOI_BUCKET_LANES, kind);
        bits = (both.theirs | both.own << 16) & bits * 0x10001;
    } else bits &= ring_match(lanes, buckets + i, kind, wide);
    m->bucket[m->count] = i;
    m->bits[m->count] = bits;
    m->count += bits != 0;
    return buckets[i].next;
}

/* Some of the nine cells around one: their head buckets, then the others of full cells, whose chains are walked side by
 * side, as each step waits for memory: `open` is a queue of the next bucket of each chain. */
AOI_INLINE void ring_scan_by(ring_scan *s, const aoi_cell *mid, unsigned cells, const ring_lanes *lanes, int kind,
                             bool wide) {
    uint32_t open[RING_OPEN], first = 0, last = 0, heads = 0, i;
    ring_matched m;
    bool marked = s->v->marked;
    m.count = 0;
    for (; cells; cells &= cells - 1) {
        if ((i = mid->head[aoi_lanes_first(cells)]) == AOI_NONE) continue;
        heads++;
        if ((i = ring_scan_bucket(s->h, i, lanes, kind, wide, marked, &m)) != AOI_NONE) open[last++] = i;
    }
    while (first != last) {
        if (m.count == RING_MATCHED) ring_gather(s, &m, kind);
        i = ring_scan_bucket(s->h, open[first++ % RING_OPEN], lanes, kind, wide, marked, &m);
        open[last % RING_OPEN] = i;
        last += i != AOI_NONE;
    }
    ring_gather(s, &m, kind);
    s->steps += (uint64_t)(heads + first) * AOI_BUCKET_ITEMS;
}

static void ring_scan_cells(ring_scan *s, const aoi_cell *mid, unsigned cells, const ring_lanes *lanes, int kind) {
    switch (kind) {
    case RING_BOX:
        ring_scan_by(s, mid, cells, lanes, RING_BOX, false);
        break;
    case RING_BOX | RING_GAP:
        ring_scan_by(s, mid, cells, lanes, RING_BOX | RING_GAP, false);
        break;
    case RING_ROUND:
        ring_scan_by(s, mid, cells, lanes, RING_ROUND, false);
        break;
    case RING_EACH:
        ring_scan_by(s, mid, cells, lanes, RING_EACH, false);
        break;
    case RING_ROUND | RING_EACH:
        ring_scan_by(s, mid, cells, lanes, RING_ROUND | RING_EACH, false);
        break;
    default:
        ring_scan_by(s, mid, cells, lanes, RING_ROUND | RING_GAP, false);
        break;
    }
}

/* Around a place that may not have a cell: `k` replaces it, and needs no head buckets. */
static void ring_scan_around(ring_scan *s, aoi_cell *k, unsigned cells, const ring_lanes *lanes, int kind) {
    uint32_t i = aoi_spatial_find(s->h, k->cx, k->cy);
    if (i != AOI_NONE) {
        ring_scan_cells(s, s->h->cells + i, cells, lanes, kind);
        return;
    }
    for (unsigned left = cells; left; left &= left - 1) {
        int d = aoi_lanes_first(left);
        i = aoi_spatial_find(s->h, k->cx + d % 3 - 1, k->cy + d / 3 - 1);
        k->head[d] = i == AOI_NONE ? AOI_NONE : s->h->cells[i].head[AOI_MIDDLE];
    }
    ring_scan_cells(s, k, cells, lanes, kind);
}

/* ---- any ring over any cells ------------------------------------------------------------------------------------- */

/* In fixed-point units.  An item is within a border if it is less than that far from the center on both axes; inner 0:
 * there is none.  A round one has both radii besides, in doubles. */
typedef struct ring {
    int64_t center[2], outer[2], inner[2];
    double radius_in, radius_out;
    bool round;
} ring;

static int64_t ring_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t ring_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The window of a rectangle that is too wide for 16 bits, in one cell: the center moves to the nearest place in it. */
static ring_window ring_box_window(const ring *r, const aoi_cell *k) {
    ring_window w = {0};
    for (int a = 0; a < 2; a++) {
        int64_t first = (int64_t)(a ? k->cy : k->cx) * RING_CELL, last = first + RING_CELL - 1;
        int64_t near = ring_smaller(ring_larger(r->center[a], first), last), off = llabs(r->center[a] - near);
        w.center[a] = (uint16_t)near;
        w.half[a] = (uint16_t)ring_smaller(ring_larger(r->outer[a] - off, 0), RING_CELL);
        w.half[2 + a] = (uint16_t)ring_smaller(ring_larger(r->inner[a] - off, 0), RING_CELL);
    }
    return w;
}

/* Of a circle: all lengths are halved until they fit.  Both coordinates of a difference are rounded twice, so that
 * distances are off by less than 3 units. */
static ring_window ring_round_window(const ring *r, const aoi_cell *k) {
    ring_window w = {0};
    double unit = 1;
    while (k && (ring_larger(r->outer[0], r->outer[1]) + RING_CELL) >> w.shift >= INT16_MAX) w.shift++, unit *= 0.5;
    double inner = r->radius_in * unit - 3, outer = r->radius_out * unit + 3;
    w.limits = (ring_limits){inner > 0 ? (int32_t)(inner * inner) : 0,
                             outer * outer < INT32_MAX ? (int32_t)(outer * outer) + 1 : INT32_MAX, 1, 0};
    for (int a = 0; a < 2; a++) {
        int64_t first = k ? (int64_t)(a ? k->cy : k->cx) * RING_CELL : 0;
        w.base[a] = (uint16_t)first;
        w.center[a] = (uint16_t)((r->center[a] - first) >> w.shift);
    }
    return w;
}

static void ring_scan_wide_cell(ring_scan *s, const aoi_cell *k, const ring *r) {
    const ring_window w = r->round ? ring_round_window(r, k) : ring_box_window(r, k);
    const ring_lanes lanes = ring_spread(&w, r->round ? RING_ROUND : RING_BOX);
    if (r->round) ring_scan_by(s, k, 1u << AOI_MIDDLE, &lanes, RING_ROUND, true);
    else ring_scan_by(s, k, 1u << AOI_MIDDLE, &lanes, RING_BOX, false);
}

enum { RING_NARROW = 3 * RING_CELL }; /* outer borders up to which differences have 16 bits, whatever the cell */

typedef struct ring_walker { /* cells are collected, and scanned nine at a time */
    ring_scan *scan;
    const ring *ring;
    bool narrow;
    ring_lanes lanes;
    uint32_t count;
    aoi_cell nine;
} ring_walker;

static void ring_open_walker(ring_walker *w, ring_scan *s, const ring *r) {
    w->scan = s, w->ring = r, w->count = 0;
    w->narrow = r->outer[0] <= RING_NARROW && r->outer[1] <= RING_NARROW;
    if (!w->narrow) return;
    ring_window all = {
        .center = {(uint16_t)r->center[0], (uint16_t)r->center[1]},
        .half = {(uint16_t)r->outer[0], (uint16_t)r->outer[1], (uint16_t)r->inner[0], (uint16_t)r->inner[1]}};
    if (r->round) all = ring_round_window(r, NULL);
    w->lanes = ring_spread(&all, r->round ? RING_ROUND : RING_BOX);
}

static void ring_scan_collected(ring_walker *w) {
    ring_scan_cells(w->scan, &w->nine, (1u << w->count) - 1, &w->lanes, w->ring->round ? RING_ROUND : RING_BOX);
    w->count = 0;
}

static void ring_walk_cell(ring_walker *w, const aoi_cell *k) {
    if (!w->narrow) {
        ring_scan_wide_cell(w->scan, k, w->ring);
        return;
    }
    w->nine.head[w->count++] = k->head[AOI_MIDDLE];
    if (w->count == 9) ring_scan_collected(w);
}

static void ring_walk_all(ring_walker *w, const aoi_span *outer, const aoi_span *inner) {
    const aoi_spatial_hash *h = w->scan->h;
    for (uint32_t i = 0; i < h->top; i++) {
        const aoi_cell *k = h->cells + i;
        if (aoi_cell_exists(k) && aoi_span_holds(outer, k->cx, k->cy) && !aoi_span_holds(inner, k->cx, k->cy))
            ring_walk_cell(w, k);
    }
}

static void ring_walk_span(ring_walker *w, const aoi_span *outer, const aoi_span *inner) {
    for (int32_t y = outer->y0; y <= outer->y1; y++) {
        bool crosses = inner->y0 <= y && y <= inner->y1 && inner->x0 <= inner->x1;
        for (int32_t x = outer->x0; x <= outer->x1; x++) {
            if (crosses && x == inner->x0) x = inner->x1 + 1;
            if (x > outer->x1) break;
            uint32_t i = aoi_spatial_find(w->scan->h, x, y);
            if (i != AOI_NONE) ring_walk_cell(w, w->scan->h->cells + i);
        }
    }
}

static void ring_walk(ring_scan *s, const ring *r) {
    int64_t lo[2], hi[2], in_lo[2], in_hi[2];
    for (int a = 0; a < 2; a++) {
        lo[a] = r->center[a] - r->outer[a] + 1;
        hi[a] = r->center[a] + r->outer[a] - 1;
        in_lo[a] = r->center[a] - r->inner[a] + 1;
        in_hi[a] = r->center[a] + r->inner[a] - 1;
    }
    aoi_span outer = {aoi_cell_of_fixed(lo[0]), aoi_cell_of_fixed(lo[1]), aoi_cell_of_fixed(hi[0]),
                      aoi_cell_of_fixed(hi[1])};
    /* the cells wholly in the inner region */
    aoi_span inner = {aoi_cell_of_fixed(in_lo[0] + RING_CELL - 1), aoi_cell_of_fixed(in_lo[1] + RING_CELL - 1),
                      aoi_cell_of_fixed(in_hi[0] + 1) - 1, aoi_cell_of_fixed(in_hi[1] + 1) - 1};
    ring_walker w;
    ring_open_walker(&w, s, r);
    if (aoi_span_is_wide(s->h, &outer)) ring_walk_all(&w, &outer, &inner);
    else ring_walk_span(&w, &outer, &inner);
    if (w.count) ring_scan_collected(&w);
}

/* ---- rings in fixed-point units ---------------------------------------------------------------------------------- */

static int64_t ring_about(const aoi_spatial_hash *h, double v) {
    double k = v * h->scale;
    return fabs(k) < (double)AOI_FIXED_MOST ? (int64_t)k : aoi_fixed_of(h, v);
}

/* Adds one unit on the safe side.  The center is the one of the outer border. */
static ring ring_of(const aoi_spatial_hash *h, const aoi_ring *q) {
    ring r = {.round = false};
    for (int a = 0; a < 2; a++) {
        int64_t lo = ring_about(h, q->center[a] - q->outer[a]) - 1, hi = ring_about(h, q->center[a] + q->outer[a]);
        int64_t in_lo = ring_about(h, q->center[a] - q->inner[a]) + 1,
                in_hi = ring_about(h, q->center[a] + q->inner[a]) - 2;
        r.center[a] = (lo + hi) >> 1;
        r.outer[a] = hi - r.center[a] + 1;
        r.inner[a] = ring_larger(ring_smaller(r.center[a] - in_lo, in_hi - r.center[a]) + 1, 0);
    }
    return r;
}

/* Turns a ring of boxes into a ring of circles, except where the lattice is clamped. */
static void ring_make_round(const aoi_spatial_hash *h, const double *from, const double *to, const aoi_borders *b,
                            bool solid, ring *r) {
    double center[2], half[2];
    double safe = aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to) + b->leave_max[0]) * h->scale;
    for (int a = 0; a < 2; a++) {
        center[a] = (from[a] * 0.5 + to[a] * 0.5) * h->scale;
        half[a] = fabs(from[a] * 0.5 - to[a] * 0.5) * h->scale;
    }
    double slack = sqrt(half[0] * half[0] + half[1] * half[1]) + safe + RING_BAND;
    double outer = b->leave_max[0] * h->scale + slack, inner = solid ? 0 : b->enter_min[0] * h->scale - slack;
    for (int a = 0; a < 2; a++)
        if (!(fabs(center[a]) + outer < (double)AOI_FIXED_MOST - 4 * RING_CELL)) return;
    r->round = true;
    r->radius_out = outer;
    r->radius_in = inner > 0 ? inner : 0;
    for (int a = 0; a < 2; a++) {
        r->center[a] = aoi_floor_to_int(center[a]);
        r->outer[a] = (int64_t)outer + 2;
        r->inner[a] = ring_larger((int64_t)(r->radius_in * 0.7071) - 2, 0);
    }
}

static ring ring_of_move(const aoi_spatial_hash *h, const double *from, const double *to, const aoi_borders *b,
                         bool solid) {
    aoi_ring q = aoi_ring_of_move(from, to, b, solid);
    ring r = ring_of(h, &q);
    if (b->round) ring_make_round(h, from, to, b, solid, &r);
    return r;
}

/* With room for the rounding of both kinds of scans. */
static bool ring_disjoint(const ring *p, const ring *q) {
    return llabs(p->center[0] - q->center[0]) >= p->outer[0] + q->outer[0] + 8 ||
           llabs(p->center[1] - q->center[1]) >= p->outer[1] + q->outer[1] + 8;
}

/* The usual case when the cell of the place is not given, or does not exist. */
static bool ring_scan_step(ring_scan *s, const double *from, const double *to, const aoi_borders *b, bool solid,
                           int kind) {
    ring_lanes lanes;
    int32_t cx = aoi_cell_of_fixed(aoi_fixed_of(s->h, from[0])), cy = aoi_cell_of_fixed(aoi_fixed_of(s->h, from[1]));
    aoi_cell k = {.cx = cx, .cy = cy, .begin = {aoi_block_begin(cx), aoi_block_begin(cy)}};
    unsigned cells = ring_plan(s->h, &k, from, to, b, solid, s->v, kind, &lanes);
    if (cells) ring_scan_around(s, &k, cells, &lanes, kind);
    return cells != 0;
}

/* A jump so far that the areas at its ends do not meet is two rings without inner regions. */
static void ring_scan_far(ring_scan *s, const double *from, const double *to, const aoi_borders *b, bool solid,
                          int kind) {
    aoi_ring q[2];
    if (aoi_rings_of_move(from, to, b, solid, q) == 2) {
        ring r[2] = {ring_of_move(s->h, from, from, b, true), ring_of_move(s->h, to, to, b, true)};
        if (ring_disjoint(r, r + 1)) {
            if (!ring_scan_step(s, from, from, b, true, kind)) ring_walk(s, r);
            if (!ring_scan_step(s, to, to, b, true, kind)) ring_walk(s, r + 1);
            return;
        }
    }
    ring r = ring_of_move(s->h, from, to, b, solid);
    ring_walk(s, &r);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static inline uint32_t ring_cell_at(const aoi_spatial_hash *h, const double *at) {
    return aoi_spatial_find(h, aoi_cell_of_fixed(aoi_fixed_of(h, at[0])), aoi_cell_of_fixed(aoi_fixed_of(h, at[1])));
}

AOI_INLINE uint64_t ring_query_by(const aoi_spatial_hash *h, const double *from, const double *to, const aoi_borders *b,
                                  bool solid, uint32_t center, const aoi_visitor *v, int kind) {
    ring_scan s;
    ring_lanes lanes;
    s.h = h, s.v = v, s.steps = s.found = 0;
    s.bits = v->tells ? AOI_RING_THEIRS | (v->own < 0 ? 0 : AOI_RING_OWN) : 0;
    if (center == AOI_NONE) center = ring_cell_at(h, from);
    const aoi_cell *mid = center == AOI_NONE ? NULL : h->cells + center;
    unsigned cells = mid ? ring_plan(h, mid, from, to, b, solid, v, kind, &lanes) : 0;
    if (cells) ring_scan_by(&s, mid, cells, &lanes, kind, false);
    else if (mid || !ring_scan_step(&s, from, to, b, solid, kind))
        ring_scan_far(&s, from, to, b, solid, kind & ~RING_EACH);
    ring_flush(&s);
    return s.steps;
}

/* An area around the middle of the box without an inner region. */
uint64_t aoi_box_query(const aoi_spatial_hash *h, const double *lo, const double *hi, const aoi_visitor *v) {
    aoi_ring q = aoi_ring_of_box(lo, hi);
    aoi_borders b = {.leave_max = {q.outer[0], q.outer[1]}};
    return ring_query_by(h, q.center, q.center, &b, true, AOI_NONE, v, RING_BOX);
}

uint64_t aoi_ring_query(const aoi_spatial_hash *h, const double *from, const double *to, const aoi_borders *b,
                        bool solid, uint32_t center, const aoi_visitor *v) {
    switch ((b->round ? RING_ROUND : RING_BOX) | (v->each ? RING_EACH : b->gap ? RING_GAP : 0)) {
    case RING_BOX:
        return ring_query_by(h, from, to, b, solid, center, v, RING_BOX);
    case RING_BOX | RING_GAP:
        return ring_query_by(h, from, to, b, solid, center, v, RING_BOX | RING_GAP);
    case RING_ROUND:
        return ring_query_by(h, from, to, b, solid, center, v, RING_ROUND);
    case RING_EACH:
        return ring_query_by(h, from, to, b, solid, center, v, RING_EACH);
    case RING_ROUND | RING_EACH:
        return ring_query_by(h, from, to, b, solid, center, v, RING_ROUND | RING_EACH);
    default:
        return ring_query_by(h, from, to, b, solid, center, v, RING_ROUND | RING_GAP);
    }
}
