/* shapes.h - the shapes of areas: fields, bounds, inside.  A seventh shape is one entry in the table of shapes.c.
 *
 *   square  circle  box      cylinder   sector        polygon
 *   +---+    .-.    +-----+   .-.         .-._        +--.
 *   | w |   ( w )   |  w  |  ( w )=h     w    )       | w \         all of them around the watcher w; in 3D cylinder,
 *   +---+    '-'    +-----+   '-'         '-'         +----+        sector and polygon have a height of their own
 *
 * The area record holds squares and circles themselves, as most areas are; the parameters of the others are a block. */
#ifndef AOI_SHAPES_H
#define AOI_SHAPES_H

#include "core/space_records.h"

/* fields of an area, as bits */
enum {
    AOI_FIELD_RADIUS = 1,
    AOI_FIELD_KEEP = 2,
    AOI_FIELD_MARGIN = 4,
    AOI_FIELD_EXTENTS = 8,
    AOI_FIELD_HALF_HEIGHT = 16,
    AOI_FIELD_FACING = 32,
    AOI_FIELD_ANGLE = 64,
    AOI_FIELD_POINTS = 128
};

/* All of an area but its owner: of a node, or of one that is being added. */
typedef struct aoi_area_state {
    aoi_area_record area;
    uint64_t mask;
    uint8_t shape;
    bool margined; /* it has a zone BETWEEN, or is `outside` */
    bool fixed;    /* extents of targets do not count */
    bool outside;  /* the node sees what the area does not hold */
    bool layered;  /* it has layers of its own, not those of its owner */
    uint64_t layers;
    double reach[2];
    const char *label; /* of a given area: the host's text */
} aoi_area_state;

/* NULL, or what is wrong with the area in `dims` dimensions: the name of a field and what it must be. */
const char *aoi_area_fault(int dims, const aoi_area *a);

/* The state of a valid area.  Its parameters, if it needs a block, are in *scratch, which is made once with room for
 * any.  False when memory is refused. */
bool aoi_area_borrow(aoi_memory *m, aoi_shape **scratch, int dims, const aoi_area *a, aoi_area_state *out);
size_t aoi_shape_bytes(uint32_t corners); /* of a block */

/* The area as it was given. */
void aoi_area_describe(const aoi_area_state *is, aoi_area *out);

/* Whether a target at t is inside the area of a watcher at w, grown by margin and extent; not for squares, circles. */
bool aoi_shape_holds(int dims, int shape, const aoi_area_record *a, const double *w, const double *t, double margin,
                     double extent);

/* A side's part of the even-odd rule: whether a ray from the point (dx, dy), relative to the watcher, crosses side i, which
 * comes from corner j.  Each side includes only its lower end. */
static inline bool aoi_crosses_side(const aoi_shape *p, uint32_t i, uint32_t j, double dx, double dy) {
    double xi = p->points[2 * i], yi = p->points[2 * i + 1], xj = p->points[2 * j], yj = p->points[2 * j + 1];
    return (yi > dy) != (yj > dy) && dx < (xj - xi) * (dy - yi) / (yj - yi) + xi;
}

/* The sides of a polygon in floats, four at a time, as aoi_f32_beside() takes them; side i comes from the corner before i. */
typedef float aoi_four_sides[5][4];

static inline aoi_four_sides *aoi_sides_of(const aoi_shape *p) {
    return (aoi_four_sides *)(uintptr_t)(p->points + 2 * (size_t)p->corners);
}

/* The fields that a shape must have, and may have; without heights in 2 dimensions.  A shape that does not exist in so
 * few dimensions takes none. */
unsigned aoi_shape_needs(int shape, int dims);
unsigned aoi_shape_takes(int shape, int dims);

#endif
