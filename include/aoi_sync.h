/* aoi_sync.h - client synchronisation: what each client must be sent, as bytes ready to be sent.  A part of aoi.h, which
 * includes it. */
#ifndef AOI_SYNC_API_H
#define AOI_SYNC_API_H
#ifndef AOI_H
#error "include aoi.h"
#endif

/* A client is an entity with a view, an area as of a node, and a picture: what its messages have said.  A tick packs
 * one message for each client with news.  The format is in docs/sync-wire.md.
 *
 *   if (aoi_sync_begin(y) == AOI_OK)
 *       while (aoi_sync_next(y, &m) == AOI_OK && m.bytes) {
 *           send(m.client, m.bytes, m.size);
 *           aoi_sync_sent(y);
 *       }
 *
 * A tick is the delivery for the views of clients, whatever the space's: their events change pictures and are seen by
 * nothing else.  Clients, pins and priorities end with the life of their entities, all of them with the space.
 *
 * Cost of a tick, with N the records of clients that know something that has moved: O(N), some 10 ns each; with a limit
 * O(view) for clients that see more than it.  A known pair takes about 11 bytes, 2 more with tiers, 4 with bytes. */
typedef struct aoi_sync aoi_sync;

typedef struct aoi_tier {
    double distance; /* world units, >= 0 */
    uint32_t every;  /* ticks, >= 1: as old as a position may become */
} aoi_tier;

enum { AOI_MOST_TIERS = 16, AOI_MOST_EVERY = 65536 };

/* State: fields that every entity has, by number from 0 on.  Numbers travel as their type holds them, angles in steps of a
 * turn; strings and bytes as they are. */
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

typedef struct aoi_field {
    const char *name; /* copied; not NULL or empty */
    int type;
    bool own; /* sent to the entity's own client alone */
} aoi_field;

typedef struct aoi_value {
    double number;     /* of strings and bytes 0; of AOI_BOOL 0 or 1 */
    const void *bytes; /* of strings and bytes */
    uint32_t size;
} aoi_value;

typedef struct aoi_relevance {
    uint32_t limit; /* entities known at a time, pinned ones aside; 0: no limit */
    uint32_t bytes; /* longest message, >= aoi_sync_least_bytes(); 0: no limit */
    uint32_t tier_count;
    const aoi_tier *tiers; /* by rising distance, copied; beyond the last one as in the last one */
    bool self;             /* its picture has its own entity as well */
} aoi_relevance;

typedef struct aoi_sync_options {
    double quantum;        /* positions are sent as quantum * floor(v / quantum + 0.5); 0: as 32-bit floats */
    aoi_relevance clients; /* of clients that bring no relevance of their own */
    const aoi_field *fields;
    uint32_t field_count;    /* <= AOI_MOST_FIELDS */
    struct aoi_sight *sight; /* aoi_sight.h: what its shut walls hide is not sent; NULL: nothing is hidden */
    uint32_t tick; /* how many ticks count as made: those of synchronisers that hand clients to each other agree */
} aoi_sync_options;

typedef struct aoi_message {
    int64_t client;
    const unsigned char *bytes; /* valid until the next call on the synchroniser or its space; NULL: there is none */
    size_t size;
} aoi_message;

/* New synchroniser in *out; a space may have several.  AOI_EVALUE for options out of range, AOI_ENOMEM. */
AOI_API int aoi_sync_open(aoi_space *s, const aoi_sync_options *options, aoi_sync **out);
AOI_API void aoi_sync_close(aoi_sync *y); /* before its space; NULL is harmless */

/* The shortest budget of bytes: one record of any size fits. */
AOI_API uint32_t aoi_sync_least_bytes(const aoi_sync *y);

/* For clients that come later and bring no relevance.  AOI_EVALUE. */
AOI_API int aoi_sync_set_defaults(aoi_sync *y, const aoi_relevance *r);
AOI_API void aoi_sync_get_defaults(const aoi_sync *y, aoi_relevance *out); /* tiers: valid until they are set */

/* NULL, or what is wrong with a relevance: an English phrase that begins with the name of the field in quotes. */
AOI_API const char *aoi_relevance_fault(const aoi_sync *y, const aoi_relevance *r);

/* The entity becomes a client; relevance NULL: as the options say.  AOI_EGONE, AOI_EEXIST, AOI_EVALUE, AOI_ENOMEM. */
AOI_API int aoi_sync_add(aoi_sync *y, aoi_entity client, const aoi_area *view, const aoi_relevance *r);
/* With up to AOI_MOST_VIEWS of them: its picture has what any of them sees.  AOI_EVALUE for another number.  AOI_ENOMEM: it is
 * no client. */
enum { AOI_MOST_VIEWS = 8 };
AOI_API int aoi_sync_add_views(aoi_sync *y, aoi_entity client, const aoi_area *views, uint32_t count,
                               const aoi_relevance *r);
