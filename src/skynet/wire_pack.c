/* wire_pack.c - see wire_post.h: collects events and writes messages. */
#include "sight/sight.h"
#include "skynet/wire_post.h"

/* ---- collecting --------------------------------------------------------------------------------------------------- */

static post_place place_of(const aoi_space *core, int64_t target) {
    aoi_entity e = aoi_find(core, target);
    post_place at = {0};
    (void)aoi_kind(core, e, &at.kind);
    (void)aoi_position(core, e, at.pos);
    return at;
}

static void collect_event(post *p, const laoi_space *b, const aoi_event *ev) {
    uint32_t r = laoi_record_of_handle(p, ev->node_id), i = p->event_count;
    if (r == AOI_NONE) return; /* not a node of this post, or its link is removed */
    post_record *c = p->records + r;
    post_link *k = p->links + c->link;
    if (k->stale || k->space != b) return;
    if (ev->kind == AOI_CROSS) {
        p->crossings[p->crossing_count++] = (post_crossing){ev->target, ev->t, c->handle};
        return;
    }
    post_chain *chain = c->chains + (ev->kind == AOI_ENTER);
    bool place = c->places && ev->kind == AOI_ENTER;
    if (place) p->places[p->place_count] = place_of(b->core, ev->target);
    p->events[i] = (post_event){ev->target, AOI_NONE, place ? p->place_count++ : AOI_NONE};
    if (chain->count++) p->events[chain->last].next = i;
    else chain->first = i;
    chain->last = i;
    p->event_count++;
    laoi_mark_dirty(p, r);
    laoi_queue_link(p, k);
}

/* Closes the removed records of the space: all their events have been collected. */
static void collect_closing(post *p, const laoi_space *b) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->closing_count; i++) {
        uint32_t r = p->closing[i];
        post_link *k = p->links + p->records[r].link;
        if (k->space != b) {
            p->closing[kept++] = r;
            continue;
        }
        p->records[r].closed = true;
        if (k->stale) laoi_free_record(p, r);
        else {
            laoi_mark_dirty(p, r);
            laoi_queue_link(p, k);
        }
    }
    p->closing_count = kept;
}

static void collect_stale(post *p, const laoi_space *b) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->stale_count; i++) {
        post_link *k = p->links + p->stale[i];
        k->in_stale = k->stale;
        if (!k->stale) continue;
        p->stale[kept++] = p->stale[i];
        if (k->space == b) laoi_queue_link(p, k);
    }
    p->stale_count = kept;
}

/* Pushes a list of the crossings: handle, target, t of each. */
static void push_crossings(lua_State *L, post *p) {
    lua_newtable(L);
    for (uint32_t i = 0; i < p->crossing_count; i++) { /* growing the table may run a finalizer */
        const post_crossing c = p->crossings[i];
        laoi_set_item(L, -1, 3 * (laoi_index)i + 1, c.handle);
        laoi_set_item(L, -1, 3 * (laoi_index)i + 2, c.target);
        laoi_set_numbers(L, -1, 3 * (laoi_index)i + 3, &c.t, 1);
    }
}

/* collect(space [, sight]): takes all pending events of the space, also of nodes without a record; runs a tick of the
 * sight and takes its events.  Returns the number of events, and the crossings among them, if there are any: they are
 * in no message of events. */
