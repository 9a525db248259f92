/* wire_hear.c - see wire_inbox.h: news to handlers, without a Lua table in between.
 *
 *   receive -> message applied to views, news behind what waits -> hear: next entry -> handler -> next ... -> all heard
 *                                                                   |  an error: it is reported, and the next one comes
 *                                                                   |  a wait: the coroutine is suspended in `hear`;
 *                                                                   v  the next coroutine calls `overtake` and hears the rest
 *                                                               continued
 *
 * While handlers wait, Lua is asked about each group, as it may be of a watcher that is held up (aoi.skynet.dispatch).  A
 * client is one of hundreds in its process, and its memory is cold when a message comes: what every message needs is in
 * the upvalues of one closure and in the inbox. */
#include "lua/wire_inbox.h"

/* Upvalues of `receive` and `deliver`; the last two are the names of handlers. */
enum {
    HEAR_INBOX = 1,
    HEAR_TABLE,
    HEAR_CATCH,
    HEAR_FORK,
    HEAR_CONTINUE,
    HEAR_LOOK_UP,
    HEAR_SPECIAL,
    HEAR_REPORT,
    HEAR_HOLD,
    HEAR_SEND,
    HEAR_ENTER,
    HEAR_LEAVE
};
enum { HEAR_CATCHER = 1, HEAR_HANDLERS }; /* its stack while handlers are called */

static inbox *inbox_self(lua_State *L) {
    return laoi_object(L, INBOX_NAME);
}

static int inbox_new(lua_State *L) {
    inbox *x = laoi_new_object(L, sizeof *x);
    x->memory = laoi_memory(L);
    x->hash_key = aoi_new_hash_key(x);
    x->free_view = x->left_view = AOI_NONE;
    return 1;
}

static int inbox_gc(lua_State *L) {
    inbox *x = inbox_self(L);
    for (uint32_t i = 0; i < x->view_count; i++) laoi_inbox_clear(x, x->views + i);
    AOI_FREE(&x->memory, x->views, x->view_cap);
    AOI_FREE(&x->memory, x->marks, x->mark_cap);
    AOI_FREE(&x->memory, x->news, x->news_cap);
    AOI_FREE(&x->memory, x->groups, x->group_cap);
    aoi_index_free(&x->memory, &x->handles);
    *x = (inbox){.memory = x->memory, .hash_key = x->hash_key, .free_view = AOI_NONE, .left_view = AOI_NONE};
    return 0;
}

/* Slots that are left are free as soon as the table keeps no handlers for them.  table: its place on the stack. */
static void free_left(lua_State *L, inbox *x, int table) {
    while (x->left_view != AOI_NONE) {
        uint32_t slot = x->left_view;
        lua_pushnil(L);
        lua_rawseti(L, table, (laoi_index)slot + 1);
        x->left_view = x->views[slot].next;
        x->views[slot].next = x->free_view;
        x->free_view = slot;
    }
}

/* ---- into a Lua list ---------------------------------------------------------------------------------------------- */

/* Appends news[i], a coordinate or not. */
static void tell_number(lua_State *L, int list, const inbox *x, uint32_t i, laoi_index at, bool coordinate) {
    double v;
    memcpy(&v, x->news + i, sizeof v);
    if (coordinate) lua_pushnumber(L, v);
    else laoi_pushinteger(L, x->news[i]);
    lua_rawseti(L, list, at);
}

static uint32_t entry_length(const int64_t *head) {
    if ((head[0] & 3) == FORM_SPECIAL) return 6;
    if ((head[0] & 3) != FORM_GROUP) return 2;
    return ENTRY_HEAD + (uint32_t)head[1] + (uint32_t)(head[2] * head[3]);
}

/* Appends what is left of the entry that is being heard, without its head. */
static laoi_index tell_group_left(lua_State *L, int list, const inbox *x, const inbox_walk *w, laoi_index at) {
    for (uint32_t i = w->at; i < w->stop && i < x->news_count; i++)
        tell_number(L, list, x, i, ++at, i >= w->middle && (i - w->middle) % w->values >= 2);
    return at;
}

static uint32_t leaves_left(const inbox_walk *w) {
    return w->middle > w->at ? w->middle - w->at : 0;
}

static uint32_t enters_left(const inbox_walk *w) {
    return (w->stop - (w->at > w->middle ? w->at : w->middle)) / w->values;
}

/* ---- to handlers -------------------------------------------------------------------------------------------------- */

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

/* Whether the group that begins is of a watcher that is held up; then Lua has it. */
static bool is_held(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    if (!x->held) return false;
    lua_pushvalue(L, lua_upvalueindex(HEAR_HOLD));
    laoi_pushinteger(L, (w->word >> 2) & 0xffffffff);
    laoi_pushinteger(L, leaves_left(w));
    laoi_pushinteger(L, enters_left(w));
    laoi_pushinteger(L, w->values);
    lua_newtable(L);
    (void)tell_group_left(L, lua_gettop(L), x, w, 0);
    lua_call(L, 5, 1);
    bool held = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (held) w->at = w->stop;
    return held;
}

