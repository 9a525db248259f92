/* tick.c - which clients have news, and the contents of a message.
 *
 *   begin -> tracks catch up, clients with news are queued -> next: pack -> the host sends -> sent: apply
 *                                                              ^                                  |
 *                                                              +---- the next client -------------+
 *
 * Packing marks the records in the message (PACKED, CUT) and changes nothing else that matters; applying cannot fail.
 * After a refused allocation, an error of the host or a change in between the client is still first in the queue. */
#include "sync/sync.h"

enum { TRACKS_AHEAD = 6, RECORDS_AT_ONCE = 64, PREFETCHED = 256 };

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

/* Numbers of quanta are sent relative to the position of the client. */
static void writer_open(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    aoi_wire_place at = {{0}};
    const int dims = y->space->records.dims;
    *w = (aoi_writer){.bytes = w->bytes, .cap = w->cap, .axes = dims, .quanta = y->quantum > 0, .riders = y->riders};
    w->end = w->begin = AOI_WIRE_HEAD + y->table_most;
    bool wide = w->quanta && aoi_round_position(y, aoi_position_now(y->space, aoi_client_entity(c)), &at);
    uint32_t head = 3 + (y->scale == AOI_SCALE_OTHER ? 8 : 0);
    for (int a = 0; a < dims && w->quanta; a++) {
        w->origin[a] = wide ? 0 : (int64_t)at.bits[a];
        head += aoi_varint_size(aoi_zigzag((uint64_t)w->origin[a]));
    }
    w->most = c->bytes ? c->bytes - head : UINT32_MAX;
    w->half = c->bytes ? w->most / 2 : UINT32_MAX;
}

static void writer_close(const aoi_client *c, aoi_message *out) {
    aoi_sync *y = c->sync;
    aoi_fields_put_table(y, &y->writer);
    const unsigned char *begin = aoi_writer_head(&y->writer, y->scale, y->quantum, c->anew);
    *out = (aoi_message){aoi_client_id(c), begin, (size_t)(y->writer.bytes + y->writer.end - begin)};
}

/* ---- records: false when memory is refused ----------------------------------------------------------------------- */

static uint64_t kind_of(const aoi_sync *y, const aoi_track *t) {
    return aoi_kind_of(y->space, t->entity);
}

/* Why it is gone; 0: out of view. */
static uint32_t reason_of(const aoi_track *t) {
    return t->flags & AOI_TRACK_DEAD ? t->touched : 0;
}

static bool pack_appeared_record(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    uint32_t track = c->tracks[record];
    uint64_t last = w->last;
    if (y->tracks[track].flags & AOI_TRACK_FRESH) (void)aoi_track_relocate(y, track);
    if (!aoi_writer_ready(aoi_sync_memory(y), w) || !aoi_track_reserve_knower(y, track)) return false;
    const aoi_track *t = y->tracks + track;
    AOI_PREFETCH(t->knowers + t->knower_count);
    const bool wide = t->flags & AOI_TRACK_WIDE;
    int64_t carrier;
    const bool named = aoi_names_carrier(c, record, &carrier);
    unsigned char *p = w->bytes + w->end;
    if (!wide && !named) p = aoi_put_record(w, p, AOI_TAG_APPEARED, t->id, kind_of(y, t), &t->at);
    else
        p = aoi_put_wide_record(w, p, AOI_TAG_APPEARED_WIDE, t->id, kind_of(y, t), &t->at, wide,
                                named ? &carrier : NULL);
    if (!aoi_writer_take(w, p, last)) return true;
    c->flags[record] |= AOI_RECORD_PACKED;
    return !y->field_count || aoi_pack_whole(c, record);
}

