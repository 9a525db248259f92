/* deliver.c - calls handlers for events.
 *
 *   space:move(...) -> laoi_deliver -> pcall( run: take the oldest, call its handler, again ) -> finish -> back to Lua
 *
 * There is no recursion: a call made by a handler detects the active delivery and leaves its events in the queue.  A
 * delivery with a suspended handler is not active: other coroutines deliver as usual, and after the resume it continues
 * with the events that are then in the queue.  A delivery that cannot be suspended is counted (`unsuspendable`); the
 * coroutine of one that can be is an item of a weak set, and its status is examined.
 *
 * The queue is the only cursor: an event is taken before its handler runs, so that an error or a yield loses no events,
 * and the loop tests before each event whether the space is still open. */
#include "lua/binding.h"

/* stack of the loop: the space, its table, then the data of one event; from WATCHER on only if on_error is set */
enum { SELF = 1, TABLE = 2, HANDLER = 3, WATCHER = 4, TARGET = 5, NODE = 6, TRACER = 7 };

static inline void push_ids(lua_State *L, const aoi_queued *ev) {
    laoi_pushinteger(L, ev->watcher);
    laoi_pushinteger(L, ev->target);
    laoi_pushinteger(L, ev->node_id);
}

/* Pushes the arguments of the handler: the fourth is the reason of a leave that the end of an entity has caused, and the
 * place of a crossing. */
static inline int push_arguments(lua_State *L, const aoi_queued *ev) {
    push_ids(L, ev);
    if (ev->kind == AOI_CROSS) lua_pushnumber(L, ev->t);
    else if (ev->because) lua_pushinteger(L, ev->because - 1);
    else return 3;
    return 4;
}

/* The context of a loop: its events so far, doubled, and whether it takes the own events of a deferred space. */
enum { FLUSHES = 1, ONE_EVENT = 2 };

static int again(lua_State *L, int status, lua_KContext ctx);

static int note_traceback(lua_State *L) {
    laoi_traceback(L, 1);
    lua_rawseti(L, lua_upvalueindex(1), LAOI_TRACEBACK);
    lua_settop(L, 1);
    return 1;
}

void laoi_push_tracer(lua_State *L, int t) {
    lua_pushvalue(L, t);
    lua_pushcclosure(L, note_traceback, 1);
}

/* on_error(err, watcher, target, node_id, traceback); the ids are still on the stack, the error on top. */
static void call_on_error(lua_State *L, lua_KContext ctx) {
    lua_rawgeti(L, TABLE, LAOI_ON_ERROR);
    if (lua_isnil(L, -1)) { /* unset by the handler */
        lua_pop(L, 1);
        lua_error(L);
    }
    lua_insert(L, -2);
    lua_pushvalue(L, WATCHER);
    lua_pushvalue(L, TARGET);
    lua_pushvalue(L, NODE);
    if (laoi_rawgeti(L, TABLE, LAOI_TRACEBACK) != LUA_TSTRING) { /* none if memory was refused */
        lua_pop(L, 1);
        lua_pushnil(L);
    }
    lua_pushboolean(L, 0);
    lua_rawseti(L, TABLE, LAOI_TRACEBACK);
    lua_callk(L, 5, 0, ctx, again);
}

/* ---- finding the handler ----------------------------------------------------------------------------------------------- */

enum { NO_HANDLER, HANDLER_FOUND, LOOKUP_FAILED };

static int look_up(lua_State *L) {
    lua_gettable(L, 1);
    return 1;
}

/* Looks the handler up; an error of a metamethod is for on_error, and leaves the stack as call_on_error expects it. */
static int look_up_guarded(lua_State *L, const aoi_queued *ev, const char *name) {
    push_ids(L, ev);
    lua_rawgeti(L, TABLE, LAOI_TRACER);
    lua_pushcfunction(L, look_up);
    lua_pushvalue(L, HANDLER);
    lua_pushstring(L, name);
    if (lua_pcall(L, 2, 1, TRACER) != 0) return LOOKUP_FAILED;
    lua_replace(L, HANDLER);
    lua_settop(L, HANDLER);
    return lua_toboolean(L, HANDLER) ? HANDLER_FOUND : NO_HANDLER;
}

/* Replaces the value at HANDLER, a function or a table of handlers, by the handler for the event. */
static int find_handler(lua_State *L, const laoi_space *b, const aoi_queued *ev, int type) {
    if (type == LUA_TNIL || (ev->kind == AOI_CROSS && type != LUA_TTABLE)) return NO_HANDLER;
    if (type == LUA_TTABLE) { /* looked up for each event, so that code can be reloaded */
        const char *name = laoi_handler_name(ev->kind);
        if (b->has_on_error && lua_getmetatable(L, HANDLER)) {
            lua_pop(L, 1);
            return look_up_guarded(L, ev, name);
        }
        lua_getfield(L, HANDLER, name);
        lua_replace(L, HANDLER);
    }
    return lua_toboolean(L, -1) ? HANDLER_FOUND : NO_HANDLER;
}

