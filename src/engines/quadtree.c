/* quadtree.c - a quadtree of entities.
 *
 *          +---------+         leaf    up to 64 entities, more if they are on one spot: an array of places
 *          |         |         inner   four quadrants; those without entities are missing
 *      +---+---+   +---+       root    the smallest square around all that was ever in the tree
 *      |   |   |   |   |
 *    . . . . . . . . . .       Places are counted in steps of the finest side, 64 bits an axis.  So the tree needs no
 *                              borders, and no path is longer than 64.
 *
 * The targets of a mover's nodes are found by range queries: the squares that meet its box are visited, and in leaves
 * positions decide.  The grid finds the nodes that have the mover as a target.
 *
 * Cost, d entities around: a move O(d); enter and leave O(depth).  Memory: 24 bytes an entity and 100 a square, about one
 * for eight entities.  Method: the bucket PR quadtree (Samet 1984). */
#include <assert.h>

#include "core/engine.h"
#include "core/rule.h"
#include "grid/nine_grid.h"

#define QUADTREE_FINEST_SIDE 0x1p-12
#define QUADTREE_HALF_STEPS 9223372036854775808.0 /* on one side of the origin */

enum { QUADTREE_CROWD = 64, QUADTREE_SPARSE = 32 }; /* entities: a leaf of more splits, quadrants of no more merge */
enum { QUADTREE_TOP = 64 };                         /* most levels */

typedef struct quad_item {
    double at[2];
    uint32_t entity;
} quad_item;

typedef struct quad {
    uint64_t corner[2];         /* the lower one, in steps; the side is 2^level */
    double lo[2], hi[2];        /* in units of length; the outermost step has no end */
    quad_item *items;           /* of a leaf */
    uint32_t cap, count, crowd; /* crowd: at more it is split */
    uint32_t child[4];          /* or AOI_NONE */
    uint32_t parent;            /* of a free record the next one */
    uint8_t level;
    bool leaf;
} quad;

typedef struct quadtree {
    aoi_engine head;
    double inverse; /* steps in a unit of length */
    quad *quads;
    uint32_t cap, top, unused, root;
    aoi_cell_slot *places; /* by entity: its leaf and its item there */
    uint32_t place_cap;
} quadtree;

static quadtree *quadtree_of(aoi_engine *g) {
    return (quadtree *)(void *)g;
}

/* ---- squares ----------------------------------------------------------------------------------------------------- */

/* Monotonic: comparing steps never contradicts comparing coordinates. */
static uint64_t quad_step_of(const quadtree *g, double v) {
    const uint64_t middle = UINT64_C(1) << 63;
    double k = v * g->inverse;
    if (k >= -QUADTREE_HALF_STEPS && k < QUADTREE_HALF_STEPS)
        return (uint64_t)((int64_t)k - (k < (double)(int64_t)k)) + middle; /* floor */
    return k > 0 ? UINT64_MAX : k < 0 ? 0 : middle;                        /* 0 times infinity: not a number */
}

static uint64_t quad_last_of(int level) {
    return level == QUADTREE_TOP ? UINT64_MAX : (UINT64_C(1) << level) - 1;
}

static bool quad_holds(const quad *k, uint64_t x, uint64_t y) {
    return ((x ^ k->corner[0]) | (y ^ k->corner[1])) <= quad_last_of(k->level);
}

static int quad_quadrant(const quad *k, uint64_t x, uint64_t y) {
    return (int)((x >> (k->level - 1) & 1) | (y >> (k->level - 1) & 1) << 1);
}

/* The square of this level around a place. */
static void quad_set_square(const quadtree *g, quad *k, const uint64_t *at, int level) {
    k->level = (uint8_t)level;
    for (int a = 0; a < 2; a++) {
        uint64_t first = k->corner[a] = at[a] & ~quad_last_of(level);
        double begin = (double)(int64_t)(first - (UINT64_C(1) << 63));
        k->lo[a] = first == 0 ? (double)-INFINITY : begin / g->inverse;
        k->hi[a] =
            first + quad_last_of(level) == UINT64_MAX ? (double)INFINITY : (begin + ldexp(1, level)) / g->inverse;
    }
}