/* Writes a position, a touch, or both; true if the budget holds it.  The buffer must have room. */
static bool put_update(aoi_sync *y, const aoi_track *t, bool moved, bool touched) {
    aoi_writer *w = &y->writer;
    uint64_t last = w->last;
    const int tag = aoi_tag_of(moved, touched, t->flags & AOI_TRACK_WIDE);
    const uint64_t kind = touched ? kind_of(y, t) : 0;
    unsigned char *p = aoi_put_record(w, w->bytes + w->end, tag, t->id, kind, &t->at);
    return aoi_writer_take(w, p, last);
}

/* The same for a position that names a carrier, or 0. */
AOI_NOINLINE static bool put_seat(aoi_sync *y, const aoi_track *t, int64_t carrier) {
    aoi_writer *w = &y->writer;
    const uint64_t last = w->last;
    unsigned char *p = w->bytes + w->end;
    p = aoi_put_wide_record(w, p, AOI_TAG_MOVED_WIDE, t->id, 0, &t->at, t->flags & AOI_TRACK_WIDE, &carrier);
    return aoi_writer_take(w, p, last);
}

/* A wide position, or one that names a carrier, has a record of its own. */
AOI_INLINE bool pack_update_of(aoi_client *c, uint32_t record, bool moved, bool touched, bool named, int64_t carrier) {
    aoi_sync *y = c->sync;
    const aoi_track *t = y->tracks + c->tracks[record];
    bool apart = touched && moved && (named || t->flags & AOI_TRACK_WIDE);
    unsigned packed = 0;
    if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
    if (apart) {
        if (put_update(y, t, false, true)) packed = AOI_RECORD_PACKED;
        if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
        touched = false;
    }
    if (!y->writer.full && (named ? put_seat(y, t, carrier) : put_update(y, t, moved, touched)))
        packed |= (moved ? AOI_RECORD_PLACED : 0u) | (touched ? AOI_RECORD_PACKED : 0u);
    if (c->timed) c->flags[record] |= (uint8_t)packed;
    return true;
}

AOI_NOINLINE static bool pack_rider_update(aoi_client *c, uint32_t record, bool moved, bool touched) {
    int64_t carrier = 0;
    const bool named = moved && aoi_find_named(c, record, &carrier);
    return pack_update_of(c, record, moved, touched, named, carrier);
}

static bool pack_update(aoi_client *c, uint32_t record, bool moved, bool touched) {
    if (c->told) return pack_rider_update(c, record, moved, touched);
    return pack_update_of(c, record, moved, touched, false, 0);
}

static bool pack_gone_record(aoi_client *c, uint32_t record);

/* What has been told to ride on the carrier goes before it, or is told otherwise.  *free: the budget holds all of it. */
static bool pack_letting_go(aoi_client *c, uint32_t carrier, bool *free) {
    for (uint32_t i = 0; i < c->known && *free; i++) {
        if (c->told[i] != carrier) continue;
        const bool goes = i >= c->sync->stay;
        if (goes && !pack_gone_record(c, i)) return false;
        if (!goes && !(c->flags[i] & AOI_RECORD_PLACED) && aoi_is_carrier_told(c, i) && !pack_update(c, i, true, false))
            return false;
        *free = c->flags[i] & (goes ? AOI_RECORD_PACKED : AOI_RECORD_PLACED);
    }
    return true;
}

