/* world.h - a world of many spaces, from inside: `aoi.core.world`.
 *
 *   world_map.c      the tiles of the plane: which shard owns each, and which shards must hear of an entity that stands there
 *   world_tiles.c    the tiles themselves: one map a process
 *   world_router.c   one shard: its entities, the moves of an epoch sorted by the shards that must hear of them
 *   world_parts.c    what one shard tells another about an epoch: sections of rows, written and read
 *   world_announce.c   what shards tell each other when tiles change owners, and after one of them has died
 *   world_follow.c   entities that shards far away must know
 *   world_queries.c what a router says of its entities
 *   world_areas.c    areas of nodes as bytes
 *   world_outbox.c   the client's side: owners of entities, own ones; wire_outbox.h
 *
 * Clients send a shard MOVES and get EVENTS, as of an AOI service: wire.h.  Numbers travel little-endian, doubles as their bits: the very numbers. */
#ifndef LAOI_WORLD_H
#define LAOI_WORLD_H

#include <string.h>

#include "lua/wire.h"

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct world_bytes { /* a buffer that grows */
    unsigned char *at;
    uint32_t size, cap;
} world_bytes;

typedef struct world_reader { /* reads within [at, end); every read is preceded by a check of what is left */
    const unsigned char *at, *end;
} world_reader;

static inline uint64_t world_read(world_reader *r, int width) {
    r->at += width;
    return aoi_peek_bytes(r->at - width, width);
}

static inline size_t world_left(const world_reader *r) {
    return (size_t)(r->end - r->at);
}

/* Ids have 4 or 8 bytes, signed; each length by itself is one load or store. */
static inline int64_t world_read_id(world_reader *r, int width) {
    return width == 4 ? (int64_t)(int32_t)(uint32_t)world_read(r, 4) : (int64_t)world_read(r, 8);
}

static inline unsigned char *world_put_id(unsigned char *at, int64_t id, int width) {
    return width == 4 ? aoi_put_bytes(at, (uint64_t)id, 4) : aoi_put_bytes(at, (uint64_t)id, 8);
}

static inline double world_read_double(world_reader *r) {
    r->at += 8;
    return aoi_peek_double(r->at - 8);
}

static inline bool world_is_wide(int64_t id) { /* needs 8 bytes */
    return id < INT32_MIN || id > INT32_MAX;
}

/* Room for `more` bytes at the end, which then belong to the buffer; NULL when memory is refused. */
unsigned char *world_append(aoi_memory *m, world_bytes *b, size_t more);

/* ---- the map ----------------------------------------------------------------------------------------------------- */

typedef struct world_set { /* shards, ascending: members[first .. first + count - 1] */
    uint32_t first, count;
} world_set;

typedef struct world_map { /* tiles; never changed once they are shared: world_tiles.c */
    struct world_map *next;
    uint32_t users;
    uint64_t hash;
    double tile, hysteresis;
    double first[2]; /* the tile at column 0, row 0 */
    uint32_t columns, rows, halo, shards;
    uint16_t *owners;   /* by row * columns + column */
    uint32_t *audience; /* the same: a set */
    world_set *sets;
    uint32_t set_count, set_cap;
    uint16_t *members;
    uint32_t member_count, member_cap;
    aoi_index by_members;
} world_map;

/* A map of one's own: of that size and with all that the other one has; NULL when memory is refused.  It is dropped, or
 * shared: the map of all that have shared an equal one, which they release. */
world_map *world_new_map(const world_map *like);
void world_drop_map(world_map *m);
world_map *world_share_map(world_map *m);
void world_release_map(world_map *m);
bool world_find_audiences(world_map *m, uint32_t left, uint32_t low, uint32_t right, uint32_t high);

typedef struct world_box { /* a map as Lua has it */
    const void *mark;
    world_map *map;
} world_box;

world_box *world_check_box(lua_State *L, int i);
uint32_t world_tile(const world_map *m, double x, double y);
static inline uint32_t world_audience(const world_map *m, uint32_t tile) {
    return m->audience[tile];
}

bool world_has_member(const world_map *m, uint32_t set, uint32_t shard);
void world_sort_shards(uint16_t *shards, uint32_t count);

static inline uint32_t world_owner(const world_map *m, const double *pos) {
    return m->owners[world_tile(m, pos[0], pos[1])];
}

/* A real stays with its owner while a square of half-side `hysteresis` around it touches a tile of that shard. */
bool world_stays(const world_map *m, uint32_t shard, const double *pos);

/* ---- a shard ----------------------------------------------------------------------------------------------------- */

/* What is reported of an epoch, by tag; beyond KIND the rows are written in Lua. */
enum { WORLD_MOVE = 1, WORLD_NEAR, WORLD_FAR, WORLD_GONE, WORLD_BORN, WORLD_KIND, WORLD_TAGS, WORLD_MOST_TAGS = 14 };

/* Flags of a record.  Barred: some clients may not move it; traits: Lua has more to report of it (`wholes`); wanted:
 * a ghost that stays, doubted, when its owner says that it is far (world_follow.c). */
enum { WORLD_REAL = 1, WORLD_LEFT = 2, WORLD_BARRED = 4, WORLD_TRAITS = 8, WORLD_WANTED = 16 };

typedef struct world_record { /* of an entity of the core, by the core's slot */
    uint32_t life;
    uint32_t audience;           /* of a real: the set of the tile where it was reported to be */
    uint32_t mover_at;           /* where its mover of the coming epoch is, if that one is of this slot */
    uint32_t mover[2], batch[2]; /* the clients that moved it last, and the number of that batch of each */
    uint32_t forgot;             /* the epoch in which another one was last forgotten for these, 0: never */
    uint32_t doubted;            /* of a ghost: the epoch from which on no shard has named it (`retell`), 0: one has */
    uint32_t follows;            /* of a real: the first of its followers, 0: it has none */
    uint32_t flags;
} world_record;

