/* list.c - orthogonal (cross) linked lists, cut into tiles.
 *
 *   y |      box of node n
 *     |   +-------------+         x-list:  n<  t   w  u   n>      each entity's point, and the low (<) and high (>) edge
 *     |   |  t       u  |         y-list:  n<  u   w  t   n>      of each node's box, sorted by coordinate
 *     |   |      w      |
 *     |   +-------------+         A point that passes an edge, or an edge a point, is a candidate; nothing else is:
 *     +------------------- x      edges and edges, points and points pass each other in silence.
 *
 * One pair of lists for the whole map (the textbook method) makes everybody pass all who share an x or a y, wherever
 * they are.  So the plane is cut into square tiles, each with lists of its own: a point stands in the lists of its tile,
 * an edge in those of all tiles its side of the box runs through.  One tile is the textbook method: cell = math.huge.
 *
 *   +-------+-------+     Tiles come in levels: sides of 2*4^k, at least 2.5 times the reach of the nodes in them, so that
 *   |   +---|---+   |     a side of a box runs through two tiles at most.  A node stands in one level, an entity in
 *   |   | w |   |   |     every level that has nodes.  Beyond +-2^30 tiles all share the outermost.
 *   +---|---+---|---+
 *
 * A move goes along one axis after the other.  On each leg a pair is proposed if on this axis it comes in or goes out
 * while it is inside on the others (crossings.h).  Moves within the tiles are short strides (move.h), those into
 * the next tile walks; one farther than that is a look around where it left and where it arrived (walks.h).
 * Ties: low edge <= point <= high edge is inside.  What the lists compare is rounded, bounds included: they collect all who
 * are passed, and maybe others close by; the rule is asked about each of them, by positions.  Only points against edges
 * matter: a list is sorted by blocks, and in no order within a block (block_list.h).
 *
 * Cost, d entities in an area: move O(entries passed), usually one or two a list; enter, leave, attach, teleport O(d);
 * memory about 12 bytes an entry: a point has 2 entries a level (3 with height), a node about 7 (13).
 * Method: AOINode lists of MMO servers (sweep and prune in collision detection: Baraff 1992), tiled and unrolled. */
#include <string.h>

#include "engines/list/box_query.h"
#include "engines/list/walks.h"

static aoi_list *self(aoi_engine *g) {
    return (aoi_list *)(void *)g;
}

/* ---- structure --------------------------------------------------------------------------------------------------------------------- */

static int list_open(aoi_engine *head, double cell) {
    aoi_list *g = self(head);
    g->propose = aoi_best_strider();
    g->hint = cell > 0 ? fmax(cell, AOI_LEAST_SIDE) : 0;
    g->chains.moved = aoi_tiles_on_moved;
    g->chains.ud = g;
    return AOI_OK;
}

static void list_close(aoi_engine *head) {
    aoi_list *g = self(head);
    aoi_memory *m = aoi_tiles_memory(g);
    for (int i = 0; i < g->level_count; i++) aoi_tiles_free_level(g, g->levels + g->order[i]);
    aoi_chains_close(m, &g->chains);
    AOI_FREE(m, g->frames, g->frame_cap);
    AOI_FREE(m, g->owners, g->owner_cap);
}

static int list_enter(aoi_engine *head, uint32_t entity) {
    aoi_list *g = self(head);
    const double *pos = head->world->entities[entity].pos;
    if (!g->level_count) { /* with all entities, so with this one */
        if (!aoi_tiles_make_level(g, g->hint > 0 ? g->hint : AOI_DEFAULT_SIDE)) return AOI_ENOMEM;
        g->alike.entities++;
        return AOI_OK;
    }
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_span s = aoi_tiles_span_of_point(y, pos);
        if (!aoi_tiles_spots_ready(g, y, entity + 1) || !aoi_tiles_make(g, y, &s)) return AOI_ENOMEM;
    }
    if (!aoi_chains_reserve(aoi_tiles_memory(g), &g->chains, (uint32_t)(g->level_count * aoi_tiles_dims(g))))
        return AOI_ENOMEM;
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_span s = aoi_tiles_span_of_point(y, pos);
        aoi_tiles_shift_point(g, y, aoi_tiles_finer_than(g, i), AOI_IN, entity, &AOI_NOWHERE, &s, pos);
    }
    g->alike.entities++;
    return AOI_OK;
}

