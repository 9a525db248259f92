/* crossings.c - see crossings.h. */
#include "engines/list/crossings.h"

#include <string.h>

#include "core/rule.h"

void aoi_passed_begin(aoi_passed *p, aoi_world *w, const uint32_t *owners, uint32_t entity, const double *from,
                      const double *to) {
    p->world = w;
    p->owners = owners;
    p->entity = entity;
    p->mate = AOI_NONE;
    p->count = 0;
    for (int i = 0; i <= w->dims; i++) memcpy(p->stage[i], from, sizeof *p->stage);
    for (int a = 0; a < w->dims; a++) p->stage[w->dims][a] = to[a];
    p->stage[1][0] = to[0];
    if (w->dims == 3) p->stage[2][0] = to[0], p->stage[2][1] = to[1];
}

/* The target is inside on the other axes, on which a leg changes nothing? */
static inline unsigned is_beside(int dims, int axis, double r, const double *w, const double *t) {
    int a = axis == 0, b = axis == 2 ? 1 : 2;
    return aoi_in_side(w[a], t[a], r) & (unsigned)(dims < 3 || aoi_in_side(w[b], t[b], r));
}

/* A watcher with this reach goes from w0 to w1, or a target from t0 to t1: the edge of this side has been passed, and with
 * it what is inside has changed?  All conditions are computed: whether they hold nobody can predict. */
static inline unsigned changes(int side, double r, double w0, double w1, double t0, double t1) {
    unsigned low = (unsigned)(w0 - r <= t0) ^ (unsigned)(w1 - r <= t1);
    unsigned high = (unsigned)(t0 <= w0 + r) ^ (unsigned)(t1 <= w1 + r);
    return (side == AOI_LOW ? low : high) & (aoi_in_side(w0, t0, r) ^ aoi_in_side(w1, t1, r));
}

/* Each of the two may have come into, or gone out of, the other's node. */
static void judge_alike(aoi_passed *p) {
    aoi_world *w = p->world;
    double r = w->nodes[p->mate].reach;
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        int side = (int)(c->ref >> AOI_SIDE_SHIFT), axis = (int)(c->own >> AOI_SIDE_SHIFT);
        uint32_t node = c->ref & AOI_SLOT_MASK, other = p->owners[node];
        const double *from = p->stage[axis], *to = p->stage[axis + 1], *at = w->entities[other].pos;
        unsigned its = is_beside(w->dims, axis, r, at, from), mine = is_beside(w->dims, axis, r, from, at);
        if (!(its | mine)) continue;
        its &= changes(side, r, at[axis], at[axis], from[axis], to[axis]);
        mine &= changes(AOI_LOW + AOI_HIGH - side, r, from[axis], to[axis], at[axis], at[axis]);
        if (other == p->entity) continue;
        if (its) aoi_propose(w, node, p->entity);
        if (mine) aoi_propose(w, p->mate, other);
    }
}

/* Their records are anywhere in memory: all are asked for before the first is read. */
static void judge_both(aoi_passed *p) {
    aoi_world *w = p->world;
    for (int i = 0; i < p->count; i++) {
        uint32_t slot = p->items[i].ref & AOI_SLOT_MASK;
        if ((p->items[i].own & AOI_SLOT_MASK) == AOI_SLOT_MASK) AOI_PREFETCH(w->entities + p->owners[slot]);
        else AOI_PREFETCH(w->entities + slot);
    }
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        int side = (int)(c->ref >> AOI_SIDE_SHIFT), axis = (int)(c->own >> AOI_SIDE_SHIFT);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = c->own & AOI_SLOT_MASK;
        const double *from = p->stage[axis], *to = p->stage[axis + 1];
        if (node == AOI_SLOT_MASK) {
            const aoi_node_record *n = w->nodes + slot;
            const double *at = w->entities[n->owner].pos;
            if (is_beside(w->dims, axis, n->reach, at, from) && n->owner != p->entity &&
                changes(side, n->reach, at[axis], at[axis], from[axis], to[axis]))
                aoi_propose(w, slot, p->entity);
        } else {
            const double *at = w->entities[slot].pos;
            double r = w->nodes[node].reach;
            if (is_beside(w->dims, axis, r, from, at) && slot != p->entity &&
                changes(side, r, from[axis], to[axis], at[axis], at[axis]))
                aoi_propose(w, node, slot);
        }
    }
}

void aoi_passed_judge(aoi_passed *p) {
    if (p->mate != AOI_NONE) judge_alike(p);
    else judge_both(p);
    p->count = 0;
}
