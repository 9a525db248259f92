/* snapshot.h - the format of snapshots and journals (docs/snapshot.md, docs/journal.md): records.
 *
 *   snapshot   "AOIS" version, state, CRC-32 of all bytes before it
 *   journal    "AOIJ" version, state, calls ... (journal/journal.h)
 *   state      [ space | enter ... attach ... set_layers, set_extent ... put ... add_node ... override ... | kept ...
 *                changed ... | events | open_sight, add_wall ... add_sight_node ... pairs ... events | end ]
 *
 * A record is a byte for its kind, and its data.  What a space contains is written as the calls that would make it; what
 * is not a call - pairs that are kept, events that wait - has records of its own.  A state is one record, whose data are
 * records; it contains no data of the engine, no slot and no address: the bytes depend only on the contents of the space
 * and on the order of the events that wait.
 *
 *   entities by rising id, nodes by entity from old to new, pairs by node and rising id of the target
 *
 * Loading applies the records and then saves the space: bytes that are not those again are refused. */
#ifndef AOI_SNAPSHOT_H
#define AOI_SNAPSHOT_H

#include "base/crc32.h"
#include "base/output.h"
#include "core/state_hook.h"

#define AOI_SNAPSHOT_MAGIC "AOIS"

enum {
    AOI_SNAPSHOT_VERSION = 1,
    AOI_SNAPSHOT_HEAD = 5, /* bytes */
    AOI_SNAPSHOT_CRC = 4,
    AOI_MOST_ENGINE_NAME = 31
};

/* Records other than calls; calls have the numbers of aoi_journal.h. */
enum {
    AOI_RECORD_FRESH = 0,    /* of a state: a node that crosses was added since the last delivery */
    AOI_RECORD_STATE,        /* of a whole space: records up to AOI_RECORD_END */
    AOI_RECORD_MARK,         /* time */
    AOI_RECORD_CHECK,        /* CRC-32 of the records between the last check and this one */
    AOI_RECORD_END,          /* of a state; the host has stopped */
    AOI_RECORD_ALL_TAKEN,    /* all events that waited were taken; their number */
    AOI_RECORD_TAKEN,        /* single events were taken, in order */
    AOI_RECORD_SETTLED,      /* moves that waited were evaluated */
    AOI_RECORD_HALF_SETTLED, /* some of them were, and then memory was refused */
    AOI_RECORD_KEPT_ORDER,   /* aoi_keep_order */
    AOI_RECORD_REFUSED,      /* a call, its result, the ids among its arguments */
    AOI_RECORD_KEPT,         /* of a state: a node and the targets that it keeps */
    AOI_RECORD_CHANGED,      /* a node and the targets marked AOI_PAIR_CHANGED */
    AOI_RECORD_EVENTS,       /* events: 0, of the space; a sight's number + 1, of that */
    AOI_RECORD_PAIRS,        /* a node of a sight and pairs of the last tick */
    AOI_RECORD_WAY           /* where an entity was at the last delivery; 1: it crosses nothing */
};

/* The data in the record of a call, in this order. */
enum {
    AOI_CALL_ID = 1,       /* of the entity, of a wall; of open_sight the last one of a wall */
    AOI_CALL_NODE = 2,     /* its id; of open_sight the number of the sight with its walls, or -1 */
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
    AOI_CALL_BYTES = 4096,   /* their number, bytes */
    AOI_CALL_BY_NODE = 8192, /* nothing: the call has the handle of a node */
    AOI_CALL_SIGHT = 16384,
    AOI_CALL_WALL = 32768,   /* 4 doubles, 6 in 3D */
    AOI_CALL_EVENTS = 65536, /* their number; events */
    AOI_CALL_PAIRS = 131072  /* their number; ids of targets, states, ages */
};
unsigned aoi_record_fields(unsigned what); /* of records with such data; 0: others */

typedef struct aoi_outline { /* of the last polygon that was read; its owner frees it */
    aoi_memory *memory;
    double *points;
    int *ends;
    uint32_t point_cap, end_cap;
    bool refused; /* memory */
} aoi_outline;
typedef struct aoi_record { /* a record that was read; `what` determines the members in use */
    unsigned what;          /* AOI_RECORD_... or AOI_CALL_... */
    unsigned call, result;  /* of a refused call */
    int64_t id, node_id, target;
    uint64_t bits; /* kind, mask, how, sum, linger */
    uint32_t sight;
    double values[6];
    aoi_area area;
    aoi_outline outline; /* of the area */
    uint64_t count;
    aoi_bytes list; /* of `count` rows, ids, events, pairs or bytes; or the contents of a state */
} aoi_record;

