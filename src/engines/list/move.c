/* move.c - a move of the list engine.
 *
 *   near   A part of the mover, its point in a level or one of its nodes, that stays in its tiles: each of its entries
 *          compares its block, and the blocks beside it where the move goes on there, collects what it passes, and gets
 *          its new key in place.  An entry that leaves its block's interval is added to a list of such entries.
 *   far    A part that changes tiles: its entries are taken out and put in again.  A move with such a part, one in some
 *          thirty, or a jump, collects nothing; the grid proposes its candidates.
 *
 * Near parts come first and reserve nothing.  Where memory for the rest is refused their old keys are put back: an old
 * key is in its block's interval, since no entry has changed place so far. */
#include <string.h>

#include "engines/list/list.h"

/* ---- what is passed ------------------------------------------------------------------------------------------------
 *
 *     from           A point that passes an edge, or an edge that passes a point, is collected, on each axis.  A pair is a
 *   +---o-----+      candidate if it is inside at only one end of the move; once, though it may pass two edges, as here:
 *   |    \    |      the move goes along one axis after the other, and the pair comes in by the last edge that it passes,
 *   +-----\---+      or goes out by the first.
 *          to
 * Keys are rounded, so the lists tell of entries close by, too: exact positions decide. */
enum { CROSSINGS = 128, PASSAGES = 64 };

typedef struct passage { /* the entries that an entry passes in a block: bit k for refs[k] */
    uint64_t bits;
    const uint32_t *refs;
    uint32_t side, own; /* side: of an edge that moves, as in a ref; 0 for a point */
} passage;

typedef struct crossing { /* the mover's point and a node's edge, or an edge of the mover's and an entity's point */
    uint32_t ref;         /* the side of the edge; the slot of the other end, node or entity */
    uint32_t own;         /* the axis; the mover's own node, or none when its point moves */
} crossing;

typedef struct crossings {
    aoi_records *records;
    uint32_t entity; /* the mover */
    const double *from, *to;
    int found, count;
    passage passages[2 * PASSAGES + 1];
    crossing items[CROSSINGS];
} crossings;

static inline uint32_t own_of(uint32_t node, int axis) {
    return (uint32_t)axis << AOI_SIDE_SHIFT | (node & AOI_SLOT_MASK);
}

/* Branch-free, as there is usually none: always writes, and keeps it if a bit is set. */
AOI_INLINE void crossings_note(crossings *p, uint64_t bits, const uint32_t *refs, uint32_t side, uint32_t own) {
    p->passages[p->found] = (passage){bits, refs, side, own};
    p->found += bits != 0;
}

/* Bit a: the target is below the box on axis a; bit 4 + a: above. */
AOI_INLINE unsigned axes_outside(int dims, const double *w, const double *t, const double *reach, double height) {
    unsigned bits = aoi_lanes_outside(w, t, reach);
    if (dims == 3) bits |= (unsigned)(t[2] < w[2] - height) << 2 | (unsigned)(w[2] + height < t[2]) << 6;
    return bits;
}

/* Whether a pair enters or leaves by crossing this side on this axis: it is inside at one end and outside on some axes
 * at the other, of which the last decides an enter, the first a leave. */
AOI_INLINE unsigned is_decisive(unsigned before, unsigned after, unsigned axis, unsigned side) {
    static const unsigned char LAST[8] = {0, 1, 2, 2, 4, 4, 4, 4};
    unsigned out = before | after, axes = (out | out >> 4) & 7, first = axes & (0U - axes);
    unsigned axis_bit = before ? LAST[axes] : first, side_bits = out >> (side == AOI_LOW ? 0 : 4);
    return (unsigned)(!before != !after) & (axis_bit & side_bits) >> axis;
}

static inline bool is_node(const crossing *c) {
    return (c->own & AOI_SLOT_MASK) == AOI_SLOT_MASK;
}

