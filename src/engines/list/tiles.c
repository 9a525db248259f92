/* tiles.c - see tiles.h. */
#include "engines/list/tiles.h"

enum { FEW_POINTS = 8 }; /* in a tile */

/* ---- who stands where ------------------------------------------------------------------------------------------------------- */

void aoi_tiles_on_moved(void *ud, uint32_t ref, const aoi_block *b, uint32_t place) {
    aoi_label at = {b->tile, (uint8_t)b->axis, (uint8_t)b->level, (uint8_t)b->parity, b->base};
    *aoi_tiles_where(ud, ref, &at) = place;
}

static uint32_t make_tile(aoi_list *g, aoi_level *y, int32_t tx, int32_t ty) {
    aoi_memory *m = aoi_tiles_memory(g);
    uint32_t i = aoi_tiles_find(y, tx, ty);
    if (i != AOI_NONE) return i;
    if (!aoi_index_reserve(m, &y->index, y->index.count + (size_t)1)) return AOI_NONE;
    if ((i = y->unused) != AOI_NONE) y->unused = y->tiles[i].entries;
    else if (AOI_GROW(m, y->tiles, y->cap, y->top + (size_t)1)) i = y->top++;
    else return AOI_NONE;
    aoi_tile *t = y->tiles + i;
    *t = (aoi_tile){.tx = tx, .ty = ty};
    for (int a = 0; a < 3; a++) t->axis[a].head = t->axis[a].tail = AOI_NONE;
    aoi_index_add(&y->index, aoi_cell_hash(tx, ty), i);
    y->used++;
    y->empty++;
    return i;
}

bool aoi_tiles_make(aoi_list *g, aoi_level *y, const aoi_span *s) {
    for (int32_t ty = s->y0; ty <= s->y1; ty++)
        for (int32_t tx = s->x0; tx <= s->x1; tx++)
            if (make_tile(g, y, tx, ty) == AOI_NONE) return false;
    return true;
}

/* ---- entries in and out ------------------------------------------------------------------------------------------------------ */

static void pack_all(aoi_list *g) {
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        for (uint32_t t = 0; t < y->top; t++)
            for (int a = 0; a < aoi_tiles_dims(g); a++) aoi_chain_pack(&g->chains, y->tiles[t].axis + a);
    }
}

/* A block to insert with.  There always is one, but while a batch is taken back without memory it may have to be freed:
 * the entries fitted before the batch, so they do when the lists are packed.  Returns whether they were. */
static bool need_block(aoi_list *g) {
    if (!g->head.world->undoing || g->chains.blocks[AOI_LARGEST].count) return false;
    pack_all(g);
    pack_all(g); /* what the first round freed suits lists that came before */
    return true;
}

static void stand(aoi_list *g, aoi_level *y, int32_t tx, int32_t ty, int axis, uint32_t near, double key,
                  uint32_t ref) {
    uint32_t i = aoi_tiles_find(y, tx, ty);
    aoi_tile *t = y->tiles + i;
    aoi_label at = aoi_tiles_label(g, y, i, axis, tx, ty);
    if (need_block(g)) near = AOI_NONE; /* that block may be free now */
    uint32_t place = aoi_chain_insert(&g->chains, t->axis + axis, at, near, key, ref);
    *aoi_tiles_where(g, ref, &at) = place;
    if (t->entries++ == 0) y->empty--;
}

static void step_out(aoi_list *g, aoi_level *y, int32_t tx, int32_t ty, int axis, uint32_t ref) {
    aoi_label at = aoi_tiles_label(g, y, 0, axis, tx, ty);
    uint32_t *place = aoi_tiles_where(g, ref, &at);
    aoi_tile *t = y->tiles + aoi_block_of(&g->chains, *place)->tile;
    aoi_chain_remove(&g->chains, t->axis + axis, *place);
    *place = AOI_NONE;
    if (--t->entries == 0) y->empty++;
}

static void rekey(aoi_list *g, aoi_level *y, int32_t tx, int32_t ty, int axis, double key, uint32_t ref) {
    aoi_label at = aoi_tiles_label(g, y, 0, axis, tx, ty);
    uint32_t *place = aoi_tiles_where(g, ref, &at);
    aoi_tile *t = y->tiles + aoi_block_of(&g->chains, *place)->tile;
    (void)need_block(g);
    uint32_t now = aoi_chain_rekey(&g->chains, t->axis + axis, *place, key);
    *place = now;
}

