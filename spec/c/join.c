/* The join of a field of cells: all couples at about some distance, none of them twice, by every version for this machine. */
#include "aoi_join.h"

#include <math.h>
#include <stdlib.h>

#include "expect.h"

enum { MOST = 300 };

typedef struct crowd {
    uint32_t n;
    double at[MOST][2], size;
    unsigned char met[MOST][MOST];
} crowd;

static void on_couples(void *ud, aoi_couple *couples, size_t count, double size) {
    crowd *w = ud;
    for (size_t i = 0; i < count; i++) {
        uint32_t a = couples[i].a < couples[i].b ? couples[i].a : couples[i].b, b = couples[i].a + couples[i].b - a;
        EXPECT(a < b && b < w->n);
        w->met[a][b]++;
        for (int axis = 0; axis < 2; axis++) EXPECT(fabs(w->at[a][axis]) <= size && fabs(w->at[b][axis]) <= size);
    }
}

/* Couples that meet, of which each must, and how many need not. */
static void look(const aoi_cells *c, crowd *w, aoi_join join, double near, double far, bool sharp) {
    aoi_joiner j = {on_couples, w, (uintptr_t)w};
    long idle = 0, due = 0;
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = 0; b < w->n; b++) w->met[a][b] = 0;
    uint64_t steps = join(c, near, far, &j);
    EXPECT(steps > 0);
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++) {
            double d = fmax(fabs(w->at[a][0] - w->at[b][0]), fabs(w->at[a][1] - w->at[b][1]));
            bool is = near <= d && d <= far;
            EXPECT(w->met[a][b] <= 1 && w->met[a][b] >= is);
            due += is;
            idle += w->met[a][b] && !is;
        }
    if (sharp) EXPECT(idle <= 10 + due / 4);
}

static void field(aoi_memory *m, int run) {
    static const double offsets[] = {0, -1e6, 0x1p40, -0x1p36 - 3, 1e300};
    static crowd w;
    aoi_cells c;
    double side = ldexp(1 + (double)random_below(3) / 4, (int)random_below(9) - 2);
    double spread = side * (1 + (double)random_below(8)), offset = offsets[run % 5];
    w = (crowd){.n = 2 + (uint32_t)random_below(MOST - 1)};
    aoi_cells_open(&c, side);
    for (uint32_t i = 0; i < w.n; i++) {
        for (int a = 0; a < 2; a++) w.at[i][a] = offset + spread * (double)random_below(100000) / 100000;
        uint32_t cell = aoi_cells_ready(m, &c, AOI_NONE, w.at[i]);
        EXPECT(cell != AOI_NONE);
        aoi_cells_put(&c, cell, w.at[i], i);
    }
    for (int i = 0; i < 4; i++) {
        double far = side * (double)random_below(1000) / 1001, near = far * (double)random_below(11) / 10 - side / 50;
        bool sharp = offset < 1e30 && fabs(offset) < side * 0x1p29;
        expect_at("run %d: %u items, side %g, from %g to %g", run, w.n, side, near, far);
        look(&c, &w, aoi_plain_join(), near, far, sharp);
        look(&c, &w, aoi_best_join(), near, far, sharp);
    }
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
    random_start("join");
    for (int run = 0; run < 60; run++) field(&m, run);
    EXPECT(m.used == 0);
    return expect_report("join");
}
