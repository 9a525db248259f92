/* world_areas.c - areas of nodes as bytes, those of a snapshot: they wait for an epoch, and travel with a hand-over. */
#include "lua/world.h"
#include "snapshot/snapshot.h"

static const char *area_from(const char *bytes, size_t size, int dims, laoi_area_arg *a) {
    aoi_bytes in = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + size};
    const char *fault = aoi_get_area(&in, dims, a->points, &a->area);
    return fault || (in.at == in.end && aoi_bytes_good(&in)) ? fault : "an area of the wrong length";
}

static void check_area(lua_State *L, int i, int dims, laoi_area_arg *out) {
    size_t size;
    const char *bytes = luaL_checklstring(L, i, &size);
    const char *fault = area_from(bytes, size, dims, out);
    if (fault) laoi_argerror(L, i, "%s", fault);
}

/* ---- from and to Lua --------------------------------------------------------------------------------------------- */

/* How far the area can see in the plane, what it keeps included. */
static double reach_of(const aoi_area *a) {
    double most = a->radius;
    if (a->shape == AOI_BOX) most = a->extents[0] > a->extents[1] ? a->extents[0] : a->extents[1];
    if (a->shape == AOI_POLYGON) {
        most = 0;
        for (int i = 0; i < 2 * a->corners; i++)
            if (fabs(a->points[i]) > most) most = fabs(a->points[i]);
    }
    most += a->margin;
    return a->keep > most ? a->keep : most;
}

static int push_checked(lua_State *L, const world_router *r, int i, const aoi_area *a, double reach) {
    const char *fault = aoi_area_fault(r->space->dims, a);
    if (fault) return laoi_argerror(L, i, "%s", fault);
    if (reach_of(a) > reach)
        return laoi_argerror(L, i, "it reaches %f, more than the world's reach of %f", reach_of(a), reach);
    unsigned char bytes[AOI_AREA_ROOM];
    size_t size = (size_t)(aoi_put_area(bytes, r->space->dims, a) - bytes);
    lua_pushlstring(L, (const char *)bytes, size);
    return 1;
}

/* pack(area, reach): a radius or a table as bytes. */
static int r_pack(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    double reach = laoi_number(L, 3);
    laoi_area(L, r->space, 2, &a);
    return push_checked(L, r, 2, &a.area, reach);
}

/* unpack(bytes): a table as `space:area` gives it, and its radius. */
static int r_unpack(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    check_area(L, 2, r->space->dims, &a);
    laoi_push_area(L, r->space, &a.area);
    lua_pushnumber(L, a.area.radius);
    return 2;
}

/* repack(bytes, reach, field, value [, keep]): with another radius (and keep), facing or mask. */
static int r_repack(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    check_area(L, 2, r->space->dims, &a);
    double reach = laoi_number(L, 3);
    const char *field = luaL_checkstring(L, 4);
    if (!strcmp(field, "mask")) {
        a.area.mask = (uint64_t)laoi_integer(L, 5);
    } else if (!strcmp(field, "facing")) {
        if (a.area.shape != AOI_SECTOR)
            return laoi_argerror(L, 4, "a %s has no 'facing': only sectors have", aoi_shape_name(a.area.shape));
        a.area.facing = laoi_finite(L, 5);
    } else {
        if (a.area.shape != AOI_SQUARE && a.area.shape != AOI_CIRCLE)
            return laoi_argerror(L, 4, "set_radius is for squares and circles, not for a %s: use set_area",
                                 aoi_shape_name(a.area.shape));
        a.area.radius = laoi_radius(L, 5);
        a.area.margin = 0;
        a.area.keep = lua_isnoneornil(L, 6) ? 0 : laoi_number(L, 6);
        if (!lua_isnoneornil(L, 6) && !(a.area.keep >= a.area.radius))
            return laoi_argerror(L, 6, "keep must not be less than radius");
    }
    return push_checked(L, r, 5, &a.area, reach);
}

/* ---- nodes of the core ------------------------------------------------------------------------------------------- */

/* seen(id, node): the ids that the node sees, as bytes of the router's width, and that width. */
static int r_seen(lua_State *L) {
    world_router *r = world_self(L);
    const int64_t *ids;
    size_t n;
    aoi_node node = laoi_node(L, r->space, 2, NULL);
    if (aoi_view(r->space->core, node, &ids, &n) != AOI_OK) return laoi_nomemory(L);
    unsigned char *bytes = laoi_newbuffer(L, n * r->width + 1);
    for (size_t i = 0; i < n; i++) world_put_id(bytes + i * r->width, ids[i], (int)r->width);
    lua_pushlstring(L, (const char *)bytes, n * r->width);
    laoi_pushinteger(L, r->width);
    return 2;
}

/* drop(id, node): removes a node that has been given away, without events. */
static int r_drop(lua_State *L) {
    world_router *r = world_self(L);
    return aoi_give_node(r->space->core, laoi_node(L, r->space, 2, NULL)) == AOI_OK ? 0 : laoi_nomemory(L);
}

/* adopt(id, node, area, seen, width): adds the node as one that has seen these. */
static int r_adopt(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    size_t size;
    aoi_entity e = laoi_entity(L, r->space, 2);
    int64_t node = laoi_integer(L, 3), width = laoi_integer(L, 6);
    check_area(L, 4, r->space->dims, &a);
    const char *bytes = luaL_checklstring(L, 5, &size);
    if ((width != 4 && width != 8) || size % (size_t)width) return laoi_argerror(L, 5, "wrong length");
    world_reader in = {(const unsigned char *)bytes, (const unsigned char *)bytes + size};
    size_t n = size / (size_t)width;
    if (!AOI_GROW(&r->memory, r->ids, r->id_cap, n)) return laoi_nomemory(L);
    for (size_t i = 0; i < n; i++) {
        r->ids[i] = world_read_id(&in, (int)width);
        if (world_is_wide(r->ids[i])) r->width = 8; /* it may not be in this core, and be reported as a leave */
    }
    int result = aoi_adopt_node(r->space->core, e, node, &a.area, r->ids, n, NULL);
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    return result == AOI_OK ? 0 : luaL_error(L, "aoi: %s", aoi_result_text(result));
}

/* set(id, node, area): the whole area becomes this one. */
static int r_set(lua_State *L) {
    world_router *r = world_self(L);
    laoi_area_arg a;
    aoi_node node = laoi_node(L, r->space, 2, NULL);
    check_area(L, 4, r->space->dims, &a);
    int result = aoi_set_area(r->space->core, node, &a.area);
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    return result == AOI_OK ? 0 : luaL_error(L, "aoi: %s", aoi_result_text(result));
}

/* check_area(bytes, dimensions): true; or nil and a reason. */
static int l_check_area(lua_State *L) {
    laoi_area_arg a;
    size_t size;
    const char *bytes = luaL_checklstring(L, 1, &size);
    int64_t dims = laoi_integer(L, 2);
    if (dims != 2 && dims != 3) return laoi_argerror(L, 2, "2 or 3 expected");
    const char *fault = area_from(bytes, size, (int)dims, &a);
    if (!fault) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, fault);
    return 2;
}

const luaL_Reg world_area_methods[] = {
    {"pack", r_pack},   {"unpack", r_unpack}, {"repack", r_repack}, {"seen", r_seen},
    {"adopt", r_adopt}, {"drop", r_drop},     {"set", r_set},       {NULL, NULL},
};

const luaL_Reg world_area_functions[] = {{"check_area", l_check_area}, {NULL, NULL}};
