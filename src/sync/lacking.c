/* lacking.c - records of state in messages: the fields of an entity that a client lacks, within its budget.
 *
 *   lacks     0                no fields
 *             1                all fields that have been put
 *             128 + tick % 128 the fields that have changed since that tick; after 64 ticks it becomes 1
 *
 * Only clients with tiers or a budget have lacks, a byte a record; others lack the changes since their last message.
 *
 *   pass      [ track | mask: fields still to be sent | offset -> blob ]
 *
 * A record that takes more than half of a message is sent in pieces, one such record at a time: a pass.  It sends the
 * fields that were lacked when it began, and a text of several pieces as it was when the first was packed, so that
 * changes cannot delay it; fields that change meanwhile are lacked when it ends.  Each message reserves half of its
 * bytes for the pass, which also gets those that other records do not use. */
#include "sync/sync.h"

enum { LACKS_NOTHING, LACKS_ALL, LACKS_SINCE = 128, LACKS_TICKS = 64 };

static unsigned lacks_since(uint32_t now, uint32_t tick) {
    return now - tick >= LACKS_TICKS ? LACKS_ALL : LACKS_SINCE | (tick & (LACKS_SINCE - 1));
}

/* The lacks of a record that begins to lack fields now: since the tick before the client was queued. */
unsigned aoi_lacks_fresh(const aoi_client *c) {
    return lacks_since(c->sync->now, c->queued_for - 1);
}

unsigned aoi_lacks_aged(const aoi_client *c, unsigned lacks) {
    uint32_t now = c->sync->now;
    bool late = now - c->synced >= LACKS_TICKS || ((now - lacks) & (LACKS_SINCE - 1)) >= LACKS_TICKS;
    return lacks > LACKS_ALL && late ? LACKS_ALL : lacks;
}

/* 0: no fields; 1: all; 2 + n: changed in the n ticks up to the last one. */
unsigned aoi_lacks_as_age(const aoi_sync *y, unsigned lacks) {
    return lacks <= LACKS_ALL ? lacks : 2 + ((y->now - lacks) & (LACKS_SINCE - 1));
}

uint8_t aoi_lacks_of_age(const aoi_sync *y, unsigned age) {
    return (uint8_t)(age <= LACKS_ALL ? age : lacks_since(y->now, y->now - (age - 2)));
}

static bool may_hold(const aoi_client *c, uint32_t record) {
    return (aoi_fields_for(c, c->tracks[record]) & c->sync->team_fields) != 0;
}

void aoi_record_holds(aoi_client *c, uint32_t record) {
    if (c->holds) c->holds[record] = may_hold(c, record);
}

bool aoi_record_turned(const aoi_client *c, uint32_t record) {
    return c->holds[record] != may_hold(c, record) && aoi_state_put(c->sync, c->tracks[record]) & c->sync->team_fields;
}

/* Team fields to be sent all, or taken back, because the client's team or the entity's has changed. */
static uint64_t fields_turned(const aoi_client *c, uint32_t record) {
    return aoi_record_turns(c, record) ? aoi_state_put(c->sync, c->tracks[record]) & c->sync->team_fields : 0;
}

void aoi_record_lacks(aoi_client *c, uint32_t i) {
    if (c->lacks[i]) return;
    if (c->tiers && !(c->flags[i] & AOI_RECORD_WAITS)) c->since[i] = aoi_units_of(c->tiers, c->sync->now);
    c->lacks[i] = (uint8_t)aoi_lacks_fresh(c);
}

/* Changed `own` fields: only the record of the client's own entity can lack them; one that appears is sent them all. */
void aoi_lacks_own(aoi_client *c) {
    uint32_t i = c->own_news && c->lacks ? aoi_picture_find(c, c->track) : AOI_NONE;
    if (i < c->known) aoi_record_lacks(c, i);
}

static uint64_t fields_lacked(const aoi_client *c, uint32_t record, uint32_t track) {
    const aoi_sync *y = c->sync;
    unsigned lacks = c->lacks[record];
    uint64_t mask = lacks == LACKS_ALL ? aoi_state_put(y, track)
                                       : aoi_state_changed(y, track, y->now - ((y->now - lacks) & (LACKS_SINCE - 1)));
    return (mask & aoi_fields_for(c, track)) | fields_turned(c, record);
}

