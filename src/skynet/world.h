/* world.h - the C part of a world of many spaces: `aoi.core.world`.
 *
 *   world_map.c      the map of tiles for Lua: the owner of each tile, and the shards that receive the entities on it
 *   world_tiles.c    the tiles of a map, shared within the process
 *   world_router.c   one shard: its entities, the moves of an epoch sorted by the shards that receive them
 *   world_parts.c    the data of an epoch from one shard for another: sections of rows, written and read
 *   world_announce.c entities sent to audiences: on entering, when tiles change owners, after the loss of a shard
 *   world_follow.c   entities that distant shards follow
 *   world_queries.c  methods of a router that only read
 *   world_areas.c    areas of nodes as bytes
 *   world_outbox.c   the client's side: owners of entities, own entities; wire_outbox.h
 *
 * Clients send MOVES to a shard and receive EVENTS, as with an AOI service: wire.h.  All numbers are little-endian; a
 * double is transferred as its bits, without loss. */
#ifndef LAOI_WORLD_H
#define LAOI_WORLD_H

#include <string.h>

#include "skynet/wire.h"

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct world_bytes { /* a buffer that grows */
    unsigned char *at;
    uint32_t size, cap;
} world_bytes;

/* Appends `more` uninitialised bytes and returns their address; NULL when memory is refused. */
unsigned char *world_append(aoi_memory *m, world_bytes *b, size_t more);

/* ---- the map ----------------------------------------------------------------------------------------------------- */

typedef struct world_set { /* shards, ascending: members[first .. first + count - 1] */
    uint32_t first, count;
} world_set;

typedef struct world_map { /* tiles; immutable once shared: world_tiles.c */
    struct world_map *next;
    uint32_t users;
    uint64_t hash;
    double tile, hysteresis;
    double first[2]; /* the tile at column 0, row 0 */
    uint32_t columns, rows, halo, shards;
    uint16_t *owners;   /* by row * columns + column */
    uint32_t *audience; /* by the same index: a set */
    world_set *sets;
    uint32_t set_count, set_cap;
    uint16_t *members;
    uint32_t member_count, member_cap;
    aoi_hash_index by_members;
} world_map;

/* world_new_map makes a private copy of a map; NULL when memory is refused.  The caller drops or shares the copy:
 * world_share_map consumes it and returns the one shared map that equals it, which every user releases. */
world_map *world_new_map(const world_map *like);
void world_drop_map(world_map *m);
world_map *world_share_map(world_map *m);
void world_release_map(world_map *m);
bool world_find_audiences(world_map *m, uint32_t left, uint32_t low, uint32_t right, uint32_t high);

/* Bounds of the tiles within the halo of a tile, on one axis of `count` tiles. */
static inline uint32_t world_halo_low(const world_map *m, uint32_t at) {
    return at > m->halo ? at - m->halo : 0;
}

static inline uint32_t world_halo_high(const world_map *m, uint32_t at, uint32_t count) {
    return count - 1 - at > m->halo ? at + m->halo : count - 1;
}

typedef struct world_box { /* the userdata of a map in Lua */
    const void *mark;
    world_map *map;
} world_box;

world_box *world_check_box(lua_State *L, int i);
uint32_t world_shard_argument(lua_State *L, const world_map *m, int i); /* a shard of the map, or an error */
uint32_t world_tile(const world_map *m, double x, double y);
bool world_has_member(const world_map *m, uint32_t set, uint32_t shard);
void world_sort_shards(uint16_t *shards, uint32_t count);

static inline uint32_t world_owner(const world_map *m, const double *pos) {
    return m->owners[world_tile(m, pos[0], pos[1])];
}

static inline uint32_t world_audience(const world_map *m, const double *pos) { /* a set */
    return m->audience[world_tile(m, pos[0], pos[1])];
}

/* A real entity stays with its owner while a square of half-side `hysteresis` around it touches a tile of the owner. */
bool world_stays(const world_map *m, uint32_t shard, const double *pos);

/* ---- a shard ----------------------------------------------------------------------------------------------------- */

/* Tags of the sections of a part. */
enum { WORLD_MOVE = 1, WORLD_NEAR, WORLD_FAR, WORLD_GONE, WORLD_ENTER, WORLD_KIND, WORLD_TAGS };

typedef struct world_row { /* of a part; world_parts.c has what of it rows of a tag have */
    int64_t id;
    uint32_t life;
    uint64_t kind;
    const double *pos;
} world_row;

/* Flags of a record.  Barred: some clients may not move it; traits: Lua adds further data where it is sent (`wholes`);
 * wanted: a ghost that stays, unconfirmed, when its owner reports it as far (world_follow.c). */
enum { WORLD_REAL = 1, WORLD_LEFT = 2, WORLD_BARRED = 4, WORLD_TRAITS = 8, WORLD_WANTED = 16 };

typedef struct world_record { /* an entity of the core, by the core's slot */
    uint32_t life;
    uint32_t audience;           /* of a real: the set of the tile of its last reported position */
    uint32_t mover_at;           /* index of its mover of the coming epoch, valid if that mover has this slot */
    uint32_t mover[2], batch[2]; /* the last two clients that moved it, and the number of the last batch of each */
    uint32_t evicted;            /* the epoch in which a client was last dropped from `mover`, 0: never */
    uint32_t unconfirmed; /* of a ghost: unconfirmed by its owner since this epoch (`announce_all`), 0: confirmed */
    uint32_t follows;     /* of a real: the first of its followers, 0: none */
    uint32_t flags;
} world_record;

