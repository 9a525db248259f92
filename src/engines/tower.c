/* tower.c - the lighthouse: every cell has a tower that knows which nodes cover it.
 *
 *       |       |       |
 *   ----+-------+-------+----           each of the cells that a node's box touches has it on the list of its tower,
 *       |  .---------.  |                   edges first   n n n n n | n n n   then those that cover it wholly
 *       |  |    |    |  |
 *   ----+--|----+----|--+----           towers stand where a node reaches; entities in cells of their own, points.h
 *       |  '---------'  |
 *       |       |       |               layer   towers for nodes of about one reach, in cells of 2 to 4 times that
 *   ----+-------+-------+----
 *
 * Whose nodes gain or lose me?  Within a cell only those whose edges run through it: the head of one list.  From cell
 * to cell, those of the list that I leave and of the list that I come to: between the two it does not matter where I
 * was.  Whom do my nodes gain or lose?  A sweep of their outlines over the entities; and where the box has come to
 * touch other cells, their towers are told.  With a hint cells may be smaller than areas, and whole covers are common.
 *
 * Cost, d nodes around a cell: a move O(layers + d) and O(outline + entities on it) for each of its nodes, seldom a few
 * towers more; enter and leave O(layers + d) without any sweep; attach, detach and resize O(t log d), and t, the towers
 * of a node, is 1 to 4, or up to 100 with a hint.  Memory: 40 bytes an entity, 32 + 4 t a node, some 55 a tower: 100 in
 * all for an entity with a node in a crowd, 550 where all are lonely.
 * Method: the lighthouse, or tower, AOI of Chinese MMO servers (pomelo-aoi), with the boxes' edges kept apart. */
#include <math.h>
#include <string.h>

#include "engines/shared/points.h"
#include "engines/shared/ring_query.h"

#define DEFAULT_SIDE 64.0
#define LEAST_SIDE 0x1p-10 /* without a hint; finer cells would only narrow the world */
#define LEAST_HINT 0x1p-200

enum { FEW = 2, AHEAD = 12 };

typedef struct tower {
    int32_t cx, cy;
    union {
        uint32_t *many;
        uint32_t few[FEW]; /* a lonely node costs no block of its own */
    } list;
    uint32_t count, cap, edges;
} tower;

typedef struct layer {
    double side, inverse;
    tower *towers;
    uint32_t cap, top, unused, used, empty; /* used: those that exist; empty: those of them that nobody covers */
    uint32_t count;                         /* nodes */
    aoi_index index;
} layer;

typedef struct box { /* of a node, bounds as in the rule: all that a list of nodes is asked for */
    double lo[2], hi[2];
} box;

typedef struct towers {
    aoi_engine head;
    double base; /* sides are this times a power of two */
    bool fixed;  /* by the `cell` hint */
    aoi_cells points;
    const aoi_sweeper *sweeper;
    layer *layers;
    uint32_t layer_cap, layer_count;
    box *boxes; /* by slot of node */
    uint32_t box_cap;
    uint32_t tuned; /* nodes in the layer that chose the side of `points` */
} towers;

static towers *self(aoi_engine *g) {
    return (towers *)(void *)g;
}

static aoi_memory *memory_of(towers *g) {
    return &g->head.world->memory;
}

/* ---- towers ------------------------------------------------------------------------------------------------------ */

static uint32_t *list_of(tower *t) {
    return t->cap > FEW ? t->list.many : t->list.few;
}

static bool exists(const tower *t) {
    return t->cap > 0;
}

static uint32_t find_tower(const layer *y, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_index_next(&y->index, hash, &at)) != AOI_NONE)
        if (y->towers[i].cx == cx && y->towers[i].cy == cy) break;
    return i;
}

static tower *tower_at(const layer *y, int32_t cx, int32_t cy) {
    uint32_t i = find_tower(y, cx, cy);
    return i == AOI_NONE ? NULL : y->towers + i;
}

