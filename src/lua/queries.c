/* queries.c - the methods of a space that only read.  lua/aoi/meta/ has the contracts. */
#include <string.h>

#include "lua/binding.h"

const char *laoi_override_name(int k) {
    static const char *const names[] = {"hide", "show", "match", NULL};
    return names[k];
}

/* Pushes the table at i, or a new one with room for n numbers.  False if making the table has run a finalizer that used
 * the space: then the answer of the core may be outdated, and the method must run again. */
static bool open_answer(lua_State *L, laoi_space *b, int i, int result, size_t n) {
    if (result != AOI_OK) laoi_nomemory(L);
    const uint32_t used = b->calls;
    lua_settop(L, i);
    laoi_buffer(L, i, n);
    if (b->calls == used) return true;
    lua_replace(L, i);
    return false;
}

int laoi_answer(lua_State *L, laoi_space *b, lua_CFunction method, int i, int result, const laoi_list *a) {
    if (!open_answer(L, b, i, result, a->nodes ? 2 * a->n : a->n)) return method(L);
    return laoi_fill_list(L, a->ids, a->nodes, a->n);
}

/* Checks the optional table to fill, the last argument. */
static void check_buffer(lua_State *L, int i) {
    if (!lua_isnoneornil(L, i) && !lua_istable(L, i)) laoi_typeerror(L, i, "table");
    laoi_no_more(L, i + 1);
}

/* The same where an area may be passed by mistake: in 2 dimensions `near(x, y, z, area)` would take z as the radius and
 * the area as the table to fill. */
static void check_buffer_in(lua_State *L, const laoi_space *b, int i) {
    if (!lua_isnoneornil(L, i) && !lua_istable(L, i)) laoi_typeerror(L, i, "table");
    bool suspect = lua_istable(L, i);
    if (suspect) {
        lua_rawgeti(L, i, 1);
        suspect = lua_type(L, -1) != LUA_TNUMBER; /* fast for the usual case, a list of an earlier call */
        lua_pop(L, 1);
    }
    for (int k = 0; k < 2 && suspect; k++, lua_pop(L, 1))
        if (laoi_rawfield(L, i, k ? "shape" : "radius") != LUA_TNIL)
            laoi_argerror(L, i, "a table to fill expected in %d dimensions, got an area", b->dims);
    laoi_no_more_in(L, b, i + 1);
}

static int l_view(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list a = {0};
    aoi_node node = laoi_node(L, b, 2, NULL);
    check_buffer(L, 4);
    int result = aoi_view(b->core, node, &a.ids, &a.n);
    return laoi_answer(L, b, l_view, 4, result, &a);
}

static int l_viewers(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list a = {0};
    aoi_entity e = laoi_entity(L, b, 2);
    check_buffer(L, 3);
    int result = aoi_viewers(b->core, e, &a.ids, &a.nodes, &a.n);
    return laoi_answer(L, b, l_viewers, 3, result, &a);
}

/* Reads an optional mask, which may be absent or nil; returns the index after it. */
static int optional_mask(lua_State *L, int i, uint64_t *mask, bool *given) {
    if (lua_istable(L, i)) return i;
    if (lua_isnoneornil(L, i)) return i + 1;
    *mask = (uint64_t)laoi_integer(L, i);
    *given = true;
    return i + 1;
}

/* Reads an area and an optional mask; returns the index after them. */
static int area_and_mask(lua_State *L, const laoi_space *b, int i, laoi_area_arg *a) {
    laoi_area(L, b, i, a);
    i = optional_mask(L, i + 1, &a->area.mask, &a->masked);
    a->none = a->masked && !a->area.mask;
    if (!a->masked) a->area.mask = 0;
    return i;
}

int laoi_near_arguments(lua_State *L, const laoi_space *b, int i, double *pos, laoi_area_arg *a) {
    i = area_and_mask(L, b, laoi_position(L, b, i, pos), a);
    check_buffer_in(L, b, i);
    if (a->area.corners > LAOI_FEW_CORNERS && !lua_istable(L, i)) {
        lua_settop(L, i - 1); /* their userdata has replaced the area, so that there must be no reason to ask again */
        lua_newtable(L);
    }
    return i;
}

static int l_near(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list list = {0};
    double pos[3];
    laoi_area_arg a;
    int i = laoi_near_arguments(L, b, 2, pos, &a);
    b = laoi_self(L); /* once more */
    int result = a.none ? AOI_OK : aoi_near(b->core, pos, &a.area, &list.ids, &list.n);
    return laoi_answer(L, b, l_near, i, result, &list);
}

