/* wire_post.c - see wire_post.h: subscribers, links and records. */
#include "skynet/wire_post.h"

post *laoi_post_self(lua_State *L) {
    return laoi_object(L, POST_NAME);
}

static int post_new(lua_State *L) {
    uint32_t window = laoi_u32(L, 1), most = laoi_u32(L, 2);
    if (window < 1) return laoi_argerror(L, 1, "a window of 1 or more expected");
    post *p = laoi_new_object(L, sizeof *p);
    p->memory = laoi_memory(L);
    p->free_subscriber = p->free_link = p->free_record = p->sending = AOI_NONE;
    p->window = window;
    p->max_message = most;
    return 1;
}

static int post_gc(lua_State *L) {
    post *p = laoi_post_self(L);
    aoi_memory m = p->memory;
    AOI_FREE(&m, p->subscribers, p->subscriber_cap);
    AOI_FREE(&m, p->links, p->link_cap);
    AOI_FREE(&m, p->records, p->record_cap);
    AOI_FREE(&m, p->events, p->event_cap);
    AOI_FREE(&m, p->places, p->place_cap);
    AOI_FREE(&m, p->crossings, p->crossing_cap);
    AOI_FREE(&m, p->touched, p->touched_cap);
    AOI_FREE(&m, p->stale, p->stale_cap);
    AOI_FREE(&m, p->closing, p->closing_cap);
    AOI_FREE(&m, p->bytes, p->byte_cap);
    aoi_hash_index_free(&m, &p->handles);
    aoi_hash_index_free(&m, &p->numbers);
    *p = (post){.memory = m, .window = 1, .free_subscriber = AOI_NONE, .free_link = AOI_NONE, .free_record = AOI_NONE};
    p->sending = AOI_NONE;
    return 0;
}

/* ---- subscribers -------------------------------------------------------------------------------------------------- */

/* Numbers of subscribers and links in Lua are slots + 1. */
static post_subscriber *post_subscriber_at(lua_State *L, const post *p, int i) {
    uint32_t s = laoi_u32(L, i) - 1;
    if (s >= p->subscriber_count || !p->subscribers[s].used) laoi_argerror(L, i, "no such subscriber");
    return p->subscribers + s;
}

/* subscribe(address [, seq]): returns the subscriber's number.  seq: the number of the last message sent to the
 * subscriber before, 0 by default. */
static int post_subscribe(lua_State *L) {
    post *p = laoi_post_self(L);
    int64_t address = laoi_integer(L, 2);
    uint32_t seq = lua_isnoneornil(L, 3) ? 0 : laoi_u32(L, 3);
    uint32_t s = p->free_subscriber;
    if (s == AOI_NONE) {
        s = p->subscriber_count;
        if (!AOI_GROW(&p->memory, p->subscribers, p->subscriber_cap, s + 1) ||
            !AOI_GROW(&p->memory, p->touched, p->touched_cap, s + 1))
            return laoi_nomemory(L);
        p->subscribers[s].touched = false;
        p->subscriber_count++;
    } else p->free_subscriber = p->subscribers[s].links;
    bool touched = p->subscribers[s].touched; /* set: the former subscriber of the slot is still on the list */
    p->subscribers[s] =
        (post_subscriber){.address = address, .seq = seq, .acked = seq, .used = true, .touched = touched};
    p->subscribers[s].links = p->subscribers[s].first_todo = AOI_NONE;
    return LAOI_INTEGERS(L, (int64_t)s + 1);
}

static int post_unsubscribe(lua_State *L) {
    post *p = laoi_post_self(L);
    post_subscriber *u = post_subscriber_at(L, p, 2);
    if (u->links != AOI_NONE) return laoi_argerror(L, 2, "it still has links");
    u->used = false;
    u->links = p->free_subscriber;
    p->free_subscriber = (uint32_t)(u - p->subscribers);
    return 0;
}

