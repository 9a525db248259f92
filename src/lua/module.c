/* module.c - `require "aoi.core"`: the module and the methods of a space.  lua/aoi/meta/ has the contracts.
 *
 * A method reads all arguments and allocates all Lua memory before it changes the core, so that an error or a refused
 * allocation leaves the space unchanged. */
#include "lua/binding.h"

#include <string.h>

#define TYPE_NAME "aoi.space"

int laoi_changed(lua_State *L, laoi_space *b, int result) {
    if (result != AOI_OK) return laoi_done(L, result);
    return b->deferred ? 0 : laoi_deliver(L, b, false);
}

/* ---- entities ------------------------------------------------------------------------------------------------------ */

static int l_enter(lua_State *L) {
    laoi_space *b = laoi_self(L);
    int64_t id = laoi_integer(L, 2);
    double pos[3];
    int i = laoi_position(L, b, 3, pos);
    laoi_whole w;
    laoi_no_more_in(L, b, i + 1);
    laoi_whole_argument(L, b, i, &w);
    b = laoi_self(L); /* once more */
    aoi_entity e;
    int result = w.whole ? aoi_enter_with(b->core, id, pos, w.kind, w.layers, w.extent, &e)
                         : aoi_enter(b->core, id, pos, w.kind, NULL);
    if (result == AOI_OK && w.fields && (result = laoi_put_fields(L, b, i, w.fields, &e)) != AOI_OK)
        (void)aoi_leave(b->core, e);
    if (result == AOI_EEXIST) {
        return laoi_argerror(L, 2, "entity %s is already in the space", laoi_spell(L, id));
    }
    return laoi_changed(L, b, result);
}

/* The same with the errors of moves. */
static int done_move(lua_State *L, laoi_space *b, int result) {
    if (result == AOI_EATTACHED)
        return laoi_argerror(L, 2, "entity %s is attached: it moves with its carrier",
                             laoi_spell(L, laoi_integer(L, 2)));
    if (result == AOI_EVALUE) return laoi_argerror(L, 2, "a passenger would be beyond 2^50");
    return laoi_changed(L, b, result);
}

static int move_by(lua_State *L, int (*move)(aoi_space *, aoi_entity, const double *)) {
    laoi_space *b = laoi_self(L);
    aoi_entity e = laoi_entity(L, b, 2);
    double pos[3];
    laoi_no_more_in(L, b, laoi_position(L, b, 3, pos));
    return done_move(L, b, move(b->core, e, pos));
}

static int l_move(lua_State *L) {
    return move_by(L, aoi_move);
}

static int l_jump(lua_State *L) {
    return move_by(L, aoi_jump);
}

static int l_leave(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    aoi_entity e = laoi_entity(L, b, 2);
    int64_t reason = lua_isnoneornil(L, 3) ? 0 : laoi_integer(L, 3);
    if (reason < 0 || reason > AOI_MOST_REASON)
        return laoi_argerror(L, 3, "reason must be 0 to 255, got %s", laoi_value(L, 3));
    int result = aoi_leave_because(b->core, e, (int)reason);
    laoi_gettable(L, 1);
    laoi_forget_freed(L, b, lua_gettop(L));
    return laoi_changed(L, b, result);
}

static int l_set_kind(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    aoi_entity e = laoi_entity(L, b, 2);
    return laoi_changed(L, b, aoi_set_kind(b->core, e, (uint64_t)laoi_integer(L, 3)));
}