/* Makes sure of a tower there, with room for so many more nodes. */
static bool make_ready(aoi_memory *m, layer *y, int32_t cx, int32_t cy, uint32_t more) {
    uint32_t i = find_tower(y, cx, cy);
    if (i == AOI_NONE) {
        if (!aoi_index_reserve(m, &y->index, y->index.count + (size_t)1)) return false;
        if ((i = y->unused) != AOI_NONE) y->unused = y->towers[i].count;
        else if (AOI_GROW(m, y->towers, y->cap, y->top + (size_t)1)) i = y->top++;
        else return false;
        y->towers[i] = (tower){.cx = cx, .cy = cy, .cap = FEW};
        aoi_index_add(&y->index, aoi_cell_hash(cx, cy), i);
        y->used++;
        y->empty++;
    }
    tower *t = y->towers + i;
    if (t->count + more <= t->cap) return true;
    uint32_t cap = t->count + t->count / 4 + more;
    uint32_t *list = aoi_resize(m, NULL, 0, cap * sizeof *list);
    if (!list) return false;
    memcpy(list, list_of(t), t->count * sizeof *list);
    if (t->cap > FEW) aoi_resize(m, t->list.many, t->cap * sizeof *list, 0);
    t->list.many = list;
    t->cap = cap;
    return true;
}

/* Both parts of a list are sorted: what was done and taken back has left no trace in it. */
static uint32_t place_of(const uint32_t *list, uint32_t from, uint32_t to, uint32_t node) {
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (list[mid] < node) from = mid + 1;
        else to = mid;
    }
    return from;
}

static void add(layer *y, tower *t, uint32_t node, bool edge) {
    uint32_t *list = list_of(t),
             i = edge ? place_of(list, 0, t->edges, node) : place_of(list, t->edges, t->count, node);
    if (t->count == 0) y->empty--;
    memmove(list + i + 1, list + i, (t->count++ - i) * sizeof *list);
    list[i] = node;
    t->edges += edge;
}

static void drop(layer *y, tower *t, uint32_t node, bool edge) {
    uint32_t *list = list_of(t),
             i = edge ? place_of(list, 0, t->edges, node) : place_of(list, t->edges, t->count, node);
    memmove(list + i, list + i + 1, (--t->count - i) * sizeof *list);
    t->edges -= edge;
    if (t->count == 0) y->empty++;
}

static void close_layer(aoi_memory *m, layer *y) {
    for (uint32_t i = 0; i < y->top; i++)
        if (y->towers[i].cap > FEW) aoi_resize(m, y->towers[i].list.many, y->towers[i].cap * sizeof(uint32_t), 0);
    AOI_FREE(m, y->towers, y->cap);
    aoi_index_free(m, &y->index);
}

/* Gives back towers that nobody covers once they are many: many steps pay for one walk over all. */
static void tidy_layer(aoi_memory *m, layer *y) {
    if (y->empty < 32 || y->empty < y->used / 4) return;
    y->unused = AOI_NONE;
    for (uint32_t i = 0; i < y->top; i++) {
        tower *t = y->towers + i;
        if (exists(t) && t->count == 0) {
            aoi_index_remove(&y->index, aoi_cell_hash(t->cx, t->cy), i);
            if (t->cap > FEW) aoi_resize(m, t->list.many, t->cap * sizeof(uint32_t), 0);
            t->cap = 0;
            y->used--;
        }
        if (exists(t)) continue;
        t->count = y->unused;
        y->unused = i;
    }
    y->empty = 0;
}

/* ---- layers and spans -------------------------------------------------------------------------------------------- */

/* A box touches at most 2 cells an axis, or 9 with a hint that wants them small. */
static double side_for(const towers *g, double reach) {
    int r, b, e;
    if (reach == 0) return g->fixed ? g->base : DEFAULT_SIDE;
    frexp(reach, &r);
    frexp(g->base, &b);
    e = r - b + 2; /* the reach is less than half of the base times 2^e */
    if (!g->fixed) return fmax(ldexp(g->base, e), LEAST_SIDE);
    return ldexp(g->base, e > 3 ? e - 3 : 0);
}

