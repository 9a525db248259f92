/* watches.c - nodes of a sight and the pairs that their areas see (sight.h). */
#include "sight/sight.h"

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

aoi_sight_pair *aoi_pair_find(const aoi_sight *g, const aoi_watch *n, uint32_t target) {
    uint32_t at = AOI_SEEK, p, hash = aoi_pair_hash(n->number, target);
    while ((p = aoi_hash_index_next(&g->index, hash, &at)) != AOI_NONE)
        if (p < n->pair_count && n->pairs[p].target == target && !(n->pairs[p].flags & AOI_PAIR_GONE))
            return n->pairs + p;
    return NULL;
}

static bool things_ready(aoi_sight *g, uint32_t entity) {
    aoi_memory *m = aoi_sight_memory(g);
    const aoi_thing none = {.watches = AOI_NONE};
    return AOI_GROW_FILLED(m, g->things, g->thing_cap, entity + (size_t)1, &none) &&
           AOI_GROW(m, g->moved, g->moved_cap, g->thing_cap);
}

aoi_sight_pair *aoi_pair_mirror(const aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p, aoi_watch **of) {
    const uint32_t k = g->things[p->target].watches;
    aoi_watch *m = k == AOI_NONE ? NULL : g->watches[k];
    if (!m || p->mirror >= m->pair_count) return NULL;
    aoi_sight_pair *back = m->pairs + p->mirror;
    *of = m;
    return back->target == n->owner && !(back->flags & AOI_PAIR_GONE) ? back : NULL;
}

/* Adds a pair that its area sees, due; NULL: memory refused. */
static aoi_sight_pair *pair_add(aoi_sight *g, aoi_watch *n, uint32_t target) {
    aoi_memory *m = aoi_sight_memory(g);
    if (!things_ready(g, target)) return NULL;
    aoi_thing *t = g->things + target;
    if (!AOI_GROW(m, n->pairs, n->pair_cap, n->pair_count + (size_t)1) ||
        !AOI_GROW(m, g->due, g->due_cap, g->pair_count + (size_t)1) ||
        !AOI_GROW(m, t->seen_by, t->seen_cap, t->seen_count + (size_t)1) ||
        !aoi_hash_index_reserve(m, &g->index, g->index.count + (size_t)1))
        return NULL;
    const aoi_entity_record *e = g->plugin.space->records.entities + target;
    aoi_sight_pair *p = n->pairs + n->pair_count;
    *p = (aoi_sight_pair){.id = e->id,
                          .target = target,
                          .life = e->generation,
                          .wall = AOI_NONE,
                          .name = AOI_NONE,
                          .due = AOI_NONE,
                          .at = t->seen_count,
                          .mirror = AOI_NONE,
                          .flags = AOI_PAIR_AREA};
    t->seen_by[t->seen_count++] = n->number;
    aoi_sight_pair *back = t->watches == AOI_NONE ? NULL : aoi_pair_find(g, g->watches[t->watches], n->owner);
    if (back) p->mirror = (uint32_t)(back - g->watches[t->watches]->pairs);
    if (back && g->things[n->owner].watches == n->number) back->mirror = n->pair_count;
    aoi_hash_index_add(&g->index, aoi_pair_hash(n->number, target), n->pair_count++);
    g->pair_count++;
    aoi_pair_due(g, n, p);
    return p;
}

int aoi_pair_restore(aoi_sight *g, aoi_watch *n, uint32_t target, int flags, uint32_t age) {
    aoi_space *s = g->plugin.space;
    const aoi_entity_record *e = s->records.entities;
    aoi_sight_pair *p = aoi_pair_find(g, n, target);
    const bool seen = flags & AOI_PAIR_SEEN, clear = flags & AOI_PAIR_CLEAR;
    if ((flags & ~AOI_PAIR_SAVED) || !(flags & (AOI_PAIR_WAS | AOI_PAIR_SEEN)) || (clear && !seen) ||
        (age && (!seen || clear)))
        return AOI_EVALUE;
    if (!p && !(p = pair_add(g, n, target))) return AOI_ENOMEM;
    if (flags & AOI_PAIR_AREA && aoi_pair_meets(s, n->node, target) &&
        aoi_pair_zone(s, n->node, target, e[n->owner].pos, e[target].pos) == AOI_BETWEEN &&
        !aoi_pair_table_has(&s->kept, n->node, target)) {
        if (!aoi_hash_index_reserve(&s->records.memory, &s->kept, s->kept.count + (size_t)1)) return AOI_ENOMEM;
        aoi_pair_table_add(&s->kept, n->node, target);
    }
    g->seen += seen && !(p->flags & AOI_PAIR_SEEN);
    p->flags = (uint8_t)((p->flags & ~AOI_PAIR_AREA) | (flags & ~AOI_PAIR_AREA));
    if (aoi_node_sees(s, n->node, target)) p->flags |= AOI_PAIR_AREA;
    p->clear = g->now - age;
    aoi_pair_due(g, n, p);
    return AOI_OK;
}

