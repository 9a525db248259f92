/* past_cells.c - which traces were near a place at a tick; see history.h.
 *
 * A stay is filed in its cell from the tick at which its trace came there until the window has passed the one at which it
 * went.  So a cell holds what stands in it and what has passed through it lately, and a question reads the times of all,
 * the places of those that were there.  Sides are about half the width that is asked about: a trace that walks changes
 * its cell seldom, and a question reads some nine cells. */
#include "history/history.h"

enum { MISFITS = 32 }; /* questions that are of another size before the cells are made anew */

static double side_for(double reach) {
    int exponent;
    (void)frexp(reach, &exponent);
    return ldexp(1, exponent - 1);
}

static bool fits(const aoi_history *h, double reach) {
    return reach <= 4 * h->side && (reach >= h->side / 4 || reach == 0);
}

void aoi_past_free(aoi_history *h) {
    aoi_memory *m = aoi_history_memory(h);
    AOI_CLEAR(m, h->stays, h->stay_cap);
    AOI_CLEAR(m, h->cells, h->cell_cap);
    aoi_index_free(m, &h->cell_index);
    h->stay_top = h->cell_top = h->cell_count = h->misfits = 0;
    h->unused_stay = h->unused_cell = h->over.first = AOI_NONE;
    h->side = 0;
    for (uint32_t t = 0; t < h->trace_top; t++) h->traces[t].stay = AOI_NONE;
}

/* ---- stays ------------------------------------------------------------------------------------------------------- */

static uint32_t find_cell(const aoi_history *h, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, c;
    while ((c = aoi_index_next(&h->cell_index, hash, &at)) != AOI_NONE)
        if (h->cells[c].cx == cx && h->cells[c].cy == cy) break;
    return c;
}

static uint32_t new_cell(aoi_history *h, int32_t cx, int32_t cy) {
    aoi_memory *m = aoi_history_memory(h);
    uint32_t c = h->unused_cell;
    if (!aoi_index_reserve(m, &h->cell_index, h->cell_count + (size_t)1)) return AOI_NONE;
    if (c == AOI_NONE && !AOI_GROW(m, h->cells, h->cell_cap, h->cell_top + (size_t)1)) return AOI_NONE;
    if (c == AOI_NONE) c = h->cell_top++;
    else h->unused_cell = h->cells[c].first;
    h->cells[c] = (aoi_past_cell){cx, cy, AOI_NONE};
    aoi_index_add(&h->cell_index, aoi_cell_hash(cx, cy), c);
    h->cell_count++;
    return c;
}

static void free_cell(aoi_history *h, uint32_t c) {
    if (h->cells[c].first != AOI_NONE) return;
    aoi_index_remove(&h->cell_index, aoi_cell_hash(h->cells[c].cx, h->cells[c].cy), c);
    h->cells[c].first = h->unused_cell;
    h->unused_cell = c;
    h->cell_count--;
}

static void end_stay(aoi_history *h, uint32_t stay, uint32_t at) {
    aoi_stay *s = h->stays + stay;
    s->to = at;
    if (h->over.first == AOI_NONE) h->over.first = stay;
    else h->stays[h->over.last].after = stay;
    h->over.last = stay;
}

bool aoi_past_put(aoi_history *h, uint32_t trace, const double *pos, uint32_t at) {
    if (h->side == 0 || h->traces[trace].looks.extent > 0) return true;
    uint32_t stay = h->traces[trace].stay, s = h->unused_stay;
    int32_t cx = aoi_cell_number(pos[0], 1 / h->side), cy = aoi_cell_number(pos[1], 1 / h->side);
    if (stay != AOI_NONE && h->cells[h->stays[stay].cell].cx == cx && h->cells[h->stays[stay].cell].cy == cy)
        return true;
    if (s == AOI_NONE && !AOI_GROW(aoi_history_memory(h), h->stays, h->stay_cap, h->stay_top + (size_t)1)) return false;
    uint32_t c = find_cell(h, cx, cy);
    if (c == AOI_NONE && (c = new_cell(h, cx, cy)) == AOI_NONE) return false;
    if (stay != AOI_NONE) end_stay(h, stay, at);
    if (s == AOI_NONE) s = h->stay_top++;
    else h->unused_stay = h->stays[s].after;
    uint32_t first = h->cells[c].first;
    h->stays[s] = (aoi_stay){trace, c, at, AOI_NONE, first, AOI_NONE, AOI_NONE};
    if (first != AOI_NONE) h->stays[first].last = s;
    h->cells[c].first = s;
    h->traces[trace].stay = s;
    return true;
}

void aoi_past_end(aoi_history *h, uint32_t trace, uint32_t at) {
    uint32_t stay = h->traces[trace].stay;
    if (stay != AOI_NONE) end_stay(h, stay, at);
    h->traces[trace].stay = AOI_NONE;
}