static bool pack_gone_record(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    const aoi_track *t = y->tracks + c->tracks[record];
    if (c->flags[record] & AOI_RECORD_PACKED) return true;
    bool free = true;
    if (c->told && c->timed && !pack_letting_go(c, c->tracks[record], &free)) return false;
    if (!free) return true;
    if (y->field_count && t->flags & AOI_TRACK_DEAD && !aoi_pack_last(c, record)) return false;
    uint64_t last = w->last;
    if (!aoi_writer_ready(aoi_sync_memory(y), w)) return false;
    unsigned char *p = aoi_put_record(w, w->bytes + w->end, AOI_TAG_GONE, t->id, 0, NULL);
    if (w->reasons) *p++ = (unsigned char)reason_of(t);
    if (aoi_writer_take(w, p, last)) c->flags[record] |= AOI_RECORD_PACKED;
    return true;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Writes records from..to up to the first with news other than a move, which it returns: the bulk of all messages.
 * With `due` from and to are entries of sync->due, else records, and those without news are skipped.  The writer is a
 * copy, since stores of bytes may alias anything in memory; axes, quanta, due and odd (there may be other news than
 * moves) are constants.  Tracks with new state are listed in
 * sync->stated. */
AOI_INLINE uint32_t put_moves(const aoi_client *c, aoi_writer *writer, uint32_t from, uint32_t to, int axes,
                              bool quanta, bool due, bool odd) {
    aoi_writer w = *writer;
    const aoi_track *tracks = c->sync->tracks;
    const uint32_t *records = c->tracks, *list = due ? c->sync->due : records, *end = list + to, *at = list + from;
    const uint32_t synced = c->synced;
    const uint8_t *lacks = due && c->lacks ? c->lacks : NULL;
    uint8_t *flags = c->flags;
    unsigned char *p = w.bytes + w.end;
    uint32_t still = 0, *stated = c->sync->stated + c->sync->stated_count;
    w.axes = axes;
    w.quanta = quanta;
    const uint32_t *last = to - from > TRACKS_AHEAD ? end - TRACKS_AHEAD : at;
    for (; at < end; at++) {
        const uint32_t *ahead = at < last ? at + TRACKS_AHEAD : at;
        const aoi_track *t = tracks + (due ? records[*at / 2] : *at);
        AOI_PREFETCH(tracks + (due ? records[*ahead / 2] : *ahead));
        if (odd && ((due ? flags[*at / 2] & AOI_RECORD_TOUCH || (lacks && lacks[*at / 2])
                         : aoi_tick_after(t->touched, synced)) ||
                    t->flags & (AOI_TRACK_WIDE | AOI_TRACK_RIDER)))
            break;
        if (odd && !due) {
            *stated = *at;
            stated += aoi_tick_after(t->stated, synced);
        }
        if (!due && !aoi_tick_after(t->moved, synced)) {
            still++;
            continue;
        }
        p = aoi_put_wire_place(&w, aoi_put_id(&w, p, AOI_TAG_MOVED, t->id), &t->at);
        if (due) flags[*at / 2] |= AOI_RECORD_PLACED;
    }
    if (!due) c->sync->stated_count = (uint32_t)(stated - c->sync->stated);
    writer->end = (uint32_t)(p - w.bytes);
    writer->records += (uint32_t)(at - list) - from - still;
    writer->last = w.last;
    return (uint32_t)(at - list);
}

AOI_INLINE uint32_t put_moves_of(const aoi_client *c, aoi_writer *w, uint32_t from, uint32_t to, bool due, bool odd) {
    if (w->quanta)
        return w->axes == 2 ? put_moves(c, w, from, to, 2, true, due, odd)
                            : put_moves(c, w, from, to, 3, true, due, odd);
    return w->axes == 2 ? put_moves(c, w, from, to, 2, false, due, odd) : put_moves(c, w, from, to, 3, false, due, odd);
}

/* Lists state that is new, or of an entity whose team is the client's now, or was. */
static void list_turned(const aoi_client *c) {
    aoi_sync *y = c->sync;
    y->stated_count = 0;
    for (uint32_t i = 0; i < y->stay; i++)
        if (aoi_record_turns(c, i) || aoi_tick_after(y->tracks[c->tracks[i]].stated, c->synced))
            y->stated[y->stated_count++] = c->tracks[i];
}

/* Packs the updates of a client that is sent everything at once, so that records need no flags or times.  State comes
 * last. */
static bool pack_updates(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    const bool odd = aoi_tick_after(y->odd, c->synced);
    y->stated_count = 0;
    if (!AOI_GROW(aoi_sync_memory(y), y->stated, y->stated_cap, y->stay + (size_t)1)) return false;
    for (uint32_t i = 0; i < y->stay;) {
        uint32_t to = i + RECORDS_AT_ONCE < y->stay ? i + RECORDS_AT_ONCE : y->stay;
        if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD * RECORDS_AT_ONCE))
            return false;
        i = odd ? put_moves_of(c, w, i, to, false, true) : put_moves_of(c, w, i, to, false, false);
        if (i == to) continue;
        const aoi_track *t = y->tracks + c->tracks[i];
        bool moved = aoi_tick_after(t->moved, c->synced), touched = aoi_tick_after(t->touched, c->synced);
        if ((moved || touched) && !pack_update(c, i, moved, touched)) return false;
        if (aoi_tick_after(t->stated, c->synced)) y->stated[y->stated_count++] = c->tracks[i];
        i++;
    }
    if (c->new_team && c->holds) list_turned(c);
    for (uint32_t k = 0; k < y->stated_count; k++)
        if (!aoi_pack_changed(c, y->stated[k])) return false;
    const bool own = c->own_news && !aoi_tick_after(y->tracks[c->track].stated, c->synced);
    return !own || aoi_picture_find(c, c->track) >= y->stay || aoi_pack_changed(c, c->track);
}

