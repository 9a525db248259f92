/* Sights through the C API: random histories of walls, doors, nodes and movers against a loop over all walls, with
 * memory refused now and then; ties on end points and collinear lines; every allocation refused once. */
#include <math.h>

#include "aoi_sight.h"
#include "output.h"
#include "wall_rule.h"

enum { ENTITIES = 14, NODES = 2, WALLS = 24 };

/* ---- the model: what is seen, by the words of the contract ----------------------------------------------------------- */

typedef struct model_pair {
    bool seen, clear, area; /* at the last tick */
    uint32_t lost;          /* tick before that at which the line was lost */
    uint32_t life;          /* of the target */
} model_pair;

typedef struct model_node {
    bool is, gone; /* gone: its leaves are still to come */
    aoi_node node;
    aoi_area area;
    uint32_t linger;
    int how[ENTITIES]; /* overrides; of targets that are there */
    model_pair pairs[ENTITIES];
} model_node;

typedef struct model {
    aoi_space *space;
    aoi_sight *sight;
    int dims;
    uint32_t now, lives;
    bool wild; /* positions are no small whole numbers */
    bool is[ENTITIES];
    uint32_t life[ENTITIES];
    aoi_entity entity[ENTITIES];
    double pos[ENTITIES][3];
    model_node nodes[ENTITIES][NODES];
    bool told[ENTITIES][NODES][ENTITIES];
    int64_t wall_id[WALLS]; /* 0: none */
    aoi_wall walls[WALLS];
} model;

static unsigned long pairs, lines, clear_lines; /* compared; lines from both sides */

static bool is_hidden(const model *m, const double *w, const double *t) {
    for (int k = 0; k < WALLS; k++)
        if (m->wall_id[k] && wall_hides(m->walls + k, m->dims, w, t)) return true;
    return false;
}

/* A square that keeps is the model's own affair: what it saw at the last tick counts. */
static bool area_sees(const model *m, int i, const model_node *n, int t) {
    if (n->how[t] == AOI_SHOW || n->how[t] == AOI_HIDE) return n->how[t] == AOI_SHOW;
    if (n->area.keep <= n->area.radius) return aoi_sees(m->space, n->node, m->entity[t]);
    bool inner = true, outer = true;
    for (int a = 0; a < m->dims; a++) {
        double w = m->pos[i][a], x = m->pos[t][a];
        inner &= w - n->area.radius <= x && x <= w + n->area.radius;
        outer &= w - n->area.keep <= x && x <= w + n->area.keep;
    }
    return inner || (outer && n->pairs[t].area && n->pairs[t].life == m->life[t]);
}

/* Makes the model's tick; returns how many events there must be. */
static unsigned model_tick(model *m) {
    unsigned events = 0;
    m->now++;
    for (int i = 0; i < ENTITIES; i++)
        for (int k = 0; k < NODES; k++)
            for (int t = 0; t < ENTITIES; t++) {
                model_node *n = &m->nodes[i][k];
                model_pair *p = &n->pairs[t];
                if (p->life && p->life != m->life[t]) { /* that one has gone */
                    events += p->seen;
                    *p = (model_pair){0};
                }
                if (!n->is || !m->is[t] || t == i) continue;
                p->life = m->life[t];
                p->area = area_sees(m, i, n, t);
                bool clear = p->area && (n->how[t] == AOI_SHOW || !is_hidden(m, m->pos[i], m->pos[t]));
                if (p->clear && !clear) p->lost = m->now - 1;
                bool sees = clear || (p->seen && n->how[t] != AOI_HIDE && m->now - p->lost <= n->linger);
                events += sees != p->seen;
                p->clear = clear;
                p->seen = sees;
                pairs += p->area;
            }
    return events;
}