/* Without a branch that depends on the outcome, which would often be mispredicted. */
AOI_INLINE void judge(const crossings *p, int dims) {
    aoi_records *r = p->records;
    const aoi_node_record *nodes = r->nodes;
    const aoi_entity_record *entities = r->entities;
    if (!AOI_GROW(&r->memory, r->candidates, r->candidate_cap, r->candidate_count + (size_t)p->count)) {
        r->failed = true;
        return;
    }
    aoi_candidate *next = r->candidates + r->candidate_count;
    for (int i = 0; i < p->count; i++) {
        const crossing *c = p->items + i;
        bool watches = !is_node(c);
        uint32_t slot = c->ref & AOI_SLOT_MASK, node = watches ? c->own & AOI_SLOT_MASK : slot;
        const aoi_node_record *n = nodes + node;
        uint32_t other = watches ? slot : n->owner;
        const double *at = entities[other].pos;
        double height = dims == 3 ? aoi_height_of(r, node) : 0;
        unsigned before = axes_outside(dims, watches ? p->from : at, watches ? at : p->from, n->reach, height);
        unsigned after = axes_outside(dims, watches ? p->to : at, watches ? at : p->to, n->reach, height);
        unsigned decisive = is_decisive(before, after, c->own >> AOI_SIDE_SHIFT, c->ref >> AOI_SIDE_SHIFT);
        *next = (aoi_candidate){node, watches ? slot : p->entity};
        next += decisive & (other != p->entity);
    }
    r->candidate_count = (uint32_t)(next - r->candidates);
}

/* Adds the candidates among the collected crossings, and clears these. */
static void crossings_judge(crossings *p) {
    if (p->records->dims == 2) judge(p, 2); /* compiled once for each number of axes */
    else judge(p, 3);
    p->count = 0;
}

/* Turns the noted passages into crossings, before a block changes.  The records that judging reads are scattered in
 * memory, so they are prefetched: entities and nodes here, the owners of the nodes later. */
static void crossings_collect(crossings *p) {
    const aoi_node_record *nodes = p->records->nodes;
    const aoi_entity_record *entities = p->records->entities;
    for (int i = 0; i < p->found; i++) {
        const passage *f = p->passages + i;
        if (p->count > CROSSINGS - AOI_BLOCK_MOST) crossings_judge(p);
        crossing *next = p->items + p->count;
        for (uint64_t bits = f->bits; bits; bits &= bits - 1, next++) {
            uint32_t ref = f->refs[aoi_lanes_first(bits)], slot = ref & AOI_SLOT_MASK;
            AOI_PREFETCH(f->side ? (const void *)(entities + slot) : (const void *)(nodes + slot));
            *next = (crossing){ref | f->side, f->own};
        }
        p->count = (int)(next - p->items);
    }
    p->found = 0;
}

static void crossings_prefetch_owners(const crossings *p) {
    for (int i = 0; i < p->count; i++)
        if (is_node(p->items + i))
            AOI_PREFETCH(p->records->entities + p->records->nodes[p->items[i].ref & AOI_SLOT_MASK].owner);
}

/* Notes what an entry passes between two keys, from a block that holds one of them on; at most PASSAGES have been noted. */
static void crossings_walk(crossings *p, const aoi_block_lists *c, aoi_block *b, float k0, float k1, uint32_t side,
                           uint32_t own) {
    float lo = k0 < k1 ? k0 : k1, hi = k0 < k1 ? k1 : k0;
    while (lo <= b->low && b->prev != AOI_NONE) b = aoi_block_at(c, b->prev);
    for (;; b = aoi_block_at(c, b->next)) {
        crossings_note(p, aoi_block_between(b, lo, hi, side != 0), aoi_block_refs(b), side, own);
        if (p->found > PASSAGES) crossings_collect(p);
        if (hi < b->high || b->next == AOI_NONE) return;
    }
}

/* ---- a mover ----------------------------------------------------------------------------------------------------- */

