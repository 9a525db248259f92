/* move.c - a move: one trip through the lists.
 *
 *   near   A part of the mover, its point in a level or one of its nodes, that stays in its tiles: each of its entries
 *          compares its block, and the blocks beside it where the move goes on there, collects what it passes, and gets
 *          its new key in place.  An entry that leaves its block's interval goes on a list of those that leave.
 *   far    A part that changes tiles.  The point collects along its way, in the lists of the neighbour tile, too; if it
 *          goes farther than that it looks around where it was and where it arrives.  A node looks around.  Then the
 *          entries are taken out and put in again.
 *   rings  They and the points are moved in their fields and look around (rings.h).
 *
 * Near parts come first and reserve nothing.  Where memory for the rest is refused their old keys are put back: an old key
 * is in its block's interval, since no entry has changed place so far. */
#include <string.h>

#include "engines/list/crossings.h"
#include "engines/list/list.h"

typedef struct list_trip {
    aoi_list *g;
    aoi_world *world;
    uint32_t entity;
    const double *from, *to;
    uint64_t far_levels; /* where its point changes tile; by number of the level */
    bool far_nodes;      /* some node changes tiles, or is a ring, which may */
    uint32_t blocks;     /* that far parts need */
    bool failed;
    aoi_crossings passed;
} list_trip;

/* ---- near parts -------------------------------------------------------------------------------------------------- */

static void note_leaving(list_trip *p, uint32_t *place, double to) {
    aoi_list *g = p->g;
    if (!AOI_GROW(aoi_list_memory(g), g->leaving, g->leaving_cap, g->leaving_count + (size_t)1)) p->failed = true;
    else g->leaving[g->leaving_count++] = (aoi_leaving){place, to};
}

/* The way leads to a bound of the block's interval or beyond, or the block is of an unusual kind. */
AOI_NOINLINE static void walk_entry(list_trip *p, uint32_t *place, double to, uint32_t tag, uint32_t own) {
    aoi_block *b = aoi_block_of(&p->g->lists, *place);
    float *key = aoi_block_keys(b) + (*place & AOI_PLACE_MASK), now = aoi_block_key(b, to);
    aoi_crossings_walk(&p->passed, &p->g->lists, b, *key, now, tag, own);
    if (b->low <= now && now <= b->high) *key = now;
    else note_leaving(p, place, to);
}

enum list_pass { LIST_PREFETCH, LIST_MOVE, LIST_PUT_BACK };
enum { FEW_KEYS = 16 };

/* The entry at this place, if there is one, goes to a value; tag: its side, 0 for a point.  Most go from one place of their
 * block's interval to another, and few points are in it. */
AOI_INLINE void move_entry(list_trip *p, enum list_pass pass, uint32_t *place, double to, uint32_t tag, uint32_t own) {
    if (*place == AOI_NONE) return;
    aoi_block *b = aoi_block_of(&p->g->lists, *place);
    float *keys = aoi_block_keys(b), *key = keys + (*place & AOI_PLACE_MASK);
    if (pass == LIST_PREFETCH) { /* a point compares edges, which may be all keys; an edge compares points, in front */
        for (int i = 0; i < (tag ? 2 : AOI_BLOCK_KEY_LINES); i++) AOI_PREFETCH((const char *)b + i * AOI_CACHE_LINE);
        AOI_PREFETCH(key);
        return;
    }
    float was = *key, now = aoi_block_key(b, to), lo = aoi_lanes_least(was, now), hi = aoi_lanes_most(was, now);
    if (pass == LIST_PUT_BACK) {
        if (b->low <= now && now <= b->high) *key = now;
        return;
    }
    if (b->size != AOI_LARGEST || lo <= b->low || hi >= b->high || (tag && b->points > FEW_KEYS)) {
        walk_entry(p, place, to, tag, own);
        return;
    }
    uint64_t bits = aoi_lanes_sixteen(keys, lo, hi);
    if (tag) {
        bits &= aoi_lanes_mask((int)b->points);
    } else {
        bits |= aoi_lanes_sixteen(keys + 16, lo, hi) << 16 | aoi_lanes_sixteen(keys + 32, lo, hi) << 32 |
                (uint64_t)aoi_lanes_plain(keys + 48, lo, hi) << 48;
        bits &= aoi_lanes_mask(AOI_BLOCK_MOST) ^ aoi_lanes_mask(AOI_BLOCK_MOST - (int)b->edges);
    }
    aoi_crossings_note(&p->passed, (const uint32_t *)(const void *)(keys + AOI_BLOCK_MOST), AOI_BLOCK_MOST, bits, tag,
                       own);
    *key = now;
}

