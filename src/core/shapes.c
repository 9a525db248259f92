/* shapes.c - see shapes.h. */
#include "core/shapes.h"

#include <string.h>

#include "base/lattice.h"
#include "core/rule.h"
#include "core/side_tree.h"

#define TWO_PI 6.283185307179586476925

typedef struct shape_class {
    const char *name;
    unsigned needs, takes; /* fields; takes: optional ones */
    int least_dims;
    /* the point at d = t - w; w and t for comparisons that are made with sums */
    bool (*holds)(int dims, const aoi_area_record *a, const double *w, const double *t, double margin, double extent);
    /* half-extents on the first two axes, grown by the margin */
    void (*reach)(const aoi_area_record *a, double *reach);
} shape_class;

/* ---- inside ------------------------------------------------------------------------------------------------------ */

static bool in_height(int dims, const aoi_shape *p, const double *w, const double *t, double margin, double extent) {
    double h = p->half_height + margin + extent;
    return dims < 3 || (h >= 0 && aoi_in_side(w[2], t[2], h));
}

static bool box_holds(int dims, const aoi_area_record *a, const double *w, const double *t, double margin,
                      double extent) {
    bool in = true;
    for (int i = 0; i < dims; i++) {
        double e = a->shape->extents[i] + margin + extent;
        in &= (e >= 0) & (aoi_in_side(w[i], t[i], e) != 0);
    }
    return in;
}

static bool cylinder_holds(int dims, const aoi_area_record *a, const double *w, const double *t, double margin,
                           double extent) {
    double r = a->radius + margin + extent;
    return r >= 0 && aoi_in_ball(2, w, t, r) && in_height(dims, a->shape, w, t, margin, extent);
}

static bool sector_holds(int dims, const aoi_area_record *a, const double *w, const double *t, double margin,
                         double extent) {
    const aoi_shape *p = a->shape;
    if (!cylinder_holds(dims, a, w, t, margin, extent)) return false;
    if (p->angle == TWO_PI) return true;
    double dx = t[0] - w[0], dy = t[1] - w[1];
    AOI_PRODUCT xx = dx * dx, yy = dy * dy, ax = dx * p->fx, ay = dy * p->fy, edge = p->c * sqrt(xx + yy);
    return ax + ay >= edge;
}

/* Even-odd: a ray from the point crosses an odd number of sides. */
static bool in_rings(const aoi_shape *p, double dx, double dy) {
    bool in = false;
    if (p->rings) return aoi_in_side_tree(p, dx, dy);
    for (uint32_t i = 0, j = p->corners - 1; i < p->corners; j = i++) in ^= aoi_crosses_side(p, i, j, dx, dy);
    return in;
}

static bool polygon_holds(int dims, const aoi_area_record *a, const double *w, const double *t, double margin,
                          double extent) {
    (void)margin, (void)extent;
    return in_rings(a->shape, t[0] - w[0], t[1] - w[1]) && in_height(dims, a->shape, w, t, 0, 0);
}

/* Around the place where the area stands.  Squares and circles have no row of their own; with a margin they end at
 * `keep`. */
