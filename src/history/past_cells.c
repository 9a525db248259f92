/* past_cells.c - finds the traces near a position at a tick; see history.h.
 *
 * A stay is in its cell from the tick at which its trace entered the cell until the window has passed the tick at which
 * it left.  So a cell has its present and its recent traces in one array, and a question reads the times of all.  Sides
 * are two to four times the reach of questions: a walking trace seldom changes its cell, and a question reads some
 * three cells.  The cells of level k + 1 are 2^k times as wide. */
#include "history/history.h"

enum { MISFITS = 32, SWEEP_ONE_IN = 32 }; /* questions of another size before the cells are made anew; cells a tick */

static double side_for(double reach) {
    int exponent;
    (void)frexp(reach, &exponent);
    return ldexp(1, exponent + 1);
}

static bool fits(const aoi_history *h, double reach) {
    return reach <= 2 * h->side && (reach >= h->side / 16 || reach == 0);
}

static double level_side(const aoi_history *h, uint32_t level) {
    return ldexp(h->side, level ? (int)level - 1 : 0);
}

static uint32_t level_for(const aoi_history *h, double extent) {
    uint32_t level = extent > 0;
    while (level && level < AOI_PAST_LEVELS - 1 && extent > level_side(h, level)) level++;
    return level;
}

void aoi_past_free(aoi_history *h) {
    aoi_memory *m = aoi_history_memory(h);
    for (uint32_t c = 0; c < h->cell_top; c++) AOI_FREE(m, h->cells[c].stays, h->cells[c].cap);
    AOI_CLEAR(m, h->cells, h->cell_cap);
    aoi_index_free(m, &h->cell_index);
    memset(h->levels, 0, sizeof h->levels);
    h->cell_top = h->cell_count = h->misfits = h->over_count = h->swept = 0;
    h->unused_cell = AOI_NONE;
    h->side = 0;
    for (uint32_t row = 0; row < h->row_top; row++) h->rows[row].cell[0] = NAN;
    for (uint32_t t = 0; t < h->trace_top; t++) h->traces[t].cell = AOI_NONE;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static uint32_t cell_hash(uint32_t level, int32_t cx, int32_t cy) {
    return aoi_cell_hash(cx, cy) + level * UINT32_C(0x9E3779B9);
}

static uint32_t find_cell(const aoi_history *h, uint32_t level, int32_t cx, int32_t cy) {
    uint32_t hash = cell_hash(level, cx, cy), at = AOI_SEEK, c;
    while ((c = aoi_index_next(&h->cell_index, hash, &at)) != AOI_NONE)
        if (h->cells[c].cx == cx && h->cells[c].cy == cy && h->cells[c].level == level) break;
    return c;
}

static uint32_t new_cell(aoi_history *h, uint32_t level, int32_t cx, int32_t cy) {
    aoi_memory *m = aoi_history_memory(h);
    uint32_t c = h->unused_cell;
    if (!aoi_index_reserve(m, &h->cell_index, h->cell_count + (size_t)1)) return AOI_NONE;
    if (c == AOI_NONE && !AOI_GROW(m, h->cells, h->cell_cap, h->cell_top + (size_t)1)) return AOI_NONE;
    if (c == AOI_NONE) c = h->cell_top++;
    else h->unused_cell = h->cells[c].next;
    h->cells[c] = (aoi_past_cell){.cx = cx, .cy = cy, .level = level};
    aoi_index_add(&h->cell_index, cell_hash(level, cx, cy), c);
    h->cell_count++;
    return c;
}

static void free_cell(aoi_history *h, uint32_t c) {
    aoi_past_cell *cell = h->cells + c;
    aoi_index_remove(&h->cell_index, cell_hash(cell->level, cell->cx, cell->cy), c);
    AOI_CLEAR(aoi_history_memory(h), cell->stays, cell->cap);
    cell->next = h->unused_cell;
    h->unused_cell = c;
    h->cell_count--;
}

/* Drops the stays that ended before the window; the last stay replaces each, so that few traces are written. */
static void sweep_cell(aoi_history *h, uint32_t c) {
    aoi_past_cell *cell = h->cells + c;
    uint32_t first = aoi_history_first(h), had = cell->count;
    for (uint32_t i = 0; i < cell->count;) {
        aoi_stay *stay = cell->stays + i;
        if (stay->to > first) {
            i++;
            continue;
        }
        *stay = cell->stays[--cell->count];
        if (i < cell->count && stay->to == AOI_NONE) h->traces[stay->trace].stay = i;
    }
    h->over_count -= had - cell->count;
    h->levels[cell->level].stays -= had - cell->count;
}

void aoi_past_sweep(aoi_history *h) {
    for (uint32_t n = h->cell_top / SWEEP_ONE_IN + 1; n > 0 && h->over_count; n--) {
        uint32_t c = h->swept < h->cell_top ? h->swept : 0;
        bool used = h->cells[c].count > 0;
        sweep_cell(h, c);
        if (used && !h->cells[c].count) free_cell(h, c);
        h->swept = c + 1;
    }
}

/* ---- stays ------------------------------------------------------------------------------------------------------- */

static bool file_stay(aoi_history *h, uint32_t trace, const double *pos, uint32_t tick) {
    aoi_trace *t = h->traces + trace;
    uint32_t level = level_for(h, t->looks.extent);
    double inverse = level ? 1 / level_side(h, level) : h->per_side;
    int32_t cx = aoi_cell_number(pos[0], inverse), cy = aoi_cell_number(pos[1], inverse);
    if (t->cell != AOI_NONE && h->cells[t->cell].cx == cx && h->cells[t->cell].cy == cy) return true;
    uint32_t c = find_cell(h, level, cx, cy);
    if (c == AOI_NONE && (c = new_cell(h, level, cx, cy)) == AOI_NONE) return false;
    aoi_past_cell *cell = h->cells + c;
    if (cell->count == cell->cap) sweep_cell(h, c);
    if (!AOI_GROW_TO(aoi_history_memory(h), cell->stays, cell->cap,
                     cell->count < cell->cap ? cell->cap : cell->count + (size_t)cell->count / 2 + 4)) {
        if (!cell->count) free_cell(h, c);
        return false;
    }
    aoi_past_end(h, trace, tick);
    t->cell = c;
    t->stay = cell->count++;
    cell->stays[t->stay] = (aoi_stay){trace, tick, AOI_NONE};
    h->levels[level].stays++;
    h->levels[level].extent = fmax(h->levels[level].extent, t->looks.extent);
    return true;
}

bool aoi_past_put(aoi_history *h, uint32_t trace, const double *pos, uint32_t tick) {
    uint32_t row = h->row_of[trace];
    if (h->side == 0) return true;
    if (!file_stay(h, trace, pos, tick)) return false;
    for (int a = 0; a < 2 && row != AOI_NONE; a++) h->rows[row].cell[a] = floor(pos[a] * h->per_side);
    return true;
}

void aoi_past_end(aoi_history *h, uint32_t trace, uint32_t tick) {
    aoi_trace *t = h->traces + trace;
    if (t->cell == AOI_NONE) return;
    h->cells[t->cell].stays[t->stay].to = tick;
    h->over_count++;
    t->cell = AOI_NONE;
}

/* ---- making cells ------------------------------------------------------------------------------------------------ */

/* Files the stays of the whole window; a trace without a row is filed once. */
static bool file_all(aoi_history *h) {
    uint32_t first = aoi_history_first(h);
    for (uint32_t tick = first; tick <= h->now + 1; tick++) {
        for (uint32_t t = 0; t < h->trace_top; t++) {
            const aoi_trace *trace = h->traces + t;
            bool stands = tick > first && tick > trace->entered && h->row_of[t] == AOI_NONE;
            if (trace->left == tick) aoi_past_end(h, t, tick);
            if (stands || !aoi_trace_was(trace, tick) || (tick > h->now && trace->entered < tick)) continue;
            if (!aoi_past_put(h, t, aoi_trace_place(h, t, tick), tick)) return false;
        }
    }
    return true;
}

static bool make_cells(aoi_history *h, double reach) {
    aoi_past_free(h);
    h->side = side_for(reach > 0 ? reach : 1);
    h->per_side = 1 / h->side;
    if (file_all(h)) return true;
    aoi_past_free(h);
    return false;
}

/* Makes cells that fit before a question; a few questions of another size in between do not change them. */
static bool cells_ready(aoi_history *h, double reach) {
    if (h->side == 0) return make_cells(h, reach);
    h->misfits = fits(h, reach) ? 0 : h->misfits + 1;
    return h->misfits < MISFITS + h->trace_count / 64 || make_cells(h, reach);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void add_stays(aoi_history *h, const aoi_past_cell *cell, uint32_t tick) {
    aoi_world *w = &h->layer.space->world;
    if (!AOI_GROW(&w->memory, w->hits, w->hit_cap, w->hit_count + (size_t)cell->count)) {
        w->failed = true;
        return;
    }
    for (uint32_t i = 0; i < cell->count; i++) { /* counted without a branch, which would not be predictable */
        const aoi_stay *stay = cell->stays + i;
        w->hits[w->hit_count] = stay->trace;
        w->hit_count += (stay->from <= tick) & (tick < stay->to);
    }
}

static void add_all(aoi_history *h, uint32_t tick) {
    h->layer.space->world.hit_count = 0;
    for (uint32_t t = 0; t < h->trace_top; t++)
        if (aoi_trace_was(h->traces + t, tick)) aoi_add_hit(&h->layer.space->world, t);
}

/* False: the area covers more cells of the level than there are cells in all. */
static bool add_level(aoi_history *h, uint32_t level, uint32_t tick, const double *at, double reach) {
    double inverse = 1 / level_side(h, level);
    aoi_span span = {aoi_cell_number(at[0] - reach, inverse), aoi_cell_number(at[1] - reach, inverse),
                     aoi_cell_number(at[0] + reach, inverse), aoi_cell_number(at[1] + reach, inverse)};
    uint64_t wide = (uint64_t)(span.x1 - (int64_t)span.x0) + 1, high = (uint64_t)(span.y1 - (int64_t)span.y0) + 1;
    if (wide * high > h->cell_count) return false;
    for (int32_t cy = span.y0; cy <= span.y1; cy++)
        for (int32_t cx = span.x0; cx <= span.x1; cx++) aoi_index_fetch(&h->cell_index, cell_hash(level, cx, cy));
    for (int32_t cy = span.y0; cy <= span.y1; cy++)
        for (int32_t cx = span.x0; cx <= span.x1; cx++) {
            uint32_t c = find_cell(h, level, cx, cy);
            if (c != AOI_NONE) add_stays(h, h->cells + c, tick);
        }
    return true;
}

/* Beyond it squares of distances may overflow, and infinite distances compare as equal. */
static const double SQUARABLE = 1e150;

bool aoi_past_find(aoi_history *h, uint32_t tick, const double *at, double reach) {
    bool found = reach < SQUARABLE;
    h->layer.space->world.hit_count = 0;
    if (found && !cells_ready(h, reach)) return false;
    for (uint32_t k = 0; k < AOI_PAST_LEVELS && found; k++) {
        double room = k ? (reach + h->levels[k].extent) * (1 + 0x1p-20) : reach;
        if (h->levels[k].stays) found = room < SQUARABLE && add_level(h, k, tick, at, room);
    }
    if (!found) add_all(h, tick);
    return true;
}

/* ---- the invariants ---------------------------------------------------------------------------------------------- */

const char *aoi_past_check(const aoi_history *h) {
    uint32_t cells = 0, stays = 0, over = 0, filed = 0;
    if (h->side == 0) return NULL;
    for (uint32_t t = 0; t < h->trace_top; t++) {
        const aoi_trace *trace = h->traces + t;
        bool there = trace->entered != AOI_NONE && trace->left == AOI_NONE;
        if (there != (trace->cell != AOI_NONE)) return "a trace is in no cell, or is in one and has ended";
        if (there && h->cells[trace->cell].stays[trace->stay].trace != t) return "a trace has the stay of another";
    }
    for (uint32_t c = 0; c < h->cell_top; c++) {
        const aoi_past_cell *cell = h->cells + c;
        cells += cell->count > 0;
        for (uint32_t i = 0; i < cell->count; i++) over += cell->stays[i].to != AOI_NONE;
        stays += cell->count;
    }
    for (uint32_t k = 0; k < AOI_PAST_LEVELS; k++) filed += h->levels[k].stays;
    return cells == h->cell_count && stays == filed && over == h->over_count ? NULL : "cells are counted wrongly";
}
