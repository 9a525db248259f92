/* native.c - `require "bench.native"`: plays scenes through the C API alone.
 *
 * Lua describes the scene and hands over the positions of each step (load); fill and play then run without Lua and
 * measure themselves, so that C and Lua do the very same things. A caller in C keeps handles, so this one does too;
 * through Lua an id has to be found each time.
 *
 *   native.open(engine, cell, nodes, kinds, deferred, journal)
 *                                  a player: a space of that engine; cell 0 leaves it to the engine;
 *                                  kinds: last, kind, last, kind ...: up to which entity entities are of which kind
 *   player:load(x, y, n)                         positions of the entities 1 .. n; the first time of all there are
 *   player:fill()                  -> seconds, events     all enter and get their nodes
 *   player:play(verb, m, radius)   -> seconds, events     the operation for entities 1 .. m; questions count answers
 *   player:stats()                 -> memory, candidates, steps
 *   player:close()
 *   native.clock()                 -> seconds of this thread's processor time */
#define _POSIX_C_SOURCE 200809L
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aoi.h"
#include "aoi_journal.h"

#define TYPE_NAME "bench.player"

enum { MAX_KINDS = 8 };

typedef struct { /* of a node: each so manieth of the entities first to last has it */
    aoi_area area;
    int64_t every, first, last;
} node_kind;

typedef struct {
    int64_t last;
    uint64_t kind;
} entity_kind;

typedef struct {
    aoi_space *space;
    aoi_journal *journal; /* or NULL */
    size_t n;
    double (*at)[3];
    aoi_entity *entity;
    aoi_node *node; /* node 1 of each entity, null if it has none */
    node_kind kinds[MAX_KINDS];
    int kind_count;
    entity_kind entity_kinds[MAX_KINDS];
    int entity_kind_count;
} player;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t take(player *p) {
    aoi_event events[256];
    uint64_t count = 0;
    for (size_t n; (n = aoi_drain(p->space, events, sizeof events / sizeof *events)) > 0;) count += n;
    return count;
}

/* ---- the operations; each returns AOI_OK and adds to *count ---------------------------------------------------------- */

static uint64_t kind_of(const player *p, int64_t id) {
    int k = 0;
    while (k < p->entity_kind_count && id > p->entity_kinds[k].last) k++;
    return k < p->entity_kind_count ? p->entity_kinds[k].kind : 1;
}

static int enter(player *p, size_t i) {
    int64_t id = (int64_t)i + 1;
    int result = aoi_enter(p->space, id, p->at[i], kind_of(p, id), &p->entity[i]);
    for (int k = 0; result == AOI_OK && k < p->kind_count; k++) {
        aoi_node node = {0, 0};
        if (id % p->kinds[k].every || id < p->kinds[k].first || id > p->kinds[k].last) continue;
        result = aoi_add_node(p->space, p->entity[i], k + 1, &p->kinds[k].area, &node);
        if (k == 0) p->node[i] = node;
    }
    return result;
}

static int play_move(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    (void)radius;
    for (size_t i = 0; i < m && result == AOI_OK; i++) {
        result = aoi_move(p->space, p->entity[i], p->at[i]);
        *count += take(p);
    }
    return result;
}

static int play_batch(player *p, size_t m, double radius, uint64_t *count) {
    aoi_row *rows = aoi_row_buffer(p->space, m);
    (void)radius;
    if (!rows) return AOI_ENOMEM;
    for (size_t i = 0; i < m; i++) {
        rows[i].id = (int64_t)i + 1;
        memcpy(rows[i].pos, p->at[i], sizeof rows[i].pos);
    }
    int result = aoi_move_many(p->space, rows, m, NULL);
    if (result == AOI_OK) result = aoi_flush(p->space);
    *count += take(p);
    return result;
}

/* The tick of a deferred space: each mover says where it is, then one look. */
static int play_tick(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    (void)radius;
    for (size_t i = 0; i < m && result == AOI_OK; i++) result = aoi_move(p->space, p->entity[i], p->at[i]);
    if (result == AOI_OK) result = aoi_flush(p->space);
    *count += take(p);
    return result;
}

static int play_churn(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    (void)radius;
    for (size_t i = 0; i < m && result == AOI_OK; i++) {
        result = aoi_leave(p->space, p->entity[i]);
        *count += take(p);
        if (result == AOI_OK) result = enter(p, i);
        *count += take(p);
    }
    return result;
}

