/* sync.h - a synchroniser from inside:
 *
 *   tracks.c     entities that clients know or see: where they were, what is new about them, which clients know them
 *   picture.c    what one client knows and sees
 *   sightings.c  what clients' nodes see, which changes their pictures
 *   clients.c    opening, closing, clients, pins
 *   adopt.c      clients that come from another space, with their pictures
 *   tick.c       which clients have news; the contents of a message
 *   apply.c      the changes that sending it makes
 *   relevance.c  limit, tiers, budget of bytes
 *   fields.c     state of entities: values of the host's fields, and their bytes
 *   targets.c    priorities and teams
 *   riders.c     passengers, which are known with their carriers
 *   why.c        why a client knows a target or not
 *   saved.c      fields for snapshots, journals, observers; stand-ins that keep them
 *   lacking.c    which fields of an entity a client lacks, and which of them its message contains
 *   message.h    writes records; reader.c reads them
 *
 *   entity slot --track_of--> track [ at | id | moved | touched | knowers ] <--record-- client [ known | only seen ]
 *                                                                    |                   ^
 *                                                                    +---- by number ----+
 *
 * A track outlives its entity until no record refers to it.  An id that is used again has another track, so that a
 * client is sent that the first entity is gone and the second has appeared.  A position is rounded once a tick and
 * mover, not once a record. */
#ifndef AOI_SYNC_INNER_H
#define AOI_SYNC_INNER_H

#include "aoi_sync.h"
#include "base/simd.h"
#include "core/space.h"
#include "sight/sight.h"
#include "sync/message.h"

typedef struct aoi_client aoi_client;

/* flags of a track */
enum {
    AOI_TRACK_FRESH = 1,   /* has no position yet */
    AOI_TRACK_TOUCHED = 2, /* since the last tick began */
    AOI_TRACK_WIDE = 4,    /* its position is sent as doubles */
    AOI_TRACK_DEAD = 8,    /* its entity has left */
    AOI_TRACK_FREE = 16,
    AOI_TRACK_RANKED = 32, /* has a priority of its own, for all clients or some */
    AOI_TRACK_TEAMED = 64, /* has a team */
    AOI_TRACK_RIDER = 128, /* rides, or has ridden: its seat says which; riders.c */
    AOI_TRACK_FLAGS = 255
};

typedef struct aoi_track { /* one cache line with the data for a record of a mover */
    _Alignas(AOI_CACHE_LINE) aoi_wire_place at;
    int64_t id;
    uint32_t moved, touched, stated; /* ticks; stated: state that is sent to all clients has changed; touched of a
                                        dead one: the reason */
    uint32_t entity;                 /* its slot; of a free track the next free one */
    uint32_t flags : 8, knower_count : 24;
    uint32_t refs;     /* records in pictures, its own client, its state */
    uint32_t *knowers; /* numbers of the clients that know it */
} aoi_track;
_Static_assert(sizeof(aoi_track) == AOI_CACHE_LINE, "a track is one cache line");

typedef struct aoi_blob { /* a text; it does not change */
    uint32_t refs, size;
    unsigned char bytes[];
} aoi_blob;

enum { AOI_NEWS_PUBLIC = 1, AOI_NEWS_OWN = 2 };

typedef struct aoi_state {         /* fields.c; values come behind the ticks */
    uint64_t put;                  /* bits of the fields that have been put */
    uint32_t change;               /* number of the last change: the low half of space->state_changes */
    uint32_t packed_in, packed[2]; /* epoch; entries of the scratch: a change, the whole, or AOI_NONE */
    uint32_t news;                 /* AOI_NEWS_...: kinds of fields that have changed since the last tick */
    uint32_t changed[];            /* by field: tick; then, if there are team fields, `packed` of records with such */
} aoi_state;

typedef struct aoi_field_plan {
    uint8_t type, entry_size;
    uint16_t at;                                  /* of the value in a state */
    unsigned char entry[2 + AOI_MOST_FIELD_NAME]; /* its entry in a message: type, length of the name, the name */
} aoi_field_plan;