static int l_attach(lua_State *L) {
    laoi_space *b = laoi_self(L);
    aoi_entity e = laoi_entity(L, b, 2), carrier = {0, 0};
    double offset[3] = {0, 0, 0};
    int i = 4;
    if (lua_isnone(L, 3)) return laoi_typeerror(L, 3, "integer or nil");
    if (!lua_isnil(L, 3)) carrier = laoi_entity(L, b, 3);
    if (!lua_isnil(L, 3) && !lua_isnoneornil(L, 4)) i = laoi_position(L, b, 4, offset);
    for (; i < 4 + b->dims; i++)
        if (!lua_isnoneornil(L, i)) return laoi_argerror(L, i, "nothing expected, got %s", luaL_typename(L, i));
    laoi_no_more_in(L, b, i);
    int result = aoi_attach(b->core, e, carrier, offset);
    if (result == AOI_ECHAIN) {
        const char *id = laoi_spell(L, laoi_integer(L, 3));
        if (AOI_EQUALS(e, carrier)) return laoi_argerror(L, 3, "entity %s can not carry itself", id);
        return laoi_argerror(L, 3, "entity %s is carried by this one, or the chain has more than %d", id,
                             AOI_MOST_CHAIN);
    }
    return done_move(L, b, result);
}

static int l_set_layers(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    aoi_entity e = laoi_entity(L, b, 2);
    uint64_t layers = (uint64_t)laoi_integer(L, 3);
    if (!lua_isnoneornil(L, 4) && !lua_isboolean(L, 4)) return laoi_typeerror(L, 4, "boolean");
    bool all = lua_toboolean(L, 4);
    int result = all ? aoi_set_layers_with_passengers(b->core, e, layers) : aoi_set_layers(b->core, e, layers);
    return laoi_changed(L, b, result);
}

