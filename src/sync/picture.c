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
static uint32_t index_size(uint32_t cap) {
    return cap > INDEXED_FROM ? cap + cap / 4 + 1 : 0;
}

static uint32_t index_home(uint32_t size, uint32_t track) {
    return (uint32_t)((uint64_t)(track * UINT32_C(0x9E3779B9)) * size >> 32);
}

static uint32_t index_next(uint32_t size, uint32_t i) {
    return i + 1 < size ? i + 1 : 0;
}

/* The position of the track in the index, or the empty one where the search ends. */
static uint32_t index_place(const aoi_client *c, uint32_t track) {
    const uint32_t size = index_size(c->cap);
    uint32_t i = index_home(size, track);
    while (c->index[i] && c->tracks[c->index[i] - 1] != track) i = index_next(size, i);
    return i;
}

/* The index must not contain the track. */
static void index_add(aoi_client *c, uint32_t record) {
    c->index[index_place(c, c->tracks[record])] = record + 1;
}

static void index_remove(aoi_client *c, uint32_t record) {
    const uint32_t n = index_size(c->cap);
    uint32_t gap = index_place(c, c->tracks[record]);
    for (uint32_t i = index_next(n, gap); c->index[i]; i = index_next(n, i)) {
        uint32_t home = index_home(n, c->tracks[c->index[i] - 1]);
        uint32_t from_home = i >= home ? i - home : i + n - home, from_gap = i >= gap ? i - gap : i + n - gap;
        if (from_home < from_gap) continue; /* its home lies behind the gap */
        c->index[gap] = c->index[i];
        gap = i;
    }
    c->index[gap] = 0;
}

/* ---- the block --------------------------------------------------------------------------------------------------- */

enum { DATED = 1, STATEFUL = 2, VIEWED = 4, TEAMED = 8, SEATED = 16 }; /* the arrays that not every picture has */

static unsigned picture_parts(const aoi_client *c) {
    return (c->sent_at ? DATED : 0u) | (c->lacks ? STATEFUL : 0u) | (c->sees ? VIEWED : 0u) |
           (c->sync->team_fields ? TEAMED : 0u) | (c->sync->riders ? SEATED : 0u);
}

static size_t picture_bytes(uint32_t cap, unsigned parts) {
    const size_t numbers = 1u + (parts & DATED ? 1 : 0) + (parts & SEATED ? 1 : 0),
                 bytes = 1u + (parts & STATEFUL ? 1 : 0) + (parts & VIEWED ? 2 : 0) + (parts & TEAMED ? 1 : 0);
    return cap * bytes + (cap * numbers + index_size(cap)) * sizeof(uint32_t);
}

/* Points the arrays into the block, those of numbers behind the flags; cap is a multiple of eight. */
static void picture_lay(aoi_client *c, uint8_t *block, uint32_t cap, unsigned parts) {
    uint32_t *numbers = (uint32_t *)(void *)(block + cap) + cap;
    c->cap = cap;
    c->flags = block;
    c->tracks = numbers - cap;
    c->sent_at = parts & DATED ? numbers : NULL;
    numbers += parts & DATED ? cap : 0;
    c->told = parts & SEATED ? numbers : NULL;
    numbers += parts & SEATED ? cap : 0;
    c->index = index_size(cap) ? numbers : NULL;
    uint8_t *bytes = (uint8_t *)(numbers + index_size(cap));
    c->lacks = parts & STATEFUL ? bytes : NULL;
    bytes += parts & STATEFUL ? cap : 0;
    c->sees = parts & VIEWED ? bytes : NULL;
    c->saw = parts & VIEWED ? bytes + cap : NULL;
    bytes += parts & VIEWED ? 2 * (size_t)cap : 0;
    c->holds = parts & TEAMED ? bytes : NULL;
}

static void picture_free_block(aoi_client *c) {
    if (c->flags) aoi_resize(aoi_sync_memory(c->sync), c->flags, picture_bytes(c->cap, picture_parts(c)), 0);
}

/* Both arrays, or one that is new and stays 0. */
static void copy_records(uint8_t *to, const uint8_t *from, uint32_t count) {
    if (to && from) memcpy(to, from, count);
}

/* Moves the records to a new block with those arrays; false when memory is refused. */
static bool picture_relay(aoi_client *c, uint32_t cap, unsigned parts) {
    aoi_client to = *c;
    uint8_t *block = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, picture_bytes(cap, parts));
    if (!block) return false;
    memset(block, 0, picture_bytes(cap, parts));
    picture_lay(&to, block, cap, parts);
    copy_records(to.flags, c->flags, c->count);
    copy_records(to.lacks, c->lacks, c->count);
    copy_records(to.sees, c->sees, c->count);
    copy_records(to.saw, c->saw, c->count);
    copy_records(to.holds, c->holds, c->count);
    if (c->count) memcpy(to.tracks, c->tracks, c->count * sizeof *to.tracks);
    if (to.told && c->told) memcpy(to.told, c->told, c->count * sizeof *to.told);
    for (uint32_t i = 0; i < c->count && to.sent_at; i++) to.sent_at[i] = c->sent_at ? c->sent_at[i] : c->sync->now;
    for (uint32_t i = 0; i < c->count && to.index; i++) index_add(&to, i);
    picture_free_block(c);
    *c = to;
    return true;
}