/* Another area for one of them, from 0 on; as aoi_set_area.  AOI_EGONE: there is no such view. */
AOI_API int aoi_sync_set_view(aoi_sync *y, aoi_entity client, uint32_t view, const aoi_area *area);
/* AOI_EGONE where it is no client, here and below. */
AOI_API int aoi_sync_remove(aoi_sync *y, aoi_entity client);
AOI_API int aoi_sync_set(aoi_sync *y, aoi_entity client, const aoi_relevance *r);
AOI_API bool aoi_sync_get(const aoi_sync *y, aoi_entity client, aoi_relevance *out); /* tiers: valid until it is set */
/* A client that has just been added comes from another synchroniser, as its entity from another space, and knows these: its
 * next message goes on with that picture, and begins none.  `known` that are not in this space, and all of `gone` (of another
 * life, say), are sent as gone; positions of the others are sent with the next tick.  AOI_EVALUE: it has been sent a message
 * already.  AOI_ENOMEM: it begins anew. */
AOI_API int aoi_sync_adopt(aoi_sync *y, aoi_entity client, const int64_t *known, size_t count, const int64_t *gone,
                           size_t gone_count);
/* A client's picture as bytes, for adopt_picture, handed to `write` in one piece: what it knows and sees, what of that waits,
 * and since when.  AOI_EGONE; AOI_ENOMEM, also where `write` returns false. */
AOI_API int aoi_sync_picture(aoi_sync *y, aoi_entity client, aoi_write write, void *ud);
AOI_API const char *aoi_picture_fault(const void *bytes, size_t size); /* NULL, or what is wrong with them: a phrase */
/* The ids of its entities, and of those that walls hide from its views, up to `cap`; one may be there twice.  Returns how many
 * there are, 0 where the bytes are no picture. */
AOI_API size_t aoi_picture_ids(const void *bytes, size_t size, int64_t *ids, size_t cap);
/* As aoi_sync_adopt, with the picture from a synchroniser of the same fields and quantum that has made as many ticks (option
 * `tick`): the client is sent what it would have been sent there.  Entities of `gone` have another life here.  AOI_EVALUE
 * also for bytes with a fault. */
AOI_API int aoi_sync_adopt_picture(aoi_sync *y, aoi_entity client, const void *bytes, size_t size, const int64_t *gone,
                                   size_t gone_count);
AOI_API int aoi_sync_resend(aoi_sync *y, aoi_entity client); /* it knows nothing; its next message begins anew */
AOI_API aoi_node aoi_sync_node(const aoi_sync *y,
                               aoi_entity client); /* its view, for aoi_set_area and others; or null */

AOI_API aoi_node aoi_sync_view(const aoi_sync *y, aoi_entity client, uint32_t view); /* the node of one of several */
AOI_API struct aoi_sight *aoi_sync_sight(const aoi_sync *y); /* the sight it was made with; NULL: none */

/* Of a target, for all clients: > 0, 1 by default.  AOI_EVALUE, AOI_EGONE, AOI_ENOMEM. */
AOI_API int aoi_sync_set_priority(aoi_sync *y, aoi_entity target, double priority);
/* Known while both are in the space, whatever the distance, the mask and the limit.  AOI_EGONE, AOI_EVALUE (itself). */
AOI_API int aoi_sync_pin(aoi_sync *y, aoi_entity client, aoi_entity target);
AOI_API int aoi_sync_unpin(aoi_sync *y, aoi_entity client, aoi_entity target);
/* The next tick tells clients that know the target that its state has changed.  aoi_set_kind does so by itself. */
AOI_API int aoi_sync_touch(aoi_sync *y, aoi_entity target);

/* A field by its name; false: there is none. */
AOI_API bool aoi_sync_field(const aoi_sync *y, const char *name, size_t size, uint32_t *field, int *type);
/* A value of an entity, which ends with its life.  Sent to every client that knows the entity, with its next update; put as
 * it is already, nothing happens.  AOI_EGONE; AOI_EVALUE: the type does not hold it; AOI_ENOMEM. */
AOI_API int aoi_sync_put(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value);
/* The same of a value that was put `ticks` ticks ago in another synchroniser: no news of those that have adopted a picture, and
 * stored even where it is the default. */
AOI_API int aoi_sync_put_past(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value, uint32_t ticks);
/* As it is sent: an angle in [0, 2 pi), of its steps.  False, 0 or "" until it is put.  Bytes are valid until the next put
 * of that field.  AOI_EGONE, AOI_EVALUE: no such field. */
AOI_API int aoi_sync_value(const aoi_sync *y, aoi_entity entity, uint32_t field, aoi_value *out);

