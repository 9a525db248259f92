/* sync_check.c - verifies the pictures of a synchroniser against the rule, and against the lists of knowers. */
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
    const aoi_track *t = y->tracks + c->tracks[i];
    const bool dead = t->flags & AOI_TRACK_DEAD, sees = !dead && client_sees(c, t->entity);
    uint32_t known = 0;
    for (uint32_t k = 0; k < t->knower_count; k++) known += t->knowers[k] == c->number;
    if (known != (i < c->known))
        return aoi_wrong(y->space, "entity %lld has a wrong list of knowers", (long long)t->id);
    if (!(dead && y->sight) && sees != ((c->flags[i] & AOI_RECORD_SEEN) != 0))
        return aoi_wrong(y->space, "client %lld has %lld wrongly as seen or not", (long long)aoi_client_id(c),
                         (long long)t->id);
    if (c->told && c->told[i] != AOI_NONE && c->told[i] != c->track &&
        (i >= c->known || aoi_picture_find(c, c->told[i]) >= c->known))
        return aoi_wrong(y->space, "client %lld knows a rider without its carrier", (long long)aoi_client_id(c));
    return NULL;
}

static const char *check_client(const aoi_client *c) {
    const aoi_records *r = &c->sync->space->records;
    const char *wrong = NULL;
    for (uint32_t i = 0; i < c->count && !wrong; i++) wrong = check_record(c, i);
    for (uint32_t e = 0; e < r->entity_top && !wrong; e++) {
        if (!aoi_is_live(r->entities[e].generation) || e == aoi_client_entity(c) || !client_sees(c, e)) continue;
        const uint32_t track = aoi_track_of(c->sync, e);
        if (track == AOI_NONE || aoi_picture_find(c, track) == AOI_NONE)
            wrong = aoi_wrong(c->sync->space, "client %lld misses what it sees", (long long)aoi_client_id(c));
    }
    return wrong;
}

const char *aoi_sync_check(const aoi_plugin *plugin) {
    const aoi_sync *y = (const aoi_sync *)plugin;
    const char *wrong = NULL;
    for (uint32_t k = 0; k < y->client_top && !wrong; k++)
        if (y->clients[k]) wrong = check_client(y->clients[k]);
    return wrong;
}
