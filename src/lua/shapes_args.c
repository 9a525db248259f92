/* shapes_args.c - areas between Lua and the core: tables with the fields of a shape, and explanations.
 *
 * The core decides which fields a shape takes, and checks their values (core/shapes.h). */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

static const struct {
    const char *name;
    unsigned bit;
    size_t at; /* of the number in an area */
} fields[] = {
    {"radius", AOI_FIELD_RADIUS, offsetof(aoi_area, radius)},
    {"keep", AOI_FIELD_KEEP, offsetof(aoi_area, keep)},
    {"margin", AOI_FIELD_MARGIN, offsetof(aoi_area, margin)},
    {"extents", AOI_FIELD_EXTENTS, 0},
    {"half_height", AOI_FIELD_HALF_HEIGHT, offsetof(aoi_area, half_height)},
    {"facing", AOI_FIELD_FACING, offsetof(aoi_area, facing)},
    {"angle", AOI_FIELD_ANGLE, offsetof(aoi_area, angle)},
    {"points", AOI_FIELD_POINTS, 0},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* ---- areas from Lua ---------------------------------------------------------------------------------------------- */

static double field_number(lua_State *L, int i, const char *name) {
    if (lua_type(L, -1) != LUA_TNUMBER)
        laoi_argerror(L, i, "number expected for '%s', got %s", name, luaL_typename(L, -1));
    return lua_tonumber(L, -1);
}

/* Reads at most `most` numbers of the array on top of the stack; returns its length. */
static size_t field_numbers(lua_State *L, int i, const char *name, double *out, size_t most) {
    if (!lua_istable(L, -1)) laoi_argerror(L, i, "table expected for '%s', got %s", name, luaL_typename(L, -1));
    size_t n = lua_rawlen(L, -1);
    for (size_t k = 0; k < n && k < most; k++) {
        if (laoi_rawgeti(L, -1, (laoi_index)k + 1) != LUA_TNUMBER)
            laoi_argerror(L, i, "number expected in '%s', got %s", name, luaL_typename(L, -1));
        out[k] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    return n;
}

static uint64_t field_bits(lua_State *L, int i, const char *name) {
    int64_t bits;
    field_number(L, i, name);
    if (!laoi_tointeger(L, -1, &bits)) laoi_argerror(L, i, "integer expected for '%s'", name);
    return (uint64_t)bits;
}

static void read_field(lua_State *L, const laoi_space *b, int i, int k, laoi_area_arg *out) {
    aoi_area *a = &out->area;
    const char *name = fields[k].name;
    if (fields[k].bit == AOI_FIELD_EXTENTS) {
        if (field_numbers(L, i, name, a->extents, 3) != (size_t)b->dims)
            laoi_argerror(L, i, "'extents' must have %d numbers", b->dims);
    } else if (fields[k].bit == AOI_FIELD_POINTS) {
        size_t n = field_numbers(L, i, name, out->points, 2 * AOI_MOST_CORNERS);
        if (n % 2 || n < 6 || n > 2 * AOI_MOST_CORNERS)
            laoi_argerror(L, i, "'points' must have x and y of 3 to %d corners", AOI_MOST_CORNERS);
        a->points = out->points;
        a->corners = (int)(n / 2);
    } else {
        const double v = field_number(L, i, name);
        memcpy((char *)a + fields[k].at, &v, sizeof v);
    }
}

static int refuse_field(lua_State *L, const laoi_space *b, int i, int shape, unsigned bit, const char *name) {
    if (aoi_shape_takes(shape, 3) & bit)
        return laoi_argerror(L, i, "a %s in %d dimensions has no '%s'", aoi_shape_name(shape), b->dims, name);
    return laoi_argerror(L, i, "a %s has no '%s'", aoi_shape_name(shape), name);
}

static unsigned refuse_unknown(lua_State *L, const laoi_space *b, int i, int shape) {
    static const char *const of_all[] = {"shape", "mask", "layers", "outside", "extents_apply", "label"};
    enum { OF_ALL = sizeof of_all / sizeof *of_all };
    const char *names[FIELD_COUNT + OF_ALL + 1];
    size_t n = 0;
    for (int k = 0; k < FIELD_COUNT; k++)
        if (aoi_shape_takes(shape, b->dims) & fields[k].bit) names[n++] = fields[k].name;
    memcpy(names + n, of_all, sizeof of_all);
    names[n + OF_ALL] = NULL;
    const char *key = laoi_key_name(L, -2);
    if (!strcmp(key, "enter") || !strcmp(key, "leave"))
        laoi_argerror(L, i, "an area expected, got handlers: they come after the node id and the area");
    lua_pop(L, 1);
    laoi_unknown(L, i, "area option", aoi_shape_name(shape), names);
    return 0;
}

/* Reads a key and its value, on top of the stack, after the shape.  Returns the bit of the field, 0: for all shapes. */
static unsigned read_option(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out) {
    int shape = out->area.shape;
    if (lua_type(L, -2) == LUA_TSTRING) {
        const char *name = lua_tostring(L, -2);
        if (!strcmp(name, "shape")) return 0;
        if (!strcmp(name, "mask")) {
            out->area.mask = field_bits(L, i, name);
            out->masked = true;
            return 0;
        }
        if (!strcmp(name, "layers")) {
            out->area.layers = field_bits(L, i, name);
            out->area.layered = true;
            return 0;
        }
        const bool outside = !strcmp(name, "outside");
        if (outside || !strcmp(name, "extents_apply")) {
            if (!lua_isboolean(L, -1))
                laoi_argerror(L, i, "boolean expected for '%s', got %s", name, luaL_typename(L, -1));
            if (outside) out->area.outside = lua_toboolean(L, -1);
            else out->area.fixed = !lua_toboolean(L, -1);
            return 0;
        }
        if (!strcmp(name, "label")) {
            size_t n = 0;
            const char *label = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &n) : "";
            if (!n || n > AOI_MOST_LABEL || strlen(label) != n)
                laoi_argerror(L, i, "bad value for 'label': a string of 1 to %d bytes other than 0 expected",
                              AOI_MOST_LABEL);
            out->area.label = memcpy(out->label, label, n + 1);
            return 0;
        }
        for (int k = 0; k < FIELD_COUNT; k++) {
            if (strcmp(fields[k].name, name) != 0) continue;
            if (!(aoi_shape_takes(shape, b->dims) & fields[k].bit)) refuse_field(L, b, i, shape, fields[k].bit, name);
            read_field(L, b, i, k, out);
            return fields[k].bit;
        }
    }
    return refuse_unknown(L, b, i, shape);
}

/* The value is named where the fault begins with a field that is a number. */
static void refuse_fault(lua_State *L, int i, const aoi_area *a, const char *fault) {
    for (int k = 0; k < FIELD_COUNT; k++) {
        const size_t n = strlen(fields[k].name);
        char got[32];
        double v;
        if (!fields[k].at || strncmp(fault, fields[k].name, n) != 0 || fault[n] != ' ') continue;
        memcpy(&v, (const char *)a + fields[k].at, sizeof v);
        snprintf(got, sizeof got, "%.14g", v);
        laoi_argerror(L, i, "%s, got %s", fault, got);
    }
    laoi_argerror(L, i, "%s", fault);
}

static void check_fields(lua_State *L, const laoi_space *b, int i, const aoi_area *a, unsigned given) {
    unsigned missing = aoi_shape_needs(a->shape, b->dims) & ~given;
    for (int k = 0; k < FIELD_COUNT; k++) {
        if (!(missing & fields[k].bit)) continue;
        bool table = fields[k].bit == AOI_FIELD_EXTENTS || fields[k].bit == AOI_FIELD_POINTS;
        laoi_argerror(L, i, "%s expected for '%s' of a %s, got nil", table ? "table" : "number", fields[k].name,
                      aoi_shape_name(a->shape));
    }
    if ((given & AOI_FIELD_KEEP) && (given & AOI_FIELD_MARGIN))
        laoi_argerror(L, i, "'keep' and 'margin' exclude each other");
    const char *fault = aoi_area_fault(b->dims, a);
    if (fault) refuse_fault(L, i, a, fault);
    /* the core takes a keep of 0 for none; here it is an error unless the radius is 0 */
    if ((given & AOI_FIELD_KEEP) && !(a->keep >= a->radius)) laoi_argerror(L, i, "keep must not be less than radius");
}

/* The shape is read first, as it determines the other fields. */
static void read_shape(lua_State *L, const laoi_space *b, int i, aoi_area *a) {
    if (laoi_rawfield(L, i, "shape") != LUA_TNIL) a->shape = laoi_choice(L, i, "'shape'", aoi_shape_name);
    lua_pop(L, 1);
    if (!aoi_shape_takes(a->shape, b->dims))
        laoi_argerror(L, i, "bad value for 'shape': a %s needs 3 dimensions", aoi_shape_name(a->shape));
}

void laoi_node_area(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out) {
    unsigned given = 0;
    out->area = (aoi_area){.mask = AOI_ALL_KINDS, .half_height = INFINITY};
    out->masked = false;
    if (lua_type(L, i) == LUA_TNUMBER) {
        out->area.radius = laoi_radius(L, i);
        return;
    }
    if (!lua_istable(L, i)) laoi_typeerror(L, i, "number or table");
    read_shape(L, b, i, &out->area);
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) given |= read_option(L, b, i, out);
    check_fields(L, b, i, &out->area, given);
}

