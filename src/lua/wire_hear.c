/* wire_hear.c - see wire_inbox.h: news to handlers, without a Lua table in between.
 *
 *   receive -> message applied to views -> hear: next event -> handler -> next event ... -> all heard
 *                                            |  an error: Lua has it reported and the rest of the news delivered
 *                                            |  a wait: the coroutine is suspended in `hear`; the next caller calls
 *                                            v  `overtake`, and has the rest
 *                                        continued
 *
 * News of nodes that begin or end is left to Lua as a whole.  A client is one of hundreds in its process, and its memory
 * is cold when a message comes: what every message needs is in the upvalues of one closure and in the inbox. */
#include "lua/wire_inbox.h"

/* Upvalues of `receive`; the last two are the names of handlers. */
enum { HEAR_INBOX = 1, HEAR_TABLE, HEAR_CATCH, HEAR_FORK, HEAR_CONTINUE, HEAR_LOOK_UP, HEAR_ENTER, HEAR_LEAVE };
enum { HEAR_CATCHER = 1, HEAR_HANDLERS }; /* its stack while handlers are called */

static inbox *inbox_self(lua_State *L) {
    return laoi_object(L, INBOX_NAME);
}

static int inbox_new(lua_State *L) {
    inbox *x = laoi_new_wire(L, sizeof *x);
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

/* As Lua knows it: without the slot. */
static void tell_word(lua_State *L, int list, int64_t word, laoi_index at) {
    laoi_pushinteger(L, word & 0x3ffffffff);
    lua_rawseti(L, list, at);
}

static uint32_t entry_length(const int64_t *head) {
    if ((head[0] & 3) == FORM_SPECIAL) return 6;
    if ((head[0] & 3) != FORM_GROUP) return 2;
    return ENTRY_HEAD + (uint32_t)head[1] + (uint32_t)(head[2] * head[3]);
}

/* Appends the entries from news[i] on; a finalizer may do anything meanwhile, but only what is there is read. */
static laoi_index tell_news(lua_State *L, int list, inbox *x, uint32_t i, laoi_index at) {
    bool torn = x->torn;
    x->torn = true; /* should memory be refused */
    while (i < x->news_count) {
        const int64_t *head = x->news + i;
        bool group = (head[0] & 3) == FORM_GROUP;
        uint32_t values = group ? (uint32_t)head[3] : 1, end = i + entry_length(head);
        uint32_t first = group ? i + ENTRY_HEAD + (uint32_t)head[1] : end; /* what enters */
        tell_word(L, list, head[0], ++at);
        for (i++; i < end && i < x->news_count; i++)
            tell_number(L, list, x, i, ++at, i >= first && (i - first) % values >= 2);
    }
    x->torn = torn;
    return at;
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
        if (w->at >= w->stop) begin_entry(x);
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

/* What `receive` returns where there is something left: bits, seq. */
static int leave_news(lua_State *L, const inbox *x, int bits) {
    lua_pushinteger(L, bits);
    laoi_pushinteger(L, x->seq);
    return 2;
}

/* The handler has raised the error on top. */
static int raised(lua_State *L, const inbox *x) {
    (void)leave_news(L, x, INBOX_SEVERAL | (x->walk.ask ? WIRE_ASK : 0));
    lua_pushvalue(L, -3);
    laoi_pushinteger(L, (x->walk.word >> 2) & 0xffffffff);
    laoi_pushinteger(L, x->walk.target);
    return 5;
}

/* Another coroutine has taken over while the handler waited, which may have raised an error since. */
static int overtaken(lua_State *L, lua_KContext turn, bool failed) {
    lua_pushboolean(L, 0);
    laoi_pushinteger(L, (int64_t)turn);
    if (failed) lua_pushvalue(L, -3);
    else lua_pushnil(L);
    return 3;
}

#if LAOI_YIELDS
static int continued(lua_State *L, int status, lua_KContext turn);
#define CONTINUED continued
#else
#define CONTINUED NULL
#endif

/* Calls handlers until there is no event left, one raises an error, or another coroutine has taken over. */
static int hear(lua_State *L, int status, lua_KContext turn) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(HEAR_INBOX));
    for (;;) {
        bool failed = status > 1;
        if ((lua_KContext)x->walk.turn != turn) return overtaken(L, turn, failed);
        if (failed) return raised(L, x);
        int n = push_event(L, x);
        if ((lua_KContext)x->walk.turn != turn) return overtaken(L, turn, false);
        if (!n) break;
        status = lua_pcallk(L, n, 0, HEAR_CATCHER, turn, CONTINUED);
    }
    bool ask = x->walk.ask;
    end_walk(x);
    x->walk.at = x->walk.stop = x->news_count;
    if (ask) return leave_news(L, x, WIRE_ASK);
    lua_pushboolean(L, 1);
    return 1;
}