static void take_events(model *m, unsigned expected) {
    aoi_event e;
    unsigned n = 0;
    bool entered = false;
    for (; aoi_sight_next(m->sight, &e); n++) {
        bool *told = &m->told[e.watcher][e.node_id - 1][e.target];
        entered |= e.kind == AOI_ENTER;
        EXPECT(!entered || e.kind == AOI_ENTER);
        EXPECT(*told == (e.kind == AOI_LEAVE));
        EXPECT(e.user_data == (uint64_t)e.watcher * 10 + (uint64_t)e.node_id);
        *told = e.kind == AOI_ENTER;
    }
    EXPECT(n == expected);
    for (int i = 0; i < ENTITIES; i++)
        for (int k = 0; k < NODES; k++)
            for (int t = 0; t < ENTITIES; t++) EXPECT(m->told[i][k][t] == m->nodes[i][k].pairs[t].seen);
}

/* A node or an entity has gone: its pairs end at the next tick. */
static void forget_node(model *m, int i, int k) {
    for (int t = 0; t < ENTITIES; t++) {
        if (m->nodes[i][k].pairs[t].life) m->nodes[i][k].pairs[t].life = UINT32_MAX - 1;
    }
    m->nodes[i][k].is = false;
    memset(m->nodes[i][k].how, 0, sizeof m->nodes[i][k].how);
}

/* A wall is found on a line from both sides or from none. */
static void expect_line(const aoi_sight *g, const double *w, const double *t, bool hidden) {
    double at[2][3];
    const bool found[2] = {aoi_sight_ray(g, w, t, at[0]) != 0, aoi_sight_ray(g, t, w, at[1]) != 0};
    EXPECT(found[0] == hidden && found[1] == hidden);
    clear_lines += !hidden;
    lines++;
}

/* ---- histories ------------------------------------------------------------------------------------------------------- */

static double coordinate(const model *m) {
    if (!m->wild) return (double)random_below(13) - 6;
    double v = (double)random_below(1 << 20) / (1 << 20) * 12 - 6;
    return random_below(40) ? v : v * 1e6;
}

static void place(const model *m, double *pos) {
    for (int a = 0; a < 3; a++) pos[a] = a < m->dims ? coordinate(m) : 0;
    if (m->dims == 3) pos[2] = random_below(5);
}

static aoi_wall some_wall(const model *m) {
    aoi_wall w = {.z0 = -INFINITY, .z1 = INFINITY, .open = random_below(4) == 0};
    double from[3], to[3];
    place(m, from);
    place(m, to);
    for (int a = 0; a < 2; a++) {
        w.a[a] = from[a];
        w.b[a] = random_below(3) ? to[a] : from[a]; /* along an axis, now and then none at all */
    }
    if (random_below(2)) {
        w.z0 = random_below(4);
        w.z1 = w.z0 + random_below(3);
    }
    return w;
}

static aoi_area some_area(void) {
    aoi_area a = {.shape = (int)random_below(2), .radius = 1 + random_below(8), .mask = AOI_ALL_KINDS};
    switch (random_below(5)) {
    case 0:
        a.shape = AOI_SQUARE, a.keep = a.radius + 1 + random_below(3);
        break;
    case 1:
        a.shape = AOI_SECTOR, a.facing = random_below(7), a.angle = 2, a.half_height = INFINITY;
        break;
    case 2:
        a.radius = INFINITY;
        break;
    default:
        break;
    }
    return a;
}

static int wall_call(model *m) {
    int k = (int)random_below(WALLS), result;
    aoi_wall was;
    if (!m->wall_id[k]) {
        aoi_wall w = some_wall(m);
        int64_t id = 0;
        result = aoi_sight_add_wall(m->sight, &w, &id);
        if (result == AOI_OK) m->wall_id[k] = id, m->walls[k] = w;
        return result;
    }
    EXPECT(aoi_sight_read_wall(m->sight, m->wall_id[k], &was) && was.a[0] == m->walls[k].a[0]);
    if (random_below(3)) {
        result = aoi_sight_open_wall(m->sight, m->wall_id[k], !m->walls[k].open);
        if (result == AOI_OK) m->walls[k].open = !m->walls[k].open;
        return result;
    }
    result = aoi_sight_remove_wall(m->sight, m->wall_id[k]);
    if (result != AOI_OK) return result;
    EXPECT(aoi_sight_remove_wall(m->sight, m->wall_id[k]) == AOI_EGONE);
    m->wall_id[k] = 0;
    return AOI_OK;
}

