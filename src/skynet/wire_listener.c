/* wire_listener.c - see aoi.skynet.one_coroutine: passes all messages of one type to one coroutine.
 *
 *   dispatch(kind, message, size, session, source)     in place of skynet's function
 *      |                                      of another type, or no receiver for `source`: `other`, skynet's function
 *      v
 *   resume(co, receiver, message, size) --> listen: receiver(message, size) [-> finish] -> idle: yields "SUSPEND"
 *      |                                      idle, and skynet's queues are empty: nothing is left to do
 *      v
 *   after(waits, source, co, ok, command)
 *
 * A service has a Lua state of its own, which is cold when a message arrives, so that the cost of a message is the
 * number of cache lines that are read.  The upvalues of this closure are contiguous; each upvalue of a Lua function is
 * an object of its own.  In Lua, the same code takes more than half of all time of a service that watches one node. */
#include "skynet/wire.h"

#if LAOI_YIELDS

typedef struct listener {
    int64_t type;    /* of the messages */
    const void *co;  /* address of the coroutine in upvalue LISTENER_CO */
    int running;     /* the upvalue of LISTENER_OWNER that contains the running coroutine; 0: `resume` sets it */
    bool is_running; /* that upvalue contains the coroutine */
    bool idle;       /* the coroutine waits for the next message */
} listener;

/* Upvalues of `dispatch`; from LISTENER_RECEIVERS to LISTENER_FINISH the arguments of `listener`. */
enum {
    LISTENER_STATE = 1,
    LISTENER_RECEIVERS,
    LISTENER_RESUME,
    LISTENER_OWNER,
    LISTENER_QUEUES,
    LISTENER_OTHER = LISTENER_QUEUES + 3,
    LISTENER_AFTER,
    LISTENER_FINISH,
    LISTENER_CO
};

/* Upvalues of `listen`. */
enum { LISTEN_STATE = 1, LISTEN_FINISH, LISTEN_COMMAND };

static int listen_next(lua_State *L, int status, lua_KContext ctx);

/* The message is complete: the coroutine becomes idle, or ends if another one has replaced it meanwhile. */
static int listen_again(lua_State *L, int status, lua_KContext ctx) {
    listener *s = lua_touserdata(L, lua_upvalueindex(LISTEN_STATE));
    (void)status;
    if (s->co != L) return 0;
    s->idle = true;
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(LISTEN_COMMAND));
    return lua_yieldk(L, 1, ctx, listen_next);
}

/* The receiver has returned three values.  Unless the first is true, `finish` receives them, too. */
static int listen_received(lua_State *L, int status, lua_KContext ctx) {
    if (lua_toboolean(L, 4)) return listen_again(L, status, ctx);
    lua_pushvalue(L, lua_upvalueindex(LISTEN_FINISH));
    lua_insert(L, 1);
    lua_callk(L, 6, 0, ctx, listen_again);
    return listen_again(L, status, ctx);
}

/* On the stack: receiver, message, size. */
static int listen_next(lua_State *L, int status, lua_KContext ctx) {
    for (int i = 1; i <= 3; i++) lua_pushvalue(L, i);
    lua_callk(L, 2, 3, ctx, listen_received);
    return listen_received(L, status, ctx);
}

/* The body of a coroutine. */
static int listen(lua_State *L) {
    return listen_next(L, LUA_OK, 0);
}

static void new_coroutine(lua_State *L, listener *s) {
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, lua_upvalueindex(LISTENER_STATE));
    lua_pushvalue(L, lua_upvalueindex(LISTENER_FINISH));
    lua_pushliteral(L, "SUSPEND");
    lua_pushcclosure(L, listen, LISTEN_COMMAND);
    lua_xmove(L, co, 1);
    lua_replace(L, lua_upvalueindex(LISTENER_CO));
    s->co = co;
    s->is_running = false;
}

static bool has_queued(lua_State *L) {
    bool has = false;
    for (int i = LISTENER_QUEUES; i < LISTENER_OTHER; i++) {
        has = laoi_rawgeti(L, lua_upvalueindex(i), 1) != LUA_TNIL || has;
        lua_pop(L, 1);
    }
    return has;
}

/* Resumes the coroutine with the receiver, which is on top, and the message; pushes two results. */
static void resume_listen(lua_State *L, listener *s) {
    if (s->running && !s->is_running) {
        lua_pushvalue(L, lua_upvalueindex(LISTENER_CO));
        lua_setupvalue(L, lua_upvalueindex(LISTENER_OWNER), s->running);
    }
    s->idle = s->is_running = false;
    lua_pushvalue(L, lua_upvalueindex(LISTENER_RESUME));
    lua_pushvalue(L, lua_upvalueindex(LISTENER_CO));
    lua_pushvalue(L, -3);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_call(L, 4, 2);
}

static int listener_dispatch(lua_State *L) {
    listener *s = lua_touserdata(L, lua_upvalueindex(LISTENER_STATE));
    for (int i = 0; i < 4; i++) AOI_PREFETCH((const void *)((uintptr_t)s->co + (uintptr_t)i * AOI_CACHE_LINE));
    lua_settop(L, 5);
    if (lua_tointeger(L, 1) != s->type ||
        laoi_rawgeti(L, lua_upvalueindex(LISTENER_RECEIVERS), lua_tointeger(L, 5)) == LUA_TNIL) {
        s->is_running = false;
        lua_settop(L, 5);
        lua_pushvalue(L, lua_upvalueindex(LISTENER_OTHER));
        lua_insert(L, 1);
        lua_call(L, 5, 0);
        return 0;
    }
    if (!s->idle) new_coroutine(L, s);
    resume_listen(L, s);
    s->is_running = s->idle && !has_queued(L);
    if (s->is_running) return 0;
    lua_pushvalue(L, lua_upvalueindex(LISTENER_AFTER));
    lua_pushboolean(L, !s->idle);
    lua_pushvalue(L, 5);
    lua_pushvalue(L, lua_upvalueindex(LISTENER_CO));
    lua_pushvalue(L, 7);
    lua_pushvalue(L, 8);
    lua_call(L, 5, 0);
    return 0;
}

/* listener(type, running, receivers, resume, owner, woken, failed, forks, other, after, finish): returns `dispatch`.
 *   running, owner        the upvalue of the function `owner` that contains the running coroutine; 0: `resume` sets it
 *   receivers             address of the sender -> receiver(message, size), which returns true if nothing is left to do
 *   woken, failed, forks  queues, which are empty if their first item is nil
 *   after                 called if the coroutine is not idle (waits), or a queue is not empty
 *   finish                finish(receiver, message, size, ...): receives the other results of a receiver */
static int listener_new(lua_State *L) {
    lua_settop(L, LISTENER_CO);
    listener *s = laoi_newbuffer(L, sizeof *s);
    *s = (listener){.type = laoi_integer(L, 1), .running = (int)laoi_integer(L, 2)};
    lua_insert(L, 3);
    lua_pushnil(L);
    lua_pushcclosure(L, listener_dispatch, LISTENER_CO);
    return 1;
}
#endif

void laoi_open_listener(lua_State *L) {
#if LAOI_YIELDS
    static const luaL_Reg functions[] = {{"listener", listener_new}, {NULL, NULL}};
    laoi_set_functions(L, lua_gettop(L), functions);
#else
    (void)L;
#endif
}
