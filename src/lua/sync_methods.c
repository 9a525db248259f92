/* sync_methods.c - `aoi.sync`: client synchronisation for Lua.  lua/aoi/meta/sync.lua has the contract; the userdata is
 * drawn in classes.c.
 *
 * A tick handles one client after the other: pack the message, make a string of it, mark it as sent, call.  Making a
 * string may run finalizers, which may change the packed data: then it packs again.  The callback may use the core
 * freely, as no call of the core is active; the only state of a tick is the core's queue of clients. */
#include "lua/sync_binding.h"

#include <string.h>

/* ---- self and arguments ------------------------------------------------------------------------------------------ */

laoi_sync *laoi_sync_self(lua_State *L, int most) {
    return laoi_child_self(L, &laoi_sync_class, most);
}

static aoi_entity sync_client(lua_State *L, const laoi_sync *y) {
    aoi_entity e = laoi_entity(L, y->space, 2);
    if (AOI_IS_NULL(aoi_sync_view(y->core, e, 0)))
        laoi_argerror(L, 2, "entity %s is no client", laoi_spell(L, laoi_integer(L, 2)));
    return e;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef struct sync_options_arg {
    aoi_sync_options o;
    aoi_tier tiers[AOI_MOST_TIERS];
    aoi_kind_limit limits[AOI_MOST_LIMITS];
    const laoi_space *space; /* the space of a new synchroniser */
    sync_fields_arg *making; /* NULL: not for a new synchroniser */
} sync_options_arg;

/* A whole number of at least 1; 0, no limit, for false and infinity. */
static uint32_t limit_option(lua_State *L, int i, const char *name) {
    double v = lua_tonumber(L, -1);
    if (lua_type(L, -1) == LUA_TBOOLEAN && !lua_toboolean(L, -1)) return 0;
    if (lua_type(L, -1) != LUA_TNUMBER) laoi_bad_option(L, i, name, "a number expected");
    if (v > 0 && isinf(v)) return 0;
    return laoi_whole_option(L, i, &(laoi_option){.name = name, .least = 1, .most = INT32_MAX});
}

static double tier_number(lua_State *L, int i, const char *name, int k) {
    lua_rawgeti(L, -1, k);
    if (lua_type(L, -1) != LUA_TNUMBER) laoi_bad_option(L, i, name, "pairs of numbers {distance, ticks} expected");
    double v = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return v;
}

/* Stores the keys of the table on top, sets of kinds, in rising order; returns their number. */
static uint32_t kind_keys(lua_State *L, int i, const char *name, uint64_t *kinds) {
    uint32_t n = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        int64_t key = 0;
        if (lua_type(L, -2) != LUA_TNUMBER || !laoi_tointeger(L, -2, &key) || !key || n == AOI_MOST_LIMITS) {
            lua_pop(L, 1);
            laoi_bad_option(L, i, name, "by kind: up to 16 numbers of bits, not 0, as keys expected");
        }
        uint32_t k = n++;
        for (; k > 0 && kinds[k - 1] > (uint64_t)key; k--) kinds[k] = kinds[k - 1];
        kinds[k] = (uint64_t)key;
    }
    return n;
}

/* Pushes what the table on top has for those kinds. */
static void push_of_kinds(lua_State *L, uint64_t kinds) {
    laoi_pushinteger(L, (int64_t)kinds);
    lua_rawget(L, -2);
}

static void read_limit(lua_State *L, int i, const char *name, void *to) {
    sync_options_arg *a = to;
    uint64_t kinds[AOI_MOST_LIMITS];
    const uint32_t n = lua_istable(L, -1) ? kind_keys(L, i, name, kinds) : 0;
    a->o.clients.limits = a->limits;
    a->o.clients.limit_count = n;
    a->o.clients.limit = n ? 0 : limit_option(L, i, name);
    for (uint32_t k = 0; k < n; k++) {
        push_of_kinds(L, kinds[k]);
        a->limits[k] = (aoi_kind_limit){kinds[k], limit_option(L, i, name)};
        lua_pop(L, 1);
    }
}