/* Reads the next record; false at the end, if it is truncated, if it is faulty: then *fault is set; or if memory for the
 * outline is refused. */
bool aoi_get_record(aoi_bytes *in, int dims, aoi_record *r, const char **fault);
/* Writes the record of a call; its id and node id are given.  Events, pairs and bytes follow by the caller. */
void aoi_write_record(aoi_output *out, const aoi_space *s, const aoi_call *c, int64_t id, int64_t node_id);

void aoi_get_row(aoi_bytes *list, int dims, aoi_row *row); /* the next element of a list */

/* Lists of events: ids are differences to those of the event before. */
typedef struct aoi_saved_event {
    unsigned how;     /* the kind and these flags */
    unsigned because; /* reason */
    int64_t watcher, node_id, target;
    double t; /* of a crossing */
} aoi_saved_event;
enum {
    AOI_EVENT_KIND = 3,
    AOI_EVENT_TARGET_GONE = 4, /* or its id is in use again */
    AOI_EVENT_NODE_GONE = 8,   /* or its ids are in use again */
    AOI_EVENT_OWED = 16,       /* of a sight: it waits for the next tick */
    AOI_EVENT_BECAUSE = 32,    /* a byte, the reason, follows */
    AOI_EVENT_ROOM = 10 + 3 * AOI_MOST_VARINT
};
unsigned char *aoi_put_event(unsigned char *p, aoi_saved_event *last, const aoi_saved_event *e);
void aoi_get_event(aoi_bytes *list, aoi_saved_event *e); /* e: the event before; at first all 0 */

/* Writes an event that waits; how: flags for it. */
void aoi_put_waiting(aoi_output *out, const aoi_space *s, const aoi_queued *q, unsigned how, aoi_saved_event *last);

enum { AOI_AS_SILENT = 1, AOI_AS_CROSSES = 2 };
typedef struct
    aoi_saved_as { /* of a space that has just been loaded: what its bytes say, whatever it was loaded into */
    const char *engine;
    const uint8_t *nodes; /* flags by slot */
} aoi_saved_as;
/* Writes the state of a settled space.  all: also sights that a snapshot leaves out; as: may be NULL.  False: memory
 * refused. */
bool aoi_put_state(aoi_output *out, aoi_space *s, bool all, const aoi_saved_as *as);
/* Loads the state whose contents those are. */
int aoi_load_state(aoi_bytes in, const aoi_load_options *o, aoi_space **out, const char **fault);

/* The first byte of an area: its shape and flags of its data.  LABELLED: a label, ended by a 0, and the area follow;
 * OUTSIDE: the area follows whose outside the node sees. */
enum {
    AOI_AREA_OUTSIDE = 6,
    AOI_AREA_FIXED = 14,
    AOI_AREA_CROSSES = 15,
    AOI_AREA_SHIFTED = 22, /* its offset follows */
    AOI_AREA_LABELLED = 7,
    AOI_AREA_SHAPE = 7,
    AOI_AREA_SILENT = 8,
    AOI_AREA_MASKED = 16, /* a mask follows; else all kinds */
    AOI_AREA_GROWN = 32,  /* keep of a square or circle, margin of the others */
    AOI_AREA_HEIGHT = 64, /* half_height of a sector or polygon */
    AOI_AREA_LAYERS = 128 /* layers of its own */
};

/* Bytes of the longest area without its corners, and of the part of them that aoi_put_outline writes. */
enum { AOI_AREA_ROOM = 96 + AOI_MOST_LABEL + 5, AOI_OUTLINE_ROOM = 64 * 16 };

enum { AOI_RECORD_ROOM = 64 + AOI_AREA_ROOM }; /* of the longest record before its corners and its list */

/* Write an area without fault: first all but its corners, then those, part by part, from *at = 0 on until false. */
unsigned char *aoi_put_area(unsigned char *p, int dims, const aoi_area *a);
bool aoi_put_outline(unsigned char **p, const aoi_area *a, int *at);
/* Both at once, for which there must be room. */
size_t aoi_area_room(const aoi_area *a);
unsigned char *aoi_put_whole_area(unsigned char *p, int dims, const aoi_area *a);

void aoi_outline_free(aoi_outline *o);

/* Returns the fault or NULL; a polygon has its corners in the outline.  Refused memory counts as cut off. */
const char *aoi_get_area(aoi_bytes *in, int dims, aoi_outline *o, aoi_area *out);

#endif