static inline bool aoi_is_text(int type) {
    return type >= AOI_STRING;
}

typedef struct aoi_lacks_change { /* the lacks of a record after the packed message has been sent */
    uint32_t record;
    uint8_t lacks;
} aoi_lacks_change;

typedef struct aoi_pass { /* a record of state that is sent in pieces; lacking.c */
    uint32_t track, began, offset;
    uint64_t mask;  /* 0: there is none */
    aoi_blob *blob; /* of the first field in the mask, if it has an offset */
} aoi_pass;

/* flags of a record; it is known if it lies before client->known */
enum {
    AOI_RECORD_SEEN = 1, /* by the client's node, now */
    AOI_RECORD_SAW = 2,  /* at the last tick */
    AOI_RECORD_PIN = 4,
    AOI_RECORD_WAITS = 8, /* has moved; the new position has not been sent */
    AOI_RECORD_TOUCH = 16,
    AOI_RECORD_PACKED = 32,  /* in the message that is being packed: gone, appeared, or touched */
    AOI_RECORD_CUT = 64,     /* leaves the picture if it is PACKED */
    AOI_RECORD_PLACED = 128, /* the message contains its position */
    AOI_RECORD_MARKS = AOI_RECORD_PACKED | AOI_RECORD_CUT | AOI_RECORD_PLACED /* only of a client that is marked */
};

/* Tiers, shared by clients.  The time that a record waits is counted in units of ticks, large enough that the longest
 * period is at most AOI_MOST_UNITS, half the range of a byte. */
enum { AOI_MOST_UNITS = 128 };
typedef struct aoi_tiers { /* one more than `count`, for targets that meet no tier: every tick */
    uint32_t refs, count;
    uint32_t unit;                                                  /* 2^unit ticks */
    uint32_t periods[AOI_MOST_TIERS + 1];                           /* in units, rounded up */
    uint64_t divides[AOI_MOST_TIERS + 1], most[AOI_MOST_TIERS + 1]; /* a multiple of the period, times that, is at most
                                                                       that */
    aoi_tier as_set[AOI_MOST_TIERS];
} aoi_tiers;

typedef struct aoi_rank { /* of a target, for one client */
    double priority;
    uint32_t track;
} aoi_rank;

typedef struct aoi_track_rank { /* of a target that is ranked */
    double priority;            /* for all clients */
    uint32_t uses;              /* ranks of clients */
} aoi_track_rank;

typedef struct aoi_client_view aoi_client_view;
struct aoi_client_view { /* the record of its node */
    aoi_plugin_node head;
    aoi_client_view *next; /* the next view of the client, or in the chain of views without a client */
    uint32_t node;
    uint32_t number : 24, index : 8; /* of its client; of the view */
};
#define AOI_BY_KIND UINT32_MAX            /* a limit */
enum { AOI_VIEW_ENDED = AOI_MOST_VIEWS }; /* index of a view whose client has ended */

/* A picture: arrays of one block, a record is a column.
 *
 *   flags    [   |   |   |   |   |     ]
 *   tracks   [ 7 | 3 | 9 | 4 | 8 |     ]
 *   sent_at  [   |   |   |   |   |     ]    only with bytes: tick of the last update, or at which it was first seen
 *   index    [ 3 |   | 1 | 5 |   | 4 | 2 ]  only in large pictures: numbers of records by track
 *                        ^ known   ^ count
 *
 *   sights   [   |   |   |   |   |     ]    only with several views: bits of those that see it, and saw it; behind lacks
 *   lacks    [   |   |   |   |   |     ]    only with fields, and with bytes or tiers: behind sent_at; lacking.c
 *   told     [   |   |   |   |   |     ]    only with riders: the track of its carrier; behind sent_at
 *   holds    [   |   |   |   |   |     ]    only with team fields: whether it has been sent them; behind sights
 *   since    [   |   |     ]                only with tiers: begin of a move's waiting, in units, the low 8 bits */