static int l_near_many(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_area_arg a;
    if (!lua_istable(L, 2)) laoi_typeerror(L, 2, "table");
    int i = area_and_mask(L, b, 3, &a);
    if (!lua_isnoneornil(L, i) && !lua_istable(L, i)) laoi_typeerror(L, i, "table");
    check_buffer(L, i + 1);
    if (lua_istable(L, i) && lua_rawequal(L, i, i + 1))
        laoi_argerror(L, i + 1, "another table than that of the ids expected");
    lua_settop(L, i + 1);
    int list = i + 2, ends = i + 3;
    laoi_buffer(L, i, 0);
    laoi_buffer(L, i + 1, (size_t)lua_rawlen(L, 2) / (size_t)b->dims);
    b = laoi_self(L); /* once more */
    const int64_t *ids = NULL;
    const uint32_t *last = NULL;
    size_t n, count = 0;
    const double *places = laoi_places(L, b, 2, &n);
    if (!a.none && aoi_near_many(b->core, places, n, &a.area, &ids, &last, &count) != AOI_OK) return laoi_nomemory(L);
    for (size_t k = 0; k < n; k++) laoi_set_item(L, ends, (laoi_index)k + 1, a.none ? 0 : last[k]);
    laoi_end_list(L, ends, (laoi_index)n);
    lua_pushvalue(L, list);
    laoi_fill_list(L, ids, NULL, count);
    lua_pushvalue(L, ends);
    return 3;
}

typedef struct nearest_args {
    aoi_nearest_only only;
    int64_t except;
} nearest_args;

/* Whether the table at i is the options of nearest, as it has one of them or is behind a table to fill; reads them. */
static bool read_nearest(lua_State *L, int i, nearest_args *a) {
    static const laoi_option options[] = {{"least", .type = LAOI_RADIUS, .at = offsetof(nearest_args, only.least)},
                                          {"except", .type = LAOI_BITS, .at = offsetof(nearest_args, except)},
                                          {.name = NULL}};
    if (!lua_istable(L, i)) return false;
    const bool least = laoi_rawfield(L, i, "least") != LUA_TNIL, except = laoi_rawfield(L, i, "except") != LUA_TNIL;
    lua_pop(L, 2);
    if (!least && !except && !lua_istable(L, i - 1)) return false;
    laoi_read_options(L, i, options, a);
    if (except) a->only.except = &a->except;
    return true;
}

/* nearest(x, y [, z], n [, radius] [, mask] [, buf] [, options]): of the last two one may stand in the place of any that
 * is optional. */
static int l_nearest(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list a = {0};
    double pos[3];
    nearest_args args = {.only.radius = INFINITY};
    aoi_nearest_only *const only = &args.only;
    bool masked = false;
    int i = laoi_position(L, b, 2, pos);
    int64_t most = laoi_integer(L, i);
    if (most < 0) laoi_argerror(L, i, "number must not be negative");
    int last = lua_gettop(L);
    while (last > i && lua_isnil(L, last)) last--;
    if (last > i && read_nearest(L, last, &args)) lua_settop(L, last - 1);
    if (!lua_istable(L, ++i)) {
        if (!lua_isnoneornil(L, i)) only->radius = laoi_radius(L, i);
        i = optional_mask(L, i + 1, &only->mask, &masked);
    }
    check_buffer_in(L, b, i);
    b = laoi_self(L);                    /* once more: see l_near */
    if (masked && !only->mask) most = 0; /* the core takes 0 for all kinds */
    int result = aoi_nearest_of(b->core, pos, (uint64_t)most < SIZE_MAX ? (size_t)most : SIZE_MAX, only, &a.ids, &a.n);
    return laoi_answer(L, b, l_nearest, i, result, &a);
}

static int l_sweep(lua_State *L) {
    laoi_space *b = laoi_self(L);
    const int64_t *ids = NULL;
    const double *times = NULL;
    size_t n = 0;
    double from[3], to[3];
    uint64_t mask = 0;
    bool masked = false;
    int i = laoi_position(L, b, laoi_position(L, b, 2, from), to);
    double radius = laoi_radius(L, i);
    i = optional_mask(L, i + 1, &mask, &masked);
    check_buffer_in(L, b, i);
    b = laoi_self(L);            /* once more: see l_near */
    bool none = masked && !mask; /* the core takes 0 for all kinds */
    int result = none ? AOI_OK : aoi_sweep(b->core, from, to, radius, mask, &ids, &times, &n);
    if (!open_answer(L, b, i, result, 2 * n)) return l_sweep(L);
    int list = lua_gettop(L);
    for (size_t k = 0; k < n; k++) {
        laoi_set_item(L, list, (laoi_index)(2 * k + 1), ids[k]);
        lua_pushnumber(L, times[k]);
        lua_rawseti(L, list, (laoi_index)(2 * k + 2));
    }
    return laoi_return_list(L, (laoi_index)(2 * n), n);
}

