/* wire_inbox.h - see wire.h: the events that a client is sent, and what its nodes see by them.
 *
 *   view     handle, link, ids in no order [ id id id ... ]; from 64 ids on an index of them; for handlers: watcher and node
 *   receive  checks the whole message, applies it group by group, and notes what really changes behind what `news` has; then,
 *            when no view is in use, calls the handlers
 *
 *   news     entries, each begins with a word: slot of the view, 32 bits of handle, 2 bits of form:
 *            LEAVES, id  or  ENTERS, id                 one event without a place, as most groups have
 *            GROUP, leaves, enters, values              then the ids that leave, then `values` numbers for each that enters:
 *                                                       the id alone, or id, kind, x, y [, z]
 *            SPECIAL (handle 0), OPENED, link, watcher, node, handle   a node that another client has added for this one
 *            SPECIAL, CLOSED, handle, 0, 0, 0                          the end of a node, behind its last leaves
 *            SPECIAL, RESYNCED, link, 0, 0, 0                          behind the changes that a resync has brought
 *            SPECIAL, ASKED, number, 0, 0, 0                           all of that message is before it: an ACK is expected
 *            SPECIAL, LOST, number, 0, 0, 0                            the same, and a message before that one is missing
 *
 *   table    slot + 1 -> what has the handlers of the node in fields `enter` and `leave`
 *
 * A view takes an enter only of what it does not have, and a leave only of what it has: so a handler hears them in turn
 * whatever was lost on the way.
 *
 *   wire_inbox.c   messages into views and news     wire_hear.c   news to handlers, and what Lua asks */
#ifndef LAOI_WIRE_INBOX_H
#define LAOI_WIRE_INBOX_H

#include "lua/wire.h"

#define INBOX_NAME "aoi.Inbox"

enum { FORM_SPECIAL = 0, FORM_LEAVES = 1, FORM_ENTERS = 2, FORM_GROUP = 3 };
enum { INBOX_OPENED = 1, INBOX_CLOSED, INBOX_RESYNCED, INBOX_ASKED, INBOX_LOST };
enum { ENTRY_HEAD = 4 };        /* word, leaves, enters, values */
enum { INBOX_SLOTS = 1 << 29 }; /* so that a slot fits a word */

typedef struct inbox_view {
    int64_t watcher, node;       /* as handlers receive them */
    uint32_t handle, link, next; /* handle 0: a slot that is free or left, next: of the chain of those */
    uint32_t stamp;              /* of the last resync that named it */
    uint32_t since;              /* the first epoch whose resync must name it */
    bool ended;                  /* its life is over; it is here until that has been heard */
    const void *handlers;        /* what the table has for the slot */
    int64_t *ids;
    uint32_t cap, count;
    aoi_index index;
} inbox_view;

/* Where the calls of handlers are in the news.  Valid while `walking`; `turn` names the walk, so that a handler that has
 * waited finds out that another coroutine has taken over. */
typedef struct inbox_walk {
    uint32_t at, middle, stop; /* the next event of the entry; the first of what enters; the end of the entry */
    uint32_t values, turn;
    int64_t word, target;    /* of the entry; of the last event that was reported */
    const void *handlers;    /* those on the stack */
    bool walking, reporting; /* reporting: the call is that of an error */
} inbox_walk;

/* A record of a message: a group, or (handle 0) the beginning of a resync of `leaves` groups, of epoch `enters`. */
typedef struct wire_group {
    const unsigned char *lists; /* ids that leave, then those that enter; before them what WIRE_OPEN names */
    uint32_t handle, leaves, enters, link;
    uint32_t view;                    /* its slot, AOI_NONE: there was none when the message came */
    unsigned char flags, width, dims; /* dims: 0 without places */
} wire_group;

typedef struct inbox {
    aoi_memory memory;
    inbox_view *views;
    aoi_index handles;
    aoi_hash_key hash_key; /* of ids in views */
    int64_t *news;         /* coordinates as the bits of doubles */
    unsigned char *marks;  /* of the ids of a view, while a whole view is compared */
    wire_group *groups;    /* the records of the message that is applied */
    uint32_t group_cap, group_count, view_cap, view_count, free_view, left_view, mark_cap, news_cap, news_count, stamp;
    uint32_t seq, taken; /* of the last message; of the last that has been acknowledged */
    inbox_walk walk;
    uint64_t events, messages, bytes; /* so far */
    bool torn;                        /* a message was not applied to its end */
    uint32_t held;                    /* watchers that are held up by handlers that wait */
} inbox;

/* NULL: there is none. */
inbox_view *laoi_inbox_view(const inbox *x, uint32_t handle);
/* NULL: memory is refused. */
inbox_view *laoi_inbox_add(inbox *x, uint32_t handle, uint32_t link);
/* Frees what the view has; the slot stays. */
void laoi_inbox_clear(inbox *x, inbox_view *v);
/* The slot is left: free as soon as the table has no handlers for it. */
void laoi_inbox_forget(inbox *x, inbox_view *v);
/* AOI_NONE: the view does not have it. */
uint32_t laoi_inbox_place(const inbox *x, const inbox_view *v, int64_t id);
/* Reads the records of a message.  NULL, or what is wrong with them.  Makes room in the views that are there: false in
 * *room if memory is refused. */
const char *laoi_inbox_parse(inbox *x, const unsigned char *p, const unsigned char *end, bool *room);
/* An entry that is no group; false when memory is refused. */
bool laoi_note_special(inbox *x, int what, int64_t a, int64_t b, int64_t c, int64_t d);
/* After laoi_inbox_parse, before anything else; false if memory is refused on the way. */
bool laoi_inbox_apply(inbox *x);

#endif