/* A leaf of this level around a place; AOI_NONE when memory is refused. */
static uint32_t quad_new(quadtree *g, const uint64_t *at, int level, uint32_t parent) {
    uint32_t i = g->unused;
    if (i != AOI_NONE) g->unused = g->quads[i].parent;
    else if (AOI_GROW(&g->head.records->memory, g->quads, g->cap, g->top + (size_t)1)) i = g->top++;
    else return AOI_NONE;
    g->quads[i] = (quad){
        .crowd = QUADTREE_CROWD, .child = {AOI_NONE, AOI_NONE, AOI_NONE, AOI_NONE}, .parent = parent, .leaf = true};
    quad_set_square(g, g->quads + i, at, level);
    return i;
}

static void quad_free(quadtree *g, uint32_t i) {
    AOI_FREE(&g->head.records->memory, g->quads[i].items, g->quads[i].cap);
    g->quads[i] = (quad){.level = UINT8_MAX, .parent = g->unused};
    g->unused = i;
}

/* Makes a square around the root the new root; a root that is a leaf grows instead. */
static bool quadtree_raise_root(quadtree *g) {
    uint32_t was = g->root;
    const quad old = g->quads[was];
    if (old.leaf) {
        quad_set_square(g, g->quads + was, old.corner, old.level + 1);
        return true;
    }
    uint32_t i = quad_new(g, old.corner, old.level + 1, AOI_NONE);
    if (i == AOI_NONE) return false;
    quad *k = g->quads + i;
    k->leaf = false;
    k->child[quad_quadrant(k, old.corner[0], old.corner[1])] = was;
    g->quads[was].parent = g->root = i;
    return true;
}

/* The leaf of a place, made if it is missing, with room for one more; AOI_NONE when memory is refused. */
static uint32_t quadtree_reserve(quadtree *g, const double *pos) {
    const uint64_t at[2] = {quad_step_of(g, pos[0]), quad_step_of(g, pos[1])};
    if (g->root == AOI_NONE && (g->root = quad_new(g, at, 0, AOI_NONE)) == AOI_NONE) return AOI_NONE;
    while (!quad_holds(g->quads + g->root, at[0], at[1]))
        if (!quadtree_raise_root(g)) return AOI_NONE;
    uint32_t i = g->root;
    while (!g->quads[i].leaf) {
        int d = quad_quadrant(g->quads + i, at[0], at[1]);
        uint32_t next = g->quads[i].child[d];
        if (next == AOI_NONE) {
            if ((next = quad_new(g, at, g->quads[i].level - 1, i)) == AOI_NONE) return AOI_NONE;
            g->quads[i].child[d] = next;
        }
        i = next;
    }
    quad *k = g->quads + i;
    return AOI_GROW(&g->head.records->memory, k->items, k->cap, k->count + (size_t)1) ? i : AOI_NONE;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static void quad_append(quadtree *g, uint32_t leaf, const quad_item *item) {
    quad *k = g->quads + leaf;
    assert(k->leaf && k->count < k->cap);
    g->places[item->entity] = (aoi_cell_slot){leaf, k->count};
    k->items[k->count++] = *item;
}

static void quad_drop_children(quadtree *g, uint32_t at) {
    for (int d = 0; d < 4; d++) {
        if (g->quads[at].child[d] != AOI_NONE) quad_free(g, g->quads[at].child[d]);
        g->quads[at].child[d] = AOI_NONE;
    }
}

static bool quad_same_spot(const quadtree *g, const double *p, const double *q) {
    return quad_step_of(g, p[0]) == quad_step_of(g, q[0]) && quad_step_of(g, p[1]) == quad_step_of(g, q[1]);
}

/* Divides a crowded leaf; where memory is refused, or all are on one spot, it stays as it is until it has doubled. */
static void quad_split(quadtree *g, uint32_t at) {
    const quad old = g->quads[at];
    uint32_t done = 0, same = 1, leaf;
    g->quads[at].crowd = 2 * old.count;
    while (same < old.count && quad_same_spot(g, old.items[0].at, old.items[same].at)) same++;
    if (same == old.count) return;
    g->quads[at].items = NULL;
    g->quads[at].cap = g->quads[at].count = 0;
    g->quads[at].leaf = false;
    for (; done < old.count && (leaf = quadtree_reserve(g, old.items[done].at)) != AOI_NONE; done++)
        quad_append(g, leaf, old.items + done);
    if (done < old.count) {
        quad_drop_children(g, at);
        g->quads[at] = old;
        g->quads[at].crowd = 2 * old.count;
        for (uint32_t i = 0; i < done; i++) g->places[old.items[i].entity] = (aoi_cell_slot){at, i};
        return;
    }
    AOI_FREE(&g->head.records->memory, old.items, old.cap);
    for (int d = 0; d < 4; d++) {
        uint32_t i = g->quads[at].child[d];
        if (i == AOI_NONE) continue;
        if (g->quads[i].count > QUADTREE_CROWD) quad_split(g, i); /* no deeper than there are levels */
    }
}

static void quadtree_insert(quadtree *g, uint32_t leaf, const quad_item *item) {
    quad_append(g, leaf, item);
    if (g->quads[leaf].count > g->quads[leaf].crowd) quad_split(g, leaf);
}

/* Makes one leaf of a square with few entities, whose quadrants are leaves. */
static bool quad_merge(quadtree *g, uint32_t i) {
    quad *k = g->quads + i;
    uint32_t count = 0;
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        if (!g->quads[k->child[d]].leaf) return false;
        count += g->quads[k->child[d]].count;
    }
    if (count > QUADTREE_SPARSE || !AOI_GROW(&g->head.records->memory, k->items, k->cap, count)) return false;
    k->leaf = true;
    k->crowd = QUADTREE_CROWD;
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        const quad *from = g->quads + k->child[d];
        for (uint32_t item = 0; item < from->count; item++) quad_append(g, i, from->items + item);
    }
    quad_drop_children(g, i);
    return true;
}