uint64_t aoi_fields_lacking(const aoi_client *c, uint32_t record, uint32_t track) {
    const uint64_t pass = c->pass && c->pass->track == track ? c->pass->mask : 0;
    const uint64_t late = aoi_state_changed(c->sync, track, c->synced) & aoi_fields_for(c, track);
    const bool waits = c->lacks && c->lacks[record];
    return pass | late | (waits ? fields_lacked(c, record, track) : fields_turned(c, record));
}

/* ---- whole records: false when memory is refused ------------------------------------------------------------------- */

/* Sets the lacks of the record for the time after this message. */
static bool note_lacks(aoi_client *c, uint32_t record, unsigned lacks) {
    aoi_sync *y = c->sync;
    if (!c->lacks) return true;
    if (!AOI_GROW(aoi_sync_memory(y), y->lacks_changes, y->lacks_change_cap, y->lacks_change_count + (size_t)1))
        return false;
    y->lacks_changes[y->lacks_change_count++] = (aoi_lacks_change){record, (uint8_t)lacks};
    return true;
}

/* Adds the record that ends at p, with those fields, to the message; false if the budget does not hold it. */
static bool take_state(aoi_sync *y, const unsigned char *p, uint64_t last, uint64_t mask) {
    aoi_writer *w = &y->writer;
    uint64_t fields = w->fields;
    uint32_t table = w->table;
    w->fields |= mask;
    if (w->fields != fields) w->table = aoi_fields_table_size(y, w->fields);
    if (aoi_writer_take(w, p, last)) return true;
    w->fields = fields;
    w->table = table;
    return false;
}

static bool put_state(aoi_client *c, uint32_t track, uint64_t mask, uint64_t shown, bool whole, bool *taken) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    uint64_t last = w->last;
    uint32_t size;
    const unsigned char *packed = aoi_state_pack(y, track, mask, shown, whole, &size);
    if (!packed || w->end > (uint32_t)INT32_MAX ||
        !AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD + size))
        return false;
    unsigned char *p = aoi_put_id(w, w->bytes + w->end, AOI_TAG_STATE, y->tracks[track].id);
    memcpy(p, packed, size);
    *taken = take_state(y, p + size, last, mask);
    return true;
}

