/* picture.c - the entities that one client knows and sees (sync.h), and the queue of clients with news.
 *
 *   record         known, or seen and not known yet: known ones lie before c->known
 *   small picture  searched linearly
 *   large picture  has an index: [ record | none | record ... ], open addressing, linear probing, at most 4/5 full, its
 *                  size no power of two, to save memory */
#include "sync/sync.h"

enum { LEAST_RECORDS = 8, INDEXED_FROM = 256 };

/* The number of records rounded up to eights: flags and tracks are read by eights. */
static uint32_t picture_room(uint32_t records) {
    return (records + 7) & ~UINT32_C(7);
}

/* ---- the index of a large picture -------------------------------------------------------------------------------- */

/* An entry is the number of the record plus 1; 0: none. */
static uint32_t index_size(const aoi_client *c) {
    return c->cap > INDEXED_FROM ? c->cap + c->cap / 4 + 1 : 0;
}

static size_t index_begin(const aoi_client *c) {
    return c->cap + aoi_numbers_bytes(c->cap, c->tall) + (c->dated ? c->cap * sizeof(uint32_t) : 0) +
           (c->stateful ? c->cap : 0) + (c->viewed ? 2 * (size_t)c->cap : 0);
}

static aoi_numbers picture_index(const aoi_client *c) {
    return aoi_numbers_in(c->flags + index_begin(c), index_size(c), aoi_is_tall(c->cap));
}

static uint32_t index_home(uint32_t size, uint32_t track) {
    return (uint32_t)((uint64_t)(track * UINT32_C(0x9E3779B9)) * size >> 32);
}

static uint32_t index_next(uint32_t size, uint32_t i) {
    return i + 1 < size ? i + 1 : 0;
}

/* The position of the track in the index, or the empty one where the search ends. */
static uint32_t index_place(const aoi_client *c, uint32_t track) {
    const aoi_numbers index = picture_index(c), tracks = aoi_picture_tracks(c);
    const uint32_t size = index_size(c);
    uint32_t i = index_home(size, track), entry;
    while ((entry = aoi_number_at(index, i)) != 0 && aoi_number_at(tracks, entry - 1) != track) i = index_next(size, i);
    return i;
}

/* The index must not contain the track. */
static void index_add(aoi_client *c, uint32_t record) {
    aoi_number_put(picture_index(c), index_place(c, aoi_record_track(c, record)), record + 1);
}

static void index_remove(aoi_client *c, uint32_t record) {
    const aoi_numbers index = picture_index(c);
    const uint32_t n = index_size(c);
    uint32_t gap = index_place(c, aoi_record_track(c, record)), entry;
    for (uint32_t i = index_next(n, gap); (entry = aoi_number_at(index, i)) != 0; i = index_next(n, i)) {
        uint32_t home = index_home(n, aoi_record_track(c, entry - 1));
        uint32_t from_home = i >= home ? i - home : i + n - home, from_gap = i >= gap ? i - gap : i + n - gap;
        if (from_home < from_gap) continue; /* its home lies behind the gap */
        aoi_number_put(index, gap, entry);
        gap = i;
    }
    aoi_number_put(index, gap, 0);
}

/* ---- the block --------------------------------------------------------------------------------------------------- */

static size_t picture_bytes(const aoi_client *c) {
    return index_begin(c) + aoi_numbers_bytes(index_size(c), aoi_is_tall(c->cap));
}

static void picture_free_block(aoi_client *c) {
    if (c->flags) aoi_resize(aoi_sync_memory(c->sync), c->flags, picture_bytes(c), 0);
}