/* The end of a node has been heard. */
static void forget_ended(lua_State *L, inbox *x, const int64_t *entry) {
    inbox_view *v = entry[1] == INBOX_CLOSED ? laoi_inbox_view(x, (uint32_t)entry[2]) : NULL;
    if (!v) return;
    laoi_inbox_forget(x, v);
    free_left(L, x, lua_upvalueindex(HEAR_TABLE));
}

/* (send, seq): sends an ACK of everything up to that message. */
static int send_ack(lua_State *L) {
    unsigned char ack[WIRE_HEAD];
    wire_put_head(ack, WIRE_ACK, 0, 0, laoi_u32(L, 2));
    lua_settop(L, 1);
    lua_pushlstring(L, (const char *)ack, sizeof ack);
    lua_call(L, 1, 0);
    return 0;
}

static int push_ack(lua_State *L, uint32_t seq) {
    lua_pushcfunction(L, send_ack);
    lua_pushvalue(L, lua_upvalueindex(HEAR_SEND));
    laoi_pushinteger(L, seq);
    return 2;
}

/* Pushes what is called for the entry that begins, which is no group; returns how many arguments there are.  ACKs come
 * often enough that the Lua code for one, which is cold, costs as much as to hear some messages. */
static int push_special(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    const int64_t *entry = x->news + w->at - 1, what = entry[1];
    w->at = w->stop;
    w->target = 0;
    if (what == INBOX_ASKED || what == INBOX_LOST) x->taken = (uint32_t)entry[2];
    if (what == INBOX_ASKED) return push_ack(L, x->taken);
    lua_pushvalue(L, lua_upvalueindex(HEAR_SPECIAL));
    for (int k = 1; k <= 5; k++) laoi_pushinteger(L, entry[k]);
    forget_ended(L, x, entry);
    return 5;
}

/* Whether the node has handlers, which are on top then: as a rule those of the last event. */
static bool has_handlers(lua_State *L, inbox_walk *w, const inbox_view *v, uint32_t slot) {
    if (v->handlers == w->handlers && w->handlers) return true;
    lua_settop(L, HEAR_CATCHER);
    w->handlers = NULL;
    if (laoi_rawgeti(L, lua_upvalueindex(HEAR_TABLE), (laoi_index)slot + 1) == LUA_TNIL) return false;
    w->handlers = lua_topointer(L, HEAR_HANDLERS);
    return true;
}

/* Above the handlers on top, pushes their handler of the name in upvalue `field`; or, where a metatable has to be asked,
 * the function that asks it and its first two arguments: what raises and waits there does so in a call like that of a
 * handler.  Returns how many arguments there are; -1: there is no handler. */
static int push_listener(lua_State *L, int field) {
    lua_pushvalue(L, lua_upvalueindex(field));
    int type = laoi_rawget(L, -2);
    if (type == LUA_TFUNCTION) return 0;
    if (type == LUA_TNIL && lua_getmetatable(L, -2)) {
        lua_pop(L, 2);
        lua_pushvalue(L, lua_upvalueindex(HEAR_LOOK_UP));
        lua_pushvalue(L, lua_upvalueindex(field));
        lua_pushvalue(L, -3);
        return 2;
    }
    return lua_toboolean(L, -1) ? 0 : -1;
}

/* Pushes the next event's handler and what that is called with; returns how many those are.  0: there is no event left,
 * or another coroutine has taken over. */
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
        if (v->handle != handle || !has_handlers(L, w, v, slot)) { /* its map is closed */
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
        int first = push_listener(L, enters ? HEAR_ENTER : HEAR_LEAVE);
        if (first < 0) {
            lua_settop(L, HEAR_HANDLERS);
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

/* What has been called has raised the error on top; pushes what reports it, once. */
static int push_report(lua_State *L, inbox *x) {
    inbox_walk *w = &x->walk;
    lua_pushvalue(L, lua_upvalueindex(HEAR_REPORT));
    lua_insert(L, -2);
    laoi_pushinteger(L, (w->word >> 2) & 0xffffffff);
    laoi_pushinteger(L, w->target);
    w->reporting = true;
    return 3;
}

/* Another coroutine has taken over while the handler waited, which may have raised an error since. */
static int overtaken(lua_State *L, lua_KContext turn, bool failed) {
    lua_pushboolean(L, 0);
    laoi_pushinteger(L, (int64_t)turn);
    if (failed) lua_pushvalue(L, -3);
    else lua_pushnil(L);
    return 3;
}

static int continued(lua_State *L, int status, lua_KContext turn);

/* Calls handlers until there is no entry left, or another coroutine has taken over. */
static int hear(lua_State *L, int status, lua_KContext turn) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(HEAR_INBOX));
    inbox_walk *w = &x->walk;
    for (;;) {
        bool failed = status > 1;
        if ((lua_KContext)w->turn != turn) return overtaken(L, turn, failed);
        bool again = failed && w->reporting; /* the report of an error has failed: nothing is left to do */
        if (again) lua_settop(L, HEAR_CATCHER);
        if (again) w->handlers = NULL;
        w->reporting = false;
        int n = failed && !again ? push_report(L, x) : push_event(L, x);
        if ((lua_KContext)w->turn != turn) return overtaken(L, turn, false);
        if (!n) break;
        status = lua_pcallk(L, n, 0, HEAR_CATCHER, turn, continued);
    }
    end_walk(x);
    x->news_count = w->at = w->stop = 0;
    lua_pushboolean(L, 1);
    return 1;
}

