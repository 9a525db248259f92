/* sight_methods.c - `aoi.sight`: nodes that do not see through walls.  lua/aoi/meta/sight.lua has the contract; the
 * userdata is drawn in classes.c.
 *
 * The space's table has the handlers, as for the space's own nodes.  A tick makes the events and delivers them
 * (deliver.c), as a flush of the space does. */
#include "lua/binding.h"

#include <limits.h>
#include <string.h>

/* ---- self and arguments ------------------------------------------------------------------------------------------ */

static laoi_child *sight_self_of(lua_State *L, int most) {
    return laoi_child_self(L, &laoi_sight_class, most);
}

static laoi_child *sight_self(lua_State *L) {
    return sight_self_of(L, INT_MAX - 1);
}

static aoi_node sight_node(lua_State *L, const laoi_child *g) {
    aoi_node n = laoi_node(L, g->space, 2, NULL);
    if (!aoi_sight_has_node(g->core, n))
        laoi_argerror(L, 3, "node %s of entity %s is none of this sight", laoi_spell(L, laoi_integer(L, 3)),
                      laoi_spell(L, laoi_integer(L, 2)));
    return n;
}

/* Replaces self by the userdata of its space. */
static void replace_self(lua_State *L) {
    laoi_gettable(L, 1);
    lua_rawgeti(L, -1, 1);
    lua_replace(L, 1);
    lua_pop(L, 1);
}

aoi_sight *laoi_sight_argument(lua_State *L, int i, const laoi_space *b) {
    laoi_child *g = lua_touserdata(L, i);
    bool is = g && lua_getmetatable(L, i);
    if (is) {
        is = laoi_rawfield(L, -1, "__name") == LUA_TSTRING && !strcmp(lua_tostring(L, -1), laoi_sight_class.name) &&
             lua_rawlen(L, i) == sizeof *g;
        lua_pop(L, 2);
    }
    return is && laoi_is_open(g) && g->space == b ? g->core : NULL;
}

aoi_sight *laoi_sight_option(lua_State *L, int i, const char *name, const laoi_space *b) {
    laoi_rawfield(L, i, name);
    aoi_sight *g = laoi_sight_argument(L, lua_gettop(L), b);
    if (!g) laoi_bad_option(L, i, name, "an open sight of the same space expected");
    lua_pop(L, 1);
    return g;
}

/* ---- making and closing ------------------------------------------------------------------------------------------ */

typedef struct walls_option_arg {
    const laoi_space *b;
    aoi_sight *walls;
} walls_option_arg;

static void read_walls(lua_State *L, int i, const char *name, void *to) {
    walls_option_arg *a = to;
    a->walls = laoi_sight_option(L, i, name, a->b);
}

static const laoi_option sight_options[] = {{"walls", .read = read_walls}, {.name = NULL}};