/* Withdraws the enter that a tick has made of the pair, if it still waits; whether it did. */
static bool pair_withdraw(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p) {
    aoi_records *r = &g->plugin.space->records;
    if (!aoi_queue_withdraw(&r->memory, &g->queue, n->node, p->target, p->life)) return false;
    r->nodes[n->node].pending--;
    p->flags &= (uint8_t)~AOI_PAIR_SEEN;
    g->seen--;
    return true;
}

/* Notifies the sink at once of a target that leaves the space, since the sink reads the entities of its targets. */
static void pair_leave_sink(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p) {
    if (!(p->flags & AOI_PAIR_SEEN)) return;
    (void)g->sink->see(n->client, p->target, &p->name, false);
    p->flags &= (uint8_t)~AOI_PAIR_SEEN;
    g->seen--;
}

/* Takes the pair out of the list of its target and the index. */
static void pair_unlink(aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p) {
    aoi_thing *t = g->things + p->target;
    const uint32_t last = t->seen_by[--t->seen_count];
    if (p->at < t->seen_count) {
        t->seen_by[p->at] = last;
        aoi_pair_find(g, g->watches[last], p->target)->at = p->at;
    }
    aoi_hash_index_remove(&g->index, aoi_pair_hash(n->number, p->target), (uint32_t)(p - n->pairs));
}

/* The node or the target has gone: until the next tick the pair is only in the array of its watch and in `due`. */
static void pair_part(aoi_sight *g, aoi_watch *n, aoi_sight_pair *p) {
    if (p->flags & AOI_PAIR_GONE) return;
    pair_unlink(g, n, p);
    p->flags = (uint8_t)((p->flags & ~AOI_PAIR_AREA) | AOI_PAIR_GONE);
    p->because = g->plugin.space->because;
    if (p->flags & AOI_PAIR_SEEN && !g->sink && !pair_withdraw(g, n, p)) g->plugin.owes = true;
    aoi_pair_due(g, n, p);
}

