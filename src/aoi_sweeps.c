/* aoi_sweeps.c - see aoi_sweeps.h. */
#include "aoi_sweeps.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { HITS = 256, CELLS = 16 }; /* gathered before they are visited, and at most scanned together */

typedef struct ring { /* marks (aoi_cell_mark), bounds included; a hole that ends before it begins is none */
    int64_t lo[2], hi[2], hole_lo[2], hole_hi[2];
} ring;

#define CELL (1 << AOI_CELL_BITS) /* marks in a cell */

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
    const aoi_visitor *v;
    uint64_t steps;
    size_t found;
    uint32_t count, lines[2 * CELLS]; /* a ring: of `count` cells the next line */
    uint32_t hits[HITS];
} sweep;

static void tell(sweep *s) {
    if (s->found) s->v->visit(s->v->ud, s->hits, s->found);
    s->found = 0;
}

/* The lines of several cells abreast: whether a cell has another one cannot be foretold, so nothing branches on it, and
 * memory is asked for many at once. */
static inline void scan(sweep *s, const window *w) {
    const aoi_line *lines = s->c->lines;
    size_t found = s->found;
    uint32_t end = s->count;
    for (uint32_t i = 0; i < end; i++) {
        const aoi_line *l = lines + s->lines[i % (2 * CELLS)];
        s->lines[end % (2 * CELLS)] = l->next;
        end += l->next != AOI_NONE;
        for (unsigned bits = hits_in(w, l); bits; bits &= bits - 1) {
            uint32_t ref = l->ref[lowest(bits)];
            s->hits[found++] = ref;
            AOI_PREFETCH((const void *)(s->v->records + (size_t)ref * AOI_LINE));
            AOI_PREFETCH((const void *)(s->v->others + (size_t)ref * AOI_LINE));
        }
        if (found > HITS - AOI_ITEMS) {
            s->found = found;
            tell(s);
            found = 0;
        }
    }
    s->steps += (uint64_t)end * AOI_ITEMS;
    s->found = found;
    s->count = 0;
}

static inline void add_line(sweep *s, uint32_t line, bool wanted) {
    s->lines[s->count] = line;
    s->count += wanted & (line != AOI_NONE);
}

static inline window window_of(const ring *r) {
    window w;
    for (int a = 0; a < 2; a++) {
        int64_t hole = r->hole_hi[a] - r->hole_lo[a] + 1;
        w.lo[a] = all_lanes(r->lo[a]);
        w.frame[a] = all_lanes(r->hi[a] - r->lo[a]);
        w.hole_lo[a] = all_lanes(r->hole_lo[a]);
        w.hole[a] = all_lanes(hole > 0 ? hole : 0);
    }
    return w;
}

/* ---- a cell and its neighbours, which it knows ------------------------------------------------------------------- */

/* Bits of the cells of a row, or of a column, from one of the three to another; none if `to` is before `from`. */
static inline unsigned three(int from, int to) {
    return 7u << from & 7u >> (2 - to);
}

static inline unsigned three_by_three(unsigned columns, unsigned rows) {
    return columns * ((rows & 1) | (rows & 2) << 2 | (rows & 4) << 4);
}

typedef struct nine { /* a ring in marks from where the nine cells around a cell begin */
    _Alignas(16) int32_t lo[2];
    int32_t hi[2], hole_lo[2], hole_hi[2];
} nine;

#ifdef __SSE2__

static inline lanes spread_x(__m128i v) {
    return _mm_shuffle_epi32(_mm_shufflelo_epi16(v, _MM_SHUFFLE(0, 0, 0, 0)), 0);
}

static inline lanes spread_y(__m128i v) {
    return _mm_shuffle_epi32(_mm_shufflelo_epi16(v, _MM_SHUFFLE(2, 2, 2, 2)), 0);
}

