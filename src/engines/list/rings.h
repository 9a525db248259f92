/* rings.h - points and rings in tiles: looking around instead of passing edges.
 *
 *      . . .           A ring is the centre of a node that is not a plain box (a circle, a margin, a sector, a polygon), with
 *    .  ---  .         an inner border, within which a target is surely seen, and an outer one, beyond which it is not.
 *   .  /   \  .        Where a move passes neither border of a pair, nothing changes.
 *   . |  +  | .
 *   .  \   /  .        field   a tile map of one side; all points are in one field, rings in the field of their reach
 *    .  ---  .         bag     unrolled list of a tile, in no order: a stack of blocks, of which the first has room
 *      . . .
 *   bag  head -> [ x x x . | y y y . | ref ref ref . ] -> [ x x .. x | y y .. y | ref .. ref ]      of points
 *                [ x x . | y y . | inner . | outer . | ref ref . ]                                   of rings
 *
 * Coordinates are floats, counted from the tile's corner in sides of a tile; borders are squared, in the same unit.  So a
 * vector instruction compares four pairs (simd.h), and the cost of a look is that of the tiles within the outer border.
 * The side of the points' tiles follows from how many are in a tile; that of rings from their reach. */
#ifndef AOI_RINGS_H
#define AOI_RINGS_H

#include "engines/list/tiles.h"

enum { AOI_POINT_LANES = 2, AOI_RING_LANES = 4 };

typedef struct aoi_bag { /* behind this head: the lanes, of as many floats as it has entries, then the refs */
    uint32_t next, tile, count, size;
} aoi_bag;

struct aoi_field {
    aoi_tile_map map; /* a bag starts at the head of the tile's first list */
    int lanes;
    uint32_t nodes;         /* of rings */
    uint64_t masks;         /* of rings: kinds that they may see */
    bool excepts;           /* of rings: some may have exceptions for single targets, of any kind */
    bool seeks;             /* of rings: their nodes looked for the sought alone when they came */
    double most;            /* of rings: no reach is larger */
    double low[2], high[2]; /* of rings: none reaches beyond */
    uint32_t next_check;    /* of points: when so many entities and tiles are there, the side is reconsidered */
};

static inline int aoi_bag_cap(uint32_t size, int lanes) {
    return ((int)AOI_BLOCK_LINES[size] * AOI_CACHE_LINE - (int)sizeof(aoi_bag)) / (4 * (lanes + 1));
}

static inline float *aoi_bag_lane(aoi_bag *b, int lanes, int lane) {
    return (float *)(void *)(b + 1) + lane * aoi_bag_cap(b->size, lanes);
}

static inline uint32_t *aoi_bag_refs(aoi_bag *b, int lanes) {
    return (uint32_t *)(void *)aoi_bag_lane(b, lanes, lanes);
}

/* bags.c; an insertion needs an unused block. */
uint32_t *aoi_bag_home(const aoi_list *g, const aoi_field *f, uint32_t ref); /* the word that has an entry's place */
void aoi_bag_insert(aoi_list *g, aoi_field *f, uint32_t tile, const float *values, uint32_t ref);
void aoi_bag_remove(aoi_list *g, aoi_field *f, uint32_t place);
aoi_bag *aoi_bag_of(const aoi_list *g, uint32_t block);
uint32_t aoi_point_beside(const aoi_list *g, uint32_t entity); /* another entity close by, or AOI_NONE */

/* An insertion needs its tile and an unused block: _ready is false when memory is refused.  A move within a tile needs
 * neither. */
bool aoi_field_ready(aoi_list *g, aoi_field *f, const double *at);
bool aoi_field_stays(const aoi_list *g, const aoi_field *f, uint32_t place, const double *from, const double *to);
void aoi_points_open(aoi_list *g);
void aoi_points_insert(aoi_list *g, uint32_t entity, const double *at);
void aoi_points_remove(aoi_list *g, uint32_t entity);
void aoi_points_move(aoi_list *g, uint32_t entity, const double *from, const double *to);
bool aoi_points_step(aoi_list *g, uint32_t entity, const double *to);
void aoi_points_tidy(aoi_list *g); /* reconsiders the side of their tiles */

/* For nodes of this reach, those apart that look for the sought alone; cannot fail. */
aoi_field *aoi_rings_field(aoi_list *g, const aoi_bounds *b, bool seeks);
void aoi_rings_note_mask(aoi_list *g, uint32_t node);
void aoi_rings_insert(aoi_list *g, aoi_field *f, uint32_t node, const double *at, const aoi_bounds *b);
void aoi_rings_remove(aoi_list *g, uint32_t node);
void aoi_rings_tidy(aoi_list *g);
void aoi_rings_move(aoi_list *g, uint32_t node, const double *from, const double *to);

/* Adds a candidate for each ring that the entity may pass, or each point that the node's borders may pass. */
void aoi_rings_passed(aoi_list *g, uint32_t entity, const double *from, const double *to);
void aoi_points_passed(aoi_list *g, uint32_t node, const double *from, const double *to);

/* Adds a hit for each entity in the box, or each ring around the point. */
void aoi_points_in_box(aoi_list *g, const double *lo, const double *hi);
void aoi_rings_around(aoi_list *g, const double *at);

void aoi_fields_close(aoi_list *g);
const char *aoi_fields_check(aoi_list *g);

#endif