typedef struct world_mover {
    uint32_t slot; /* AOI_NONE: cancelled */
    bool routed;   /* listed in `routed`: its old or new audience has other shards, or it may have left the region */
    double pos[3];
} world_mover;

/* BEGINS: the shard has not received the entity yet; ENDS: it has not received the row FAR yet. */
enum { WORLD_FOLLOWS, WORLD_BEGINS, WORLD_ENDS };

typedef struct world_follow { /* a shard that receives an entity wherever it is */
    uint32_t next;            /* 0: the last one */
    uint16_t shard;
    uint8_t state;
} world_follow;

typedef struct world_members { /* shards, ascending */
    const uint16_t *at;
    uint32_t count;
} world_members;

typedef struct world_whole { /* an entity with traits, and a shard that receives all its data */
    int64_t id;
    uint32_t shard;
} world_whole;

typedef struct world_router {
    aoi_memory memory;
    laoi_space *space;
    const world_box *box; /* keeps the map alive; `map` is its present map */
    const world_map *map;
    uint32_t self;      /* 0: the shard has to give all entities away */
    int width;          /* bytes of an id in rows: 4 or 8 */
    uint32_t epoch;     /* the coming one */
    bool announces_all; /* the closed epoch sends every own entity to its whole audience as NEAR */
    bool
        parts_missing; /* a part of an earlier epoch may be missing: ghosts may differ from the state of their owners */
    world_record *records;
    uint32_t record_cap;
    world_mover *movers; /* moves of the coming epoch */
    uint32_t mover_count, mover_cap;
    uint32_t *routed; /* indices of movers */
    uint32_t routed_count, routed_cap;
    world_mover *closed; /* moves of the closed epoch in this core */
    uint32_t closed_count, closed_cap;
    world_bytes *out; /* by shard * WORLD_TAGS + tag */
    uint32_t out_cap;
    uint64_t rows[WORLD_TAGS]; /* totals of rows written */
    int64_t *ids;
    world_whole *wholes;
    uint32_t id_cap, whole_count, whole_cap;
    world_follow *follows;
    uint32_t follow_count, follow_cap, free_follow;
    uint16_t *merged[2]; /* buffers of world_audience_of */
    uint32_t merged_cap[2];
} world_router;

world_router *world_self(lua_State *L);                                         /* with an open space and map */
bool world_note(world_router *r, uint32_t slot, uint32_t life, uint32_t flags); /* false when memory is refused */
/* The slot of an entity and its record; AOI_NONE and NULL: not in the core. */
uint32_t world_slot(world_router *r, int64_t id, world_record **record);
/* The router, and the record of the entity whose id is the first argument of a method; NULL: not in the core. */
world_record *world_argument(lua_State *L, world_router **r);
int world_push_shards(lua_State *L, world_members shards); /* a list; returns 1 */

static inline bool world_is_own(const world_record *r) { /* real here, and has not left; false for NULL */
    return r && (r->flags & (WORLD_REAL | WORLD_LEFT)) == WORLD_REAL;
}

static inline aoi_entity world_handle(const world_router *r, uint32_t slot) {
    return (aoi_entity){slot, r->space->core->records.entities[slot].generation};
}

/* The mover of an own entity in the coming epoch; NULL: none. */
world_mover *world_find_mover(const world_router *r, uint32_t slot, const world_record *record);
/* The same, and the position of the entity after all accepted moves. */
world_mover *world_place(const world_router *r, uint32_t slot, const world_record *record, double *pos);
/* After tiles have changed owners: if the owner or the audience of an own entity changes, gives it a mover to its
 * present position, so that `close` routes it; false when memory is refused. */
bool world_reroute(world_router *r, uint32_t slot);
/* Writes a row for a shard; false when memory is refused. */
bool world_write(world_router *r, uint32_t shard, int tag, const world_row *row);

/* Writes the row NEAR, by which the shard adds the entity as a ghost; false when memory is refused. */
bool world_write_near(world_router *r, uint32_t slot, uint32_t shard, const double *pos);

/* The shards that receive an own entity: those of `set`, the audience of its tile, and its followers; WAS: in the last
 * epoch, IS: in the epoch being closed.  The list is valid until the next call with the same `when`. */
enum { WORLD_WAS, WORLD_IS };
world_members world_audience_of(world_router *r, const world_record *record, uint32_t set, int when);

/* Ends BEGINS and ENDS, after the rows for all followers are written. */
void world_settle_follows(world_router *r, world_record *record);
void world_drop_follows(world_router *r, world_record *record);

/* Adds the shards of the list at that stack index as followers; false when memory is refused. */
bool world_take_follows(lua_State *L, world_router *r, world_record *record, int list);
int world_push_follows(lua_State *L, world_router *r, const world_record *record); /* a list, nil: none; returns 1 */

/* Loops over the members except this shard and `new_owner`, which have the data already. */
#define FOR_OTHERS(r, members, new_owner, shard)                                                                       \
    for (uint32_t i_ = 0, shard = 0; i_ < (members).count && (shard = (members).at[i_], 1); i_++)                      \
        if (shard != (r)->self && shard != (new_owner))

extern const luaL_Reg world_part_methods[], world_area_methods[], world_announce_methods[], world_follow_methods[],
    world_query_methods[];                    /* of a router */
extern const luaL_Reg world_part_functions[]; /* of aoi.core.world */
void world_open_outbox(lua_State *L);         /* adds its functions to the table on top */
void world_open_map(lua_State *L);
/* Pushes the metatable and, on top, the methods of the objects that the function `maker` of the table at `world` makes;
 * returns the index of the metatable. */
int world_push_methods(lua_State *L, int world, const char *maker);

#endif
