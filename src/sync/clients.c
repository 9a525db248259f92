/* clients.c - synchronisers and their clients: opening, closing, options, pins, questions about pictures. */
#include "sync/sync.h"

#define FIRST_NODE_ID (AOI_PLUGINS_ID - (INT64_C(1) << 51)) /* below what lua/aoi/reserved.lua counts */

enum { MOST_CLIENTS = (1 << 24) - 1 };

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* The most bytes of a message without its records. */
static uint32_t head_bytes(const aoi_sync *y) {
    bool other = y->scale == AOI_SCALE_OTHER;
    const uint32_t origin = y->quantum > 0 ? AOI_WIRE_VARINT53 * (uint32_t)y->space->records.dims : 0;
    return 3u + (other ? AOI_WIRE_DOUBLE : 0u) + origin;
}

uint32_t aoi_sync_least_bytes(const aoi_sync *y) {
    const uint32_t record = AOI_WIRE_ID + AOI_WIRE_KIND + AOI_WIRE_DOUBLE * (uint32_t)y->space->records.dims +
                            (y->riders ? 1u + AOI_WIRE_KIND : 0);
    return head_bytes(y) + 1 + (record > y->piece ? record : y->piece);
}

const char *aoi_relevance_fault(const aoi_sync *y, const aoi_relevance *r) {
    if (r->bytes && r->bytes < aoi_sync_least_bytes(y)) return "'bytes' must hold a record of any size";
    if (r->tier_count > AOI_MOST_TIERS) return "'tiers' must not be more than 16";
    if (r->limit_count > AOI_MOST_LIMITS) return "'limit' must not have more than 16 kinds";
    if (r->limit_count && r->limit) return "'limit' must be one for all kinds, or by kind";
    for (uint32_t i = 0; i < r->limit_count; i++)
        if (r->limits[i].kinds <= (i ? r->limits[i - 1].kinds : 0)) return "'limit' (rising kinds expected, not 0)";
    for (uint32_t i = 0; i < r->tier_count; i++) {
        const uint64_t before = i ? r->tiers[i - 1].kinds : r->tiers[i].kinds;
        if (!before != !r->tiers[i].kinds || before > r->tiers[i].kinds)
            return "'tiers' (rising kinds expected, not 0)";
        if (!(r->tiers[i].distance >= 0)) return "'tiers' (distances that are not negative or nan expected)";
        if (i && before == r->tiers[i].kinds && !(r->tiers[i].distance > r->tiers[i - 1].distance))
            return "'tiers' (rising distances expected)";
        if (r->tiers[i].every < 1 || r->tiers[i].every > AOI_MOST_EVERY) return "'tiers' must have 1 to 65536 ticks";
    }
    return NULL;
}

int aoi_sync_set_defaults(aoi_sync *y, const aoi_relevance *r) {
    if (aoi_relevance_fault(y, r)) return AOI_EVALUE;
    y->defaults = *r;
    if (r->tier_count) memmove(y->default_tiers, r->tiers, r->tier_count * sizeof(aoi_tier));
    if (r->limit_count) memmove(y->default_limits, r->limits, r->limit_count * sizeof(aoi_kind_limit));
    y->defaults.tiers = y->default_tiers;
    y->defaults.limits = y->default_limits;
    return AOI_OK;
}

