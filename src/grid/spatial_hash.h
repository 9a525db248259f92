/* spatial_hash.h - a sparse, unbounded field of square cells, and the items in them.
 *
 *         |       |       |             cell (cx, cy) holds the points with floor(x / side) = cx, floor(y / side) = cy
 *   ------+-------+-------+------       (lattice.h); it records its eight neighbours and the head bucket of each
 *         | -1, 0 |  0, 0 |
 *   ------+-------+-------+------       its items are in buckets of fourteen; only the head bucket has gaps:
 *         |       |       |             cell -> [ x x . . | y y . . | next  ] -> [ full ] -> [ full ]
 *                                               [ ref ref . .       | count ]
 *
 * A bucket keeps fixed-point coordinates: multiples of 1/8192 of a side, rounded down, of which the low 16 bits are
 * stored.  They are unique within 8 cells, which is enough to reject nearly all items a bucket at a time.
 * Coordinates and the link to the next bucket share one cache line; refs are in the other, read only for items that
 * hit. Exact positions are in the records.
 *
 * Items may carry how far their areas reach, in a column beside the buckets: a query then leaves out both those that
 * surely do not reach its place and those that surely do.
 *
 * Only cells that have held something since the last `tidy` exist: memory follows the items, not the map.  A coarse
 * cell is a square of 8 x 8 cells with a chain of those that exist.  Searches from far away read coarse cells instead
 * of all cells. Method: spatial hashing (Teschner et al. 2003); the "nine-grid" of the AOI literature. */
#ifndef AOI_SPATIAL_HASH_H
#define AOI_SPATIAL_HASH_H

#include "base/lattice.h"
#include "core/parts.h"
#include "core/space_records.h"

enum { AOI_BUCKET_ITEMS = 14, AOI_BUCKET_LANES = 16 }; /* slots are numbered bucket * AOI_BUCKET_LANES + lane */

typedef struct aoi_bucket {
    _Alignas(AOI_CACHE_LINE) uint16_t x[AOI_BUCKET_ITEMS];
    uint16_t bits[2]; /* a bit for each item: [0] all, (1 << count) - 1; [1] marked ones */
    uint16_t y[AOI_BUCKET_ITEMS];
    uint32_t next; /* the next bucket of the cell, or AOI_NONE */
    uint32_t ref[AOI_BUCKET_ITEMS];
    uint32_t count;
} aoi_bucket;

typedef struct aoi_cell { /* a query around the cell reads its first cache line and the buckets, nothing else */
    _Alignas(AOI_CACHE_LINE) int32_t cx;
    int32_t cy;
    uint32_t count;                                /* items; UINT32_MAX for a number without a cell */
    uint32_t head[9];                              /* head buckets of the block of nine, row by row; [4] is its own */
    double begin[2];                               /* least fixed-point coordinates of the block; see aoi_block_begin */
    _Alignas(AOI_CACHE_LINE) uint32_t neighbor[9]; /* cells of the block in the same order, AOI_NONE if missing */
    uint32_t next;                                 /* another cell of its coarse cell, or AOI_NONE */
} aoi_cell;

enum { AOI_COARSE_BITS = 3, AOI_COARSE = 1 << AOI_COARSE_BITS }; /* cells on a side of a coarse one */

typedef struct aoi_coarse_cell {
    int32_t cx, cy;
    uint32_t first; /* of its cells, or AOI_NONE */
} aoi_coarse_cell;

_Static_assert(sizeof(aoi_bucket) == 2 * AOI_CACHE_LINE, "a bucket is two cache lines");
_Static_assert(offsetof(aoi_bucket, y) == sizeof(uint16_t) * AOI_BUCKET_LANES, "bits fill up the lanes of x");
_Static_assert(offsetof(aoi_bucket, ref) == AOI_CACHE_LINE, "coordinates are one of them, refs the other");
_Static_assert(offsetof(aoi_cell, neighbor) == AOI_CACHE_LINE, "what a query reads of a cell is one cache line");

typedef struct aoi_spatial_hash {
    double side, scale; /* scale: fixed-point units per unit of length */
    aoi_cell *cells;
    uint32_t cap, top, unused, used, empty; /* used: cells that exist; empty: those of them without items */
    uint32_t count;                         /* items */
    bool of_nodes;                          /* the items are nodes, at the places of their owners, not entities */
    bool carries;                           /* there is a column of reaches */
    aoi_bucket *buckets;
    int16_t *reach; /* by slot, see aoi_item_reach() */
    uint32_t bucket_cap, bucket_top, unused_bucket, reach_cap;
    aoi_coarse_cell *coarse;
    uint32_t coarse_cap, coarse_count;
    aoi_hash_index index, coarse_index;
} aoi_spatial_hash;

