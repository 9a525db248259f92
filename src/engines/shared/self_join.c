/* self_join.c - see self_join.h: items in lines of bins, and their join with themselves. */
#include "engines/shared/self_join.h"

#include <string.h>

#include "engines/shared/ring_match.h"

enum { JOIN_HITS = 64, JOIN_COUPLES = 128 };                              /* gathered before they are told */
enum { JOIN_LANES = 16 };                                                 /* compared at once */
enum { JOIN_MOST_REACH = 4 };                                             /* bins that a line's height is wide */
enum { JOIN_LEAST_BINS = 2 * JOIN_MOST_REACH + 1, JOIN_LEAST_LINES = 3 }; /* so that neighbours are different ones */

#define JOIN_NOWHERE UINT32_MAX
#define JOIN_WRAPPED                                                                                                   \
    (UINT32_C(1) << 31) /* set in a number: the item stands elsewhere, some turns around the torus away */

/* ---- items in lines of bins -------------------------------------------------------------------------------------- */

static inline uint32_t join_entity(const aoi_join_rows *j, uint32_t item) {
    return j->ref[item] & ~JOIN_WRAPPED;
}

/* Bins and lines for the bounds of the movers, as wide as they have to be not to outnumber entities, up to the height of
 * a line; if there are too many then, as many as there are entities.  Odd numbers of bins: what shares a bin then differs
 * in its coordinates, which are modulo a power of two. */
static void join_choose_bins(const aoi_world *w, aoi_join_rows *j) {
    double most = fmin(1.0 * w->entity_top + 64, 0x1p30), least[2] = {JOIN_LEAST_BINS, JOIN_LEAST_LINES}, n[2];
    int64_t first[2], last[2];
    j->bin_bits = AOI_FIXED_BITS - 2;
    for (j->reach = JOIN_MOST_REACH;; j->reach /= 2, j->bin_bits++) {
        for (int a = 0; a < 2; a++) {
            int bits = a ? AOI_FIXED_BITS : j->bin_bits, margin = a ? 0 : (int)j->reach;
            first[a] = (aoi_fixed(j->scale, w->travels.lo[a]) >> bits) - margin;
            last[a] = (aoi_fixed(j->scale, w->travels.hi[a]) >> bits) + margin + 1 + a;
            n[a] = fmax((double)last[a] - (double)first[a], least[a]);
        }
        if (n[0] * n[1] <= most || j->reach == 1) break;
    }
    n[0] = fmin(n[0], UINT16_MAX);
    while (n[0] * n[1] > most && (n[0] > least[0] || n[1] > least[1])) {
        int a = n[1] <= least[1] || (n[0] > least[0] && n[0] > n[1]) ? 0 : 1;
        n[a] = fmax(floor(n[a] / 2), least[a]);
    }
    j->bin0 = first[0], j->line0 = first[1];
    j->bins = (uint32_t)n[0] | 1, j->lines = (uint32_t)n[1];
    j->remote = j->bin0 != (int32_t)j->bin0 || j->line0 != (int32_t)j->line0;
}

static inline uint32_t join_wrap(int64_t k, int64_t first, uint32_t count, uint32_t *wrapped) {
    uint64_t u = (uint64_t)(k - first);
    if (u < count) return (uint32_t)u;
    *wrapped = JOIN_WRAPPED;
    int64_t r = (k - first) % (int64_t)count;
    return (uint32_t)(r < 0 ? r + count : r);
}

/* The mover's way on an axis; one that goes up or down counts as one that goes far: rings in the plane do not tell what
 * it loses and gains. */
static inline double join_way(const aoi_world *w, const double *was, const double *is) {
    return w->dims == 3 && was[2] != is[2] ? (double)INFINITY : aoi_apart(is, was);
}

/* Both coordinates of a place in fixed point, if they are less than 2^30 there; most are. */
static inline bool join_fixed_near(double scale, const double *at, int32_t out[2]) {
#ifdef __SSE2__
    const __m128d k = _mm_mul_pd(_mm_loadu_pd(at), _mm_set1_pd(scale)), most = _mm_set1_pd(AOI_CELL_MOST);
    const __m128d size = _mm_andnot_pd(_mm_set1_pd(-0.0), k);
    const __m128i i = _mm_cvttpd_epi32(k), down = _mm_castpd_si128(_mm_cmplt_pd(k, _mm_cvtepi32_pd(i)));
    const __m128i fixed = _mm_add_epi32(i, _mm_shuffle_epi32(down, _MM_SHUFFLE(3, 3, 2, 0))); /* floor */
    _mm_storel_epi64((__m128i *)(void *)out, fixed);
    return _mm_movemask_pd(_mm_cmplt_pd(size, most)) == 3;
#else
    for (int a = 0; a < 2; a++) {
        double k = at[a] * scale;
        if (!(fabs(k) < AOI_CELL_MOST)) return false;
        out[a] = (int32_t)aoi_floor_to_int(k);
    }
    return true;
#endif
}

