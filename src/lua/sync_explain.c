/* sync_explain.c - `sync:explain`: why a client knows a target or not, as a table with a sentence for __tostring. */
#include "lua/sync_binding.h"

static int stored_text(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "text");
    return 1;
}

/* Sets field `lacks` of the table on top to a list of the names of fields; pushes a text: "; it lacks hp, name". */
static void put_lacks(lua_State *L, const laoi_sync *y, uint64_t mask) {
    const int table = lua_gettop(L);
    int n = 0;
    lua_newtable(L);
    lua_pushliteral(L, "");
    for (uint32_t f = 0; mask; f++, mask >>= 1) {
        uint32_t size;
        if (!(mask & 1)) continue;
        lua_pushstring(L, n ? ", " : "; it lacks ");
        const char *name = y->core ? aoi_field_name(y->core, f, &size) : NULL; /* a finalizer may have closed it */
        lua_pushlstring(L, name ? name : "", name ? size : 0);
        lua_pushvalue(L, -1);
        lua_rawseti(L, table + 1, ++n);
        lua_concat(L, 3);
    }
    lua_insert(L, table + 1);
    lua_setfield(L, table, "lacks");
}

/* Sets field `views` of the table on top to a list of the explanations of the client's views; pushes their text. */
static void put_views(lua_State *L, const laoi_sync *y, int64_t client, int64_t target) {
    const int table = lua_gettop(L);
    lua_newtable(L);
    lua_pushliteral(L, "");
    for (uint32_t k = 0, n = 0; y->core && y->space->core && k < AOI_MOST_VIEWS; k++) {
        aoi_sight_explanation e = {0};
        int64_t ids[3] = {client, 0, target};
        aoi_node node = aoi_sync_view(y->core, aoi_find(y->space->core, client), k);
        if (!aoi_node_id(y->space->core, node, ids + 1)) continue;
        if (aoi_sync_sight(y->core)) aoi_sight_explain(aoi_sync_sight(y->core), client, ids[1], target, &e);
        else aoi_explain(y->space->core, client, ids[1], target, &e.e);
        lua_pushliteral(L, " ");
        laoi_push_sight_explanation(L, y->space, &e, ids);
        lua_pushvalue(L, -1);
        lua_rawseti(L, table + 1, (int)++n);
        (void)luaL_callmeta(L, -1, "__tostring");
        lua_remove(L, -2);
        lua_concat(L, 3);
    }
    lua_insert(L, table + 1);
    lua_setfield(L, table, "views");
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
    lua_pushvalue(L, 4);
    if (e.why == AOI_SYNC_WHY_UNSEEN || e.why == AOI_SYNC_WHY_GOES) put_views(L, y, client, target);
    else lua_pushliteral(L, "");
    const char *from = laoi_spell(L, client), *to = laoi_spell(L, target);
    lua_pushfstring(L, "Client %s %s entity %s: %s%s%s%s.%s", from, e.knows ? "knows" : "does not know", to,
                    aoi_sync_why_text(e.why), e.pinned ? ", pinned" : "", lua_tostring(L, 5),
                    e.moved ? "; where it is waits" : "", lua_tostring(L, 7));
    lua_setfield(L, 4, "text");
    lua_settop(L, 4);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, stored_text);
    lua_setfield(L, -2, "__tostring");
    lua_setmetatable(L, 4);
    return 1;
}
