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
    const aoi_node_record *nodes = p->world->nodes;
    const aoi_entity_record *entities = p->world->entities;
    for (int i = 0; i < p->found; i++) {
        const aoi_passage *f = p->passages + i;
        if (p->count > AOI_CROSSINGS - AOI_BLOCK_MOST) aoi_crossings_judge(p);
        aoi_crossing *next = p->items + p->count;
        for (uint64_t bits = f->bits; bits; bits &= bits - 1, next++) {
            uint32_t ref = f->refs[aoi_lanes_first(bits)], slot = ref & AOI_SLOT_MASK;
            AOI_PREFETCH(f->side ? (const void *)(entities + slot) : (const void *)(nodes + slot));
            *next = (aoi_crossing){ref | f->side, f->own};
        }
        p->count = (int)(next - p->items);
    }
    p->found = 0;
}

void aoi_crossings_prefetch_owners(const aoi_crossings *p) {
    for (int i = 0; i < p->count; i++)
        if (is_node(p->items + i))
            AOI_PREFETCH(p->world->entities + p->world->nodes[p->items[i].ref & AOI_SLOT_MASK].owner);
}

/* Bit a: the target is below the box on axis a; bit 4 + a: above. */
AOI_INLINE unsigned axes_outside(int dims, const double *w, const double *t, const double *reach, double height) {
    unsigned bits = aoi_lanes_outside(w, t, reach);
    if (dims == 3) bits |= (unsigned)(t[2] < w[2] - height) << 2 | (unsigned)(w[2] + height < t[2]) << 6;
    return bits;
}

/* Whether the crossing of this side on this axis is the one by which a pair comes in or goes out: at one end it is inside,
 * at the other outside on some axes, of which the last decides if it comes in, the first if it goes out. */
AOI_INLINE unsigned is_decisive(unsigned before, unsigned after, unsigned axis, unsigned side) {
    static const unsigned char LAST[8] = {0, 1, 2, 2, 4, 4, 4, 4};
    unsigned out = before | after, axes = (out | out >> 4) & 7, first = axes & (0U - axes);
    unsigned axis_bit = before ? LAST[axes] : first, side_bits = out >> (side == AOI_LOW ? 0 : 4);
    return (unsigned)(!before != !after) & (axis_bit & side_bits) >> axis;
}

/* Without a branch that depends on the outcome, which would often be mispredicted. */
AOI_INLINE void judge(const aoi_crossings *p, int dims) {
    aoi_world *w = p->world;
    const aoi_node_record *nodes = w->nodes;
    const aoi_entity_record *entities = w->entities;
    if (!AOI_GROW(&w->memory, w->candidates, w->candidate_cap, w->candidate_count + (size_t)p->count)) {
        w->failed = true;
        return;
    }
    aoi_candidate *next = w->candidates + w->candidate_count;
    for (int i = 0; i < p->count; i++) {
        const aoi_crossing *c = p->items + i;
        bool watches = !is_node(c);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = watches ? c->own & AOI_SLOT_MASK : slot;
        const aoi_node_record *n = nodes + node;
        uint32_t other = watches ? slot : n->owner;
        const double *at = entities[other].pos;
        double height = dims == 3 ? aoi_height_of(w, node) : 0;
        unsigned before = axes_outside(dims, watches ? p->from : at, watches ? at : p->from, n->reach, height);
        unsigned after = axes_outside(dims, watches ? p->to : at, watches ? at : p->to, n->reach, height);
        unsigned decisive = is_decisive(before, after, c->own >> AOI_SIDE_SHIFT, c->ref >> AOI_SIDE_SHIFT);
        *next = (aoi_candidate){node, watches ? slot : p->entity};
        next += decisive & (other != p->entity);
    }
    w->candidate_count = (uint32_t)(next - w->candidates);
}

void aoi_crossings_judge(aoi_crossings *p) {
    if (p->world->dims == 2) judge(p, 2); /* compiled once for each number of axes */
    else judge(p, 3);
    p->count = 0;
}