static int node_call(model *m, int i) {
    int k = (int)random_below(NODES), result;
    model_node *n = &m->nodes[i][k];
    aoi_area area = some_area();
    area.user_data = (uint64_t)i * 10 + (uint64_t)k + 1;
    if (!n->is) {
        uint32_t linger = random_below(2) ? random_below(4) : 0;
        result = aoi_sight_add_node(m->sight, m->entity[i], k + 1, &area, linger, &n->node);
        if (result != AOI_OK) return result;
        for (int t = 0; t < ENTITIES; t++) /* what a former one saw ends first */
            if (n->pairs[t].seen) n->gone = true;
        n->is = true;
        n->area = area;
        n->linger = linger;
        EXPECT(aoi_sight_has_node(m->sight, n->node));
        return AOI_OK;
    }
    if (random_below(3) == 0) {
        int t = (int)random_below(ENTITIES), how = (int)random_below(4);
        if (!m->is[t] || t == i) return AOI_OK;
        result = aoi_override(m->space, n->node, m->entity[t], how);
        if (result == AOI_OK) n->how[t] = how;
        return result;
    }
    if (random_below(3)) {
        if (n->area.keep > n->area.radius || area.keep > area.radius) return AOI_OK; /* judged by what it saw */
        result = aoi_set_area(m->space, n->node, &area);
        if (result == AOI_OK) n->area = area;
        return result;
    }
    result = aoi_remove_node(m->space, n->node);
    if (result == AOI_OK) forget_node(m, i, k);
    return result;
}

static int entity_call(model *m, int i) {
    double pos[3];
    int result;
    place(m, pos);
    if (!m->is[i]) {
        result = aoi_enter(m->space, i, pos, 1, &m->entity[i]);
        if (result != AOI_OK) return result;
        m->is[i] = true;
        m->life[i] = ++m->lives;
    } else if (random_below(12)) {
        if (random_below(2) && !m->wild) pos[random_below(2)] = m->pos[i][0];
        result = aoi_move(m->space, m->entity[i], pos);
        if (result != AOI_OK) return result;
    } else {
        result = aoi_leave(m->space, m->entity[i]);
        if (result != AOI_OK) return result;
        m->is[i] = false;
        m->life[i] = UINT32_MAX;
        for (int k = 0; k < NODES; k++) forget_node(m, i, k);
        for (int w = 0; w < ENTITIES; w++)
            for (int k = 0; k < NODES; k++) m->nodes[w][k].how[i] = AOI_BY_RULE;
        return AOI_OK;
    }
    memcpy(m->pos[i], pos, sizeof pos);
    return AOI_OK;
}

static void ask(model *m) {
    const int64_t *ids, *nodes;
    size_t count, seen = 0;
    for (int i = 0; i < ENTITIES; i++)
        for (int k = 0; k < NODES; k++) {
            const model_node *n = &m->nodes[i][k];
            if (!n->is || n->area.keep > n->area.radius) continue;
            seen = 0;
            for (int t = 0; t < ENTITIES; t++) {
                if (t == i || !m->is[t]) continue;
                bool shown = n->how[t] == AOI_SHOW, hidden = !shown && is_hidden(m, m->pos[i], m->pos[t]);
                bool now = aoi_sees(m->space, n->node, m->entity[t]) && !hidden, hides = n->how[t] == AOI_HIDE;
                bool held = n->linger && n->pairs[t].seen && n->pairs[t].life == m->life[t] && !hides;
                aoi_sight_explanation why;
                EXPECT(aoi_sight_sees(m->sight, n->node, m->entity[t]) == (now || held));
                aoi_sight_explain(m->sight, i, k + 1, t, &why);
                EXPECT(why.e.sees == (now || held));
                if (!now && aoi_sees(m->space, n->node, m->entity[t])) EXPECT(why.wall != 0);
                seen += now || held;
                expect_line(m->sight, m->pos[i], m->pos[t], is_hidden(m, m->pos[i], m->pos[t]));
            }
            EXPECT(aoi_sight_view(m->sight, n->node, &ids, &count) == AOI_OK && count == seen);
        }
    for (int t = 0; t < ENTITIES; t++) {
        if (!m->is[t] || aoi_sight_viewers(m->sight, m->entity[t], &ids, &nodes, &count) != AOI_OK) continue;
        for (size_t v = 0; v < count; v++)
            EXPECT(aoi_sight_sees(m->sight, m->nodes[ids[v]][nodes[v] - 1].node, m->entity[t]));
    }
}

