/* world_map.c - the tiles of the plane, for Lua: the owner of each tile, and the shards that receive entities on it.
 *
 *   tile       floor(x / side), side a power of two: exactly the same on every machine
 *   grid       columns x rows of tiles from `first` on; the outermost tiles are unbounded
 *   audience   of a tile: all shards that own a tile within `halo` tiles of it, on either axis, its owner included
 *   box        the userdata of a map: refers to shared tiles (world_tiles.c), to other ones after `assign`
 *
 * Clamping coordinates to the grid never increases the distance of two tiles, so audiences outside are complete. */
#include "skynet/world.h"

#define MAP_NAME "aoi.world.map"

enum { MOST_TILES = 1 << 22, MOST_SHARDS = 4096 };

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static inline uint32_t cut(double v, double first, uint32_t count) {
    double at = floor(v) - first;
    return at <= 0 ? 0 : at >= count - 1.0 ? count - 1 : (uint32_t)at;
}

uint32_t world_tile(const world_map *m, double x, double y) {
    return cut(y / m->tile, m->first[1], m->rows) * m->columns + cut(x / m->tile, m->first[0], m->columns);
}

bool world_stays(const world_map *m, uint32_t shard, const double *pos) {
    double h = m->hysteresis;
    if (world_owner(m, pos) == shard) return true;
    return h > 0 && (m->owners[world_tile(m, pos[0] - h, pos[1] - h)] == shard ||
                     m->owners[world_tile(m, pos[0] + h, pos[1] - h)] == shard ||
                     m->owners[world_tile(m, pos[0] - h, pos[1] + h)] == shard ||
                     m->owners[world_tile(m, pos[0] + h, pos[1] + h)] == shard);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static const char MAP_MARK = 0;

world_box *world_check_box(lua_State *L, int i) {
    world_box *box = lua_touserdata(L, i);
    const bool is_box = box && lua_rawlen(L, i) == sizeof *box && box->mark == &MAP_MARK;
    if (!is_box) laoi_typeerror(L, i, MAP_NAME);
    else if (!box->map) luaL_error(L, "attempt to use a closed map");
    return box;
}

static const world_map *check_map(lua_State *L) {
    return world_check_box(L, 1)->map;
}

static uint32_t tile_arg(lua_State *L, const world_map *m) {
    double x = laoi_finite(L, 2), y = laoi_finite(L, 3);
    return world_tile(m, x, y);
}

uint32_t world_shard_argument(lua_State *L, const world_map *m, int i) {
    int64_t shard = laoi_integer(L, i);
    if (shard < 1 || shard > (int64_t)m->shards) laoi_argerror(L, i, "the map has %d shards", (int)m->shards);
    return (uint32_t)shard;
}

/* owner(x, y): the owner of the tile there. */
static int m_owner(lua_State *L) {
    const world_map *m = check_map(L);
    lua_pushinteger(L, m->owners[tile_arg(L, m)]);
    return 1;
}

int world_push_shards(lua_State *L, world_members shards) {
    lua_createtable(L, (int)shards.count, 0);
    for (uint32_t i = 0; i < shards.count; i++) laoi_set_item(L, -1, (laoi_index)i + 1, shards.at[i]);
    return 1;
}

/* audience(x, y): a list of the shards in the audience of the tile there. */
static int m_audience(lua_State *L) {
    const world_map *m = check_map(L);
    const world_set *set = m->sets + m->audience[tile_arg(L, m)];
    return world_push_shards(L, (world_members){m->members + set->first, set->count});
}

/* stays(shard, x, y): whether a real entity of the shard stays with it there. */
static int m_stays(lua_State *L) {
    const world_map *m = check_map(L);
    double pos[2] = {laoi_finite(L, 3), laoi_finite(L, 4)};
    lua_pushboolean(L, world_stays(m, (uint32_t)laoi_integer(L, 2), pos));
    return 1;
}

/* around(x, y, ex, ey): the owners of all tiles that the box, enlarged by the hysteresis, touches: an entity in the box
 * is real in one of these shards. */
static int m_around(lua_State *L) {
    const world_map *m = check_map(L);
    double x = laoi_finite(L, 2), y = laoi_finite(L, 3);
    double ex = laoi_number(L, 4), ey = laoi_number(L, 5); /* of a greatest radius and what the world adds to it */
    if (!(ex >= 0 && ey >= 0)) return laoi_argerror(L, 4, "sizes from 0 on expected");
    ex = (ex + m->hysteresis) * 1.000001;
    ey = (ey + m->hysteresis) * 1.000001;
    uint32_t left = cut((x - ex) / m->tile, m->first[0], m->columns), n = 0;
    uint32_t right = cut((x + ex) / m->tile, m->first[0], m->columns);
    uint32_t low = cut((y - ey) / m->tile, m->first[1], m->rows), high = cut((y + ey) / m->tile, m->first[1], m->rows);
    unsigned char *seen = laoi_newbuffer(L, (size_t)m->shards + 1);
    memset(seen, 0, (size_t)m->shards + 1);
    lua_newtable(L);
    for (uint32_t r = low; r <= high; r++) {
        for (uint32_t c = left; c <= right; c++) {
            uint16_t owner = m->owners[r * m->columns + c];
            if (seen[owner]) continue;
            seen[owner] = 1;
            laoi_set_item(L, -1, (laoi_index)++n, owner);
        }
    }
    return 1;
}

enum { ASSIGNED_ROW = 6 };

/* Sets the owners of the tiles; recomputes the audiences within the halo of their bounding rectangle. */
static bool assign_rows(world_map *m, const unsigned char *bytes, size_t size) {
    uint32_t left = m->columns, low = m->rows, right = 0, high = 0;
    for (size_t i = 0; i < size; i += ASSIGNED_ROW) {
        uint32_t tile = (uint32_t)aoi_peek_bytes(bytes + i, 4), x = tile % m->columns, y = tile / m->columns;
        m->owners[tile] = (uint16_t)aoi_peek_bytes(bytes + i + 4, 2);
        left = x < left ? x : left;
        right = x > right ? x : right;
        low = y < low ? y : low;
        high = y > high ? y : high;
    }
    return world_find_audiences(m, world_halo_low(m, left), world_halo_low(m, low),
                                world_halo_high(m, right, m->columns), world_halo_high(m, high, m->rows));
}

/* assign(rows): gives tiles new owners; a row is u32 tile (row * columns + column), u16 shard.  Numbers of sets stay
 * valid.  Raises an error for an invalid tile or shard, or if memory is refused: then nothing has changed. */
static int m_assign(lua_State *L) {
    world_box *box = world_check_box(L, 1);
    const world_map *m = box->map;
    size_t size;
    const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, 2, &size);
    bool good = size % ASSIGNED_ROW == 0;
    for (size_t i = 0; good && i < size; i += ASSIGNED_ROW) {
        uint64_t tile = aoi_peek_bytes(bytes + i, 4), shard = aoi_peek_bytes(bytes + i + 4, 2);
        good = tile < (uint64_t)m->columns * m->rows && shard >= 1 && shard <= m->shards;
    }
    if (!good) return laoi_argerror(L, 2, "tiles and shards of the map expected");
    if (!size) return 0;
    world_map *other = world_new_map(m);
    if (!other) return laoi_nomemory(L);
    if (!assign_rows(other, bytes, size)) {
        world_drop_map(other);
        return laoi_nomemory(L);
    }
    world_release_map(box->map);
    box->map = world_share_map(other);
    return 0;
}