/* A place in fixed point; true if both coordinates are less than 2^30 there. */
static inline bool join_fixed_place(const aoi_join_rows *j, const double *at, int64_t out[2]) {
    int32_t near[2];
    bool usual = join_fixed_near(j->scale, at, near);
    if (usual) out[0] = near[0], out[1] = near[1];
    else
        for (int a = 0; a < 2; a++) out[a] = aoi_fixed(j->scale, at[a]);
    return usual;
}

static inline uint32_t join_bin_in_line(const aoi_join_rows *j, int64_t x, uint32_t *wrapped) {
    return join_wrap(x >> j->bin_bits, j->bin0, j->bins, wrapped);
}

/* The bin of an entity, WRAPPED where its number is not that of its place. */
static AOI_NOINLINE uint32_t join_any_bin(const aoi_join_rows *j, const double *at) {
    int64_t is[2];
    (void)join_fixed_place(j, at, is);
    uint32_t wrapped = 0, line = join_wrap(is[1] >> AOI_FIXED_BITS, j->line0, j->lines, &wrapped);
    uint32_t bin = line * j->bins + join_bin_in_line(j, is[0], &wrapped);
    return bin | wrapped;
}

/* The same, of most in a few instructions. */
AOI_INLINE uint32_t join_bin_of(const aoi_join_rows *j, const double *at) {
    int32_t near[2];
    if (!join_fixed_near(j->scale, at, near) || j->remote) return join_any_bin(j, at);
    uint32_t bin = (uint32_t)(near[0] >> j->bin_bits) - (uint32_t)j->bin0;
    uint32_t line = (uint32_t)(near[1] >> AOI_FIXED_BITS) - (uint32_t)j->line0;
    return line < j->lines && bin < j->bins ? line * j->bins + bin : join_any_bin(j, at);
}

static bool join_find_bins(aoi_world *w, aoi_join_rows *j, double limit, uint32_t *bin_of) {
    bool all = w->travels.farthest <= limit && !w->travels.climbs; /* then no way is looked at */
    uint32_t count = 0;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const double *is = w->entities[e].pos, *was = all ? is : aoi_position_before(w, e);
        bin_of[e] = JOIN_NOWHERE;
        if (!aoi_is_live(w->entities[e].generation)) continue;
        if (was == is || join_way(w, was, is) <= limit) {
            bin_of[e] = join_bin_of(j, is);
            j->first[(bin_of[e] & ~JOIN_WRAPPED) + 1]++;
            count++;
        } else if (AOI_GROW(&w->memory, j->far, j->far_cap, j->far_count + (size_t)1)) j->far[j->far_count++] = e;
        else return false;
    }
    j->count = count;
    return true;
}

static void join_sort(const aoi_world *w, aoi_join_rows *j, const uint32_t *bin_of) {
    uint32_t *next = j->first + 1, bins = j->bins * j->lines; /* once all are placed: where the bin after it begins */
    for (uint32_t b = 0, sum = 0; b < bins; b++) {
        uint32_t n = next[b];
        next[b] = sum;
        sum += n;
    }
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (bin_of[e] != JOIN_NOWHERE) j->ref[next[bin_of[e] & ~JOIN_WRAPPED]++] = e | (bin_of[e] & JOIN_WRAPPED);
}

/* Where an item is and was. */
static AOI_NOINLINE void join_place_any(aoi_join_rows *j, uint32_t k, const double *at, const double *before) {
    int64_t is[2], was[2], most = AOI_FIXED_MOST - (4 << AOI_FIXED_BITS);
    uint32_t ignored;
    if (!join_fixed_place(j, at, is))
        for (int a = 0; a < 2; a++) j->clamped |= is[a] >= most || is[a] <= -most;
    (void)join_fixed_place(j, before, was);
    j->bin[k] = (uint16_t)join_bin_in_line(j, is[0], &ignored);
    j->x[k] = (uint16_t)is[0], j->y[k] = (uint16_t)is[1];
    j->was_x[k] = (uint16_t)was[0], j->was_y[k] = (uint16_t)was[1];
}

