/* sync_read.c - `aoi.sync.read`: reads a message into Lua tables. */
#include "lua/sync_binding.h"

#include <string.h>

enum {
    GONE = 3,
    APPEARED,
    MOVED,
    TOUCHED,
    RIDING,
    FIELDS,
    PARTS,
    GONE_REASONS,
    LISTS = 6
}; /* on the stack: lists, incomplete texts */
static const char *const list_names[LISTS] = {"gone", "appeared", "moved", "touched", "riding", "fields"};

static int refuse_message(lua_State *L, const char *fault) {
    lua_pushnil(L);
    lua_pushfstring(L, "no message of aoi.sync: %s", fault);
    return 2;
}

/* Checks the whole message, before any table changes.  Returns NULL or the fault. */
static const char *message_fault(const char *bytes, size_t size) {
    aoi_reader r;
    aoi_news news;
    const char *fault = aoi_read_begin(&r, bytes, size);
    while (!fault && aoi_read_next(&r, &news)) {
#if LUA_VERSION_NUM < 503
        const int64_t most = INT64_C(9007199254740992);
        if (news.id > most || news.id < -most || news.carrier > most || news.carrier < -most)
            fault = "an id is beyond 2^53, and this Lua has no integers";
#endif
    }
    return fault ? fault : r.fault;
}

