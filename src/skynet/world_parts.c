/* world_parts.c - the router's part of the data of an epoch from one shard for another: rows of positions.
 *
 *   part      u8 bytes of an id (4 or 8), then sections
 *   section   u8 tag, u32 rows, u32 bytes, the rows
 *
 *   tag       row                                      meaning for the receiver
 *   1 MOVE    id, f64 x, y [, z]                       its ghost moves
 *   2 NEAR    id, u32 life, i64 kind, x, y [, z]       joins the audience of the entity: adds a ghost
 *   3 FAR     id, x, y [, z]                           leaves the audience of the entity: removes its ghost
 *   4 GONE    id                                       the entity has left the world
 *   5 ENTER   as NEAR                                  the entity has entered the world
 *   6 KIND    id, i64 kind                             the entity has a new kind
 *
 * What else goes to the shard, and the bytes around: lua/aoi/skynet/world/epoch.lua. */
#include "base/crc32.h"
#include "skynet/world.h"

enum { PART_HEAD = 1, SECTION_HEAD = 9 };

/* What rows of a tag have behind the id, in this order. */
enum { HAS_LIFE = 1, HAS_KIND = 2, HAS_POSITION = 4 };
static const uint8_t row_fields[WORLD_TAGS] = {[WORLD_MOVE] = HAS_POSITION,
                                               [WORLD_NEAR] = HAS_LIFE | HAS_KIND | HAS_POSITION,
                                               [WORLD_FAR] = HAS_POSITION,
                                               [WORLD_ENTER] = HAS_LIFE | HAS_KIND | HAS_POSITION,
                                               [WORLD_KIND] = HAS_KIND};

static size_t row_size(int tag, int width, int dims) {
    const unsigned has = row_fields[tag];
    return (size_t)(width + (has & HAS_LIFE ? 4 : 0) + (has & HAS_KIND ? 8 : 0) + (has & HAS_POSITION ? 8 * dims : 0));
}

