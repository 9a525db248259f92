/* quadtree.c - the quadtree: squares that split where it is crowded and merge where it empties (tree.h).
 *
 *          +---------+         root, from which everything hangs; it grows outwards by a square around it
 *          |         |
 *      +---+---+   +---+       every square knows the classes of the nodes that are carried in it: powers of two of
 *      |   |   |   |   |       their reach.  A huge node is a bit on the path to its owner, and nothing else
 *    . . . . . . . . . .
 *
 * A move sweeps the tree once for each class in use, with the ring (ring_scan.h) in which boxes of that reach may have
 * gained or lost somebody: whoever is hit is asked about by my nodes of that class, and asks with his.  Squares beyond
 * the ring, in its hole, or without such a node are passed over with all that they hold.
 *
 * Cost, k squares on the ring's outline and d entities on it: a move O(classes (k + d)), also out of and into a crowd;
 * enter and leave O(depth + classes (k + d)), attach and detach O(depth), and depth is below 64 whatever the map.
 * Memory: 24 bytes an entity and 72 a square, one for about 10 entities: 35 to 60 bytes an entity, nothing for a node.
 * Method: the bucket PR quadtree (Samet 1984), one summary per square instead of a tree per kind of node. */
#include <math.h>

#include "engines/quadtree/tree.h"

#define FINEST_SIDE 0x1p-12

enum { CLASSES = 32 };

typedef struct size_class {
    double least, most; /* bounds of its nodes' reaches */
    uint32_t count;
    int exponent;
} size_class;

typedef struct quadtree {
    aoi_engine head;
    aoi_quads tree;
    size_class classes[CLASSES];
} quadtree;

static quadtree *self(aoi_engine *g) {
    return (quadtree *)(void *)g;
}

static int quadtree_open(aoi_engine *head, double cell) {
    aoi_quads_open(&self(head)->tree, head->world, cell > 0 ? cell : FINEST_SIDE);
    return AOI_OK;
}

