/* aoi_passed.c - see aoi_passed.h. */
#include "aoi_passed.h"

#include <string.h>

#include "aoi_rule.h"

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

/* A watcher with this reach goes from w0 to w1, or a target from t0 to t1, along one axis: the edge of this side has been
 * passed, and with it what is seen has changed?  All conditions are computed: whether they hold nobody can predict. */
static inline unsigned changes(int dims, int axis, int side, double r, const double *w0, const double *w1,
                               const double *t0, const double *t1) {
    double e0 = side == AOI_LOW ? w0[axis] - r : w0[axis] + r, e1 = side == AOI_LOW ? w1[axis] - r : w1[axis] + r;
    unsigned low = (unsigned)(e0 <= t0[axis]) ^ (unsigned)(e1 <= t1[axis]);
    unsigned high = (unsigned)(t0[axis] <= e0) ^ (unsigned)(t1[axis] <= e1);
    return (side == AOI_LOW ? low : high) & (unsigned)(aoi_in_box(dims, w0, t0, r) != aoi_in_box(dims, w1, t1, r));
}

void aoi_passed_walk(aoi_passed *p, const aoi_chains *c, aoi_block *b, double v0, double v1, uint32_t tag,
                     uint32_t own) {
    aoi_passed_walk_by(p, c, b, v0, v1, tag, own, aoi_lanes_plain);
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
        unsigned its = changes(w->dims, axis, side, r, at, at, from, to),
                 mine = changes(w->dims, axis, AOI_LOW + AOI_HIGH - side, r, from, to, at, at);
        if (!(its | mine) || other == p->entity) continue;
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
            if (changes(w->dims, axis, side, n->reach, at, at, from, to) && n->owner != p->entity)
                aoi_propose(w, slot, p->entity);
        } else {
            const double *at = w->entities[slot].pos;
            if (changes(w->dims, axis, side, w->nodes[node].reach, from, to, at, at) && slot != p->entity)
                aoi_propose(w, node, slot);
        }
    }
}

void aoi_passed_judge(aoi_passed *p) {
    if (p->mate != AOI_NONE) judge_alike(p);
    else judge_both(p);
    p->count = 0;
}