static int l_set_extent(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    aoi_entity e = laoi_entity(L, b, 2);
    double extent = laoi_coordinate(L, 3);
    return laoi_changed(L, b, aoi_set_extent(b->core, e, extent));
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------- */

enum { AREA = 4 }; /* the argument of add_node and adopt; the handlers, or the seen ids of adopt, follow */

/* Adds a node by the arguments `id, node_id`, and the handlers from argument `enter` on; seen: ids that it has seen, NULL: it has
 * no past. */
static int adopt_node(lua_State *L, laoi_space *b, const laoi_area_arg *area, const int64_t *seen, size_t count,
                      int enter) {
    aoi_area a = area->area;
    a.silent = !laoi_check_handlers(L, enter) && !b->deferred;
    a.crosses = laoi_has_cross(L, enter);
    if (a.crosses && a.outside) laoi_argerror(L, enter, "handler 'cross': not for an area that is 'outside'");
    b = laoi_self(L); /* once more */
    laoi_gettable(L, 1);
    int t = lua_gettop(L);
    laoi_forget_freed(L, b, t); /* before a ref is reused */
    a.user_data = laoi_prepare_handlers(L, b, t, enter, enter + 1);
    int64_t node_id = laoi_integer(L, 3);
    aoi_entity e = laoi_entity(L, b, 2);
    int result =
        seen ? aoi_adopt_node(b->core, e, node_id, &a, seen, count, NULL) : aoi_add_node(b->core, e, node_id, &a, NULL);
    laoi_settle_handlers(L, b, t, result == AOI_OK);
    return laoi_changed(L, b, result);
}

/* Reads `id, node_id, area`: the node must be new. */
static void new_node_args(lua_State *L, const laoi_space *b, laoi_area_arg *a) {
    aoi_entity e = laoi_entity(L, b, 2);
    int64_t node_id = laoi_integer(L, 3);
    if (!AOI_IS_NULL(aoi_find_node(b->core, e, node_id))) {
        const char *id = laoi_spell(L, laoi_integer(L, 2));
        laoi_argerror(L, 3, "entity %s already has node %s", id, laoi_spell(L, node_id));
    }
    laoi_node_area(L, b, 4, a);
}

static int l_add_node(lua_State *L) {
    laoi_space *b = laoi_self(L);
    laoi_area_arg a;
    new_node_args(L, b, &a);
    return adopt_node(L, b, &a, NULL, 0, AREA + 1);
}

/* adopt(id, node_id, area, seen [, n], on_enter, on_leave): a number or nil behind `seen` is n, anything else on_enter. */
static int l_adopt(lua_State *L) {
    enum { SEEN = AREA + 1, COUNT };
    laoi_space *b = laoi_self(L);
    laoi_area_arg a;
    new_node_args(L, b, &a);
    if (!lua_istable(L, SEEN)) laoi_typeerror(L, SEEN, "table");
    bool counted = lua_isnoneornil(L, COUNT) || lua_type(L, COUNT) == LUA_TNUMBER;
    size_t length = lua_rawlen(L, SEEN), n = length;
    for (int i = 0; !length && i < 2; i++, lua_pop(L, 1))
        if (laoi_rawfield(L, SEEN, i ? "leave" : "enter") != LUA_TNIL)
            laoi_argerror(L, SEEN, "a list of ids expected, got handlers");
    if (counted && !lua_isnoneornil(L, COUNT)) {
        int64_t given = laoi_integer(L, COUNT);
        if (given < 0 || (uint64_t)given > length) laoi_argerror(L, COUNT, "the array has %d ids", (int)length);
        n = (size_t)given;
    }
    int64_t *seen = laoi_newbuffer(L, n * sizeof *seen);
    for (size_t k = 0; k < n; k++) {
        if (laoi_rawgeti(L, SEEN, (laoi_index)k + 1) != LUA_TNUMBER || !laoi_tointeger(L, -1, seen + k))
            laoi_argerror(L, SEEN, "id %d: integer expected, got %s", (int)k + 1, laoi_got(L, lua_gettop(L)));
        lua_pop(L, 1);
    }
    lua_replace(L, SEEN); /* it has been read */
    return adopt_node(L, b, &a, seen, n, counted ? COUNT + 1 : COUNT);
}

static int l_remove_node(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    int result = aoi_remove_node(b->core, laoi_node(L, b, 2, NULL));
    laoi_gettable(L, 1);
    laoi_forget_freed(L, b, lua_gettop(L));
    return laoi_changed(L, b, result);
}

/* Raises an error unless the node's shape is one of two. */
static void require_shape(lua_State *L, const laoi_space *b, aoi_node n, int shape, int or_shape, const char *words) {
    const int is = aoi_shape_of(b->core, n);
    if (is != shape && is != or_shape) laoi_argerror(L, 3, words, aoi_shape_name(is));
}

static int l_set_area(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    laoi_area_arg a;
    laoi_node(L, b, 2, NULL); /* its errors precede those of other arguments */
    laoi_node_area(L, b, 4, &a);
    b = laoi_self(L); /* once more */
    return laoi_changed(L, b, aoi_set_area(b->core, laoi_node(L, b, 2, NULL), &a.area));
}

static int l_set_facing(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    aoi_node n = laoi_node(L, b, 2, NULL);
    require_shape(L, b, n, AOI_SECTOR, AOI_SECTOR, "a %s has no 'facing': only sectors have");
    return laoi_changed(L, b, aoi_set_facing(b->core, n, laoi_finite(L, 4)));
}

/* Of AOI_HIDE + k.  The last three are for the modules in Lua (AOI_TELL_END). */
static const char *override_word(int k) {
    static const char *const told[] = {"tell end", "tell no end", "tell now", NULL};
    return k < AOI_MATCH ? laoi_override_name(k) : told[k - AOI_MATCH];
}

static int l_override(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 5);
    aoi_node n = laoi_node(L, b, 2, NULL);
    aoi_entity t = laoi_entity(L, b, 4);
    int how = AOI_BY_RULE;
    if (!lua_isnoneornil(L, 5)) {
        lua_settop(L, 5);
        how = AOI_HIDE + laoi_word(L, override_word);
        if (how == AOI_BY_RULE)
            laoi_argerror(L, 5, "'hide', 'show', 'match' or nil expected, got %s", laoi_value(L, 5));
    }
    if (AOI_EQUALS(t, aoi_find(b->core, laoi_integer(L, 2)))) laoi_argerror(L, 4, "an entity does not see itself");
    return laoi_changed(L, b, aoi_override(b->core, n, t, how));
}

