/* list.c - orthogonal (cross) linked lists, cut into tiles.
 *
 *   y |      box of node n
 *     |   +-------------+         x-list:  n<  t   w  u   n>      each entity's point, and the low (<) and high (>) edge
 *     |   |  t       u  |         y-list:  n<  u   w  t   n>      of each node's box, sorted by coordinate
 *     |   |      w      |
 *     |   +-------------+         A point that passes an edge, or an edge that passes a point, is a candidate.  Edges
 *     +------------------- x      pass edges, and points pass points, without effect.
 *
 * With one pair of lists for the whole map (the textbook method) an entry passes all that share its x or its y,
 * wherever they are.  So the plane is cut into square tiles with lists of their own: a point stands in the lists of its
 * tile, an edge in those of all tiles that its side of the box crosses.  The textbook method is cell = INFINITY.
 *
 *   +-------+-------+     Tiles come in levels: sides of 2*4^k, at least 2.5 times the reach of the nodes in them, so that
 *   |   +---|---+   |     a side of a box runs through two tiles at most.  A node stands in one level, an entity in
 *   |   | w |   |   |     every level that has nodes.  Beyond +-2^30 tiles all share the outermost.
 *   +---|---+---|---+
 *
 * A list is unrolled: sorted blocks of up to 52 entries, in no order within a block (block_list.h).
 *
 * A move (move.c), in ten lines:
 *   1  usually all of the mover's parts, its point in each level and its nodes, stay in their tiles; then
 *   2  the blocks of their entries are prefetched, then each entry's block is compared with the entry's move, and
 *   3  passed entries are collected: edges if the point moves, points if an edge does
 *   4  the entry's key is changed in place; one that leaves its block's interval is noted
 *   5  memory for all further changes is reserved; if it is refused the old keys are put back
 *   6  noted entries go to another block of their list
 *   7  if some part changes tile nothing is collected: the grid proposes the candidates of this move,
 *   8  and the entries of such parts go to the lists of other tiles
 *   9  collected entries are judged by exact positions: a pair that enters or leaves on this leg of the move, and
 *  10  by the move as a whole, is a candidate, once
 * Ties: low edge <= point <= high edge is inside.
 *
 * Cost, d entities in an area: a move O(entries passed), usually one or two a list; enter, leave, add_node and a jump
 * O(d). Memory: about 12 bytes an entry; a point has 2 entries a level (3 with height), a box about 7 (13). Method:
 * AOINode lists of MMO servers (sweep and prune in collision detection: Baraff 1992), tiled and unrolled. */
#include "engines/list/list.h"

