/* tower.c - the lighthouse: every cell has a tower that knows which nodes cover it.
 *
 *       |       |       |
 *   ----+-------+-------+----           each of the cells that a node's box touches has it on the list of its tower,
 *       |  .---------.  |                   edges first   n n n n n | n n n   then those that cover it wholly
 *       |  |    |    |  |
 *   ----+--|----+----|--+----           towers stand where a node reaches; entities are in cells of their own
 *       |  '---------'  |
 *       |       |       |               layer   towers for nodes of about one reach, in cells of 2 to 4 times that
 *   ----+-------+-------+----
 *
 * Nodes that have the mover as a target: within a cell only those whose edges run through it, the head of one list;
 * from cell to cell, those of the list of the cell that it leaves and of the one that it enters.  Targets of the
 * mover's nodes: a ring query around each node over the entities; and where the box has come to touch other cells,
 * their lists change. With a hint cells may be smaller than areas, and whole covers are common.
 *
 * Plain boxes change only where their edges pass.  Other nodes (round ones, those with hysteresis) are on no list: the
 * cells around tell what they may lose or gain (nine_grid.h).
 *
 * Cost, d nodes around a cell: a move O(layers + d) and O(border + entities on it) for each of its nodes, seldom a few
 * towers more; enter and leave O(layers + d) without any query; add_node, remove_node O(t log d), where t, the towers
 * of a node, is 1 to 4, or up to 100 with a hint.  Memory: 40 bytes an entity, 32 + 4 t a node, some 55 a tower: 100 in
 * all for an entity with a node in a crowd, 550 where all are lonely.
 * Method: the lighthouse, or tower, AOI of Chinese MMO servers (pomelo-aoi), with the boxes' edges kept apart. */
#include <string.h>

#include "base/simd.h"
#include "engines/tower/towers.h"

#define TOWER_SIDE 64.0
#define TOWER_LEAST_SIDE 0x1p-10 /* without a hint; finer cells would only narrow the world */
#define TOWER_LEAST_HINT 0x1p-200

enum { TOWER_AHEAD = 12 };

static towers *tower_engine_of(aoi_engine *g) {
    return (towers *)(void *)g;
}

static aoi_memory *tower_memory(towers *g) {
    return &g->head.world->memory;
}

/* ---- towers ------------------------------------------------------------------------------------------------------ */

static uint32_t tower_find(const tower_layer *y, int32_t cx, int32_t cy) {
    uint32_t hash = aoi_cell_hash(cx, cy), at = AOI_SEEK, i;
    while ((i = aoi_index_next(&y->index, hash, &at)) != AOI_NONE)
        if (y->towers[i].cx == cx && y->towers[i].cy == cy) break;
    return i;
}

static tower *tower_at(const tower_layer *y, int32_t cx, int32_t cy) {
    uint32_t i = tower_find(y, cx, cy);
    return i == AOI_NONE ? NULL : y->towers + i;
}

/* Makes sure of a tower there, with room for so many more nodes. */
static bool tower_reserve(aoi_memory *m, tower_layer *y, int32_t cx, int32_t cy, uint32_t more) {
    uint32_t i = tower_find(y, cx, cy);
    if (i == AOI_NONE) {
        if (!aoi_index_reserve(m, &y->index, y->index.count + (size_t)1)) return false;
        if ((i = y->unused) != AOI_NONE) y->unused = y->towers[i].count;
        else if (AOI_GROW(m, y->towers, y->cap, y->top + (size_t)1)) i = y->top++;
        else return false;
        y->towers[i] = (tower){.cx = cx, .cy = cy, .cap = TOWER_FEW};
        aoi_index_add(&y->index, aoi_cell_hash(cx, cy), i);
        y->used++;
        y->empty++;
    }
    tower *t = y->towers + i;
    if (t->count + more <= t->cap) return true;
    uint32_t cap = t->count + t->count / 4 + more;
    uint32_t *list = aoi_resize(m, NULL, 0, cap * sizeof *list);
    if (!list) return false;
    memcpy(list, tower_list(t), t->count * sizeof *list);
    if (t->cap > TOWER_FEW) aoi_resize(m, t->list.many, t->cap * sizeof *list, 0);
    t->list.many = list;
    t->cap = cap;
    return true;
}