static inline void join_place_item(const aoi_world *w, aoi_join_rows *j, uint32_t k) {
    uint32_t e = join_entity(j, k);
    const double *at = w->entities[e].pos, *before = aoi_position_before(w, e);
    int32_t is[2], was[2];
    bool near = join_fixed_near(j->scale, at, is);
    near = join_fixed_near(j->scale, before, was) && near;
    if (!near || (j->ref[k] & JOIN_WRAPPED)) {
        join_place_any(j, k, at, before);
        return;
    }
    j->bin[k] = (uint16_t)((uint32_t)(is[0] >> j->bin_bits) - (uint32_t)j->bin0);
    j->x[k] = (uint16_t)is[0], j->y[k] = (uint16_t)is[1];
    j->was_x[k] = (uint16_t)was[0], j->was_y[k] = (uint16_t)was[1];
}

enum { JOIN_AHEAD = 16, JOIN_SOON = 8 }; /* items whose entity, and whose way, is prefetched */

static void join_place_items(const aoi_world *w, aoi_join_rows *j) {
    uint32_t last = j->count - 1;
    for (uint32_t k = 0; k < j->count; k++) {
        AOI_PREFETCH(w->entities + join_entity(j, k + JOIN_AHEAD < last ? k + JOIN_AHEAD : last));
        uint32_t mover = w->entities[join_entity(j, k + JOIN_SOON < last ? k + JOIN_SOON : last)].mover;
        AOI_PREFETCH(aoi_way_of(w, mover < w->moved ? mover : 0));
        join_place_item(w, j, k);
    }
}

/* Entities by their bins: what that takes is given back before the rest is made. */
static bool join_sorted(aoi_world *w, double limit, aoi_join_rows *j) {
    aoi_memory *m = &w->memory;
    uint32_t *bin_of = NULL, cap = 0;
    bool good = AOI_GROW(m, bin_of, cap, w->entity_top) && join_find_bins(w, j, limit, bin_of) &&
                AOI_GROW(m, j->ref, j->ref_cap, j->count);
    if (good) join_sort(w, j, bin_of);
    AOI_FREE(m, bin_of, cap);
    return good;
}

bool aoi_join_rows_fill(aoi_world *w, double side, double limit, aoi_join_rows *j) {
    aoi_memory *m = &w->memory;
    j->side = side;
    j->scale = (1 << AOI_FIXED_BITS) / side;
    join_choose_bins(w, j);
    size_t bins = (size_t)j->bins * j->lines + 1;
    if (!AOI_GROW(m, j->first, j->first_cap, bins)) return false;
    memset(j->first, 0, bins * sizeof *j->first);
    if (!join_sorted(w, limit, j)) return false;
    size_t n = (size_t)j->count + JOIN_LANES; /* vectors are read beyond the end */
    if (!AOI_GROW(m, j->x, j->x_cap, n) || !AOI_GROW(m, j->y, j->y_cap, n) || !AOI_GROW(m, j->was_x, j->was_x_cap, n) ||
        !AOI_GROW(m, j->was_y, j->was_y_cap, n) || !AOI_GROW(m, j->bin, j->bin_cap, n))
        return false;
    join_place_items(w, j);
    return true;
}

void aoi_join_rows_free(aoi_memory *m, aoi_join_rows *j) {
    AOI_FREE(m, j->x, j->x_cap);
    AOI_FREE(m, j->y, j->y_cap);
    AOI_FREE(m, j->was_x, j->was_x_cap);
    AOI_FREE(m, j->was_y, j->was_y_cap);
    AOI_FREE(m, j->bin, j->bin_cap);
    AOI_FREE(m, j->ref, j->ref_cap);
    AOI_FREE(m, j->first, j->first_cap);
    AOI_FREE(m, j->far, j->far_cap);
}

/* ---- an item and sixteen others ---------------------------------------------------------------------------------- */

typedef struct join_point { /* modulo 2^16 */
    uint16_t x, y;
} join_point;

static inline join_point join_point_was(const aoi_join_rows *j, uint32_t item) {
    return (join_point){j->was_x[item], j->was_y[item]};
}

