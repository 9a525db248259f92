/* self_join.c - see self_join.h: the join of a hash with itself. */
#include "engines/grid/self_join.h"

#include "engines/shared/ring_match.h"

enum {
    JOIN_REFS = 256,
    JOIN_COUPLES = 256,
    JOIN_BUCKETS = 64
};                                           /* gathered, before they are recalled, told, compared */
enum { JOIN_GROUP = 4, JOIN_LANE_BITS = 4 }; /* buckets whose lanes are bits of one word */

/* ---- the past ---------------------------------------------------------------------------------------------------- */

typedef struct join_recall {
    const aoi_world *w;
    const aoi_spatial_hash *h;
    aoi_past *past;
    uint32_t count, refs[JOIN_REFS], slots[JOIN_REFS];
} join_recall;

/* Records, then the movers that they name, are prefetched for all before the first is read. */
static void join_recall_some(join_recall *r) {
    const aoi_world *w = r->w;
    for (uint32_t i = 0; i < r->count; i++) AOI_PREFETCH(w->entities + r->refs[i]);
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t mover = w->entities[r->refs[i]].mover;
        AOI_PREFETCH(w->movers + (mover < w->moved ? mover : 0));
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const double *was = aoi_position_before(w, r->refs[i]);
        aoi_past *p = r->past + r->slots[i] / AOI_BUCKET_LANES;
        p->x[r->slots[i] % AOI_BUCKET_LANES] = (uint16_t)aoi_fixed_of(r->h, was[0]);
        p->y[r->slots[i] % AOI_BUCKET_LANES] = (uint16_t)aoi_fixed_of(r->h, was[1]);
    }
    r->count = 0;
}

void aoi_join_recall(const aoi_world *w, const aoi_spatial_hash *h, aoi_past *past) {
    join_recall r;
    r.w = w, r.h = h, r.past = past, r.count = 0;
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i)) continue;
        for (uint32_t b = h->cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next) {
            if (r.count > JOIN_REFS - AOI_BUCKET_ITEMS) join_recall_some(&r);
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++) {
                r.slots[r.count] = b * AOI_BUCKET_LANES + lane;
                r.refs[r.count++] = h->buckets[b].ref[lane];
            }
        }
    }
    join_recall_some(&r);
}

/* ---- an item and a bucket ---------------------------------------------------------------------------------------- */

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