static int l_overrides(lua_State *L) {
    enum { BUFFER = 5 }; /* stack index of the buffer; the names of overrides follow */
    laoi_space *b = laoi_self_of(L, 4);
    laoi_node(L, b, 2, NULL);
    check_buffer(L, 4);
    lua_settop(L, 4);
    laoi_buffer(L, 4, 0);
    for (int k = 0; laoi_override_name(k); k++) lua_pushstring(L, laoi_override_name(k));
    b = laoi_self(L); /* once more */
    const int64_t *targets, *how;
    size_t n = 0;
    if (aoi_overrides(b->core, laoi_node(L, b, 2, NULL), &targets, &how, &n) != AOI_OK) return laoi_nomemory(L);
    for (size_t k = 0; k < n; k++) {
        laoi_set_item(L, BUFFER, (laoi_index)(2 * k + 1), targets[k]);
        lua_pushvalue(L, BUFFER + (int)how[k]);
        lua_rawseti(L, BUFFER, (laoi_index)(2 * k + 2));
    }
    lua_settop(L, BUFFER);
    return laoi_return_list(L, (laoi_index)(2 * n), n);
}

/* Building a table may run a finalizer that changes the area, which is therefore copied. */
static int l_area(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    laoi_area_arg copy;
    double *points;
    int *ends;
    const int64_t id = laoi_integer(L, 2), node_id = laoi_integer(L, 3);
    copy.area = (aoi_area){0};
    for (bool same = false; !same;) {
        aoi_area a;
        lua_settop(L, 3);
        (void)laoi_outline_room(L, &copy, &points, &ends);
        b = laoi_self(L);
        if (!aoi_area_of(b->core, aoi_find_node(b->core, aoi_find(b->core, id), node_id), &a)) {
            lua_pushnil(L);
            return 1;
        }
        same = a.corners == copy.area.corners && a.rings == copy.area.rings;
        copy.area = a;
    }
    aoi_area *a = &copy.area;
    if (a->corners) a->points = memcpy(points, a->points, 2 * (size_t)a->corners * sizeof *points);
    if (a->rings) a->ends = memcpy(ends, a->ends, (size_t)a->rings * sizeof *ends);
    if (a->label) a->label = strcpy(copy.label, a->label);
    laoi_push_area(L, b, a);
    return 1;
}

void laoi_settle_moves(lua_State *L, laoi_space *b) {
    if (!aoi_settle(b->core)) laoi_nomemory(L);
}

static int l_explain(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    int64_t ids[3];
    aoi_explanation e;
    for (int i = 0; i < 3; i++) ids[i] = laoi_integer(L, 2 + i);
    laoi_settle_moves(L, b);
    aoi_explain(b->core, ids[0], ids[1], ids[2], &e);
    laoi_push_explanation(L, b, &e, ids);
    return 1;
}

static int l_ids(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list a = {0};
    check_buffer(L, 2);
    int result = aoi_ids(b->core, &a.ids, &a.n);
    return laoi_answer(L, b, l_ids, 2, result, &a);
}

static int l_nodes(lua_State *L) {
    int64_t id = 0;
    size_t count = 0;
    laoi_entity(L, laoi_self_of(L, 3), 2);
    laoi_buffer(L, 3, 0);
    laoi_space *b = laoi_self(L); /* once more */
    aoi_entity e = laoi_entity(L, b, 2);
    for (aoi_node n = aoi_first_node(b->core, e); !AOI_IS_NULL(n); n = aoi_next_node(b->core, n)) {
        aoi_node_id(b->core, n, &id);
        laoi_set_item(L, -1, (laoi_index)++count, id);
    }
    return laoi_return_list(L, (laoi_index)count, count);
}

static int l_sees(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    aoi_node n = laoi_node(L, b, 2, NULL);
    int64_t target = laoi_integer(L, 4);
    laoi_settle_moves(L, b);
    lua_pushboolean(L, aoi_sees(b->core, n, aoi_find(b->core, target))); /* false for a target that has left */
    return 1;
}

int laoi_push_position(lua_State *L, const laoi_space *b, bool known, const double *pos) {
    if (!known) lua_pushnil(L);
    for (int a = 0; known && a < b->dims; a++) lua_pushnumber(L, pos[a]);
    return known ? b->dims : 1;
}

int laoi_push_known(lua_State *L, bool known, int64_t v) {
    if (known) laoi_pushinteger(L, v);
    else lua_pushnil(L);
    return 1;
}

static int l_position(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    double pos[3];
    return laoi_push_position(L, b, aoi_position(b->core, aoi_find(b->core, laoi_integer(L, 2)), pos), pos);
}

