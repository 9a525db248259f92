/* larges.c - the few entities with an extent, and the pairs of which they are the targets; see looks.h.
 *
 * A pair is where the box of the node, grown by the extent, holds the target.  From the watcher's side that is a run of
 * each level.  From the target's side it is the nodes whose box meets the square of the extent around the target, R:
 *
 *       c - - - - - c       a box, or a circle, much larger than R that meets R holds one of the corners c of a square a
 *       | +-------+ |       quarter larger than R: the engine is asked for the nodes around each corner;
 *       | |   t R | |       a smaller one has its owner near R: the engine is asked for the entities there.
 *       | +-------+ |
 *       c - - - - - c       Where a circle of radius r >= 4h touches R, a square of half-extent h, the nearest corner is
 *                           at most hypot(r - h / 4, 5h / 4) < r from its middle.
 *
 * A box that is longer than that on one axis alone is found by looking at all nodes, where there ever was one. */
#include "core/space.h"

/* ---- records and places ------------------------------------------------------------------------------------------ */

/* What a sum of such numbers may be rounded by, and more. */
static double rounding_of(double a, double b) {
    return (fabs(a) + fabs(b)) * 0x1p-48 + 1e-150;
}

static double room_of(double extent, double at, double reach) {
    double room = extent * (1 + 0x1p-20) + rounding_of(extent + fabs(at), reach);
    return room < 1e100 ? room : INFINITY; /* its square may overflow, and then everything is inside */
}

static int exponent_of(double extent) {
    int exponent;
    (void)frexp(extent, &exponent);
    return exponent;
}

static aoi_large_level *level_of(aoi_larges *l, int exponent) {
    for (uint32_t i = 0; i < l->level_count; i++)
        if (l->levels[i].exponent == exponent) return l->levels + i;
    return NULL;
}

bool aoi_larges_ready(aoi_space *s, uint32_t entity, double extent) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->world.memory;
    uint32_t had = l->of_cap;
    if (!AOI_GROW(m, l->of, l->of_cap, entity + (size_t)1)) return false;
    for (uint32_t e = had; e < l->of_cap; e++) l->of[e] = AOI_NONE;
    if (!AOI_GROW(m, l->records, l->record_cap, l->count + (size_t)1)) return false;
    aoi_large_level *level = level_of(l, exponent_of(extent));
    if (!level) {
        if (!AOI_GROW(m, l->levels, l->level_cap, l->level_count + (size_t)1)) return false;
        level = l->levels + l->level_count;
        *level = (aoi_large_level){.exponent = exponent_of(extent)};
        if (!AOI_GROW(m, level->places, level->cap, 1u)) return false;
        l->level_count++;
        return true;
    }
    return AOI_GROW(m, level->places, level->cap, level->count + (size_t)1);
}

static void take_large_place(aoi_space *s, uint32_t record) {
    aoi_larges *l = &s->larges;
    aoi_large_level *level = level_of(l, exponent_of(l->records[record].extent));
    uint32_t i = 0;
    while (level->places[i].entity != l->records[record].entity) i++;
    memmove(level->places + i, level->places + i + 1, (--level->count - i) * sizeof *level->places);
}

static void put_large_place(aoi_space *s, uint32_t record) {
    aoi_larges *l = &s->larges;
    const aoi_large *r = l->records + record;
    aoi_large_level *level = level_of(l, exponent_of(r->extent));
    level->places[level->count++] = (aoi_large_place){.entity = r->entity};
    l->moved = true;
}

void aoi_larges_set(aoi_space *s, uint32_t entity, const aoi_looks *looks) {
    aoi_larges *l = &s->larges;
    if (!(looks->extent > 0)) {
        if (aoi_is_large(s, entity)) aoi_larges_remove(s, entity);
        return;
    }
    uint32_t record = l->of[entity];
    if (record == AOI_NONE) record = l->of[entity] = l->count++;
    else take_large_place(s, record);
    l->records[record] = (aoi_large){looks->extent, looks->kind, entity};
    put_large_place(s, record);
}

void aoi_larges_remove(aoi_space *s, uint32_t entity) {
    aoi_larges *l = &s->larges;
    uint32_t record = l->of[entity], last = l->count - 1;
    take_large_place(s, record);
    l->records[record] = l->records[last];
    l->of[l->records[record].entity] = record;
    l->of[entity] = AOI_NONE;
    if (!--l->count) aoi_larges_free(s);
}

