/* tick.c - which clients have news, what a message says, and what it changes when it is sent.
 *
 *   begin -> tracks catch up, clients with news are queued -> next: pack -> the host sends -> sent: apply
 *                                                              ^                                  |
 *                                                              +---- the next client -------------+
 *
 * Packing marks what it says (SAID, CUT) and changes nothing else that counts; applying cannot fail.  So a refused
 * allocation, an error of the host or a change in between costs nothing: the client stays at the head of the queue and
 * is packed again. */
#include "sync/sync.h"

enum { TRACKS_AHEAD = 6, RECORDS_AT_ONCE = 64 };

/* ---- head of the message ----------------------------------------------------------------------------------------- */

int aoi_scale_of(double quantum) {
    double power = 1;
    if (!(quantum > 0)) return AOI_SCALE_FLOATS;
    for (int k = AOI_SCALE_TEN; k < AOI_SCALE_TWO; k++, power *= 10)
        if (quantum == 1 / power) return k;
    power = 1;
    for (int k = AOI_SCALE_TWO; k < AOI_SCALE_TOP; k++, power *= 2)
        if (quantum == 1 / power) return k;
    return AOI_SCALE_OTHER;
}

/* Numbers of quanta are told relative to where the client is. */
static void writer_open(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    double at[3];
    int dims = y->space->world.dims;
    w->end = AOI_WIRE_HEAD;
    w->records = 0;
    w->last = 0;
    w->axes = dims;
    w->quanta = y->quantum > 0;
    w->full = false;
    bool wide = aoi_round_position(y, aoi_position_now(y->space, c->entity), at);
    uint32_t head = 3 + (aoi_scale_of(y->quantum) == AOI_SCALE_OTHER ? 8 : 0);
    for (int a = 0; a < dims && w->quanta; a++) {
        w->origin[a] = wide ? 0 : (int64_t)at[a];
        head += aoi_varint_size(aoi_zigzag((uint64_t)w->origin[a]));
    }
    w->most = c->bytes ? c->bytes - head : UINT32_MAX;
}

static void writer_close(const aoi_client *c, aoi_message *out) {
    aoi_sync *y = c->sync;
    const unsigned char *begin = aoi_writer_head(&y->writer, aoi_scale_of(y->quantum), y->quantum);
    *out = (aoi_message){c->id, begin, (size_t)(y->writer.bytes + y->writer.end - begin)};
}

/* ---- records: false when memory is refused ----------------------------------------------------------------------- */

static uint64_t kind_of(const aoi_sync *y, const aoi_track *t) {
    return y->space->world.entities[t->entity].kind;
}

static bool say_gone(aoi_client *c, uint32_t record) {
    aoi_writer *w = &c->sync->writer;
    uint64_t last = w->last;
    if (!aoi_writer_ready(aoi_sync_memory(c->sync), w)) return false;
    unsigned char *p = aoi_put_id(w, w->bytes + w->end, AOI_TAG_GONE, c->sync->tracks[c->tracks[record]].id);
    if (aoi_writer_take(w, p, last)) c->flags[record] |= AOI_RECORD_SAID;
    return true;
}

static bool say_appeared(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    uint32_t track = c->tracks[record];
    uint64_t last = w->last;
    aoi_track_locate(y, track);
    if (!aoi_writer_ready(aoi_sync_memory(y), w) || !aoi_track_reserve_knower(y, track)) return false;
    const aoi_track *t = y->tracks + track;
    bool wide = t->flags & AOI_TRACK_WIDE;
    unsigned char *p = aoi_put_id(w, w->bytes + w->end, wide ? AOI_TAG_APPEARED_WIDE : AOI_TAG_APPEARED, t->id);
    p = aoi_put_varint(p, kind_of(y, t));
    p = wide ? aoi_put_doubles(w, p, t->at) : aoi_put_position(w, p, t->at);
    if (aoi_writer_take(w, p, last)) c->flags[record] |= AOI_RECORD_SAID;
    return true;
}

/* A position, a touch, or both; true if it fits into the message, for which there is room. */
static bool put_update(aoi_sync *y, const aoi_track *t, bool moved, bool touched) {
    aoi_writer *w = &y->writer;
    uint64_t last = w->last;
    bool wide = t->flags & AOI_TRACK_WIDE;
    int tag = !moved ? AOI_TAG_TOUCHED : wide ? AOI_TAG_MOVED_WIDE : touched ? AOI_TAG_MOVED_TOUCHED : AOI_TAG_MOVED;
    unsigned char *p = aoi_put_id(w, w->bytes + w->end, tag, t->id);
    if (tag == AOI_TAG_TOUCHED || tag == AOI_TAG_MOVED_TOUCHED) p = aoi_put_varint(p, kind_of(y, t));
    if (moved) p = wide ? aoi_put_doubles(w, p, t->at) : aoi_put_position(w, p, t->at);
    return aoi_writer_take(w, p, last);
}

