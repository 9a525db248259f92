/* shapes.h - the shapes of areas: fields, bounds, inside.  Another shape is one entry in the table of shapes.c.
 *
 *   square  circle  box      cylinder   sector        polygon
 *   +---+    .-.    +-----+   .-.         .-._        +--.
 *   | w |   ( w )   |  w  |  ( w )=h     w    )       | w \         all of them around the watcher w; in 3D cylinder,
 *   +---+    '-'    +-----+   '-'         '-'         +----+        sector and polygon have a height of their own
 *
 * The area record holds squares and circles themselves, as most areas are; the parameters of the others are a block.
 * An area with an offset is of the shape AOI_SHIFTED, whatever it is around its own middle. */
#ifndef AOI_SHAPES_H
#define AOI_SHAPES_H

#include <string.h>

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
    AOI_FIELD_POINTS = 128,
    AOI_FIELD_RINGS = 256 /* instead of points */
};

/* All of an area but its owner: of a node, or of one that is being added. */
typedef struct aoi_area_state {
    aoi_area_record area;
    uint64_t mask;
    uint8_t shape; /* for the index: AOI_SHIFTED if it has an offset */
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

/* The state of a valid area.  Its parameters, if it needs a block, are in the records' scratch.  False when memory is
 * refused. */
bool aoi_area_borrow(aoi_records *r, const aoi_area *a, aoi_area_state *out);
size_t aoi_shape_bytes(uint32_t corners); /* of a block of few corners or none */

/* The greatest distances of corners from the watcher on each axis, and the least rise of a side that is not level; more
 * than the rule's rounding errors are on the first axis. */
double aoi_measure_polygon(const aoi_shape *p, double *most, double *flattest);

/* Whether it stands beside the watcher.  Every question asks, so by the bits of the numbers; -0.0 is 0. */
static inline bool aoi_area_has_offset(int dims, const aoi_area *a) {
    uint64_t bits[3];
    memcpy(bits, a->offset, sizeof bits);
    return (bits[0] | bits[1] | (dims == 3 ? bits[2] : 0)) << 1 != 0;
}

/* The area as it was given. */
void aoi_area_describe(const aoi_area_state *is, aoi_area *out);

/* Whether a target at t is inside the area of a watcher at w, grown by margin and extent; not for squares and
 * circles without an offset. */
bool aoi_shape_holds(int dims, int shape, const aoi_area_record *a, const double *w, const double *t, double margin,
                     double extent);

/* A sector faces another way. */
void aoi_shape_turn(aoi_shape *p, double facing);
typedef struct aoi_turn { /* of a sector that keeps nothing, seen from the watcher */
    double facing[2][2];  /* before and after */
    double lo[2], hi[2];  /* a box of what may change */
    double edge, far2;    /* c |c|; beyond far2 the square of a distance is outside */
} aoi_turn;
/* Whether two areas are one sector that keeps nothing, but for its facing: then the turn. */
bool aoi_turn_of(const aoi_area_state *was, const aoi_area_state *is, aoi_turn *t);
/* Whether a target without an extent is surely where it was for such a sector: the rule need not be asked.  Instead of
 * d.f and c |d| their squares with their signs are compared. */
static inline bool aoi_turn_keeps(const aoi_turn *u, const double *w, const double *t) {
    double dx = t[0] - w[0], dy = t[1] - w[1], away2 = dx * dx + dy * dy;
    double a = dx * u->facing[0][0] + dy * u->facing[0][1], b = dx * u->facing[1][0] + dy * u->facing[1][1];
    double room = away2 * 0x1p-30 + 0x1p-1000, edge = u->edge * away2;
    double before = a * fabs(a) - edge, after = b * fabs(b) - edge;
    return (away2 > u->far2) | ((before > room) & (after > room)) | ((before < -room) & (after < -room));
}

/* A side's part of the even-odd rule: whether a ray from the point (dx, dy), relative to the watcher, crosses side i, which
 * comes from corner j.  Each side includes only its lower end. */
static inline bool aoi_crosses_side(const aoi_shape *p, uint32_t i, uint32_t j, double dx, double dy) {
    double xi = p->points[2 * i], yi = p->points[2 * i + 1], xj = p->points[2 * j], yj = p->points[2 * j + 1];
    return (yi > dy) != (yj > dy) && dx < (xj - xi) * (dy - yi) / (yj - yi) + xi;
}

enum { AOI_FEW_CORNERS = 32 }; /* a polygon of more, or of several rings, has a tree of sides (side_tree.h) */

/* The sides of a polygon of few corners in floats, four at a time, as aoi_f32_beside() takes them; side i comes from the
 * corner before i. */
typedef float aoi_four_sides[5][4];

static inline aoi_four_sides *aoi_sides_of(const aoi_shape *p) {
    return (aoi_four_sides *)(uintptr_t)(p->points + 2 * (size_t)p->corners);
}

/* The fields that a shape must have, and may have; without heights in 2 dimensions.  A shape that does not exist in so
 * few dimensions takes none. */
unsigned aoi_shape_needs(int shape, int dims);
unsigned aoi_shape_takes(int shape, int dims);

#endif
