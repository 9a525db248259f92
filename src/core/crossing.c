/* crossing.c - see crossing.h.
 *
 *   d0 = t0 - w0 ---------> d1 = t1 - w1      the way of the target relative to the watcher, 0 < t < 1: closed forms cut
 *        from |=========| to                  the part of it out that may be inside; of sectors and polygons that is cut
 *                                             where it meets their sides, and the rule decides between two cuts
 *
 * A moved target looks for nodes around its way; a node that has moved looks for targets that stand. */
#include <stdlib.h>

#include "core/side_tree.h"
#include "core/space.h"

/* ---- one way and one area ---------------------------------------------------------------------------------------- */

typedef struct aoi_course {
    int dims;
    double m[3], d[3], from, to; /* m + t * d, and the part of it that is left */
} aoi_course;

static bool cut_slab(aoi_course *c, int axis, double reach) {
    const double m = c->m[axis], d = c->d[axis];
    if (!(reach >= 0) || d == 0) return fabs(m) <= reach;
    const double a = (-reach - m) / d, b = (reach - m) / d;
    c->from = fmax(c->from, fmin(a, b));
    c->to = fmin(c->to, fmax(a, b));
    return c->from <= c->to;
}

/* With Lagrange's identity, b*b - a*c of a long way past a small circle keeps its digits. */
static bool cut_ball(aoi_course *c, int axes, double radius) {
    const double *m = c->m, *d = c->d;
    double a = 0, b = 0, mm = 0, cross = 0;
    if (!(radius >= 0)) return false;
    for (int i = 0; i < axes; i++) a += d[i] * d[i], b += m[i] * d[i], mm += m[i] * m[i];
    const double rr = radius * radius;
    if (a == 0 || (b >= 0 && mm > rr)) return mm <= rr;
    for (int i = 0; i < axes; i++)
        for (int j = i + 1; j < axes; j++) cross += (m[i] * d[j] - m[j] * d[i]) * (m[i] * d[j] - m[j] * d[i]);
    const double q = a * rr - cross;
    if (!(q >= 0)) return false;
    c->from = fmax(c->from, (-b - sqrt(q)) / a);
    c->to = fmin(c->to, (-b + sqrt(q)) / a);
    return c->from <= c->to;
}

/* Where the way meets the side a-b, if that is after `after` and before *next. */
static void meet_side(const aoi_course *c, const double *a, const double *b, double after, double *next) {
    const double ax = a[0] - c->m[0], ay = a[1] - c->m[1], bx = b[0] - c->m[0], by = b[1] - c->m[1];
    const double va = c->d[0] * ay - c->d[1] * ax, vb = c->d[0] * by - c->d[1] * bx;
    if ((va > 0) == (vb > 0)) return;
    const double t = (ax * (by - ay) - ay * (bx - ax)) / (vb - va);
    if (t > after && t < *next) *next = t;
}

/* A corner on the way, likewise: it may be the only place inside, or the end of a side that lies along the way. */
static void meet_corner(const aoi_course *c, const double *a, double after, double *next) {
    const double x = a[0] - c->m[0], y = a[1] - c->m[1], dx = c->d[0], dy = c->d[1];
    const double far = fabs(a[0]) + fabs(a[1]) + fabs(c->m[0]) + fabs(c->m[1]);
    if (fabs(dx * y - dy * x) > 0x1p-40 * (fabs(dx) + fabs(dy)) * far) return;
    const double t = (x * dx + y * dy) / (dx * dx + dy * dy);
    if (t > after && t < *next) *next = t;
}

/* The first cut of a sector or polygon after that, or the end of the course. */
static double next_cut(const aoi_course *c, const aoi_area_record *area, double after) {
    const aoi_shape *p = area->shape;
    double next = c->to;
    if (p->corners) {
        for (uint32_t i = 0; i < p->corners; i++) {
            meet_side(c, p->points + 2 * (size_t)aoi_corner_before(p, i), p->points + 2 * (size_t)i, after, &next);
            meet_corner(c, p->points + 2 * (size_t)i, after, &next);
        }
        return next;
    }
    const double far = (area->radius + fabs(c->m[0]) + fabs(c->m[1]) + fabs(c->d[0]) + fabs(c->d[1])) * 2;
    const double s = sin(p->angle / 2), apex[2] = {0, 0};
    meet_corner(c, apex, after, &next);
    for (int side = -1; side <= 1; side += 2) {
        const double end[2] = {far * (p->fx * p->c - side * s * p->fy), far * (p->fy * p->c + side * s * p->fx)};
        meet_side(c, apex, end, after, &next);
    }
    return next;
}