/* owners(): the owners of all tiles as a string, in the format of the option of `map`. */
static int m_owners(lua_State *L) {
    const world_map *m = check_map(L);
    size_t n = (size_t)m->columns * m->rows;
    unsigned char *bytes = laoi_newbuffer(L, 2 * n);
    for (size_t i = 0; i < n; i++) aoi_put_bytes(bytes + 2 * i, m->owners[i], 2);
    lua_pushlstring(L, (const char *)bytes, 2 * n);
    return 1;
}

static int m_gc(lua_State *L) {
    world_box *box = laoi_object(L, MAP_NAME);
    if (box->map) world_release_map(box->map);
    box->map = NULL;
    return 0;
}

/* Reads the owners; returns the largest shard number, 0: a tile has no owner. */
static uint32_t fill_owners(world_map *m, const unsigned char *bytes, uint32_t n) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->owners[i] = (uint16_t)aoi_peek_bytes(bytes + 2 * (size_t)i, 2);
        if (!m->owners[i]) return 0; /* shards count from 1 */
        if (m->owners[i] > last) last = m->owners[i];
    }
    return last;
}

/* map { columns, rows, column, row, tile, hysteresis, halo, owners [, shards] }: owners is a string of u16, row by row;
 * `column` and `row` are the first tile of the grid; shards: their number, if some of them own no tile. */
static int l_map(lua_State *L) {
    static const char *const names[] = {"columns", "rows", "halo", "column", "row", "tile", "hysteresis"};
    double v[7];
    size_t size;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    for (int i = 0; i < 7; i++) {
        lua_getfield(L, 1, names[i]);
        v[i] = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
        if (!isfinite(v[i])) return laoi_argerror(L, 1, "bad value for option '%s'", names[i]);
    }
    lua_getfield(L, 1, "shards");
    double shards = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(shards >= 0 && shards <= MOST_SHARDS)) return laoi_argerror(L, 1, "bad value for option 'shards'");
    lua_getfield(L, 1, "owners");
    const char *bytes = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
    if (!(v[0] >= 1 && v[1] >= 1 && v[0] * v[1] <= MOST_TILES && v[2] >= 1 && v[2] <= MOST_TILES && v[5] > 0 &&
          v[6] >= 0 && 2 * v[6] <= v[5]))
        return laoi_argerror(L, 1, "a map of that size is impossible");
    uint32_t n = (uint32_t)v[0] * (uint32_t)v[1];
    if (!bytes || size != 2 * (size_t)n) return laoi_argerror(L, 1, "bad value for option 'owners'");
    world_box *box = laoi_new_object(L, sizeof *box);
    box->mark = &MAP_MARK;
    world_map like = {.columns = (uint32_t)v[0],
                      .rows = (uint32_t)v[1],
                      .halo = (uint32_t)v[2],
                      .first = {v[3], v[4]},
                      .tile = v[5],
                      .hysteresis = v[6]};
    world_map *m = world_new_map(&like);
    if (!m) return laoi_nomemory(L);
    uint32_t last = fill_owners(m, (const unsigned char *)bytes, n);
    m->shards = last > shards ? last : (uint32_t)shards;
    if (!last || m->shards > MOST_SHARDS) {
        world_drop_map(m);
        return laoi_argerror(L, 1, "shards are numbers from 1 to %d", MOST_SHARDS);
    }
    if (!world_find_audiences(m, 0, 0, m->columns - 1, m->rows - 1)) {
        world_drop_map(m);
        return laoi_nomemory(L);
    }
    box->map = world_share_map(m);
    return 1;
}

void world_open_map(lua_State *L) {
    static const luaL_Reg methods[] = {{"owner", m_owner},   {"audience", m_audience}, {"stays", m_stays},
                                       {"around", m_around}, {"assign", m_assign},     {"owners", m_owners},
                                       {NULL, NULL}};
    laoi_set_type(L, MAP_NAME, "map", l_map, methods, m_gc);
}