static inline window window_of_nine(const nine *r, int32_t x, int32_t y) {
    __m128i begin = _mm_slli_epi32(_mm_set_epi32(y, x, y, x), AOI_CELL_BITS);
    __m128i frame = _mm_load_si128((const __m128i *)(const void *)r->lo),
            hole = _mm_load_si128((const __m128i *)(const void *)r->hole_lo);
    __m128i wide = _mm_sub_epi32(_mm_unpackhi_epi64(frame, frame), frame),
            less = _mm_sub_epi32(hole, _mm_unpackhi_epi64(hole, hole)); /* 1 - the hole's width */
    __m128i deep = _mm_and_si128(_mm_cmpgt_epi32(_mm_set1_epi32(1), less), _mm_sub_epi32(_mm_set1_epi32(1), less));
    frame = _mm_add_epi32(frame, begin);
    hole = _mm_add_epi32(hole, begin);
    return (window){{spread_x(frame), spread_y(frame)},
                    {spread_x(wide), spread_y(wide)},
                    {spread_x(hole), spread_y(hole)},
                    {spread_x(deep), spread_y(deep)}};
}

#else

static inline window window_of_nine(const nine *r, int32_t x, int32_t y) {
    ring far;
    for (int a = 0; a < 2; a++) {
        int64_t begin = (int64_t)(a ? y : x) * CELL;
        far.lo[a] = r->lo[a] + begin;
        far.hi[a] = r->hi[a] + begin;
        far.hole_lo[a] = r->hole_lo[a] + begin;
        far.hole_hi[a] = r->hole_hi[a] + begin;
    }
    return window_of(&far);
}

#endif

static inline void sweep_nine(sweep *s, const aoi_cell *mid, const nine *r) {
    unsigned frame[2], hole[2];
    for (int a = 0; a < 2; a++) {
        frame[a] = three(r->lo[a] >> AOI_CELL_BITS, r->hi[a] >> AOI_CELL_BITS);
        /* the first cell that begins in the hole, the last that ends in it */
        hole[a] = three((r->hole_lo[a] + CELL - 1) >> AOI_CELL_BITS, ((r->hole_hi[a] + 1) >> AOI_CELL_BITS) - 1);
    }
    unsigned cells = three_by_three(frame[0], frame[1]) & ~three_by_three(hole[0], hole[1]);
    for (int d = 0; d < 9; d++) add_line(s, mid->first[d], cells >> d & 1);
    window w = window_of_nine(r, mid->cx - 1, mid->cy - 1);
    scan(s, &w);
}

/* ---- any cells --------------------------------------------------------------------------------------------------- */

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
        int64_t first = (int64_t)(a ? k->cy : k->cx) * CELL, last = first + CELL - 1;
        own.lo[a] = larger(r->lo[a], first);
        own.hi[a] = smaller(r->hi[a], last);
        own.hole_lo[a] = larger(r->hole_lo[a], first);
        own.hole_hi[a] = smaller(r->hole_hi[a], last);
    }
    window w = window_of(&own);
    add_line(s, k->first[AOI_MIDDLE], true);
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

