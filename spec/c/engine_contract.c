/* The contract of core/broad_phase.h and core/engine.h, for every engine in the table beside the grid: random histories
 * against a mock space that holds nothing but records.
 *
 *   verb --> grid and engine --> candidates, hits
 *        \-> brute force over the records, by the definition in engine.h: every pair that may have changed is reported,
 *            no pair is reported twice, and a verb for which memory is refused leaves the index as it was
 *
 * Of sectors and cylinders, whose borders no box tells, the rule itself says what may have changed.
 *
 * Of AOI_SQUARE and AOI_CIRCLE an index may report only the pairs that pass the border of the radius or that of `keep`,
 * as what stays between the two does not change, and of circles only the watchers that have the point within `keep`.  The
 * bounds tell both borders, of a circle (not of a sphere) the inner one by the square that is inscribed in it. */
#include <math.h>

#define AOI_ENGINES_ALONE /* linked without the core: the engines are in here */
#include "aoi.c"
#include "host.h"

enum { ENTITIES = 64, NODES = 96, STEPS = 2500, RUNS = 12 };

typedef struct mock {
    aoi_records w;
    aoi_broad_phase index;
    double scale, origin, spread; /* of the history: a step, where the world lies, its size in steps */
    bool varied;                  /* kinds and masks: most nodes look for a kind that few entities are of */
    bool lattice;                 /* positions are whole steps, so that many are equal */
    uint32_t alive[ENTITIES], alive_count, free_entities[ENTITIES], free_count;
    uint32_t in_use[NODES], node_count, free_nodes[NODES], free_node_count;
    unsigned char seen[NODES][ENTITIES]; /* candidates of the last verb */
    unsigned long candidates;
} mock;

static mock m;
static aoi_shape *shapes[NODES]; /* bounds that do not follow from radius and keep */

/* ---- the definition ---------------------------------------------------------------------------------------------- */

static bool in_side(double w, double t, double r) {
    return w - r <= t && t <= w + r;
}

static bool in_box(const aoi_bounds *b, const double *w, const double *t) {
    return in_side(w[0], t[0], b->reach[0]) && in_side(w[1], t[1], b->reach[1]) &&
           (m.w.dims < 3 || in_side(w[2], t[2], b->reach[2]));
}

static bool in_hole(const aoi_bounds *b, const double *w, const double *t) {
    return b->inner[0] >= 0 && b->inner[1] >= 0 && in_side(w[0], t[0], b->inner[0]) && in_side(w[1], t[1], b->inner[1]);
}

static bool in_ball(const double *w, const double *t, double r) {
    double x = t[0] - w[0], y = t[1] - w[1], z = m.w.dims < 3 ? 0 : t[2] - w[2];
    volatile double xx = x * x, yy = y * y, zz = z * z, rr = r * r;
    return xx + yy + zz <= rr;
}

static bool in_cube(const double *w, const double *t, double r) {
    return in_side(w[0], t[0], r) && in_side(w[1], t[1], r) && (m.w.dims < 3 || in_side(w[2], t[2], r));
}

/* Polygons are squares of half-extent `radius` here, without their upper and right sides. */
static bool in_polygon(const aoi_bounds *b, double r, const double *w, const double *t) {
    double x = t[0] - w[0], y = t[1] - w[1];
    return -r <= x && x < r && -r <= y && y < r && (m.w.dims < 3 || in_side(w[2], t[2], b->reach[2]));
}

