/* observe_methods.c - `aoi.observe`: a whole space as bytes, for viewers.  lua/aoi/meta/viewer.lua has the contract;
 * the userdata is drawn in classes.c.  The core of an observer may outlive its space.
 *
 * Making a string of the bytes may run finalizers or be refused memory.  So it is made in a protected call: meanwhile
 * the observer refuses calls, and bytes that were not returned are written again. */
#include "lua/binding.h"

#include <string.h>

typedef struct laoi_observer {
    laoi_child is;
    bool busy;
} laoi_observer;

static void refuse_busy(lua_State *L, const laoi_observer *y) {
    if (y->busy) luaL_error(L, "attempt to use an observer while it is being used");
}

static laoi_observer *observer_self(lua_State *L) {
    laoi_observer *y = laoi_child_maybe(L, &laoi_observer_class);
    refuse_busy(L, y);
    if (!y->is.core) luaL_error(L, "attempt to use a closed observer");
    laoi_refuse_played(L, y->is.space);
    return y;
}

/* Returns the bytes as a string; laoi_push_bytes must be on top of the stack. */
static int hand_over(lua_State *L, laoi_observer *y, int result, const unsigned char *bytes, size_t size) {
    laoi_bytes all = {.bytes = (char *)(uintptr_t)bytes, .size = size};
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    if (result != AOI_OK) return luaL_error(L, "attempt to use a closed space");
    if (!size) return 0;
    lua_pushlightuserdata(L, &all);
    y->busy = true;
    int failed = lua_pcall(L, 1, 1, 0);
    y->busy = false;
    if (!failed) return 1;
    aoi_observer_restart(y->is.core);
    return lua_error(L);
}

static int o_changes(lua_State *L) {
    laoi_observer *y = observer_self(L);
    const unsigned char *bytes = NULL;
    size_t size = 0;
    laoi_no_more(L, 2);
    lua_pushcfunction(L, laoi_push_bytes); /* before 5.2 a new closure */
    y = observer_self(L);                  /* once more */
    const int result = aoi_observe(y->is.core, &bytes, &size);
    return hand_over(L, y, result, bytes, size);
}

static double bound(lua_State *L, int i) {
    double v = laoi_number(L, i);
    if (v != v) laoi_argerror(L, i, "number expected, got nan");
    return v;
}

static int o_structure(lua_State *L) {
    laoi_observer *y = observer_self(L);
    const unsigned char *bytes = NULL;
    size_t size = 0;
    double lo[2] = {bound(L, 2), bound(L, 3)}, hi[2] = {bound(L, 4), bound(L, 5)}, at[2];
    int64_t most = lua_isnoneornil(L, 6) ? UINT32_MAX : laoi_integer(L, 6);
    bool one = !lua_isnoneornil(L, 7);
    if (most < 0) laoi_argerror(L, 6, "number must not be negative");
    if (one) at[0] = bound(L, 7), at[1] = bound(L, 8);
    laoi_no_more(L, 9);
    lua_pushcfunction(L, laoi_push_bytes);
    y = observer_self(L); /* once more */
    uint32_t parts = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    const int result = aoi_observe_structure(y->is.core, lo, hi, one ? at : NULL, parts, &bytes, &size);
    return hand_over(L, y, result, bytes, size);
}

static int o_restart(lua_State *L) {
    const laoi_observer *y = observer_self(L);
    laoi_no_more(L, 2);
    aoi_observer_restart(y->is.core);
    return 0;
}

static int o_close(lua_State *L) {
    refuse_busy(L, laoi_child_maybe(L, &laoi_observer_class));
    return laoi_close_child(L, &laoi_observer_class);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static const laoi_option observer_options[] = {
    {"events", .type = LAOI_WHOLE, .at = offsetof(aoi_observer_options, events)},
    {"share", .type = LAOI_WHOLE, .at = offsetof(aoi_observer_options, share), .least = 1},
    {"exact", .type = LAOI_FLAG, .at = offsetof(aoi_observer_options, exact)},
    {"quantum", .type = LAOI_POSITIVE, .at = offsetof(aoi_observer_options, quantum)},
    {.name = NULL}};

static int o_new(lua_State *L) {
    aoi_observer_options o = {0};
    laoi_space *b = laoi_self(L);
    aoi_observer *core;
    laoi_no_more(L, 3);
    laoi_read_options(L, 2, observer_options, &o);
    laoi_observer *y = laoi_new_on_space(L, b, sizeof *y);
    laoi_give_class(L);
    if (aoi_observer_open(b->core, &o, &core) != AOI_OK) return laoi_nomemory(L);
    y->is.core = core;
    return 1;
}

static const luaL_Reg observer_methods[] = {
    {"changes", o_changes},
    {"structure", o_structure},
    {"restart", o_restart},
    {NULL, NULL},
};

static void end_observer(void *core) {
    aoi_observer_close(core);
}

const laoi_class laoi_observer_class = {"aoi.Observer", "observer", "observe",        o_new, end_observer,
                                        true,           o_close,    observer_methods, NULL};