static int play_near(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    const int64_t *ids;
    size_t found = 0;
    for (size_t i = 0; i < m && result == AOI_OK; i++) {
        result = aoi_near(p->space, p->at[i], &(aoi_area){.radius = radius}, &ids, &found);
        *count += found;
    }
    return result;
}

static int play_view(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    const int64_t *ids;
    size_t found = 0;
    (void)radius;
    for (size_t i = 0; i < m && result == AOI_OK; i++) {
        result = aoi_view(p->space, p->node[i], &ids, &found);
        *count += found;
    }
    return result;
}

static int play_viewers(player *p, size_t m, double radius, uint64_t *count) {
    int result = AOI_OK;
    const int64_t *ids, *nodes;
    size_t found = 0;
    (void)radius;
    for (size_t i = 0; i < m && result == AOI_OK; i++) {
        result = aoi_viewers(p->space, p->entity[i], &ids, &nodes, &found);
        *count += found;
    }
    return result;
}

static const struct {
    const char *name;
    int (*play)(player *, size_t, double, uint64_t *);
} verbs[] = {
    {"move", play_move}, {"batch", play_batch}, {"tick", play_tick},       {"churn", play_churn},
    {"near", play_near}, {"view", play_view},   {"viewers", play_viewers},
};

/* ---- for Lua --------------------------------------------------------------------------------------------------------- */

static player *self(lua_State *L) {
    player *p = luaL_checkudata(L, 1, TYPE_NAME);
    if (!p->space) luaL_error(L, "the player is closed");
    return p;
}

static int measured(lua_State *L, double start, int result, uint64_t count) {
    double seconds = now() - start;
    if (result != AOI_OK) return luaL_error(L, "the core refused: %s", aoi_result_text(result));
    lua_pushnumber(L, seconds);
    lua_pushnumber(L, (lua_Number)count);
    return 2;
}

static double field(lua_State *L, const char *name, double otherwise) {
    lua_getfield(L, -1, name);
    double value = luaL_optnumber(L, -1, otherwise);
    lua_pop(L, 1);
    return value;
}

/* The node on top of the stack, as scenes.lua describes it. */
static void read_kind(lua_State *L, node_kind *kind) {
    kind->area.radius = field(L, "radius", 0);
    kind->area.keep = field(L, "keep", 0);
    double mask = field(L, "mask", -1);
    kind->area.mask = mask < 0 ? AOI_ALL_KINDS : (uint64_t)mask;
    kind->every = (int64_t)field(L, "every", 1);
    kind->first = (int64_t)field(L, "first", 1);
    kind->last = (int64_t)field(L, "last", 1e15);
    lua_getfield(L, -1, "shape");
    kind->area.shape = strcmp(luaL_optstring(L, -1, "square"), "circle") == 0 ? AOI_CIRCLE : AOI_SQUARE;
    lua_pop(L, 1);
}

static void read_entity_kinds(lua_State *L, player *p) {
    for (int n = 0; p->entity_kind_count < MAX_KINDS; n += 2) {
        lua_rawgeti(L, 4, n + 1);
        lua_rawgeti(L, 4, n + 2);
        if (lua_isnil(L, -1)) break;
        p->entity_kinds[p->entity_kind_count++] =
            (entity_kind){(int64_t)lua_tonumber(L, -2), (uint64_t)lua_tonumber(L, -1)};
        lua_pop(L, 2);
    }
    lua_pop(L, 2);
}

static bool drop_bytes(void *ud, const void *bytes, size_t size) {
    (void)ud, (void)bytes, (void)size;
    return true;
}

