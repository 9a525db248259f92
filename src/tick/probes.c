/* probes.c - the areas of a watcher as probes: its borders in fixed point, with slack for rounding.
 *
 *   square, box       distance beyond the extents, the greatest of all axes
 *   circle, sphere    square of the distance in units of 2^16
 *   cylinder          a circle, and its height
 *   sector            the same, and two half-planes, whose intersection or, beyond half a turn, union it is
 *   polygon           its box, and even-odd by its sides; of one with a tree of sides the box alone
 *   with an offset    its box around the watcher
 *
 * Squares or circles of one watcher that differ in their radius alone, up to three, are one probe with three borders.
 *
 * A coordinate in fixed point is rounded down, so that a distance on an axis is less than 1 off; squares lose less than
 * 3, half-planes less than 6. */
#include "tick/join.h"

static int join_units(const join_tick *t, double length) {
    return (int)(length * t->scale);
}

/* ---- heights ----------------------------------------------------------------------------------------------------- */

/* The half-extent within which a target comes to be seen, on the third axis. */
static double join_inner_height(const join_tick *t, uint32_t node) {
    const aoi_area_record *a = t->records->areas + node;
    int shape = aoi_given_shape(t->records, node);
    double h = shape <= AOI_CIRCLE ? a->radius : shape == AOI_BOX ? a->shape->extents[2] : a->shape->half_height;
    return t->records->nodes[node].shape == AOI_SHIFTED ? h - fabs(a->shape->offset[2]) - 1 : h;
}

/* Half-extent of its box on the third axis; INFINITY in two dimensions, and if all its borders, the inner one too, hold
 * all present heights, so that heights do not matter. */
static double join_half_height(const join_tick *t, uint32_t node) {
    if (t->records->dims < 3) return (double)INFINITY;
    double inner = join_inner_height(t, node);
    bool ball = aoi_given_shape(t->records, node) == AOI_CIRCLE;
    bool all = !ball && inner > (t->high - t->low) * (1 + 0x1p-40);
    return all || isinf(inner) ? (double)INFINITY : aoi_height_of(t->records, node);
}

bool aoi_join_is_wide(const join_tick *t, uint32_t node) {
    const aoi_node_record *n = t->records->nodes + node;
    if (!(n->reach[0] <= t->reach && n->reach[1] <= t->reach)) return true;
    if (t->records->dims < 3 || n->shape == AOI_SQUARE || n->shape == AOI_CIRCLE) return false;
    double h = join_half_height(t, node);
    return h > t->reach && isfinite(h);
}

/* ---- simple areas ------------------------------------------------------------------------------------------------ */

static void join_set_range(const join_tick *t, join_probe *p, double left, double right, double low, double high) {
    int more = join_units(t, 2 * t->step) + 9;
    p->left = (int16_t)(join_units(t, left) - more), p->right = (int16_t)(join_units(t, right) + more);
    p->low = (int16_t)(join_units(t, low) - more), p->high = (int16_t)(join_units(t, high) + more);
}

/* Adds a border: of a box, as distances within the extents, or of a ball, as radii; inner < 0: nothing is surely in. */
static void join_add_border(const join_tick *t, join_probe *p, double outer, double inner) {
    int b = p->borders++;
    if (p->kind & JOIN_ROUND) {
        double most = outer * t->scale, least = inner * t->scale;
        p->out[b] = (int16_t)(most * most / 65536 + 4);
        p->in[b] = (int16_t)(inner < 0 ? -1 : least * least / 65536 - 5);
    } else {
        p->out[b] = (int16_t)-join_units(t, outer);
        p->in[b] = (int16_t)(inner < 0 ? INT16_MIN : -6 - join_units(t, inner));
    }
}

static join_probe join_probe_of(const join_tick *t, uint32_t item, uint32_t node, unsigned kind) {
    join_probe p = {.mask = join_mask(t->records->nodes + node), .item = item, .node = {node}, .nodes = 1};
    p.kind = (uint8_t)(kind | (isfinite(join_half_height(t, node)) ? JOIN_TALL : 0));
    return p;
}