/* Only while no record is seen. */
bool aoi_picture_set_viewed(aoi_client *c) {
    return picture_relay(c, c->cap, picture_parts(c) | VIEWED);
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
    const unsigned parts =
        (dated ? DATED : 0u) | (stateful ? STATEFUL : 0u) | (picture_parts(c) & (VIEWED | TEAMED | SEATED));
    if (tiers && !aoi_picture_since_ready(c, c->known)) return false;
    if ((!c->flags || parts != picture_parts(c)) && !picture_relay(c, c->flags ? c->cap : LEAST_RECORDS, parts))
        return false;
    if (!tiers) AOI_CLEAR(aoi_sync_memory(c->sync), c->since, c->since_cap);
    else if ((!c->tiers || c->tiers->unit != tiers->unit) && c->known)
        memset(c->since, aoi_units_of(tiers, c->sync->now) - (AOI_MOST_UNITS - 1), c->known);
    return true;
}

void aoi_picture_shrink(aoi_client *c) {
    if (c->cap < 64 || c->count > c->cap / 4) return;
    (void)picture_relay(c, picture_room(c->count + c->count / 8 + 1), picture_parts(c));
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
    if (c->index) return c->index[index_place(c, track)] - 1; /* or AOI_NONE */
    uint32_t i = aoi_lanes_find(c->tracks, c->count, track);
    return i < c->count ? i : AOI_NONE;
}

static inline void swap_bytes(uint8_t *bytes, uint32_t i, uint32_t k) {
    uint8_t byte = bytes[i];
    bytes[i] = bytes[k];
    bytes[k] = byte;
}

static inline void swap_numbers(uint32_t *numbers, uint32_t i, uint32_t k) {
    uint32_t number = numbers[i];
    numbers[i] = numbers[k];
    numbers[k] = number;
}

void aoi_picture_swap(aoi_client *c, uint32_t i, uint32_t k) {
    if (i == k) return;
    if (c->index) swap_numbers(c->index, index_place(c, c->tracks[i]), index_place(c, c->tracks[k]));
    swap_numbers(c->tracks, i, k);
    swap_bytes(c->flags, i, k);
    if (c->sent_at) swap_numbers(c->sent_at, i, k);
    if (c->told) swap_numbers(c->told, i, k);
    if (c->lacks) swap_bytes(c->lacks, i, k);
    if (c->sees) swap_bytes(c->sees, i, k);
    if (c->sees) swap_bytes(c->saw, i, k);
    if (c->holds) swap_bytes(c->holds, i, k);
    if (i < c->since_cap && k < c->since_cap) swap_bytes(c->since, i, k);
}

uint32_t aoi_picture_append(aoi_client *c, uint32_t track, int flags) {
    if (c->count == c->cap && !picture_relay(c, picture_room(c->cap + c->cap / 16 + 1), picture_parts(c)))
        return AOI_NONE;
    uint32_t i = c->count;
    c->tracks[i] = track;
    c->flags[i] = (uint8_t)flags;
    aoi_record_starts(c, i);
    if (c->told) c->told[i] = AOI_NONE;
    if (c->lacks) c->lacks[i] = 0;
    if (c->sees) c->sees[i] = c->saw[i] = 0;
    if (c->holds) c->holds[i] = 0;
    if (c->index) index_add(c, i);
    c->count++;
    c->unseen += !(flags & AOI_RECORD_SEEN);
    c->sync->tracks[track].refs++;
    return i;
}

void aoi_picture_drop(aoi_client *c, uint32_t record) {
    aoi_sync *y = c->sync;
    uint32_t track = c->tracks[record], last = c->count - 1;
    c->unseen -= !(c->flags[record] & AOI_RECORD_SEEN);
    aoi_picture_swap(c, record, last);
    if (c->index) index_remove(c, last);
    c->count--;
    y->tracks[track].refs--;
    aoi_track_release(y, track);
}

void aoi_picture_forget(aoi_client *c, uint32_t record) {
    const uint32_t track = c->tracks[record];
    aoi_track_remove_knower(c->sync, track, c->number);
    if (c->lacks) c->lacks[record] = 0;
    if (c->told) c->told[record] = AOI_NONE;
    if (c->pass && c->pass->track == track) aoi_pass_end(c);
    c->flags[record] &= AOI_RECORD_SEEN | AOI_RECORD_SAW | AOI_RECORD_PIN;
    aoi_picture_swap(c, record, --c->known);
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