static void list_leave(aoi_engine *head, uint32_t entity) {
    aoi_list *g = self(head);
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_span s = aoi_tiles_span_of_point(y, head->world->entities[entity].pos);
        aoi_tiles_shift_point(g, y, NULL, AOI_OUT, entity, &s, &AOI_NOWHERE, NULL);
    }
    g->alike.entities--;
}

static bool box_ready(aoi_list *g, aoi_level *y, uint32_t node, const double *pos, double reach) {
    aoi_span s = aoi_tiles_span_of_box(y, pos, reach);
    return AOI_GROW(aoi_tiles_memory(g), g->frames, g->frame_cap, ((size_t)node + 1) * aoi_tiles_frame_words(g)) &&
           AOI_GROW(aoi_tiles_memory(g), g->owners, g->owner_cap, (size_t)node + 1) && aoi_tiles_make(g, y, &s) &&
           aoi_chains_reserve(aoi_tiles_memory(g), &g->chains, aoi_tiles_frame_places(g));
}

static void settle(aoi_list *g, aoi_level *y, uint32_t node, double reach) {
    const aoi_world *w = g->head.world;
    uint32_t *frame = aoi_tiles_frame_of(g, node);
    for (uint32_t i = 0; i < aoi_tiles_frame_places(g); i++) frame[i] = AOI_NONE;
    aoi_tiles_shift_box(g, y, AOI_IN, node, 0, NULL, reach, w->entities[w->nodes[node].owner].pos);
    w->nodes[node].level = (uint32_t)(y - g->levels);
    g->owners[node] = w->nodes[node].owner;
    y->nodes++;
    y->idle = 0;
    y->most = fmax(y->most, reach);
    aoi_alike_add(&g->alike, w, node, reach);
}

static int list_attach(aoi_engine *head, uint32_t node) {
    aoi_list *g = self(head);
    const aoi_node_record *n = head->world->nodes + node;
    aoi_level *y = aoi_tiles_level_for(g, n->reach);
    if (!y || !box_ready(g, y, node, head->world->entities[n->owner].pos, n->reach)) return AOI_ENOMEM;
    settle(g, y, node, n->reach);
    return AOI_OK;
}

static void list_detach(aoi_engine *head, uint32_t node) {
    aoi_list *g = self(head);
    const aoi_node_record *n = head->world->nodes + node;
    aoi_level *y = g->levels + n->level;
    aoi_tiles_shift_box(g, y, AOI_OUT, node, n->reach, head->world->entities[n->owner].pos, 0, NULL);
    if (--y->nodes == 0) y->most = 0;
    aoi_alike_remove(&g->alike, head->world, node, n->reach);
}

static int list_resize(aoi_engine *head, uint32_t node, double reach) {
    aoi_list *g = self(head);
    aoi_level *y = aoi_tiles_level_for(g, reach);
    const aoi_node_record *n = head->world->nodes + node;
    if (!y || !box_ready(g, y, node, head->world->entities[n->owner].pos, reach)) return AOI_ENOMEM;
    list_detach(head, node);
    settle(g, y, node, reach);
    return AOI_OK;
}

static bool point_ready(aoi_list *g, const double *to) {
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_span s = aoi_tiles_span_of_point(y, to);
        if (!aoi_tiles_make(g, y, &s)) return false;
    }
    return true;
}

/* Tiles for what changes lists, and blocks for all that moves. */
static bool relocate_ready(aoi_list *g, uint32_t entity, const double *to) {
    const aoi_world *w = g->head.world;
    uint32_t blocks = g->stride.leaving;
    int i = 1;
    if (!g->stride.far) return aoi_chains_reserve(aoi_tiles_memory(g), &g->chains, blocks);
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i++) {
        if (isinf(w->nodes[n].reach) || !aoi_stride_far(&g->stride, i)) continue;
        aoi_level *y = g->levels + w->nodes[n].level;
        aoi_span s = aoi_tiles_span_of_box(y, to, w->nodes[n].reach);
        if (!aoi_tiles_make(g, y, &s)) return false;
        blocks += aoi_tiles_frame_places(g);
    }
    if (g->stride.far & 1) blocks += (uint32_t)(g->level_count * w->dims);
    return aoi_chains_reserve(aoi_tiles_memory(g), &g->chains, blocks) && (!(g->stride.far & 1) || point_ready(g, to));
}