/* A square or box by its outer half-extents, at which targets leave. */
static void join_make_box(const join_tick *t, join_probe *p, const double *extent, double margin) {
    for (int a = 0; a < (p->kind & JOIN_TALL ? 3 : 2); a++) p->extent[a] = (int16_t)(join_units(t, extent[a]) + 3);
    join_set_range(t, p, -extent[0], extent[0], -extent[1], extent[1]);
    join_add_border(t, p, 0, 0);
    if (margin > 0) join_add_border(t, p, margin, margin);
}

static void join_make_ball(const join_tick *t, join_probe *p, double radius, double keep) {
    join_set_range(t, p, -keep, keep, -keep, keep);
    join_add_border(t, p, keep, keep);
    if (keep > radius) join_add_border(t, p, radius, radius);
}

/* ---- concentric ones --------------------------------------------------------------------------------------------- */

typedef struct join_rings { /* squares, or circles, the largest first */
    int count, shape;
    uint64_t mask;
    uint32_t node[JOIN_BORDERS];
    double radius[JOIN_BORDERS];
} join_rings;

static bool join_add_probe(join_strip *o, const join_probe *p) {
    if (!AOI_GROW(o->memory, o->probes, o->probe_cap, o->probe_count + (size_t)1)) return false;
    o->probes[o->probe_count++] = *p;
    return true;
}

static join_probe join_probe_of_rings(const join_tick *t, uint32_t item, const join_rings *r) {
    join_probe p = join_probe_of(t, item, r->node[r->count - 1], r->shape == AOI_CIRCLE ? JOIN_ROUND : 0);
    double most = r->radius[0];
    p.node[0] = r->node[0];
    if (p.kind & JOIN_ROUND) join_make_ball(t, &p, most, most);
    else join_make_box(t, &p, (double[3]){most, most, most}, 0);
    for (int b = 1; b < r->count; b++) {
        double less = p.kind & JOIN_ROUND ? r->radius[b] : most - r->radius[b];
        join_add_border(t, &p, less, less);
        p.node[b] = r->node[b];
    }
    p.nodes = p.borders;
    if (p.borders > 1) p.kind |= JOIN_MANY;
    return p;
}

static bool join_close_rings(join_strip *o, uint32_t item, join_rings *r) {
    if (!r->count) return true;
    join_probe p = join_probe_of_rings(o->tick, item, r);
    r->count = 0;
    return join_add_probe(o, &p);
}

static bool join_add_ring(join_strip *o, uint32_t item, uint32_t node, join_rings *r) {
    const aoi_records *w = o->tick->records;
    const aoi_node_record *n = w->nodes + node;
    double radius = n->shape == AOI_SQUARE ? n->reach[0] : w->areas[node].radius;
    int i = r->count;
    if (i == JOIN_BORDERS || (i && (r->shape != n->shape || r->mask != join_mask(n)))) {
        if (!join_close_rings(o, item, r)) return false;
        i = 0;
    }
    r->shape = n->shape, r->mask = join_mask(n);
    for (; i && r->radius[i - 1] < radius; i--) r->radius[i] = r->radius[i - 1], r->node[i] = r->node[i - 1];
    r->radius[i] = radius, r->node[i] = node;
    r->count++;
    return true;
}

/* ---- shapes with sides ------------------------------------------------------------------------------------------- */

/* A half-plane with the inside at a * x + b * y >= c, for a * a + b * b = 1; 0x1p15 is 1, and products are halved. */
AOI_INLINE bool join_add_side(join_strip *o, join_probe *p, double a, double b, double c, double y) {
    if (!AOI_GROW(o->memory, o->sides, o->side_cap, o->side_count + (size_t)1)) return false;
    int at = (int)(c * o->tick->scale * .49998);
    o->sides[o->side_count++] = (join_side){(int16_t)(a * 32766), (int16_t)(b * 32766), (int16_t)(at - 6),
                                            (int16_t)(at + 6), (int16_t)join_units(o->tick, y)};
    p->side_count++;
    return true;
}