/* Both parts of a list are sorted. */
static uint32_t tower_search(const uint32_t *list, uint32_t from, uint32_t to, uint32_t node) {
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (list[mid] < node) from = mid + 1;
        else to = mid;
    }
    return from;
}

static void tower_add(tower_layer *y, tower *t, uint32_t node, bool edge) {
    uint32_t *list = tower_list(t),
             i = edge ? tower_search(list, 0, t->edges, node) : tower_search(list, t->edges, t->count, node);
    if (t->count == 0) y->empty--;
    memmove(list + i + 1, list + i, (t->count++ - i) * sizeof *list);
    list[i] = node;
    t->edges += edge;
}

static void tower_drop(tower_layer *y, tower *t, uint32_t node, bool edge) {
    uint32_t *list = tower_list(t),
             i = edge ? tower_search(list, 0, t->edges, node) : tower_search(list, t->edges, t->count, node);
    memmove(list + i, list + i + 1, (--t->count - i) * sizeof *list);
    t->edges -= edge;
    if (t->count == 0) y->empty++;
}

static void tower_close_layer(aoi_memory *m, tower_layer *y) {
    for (uint32_t i = 0; i < y->top; i++)
        if (y->towers[i].cap > TOWER_FEW) aoi_resize(m, y->towers[i].list.many, y->towers[i].cap * sizeof(uint32_t), 0);
    AOI_FREE(m, y->towers, y->cap);
    aoi_index_free(m, &y->index);
}

/* Whether enough towers without nodes stand there to pay for one walk over all. */
static bool tower_is_untidy(const tower_layer *y) {
    return y->empty >= 32 && y->empty >= y->used / 4;
}

/* Removes towers without nodes. */
static void tower_tidy_layer(aoi_memory *m, tower_layer *y) {
    y->unused = AOI_NONE;
    for (uint32_t i = 0; i < y->top; i++) {
        tower *t = y->towers + i;
        if (tower_exists(t) && t->count == 0) {
            aoi_index_remove(&y->index, aoi_cell_hash(t->cx, t->cy), i);
            if (t->cap > TOWER_FEW) aoi_resize(m, t->list.many, t->cap * sizeof(uint32_t), 0);
            t->cap = 0;
            y->used--;
        }
        if (tower_exists(t)) continue;
        t->count = y->unused;
        y->unused = i;
    }
    y->empty = 0;
}

/* ---- layers and spans -------------------------------------------------------------------------------------------- */

/* A box touches at most 2 cells an axis, or 9 with a hint that wants them small. */
static double tower_side_for(const towers *g, double reach) {
    int r, b, e;
    if (reach == 0) return g->fixed ? g->base : TOWER_SIDE;
    frexp(reach, &r);
    frexp(g->base, &b);
    e = r - b + 2; /* the reach is less than half of the base times 2^e */
    if (!g->fixed) return fmax(ldexp(g->base, e), TOWER_LEAST_SIDE);
    return ldexp(g->base, e > 3 ? e - 3 : 0);
}

static uint32_t tower_layer_for(towers *g, double reach) {
    double side = tower_side_for(g, reach);
    for (uint32_t i = 0; i < g->layer_count; i++)
        if (g->layers[i].side == side) return i;
    if (!AOI_GROW(tower_memory(g), g->layers, g->layer_cap, g->layer_count + (size_t)1)) return AOI_NONE;
    g->layers[g->layer_count] = (tower_layer){.side = side, .inverse = 1 / side, .unused = AOI_NONE};
    return g->layer_count++;
}

