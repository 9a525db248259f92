/* self_join.c - see self_join.h. */
#include "engines/grid/self_join.h"

#include "base/simd.h"

enum {
    REFS = 256,
    COUPLES = 256,
    LINES = 64
};                                 /* asked about, or told, together; compared with one item after the other */
enum { GROUP = 4, LANE_BITS = 4 }; /* lines whose lanes are bits of one word */

/* ---- the past ------------------------------------------------------------------------------------------------------- */

typedef struct recollection {
    const aoi_cells *c;
    aoi_past *past;
    uint32_t count, refs[REFS], slots[REFS];
    double was_at[REFS][2];
} recollection;

static void recall_some(recollection *r, aoi_recall recall, const void *ud) {
    recall(ud, r->refs, r->count, r->was_at);
    for (uint32_t i = 0; i < r->count; i++) {
        aoi_past *p = r->past + r->slots[i] / AOI_LANES;
        p->x[r->slots[i] % AOI_LANES] = (uint16_t)aoi_cell_mark(r->c, r->was_at[i][0]);
        p->y[r->slots[i] % AOI_LANES] = (uint16_t)aoi_cell_mark(r->c, r->was_at[i][1]);
    }
    r->count = 0;
}

void aoi_join_recall(const aoi_cells *c, aoi_past *past, aoi_recall recall, const void *ud) {
    recollection r;
    r.c = c, r.past = past, r.count = 0;
    for (uint32_t i = 0; i < c->top; i++) {
        const aoi_cell *k = c->cells + i;
        if (!aoi_cell_exists(k)) continue;
        for (uint32_t l = k->first[AOI_MIDDLE]; l != AOI_NONE; l = c->lines[l].next) {
            if (r.count > REFS - AOI_ITEMS) recall_some(&r, recall, ud);
            for (uint32_t lane = 0; lane < c->lines[l].count; lane++) {
                r.slots[r.count] = l * AOI_LANES + lane;
                r.refs[r.count++] = c->lines[l].ref[lane];
            }
        }
    }
    recall_some(&r, recall, ud);
}

/* ---- an item and a line --------------------------------------------------------------------------------------------- */

typedef struct marks { /* modulo 2^16 */
    uint16_t x, y;
} marks;

typedef struct range { /* nothing has happened if both distances are less, or both more, than these */
    int16_t near, far;
} range;

/* A bit for each lane of the line to which something has happened with an item that was there, and is here. */
typedef uint64_t (*meeting)(const aoi_line *l, const aoi_past *p, marks there, marks here, range r);

#ifdef __SSE2__

static inline __m128i away(const uint16_t *item, uint16_t from) {
    __m128i d = _mm_sub_epi16(_mm_loadu_si128((const __m128i *)(const void *)item), _mm_set1_epi16((int16_t)from));
    return _mm_max_epi16(d, _mm_sub_epi16(_mm_setzero_si128(), d));
}

static inline __m128i half(const aoi_line *l, const aoi_past *p, int first, marks there, marks here, range r) {
    __m128i was = _mm_max_epi16(away(p->x + first, there.x), away(p->y + first, there.y));
    __m128i is = _mm_max_epi16(away(l->x + first, here.x), away(l->y + first, here.y));
    return _mm_or_si128(_mm_cmplt_epi16(_mm_max_epi16(was, is), _mm_set1_epi16(r.near)),
                        _mm_cmpgt_epi16(_mm_min_epi16(was, is), _mm_set1_epi16(r.far)));
}

static inline uint64_t meeting_plain(const aoi_line *l, const aoi_past *p, marks there, marks here, range r) {
    __m128i idle = _mm_packs_epi16(half(l, p, 0, there, here, r), half(l, p, AOI_LANES / 2, there, here, r));
    return (uint64_t)(uint16_t)~_mm_movemask_epi8(idle);
}

#else

static inline int away(uint16_t item, uint16_t from) {
    int d = (int16_t)(uint16_t)(item - from);
    return d < 0 ? -d : d;
}

static inline int larger(int a, int b) {
    return a > b ? a : b;
}

static inline uint64_t meeting_plain(const aoi_line *l, const aoi_past *p, marks there, marks here, range r) {
    uint64_t bits = 0;
    for (int i = 0; i < AOI_ITEMS; i++) {
        int was = larger(away(p->x[i], there.x), away(p->y[i], there.y)),
            is = larger(away(l->x[i], here.x), away(l->y[i], here.y));
        bool idle = ((was < r.near) & (is < r.near)) | ((was > r.far) & (is > r.far));
        bits |= (uint64_t)!idle << i;
    }
    return bits;
}

#endif

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static inline __m256i away_avx2(const uint16_t *item, uint16_t from) {
    return _mm256_abs_epi16(
        _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(const void *)item), _mm256_set1_epi16((int16_t)from)));
}

__attribute__((target("avx2"))) static inline uint64_t meeting_avx2(const aoi_line *l, const aoi_past *p, marks there,
                                                                    marks here, range r) {
    __m256i was = _mm256_max_epi16(away_avx2(p->x, there.x), away_avx2(p->y, there.y));
    __m256i is = _mm256_max_epi16(away_avx2(l->x, here.x), away_avx2(l->y, here.y));
    __m256i idle = _mm256_or_si256(_mm256_cmpgt_epi16(_mm256_set1_epi16(r.near), _mm256_max_epi16(was, is)),
                                   _mm256_cmpgt_epi16(_mm256_min_epi16(was, is), _mm256_set1_epi16(r.far)));
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(idle), _mm256_extracti128_si256(idle, 1));
    return (uint64_t)(uint16_t)~_mm_movemask_epi8(bytes);
}
#endif

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

