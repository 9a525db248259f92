/* aoi_walks.c - see aoi_walks.h. */
#include "aoi_walks.h"

#include "aoi_rule.h"

/* Does the entity stay in its tile? */
bool aoi_point_stays(const aoi_list *g, const aoi_level *y, uint32_t entity, const double *to) {
    const aoi_tile *t = y->tiles + aoi_tiles_spot_of(g, y, entity)[0];
    return t->tx == aoi_tiles_number(y, to[0]) && t->ty == aoi_tiles_number(y, to[1]);
}

/* Do all edges of the node stay in their tiles? */
bool aoi_box_stays(const aoi_list *g, const aoi_level *y, uint32_t node, const double *to) {
    aoi_span s = aoi_tiles_span_of_box(y, to, g->head.world->nodes[node].reach);
    return aoi_tiles_same_span(&s, aoi_tiles_box_of(g, node));
}

static bool within(const double *w, const double *t, double r, int axis) {
    return w[axis] - r <= t[axis] && t[axis] <= w[axis] + r;
}

static bool within_others(const aoi_list *g, const double *w, const double *t, double r, int axis) {
    for (int a = 0; a < aoi_tiles_dims(g); a++)
        if (a != axis && !within(w, t, r, a)) return false;
    return true;
}

static void judge(const aoi_leg *k, const aoi_passing *p) {
    aoi_world *w = k->g->head.world;
    const double *from = k->r->stage[p->axis], *to = k->r->stage[p->axis + 1];
    if (p->node == AOI_NONE) {
        const double *at = w->entities[w->nodes[p->slot].owner].pos, r = w->nodes[p->slot].reach;
        if (w->nodes[p->slot].owner != k->entity && within_others(k->g, at, to, r, p->axis) &&
            within(at, from, r, p->axis) != within(at, to, r, p->axis))
            aoi_propose(w, p->slot, k->entity);
    } else {
        const double *at = w->entities[p->slot].pos, r = w->nodes[p->node].reach;
        if (p->slot != k->entity && within_others(k->g, to, at, r, p->axis) &&
            within(from, at, r, p->axis) != within(to, at, r, p->axis))
            aoi_propose(w, p->node, p->slot);
    }
}

/* Their records are anywhere in memory: all are asked for before the first is read. */
void aoi_walk_judge(aoi_leg *k) {
    const aoi_world *w = k->g->head.world;
    for (int i = 0; i < k->count; i++)
        if (k->passed[i].node == AOI_NONE) AOI_PREFETCH(w->entities + w->nodes[k->passed[i].slot].owner);
    for (int i = 0; i < k->count; i++) judge(k, k->passed + i);
    k->count = 0;
}

static inline void pass(aoi_leg *k, uint32_t slot) {
    if (k->count == AOI_PASSED) aoi_walk_judge(k);
    k->passed[k->count++] = (aoi_passing){slot, k->node, k->axis};
    if (k->node == AOI_NONE) AOI_PREFETCH(k->g->head.world->nodes + slot);
    else AOI_PREFETCH(k->g->head.world->entities + slot);
}

/* Goes on from place e of the block, until the entry is where its new key belongs. */
static void walk_on(aoi_leg *k, const aoi_block *b, int e, bool up, double key, uint32_t ref) {
    const aoi_chains *c = &k->g->chains;
    bool seeks_points = k->node != AOI_NONE;
    for (;;) {
        for (; up ? e < b->count : e >= 0; e += up ? 1 : -1) {
            k->g->head.steps++;
            if (up ? !aoi_entry_less(b->key[e], b->ref[e], key, ref) : !aoi_entry_less(key, ref, b->key[e], b->ref[e]))
                return;
            if ((b->ref[e] >> AOI_SIDE_SHIFT == AOI_POINT) == seeks_points) pass(k, b->ref[e] & AOI_SLOT_MASK);
        }
        uint32_t i = up ? b->next : b->prev;
        if (i == AOI_NONE) return;
        b = aoi_block_at(c, i);
        e = up ? 0 : b->count - 1;
    }
}

/* From where the entry stands. */
static void walk_own(aoi_leg *k, uint32_t block, uint32_t ref, double k0, double k1) {
    const aoi_block *b = aoi_block_at(&k->g->chains, block);
    int e = aoi_entry_slot(b, ref);
    if (k0 < k1) walk_on(k, b, e + 1, true, k1, ref);
    else if (k0 > k1) walk_on(k, b, e - 1, false, k1, ref);
}

/* In a list where it does not stand yet: from the first entry behind its old key. */
static void walk_foreign(aoi_leg *k, const aoi_chain *l, uint32_t ref, double k0, double k1) {
    bool up = k0 < k1;
    for (uint32_t i = up ? l->head : l->tail; i != AOI_NONE;) {
        const aoi_block *b = aoi_block_at(&k->g->chains, i);
        for (int n = 0; n < b->count; n++) {
            int e = up ? n : b->count - 1 - n;
            if (up ? aoi_entry_less(b->key[e], b->ref[e], k0, ref) : aoi_entry_less(k0, ref, b->key[e], b->ref[e]))
                continue;
            walk_on(k, b, e, up, k1, ref);
            return;
        }
        k->g->head.steps += b->count;
        i = up ? b->next : b->prev;
    }
}

