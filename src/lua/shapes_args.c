/* shapes_args.c - areas between Lua and the core: tables with the fields of a shape, and explanations.
 *
 * The core decides which fields a shape takes, and checks their values (core/shapes.h). */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

enum field_type { NUMBER, NUMBERS, OUTLINE, BITS, FLAG, SHAPE, LABEL };

static const struct {
    const char *name;
    unsigned bit; /* 0: all shapes have it */
    enum field_type type;
    size_t at; /* in an area */
} fields[] = {
    {"radius", AOI_FIELD_RADIUS, NUMBER, offsetof(aoi_area, radius)},
    {"keep", AOI_FIELD_KEEP, NUMBER, offsetof(aoi_area, keep)},
    {"margin", AOI_FIELD_MARGIN, NUMBER, offsetof(aoi_area, margin)},
    {"extents", AOI_FIELD_EXTENTS, NUMBERS, offsetof(aoi_area, extents)},
    {"half_height", AOI_FIELD_HALF_HEIGHT, NUMBER, offsetof(aoi_area, half_height)},
    {"facing", AOI_FIELD_FACING, NUMBER, offsetof(aoi_area, facing)},
    {"angle", AOI_FIELD_ANGLE, NUMBER, offsetof(aoi_area, angle)},
    {"points", AOI_FIELD_POINTS, OUTLINE, 0},
    {"rings", AOI_FIELD_RINGS, OUTLINE, 0},
    {"shape", 0, SHAPE, 0},
    {"mask", 0, BITS, offsetof(aoi_area, mask)},
    {"layers", 0, BITS, offsetof(aoi_area, layers)},
    {"outside", 0, FLAG, offsetof(aoi_area, outside)},
    {"extents_apply", 0, FLAG, offsetof(aoi_area, fixed)}, /* the opposite */
    {"offset", 0, NUMBERS, offsetof(aoi_area, offset)},
    {"label", 0, LABEL, 0},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* ---- areas from Lua ---------------------------------------------------------------------------------------------- */

static double field_number(lua_State *L, int i, const char *name) {
    if (lua_type(L, -1) != LUA_TNUMBER)
        laoi_argerror(L, i, "number expected for '%s', got %s", name, laoi_got(L, lua_gettop(L)));
    return lua_tonumber(L, -1);
}

/* Reads at most `most` numbers of the array on top of the stack into `out`, if that is not NULL; returns its length. */
static size_t field_numbers(lua_State *L, int i, const char *name, double *out, size_t most) {
    if (!lua_istable(L, -1)) laoi_argerror(L, i, "table expected for '%s', got %s", name, laoi_got(L, lua_gettop(L)));
    size_t n = lua_rawlen(L, -1);
    for (size_t k = 0; k < n && k < most; k++) {
        if (laoi_rawgeti(L, -1, (laoi_index)k + 1) != LUA_TNUMBER)
            laoi_argerror(L, i, "number expected in '%s', got %s", name, laoi_got(L, lua_gettop(L)));
        if (out) out[k] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    return n;
}

static const char *read_label(lua_State *L, int i, char *to) {
    size_t n = 0;
    const char *label = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &n) : "";
    if (!n || n > AOI_MOST_LABEL || strlen(label) != n)
        laoi_argerror(L, i, "bad value for 'label': a string of 1 to %d bytes other than 0 expected", AOI_MOST_LABEL);
    return memcpy(to, label, n + 1);
}

/* Reads the value on top of the stack; the shape has been read, and outlines have their turn behind all others. */
static void read_field(lua_State *L, const laoi_space *b, int i, int k, laoi_area_arg *out) {
    aoi_area *a = &out->area;
    void *at = (char *)a + fields[k].at;
    const char *name = fields[k].name;
    int64_t bits;
    switch (fields[k].type) {
    case NUMBER:
        *(double *)at = field_number(L, i, name);
        break;
    case NUMBERS:
        if (field_numbers(L, i, name, at, 3) != (size_t)b->dims)
            laoi_argerror(L, i, "'%s' must have %d numbers", name, b->dims);
        break;
    case BITS:
        (void)field_number(L, i, name);
        if (!laoi_tointeger(L, -1, &bits))
            laoi_argerror(L, i, "integer expected for '%s', got %s", name, laoi_value(L, lua_gettop(L)));
        *(uint64_t *)at = (uint64_t)bits;
        *(at == (void *)&a->mask ? &out->masked : &a->layered) = true;
        break;
    case FLAG:
        if (!lua_isboolean(L, -1)) laoi_argerror(L, i, "boolean expected for '%s', got %s", name, luaL_typename(L, -1));
        *(bool *)at = lua_toboolean(L, -1) != (at == (void *)&a->fixed);
        break;
    case LABEL:
        a->label = read_label(L, i, out->label);
        break;
    case SHAPE:
    case OUTLINE:
        break;
    }
}

bool laoi_outline_room(lua_State *L, laoi_area_arg *out, double **points, int **ends) {
    /* cppcheck-suppress ctuuninitvar ; the caller has set what is read */
    const size_t corners = (size_t)out->area.corners, rings = (size_t)out->area.rings;
    const bool few = corners <= LAOI_FEW_CORNERS;
    *points = few ? out->points : lua_newuserdata(L, 2 * corners * sizeof **points + rings * sizeof **ends);
    *ends = few ? out->ends : (int *)(void *)(*points + 2 * corners);
    return !few;
}

/* Reads the ring on top of the stack to *to if that is not NULL; returns the number of its corners. */
static int read_corners(lua_State *L, int i, const char *name, double *to, int most) {
    const size_t n = field_numbers(L, i, name, to, to ? 2 * (size_t)most : 1);
    if (n % 2 || n < 6 || n > 2 * (size_t)most)
        laoi_argerror(L, i, "%s'%s' must have x and y of 3 to %d corners%s", *name == 'r' ? "each of " : "", name,
                      AOI_MOST_CORNERS, *name == 'r' ? ", that many in all" : "");
    return (int)(n / 2);
}

/* Reads points, or rings, of the table at i, for which they are exchanged if they are many.  First they are counted; room
 * for them may be made by a finalizer that changes them. */
static void read_outline(lua_State *L, int i, const char *name, laoi_area_arg *out) {
    const bool one = !strcmp(name, "points");
    aoi_area *a = &out->area;
    double *points = NULL;
    int *ends = NULL;
    bool many = false;
    (void)laoi_rawfield(L, i, name);
    const int list = lua_gettop(L);
    if (!one && !lua_istable(L, list))
        laoi_argerror(L, i, "table expected for 'rings', got %s", luaL_typename(L, list));
    const size_t n = one ? 1 : lua_rawlen(L, list);
    if (n < 1 || n > AOI_MOST_CORNERS / 3) laoi_argerror(L, i, "'rings' must have 1 to %d rings", AOI_MOST_CORNERS / 3);
    for (int pass = 0; pass < 2; pass++) {
        int corners = 0;
        for (size_t k = 0; k < n; k++) {
            if (one) lua_pushvalue(L, list);
            else lua_rawgeti(L, list, (laoi_index)k + 1);
            const int most = (pass ? a->corners : AOI_MOST_CORNERS) - corners;
            corners += read_corners(L, i, name, pass ? points + 2 * corners : NULL, most);
            if (pass) ends[k] = corners;
            lua_pop(L, 1);
        }
        if (pass && corners != a->corners) laoi_argerror(L, i, "'%s' has been changed meanwhile", name);
        a->corners = corners, a->rings = (int)n;
        if (!pass) many = laoi_outline_room(L, out, &points, &ends);
    }
    a->points = points, a->ends = ends;
    if (many) lua_replace(L, i);
    lua_pop(L, 1);
}

static int refuse_field(lua_State *L, const laoi_space *b, int i, int shape, unsigned bit, const char *name) {
    if (aoi_shape_takes(shape, 3) & bit)
        return laoi_argerror(L, i, "a %s in %d dimensions has no '%s'", aoi_shape_name(shape), b->dims, name);
    return laoi_argerror(L, i, "a %s has no '%s'", aoi_shape_name(shape), name);
}

static unsigned refuse_unknown(lua_State *L, const laoi_space *b, int i, int shape) {
    const char *names[FIELD_COUNT + 1];
    size_t n = 0;
    for (int k = 0; k < FIELD_COUNT; k++)
        if (!fields[k].bit || aoi_shape_takes(shape, b->dims) & fields[k].bit) names[n++] = fields[k].name;
    names[n] = NULL;
    const char *key = laoi_key_name(L, -2);
    if (!strcmp(key, "enter") || !strcmp(key, "leave"))
        laoi_argerror(L, i, "an area expected, got handlers: they come after the node id and the area");
    lua_pop(L, 1);
    laoi_unknown(L, i, "area option", aoi_shape_name(shape), names);
    return 0;
}

/* Reads a key and its value, on top of the stack, after the shape.  Returns the bit of the field, 0: for all shapes. */
static unsigned read_option(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out) {
    const int shape = out->area.shape;
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    for (int k = 0; k < FIELD_COUNT; k++) {
        const unsigned bit = fields[k].bit;
        if (strcmp(fields[k].name, name) != 0) continue;
        if (bit && !(aoi_shape_takes(shape, b->dims) & bit)) refuse_field(L, b, i, shape, bit, name);
        read_field(L, b, i, k, out);
        return bit;
    }
    return refuse_unknown(L, b, i, shape);
}

/* The value is named where the fault begins with a field that is a number. */
static void refuse_fault(lua_State *L, int i, const aoi_area *a, const char *fault) {
    for (int k = 0; k < FIELD_COUNT; k++) {
        const size_t n = strlen(fields[k].name);
        char got[32];
        double v;
        if (fields[k].type != NUMBER || strncmp(fault, fields[k].name, n) != 0 || fault[n] != ' ') continue;
        memcpy(&v, (const char *)a + fields[k].at, sizeof v);
        snprintf(got, sizeof got, "%.14g", v);
        laoi_argerror(L, i, "%s, got %s", fault, got);
    }
    laoi_argerror(L, i, "%s", fault);
}

static void check_fields(lua_State *L, const laoi_space *b, int i, const aoi_area *a, unsigned given) {
    unsigned missing = aoi_shape_needs(a->shape, b->dims) & ~given;
    if (given & AOI_FIELD_RINGS) missing &= ~(unsigned)AOI_FIELD_POINTS;
    if ((given & AOI_FIELD_RINGS) && (given & AOI_FIELD_POINTS))
        laoi_argerror(L, i, "'points' and 'rings' exclude each other");
    for (int k = 0; k < FIELD_COUNT; k++) {
        if (!(missing & fields[k].bit)) continue;
        const bool rings = fields[k].bit == AOI_FIELD_POINTS;
        laoi_argerror(L, i, "%s expected for '%s'%s of a %s, got nil", fields[k].type == NUMBER ? "number" : "table",
                      fields[k].name, rings ? " or 'rings'" : "", aoi_shape_name(a->shape));
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
    if (given & (AOI_FIELD_POINTS | AOI_FIELD_RINGS))
        read_outline(L, i, given & AOI_FIELD_RINGS ? "rings" : "points", out);
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
    if (aoi_area_has_offset(b->dims, a)) push_numbers(L, "offset", a->offset, b->dims);
    if (has & AOI_FIELD_RADIUS) laoi_set_number(L, "radius", a->radius);
    if ((has & AOI_FIELD_KEEP) && a->keep > a->radius) laoi_set_number(L, "keep", a->keep);
    if ((has & AOI_FIELD_MARGIN) && a->margin > 0) laoi_set_number(L, "margin", a->margin);
    if (has & AOI_FIELD_EXTENTS) push_numbers(L, "extents", a->extents, b->dims);
    if ((has & AOI_FIELD_HALF_HEIGHT) && !isinf(a->half_height)) laoi_set_number(L, "half_height", a->half_height);
    if (has & AOI_FIELD_FACING) laoi_set_number(L, "facing", a->facing);
    if (has & AOI_FIELD_ANGLE) laoi_set_number(L, "angle", a->angle);
    if (!(has & AOI_FIELD_POINTS)) return;
    if (!a->rings) {
        push_numbers(L, "points", a->points, 2 * a->corners);
        return;
    }
    lua_createtable(L, a->rings, 0);
    for (int k = 0, from = 0; k < a->rings; from = a->ends[k++]) {
        lua_createtable(L, 2 * (a->ends[k] - from), 0);
        laoi_set_numbers(L, -1, 1, a->points + 2 * (size_t)from, 2 * (a->ends[k] - from));
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "rings");
}

/* ---- explanations ------------------------------------------------------------------------------------------------ */

void laoi_give_text(lua_State *L) {
    luaL_getmetatable(L, LAOI_EXPLANATION);
    lua_setmetatable(L, -2);
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
        if (e->shape == AOI_SECTOR) laoi_set_number(L, "facing", e->facing);
        if (e->outside) laoi_set_flag(L, "outside", true);
        laoi_set_integer(L, "kind", (int64_t)e->kind);
        laoi_set_integer(L, "mask", (int64_t)e->mask);
        laoi_set_integer(L, "layers", (int64_t)e->layers);
        laoi_set_integer(L, "node_layers", (int64_t)e->node_layers);
        laoi_set_number(L, "extent", e->extent);
        if (e->offset[0] != 0 || e->offset[1] != 0 || e->offset[2] != 0) push_numbers(L, "offset", e->offset, b->dims);
    }
    laoi_give_text(L);
}
