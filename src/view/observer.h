/* observer.h - an observer from inside; see observer.c. */
#ifndef AOI_OBSERVER_H
#define AOI_OBSERVER_H

#include "core/space.h"
#include "core/state_hook.h"
#include "sight/sight.h"
#include "snapshot/snapshot.h"
#include "sync/sync.h"

enum {
    OBSERVER_BLOCK = 5, /* a type and four bytes of length in front of each */
    OBSERVER_NUMBER = 10
};

typedef struct observer_entity {
    double pos[3];
    uint64_t kind;
    uint64_t looks; /* hash of its layers, extent and carrier; 0: the defaults */
    int64_t id;
    uint32_t generation; /* 0: not written */
} observer_entity;

typedef struct observer_node {
    int64_t owner, node_id;
    uint64_t hash;
    uint32_t generation;
} observer_node;

typedef struct observer_wall {
    int64_t id; /* 0: none is written */
    uint64_t hash;
} observer_wall;

struct aoi_observer {
    aoi_space *space; /* NULL: the space has closed */
    aoi_observer *next;
    aoi_memory memory; /* its own, since it may outlive the space */
    aoi_observer_options options;
    bool fresh;  /* the next call writes everything */
    bool looked; /* `looks` of some entity is not 0 */
    observer_entity *entities;
    observer_node *nodes;
    observer_wall *walls; /* by slot, sight after sight */
    aoi_queued *taken;
    uint64_t dropped; /* events beyond the option */
    uint64_t stated;  /* number of the last change of fields that was written */
    uint64_t walled;  /* hash of the sights and their numbers of slots */
    uint32_t entity_cap, entity_top, node_cap, node_top, wall_cap, taken_cap, taken_count, turn;
    aoi_writer writer;
};

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static inline bool observer_room(aoi_observer *o, size_t bytes) {
    return AOI_GROW(&o->memory, o->writer.bytes, o->writer.cap, o->writer.end + bytes);
}

/* Begins a block, for which there must be room; returns its position.  end_block removes an empty block. */
static inline uint32_t begin_block(aoi_observer *o, char type) {
    uint32_t at = o->writer.end;
    o->writer.bytes[at] = (unsigned char)type;
    o->writer.end += OBSERVER_BLOCK;
    return at;
}

static inline void end_block(aoi_observer *o, uint32_t at) {
    uint32_t size = o->writer.end - at - OBSERVER_BLOCK;
    (void)aoi_put_bytes(o->writer.bytes + at + 1, size, 4);
    if (!size) o->writer.end = at;
}

static inline void ends_at(aoi_observer *o, const unsigned char *p) {
    o->writer.end = (uint32_t)(p - o->writer.bytes);
}

#endif
