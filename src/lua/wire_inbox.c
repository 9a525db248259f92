/* wire_inbox.c - see wire.h: the events that a client is sent, and what its nodes see by them.
 *
 *   view     handle, link, ids in no order [ id id id ... ]; from 64 ids on an index of them
 *   read     checks the whole message, applies it group by group, and notes what really changes in `news`; then, when no
 *            view is in use, the notes are appended to a Lua list, which may run finalizers
 *
 *   list     entries, each begins with 4 * handle + form:
 *            LEAVES, id  or  ENTERS, id                 one event without a place, as most groups have
 *            GROUP, leaves, enters, values              then the ids that leave, then `values` numbers for each that enters:
 *                                                       the id alone, or id, kind, x, y [, z]
 *            SPECIAL (handle 0), OPENED, link, watcher, node, handle   a node that another client has added for this one
 *            SPECIAL, CLOSED, handle, 0, 0, 0                          the end of a node, behind its last leaves
 *            SPECIAL, RESYNCED, link, 0, 0, 0                          behind the changes that a resync has brought
 *
 * A view takes an enter only of what it does not have, and a leave only of what it has: so a handler hears them in turn
 * whatever was lost on the way. */
#include "lua/wire.h"

#define INBOX_NAME "aoi.Inbox"

enum { INDEX_FROM = 64 }; /* below, a walk over ids that lie together beats a look-up */
enum { FORM_SPECIAL = 0, FORM_LEAVES = 1, FORM_ENTERS = 2, FORM_GROUP = 3 };
enum { INBOX_OPENED = 1, INBOX_CLOSED = 2, INBOX_RESYNCED = 3 };

typedef struct inbox_view {
    uint32_t handle, link, next; /* handle 0: a free slot, next: of the chain of those */
    uint32_t stamp;              /* of the last resync that named it */
    int64_t *ids;
    uint32_t cap, count;
    aoi_index index;
} inbox_view;

typedef struct inbox {
    aoi_memory memory;
    inbox_view *views;
    aoi_index handles;
    int64_t *news;        /* list entries; coordinates as the bits of doubles */
    unsigned char *marks; /* of the ids of a view, while a whole view is compared */
    uint32_t view_cap, view_count, free_view, mark_cap, news_cap, news_count, stamp;
    uint32_t seq;    /* of the last message */
    uint64_t events; /* so far */
    bool torn;       /* a message was not applied to its end */
} inbox;

static inbox *inbox_self(lua_State *L) {
    return laoi_object(L, INBOX_NAME);
}