/* A hash of the ids of target and client, so that the phase is the same in every synchroniser. */
static inline uint32_t phase_of(int64_t id, uint64_t client) {
    return (uint32_t)(((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15) + client) >> 48);
}

/* Lists the records with something to send in sync->due: twice the number, plus 1 if its move is due (once in every
 * period, or when it has waited that long).  The due records follow no pattern, so that no branch depends on them.
 * Records that are to leave (`stays` is false) are not listed, but keep their news: one that does not fit into the
 * message may come back into view. */
AOI_INLINE uint32_t list_due(const aoi_client *client, bool tiered, bool stays, bool *backlog) {
    const aoi_client c = *client; /* a copy, since stores of bytes may alias anything in memory */
    const aoi_tiers *tiers = c.tiers;
    const aoi_track *tracks = c.sync->tracks;
    const uint32_t *numbers = c.tracks, now = c.sync->now, end = stays ? c.sync->stay : c.known;
    const uint32_t last = end > TRACKS_AHEAD ? end - TRACKS_AHEAD : 0;
    const uint64_t phase = (uint64_t)aoi_client_id(&c) * UINT64_C(0xD6E8FEB86659FD93);
    const bool odd = aoi_tick_after(c.sync->odd, c.synced);
    const bool late = tiered && (now - c.synced) >> tiers->unit >= AOI_MOST_UNITS; /* times may have wrapped */
    const uint8_t units = tiered ? aoi_units_of(tiers, now) : 0;
    uint8_t *const lacks_of = c.lacks ? c.lacks : NULL;
    const unsigned fresh = aoi_lacks_fresh(&c);
    uint32_t *list = c.sync->due, n = 0;
    unsigned left = 0;
    for (uint32_t i = stays ? 0 : c.sync->stay; i < end; i++) {
        const aoi_track *t = tracks + numbers[i];
        AOI_PREFETCH(tracks + numbers[i < last ? i + TRACKS_AHEAD : i]);
        unsigned old = c.flags[i], flags = old | aoi_tick_after(t->moved, c.synced) * (unsigned)AOI_RECORD_WAITS;
        if (odd) flags |= aoi_tick_after(t->touched, c.synced) * (unsigned)AOI_RECORD_TOUCH;
        unsigned due = flags & AOI_RECORD_WAITS, touched = flags & AOI_RECORD_TOUCH, waited = old & AOI_RECORD_WAITS;
        if (lacks_of) {
            const unsigned lacked = lacks_of[i];
            const unsigned lacks = lacked                                ? aoi_lacks_aged(&c, lacked)
                                   : aoi_tick_after(t->stated, c.synced) ? fresh
                                                                         : 0;
            lacks_of[i] = (uint8_t)lacks;
            waited |= lacked;
            due |= lacks;
        }
        if (tiered) {
            uint32_t tier = stays ? c.sync->tier_of[i] : 0, at = now + phase_of(t->id, phase);
            uint8_t since = waited ? c.since[i] : units;
            unsigned now_due = (at * tiers->divides[tier] <= tiers->most[tier]) |
                               ((uint8_t)(units - since) + 1u >= tiers->periods[tier]) | (late & (waited != 0));
            c.since[i] = since;
            left |= due & (now_due - 1);
            due &= 0 - now_due;
        }
        c.flags[i] = (uint8_t)flags;
        if (!stays) continue;
        list[n] = 2 * i + (due != 0);
        n += (due | touched) != 0;
    }
    *backlog = left != 0;
    return n;
}