/* A node's level: its layer of towers, counted from AOI_NINE_ELSEWHERE. */
static tower_layer *tower_layer_of(const towers *g, uint32_t node) {
    return g->layers + (g->head.world->nodes[node].level - AOI_NINE_ELSEWHERE);
}

static bool tower_lists(const aoi_bounds *b) {
    return b->plain && !b->idle;
}

static inline bool tower_is_listed(const aoi_node_record *n) {
    return aoi_is_bounded(n) && n->level >= AOI_NINE_ELSEWHERE;
}

static int32_t tower_cell_of(const tower_layer *y, double v) {
    return aoi_cell_number(v, y->inverse);
}

static tower_box tower_box_of(const double *at, const double *reach) {
    return (tower_box){{at[0] - reach[0], at[1] - reach[1]}, {at[0] + reach[0], at[1] + reach[1]}};
}

/* The cells that a box touches: cells never contradict coordinates, nothing is rounded away. */
static aoi_span tower_span_of(const tower_layer *y, const tower_box *b) {
    return (aoi_span){tower_cell_of(y, b->lo[0]), tower_cell_of(y, b->lo[1]), tower_cell_of(y, b->hi[0]),
                      tower_cell_of(y, b->hi[1])};
}

static const aoi_span tower_nowhere = {1, 1, 0, 0};
static bool tower_same_span(const aoi_span *a, const aoi_span *b) {
    return a->x0 == b->x0 && a->y0 == b->y0 && a->x1 == b->x1 && a->y1 == b->y1;
}

static bool tower_is_edge(const aoi_span *s, int32_t cx, int32_t cy) {
    return cx == s->x0 || cx == s->x1 || cy == s->y0 || cy == s->y1;
}

/* Room on every tower of the span that is not in `had` already. */
static bool tower_reserve_span(towers *g, tower_layer *y, const aoi_span *s, const aoi_span *had, uint32_t more) {
    for (int32_t cy = s->y0; cy <= s->y1; cy++)
        for (int32_t cx = s->x0; cx <= s->x1; cx++)
            if (!aoi_span_holds(had, cx, cy) && !tower_reserve(tower_memory(g), y, cx, cy, more)) return false;
    return true;
}