/* A wide position has a record of its own. */
static bool say_update(aoi_client *c, uint32_t record, bool moved, bool touched) {
    aoi_sync *y = c->sync;
    const aoi_track *t = y->tracks + c->tracks[record];
    bool apart = touched && moved && (t->flags & AOI_TRACK_WIDE);
    if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
    if (apart) {
        if (put_update(y, t, false, true)) c->flags[record] |= AOI_RECORD_SAID;
        if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
        touched = false;
    }
    if (!y->writer.full && put_update(y, t, moved, touched))
        c->flags[record] |= (uint8_t)((moved ? AOI_RECORD_PLACED : 0) | (touched ? AOI_RECORD_SAID : 0));
    return true;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static void track_prefetch(const aoi_client *c, uint32_t i) {
    if (i < c->told) AOI_PREFETCH(c->sync->tracks + c->tracks[i]);
}

/* Those of records from..to that have moved and nothing else: the bulk of all messages.  The writer is a copy, since
 * stores of bytes may alias anything in memory; the number of axes is a constant.  Returns the first other one. */
AOI_INLINE uint32_t put_moves(const aoi_client *c, aoi_writer *writer, uint32_t from, uint32_t to, int axes,
                              bool quanta) {
    aoi_writer w = *writer;
    const aoi_track *tracks = c->sync->tracks;
    const uint32_t *records = c->tracks, synced = c->synced;
    unsigned char *p = w.bytes + w.end;
    uint32_t i = from;
    w.axes = axes;
    w.quanta = quanta;
    for (; i < to; i++) {
        const aoi_track *t = tracks + records[i];
        AOI_PREFETCH(tracks + records[i + TRACKS_AHEAD < to ? i + TRACKS_AHEAD : i]);
        if (aoi_tick_after(t->touched, synced) || t->flags & AOI_TRACK_WIDE) break;
        if (!aoi_tick_after(t->moved, synced)) continue;
        p = aoi_put_position(&w, aoi_put_id(&w, p, AOI_TAG_MOVED, t->id), t->at);
        w.records++;
    }
    writer->end = (uint32_t)(p - w.bytes);
    writer->records = w.records;
    writer->last = w.last;
    return i;
}

static uint32_t put_moves_of(const aoi_client *c, aoi_writer *w, uint32_t from, uint32_t to) {
    if (w->quanta) return w->axes == 2 ? put_moves(c, w, from, to, 2, true) : put_moves(c, w, from, to, 3, true);
    return w->axes == 2 ? put_moves(c, w, from, to, 2, false) : put_moves(c, w, from, to, 3, false);
}

/* Updates of a client that is told everything at once, so that nothing has to be remembered of a record. */
static bool pack_updates(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    for (uint32_t i = 0; i < c->stay;) {
        uint32_t to = i + RECORDS_AT_ONCE < c->stay ? i + RECORDS_AT_ONCE : c->stay;
        if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD * RECORDS_AT_ONCE))
            return false;
        i = put_moves_of(c, w, i, to);
        if (i == to) continue;
        const aoi_track *t = y->tracks + c->tracks[i];
        bool moved = aoi_tick_after(t->moved, c->synced), touched = aoi_tick_after(t->touched, c->synced);
        if ((moved || touched) && !say_update(c, i, moved, touched)) return false;
        i++;
    }
    return true;
}

/* What is new about a known record waits from now on. */
static void mark_waiting(const aoi_client *c, uint32_t record) {
    const aoi_track *t = c->sync->tracks + c->tracks[record];
    uint8_t *flags = c->flags + record;
    if (aoi_tick_after(t->moved, c->synced) && !(*flags & AOI_RECORD_WAITS)) {
        *flags |= AOI_RECORD_WAITS;
        c->since[record] = c->sync->now;
    }
    if (aoi_tick_after(t->touched, c->synced)) *flags |= AOI_RECORD_TOUCH;
}

/* Of what waits and is due, the most urgent first where there is a budget.  A record that is to go but does not fit into
 * the message may stay after all: what is new about it waits, too. */