/* Pictures, as of the last message sent.  Lists are the space's, valid until the next call on it or the synchroniser. */
AOI_API bool aoi_sync_knows(const aoi_sync *y, aoi_entity client, aoi_entity target);
AOI_API int aoi_sync_known(aoi_sync *y, aoi_entity client, const int64_t **ids, size_t *count);
AOI_API int aoi_sync_knowers(aoi_sync *y, aoi_entity target, const int64_t **ids, size_t *count);

/* Why a client knows a target or not, as of its last message; the first that applies.  GOES: it is known, and the next message
 * says that it is gone; NEXT: the next one has it.  Past walls what is seen is as of the last tick. */
enum {
    AOI_SYNC_WHY_NO_CLIENT = 1,
    AOI_SYNC_WHY_NO_TARGET,
    AOI_SYNC_WHY_SELF, /* the client's own entity, without `self` */
    AOI_SYNC_WHY_GOES,
    AOI_SYNC_WHY_UNSEEN,
    AOI_SYNC_WHY_KNOWN,
    AOI_SYNC_WHY_NEXT,
    AOI_SYNC_WHY_LIMIT, /* others have the room of the limit */
    AOI_SYNC_WHY_BYTES  /* it did not fit into the last message */
};
typedef struct aoi_sync_explanation {
    int why;
    bool knows, seen, pinned, moved; /* moved: so that where it is waits, for its tier or for room */
    uint32_t waits;                  /* with a budget: ticks since its last update, or since it is seen; else 0 */
    uint32_t known;                  /* by the client in all; from "no target" on this and what follows is not set */
    aoi_relevance relevance;         /* the client's; tiers: valid until it is set */
    uint64_t lacks;                  /* fields of a known one that the client has not been sent as they are */
} aoi_sync_explanation;
AOI_API const char *aoi_sync_why_text(int why); /* "no client" ... */
AOI_API void aoi_sync_explain(aoi_sync *y, aoi_entity client, aoi_entity target, aoi_sync_explanation *out);
/* The name of a field, of at most 64 bytes and without an end; NULL: there is none. */
AOI_API const char *aoi_field_name(const aoi_sync *y, uint32_t field, uint32_t *size);

/* A tick.  begin: what has moved until now is news; AOI_ENOMEM: nothing has changed.  next: packs the message of one
 * client; AOI_ENOMEM: the same client is next again.  sent: the message counts as sent; false where the client's
 * picture has changed since it was packed, so that aoi_sync_next must pack it again.  Anything may be called between
 * them; clients whose message was not sent come with the next tick. */
AOI_API int aoi_sync_begin(aoi_sync *y);
AOI_API int aoi_sync_next(aoi_sync *y, aoi_message *out);
AOI_API bool aoi_sync_sent(aoi_sync *y);

/* Reading a message: any bytes are read or refused, nothing is read beyond them. */
enum { AOI_MOVED = 1, AOI_TOUCHED = 2, AOI_APPEARED = 4, AOI_GONE = 8, AOI_STATE = 16 };

typedef struct aoi_news {
    int what; /* AOI_GONE, AOI_APPEARED (id, kind, pos), AOI_MOVED (id, pos), AOI_TOUCHED (id, kind), or both of these;
                 AOI_STATE (id): aoi_read_value has its values */
    int64_t id;
    uint64_t kind;
    double pos[3];
} aoi_news;

typedef struct aoi_news_value { /* a field of a record of state */
    int type;
    const char *name; /* of name_size bytes, in the message, as are the bytes of the value */
    uint32_t name_size;
    aoi_value value;
    uint32_t offset,
        total; /* of strings and bytes: a part, from offset on, of a value of so many bytes; or all of it */
} aoi_news_value;

typedef struct aoi_reader { /* private, but for dimensions, anew and records */
    const unsigned char *at, *end;
    int dimensions;
    bool anew;        /* the message begins the picture anew: forget all that earlier ones have said */
    uint32_t records; /* still to be read */
    double quantum;
    int64_t origin[3], last;
    uint64_t fields, values;            /* in the message; still to be read of the record */
    const unsigned char *table, *value; /* where names begin, where the next value does */
    const char *fault;
} aoi_reader;

/* NULL, or what is wrong with the head of the message.  The bytes must stay while they are read. */
AOI_API const char *aoi_read_begin(aoi_reader *r, const void *bytes, size_t size);
/* The next record; false past the last one or where r->fault says what is wrong. */
AOI_API bool aoi_read_next(aoi_reader *r, aoi_news *out);
/* The next value of the record of state that was read last; false past its last one.  They may be left unread. */
AOI_API bool aoi_read_value(aoi_reader *r, aoi_news_value *out);

/* The fields of an entity, one a call: of all synchronisers of the space, and those that were loaded with it or played
 * from a journal.  *cursor begins at 0; false past the last one.  Texts and names are valid until one is put, or closed. */
AOI_API bool aoi_next_field(const aoi_space *s, aoi_entity e, uint64_t *cursor, aoi_news_value *out);

#endif