static void history(const setup *u, long length, int kind) {
    model *m = calloc(1, sizeof *m);
    unsigned expected = 0;
    aoi_sight *other = NULL;
    m->space = open_space(u);
    m->dims = u->dims;
    m->wild = kind & 1;
    EXPECT(aoi_sight_open(m->space, NULL, &m->sight) == AOI_OK);
    if (kind & 2) EXPECT(aoi_sight_open(m->space, m->sight, &other) == AOI_OK);
    for (long step = 0; step < length; step++) {
        int i = (int)random_below(ENTITIES), result = AOI_OK;
        bool refuses = kind & 4 && random_below(3) == 0, tick = random_below(6) == 0;
        if (refuses) host_refuse(1 + (long)random_below(4), 1 + (long)random_below(3));
        if (!tick) {
            uint32_t what = random_below(10);
            result = what < 2 ? wall_call(m) : what < 4 && m->is[i] ? node_call(m, i) : entity_call(m, i);
        } else {
            result = aoi_sight_tick(m->sight);
        }
        unsigned refused = host_relent();
        EXPECT(result == AOI_OK || (result == AOI_ENOMEM && refused));
        if (!tick) continue;
        while (result != AOI_OK && EXPECT(refused)) result = aoi_sight_tick(m->sight), refused = 0;
        expected = model_tick(m);
        take_events(m, expected);
        if (random_below(4) == 0) ask(m);
        const char *wrong = random_below(8) ? NULL : aoi_check(m->space);
        if (!EXPECT(wrong == NULL)) fprintf(stderr, "%s\n", wrong);
    }
    if (kind & 8) aoi_sight_close(other), aoi_sight_close(m->sight);
    close_space(m->space);
    free(m);
}

static void histories(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++)
        for (long k = 0; k < history_rounds(); k++) {
            u.deferred = k & 1;
            history(&u, 300, (int)random_below(16));
        }
}

/* ---- the rule -------------------------------------------------------------------------------------------------------- */

static void ties(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL;
    double at[3];
    int64_t first, second, id;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    /* two walls that share an end leave no gap, and a line through it meets one of them */
    EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {0, 0}, .b = {0, 5}}, &first) == AOI_OK);
    EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {0, 0}, .b = {0, -5}}, &second) == AOI_OK);
    EXPECT(aoi_sight_ray(g, (double[2]){-3, 0}, (double[2]){3, 0}, at) != 0 && at[0] == 0 && at[1] == 0);
    EXPECT(aoi_sight_ray(g, (double[2]){3, 0}, (double[2]){-3, 0}, at) != 0);
    EXPECT(aoi_sight_ray(g, (double[2]){-3, 3}, (double[2]){3, 1}, at) == first && at[1] == 2);
    /* along a wall nothing is hidden */
    EXPECT(aoi_sight_ray(g, (double[2]){0, -9}, (double[2]){0, 9}, at) == 0);
    EXPECT(aoi_sight_open_wall(g, first, true) == AOI_OK);
    EXPECT(aoi_sight_ray(g, (double[2]){-3, 3}, (double[2]){3, 1}, at) == 0);
    static const double beyond[] = {NAN, INFINITY, AOI_FARTHEST + 1, -1e300};
    for (int k = 0; k < 4; k++) {
        EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {beyond[k], 0}}, &id) == AOI_EVALUE);
        EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.b = {0, beyond[k]}}, &id) == AOI_EVALUE);
        EXPECT(aoi_sight_ray(g, (double[2]){-3, 3}, (double[2]){beyond[k], 3}, at) == 0);
    }
    EXPECT(aoi_sight_open_wall(g, 99, true) == AOI_EGONE);
    /* nearest first, whatever cells they are in */
    for (int k = 9; k > 0; k--)
        EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {k, -1000.0 * k}, .b = {k, 1e5 * k}}, &id) == AOI_OK);
    EXPECT(aoi_sight_ray(g, (double[2]){0.5, 7}, (double[2]){1e9, 7}, at) == id && at[0] == 1);
    close_space(s);
}

