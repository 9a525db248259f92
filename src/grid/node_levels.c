/* node_levels.c - nodes and their levels; see nine_grid.h. */
#include <assert.h>
#include <limits.h>

#include "grid/nine_grid.h"

enum { GRID_GROWTHS = 64 };                   /* of a level's box, before it is measured anew */
enum { GRID_VOTERS = 8, GRID_BALLOTS = 8 };   /* fewest nodes of a uniform level; sizes that are counted */
enum { SPREAD_ITEMS = 3, SPREAD_LEAST = 16 }; /* nodes in a cell of a scattered level; in all */

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static bool grid_same_bounds(const aoi_bounds *a, const aoi_bounds *b) {
    return a->reach[0] == b->reach[0] && a->reach[1] == b->reach[1] && a->inner[0] == b->inner[0] &&
           a->inner[1] == b->inner[1] && a->shape == b->shape && a->round == b->round;
}

/* Moves skip levels for which this is not 0. */
static int grid_silence_of(const aoi_grid *g, const aoi_bounds *b) {
    return b->idle | aoi_is_taken(g->records, b) << 1;
}

static bool grid_is_in(const aoi_node_record *n, uint32_t level) {
    return aoi_is_live(n->generation) && n->level == level && aoi_is_bounded(n);
}

static uint32_t grid_find_uniform(const aoi_grid *g, const aoi_bounds *b) {
    int silence = grid_silence_of(g, b);
    for (uint32_t i = 0; i < g->level_count; i++) {
        const aoi_grid_level *y = g->levels + i;
        if (y->count && y->uniform && grid_same_bounds(&y->bounds, b) && grid_silence_of(g, &y->bounds) == silence)
            return i;
    }
    return AOI_NONE;
}

/* Reach of a mixed node and its steps: so far the nine cells around it suffice. */
static double grid_room_of(const aoi_bounds *b) {
    return 1.05 * fmax(b->reach[0], b->reach[1]);
}

enum { GRID_SMALL = INT_MIN }; /* the class of all that are smaller than the cells of points */

static int grid_size_of(const aoi_grid *g, const aoi_bounds *b) {
    return grid_room_of(b) <= g->points.side ? GRID_SMALL : (aoi_size_class(grid_room_of(b)) - 1) >> 1;
}

static double grid_side_of(const aoi_grid *g, const aoi_bounds *b, bool uniform) {
    return aoi_grid_side_for(g, uniform ? fmax(b->reach[0], b->reach[1]) : grid_room_of(b));
}

/* A level without nodes, AOI_NONE when memory is refused. */
static uint32_t grid_new_level(aoi_grid *g, const aoi_bounds *b, bool uniform) {
    uint32_t i = 0;
    while (i < g->level_count && g->levels[i].count) i++;
    if (i == g->level_count) {
        if (!AOI_GROW(aoi_grid_memory(g), g->levels, g->level_cap, g->level_count + (size_t)1)) return AOI_NONE;
        g->level_count++;
    } else aoi_spatial_close(aoi_grid_memory(g), &g->levels[i].cells);
    aoi_grid_level *y = g->levels + i;
    aoi_borders borders = aoi_borders_of(g->records->dims, b);
    *y = (aoi_grid_level){.borders = borders, .bounds = *b, .kind = aoi_borders_kind(&borders, grid_silence_of(g, b))};
    y->uniform = uniform;
    y->idle = b->idle;
    y->taken = aoi_is_taken(g->records, b);
    y->size = grid_size_of(g, b);
    y->side = grid_side_of(g, b, uniform);
    aoi_spatial_open(&y->cells, y->side, true);
    y->cells.carries = !uniform;
    return i;
}

static uint32_t grid_mixed_level(aoi_grid *g, const aoi_bounds *b) {
    aoi_borders borders = aoi_borders_of(g->records->dims, b);
    int size = grid_size_of(g, b), kind = aoi_borders_kind(&borders, grid_silence_of(g, b));
    for (uint32_t i = 0; i < g->level_count; i++) {
        const aoi_grid_level *l = g->levels + i;
        if (l->count && !l->uniform && l->size == size && l->kind == kind) return i;
    }
    return grid_new_level(g, b, false);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Makes room in the level; a crowd needs no cell. */
static bool grid_reserve_in(aoi_grid *g, uint32_t node, aoi_grid_place *place) {
    const aoi_records *r = g->records;
    if (place->level == AOI_NONE) return false;
    aoi_grid_level *y = g->levels + place->level;
    place->cell = AOI_NONE;
    if (y->crowd) return true;
    place->cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, r->entities[r->nodes[node].owner].pos);
    return place->cell != AOI_NONE;
}

