/* sight.c - what it costs to see past walls, beside a loop written by hand.
 *
 *     make build/core/bench/sight && build/core/bench/sight [GUARDS [town | field | rooms | sparse]]
 *
 * A town of streets: 35 x 35 houses of four walls and some fences, 5,000 walls; guards walk along the streets.  A field of
 * 2,000 short walls, 42 x 42 rooms with doors, and 150 walls far apart: guards walk anywhere.  Each guard has a cone of 30
 * that looks where it goes.  By hand: for each guard all others, the cone, and a grid of walls that the line
 * walks through (Amanatides and Woo, A fast voxel traversal algorithm for ray tracing, 1987); what is seen is compared
 * with what was seen.  With the library: move_many in a deferred space, and aoi_sight_tick.  Then all are clients with
 * circles of 30 and 50, without walls and with them: a tick of aoi_sync, its messages included.  Minima, ms of processor time a
 * tick. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aoi_sight.h"
#include "aoi_sync.h"

enum { HOUSES = 35, PITCH = 24, HOUSE = 16, WALLS = 8000, CELL = 16, CELLS = 64, TICKS = 60, MOST = 8000 };
enum { SIZE = HOUSES * PITCH, ROOM = 20 };
static const double REACH = 30, ANGLE = 2, TURN = 6.283185307179586;

static aoi_wall walls[WALLS];
static int wall_count, guards = 2000;
static double px[MOST], py[MOST], facing[MOST];
static bool free_ways; /* any direction, else along an axis */
static bool turned[MOST];
static uint64_t state = 7;

static uint32_t below(uint32_t n) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % n;
}

static double part(double of) {
    return of * below(1000000) / 1e6;
}

static double clock_ms(void) {
    return (double)clock() * 1e3 / CLOCKS_PER_SEC; /* of the processor: others may share it */
}

static void add_wall(double x0, double y0, double x1, double y1) {
    if (wall_count < WALLS) walls[wall_count++] = (aoi_wall){.a = {x0, y0}, .b = {x1, y1}};
}

static void build_town(void) {
    for (int i = 0; i < HOUSES * HOUSES; i++) {
        double x = i % HOUSES * PITCH + 4, y = i / HOUSES * PITCH + 4, s = HOUSE;
        add_wall(x, y, x + s, y);
        add_wall(x + s, y, x + s, y + s);
        add_wall(x + s, y + s, x, y + s);
        add_wall(x, y + s, x, y);
    }
    while (wall_count < 5000) { /* across streets, half way */
        double x = below(HOUSES) * PITCH, y = below(HOUSES) * PITCH + 4 + below(HOUSE);
        add_wall(x - 4, y, x, y);
    }
}

static void build_field(int count, double least, double most) {
    for (int i = 0; i < count; i++) {
        double x = part(SIZE), y = part(SIZE), way = part(TURN), length = least + part(most - least);
        add_wall(x, y, x + length * cos(way), y + length * sin(way));
    }
}

/* Rooms with corridors between them, each with one to four doors of 2. */
static void build_rooms(void) {
    for (int i = 0; i < SIZE / ROOM * (SIZE / ROOM); i++) {
        double x = i % (SIZE / ROOM) * ROOM, y = i / (SIZE / ROOM) * ROOM, end = ROOM - 2;
        for (int side = 0, open = (int)below(4); side < 4; side++) {
            double door = side == open || below(2) ? 4 + below(10) : end, at = side % 2 ? end : 2;
            for (double from = 2, to = door; from < end; from = door + 2, door = to = end) {
                if (side < 2) add_wall(x + from, y + at, x + to, y + at);
                else add_wall(x + at, y + from, x + at, y + to);
            }
        }
    }
}

static void place_guards(void) {
    for (int i = 0; i < guards; i++) {
        bool along = below(2);
        double street = below(HOUSES) * PITCH + (double)below(60) / 10 - 3, at = below(HOUSES * PITCH * 10) / 10.0;
        px[i] = along ? at : street;
        py[i] = along ? street : at;
        facing[i] = ((int)below(2) * 2 + !along) * TURN / 4;
        if (free_ways) px[i] = part(SIZE), py[i] = part(SIZE), facing[i] = part(TURN);
    }
}

/* One tick of walking: about a metre, now and then around. */
static void walk(void) {
    for (int i = 0; i < guards; i++) {
        double x = px[i] + cos(facing[i]) * 0.7, y = py[i] + sin(facing[i]) * 0.7;
        turned[i] = x < 0 || y < 0 || x > SIZE || y > SIZE || below(50) == 0;
        if (turned[i]) {
            facing[i] = free_ways ? part(TURN) : facing[i] + (facing[i] < TURN / 2 ? TURN / 2 : -TURN / 2);
        } else {
            px[i] = x;
            py[i] = y;
        }
    }
}

/* ---- by hand --------------------------------------------------------------------------------------------------------- */

static int *cell_walls[CELLS * CELLS], cell_counts[CELLS * CELLS];
static unsigned char *saw;

