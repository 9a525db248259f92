/* tower.c - the lighthouse: every cell has a tower with a list of the nodes that reach it.
 *
 *       |       |       |
 *   ----+-------+-------+----           each of the cells that a node's box touches has it on the list of its tower;
 *       |  .---------.  |                   towers stand where a node reaches
 *       |  |    |    |  |
 *   ----+--|----+----|--+----           level   towers for nodes of about one reach, in cells of 2 to 4 times that, or
 *       |  '---------'  |                       down to a quarter of it where the hint wants smaller ones
 *       |       |       |
 *
 * Nodes that have the mover as a target are on the lists of the towers of its old and new cell: their boxes are
 * compared.  The grid finds the targets of the mover's own nodes; if a box touches other cells than before, their lists
 * change.
 *
 * Cost, d nodes around a cell: a move O(levels + d), and for each of its nodes what the grid takes; add_node,
 * remove_node O(t d), where t, the towers of a node, is 1 to 4, or up to 81 with a hint.  Memory: 32 + 4 t bytes a
 * node, 60 a tower. Method: the lighthouse, or tower, AOI of Chinese MMO servers (pomelo-aoi). */
#include <assert.h>

#include "base/lattice.h"
#include "core/engine.h"
#include "core/rule.h"
#include "grid/nine_grid.h"

#define TOWER_SIDE 64.0
#define TOWER_LEAST_SIDE 0x1p-200

enum { TOWER_AHEAD = 12 };

typedef enum tower_step { TOWER_RESERVE, TOWER_ENTER, TOWER_LEAVE } tower_step; /* of a move */

typedef struct tower {
    int32_t cx, cy;
    uint32_t *nodes;
    uint32_t count, cap; /* cap 0: unused, and `count` is the next unused one */
} tower;

typedef struct tower_level {
    double side, inverse;
    tower *towers;
    uint32_t cap, top, unused;
    aoi_hash_index index; /* of those that exist */
} tower_level;

typedef struct tower_box { /* of a node, bounds as in the rule: a walk over a list reads nothing else */
    double lo[2], hi[2];
} tower_box;

typedef struct towers {
    aoi_engine head;
    double hint;
    tower_level *levels; /* a node's `part` is the number of its level, from 1 on */
    uint32_t level_cap, level_count;
    tower_box *boxes; /* by slot of node */
    uint32_t box_cap;
} towers;

static towers *towers_of(aoi_engine *g) {
    return (towers *)(void *)g;
}

/* ---- towers ------------------------------------------------------------------------------------------------------ */

static tower *tower_at(const tower_level *y, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&y->index, hash, &at)) != AOI_NONE)
        if (y->towers[i].cx == cx && y->towers[i].cy == cy) return y->towers + i;
    return NULL;
}

static tower *tower_around(const tower_level *y, const double *at) {
    return tower_at(y, aoi_cell_number(at[0], y->inverse), aoi_cell_number(at[1], y->inverse));
}

/* The tower of a cell, made if missing, with room for `more` nodes; NULL when memory is refused. */
static tower *tower_reserve(aoi_memory *m, tower_level *y, int32_t cx, int32_t cy, uint32_t more) {
    tower *t = tower_at(y, cx, cy);
    if (t) return AOI_GROW(m, t->nodes, t->cap, t->count + (size_t)more) ? t : NULL;
    if (!aoi_hash_index_reserve(m, &y->index, y->index.count + (size_t)1)) return NULL;
    if (y->unused == AOI_NONE && !AOI_GROW(m, y->towers, y->cap, y->top + (size_t)1)) return NULL;
    tower new = {.cx = cx, .cy = cy};
    if (!AOI_GROW(m, new.nodes, new.cap, (size_t)more)) return NULL;
    uint32_t i = y->unused == AOI_NONE ? y->top++ : y->unused;
    if (i == y->unused) y->unused = y->towers[i].count;
    y->towers[i] = new;
    aoi_hash_index_add(&y->index, aoi_cell_hash(cx, cy), i);
    return y->towers + i;
}

/* Removes a node from a tower, and the tower with its last node. */
static void tower_drop(aoi_memory *m, tower_level *y, tower *t, uint32_t node) {
    uint32_t i = 0;
    while (t->nodes[i] != node) i++;
    assert(i < t->count);
    t->nodes[i] = t->nodes[--t->count];
    if (t->count) return;
    i = (uint32_t)(t - y->towers);
    aoi_hash_index_remove(&y->index, aoi_cell_hash(t->cx, t->cy), i);
    AOI_FREE(m, t->nodes, t->cap);
    *t = (tower){.count = y->unused};
    y->unused = i;
}

/* ---- levels and spans -------------------------------------------------------------------------------------------- */

/* More than twice the reach, so that a box touches at most 2 cells an axis; a smaller hint is doubled until it touches at
 * most 9. */