void aoi_sync_get_defaults(const aoi_sync *y, aoi_relevance *out) {
    *out = y->defaults;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static int sync_discard(aoi_sync *y, int result) {
    aoi_fields_close(y);
    aoi_resize(aoi_sync_memory(y), y, sizeof *y, 0);
    return result;
}

static int open_sync(aoi_space *s, const aoi_sync_options *o, aoi_sync **out) {
    if (!(o->quantum >= 0) || isinf(o->quantum) || !aoi_fields_are_good(o->fields, o->field_count) ||
        (o->sight && o->sight->plugin.space != s))
        return AOI_EVALUE;
    aoi_sync *y = aoi_resize(&s->records.memory, NULL, 0, sizeof *y);
    if (!y) return AOI_ENOMEM;
    *y = (aoi_sync){.space = s, .quantum = o->quantum, .free_track = AOI_NONE};
    y->scale = aoi_scale_of(y->quantum);
    if (!aoi_fields_open(y, o->fields, o->field_count)) return sync_discard(y, AOI_ENOMEM);
    y->now = y->reseated = o->tick;
    y->riders = o->riders;
    y->number = s->sync_count;
    y->node_id = FIRST_NODE_ID - y->number;
    if (aoi_sync_set_defaults(y, &o->clients) != AOI_OK) return sync_discard(y, AOI_EVALUE);
    if (o->sight && aoi_sight_open_for(s, AOI_NONE, o->sight->walls, &aoi_client_sink, &y->sight) != AOI_OK)
        return sync_discard(y, AOI_ENOMEM);
    s->sync_count++;
    aoi_plugin_open(s, &y->plugin, &aoi_sync_plugin);
    *out = y;
    return AOI_OK;
}

int aoi_sync_open_as(aoi_space *s, const aoi_sync_options *o, uint32_t number, aoi_sync **out) {
    const uint32_t count = s->sync_count;
    const int result = open_sync(s, o, out);
    if (result != AOI_OK) return result;
    (*out)->number = number;
    (*out)->stands_in = true;
    s->sync_count = number < count ? count : number + 1;
    return AOI_OK;
}

int aoi_sync_open(aoi_space *s, const aoi_sync_options *o, aoi_sync **out) {
    aoi_sync *y;
    const int result = open_sync(s, o, &y);
    if (result != AOI_OK) return result;
    if (y->field_count && !aoi_states_adopt(y)) {
        aoi_sync_close(y);
        return AOI_ENOMEM;
    }
    *out = y;
    return AOI_OK;
}

static void tiers_release(aoi_sync *y, aoi_tiers *tiers) {
    if (!tiers || --tiers->refs) return;
    if (y->tiers == tiers) y->tiers = NULL;
    AOI_FREE(aoi_sync_memory(y), tiers, 1);
}

static uint32_t in_units(uint32_t ticks, uint32_t unit) {
    return ((ticks - 1) >> unit) + 1;
}

/* Returns the tiers set last if they are equal, as they mostly are, else new ones; NULL: memory refused. */
static aoi_tiers *tiers_take(aoi_sync *y, const aoi_relevance *r) {
    aoi_tiers *tiers = y->tiers;
    bool same = tiers && tiers->count == r->tier_count;
    for (uint32_t k = 0; k < r->tier_count && same; k++)
        same = tiers->as_set[k].every == r->tiers[k].every && tiers->as_set[k].distance == r->tiers[k].distance &&
               tiers->as_set[k].kinds == r->tiers[k].kinds;
    if (!same) {
        tiers = aoi_resize(aoi_sync_memory(y), NULL, 0, sizeof *tiers);
        if (!tiers) return NULL;
        *tiers = (aoi_tiers){.count = r->tier_count};
        for (uint32_t k = 0; k < r->tier_count; k++)
            while (in_units(r->tiers[k].every, tiers->unit) > AOI_MOST_UNITS) tiers->unit++;
        for (uint32_t k = 0; k <= r->tier_count; k++) {
            const uint32_t every = k < r->tier_count ? r->tiers[k].every : 1;
            if (k < r->tier_count) tiers->as_set[k] = r->tiers[k];
            tiers->periods[k] = in_units(every, tiers->unit);
            tiers->most[k] = UINT64_MAX / every;
            tiers->divides[k] = tiers->most[k] + 1;
        }
        y->tiers = tiers;
    }
    tiers->refs++;
    return tiers;
}

/* Frees the client and its number, not its views. */
static void client_free(aoi_client *c) {
    aoi_sync *y = c->sync;
    aoi_memory *m = aoi_sync_memory(y);
    aoi_picture_free(c);
    tiers_release(y, c->tiers);
    AOI_FREE(m, c->limits, c->limit_count);
    AOI_FREE(m, c->ranks, c->rank_cap);
    y->clients[c->number] = NULL;
    if (c->number < y->free_number) y->free_number = c->number;
    aoi_resize(m, c, sizeof *c, 0);
}

static void views_free(aoi_memory *m, aoi_client_view *v) {
    for (aoi_client_view *next; v; v = next) {
        next = v->next;
        AOI_FREE(m, v, 1);
    }
}

static void sync_free(aoi_plugin *plugin) {
    aoi_sync *y = (aoi_sync *)plugin;
    aoi_memory *m = aoi_sync_memory(y);
    for (uint32_t k = 0; k < y->client_top; k++) {
        if (!y->clients[k]) continue;
        views_free(m, y->clients[k]->view.next);
        client_free(y->clients[k]);
    }
    views_free(m, y->ended_views);
    for (uint32_t t = 0; t < y->track_top; t++) {
        aoi_state_free(y, t);
        aoi_track_free_knowers(y, t);
    }
    aoi_fields_close(y);
    AOI_FREE_LINES(m, y->tracks, y->track_cap);
    AOI_FREE(m, y->knower_caps, y->knower_cap_cap);
    AOI_FREE(m, y->priorities, y->priority_cap);
    AOI_FREE(m, y->teams, y->team_cap);
    AOI_FREE(m, y->spots, y->spot_cap);
    AOI_FREE(m, y->heights, y->height_cap);
    AOI_FREE(m, y->movers, y->mover_cap);
    AOI_FREE(m, y->listed, y->listed_cap);
    AOI_FREE(m, y->track_of, y->track_of_cap);
    AOI_FREE(m, y->clients, y->client_cap);
    AOI_FREE(m, y->writer.bytes, y->writer.cap);
    AOI_FREE(m, y->saved.bytes, y->saved.cap);
    AOI_FREE(m, y->picks, y->pick_cap);
    AOI_FREE(m, y->near2, y->near_cap);
    AOI_FREE(m, y->due, y->due_cap);
    AOI_FREE(m, y->stated, y->stated_cap);
    AOI_FREE(m, y->tier_of, y->tier_cap);
    AOI_FREE(m, y->keys, y->key_cap);
    aoi_resize(m, y, sizeof *y, 0);
}

static uint32_t sync_name(aoi_plugin *plugin, uint32_t target) {
    return aoi_track_ready((aoi_sync *)plugin, target);
}

const aoi_plugin_class aoi_sync_plugin = {.name = sync_name,
                                          .see = aoi_view_sighting,
                                          .prefetch = aoi_view_prefetch,
                                          .saw = aoi_view_saw,
                                          .end = aoi_view_end,
                                          .moved = aoi_tracks_moved,
                                          .touched = aoi_tracks_touched,
                                          .seated = aoi_tracks_seated,
                                          .left = aoi_tracks_left,
                                          .free = sync_free,
                                          .check = aoi_sync_check};

void aoi_sync_close(aoi_sync *y) {
    if (!y) return;
    aoi_space *s = y->space;
    if (s->journal && y->field_count) aoi_states_closed(y);
    for (uint32_t k = 0; k < y->client_top; k++)
        if (y->clients[k]) aoi_remove_plugin_node(s, y->clients[k]->view.node);
    while (y->ended_views) aoi_remove_plugin_node(s, y->ended_views->node);
    aoi_sight_close(y->sight);
    aoi_plugin_close(&y->plugin);
    sync_free(&y->plugin);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

/* The node id of a view; ids of a synchroniser's views are far apart, so that those of all synchronisers differ. */
static int64_t view_id(const aoi_sync *y, uint32_t view) {
    return y->node_id - ((int64_t)view << 32);
}

aoi_node aoi_sync_view(const aoi_sync *y, aoi_entity client, uint32_t view) {
    return view < AOI_MOST_VIEWS ? aoi_find_node(y->space, client, view_id(y, view)) : (aoi_node){0, 0};
}

aoi_client *aoi_client_of(const aoi_sync *y, aoi_entity entity) {
    uint32_t node = aoi_node_slot(y->space, aoi_sync_view(y, entity, 0));
    if (node == AOI_NONE) return NULL;
    if (y->sight) return (aoi_client *)(uintptr_t)aoi_watch_of(y->sight, node)->client;
    return (aoi_client *)aoi_plugin_node_from(y->space->records.areas[node].user_data);
}

/* Whether a known record has news that have not been sent, so that the client must stay timed. */
static bool client_waits(const aoi_client *c) {
    uint8_t flag = AOI_RECORD_WAITS | AOI_RECORD_TOUCH;
    return c->timed && (aoi_next_flagged(c->flags, 0, c->known, flag, false) < c->known ||
                        (c->lacks && aoi_next_flagged(c->lacks, 0, c->known, UINT8_MAX, false) < c->known));
}

/* Pins the client's own entity.  False when memory is refused. */
static bool client_set_self(aoi_client *c, bool self) {
    if (!self || c->self) return true;
    uint32_t i = c->flags ? aoi_picture_find(c, c->track) : AOI_NONE; /* NULL: the client is new */
    if (i == AOI_NONE && (i = aoi_picture_append(c, c->track, 0)) == AOI_NONE) return false;
    c->flags[i] |= AOI_RECORD_PIN;
    c->self = true;
    return true;
}

static void client_unpin(aoi_client *c, uint32_t i) {
    c->flags[i] &= (uint8_t)~AOI_RECORD_PIN;
    if (i >= c->known && !(c->flags[i] & (AOI_RECORD_SEEN | AOI_RECORD_SAW))) aoi_picture_drop(c, i);
    aoi_client_changed(c);
}

/* Sets the relevance; false when memory is refused, and nothing has changed. */
static bool client_set(aoi_client *c, const aoi_relevance *r) {
    aoi_sync *y = c->sync;
    if ((r->limit || r->limit_count || r->tier_count) && !aoi_tracks_measure(y)) return false;
    aoi_kind_limit *limits = NULL;
    const size_t limit_bytes = r->limit_count * sizeof *limits;
    if (limit_bytes && !(limits = aoi_resize(aoi_sync_memory(y), NULL, 0, limit_bytes))) return false;
    if (limits) memcpy(limits, r->limits, limit_bytes);
    aoi_tiers *tiers = r->tier_count ? tiers_take(y, r) : NULL;
    const bool timed = r->bytes || r->tier_count || client_waits(c);
    const bool self = c->self;
    if ((r->tier_count && !tiers) || !client_set_self(c, r->self) ||
        !aoi_picture_set_times(c, r->bytes, timed && y->field_count, tiers)) {
        if (c->self && !self) aoi_picture_drop(c, aoi_picture_find(c, c->track));
        c->self = self;
        tiers_release(y, tiers);
        aoi_resize(aoi_sync_memory(y), limits, limit_bytes, 0);
        return false;
    }
    if (c->self && !r->self) client_unpin(c, aoi_picture_find(c, c->track));
    c->self = r->self;
    tiers_release(y, c->tiers);
    c->tiers = tiers;
    AOI_FREE(aoi_sync_memory(y), c->limits, c->limit_count);
    c->limits = limits;
    c->limit_count = limits ? r->limit_count : 0;
    c->limit = limits ? AOI_BY_KIND : r->limit;
    c->bytes = r->bytes;
    c->new_team |= c->team != r->team;
    c->team = r->team;
    c->timed = timed;
    if (!c->bytes) aoi_pass_end(c); /* the record is sent whole now */
    aoi_client_changed(c);
    return true;
}

bool aoi_client_time(aoi_client *c) {
    if (!aoi_picture_set_times(c, c->sent_at, c->sync->field_count > 0, c->tiers)) return false;
    c->timed = true;
    return true;
}

static aoi_client *client_new(aoi_sync *y, uint32_t entity, const aoi_relevance *r) {
    aoi_memory *m = aoi_sync_memory(y);
    uint32_t number = y->free_number;
    while (number < y->client_top && y->clients[number]) number++;
    uint32_t track = aoi_track_ready(y, entity); /* moves of its own entity change ranks */
    if (track == AOI_NONE || number == MOST_CLIENTS || !AOI_GROW(m, y->clients, y->client_cap, number + (size_t)1))
        return NULL;
    aoi_client *c = aoi_resize(m, NULL, 0, sizeof *c);
    if (!c) return NULL;
    *c = (aoi_client){.view = {.head.plugin = &y->plugin, .node = AOI_NONE, .number = number & MOST_CLIENTS},
                      .number = number & MOST_CLIENTS,
                      .track = track,
                      .synced = y->now,
                      .anew = true};
    if (!client_set(c, r)) {
        aoi_picture_free(c);
        aoi_resize(m, c, sizeof *c, 0);
        return NULL;
    }
    y->tracks[track].refs++;
    if (number == y->client_top) y->client_top++;
    y->free_number = number + 1;
    y->clients[number] = c;
    y->client_count++;
    return c;
}

/* Removes the client from the knowers of its tracks, and frees it. */
void aoi_client_end(aoi_client *c) {
    aoi_sync *y = c->sync;
    for (uint32_t i = 0; i < c->known; i++) aoi_track_remove_knower(y, c->tracks[i], c->number);
    c->known = 0;
    while (c->count) aoi_picture_drop(c, c->count - 1);
    while (c->view.next) { /* aoi_sync_drop_ended_views removes their nodes */
        aoi_client_view *v = c->view.next;
        c->view.next = v->next;
        v->index = AOI_VIEW_ENDED;
        v->next = y->ended_views;
        y->ended_views = v;
    }
    aoi_client_drop_ranks(c);
    y->tracks[c->track].refs--;
    aoi_track_release(y, c->track);
    if (c->queued) aoi_client_unqueue(c);
    if (y->packed == c) y->packed = NULL;
    y->overflows -= c->overflow;
    y->client_count--;
    y->changes++;
    client_free(c);
}

static int client_add_view(aoi_client *c, aoi_entity entity, uint32_t k, const aoi_area *view) {
    aoi_sync *y = c->sync;
    aoi_area area = *view;
    aoi_node node;
    aoi_client_view *v = k ? aoi_resize(aoi_sync_memory(y), NULL, 0, sizeof *v) : &c->view;
    if (!v) return AOI_ENOMEM;
    if (k) *v = (aoi_client_view){{&y->plugin, 0}, c->view.next, AOI_NONE, c->number, k & (AOI_VIEW_ENDED - 1)};
    const uint64_t address = (uint64_t)(uintptr_t)v;
    area.user_data = y->sight ? 0 : address; /* not that of the host */
    int result = y->sight ? aoi_watch_add(y->sight, entity, view_id(y, k), &area, 0, address, &node)
                          : aoi_add_flagged_node(y->space, entity, view_id(y, k), &area, AOI_NODE_PLUGIN, &node);
    if (result != AOI_OK && k) AOI_FREE(aoi_sync_memory(y), v, 1);
    if (result != AOI_OK) return result;
    v->node = node.index;
    if (k) c->view.next = v;
    return AOI_OK;
}

/* Where memory is refused the rest waits for the next tick. */
void aoi_sync_drop_ended_views(aoi_sync *y) {
    aoi_space *s = y->space;
    for (uint32_t node; y->ended_views;) {
        node = y->ended_views->node;
        if (aoi_remove_node(s, (aoi_node){node, s->records.nodes[node].generation}) != AOI_OK) return;
    }
}

/* Adds the first view last, because aoi_client_of finds the client by it: until then a failure leaves no client. */
int aoi_sync_add(aoi_sync *y, aoi_entity entity, const aoi_area *views, uint32_t count, const aoi_relevance *r) {
    uint32_t slot = aoi_entity_slot(y->space, entity);
    int result = AOI_ENOMEM;
    if (slot == AOI_NONE) return AOI_EGONE;
    if (aoi_client_of(y, entity)) return AOI_EEXIST;
    if (!r) r = &y->defaults;
    if (aoi_relevance_fault(y, r) || count < 1 || count > AOI_MOST_VIEWS) return AOI_EVALUE;
    aoi_sync_drop_ended_views(y);
    if (y->ended_views) return AOI_ENOMEM;                                     /* one may have the id of a new view */
    aoi_client *c = aoi_plugins_see(y->space) ? client_new(y, slot, r) : NULL; /* no sighting may be of a new node */
    if (!c) return AOI_ENOMEM;
    if (count == 1 || aoi_picture_set_viewed(c)) result = AOI_OK;
    for (uint32_t k = count; k-- > 0 && result == AOI_OK;) result = client_add_view(c, entity, k, views + k);
    if (result == AOI_OK) return result;
    aoi_client_end(c);
    aoi_sync_drop_ended_views(y);
    return result;
}

aoi_sight *aoi_sync_sight(const aoi_sync *y) {
    return y->sight;
}

int aoi_sync_set_view(aoi_sync *y, aoi_entity client, uint32_t view, const aoi_area *area) {
    return aoi_set_area(y->space, aoi_sync_view(y, client, view), area);
}

int aoi_sync_remove(aoi_sync *y, aoi_entity client) {
    if (!aoi_client_of(y, client)) return AOI_EGONE;
    const int result = aoi_remove_node(y->space, aoi_sync_view(y, client, 0));
    if (result == AOI_OK) aoi_sync_drop_ended_views(y);
    return result;
}

int aoi_sync_set(aoi_sync *y, aoi_entity client, const aoi_relevance *r) {
    aoi_client *c = aoi_client_of(y, client);
    if (!c) return AOI_EGONE;
    if (!r) r = &y->defaults;
    if (aoi_relevance_fault(y, r)) return AOI_EVALUE;
    return client_set(c, r) ? AOI_OK : AOI_ENOMEM;
}

bool aoi_sync_get(const aoi_sync *y, aoi_entity client, aoi_relevance *out) {
    const aoi_client *c = aoi_client_of(y, client);
    if (c)
        *out = (aoi_relevance){.limit = c->limits ? 0 : c->limit,
                               .bytes = c->bytes,
                               .tier_count = aoi_tier_count(c),
                               .tiers = c->tiers ? c->tiers->as_set : NULL,
                               .self = c->self,
                               .limit_count = c->limit_count,
                               .limits = c->limits,
                               .team = c->team};
    return c != NULL;
}

int aoi_sync_resend(aoi_sync *y, aoi_entity client) {
    aoi_client *c = aoi_client_of(y, client);
    if (!c) return AOI_EGONE;
    while (c->known) {
        aoi_picture_forget(c, c->known - 1);
        aoi_record_starts(c, c->known);
    }
    c->anew = true;
    aoi_client_changed(c);
    return AOI_OK;
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* Records pins, so that a player can verify that a client was only sent entities that it saw or had pinned. */
static void log_pin(aoi_sync *y, int call, aoi_entity client, uint32_t target) {
    aoi_space *s = y->space;
    if (s->journal && y->sight)
        aoi_log(s, &(aoi_call){call, .entity = client, .node_id = s->records.entities[target].id,
                               .sight = y->sight->number});
}

int aoi_sync_pin(aoi_sync *y, aoi_entity client, aoi_entity target) {
    aoi_client *c = aoi_client_of(y, client);
    uint32_t slot = aoi_entity_slot(y->space, target);
    if (!c || slot == AOI_NONE) return AOI_EGONE;
    if (slot == aoi_client_entity(c)) return AOI_EVALUE;
    uint32_t track = aoi_track_ready(y, slot);
    if (track == AOI_NONE) return AOI_ENOMEM;
    uint32_t i = aoi_picture_find(c, track);
    if (i == AOI_NONE && (i = aoi_picture_append(c, track, 0)) == AOI_NONE) {
        aoi_track_release(y, track);
        return AOI_ENOMEM;
    }
    c->flags[i] |= AOI_RECORD_PIN;
    aoi_client_changed(c);
    log_pin(y, AOI_CALL_PIN, client, slot);
    return AOI_OK;
}

int aoi_sync_unpin(aoi_sync *y, aoi_entity client, aoi_entity target) {
    aoi_client *c = aoi_client_of(y, client);
    uint32_t slot = aoi_entity_slot(y->space, target);
    if (!c || slot == AOI_NONE) return AOI_EGONE;
    uint32_t track = aoi_track_of(y, slot), i = track == AOI_NONE ? AOI_NONE : aoi_picture_find(c, track);
    if (i == AOI_NONE || !(c->flags[i] & AOI_RECORD_PIN)) return AOI_OK;
    if (track == c->track) return AOI_OK; /* pinned by `self` */
    client_unpin(c, i);
    log_pin(y, AOI_CALL_UNPIN, client, slot);
    return AOI_OK;
}

int aoi_sync_touch(aoi_sync *y, aoi_entity target) {
    uint32_t slot = aoi_entity_slot(y->space, target), t = aoi_track_of(y, slot);
    if (slot == AOI_NONE) return AOI_EGONE;
    if (t == AOI_NONE) return AOI_OK;
    y->tracks[t].flags |= AOI_TRACK_TOUCHED;
    aoi_track_list(y, t);
    return AOI_OK;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool aoi_sync_knows(const aoi_sync *y, aoi_entity client, aoi_entity target) {
    const aoi_client *c = aoi_client_of(y, client);
    uint32_t track = aoi_track_of(y, aoi_entity_slot(y->space, target));
    return c && track != AOI_NONE && aoi_picture_find(c, track) < c->known;
}

int aoi_sync_known(aoi_sync *y, aoi_entity client, const int64_t **ids, size_t *count) {
    const aoi_client *c = aoi_client_of(y, client);
    aoi_space *s = y->space;
    if (!c) return AOI_EGONE;
    if (!aoi_answer_ready(s, c->known, false)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < c->known; i++) s->ids_out[s->answer_count++] = y->tracks[c->tracks[i]].id;
    return aoi_give(s, ids, count);
}

int aoi_sync_knowers(aoi_sync *y, aoi_entity target, const int64_t **ids, size_t *count) {
    uint32_t slot = aoi_entity_slot(y->space, target), track = aoi_track_of(y, slot);
    aoi_space *s = y->space;
    if (slot == AOI_NONE) return AOI_EGONE;
    const uint32_t all = track == AOI_NONE ? 0 : y->tracks[track].knower_count;
    if (!aoi_answer_ready(s, all, false)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < all; i++)
        s->ids_out[s->answer_count++] = aoi_client_id(y->clients[y->tracks[track].knowers[i]]);
    return aoi_give(s, ids, count);
}
