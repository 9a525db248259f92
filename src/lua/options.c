/* options.c - named options: a table in C says what a table in Lua may hold, and where each value goes.
 *
 *   {"quantum", .type = LAOI_POSITIVE, .at = offsetof(aoi_sync_options, quantum)}
 *
 * An unknown name is an error that lists the known ones, and asks for the nearest of them: most are misspelt. */
#include <stddef.h>
#include <string.h>

#include "lua/binding.h"

/* ---- the nearest word -------------------------------------------------------------------------------------------- */

enum { LONGEST_WORD = 20 }; /* longer ones are not compared */

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* The number of letters to insert, remove, replace or swap with their neighbour (optimal string alignment). */
static unsigned edits(const char *a, const char *b) {
    const size_t n = strlen(a), m = strlen(b);
    unsigned d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    if (n > LONGEST_WORD || m > LONGEST_WORD) return LONGEST_WORD;
    for (size_t i = 0; i <= n; i++) d[i][0] = (unsigned)i;
    for (size_t k = 0; k <= m; k++) d[0][k] = (unsigned)k;
    for (size_t i = 1; i <= n; i++)
        for (size_t k = 1; k <= m; k++) {
            const unsigned replaced = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            d[i][k] = least(replaced, least(d[i - 1][k], d[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[n][m];
}

const char *laoi_nearest(lua_State *L, const char *word, const char *const *names) {
    const char *nearest = NULL;
    const size_t n = strlen(word);
    unsigned fewest = 3; /* with more edits it is another word */
    for (; *names; names++) {
        const bool begins = n > 2 && !strncmp(word, *names, n); /* prio: priority */
        const unsigned e = begins ? 2 : edits(word, *names);
        if (e < fewest && e < strlen(*names)) fewest = e, nearest = *names;
    }
    return nearest ? lua_pushfstring(L, "; did you mean '%s'?", nearest) : "";
}

const char *laoi_choices(lua_State *L, const char *const *names) {
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (int k = 0; names[k]; k++) {
        if (k) luaL_addstring(&list, names[k + 1] ? ", " : " or ");
        luaL_addchar(&list, '\'');
        luaL_addstring(&list, names[k]);
        luaL_addchar(&list, '\'');
    }
    luaL_pushresult(&list);
    return lua_tostring(L, -1);
}

/* ---- values: each is on top of the stack --------------------------------------------------------------------------- */

int laoi_bad_option(lua_State *L, int i, const char *name, const char *why) {
    return laoi_argerror(L, i, "bad value for option '%s' (%s, got %s)", name, why, laoi_value(L, lua_gettop(L)));
}

uint32_t laoi_whole_option(lua_State *L, int i, const laoi_option *o) {
    static const char *const whys[] = {"a whole number of 0 or more expected", "a whole number of 1 or more expected"};
    const double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(v >= o->least && v <= (o->most ? o->most : UINT32_MAX) && v == floor(v)))
        laoi_bad_option(L, i, o->name, o->why ? o->why : whys[o->least]);
    return (uint32_t)v;
}

/* The index of the string on top among the names, or -1. */
static int word_of(lua_State *L, const char *const *names) {
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    for (int k = 0; names[k]; k++)
        if (!strcmp(names[k], text)) return k;
    return -1;
}

static void names_of(const char *(*name)(int), const char **out) {
    for (int k = 0; k == 0 || out[k - 1]; k++) out[k] = name(k);
}

int laoi_word(lua_State *L, const char *(*name)(int)) {
    const char *names[LAOI_MOST_NAMES + 1];
    names_of(name, names);
    return word_of(L, names);
}

int laoi_choice(lua_State *L, int i, const char *what, const char *(*name)(int)) {
    const char *names[LAOI_MOST_NAMES + 1];
    names_of(name, names);
    const int k = word_of(L, names);
    if (k >= 0) return k;
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    const char *got = laoi_value(L, lua_gettop(L)), *expected = laoi_choices(L, names);
    return laoi_argerror(L, i, "bad value for %s: %s expected, got %s%s", what, expected, got,
                         laoi_nearest(L, word, names));
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static void read_option_value(lua_State *L, int i, const laoi_option *o, void *to) {
    void *at = (char *)to + o->at;
    const double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    const char *fault = NULL;
    int64_t bits = 0;
    switch (o->type) {
    case LAOI_READ:
        o->read(L, i, o->name, to);
        return;
    case LAOI_WHOLE:
        *(uint32_t *)at = laoi_whole_option(L, i, o);
        return;
    case LAOI_FLAG:
        if (!lua_isboolean(L, -1)) fault = "a boolean expected";
        *(bool *)at = lua_toboolean(L, -1);
        break;
    case LAOI_BITS:
        if (isnan(v) || !laoi_tointeger(L, -1, &bits)) fault = "an integer expected";
        *(uint64_t *)at = (uint64_t)bits;
        break;
    case LAOI_POSITIVE:
        if (!(v > 0) || isinf(v)) fault = "a positive, finite number expected";
        break;
    case LAOI_COORDINATE:
        if (!aoi_is_coordinate(v)) fault = "a number of at most 2^50 either way expected";
        break;
    case LAOI_RADIUS:
        if (!(v >= 0 && (v <= AOI_FARTHEST || isinf(v)))) fault = "a number from 0 to 2^50 expected";
        break;
    }
    if (fault) laoi_bad_option(L, i, o->name, fault);
    if (o->type >= LAOI_POSITIVE) *(double *)at = v;
}

int laoi_unknown(lua_State *L, int i, const char *what, const char *of, const char *const *names) {
    const char *key = laoi_key_name(L, -2), *known = laoi_choices(L, names);
    return laoi_argerror(L, i, "unknown %s '%s'%s%s: %s expected%s", what, key, *of ? " of a " : "", of, known,
                         laoi_nearest(L, key, names));
}

void laoi_read_options(lua_State *L, int i, const laoi_option *options, void *to) {
    const char *names[LAOI_MOST_NAMES + 1];
    size_t n = 0;
    if (lua_isnoneornil(L, i)) return;
    if (!lua_istable(L, i)) laoi_typeerror(L, i, "table");
    for (const laoi_option *o = options; o->name; o++) names[n++] = o->name;
    names[n] = NULL;
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        const int k = word_of(L, names);
        lua_pop(L, 1);
        if (k < 0) laoi_unknown(L, i, "option", "", names);
        read_option_value(L, i, &options[k], to);
    }
}

/* ---- of aoi.new ---------------------------------------------------------------------------------------------------- */

static const char *delivery_name(int k) {
    static const char *const names[] = {"immediate", "deferred", NULL};
    return names[k];
}

static void read_engine(lua_State *L, int i, const char *name, void *to) {
    (void)name;
    ((aoi_options *)to)->engine = aoi_engine_name(laoi_choice(L, i, "option 'engine'", aoi_engine_name));
}

static void read_delivery(lua_State *L, int i, const char *name, void *to) {
    (void)name;
    ((aoi_options *)to)->deferred = laoi_choice(L, i, "option 'delivery'", delivery_name) == 1;
}

static void bad_size(lua_State *L, int i, const char *name, const char *expected) {
    const char *got = laoi_value(L, lua_gettop(L));
    laoi_argerror(L, i, "bad value for option '%s': %s expected, got %s", name, expected, got);
}

static void read_dimensions(lua_State *L, int i, const char *name, void *to) {
    const double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (v != 2 && v != 3) bad_size(L, i, name, "2 or 3");
    ((aoi_options *)to)->dimensions = (int)v;
}

static void read_cell(lua_State *L, int i, const char *name, void *to) {
    const double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(v > 0)) bad_size(L, i, name, "a number > 0");
    ((aoi_options *)to)->cell = v;
}

static const laoi_option space_options[] = {{"engine", .read = read_engine},
                                            {"dimensions", .read = read_dimensions},
                                            {"cell", .read = read_cell},
                                            {"delivery", .read = read_delivery},
                                            {.name = NULL}};

void laoi_options(lua_State *L, int i, aoi_options *o) {
    *o = (aoi_options){0};
    laoi_refuse_module(L, i, "engines", "options: call aoi.new{...}");
    laoi_read_options(L, i, space_options, o);
    laoi_no_more(L, i + 1);
}
