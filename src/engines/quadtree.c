/* quadtree.c - a quadtree of entities, of which every square records how far the nodes in it reach.
 *
 *          +---------+         leaf    up to 16 entities, more where they cannot be told apart: places side by side
 *          |         |         inner   four quadrants, of which those without entities are missing
 *      +---+---+   +---+       root    the smallest square around all that was ever in the tree
 *      |   |   |   |   |
 *    . . . . . . . . . .       Places are counted in steps of the finest side, 64 bits an axis; the outermost step takes
 *                              all that is beyond.  So the tree needs no borders, and no path is longer than 64.
 *
 * A move visits the squares in which an entity may stand that one of the mover's boxes passes, or whose own box passes the
 * mover: those that the hull of both places, grown by the greatest reach of either, touches.  A square is skipped with all
 * that it holds where everybody is surely inside before and after: within the least reach.  In leaves positions decide.  Of
 * a jump the two places are visited one after the other.
 *
 * Cost, d entities around: a move O(d), or O(those near the borders) where leaves are much smaller than areas; enter and
 * leave O(depth).  Memory: 24 to 40 bytes an entity and 120 a square, one for about eight entities.
 * Method: the bucket PR quadtree (Samet 1984), with one summary of reaches a square. */
#include "core/engine.h"
#include "core/rule.h"
#include "grid/ring.h"

#define QUADTREE_FINEST_SIDE 0x1p-12
#define QUADTREE_HALF_STEPS 9223372036854775808.0 /* on one side of the origin */

enum { QUADTREE_CROWD = 32, QUADTREE_SPARSE = 16 }; /* entities: a leaf of more splits, quadrants of no more merge */
enum { QUADTREE_TOP = 64 };                         /* most levels */

typedef struct quad_reach { /* of nodes, on either axis, rounded to the safe side; of none least > most */
    float least, most;
} quad_reach;

typedef struct quad_item {
    double at[2];
    uint32_t entity, node; /* node: the first that is taken of those that it carries, or AOI_NONE */
    quad_reach reach;
} quad_item;

typedef struct quad {
    uint64_t corner[2]; /* the lower one, in steps; the side is 2^level */
    quad_reach reach;
    quad_item *items;           /* of a leaf */
    uint32_t cap, count, crowd; /* crowd: at more it is split */
    uint32_t child[4];          /* AOI_NONE where there is none */
    uint32_t parent;            /* of a free one the next */
    uint8_t level;
    bool leaf;
} quad;

typedef struct quadtree {
    aoi_engine head;
    double inverse; /* steps in a unit of length */
    quad *quads;
    uint32_t cap, top, used, unused, root;
    aoi_standing *places; /* of each entity its leaf, and its item there */
    uint32_t place_cap;
} quadtree;

static const quad_reach quad_reaches_nothing = {INFINITY, -INFINITY};

static quadtree *quadtree_of(aoi_engine *g) {
    return (quadtree *)(void *)g;
}

/* ---- squares ----------------------------------------------------------------------------------------------------- */

