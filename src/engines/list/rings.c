/* rings.c - see rings.h. */
#include <string.h>

#include "engines/list/list.h"

/* ---- bags -------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(aoi_bag) == 16, "so that the smallest block holds four points");

aoi_bag *aoi_bag_of(const aoi_list *g, uint32_t block) {
    return aoi_pool_at(&g->lists.pool, block);
}

static uint32_t *bag_home(const aoi_list *g, const aoi_field *f, uint32_t ref) {
    return f->lanes == AOI_POINT_LANES ? &g->head.world->entities[ref].home : &g->head.world->nodes[ref].home;
}

static uint32_t new_bag(aoi_list *g, int size, uint32_t tile, uint32_t next) {
    uint32_t block = aoi_pool_take(&g->lists.pool, size);
    *aoi_bag_of(g, block) = (aoi_bag){next, tile, 0, (uint32_t)size};
    return block;
}

static void copy_entry(const aoi_field *f, aoi_bag *from, int k, aoi_bag *to, int into) {
    for (int lane = 0; lane <= f->lanes; lane++) /* the refs are the last lane */
        memcpy(aoi_bag_lane(to, f->lanes, lane) + into, aoi_bag_lane(from, f->lanes, lane) + k, sizeof(float));
}

static uint32_t enlarge_bag(aoi_list *g, const aoi_field *f, uint32_t head) {
    aoi_bag *b = aoi_bag_of(g, head);
    uint32_t block = new_bag(g, aoi_pool_size(&g->lists.pool, (int)b->size + 1), b->tile, b->next);
    aoi_bag *larger = aoi_bag_of(g, block);
    for (; larger->count < b->count; larger->count++) {
        int k = (int)larger->count;
        copy_entry(f, b, k, larger, k);
        *bag_home(g, f, aoi_bag_refs(b, f->lanes)[k]) = aoi_place_of(block, k);
    }
    aoi_pool_put(&g->lists.pool, head, (int)b->size);
    return block;
}

static void bag_insert(aoi_list *g, aoi_field *f, uint32_t tile, const float *values, uint32_t ref) {
    aoi_tile *t = f->map.tiles + tile;
    uint32_t *head = &t->axis[0].head;
    const aoi_bag *first = *head != AOI_NONE ? aoi_bag_of(g, *head) : NULL;
    if (!first || (first->size == AOI_LARGEST && first->count == (uint32_t)aoi_bag_cap(first->size, f->lanes)))
        *head = new_bag(g, aoi_pool_size(&g->lists.pool, 0), tile, *head);
    else if (first->count == (uint32_t)aoi_bag_cap(first->size, f->lanes)) *head = enlarge_bag(g, f, *head);
    aoi_bag *b = aoi_bag_of(g, *head);
    int k = (int)b->count++;
    for (int lane = 0; lane < f->lanes; lane++) aoi_bag_lane(b, f->lanes, lane)[k] = values[lane];
    aoi_bag_refs(b, f->lanes)[k] = ref;
    *bag_home(g, f, ref) = aoi_place_of(*head, k);
    aoi_tiles_count(&f->map, t, 1);
}