bool aoi_pack_changed(aoi_client *c, uint32_t track) {
    const uint64_t shown = aoi_fields_for(c, track);
    uint64_t mask = aoi_state_changed(c->sync, track, c->synced) & shown;
    bool taken;
    if (c->holds) mask |= fields_turned(c, aoi_picture_find(c, track));
    return !mask || put_state(c, track, mask, shown, false, &taken);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

static uint32_t room_left(const aoi_writer *w) {
    uint32_t used = w->end - w->begin + w->table + aoi_varint_size(w->records + 1u);
    return used < w->most ? w->most - used : 0;
}

/* Whether the rest of a record could be sent in half of a message. */
static bool is_short(const aoi_sync *y, uint32_t track, uint64_t mask) {
    const aoi_writer *w = &y->writer;
    return w->most == UINT32_MAX ||
           AOI_WIRE_ID + aoi_state_bound(y, track, mask) + aoi_fields_table_size(y, mask) <= w->half;
}

/* Writes as much of a text as `room` bytes hold, from the offset of the pass.  The end; NULL: nothing fits. */
static unsigned char *put_part(aoi_sync *y, aoi_pass *pass, uint32_t field, uint32_t room, unsigned char *p) {
    aoi_blob *blob = pass->offset ? pass->blob : aoi_state_blob(y, y->states[pass->track], field);
    const uint32_t head = 3 * 3, rest = blob ? blob->size - pass->offset : 0;
    const uint32_t size = room > head + rest ? rest : room - head;
    if (!blob || room <= head) return NULL;
    p = aoi_put_varint(p, size * UINT64_C(2) + 1);
    p = aoi_put_varint(p, pass->offset);
    p = aoi_put_varint(p, blob->size);
    memcpy(p, blob->bytes + pass->offset, size);
    pass->blob = blob;
    pass->offset += size;
    if (pass->offset == blob->size) pass->offset = 0;
    return p + size;
}

/* Packs the next piece of the pass in at most `room` bytes; no record if not a byte of it fits. */
static bool put_piece(aoi_client *c, uint32_t room) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->writer;
    aoi_pass *pass = &y->pass;
    const uint64_t shows = aoi_fields_for(c, pass->track);
    uint64_t last = w->last, took = 0;
    uint32_t most = AOI_WIRE_ID + 3 * 3 + AOI_MOST_VARINT + aoi_state_bound(y, pass->track, pass->mask) + y->table_most;
    if (room > room_left(w)) room = room_left(w);
    if (room > most) room = most;
    if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + (size_t)AOI_WIRE_RECORD + room)) return false;
    unsigned char *const begin = aoi_put_id(w, w->bytes + w->end, AOI_TAG_STATE, y->tracks[pass->track].id);
    unsigned char *const values = begin + AOI_MOST_VARINT, *p = values;
    for (uint64_t rest = pass->mask; rest; rest &= rest - 1) {
        const uint32_t f = (uint32_t)aoi_lanes_first(rest);
        const uint64_t bit = rest & (0 - rest), mask = took | bit;
        uint32_t cost = (uint32_t)(begin - (w->bytes + w->end)) + aoi_varint_size(mask) + (uint32_t)(p - values) +
                        aoi_fields_table_size(y, w->fields | mask) - w->table;
        uint32_t left = room > cost ? room - cost : 0;
        const bool shown = (bit & shows) != 0;
        bool text = aoi_is_text(y->fields[f].type) && shown,
             fits = shown ? aoi_state_bound(y, pass->track, bit) - AOI_MOST_VARINT <= left : left >= AOI_WIRE_DOUBLE;
        if (!pass->offset && fits) p = aoi_state_put_value(y, pass->track, f, shown, p);
        else {
            unsigned char *end = text ? put_part(y, pass, f, left, p) : NULL;
            if (!end) break;
            p = end;
        }
        took = mask;
        if (pass->offset) break;
        pass->mask &= ~bit;
    }
    w->last = took ? w->last : last;
    if (!took) return true;
    unsigned char *mask_end = aoi_put_varint(begin, took);
    memmove(mask_end, values, (size_t)(p - values));
    return (void)take_state(y, mask_end + (p - values), last, took), true;
}

/* Allocates the client's pass if it has none. */
static bool pass_ready(aoi_client *c) {
    if (!c->pass && (c->pass = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, sizeof *c->pass)) != NULL)
        *c->pass = (aoi_pass){0};
    return c->pass != NULL;
}

/* The pass of a record that leaves the picture with this message does not count. */
static bool has_pass(const aoi_client *c) {
    if (c->sync->passes) return true;
    return c->pass && c->pass->mask && aoi_picture_find(c, c->pass->track) < c->sync->stay;
}

uint32_t aoi_pass_share(const aoi_client *c) {
    const aoi_writer *w = &c->sync->writer;
    if (!c->bytes || !has_pass(c)) return 0;
    if (w->half < c->sync->piece) return c->sync->now & 1 ? w->most : 0; /* in turns */
    return w->half;
}

bool aoi_pack_pass(aoi_client *c) {
    aoi_sync *y = c->sync;
    if (y->passes || !has_pass(c)) return true;
    y->pass = *c->pass;
    y->passes = true;
    if (!aoi_record_turns(c, aoi_picture_find(c, y->pass.track))) return put_piece(c, UINT32_MAX);
    y->pass.mask = y->pass.offset = 0; /* begins again, with other fields */
    return true;
}

bool aoi_pass_resume(aoi_client *c, const aoi_pass *pass, const void *text, uint32_t size) {
    aoi_blob *blob = size ? aoi_blob_new(c->sync, text, size) : NULL;
    if ((size && !blob) || !pass_ready(c)) {
        aoi_blob_release(c->sync, blob);
        return false;
    }
    *c->pass = *pass;
    c->pass->blob = blob;
    return true;
}

