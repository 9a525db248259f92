/* quadtree.c - the quadtree: squares that split where it is crowded and merge where it empties (tree.h).
 *
 *          +---------+         root, from which everything hangs; it grows outwards by a square around it
 *          |         |
 *      +---+---+   +---+       every square records the classes of the nodes carried in it: size class by powers of
 *      |   |   |   |   |       two, roundness, kind of border.  A huge node is a bit on the path to its owner, and
 *    . . . . . . . . . .       nothing else
 *
 * A move queries the tree once for each class in use, with the ring (ring.h) in which areas of that class may have
 * changed: an entity that hits is a candidate of the mover's nodes of that class, and the mover one of the entity's.
 * Squares beyond the ring, in its inner region, or without such a node are skipped with all that they hold.
 *
 * Cost, k squares on the ring and d entities on it: a move O(classes (k + d)), also out of and into a crowd; enter and
 * leave O(depth + classes (k + d)), add_node and remove_node O(depth), and depth is below 64 whatever the map.
 * Memory: 16 bytes an entity and 72 a square, one for about 20 entities: 23 to 40 bytes an entity, nothing for a node.
 * Method: the bucket PR quadtree (Samet 1984), one summary per square instead of a tree per kind of node. */
#include "engines/quadtree/tree.h"
#include "engines/shared/owner_box.h"
#include "engines/shared/ring_query.h"

#define QUADTREE_FINEST_SIDE 0x1p-12

enum { QUADTREE_CLASSES = 32, QUADTREE_RARE = 64 }; /* of so many entities one carries a node of a rare class */
enum { QUADTREE_GROWTHS = 64 };                     /* of a class's box, before it is measured anew */

typedef struct quadtree_class {
    aoi_borders borders; /* of all of its nodes */
    uint32_t count;
    int exponent[2], kind;
    bool idle;         /* all of its nodes are: moves do not ask about them */
    bool mixed;        /* it also has nodes for which no class was left */
    aoi_owner_box box; /* boxed: around the owners of all of its nodes */
} quadtree_class;

typedef struct quadtree {
    aoi_engine head;
    aoi_tree tree;
    quadtree_class classes[QUADTREE_CLASSES];
    uint32_t boxed, unboxed; /* classes that have a box; and rare ones that want one, or one anew */
} quadtree;

static quadtree *quadtree_of(aoi_engine *g) {
    return (quadtree *)(void *)g;
}

static int quadtree_open(aoi_engine *head, double cell) {
    aoi_tree_open(&quadtree_of(head)->tree, head->world, cell > 0 ? cell : QUADTREE_FINEST_SIDE);
    return AOI_OK;
}

