/* wire_post.h - see wire.h: from the events of spaces to the messages of their subscribers.
 *
 *   subscriber    a stream of messages, numbered, with a window
 *     | links     what it has in one space: open once, closed once; the wire knows it by its number
 *     | records   one life of one node: the space knows the node by the record's handle, the wire by that or another number
 *
 *   collect(space):  events of the space -> record by handle -> chains of the record    events  [ target | next ] ...
 *                    link joins the subscriber's list, subscriber joins `touched`               ^-- chain of a record
 *   send(f):         each touched subscriber -> its links -> their changed records -> messages
 *
 * A subscriber with `window` messages unacknowledged is behind: it is sent nothing, its events are dropped, and its links
 * are stale.  When it has acknowledged everything, a stale link begins again with the whole views of its nodes.
 *   wire_post.c   subscribers, links, records     wire_pack.c   collect and send
 *
 * Memory is asked for before anything changes.  Only the message itself may be refused it later: then the subscriber's
 * links are stale, and nothing is lost. */
#ifndef LAOI_WIRE_POST_H
#define LAOI_WIRE_POST_H

#include "lua/wire.h"

#define POST_NAME "aoi.Post"

typedef struct post_event {
    int64_t target;
    uint32_t next, place; /* of the same chain; where the target is, AOI_NONE if the record does not ask */
} post_event;

typedef struct post_place {
    uint64_t kind;
    double pos[3];
} post_place;

typedef struct post_chain {
    uint32_t first, last, count;
} post_chain;

typedef struct post_record {
    int64_t watcher, node;
    uint32_t handle, link;       /* handle 0: a free slot */
    uint32_t wire;               /* the handle in messages */
    uint32_t next, previous;     /* of the link; next: of the free slots, too */
    uint32_t next_dirty;         /* of the link's changed records */
    post_chain chains[2];        /* leaves, enters */
    bool places, opened, closed; /* opened: has been reported; closed: its life is over, last events included */
    bool closing;                /* it is in the list of that name */
    bool dirty, owes_whole;
} post_record;

typedef struct post_link {
    laoi_space *space; /* NULL: a free slot */
    uint32_t number, subscriber;
    uint32_t next, previous;          /* of the subscriber; next: of the free slots, too */
    uint32_t next_todo;               /* of the links that the subscriber's next messages are about */
    uint32_t records, count;          /* chain, its length */
    uint32_t first_dirty, last_dirty; /* chain of changed records */
    bool stale, in_stale, queued;
} post_link;

typedef struct post_subscriber {
    int64_t address; /* the caller's own: what `send` tells */
    uint32_t seq, acked;
    uint32_t batches;                      /* messages of moves that have come from it */
    uint32_t links, first_todo, last_todo; /* links: chain; next of the free slots, too */
    bool used, behind, touched, started;
    bool barred; /* from some entity: `moves` leaves its messages to the caller, who knows which */
    bool unsent; /* a message is being made; if that fails, all is to be sent again */
} post_subscriber;

typedef struct post {
    aoi_memory memory;
    post_subscriber *subscribers;
    post_link *links;
    post_record *records;
    post_event *events;
    post_place *places;
    uint32_t *touched, *stale, *closing; /* subscribers with news; links; records whose last events are still to come */
    unsigned char *bytes;
    aoi_index handles, numbers; /* of records; of links */
    uint32_t subscriber_cap, link_cap, record_cap, event_cap, place_cap, touched_cap, stale_cap, closing_cap, byte_cap;
    uint32_t subscriber_count, link_count, record_count, event_count, place_count, touched_count, stale_count;
    uint32_t closing_count, place_records, touched_at, size;
    uint32_t free_subscriber, free_link, free_record, handle;
    uint32_t window, max_message, overruns, resyncs;
    uint32_t ends;    /* so long are head and nodes that end in the message that is made, if it begins with them */
    uint32_t sending; /* the subscriber whose message `send` has handed on */
    uint64_t batches, moves;
} post;

post *laoi_post_self(lua_State *L);

uint32_t laoi_record_of_handle(const post *p, int64_t handle); /* AOI_NONE: no record has it */
uint32_t laoi_link_of_number(const post *p, uint32_t number,
                             int64_t address); /* AOI_NONE: the subscriber has no such */
void laoi_free_record(post *p, uint32_t r);
void laoi_mark_dirty(post *p,
                     uint32_t r); /* a node that ends comes first: its number may be used again in the same tick */
void laoi_take_dirty(post *p, post_link *k); /* the first changed record is done with; a closed one is gone then */
void laoi_queue_link(post *p, post_link *k);
void laoi_make_all_stale(post *p, post_subscriber *u);

int laoi_post_collect(lua_State *L);
int laoi_post_send(lua_State *L);
int laoi_post_moves(lua_State *L); /* wire_moves.c */

#endif