static uint32_t make_layer(towers *g, double reach) {
    double side = side_for(g, reach);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (g->layers[i].side == side) return i;
    if (!AOI_GROW(memory_of(g), g->layers, g->layer_cap, g->layer_count + (size_t)1)) return AOI_NONE;
    g->layers[g->layer_count] = (layer){.side = side, .inverse = 1 / side, .unused = AOI_NONE};
    return g->layer_count++;
}

static layer *layer_of(const towers *g, uint32_t node) {
    return g->layers + g->head.world->nodes[node].level;
}

static int32_t cell_of(const layer *y, double v) {
    return aoi_cell_number(v, y->inverse);
}

static box box_of(const double *at, double reach) {
    return (box){{at[0] - reach, at[1] - reach}, {at[0] + reach, at[1] + reach}};
}

/* The cells that a box touches: cells never contradict coordinates, nothing is rounded away. */
static aoi_span span_of(const layer *y, const box *b) {
    return (aoi_span){cell_of(y, b->lo[0]), cell_of(y, b->lo[1]), cell_of(y, b->hi[0]), cell_of(y, b->hi[1])};
}

static const aoi_span nowhere = {1, 1, 0, 0};

static bool same(const aoi_span *a, const aoi_span *b) {
    return a->x0 == b->x0 && a->y0 == b->y0 && a->x1 == b->x1 && a->y1 == b->y1;
}

static bool is_edge(const aoi_span *s, int32_t cx, int32_t cy) {
    return cx == s->x0 || cx == s->x1 || cy == s->y0 || cy == s->y1;
}

/* Room on every tower of the span that is not in `had` already. */
static bool reserve_span(towers *g, layer *y, const aoi_span *s, const aoi_span *had, uint32_t more) {
    for (int32_t cy = s->y0; cy <= s->y1; cy++)
        for (int32_t cx = s->x0; cx <= s->x1; cx++)
            if (!aoi_span_holds(had, cx, cy) && !make_ready(memory_of(g), y, cx, cy, more)) return false;
    return true;
}