/* Entries change to the lists of other tiles.  All that leave go first: then what fitted before fits again, packed. */
static void relocate_far(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    for (int phase = AOI_OUT; phase <= AOI_IN; phase++) {
        for (int i = 0; (g->stride.far & 1) && i < g->level_count; i++) {
            aoi_level *y = g->levels + g->order[i];
            aoi_span s0 = aoi_tiles_span_of_point(y, from), s1 = aoi_tiles_span_of_point(y, to);
            aoi_tiles_shift_point(g, y, aoi_tiles_finer_than(g, i), phase, entity, &s0, &s1, to);
        }
        int i = 1;
        for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i++)
            if (!isinf(w->nodes[n].reach) && aoi_stride_far(&g->stride, i))
                aoi_tiles_shift_box(g, g->levels + w->nodes[n].level, phase, n, w->nodes[n].reach, from,
                                    w->nodes[n].reach, to);
    }
}

static int list_relocate(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    aoi_list *g = self(head);
    if (head->world->undoing) {
        g->stride.far = UINT32_MAX;
        relocate_far(g, entity, from, to);
        return AOI_OK;
    }
    if (!relocate_ready(g, entity, to)) return AOI_ENOMEM;
    aoi_stride_commit(g);
    if (g->stride.far) relocate_far(g, entity, from, to);
    return AOI_OK;
}

static void list_tidy(aoi_engine *head) {
    aoi_list *g = self(head);
    aoi_alike_tidy(&g->alike, head->world);
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_tiles_tidy(y);
        /* a level without nodes goes once keeping it has cost what dropping it costs */
        if (!y->nodes && g->level_count > 1 && y->idle++ > head->world->entity_top) aoi_tiles_drop_level(g, i--);
    }
}

/* ---- proposals ---------------------------------------------------------------------------------------------------- */

static void list_propose(aoi_engine *head, uint32_t entity, const double *from, const double *to) {
    aoi_list *g = self(head);
    const aoi_world *w = head->world;
    aoi_passed p;
    aoi_passed_begin(&p, head->world, g->owners, entity, from, to);
    aoi_stride_plan(g, entity, from, to);
    p.mate = g->stride.mate;
    g->propose(g, &p);
    if (g->stride.far) {
        for (int i = 0; (g->stride.far & 1) && i < g->level_count; i++)
            if (g->levels[g->order[i]].nodes) aoi_walk_point(g, g->levels + g->order[i], &p);
        int i = 1;
        for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next, i++)
            if (!isinf(w->nodes[n].reach) && aoi_stride_far(&g->stride, i))
                aoi_walk_box(g, g->levels + w->nodes[n].level, n, &p);
    }
    aoi_passed_judge(&p);
}

static void on_found(void *ud, uint32_t slot) {
    aoi_found(ud, slot);
}

static void list_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_look_for_targets(self(head), lo, hi, on_found, head->world);
}

static void list_watchers(aoi_engine *head, const double *at) {
    aoi_list *g = self(head);
    for (int i = 0; i < g->level_count; i++)
        aoi_look_for_watchers(g, g->levels + g->order[i], at, on_found, head->world);
}

/* ---- invariants ---------------------------------------------------------------------------------------------------------------------- */

/* The corners of the safe area lie, with the box around them, in the same tiles. */
static bool safe_area_holds(const aoi_list *g, const aoi_level *y, uint32_t node, const aoi_span *box, int32_t tx,
                            int32_t ty) {
    const float *safe = aoi_tiles_safe_of(g, node);
    if (!(safe[0] <= safe[1] && safe[2] <= safe[3])) return true;
    for (int i = 0; i < 2; i++) {
        double at[2] = {safe[i], safe[2 + i]};
        aoi_span s = aoi_tiles_span_of_box(y, at, g->head.world->nodes[node].reach);
        if (memcmp(&s, box, sizeof s) != 0 || aoi_tiles_number(y, at[0]) != tx || aoi_tiles_number(y, at[1]) != ty)
            return false;
    }
    return true;
}