/* All ones in the lanes of eight items that were and are on the same side. */
AOI_INLINE __m128i join_idle_box(const aoi_bucket *b, const aoi_past *p, int first, join_point there, join_point here,
                                 const join_limits *l) {
    __m128i was = join_larger(p->x + first, p->y + first, there), is = join_larger(b->x + first, b->y + first, here);
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

AOI_INLINE __m128i join_idle_round(const aoi_bucket *b, const aoi_past *p, int first, join_point there, join_point here,
                                   const join_limits *l, bool gap) {
    __m128i wx = join_sub(p->x + first, there.x), wy = join_sub(p->y + first, there.y);
    __m128i ix = join_sub(b->x + first, here.x), iy = join_sub(b->y + first, here.y);
    __m128i was_lo = _mm_unpacklo_epi16(wx, wy), was_hi = _mm_unpackhi_epi16(wx, wy);
    __m128i is_lo = _mm_unpacklo_epi16(ix, iy), is_hi = _mm_unpackhi_epi16(ix, iy);
    return _mm_packs_epi32(
        join_idle_four(&l->squares, _mm_madd_epi16(was_lo, was_lo), _mm_madd_epi16(is_lo, is_lo), gap),
        join_idle_four(&l->squares, _mm_madd_epi16(was_hi, was_hi), _mm_madd_epi16(is_hi, is_hi), gap));
}

/* A bit for each lane of the bucket that may have passed a border of an item that was there, and is here. */
AOI_INLINE uint64_t join_match(const aoi_bucket *b, const aoi_past *p, join_point there, join_point here,
                               const join_limits *l, int kind) {
    bool gap = kind & RING_GAP;
    __m128i low =
        kind & RING_ROUND ? join_idle_round(b, p, 0, there, here, l, gap) : join_idle_box(b, p, 0, there, here, l);
    __m128i high =
        kind & RING_ROUND ? join_idle_round(b, p, 8, there, here, l, gap) : join_idle_box(b, p, 8, there, here, l);
    return (uint64_t)(uint16_t)~_mm_movemask_epi8(_mm_packs_epi16(low, high));
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

AOI_INLINE bool join_idle(const aoi_bucket *b, const aoi_past *p, int i, join_point there, join_point here,
                          const join_limits *l, int kind) {
    int32_t inner = l->inner, outer = l->outer, was, is;
    if (kind & RING_ROUND) {
        was = join_square(p->x[i], p->y[i], there), is = join_square(b->x[i], b->y[i], here);
        inner = l->squares.inner, outer = l->squares.outer;
    } else was = join_larger(p->x[i], p->y[i], there), is = join_larger(b->x[i], b->y[i], here);
    bool idle = ((was < inner) & (is < inner)) | ((was > outer) & (is > outer));
    int32_t begin = l->squares.gap_begin, end = l->squares.gap_end;
    return idle | ((kind == (RING_ROUND | RING_GAP)) & (was > begin) & (was < end) & (is > begin) & (is < end));
}

AOI_INLINE uint64_t join_match(const aoi_bucket *b, const aoi_past *p, join_point there, join_point here,
                               const join_limits *l, int kind) {
    uint64_t bits = 0;
    for (int i = 0; i < AOI_BUCKET_ITEMS; i++) bits |= (uint64_t)!join_idle(b, p, i, there, here, l, kind) << i;
    return bits;
}

#endif

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

typedef struct join_run {
    const aoi_spatial_hash *h;
    const aoi_past *past;
    aoi_meet meet;
    void *ud;
    uint64_t steps;
    size_t count, bucket_count;
    uint32_t buckets[JOIN_BUCKETS];
    uint64_t used[JOIN_BUCKETS]; /* their lanes */
    aoi_couple couples[JOIN_COUPLES];
} join_run;

static void join_flush(join_run *s) {
    if (s->count) s->meet(s->ud, s->couples, s->count);
    s->count = 0;
}

/* 16 bits for each bucket of the group that begins with the `first` that is gathered. */
AOI_INLINE uint64_t join_group(const join_run *s, size_t first, join_point there, join_point here, const join_limits *l,
                               int kind) {
    uint64_t bits = 0;
    for (size_t k = 0; k < JOIN_GROUP && first + k < s->bucket_count; k++) {
        uint32_t b = s->buckets[first + k];
        bits |= (join_match(s->h->buckets + b, s->past + b, there, here, l, kind) & s->used[first + k])
                << (k << JOIN_LANE_BITS);
    }
    return bits;
}

/* Each item of the bucket with those behind it, if the bucket itself is gathered first, and with all of the others. */
AOI_INLINE void join_bucket(join_run *s, uint32_t own, const join_limits *l, int kind) {
    const aoi_bucket *buckets = s->h->buckets, *b = buckets + own;
    const aoi_past *p = s->past + own;
    for (size_t g = 0; g < s->bucket_count; g += JOIN_GROUP) {
        bool itself = s->buckets[g] == own;
        for (uint32_t i = 0; i < b->count; i++) {
            join_point there = {p->x[i], p->y[i]}, here = {b->x[i], b->y[i]};
            s->used[g] &= ~((uint64_t)itself << i);
            for (uint64_t bits = join_group(s, g, there, here, l, kind); bits; bits &= bits - 1) {
                size_t lane = (size_t)aoi_lanes_first(bits);
                const aoi_bucket *other = buckets + s->buckets[g + (lane >> JOIN_LANE_BITS)];
                s->couples[s->count++] = (aoi_couple){b->ref[i], other->ref[lane % AOI_BUCKET_LANES]};
            }
            if (s->count > JOIN_COUPLES - JOIN_GROUP * AOI_BUCKET_ITEMS) join_flush(s);
        }
    }
    s->steps += (uint64_t)b->count * s->bucket_count * AOI_BUCKET_ITEMS;
    s->bucket_count = 0;
}

static inline void join_gather(join_run *s, uint32_t bucket) {
    s->used[s->bucket_count] = (UINT64_C(1) << s->h->buckets[bucket].count) - 1;
    s->buckets[s->bucket_count++] = bucket;
}

AOI_INLINE void join_cell(join_run *s, const aoi_cell *k, const join_limits *l, int kind) {
    for (uint32_t own = k->head[AOI_MIDDLE]; own != AOI_NONE; own = s->h->buckets[own].next) {
        for (int d = AOI_MIDDLE; d < 9; d++)
            for (uint32_t i = d == AOI_MIDDLE ? own : k->head[d]; i != AOI_NONE; i = s->h->buckets[i].next) {
                join_gather(s, i);
                if (s->bucket_count == JOIN_BUCKETS) join_bucket(s, own, l, kind);
            }
        if (s->bucket_count) join_bucket(s, own, l, kind);
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

AOI_INLINE uint64_t join_by(const aoi_spatial_hash *h, const aoi_past *past, const aoi_borders *b, aoi_meet meet,
                            void *ud, int kind) {
    const join_limits all = {0, INT16_MAX, {0, INT32_MAX, INT32_MAX, 0}}, usual = join_limits_of(h, b);
    join_run s;
    s.h = h, s.past = past, s.meet = meet, s.ud = ud, s.steps = s.count = s.bucket_count = 0;
    for (uint32_t i = 0; i < h->top; i++) {
        const aoi_cell *k = h->cells + i;
        if (aoi_cell_exists(k)) join_cell(&s, k, join_is_outermost(k) ? &all : &usual, kind);
    }
    join_flush(&s);
    return s.steps;
}

uint64_t aoi_self_join(const aoi_spatial_hash *h, const aoi_past *past, const aoi_borders *b, aoi_meet meet, void *ud) {
    if (!b->round) return join_by(h, past, b, meet, ud, RING_BOX);
    if (!b->gap) return join_by(h, past, b, meet, ud, RING_ROUND);
    return join_by(h, past, b, meet, ud, RING_ROUND | RING_GAP);
}