static bool holds_at(const aoi_course *c, int shape, const aoi_area_record *area, double extent, double t) {
    static const double here[3] = {0, 0, 0};
    double at[3];
    for (int i = 0; i < 3; i++) at[i] = c->m[i] + t * c->d[i];
    return aoi_shape_holds(c->dims, shape, area, here, at, 0, extent);
}

/* The first place inside by cuts; all places between two of them are on one side. */
static bool search_cuts(aoi_course *c, int shape, const aoi_area_record *area, double extent) {
    for (double next;; c->from = next) {
        next = next_cut(c, area, c->from);
        if (holds_at(c, shape, area, extent, c->from)) return true;
        if (!(next > c->from)) return false;
        if (holds_at(c, shape, area, extent, c->from + (next - c->from) / 2)) return true;
    }
}

/* Whether a target that is outside at both ends of its way is inside between, and where first. */
static bool goes_through(aoi_course *c, int shape, const aoi_area_record *area, double extent, double *t) {
    const aoi_shape *p = area->shape;
    const double grown = area->radius + extent;
    const bool flat = shape == AOI_CYLINDER || shape == AOI_SECTOR;
    c->from = 0, c->to = 1;
    for (int i = 0; i < c->dims && (shape == AOI_SQUARE || shape == AOI_BOX); i++)
        if (!cut_slab(c, i, shape == AOI_BOX ? p->extents[i] + extent : grown)) return false;
    if ((shape == AOI_CIRCLE || flat) && !cut_ball(c, flat ? 2 : c->dims, grown)) return false;
    if (c->dims == 3 && (flat || shape == AOI_POLYGON) && !cut_slab(c, 2, p->half_height + (flat ? extent : 0)))
        return false;
    if (!(c->to > 0)) return false;
    if ((shape == AOI_SECTOR || shape == AOI_POLYGON) && !search_cuts(c, shape, area, extent)) return false;
    *t = fmax(c->from, 0x1p-53);
    return *t < 1;
}

/* ---- ways and nodes ---------------------------------------------------------------------------------------------- */

static const aoi_way *way_of(const aoi_crossings *c, uint32_t entity) {
    return c->way_of[entity] == AOI_NONE ? NULL : c->ways + c->way_of[entity];
}

bool aoi_ways_ready(aoi_space *s, uint32_t entities) {
    aoi_crossings *c = &s->crossings;
    aoi_memory *m = &s->records.memory;
    return AOI_GROW_FILLED(m, c->way_of, c->way_of_cap, entities, &(uint32_t){AOI_NONE}) &&
           AOI_GROW(m, c->ways, c->way_cap, c->way_of_cap);
}

void aoi_note_way(aoi_space *s, uint32_t entity, bool broken) {
    aoi_crossings *c = &s->crossings;
    if (c->way_of[entity] == AOI_NONE) {
        const double *at = s->records.entities[entity].pos;
        c->way_of[entity] = c->way_count;
        c->ways[c->way_count++] = (aoi_way){{at[0], at[1], at[2]}, entity, false};
        c->moving++;
    }
    aoi_way *way = c->ways + c->way_of[entity];
    c->moving -= broken && !way->broken;
    way->broken |= broken;
}

void aoi_forget_ways(aoi_space *s) {
    aoi_crossings *c = &s->crossings;
    while (c->way_count) c->way_of[c->ways[--c->way_count].entity] = AOI_NONE;
    c->moving = 0;
    for (uint32_t i = 0; c->fresh && i < c->node_count; i++) s->records.nodes[c->nodes[i]].fresh = 0;
    c->fresh = false;
}

void aoi_crossings_free(aoi_space *s) {
    aoi_crossings *c = &s->crossings;
    aoi_memory *m = &s->records.memory;
    AOI_FREE(m, c->nodes, c->node_cap);
    AOI_FREE(m, c->way_of, c->way_of_cap);
    AOI_FREE(m, c->ways, c->way_cap);
    AOI_FREE(m, c->found, c->found_cap);
    *c = (aoi_crossings){.jumping = c->jumping};
}

bool aoi_crosser_ready(aoi_space *s) {
    aoi_crossings *c = &s->crossings;
    return AOI_GROW(&s->records.memory, c->nodes, c->node_cap, c->node_count + (size_t)1) &&
           aoi_ways_ready(s, s->records.entity_top);
}

void aoi_add_crosser(aoi_space *s, uint32_t node, bool fresh) {
    s->records.nodes[node].fresh = fresh;
    s->crossings.fresh |= fresh;
    s->crossings.nodes[s->crossings.node_count++] = node;
}

void aoi_remove_crosser(aoi_space *s, uint32_t node) {
    aoi_crossings *c = &s->crossings;
    uint32_t i = c->node_count - 1;
    while (c->nodes[i] != node) i--;
    c->nodes[i] = c->nodes[--c->node_count];
    if (!c->node_count) aoi_crossings_free(s);
}