static void quadtree_remove(quadtree *g, aoi_cell_slot place) {
    uint32_t i = place.cell;
    quad *k = g->quads + i;
    k->items[place.slot] = k->items[--k->count];
    if (place.slot < k->count) g->places[k->items[place.slot].entity].slot = place.slot;
    for (uint32_t up = k->parent; k->count <= QUADTREE_SPARSE && up != AOI_NONE && quad_merge(g, up);)
        up = g->quads[up].parent;
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int quadtree_open(aoi_engine *head, double cell) {
    quadtree *g = quadtree_of(head);
    g->inverse = 1 / (cell > 0 ? fmin(cell, DBL_MAX) : QUADTREE_FINEST_SIDE);
    g->root = g->unused = AOI_NONE;
    return AOI_OK;
}

static void quadtree_close(aoi_engine *head) {
    quadtree *g = quadtree_of(head);
    for (uint32_t i = 0; i < g->top; i++) AOI_FREE(&head->records->memory, g->quads[i].items, g->quads[i].cap);
    AOI_CLEAR(&head->records->memory, g->quads, g->cap);
    AOI_CLEAR(&head->records->memory, g->places, g->place_cap);
    g->top = 0;
    g->root = g->unused = AOI_NONE;
}

static int quadtree_enter(aoi_engine *head, uint32_t entity) {
    quadtree *g = quadtree_of(head);
    const double *at = head->records->entities[entity].pos;
    if (!AOI_GROW(&head->records->memory, g->places, g->place_cap, entity + (size_t)1)) return AOI_ENOMEM;
    uint32_t leaf = quadtree_reserve(g, at);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    quadtree_insert(g, leaf, &(quad_item){{at[0], at[1]}, entity});
    return AOI_OK;
}

static void quadtree_leave(aoi_engine *head, uint32_t entity) {
    quadtree_remove(quadtree_of(head), quadtree_of(head)->places[entity]);
}

static quad_item *quadtree_item(const quadtree *g, uint32_t entity) {
    return g->quads[g->places[entity].cell].items + g->places[entity].slot;
}

static int quadtree_set_node(aoi_engine *head, uint32_t node, const aoi_bounds *b) {
    (void)b;
    head->records->nodes[node].part = 1;
    return AOI_OK;
}

static void quadtree_remove_node(aoi_engine *head, uint32_t node) {
    head->records->nodes[node].part = 0;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static inline bool quad_inside(const aoi_records *r, uint32_t node, const double *at, const double *t) {
    return !aoi_lanes_outside(at, t, r->nodes[node].reach) &&
           (r->dims < 3 || aoi_in_side(at[2], t[2], aoi_height_of(r, node)));
}

/* Proposes the entities in the box of a node around one end of its move, and not in the box around the other.  Squares
 * that are inside of both are passed over where heights do not change. */
static void quad_propose_targets(const quadtree *g, uint32_t node, const double *from, const double *to) {
    aoi_records *r = g->head.records;
    const aoi_node_record *n = r->nodes + node;
    const double room = aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to) + aoi_magnitude(n->reach));
    const double most[2] = {n->reach[0] + room, n->reach[1] + room}, least = fmin(n->reach[0], n->reach[1]) - room;
    const bool solid = r->dims == 3 && from[2] != to[2];
    const aoi_f64x2 was = aoi_f64_load(from), is = aoi_f64_load(to), reach = aoi_f64_load(n->reach);
    const aoi_f64x2 was_low = aoi_f64_sub(was, reach), was_high = aoi_f64_add(was, reach);
    const aoi_f64x2 is_low = aoi_f64_sub(is, reach), is_high = aoi_f64_add(is, reach);
    uint32_t stack[3 * QUADTREE_TOP + 4], depth = 1;
    stack[0] = g->root;
    while (depth) {
        const quad *k = g->quads + stack[--depth];
        if (!aoi_lanes_in_reach(k->lo, k->hi, most, from) && !aoi_lanes_in_reach(k->lo, k->hi, most, to)) continue;
        if (!solid && aoi_lanes_holds(from, least, k->lo, k->hi) && aoi_lanes_holds(to, least, k->lo, k->hi)) continue;
        for (uint32_t i = 0; i < k->count; i++) {
            const uint32_t target = k->items[i].entity;
            const aoi_f64x2 t = aoi_f64_load(k->items[i].at);
            const bool before = aoi_lanes_both(was_low, t, was_high), after = aoi_lanes_both(is_low, t, is_high);
            if (before == after && !(solid && after)) continue;
            if (target != n->owner && aoi_node_matches(n, r->entities[target].kind)) aoi_add_candidate(r, node, target);
        }
        r->steps += k->count;
        for (int d = 0; d < 4; d++)
            if (k->child[d] != AOI_NONE) stack[depth++] = k->child[d];
    }
}