static int cell_of(double v) {
    int c = (int)floor(v / CELL) + 1;
    return c < 0 ? 0 : c >= CELLS ? CELLS - 1 : c;
}

static void file_walls(void) {
    for (int w = 0; w < wall_count; w++) {
        int x0 = cell_of(fmin(walls[w].a[0], walls[w].b[0])), x1 = cell_of(fmax(walls[w].a[0], walls[w].b[0]));
        int y0 = cell_of(fmin(walls[w].a[1], walls[w].b[1])), y1 = cell_of(fmax(walls[w].a[1], walls[w].b[1]));
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                int c = y * CELLS + x;
                cell_walls[c] = realloc(cell_walls[c], (size_t)(cell_counts[c] + 1) * sizeof(int));
                cell_walls[c][cell_counts[c]++] = w;
            }
    }
}

static double cross(double ux, double uy, double vx, double vy) {
    return ux * vy - uy * vx;
}

/* Of both ends w is the one with the smaller x, then y. */
static bool hides(const aoi_wall *k, double wx, double wy, double tx, double ty) {
    double bx = k->b[0] - k->a[0], by = k->b[1] - k->a[1];
    if ((cross(bx, by, wx - k->a[0], wy - k->a[1]) > 0) == (cross(bx, by, tx - k->a[0], ty - k->a[1]) > 0))
        return false;
    return (cross(tx - wx, ty - wy, k->a[0] - wx, k->a[1] - wy) > 0) !=
           (cross(tx - wx, ty - wy, k->b[0] - wx, k->b[1] - wy) > 0);
}

static bool is_clear(double wx, double wy, double tx, double ty) {
    int x = cell_of(wx), y = cell_of(wy), ex = cell_of(tx), ey = cell_of(ty);
    double dx = tx - wx, dy = ty - wy;
    const bool back = wx > tx || (wx == tx && wy > ty);
    int sx = dx > 0 ? 1 : -1, sy = dy > 0 ? 1 : -1;
    double stepx = dx != 0 ? CELL / fabs(dx) : INFINITY, stepy = dy != 0 ? CELL / fabs(dy) : INFINITY;
    double nextx = dx != 0 ? ((x - 1 + (sx > 0)) * (double)CELL - wx) / dx : INFINITY;
    double nexty = dy != 0 ? ((y - 1 + (sy > 0)) * (double)CELL - wy) / dy : INFINITY;
    for (;;) {
        int c = y * CELLS + x;
        for (int k = 0; k < cell_counts[c]; k++)
            if (back ? hides(walls + cell_walls[c][k], tx, ty, wx, wy)
                     : hides(walls + cell_walls[c][k], wx, wy, tx, ty))
                return false;
        if ((x == ex && y == ey) || (nextx > 1 && nexty > 1)) return true;
        if (nextx < nexty) x += sx, nextx += stepx;
        else y += sy, nexty += stepy;
        if (x < 0 || y < 0 || x >= CELLS || y >= CELLS) return true;
    }
}

static long by_hand(long *pairs) {
    long events = 0, seen = 0;
    for (int i = 0; i < guards; i++) {
        double fx = cos(facing[i]), fy = sin(facing[i]), c = cos(ANGLE / 2);
        for (int j = 0; j < guards; j++) {
            double dx = px[j] - px[i], dy = py[j] - py[i], d2 = dx * dx + dy * dy;
            bool in = d2 <= REACH * REACH && i != j && dx * fx + dy * fy >= c * sqrt(d2);
            bool is = in && is_clear(px[i], py[i], px[j], py[j]);
            size_t at = (size_t)i * (size_t)guards + (size_t)j;
            events += is != saw[at];
            saw[at] = is;
            seen += is;
        }
    }
    *pairs = seen;
    return events;
}

/* ---- with the library ------------------------------------------------------------------------------------------------ */

static aoi_space *space;
static aoi_sight *sight;
static aoi_row rows[MOST];
static aoi_node nodes[MOST];

static void open_library(void) {
    aoi_open(&(aoi_options){.engine = "grid", .deferred = true}, &space);
    aoi_sight_open(space, NULL, &sight);
    for (int w = 0; w < wall_count; w++) aoi_sight_add_wall(sight, walls + w, NULL);
    for (int i = 0; i < guards; i++) {
        aoi_entity e;
        aoi_area cone = {.shape = AOI_SECTOR,
                         .radius = REACH,
                         .angle = ANGLE,
                         .facing = facing[i],
                         .half_height = INFINITY,
                         .mask = AOI_ALL_KINDS};
        aoi_enter(space, i, (double[3]){px[i], py[i], 0}, 1, &e);
        if (aoi_sight_add_node(sight, e, 1, &cone, 0, nodes + i) != AOI_OK) exit(1);
    }
}

static long with_library(double *sight_ms) {
    aoi_event e;
    long events = 0;
    for (int i = 0; i < guards; i++) {
        rows[i] = (aoi_row){i, {px[i], py[i], 0}};
        if (turned[i]) aoi_set_facing(space, nodes[i], facing[i]);
    }
    aoi_move_many(space, rows, (size_t)guards, NULL);
    aoi_flush(space);
    double begin = clock_ms();
    aoi_sight_tick(sight);
    while (aoi_sight_next(sight, &e)) events++;
    *sight_ms = clock_ms() - begin;
    return events;
}