static void read_bytes(lua_State *L, int i, const char *name, void *to) {
    ((sync_options_arg *)to)->o.clients.bytes = limit_option(L, i, name);
}

/* Adds the list of pairs on top, for those kinds. */
static void add_tiers(lua_State *L, int i, const char *name, sync_options_arg *a, uint64_t kinds) {
    if (!lua_istable(L, -1)) laoi_bad_option(L, i, name, "a table of pairs {distance, ticks} expected");
    size_t n = lua_rawlen(L, -1);
    if (n < 1 || n + a->o.clients.tier_count > AOI_MOST_TIERS)
        laoi_bad_option(L, i, name, "1 to 16 pairs {distance, ticks} expected");
    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, -1, (int)k + 1);
        if (!lua_istable(L, -1) || lua_rawlen(L, -1) > 2)
            laoi_bad_option(L, i, name, "pairs of numbers {distance, ticks} expected");
        double distance = tier_number(L, i, name, 1), every = tier_number(L, i, name, 2);
        if (!(every >= 1 && every <= AOI_MOST_EVERY && every == floor(every))) {
            lua_pushnumber(L, every);
            laoi_bad_option(L, i, name, "ticks must be whole, from 1 to 65536");
        }
        a->tiers[a->o.clients.tier_count++] = (aoi_tier){distance, (uint32_t)every, kinds};
        lua_pop(L, 1);
    }
}

/* Whether the table on top has tiers by kind: a value that is a list of tables, or false. */
static bool is_by_kind(lua_State *L) {
    lua_pushnil(L);
    if (!lua_next(L, -2)) return false;
    bool is = lua_isboolean(L, -1);
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 1);
        is = lua_istable(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return is;
}

static void read_tiers(lua_State *L, int i, const char *name, void *to) {
    sync_options_arg *a = to;
    uint64_t kinds[AOI_MOST_LIMITS];
    a->o.clients.tiers = a->tiers;
    a->o.clients.tier_count = 0;
    if (lua_type(L, -1) == LUA_TBOOLEAN && !lua_toboolean(L, -1)) return;
    if (!lua_istable(L, -1) || !is_by_kind(L)) {
        add_tiers(L, i, name, a, 0);
        return;
    }
    const uint32_t n = kind_keys(L, i, name, kinds);
    for (uint32_t k = 0; k < n; k++, lua_pop(L, 1)) {
        push_of_kinds(L, kinds[k]);
        const bool none = lua_isboolean(L, -1) && !lua_toboolean(L, -1) && a->o.clients.tier_count < AOI_MOST_TIERS;
        if (none) a->tiers[a->o.clients.tier_count++] = (aoi_tier){INFINITY, 1, kinds[k]};
        else add_tiers(L, i, name, a, kinds[k]);
    }
}

static void read_declared(lua_State *L, int i, const char *name, void *to) {
    (void)name;
    laoi_fields_option(L, i, ((sync_options_arg *)to)->making);
}

static void read_sight(lua_State *L, int i, const char *name, void *to) {
    sync_options_arg *a = to;
    a->o.sight = laoi_sight_option(L, i, name, a->space);
}

/* A whole number; 0, none, for false. */
static void read_team(lua_State *L, int i, const char *name, void *to) {
    int64_t *team = &((sync_options_arg *)to)->o.clients.team;
    *team = 0;
    if (lua_type(L, -1) == LUA_TBOOLEAN && !lua_toboolean(L, -1)) return;
    if (lua_type(L, -1) != LUA_TNUMBER || !laoi_tointeger(L, -1, team))
        laoi_bad_option(L, i, name, "a whole number or false expected");
}

/* The first are those of a new synchroniser; the others are those of a client, too. */
enum { FOR_CLIENTS = 5 };
static const laoi_option sync_options[] = {
    {"quantum", .type = LAOI_POSITIVE, .at = offsetof(sync_options_arg, o.quantum)},
    {"tick", .type = LAOI_WHOLE, .at = offsetof(sync_options_arg, o.tick)},
    {"fields", .read = read_declared},
    {"riders", .type = LAOI_FLAG, .at = offsetof(sync_options_arg, o.riders)},
    {"sight", .read = read_sight},
    {"limit", .read = read_limit},
    {"bytes", .read = read_bytes},
    {"tiers", .read = read_tiers},
    {"team", .read = read_team},
    {"self", .type = LAOI_FLAG, .at = offsetof(sync_options_arg, o.clients.self)},
    {.name = NULL}};

