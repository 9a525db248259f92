/* wire_post.h - see wire.h: packs the events of spaces into messages for subscribers.
 *
 *   subscriber    the receiver of a numbered stream of messages with a window
 *     | links     a subscription to one space, identified in messages by its number
 *     | records   a node, from add to remove: its id in the space is the record's handle, in messages the wire handle
 *
 *   collect(space):  events of the space -> record by handle -> chains of the record    events  [ target | next ] ...
 *                    link joins the subscriber's list, subscriber joins `touched`               ^-- chain of a record
 *   send(f):         each touched subscriber -> its links -> their changed records -> messages
 *
 * A subscriber with `window` unacknowledged messages is behind: it receives nothing, its events are dropped, and its links
 * are stale.  When it has acknowledged all messages, each stale link is resynchronised by the whole views of its nodes.
 *   wire_post.c   subscribers, links, records     wire_pack.c   collect and send
 *
 * Memory is reserved before anything changes, except for the message itself: if that is refused, the subscriber's links
 * become stale, and the resync contains the lost events. */
#ifndef LAOI_WIRE_POST_H
#define LAOI_WIRE_POST_H

#include "skynet/wire.h"

#define POST_NAME "aoi.Post"

typedef struct post_event {
    int64_t target;
    uint32_t next, place; /* next: in the chain; place: of the target, AOI_NONE: the record has no places */
} post_event;

typedef struct post_place {
    uint64_t kind;
    double pos[3];
} post_place;

typedef struct post_crossing { /* of the last collect, which returns them */
    int64_t target;
    double t;
    uint32_t handle;
} post_crossing;

typedef struct post_chain {
    uint32_t first, last, count;
} post_chain;

typedef struct post_record {
    int64_t watcher, node;
    uint32_t handle, link;       /* handle 0: a free slot */
    uint32_t wire;               /* the handle in messages */
    uint32_t next, previous;     /* in the link's list; next: also in the list of free slots */
    uint32_t next_dirty;         /* in the link's list of changed records */
    post_chain chains[2];        /* leaves, enters */
    bool places, opened, closed; /* opened: sent to the subscriber; closed: removed, and its last events collected */
    bool closing;                /* removed: an item of post.closing */
    bool dirty, whole_due;
} post_record;

typedef struct post_link {
    laoi_space *space; /* NULL: a free slot */
    uint32_t number, subscriber;
    uint32_t next, previous;          /* in the subscriber's list; next: also in the list of free slots */
    uint32_t next_todo;               /* in the subscriber's list of links to be sent */
    uint32_t records, count;          /* head and length of the list of records */
    uint32_t first_dirty, last_dirty; /* list of changed records */
    bool stale, in_stale, queued;
} post_link;

typedef struct post_subscriber {
    int64_t address; /* chosen by the caller; `send` passes it on */
    uint32_t seq, acked;
    uint32_t batches;                      /* messages of moves received from it */
    uint32_t links, first_todo, last_todo; /* links: list of all; in a free slot the next free slot */
    bool used, behind, touched, started;
    bool barred; /* from any entity: `moves` leaves its messages to the caller, which has the list */
    bool unsent; /* a message is being written; still set in the next call: that failed */
} post_subscriber;

typedef struct post {
    aoi_memory memory;
    post_subscriber *subscribers;
    post_link *links;
    post_record *records;
    post_event *events;
    post_place *places;
    post_crossing *crossings;
    uint32_t *touched, *stale, *closing; /* subscribers to be sent to; links; records with events to be collected */
    unsigned char *bytes;
    aoi_hash_index handles, numbers; /* of records; of links */
    uint32_t subscriber_cap, link_cap, record_cap, event_cap, place_cap, crossing_cap, touched_cap, stale_cap,
        closing_cap, byte_cap;
    uint32_t subscriber_count, link_count, record_count, event_count, place_count, touched_count, stale_count;
    uint32_t closing_count, crossing_count, place_records, touched_at, size;
    uint32_t free_subscriber, free_link, free_record, handle;
    uint32_t window, max_message, overruns, resyncs;
    uint32_t ends;    /* length of the message's head and of the groups of ended nodes that follow it directly */
    uint32_t sending; /* the subscriber of the message that `send` is passing to its callback */
    uint64_t batches, moves;
} post;

post *laoi_post_self(lua_State *L);

uint32_t laoi_record_of_handle(const post *p, int64_t handle);                 /* or AOI_NONE */
uint32_t laoi_link_of_number(const post *p, uint32_t number, int64_t address); /* or AOI_NONE */
void laoi_free_record(post *p, uint32_t r);
/* Adds a record to the changed ones of its link, a removed node first: a new node of the tick may have its number. */
void laoi_mark_dirty(post *p, uint32_t r);
void laoi_take_dirty(post *p, post_link *k); /* removes the first changed record from the list; frees it if closed */
void laoi_queue_link(post *p, post_link *k);
void laoi_make_all_stale(post *p, post_subscriber *u);

int laoi_post_collect(lua_State *L);
int laoi_post_send(lua_State *L);
int laoi_post_moves(lua_State *L); /* wire_moves.c */

#endif
