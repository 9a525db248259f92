/* crossings.h - what a mover has passed in the lists, and who of it is proposed.
 *
 *   from ----> (to.x, from.y) ----> to      A move goes along one axis after the other, a leg each.  A point that passes an
 *                                           edge, or an edge a point, is collected; it is a pair to propose if on this axis
 *                                           it comes in or goes out while it is inside on the others.
 *
 * A pair whose visibility changes does so on exactly one leg, and with exactly one edge: each is proposed once.  Keys are
 * rounded, so others close by are collected, too: positions tell. */
#ifndef AOI_PASSED_H
#define AOI_PASSED_H

#include "core/engine.h"
#include "engines/list/block_list.h"

enum { AOI_PASSED = 128 };

typedef struct aoi_crossing { /* the point that moves and a node's edge, or an own node's edge and an entity's point */
    uint32_t ref;             /* the side of the edge; the slot of the other one, node or entity */
    uint32_t own;             /* the axis; the mover's own node, or none when its point moves */
} aoi_crossing;

static inline uint32_t aoi_own_of(uint32_t node, int axis) {
    return (uint32_t)axis << AOI_SIDE_SHIFT | (node & AOI_SLOT_MASK);
}

typedef struct aoi_passed aoi_passed;

/* Collects what the mover's entry passes from v0, whose key is in this block or next to it, to v1. */
typedef void (*aoi_walker)(aoi_passed *p, const aoi_chains *c, aoi_block *b, double v0, double v1, uint32_t tag,
                           uint32_t own);

struct aoi_passed {
    aoi_world *world;
    aoi_walker walk;        /* for this processor */
    uint32_t entity;        /* who moves */
    const uint32_t *owners; /* of each node; the records say the same, but are far apart */
    uint32_t mate;      /* its node, if everybody is alike: then it is asked, too, about those whose edge is passed */
    double stage[4][3]; /* from, then with one coordinate more of `to` each */
    int count;
    aoi_crossing items[AOI_PASSED];
};

void aoi_passed_begin(aoi_passed *p, aoi_world *w, const uint32_t *owners, uint32_t entity, const double *from,
                      const double *to);
/* Proposes, and forgets what was collected.  Crossings that did not happen, for lack of a change, are sorted out. */
void aoi_passed_judge(aoi_passed *p);

/* The places of a block's points, or of its edges, whose keys lie between two. */
AOI_INLINE uint64_t aoi_passed_places(aoi_block *b, float lo, float hi, bool points, aoi_lanes between) {
    int cap = aoi_block_cap(b);
    uint64_t bits = aoi_lanes_many(aoi_block_keys(b), points ? (int)b->points : cap, lo, hi, between);
    return points ? bits & aoi_lanes_mask((int)b->points)
                  : bits & aoi_lanes_mask(cap) & ~aoi_lanes_mask(cap - (int)b->edges);
}

/* Notes down whom the bits stand for; tag: the own side, or 0 if that is a point.  The first is written before it is known
 * whether there is one: a branch that nobody can predict costs more. */
AOI_INLINE void aoi_passed_note(aoi_passed *p, const uint32_t *refs, uint64_t bits, uint32_t tag, uint32_t own) {
    uint32_t keep = tag ? AOI_SLOT_MASK : UINT32_MAX;
    if (p->count > AOI_PASSED - AOI_MOST) aoi_passed_judge(p);
    do {
        p->items[p->count] = (aoi_crossing){tag | (refs[aoi_lanes_first(bits + !bits)] & keep), own};
        p->count += bits != 0;
        bits &= bits - 1;
    } while (bits);
}

/* Asks for whose edges have been passed so far: the nodes, or, if everybody is alike, their owners. */
AOI_INLINE void aoi_passed_fetch(const aoi_passed *p) {
    for (int i = 0; i < p->count; i++) {
        uint32_t node = p->items[i].ref & AOI_SLOT_MASK;
        if (p->mate == AOI_NONE) AOI_PREFETCH(p->world->nodes + node);
        else AOI_PREFETCH(p->world->entities + p->owners[node]);
    }
}

/* A walker, once its lanes are known. */
AOI_INLINE void aoi_passed_walk_by(aoi_passed *p, const aoi_chains *c, aoi_block *b, double v0, double v1, uint32_t tag,
                                   uint32_t own, aoi_lanes between) {
    float lo = aoi_block_key(b, v0 < v1 ? v0 : v1), hi = aoi_block_key(b, v0 < v1 ? v1 : v0);
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(c, b->prev);
    for (;; b = aoi_block_at(c, b->next)) {
        aoi_passed_note(p, aoi_block_refs(b), aoi_passed_places(b, lo, hi, tag != 0, between), tag, own);
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

#endif