/* What waits is heard in this coroutine from now on. */
static int begin_walk(lua_State *L, inbox *x) {
    x->walk.walking = true;
    x->walk.handlers = NULL;
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(HEAR_CATCH));
    return hear(L, 0, (lua_KContext)x->walk.turn);
}

static int continued(lua_State *L, int status, lua_KContext turn) {
    return hear(L, status, turn);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Applies EVENTS to the views; the news goes behind what waits.  Returns 0; or what is returned to Lua: nil and a reason. */
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
    bool lost = x->torn || seq != x->seq + 1, ask = p[2];
    x->torn = true;
    x->seq = seq;
    bool applied = laoi_inbox_apply(x) && (!lost || laoi_note_special(x, INBOX_LOST, seq, 0, 0, 0)) &&
                   (!ask || laoi_note_special(x, INBOX_ASKED, seq, 0, 0, 0));
    free_left(L, x, lua_upvalueindex(HEAR_TABLE));
    if (!applied) return laoi_nomemory(L);
    x->torn = false;
    return 0;
}

/* In case a handler waits, and there is more than its group. */
static void fork_continue(lua_State *L, inbox *x) {
    if (lua_isnil(L, lua_upvalueindex(HEAR_FORK))) return;
    x->torn = true; /* should memory be refused */
    lua_pushvalue(L, lua_upvalueindex(HEAR_FORK));
    lua_pushvalue(L, lua_upvalueindex(HEAR_CONTINUE));
    lua_call(L, 1, 0);
    x->torn = false;
}

/* receive(message, length): applies EVENTS and calls the handlers.  Returns
 *   true                  all have been called
 *   false, turn, caught   a handler has waited, and `overtake` has been called meanwhile; caught: it has raised since
 *   nil, reason           nothing has changed
 *   nil, nil              nothing has been read: a handler waits, `overtake` is to be called first */
static int inbox_receive(lua_State *L) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(HEAR_INBOX));
    if (x->walk.walking) {
        lua_pushnil(L);
        lua_pushnil(L);
        return 2;
    }
    int refused = apply_message(L, x);
    if (refused) return refused;
    const inbox_walk *w = &x->walk;
    bool several = w->at < w->stop || (x->news_count && w->at + entry_length(x->news + w->at) < x->news_count);
    if (several) fork_continue(L, x);
    return begin_walk(L, x);
}

/* deliver(): hears what waits, as receive. */
static int inbox_deliver(lua_State *L) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(HEAR_INBOX));
    if (!x->walk.walking && x->walk.at < x->news_count) {
        return begin_walk(L, x);
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* receiver(catch, fork, continue, look_up, special, report, hold, send): the functions receive and deliver.  fork may be nil:
 * then the caller notices by itself that they have not come back.  look_up(field, handlers, ...) calls handlers[field](...),
 * if there is one; special(what, a, b, c, d) takes entries that are no groups, but for what send(message) acknowledges;
 * report(caught, handle, target) an error, as `catch` has made it; hold(handle, leaves, enters, values, list) says whether
 * it keeps a group for later. */
static int inbox_receiver(lua_State *L) {
    static const lua_CFunction functions[] = {inbox_receive, inbox_deliver};
    inbox_self(L);
    lua_settop(L, 9);
    laoi_gettable(L, 1);
    lua_insert(L, 2);
    for (int f = 0; f < 2; f++) {
        for (int i = 1; i <= HEAR_SEND; i++) lua_pushvalue(L, i);
        lua_pushliteral(L, "enter");
        lua_pushliteral(L, "leave");
        lua_pushcclosure(L, functions[f], HEAR_LEAVE);
    }
    return 2;
}

/* waiting(): handle and target of the event whose handler waits, or runs; nothing if there is none. */
static int inbox_waiting(lua_State *L) {
    const inbox_walk *w = &inbox_self(L)->walk;
    if (!w->walking) return 0;
    laoi_pushinteger(L, (w->word >> 2) & 0xffffffff);
    laoi_pushinteger(L, w->target);
    return 2;
}

/* overtake([list]): the handler that waits goes on by itself; `deliver` hears what follows.  With a list, what is left of the
 * group is put there.  Returns the turn of the one that waits; leaves, enters, values of each that enters in the list. */
static int inbox_overtake(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_walk *w = &x->walk, left = *w;
    lua_settop(L, 2);
    end_walk(x);
    if (lua_istable(L, 2)) w->at = w->stop;
    if (lua_istable(L, 2)) (void)tell_group_left(L, 2, x, &left, 0);
    laoi_pushinteger(L, left.turn);
    laoi_pushinteger(L, leaves_left(&left));
    laoi_pushinteger(L, enters_left(&left));
    laoi_pushinteger(L, left.values);
    return 4;
}

/* ---- what Lua asks ------------------------------------------------------------------------------------------------ */

/* handlers(handle, t): t has the handlers of the node, if it is there. */
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
    v = laoi_inbox_view(x, handle); /* still there? the table may have run a finalizer */
    if (v) v->handlers = handlers;
    return 0;
}

