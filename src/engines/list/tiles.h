/* tiles.h - the plane cut into tiles, in levels, and the entries that stand in the lists of each tile.
 *
 *   level  tiles of one side, for nodes of about one reach:    +-------+-------+   an edge stands in every tile that its
 *          a side of a box runs through two tiles at most      |   +---|---+   |   side of the box runs through, a point
 *   tile   a sorted list for each axis (block_list.h)           |   | w |   |   |   in its own, of every level
 *   entry  a point, or a low or high edge, and its slot        +---|---+---|---+
 *
 *   spot   of an entity in a level: its tile, its place in each list
 *   frame  of a node: the places of its edges, by axis, side and parity of the tile; and where its owner may go until a
 *          side of the box, or the owner in this level, comes to another tile
 *
 * list.c says what they are for. */
#ifndef AOI_TILES_H
#define AOI_TILES_H

#include "base/lattice.h"
#include "core/engine.h"
#include "engines/list/alike.h"
#include "engines/list/block_list.h"
#include "engines/list/move.h"

#define AOI_DEFAULT_SIDE 128.0
#define AOI_LEAST_SIDE 0x1p-199 /* finer tiles serve nobody, and the inverse must be finite */
enum { AOI_MOST_LEVELS = 64 };

typedef struct aoi_tile {
    int32_t tx, ty;
    aoi_chain axis[3];
    uint32_t entries;
} aoi_tile;

typedef struct aoi_level {
    double side, inverse; /* side 0: unused */
    aoi_tile *tiles;
    uint32_t cap, top, unused, used, empty;
    aoi_index index;
    uint32_t *spots; /* of each entity: its tile, then its place in each list */
    uint32_t spot_cap;
    uint32_t nodes, idle; /* idle: calls since the last node left */
    double most;          /* no reach is larger */
} aoi_level;

typedef struct aoi_list {
    aoi_engine head;
    double hint;
    aoi_chains chains;
    aoi_alike alike;
    aoi_stride stride;
    aoi_strider propose; /* what is planned there */
    uint32_t *frames;    /* of each node: its places, by axis, side and parity of the tile (see `where`) */
    uint32_t *owners;    /* of each node */
    uint32_t frame_cap, owner_cap;
    aoi_level levels[AOI_MOST_LEVELS];
    int order[AOI_MOST_LEVELS], level_count; /* levels in use, by side */
} aoi_list;

/* ---- small questions ---------------------------------------------------------------------------------------------- */

static inline aoi_memory *aoi_tiles_memory(aoi_list *g) {
    return &g->head.world->memory;
}

static inline int aoi_tiles_dims(const aoi_list *g) {
    return g->head.world->dims;
}

static inline uint32_t *aoi_tiles_spot_of(const aoi_list *g, const aoi_level *y, uint32_t entity) {
    return y->spots + (size_t)entity * (size_t)(1 + aoi_tiles_dims(g));
}

/* Frames hold the places, 2 sides * 2 parities for x and for y, and 2 * 4 for the height; then the safe area. */
static inline uint32_t aoi_tiles_frame_places(const aoi_list *g) {
    return aoi_tiles_dims(g) == 2 ? 8 : 16;
}

static inline size_t aoi_tiles_frame_words(const aoi_list *g) {
    return aoi_tiles_frame_places(g) + 4;
}

static inline uint32_t *aoi_tiles_frame_of(const aoi_list *g, uint32_t node) {
    return g->frames + node * aoi_tiles_frame_words(g);
}

/* From x, to x, from y, to y: positions of the owner.  Narrower rather than wider than it could be. */
static inline float *aoi_tiles_safe_of(const aoi_list *g, uint32_t node) {
    return (float *)(void *)(aoi_tiles_frame_of(g, node) + aoi_tiles_frame_places(g));
}

/* The word in which the place of an entry is remembered.  The tiles that an edge runs through differ in parity. */
static inline uint32_t *aoi_tiles_where(const aoi_list *g, uint32_t ref, const aoi_label *at) {
    int side = (int)(ref >> AOI_SIDE_SHIFT);
    uint32_t slot = ref & AOI_SLOT_MASK;
    if (side == AOI_POINT) return aoi_tiles_spot_of(g, g->levels + at->level, slot) + 1 + at->axis;
    int high = side == AOI_HIGH;
    return aoi_tiles_frame_of(g, slot) + (at->axis < 2 ? at->axis * 4 + high * 2 : 8 + high * 4) + at->parity;
}

static inline int aoi_tiles_parity_of(int axis, int32_t tx, int32_t ty) {
    return axis == 0 ? ty & 1 : axis == 1 ? tx & 1 : (tx & 1) * 2 + (ty & 1);
}