static int g_new(lua_State *L) {
    laoi_space *b = laoi_self(L);
    walls_option_arg a = {.b = b};
    laoi_read_options(L, 2, sight_options, &a);
    laoi_no_more(L, 3);
    laoi_child *g = laoi_new_on_space(L, b, sizeof *g);
    laoi_give_class(L);
    if (a.walls) a.walls = laoi_sight_option(L, 2, "walls", b); /* once more */
    aoi_sight *core;
    int result = aoi_sight_open(b->core, a.walls, &core);
    if (result != AOI_OK) return laoi_done(L, result);
    g->core = core;
    return 1;
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

static double height_argument(lua_State *L, int i, double usual) {
    if (lua_isnoneornil(L, i)) return usual;
    double v = laoi_number(L, i);
    if (isnan(v)) laoi_argerror(L, i, "height must not be nan");
    return isinf(v) ? v : laoi_coordinate(L, i);
}

static int g_wall(lua_State *L) {
    laoi_child *g = sight_self(L);
    aoi_wall w = {.z0 = -INFINITY, .z1 = INFINITY};
    int64_t id = 0;
    for (int a = 0; a < 2; a++) {
        w.a[a] = laoi_coordinate(L, 2 + a);
        w.b[a] = laoi_coordinate(L, 4 + a);
    }
    if (g->space->dims == 3) {
        w.z0 = height_argument(L, 6, w.z0);
        w.z1 = height_argument(L, 7, w.z1);
        const int absent = lua_isnoneornil(L, 6) ? 6 : 7;
        if (lua_isnoneornil(L, 6) != lua_isnoneornil(L, 7))
            return laoi_argerror(L, absent, "number expected, got %s: a wall has z0 and z1, or neither",
                                 luaL_typename(L, absent));
        if (!(w.z0 <= w.z1)) return laoi_argerror(L, 7, "z1 must not be less than z0");
    }
    laoi_no_more_in(L, g->space, g->space->dims == 3 ? 8 : 6);
    int result = aoi_sight_add_wall(g->core, &w, &id);
    if (result != AOI_OK) return laoi_done(L, result);
    return LAOI_INTEGERS(L, id);
}

static int wall_done(lua_State *L, int result) {
    if (result == AOI_EGONE) return laoi_argerror(L, 2, "no wall %s", laoi_spell(L, laoi_integer(L, 2)));
    return laoi_done(L, result);
}

static int g_open_wall(lua_State *L) {
    laoi_child *g = sight_self_of(L, 2);
    return wall_done(L, aoi_sight_open_wall(g->core, laoi_integer(L, 2), true));
}

static int g_shut_wall(lua_State *L) {
    laoi_child *g = sight_self_of(L, 2);
    return wall_done(L, aoi_sight_open_wall(g->core, laoi_integer(L, 2), false));
}

static int g_remove_wall(lua_State *L) {
    laoi_child *g = sight_self_of(L, 2);
    return wall_done(L, aoi_sight_remove_wall(g->core, laoi_integer(L, 2)));
}

static int g_get_wall(lua_State *L) {
    laoi_child *g = sight_self_of(L, 2);
    aoi_wall w;
    if (!aoi_sight_read_wall(g->core, laoi_integer(L, 2), &w)) return 0;
    for (int a = 0; a < 2; a++) lua_pushnumber(L, w.a[a]);
    for (int a = 0; a < 2; a++) lua_pushnumber(L, w.b[a]);
    lua_pushboolean(L, w.open);
    if (g->space->dims < 3) return 5;
    lua_pushnumber(L, w.z0);
    lua_pushnumber(L, w.z1);
    return 7;
}

static int g_walls(lua_State *L) {
    sight_self_of(L, 2);
    laoi_buffer(L, 2, 0);
    laoi_child *g = sight_self(L); /* once more */
    laoi_index n = 0;
    size_t cursor = 0;
    int64_t id;
    aoi_wall w;
    while (aoi_sight_next_wall(g->core, &cursor, &id, &w)) laoi_set_item(L, -1, ++n, id);
    return laoi_return_list(L, n, (size_t)n);
}

/* ray(x0, y0 [, z0], x1, y1 [, z1]) -> id, x, y [, z], or nil */
static int g_ray(lua_State *L) {
    laoi_child *g = sight_self(L);
    const int dims = g->space->dims;
    double p[3], q[3], at[3];
    for (int a = 0; a < dims; a++) p[a] = laoi_coordinate(L, 2 + a);
    for (int a = 0; a < dims; a++) q[a] = laoi_coordinate(L, 2 + dims + a);
    laoi_no_more_in(L, g->space, 2 + 2 * dims);
    int64_t id = aoi_sight_ray(g->core, p, q, at);
    if (!id) return 0;
    laoi_pushinteger(L, id);
    for (int a = 0; a < dims; a++) lua_pushnumber(L, at[a]);
    return 1 + dims;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

enum { HANDLERS_AT = 5 };

static const laoi_option node_options[] = {
    {"linger", .type = LAOI_WHOLE, .most = INT32_MAX, .why = "a whole number of ticks expected"}, {.name = NULL}};

/* add(id, node_id, area [, handlers | on_enter, on_leave] [, options]) */
static int g_add(lua_State *L) {
    laoi_child *g = sight_self(L);
    laoi_space *b = g->space;
    laoi_area_arg a;
    uint32_t linger = 0;
    laoi_entity(L, b, 2); /* its error precedes those of other arguments */
    int64_t node_id = laoi_integer(L, 3);
    laoi_area(L, b, 4, &a);
    for (int i = HANDLERS_AT + 2; i > HANDLERS_AT; i--)
        if (lua_istable(L, i)) {
            laoi_no_more(L, i + 1);
            laoi_read_options(L, i, node_options, &linger);
            lua_settop(L, i - 1);
            break;
        }
    (void)laoi_check_handlers(L, HANDLERS_AT);
    if (laoi_has_cross(L, HANDLERS_AT)) laoi_argerror(L, HANDLERS_AT, "handler 'cross': nodes of a sight have none");
    g = sight_self(L); /* once more */
    laoi_gettable(L, 1);
    lua_rawgeti(L, -1, 1);
    laoi_gettable(L, lua_gettop(L)); /* the table of the space */
    int t = lua_gettop(L);
    laoi_forget_freed(L, b, t); /* before a ref is reused */
    a.area.user_data = laoi_prepare_handlers(L, b, t, HANDLERS_AT, HANDLERS_AT + 1);
    int result = aoi_sight_add_node(g->core, laoi_entity(L, b, 2), node_id, &a.area, linger, NULL);
    laoi_settle_handlers(L, b, t, result == AOI_OK);
    if (result == AOI_EEXIST)
        return laoi_argerror(L, 3, "entity %s already has a node %s", laoi_spell(L, laoi_integer(L, 2)),
                             laoi_spell(L, node_id));
    return laoi_done(L, result);
}

static int g_remove(lua_State *L) {
    laoi_child *g = sight_self_of(L, 3);
    return laoi_done(L, aoi_remove_node(g->space->core, sight_node(L, g)));
}

static int g_tick(lua_State *L) {
    laoi_child *g = sight_self_of(L, 1);
    int result = aoi_sight_tick(g->core);
    if (result != AOI_OK) return laoi_done(L, result);
    laoi_space *b = g->space;
    replace_self(L);
    return laoi_deliver_plugins(L, b);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static int g_sees(lua_State *L) {
    laoi_child *g = sight_self_of(L, 4);
    aoi_node n = sight_node(L, g);
    int64_t target = laoi_integer(L, 4);
    laoi_settle_moves(L, g->space);
    lua_pushboolean(L, aoi_sight_sees(g->core, n, aoi_find(g->space->core, target)));
    return 1;
}

static int g_view(lua_State *L) {
    laoi_list a = {0};
    laoi_child *g = sight_self_of(L, 4);
    int result = aoi_sight_view(g->core, sight_node(L, g), &a.ids, &a.n);
    return laoi_answer(L, g->space, g_view, 4, result, &a);
}

static int g_viewers(lua_State *L) {
    laoi_list a = {0};
    laoi_child *g = sight_self_of(L, 3);
    int result = aoi_sight_viewers(g->core, laoi_entity(L, g->space, 2), &a.ids, &a.nodes, &a.n);
    return laoi_answer(L, g->space, g_viewers, 3, result, &a);
}

void laoi_push_sight_explanation(lua_State *L, const laoi_space *b, const aoi_sight_explanation *e,
                                 const int64_t *ids) {
    static const char *const axes[] = {"x", "y", "z"};
    laoi_push_explanation(L, b, &e->e, ids);
    if (!e->wall) return;
    laoi_set_integer(L, "wall", e->wall);
    for (int a = 0; a < b->dims; a++) laoi_set_number(L, axes[a], e->at[a]);
}

int laoi_sight_explain(lua_State *L, laoi_space *b, aoi_sight *g, int i) {
    int64_t ids[3];
    aoi_sight_explanation e;
    for (int k = 0; k < 3; k++) ids[k] = laoi_integer(L, i + k);
    laoi_settle_moves(L, b);
    aoi_sight_explain(g, ids[0], ids[1], ids[2], &e);
    laoi_push_sight_explanation(L, b, &e, ids);
    return 1;
}

static int g_explain(lua_State *L) {
    laoi_child *g = sight_self_of(L, 4);
    return laoi_sight_explain(L, g->space, g->core, 2);
}

static int g_stats(lua_State *L) {
    laoi_child *g = sight_self_of(L, 1);
    aoi_sight_stats s;
    aoi_sight_read_stats(g->core, &s);
    lua_createtable(L, 0, 5);
    laoi_set_integer(L, "walls", (int64_t)s.walls);
    laoi_set_integer(L, "nodes", (int64_t)s.nodes);
    laoi_set_integer(L, "pairs", (int64_t)s.pairs);
    laoi_set_integer(L, "seen", (int64_t)s.seen);
    laoi_set_integer(L, "tested", (int64_t)s.tested);
    return 1;
}

/* ---- the module -------------------------------------------------------------------------------------------------- */

static const luaL_Reg sight_methods[] = {
    {"wall", g_wall},
    {"open_wall", g_open_wall},
    {"shut_wall", g_shut_wall},
    {"remove_wall", g_remove_wall},
    {"get_wall", g_get_wall},
    {"walls", g_walls},
    {"ray", g_ray},
    {"add", g_add},
    {"remove", g_remove},
    {"tick", g_tick},
    {"sees", g_sees},
    {"view", g_view},
    {"viewers", g_viewers},
    {"explain", g_explain},
    {"stats", g_stats},
    {NULL, NULL},
};

static void end_sight(void *core) {
    aoi_sight_close(core);
}

const laoi_class laoi_sight_class = {"aoi.Sight", "sight", "new", g_new, end_sight, false, NULL, sight_methods, NULL};