/* From one span to another: towers lost, towers gained, and those that it touches otherwise than before. */
static void change_span(layer *y, uint32_t node, const aoi_span *had, const aoi_span *has) {
    for (int32_t cy = had->y0; cy <= had->y1; cy++)
        for (int32_t cx = had->x0; cx <= had->x1; cx++) {
            bool edge = is_edge(had, cx, cy), stays = aoi_span_holds(has, cx, cy);
            if (stays && is_edge(has, cx, cy) == edge) continue;
            tower *t = tower_at(y, cx, cy);
            drop(y, t, node, edge);
            if (stays) add(y, t, node, !edge);
        }
    for (int32_t cy = has->y0; cy <= has->y1; cy++)
        for (int32_t cx = has->x0; cx <= has->x1; cx++)
            if (!aoi_span_holds(had, cx, cy)) add(y, tower_at(y, cx, cy), node, is_edge(has, cx, cy));
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int tower_open(aoi_engine *head, double cell) {
    towers *g = self(head);
    g->fixed = cell > 0;
    g->base = g->fixed ? fmax(cell, LEAST_HINT) : 1;
    g->sweeper = aoi_best_sweeper();
    aoi_cells_open(&g->points, g->fixed ? g->base : DEFAULT_SIDE);
    return AOI_OK;
}

static void tower_close(aoi_engine *head) {
    towers *g = self(head);
    for (uint32_t i = 0; i < g->layer_count; i++) close_layer(memory_of(g), g->layers + i);
    AOI_FREE(memory_of(g), g->layers, g->layer_cap);
    AOI_FREE(memory_of(g), g->boxes, g->box_cap);
    aoi_cells_close(memory_of(g), &g->points);
}

static int tower_enter(aoi_engine *head, uint32_t entity) {
    return aoi_points_put(head->world, &self(head)->points, entity) ? AOI_OK : AOI_ENOMEM;
}

static void tower_leave(aoi_engine *head, uint32_t entity) {
    aoi_points_take(head->world, &self(head)->points, entity);
}

/* Sweeps over entities want cells like the boxes most in use. */
static void tune(towers *g, const layer *y) {
    if (g->fixed || y->count < 2 * g->tuned || y->count < 8) return;
    g->tuned = y->count;
    if (g->points.side != y->side / 2) aoi_points_resize(g->head.world, &g->points, y->side / 2);
}

static void light(towers *g, uint32_t node, uint32_t level, const box *b) {
    layer *y = g->layers + level;
    aoi_span has = span_of(y, b);
    g->head.world->nodes[node].level = level;
    g->boxes[node] = *b;
    change_span(y, node, &nowhere, &has);
    y->count++;
}

static void tower_detach(aoi_engine *head, uint32_t node) {
    towers *g = self(head);
    layer *y = layer_of(g, node);
    aoi_span had = span_of(y, g->boxes + node);
    change_span(y, node, &had, &nowhere);
    y->count--;
}

/* The layer for a node of that reach, all its towers with room; AOI_NONE when memory is refused. */
static uint32_t ready(towers *g, uint32_t node, double reach, box *b) {
    const aoi_world *w = g->head.world;
    uint32_t level = make_layer(g, reach);
    if (level == AOI_NONE || !AOI_GROW(memory_of(g), g->boxes, g->box_cap, node + (size_t)1)) return AOI_NONE;
    *b = box_of(w->entities[w->nodes[node].owner].pos, reach);
    aoi_span has = span_of(g->layers + level, b);
    return reserve_span(g, g->layers + level, &has, &nowhere, 1) ? level : AOI_NONE;
}

static int tower_attach(aoi_engine *head, uint32_t node) {
    towers *g = self(head);
    box b;
    uint32_t level = ready(g, node, head->world->nodes[node].reach, &b);
    if (level == AOI_NONE) return AOI_ENOMEM;
    light(g, node, level, &b);
    tune(g, g->layers + level);
    return AOI_OK;
}

static int tower_resize(aoi_engine *head, uint32_t node, double reach) {
    towers *g = self(head);
    box b;
    uint32_t level = ready(g, node, reach, &b);
    if (level == AOI_NONE) return AOI_ENOMEM;
    tower_detach(head, node);
    light(g, node, level, &b);
    return AOI_OK;
}

/* The owner's nodes in the layer of one of them: they may come to the same tower. */
static uint32_t twins_of(const aoi_world *w, uint32_t node) {
    uint32_t count = 0;
    for (uint32_t n = w->entities[w->nodes[node].owner].nodes; n != AOI_NONE; n = w->nodes[n].next)
        count += !isinf(w->nodes[n].reach) && w->nodes[n].level == w->nodes[node].level;
    return count;
}

/* Nothing changes before there is room for all.  Where a step is taken back, the room of before is still there. */
static int tower_relocate(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    towers *g = self(head);
    aoi_world *w = head->world;
    uint32_t first = w->entities[entity].nodes;
    (void)from;
    for (uint32_t n = w->undoing ? AOI_NONE : first; n != AOI_NONE; n = w->nodes[n].next) {
        if (isinf(w->nodes[n].reach)) continue;
        layer *y = layer_of(g, n);
        box b = box_of(to, w->nodes[n].reach);
        aoi_span had = span_of(y, g->boxes + n), has = span_of(y, &b);
        if (!same(&had, &has) && !reserve_span(g, y, &has, &had, twins_of(w, n))) return AOI_ENOMEM;
    }
    if (!aoi_points_move(w, &g->points, entity, to)) return AOI_ENOMEM;
    for (uint32_t n = first; n != AOI_NONE; n = w->nodes[n].next) {
        if (isinf(w->nodes[n].reach)) continue;
        layer *y = layer_of(g, n);
        box b = box_of(to, w->nodes[n].reach);
        aoi_span had = span_of(y, g->boxes + n), has = span_of(y, &b);
        g->boxes[n] = b;
        if (!same(&had, &has)) change_span(y, n, &had, &has);
    }
    return AOI_OK;
}

static void tower_tidy(aoi_engine *head) {
    towers *g = self(head);
    aoi_cells_tidy(memory_of(g), &g->points);
    for (uint32_t i = 0; i < g->layer_count; i++) tidy_layer(memory_of(g), g->layers + i);
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

/* Without branches, since nobody can foretell the answers. */
static bool covers(const box *b, const double *at) {
    return (b->lo[0] <= at[0]) & (at[0] <= b->hi[0]) & (b->lo[1] <= at[1]) & (at[1] <= b->hi[1]);
}

typedef struct mover {
    aoi_world *world;
    uint32_t entity, node;
} mover;

static void on_point(void *ud, const uint32_t *refs, size_t count) {
    const mover *m = ud;
    for (size_t i = 0; i < count; i++)
        if (refs[i] != m->entity) aoi_propose(m->world, m->node, refs[i]);
}

/* The nodes of a tower that lose the mover, those that gain it, and those that keep it, as asked for. */
static void propose_list(towers *g, uint32_t entity, tower *t, bool edges, const double *from, const double *to,
                         bool losing, bool gaining, bool keeping) {
    const uint32_t *list = list_of(t);
    uint32_t count = edges ? t->edges : t->count;
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) AOI_PREFETCH(g->boxes + list[i + AHEAD]);
        const box *b = g->boxes + list[i];
        bool was = covers(b, from), is = covers(b, to);
        if (!((was != is) | (keeping & was)) || (was && !is && !losing) || (is && !was && !gaining)) continue;
        if (g->head.world->nodes[list[i]].owner != entity) aoi_propose(g->head.world, list[i], entity);
    }
    g->head.steps += count;
}