/* Takes the next event.  Settles first: in a deferred space a handler may have cancelled events by moving entities. */
static inline const aoi_queued *next_event(lua_State *L, laoi_space *b, lua_KContext *ctx) {
    if (!b->core) return NULL;
    if (b->flush_due) *ctx |= FLUSHES, b->flush_due = false;
    const aoi_crossings *c = &b->core->crossings;
    const bool delivers = (c->way_count || c->fresh) && *ctx & FLUSHES; /* what handlers have moved and added */
    if (delivers ? aoi_flush(b->core) != AOI_OK : !aoi_settle(b->core)) laoi_nomemory(L);
    const aoi_queued *e = !b->deferred || *ctx & FLUSHES ? aoi_take(b->core) : NULL;
    const bool ends = !e && *ctx & FLUSHES; /* what areas hold now, by what handlers did, is what they held then */
    if (ends && b->core->changed_count && aoi_flush(b->core) != AOI_OK) laoi_nomemory(L);
    return e || !b->core->plugins ? e : aoi_plugins_take(b->core);
}

/* Calls the handler at HANDLER.  The handler may set or unset on_error: the setting before the call applies. */
static void call_handler(lua_State *L, const laoi_space *b, const aoi_queued *ev, lua_KContext ctx) {
    if (!b->has_on_error) {
        lua_callk(L, push_arguments(L, ev), 0, ctx, again);
        return;
    }
    push_ids(L, ev);
    lua_rawgeti(L, TABLE, LAOI_TRACER);
    lua_pushvalue(L, HANDLER);
    if (lua_pcallk(L, push_arguments(L, ev), 0, TRACER, ctx, again) > 1)
        call_on_error(L, ctx); /* neither LUA_OK nor LUA_YIELD */
}

/* Calls a handler of any type, at HANDLER.  Copies the record of the queue, as the lookup may run a metamethod. */
static void deliver_checked(lua_State *L, laoi_space *b, const aoi_queued *e, int type, lua_KContext ctx) {
    aoi_queued ev = *e;
    int found = find_handler(L, b, &ev, type);
    laoi_forget_freed(L, b, TABLE);
    if (found == HANDLER_FOUND && b->core) call_handler(L, b, &ev, ctx); /* the lookup may have closed it */
    if (found == LOOKUP_FAILED) call_on_error(L, ctx);
    lua_settop(L, TABLE);
}

/* ---- endless deliveries ------------------------------------------------------------------------------------------------ */

enum { CHECK_FROM = 1000, MOST_PAIR_EVENTS = 100000 }; /* events of one delivery */

/* Whether a pair has too many events: an endless chain of handlers is a cycle.  Counts the events of one pair at a
 * time; after `window` events of other pairs it counts another pair, with a double window (Brent's cycle detection). */
static bool is_endless(laoi_repeated *r, const aoi_queued *e) {
    if (e->watcher == r->watcher && e->target == r->target && e->node_id == r->node_id) {
        r->absent = 0;
        return ++r->events >= MOST_PAIR_EVENTS;
    }
    if (++r->absent <= r->window) return false;
    *r = (laoi_repeated){e->watcher, e->target, e->node_id, .window = 2 * r->window + 1};
    return false;
}

/* A label says more than the ids of a trigger's region, which the module has chosen. */
static int raise_endless(lua_State *L, const laoi_space *b, const laoi_repeated *r) {
    const aoi_node n = aoi_find_node(b->core, aoi_find(b->core, r->watcher), r->node_id);
    const char *node = laoi_spell(L, r->node_id), *watcher = laoi_spell(L, r->watcher),
               *target = laoi_spell(L, r->target);
    aoi_area area = {.label = NULL};
    if (!AOI_IS_NULL(n) && aoi_area_of(b->core, n, &area) && area.label)
        node = lua_pushfstring(L, "%s '%s'", node, area.label);
    return luaL_error(
        L, "%d events of node %s of entity %s about entity %s in one call: handlers move it in and out for ever",
        MOST_PAIR_EVENTS, node, watcher, target);
}

/* The loop; the stack has the space and its table.  Calls of the Lua API dominate the cost: for a plain function it
 * pushes only the arguments, and the call leaves the stack as it was. */
static int run(lua_State *L, lua_KContext ctx) {
    laoi_space *b = lua_touserdata(L, SELF);
    const aoi_queued *e;
    for (; (e = next_event(L, b, &ctx)) != NULL; ctx += ONE_EVENT) {
        uint32_t ref = laoi_handler(e->kind, aoi_user_data_of(b->core, e->node));
        int type = ref ? laoi_rawgeti(L, TABLE, (laoi_index)ref) : LUA_TNIL;
        if (ctx >= CHECK_FROM * ONE_EVENT && is_endless(&b->repeated, e)) {
            deliver_checked(L, b, e, type, ctx + ONE_EVENT);
            if (b->core && (aoi_pending(b->core) || b->core->plugins)) return raise_endless(L, b, &b->repeated);
            continue;
        }
        if (type != LUA_TFUNCTION || e->kind == AOI_CROSS || b->has_on_error || aoi_has_freed(b->core)) {
            deliver_checked(L, b, e, type, ctx + ONE_EVENT);
            continue;
        }
        lua_callk(L, push_arguments(L, e), 0, ctx + ONE_EVENT, again);
    }
    laoi_pushinteger(L, (int64_t)ctx / ONE_EVENT);
    return 1;
}

