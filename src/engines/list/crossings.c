/* crossings.c - see crossings.h. */
#include "engines/list/crossings.h"

void aoi_crossings_walk(aoi_crossings *p, const aoi_block_lists *c, aoi_block *b, float k0, float k1, uint32_t side,
                        uint32_t own) {
    float lo = k0 < k1 ? k0 : k1, hi = k0 < k1 ? k1 : k0;
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(c, b->prev);
    for (;; b = aoi_block_at(c, b->next)) {
        aoi_crossings_note(p, aoi_block_between(b, lo, hi, side != 0), aoi_block_refs(b), side, own);
        if (p->found > AOI_PASSAGES) aoi_crossings_collect(p);
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

static inline bool is_node(const aoi_crossing *c) {
    return (c->own & AOI_SLOT_MASK) == AOI_SLOT_MASK;
}

void aoi_crossings_collect(aoi_crossings *p) {
    const aoi_world *w = p->world;
    for (int i = 0; i < p->found; i++) {
        const aoi_passage *f = p->passages + i;
        if (p->count > AOI_CROSSINGS - AOI_BLOCK_MOST) aoi_crossings_judge(p);
        for (uint64_t bits = f->bits; bits; bits &= bits - 1) {
            uint32_t ref = f->refs[aoi_lanes_first(bits)], slot = ref & AOI_SLOT_MASK;
            AOI_PREFETCH(f->side ? (const void *)(w->entities + slot) : (const void *)(w->nodes + slot));
            p->items[p->count++] = (aoi_crossing){ref | f->side, f->own};
        }
    }
    p->found = 0;
}

void aoi_crossings_prefetch_owners(const aoi_crossings *p) {
    for (int i = 0; i < p->count; i++)
        if (is_node(p->items + i))
            AOI_PREFETCH(p->world->entities + p->world->nodes[p->items[i].ref & AOI_SLOT_MASK].owner);
}

/* Bit a: the target is within the box on axis a. */
AOI_INLINE unsigned axes_within(int dims, const double *w, const double *t, const double *reach, double height) {
    unsigned bits = aoi_lanes_within(w, t, reach);
    if (dims == 3) bits |= ((unsigned)(w[2] - height <= t[2]) & (unsigned)(t[2] <= w[2] + height)) << 2;
    return bits;
}

/* Inside at one end of a move only: the axis on which the pair comes in last, or goes out first. */
static inline int decisive_axis(int dims, unsigned before, unsigned after) {
    bool comes = after == (1U << dims) - 1;
    int axis = comes ? dims - 1 : 0;
    while (comes && (before >> axis & 1)) axis--;
    while (!comes && (after >> axis & 1)) axis++;
    return axis;
}

/* The watcher goes from w0 to w1, or the target from t0 to t1. */
AOI_INLINE void judge(const aoi_crossings *p, int dims) {
    const unsigned all = (1U << dims) - 1;
    aoi_world *w = p->world;
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        bool watches = !is_node(c);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = watches ? c->own & AOI_SLOT_MASK : slot;
        const aoi_node_record *n = w->nodes + node;
        uint32_t other = watches ? slot : n->owner;
        const double *at = w->entities[other].pos, *w0 = watches ? p->from : at, *w1 = watches ? p->to : at;
        const double *t0 = watches ? at : p->from, *t1 = watches ? at : p->to;
        double height = dims == 3 ? aoi_height_of(w, node) : 0;
        unsigned before = axes_within(dims, w0, t0, n->reach, height);
        unsigned after = axes_within(dims, w1, t1, n->reach, height);
        if ((before == all) == (after == all) || other == p->entity) continue;
        int axis = decisive_axis(dims, before, after);
        const double *we = after == all ? w0 : w1, *te = after == all ? t0 : t1;
        int side = te[axis] < we[axis] - (axis < 2 ? n->reach[axis] : height) ? AOI_LOW : AOI_HIGH;
        if (c->own >> AOI_SIDE_SHIFT == (uint32_t)axis && c->ref >> AOI_SIDE_SHIFT == (uint32_t)side)
            aoi_add_candidate(w, node, watches ? slot : p->entity);
    }
}

void aoi_crossings_judge(aoi_crossings *p) {
    if (p->world->dims == 2) judge(p, 2); /* compiled once for each number of axes */
    else judge(p, 3);
    p->count = 0;
}
