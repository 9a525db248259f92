/* self_join.c - see self_join.h: the join of a hash with itself. */
#include "engines/grid/self_join.h"

#include <string.h>

#include "engines/shared/ring_match.h"

enum {
    JOIN_REFS = 256,
    JOIN_COUPLES = 256,
    JOIN_LANES = 8
}; /* gathered before they are recalled, told; compared at once */

/* ---- items in rows of cells -------------------------------------------------------------------------------------- */

typedef struct join_recall {
    const aoi_world *w;
    const aoi_spatial_hash *h;
    aoi_join_rows *rows;
    uint32_t done; /* items that have their past */
} join_recall;

/* Records, then the movers that they name, are prefetched for all before the first is read. */
static void join_recall_some(join_recall *r, uint32_t end) {
    const aoi_world *w = r->w;
    aoi_join_rows *j = r->rows;
    for (uint32_t i = r->done; i < end; i++) AOI_PREFETCH(w->entities + j->ref[i]);
    for (uint32_t i = r->done; i < end; i++) {
        uint32_t mover = w->entities[j->ref[i]].mover;
        AOI_PREFETCH(w->movers + (mover < w->moved ? mover : 0));
    }
    for (uint32_t i = r->done; i < end; i++) {
        const double *was = aoi_position_before(w, j->ref[i]);
        j->was_x[i] = (uint16_t)aoi_fixed_of(r->h, was[0]);
        j->was_y[i] = (uint16_t)aoi_fixed_of(r->h, was[1]);
    }
    r->done = end;
}

/* Whether the cell is there and none is to the west of it: rows are walked eastwards from such cells. */
static inline bool join_begins_row(const aoi_spatial_hash *h, uint32_t cell) {
    return aoi_cell_exists(h->cells + cell) && h->cells[cell].neighbor[aoi_cell_direction(-1, 0)] == AOI_NONE;
}

/* Appends the items of a cell; returns how many there are now. */
static uint32_t join_append_cell(aoi_join_rows *j, const aoi_spatial_hash *h, uint32_t cell, uint32_t count) {
    j->first[cell] = count;
    for (uint32_t b = h->cells[cell].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next) {
        const aoi_bucket *k = h->buckets + b;
        AOI_PREFETCH(h->buckets + (k->next != AOI_NONE ? k->next : b));
        memcpy(j->x + count, k->x, k->count * sizeof *k->x);
        memcpy(j->y + count, k->y, k->count * sizeof *k->y);
        memcpy(j->ref + count, k->ref, k->count * sizeof *k->ref);
        count += k->count;
    }
    return count;
}

static bool join_reserve(aoi_memory *m, const aoi_spatial_hash *h, aoi_join_rows *j) {
    size_t n = (size_t)h->count + JOIN_LANES; /* vectors are read beyond the end */
    return AOI_GROW(m, j->x, j->x_cap, n) && AOI_GROW(m, j->y, j->y_cap, n) && AOI_GROW(m, j->was_x, j->was_x_cap, n) &&
           AOI_GROW(m, j->was_y, j->was_y_cap, n) && AOI_GROW(m, j->ref, j->ref_cap, n) &&
           AOI_GROW(m, j->first, j->first_cap, h->top);
}

bool aoi_join_rows_fill(aoi_memory *m, const aoi_world *w, const aoi_spatial_hash *h, aoi_join_rows *j) {
    const int east = aoi_cell_direction(1, 0);
    join_recall r = {w, h, j, 0};
    uint32_t count = 0;
    if (!join_reserve(m, h, j)) return false;
    for (uint32_t i = 0; i < h->top; i++) {
        if (!join_begins_row(h, i)) continue;
        for (uint32_t c = i, next; c != AOI_NONE; c = next) {
            next = h->cells[c].neighbor[east];
            if (next != AOI_NONE) AOI_PREFETCH(h->buckets + h->cells[c].head[east]);
            count = join_append_cell(j, h, c, count);
            if (count - r.done >= JOIN_REFS) join_recall_some(&r, count);
        }
    }
    join_recall_some(&r, count);
    return true;
}