int laoi_post_collect(lua_State *L) {
    aoi_event chunk[64];
    post *p = laoi_post_self(L);
    laoi_space *b = laoi_space_argument(L, 2);
    aoi_sight *sight = lua_isnoneornil(L, 3) ? NULL : laoi_sight_argument(L, 3, b);
    uint32_t cursor = 0;
    if (!sight && !lua_isnoneornil(L, 3)) return laoi_argerror(L, 3, "an open sight of the space expected");
    if (aoi_flush(b->core) != AOI_OK || (sight && aoi_sight_tick(sight) != AOI_OK)) return laoi_nomemory(L);
    size_t pending = aoi_pending(b->core), all = pending + (sight ? aoi_sight_pending(sight) : 0), n;
    if (!AOI_GROW(&p->memory, p->events, p->event_cap, p->event_count + all) ||
        (p->place_records && !AOI_GROW(&p->memory, p->places, p->place_cap, p->place_count + all)))
        return laoi_nomemory(L);
    p->crossing_count = 0;
    if (b->core->queue.crosses && !AOI_GROW(&p->memory, p->crossings, p->crossing_cap, pending))
        return laoi_nomemory(L);
    while ((n = aoi_peek(b->core, &cursor, chunk, 64)) > 0)
        for (size_t i = 0; i < n; i++) collect_event(p, b, chunk + i);
    aoi_take_all(b->core);
    while (sight && aoi_sight_next(sight, chunk)) collect_event(p, b, chunk);
    collect_closing(p, b);
    collect_stale(p, b);
    lua_settop(L, 2);
    lua_insert(L, 1); /* the space */
    laoi_gettable(L, 1);
    laoi_forget_freed(L, b, 3);
    laoi_pushinteger(L, (int64_t)all);
    if (!p->crossing_count) return 1;
    push_crossings(L, p);
    return 2;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Reserves room for `more` bytes; the message is p->bytes[0 .. p->size - 1]. */
static bool post_room(post *p, size_t more) {
    return AOI_GROW(&p->memory, p->bytes, p->byte_cap, p->size + more);
}

typedef struct post_group { /* the group of a record that is being written */
    const post_record *record;
    int flags, dims, width;
    uint32_t leaves, enters;
} post_group;

static bool put_group(post *p, post_group *g) {
    const post_record *c = g->record;
    const post_link *k = p->links + c->link;
    bool longer = g->leaves > 0xff || g->enters > 0xff;
    if (g->flags & WIRE_OPEN) g->width = wire_width(c->node, wire_width(c->watcher, g->width));
    if (c->places) g->flags |= g->dims == 3 ? WIRE_PLACE3 : WIRE_PLACE2;
    g->flags |= (longer ? WIRE_LONG : 0) | (g->width == 8 ? WIRE_WIDTH8 : g->width == 4 ? WIRE_WIDTH4 : 0);
    size_t each = (size_t)g->width + (c->places ? 8 + 8 * (size_t)g->dims : 0);
    if (!post_room(p, WIRE_LONG_GROUP + 20 + (size_t)g->leaves * 8 + g->enters * each)) return false;
    unsigned char *q = aoi_put_bytes(p->bytes + p->size, c->wire, 4);
    *q++ = (unsigned char)g->flags;
    q = aoi_put_bytes(q, g->leaves, longer ? 4 : 1);
    q = aoi_put_bytes(q, g->enters, longer ? 4 : 1);
    if (g->flags & WIRE_OPEN)
        q = wire_put_id(wire_put_id(aoi_put_bytes(q, k->number, 4), c->watcher, g->width), c->node, g->width);
    p->size = (uint32_t)(q - p->bytes);
    return true;
}

static unsigned char *post_put_place(unsigned char *q, const post_place *at, int dims) {
    q = aoi_put_bytes(q, at->kind, 8);
    for (int a = 0; a < dims; a++) q = aoi_put_double(q, at->pos[a]);
    return q;
}

/* Writes the events of a changed record. */
static bool write_changes(post *p, uint32_t r) {
    post_record *c = p->records + r;
    post_group g = {.record = c, .width = 2, .leaves = c->chains[0].count, .enters = c->chains[1].count};
    g.dims = p->links[c->link].space->dims;
    g.flags = (c->opened ? 0 : WIRE_OPEN) | (c->closed ? WIRE_CLOSE : 0);
    for (int way = 0; way < 2; way++)
        for (uint32_t i = c->chains[way].first; i != AOI_NONE; i = p->events[i].next)
            g.width = wire_width(p->events[i].target, g.width);
    if (!put_group(p, &g)) return false;
    unsigned char *q = p->bytes + p->size;
    for (int way = 0; way < 2; way++)
        for (uint32_t i = c->chains[way].first; i != AOI_NONE; i = p->events[i].next) {
            q = wire_put_id(q, p->events[i].target, g.width);
            if (p->events[i].place != AOI_NONE) q = post_put_place(q, p->places + p->events[i].place, g.dims);
        }
    p->size = (uint32_t)(q - p->bytes);
    c->opened = true;
    return true;
}

static int view_of(aoi_space *s, aoi_node node, const int64_t **ids, size_t *n) {
    aoi_sight *sight = aoi_sight_of_node(s, node);
    return sight ? aoi_sight_view(sight, node, ids, n) : aoi_view(s, node, ids, n);
}

/* Writes the whole view of a node; with `empty` only opens the node, and its view is due later. */
static bool write_whole(post *p, uint32_t r, bool empty) {
    post_record *c = p->records + r;
    laoi_space *b = p->links[c->link].space;
    const int64_t *ids = NULL;
    size_t n = 0;
    aoi_node node = aoi_find_node(b->core, aoi_find(b->core, c->watcher), c->handle);
    if (!empty && !AOI_IS_NULL(node) && view_of(b->core, node, &ids, &n) != AOI_OK) return false;
    post_group g = {.record = c, .width = 2, .enters = (uint32_t)n, .dims = b->dims};
    g.flags = WIRE_OPEN | (empty ? 0 : WIRE_WHOLE);
    for (size_t i = 0; i < n; i++) g.width = wire_width(ids[i], g.width);
    if (!put_group(p, &g)) return false;
    unsigned char *q = p->bytes + p->size;
    for (size_t i = 0; i < n; i++) {
        q = wire_put_id(q, ids[i], g.width);
        if (!c->places) continue;
        const post_place at = place_of(b->core, ids[i]);
        q = post_put_place(q, &at, b->dims);
    }
    p->size = (uint32_t)(q - p->bytes);
    c->opened = true;
    c->whole_due = empty;
    if (empty) laoi_mark_dirty(p, r);
    return true;
}

/* Writes a resync, which contains all records of the link; views that exceed the message follow in later messages. */
static bool write_resync(post *p, post_link *k) {
    if (!post_room(p, WIRE_RESYNC)) return false;
    unsigned char *q = aoi_put_bytes(aoi_put_bytes(p->bytes + p->size, 0, 4), k->number, 4);
    q = aoi_put_bytes(aoi_put_bytes(q, k->count, 4), 0, 4);
    p->size = (uint32_t)(q - p->bytes);
    for (uint32_t r = k->records; r != AOI_NONE; r = p->records[r].next)
        if (!write_whole(p, r, p->size >= p->max_message)) return false;
    k->stale = false;
    p->resyncs++;
    return true;
}

/* Writes the changes of the link until the message is full.  False when memory is refused. */
static bool write_link(post *p, post_link *k) {
    if (k->stale && !write_resync(p, k)) return false;
    while (k->first_dirty != AOI_NONE && p->size < p->max_message) {
        uint32_t r = k->first_dirty, before = p->size;
        if (p->records[r].whole_due ? !write_whole(p, r, false) : !write_changes(p, r)) return false;
        if (p->records[r].closed && p->ends == before) p->ends = p->size;
        laoi_take_dirty(p, k);
    }
    return true;
}

/* A stale link waits until its space has no uncollected events: views do not contain them yet. */
static bool may_write(const post_link *k) {
    return k->space->core && (!k->stale || aoi_pending(k->space->core) == 0);
}

/* Whether the window of the subscriber has room for a message; if not, its links become stale. */
static bool in_window(post *p, post_subscriber *u) {
    uint32_t waiting = u->seq - u->acked;
    if (u->behind) u->behind = waiting > 0;
    else if (waiting >= p->window) {
        u->behind = true;
        p->overruns++;
        laoi_make_all_stale(p, u);
    }
    return !u->behind;
}

/* Writes one message for the subscriber; its size stays WIRE_HEAD if there are no changes. */
static bool write_message(post *p, post_subscriber *u) {
    p->size = p->ends = WIRE_HEAD;
    if (!post_room(p, 0)) return false;
    while (u->first_todo != AOI_NONE && p->size < p->max_message) {
        post_link *k = p->links + u->first_todo;
        if (may_write(k) && !write_link(p, k)) return false;
        if (!may_write(k) || k->first_dirty == AOI_NONE) {
            u->first_todo = k->next_todo;
            k->queued = false;
        }
    }
    return true;
}

static void next_subscriber(post *p, post_subscriber *u) {
    u->touched = u->started = u->unsent = false;
    if (++p->touched_at < p->touched_count) return;
    p->touched_at = p->touched_count = p->event_count = p->place_count = 0;
}

/* Writes the next message; pushes the address of its subscriber, the message, and p->ends.  Returns the size of the
 * message; 0: no more messages. */
static size_t push_events(lua_State *L, post *p) {
    while (p->touched_at < p->touched_count) {
        uint32_t s = p->touched[p->touched_at];
        post_subscriber *u = p->subscribers + s;
        if (u->used && u->unsent) laoi_make_all_stale(p, u); /* the last call failed */
        if (!u->used || u->unsent || u->first_todo == AOI_NONE || (!u->started && !in_window(p, u))) {
            for (; u->first_todo != AOI_NONE; u->first_todo = p->links[u->first_todo].next_todo)
                p->links[u->first_todo].queued = false;
            next_subscriber(p, u);
            continue;
        }
        u->started = u->unsent = true;
        if (!write_message(p, u)) return (size_t)laoi_nomemory(L);
        uint32_t seq = u->seq + 1, waiting = seq - u->acked, often = p->window / 2 ? p->window / 2 : 1;
        bool ask = waiting % often == 0 || waiting >= p->window;
        size_t size = p->size > WIRE_HEAD ? p->size : 0;
        if (size) {
            wire_put_head(p->bytes, WIRE_EVENTS, ask ? WIRE_ASK : 0, 0, seq);
            laoi_pushinteger(L, u->address);
            lua_pushlstring(L, (const char *)p->bytes, size);
            laoi_pushinteger(L, p->ends);
            u = p->subscribers + s; /* once more: a finalizer may have run */
            u->seq = seq;
        }
        u->unsent = false;
        if (u->first_todo == AOI_NONE) next_subscriber(p, u);
        if (!size) continue;
        p->sending = s;
        return size;
    }
    return 0;
}

/* send(f, failed): calls f(address, message, length) for each message; the first `length` bytes are the head and the
 * groups of ended nodes.  If f returns a false value, calls failed(address, size, value).  If f raises, its subscriber
 * is resynchronised, and the next call sends the rest.  Returns the number of messages sent, and of their bytes. */
int laoi_post_send(lua_State *L) {
    post *p = laoi_post_self(L);
    int64_t sent = 0, bytes = 0;
    lua_settop(L, 3);
    if (p->sending != AOI_NONE && p->subscribers[p->sending].used)
        laoi_make_all_stale(p, p->subscribers + p->sending); /* the last call failed */
    p->sending = AOI_NONE;
    for (;;) {
        lua_pushvalue(L, 2);
        size_t size = push_events(L, p);
        if (!size) break;
        int64_t address = p->subscribers[p->sending].address;
        lua_call(L, 3, 1);
        p->sending = AOI_NONE;
        if (lua_toboolean(L, 4)) {
            sent++;
            bytes += (int64_t)size;
        } else {
            lua_pushvalue(L, 3);
            laoi_pushinteger(L, address);
            laoi_pushinteger(L, (int64_t)size);
            lua_pushvalue(L, 4);
            lua_call(L, 3, 0);
        }
        lua_settop(L, 3);
    }
    return LAOI_INTEGERS(L, sent, bytes);
}