static int inbox_new(lua_State *L) {
    inbox *x = laoi_new_wire(L, sizeof *x);
    x->memory = laoi_memory(L);
    x->free_view = AOI_NONE;
    return 1;
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

static inbox_view *view_of_handle(const inbox *x, uint32_t handle) {
    if (!handle) return NULL;
    for (uint32_t at = AOI_SEEK, v; (v = aoi_index_next(&x->handles, aoi_hash64(handle), &at)) != AOI_NONE;)
        if (x->views[v].handle == handle) return x->views + v;
    return NULL;
}

static void clear_view(inbox *x, inbox_view *v) {
    AOI_FREE(&x->memory, v->ids, v->cap);
    aoi_index_free(&x->memory, &v->index);
    *v = (inbox_view){0};
}

static void forget_view(inbox *x, inbox_view *v) {
    uint32_t slot = (uint32_t)(v - x->views);
    aoi_index_remove(&x->handles, aoi_hash64(v->handle), slot);
    clear_view(x, v);
    v->next = x->free_view;
    x->free_view = slot;
}

/* NULL when memory is refused. */
static inbox_view *new_view(inbox *x, uint32_t handle, uint32_t link) {
    if (!aoi_index_reserve(&x->memory, &x->handles, (size_t)x->handles.count + 1)) return NULL;
    uint32_t slot = x->free_view;
    if (slot == AOI_NONE) {
        if (!AOI_GROW(&x->memory, x->views, x->view_cap, x->view_count + 1)) return NULL;
        slot = x->view_count++;
    } else x->free_view = x->views[slot].next;
    x->views[slot] = (inbox_view){.handle = handle, .link = link};
    aoi_index_add(&x->handles, aoi_hash64(handle), slot);
    return x->views + slot;
}

static uint32_t place_in_view(const inbox_view *v, int64_t id) {
    if (!v->index.size) {
        for (uint32_t i = 0; i < v->count; i++)
            if (v->ids[i] == id) return i;
        return AOI_NONE;
    }
    for (uint32_t at = AOI_SEEK, i; (i = aoi_index_next(&v->index, aoi_id_hash(id), &at)) != AOI_NONE;)
        if (v->ids[i] == id) return i;
    return AOI_NONE;
}

/* Room for so many ids more. */
static bool view_room(inbox *x, inbox_view *v, uint32_t more) {
    size_t need = (size_t)v->count + more;
    if (!AOI_GROW(&x->memory, v->ids, v->cap, need)) return false;
    if (need < INDEX_FROM) return true;
    bool had = v->index.size != 0;
    if (!aoi_index_reserve(&x->memory, &v->index, need)) return false;
    for (uint32_t i = 0; i < v->count && !had; i++) aoi_index_add(&v->index, aoi_id_hash(v->ids[i]), i);
    return true;
}

static void view_add(inbox_view *v, int64_t id) {
    if (v->index.size) aoi_index_add(&v->index, aoi_id_hash(id), v->count);
    v->ids[v->count++] = id;
}

static void view_remove(inbox_view *v, uint32_t i) {
    uint32_t last = --v->count;
    if (v->index.size) {
        aoi_index_remove(&v->index, aoi_id_hash(v->ids[i]), i);
        if (i != last) aoi_index_replace(&v->index, aoi_id_hash(v->ids[last]), last, i);
    }
    v->ids[i] = v->ids[last];
}

static int inbox_gc(lua_State *L) {
    inbox *x = inbox_self(L);
    for (uint32_t i = 0; i < x->view_count; i++) clear_view(x, x->views + i);
    AOI_FREE(&x->memory, x->views, x->view_cap);
    AOI_FREE(&x->memory, x->marks, x->mark_cap);
    AOI_FREE(&x->memory, x->news, x->news_cap);
    aoi_index_free(&x->memory, &x->handles);
    *x = (inbox){.memory = x->memory, .free_view = AOI_NONE};
    return 0;
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

typedef struct wire_group {
    uint32_t handle, leaves, enters, link;
    int flags, width, dims; /* dims: 0 without places */
    size_t each;            /* bytes of one that enters */
    int64_t watcher, node;
    const unsigned char *lists, *end;
} wire_group;

/* NULL, or what is wrong with the group at p; the head of the group is there. */
static const char *read_group(const unsigned char *p, const unsigned char *end, wire_group *g) {
    size_t left = (size_t)(end - p);
    if (left < WIRE_GROUP) return "group cut off";
    g->handle = wire_get32(p);
    g->flags = p[4];
    bool longer = g->flags & WIRE_LONG, opens = g->flags & WIRE_OPEN;
    if ((g->flags & WIRE_PLACE2 && g->flags & WIRE_PLACE3) || (g->flags & WIRE_WIDTH4 && g->flags & WIRE_WIDTH8))
        return "impossible group flags";
    g->width = g->flags & WIRE_WIDTH8 ? 8 : g->flags & WIRE_WIDTH4 ? 4 : 2;
    g->dims = g->flags & WIRE_PLACE3 ? 3 : g->flags & WIRE_PLACE2 ? 2 : 0;
    g->each = (size_t)g->width + (g->dims ? 8 + 8 * (size_t)g->dims : 0);
    size_t head = (longer ? WIRE_LONG_GROUP : WIRE_GROUP) + (opens ? 4 + 2 * (size_t)g->width : 0);
    if (left < head) return "group cut off";
    g->leaves = longer ? wire_get32(p + 5) : p[5];
    g->enters = longer ? wire_get32(p + 9) : p[6];
    if (g->flags & WIRE_WHOLE && g->leaves) return "a whole view with leaves";
    g->lists = p + head;
    left -= head;
    if (g->leaves > left / (size_t)g->width) return "group cut off";
    left -= g->leaves * (size_t)g->width;
    if (g->enters > left / g->each) return "group cut off";
    g->end = g->lists + g->leaves * (size_t)g->width + g->enters * g->each;
    if (opens) {
        const unsigned char *at = g->lists - 2 * g->width;
        g->link = wire_get32(at - 4);
        g->watcher = wire_get_id(at, g->width);
        g->node = wire_get_id(at + g->width, g->width);
    }
    return NULL;
}

/* NULL, or what is wrong with the records from p on.  Makes room in the views that are there: false in *room if memory
 * is refused. */
static const char *records_fault(inbox *x, const unsigned char *p, const unsigned char *end, bool *room) {
    uint32_t owed = 0;
    wire_group g;
    *room = true;
    while (p < end) {
        if (end - p < WIRE_GROUP) return "record cut off";
        if (wire_get32(p) == 0) {
            if (end - p < WIRE_RESYNC) return "resync cut off";
            if (owed) return "a resync inside another";
            owed = wire_get32(p + 8);
            p += WIRE_RESYNC;
            continue;
        }
        const char *fault = read_group(p, end, &g);
        if (fault) return fault;
        inbox_view *v = view_of_handle(x, g.handle);
        if (v && !view_room(x, v, g.enters)) *room = false;
        p = g.end;
        if (owed) owed--;
    }
    return owed ? "resync cut off" : NULL;
}

/* ---- applying ----------------------------------------------------------------------------------------------------- */

static bool news_room(inbox *x, size_t more) {
    return AOI_GROW(&x->memory, x->news, x->news_cap, x->news_count + more);
}

/* After news_room. */
static void note_number(inbox *x, int64_t v) {
    x->news[x->news_count++] = v;
}

static bool note_special(inbox *x, int what, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t values[] = {0, what, a, b, c, d};
    if (!news_room(x, 6)) return false;
    for (int i = 0; i < 6; i++) note_number(x, values[i]);
    return true;
}

enum { ENTRY_HEAD = 4 }; /* handle, leaves, enters, values */

/* The head of an entry whose lists are noted already. */
static void set_entry_head(inbox *x, uint32_t at, const wire_group *g, uint32_t leaves, uint32_t enters) {
    int64_t *head = x->news + at;
    if (leaves + enters == 1 && (leaves || !g->dims)) {
        head[0] = (int64_t)g->handle * 4 + (leaves ? FORM_LEAVES : FORM_ENTERS);
        head[1] = head[ENTRY_HEAD];
        x->news_count = at + 2;
        return;
    }
    head[0] = (int64_t)g->handle * 4 + FORM_GROUP;
    head[1] = leaves;
    head[2] = enters;
    head[3] = g->dims ? 2 + g->dims : 1;
}

static uint32_t take_enters(inbox *x, inbox_view *v, const wire_group *g) {
    const unsigned char *p = g->lists + g->leaves * (size_t)g->width;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < g->enters; i++, p += g->each) {
        int64_t id = wire_get_id(p, g->width);
        if (place_in_view(v, id) != AOI_NONE) continue;
        view_add(v, id);
        note_number(x, id);
        for (int k = 0; g->dims && k <= g->dims; k++) note_number(x, (int64_t)aoi_peek_bytes(p + g->width + 8 * k, 8));
        taken++;
    }
    return taken;
}

/* Leaves of all ids without a mark; without marks, of all. */
static uint32_t take_unmarked(inbox *x, inbox_view *v, const unsigned char *marks) {
    uint32_t taken = 0;
    for (uint32_t i = v->count; i-- > 0;) {
        if (marks && marks[i]) continue;
        note_number(x, v->ids[i]);
        view_remove(v, i); /* the last one comes here; it has been looked at */
        taken++;
    }
    return taken;
}

static uint32_t take_leaves(inbox *x, inbox_view *v, const wire_group *g) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < g->leaves; i++) {
        int64_t id = wire_get_id(g->lists + i * (size_t)g->width, g->width);
        uint32_t place = place_in_view(v, id);
        if (place == AOI_NONE) continue;
        view_remove(v, place);
        note_number(x, id);
        taken++;
    }
    return taken;
}

