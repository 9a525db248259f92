/* aoi_sync.h - client synchronisation: messages that bring each client up to date. */
#ifndef AOI_SYNC_API_H
#define AOI_SYNC_API_H
#include "aoi.h"

/* A client is an entity with a view (an area like that of a node) and a picture: the entities and values that its
 * messages have sent.  A tick packs one message for each client with news.  docs/sync-wire.md describes the format.
 *
 *   if (aoi_sync_begin(y) == AOI_OK)
 *       while (aoi_sync_next(y, &m) == AOI_OK && m.bytes) {
 *           send(m.client, m.bytes, m.size);
 *           aoi_sync_sent(y);
 *       }
 *
 * Views of clients are delivered by these ticks, independently of the space's delivery: their events change pictures
 * only and are not in any queue.  Clients, pins and priorities end when their entity leaves, and with the space.
 *
 * Cost of a tick: some 10 ns for each record of the clients that know an entity that has moved; with a limit O(view)
 * for clients that see more than it.  A known pair takes about 11 bytes, 2 more with tiers, 4 with bytes. */
typedef struct aoi_sync aoi_sync;

typedef struct aoi_tier {
    double distance; /* world units, >= 0 */
    uint32_t every;  /* ticks, >= 1: the greatest age of a position on the client */
    uint64_t kinds;  /* 0: all */
} aoi_tier;

typedef struct aoi_kind_limit {
    uint64_t kinds; /* not 0 */
    uint32_t limit; /* 0: none */
} aoi_kind_limit;

enum { AOI_MOST_TIERS = 16, AOI_MOST_EVERY = 65536, AOI_MOST_LIMITS = 16 };

/* State: every entity has the same fields, numbered from 0.  A number is sent as its type stores it, an angle as a
 * number of steps of a turn, strings and bytes unchanged. */
enum {
    AOI_BOOL,
    AOI_U8,
    AOI_U16,
    AOI_U32,
    AOI_I8,
    AOI_I16,
    AOI_I32,
    AOI_F32,
    AOI_F64,
    AOI_ANGLE8,
    AOI_ANGLE16, /* radians; 2^8 or 2^16 steps a turn */
    AOI_STRING,  /* UTF-8, by convention */
    AOI_BYTES,
    AOI_TYPES
};
enum { AOI_MOST_FIELDS = 64, AOI_MOST_FIELD_NAME = 64, AOI_MOST_VALUE = 65535 }; /* bytes of a name, of a value */

/* Who is sent a field: all who know the entity; its own client; that and the clients of the entity's team. */
enum { AOI_TO_ALL, AOI_TO_OWN, AOI_TO_TEAM };

typedef struct aoi_field {
    const char *name; /* copied; not NULL or empty */
    int type;
    int to; /* AOI_TO_ALL ... */
} aoi_field;

typedef struct aoi_value {
    double number;     /* AOI_BOOL: 0 or 1; strings and bytes: 0 */
    const void *bytes; /* strings and bytes */
    uint32_t size;
} aoi_value;

typedef struct aoi_relevance {
    uint32_t limit; /* entities known at a time, without pinned ones; 0: no limit */
    uint32_t bytes; /* longest message, >= aoi_sync_least_bytes(); 0: no limit */
    uint32_t tier_count;
    const aoi_tier
        *tiers;           /* by rising distance (inclusive), copied; the last one also applies to all beyond it.  Either
                              all for all kinds, or by rising `kinds`: a target has the tiers of the first that it
                              meets, and updates in every tick if it meets none */
    bool self;            /* the picture also contains the client's own entity */
    uint32_t limit_count; /* by kinds, instead of `limit` */
    const aoi_kind_limit *limits; /* by rising kinds, copied: a target counts for the first that it meets */
    int64_t team;                 /* it is sent AOI_TO_TEAM fields of entities with the same one; 0: none */
} aoi_relevance;

typedef struct aoi_sync_options {
    double quantum;        /* positions are sent as quantum * floor(v / quantum + 0.5); 0: as 32-bit floats */
    aoi_relevance clients; /* default for clients that are added without a relevance */
    const aoi_field *fields;
    uint32_t field_count;    /* <= AOI_MOST_FIELDS */
    struct aoi_sight *sight; /* aoi_sight.h: targets that its shut walls hide are not sent; NULL: no walls */
    bool riders;   /* an attached entity is known only with its carrier, and sent by its offset: riders below */
    uint32_t tick; /* number of ticks to begin with: equal in synchronisers that hand clients over to each other */
} aoi_sync_options;

