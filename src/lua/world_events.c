/* world_events.c - the events of an epoch, as one message for each client.
 *
 *   nodes[number]     a life of a node in this shard, its client, and the events that are collected for it
 *   clients[i]        a chain of nodes with news, and records that are no groups
 *
 *   message   u8 version (1), u8 kind (4), u8 bytes of an id (4 or 8), u8 0, u32 epoch, then records:
 *   group     u8 flags (1 the node is closed, 2 whole: the enters are all that it sees, 4 long), u32 handle, u32 seq,
 *             u8 leaves, u8 enters (long: u32 each), the ids of those that leave, of those that enter
 *   route     u8 16, id, u16 shard       that entity is owned by that shard from this epoch on
 *   refused   u8 17, id                  a move of it was refused
 *
 * `seq` counts the groups of a node, whichever shard writes them: it travels with the node.  A client that gets one too
 * early keeps it until those before it have come; a whole view takes the place of all before it. */
#include "lua/world.h"

enum { GROUP_CLOSED = 1, GROUP_WHOLE = 2, GROUP_LONG = 4, ROUTE = 16, REFUSED = 17, MESSAGE_HEAD = 8 };
#define UNUSED UINT32_MAX /* client of an unused node, number of an unused client */

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static uint32_t find_client(world_router *r, uint32_t number) {
    uint32_t at = AOI_SEEK, c, hash = aoi_hash64(number);
    while ((c = aoi_index_next(&r->by_number, hash, &at)) != AOI_NONE)
        if (r->clients[c].number == number) break;
    return c;
}

/* The index of that client, new or not; AOI_NONE when memory is refused. */
static uint32_t need_client(world_router *r, uint32_t number) {
    uint32_t c = find_client(r, number);
    if (c != AOI_NONE) return c;
    if (!aoi_index_reserve(&r->memory, &r->by_number, r->by_number.count + (size_t)1)) return AOI_NONE;
    if (r->unused_client != AOI_NONE) {
        c = r->unused_client;
        r->unused_client = r->clients[c].first;
    } else {
        if (!AOI_GROW(&r->memory, r->clients, r->client_cap, r->client_count + (size_t)1)) return AOI_NONE;
        c = r->client_count++;
        r->clients[c].notes = (world_bytes){0};
    }
    world_bytes notes = r->clients[c].notes;
    r->clients[c] = (world_client){.number = number, .first = AOI_NONE, .notes = notes};
    aoi_index_add(&r->by_number, aoi_hash64(number), c);
    return c;
}

static void free_client(world_router *r, uint32_t c) {
    aoi_index_remove(&r->by_number, aoi_hash64(r->clients[c].number), c);
    r->clients[c].number = UNUSED;
    r->clients[c].first = r->unused_client;
    r->unused_client = c;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static world_node *node_arg(lua_State *L, world_router *r) {
    int64_t n = laoi_integer(L, 2);
    if (n < 1 || n > (int64_t)r->node_count || r->nodes[n - 1].client == UNUSED)
        laoi_argerror(L, 2, "no node %s", laoi_spell(L, n));
    return r->nodes + n - 1;
}

/* open(watcher, client, handle, seq): a number for a node, by which the core will know it. */
static int r_open(lua_State *L) {
    world_router *r = world_self(L);
    int64_t watcher = laoi_integer(L, 2);
    uint32_t c = need_client(r, (uint32_t)laoi_integer(L, 3)), n = r->unused_node;
    uint32_t handle = (uint32_t)laoi_integer(L, 4), seq = (uint32_t)laoi_integer(L, 5);
    if (c == AOI_NONE) return laoi_nomemory(L);
    if (n != AOI_NONE) {
        r->unused_node = r->nodes[n].next;
    } else {
        if (!AOI_GROW(&r->memory, r->nodes, r->node_cap, r->node_count + (size_t)1) ||
            !AOI_GROW(&r->memory, r->dirty, r->dirty_cap, r->node_count + (size_t)1))
            return laoi_nomemory(L);
        n = r->node_count++;
    }
    r->nodes[n] = (world_node){.handle = handle, .seq = seq, .client = c, .next = AOI_NONE, .watcher = watcher};
    r->clients[c].nodes++;
    laoi_pushinteger(L, (int64_t)n + 1);
    return 1;
}

static void mark_dirty(world_router *r, world_node *node) {
    if (node->dirty) return;
    node->dirty = true;
    r->dirty[r->dirty_count++] = (uint32_t)(node - r->nodes); /* there is room for all of them */
}

/* shut(node): it has been removed; its client is told so with its last events. */
static int r_shut(lua_State *L) {
    world_router *r = world_self(L);
    world_node *node = node_arg(L, r);
    node->closed = true;
    mark_dirty(r, node);
    return 0;
}

/* give(node): what the core says of it from now on is not told; its number is free after the next drain.  Returns its
 * client, handle and seq. */
static int r_give(lua_State *L) {
    world_router *r = world_self(L);
    world_node *node = node_arg(L, r);
    node->given = true;
    mark_dirty(r, node);
    laoi_pushinteger(L, r->clients[node->client].number);
    laoi_pushinteger(L, node->handle);
    laoi_pushinteger(L, node->seq);
    return 3;
}

/* whole(client): the next drain tells everything that its nodes see. */
static int r_whole(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t c = find_client(r, (uint32_t)laoi_integer(L, 2));
    for (uint32_t n = 0; c != AOI_NONE && n < r->node_count; n++) {
        if (r->nodes[n].client != c) continue;
        r->nodes[n].whole = true;
        mark_dirty(r, r->nodes + n);
    }
    return 0;
}

/* The id need not be in the core: it is of no part, so that the width may grow between two epochs. */
static unsigned char *note_for(lua_State *L, world_router *r, int64_t id, size_t size) {
    uint32_t c = need_client(r, (uint32_t)laoi_integer(L, 2));
    unsigned char *at = c == AOI_NONE ? NULL : world_append(&r->memory, &r->clients[c].notes, size);
    if (!at) laoi_nomemory(L);
    if (world_is_wide(id)) r->width = 8;
    return at;
}

/* route(client, id, shard): told with the next drain. */
static int r_route(lua_State *L) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 3), shard = laoi_integer(L, 4);
    unsigned char *at = note_for(L, r, id, 11);
    at[0] = ROUTE;
    aoi_put_bytes(at + 1, (uint64_t)id, 8);
    aoi_put_bytes(at + 9, (uint64_t)shard, 2);
    return 0;
}

