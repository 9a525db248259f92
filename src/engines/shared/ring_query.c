/* ring_query.c - see ring_query.h. */
#include "engines/shared/ring_query.h"

#include <stdlib.h>

#include "base/simd.h"

enum { HITS = 256 }; /* gathered before they are visited */

#define CELL (1 << AOI_CELL_BITS) /* marks in a cell */

/* In marks (aoi_cell_mark).  An item is in the frame, or in the hole, if it is less than that far from the center on both
 * axes; 0 is no hole. */
typedef struct ring {
    int64_t center[2], frame[2], hole[2];
} ring;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The ring as a line sees it, modulo 2^16; its items are less than half of that from the center.  What is negated only
 * helps to find the cells. */
typedef struct window {
    _Alignas(16) int16_t minus_frame[2];
    int16_t frame[2], minus_hole[2], hole[2];
    uint16_t center[2];
} window;

/* Two bits for each item, of which the lower is set if it is in the frame but not in the hole. */
typedef uint32_t (*matcher)(const window *w, const aoi_line *l);

#ifdef __SSE2__

static inline __m128i distance(const uint16_t *item, uint16_t center) {
    __m128i d = _mm_sub_epi16(_mm_load_si128((const __m128i *)(const void *)item), _mm_set1_epi16((short)center));
    return _mm_max_epi16(d, _mm_sub_epi16(_mm_setzero_si128(), d));
}

static inline uint32_t match_eight(const window *w, const uint16_t *x, const uint16_t *y) {
    __m128i dx = distance(x, w->center[0]), dy = distance(y, w->center[1]);
    __m128i frame = _mm_and_si128(_mm_cmpgt_epi16(_mm_set1_epi16(w->frame[0]), dx),
                                  _mm_cmpgt_epi16(_mm_set1_epi16(w->frame[1]), dy));
    __m128i hole =
        _mm_and_si128(_mm_cmpgt_epi16(_mm_set1_epi16(w->hole[0]), dx), _mm_cmpgt_epi16(_mm_set1_epi16(w->hole[1]), dy));
    return (uint32_t)_mm_movemask_epi8(_mm_andnot_si128(hole, frame));
}

/* The last two lanes are nobody's. */
static inline uint32_t match_plain(const window *w, const aoi_line *l) {
    return (match_eight(w, l->x, l->y) | match_eight(w, l->x + 8, l->y + 8) << 16) & l->used;
}

#else

static inline uint32_t match_plain(const window *w, const aoi_line *l) {
    uint32_t bits = 0;
    for (int i = 0; i < AOI_ITEMS; i++) {
        int dx = abs((int16_t)(l->x[i] - w->center[0])), dy = abs((int16_t)(l->y[i] - w->center[1]));
        bool frame = (dx < w->frame[0]) & (dy < w->frame[1]), hole = (dx < w->hole[0]) & (dy < w->hole[1]);
        bits |= (uint32_t)(frame & !hole) << 2 * i;
    }
    return bits & l->used;
}

#endif

#if AOI_HAS_AVX2

#define AVX2 __attribute__((target("avx2,bmi")))

AVX2 static inline __m256i distance_avx2(const uint16_t *item, uint16_t center) {
    return _mm256_abs_epi16(
        _mm256_sub_epi16(_mm256_set1_epi16((short)center), _mm256_loadu_si256((const __m256i *)(const void *)item)));
}

AVX2 static inline uint32_t match_avx2(const window *w, const aoi_line *l) {
    __m256i dx = distance_avx2(l->x, w->center[0]), dy = distance_avx2(l->y, w->center[1]);
    __m256i frame = _mm256_and_si256(_mm256_cmpgt_epi16(_mm256_set1_epi16(w->frame[0]), dx),
                                     _mm256_cmpgt_epi16(_mm256_set1_epi16(w->frame[1]), dy));
    __m256i hole = _mm256_and_si256(_mm256_cmpgt_epi16(_mm256_set1_epi16(w->hole[0]), dx),
                                    _mm256_cmpgt_epi16(_mm256_set1_epi16(w->hole[1]), dy));
    return (uint32_t)_mm256_movemask_epi8(_mm256_andnot_si256(hole, frame)) & l->used;
}

#endif

/* ---- cells ------------------------------------------------------------------------------------------------------- */

typedef struct sweep sweep;
/* Scans some of the nine cells around one. */
typedef void (*scanner)(sweep *s, const aoi_cell *mid, unsigned cells, const window *w);

struct sweep {
    scanner scan;
    const aoi_cells *c;
    const aoi_visitor *v;
    uint64_t steps;
    size_t found;
    uint32_t hits[HITS];
};

