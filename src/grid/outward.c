/* outward.c - the entities around a place in the order of the distances of their cells; see nine_grid.h.
 *
 *   ahead   a heap of coarse cells and cells, the nearest on top: the next coarse cell is replaced by its cells, the
 *           next cell is the answer
 *
 * A search far from all entities reads one number a coarse cell, and the first cells of a crowd; never the crowd.
 * Method: Hjaltason and Samet, Distance browsing in spatial databases (1999). */
#include "grid/nine_grid.h"

/* A lower bound of the squared distance of `at` from the square of cells: interval ends are rounded. */
static double outward_distance(const aoi_grid *g, const int32_t first[2], int cells, const double *at) {
    double sum = 0;
    for (int a = 0; a < 2; a++) {
        double lo, hi, none;
        aoi_cell_interval(first[a], g->points.side, &lo, &none);
        aoi_cell_interval(first[a] + cells - 1, g->points.side, &none, &hi);
        double off = fmax(lo - at[a], at[a] - hi);
        if (off > 0 && (off -= 0x1p-45 * (off + fabs(at[a]))) > 0) sum += off * off;
    }
    return sum;
}

static bool outward_add(aoi_grid *g, aoi_grid_ahead new) {
    uint32_t i = g->ahead_count;
    if (!AOI_GROW(aoi_grid_memory(g), g->ahead, g->ahead_cap, i + (size_t)1)) return false;
    for (g->ahead_count++; i && new.distance < g->ahead[(i - 1) / 2].distance; i = (i - 1) / 2)
        g->ahead[i] = g->ahead[(i - 1) / 2];
    g->ahead[i] = new;
    return true;
}

static aoi_grid_ahead outward_take(aoi_grid *g) {
    aoi_grid_ahead first = g->ahead[0], last = g->ahead[--g->ahead_count];
    uint32_t i = 0, k;
    for (; (k = 2 * i + 1) < g->ahead_count; i = k) {
        if (k + 1 < g->ahead_count && g->ahead[k + 1].distance < g->ahead[k].distance) k++;
        if (last.distance <= g->ahead[k].distance) break;
        g->ahead[i] = g->ahead[k];
    }
    g->ahead[i] = last;
    return first;
}

static bool outward_open(aoi_grid *g, const aoi_coarse_cell *c, const double *at) {
    for (uint32_t i = c->first; i != AOI_NONE; i = g->points.cells[i].next) {
        const aoi_cell *k = g->points.cells + i;
        aoi_grid_ahead new = {outward_distance(g, (int32_t[2]){k->cx, k->cy}, 1, at), AOI_NONE, i};
        if (k->count && !outward_add(g, new)) return false;
    }
    return true;
}

bool aoi_grid_is_far(const aoi_grid *g, double within) {
    double across = 2 * within / g->points.side;
    return !(across * across <= 64 + (double)g->points.coarse_count);
}

bool aoi_grid_begin_outward(aoi_grid *g, const double *at) {
    const aoi_spatial_hash *h = &g->points;
    g->ahead_count = 0;
    for (uint32_t i = 0; i < h->coarse_count; i++) {
        const aoi_coarse_cell *c = h->coarse + i;
        int32_t first[2] = {c->cx * AOI_COARSE, c->cy * AOI_COARSE};
        if (!outward_add(g, (aoi_grid_ahead){outward_distance(g, first, AOI_COARSE, at), i, AOI_NONE})) return false;
    }
    g->records->steps += h->coarse_count;
    return true;
}

double aoi_grid_step_outward(aoi_grid *g, const double *at) {
    const aoi_spatial_hash *h = &g->points;
    aoi_records *r = g->records;
    r->hit_count = 0;
    while (g->ahead_count) {
        aoi_grid_ahead next = outward_take(g);
        r->steps += AOI_COARSE;
        if (next.cell == AOI_NONE) {
            if (outward_open(g, h->coarse + next.coarse, at)) continue;
            r->failed = true;
            break;
        }
        for (uint32_t b = h->cells[next.cell].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++) aoi_add_hit(r, h->buckets[b].ref[lane]);
        r->steps += h->cells[next.cell].count;
        return fmin(next.distance, DBL_MAX);
    }
    return INFINITY;
}