struct aoi_client { /* members that events use come first */
    union {
        aoi_client_view view; /* the first view; its node is that of the client */
        aoi_sync *sync;       /* a synchroniser begins with its plugin, to which the view points */
    };
    uint8_t *flags; /* the begin of the block */
    uint32_t *tracks;
    uint32_t *sent_at, *told, *index;    /* or NULL */
    uint8_t *lacks, *sees, *saw, *holds; /* or NULL */
    uint32_t cap, count, known;
    uint32_t unseen;      /* records that no view sees */
    uint32_t number : 24; /* of the client */
    bool queued : 1;
    bool changed : 1; /* records have come or gone */
    bool backlog : 1;
    bool overflow : 1; /* sees more than the limit */
    bool marked : 1;   /* its message is being packed: records are PACKED, CUT or PLACED */
    bool timed : 1;    /* news may wait, so that records have flags for them */
    bool anew : 1;     /* its next message, even if empty, begins the picture */
    bool self : 1;     /* its own entity is in its picture */
    bool own_news : 1; /* `own` fields of its entity have changed */
    bool new_team : 1; /* its team has changed since its last message */
    uint32_t track;
    uint32_t synced;                  /* tick of its last message, or when it had no news */
    uint32_t queued_for;              /* tick, while it is in the queue */
    uint32_t previous, next;          /* in that queue, by number, or AOI_NONE */
    uint32_t limit, bytes, since_cap; /* limit: AOI_BY_KIND with `limits` */
    uint32_t limit_count, rank_count, rank_cap;
    aoi_kind_limit *limits; /* or NULL */
    aoi_rank *ranks;        /* by track */
    uint8_t *since;
    aoi_tiers *tiers;
    aoi_pass *pass; /* or NULL */
    int64_t team;
};

/* The approximate position of a track's entity, small enough to stay in the cache while ranks are compared.  Infinite
 * if the position is unknown or the track has a priority of its own. */
typedef struct aoi_spot {
    float x, y;
} aoi_spot;

typedef struct aoi_pick { /* a candidate record */
    double weight, distance2;
    int64_t id;
    uint32_t record;
    bool known;
} aoi_pick;

typedef struct aoi_scope { /* the position of a client, and the error of distances from it to spots */
    aoi_spot at;
    float height;
    float inside[AOI_MOST_TIERS], outside[AOI_MOST_TIERS]; /* squares: below is certainly in the tier, above not */
    double error;
} aoi_scope;