static bool pack_due_record(aoi_client *c, uint32_t which) {
    const uint32_t i = which / 2;
    const bool due = which & 1, touched = c->flags[i] & AOI_RECORD_TOUCH;
    bool moved = due && c->flags[i] & AOI_RECORD_WAITS;
    if (c->told && moved) moved = !(c->flags[i] & AOI_RECORD_PLACED) && aoi_is_carrier_told(c, i);
    if ((moved || touched) && !pack_update(c, i, moved, touched)) return false;
    if (!due || !c->lacks || !c->lacks[i] || c->sync->writer.full) return true;
    if (!aoi_pack_lacking(c, i)) return false;
    if (c->sync->writer.full) c->sync->halved = i;
    return true;
}

static bool pack_due(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    for (uint32_t k = 0; k < n;) {
        uint32_t to = n - k > RECORDS_AT_ONCE ? k + RECORDS_AT_ONCE : n;
        if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD * RECORDS_AT_ONCE))
            return false;
        k = put_moves_of(c, w, k, to, true, true);
        if (k < to && !pack_due_record(c, y->due[k++])) return false;
    }
    return true;
}

static bool pack_by_keys(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    for (uint32_t k = 0, ready = 0; k < n && !y->writer.full; k++) {
        if (k == ready) ready = aoi_order_keys(y, k, n);
        if (!pack_due_record(c, y->keys[k] & UINT16_MAX)) return false;
    }
    return true;
}

static bool pack_most_urgent(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    if (!AOI_GROW(aoi_sync_memory(y), y->keys, y->key_cap, n)) return false;
    if (aoi_list_keys(c, n)) return pack_by_keys(c, n);
    if (!AOI_GROW(aoi_sync_memory(y), y->picks, y->pick_cap, n)) return false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = y->due[k] / 2;
        y->picks[k] = (aoi_pick){.weight = aoi_urgency(c, i), .id = y->tracks[c->tracks[i]].id, .record = y->due[k]};
    }
    for (uint32_t k = 0, ready = 0; k < n && !y->writer.full; k++) {
        if (k == ready) ready = aoi_order_picks(y, k, n);
        if (!pack_due_record(c, y->picks[k].record)) return false;
    }
    return true;
}

/* Packs the updates that wait and are due. */
static bool pack_timed_updates(aoi_client *c, aoi_scope *scope, bool measured) {
    aoi_sync *y = c->sync;
    if (c->tiers && !measured && !aoi_measure(c, y->stay, scope)) return false;
    if (!AOI_GROW(aoi_sync_memory(y), y->due, y->due_cap, y->stay + (size_t)1)) return false;
    if (c->tiers && !aoi_find_tiers(c, scope, y->stay)) return false;
    aoi_lacks_own(c);
    for (uint32_t i = 0; c->new_team && c->lacks && i < y->stay; i++)
        if (aoi_record_turns(c, i)) aoi_record_lacks(c, i);
    bool backlog = false, leaving;
    uint32_t n = c->tiers ? list_due(c, true, true, &backlog) : list_due(c, false, true, &backlog);
    if (y->stay < c->known) (void)list_due(c, c->tiers != NULL, false, &leaving);
    c->backlog = backlog;
    const uint32_t share = aoi_pass_share(c);
    y->writer.most -= share;
    if (!(c->bytes ? pack_most_urgent(c, n) : pack_due(c, n))) return false;
    y->writer.most += share;
    return aoi_pack_pass(c);
}