#if LAOI_YIELDS
static int continued(lua_State *L, int status, lua_KContext turn) {
    return hear(L, status, turn);
}
#endif

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static int refuse_events(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* Applies EVENTS to the views, which leaves news; returns bits.  Or -2, with nil and a reason on the stack.  table: of
 * the handlers, its place on the stack. */
static int apply_message(lua_State *L, inbox *x, int i, int table) {
    size_t size = 0;
    bool room;
    const unsigned char *p = laoi_message(L, i, &size);
    x->messages++;
    x->bytes += size;
    if (!p) return -refuse_events(L, "a message is a string");
    if (size < WIRE_HEAD || p[0] != WIRE_VERSION || p[1] != WIRE_EVENTS || p[2] & ~WIRE_ASK || p[3])
        return -refuse_events(L, "no message of events");
    const char *fault = laoi_inbox_parse(x, p + WIRE_HEAD, p + size, &room);
    if (fault) return -refuse_events(L, fault);
    if (!room) return laoi_nomemory(L);
    uint32_t seq = wire_get32(p + 4);
    int bits = p[2] | (x->torn || seq != x->seq + 1 ? INBOX_LOST : 0);
    x->walk = (inbox_walk){.values = 1, .turn = x->walk.turn + 1};
    x->torn = x->plain = true;
    x->news_count = 0;
    x->seq = seq;
    bool applied = laoi_inbox_apply(x);
    free_left(L, x, table);
    if (!applied) return laoi_nomemory(L);
    x->torn = false;
    return bits | (x->news_count && x->news_count > entry_length(x->news) ? INBOX_SEVERAL : 0);
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

/* receive(message, length): applies EVENTS and calls the handlers where it can.  Returns
 *   true                                 all have been called
 *   bits, seq                            `rest` has what is to be delivered, if anything.  Bits: 1 an ACK is expected, 2 a
 *                                        message before this one is missing, or was not applied to its end, 4 there is more
 *                                        than one entry
 *   bits, seq, caught, handle, target    and first, a handler has raised an error, which `catch` has made `caught`
 *   false, turn, caught or nil           a handler has waited, and `overtake` has been called meanwhile
 *   nil, reason                          nothing has changed
 *   nil, nil                             nothing has been read: something is held up, `overtake` and `read` are to be called
 */
static int inbox_receive(lua_State *L) {
    inbox *x = lua_touserdata(L, lua_upvalueindex(HEAR_INBOX));
    if (x->walk.walking || x->behind) {
        lua_pushnil(L);
        lua_pushnil(L);
        return 2;
    }
    int bits = apply_message(L, x, 1, lua_upvalueindex(HEAR_TABLE));
    if (bits < 0) return -bits;
    if (!x->plain || bits & INBOX_LOST) return leave_news(L, x, bits);
    if (bits & INBOX_SEVERAL) fork_continue(L, x);
    x->walk.walking = true;
    x->walk.ask = bits & WIRE_ASK;
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(HEAR_CATCH));
    return hear(L, 0, (lua_KContext)x->walk.turn);
}

/* receiver(catch, fork, continue, look_up): the function above.  fork may be nil: then the caller notices by itself that
 * `receive` has not come back.  look_up(field, handlers, ...): calls handlers[field](...), if there is one. */
static int inbox_receiver(lua_State *L) {
    inbox_self(L);
    lua_settop(L, 5);
    laoi_gettable(L, 1);
    lua_insert(L, 2);
    lua_pushliteral(L, "enter");
    lua_pushliteral(L, "leave");
    lua_pushcclosure(L, inbox_receive, HEAR_LEAVE);
    return 1;
}

/* read(message, length, list, tail): applies EVENTS and appends what has changed to the list behind `tail`.  Returns the
 * new tail, bits and the number of the message; or nil and a reason, and nothing has changed. */
static int inbox_read(lua_State *L) {
    inbox *x = inbox_self(L);
    laoi_index at = (laoi_index)lua_tointeger(L, 5);
    if (!lua_istable(L, 4)) return laoi_typeerror(L, 4, "table");
    laoi_gettable(L, 1);
    int bits = apply_message(L, x, 2, lua_gettop(L));
    if (bits < 0) return -bits;
    if (at > 0) bits |= INBOX_SEVERAL;
    uint32_t seq = x->seq;
    laoi_pushinteger(L, (int64_t)tell_news(L, 4, x, 0, at));
    lua_pushinteger(L, bits);
    laoi_pushinteger(L, seq);
    return 3;
}

/* rest(list): what `receive` has left is put into the list; returns its tail. */
static int inbox_rest(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_walk w = x->walk;
    laoi_index at = 0;
    if (!lua_istable(L, 2)) return laoi_typeerror(L, 2, "table");
    if (w.walking) end_walk(x);
    if (w.at < w.stop) {
        const int64_t head[] = {leaves_left(&w), enters_left(&w), w.values};
        tell_word(L, 2, w.word | FORM_GROUP, ++at);
        for (int k = 0; k < 3; k++) {
            laoi_pushinteger(L, head[k]);
            lua_rawseti(L, 2, ++at);
        }
        at = tell_group_left(L, 2, x, &w, at);
    }
    laoi_pushinteger(L, (int64_t)tell_news(L, 2, x, w.stop, at));
    return 1;
}

/* overtake(list, rest): nothing if no handler waits that `receive` has called.  Else the events behind the group of that
 * one are put into the list, the rest of the group into `rest`: turn, tail, number of the message if an ACK is still to be
 * sent, handle, leaves and enters in `rest`, values of each that enters, target that the waiting handler was told of. */
static int inbox_overtake(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_walk w = x->walk;
    if (!w.walking) return 0;
    lua_settop(L, 3);
    end_walk(x);
    (void)tell_group_left(L, 3, x, &w, 0);
    laoi_pushinteger(L, w.turn);
    laoi_pushinteger(L, (int64_t)tell_news(L, 2, x, w.stop, 0));
    if (w.ask) laoi_pushinteger(L, x->seq);
    else lua_pushnil(L);
    laoi_pushinteger(L, (w.word >> 2) & 0xffffffff);
    laoi_pushinteger(L, leaves_left(&w));
    laoi_pushinteger(L, enters_left(&w));
    laoi_pushinteger(L, w.values);
    laoi_pushinteger(L, w.target);
    return 8;
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

/* close(handle): the node's map is closed; nothing is told. */
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

/* seq([set]): the number of the last message. */
static int inbox_seq(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_isnoneornil(L, 2)) x->seq = laoi_u32(L, 2);
    laoi_pushinteger(L, x->seq);
    return 1;
}

/* behind(whether): handlers that wait hold up what comes: `receive` is not to read it. */
static int inbox_behind(lua_State *L) {
    inbox_self(L)->behind = lua_toboolean(L, 2);
    return 0;
}

/* walking(): whether a handler that `receive` has called waits, or runs. */
static int inbox_walking(lua_State *L) {
    lua_pushboolean(L, inbox_self(L)->walk.walking);
    return 1;
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
    {"receiver", inbox_receiver}, {"read", inbox_read},         {"rest", inbox_rest},
    {"overtake", inbox_overtake}, {"open", inbox_open},         {"close", inbox_close},
    {"view", inbox_view_ids},     {"sees", inbox_sees},         {"count", inbox_count},
    {"seq", inbox_seq},           {"handlers", inbox_handlers}, {"walking", inbox_walking},
    {"behind", inbox_behind},     {"since", inbox_since},       {NULL, NULL},
};

void laoi_open_inbox(lua_State *L) {
    static const struct {
        const char *name;
        int value;
    } constants[] = {{"OPENED", INBOX_OPENED}, {"CLOSED", INBOX_CLOSED}, {"RESYNCED", INBOX_RESYNCED}};
    laoi_set_type(L, INBOX_NAME, "inbox", inbox_new, inbox_methods, inbox_gc);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, constants[i].value);
        lua_setfield(L, -2, constants[i].name);
    }
}
