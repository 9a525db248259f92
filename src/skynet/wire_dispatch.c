/* wire_dispatch.c - see wire_inbox.h: calls the handlers for the news, without a Lua table in between.
 *
 *   receive -> apply to views, append news -> dispatch: next entry -> handler -> next ... -> all news delivered
 *                                               |  an error is reported, and the next entry follows
 *                                               |  a handler yields: its coroutine is suspended in `dispatch`;
 *                                               v  the next coroutine calls `overtake` and delivers the rest
 *                                           continued
 *
 * While handlers are suspended, Lua decides for each group whether it must wait for one of them (aoi.skynet.dispatch).
 * A process has hundreds of clients, and the memory of each is cold when a message arrives: all that every message
 * needs is in the upvalues of one closure and in the inbox. */
#include "skynet/wire_inbox.h"

/* Upvalues of `receive` and `deliver`; the last two are the names of handlers. */
enum {
    UP_INBOX = 1,
    UP_TABLE,
    UP_CATCH,
    UP_FORK,
    UP_CONTINUE,
    UP_LOOK_UP,
    UP_SPECIAL,
    UP_REPORT,
    UP_HOLD,
    UP_SEND,
    UP_ENTER,
    UP_LEAVE
};
enum { AT_CATCHER = 1, AT_HANDLERS }; /* stack of `dispatch` */

static inbox *inbox_self(lua_State *L) {
    return laoi_object(L, INBOX_NAME);
}

static int inbox_new(lua_State *L) {
    inbox *x = laoi_new_object(L, sizeof *x);
    x->memory = laoi_memory(L);
    x->hash_key = aoi_new_hash_key(x);
    x->free_view = x->removed_view = AOI_NONE;
    return 1;
}

static int inbox_gc(lua_State *L) {
    inbox *x = inbox_self(L);
    for (uint32_t i = 0; i < x->view_count; i++) laoi_inbox_clear(x, x->views + i);
    AOI_FREE(&x->memory, x->views, x->view_cap);
    AOI_FREE(&x->memory, x->marks, x->mark_cap);
    AOI_FREE(&x->memory, x->news, x->news_cap);
    AOI_FREE(&x->memory, x->groups, x->group_cap);
    aoi_hash_index_free(&x->memory, &x->handles);
    *x = (inbox){.memory = x->memory, .hash_key = x->hash_key, .free_view = AOI_NONE, .removed_view = AOI_NONE};
    return 0;
}

/* Frees the slots of removed views, after the handlers in the table at that stack index. */
static void free_removed(lua_State *L, inbox *x, int table) {
    while (x->removed_view != AOI_NONE) {
        uint32_t slot = x->removed_view;
        lua_pushnil(L);
        lua_rawseti(L, table, (laoi_index)slot + 1);
        x->removed_view = x->views[slot].next;
        x->views[slot].next = x->free_view;
        x->free_view = slot;
    }
}

/* ---- news as a Lua list ------------------------------------------------------------------------------------------- */

static uint32_t entry_length(const int64_t *head) {
    if ((head[0] & 3) == FORM_SPECIAL) return 6;
    if ((head[0] & 3) != FORM_GROUP) return 2;
    return ENTRY_HEAD + (uint32_t)head[1] + (uint32_t)(head[2] * head[3]);
}

/* Writes the undelivered values of the current entry to the list; coordinates as doubles. */
static void fill_remaining(lua_State *L, int list, const inbox *x, const inbox_walk *w) {
    laoi_index at = 0;
    for (uint32_t i = w->at; i < w->stop && i < x->news_count; i++) {
        double v;
        memcpy(&v, x->news + i, sizeof v);
        if (i >= w->middle && (i - w->middle) % w->values >= 2) laoi_set_numbers(L, list, ++at, &v, 1);
        else laoi_set_item(L, list, ++at, x->news[i]);
    }
}

static uint32_t leaves_left(const inbox_walk *w) {
    return w->middle > w->at ? w->middle - w->at : 0;
}

static uint32_t enters_left(const inbox_walk *w) {
    return (w->stop - (w->at > w->middle ? w->at : w->middle)) / w->values;
}

/* ---- calls of handlers -------------------------------------------------------------------------------------------- */

static void begin_entry(inbox *x) {
    inbox_walk *w = &x->walk;
    const int64_t *head = x->news + w->at;
    int form = (int)(head[0] & 3);
    w->word = head[0];
    w->stop = w->at + entry_length(head);
    w->values = form == FORM_GROUP ? (uint32_t)head[3] : 1;
    w->at += form == FORM_GROUP ? ENTRY_HEAD : 1;
    w->middle = w->at + (form == FORM_GROUP ? (uint32_t)head[1] : form == FORM_LEAVES);
}

