/* world_areas.c - areas of nodes as bytes, in the format of snapshots: kept until an epoch closes, sent in hand-overs. */
#include "sight/sight.h"
#include "skynet/world.h"
#include "snapshot/snapshot.h"

/* Leaves room for as many corners as there may be, or nothing, on the stack. */
static const char *area_from(lua_State *L, const char *bytes, size_t size, int dims, laoi_area_arg *a) {
    aoi_bytes in = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + size};
    aoi_outline o = {.point_cap = 2 * AOI_MOST_CORNERS, .end_cap = AOI_MOST_CORNERS / 3};
    a->area.corners = size / 16 < AOI_MOST_CORNERS ? (int)(size / 16) : AOI_MOST_CORNERS;
    a->area.rings = a->area.corners / 3;
    (void)laoi_outline_room(L, a, &o.points, &o.ends); /* nor more than its caps: each corner has 16 bytes */
    const char *fault = aoi_get_area(&in, dims, &o, &a->area);
    return fault || (in.at == in.end && aoi_bytes_good(&in)) ? fault : "an area of the wrong length";
}

static void check_area(lua_State *L, int i, int dims, laoi_area_arg *out) {
    size_t size;
    const char *bytes = luaL_checklstring(L, i, &size);
    const char *fault = area_from(L, bytes, size, dims, out);
    if (fault) laoi_argerror(L, i, "%s", fault);
}

/* ---- areas from and to Lua --------------------------------------------------------------------------------------- */

/* The largest distance in the plane of a target in the area, its keep or margin included, on an axis. */
static double reach_of(const aoi_area *a) {
    double most = a->radius;
    if (a->shape == AOI_BOX) most = a->extents[0] > a->extents[1] ? a->extents[0] : a->extents[1];
    if (a->shape == AOI_POLYGON) {
        most = 0;
        for (int i = 0; i < 2 * a->corners; i++)
            if (fabs(a->points[i]) > most) most = fabs(a->points[i]);
    }
    most += a->margin;
    return (a->keep > most ? a->keep : most) + fmax(fabs(a->offset[0]), fabs(a->offset[1]));
}

static int push_checked(lua_State *L, const world_router *r, int i, const aoi_area *a, double reach) {
    const char *fault = aoi_area_fault(r->space->dims, a);
    if (fault) return laoi_argerror(L, i, "%s", fault);
    if (reach_of(a) > reach)
        return laoi_argerror(L, i, "it reaches %f, more than the world's reach of %f", reach_of(a), reach);
    unsigned char few[AOI_AREA_ROOM + 16 * LAOI_FEW_CORNERS];
    const size_t room = aoi_area_room(a);
    unsigned char *bytes = room <= sizeof few ? few : laoi_newbuffer(L, room);
    size_t size = (size_t)(aoi_put_whole_area(bytes, r->space->dims, a) - bytes);
    lua_pushlstring(L, (const char *)bytes, size);
    return 1;
}

/* pack(area, reach): a radius or a table as bytes; an error if it exceeds `reach`. */
static int r_pack(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    double reach = laoi_number(L, 3);
    laoi_area(L, r->space, 2, &a);
    return push_checked(L, r, 2, &a.area, reach);
}

/* unpack(bytes): a table, as `space:area` returns it. */
static int r_unpack(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    check_area(L, 2, r->space->dims, &a);
    laoi_push_area(L, r->space, &a.area);
    return 1;
}

/* ---- nodes of the core ------------------------------------------------------------------------------------------- */

/* Writes the targets of a node of a sight to r->ids, as pairs of an id and a state (sight/recall.c): first the ones
 * seen in a special state, then the hidden ones, then the others.  *special: number of the first two kinds, *hidden: of
 * the second, *count: of all. */
static bool order_saw(world_router *r, aoi_sight *sight, aoi_node node, size_t *count, size_t *special,
                      size_t *hidden) {
    size_t n = aoi_sight_saw(sight, node, NULL, 0);
    if (!AOI_GROW(&r->memory, r->ids, r->id_cap, 4 * n)) return false;
    const int64_t *saw = r->ids + 2 * n;
    int64_t *to = r->ids;
    (void)aoi_sight_saw(sight, node, r->ids + 2 * n, n);
    for (int part = 0; part < 3; part++) {
        for (size_t i = 0; i < n; i++) {
            const bool seen = saw[2 * i + 1] & AOI_PAIR_SEEN, plain = saw[2 * i + 1] == AOI_SAW_PLAINLY;
            if ((plain ? 2 : seen ? 0 : 1) != part) continue;
            *to++ = saw[2 * i];
            *to++ = saw[2 * i + 1];
        }
        if (part == 0) *hidden = (size_t)(to - r->ids) / 2;
        if (part == 1) *special = (size_t)(to - r->ids) / 2;
    }
    *hidden = *special - *hidden;
    *count = n;
    return true;
}

/* Pushes ids[0], ids[step] ... as bytes, without `skip` of them from skip_at on; and the width.  ids may be r->ids: the
 * bytes overwrite them. */
static int push_seen(lua_State *L, world_router *r, const int64_t *ids, size_t n, size_t step, size_t skip_at,
                     size_t skip) {
    if (!AOI_GROW(&r->memory, r->ids, r->id_cap, n + 1)) return laoi_nomemory(L);
    unsigned char *bytes = (unsigned char *)r->ids, *at = bytes;
    for (size_t i = 0; i < n; i++)
        if (i < skip_at || i >= skip_at + skip) at = wire_put_id(at, ids[i * step], r->width);
    lua_pushlstring(L, (const char *)bytes, (size_t)(at - bytes));
    laoi_pushinteger(L, r->width);
    return 2;
}

