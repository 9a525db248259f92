/* sync_explain.c - `sync:explain`: why a client knows a target or not, as a table; lua/aoi/explanation.lua makes a sentence of it. */
#include "lua/sync_binding.h"

/* Sets field `lacks` of the table on top to a list of the names of fields. */
static void put_lacks(lua_State *L, const laoi_sync *y, uint64_t mask) {
    int n = 0;
    lua_newtable(L);
    for (uint32_t f = 0; mask; f++, mask >>= 1) {
        uint32_t size = 0;
        const char *name = mask & 1 && y->core ? aoi_field_name(y->core, f, &size) : NULL; /* or it has been closed */
        if (!name) continue;
        lua_pushlstring(L, name, size);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "lacks");
}

/* Sets field `views` of the table on top to a list of the explanations of the client's views. */
static void put_views(lua_State *L, const laoi_sync *y, int64_t client, int64_t target) {
    lua_newtable(L);
    for (uint32_t k = 0, n = 0; y->core && y->space->core && k < AOI_MOST_VIEWS; k++) {
        aoi_sight_explanation e = {0};
        int64_t ids[3] = {client, 0, target};
        aoi_node node = aoi_sync_view(y->core, aoi_find(y->space->core, client), k);
        if (!aoi_node_id(y->space->core, node, ids + 1)) continue;
        if (aoi_sync_sight(y->core)) aoi_sight_explain(aoi_sync_sight(y->core), client, ids[1], target, &e);
        else aoi_explain(y->space->core, client, ids[1], target, &e.e);
        laoi_push_sight_explanation(L, y->space, &e, ids);
        lua_rawseti(L, -2, (int)++n);
    }
    lua_setfield(L, -2, "views");
}

int laoi_sync_explain(lua_State *L) {
    laoi_sync *y = laoi_sync_self(L, 3);
    const int64_t client = laoi_integer(L, 2), target = laoi_integer(L, 3);
    aoi_sync_explanation e;
    aoi_sync_explain(y->core, aoi_find(y->space->core, client), aoi_find(y->space->core, target), &e);
    lua_settop(L, 3);
    lua_createtable(L, 0, 12);
    laoi_set_integer(L, "client", client);
    laoi_set_integer(L, "target", target);
    laoi_set_flag(L, "knows", e.knows);
    laoi_set_string(L, "why", aoi_sync_why_text(e.why));
    laoi_set_flag(L, "seen", e.seen);
    laoi_set_flag(L, "pinned", e.pinned);
    laoi_set_flag(L, "moved", e.moved);
    laoi_set_integer(L, "waits", e.waits);
    laoi_set_integer(L, "known", e.known);
    if (e.relevance.limit) laoi_set_integer(L, "limit", e.relevance.limit);
    put_lacks(L, y, e.lacks);
    if (e.why == AOI_SYNC_WHY_UNSEEN || e.why == AOI_SYNC_WHY_GOES) put_views(L, y, client, target);
    laoi_give_text(L);
    return 1;
}