void aoi_spatial_open(aoi_spatial_hash *h, double side, bool of_nodes);
void aoi_spatial_close(aoi_memory *m, aoi_spatial_hash *h);

/* ---- fixed-point coordinates ------------------------------------------------------------------------------------- */

#define AOI_FIXED_BITS 13 /* of a coordinate within its cell */
#define AOI_FIXED_MOST ((int64_t)AOI_CELL_MOST << AOI_FIXED_BITS)

enum { AOI_MIDDLE = 4 }; /* the cell itself in the block of nine */

static inline int aoi_cell_direction(int dx, int dy) {
    return (dy + 1) * 3 + dx + 1;
}

static inline int64_t aoi_floor_to_int(double k) {
    int64_t i = (int64_t)k;
    return i - (k < (double)i);
}

static inline int64_t aoi_fixed(double scale, double v) {
    double k = v * scale;
    if (k > (double)-AOI_FIXED_MOST && k < (double)AOI_FIXED_MOST) return aoi_floor_to_int(k);
    return k > 0 ? AOI_FIXED_MOST : -AOI_FIXED_MOST;
}

static inline int64_t aoi_fixed_of(const aoi_spatial_hash *h, double v) {
    return aoi_fixed(h->scale, v);
}

static inline int32_t aoi_cell_of_fixed(int64_t fixed) {
    return (int32_t)(fixed >> AOI_FIXED_BITS); /* arithmetic shift: rounds down */
}

/* Where the block of nine around a cell begins.  NaN at the border of the lattice: the outermost cells are clamped, so
 * coordinates relative to them are meaningless and every comparison with them fails. */
static inline double aoi_block_begin(int32_t k) {
    return k > 1 - AOI_CELL_MOST && k < AOI_CELL_MOST - 1 ? ((double)k - 1) * (1 << AOI_FIXED_BITS) : (double)NAN;
}

/* ---- cells and items --------------------------------------------------------------------------------------------- */

static inline uint32_t aoi_spatial_find(const aoi_spatial_hash *h, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&h->index, hash, &at)) != AOI_NONE)
        if (h->cells[i].cx == cx && h->cells[i].cy == cy) break;
    return i;
}

static inline bool aoi_cell_exists(const aoi_cell *k) {
    return k->count != UINT32_MAX;
}

/* Whether (cx, cy) is the cell itself or one of its neighbours. */
static inline bool aoi_cell_touches(const aoi_cell *k, int32_t cx, int32_t cy) {
    return (uint32_t)cx - (uint32_t)k->cx + 1 <= 2 && (uint32_t)cy - (uint32_t)k->cy + 1 <= 2;
}

/* The cell of a point, made if it is missing, with room for one more item; AOI_NONE when memory is refused.  `near`: a
 * cell that may be that one or a neighbour, or AOI_NONE; it saves a look-up.  O(1). */
uint32_t aoi_spatial_reserve(aoi_memory *m, aoi_spatial_hash *h, uint32_t near, const double *at);
/* Inserts an item into a cell that was reserved; returns its slot.  O(1). */
uint32_t aoi_spatial_insert(aoi_spatial_hash *h, uint32_t cell, const double *at, uint32_t ref, bool marked);
/* Removes an item; returns the ref of the item that now has its slot, or AOI_NONE.  O(1). */
uint32_t aoi_spatial_remove(aoi_spatial_hash *h, uint32_t cell, uint32_t slot);

static inline bool aoi_spatial_is_marked(const aoi_spatial_hash *h, uint32_t slot) {
    return h->buckets[slot / AOI_BUCKET_LANES].bits[1] >> slot % AOI_BUCKET_LANES & 1;
}

static inline void aoi_spatial_mark(aoi_spatial_hash *h, uint32_t slot, bool marked) {
    uint16_t *bits = h->buckets[slot / AOI_BUCKET_LANES].bits + 1, bit = (uint16_t)(1u << slot % AOI_BUCKET_LANES);
    *bits = (uint16_t)(marked ? *bits | bit : *bits & ~bit);
}