/* refuse(client, id) */
static int r_refuse(lua_State *L) {
    world_router *r = world_self(L);
    int64_t id = laoi_integer(L, 3);
    unsigned char *at = note_for(L, r, id, 9);
    at[0] = REFUSED;
    aoi_put_bytes(at + 1, (uint64_t)id, 8);
    return 0;
}

/* ---- an epoch ---------------------------------------------------------------------------------------------------- */

/* All events of the core into r->events; their number, or SIZE_MAX when memory is refused. */
static size_t take_events(world_router *r) {
    aoi_space *core = r->space->core;
    if (aoi_flush(core) != AOI_OK) return SIZE_MAX;
    size_t n = aoi_pending(core);
    if (!AOI_GROW(&r->memory, r->events, r->event_cap, n)) return SIZE_MAX;
    return aoi_drain(core, r->events, n);
}

static bool is_counted(const world_node *node) {
    return !node->given && !node->whole;
}

static world_node *node_of(const world_router *r, const aoi_event *e) {
    return r->nodes + e->node_id - 1;
}

/* Sorts the targets by node, leaves first, into r->ids; returns how many events are told. */
static size_t sort_events(world_router *r, size_t n) {
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        world_node *node = node_of(r, r->events + i);
        if (!is_counted(node)) continue;
        mark_dirty(r, node);
        if (r->events[i].kind == AOI_LEAVE) node->leaves++;
        else node->enters++;
    }
    for (uint32_t k = 0; k < r->dirty_count; k++) {
        world_node *node = r->nodes + r->dirty[k];
        node->at = at;
        at += node->leaves + node->enters;
        node->enters = node->leaves; /* where the next enter goes */
        node->leaves = 0;
    }
    for (size_t i = 0; i < n; i++) {
        world_node *node = node_of(r, r->events + i);
        if (!is_counted(node)) continue;
        uint32_t *next = r->events[i].kind == AOI_LEAVE ? &node->leaves : &node->enters;
        r->ids[node->at + (*next)++] = r->events[i].target;
    }
    for (uint32_t k = 0; k < r->dirty_count; k++) r->nodes[r->dirty[k]].enters -= r->nodes[r->dirty[k]].leaves;
    return at;
}

static bool write_group(world_router *r, world_bytes *b, world_node *node, const int64_t *ids, uint32_t leaves,
                        uint32_t enters) {
    bool is_long = leaves > 255 || enters > 255;
    int count = is_long ? 4 : 1;
    unsigned char *at = world_append(&r->memory, b, 9 + 2 * (size_t)count + (size_t)r->width * (leaves + enters));
    if (!at) return false;
    at[0] = (unsigned char)((node->closed ? GROUP_CLOSED : 0) | (node->whole ? GROUP_WHOLE : 0) |
                            (is_long ? GROUP_LONG : 0));
    aoi_put_bytes(at + 1, node->handle, 4);
    aoi_put_bytes(at + 5, ++node->seq, 4);
    aoi_put_bytes(at + 9, leaves, count);
    aoi_put_bytes(at + 9 + count, enters, count);
    at += 9 + 2 * count;
    for (uint32_t i = 0; i < leaves + enters; i++) at = world_put_id(at, ids[i], (int)r->width);
    return true;
}