void aoi_join_rows_free(aoi_memory *m, aoi_join_rows *j) {
    AOI_FREE(m, j->x, j->x_cap);
    AOI_FREE(m, j->y, j->y_cap);
    AOI_FREE(m, j->was_x, j->was_x_cap);
    AOI_FREE(m, j->was_y, j->was_y_cap);
    AOI_FREE(m, j->ref, j->ref_cap);
    AOI_FREE(m, j->first, j->first_cap);
}

/* ---- an item and eight others ------------------------------------------------------------------------------------ */

typedef struct join_point { /* modulo 2^16 */
    uint16_t x, y;
} join_point;

typedef struct join_limits { /* of distances on the axis where they are larger, or of squares of distances */
    int16_t inner, outer;
    ring_limits squares;
} join_limits;

#ifdef __SSE2__

static inline __m128i join_sub(const uint16_t *item, uint16_t from) {
    return _mm_sub_epi16(_mm_loadu_si128((const __m128i *)(const void *)item), _mm_set1_epi16((int16_t)from));
}

static inline __m128i join_larger(const uint16_t *x, const uint16_t *y, join_point p) {
    __m128i dx = join_sub(x, p.x), dy = join_sub(y, p.y), zero = _mm_setzero_si128();
    return _mm_max_epi16(_mm_max_epi16(dx, _mm_sub_epi16(zero, dx)), _mm_max_epi16(dy, _mm_sub_epi16(zero, dy)));
}

/* All ones in the lanes of eight items, from `k` on, that were and are on the same side. */
AOI_INLINE __m128i join_idle_box(const aoi_join_rows *j, uint32_t k, join_point there, join_point here,
                                 const join_limits *l) {
    __m128i was = join_larger(j->was_x + k, j->was_y + k, there), is = join_larger(j->x + k, j->y + k, here);
    return _mm_or_si128(_mm_cmplt_epi16(_mm_max_epi16(was, is), _mm_set1_epi16(l->inner)),
                        _mm_cmpgt_epi16(_mm_min_epi16(was, is), _mm_set1_epi16(l->outer)));
}

AOI_INLINE __m128i join_idle_four(const ring_limits *l, __m128i was, __m128i is, bool gap) {
    __m128i inner = _mm_set1_epi32(l->inner), outer = _mm_set1_epi32(l->outer);
    __m128i idle = _mm_or_si128(_mm_and_si128(_mm_cmpgt_epi32(inner, was), _mm_cmpgt_epi32(inner, is)),
                                _mm_and_si128(_mm_cmpgt_epi32(was, outer), _mm_cmpgt_epi32(is, outer)));
    if (!gap) return idle;
    __m128i begin = _mm_set1_epi32(l->gap_begin), end = _mm_set1_epi32(l->gap_end);
    return _mm_or_si128(idle, _mm_and_si128(_mm_and_si128(_mm_cmpgt_epi32(was, begin), _mm_cmpgt_epi32(end, was)),
                                            _mm_and_si128(_mm_cmpgt_epi32(is, begin), _mm_cmpgt_epi32(end, is))));
}

AOI_INLINE __m128i join_idle_round(const aoi_join_rows *j, uint32_t k, join_point there, join_point here,
                                   const join_limits *l, bool gap) {
    __m128i wx = join_sub(j->was_x + k, there.x), wy = join_sub(j->was_y + k, there.y);
    __m128i ix = join_sub(j->x + k, here.x), iy = join_sub(j->y + k, here.y);
    __m128i was_lo = _mm_unpacklo_epi16(wx, wy), was_hi = _mm_unpackhi_epi16(wx, wy);
    __m128i is_lo = _mm_unpacklo_epi16(ix, iy), is_hi = _mm_unpackhi_epi16(ix, iy);
    return _mm_packs_epi32(
        join_idle_four(&l->squares, _mm_madd_epi16(was_lo, was_lo), _mm_madd_epi16(is_lo, is_lo), gap),
        join_idle_four(&l->squares, _mm_madd_epi16(was_hi, was_hi), _mm_madd_epi16(is_hi, is_hi), gap));
}