/* The caller has taken the pair out of `due`. */
void aoi_pair_free(aoi_sight *g, aoi_watch *n, aoi_sight_pair *p) {
    if (!(p->flags & AOI_PAIR_GONE)) pair_unlink(g, n, p);
    const uint32_t to = (uint32_t)(p - n->pairs), from = --n->pair_count;
    g->pair_count--;
    if (to == from) return;
    *p = n->pairs[from];
    if (!(p->flags & AOI_PAIR_GONE)) aoi_hash_index_replace(&g->index, aoi_pair_hash(n->number, p->target), from, to);
    if (p->due != AOI_NONE) g->due[p->due].pair = to;
    aoi_watch *of;
    aoi_sight_pair *back = g->things[n->owner].watches == n->number ? aoi_pair_mirror(g, n, p, &of) : NULL;
    if (back) back->mirror = to;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

aoi_watch *aoi_watch_of(const aoi_sight *g, uint32_t node) {
    const aoi_space *s = g->plugin.space;
    if (node == AOI_NONE || !(s->records.nodes[node].flags & AOI_NODE_PLUGIN)) return NULL;
    aoi_plugin_node *n = aoi_plugin_node_from(s->records.areas[node].user_data);
    return n->plugin == &g->plugin ? (aoi_watch *)n : NULL;
}

void aoi_watch_stale(aoi_sight *g, aoi_watch *n) {
    if (n->stale || n->gone) return;
    n->stale = AOI_LISTED;
    g->stale[g->stale_count++] = n->number;
}

static aoi_watch *watch_new(aoi_sight *g, uint32_t owner) {
    aoi_memory *m = aoi_sight_memory(g);
    uint32_t k = g->low_watch;
    while (k < g->watch_top && g->watches[k]) k++;
    if (!things_ready(g, owner) || !AOI_GROW(m, g->watches, g->watch_cap, k + (size_t)1) ||
        !AOI_GROW(m, g->stale, g->stale_cap, g->watch_cap))
        return NULL;
    aoi_watch *n = aoi_resize(m, NULL, 0, sizeof *n);
    if (!n) return NULL;
    *n = (aoi_watch){.head.plugin = &g->plugin, .number = k, .node = AOI_NONE, .owner = owner};
    if (k == g->watch_top) g->watch_top++;
    g->watches[k] = n;
    g->low_watch = k + 1;
    g->watch_count++;
    return n;
}

void aoi_watch_free(aoi_sight *g, aoi_watch *n) {
    g->watches[n->number] = NULL;
    g->watch_count--;
    if (n->number < g->low_watch) g->low_watch = n->number;
    AOI_FREE(aoi_sight_memory(g), n->pairs, n->pair_cap);
    aoi_resize(aoi_sight_memory(g), n, sizeof *n, 0);
}

static int watch_add(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger,
                     uint64_t client, aoi_node *out) {
    aoi_space *s = g->plugin.space;
    uint32_t owner = aoi_entity_slot(s, e);
    aoi_area flagged = *area;
    aoi_node node;
    if (owner == AOI_NONE) return AOI_EGONE;
    if (!aoi_plugins_see(s)) return AOI_ENOMEM; /* no sighting that waits may be of the new node */
    aoi_watch *n = watch_new(g, owner);
    if (!n) return AOI_ENOMEM;
    flagged.user_data = (uint64_t)(uintptr_t)n;
    int result = aoi_add_flagged_node(s, e, node_id, &flagged, AOI_NODE_PLUGIN, &node);
    if (result != AOI_OK) {
        aoi_watch_free(g, n);
        return result;
    }
    n->node = node.index;
    n->node_id = node_id;
    n->watcher = s->records.entities[owner].id;
    n->linger = linger;
    n->head.user_data = area->user_data;
    n->client = client;
    n->next = g->things[owner].watches;
    g->things[owner].watches = n->number;
    g->changes.wanted = true;
    if (out) *out = node;
    return AOI_OK;
}

int aoi_watch_add(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger, uint64_t client,
                  aoi_node *out) {
    aoi_space *s = g->plugin.space;
    return aoi_logged(s,
                      &(aoi_call){AOI_CALL_ADD_SIGHT_NODE, watch_add(g, e, node_id, area, linger, client, out),
                                  .entity = e, .node_id = node_id, .area = area, .bits = linger, .sight = g->number});
}

int aoi_sight_add_node(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger,
                       aoi_node *out) {
    return aoi_watch_add(g, e, node_id, area, linger, 0, out);
}

aoi_sight *aoi_sight_of_node(const aoi_space *s, aoi_node handle) {
    const uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE || !(s->records.nodes[node].flags & AOI_NODE_PLUGIN)) return NULL;
    return aoi_sight_from(aoi_plugin_node_from(s->records.areas[node].user_data)->plugin);
}

bool aoi_sight_has_node(const aoi_sight *g, aoi_node n) {
    return aoi_watch_of(g, aoi_node_slot(g->plugin.space, n)) != NULL;
}

/* ---- for the space ----------------------------------------------------------------------------------------------- */

/* Slots are the names of targets: the entity in a slot when a sighting is applied is the one that counts. */
static uint32_t sight_name(aoi_plugin *plugin, uint32_t target) {
    (void)plugin;
    return target;
}

static bool sight_see(aoi_plugin_node *node, uint32_t target, bool enters) {
    aoi_watch *n = (aoi_watch *)node;
    aoi_sight *g = (aoi_sight *)node->plugin;
    aoi_sight_pair *p = aoi_pair_find(g, n, target);
    if (p) {
        p->flags = (uint8_t)((p->flags & ~AOI_PAIR_AREA) | (enters ? AOI_PAIR_AREA : 0));
        aoi_pair_due(g, n, p);
        return true;
    }
    return !enters || !aoi_is_live(g->plugin.space->records.entities[target].generation) || pair_add(g, n, target);
}