static double tower_side_for(const towers *g, double reach) {
    int e;
    double side = g->hint;
    (void)frexp(reach, &e);
    if (!(g->hint > 0)) return reach == 0 ? TOWER_SIDE : fmax(ldexp(1, e + 1), TOWER_LEAST_SIDE);
    while (8 * side < 2 * reach) side *= 2;
    return side;
}

static uint32_t tower_level_for(towers *g, double reach) {
    double side = tower_side_for(g, reach);
    for (uint32_t i = 0; i < g->level_count; i++)
        if (g->levels[i].side == side) return i;
    if (g->level_count == 0x7ff) return AOI_NONE;
    if (!AOI_GROW(&g->head.records->memory, g->levels, g->level_cap, g->level_count + (size_t)1)) return AOI_NONE;
    g->levels[g->level_count] = (tower_level){.side = side, .inverse = 1 / side, .unused = AOI_NONE};
    return g->level_count++;
}

static tower_box tower_box_of(const double *at, const double *reach) {
    return (tower_box){{at[0] - reach[0], at[1] - reach[1]}, {at[0] + reach[0], at[1] + reach[1]}};
}

/* The cells that a box touches; cell numbers are monotonic, so rounding loses none. */
static aoi_span tower_span_of(const tower_level *y, const tower_box *b) {
    return (aoi_span){aoi_cell_number(b->lo[0], y->inverse), aoi_cell_number(b->lo[1], y->inverse),
                      aoi_cell_number(b->hi[0], y->inverse), aoi_cell_number(b->hi[1], y->inverse)};
}

static const aoi_span tower_nowhere = {1, 1, 0, 0};

/* One step on every tower of the span outside `but`: makes room for `more` nodes, adds the node, or removes it.  All
 * insertions come first, because a tower and its room are freed with its last node.  False when memory is refused. */