static bool shifted_holds(int dims, const aoi_area_record *a, const double *w, const double *t, double margin,
                          double extent) {
    const aoi_shape *p = a->shape;
    double at[3] = {w[0] + p->offset[0], w[1] + p->offset[1], dims < 3 ? 0 : w[2] + p->offset[2]};
    if (p->of > AOI_CIRCLE) return aoi_shape_holds(dims, (int)p->of, a, at, t, margin, extent);
    double r = (margin > 0 ? a->keep : a->radius) + extent;
    return r >= 0 && (p->of == AOI_SQUARE ? aoi_in_box(dims, at, t, r) : aoi_in_ball(dims, at, t, r));
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void box_reach(const aoi_area_record *a, double *reach) {
    reach[0] = a->shape->extents[0] + a->shape->margin;
    reach[1] = a->shape->extents[1] + a->shape->margin;
}

static void round_reach(const aoi_area_record *a, double *reach) {
    reach[0] = reach[1] = aoi_outer_extent(AOI_CIRCLE, a->radius + a->shape->margin);
}

double aoi_measure_polygon(const aoi_shape *p, double *most, double *flattest) {
    most[0] = most[1] = 0, *flattest = INFINITY;
    for (uint32_t i = 0; i < p->corners; i++) {
        double rise = fabs(p->points[2 * i + 1] - p->points[2 * aoi_corner_before(p, i) + 1]);
        if (rise > 0) *flattest = fmin(*flattest, rise);
        for (uint32_t k = 0; k < 2; k++) most[k] = fmax(most[k], fabs(p->points[2 * i + k]));
    }
    return fmax(most[0], most[1]) * 0x1p-40 + 0x1p-1074 / *flattest;
}

/* Rounding may count a point next to the polygon as inside: the bounds have room for that.  Next to a nearly level side
 * the product underflows, and the room is its rounding error, divided. */
static void polygon_reach(const aoi_area_record *a, double *reach) {
    double most[2], flattest, room = aoi_measure_polygon(a->shape, most, &flattest), size = fmax(most[0], most[1]);
    for (int i = 0; i < 2; i++) reach[i] = fmax(most[i] + room, 1e-150);
    double far = a->shape->farthest * (1 + 0x1p-19) + room;
    if (size > 1e-30 && 3.2 * far * far < 4 * reach[0] * reach[1]) /* a float has far, and a double its square */
        reach[0] = reach[1] = far;                                 /* a circle is smaller: see aoi_is_round() */
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const shape_class shape_classes[] = {
    [AOI_SQUARE] = {"square", AOI_FIELD_RADIUS, AOI_FIELD_KEEP | AOI_FIELD_MARGIN, 2, NULL, NULL},
    [AOI_CIRCLE] = {"circle", AOI_FIELD_RADIUS, AOI_FIELD_KEEP | AOI_FIELD_MARGIN, 2, NULL, NULL},
    [AOI_BOX] = {"box", AOI_FIELD_EXTENTS, AOI_FIELD_MARGIN, 2, box_holds, box_reach},
    [AOI_CYLINDER] = {"cylinder", AOI_FIELD_RADIUS | AOI_FIELD_HALF_HEIGHT, AOI_FIELD_MARGIN, 3, cylinder_holds,
                      round_reach},
    [AOI_SECTOR] = {"sector", AOI_FIELD_RADIUS | AOI_FIELD_FACING | AOI_FIELD_ANGLE,
                    AOI_FIELD_MARGIN | AOI_FIELD_HALF_HEIGHT, 2, sector_holds, round_reach},
    [AOI_POLYGON] = {"polygon", AOI_FIELD_POINTS, AOI_FIELD_RINGS | AOI_FIELD_HALF_HEIGHT, 2, polygon_holds,
                     polygon_reach},
    [AOI_SHIFTED] = {NULL, 0, 0, 2, shifted_holds, NULL},
};

enum { SHAPE_COUNT = sizeof shape_classes / sizeof *shape_classes };

const char *aoi_shape_name(int shape) {
    return shape >= 0 && shape < SHAPE_COUNT ? shape_classes[shape].name : NULL;
}

static unsigned with_height(unsigned fields, int dims) {
    return dims < 3 ? fields & ~(unsigned)AOI_FIELD_HALF_HEIGHT : fields;
}

unsigned aoi_shape_needs(int shape, int dims) {
    return with_height(shape_classes[shape].needs, dims);
}

unsigned aoi_shape_takes(int shape, int dims) {
    if (dims < shape_classes[shape].least_dims) return 0;
    return with_height(shape_classes[shape].needs | shape_classes[shape].takes, dims);
}

bool aoi_shape_holds(int dims, int shape, const aoi_area_record *a, const double *w, const double *t, double margin,
                     double extent) {
    return shape_classes[shape].holds(dims, a, w, t, margin, extent);
}

/* ---- areas in and out -------------------------------------------------------------------------------------------- */

#define LENGTH_FAULT(v, name)                                                                                          \
    (!((v) >= 0 && isfinite(v)) ? name " must be finite and not negative"                                              \
     : (v) > AOI_FARTHEST       ? name " must be at most 2^50"                                                         \
                                : NULL)

static bool is_radius(double v) { /* of squares and circles, if not negative */
    return v <= AOI_FARTHEST || isinf(v);
}

static const char *polygon_fault(const aoi_area *a) {
    if (a->corners < 3 || a->corners > AOI_MOST_CORNERS || !a->points) return "points must have 3 to 65535 corners";
    if (a->rings < 0 || (a->rings && !a->ends)) return "rings must have their ends";
    for (int k = 0, from = 0; k < a->rings; from = a->ends[k++]) {
        const bool last = k == a->rings - 1;
        if (a->ends[k] < from + 3 || a->ends[k] > a->corners || (last && a->ends[k] < a->corners))
            return "rings must have 3 or more corners each, and end with the last corner";
    }
    for (int i = 0; i < 2 * a->corners; i++)
        if (!aoi_is_coordinate(a->points[i]))
            return isfinite(a->points[i]) ? "points must be at most 2^50 either way" : "points must be finite numbers";
    return NULL;
}

static const char *square_fault(const aoi_area *a) {
    if (!(a->radius >= 0)) return "radius must not be negative or nan";
    if (a->keep != 0 && a->margin != 0) return "keep and 'margin' exclude each other";
    if (!is_radius(a->radius)) return "radius must be at most 2^50 or infinite";
    if (!(a->margin >= 0)) return "margin must not be negative or nan";
    if (!aoi_is_coordinate(a->margin)) return "margin must be at most 2^50";
    if (a->keep != 0 && !(a->keep >= a->radius)) return "keep must not be less than radius";
    /* the sum of a radius and a margin, which is the keep that is read back, may be nearly twice as large */
    if (!is_radius((a->keep != 0 ? a->keep : a->radius + a->margin) / 2))
        return "keep must be at most 2^50 or infinite";
    return NULL;
}

const char *aoi_area_fault(int dims, const aoi_area *a) {
    if (a->label && (!*a->label || strlen(a->label) > AOI_MOST_LABEL)) return "label must have 1 to 255 bytes";
    if (a->shape < 0 || a->shape > AOI_POLYGON) return "shape must be one of the shapes";
    const bool shifted = aoi_area_has_offset(dims, a);
    for (int i = 0; shifted && i < dims; i++)
        if (!aoi_is_coordinate(a->offset[i]))
            return isfinite(a->offset[i]) ? "offset must be at most 2^50 either way" : "offset must be finite numbers";
    if (a->shape == AOI_SQUARE || a->shape == AOI_CIRCLE) return square_fault(a);
    unsigned needs = aoi_shape_needs(a->shape, dims), takes = aoi_shape_takes(a->shape, dims);
    if (dims < shape_classes[a->shape].least_dims) return "shape cylinder needs 3 dimensions";
    const char *fault = needs & AOI_FIELD_RADIUS ? LENGTH_FAULT(a->radius, "radius") : NULL;
    if (!fault && takes & AOI_FIELD_MARGIN) fault = LENGTH_FAULT(a->margin, "margin");
    for (int i = 0; i < dims && (needs & AOI_FIELD_EXTENTS) && !fault; i++)
        fault = LENGTH_FAULT(a->extents[i], "extents");
    if (fault) return fault;
    if (!(takes & AOI_FIELD_MARGIN) && a->margin != 0) return "margin is not for polygons";
    const bool high = takes & AOI_FIELD_HALF_HEIGHT, any = high && !(needs & AOI_FIELD_HALF_HEIGHT);
    if (any && !(a->half_height >= 0)) return "half_height must not be negative or nan";
    if (high && !(any && isinf(a->half_height))) fault = LENGTH_FAULT(a->half_height, "half_height");
    if (fault) return fault;
    if ((needs & AOI_FIELD_FACING) && !isfinite(a->facing)) return "facing must be finite";
    if ((needs & AOI_FIELD_ANGLE) && !(a->angle > 0 && a->angle <= TWO_PI))
        return "angle must be greater than 0 and at most 2 pi radians";
    return needs & AOI_FIELD_POINTS ? polygon_fault(a) : NULL;
}

size_t aoi_shape_bytes(uint32_t corners) {
    return sizeof(aoi_shape) + 2 * (size_t)corners * sizeof(double) + (corners + 3) / 4 * sizeof(aoi_four_sides);
}

/* The distance of a side from the watcher. */
static double side_distance(const double *a, const double *b, double length) {
    double ux = length > 0 ? (b[0] - a[0]) / length : 0, uy = length > 0 ? (b[1] - a[1]) / length : 0;
    double along = fmin(fmax(-(a[0] * ux + a[1] * uy), 0), length), x = a[0] + along * ux, y = a[1] + along * uy;
    return sqrt(x * x + y * y);
}

/* Every place counts as beside a side that is too flat for floats, and none beside a lane without a side. */
static void fill_sides(aoi_shape *p) {
    double most[2], flattest;
    aoi_measure_polygon(p, most, &flattest);
    bool measured = flattest > 0x1p-1000;
    p->nearest = measured ? INFINITY : 0;
    p->farthest = measured ? 0 : INFINITY;
    for (uint32_t i = 0; i < (p->corners + 3) / 4 * 4; i++) {
        float side[5] = {0, 0, 0, 0, i < p->corners ? INFINITY : -INFINITY};
        if (i < p->corners && measured) {
            const double *a = p->points + 2 * (size_t)aoi_corner_before(p, i), *b = p->points + 2 * (size_t)i;
            double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
            bool point = length < 1e-30;
            side[0] = (float)((a[0] + b[0]) / 2), side[1] = (float)((a[1] + b[1]) / 2);
            side[2] = point ? 1 : (float)(dx / length), side[3] = point ? 0 : (float)(dy / length);
            side[4] = (float)(length / 2);
            p->nearest = fminf(p->nearest, (float)side_distance(a, b, length));
            p->farthest = fmaxf(p->farthest, (float)sqrt(b[0] * b[0] + b[1] * b[1]));
        }
        for (int k = 0; k < 5 && !p->rings; k++) aoi_sides_of(p)[i / 4][k][i % 4] = side[k];
    }
}

void aoi_shape_turn(aoi_shape *p, double facing) {
    p->facing = facing;
    p->fx = cos(facing), p->fy = sin(facing);
}

/* What changes lies between an edge before and after.  The box holds the ends of all edges, and has room for the arcs
 * between them, which rise above their chords by at most a quarter of the chord's square, and for rounding: of the
 * cosine next to half a turn, too, and of squares that underflow. */
bool aoi_turn_of(const aoi_area_state *was, const aoi_area_state *is, aoi_turn *t) {
    if (was->shape != AOI_SECTOR || is->shape != AOI_SECTOR || was->margined || is->margined ||
        was->area.radius != is->area.radius)
        return false;
    const aoi_shape *p = was->area.shape, *q = is->area.shape;
    if (p->angle != q->angle || p->half_height != q->half_height) return false;
    const double reach = was->reach[0], c = p->c, s = sqrt(1 - c * c), x = q->fx - p->fx, y = q->fy - p->fy;
    const double room = reach * ((x * x + y * y) / 4 + 0x1p-20) + 1e-150;
    *t = (aoi_turn){.facing = {{p->fx, p->fy}, {q->fx, q->fy}}, .edge = c * fabs(c)};
    t->far2 = reach * reach * (1 + 0x1p-30);
    for (int i = 0; i < 4; i++) {
        const double *f = t->facing[i / 2], side = i % 2 ? s : -s;
        const double end[2] = {reach * (f[0] * c + f[1] * side), reach * (f[1] * c - f[0] * side)};
        for (int a = 0; a < 2; a++) {
            t->lo[a] = end[a] < t->lo[a] ? end[a] : t->lo[a];
            t->hi[a] = end[a] > t->hi[a] ? end[a] : t->hi[a];
        }
    }
    for (int a = 0; a < 2; a++) {
        t->lo[a] = fmax(t->lo[a] - room, -reach);
        t->hi[a] = fmin(t->hi[a] + room, reach);
    }
    return true;
}

/* In the records' scratch; NULL when memory is refused. */
static aoi_shape *fill_shape(aoi_records *r, const aoi_area *a) {
    const unsigned takes = aoi_shape_takes(a->shape, r->dims);
    const uint32_t corners = takes & AOI_FIELD_POINTS ? (uint32_t)a->corners : 0;
    const bool many = corners > AOI_FEW_CORNERS || (corners && a->rings > 1);
    const bool known = many && aoi_side_tree_is_of(r->shape_scratch, a);
    const double half_height = takes & AOI_FIELD_HALF_HEIGHT ? a->half_height : INFINITY;
    aoi_shape *p = known ? r->shape_scratch : aoi_shape_scratch(r, aoi_shape_bytes(corners));
    if (!p) return NULL;
    if (known) { /* as many nodes have the same, one after the other, and many questions */
        p->half_height = half_height;
        return p;
    }
    *p = (aoi_shape){.half_height = half_height,
                     .margin = a->margin,
                     .corners = corners,
                     .bytes = many ? 0 : (uint32_t)aoi_shape_bytes(corners)};
    for (int i = 0; i < r->dims && (takes & AOI_FIELD_EXTENTS); i++) p->extents[i] = a->extents[i];
    if (takes & AOI_FIELD_ANGLE) {
        p->angle = a->angle, p->c = cos(a->angle / 2);
        aoi_shape_turn(p, a->facing);
    }
    if (!corners) return p;
    memcpy(p->points, a->points, 2 * corners * sizeof *p->points);
    if (many && !(p = aoi_side_tree_fill(r, a))) return NULL;
    fill_sides(p);
    return p;
}

static void resolve_round_or_square(const aoi_area *a, aoi_area_state *out) {
    double keep = a->keep != 0 ? a->keep : a->radius + a->margin;
    out->area = (aoi_area_record){.radius = a->radius, .keep = keep};
    out->reach[0] = out->reach[1] = aoi_outer_extent(a->shape, keep);
    out->margined = keep > a->radius;
}

/* Half-extent of a square in the circle that no side of a polygon enters; < 0: the watcher is outside. */
static double polygon_inner(const aoi_shape *p) {
    double within = p->nearest - p->farthest * 0x1p-19; /* the rule rounds */
    return in_rings(p, 0, 0) && within > 1e-30 ? aoi_inner_extent(2, AOI_CIRCLE, within) : -1;
}

static void resolve_other(int dims, const aoi_area *a, aoi_shape *p, aoi_area_state *out) {
    bool box = a->shape == AOI_BOX;
    double inner = a->shape == AOI_CYLINDER ? aoi_inner_extent(2, AOI_CIRCLE, a->radius) : -1;
    if (p->corners) inner = polygon_inner(p);
    double radius = aoi_shape_takes(a->shape, dims) & AOI_FIELD_RADIUS ? a->radius : 0;
    p->inner[0] = box ? p->extents[0] : inner;
    p->inner[1] = box ? p->extents[1] : inner;
    p->height = (box ? p->extents[2] : p->half_height) + p->margin;
    out->area = (aoi_area_record){.radius = radius, .keep = radius, .shape = p};
    shape_classes[a->shape].reach(&out->area, out->reach);
    out->margined = p->margin > 0;
}

/* The box of the area where it stands, grown around the watcher to hold that; nothing is surely inside.  Adding an offset
 * to a place of up to 2^50 and comparing the sum rounds by less than 1. */
static double shifted_reach(double reach, double offset) {
    return (reach + fabs(offset)) * (1 + 0x1p-40) + 1;
}

static void shift_area(int dims, const aoi_area *a, aoi_shape *p, aoi_area_state *out) {
    if (!out->area.shape) {
        p->margin = out->area.keep > out->area.radius ? out->area.keep - out->area.radius : 0;
        p->height = out->reach[0];
        out->area.shape = p;
    }
    for (int i = 0; i < dims; i++) p->offset[i] = a->offset[i] + 0.0; /* no -0.0 */
    for (int i = 0; i < 2; i++) out->reach[i] = shifted_reach(out->reach[i], p->offset[i]);
    if (dims == 3) p->height = shifted_reach(p->height, p->offset[2]);
    p->inner[0] = p->inner[1] = -1;
    out->shape = AOI_SHIFTED;
}

bool aoi_area_borrow(aoi_records *r, const aoi_area *a, aoi_area_state *out) {
    const bool simple = a->shape == AOI_SQUARE || a->shape == AOI_CIRCLE, shifted = aoi_area_has_offset(r->dims, a);
    *out = (aoi_area_state){
        .mask = a->mask, .shape = (uint8_t)a->shape, .layered = a->layered, .layers = a->layered ? a->layers : 0};
    if (simple) resolve_round_or_square(a, out);
    if (!simple || shifted) {
        aoi_shape *p = fill_shape(r, a);
        if (!p) return false;
        if (!simple) resolve_other(r->dims, a, p, out);
        p->of = (uint32_t)a->shape;
        memset(p->offset, 0, sizeof p->offset);
        if (shifted) shift_area(r->dims, a, p, out);
    }
    out->fixed = a->fixed;
    out->outside = a->outside;
    out->margined |= a->outside; /* the rule decides, not the box */
    out->area.user_data = a->user_data;
    out->label = a->label;
    return true;
}

void aoi_area_describe(const aoi_area_state *is, aoi_area *out) {
    const aoi_shape *p = is->area.shape;
    const int shape = p ? (int)p->of : is->shape;
    *out = (aoi_area){.shape = shape, .mask = is->mask, .radius = is->area.radius, .user_data = is->area.user_data};
    out->fixed = is->fixed;
    out->outside = is->outside;
    out->layered = is->layered;
    out->layers = is->layered ? is->layers : 0;
    if (p) memcpy(out->offset, p->offset, sizeof out->offset);
    if (shape == AOI_SQUARE || shape == AOI_CIRCLE) {
        out->keep = is->area.keep;
        return;
    }
    memcpy(out->extents, p->extents, sizeof out->extents);
    out->margin = p->margin;
    out->half_height = p->half_height;
    out->facing = p->facing;
    out->angle = p->angle;
    out->points = p->corners ? p->points : NULL;
    out->corners = (int)p->corners;
    out->rings = p->rings > 1 ? (int)p->rings : 0;
    out->ends = out->rings ? aoi_side_tree_of(p).ends : NULL;
}
