/* wall_cells.c - see wall_cells.h. */
#include "sight/wall_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/simd.h"

enum { MOST_CELLS = 32 }; /* greatest length of a wall, in sides of its layer's cells */
enum { LEAST_HEADS = 64 };
/* Exponents: step between layers; number of these steps, step beyond; of the farthest wall, in cells; the greatest. */
enum { LAYER_STEP = 4, NEAR_STEPS = 16, FAR_STEP = 64, FARTHEST = 29, MOST_EXPONENT = 1020 };
/* Beyond this products of coordinates overflow or underflow: then the rule is tested for all walls. */
enum { PROVED_EXPONENT = 400 };

/* ---- lines through cells ----------------------------------------------------------------------------------------- */

typedef bool wall_visit(void *ud, int32_t cx, int32_t cy); /* true: the walk ends */

static inline double more_of(double a, double b) {
    return a > b ? a : b;
}

static inline double less_of(double a, double b) {
    return a < b ? a : b;
}

static inline int32_t cell_floor(double v, int32_t lo, int32_t hi) {
    if (!(v > lo)) return lo;
    if (v >= hi) return hi;
    int32_t i = (int32_t)v;
    return i - (v < i);
}

/* Visits the cells of a span that the line from p to q passes within a tolerance, along the axis on which it is longer.
 * -1: they are more than `most`, or too small to be distinguished; else whether a visit has ended the walk. */
