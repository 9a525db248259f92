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

enum { AOI_CROSSINGS = 128, AOI_PASSAGES = 64 };

typedef struct aoi_passage { /* what an entry passes in a block: bit k for refs[k] */
    uint64_t bits;
    const uint32_t *refs;
    uint32_t side, own; /* side: of an edge that moves, as in a ref; 0 for a point */
} aoi_passage;

typedef struct
    aoi_crossing { /* the mover's point and a node's edge, or an edge of the mover's node and an entity's point */
    uint32_t ref;  /* the side of the edge; the slot of the other end, node or entity */
    uint32_t own;  /* the axis; the mover's own node, or none when its point moves */
} aoi_crossing;

typedef struct aoi_crossings {
    aoi_world *world;
    uint32_t entity; /* the mover */
    const double *from, *to;
    int found, count;
    aoi_passage passages[2 * AOI_PASSAGES + 1];
    aoi_crossing items[AOI_CROSSINGS];
} aoi_crossings;

static inline uint32_t aoi_own_of(uint32_t node, int axis) {
    return (uint32_t)axis << AOI_SIDE_SHIFT | (node & AOI_SLOT_MASK);
}

/* Branch-free for the usual none: always writes, and keeps it if a bit is set. */
AOI_INLINE void aoi_crossings_note(aoi_crossings *p, uint64_t bits, const uint32_t *refs, uint32_t side, uint32_t own) {
    p->passages[p->found] = (aoi_passage){bits, refs, side, own};
    p->found += bits != 0;
}

/* Notes what an entry passes between two keys, from a block that holds one of them on; at most AOI_PASSAGES have been noted. */
void aoi_crossings_walk(aoi_crossings *p, const aoi_block_lists *c, aoi_block *b, float k0, float k1, uint32_t side,
                        uint32_t own);

/* What was noted becomes crossings, before a block changes.  The records that judging reads are anywhere in memory, and are
 * prefetched: the entities and nodes here; when these should have come, the owners of the nodes. */
void aoi_crossings_collect(aoi_crossings *p);
void aoi_crossings_prefetch_owners(const aoi_crossings *p);

void aoi_crossings_judge(aoi_crossings *p); /* adds the candidates, forgets what was collected */

#endif