static bool sight_saw(const aoi_plugin_node *node, uint32_t target) {
    const aoi_sight *g = (const aoi_sight *)node->plugin;
    const aoi_sight_pair *p = aoi_pair_find(g, (const aoi_watch *)node, target);
    return p && p->flags & AOI_PAIR_WAS;
}

/* The next tick makes leaves for what the node saw; until then its slot is reserved, so that events of another node
 * cannot be taken for its own. */
static void sight_end(aoi_plugin_node *node) {
    aoi_watch *n = (aoi_watch *)node;
    aoi_sight *g = (aoi_sight *)node->plugin;
    uint32_t *link = &g->things[n->owner].watches;
    uint64_t client = n->client;
    while (*link != n->number) link = &g->watches[*link]->next;
    *link = n->next;
    n->gone = true;
    for (uint32_t i = 0; i < n->pair_count; i++) pair_part(g, n, n->pairs + i);
    n->holds = n->pair_count > 0;
    if (n->holds) g->plugin.space->records.nodes[n->node].pending++;
    else if (!n->stale) aoi_watch_free(g, n);
    if (g->sink) g->sink->end(client);
}

static void sight_changed(aoi_plugin_node *node) {
    aoi_watch_stale((aoi_sight *)node->plugin, (aoi_watch *)node);
}

static void sight_moved(aoi_plugin *plugin, uint32_t entity) {
    aoi_sight *g = (aoi_sight *)plugin;
    if (entity >= g->thing_cap) return;
    aoi_thing *t = g->things + entity;
    if (t->moved || (!t->seen_count && t->watches == AOI_NONE)) return;
    t->moved = true;
    g->moved[g->moved_count++] = entity;
}