void laoi_area(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out) {
    laoi_node_area(L, b, i, out);
    if (out->area.outside) laoi_argerror(L, i, "'outside' is for the nodes of a space only");
}

/* ---- areas to Lua ------------------------------------------------------------------------------------------------ */

static void push_numbers(lua_State *L, const char *name, const double *v, int n) {
    lua_createtable(L, n, 0);
    laoi_set_numbers(L, -1, 1, v, n);
    lua_setfield(L, -2, name);
}

void laoi_set_number(lua_State *L, const char *name, double v) {
    lua_pushnumber(L, v);
    lua_setfield(L, -2, name);
}

void laoi_set_string(lua_State *L, const char *name, const char *v) {
    lua_pushstring(L, v);
    lua_setfield(L, -2, name);
}

void laoi_set_flag(lua_State *L, const char *name, bool v) {
    lua_pushboolean(L, v);
    lua_setfield(L, -2, name);
}

void laoi_set_integer(lua_State *L, const char *name, int64_t v) {
    laoi_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

void laoi_push_area(lua_State *L, const laoi_space *b, const aoi_area *a) {
    unsigned has = aoi_shape_takes(a->shape, b->dims);
    lua_createtable(L, 0, 5);
    laoi_set_string(L, "shape", aoi_shape_name(a->shape));
    laoi_set_integer(L, "mask", (int64_t)a->mask);
    if (a->layered) laoi_set_integer(L, "layers", (int64_t)a->layers);
    if (a->label) laoi_set_string(L, "label", a->label);
    if (a->outside) laoi_set_flag(L, "outside", true);
    if (a->fixed) laoi_set_flag(L, "extents_apply", false);
    if (has & AOI_FIELD_RADIUS) laoi_set_number(L, "radius", a->radius);
    if ((has & AOI_FIELD_KEEP) && a->keep > a->radius) laoi_set_number(L, "keep", a->keep);
    if ((has & AOI_FIELD_MARGIN) && a->margin > 0) laoi_set_number(L, "margin", a->margin);
    if (has & AOI_FIELD_EXTENTS) push_numbers(L, "extents", a->extents, b->dims);
    if ((has & AOI_FIELD_HALF_HEIGHT) && !isinf(a->half_height)) laoi_set_number(L, "half_height", a->half_height);
    if (has & AOI_FIELD_FACING) laoi_set_number(L, "facing", a->facing);
    if (has & AOI_FIELD_ANGLE) laoi_set_number(L, "angle", a->angle);
    if (has & AOI_FIELD_POINTS) push_numbers(L, "points", a->points, 2 * a->corners);
}

/* ---- explanations ------------------------------------------------------------------------------------------------ */

/* Pushes a field of the table at 1 as text; ids as exact decimal numbers, in every version of Lua. */
static const char *explanation_field(lua_State *L, const char *name) {
    int64_t id;
    lua_getfield(L, 1, name);
    if ((!strcmp(name, "node") || !strcmp(name, "watcher") || !strcmp(name, "target")) && laoi_tointeger(L, -1, &id))
        return laoi_spell(L, id);
    const char *text = lua_tostring(L, -1);
    return text ? text : "?";
}

/* Text of the other deciding factors, if they differ from the defaults: extent, layers. */
static const char *factors_text(lua_State *L, const char *why) {
    lua_getfield(L, 1, "extent");
    const char *extent = lua_tonumber(L, -1) != 0 ? explanation_field(L, "extent") : NULL;
    if (extent) extent = lua_pushfstring(L, ", extent %s", extent);
    else extent = "";
    if (strcmp(why, "layers") != 0) return extent;
    const char *layers = explanation_field(L, "layers"), *own = explanation_field(L, "node_layers");
    return lua_pushfstring(L, "%s, layers %s of it and %s of the node", extent, layers, own);
}

/* __tostring: an English sentence made from the fields of the table. */
static int explanation_text(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 64, NULL); /* all fields and texts stay on the stack */
    lua_getfield(L, 1, "pending");
    const char *waits = lua_toboolean(L, -1) ? "; an event about it waits" : "";
    lua_getfield(L, 1, "sees");
    const char *verb = lua_toboolean(L, -1) ? "sees" : "does not see";
    lua_getfield(L, 1, "dz");
    bool high = !lua_isnil(L, -1);
    lua_getfield(L, 1, "distance");
    bool measured = !lua_isnil(L, -1);
    const char *node = explanation_field(L, "node"), *watcher = explanation_field(L, "watcher");
    const char *target = explanation_field(L, "target"), *why = explanation_field(L, "why");
    lua_getfield(L, 1, "name"); /* of triggers */
    const char *name = lua_tostring(L, -1);
    lua_getfield(L, 1, "label");
    const char *label = lua_tostring(L, -1),
               *head = lua_pushfstring(L, name ? "Trigger '%s'" : "Node %s", name ? name : node);
    if (label && !name) head = lua_pushfstring(L, "%s '%s'", head, label);
    lua_pushfstring(L, "%s of entity %s %s entity %s: %s", head, watcher, verb, target, why);
    int text = lua_gettop(L);
    if (measured) {
        const char *shape = explanation_field(L, "shape"), *dx = explanation_field(L, "dx");
        const char *dy = explanation_field(L, "dy"), *dz = explanation_field(L, "dz");
        const char *distance = explanation_field(L, "distance"), *kind = explanation_field(L, "kind");
        const char *mask = explanation_field(L, "mask"), *looks = factors_text(L, why);
        lua_getfield(L, 1, "outside");
        const char *of = lua_toboolean(L, -1) ? "outside of a " : "";
        lua_pushfstring(L, " (%s%s, dx %s, dy %s%s%s, distance %s, kind %s, mask %s%s)", of, shape, dx, dy,
                        high ? ", dz " : "", high ? dz : "", distance, kind, mask, looks);
    } else lua_pushliteral(L, "");
    const char *figures = lua_tostring(L, -1);
    lua_getfield(L, 1, "wall"); /* of sights */
    if (!lua_isnil(L, -1)) {
        const char *wall = explanation_field(L, "wall"), *x = explanation_field(L, "x"), *y = explanation_field(L, "y");
        figures = lua_pushfstring(L, "%s, by wall %s at %s, %s", figures, wall, x, y);
    }
    lua_getfield(L, 1, "state"); /* of triggers */
    const char *state = lua_tostring(L, -1);
    lua_pushfstring(L, "%s%s%s%s%s.", lua_tostring(L, text), figures, waits, state ? "; state " : "",
                    state ? state : "");
    return 1;
}

