/* record.c - writes a journal; see journal.h.
 *
 *   call -> record -> buffer (64 KB) --full, mark, stop--> check -> the host's `write`
 *                                                               -> or the ring: [ segment | segment | segment ]
 *
 * A segment of the ring begins with a state; the oldest segment is dropped when the ring has too many bytes.
 *
 * Taken events become a record only before the next record: mostly all waiting events are taken between two calls, and
 * one number suffices.  Else each event is recorded, because the order of waiting events depends on the engine. */
#include "core/state_hook.h"
#include "journal/journal.h"

enum {
    JOURNAL_BUFFER = 1 << 16,
    RESERVE = 2 * AOI_CHECK_BYTES, /* of the buffer: for a check at its end */
    MOST_NAMED = 1 << 16,          /* events that are kept before they are written */
    MOST_SEGMENTS = 8,
    SHARES = 4 /* a segment ends when it has 1/4 of the bytes of the ring */
};

typedef struct ring_segment {
    unsigned char *bytes;
    size_t size, room;
} ring_segment;

struct aoi_journal {
    aoi_output out;    /* first: hand_over receives its address */
    aoi_space *space;  /* NULL: closed */
    aoi_memory memory; /* the space's allocator; may outlive it */
    aoi_write write;
    void *ud;
    size_t ring; /* bytes; 0: there is none */
    int failed;  /* the first error, after which nothing is recorded */
    bool all_taken, marked;
    double last_mark;
    uint64_t bytes, all_count; /* bytes handed over; events taken since the last record */
    aoi_saved_event *named;    /* events taken since the last record, while others wait */
    uint32_t named_cap, named_count;
    ring_segment segments[MOST_SEGMENTS];
    uint32_t segment_count;
    size_t segment_least; /* least bytes of a segment: twice its state, so that these are at most half of the ring */
    uint32_t sum;         /* CRC-32 of the bytes handed over since the last check */
    aoi_crc32 sums;
    unsigned char buffer[JOURNAL_BUFFER + AOI_VARINT_ROOM];
};

/* ---- handing over ------------------------------------------------------------------------------------------------- */

static size_t ring_size(const aoi_journal *j) {
    size_t size = 0;
    for (uint32_t i = 0; i < j->segment_count; i++) size += j->segments[i].size;
    return size;
}

static void drop_segment(aoi_journal *j) {
    aoi_resize(&j->memory, j->segments[0].bytes, j->segments[0].room, 0);
    memmove(j->segments, j->segments + 1, --j->segment_count * sizeof *j->segments);
}

static int keep_in_ring(aoi_journal *j, const unsigned char *bytes, size_t size) {
    ring_segment *g = j->segments + j->segment_count - 1;
    if (g->room - g->size < size) {
        size_t room = g->room + g->room / 2 + size;
        void *p = aoi_resize(&j->memory, g->bytes, g->room, room);
        if (!p) return AOI_ENOMEM;
        g->bytes = p;
        g->room = room;
    }
    memcpy(g->bytes + g->size, bytes, size);
    g->size += size;
    while (j->segment_count > 1 && ring_size(j) > j->ring) drop_segment(j);
    return AOI_OK;
}

/* Hands the buffer over; `checked`, at the end of a record, with a check. */
static void flush_buffer(aoi_journal *j, bool checked) {
    if (j->failed) j->out.fill = 0;
    if (!j->out.fill && !(checked && j->sum)) return;
    j->sum = aoi_crc32_of(&j->sums, j->sum, j->buffer, j->out.fill);
    if (checked) {
        j->buffer[j->out.fill] = AOI_RECORD_CHECK;
        (void)aoi_put_bytes(j->buffer + j->out.fill + 1, j->sum, 4);
        j->out.fill += AOI_CHECK_BYTES;
        j->sum = 0;
    }
    j->bytes += j->out.fill;
    if (j->ring) j->failed = keep_in_ring(j, j->buffer, j->out.fill);
    else if (!j->write(j->ud, j->buffer, j->out.fill)) j->failed = AOI_EVALUE;
    j->out.fill = 0;
}

