/* aoi_join.c - see aoi_join.h. */
#include "aoi_join.h"

#include "aoi_lanes.h"

enum { COUPLES = 256, LINES = 64 }; /* gathered before they are judged; compared with an item after the other */

typedef struct range { /* marks (aoi_cell_mark): a couple meets if its distance is above the one, but not the other */
    int16_t near, far;
} range;

typedef struct join {
    const aoi_cells *c;
    const aoi_joiner *j;
    uint64_t steps;
    double size; /* of the coordinates so far */
    size_t count, line_count;
    uint32_t lines[LINES];
    uint64_t used[LINES]; /* their lanes */
    aoi_couple couples[COUPLES];
} join;

static void tell(join *s) {
    if (s->count) s->j->meet(s->j->ud, s->couples, s->count, s->size);
    s->count = 0;
}

/* ---- an item and a line --------------------------------------------------------------------------------------------- */

/* A bit for each lane of the line that meets x, y; marks modulo 2^16. */
typedef uint64_t (*meeting)(const aoi_line *l, uint16_t x, uint16_t y, range r);

#ifdef __SSE2__

static inline __m128i away(__m128i v, __m128i from) {
    __m128i d = _mm_sub_epi16(v, from);
    return _mm_max_epi16(d, _mm_sub_epi16(_mm_setzero_si128(), d));
}

static inline __m128i half(const uint16_t *xs, const uint16_t *ys, __m128i x, __m128i y, range r) {
    __m128i d = _mm_max_epi16(away(_mm_loadu_si128((const __m128i *)(const void *)xs), x),
                              away(_mm_loadu_si128((const __m128i *)(const void *)ys), y));
    return _mm_andnot_si128(_mm_cmpgt_epi16(d, _mm_set1_epi16(r.far)), _mm_cmpgt_epi16(d, _mm_set1_epi16(r.near)));
}

static inline uint64_t meeting_plain(const aoi_line *l, uint16_t x, uint16_t y, range r) {
    __m128i all_x = _mm_set1_epi16((int16_t)x), all_y = _mm_set1_epi16((int16_t)y);
    __m128i low = half(l->x, l->y, all_x, all_y, r), high = half(l->x + 8, l->y + 8, all_x, all_y, r);
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}

#else

static inline uint16_t away(uint16_t v, uint16_t from) {
    uint16_t d = (uint16_t)(v - from);
    return d < 0x8000 ? d : (uint16_t)-d;
}

static inline uint64_t meeting_plain(const aoi_line *l, uint16_t x, uint16_t y, range r) {
    uint64_t bits = 0;
    for (int i = 0; i < AOI_ITEMS; i++) {
        uint16_t dx = away(l->x[i], x), dy = away(l->y[i], y), d = dx > dy ? dx : dy;
        bits |= (uint64_t)(d > r.near && d <= r.far) << i;
    }
    return bits;
}

#endif

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static inline uint64_t meeting_avx2(const aoi_line *l, uint16_t x, uint16_t y,
                                                                    range r) {
    __m256i dx = _mm256_abs_epi16(
        _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(const void *)l->x), _mm256_set1_epi16((int16_t)x)));
    __m256i dy = _mm256_abs_epi16(
        _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(const void *)l->y), _mm256_set1_epi16((int16_t)y)));
    __m256i d = _mm256_max_epi16(dx, dy);
    __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi16(d, _mm256_set1_epi16(r.far)),
                                     _mm256_cmpgt_epi16(d, _mm256_set1_epi16(r.near)));
    return (uint64_t)(unsigned)_mm_movemask_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(in), _mm256_extracti128_si256(in, 1)));
}
#endif

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

enum { GROUP = 4 }; /* lines whose bits go into one word */

static uint64_t lanes_of(const aoi_line *l) {
    return (UINT64_C(1) << l->count) - 1;
}

/* Which items of a group of lines, one to four of them, meet x, y: 16 bits for each line. */
AOI_INLINE uint64_t meet_group(const join *s, size_t first, size_t end, uint16_t x, uint16_t y, range r,
                               meeting meets) {
    const aoi_line *lines = s->c->lines;
    uint64_t bits = 0;
    for (size_t k = 0; k < GROUP && first + k < end; k++)
        bits |= (meets(lines + s->lines[first + k], x, y, r) & s->used[first + k]) << 16 * k;
    return bits;
}