static int l_set_radius(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 5);
    aoi_node n = laoi_node(L, b, 2, NULL);
    require_shape(L, b, n, AOI_SQUARE, AOI_CIRCLE, "set_radius is for squares and circles, not for a %s: use set_area");
    double radius = laoi_radius(L, 4), keep = lua_isnoneornil(L, 5) ? radius : laoi_number(L, 5);
    if (!(keep >= radius)) return laoi_argerror(L, 5, "keep must not be less than radius");
    if (keep > AOI_FARTHEST && !isinf(keep))
        return laoi_argerror(L, 5, "keep must be at most 2^50 or infinite, got %s", laoi_value(L, 5));
    return laoi_changed(L, b, aoi_set_radius(b->core, n, radius, keep));
}

static int l_set_mask(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 4);
    aoi_node n = laoi_node(L, b, 2, NULL);
    return laoi_changed(L, b, aoi_set_mask(b->core, n, (uint64_t)laoi_integer(L, 4)));
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

static int l_flush(lua_State *L) {
    return laoi_deliver(L, laoi_self_of(L, 1), true);
}

static void clear_numbers(lua_State *L, int i) {
    for (lua_pushnil(L); lua_next(L, i);) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TNUMBER) continue;
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, i);
    }
}

enum { REASONS = 3, EVENTS }; /* on the stack of drain; EVENTS: the table to fill */

/* Filling the table may be refused memory, so the events are taken after all have been read. */
static int drain(lua_State *L, laoi_space *b) {
    const aoi_queued *e;
    laoi_index at = 0;
    uint32_t cursor = 0;
    /* before the flush, which changes the state of nodes with a margin */
    if (!lua_isnil(L, 2) && !lua_istable(L, 2)) return laoi_typeerror(L, 2, "table");
    if (aoi_flush(b->core) != AOI_OK) return laoi_nomemory(L);
    laoi_buffer(L, 2, aoi_pending(b->core) * 4);
    laoi_self(L); /* once more */
    if (aoi_flush(b->core) != AOI_OK) return laoi_nomemory(L);
    bool plain = laoi_is_plain(L, EVENTS), reasons = !lua_isnil(L, REASONS);
    for (; (e = aoi_peek_one(b->core, &cursor)) != NULL; at += 4) {
        lua_pushinteger(L, e->kind);
        laoi_seti(L, EVENTS, at + 1, plain);
        laoi_pushinteger(L, e->watcher);
        laoi_seti(L, EVENTS, at + 2, plain);
        laoi_pushinteger(L, e->target);
        laoi_seti(L, EVENTS, at + 3, plain);
        laoi_pushinteger(L, e->node_id);
        laoi_seti(L, EVENTS, at + 4, plain);
        if (reasons && e->because) laoi_set_item(L, REASONS, at / 4 + 1, e->because - 1);
        if (reasons && e->kind == AOI_CROSS) laoi_set_numbers(L, REASONS, at / 4 + 1, &e->t, 1);
    }
    laoi_end_list(L, EVENTS, at);
    laoi_gettable(L, 1);
    aoi_take_all(b->core);
    laoi_forget_freed(L, b, EVENTS + 1);
    lua_settop(L, EVENTS);
    laoi_pushinteger(L, (int64_t)at / 4);
    return 2;
}

static int l_drain(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    lua_settop(L, 2);
    lua_pushnil(L);
    return drain(L, b);
}

/* drain_reasons(space [, buf [, reasons]]): buf and n of space:drain(buf), and reasons[i] of the ith event: the reason of a
 * leave, t of a crossing, or nil. */
static int l_drain_reasons(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 3);
    lua_settop(L, 3);
    laoi_buffer(L, 3, 0);
    lua_replace(L, REASONS);
    clear_numbers(L, REASONS);
    (void)drain(L, b);
    lua_pushvalue(L, REASONS);
    return 3;
}