typedef struct aoi_message {
    int64_t client;
    const unsigned char *bytes; /* valid until the next call on the synchroniser or its space; NULL: no more messages */
    size_t size;
} aoi_message;

/* Opens a synchroniser into *out; a space may have several.  AOI_EVALUE: an option is out of range.  AOI_ENOMEM. */
AOI_API int aoi_sync_open(aoi_space *s, const aoi_sync_options *options, aoi_sync **out);
AOI_API void aoi_sync_close(aoi_sync *y); /* before its space; NULL does nothing */

/* The smallest value of aoi_relevance.bytes: room for one record of any size. */
AOI_API uint32_t aoi_sync_least_bytes(const aoi_sync *y);

/* The relevance of clients that are added later without one.  AOI_EVALUE. */
AOI_API int aoi_sync_set_defaults(aoi_sync *y, const aoi_relevance *r);
AOI_API void aoi_sync_get_defaults(const aoi_sync *y, aoi_relevance *out); /* tiers: valid until the next set */

/* The fault of a relevance, an English phrase that begins with the name of the field in quotes; NULL: none. */
AOI_API const char *aoi_relevance_fault(const aoi_sync *y, const aoi_relevance *r);

/* Makes the entity a client with 1 to AOI_MOST_VIEWS views: the picture has the targets that any of them sees.  r NULL:
 * the default relevance.  AOI_EGONE, AOI_EEXIST, AOI_EVALUE, AOI_ENOMEM. */
enum { AOI_MOST_VIEWS = 8 };
AOI_API int aoi_sync_add(aoi_sync *y, aoi_entity client, const aoi_area *views, uint32_t count, const aoi_relevance *r);
/* Replaces the area of a view, numbered from 0; as aoi_set_area.  AOI_EGONE: the client has no such view. */
AOI_API int aoi_sync_set_view(aoi_sync *y, aoi_entity client, uint32_t view, const aoi_area *area);
/* These and the functions below return AOI_EGONE if the entity is not a client. */
AOI_API int aoi_sync_remove(aoi_sync *y, aoi_entity client);
AOI_API int aoi_sync_set(aoi_sync *y, aoi_entity client, const aoi_relevance *r);
AOI_API bool aoi_sync_get(const aoi_sync *y, aoi_entity client, aoi_relevance *out); /* tiers: valid until set */
/* Passes a client's picture to `write` in one call, for aoi_sync_adopt: the entities that it knows and sees,
 * their news that wait, and since when.  AOI_EGONE; AOI_ENOMEM, also if `write` returns false. */
AOI_API int aoi_sync_picture(aoi_sync *y, aoi_entity client, aoi_write write, void *ud);
AOI_API const char *aoi_picture_fault(const void *bytes, size_t size); /* the fault, an English phrase; NULL: none */
/* Stores the first `cap` ids of the entities in a picture, those that walls hide from its views included; an id may be
 * repeated.  Returns their number, 0 if the bytes have a fault. */
AOI_API size_t aoi_picture_ids(const void *bytes, size_t size, int64_t *ids, size_t cap);
/* Gives a client that has just been added a picture, from a synchroniser with the same fields, quantum and number of
 * ticks (option `tick`), as its entity comes from another space: the client receives the messages that it would have
 * received there.  What is not in this space, and all of `gone` (known ids that another entity has here), is sent as
 * gone.  AOI_EVALUE: bytes with a fault, or the client has been sent a message already.  AOI_ENOMEM: its next message
 * begins a new picture. */
AOI_API int aoi_sync_adopt(aoi_sync *y, aoi_entity client, const void *bytes, size_t size, const int64_t *gone,
                           size_t gone_count);
AOI_API int aoi_sync_resend(aoi_sync *y, aoi_entity client); /* empties the picture; the next message begins anew */
AOI_API aoi_node aoi_sync_view(const aoi_sync *y, aoi_entity client, uint32_t view); /* its node, or null */
AOI_API struct aoi_sight *aoi_sync_sight(const aoi_sync *y); /* the sight of its clients' nodes; NULL: none */