/* From one span to another: towers lost, towers gained, and those that it touches otherwise than before. */
static void tower_change_span(tower_layer *y, uint32_t node, const aoi_span *had, const aoi_span *has) {
    for (int32_t cy = had->y0; cy <= had->y1; cy++)
        for (int32_t cx = had->x0; cx <= had->x1; cx++) {
            bool edge = tower_is_edge(had, cx, cy), stays = aoi_span_holds(has, cx, cy);
            if (stays && tower_is_edge(has, cx, cy) == edge) continue;
            tower *t = tower_at(y, cx, cy);
            tower_drop(y, t, node, edge);
            if (stays) tower_add(y, t, node, !edge);
        }
    for (int32_t cy = has->y0; cy <= has->y1; cy++)
        for (int32_t cx = has->x0; cx <= has->x1; cx++)
            if (!aoi_span_holds(had, cx, cy)) tower_add(y, tower_at(y, cx, cy), node, tower_is_edge(has, cx, cy));
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static int tower_open(aoi_engine *head, double cell) {
    towers *g = tower_engine_of(head);
    g->fixed = cell > 0;
    g->base = g->fixed ? fmax(cell, TOWER_LEAST_HINT) : 1;
    aoi_nine_open(&g->around, head, g->fixed && isfinite(cell) ? g->base : 0);
    return AOI_OK;
}

static void tower_close(aoi_engine *head) {
    towers *g = tower_engine_of(head);
    aoi_memory *m = tower_memory(g);
    while (g->layer_count) tower_close_layer(m, g->layers + --g->layer_count);
    AOI_CLEAR(m, g->layers, g->layer_cap);
    AOI_CLEAR(m, g->boxes, g->box_cap);
    aoi_nine_close(&g->around);
}

static int tower_enter(aoi_engine *head, uint32_t entity) {
    return aoi_nine_enter(&tower_engine_of(head)->around, entity) ? AOI_OK : AOI_ENOMEM;
}

static void tower_leave(aoi_engine *head, uint32_t entity) {
    aoi_nine_leave(&tower_engine_of(head)->around, entity);
}

static int tower_set_kind(aoi_engine *head, uint32_t entity, uint64_t kind) {
    return aoi_nine_set_kind(&tower_engine_of(head)->around, entity, kind) ? AOI_OK : AOI_ENOMEM;
}

static void tower_mask_changed(aoi_engine *head, uint32_t node) {
    aoi_nine_mask_changed(&tower_engine_of(head)->around, node);
}

/* The layer for a node of these bounds, all its towers with room; AOI_NONE when memory is refused. */
static uint32_t tower_prepare(towers *g, uint32_t node, const aoi_bounds *bounds, tower_box *b) {
    const aoi_world *w = g->head.world;
    uint32_t level = tower_layer_for(g, fmax(bounds->reach[0], bounds->reach[1]));
    if (level == AOI_NONE || !AOI_GROW(tower_memory(g), g->boxes, g->box_cap, node + (size_t)1)) return AOI_NONE;
    *b = tower_box_of(w->entities[w->nodes[node].owner].pos, bounds->reach);
    aoi_span has = tower_span_of(g->layers + level, b);
    return tower_reserve_span(g, g->layers + level, &has, &tower_nowhere, 1) ? level : AOI_NONE;
}

static void tower_list_node(towers *g, uint32_t node, uint32_t level, const tower_box *b, const double *reach) {
    tower_layer *y = g->layers + level;
    aoi_span has = tower_span_of(y, b);
    g->head.world->nodes[node].level = AOI_NINE_ELSEWHERE + level;
    g->boxes[node] = *b;
    tower_change_span(y, node, &tower_nowhere, &has);
    if (y->count++ == 0) y->least = INFINITY, y->most = 0;
    y->least = fmin(y->least, fmin(reach[0], reach[1]));
    y->most = fmax(y->most, fmax(reach[0], reach[1]));
    if (y->count >= 2 * g->around.tuned) g->head.world->untidy = true; /* the cells around should suit them */
}

static void tower_unlist_node(towers *g, uint32_t node, tower_layer *y) {
    aoi_span had = tower_span_of(y, g->boxes + node);
    tower_change_span(y, node, &had, &tower_nowhere);
    y->count--;
    if (tower_is_untidy(y)) g->head.world->untidy = true;
}

static void tower_remove_node(aoi_engine *head, uint32_t node) {
    towers *g = tower_engine_of(head);
    if (tower_is_listed(head->world->nodes + node)) tower_unlist_node(g, node, tower_layer_of(g, node));
    else aoi_nine_remove_node(&g->around, node);
}

static int tower_add_node(aoi_engine *head, uint32_t node) {
    towers *g = tower_engine_of(head);
    aoi_bounds bounds = aoi_bounds_of(head->world, node);
    tower_box b;
    head->world->nodes[node].level = AOI_NONE;
    if (!tower_lists(&bounds)) return aoi_nine_insert_node(&g->around, node, &bounds) ? AOI_OK : AOI_ENOMEM;
    uint32_t level = tower_prepare(g, node, &bounds, &b);
    if (level == AOI_NONE) return AOI_ENOMEM;
    tower_list_node(g, node, level, &b, bounds.reach);
    return AOI_OK;
}

/* A box may become round, and the other way round: it is in the new index before it is out of the old one. */
static int tower_resize_node(aoi_engine *head, uint32_t node, const aoi_bounds *now) {
    tower_box b;
    towers *g = tower_engine_of(head);
    bool listed = tower_is_listed(head->world->nodes + node);
    if (!tower_lists(now)) {
        if (!listed) return aoi_nine_resize_node(&g->around, node, now) ? AOI_OK : AOI_ENOMEM;
        tower_layer *y = tower_layer_of(g, node);
        if (!aoi_nine_insert_node(&g->around, node, now)) return AOI_ENOMEM;
        tower_unlist_node(g, node, y);
        return AOI_OK;
    }
    uint32_t level = tower_prepare(g, node, now, &b);
    if (level == AOI_NONE) return AOI_ENOMEM;
    tower_remove_node(head, node);
    tower_list_node(g, node, level, &b, now->reach);
    return AOI_OK;
}

static void tower_tidy(aoi_engine *head) {
    towers *g = tower_engine_of(head);
    if (!head->world->entity_count) {
        tower_close(head);
        return;
    }
    for (uint32_t i = 0; i < g->layer_count; i++) {
        if (tower_is_untidy(g->layers + i)) tower_tidy_layer(tower_memory(g), g->layers + i);
        aoi_nine_suit(&g->around, g->layers[i].side / 4, g->layers[i].count);
    }
    aoi_nine_tidy(&g->around);
}

/* ---- candidates of a move ---------------------------------------------------------------------------------------- */

/* 1 if the box contains the point.  Without branches, since the answers cannot be predicted. */
static inline unsigned tower_covers(const tower_box *b, const double *at) {
#ifdef __SSE2__
    const __m128d p = _mm_loadu_pd(at);
    return _mm_movemask_pd(_mm_and_pd(_mm_cmple_pd(_mm_loadu_pd(b->lo), p), _mm_cmple_pd(p, _mm_loadu_pd(b->hi)))) == 3;
#else
    return (unsigned)(b->lo[0] <= at[0]) & (unsigned)(at[0] <= b->hi[0]) & (unsigned)(b->lo[1] <= at[1]) &
           (unsigned)(at[1] <= b->hi[1]);
#endif
}

typedef struct tower_step { /* of the mover; solid: heights change */
    uint32_t entity;
    const double *from, *to;
    bool solid, stays; /* stays: in its cell */
} tower_step;

/* The nodes on a tower's list: where the mover was, those that covered it; where it comes to, those that did not.  One
 * branch an item: bit k of `due` tells what to do with a node that covered it (k & 1) and that covers it (k & 2). */
static void tower_ask_list(towers *g, tower *t, const tower_step *s, bool arriving) {
    aoi_world *w = g->head.world;
    const uint32_t *list = tower_list(t);
    const tower_box *boxes = g->boxes;
    uint64_t kind = w->entities[s->entity].kind;
    uint32_t count = s->stays && !s->solid ? t->edges : t->count;
    unsigned due = s->stays ? 6 : arriving ? 4 : 2;
    if (s->solid && !arriving) due |= 8; /* those that cover it before and after, too */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = list[i];
        if (i + TOWER_AHEAD < count) AOI_PREFETCH(boxes + list[i + TOWER_AHEAD]);
        unsigned k = tower_covers(boxes + n, s->from) | tower_covers(boxes + n, s->to) << 1;
        if (!(due >> k & 1)) continue;
        const aoi_node_record *r = w->nodes + n;
        if (aoi_may_see(r, kind) && r->owner != s->entity) aoi_add_candidate(w, n, s->entity);
    }
    g->head.steps += count;
}