/* Leaves of what a whole view does not name. */
static uint32_t take_absent(inbox *x, inbox_view *v, const wire_group *g) {
    memset(x->marks, 0, v->count);
    for (uint32_t i = 0; i < g->enters; i++) {
        uint32_t place = place_in_view(v, wire_get_id(g->lists + i * g->each, g->width));
        if (place != AOI_NONE) x->marks[place] = 1;
    }
    return take_unmarked(x, v, x->marks);
}

/* False when memory is refused; the view has not changed then. */
static bool take_group(inbox *x, inbox_view *v, const wire_group *g) {
    uint32_t head = x->news_count;
    size_t most = ENTRY_HEAD + (size_t)v->count + g->leaves + (size_t)g->enters * (size_t)(g->dims ? 2 + g->dims : 1);
    if (!view_room(x, v, g->enters) || !AOI_GROW(&x->memory, x->marks, x->mark_cap, v->count + 1) ||
        !news_room(x, most))
        return false;
    x->news_count += ENTRY_HEAD;
    uint32_t leaves = g->flags & WIRE_WHOLE ? take_absent(x, v, g) : take_leaves(x, v, g);
    uint32_t enters = take_enters(x, v, g);
    x->events += leaves + enters;
    if (leaves || enters) set_entry_head(x, head, g, leaves, enters);
    else x->news_count = head;
    return true;
}