/* Stores new coordinates of an item that stays in its cell.  False, and nothing stored, if `at` is in another cell, or
 * in a clamped cell at the border of the lattice. */
static inline bool aoi_spatial_update(aoi_spatial_hash *h, uint32_t cell, uint32_t slot, const double *at) {
    const double *begin = h->cells[cell].begin, side = 1 << AOI_FIXED_BITS;
    double x = at[0] * h->scale, y = at[1] * h->scale, x0 = begin[0] + side, y0 = begin[1] + side;
    if (!(x0 <= x && x < x0 + side && y0 <= y && y < y0 + side)) return false;
    aoi_bucket *b = h->buckets + slot / AOI_BUCKET_LANES;
    b->x[slot % AOI_BUCKET_LANES] = (uint16_t)aoi_floor_to_int(x);
    b->y[slot % AOI_BUCKET_LANES] = (uint16_t)aoi_floor_to_int(y);
    return true;
}

/* Whether aoi_spatial_tidy has something to do: enough empty cells to pay for one walk over all, or no item at all. */
static inline bool aoi_spatial_is_untidy(const aoi_spatial_hash *h) {
    return h->empty >= 32 ? h->empty >= h->used / 4 : h->used && !h->count;
}

/* Removes empty cells, and releases all storage when no item is left.  O(cells). */
void aoi_spatial_tidy(aoi_memory *m, aoi_spatial_hash *h);

/* Whether a walk over all cells is shorter than one over the span. */
static inline bool aoi_span_is_wide(const aoi_spatial_hash *h, const aoi_span *s) {
    return ((double)s->x1 - s->x0 + 1) * ((double)s->y1 - s->y0 + 1) > (double)h->top + 1;
}

/* Reports each cell as a part, with its items as entries. */
void aoi_spatial_describe(const aoi_spatial_hash *h, aoi_describer *d, int part, uint32_t level, int entry);

/* ---- items with records: entities or nodes, whose records hold their cells and slots ----------------------------- */

static inline const double *aoi_item_position(const aoi_records *r, const aoi_spatial_hash *h, uint32_t ref) {
    return r->entities[h->of_nodes ? r->nodes[ref].owner : ref].pos;
}

static inline aoi_cell_slot *aoi_item_place(const aoi_records *r, const aoi_spatial_hash *h, uint32_t ref) {
    return h->of_nodes ? &r->nodes[ref].place : &r->entities[ref].place;
}

/* How far the area of a node reaches, in fixed-point units, rounded down; of an entity those of its nodes that are
 * `carried`: 0 without one, the greatest with its sign changed where there are several. */
int16_t aoi_item_reach(const aoi_records *r, const aoi_spatial_hash *h, uint32_t ref);
/* Adds the column of reaches; false when memory is refused. */
bool aoi_items_carry(aoi_records *r, aoi_spatial_hash *h);

/* Makes a node `carried` by the item of its owner, or no longer; it need not be in the owner's chain. */
void aoi_item_carry(aoi_records *r, aoi_spatial_hash *h, uint32_t node, bool carried);

/* Into a cell that was reserved. */
void aoi_item_insert(aoi_records *r, aoi_spatial_hash *h, uint32_t cell, const double *at, uint32_t ref, bool marked);
void aoi_item_remove(aoi_records *r, aoi_spatial_hash *h, uint32_t ref);
bool aoi_item_change_cell(aoi_records *r, aoi_spatial_hash *h, uint32_t ref, const double *to);

/* False when memory is refused, and then nothing has changed. */
static inline bool aoi_item_move(aoi_records *r, aoi_spatial_hash *h, uint32_t ref, const double *to) {
    const aoi_cell_slot *p = aoi_item_place(r, h, ref);
    return aoi_spatial_update(h, p->cell, p->slot, to) || aoi_item_change_cell(r, h, ref, to);
}

/* Moves all items into cells of another side; false when memory is refused, and then nothing has changed.  O(items). */
bool aoi_items_resize(aoi_records *r, aoi_spatial_hash *h, double side);
/* The same of entities, by their slots, so that their order tells nothing of the cells before; slower. */
bool aoi_entities_resize(aoi_records *r, aoi_spatial_hash *h, double side);

/* Calls f for each item, in the order of the cells. */
typedef void (*aoi_item_visit)(void *ud, uint32_t ref);
void aoi_each_item(const aoi_spatial_hash *h, aoi_item_visit f, void *ud);

#endif
