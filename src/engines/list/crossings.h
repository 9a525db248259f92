/* crossings.h - the edges and points that a mover's entries have passed, and the candidates that follow.
 *
 *     from           A point that passes an edge, or an edge that passes a point, is collected, on each axis.  A pair is a
 *   +---o-----+      candidate if it is inside at only one end of the move; once, though it may pass two edges, as here:
 *   |    \    |      the move goes along one axis after the other, and the pair comes in by the last edge that it passes,
 *   +-----\---+      or goes out by the first.
 *          to
 * Keys are rounded, so the lists tell of entries close by, too: exact positions decide. */
#ifndef AOI_CROSSINGS_H
#define AOI_CROSSINGS_H

#include "core/engine.h"
#include "engines/list/block_list.h"

enum { AOI_CROSSINGS = 128 };

typedef struct
    aoi_crossing { /* the mover's point and a node's edge, or an edge of the mover's node and an entity's point */
    uint32_t ref;  /* the side of the edge; the slot of the other end, node or entity */
    uint32_t own;  /* the axis; the mover's own node, or none when its point moves */
} aoi_crossing;

typedef struct aoi_crossings {
    aoi_world *world;
    uint32_t entity; /* the mover */
    const double *from, *to;
    int count;
    aoi_crossing items[AOI_CROSSINGS];
} aoi_crossings;

void aoi_crossings_judge(aoi_crossings *p); /* adds the candidates, forgets what was collected */

/* The records that judging reads are anywhere in memory: first the entities and nodes that were collected, then, when these
 * should have come, the owners of the nodes. */
void aoi_crossings_prefetch(const aoi_crossings *p);
void aoi_crossings_prefetch_owners(const aoi_crossings *p);

static inline uint32_t aoi_own_of(uint32_t node, int axis) {
    return (uint32_t)axis << AOI_SIDE_SHIFT | (node & AOI_SLOT_MASK);
}

/* Appends one crossing per set bit; tag: the side of an edge that moves, 0 for a point.  Branch-free for the usual none or
 * one: it always writes one, and keeps it if a bit was set; if none is, it reads a key, which is in a cache line that has
 * been read already, instead of a ref. */
AOI_INLINE void aoi_crossings_note(aoi_crossings *p, const uint32_t *refs, int cap, uint64_t bits, uint32_t tag,
                                   uint32_t own) {
    uint32_t keep = tag ? AOI_SLOT_MASK : UINT32_MAX;
    if (p->count > AOI_CROSSINGS - AOI_BLOCK_MOST) aoi_crossings_judge(p);
    do {
        p->items[p->count] = (aoi_crossing){tag | (refs[aoi_lanes_first(bits + !bits) - cap * !bits] & keep), own};
        p->count += bits != 0;
        bits &= bits - 1;
    } while (bits);
}

/* Collects what an entry passes between two keys, from a block that holds one of them on. */
void aoi_crossings_walk(aoi_crossings *p, const aoi_block_lists *c, aoi_block *b, float k0, float k1, uint32_t tag,
                        uint32_t own);

#endif
