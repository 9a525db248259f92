/* spatial_hash.c - see spatial_hash.h. */
#include "grid/spatial_hash.h"

#include <assert.h>
#include <stdlib.h>

#define SPATIAL_MOST_BUCKETS (UINT32_MAX / AOI_BUCKET_LANES)

void aoi_spatial_open(aoi_spatial_hash *h, double side, bool of_nodes) {
    *h = (aoi_spatial_hash){.side = side,
                            .scale = 1 / side * (1 << AOI_FIXED_BITS),
                            .unused = AOI_NONE,
                            .unused_bucket = AOI_NONE,
                            .of_nodes = of_nodes};
}

void aoi_spatial_close(aoi_memory *m, aoi_spatial_hash *h) {
    AOI_FREE_LINES(m, h->cells, h->cap);
    AOI_FREE_LINES(m, h->buckets, h->bucket_cap);
    AOI_FREE(m, h->reach, h->reach_cap);
    AOI_FREE(m, h->coarse, h->coarse_cap);
    aoi_hash_index_free(m, &h->index);
    aoi_hash_index_free(m, &h->coarse_index);
    const bool carries = h->carries;
    aoi_spatial_open(h, h->side, h->of_nodes);
    h->carries = carries;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Links a new cell, which has no bucket yet, and its neighbours in both directions. */
static void spatial_link_neighbors(aoi_spatial_hash *h, uint32_t i) {
    aoi_cell *k = h->cells + i;
    for (int d = 0; d < 9; d++) {
        uint32_t n = d == AOI_MIDDLE ? i : aoi_spatial_find(h, k->cx + d % 3 - 1, k->cy + d / 3 - 1);
        k->neighbor[d] = n;
        k->head[d] = AOI_NONE;
        if (n == AOI_NONE || n == i) continue;
        k->head[d] = h->cells[n].head[AOI_MIDDLE];
        h->cells[n].neighbor[8 - d] = i;
        h->cells[n].head[8 - d] = AOI_NONE;
    }
}

/* Stores the head bucket of a cell in the cell and in its neighbours. */
static void spatial_set_head(aoi_spatial_hash *h, aoi_cell *k, uint32_t bucket) {
    for (int d = 0; d < 9; d++)
        if (k->neighbor[d] != AOI_NONE) h->cells[k->neighbor[d]].head[8 - d] = bucket;
}

static uint32_t spatial_find_coarse(const aoi_spatial_hash *h, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&h->coarse_index, hash, &at)) != AOI_NONE)
        if (h->coarse[i].cx == cx && h->coarse[i].cy == cy) break;
    return i;
}

/* Chains a cell into its coarse cell, which is made if it is missing; room is reserved. */
static void spatial_chain(aoi_spatial_hash *h, aoi_cell *k) {
    int32_t cx = k->cx >> AOI_COARSE_BITS, cy = k->cy >> AOI_COARSE_BITS;
    uint32_t i = spatial_find_coarse(h, cx, cy);
    if (i == AOI_NONE) {
        i = h->coarse_count++;
        h->coarse[i] = (aoi_coarse_cell){cx, cy, AOI_NONE};
        aoi_hash_index_add(&h->coarse_index, aoi_cell_hash(cx, cy), i);
    }
    k->next = h->coarse[i].first;
    h->coarse[i].first = (uint32_t)(k - h->cells);
}