/* Many watchers that move and see nothing: there is no array of pairs yet. */
static void watchers_alone(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL;
    aoi_entity e[9];
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    for (int i = 0; i < 9; i++) {
        aoi_node node;
        EXPECT(aoi_enter(s, i, (double[2]){100 * i, 0}, 1, e + i) == AOI_OK);
        EXPECT(aoi_sight_add_node(g, e[i], 1, &(aoi_area){.radius = 5, .mask = AOI_ALL_KINDS}, 0, &node) == AOI_OK);
    }
    EXPECT(aoi_sight_tick(g) == AOI_OK);
    for (int i = 0; i < 9; i++) EXPECT(aoi_move(s, e[i], (double[2]){100 * i, 1}) == AOI_OK);
    EXPECT(aoi_sight_tick(g) == AOI_OK && aoi_check(s) == NULL);
    close_space(s);
}

/* A wall that memory was refused for does not hide in the place of the one that has gone. */
static void refused_wall(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL;
    aoi_entity w, t;
    aoi_area area = {.radius = 9, .keep = 9, .mask = AOI_ALL_KINDS};
    aoi_node node;
    int64_t id;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    EXPECT(aoi_enter(s, 1, (double[3]){0, 0, 0}, 1, &w) == AOI_OK &&
           aoi_enter(s, 2, (double[3]){4, 0, 0}, 1, &t) == AOI_OK);
    EXPECT(aoi_sight_add_node(g, w, 1, &area, 0, &node) == AOI_OK);
    EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {2, -1}, .b = {2, 1}}, &id) == AOI_OK);
    EXPECT(aoi_sight_tick(g) == AOI_OK && aoi_sight_pending(g) == 0);
    EXPECT(aoi_sight_remove_wall(g, id) == AOI_OK);
    host_refuse(1, 1000);
    EXPECT(aoi_sight_add_wall(g, &(aoi_wall){.a = {2, -30}, .b = {2, 30}}, &id) == AOI_ENOMEM);
    EXPECT(host_relent() > 0);
    EXPECT(aoi_sight_tick(g) == AOI_OK && aoi_sight_pending(g) == 1);
    const char *wrong = aoi_check(s);
    EXPECT(!wrong);
    close_space(s);
}

/* A sight, or a synchroniser, that shares walls and is refused memory for itself. */
static void refused_sharing(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL, *other = NULL;
    aoi_sync *y = NULL;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    host_refuse(1, 1);
    EXPECT(aoi_sight_open(s, g, &other) == AOI_ENOMEM);
    EXPECT(host_relent() > 0);
    for (long n = 1; n < 20 && !y; n++) {
        host_refuse(n, 1);
        int result = aoi_sync_open(s, &(aoi_sync_options){.sight = g}, &y);
        EXPECT(result == (host_relent() > 0 ? AOI_ENOMEM : AOI_OK) || y);
    }
    EXPECT(y != NULL && aoi_check(s) == NULL);
    close_space(s);
}

/* The area of a node has the user data of the caller, not what the sight keeps there. */
static void user_data(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL;
    aoi_area area = {.radius = 5, .mask = AOI_ALL_KINDS, .user_data = 42};
    aoi_node node;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    EXPECT(aoi_sight_add_node(g, enter(s, 1, 0), 1, &area, 0, &node) == AOI_OK);
    area.user_data = 0;
    EXPECT(aoi_area_of(s, node, &area) && area.user_data == 42);
    close_space(s);
}

