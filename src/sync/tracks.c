/* tracks.c - entities that clients know or see (sync.h), and their news. */
#include "sync/sync.h"

enum { TRACK_ENTITIES_AHEAD = 8, LEAST_KNOWERS = 4, MOST_KNOWERS = 1 << 24 };

/* ---- life -------------------------------------------------------------------------------------------------------- */

uint32_t aoi_track_of(const aoi_sync *y, uint32_t entity) {
    return entity < y->track_of_cap ? y->track_of[entity] : AOI_NONE;
}

static bool spots_ready(aoi_sync *y, size_t need) {
    aoi_memory *m = aoi_sync_memory(y);
    return AOI_GROW(m, y->spots, y->spot_cap, need) &&
           (y->space->records.dims == 2 || AOI_GROW(m, y->heights, y->height_cap, need));
}

/* Each track also reserves an entry in movers, so that a move cannot fail. */
static bool track_arrays_ready(aoi_sync *y) {
    aoi_memory *m = aoi_sync_memory(y);
    size_t need = y->track_top + (size_t)1;
    return y->free_track != AOI_NONE ||
           (AOI_GROW(m, y->movers, y->mover_cap, need) && AOI_GROW(m, y->knower_caps, y->knower_cap_cap, need) &&
            (!y->measures || spots_ready(y, need)) && AOI_GROW(m, y->listed, y->listed_cap, need) &&
            AOI_GROW_LINES(m, y->tracks, y->track_cap, need));
}

/* p: the position; NULL: unknown. */
static void put_spot(aoi_sync *y, uint32_t track, const double *p) {
    if (!y->measures) return;
    y->spots[track] = p ? (aoi_spot){(float)p[0], (float)p[1]} : (aoi_spot){INFINITY, INFINITY};
    if (y->heights) y->heights[track] = p ? (float)p[2] : 0;
}

/* Room has been reserved. */
static uint32_t track_new(aoi_sync *y, int64_t id, uint32_t entity, uint32_t flags) {
    uint32_t t = y->free_track;
    if (t != AOI_NONE) y->free_track = y->tracks[t].entity;
    else t = y->track_top++;
    y->tracks[t] = (aoi_track){.id = id,
                               .moved = y->now,
                               .touched = y->now,
                               .stated = y->now,
                               .entity = entity,
                               .flags = flags & AOI_TRACK_FLAGS};
    y->knower_caps[t] = 0;
    if (t < y->team_cap) y->teams[t] = 0;
    put_spot(y, t, NULL);
    y->listed[t] = 0;
    return t;
}

uint32_t aoi_track_ready(aoi_sync *y, uint32_t entity) {
    uint32_t t = aoi_track_of(y, entity);
    if (t != AOI_NONE) return t;
    if (!AOI_GROW_FILLED(aoi_sync_memory(y), y->track_of, y->track_of_cap, entity + (size_t)1, &(uint32_t){AOI_NONE}) ||
        !track_arrays_ready(y))
        return AOI_NONE;
    t = track_new(y, y->space->records.entities[entity].id, entity, AOI_TRACK_FRESH);
    y->track_of[entity] = t;
    aoi_track_list(y, t);
    return t;
}

uint32_t aoi_track_gone(aoi_sync *y, int64_t id) {
    if (!track_arrays_ready(y)) return AOI_NONE;
    uint32_t t = track_new(y, id, AOI_NONE, AOI_TRACK_FRESH | AOI_TRACK_DEAD);
    y->tracks[t].touched = 0;
    return t;
}

/* Whether nothing refers to the track, apart from sightings that wait. */
static bool is_idle(const aoi_track *t) {
    return !t->refs && !(t->flags & (AOI_TRACK_RANKED | AOI_TRACK_TEAMED));
}

static void track_free(aoi_sync *y, uint32_t track) {
    aoi_track *t = y->tracks + track;
    if (!(t->flags & AOI_TRACK_DEAD)) y->track_of[t->entity] = AOI_NONE;
    aoi_state_free(y, track);
    aoi_track_free_knowers(y, track);
    t->knowers = NULL;
    t->knower_count = 0;
    t->flags = AOI_TRACK_FREE;
    t->entity = y->free_track;
    y->knower_caps[track] = 0;
    y->listed[track] = 0;
    y->free_track = track;
}

/* Sightings that wait may refer to the track: it is freed at the end of a tick, if nothing refers to it then. */
void aoi_track_release(aoi_sync *y, uint32_t track) {
    aoi_track *t = y->tracks + track;
    if (!is_idle(t)) return;
    if (y->stands_in) track_free(y, track);
    else aoi_track_list(y, track);
}

