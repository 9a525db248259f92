/* sightings.c - applies the sightings of clients' nodes (core/plugin_hook.h) to pictures.  Tracks name targets. */
#include "sync/sync.h"

enum { BYTES_AT_MOST = 512 }; /* prefetched of a picture */

static bool picture_enter(aoi_client *c, uint32_t i, uint32_t track) {
    if (i == AOI_NONE) return aoi_picture_append(c, track, AOI_RECORD_SEEN) != AOI_NONE;
    c->flags[i] |= AOI_RECORD_SEEN;
    c->unseen--;
    return true;
}

static void picture_leave(aoi_client *c, uint32_t i) {
    if (i >= c->known && !(c->flags[i] & (AOI_RECORD_SAW | AOI_RECORD_PIN))) {
        aoi_picture_drop(c, i);
        return;
    }
    c->flags[i] &= (uint8_t)~AOI_RECORD_SEEN;
    c->unseen++;
}

/* A view of the client begins or ceases to see the target.  A target is seen if any view sees it.  Only this function
 * adds seen records to pictures. */
static bool picture_see(aoi_client *c, uint32_t view, uint32_t track, bool enters) {
    const uint8_t bit = (uint8_t)(1u << view);
    uint32_t i = c->unseen || !enters || c->sees ? aoi_picture_find(c, track) : AOI_NONE;
    bool was = c->sees && i != AOI_NONE && c->sees[i] & ~bit; /* by another view */
    if (enters && !was && !picture_enter(c, i, track)) return false;
    if (enters && c->sees) c->sees[i == AOI_NONE ? c->count - 1 : i] |= bit;
    if (!enters && c->sees) c->sees[i] &= (uint8_t)~bit;
    if (!enters && !was) picture_leave(c, i);
    aoi_client_changed(c);
    return true;
}

bool aoi_view_sighting(aoi_plugin_node *view, uint32_t track, bool enters) {
    const aoi_client_view *v = (const aoi_client_view *)view;
    return !aoi_view_client(v) || picture_see(aoi_view_client(v), v->index, track, enters);
}

/* Ends and frees a view whose node is freed.  The end of the first view ends the client. */
void aoi_view_end(aoi_plugin_node *view) {
    aoi_client_view *v = (aoi_client_view *)view;
    aoi_client *c = aoi_view_client(v);
    aoi_sync *y = (aoi_sync *)v->head.plugin;
    if (!v->index) {
        aoi_client_end(c);
        return;
    }
    for (uint32_t i = c ? c->count : 0; i-- > 0;)
        if (c->sees[i] >> v->index & 1) (void)picture_see(c, v->index, c->tracks[i], false);
    aoi_client_view **link = c ? &c->view.next : &y->ended_views;
    while (*link != v) link = &(*link)->next;
    *link = v->next;
    AOI_FREE(aoi_sync_memory(y), v, 1);
}

void aoi_view_prefetch(const aoi_plugin_node *view, uint32_t track, bool picture) {
    const aoi_client *c = aoi_view_client((const aoi_client_view *)view);
    if (!c) return;
    AOI_PREFETCH(c->sync->tracks + track);
    for (uint32_t k = 0; picture && k <= c->cap + 4 * c->count && k < BYTES_AT_MOST; k += AOI_CACHE_LINE)
        AOI_PREFETCH(c->flags + k);
}

/* `view` is the address of the view, which the sight was given with the node. */
static bool sink_see(uint64_t view, uint32_t target, uint32_t *track, bool enters) {
    const aoi_client_view *v = (const aoi_client_view *)(uintptr_t)view;
    aoi_client *c = aoi_view_client(v);
    if (!c) return true;
    if (!enters) return picture_see(c, v->index, *track, false);
    *track = aoi_track_ready(c->sync, target);
    if (*track == AOI_NONE) return false;
    if (picture_see(c, v->index, *track, true)) return true;
    aoi_track_release(c->sync, *track);
    return false;
}

static void sink_end(uint64_t view) {
    aoi_view_end((aoi_plugin_node *)(uintptr_t)view);
}

const aoi_sight_sink aoi_client_sink = {sink_see, sink_end};

bool aoi_view_saw(const aoi_plugin_node *view, uint32_t target) {
    const aoi_client_view *v = (const aoi_client_view *)view;
    const aoi_client *c = aoi_view_client(v);
    if (!c) return false;
    uint32_t track = aoi_track_of(c->sync, target), i = track == AOI_NONE ? AOI_NONE : aoi_picture_find(c, track);
    if (i == AOI_NONE) return false;
    return c->sees ? c->saw[i] >> v->index & 1 : c->flags[i] & AOI_RECORD_SAW;
}