static void tell(sweep *s) {
    if (s->found) s->v->visit(s->v->ud, s->hits, s->found);
    s->found = 0;
}

static inline unsigned lowest(uint32_t bits) {
    return (unsigned)aoi_lanes_first(bits);
}

/* Most cells have one line, so that nothing is gained by asking for the next one early. */
AOI_INLINE void scan_by(sweep *s, const aoi_cell *mid, unsigned cells, const window *w, matcher match) {
    const aoi_line *lines = s->c->lines, *l;
    uint64_t count = 0;
    for (; cells; cells &= cells - 1) {
        for (uint32_t i = mid->first[lowest(cells)]; i != AOI_NONE; i = l->next) {
            l = lines + i;
            count++;
            uint32_t bits = match(w, l);
            if (!bits) continue;
            for (; bits; bits &= bits - 1) {
                uint32_t ref = l->ref[lowest(bits) / 2];
                s->hits[s->found++] = ref;
                AOI_PREFETCH((const void *)(s->v->records + (size_t)ref * AOI_CACHE_LINE));
                AOI_PREFETCH((const void *)(s->v->others + (size_t)ref * AOI_CACHE_LINE));
            }
            if (s->found > HITS - AOI_ITEMS) tell(s);
        }
    }
    s->steps += count * AOI_ITEMS;
}

static void scan_plain(sweep *s, const aoi_cell *mid, unsigned cells, const window *w) {
    scan_by(s, mid, cells, w, match_plain);
}

#if AOI_HAS_AVX2
AVX2 static void scan_avx2(sweep *s, const aoi_cell *mid, unsigned cells, const window *w) {
    scan_by(s, mid, cells, w, match_avx2);
}
#endif

/* ---- a cell and its neighbours, which it knows ------------------------------------------------------------------- */

/* Which of the nine the frame meets if it goes beyond the middle one to the left, above, to the right, below. */
#define ROWS(columns, above, below) (uint16_t)((columns) * ((above) | 8 | (below) << 6))
static const uint16_t MET[16] = {
    ROWS(2, 0, 0), ROWS(3, 0, 0), ROWS(2, 1, 0), ROWS(3, 1, 0), ROWS(6, 0, 0), ROWS(7, 0, 0),
    ROWS(6, 1, 0), ROWS(7, 1, 0), ROWS(2, 0, 1), ROWS(3, 0, 1), ROWS(2, 1, 1), ROWS(3, 1, 1),
    ROWS(6, 0, 1), ROWS(7, 0, 1), ROWS(6, 1, 1), ROWS(7, 1, 1),
};

/* Without the middle one if it is in the hole; no other can be, since the frame, which is larger, stays in the nine. */
static inline unsigned cells_met(unsigned beyond, bool covered) {
    return MET[beyond] & ~((unsigned)covered << AOI_MIDDLE);
}

/* Around a place that may not have a cell: `k` stands for it, and need not know any lines. */
static void scan_around(sweep *s, aoi_cell *k, unsigned cells, const window *w) {
    uint32_t i = aoi_cells_find(s->c, k->cx, k->cy);
    if (i != AOI_NONE) {
        s->scan(s, s->c->cells + i, cells, w);
        return;
    }
    for (unsigned left = cells; left; left &= left - 1) {
        int d = (int)lowest(left);
        i = aoi_cells_find(s->c, k->cx + d % 3 - 1, k->cy + d / 3 - 1);
        k->first[d] = i == AOI_NONE ? AOI_NONE : s->c->cells[i].first[AOI_MIDDLE];
    }
    s->scan(s, k, cells, w);
}

/* A ring no wider than the nine around its center. */
static void sweep_nine(sweep *s, const ring *r) {
    window w;
    aoi_cell k = {.cx = aoi_cell_of_mark(r->center[0]), .cy = aoi_cell_of_mark(r->center[1])};
    unsigned beyond = 0;
    bool covered = true;
    for (int a = 0; a < 2; a++) {
        int64_t low = r->center[a] & (CELL - 1), high = CELL - 1 - low;
        w.center[a] = (uint16_t)r->center[a];
        w.frame[a] = (int16_t)r->frame[a];
        w.hole[a] = (int16_t)r->hole[a];
        beyond |= ((unsigned)(r->frame[a] > low + 1) | (unsigned)(r->frame[a] > high + 1) << 2) << a;
        covered = covered && r->hole[a] > low && r->hole[a] > high;
    }
    scan_around(s, &k, cells_met(beyond, covered), &w);
}