/* Moves known records that do not stay behind all others, as put_cut_last does with those that the limit cuts:
 *
 *   [ stay         | gone  | not known   ]
 *                  ^ stay  ^ known       ^ count */
static void put_gone_last(aoi_client *c) {
    uint32_t stay = c->known, i = 0;
    while (c->told && i < stay) {
        if (aoi_record_stays(c, i) && aoi_rides_along(c, i)) i++;
        else aoi_picture_swap(c, i, --stay);
    }
    while (!c->told && c->unseen && (i = aoi_next_unseen(c->flags, i, stay)) < stay) {
        if (aoi_record_stays(c, i)) i++;
        else aoi_picture_swap(c, i, --stay);
    }
    c->sync->stay = stay;
}

/* Also moves the entries of sync->near2 of records that stay. */
static void put_cut_last(aoi_client *c) {
    aoi_sync *y = c->sync;
    uint32_t i = 0;
    while ((i = aoi_next_flagged(c->flags, i, y->stay, AOI_RECORD_CUT, false)) < y->stay) {
        aoi_picture_swap(c, i, --y->stay);
        y->near2[i] = y->near2[y->stay];
    }
}

/* Prefetches the lists of knowers, which sending the message changes; finds out whether any has a reason. */
static void prefetch_gone(const aoi_client *c) {
    aoi_sync *y = c->sync;
    for (uint32_t i = y->stay; i < c->known; i++) {
        const aoi_track *t = y->tracks + c->tracks[i];
        y->writer.reasons |= reason_of(t) != 0;
        for (uint32_t k = 0; k < t->knower_count && k < PREFETCHED; k += AOI_CACHE_LINE / sizeof *t->knowers)
            AOI_PREFETCH(t->knowers + k);
    }
}

/* With a budget gone records are packed by id; their picks are stored behind the n picks of new ones. */
static bool pack_gone_in_order(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    const uint32_t count = n + c->known - y->stay;
    if (!AOI_GROW(aoi_sync_memory(y), y->picks, y->pick_cap, count)) return false;
    for (uint32_t k = n, i = y->stay; k < count; k++, i++)
        y->picks[k] = (aoi_pick){.id = y->tracks[c->tracks[i]].id, .record = i};
    for (uint32_t k = n, ready = n; k < count && !y->writer.full; k++) {
        if (k == ready) ready = aoi_order_picks(y, k, count);
        if (!pack_gone_record(c, y->picks[k].record)) return false;
    }
    return true;
}

static bool pack_gone(aoi_client *c, uint32_t n) {
    prefetch_gone(c);
    if (c->bytes) return pack_gone_in_order(c, n);
    for (uint32_t i = c->sync->stay; i < c->known; i++)
        if (!pack_gone_record(c, i)) return false;
    return true;
}

/* Packs the n picks; with a budget the most urgent first. */
static bool pack_appeared(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    if (c->bytes && n > 1 && !y->writer.full) {
        for (uint32_t k = 0; k < n; k++) {
            aoi_pick *p = y->picks + k;
            p->weight = aoi_urgency(c, p->record) + aoi_priority_for(c, c->tracks[p->record]);
            p->distance2 = aoi_client_distance2(c, p->record);
            p->id = y->tracks[c->tracks[p->record]].id;
        }
    }
    for (uint32_t k = 0, ready = c->bytes ? 0 : n; k < n && !y->writer.full; k++) {
        if (k == ready) ready = aoi_order_picks(y, k, n);
        if (!pack_appeared_record(c, y->picks[k].record)) return false;
    }
    return true;
}

