/* picture.c - what one client knows and sees (sync.h), and the queue of clients with news.
 *
 *   record         told, untold: what the client has been told of lies before c->told
 *   a small one    is searched through
 *   a large one    has an index: [ record | none | record ... ], open addressing, linear probing, at most 4/5 full, its
 *                  size no power of two: at this size every byte counts */
#include "sync/sync.h"

enum { LEAST_RECORDS = 8, INDEXED_FROM = 256 };

/* As many as there is room for, in eights: flags and tracks are looked at by eights. */
static uint32_t picture_room(uint32_t records) {
    return (records + 7) & ~UINT32_C(7);
}

/* ---- the index of a large picture -------------------------------------------------------------------------------- */

static uint32_t picture_home(const aoi_client *c, uint32_t track) {
    return (uint32_t)((uint64_t)(track * UINT32_C(0x9E3779B9)) * c->index_size >> 32);
}

static uint32_t picture_next(const aoi_client *c, uint32_t i) {
    return i + 1 < c->index_size ? i + 1 : 0;
}

/* The place that has the track, or the empty one where the search ends. */
static uint32_t picture_place(const aoi_client *c, uint32_t track) {
    uint32_t i = picture_home(c, track);
    while (c->index[i] != AOI_NONE && c->tracks[c->index[i]] != track) i = picture_next(c, i);
    return i;
}

static void picture_unindex(aoi_client *c, uint32_t record) {
    uint32_t gap = picture_place(c, c->tracks[record]), n = c->index_size;
    for (uint32_t i = picture_next(c, gap); c->index[i] != AOI_NONE; i = picture_next(c, i)) {
        uint32_t home = picture_home(c, c->tracks[c->index[i]]);
        uint32_t from_home = i >= home ? i - home : i + n - home, from_gap = i >= gap ? i - gap : i + n - gap;
        if (from_home < from_gap) continue; /* its home lies behind the gap */
        c->index[gap] = c->index[i];
        gap = i;
    }
    c->index[gap] = AOI_NONE;
}

static void picture_drop_index(aoi_client *c) {
    AOI_FREE(aoi_sync_memory(c->sync), c->index, c->index_size);
    c->index = NULL;
    c->index_size = 0;
}

/* Room in the index for as many records as in the arrays. */
static bool picture_index_ready(aoi_client *c, uint32_t cap) {
    uint32_t size = cap + cap / 4 + 1;
    if (cap <= INDEXED_FROM || size <= c->index_size) return true;
    uint32_t *index = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, size * sizeof *index);
    if (!index) return false;
    picture_drop_index(c);
    c->index = index;
    c->index_size = size;
    memset(index, 0xFF, size * sizeof *index);
    for (uint32_t i = 0; i < c->count; i++) c->index[picture_place(c, c->tracks[i])] = i;
    return true;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static size_t picture_bytes(uint32_t cap, bool told_at) {
    return cap * (sizeof(uint32_t) + told_at * sizeof(uint32_t) + 1);
}

static void picture_free_arrays(aoi_client *c) {
    if (c->tracks) aoi_resize(aoi_sync_memory(c->sync), c->tracks, picture_bytes(c->cap, c->told_at), 0);
}

/* The same records in a block of another size. */
static bool picture_relay(aoi_client *c, uint32_t cap, bool with_told_at) {
    uint32_t *tracks = aoi_resize(aoi_sync_memory(c->sync), NULL, 0, picture_bytes(cap, with_told_at));
    if (!tracks) return false;
    uint32_t *told_at = with_told_at ? tracks + cap : NULL;
    uint8_t *flags = (uint8_t *)(tracks + (with_told_at ? 2 : 1) * (size_t)cap);
    if (c->count) {
        memcpy(tracks, c->tracks, c->count * sizeof *tracks);
        memcpy(flags, c->flags, c->count);
    }
    memset(tracks + c->count, 0, (cap - c->count) * sizeof *tracks);
    memset(flags + c->count, 0, cap - c->count);
    for (uint32_t i = 0; i < c->count && told_at; i++) told_at[i] = c->told_at ? c->told_at[i] : c->sync->now;
    picture_free_arrays(c);
    c->tracks = tracks;
    c->told_at = told_at;
    c->flags = flags;
    c->cap = cap;
    return true;
}

bool aoi_picture_since_ready(aoi_client *c, uint32_t records) {
    uint32_t cap = picture_room(records + records / 8 + 1);
    if (records <= c->since_cap) return true;
    uint16_t *since = aoi_resize(aoi_sync_memory(c->sync), c->since, c->since_cap * sizeof *since, cap * sizeof *since);
    if (!since) return false;
    memset(since + c->since_cap, 0, (cap - c->since_cap) * sizeof *since);
    c->since = since;
    c->since_cap = cap;
    return true;
}