void aoi_past_forget(aoi_history *h, uint32_t first) {
    while (h->over.first != AOI_NONE && h->stays[h->over.first].to <= first) {
        uint32_t s = h->over.first;
        aoi_stay *stay = h->stays + s;
        h->over.first = stay->after;
        if (stay->next != AOI_NONE) h->stays[stay->next].last = stay->last;
        if (stay->last != AOI_NONE) h->stays[stay->last].next = stay->next;
        else h->cells[stay->cell].first = stay->next;
        free_cell(h, stay->cell);
        stay->trace = AOI_NONE;
        stay->after = h->unused_stay;
        h->unused_stay = s;
    }
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

/* Tick by tick, so that stays end in the order of their ends. */
static bool file_all(aoi_history *h) {
    uint32_t first = aoi_history_first(h);
    for (uint32_t tick = first; tick <= h->now + 1; tick++) {
        for (uint32_t t = 0; t < h->trace_top; t++) {
            const aoi_trace *trace = h->traces + t;
            bool stands = tick > first && tick > trace->entered && trace->row == AOI_NONE;
            if (trace->left == tick) aoi_past_end(h, t, tick);
            if (stands || tick > h->now || !aoi_trace_was(trace, tick)) continue;
            if (!aoi_past_put(h, t, aoi_trace_place(h, trace, tick), tick)) return false;
        }
    }
    return true;
}

static bool make_cells(aoi_history *h, double reach) {
    aoi_past_free(h);
    h->side = side_for(reach > 0 ? reach : 1);
    if (file_all(h)) return true;
    aoi_past_free(h);
    return false;
}

/* Cells that fit, before they are asked; sizes that come now and then change nothing. */
static bool cells_ready(aoi_history *h, double reach) {
    if (h->side == 0) return make_cells(h, reach);
    h->misfits = fits(h, reach) ? 0 : h->misfits + 1;
    return h->misfits < MISFITS + h->trace_count / 64 || make_cells(h, reach);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void add_stays(aoi_history *h, uint32_t first, uint32_t tick) {
    for (uint32_t s = first; s != AOI_NONE; s = h->stays[s].next) {
        const aoi_stay *stay = h->stays + s;
        if (stay->next != AOI_NONE) AOI_PREFETCH(h->stays + stay->next);
        if (stay->from <= tick && tick < stay->to) aoi_add_hit(&h->layer.space->world, stay->trace);
    }
}

static void add_all(aoi_history *h, uint32_t tick) {
    for (uint32_t t = 0; t < h->trace_top; t++)
        if (aoi_trace_was(h->traces + t, tick)) aoi_add_hit(&h->layer.space->world, t);
}

bool aoi_past_find(aoi_history *h, uint32_t tick, const double *at, double reach) {
    if (!(reach < 1e150)) {
        add_all(h, tick);
        return true;
    }
    if (!cells_ready(h, reach)) return false;
    for (uint32_t i = 0; i < h->large_count; i++)
        if (aoi_trace_was(h->traces + h->larges[i], tick)) aoi_add_hit(&h->layer.space->world, h->larges[i]);
    double inverse = 1 / h->side;
    aoi_span span = {aoi_cell_number(at[0] - reach, inverse), aoi_cell_number(at[1] - reach, inverse),
                     aoi_cell_number(at[0] + reach, inverse), aoi_cell_number(at[1] + reach, inverse)};
    uint64_t wide = (uint64_t)(span.x1 - (int64_t)span.x0) + 1, high = (uint64_t)(span.y1 - (int64_t)span.y0) + 1;
    if (wide * high > h->cell_count) {
        h->layer.space->world.hit_count = 0;
        add_all(h, tick);
        return true;
    }
    for (int32_t cy = span.y0; cy <= span.y1; cy++)
        for (int32_t cx = span.x0; cx <= span.x1; cx++) {
            uint32_t c = find_cell(h, cx, cy);
            if (c != AOI_NONE) add_stays(h, h->cells[c].first, tick);
        }
    return true;
}

/* ---- the invariants ---------------------------------------------------------------------------------------------- */

const char *aoi_past_check(const aoi_history *h) {
    uint32_t cells = 0;
    if (h->side == 0) return NULL;
    for (uint32_t t = 0; t < h->trace_top; t++) {
        const aoi_trace *trace = h->traces + t;
        bool there = trace->entered != AOI_NONE && trace->left == AOI_NONE && !(trace->looks.extent > 0);
        if (there != (trace->stay != AOI_NONE)) return "a trace is in no cell, or is one that has ended";
        if (there && h->stays[trace->stay].trace != t) return "a trace has the stay of another";
    }
    for (uint32_t s = 0; s < h->stay_top; s++) {
        const aoi_stay *stay = h->stays + s;
        if (stay->trace == AOI_NONE) continue;
        if (stay->last == AOI_NONE ? h->cells[stay->cell].first != s : h->stays[stay->last].next != s)
            return "the stays of a cell are broken";
        cells += stay->last == AOI_NONE;
    }
    return cells == h->cell_count ? NULL : "cells are counted wrongly";
}
