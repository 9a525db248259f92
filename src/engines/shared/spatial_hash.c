/* spatial_hash.c - see spatial_hash.h. */
#include "engines/shared/spatial_hash.h"

#define MOST_LINES (UINT32_MAX / AOI_LANES)

void aoi_cells_open(aoi_cells *c, double side) {
    *c = (aoi_cells){
        .side = side, .scale = 1 / side * (1 << AOI_CELL_BITS), .unused = AOI_NONE, .unused_line = AOI_NONE};
}

void aoi_cells_close(aoi_memory *m, aoi_cells *c) {
    AOI_FREE_LINES(m, c->cells, c->cap);
    AOI_FREE_LINES(m, c->lines, c->line_cap);
    aoi_index_free(m, &c->index);
    aoi_cells_open(c, c->side);
}

/* Makes a new cell and its neighbours known to each other; neither has the other's lines yet. */
static void introduce(aoi_cells *c, uint32_t i) {
    aoi_cell *k = c->cells + i;
    for (int d = 0; d < 9; d++) {
        uint32_t n = d == AOI_MIDDLE ? i : aoi_cells_find(c, k->cx + d % 3 - 1, k->cy + d / 3 - 1);
        k->near[d] = n;
        k->first[d] = AOI_NONE;
        if (n == AOI_NONE || n == i) continue;
        k->first[d] = c->cells[n].first[AOI_MIDDLE];
        c->cells[n].near[8 - d] = i;
        c->cells[n].first[8 - d] = AOI_NONE;
    }
}

/* An empty one is forgotten. */
static void part(aoi_cells *c, uint32_t i) {
    for (int d = 0; d < 9; d++)
        if (c->cells[i].near[d] != AOI_NONE) c->cells[c->cells[i].near[d]].near[8 - d] = AOI_NONE;
}

/* All who look for it find its first line. */
static void set_first(aoi_cells *c, aoi_cell *k, uint32_t line) {
    for (int d = 0; d < 9; d++)
        if (k->near[d] != AOI_NONE) c->cells[k->near[d]].first[8 - d] = line;
}

static uint32_t make(aoi_memory *m, aoi_cells *c, int32_t cx, int32_t cy) {
    uint32_t i = c->unused;
    if (!aoi_index_reserve(m, &c->index, c->index.count + (size_t)1)) return AOI_NONE;
    if (i != AOI_NONE) c->unused = c->cells[i].near[0];
    else if (AOI_GROW_LINES(m, c->cells, c->cap, c->top + (size_t)1)) i = c->top++;
    else return AOI_NONE;
    c->cells[i] = (aoi_cell){.cx = cx, .cy = cy, .begin = {aoi_cell_begin(cx), aoi_cell_begin(cy)}};
    aoi_index_add(&c->index, aoi_cell_hash(cx, cy), i);
    introduce(c, i);
    c->used++;
    c->empty++;
    return i;
}

static bool has_gap(const aoi_cells *c, const aoi_cell *k) {
    return k->count && c->lines[k->first[AOI_MIDDLE]].count < AOI_ITEMS;
}

static bool line_ready(aoi_memory *m, aoi_cells *c) {
    if (c->unused_line != AOI_NONE || c->line_top < c->line_cap) return true;
    return c->line_top < MOST_LINES && AOI_GROW_LINES(m, c->lines, c->line_cap, c->line_top + (size_t)1);
}

uint32_t aoi_cells_ready(aoi_memory *m, aoi_cells *c, uint32_t near, const double *at) {
    int32_t cx = aoi_cell_of_mark(aoi_cell_mark(c, at[0])), cy = aoi_cell_of_mark(aoi_cell_mark(c, at[1]));
    uint32_t i = AOI_NONE;
    if (near != AOI_NONE) {
        const aoi_cell *k = c->cells + near;
        if (aoi_cell_touches(k, cx, cy)) i = k->near[aoi_cell_direction(cx - k->cx, cy - k->cy)];
    }
    if (i == AOI_NONE) i = aoi_cells_find(c, cx, cy);
    if (i == AOI_NONE) i = make(m, c, cx, cy);
    return i != AOI_NONE && (has_gap(c, c->cells + i) || line_ready(m, c)) ? i : AOI_NONE;
}

/* A new first line for the cell. */
static void add_line(aoi_cells *c, aoi_cell *k) {
    uint32_t i = c->unused_line;
    if (i != AOI_NONE) c->unused_line = c->lines[i].next;
    else i = c->line_top++;
    c->lines[i].next = k->first[AOI_MIDDLE];
    c->lines[i].count = c->lines[i].used = 0;
    set_first(c, k, i);
}

static void drop_line(aoi_cells *c, aoi_cell *k) {
    uint32_t i = k->first[AOI_MIDDLE];
    set_first(c, k, c->lines[i].next);
    c->lines[i].next = c->unused_line;
    c->unused_line = i;
}