static int l_on_error(lua_State *L) {
    laoi_space *b = laoi_self_of(L, 2);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2) && !lua_isfunction(L, 2)) return laoi_typeerror(L, 2, "function");
    bool set = !lua_isnil(L, 2);
    laoi_gettable(L, 1);
    lua_insert(L, 2);
    laoi_push_tracer(L, 2);
    lua_rawseti(L, 2, LAOI_TRACER);
    lua_pushboolean(L, 0); /* adds the key, so that storing a traceback allocates only its text */
    lua_rawseti(L, 2, LAOI_TRACEBACK);
    lua_rawseti(L, 2, LAOI_ON_ERROR);
    b->has_on_error = set;
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static int l_close(lua_State *L) {
    laoi_space *b = laoi_maybe(L);
    aoi_space *core = b->core;
    laoi_refuse_played(L, b);
    if (!core) return 0;
    b->core = NULL; /* first, so that a partly closed space is never used */
    aoi_close(core);
    laoi_free_handlers(b);
#if LUA_VERSION_NUM >= 502
    lua_pushnil(L);
#else
    lua_pushvalue(L, lua_upvalueindex(LAOI_META)); /* an environment cannot be nil */
#endif
    laoi_settable(L, 1);
    return 0;
}

/* The same where Lua may run: a journal ends with its space, and its sink gets the last bytes. */
static int l_close_scope(lua_State *L) {
    laoi_space *b = laoi_maybe(L);
    if (!b->core) return 0;
    lua_settop(L, 1);
    laoi_gettable(L, 1); /* which a closed space does not have */
    l_close(L);
    laoi_hand_on(L, b);
    return 0;
}

static int l_close_method(lua_State *L) {
    laoi_maybe(L);
    laoi_no_more(L, 2);
    return l_close_scope(L);
}

static int l_is_open(lua_State *L) {
    const laoi_space *b = laoi_maybe(L);
    laoi_no_more(L, 2);
    lua_pushboolean(L, b->core != NULL);
    return 1;
}

static int l_length(lua_State *L) { /* Lua passes the operand twice: laoi_self_of would raise an error */
    return LAOI_INTEGERS(L, (int64_t)aoi_count(laoi_self(L)->core));
}

static int l_tostring(lua_State *L) {
    laoi_space *b = laoi_maybe(L);
    if (b->core) lua_pushfstring(L, TYPE_NAME ": %p", (void *)b);
    else lua_pushliteral(L, TYPE_NAME " (closed)");
    return 1;
}

aoi_memory laoi_memory(lua_State *L) {
    aoi_memory m = {0};
    m.alloc = lua_getallocf(L, &m.ud);
    return m;
}

laoi_space *laoi_new_space(lua_State *L, int meta) {
    lua_pushvalue(L, meta);
    laoi_space *b = laoi_newuserdata(L, sizeof *b);
    lua_insert(L, -2);
    int box = lua_gettop(L) - 1;
    memset(b, 0, sizeof *b);
    laoi_mark(b);
    lua_newtable(L);
#if LAOI_YIELDS
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawseti(L, -2, LAOI_COROUTINES);
#endif
    laoi_settable(L, box);
    lua_setmetatable(L, box);
    b->alloc = lua_getallocf(L, &b->ud);
    return b;
}

void laoi_adopt_core(laoi_space *b, aoi_space *core) {
    b->dims = core->records.dims;
    b->deferred = core->deferred;
    b->core = core;
}

static int l_new(lua_State *L) {
    aoi_options o;
    aoi_space *core;
    laoi_options(L, 1, &o);
    laoi_space *b = laoi_new_space(L, lua_upvalueindex(LAOI_META));
    o.alloc = b->alloc;
    o.alloc_ud = b->ud;
    if (aoi_open(&o, &core) != AOI_OK) return laoi_nomemory(L);
    laoi_adopt_core(b, core);
    return 1;
}

