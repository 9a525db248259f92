/* sought.c - see sought.h. */
#include "engines/shared/sought.h"

enum { SOUGHT_LEAST = 16, SOUGHT_SHARE = 4 }; /* of entities, where it is worth it: so many, one in so many is sought */
enum { SPREAD_ITEMS = 3, SPREAD_LEAST = 16 }; /* in a cell; in all */

/* ---- cells of a side that suits ---------------------------------------------------------------------------------- */

static bool spread_once(aoi_world *w, aoi_spatial_hash *h, double side, aoi_item_position position) {
    aoi_spatial_hash next;
    aoi_spatial_open(&next, side);
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i)) continue;
        for (uint32_t b = h->cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++) {
                const double *at = position(w, h->buckets[b].ref[lane]);
                uint32_t cell = aoi_spatial_reserve(&w->memory, &next, AOI_NONE, at);
                if (cell == AOI_NONE) {
                    aoi_spatial_close(&w->memory, &next);
                    return false;
                }
                aoi_spatial_insert(&next, cell, at, h->buckets[b].ref[lane]);
            }
    }
    aoi_spatial_close(&w->memory, h);
    *h = next;
    return true;
}

void aoi_spatial_spread(aoi_world *w, aoi_spatial_hash *h, double side, aoi_item_position position,
                        aoi_item_placed placed, void *ud) {
    bool good = h->side == side || spread_once(w, h, side, position);
    while (good && h->count >= SPREAD_LEAST && h->count < SPREAD_ITEMS * (h->used - h->empty) && isfinite(2 * h->side))
        good = spread_once(w, h, 2 * h->side, position);
    for (uint32_t i = 0; i < h->top; i++) {
        if (!aoi_cell_exists(h->cells + i)) continue;
        for (uint32_t b = h->cells[i].head[AOI_MIDDLE]; b != AOI_NONE; b = h->buckets[b].next)
            for (uint32_t lane = 0; lane < h->buckets[b].count; lane++)
                placed(ud, h->buckets[b].ref[lane], i, b * AOI_BUCKET_LANES + lane);
    }
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

bool aoi_sought_insert(aoi_world *w, aoi_sought *s, uint32_t entity) {
    const double *at = w->entities[entity].pos;
    if (!AOI_GROW(&w->memory, s->places, s->cap, entity + (size_t)1)) return false;
    uint32_t cell = aoi_spatial_reserve(&w->memory, &s->cells, AOI_NONE, at);
    if (cell == AOI_NONE) return false;
    s->places[entity] = (aoi_sought_place){cell, aoi_spatial_insert(&s->cells, cell, at, entity)};
    return true;
}

void aoi_sought_remove(aoi_sought *s, uint32_t entity) {
    const aoi_sought_place *p = s->places + entity;
    uint32_t moved = aoi_spatial_remove(&s->cells, p->cell, p->slot);
    if (moved != AOI_NONE) s->places[moved].slot = p->slot;
}

bool aoi_sought_move(aoi_world *w, aoi_sought *s, uint32_t entity, const double *to) {
    aoi_sought_place *p = s->places + entity;
    if (aoi_spatial_update(&s->cells, p->cell, p->slot, to)) return true;
    uint32_t cell = aoi_spatial_reserve(&w->memory, &s->cells, p->cell, to);
    if (cell == AOI_NONE) return false;
    aoi_sought_remove(s, entity);
    *p = (aoi_sought_place){cell, aoi_spatial_insert(&s->cells, cell, to, entity)};
    if (aoi_spatial_is_untidy(&s->cells)) w->untidy = true;
    return true;
}

bool aoi_sought_change(aoi_world *w, aoi_sought *s, uint32_t entity, uint64_t kind) {
    bool was = aoi_is_sought(s, w->entities[entity].kind), is = aoi_is_sought(s, kind);
    if (is && !was && !aoi_sought_insert(w, s, entity)) return false;
    if (was && !is) aoi_sought_remove(s, entity);
    return true;
}

void aoi_sought_clear(aoi_world *w, aoi_sought *s) {
    aoi_spatial_close(&w->memory, &s->cells);
    AOI_CLEAR(&w->memory, s->places, s->cap);
    s->mask = 0;
    s->looked = 0;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* The mask of more than half of the nodes, if there is such (Boyer and Moore 1981); else 0. */
static uint64_t sought_majority(const aoi_world *w) {
    uint64_t most = 0;
    uint32_t lead = 0, votes = 0, nodes = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t n = 0; n < w->node_top; n++) {
            if (!aoi_is_live(w->nodes[n].generation)) continue;
            bool same = w->nodes[n].mask == most;
            if (round) votes += same, nodes++;
            else if (!lead) most = w->nodes[n].mask, lead = 1;
            else lead += same ? 1u : UINT32_MAX;
        }
    return votes > nodes / 2 ? most : 0;
}

static uint64_t sought_mask(const aoi_world *w) {
    uint32_t met = 0, all = 0;
    uint64_t mask = sought_majority(w);
    for (uint32_t e = 0; e < w->entity_top && mask; e++) {
        if (!aoi_is_live(w->entities[e].generation)) continue;
        all++;
        met += (w->entities[e].kind & mask) != 0;
    }
    return all >= SOUGHT_LEAST && met <= all / SOUGHT_SHARE ? mask : 0;
}

static const double *sought_position(const aoi_world *w, uint32_t entity) {
    return w->entities[entity].pos;
}

static void sought_placed(void *ud, uint32_t entity, uint32_t cell, uint32_t slot) {
    ((aoi_sought *)ud)->places[entity] = (aoi_sought_place){cell, slot};
}

void aoi_sought_tune(aoi_world *w, aoi_sought *s, uint32_t nodes, double side) {
    uint32_t size = w->entity_count + nodes;
    if (!aoi_sought_is_due(s, size)) return;
    uint64_t mask = sought_mask(w);
    if (mask != s->mask) {
        aoi_sought_clear(w, s);
        aoi_spatial_open(&s->cells, side);
        s->mask = mask;
        for (uint32_t e = 0; e < w->entity_top && s->mask; e++)
            if (aoi_is_live(w->entities[e].generation) && aoi_is_sought(s, w->entities[e].kind) &&
                !aoi_sought_insert(w, s, e))
                aoi_sought_clear(w, s);
    }
    if (s->mask) aoi_spatial_spread(w, &s->cells, side, sought_position, sought_placed, s);
    s->looked = size;
}

const char *aoi_sought_check(const aoi_world *w, const aoi_sought *s) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < w->entity_top && s->mask; e++) {
        if (!aoi_is_live(w->entities[e].generation) || !aoi_is_sought(s, w->entities[e].kind)) continue;
        count++;
        if (e >= s->cap || !aoi_spatial_has(&s->cells, s->places[e].cell, s->places[e].slot, w->entities[e].pos, e))
            return "an entity that is looked for is not where its cell has it";
    }
    return count == s->cells.count ? aoi_spatial_check(&s->cells) : "what is looked for is counted wrongly";
}
