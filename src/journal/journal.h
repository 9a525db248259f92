/* journal.h - a journal: a snapshot and all later calls that changed the space, as bytes.
 *
 *   "AOIJ" version  [ snapshot | call | call | taken | mark | ... | check ]  [ snapshot | ... | check ]  ...  end
 *
 * A record is a byte for its kind, and its data.  A check is the CRC-32 of all records since the last check: one ends
 * each piece that is handed over, so that a journal truncated by a crash is valid up to its last whole record.
 * docs/journal.md describes the records. */
#ifndef AOI_JOURNAL_H
#define AOI_JOURNAL_H

#include "core/journal_hook.h"
#include "snapshot/snapshot.h"

#define AOI_JOURNAL_MAGIC "AOIJ"

enum {
    AOI_JOURNAL_VERSION = 1,
    AOI_JOURNAL_HEAD = 5, /* bytes before the first record */
    AOI_CHECK_BYTES = 5   /* of a check */
};

/* Records other than calls; calls have the numbers of aoi_journal.h. */
enum {
    AOI_RECORD_SNAPSHOT = 1, /* pieces: length, bytes; a length of 0 ends it */
    AOI_RECORD_MARK,         /* time */
    AOI_RECORD_CHECK,        /* CRC-32 of the records between the last check and this one */
    AOI_RECORD_END,          /* the host has stopped */
    AOI_RECORD_ALL_TAKEN,    /* all events that waited were taken; their number */
    AOI_RECORD_TAKEN,        /* single events were taken, in order */
    AOI_RECORD_SETTLED,      /* moves that waited were evaluated */
    AOI_RECORD_HALF_SETTLED, /* some of them were, and then memory was refused */
    AOI_RECORD_KEPT_ORDER,   /* aoi_keep_order */
    AOI_RECORD_REFUSED       /* a call, its result, the ids among its arguments */
};

/* The data in the record of a call, in this order. */
enum {
    AOI_CALL_ID = 1,       /* of the entity */
    AOI_CALL_NODE = 2,     /* its id */
    AOI_CALL_ATTACHED = 4, /* a byte; 0: nothing follows */
    AOI_CALL_TARGET = 8,
    AOI_CALL_ROWS = 16, /* their number; the rows are at the end, as all lists are */
    AOI_CALL_BITS = 32,
    AOI_CALL_HOW = 64,    /* a byte */
    AOI_CALL_PLACE = 128, /* 2 or 3 doubles, two, one */
    AOI_CALL_VALUES = 256,
    AOI_CALL_VALUE = 512,
    AOI_CALL_AREA = 1024,
    AOI_CALL_IDS = 2048,
    AOI_CALL_PIECES = 4096,  /* as those of a snapshot */
    AOI_CALL_BY_NODE = 8192, /* nothing: the call has the handle of a node */
    AOI_CALL_SIGHT = 16384,
    AOI_CALL_WALL = 32768 /* 4 doubles, 6 in 3D */
};
unsigned aoi_call_fields(int call);
int aoi_call_values(unsigned fields, int dims); /* number of doubles */

typedef struct aoi_record { /* a record that was read; `what` determines the members in use */
    unsigned what;          /* AOI_RECORD_... or AOI_CALL_... */
    unsigned call, result;  /* of a refused call */
    int64_t id, node_id, target;
    uint64_t bits; /* kind, mask, how, sum, linger */
    uint32_t sight;
    double values[6];
    aoi_area area;
    double points[2 * AOI_MOST_CORNERS];
    uint64_t count;
    aoi_bytes list; /* of `count` rows, ids or events; or the pieces of a snapshot */
} aoi_record;

/* Reads the next record; false at the end, if it is truncated, or if it is faulty: then *fault is set. */
bool aoi_get_record(aoi_bytes *in, int dims, aoi_record *r, const char **fault);

/* Read the next element of a list. */
void aoi_get_row(aoi_bytes *list, int dims, aoi_row *row);
void aoi_get_event(aoi_bytes *list, aoi_event *e);

#endif