/* An entry that stood in the tiles of s0 is to stand, with this key, in those of s1. */
static void shift(aoi_list *g, aoi_level *y, int phase, int axis, uint32_t ref, const aoi_span *s0, const aoi_span *s1,
                  uint32_t near, double key) {
    const aoi_span *s = phase == AOI_OUT ? s0 : s1;
    for (int32_t ty = s->y0; ty <= s->y1; ty++)
        for (int32_t tx = s->x0; tx <= s->x1; tx++) {
            if (phase == AOI_OUT && !aoi_span_holds(s1, tx, ty)) step_out(g, y, tx, ty, axis, ref);
            if (phase == AOI_IN && aoi_span_holds(s0, tx, ty)) rekey(g, y, tx, ty, axis, key, ref);
            else if (phase == AOI_IN) stand(g, y, tx, ty, axis, near, key, ref);
        }
}

/* A block of this list near which the entity's point belongs: that of a neighbour in the finer level, who is close by.
 * It saves the walk along a list of many entries. */
static uint32_t finger(const aoi_list *g, const aoi_level *finer, const aoi_level *y, uint32_t entity, int axis,
                       uint32_t in_tile) {
    uint32_t at = aoi_tiles_spot_of(g, finer, entity)[1 + axis] >> AOI_PLACE_SHIFT;
    const aoi_block *mid = aoi_block_at(&g->chains, at);
    const uint32_t near[3] = {at, mid->prev, mid->next};
    for (int i = 0; i < 3; i++) {
        aoi_block *b = near[i] != AOI_NONE ? aoi_block_at(&g->chains, near[i]) : NULL;
        for (uint32_t k = 0; b && k < b->points; k++) {
            uint32_t other = aoi_block_refs(b)[k] & AOI_SLOT_MASK;
            if (other == entity) continue;
            const uint32_t *spot = aoi_tiles_spot_of(g, y, other);
            if (spot[0] == in_tile) return spot[1 + axis];
        }
    }
    return AOI_NONE;
}

void aoi_tiles_shift_point(aoi_list *g, aoi_level *y, const aoi_level *finer, int phase, uint32_t entity,
                           const aoi_span *s0, const aoi_span *s1, const double *to) {
    uint32_t *spot = aoi_tiles_spot_of(g, y, entity), in_tile = spot[0];
    bool arrives = phase == AOI_IN && !aoi_span_holds(s0, s1->x0, s1->y0);
    if (arrives) {
        in_tile = aoi_tiles_find(y, s1->x0, s1->y0);
        spot[0] = AOI_NONE; /* nobody's finger until it stands in all lists */
    }
    for (int a = 0; a < aoi_tiles_dims(g); a++) {
        uint32_t near = arrives && finer ? finger(g, finer, y, entity, a, in_tile) : AOI_NONE;
        shift(g, y, phase, a, aoi_ref_of(AOI_POINT, entity), s0, s1, near, to ? to[a] : 0);
    }
    spot[0] = in_tile;
}

/* The bounds are rounded, as positions and edges are: the margin is larger than all that. */
static void note_safe_area(const aoi_level *y, const double *p, double r, float *safe) {
    for (int a = 0; a < 2; a++, safe += 2) {
        double low = -INFINITY, high = INFINITY, size = fabs(p[a]) + r + y->side, margin = size * 0x1p-22;
        for (int i = -1; i <= 1 && !isinf(y->side); i++) {
            int32_t number = aoi_tiles_number(y, p[a] + i * r);
            if (number <= -AOI_CELL_MOST || number >= AOI_CELL_MOST) size = INFINITY;
            double first = number * y->side - i * r, end = (number + 1.0) * y->side - i * r;
            low = first > low ? first : low;
            high = end < high ? end : high;
        }
        bool tells = isinf(y->side) || (size < 1e30 && y->side > 1e-20); /* what a float can tell, with a margin */
        safe[0] = tells ? (float)(low + margin) : 1;
        safe[1] = tells ? (float)(high - margin) : 0;
    }
}

void aoi_tiles_shift_box(aoi_list *g, aoi_level *y, int phase, uint32_t node, double r0, const double *from, double r1,
                         const double *to) {
    aoi_span b0 = from ? aoi_tiles_span_of_box(y, from, r0) : AOI_NOWHERE,
             b1 = to ? aoi_tiles_span_of_box(y, to, r1) : AOI_NOWHERE;
    for (int a = 0; a < aoi_tiles_dims(g); a++)
        for (int side = AOI_LOW; side <= AOI_HIGH; side += AOI_HIGH - AOI_LOW) {
            aoi_span s0 = from ? aoi_tiles_span_of_edge(&b0, a, side) : AOI_NOWHERE;
            aoi_span s1 = to ? aoi_tiles_span_of_edge(&b1, a, side) : AOI_NOWHERE;
            shift(g, y, phase, a, aoi_ref_of(side, node), &s0, &s1, AOI_NONE, to ? aoi_tiles_edge(to, r1, a, side) : 0);
        }
    if (phase == AOI_IN) note_safe_area(y, to, r1, aoi_tiles_safe_of(g, node));
}

/* ---- levels ---------------------------------------------------------------------------------------------------------------------- */

