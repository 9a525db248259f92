/* sightings.c - what the clients' nodes see (core/layer_hook.h), and what it changes in pictures.  Targets are named by
 * their tracks. */
#include "sync/sync.h"

enum { BYTES_AT_MOST = 512 }; /* of a picture, that are prefetched */

static bool picture_enter(aoi_client *c, uint32_t track) {
    uint32_t i = c->unseen ? aoi_picture_find(c, track) : AOI_NONE;
    if (i == AOI_NONE) {
        if (aoi_picture_append(c, track, AOI_RECORD_SEEN) == AOI_NONE) return false;
    } else {
        c->flags[i] |= AOI_RECORD_SEEN;
        c->unseen--;
    }
    aoi_client_changed(c);
    return true;
}

static void picture_leave(aoi_client *c, uint32_t track) {
    uint32_t i = aoi_picture_find(c, track);
    aoi_client_changed(c);
    if (i >= c->told && !(c->flags[i] & (AOI_RECORD_SAW | AOI_RECORD_PIN))) {
        aoi_picture_drop(c, i);
        return;
    }
    c->flags[i] &= (uint8_t)~AOI_RECORD_SEEN;
    c->unseen++;
}

bool aoi_client_sighting(aoi_layer_node *client, uint32_t track, bool enters) {
    if (enters) return picture_enter((aoi_client *)client, track);
    picture_leave((aoi_client *)client, track);
    return true;
}

void aoi_client_grouped(aoi_layer_node *client) {
    aoi_client_changed((aoi_client *)client);
}

void aoi_client_prefetch(const aoi_layer_node *client, uint32_t track, bool picture) {
    const aoi_client *c = (const aoi_client *)client;
    AOI_PREFETCH(c->sync->tracks + track);
    for (uint32_t k = 0; picture && k <= c->cap + 2 * c->count && k < BYTES_AT_MOST; k += AOI_CACHE_LINE)
        AOI_PREFETCH(c->flags + k);
}

static bool sink_see(uint64_t client, uint32_t target, uint32_t *track, bool enters) {
    aoi_client *c = (aoi_client *)(uintptr_t)client;
    if (!enters) {
        picture_leave(c, *track);
        return true;
    }
    *track = aoi_track_ready(c->sync, target);
    if (*track == AOI_NONE) return false;
    if (picture_enter(c, *track)) return true;
    aoi_track_release(c->sync, *track);
    return false;
}

static void sink_end(uint64_t client) {
    aoi_client_end((aoi_client *)(uintptr_t)client);
}

const aoi_sight_sink aoi_client_sink = {sink_see, sink_end};

bool aoi_client_saw(const aoi_layer_node *client, uint32_t target) {
    const aoi_client *c = (const aoi_client *)client;
    uint32_t track = aoi_track_of(c->sync, target), i = track == AOI_NONE ? AOI_NONE : aoi_picture_find(c, track);
    return i != AOI_NONE && (c->flags[i] & AOI_RECORD_SAW);
}