/* All that the view still has leaves, and its node with it. */
static bool close_view(inbox *x, inbox_view *v) {
    const wire_group g = {.handle = v->handle};
    uint32_t head = x->news_count;
    if (!news_room(x, ENTRY_HEAD + (size_t)v->count + 6)) return false;
    if (v->count) {
        x->news_count += ENTRY_HEAD;
        uint32_t leaves = take_unmarked(x, v, NULL);
        x->events += leaves;
        set_entry_head(x, head, &g, leaves, 0);
    }
    forget_view(x, v);
    return note_special(x, INBOX_CLOSED, g.handle, 0, 0, 0);
}

static bool apply_group(inbox *x, const wire_group *g) {
    inbox_view *v = view_of_handle(x, g->handle);
    if (!v && g->flags & WIRE_OPEN) {
        v = new_view(x, g->handle, g->link);
        if (!v || !note_special(x, INBOX_OPENED, g->link, g->watcher, g->node, g->handle)) return false;
    }
    if (!v) return true; /* of a map that is closed */
    v->stamp = x->stamp;
    return take_group(x, v, g) && (!(g->flags & WIRE_CLOSE) || close_view(x, v));
}

/* The nodes of the link that the resync has not named are gone. */
static bool end_resync(inbox *x, uint32_t link) {
    for (uint32_t i = 0; i < x->view_count; i++) {
        inbox_view *v = x->views + i;
        if (v->handle && v->link == link && v->stamp != x->stamp && !close_view(x, v)) return false;
    }
    return note_special(x, INBOX_RESYNCED, link, 0, 0, 0);
}

static bool apply_records(inbox *x, const unsigned char *p, const unsigned char *end) {
    uint32_t owed = 0, link = 0;
    wire_group g;
    while (p < end) {
        bool begins = wire_get32(p) == 0;
        if (begins) {
            link = wire_get32(p + 4);
            owed = wire_get32(p + 8);
            p += WIRE_RESYNC;
            x->stamp++;
        } else {
            (void)read_group(p, end, &g);
            if (!apply_group(x, &g)) return false;
            p = g.end;
        }
        bool ends = begins ? owed == 0 : owed > 0 && --owed == 0;
        if (ends && !end_resync(x, link)) return false;
    }
    return true;
}

/* ---- to Lua ------------------------------------------------------------------------------------------------------- */

enum { MESSAGE = 2, LIST = 3 }; /* on the stack */

/* Appends news[i], a coordinate or not. */
static void tell_number(lua_State *L, const inbox *x, uint32_t i, laoi_index at, bool coordinate) {
    double v;
    memcpy(&v, x->news + i, sizeof v);
    if (coordinate) lua_pushnumber(L, v);
    else laoi_pushinteger(L, x->news[i]);
    lua_rawseti(L, LIST, at);
}

static uint32_t entry_length(const int64_t *head) {
    if ((head[0] & 3) == FORM_SPECIAL) return 6;
    if ((head[0] & 3) != FORM_GROUP) return 2;
    return ENTRY_HEAD + (uint32_t)head[1] + (uint32_t)(head[2] * head[3]);
}

/* Appends the entries to the list; a finalizer may do anything meanwhile, but only what is there is read. */
static laoi_index tell_news(lua_State *L, const inbox *x, laoi_index at) {
    uint32_t i = 0, end;
    while (i < x->news_count) {
        const int64_t *head = x->news + i;
        bool group = (head[0] & 3) == FORM_GROUP;
        uint32_t values = group ? (uint32_t)head[3] : 1;
        uint32_t first = i + (group ? ENTRY_HEAD + (uint32_t)head[1] : entry_length(head)); /* what enters */
        end = i + entry_length(head);
        for (; i < end && i < x->news_count; i++) tell_number(L, x, i, ++at, i >= first && (i - first) % values >= 2);
    }
    return at;
}