/* An entry goes along its axis, through the tiles of one or two columns (rows), in each row (column) of the span. */
static void walk_tiles(aoi_leg *k, aoi_level *y, const aoi_span *across, uint32_t ref, double k0, double k1) {
    aoi_list *g = k->g;
    if (k0 == k1) return;
    aoi_span s = *across;
    if (k->axis == 0) s.x0 = aoi_tiles_number(y, k0 < k1 ? k0 : k1), s.x1 = aoi_tiles_number(y, k0 < k1 ? k1 : k0);
    if (k->axis == 1) s.y0 = aoi_tiles_number(y, k0 < k1 ? k0 : k1), s.y1 = aoi_tiles_number(y, k0 < k1 ? k1 : k0);
    for (int32_t ty = s.y0; ty <= s.y1; ty++)
        for (int32_t tx = s.x0; tx <= s.x1; tx++) {
            aoi_label at = {0, (uint8_t)k->axis, (uint8_t)(y - g->levels),
                            (uint8_t)aoi_tiles_parity_of(k->axis, tx, ty)};
            uint32_t block = *aoi_tiles_where(g, ref, &at), i = AOI_NONE;
            if (block != AOI_NONE) i = aoi_block_at(&g->chains, block)->tile;
            if (i != AOI_NONE && y->tiles[i].tx == tx && y->tiles[i].ty == ty) {
                walk_own(k, block, ref, k0, k1);
            } else if ((i = aoi_tiles_find(y, tx, ty)) !=
                       AOI_NONE) { /* it stands in another tile of the same parity, if any */
                walk_foreign(k, y->tiles[i].axis + k->axis, ref, k0, k1);
            }
        }
}

/* Every node of the level whose box contains the point: its low edge stands in this tile or in the one before, in the
 * row of the point, once. */
void aoi_look_for_watchers(aoi_list *g, const aoi_level *y, const double *at, aoi_look visit, void *ud) {
    const aoi_world *w = g->head.world;
    int32_t tx = aoi_tiles_number(y, at[0]), ty = aoi_tiles_number(y, at[1]);
    for (int32_t x = tx - 1; x <= tx; x++) {
        uint32_t t = y->nodes ? aoi_tiles_find(y, x, ty) : AOI_NONE;
        if (t == AOI_NONE) continue;
        double least = at[0] - 2.5 * y->most;
        for (uint32_t i = y->tiles[t].axis[0].tail; i != AOI_NONE;) {
            const aoi_block *b = aoi_block_at(&g->chains, i);
            g->head.steps += b->count;
            if (b->key[b->count - 1] < least) break;
            for (int k = 0; k < b->count && b->key[k] <= at[0]; k++) {
                uint32_t n = b->ref[k] & AOI_SLOT_MASK;
                if (b->ref[k] >> AOI_SIDE_SHIFT == AOI_LOW &&
                    aoi_in_box(w->dims, w->entities[w->nodes[n].owner].pos, at, w->nodes[n].reach))
                    visit(ud, n);
            }
            i = b->prev;
        }
    }
}

static void look_in_tile(aoi_list *g, const aoi_tile *t, const double *lo, const double *hi, aoi_look visit, void *ud) {
    const aoi_world *w = g->head.world;
    for (uint32_t i = t->axis[0].head; i != AOI_NONE;) {
        const aoi_block *b = aoi_block_at(&g->chains, i);
        g->head.steps += b->count;
        for (int k = 0; k < b->count; k++) {
            if (b->key[k] > hi[0]) return;
            if (b->key[k] < lo[0] || b->ref[k] >> AOI_SIDE_SHIFT != AOI_POINT) continue;
            uint32_t e = b->ref[k] & AOI_SLOT_MASK;
            if (lo[1] <= w->entities[e].pos[1] && w->entities[e].pos[1] <= hi[1]) visit(ud, e);
        }
        i = b->next;
    }
}