static uint32_t spatial_new_cell(aoi_memory *m, aoi_spatial_hash *h, int32_t cx, int32_t cy) {
    uint32_t i = h->unused;
    if (!aoi_hash_index_reserve(m, &h->index, h->index.count + (size_t)1) ||
        !AOI_GROW(m, h->coarse, h->coarse_cap, h->coarse_count + (size_t)1) ||
        !aoi_hash_index_reserve(m, &h->coarse_index, h->coarse_count + (size_t)1))
        return AOI_NONE;
    if (i != AOI_NONE) h->unused = h->cells[i].neighbor[0];
    else if (AOI_GROW_LINES(m, h->cells, h->cap, h->top + (size_t)1)) i = h->top++;
    else return AOI_NONE;
    h->cells[i] = (aoi_cell){.cx = cx, .cy = cy, .begin = {aoi_block_begin(cx), aoi_block_begin(cy)}};
    aoi_hash_index_add(&h->index, aoi_cell_hash(cx, cy), i);
    spatial_link_neighbors(h, i);
    spatial_chain(h, h->cells + i);
    h->used++;
    h->empty++;
    return i;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static bool spatial_has_gap(const aoi_spatial_hash *h, const aoi_cell *k) {
    return k->count && h->buckets[k->head[AOI_MIDDLE]].count < AOI_BUCKET_ITEMS;
}

static bool spatial_reserve_reaches(aoi_memory *m, aoi_spatial_hash *h) {
    return AOI_GROW_TO(m, h->reach, h->reach_cap, h->bucket_cap * (size_t)AOI_BUCKET_LANES);
}

static bool spatial_reserve_bucket(aoi_memory *m, aoi_spatial_hash *h) {
    if (h->unused_bucket != AOI_NONE) return true;
    return h->bucket_top < SPATIAL_MOST_BUCKETS &&
           AOI_GROW_LINES(m, h->buckets, h->bucket_cap, h->bucket_top + (size_t)1) &&
           (!h->carries || spatial_reserve_reaches(m, h));
}

uint32_t aoi_spatial_reserve(aoi_memory *m, aoi_spatial_hash *h, uint32_t near, const double *at) {
    int32_t cx = aoi_cell_of_fixed(aoi_fixed_of(h, at[0])), cy = aoi_cell_of_fixed(aoi_fixed_of(h, at[1]));
    uint32_t i = AOI_NONE;
    if (near != AOI_NONE) {
        const aoi_cell *k = h->cells + near;
        if (aoi_cell_touches(k, cx, cy)) i = k->neighbor[aoi_cell_direction(cx - k->cx, cy - k->cy)];
    }
    if (i == AOI_NONE) i = aoi_spatial_find(h, cx, cy);
    if (i == AOI_NONE) i = spatial_new_cell(m, h, cx, cy);
    return i != AOI_NONE && (spatial_has_gap(h, h->cells + i) || spatial_reserve_bucket(m, h)) ? i : AOI_NONE;
}

/* Gives the cell a new head bucket. */
static void spatial_add_bucket(aoi_spatial_hash *h, aoi_cell *k) {
    uint32_t i = h->unused_bucket;
    if (i != AOI_NONE) h->unused_bucket = h->buckets[i].next;
    else i = h->bucket_top++;
    h->buckets[i].next = k->head[AOI_MIDDLE];
    h->buckets[i].count = h->buckets[i].bits[0] = h->buckets[i].bits[1] = 0;
    spatial_set_head(h, k, i);
}

static void spatial_drop_bucket(aoi_spatial_hash *h, aoi_cell *k) {
    uint32_t i = k->head[AOI_MIDDLE];
    spatial_set_head(h, k, h->buckets[i].next);
    h->buckets[i].next = h->unused_bucket;
    h->unused_bucket = i;
}

uint32_t aoi_spatial_insert(aoi_spatial_hash *h, uint32_t cell, const double *at, uint32_t ref, bool marked) {
    aoi_cell *k = h->cells + cell;
    if (!spatial_has_gap(h, k)) spatial_add_bucket(h, k);
    uint32_t i = k->head[AOI_MIDDLE];
    aoi_bucket *b = h->buckets + i;
    uint32_t lane = b->count++;
    assert(lane < AOI_BUCKET_ITEMS && aoi_cell_exists(k));
    b->bits[0] = (uint16_t)(b->bits[0] << 1 | 1);
    b->bits[1] = (uint16_t)(b->bits[1] | (unsigned)marked << lane);
    b->x[lane] = (uint16_t)aoi_fixed_of(h, at[0]);
    b->y[lane] = (uint16_t)aoi_fixed_of(h, at[1]);
    b->ref[lane] = ref;
    h->count++;
    h->empty -= k->count++ == 0;
    return i * AOI_BUCKET_LANES + lane;
}

uint32_t aoi_spatial_remove(aoi_spatial_hash *h, uint32_t cell, uint32_t slot) {
    aoi_cell *k = h->cells + cell;
    uint32_t i = k->head[AOI_MIDDLE], ref = AOI_NONE;
    aoi_bucket *head = h->buckets + i, *b = h->buckets + slot / AOI_BUCKET_LANES;
    assert(h->count && k->count && slot % AOI_BUCKET_LANES < b->count);
    uint32_t lane = --head->count, last = i * AOI_BUCKET_LANES + lane;
    if (slot != last) aoi_spatial_mark(h, slot, aoi_spatial_is_marked(h, last));
    aoi_spatial_mark(h, last, false);
    head->bits[0] >>= 1;
    h->count--;
    h->empty += --k->count == 0;
    if (slot != last) {
        b->x[slot % AOI_BUCKET_LANES] = head->x[lane];
        b->y[slot % AOI_BUCKET_LANES] = head->y[lane];
        b->ref[slot % AOI_BUCKET_LANES] = ref = head->ref[lane];
        if (h->carries) h->reach[slot] = h->reach[last];
    }
    if (lane == 0) spatial_drop_bucket(h, k);
    return ref;
}

void aoi_spatial_tidy(aoi_memory *m, aoi_spatial_hash *h) {
    if (!h->count) aoi_spatial_close(m, h);
    for (uint32_t i = 0; i < h->top; i++) {
        aoi_cell *k = h->cells + i;
        if (!aoi_cell_exists(k) || k->count) continue;
        aoi_hash_index_remove(&h->index, aoi_cell_hash(k->cx, k->cy), i);
        for (int d = 0; d < 9; d++)
            if (k->neighbor[d] != AOI_NONE) h->cells[k->neighbor[d]].neighbor[8 - d] = AOI_NONE;
        k->count = UINT32_MAX;
        h->used--;
    }
    h->empty = h->coarse_count = 0;
    h->unused = AOI_NONE;
    aoi_hash_index_clear(&h->coarse_index);
    while (h->top && !aoi_cell_exists(h->cells + h->top - 1)) h->top--;
    for (uint32_t i = h->top; i-- > 0;) {
        if (aoi_cell_exists(h->cells + i)) {
            spatial_chain(h, h->cells + i);
            continue;
        }
        h->cells[i].neighbor[0] = h->unused;
        h->unused = i;
    }
}

/* ---- items with records ------------------------------------------------------------------------------------------ */

/* At least 1, as 0 is none. */
static int16_t item_units(const aoi_spatial_hash *h, const aoi_node_record *n) {
    return (int16_t)fmax(fmin(fmax(n->reach[0], n->reach[1]) * h->scale, INT16_MAX), 1);
}

/* The reach of an item with one more area. */
static int16_t item_with(int16_t reach, int16_t more) {
    int16_t most = (int16_t)abs(reach);
    if (!reach) return more;
    return (int16_t) - (most > more ? most : more);
}

int16_t aoi_item_reach(const aoi_records *r, const aoi_spatial_hash *h, uint32_t ref) {
    int16_t reach = 0;
    if (h->of_nodes) return item_units(h, r->nodes + ref);
    for (uint32_t n = r->entities[ref].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (r->nodes[n].carried) reach = item_with(reach, item_units(h, r->nodes + n));
    return reach;
}

void aoi_item_carry(aoi_records *r, aoi_spatial_hash *h, uint32_t node, bool carried) {
    aoi_node_record *n = r->nodes + node;
    if (n->carried == carried) return;
    n->carried = carried;
    if (!h->carries) return;
    int16_t *reach = h->reach + r->entities[n->owner].place.slot;
    *reach = carried ? item_with(*reach, item_units(h, n)) : aoi_item_reach(r, h, n->owner);
}

void aoi_item_insert(aoi_records *r, aoi_spatial_hash *h, uint32_t cell, const double *at, uint32_t ref, bool marked) {
    uint32_t slot = aoi_spatial_insert(h, cell, at, ref, marked);
    *aoi_item_place(r, h, ref) = (aoi_cell_slot){cell, slot};
    if (h->carries) h->reach[slot] = aoi_item_reach(r, h, ref);
}

void aoi_item_remove(aoi_records *r, aoi_spatial_hash *h, uint32_t ref) {
    const aoi_cell_slot *p = aoi_item_place(r, h, ref);
    assert(h->buckets[p->slot / AOI_BUCKET_LANES].ref[p->slot % AOI_BUCKET_LANES] == ref);
    uint32_t moved = aoi_spatial_remove(h, p->cell, p->slot);
    if (moved != AOI_NONE) aoi_item_place(r, h, moved)->slot = p->slot;
}

AOI_NOINLINE bool aoi_item_change_cell(aoi_records *r, aoi_spatial_hash *h, uint32_t ref, const double *to) {
    const aoi_cell_slot *p = aoi_item_place(r, h, ref);
    uint32_t cell = aoi_spatial_reserve(&r->memory, h, p->cell, to);
    if (cell == AOI_NONE) return false;
    bool marked = aoi_spatial_is_marked(h, p->slot);
    aoi_item_remove(r, h, ref);
    aoi_item_insert(r, h, cell, to, ref, marked);
    if (aoi_spatial_is_untidy(h)) r->untidy = true;
    return true;
}

void aoi_each_item(const aoi_spatial_hash *h, aoi_item_visit f, void *ud) {
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i)) continue;
        for (uint32_t b = h->cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++) f(ud, h->buckets[b].ref[lane]);
    }
}