void aoi_larges_free(aoi_space *s) {
    aoi_larges *l = &s->larges;
    aoi_memory *m = &s->world.memory;
    for (uint32_t i = 0; i < l->level_count; i++) AOI_FREE(m, l->levels[i].places, l->levels[i].cap);
    AOI_FREE(m, l->of, l->of_cap);
    AOI_FREE(m, l->records, l->record_cap);
    AOI_FREE(m, l->levels, l->level_cap);
    *l = (aoi_larges){0};
}

/* How far it goes in the batch on the first two axes; 0 if it is no mover. */
static double step_of(const aoi_space *s, uint32_t entity) {
    const double *from = aoi_position_before(&s->world, entity), *to = s->world.entities[entity].pos;
    return fmax(fabs(to[0] - from[0]), fabs(to[1] - from[1]));
}

/* One that goes farther than it is large: its two places are looked at by themselves. */
static bool jumps(const aoi_space *s, uint32_t entity) {
    return step_of(s, entity) > aoi_extent_of(s, entity);
}

/* Sorted anew: mostly they have moved a little, if at all.  batch: all movers are in place, and the room of each has in it
 * where it was, unless it jumps. */
static void sort_places(aoi_space *s, bool batch) {
    aoi_larges *l = &s->larges;
    for (uint32_t k = 0; k < l->level_count; k++) {
        aoi_large_level *level = l->levels + k;
        level->room = 0;
        for (uint32_t i = 0; i < level->count; i++) {
            aoi_large_place p = level->places[i];
            const double *pos = s->world.entities[p.entity].pos;
            double extent = l->records[l->of[p.entity]].extent, far = fmax(fabs(pos[0]), fabs(pos[1]));
            if (batch && !jumps(s, p.entity)) extent += step_of(s, p.entity);
            uint32_t at = i;
            p.x = pos[0], p.y = pos[1], p.room = room_of(extent, far, s->greatest_reach);
            level->room = fmax(level->room, p.room);
            for (; at > 0 && level->places[at - 1].x > p.x; at--) level->places[at] = level->places[at - 1];
            level->places[at] = p;
        }
    }
    l->moved = batch;
}

/* ---- the large ones near a box -------------------------------------------------------------------------------------- */

typedef struct large_box { /* heights count for what is asked of the engine alone */
    double lo[3], hi[3];
} large_box;

static large_box box_around(const double *at, const double *reach) {
    return (large_box){{at[0] - reach[0], at[1] - reach[1], 0}, {at[0] + reach[0], at[1] + reach[1], 0}};
}

static bool meets(const large_box *b, const aoi_large_place *p, double rounding) {
    double room = p->room + rounding;
    return p->x + room >= b->lo[0] && p->x - room <= b->hi[0] && p->y + room >= b->lo[1] && p->y - room <= b->hi[1];
}

static const aoi_large_place *first_place(const aoi_large_level *level, double x) {
    size_t from = 0, to = level->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (level->places[mid].x < x) from = mid + 1;
        else to = mid;
    }
    return level->places + from;
}

/* Calls f for each that meets one of the two boxes, which may be the same. */
AOI_INLINE void each_near(aoi_space *s, const large_box *a, const large_box *b, uint32_t node,
                          void (*f)(aoi_space *, uint32_t, uint32_t)) {
    double lo = fmin(a->lo[0], b->lo[0]), hi = fmax(a->hi[0], b->hi[0]);
    double rounding = rounding_of(fmax(fabs(lo), fabs(hi)), fmax(fabs(a->lo[1]), fabs(a->hi[1])));
    rounding += rounding_of(b->lo[1], b->hi[1]);
    for (uint32_t k = 0; k < s->larges.level_count; k++) {
        const aoi_large_level *level = s->larges.levels + k;
        double room = level->room + rounding;
        const aoi_large_place *end = level->places + level->count;
        for (const aoi_large_place *p = first_place(level, lo - room); p < end && p->x <= hi + room; p++)
            if (meets(a, p, rounding) || meets(b, p, rounding)) f(s, node, p->entity);
    }
    s->engine->steps++;
}

static void add_target(aoi_space *s, uint32_t node, uint32_t entity) {
    (void)node;
    aoi_add_hit(&s->world, entity);
}