static bool tower_step_span(towers *g, tower_level *y, uint32_t node, const aoi_span *s, const aoi_span *but,
                            uint32_t more, tower_step step) {
    aoi_memory *m = &g->head.records->memory;
    for (int32_t cy = s->y0; cy <= s->y1; cy++)
        for (int32_t cx = s->x0; cx <= s->x1; cx++) {
            if (aoi_span_holds(but, cx, cy)) continue;
            tower *t = step == TOWER_RESERVE ? tower_reserve(m, y, cx, cy, more) : tower_at(y, cx, cy);
            if (!t) return false;
            if (step == TOWER_ENTER) t->nodes[t->count++] = node;
            if (step == TOWER_LEAVE) tower_drop(m, y, t, node);
        }
    return true;
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int tower_open(aoi_engine *head, double cell) {
    towers_of(head)->hint = cell > 0 ? fmax(cell, TOWER_LEAST_SIDE) : 0;
    return AOI_OK;
}

static void tower_close(aoi_engine *head) {
    towers *g = towers_of(head);
    aoi_memory *m = &g->head.records->memory;
    while (g->level_count) {
        tower_level *y = g->levels + --g->level_count;
        for (uint32_t i = 0; i < y->top; i++) AOI_FREE(m, y->towers[i].nodes, y->towers[i].cap);
        AOI_FREE(m, y->towers, y->cap);
        aoi_hash_index_free(m, &y->index);
    }
    AOI_CLEAR(m, g->levels, g->level_cap);
    AOI_CLEAR(m, g->boxes, g->box_cap);
}

static void tower_remove_node(aoi_engine *head, uint32_t node) {
    towers *g = towers_of(head);
    aoi_node_record *n = head->records->nodes + node;
    tower_level *y = g->levels + n->part - 1;
    aoi_span had = tower_span_of(y, g->boxes + node);
    (void)tower_step_span(g, y, node, &had, &tower_nowhere, 0, TOWER_LEAVE);
    n->part = 0;
}

/* Adds the node to the towers of the new box before removing it from those of the old one. */
static int tower_set_node(aoi_engine *head, uint32_t node, const aoi_bounds *b) {
    towers *g = towers_of(head);
    aoi_node_record *n = head->records->nodes + node;
    tower_box box = tower_box_of(head->records->entities[n->owner].pos, b->reach);
    uint32_t level = tower_level_for(g, fmax(b->reach[0], b->reach[1]));
    if (level == AOI_NONE || !AOI_GROW(&g->head.records->memory, g->boxes, g->box_cap, node + (size_t)1))
        return AOI_ENOMEM;
    tower_level *y = g->levels + level;
    aoi_span has = tower_span_of(y, &box);
    if (!tower_step_span(g, y, node, &has, &tower_nowhere, 1, TOWER_RESERVE)) return AOI_ENOMEM;
    (void)tower_step_span(g, y, node, &has, &tower_nowhere, 1, TOWER_ENTER);
    if (n->part) tower_remove_node(head, node);
    n->part = (level + 1) & 0x7ff;
    g->boxes[node] = box;
    return AOI_OK;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static inline unsigned tower_covers(const tower_box *b, const double *at) {
    return aoi_lanes_in_reach(b->lo, b->hi, (const double[2]){0, 0}, at);
}

/* Proposes nodes on a tower's list: bit k of `due` selects those that covered the mover (k & 1) and cover it now (k &
 * 2). */
static void tower_scan_list(const towers *g, const tower *t, uint32_t entity, const double *to, unsigned due) {
    aoi_records *r = g->head.records;
    const aoi_entity_record *e = r->entities + entity;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t n = t->nodes[i];
        if (i + TOWER_AHEAD < t->count) AOI_PREFETCH(g->boxes + t->nodes[i + TOWER_AHEAD]);
        unsigned k = tower_covers(g->boxes + n, e->pos) | tower_covers(g->boxes + n, to) << 1;
        if (!(due >> k & 1)) continue;
        if (aoi_node_matches(r->nodes + n, e->kind) && r->nodes[n].owner != entity) aoi_add_candidate(r, n, entity);
    }
    r->steps += t->count;
}

/* Proposes nodes that covered the mover on the list of its old tower, and that did not on the list of the new one. */
static void tower_propose(const towers *g, uint32_t entity, const double *to) {
    const aoi_records *r = g->head.records;
    const double *from = r->entities[entity].pos;
    unsigned heights = r->dims == 3 && from[2] != to[2] ? 8 : 0;
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (r->nodes[n].part) aoi_grid_propose_targets(r->grid, n, from, to);
    for (uint32_t i = 0; i < g->level_count; i++) {
        const tower_level *y = g->levels + i;
        if (!y->index.count) continue;
        const tower *here = tower_around(y, from), *there = tower_around(y, to);
        if (here) tower_scan_list(g, here, entity, to, (here == there ? 6u : 2u) | heights);
        if (there && there != here) tower_scan_list(g, there, entity, to, 4);
    }
}

/* The count of the owner's nodes in the same level: they may need the same tower. */
static uint32_t tower_count_in_level(const aoi_records *r, uint32_t node) {
    uint32_t count = 0;
    for (uint32_t n = r->entities[r->nodes[node].owner].nodes; n != AOI_NONE; n = r->nodes[n].next)
        count += r->nodes[n].part == r->nodes[node].part;
    return count;
}

/* One step of moving the boxes of the entity's nodes; false when memory is refused. */
static bool tower_move_boxes(towers *g, uint32_t entity, const double *to, tower_step step) {
    const aoi_records *r = g->head.records;
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next) {
        if (!r->nodes[n].part) continue;
        tower_level *y = g->levels + r->nodes[n].part - 1;
        tower_box b = tower_box_of(to, r->nodes[n].reach);
        aoi_span had = tower_span_of(y, g->boxes + n), has = tower_span_of(y, &b);
        if (step == TOWER_LEAVE) g->boxes[n] = b;
        if (!memcmp(&had, &has, sizeof had)) continue;
        const uint32_t more = step == TOWER_RESERVE ? tower_count_in_level(r, n) : 0;
        const bool leaves = step == TOWER_LEAVE;
        if (!tower_step_span(g, y, n, leaves ? &had : &has, leaves ? &has : &had, more, step)) return false;
    }
    return true;
}

static int tower_move(aoi_engine *head, uint32_t entity, const double *to, bool propose) {
    towers *g = towers_of(head);
    if (propose) tower_propose(g, entity, to);
    if (!tower_move_boxes(g, entity, to, TOWER_RESERVE)) return AOI_ENOMEM;
    (void)tower_move_boxes(g, entity, to, TOWER_ENTER);
    (void)tower_move_boxes(g, entity, to, TOWER_LEAVE);
    return AOI_OK;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

static uint32_t tower_describe(const aoi_engine *head, aoi_describer *d) {
    const towers *g = (const towers *)(const void *)head;
    for (uint32_t i = 0; i < g->level_count; i++)
        for (uint32_t k = 0; k < g->levels[i].top; k++) {
            const tower *t = g->levels[i].towers + k;
            aoi_part p = {.kind = AOI_PART_TOWER, .level = i, .nodes = t->count};
            aoi_cell_interval(t->cx, g->levels[i].side, p.lo, p.hi);
            aoi_cell_interval(t->cy, g->levels[i].side, p.lo + 1, p.hi + 1);
            if (!t->cap || !aoi_report_part(d, &p)) continue;
            for (uint32_t n = 0; n < t->count; n++) d->entry(d, 0, AOI_ENTRY_NODE, t->nodes[n]);
        }
    return g->level_count;
}

const aoi_engine_class aoi_engine_tower = {
    .name = "tower",
    .size = sizeof(towers),
    .takes = AOI_TAKES_BOXES,
    .open = tower_open,
    .close = tower_close,
    .set_node = tower_set_node,
    .remove_node = tower_remove_node,
    .move = tower_move,
    .describe = tower_describe,
};
