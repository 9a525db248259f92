/* aoi_sweeps.c - see aoi_sweeps.h. */
#include "aoi_sweeps.h"

#include <math.h>

enum { RUNS = 16, ITEMS = 1024 }; /* gathered before they are scanned together */

typedef struct walk {
    const aoi_cells *c;
    aoi_scanner scan;
    const aoi_ring *q;
    aoi_visit visit;
    void *ud;
    uint64_t steps;
    size_t count, items;
    aoi_run runs[RUNS];
} walk;

static void scan_runs(walk *w) {
    uint32_t hits[ITEMS];
    size_t found = w->scan(w->q, w->runs, w->count, hits);
    w->steps += w->items;
    w->count = w->items = 0;
    if (found) w->visit(w->ud, hits, found);
}

static void add_large(walk *w, const aoi_cell *k) {
    for (size_t at = 0, n; at < k->count; at += n) {
        if (w->count == RUNS || w->items == ITEMS) scan_runs(w);
        n = k->count - at < ITEMS - w->items ? k->count - at : ITEMS - w->items;
        w->runs[w->count++] = (aoi_run){aoi_cell_x(k) + at, aoi_cell_y(k) + at, aoi_cell_refs(k) + at, n};
        w->items += n;
    }
}

/* Cells are far apart in memory: several are asked for before the first is read. */
static inline void add_cell(walk *w, const aoi_cell *k) {
    if (!k->count) return; /* it may have no memory at all */
    if (w->count == RUNS || w->items + k->count > ITEMS) {
        add_large(w, k);
        return;
    }
    const double *x = aoi_cell_x(k), *y = aoi_cell_y(k);
    AOI_PREFETCH(x);
    AOI_PREFETCH(y);
    w->runs[w->count++] = (aoi_run){x, y, aoi_cell_refs(k), k->count};
    w->items += k->count;
}

/* A cell and its neighbours, which it knows. */
static void walk_near(walk *w, const aoi_cell *mid, const aoi_span *outer, const aoi_span *inner) {
    for (int32_t y = outer->y0; y <= outer->y1; y++) {
        bool crosses = inner->y0 <= y && y <= inner->y1;
        for (int32_t x = outer->x0; x <= outer->x1; x++) {
            uint32_t i = mid->near[aoi_cell_direction(x - mid->cx, y - mid->cy)];
            if (i != AOI_NONE && !(crosses && inner->x0 <= x && x <= inner->x1)) add_cell(w, w->c->cells + i);
        }
    }
}

static void walk_all(walk *w, const aoi_span *outer, const aoi_span *inner) {
    for (uint32_t i = 0; i < w->c->top; i++) {
        const aoi_cell *k = w->c->cells + i;
        if (aoi_cell_exists(k) && aoi_span_holds(outer, k->cx, k->cy) && !aoi_span_holds(inner, k->cx, k->cy))
            add_cell(w, k);
    }
}

static void walk_span(walk *w, const aoi_span *outer, const aoi_span *inner) {
    for (int32_t y = outer->y0; y <= outer->y1; y++) {
        bool crosses = inner->y0 <= y && y <= inner->y1 && inner->x0 <= inner->x1;
        for (int32_t x = outer->x0; x <= outer->x1; x++) {
            if (crosses && x == inner->x0) x = inner->x1 + 1;
            if (x > outer->x1) break;
            uint32_t i = aoi_cells_find(w->c, x, y);
            if (i != AOI_NONE) add_cell(w, w->c->cells + i);
        }
    }
}

static aoi_span span_of(const aoi_cells *c, const double *center, const double *half) {
    return (aoi_span){aoi_cell_of(c, center[0] - half[0]), aoi_cell_of(c, center[1] - half[1]),
                      aoi_cell_of(c, center[0] + half[0]), aoi_cell_of(c, center[1] + half[1])};
}

uint64_t aoi_walk_ring(const aoi_cells *c, aoi_scanner scan, const aoi_ring *q, uint32_t center, aoi_visit visit,
                       void *ud) {
    walk w;
    w.c = c, w.scan = scan, w.q = q, w.visit = visit, w.ud = ud;
    w.steps = 0, w.count = w.items = 0;
    aoi_span outer = span_of(c, q->center, q->outer), inner = {1, 1, 0, 0};
    if (2 * q->inner[0] >= c->side && 2 * q->inner[1] >= c->side) {
        /* items in a cell strictly between those of two bounds lie between the bounds: aoi_cell_of is monotonic */
        inner = span_of(c, q->center, q->inner);
        inner = (aoi_span){inner.x0 + 1, inner.y0 + 1, inner.x1 - 1, inner.y1 - 1};
    }
    const aoi_cell *mid = center != AOI_NONE ? c->cells + center : NULL;
    if (mid && outer.x0 >= mid->cx - 1 && outer.x1 <= mid->cx + 1 && outer.y0 >= mid->cy - 1 && outer.y1 <= mid->cy + 1)
        walk_near(&w, mid, &outer, &inner);
    else if (aoi_span_is_wide(c, &outer)) walk_all(&w, &outer, &inner);
    else walk_span(&w, &outer, &inner);
    if (w.count) scan_runs(&w);
    return w.steps;
}

uint64_t aoi_walk_move(const aoi_cells *c, aoi_scanner scan, const double *from, const double *to, double least,
                       double most, bool all, uint32_t center, aoi_visit visit, void *ud) {
    aoi_ring rings[2];
    size_t n = aoi_rings_of_move(from, to, least, most, all, rings);
    uint64_t steps = aoi_walk_ring(c, scan, rings, center, visit, ud);
    return n == 1 ? steps : steps + aoi_walk_ring(c, scan, rings + 1, AOI_NONE, visit, ud);
}