static bool pack_timed_updates(aoi_client *c, aoi_scope *scope, bool measured) {
    aoi_sync *y = c->sync;
    uint32_t n = 0;
    if (c->tier_count && !measured && !aoi_measure(c, c->stay, scope)) return false;
    if (c->bytes && !AOI_GROW(aoi_sync_memory(y), y->picks, y->pick_cap, c->told)) return false;
    for (uint32_t i = 0; i < c->told; i++) {
        uint8_t *flags = c->flags + i;
        track_prefetch(c, i + TRACKS_AHEAD);
        mark_waiting(c, i);
        if (i >= c->stay) continue;
        *flags &= (uint8_t) ~(AOI_RECORD_SAID | AOI_RECORD_PLACED);
        if (!(*flags & (AOI_RECORD_WAITS | AOI_RECORD_TOUCH))) continue;
        bool touched = *flags & AOI_RECORD_TOUCH, due = (*flags & AOI_RECORD_WAITS) && aoi_tier_due(c, i, scope);
        c->backlog |= (*flags & AOI_RECORD_WAITS) && !due;
        if (!due && !touched) continue;
        int64_t id = y->tracks[c->tracks[i]].id;
        if (c->bytes) y->picks[n++] = (aoi_pick){.weight = aoi_urgency(c, i), .id = id, .record = i, .known = due};
        else if (!say_update(c, i, due, touched)) return false;
    }
    if (n > 1) aoi_order_picks(y, n);
    for (uint32_t k = 0; k < n && !y->writer.full; k++) {
        const aoi_pick *p = y->picks + k;
        if (!say_update(c, p->record, p->known, c->flags[p->record] & AOI_RECORD_TOUCH)) return false;
    }
    return true;
}

/* Known records that do not stay go behind all others, and so do those that the limit cuts:
 *
 *   [ stay         | gone  | untold      ]
 *                  ^ stay  ^ told        ^ count      */
static void put_gone_last(aoi_client *c) {
    uint32_t stay = c->told, i = 0;
    while (c->unseen && (i = aoi_next_unseen(c->flags, i, stay)) < stay) {
        if (aoi_record_stays(c, i)) i++;
        else aoi_picture_swap(c, i, --stay);
    }
    c->stay = stay;
}

/* True if there were any. */
static bool put_cut_last(aoi_client *c) {
    uint32_t stay = c->stay, i = 0;
    while ((i = aoi_next_flagged(c->flags, i, stay, AOI_RECORD_CUT, false)) < stay) aoi_picture_swap(c, i, --stay);
    bool any = stay < c->stay;
    c->stay = stay;
    return any;
}

static bool pack_gone(aoi_client *c) {
    for (uint32_t i = c->stay; i < c->told && !c->sync->writer.full; i++)
        if (!say_gone(c, i)) return false;
    return true;
}

/* The picks; with a budget the most urgent first. */
static bool pack_appeared(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    if (c->bytes && n > 1 && !y->writer.full) {
        for (uint32_t k = 0; k < n; k++) {
            aoi_pick *p = y->picks + k;
            p->weight = aoi_urgency(c, p->record) + aoi_track_priority(y, c->tracks[p->record]);
            p->distance2 = aoi_client_distance2(c, p->record);
            p->id = y->tracks[c->tracks[p->record]].id;
        }
        aoi_order_picks(y, n);
    }
    for (uint32_t k = 0; k < n && !y->writer.full; k++)
        if (!say_appeared(c, y->picks[k].record)) return false;
    return true;
}

static void unmark(uint8_t *flags, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) flags[i] &= (uint8_t) ~(AOI_RECORD_SAID | AOI_RECORD_CUT);
}

static bool pack(aoi_client *c) {
    aoi_sync *y = c->sync;
    writer_open(c);
    aoi_scope scope;
    bool measured = false;
    c->backlog = false;
    c->stay = c->told;
    if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
    if (c->changed || c->overflow) {
        if (c->marked) unmark(c->flags, c->count);
        c->marked = c->changed = true; /* also where only the limit has news: to be applied */
        put_gone_last(c);
        if (c->limit && !aoi_measure(c, c->count, &scope)) return false;
        uint32_t n = aoi_choose(c, &scope);
        measured = c->limit && n != AOI_NONE && !put_cut_last(c);
        if (n == AOI_NONE || !pack_gone(c) || !pack_appeared(c, n)) return false;
    }
    return aoi_is_timed(c) ? pack_timed_updates(c, &scope, measured) : pack_updates(c);
}

/* ---- applying: nothing can fail ---------------------------------------------------------------------------------- */