/* Every entity in the box, by the lists of the finest level of which the box covers few tiles. */
void aoi_look_for_targets(aoi_list *g, const double *lo, const double *hi, aoi_look visit, void *ud) {
    for (int i = 0; i < g->level_count; i++) {
        const aoi_level *y = g->levels + g->order[i];
        aoi_span s = {aoi_tiles_number(y, lo[0]), aoi_tiles_number(y, lo[1]), aoi_tiles_number(y, hi[0]),
                      aoi_tiles_number(y, hi[1])};
        double places = ((double)s.x1 - s.x0 + 1) * ((double)s.y1 - s.y0 + 1);
        if (places > 16 && i + 1 < g->level_count) continue;
        if (places > (double)y->top) {
            for (uint32_t t = 0; t < y->top; t++)
                if (aoi_tiles_find(y, y->tiles[t].tx, y->tiles[t].ty) == t)
                    look_in_tile(g, y->tiles + t, lo, hi, visit, ud);
            return;
        }
        for (int32_t ty = s.y0; ty <= s.y1; ty++)
            for (int32_t tx = s.x0; tx <= s.x1; tx++) {
                uint32_t t = aoi_tiles_find(y, tx, ty);
                if (t != AOI_NONE) look_in_tile(g, y->tiles + t, lo, hi, visit, ud);
            }
        return;
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

static void set_leg(aoi_leg *k, int axis) {
    k->axis = axis;
    k->from = k->r->stage[axis];
    k->to = k->r->stage[axis + 1];
}

static void fetch_blocks(const aoi_list *g, const uint32_t *blocks, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (blocks[i] != AOI_NONE) AOI_PREFETCH(aoi_block_at(&g->chains, blocks[i]));
}

/* And their neighbours, on the side to which the coordinate goes. */
static void fetch_next(const aoi_list *g, const uint32_t *blocks, uint32_t n, bool up) {
    for (uint32_t i = 0; i < n; i++) {
        if (blocks[i] == AOI_NONE) continue;
        const aoi_block *b = aoi_block_at(&g->chains, blocks[i]);
        uint32_t next = up ? b->next : b->prev;
        if (next != AOI_NONE) AOI_PREFETCH(aoi_block_at(&g->chains, next));
    }
}

void aoi_walk_fetch(const aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    uint32_t nodes = w->entities[entity].nodes;
    for (int i = 0; i < g->level_count; i++)
        fetch_blocks(g, aoi_tiles_spot_of(g, g->levels + g->order[i], entity) + 1, (uint32_t)w->dims);
    for (uint32_t n = nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (!isinf(w->nodes[n].reach)) fetch_blocks(g, aoi_tiles_frame_of(g, n), aoi_tiles_frame_blocks(g));
    for (int a = 0; a < w->dims; a++) {
        for (int i = 0; i < g->level_count; i++)
            fetch_next(g, aoi_tiles_spot_of(g, g->levels + g->order[i], entity) + 1 + a, 1, to[a] > from[a]);
        for (uint32_t n = nodes; n != AOI_NONE; n = w->nodes[n].next)
            if (!isinf(w->nodes[n].reach))
                fetch_next(g, aoi_tiles_frame_of(g, n) + 4 * a, a < 2 ? 4 : 8, to[a] > from[a]);
    }
}

void aoi_walk_point(aoi_leg *k, aoi_level *y) {
    aoi_list *g = k->g;
    const double *from = k->r->stage[0], *to = k->r->stage[aoi_tiles_dims(g)];
    uint32_t ref = aoi_tiles_ref_of(AOI_POINT, k->entity);
    k->node = AOI_NONE;
    if (aoi_point_stays(g, y, k->entity, to)) {
        for (int a = 0; a < aoi_tiles_dims(g); a++) {
            set_leg(k, a);
            walk_own(k, aoi_tiles_spot_of(g, y, k->entity)[1 + a], ref, from[a], to[a]);
        }
    } else if (is_far(y, from, to)) {
        jump_point(g, y, k->entity, from, to);
    } else {
        for (int a = 0; a < aoi_tiles_dims(g); a++) {
            set_leg(k, a);
            aoi_span s = aoi_tiles_span_of_point(y, k->from);
            walk_tiles(k, y, &s, ref, from[a], to[a]);
        }
    }
}

void aoi_walk_box(aoi_leg *k, aoi_level *y, uint32_t node) {
    aoi_list *g = k->g;
    const double *from = k->r->stage[0], *to = k->r->stage[aoi_tiles_dims(g)], reach = g->head.world->nodes[node].reach;
    k->node = node;
    if (aoi_box_stays(g, y, node, to)) {
        const uint32_t *frame = aoi_tiles_frame_of(g, node);
        for (uint32_t i = 0; i < aoi_tiles_frame_blocks(g); i++) {
            if (frame[i] == AOI_NONE) continue;
            int a = aoi_tiles_frame_axis(i), side = aoi_tiles_frame_side(i);
            set_leg(k, a);
            walk_own(k, frame[i], aoi_tiles_ref_of(side, node), aoi_tiles_edge(from, reach, a, side),
                     aoi_tiles_edge(to, reach, a, side));
        }
    } else if (is_far(y, from, to)) {
        jump_box(g, k->entity, node, from, to);
    } else {
        for (int a = 0; a < aoi_tiles_dims(g); a++) {
            set_leg(k, a);
            aoi_span box = aoi_tiles_span_of_box(y, k->from, reach);
            for (int side = AOI_LOW; side <= AOI_HIGH; side += AOI_HIGH - AOI_LOW)
                walk_tiles(k, y, &box, aoi_tiles_ref_of(side, node), aoi_tiles_edge(from, reach, a, side),
                           aoi_tiles_edge(to, reach, a, side));
        }
    }
}