static void tower_find_candidates(towers *g, uint32_t entity, const double *to) {
    aoi_world *w = g->head.world;
    const aoi_entity_record *e = w->entities + entity;
    tower_step s = {entity, e->pos, to, w->dims == 3 && e->pos[2] != to[2], false};
    aoi_nine_propose(&g->around, entity, to);
    for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (tower_is_listed(w->nodes + n)) aoi_nine_propose_box(&g->around, n, e->pos, to);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const tower_layer *y = g->layers + i;
        if (!y->count) continue;
        int32_t x0 = tower_cell_of(y, s.from[0]), y0 = tower_cell_of(y, s.from[1]);
        int32_t x1 = tower_cell_of(y, to[0]), y1 = tower_cell_of(y, to[1]);
        s.stays = x0 == x1 && y0 == y1;
        tower *here = tower_at(y, x0, y0), *there = s.stays ? NULL : tower_at(y, x1, y1);
        if (here) tower_ask_list(g, here, &s, false);
        if (there) tower_ask_list(g, there, &s, true);
    }
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* How many nodes of the owner are in its layer: they may come to the same tower. */
static uint32_t tower_twins_of(const aoi_world *w, uint32_t node) {
    uint32_t count = 0;
    for (uint32_t n = w->entities[w->nodes[node].owner].nodes; n != AOI_NONE; n = w->nodes[n].next)
        count += tower_is_listed(w->nodes + n) && w->nodes[n].level == w->nodes[node].level;
    return count;
}