/* ---- client views ---------------------------------------------------------------------------------------------------- */

static double sync_tick(aoi_space *of, aoi_sync *sync, double *bytes) {
    aoi_message m;
    for (int i = 0; i < guards; i++) rows[i] = (aoi_row){i, {px[i], py[i], 0}};
    double begin = clock_ms();
    aoi_move_many(of, rows, (size_t)guards, NULL);
    for (int result = aoi_sync_begin(sync); result == AOI_OK && aoi_sync_next(sync, &m) == AOI_OK && m.bytes;) {
        *bytes += (double)m.size;
        aoi_sync_sent(sync);
    }
    return clock_ms() - begin;
}

static void client_views(double radius) {
    double least[2] = {INFINITY, INFINITY}, bytes[2] = {0};
    aoi_space *of[2];
    aoi_sync *sync[2];
    const aoi_area view = {.shape = AOI_CIRCLE, .radius = radius, .half_height = INFINITY, .mask = AOI_ALL_KINDS};
    for (int k = 0; k < 2; k++) {
        aoi_sight *past = NULL;
        aoi_open(&(aoi_options){.engine = "grid", .deferred = true}, of + k);
        if (k) aoi_sight_open(of[k], NULL, &past);
        for (int w = 0; w < wall_count && k; w++) aoi_sight_add_wall(past, walls + w, NULL);
        aoi_sync_open(of[k], &(aoi_sync_options){.quantum = 0.01, .sight = past}, sync + k);
        for (int i = 0; i < guards; i++) {
            aoi_entity e;
            aoi_enter(of[k], i, (double[3]){px[i], py[i], 0}, 1, &e);
            if (aoi_sync_add(sync[k], e, &view, 1, NULL) != AOI_OK) exit(1);
        }
    }
    for (int tick = 0; tick < TICKS; tick++) {
        walk();
        for (int k = 0; k < 2; k++) {
            double ms = sync_tick(of[k], sync[k], bytes + k);
            if (tick >= 5) least[k] = fmin(least[k], ms);
        }
    }
    printf("client views of %.0f: %.3f ms without walls, %.3f with them (%.1f), which send %.2f of the bytes\n", radius,
           least[0], least[1], least[1] / least[0], bytes[1] / bytes[0]);
    for (int k = 0; k < 2; k++) aoi_close(of[k]);
}

int main(int argc, char **argv) {
    double hand = INFINITY, whole = INFINITY, alone = INFINITY, still = INFINITY, door = INFINITY, at;
    long pairs = 0, wrong = 0;
    aoi_sight_stats s;
    if (argc > 1) guards = atoi(argv[1]);
    if (guards < 1 || guards > MOST) return 2;
    const char *map = argc > 2 ? argv[2] : "town";
    free_ways = strcmp(map, "town") != 0;
    if (!free_ways) build_town();
    else if (!strcmp(map, "rooms")) build_rooms();
    else if (!strcmp(map, "sparse")) build_field(150, 10, 30);
    else build_field(2000, 1, 6);
    place_guards();
    file_walls();
    saw = calloc((size_t)guards, (size_t)guards);
    open_library();
    for (int tick = 0; tick < TICKS; tick++) {
        if (tick) walk();
        double begin = clock_ms();
        long expected = by_hand(&pairs);
        double middle = clock_ms();
        wrong += with_library(&at) != expected;
        double end = clock_ms();
        if (tick < 5) continue;
        hand = fmin(hand, middle - begin);
        whole = fmin(whole, end - middle);
        alone = fmin(alone, at);
        begin = clock_ms();
        aoi_sight_tick(sight);
        still = fmin(still, clock_ms() - begin);
        int64_t id = 1 + below((uint32_t)wall_count);
        begin = clock_ms();
        aoi_sight_open_wall(sight, id, true);
        aoi_sight_tick(sight);
        door = fmin(door, clock_ms() - begin);
        aoi_sight_open_wall(sight, id, false);
        aoi_sight_tick(sight);
        aoi_event e;
        while (aoi_sight_next(sight, &e)) {
        }
    }
    aoi_sight_read_stats(sight, &s);
    printf("%s: %d guards, %d walls, %llu pairs in cones, %ld seen; ticks that differ: %ld\n", map, guards, wall_count,
           (unsigned long long)s.pairs, pairs, wrong);
    printf("by hand %.3f ms, library %.3f ms (%.2f), of which the sight %.3f ms: %.0f ns a pair in a cone, %.0f a pair "
           "seen\n",
           hand, whole, whole / hand, alone, alone * 1e6 / (double)s.pairs, alone * 1e6 / (double)pairs);
    printf("a still tick %.5f ms, a door %.4f ms\n", still, door);
    aoi_close(space);
    client_views(30);
    client_views(50);
    return wrong != 0;
}