/* Moves the records to a new block with that layout; false when memory is refused. */
static bool picture_relay(aoi_client *c, uint32_t cap, bool tall, bool dated, bool stateful) {
    aoi_client to = *c;
    to.cap = cap;
    to.tall = tall;
    to.dated = dated;
    to.stateful = stateful;
    to.flags = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, picture_bytes(&to));
    if (!to.flags) return false;
    memset(to.flags, 0, picture_bytes(&to));
    if (c->count) memcpy(to.flags, c->flags, c->count);
    if (c->count) aoi_numbers_copy(aoi_picture_tracks(&to), aoi_picture_tracks(c), c->count);
    for (uint32_t i = 0; i < c->count && dated; i++)
        aoi_picture_sent_at(&to)[i] = c->dated ? aoi_picture_sent_at(c)[i] : c->sync->now;
    if (c->count && stateful && c->stateful) memcpy(aoi_picture_lacks(&to), aoi_picture_lacks(c), c->count);
    if (c->count && c->viewed) {
        memcpy(aoi_picture_sees(&to), aoi_picture_sees(c), c->count);
        memcpy(aoi_picture_saw(&to), aoi_picture_saw(c), c->count);
    }
    for (uint32_t i = 0; i < c->count && cap > INDEXED_FROM; i++) index_add(&to, i);
    picture_free_block(c);
    *c = to;
    return true;
}

/* Only while no record is seen. */
bool aoi_picture_set_viewed(aoi_client *c) {
    c->viewed = false;
    aoi_client before = *c;
    before.viewed = true;
    before.flags = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, picture_bytes(&before));
    if (!before.flags) return false;
    memset(before.flags, 0, picture_bytes(&before));
    memcpy(before.flags, c->flags, index_begin(c));
    picture_free_block(c);
    *c = before;
    return true;
}

bool aoi_picture_since_ready(aoi_client *c, uint32_t records) {
    uint32_t cap = records + records / 16 + 1;
    if (records <= c->since_cap) return true;
    uint8_t *since = aoi_resize(aoi_sync_memory(c->sync), c->since, c->since_cap, cap);
    if (!since) return false;
    memset(since + c->since_cap, 0, cap - c->since_cap);
    c->since = since;
    c->since_cap = cap;
    return true;
}

/* If the unit of times changes, all that waits becomes due. */
bool aoi_picture_set_times(aoi_client *c, bool dated, bool stateful, const aoi_tiers *tiers) {
    if (tiers && !aoi_picture_since_ready(c, c->known)) return false;
    if ((!c->flags || dated != c->dated || stateful != c->stateful) &&
        !picture_relay(c, c->flags ? c->cap : LEAST_RECORDS, c->tall, dated, stateful))
        return false;
    if (!tiers) AOI_CLEAR(aoi_sync_memory(c->sync), c->since, c->since_cap);
    else if ((!c->tiers || c->tiers->unit != tiers->unit) && c->known)
        memset(c->since, aoi_units_of(tiers, c->sync->now) - (AOI_MOST_UNITS - 1), c->known);
    return true;
}

/* Reserves a further record, of that track. */
static bool picture_ready(aoi_client *c, uint32_t track) {
    bool full = c->count == c->cap, tall = c->tall || aoi_is_tall(track);
    if (!full && tall == c->tall) return true;
    return picture_relay(c, full ? picture_room(c->cap + c->cap / 16 + 1) : c->cap, tall, c->dated, c->stateful);
}

void aoi_picture_shrink(aoi_client *c) {
    bool tall = false;
    if (c->cap < 64 || c->count > c->cap / 4) return;
    for (uint32_t i = 0; i < c->count && !tall; i++) tall = aoi_is_tall(aoi_record_track(c, i));
    (void)picture_relay(c, picture_room(c->count + c->count / 8 + 1), tall, c->dated, c->stateful);
}