void aoi_tiles_free_level(aoi_list *g, aoi_level *y) {
    aoi_memory *m = aoi_tiles_memory(g);
    AOI_FREE(m, y->tiles, y->cap);
    AOI_FREE(m, y->spots, y->spot_cap);
    aoi_index_free(m, &y->index);
    *y = (aoi_level){0};
}

void aoi_tiles_drop_level(aoi_list *g, int i) {
    aoi_level *y = g->levels + g->order[i];
    const aoi_world *w = g->head.world;
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_alive(w->entities[e].generation)) {
            aoi_span s = aoi_tiles_span_of_point(y, w->entities[e].pos);
            aoi_tiles_shift_point(g, y, NULL, AOI_OUT, e, &s, &AOI_NOWHERE, NULL);
        }
    aoi_tiles_free_level(g, y);
    g->level_count--;
    for (; i < g->level_count; i++) g->order[i] = g->order[i + 1];
}

bool aoi_tiles_spots_ready(aoi_list *g, aoi_level *y, uint32_t entities) {
    return AOI_GROW(aoi_tiles_memory(g), y->spots, y->spot_cap, (size_t)entities * (size_t)(1 + aoi_tiles_dims(g)));
}

/* Heap sort of slots by coordinate: in place, and never worse than n log n. */
static bool sorts_before(const aoi_entity_record *e, int axis, uint32_t a, uint32_t b) {
    return e[a].pos[axis] < e[b].pos[axis];
}

static void sift(const aoi_entity_record *e, int axis, uint32_t *slots, size_t i, size_t n) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && sorts_before(e, axis, slots[child], slots[child + 1])) child++;
        if (!sorts_before(e, axis, slots[i], slots[child])) return;
        uint32_t t = slots[i];
        slots[i] = slots[child];
        slots[child] = t;
    }
}

static void sort_by(const aoi_entity_record *e, int axis, uint32_t *slots, size_t n) {
    for (size_t i = n / 2; i-- > 0;) sift(e, axis, slots, i, n);
    for (size_t last = n; last-- > 1;) {
        uint32_t t = slots[0];
        slots[0] = slots[last];
        slots[last] = t;
        sift(e, axis, slots, 0, last);
    }
}

/* The blocks that the new lists need, which they get at once; the tiles count their points meanwhile. */
static bool begin_lists(aoi_list *g, aoi_level *y) {
    uint32_t dims = (uint32_t)aoi_tiles_dims(g), needed[AOI_SIZES] = {0};
    for (uint32_t i = 0; i < y->top; i++)
        needed[aoi_chain_size(y->tiles[i].entries)] += dims * ((y->tiles[i].entries + AOI_MOST - 1) / AOI_MOST);
    if (!aoi_chains_reserve_sizes(aoi_tiles_memory(g), &g->chains, needed)) return false;
    for (uint32_t i = 0; i < y->top; i++) {
        aoi_tile *t = y->tiles + i;
        for (int a = 0; a < (int)dims; a++)
            aoi_chain_begin(&g->chains, t->axis + a, aoi_tiles_label(g, y, i, a, t->tx, t->ty),
                            aoi_chain_size(t->entries));
        t->entries = 0;
    }
    return true;
}

/* All entities into a new level, in order, so that each list grows at its end. */
static bool populate(aoi_list *g, aoi_level *y) {
    const aoi_world *w = g->head.world;
    uint32_t *slots = NULL, cap = 0, n = 0;
    if (!AOI_GROW(aoi_tiles_memory(g), slots, cap, (size_t)w->entity_top + 1)) return false;
    bool ready = aoi_tiles_spots_ready(g, y, w->entity_top + 1);
    for (uint32_t e = 0; ready && e < w->entity_top; e++) {
        if (!aoi_alive(w->entities[e].generation)) continue;
        slots[n++] = e;
        uint32_t t =
            make_tile(g, y, aoi_tiles_number(y, w->entities[e].pos[0]), aoi_tiles_number(y, w->entities[e].pos[1]));
        if (!(ready = t != AOI_NONE)) break;
        aoi_tiles_spot_of(g, y, e)[0] = t;
        y->tiles[t].entries++;
    }
    ready = ready && begin_lists(g, y);
    for (int a = 0; ready && a < aoi_tiles_dims(g); a++) {
        sort_by(w->entities, a, slots, n);
        for (uint32_t k = 0; k < n; k++) {
            const double *p = w->entities[slots[k]].pos;
            aoi_tile *t = y->tiles + aoi_tiles_spot_of(g, y, slots[k])[0];
            stand(g, y, t->tx, t->ty, a, t->axis[a].tail << AOI_PLACE_SHIFT, p[a], aoi_ref_of(AOI_POINT, slots[k]));
        }
    }
    AOI_FREE(aoi_tiles_memory(g), slots, cap);
    return ready;
}

