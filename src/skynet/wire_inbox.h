/* wire_inbox.h - see wire.h: the events that a client receives, and the views of its nodes, which follow from them.
 *
 *   view     handle, link, unordered ids [ id id id ... ], with an index from 64 ids on; watcher and node for handlers
 *   receive  checks the whole message, applies it group by group, and appends effective changes to `news`; then calls the
 *            handlers, while no view is being changed
 *
 *   news     entries; the first word of each has the slot of the view, 32 bits of handle, 2 bits of form:
 *            LEAVES, id  or  ENTERS, id                 one event without a place: the usual case
 *            GROUP, leaves, enters, values              then the ids that leave, then `values` numbers per enter: the id
 *                                                       alone, or id, kind, x, y [, z]
 *            SPECIAL (handle 0), OPENED, link, watcher, node, handle   another client has added a node for this client
 *            SPECIAL, CLOSED, handle, 0, 0, 0                          a node has ended; follows its last leaves
 *            SPECIAL, RESYNCED, link, 0, 0, 0                          a resync is complete; follows its changes
 *            SPECIAL, ASKED, number, 0, 0, 0                           end of the message `number`, which expects an ACK
 *            SPECIAL, LOST, number, 0, 0, 0                            as ASKED, after a gap in the sequence of messages
 *
 *   table    slot + 1 -> the object that has the handlers of the node in its fields `enter` and `leave`
 *
 * A view ignores an enter of an id that it contains, and a leave of an id that it does not: enters and leaves of a
 * target alternate, even if messages are lost.
 *
 *   wire_inbox.c   messages to views and news     wire_dispatch.c   news to handlers, methods of the inbox */
#ifndef LAOI_WIRE_INBOX_H
#define LAOI_WIRE_INBOX_H

#include "skynet/wire.h"

#define INBOX_NAME "aoi.Inbox"

enum { FORM_SPECIAL = 0, FORM_LEAVES = 1, FORM_ENTERS = 2, FORM_GROUP = 3 };
enum { INBOX_OPENED = 1, INBOX_CLOSED, INBOX_RESYNCED, INBOX_ASKED, INBOX_LOST };
enum { ENTRY_HEAD = 4 };        /* word, leaves, enters, values */
enum { INBOX_SLOTS = 1 << 29 }; /* a word has room for a slot below this */

typedef struct inbox_view {
    int64_t watcher, node;       /* as handlers receive them */
    uint32_t handle, link, next; /* handle 0: the slot is free or removed, next: in the list of those slots */
    uint32_t stamp;              /* of the last resync that contained the view */
    uint32_t since;              /* resyncs of earlier epochs cannot contain the view */
    bool ended;                  /* the node has ended; the view stays until that is reported */
    const void *handlers;        /* address of the table's object for the slot */
    int64_t *ids;
    uint32_t cap, count;
    aoi_hash_index index;
} inbox_view;

/* The position of the handler calls in the news, valid while `walking`.  `turn` identifies the walk: a coroutine that
 * resumes from a handler detects by it that another coroutine has taken over. */
typedef struct inbox_walk {
    uint32_t at, middle, stop; /* the next event; the first enter of the entry; the end of the entry */
    uint32_t values, turn;
    int64_t word, target;    /* word of the entry; target of the last event */
    const void *handlers;    /* address of the object on the stack */
    bool walking, reporting; /* reporting: the current call reports an error */
} inbox_walk;

/* A record of a message: a group, or (handle 0) the head of a resync of `leaves` groups, of epoch `enters`. */
typedef struct wire_group {
    const unsigned char *lists; /* ids of leaves, then enters; the fields of WIRE_OPEN precede them */
    uint32_t handle, leaves, enters, link;
    uint32_t view;                    /* slot of its view; AOI_NONE: none when the message was parsed */
    unsigned char flags, width, dims; /* dims: 0 without places */
} wire_group;

typedef struct inbox {
    aoi_memory memory;
    inbox_view *views;
    aoi_hash_index handles;
    aoi_hash_key hash_key; /* of ids in views */
    int64_t *news;         /* coordinates as bits of doubles */
    unsigned char *marks;  /* one per id of a view, while a whole view is compared */
    wire_group *groups;    /* records of the current message */
    uint32_t group_cap, group_count, view_cap, view_count, free_view, removed_view, mark_cap, news_cap, news_count,
        stamp;
    uint32_t seq, acked; /* numbers of the last message, and of the last acknowledged one */
    inbox_walk walk;
    uint64_t events, messages, bytes; /* totals */
    bool incomplete;                  /* the last message was applied only in part */
    uint32_t held;                    /* watchers with events that wait for a suspended handler */
} inbox;

/* NULL: no view has the handle. */
inbox_view *laoi_inbox_view(const inbox *x, uint32_t handle);
/* NULL: memory is refused. */
inbox_view *laoi_inbox_add(inbox *x, uint32_t handle, uint32_t link);
/* Frees the memory of the view; its slot stays in use. */
void laoi_inbox_clear(inbox *x, inbox_view *v);
/* Removes the view; its slot is reused once the table has no handlers for it. */
void laoi_inbox_remove(inbox *x, inbox_view *v);
/* The position of an id in the view, or AOI_NONE. */
uint32_t laoi_inbox_place(const inbox *x, const inbox_view *v, int64_t id);
/* Parses the records of a message into x->groups, and reserves room in the existing views: *room is false if memory is
 * refused.  Returns NULL, or the fault of the message. */
const char *laoi_inbox_parse(inbox *x, const unsigned char *p, const unsigned char *end, bool *room);
/* Appends an entry of form SPECIAL; false when memory is refused. */
bool laoi_note_special(inbox *x, int what, int64_t a, int64_t b, int64_t c, int64_t d);
/* Applies x->groups, directly after laoi_inbox_parse.  False if memory is refused: then a part of them is applied. */
bool laoi_inbox_apply(inbox *x);

#endif