bool aoi_grid_reserve(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place *place) {
    place->level = grid_find_uniform(g, b);
    if (place->level == AOI_NONE) place->level = grid_mixed_level(g, b);
    return grid_reserve_in(g, node, place);
}

/* Whether the items of the owners have the reaches of its nodes. */
static bool grid_carries(const aoi_grid_level *y) {
    return y->crowd && !y->uniform && !y->idle;
}

/* Grows the box around the level's owners; asks for a new measure when it has grown often, as most may be empty. */
static void grid_cover(aoi_grid *g, aoi_grid_level *y, const double *at) {
    if (aoi_owner_box_cover(&y->box, at) && y->box.grown >= GRID_GROWTHS + y->count)
        g->changed = g->records->untidy = true;
}

static void grid_set_borders(aoi_grid_level *y, const aoi_borders *b) {
    y->borders = *b;
    y->depth = aoi_borders_depth(b);
}

static void grid_add_borders(aoi_grid_level *y, const aoi_borders *b) {
    aoi_borders_include(&y->borders, b);
    y->depth = fmax(y->depth, aoi_borders_depth(b));
}

void aoi_grid_level_insert(aoi_grid *g, uint32_t node, const aoi_bounds *b, aoi_grid_place place) {
    aoi_node_record *n = g->records->nodes + node;
    aoi_entity_record *owner = g->records->entities + n->owner;
    aoi_grid_level *y = g->levels + place.level;
    aoi_borders borders = aoi_borders_of(g->records->dims, b);
    assert(place.level < g->level_count && (y->crowd || place.cell < y->cells.top));
    assert(y->idle == b->idle && y->taken == aoi_is_taken(g->records, b));
    n->level = place.level;
    y->masks |= n->mask;
    y->excepts |= (n->flags & AOI_NODE_OVERRIDES) != 0;
    if (!y->crowd) {
        owner->scattered = 1;
        aoi_item_insert(g->records, &y->cells, place.cell, owner->pos, node, false);
    }
    aoi_item_carry(g->records, &g->points, node, grid_carries(y));
    if (y->count == 0) aoi_owner_box_clear(&y->box);
    grid_cover(g, y, owner->pos);
    if (y->count++ == 0) grid_set_borders(y, &borders);
    else if (!y->uniform) grid_add_borders(y, &borders);
    if (!y->uniform) y->side = fmax(y->side, grid_side_of(g, b, false));
}

void aoi_grid_level_remove(aoi_grid *g, uint32_t node) {
    aoi_grid_level *y = g->levels + g->records->nodes[node].level;
    assert(g->records->nodes[node].level < g->level_count && y->count);
    y->count--;
    aoi_item_carry(g->records, &g->points, node, false);
    if (!y->crowd) aoi_item_remove(g->records, &y->cells, node);
}

/* False when memory is refused. */
static inline bool grid_move_node(aoi_grid *g, uint32_t node, const double *to, bool *scattered) {
    const aoi_node_record *n = g->records->nodes + node;
    if (!aoi_is_bounded(n)) return true;
    aoi_grid_level *y = g->levels + n->level;
    if (y->crowd) return true;
    *scattered = true;
    grid_cover(g, y, to);
    return aoi_item_move(g->records, &y->cells, node, to);
}

/* When memory is refused, the nodes that have moved go back to the storage that they left: that cannot fail. */
bool aoi_grid_move_chain(aoi_grid *g, uint32_t owner, const double *from, const double *to) {
    const aoi_records *r = g->records;
    aoi_entity_record *e = r->entities + owner;
    bool scattered = false;
    uint32_t n = e->nodes;
    while (n != AOI_NONE && grid_move_node(g, n, to, &scattered)) n = r->nodes[n].next;
    if (n == AOI_NONE && aoi_item_move(g->records, &g->points, owner, to)) {
        e->scattered = scattered;
        return true;
    }
    for (uint32_t back = e->nodes; back != n; back = r->nodes[back].next)
        (void)grid_move_node(g, back, from, &scattered);
    return false;
}

/* ---- uniform levels ---------------------------------------------------------------------------------------------- */

/* Moves the nodes of these bounds, or all, from one level to another.  Stops when memory is refused: each node is in
 * one level or the other. */
