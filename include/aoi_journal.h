/* aoi_journal.h - journals: every call that changes a space, as bytes. */
#ifndef AOI_JOURNAL_API_H
#define AOI_JOURNAL_API_H
#include "aoi.h"

/* A journal begins with a snapshot.  Then each call that changes the space is a record, with its arguments and, if it
 * was refused, its result; and each delivery is one: which events were taken between which calls.  Repeated on any
 * engine, the calls produce the same space and the same events.  docs/journal.md describes the format.
 *
 * A journal does not contain questions, nor clients of aoi_sync, which the host adds again.
 *
 * Cost: one predictable branch per call without a journal; 10 to 40 ns per call with one, and 20 bytes per move. */
typedef struct aoi_journal aoi_journal;

/* The numbers of calls in journals. */
enum { AOI_CALL_ENTER = 16, AOI_CALL_MOVE, AOI_CALL_LEAVE, AOI_CALL_SET_KIND, AOI_CALL_MOVE_MANY };
enum { AOI_CALL_ENTER_MANY = 21, AOI_CALL_LEAVE_MANY, AOI_CALL_ADD_NODE, AOI_CALL_ADOPT_NODE, AOI_CALL_ADD_NODE_MANY };
enum { AOI_CALL_REMOVE_NODE = 26, AOI_CALL_SET_AREA, AOI_CALL_SET_RADIUS, AOI_CALL_SET_FACING, AOI_CALL_SET_MASK };
enum {
    AOI_CALL_OVERRIDE = 31,
    AOI_CALL_FLUSH,
    AOI_CALL_ATTACH,
    AOI_CALL_SET_LAYERS,
    AOI_CALL_SET_EXTENT,
    AOI_CALL_PUT, /* of aoi_sync: a synchroniser with fields opens or closes (id 0), or a field of an entity is put */
    AOI_CALL_OPEN_SIGHT, /* of aoi_sight.h; a sight of clients belongs to a synchroniser and ticks with it */
    AOI_CALL_CLOSE_SIGHT,
    AOI_CALL_ADD_WALL,
    AOI_CALL_OPEN_WALL,
    AOI_CALL_SHUT_WALL,
    AOI_CALL_REMOVE_WALL,
    AOI_CALL_ADD_SIGHT_NODE, /* also a view of a client */
    AOI_CALL_TICK_SIGHT,
    AOI_CALL_PIN, /* aoi_sync_pin of a client with walls: id is the client, node_id the target; changes no space */
    AOI_CALL_UNPIN,
    AOI_CALL_LEAVE_BECAUSE, /* aoi_leave with a reason other than 0 */
    AOI_CALL_JUMP,
    AOI_CALL_SET_LAYERS_OF_ALL, /* aoi_set_layers_with_passengers */
    AOI_CALLS_END
};
AOI_API const char *aoi_call_name(int call); /* "enter" ...; NULL: no number of a call */

typedef struct aoi_journal_options { /* exactly one of write and ring */
    aoi_write write; /* receives the bytes, 64 KB at a time and the rest at each mark; must not use the space */
    void *ud;
    size_t ring; /* size in bytes of a buffer that keeps the newest part of the journal, for aoi_journal_dump */
} aoi_journal_options;

/* Starts recording s, by one journal at most (AOI_EEXIST).  AOI_EVALUE: bad options, or `write` failed; AOI_ENOMEM. */
AOI_API int aoi_journal_start(aoi_space *s, const aoi_journal_options *options, aoi_journal **out);

/* Records a mark, which a player can go to, and hands all recorded bytes over, so that a crash loses only later ones.
 * Times must not decrease (AOI_EVALUE).  AOI_EGONE: the space is closed.  A journal that could not write or had no
 * memory stops recording; this call and aoi_journal_stop then return that error. */
AOI_API int aoi_journal_mark(aoi_journal *j, double time);
AOI_API uint64_t aoi_journal_bytes(const aoi_journal *j); /* recorded so far; of a ring, those in it */

/* Writes the contents of a ring as a complete journal: at least three quarters of its size, or everything since the
 * start.  Each segment of a ring begins with a snapshot; large snapshots take up to half of the ring.  AOI_EVALUE: not
 * a ring, or `write` returned false; AOI_ENOMEM: the ring is not complete. */
AOI_API int aoi_journal_dump(aoi_journal *j, aoi_write write, void *ud);

/* Ends and frees a journal, before or after its space; NULL does nothing.  AOI_EVALUE, AOI_ENOMEM: incomplete. */
AOI_API int aoi_journal_stop(aoi_journal *j);

/* Reading.  A player is a position in the bytes, which must stay valid; the caller owns the space on which it plays. */
typedef struct aoi_player aoi_player;

typedef struct aoi_play_info {
    uint64_t bytes; /* valid bytes: a truncated journal is valid up to its last whole record */
    bool whole;     /* the journal was stopped, not truncated */
    bool inexact;   /* a flush ran out of memory half way: a replay may differ from there on */
    uint64_t calls, refused, events, marks;
    double first, last; /* times of the first and the last mark, if there are marks */
    uint64_t of_call[AOI_CALLS_END];
} aoi_play_info;

enum { AOI_STEP_END = 0, AOI_STEP_MARK = 1 };

typedef struct aoi_step {
    int call;            /* AOI_CALL_..., AOI_STEP_MARK, AOI_STEP_END: the end of the journal */
    int result;          /* not AOI_OK: the call was refused then and is not repeated */
    int64_t id, node_id; /* 0 if the call has none; of a wall its id; id of a sight's tick: 1 for a sight of clients */
    uint64_t count;      /* rows of a batch; number of a sight */
    double time;         /* of a mark */
} aoi_step;

/* Opens a player into *out; reads all bytes once.  AOI_EVALUE: not a journal, or damaged; *fault (fault may be NULL) is
 * the reason, a constant.  AOI_ENOMEM.  Of the options, which may be NULL, only alloc is used. */
AOI_API int aoi_play_open(const void *bytes, size_t size, const aoi_load_options *options, aoi_player **out,
                          const char **fault);
AOI_API void aoi_play_close(aoi_player *p);
AOI_API void aoi_play_read_info(const aoi_player *p, aoi_play_info *out);
AOI_API bool aoi_play_mark(const aoi_player *p, size_t i, double *time, uint64_t *place); /* i from 0; false: none */

/* Loads the last snapshot before that place, or the first one, into *out and moves the player behind it. */
AOI_API int aoi_play_start(aoi_player *p, uint64_t place, const aoi_load_options *options, aoi_space **out,
                           const char **fault);
AOI_API uint64_t aoi_play_tell(const aoi_player *p);      /* the place of the player */
AOI_API int aoi_play_goto(aoi_player *p, uint64_t place); /* of a mark; the space must be in its state there */

/* Repeats the next call, or passes the next mark.  Then aoi_play_next returns the events that were taken before the
 * next step, one a call, until kind is 0; the next step takes the rest.  AOI_EVALUE: the space differs from the
 * recorded one; AOI_ENOMEM.  Of the options `node` is used, for nodes that are added; it must not change silent. */
AOI_API int aoi_play_step(aoi_player *p, aoi_space *s, const aoi_load_options *options, aoi_step *out);
AOI_API int aoi_play_next(aoi_player *p, aoi_space *s, aoi_event *out);

#endif