/* Pushes that list of the table at `of`, a new one if there is none. */
static void push_list(lua_State *L, int of, const char *name) {
    if (laoi_rawfield(L, of, name) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushstring(L, name);
    lua_pushvalue(L, -2);
    lua_rawset(L, of);
}

/* Drops parts[id]: parts[id][name] is the received part of a text that is sent in several messages. */
static void forget_parts(lua_State *L, int64_t id) {
    if (lua_isnil(L, PARTS)) return;
    laoi_pushinteger(L, id);
    lua_pushnil(L);
    lua_rawset(L, PARTS);
}

/* Pushes parts[id]; makes it if it does not exist. */
static void push_parts(lua_State *L, int64_t id) {
    if (lua_isnil(L, PARTS)) {
        lua_newtable(L);
        lua_replace(L, PARTS);
        lua_pushliteral(L, "parts");
        lua_pushvalue(L, PARTS);
        lua_rawset(L, 2);
    }
    laoi_pushinteger(L, id);
    lua_rawget(L, PARTS);
    if (lua_istable(L, -1)) return;
    lua_pop(L, 1);
    lua_newtable(L);
    laoi_pushinteger(L, id);
    lua_pushvalue(L, -2);
    lua_rawset(L, PARTS);
}

/* Adds a part to a text; pushes the text if it is complete, else keeps it in parts[id].  Ignores a part that does not
 * continue the kept text: its beginning was not read. */
static bool push_text(lua_State *L, const aoi_news_value *v, int64_t id) {
    push_parts(L, id);
    lua_pushlstring(L, v->name, v->name_size);
    lua_rawget(L, -2);
    size_t held = lua_type(L, -1) == LUA_TSTRING ? lua_rawlen(L, -1) : 0;
    const bool follows = !v->offset || held == v->offset;
    const bool complete = follows && v->offset + v->value.size == v->total;
    if (!v->offset || !follows) {
        lua_pop(L, 1);
        lua_pushliteral(L, "");
    }
    lua_pushlstring(L, v->value.bytes, v->value.size);
    lua_concat(L, 2);
    lua_pushlstring(L, v->name, v->name_size);
    if (complete || !follows) lua_pushnil(L);
    else lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    lua_remove(L, -2);
    if (!complete) lua_pop(L, 1);
    return complete;
}

/* Pushes a table of the values of a record; false, and no table, if no value is complete. */
static bool push_values(lua_State *L, aoi_reader *r, int64_t id) {
    aoi_news_value v;
    bool any = false;
    lua_newtable(L);
    while (aoi_read_value(r, &v)) {
        if (v.type >= AOI_STRING && v.value.size < v.total) {
            if (!push_text(L, &v, id)) continue;
        } else laoi_push_value(L, v.type, &v.value);
        lua_pushlstring(L, v.name, v.name_size);
        lua_insert(L, -2);
        lua_rawset(L, -3);
        any = true;
    }
    if (!any) lua_pop(L, 1);
    return any;
}

/* By list: the records that it has rows of, and the contents of a row besides the id; kind: or the carrier. */
static const struct {
    int what;
    bool kind, place;
} columns[FIELDS - GONE] = {{AOI_GONE, false, false},
                            {AOI_APPEARED, true, true},
                            {AOI_MOVED, false, true},
                            {AOI_TOUCHED, true, false},
                            {AOI_RIDING, true, true}};

/* Writes the records to the lists; at, rows: the numbers of values and rows in each list. */
static void fill_lists(lua_State *L, aoi_reader *r, laoi_index *at, laoi_index *rows) {
    static const double none[3];
    aoi_news news;
    while (aoi_read_next(r, &news)) {
        if (news.what & (AOI_GONE | AOI_APPEARED)) forget_parts(L, news.id);
        if (news.what & AOI_STATE && push_values(L, r, news.id)) {
            laoi_set_item(L, FIELDS, ++at[LISTS - 1], news.id);
            lua_rawseti(L, FIELDS, ++at[LISTS - 1]);
            rows[LISTS - 1]++;
        }
        for (int k = 0; k < FIELDS - GONE; k++) {
            if (!(news.what & columns[k].what)) continue;
            laoi_set_item(L, GONE + k, ++at[k], news.id);
            if (GONE + k == GONE) laoi_set_item(L, GONE_REASONS, at[k], news.reason);
            const bool rides = GONE + k == RIDING;
            if (columns[k].kind) laoi_set_item(L, GONE + k, ++at[k], rides ? news.carrier : (int64_t)news.kind);
            rows[k]++;
            if (!columns[k].place) continue;
            laoi_set_numbers(L, GONE + k, at[k] + 1, rides && !news.carrier ? none : news.pos, r->dimensions);
            at[k] += r->dimensions;
        }
    }
}

int laoi_sync_read(lua_State *L) {
    size_t size;
    laoi_index at[LISTS] = {0}, rows[LISTS] = {0};
    aoi_reader r;
    if (lua_type(L, 1) != LUA_TSTRING) laoi_typeerror(L, 1, "string");
    if (!lua_isnoneornil(L, 2) && !lua_istable(L, 2)) laoi_typeerror(L, 2, "table");
    laoi_no_more(L, 3);
    const char *bytes = lua_tolstring(L, 1, &size), *fault = message_fault(bytes, size);
    if (fault) return refuse_message(L, fault);
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_createtable(L, 0, LISTS + 1);
        lua_replace(L, 2);
    }
    luaL_checkstack(L, 16, NULL);
    for (int k = 0; k < LISTS; k++) push_list(L, 2, list_names[k]);
    (void)aoi_read_begin(&r, bytes, size);
    if (laoi_rawfield(L, 2, "parts") != LUA_TTABLE || r.anew) {
        lua_pushliteral(L, "parts");
        lua_pushnil(L);
        lua_rawset(L, 2);
        lua_pushnil(L);
        lua_replace(L, PARTS);
    }
    lua_pushliteral(L, "anew");
    if (r.anew) lua_pushboolean(L, 1);
    else lua_pushnil(L);
    lua_rawset(L, 2);
    push_list(L, GONE, "reasons");
    fill_lists(L, &r, at, rows);
    laoi_end_list(L, GONE_REASONS, at[0]);
    for (int k = 0; k < LISTS; k++) {
        laoi_end_list(L, GONE + k, at[k]);
        lua_pushinteger(L, (lua_Integer)rows[k]);
        lua_setfield(L, GONE + k, "n");
    }
    lua_settop(L, 2);
    return 1;
}