/* Room on all towers that the entity's nodes come to. */
static bool tower_reserve_move(towers *g, uint32_t entity, const double *to) {
    const aoi_world *w = g->head.world;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!tower_is_listed(w->nodes + n)) continue;
        tower_layer *y = tower_layer_of(g, n);
        tower_box b = tower_box_of(to, w->nodes[n].reach);
        aoi_span had = tower_span_of(y, g->boxes + n), has = tower_span_of(y, &b);
        if (!tower_same_span(&had, &has) && !tower_reserve_span(g, y, &has, &had, tower_twins_of(w, n))) return false;
    }
    return true;
}

static void tower_move_nodes(towers *g, uint32_t entity, const double *to) {
    aoi_world *w = g->head.world;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!tower_is_listed(w->nodes + n)) continue;
        tower_layer *y = tower_layer_of(g, n);
        tower_box b = tower_box_of(to, w->nodes[n].reach);
        aoi_span had = tower_span_of(y, g->boxes + n), has = tower_span_of(y, &b);
        g->boxes[n] = b;
        if (tower_same_span(&had, &has)) continue;
        tower_change_span(y, n, &had, &has);
        if (tower_is_untidy(y)) w->untidy = true;
    }
}

/* Nothing changes before there is room for all. */
static int tower_move(aoi_engine *head, uint32_t entity, const double *to) {
    towers *g = tower_engine_of(head);
    aoi_world *w = head->world;
    uint32_t had = w->candidate_count;
    tower_find_candidates(g, entity, to);
    if (!tower_reserve_move(g, entity, to) || !aoi_nine_relocate(&g->around, entity, to)) {
        w->candidate_count = had;
        return AOI_ENOMEM;
    }
    tower_move_nodes(g, entity, to);
    return AOI_OK;
}

/* ---- whole ticks ------------------------------------------------------------------------------------------------- */

static int tower_place(aoi_engine *head, uint32_t entity, const double *to) {
    towers *g = tower_engine_of(head);
    if (!tower_reserve_move(g, entity, to) || !aoi_nine_relocate(&g->around, entity, to)) return AOI_ENOMEM;
    tower_move_nodes(g, entity, to);
    return AOI_OK;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void tower_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_nine_targets(&tower_engine_of(head)->around, lo, hi);
}

static double tower_nearest(aoi_engine *head, const double *at, double within, size_t count) {
    return aoi_nine_nearest(&tower_engine_of(head)->around, at, within, count);
}

