/* sightings.c - events of the clients' nodes (core/sync_hook.h), and what they change in pictures.
 *
 *   as they come      [ 7 -> 3 | 2 <- 9 | 7 <- 1 | 4 -> 3 | 7 -> 5 ]     node, enters or leaves, track
 *   when a tick       [ 2 <- 9 | 4 -> 3 | 7 -> 3 | 7 <- 1 | 7 -> 5 ]     by node: what is one client's lies together
 *   begins            [   ..   2 ..     4 ..                       ]     where the sightings of each node end
 *
 * A tick applies those of a client right before its message is packed: then the picture comes into the cache once for
 * both.  Whatever adds further sightings meanwhile, or needs all pictures as they are, has all of them applied. */
#include "sync/sync.h"

enum { NODES_AHEAD = 24, CLIENTS_AHEAD = 16, RECORDS_AHEAD = 8 }; /* sightings whose memory is prefetched */
enum { BYTES_AT_MOST = 512 };                                     /* of a picture, that are */
enum { SIGHTINGS_KEPT = 1024 };                                   /* there is room for so many when none waits */
enum { NODES_A_SIGHTING = 16 }; /* where there are more, sorting costs more than it saves */

/* ---- one ---------------------------------------------------------------------------------------------------------- */

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

/* Of the only synchroniser, as a rule: then the client is not looked at. */
uint32_t aoi_node_track(const aoi_space *s, uint32_t node, uint32_t target) {
    aoi_sync *y = s->syncs;
    if (y->next) y = aoi_client_from(s->world.areas[node].user_data)->sync;
    return aoi_track_ready(y, target);
}

/* NULL: it is applied already, or the node has been removed since. */
static aoi_client *client_of_sighting(const aoi_space *s, uint32_t i) {
    uint32_t node = s->sightings[i].node;
    bool is = s->sightings[i].track != AOI_SIGHTING_DONE && s->world.nodes[node].flags & AOI_NODE_SYNC;
    return is ? aoi_client_from(s->world.areas[node].user_data) : NULL;
}

/* False when memory is refused: then it still waits. */
static bool apply_sighting(aoi_client *c, aoi_sighting *sighting) {
    if (!sighting->enters) picture_leave(c, sighting->track);
    else if (!picture_enter(c, sighting->track)) return false;
    sighting->track = AOI_SIGHTING_DONE;
    return true;
}

/* ---- by node ------------------------------------------------------------------------------------------------------ */

/* A counting sort, which leaves where those of each node end.  False if it does not pay or memory is refused. */
static bool sort_sightings(aoi_space *s) {
    aoi_world *w = &s->world;
    uint32_t n = s->sighting_count, at = 0;
    if (n < w->node_top / NODES_A_SIGHTING ||
        !AOI_GROW(&w->memory, s->sighting_ends, s->sighting_end_cap, w->node_top + (size_t)1))
        return false;
    aoi_sighting *sorted = aoi_resize(&w->memory, NULL, 0, n * sizeof *sorted);
    if (!sorted) return false;
    uint32_t *ends = s->sighting_ends;
    memset(ends, 0, w->node_top * sizeof *ends);
    for (uint32_t i = 0; i < n; i++) ends[s->sightings[i].node]++;
    for (uint32_t k = 0; k < w->node_top; k++) {
        uint32_t count = ends[k];
        ends[k] = at;
        at += count;
    }
    for (uint32_t i = 0; i < n; i++) sorted[ends[s->sightings[i].node]++] = s->sightings[i];
    AOI_FREE(&w->memory, s->sightings, s->sighting_cap);
    s->sightings = sorted;
    s->sighting_cap = n;
    return true;
}

/* All are in the pictures. */
static void forget_sightings(aoi_space *s) {
    s->sighting_count = s->sightings_sorted = s->sightings_left = 0;
    if (s->sighting_cap > SIGHTINGS_KEPT) AOI_CLEAR(&s->world.memory, s->sightings, s->sighting_cap);
}

