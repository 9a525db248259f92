/* wire_outbox.h - see wire.h: the moves of a map or a world that a client has not sent yet.
 *
 *   unrouted  rows   [ id x y z | id x y z | ... ]    one row per id: its last move
 *             index  id -> row, from 8 rows on
 *
 * The outbox of a map has only these: all rows have one destination.  The outbox of a world sorts rows by the shard
 * that owns the entity; the rows of entities without a known owner are `unrouted`:
 *
 *   entries[]         by id: the owner as far as the client has been informed, and the row in its box; for an entity that
 *                     this client has entered also its state, from which the client restores it after the loss of a shard
 *   boxes[shard - 1]  rows to be sent to the shard
 *
 *   wire_outbox.c     rows: move, flush, take
 *   world_outbox.c    entries: owners, own entities */
#ifndef LAOI_WIRE_OUTBOX_H
#define LAOI_WIRE_OUTBOX_H

#include "skynet/wire.h"

typedef struct outbox_box {
    aoi_row *rows;
    uint32_t count, cap;
    int width; /* of the ids */
} outbox_box;

typedef struct outbox_entry {
    int64_t id;
    uint32_t shard; /* 0: not known; 0 and not `own`: a free entry, row: the next one */
    uint32_t row;   /* valid if that row of the shard's box has this id; else the box has none */
    uint32_t sent;  /* the destination of the last row, sent or not, until `settle`; 0: none */
    uint32_t life;  /* life, kind, pos: valid if `own` */
    uint32_t moved; /* the least number that the message with this client's last move may have; own, 0: no move */
    bool own;
    int64_t kind;
    double pos[3]; /* of the last move */
} outbox_entry;

typedef struct outbox {
    aoi_memory memory;
    aoi_hash_index by_id; /* of entries */
    outbox_box unrouted;
    aoi_hash_index index;  /* of the unrouted rows */
    aoi_hash_key hash_key; /* of ids */
    unsigned char *bytes;
    uint32_t byte_cap, link;
    int dims;
    bool drives; /* its messages are ticks */
    bool closed; /* its map or world is closed */
    uint64_t batches, moves;
    uint32_t entry_count, entry_cap, unused, shards;
    outbox_entry *entries;
    outbox_box *boxes;
} outbox;

outbox *laoi_outbox_self(lua_State *L);

/* The unsent row of an id, or NULL; e: its entry, NULL: the id has none. */
aoi_row *laoi_row_of(const outbox *o, const outbox_entry *e, int64_t id);

/* Adds or changes that row, in the box of the entry's shard or unrouted; false when memory is refused. */
bool laoi_put_row(outbox *o, outbox_entry *e, int64_t id, const double *pos);
void laoi_drop_row(outbox *o, uint32_t shard, aoi_row *row); /* shard 0: an unrouted row */

static inline outbox_entry *outbox_find(const outbox *o, int64_t id) {
    uint32_t at = AOI_SEEK, e, hash = aoi_id_hash(&o->hash_key, id);
    while ((e = aoi_hash_index_next(&o->by_id, hash, &at)) != AOI_NONE)
        if (o->entries[e].id == id) return o->entries + e;
    return NULL;
}

#endif