void aoi_picture_free(aoi_client *c) {
    picture_free_block(c);
    AOI_CLEAR(aoi_sync_memory(c->sync), c->since, c->since_cap);
    aoi_pass_end(c);
    c->flags = NULL;
    c->cap = c->count = c->known = 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

uint32_t aoi_picture_find(const aoi_client *c, uint32_t track) {
    if (c->cap > INDEXED_FROM) return aoi_number_at(picture_index(c), index_place(c, track)) - 1; /* or AOI_NONE */
    uint32_t i = aoi_numbers_find(aoi_picture_tracks(c), picture_room(c->count), track);
    return i < c->count ? i : AOI_NONE;
}

static inline void swap_bytes(uint8_t *bytes, uint32_t i, uint32_t k) {
    uint8_t byte = bytes[i];
    bytes[i] = bytes[k];
    bytes[k] = byte;
}

void aoi_picture_swap(aoi_client *c, uint32_t i, uint32_t k) {
    if (i == k) return;
    if (c->cap > INDEXED_FROM) {
        uint32_t a = index_place(c, aoi_record_track(c, i)), b = index_place(c, aoi_record_track(c, k));
        aoi_numbers_swap(picture_index(c), a, b);
    }
    aoi_numbers_swap(aoi_picture_tracks(c), i, k);
    swap_bytes(c->flags, i, k);
    if (c->dated) {
        uint32_t *sent_at = aoi_picture_sent_at(c), at = sent_at[i];
        sent_at[i] = sent_at[k];
        sent_at[k] = at;
    }
    if (c->stateful) swap_bytes(aoi_picture_lacks(c), i, k);
    if (c->viewed) swap_bytes(aoi_picture_sees(c), i, k);
    if (c->viewed) swap_bytes(aoi_picture_saw(c), i, k);
    if (i < c->since_cap && k < c->since_cap) swap_bytes(c->since, i, k);
}

uint32_t aoi_picture_append(aoi_client *c, uint32_t track, int flags) {
    if (!picture_ready(c, track)) return AOI_NONE;
    uint32_t i = c->count;
    aoi_number_put(aoi_picture_tracks(c), i, track);
    c->flags[i] = (uint8_t)flags;
    aoi_record_starts(c, i);
    if (c->stateful) aoi_picture_lacks(c)[i] = 0;
    if (c->viewed) aoi_picture_sees(c)[i] = aoi_picture_saw(c)[i] = 0;
    if (c->cap > INDEXED_FROM) index_add(c, i);
    c->count++;
    c->unseen += !(flags & AOI_RECORD_SEEN);
    c->sync->tracks[track].refs++;
    return i;
}

void aoi_picture_drop(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    uint32_t track = aoi_record_track(c, record), last = c->count - 1;
    c->unseen -= !(c->flags[record] & AOI_RECORD_SEEN);
    aoi_picture_swap(c, record, last);
    if (c->cap > INDEXED_FROM) index_remove(c, last);
    c->count--;
    y->tracks[track].refs--;
    aoi_track_release(y, track);
}

void aoi_picture_know(aoi_client *c, uint32_t record) {
    aoi_track_add_knower(c->sync, aoi_record_track(c, record), c->number);
    aoi_picture_swap(c, record, c->known);
    if (c->tiers)
        c->since[c->known] = aoi_units_of(c->tiers, c->sync->now); /* state that did not fit waits since then */
    c->known++;
}

void aoi_picture_forget(aoi_client *c, uint32_t record) {
    const uint32_t track = aoi_record_track(c, record);
    aoi_track_remove_knower(c->sync, track, c->number);
    if (c->stateful) aoi_picture_lacks(c)[record] = 0;
    if (c->pass && c->pass->track == track) aoi_pass_end(c);
    c->flags[record] &= AOI_RECORD_SEEN | AOI_RECORD_SAW | AOI_RECORD_PIN;
    aoi_picture_swap(c, record, --c->known);
}

/* Verifies the capacities, and that the index has exactly the records. */
const char *aoi_picture_check(const aoi_client *c) {
    uint32_t entries = 0;
    for (uint32_t i = 0; i < index_size(c); i++) entries += aoi_number_at(picture_index(c), i) != 0;
    if (c->cap % 8 || c->count > c->cap || c->known > c->count) return "a picture has no room for its records";
    if (c->dated != (c->bytes > 0) || (c->tiers && c->known > c->since_cap))
        return "a picture has no room for its times";
    return index_size(c) && entries != c->count ? "a picture has a wrong index" : NULL;
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

void aoi_client_queue(aoi_client *c, uint32_t tick) {
    aoi_sync *y = c->sync;
    c->queued = true;
    c->queued_for = tick;
    c->next = AOI_NONE;
    c->previous = y->last ? y->last->number : AOI_NONE;
    if (y->last) y->last->next = c->number;
    else y->first = c;
    y->last = c;
}

void aoi_client_unqueue(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_client *previous = c->previous == AOI_NONE ? NULL : y->clients[c->previous], *next = aoi_client_next(c);
    if (previous) previous->next = c->next;
    else y->first = next;
    if (next) next->previous = c->previous;
    else y->last = previous;
    c->queued = false;
}