typedef struct item_transfer {
    aoi_records *records;
    const aoi_spatial_hash *from;
    aoi_spatial_hash to;
    bool failed;
} item_transfer;

static void transfer_item(void *ud, uint32_t ref) {
    item_transfer *t = ud;
    const double *at = aoi_item_position(t->records, t->from, ref);
    if (t->failed) return;
    uint32_t cell = aoi_spatial_reserve(&t->records->memory, &t->to, AOI_NONE, at);
    t->failed = cell == AOI_NONE;
    if (t->failed) return;
    bool marked = aoi_spatial_is_marked(t->from, aoi_item_place(t->records, t->from, ref)->slot);
    uint32_t slot = aoi_spatial_insert(&t->to, cell, at, ref, marked);
    if (t->to.carries) t->to.reach[slot] = aoi_item_reach(t->records, &t->to, ref);
}

static bool resize_items(aoi_records *r, aoi_spatial_hash *h, double side, bool by_slot) {
    item_transfer t = {.records = r, .from = h};
    aoi_spatial_open(&t.to, side, h->of_nodes);
    t.to.carries = h->carries;
    if (!by_slot) aoi_each_item(h, transfer_item, &t);
    for (uint32_t e = 0; e < r->entity_top && by_slot; e++)
        if (aoi_is_live(r->entities[e].generation)) transfer_item(&t, e);
    aoi_spatial_close(&r->memory, t.failed ? &t.to : h);
    if (t.failed) return false;
    *h = t.to;
    for (uint32_t i = 0; i < h->top; i++)
        for (uint32_t b = h->cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++)
                *aoi_item_place(r, h, h->buckets[b].ref[lane]) = (aoi_cell_slot){i, b * AOI_BUCKET_LANES + lane};
    return true;
}