/* The last entry of the first block fills the hole. */
static void bag_remove(aoi_list *g, aoi_field *f, uint32_t place) {
    aoi_bag *b = aoi_bag_of(g, place >> AOI_PLACE_SHIFT);
    aoi_tile *t = f->map.tiles + b->tile;
    uint32_t head = t->axis[0].head;
    aoi_bag *first = aoi_bag_of(g, head);
    int k = (int)(place & AOI_PLACE_MASK), last = (int)--first->count;
    if (first != b || k != last) {
        copy_entry(f, first, last, b, k);
        *bag_home(g, f, aoi_bag_refs(b, f->lanes)[k]) = place;
    }
    if (!first->count) {
        t->axis[0].head = first->next;
        aoi_pool_put(&g->lists.pool, head, (int)first->size);
    }
    aoi_tiles_count(&f->map, t, -1);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static void open_field(aoi_field *f, double side, int lanes) {
    *f = (aoi_field){.lanes = lanes};
    aoi_tiles_open(&f->map, side);
}

static void close_field(aoi_list *g, aoi_field *f) {
    for (uint32_t t = 0; t < f->map.top; t++)
        for (uint32_t i = f->map.tiles[t].axis[0].head, next; i != AOI_NONE; i = next) {
            next = aoi_bag_of(g, i)->next;
            aoi_pool_put(&g->lists.pool, i, (int)aoi_bag_of(g, i)->size);
        }
    aoi_tiles_close(aoi_list_memory(g), &f->map);
}

void aoi_fields_close(aoi_list *g) {
    close_field(g, &g->points);
    for (int i = 0; i < g->ring_count; i++) close_field(g, g->rings + i);
}

bool aoi_field_ready(aoi_list *g, aoi_field *f, const double *at) {
    aoi_memory *m = aoi_list_memory(g);
    return aoi_tiles_make(m, &f->map, aoi_tiles_number(&f->map, at[0]), aoi_tiles_number(&f->map, at[1])) != AOI_NONE &&
           aoi_pool_reserve(m, &g->lists.pool, 1);
}

/* A coordinate as it is compared: from the corner of the tile, in sides; never falls while the coordinate rises. */
static inline float tile_key(const aoi_tile_map *t, int axis, const aoi_tile *tile, double v) {
    return (float)((v - aoi_tiles_base(t, axis, tile->tx, tile->ty)) * t->inverse);
}

static void field_insert(aoi_list *g, aoi_field *f, const double *at, const float *borders, uint32_t ref) {
    uint32_t tile = aoi_tiles_find(&f->map, aoi_tiles_number(&f->map, at[0]), aoi_tiles_number(&f->map, at[1]));
    const aoi_tile *t = f->map.tiles + tile;
    float values[AOI_RING_LANES] = {tile_key(&f->map, 0, t, at[0]), tile_key(&f->map, 1, t, at[1])};
    if (borders) memcpy(values + 2, borders, 2 * sizeof *borders);
    bag_insert(g, f, tile, values, ref);
}

/* Most moves end well within the tile. */
static inline bool is_inner_key(float key) {
    return 0x1p-20F < key && key < 1 - 0x1p-20F;
}

bool aoi_field_stays(const aoi_list *g, const aoi_field *f, uint32_t place, const double *from, const double *to) {
    const aoi_tile *t = f->map.tiles + aoi_bag_of(g, place >> AOI_PLACE_SHIFT)->tile;
    bool inner = is_inner_key(tile_key(&f->map, 0, t, to[0])) && is_inner_key(tile_key(&f->map, 1, t, to[1]));
    return inner || aoi_tiles_same(&f->map, from, to);
}

static void field_move(aoi_list *g, aoi_field *f, uint32_t ref, const double *from, const double *to) {
    uint32_t place = *bag_home(g, f, ref);
    int k = (int)(place & AOI_PLACE_MASK);
    aoi_bag *b = aoi_bag_of(g, place >> AOI_PLACE_SHIFT);
    if (aoi_field_stays(g, f, place, from, to)) {
        const aoi_tile *t = f->map.tiles + b->tile;
        for (int a = 0; a < 2; a++) aoi_bag_lane(b, f->lanes, a)[k] = tile_key(&f->map, a, t, to[a]);
        return;
    }
    float borders[2] = {0, 0};
    for (int i = 2; i < f->lanes; i++) borders[i - 2] = aoi_bag_lane(b, f->lanes, i)[k];
    bag_remove(g, f, place);
    field_insert(g, f, to, borders, ref);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

enum { POINTS_LEAST = 4, POINTS_MOST = 40 }; /* in a tile that is in use, on average */

void aoi_points_open(aoi_list *g) {
    open_field(&g->points, g->hint > 0 && isfinite(g->hint) ? g->hint : AOI_DEFAULT_SIDE, AOI_POINT_LANES);
    g->points.next_check = 256;
}

static void request_check(aoi_list *g) {
    if (g->points.map.used + g->head.world->entity_count >= g->points.next_check) g->head.world->untidy = true;
}

void aoi_points_insert(aoi_list *g, uint32_t entity, const double *at) {
    field_insert(g, &g->points, at, NULL, entity);
    request_check(g);
}

void aoi_points_remove(aoi_list *g, uint32_t entity) {
    bag_remove(g, &g->points, g->head.world->entities[entity].home);
}

void aoi_points_move(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    field_move(g, &g->points, entity, from, to);
}

uint32_t aoi_point_beside(const aoi_list *g, uint32_t entity) {
    aoi_bag *b = aoi_bag_of(g, g->head.world->entities[entity].home >> AOI_PLACE_SHIFT);
    const uint32_t *refs = aoi_bag_refs(b, AOI_POINT_LANES);
    if (refs[0] != entity) return refs[0];
    return b->count > 1 ? refs[1] : AOI_NONE;
}

/* All points into tiles of another side.  Where memory is refused they stay in those they are in. */
static void rebuild_points(aoi_list *g, double side) {
    aoi_field old = g->points, now;
    const aoi_entity_record *e = g->head.world->entities;
    bool ready = true;
    open_field(&now, side, AOI_POINT_LANES);
    for (int undo = 0; undo < 2 && undo <= !ready; undo++)
        for (uint32_t t = 0; t < old.map.top; t++)
            for (uint32_t i = old.map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next)
                for (int k = 0; k < (int)aoi_bag_of(g, i)->count; k++) {
                    uint32_t ref = aoi_bag_refs(aoi_bag_of(g, i), AOI_POINT_LANES)[k];
                    if (undo) *bag_home(g, &old, ref) = aoi_place_of(i, k);
                    else if (ready && (ready = aoi_field_ready(g, &now, e[ref].pos)))
                        field_insert(g, &now, e[ref].pos, NULL, ref);
                }
    close_field(g, ready ? &old : &now);
    if (ready) g->points = now;
}

void aoi_points_tidy(aoi_list *g) {
    aoi_field *f = &g->points;
    uint32_t count = g->head.world->entity_count;
    aoi_tiles_tidy(&f->map);
    if (f->map.used + count < f->next_check) return;
    double mean = (double)count / (f->map.used - f->map.empty + 1.0), side = f->map.side;
    for (int i = 0; i < 3 && mean < POINTS_LEAST; i++, mean *= 4) side *= 2;
    for (int i = 0; i < 3 && mean > POINTS_MOST; i++, mean /= 4) side /= 2;
    if (side != f->map.side && side >= AOI_LEAST_SIDE && isfinite(side)) rebuild_points(g, side);
    g->points.next_check = (g->points.map.used + count) * 2;
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* What floats of coordinates, distances and their squares lose, and doubles of bounds far from the origin, in sides. */
static double border_margin(double outer) {
    return 0x1p-18 * (1 + outer);
}

/* The borders, squared.  The inner one is 0 if there is none, or none that floats tell, and negative where a pair between
 * the borders may change; the outer one is negative if it is that of a box.  Of a circle the hole is the square within. */
static void find_borders(const aoi_bounds *b, double inverse, const double *scale, float *borders) {
    bool round = b->shape == AOI_CIRCLE;
    double outer = fmax(b->reach[0] * scale[0], b->reach[1] * scale[1]) * inverse;
    double inner = fmin(b->hole[0] * scale[0], b->hole[1] * scale[1]) * inverse * (round ? 1.41421356 : 1);
    double margin = border_margin(outer) * scale[0] * scale[1];
    bool zones = round || (b->shape == AOI_SQUARE && b->reach[0] == b->reach[1] && b->hole[0] == b->hole[1]);
    borders[0] = inner > 2048 * margin ? (float)((inner - margin) * (inner - margin)) * (zones ? 1 : -1) : 0;
    borders[1] = (float)((outer + margin) * (outer + margin)) * (round ? 1 : -1);
}

static const double UNSCALED[2] = {1, 1};

/* At least twice the reach, and no less than that of the points: a few tiles of many entries cost less than many tiles of
 * a few. */
static double ring_side(const aoi_list *g, double reach) {
    return fmax(aoi_level_side(isfinite(g->hint) ? g->hint : 0, 2 * reach), g->points.map.side);
}

aoi_field *aoi_rings_field(aoi_list *g, const aoi_bounds *b) {
    double side = ring_side(g, fmax(b->reach[0], b->reach[1]));
    aoi_field *unused = NULL;
    for (int i = 0; i < g->ring_count; i++) {
        if (g->rings[i].map.side == side) return g->rings + i;
        if (g->rings[i].map.side == 0) unused = g->rings + i;
    }
    if (!unused && g->ring_count < AOI_MOST_LEVELS - 1) unused = g->rings + g->ring_count++;
    if (!unused) { /* the last is one tile, for all that fit nowhere else */
        side = INFINITY;
        unused = g->rings + AOI_MOST_LEVELS - 1;
        g->ring_count = AOI_MOST_LEVELS;
        if (unused->map.side != 0) return unused;
    }
    open_field(unused, side, AOI_RING_LANES);
    return unused;
}

void aoi_rings_insert(aoi_list *g, aoi_field *f, uint32_t node, const double *at, const aoi_bounds *b) {
    float borders[2];
    find_borders(b, f->map.inverse, UNSCALED, borders);
    field_insert(g, f, at, borders, node);
    f->nodes++;
    f->most = fmax(f->most, fmax(b->reach[0], b->reach[1]));
    g->head.world->nodes[node].level = AOI_MOST_LEVELS + (uint32_t)(f - g->rings);
}

void aoi_rings_remove(aoi_list *g, uint32_t node) {
    aoi_node_record *n = g->head.world->nodes + node;
    aoi_field *f = g->rings + (n->level - AOI_MOST_LEVELS);
    bag_remove(g, f, n->home);
    if (--f->nodes) return;
    f->most = 0;
    g->head.world->untidy = true;
}

void aoi_rings_tidy(aoi_list *g) {
    for (int i = 0; i < g->ring_count; i++)
        if (g->rings[i].nodes) aoi_tiles_tidy(&g->rings[i].map);
        else close_field(g, g->rings + i);
}

void aoi_rings_move(aoi_list *g, uint32_t node, const double *from, const double *to) {
    field_move(g, g->rings + (g->head.world->nodes[node].level - AOI_MOST_LEVELS), node, from, to);
}

/* ---- looking around ---------------------------------------------------------------------------------------------- */

/* The tiles of two spans, each once; where these are more than there are in use, all tiles. */
typedef struct tile_walk {
    const aoi_tile_map *map;
    aoi_span span[2];
    int second;
    int32_t tx, ty;
    bool all;
    uint32_t i;
} tile_walk;

static bool is_large(const aoi_tile_map *t, const aoi_span *s) {
    return ((double)s->x1 - s->x0 + 1) * ((double)s->y1 - s->y0 + 1) > (double)t->top;
}

static void walk_begin(tile_walk *w, const aoi_tile_map *t, const aoi_span *s0, const aoi_span *s1) {
    bool same = memcmp(s0, s1, sizeof *s0) == 0;
    *w = (tile_walk){.map = t, .span = {*s0, same ? AOI_NOWHERE : *s1}, .tx = s0->x0, .ty = s0->y0};
    w->all = is_large(t, s0) || is_large(t, s1);
}

static uint32_t walk_all(tile_walk *w) {
    while (w->i < w->map->top) {
        const aoi_tile *t = w->map->tiles + w->i++;
        if (!aoi_span_holds(w->span, t->tx, t->ty) && !aoi_span_holds(w->span + 1, t->tx, t->ty)) continue;
        if (aoi_tiles_find(w->map, t->tx, t->ty) == w->i - 1) return w->i - 1;
    }
    return AOI_NONE;
}

static uint32_t walk_next(tile_walk *w) {
    if (w->all) return walk_all(w);
    for (;;) {
        const aoi_span *s = w->span + w->second;
        if (w->ty > s->y1) {
            if (w->second++) return AOI_NONE;
            w->tx = w->span[1].x0;
            w->ty = w->span[1].y0;
            continue;
        }
        int32_t tx = w->tx, ty = w->ty;
        if (w->tx++ == s->x1) w->tx = s->x0, w->ty++;
        if (w->second && aoi_span_holds(w->span, tx, ty)) continue;
        uint32_t i = aoi_tiles_find(w->map, tx, ty);
        if (i != AOI_NONE) return i;
    }
}

enum { LOOK_MOST = 256 };

typedef struct look {
    aoi_list *g;
    const double *from, *to;
    uint32_t mover, node; /* node: AOI_NONE where rings are looked for */
    aoi_span span[2];
    aoi_lanes_ends ends;
    int count;
    uint32_t found[LOOK_MOST + 64];
} look;

/* The tiles of rings that a point may be in; the bounds of a ring are rounded sums, which the span allows for. */
static aoi_span ring_span(const aoi_field *f, const double *p) {
    return aoi_tiles_span_around(&f->map, p, f->most + fabs(p[0]) * 0x1p-50, f->most + fabs(p[1]) * 0x1p-50);
}

static bool is_border_tile(int32_t number) {
    return number <= -AOI_CELL_MOST || number >= AOI_CELL_MOST;
}

/* Floats do not tell: every entry of the tile may be passed. */
static void take_all(look *l) {
    for (int i = 0; i < 2; i++) l->ends.x[i] = l->ends.y[i] = NAN;
}

/* The ends of the move as the tile's entries see them; an end from which the tile is out of reach is infinitely far. */
static inline void set_ends(look *l, const aoi_tile_map *map, const aoi_tile *t) {
    double x = aoi_tiles_base(map, 0, t->tx, t->ty), y = aoi_tiles_base(map, 1, t->tx, t->ty);
    const double *end[2] = {l->from, l->to};
    for (int i = 0; i < 2; i++) {
        l->ends.x[i] = (float)((end[i][0] - x) * map->inverse);
        l->ends.y[i] = (float)((end[i][1] - y) * map->inverse);
        if (!aoi_span_holds(l->span + i, t->tx, t->ty)) l->ends.x[i] = l->ends.y[i] = INFINITY;
    }
    if (is_border_tile(t->tx) || is_border_tile(t->ty) || isinf(map->side)) take_all(l);
}

/* Candidates among the rings, or points, that have been found; the records were prefetched. */
static void look_judge(look *l) {
    aoi_world *w = l->g->head.world;
    uint64_t kind = w->entities[l->mover].kind;
    for (int i = 0; i < l->count && l->node == AOI_NONE; i++) {
        const aoi_node_record *n = w->nodes + l->found[i];
        if (n->owner != l->mover && aoi_may_see(n, kind)) aoi_add_candidate(w, l->found[i], l->mover);
    }
    for (int i = 0; i < l->count && l->node != AOI_NONE; i++)
        if (l->found[i] != l->mover && aoi_may_see(w->nodes + l->node, w->entities[l->found[i]].kind))
            aoi_add_candidate(w, l->node, l->found[i]);
    l->count = 0;
}

static inline void look_note(look *l, const uint32_t *refs, uint64_t bits) {
    const aoi_world *w = l->g->head.world;
    for (; bits; bits &= bits - 1) {
        uint32_t ref = refs[aoi_lanes_first(bits)];
        if (l->node == AOI_NONE) AOI_PREFETCH(w->nodes + ref);
        else AOI_PREFETCH(w->entities + ref);
        l->found[l->count++] = ref;
    }
}

static uint64_t ring_bits(aoi_bag *b, const aoi_lanes_ends *e) {
    const float *x = aoi_bag_lane(b, AOI_RING_LANES, 0), *y = aoi_bag_lane(b, AOI_RING_LANES, 1);
    const float *in = aoi_bag_lane(b, AOI_RING_LANES, 2), *out = aoi_bag_lane(b, AOI_RING_LANES, 3);
    uint64_t bits = 0;
    for (uint32_t k = 0; k < b->count; k += AOI_LANES_BORDER)
        bits |= (uint64_t)aoi_lanes_rings(x + k, y + k, in + k, out + k, e) << k;
    return bits & aoi_lanes_mask((int)b->count);
}

static uint64_t point_bits(aoi_bag *b, float in, float out, const aoi_lanes_ends *e) {
    const float *x = aoi_bag_lane(b, AOI_POINT_LANES, 0), *y = aoi_bag_lane(b, AOI_POINT_LANES, 1);
    uint64_t bits = 0;
    for (uint32_t k = 0; k < b->count; k += AOI_LANES_BORDER)
        bits |= (uint64_t)aoi_lanes_points(x + k, y + k, in, out, e) << k;
    return bits & aoi_lanes_mask((int)b->count);
}

void aoi_rings_passed(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    float most_in = w->dims == 3 && from[2] != to[2] ? 0 : INFINITY;
    look l;
    l.g = g, l.from = from, l.to = to, l.mover = entity, l.node = AOI_NONE, l.count = 0;
    l.ends = (aoi_lanes_ends){.scale = {1, 1}, .most_in = most_in};
    for (int r = 0; r < g->ring_count; r++) {
        const aoi_field *f = g->rings + r;
        if (!f->nodes) continue;
        l.span[0] = ring_span(f, from);
        l.span[1] = ring_span(f, to);
        tile_walk walk;
        walk_begin(&walk, &f->map, l.span, l.span + 1);
        for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
            set_ends(&l, &f->map, f->map.tiles + t);
            for (uint32_t i = f->map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
                aoi_bag *b = aoi_bag_of(g, i);
                look_note(&l, aoi_bag_refs(b, AOI_RING_LANES), ring_bits(b, &l.ends));
                if (l.count > LOOK_MOST) look_judge(&l);
                g->head.steps++;
            }
        }
    }
    look_judge(&l);
}

/* How much to stretch each axis, so that the box becomes a square, or nearly so if it is very narrow. */
static void find_scale(const aoi_bounds *b, double scale[2]) {
    double most = fmax(b->reach[0], b->reach[1]);
    for (int a = 0; a < 2; a++) scale[a] = b->reach[a] > most / 64 ? most / b->reach[a] : most > 0 ? 64 : 1;
}

void aoi_points_passed(aoi_list *g, uint32_t node, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    const aoi_tile_map *map = &g->points.map;
    aoi_bounds b = aoi_bounds_of(w, node);
    double scale[2];
    float borders[2];
    look l;
    find_scale(&b, scale);
    find_borders(&b, map->inverse, scale, borders);
    if (w->dims == 3 && from[2] != to[2]) borders[0] = 0;
    l.g = g, l.from = from, l.to = to, l.mover = w->nodes[node].owner, l.node = node, l.count = 0;
    l.ends = (aoi_lanes_ends){
        .scale = {(float)scale[0], (float)scale[1]}, .most_in = INFINITY, .boxes = b.shape != AOI_CIRCLE};
    l.span[0] = aoi_tiles_span_around(map, from, b.reach[0], b.reach[1]);
    l.span[1] = aoi_tiles_span_around(map, to, b.reach[0], b.reach[1]);
    bool clamped = false; /* so far out that bounds are coarser than tiles */
    for (int a = 0; a < 2; a++)
        clamped |= is_border_tile(aoi_tiles_number(map, from[a])) || is_border_tile(aoi_tiles_number(map, to[a]));
    tile_walk walk;
    walk_begin(&walk, map, l.span, l.span + 1);
    for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
        set_ends(&l, map, map->tiles + t);
        if (clamped) take_all(&l);
        for (uint32_t i = map->tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
            aoi_bag *bag = aoi_bag_of(g, i);
            look_note(&l, aoi_bag_refs(bag, AOI_POINT_LANES), point_bits(bag, borders[0], fabsf(borders[1]), &l.ends));
            if (l.count > LOOK_MOST) look_judge(&l);
            g->head.steps++;
        }
    }
    look_judge(&l);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

void aoi_points_in_box(aoi_list *g, const double *lo, const double *hi) {
    const aoi_tile_map *map = &g->points.map;
    aoi_span s = aoi_tiles_span(map, lo, hi);
    tile_walk walk;
    walk_begin(&walk, map, &s, &AOI_NOWHERE);
    for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
        const aoi_tile *tile = map->tiles + t;
        float x0 = tile_key(map, 0, tile, lo[0]), x1 = tile_key(map, 0, tile, hi[0]);
        float y0 = tile_key(map, 1, tile, lo[1]), y1 = tile_key(map, 1, tile, hi[1]);
        for (uint32_t i = tile->axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
            aoi_bag *b = aoi_bag_of(g, i);
            const uint32_t *refs = aoi_bag_refs(b, AOI_POINT_LANES);
            uint64_t bits =
                aoi_lanes_many(aoi_bag_lane(b, AOI_POINT_LANES, 0), (int)b->count, x0, x1, aoi_lanes_plain) &
                aoi_lanes_many(aoi_bag_lane(b, AOI_POINT_LANES, 1), (int)b->count, y0, y1, aoi_lanes_plain) &
                aoi_lanes_mask((int)b->count);
            for (; bits; bits &= bits - 1) aoi_add_hit(g->head.world, refs[aoi_lanes_first(bits)]);
        }
    }
}

void aoi_rings_around(aoi_list *g, const double *at) {
    look l;
    l.g = g, l.from = l.to = at;
    l.ends = (aoi_lanes_ends){.scale = {1, 1}, .boxes = true};
    for (int r = 0; r < g->ring_count; r++) {
        const aoi_field *f = g->rings + r;
        if (!f->nodes) continue;
        l.span[0] = l.span[1] = ring_span(f, at);
        tile_walk walk;
        walk_begin(&walk, &f->map, l.span, &AOI_NOWHERE);
        for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
            set_ends(&l, &f->map, f->map.tiles + t);
            for (uint32_t i = f->map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
                aoi_bag *b = aoi_bag_of(g, i);
                const uint32_t *refs = aoi_bag_refs(b, AOI_RING_LANES);
                for (uint64_t bits = ring_bits(b, &l.ends); bits; bits &= bits - 1)
                    aoi_add_hit(g->head.world, refs[aoi_lanes_first(bits)]);
            }
        }
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static bool entry_holds(const aoi_list *g, aoi_field *f, const aoi_tile *t, aoi_bag *b, int k, uint32_t place) {
    const aoi_world *w = g->head.world;
    uint32_t ref = aoi_bag_refs(b, f->lanes)[k], entity = ref;
    bool is_ring = f->lanes == AOI_RING_LANES;
    if (ref >= (is_ring ? w->node_top : w->entity_top) || *bag_home(g, f, ref) != place) return false;
    if (is_ring) {
        float borders[2];
        aoi_bounds bounds = aoi_bounds_of(w, ref);
        entity = w->nodes[ref].owner;
        find_borders(&bounds, f->map.inverse, UNSCALED, borders);
        for (int i = 0; i < 2; i++)
            if (aoi_bag_lane(b, f->lanes, 2 + i)[k] != borders[i]) return false;
        if (g->rings + (w->nodes[ref].level - AOI_MOST_LEVELS) != f || !(bounds.reach[0] <= f->most)) return false;
    }
    const double *p = w->entities[entity].pos;
    return aoi_tiles_number(&f->map, p[0]) == t->tx && aoi_tiles_number(&f->map, p[1]) == t->ty &&
           aoi_bag_lane(b, f->lanes, 0)[k] == tile_key(&f->map, 0, t, p[0]) &&
           aoi_bag_lane(b, f->lanes, 1)[k] == tile_key(&f->map, 1, t, p[1]);
}

static const char *check_field(const aoi_list *g, aoi_field *f, uint32_t *entries) {
    *entries = 0;
    for (uint32_t t = 0; t < f->map.top; t++) {
        const aoi_tile *tile = f->map.tiles + t;
        if (aoi_tiles_find(&f->map, tile->tx, tile->ty) != t) continue; /* unused */
        uint32_t n = 0;
        for (uint32_t i = tile->axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
            aoi_bag *b = aoi_bag_of(g, i);
            if (!b->count || b->count > (uint32_t)aoi_bag_cap(b->size, f->lanes) || b->tile != t)
                return "a bag has a wrong count or tile";
            for (int k = 0; k < (int)b->count; k++)
                if (!entry_holds(g, f, tile, b, k, aoi_place_of(i, k)))
                    return "a point or ring is not where it was put";
            n += b->count;
        }
        if (n != tile->entries) return "a tile counts its points or rings wrongly";
        *entries += n;
    }
    return aoi_tiles_check(&f->map);
}

const char *aoi_fields_check(aoi_list *g) {
    uint32_t entries;
    const char *wrong = check_field(g, &g->points, &entries);
    for (int i = 0; i < g->ring_count && !wrong; i++) {
        wrong = check_field(g, g->rings + i, &entries);
        if (!wrong && entries != g->rings[i].nodes) wrong = "a field counts its rings wrongly";
    }
    return wrong;
}