struct aoi_sync {
    aoi_plugin plugin;
    aoi_sight *sight; /* its own, with the nodes of its clients; or NULL */
    aoi_space *space;
    double quantum;
    int scale;       /* code of the quantum in the head of a message */
    uint32_t odd;    /* tick of the last news other than a plain move: touched, state, or sent as doubles */
    int64_t node_id; /* of the nodes of its clients */
    uint32_t number; /* among all synchronisers that were opened on the space */
    bool riders;
    uint32_t reseated; /* tick of the last change of a seat */
    bool stands_in;    /* only keeps fields that were loaded; has no clients and no ticks */
    aoi_track *tracks;
    uint32_t *knower_caps; /* by track: room in its list */
    aoi_track_rank *priorities;
    int64_t *teams;   /* by track, or shorter: the rest has none */
    aoi_spot *spots;  /* if any client has had a limit or tiers */
    float *heights;   /* of spots, in 3D */
    double far;       /* the largest coordinate of a spot */
    bool measures;    /* has spots */
    uint32_t *movers; /* tracks whose entity has moved or been touched since the last tick; room for all tracks */
    uint8_t *listed;  /* by track: is in movers; not in the track, so that a move does not write to it */
    uint32_t track_cap, knower_cap_cap, priority_cap, team_cap, spot_cap, height_cap, mover_cap, listed_cap, track_top,
        free_track, mover_count;
    uint32_t *track_of; /* by entity slot */
    uint32_t track_of_cap;
    aoi_client **clients; /* by number; NULL: free */
    uint32_t client_cap, client_top, client_count;
    uint32_t free_number;     /* all lower numbers are in use */
    aoi_client *first, *last; /* queue of clients with news */
    aoi_client *packed;       /* the client whose message is in the writer */
    uint32_t stay;            /* of the packed client: known records before it stay known */
    uint64_t changes, packed_at;
    uint32_t now; /* tick */
    uint32_t overflows;
    bool reranked; /* a priority has changed since the last tick */
    aoi_relevance defaults;
    aoi_tier default_tiers[AOI_MOST_TIERS];
    aoi_kind_limit default_limits[AOI_MOST_LIMITS];
    aoi_tiers *tiers;         /* the tiers set last, if a client uses them */
    aoi_writer writer, saved; /* messages; fields for snapshots and journals */
    aoi_pick *picks;
    float *near2;      /* by record of the packed client: squared distance of its spot */
    uint32_t *due;     /* records of the packed client with something to send: list_due */
    uint32_t *stated;  /* tracks with state that the packed client lacks; only if it has no times */
    uint32_t *tier_of; /* by record of the packed client: its tier */
    uint64_t *keys;    /* of due records: their order */
    uint32_t pick_cap, near_cap, due_cap, stated_cap, stated_count, tier_cap, key_cap;
    uint32_t halved;        /* the last record of the packed client if its state did not fit; or AOI_NONE */
    aoi_field_plan *fields; /* fields.c */
    uint64_t own_fields, team_fields, limited_fields;    /* of either */
    uint32_t field_count, state_size, table_most, piece; /* bytes: of a state, of all names, of the shortest piece */
    aoi_state **states;                                  /* by track; NULL: nothing has been put */
    unsigned char *scratch;
    aoi_lacks_change *lacks_changes; /* of the client that is packed */
    uint32_t scratch_epoch;          /* counts how often the scratch has been cleared */
    uint32_t state_cap, scratch_cap, scratch_end, lacks_change_cap, lacks_change_count;
    aoi_client_view *ended_views; /* their client has ended, their node not yet */
    aoi_pass pass;                /* of the packed client, after its message has been sent */
    bool passes;                  /* `pass` is valid */
};

static inline aoi_memory *aoi_sync_memory(const aoi_sync *y) {
    return &y->space->records.memory;
}

/* Whether tick a is later than b; ticks wrap. */
static inline bool aoi_tick_after(uint32_t a, uint32_t b) {
    return (int32_t)(b - a) < 0;
}

/* ---- tracks.c ---------------------------------------------------------------------------------------------------- */

void aoi_tracks_moved(aoi_plugin *y, uint32_t entity); /* for the space: core/plugin_hook.h */
void aoi_tracks_touched(aoi_plugin *y, uint32_t entity);
void aoi_tracks_left(aoi_plugin *y, uint32_t entity);
uint32_t aoi_track_of(const aoi_sync *y, uint32_t entity); /* AOI_NONE: no track, or the slot is AOI_NONE */
uint32_t aoi_track_ready(aoi_sync *y, uint32_t entity);    /* makes one if there is none; AOI_NONE: memory refused */
uint32_t aoi_track_gone(aoi_sync *y, int64_t id);          /* makes one for an entity that is gone; likewise */
void aoi_track_release(aoi_sync *y, uint32_t track);       /* frees it if nothing refers to it */
void aoi_track_list(aoi_sync *y, uint32_t track);          /* adds it to the movers */
bool aoi_track_relocate(aoi_sync *y, uint32_t track);      /* rounds it anew; whether the position sent differs */
void aoi_track_free_knowers(aoi_sync *y, uint32_t track);
bool aoi_track_reserve_knower(aoi_sync *y, uint32_t track);
void aoi_track_add_knower(aoi_sync *y, uint32_t track, uint32_t client); /* room has been reserved */
void aoi_track_remove_knower(aoi_sync *y, uint32_t track, uint32_t client);
void aoi_track_catch_up(aoi_sync *y); /* begins a tick: updates tracks of movers, queues the clients that know them */
void aoi_tracks_sweep(aoi_sync *y);   /* ends a tick: frees tracks without references; no sighting may wait */
void aoi_track_spot(aoi_sync *y, uint32_t track); /* updates its spot */
bool aoi_tracks_measure(aoi_sync *y);             /* tracks have spots from now on; false: memory refused */
bool aoi_round_position(const aoi_sync *y, const double *pos, aoi_wire_place *at); /* true: wide */