static void quadtree_close(aoi_engine *head) {
    aoi_quads_close(&self(head)->tree);
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

static int quadtree_enter(aoi_engine *head, uint32_t entity) {
    aoi_quads *t = &self(head)->tree;
    const double *at = head->world->entities[entity].pos;
    uint32_t leaf = aoi_quads_ready(t, AOI_NONE, at);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    aoi_quads_put(t, leaf, at, entity, 0);
    return AOI_OK;
}

static void quadtree_leave(aoi_engine *head, uint32_t entity) {
    aoi_quads_take(&self(head)->tree, entity);
}

static int quadtree_relocate(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    aoi_quads *t = &self(head)->tree;
    (void)from;
    if (aoi_quads_stay(t, entity, to)) return AOI_OK;
    uint32_t leaf = aoi_quads_ready(t, head->world->entities[entity].home, to);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    uint32_t classes = aoi_quads_take(t, entity);
    aoi_quads_put(t, leaf, to, entity, classes);
    return AOI_OK;
}

static void quadtree_tidy(aoi_engine *head) {
    aoi_quads_tidy(&self(head)->tree);
}

/* ---- classes of nodes -------------------------------------------------------------------------------------------- */

/* The class of a reach.  Where there are too many, the last is for all of the rest. */
static uint32_t class_of(quadtree *g, double reach) {
    int exponent = -2000;
    uint32_t spare = CLASSES - 1;
    if (reach > 0) frexp(reach, &exponent);
    for (uint32_t c = CLASSES; c-- > 0;) {
        if (g->classes[c].count && g->classes[c].exponent == exponent) return c;
        if (!g->classes[c].count) spare = c;
    }
    if (!g->classes[spare].count) g->classes[spare] = (size_class){reach, reach, 0, exponent};
    return spare;
}

static void join(quadtree *g, uint32_t node, double reach) {
    aoi_node_record *n = g->head.world->nodes + node;
    n->level = class_of(g, reach);
    size_class *c = g->classes + n->level;
    c->count++;
    c->least = fmin(c->least, reach);
    c->most = fmax(c->most, reach);
    aoi_quads_classify(&g->tree, n->owner, UINT32_C(1) << n->level, 0);
}

/* The owner's nodes of a class, one after the other. */
static uint32_t of_class(const aoi_world *w, uint32_t node, uint32_t class) {
    while (node != AOI_NONE && (isinf(w->nodes[node].reach) || w->nodes[node].level != class))
        node = w->nodes[node].next;
    return node;
}

static void quadtree_detach(aoi_engine *head, uint32_t node) {
    quadtree *g = self(head);
    const aoi_world *w = head->world;
    const aoi_node_record *n = w->nodes + node;
    uint32_t same = of_class(w, w->entities[n->owner].nodes, n->level);
    if (same == node) same = of_class(w, n->next, n->level);
    g->classes[n->level].count--;
    if (same == AOI_NONE) aoi_quads_classify(&g->tree, n->owner, 0, UINT32_C(1) << n->level);
}

static int quadtree_attach(aoi_engine *head, uint32_t node) {
    join(self(head), node, head->world->nodes[node].reach);
    return AOI_OK;
}

static int quadtree_resize(aoi_engine *head, uint32_t node, double reach) {
    quadtree_detach(head, node);
    join(self(head), node, reach);
    return AOI_OK;
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

typedef struct asker { /* who wants to know, about nodes of which class */
    aoi_world *world;
    uint32_t entity, mine, class; /* mine: the first of the mover's own */
} asker;

static void on_pair(const void *ud, uint32_t entity, uint32_t classes) {
    const asker *a = ud;
    const aoi_world *w = a->world;
    if (entity == a->entity) return;
    for (uint32_t n = a->mine; n != AOI_NONE; n = of_class(w, w->nodes[n].next, a->class))
        aoi_propose(a->world, n, entity);
    if (!(classes >> a->class & 1)) return;
    for (uint32_t n = w->entities[entity].nodes; (n = of_class(w, n, a->class)) != AOI_NONE; n = w->nodes[n].next)
        aoi_propose(a->world, n, a->entity);
}

static void quadtree_propose(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    quadtree *g = self(head);
    aoi_world *w = head->world;
    const aoi_entity_record *e = w->entities + entity;
    bool height = w->dims == 3 && from[2] != to[2];
    for (uint32_t c = 0; c < CLASSES; c++) {
        if (!g->classes[c].count) continue;
        asker a = {w, entity, of_class(w, e->nodes, c), c};
        uint32_t who = a.mine == AOI_NONE ? UINT32_C(1) << c : 0;
        aoi_ring q[2];
        size_t n = aoi_rings_of_move(from, to, g->classes[c].least, g->classes[c].most, height, q);
        head->steps += aoi_quads_sweep(&g->tree, e->home, q, who, on_pair, &a);
        if (n == 2) head->steps += aoi_quads_sweep(&g->tree, AOI_NONE, q + 1, who, on_pair, &a);
    }
}

static void on_target(const void *ud, uint32_t entity, uint32_t classes) {
    const asker *a = ud;
    (void)classes;
    aoi_found(a->world, entity);
}

static void quadtree_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_ring q = aoi_ring_of_box(lo, hi);
    asker a = {.world = head->world};
    head->steps += aoi_quads_sweep(&self(head)->tree, AOI_NONE, &q, 0, on_target, &a);
}

static void on_watcher(const void *ud, uint32_t entity, uint32_t classes) {
    const asker *a = ud;
    const aoi_world *w = a->world;
    (void)classes;
    for (uint32_t n = w->entities[entity].nodes; (n = of_class(w, n, a->class)) != AOI_NONE; n = w->nodes[n].next)
        aoi_found(a->world, n);
}

static void quadtree_watchers(aoi_engine *head, const double *at) {
    quadtree *g = self(head);
    for (uint32_t c = 0; c < CLASSES; c++) {
        if (!g->classes[c].count) continue;
        aoi_ring q = aoi_ring_of_move(at, at, g->classes[c].most, g->classes[c].most, true);
        asker a = {.world = head->world, .class = c};
        head->steps += aoi_quads_sweep(&g->tree, AOI_NONE, &q, UINT32_C(1) << c, on_watcher, &a);
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *quadtree_check(aoi_engine *head) {
    quadtree *g = self(head);
    const aoi_world *w = head->world;
    const char *wrong = aoi_quads_check(&g->tree);
    uint32_t entities = 0, counts[CLASSES] = {0};
    for (uint32_t e = 0; e < w->entity_top && !wrong; e++) {
        uint32_t classes = 0;
        if (!aoi_alive(w->entities[e].generation)) continue;
        entities++;
        for (uint32_t n = w->entities[e].nodes; n != AOI_NONE; n = w->nodes[n].next) {
            const aoi_node_record *r = w->nodes + n;
            if (isinf(r->reach)) continue;
            if (r->level >= CLASSES || r->reach < g->classes[r->level].least || r->reach > g->classes[r->level].most)
                return "a node is in the wrong class";
            classes |= UINT32_C(1) << r->level;
            counts[r->level]++;
        }
        if (!aoi_quads_has(&g->tree, e)) return "the quadtree has lost an entity";
        if (aoi_quads_classes(&g->tree, e) != classes) return "an entity is wrong about the classes of its nodes";
    }
    for (uint32_t c = 0; c < CLASSES && !wrong; c++)
        if (counts[c] != g->classes[c].count) return "a class counts its nodes wrongly";
    return wrong || entities == g->tree.count ? wrong : "the quadtree counts its entities wrongly";
}

static void quadtree_stats(const aoi_engine *head, aoi_stats *out) {
    const quadtree *g = (const quadtree *)(const void *)head;
    out->cells = g->tree.used;
    for (uint32_t c = 0; c < CLASSES; c++) out->levels += g->classes[c].count > 0;
}

const aoi_engine_class aoi_engine_quadtree = {
    .name = "quadtree",
    .size = sizeof(quadtree),
    .open = quadtree_open,
    .close = quadtree_close,
    .enter = quadtree_enter,
    .leave = quadtree_leave,
    .attach = quadtree_attach,
    .detach = quadtree_detach,
    .resize = quadtree_resize,
    .relocate = quadtree_relocate,
    .tidy = quadtree_tidy,
    .propose = quadtree_propose,
    .targets = quadtree_targets,
    .watchers = quadtree_watchers,
    .check = quadtree_check,
    .stats = quadtree_stats,
};