static int l_carrier(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    aoi_entity carrier;
    const bool known = aoi_carrier(b->core, aoi_find(b->core, laoi_integer(L, 2)), &carrier, NULL);
    return laoi_push_known(L, known, known ? b->core->records.entities[carrier.index].id : 0);
}

static int l_passengers(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_list a = {0};
    aoi_entity e = laoi_entity(L, b, 2);
    check_buffer(L, 3);
    int result = aoi_passengers(b->core, e, &a.ids, &a.n);
    return laoi_answer(L, b, l_passengers, 3, result, &a);
}

static int l_kind(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    uint64_t kind = 0;
    const bool known = aoi_kind(b->core, aoi_find(b->core, laoi_integer(L, 2)), &kind);
    return laoi_push_known(L, known, (int64_t)kind);
}

static int l_layers(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    uint64_t layers = 0;
    const bool known = aoi_layers(b->core, aoi_find(b->core, laoi_integer(L, 2)), &layers);
    return laoi_push_known(L, known, (int64_t)layers);
}

static int l_extent(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    double extent;
    if (aoi_extent(b->core, aoi_find(b->core, laoi_integer(L, 2)), &extent)) lua_pushnumber(L, extent);
    else lua_pushnil(L);
    return 1;
}

static int l_radius(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    aoi_entity e = aoi_find(b->core, laoi_integer(L, 2));
    aoi_area area;
    bool has = aoi_area_of(b->core, aoi_find_node(b->core, e, laoi_integer(L, 3)), &area) &&
               (aoi_shape_takes(area.shape, b->dims) & AOI_FIELD_RADIUS);
    if (has) lua_pushnumber(L, area.radius);
    else lua_pushnil(L);
    return 1;
}

static int l_has(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    lua_pushboolean(L, !AOI_IS_NULL(aoi_find(b->core, laoi_integer(L, 2))));
    return 1;
}

static int l_has_node(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    aoi_entity e = aoi_find(b->core, laoi_integer(L, 2));
    lua_pushboolean(L, !AOI_IS_NULL(aoi_find_node(b->core, e, laoi_integer(L, 3))));
    return 1;
}

static int l_dimensions(lua_State *L) {
    return LAOI_INTEGERS(L, (int64_t)laoi_self_of(L, 1)->dims);
}

static int l_count(lua_State *L) {
    return LAOI_INTEGERS(L, (int64_t)aoi_count(laoi_self_of(L, 1)->core));
}

static int l_stats(lua_State *L) {
    aoi_stats st;
    aoi_read_stats(laoi_self_of(L, 1)->core, &st);
    lua_createtable(L, 0, 10);
    laoi_set_integer(L, "entities", (int64_t)st.entities);
    laoi_set_integer(L, "nodes", (int64_t)st.nodes);
    laoi_set_integer(L, "events", (int64_t)st.events);
    laoi_set_integer(L, "pending", (int64_t)st.pending);
    laoi_set_integer(L, "memory", (int64_t)st.memory);
    laoi_set_integer(L, "candidates", (int64_t)st.candidates);
    laoi_set_integer(L, "steps", (int64_t)st.steps);
    laoi_set_integer(L, "pairs", (int64_t)st.pairs);
    laoi_set_integer(L, "cells", (int64_t)st.cells);
    laoi_set_integer(L, "levels", (int64_t)st.levels);
    return 1;
}

static int l_check(lua_State *L) {
    const char *wrong = aoi_check(laoi_self_of(L, 1)->core);
    if (wrong && !strcmp(wrong, "not enough memory")) return laoi_nomemory(L); /* no result */
    if (wrong) {
        lua_pushstring(L, wrong); /* a copy, before luaL_error may run a finalizer */
        return luaL_error(L, "aoi: %s", lua_tostring(L, -1));
    }
    lua_pushboolean(L, 1);
    return 1;
}

const luaL_Reg laoi_queries[] = {
    {"view", l_view},
    {"viewers", l_viewers},
    {"near", l_near},
    {"nearest", l_nearest},
    {"layers", l_layers},
    {"extent", l_extent},
    {"carrier", l_carrier},
    {"passengers", l_passengers},
    {"sweep", l_sweep},
    {"overrides", l_overrides},
    {"near_many", l_near_many},
    {"area", l_area},
    {"explain", l_explain},
    {"ids", l_ids},
    {"nodes", l_nodes},
    {"sees", l_sees},
    {"position", l_position},
    {"kind", l_kind},
    {"radius", l_radius},
    {"has", l_has},
    {"count", l_count},
    {"stats", l_stats},
    {"check", l_check},
    {"has_node", l_has_node},
    {"dimensions", l_dimensions},
    {NULL, NULL},
};
