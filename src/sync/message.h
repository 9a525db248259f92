/* message.h - writes messages; docs/sync-wire.md describes the format.
 *
 *   buffer   [ room for the head, fields | record | record | ...        ]
 *                                        ^ begin                 ^ end
 *
 * Records are packed as they are found.  The head, which counts them, is written last, right before the first one. */
#ifndef AOI_SYNC_MESSAGE_H
#define AOI_SYNC_MESSAGE_H

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum {
    AOI_WIRE_VERSION = 2,
    AOI_WIRE_3D = 1,
    AOI_WIRE_ANEW = 2,
    AOI_WIRE_FIELDS = 4,
    AOI_WIRE_REASONS = 8,
    AOI_WIRE_RIDERS = 16
};
enum { AOI_FORM_WIDE = 1, AOI_FORM_CARRIER = 2 }; /* bits of the form of a wide record, of synchronisers with riders */

/* tags of records */
enum {
    AOI_TAG_MOVED,
    AOI_TAG_MOVED_TOUCHED,
    AOI_TAG_TOUCHED,
    AOI_TAG_APPEARED,
    AOI_TAG_GONE,
    AOI_TAG_MOVED_WIDE,
    AOI_TAG_APPEARED_WIDE,
    AOI_TAG_STATE
};

/* Code of the quantum in the head: 0: none; 1 + k: 1 / 10^k; 17 + k: 1 / 2^k; OTHER: a double follows. */
enum { AOI_SCALE_FLOATS = 0, AOI_SCALE_TEN = 1, AOI_SCALE_TWO = 17, AOI_SCALE_TOP = 49, AOI_SCALE_OTHER = 255 };

enum {
    AOI_WIRE_HEAD = 64,   /* room for the longest head: 3 + 8 + 5 + 3 * 8 */
    AOI_WIRE_RECORD = 64, /* the longest record: 10 + 10 + 1 + 10 + 3 * 8 */
    AOI_WIRE_ID = 10,     /* a tag and any id */
    AOI_WIRE_KIND = 10,
    AOI_WIRE_VARINT53 = 8, /* a number of quanta up to 2^53, with its sign */
    AOI_WIRE_DOUBLE = 8
};
#define AOI_WIRE_QUANTA 0x1p53 /* no position is sent as more quanta */

/* A position as it is sent: numbers of quanta, or the bits of floats; those of doubles if these cannot represent it. */
typedef struct aoi_wire_place {
    uint64_t bits[3];
} aoi_wire_place;

typedef struct aoi_writer {
    unsigned char *bytes;
    uint32_t cap, end, records;
    uint32_t most, half; /* bytes of records within the budget, and half of that; UINT32_MAX without a budget */
    uint32_t begin;      /* of the records, behind room for the head */
    uint32_t table;      /* bytes of the names and types of fields, before the records */
    uint64_t fields;     /* bits of the fields in the table */
    uint64_t last;       /* id of the last record */
    int64_t origin[3];
    int axes;
    bool quanta;
    bool full;    /* a record did not fit into the budget */
    bool reasons; /* records of what is gone have one */
    bool riders;  /* wide records have a form */
} aoi_writer;

/* Writes the zigzagged difference from the last id as a varint, with the tag in its lowest three bits. */
static inline unsigned char *aoi_put_id(aoi_writer *w, unsigned char *p, int tag, int64_t id) {
    uint64_t z = aoi_zigzag((uint64_t)id - w->last);
    w->last = (uint64_t)id;
    if (z < 1u << 18) return aoi_put_varint(p, z << 3 | (unsigned)tag);
    *p++ = (unsigned char)((unsigned)tag | (unsigned)(z & 15) << 3 | 0x80u);
    return aoi_put_varint(p, z >> 4);
}

static inline unsigned char *aoi_put_wire_place(const aoi_writer *w, unsigned char *p, const aoi_wire_place *at) {
    if (w->quanta) {
        for (int a = 0; a < w->axes; a++) p = aoi_put_varint(p, aoi_zigzag(at->bits[a] - (uint64_t)w->origin[a]));
        return p;
    }
    for (int a = 0; a < w->axes; a++) p = aoi_put_bytes(p, at->bits[a], 4);
    return p;
}