uint32_t aoi_cells_put(aoi_cells *c, uint32_t cell, const double *at, uint32_t ref) {
    aoi_cell *k = c->cells + cell;
    if (!has_gap(c, k)) add_line(c, k);
    uint32_t i = k->first[AOI_MIDDLE];
    aoi_line *l = c->lines + i;
    uint32_t lane = l->count++;
    l->used = l->used << 2 | 1;
    l->x[lane] = (uint16_t)aoi_cell_mark(c, at[0]);
    l->y[lane] = (uint16_t)aoi_cell_mark(c, at[1]);
    l->ref[lane] = ref;
    c->count++;
    c->empty -= k->count++ == 0;
    return i * AOI_LANES + lane;
}

uint32_t aoi_cells_take(aoi_cells *c, uint32_t cell, uint32_t slot) {
    aoi_cell *k = c->cells + cell;
    uint32_t i = k->first[AOI_MIDDLE], ref = AOI_NONE;
    aoi_line *last = c->lines + i, *l = c->lines + slot / AOI_LANES;
    uint32_t lane = --last->count;
    last->used >>= 2;
    c->count--;
    c->empty += --k->count == 0;
    if (slot != i * AOI_LANES + lane) {
        l->x[slot % AOI_LANES] = last->x[lane];
        l->y[slot % AOI_LANES] = last->y[lane];
        l->ref[slot % AOI_LANES] = ref = last->ref[lane];
    }
    if (lane == 0) drop_line(c, k);
    return ref;
}

void aoi_cells_clear_out(aoi_memory *m, aoi_cells *c) {
    if (!c->count) aoi_cells_close(m, c);
    for (uint32_t i = 0; i < c->top; i++) {
        aoi_cell *k = c->cells + i;
        if (!aoi_cell_exists(k) || k->count) continue;
        aoi_index_remove(&c->index, aoi_cell_hash(k->cx, k->cy), i);
        part(c, i);
        k->count = UINT32_MAX;
        c->used--;
    }
    c->empty = 0;
    c->unused = AOI_NONE;
    while (c->top && !aoi_cell_exists(c->cells + c->top - 1)) c->top--;
    for (uint32_t i = c->top; i-- > 0;) {
        if (aoi_cell_exists(c->cells + i)) continue;
        c->cells[i].near[0] = c->unused;
        c->unused = i;
    }
}

bool aoi_cells_has(const aoi_cells *c, uint32_t cell, uint32_t slot, const double *at, uint32_t ref) {
    int64_t x = aoi_cell_mark(c, at[0]), y = aoi_cell_mark(c, at[1]);
    if (cell >= c->top || slot / AOI_LANES >= c->line_top) return false;
    const aoi_cell *k = c->cells + cell;
    const aoi_line *l = c->lines + slot / AOI_LANES;
    uint32_t lane = slot % AOI_LANES;
    return aoi_cell_exists(k) && k->cx == aoi_cell_of_mark(x) && k->cy == aoi_cell_of_mark(y) &&
           l->x[lane] == (uint16_t)x && l->y[lane] == (uint16_t)y && l->ref[lane] == ref;
}

const char *aoi_cells_check(const aoi_cells *c) {
    uint32_t used = 0, empty = 0, count = 0, lines = 0;
    for (uint32_t i = 0; i < c->top; i++) {
        const aoi_cell *k = c->cells + i;
        uint32_t own = 0, items = 0;
        if (!aoi_cell_exists(k)) continue;
        if (aoi_cells_find(c, k->cx, k->cy) != i) return "a cell is not found";
        used++;
        empty += k->count == 0;
        count += k->count;
        for (int d = 0; d < 9; d++) {
            uint32_t n = aoi_cells_find(c, k->cx + d % 3 - 1, k->cy + d / 3 - 1);
            if (k->near[d] != n || k->first[d] != (n == AOI_NONE ? AOI_NONE : c->cells[n].first[AOI_MIDDLE]))
                return "a cell does not know its neighbours";
        }
        for (uint32_t l = k->first[AOI_MIDDLE]; l != AOI_NONE; l = c->lines[l].next) {
            uint32_t n = c->lines[l].count;
            if (++own > c->line_top) return "the lines of a cell have no end";
            if (n < 1 || n > AOI_ITEMS || (own > 1 && n < AOI_ITEMS) || c->lines[l].used != ((1u << 2 * n) - 1) / 3)
                return "a line of a cell has gaps";
            items += n;
        }
        if (items != k->count) return "a cell counts its items wrongly";
        lines += own;
    }
    for (uint32_t l = c->unused_line; l != AOI_NONE && lines <= c->line_top; l = c->lines[l].next) lines++;
    if (lines != c->line_top) return "lines of cells are lost";
    if (used != c->used || empty != c->empty || count != c->count) return "cells are counted wrongly";
    return aoi_index_check(&c->index);
}
