/* wire.h - messages between an AOI service, or the shards of a world, and their clients, as far as C writes and reads
 * them: moves and events.  lua/aoi/skynet/wire.lua has the other, rare kinds; docs/skynet.md lists all kinds.
 *
 *   wire_outbox.h    client:  map:move -> rows -> one MOVES                 service:  wire_moves.c: MOVES -> aoi_move, row by row
 *                            world:move -> rows by shard -> a MOVES each   shard:    MOVES -> world_router.c
 *   wire_post.h      service, shard: events of a tick or an epoch -> one EVENTS for each subscriber
 *   wire_inbox.h     client:  EVENTS -> views, and the calls of handlers */
#ifndef LAOI_WIRE_H
#define LAOI_WIRE_H

#include "base/bytes.h"
#include "lua/binding.h"

#include <string.h>

enum { WIRE_VERSION = 2, WIRE_HEAD = 8, WIRE_MOVES_HEAD = WIRE_HEAD + 8 };
enum { WIRE_EVENTS = 1, WIRE_MOVES = 2, WIRE_ACK = 4, WIRE_KINDS = 14 };
enum { WIRE_ASK = 1 };              /* flag of EVENTS: an ACK is expected */
enum { WIRE_TICK = 1, WIRE_Z = 2 }; /* flags of MOVES */

/* Flags of a group of EVENTS. */
enum {
    WIRE_OPEN = 1,    /* the group contains link, watcher and id of the node */
    WIRE_CLOSE = 2,   /* the node has been removed */
    WIRE_WHOLE = 4,   /* the enters list the whole view of the node */
    WIRE_LONG = 8,    /* 32-bit counts: more than 255 leaves or enters */
    WIRE_PLACE2 = 16, /* each enter has kind, x, y */
    WIRE_PLACE3 = 32, /* each enter has kind, x, y, z */
    WIRE_WIDTH4 = 64, /* ids have 4 bytes, or 8; with neither flag 2 */
    WIRE_WIDTH8 = 128
};
enum {
    WIRE_GROUP = 7,
    WIRE_LONG_GROUP = 13,
    WIRE_RESYNC = 16
}; /* bytes, without the fields of WIRE_OPEN and the ids */

/* ---- numbers as bytes --------------------------------------------------------------------------------------------- */

static inline uint32_t wire_get32(const unsigned char *p) {
    return (uint32_t)aoi_peek_bytes(p, 4);
}

/* Ids are signed; a constant width lets the compiler emit a single load or store. */
static inline int64_t wire_get_id(const unsigned char *p, int width) {
    if (width == 2) return (int16_t)aoi_peek_bytes(p, 2);
    if (width == 4) return (int32_t)aoi_peek_bytes(p, 4);
    return (int64_t)aoi_peek_bytes(p, 8);
}

static inline unsigned char *wire_put_id(unsigned char *p, int64_t id, int width) {
    if (width == 2) return aoi_put_bytes(p, (uint64_t)id, 2);
    if (width == 4) return aoi_put_bytes(p, (uint64_t)id, 4);
    return aoi_put_bytes(p, (uint64_t)id, 8);
}

/* The number of bytes that an id needs: 2, 4 or 8, at least `width`. */
static inline int wire_width(int64_t id, int width) {
    if (id >= INT16_MIN && id <= INT16_MAX) return width;
    if (id >= INT32_MIN && id <= INT32_MAX) return width > 4 ? width : 4;
    return 8;
}

static inline unsigned char *wire_put_head(unsigned char *p, int kind, int flags, int width, uint32_t number) {
    p[0] = WIRE_VERSION;
    p[1] = (unsigned char)kind;
    p[2] = (unsigned char)flags;
    p[3] = (unsigned char)width;
    return aoi_put_bytes(p + 4, number, 4);
}

/* ---- MOVES -------------------------------------------------------------------------------------------------------- */

typedef struct wire_moves { /* the head of a message, and its rows */
    const unsigned char *rows;
    size_t count, row; /* row: bytes of a row */
    uint32_t link, batch;
    int dims, width;
    bool tick;
} wire_moves;

/* Returns NULL, or the fault of the message; p may be NULL. */
const char *wire_read_moves(wire_moves *m, const unsigned char *p, size_t size);

static inline size_t wire_moves_size(size_t count, int width, int dims) {
    return WIRE_MOVES_HEAD + count * ((size_t)width + 8 * (size_t)dims);
}

/* Writes the head; returns the address of the first row. */
static inline unsigned char *wire_put_moves(unsigned char *p, const wire_moves *m) {
    int flags = (m->tick ? WIRE_TICK : 0) | (m->dims == 3 ? WIRE_Z : 0);
    p = wire_put_head(p, WIRE_MOVES, flags, m->width, m->link);
    return aoi_put_bytes(aoi_put_bytes(p, m->batch, 4), m->count, 4);
}

static inline unsigned char *wire_put_row(unsigned char *p, int64_t id, const double *pos, int width, int dims) {
    p = wire_put_id(p, id, width);
    for (int a = 0; a < dims; a++) p = aoi_put_double(p, pos[a]);
    return p;
}

/* Returns the id of row i, its coordinates in pos. */
static inline int64_t wire_get_row(const wire_moves *m, size_t i, double *pos) {
    const unsigned char *at = m->rows + i * m->row;
    for (int a = 0; a < m->dims; a++) pos[a] = aoi_peek_double(at + m->width + 8 * a);
    return wire_get_id(at, m->width);
}

/* ---- objects ------------------------------------------------------------------------------------------------------ */

uint32_t laoi_u32(lua_State *L, int i);

/* Results of functions that read untrusted bytes.  laoi_refuse pushes nil and the reason, laoi_push_verdict the same,
 * or true if fault is NULL; both return the number of results. */
int laoi_refuse(lua_State *L, const char *why);
int laoi_push_verdict(lua_State *L, const char *fault);

/* Each adds its functions to the table on top, aoi.core.wire; laoi_open_outbox also to aoi.core.world. */
void laoi_open_outbox(lua_State *L);
void laoi_open_post(lua_State *L);
void laoi_open_inbox(lua_State *L);

#endif