/* Adds its two edges as sides, and widens the box to hold it. */
static bool join_add_sector(join_strip *o, join_probe *p, const aoi_shape *f, double fx, double fy, double r,
                            double *box) {
    double s = sqrt(1 - f->c * f->c), nearly = f->c - 1e-9;
    double edge[2][2] = {{fx * f->c + fy * s, fy * f->c - fx * s}, {fx * f->c - fy * s, fy * f->c + fx * s}};
    for (int i = 0; i < 2; i++)
        for (int a = 0; a < 2; a++) {
            const double end = r * edge[i][a];
            box[2 * a] = end < box[2 * a] ? end : box[2 * a];
            box[2 * a + 1] = end > box[2 * a + 1] ? end : box[2 * a + 1];
        }
    if (fx >= nearly) box[1] = r;
    if (-fx >= nearly) box[0] = -r;
    if (fy >= nearly) box[3] = r;
    if (-fy >= nearly) box[2] = -r;
    if (f->angle >= 6.283185307179586) return true;
    if (f->c < -0.999) { /* all but a slit */
        p->in[0] = -1;
        return true;
    }
    return join_add_side(o, p, -edge[0][1], edge[0][0], 0, 0) && join_add_side(o, p, edge[1][1], -edge[1][0], 0, 0);
}

static bool join_make_sector(join_strip *o, join_probe *p, const aoi_area_record *a, bool turned) {
    const aoi_shape *f = a->shape;
    double r = a->radius + f->margin, box[4] = {0, 0, 0, 0};
    p->any = f->c < 0;
    bool good = join_add_sector(o, p, f, f->fx, f->fy, r, box);
    p->turned = turned && p->side_count;
    good = good && (!turned || join_add_sector(o, p, f, f->was_fx, f->was_fy, r, box));
    join_set_range(o->tick, p, box[0], box[1], box[2], box[3]);
    return good;
}

/* Each side has the lesser x inside; only the corners of a level side count. */
static bool join_make_polygon(join_strip *o, join_probe *p, const aoi_shape *f) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    p->polygon = true;
    for (uint32_t i = 0, j = f->corners - 1; i < f->corners; j = i++) {
        const double *u = f->points + 2 * j, *v = f->points + 2 * i;
        double x = v[0] - u[0], y = v[1] - u[1], l2 = x * x + y * y, up = y > 0 ? 1 : -1;
        double l = l2 > 1e-280 ? sqrt(l2) : INFINITY; /* also for such a short side */
        double a = up * y / l, b = -up * x / l;
        for (int k = 0; k < 2; k++) lo[k] = fmin(lo[k], v[k]), hi[k] = fmax(hi[k], v[k]);
        if (!join_add_side(o, p, a, b, a * u[0] + b * u[1], v[1])) return false;
    }
    join_set_range(o->tick, p, lo[0], hi[0], lo[1], hi[1]);
    return true;
}

static bool join_make_shaped(join_strip *o, join_probe *p, uint32_t node) {
    const join_tick *t = o->tick;
    const aoi_area_record *a = t->records->areas + node;
    double margin = a->shape->margin;
    p->sides = o->side_count;
    if (p->kind & JOIN_TALL) {
        p->extent[2] = (int16_t)(join_units(t, aoi_height_of(t->records, node)) + 3);
        p->in_height = (int16_t)(-7 - join_units(t, margin));
    }
    if (t->records->nodes[node].shape == AOI_POLYGON) {
        const double *reach = t->records->nodes[node].reach;
        for (int i = 0; i < 2; i++) p->extent[i] = (int16_t)(join_units(t, reach[i]) + 3);
        if (a->shape->rings) { /* its tree is quick */
            join_add_border(t, p, 0, -1);
            join_set_range(t, p, -reach[0], reach[0], -reach[1], reach[1]);
            return true;
        }
        join_add_border(t, p, 0, 0);
        return join_make_polygon(o, p, a->shape);
    }
    join_add_border(t, p, a->radius + margin, a->radius);
    if (t->records->nodes[node].shape == AOI_SECTOR)
        return join_make_sector(o, p, a, join_has_turned(t->records, node));
    double r = a->radius + margin;
    join_set_range(t, p, -r, r, -r, r);
    return true;
}