static aoi_list *self(aoi_engine *g) {
    return (aoi_list *)(void *)g;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int list_open(aoi_engine *head, double cell) {
    aoi_list *g = self(head);
    g->hint = cell > 0 ? fmax(cell, AOI_LEAST_SIDE) : 0;
    g->lists.moved = aoi_level_moved;
    g->lists.ud = g;
    g->lists.steps = &head->records->steps;
    return AOI_OK;
}

static void list_close(aoi_engine *head) {
    aoi_list *g = self(head);
    aoi_memory *m = aoi_list_memory(g);
    while (g->level_count) aoi_level_drop(g, 0);
    aoi_pool_close(m, &g->lists.pool);
    AOI_CLEAR(m, g->edges, g->edge_cap);
    AOI_CLEAR(m, g->leaving, g->leaving_cap);
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

static int list_enter(aoi_engine *head, uint32_t entity) {
    aoi_list *g = self(head);
    aoi_memory *m = aoi_list_memory(g);
    int dims = aoi_list_dims(g);
    const double *pos = head->records->entities[entity].pos;
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        if (!AOI_GROW(m, y->point_places, y->place_cap, ((size_t)entity + 1) * (size_t)dims)) return AOI_ENOMEM;
        if (!aoi_point_ready(g, y, pos)) return AOI_ENOMEM;
    }
    if (!aoi_pool_reserve(m, &g->lists.pool, (uint32_t)(g->level_count * dims))) return AOI_ENOMEM;
    for (int i = 0; i < g->level_count; i++) aoi_insert_point(g, g->levels + g->order[i], entity, pos);
    return AOI_OK;
}

static void list_leave(aoi_engine *head, uint32_t entity) {
    aoi_list *g = self(head);
    for (int i = 0; i < g->level_count; i++) aoi_remove_point(g, g->levels + g->order[i], entity);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* A level with room for the edges of this box; NULL when memory is refused. */
static aoi_level *ready_level(aoi_list *g, uint32_t node, const aoi_bounds *b) {
    aoi_memory *m = aoi_list_memory(g);
    const double *pos = g->head.records->entities[g->head.records->nodes[node].owner].pos;
    aoi_level *y = aoi_level_for(g, fmax(b->reach[0], b->reach[1]));
    uint32_t edges = aoi_edge_count(aoi_list_dims(g));
    bool ready = y && AOI_GROW(m, g->edges, g->edge_cap, ((size_t)node + 1) * edges) &&
                 aoi_box_ready(g, y, pos, b->reach) && aoi_pool_reserve(m, &g->lists.pool, edges);
    return ready ? y : NULL;
}

static void insert_edges(aoi_list *g, aoi_level *y, uint32_t node, const aoi_bounds *b) {
    aoi_node_record *n = g->head.records->nodes + node;
    aoi_insert_box(g, y, node, g->head.records->entities[n->owner].pos, b->reach);
    n->part = (uint32_t)(y - g->levels + 1) & 0x7ff;
    y->nodes++;
    y->natives += aoi_level_is_native(g, y, fmax(b->reach[0], b->reach[1]));
    if (aoi_level_has_natives(y, y->nodes)) y->idle = 0;
}

static void list_remove_node(aoi_engine *head, uint32_t node) {
    aoi_list *g = self(head);
    aoi_node_record *n = head->records->nodes + node;
    aoi_level *y = g->levels + aoi_list_level(n);
    aoi_remove_box(g, y, node);
    y->nodes--;
    y->natives -= aoi_level_is_native(g, y, fmax(n->reach[0], n->reach[1]));
    n->part = 0;
}

static int list_set_node(aoi_engine *head, uint32_t node, const aoi_bounds *bounds) {
    aoi_list *g = self(head);
    aoi_level *y = ready_level(g, node, bounds);
    if (!y) return AOI_ENOMEM;
    if (head->records->nodes[node].part) list_remove_node(head, node);
    insert_edges(g, y, node, bounds);
    return AOI_OK;
}

/* Guests go to a level of their own when hardly any node needs the side of this one. */
static void send_guests_home(aoi_list *g, aoi_level *y) {
    const aoi_records *w = g->head.records;
    y->idle = 0;
    for (uint32_t n = 0; n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_live(r->generation) || !r->part || g->levels + aoi_list_level(r) != y) continue;
        const aoi_bounds b = aoi_bounds_of(w, n);
        if (!aoi_level_is_native(g, y, fmax(b.reach[0], b.reach[1]))) (void)list_set_node(&g->head, n, &b);
    }
}

static void list_tidy(aoi_engine *head) {
    aoi_list *g = self(head);
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        aoi_tiles_tidy(&y->map);
        if (y->idle <= head->records->entity_top) continue;
        if (y->nodes) send_guests_home(g, y);
        else aoi_level_drop(g, i--);
    }
}

/* ---- the class --------------------------------------------------------------------------------------------------- */

const aoi_engine_class aoi_engine_list = {
    .name = "list",
    .size = sizeof(aoi_list),
    .takes = AOI_TAKES_BOXES,
    .open = list_open,
    .close = list_close,
    .enter = list_enter,
    .leave = list_leave,
    .set_node = list_set_node,
    .remove_node = list_remove_node,
    .move = aoi_list_move,
    .tidy = list_tidy,
    .describe = aoi_list_describe,
};