/* The continuation of `run` after a handler that has yielded or, with on_error set, raised. */
static int again(lua_State *L, int status, lua_KContext ctx) {
    if (status > 1) call_on_error(L, ctx);
    lua_settop(L, TABLE);
    return run(L, ctx);
}

static int loop(lua_State *L) {
    laoi_gettable(L, SELF);
    return run(L, 0);
}

/* ---- active deliveries --------------------------------------------------------------------------------------------------- */

enum { COUNTS = 1, SUSPENDABLE = 2 }; /* bits of a delivery's context */

static bool is_live(lua_State *L, lua_State *co) { /* running, or waiting for a coroutine that it resumed */
    lua_Debug ar;
    return co == L || (lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar));
}

static bool under_way(lua_State *L, laoi_space *b) {
    if (b->unsuspendable) return true;
    if (!b->suspendable) return false;
    bool live = false, any = false;
    laoi_gettable(L, 1);
    lua_rawgeti(L, -1, LAOI_COROUTINES);
    for (lua_pushnil(L); !live && lua_next(L, -2);) {
        live = is_live(L, lua_tothread(L, -2));
        any = true;
        lua_pop(L, live ? 2 : 1);
    }
    lua_pop(L, 2);
    if (!any) b->suspendable = 0; /* all coroutines have been collected while suspended */
    return live;
}

static lua_KContext begin(lua_State *L, laoi_space *b) {
    if (!lua_isyieldable(L)) {
        b->unsuspendable++;
        return 0;
    }
    laoi_gettable(L, 1);
    lua_rawgeti(L, -1, LAOI_COROUTINES);
    lua_pushthread(L);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 2);
    b->suspendable++;
    return SUSPENDABLE;
}

static void end(lua_State *L, laoi_space *b, lua_KContext ctx) {
    if (!(ctx & SUSPENDABLE)) {
        b->unsuspendable--;
        return;
    }
    if (b->suspendable) b->suspendable--;
    laoi_gettable(L, 1);
    if (lua_istable(L, -1)) { /* a closed space has no table */
        lua_rawgeti(L, -1, LAOI_COROUTINES);
        lua_pushthread(L);
        lua_pushnil(L);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* Ends a delivery, also as the continuation; rethrows its error. */
static int finish(lua_State *L, int status, lua_KContext ctx) {
    laoi_space *b = lua_touserdata(L, SELF);
    end(L, b, ctx);
    b->flush_due = false;
    if (status > 1) {
        if (b->core) aoi_keep_order(b->core); /* the remaining events stay queued in order */
        return lua_error(L);
    }
    return ctx & COUNTS ? 1 : 0;
}

static void push_loop(lua_State *L) {
#if LUA_VERSION_NUM >= 502
    (void)L;
    lua_pushcfunction(L, loop); /* a light C function: allocates no memory */
#else
    lua_getfenv(L, SELF);
    lua_rawgeti(L, -1, LAOI_LOOP);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushcfunction(L, loop);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, LAOI_LOOP);
    }
    lua_remove(L, -2);
#endif
}

static int deliver(lua_State *L, laoi_space *b, bool counts, bool flushes) {
    b->repeated = (laoi_repeated){0};
    push_loop(L);
    lua_pushvalue(L, SELF);
    lua_KContext ctx = begin(L, b) | (counts ? COUNTS : 0);
    b->flush_due |= flushes;
    return finish(L, lua_pcallk(L, 1, 1, 0, ctx, finish), ctx);
}

int laoi_deliver(lua_State *L, laoi_space *b, bool counts) {
    bool waits = aoi_pending(b->core);
    if ((waits || b->core->changed_count || b->core->crossings.node_count) && aoi_flush(b->core) != AOI_OK)
        return laoi_nomemory(L);
    if (waits && !under_way(L, b)) return deliver(L, b, counts, true);
    b->flush_due |= waits; /* the active delivery takes them */
    if (counts) lua_pushinteger(L, 0);
    return counts;
}

int laoi_deliver_plugins(lua_State *L, laoi_space *b) {
    if (!under_way(L, b)) return deliver(L, b, true, false);
    lua_pushinteger(L, 0);
    return 1;
}

int laoi_as_one(lua_State *L) {
    laoi_space *b = laoi_self(L);
    b->unsuspendable++;
    const bool failed = lua_pcall(L, lua_gettop(L) - 2, 0, 0) != 0;
    b->unsuspendable--;
    if (failed) return lua_error(L);
    return b->core && !b->deferred ? laoi_deliver(L, b, false) : 0;
}