/* Raises an error for the option that the core has refused. */
static void refuse_relevance(lua_State *L, int i, const char *wrong, uint32_t least, uint32_t bytes) {
    if (wrong && !strncmp(wrong, "'bytes'", 7))
        laoi_argerror(L, i, "bad value for option 'bytes' (%d or more expected, room for any record, got %d)",
                      (int)least, (int)bytes);
    if (wrong) laoi_argerror(L, i, "bad value for option %s", wrong);
}

static void check_relevance(lua_State *L, int i, const aoi_sync *core, const aoi_relevance *r) {
    refuse_relevance(L, i, aoi_relevance_fault(core, r), aoi_sync_least_bytes(core), r->bytes);
}

/* ---- making and closing ------------------------------------------------------------------------------------------ */

static int y_new(lua_State *L) {
    sync_options_arg a = {0};
    sync_fields_arg declared;
    declared.count = 0;
    laoi_refuse_module(L, 1, "read", "a space: call new(space)");
    laoi_space *b = laoi_self(L);
    a.space = b;
    a.making = &declared;
    laoi_read_options(L, 2, sync_options, &a);
    a.o.fields = declared.fields;
    a.o.field_count = declared.count;
    laoi_no_more(L, 3);
    laoi_sync *y = laoi_new_on_space(L, b, sizeof *y);
    laoi_give_class(L);
    if (a.o.sight) a.o.sight = laoi_sight_option(L, 2, "sight", b); /* once more */
    aoi_relevance clients = a.o.clients;
    a.o.clients = (aoi_relevance){0};
    aoi_sync *core;
    int result = aoi_sync_open(b->core, &a.o, &core);
    if (result != AOI_OK) return laoi_done(L, result);
    const uint32_t least = aoi_sync_least_bytes(core);
    const char *wrong = aoi_relevance_fault(core, &clients);
    if (wrong) aoi_sync_close(core);
    refuse_relevance(L, 2, wrong, least, clients.bytes);
    y->core = core;
    (void)aoi_sync_set_defaults(core, &clients);
    return 1;
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

/* Raises an error for a field of a list of n areas other than its items. */
static void refuse_named(lua_State *L, int i, size_t n) {
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        double k = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (k >= 1 && k <= (double)n && k == floor(k)) continue;
        laoi_argerror(L, i, "unknown option '%s' of a list of views", laoi_key_name(L, -2));
    }
}

/* Reads an area, or a list of areas; returns their number. */
static uint32_t view_args(lua_State *L, const laoi_sync *y, laoi_area_arg *out) {
    size_t n = lua_istable(L, 3) ? lua_rawlen(L, 3) : 0;
    if (n > AOI_MOST_VIEWS) laoi_argerror(L, 3, "at most %d views", AOI_MOST_VIEWS);
    if (!n) laoi_area(L, y->space, 3, out);
    lua_settop(L, 4);
    if (n) refuse_named(L, 3, n);
    lua_pushvalue(L, 3);
    if (n) lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_rawgeti(L, 5, (int)k + 1);
        lua_replace(L, 3); /* errors contain the argument's number */
        laoi_area(L, y->space, 3, out + k);
        lua_pushvalue(L, 3); /* what has its corners */
        lua_rawseti(L, 6, (int)k + 1);
    }
    if (n) lua_replace(L, 3);
    lua_settop(L, 4);
    return n ? (uint32_t)n : 1;
}