typedef struct join {
    const aoi_cells *c;
    const aoi_past *past;
    aoi_meet meet;
    void *ud;
    uint64_t steps;
    size_t count, line_count;
    uint32_t lines[LINES];
    uint64_t used[LINES]; /* their lanes */
    aoi_couple couples[COUPLES];
} join;

static void tell(join *s) {
    if (s->count) s->meet(s->ud, s->couples, s->count);
    s->count = 0;
}

/* 16 bits for each line of the group that begins with the `first` that is gathered. */
AOI_INLINE uint64_t meet_group(const join *s, size_t first, size_t end, marks there, marks here, range r,
                               meeting meets) {
    uint64_t bits = 0;
    for (size_t k = 0; k < GROUP && first + k < end; k++) {
        uint32_t line = s->lines[first + k];
        bits |= (meets(s->c->lines + line, s->past + line, there, here, r) & s->used[first + k]) << (k << LANE_BITS);
    }
    return bits;
}

/* Each item of the line with those behind it, if the line itself is gathered first, and with all of the other lines. */
AOI_INLINE void join_line(join *s, uint32_t own, range r, meeting meets) {
    const aoi_line *lines = s->c->lines, *l = lines + own;
    const aoi_past *p = s->past + own;
    size_t end = s->line_count;
    for (size_t g = 0; g < end; g += GROUP) {
        bool itself = s->lines[g] == own;
        for (uint32_t i = 0; i < l->count; i++) {
            marks there = {p->x[i], p->y[i]}, here = {l->x[i], l->y[i]};
            s->used[g] &= ~((uint64_t)itself << i);
            for (uint64_t bits = meet_group(s, g, end, there, here, r, meets); bits; bits &= bits - 1) {
                size_t lane = (size_t)aoi_lanes_first(bits);
                const aoi_line *other = lines + s->lines[g + (lane >> LANE_BITS)];
                s->couples[s->count++] = (aoi_couple){l->ref[i], other->ref[lane % AOI_LANES]};
            }
            if (s->count > COUPLES - GROUP * AOI_ITEMS) tell(s);
        }
    }
    s->steps += (uint64_t)l->count * end * AOI_ITEMS;
    s->line_count = 0;
}

static inline void gather(join *s, uint32_t line) {
    s->used[s->line_count] = (UINT64_C(1) << s->c->lines[line].count) - 1;
    s->lines[s->line_count++] = line;
}

AOI_INLINE void join_cell(join *s, const aoi_cell *k, range r, meeting meets) {
    for (uint32_t own = k->first[AOI_MIDDLE]; own != AOI_NONE; own = s->c->lines[own].next) {
        for (int d = AOI_MIDDLE; d < 9; d++)
            for (uint32_t i = d == AOI_MIDDLE ? own : k->first[d]; i != AOI_NONE; i = s->c->lines[i].next) {
                gather(s, i);
                if (s->line_count == LINES) join_line(s, own, r, meets);
            }
        if (s->line_count) join_line(s, own, r, meets);
    }
}

/* ---- the field ------------------------------------------------------------------------------------------------------ */

/* Beyond the outermost cells marks tell nothing; its own items, or its neighbours', may be there or may have been. */
static inline bool is_outermost(const aoi_cell *k) {
    return k->cx <= 3 - AOI_CELL_MOST || k->cx >= AOI_CELL_MOST - 3 || k->cy <= 3 - AOI_CELL_MOST ||
           k->cy >= AOI_CELL_MOST - 3;
}

/* Marks are rounded down, so that a distance in marks is one off at most; two are on the safe side. */
static range range_of(const aoi_cells *c, double near, double far) {
    double least = near * c->scale - 2, most = far * c->scale + 3;
    return (range){(int16_t)(least > 0 ? least : 0), (int16_t)(most < INT16_MAX ? most : INT16_MAX)};
}

AOI_INLINE uint64_t join_by(const aoi_cells *c, const aoi_past *past, double near, double far, aoi_meet meet, void *ud,
                            meeting meets) {
    range r = range_of(c, near, far);
    join s;
    s.c = c, s.past = past, s.meet = meet, s.ud = ud, s.steps = s.count = s.line_count = 0;
    for (uint32_t i = 0; i < c->top; i++) {
        const aoi_cell *k = c->cells + i;
        if (aoi_cell_exists(k)) join_cell(&s, k, is_outermost(k) ? (range){0, INT16_MAX} : r, meets);
    }
    tell(&s);
    return s.steps;
}

static uint64_t join_plain(const aoi_cells *c, const aoi_past *past, double near, double far, aoi_meet meet, void *ud) {
    return join_by(c, past, near, far, meet, ud, meeting_plain);
}

aoi_join aoi_plain_join(void) {
    return join_plain;
}

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static uint64_t join_avx2(const aoi_cells *c, const aoi_past *past, double near,
                                                          double far, aoi_meet meet, void *ud) {
    return join_by(c, past, near, far, meet, ud, meeting_avx2);
}

#endif

aoi_join aoi_best_join(void) {
#if AOI_HAS_AVX2
    if (aoi_lanes_avx2_here()) return join_avx2;
#endif
    return join_plain;
}
