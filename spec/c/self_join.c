/* The self join of a grid of cells whose items have moved: it reports every pair that may have changed, once, in every
 * variant (SSE2, AVX2, plain) that this machine runs. */
#include "engines/grid/self_join.h"

#include <math.h>
#include <stdlib.h>

#include "expect.h"

enum { MOST = 300 };

typedef struct crowd {
    uint32_t n;
    double at[MOST][2], was_at[MOST][2];
    unsigned char met[MOST][MOST];
} crowd;

static void recall(const void *ud, const uint32_t *refs, size_t count, double (*was_at)[2]) {
    const crowd *w = ud;
    for (size_t i = 0; i < count; i++)
        for (int a = 0; a < 2; a++) was_at[i][a] = w->was_at[refs[i]][a];
}

static void meet(void *ud, const aoi_couple *couples, size_t count) {
    crowd *w = ud;
    for (size_t i = 0; i < count; i++) {
        uint32_t a = couples[i].a < couples[i].b ? couples[i].a : couples[i].b, b = couples[i].a + couples[i].b - a;
        EXPECT(a < b && b < w->n);
        w->met[a][b]++;
    }
}

static double distance(double (*p)[2], uint32_t a, uint32_t b) {
    return fmax(fabs(p[a][0] - p[b][0]), fabs(p[a][1] - p[b][1]));
}

/* sharp: coordinates are such that marks can tell; then few meet in vain. */
static void look(const aoi_cells *c, const aoi_past *past, crowd *w, aoi_join join, double near, double far,
                 bool sharp) {
    long idle = 0, due = 0;
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = 0; b < w->n; b++) w->met[a][b] = 0;
    EXPECT(join(c, past, near, far, meet, w) > 0);
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++) {
            double was = distance(w->was_at, a, b), is = distance(w->at, a, b);
            bool matters = !((was < near && is < near) || (was > far && is > far));
            EXPECT(w->met[a][b] <= 1 && w->met[a][b] >= matters);
            due += matters;
            idle += w->met[a][b] && !matters;
        }
    if (sharp) EXPECT(idle <= 10 + due / 4);
}

static void field(aoi_memory *m, int run) {
    static const double offsets[] = {0, -1e6, 0x1p40, -0x1p36 - 3, 1e300};
    static crowd w;
    aoi_cells c;
    aoi_past *past = NULL;
    uint32_t cap = 0;
    double side = ldexp(1 + (double)random_below(3) / 4, (int)random_below(9) - 2);
    double spread = side * (1 + (double)random_below(8)), offset = offsets[run % 5], step = side * 0.4;
    w = (crowd){.n = 2 + (uint32_t)random_below(MOST - 1)};
    aoi_cells_open(&c, side);
    for (uint32_t i = 0; i < w.n; i++) {
        for (int a = 0; a < 2; a++) {
            w.at[i][a] = offset + spread * (double)random_below(100000) / 100000;
            w.was_at[i][a] = w.at[i][a] + step * ((double)random_below(2001) / 1000 - 1);
        }
        uint32_t cell = aoi_cells_ready(m, &c, AOI_NONE, w.at[i]);
        EXPECT(cell != AOI_NONE);
        aoi_cells_put(&c, cell, w.at[i], i);
    }
    EXPECT(AOI_GROW_LINES(m, past, cap, c.line_top));
    aoi_join_recall(&c, past, recall, &w);
    for (int i = 0; i < 4; i++) {
        double far = 0.19 * side * (double)random_below(1001) / 1000, near = far * (double)random_below(11) / 10;
        bool sharp = fabs(offset) < side * 0x1p29;
        expect_at("run %d: %u items, side %g, from %g to %g", run, w.n, side, near, far);
        look(&c, past, &w, aoi_plain_join(), near, far, sharp);
        look(&c, past, &w, aoi_best_join(), near, far, sharp);
    }
    AOI_FREE_LINES(m, past, cap);
    aoi_cells_close(m, &c);
}

static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize) {
    (void)ud, (void)osize;
    if (nsize) return realloc(ptr, nsize);
    free(ptr);
    return NULL;
}

int main(void) {
    aoi_memory m = {.alloc = allocate};
    random_start("self_join");
    for (int run = 0; run < 60; run++) field(&m, run);
    EXPECT(m.used == 0);
    return expect_report("self_join");
}