static void track_end(aoi_sync *y, uint32_t track) {
    aoi_track *t = y->tracks + track;
    const bool ranked = t->flags & AOI_TRACK_RANKED;
    y->track_of[t->entity] = AOI_NONE;
    t->entity = AOI_NONE;
    if (!aoi_state_end(y, track)) aoi_state_free(y, track);
    t->touched = y->space->because ? y->space->because - 1u : 0;
    t->flags = (t->flags & (AOI_TRACK_FLAGS ^ (AOI_TRACK_RANKED | AOI_TRACK_TEAMED))) | AOI_TRACK_DEAD;
    for (uint32_t i = 0; i < t->knower_count; i++) aoi_client_changed(y->clients[t->knowers[i]]);
    y->changes++;
    if (ranked) aoi_ranks_end(y, track);
    aoi_track_release(y, track);
}

void aoi_tracks_left(aoi_plugin *plugin, uint32_t entity) {
    aoi_sync *y = (aoi_sync *)plugin;
    uint32_t t = aoi_track_of(y, entity);
    if (t != AOI_NONE) track_end(y, t);
}

/* ---- clients that know it ---------------------------------------------------------------------------------------- */

void aoi_track_free_knowers(aoi_sync *y, uint32_t track) {
    aoi_resize(aoi_sync_memory(y), y->tracks[track].knowers, y->knower_caps[track] * sizeof(uint32_t), 0);
}

/* Grows by a sixteenth: lists are many and mostly of a steady size. */
bool aoi_track_reserve_knower(aoi_sync *y, uint32_t track) {
    aoi_track *t = y->tracks + track;
    const uint32_t cap = y->knower_caps[track], more = cap + cap / 16 + LEAST_KNOWERS;
    if (t->knower_count < cap) return true;
    uint32_t *knowers = aoi_resize(aoi_sync_memory(y), t->knowers, cap * sizeof *knowers, more * sizeof *knowers);
    if (!knowers) return false;
    t->knowers = knowers;
    y->knower_caps[track] = more;
    return true;
}

void aoi_track_add_knower(aoi_sync *y, uint32_t track, uint32_t client) {
    aoi_track *t = y->tracks + track;
    t->knowers[t->knower_count++] = client;
}

void aoi_track_remove_knower(aoi_sync *y, uint32_t track, uint32_t client) {
    aoi_track *t = y->tracks + track;
    const uint32_t last = t->knower_count - 1u;
    t->knowers[aoi_lanes_find(t->knowers, last, client)] = t->knowers[last];
    t->knower_count = last & (MOST_KNOWERS - 1);
}

/* ---- news -------------------------------------------------------------------------------------------------------- */

void aoi_track_list(aoi_sync *y, uint32_t track) {
    if (y->listed[track] || y->stands_in) return;
    y->listed[track] = 1;
    y->movers[y->mover_count++] = track;
}

void aoi_tracks_moved(aoi_plugin *plugin, uint32_t entity) {
    aoi_sync *y = (aoi_sync *)plugin;
    uint32_t t = aoi_track_of(y, entity);
    if (t != AOI_NONE) aoi_track_list(y, t);
}

void aoi_tracks_touched(aoi_plugin *plugin, uint32_t entity) {
    aoi_sync *y = (aoi_sync *)plugin;
    uint32_t t = aoi_track_of(y, entity);
    if (t == AOI_NONE) return;
    y->tracks[t].flags |= AOI_TRACK_TOUCHED;
    aoi_track_list(y, t);
}

/* -0 is sent as 0, so that positions are equal if and only if their bytes are. */
bool aoi_round_position(const aoi_sync *y, const double *pos, aoi_wire_place *at) {
    const bool quanta = y->quantum > 0;
    double rounded[3];
    bool wide = false, fits[3];
    int dims = y->space->records.dims;
    *at = (aoi_wire_place){{0}};
    for (int a = 0; a < dims; a++) {
        rounded[a] = quanta ? floor(pos[a] / y->quantum + 0.5) : (double)((float)pos[a] + 0.0f);
        fits[a] =
            quanta ? fabs(rounded[a]) <= AOI_WIRE_QUANTA && isfinite(y->quantum * rounded[a]) : isfinite(rounded[a]);
        wide |= !fits[a];
    }
    for (int a = 0; a < dims; a++) {
        if (wide) at->bits[a] = aoi_bits_of(!fits[a] ? pos[a] : quanta ? y->quantum * rounded[a] : rounded[a]);
        else at->bits[a] = quanta ? (uint64_t)(int64_t)rounded[a] : aoi_float_bits((float)rounded[a]);
    }
    return wide;
}

void aoi_track_spot(aoi_sync *y, uint32_t track) {
    const aoi_track *t = y->tracks + track;
    if (!y->measures) return;
    const double *p = aoi_position_now(y->space, t->entity);
    y->far = fmax(y->far, fmax(fabs(p[0]), fabs(p[1])));
    if (y->space->records.dims == 3) y->far = fmax(y->far, fabs(p[2]));
    put_spot(y, track, t->flags & AOI_TRACK_RANKED ? NULL : p);
}

