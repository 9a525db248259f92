/* aoi_cells.c - see aoi_cells.h. */
#include "aoi_cells.h"

#include <string.h>

void aoi_cells_open(aoi_cells *c, double side) {
    *c = (aoi_cells){.side = side, .inverse = 1 / side, .unused = AOI_NONE};
}

static size_t bytes_of(uint32_t cap) {
    return cap * (2 * sizeof(double) + sizeof(uint32_t));
}

void aoi_cells_close(aoi_memory *m, aoi_cells *c) {
    for (uint32_t i = 0; i < c->top; i++)
        if (c->cells[i].items) aoi_resize(m, c->cells[i].items, bytes_of(c->cells[i].cap), 0);
    AOI_FREE(m, c->cells, c->cap);
    aoi_index_free(m, &c->index);
    aoi_cells_open(c, c->side);
}

/* 1, 2, 4, then multiples of the scanner's lanes: a lone item wastes nothing, and x and y can be read in whole lanes,
 * since what follows them in the block is y and the refs. */
static uint32_t next_cap(uint32_t cap) {
    if (cap < AOI_LANES) return cap ? 2 * cap : 1;
    return (cap + cap / 4 + AOI_LANES) & ~(uint32_t)(AOI_LANES - 1);
}

static bool widen(aoi_memory *m, aoi_cell *c) {
    uint32_t cap = next_cap(c->cap);
    double *items = aoi_resize(m, NULL, 0, bytes_of(cap));
    if (!items) return false;
    if (c->items) {
        memcpy(items, c->items, c->count * sizeof(double));
        memcpy(items + cap, c->items + c->cap, c->count * sizeof(double));
        memcpy(items + 2 * (size_t)cap, aoi_cell_refs(c), c->count * sizeof(uint32_t));
        aoi_resize(m, c->items, bytes_of(c->cap), 0);
    }
    c->items = items;
    c->cap = cap;
    return true;
}

/* Makes a new cell and its neighbours known to each other. */
static void introduce(aoi_cells *c, uint32_t i) {
    aoi_cell *k = c->cells + i;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            uint32_t n = dx || dy ? aoi_cells_find(c, k->cx + dx, k->cy + dy) : i;
            k->near[aoi_cell_direction(dx, dy)] = n;
            if (n != AOI_NONE) c->cells[n].near[aoi_cell_direction(-dx, -dy)] = i;
        }
}

static void part(aoi_cells *c, uint32_t i) {
    for (int d = 0; d < 9; d++) {
        uint32_t n = c->cells[i].near[d];
        if (n != AOI_NONE) c->cells[n].near[8 - d] = AOI_NONE;
    }
}

uint32_t aoi_cells_ready(aoi_memory *m, aoi_cells *c, double x, double y) {
    int32_t cx = aoi_cell_of(c, x), cy = aoi_cell_of(c, y);
    uint32_t i = aoi_cells_find(c, cx, cy);
    if (i == AOI_NONE) {
        if (!aoi_index_reserve(m, &c->index, c->index.count + (size_t)1)) return AOI_NONE;
        if ((i = c->unused) != AOI_NONE) c->unused = c->cells[i].count;
        else if (AOI_GROW(m, c->cells, c->cap, c->top + (size_t)1)) i = c->top++;
        else return AOI_NONE;
        c->cells[i] = (aoi_cell){.cx = cx, .cy = cy};
        aoi_index_add(&c->index, aoi_cell_hash(cx, cy), i);
        introduce(c, i);
        c->used++;
        c->empty++;
    }
    aoi_cell *k = c->cells + i;
    return k->count < k->cap || widen(m, k) ? i : AOI_NONE;
}

uint32_t aoi_cells_put(aoi_cells *c, uint32_t cell, double x, double y, uint32_t ref) {
    aoi_cell *k = c->cells + cell;
    uint32_t slot = k->count++;
    if (slot == 0) c->empty--;
    k->items[slot] = x;
    k->items[k->cap + slot] = y;
    aoi_cell_refs(k)[slot] = ref;
    c->count++;
    return slot;
}

uint32_t aoi_cells_take(aoi_cells *c, uint32_t cell, uint32_t slot) {
    aoi_cell *k = c->cells + cell;
    uint32_t last = --k->count, *refs = aoi_cell_refs(k);
    c->count--;
    if (last == 0) c->empty++;
    if (slot == last) return AOI_NONE;
    k->items[slot] = k->items[last];
    k->items[k->cap + slot] = k->items[k->cap + last];
    return refs[slot] = refs[last];
}

void aoi_cells_tidy(aoi_memory *m, aoi_cells *c) {
    if (c->empty < 32 || c->empty < c->used / 4) return; /* many steps pay for one walk over all cells */
    for (uint32_t i = 0; i < c->top; i++) {
        aoi_cell *k = c->cells + i;
        if (!aoi_cell_exists(k) || k->count) continue;
        aoi_index_remove(&c->index, aoi_cell_hash(k->cx, k->cy), i);
        aoi_resize(m, k->items, bytes_of(k->cap), 0);
        part(c, i);
        *k = (aoi_cell){.cap = UINT32_MAX};
        c->used--;
    }
    c->empty = 0;
    c->unused = AOI_NONE;
    while (c->top && !aoi_cell_exists(c->cells + c->top - 1)) c->top--;
    for (uint32_t i = c->top; i-- > 0;) {
        if (aoi_cell_exists(c->cells + i)) continue;
        c->cells[i].count = c->unused;
        c->unused = i;
    }
}

const char *aoi_cells_check(const aoi_cells *c) {
    uint32_t used = 0, empty = 0, count = 0;
    for (uint32_t i = 0; i < c->top; i++) {
        const aoi_cell *k = c->cells + i;
        if (!aoi_cell_exists(k)) continue;
        if (aoi_cells_find(c, k->cx, k->cy) != i) return "a cell is not found";
        used++;
        empty += k->count == 0;
        count += k->count;
        for (int d = 0; d < 9; d++)
            if (k->near[d] != aoi_cells_find(c, k->cx + d % 3 - 1, k->cy + d / 3 - 1))
                return "a cell does not know its neighbours";
        if (k->count > k->cap) return "a cell holds more than it has room for";
        for (uint32_t j = 0; j < k->count; j++)
            if (aoi_cell_of(c, aoi_cell_x(k)[j]) != k->cx || aoi_cell_of(c, aoi_cell_y(k)[j]) != k->cy)
                return "an item stands in the wrong cell";
    }
    if (used != c->used || empty != c->empty || count != c->count) return "cells are counted wrongly";
    return aoi_index_check(&c->index);
}