static inline int64_t aoi_team_of(const aoi_sync *y, uint32_t track) {
    return track < y->team_cap ? y->teams[track] : 0;
}

/* ---- picture.c --------------------------------------------------------------------------------------------------- */

uint32_t aoi_picture_find(const aoi_client *c, uint32_t track);        /* the record, or AOI_NONE */
uint32_t aoi_picture_append(aoi_client *c, uint32_t track, int flags); /* AOI_NONE: memory refused */
void aoi_picture_drop(aoi_client *c, uint32_t record);                 /* removes a record that is not known */
void aoi_picture_swap(aoi_client *c, uint32_t record, uint32_t other); /* of two known ones, or two others */
void aoi_picture_forget(aoi_client *c, uint32_t record);
void aoi_picture_free(aoi_client *c);
bool aoi_picture_set_times(aoi_client *c, bool dated, bool stateful, const aoi_tiers *tiers); /* NULL: none; likewise */
bool aoi_picture_set_viewed(aoi_client *c);                    /* false: memory refused */
bool aoi_picture_since_ready(aoi_client *c, uint32_t records); /* reserves times of known records; likewise */
void aoi_picture_shrink(aoi_client *c);

/* Sets the begin of its waiting to now. */
static inline void aoi_record_starts(aoi_client *c, uint32_t record) {
    if (c->sent_at) c->sent_at[record] = c->sync->now;
}

static inline int64_t aoi_client_id(const aoi_client *c) {
    return c->sync->tracks[c->track].id;
}

static inline uint32_t aoi_client_entity(const aoi_client *c) {
    return c->sync->tracks[c->track].entity;
}

/* The place of the track among the client's ranks. */
static inline uint32_t aoi_rank_place(const aoi_client *c, uint32_t track) {
    uint32_t low = 0, high = c->rank_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->ranks[middle].track < track) low = middle + 1;
        else high = middle;
    }
    return low;
}

static inline double aoi_priority_for(const aoi_client *c, uint32_t track) {
    if (!(c->sync->tracks[track].flags & AOI_TRACK_RANKED)) return 1;
    const uint32_t k = aoi_rank_place(c, track);
    return k < c->rank_count && c->ranks[k].track == track ? c->ranks[k].priority : c->sync->priorities[track].priority;
}

aoi_client *aoi_client_of(const aoi_sync *y, aoi_entity entity); /* clients.c; NULL: the entity is no client */

/* NULL: the client has ended. */
static inline aoi_client *aoi_view_client(const aoi_client_view *v) {
    if (!v->index) return (aoi_client *)(uintptr_t)v;
    return v->index < AOI_VIEW_ENDED ? ((const aoi_sync *)v->head.plugin)->clients[v->number] : NULL;
}

static inline uint8_t aoi_units_of(const aoi_tiers *tiers, uint32_t tick) {
    return (uint8_t)(tick >> tiers->unit);
}

static inline uint32_t aoi_tier_count(const aoi_client *c) {
    return c->tiers ? c->tiers->count : 0;
}

/* The queue of clients with news, in order of arrival. */
static inline aoi_client *aoi_client_next(const aoi_client *c) {
    return c->next == AOI_NONE ? NULL : c->sync->clients[c->next];
}
void aoi_client_queue(aoi_client *c, uint32_t tick);
void aoi_client_unqueue(aoi_client *c);
static inline void aoi_client_changed(aoi_client *c) {
    c->changed = true;
    c->sync->changes++;
    if (!c->queued) aoi_client_queue(c, c->sync->now + 1);
}

/* A mask of eight flags: 0 before the k-th, 255 from it on. */
static inline uint64_t aoi_flags_from(uint32_t k) {
    static const unsigned char edge[16] = {0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t eight;
    memcpy(&eight, edge + 8 - k, sizeof eight);
    return eight;
}

/* The index of the first of eight flags that is not 0; there must be one. */
static inline uint32_t aoi_flags_first(uint64_t eight) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (uint32_t)aoi_lanes_first(eight) / 8;
#else
    unsigned char flags[8];
    uint32_t k = 0;
    memcpy(flags, &eight, sizeof flags);
    while (!flags[k]) k++;
    return k;
#endif
}