static inline join_point join_point_is(const aoi_join_rows *j, uint32_t item) {
    return (join_point){j->x[item], j->y[item]};
}

typedef struct join_limits { /* of distances on the axis where they are larger, or of squares of distances */
    int16_t inner, outer;
    ring_limits squares;
#ifdef __SSE2__
    __m128i inners, outers; /* in each lane */
#endif
} join_limits;

static inline int join_away(uint16_t item, uint16_t from) {
    return abs((int16_t)(uint16_t)(item - from));
}

static inline int join_larger_of(uint16_t x, uint16_t y, join_point p) {
    int dx = join_away(x, p.x), dy = join_away(y, p.y);
    return dx > dy ? dx : dy;
}

#ifdef __SSE2__

typedef struct join_lanes { /* a point in each lane */
    __m128i x, y;
} join_lanes;

typedef struct join_pivot { /* an item: where it was, and is */
    join_lanes there, here;
} join_pivot;

static inline join_lanes join_lanes_of(join_point p) {
    return (join_lanes){_mm_set1_epi16((int16_t)p.x), _mm_set1_epi16((int16_t)p.y)};
}

static inline join_pivot join_pivot_of(const aoi_join_rows *j, uint32_t item) {
    return (join_pivot){join_lanes_of(join_point_was(j, item)), join_lanes_of(join_point_is(j, item))};
}

static inline __m128i join_sub(const uint16_t *item, __m128i from) {
    return _mm_sub_epi16(_mm_loadu_si128((const __m128i *)(const void *)item), from);
}

static inline __m128i join_larger(const uint16_t *x, const uint16_t *y, join_lanes p) {
    __m128i dx = join_sub(x, p.x), dy = join_sub(y, p.y), zero = _mm_setzero_si128();
    return _mm_max_epi16(_mm_max_epi16(dx, _mm_sub_epi16(zero, dx)), _mm_max_epi16(dy, _mm_sub_epi16(zero, dy)));
}

/* All ones in the lanes of eight items, from `k` on, that were and are on the same side. */
AOI_INLINE __m128i join_idle_box(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l) {
    __m128i was = join_larger(j->was_x + k, j->was_y + k, p->there), is = join_larger(j->x + k, j->y + k, p->here);
    return _mm_or_si128(_mm_cmplt_epi16(_mm_max_epi16(was, is), l->inners),
                        _mm_cmpgt_epi16(_mm_min_epi16(was, is), l->outers));
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

AOI_INLINE __m128i join_idle_round(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l,
                                   bool gap) {
    __m128i wx = join_sub(j->was_x + k, p->there.x), wy = join_sub(j->was_y + k, p->there.y);
    __m128i ix = join_sub(j->x + k, p->here.x), iy = join_sub(j->y + k, p->here.y);
    __m128i was_lo = _mm_unpacklo_epi16(wx, wy), was_hi = _mm_unpackhi_epi16(wx, wy);
    __m128i is_lo = _mm_unpacklo_epi16(ix, iy), is_hi = _mm_unpackhi_epi16(ix, iy);
    return _mm_packs_epi32(
        join_idle_four(&l->squares, _mm_madd_epi16(was_lo, was_lo), _mm_madd_epi16(is_lo, is_lo), gap),
        join_idle_four(&l->squares, _mm_madd_epi16(was_hi, was_hi), _mm_madd_epi16(is_hi, is_hi), gap));
}

AOI_INLINE __m128i join_idle(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l, int kind) {
    return kind & RING_ROUND ? join_idle_round(j, k, p, l, kind & RING_GAP) : join_idle_box(j, k, p, l);
}

/* A bit for each of sixteen items, from `k` on, that may have passed a border of an item. */
AOI_INLINE uint32_t join_match(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l,
                               int kind) {
    __m128i low = join_idle(j, k, p, l, kind), high = join_idle(j, k + 8, p, l, kind);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) ^ 0xffff;
}

#else

typedef struct join_pivot { /* an item: where it was, and is */
    join_point there, here;
} join_pivot;

static inline join_pivot join_pivot_of(const aoi_join_rows *j, uint32_t item) {
    return (join_pivot){join_point_was(j, item), join_point_is(j, item)};
}