/* ---- areas that stand beside the watcher --------------------------------------------------------------------------- */

/* The box around the watcher, within which the rule decides, of places in that of the area itself. */
static join_probe join_make_shifted(const join_tick *t, uint32_t item, uint32_t node) {
    const double *reach = t->records->nodes[node].reach, *to = t->records->areas[node].shape->offset;
    const double box[3] = {reach[0], reach[1], aoi_height_of(t->records, node)};
    join_probe p = join_probe_of(t, item, node, 0);
    for (int a = 0; a < (p.kind & JOIN_TALL ? 3 : 2); a++) p.extent[a] = (int16_t)(join_units(t, box[a]) + 3);
    join_set_range(t, &p, fmax(2 * to[0], 0) - box[0], fmin(2 * to[0], 0) + box[0], fmax(2 * to[1], 0) - box[1],
                   fmin(2 * to[1], 0) + box[1]);
    join_add_border(t, &p, 0, -1);
    return p;
}

/* ---- all of a watcher -------------------------------------------------------------------------------------------- */

static bool join_make_probe(join_strip *o, uint32_t item, uint32_t node) {
    const aoi_records *r = o->tick->records;
    const aoi_area_record *a = r->areas + node;
    int shape = r->nodes[node].shape;
    if (shape == AOI_SHIFTED) {
        const join_probe p = join_make_shifted(o->tick, item, node);
        return join_add_probe(o, &p);
    }
    bool round = shape == AOI_CIRCLE || (shape == AOI_CYLINDER && isinf(join_half_height(o->tick, node)));
    if (shape > AOI_BOX && !round) {
        join_probe p =
            join_probe_of(o->tick, item, node, shape == AOI_POLYGON ? JOIN_SHAPED : JOIN_SHAPED | JOIN_ROUND);
        return join_make_shaped(o, &p, node) && join_add_probe(o, &p);
    }
    join_probe p = join_probe_of(o->tick, item, node, round ? JOIN_ROUND : 0);
    if (round) join_make_ball(o->tick, &p, a->radius, shape == AOI_CIRCLE ? a->keep : a->radius + a->shape->margin);
    else if (shape == AOI_SQUARE)
        join_make_box(o->tick, &p, (double[3]){a->keep, a->keep, a->keep}, a->keep - a->radius);
    else {
        double most[3], margin = a->shape->margin;
        for (int i = 0; i < 3; i++) most[i] = a->shape->extents[i] + margin;
        join_make_box(o->tick, &p, most, margin);
    }
    if (p.borders > 1) p.kind |= JOIN_MANY;
    return join_add_probe(o, &p);
}

void aoi_join_probes_of(join_strip *o, uint32_t item, uint32_t entity) {
    const aoi_records *w = o->tick->records;
    join_rings rings = {.count = 0};
    bool good = true;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE && good; n = w->nodes[n].next) {
        const aoi_node_record *r = w->nodes + n;
        if (!join_is_watching(r) || aoi_join_is_wide(o->tick, n)) continue;
        const bool ring = (r->shape == AOI_SQUARE || r->shape == AOI_CIRCLE) && !(r->flags & AOI_NODE_KEEPS);
        good = ring ? join_add_ring(o, item, n, &rings) : join_make_probe(o, item, n);
    }
    if (!good || !join_close_rings(o, item, &rings)) o->failed = true;
}