static void sweep_ring(sweep *s, const ring *r) {
    aoi_span frame = {aoi_cell_of_mark(r->lo[0]), aoi_cell_of_mark(r->lo[1]), aoi_cell_of_mark(r->hi[0]),
                      aoi_cell_of_mark(r->hi[1])};
    aoi_span hole = {aoi_cell_of_mark(r->hole_lo[0] + CELL - 1), aoi_cell_of_mark(r->hole_lo[1] + CELL - 1),
                     aoi_cell_of_mark(r->hole_hi[0] + 1) - 1, aoi_cell_of_mark(r->hole_hi[1] + 1) - 1};
    if ((int64_t)frame.x1 - frame.x0 <= 2 && (int64_t)frame.y1 - frame.y0 <= 2) {
        uint32_t center = aoi_cells_find(s->c, frame.x0 + 1, frame.y0 + 1);
        if (center != AOI_NONE) {
            nine near;
            for (int a = 0; a < 2; a++) {
                int64_t begin = (int64_t)(a ? frame.y0 : frame.x0) * CELL;
                near.lo[a] = (int32_t)(r->lo[a] - begin);
                near.hi[a] = (int32_t)(r->hi[a] - begin);
                near.hole_lo[a] = (int32_t)(r->hole_lo[a] - begin);
                near.hole_hi[a] = (int32_t)(r->hole_hi[a] - begin);
            }
            sweep_nine(s, s->c->cells + center, &near);
            return;
        }
    }
    if (aoi_span_is_wide(s->c, &frame)) walk_all(s, r, &frame, &hole);
    else walk_span(s, r, &frame, &hole);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* More than all the roundings together of the sums that take part, the largest of which is below `size`. */
static inline double margin(double size) {
    return size * 0x1p-49;
}

static inline double magnitude(const double *p) {
    double x = fabs(p[0]), y = fabs(p[1]);
    return x > y ? x : y;
}

typedef struct bounds { /* of a ring in world units: frame, and hole, which is there if it ends after it begins */
    double lo[2], hi[2], hole_lo[2], hole_hi[2];
} bounds;

static inline bounds bounds_of_move(const double *from, const double *to, double least, double most) {
    bounds b;
    double safe = margin(magnitude(from) + magnitude(to) + most);
    for (int a = 0; a < 2; a++) {
        double low = from[a] < to[a] ? from[a] : to[a], high = from[a] < to[a] ? to[a] : from[a];
        b.lo[a] = low - most - safe;
        b.hi[a] = high + most + safe;
        b.hole_lo[a] = high - least + safe;
        b.hole_hi[a] = low + least - safe;
    }
    return b;
}

static inline void no_hole(ring *r) {
    for (int a = 0; a < 2; a++) {
        r->hole_lo[a] = r->lo[a];
        r->hole_hi[a] = r->lo[a] - 1;
    }
}

/* From marks, or the marks that follow them: one more on the safe side. */
static inline ring widened(ring r) {
    for (int a = 0; a < 2; a++) {
        r.lo[a]--;
        r.hole_lo[a]++;
        r.hole_hi[a] -= 2;
    }
    return r;
}

static int64_t about(const aoi_cells *c, double v) {
    double k = v * c->scale;
    return fabs(k) < (double)AOI_MARK_MOST ? (int64_t)k : aoi_cell_mark(c, v);
}

static ring ring_of(const aoi_cells *c, const bounds *b) {
    ring r;
    for (int a = 0; a < 2; a++) {
        r.lo[a] = about(c, b->lo[a]);
        r.hi[a] = about(c, b->hi[a]);
        r.hole_lo[a] = about(c, b->hole_lo[a]);
        r.hole_hi[a] = about(c, b->hole_hi[a]);
    }
    return widened(r);
}

/* The usual case: a step from a place in this cell, and boxes that reach no farther than its neighbours; false if not.
 * As bounds_of_move, ring_of and widened, both axes at once. */
#ifdef __SSE2__

static inline __m128i marks(const aoi_cells *c, __m128d v, __m128d begin) {
    return _mm_cvttpd_epi32(_mm_sub_pd(_mm_mul_pd(v, _mm_set1_pd(c->scale)), begin));
}

static inline bool nine_of_step(const aoi_cells *c, const aoi_cell *mid, const double *from, const double *to,
                                double least, double most, nine *r) {
    __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(to), l = _mm_set1_pd(least), m = _mm_set1_pd(most),
            sign = _mm_set1_pd(-0.0), low = _mm_min_pd(a, b), high = _mm_max_pd(a, b);
    __m128d size = _mm_add_pd(_mm_add_pd(_mm_andnot_pd(sign, a), _mm_andnot_pd(sign, b)), m),
            safe = _mm_mul_pd(size, _mm_set1_pd(0x1p-49));
    __m128d begin = _mm_mul_pd(_mm_set_pd((double)mid->cy - 1, (double)mid->cx - 1), _mm_set1_pd(CELL));
    __m128d x = _mm_sub_pd(_mm_sub_pd(low, m), safe), y = _mm_add_pd(_mm_add_pd(high, m), safe),
            scale = _mm_set1_pd(c->scale);
    __m128d lo = _mm_sub_pd(_mm_mul_pd(x, scale), begin), hi = _mm_sub_pd(_mm_mul_pd(y, scale), begin);
    __m128d fits = _mm_and_pd(_mm_cmpge_pd(lo, _mm_set1_pd(1)), _mm_cmplt_pd(hi, _mm_set1_pd(3 * CELL)));
    if (_mm_movemask_pd(fits) != 3) return false;
    __m128i frame = _mm_unpacklo_epi64(_mm_cvttpd_epi32(lo), _mm_cvttpd_epi32(hi)),
            hole = _mm_unpacklo_epi64(marks(c, _mm_add_pd(_mm_sub_pd(high, l), safe), begin),
                                      marks(c, _mm_sub_pd(_mm_add_pd(low, l), safe), begin));
    _mm_store_si128((__m128i *)(void *)r->lo, _mm_add_epi32(frame, _mm_set_epi32(0, 0, -1, -1)));
    _mm_store_si128((__m128i *)(void *)r->hole_lo, _mm_add_epi32(hole, _mm_set_epi32(-2, -2, 1, 1)));
    return true;
}

#else

static inline bool nine_of_step(const aoi_cells *c, const aoi_cell *mid, const double *from, const double *to,
                                double least, double most, nine *r) {
    bounds b = bounds_of_move(from, to, least, most);
    for (int a = 0; a < 2; a++) {
        double begin = ((double)(a ? mid->cy : mid->cx) - 1) * CELL;
        double lo = b.lo[a] * c->scale - begin, hi = b.hi[a] * c->scale - begin;
        if (!(lo >= 1 && hi < 3 * CELL)) return false;
        r->lo[a] = (int)lo - 1;
        r->hi[a] = (int)hi;
        r->hole_lo[a] = (int)(b.hole_lo[a] * c->scale - begin) + 1;
        r->hole_hi[a] = (int)(b.hole_hi[a] * c->scale - begin) - 2;
    }
    return true;
}

#endif

static bool is_jump(const double *from, const double *to, double most) {
    return fabs(to[0] - from[0]) > 2 * most || fabs(to[1] - from[1]) > 2 * most;
}

static bool disjoint(const ring *p, const ring *q) {
    return p->hi[0] < q->lo[0] || q->hi[0] < p->lo[0] || p->hi[1] < q->lo[1] || q->hi[1] < p->lo[1];
}

/* A move so far that the boxes at its ends do not meet. */
static bool sweep_jump(sweep *s, const double *from, const double *to, double most) {
    bounds b[2] = {bounds_of_move(from, from, most, most), bounds_of_move(to, to, most, most)};
    ring r[2] = {ring_of(s->c, b), ring_of(s->c, b + 1)};
    if (!disjoint(r, r + 1)) return false;
    for (int i = 0; i < 2; i++) {
        no_hole(r + i);
        sweep_ring(s, r + i);
    }
    return true;
}

uint64_t aoi_sweep_box(const aoi_cells *c, const double *lo, const double *hi, const aoi_visitor *v) {
    sweep s;
    bounds b = {{lo[0], lo[1]}, {hi[0], hi[1]}, {0, 0}, {0, 0}};
    s.c = c, s.v = v, s.steps = s.found = s.count = 0;
    ring r = ring_of(c, &b);
    no_hole(&r);
    sweep_ring(&s, &r);
    tell(&s);
    return s.steps;
}

uint64_t aoi_sweep_move(const aoi_cells *c, const double *from, const double *to, double least, double most, bool all,
                        uint32_t center, const aoi_visitor *v) {
    sweep s;
    s.c = c, s.v = v, s.steps = s.found = s.count = 0;
    nine near;
    if (center != AOI_NONE && nine_of_step(c, c->cells + center, from, to, least, most, &near)) {
        for (int a = 0; all && a < 2; a++) near.hole_hi[a] = (near.hole_lo[a] = near.lo[a]) - 1;
        sweep_nine(&s, c->cells + center, &near);
    } else if (!is_jump(from, to, most) || !sweep_jump(&s, from, to, most)) {
        bounds b = bounds_of_move(from, to, least, most);
        ring r = ring_of(c, &b);
        if (all) no_hole(&r);
        sweep_ring(&s, &r);
    }
    tell(&s);
    return s.steps;
}