static const char *check_alike(const aoi_list *g) {
    const aoi_world *w = g->head.world;
    aoi_alike a = {.reach = g->alike.reach};
    for (uint32_t e = 0; e < w->entity_top; e++) {
        uint32_t own = 0;
        if (!aoi_alive(w->entities[e].generation)) continue;
        a.entities++;
        for (uint32_t n = w->entities[e].nodes; n != AOI_NONE; n = w->nodes[n].next) {
            if (isinf(w->nodes[n].reach)) continue;
            a.same += w->nodes[n].reach == a.reach;
            a.nodes++;
            a.more += own++ > 0;
        }
    }
    bool good = a.entities == g->alike.entities && a.nodes == g->alike.nodes && a.more == g->alike.more;
    return good && a.same == g->alike.same ? NULL : "who is like whom is counted wrongly";
}

static const char *list_check(aoi_engine *head) {
    aoi_list *g = self(head);
    const aoi_world *w = head->world;
    uint64_t entries = 0, expected = 0;
    const char *wrong = NULL;
    for (int i = 0; i < g->level_count && !wrong; i++)
        wrong = aoi_tiles_check_level(g, g->levels + g->order[i], &entries);
    for (uint32_t e = 0; e < w->entity_top && !wrong; e++)
        for (int i = 0; i < g->level_count && aoi_alive(w->entities[e].generation); i++) {
            const aoi_level *y = g->levels + g->order[i];
            aoi_span s = aoi_tiles_span_of_point(y, w->entities[e].pos);
            for (int a = 0; a < w->dims; a++, expected++)
                if (!aoi_tiles_stands(g, y, &s, a, aoi_ref_of(AOI_POINT, e), w->entities[e].pos[a]))
                    return "a point is lost in the lists";
        }
    for (uint32_t n = 0; n < w->node_top && !wrong; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_alive(r->generation) || isinf(r->reach)) continue;
        const aoi_level *y = g->levels + r->level;
        const double *p = w->entities[r->owner].pos;
        aoi_span box = aoi_tiles_span_of_box(y, p, r->reach);
        if (y->most < r->reach) return "a node is larger than its level knows";
        if (!safe_area_holds(g, y, n, &box, aoi_tiles_number(y, p[0]), aoi_tiles_number(y, p[1])))
            return "a safe area is too large";
        for (int a = 0; a < w->dims; a++)
            for (int side = AOI_LOW; side <= AOI_HIGH; side += AOI_HIGH - AOI_LOW) {
                aoi_span s = aoi_tiles_span_of_edge(&box, a, side);
                if (!aoi_tiles_stands(g, y, &s, a, aoi_ref_of(side, n), aoi_tiles_edge(p, r->reach, a, side)))
                    return "an edge is lost in the lists";
                expected += (uint64_t)(s.x1 - s.x0 + 1) * (uint64_t)(s.y1 - s.y0 + 1);
            }
    }
    if (!wrong && entries != expected) wrong = "the lists hold entries of nobody";
    return wrong ? wrong : check_alike(g);
}

static void list_stats(const aoi_engine *head, aoi_stats *out) {
    const aoi_list *g = (const aoi_list *)(const void *)head;
    out->steps += g->chains.steps;
    for (int i = 0; i < g->level_count; i++) out->cells += g->levels[g->order[i]].used;
    out->levels = (uint64_t)g->level_count;
}

const aoi_engine_class aoi_engine_list = {
    .name = "list",
    .size = sizeof(aoi_list),
    .open = list_open,
    .close = list_close,
    .enter = list_enter,
    .leave = list_leave,
    .attach = list_attach,
    .detach = list_detach,
    .resize = list_resize,
    .relocate = list_relocate,
    .tidy = list_tidy,
    .propose = list_propose,
    .targets = list_targets,
    .watchers = list_watchers,
    .check = list_check,
    .stats = list_stats,
};