void aoi_pass_end(aoi_client *c) {
    if (!c->pass) return;
    aoi_blob_release(c->sync, c->pass->blob);
    AOI_FREE(aoi_sync_memory(c->sync), c->pass, 1);
    c->pass = NULL;
}

/* ---- fields that wait, and new records ----------------------------------------------------------------------------- */

bool aoi_pack_lacking(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    uint32_t track = c->tracks[record];
    uint64_t mask = fields_lacked(c, record, track);
    bool taken = true;
    if (c->pass && c->pass->mask && c->pass->track == track) return true; /* its pass has begun */
    if (!mask) return note_lacks(c, record, LACKS_NOTHING);
    if (is_short(y, track, mask))
        return put_state(c, track, mask, aoi_fields_for(c, track), false, &taken) &&
               (!taken || note_lacks(c, record, 0));
    if (has_pass(c)) return true;
    if (!pass_ready(c)) return false;
    y->pass = (aoi_pass){.track = track, .began = y->now, .mask = mask};
    y->passes = true;
    return put_piece(c, y->writer.half < y->piece ? UINT32_MAX : y->writer.half);
}

bool aoi_pack_whole(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    uint32_t track = c->tracks[record];
    const uint64_t shown = aoi_fields_for(c, track), mask = aoi_state_differs(y, track) & shown;
    bool taken = false, full = y->writer.full;
    if (!mask) return true;
    if (is_short(y, track, mask) && !put_state(c, track, mask, shown, true, &taken)) return false;
    y->writer.full = full; /* shorter records may fit */
    return taken || note_lacks(c, record, LACKS_ALL);
}

/* It stands before the record that the entity is gone.  Left out where another entity has the id by now, to which a reader
 * would give it, or where the budget does not hold it. */
bool aoi_pack_last(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    const uint32_t track = c->tracks[record];
    const uint64_t put = aoi_state_put(y, track), mask = put ? put & aoi_fields_lacking(c, record, track) : 0;
    bool taken, full = y->writer.full;
    if (!mask || aoi_slot_of_id(y->space, y->tracks[track].id) != AOI_NONE) return true;
    if (!put_state(c, track, mask, aoi_fields_for(c, track), false, &taken)) return false;
    y->writer.full = full;
    return true;
}

/* ---- applying: nothing can fail ------------------------------------------------------------------------------------ */

static void apply_pass(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_blob *old = c->pass->blob;
    uint32_t i = aoi_picture_find(c, y->pass.track);
    *c->pass = y->pass;
    if (!c->pass->offset) c->pass->blob = NULL;
    if (c->pass->blob) c->pass->blob->refs++;
    aoi_blob_release(y, old);
    const bool turned = aoi_record_turns(c, i), turns = turned && c->pass->began != y->now;
    if (turned) c->lacks[i] = LACKS_ALL; /* what a pass that is given up leaves */
    if (!turns) aoi_record_holds(c, i);
    if (c->pass->mask) return;
    bool again = aoi_state_changed(y, c->pass->track, c->pass->began) & aoi_fields_for(c, c->pass->track);
    c->lacks[i] = (uint8_t)(turns ? LACKS_ALL : again ? lacks_since(y->now, c->pass->began) : LACKS_NOTHING);
    aoi_record_starts(c, i);
    aoi_pass_end(c);
}

void aoi_apply_state(aoi_client *c) {
    aoi_sync *y = c->sync;
    uint8_t *lacks = c->lacks;
    for (uint32_t k = 0; k < y->lacks_change_count; k++) {
        lacks[y->lacks_changes[k].record] = y->lacks_changes[k].lacks;
        if (!y->lacks_changes[k].lacks) aoi_record_starts(c, y->lacks_changes[k].record);
        if (!y->lacks_changes[k].lacks) aoi_record_holds(c, y->lacks_changes[k].record);
        c->backlog |= y->lacks_changes[k].lacks != LACKS_NOTHING;
    }
    if (y->passes) apply_pass(c);
    c->backlog |= aoi_next_flagged(lacks, 0, y->stay, UINT8_MAX, false) < y->stay;
}