/* The first record in i..n-1 with that flag - without it, if `missing` - or n.  Reads flags by eights. */
static inline uint32_t aoi_next_flagged(const uint8_t *flags, uint32_t i, uint32_t n, uint8_t flag, bool missing) {
    const uint64_t all = UINT64_C(0x0101010101010101) * flag, flip = missing ? all : 0;
    uint64_t eight, mine = aoi_flags_from(i % 8);
    for (uint32_t k = i - i % 8; k < n; k += 8, mine = ~UINT64_C(0)) {
        memcpy(&eight, flags + k, sizeof eight);
        if (!((eight ^ flip) & all & mine)) continue;
        k += aoi_flags_first((eight ^ flip) & all & mine);
        return k < n ? k : n;
    }
    return n;
}

static inline uint32_t aoi_next_unseen(const uint8_t *flags, uint32_t i, uint32_t n) {
    return aoi_next_flagged(flags, i, n, AOI_RECORD_SEEN, true);
}

/* Whether a record belongs to the picture: it is seen, or it is pinned and its entity has not left. */
static inline bool aoi_record_stays(const aoi_client *c, uint32_t record) {
    if (c->flags[record] & AOI_RECORD_SEEN) return true;
    return c->flags[record] & AOI_RECORD_PIN && !(c->sync->tracks[c->tracks[record]].flags & AOI_TRACK_DEAD);
}

/* ---- riders.c ---------------------------------------------------------------------------------------------------- */

#define AOI_NOBODY (AOI_NONE - 1) /* a carrier without a track: no client knows it */

void aoi_tracks_seated(aoi_plugin *y, uint32_t entity);
uint32_t aoi_find_carrier(const aoi_sync *y, uint32_t track);
const double *aoi_rider_offset(const aoi_sync *y, uint32_t entity); /* NULL: it rides nothing that can be named */
bool aoi_carriers_stay(const aoi_client *c, uint32_t record);
bool aoi_is_carrier_told(const aoi_client *c, uint32_t record); /* or it has none */
bool aoi_find_named(const aoi_client *c, uint32_t record, int64_t *carrier);

/* AOI_NONE: it rides nothing that can be named. */
static inline uint32_t aoi_carrier_track(const aoi_sync *y, uint32_t track) {
    return y->riders ? aoi_find_carrier(y, track) : AOI_NONE;
}

/* Whether all carriers of the record, if any, belong to the picture. */
static inline bool aoi_rides_along(const aoi_client *c, uint32_t record) {
    return !c->told || aoi_carriers_stay(c, record);
}

/* Whether the record of its position names a carrier, or 0: it rides nothing any more. */
static inline bool aoi_names_carrier(const aoi_client *c, uint32_t record, int64_t *carrier) {
    return c->told && aoi_find_named(c, record, carrier);
}

static inline void aoi_seat_told(aoi_client *c, uint32_t record) {
    if (c->told) c->told[record] = aoi_carrier_track(c->sync, c->tracks[record]);
}

void aoi_cut_riders(aoi_client *c, uint32_t n);
uint32_t aoi_pick_riders(const aoi_client *c); /* new riders whose carriers are known, or packed; their number */

/* ---- sightings.c, clients.c, sync_check.c: for the space ----------------------------------------------------------- */