static void grid_transfer(aoi_grid *g, uint32_t from, uint32_t to, const aoi_bounds *only) {
    const aoi_records *r = g->records;
    for (uint32_t n = 0; n < r->node_top; n++) {
        aoi_grid_place place = {.level = to};
        if (!grid_is_in(r->nodes + n, from)) continue;
        aoi_bounds b = aoi_bounds_of(r, n);
        if (only && !grid_same_bounds(&b, only)) continue;
        if (!grid_reserve_in(g, n, &place)) return;
        aoi_grid_level_remove(g, n);
        aoi_grid_level_insert(g, n, &b, place);
    }
}

/* Notes for all of its nodes whether they are in a mixed crowd. */
static void grid_carry_all(aoi_grid *g, uint32_t level) {
    for (uint32_t n = 0; n < g->records->node_top; n++)
        if (grid_is_in(g->records->nodes + n, level))
            aoi_item_carry(g->records, &g->points, n, grid_carries(g->levels + level));
}

/* Renews the borders of a mixed level after it has lost nodes. */
static void grid_measure(aoi_grid *g, uint32_t level) {
    const aoi_records *r = g->records;
    bool first = true;
    for (uint32_t n = 0; n < r->node_top; n++) {
        if (!grid_is_in(r->nodes + n, level)) continue;
        aoi_bounds b = aoi_bounds_of(r, n);
        aoi_borders borders = aoi_borders_of(r->dims, &b);
        if (first) grid_set_borders(g->levels + level, &borders);
        else grid_add_borders(g->levels + level, &borders);
        first = false;
    }
}

/* The nodes of mixed levels that are in the wrong class, now that the cells of points have another side. */
static void grid_sort_sizes(aoi_grid *g) {
    const aoi_records *r = g->records;
    uint32_t count = g->level_count;
    for (uint32_t i = 0; i < count; i++) {
        const aoi_bounds most = {.reach = {g->levels[i].borders.leave_max[0], g->levels[i].borders.leave_max[1]}};
        if (!g->levels[i].count || g->levels[i].uniform || grid_size_of(g, &most) == g->levels[i].size) continue;
        for (uint32_t n = 0; n < r->node_top; n++) {
            if (!grid_is_in(r->nodes + n, i)) continue;
            aoi_bounds b = aoi_bounds_of(r, n);
            aoi_grid_place place = {.level = grid_size_of(g, &b) == g->levels[i].size ? i : grid_mixed_level(g, &b)};
            if (place.level == i) continue;
            if (!grid_reserve_in(g, n, &place)) return;
            aoi_grid_level_remove(g, n);
            aoi_grid_level_insert(g, n, &b, place);
        }
        grid_measure(g, i);
    }
}

typedef struct grid_votes {
    aoi_bounds bounds;
    bool stands; /* somebody has these bounds: those that nobody has named look like a square of radius 0 */
    uint32_t count;
} grid_votes;

/* Counts the nodes of all bounds that more than one in GRID_BALLOTS has, and maybe of others (Misra and Gries 1982). */
static void grid_vote(const aoi_grid *g, uint32_t level, grid_votes v[GRID_BALLOTS]) {
    const aoi_records *r = g->records;
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 0; n < r->node_top; n++) {
            if (!grid_is_in(r->nodes + n, level)) continue;
            aoi_bounds b = aoi_bounds_of(r, n);
            int i = 0, free = GRID_BALLOTS;
            for (; i < GRID_BALLOTS && !(v[i].stands && grid_same_bounds(&b, &v[i].bounds)); i++)
                if (!v[i].count) free = i;
            if (i < GRID_BALLOTS) v[i].count++;
            else if (!round && free < GRID_BALLOTS) v[free] = (grid_votes){b, true, 1};
            else
                for (i = 0; !round && i < GRID_BALLOTS; i++) v[i].count--;
        }
        for (int i = 0; !round && i < GRID_BALLOTS; i++) v[i].count = 0;
    }
}

/* Makes uniform levels of those bounds that most of the level's nodes have, or of which most entities carry one. */
static void grid_divide(aoi_grid *g, uint32_t level) {
    aoi_grid_level *y = g->levels + level;
    grid_votes v[GRID_BALLOTS] = {{.count = 0}};
    if (y->uniform || y->count < GRID_VOTERS || y->count < g->points.count / 16) return;
    if (!aoi_chooses_anew(y->count, &y->voted)) return;
    grid_vote(g, level, v);
    const uint32_t all = y->count;
    for (int i = 0; i < GRID_BALLOTS; i++) {
        if (v[i].count == all) {
            y->uniform = true;
            y->bounds = v[i].bounds;
            y->borders = aoi_borders_of(g->records->dims, &y->bounds);
            y->side = grid_side_of(g, &y->bounds, true);
            grid_carry_all(g, level);
            return;
        }
        if (v[i].count <= all / 2 && (v[i].count < GRID_VOTERS || v[i].count < g->points.count / 2)) continue;
        uint32_t to = grid_new_level(g, &v[i].bounds, true);
        if (to == AOI_NONE) return;
        g->levels[to].crowd = g->levels[level].crowd;
        grid_transfer(g, level, to, &v[i].bounds);
    }
    if (g->levels[level].count == all) return;
    grid_measure(g, level);
    g->levels[level].voted = g->levels[level].count;
}