/* Whether Lua has taken the group that begins: its watcher has events that wait for a suspended handler. */
static bool is_held(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    if (!x->held) return false;
    lua_pushvalue(L, lua_upvalueindex(UP_HOLD));
    laoi_pushinteger(L, (w->word >> 2) & 0xffffffff);
    laoi_pushinteger(L, leaves_left(w));
    laoi_pushinteger(L, enters_left(w));
    laoi_pushinteger(L, w->values);
    lua_newtable(L);
    fill_remaining(L, -1, x, w);
    lua_call(L, 5, 1);
    bool held = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (held) w->at = w->stop;
    return held;
}

/* Removes the view of a node that has ended, when the end is reported. */
static void remove_ended(lua_State *L, inbox *x, const int64_t *entry) {
    inbox_view *v = entry[1] == INBOX_CLOSED ? laoi_inbox_view(x, (uint32_t)entry[2]) : NULL;
    if (!v) return;
    laoi_inbox_remove(x, v);
    free_removed(L, x, lua_upvalueindex(UP_TABLE));
}

/* (send, seq): sends an ACK for all messages up to `seq`. */
static int send_ack(lua_State *L) {
    unsigned char ack[WIRE_HEAD];
    wire_put_head(ack, WIRE_ACK, 0, 0, laoi_u32(L, 2));
    lua_settop(L, 1);
    lua_pushlstring(L, (const char *)ack, sizeof ack);
    lua_call(L, 1, 0);
    return 0;
}

/* Pushes the function for a SPECIAL entry and its arguments; returns their number.  ACKs are sent by C: the Lua code
 * for an ACK would be cold, and cost as much as the delivery of several messages. */
static int push_special(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    const int64_t *entry = x->news + w->at - 1, what = entry[1];
    w->at = w->stop;
    w->target = 0;
    if (what == INBOX_ASKED || what == INBOX_LOST) x->acked = (uint32_t)entry[2];
    if (what == INBOX_ASKED) {
        lua_pushcfunction(L, send_ack);
        lua_pushvalue(L, lua_upvalueindex(UP_SEND));
        laoi_pushinteger(L, x->acked);
        return 2;
    }
    lua_pushvalue(L, lua_upvalueindex(UP_SPECIAL));
    for (int k = 1; k <= 5; k++) laoi_pushinteger(L, entry[k]);
    remove_ended(L, x, entry);
    return 5;
}

/* Whether the node has handlers; leaves their object on top.  Usually it is there already, from the last event. */
static bool has_handlers(lua_State *L, inbox_walk *w, const inbox_view *v, uint32_t slot) {
    if (v->handlers == w->handlers && w->handlers) return true;
    lua_settop(L, AT_CATCHER);
    w->handlers = NULL;
    if (laoi_rawgeti(L, lua_upvalueindex(UP_TABLE), (laoi_index)slot + 1) == LUA_TNIL) return false;
    w->handlers = lua_topointer(L, AT_HANDLERS);
    return true;
}

/* Pushes the handler with the name in upvalue `field` of the object on top; or, where a metatable must be consulted,
 * look_up and its first two arguments: a metamethod may raise or yield in that call as a handler may.  Returns the
 * number of arguments pushed; -1: no handler. */
static int push_handler(lua_State *L, int field) {
    lua_pushvalue(L, lua_upvalueindex(field));
    int type = laoi_rawget(L, -2);
    if (type == LUA_TFUNCTION) return 0;
    if (type == LUA_TNIL && lua_getmetatable(L, -2)) {
        lua_pop(L, 2);
        lua_pushvalue(L, lua_upvalueindex(UP_LOOK_UP));
        lua_pushvalue(L, lua_upvalueindex(field));
        lua_pushvalue(L, -3);
        return 2;
    }
    return lua_toboolean(L, -1) ? 0 : -1;
}

/* Pushes the handler of the next event and its arguments; returns their number.  0: no event is left, or another
 * coroutine has taken over. */