void aoi_drop_crossings(aoi_space *s, uint32_t node, uint32_t target) {
    aoi_event_queue *q = &s->queue;
    for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        const aoi_queued *e = q->events + i;
        const uint32_t of = e->node;
        if (e->kind != AOI_CROSS || (of != node && e->entity != target)) continue;
        q->events[i].cancelled = true;
        q->count--;
        s->records.nodes[of].pending--;
    }
}

/* ---- finding them ------------------------------------------------------------------------------------------------ */

/* The difference of the places of target and watcher; when it begins, or now. */
static void place_apart(const aoi_space *s, const aoi_way *watcher, const aoi_way *target, uint32_t owner,
                        uint32_t entity, double *out) {
    const double *w = watcher ? watcher->from : s->records.entities[owner].pos;
    const double *t = target ? target->from : s->records.entities[entity].pos;
    for (int i = 0; i < s->records.dims; i++) out[i] = t[i] - w[i];
}

/* Whether the node saw a target at the last delivery that it does not see now: then a leave event says so, of this call or
 * of one whose events still wait. */
static bool has_left(aoi_space *s, uint32_t node, uint32_t target) {
    aoi_event_queue *q = &s->queue;
    const int kind = aoi_queue_waiting(&s->records.memory, q, node, target, s->records.entities[target].generation);
    if (kind < 0) s->records.failed = true;
    if (kind || s->deferred) return kind == AOI_LEAVE;
    uint32_t i = q->call;
    while (i < q->top && (q->events[i].node != node || q->events[i].entity != target)) i++;
    return i < q->top;
}

static void judge_crossing(aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_records *r = &s->records;
    const aoi_node_record *n = r->nodes + node;
    aoi_crossings *c = &s->crossings;
    if (!n->crosses || n->fresh || n->outside || n->flags & AOI_NODE_SILENT || n->owner == target) return;
    const aoi_way *ww = way_of(c, n->owner), *tw = way_of(c, target);
    if ((ww && ww->broken) || (tw && tw->broken)) return;
    const double extent = n->fixed ? 0 : aoi_extent_of(s, target);
    aoi_course course = {.dims = r->dims};
    double end[3] = {0, 0, 0}, t;
    place_apart(s, ww, tw, n->owner, target, course.m);
    place_apart(s, NULL, NULL, n->owner, target, end);
    for (int i = 0; i < r->dims && n->shape == AOI_SHIFTED; i++) {
        course.m[i] -= r->areas[node].shape->offset[i];
        end[i] -= r->areas[node].shape->offset[i];
    }
    s->candidates++;
    for (int i = 0; i < 2; i++) {
        const double reach = n->reach[i] + fmax(extent, 0);
        if (fmin(course.m[i], end[i]) > reach || fmax(course.m[i], end[i]) < -reach) return;
    }
    for (int i = 0; i < r->dims; i++) course.d[i] = end[i] - course.m[i];
    if (!aoi_pair_meets(s, node, target)) return;
    const double *w1 = r->entities[n->owner].pos, *t1 = r->entities[target].pos;
    const aoi_zone z0 = aoi_pair_zone(s, node, target, ww ? ww->from : w1, tw ? tw->from : t1);
    const aoi_zone z1 = aoi_pair_zone(s, node, target, w1, t1);
    if (z0 == AOI_INSIDE || z1 == AOI_INSIDE ||
        !goes_through(&course, aoi_given_shape(r, node), r->areas + node, extent, &t))
        return;
    if (aoi_node_sees(s, node, target)) return;
    if (has_left(s, node, target)) return;
    if (!AOI_GROW(&s->records.memory, c->found, c->found_cap, c->found_count + (size_t)1)) s->records.failed = true;
    else
        c->found[c->found_count++] =
            (aoi_crossed){t, r->entities[n->owner].id, n->node_id, r->entities[target].id, node, target};
}

/* Whether a way leads elsewhere: then its entity looks for nodes itself. */
static bool leads_away(const aoi_space *s, const aoi_way *way) {
    const aoi_entity_record *e = s->records.entities + way->entity;
    return !way->broken && aoi_is_live(e->generation) && !aoi_same_place(s->records.dims, way->from, e->pos);
}