static void quadtree_close(aoi_engine *head) {
    aoi_tree_close(&quadtree_of(head)->tree);
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

static int quadtree_enter(aoi_engine *head, uint32_t entity) {
    aoi_tree *t = &quadtree_of(head)->tree;
    const double *at = head->world->entities[entity].pos;
    uint32_t leaf = aoi_tree_reserve(t, AOI_NONE, at);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    aoi_tree_insert(t, leaf, at, entity, 0);
    return AOI_OK;
}

static void quadtree_leave(aoi_engine *head, uint32_t entity) {
    aoi_tree_remove(&quadtree_of(head)->tree, entity);
}

/* ---- classes of nodes -------------------------------------------------------------------------------------------- */

static bool quadtree_fits(const quadtree_class *c, const aoi_bounds *b, const aoi_borders *borders) {
    return c->exponent[0] == aoi_size_class(b->reach[0]) && c->exponent[1] == aoi_size_class(b->reach[1]) &&
           c->kind == aoi_borders_kind(borders, b->idle);
}

/* Nodes for which no class is left share the last one, whose ring then is a box without an inner region. */
static void quadtree_mix(quadtree_class *c, const aoi_borders *b) {
    aoi_borders plain = *b;
    c->mixed = true;
    c->idle = false;
    c->borders.round = c->borders.gap = plain.round = plain.gap = false;
    for (int a = 0; a < 2; a++) {
        c->borders.enter_min[a] = plain.enter_min[a] = 0;
        c->borders.enter_max[a] = plain.enter_max[a] = INFINITY;
        c->borders.leave_min[a] = plain.leave_min[a] = 0;
    }
    aoi_borders_include(&c->borders, &plain);
}

/* The class of a node of these bounds, which are included in its borders. */
static uint32_t quadtree_class_for(quadtree *g, const aoi_bounds *b) {
    aoi_borders borders = aoi_borders_of(g->head.world->dims, b);
    uint32_t spare = QUADTREE_CLASSES - 1;
    for (uint32_t c = QUADTREE_CLASSES; c-- > 0;) {
        quadtree_class *y = g->classes + c;
        if (!y->count) spare = c;
        else if (!y->mixed && quadtree_fits(y, b, &borders)) {
            aoi_borders_include(&y->borders, &borders);
            return c;
        }
    }
    quadtree_class *y = g->classes + spare;
    if (y->count) quadtree_mix(y, &borders);
    else
        *y = (quadtree_class){.borders = borders,
                              .exponent = {aoi_size_class(b->reach[0]), aoi_size_class(b->reach[1])},
                              .kind = aoi_borders_kind(&borders, b->idle),
                              .idle = b->idle};
    return spare;
}

/* ---- boxes around the owners of rare nodes --------------------------------------------------------------------------- */

static bool quadtree_is_rare(const quadtree *g, const quadtree_class *y) {
    return y->count < g->tree.count / QUADTREE_RARE;
}

static void quadtree_cover(quadtree *g, uint32_t class, const double *at) {
    quadtree_class *y = g->classes + class;
    (void)aoi_owner_box_cover(&y->box, at);
    uint32_t limit = QUADTREE_GROWTHS + g->head.world->node_top / QUADTREE_GROWTHS; /* measuring looks at all nodes */
    if (y->box.grown < limit) return;
    g->unboxed |= UINT32_C(1) << class; /* most of the box may be empty by now */
    g->head.world->untidy = true;
}

/* An entity's boxes hold a place, too. */
static void quadtree_cover_owner(quadtree *g, uint32_t entity, const double *at) {
    const aoi_world *w = g->head.world;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (aoi_is_bounded(w->nodes + n) && g->boxed >> w->nodes[n].level & 1) quadtree_cover(g, w->nodes[n].level, at);
}

/* Measures the boxes that are wanted; a class that is not rare any more needs none. */
static void quadtree_measure(quadtree *g) {
    const aoi_world *w = g->head.world;
    uint32_t anew = g->unboxed;
    g->unboxed = 0;
    for (uint32_t c = 0; c < QUADTREE_CLASSES; c++) {
        quadtree_class *y = g->classes + c;
        if (!(anew >> c & 1)) continue;
        g->boxed &= ~(UINT32_C(1) << c);
        if (!quadtree_is_rare(g, y)) anew &= ~(UINT32_C(1) << c);
        aoi_owner_box_clear(&y->box);
    }
    g->boxed |= anew;
    for (uint32_t n = 0; anew && n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (aoi_is_live(r->generation) && aoi_is_bounded(r) && anew >> r->level & 1)
            (void)aoi_owner_box_cover(&g->classes[r->level].box, w->entities[r->owner].pos);
    }
    for (uint32_t c = 0; c < QUADTREE_CLASSES; c++)
        if (anew >> c & 1) g->classes[c].box.grown = 0;
}

static void quadtree_tidy(aoi_engine *head) {
    quadtree *g = quadtree_of(head);
    if (g->unboxed) quadtree_measure(g);
    if (g->tree.count) aoi_tree_tidy(&g->tree);
    else aoi_tree_clear(&g->tree);
}

/* Whether no area of a rare class reaches one of the two places: a few nodes far away cost the others no ring. */
static bool quadtree_is_far(quadtree *g, uint32_t class, const double *from, const double *to) {
    const quadtree_class *y = g->classes + class;
    if (!quadtree_is_rare(g, y)) return false;
    if (!(g->boxed >> class & 1)) {
        g->unboxed |= UINT32_C(1) << class;
        g->head.world->untidy = true;
        return false;
    }
    return !aoi_owner_box_reaches(&y->box, y->borders.leave_max, from, to);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void quadtree_settle(quadtree *g, uint32_t node, const aoi_bounds *b) {
    aoi_node_record *n = g->head.world->nodes + node;
    n->level = quadtree_class_for(g, b);
    g->classes[n->level].count++;
    if (g->boxed >> n->level & 1) quadtree_cover(g, n->level, g->head.world->entities[n->owner].pos);
    aoi_tree_classify(&g->tree, n->owner, UINT32_C(1) << n->level, 0);
}

static void quadtree_remove_node(aoi_engine *head, uint32_t node) {
    quadtree *g = quadtree_of(head);
    const aoi_world *w = head->world;
    const aoi_node_record *n = w->nodes + node;
    uint32_t same = aoi_next_in_level(w, w->entities[n->owner].nodes, n->level);
    if (same == node) same = aoi_next_in_level(w, n->next, n->level);
    if (--g->classes[n->level].count == 0) g->boxed &= ~(UINT32_C(1) << n->level);
    if (same == AOI_NONE) aoi_tree_classify(&g->tree, n->owner, 0, UINT32_C(1) << n->level);
}

static int quadtree_add_node(aoi_engine *head, uint32_t node) {
    aoi_bounds b = aoi_bounds_of(head->world, node);
    quadtree_settle(quadtree_of(head), node, &b);
    return AOI_OK;
}

static int quadtree_resize_node(aoi_engine *head, uint32_t node, const aoi_bounds *now) {
    quadtree_remove_node(head, node);
    quadtree_settle(quadtree_of(head), node, now);
    return AOI_OK;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

typedef struct quadtree_query { /* about nodes of one class */
    aoi_world *world;
    uint32_t entity, first, class; /* first: of the mover's own nodes */
    uint64_t kind;                 /* of the mover */
} quadtree_query;

enum { QUADTREE_AHEAD = 4 }; /* hits whose nodes are prefetched */

static void quadtree_visit_pairs(const void *ud, const aoi_tree_hit *hits, size_t count) {
    const quadtree_query *q = ud;
    aoi_world *w = q->world;
    for (size_t i = 0; i < count; i++) {
        uint32_t entity = hits[i].entity;
        const aoi_entity_record *e = w->entities + entity;
        if (i + QUADTREE_AHEAD < count) aoi_prefetch_node(w, w->entities[hits[i + QUADTREE_AHEAD].entity].nodes);
        if (entity == q->entity) continue;
        aoi_add_candidates(w, q->first, q->class, entity, e->kind);
        if (hits[i].classes >> q->class & 1)
            aoi_add_candidates(w, aoi_next_in_level(w, e->nodes, q->class), q->class, q->entity, q->kind);
    }
}

static void quadtree_find_candidates(quadtree *g, uint32_t entity, const double *to) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    bool solid = w->dims == 3 && e->pos[2] != to[2];
    for (uint32_t c = 0; c < QUADTREE_CLASSES; c++) {
        const quadtree_class *y = g->classes + c;
        if (!y->count || y->idle) continue;
        quadtree_query q = {w, entity, aoi_next_in_level(w, e->nodes, c), c, e->kind};
        uint32_t classes = q.first == AOI_NONE ? UINT32_C(1) << c : 0;
        if (classes && quadtree_is_far(g, c, e->pos, to)) continue;
        aoi_scan scans[2];
        size_t n = aoi_scans_of_move(e->pos, to, &y->borders, solid, scans);
        g->head.steps += aoi_tree_query(&g->tree, e->home, scans, classes, quadtree_visit_pairs, &q);
        if (n == 2) g->head.steps += aoi_tree_query(&g->tree, AOI_NONE, scans + 1, classes, quadtree_visit_pairs, &q);
    }
}

static int quadtree_place(aoi_engine *head, uint32_t entity, const double *to) {
    aoi_tree *t = &quadtree_of(head)->tree;
    if (quadtree_of(head)->boxed) quadtree_cover_owner(quadtree_of(head), entity, to);
    if (aoi_tree_update(t, entity, to)) return AOI_OK;
    uint32_t leaf = aoi_tree_reserve(t, head->world->entities[entity].home, to);
    if (leaf == AOI_NONE) return AOI_ENOMEM;
    uint32_t classes = aoi_tree_remove(t, entity);
    aoi_tree_insert(t, leaf, to, entity, classes);
    return AOI_OK;
}

static int quadtree_move(aoi_engine *head, uint32_t entity, const double *to) {
    uint32_t had = head->world->candidate_count;
    quadtree_find_candidates(quadtree_of(head), entity, to);
    int result = quadtree_place(head, entity, to);
    if (result != AOI_OK) head->world->candidate_count = had;
    return result;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void quadtree_visit_targets(const void *ud, const aoi_tree_hit *hits, size_t count) {
    const quadtree_query *q = ud;
    for (size_t i = 0; i < count; i++) aoi_add_hit(q->world, hits[i].entity);
}

static void quadtree_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_scan scan = aoi_scan_of_box(lo, hi);
    quadtree_query q = {.world = head->world};
    head->steps += aoi_tree_query(&quadtree_of(head)->tree, AOI_NONE, &scan, 0, quadtree_visit_targets, &q);
}

static void quadtree_visit_watchers(const void *ud, const aoi_tree_hit *hits, size_t count) {
    const quadtree_query *q = ud;
    const aoi_world *w = q->world;
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = w->entities[hits[i].entity].nodes; (n = aoi_next_in_level(w, n, q->class)) != AOI_NONE;
             n = w->nodes[n].next)
            aoi_add_hit(q->world, n);
}

static void quadtree_watchers(aoi_engine *head, const double *at, bool idle) {
    quadtree *g = quadtree_of(head);
    for (uint32_t c = 0; c < QUADTREE_CLASSES; c++) {
        if (!g->classes[c].count || (g->classes[c].idle && !idle)) continue;
        aoi_scan scan[2];
        (void)aoi_scans_of_move(at, at, &g->classes[c].borders, true, scan);
        quadtree_query q = {.world = head->world, .class = c};
        head->steps += aoi_tree_query(&g->tree, AOI_NONE, scan, UINT32_C(1) << c, quadtree_visit_watchers, &q);
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

/* Counts the nodes of an entity and collects their classes. */
static const char *quadtree_check_nodes(const quadtree *g, uint32_t entity, uint32_t *classes, uint32_t *counts) {
    const aoi_world *w = g->head.world;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_bounded(r)) continue;
        if (r->level >= QUADTREE_CLASSES) return "a node is in no class";
        const quadtree_class *c = g->classes + r->level;
        aoi_bounds b = aoi_bounds_of(w, n);
        aoi_borders borders = aoi_borders_of(w->dims, &b);
        if (c->mixed ? borders.leave_max[0] > c->borders.leave_max[0] || borders.leave_max[1] > c->borders.leave_max[1]
                     : !quadtree_fits(c, &b, &borders) || !aoi_borders_contain(&c->borders, &borders))
            return "a node is in the wrong class";
        if ((g->boxed >> r->level & 1) && !aoi_owner_box_holds(&c->box, w->entities[entity].pos))
            return "a node is beyond the box of its class";
        *classes |= UINT32_C(1) << r->level;
        counts[r->level]++;
    }
    return NULL;
}

static const char *quadtree_check(aoi_engine *head) {
    quadtree *g = quadtree_of(head);
    const aoi_world *w = head->world;
    const char *wrong = aoi_tree_check(&g->tree);
    uint32_t entities = 0, counts[QUADTREE_CLASSES] = {0};
    for (uint32_t e = 0; e < w->entity_top && !wrong; e++) {
        uint32_t classes = 0;
        if (!aoi_is_live(w->entities[e].generation)) continue;
        entities++;
        wrong = quadtree_check_nodes(g, e, &classes, counts);
        if (!wrong && !aoi_tree_has(&g->tree, e)) wrong = "the quadtree has lost an entity";
        if (!wrong && aoi_tree_classes(&g->tree, e) != classes) wrong = "an entity is wrong about its nodes' classes";
    }
    for (uint32_t c = 0; c < QUADTREE_CLASSES && !wrong; c++)
        if (counts[c] != g->classes[c].count) return "a class counts its nodes wrongly";
    return wrong || entities == g->tree.count ? wrong : "the quadtree counts its entities wrongly";
}

static void quadtree_stats(const aoi_engine *head, aoi_stats *out) {
    const quadtree *g = (const quadtree *)(const void *)head;
    out->cells = g->tree.used;
    for (uint32_t c = 0; c < QUADTREE_CLASSES; c++) out->levels += g->classes[c].count > 0;
}

static void quadtree_describe(const aoi_engine *head, aoi_describer *d) {
    aoi_tree_describe(&((const quadtree *)(const void *)head)->tree, d);
}

const aoi_engine_class aoi_engine_quadtree = {
    .name = "quadtree",
    .size = sizeof(quadtree),
    .open = quadtree_open,
    .close = quadtree_close,
    .enter = quadtree_enter,
    .leave = quadtree_leave,
    .add_node = quadtree_add_node,
    .remove_node = quadtree_remove_node,
    .resize_node = quadtree_resize_node,
    .move = quadtree_move,
    .place = quadtree_place,
    .tidy = quadtree_tidy,
    .targets = quadtree_targets,
    .watchers = quadtree_watchers,
    .check = quadtree_check,
    .stats = quadtree_stats,
    .describe = quadtree_describe,
};