static inline int32_t join_square(uint16_t x, uint16_t y, join_point p) {
    int32_t dx = join_away(x, p.x), dy = join_away(y, p.y);
    return dx < INT16_MAX && dy < INT16_MAX ? dx * dx + dy * dy : INT32_MAX;
}

AOI_INLINE bool join_idle(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l, int kind) {
    int32_t inner = l->inner, outer = l->outer, was, is;
    if (kind & RING_ROUND) {
        was = join_square(j->was_x[k], j->was_y[k], p->there), is = join_square(j->x[k], j->y[k], p->here);
        inner = l->squares.inner, outer = l->squares.outer;
    } else was = join_larger_of(j->was_x[k], j->was_y[k], p->there), is = join_larger_of(j->x[k], j->y[k], p->here);
    bool idle = ((was < inner) & (is < inner)) | ((was > outer) & (is > outer));
    int32_t begin = l->squares.gap_begin, end = l->squares.gap_end;
    return idle | ((kind == (RING_ROUND | RING_GAP)) & (was > begin) & (was < end) & (is > begin) & (is < end));
}

AOI_INLINE uint32_t join_match(const aoi_join_rows *j, uint32_t k, const join_pivot *p, const join_limits *l,
                               int kind) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < JOIN_LANES; i++) bits |= (uint32_t)!join_idle(j, k + i, p, l, kind) << i;
    return bits;
}

#endif

/* ---- spans ------------------------------------------------------------------------------------------------------- */

typedef struct join_hit { /* of sixteen items from `first` on, those that may have passed a border of an item */
    uint32_t item, first, bits;
} join_hit;

enum { JOIN_ACROSS = 1 << JOIN_LANES }; /* a bit more: across the seam of the torus */

typedef struct join_run {
    const aoi_join_rows *rows;
    join_limits limits;
    aoi_meet meet;
    void *ud;
    uint64_t steps;
    uint32_t across; /* the bit of the hits that are made now */
    bool tells;      /* what couples have passed, if it can */
    size_t count;
    join_hit *hit; /* the next */
    join_hit hits[JOIN_HITS];
    aoi_couple couples[JOIN_COUPLES];
} join_run;

/* What a couple has passed by its coordinates in fixed point, which are modulo 2^16: of two that stand where their bins
 * say.  No telling where it was, or is, close to a border. */
AOI_INLINE uint32_t join_change(const aoi_join_rows *j, uint32_t item, uint32_t k, const join_limits *l) {
    if ((j->ref[item] | j->ref[k]) & JOIN_WRAPPED) return AOI_UNTOLD;
    join_point there = join_point_was(j, item), here = join_point_is(j, item);
    int was = join_larger_of(j->was_x[k], j->was_y[k], there), is = join_larger_of(j->x[k], j->y[k], here);
    uint32_t parted = (was < l->inner) & (is > l->outer), met = (was > l->outer) & (is < l->inner);
    return parted * AOI_PARTED | met * AOI_MET;
}

static void join_tell(join_run *s) {
    if (s->count) s->meet(s->ud, s->couples, s->count);
    s->count = 0;
}

AOI_NOINLINE static void join_flush(join_run *s) {
    const aoi_join_rows *j = s->rows;
    for (const join_hit *h = s->hits; h < s->hit; h++) {
        bool told = s->tells && !(h->bits & JOIN_ACROSS);
        for (uint32_t bits = h->bits & (JOIN_ACROSS - 1); bits; bits &= bits - 1) {
            uint32_t other = h->first + (uint32_t)aoi_lanes_first(bits);
            uint32_t change = told ? join_change(j, h->item, other, &s->limits) : AOI_UNTOLD;
            s->couples[s->count++] = (aoi_couple){join_entity(j, h->item), join_entity(j, other), change};
        }
        if (s->count > JOIN_COUPLES - JOIN_LANES) join_tell(s);
    }
    s->hit = s->hits;
}

/* An item with those from `first` up to `end`, of which there may be none.  How many there are, and whether one of them
 * hits, cannot be predicted: most often there is one turn, and no branch. */
AOI_INLINE void join_item(join_run *s, uint32_t item, const join_pivot *p, uint32_t first, uint32_t end, int kind) {
    const aoi_join_rows *j = s->rows;
    s->steps += end - first;
    do {
        uint32_t left = end - first, bits = join_match(j, first, p, &s->limits, kind);
        bits &= (UINT32_C(1) << (left < JOIN_LANES ? left : JOIN_LANES)) - 1;
        *s->hit = (join_hit){item, first, bits | s->across};
        s->hit += bits != 0;
        if (s->hit == s->hits + JOIN_HITS) join_flush(s);
        first += JOIN_LANES;
    } while (first < end);
}

