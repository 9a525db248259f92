/* tiles.h - the plane cut into square tiles, and the sorted lists of the tiles of a level.
 *
 *   tile map  the tiles of one side that are in use, found by a hash of their numbers
 *   level     a tile map for nodes of about one reach, so that a    +-------+-------+
 *             side of a box runs through two tiles at most          |   +---|---+   |  an edge stands in every tile that
 *   tile      a sorted list for each axis (block_list.h)            |   | w |   |   |  its side of the box runs through,
 *   entry     a point, or a low or high edge, and its slot          +---|---+---|---+  a point in its own, of every level
 *
 *   point_places  of an entity in a level: its place in each list
 *   edge_places   of a node: the places of its edges, by axis, side and parity of the tile */
#ifndef AOI_TILES_H
#define AOI_TILES_H

#include "base/lattice.h"
#include "core/engine.h"
#include "engines/list/block_list.h"

#define AOI_DEFAULT_SIDE 128.0
#define AOI_LEAST_SIDE 0x1p-199 /* the inverse must be finite */
enum { AOI_MOST_LEVELS = 64 };

/* ---- tile maps --------------------------------------------------------------------------------------------------- */

typedef struct aoi_tile {
    int32_t tx, ty;
    aoi_block_list axis[3];
    uint32_t entries; /* of an unused tile: the next one */
} aoi_tile;

typedef struct aoi_tile_map {
    double side, inverse;
    aoi_tile *tiles;
    uint32_t cap, top, unused, used, empty;
    aoi_hash_index index;
} aoi_tile_map;

static inline int32_t aoi_tiles_number(const aoi_tile_map *t, double v) {
    return aoi_cell_number(v, t->inverse);
}

static inline uint32_t aoi_tiles_find(const aoi_tile_map *t, int32_t tx, int32_t ty) {
    uint32_t hash = aoi_cell_hash(tx, ty), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&t->index, hash, &at)) != AOI_NONE)
        if (t->tiles[i].tx == tx && t->tiles[i].ty == ty) break;
    return i;
}

static inline aoi_span aoi_tiles_span(const aoi_tile_map *t, const double *lo, const double *hi) {
    return (aoi_span){aoi_tiles_number(t, lo[0]), aoi_tiles_number(t, lo[1]), aoi_tiles_number(t, hi[0]),
                      aoi_tiles_number(t, hi[1])};
}

static inline aoi_span aoi_tiles_span_around(const aoi_tile_map *t, const double *p, double rx, double ry) {
    return aoi_tiles_span(t, (const double[2]){p[0] - rx, p[1] - ry}, (const double[2]){p[0] + rx, p[1] + ry});
}

static inline bool aoi_tiles_same(const aoi_tile_map *t, const double *p, const double *q) {
    return aoi_tiles_number(t, p[0]) == aoi_tiles_number(t, q[0]) &&
           aoi_tiles_number(t, p[1]) == aoi_tiles_number(t, q[1]);
}

static inline void aoi_tiles_count(aoi_tile_map *t, aoi_tile *tile, int change) { /* of its entries, by 1 */
    t->empty += (change < 0 && tile->entries == 1);
    t->empty -= (change > 0 && tile->entries == 0);
    tile->entries += (uint32_t)change;
}

uint32_t aoi_tiles_make(aoi_memory *m, aoi_tile_map *t, int32_t tx, int32_t ty); /* AOI_NONE: memory is refused */
bool aoi_tiles_make_all(aoi_memory *m, aoi_tile_map *t, const aoi_span *s);
void aoi_tiles_tidy(aoi_tile_map *t); /* removes empty tiles if there are many */
void aoi_tiles_close(aoi_memory *m, aoi_tile_map *t);

/* ---- levels ------------------------------------------------------------------------------------------------------ */

typedef struct aoi_level {
    aoi_tile_map map; /* side 0: unused */
    uint32_t *point_places;
    uint32_t place_cap;
    uint32_t nodes, natives, idle; /* natives: of nodes; the others are guests; idle: moves since natives are few */
} aoi_level;

/* Whether natives are not hardly any of so many nodes. */
static inline bool aoi_level_has_natives(const aoi_level *y, uint32_t nodes) {
    return y->natives && y->natives >= nodes / 16;
}

typedef struct aoi_list aoi_list; /* list.h */

static inline uint32_t *aoi_point_places(const aoi_level *y, int dims, uint32_t entity) {
    return y->point_places + (size_t)entity * (size_t)dims;
}

/* Two sides of two parities for x and for y, and of four for the height. */
static inline uint32_t aoi_edge_count(int dims) {
    return dims == 2 ? 8 : 16;
}

/* The tiles that an edge runs through differ in parity. */
static inline int aoi_tiles_parity(int axis, int32_t tx, int32_t ty) {
    return axis == 0 ? ty & 1 : axis == 1 ? tx & 1 : (tx & 1) * 2 + (ty & 1);
}

/* The base of the keys of a tile's list: its lower corner on this axis; 0 for the height and for an infinite tile. */
static inline double aoi_tiles_base(const aoi_tile_map *t, int axis, int32_t tx, int32_t ty) {
    double corner = axis < 2 ? t->side * (axis == 0 ? tx : ty) : 0;
    return isfinite(corner) ? corner : 0;
}

/* The tiles that this side of the box runs through; of the height's edges, all that the box covers. */
static inline aoi_span aoi_tiles_span_of_edge(const aoi_span *box, int axis, int side) {
    aoi_span s = *box;
    if (axis == 0) s.x0 = s.x1 = side == AOI_LOW ? s.x0 : s.x1;
    if (axis == 1) s.y0 = s.y1 = side == AOI_LOW ? s.y0 : s.y1;
    return s;
}

static inline double aoi_edge_at(const double *p, const double *reach, int axis, int side) {
    return side == AOI_LOW ? p[axis] - reach[axis] : p[axis] + reach[axis];
}

#endif
