/* walks.c - see walks.h. */
#include "engines/list/walks.h"

#include "core/rule.h"
#include "engines/list/box_query.h"

/* In a list where it stands, in `block`, or not yet. */
static void walk_list(aoi_list *g, aoi_passed *p, const aoi_chain *l, uint32_t block, uint32_t ref, uint32_t node,
                      int axis, double v0, double v1) {
    if (l->head == AOI_NONE) return;
    if (block == AOI_NONE) block = aoi_chain_seek(&g->chains, l, AOI_NONE, v0);
    p->walk(p, &g->chains, aoi_block_at(&g->chains, block), v0, v1, ref & ~(uint32_t)AOI_SLOT_MASK,
            aoi_own_of(node, axis));
    g->head.steps++;
}

/* An entry goes along its axis, through the tiles of one or two columns (rows), in each row (column) of the span. */
static void walk_tiles(aoi_list *g, aoi_level *y, aoi_passed *p, const aoi_span *across, uint32_t ref, uint32_t node,
                       int axis, double v0, double v1) {
    if (v0 == v1) return;
    aoi_span s = *across;
    double least = v0 < v1 ? v0 : v1, most = v0 < v1 ? v1 : v0;
    if (axis == 0) s.x0 = aoi_tiles_number(y, least), s.x1 = aoi_tiles_number(y, most);
    if (axis == 1) s.y0 = aoi_tiles_number(y, least), s.y1 = aoi_tiles_number(y, most);
    for (int32_t ty = s.y0; ty <= s.y1; ty++)
        for (int32_t tx = s.x0; tx <= s.x1; tx++) {
            aoi_label at = aoi_tiles_label(g, y, 0, axis, tx, ty);
            uint32_t block = *aoi_tiles_where(g, ref, &at), i = AOI_NONE;
            if (block != AOI_NONE) i = aoi_block_at(&g->chains, block >>= AOI_PLACE_SHIFT)->tile;
            if (i == AOI_NONE || y->tiles[i].tx != tx || y->tiles[i].ty != ty) {
                block = AOI_NONE; /* it stands in another tile of the same parity, if any */
                i = aoi_tiles_find(y, tx, ty);
            }
            if (i != AOI_NONE) walk_list(g, p, y->tiles[i].axis + axis, block, ref, node, axis, v0, v1);
        }
}

typedef struct jump { /* a move too far to walk: who is inside here, but not there? */
    aoi_world *world;
    uint32_t entity, node;
    const double *there;
} jump;

static void lose_target(void *ud, uint32_t target) {
    const jump *j = ud;
    if (target != j->entity &&
        !aoi_in_box(j->world->dims, j->there, j->world->entities[target].pos, j->world->nodes[j->node].reach))
        aoi_propose(j->world, j->node, target);
}

static void lose_watcher(void *ud, uint32_t node) {
    const jump *j = ud;
    const aoi_node_record *n = j->world->nodes + node;
    if (n->owner != j->entity && !aoi_in_box(j->world->dims, j->world->entities[n->owner].pos, j->there, n->reach))
        aoi_propose(j->world, node, j->entity);
}

static bool is_far(const aoi_level *y, const double *from, const double *to) {
    for (int a = 0; a < 2; a++) {
        int64_t d = (int64_t)aoi_tiles_number(y, to[a]) - aoi_tiles_number(y, from[a]);
        if (d < -1 || d > 1) return true;
    }
    return false;
}

static void jump_point(aoi_list *g, const aoi_level *y, uint32_t entity, const double *from, const double *to) {
    aoi_look_for_watchers(g, y, from, lose_watcher, &(jump){g->head.world, entity, AOI_NONE, to});
    aoi_look_for_watchers(g, y, to, lose_watcher, &(jump){g->head.world, entity, AOI_NONE, from});
}

static void jump_box(aoi_list *g, uint32_t entity, uint32_t node, const double *from, const double *to) {
    const double *ends[2] = {from, to}, r = g->head.world->nodes[node].reach;
    for (int i = 0; i < 2; i++) {
        double lo[2] = {ends[i][0] - r, ends[i][1] - r}, hi[2] = {ends[i][0] + r, ends[i][1] + r};
        aoi_look_for_targets(g, lo, hi, lose_target, &(jump){g->head.world, entity, node, ends[1 - i]});
    }
}

void aoi_walk_point(aoi_list *g, aoi_level *y, aoi_passed *p) {
    int dims = aoi_tiles_dims(g);
    const double *from = p->stage[0], *to = p->stage[dims];
    if (is_far(y, from, to)) {
        jump_point(g, y, p->entity, from, to);
        return;
    }
    for (int a = 0; a < dims; a++) {
        aoi_span s = aoi_tiles_span_of_point(y, p->stage[a]);
        walk_tiles(g, y, p, &s, aoi_ref_of(AOI_POINT, p->entity), AOI_NONE, a, from[a], to[a]);
    }
}

void aoi_walk_box(aoi_list *g, aoi_level *y, uint32_t node, aoi_passed *p) {
    int dims = aoi_tiles_dims(g);
    const double *from = p->stage[0], *to = p->stage[dims], reach = g->head.world->nodes[node].reach;
    if (is_far(y, from, to)) {
        jump_box(g, p->entity, node, from, to);
        return;
    }
    for (int a = 0; a < dims; a++) {
        aoi_span box = aoi_tiles_span_of_box(y, p->stage[a], reach);
        for (int side = AOI_LOW; side <= AOI_HIGH; side += AOI_HIGH - AOI_LOW)
            walk_tiles(g, y, p, &box, aoi_ref_of(side, node), node, a, aoi_tiles_edge(from, reach, a, side),
                       aoi_tiles_edge(to, reach, a, side));
    }
}