static void tower_propose(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    towers *g = self(head);
    aoi_world *w = head->world;
    const aoi_entity_record *e = w->entities + entity;
    bool height = w->dims == 3 && from[2] != to[2];
    for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next) {
        double r = w->nodes[n].reach;
        mover m = {w, entity, n};
        aoi_visitor v = {on_point, &m, (uintptr_t)w->entities, (uintptr_t)w->entities};
        if (!isinf(r)) head->steps += g->sweeper->move(&g->points, from, to, height ? 0 : r, r, e->home, &v);
    }
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const layer *y = g->layers + i;
        if (!y->count) continue;
        int32_t x0 = cell_of(y, from[0]), y0 = cell_of(y, from[1]), x1 = cell_of(y, to[0]), y1 = cell_of(y, to[1]);
        bool stays = x0 == x1 && y0 == y1;
        tower *here = tower_at(y, x0, y0), *there = stays ? here : tower_at(y, x1, y1);
        if (here) propose_list(g, entity, here, stays && !height, from, to, true, stays, height);
        if (there && !stays) propose_list(g, entity, there, false, from, to, false, true, false);
    }
}

static void on_found(void *ud, const uint32_t *refs, size_t count) {
    for (size_t i = 0; i < count; i++) aoi_found(ud, refs[i]);
}

static void tower_targets(aoi_engine *head, const double *lo, const double *hi) {
    towers *g = self(head);
    uintptr_t entities = (uintptr_t)head->world->entities;
    head->steps += g->sweeper->box(&g->points, lo, hi, &(aoi_visitor){on_found, head->world, entities, entities});
}