extern const aoi_plugin_class aoi_sync_plugin;
int aoi_sync_open_as(aoi_space *s, const aoi_sync_options *o, uint32_t number, aoi_sync **out); /* a stand-in */
bool aoi_view_sighting(aoi_plugin_node *view, uint32_t track, bool enters);
void aoi_view_prefetch(const aoi_plugin_node *view, uint32_t track, bool picture);
bool aoi_view_saw(const aoi_plugin_node *view, uint32_t target);
void aoi_view_end(aoi_plugin_node *view);
void aoi_ranks_end(aoi_sync *y, uint32_t track); /* targets.c: those that clients have of it; all of a client */
void aoi_client_drop_ranks(aoi_client *c);
void aoi_client_end(aoi_client *c);          /* called when the node of its first view is freed */
bool aoi_client_time(aoi_client *c);         /* makes it `timed`; false: memory refused */
void aoi_sync_drop_ended_views(aoi_sync *y); /* nodes of views whose client has ended */
extern const aoi_sight_sink aoi_client_sink; /* the same for nodes of a sight */
const char *aoi_sync_check(const aoi_plugin *y);

/* ---- relevance.c ------------------------------------------------------------------------------------------------- */

/* Chooses among the seen records: marks known ones that must leave CUT, and puts new ones to be sent into sync->picks.
 * Returns the number of picks, or AOI_NONE when memory is refused.  Clients with a limit must have been measured. */
uint32_t aoi_choose(aoi_client *c, const aoi_scope *scope);
uint32_t aoi_limit_of(const aoi_client *c, uint32_t track); /* among the limits by kind; their number: none */
/* Fills sync->near2 for the first n records and opens the scope; false when memory is refused. */
bool aoi_measure(aoi_client *c, uint32_t n, aoi_scope *scope);
/* Stores the tiers of the first n records, which must have been measured; writes whole lanes of four. */
bool aoi_find_tiers(const aoi_client *c, const aoi_scope *scope, uint32_t n); /* likewise; fills sync->tier_of */
double aoi_client_distance2(const aoi_client *c, uint32_t record);
double aoi_urgency(const aoi_client *c, uint32_t record);
/* Of `count` picks, of which the first `ready` are sorted, sorts more: by falling weight, then rising distance, then
 * id.  Returns the number of sorted ones, about twice as many each time: ordering all costs little more than one sort,
 * ordering the first few much less. */
uint32_t aoi_order_picks(aoi_sync *y, uint32_t ready, uint32_t count);

/* The same order of n due records as integer keys in sync->keys, which has room; false if keys cannot represent it.
 * The low 16 bits of a key are the entry of sync->due. */
bool aoi_list_keys(const aoi_client *c, uint32_t n);
uint32_t aoi_order_keys(aoi_sync *y, uint32_t ready, uint32_t count);

/* ---- fields.c ---------------------------------------------------------------------------------------------------- */

#define AOI_PI 3.14159265358979323846

bool aoi_fields_are_good(const aoi_field *fields, uint32_t count);
bool aoi_fields_open(aoi_sync *y, const aoi_field *fields, uint32_t count); /* false: memory refused */
void aoi_fields_close(aoi_sync *y);
uint32_t aoi_fields_table_size(const aoi_sync *y, uint64_t mask); /* bytes of their entries in a message */
void aoi_fields_put_table(const aoi_sync *y, aoi_writer *w);
void aoi_state_free(aoi_sync *y, uint32_t track);
bool aoi_state_end(aoi_sync *y, uint32_t track); /* of an entity that leaves; whether it stays: it has news */
aoi_blob *aoi_state_blob(const aoi_sync *y, const aoi_state *s, uint32_t field); /* NULL: it is empty */
aoi_blob *aoi_blob_new(aoi_sync *y, const void *text, uint32_t size);            /* NULL: memory refused */
void aoi_blob_release(aoi_sync *y, aoi_blob *blob);
double aoi_number_of(int type, uint64_t bits);
void aoi_state_turned(aoi_sync *y, uint32_t track);            /* the entity has another team */
uint64_t aoi_state_put(const aoi_sync *y, uint32_t track);     /* fields that have been put; 0 without a state */
uint64_t aoi_state_differs(const aoi_sync *y, uint32_t track); /* fields that differ from the defaults */
uint64_t aoi_state_changed(const aoi_sync *y, uint32_t track, uint32_t since);
/* For tracks with a state: the most bytes of such a record; writing one value; all values behind their mask; the same
 * packed once a tick, valid until the next call of aoi_state_pack, NULL: memory refused.  Fields that are not in
 * `shown` are written as if never put. */
