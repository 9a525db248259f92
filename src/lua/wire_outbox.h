/* wire_outbox.h - see wire.h: moves that wait in a client until they are sent, of a map or of a world.
 *
 *   here     rows   [ id x y z | id x y z | ... ]    of an id the last move counts
 *            index  id -> row, from 8 rows on
 *
 * A map has no more than that: all its rows go to one place.  An outbox of a world sorts them by the shard that owns the
 * entity, and `here` are those of entities whose owner is not known:
 *
 *   entries[]         by id: the shard, as far as this client knows, and the row there; of an entity that this client has
 *                     entered also what it would take to enter it again: clients are the backup of shards
 *   boxes[shard - 1]  rows that wait to be sent to it
 *
 *   wire_outbox.c     rows: move, flush, take
 *   world_outbox.c    entries: owners, own entities */
#ifndef LAOI_WIRE_OUTBOX_H
#define LAOI_WIRE_OUTBOX_H

#include "lua/wire.h"

typedef struct outbox_box {
    aoi_row *rows;
    uint32_t count, cap;
    int width; /* of the ids */
} outbox_box;

typedef struct outbox_entry {
    int64_t id;
    uint32_t shard;  /* 0: not known; of an entry that is not `own`: unused, and then row is the next unused one */
    uint32_t row;    /* in the shard's box, if the row there has this id: else none waits */
    uint32_t sent;   /* the shard that its last row waits for, or went to, until `settle`; 0: none */
    uint32_t life;   /* with kind and pos: of an own one */
    bool own, moved; /* moved: by this client */
    int64_t kind;
    double pos[3]; /* the last one that has been asked for */
} outbox_entry;

typedef struct outbox {
    aoi_memory memory;
    aoi_index by_id; /* of entries */
    outbox_box here;
    aoi_index index;       /* of the rows here */
    aoi_hash_key hash_key; /* of ids */
    unsigned char *bytes;
    uint32_t byte_cap, link;
    int dims;
    bool drives; /* its messages are ticks */
    bool dead;   /* its map is closed */
    uint64_t batches, moves;
    uint32_t entry_count, entry_cap, unused, shards;
    outbox_entry *entries;
    outbox_box *boxes;
} outbox;

outbox *laoi_outbox_self(lua_State *L);

/* The row of that id that waits; e: its entry, NULL if it has none. */
aoi_row *laoi_row_of(const outbox *o, const outbox_entry *e, int64_t id);

/* Makes or changes that row, here or in the shard's box; false when memory is refused. */
bool laoi_put_row(outbox *o, outbox_entry *e, int64_t id, const double *pos);
void laoi_drop_row(outbox *o, uint32_t shard, aoi_row *row); /* shard 0: here */

static inline outbox_entry *outbox_find(const outbox *o, int64_t id) {
    uint32_t at = AOI_SEEK, e, hash = aoi_id_hash(&o->hash_key, id);
    while ((e = aoi_index_next(&o->by_id, hash, &at)) != AOI_NONE)
        if (o->entries[e].id == id) return o->entries + e;
    return NULL;
}

#endif
