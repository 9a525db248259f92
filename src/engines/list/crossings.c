/* crossings.c - see crossings.h. */
#include "engines/list/crossings.h"

#include <string.h>


void aoi_crossings_begin(aoi_crossings *p, aoi_world *w, uint32_t entity, const double *to) {
    const double *from = w->entities[entity].pos;
    p->world = w;
    p->entity = entity;
    p->count = 0;
    for (int i = 0; i <= w->dims; i++) memcpy(p->stage[i], from, sizeof *p->stage);
    for (int a = 0; a < w->dims; a++)
        for (int i = a + 1; i <= w->dims; i++) p->stage[i][a] = to[a];
}

void aoi_crossings_walk(aoi_crossings *p, const aoi_block_lists *c, aoi_block *b, double v0, double v1, uint32_t tag,
                        uint32_t own) {
    float lo = aoi_block_key(b, v0 < v1 ? v0 : v1), hi = aoi_block_key(b, v0 < v1 ? v1 : v0);
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(c, b->prev);
    for (;; b = aoi_block_at(c, b->next)) {
        aoi_crossings_note(p, aoi_block_refs(b), aoi_block_between(b, lo, hi, tag != 0), tag, own);
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

/* On one axis; the sides are added up without a branch, which would often be mispredicted. */
static inline unsigned crossing_in_side(double w, double t, double r) {
    return (unsigned)(w - r <= t) & (unsigned)(t <= w + r);
}

static inline double crossing_reach(const aoi_world *w, uint32_t node, int axis) {
    return axis < 2 ? w->nodes[node].reach[axis] : w->areas[node].height;
}

static bool crossing_in_box(const aoi_world *w, uint32_t node, const double *at, const double *t) {
    unsigned inside = 1;
    for (int a = 0; a < w->dims; a++) inside &= crossing_in_side(at[a], t[a], crossing_reach(w, node, a));
    return inside;
}

/* The target is inside on the axes other than that of the leg, on which the leg changes nothing. */
static inline unsigned is_beside(const aoi_world *w, uint32_t node, int axis, const double *at, const double *t) {
    int a = axis == 0, b = axis == 2 ? 1 : 2;
    unsigned beside = crossing_in_side(at[a], t[a], crossing_reach(w, node, a));
    return w->dims < 3 ? beside : beside & crossing_in_side(at[b], t[b], crossing_reach(w, node, b));
}

/* A watcher with this reach goes from w0 to w1, or a target from t0 to t1: the edge of this side is passed, and with it
 * what is inside changes. */
static inline unsigned is_passed(int side, double r, double w0, double w1, double t0, double t1) {
    unsigned low = (unsigned)(w0 - r <= t0) ^ (unsigned)(w1 - r <= t1);
    unsigned high = (unsigned)(t0 <= w0 + r) ^ (unsigned)(t1 <= w1 + r);
    return (side == AOI_LOW ? low : high) & (crossing_in_side(w0, t0, r) ^ crossing_in_side(w1, t1, r));
}

/* The mover's point has passed an edge of the node. */
static void judge_watcher(aoi_crossings *p, uint32_t node, int side, int axis) {
    aoi_world *w = p->world;
    const aoi_node_record *n = w->nodes + node;
    if (!(w->entities[p->entity].kind & n->mask) || n->owner == p->entity) return;
    const double *at = w->entities[n->owner].pos, *from = p->stage[axis], *to = p->stage[axis + 1];
    if (is_beside(w, node, axis, at, from) &
        is_passed(side, crossing_reach(w, node, axis), at[axis], at[axis], from[axis], to[axis]))
        if (crossing_in_box(w, node, at, p->stage[0]) != crossing_in_box(w, node, at, p->stage[w->dims]))
            aoi_add_candidate(w, node, p->entity);
}

/* An edge of the mover's node has passed the entity's point. */
static void judge_target(aoi_crossings *p, uint32_t node, uint32_t entity, int side, int axis) {
    aoi_world *w = p->world;
    const aoi_entity_record *e = w->entities + entity;
    const double *at = e->pos, *from = p->stage[axis], *to = p->stage[axis + 1];
    if (!(e->kind & w->nodes[node].mask) || entity == p->entity) return;
    if (is_beside(w, node, axis, from, at) &
        is_passed(side, crossing_reach(w, node, axis), from[axis], to[axis], at[axis], at[axis]))
        if (crossing_in_box(w, node, p->stage[0], at) != crossing_in_box(w, node, p->stage[w->dims], at))
            aoi_add_candidate(w, node, entity);
}

/* The records are anywhere in memory: all are prefetched before the first is read. */
void aoi_crossings_judge(aoi_crossings *p) {
    const aoi_world *w = p->world;
    for (int i = 0; i < p->count; i++) {
        uint32_t slot = p->items[i].ref & AOI_SLOT_MASK;
        if ((p->items[i].own & AOI_SLOT_MASK) == AOI_SLOT_MASK) AOI_PREFETCH(w->entities + w->nodes[slot].owner);
        else AOI_PREFETCH(w->entities + slot);
    }
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        int side = (int)(c->ref >> AOI_SIDE_SHIFT), axis = (int)(c->own >> AOI_SIDE_SHIFT);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = c->own & AOI_SLOT_MASK;
        if (node == AOI_SLOT_MASK) judge_watcher(p, slot, side, axis);
        else judge_target(p, node, slot, side, axis);
    }
    p->count = 0;
}