/* In the place of those that the engine has hit. */
void aoi_add_large_targets(aoi_space *s, const double *lo, const double *hi) {
    aoi_world *w = &s->world;
    large_box b = {{lo[0], lo[1], 0}, {hi[0], hi[1], 0}};
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->hit_count; i++)
        if (!aoi_is_large(s, w->hits[i])) w->hits[others++] = w->hits[i];
    w->hit_count = others;
    if (s->larges.moved) sort_places(s, false);
    each_near(s, &b, &b, AOI_NONE, add_target);
}

/* ---- the nodes around a large one ----------------------------------------------------------------------------------- */

static double side_of(const large_box *b) {
    return 2 * fmax(fmax(b->hi[0] - b->lo[0], b->hi[1] - b->lo[1]), b->hi[2] - b->lo[2]);
}

/* Corner c of eight, of four in two dimensions, around the box. */
static void corner_of(const large_box *b, int c, double *at) {
    for (int a = 0; a < 3; a++) at[a] = (b->lo[a] + b->hi[a]) / 2 + (c >> a & 1 ? 0.3125 : -0.3125) * side_of(b);
}

/* Whether the engine surely finds the node around a corner. */
static bool holds_corner(const aoi_space *s, uint32_t node, const large_box *b, int c) {
    const aoi_node_record *n = s->world.nodes + node;
    const double *w = s->world.entities[n->owner].pos;
    double at[3];
    corner_of(b, c, at);
    if (n->shape == AOI_CIRCLE && s->world.dims == 2) return aoi_in_ball(2, w, at, s->world.areas[node].keep);
    return aoi_in_side(w[0], at[0], n->reach[0]) && aoi_in_side(w[1], at[1], n->reach[1]) &&
           (s->world.dims < 3 || aoi_in_side(w[2], at[2], aoi_height_of(&s->world, node)));
}

static bool box_meets(const aoi_space *s, uint32_t node, const large_box *b) {
    const aoi_node_record *n = s->world.nodes + node;
    const double *w = s->world.entities[n->owner].pos;
    return w[0] - n->reach[0] <= b->hi[0] && b->lo[0] <= w[0] + n->reach[0] && w[1] - n->reach[1] <= b->hi[1] &&
           b->lo[1] <= w[1] + n->reach[1];
}

typedef enum large_size { LARGE_SMALLER, LARGE_WIDER, LARGE_OBLONG } large_size;

static large_size size_beside(const aoi_space *s, uint32_t node, double side) {
    const aoi_node_record *n = s->world.nodes + node;
    if (n->reach[0] < side && n->reach[1] < side) return LARGE_SMALLER;
    bool high = s->world.dims < 3 || aoi_height_of(&s->world, node) >= side;
    return n->reach[0] >= side && n->reach[1] >= side && high ? LARGE_WIDER : LARGE_OBLONG;
}

/* Nodes are looked at one by one. */
static bool takes_all(const aoi_space *s, const large_box *b) {
    return s->world.node_top <= AOI_FEW_WATCHERS || !(side_of(b) < 1e100);
}

/* Whether add_nodes finds it. */
static bool is_found_by(const aoi_space *s, uint32_t node, const large_box *b) {
    if (takes_all(s, b) || size_beside(s, node, side_of(b)) != LARGE_WIDER) return box_meets(s, node, b);
    for (int c = 0; c < 8; c++)
        if (holds_corner(s, node, b, c)) return true;
    return false;
}

static void add_small_nodes(aoi_space *s, uint32_t entity, const large_box *b, const large_box *but, double side) {
    aoi_world *w = &s->world;
    uint32_t first = w->hit_count;
    s->engine->class->targets(s->engine, (double[2]){b->lo[0] - side, b->lo[1] - side},
                              (double[2]){b->hi[0] + side, b->hi[1] + side});
    uint32_t owners = w->hit_count, kept = first;
    for (uint32_t i = first; i < owners; i++)
        for (uint32_t n = w->entities[w->hits[i]].nodes; n != AOI_NONE && w->hits[i] != entity; n = w->nodes[n].next)
            if (size_beside(s, n, side) == LARGE_SMALLER && box_meets(s, n, b) && !(but && is_found_by(s, n, but)))
                aoi_add_hit(w, n);
    for (uint32_t i = owners; i < w->hit_count; i++) w->hits[kept++] = w->hits[i]; /* not the owners, whatever failed */
    w->hit_count = kept;
}