typedef struct list_entry { /* that stays in its tile */
    aoi_block *block;
    uint32_t *place;
    double to;
    uint32_t side, own; /* as in a crossing */
} list_entry;

typedef struct list_mover {
    aoi_list *g;
    aoi_records *records;
    uint32_t entity;
    const double *from, *to;
    bool near;   /* all of its parts stay in their tiles */
    bool places; /* nothing is collected: the grid proposes, or nothing is to be proposed, or old keys are put back */
    bool failed;
    int edges, count;
    list_entry entries[PASSAGES]; /* edges, then points */
    crossings passed;
} list_mover;

/* ---- near parts -------------------------------------------------------------------------------------------------- */

static void note_leaving(list_mover *p, uint32_t *place, double to) {
    aoi_list *g = p->g;
    if (!AOI_GROW(aoi_list_memory(g), g->leaving, g->leaving_cap, g->leaving_count + (size_t)1)) p->failed = true;
    else g->leaving[g->leaving_count++] = (aoi_leaving){place, to};
}

/* For moves to a bound of the block's interval or beyond, and for blocks of an unusual kind. */
AOI_NOINLINE static void walk_entry(list_mover *p, const list_entry *e) {
    aoi_block *b = e->block;
    float *key = aoi_block_keys(b) + (*e->place & AOI_PLACE_MASK), now = aoi_block_key(b, e->to);
    crossings_walk(&p->passed, &p->g->lists, b, *key, now, e->side, e->own);
    if (b->low <= now && now <= b->high) *key = now;
    else note_leaving(p, e->place, e->to);
}

enum { FEW_KEYS = 16, ALL_KEYS = (AOI_BLOCK_MOST + AOI_LANE - 1) / AOI_LANE * AOI_LANE };

/* Most entries stay within their block's interval, which has few points. */
AOI_INLINE void walk_entries(list_mover *p, int first, int count, bool points) {
    for (const list_entry *e = p->entries + first; e < p->entries + count; e++) {
        aoi_block *b = e->block;
        float *keys = aoi_block_keys(b), *key = keys + (*e->place & AOI_PLACE_MASK);
        float was = *key, now = aoi_block_key(b, e->to), lo = aoi_lanes_least(was, now), hi = aoi_lanes_most(was, now);
        if (b->size != AOI_LARGEST || lo <= b->low || hi >= b->high || (!points && b->points > FEW_KEYS)) {
            walk_entry(p, e);
            continue;
        }
        uint64_t bits = aoi_lanes_keys(keys, points ? ALL_KEYS : FEW_KEYS, lo, hi);
        bits &= points ? aoi_lanes_mask(AOI_BLOCK_MOST) ^ aoi_lanes_mask(AOI_BLOCK_MOST - (int)b->edges)
                       : aoi_lanes_mask((int)b->points);
        crossings_note(&p->passed, bits, (const uint32_t *)(const void *)(keys + AOI_BLOCK_MOST), e->side, e->own);
        *key = now;
    }
}

static void place_entry(list_mover *p, const list_entry *e) {
    aoi_block *b = e->block;
    float now = aoi_block_key(b, e->to);
    if (b->low <= now && now <= b->high) aoi_block_keys(b)[*e->place & AOI_PLACE_MASK] = now;
    else note_leaving(p, e->place, e->to);
}

static void run_entries(list_mover *p) {
    if (p->places) {
        for (int i = 0; i < p->count; i++) place_entry(p, p->entries + i);
    } else {
        walk_entries(p, p->edges, p->count, true);
        walk_entries(p, 0, p->edges, false);
        crossings_collect(&p->passed);
    }
    p->edges = p->count = 0;
}