/* Monotonic: comparing steps never contradicts comparing coordinates. */
static uint64_t quad_step_of(const quadtree *g, double v) {
    const uint64_t middle = UINT64_C(1) << 63;
    double k = v * g->inverse;
    if (k >= -QUADTREE_HALF_STEPS && k < QUADTREE_HALF_STEPS) {
        int64_t i = (int64_t)k;
        return (uint64_t)(i - (k < (double)i)) + middle; /* floor */
    }
    return k > 0 ? UINT64_MAX : k < 0 ? 0 : middle; /* 0 times infinity: not a number */
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

/* A leaf of this level around a place; AOI_NONE when memory is refused. */
static uint32_t quad_new(quadtree *g, uint64_t x, uint64_t y, int level, uint32_t parent) {
    uint32_t i = g->unused;
    if (i != AOI_NONE) g->unused = g->quads[i].parent;
    else if (AOI_GROW(&g->head.world->memory, g->quads, g->cap, g->top + (size_t)1)) i = g->top++;
    else return AOI_NONE;
    g->quads[i] = (quad){.corner = {x & ~quad_last_of(level), y & ~quad_last_of(level)},
                         .reach = quad_reaches_nothing,
                         .crowd = QUADTREE_CROWD,
                         .child = {AOI_NONE, AOI_NONE, AOI_NONE, AOI_NONE},
                         .parent = parent,
                         .level = (uint8_t)level,
                         .leaf = true};
    g->used++;
    return i;
}

static void quad_free(quadtree *g, uint32_t i) {
    quad *k = g->quads + i;
    AOI_CLEAR(&g->head.world->memory, k->items, k->cap);
    k->count = 0;
    k->level = UINT8_MAX;
    k->parent = g->unused;
    g->unused = i;
    g->used--;
}

/* A square around the root becomes the root; a leaf takes it up itself. */
static bool quadtree_raise_root(quadtree *g) {
    uint32_t was = g->root, i = was;
    const quad old = g->quads[was];
    if (!old.leaf && (i = quad_new(g, old.corner[0], old.corner[1], old.level + 1, AOI_NONE)) == AOI_NONE) return false;
    quad *k = g->quads + i;
    if (i == was) {
        for (int a = 0; a < 2; a++) k->corner[a] &= ~quad_last_of(old.level + 1);
        k->level++;
        return true;
    }
    k->leaf = false;
    k->reach = old.reach;
    k->child[quad_quadrant(k, old.corner[0], old.corner[1])] = was;
    g->quads[was].parent = g->root = i;
    return true;
}

/* The leaf of a place, made if it is missing, with room for one more; AOI_NONE when memory is refused. */
static uint32_t quadtree_reserve(quadtree *g, const double *at) {
    uint64_t x = quad_step_of(g, at[0]), y = quad_step_of(g, at[1]);
    if (g->root == AOI_NONE && (g->root = quad_new(g, x, y, 0, AOI_NONE)) == AOI_NONE) return AOI_NONE;
    while (!quad_holds(g->quads + g->root, x, y))
        if (!quadtree_raise_root(g)) return AOI_NONE;
    uint32_t i = g->root;
    while (!g->quads[i].leaf) {
        int d = quad_quadrant(g->quads + i, x, y), level = g->quads[i].level - 1;
        uint32_t next = g->quads[i].child[d];
        if (next == AOI_NONE) {
            if ((next = quad_new(g, x, y, level, i)) == AOI_NONE) return AOI_NONE;
            g->quads[i].child[d] = next;
        }
        i = next;
    }
    quad *k = g->quads + i;
    return AOI_GROW(&g->head.world->memory, k->items, k->cap, k->count + (size_t)1) ? i : AOI_NONE;
}

/* ---- reaches ----------------------------------------------------------------------------------------------------- */

static void quad_include(quad_reach *all, quad_reach r) {
    all->least = r.least < all->least ? r.least : all->least;
    all->most = r.most > all->most ? r.most : all->most;
}

static bool quad_same_reach(quad_reach a, quad_reach b) {
    return a.least == b.least && a.most == b.most;
}

static quad_reach quad_reach_of_box(const double *reach) {
    double least = fmin(reach[0], reach[1]) * (1 - 0x1p-20), most = fmax(reach[0], reach[1]) * (1 + 0x1p-20) + 1e-37;
    return (quad_reach){least > FLT_MAX ? FLT_MAX : (float)least, most > FLT_MAX ? INFINITY : (float)most};
}

static uint32_t quad_next_taken(const aoi_world *w, uint32_t n) {
    while (n != AOI_NONE && !w->nodes[n].part) n = w->nodes[n].next;
    return n;
}

static quad_reach quad_reach_of(const aoi_world *w, uint32_t first) {
    quad_reach all = quad_reaches_nothing;
    for (uint32_t n = first; n != AOI_NONE; n = quad_next_taken(w, w->nodes[n].next))
        quad_include(&all, quad_reach_of_box(w->nodes[n].reach));
    return all;
}

static quad_reach quad_measure(const quadtree *g, const quad *k) {
    quad_reach all = quad_reaches_nothing;
    for (uint32_t i = 0; i < k->count; i++) quad_include(&all, k->items[i].reach);
    for (int d = 0; d < 4; d++)
        if (k->child[d] != AOI_NONE) quad_include(&all, g->quads[k->child[d]].reach);
    return all;
}

/* What is below a square has grown by a node, or has lost some. */
static void quad_widen(quadtree *g, uint32_t i, quad_reach by) {
    for (; i != AOI_NONE; i = g->quads[i].parent) {
        quad_reach was = g->quads[i].reach;
        quad_include(&g->quads[i].reach, by);
        if (quad_same_reach(was, g->quads[i].reach)) return;
    }
}

static void quad_narrow(quadtree *g, uint32_t i) {
    for (; i != AOI_NONE; i = g->quads[i].parent) {
        quad_reach now = quad_measure(g, g->quads + i);
        if (quad_same_reach(now, g->quads[i].reach)) return;
        g->quads[i].reach = now;
    }
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static void quad_append(quadtree *g, uint32_t leaf, const quad_item *item) {
    quad *k = g->quads + leaf;
    g->places[item->entity] = (aoi_standing){leaf, k->count};
    k->items[k->count++] = *item;
}

/* A leaf for each quadrant that has entities; false when memory is refused. */
static bool quad_ready(quadtree *g, uint32_t at, const uint32_t counts[4]) {
    const quad k = g->quads[at];
    uint64_t half = UINT64_C(1) << (k.level - 1);
    for (int d = 0; d < 4; d++) {
        if (!counts[d]) continue;
        uint32_t i = quad_new(g, k.corner[0] + (d & 1 ? half : 0), k.corner[1] + (d & 2 ? half : 0), k.level - 1, at);
        g->quads[at].child[d] = i;
        if (i == AOI_NONE || !AOI_GROW_TO(&g->head.world->memory, g->quads[i].items, g->quads[i].cap, counts[d]))
            return false;
    }
    return true;
}

static void quad_drop_children(quadtree *g, uint32_t at) {
    for (int d = 0; d < 4; d++) {
        if (g->quads[at].child[d] != AOI_NONE) quad_free(g, g->quads[at].child[d]);
        g->quads[at].child[d] = AOI_NONE;
    }
}

static int quad_of_item(const quadtree *g, const quad *k, const quad_item *item) {
    return quad_quadrant(k, quad_step_of(g, item->at[0]), quad_step_of(g, item->at[1]));
}

/* Divides a crowded leaf; where memory is refused, or all are on one spot, it stays as it is until it has doubled. */
static void quad_split(quadtree *g, uint32_t leaf) {
    quad old = g->quads[leaf];
    uint32_t counts[4] = {0};
    bool apart = false;
    g->quads[leaf].crowd = 2 * old.count;
    for (uint32_t i = 0; i < old.count; i++)
        for (int a = 0; a < 2; a++) apart |= quad_step_of(g, old.items[i].at[a]) != quad_step_of(g, old.items[0].at[a]);
    if (!apart) return;
    for (uint32_t i = 0; i < old.count; i++) counts[quad_of_item(g, &old, old.items + i)]++;
    if (!quad_ready(g, leaf, counts)) {
        quad_drop_children(g, leaf);
        return;
    }
    quad *k = g->quads + leaf;
    k->items = NULL;
    k->cap = k->count = 0;
    k->leaf = false;
    for (uint32_t i = 0; i < old.count; i++)
        quad_append(g, k->child[quad_of_item(g, &old, old.items + i)], old.items + i);
    AOI_FREE(&g->head.world->memory, old.items, old.cap);
    for (int d = 0; d < 4; d++) {
        uint32_t i = g->quads[leaf].child[d];
        if (i == AOI_NONE) continue;
        g->quads[i].reach = quad_measure(g, g->quads + i);
        if (counts[d] > QUADTREE_CROWD) quad_split(g, i); /* no deeper than there are levels */
    }
}

static void quadtree_insert(quadtree *g, uint32_t leaf, const quad_item *item) {
    quad_append(g, leaf, item);
    if (item->node != AOI_NONE) quad_widen(g, leaf, item->reach);
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
    if (count > QUADTREE_SPARSE || !AOI_GROW(&g->head.world->memory, k->items, k->cap, count)) return false;
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

static void quadtree_remove(quadtree *g, aoi_standing place) {
    uint32_t i = place.cell;
    quad *k = g->quads + i;
    bool had_nodes = k->items[place.slot].node != AOI_NONE;
    k->items[place.slot] = k->items[--k->count];
    if (place.slot < k->count) g->places[k->items[place.slot].entity].slot = place.slot;
    if (had_nodes) quad_narrow(g, i);
    for (uint32_t up = k->parent; k->count <= QUADTREE_SPARSE && up != AOI_NONE && quad_merge(g, up);)
        up = g->quads[up].parent;
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int quadtree_open(aoi_engine *head, double cell) {
    quadtree *g = quadtree_of(head);
    g->inverse = 1 / (cell > 0 ? cell : QUADTREE_FINEST_SIDE);
    g->root = g->unused = AOI_NONE;
    return AOI_OK;
}

static void quadtree_close(aoi_engine *head) {
    quadtree *g = quadtree_of(head);
    for (uint32_t i = 0; i < g->top; i++) AOI_FREE(&head->world->memory, g->quads[i].items, g->quads[i].cap);
    AOI_CLEAR(&head->world->memory, g->quads, g->cap);
    AOI_CLEAR(&head->world->memory, g->places, g->place_cap);
    g->top = g->used = 0;
    g->root = g->unused = AOI_NONE;
}

static void quadtree_tidy(aoi_engine *head) {
    if (!head->world->entity_count) quadtree_close(head);
}

static int quadtree_enter(aoi_engine *head, uint32_t entity) {
    quadtree *g = quadtree_of(head);
    const double *at = head->world->entities[entity].pos;
    if (!AOI_GROW(&head->world->memory, g->places, g->place_cap, entity + (size_t)1)) return AOI_ENOMEM;
    uint32_t leaf = quadtree_reserve(g, at);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    quadtree_insert(g, leaf, &(quad_item){{at[0], at[1]}, entity, AOI_NONE, quad_reaches_nothing});
    return AOI_OK;
}

static void quadtree_leave(aoi_engine *head, uint32_t entity) {
    quadtree_remove(quadtree_of(head), quadtree_of(head)->places[entity]);
}

static quad_item *quadtree_item(const quadtree *g, uint32_t entity) {
    return g->quads[g->places[entity].cell].items + g->places[entity].slot;
}

/* The record has the old bounds, or it is not in its owner's chain yet. */
static int quadtree_set_node(aoi_engine *head, uint32_t node, const aoi_bounds *b) {
    quadtree *g = quadtree_of(head);
    aoi_node_record *n = head->world->nodes + node;
    quad_item *item = quadtree_item(g, n->owner);
    if (!n->part) {
        n->part = 1;
        uint32_t first = head->world->entities[n->owner].nodes;
        item->node = quad_next_taken(head->world, n->next == first ? node : first); /* a new one will come first */
    }
    quad_include(&item->reach, quad_reach_of_box(b->reach)); /* narrowed when something leaves */
    quad_widen(g, g->places[n->owner].cell, item->reach);
    return AOI_OK;
}

static void quadtree_remove_node(aoi_engine *head, uint32_t node) {
    quadtree *g = quadtree_of(head);
    aoi_node_record *n = head->world->nodes + node;
    n->part = 0;
    quad_item *item = quadtree_item(g, n->owner);
    item->node = quad_next_taken(head->world, head->world->entities[n->owner].nodes);
    item->reach = quad_reach_of(head->world, item->node);
    quad_narrow(g, g->places[n->owner].cell);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

typedef struct quad_step { /* of the mover */
    const quadtree *g;
    uint32_t entity, first; /* first: of its own nodes */
    const double *from, *to;
    const double *ends[2]; /* the places that are looked at now: both, or one of a jump twice */
    unsigned wanted;       /* bit 1: pairs inside before alone; bit 2: after alone */
    bool solid;            /* heights change */
    quad_reach own;
    double safe; /* more than what is rounded */
} quad_step;

static inline unsigned quad_inside(const aoi_world *w, uint32_t node, const double *at, const double *t) {
    unsigned outside = aoi_lanes_outside(at, t, w->nodes[node].reach);
    return !outside && (w->dims < 3 || aoi_in_side(at[2], t[2], aoi_height_of(w, node)));
}

/* Whether the entity may be seen anew, or no more, by its place, own reaches and those of the mover. */
static inline bool quad_is_near(const quad_step *s, const quad_item *item) {
    double before = aoi_apart(item->at, s->from), after = aoi_apart(item->at, s->to);
    double near = before < after ? before : after, far = before < after ? after : before;
    double least = s->own.least < item->reach.least ? s->own.least : item->reach.least;
    double most = s->own.most > item->reach.most ? s->own.most : item->reach.most;
    return (near <= most + s->safe) & ((far >= least - s->safe) | s->solid);
}

static void quad_visit_leaf(const quad_step *s, const quad *k) {
    aoi_world *w = s->g->head.world;
    uint64_t kind = w->entities[s->entity].kind;
    for (uint32_t i = 0; i < k->count; i++) {
        const quad_item *item = k->items + i;
        if (!quad_is_near(s, item) || item->entity == s->entity) continue;
        const double *at = w->dims == 3 ? w->entities[item->entity].pos : item->at;
        for (uint32_t n = s->first; n != AOI_NONE; n = quad_next_taken(w, w->nodes[n].next)) {
            unsigned inside = quad_inside(w, n, s->from, at) | quad_inside(w, n, s->to, at) << 1;
            if (s->wanted >> inside & 1 && aoi_may_see(w->nodes + n, w->entities[item->entity].kind))
                aoi_add_candidate(w, n, item->entity);
        }
        for (uint32_t n = item->node; n != AOI_NONE; n = quad_next_taken(w, w->nodes[n].next)) {
            unsigned inside = quad_inside(w, n, at, s->from) | quad_inside(w, n, at, s->to) << 1;
            if (s->wanted >> inside & 1 && aoi_may_see(w->nodes + n, kind)) aoi_add_candidate(w, n, s->entity);
        }
    }
    w->steps += k->count;
}

/* The steps between which something may change by nodes of these reaches, and those between which everybody is inside
 * before and after: hole[1] < hole[0]: there are none. */
typedef struct quad_window {
    uint64_t reached[2][2], hole[2][2]; /* by axis: first and last */
    bool empty;
} quad_window;

static quad_window quad_window_of(const quad_step *s, quad_reach reach) {
    quad_window v = {.hole = {{1, 0}, {1, 0}}};
    quad_include(&reach, s->own);
    v.empty = !(reach.most >= 0); /* nobody watches */
    for (int a = 0; a < 2 && !v.empty; a++) {
        double low = fmin(s->ends[0][a], s->ends[1][a]), high = fmax(s->ends[0][a], s->ends[1][a]);
        double first = high - reach.least + s->safe, last = low + reach.least - s->safe;
        v.reached[a][0] = quad_step_of(s->g, low - reach.most - s->safe);
        v.reached[a][1] = quad_step_of(s->g, high + reach.most + s->safe);
        if (s->solid || s->wanted != 6 || !(first < last)) continue;
        v.hole[a][0] = quad_step_of(s->g, first);
        v.hole[a][1] = quad_step_of(s->g, last);
    }
    return v;
}

static bool quad_is_in(const quad *k, const quad_window *v) {
    uint64_t side = quad_last_of(k->level), x = k->corner[0], y = k->corner[1];
    bool within = (v->hole[0][0] < x) & (x + side < v->hole[0][1]) & (v->hole[1][0] < y) & (y + side < v->hole[1][1]);
    return (v->reached[0][0] <= x + side) & (x <= v->reached[0][1]) & (v->reached[1][0] <= y + side) &
           (y <= v->reached[1][1]) & !within;
}

/* Most squares reach as far as all do together. */
static void quad_visit(const quad_step *s) {
    const quad *root = s->g->quads + s->g->root;
    uint32_t stack[3 * QUADTREE_TOP + 4], depth = 0;
    const quad_window usual = quad_window_of(s, root->reach);
    stack[depth++] = s->g->root;
    while (depth && !usual.empty) {
        const quad *k = s->g->quads + stack[--depth];
        if (!quad_is_in(k, &usual)) continue;
        if (!quad_same_reach(k->reach, root->reach)) {
            const quad_window own = quad_window_of(s, k->reach);
            if (own.empty || !quad_is_in(k, &own)) continue;
        }
        if (k->leaf) quad_visit_leaf(s, k);
        for (int d = 0; d < 4; d++)
            if (k->child[d] != AOI_NONE) stack[depth++] = k->child[d];
    }
}

static void quadtree_propose(const quadtree *g, uint32_t entity, const double *to) {
    const aoi_world *w = g->head.world;
    const double *from = w->entities[entity].pos;
    double most = g->quads[g->root].reach.most;
    quad_step s = {.g = g, .entity = entity, .from = from, .to = to, .ends = {from, to}, .wanted = 6};
    s.first = quadtree_item(g, entity)->node;
    s.own = quad_reach_of(w, s.first);
    s.solid = w->dims == 3 && from[2] != to[2];
    s.safe = aoi_ring_margin(aoi_magnitude(from) + aoi_magnitude(to) + fmax(most, 0));
    bool jump = aoi_apart(from, to) > most;
    for (int end = 0; end < 2 && jump; end++) {
        s.ends[0] = s.ends[1] = end ? to : from;
        s.wanted = end ? 4 : 2;
        quad_visit(&s);
    }
    if (!jump) quad_visit(&s);
}

/* In the new leaf before it is out of the old one. */
static int quadtree_move(aoi_engine *head, uint32_t entity, const double *to, bool propose) {
    quadtree *g = quadtree_of(head);
    aoi_standing was = g->places[entity];
    quad_item item = *quadtree_item(g, entity);
    if (propose) quadtree_propose(g, entity, to);
    item.at[0] = to[0], item.at[1] = to[1];
    if (quad_holds(g->quads + was.cell, quad_step_of(g, to[0]), quad_step_of(g, to[1]))) {
        *quadtree_item(g, entity) = item;
        return AOI_OK;
    }
    uint32_t leaf = quadtree_reserve(g, to);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    quadtree_insert(g, leaf, &item);
    quadtree_remove(g, was);
    return AOI_OK;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

static void quadtree_stats(const aoi_engine *head, aoi_stats *out) {
    out->cells += ((const quadtree *)(const void *)head)->used;
}

/* Bounds of a square on one axis: what is beyond the outermost step is in it, too. */
static void quad_interval(const quadtree *g, const quad *k, int axis, double *lo, double *hi) {
    uint64_t from = k->corner[axis], last = from + quad_last_of(k->level);
    double begin = (double)(int64_t)(from - (UINT64_C(1) << 63));
    *lo = from == 0 ? (double)-INFINITY : begin / g->inverse;
    *hi = last == UINT64_MAX ? (double)INFINITY : (begin + ldexp(1, k->level)) / g->inverse;
}

static uint32_t quadtree_describe(const aoi_engine *head, aoi_describer *d) {
    const quadtree *g = (const quadtree *)(const void *)head;
    for (uint32_t i = 0; i < g->top; i++) {
        const quad *k = g->quads + i;
        if (k->level > QUADTREE_TOP) continue;
        aoi_part p = {.kind = k->leaf ? AOI_PART_LEAF : AOI_PART_SQUARE, .entities = k->count};
        p.layer = (uint32_t)(g->quads[g->root].level - k->level);
        for (int a = 0; a < 2; a++) quad_interval(g, k, a, p.lo + a, p.hi + a);
        if (!aoi_report_part(d, &p)) continue;
        for (uint32_t s = 0; s < k->count; s++) d->entry(d, 0, AOI_ENTRY_ENTITY, k->items[s].entity);
    }
    return AOI_NONE;
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *quad_check(const quadtree *g, uint32_t i) {
    const aoi_world *w = g->head.world;
    const quad *k = g->quads + i;
    quad_reach all = quad_measure(g, k);
    quad_include(&all, k->reach);
    if (!quad_same_reach(all, k->reach)) return "a square does not reach as far as its nodes";
    for (int d = 0; d < 4; d++) {
        const quad *c = k->child[d] == AOI_NONE ? NULL : g->quads + k->child[d];
        if (c && (k->leaf || c->parent != i || c->level + 1 != k->level || !quad_holds(k, c->corner[0], c->corner[1]) ||
                  quad_quadrant(k, c->corner[0], c->corner[1]) != d))
            return "a square hangs in the wrong place";
    }
    for (uint32_t s = 0; s < k->count; s++) {
        const quad_item *item = k->items + s;
        const aoi_entity_record *e = w->entities + item->entity;
        if (e->pos[0] != item->at[0] || e->pos[1] != item->at[1] || g->places[item->entity].cell != i ||
            g->places[item->entity].slot != s)
            return "an entity is not where its leaf has it";
        if (!quad_holds(k, quad_step_of(g, e->pos[0]), quad_step_of(g, e->pos[1])))
            return "an entity stands in the wrong leaf";
        all = quad_reach_of(w, item->node);
        quad_include(&all, item->reach);
        if (item->node != quad_next_taken(w, e->nodes) || !quad_same_reach(all, item->reach))
            return "a leaf does not know the nodes of an entity";
    }
    return NULL;
}

static const char *quadtree_check(aoi_engine *head) {
    const quadtree *g = quadtree_of(head);
    uint32_t used = 0, count = 0;
    const char *wrong = NULL;
    for (uint32_t i = 0; i < g->top && !wrong; i++) {
        if (g->quads[i].level > QUADTREE_TOP) continue;
        wrong = quad_check(g, i);
        used++;
        count += g->quads[i].count;
    }
    return wrong || (used == g->used && count == head->world->entity_count) ? wrong : "squares are counted wrongly";
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
    .tidy = quadtree_tidy,
    .check = quadtree_check,
    .stats = quadtree_stats,
    .describe = quadtree_describe,
};