static void add_wide_nodes(aoi_space *s, uint32_t entity, const large_box *b, const large_box *but, double side,
                           bool idle) {
    aoi_world *w = &s->world;
    for (int c = 0; c < (w->dims < 3 ? 4 : 8); c++) {
        uint32_t first = w->hit_count, kept = first;
        double corner[3];
        corner_of(b, c, corner);
        s->engine->class->watchers(s->engine, corner, idle);
        for (uint32_t i = first; i < w->hit_count; i++) {
            uint32_t n = w->hits[i];
            bool good =
                w->nodes[n].owner != entity && size_beside(s, n, side) == LARGE_WIDER && holds_corner(s, n, b, c);
            for (int k = 0; k < c; k++) good = good && !holds_corner(s, n, b, k);
            if (good && !(but && is_found_by(s, n, but))) w->hits[kept++] = n;
        }
        w->hit_count = kept;
    }
}

/* The oblong ones, or all: one by one. */
static void add_listed_nodes(aoi_space *s, uint32_t entity, const large_box *b, const large_box *but, bool all) {
    aoi_world *w = &s->world;
    double side = side_of(b);
    for (uint32_t n = 0; n < w->node_top; n++) {
        const aoi_node_record *r = w->nodes + n;
        if (!aoi_is_live(r->generation) || !aoi_is_bounded(r) || r->owner == entity) continue;
        if ((all || size_beside(s, n, side) == LARGE_OBLONG) && box_meets(s, n, b) && !(but && is_found_by(s, n, but)))
            aoi_add_hit(w, n);
    }
    s->engine->steps += w->node_top;
}

/* Bounded nodes of others whose box meets b, and not `but` unless that is NULL. */
static void add_nodes(aoi_space *s, uint32_t entity, const large_box *b, const large_box *but, bool idle) {
    double side = side_of(b);
    bool all = takes_all(s, b);
    if (!all) add_small_nodes(s, entity, b, but, side);
    if (!all) add_wide_nodes(s, entity, b, but, side, idle);
    if (all || s->has_oblong) add_listed_nodes(s, entity, b, but, all);
}

static large_box large_square(const aoi_space *s, const double *at, double extent) {
    double z = s->world.dims == 3 ? at[2] : 0;
    double room = room_of(extent, fmax(fmax(fabs(at[0]), fabs(at[1])), fabs(z)), s->greatest_reach);
    large_box b = box_around(at, (double[2]){room, room});
    b.lo[2] = z - room, b.hi[2] = z + room;
    return b;
}

void aoi_find_large_watchers(aoi_space *s, uint32_t entity, double extent, bool idle) {
    large_box b = large_square(s, s->world.entities[entity].pos, extent);
    s->world.hit_count = 0;
    add_nodes(s, entity, &b, NULL, idle);
}

/* ---- candidates of moves --------------------------------------------------------------------------------------------- */

static void add_large_pair(aoi_space *s, uint32_t node, uint32_t target) {
    if (s->world.nodes[node].owner != target) aoi_add_candidate(&s->world, node, target);
}

static void add_pairs_of_node(aoi_space *s, uint32_t node, const double *from, const double *to) {
    const aoi_node_record *n = s->world.nodes + node;
    if (aoi_is_bounded(n)) {
        large_box a = box_around(from, n->reach), b = box_around(to, n->reach);
        each_near(s, &a, &b, node, add_large_pair);
    } else
        for (uint32_t i = 0; i < s->larges.count; i++) add_large_pair(s, node, s->larges.records[i].entity);
}

static void add_hits_as_pairs(aoi_space *s, uint32_t target) {
    for (uint32_t i = 0; i < s->world.hit_count; i++) add_large_pair(s, s->world.hits[i], target);
}

static void add_pairs_of_target(aoi_space *s, uint32_t entity, const double *from, const double *to) {
    double extent = aoi_extent_of(s, entity);
    large_box a = large_square(s, from, extent), b = large_square(s, to, extent);
    bool far = false; /* else one question is about both places */
    for (int i = 0; i < s->world.dims; i++) far |= fabs(to[i] - from[i]) > extent;
    s->world.hit_count = 0;
    if (!far) {
        for (int i = 0; i < 3; i++) a.lo[i] = fmin(a.lo[i], b.lo[i]), a.hi[i] = fmax(a.hi[i], b.hi[i]);
        add_nodes(s, entity, &a, NULL, false);
    } else {
        add_nodes(s, entity, &a, NULL, false);
        add_nodes(s, entity, &b, &a, false);
    }
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = s->world.nodes[n].home) aoi_add_hit(&s->world, n);
    add_hits_as_pairs(s, entity);
}