/* From where the keys of a tile's list count: its lower corner on this axis.  The height has none, nor has the one tile. */
static inline double aoi_tiles_base(const aoi_level *y, int axis, int32_t tx, int32_t ty) {
    double corner = axis < 2 ? y->side * (axis == 0 ? tx : ty) : 0;
    return isfinite(corner) ? corner : 0;
}

static inline int32_t aoi_tiles_number(const aoi_level *y, double v) {
    return aoi_cell_number(v, y->inverse);
}

static inline uint32_t aoi_tiles_find(const aoi_level *y, int32_t tx, int32_t ty) {
    uint32_t hash = aoi_cell_hash(tx, ty), at = AOI_SEEK, i;
    while ((i = aoi_index_next(&y->index, hash, &at)) != AOI_NONE)
        if (y->tiles[i].tx == tx && y->tiles[i].ty == ty) break;
    return i;
}

static inline aoi_span aoi_tiles_span_of_point(const aoi_level *y, const double *p) {
    int32_t tx = aoi_tiles_number(y, p[0]), ty = aoi_tiles_number(y, p[1]);
    return (aoi_span){tx, ty, tx, ty};
}

static inline aoi_span aoi_tiles_span_of_box(const aoi_level *y, const double *p, double r) {
    return (aoi_span){aoi_tiles_number(y, p[0] - r), aoi_tiles_number(y, p[1] - r), aoi_tiles_number(y, p[0] + r),
                      aoi_tiles_number(y, p[1] + r)};
}

static inline double aoi_tiles_edge(const double *p, double r, int axis, int side) {
    return side == AOI_LOW ? p[axis] - r : p[axis] + r;
}

/* The tiles that this side of the box runs through; of the height's edges, all that the box covers. */
static inline aoi_span aoi_tiles_span_of_edge(const aoi_span *box, int axis, int side) {
    aoi_span s = *box;
    if (axis == 0) s.x0 = s.x1 = side == AOI_LOW ? s.x0 : s.x1;
    if (axis == 1) s.y0 = s.y1 = side == AOI_LOW ? s.y0 : s.y1;
    return s;
}

/* What the blocks of a tile's list carry. */
static inline aoi_label aoi_tiles_label(const aoi_list *g, const aoi_level *y, uint32_t tile, int axis, int32_t tx,
                                        int32_t ty) {
    return (aoi_label){tile, (uint8_t)axis, (uint8_t)(y - g->levels), (uint8_t)aoi_tiles_parity_of(axis, tx, ty),
                       aoi_tiles_base(y, axis, tx, ty)};
}

static inline const aoi_level *aoi_tiles_finer_than(const aoi_list *g, int i) {
    return i > 0 ? g->levels + g->order[i - 1] : NULL;
}

static const aoi_span AOI_NOWHERE = {1, 1, 0, 0};

/* ---- entries: in two phases, so that packed lists have room: first all that leave a tile step out, then the others ---- */

enum { AOI_OUT, AOI_IN };

/* What stood in the tiles of s0, or at `from`, is to stand in those of s1, or at `to`; NULL, AOI_NOWHERE: not at all.
 * The tiles must be there, and blocks reserved, one for each entry. */
void aoi_tiles_shift_point(aoi_list *g, aoi_level *y, const aoi_level *finer, int phase, uint32_t entity,
                           const aoi_span *s0, const aoi_span *s1, const double *to);
void aoi_tiles_shift_box(aoi_list *g, aoi_level *y, int phase, uint32_t node, double r0, const double *from, double r1,
                         const double *to);
bool aoi_tiles_make(aoi_list *g, aoi_level *y, const aoi_span *s); /* false when memory is refused */
bool aoi_tiles_spots_ready(aoi_list *g, aoi_level *y, uint32_t entities);
void aoi_tiles_on_moved(void *ud, uint32_t ref, const aoi_block *b, uint32_t place); /* for the chains */

/* ---- levels --------------------------------------------------------------------------------------------------------- */

aoi_level *aoi_tiles_make_level(aoi_list *g, double side); /* with all entities; NULL when memory is refused */
aoi_level *aoi_tiles_level_for(aoi_list *g, double reach); /* found or made */
void aoi_tiles_drop_level(aoi_list *g, int i);             /* the i-th of `order` */
void aoi_tiles_free_level(aoi_list *g, aoi_level *y);
void aoi_tiles_clear_out(aoi_level *y); /* forgets empty tiles */
static inline void aoi_tiles_tidy(aoi_level *y) {
    if (y->empty >= 32 && y->empty >= y->used / 4) aoi_tiles_clear_out(y);
}

/* Whether the entry stands, with this value's key, in exactly the tiles of the span. */
bool aoi_tiles_stands(aoi_list *g, const aoi_level *y, const aoi_span *s, int axis, uint32_t ref, double value);
const char *aoi_tiles_check_level(aoi_list *g, const aoi_level *y, uint64_t *entries);

#endif