static int push_event(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    uint32_t turn = w->turn;
    while (w->turn == turn && w->at < x->news_count) {
        if (w->at >= w->stop) {
            begin_entry(x);
            if ((w->word & 3) == FORM_SPECIAL) return push_special(L, x);
            if (is_held(L, x)) continue;
        }
        uint32_t handle = (uint32_t)(w->word >> 2), slot = (uint32_t)(w->word >> 34), i = w->at;
        const inbox_view *v = x->views + slot;
        if (v->handle != handle || !has_handlers(L, w, v, slot)) { /* handle: the map is closed */
            w->at = w->stop;
            continue;
        }
        bool enters = i >= w->middle;
        uint32_t more = enters ? w->values - 1 : 0;
        int64_t target = x->news[i], watcher = v->watcher, node = v->node, kind = more ? x->news[i + 1] : 0;
        double pos[3] = {0};
        if (more) memcpy(pos, x->news + i + 2, (more - 1) * sizeof *pos);
        w->at += 1 + more;
        w->target = target;
        int first = push_handler(L, enters ? UP_ENTER : UP_LEAVE);
        if (first < 0) {
            lua_settop(L, AT_HANDLERS);
            continue;
        }
        laoi_pushinteger(L, watcher);
        laoi_pushinteger(L, target);
        laoi_pushinteger(L, node);
        if (more) laoi_pushinteger(L, kind);
        for (uint32_t a = 0; a + 1 < more; a++) lua_pushnumber(L, pos[a]);
        return first + 3 + (int)more;
    }
    return 0;
}

static void end_walk(inbox *x) {
    x->walk.walking = false;
    x->walk.turn++;
}

/* A call has raised the error on top: pushes the function that reports it and its arguments. */
static int push_report(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    lua_pushvalue(L, lua_upvalueindex(UP_REPORT));
    lua_insert(L, -2);
    laoi_pushinteger(L, (w->word >> 2) & 0xffffffff);
    laoi_pushinteger(L, w->target);
    w->reporting = true;
    return 3;
}

/* Results after another coroutine has taken over; failed: the suspended handler has then raised the error on top. */
static int overtaken(lua_State *L, lua_KContext turn, bool failed) {
    lua_pushboolean(L, 0);
    laoi_pushinteger(L, (int64_t)turn);
    if (failed) lua_pushvalue(L, -3);
    else lua_pushnil(L);
    return 3;
}

static int continued(lua_State *L, int status, lua_KContext turn);

/* Calls handlers until no entry is left, or another coroutine has taken over. */
static int dispatch(lua_State *L, int status, lua_KContext turn) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(UP_INBOX));
    inbox_walk *w = &x->walk;
    for (;;) {
        bool failed = status > 1;
        if ((lua_KContext)w->turn != turn) return overtaken(L, turn, failed);
        bool again = failed && w->reporting; /* the report of an error has failed: it is dropped */
        if (again) {
            lua_settop(L, AT_CATCHER);
            w->handlers = NULL;
        }
        w->reporting = false;
        int n = failed && !again ? push_report(L, x) : push_event(L, x);
        if ((lua_KContext)w->turn != turn) return overtaken(L, turn, false);
        if (!n) break;
        status = lua_pcallk(L, n, 0, AT_CATCHER, turn, continued);
    }
    end_walk(x);
    x->news_count = w->at = w->stop = 0;
    lua_pushboolean(L, 1);
    return 1;
}

/* Delivers the news in this coroutine. */
static int begin_walk(lua_State *L, inbox *x) {
    x->walk.walking = true;
    x->walk.handlers = NULL;
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(UP_CATCH));
    return dispatch(L, 0, (lua_KContext)x->walk.turn);
}