/* The walls of a sight that is closed belong to the next one that shares them, and are saved with it. */
static void walls_outlive_their_sight(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u), *copy = NULL;
    aoi_sight *g[3] = {NULL}, *loaded = NULL;
    aoi_sight_stats stats = {0};
    int64_t id;
    for (int i = 0; i < 3; i++) EXPECT(aoi_sight_open(s, g[0], g + i) == AOI_OK);
    EXPECT(aoi_sight_add_wall(g[0], &(aoi_wall){.a = {2, -1}, .b = {2, 1}}, &id) == AOI_OK);
    EXPECT(aoi_sight_add_node(g[1], enter(s, 1, 0), 1, &(aoi_area){.radius = 5, .mask = 1}, 0, NULL) == AOI_OK);
    aoi_sight_close(g[0]);
    output o = save(s);
    EXPECT(aoi_load(o.bytes, o.size, &(aoi_load_options){.alloc = host_alloc}, &copy, NULL) == AOI_OK);
    EXPECT(aoi_sight_open(copy, NULL, &loaded) == AOI_OK);
    aoi_sight_read_stats(loaded, &stats);
    EXPECT(stats.walls == 1 && stats.nodes == 1);
    output_free(&o);
    aoi_close(copy);
    close_space(s);
}

/* Lines of all lengths among walls of all lengths, near and far from the origin, against a loop over all walls. */
static void rays(void) {
    enum { MANY = 400 };
    static aoi_wall walls[MANY];
    setup u = {.engine = "brute", .dims = 2};
    for (long round = 0; round < random_steps(40); round++) {
        aoi_space *s = open_space(&u);
        aoi_sight *g = NULL;
        double size = ldexp(1, (int)random_below(60) - 40),
               far = random_below(3) ? 0 : ldexp(size, (int)random_below(30));
        int spread = random_below(2) ? 3 : 40;
        bool whole = random_below(2);
        double p[4];
        EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
        for (int k = 0; k < MANY; k++) {
            double length = ldexp(1, (int)random_below((uint32_t)spread) - spread / 2);
            for (int a = 0; a < 4; a++)
                p[a] = whole ? random_below(30) : (double)random_below(1 << 30) / (1 << 30) * 30;
            walls[k] = (aoi_wall){.a = {far + p[0] * size, far + p[1] * size}};
            walls[k].b[0] = far + (p[0] + (p[2] - 15) * length) * size;
            walls[k].b[1] = far + (p[1] + (p[3] - 15) * length) * size;
            EXPECT(aoi_sight_add_wall(g, walls + k, NULL) == AOI_OK);
        }
        for (int k = 0; k < 2000; k++) {
            double length = random_below(2) ? 1 : ldexp(1, (int)random_below(30) - 15);
            for (int a = 0; a < 4; a++)
                p[a] = whole ? random_below(30) : (double)random_below(1 << 30) / (1 << 30) * 30;
            double w[3] = {far + p[0] * size, far + p[1] * size, 0};
            double t[3] = {far + (p[0] + (p[2] - 15) * length) * size, far + (p[1] + (p[3] - 15) * length) * size, 0};
            bool hidden = false;
            for (int i = 0; i < MANY && !hidden; i++) hidden = wall_hides(walls + i, 2, w, t);
            expect_line(g, w, t, hidden);
        }
        const char *wrong = aoi_check(s);
        EXPECT(!wrong);
        close_space(s);
    }
}

/* The same where products of coordinates underflow, and so walls hide that are nowhere near the line, and where they are
 * as large as they may be. */
static void beyond_products(void) {
    enum { MANY = 24 };
    static const int exponents[] = {-1000, -536, -500, 40, 47, 48};
    setup u = {.engine = "brute", .dims = 2};
    for (long round = 0; round < random_steps(400); round++) {
        aoi_wall walls[MANY];
        double size = ldexp(1, exponents[random_below(6)]), p[4];
        aoi_space *s = open_space(&u);
        aoi_sight *g = NULL;
        EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
        for (int k = 0; k < MANY; k++) {
            for (int a = 0; a < 4; a++) p[a] = ((double)random_below(9) - 4) * size;
            walls[k] = (aoi_wall){.a = {p[0], p[1]}, .b = {p[2], p[3]}};
            EXPECT(aoi_sight_add_wall(g, walls + k, NULL) == AOI_OK);
        }
        for (int k = 0; k < 60; k++) {
            for (int a = 0; a < 4; a++) p[a] = ((double)random_below(9) - 4) * size;
            const double w[3] = {p[0], p[1], 0}, t[3] = {p[2], p[3], 0};
            bool hidden = false;
            for (int i = 0; i < MANY && !hidden; i++) hidden = wall_hides(walls + i, 2, w, t);
            expect_line(g, w, t, hidden);
        }
        close_space(s);
    }
}

