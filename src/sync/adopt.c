/* adopt.c - a client that comes from the synchroniser of another space, with its picture.
 *
 *   known, in this space too     a known record; its position is sent again, as it may have moved on the way
 *   known, and gone meanwhile    a track that is dead: the next message says so
 *   seen here, and not known     appears, as with any client */
#include "sync/sync.h"

/* The picture may have a record of it that is seen, or pinned, and not known yet.  False: memory refused. */
static bool adopt_track(aoi_client *c, uint32_t track) {
    aoi_sync *y = c->sync;
    if (track == AOI_NONE) return false;
    uint32_t record = aoi_picture_find(c, track);
    if (record < c->known) return true;
    bool room =
        aoi_track_reserve_knower(y, track, c->number) && (!c->tiers || aoi_picture_since_ready(c, c->known + 1));
    if (room && record == AOI_NONE) record = aoi_picture_append(c, track, 0);
    if (!room || record == AOI_NONE) {
        aoi_track_release(y, track);
        return false;
    }
    aoi_picture_know(c, record);
    if (!(y->tracks[track].flags & AOI_TRACK_DEAD)) y->tracks[track].moved = y->now + 1; /* the next tick */
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
