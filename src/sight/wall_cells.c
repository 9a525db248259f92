/* wall_cells.c - see wall_cells.h. */
#include "sight/wall_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/simd.h"

enum { MOST_CELLS = 32 }; /* greatest length of a wall, in sides of its level's cells */
enum { LEAST_HEADS = 64 };
/* Exponents: step between levels, of the farthest wall, in cells; the least of a side. */
enum { LEVEL_STEP = 4, FARTHEST = 29, LEAST_EXPONENT = -140 };
/* How near a wall comes to a cell in which it is filed, in sides.  A line that is compared by floats is at most 2^16
 * cells long, and its ends are within 2^30 of 0: rounding moves its path by less than 2^-12, and what the rule's products
 * take for crossed is within 2^-26 of its length (walls.c). */
#define WALL_MARGIN 0x1p-8
#define LONGEST_LINE 0x1p16
#define FIRST_CELL 0x1p30 /* the number of the cell at 0 */
/* Products with differences below underflow, and let walls hide that are nowhere near: the rule is tested for all. */
#define LEAST_DIFFERENCE 0x1p-400

static inline double more_of(double a, double b) {
    return a > b ? a : b;
}

static inline double less_of(double a, double b) {
    return a < b ? a : b;
}

static double length_of(const double *a, const double *b) {
    return more_of(fabs(b[0] - a[0]), fabs(b[1] - a[1]));
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* The hash of a cell is the sum of these, and its upper bits are the bucket (multiplicative hashing: Knuth, TAOCP 3,
 * 6.4). */
static const uint32_t HASH_X = 0x9E3779B1, HASH_Y = 0x85EBCA77, HASH_LEVEL = 0xC2B2AE3D;

static uint32_t *bucket_of(const aoi_wall_cells *k, uint32_t level, uint32_t cx, uint32_t cy) {
    return k->heads + ((cx * HASH_X + cy * HASH_Y + level * HASH_LEVEL) >> k->shift);
}

static inline bool is_of_cell(const aoi_wall_chunk *c, uint32_t level, uint32_t cx, uint32_t cy) {
    return c->cx == cx && c->cy == cy && c->level == level;
}

static void chunk_link(aoi_wall_cells *k, uint32_t chunk) {
    aoi_wall_chunk *c = k->chunks + chunk;
    uint32_t *head = bucket_of(k, c->level, c->cx, c->cy);
    c->next = *head;
    *head = chunk;
}

/* Twice as many buckets as chunks: most cells on a line are empty, and their buckets as well. */
static bool heads_ready(aoi_memory *m, aoi_wall_cells *k, uint32_t chunks) {
    if (chunks <= k->head_count / 2) return true;
    uint32_t count = k->head_count ? 2 * k->head_count : LEAST_HEADS;
    uint32_t *heads = aoi_resize(m, NULL, 0, count * sizeof *heads), *old = k->heads, was = k->head_count;
    if (!heads) return false;
    memset(heads, 0xff, count * sizeof *heads); /* AOI_NONE */
    k->heads = heads;
    k->head_count = count;
    for (k->shift = 32; count > 1; count /= 2) k->shift--;
    for (uint32_t i = 0, c, next; i < was; i++)
        for (c = old[i]; c != AOI_NONE; c = next) {
            next = k->chunks[c].next;
            chunk_link(k, c);
        }
    AOI_FREE(m, old, was);
    return true;
}

/* A chunk of the cell with room for one more wall; NULL: memory refused. */
static aoi_wall_chunk *chunk_with_room(aoi_memory *m, aoi_wall_cells *k, uint32_t level, uint32_t cx, uint32_t cy) {
    if (!heads_ready(m, k, k->chunk_count + 1)) return NULL;
    uint32_t c = *bucket_of(k, level, cx, cy);
    while (c != AOI_NONE && !(is_of_cell(k->chunks + c, level, cx, cy) && k->chunks[c].count < AOI_WALL_LANES))
        c = k->chunks[c].next;
    if (c != AOI_NONE) return k->chunks + c;
    c = k->free_chunk != AOI_NONE ? k->free_chunk : k->chunk_top;
    if (!AOI_GROW(m, k->chunks, k->chunk_cap, c + (size_t)1)) return NULL;
    if (c == k->chunk_top) k->chunk_top++;
    else k->free_chunk = k->chunks[c].next;
    k->chunks[c] = (aoi_wall_chunk){.cx = cx, .cy = cy, .level = (uint16_t)level};
    k->chunk_count++;
    chunk_link(k, c);
    return k->chunks + c;
}

/* ---- a wall's cells ---------------------------------------------------------------------------------------------- */

typedef struct wall_filing { /* a walk over the cells of a wall, to file, remove or search it */
    aoi_memory *memory;
    aoi_wall_cells *k;
    const aoi_wall *w;
    uint32_t slot, level;
} wall_filing;

typedef bool wall_visit(wall_filing *f, uint32_t cx, uint32_t cy); /* false: the walk ends */

/* Visits the cells to which the wall comes within the margin, column by column along its longer side. */
static bool walk_wall(wall_filing *f, wall_visit *visit) {
    const double inverse = f->k->levels[f->level].inverse, *a = f->w->a, *b = f->w->b;
    const int along = fabs(b[1] - a[1]) > fabs(b[0] - a[0]), across = !along;
    const bool back = a[along] > b[along];
    const double x0 = (back ? b : a)[along] * inverse + FIRST_CELL, y0 = (back ? b : a)[across] * inverse + FIRST_CELL;
    const double x1 = (back ? a : b)[along] * inverse + FIRST_CELL, y1 = (back ? a : b)[across] * inverse + FIRST_CELL;
    const double slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
    for (uint32_t c = (uint32_t)(x0 - WALL_MARGIN), end = (uint32_t)(x1 + WALL_MARGIN); c <= end; c++) {
        const double from = more_of(c - WALL_MARGIN, x0), to = less_of(c + 1 + WALL_MARGIN, x1);
        const double p = y0 + (from - x0) * slope, q = y0 + (to - x0) * slope;
        const uint32_t last = (uint32_t)(more_of(p, q) + WALL_MARGIN);
        for (uint32_t r = (uint32_t)(less_of(p, q) - WALL_MARGIN); r <= last; r++)
            if (!(along ? visit(f, r, c) : visit(f, c, r))) return false;
    }
    return true;
}

static bool file_cell(wall_filing *f, uint32_t cx, uint32_t cy) {
    aoi_wall_level *level = f->k->levels + f->level;
    aoi_wall_chunk *c = chunk_with_room(f->memory, f->k, f->level, cx, cy);
    if (!c) return false;
    c->wall[c->count] = f->slot;
    for (int a = 0; a < 2; a++) {
        const double corner = (a ? cy : cx) - FIRST_CELL;
        c->ends[a][c->count] = (float)(f->w->a[a] * level->inverse - corner);
        c->ends[2 + a][c->count] = (float)(f->w->b[a] * level->inverse - corner);
        level->low[a] = less_of(level->low[a], corner);
        level->high[a] = more_of(level->high[a], corner + 1);
    }
    c->count++;
    f->k->filed++;
    return true;
}

/* The link to the chunk of the cell with the wall, and the lane; NULL: the wall is not filed in it. */
static uint32_t *lane_of(const wall_filing *f, uint32_t cx, uint32_t cy, uint32_t *lane) {
    uint32_t *link = f->k->head_count ? bucket_of(f->k, f->level, cx, cy) : NULL;
    for (; link && *link != AOI_NONE; link = &f->k->chunks[*link].next) {
        const aoi_wall_chunk *c = f->k->chunks + *link;
        for (*lane = 0; is_of_cell(c, f->level, cx, cy) && *lane < c->count; ++*lane)
            if (c->wall[*lane] == f->slot) return link;
    }
    return NULL;
}

static bool unfile_cell(wall_filing *f, uint32_t cx, uint32_t cy) {
    aoi_wall_cells *k = f->k;
    uint32_t lane, *link = lane_of(f, cx, cy, &lane);
    if (!link) return false; /* refused memory has ended its filing here */
    const uint32_t gone = *link;
    aoi_wall_chunk *c = k->chunks + gone;
    k->filed--;
    c->count--;
    c->wall[lane] = c->wall[c->count];
    for (int a = 0; a < 4; a++) c->ends[a][lane] = c->ends[a][c->count];
    if (c->count) return true;
    *link = c->next;
    c->next = k->free_chunk;
    k->free_chunk = gone;
    k->chunk_count--;
    return true;
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* The exponent of the side of the cells in which a wall is filed. */
static int exponent_for(int base, const aoi_wall *w) {
    double far = more_of(more_of(fabs(w->a[0]), fabs(w->b[0])), more_of(fabs(w->a[1]), fabs(w->b[1])));
    double least = more_of(length_of(w->a, w->b) / MOST_CELLS, ldexp(far, -FARTHEST));
    int e = base;
    while (least > ldexp(1, e)) e += LEVEL_STEP;
    return e;
}

/* The index of the level with that exponent; level_count: there is none. */
static uint32_t level_of(const aoi_wall_cells *k, const aoi_wall *w) {
    const int exponent = exponent_for(k->base, w);
    uint32_t i = 0;
    while (i < k->level_count && k->levels[i].exponent != exponent) i++;
    return i;
}

void aoi_wall_cells_open(aoi_wall_cells *k, int base) {
    *k = (aoi_wall_cells){.base = base < LEAST_EXPONENT ? LEAST_EXPONENT : base, .free_chunk = AOI_NONE};
}

void aoi_wall_cells_free(aoi_memory *m, aoi_wall_cells *k) {
    AOI_FREE(m, k->heads, k->head_count);
    AOI_FREE(m, k->chunks, k->chunk_cap);
}

bool aoi_products_underflow(const double *a, const double *b) {
    bool under = false;
    for (int i = 0; i < 2; i++) under |= a[i] != b[i] && fabs(b[i] - a[i]) < LEAST_DIFFERENCE;
    return under;
}

uint32_t aoi_wall_cells_used(const aoi_wall_cells *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->head_count; i++) n += k->heads[i] != AOI_NONE;
    return n;
}

bool aoi_wall_cells_add(aoi_memory *m, aoi_wall_cells *k, const aoi_wall *w, uint32_t slot) {
    wall_filing f = {.memory = m, .k = k, .w = w, .slot = slot, .level = level_of(k, w)};
    aoi_wall_level *in = k->levels + f.level;
    if (f.level == k->level_count) { /* there are fewer exponents than levels */
        const int exponent = exponent_for(k->base, w);
        *in = (aoi_wall_level){.exponent = exponent, .inverse = ldexp(1, -exponent)};
        for (int a = 0; a < 2; a++) in->low[a] = INFINITY, in->high[a] = -INFINITY;
        k->level_count++;
    }
    if (!walk_wall(&f, file_cell)) {
        (void)walk_wall(&f, unfile_cell);
        return false;
    }
    in->longest = more_of(in->longest, length_of(w->a, w->b) * in->inverse);
    in->count++;
    k->underflowing += aoi_products_underflow(w->a, w->b);
    return true;
}

void aoi_wall_cells_remove(aoi_wall_cells *k, const aoi_wall *w, uint32_t slot) {
    wall_filing f = {.k = k, .w = w, .slot = slot, .level = level_of(k, w)};
    (void)walk_wall(&f, unfile_cell);
    k->levels[f.level].count--;
    k->underflowing -= aoi_products_underflow(w->a, w->b);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct line_walk {
    const aoi_wall_cells *k;
    const double *w, *t;
    uint32_t most;
    aoi_wall_meet *meet;
    void *ud;
} line_walk;

/* Moves both ends, in cells, to where the line enters and leaves the span, along the axis on which it is longer. */
static void extend_line(const aoi_wall_level *level, double *w, double *t) {
    const int along = fabs(t[1] - w[1]) > fabs(t[0] - w[0]), across = !along;
    const double slope = (t[across] - w[across]) / (t[along] - w[along]);
    double *first = w[along] < t[along] ? w : t, *last = first == w ? t : w;
    const double down = more_of(first[along] - level->low[along], 0), up = more_of(level->high[along] - last[along], 0);
    first[along] -= down, first[across] -= down * slope;
    last[along] += up, last[across] += up * slope;
}

/* In cells, no end of a wall in a cell on the line is farther than `far` from the line's ends.  Differences of floats
 * have an error of at most 6 * 2^-24 * far, cross products of them 30 * 2^-24 * far^2, sums of three less than 2^-17. */
AOI_INLINE int walk_level(const line_walk *l, uint32_t number, bool whole) {
    const aoi_wall_cells *k = l->k;
    const aoi_wall_level *level = k->levels + number;
    double w[2] = {l->w[0] * level->inverse, l->w[1] * level->inverse};
    double t[2] = {l->t[0] * level->inverse, l->t[1] * level->inverse};
    if (whole) extend_line(level, w, t);
    const double x = w[0] + FIRST_CELL, y = w[1] + FIRST_CELL, u = t[0] + FIRST_CELL, v = t[1] + FIRST_CELL;
    const double dx = u - x, dy = v - y, ay = fabs(dy); /* dx >= 0: the ends are in order */
    const double longer = more_of(dx, ay), far = longer + level->longest + 2;
    if (!(longer < LONGEST_LINE && x > 0 && y > LONGEST_LINE && u < 2 * FIRST_CELL && y < 2 * FIRST_CELL)) return -1;
    const float fx = (float)dx, fy = (float)dy, within = whole ? INFINITY : (float)(far * far * 0x1p-17);
    uint32_t cx = (uint32_t)x, cy = (uint32_t)y;
    const uint32_t ex = (uint32_t)u, ey = (uint32_t)v;
    const bool up = dy >= 0;
    const uint32_t stepy = up ? 1 : UINT32_MAX, hash_y = up ? HASH_Y : -HASH_Y;
    uint32_t left = ex - cx + (up ? ey - cy : cy - ey);
    uint32_t hash = cx * HASH_X + cy * HASH_Y + number * HASH_LEVEL;
    /* The way to the next column and row, times dx * dy, so that no division is needed. */
    double nextx = (cx + 1 - x) * ay, nexty = (up ? cy + 1 - y : y - cy) * dx;
    if (left > l->most) return -1;
    for (;; left--) {
        for (uint32_t i = k->heads[hash >> k->shift]; i != AOI_NONE; i = k->chunks[i].next) {
            const aoi_wall_chunk *c = k->chunks + i;
            if (!is_of_cell(c, number, cx, cy)) continue;
            const unsigned lanes = (1u << c->count) - 1;
            unsigned bits = lanes & aoi_lanes_cross(c->ends, (float)(x - cx), (float)(y - cy), fx, fy, within);
            for (; bits; bits &= bits - 1)
                if (l->meet(l->ud, c->wall[aoi_lanes_first(bits)])) return 1;
        }
        if (!left) return 0;
        if (nextx < nexty) cx++, hash += HASH_X, nextx += ay;
        else cy += stepy, hash += hash_y, nexty += dx;
    }
}

static int walk_whole(const line_walk *l, uint32_t number) {
    return walk_level(l, number, true);
}

int aoi_wall_cells_walk(const aoi_wall_cells *k, const double *w, const double *t, bool whole, uint32_t most,
                        aoi_wall_meet *meet, void *ud) {
    const line_walk l = {k, w, t, most, meet, ud};
    int ended = 0;
    if (length_of(w, t) == 0) return 0; /* one without length is hidden by no wall */
    if (k->underflowing || aoi_products_underflow(w, t)) return -1;
    for (uint32_t i = 0; i < k->level_count && !ended; i++)
        if (k->levels[i].count) ended = whole ? walk_whole(&l, i) : walk_level(&l, i, false);
    return ended;
}