static int refuse_events(lua_State *L, const char *why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* read(message, list, tail): applies EVENTS and appends what has changed to the list behind `tail`.  Returns the new tail,
 * bits (1: an ACK is expected; 2: a message before this one is missing, or was not applied to its end; 4: the list has
 * more than one entry), and the number of the message; or nil and a reason, and nothing has changed. */
static int inbox_read(lua_State *L) {
    inbox *x = laoi_object(L, INBOX_NAME);
    size_t size;
    bool room;
    if (lua_type(L, MESSAGE) != LUA_TSTRING) return refuse_events(L, "a message is a string");
    if (!lua_istable(L, LIST)) return laoi_typeerror(L, LIST, "table");
    laoi_index at = (laoi_index)lua_tointeger(L, 4);
    const unsigned char *p = (const unsigned char *)lua_tolstring(L, MESSAGE, &size), *end = p + size;
    if (size < WIRE_HEAD || p[0] != WIRE_VERSION || p[1] != WIRE_EVENTS || p[2] & ~WIRE_ASK || p[3])
        return refuse_events(L, "no message of events");
    const char *fault = records_fault(x, p + WIRE_HEAD, end, &room);
    if (fault) return refuse_events(L, fault);
    if (!room) return laoi_nomemory(L);
    uint32_t seq = wire_get32(p + 4);
    int bits = p[2] | (x->torn || seq != x->seq + 1 ? 2 : 0);
    x->torn = true;
    x->news_count = 0;
    x->seq = seq;
    if (!apply_records(x, p + WIRE_HEAD, end)) return laoi_nomemory(L);
    if (at > 0 || (x->news_count && x->news_count > entry_length(x->news))) bits |= 4;
    at = tell_news(L, x, at);
    x->torn = false;
    laoi_pushinteger(L, (int64_t)at);
    lua_pushinteger(L, bits);
    laoi_pushinteger(L, seq);
    return 3;
}

/* ---- what Lua asks ------------------------------------------------------------------------------------------------ */

/* open(handle, link): a node of this client; it sees nothing yet. */
static int inbox_open(lua_State *L) {
    inbox *x = inbox_self(L);
    uint32_t handle = laoi_u32(L, 2), link = laoi_u32(L, 3);
    if (!handle || view_of_handle(x, handle)) return laoi_argerror(L, 2, "the handle is taken");
    return new_view(x, handle, link) ? 0 : laoi_nomemory(L);
}

/* close(link): its map is closed; nothing is told. */
static int inbox_close(lua_State *L) {
    inbox *x = inbox_self(L);
    uint32_t link = laoi_u32(L, 2);
    for (uint32_t i = 0; i < x->view_count; i++)
        if (x->views[i].handle && x->views[i].link == link) forget_view(x, x->views + i);
    return 0;
}

/* view(handle, list): the list is filled and ends with nil; returns how many. */
static int inbox_view_ids(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_istable(L, LIST)) return laoi_typeerror(L, LIST, "table");
    inbox_view *v = view_of_handle(x, laoi_u32(L, 2));
    laoi_index at = 0;
    for (uint32_t i = 0; v && i < v->count; i++) {
        laoi_pushinteger(L, v->ids[i]);
        lua_rawseti(L, LIST, ++at);
        v = view_of_handle(x, laoi_u32(L, 2)); /* still there? the table may have run a finalizer */
    }
    lua_pushnil(L);
    lua_rawseti(L, LIST, at + 1);
    laoi_pushinteger(L, (int64_t)at);
    return 1;
}

static int inbox_sees(lua_State *L) {
    inbox *x = inbox_self(L);
    inbox_view *v = view_of_handle(x, laoi_u32(L, 2));
    lua_pushboolean(L, v && place_in_view(v, laoi_integer(L, 3)) != AOI_NONE);
    return 1;
}

/* seq([set]): the number of the last message. */
static int inbox_seq(lua_State *L) {
    inbox *x = inbox_self(L);
    if (!lua_isnoneornil(L, 2)) x->seq = laoi_u32(L, 2);
    laoi_pushinteger(L, x->seq);
    return 1;
}

static int inbox_count(lua_State *L) {
    inbox *x = inbox_self(L);
    laoi_pushinteger(L, (int64_t)x->handles.count);
    laoi_pushinteger(L, (int64_t)x->memory.used);
    laoi_pushinteger(L, (int64_t)x->events);
    return 3;
}

static const luaL_Reg inbox_methods[] = {
    {"read", inbox_read}, {"open", inbox_open},   {"close", inbox_close}, {"view", inbox_view_ids},
    {"sees", inbox_sees}, {"count", inbox_count}, {"seq", inbox_seq},     {NULL, NULL},
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