bool aoi_picture_set_times(aoi_client *c, bool told_at, bool since) {
    if (since && !aoi_picture_since_ready(c, c->told)) return false;
    if (told_at != (c->told_at != NULL) && !picture_relay(c, c->cap ? c->cap : LEAST_RECORDS, told_at)) return false;
    for (uint32_t i = 0; i < c->told && since && !c->tiers; i++) c->since[i] = (uint16_t)c->sync->now;
    if (!since) AOI_CLEAR(aoi_sync_memory(c->sync), c->since, c->since_cap);
    return true;
}

static bool picture_ready(aoi_client *c) {
    uint32_t cap = picture_room(c->cap + c->cap / 8 + 1);
    if (c->count < c->cap) return true;
    return picture_index_ready(c, cap) && picture_relay(c, cap, c->told_at);
}

void aoi_picture_shrink(aoi_client *c) {
    uint32_t cap = picture_room(c->count + c->count / 8 + 1);
    if (c->cap < 64 || c->count > c->cap / 4) return;
    if (cap <= INDEXED_FROM && c->index) picture_drop_index(c);
    (void)picture_relay(c, cap, c->told_at);
}

void aoi_picture_free(aoi_client *c) {
    picture_free_arrays(c);
    picture_drop_index(c);
    AOI_CLEAR(aoi_sync_memory(c->sync), c->since, c->since_cap);
    c->tracks = c->told_at = NULL;
    c->flags = NULL;
    c->cap = c->count = c->told = 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

uint32_t aoi_picture_find(const aoi_client *c, uint32_t track) {
    if (c->index) return c->count ? c->index[picture_place(c, track)] : AOI_NONE;
    uint32_t i = aoi_lanes_find(c->tracks, picture_room(c->count), track);
    return i < c->count ? i : AOI_NONE;
}

void aoi_picture_swap(aoi_client *c, uint32_t i, uint32_t k) {
    if (i == k) return;
    if (c->index) {
        uint32_t a = picture_place(c, c->tracks[i]), b = picture_place(c, c->tracks[k]);
        c->index[a] = k;
        c->index[b] = i;
    }
    uint32_t track = c->tracks[i];
    uint8_t flags = c->flags[i];
    c->tracks[i] = c->tracks[k];
    c->tracks[k] = track;
    c->flags[i] = c->flags[k];
    c->flags[k] = flags;
    if (c->told_at) {
        uint32_t told_at = c->told_at[i];
        c->told_at[i] = c->told_at[k];
        c->told_at[k] = told_at;
    }
    if (i < c->since_cap && k < c->since_cap) {
        uint16_t since = c->since[i];
        c->since[i] = c->since[k];
        c->since[k] = since;
    }
}

uint32_t aoi_picture_append(aoi_client *c, uint32_t track, int flags) {
    if (!picture_ready(c)) return AOI_NONE;
    uint32_t i = c->count;
    c->tracks[i] = track;
    c->flags[i] = (uint8_t)flags;
    aoi_record_starts(c, i);
    if (c->index) c->index[picture_place(c, track)] = i;
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
    if (c->index) picture_unindex(c, last);
    c->count--;
    y->tracks[track].refs--;
    aoi_track_release(y, track);
}

void aoi_picture_tell(aoi_client *c, uint32_t record) {
    aoi_track_add_knower(c->sync, c->tracks[record], c->number);
    aoi_picture_swap(c, record, c->told);
    if (c->told < c->since_cap) c->since[c->told] = (uint16_t)c->sync->now;
    c->told++;
}

void aoi_picture_untell(aoi_client *c, uint32_t record) {
    aoi_track_remove_knower(c->sync, c->tracks[record], c->number);
    c->flags[record] &= AOI_RECORD_SEEN | AOI_RECORD_SAW | AOI_RECORD_PIN;
    aoi_picture_swap(c, record, --c->told);
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

void aoi_client_queue(aoi_client *c, uint32_t tick) {
    aoi_sync *y = c->sync;
    c->queued = true;
    c->queued_for = tick;
    c->next = NULL;
    c->previous = y->last;
    if (y->last) y->last->next = c;
    else y->first = c;
    y->last = c;
}

void aoi_client_unqueue(aoi_client *c) {
    aoi_sync *y = c->sync;
    if (c->previous) c->previous->next = c->next;
    else y->first = c->next;
    if (c->next) c->next->previous = c->previous;
    else y->last = c->previous;
    c->queued = false;
}
