/* move.h - the short move, by far the most frequent: the mover's entries stay in the lists they are in.
 *
 *   plan      which entries those are, and their keys; their blocks are asked for all at once
 *   propose   compares each entry's block, and the few next to it where the move goes on there
 *   commit    writes the new keys; only an entry that leaves its block's interval moves
 *
 * Where everybody carries one node of the same reach, whoever passes an edge of mine has his edge passed by me.  Then only
 * the points' lists are compared, with a margin for roundings, and what is found is asked in both directions; unless the
 * move is close to the border of a tile, since the edge may stand behind it.
 *
 * Between propose and commit the space makes sure of its memory.  What changes lists goes the long way (walks.h): the
 * mover's point, or some of its nodes. */
#ifndef AOI_STRIDE_H
#define AOI_STRIDE_H

#include "engines/list/crossings.h"

struct aoi_list;

enum { AOI_STANDS = 48 }; /* entries of a mover; nodes for which there is no room go the long way */
enum { AOI_FAR_NODES = 31 };

typedef struct aoi_stride {
    uint32_t far; /* bit 0: its point goes the long way; bit i: its i-th node does; the last: all further ones */
    uint32_t points, count; /* entries that stay in their lists; points come first */
    uint32_t leaving;       /* of them leave their block: the new key is not in its interval */
    uint32_t mate;          /* the mover's node, if it is enough to look whom the points pass */
    double margin;
    /* of each entry; one more, since one is written before it is known to be wanted */
    aoi_block *block[AOI_STANDS + 1];
    float *key[AOI_STANDS + 1];
    uint32_t *place[AOI_STANDS + 1]; /* where it is remembered */
    double to[AOI_STANDS + 1];
    float next[AOI_STANDS + 1]; /* the new key; of one that leaves, the bound of the interval that it passes */
    bool leaves[AOI_STANDS + 1];
    /* of those that are compared */
    double from[AOI_STANDS + 1];
    uint32_t tag[AOI_STANDS + 1]; /* the side of an edge, 0 for a point */
    uint32_t own[AOI_STANDS + 1]; /* node and axis, as in aoi_crossing */
} aoi_stride;

void aoi_stride_plan(struct aoi_list *g, uint32_t entity, const double *from, const double *to);
typedef void (*aoi_strider)(struct aoi_list *g, aoi_passed *p);
aoi_strider aoi_best_strider(void);         /* proposes; for this processor */
aoi_strider aoi_plain_strider(void);        /* for any */
void aoi_stride_commit(struct aoi_list *g); /* needs as many blocks as entries leave */

/* Does the i-th node go the long way?  Counted from 1. */
static inline bool aoi_stride_far(const aoi_stride *s, int i) {
    return s->far >> (i < AOI_FAR_NODES ? i : AOI_FAR_NODES) & 1;
}

#endif