AOI_INLINE int walk_cells(double inverse, const aoi_span *span, const double *p, const double *q, bool whole,
                          uint32_t most, wall_visit *visit, void *ud) {
    double x0 = p[0] * inverse, y0 = p[1] * inverse, x1 = q[0] * inverse, y1 = q[1] * inverse;
    bool steep = fabs(y1 - y0) > fabs(x1 - x0);
    aoi_span s = *span;
    if (steep) {
        double x = x0, u = x1;
        x0 = y0, y0 = x, x1 = y1, y1 = u;
        s = (aoi_span){span->y0, span->x0, span->y1, span->x1};
    }
    if (x0 > x1) {
        double x = x0, y = y0;
        x0 = x1, y0 = y1, x1 = x, y1 = y;
    }
    double slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
    if (whole) {
        double from = less_of(x0, s.x0), to = more_of(x1, s.x1 + 1.0);
        y1 += (to - x1) * slope, x1 = to;
        y0 += (from - x0) * slope, x0 = from;
    }
    double farthest = more_of(more_of(fabs(x0), fabs(x1)), more_of(fabs(y0), fabs(y1)));
    if (!(farthest < 0x1p44)) return -1;
    double within = 0x1p-20 + farthest * 0x1p-46 + (x1 - x0) * 0x1p-26;
    int32_t c = cell_floor(x0 - within, s.x0, s.x1), end = cell_floor(x1 + within, s.x0, s.x1);
    if ((double)end - c > most) return -1;
    if (x1 + within < s.x0 || x0 - within >= s.x1 + 1.0) return 0;
    for (; c <= end; c++) {
        double from = more_of(c - within, x0), to = less_of(c + 1 + within, x1);
        double a = y0 + (from - x0) * slope, b = y0 + (to - x0) * slope;
        double low = (slope < 0 ? b : a) - within, high = (slope < 0 ? a : b) + within;
        if (high < s.y0 || low >= s.y1 + 1.0) continue;
        int32_t r = cell_floor(low, s.y0, s.y1), last = cell_floor(high, s.y0, s.y1);
        for (; r <= last; r++)
            if (steep ? visit(ud, r, c) : visit(ud, c, r)) return 1;
    }
    return 0;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static uint32_t *bucket_of(const aoi_wall_cells *k, uint32_t layer, int32_t cx, int32_t cy) {
    return k->heads + ((aoi_cell_hash(cx, cy) + layer * 0x9E3779B9u) & (k->head_count - 1));
}

static inline bool is_of_cell(const aoi_wall_chunk *c, uint32_t layer, int32_t cx, int32_t cy) {
    return c->cx == cx && c->cy == cy && c->layer == layer;
}

static void chunk_link(aoi_wall_cells *k, uint32_t chunk) {
    aoi_wall_chunk *c = k->chunks + chunk;
    uint32_t *head = bucket_of(k, c->layer, c->cx, c->cy);
    c->next = *head;
    *head = chunk;
}

/* Twice as many buckets as chunks: most cells on a line are empty, and their buckets as well. */
static bool heads_ready(aoi_memory *m, aoi_wall_cells *k, uint32_t chunks) {
    if (chunks <= k->head_count / 2) return true;
    uint32_t count = k->head_count ? k->head_count : LEAST_HEADS;
    while (count / 2 < chunks) count *= 2;
    uint32_t *heads = aoi_resize(m, NULL, 0, count * sizeof *heads), *old = k->heads, was = k->head_count;
    if (!heads) return false;
    memset(heads, 0xff, count * sizeof *heads); /* AOI_NONE */
    k->heads = heads;
    k->head_count = count;
    for (uint32_t i = 0, c, next; i < was; i++)
        for (c = old[i]; c != AOI_NONE; c = next) {
            next = k->chunks[c].next;
            chunk_link(k, c);
        }
    AOI_FREE(m, old, was);
    return true;
}

/* A chunk of the cell with room for one more wall; memory has been reserved. */
static aoi_wall_chunk *chunk_with_room(aoi_wall_cells *k, uint32_t layer, int32_t cx, int32_t cy) {
    uint32_t c = *bucket_of(k, layer, cx, cy);
    while (c != AOI_NONE && !(is_of_cell(k->chunks + c, layer, cx, cy) && k->chunks[c].count < AOI_WALL_LANES))
        c = k->chunks[c].next;
    if (c != AOI_NONE) return k->chunks + c;
    c = k->free_chunk;
    if (c != AOI_NONE) k->free_chunk = k->chunks[c].next;
    else c = k->chunk_top++;
    k->chunks[c] = (aoi_wall_chunk){.cx = cx, .cy = cy, .layer = (uint16_t)layer};
    k->chunk_count++;
    chunk_link(k, c);
    return k->chunks + c;
}

/* State of a walk over the cells of a wall, to count, file, remove or search. */
typedef struct wall_filing {
    aoi_wall_cells *k;
    const aoi_wall *w;
    uint32_t slot, layer, cells, found;
} wall_filing;

static bool count_cell(void *ud, int32_t cx, int32_t cy) {
    (void)cx, (void)cy;
    ((wall_filing *)ud)->cells++;
    return false;
}

static bool file_cell(void *ud, int32_t cx, int32_t cy) {
    wall_filing *f = ud;
    aoi_wall_layer *layer = f->k->layers + f->layer;
    aoi_wall_chunk *c = chunk_with_room(f->k, f->layer, cx, cy);
    c->wall[c->count] = f->slot;
    for (int a = 0; a < 2; a++) {
        double corner = a ? cy : cx;
        c->ends[a][c->count] = (float)(f->w->a[a] * layer->inverse - corner);
        c->ends[2 + a][c->count] = (float)(f->w->b[a] * layer->inverse - corner);
    }
    c->count++;
    f->k->filed++;
    aoi_span *s = &layer->span;
    if (cx < s->x0) s->x0 = cx;
    if (cx > s->x1) s->x1 = cx;
    if (cy < s->y0) s->y0 = cy;
    if (cy > s->y1) s->y1 = cy;
    return false;
}

/* The link to the chunk of the cell with the wall, and the lane; NULL: the wall is not filed in it. */
static uint32_t *lane_of(const wall_filing *f, int32_t cx, int32_t cy, uint32_t *lane) {
    uint32_t *link = bucket_of(f->k, f->layer, cx, cy);
    for (; *link != AOI_NONE; link = &f->k->chunks[*link].next) {
        const aoi_wall_chunk *c = f->k->chunks + *link;
        for (*lane = 0; is_of_cell(c, f->layer, cx, cy) && *lane < c->count; ++*lane)
            if (c->wall[*lane] == f->slot) return link;
    }
    return NULL;
}

static bool unfile_cell(void *ud, int32_t cx, int32_t cy) {
    wall_filing *f = ud;
    uint32_t lane, *link = lane_of(f, cx, cy, &lane), gone = *link;
    aoi_wall_chunk *c = f->k->chunks + gone;
    f->k->filed--;
    c->count--;
    c->wall[lane] = c->wall[c->count];
    for (int a = 0; a < 4; a++) c->ends[a][lane] = c->ends[a][c->count];
    if (c->count) return false;
    *link = c->next;
    c->next = f->k->free_chunk;
    f->k->free_chunk = gone;
    f->k->chunk_count--;
    return false;
}

static bool search_cell(void *ud, int32_t cx, int32_t cy) {
    wall_filing *f = ud;
    uint32_t lane;
    f->cells++;
    f->found += lane_of(f, cx, cy, &lane) != NULL;
    return false;
}

static const aoi_span no_cells = {INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
static const aoi_span all_cells = {-AOI_CELL_MOST, -AOI_CELL_MOST, AOI_CELL_MOST, AOI_CELL_MOST};

static void walk_wall(wall_filing *f, wall_visit *visit) {
    (void)walk_cells(f->k->layers[f->layer].inverse, &all_cells, f->w->a, f->w->b, false, UINT32_MAX, visit, f);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* The exponent of the side of the cells in which a wall is filed. */
static int exponent_for(int base, const aoi_wall *w) {
    double length = fmax(fabs(w->b[0] - w->a[0]), fabs(w->b[1] - w->a[1]));
    double far = fmax(fmax(fabs(w->a[0]), fabs(w->b[0])), fmax(fabs(w->a[1]), fabs(w->b[1])));
    double least = fmax(length / MOST_CELLS, ldexp(far, -FARTHEST));
    int e = base;
    while (least > ldexp(1, e) && e < MOST_EXPONENT) e += e - base < NEAR_STEPS * LAYER_STEP ? LAYER_STEP : FAR_STEP;
    return e < MOST_EXPONENT ? e : MOST_EXPONENT;
}

/* The index of the layer with that exponent, made if it must be: there are fewer exponents than layers. */
static uint32_t layer_for(aoi_wall_cells *k, int exponent) {
    for (uint32_t i = 0; i < k->layer_count; i++)
        if (k->layers[i].exponent == exponent) return i;
    uint32_t i = 0;
    while (i < k->layer_count && k->layers[i].count) i++;
    if (i == k->layer_count) k->layer_count++;
    k->layers[i] = (aoi_wall_layer){exponent, 0, ldexp(1, exponent), ldexp(1, -exponent), 0, no_cells};
    return i;
}

void aoi_wall_cells_open(aoi_wall_cells *k, int base) {
    *k = (aoi_wall_cells){.base = base < -MOST_EXPONENT || base > MOST_EXPONENT ? 0 : base, .free_chunk = AOI_NONE};
}

void aoi_wall_cells_free(aoi_memory *m, aoi_wall_cells *k) {
    AOI_FREE(m, k->heads, k->head_count);
    AOI_FREE(m, k->chunks, k->chunk_cap);
}

bool aoi_wall_cells_add(aoi_memory *m, aoi_wall_cells *k, const aoi_wall *w, uint32_t slot) {
    wall_filing f = {k, w, slot, layer_for(k, exponent_for(k->base, w)), 0, 0};
    aoi_wall_layer *in = k->layers + f.layer;
    walk_wall(&f, count_cell);
    if (!heads_ready(m, k, k->chunk_count + f.cells) ||
        !AOI_GROW(m, k->chunks, k->chunk_cap, k->chunk_count + (size_t)f.cells))
        return false;
    double length = fmax(fabs(w->b[0] - w->a[0]), fabs(w->b[1] - w->a[1])) * in->inverse;
    if (length > in->longest) in->longest = length;
    in->count++;
    walk_wall(&f, file_cell);
    return true;
}

void aoi_wall_cells_remove(aoi_wall_cells *k, const aoi_wall *w, uint32_t slot) {
    wall_filing f = {k, w, slot, layer_for(k, exponent_for(k->base, w)), 0, 0};
    walk_wall(&f, unfile_cell);
    k->layers[f.layer].count--;
}

uint32_t aoi_wall_cells_used(const aoi_wall_cells *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->head_count; i++) n += k->heads[i] != AOI_NONE;
    return n;
}

uint32_t aoi_wall_cells_check(const aoi_wall_cells *k, const aoi_wall *w, uint32_t slot) {
    wall_filing f = {(aoi_wall_cells *)k, w, slot, 0, 0, 0};
    f.layer = layer_for(f.k, exponent_for(k->base, w));
    walk_wall(&f, search_cell);
    return f.found == f.cells ? f.found : 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct line_walk {
    const aoi_wall_cells *k;
    uint32_t layer;
    double w[2], t[2]; /* in cells */
    float within;      /* error bound of a cross product, in cells */
    aoi_wall_meet *meet;
    void *ud;
} line_walk;

AOI_INLINE bool meet_cell(void *ud, int32_t cx, int32_t cy) {
    const line_walk *l = ud;
    for (uint32_t i = *bucket_of(l->k, l->layer, cx, cy); i != AOI_NONE; i = l->k->chunks[i].next) {
        const aoi_wall_chunk *c = l->k->chunks + i;
        if (!is_of_cell(c, l->layer, cx, cy)) continue;
        const float line[4] = {(float)(l->w[0] - cx), (float)(l->w[1] - cy), (float)(l->t[0] - cx),
                               (float)(l->t[1] - cy)};
        unsigned bits = aoi_lanes_cross(c->ends, line, l->within) & ((1u << c->count) - 1);
        for (; bits; bits &= bits - 1)
            if (l->meet(l->ud, c->wall[aoi_lanes_first(bits)])) return true;
    }
    return false;
}

/* In cells, no end of a wall in a cell on the line is farther than `far` from the line's ends.  Differences of floats
 * have an error of at most 3 * 2^-24 * far, cross products of them 15 * 2^-24 * far^2, sums of three less than 64. */
int aoi_wall_cells_walk(const aoi_wall_cells *k, const double *w, const double *t, bool whole, uint32_t most,
                        aoi_wall_meet *meet, void *ud) {
    line_walk l = {.k = k, .meet = meet, .ud = ud};
    for (l.layer = 0; l.layer < k->layer_count; l.layer++) {
        const aoi_wall_layer *layer = k->layers + l.layer;
        if (!layer->count) continue;
        if (abs(layer->exponent) >= PROVED_EXPONENT) return -1; /* such products let distant walls hide, too */
        for (int a = 0; a < 2; a++) l.w[a] = w[a] * layer->inverse, l.t[a] = t[a] * layer->inverse;
        double far = more_of(fabs(l.t[0] - l.w[0]), fabs(l.t[1] - l.w[1])) + layer->longest + 2;
        bool proved = !whole && far < 0x1p40;
        l.within = proved ? (float)(far * far * 0x1p-17) : INFINITY;
        int ended = walk_cells(layer->inverse, &layer->span, w, t, whole, most, meet_cell, &l);
        if (ended) return ended;
    }
    return 0;
}
