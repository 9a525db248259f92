/* Sights through the C API: the fuzzer's game, in which all that is seen is compared with a loop over all walls; lines of
 * all lengths; and what C alone has: refused memory, sights that share walls, and how they close. */
#include <math.h>

#include "../../fuzz/sight.c"
#include "aoi_sync.h"
#include "play.h"

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

enum { MOST_WALLS = 400 };

static unsigned long lines, hidden_lines; /* from both sides */

typedef struct scenery {
    int walls, lines;
    double size, far;       /* of coordinates, from the origin */
    int spread;             /* exponents of lengths */
    bool whole;             /* whole numbers, so that many ends touch */
    double from[2], way[2]; /* of a line on which all lie but for rounding; way 0: anywhere */
} scenery;

static void some_ends(const scenery *y, double a[3], double b[3]) {
    const double length = ldexp(1, (int)random_below((uint32_t)y->spread) - y->spread / 2);
    const int begin = (int)random_below(60) - 30, end = begin + 1 + (int)random_below(9);
    double p[4];
    for (int k = 0; k < 4; k++) p[k] = y->whole ? random_below(30) : (double)random_below(1 << 30) / (1 << 30) * 30;
    for (int k = 0; k < 2; k++) {
        const bool on_line = y->way[0] != 0 || y->way[1] != 0;
        a[k] = on_line ? y->from[k] + y->way[k] * begin : y->far + (p[k] - 15) * y->size;
        b[k] = on_line ? y->from[k] + y->way[k] * end : y->far + (p[k] - 15 + (p[2 + k] - 15) * length) * y->size;
    }
    a[2] = b[2] = 0;
}

/* A wall is found on a line from both sides or from none, as a loop over all walls finds it. */
static void lines_among(const scenery *y) {
    static aoi_wall walls[MOST_WALLS];
    setup u = {.engine = "brute", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sight *g = NULL;
    double w[3], t[3], at[3];
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    for (int k = 0; k < y->walls; k++) {
        some_ends(y, w, t);
        walls[k] = (aoi_wall){.a = {w[0], w[1]}, .b = {t[0], t[1]}};
        EXPECT(aoi_sight_add_wall(g, walls + k, NULL) == AOI_OK);
    }
    for (int k = 0; k < y->lines; k++) {
        bool hidden = false;
        some_ends(y, w, t);
        for (int i = 0; i < y->walls && !hidden; i++) hidden = wall_hides(walls + i, 2, w, t);
        EXPECT((aoi_sight_ray(g, w, t, at) != 0) == hidden && (aoi_sight_ray(g, t, w, at) != 0) == hidden);
        hidden_lines += hidden;
        lines++;
    }
    EXPECT(!aoi_check(s));
    close_space(s);
}

/* Near and far from the origin; where products of coordinates underflow, and so walls hide that are nowhere near the line,
 * and where they are as large as they may be; and all on one line. */
static void lines_are_what_the_rule_says(void) {
    static const int exponents[] = {-1000, -536, -500, 40, 44};
    for (long round = 0; round < random_steps(400); round++) {
        const double size = ldexp(1, (int)random_below(60) - 40);
        scenery near = {
            .walls = 40, .lines = 200, .size = size, .spread = random_below(2) ? 3 : 40, .whole = round % 2};
        scenery extreme = {
            .walls = 24, .lines = 60, .size = ldexp(1, exponents[round % 5]), .spread = 1, .whole = true};
        scenery collinear = {.walls = 3, .lines = 50, .size = 1, .spread = 1};
        if (round % 10 == 0) near.walls = MOST_WALLS, near.lines = 2000;
        if (random_below(3) == 0) near.far = ldexp(size, (int)random_below(30));
        for (int a = 0; a < 2; a++) {
            collinear.from[a] = (double)random_below(400) / 10 - 20;
            collinear.way[a] = ((double)random_below(41) - 20) / 10;
        }
        lines_among(&near);
        lines_among(&extreme);
        lines_among(&collinear);
    }
    EXPECT(hidden_lines > lines / 20 && hidden_lines < lines - lines / 20);
}

/* ---- what C alone has -------------------------------------------------------------------------------------------------- */

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

int main(void) {
    random_start("sight");
    RUN(ties);
    RUN(refused_wall);
    RUN(refused_sharing);
    RUN(walls_outlive_their_sight);
    RUN(lines_are_what_the_rule_says);
    play_corpus("fuzz/corpus/sight");
    play_random(random_steps(4000));
    printf("sight: %lu lines from both sides, %lu of them hidden\n", lines, hidden_lines);
    return expect_report("sight");
}