static bool write_node(world_router *r, world_bytes *b, world_node *node) {
    const int64_t *ids = NULL;
    size_t n = 0;
    if (!node->whole) { /* before the first event there is no list, and nothing to add to */
        if (node->leaves + node->enters) ids = r->ids + node->at;
        return write_group(r, b, node, ids, node->leaves, node->enters);
    }
    aoi_space *core = r->space->core;
    aoi_node in_core = aoi_find_node(core, aoi_find(core, node->watcher), node - r->nodes + 1);
    if (!node->closed && !AOI_IS_NULL(in_core) && aoi_view(core, in_core, &ids, &n) != AOI_OK) return false;
    return write_group(r, b, node, ids, 0, (uint32_t)n);
}

static bool write_notes(world_router *r, world_bytes *b, world_bytes *notes) {
    for (uint32_t i = 0; i < notes->size;) {
        const unsigned char *note = notes->at + i;
        size_t more = note[0] == ROUTE ? 2 : 0;
        unsigned char *at = world_append(&r->memory, b, 1 + r->width + more);
        if (!at) return false;
        at[0] = note[0];
        world_put_id(at + 1, (int64_t)aoi_peek_bytes(note + 1, 8), (int)r->width);
        memcpy(at + 1 + r->width, note + 9, more);
        i += (uint32_t)(9 + more);
    }
    return true;
}

/* The message of client c into b. */
static bool write_client(world_router *r, world_client *c, uint32_t epoch, world_bytes *b) {
    b->size = 0;
    unsigned char *head = world_append(&r->memory, b, MESSAGE_HEAD);
    if (!head) return false;
    aoi_put_bytes(head, 1 | 4 << 8 | (uint64_t)r->width << 16, 4);
    aoi_put_bytes(head + 4, epoch, 4);
    if (!write_notes(r, b, &c->notes)) return false;
    for (uint32_t n = c->first; n != AOI_NONE; n = r->nodes[n].next)
        if (!write_node(r, b, r->nodes + n)) return false;
    return true;
}

/* What is no longer dirty; numbers of nodes that are gone are free. */
static void clean_nodes(world_router *r) {
    for (uint32_t k = 0; k < r->dirty_count; k++) {
        world_node *node = r->nodes + r->dirty[k];
        node->dirty = node->whole = false;
        node->leaves = node->enters = 0;
        if (!node->given && !node->closed) continue;
        r->clients[node->client].nodes--;
        node->client = UNUSED;
        node->next = r->unused_node;
        r->unused_node = r->dirty[k];
    }
    r->dirty_count = 0;
}

/* drain(epoch): the events since the last one: a table, by client, of messages; the number of events in them. */
static int r_drain(lua_State *L) {
    world_router *r = world_self(L);
    uint32_t epoch = (uint32_t)laoi_integer(L, 2);
    size_t n = take_events(r);
    if (n == SIZE_MAX || !AOI_GROW(&r->memory, r->ids, r->id_cap, n)) return laoi_nomemory(L);
    size_t told = sort_events(r, n);
    for (uint32_t k = r->dirty_count; k-- > 0;) {
        world_node *node = r->nodes + r->dirty[k];
        if (node->given) continue;
        node->next = r->clients[node->client].first;
        r->clients[node->client].first = r->dirty[k];
    }
    lua_settop(L, 1);
    lua_newtable(L);
    world_bytes b = r->out[0]; /* no part has the tag 0: a buffer to write messages in */
    for (uint32_t c = 0; c < r->client_count; c++) {
        world_client *client = r->clients + c;
        if (client->number == UNUSED || (client->first == AOI_NONE && !client->notes.size)) continue;
        bool written = write_client(r, client, epoch, &b);
        r->out[0] = b;
        if (!written) return laoi_nomemory(L);
        lua_pushlstring(L, (const char *)b.at, b.size);
        lua_rawseti(L, 2, (int)client->number);
        client->first = AOI_NONE;
        client->notes.size = 0;
    }
    r->out[0].size = 0;
    clean_nodes(r);
    for (uint32_t c = 0; c < r->client_count; c++)
        if (r->clients[c].number != UNUSED && !r->clients[c].nodes && !r->clients[c].notes.size) free_client(r, c);
    laoi_pushinteger(L, (int64_t)told);
    return 2;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void world_open_node_events(world_router *r) {
    r->unused_node = r->unused_client = AOI_NONE;
}

void world_free_events(world_router *r) {
    aoi_memory *m = &r->memory;
    for (uint32_t c = 0; c < r->client_count; c++) AOI_FREE(m, r->clients[c].notes.at, r->clients[c].notes.cap);
    AOI_FREE(m, r->clients, r->client_cap);
    AOI_FREE(m, r->nodes, r->node_cap);
    AOI_FREE(m, r->events, r->event_cap);
    AOI_FREE(m, r->dirty, r->dirty_cap);
    AOI_FREE(m, r->ids, r->id_cap);
    aoi_index_free(m, &r->by_number);
}

const luaL_Reg world_event_methods[] = {
    {"open", r_open},   {"shut", r_shut},     {"give", r_give},   {"whole", r_whole},
    {"route", r_route}, {"refuse", r_refuse}, {"drain", r_drain}, {NULL, NULL},
};