/* Whether the pair must be a candidate: the watcher goes from w0 to w1, the target from t0 to t1. */
static bool may_change(uint32_t node, const double *w0, const double *w1, const double *t0, const double *t1) {
    aoi_bounds b = aoi_bounds_of(&m.w, node);
    const aoi_area_record *a = m.w.areas + node;
    if (b.idle) return false;
    if (!in_box(&b, w0, t0) && !in_box(&b, w1, t1)) return false;
    if (b.shape == AOI_CIRCLE)
        return in_ball(w0, t0, a->radius) != in_ball(w1, t1, a->radius) ||
               in_ball(w0, t0, a->keep) != in_ball(w1, t1, a->keep);
    if (b.shape == AOI_POLYGON && a->keep == a->radius)
        return in_polygon(&b, a->radius, w0, t0) != in_polygon(&b, a->radius, w1, t1);
    if (b.shape == AOI_SECTOR || b.shape == AOI_CYLINDER)
        return aoi_shape_holds(m.w.dims, b.shape, a, w0, t0, 0, 0) !=
               aoi_shape_holds(m.w.dims, b.shape, a, w1, t1, 0, 0);
    if (b.shape == AOI_SQUARE && !a->shape)
        return in_cube(w0, t0, a->radius) != in_cube(w1, t1, a->radius) ||
               in_cube(w0, t0, a->keep) != in_cube(w1, t1, a->keep);
    if (b.plain && in_box(&b, w0, t0) && in_box(&b, w1, t1)) return false;
    bool level = m.w.dims < 3 || (w0[2] == w1[2] && t0[2] == t1[2]);
    if (level && b.shape == AOI_SQUARE && in_hole(&b, w0, t0) == in_hole(&b, w1, t1) &&
        in_box(&b, w0, t0) == in_box(&b, w1, t1))
        return false;
    return !(level && in_hole(&b, w0, t0) && in_hole(&b, w1, t1));
}

/* ---- what the engine reports ------------------------------------------------------------------------------------- */

static void note(uint32_t node, uint32_t target) {
    EXPECT(node < m.w.node_top && target < m.w.entity_top);
    EXPECT(aoi_is_live(m.w.nodes[node].generation) && aoi_is_bounded(m.w.nodes + node));
    EXPECT(aoi_is_live(m.w.entities[target].generation) && m.w.nodes[node].owner != target);
    EXPECT(m.seen[node][target]++ == 0);
    m.candidates++;
}

static void forget(void) {
    memset(m.seen, 0, sizeof m.seen);
    m.w.candidate_count = m.w.hit_count = 0;
    m.w.failed = false;
}

static void take_candidates(void) {
    for (uint32_t i = 0; i < m.w.candidate_count; i++) note(m.w.candidates[i].node, m.w.candidates[i].target);
}

/* Positions of entity e before and after: those of the movers of a batch, or of one mover. */
static const double *before(uint32_t e) {
    return aoi_position_before(&m.w, e);
}