/* Adds the entry at this place, if there is one, which is not predictable: without a branch. */
AOI_INLINE void add_entry(list_mover *p, uint32_t *place, double to, uint32_t side, uint32_t own) {
    uint32_t stands = *place != AOI_NONE, at = stands ? *place : 0; /* any block if there is none */
    aoi_block *b = aoi_block_of(&p->g->lists, at);
    p->entries[p->count] = (list_entry){b, place, to, side, own};
    p->count += (int)stands;
    for (int i = 0; i < (side ? 2 : AOI_BLOCK_KEY_LINES); i++) /* an edge compares points, in front; a point edges */
        AOI_PREFETCH((const char *)b + i * AOI_CACHE_LINE);
    AOI_PREFETCH(aoi_block_keys(b) + (at & AOI_PLACE_MASK));
}

AOI_INLINE void add_box(list_mover *p, int dims, uint32_t node, const double *to) {
    uint32_t *place = aoi_edge_places_in(p->g, dims, node);
    for (int a = 0; a < dims; a++) {
        int tiles = a < 2 ? 2 : 4;
        double reach = a < 2 ? p->records->nodes[node].reach[a] : aoi_height_of(p->records, node);
        if (p->count > PASSAGES - 2 * tiles) run_entries(p);
        for (int i = 0; i < 2 * tiles && p->from[a] != p->to[a]; i++)
            add_entry(p, place + i, i < tiles ? to[a] - reach : to[a] + reach,
                      aoi_ref_of(i < tiles ? AOI_LOW : AOI_HIGH, 0), own_of(node, a));
        place += 2 * tiles;
        p->edges = p->count;
    }
}

AOI_INLINE void add_point(list_mover *p, int dims, const aoi_level *y, const double *to) {
    uint32_t *place = aoi_point_places(y, dims, p->entity);
    if (p->count > PASSAGES - dims) run_entries(p);
    for (int a = 0; a < dims; a++)
        if (p->from[a] != p->to[a]) add_entry(p, place + a, to[a], 0, own_of(AOI_NONE, a));
}

static inline bool has_edges(const aoi_records *r, uint32_t node) {
    return r->nodes[node].part != 0;
}

/* Whether a side of the node's box changes tile. */
static inline bool is_far(const list_mover *p, uint32_t node) {
    const aoi_node_record *n = p->records->nodes + node;
    const aoi_tile_map *t = &p->g->levels[aoi_list_level(n)].map;
    aoi_span was = aoi_tiles_span_around(t, p->from, n->reach[0], n->reach[1]);
    aoi_span is = aoi_tiles_span_around(t, p->to, n->reach[0], n->reach[1]);
    return memcmp(&was, &is, sizeof was) != 0;
}

