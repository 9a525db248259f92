/* history_methods.c - `aoi.history`: positions of earlier ticks.  lua/aoi/meta/history.lua has the contract; the
 * userdata is drawn in classes.c. */
#include <limits.h>

#include "aoi_history.h"
#include "lua/binding.h"

typedef struct laoi_history {
    laoi_child is;
    uint32_t ticks;
} laoi_history;

static laoi_history *history_self(lua_State *L) {
    return laoi_child_self(L, &laoi_history_class, INT_MAX - 1);
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
    return aoi_history_tick(h->is.core) == AOI_OK ? 0 : laoi_nomemory(L);
}

static int h_position(lua_State *L) {
    laoi_history *h = history_self(L);
    double pos[3];
    laoi_no_more(L, 4);
    uint32_t ago = history_ago(L, h);
    bool known = aoi_history_position(h->is.core, ago, laoi_integer(L, 3), pos) == AOI_OK;
    return laoi_push_position(L, h->is.space, known, pos);
}

static int h_near(lua_State *L) {
    laoi_history *h = history_self(L);
    laoi_list list = {0};
    double pos[3];
    laoi_area_arg a;
    uint32_t ago = history_ago(L, h);
    int i = laoi_near_arguments(L, h->is.space, 3, pos, &a);
    h = history_self(L); /* once more */
    int result = a.none ? AOI_OK : aoi_history_near(h->is.core, ago, pos, &a.area, &list.ids, &list.n);
    return laoi_answer(L, h->is.space, h_near, i, result, &list);
}

static int h_new(lua_State *L) {
    laoi_space *b = laoi_self(L);
    int64_t ticks = laoi_integer(L, 2);
    if (ticks < 1 || ticks > AOI_MOST_TICKS)
        laoi_argerror(L, 2, "a number of ticks from 1 to %d expected, got %s", AOI_MOST_TICKS, laoi_spell(L, ticks));
    laoi_no_more(L, 3);
    laoi_history *h = laoi_new_on_space(L, b, sizeof *h);
    h->ticks = (uint32_t)ticks;
    laoi_give_class(L);
    aoi_history *core;
    if (aoi_history_open(b->core, (uint32_t)ticks, &core) != AOI_OK) return laoi_nomemory(L);
    h->is.core = core;
    return 1;
}

static const luaL_Reg history_methods[] = {
    {"tick", h_tick},
    {"position", h_position},
    {"near", h_near},
    {NULL, NULL},
};

static void end_history(void *core) {
    aoi_history_close(core);
}

const laoi_class laoi_history_class = {"aoi.History", "history", "new",           h_new, end_history,
                                       false,         NULL,      history_methods, NULL};
