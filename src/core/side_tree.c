/* side_tree.c - see side_tree.h. */
#include "core/side_tree.h"

#include <stdlib.h>

enum { FEW_SIDES = 8 /* of a node that are judged one by one */, CELL_MIXED = 2 };

typedef struct side_key {
    double key;
    uint32_t side;
} side_key;

aoi_shape *aoi_shape_scratch(aoi_records *r, size_t bytes) {
    const size_t need = (bytes + sizeof(aoi_shape) - 1) / sizeof(aoi_shape);
    return AOI_GROW(&r->memory, r->shape_scratch, r->scratch_cap, need) ? r->shape_scratch : NULL;
}

/* ---- rings and levels -------------------------------------------------------------------------------------------- */

static size_t tree_bytes(const aoi_shape *p, size_t sides) {
    return (size_t)((const char *)(aoi_side_tree_of(p).sides + sides) - (const char *)p);
}

static void fill_rings(aoi_shape *p, const aoi_area *a) {
    const aoi_side_tree t = aoi_side_tree_of(p);
    int from = 0;
    t.before[p->corners] = 0; /* fills the last word of an odd number; else the first cells, which come later */
    for (uint32_t k = 0; k < p->rings; k++) {
        t.ends[k] = a->rings ? a->ends[k] : a->corners;
        for (int i = from; i < t.ends[k]; i++) t.before[i] = (uint16_t)((i == from ? t.ends[k] : i) - 1);
        from = t.ends[k];
    }
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fill_levels(aoi_shape *p) {
    const aoi_side_tree t = aoi_side_tree_of(p);
    double *y = t.levels;
    for (uint32_t i = 0; i < p->corners; i++) y[i] = p->points[2 * i + 1];
    qsort(y, p->corners, sizeof *y, by_value);
    for (uint32_t i = 0; i < p->corners; i++)
        if (!i || y[i] > y[p->levels - 1]) y[p->levels++] = y[i];
    for (p->leaves = 1; p->leaves + 1 < p->levels;) p->leaves *= 2;
}

/* The last level that is not above y, which is not below the first.  No branch, as a search has no pattern. */
static uint32_t level_at(const aoi_shape *p, const double *levels, double y) {
    uint32_t at = 0;
    for (uint32_t step = p->leaves; step; step /= 2) {
        const uint32_t next = at + step < p->levels ? at + step : 0;
        at = next && levels[next] <= y ? next : at;
    }
    return at;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Counts the sides of each node in its start, or puts them before its start. */
static void spread_sides(const aoi_shape *p, const aoi_side_tree *t, bool put) {
    for (uint32_t i = 0; i < p->corners; i++) {
        const uint32_t a = level_at(p, t->levels, p->points[2 * i + 1]);
        const uint32_t b = level_at(p, t->levels, p->points[2 * (uint32_t)t->before[i] + 1]);
        uint32_t from = (a < b ? a : b) + p->leaves, to = (a < b ? b : a) + p->leaves;
        for (; from < to; from /= 2, to /= 2) {
            const uint32_t nodes[2] = {from & 1 ? from++ : 0, to & 1 ? --to : 0};
            for (int k = 0; k < 2; k++)
                if (nodes[k] && put) t->sides[--t->starts[nodes[k]]] = (uint16_t)i;
                else if (nodes[k]) t->starts[nodes[k]]++;
        }
    }
}

/* Where side i is at a height between its ends, as the rule says. */
static double side_at(const aoi_shape *p, const aoi_side_tree *t, uint32_t i, double y) {
    const double *a = p->points + 2 * (size_t)i, *b = p->points + 2 * (size_t)t->before[i];
    return (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0];
}

static int by_key(const void *a, const void *b) {
    return by_value(&((const side_key *)a)->key, &((const side_key *)b)->key);
}

/* Orders the sides of a node from left to right; false if they cross, by more than rounding. */
static bool order_sides(const aoi_shape *p, const aoi_side_tree *t, uint32_t node, side_key *keys) {
    const uint32_t from = t->starts[node], n = t->starts[node + 1] - from;
    uint32_t first = node, last = node + 1;
    for (; first < p->leaves; first *= 2) last *= 2;
    first -= p->leaves, last -= p->leaves;
    const double low = t->levels[first], high = t->levels[last < p->levels ? last : p->levels - 1];
    double most[2] = {-INFINITY, -INFINITY};
    bool ordered = true;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t side = t->sides[from + i];
        keys[i] = (side_key){side_at(p, t, side, low) + side_at(p, t, side, high), side};
    }
    qsort(keys, n, sizeof *keys, by_key);
    for (uint32_t i = 0; i < n; i++) {
        t->sides[from + i] = (uint16_t)keys[i].side;
        for (int k = 0; k < 2; k++) {
            const double x = side_at(p, t, keys[i].side, k ? high : low);
            ordered = ordered && x >= most[k] - p->room;
            most[k] = fmax(most[k], x);
        }
    }
    return ordered;
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

/* How many of the ordered sides [i, end) a ray from (x, y) crosses. */
static uint32_t crossed_in_order(const aoi_shape *p, const aoi_side_tree *t, uint32_t i, uint32_t end, double x,
                                 double y) {
    uint32_t from = i, to = end, crossed = 0;
    while (from < to) {
        const uint32_t mid = (from + to) / 2;
        if (side_at(p, t, t->sides[mid], y) > x + 2 * p->room) to = mid;
        else from = mid + 1;
    }
    for (uint32_t k = to; k > i; k--) {
        const double at = side_at(p, t, t->sides[k - 1], y);
        if (at < x - 2 * p->room) break; /* so are all before it */
        crossed += x < at;
    }
    return crossed + end - to;
}

static bool in_tree(const aoi_shape *p, const aoi_side_tree *t, double dx, double dy) {
    uint32_t crossed = 0;
    if (!(t->levels[0] <= dy && dy < t->levels[p->levels - 1])) return false;
    for (uint32_t node = p->leaves + level_at(p, t->levels, dy); node; node /= 2) {
        uint32_t i = t->starts[node] / 2;
        const uint32_t end = t->starts[node + 1] / 2;
        if (t->starts[node] & 1) crossed += crossed_in_order(p, t, i, end, dx, dy);
        else
            for (; i < end; i++) crossed += dx < side_at(p, t, t->sides[i], dy);
    }
    return crossed & 1;
}

bool aoi_in_side_tree(const aoi_shape *p, double dx, double dy) {
    const aoi_side_tree t = aoi_side_tree_of(p);
    if (p->columns) {
        const double x = (dx - t.box[0]) * t.box[2], y = (dy - t.box[1]) * t.box[3];
        if (!(x >= 0 && x < p->columns && y >= 0 && y < p->columns)) return false;
        const unsigned char is = t.cells[(uint32_t)y * p->columns + (uint32_t)x];
        if (is != CELL_MIXED) return is;
    }
    return in_tree(p, &t, dx, dy);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Rising with v, so that what is between two places is in the cells between theirs. */
static uint32_t cell_at(const aoi_side_tree *t, int axis, double v) {
    return (uint32_t)((v - t->box[axis]) * t->box[2 + axis]);
}

/* Marks the cells of a side, and whatever rounding may count as beside it. */
static void mark_side(aoi_shape *p, const aoi_side_tree *t, uint32_t i) {
    const double *a = p->points + 2 * (size_t)i, *b = p->points + 2 * (size_t)t->before[i];
    const double low = fmin(a[1], b[1]), high = fmax(a[1], b[1]);
    for (uint32_t row = cell_at(t, 1, low), last = cell_at(t, 1, high); row <= last; row++) {
        const double from = fmax(low, t->box[1] + (row - 0x1p-10) / t->box[3]);
        const double to = fmin(high, t->box[1] + (row + 1 + 0x1p-10) / t->box[3]);
        const double u = low < high ? side_at(p, t, i, from) : a[0], v = low < high ? side_at(p, t, i, to) : b[0];
        const uint32_t left = cell_at(t, 0, fmin(u, v) - p->room), right = cell_at(t, 0, fmax(u, v) + p->room);
        memset(t->cells + (size_t)row * p->columns + left, CELL_MIXED, right - left + 1);
    }
}

/* No cells for a polygon that is too far off, or has too flat sides, for the rounding of their borders. */
static void fill_cells(aoi_shape *p, const double *most) {
    const aoi_side_tree t = aoi_side_tree_of(p);
    const double size = fmax(most[0], most[1]), pad = p->room + size * 0x1p-20;
    bool good = isfinite(p->room);
    for (uint32_t axis = 0; axis < 2; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < p->corners; i++) {
            low = fmin(low, p->points[2 * i + axis]);
            high = fmax(high, p->points[2 * i + axis]);
        }
        t.box[axis] = low - pad;
        t.box[2 + axis] = p->columns / (high - low + 2 * pad);
        good = good && size > 1e-150 && high - low > size * 0x1p-20 && p->room * t.box[2 + axis] < 1;
    }
    memset(t.cells, good ? 0 : CELL_MIXED, (size_t)p->columns * p->columns);
    for (uint32_t i = 0; i < p->corners && good; i++) mark_side(p, &t, i);
    for (uint32_t i = 0; i < p->columns * p->columns && good; i++) {
        const uint32_t row = i / p->columns, column = i % p->columns;
        if (t.cells[i] == CELL_MIXED) continue;
        if (column && t.cells[i - 1] != CELL_MIXED) t.cells[i] = t.cells[i - 1]; /* no side is between them */
        else t.cells[i] = in_tree(p, &t, t.box[0] + (column + 0.5) / t.box[2], t.box[1] + (row + 0.5) / t.box[3]);
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool aoi_side_tree_is_of(const aoi_shape *p, const aoi_area *a) {
    if (!p || !p->bytes || !p->rings || p->corners != (uint32_t)a->corners) return false;
    if (p->rings != (a->rings ? (uint32_t)a->rings : 1)) return false;
    return !memcmp(p->points, a->points, 2 * p->corners * sizeof *p->points) &&
           (!a->rings || !memcmp(aoi_side_tree_of(p).ends, a->ends, p->rings * sizeof *a->ends));
}

aoi_shape *aoi_side_tree_fill(aoi_records *r, const aoi_area *a) {
    aoi_shape *p = r->shape_scratch;
    double most[2], flattest;
    p->rings = a->rings ? (uint32_t)a->rings : 1;
    p->leaves = 2 * p->corners; /* more than there will be */
    for (p->columns = 16; p->columns * p->columns < 4 * p->corners;) p->columns *= 2;
    if (!(p = aoi_shape_scratch(r, tree_bytes(p, 0)))) return NULL;
    fill_rings(p, a);
    fill_levels(p);
    p->room = 4 * aoi_measure_polygon(p, most, &flattest);
    aoi_side_tree t = aoi_side_tree_of(p);
    const uint32_t nodes = 2 * p->leaves;
    memset(t.starts, 0, (nodes + (size_t)1) * sizeof *t.starts);
    spread_sides(p, &t, false);
    for (uint32_t i = 1; i <= nodes; i++) t.starts[i] += t.starts[i - 1];
    const uint32_t bytes = (uint32_t)((tree_bytes(p, t.starts[nodes]) + 7) / 8 * 8);
    if (!(p = aoi_shape_scratch(r, bytes + p->corners * sizeof(side_key)))) return NULL;
    t = aoi_side_tree_of(p);
    memset(t.sides + t.starts[nodes], 0, bytes - tree_bytes(p, t.starts[nodes]));
    spread_sides(p, &t, true);
    for (uint32_t i = 1; i < nodes; i++) {
        const bool many = t.starts[i + 1] - t.starts[i] > FEW_SIDES;
        const bool ordered = many && order_sides(p, &t, i, (side_key *)((char *)p + bytes));
        t.starts[i] = t.starts[i] << 1 | ordered;
    }
    t.starts[nodes] <<= 1;
    fill_cells(p, most);
    p->bytes = bytes;
    return p;
}