/* ---- any cells --------------------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A cell of a ring that may be too wide for 16 bits: as if its center were the nearest mark of the cell. */
static void sweep_alone(sweep *s, const aoi_cell *k, const ring *r) {
    window w;
    for (int a = 0; a < 2; a++) {
        int64_t first = (int64_t)(a ? k->cy : k->cx) * CELL, last = first + CELL - 1;
        int64_t near = smaller(larger(r->center[a], first), last), off = llabs(r->center[a] - near);
        w.center[a] = (uint16_t)near;
        w.frame[a] = (int16_t)smaller(larger(r->frame[a] - off, 0), CELL);
        w.hole[a] = (int16_t)smaller(larger(r->hole[a] - off, 0), CELL);
    }
    s->scan(s, k, 1u << AOI_MIDDLE, &w);
}

static void walk_all(sweep *s, const ring *r, const aoi_span *frame, const aoi_span *hole) {
    for (uint32_t i = 0; i < s->c->top; i++) {
        const aoi_cell *k = s->c->cells + i;
        if (aoi_cell_exists(k) && aoi_span_holds(frame, k->cx, k->cy) && !aoi_span_holds(hole, k->cx, k->cy))
            sweep_alone(s, k, r);
    }
}

static void walk_span(sweep *s, const ring *r, const aoi_span *frame, const aoi_span *hole) {
    for (int32_t y = frame->y0; y <= frame->y1; y++) {
        bool crosses = hole->y0 <= y && y <= hole->y1 && hole->x0 <= hole->x1;
        for (int32_t x = frame->x0; x <= frame->x1; x++) {
            if (crosses && x == hole->x0) x = hole->x1 + 1;
            if (x > frame->x1) break;
            uint32_t i = aoi_cells_find(s->c, x, y);
            if (i != AOI_NONE) sweep_alone(s, s->c->cells + i, r);
        }
    }
}