/* A bit for each of eight items, from `k` on, that may have passed a border of an item that was there, and is here. */
AOI_INLINE uint64_t join_match(const aoi_join_rows *j, uint32_t k, join_point there, join_point here,
                               const join_limits *l, int kind) {
    __m128i idle = kind & RING_ROUND ? join_idle_round(j, k, there, here, l, kind & RING_GAP)
                                     : join_idle_box(j, k, there, here, l);
    return (uint64_t)(~_mm_movemask_epi8(_mm_packs_epi16(idle, idle)) & 0xff);
}

#else

static inline int join_away(uint16_t item, uint16_t from) {
    return abs((int16_t)(uint16_t)(item - from));
}

static inline int join_larger(uint16_t x, uint16_t y, join_point p) {
    int dx = join_away(x, p.x), dy = join_away(y, p.y);
    return dx > dy ? dx : dy;
}

static inline int32_t join_square(uint16_t x, uint16_t y, join_point p) {
    int32_t dx = join_away(x, p.x), dy = join_away(y, p.y);
    return dx < INT16_MAX && dy < INT16_MAX ? dx * dx + dy * dy : INT32_MAX;
}

AOI_INLINE bool join_idle(const aoi_join_rows *j, uint32_t k, join_point there, join_point here, const join_limits *l,
                          int kind) {
    int32_t inner = l->inner, outer = l->outer, was, is;
    if (kind & RING_ROUND) {
        was = join_square(j->was_x[k], j->was_y[k], there), is = join_square(j->x[k], j->y[k], here);
        inner = l->squares.inner, outer = l->squares.outer;
    } else was = join_larger(j->was_x[k], j->was_y[k], there), is = join_larger(j->x[k], j->y[k], here);
    bool idle = ((was < inner) & (is < inner)) | ((was > outer) & (is > outer));
    int32_t begin = l->squares.gap_begin, end = l->squares.gap_end;
    return idle | ((kind == (RING_ROUND | RING_GAP)) & (was > begin) & (was < end) & (is > begin) & (is < end));
}

AOI_INLINE uint64_t join_match(const aoi_join_rows *j, uint32_t k, join_point there, join_point here,
                               const join_limits *l, int kind) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < JOIN_LANES; i++) bits |= (uint64_t)!join_idle(j, k + i, there, here, l, kind) << i;
    return bits;
}

#endif

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct join_run {
    const aoi_spatial_hash *h;
    const aoi_join_rows *rows;
    aoi_meet meet;
    void *ud;
    uint64_t steps;
    size_t count;
    aoi_couple couples[JOIN_COUPLES];
} join_run;

static void join_flush(join_run *s) {
    if (s->count) s->meet(s->ud, s->couples, s->count);
    s->count = 0;
}

typedef struct join_span { /* items of the rows, from `first` up to `end` */
    uint32_t first, end;
} join_span;

/* An item with those of a span. */
AOI_INLINE void join_item(join_run *s, uint32_t item, join_span span, const join_limits *l, int kind) {
    const aoi_join_rows *j = s->rows;
    join_point there = {j->was_x[item], j->was_y[item]}, here = {j->x[item], j->y[item]};
    for (uint32_t k = span.first; k < span.end; k += JOIN_LANES) {
        uint64_t bits = join_match(j, k, there, here, l, kind);
        if (span.end - k < JOIN_LANES) bits &= (UINT64_C(1) << (span.end - k)) - 1;
        for (; bits; bits &= bits - 1)
            s->couples[s->count++] = (aoi_couple){j->ref[item], j->ref[k + (uint32_t)aoi_lanes_first(bits)]};
        if (s->count > JOIN_COUPLES - JOIN_LANES) join_flush(s);
    }
}

