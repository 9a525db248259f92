/* history_methods.c - `aoi.history`: where everything was some ticks ago.  The contract is in lua/aoi/meta/history.lua.
 *
 *   userdata aoi.History { core, space } --core-->  aoi_history, which the space frees when it closes
 *        | user value
 *        v
 *   { the space's userdata } */
#include <string.h>

#include "aoi_history.h"
#include "lua/binding.h"

#define HISTORY_NAME "aoi.History"

typedef struct laoi_history {
    aoi_history *core; /* NULL: closed */
    laoi_space *space;
    uint32_t ticks;
} laoi_history;

static laoi_history *history_self(lua_State *L) {
    laoi_history *h = laoi_object(L, HISTORY_NAME);
    laoi_expect_open(L, h->core != NULL, h->space, "history");
    h->space->calls++;
    return h;
}

static uint32_t history_ago(lua_State *L, const laoi_history *h) {
    int64_t ago = laoi_integer(L, 2);
    if (ago < 0) laoi_argerror(L, 2, "number must not be negative, got %s", laoi_spell(L, ago));
    if (ago > h->ticks)
        laoi_argerror(L, 2, "a history of %d ticks does not go back %s", (int)h->ticks, laoi_spell(L, ago));
    return (uint32_t)ago;
}

static int h_tick(lua_State *L) {
    laoi_history *h = history_self(L);
    laoi_no_more(L, 2);
    return aoi_history_tick(h->core) == AOI_OK ? 0 : laoi_nomemory(L);
}

static int h_position(lua_State *L) {
    laoi_history *h = history_self(L);
    double pos[3];
    laoi_no_more(L, 4);
    uint32_t ago = history_ago(L, h);
    if (aoi_history_position(h->core, ago, laoi_integer(L, 3), pos) != AOI_OK) {
        lua_pushnil(L);
        return 1;
    }
    for (int a = 0; a < h->space->dims; a++) lua_pushnumber(L, pos[a]);
    return h->space->dims;
}

static int h_near(lua_State *L) {
    laoi_history *h = history_self(L);
    const int64_t *ids = NULL;
    size_t n = 0;
    double pos[3];
    laoi_area_arg a;
    uint32_t ago = history_ago(L, h);
    int i = laoi_near_arguments(L, h->space, 3, pos, &a);
    int result = a.none ? AOI_OK : aoi_history_near(h->core, ago, pos, &a.area, &ids, &n);
    return laoi_answer(L, h->space, h_near, i, result, ids, NULL, n);
}

static int h_close(lua_State *L) {
    laoi_history *h = laoi_object(L, HISTORY_NAME);
    aoi_history *core = h->core;
    h->core = NULL;
    if (core && h->space->core) aoi_history_close(core); /* else the space has freed it */
    return 0;
}

static int h_tostring(lua_State *L) {
    laoi_history *h = laoi_object(L, HISTORY_NAME);
    return laoi_name_object(L, HISTORY_NAME, h->core && h->space->core);
}

static int h_new(lua_State *L) {
    laoi_space *b = laoi_self(L);
    int64_t ticks = laoi_integer(L, 2);
    if (ticks < 1 || ticks > AOI_MOST_TICKS)
        laoi_argerror(L, 2, "a number of ticks from 1 to %d expected, got %s", AOI_MOST_TICKS, laoi_spell(L, ticks));
    laoi_no_more(L, 3);
    laoi_history *h = laoi_new_on_space(L, sizeof *h);
    h->space = b;
    h->ticks = (uint32_t)ticks;
    b = laoi_give_class(L);
    return aoi_history_open(b->core, (uint32_t)ticks, &h->core) == AOI_OK ? 1 : laoi_nomemory(L);
}

static const luaL_Reg history_methods[] = {
    {"tick", h_tick}, {"position", h_position}, {"near", h_near}, {"close", h_close}, {NULL, NULL},
};

static const laoi_class history_objects = {HISTORY_NAME, "new", h_new, h_close, h_tostring, history_methods};

void laoi_open_history(lua_State *L, int space_meta) {
    lua_createtable(L, 0, 1);
    laoi_open_class(L, space_meta, &history_objects);
    lua_setfield(L, -2, "history");
}
