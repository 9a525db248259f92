/* rings.c - see rings.h. */
#include <string.h>

#include "engines/list/list.h"

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static void open_field(aoi_field *f, double side, int lanes) {
    *f = (aoi_field){.lanes = lanes, .low = {INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY}};
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
    aoi_bag_insert(g, f, tile, values, ref);
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

/* Moves a point to where its tile surely is the same; false: nothing is changed. */
bool aoi_points_step(aoi_list *g, uint32_t entity, const double *to) {
    const aoi_tile_map *map = &g->points.map;
    uint32_t place = g->head.world->entities[entity].home;
    aoi_bag *b = aoi_bag_of(g, place >> AOI_PLACE_SHIFT);
    const aoi_tile *t = map->tiles + b->tile;
    float x = tile_key(map, 0, t, to[0]), y = tile_key(map, 1, t, to[1]);
    if (!is_inner_key(x) || !is_inner_key(y)) return false;
    aoi_bag_lane(b, AOI_POINT_LANES, 0)[place & AOI_PLACE_MASK] = x;
    aoi_bag_lane(b, AOI_POINT_LANES, 1)[place & AOI_PLACE_MASK] = y;
    return true;
}

static void field_move(aoi_list *g, aoi_field *f, uint32_t ref, const double *from, const double *to) {
    uint32_t place = *aoi_bag_home(g, f, ref);
    int k = (int)(place & AOI_PLACE_MASK);
    aoi_bag *b = aoi_bag_of(g, place >> AOI_PLACE_SHIFT);
    if (aoi_field_stays(g, f, place, from, to)) {
        const aoi_tile *t = f->map.tiles + b->tile;
        for (int a = 0; a < 2; a++) aoi_bag_lane(b, f->lanes, a)[k] = tile_key(&f->map, a, t, to[a]);
        return;
    }
    float borders[2] = {0, 0};
    for (int i = 2; i < f->lanes; i++) borders[i - 2] = aoi_bag_lane(b, f->lanes, i)[k];
    aoi_bag_remove(g, f, place);
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
    aoi_bag_remove(g, &g->points, g->head.world->entities[entity].home);
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
    for (int undo = 0; undo < 2 && undo <= (ready ? 0 : 1); undo++)
        for (uint32_t t = 0; t < old.map.top; t++)
            for (uint32_t i = old.map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next)
                for (int k = 0; k < (int)aoi_bag_of(g, i)->count; k++) {
                    uint32_t ref = aoi_bag_refs(aoi_bag_of(g, i), AOI_POINT_LANES)[k];
                    if (undo) *aoi_bag_home(g, &old, ref) = aoi_place_of(i, k);
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

aoi_field *aoi_rings_field(aoi_list *g, const aoi_bounds *b, bool seeks) {
    double side = ring_side(g, fmax(b->reach[0], b->reach[1]));
    aoi_field *unused = NULL;
    for (int i = 0; i < g->ring_count; i++) {
        if (g->rings[i].map.side == side && g->rings[i].seeks == seeks) return g->rings + i;
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
    unused->seeks = seeks;
    return unused;
}

void aoi_rings_note_mask(aoi_list *g, uint32_t node) {
    const aoi_node_record *n = g->head.world->nodes + node;
    aoi_field *f = g->rings + (n->level - AOI_MOST_LEVELS);
    f->masks |= n->mask;
    if (n->flags & AOI_NODE_OVERRIDES) f->excepts = true;
}

static void clear_bounds(aoi_field *f) {
    for (int a = 0; a < 2; a++) f->low[a] = INFINITY, f->high[a] = -INFINITY;
    f->most = 0;
}

static void extend_field(aoi_field *f, const double *at, const double *reach) {
    for (int a = 0; a < 2; a++) {
        f->low[a] = fmin(f->low[a], at[a] - reach[a]);
        f->high[a] = fmax(f->high[a], at[a] + reach[a]);
    }
    f->most = fmax(f->most, fmax(reach[0], reach[1]));
}

/* Whether something that goes from one point to the other may come near a ring. */
static inline bool field_is_near(const aoi_field *f, const double *from, const double *to) {
    bool near = true;
    for (int a = 0; a < 2; a++)
        near &= (from[a] >= f->low[a] || to[a] >= f->low[a]) && (from[a] <= f->high[a] || to[a] <= f->high[a]);
    return near;
}

void aoi_rings_insert(aoi_list *g, aoi_field *f, uint32_t node, const double *at, const aoi_bounds *b) {
    float borders[2];
    find_borders(b, f->map.inverse, UNSCALED, borders);
    field_insert(g, f, at, borders, node);
    f->nodes++;
    extend_field(f, at, b->reach);
    g->head.world->nodes[node].level = AOI_MOST_LEVELS + (uint32_t)(f - g->rings);
    aoi_rings_note_mask(g, node);
}

void aoi_rings_remove(aoi_list *g, uint32_t node) {
    aoi_node_record *n = g->head.world->nodes + node;
    aoi_field *f = g->rings + (n->level - AOI_MOST_LEVELS);
    aoi_bag_remove(g, f, n->home);
    if (--f->nodes) return;
    clear_bounds(f);
    g->head.world->untidy = true; /* the field closes */
}

void aoi_rings_tidy(aoi_list *g) {
    for (int i = 0; i < g->ring_count; i++)
        if (g->rings[i].nodes) aoi_tiles_tidy(&g->rings[i].map);
        else close_field(g, g->rings + i);
}

void aoi_rings_move(aoi_list *g, uint32_t node, const double *from, const double *to) {
    const aoi_node_record *n = g->head.world->nodes + node;
    aoi_field *f = g->rings + (n->level - AOI_MOST_LEVELS);
    field_move(g, f, node, from, to);
    if (f->nodes == 1) clear_bounds(f);
    extend_field(f, to, n->reach);
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

static inline uint64_t ring_bits(const aoi_list *g, aoi_bag *b, const aoi_lanes_ends *e) {
    const float *x = aoi_bag_lane(b, AOI_RING_LANES, 0), *in = aoi_bag_lane(b, AOI_RING_LANES, 2);
    const float *y = aoi_bag_lane(b, AOI_RING_LANES, 1), *out = aoi_bag_lane(b, AOI_RING_LANES, 3);
    return g->rings_changing(x, y, in, out, (int)b->count, e);
}

void aoi_rings_passed(aoi_list *g, uint32_t entity, const double *from, const double *to) {
    const aoi_world *w = g->head.world;
    uint64_t kind = w->entities[entity].kind;
    float most_in = w->dims == 3 && from[2] != to[2] ? 0 : INFINITY;
    look l;
    l.g = g, l.from = from, l.to = to, l.mover = entity, l.node = AOI_NONE, l.count = 0;
    l.ends = (aoi_lanes_ends){.scale = {1, 1}, .most_in = most_in};
    for (int r = 0; r < g->ring_count; r++) {
        const aoi_field *f = g->rings + r;
        if (!f->nodes || !field_is_near(f, from, to) || !((f->masks & kind) || f->excepts)) continue;
        l.span[0] = ring_span(f, from);
        l.span[1] = ring_span(f, to);
        tile_walk walk;
        walk_begin(&walk, &f->map, l.span, l.span + 1);
        for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
            set_ends(&l, &f->map, f->map.tiles + t);
            for (uint32_t i = f->map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
                aoi_bag *b = aoi_bag_of(g, i);
                look_note(&l, aoi_bag_refs(b, AOI_RING_LANES), ring_bits(g, b, &l.ends));
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
    if (g->sought.mask && aoi_seeks(&g->sought, w->nodes + node)) {
        aoi_sought_passed(g, node, &b, from, to);
        return;
    }
    double scale[2];
    float borders[2];
    look l;
    find_scale(&b, scale);
    find_borders(&b, map->inverse, scale, borders);
    borders[1] = fabsf(borders[1]);
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
            const float *x = aoi_bag_lane(bag, AOI_POINT_LANES, 0), *y = aoi_bag_lane(bag, AOI_POINT_LANES, 1);
            look_note(&l, aoi_bag_refs(bag, AOI_POINT_LANES),
                      g->points_changing(x, y, borders, borders + 1, (int)bag->count, &l.ends));
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
            uint64_t bits = aoi_lanes_many(aoi_bag_lane(b, AOI_POINT_LANES, 0), (int)b->count, x0, x1) &
                            aoi_lanes_many(aoi_bag_lane(b, AOI_POINT_LANES, 1), (int)b->count, y0, y1) &
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
        if (!f->nodes || !field_is_near(f, at, at)) continue;
        l.span[0] = l.span[1] = ring_span(f, at);
        tile_walk walk;
        walk_begin(&walk, &f->map, l.span, &AOI_NOWHERE);
        for (uint32_t t; (t = walk_next(&walk)) != AOI_NONE;) {
            set_ends(&l, &f->map, f->map.tiles + t);
            for (uint32_t i = f->map.tiles[t].axis[0].head; i != AOI_NONE; i = aoi_bag_of(g, i)->next) {
                aoi_bag *b = aoi_bag_of(g, i);
                const uint32_t *refs = aoi_bag_refs(b, AOI_RING_LANES);
                for (uint64_t bits = ring_bits(g, b, &l.ends); bits; bits &= bits - 1)
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
    if (ref >= (is_ring ? w->node_top : w->entity_top) || *aoi_bag_home(g, f, ref) != place) return false;
    if (is_ring) {
        float borders[2];
        aoi_bounds bounds = aoi_bounds_of(w, ref);
        entity = w->nodes[ref].owner;
        find_borders(&bounds, f->map.inverse, UNSCALED, borders);
        for (int i = 0; i < 2; i++)
            if (aoi_bag_lane(b, f->lanes, 2 + i)[k] != borders[i]) return false;
        if (w->nodes[ref].mask & ~f->masks) return false;
        if (g->rings + (w->nodes[ref].level - AOI_MOST_LEVELS) != f || !(bounds.reach[0] <= f->most)) return false;
    }
    const double *p = w->entities[entity].pos;
    for (int a = 0; a < 2 && is_ring; a++)
        if (p[a] - w->nodes[ref].reach[a] < f->low[a] || p[a] + w->nodes[ref].reach[a] > f->high[a]) return false;
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