/* Whether all parts stay in their tiles. */
static bool stays_near(const list_mover *p) {
    /* cppcheck-suppress ctuuninitvar ; the caller has set what is read */
    const aoi_list *g = p->g;
    const aoi_records *r = p->records;
    for (uint32_t n = r->entities[p->entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (has_edges(r, n) && is_far(p, n)) return false;
    for (int i = 0; i < g->level_count; i++)
        if (!aoi_tiles_same(&g->levels[g->order[i]].map, p->from, p->to)) return false;
    return true;
}

/* Moves the entries of near parts to `to`. */
AOI_INLINE void move_near_parts(list_mover *p, int dims, const double *to) {
    aoi_list *g = p->g;
    const aoi_records *r = p->records;
    for (uint32_t n = r->entities[p->entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (has_edges(r, n) && (p->near || !is_far(p, n))) add_box(p, dims, n, to);
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        if (p->near || aoi_tiles_same(&y->map, p->from, p->to)) add_point(p, dims, y, to);
        if (!aoi_level_has_natives(y, y->nodes) && y->idle++ > r->entity_top)
            p->records->untidy = true; /* keeping it has cost as much as moving all out of it */
    }
    run_entries(p);
}

static void move_near(list_mover *p, const double *to) {
    /* cppcheck-suppress ctuuninitvar ; the caller has set what is read */
    if (p->records->dims == 2) move_near_parts(p, 2, to); /* compiled once for each number of axes */
    else move_near_parts(p, 3, to);
}

/* ---- far parts --------------------------------------------------------------------------------------------------- */

/* Reserves tiles for parts that change tiles, and a block for each entry that leaves its own. */
static bool far_parts_ready(list_mover *p) {
    aoi_list *g = p->g;
    const aoi_records *r = g->head.records;
    uint32_t blocks = g->leaving_count;
    double reach[3];
    if (p->failed) return false;
    for (uint32_t n = r->entities[p->entity].nodes; n != AOI_NONE && !p->near; n = r->nodes[n].next) {
        if (!has_edges(r, n) || !is_far(p, n)) continue;
        aoi_list_reach(r, n, reach);
        blocks += aoi_edge_count(r->dims);
        if (!aoi_box_ready(g, g->levels + aoi_list_level(r->nodes + n), p->to, reach)) return false;
    }
    for (int i = 0; i < g->level_count && !p->near; i++) {
        aoi_level *y = g->levels + g->order[i];
        if (aoi_tiles_same(&y->map, p->from, p->to)) continue;
        blocks += (uint32_t)r->dims;
        if (!aoi_point_ready(g, y, p->to)) return false;
    }
    return !blocks || aoi_pool_reserve(aoi_list_memory(g), &g->lists.pool, blocks);
}

static void move_far_box(list_mover *p, uint32_t node) {
    aoi_list *g = p->g;
    aoi_level *y = g->levels + aoi_list_level(g->head.records->nodes + node);
    double reach[3];
    aoi_list_reach(g->head.records, node, reach);
    aoi_remove_box(g, y, node);
    aoi_insert_box(g, y, node, p->to, reach);
}

static void move_far_parts(list_mover *p) {
    aoi_list *g = p->g;
    const aoi_records *r = g->head.records;
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        if (aoi_tiles_same(&y->map, p->from, p->to)) continue;
        aoi_remove_point(g, y, p->entity);
        aoi_insert_point(g, y, p->entity, p->to);
    }
    for (uint32_t n = r->entities[p->entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (has_edges(r, n) && is_far(p, n)) move_far_box(p, n);
}

/* ---- the move ---------------------------------------------------------------------------------------------------- */

static void rekey_leaving(aoi_list *g) {
    for (uint32_t i = 0; i < g->leaving_count; i++) {
        uint32_t *place = g->leaving[i].place;
        const aoi_block *b = aoi_block_of(&g->lists, *place);
        aoi_block_list *l = g->levels[b->level].map.tiles[b->tile].axis + b->axis;
        uint32_t now = aoi_block_rekey(&g->lists, l, *place, g->leaving[i].to);
        *place = now;
    }
    g->leaving_count = 0;
}

int aoi_list_move(aoi_engine *head, uint32_t entity, const double *to, bool propose) {
    aoi_records *r = head->records;
    aoi_list *g = (aoi_list *)(void *)head;
    list_mover p;
    p.g = g, p.records = p.passed.records = r;
    p.entity = p.passed.entity = entity;
    p.from = p.passed.from = r->entities[entity].pos;
    p.to = p.passed.to = to;
    p.edges = p.count = p.passed.found = p.passed.count = 0;
    p.failed = false;
    p.near = stays_near(&p);
    p.places = !propose || !p.near;
    if (propose && !p.near) aoi_grid_propose(r->grid, entity, to, true);
    move_near(&p, to);
    if (!far_parts_ready(&p)) {
        g->leaving_count = 0;
        p.places = true;
        move_near(&p, p.from);
        return AOI_ENOMEM;
    }
    if (g->leaving_count) rekey_leaving(g);
    if (!p.near) move_far_parts(&p);
    if (p.passed.count) {
        crossings_prefetch_owners(&p.passed);
        crossings_judge(&p.passed);
    }
    return AOI_OK;
}