bool aoi_syncs_group(aoi_space *s) {
    if ((s->sightings_sorted && !aoi_syncs_see(s)) || !s->sighting_count) return !s->sighting_count;
    if (!sort_sightings(s)) return aoi_syncs_see(s);
    for (uint32_t i = 0; i < s->sighting_count; i = s->sighting_ends[s->sightings[i].node]) {
        aoi_client *c = client_of_sighting(s, i);
        if (c) aoi_client_changed(c);
    }
    s->sightings_sorted = s->sightings_left = s->sighting_count;
    s->sighting_nodes = s->world.node_top;
    return true;
}

static uint32_t group_begin(const aoi_space *s, uint32_t node) {
    return node ? s->sighting_ends[node - 1] : 0;
}

static void prefetch_group(const aoi_client *c) {
    const aoi_space *s = c->sync->space;
    if (c->node >= s->sighting_nodes) return;
    for (uint32_t i = group_begin(s, c->node); i < s->sighting_ends[c->node]; i++)
        if (s->sightings[i].track != AOI_SIGHTING_DONE) AOI_PREFETCH(c->sync->tracks + s->sightings[i].track);
}

bool aoi_client_see(aoi_client *c) {
    aoi_space *s = c->sync->space;
    if (s->sighting_count > s->sightings_sorted) return aoi_syncs_see(s);
    if (!s->sighting_count || c->node >= s->sighting_nodes) return true;
    if (c->next != AOI_NONE) prefetch_group(aoi_client_next(c));
    for (uint32_t i = group_begin(s, c->node); i < s->sighting_ends[c->node]; i++) {
        if (s->sightings[i].track == AOI_SIGHTING_DONE) continue;
        if (!apply_sighting(c, s->sightings + i)) return false;
        s->sightings_left--;
    }
    if (!s->sightings_left) forget_sightings(s);
    return true;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* In three steps: the node, its client, the picture. */
static void prefetch_sightings(const aoi_space *s, uint32_t i) {
    if (i + NODES_AHEAD < s->sighting_count) {
        AOI_PREFETCH(s->world.nodes + s->sightings[i + NODES_AHEAD].node);
        AOI_PREFETCH(s->world.areas + s->sightings[i + NODES_AHEAD].node);
    }
    const aoi_client *c = i + CLIENTS_AHEAD < s->sighting_count ? client_of_sighting(s, i + CLIENTS_AHEAD) : NULL;
    if (c) {
        AOI_PREFETCH(c);
        AOI_PREFETCH((const char *)c + AOI_CACHE_LINE);
    }
    c = i + RECORDS_AHEAD < s->sighting_count ? client_of_sighting(s, i + RECORDS_AHEAD) : NULL;
    if (!c) return;
    AOI_PREFETCH(c->sync->tracks + s->sightings[i + RECORDS_AHEAD].track);
    if (s->sightings[i + RECORDS_AHEAD].node == s->sightings[i + RECORDS_AHEAD - 1].node) return;
    for (uint32_t k = 0; k <= c->cap + 2 * c->count && k < BYTES_AT_MOST; k += AOI_CACHE_LINE)
        AOI_PREFETCH(c->flags + k);
}

bool aoi_syncs_see(aoi_space *s) {
    if (!s->sighting_count) return true;
    if (!s->sightings_sorted || s->sighting_count > s->sightings_sorted) (void)sort_sightings(s);
    s->sightings_sorted = s->sightings_left = 0;
    for (uint32_t i = 0; i < s->sighting_count; i++) {
        prefetch_sightings(s, i);
        aoi_client *c = client_of_sighting(s, i);
        if (c && !apply_sighting(c, s->sightings + i)) return false;
    }
    forget_sightings(s);
    return true;
}

bool aoi_client_saw(const aoi_client *c, uint32_t target) {
    uint32_t track = aoi_track_of(c->sync, target), i = track == AOI_NONE ? AOI_NONE : aoi_picture_find(c, track);
    return i != AOI_NONE && (c->flags[i] & AOI_RECORD_SAW);
}