/* The items of neighbouring cells, which are one span as far as the cells of a row follow each other. */
static int join_spans(const join_run *s, const aoi_cell *k, int from, int to, join_span *spans) {
    int n = 0;
    for (int d = from; d <= to; d++) {
        uint32_t c = k->neighbor[d];
        if (c == AOI_NONE || !s->h->cells[c].count) continue;
        uint32_t first = s->rows->first[c], end = first + s->h->cells[c].count;
        if (n && spans[n - 1].end == first) spans[n - 1].end = end;
        else spans[n++] = (join_span){first, end};
    }
    return n;
}

AOI_INLINE void join_cell(join_run *s, uint32_t cell, const join_limits *l, int kind) {
    const aoi_cell *k = s->h->cells + cell;
    uint32_t first = s->rows->first[cell], end = first + k->count, below = 0;
    join_span spans[3], own;
    int n = join_spans(s, k, aoi_cell_direction(1, 0), aoi_cell_direction(1, 0), spans);
    own.end = n ? spans[0].end : end; /* the cell to the east begins where this one ends */
    n = join_spans(s, k, aoi_cell_direction(-1, 1), aoi_cell_direction(1, 1), spans);
    for (int i = 0; i < n; i++) below += spans[i].end - spans[i].first;
    for (uint32_t item = first; item < end; item++) {
        own.first = item + 1;
        join_item(s, item, own, l, kind);
        for (int i = 0; i < n; i++) join_item(s, item, spans[i], l, kind);
        s->steps += own.end - own.first + below;
    }
}

/* ---- the field --------------------------------------------------------------------------------------------------- */

/* Coordinates of items beyond the outermost cells are clamped: its own items, or its neighbours', may be there or may
 * have been. */
static inline bool join_is_outermost(const aoi_cell *k) {
    return k->cx <= 3 - AOI_CELL_MOST || k->cx >= AOI_CELL_MOST - 3 || k->cy <= 3 - AOI_CELL_MOST ||
           k->cy >= AOI_CELL_MOST - 3;
}

/* Coordinates are rounded down, so that a distance on an axis is less than 1 off: two are on the safe side. */
static join_limits join_limits_of(const aoi_spatial_hash *h, const aoi_borders *b) {
    double inner = fmin(b->enter_min[0], b->enter_min[1]) * h->scale - 2;
    double outer = fmax(b->leave_max[0], b->leave_max[1]) * h->scale + 3;
    join_limits l = {.inner = (int16_t)(inner > 0 ? inner : 0),
                     .outer = (int16_t)(outer < INT16_MAX ? outer : INT16_MAX)};
    if (b->round) l.squares = ring_limits_of(b, h->scale, 2, false, b->gap);
    return l;
}

/* Row by row, as the items lie in memory. */
AOI_INLINE uint64_t join_by(const aoi_spatial_hash *h, const aoi_join_rows *rows, const aoi_borders *b, aoi_meet meet,
                            void *ud, int kind) {
    const int east = aoi_cell_direction(1, 0);
    const join_limits all = {0, INT16_MAX, {0, INT32_MAX, INT32_MAX, 0}}, usual = join_limits_of(h, b);
    join_run s;
    s.h = h, s.rows = rows, s.meet = meet, s.ud = ud, s.steps = s.count = 0;
    for (uint32_t i = 0; i < h->top; i++) {
        if (!join_begins_row(h, i)) continue;
        for (uint32_t c = i; c != AOI_NONE; c = h->cells[c].neighbor[east])
            join_cell(&s, c, join_is_outermost(h->cells + c) ? &all : &usual, kind);
    }
    join_flush(&s);
    return s.steps;
}

uint64_t aoi_self_join(const aoi_spatial_hash *h, const aoi_join_rows *rows, const aoi_borders *b, aoi_meet meet,
                       void *ud) {
    if (!b->round) return join_by(h, rows, b, meet, ud, RING_BOX);
    if (!b->gap) return join_by(h, rows, b, meet, ud, RING_ROUND);
    return join_by(h, rows, b, meet, ud, RING_ROUND | RING_GAP);
}
