/* snapshot_methods.c - `space:save` and `aoi.load`.  lua/aoi/meta/space.lua and aoi.lua have the contracts.
 *
 * An error of Lua never unwinds through the core: bytes are collected in memory that a userdata owns, and the host's
 * function and the table of handlers are used in protected mode while a space is loaded. */
#include "lua/binding.h"

#include <string.h>

/* ---- saving ------------------------------------------------------------------------------------------------------- */

void laoi_free_bytes(laoi_bytes *c) {
    if (c->bytes) c->alloc(c->ud, c->bytes, c->room, 0);
    c->bytes = NULL;
    c->size = c->room = 0;
}

static int free_collected(lua_State *L) {
    laoi_free_bytes(lua_touserdata(L, 1));
    return 0;
}

laoi_bytes *laoi_new_bytes(lua_State *L) {
    laoi_bytes *c = laoi_newbuffer(L, sizeof *c);
    memset(c, 0, sizeof *c);
    c->alloc = lua_getallocf(L, &c->ud);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, free_collected);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    return c;
}

bool laoi_collect(void *ud, const void *bytes, size_t size) {
    laoi_bytes *c = ud;
    if (size > c->room - c->size) {
        size_t room = c->room + c->room / 2 + size;
        char *p = room > c->room ? c->alloc(c->ud, c->bytes, c->bytes ? c->room : 0, room) : NULL;
        if (!p) return false;
        c->bytes = p;
        c->room = room;
    }
    memcpy(c->bytes + c->size, bytes, size);
    c->size += size;
    return true;
}

int laoi_push_bytes(lua_State *L) {
    const laoi_bytes *c = lua_touserdata(L, 1);
    lua_pushlstring(L, c->bytes, c->size);
    return 1;
}

int laoi_save(lua_State *L) {
    laoi_self(L);
    laoi_no_more(L, 2);
    laoi_bytes *c = laoi_new_bytes(L);
    laoi_space *b = laoi_self(L); /* once more */
    if (aoi_save(b->core, laoi_collect, c) != AOI_OK) return laoi_nomemory(L);
    lua_pushlstring(L, c->bytes, c->size);
    laoi_free_bytes(c);
    return 1;
}

/* ---- loading ------------------------------------------------------------------------------------------------------ */

enum { SAVED = 1, HANDLERS, LOAD_OPTIONS, LOADED }; /* stack of aoi.load */

static void refuse_result(lua_State *L, const laoi_loading *g, int number, const char *why) {
    const char *node = laoi_spell(L, g->node_id), *watcher = laoi_spell(L, g->watcher);
    luaL_error(L, "bad result #%d of the function for node %s of entity %s (%s)", number, node, watcher, why);
}

static void check_result(lua_State *L, const laoi_loading *g, int i, bool table) {
    if (lua_isnil(L, i) || lua_isfunction(L, i) || (table && lua_istable(L, i))) return;
    const char *expected = table ? "function or table" : "function";
    refuse_result(L, g, table ? 1 : 2, lua_pushfstring(L, "%s expected, got %s", expected, luaL_typename(L, i)));
}

/* Calls handlers(id, node_id) -> functions, or a table, or nothing; in protected mode. */
static int ask_handlers(lua_State *L) {
    enum { TO = 2, ENTER = 3, LEAVE }; /* TO: the space's table; ENTER, LEAVE: the results */
    laoi_loading *g = lua_touserdata(L, 1);
    laoi_pushinteger(L, g->watcher);
    laoi_pushinteger(L, g->node_id);
    lua_call(L, 2, 2);
    check_result(L, g, ENTER, true);
    if (lua_istable(L, ENTER)) {
        bool any = false;
        const char *got, *bad = laoi_bad_handler(L, ENTER, &any, &got);
        if (bad) refuse_result(L, g, 1, lua_pushfstring(L, "handler '%s': function expected, got %s", bad, got));
        lua_settop(L, ENTER);
        lua_pushvalue(L, ENTER); /* the table serves both kinds */
    } else check_result(L, g, LEAVE, false);
    g->user_data = laoi_prepare_handlers(L, g->b, TO, ENTER, LEAVE);
    laoi_settle_handlers(L, g->b, TO, true);
    g->crosses = laoi_has_cross(L, ENTER);
    g->handled = !lua_isnil(L, ENTER) || !lua_isnil(L, LEAVE);
    return 0;
}

bool laoi_give_handlers(void *ud, aoi_loaded_node *n) {
    laoi_loading *g = ud;
    lua_State *L = g->L;
    g->watcher = n->watcher;
    g->node_id = n->node_id;
    g->handled = g->crosses = false;
    g->user_data = 0;
    if (!lua_isnil(L, g->handlers)) {
        lua_pushcfunction(L, ask_handlers);
        lua_pushlightuserdata(L, g);
        lua_pushvalue(L, g->table);
        lua_pushvalue(L, g->handlers);
        g->failed = lua_pcall(L, 3, 0, 0) != 0;
    }
    n->user_data = g->user_data;
    n->crosses |= g->crosses && !g->keeps_silent;
    if (!n->deferred && !g->keeps_silent) n->silent = !g->handled; /* as add_node does */
    return !g->failed;
}