static void tower_watchers(aoi_engine *head, const double *at, bool idle) {
    towers *g = tower_engine_of(head);
    for (uint32_t i = 0; i < g->layer_count; i++) {
        const tower_layer *y = g->layers + i;
        tower *t = y->count ? tower_at(y, tower_cell_of(y, at[0]), tower_cell_of(y, at[1])) : NULL;
        if (!t) continue;
        for (uint32_t k = 0; k < t->count; k++)
            if (tower_covers(g->boxes + tower_list(t)[k], at)) aoi_add_hit(head->world, tower_list(t)[k]);
        head->steps += t->count;
    }
    aoi_nine_watchers(&g->around, at, idle);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *tower_check_layer(towers *g, uint32_t level) {
    tower_layer *y = g->layers + level;
    uint32_t used = 0, empty = 0;
    for (uint32_t i = 0; i < y->top; i++) {
        tower *t = y->towers + i;
        if (!tower_exists(t)) continue;
        used++;
        empty += t->count == 0;
        if (tower_find(y, t->cx, t->cy) != i) return "a tower is not found";
        if (t->edges > t->count || t->count > t->cap) return "a tower counts its nodes wrongly";
        for (uint32_t k = 0; k < t->count; k++) {
            uint32_t n = tower_list(t)[k];
            const aoi_node_record *r = g->head.world->nodes + n;
            if (n >= g->head.world->node_top || !aoi_is_live(r->generation) || !tower_is_listed(r) ||
                r->level - AOI_NINE_ELSEWHERE != level)
                return "a tower knows a node that is not of its layer";
            aoi_span s = tower_span_of(y, g->boxes + n);
            if (!aoi_span_holds(&s, t->cx, t->cy)) return "a tower knows a node that does not reach it";
            if (k > 0 && k != t->edges && tower_list(t)[k - 1] >= n) return "the list of a tower is not sorted";
            if (tower_is_edge(&s, t->cx, t->cy) != (k < t->edges)) return "a tower takes an edge for a whole cover";
        }
    }
    return used == y->used && empty == y->empty ? aoi_index_check(&y->index) : "towers are counted wrongly";
}

static const char *tower_check(aoi_engine *head) {
    towers *g = tower_engine_of(head);
    const aoi_world *w = head->world;
    const char *wrong = aoi_nine_check(&g->around);
    uint64_t known = 0, wanted = 0;
    uint32_t nodes = 0, counted = 0;
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_live(r->generation) || !aoi_is_bounded(r)) continue;
        aoi_bounds bounds = aoi_bounds_of(w, n);
        if (tower_is_listed(r) != tower_lists(&bounds)) return "a node is taken for a plain box, or not for one";
        if (!tower_is_listed(r)) continue;
        tower_box b = tower_box_of(w->entities[r->owner].pos, r->reach);
        const tower_box *has = g->boxes + n;
        if (b.lo[0] != has->lo[0] || b.lo[1] != has->lo[1] || b.hi[0] != has->hi[0] || b.hi[1] != has->hi[1])
            return "a node's box is not where its owner is";
        if (tower_layer_of(g, n)->side != tower_side_for(g, fmax(r->reach[0], r->reach[1])))
            return "a node is in the wrong layer";
        aoi_span s = tower_span_of(tower_layer_of(g, n), &b);
        wanted += (uint64_t)(s.x1 - s.x0 + 1) * (uint64_t)(s.y1 - s.y0 + 1);
        nodes++;
    }
    for (uint32_t i = 0; i < g->layer_count && !wrong; i++) {
        wrong = tower_check_layer(g, i);
        counted += g->layers[i].count;
        for (uint32_t k = 0; k < g->layers[i].top; k++)
            if (tower_exists(g->layers[i].towers + k)) known += g->layers[i].towers[k].count;
    }
    /* what is on a list is right, and no node is twice on one: if they are as many as they should be, all are there */
    return wrong || (known == wanted && nodes == counted) ? wrong : "a tower does not know a node";
}

static void tower_stats(const aoi_engine *head, aoi_stats *out) {
    const towers *g = (const towers *)(const void *)head;
    aoi_nine_stats(&g->around, out);
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
    .add_node = tower_add_node,
    .remove_node = tower_remove_node,
    .resize_node = tower_resize_node,
    .set_kind = tower_set_kind,
    .mask_changed = tower_mask_changed,
    .move = tower_move,
    .place = tower_place,
    .tidy = tower_tidy,
    .targets = tower_targets,
    .watchers = tower_watchers,
    .nearest = tower_nearest,
    .check = tower_check,
    .stats = tower_stats,
    .describe = aoi_towers_describe,
};