/* A uniform level of few nodes is not worth a query of its own. */
static void grid_dissolve(aoi_grid *g, uint32_t level) {
    aoi_grid_level *y = g->levels + level;
    if (!y->uniform || !y->count || y->count >= GRID_VOTERS || y->count >= g->points.count / 64) return;
    aoi_bounds b = y->bounds;
    uint32_t to = grid_mixed_level(g, &b);
    if (to != AOI_NONE) grid_transfer(g, level, to, NULL);
}

void aoi_grid_divide_levels(aoi_grid *g) {
    uint32_t count = g->level_count;
    for (uint32_t i = 0; i < count; i++) grid_divide(g, i);
    for (uint32_t i = 0; i < count; i++) grid_dissolve(g, i);
    grid_sort_sizes(g);
}

/* ---- crowds ------------------------------------------------------------------------------------------------------ */

static void grid_cover_node(void *ud, uint32_t node) {
    const aoi_grid *g = ud;
    const aoi_node_record *n = g->records->nodes + node;
    (void)aoi_owner_box_cover(&g->levels[n->level].box, g->records->entities[n->owner].pos);
}

static void grid_measure_box(aoi_grid *g, aoi_grid_level *y) {
    aoi_owner_box_clear(&y->box);
    aoi_each_item(&y->cells, grid_cover_node, g);
    y->box.grown = 0;
}

/* Makes a crowd a scattered level: each of its nodes gets a place. */
static void grid_scatter(aoi_grid *g, uint32_t level) {
    aoi_records *r = g->records;
    aoi_grid_level *y = g->levels + level;
    for (uint32_t n = 0; n < r->node_top; n++) {
        if (!grid_is_in(r->nodes + n, level)) continue;
        aoi_entity_record *owner = r->entities + r->nodes[n].owner;
        uint32_t cell = aoi_spatial_reserve(aoi_grid_memory(g), &y->cells, AOI_NONE, owner->pos);
        if (cell == AOI_NONE) {
            aoi_spatial_close(aoi_grid_memory(g), &y->cells);
            return;
        }
        aoi_item_insert(r, &y->cells, cell, owner->pos, n, false);
        owner->scattered = 1;
    }
    y->crowd = false;
    grid_carry_all(g, level);
    grid_measure_box(g, y);
}

/* A level is a crowd where a query over all entities, which finds the nodes of some, pays. */
static void grid_choose_crowd(aoi_grid *g, uint32_t level) {
    aoi_grid_level *y = g->levels + level;
    bool fits = y->side <= g->points.side;
    if (!y->crowd && fits && y->count && y->count >= g->points.count / 2) {
        if (!y->uniform && !y->idle && !aoi_items_carry(g->records, &g->points)) return;
        aoi_spatial_close(aoi_grid_memory(g), &y->cells);
        y->crowd = true;
        y->spread = 0;
        grid_carry_all(g, level);
    } else if (y->crowd && (!fits || y->count < g->points.count / 8)) grid_scatter(g, level);
}

/* Doubles the side until a few nodes share a cell: most queries then find their first cell, and read four. */
static void grid_spread(aoi_grid *g, aoi_grid_level *y) {
    aoi_spatial_hash *h = &y->cells;
    if (y->crowd || (!aoi_chooses_anew(y->count, &y->spread) && h->side >= y->side)) return;
    bool good = h->side == y->side || aoi_items_resize(g->records, h, y->side);
    while (good && h->count >= SPREAD_LEAST && h->count < SPREAD_ITEMS * (h->used - h->empty) && isfinite(2 * h->side))
        good = aoi_items_resize(g->records, h, 2 * h->side);
}

void aoi_grid_choose_crowds(aoi_grid *g) {
    for (uint32_t i = 0; i < g->level_count; i++) {
        aoi_grid_level *y = g->levels + i;
        grid_choose_crowd(g, i);
        if (!y->crowd && y->box.grown >= GRID_GROWTHS + y->count) grid_measure_box(g, y);
        grid_spread(g, y);
        if (aoi_spatial_is_untidy(&y->cells)) aoi_spatial_tidy(aoi_grid_memory(g), &y->cells);
    }
}
