/* aoi_sweeps.c - see aoi_sweeps.h. */
#include "aoi_sweeps.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { HITS = 256, CELLS = 16 }; /* gathered before they are visited, and scanned */

typedef struct ring { /* marks (aoi_cell_mark), bounds included */
    int64_t lo[2], hi[2], hole_lo[2], hole_hi[2];
} ring;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The ring as a line sees it, modulo 2^16.  An item is in the frame if item - lo <= frame, in the hole if
 * item - hole_lo < hole, on both axes. */
#ifdef __SSE2__
typedef __m128i lanes;
static inline lanes all_lanes(int64_t v) {
    return _mm_set1_epi16((short)(uint16_t)v);
}
#else
typedef uint16_t lanes;
static inline lanes all_lanes(int64_t v) {
    return (uint16_t)v;
}
#endif

typedef struct window {
    lanes lo[2], frame[2], hole_lo[2], hole[2];
} window;

/* One bit for each item that is in the frame but not in the hole. */
static inline unsigned hits_in(const window *w, const aoi_line *l) {
#ifdef __SSE2__
    __m128i none = _mm_setzero_si128(), x = _mm_load_si128((const __m128i *)(const void *)l->x),
            y = _mm_load_si128((const __m128i *)(const void *)l->y); /* the eighth lane is nobody's */
    __m128i beyond = _mm_or_si128(_mm_subs_epu16(_mm_sub_epi16(x, w->lo[0]), w->frame[0]),
                                  _mm_subs_epu16(_mm_sub_epi16(y, w->lo[1]), w->frame[1]));
    __m128i x_in = _mm_subs_epu16(w->hole[0], _mm_sub_epi16(x, w->hole_lo[0])),
            y_in = _mm_subs_epu16(w->hole[1], _mm_sub_epi16(y, w->hole_lo[1]));
    __m128i out = _mm_or_si128(_mm_cmpeq_epi16(x_in, none), _mm_cmpeq_epi16(y_in, none));
    __m128i hit = _mm_and_si128(_mm_cmpeq_epi16(beyond, none), out);
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(hit, none)) & l->used;
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < AOI_ITEMS; i++) {
        uint16_t x = (uint16_t)(l->x[i] - w->lo[0]), y = (uint16_t)(l->y[i] - w->lo[1]);
        uint16_t hx = (uint16_t)(l->x[i] - w->hole_lo[0]), hy = (uint16_t)(l->y[i] - w->hole_lo[1]);
        bits |= (unsigned)((x <= w->frame[0]) & (y <= w->frame[1]) & !((hx < w->hole[0]) & (hy < w->hole[1]))) << i;
    }
    return bits & l->used;
#endif
}