typedef struct item_carrier {
    const aoi_records *records;
    aoi_spatial_hash *hash;
} item_carrier;

static void carry_item(void *ud, uint32_t ref) {
    const item_carrier *c = ud;
    c->hash->reach[aoi_item_place(c->records, c->hash, ref)->slot] = aoi_item_reach(c->records, c->hash, ref);
}

bool aoi_items_carry(aoi_records *r, aoi_spatial_hash *h) {
    if (h->carries) return true;
    if (!spatial_reserve_reaches(&r->memory, h)) return false;
    h->carries = true;
    aoi_each_item(h, carry_item, &(item_carrier){r, h});
    return true;
}

bool aoi_items_resize(aoi_records *r, aoi_spatial_hash *h, double side) {
    return resize_items(r, h, side, false);
}

bool aoi_entities_resize(aoi_records *r, aoi_spatial_hash *h, double side) {
    assert(!h->of_nodes);
    return resize_items(r, h, side, true);
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

void aoi_spatial_describe(const aoi_spatial_hash *h, aoi_describer *d, int part, uint32_t level, int entry) {
    for (uint32_t i = 0; i < h->top; i++) {
        const aoi_cell *k = h->cells + i;
        if (!aoi_cell_exists(k)) continue;
        aoi_part p = {.kind = (uint8_t)part, .level = level};
        if (entry == AOI_ENTRY_ENTITY) p.entities = k->count;
        else p.nodes = k->count;
        aoi_cell_interval(k->cx, h->side, p.lo, p.hi);
        aoi_cell_interval(k->cy, h->side, p.lo + 1, p.hi + 1);
        if (!aoi_report_part(d, &p)) continue;
        for (uint32_t b = k->head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++) d->entry(d, 0, entry, h->buckets[b].ref[lane]);
    }
}