/* Each item of the line with those behind it, if the line itself is gathered first, and with all of the other lines. */
AOI_INLINE void join_line(join *s, const aoi_line *l, range r, meeting meets) {
    const aoi_line *lines = s->c->lines;
    size_t end = s->line_count;
    for (size_t g = 0; g < end; g += GROUP) {
        bool itself = lines + s->lines[g] == l;
        for (uint32_t i = 0; i < l->count; i++) {
            s->used[g] &= ~((uint64_t)itself << i);
            for (uint64_t bits = meet_group(s, g, end, l->x[i], l->y[i], r, meets); bits; bits &= bits - 1) {
                unsigned lane = (unsigned)aoi_lanes_first(bits);
                uint32_t other = lines[s->lines[g + lane / 16]].ref[lane % 16];
                s->couples[s->count++] = (aoi_couple){l->ref[i], other};
                AOI_PREFETCH((const void *)(s->j->records + (size_t)other * AOI_LINE));
            }
            if (s->count > COUPLES - GROUP * AOI_ITEMS) tell(s);
        }
    }
    s->steps += (uint64_t)l->count * end * AOI_ITEMS;
    s->line_count = 0;
}

static inline void gather(join *s, uint32_t line) {
    s->used[s->line_count] = lanes_of(s->c->lines + line);
    s->lines[s->line_count++] = line;
}

AOI_INLINE void join_cell(join *s, const aoi_cell *k, range r, meeting meets) {
    for (uint32_t own = k->first[AOI_MIDDLE]; own != AOI_NONE; own = s->c->lines[own].next) {
        const aoi_line *l = s->c->lines + own;
        for (int d = AOI_MIDDLE; d < 9; d++)
            for (uint32_t i = d == AOI_MIDDLE ? own : k->first[d]; i != AOI_NONE; i = s->c->lines[i].next) {
                gather(s, i);
                if (s->line_count == LINES) join_line(s, l, r, meets);
            }
        if (s->line_count) join_line(s, l, r, meets);
    }
}

/* ---- the field ------------------------------------------------------------------------------------------------------ */

/* Beyond the outermost cells marks tell nothing. */
static inline bool is_outermost(const aoi_cell *k) {
    return k->cx <= 1 - AOI_CELL_MOST || k->cx >= AOI_CELL_MOST - 1 || k->cy <= 1 - AOI_CELL_MOST ||
           k->cy >= AOI_CELL_MOST - 1;
}

static double size_of(const aoi_cells *c, const aoi_cell *k) {
    double x = fabs((double)k->cx), y = fabs((double)k->cy);
    return is_outermost(k) ? INFINITY : (fmax(x, y) + 2) * c->side;
}

/* Marks are rounded down, so that a distance in marks is one off at most; two are on the safe side. */
static range range_of(const aoi_cells *c, double near, double far) {
    double least = near * c->scale - 2, most = far * c->scale + 3;
    return (range){(int16_t)(least > 0 ? least - 1 : -1), (int16_t)(most < INT16_MAX ? most : INT16_MAX)};
}

AOI_INLINE uint64_t join_by(const aoi_cells *c, double near, double far, const aoi_joiner *j, meeting meets) {
    range r = range_of(c, near, far);
    join s;
    s.c = c, s.j = j, s.steps = s.count = s.line_count = 0, s.size = 0;
    for (uint32_t i = 0; i < c->top; i++) {
        const aoi_cell *k = c->cells + i;
        if (!aoi_cell_exists(k) || !k->count) continue;
        s.size = fmax(s.size, size_of(c, k));
        join_cell(&s, k, is_outermost(k) ? (range){-1, INT16_MAX} : r, meets);
    }
    tell(&s);
    return s.steps;
}

static uint64_t join_plain(const aoi_cells *c, double near, double far, const aoi_joiner *j) {
    return join_by(c, near, far, j, meeting_plain);
}

aoi_join aoi_plain_join(void) {
    return join_plain;
}

#if AOI_HAS_AVX2
__attribute__((target("avx2"))) static uint64_t join_avx2(const aoi_cells *c, double near, double far,
                                                          const aoi_joiner *j) {
    return join_by(c, near, far, j, meeting_avx2);
}

aoi_join aoi_best_join(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? join_avx2 : join_plain;
}
#else
aoi_join aoi_best_join(void) {
    return join_plain;
}
#endif