static int continued(lua_State *L, int status, lua_KContext turn) {
    return dispatch(L, status, turn);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Applies EVENTS to the views and appends the news.  Returns 0, or the number of results on the stack: nil, reason. */
static int apply_message(lua_State *L, inbox *x) {
    size_t size = 0;
    bool room;
    const unsigned char *p = laoi_message(L, 1, &size);
    x->messages++;
    x->bytes += size;
    if (!p) return laoi_refuse(L, "a message is a string");
    if (size < WIRE_HEAD || p[0] != WIRE_VERSION || p[1] != WIRE_EVENTS || p[2] & ~WIRE_ASK || p[3])
        return laoi_refuse(L, "no message of events");
    const char *fault = laoi_inbox_parse(x, p + WIRE_HEAD, p + size, &room);
    if (fault) return laoi_refuse(L, fault);
    if (!room) return laoi_nomemory(L);
    uint32_t seq = wire_get32(p + 4);
    bool lost = x->incomplete || seq != x->seq + 1, ask = p[2];
    x->incomplete = true;
    x->seq = seq;
    bool applied = laoi_inbox_apply(x) && (!lost || laoi_note_special(x, INBOX_LOST, seq, 0, 0, 0)) &&
                   (!ask || laoi_note_special(x, INBOX_ASKED, seq, 0, 0, 0));
    free_removed(L, x, lua_upvalueindex(UP_TABLE));
    if (!applied) return laoi_nomemory(L);
    x->incomplete = false;
    return 0;
}

/* Forks a coroutine that delivers the rest if a handler yields. */
static void fork_continue(lua_State *L, inbox *x) {
    if (lua_isnil(L, lua_upvalueindex(UP_FORK))) return;
    x->incomplete = true; /* in case the call raises */
    lua_pushvalue(L, lua_upvalueindex(UP_FORK));
    lua_pushvalue(L, lua_upvalueindex(UP_CONTINUE));
    lua_call(L, 1, 0);
    x->incomplete = false;
}

/* The first stage of the prefetching in wire_inbox.c. */
static void prefetch_arrays(const inbox *x) {
    AOI_PREFETCH(x->groups);
    AOI_PREFETCH(x->views);
    AOI_PREFETCH((const void *)((uintptr_t)x->views + AOI_CACHE_LINE));
    AOI_PREFETCH(x->marks);
    AOI_PREFETCH(x->news);
}

/* receive(message, length): applies EVENTS and calls the handlers.  Returns
 *   true                  all handlers have been called
 *   false, turn, caught   a handler has yielded, and `overtake` was called before it resumed; caught: its error, if any
 *   nil, reason           the message is malformed; nothing has changed
 *   nil, nil              a handler is suspended; nothing has changed: `overtake` must be called first */
static int inbox_receive(lua_State *L) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(UP_INBOX));
    if (x->walk.walking) {
        lua_pushnil(L);
        lua_pushnil(L);
        return 2;
    }
    prefetch_arrays(x);
    int refused = apply_message(L, x);
    if (refused) return refused;
    const inbox_walk *w = &x->walk;
    bool several = w->at < w->stop || (x->news_count && w->at + entry_length(x->news + w->at) < x->news_count);
    if (several) fork_continue(L, x);
    return begin_walk(L, x);
}

/* deliver(): calls handlers for the undelivered news; returns as receive. */
static int inbox_deliver(lua_State *L) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(UP_INBOX));
    if (!x->walk.walking && x->walk.at < x->news_count) return begin_walk(L, x);
    lua_pushboolean(L, 1);
    return 1;
}

/* receiver(catch, fork, continue, look_up, special, report, hold, send): returns the functions receive and deliver.
 *   catch(err)                                  message handler; makes `caught`
 *   fork(continue)                              starts a coroutine; nil: the caller detects a suspended call itself
 *   look_up(field, handlers, ...)               calls handlers[field](...), if there is one
 *   special(what, a, b, c, d)                   receives SPECIAL entries, except ASKED
 *   report(caught, handle, target)              receives the error of a handler
 *   hold(handle, leaves, enters, values, list)  whether Lua keeps the group for later
 *   send(message)                               sends an ACK */
static int inbox_receiver(lua_State *L) {
    static const lua_CFunction functions[] = {inbox_receive, inbox_deliver};
    inbox_self(L);
    lua_settop(L, 9);
    laoi_gettable(L, 1);
    lua_insert(L, 2);
    for (int f = 0; f < 2; f++) {
        for (int i = 1; i <= UP_SEND; i++) lua_pushvalue(L, i);
        lua_pushliteral(L, "enter");
        lua_pushliteral(L, "leave");
        lua_pushcclosure(L, functions[f], UP_LEAVE);
    }
    return 2;
}

/* waiting(): handle and target of the event whose handler runs or is suspended; nothing if there is none. */
static int inbox_waiting(lua_State *L) {
    const inbox_walk *w = &inbox_self(L)->walk;
    if (!w->walking) return 0;
    return LAOI_INTEGERS(L, (w->word >> 2) & 0xffffffff, w->target);
}

/* overtake([list]): detaches the suspended handler; `deliver` continues after its event.  A list receives the rest of
 * the group, and `deliver` skips it.  Returns the turn of the handler; leaves, enters, values per enter of the rest. */
static int inbox_overtake(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_walk *w = &x->walk, left = *w;
    lua_settop(L, 2);
    end_walk(x);
    if (lua_istable(L, 2)) {
        w->at = w->stop;
        fill_remaining(L, 2, x, &left);
    }
    return LAOI_INTEGERS(L, left.turn, leaves_left(&left), enters_left(&left), left.values);
}

/* ---- other methods ------------------------------------------------------------------------------------------------ */