/* The time of records that are seen for the first time begins at this tick. */
static void date_new(aoi_client *c) {
    const unsigned some = AOI_RECORD_SEEN | AOI_RECORD_SAW | AOI_RECORD_PIN;
    for (uint32_t i = c->known; c->sent_at && i < c->count; i++)
        if ((c->flags[i] & some) == AOI_RECORD_SEEN) aoi_record_starts(c, i);
}

/* Called for the client that is packed next. */
static void prefetch_picture(const aoi_client *c) {
    if (!c) return;
    if (c->next != AOI_NONE) AOI_PREFETCH(aoi_client_next(c));
    for (int k = 0; k < 6; k++) AOI_PREFETCH(c->flags + k * AOI_CACHE_LINE);
}

static bool pack(aoi_client *c) {
    aoi_sync *y = c->sync;
    prefetch_picture(aoi_client_next(c));
    writer_open(c);
    aoi_scope scope;
    bool measured = false;
    c->backlog = false;
    y->stay = c->known;
    y->lacks_change_count = 0;
    y->passes = false;
    y->halved = AOI_NONE;
    if (!aoi_writer_ready(aoi_sync_memory(y), &y->writer)) return false;
    for (uint32_t i = 0; c->marked && i < c->count; i++) c->flags[i] &= (uint8_t)~AOI_RECORD_MARKS;
    c->changed |=
        c->overflow || c->limits ||
        (c->told &&
         aoi_tick_after(y->reseated, c->synced)); /* a move, or a kind, may change the choice within the limit */
    c->marked = c->changed || c->timed;
    if (c->changed) date_new(c);
    if (c->changed) put_gone_last(c);
    if (c->changed) {
        if (c->limit && !aoi_measure(c, c->count, &scope)) return false;
        uint32_t n = aoi_choose(c, &scope);
        if (n == AOI_NONE || (c->tiers && !aoi_picture_since_ready(c, c->told ? c->count : c->known + n))) return false;
        if (c->limit) put_cut_last(c);
        measured = c->limit;
        if (!pack_gone(c, n) || !pack_appeared(c, n)) return false;
        while (c->told && (n = aoi_pick_riders(c)) > 0)
            if (!pack_appeared(c, n)) return false;
    }
    return c->timed ? pack_timed_updates(c, &scope, measured) : pack_updates(c);
}

/* ---- the tick ---------------------------------------------------------------------------------------------------- */

int aoi_sync_begin(aoi_sync *y) {
    aoi_sync_drop_ended_views(y);
    if (y->sight && aoi_sight_tick(y->sight) != AOI_OK) return AOI_ENOMEM;
    if (!aoi_settle(y->space) || !aoi_plugins_see(y->space)) return AOI_ENOMEM;
    y->now++;
    y->packed = NULL;
    y->changes++;
    aoi_scratch_clear(y);
    aoi_track_catch_up(y);
    return AOI_OK;
}

int aoi_sync_next(aoi_sync *y, aoi_message *out) {
    *out = (aoi_message){0};
    for (aoi_client *c; (c = y->first) != NULL && !aoi_tick_after(c->queued_for, y->now);) {
        if (!aoi_plugins_see(y->space) || !pack(c)) return AOI_ENOMEM;
        if (!y->writer.records && !c->anew) {
            aoi_apply(c);
            continue;
        }
        writer_close(c, out);
        y->packed = c;
        y->packed_at = y->changes;
        return AOI_OK;
    }
    if (!aoi_plugins_see(y->space)) return AOI_ENOMEM;
    aoi_tracks_sweep(y);
    aoi_scratch_clear(y);
    return AOI_OK;
}

bool aoi_sync_sent(aoi_sync *y) {
    if (!y->packed || y->packed_at != y->changes) return false;
    aoi_apply(y->packed);
    return true;
}