/* Sets the priority of a target for all clients: finite, > 0, by default 1.  AOI_EVALUE, AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_sync_set_priority(aoi_sync *y, aoi_entity target, double priority);
/* For one client, whatever the priority for all is; 0: as for all.  Ends with either's life.  Likewise. */
AOI_API int aoi_sync_set_priority_for(aoi_sync *y, aoi_entity client, aoi_entity target, double priority);
/* Keeps the target in the picture while both are in the space, at any distance, regardless of mask and limit.
 * AOI_EGONE, AOI_ENOMEM, AOI_EVALUE: the target is the client itself. */
AOI_API int aoi_sync_pin(aoi_sync *y, aoi_entity client, aoi_entity target);
AOI_API int aoi_sync_unpin(aoi_sync *y, aoi_entity client, aoi_entity target);
/* Sets the team of an entity until it leaves, 0: none.  A client whose own team is that is sent its AOI_TO_TEAM fields;
 * for all others they are as if never put, those sent before included.  AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_sync_set_team(aoi_sync *y, aoi_entity entity, int64_t team);
/* The next tick sends AOI_TOUCHED to the clients that know the target; aoi_set_kind does so by itself. */
AOI_API int aoi_sync_touch(aoi_sync *y, aoi_entity target);

/* Finds a field by its name; false: there is none. */
AOI_API bool aoi_sync_field(const aoi_sync *y, const char *name, size_t size, uint32_t *field, int *type);
/* The synchronisers that are open on a space, the newest first; NULL begins, and ends. */
AOI_API aoi_sync *aoi_sync_after(const aoi_space *s, const aoi_sync *after);
AOI_API bool aoi_sync_holds(const aoi_sync *y, uint32_t field, const aoi_value *value); /* else a put is AOI_EVALUE */
/* Sets a field of an entity until the entity leaves; the value goes to every client that knows the entity, with its
 * next update.  An equal value changes nothing.  AOI_EGONE; AOI_EVALUE: the type cannot hold the value; AOI_ENOMEM. */
AOI_API int aoi_sync_put(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value);
/* aoi_sync_put for a value that was put `ticks` ticks ago in another synchroniser: it is not news for clients that
 * adopt a picture, and is stored even if it is the default. */
AOI_API int aoi_sync_put_past(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value, uint32_t ticks);
/* Reads a field as it is sent (an angle rounded to its steps, in [0, 2 pi)); 0 or "" until it is put.  Bytes are valid
 * until the next put of that field.  AOI_EGONE; AOI_EVALUE: there is no such field. */
AOI_API int aoi_sync_value(const aoi_sync *y, aoi_entity entity, uint32_t field, aoi_value *out);

/* Pictures after the last message sent.  The space owns the lists, until the next call on it or the synchroniser. */
AOI_API bool aoi_sync_knows(const aoi_sync *y, aoi_entity client, aoi_entity target);
AOI_API int aoi_sync_known(aoi_sync *y, aoi_entity client, const int64_t **ids, size_t *count);
AOI_API int aoi_sync_knowers(aoi_sync *y, aoi_entity target, const int64_t **ids, size_t *count);

/* Why a client knows a target or not after its last message: the first reason that applies.  GOES: the target is known
 * and the next message sends it as gone; NEXT: the next message adds it.  Sight past walls is that of the last tick. */