static int l_open(lua_State *L) {
    aoi_options o = {.deferred = lua_toboolean(L, 5)};
    o.engine = luaL_checkstring(L, 1);
    o.cell = luaL_checknumber(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    player *p = lua_newuserdata(L, sizeof *p);
    memset(p, 0, sizeof *p);
    luaL_getmetatable(L, TYPE_NAME);
    lua_setmetatable(L, -2);
    for (;; p->kind_count++) {
        lua_rawgeti(L, 3, p->kind_count + 1);
        if (lua_isnil(L, -1)) break;
        if (p->kind_count == MAX_KINDS) return luaL_error(L, "more than %d nodes on an entity", MAX_KINDS);
        read_kind(L, &p->kinds[p->kind_count]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (lua_istable(L, 4)) read_entity_kinds(L, p);
    if (aoi_open(&o, &p->space) != AOI_OK) return luaL_error(L, "no space for engine '%s'", o.engine);
    aoi_journal_options nowhere = {.write = drop_bytes};
    if (lua_toboolean(L, 6) && aoi_journal_start(p->space, &nowhere, &p->journal) != AOI_OK)
        return luaL_error(L, "no journal");
    return 1;
}

static void *resized(lua_State *L, void *old, size_t bytes) {
    void *block = realloc(old, bytes);
    if (!block) luaL_error(L, "not enough memory");
    return block;
}

static int l_load(lua_State *L) {
    player *p = self(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    size_t n = (size_t)luaL_checknumber(L, 4);
    if (n > p->n) {
        p->at = resized(L, p->at, n * sizeof *p->at);
        p->entity = resized(L, p->entity, n * sizeof *p->entity);
        p->node = resized(L, p->node, n * sizeof *p->node);
        memset(p->at + p->n, 0, (n - p->n) * sizeof *p->at);
        memset(p->entity + p->n, 0, (n - p->n) * sizeof *p->entity);
        memset(p->node + p->n, 0, (n - p->n) * sizeof *p->node);
        p->n = n;
    }
    for (size_t i = 0; i < n; i++) {
        for (int a = 0; a < 2; a++) {
            lua_rawgeti(L, 2 + a, (int)i + 1);
            p->at[i][a] = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
    }
    return 0;
}

static int l_fill(lua_State *L) {
    player *p = self(L);
    uint64_t count = 0;
    int result = AOI_OK;
    double start = now();
    for (size_t i = 0; i < p->n && result == AOI_OK; i++) {
        result = enter(p, i);
        count += take(p);
    }
    return measured(L, start, result, count);
}

static int l_play(lua_State *L) {
    player *p = self(L);
    const char *name = luaL_checkstring(L, 2);
    size_t m = (size_t)luaL_checknumber(L, 3);
    double radius = luaL_checknumber(L, 4);
    if (m > p->n) return luaL_argerror(L, 3, "more than there are");
    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++) {
        if (strcmp(verbs[v].name, name) != 0) continue;
        uint64_t count = 0;
        double start = now();
        int result = verbs[v].play(p, m, radius, &count);
        return measured(L, start, result, count);
    }
    return luaL_argerror(L, 2, "no such verb");
}

static int l_stats(lua_State *L) {
    aoi_stats st;
    aoi_read_stats(self(L)->space, &st);
    lua_pushnumber(L, (lua_Number)st.memory);
    lua_pushnumber(L, (lua_Number)st.candidates);
    lua_pushnumber(L, (lua_Number)st.steps);
    return 3;
}

static int l_close(lua_State *L) {
    player *p = luaL_checkudata(L, 1, TYPE_NAME);
    aoi_close(p->space);
    (void)aoi_journal_stop(p->journal);
    p->journal = NULL;
    free(p->at);
    free(p->entity);
    free(p->node);
    memset(p, 0, sizeof *p);
    return 0;
}

static int l_clock(lua_State *L) {
    lua_pushnumber(L, now());
    return 1;
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "another compiler"
#endif

static const luaL_Reg methods[] = {
    {"load", l_load}, {"fill", l_fill}, {"play", l_play}, {"stats", l_stats}, {"close", l_close}, {NULL, NULL},
};

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

EXPORT int luaopen_bench_native(lua_State *L);

EXPORT int luaopen_bench_native(lua_State *L) {
    luaL_newmetatable(L, TYPE_NAME);
    lua_pushcfunction(L, l_close);
    lua_setfield(L, -2, "__gc");
    lua_newtable(L);
    for (const luaL_Reg *f = methods; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    lua_setfield(L, -2, "__index");
    lua_newtable(L);
    lua_pushcfunction(L, l_open);
    lua_setfield(L, -2, "open");
    lua_pushcfunction(L, l_clock);
    lua_setfield(L, -2, "clock");
    lua_pushliteral(L, COMPILER);
    lua_setfield(L, -2, "compiler");
    return 1;
}