static inline bool is_safe(const float *safe, const double *to) {
    return safe[0] <= to[0] && to[0] <= safe[1] && safe[2] <= to[1] && to[1] <= safe[3];
}

static inline bool is_far(const aoi_list *g, uint32_t node, const double *to) {
    return !is_safe(aoi_safe_region(g, node), to);
}

static inline bool has_edges(const aoi_world *w, uint32_t node) {
    return aoi_is_bounded(w->nodes + node) && aoi_list_has_edges(w->nodes + node);
}

AOI_INLINE void move_near_point(list_trip *p, enum list_pass pass, int dims, const aoi_level *y) {
    const double *to = pass == LIST_PUT_BACK ? p->from : p->to;
    uint32_t *place = aoi_point_places(y, dims, p->entity);
    for (int a = 0; a < dims; a++)
        if (p->from[a] != p->to[a]) move_entry(p, pass, place + a, to[a], 0, aoi_own_of(AOI_NONE, a));
}

AOI_INLINE void move_near_box(list_trip *p, enum list_pass pass, int dims, uint32_t node) {
    const double *to = pass == LIST_PUT_BACK ? p->from : p->to;
    uint32_t *place = aoi_edge_places(p->g, node);
    for (int a = 0; a < dims; a++) {
        int tiles = a < 2 ? 2 : 4;
        double reach = a < 2 ? p->world->nodes[node].reach[a] : aoi_height_of(p->world, node);
        for (int side = AOI_LOW; side <= AOI_HIGH && p->from[a] != p->to[a]; side++)
            for (int i = 0; i < tiles; i++)
                move_entry(p, pass, place + (side - AOI_LOW) * tiles + i,
                           side == AOI_LOW ? to[a] - reach : to[a] + reach, aoi_ref_of(side, 0), aoi_own_of(node, a));
        place += 2 * tiles;
    }
}

AOI_INLINE void move_near_parts(list_trip *p, enum list_pass pass, int dims) {
    const aoi_list *g = p->g;
    const aoi_world *w = g->head.world;
    for (int i = 0; i < g->level_count; i++)
        if (!(p->far_levels >> g->order[i] & 1)) move_near_point(p, pass, dims, g->levels + g->order[i]);
    for (uint32_t n = w->entities[p->entity].nodes; n != AOI_NONE; n = w->nodes[n].next)
        if (has_edges(w, n) && !is_far(g, n, p->to)) move_near_box(p, pass, dims, n);
}

/* ---- far parts --------------------------------------------------------------------------------------------------- */