enum {
    AOI_SYNC_WHY_NO_CLIENT = 1,
    AOI_SYNC_WHY_NO_TARGET,
    AOI_SYNC_WHY_SELF, /* the client's own entity, without `self` */
    AOI_SYNC_WHY_GOES,
    AOI_SYNC_WHY_UNSEEN,
    AOI_SYNC_WHY_KNOWN,
    AOI_SYNC_WHY_NEXT,
    AOI_SYNC_WHY_CARRIER, /* with riders: its carrier is not known */
    AOI_SYNC_WHY_LIMIT,   /* nearer entities fill the limit */
    AOI_SYNC_WHY_BYTES    /* the record did not fit into the last message */
};
typedef struct aoi_sync_explanation {
    int why;
    bool knows, seen, pinned, moved; /* moved: a new position waits for its tier or for room */
    uint32_t waits;                  /* with a budget: ticks since its last update, or since it is seen; else 0 */
    uint32_t known;          /* entities that the client knows; not set without a client or a target, as below */
    aoi_relevance relevance; /* of the client; tiers: valid until the next set */
    uint64_t lacks;          /* bits of the fields of a known target whose present value the client lacks */
} aoi_sync_explanation;
AOI_API const char *aoi_sync_why_text(int why); /* "no client" ... */
AOI_API void aoi_sync_explain(aoi_sync *y, aoi_entity client, aoi_entity target, aoi_sync_explanation *out);
/* The name of a field, at most 64 bytes, without a terminating zero; NULL: there is no such field. */
AOI_API const char *aoi_field_name(const aoi_sync *y, uint32_t field, uint32_t *size);

/* A tick.  begin: collects the changes up to now; AOI_ENOMEM: nothing has changed.  next: packs the message of one
 * client; AOI_ENOMEM: the next call packs the same client.  sent: marks the message as sent: without it the next call
 * packs the same client again, for ever.  It is false if the client's picture has changed since the message was packed,
 * so that aoi_sync_next must pack it again.  Other calls are allowed in between; clients without a sent message are
 * packed in the next tick. */
AOI_API int aoi_sync_begin(aoi_sync *y);
AOI_API int aoi_sync_next(aoi_sync *y, aoi_message *out);
AOI_API bool aoi_sync_sent(aoi_sync *y);

/* Reading a message: accepts or refuses any bytes, and reads none beyond them. */
enum { AOI_MOVED = 1, AOI_TOUCHED = 2, AOI_APPEARED = 4, AOI_GONE = 8, AOI_STATE = 16, AOI_RIDING = 32 };

typedef struct aoi_news {
    int what; /* AOI_GONE (id), AOI_APPEARED (id, kind, pos), AOI_MOVED (id, pos), AOI_TOUCHED (id, kind), or both of
                 these; AOI_STATE (id): aoi_read_value returns the values */
    int64_t id;
    uint64_t kind;
    double pos[3];
    int reason; /* AOI_GONE: that of aoi_leave_because; 0: out of view */
    int64_t
        carrier; /* AOI_RIDING, alone or with AOI_APPEARED: it rides that entity, and pos is its offset from it; with
                        AOI_MOVED 0: it rides nothing any more */
} aoi_news;

typedef struct aoi_news_value { /* a field of a record of state */
    int type;
    const char
        *name; /* name_size bytes within the message, without a terminating zero; so are the bytes of the value */
    uint32_t name_size;
    aoi_value value;
    uint32_t offset, total; /* strings and bytes: the value is the part from offset on of one of total bytes, or all */
} aoi_news_value;

typedef struct aoi_reader { /* private, except dimensions, anew, records and fault */
    const unsigned char *at, *end;
    int dimensions;
    bool reasons;     /* records of what is gone have one */
    bool riders;      /* wide records have a form */
    bool anew;        /* the message begins a new picture: the client drops all entities of the old one */
    uint32_t records; /* still to be read */
    double quantum;
    int64_t origin[3], last;
    uint64_t fields, values;            /* of the message; of the record, still to be read */
    const unsigned char *table, *value; /* the first name; the next value */
    const char *fault;
} aoi_reader;

/* Reads the head of a message; returns its fault, a constant, or NULL.  The bytes must stay valid. */
AOI_API const char *aoi_read_begin(aoi_reader *r, const void *bytes, size_t size);
/* Reads the next record; false past the last one, or if r->fault is set. */
AOI_API bool aoi_read_next(aoi_reader *r, aoi_news *out);
/* Reads the next value of the last record of state; false past its last one.  Values may be left unread. */
AOI_API bool aoi_read_value(aoi_reader *r, aoi_news_value *out);

/* Iterates over the fields of an entity in all synchronisers of the space, loaded and played ones included.  *cursor is
 * 0 at first; false past the last.  Texts and names are valid until the next put or close. */
AOI_API bool aoi_next_field(const aoi_space *s, aoi_entity e, uint64_t *cursor, aoi_news_value *out);

#endif