/* Writes a record of a position that is wide, or names a carrier: then it is an offset, unless the carrier's id is 0. */
static inline unsigned char *aoi_put_wide_record(aoi_writer *w, unsigned char *p, int tag, int64_t id, uint64_t kind,
                                                 const aoi_wire_place *at, bool wide, const int64_t *carrier) {
    p = aoi_put_id(w, p, tag, id);
    if (tag == AOI_TAG_APPEARED_WIDE) p = aoi_put_varint(p, kind);
    if (w->riders) *p++ = (unsigned char)((wide ? AOI_FORM_WIDE : 0) | (carrier ? AOI_FORM_CARRIER : 0));
    if (carrier) p = aoi_put_varint(p, aoi_zigzag((uint64_t)*carrier - (uint64_t)id));
    const bool offset = carrier && *carrier && w->quanta;
    if (!wide && !offset) return aoi_put_wire_place(w, p, at);
    for (int a = 0; a < w->axes; a++)
        p = wide ? aoi_put_bytes(p, at->bits[a], 8) : aoi_put_varint(p, aoi_zigzag(at->bits[a]));
    return p;
}

/* The tag of an update; a touch together with a wide position needs a record of its own. */
static inline int aoi_tag_of(bool moved, bool touched, bool wide) {
    return !moved ? AOI_TAG_TOUCHED : wide ? AOI_TAG_MOVED_WIDE : touched ? AOI_TAG_MOVED_TOUCHED : AOI_TAG_MOVED;
}

/* Writes a record without state; kind and position as far as its tag has them. */
static inline unsigned char *aoi_put_record(aoi_writer *w, unsigned char *p, int tag, int64_t id, uint64_t kind,
                                            const aoi_wire_place *at) {
    const bool wide = tag == AOI_TAG_MOVED_WIDE || tag == AOI_TAG_APPEARED_WIDE;
    if (wide) return aoi_put_wide_record(w, p, tag, id, kind, at, true, NULL);
    p = aoi_put_id(w, p, tag, id);
    if (tag == AOI_TAG_GONE) return p;
    if (tag != AOI_TAG_MOVED) p = aoi_put_varint(p, kind);
    return tag == AOI_TAG_TOUCHED ? p : aoi_put_wire_place(w, p, at);
}

/* Writes the head before the table of fields, which precedes the first record; returns the begin of the message. */
static inline unsigned char *aoi_writer_head(aoi_writer *w, int scale, double quantum, bool anew) {
    unsigned char head[AOI_WIRE_HEAD], *p = head;
    *p++ = AOI_WIRE_VERSION;
    *p++ = (unsigned char)((w->axes == 3 ? AOI_WIRE_3D : 0) | (anew ? AOI_WIRE_ANEW : 0) |
                           (w->fields ? AOI_WIRE_FIELDS : 0) | (w->reasons ? AOI_WIRE_REASONS : 0) |
                           (w->riders ? AOI_WIRE_RIDERS : 0));
    *p++ = (unsigned char)scale;
    if (scale == AOI_SCALE_OTHER) p = aoi_put_double(p, quantum);
    p = aoi_put_varint(p, w->records);
    for (int a = 0; a < w->axes && w->quanta; a++) p = aoi_put_varint(p, aoi_zigzag((uint64_t)w->origin[a]));
    size_t size = (size_t)(p - head);
    return memcpy(w->bytes + w->begin - w->table - size, head, size);
}

/* Room for one record more; false when memory is refused. */
static inline bool aoi_writer_ready(aoi_memory *m, aoi_writer *w) {
    return AOI_GROW(m, w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD);
}

/* Adds the record that ends at p to the message; false if the budget does not hold it. */
static inline bool aoi_writer_take(aoi_writer *w, const unsigned char *p, uint64_t last) {
    uint32_t end = (uint32_t)(p - w->bytes);
    if (w->most < UINT32_MAX && end - w->begin + w->table + aoi_varint_size(w->records + 1u) > w->most) {
        w->last = last;
        w->full = true;
        return false;
    }
    w->end = end;
    w->records++;
    return true;
}

#endif