#if LUA_VERSION_NUM < 503
static bool is_beyond_doubles(int64_t v) {
    return (uint64_t)v + (UINT64_C(1) << 53) > UINT64_C(1) << 54;
}

static const char *id_fault(int64_t id) {
    return is_beyond_doubles(id) ? "an id is beyond 2^53, and this Lua has no integers" : NULL;
}

static const char *fault_of(int64_t id, uint64_t bits, uint64_t layers) {
    if (is_beyond_doubles(id)) return id_fault(id);
    if (is_beyond_doubles((int64_t)bits) || is_beyond_doubles((int64_t)layers))
        return "a kind, a mask or layers are beyond 2^53, and this Lua has no integers";
    return NULL;
}

static const char *entity_fault(const aoi_space *s, uint32_t e) {
    const aoi_looks looks = aoi_looks_of(s, e);
    return fault_of(s->records.entities[e].id, looks.kind, looks.layers);
}

static const char *node_fault(const aoi_space *s, uint32_t n) {
    const aoi_node_record *r = s->records.nodes + n;
    const bool live = aoi_is_live(r->generation);
    return fault_of(r->node_id, live ? r->mask : 0, live ? aoi_node_layers_of(s, n) : 0);
}
#endif

const char *laoi_integers_fault(const aoi_space *s) {
    const char *fault = NULL;
#if LUA_VERSION_NUM < 503
    for (uint32_t e = 0; e < s->records.entity_top && !fault; e++)
        if (aoi_is_live(s->records.entities[e].generation)) fault = entity_fault(s, e);
    for (uint32_t n = 0; n < s->records.node_top && !fault; n++)
        if (aoi_is_live(s->records.nodes[n].generation) || s->records.nodes[n].pending) fault = node_fault(s, n);
#endif
    (void)s;
    return fault;
}

const char *laoi_integers_fault_at(const aoi_space *s, int64_t id, int64_t node_id) {
    const char *fault = NULL;
#if LUA_VERSION_NUM < 503
    const aoi_entity entity = aoi_find(s, id);
    const uint32_t e = aoi_entity_slot(s, entity), n = aoi_node_slot(s, aoi_find_node(s, entity, node_id));
    fault = id_fault(is_beyond_doubles(id) ? id : node_id);
    if (!fault && e != AOI_NONE) fault = entity_fault(s, e);
    if (!fault && n != AOI_NONE) fault = node_fault(s, n);
#endif
    (void)s, (void)id, (void)node_id;
    return fault;
}

static const char *engine_option(lua_State *L) {
    aoi_options o;
    if (lua_isnoneornil(L, LOAD_OPTIONS)) return NULL;
    laoi_options(L, LOAD_OPTIONS, &o);
    if (o.dimensions || o.cell != 0 || o.deferred)
        laoi_argerror(L, LOAD_OPTIONS, "'engine' is the only option: the others are in the snapshot");
    return o.engine;
}

void laoi_begin_loading(lua_State *L, int meta, laoi_loading *g, aoi_load_options *o) {
    g->L = L;
    g->b = laoi_new_space(L, meta);
    laoi_gettable(L, lua_gettop(L));
    g->table = lua_gettop(L);
    luaL_checkstack(L, 8, NULL);
    *o = (aoi_load_options){.engine = o->engine, .node = laoi_give_handlers, .node_ud = g, .alloc = g->b->alloc};
    o->alloc_ud = g->b->ud;
}

int laoi_end_loading(lua_State *L, const laoi_loading *g, int result, aoi_space *core, const char **fault) {
    if (result == AOI_OK && (*fault = laoi_integers_fault(core)) != NULL) aoi_close(core), result = AOI_EVALUE;
    if (result == AOI_OK) laoi_adopt_core(g->b, core);
    else laoi_free_handlers(g->b);
    if (g->failed) return lua_error(L); /* that of the host's function */
    return result == AOI_ENOMEM ? laoi_nomemory(L) : result;
}

int laoi_load(lua_State *L) {
    size_t size;
    const char *fault = NULL;
    aoi_space *core = NULL;
    if (lua_type(L, SAVED) != LUA_TSTRING) return laoi_typeerror(L, SAVED, "string");
    if (!lua_isnoneornil(L, HANDLERS) && !lua_isfunction(L, HANDLERS)) return laoi_typeerror(L, HANDLERS, "function");
    const char *bytes = lua_tolstring(L, SAVED, &size);
    laoi_no_more(L, LOAD_OPTIONS + 1);
    lua_settop(L, LOAD_OPTIONS);
    aoi_load_options o = {.engine = engine_option(L)};
    laoi_loading g = {.handlers = HANDLERS};
    laoi_begin_loading(L, lua_upvalueindex(LAOI_META), &g, &o);
    const int result = aoi_load(bytes, size, &o, &core, &fault);
    if (laoi_end_loading(L, &g, result, core, &fault) != AOI_OK)
        return laoi_argerror(L, SAVED, "not a snapshot: %s", fault);
    lua_settop(L, LOADED);
    return 1;
}