/* The targets of a node that has moved.  Those that have moved as well find it themselves, unless it went `far`. */
static void judge_standing(aoi_space *s, const aoi_way *way, uint32_t node, bool far) {
    const aoi_records *r = &s->records;
    const double *reach = r->nodes[node].reach, *to = r->entities[way->entity].pos;
    double lo[2], hi[2];
    for (int i = 0; i < 2; i++) {
        lo[i] = fmin(way->from[i], to[i]) - reach[i];
        hi[i] = fmax(way->from[i], to[i]) + reach[i];
    }
    aoi_find_in_box(s, lo, hi);
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_way *other = way_of(&s->crossings, r->hits[i]);
        if (!other || !leads_away(s, other)) judge_crossing(s, node, r->hits[i]);
    }
    for (uint32_t i = 0; i < s->crossings.way_count && far; i++)
        if (leads_away(s, s->crossings.ways + i)) judge_crossing(s, node, s->crossings.ways[i].entity);
}

/* How far a way goes, if its entity has nodes that it may bring along; else 0. */
static double step_of_nodes(const aoi_space *s, const aoi_way *way) {
    uint32_t n = s->records.entities[way->entity].nodes;
    while (n != AOI_NONE && !s->records.nodes[n].crosses) n = s->records.nodes[n].next;
    return n == AOI_NONE ? 0 : aoi_chebyshev(s->records.dims, way->from, s->records.entities[way->entity].pos);
}

/* The nodes around the way of a target, but for those that went farther than `slack` themselves. */
static void judge_around(aoi_space *s, const aoi_way *way, double slack) {
    const aoi_records *r = &s->records;
    const double *to = r->entities[way->entity].pos;
    double mid[3] = {0, 0, 0}, half = aoi_chebyshev(r->dims, way->from, to) / 2 + slack;
    for (int i = 0; i < r->dims; i++) mid[i] = way->from[i] + (to[i] - way->from[i]) / 2;
    half = half * 1.7321 + fmax(aoi_extent_of(s, way->entity), 0); /* to the corners, as a circle grows by a distance */
    aoi_find_nodes(s, mid, half * (1 + 0x1p-20), false, true);
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_way *other = way_of(&s->crossings, r->nodes[r->hits[i]].owner);
        if (!other || aoi_chebyshev(r->dims, other->from, r->entities[other->entity].pos) <= slack)
            judge_crossing(s, r->hits[i], way->entity);
    }
}

static void find_crossings(aoi_space *s) {
    const aoi_records *r = &s->records;
    const aoi_crossings *c = &s->crossings;
    const bool few = c->node_count <= AOI_FEW_WATCHERS || r->takes == AOI_TAKES_ALL;
    double slack = 0;
    for (uint32_t i = 0; i < c->way_count && !few; i++)
        if (!c->ways[i].broken) slack = fmax(slack, step_of_nodes(s, c->ways + i));
    slack = fmin(slack, s->index.grid.points.side);
    for (uint32_t i = 0; i < c->way_count && !r->failed; i++) {
        const aoi_way *way = c->ways + i;
        const aoi_entity_record *e = r->entities + way->entity;
        if (!leads_away(s, way)) continue;
        const bool far = !few && aoi_chebyshev(r->dims, way->from, e->pos) > slack;
        for (uint32_t n = e->nodes; n != AOI_NONE; n = r->nodes[n].next)
            if (r->nodes[n].crosses) judge_standing(s, way, n, far);
        for (uint32_t k = 0; k < c->node_count && few; k++) judge_crossing(s, c->nodes[k], way->entity);
        if (!few) judge_around(s, way, slack);
    }
}

static int by_place(const void *a, const void *b) {
    const aoi_crossed *x = a, *y = b;
    if (x->t != y->t) return x->t < y->t ? -1 : 1;
    if (x->watcher != y->watcher) return x->watcher < y->watcher ? -1 : 1;
    if (x->node_id != y->node_id) return x->node_id < y->node_id ? -1 : 1;
    return x->target_id < y->target_id ? -1 : x->target_id > y->target_id;
}

bool aoi_judge_crossings(aoi_space *s) {
    aoi_crossings *c = &s->crossings;
    c->found_count = 0;
    find_crossings(s);
    if (c->found_count) qsort(c->found, c->found_count, sizeof *c->found, by_place);
    for (uint32_t i = 0; i < c->found_count && !s->records.failed; i++) {
        const aoi_crossed *x = c->found + i;
        if (!aoi_queue_ready(&s->records.memory, &s->queue)) s->records.failed = true;
        else
            aoi_append(s, &s->queue,
                       &(aoi_queued){.watcher = x->watcher,
                                     .target = x->target_id,
                                     .node_id = x->node_id,
                                     .node = x->node,
                                     .entity = x->target,
                                     .life = s->records.entities[x->target].generation,
                                     .kind = AOI_CROSS,
                                     .t = x->t});
        s->queue.crosses = true;
    }
    if (!s->records.failed) aoi_forget_ways(s);
    return !s->records.failed;
}