/* bar(subscriber, whether): `moves` refuses the subscriber's messages, or accepts them again. */
static int post_bar(lua_State *L) {
    post_subscriber_at(L, laoi_post_self(L), 2)->barred = lua_toboolean(L, 3);
    return 0;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

uint32_t laoi_record_of_handle(const post *p, int64_t handle) {
    if (handle <= 0 || handle > UINT32_MAX) return AOI_NONE;
    for (uint32_t at = AOI_SEEK, v;
         (v = aoi_hash_index_next(&p->handles, aoi_hash64((uint64_t)handle), &at)) != AOI_NONE;)
        if (p->records[v].handle == (uint32_t)handle) return v;
    return AOI_NONE;
}

void laoi_free_record(post *p, uint32_t r) {
    post_record *c = p->records + r;
    aoi_hash_index_remove(&p->handles, aoi_hash64(c->handle), r);
    if (c->places) p->place_records--;
    c->handle = 0;
    c->next = p->free_record;
    p->free_record = r;
}

static void unchain_record(post *p, uint32_t r) {
    post_record *c = p->records + r;
    post_link *k = p->links + c->link;
    if (c->previous != AOI_NONE) p->records[c->previous].next = c->next;
    else k->records = c->next;
    if (c->next != AOI_NONE) p->records[c->next].previous = c->previous;
    k->count--;
}

static void clear_chains(post_record *c) {
    c->chains[0] = c->chains[1] = (post_chain){AOI_NONE, AOI_NONE, 0};
    c->dirty = c->whole_due = false;
}

void laoi_mark_dirty(post *p, uint32_t r) {
    post_record *c = p->records + r;
    post_link *k = p->links + c->link;
    if (c->dirty) return;
    c->dirty = true;
    c->next_dirty = c->closing ? k->first_dirty : AOI_NONE;
    if (k->first_dirty != AOI_NONE && !c->closing) p->records[k->last_dirty].next_dirty = r;
    if (k->first_dirty == AOI_NONE || !c->closing) k->last_dirty = r;
    if (k->first_dirty == AOI_NONE || c->closing) k->first_dirty = r;
}

void laoi_take_dirty(post *p, post_link *k) {
    uint32_t r = k->first_dirty;
    k->first_dirty = p->records[r].next_dirty;
    clear_chains(p->records + r);
    if (p->records[r].closed) laoi_free_record(p, r);
}

/* add(link, watcher, node [, places [, wire]]): adds a record; returns its handle, which must be the node's id in the
 * space.  wire: the handle in messages, if the client has chosen one. */
static int post_add(lua_State *L) {
    post *p = laoi_post_self(L);
    uint32_t l = laoi_u32(L, 2) - 1, r = p->free_record, wire = lua_isnoneornil(L, 6) ? 0 : laoi_u32(L, 6);
    int64_t watcher = laoi_integer(L, 3), node = laoi_integer(L, 4);
    if (l >= p->link_count || !p->links[l].space) return laoi_argerror(L, 2, "no such link");
    post_link *k = p->links + l;
    if (!aoi_hash_index_reserve(&p->memory, &p->handles, (size_t)p->handles.count + 1) ||
        !AOI_GROW(&p->memory, p->records, p->record_cap, p->record_count + 1) ||
        !AOI_GROW(&p->memory, p->closing, p->closing_cap, p->record_count + 1))
        return laoi_nomemory(L);
    if (r == AOI_NONE) r = p->record_count++;
    else p->free_record = p->records[r].next;
    do p->handle++;
    while (p->handle == 0 || laoi_record_of_handle(p, p->handle) != AOI_NONE);
    post_record *c = p->records + r;
    *c = (post_record){.watcher = watcher, .node = node, .handle = p->handle, .link = l, .next = k->records};
    c->wire = wire ? wire : c->handle;
    c->places = lua_toboolean(L, 5);
    c->previous = AOI_NONE;
    clear_chains(c);
    if (c->places) p->place_records++;
    if (k->records != AOI_NONE) p->records[k->records].previous = r;
    k->records = r;
    k->count++;
    aoi_hash_index_add(&p->handles, aoi_hash64(p->handle), r);
    return LAOI_INTEGERS(L, p->handle);
}

/* remove(handle): the node has been removed; the next collect of its space takes its last events. */
static int post_remove(lua_State *L) {
    post *p = laoi_post_self(L);
    uint32_t r = laoi_record_of_handle(p, laoi_integer(L, 2));
    if (r == AOI_NONE || p->records[r].closing) return laoi_argerror(L, 2, "no such handle");
    unchain_record(p, r);
    p->records[r].closing = true;
    p->closing[p->closing_count++] = r;
    return 0;
}

/* drop(handle): removes a record without unsent changes, at once; later events of its node are not sent. */
static int post_drop(lua_State *L) {
    post *p = laoi_post_self(L);
    uint32_t r = laoi_record_of_handle(p, laoi_integer(L, 2));
    const post_record *c = r == AOI_NONE ? NULL : p->records + r;
    if (!c || c->dirty || c->closing) return laoi_argerror(L, 2, "no such handle");
    unchain_record(p, r);
    laoi_free_record(p, r);
    return 0;
}

/* ---- links -------------------------------------------------------------------------------------------------------- */

static void make_stale(post *p, post_link *k) {
    k->stale = true;
    while (k->first_dirty != AOI_NONE) laoi_take_dirty(p, k);
    if (k->in_stale) return;
    k->in_stale = true;
    p->stale[p->stale_count++] = (uint32_t)(k - p->links);
}

void laoi_queue_link(post *p, post_link *k) {
    post_subscriber *u = p->subscribers + k->subscriber;
    uint32_t l = (uint32_t)(k - p->links);
    if (k->queued) return;
    k->queued = true;
    k->next_todo = AOI_NONE;
    if (u->first_todo == AOI_NONE) u->first_todo = l;
    else p->links[u->last_todo].next_todo = l;
    u->last_todo = l;
    if (u->touched) return;
    u->touched = true;
    p->touched[p->touched_count++] = k->subscriber;
}

uint32_t laoi_link_of_number(const post *p, uint32_t number, int64_t address) {
    for (uint32_t at = AOI_SEEK, l; (l = aoi_hash_index_next(&p->numbers, aoi_hash64(number), &at)) != AOI_NONE;)
        if (p->links[l].number == number && p->subscribers[p->links[l].subscriber].address == address) return l;
    return AOI_NONE;
}

/* link(subscriber, space, number): subscribes to a space; number: of the link in messages.  Returns the link. */
static int post_add_link(lua_State *L) {
    post *p = laoi_post_self(L);
    laoi_space *b = laoi_space_argument(L, 3); /* first: may call a sink, which may use this object */
    post_subscriber *u = post_subscriber_at(L, p, 2);
    uint32_t number = laoi_u32(L, 4), l = p->free_link;
    if (!b->deferred) return laoi_argerror(L, 3, "a space with deferred delivery expected");
    if (l == AOI_NONE) l = p->link_count;
    laoi_gettable(L, 1);
    lua_pushvalue(L, 3);
    lua_rawseti(L, -2, (laoi_index)l + 1);
    if (!AOI_GROW(&p->memory, p->links, p->link_cap, p->link_count + 1) ||
        !AOI_GROW(&p->memory, p->stale, p->stale_cap, p->link_count + 1) ||
        !aoi_hash_index_reserve(&p->memory, &p->numbers, (size_t)p->numbers.count + 1))
        return laoi_nomemory(L);
    post_link *k = p->links + l;
    bool in_stale = l < p->link_count && k->in_stale;
    if (l == p->link_count) p->link_count++;
    else p->free_link = k->next;
    *k = (post_link){.space = b, .number = number, .subscriber = (uint32_t)(u - p->subscribers), .in_stale = in_stale};
    k->records = k->first_dirty = k->previous = AOI_NONE;
    k->next = u->links;
    if (u->links != AOI_NONE) p->links[u->links].previous = l;
    u->links = l;
    aoi_hash_index_add(&p->numbers, aoi_hash64(number), l);
    if (u->behind) make_stale(p, k);
    return LAOI_INTEGERS(L, (int64_t)l + 1);
}

static void unqueue_link(post *p, post_link *k) {
    post_subscriber *u = p->subscribers + k->subscriber;
    uint32_t l = (uint32_t)(k - p->links), before = AOI_NONE;
    if (!k->queued) return;
    k->queued = false;
    for (uint32_t i = u->first_todo; i != l; i = p->links[i].next_todo) before = i;
    if (before == AOI_NONE) u->first_todo = k->next_todo;
    else p->links[before].next_todo = k->next_todo;
    if (u->last_todo == l) u->last_todo = before;
}

/* unlink(link): removes a link and its records.  The caller removes the nodes; their remaining events are dropped. */
static int post_unlink(lua_State *L) {
    post *p = laoi_post_self(L);
    uint32_t l = laoi_u32(L, 2) - 1, kept = 0;
    if (l >= p->link_count || !p->links[l].space) return laoi_argerror(L, 2, "no such link");
    post_link *k = p->links + l;
    laoi_gettable(L, 1);
    lua_pushnil(L);
    lua_rawseti(L, -2, (laoi_index)l + 1);
    while (k->first_dirty != AOI_NONE) laoi_take_dirty(p, k);
    while (k->records != AOI_NONE) {
        uint32_t r = k->records;
        k->records = p->records[r].next;
        laoi_free_record(p, r);
    }
    for (uint32_t i = 0; i < p->closing_count; i++) {
        if (p->records[p->closing[i]].link == l) laoi_free_record(p, p->closing[i]);
        else p->closing[kept++] = p->closing[i];
    }
    p->closing_count = kept;
    unqueue_link(p, k);
    if (k->previous != AOI_NONE) p->links[k->previous].next = k->next;
    else p->subscribers[k->subscriber].links = k->next;
    if (k->next != AOI_NONE) p->links[k->next].previous = k->previous;
    aoi_hash_index_remove(&p->numbers, aoi_hash64(k->number), l);
    k->space = NULL;
    k->stale = false;
    k->next = p->free_link;
    p->free_link = l;
    return 0;
}

/* ---- acknowledgements --------------------------------------------------------------------------------------------- */

void laoi_make_all_stale(post *p, post_subscriber *u) {
    for (uint32_t l = u->links; l != AOI_NONE; l = p->links[l].next) make_stale(p, p->links + l);
}

/* ack(subscriber, seq, lost): a seq that was not sent, or is acknowledged already, is ignored; lost: resynchronises. */
static int post_ack(lua_State *L) {
    post *p = laoi_post_self(L);
    post_subscriber *u = post_subscriber_at(L, p, 2);
    uint32_t seq = laoi_u32(L, 3);
    if (u->seq - seq <= u->seq - u->acked) u->acked = seq;
    if (lua_toboolean(L, 4)) laoi_make_all_stale(p, u);
    return 0;
}

/* state(subscriber): the number of the last message, the count of unacknowledged messages, whether it is behind, the
 * count of messages of moves received from it. */
static int post_state(lua_State *L) {
    post *p = laoi_post_self(L);
    post_subscriber *u = post_subscriber_at(L, p, 2);
    laoi_pushinteger(L, u->seq);
    laoi_pushinteger(L, u->seq - u->acked);
    lua_pushboolean(L, u->behind);
    laoi_pushinteger(L, u->batches);
    return 4;
}

static int post_counters(lua_State *L) {
    post *p = laoi_post_self(L);
    return LAOI_INTEGERS(L, p->overruns, p->resyncs, (int64_t)p->handles.count, (int64_t)p->memory.used,
                         (int64_t)p->batches, (int64_t)p->moves);
}

/* ---- the module ---------------------------------------------------------------------------------------------------- */

static const luaL_Reg post_methods[] = {
    {"subscribe", post_subscribe},
    {"unsubscribe", post_unsubscribe},
    {"bar", post_bar},
    {"link", post_add_link},
    {"unlink", post_unlink},
    {"add", post_add},
    {"remove", post_remove},
    {"drop", post_drop},
    {"collect", laoi_post_collect},
    {"send", laoi_post_send},
    {"moves", laoi_post_moves},
    {"ack", post_ack},
    {"state", post_state},
    {"counters", post_counters},
    {NULL, NULL},
};

void laoi_open_post(lua_State *L) {
    laoi_set_type(L, POST_NAME, "post", post_new, post_methods, post_gc);
}
