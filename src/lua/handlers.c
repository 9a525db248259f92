/* handlers.c - which functions a node calls.
 *
 *   node -> user data: two refs      ref -> space's table [ref] = function or table of handlers
 *                                    [function] = ref, and `uses` counts the nodes that have it
 *
 * Thousands of nodes usually share a few functions: each stands in the table once, where it stays in the cache, and a
 * node costs 8 bytes.  A function whose last node is gone is forgotten.
 *
 * Memory.  Places are made first, which may raise; filling a place that is there cannot.  A function that got its places
 * when something later failed is remembered as `orphan` and forgotten by the next call. */
#include "lua/binding.h"

static void *resize_slots(laoi_space *b, void *p, size_t osize, size_t nsize) {
    return b->alloc(b->ud, p, osize, nsize);
}

static bool grow(laoi_space *b, void **items, uint32_t *cap, uint32_t need, size_t size) {
    if (need < *cap) return true;
    uint32_t to = need + need / 2 + 8;
    void *p = resize_slots(b, *items, *cap * size, to * size);
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
    uint64_t refs;
    while (b->core && aoi_next_freed(b->core, &refs)) {
        let_go(L, b, t, (uint32_t)(refs >> 32));
        let_go(L, b, t, (uint32_t)refs);
    }
}

uint64_t laoi_prepare_handlers(lua_State *L, laoi_space *b, int t, int on_enter, int on_leave) {
    forget_orphans(L, b, t);
    b->orphan[0] = intern(L, b, t, on_enter);
    b->orphan[1] = intern(L, b, t, on_leave);
    return (uint64_t)b->orphan[0] << 32 | b->orphan[1];
}

void laoi_settle_handlers(lua_State *L, laoi_space *b, int t, bool added) {
    for (int i = 0; i < 2 && added; i++)
        if (b->orphan[i]) b->uses[b->orphan[i]].count++;
    forget_orphans(L, b, t);
}

void laoi_free_handlers(laoi_space *b) {
    if (b->uses) resize_slots(b, b->uses, b->use_cap * sizeof *b->uses, 0);
    b->uses = NULL;
    b->use_cap = 0;
}