static int push_sight_seen(lua_State *L, world_router *r, aoi_sight *sight, aoi_node node) {
    size_t n = 0, special = 0, hidden = 0;
    if (!order_saw(r, sight, node, &n, &special, &hidden)) return laoi_nomemory(L);
    unsigned char *states = laoi_newbuffer(L, special * 16 + 1);
    for (size_t i = 0; i < 2 * special; i++) aoi_put_bytes(states + 8 * i, (uint64_t)r->ids[i], 8);
    (void)push_seen(L, r, r->ids, n, 2, special - hidden, hidden);
    lua_pushlstring(L, (const char *)states, special * 16);
    return 3;
}

/* seen(id, node): the ids that the node sees, as bytes of the router's width, and that width.  For a node of a sight,
 * in its last tick, also i64 id, i64 state (sight/recall.c) of each target in a special state: first of targets among
 * the ids, in the same order, then of hidden targets. */
static int r_seen(lua_State *L) {
    world_router *r = world_self(L);
    const int64_t *ids;
    size_t n;
    aoi_node node = laoi_node(L, r->space, 2, NULL);
    aoi_sight *sight = aoi_sight_of_node(r->space->core, node);
    if (sight) return push_sight_seen(L, r, sight, node);
    if (aoi_view(r->space->core, node, &ids, &n) != AOI_OK) return laoi_nomemory(L);
    return push_seen(L, r, ids, n, 1, n, 0);
}

/* drop(id, node): removes a node that has been handed over, without events. */
static int r_drop(lua_State *L) {
    world_router *r = world_self(L);
    return aoi_give_node(r->space->core, laoi_node(L, r->space, 2, NULL)) == AOI_OK ? 0 : laoi_nomemory(L);
}

/* Reads the argument `seen` of the width behind it into r->ids, `step` apart; returns the number of ids. */
static size_t read_seen(lua_State *L, world_router *r, int i, size_t step) {
    size_t size;
    int64_t width = laoi_integer(L, i + 1);
    const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, i, &size);
    if ((width != 4 && width != 8) || size % (size_t)width) laoi_argerror(L, i, "wrong length");
    size_t n = size / (size_t)width;
    if (!AOI_GROW(&r->memory, r->ids, r->id_cap, n * step)) laoi_nomemory(L);
    for (size_t k = 0; k < n; k++) {
        r->ids[k * step] = wire_get_id(bytes + k * (size_t)width, (int)width);
        r->width = wire_width(r->ids[k * step], r->width); /* an id that is not in this core becomes a leave */
    }
    return n;
}

/* Reads states: of the first of the n ids in r->ids, then of hidden targets, which are appended.  Returns the total. */
static size_t read_states(lua_State *L, world_router *r, int i, size_t n) {
    size_t size, seen = 0;
    const unsigned char *at = (const unsigned char *)luaL_optlstring(L, i, "", &size), *end = at + size;
    for (size_t k = 0; k < n; k++) r->ids[2 * k + 1] = AOI_SAW_PLAINLY;
    if (size % 16 || !AOI_GROW(&r->memory, r->ids, r->id_cap, 2 * (n + size / 16))) laoi_argerror(L, i, "wrong length");
    for (; at < end; at += 16) {
        const int64_t id = wire_get_id(at, 8), state = wire_get_id(at + 8, 8);
        const size_t k = state & AOI_PAIR_SEEN ? seen++ : n++;
        if (state & AOI_PAIR_SEEN && (k >= n || r->ids[2 * k] != id)) laoi_argerror(L, i, "states out of order");
        r->ids[2 * k] = id;
        r->ids[2 * k + 1] = state;
    }
    return n;
}

/* adopt(id, node, area, seen, width [, sight, linger [, states]]): adds a node that has seen these ids; with `sight` as
 * a node of the sight, with the states that `seen` returned. */
static int r_adopt(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    aoi_entity e = laoi_entity(L, r->space, 2);
    aoi_node made;
    const int64_t node = laoi_integer(L, 3);
    check_area(L, 4, r->space->dims, &a);
    if (!lua_toboolean(L, 7)) {
        size_t n = read_seen(L, r, 5, 1);
        return laoi_done(L, aoi_adopt_node(r->space->core, e, node, &a.area, r->ids, n, NULL));
    }
    aoi_sight *sight = laoi_sight_argument(L, 7, r->space);
    const int64_t linger = laoi_integer(L, 8);
    if (!sight) return laoi_argerror(L, 7, "an open sight of the space expected");
    if (linger < 0 || linger > INT32_MAX) return laoi_argerror(L, 8, "a whole number of ticks expected");
    size_t n = read_states(L, r, 9, read_seen(L, r, 5, 2));
    int result = aoi_sight_add_node(sight, e, node, &a.area, (uint32_t)linger, &made);
    if (result == AOI_OK) result = aoi_sight_recall(sight, made, r->ids, n);
    return laoi_done(L, result);
}

/* set(id, node, area): replaces the whole area of a node. */
static int r_set(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    aoi_node node = laoi_node(L, r->space, 2, NULL);
    check_area(L, 4, r->space->dims, &a);
    return laoi_done(L, aoi_set_area(r->space->core, node, &a.area));
}

const luaL_Reg world_area_methods[] = {
    {"pack", r_pack}, {"unpack", r_unpack}, {"seen", r_seen}, {"adopt", r_adopt},
    {"drop", r_drop}, {"set", r_set},       {NULL, NULL},
};
