/* adopt.c - a client that comes from the synchroniser of another space, with its picture.
 *
 *   known, in this space too     a known record; its position is sent again, as it may have moved on the way
 *   known, and gone meanwhile    a track that is dead: the next message says so
 *   seen here, and not known     appears, as with any client */
#include "sync/sync.h"

/* Not for tracks that the picture has already; false: memory refused. */
static bool adopt_track(aoi_client *c, uint32_t track) {
    aoi_sync *y = c->sync;
    if (track == AOI_NONE) return false;
    if (aoi_picture_find(c, track) != AOI_NONE) return true;
    bool room =
        aoi_track_reserve_knower(y, track, c->number) && (!c->tiers || aoi_picture_since_ready(c, c->known + 1));
    uint32_t record = room ? aoi_picture_append(c, track, 0) : AOI_NONE;
    if (record == AOI_NONE) {
        aoi_track_release(y, track);
        return false;
    }
    aoi_picture_know(c, record);
    if (y->tracks[track].flags & AOI_TRACK_FRESH) y->tracks[track].moved = y->now + 1; /* the next tick */
    return true;
}

int aoi_sync_adopt(aoi_sync *y, aoi_entity client, const int64_t *known, size_t count, const int64_t *gone,
                   size_t gone_count) {
    aoi_client *c = aoi_client_of(y, client);
    bool done = true;
    if (!c) return AOI_EGONE;
    if (!c->anew || c->known) return AOI_EVALUE;
    for (size_t i = 0; i < count && done; i++) {
        uint32_t slot = aoi_slot_of_id(y->space, known[i]);
        done = adopt_track(c, slot == AOI_NONE ? aoi_track_gone(y, known[i]) : aoi_track_ready(y, slot));
    }
    for (size_t i = 0; i < gone_count && done; i++) done = adopt_track(c, aoi_track_gone(y, gone[i]));
    if (!done) {
        (void)aoi_sync_resend(y, client);
        return AOI_ENOMEM;
    }
    c->anew = false;
    aoi_client_changed(c);
    return AOI_OK;
}