aoi_level *aoi_tiles_make_level(aoi_list *g, double side) {
    int slot = 0, i = g->level_count;
    while (slot < AOI_MOST_LEVELS && g->levels[slot].side != 0) slot++;
    aoi_level *y = g->levels + slot;
    *y = (aoi_level){.side = side, .inverse = 1 / side, .unused = AOI_NONE};
    if (!populate(g, y)) {
        aoi_tiles_free_level(g, y);
        return NULL;
    }
    for (; i > 0 && g->levels[g->order[i - 1]].side > side; i--) g->order[i] = g->order[i - 1];
    g->order[i] = slot;
    g->level_count++;
    return y;
}

/* The side of the tiles for a reach: 2.5 times it or more. */
static double side_for(const aoi_list *g, double reach) {
    if (g->hint > 0) {
        double side = g->hint;
        while (side < 2.5 * reach) side *= 4;
        return side;
    }
    int e;
    frexp(2.5 * reach, &e);
    return isinf(2.5 * reach) ? INFINITY : fmax(ldexp(1, e + !(e & 1)), AOI_LEAST_SIDE);
}

/* The level for nodes of this reach; where one of up to four times the side is there already, that one.  Tiles so small
 * that they hold hardly anybody cost everybody memory and save nothing: they are made larger, towards the next level. */
aoi_level *aoi_tiles_level_for(aoi_list *g, double reach) {
    if (reach == 0 && g->level_count) return g->levels + g->order[0];
    double side = reach == 0 && !(g->hint > 0) ? AOI_DEFAULT_SIDE : side_for(g, reach);
    bool full = g->level_count == AOI_MOST_LEVELS; /* then the last is one tile, for all that fit nowhere else */
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        if (y->side < side) continue;
        double points = y->used && !isinf(y->side) ? (double)g->alike.entities / y->used : INFINITY;
        while (y->side > 4 * side && points * (side / y->side) * (side / y->side) < FEW_POINTS) side *= 4;
        if (y->side <= 4 * side || full) return y;
        break;
    }
    return aoi_tiles_make_level(g, g->level_count < AOI_MOST_LEVELS - 1 ? side : INFINITY);
}

void aoi_tiles_clear_out(aoi_level *y) {
    for (uint32_t i = 0; i < y->top; i++) {
        aoi_tile *t = y->tiles + i;
        if (t->entries || aoi_tiles_find(y, t->tx, t->ty) != i) continue;
        aoi_index_remove(&y->index, aoi_cell_hash(t->tx, t->ty), i);
        t->entries = y->unused;
        y->unused = i;
        y->used--;
    }
    y->empty = 0;
}

/* ---- invariants ---------------------------------------------------------------------------------------------------- */

bool aoi_tiles_stands(aoi_list *g, const aoi_level *y, const aoi_span *s, int axis, uint32_t ref, double value) {
    for (int32_t ty = s->y0; ty <= s->y1; ty++)
        for (int32_t tx = s->x0; tx <= s->x1; tx++) {
            aoi_label at = aoi_tiles_label(g, y, 0, axis, tx, ty);
            uint32_t i = *aoi_tiles_where(g, ref, &at);
            if (i == AOI_NONE) return false;
            aoi_block *b = aoi_block_of(&g->chains, i);
            int k = (int)(i & AOI_PLACE_MASK), first, end;
            aoi_block_range(b, aoi_ref_is_point(ref), &first, &end);
            if (k < first || k >= end || aoi_block_refs(b)[k] != ref || (int)b->axis != axis || b->level != at.level)
                return false;
            if (y->tiles[b->tile].tx != tx || y->tiles[b->tile].ty != ty || b->base != at.base) return false;
            if (aoi_block_keys(b)[k] != aoi_block_key(b, value)) return false;
        }
    return true;
}

const char *aoi_tiles_check_level(aoi_list *g, const aoi_level *y, uint64_t *entries) {
    uint32_t used = 0, empty = 0;
    for (uint32_t t = 0; t < y->top; t++) {
        if (aoi_tiles_find(y, y->tiles[t].tx, y->tiles[t].ty) != t) continue; /* free */
        uint32_t n = 0;
        for (int a = 0; a < aoi_tiles_dims(g); a++) {
            const char *wrong = aoi_chain_check(&g->chains, y->tiles[t].axis + a);
            if (wrong) return wrong;
            for (uint32_t i = y->tiles[t].axis[a].head; i != AOI_NONE; i = aoi_block_at(&g->chains, i)->next)
                n += (uint32_t)aoi_block_count(aoi_block_at(&g->chains, i));
        }
        if (n != y->tiles[t].entries) return "a tile counts its entries wrongly";
        *entries += n;
        used++;
        empty += n == 0;
    }
    if (used != y->used || empty != y->empty) return "tiles are counted wrongly";
    return aoi_index_check(&y->index);
}