uint32_t aoi_state_bound(const aoi_sync *y, uint32_t track, uint64_t mask);
unsigned char *aoi_state_put_value(const aoi_sync *y, uint32_t track, uint32_t field, bool shown, unsigned char *p);
unsigned char *aoi_state_put_values(const aoi_sync *y, uint32_t track, uint64_t mask, uint64_t shown, unsigned char *p);
void aoi_scratch_clear(aoi_sync *y); /* when a tick begins and ends */
const unsigned char *aoi_state_pack(aoi_sync *y, uint32_t track, uint64_t mask, uint64_t shown, bool whole,
                                    uint32_t *size);

/* ---- saved.c ------------------------------------------------------------------------------------------------------ */

void aoi_states_put(aoi_sync *y, uint32_t track, uint32_t field); /* these three write records of a journal */
void aoi_states_opened(aoi_sync *y);
void aoi_states_closed(aoi_sync *y);
bool aoi_states_adopt(aoi_sync *y); /* takes over number and fields of the first stand-in; false: memory refused */

/* ---- lacking.c: false where memory is refused ---------------------------------------------------------------------- */

/* Fields of the track that the client may receive. */
static inline uint64_t aoi_fields_for(const aoi_client *c, uint32_t track) {
    const aoi_sync *y = c->sync;
    if (!y->limited_fields || track == c->track) return UINT64_MAX;
    const bool team = y->team_fields && c->team && c->team == aoi_team_of(y, track);
    return ~y->own_fields & ~(team ? 0 : y->team_fields);
}
unsigned aoi_lacks_fresh(const aoi_client *c);
unsigned aoi_lacks_aged(const aoi_client *c, unsigned lacks);
unsigned aoi_lacks_as_age(const aoi_sync *y, unsigned lacks); /* comparable between synchronisers */
uint8_t aoi_lacks_of_age(const aoi_sync *y, unsigned age);
void aoi_record_lacks(aoi_client *c, uint32_t record); /* a known one begins to lack fields now */
void aoi_lacks_own(aoi_client *c);
bool aoi_record_turned(const aoi_client *c, uint32_t record);
/* Team fields were sent to the record's client and may not be, or vice versa. */
static inline bool aoi_record_turns(const aoi_client *c, uint32_t record) {
    return c->holds && aoi_record_turned(c, record);
}
void aoi_record_holds(aoi_client *c, uint32_t record); /* it has been sent what it may know of them */
/* Makes a record known. */
static inline void aoi_picture_know(aoi_client *c, uint32_t record) {
    aoi_track_add_knower(c->sync, c->tracks[record], c->number);
    aoi_picture_swap(c, record, c->known);
    if (c->holds) aoi_record_holds(c, c->known);
    aoi_seat_told(c, c->known);
    if (c->tiers)
        c->since[c->known] = aoi_units_of(c->tiers, c->sync->now); /* state that did not fit waits since then */
    c->known++;
}
uint64_t aoi_fields_lacking(const aoi_client *c, uint32_t record, uint32_t track); /* of a known record, now */
bool aoi_pack_changed(aoi_client *c, uint32_t track);  /* since the last message, all of it */
bool aoi_pack_lacking(aoi_client *c, uint32_t record); /* what the record lacks, as the budget holds it */
bool aoi_pack_whole(aoi_client *c, uint32_t record);   /* all, of a record that appears */
bool aoi_pack_last(aoi_client *c, uint32_t record);    /* what was put in the tick in which its entity left */
uint32_t aoi_pass_share(const aoi_client *c);          /* bytes of the message that are reserved for a pass */
bool aoi_pack_pass(aoi_client *c);
bool aoi_pass_resume(aoi_client *c, const aoi_pass *pass, const void *text, uint32_t size); /* the text is copied */
void aoi_pass_end(aoi_client *c);
void aoi_apply_state(aoi_client *c); /* only for clients with lacks */

void aoi_apply(aoi_client *c);    /* apply.c: its message, which may be empty, has been sent */
int aoi_scale_of(double quantum); /* tick.c: its code in the head of a message */

#endif
