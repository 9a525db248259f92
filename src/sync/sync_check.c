/* sync_check.c - verifies every invariant of a synchroniser, and its pictures against the rule. */
#include "sync/sync.h"

/* Whether the client's node sees the entity; with walls at the last tick, even if it has left. */
static bool view_sees(const aoi_client *c, uint32_t node, uint32_t entity) {
    const aoi_sight *g = c->sync->sight;
    if (!g) return aoi_node_sees(c->sync->space, node, entity);
    const aoi_sight_pair *p = aoi_pair_find(g, aoi_watch_of(g, node), entity);
    return p && p->flags & AOI_PAIR_SEEN;
}

static bool client_sees(const aoi_client *c, uint32_t entity) {
    const aoi_client_view *v = &c->view;
    while (v && !view_sees(c, v->node, entity)) v = v->next;
    return v != NULL;
}

static const char *check_record(const aoi_client *c, uint32_t i) {
    const aoi_sync *y = c->sync;
    const uint32_t track = c->tracks[i];
    const aoi_track *t = y->tracks + track;
    uint32_t known = 0;
    if (track >= y->track_top || t->flags & AOI_TRACK_FREE) return "a picture has a free track";
    if (aoi_picture_find(c, track) != i) return "a record of a picture is not found";
    for (uint32_t k = 0; k < t->knower_count; k++) known += t->knowers[k] == c->number;
    if (c->flags[i] & AOI_RECORD_MARKS && !c->marked) return "a record keeps a mark of an older message";
    if (known != (i < c->known))
        return aoi_wrong(y->space, "entity %lld has a wrong list of knowers", (long long)t->id);
    bool dead = t->flags & AOI_TRACK_DEAD, sees = !dead && client_sees(c, t->entity);
    if (!(dead && y->sight) && sees != ((c->flags[i] & AOI_RECORD_SEEN) != 0))
        return aoi_wrong(y->space, "client %lld has %lld wrongly as seen or not", (long long)aoi_client_id(c),
                         (long long)t->id);
    return NULL;
}

static const char *check_client(const aoi_client *c) {
    const aoi_sync *y = c->sync;
    const aoi_world *w = &y->space->world;
    uint32_t unseen = 0, seen = 0;
    const char *wrong = aoi_picture_check(c);
    if (wrong) return wrong;
    for (uint32_t i = 0; i < c->count && !wrong; i++) {
        wrong = check_record(c, i);
        unseen += !(c->flags[i] & AOI_RECORD_SEEN);
    }
    if (wrong) return wrong;
    for (uint32_t e = 0; e < w->entity_top; e++)
        seen += aoi_is_live(w->entities[e].generation) && e != aoi_client_entity(c) && client_sees(c, e);
    for (uint32_t i = 0; i < c->count && y->sight; i++)
        seen += c->flags[i] & AOI_RECORD_SEEN && y->tracks[c->tracks[i]].flags & AOI_TRACK_DEAD;
    if (unseen != c->unseen) return "a picture counts its records wrongly";
    if (seen != c->count - unseen)
        return aoi_wrong(y->space, "client %lld misses what it sees", (long long)aoi_client_id(c));
    return NULL;
}

static const char *check_tracks(const aoi_sync *y) {
    uint32_t listed = 0;
    size_t refs = 0, records = 0;
    for (uint32_t k = 0; k < y->client_top; k++) records += y->clients[k] ? y->clients[k]->count + 1u : 0;
    for (uint32_t t = 0; t < y->state_cap; t++) records += y->states[t] && !(y->tracks[t].flags & AOI_TRACK_DEAD);
    for (uint32_t t = 0; t < y->track_top; t++) {
        const aoi_track *r = y->tracks + t;
        refs += y->tracks[t].refs;
        listed += y->listed[t];
        if (r->knower_count > y->knower_caps[t]) return "a list of knowers has no room for them";
        if (r->flags & (AOI_TRACK_FREE | AOI_TRACK_DEAD)) continue;
        if (aoi_track_of(y, r->entity) != t || y->space->world.entities[r->entity].id != r->id)
            return aoi_wrong(y->space, "entity %lld is not found by its track", (long long)r->id);
        if (!r->refs && !(r->flags & AOI_TRACK_RANKED) && !y->listed[t]) return "a track is kept for nothing";
    }
    if (refs != records) return "tracks count their records wrongly";
    return listed == y->mover_count ? NULL : "the list of movers is wrong";
}

static const char *check_queue(const aoi_sync *y) {
    uint32_t queued = 0, n = 0, clients = 0, overflows = 0;
    for (uint32_t k = 0; k < y->client_top; k++) {
        const aoi_client *c = y->clients[k];
        if (!c) continue;
        clients++;
        queued += c->queued;
        overflows += c->overflow;
        if (c->changed && !c->queued)
            return aoi_wrong(y->space, "client %lld has news and waits for nothing", (long long)aoi_client_id(c));
    }
    for (const aoi_client *c = y->first; c; c = aoi_client_next(c)) n++;
    if (n != queued || clients != y->client_count || overflows != y->overflows) return "clients are counted wrongly";
    return NULL;
}

const char *aoi_sync_check(const aoi_layer *layer) {
    const aoi_sync *y = (const aoi_sync *)layer;
    const char *wrong = check_tracks(y);
    if (!wrong) wrong = check_queue(y);
    for (uint32_t k = 0; k < y->client_top && !wrong; k++)
        if (y->clients[k]) wrong = check_client(y->clients[k]);
    return wrong;
}