/* Most often a node's safe region tells of its level's point, too. */
static void find_far_parts(list_trip *p) {
    aoi_list *g = p->g;
    const aoi_world *w = p->world;
    uint64_t near = 0;
    p->far_levels = 0;
    p->far_nodes = false;
    for (uint32_t n = w->entities[p->entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (has_edges(w, n) && !is_far(g, n, p->to)) near |= (uint64_t)1 << w->nodes[n].level;
        else {
            p->far_nodes = true;
            AOI_PREFETCH(w->areas + n);
        }
    }
    for (int i = 0; i < g->level_count; i++) {
        aoi_level *y = g->levels + g->order[i];
        bool stays = (near >> g->order[i] & 1) || aoi_tiles_same(&y->map, p->from, p->to);
        if (!stays) p->far_levels |= (uint64_t)1 << g->order[i];
        if (!y->nodes && y->idle++ > w->entity_top)
            p->world->untidy = true; /* keeping it has cost what dropping it costs */
    }
}

static bool field_ready(list_trip *p, aoi_field *f, uint32_t place) {
    if (aoi_field_stays(p->g, f, place, p->from, p->to)) return true;
    p->blocks++;
    return aoi_field_ready(p->g, f, p->to);
}

static bool node_ready(list_trip *p, uint32_t node) {
    aoi_list *g = p->g;
    const aoi_node_record *n = g->head.world->nodes + node;
    double reach[3];
    if (!aoi_is_bounded(n)) return true;
    if (!aoi_list_has_edges(n)) return field_ready(p, g->rings + (n->level - AOI_MOST_LEVELS), n->home);
    if (!is_far(g, node, p->to)) return true;
    aoi_list_reach(g->head.world, node, reach);
    p->blocks += aoi_edge_count(aoi_list_dims(g));
    return aoi_box_ready(g, g->levels + n->level, p->to, reach);
}

/* Tiles for what changes tiles, and a block for each entry that changes its own. */
static bool trip_ready(list_trip *p) {
    aoi_list *g = p->g;
    const aoi_world *w = g->head.world;
    p->blocks = g->leaving_count;
    if (p->failed || !field_ready(p, &g->points, w->entities[p->entity].home)) return false;
    for (uint32_t n = w->entities[p->entity].nodes; n != AOI_NONE && p->far_nodes; n = w->nodes[n].next)
        if (!node_ready(p, n)) return false;
    for (int i = 0; p->far_levels && i < g->level_count; i++) {
        if (!(p->far_levels >> g->order[i] & 1)) continue;
        p->blocks += (uint32_t)w->dims;
        if (!aoi_point_ready(g, g->levels + g->order[i], p->to)) return false;
    }
    return !p->blocks || aoi_pool_reserve(aoi_list_memory(g), &g->lists.pool, p->blocks);
}

/* The point goes along an axis, where the legs on the axes before have brought it, in its tile's list and on in the
 * neighbour's. */
static void walk_point(list_trip *p, const aoi_level *y, int axis) {
    aoi_list *g = p->g;
    double at[2][3], v0 = p->from[axis], v1 = p->to[axis];
    uint32_t place = aoi_point_places(y, aoi_list_dims(g), p->entity)[axis];
    for (int a = 0; a < aoi_list_dims(g); a++) {
        at[0][a] = a < axis ? p->to[a] : a > axis ? p->from[a] : fmin(v0, v1);
        at[1][a] = a == axis ? fmax(v0, v1) : at[0][a];
    }
    aoi_span s = aoi_tiles_span(&y->map, at[0], at[1]);
    for (int32_t ty = s.y0; ty <= s.y1 && v0 != v1; ty++)
        for (int32_t tx = s.x0; tx <= s.x1; tx++) {
            uint32_t t = aoi_tiles_find(&y->map, tx, ty);
            const aoi_block_list *l = t != AOI_NONE ? y->map.tiles[t].axis + axis : NULL;
            if (!l || l->head == AOI_NONE) continue;
            aoi_block *b = aoi_block_of(&g->lists, place);
            if (b->tile != t) b = aoi_block_at(&g->lists, aoi_block_seek(&g->lists, l, v0));
            float k0 = aoi_block_key(b, v0), k1 = aoi_block_key(b, v1);
            aoi_crossings_walk(&p->passed, &g->lists, b, k0, k1, 0, aoi_own_of(AOI_NONE, axis));
        }
}

typedef struct list_jump { /* a move too far to walk: boxes around one end that are not around the other */
    aoi_world *world;
    uint32_t entity;
    const double *other;
} list_jump;

static void jump_visit(void *ud, uint32_t node) {
    const list_jump *j = ud;
    const aoi_node_record *n = j->world->nodes + node;
    const double *at = j->world->entities[n->owner].pos, *t = j->other;
    double reach[3];
    bool inside = true;
    aoi_list_reach(j->world, node, reach);
    for (int a = 0; a < j->world->dims; a++) inside &= at[a] - reach[a] <= t[a] && t[a] <= at[a] + reach[a];
    if (!inside && n->owner != j->entity) aoi_add_candidate(j->world, node, j->entity);
}

static void move_far_point(list_trip *p, aoi_level *y) {
    aoi_list *g = p->g;
    aoi_world *w = g->head.world;
    bool far = false;
    for (int a = 0; a < 2; a++) {
        int64_t d = (int64_t)aoi_tiles_number(&y->map, p->to[a]) - aoi_tiles_number(&y->map, p->from[a]);
        far |= d < -1 || d > 1;
    }
    if (far) {
        aoi_find_boxes_around(g, y, p->from, jump_visit, &(list_jump){w, p->entity, p->to});
        aoi_find_boxes_around(g, y, p->to, jump_visit, &(list_jump){w, p->entity, p->from});
    }
    for (int a = 0; a < w->dims && !far; a++) walk_point(p, y, a);
    aoi_remove_point(g, y, p->entity);
    aoi_insert_point(g, y, p->entity, p->to);
}

static void move_far_box(list_trip *p, uint32_t node) {
    aoi_list *g = p->g;
    aoi_level *y = g->levels + g->head.world->nodes[node].level;
    double reach[3];
    aoi_points_passed(g, node, p->from, p->to);
    aoi_list_reach(g->head.world, node, reach);
    aoi_remove_box(g, y, node);
    aoi_insert_box(g, y, node, p->to, reach);
}

static void move_far_parts(list_trip *p) {
    aoi_list *g = p->g;
    const aoi_world *w = g->head.world;
    for (int i = 0; p->far_levels && i < g->level_count; i++)
        if (p->far_levels >> g->order[i] & 1) move_far_point(p, g->levels + g->order[i]);
    for (uint32_t n = w->entities[p->entity].nodes; n != AOI_NONE && p->far_nodes; n = w->nodes[n].next) {
        if (!aoi_is_bounded(w->nodes + n)) continue;
        if (!aoi_list_has_edges(w->nodes + n)) {
            aoi_rings_move(g, n, p->from, p->to);
            aoi_points_passed(g, n, p->from, p->to);
        } else if (is_far(g, n, p->to)) move_far_box(p, n);
    }
}

/* ---- the move ---------------------------------------------------------------------------------------------------- */

static void rekey_leaving(aoi_list *g) {
    for (uint32_t i = 0; i < g->leaving_count; i++) {
        uint32_t *place = g->leaving[i].place;
        const aoi_block *b = aoi_block_of(&g->lists, *place);
        aoi_block_list *l = g->levels[b->level].map.tiles[b->tile].axis + b->axis;
        uint32_t now = aoi_block_rekey(&g->lists, l, *place, g->leaving[i].to);
        *place = now;
    }
    g->leaving_count = 0;
}

int aoi_list_move(aoi_engine *head, uint32_t entity, const double *to) {
    aoi_world *w = head->world;
    aoi_list *g = (aoi_list *)(void *)head;
    list_trip p;
    p.g = g, p.world = p.passed.world = w;
    p.entity = p.passed.entity = entity;
    p.from = p.passed.from = w->entities[entity].pos;
    p.to = p.passed.to = to;
    p.passed.count = 0;
    p.failed = false;
    find_far_parts(&p);
    if (w->dims == 2) { /* compiled once for each number of axes */
        move_near_parts(&p, LIST_PREFETCH, 2);
        move_near_parts(&p, LIST_MOVE, 2);
    } else {
        move_near_parts(&p, LIST_PREFETCH, 3);
        move_near_parts(&p, LIST_MOVE, 3);
    }
    aoi_crossings_prefetch(&p.passed);
    if (!trip_ready(&p)) {
        g->leaving_count = 0;
        move_near_parts(&p, LIST_PUT_BACK, w->dims);
        return AOI_ENOMEM;
    }
    rekey_leaving(g);
    move_far_parts(&p);
    aoi_crossings_prefetch_owners(&p.passed);
    aoi_rings_passed(g, entity, p.from, to);
    aoi_points_move(g, entity, p.from, to);
    aoi_crossings_judge(&p.passed);
    return AOI_OK;
}
