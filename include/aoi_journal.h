/* aoi_journal.h - journals: every call that changes a space, as bytes.  A part of aoi.h, which includes it. */
#ifndef AOI_JOURNAL_API_H
#define AOI_JOURNAL_API_H
#ifndef AOI_H
#error "include aoi.h"
#endif

/* A journal begins with a snapshot; then each call of this header that changes the space is a record, with its arguments
 * and, where it was refused, its result; and each delivery: which events were taken between which calls.  Made again, on
 * any engine, the calls make the same space and the same events.  The format is in docs/journal.md.
 *
 * Not in it: questions; aoi_sync, whose views are added again by its owner, and which changes nothing else.
 *
 * Cost: one predictable branch a call without a journal, 10 to 40 ns with one, and 20 bytes a move. */
typedef struct aoi_journal aoi_journal;

/* Calls, as journals number them. */
enum { AOI_CALL_ENTER = 16, AOI_CALL_MOVE, AOI_CALL_LEAVE, AOI_CALL_SET_KIND, AOI_CALL_MOVE_MANY };
enum { AOI_CALL_ENTER_MANY = 21, AOI_CALL_LEAVE_MANY, AOI_CALL_ADD_NODE, AOI_CALL_ADOPT_NODE, AOI_CALL_ADD_NODE_MANY };
enum { AOI_CALL_REMOVE_NODE = 26, AOI_CALL_SET_AREA, AOI_CALL_SET_RADIUS, AOI_CALL_SET_FACING, AOI_CALL_SET_MASK };
enum {
    AOI_CALL_OVERRIDE = 31,
    AOI_CALL_FLUSH,
    AOI_CALL_ATTACH,
    AOI_CALL_SET_LAYERS,
    AOI_CALL_SET_EXTENT,
    AOI_CALL_PUT, /* fields of aoi_sync: a synchroniser with fields opens or closes (id 0), or one of an entity is put */
    AOI_CALL_OPEN_SIGHT, /* of aoi_sight.h; one of clients belongs to a synchroniser, whose tick is its tick */
    AOI_CALL_CLOSE_SIGHT,
    AOI_CALL_ADD_WALL,
    AOI_CALL_OPEN_WALL,
    AOI_CALL_SHUT_WALL,
    AOI_CALL_REMOVE_WALL,
    AOI_CALL_ADD_SIGHT_NODE, /* a view of a client, too */
    AOI_CALL_TICK_SIGHT,
    AOI_CALL_PIN, /* aoi_sync_pin of a client with walls: id and node_id are those of client and target; changes no space */
    AOI_CALL_UNPIN,
    AOI_CALLS_END
};
AOI_API const char *aoi_call_name(int call); /* "enter" ...; NULL: no call */

typedef struct aoi_journal_options { /* write or ring, not both */
    aoi_write write; /* takes the bytes, 64 KB at a time and whatever there is at a mark; must not use the space */
    void *ud;
    size_t ring; /* bytes: the last ones are kept in memory, for aoi_journal_dump */
} aoi_journal_options;

/* From now on s is recorded, by one journal at most (AOI_EEXIST).  AOI_EVALUE for options that are none, or when write
 * refuses; AOI_ENOMEM. */
AOI_API int aoi_journal_start(aoi_space *s, const aoi_journal_options *options, aoi_journal **out);

/* A tick: a place to find again; times do not go back.  Hands over what has been recorded: what a crash can lose is what
 * comes after it.  AOI_EVALUE; AOI_EGONE: the space is closed.  A journal that could not write or had no memory records
 * nothing more, and says so here and in aoi_journal_stop. */
AOI_API int aoi_journal_mark(aoi_journal *j, double time);
AOI_API uint64_t aoi_journal_bytes(const aoi_journal *j); /* so far; of a ring those it has */

/* What a ring has, as a whole journal: at least three quarters of its bytes, or all since it was started.  It begins with a
 * snapshot, as each of its parts does; where snapshots are large they take up to half of it. */
AOI_API int aoi_journal_dump(aoi_journal *j, aoi_write write, void *ud);

/* Ends and frees it, before or after its space; NULL is harmless.  AOI_EVALUE, AOI_ENOMEM: it is not complete. */
AOI_API int aoi_journal_stop(aoi_journal *j);

/* Reading.  A player has a place in the bytes, which must stay; the space it plays on is the caller's. */
typedef struct aoi_player aoi_player;

typedef struct aoi_play_info {
    uint64_t bytes; /* that are good: a journal that was cut off is good up to its last whole record */
    bool whole;     /* it was ended, not cut off */
    bool inexact;   /* a flush was refused memory half way: a replay may differ from there on */
    uint64_t calls, refused, events, marks;
    double first, last; /* times, if there are marks */
    uint64_t of_call[AOI_CALLS_END];
} aoi_play_info;

enum { AOI_STEP_END = 0, AOI_STEP_MARK = 1 };

typedef struct aoi_step {
    int call;            /* AOI_CALL_..., AOI_STEP_MARK, AOI_STEP_END: there is none */
    int result;          /* not AOI_OK: it was refused, and has not been made again */
    int64_t id, node_id; /* 0 where the call has none; of a wall its id; id of a sight's tick: 1 of clients */
    uint64_t count;      /* rows of a batch; number of a sight */
    double time;         /* of a mark */
} aoi_step;

/* Looks through the bytes once.  AOI_EVALUE with a *fault for what is no journal, or is damaged.  Of the options alloc is
 * used. */
AOI_API int aoi_play_open(const void *bytes, size_t size, const aoi_load_options *options, aoi_player **out,
                          const char **fault);
AOI_API void aoi_play_close(aoi_player *p);
AOI_API void aoi_play_read_info(const aoi_player *p, aoi_play_info *out);
AOI_API bool aoi_play_mark(const aoi_player *p, size_t i, double *time, uint64_t *place); /* the i-th; false: none */

/* A new space as the last snapshot before that place has it, 0: the first; the player goes there. */
AOI_API int aoi_play_start(aoi_player *p, uint64_t place, const aoi_load_options *options, aoi_space **out,
                           const char **fault);
AOI_API uint64_t aoi_play_tell(const aoi_player *p);      /* its place */
AOI_API int aoi_play_goto(aoi_player *p, uint64_t place); /* of a mark; the space must be as it was there */

/* Makes the next call, or passes the next mark.  Then aoi_play_next tells the events that were taken before the next one,
 * until kind is 0; those that are not asked for are taken by the next step.  AOI_EVALUE: the space is not the one that was
 * recorded.  Of the options node is used, for nodes that are added; it must leave silent as it is. */
AOI_API int aoi_play_step(aoi_player *p, aoi_space *s, const aoi_load_options *options, aoi_step *out);
AOI_API int aoi_play_next(aoi_player *p, aoi_space *s, aoi_event *out);

#endif
