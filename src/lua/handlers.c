/* handlers.c - which functions a node calls.
 *
 *   node slot -> refs { enter, leave }      ref -> space's table [ref] = function or table of handlers
 *                                           [function] = ref, and `uses` counts the nodes that have it
 *
 * Thousands of nodes usually share a few functions: each stands in the table once, where it stays in the cache, and a
 * node costs 8 bytes.  A function whose last node is gone is forgotten.
 *
 * Memory.  Places are made first, which may raise; filling a place that is there cannot.  A function that got its places
 * when something later failed is remembered as `orphan` and forgotten by the next call. */
#include "lua/binding.h"

static void *resize(laoi_space *b, void *p, size_t osize, size_t nsize) {
    return b->alloc(b->ud, p, osize, nsize);
}

static bool grow(laoi_space *b, void **items, uint32_t *cap, uint32_t need, size_t size) {
    if (need < *cap) return true;
    uint32_t to = need + need / 2 + 8;
    void *p = resize(b, *items, *cap * size, to * size);
    if (!p) return false;
    *items = p;
    *cap = to;
    return true;
}

/* Out of the table at index t; needs no memory. */
static void forget(lua_State *L, laoi_space *b, int t, uint32_t ref) {
    lua_rawgeti(L, t, (laoi_index)ref);
    lua_pushnil(L);
    lua_rawset(L, t); /* the key is the function itself */
    lua_pushnil(L);
    lua_rawseti(L, t, (laoi_index)ref);
    b->uses[ref].next = b->unused_ref;
    b->unused_ref = ref;
}

static void let_go(lua_State *L, laoi_space *b, int t, uint32_t ref) {
    if (ref && --b->uses[ref].count == 0) forget(L, b, t, ref);
}

/* The number of the function at index i, 0 for nil; a new one has no uses yet. */
static uint32_t intern(lua_State *L, laoi_space *b, int t, int i) {
    if (lua_isnil(L, i)) return 0;
    lua_pushvalue(L, i);
    lua_rawget(L, t);
    uint32_t ref = (uint32_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (ref) return ref;
    ref = b->unused_ref ? b->unused_ref : b->ref_top + 1;
    if (!grow(b, (void **)&b->uses, &b->use_cap, ref, sizeof *b->uses)) laoi_nomemory(L);
    lua_pushboolean(L, 0);
    lua_rawseti(L, t, (laoi_index)ref);
    lua_pushvalue(L, i);
    lua_pushboolean(L, 0);
    lua_rawset(L, t);
    if (ref == b->unused_ref) b->unused_ref = b->uses[ref].next; /* from here on nothing fails */
    else b->ref_top = ref;
    lua_pushvalue(L, i);
    lua_rawseti(L, t, (laoi_index)ref);
    lua_pushvalue(L, i);
    lua_pushinteger(L, (lua_Integer)ref);
    lua_rawset(L, t);
    b->uses[ref].count = 0;
    return ref;
}

static void forget_orphans(lua_State *L, laoi_space *b, int t) {
    for (int i = 0; i < 2; i++) {
        uint32_t ref = b->orphan[i];
        b->orphan[i] = 0;
        if (ref && b->uses[ref].count == 0) forget(L, b, t, ref);
        if (b->orphan[1] == ref) b->orphan[1] = 0; /* one function for both */
    }
}

void laoi_forget_freed(lua_State *L, laoi_space *b, int t) {
    uint32_t slot;
    while (b->core && aoi_next_freed(b->core, &slot)) {
        if (slot >= b->ref_cap) continue;
        let_go(L, b, t, b->refs[slot].enter);
        let_go(L, b, t, b->refs[slot].leave);
        b->refs[slot].enter = b->refs[slot].leave = 0;
    }
}

void laoi_prepare_handlers(lua_State *L, laoi_space *b, int t, uint32_t slot, int on_enter, int on_leave) {
    forget_orphans(L, b, t);
    uint32_t old = b->ref_cap;
    if (!grow(b, (void **)&b->refs, &b->ref_cap, slot, sizeof *b->refs)) laoi_nomemory(L);
    for (; old < b->ref_cap; old++) b->refs[old].enter = b->refs[old].leave = 0;
    b->orphan[0] = intern(L, b, t, on_enter);
    b->orphan[1] = intern(L, b, t, on_leave);
}

void laoi_settle_handlers(lua_State *L, laoi_space *b, int t, uint32_t slot, bool added) {
    if (added) {
        b->refs[slot].enter = b->orphan[0];
        b->refs[slot].leave = b->orphan[1];
        if (b->orphan[0]) b->uses[b->orphan[0]].count++;
        if (b->orphan[1]) b->uses[b->orphan[1]].count++;
    }
    forget_orphans(L, b, t);
}

enum { HALF = 16, MOST = (1 << HALF) - 1 };

uint32_t laoi_handlers_tag(const laoi_space *b) {
    uint32_t enter = b->orphan[0], leave = b->orphan[1];
    return enter < MOST && leave < MOST ? enter << HALF | leave : UINT32_MAX;
}

uint32_t laoi_handler(const laoi_space *b, const aoi_event *ev) {
    if (ev->tag != UINT32_MAX) return ev->kind == AOI_ENTER ? ev->tag >> HALF : ev->tag & MOST;
    if (ev->slot >= b->ref_cap) return 0;
    return ev->kind == AOI_ENTER ? b->refs[ev->slot].enter : b->refs[ev->slot].leave;
}

void laoi_free_handlers(laoi_space *b) {
    if (b->refs) resize(b, b->refs, b->ref_cap * sizeof *b->refs, 0);
    if (b->uses) resize(b, b->uses, b->use_cap * sizeof *b->uses, 0);
    b->refs = NULL;
    b->uses = NULL;
    b->ref_cap = b->use_cap = 0;
}
