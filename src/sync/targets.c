/* targets.c - what the host says of targets: priorities, for all clients or one, and teams. */
#include "sync/sync.h"

/* ---- ranks of one client ----------------------------------------------------------------------------------------- */

static bool is_rank(const aoi_client *c, uint32_t k, uint32_t track) {
    return k < c->rank_count && c->ranks[k].track == track;
}

/* Ends the rank of a track if its priority is that of all others. */
static void settle_rank(aoi_sync *y, uint32_t track) {
    const aoi_track_rank *r = y->priorities + track;
    aoi_track *t = y->tracks + track;
    if (r->priority != 1 || r->uses) t->flags |= AOI_TRACK_RANKED;
    else t->flags &= AOI_TRACK_FLAGS ^ AOI_TRACK_RANKED;
    aoi_track_spot(y, track);
    aoi_track_release(y, track);
    y->reranked = true;
    y->changes++;
}

static void rank_drop(aoi_client *c, uint32_t k) {
    const uint32_t track = c->ranks[k].track;
    memmove(c->ranks + k, c->ranks + k + 1, (--c->rank_count - k) * sizeof *c->ranks);
    c->sync->priorities[track].uses--;
    if (!(c->sync->tracks[track].flags & AOI_TRACK_DEAD)) settle_rank(c->sync, track);
}

void aoi_ranks_end(aoi_sync *y, uint32_t track) {
    for (uint32_t n = 0; n < y->client_top && y->priorities[track].uses; n++) {
        aoi_client *c = y->clients[n];
        const uint32_t k = c ? aoi_rank_place(c, track) : 0;
        if (c && is_rank(c, k, track)) rank_drop(c, k);
    }
}

void aoi_client_drop_ranks(aoi_client *c) {
    while (c->rank_count) rank_drop(c, c->rank_count - 1);
}

/* ---- priorities and teams ---------------------------------------------------------------------------------------- */

/* The track of a target that gets a priority, with room for it; AOI_NONE: memory refused. */
static uint32_t ranked_track(aoi_sync *y, uint32_t slot) {
    const uint32_t t = aoi_track_ready(y, slot);
    if (t != AOI_NONE && !AOI_GROW(aoi_sync_memory(y), y->priorities, y->priority_cap, y->track_top)) {
        aoi_track_release(y, t);
        return AOI_NONE;
    }
    if (t != AOI_NONE && !(y->tracks[t].flags & AOI_TRACK_RANKED)) y->priorities[t] = (aoi_track_rank){1, 0};
    return t;
}

int aoi_sync_set_priority(aoi_sync *y, aoi_entity target, double priority) {
    const uint32_t slot = aoi_entity_slot(y->space, target);
    if (!(priority > 0) || isinf(priority)) return AOI_EVALUE;
    if (slot == AOI_NONE) return AOI_EGONE;
    uint32_t t = aoi_track_of(y, slot);
    if (priority == 1 && (t == AOI_NONE || !(y->tracks[t].flags & AOI_TRACK_RANKED))) return AOI_OK;
    if ((t = ranked_track(y, slot)) == AOI_NONE) return AOI_ENOMEM;
    y->priorities[t].priority = priority;
    settle_rank(y, t);
    return AOI_OK;
}

int aoi_sync_set_priority_for(aoi_sync *y, aoi_entity client, aoi_entity target, double priority) {
    aoi_client *c = aoi_client_of(y, client);
    const uint32_t slot = aoi_entity_slot(y->space, target);
    uint32_t t = aoi_track_of(y, slot), k = c && t != AOI_NONE ? aoi_rank_place(c, t) : 0;
    if (!(priority >= 0) || isinf(priority)) return AOI_EVALUE;
    if (!c || slot == AOI_NONE) return AOI_EGONE;
    const bool is = t != AOI_NONE && is_rank(c, k, t);
    if (priority == 0 && is) rank_drop(c, k);
    if (priority == 0) return AOI_OK;
    if (!is && !AOI_GROW(aoi_sync_memory(y), c->ranks, c->rank_cap, c->rank_count + (size_t)1)) return AOI_ENOMEM;
    if ((t = ranked_track(y, slot)) == AOI_NONE) return AOI_ENOMEM;
    k = aoi_rank_place(c, t);
    if (!is) memmove(c->ranks + k + 1, c->ranks + k, (c->rank_count++ - k) * sizeof *c->ranks);
    y->priorities[t].uses += !is;
    c->ranks[k] = (aoi_rank){priority, t};
    settle_rank(y, t);
    return AOI_OK;
}

int aoi_sync_set_team(aoi_sync *y, aoi_entity entity, int64_t team) {
    const uint32_t slot = aoi_entity_slot(y->space, entity);
    uint32_t t = aoi_track_of(y, slot);
    if (slot == AOI_NONE) return AOI_EGONE;
    if (team == (t == AOI_NONE ? 0 : aoi_team_of(y, t))) return AOI_OK;
    if ((t = aoi_track_ready(y, slot)) == AOI_NONE) return AOI_ENOMEM;
    const int64_t none = 0;
    if (!AOI_GROW_FILLED(aoi_sync_memory(y), y->teams, y->team_cap, t + (size_t)1, &none)) {
        aoi_track_release(y, t);
        return AOI_ENOMEM;
    }
    y->teams[t] = team;
    if (team) y->tracks[t].flags |= AOI_TRACK_TEAMED;
    else y->tracks[t].flags &= AOI_TRACK_FLAGS ^ AOI_TRACK_TEAMED;
    aoi_state_turned(y, t);
    aoi_track_release(y, t);
    y->changes++;
    return AOI_OK;
}