void laoi_push_explanation(lua_State *L, const laoi_space *b, const aoi_explanation *e, const int64_t *ids) {
    static const char *const axes[] = {"dx", "dy", "dz"};
    char label[AOI_MOST_LABEL + 1] = ""; /* building a table may run a finalizer, which may change the area */
    if (e->label) strcpy(label, e->label);
    lua_createtable(L, 0, 13);
    laoi_set_integer(L, "watcher", ids[0]);
    laoi_set_integer(L, "node", ids[1]);
    laoi_set_integer(L, "target", ids[2]);
    laoi_set_flag(L, "sees", e->sees);
    laoi_set_string(L, "why", aoi_why_text(e->why));
    laoi_set_flag(L, "pending", e->pending);
    if (*label) laoi_set_string(L, "label", label);
    if (e->why > AOI_WHY_NO_TARGET) {
        for (int a = 0; a < b->dims; a++) laoi_set_number(L, axes[a], e->d[a]);
        laoi_set_number(L, "distance", e->distance);
        laoi_set_string(L, "shape", aoi_shape_name(e->shape));
        if (e->outside) laoi_set_flag(L, "outside", true);
        laoi_set_integer(L, "kind", (int64_t)e->kind);
        laoi_set_integer(L, "mask", (int64_t)e->mask);
        laoi_set_integer(L, "layers", (int64_t)e->layers);
        laoi_set_integer(L, "node_layers", (int64_t)e->node_layers);
        laoi_set_number(L, "extent", e->extent);
    }
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, explanation_text);
    lua_setfield(L, -2, "__tostring");
    lua_setmetatable(L, -2);
}