static void quadtree_propose(const quadtree *g, uint32_t entity, const double *to) {
    aoi_records *r = g->head.records;
    const double *from = r->entities[entity].pos;
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next)
        if (r->nodes[n].part) quad_propose_targets(g, n, from, to);
    r->hit_count = 0;
    aoi_grid_watchers(r->grid, &(aoi_grid_target){from, to, 0, 0, r->dims == 3 && from[2] != to[2]}, false);
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_node_record *n = r->nodes + r->hits[i];
        const double *at = r->entities[n->owner].pos;
        if (n->part && n->owner != entity && aoi_node_matches(n, r->entities[entity].kind) &&
            quad_inside(r, r->hits[i], at, from) != quad_inside(r, r->hits[i], at, to))
            aoi_add_candidate(r, r->hits[i], entity);
    }
}

/* Inserts into the new leaf before removing from the old one. */
static int quadtree_move(aoi_engine *head, uint32_t entity, const double *to, bool propose) {
    quadtree *g = quadtree_of(head);
    aoi_cell_slot was = g->places[entity];
    quad_item item = *quadtree_item(g, entity);
    if (propose) quadtree_propose(g, entity, to);
    item.at[0] = to[0], item.at[1] = to[1];
    bool stays = quad_holds(g->quads + was.cell, quad_step_of(g, to[0]), quad_step_of(g, to[1]));
    uint32_t leaf = stays ? was.cell : quadtree_reserve(g, to);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    if (leaf == was.cell) *quadtree_item(g, entity) = item; /* a root that is a leaf grows around the place, too */
    else {
        quadtree_insert(g, leaf, &item);
        quadtree_remove(g, was);
    }
    return AOI_OK;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

static uint32_t quadtree_describe(const aoi_engine *head, aoi_describer *d) {
    const quadtree *g = (const quadtree *)(const void *)head;
    for (uint32_t i = 0; i < g->top; i++) {
        const quad *k = g->quads + i;
        if (k->level > QUADTREE_TOP) continue;
        aoi_part p = {.kind = k->leaf ? AOI_PART_LEAF : AOI_PART_SQUARE, .entities = k->count};
        p.level = (uint32_t)(g->quads[g->root].level - k->level);
        for (int a = 0; a < 2; a++) p.lo[a] = k->lo[a], p.hi[a] = k->hi[a];
        if (!aoi_report_part(d, &p)) continue;
        for (uint32_t s = 0; s < k->count; s++) d->entry(d, 0, AOI_ENTRY_ENTITY, k->items[s].entity);
    }
    return AOI_NONE;
}

const aoi_engine_class aoi_engine_quadtree = {
    .name = "quadtree",
    .size = sizeof(quadtree),
    .takes = AOI_TAKES_BOXES,
    .open = quadtree_open,
    .close = quadtree_close,
    .enter = quadtree_enter,
    .leave = quadtree_leave,
    .set_node = quadtree_set_node,
    .remove_node = quadtree_remove_node,
    .move = quadtree_move,
    .describe = quadtree_describe,
};