/* Reads the number of a view at i; returns its node, and its number - 1 in *view. */
static aoi_node view_arg(lua_State *L, const laoi_sync *y, aoi_entity e, int i, uint32_t *view) {
    if (lua_type(L, i) != LUA_TNUMBER) laoi_typeerror(L, i, "number");
    double k = lua_tonumber(L, i);
    bool good = k >= 1 && k <= AOI_MOST_VIEWS && k == floor(k);
    *view = good ? (uint32_t)k - 1 : 0;
    aoi_node n = aoi_sync_view(y->core, e, *view);
    if (!good || AOI_IS_NULL(n))
        laoi_argerror(L, i, "client %s has no view %s", laoi_spell(L, laoi_integer(L, 2)), laoi_value(L, i));
    return n;
}

static int y_set_view(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 4);
    aoi_entity e = sync_client(L, y);
    laoi_area_arg area;
    uint32_t view;
    (void)view_arg(L, y, e, 3, &view);
    laoi_area(L, y->space, 4, &area);
    y = laoi_sync_self(L, 4); /* once more */
    return laoi_done(L, aoi_sync_set_view(y->core, sync_client(L, y), view, &area.area));
}

static int y_add(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 4);
    aoi_entity e = laoi_entity(L, y->space, 2);
    aoi_area views[AOI_MOST_VIEWS];
    laoi_area_arg areas[AOI_MOST_VIEWS];
    sync_options_arg a = {0};
    if (!AOI_IS_NULL(aoi_sync_view(y->core, e, 0)))
        return laoi_argerror(L, 2, "entity %s is already a client", laoi_spell(L, laoi_integer(L, 2)));
    aoi_sync_get_defaults(y->core, &a.o.clients);
    const uint32_t count = view_args(L, y, areas);
    for (uint32_t k = 0; k < count; k++) views[k] = areas[k].area;
    laoi_read_options(L, 4, sync_options + FOR_CLIENTS, &a);
    y = laoi_sync_self(L, 4); /* once more */
    e = laoi_entity(L, y->space, 2);
    check_relevance(L, 4, y->core, &a.o.clients);
    return laoi_done(L, aoi_sync_add(y->core, e, views, count, &a.o.clients));
}

static int y_remove(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 2);
    return laoi_done(L, aoi_sync_remove(y->core, sync_client(L, y)));
}

static int y_set(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = sync_client(L, y);
    sync_options_arg a = {0};
    if (!lua_istable(L, 3)) laoi_typeerror(L, 3, "table");
    (void)aoi_sync_get(y->core, e, &a.o.clients);
    laoi_read_options(L, 3, sync_options + FOR_CLIENTS, &a);
    check_relevance(L, 3, y->core, &a.o.clients);
    return laoi_done(L, aoi_sync_set(y->core, e, &a.o.clients));
}

static int y_resend(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 2);
    return laoi_done(L, aoi_sync_resend(y->core, sync_client(L, y)));
}

/* Reads the ids of the list at index i into a userdata, which stays on the stack. */
static const int64_t *list_ids(lua_State *L, int i, size_t *n) {
    if (!lua_istable(L, i)) laoi_typeerror(L, i, "table");
    *n = lua_rawlen(L, i);
    int64_t *ids = laoi_newuserdata(L, (*n + 1) * sizeof *ids);
    for (size_t k = 0; k < *n; k++) {
        laoi_rawgeti(L, i, (laoi_index)k + 1);
        if (lua_type(L, -1) != LUA_TNUMBER || !laoi_tointeger(L, -1, ids + k)) laoi_argerror(L, i, "integers expected");
        lua_pop(L, 1);
    }
    return ids;
}

/* picture(id): bytes, a list of the ids in them, and their number. */
static int y_picture(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 2);
    (void)sync_client(L, y);
    laoi_bytes *c = laoi_new_bytes(L);
    y = laoi_sync_self(L, 3); /* once more */
    if (aoi_sync_picture(y->core, sync_client(L, y), laoi_collect, c) != AOI_OK) return laoi_nomemory(L);
    const size_t n = aoi_picture_ids(c->bytes, c->size, NULL, 0);
    int64_t *ids = laoi_newbuffer(L, n * sizeof *ids);
    (void)aoi_picture_ids(c->bytes, c->size, ids, n);
    lua_pushlstring(L, c->bytes, c->size);
    lua_newtable(L);
    laoi_fill_list(L, ids, NULL, n);
    laoi_free_bytes(c);
    return 3;
}