/* Of known records those that were said to be gone; last first, as others take their places. */
static void apply_gone(aoi_client *c, bool *left) {
    for (uint32_t i = c->told; i-- > c->stay;) {
        if (!(c->flags[i] & AOI_RECORD_SAID)) {
            *left = true;
            continue;
        }
        aoi_picture_untell(c, i);
        uint32_t now_at = c->told;
        if (aoi_is_timed(c)) c->told_at[now_at] = c->since[now_at] = c->sync->now;
    }
}

/* Of the others those that were said to have appeared; what is not seen any more is forgotten. */
static void apply_appeared(aoi_client *c, bool *left) {
    for (uint32_t i = c->told; i < c->count; i++) {
        if (!(c->flags[i] & AOI_RECORD_SAID)) continue;
        if (aoi_is_timed(c)) c->told_at[i] = c->since[i] = c->sync->now;
        c->flags[i] &= (uint8_t)~AOI_RECORD_SAID;
        aoi_picture_tell(c, i);
    }
    for (uint32_t i = c->told; c->unseen && (i = aoi_next_unseen(c->flags, i, c->count)) < c->count;) {
        if (aoi_record_stays(c, i)) i++;
        else aoi_picture_drop(c, i);
    }
    *left |= !c->limit && c->told < c->count;
}

static void apply_updates(aoi_client *c) {
    for (uint32_t i = 0; i < c->stay; i++) {
        uint8_t *flags = c->flags + i;
        if (*flags & AOI_RECORD_SAID) *flags &= (uint8_t) ~(AOI_RECORD_SAID | AOI_RECORD_TOUCH);
        if (*flags & AOI_RECORD_PLACED) {
            *flags &= (uint8_t) ~(AOI_RECORD_PLACED | AOI_RECORD_WAITS);
            c->told_at[i] = c->sync->now;
        }
        if (*flags & (AOI_RECORD_WAITS | AOI_RECORD_TOUCH)) c->backlog = true;
    }
}

/* What is seen now is what was seen at the last tick.  By eights. */
static void settle_flags(uint8_t *flags, uint32_t n) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t past = ones * (AOI_RECORD_SAID | AOI_RECORD_CUT | AOI_RECORD_PLACED | AOI_RECORD_SAW);
    for (uint32_t i = 0; i < n; i += sizeof ones) {
        uint64_t eight = 0;
        uint32_t size = n - i < sizeof eight ? n - i : (uint32_t)sizeof eight;
        memcpy(&eight, flags + i, size);
        eight = (eight & ~past) | (eight & ones * AOI_RECORD_SEEN) * AOI_RECORD_SAW;
        memcpy(flags + i, &eight, size);
    }
}

static void apply(aoi_client *c) {
    aoi_sync *y = c->sync;
    bool left = y->writer.full && c->changed;
    if (aoi_is_timed(c)) apply_updates(c);
    if (c->changed) {
        apply_gone(c, &left);
        apply_appeared(c, &left);
        settle_flags(c->flags, c->count);
        y->overflows -= c->overflow;
        c->overflow = c->limit && c->told < c->count;
        y->overflows += c->overflow;
        aoi_picture_shrink(c);
    }
    c->changed = left;
    c->marked = false;
    c->synced = y->now;
    aoi_client_unqueue(c);
    if (left || c->backlog) aoi_client_queue(c, y->now + 1);
    y->packed = NULL;
}

/* ---- the tick ---------------------------------------------------------------------------------------------------- */

int aoi_sync_begin(aoi_sync *y) {
    if (!aoi_settle(y->space) || !aoi_syncs_see(y->space)) return AOI_ENOMEM;
    y->now++;
    y->packed = NULL;
    y->changes++;
    aoi_track_catch_up(y);
    return AOI_OK;
}

int aoi_sync_next(aoi_sync *y, aoi_message *out) {
    *out = (aoi_message){0};
    if (!aoi_syncs_see(y->space)) return AOI_ENOMEM;
    for (aoi_client *c; (c = y->first) != NULL && !aoi_tick_after(c->queued_for, y->now);) {
        if (!pack(c)) return AOI_ENOMEM;
        if (!y->writer.records) {
            apply(c);
            continue;
        }
        writer_close(c, out);
        y->packed = c;
        y->packed_at = y->changes;
        break;
    }
    return AOI_OK;
}

bool aoi_sync_sent(aoi_sync *y) {
    if (!y->packed || y->packed_at != y->changes) return false;
    apply(y->packed);
    return true;
}