static void sight_left(aoi_plugin *plugin, uint32_t entity) {
    aoi_sight *g = (aoi_sight *)plugin;
    if (entity >= g->thing_cap) return;
    aoi_thing *t = g->things + entity;
    while (t->seen_count) {
        aoi_watch *n = g->watches[t->seen_by[t->seen_count - 1]];
        aoi_sight_pair *p = aoi_pair_find(g, n, entity);
        if (g->sink) pair_leave_sink(g, n, p);
        pair_part(g, n, p);
    }
    AOI_CLEAR(aoi_sight_memory(g), t->seen_by, t->seen_cap);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void sight_free(aoi_plugin *plugin) {
    aoi_sight *g = (aoi_sight *)plugin;
    aoi_memory *m = aoi_sight_memory(g);
    for (uint32_t k = 0; k < g->watch_top; k++)
        if (g->watches[k]) aoi_watch_free(g, g->watches[k]);
    aoi_walls_part(g->walls, &g->changes);
    aoi_queue_close(m, &g->queue);
    aoi_hash_index_free(m, &g->index);
    for (uint32_t e = 0; e < g->thing_cap; e++) AOI_FREE(m, g->things[e].seen_by, g->things[e].seen_cap);
    AOI_FREE(m, g->things, g->thing_cap);
    AOI_FREE(m, g->watches, g->watch_cap);
    AOI_FREE(m, g->moved, g->moved_cap);
    AOI_FREE(m, g->stale, g->stale_cap);
    AOI_FREE(m, g->due, g->due_cap);
    aoi_resize(m, g, sizeof *g, 0);
}

int aoi_sight_open_for(aoi_space *s, uint32_t number, aoi_walls *walls, const aoi_sight_sink *sink, aoi_sight **out) {
    aoi_memory *m = &s->records.memory;
    aoi_sight *g = aoi_resize(m, NULL, 0, sizeof *g);
    aoi_walls *own = g && !walls ? aoi_walls_new(m, s->records.dims) : walls;
    if (!g || !own) {
        if (g) aoi_resize(m, g, sizeof *g, 0);
        return AOI_ENOMEM;
    }
    *g = (aoi_sight){.walls = own, .sink = sink, .number = number == AOI_NONE ? 0 : number};
    for (aoi_plugin *l = number == AOI_NONE ? s->plugins : NULL; l; l = l->next)
        if (aoi_sight_from(l) && aoi_sight_from(l)->number >= g->number) g->number = aoi_sight_from(l)->number + 1;
    aoi_queue_open(&g->queue);
    aoi_walls_join(own, &g->changes);
    aoi_plugin_open(s, &g->plugin, &aoi_sight_plugin);
    g->plugin.queue = &g->queue;
    aoi_sight_opened(g);
    *out = g;
    return AOI_OK;
}

int aoi_sight_open(aoi_space *s, aoi_sight *walls, aoi_sight **out) {
    if (walls && walls->plugin.space != s) return AOI_EVALUE;
    if (!walls && (*out = aoi_sights_adopt(s)) != NULL) return AOI_OK;
    return aoi_sight_open_for(s, AOI_NONE, walls ? walls->walls : NULL, NULL, out);
}

void aoi_sight_close(aoi_sight *g) {
    if (!g) return;
    aoi_space *s = g->plugin.space;
    const aoi_queued *e;
    for (uint32_t k = 0; k < g->watch_top; k++)
        if (g->watches[k] && !g->watches[k]->gone) aoi_remove_plugin_node(s, g->watches[k]->node);
    while (g->queue.count && (e = aoi_queue_take(&g->queue)) != NULL) aoi_let_go(s, e->node);
    for (uint32_t k = 0; k < g->watch_top; k++)
        if (g->watches[k] && g->watches[k]->holds) aoi_let_go(s, g->watches[k]->node);
    aoi_plugin_close(&g->plugin);
    (void)aoi_logged(s, &(aoi_call){.call = AOI_CALL_CLOSE_SIGHT, .sight = g->number});
    sight_free(&g->plugin);
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

int aoi_sight_add_wall_as(aoi_sight *g, const aoi_wall *w, int64_t id, int64_t *out) {
    const int result = aoi_walls_add(g->walls, w, id, &id);
    double values[6];
    aoi_wall_values(w, values);
    if (out && result == AOI_OK) *out = id;
    return aoi_logged(g->plugin.space, &(aoi_call){AOI_CALL_ADD_WALL, result, .named = true, .id = id,
                                                   .sight = g->number, .bits = w->open, .values = values});
}

int aoi_sight_add_wall(aoi_sight *g, const aoi_wall *w, int64_t *id) {
    return aoi_sight_add_wall_as(g, w, 0, id);
}

static int wall_changed(aoi_sight *g, int call, int result, int64_t id) {
    return aoi_logged(g->plugin.space, &(aoi_call){call, result, .named = true, .id = id, .sight = g->number});
}

int aoi_sight_open_wall(aoi_sight *g, int64_t id, bool open) {
    return wall_changed(g, open ? AOI_CALL_OPEN_WALL : AOI_CALL_SHUT_WALL, aoi_walls_set_open(g->walls, id, open), id);
}

int aoi_sight_remove_wall(aoi_sight *g, int64_t id) {
    return wall_changed(g, AOI_CALL_REMOVE_WALL, aoi_walls_remove(g->walls, id), id);
}

bool aoi_sight_read_wall(const aoi_sight *g, int64_t id, aoi_wall *out) {
    uint32_t slot = aoi_wall_slot(g->walls, id);
    if (slot != AOI_NONE) *out = g->walls->records[slot].w;
    return slot != AOI_NONE;
}

bool aoi_sight_next_wall(const aoi_sight *g, size_t *cursor, int64_t *id, aoi_wall *out) {
    const aoi_walls *k = g->walls;
    while (*cursor < k->record_top && !k->records[*cursor].live) ++*cursor;
    if (*cursor == k->record_top) return false;
    *id = k->records[*cursor].id;
    *out = k->records[(*cursor)++].w;
    return true;
}

const aoi_plugin_class aoi_sight_plugin = {.name = sight_name,
                                           .see = sight_see,
                                           .saw = sight_saw,
                                           .end = sight_end,
                                           .changed = sight_changed,
                                           .moved = sight_moved,
                                           .left = sight_left,
                                           .free = sight_free,
                                           .check = aoi_sight_check,
                                           .recorded = true};