static void expect_candidates(uint32_t mover, const double *to) {
    for (uint32_t i = 0; i < m.node_count; i++) {
        uint32_t n = m.in_use[i], owner = m.w.nodes[n].owner;
        if (!aoi_is_bounded(m.w.nodes + n)) continue;
        for (uint32_t k = 0; k < m.alive_count; k++) {
            uint32_t t = m.alive[k];
            if (t == owner || (mover != t && mover != owner)) continue;
            const double *w0 = before(owner), *w1 = owner == mover ? to : m.w.entities[owner].pos;
            const double *t0 = before(t), *t1 = t == mover ? to : m.w.entities[t].pos;
            if (!aoi_node_matches(m.w.nodes + n, m.w.entities[t].kind)) continue;
            if (may_change(n, w0, w1, t0, t1)) EXPECT(m.seen[n][t] == 1);
        }
    }
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static double random_coordinate(void) {
    double k = m.lattice ? (double)random_below((uint32_t)m.spread + 1)
                         : m.spread * (double)random_below(1u << 30) / (double)(1u << 30);
    return m.origin + m.scale * k;
}

static void random_place(double *at) {
    for (int a = 0; a < 3; a++) at[a] = a < m.w.dims ? random_coordinate() : 0;
    if (random_below(3)) at[2] = 0;
}

static double random_length(void) {
    static const double lengths[] = {0, 1, 1, 2, 3, 3.5, 4, 4, 4, 4, 4, 7, 8, 20, 100, 1e4, 0.01, 1e-5, 1e30};
    double v = lengths[random_below(sizeof lengths / sizeof *lengths)];
    return m.scale * (random_below(4) || m.lattice ? v : v * (double)random_below(1000) / 1000);
}

static void ask_targets(void) {
    double at[3], lo[2], hi[2];
    unsigned char hit[ENTITIES] = {0};
    random_place(at);
    for (int a = 0; a < 2; a++) {
        double r = random_length();
        lo[a] = at[a] - r, hi[a] = at[a] + r;
    }
    forget();
    aoi_grid_targets(&m.index.grid, lo, hi);
    EXPECT(!m.w.failed);
    for (uint32_t i = 0; i < m.w.hit_count; i++)
        if (EXPECT(m.w.hits[i] < m.w.entity_top)) EXPECT(hit[m.w.hits[i]]++ == 0);
    for (uint32_t k = 0; k < m.alive_count; k++) {
        const double *p = m.w.entities[m.alive[k]].pos;
        bool inside = lo[0] <= p[0] && p[0] <= hi[0] && lo[1] <= p[1] && p[1] <= hi[1];
        EXPECT(!inside || hit[m.alive[k]] == 1);
    }
}

static void ask_watchers(void) {
    double at[3];
    bool idle = random_below(2);
    unsigned char hit[NODES] = {0};
    random_place(at);
    if (m.alive_count && random_below(2)) memcpy(at, m.w.entities[m.alive[random_below(m.alive_count)]].pos, sizeof at);
    forget();
    aoi_grid_watchers(&m.index.grid, &(aoi_grid_target){at, at, 0, 0, true}, idle);
    EXPECT(!m.w.failed);
    for (uint32_t i = 0; i < m.w.hit_count; i++)
        if (EXPECT(m.w.hits[i] < m.w.node_top)) EXPECT(hit[m.w.hits[i]]++ == 0);
    for (uint32_t i = 0; i < m.node_count; i++) {
        uint32_t n = m.in_use[i];
        aoi_bounds b = aoi_bounds_of(&m.w, n);
        if (!aoi_is_live(m.w.nodes[n].generation)) continue;
        const double *w = m.w.entities[m.w.nodes[n].owner].pos;
        bool inside =
            aoi_is_bounded(m.w.nodes + n) && (idle || !b.idle) && in_box(&b, w, at) &&
            (b.shape != AOI_CIRCLE || in_ball(w, at, m.w.areas[n].keep)) &&
            ((b.shape != AOI_SECTOR && b.shape != AOI_CYLINDER) || aoi_in_ball(2, w, at, m.w.areas[n].keep)) &&
            (!b.round || aoi_in_ball(2, w, at, b.reach[0]));
        EXPECT(!inside || hit[n] == 1);
    }
}

static void end_of_call(void) {
    bool wanted = m.w.untidy || random_below(8) == 0;
    m.w.untidy = false;
    if (wanted) aoi_broad_tidy(&m.index);
    m.w.untidy = false;
    if (random_below(4) == 0) ask_targets();
    if (random_below(4) == 0) ask_watchers();
}

/* ---- verbs: first every request for memory is refused in turn, then none ------------------------------------------- */

typedef int (*verb)(uint32_t slot, const void *argument);

/* What a refused verb leaves behind must be sound, without the record that it was to add, if `born` tells that one's
 * generation.  A verb that has had its way although memory was refused, as where only
 * candidates are lost, counts as done. */
static void run(verb do_it, uint32_t slot, const void *argument, uint32_t *born) {
    bool refusing = random_below(4) == 0;
    for (long n = 1; refusing; n++) {
        host_refuse(n, 1);
        int code = do_it(slot, argument);
        unsigned refused = host_relent();
        if (code == AOI_OK) return;
        EXPECT(code == AOI_ENOMEM && refused);
        if (born) ++*born;
        if (random_below(8) == 0) ask_targets();
        if (random_below(8) == 0) ask_watchers();
        forget();
        if (born) --*born;
    }
    EXPECT(do_it(slot, argument) == AOI_OK);
}

static int do_enter(uint32_t e, const void *unused) {
    (void)unused;
    return aoi_broad_enter(&m.index, e) ? AOI_OK : AOI_ENOMEM;
}

static uint64_t random_kind(void) {
    return !m.varied || random_below(8) == 0 ? 1 : random_below(16) ? 2 + random_below(2) * 2 : random_below(8);
}

static uint64_t random_mask(void) {
    return !m.varied || random_below(4) ? 1 : random_below(2) ? UINT64_MAX : random_below(8);
}

static void enter_one(void) {
    uint32_t e;
    if (m.free_count) e = m.free_entities[--m.free_count];
    else if (m.w.entity_top < ENTITIES) e = m.w.entity_top++;
    else return;
    EXPECT(AOI_GROW_LINES(&m.w.memory, m.w.entities, m.w.entity_cap, m.w.entity_top));
    aoi_entity_record *r = m.w.entities + e;
    uint32_t generation = e + 1 == m.w.entity_top && !r->generation ? 1 : r->generation + 1;
    *r = (aoi_entity_record){
        .id = e, .kind = random_kind(), .nodes = AOI_NONE, .mover = AOI_NONE, .generation = generation | 1};
    r->place.cell = r->place.slot = random_below(1000); /* the index's, and not cleared */
    r->link = random_below(1000) & INT32_MAX;
    random_place(r->pos);
    run(do_enter, e, NULL, &r->generation);
    m.alive[m.alive_count++] = e;
    m.w.entity_count++;
}

static void remove_node(uint32_t index) {
    uint32_t n = m.in_use[index];
    aoi_node_record *r = m.w.nodes + n;
    uint32_t *link = &m.w.entities[r->owner].nodes;
    if (aoi_is_bounded(r)) aoi_broad_remove_node(&m.index, n);
    while (*link != n) link = &m.w.nodes[*link].next;
    *link = r->next;
    r->generation++;
    m.in_use[index] = m.in_use[--m.node_count];
    m.free_nodes[m.free_node_count++] = n;
}

static void leave_one(uint32_t index) {
    uint32_t e = m.alive[index];
    for (uint32_t i = m.node_count; i-- > 0;)
        if (m.w.nodes[m.in_use[i]].owner == e) remove_node(i);
    aoi_broad_leave(&m.index, e);
    m.w.entities[e].generation++;
    m.w.entity_count--;
    m.alive[index] = m.alive[--m.alive_count];
    m.free_entities[m.free_count++] = e;
}

/* Most nodes have one of two radii, as in a game.  A box with a margin may have none on the first two axes, where it was
 * lost to rounding. */
static aoi_bounds random_bounds(aoi_area_record *area, int flags) {
    aoi_bounds b = {.shape = AOI_SQUARE};
    double r = random_below(2) ? 4 * m.scale : random_length();
    double keep = random_below(2) ? r : r * 1.25;
    b.reach[0] = b.reach[1] = keep;
    b.reach[2] = m.w.dims < 3 ? INFINITY : keep;
    b.inner[0] = b.inner[1] = r;
    switch (random_below(10)) {
    case 8:
    case 9:
        keep = r;
        b.shape = m.w.dims < 3 || random_below(2) ? AOI_SECTOR : AOI_CYLINDER;
        for (int a = 0; a < 2; a++) b.reach[a] = fmax(r, 1e-150) * (1 + 0x1p-40);
        if (random_below(2)) b.reach[2] = INFINITY;
        b.inner[0] = b.inner[1] = b.shape == AOI_SECTOR ? -1 : aoi_inner_extent(2, AOI_CIRCLE, r);
        break;
    case 0:
        b.reach[1] = b.inner[1] = random_length();
        if (random_below(2)) b.reach[0] = r;
        if (random_below(2)) b.reach[2] = INFINITY;
        b.shape = AOI_BOX;
        break;
    case 1:
        b.inner[0] = b.inner[1] = -1;
        if (random_below(2)) b.reach[2] = INFINITY;
        if (random_below(2) && r < 1e14) { /* with a circle for a box */
            keep = r;
            b.reach[0] = b.reach[1] = r * 1.42;
            b.inner[0] = b.inner[1] = r * 0.7;
            b.round = aoi_is_round(AOI_POLYGON, &(aoi_shape){.farthest = (float)(r * 1.4143)}, b.reach);
        }
        b.shape = AOI_POLYGON;
        break;
    case 2:
    case 3:
    case 4:
        b.shape = AOI_CIRCLE;
        for (int a = 0; a < 3; a++) b.reach[a] = fmax(keep, 1e-150) * (1 + 0x1p-40);
        b.inner[0] = b.inner[1] = aoi_inner_extent(m.w.dims, AOI_CIRCLE, r);
        break;
    default:
        break;
    }
    area->radius = r;
    area->keep = keep;
    b.plain = aoi_is_plain_shape(b.shape, keep > r);
    b.idle = aoi_is_idle(flags, keep > r);
    return b;
}

static void set_bounds(uint32_t n, const aoi_bounds *b, const aoi_area_record *area) {
    aoi_node_record *r = m.w.nodes + n;
    r->reach[0] = b->reach[0];
    r->reach[1] = b->reach[1];
    r->shape = b->shape;
    r->flags = (uint8_t)((r->flags & (AOI_NODE_OVERRIDES | AOI_NODE_SILENT)) |
                         (area->keep > area->radius ? AOI_NODE_KEEPS : 0));
    bool derived = b->shape == AOI_CIRCLE || b->shape == AOI_SQUARE;
    const double square[] = {-1, -1, 1, -1, 1, 1, -1, 1};
    if (!shapes[n] && !(shapes[n] = malloc(aoi_shape_bytes(4)))) abort();
    *shapes[n] = (aoi_shape){.inner = {b->inner[0], b->inner[1]}, .height = b->reach[2], .corners = 4};
    shapes[n]->half_height = b->reach[2];
    shapes[n]->facing = random_below(8) * 0.785398163397448310, shapes[n]->angle = 0.1 + random_below(31) * 0.2;
    shapes[n]->fx = cos(shapes[n]->facing), shapes[n]->fy = sin(shapes[n]->facing),
    shapes[n]->c = cos(shapes[n]->angle / 2);
    for (int i = 0; i < 8; i++) shapes[n]->points[i] = square[i] * area->radius;
    fill_sides(shapes[n]);
    m.w.areas[n] = (aoi_area_record){area->radius, area->keep, 0, derived ? NULL : shapes[n]};
}

static int do_add_node(uint32_t n, const void *unused) {
    (void)unused;
    return aoi_broad_add_node(&m.index, n) ? AOI_OK : AOI_ENOMEM;
}

static void add_one_node(void) {
    uint32_t n;
    aoi_area_record area;
    if (!m.alive_count) return;
    if (m.free_node_count) n = m.free_nodes[--m.free_node_count];
    else if (m.w.node_top < NODES) n = m.w.node_top++;
    else return;
    EXPECT(AOI_GROW_LINES(&m.w.memory, m.w.nodes, m.w.node_cap, m.w.node_top));
    EXPECT(AOI_GROW(&m.w.memory, m.w.areas, m.w.area_cap, m.w.node_top));
    uint32_t owner = m.alive[random_below(m.alive_count)];
    m.w.nodes[n] = (aoi_node_record){.mask = random_mask(),
                                     .node_id = n,
                                     .owner = owner,
                                     .next = m.w.entities[owner].nodes,
                                     .generation = 1,
                                     .flags = random_below(5) ? 0 : AOI_NODE_SILENT,
                                     .level = AOI_NONE};
    aoi_bounds b = random_bounds(&area, m.w.nodes[n].flags);
    if (random_below(16) == 0) b.reach[0] = b.reach[1] = b.inner[0] = b.inner[1] = INFINITY, b.shape = AOI_SQUARE;
    set_bounds(n, &b, &area);
    m.w.entities[owner].nodes = n;
    m.in_use[m.node_count++] = n;
    if (aoi_is_bounded(m.w.nodes + n)) run(do_add_node, n, NULL, &m.w.nodes[n].generation);
}

static int do_resize(uint32_t n, const void *bounds) {
    return aoi_broad_resize_node(&m.index, n, bounds) ? AOI_OK : AOI_ENOMEM;
}

static void resize_one(void) {
    if (!m.node_count) return;
    uint32_t n = m.in_use[random_below(m.node_count)];
    aoi_area_record area;
    aoi_bounds b = random_bounds(&area, m.w.nodes[n].flags);
    if (!aoi_is_bounded(m.w.nodes + n)) return;
    run(do_resize, n, &b, NULL);
    set_bounds(n, &b, &area);
}

static void change_kind(void) {
    if (!m.alive_count) return;
    uint32_t e = m.alive[random_below(m.alive_count)];
    uint64_t kind = random_kind();
    aoi_grid_set_kind(&m.index.grid, e, kind);
    m.w.entities[e].kind = kind;
}

static void change_mask(void) {
    if (!m.node_count) return;
    uint32_t n = m.in_use[random_below(m.node_count)];
    if (random_below(8)) m.w.nodes[n].mask = random_mask();
    else m.w.nodes[n].flags ^= AOI_NODE_OVERRIDES;
    if (aoi_is_bounded(m.w.nodes + n)) aoi_grid_mask_changed(&m.index.grid, n);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static void random_step(uint32_t e, double *to) {
    static const double sizes[] = {1, 1, 2, 5, 30};
    const double *from = m.w.entities[e].pos;
    uint32_t way = random_below(8);
    double size = sizes[random_below(5)] * m.scale;
    if (way == 0) random_place(to);
    for (int a = 0; a < 3; a++) {
        if (way == 0) break;
        double unit = m.lattice ? (double)random_below(3) - 1 : (double)random_below(2001) / 1000 - 1;
        to[a] = from[a] + (way == 1 ? unit * size / 1000 : unit * size);
        if (way == 2) to[a] = nextafter(from[a], unit * INFINITY);
        if (!isfinite(to[a])) to[a] = from[a];
        if (a == 2 && (m.w.dims < 3 || random_below(4))) to[a] = from[a];
    }
    if (way == 3 && m.alive_count > 1) memcpy(to, m.w.entities[m.alive[0]].pos, sizeof(double[3]));
    if (way == 4) to[0] = from[0];
}

static int do_move(uint32_t e, const void *to) {
    return aoi_broad_move(&m.index, e, to, true) ? AOI_OK : AOI_ENOMEM;
}

static void move_one(void) {
    if (!m.alive_count) return;
    uint32_t e = m.alive[random_below(m.alive_count)];
    double to[3];
    random_step(e, to);
    for (int stage = 0; stage < 3 && random_below(2); stage++) aoi_grid_prefetch(&m.index.grid, e, stage);
    forget();
    run(do_move, e, to, NULL);
    if (!m.w.failed) {
        take_candidates();
        expect_candidates(e, to);
        memcpy(m.w.entities[e].pos, to, sizeof to);
        return;
    }
    double from[3]; /* candidates are lost: the space takes the move back by another */
    memcpy(from, m.w.entities[e].pos, sizeof from);
    memcpy(m.w.entities[e].pos, to, sizeof to);
    forget();
    EXPECT(aoi_broad_move(&m.index, e, from, true));
    memcpy(m.w.entities[e].pos, from, sizeof from);
}

static int do_place(uint32_t e, const void *to) {
    return aoi_broad_move(&m.index, e, to, false) ? AOI_OK : AOI_ENOMEM;
}

/* Movers: most go a little, now and then one goes far. */
static void choose_movers(void) {
    uint32_t stay = random_below(4) ? 0 : random_below(m.alive_count + 1);
    m.w.moved = m.w.mover_count = 0;
    EXPECT(AOI_GROW(&m.w.memory, m.w.movers, m.w.mover_cap, m.alive_count) &&
           AOI_GROW(&m.w.memory, m.w.ends, m.w.end_cap, m.alive_count * (size_t)m.w.dims));
    bool some_far = random_below(3) == 0;
    for (uint32_t k = stay; k < m.alive_count; k++) {
        aoi_entity_record *e = m.w.entities + m.alive[k];
        double *goes = aoi_mover_end(&m.w, m.w.mover_count), height = e->pos[2];
        m.w.movers[m.w.mover_count] = m.alive[k];
        bool far = some_far && random_below(16) == 0;
        for (int a = 0; a < 2; a++) {
            double unit = m.lattice ? (double)random_below(3) - 1 : (double)random_below(2001) / 1000 - 1;
            goes[a] = e->pos[a] + unit * (m.lattice ? m.scale : m.scale * 0.5);
            if (far) goes[a] = random_coordinate();
            if (far && a && m.w.dims == 3 && random_below(2)) height = random_coordinate();
        }
        if (m.w.dims == 3) goes[2] = height;
        e->mover = m.w.mover_count++;
    }
}

static void move_many(void) {
    choose_movers();
    bool placed = random_below(2);
    size_t size = (size_t)m.w.dims * sizeof(double);
    for (uint32_t i = 0; i < m.w.mover_count; i++) {
        uint32_t entity = m.w.movers[i];
        aoi_entity_record *e = m.w.entities + entity;
        double *way = aoi_mover_end(&m.w, i), to[3] = {0};
        memcpy(to, way, size);
        forget();
        if (placed) {
            run(do_place, entity, to, NULL);
            EXPECT(m.w.candidate_count == 0);
        } else EXPECT(aoi_broad_move(&m.index, entity, to, true));
        memcpy(way, e->pos, size);
        memcpy(e->pos, to, size);
        m.w.moved++;
    }
    for (uint32_t i = 0; i < m.w.mover_count; i++) m.w.entities[m.w.movers[i]].mover = AOI_NONE;
    m.w.moved = m.w.mover_count = 0;
}

/* ---- histories --------------------------------------------------------------------------------------------------- */

static void open_mock(const aoi_engine_class *class, int dims, int history) {
    static const double scales[] = {1, 16, 0.1, 1, 0x1p-40, 1e12, 1, 3, 1e-12, 1, 0x1p40, 7};
    static const double origins[] = {0, -20, 5, 1e6, 0, -1e12, 0x1p30, 1e9, 0, -0x1p49, 0, 1e15};
    memset(&m, 0, sizeof m);
    m.w.memory.alloc = host_alloc;
    m.w.dims = dims;
    m.scale = scales[history % 12];
    m.origin = origins[history % 12];
    m.lattice = history % 3 == 0;
    m.varied = history % 5 < 3;
    m.spread = history % 4 == 1 ? 400 : history % 4 == 2 ? 6 : 40;
    double cell = random_below(3) ? 0 : m.scale * (1 + random_below(8));
    if (random_below(8) == 0) cell = random_below(2) ? INFINITY : 1e-320;
    EXPECT(aoi_broad_open(&m.index, &m.w, class, cell, false));
    m.w.entity_top = m.w.node_top = 0;
}

static void close_mock(void) {
    while (m.node_count) remove_node(0);
    while (m.alive_count) leave_one(0);
    aoi_broad_close(&m.index);
    AOI_FREE_LINES(&m.w.memory, m.w.entities, m.w.entity_cap);
    AOI_FREE_LINES(&m.w.memory, m.w.nodes, m.w.node_cap);
    AOI_FREE(&m.w.memory, m.w.areas, m.w.area_cap);
    AOI_FREE(&m.w.memory, m.w.candidates, m.w.candidate_cap);
    AOI_FREE(&m.w.memory, m.w.hits, m.w.hit_cap);
    AOI_FREE(&m.w.memory, m.w.movers, m.w.mover_cap);
    AOI_FREE(&m.w.memory, m.w.ends, m.w.end_cap);
    EXPECT(host.used == 0 && host.blocks == 0);
}

/* All leave: the engine keeps nothing, and goes on. */
static void leave_all(void) {
    while (m.node_count) remove_node(0);
    while (m.alive_count) leave_one(0);
    aoi_broad_tidy(&m.index);
    size_t own = m.index.engine->class->size + m.w.entity_cap * sizeof *m.w.entities +
                 m.w.node_cap * sizeof *m.w.nodes + m.w.area_cap * sizeof *m.w.areas +
                 m.w.candidate_cap * sizeof *m.w.candidates + m.w.hit_cap * sizeof *m.w.hits +
                 m.w.mover_cap * sizeof *m.w.movers + m.w.end_cap * sizeof *m.w.ends;
    EXPECT(m.w.memory.used <= own + 2 * AOI_CACHE_LINE); /* two of the arrays begin at a line */
}

static void one_verb(void) {
    if (m.varied && random_below(8) == 0) {
        if (random_below(2)) change_kind();
        else change_mask();
    } else switch (random_below(16)) {
        case 0:
        case 1:
            enter_one();
            break;
        case 2:
            if (random_below(64) == 0) leave_all();
            else if (m.alive_count > 4 && random_below(2)) leave_one(random_below(m.alive_count));
            break;
        case 3:
        case 4:
            add_one_node();
            break;
        case 5:
            if (m.node_count && random_below(2)) remove_node(random_below(m.node_count));
            break;
        case 6:
            resize_one();
            break;
        case 7:
            if (m.alive_count) move_many();
            break;
        default:
            move_one();
            break;
        }
    end_of_call();
}

static void history_of(const aoi_engine_class *class, int dims, int history, long steps) {
    open_mock(class, dims, history);
    for (long step = 0; step < steps && expect_state.failures < 10; step++) {
        expect_at("%s %dD, history %d, step %ld", class->name, dims, history, step);
        one_verb();
    }
    close_mock();
}

int main(void) {
    random_start("engine_contract");
    long steps = random_steps(STEPS);
    for (int i = 0; aoi_engines[i]; i++) {
        m.candidates = 0;
        for (int history = 0; history < RUNS; history++)
            for (int dims = 2; dims <= 3; dims++) history_of(aoi_engines[i], dims, history, steps);
    }
    for (uint32_t n = 0; n < NODES; n++) free(shapes[n]);
    return expect_report("engine_contract");
}