/* since(handle, epoch): a resync of an earlier epoch does not know the node yet. */
static int inbox_since(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    if (v) v->since = laoi_u32(L, 3);
    return 0;
}

/* open(handle, link, watcher, node): a node of this client; it sees nothing yet. */
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

/* close(handle): the node's map is closed; nothing is reported. */
static int inbox_close(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    if (!v) return 0;
    laoi_inbox_forget(x, v);
    laoi_gettable(L, 1);
    free_left(L, x, lua_gettop(L));
    return 0;
}

/* view(handle, list): the list is filled and ends with nil; returns how many. */
static int inbox_view_ids(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_istable(L, 3)) return laoi_typeerror(L, 3, "table");
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    laoi_index at = 0;
    for (uint32_t i = 0; v && i < v->count; i++) {
        laoi_pushinteger(L, v->ids[i]);
        lua_rawseti(L, 3, ++at);
        v = laoi_inbox_view(x, laoi_u32(L, 2)); /* still there? the table may have run a finalizer */
    }
    lua_pushnil(L);
    lua_rawseti(L, 3, at + 1);
    laoi_pushinteger(L, (int64_t)at);
    return 1;
}

static int inbox_sees(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = laoi_inbox_view(x, laoi_u32(L, 2));
    lua_pushboolean(L, v && laoi_inbox_place(x, v, laoi_integer(L, 3)) != AOI_NONE);
    return 1;
}

static bool is_heard(const inbox *x) {
    return !x->walk.walking && x->walk.at >= x->news_count;
}

/* seq([set]): the numbers of the last message, and of the last one whose events have all been heard, as far as is known. */
static int inbox_seq(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_isnoneornil(L, 2)) x->seq = x->taken = laoi_u32(L, 2);
    if (is_heard(x)) x->taken = x->seq;
    laoi_pushinteger(L, x->seq);
    laoi_pushinteger(L, x->taken);
    return 2;
}

/* held(n): so many watchers are held up. */
static int inbox_held(lua_State *L) {
    inbox_self(L)->held = laoi_u32(L, 2);
    return 0;
}

/* idle(): whether everything has been heard; and how many values wait. */
static int inbox_idle(lua_State *L) {
    const inbox *x = inbox_self(L);
    const inbox_walk *w = &x->walk;
    lua_pushboolean(L, is_heard(x));
    laoi_pushinteger(L, x->news_count - (w->walking ? w->stop : w->at));
    return 2;
}

/* count(): nodes, bytes of memory, events, messages, bytes of those. */
static int inbox_count(lua_State *L) {
    inbox *x = inbox_self(L);
    laoi_pushinteger(L, (int64_t)x->handles.count);
    laoi_pushinteger(L, (int64_t)x->memory.used);
    laoi_pushinteger(L, (int64_t)x->events);
    laoi_pushinteger(L, (int64_t)x->messages);
    laoi_pushinteger(L, (int64_t)x->bytes);
    return 5;
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
    static const struct {
        const char *name;
        int what;
    } constants[] = {
        {"OPENED", INBOX_OPENED}, {"CLOSED", INBOX_CLOSED}, {"RESYNCED", INBOX_RESYNCED}, {"MISSED", INBOX_LOST}};
    laoi_set_type(L, INBOX_NAME, "inbox", inbox_new, inbox_methods, inbox_gc);
    for (int i = 0; i < 4; i++) {
        lua_pushinteger(L, constants[i].what);
        lua_setfield(L, -2, constants[i].name);
    }
}