static void hand_buffer_over(aoi_output *out) {
    flush_buffer((aoi_journal *)(void *)out, false);
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* Called before a record: the buffer ends with a check if there is no room for it. */
static inline void begin_record(aoi_journal *j) {
    if (j->out.fill + AOI_RECORD_ROOM > j->out.size) flush_buffer(j, true);
}

static AOI_NOINLINE void write_taken(aoi_journal *j) {
    aoi_saved_event last = {0};
    begin_record(j);
    if (j->all_taken) {
        unsigned char *p = j->out.bytes + j->out.fill;
        *p = AOI_RECORD_ALL_TAKEN;
        aoi_wrote(&j->out, aoi_put_varint(p + 1, j->all_count));
    } else aoi_write_record(&j->out, j->space, &(aoi_call){.call = AOI_RECORD_TAKEN, .count = j->named_count}, 0, 0);
    for (uint32_t i = 0; i < j->named_count; i++)
        aoi_wrote(&j->out, aoi_put_event(aoi_room(&j->out, AOI_EVENT_ROOM), &last, j->named + i));
    j->named_count = 0;
    j->all_taken = false;
    j->all_count = 0;
}

/* Begins a record, after one for the events taken since the last. */
static inline unsigned char *record_of(aoi_journal *j, int what) {
    if (j->all_taken || j->named_count) write_taken(j);
    begin_record(j);
    unsigned char *p = j->out.bytes + j->out.fill;
    *p = (unsigned char)what;
    return p + 1;
}

static void wrote(aoi_journal *j, const unsigned char *p) {
    aoi_wrote(&j->out, p);
}

static int write_state(aoi_journal *j) {
    if (!aoi_settle(j->space) || !aoi_plugins_see(j->space))
        return AOI_ENOMEM; /* the first may be a record of its own */
    if (j->all_taken || j->named_count) write_taken(j);
    begin_record(j);
    return aoi_put_state(&j->out, j->space, true, NULL) ? AOI_OK : AOI_ENOMEM;
}

/* Begins a new segment of the ring, with which a dump can begin. */
static int open_segment(aoi_journal *j) {
    if (!aoi_settle(j->space)) return AOI_ENOMEM; /* its record belongs to the old segment */
    if (j->all_taken || j->named_count) write_taken(j);
    if (j->segment_count) flush_buffer(j, true);
    if (j->segment_count == MOST_SEGMENTS) drop_segment(j);
    j->segments[j->segment_count++] = (ring_segment){0};
    j->segment_least = SIZE_MAX; /* for now */
    int result = write_state(j);
    flush_buffer(j, true);
    j->segment_least = 2 * j->segments[j->segment_count - 1].size;
    return result;
}

/* Called after a whole record. */
static AOI_NOINLINE void end_segment(aoi_journal *j) {
    size_t size = j->segments[j->segment_count - 1].size + j->out.fill;
    if (j->failed || size < j->ring / SHARES || size < j->segment_least) return;
    int result = open_segment(j);
    if (result != AOI_OK) j->failed = result;
}

static inline void recorded(aoi_journal *j) {
    if (j->ring) end_segment(j);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static void log_refused(aoi_journal *j, int call, int result, const int64_t *ids, int count) {
    unsigned char *p = record_of(j, AOI_RECORD_REFUSED);
    *p++ = (unsigned char)call;
    *p++ = (unsigned char)result;
    *p++ = (unsigned char)count;
    for (int i = 0; i < count; i++) p = aoi_put_signed(p, ids[i]);
    wrote(j, p);
    recorded(j);
}

/* Stores the ids of a call's entity and node, if their handles are valid; returns their number. */
static int named_ids(const aoi_space *s, const aoi_call *c, unsigned fields, int64_t *ids) {
    ids[0] = c->id, ids[1] = c->node_id;
    if (!(fields & AOI_CALL_ID)) return 0;
    if (fields & AOI_CALL_BY_NODE) { /* a node that was just removed still has its slot */
        uint32_t node = c->result == AOI_OK ? c->node.index : aoi_node_slot(s, c->node);
        if (node == AOI_NONE) return 0;
        ids[0] = s->records.entities[s->records.nodes[node].owner].id;
        ids[1] = s->records.nodes[node].node_id;
        return 2;
    }
    if (!c->named) {
        uint32_t e = aoi_entity_slot(s, c->entity);
        if (e == AOI_NONE) return 0;
        ids[0] = s->records.entities[e].id;
    }
    return fields & AOI_CALL_NODE ? 2 : 1;
}

void aoi_log(aoi_space *s, const aoi_call *c) {
    aoi_journal *j = s->journal;
    unsigned fields = aoi_record_fields((unsigned)c->call);
    const uint32_t node = fields & AOI_CALL_BY_NODE ? aoi_node_slot(s, c->node) : AOI_NONE;
    int64_t ids[2];
    if (j->failed || (node != AOI_NONE && !aoi_node_is_recorded(s, node))) return;
    int named = named_ids(s, c, fields, ids);
    if (c->result != AOI_OK && fields & AOI_CALL_BYTES) j->failed = c->result;
    else if (c->result != AOI_OK) log_refused(j, c->call, c->result, ids, named);
    else {
        if (j->all_taken || j->named_count) write_taken(j);
        begin_record(j);
        aoi_write_record(&j->out, s, c, ids[0], ids[1]);
        recorded(j);
    }
}

/* ---- delivery ----------------------------------------------------------------------------------------------------- */

/* Called between calls, so that it does not end the segment, whatever its size. */
static void note_taken(aoi_journal *j, const aoi_queued *e) {
    bool full = j->named_count == MOST_NAMED;
    if (full || !AOI_GROW(&j->memory, j->named, j->named_cap, j->named_count + (size_t)1)) write_taken(j);
    j->named[j->named_count++] = (aoi_saved_event){e->kind, 0, e->watcher, e->node_id, e->target, e->t};
    j->all_count++;
}

/* Whether events wait only in the queue of the space; then so do they in a space played from a snapshot. */
static bool no_other_waits(aoi_space *s) {
    return !aoi_plugins_waiting(s->plugins) && !aoi_plugins_owe(s->plugins) && aoi_is_settled(s);
}

static void note_all_taken(aoi_journal *j, uint32_t count) {
    j->all_count += count;
    j->named_count = 0;
    j->all_taken = true;
}

void aoi_log_taken(aoi_space *s, const aoi_queued *e) {
    aoi_journal *j = s->journal;
    if (j->failed) return;
    if (s->queue.count || !no_other_waits(s)) note_taken(j, e);
    else note_all_taken(j, 1);
}

void aoi_log_all_taken(aoi_space *s) {
    aoi_journal *j = s->journal;
    const aoi_event_queue *q = &s->queue;
    if (j->failed || !q->count) return;
    if (no_other_waits(s)) note_all_taken(j, q->count);
    else
        for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) note_taken(j, q->events + i);
}

void aoi_log_settled(aoi_space *s, bool all) {
    aoi_journal *j = s->journal;
    if (!j->failed) wrote(j, record_of(j, all ? AOI_RECORD_SETTLED : AOI_RECORD_HALF_SETTLED));
}

void aoi_log_kept_order(aoi_space *s) {
    aoi_journal *j = s->journal;
    if (!j->failed) wrote(j, record_of(j, AOI_RECORD_KEPT_ORDER));
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void free_journal(aoi_journal *j) {
    aoi_memory m = j->memory;
    while (j->segment_count) drop_segment(j);
    AOI_FREE(&m, j->named, j->named_cap);
    aoi_resize(&m, j, sizeof *j, 0);
}

static bool write_head(aoi_write write, void *ud) {
    unsigned char head[AOI_JOURNAL_HEAD] = {0, 0, 0, 0, AOI_JOURNAL_VERSION};
    memcpy(head, AOI_JOURNAL_MAGIC, 4);
    return write(ud, head, sizeof head);
}

int aoi_journal_start(aoi_space *s, const aoi_journal_options *o, aoi_journal **out) {
    if (s->journal) return AOI_EEXIST;
    if (!o->write == !o->ring) return AOI_EVALUE;
    aoi_memory m = {.alloc = s->records.memory.alloc, .ud = s->records.memory.ud};
    aoi_journal *j = aoi_resize(&m, NULL, 0, sizeof *j);
    if (!j) return AOI_ENOMEM;
    memset(j, 0, sizeof *j - sizeof j->buffer);
    j->out = (aoi_output){j->buffer, 0, JOURNAL_BUFFER - RESERVE, hand_buffer_over};
    j->space = s;
    j->memory = m;
    j->write = o->write;
    j->ud = o->ud;
    j->ring = o->ring;
    aoi_crc32_open(&j->sums);
    int result = o->ring || write_head(o->write, o->ud) ? AOI_OK : AOI_EVALUE;
    if (!AOI_GROW(&j->memory, j->named, j->named_cap, 1u)) result = AOI_ENOMEM; /* note_taken always has room */
    if (!aoi_settle(s)) result = AOI_ENOMEM;                                    /* before anything is recorded */
    s->journal = j;
    if (result == AOI_OK) result = j->ring ? open_segment(j) : write_state(j);
    flush_buffer(j, true);
    if (result == AOI_OK) result = j->failed;
    if (result != AOI_OK) {
        s->journal = NULL;
        free_journal(j);
        return result;
    }
    *out = j;
    return AOI_OK;
}

int aoi_journal_mark(aoi_journal *j, double time) {
    if (!j->space) return AOI_EGONE;
    if (j->failed) return j->failed;
    if (!isfinite(time) || (j->marked && !(time >= j->last_mark))) return AOI_EVALUE;
    wrote(j, aoi_put_double(record_of(j, AOI_RECORD_MARK), time));
    recorded(j);
    j->marked = true;
    j->last_mark = time;
    flush_buffer(j, true);
    return j->failed;
}

uint64_t aoi_journal_bytes(const aoi_journal *j) {
    return j->ring ? AOI_JOURNAL_HEAD + ring_size(j) + j->out.fill : AOI_JOURNAL_HEAD + j->bytes + j->out.fill;
}

int aoi_journal_dump(aoi_journal *j, aoi_write write, void *ud) {
    if (!j->ring) return AOI_EVALUE;
    if (j->space && (j->all_taken || j->named_count)) write_taken(j);
    flush_buffer(j, true);
    if (!write_head(write, ud)) return AOI_EVALUE;
    for (uint32_t i = 0; i < j->segment_count; i++)
        if (!write(ud, j->segments[i].bytes, j->segments[i].size)) return AOI_EVALUE;
    return j->failed;
}

void aoi_log_close(aoi_space *s) {
    aoi_journal *j = s->journal;
    if (!j->failed) wrote(j, record_of(j, AOI_RECORD_END));
    flush_buffer(j, true);
    s->journal = NULL;
    j->space = NULL;
}

int aoi_journal_stop(aoi_journal *j) {
    if (!j) return AOI_OK;
    if (j->space) aoi_log_close(j->space);
    int result = j->failed;
    free_journal(j);
    return result;
}