static inline unsigned lowest(unsigned bits) {
#ifdef __GNUC__
    return (unsigned)__builtin_ctz(bits);
#else
    unsigned i = 0;
    while (!(bits >> i & 1)) i++;
    return i;
#endif
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

typedef struct sweep {
    const aoi_cells *c;
    aoi_visit visit;
    void *ud;
    uint64_t steps;
    size_t found, count;
    uint32_t lines[CELLS + 1], hits[HITS]; /* lines: of `count` cells the next one */
} sweep;

static void tell(sweep *s) {
    if (s->found) s->visit(s->ud, s->hits, s->found);
    s->found = 0;
}

/* The lines of several cells abreast: whether a cell has another one cannot be foretold, so nothing branches on it, and
 * memory is asked for many at once. */
static inline void scan(sweep *s, const window *w) {
    size_t count = s->count, found = s->found;
    while (count) {
        size_t left = 0;
        if (found > HITS - CELLS * AOI_ITEMS) {
            s->found = found;
            tell(s);
            found = 0;
        }
        for (size_t i = 0; i < count; i++) {
            const aoi_line *l = s->c->lines + s->lines[i];
            s->lines[left] = l->next;
            left += l->next != AOI_NONE;
            for (unsigned bits = hits_in(w, l); bits; bits &= bits - 1) s->hits[found++] = l->ref[lowest(bits)];
        }
        count = left;
    }
    s->found = found;
    s->count = 0;
}

static inline void add_cell(sweep *s, const aoi_cell *k) {
    s->lines[s->count] = k->first;
    s->count += k->first != AOI_NONE;
    s->steps += k->count;
}

static inline window window_of(const ring *r) {
    window w;
    for (int a = 0; a < 2; a++) {
        bool has_hole = r->hole_lo[a] <= r->hole_hi[a];
        w.lo[a] = all_lanes(r->lo[a]);
        w.frame[a] = all_lanes(r->hi[a] - r->lo[a]);
        w.hole_lo[a] = all_lanes(r->hole_lo[a]);
        w.hole[a] = all_lanes(has_hole ? r->hole_hi[a] - r->hole_lo[a] + 1 : 0);
    }
    return w;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A cell of a ring that may be too wide for 16 bits: so much of it as is in the cell. */
static void scan_alone(sweep *s, const aoi_cell *k, const ring *r) {
    ring own;
    for (int a = 0; a < 2; a++) {
        int64_t first = (int64_t)(a ? k->cy : k->cx) * (1 << AOI_CELL_BITS), last = first + (1 << AOI_CELL_BITS) - 1;
        own.lo[a] = larger(r->lo[a], first);
        own.hi[a] = smaller(r->hi[a], last);
        own.hole_lo[a] = larger(r->hole_lo[a], first);
        own.hole_hi[a] = smaller(r->hole_hi[a], last);
    }
    window w = window_of(&own);
    add_cell(s, k);
    scan(s, &w);
}

/* A cell and its neighbours, which it knows. */
static void walk_near(sweep *s, const aoi_cell *mid, const ring *r, const aoi_span *frame, const aoi_span *hole) {
    window w = window_of(r);
    for (int32_t y = frame->y0; y <= frame->y1; y++) {
        bool crosses = hole->y0 <= y && y <= hole->y1;
        for (int32_t x = frame->x0; x <= frame->x1; x++) {
            uint32_t i = mid->near[aoi_cell_direction(x - mid->cx, y - mid->cy)];
            if (i != AOI_NONE && !(crosses && hole->x0 <= x && x <= hole->x1)) add_cell(s, s->c->cells + i);
        }
    }
    scan(s, &w);
}

static void walk_all(sweep *s, const ring *r, const aoi_span *frame, const aoi_span *hole) {
    for (uint32_t i = 0; i < s->c->top; i++) {
        const aoi_cell *k = s->c->cells + i;
        if (aoi_cell_exists(k) && aoi_span_holds(frame, k->cx, k->cy) && !aoi_span_holds(hole, k->cx, k->cy))
            scan_alone(s, k, r);
    }
}

static void walk_span(sweep *s, const ring *r, const aoi_span *frame, const aoi_span *hole) {
    for (int32_t y = frame->y0; y <= frame->y1; y++) {
        bool crosses = hole->y0 <= y && y <= hole->y1 && hole->x0 <= hole->x1;
        for (int32_t x = frame->x0; x <= frame->x1; x++) {
            if (crosses && x == hole->x0) x = hole->x1 + 1;
            if (x > frame->x1) break;
            uint32_t i = aoi_cells_find(s->c, x, y);
            if (i != AOI_NONE) scan_alone(s, s->c->cells + i, r);
        }
    }
}

static bool is_near(const aoi_cell *k, const aoi_span *span) {
    return aoi_cell_touches(k, span->x0, span->y0) && aoi_cell_touches(k, span->x1, span->y1);
}

static void walk(sweep *s, uint32_t center, const ring *r) {
    const aoi_cells *c = s->c;
    aoi_span frame = {aoi_cell_of_mark(r->lo[0]), aoi_cell_of_mark(r->lo[1]), aoi_cell_of_mark(r->hi[0]),
                      aoi_cell_of_mark(r->hi[1])};
    /* the first cell that begins in the hole, the last that ends in it */
    int64_t past = (1 << AOI_CELL_BITS) - 1;
    aoi_span hole = {aoi_cell_of_mark(r->hole_lo[0] + past), aoi_cell_of_mark(r->hole_lo[1] + past),
                     aoi_cell_of_mark(r->hole_hi[0] + 1) - 1, aoi_cell_of_mark(r->hole_hi[1] + 1) - 1};
    if ((center == AOI_NONE || !is_near(c->cells + center, &frame)) && frame.x1 - frame.x0 <= 2 &&
        frame.y1 - frame.y0 <= 2)
        center = aoi_cells_find(c, frame.x0 + (frame.x1 > frame.x0), frame.y0 + (frame.y1 > frame.y0));
    if (center != AOI_NONE && is_near(c->cells + center, &frame)) walk_near(s, c->cells + center, r, &frame, &hole);
    else if (aoi_span_is_wide(c, &frame)) walk_all(s, r, &frame, &hole);
    else walk_span(s, r, &frame, &hole);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* More than all the roundings together of the sums that take part, the largest of which is below `size`. */
static inline double margin(double size) {
    return size * 0x1p-49;
}

/* The mark, or the next. */
static inline int64_t about(const aoi_cells *c, double v) {
    double k = v * c->scale;
    return fabs(k) < (double)AOI_MARK_MOST ? (int64_t)k : aoi_cell_mark(c, v);
}

static void no_hole(ring *r) {
    r->hole_lo[0] = r->hole_lo[1] = 1;
    r->hole_hi[0] = r->hole_hi[1] = 0;
}

static void frame_of_box(const aoi_cells *c, const double *lo, const double *hi, double safe, ring *r) {
    for (int a = 0; a < 2; a++) {
        r->lo[a] = about(c, lo[a] - safe) - 1;
        r->hi[a] = about(c, hi[a] + safe);
    }
    no_hole(r);
}

static inline double magnitude(const double *p) {
    double x = fabs(p[0]), y = fabs(p[1]);
    return x > y ? x : y;
}

static void frame_of_place(const aoi_cells *c, const double *at, double most, ring *r) {
    double lo[2] = {at[0] - most, at[1] - most}, hi[2] = {at[0] + most, at[1] + most};
    frame_of_box(c, lo, hi, margin(magnitude(at) + most), r);
}

static bool disjoint(const ring *p, const ring *q) {
    return p->hi[0] < q->lo[0] || q->hi[0] < p->lo[0] || p->hi[1] < q->lo[1] || q->hi[1] < p->lo[1];
}

static inline void ring_of_step(const aoi_cells *c, const double *from, const double *to, double least, double most,
                                bool all, ring *r) {
    double safe = margin(magnitude(from) + magnitude(to) + most);
    for (int a = 0; a < 2; a++) {
        double low = from[a] < to[a] ? from[a] : to[a], high = from[a] < to[a] ? to[a] : from[a];
        r->lo[a] = about(c, low - most - safe) - 1;
        r->hi[a] = about(c, high + most + safe);
        r->hole_lo[a] = about(c, high - least + safe) + 1;
        r->hole_hi[a] = about(c, low + least - safe) - 2;
    }
    if (all) no_hole(r);
}

uint64_t aoi_sweep_box(const aoi_cells *c, const double *lo, const double *hi, aoi_visit visit, void *ud) {
    sweep s;
    ring r;
    s.c = c, s.visit = visit, s.ud = ud, s.steps = s.found = s.count = 0;
    frame_of_box(c, lo, hi, 0, &r);
    walk(&s, AOI_NONE, &r);
    tell(&s);
    return s.steps;
}

uint64_t aoi_sweep_move(const aoi_cells *c, const double *from, const double *to, double least, double most, bool all,
                        uint32_t center, aoi_visit visit, void *ud) {
    sweep s;
    ring r, end;
    s.c = c, s.visit = visit, s.ud = ud, s.steps = s.found = s.count = 0;
    if (fabs(to[0] - from[0]) > 2 * most || fabs(to[1] - from[1]) > 2 * most) {
        frame_of_place(c, from, most, &r);
        frame_of_place(c, to, most, &end);
        if (disjoint(&r, &end)) {
            walk(&s, center, &r);
            walk(&s, AOI_NONE, &end);
            tell(&s);
            return s.steps;
        }
    }
    ring_of_step(c, from, to, least, most, all, &r);
    walk(&s, center, &r);
    tell(&s);
    return s.steps;
}