unsigned char *world_append(aoi_memory *m, world_bytes *b, size_t more) {
    if (more > UINT32_MAX - (size_t)b->size || !AOI_GROW(m, b->at, b->cap, b->size + more)) return NULL;
    b->size += (uint32_t)more;
    return b->at + b->size - more;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool world_write(world_router *r, uint32_t shard, int tag, const world_row *row) {
    const int dims = r->space->dims;
    world_bytes *out = r->out + (size_t)shard * WORLD_TAGS + tag;
    unsigned char *at = world_append(&r->memory, out, row_size(tag, r->width, dims));
    if (!at) return false;
    r->rows[tag]++;
    at = wire_put_id(at, row->id, r->width);
    if (row_fields[tag] & HAS_LIFE) at = aoi_put_bytes(at, row->life, 4);
    if (row_fields[tag] & HAS_KIND) at = aoi_put_bytes(at, row->kind, 8);
    if (row_fields[tag] & HAS_POSITION) (void)aoi_put_doubles(at, row->pos, dims);
    return true;
}

/* part(shard): takes the part of the closed epoch for a shard, a string; nil: it has no rows. */
static int r_part(lua_State *L) {
    world_router *r = world_self(L);
    world_bytes *out = r->out + (size_t)world_shard_argument(L, r->map, 2) * WORLD_TAGS;
    size_t size = 0;
    for (int tag = 1; tag < WORLD_TAGS; tag++) size += out[tag].size ? SECTION_HEAD + (size_t)out[tag].size : 0;
    if (!size) return 0;
    unsigned char *bytes = laoi_newbuffer(L, size + PART_HEAD), *at = bytes + PART_HEAD;
    bytes[0] = (unsigned char)r->width;
    for (int tag = 1; tag < WORLD_TAGS; tag++) {
        if (!out[tag].size) continue;
        at[0] = (unsigned char)tag;
        aoi_put_bytes(at + 1, out[tag].size / row_size(tag, r->width, r->space->dims), 4);
        aoi_put_bytes(at + 5, out[tag].size, 4);
        memcpy(at + SECTION_HEAD, out[tag].at, out[tag].size);
        at += SECTION_HEAD + out[tag].size;
    }
    lua_pushlstring(L, (const char *)bytes, size + PART_HEAD);
    for (int tag = 1; tag < WORLD_TAGS; tag++) out[tag].size = 0;
    return 1;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct section {
    int tag;
    size_t rows, size;
    const unsigned char *at;
} section;

/* Reads a row; pos: three numbers, in which its position is stored. */
AOI_INLINE world_row read_row(const unsigned char *at, int tag, int width, int dims, double *pos) {
    world_row row = {.id = wire_get_id(at, width), .pos = pos};
    const unsigned has = row_fields[tag];
    at += width;
    if (has & HAS_LIFE) row.life = (uint32_t)aoi_peek_bytes(at, 4), at += 4;
    if (has & HAS_KIND) row.kind = aoi_peek_bytes(at, 8), at += 8;
    for (int a = 0; a < dims && has & HAS_POSITION; a++) pos[a] = aoi_peek_double(at + 8 * a);
    return row;
}

/* Finds the section of a tag; false: the part has none. */
static bool find_section(const unsigned char *bytes, size_t size, int tag, section *s) {
    /* cppcheck-suppress ctuuninitvar ; it is set before it is read */
    for (const unsigned char *at = bytes + PART_HEAD; at < bytes + size; at = s->at + s->size) {
        *s = (section){.tag = at[0], .at = at + SECTION_HEAD};
        s->rows = (size_t)aoi_peek_bytes(at + 1, 4);
        s->size = (size_t)aoi_peek_bytes(at + 5, 4);
        if (s->tag == tag) return true;
    }
    return false;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* The slot of a ghost; AOI_NONE: unknown, which is legal after the loss of a process (`parts_missing`).  In other cases
 * a row for an entity that is not a ghost violates the protocol: the error ends the world. */
static uint32_t ghost_slot(lua_State *L, world_router *r, int64_t id, const char *what) {
    world_record *record;
    uint32_t slot = world_slot(r, id, &record);
    if (!record && r->parts_missing) return AOI_NONE;
    if (!record || record->flags & WORLD_REAL)
        luaL_error(L, "aoi: shard %d received that %s is %s, which is %s there", (int)r->self, laoi_spell(L, id), what,
                   record ? "its own" : "unknown");
    return slot;
}

/* Whether the row confirms an unconfirmed ghost, from its owner or, after a loss, from its new owner: then updates the
 * ghost.  A ghost of an earlier life, the end of which was lost with a shard, leaves the core, with leave events. */
static bool confirm_ghost(lua_State *L, world_router *r, const world_row *row) {
    world_record *record;
    uint32_t slot = world_slot(r, row->id, &record);
    if (!record || record->flags & WORLD_REAL) return false;
    if (record->life != row->life) laoi_done(L, aoi_leave(r->space->core, world_handle(r, slot)));
    if (record->life != row->life || !(record->unconfirmed || r->parts_missing)) return false;
    record->unconfirmed = 0;
    laoi_done(L, aoi_move(r->space->core, world_handle(r, slot), row->pos));
    if (aoi_kind_of(r->space->core, slot) != row->kind)
        laoi_done(L, aoi_set_kind(r->space->core, world_handle(r, slot), row->kind));
    return true;
}

static void apply_enter(lua_State *L, world_router *r, const world_row *row) {
    aoi_entity e = {0, 0};
    if (confirm_ghost(L, r, row)) return;
    int result = aoi_enter(r->space->core, row->id, row->pos, row->kind, &e);
    if (result == AOI_EEXIST)
        luaL_error(L, "aoi: shard %d received entity %s twice", (int)r->self, laoi_spell(L, row->id));
    laoi_done(L, result);
    if (!world_note(r, e.index, row->life, 0)) laoi_nomemory(L);
}

/* Applies MOVE, FAR, GONE or KIND.  On FAR a wanted ghost is not removed: it moves to the given position. */
static void apply_other(lua_State *L, world_router *r, int tag, const world_row *row) {
    const char *what = tag == WORLD_MOVE ? "moved" : tag == WORLD_KIND ? "of another kind" : "far";
    uint32_t slot = ghost_slot(L, r, row->id, what);
    if (slot == AOI_NONE) return;
    const bool wanted = tag == WORLD_FAR && r->records[slot].flags & WORLD_WANTED;
    if (wanted) r->records[slot].unconfirmed = r->epoch - 1; /* the closed one */
    if (tag == WORLD_KIND) laoi_done(L, aoi_set_kind(r->space->core, world_handle(r, slot), row->kind));
    else if (tag == WORLD_MOVE || wanted) laoi_done(L, aoi_move(r->space->core, world_handle(r, slot), row->pos));
    else laoi_done(L, aoi_leave(r->space->core, world_handle(r, slot)));
}

enum { ROWS_FETCHED = 8 }; /* distance of the prefetch */

/* apply(tag, bytes, parts_missing): applies the rows with that tag to ghosts; returns their number.  parts_missing:
 * parts of earlier epochs may be lost with a process: skips rows of unknown ghosts, and NEAR confirms known ones. */
static int r_apply(lua_State *L) {
    world_router *r = world_self(L);
    size_t size;
    int tag = (int)laoi_integer(L, 2), dims = r->space->dims;
    const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, 3, &size);
    section s;
    if (tag < 1 || tag >= WORLD_TAGS || !find_section(bytes, size, tag, &s)) return 0;
    const int width = bytes[0];
    const size_t each = row_size(tag, width, dims);
    const aoi_space *core = r->space->core;
    double pos[3] = {0};
    r->parts_missing = lua_toboolean(L, 4);
    for (size_t i = 0; i < s.rows; i++, s.at += each) {
        if (i + ROWS_FETCHED < s.rows) {
            const int64_t ahead = wire_get_id(s.at + ROWS_FETCHED * each, width);
            aoi_hash_index_fetch(&core->ids, aoi_id_hash(&core->records.hash_key, ahead));
        }
        const world_row row = read_row(s.at, tag, width, dims, pos);
        if (tag == WORLD_NEAR || tag == WORLD_ENTER) apply_enter(L, r, &row);
        else apply_other(L, r, tag, &row);
    }
    return LAOI_INTEGERS(L, (int64_t)s.rows);
}

/* apply_moves(): applies the moves of the closed epoch, of own entities and of ones that have been handed over. */
static int r_apply_moves(lua_State *L) {
    world_router *r = world_self(L);
    for (uint32_t i = 0; i < r->closed_count; i++)
        if (r->closed[i].slot != AOI_NONE)
            laoi_done(L, aoi_move(r->space->core, world_handle(r, r->closed[i].slot), r->closed[i].pos));
    r->closed_count = 0;
    r->announces_all = false;
    return 0;
}

/* closed_rows(epoch): the moves that apply_moves would apply, as MOVES of client 0, batch `epoch`. */
static int r_closed_rows(lua_State *L) {
    world_router *r = world_self(L);
    const aoi_entity_record *entities = r->space->core->records.entities;
    wire_moves m = {.dims = r->space->dims, .width = 8, .batch = (uint32_t)laoi_integer(L, 2)};
    unsigned char *bytes = laoi_newbuffer(L, wire_moves_size(r->closed_count, m.width, m.dims));
    unsigned char *at = bytes + WIRE_MOVES_HEAD;
    for (uint32_t i = 0; i < r->closed_count; i++) {
        if (r->closed[i].slot == AOI_NONE) continue;
        at = wire_put_row(at, entities[r->closed[i].slot].id, r->closed[i].pos, m.width, m.dims);
        m.count++;
    }
    wire_put_moves(bytes, &m);
    lua_pushlstring(L, (const char *)bytes, (size_t)(at - bytes));
    return 1;
}

static int l_crc32(lua_State *L) {
    size_t size;
    const char *bytes = luaL_checklstring(L, 1, &size);
    aoi_crc32 c;
    aoi_crc32_open(&c);
    return LAOI_INTEGERS(L, aoi_crc32_of(&c, 0, bytes, size));
}

const luaL_Reg world_part_methods[] = {
    {"part", r_part}, {"apply", r_apply}, {"apply_moves", r_apply_moves}, {"closed_rows", r_closed_rows}, {NULL, NULL},
};

const luaL_Reg world_part_functions[] = {{"crc32", l_crc32}, {NULL, NULL}};