void aoi_add_large_candidates(aoi_space *s, uint32_t entity, const double *from, const double *to) {
    if (s->larges.moved) sort_places(s, false);
    for (uint32_t n = s->world.entities[entity].nodes; n != AOI_NONE; n = s->world.nodes[n].next)
        add_pairs_of_node(s, n, from, to);
    if (aoi_is_large(s, entity)) add_pairs_of_target(s, entity, from, to);
}

/* Whether they may be near each other, the one there and the other there: no pair that is not OUTSIDE is missed. */
static bool may_meet(const aoi_space *s, uint32_t node, const double *w, uint32_t target, const double *t) {
    const aoi_node_record *n = s->world.nodes + node;
    if (!aoi_is_bounded(n)) return true;
    double room = room_of(aoi_extent_of(s, target), fmax(fabs(t[0]), fabs(t[1])), s->greatest_reach);
    large_box b = box_around(w, n->reach);
    return meets(&b, &(aoi_large_place){t[0], t[1], room, target}, 0);
}

static bool moves(const aoi_space *s, uint32_t entity) {
    return s->world.entities[entity].mover != AOI_NONE;
}

/* A jumping target and the nodes that have moved: near each other where they were, or where they are. */
static void add_pairs_of_jump(aoi_space *s, uint32_t target) {
    const aoi_world *w = &s->world;
    const double *t0 = aoi_position_before(w, target), *t1 = w->entities[target].pos;
    for (uint32_t i = 0; i < w->mover_count; i++) {
        const aoi_entity_record *e = w->entities + w->movers[i];
        for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next)
            if (may_meet(s, n, aoi_way_of(w, i), target, t0) || may_meet(s, n, e->pos, target, t1))
                add_large_pair(s, n, target);
    }
}

/* All movers are in place.  Nodes that have moved find their targets, and large ones that have moved the nodes that stand
 * still. */
void aoi_add_large_changes(aoi_space *s) {
    aoi_world *w = &s->world;
    uint32_t kept = 0;
    sort_places(s, true);
    for (uint32_t i = 0; i < w->mover_count; i++) {
        const aoi_entity_record *e = w->entities + w->movers[i];
        for (uint32_t n = e->nodes; n != AOI_NONE; n = w->nodes[n].next)
            add_pairs_of_node(s, n, aoi_way_of(w, i), e->pos);
    }
    for (uint32_t i = 0; i < w->candidate_count; i++)
        if (!jumps(s, w->candidates[i].target)) w->candidates[kept++] = w->candidates[i];
    w->candidate_count = kept;
    for (uint32_t k = 0; k < s->larges.count; k++) {
        uint32_t target = s->larges.records[k].entity, first = w->candidate_count;
        if (!moves(s, target)) continue;
        add_pairs_of_target(s, target, aoi_position_before(w, target), w->entities[target].pos);
        kept = first;
        for (uint32_t i = first; i < w->candidate_count; i++)
            if (!moves(s, w->nodes[w->candidates[i].node].owner)) w->candidates[kept++] = w->candidates[i];
        w->candidate_count = kept;
        if (jumps(s, target)) add_pairs_of_jump(s, target);
    }
}

/* ---- the invariants ---------------------------------------------------------------------------------------------- */

const char *aoi_check_looks(aoi_space *s) {
    const aoi_larges *l = &s->larges;
    uint32_t places = 0;
    if (l->count && l->moved) sort_places(s, false);
    for (uint32_t i = 0; i < l->count; i++) {
        const aoi_large *r = l->records + i;
        if (r->entity >= l->of_cap || l->of[r->entity] != i || !aoi_is_live(s->world.entities[r->entity].generation))
            return "an extent is of an entity that is gone";
        if (s->world.entities[r->entity].kind != 0) return "a large entity has a kind for the index";
    }
    for (uint32_t k = 0; k < l->level_count; k++) {
        const aoi_large_level *level = l->levels + k;
        for (uint32_t i = 0; i < level->count; i++, places++) {
            const double *pos = s->world.entities[level->places[i].entity].pos;
            if (level->places[i].x != pos[0] || level->places[i].y != pos[1]) return "a large entity stands elsewhere";
            if (i && level->places[i - 1].x > level->places[i].x) return "large entities are not sorted";
        }
    }
    return places == l->count ? NULL : "large entities are counted wrongly";
}