/* adopt(id, picture, gone) */
static int y_adopt(lua_State *L) {
    (void)sync_client(L, laoi_sync_self(L, 4));
    size_t size, gone;
    if (lua_type(L, 3) != LUA_TSTRING) laoi_typeerror(L, 3, "string");
    const char *bytes = lua_tolstring(L, 3, &size), *fault = aoi_picture_fault(bytes, size);
    if (fault) return laoi_argerror(L, 3, "%s", fault);
    const int64_t *gone_ids = list_ids(L, 4, &gone);
    laoi_sync *y = laoi_sync_self(L, 5);
    int result = aoi_sync_adopt(y->core, sync_client(L, y), bytes, size, gone_ids, gone);
    if (result == AOI_EVALUE) return laoi_argerror(L, 2, "it has been sent a message already");
    return laoi_done(L, result);
}

static int y_node(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    int64_t id = 0;
    uint32_t view;
    if (lua_isnoneornil(L, 3)) {
        lua_settop(L, 2);
        lua_pushinteger(L, 1);
    }
    const bool known = aoi_node_id(y->space->core, view_arg(L, y, sync_client(L, y), 3, &view), &id);
    return laoi_push_known(L, known, id);
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* set_priority(target, priority [, client]); for one client nil: as for all. */
static int y_set_priority(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 4);
    aoi_entity e = laoi_entity(L, y->space, 2), client = {0, 0};
    const bool one = !lua_isnoneornil(L, 4);
    const double priority = one && lua_isnil(L, 3) ? 0 : laoi_finite(L, 3);
    if (!(priority > 0) && !(one && lua_isnil(L, 3))) return laoi_argerror(L, 3, "priority must be positive");
    if (!one) return laoi_done(L, aoi_sync_set_priority(y->core, e, priority));
    client = laoi_entity(L, y->space, 4);
    if (AOI_IS_NULL(aoi_sync_view(y->core, client, 0)))
        return laoi_argerror(L, 4, "entity %s is no client", laoi_spell(L, laoi_integer(L, 4)));
    return laoi_done(L, aoi_sync_set_priority_for(y->core, client, e, priority));
}

static int y_set_team(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = laoi_entity(L, y->space, 2);
    return laoi_done(L, aoi_sync_set_team(y->core, e, lua_isnil(L, 3) ? 0 : laoi_integer(L, 3)));
}

static int y_pin(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = sync_client(L, y), target = laoi_entity(L, y->space, 3);
    if (AOI_EQUALS(e, target)) return laoi_argerror(L, 3, "an entity does not see itself");
    return laoi_done(L, aoi_sync_pin(y->core, e, target));
}

/* A target that has left has no pins. */
static int y_unpin(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = sync_client(L, y), target = aoi_find(y->space->core, laoi_integer(L, 3));
    return AOI_IS_NULL(target) ? 0 : laoi_done(L, aoi_sync_unpin(y->core, e, target));
}

static int y_touch(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 2);
    return laoi_done(L, aoi_sync_touch(y->core, laoi_entity(L, y->space, 2)));
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static int y_knows(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = sync_client(L, y);
    lua_pushboolean(L, aoi_sync_knows(y->core, e, aoi_find(y->space->core, laoi_integer(L, 3))));
    return 1;
}

static int y_known(lua_State *L) {
    laoi_list a = {0};
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = sync_client(L, y);
    int result = aoi_sync_known(y->core, e, &a.ids, &a.n);
    return laoi_answer(L, y->space, y_known, 3, result, &a);
}

static int y_knowers(lua_State *L) {
    laoi_list a = {0};
    laoi_sync *y = laoi_sync_self(L, 3);
    aoi_entity e = laoi_entity(L, y->space, 2);
    int result = aoi_sync_knowers(y->core, e, &a.ids, &a.n);
    return laoi_answer(L, y->space, y_knowers, 3, result, &a);
}

