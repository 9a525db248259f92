/* crossings.c - see crossings.h. */
#include "engines/list/crossings.h"

void aoi_crossings_walk(aoi_crossings *p, const aoi_block_lists *c, aoi_block *b, float k0, float k1, uint32_t tag,
                        uint32_t own) {
    float lo = k0 < k1 ? k0 : k1, hi = k0 < k1 ? k1 : k0;
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(c, b->prev);
    for (;; b = aoi_block_at(c, b->next)) {
        aoi_crossings_note(p, aoi_block_refs(b), aoi_block_cap(b), aoi_block_between(b, lo, hi, tag != 0), tag, own);
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

static inline bool is_node(const aoi_crossing *c) {
    return (c->own & AOI_SLOT_MASK) == AOI_SLOT_MASK;
}

void aoi_crossings_prefetch(const aoi_crossings *p) {
    for (int i = 0; i < p->count; i++) {
        uint32_t slot = p->items[i].ref & AOI_SLOT_MASK;
        if (is_node(p->items + i)) AOI_PREFETCH(p->world->nodes + slot);
        else AOI_PREFETCH(p->world->entities + slot);
    }
}

void aoi_crossings_prefetch_owners(const aoi_crossings *p) {
    for (int i = 0; i < p->count; i++)
        if (is_node(p->items + i))
            AOI_PREFETCH(p->world->entities + p->world->nodes[p->items[i].ref & AOI_SLOT_MASK].owner);
}

/* On one axis; the sides are added up without a branch, which would often be mispredicted. */
static inline unsigned is_within(double w, double t, double r) {
    return (unsigned)(w - r <= t) & (unsigned)(t <= w + r);
}

/* The watcher goes from w0 to w1, or the target from t0 to t1; the edge of this side, on this axis, has been passed.  Is it
 * the one by which the pair comes in or goes out? */
AOI_INLINE bool changes(int dims, const double *reach, const double *w0, const double *w1, const double *t0,
                        const double *t1, int axis, int side) {
    unsigned in0[3], in1[3], before = 1, after = 1;
    for (int a = 0; a < dims; a++) {
        before &= in0[a] = is_within(w0[a], t0[a], reach[a]);
        after &= in1[a] = is_within(w1[a], t1[a], reach[a]);
    }
    if (before == after) return false;
    int decisive = 0;
    for (int a = 0; a < dims; a++)
        if (after && !in0[a]) decisive = a;
    for (int a = dims - 1; a >= 0; a--)
        if (before && !in1[a]) decisive = a;
    bool low = after ? t0[decisive] < w0[decisive] - reach[decisive] : t1[decisive] < w1[decisive] - reach[decisive];
    return axis == decisive && side == (low ? AOI_LOW : AOI_HIGH);
}

AOI_INLINE void judge(const aoi_crossings *p, int dims) {
    aoi_world *w = p->world;
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        int side = (int)(c->ref >> AOI_SIDE_SHIFT), axis = (int)(c->own >> AOI_SIDE_SHIFT);
        bool watches = !is_node(c);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = watches ? c->own & AOI_SLOT_MASK : slot;
        const aoi_node_record *n = w->nodes + node;
        uint32_t other = watches ? slot : n->owner, target = watches ? slot : p->entity;
        const double *at = w->entities[other].pos, *w0 = watches ? p->from : at, *w1 = watches ? p->to : at;
        const double *t0 = watches ? at : p->from, *t1 = watches ? at : p->to;
        const double reach[3] = {n->reach[0], n->reach[1], dims == 3 ? aoi_height_of(w, node) : 0};
        if (changes(dims, reach, w0, w1, t0, t1, axis, side) && other != p->entity) aoi_add_candidate(w, node, target);
    }
}

void aoi_crossings_judge(aoi_crossings *p) {
    if (p->world->dims == 2) judge(p, 2); /* compiled once for each number of axes */
    else judge(p, 3);
    p->count = 0;
}