static int l_engines(lua_State *L) {
    laoi_no_more(L, 1);
    lua_newtable(L);
    for (int i = 0; aoi_engine_name(i); i++) {
        lua_pushstring(L, aoi_engine_name(i));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* ---- the module ------------------------------------------------------------------------------------------------------ */

static const luaL_Reg methods[] = {
    {"enter", l_enter},
    {"move", l_move},
    {"jump", l_jump},
    {"leave", l_leave},
    {"set_kind", l_set_kind},
    {"set_layers", l_set_layers},
    {"set_extent", l_set_extent},
    {"attach", l_attach},
    {"add_node", l_add_node},
    {"adopt", l_adopt},
    {"remove_node", l_remove_node},
    {"set_radius", l_set_radius},
    {"set_area", l_set_area},
    {"set_facing", l_set_facing},
    {"override", l_override},
    {"set_mask", l_set_mask},
    {"flush", l_flush},
    {"drain", l_drain},
    {"on_error", l_on_error},
    {"save", laoi_save},
    {"close", l_close_method},
    {"is_open", l_is_open},
    {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__gc", l_close},
    {"__len", l_length},
    {"__tostring", l_tostring},
#if LUA_VERSION_NUM >= 504
    {"__close", l_close_scope},
#endif
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"new", l_new}, {"load", laoi_load}, {"engines", l_engines}, {"drain_reasons", l_drain_reasons}, {NULL, NULL}};

LAOI_EXPORT int luaopen_aoi_core(lua_State *L);

static void open_helpers(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    laoi_open_helpers(L);
    lua_setfield(L, -2, "aoi.core.helpers");
    lua_pop(L, 1);
}

/* `require` opens the parts for skynet where they are used: lua/aoi/skynet/native.lua. */
static void offer_skynet(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, "package");
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "preload");
        lua_pushcfunction(L, luaopen_aoi_core_wire);
        lua_setfield(L, -2, "aoi.core.wire");
        lua_pushcfunction(L, luaopen_aoi_core_world);
        lua_setfield(L, -2, "aoi.core.world");
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

LAOI_EXPORT int luaopen_aoi_core(lua_State *L) {
    static const laoi_class *const classes[] = {&laoi_sync_class, &laoi_sight_class, &laoi_history_class};
#if LUA_VERSION_NUM >= 502
    luaL_checkversion(L);
#endif
    lua_createtable(L, 0, 8); /* each load makes a metatable: the table identifies the type, not a name */
    int meta = lua_gettop(L);
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, meta, "__name");
    laoi_set_functions(L, meta, metamethods);
    lua_createtable(L, 0, 49); /* methods */
    laoi_set_functions(L, meta, methods);
    laoi_set_functions(L, meta, laoi_batches);
    laoi_set_functions(L, meta, laoi_queries);
    lua_setfield(L, meta, "__index");
    lua_createtable(L, 0, 6);
    laoi_set_functions(L, meta, functions);
    lua_pushinteger(L, AOI_ENTER);
    lua_setfield(L, -2, "ENTER");
    lua_pushinteger(L, AOI_LEAVE);
    lua_setfield(L, -2, "LEAVE");
    lua_pushinteger(L, AOI_CROSS);
    lua_setfield(L, -2, "CROSS");
    lua_pushliteral(L, AOI_VERSION);
    lua_setfield(L, -2, "VERSION");
    laoi_open_journal(L, meta);
    lua_setfield(L, -2, "journal");
    for (int k = 0; k < 3; k++) {
        const laoi_class *c = classes[k];
        lua_createtable(L, 0, 3);
        if (c->functions) laoi_set_functions(L, lua_gettop(L), c->functions);
        laoi_open_class(L, meta, c);
        lua_setfield(L, -2, c->word);
    }
    laoi_open_class(L, meta, &laoi_observer_class);
    open_helpers(L);
    offer_skynet(L);
    return 1;
}