static bool write_bytes(void *ud, const void *bytes, size_t size) {
    unsigned char **end = ud;
    memcpy(*end, bytes, size);
    *end += size;
    return true;
}

/* A node may hold on for as long as 32 bits say; so may one of a snapshot. */
static void lingers_for_ever(void) {
    static unsigned char bytes[4096];
    unsigned char *end = bytes;
    setup u = {.engine = "brute", .dims = 2};
    aoi_space *s = open_space(&u), *again = NULL;
    aoi_sight *g = NULL;
    aoi_entity e;
    const char *fault = NULL;
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    EXPECT(aoi_enter(s, 1, (double[3]){0}, 1, &e) == AOI_OK);
    EXPECT(aoi_sight_add_node(g, e, 1, &(aoi_area){.radius = 5, .mask = 1}, UINT32_MAX, NULL) == AOI_OK);
    EXPECT(aoi_save(s, write_bytes, &end) == AOI_OK);
    EXPECT(aoi_load(bytes, (size_t)(end - bytes), NULL, &again, &fault) == AOI_OK);
    aoi_close(again);
    close_space(s);
}

/* Walls on the line but for rounding, before it, behind it, far away: the rule's products decide. */
static void collinear(void) {
    setup u = {.engine = "brute", .dims = 2};
    int crossed = 0;
    for (long round = 0; round < random_steps(4000); round++) {
        aoi_space *s = open_space(&u);
        aoi_sight *g = NULL;
        aoi_wall walls[3];
        double ends[2][3] = {{0}}, from[2], way[2];
        EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
        for (int a = 0; a < 2; a++) {
            from[a] = (double)random_below(400) / 10 - 20;
            way[a] = ((double)random_below(41) - 20) / 10;
        }
        for (int k = 0; k < 3; k++) {
            int begin = (int)random_below(60) - 30, end = begin + 1 + (int)random_below(4);
            walls[k] = (aoi_wall){.a = {from[0] + way[0] * begin, from[1] + way[1] * begin}};
            for (int a = 0; a < 2; a++) walls[k].b[a] = from[a] + way[a] * end;
            EXPECT(aoi_sight_add_wall(g, walls + k, NULL) == AOI_OK);
        }
        for (int k = 0; k < 50; k++) {
            int begin = (int)random_below(60) - 30, end = begin + 1 + (int)random_below(9);
            for (int a = 0; a < 2; a++) ends[0][a] = from[a] + way[a] * begin, ends[1][a] = from[a] + way[a] * end;
            bool hidden = false;
            for (int i = 0; i < 3; i++) hidden |= wall_hides(walls + i, 2, ends[0], ends[1]);
            crossed += hidden;
            expect_line(g, ends[0], ends[1], hidden);
        }
        close_space(s);
    }
    EXPECT(crossed > 0);
}

int main(void) {
    random_start("sight");
    RUN(collinear);
    RUN(beyond_products);
    RUN(lingers_for_ever);
    RUN(ties);
    RUN(watchers_alone);
    RUN(refused_wall);
    RUN(refused_sharing);
    RUN(user_data);
    RUN(walls_outlive_their_sight);
    RUN(rays);
    wall_touches = 0;
    RUN(histories);
    printf("sight: %lu pairs compared with a loop over all walls, %lu of their walls touch the line or its ends\n",
           pairs, wall_touches);
    printf("sight: %lu lines from both sides, %lu of them clear\n", lines, clear_lines);
    return expect_report("sight");
}