static void sweep_ring(sweep *s, const ring *r) {
    int64_t lo[2], hi[2], hole_lo[2], hole_hi[2];
    for (int a = 0; a < 2; a++) {
        lo[a] = r->center[a] - r->frame[a] + 1;
        hi[a] = r->center[a] + r->frame[a] - 1;
        hole_lo[a] = r->center[a] - r->hole[a] + 1;
        hole_hi[a] = r->center[a] + r->hole[a] - 1;
    }
    aoi_span frame = {aoi_cell_of_mark(lo[0]), aoi_cell_of_mark(lo[1]), aoi_cell_of_mark(hi[0]),
                      aoi_cell_of_mark(hi[1])};
    /* from the first cell that begins in the hole to the last that ends in it */
    aoi_span hole = {aoi_cell_of_mark(hole_lo[0] + CELL - 1), aoi_cell_of_mark(hole_lo[1] + CELL - 1),
                     aoi_cell_of_mark(hole_hi[0] + 1) - 1, aoi_cell_of_mark(hole_hi[1] + 1) - 1};
    if ((int64_t)frame.x1 - frame.x0 <= 2 && (int64_t)frame.y1 - frame.y0 <= 2) sweep_nine(s, r);
    else if (aoi_span_is_wide(s->c, &frame)) walk_all(s, r, &frame, &hole);
    else walk_span(s, r, &frame, &hole);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* More than all the roundings together of the sums that take part, the largest of which is below `size`. */
static double margin(double size) {
    return size * 0x1p-49;
}

static double magnitude(const double *p) {
    double x = fabs(p[0]), y = fabs(p[1]);
    return x > y ? x : y;
}

typedef struct bounds { /* of a ring in world units: frame, and hole, which is there if it ends after it begins */
    double lo[2], hi[2], hole_lo[2], hole_hi[2];
} bounds;

static bounds bounds_of_move(const double *from, const double *to, double least, double most) {
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

static int64_t about(const aoi_cells *c, double v) {
    double k = v * c->scale;
    return fabs(k) < (double)AOI_MARK_MOST ? (int64_t)k : aoi_cell_mark(c, v);
}

/* From marks, or the marks that follow them: one more on the safe side.  The center is that of the frame. */
static ring ring_of(const aoi_cells *c, const bounds *b) {
    ring r;
    for (int a = 0; a < 2; a++) {
        int64_t lo = about(c, b->lo[a]) - 1, hi = about(c, b->hi[a]), hole_lo = about(c, b->hole_lo[a]) + 1,
                hole_hi = about(c, b->hole_hi[a]) - 2;
        r.center[a] = (lo + hi) >> 1;
        r.frame[a] = hi - r.center[a] + 1;
        r.hole[a] = larger(smaller(r.center[a] - hole_lo, hole_hi - r.center[a]) + 1, 0);
    }
    return r;
}

/* More than all roundings together, in marks, which are less than 2^44. */
#define SAFE 0x1p-4

/* The usual case: a step from a place in the middle cell, and boxes that reach no farther than its neighbours.  Returns
 * which of the nine cells to scan, none if it is not that case.  As bounds_of_move and ring_of, but marks count from the
 * first of the nine, and the center is that of the step.  An item's mark is up to 1 below where it is, and so is the
 * center's below the center: their distance is off by less than 1; and what is rounded down must be more than it. */
#ifdef __SSE2__

static inline __m128i twice(__m128d a, __m128d b) {
    __m128i p = _mm_cvttpd_epi32(a), q = _mm_cvttpd_epi32(b);
    return _mm_packs_epi32(_mm_unpacklo_epi64(p, p), _mm_unpacklo_epi64(q, q));
}

AOI_INLINE unsigned step_in_nine(const aoi_cells *c, const aoi_cell *mid, const double *from, const double *to,
                                 double least, double most, window *w) {
    __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(to), scale = _mm_set1_pd(c->scale),
            half = _mm_mul_pd(scale, _mm_set1_pd(0.5));
    __m128d center = _mm_sub_pd(_mm_mul_pd(_mm_add_pd(a, b), half), _mm_loadu_pd(mid->begin)),
            minus = _mm_or_pd(_mm_mul_pd(_mm_sub_pd(a, b), half), _mm_set1_pd(-0.0)); /* half of the step, negated */
    __m128d reach = _mm_add_pd(_mm_mul_pd(_mm_set_pd(least, most), scale), _mm_set_pd(-SAFE, 2 + SAFE));
    __m128i r =
        twice(_mm_sub_pd(minus, _mm_unpacklo_pd(reach, reach)), _mm_add_pd(minus, _mm_unpackhi_pd(reach, reach)));
    const __m128i other = _mm_set_epi16(0, 0, -1, -1, -1, -1, 0, 0); /* to be negated, so that all follow as in w */
    r = _mm_sub_epi16(_mm_xor_si128(r, other), other);
    __m128i ends = _mm_adds_epi16(r, twice(center, center));
    __m128i beyond = _mm_cmpgt_epi16(ends, _mm_set_epi16(2 * CELL - 1, 2 * CELL - 1, CELL - 1, CELL - 1, 2 * CELL,
                                                         2 * CELL, CELL - 2, CELL - 2)),
            inside = _mm_cmpgt_epi16(
                ends, _mm_set_epi16(INT16_MAX, INT16_MAX, INT16_MAX, INT16_MAX, 3 * CELL, 3 * CELL, -1, -1));
    unsigned bits = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(beyond, inside)) ^ 0x333;
    if (bits > 0xFF) return 0;
    __m128i at = _mm_sub_epi32(_mm_slli_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&mid->cx), AOI_CELL_BITS),
                               _mm_set1_epi32(CELL));
    at = _mm_shufflelo_epi16(_mm_add_epi32(at, _mm_cvttpd_epi32(center)), _MM_SHUFFLE(2, 0, 2, 0));
    _mm_store_si128((__m128i *)(void *)w->minus_frame, r);
    w->center[0] = (uint16_t)_mm_extract_epi16(at, 0);
    w->center[1] = (uint16_t)_mm_extract_epi16(at, 1);
    return cells_met(bits & 15, bits >= 0xF0);
}

#else

AOI_INLINE unsigned step_in_nine(const aoi_cells *c, const aoi_cell *mid, const double *from, const double *to,
                                 double least, double most, window *w) {
    unsigned beyond = 0;
    bool covered = true;
    for (int a = 0; a < 2; a++) {
        double half = c->scale * 0.5, step = fabs(from[a] - to[a]) * half;
        double center = (from[a] + to[a]) * half - mid->begin[a], frame = step + (most * c->scale + (2 + SAFE)),
               hole = least * c->scale - SAFE - step;
        if (!(frame < 3 * CELL && center >= frame && center + frame <= 3 * CELL)) return 0;
        int at = (int)center, f = (int)frame, h = (int)hole;
        w->center[a] = (uint16_t)((uint32_t)at + ((uint32_t)(a ? mid->cy : mid->cx) - 1) * CELL);
        w->frame[a] = (int16_t)f;
        w->hole[a] = (int16_t)h;
        beyond |= ((unsigned)(at - f < CELL - 1) | (unsigned)(at + f > 2 * CELL) << 2) << a;
        covered = covered && at - h < CELL && at + h > 2 * CELL - 1;
    }
    return cells_met(beyond, covered);
}