/* ---- the tick ---------------------------------------------------------------------------------------------------- */

enum { CALLBACK = 2, BYTES = 3, TICK_TOP = 3 }; /* on the stack: self, the callback, bytes so far */

/* Pushes a message; false if it may have changed before it was read.  Before 5.2 lua_pushlstring collects garbage
 * first, and a finalizer may free the bytes: copies them to a buffer that is allocated before. */
static bool push_bytes(lua_State *L, const laoi_sync *y, const aoi_message *m) {
#if LUA_VERSION_NUM < 502
    const uint32_t used = y->space->calls;
    char *copy = laoi_newbuffer(L, m->size);
    if (y->space->calls != used) return false;
    lua_pushlstring(L, memcpy(copy, m->bytes, m->size), m->size);
    lua_remove(L, -2);
#else
    (void)y;
    lua_pushlstring(L, (const char *)m->bytes, m->size);
#endif
    return true;
}

/* Pushes the callback and its arguments; false when no client has news, or the synchroniser or its space is closed. */
static bool push_message(lua_State *L, laoi_sync *y, size_t *size) {
    aoi_message m;
    while (laoi_is_open(y)) {
        if (aoi_sync_next(y->core, &m) != AOI_OK) laoi_nomemory(L);
        if (!m.bytes) return false;
        *size = m.size;
        lua_pushvalue(L, CALLBACK);
        laoi_pushinteger(L, m.client);
        if (push_bytes(L, y, &m) && laoi_is_open(y) && aoi_sync_sent(y->core)) return true;
        lua_settop(L, TICK_TOP);
    }
    return false;
}

static int tick_again(lua_State *L, int status, lua_KContext messages);

static int tick_run(lua_State *L, lua_KContext messages) {
    laoi_sync *y = lua_touserdata(L, 1);
    int64_t bytes = (int64_t)lua_tonumber(L, BYTES);
    size_t size;
    luaL_checkstack(L, 4, NULL);
    while (push_message(L, y, &size)) {
        messages++;
        bytes += (int64_t)size;
        laoi_pushinteger(L, bytes);
        lua_replace(L, BYTES);
        lua_callk(L, 2, 0, messages, tick_again);
    }
    lua_settop(L, TICK_TOP);
    laoi_pushinteger(L, (int64_t)messages);
    lua_insert(L, BYTES);
    return 2;
}

static int tick_again(lua_State *L, int status, lua_KContext messages) {
    (void)status;
    return tick_run(L, messages);
}

static int y_tick(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 2);
    if (!lua_isfunction(L, 2) && !luaL_getmetafield(L, 2, "__call")) laoi_typeerror(L, 2, "function");
    lua_settop(L, CALLBACK);
    y = laoi_sync_self(L, 2); /* once more */
    lua_pushinteger(L, 0);
    if (aoi_sync_begin(y->core) != AOI_OK) return laoi_nomemory(L);
    return tick_run(L, 0);
}

/* ---- the module -------------------------------------------------------------------------------------------------- */

static const luaL_Reg sync_methods[] = {
    {"add", y_add},           {"remove", y_remove},   {"set", y_set},
    {"resend", y_resend},     {"node", y_node},       {"set_priority", y_set_priority},
    {"set_team", y_set_team}, {"pin", y_pin},         {"unpin", y_unpin},
    {"touch", y_touch},       {"knows", y_knows},     {"known", y_known},
    {"knowers", y_knowers},   {"tick", y_tick},       {"put", laoi_sync_put},
    {"set_view", y_set_view}, {"get", laoi_sync_get}, {"explain", laoi_sync_explain},
    {"adopt", y_adopt},       {"picture", y_picture}, {NULL, NULL},
};

static void end_sync(void *core) {
    aoi_sync_close(core);
}

static const luaL_Reg sync_functions[] = {{"read", laoi_sync_read}, {"state", laoi_sync_state}, {NULL, NULL}};

const laoi_class laoi_sync_class = {"aoi.Sync", "sync", "new",        y_new,         end_sync,
                                    false,      NULL,   sync_methods, sync_functions};