/* Fresh tracks get their spot when they are located. */
bool aoi_tracks_measure(aoi_sync *y) {
    if (y->measures) return true;
    if (!spots_ready(y, y->track_top + (size_t)1)) return false;
    y->measures = true;
    for (uint32_t t = 0; t < y->track_top; t++) {
        if (y->tracks[t].flags & (AOI_TRACK_FREE | AOI_TRACK_DEAD | AOI_TRACK_FRESH)) put_spot(y, t, NULL);
        else aoi_track_spot(y, t);
    }
    return true;
}

bool aoi_track_relocate(aoi_sync *y, uint32_t track) {
    aoi_track *t = y->tracks + track;
    aoi_wire_place at;
    const double *offset = y->riders ? aoi_rider_offset(y, t->entity) : NULL;
    bool wide = aoi_round_position(y, offset ? offset : aoi_position_now(y->space, t->entity), &at);
    aoi_track_spot(y, track);
    if (offset) t->flags |= AOI_TRACK_RIDER;
    bool same = !memcmp(&at, &t->at, sizeof at) && wide == ((t->flags & AOI_TRACK_WIDE) != 0);
    t->at = at;
    t->flags &= AOI_TRACK_FLAGS ^ (AOI_TRACK_WIDE | AOI_TRACK_FRESH);
    if (wide) t->flags |= AOI_TRACK_WIDE;
    if (wide || (t->flags & AOI_TRACK_RIDER && !same)) y->odd = y->now;
    return !same;
}

static void queue_knowers(aoi_sync *y, uint32_t track) {
    const aoi_track *t = y->tracks + track;
    if (t->moved != y->now && t->touched != y->now && t->stated != y->now) return;
    for (uint32_t i = 0; i < t->knower_count; i++) {
        aoi_client *c = y->clients[t->knowers[i]];
        if (!c->queued) aoi_client_queue(c, y->now);
    }
}

/* If many entities have moved, nearly all clients have news: `all` queues them without walking the lists of knowers. */
static void queue_clients(aoi_sync *y, bool all) {
    for (uint32_t k = 0; k < y->client_top; k++) {
        aoi_client *c = y->clients[k];
        if (c && !c->queued && (all ? c->known > 0 || c->overflow : c->overflow)) aoi_client_queue(c, y->now);
    }
}

/* Idle tracks stay in the list until the end of the tick, which frees them. */
static void unlist_movers(aoi_sync *y) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < y->mover_count; i++) {
        if (is_idle(y->tracks + y->movers[i])) y->movers[kept++] = y->movers[i];
        else y->listed[y->movers[i]] = 0;
    }
    y->mover_count = kept;
}

/* Whether public fields of the track have changed; changed `own` fields queue the entity's own client. */
static bool state_news(aoi_sync *y, uint32_t track) {
    aoi_state *s = track < y->state_cap ? y->states[track] : NULL;
    const uint32_t news = s ? s->news : 0, entity = y->tracks[track].entity;
    if (!news) return false;
    s->news = 0;
    if (news & AOI_NEWS_OWN) {
        aoi_client *c = aoi_client_of(y, (aoi_entity){entity, y->space->records.entities[entity].generation});
        if (c && c->self) {
            c->own_news = true;
            if (!c->queued) aoi_client_queue(c, y->now);
        }
    }
    return news & AOI_NEWS_PUBLIC;
}

void aoi_track_catch_up(aoi_sync *y) {
    uint32_t news = 0;
    const aoi_entity_record *entities = y->space->records.entities;
    for (uint32_t i = 0; i < y->mover_count; i++) {
        aoi_track *t = y->tracks + y->movers[i];
        if (i + TRACK_ENTITIES_AHEAD < y->mover_count) {
            uint32_t ahead = y->tracks[y->movers[i + TRACK_ENTITIES_AHEAD]].entity;
            if (ahead != AOI_NONE) AOI_PREFETCH(entities + ahead);
        }
        if (t->flags & AOI_TRACK_DEAD) continue;
        bool fresh = t->flags & AOI_TRACK_FRESH, moved = aoi_track_relocate(y, y->movers[i]),
             touched = t->flags & AOI_TRACK_TOUCHED;
        t->flags &= AOI_TRACK_FLAGS ^ AOI_TRACK_TOUCHED;
        if (moved && !fresh) t->moved = y->now;
        if (touched) t->touched = y->odd = y->now;
        bool stated = y->field_count && state_news(y, y->movers[i]);
        if (stated) t->stated = y->odd = y->now;
        news += (moved || touched || stated) && t->knower_count;
    }
    bool any = y->mover_count > 0 || y->reranked, all = news > y->track_top / 8;
    if (all || (any && y->overflows)) queue_clients(y, all);
    for (uint32_t i = 0; i < y->mover_count && !all; i++) queue_knowers(y, y->movers[i]);
    unlist_movers(y);
    y->reranked = false;
}

void aoi_tracks_sweep(aoi_sync *y) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < y->mover_count; i++) {
        if (is_idle(y->tracks + y->movers[i])) track_free(y, y->movers[i]);
        else y->movers[kept++] = y->movers[i];
    }
    y->mover_count = kept;
}