#endif

static bool is_jump(const double *from, const double *to, double most) {
    return fabs(to[0] - from[0]) > 2 * most || fabs(to[1] - from[1]) > 2 * most;
}

static bool disjoint(const ring *p, const ring *q) {
    return llabs(p->center[0] - q->center[0]) >= p->frame[0] + q->frame[0] - 1 ||
           llabs(p->center[1] - q->center[1]) >= p->frame[1] + q->frame[1] - 1;
}

/* A move so far that the boxes at its ends do not meet. */
static bool sweep_jump(sweep *s, const double *from, const double *to, double most) {
    bounds b[2] = {bounds_of_move(from, from, 0, most), bounds_of_move(to, to, 0, most)};
    ring r[2] = {ring_of(s->c, b), ring_of(s->c, b + 1)};
    if (!disjoint(r, r + 1)) return false;
    for (int i = 0; i < 2; i++) sweep_ring(s, r + i);
    return true;
}

/* The usual case where no cell near it is known; there may be none. */
static bool sweep_step(sweep *s, const double *from, const double *to, double least, double most) {
    window w;
    int32_t cx = aoi_cell_of_mark(aoi_cell_mark(s->c, from[0])), cy = aoi_cell_of_mark(aoi_cell_mark(s->c, from[1]));
    aoi_cell k = {.cx = cx, .cy = cy, .begin = {aoi_cell_begin(cx), aoi_cell_begin(cy)}};
    unsigned cells = step_in_nine(s->c, &k, from, to, least, most, &w);
    if (cells) scan_around(s, &k, cells, &w);
    return cells != 0;
}

static void sweep_far(sweep *s, const double *from, const double *to, double least, double most) {
    if (is_jump(from, to, most) && sweep_jump(s, from, to, most)) return;
    bounds b = bounds_of_move(from, to, least, most);
    ring r = ring_of(s->c, &b);
    sweep_ring(s, &r);
}

/* ---- for one processor or another -------------------------------------------------------------------------------- */

static uint64_t box_by(const aoi_cells *c, const double *lo, const double *hi, const aoi_visitor *v, scanner scan) {
    sweep s;
    bounds b = {{lo[0], lo[1]}, {hi[0], hi[1]}, {hi[0], hi[1]}, {lo[0], lo[1]}};
    s.scan = scan, s.c = c, s.v = v, s.steps = s.found = 0;
    ring r = ring_of(c, &b);
    sweep_ring(&s, &r);
    tell(&s);
    return s.steps;
}

AOI_INLINE uint64_t move_by(const aoi_cells *c, const double *from, const double *to, double least, double most,
                            uint32_t center, const aoi_visitor *v, scanner scan, matcher match) {
    sweep s;
    window w;
    s.scan = scan, s.c = c, s.v = v, s.steps = s.found = 0;
    const aoi_cell *mid = center == AOI_NONE ? NULL : c->cells + center;
    unsigned cells = mid ? step_in_nine(c, mid, from, to, least, most, &w) : 0;
    if (cells) scan_by(&s, mid, cells, &w, match);
    else if (mid || !sweep_step(&s, from, to, least, most)) sweep_far(&s, from, to, least, most);
    tell(&s);
    return s.steps;
}

static uint64_t box_plain(const aoi_cells *c, const double *lo, const double *hi, const aoi_visitor *v) {
    return box_by(c, lo, hi, v, scan_plain);
}

static uint64_t move_plain(const aoi_cells *c, const double *from, const double *to, double least, double most,
                           uint32_t center, const aoi_visitor *v) {
    return move_by(c, from, to, least, most, center, v, scan_plain, match_plain);
}

const aoi_sweeper *aoi_plain_sweeper(void) {
    static const aoi_sweeper plain = {box_plain, move_plain};
    return &plain;
}

#if AOI_HAS_AVX2

static uint64_t box_avx2(const aoi_cells *c, const double *lo, const double *hi, const aoi_visitor *v) {
    return box_by(c, lo, hi, v, scan_avx2);
}

AVX2 static uint64_t move_avx2(const aoi_cells *c, const double *from, const double *to, double least, double most,
                               uint32_t center, const aoi_visitor *v) {
    return move_by(c, from, to, least, most, center, v, scan_avx2, match_avx2);
}

#endif

const aoi_sweeper *aoi_best_sweeper(void) {
#if AOI_HAS_AVX2
    static const aoi_sweeper avx2 = {box_avx2, move_avx2};
    if (aoi_lanes_avx2_here() && __builtin_cpu_supports("bmi")) return &avx2;
#endif
    return aoi_plain_sweeper();
}