/* Items from one bin of a line up to another, which may lie beyond its ends: then the line goes on at the other end.
 * `item`: only those after it. */
AOI_NOINLINE static void join_around(join_run *s, uint32_t item, const uint32_t *line, int64_t from, int64_t to,
                                     uint32_t after, int kind) {
    int64_t bins = s->rows->bins;
    join_pivot p = join_pivot_of(s->rows, item);
    for (int part = -1; part <= 1; part++) {
        int64_t lo = from - part * bins, hi = to - part * bins;
        if (hi <= 0 || lo >= bins) continue;
        uint32_t first = line[lo < 0 ? 0 : lo], end = line[hi > bins ? bins : hi];
        if (part == 0 && first < after) first = after;
        if (kind == RING_BOX) join_item(s, item, &p, first, end, RING_BOX);
        else if (kind == RING_ROUND) join_item(s, item, &p, first, end, RING_ROUND);
        else join_item(s, item, &p, first, end, RING_ROUND | RING_GAP);
    }
}

AOI_INLINE void join_line(join_run *s, const uint32_t *line, const uint32_t *below, int kind) {
    const aoi_join_rows *j = s->rows;
    const uint32_t reach = j->reach;
    for (uint32_t item = line[0], end = line[j->bins]; item < end; item++) {
        uint32_t bin = j->bin[item];
        if (bin < reach || bin + reach >= j->bins) {
            uint32_t across = s->across;
            s->across = JOIN_ACROSS;
            join_around(s, item, line, bin, (int64_t)bin + reach + 1, item + 1, kind);
            join_around(s, item, below, (int64_t)bin - reach, (int64_t)bin + reach + 1, 0, kind);
            s->across = across;
            continue;
        }
        join_pivot p = join_pivot_of(j, item);
        join_item(s, item, &p, item + 1, line[bin + reach + 1], kind);
        join_item(s, item, &p, below[bin - reach], below[bin + reach + 1], kind);
    }
}

/* Coordinates are rounded down, so that a distance on an axis is less than 1 off: two are on the safe side. */
static join_limits join_limits_of(const aoi_join_rows *j, const aoi_borders *b) {
    double inner = fmin(b->enter_min[0], b->enter_min[1]) * j->scale - 2;
    double outer = aoi_magnitude(b->leave_max) * j->scale + 3;
    join_limits l = {.inner = (int16_t)(inner > 0 ? inner : 0),
                     .outer = (int16_t)(outer < INT16_MAX ? outer : INT16_MAX)};
    if (b->round) l.squares = ring_limits_of(b, j->scale, 2, false, b->gap);
    if (j->clamped) l = (join_limits){.outer = INT16_MAX, .squares = {0, INT32_MAX, INT32_MAX, 0}};
#ifdef __SSE2__
    l.inners = _mm_set1_epi16(l.inner), l.outers = _mm_set1_epi16(l.outer);
#endif
    return l;
}

/* Line by line, as the items lie in memory. */
AOI_INLINE uint64_t join_by(const aoi_join_rows *j, const aoi_borders *b, aoi_meet meet, void *ud, int kind) {
    join_run s;
    s.rows = j, s.meet = meet, s.ud = ud, s.steps = s.count = s.across = 0;
    s.hit = s.hits, s.tells = kind == RING_BOX;
    s.limits = join_limits_of(j, b);
    for (uint32_t i = 0; i < j->lines; i++) {
        const uint32_t *line = j->first + (size_t)i * j->bins;
        bool last = i + 1 == j->lines; /* whose next line is the first */
        if (last) s.across = JOIN_ACROSS;
        join_line(&s, line, last ? j->first : line + j->bins, kind);
    }
    join_flush(&s);
    join_tell(&s);
    return s.steps;
}

uint64_t aoi_self_join(const aoi_join_rows *j, const aoi_borders *b, aoi_meet meet, void *ud) {
    if (!b->round) return join_by(j, b, meet, ud, RING_BOX);
    if (!b->gap) return join_by(j, b, meet, ud, RING_ROUND);
    return join_by(j, b, meet, ud, RING_ROUND | RING_GAP);
}