typedef struct world_mover {
    uint32_t slot;   /* AOI_NONE: it moves no more */
    bool concerning; /* others have to hear of it, or had, or it may have left the region: it is in `concerning` */
    double pos[3];
} world_mover;

/* One that begins has not received the entity yet; one that ends has not received that it is far. */
enum { WORLD_FOLLOWS, WORLD_BEGINS, WORLD_ENDS };

typedef struct world_follow { /* a shard that must know an entity wherever it is */
    uint32_t next;            /* 0: it is the last */
    uint16_t shard;
    uint8_t state;
} world_follow;

typedef struct world_members { /* shards, ascending */
    const uint16_t *at;
    uint32_t count;
} world_members;

typedef struct world_whole { /* an entity with traits, and a shard that receives it as a whole */
    int64_t id;
    uint32_t shard;
} world_whole;

typedef struct world_router {
    aoi_memory memory;
    laoi_space *space;
    const world_box *box; /* keeps the map; `map` is what is in it now */
    const world_map *map;
    uint32_t self; /* 0: it is to have nothing any more */
    uint32_t width;
    uint32_t epoch; /* the coming one */
    bool retells;   /* the closed epoch names every entity to its whole audience */
    bool unsure;    /* a part of an earlier epoch may be missing: ghosts may differ from what their owners have said */
    world_record *records;
    uint32_t record_cap;
    world_mover *movers; /* what the coming epoch will move */
    uint32_t mover_count, mover_cap;
    uint32_t *concerning; /* places of movers */
    uint32_t concerning_count, concerning_cap;
    world_mover *closed; /* what the closed epoch moves here */
    uint32_t closed_count, closed_cap;
    world_bytes *out; /* by shard * WORLD_TAGS + tag */
    uint32_t out_cap;
    uint64_t rows[WORLD_TAGS]; /* written so far */
    int64_t *ids;
    world_whole *wholes;
    uint32_t id_cap, whole_count, whole_cap;
    world_follow *follows;
    uint32_t follow_count, follow_cap, free_follow;
    uint16_t *merged[2]; /* room for an audience with its followers: world_audience_of */
    uint32_t merged_cap[2];
} world_router;

world_router *world_self(lua_State *L);                                         /* its space is open */
bool world_note(world_router *r, uint32_t slot, uint32_t life, uint32_t flags); /* false when memory is refused */
/* The entity's slot and record; AOI_NONE: not in the core. */
uint32_t world_slot(world_router *r, int64_t id, world_record **record);
/* The record of the entity whose id is the first argument of a method, NULL: it is not in the core; and the router. */
world_record *world_argument(lua_State *L, world_router **r);
int world_push_shards(lua_State *L, world_members shards); /* a list; returns 1 */

static inline bool world_is_own(const world_record *r) { /* real here, and it has not left; NULL: no */
    return r && (r->flags & (WORLD_REAL | WORLD_LEFT)) == WORLD_REAL;
}

static inline aoi_entity world_handle(const world_router *r, uint32_t slot) { /* of one of the core */
    return (aoi_entity){slot, r->space->core->world.entities[slot].generation};
}

/* The mover of an own entity in the coming epoch; NULL: it has not been moved yet. */
world_mover *world_find_mover(const world_router *r, uint32_t slot, const world_record *record);
/* The same, and where the entity is after all that has been accepted. */
world_mover *world_place(const world_router *r, uint32_t slot, const world_record *record, double *pos);
/* Tiles have changed owners: an own entity that another shard is to have, or that others must hear of from now on, is
 * moved to where it is; false when memory is refused. */
bool world_reconsider(world_router *r, uint32_t slot);
/* A row with all that there is to say of an entity; false when memory is refused. */
bool world_tell_whole(world_router *r, uint32_t shard, int tag, int64_t id, uint32_t life, uint64_t kind,
                      const double *pos);

/* That shard gets the entity as a ghost; false when memory is refused. */
bool world_tell_near(world_router *r, uint32_t slot, uint32_t shard, const double *pos);

/* The shards that know an own entity whose tile has that audience, or will: WAS as of the last epoch, IS as of the one
 * that is being closed.  The list is good until the next call with the same `when`. */
enum { WORLD_WAS, WORLD_IS };
world_members world_audience_of(world_router *r, const world_record *record, uint32_t set, int when);

/* The rows for all of them are written. */
void world_settle_follows(world_router *r, world_record *record);
void world_forget_follows(world_router *r, world_record *record);

/* Followers, as a list of shards at that place of the stack: added, false when memory is refused; pushed, nil: none. */
bool world_take_follows(lua_State *L, world_router *r, world_record *record, int list);
int world_push_follows(lua_State *L, world_router *r, const world_record *record);

/* Every member but this shard and `taker`. */
#define FOR_OTHERS(r, members, taker, shard)                                                                           \
    for (uint32_t i_ = 0, shard = 0; i_ < (members).count && (shard = (members).at[i_], 1); i_++)                      \
        if (shard != (r)->self && shard != (taker))

extern const luaL_Reg world_part_methods[], world_area_methods[], world_announce_methods[], world_follow_methods[],
    world_query_methods[];                                         /* of a router */
extern const luaL_Reg world_part_functions[], world_area_functions[]; /* of aoi.core.world */
void world_open_outbox(lua_State *L);                                 /* adds its functions to the table on top */
void world_open_map(lua_State *L);
/* The methods of what that function of the table at `world` makes are on top; returns where their metatable is. */
int world_push_methods(lua_State *L, int world, const char *maker);

#endif