/* handlers(handle, t): sets the object that has the handlers of the node; no effect without such a node. */
static int inbox_handlers(lua_State *L) {
    inbox *x = inbox_self(L);
    uint32_t handle = laoi_u32(L, 2);
    inbox_view *v = laoi_inbox_view(x, handle);
    if (!lua_istable(L, 3)) return laoi_typeerror(L, 3, "table");
    lua_settop(L, 3);
    laoi_gettable(L, 1);
    lua_insert(L, 3);
    if (!v) return 0;
    const void *handlers = lua_topointer(L, 4);
    lua_rawseti(L, 3, (laoi_index)(v - x->views) + 1);
    v = laoi_inbox_view(x, handle); /* once more: growing the table may run a finalizer */
    if (v) v->handlers = handlers;
    return 0;
}

/* since(handle, epoch): a resync of an earlier epoch does not end the node. */
static int inbox_since(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    if (v) v->since = laoi_u32(L, 3);
    return 0;
}

/* open(handle, link, watcher, node): adds a node of this client, with an empty view. */
static int inbox_open(lua_State *L) {
    inbox *x = inbox_self(L);
    uint32_t handle = laoi_u32(L, 2), link = laoi_u32(L, 3);
    if (!handle || laoi_inbox_view(x, handle)) return laoi_argerror(L, 2, "the handle is taken");
    inbox_view *v = laoi_inbox_add(x, handle, link);
    if (!v) return laoi_nomemory(L);
    v->watcher = laoi_integer(L, 4);
    v->node = laoi_integer(L, 5);
    return 0;
}

/* close(handle): removes a node of a closed map, without events. */
static int inbox_close(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    if (!v) return 0;
    laoi_inbox_remove(x, v);
    laoi_gettable(L, 1);
    free_removed(L, x, lua_gettop(L));
    return 0;
}

/* view(handle, list): fills the list, ends it with nil; returns the number of ids. */
static int inbox_view_ids(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_istable(L, 3)) return laoi_typeerror(L, 3, "table");
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    laoi_index at = 0;
    for (uint32_t i = 0; v && i < v->count; i++) {
        laoi_set_item(L, 3, ++at, v->ids[i]);
        v = laoi_inbox_view(x, laoi_u32(L, 2)); /* once more: growing the table may run a finalizer */
    }
    lua_pushnil(L);
    lua_rawseti(L, 3, at + 1);
    return LAOI_INTEGERS(L, (int64_t)at);
}

static int inbox_sees(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    lua_pushboolean(L, v && laoi_inbox_place(x, v, laoi_integer(L, 3)) != AOI_NONE);
    return 1;
}

static bool is_drained(const inbox *x) {
    return !x->walk.walking && x->walk.at >= x->news_count;
}

/* seq([set]): the number of the last message, and the last one known to be delivered completely; sets both if given. */
static int inbox_seq(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_isnoneornil(L, 2)) x->seq = x->acked = laoi_u32(L, 2);
    if (is_drained(x)) x->acked = x->seq;
    return LAOI_INTEGERS(L, x->seq, x->acked);
}

/* held(n): sets the number of watchers with events that wait for a suspended handler. */
static int inbox_held(lua_State *L) {
    inbox_self(L)->held = laoi_u32(L, 2);
    return 0;
}

/* idle(): whether all news is delivered; and the number of undelivered values. */
static int inbox_idle(lua_State *L) {
    const inbox *x = inbox_self(L);
    const inbox_walk *w = &x->walk;
    lua_pushboolean(L, is_drained(x));
    laoi_pushinteger(L, x->news_count - (w->walking ? w->stop : w->at));
    return 2;
}

/* count(): nodes, bytes of memory; totals of events, messages, bytes of messages. */
static int inbox_count(lua_State *L) {
    inbox *x = inbox_self(L);
    return LAOI_INTEGERS(L, (int64_t)x->handles.count, (int64_t)x->memory.used, (int64_t)x->events,
                         (int64_t)x->messages, (int64_t)x->bytes);
}

static const luaL_Reg inbox_methods[] = {
    {"receiver", inbox_receiver}, {"waiting", inbox_waiting},
    {"overtake", inbox_overtake}, {"open", inbox_open},
    {"close", inbox_close},       {"view", inbox_view_ids},
    {"sees", inbox_sees},         {"count", inbox_count},
    {"seq", inbox_seq},           {"handlers", inbox_handlers},
    {"idle", inbox_idle},         {"held", inbox_held},
    {"since", inbox_since},       {NULL, NULL},
};

void laoi_open_inbox(lua_State *L) {
    laoi_set_type(L, INBOX_NAME, "inbox", inbox_new, inbox_methods, inbox_gc);
    laoi_set_integer(L, "OPENED", INBOX_OPENED);
    laoi_set_integer(L, "CLOSED", INBOX_CLOSED);
    laoi_set_integer(L, "RESYNCED", INBOX_RESYNCED);
    laoi_set_integer(L, "MISSED", INBOX_LOST);
}
