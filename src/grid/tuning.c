/* tuning.c - chooses sides of cells and rare kinds by counts of entities, nodes and questions; see nine_grid.h. */
#include "grid/nine_grid.h"

enum { GRID_SPARSE = 2, GRID_DENSE = 10 }; /* items in a cell: nearly a bucket of them */
enum { GRID_TUNERS = 8, GRID_ASKED = 64 }; /* fewest nodes and entities, or questions, that choose the side of cells */
enum { RARE_LEAST = 16, RARE_SHARE = 4 };  /* fewest entities; rare is one entity in so many */

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* The least power of two times the base that is no less than the reach; a hint is also the least side. */
double aoi_grid_side_for(const aoi_grid *g, double reach) {
    int e;
    if (reach == 0) return g->fixed ? g->base : AOI_GRID_SIDE;
    double m = frexp(reach / g->base, &e);
    if (m == 0.5) e--;
    if (g->fixed && e < 0) e = 0;
    return fmax(ldexp(g->base, e), AOI_GRID_LEAST_SIDE);
}

static uint32_t grid_occupied(const aoi_grid *g) {
    return g->points.used - g->points.empty;
}

static bool grid_resize_points(aoi_grid *g, double side) {
    if (!isfinite(side)) return false;
    return aoi_items_resize(g->records, &g->points, side);
}

/* Cells like the areas most in use suit the queries over points, but not if most are empty. */
static void grid_fit_points(aoi_grid *g, double side) {
    bool good = g->points.side >= side || grid_resize_points(g, side);
    while (good && g->points.side >= 2 * side && g->points.count / GRID_DENSE > grid_occupied(g))
        good = grid_resize_points(g, g->points.side / 2);
    while (good && g->points.count / GRID_SPARSE < grid_occupied(g)) /* ends: at last four cells hold all */
        good = grid_resize_points(g, g->points.side * 2);
}

/* The level with the most nodes chooses the side of cells.  It chooses anew where its nodes or the entities have doubled
 * or fallen to a quarter, and where it is another one, with twice the nodes that are left of the one that chose.  Few
 * nodes do not make cells larger: most queries are other questions. */
static void grid_tune_points(aoi_grid *g, bool counted) {
    const aoi_grid_level *most = NULL;
    uint32_t left = 0;
    for (uint32_t i = 0; i < g->level_count; i++) {
        const aoi_grid_level *y = g->levels + i;
        if (y->side == g->chosen) left += y->count;
        if (!most || y->count > most->count) most = y;
    }
    if (!most || !most->count || g->points.count < GRID_TUNERS) return;
    const bool other = most->side != g->chosen && most->count / 2 >= left && most->count >= g->points.count / 16;
    if (!aoi_chooses_anew(most->count, &g->tuned) && !other && !counted) return;
    g->tuned = most->count;
    g->chosen = most->side;
    grid_fit_points(g, most->count < GRID_TUNERS ? fmin(most->side, g->points.side) : most->side);
}

/* Without nodes and without a hint, cells suit the size of most questions.  With nodes no question changes them: the
 * order of events follows that of the cells. */
void aoi_grid_count_question(aoi_grid *g, double reach) {
    int size = aoi_size_class(reach);
    if (g->fixed || g->watched || !(reach > 0) || !isfinite(reach)) return;
    if (!g->asked_lead) g->asked = size;
    g->asked_lead += size == g->asked ? 1 : -1;
    if (g->asked_lead < GRID_ASKED) return;
    g->asked_lead = 0;
    if (g->points.count >= GRID_TUNERS) grid_fit_points(g, aoi_grid_side_for(g, ldexp(1, size)));
}

/* The first node finds the entities as if no question had been asked. */
bool aoi_grid_begin_watch(aoi_grid *g) {
    if (!g->watched) g->watched = aoi_entities_resize(g->records, &g->points, g->fixed ? g->base : AOI_GRID_SIDE);
    return g->watched;
}

/* ---- rare kinds ------------------------------------------------------------------------------------------------ */

static void grid_count_kinds(const aoi_records *r, uint32_t count[64]) {
    for (uint32_t e = 0; e < r->entity_top; e++)
        for (uint64_t k = aoi_is_live(r->entities[e].generation) ? r->entities[e].kind : 0; k; k &= k - 1)
            count[aoi_lanes_first(k)]++;
}

/* The rarest kinds that together no more than one entity in RARE_SHARE has. */
static uint64_t grid_rare_kinds(const aoi_records *r) {
    uint32_t count[64] = {0}, left = r->entity_count / RARE_SHARE;
    uint64_t rare = 0;
    if (r->entity_count < RARE_LEAST) return 0;
    grid_count_kinds(r, count);
    for (;;) {
        int best = -1;
        for (int k = 0; k < 64; k++)
            if (count[k] && !(rare >> k & 1) && (best < 0 || count[k] < count[best])) best = k;
        if (best < 0 || count[best] > left) return rare;
        left -= count[best];
        rare |= UINT64_C(1) << best;
    }
}

static void grid_tune_rare(aoi_grid *g) {
    const aoi_records *r = g->records;
    uint64_t rare = grid_rare_kinds(r);
    for (uint32_t e = 0; e < r->entity_top && rare != g->rare; e++)
        if (aoi_is_live(r->entities[e].generation))
            aoi_spatial_mark(&g->points, r->entities[e].place.slot, (r->entities[e].kind & rare) != 0);
    g->rare = rare;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool grid_is_untidy(const aoi_grid *g) {
    for (uint32_t i = 0; i < g->level_count; i++)
        if (aoi_spatial_is_untidy(&g->levels[i].cells)) return true;
    return g->changed;
}

void aoi_grid_tidy(aoi_grid *g) {
    if (!g->records->entity_count) aoi_grid_close(g);
    if (grid_is_untidy(g)) {
        const bool counted = aoi_chooses_anew(g->records->entity_count, &g->counted);
        grid_tune_points(g, counted);
        aoi_grid_divide_levels(g);
        aoi_grid_choose_crowds(g);
        if (counted) grid_tune_rare(g);
        g->changed = false;
    }
    if (aoi_spatial_is_untidy(&g->points)) aoi_spatial_tidy(aoi_grid_memory(g), &g->points);
}