static void tower_watchers(aoi_engine *head, const double *at) {
    towers *g = self(head);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const layer *y = g->layers + i;
        tower *t = y->count ? tower_at(y, cell_of(y, at[0]), cell_of(y, at[1])) : NULL;
        if (!t) continue;
        for (uint32_t k = 0; k < t->count; k++)
            if (covers(g->boxes + list_of(t)[k], at)) aoi_found(head->world, list_of(t)[k]);
        head->steps += t->count;
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *check_layer(towers *g, uint32_t level) {
    layer *y = g->layers + level;
    uint32_t used = 0, empty = 0;
    for (uint32_t i = 0; i < y->top; i++) {
        tower *t = y->towers + i;
        if (!exists(t)) continue;
        used++;
        empty += t->count == 0;
        if (find_tower(y, t->cx, t->cy) != i) return "a tower is not found";
        if (t->edges > t->count || t->count > t->cap) return "a tower counts its nodes wrongly";
        for (uint32_t k = 0; k < t->count; k++) {
            uint32_t n = list_of(t)[k];
            const aoi_node_record *r = g->head.world->nodes + n;
            if (n >= g->head.world->node_top || !aoi_alive(r->generation) || isinf(r->reach) || r->level != level)
                return "a tower knows a node that is not of its layer";
            aoi_span s = span_of(y, g->boxes + n);
            if (!aoi_span_holds(&s, t->cx, t->cy)) return "a tower knows a node that does not reach it";
            if (k > 0 && k != t->edges && list_of(t)[k - 1] >= n) return "the list of a tower is not sorted";
            if (is_edge(&s, t->cx, t->cy) != (k < t->edges)) return "a tower takes an edge for a whole cover";
        }
    }
    return used == y->used && empty == y->empty ? aoi_index_check(&y->index) : "towers are counted wrongly";
}

static const char *tower_check(aoi_engine *head) {
    towers *g = self(head);
    const aoi_world *w = head->world;
    const char *wrong = aoi_points_check(w, &g->points);
    uint64_t known = 0, wanted = 0;
    uint32_t nodes = 0, counted = 0;
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_alive(r->generation) || isinf(r->reach)) continue;
        box b = box_of(w->entities[r->owner].pos, r->reach);
        const box *has = g->boxes + n;
        if (b.lo[0] != has->lo[0] || b.lo[1] != has->lo[1] || b.hi[0] != has->hi[0] || b.hi[1] != has->hi[1])
            return "a node's box is not where its owner is";
        if (layer_of(g, n)->side != side_for(g, r->reach)) return "a node is in the wrong layer";
        aoi_span s = span_of(layer_of(g, n), &b);
        wanted += (uint64_t)(s.x1 - s.x0 + 1) * (uint64_t)(s.y1 - s.y0 + 1);
        nodes++;
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        wrong = check_layer(g, i);
        counted += g->layers[i].count;
        for (uint32_t k = 0; k < g->layers[i].top; k++)
            if (exists(g->layers[i].towers + k)) known += g->layers[i].towers[k].count;
    }
    /* what is on a list is right, and nobody is twice on one: if they are as many as they should be, all are there */
    return wrong || (known == wanted && nodes == counted) ? wrong : "a tower does not know a node";
}

static void tower_stats(const aoi_engine *head, aoi_stats *out) {
    const towers *g = (const towers *)(const void *)head;
    out->cells = g->points.used;
    for (uint32_t i = 0; i < g->layer_count; i++) {
        out->cells += g->layers[i].used;
        out->levels += g->layers[i].count > 0;
    }
}

const aoi_engine_class aoi_engine_tower = {
    .name = "tower",
    .size = sizeof(towers),
    .open = tower_open,
    .close = tower_close,
    .enter = tower_enter,
    .leave = tower_leave,
    .attach = tower_attach,
    .detach = tower_detach,
    .resize = tower_resize,
    .relocate = tower_relocate,
    .tidy = tower_tidy,
    .propose = tower_propose,
    .targets = tower_targets,
    .watchers = tower_watchers,
    .check = tower_check,
    .stats = tower_stats,
};
