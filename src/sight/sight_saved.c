/* sight_saved.c - sights in snapshots and journals: core/state_hook.h.
 *
 *   open_sight, add_wall ...                           by rising id; sights that share walls have none
 *   [ add_sight_node, override ..., saw ] ...          by watcher and node id, targets by rising id
 *   events                                             that wait, and leaves that the next tick makes; not of clients
 *
 * Pairs are those that the area or the node saw at the last tick; all others follow from positions.  A state has the flags
 * of the pair, AREA only between two borders; the age of one that lingers is in ticks since the line was clear. */
#include <stdlib.h>

#include "sight/sight.h"
#include "snapshot/snapshot.h"

/* ---- which ------------------------------------------------------------------------------------------------------- */

/* Whether no older sight of the host has the same walls: the host opens sights of clients and of shared walls again. */
static bool owns_walls(const aoi_sight *g) {
    bool owns = !g->sink;
    for (aoi_plugin *l = g->plugin.space->plugins; l && owns; l = l->next) {
        const aoi_sight *o = aoi_sight_from(l);
        owns = !o || o->sink || o->walls != g->walls || o->number >= g->number;
    }
    return owns;
}

static bool is_saved(const aoi_sight *g) {
    return g->stands_in || owns_walls(g);
}

/* The sight with the lowest number from that on, of all or only of those in snapshots; NULL: none. */
static aoi_sight *sight_from(const aoi_space *s, uint32_t number, bool saved) {
    aoi_sight *first = NULL, *g;
    for (aoi_plugin *l = s->plugins; l; l = l->next)
        if ((g = aoi_sight_from(l)) != NULL && g->number >= number && (!first || g->number < first->number) &&
            (!saved || is_saved(g)))
            first = g;
    return first;
}

aoi_sight *aoi_sights_numbered(const aoi_space *s, uint32_t number) {
    aoi_sight *g = sight_from(s, number, false);
    return g && g->number == number ? g : NULL;
}

/* The lowest sight with the same walls, of all or only of those in snapshots. */
static const aoi_sight *first_of(const aoi_sight *g, bool saved) {
    const aoi_sight *first = sight_from(g->plugin.space, 0, saved);
    while (first->walls != g->walls) first = sight_from(g->plugin.space, first->number + 1, saved);
    return first;
}

const aoi_sight *aoi_sights_with_walls(const aoi_space *s, uint32_t number) {
    const aoi_sight *g;
    while ((g = sight_from(s, number, false)) != NULL && first_of(g, false) != g) number = g->number + 1;
    return g;
}

bool aoi_sights_of_node(const aoi_space *s, uint32_t node, uint32_t *number, uint32_t *linger) {
    aoi_plugin_node *n = aoi_plugin_node_from(s->records.areas[node].user_data);
    const aoi_sight *g = s->records.nodes[node].flags & AOI_NODE_PLUGIN ? aoi_sight_from(n->plugin) : NULL;
    if (!g) return false;
    *number = first_of(g, false)->number;
    *linger = ((aoi_watch *)n)->linger;
    return true;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

typedef struct saved_item { /* a wall, a watch, or a target, to be sorted by id */
    int64_t id, node_id;
    uint32_t slot;
} saved_item;

typedef struct sight_saver {
    aoi_output *out;
    aoi_sight *g;
    aoi_space *s;
    bool refused;
    saved_item *items; /* a stack */
    uint32_t item_cap, count;
} sight_saver;

static void note_item(sight_saver *v, int64_t id, int64_t node_id, uint32_t slot) {
    v->refused = v->refused || !AOI_GROW(aoi_sight_memory(v->g), v->items, v->item_cap, v->count + (size_t)1);
    if (!v->refused) v->items[v->count++] = (saved_item){id, node_id, slot};
}

/* No two items are equal: otherwise the order would be that of the C library's qsort. */
static int by_item(const void *a, const void *b) {
    const saved_item *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->node_id != y->node_id) return x->node_id < y->node_id ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static void sort_saved(sight_saver *v, uint32_t first) {
    if (v->count > first) qsort(v->items + first, v->count - first, sizeof *v->items, by_item);
}

static void put_call(sight_saver *v, aoi_call c) {
    c.sight = v->g->number;
    aoi_write_record(v->out, v->s, &c, c.id, c.node_id);
}

static void save_walls(sight_saver *v) {
    const aoi_walls *k = v->g->walls;
    for (uint32_t i = 0; i < k->record_top; i++)
        if (k->records[i].live) note_item(v, k->records[i].id, 0, i);
    sort_saved(v, 0);
    for (uint32_t i = 0; i < v->count; i++) {
        const aoi_wall_record *r = k->records + v->items[i].slot;
        double values[6];
        aoi_wall_values(&r->w, values);
        put_call(v, (aoi_call){.call = AOI_CALL_ADD_WALL, .id = r->id, .bits = r->w.open, .values = values});
    }
    v->count = 0;
}

static void save_exceptions(sight_saver *v, const aoi_watch *n) {
    const aoi_override_table *t = &v->s->overrides;
    const aoi_override_record *r = NULL;
    const uint32_t first = v->count;
    if (v->s->records.nodes[n->node].flags & AOI_NODE_OVERRIDES)
        r = aoi_overrides_first(t, AOI_OVERRIDE_BY_NODE, n->node);
    for (; r; r = aoi_overrides_next(t, AOI_OVERRIDE_BY_NODE, r))
        note_item(v, v->s->records.entities[r->end[1]].id, 0, (uint32_t)(r - t->records));
    sort_saved(v, first);
    for (uint32_t i = first; i < v->count; i++) {
        r = t->records + v->items[i].slot;
        const aoi_entity target = {r->end[1], v->s->records.entities[r->end[1]].generation};
        put_call(v, (aoi_call){.call = AOI_CALL_OVERRIDE,
                               .id = n->watcher,
                               .node_id = n->node_id,
                               .target = target,
                               .bits = (uint64_t)r->how});
    }
    v->count = first;
}

static void save_pairs(sight_saver *v, const aoi_watch *n) {
    const aoi_sight *g = v->g;
    const uint32_t first = v->count;
    for (uint32_t i = 0; i < n->pair_count; i++)
        if (!(n->pairs[i].flags & AOI_PAIR_GONE) && n->pairs[i].flags & (AOI_PAIR_WAS | AOI_PAIR_SEEN))
            note_item(v, n->pairs[i].id, 0, i);
    sort_saved(v, first);
    if (v->count > first)
        put_call(v, (aoi_call){
                        .call = AOI_RECORD_PAIRS, .id = n->watcher, .node_id = n->node_id, .count = v->count - first});
    for (uint32_t i = first; i < v->count; i++) {
        const aoi_sight_pair *p = n->pairs + v->items[i].slot;
        const bool lingers = p->flags & AOI_PAIR_SEEN && !(p->flags & AOI_PAIR_CLEAR);
        const bool kept = aoi_pair_table_has(&v->s->kept, n->node, p->target);
        unsigned char *to = aoi_put_signed(aoi_room(v->out, 3 * AOI_MOST_VARINT), p->id);
        to = aoi_put_varint(to, p->flags & (kept ? AOI_PAIR_SAVED : AOI_PAIR_SAVED & ~AOI_PAIR_AREA));
        aoi_wrote(v->out, aoi_put_varint(to, lingers ? g->now - p->clear : 0));
    }
    v->count = first;
}

static void save_watches(sight_saver *v) {
    const aoi_sight *g = v->g;
    for (uint32_t k = 0; k < g->watch_top; k++)
        if (g->watches[k] && !g->watches[k]->gone) note_item(v, g->watches[k]->watcher, g->watches[k]->node_id, k);
    sort_saved(v, 0);
    for (uint32_t i = 0, count = v->count; i < count && !v->refused; i++) {
        const aoi_watch *n = g->watches[v->items[i].slot];
        aoi_area area;
        aoi_describe_node(v->s, n->node, &area);
        put_call(v, (aoi_call){.call = AOI_CALL_ADD_SIGHT_NODE,
                               .id = n->watcher,
                               .node_id = n->node_id,
                               .bits = n->linger,
                               .area = &area});
        save_exceptions(v, n);
        save_pairs(v, n);
    }
    v->count = 0;
}

static void save_events(sight_saver *v) {
    const aoi_sight *g = v->g;
    const aoi_event_queue *q = &g->queue;
    aoi_saved_event last = {0};
    for (uint32_t i = 0; i < g->due_count && !g->sink; i++) { /* what is gone is due; a sink has been notified */
        const aoi_watch *n = g->watches[g->due[i].watch];
        const aoi_sight_pair *p = n->pairs + g->due[i].pair;
        if ((p->flags & (AOI_PAIR_GONE | AOI_PAIR_SEEN)) == (AOI_PAIR_GONE | AOI_PAIR_SEEN))
            note_item(v, p->id, n->watcher, i);
    }
    sort_saved(v, 0);
    const aoi_call c = {
        .call = AOI_RECORD_EVENTS, .bits = g->number + UINT64_C(1), .count = (size_t)q->count + v->count};
    if (c.count && !v->refused) put_call(v, c);
    uint32_t now = aoi_plugin_waiting(&g->plugin);
    for (uint32_t i = q->head; q->count && (i = aoi_queue_from(q, i)) < q->top; i++) {
        aoi_put_waiting(v->out, v->s, q->events + i, now ? 0 : AOI_EVENT_OWED, &last);
        now -= now > 0;
    }
    for (uint32_t i = 0; i < v->count; i++) {
        const aoi_watch *n = g->watches[g->due[v->items[i].slot].watch];
        const aoi_sight_pair *p = n->pairs + g->due[v->items[i].slot].pair;
        const aoi_queued e = {n->watcher, p->id,     n->node_id, n->node,    p->target,
                              p->life,    AOI_LEAVE, false,      p->because, 0};
        aoi_put_waiting(v->out, v->s, &e, AOI_EVENT_OWED | (n->gone ? AOI_EVENT_NODE_GONE : 0), &last);
    }
    v->count = 0;
}

/* The record that opens the sight. */
static aoi_call opening(const aoi_sight *g, bool all) {
    const aoi_sight *first = first_of(g, !all && is_saved(g));
    return (aoi_call){.call = AOI_CALL_OPEN_SIGHT,
                      .named = true,
                      .sight = g->number,
                      .id = first == g ? g->walls->last_id : 0,
                      .node_id = first == g ? -1 : (int64_t)first->number,
                      .bits = g->sink ? g->plugin.space->sync_count + UINT64_C(1) : 0};
}

bool aoi_sights_put(aoi_space *s, aoi_output *out, bool all) {
    sight_saver v = {.out = out, .s = s};
    for (uint32_t number = 0; (v.g = sight_from(s, number, !all)) != NULL; number = v.g->number + 1) {
        const aoi_call c = opening(v.g, all);
        put_call(&v, c);
        if (c.node_id < 0) save_walls(&v);
        save_watches(&v);
        save_events(&v);
    }
    AOI_FREE(&s->records.memory, v.items, v.item_cap);
    return !v.refused;
}

void aoi_sight_opened(const aoi_sight *g) {
    const aoi_call c = opening(g, true);
    (void)aoi_logged(g->plugin.space, &c);
}

/* ---- making again ------------------------------------------------------------------------------------------------ */

static int refuse(const char **fault, const char *why) {
    *fault = why;
    return AOI_EVALUE;
}

static bool null_see(uint64_t client, uint32_t target, uint32_t *name, bool enters) {
    (void)client, (void)target, (void)name, (void)enters;
    return true;
}

static void null_end(uint64_t client) {
    (void)client;
}

static const aoi_sight_sink null_sink = {null_see, null_end}; /* for clients that do not exist */

static int open_again(aoi_space *s, aoi_record *r, const char **fault) {
    const int64_t walls = r->node_id;
    const aoi_sight *of = walls < 0 || walls >= AOI_MOST_STATES ? NULL : aoi_sights_numbered(s, (uint32_t)walls);
    aoi_sight *g;
    if (aoi_sights_numbered(s, r->sight)) return AOI_OK; /* a state had it */
    if (walls < -1 || (walls >= 0 && !of) || r->bits > AOI_MOST_STATES || r->id < 0)
        return refuse(fault, "a sight shares the walls of none");
    if (aoi_sight_open_for(s, r->sight, of ? of->walls : NULL, r->bits ? &null_sink : NULL, &g) != AOI_OK)
        return AOI_ENOMEM;
    g->stands_in = true;
    if (!of) g->walls->last_id = r->id;
    r->id = r->node_id = 0;                                                             /* for aoi_step */
    if (r->bits > s->sync_count + UINT64_C(1)) s->sync_count = (uint32_t)(r->bits - 1); /* their node ids are in use */
    return AOI_OK;
}

static int add_wall_again(aoi_sight *g, const aoi_record *r, const char **fault) {
    const double *v = r->values;
    aoi_wall wall = {{v[0], v[1]}, {v[2], v[3]}, v[4], v[5], r->bits != 0};
    if (g->walls->dims == 2) wall.z0 = -INFINITY, wall.z1 = INFINITY;
    if (r->bits > 1 || r->id < 1 || aoi_wall_slot(g->walls, r->id) != AOI_NONE)
        return refuse(fault, "ids of walls are wrong");
    const int result = aoi_sight_add_wall_as(g, &wall, r->id, NULL);
    return result == AOI_EVALUE ? refuse(fault, "a wall is no segment") : result;
}

static int add_node_again(aoi_space *s, const aoi_load_options *o, aoi_record *r, const char **fault) {
    aoi_loaded_node asked = {.watcher = r->id, .node_id = r->node_id};
    if (r->bits > UINT32_MAX) return refuse(fault, "a node lingers for too long");
    if (!aoi_host_takes(o, s, &asked)) return refuse(fault, "the host has refused a node");
    r->area.user_data = asked.user_data;
    aoi_sight *g = aoi_sights_numbered(s, r->sight); /* only now: `node` may close one */
    *fault = "a sight cannot have that node";
    return g ? aoi_sight_add_node(g, aoi_find(s, r->id), r->node_id, &r->area, (uint32_t)r->bits, NULL) : AOI_EVALUE;
}

/* Gives the node the pairs that it had at the last tick. */
static int see_again(aoi_space *s, const aoi_node node, aoi_record *r, const char **fault) {
    aoi_sight *g = aoi_sight_of_node(s, node);
    aoi_watch *n = g ? aoi_watch_of(g, node.index) : NULL;
    if (!n) return refuse(fault, "a pair is of no sight");
    if (!aoi_plugins_see(s)) return AOI_ENOMEM;
    for (uint64_t i = 0; i < r->count; i++) {
        const uint32_t target = aoi_slot_of_id(s, aoi_get_signed(&r->list));
        const uint64_t flags = aoi_get_varint(&r->list), age = aoi_get_varint(&r->list);
        if (target == AOI_NONE || target == n->owner) return refuse(fault, "a sight sees what is not there");
        const bool good = flags <= UINT8_MAX && age <= UINT32_MAX;
        const int result = good ? aoi_pair_restore(g, n, target, (int)flags, (uint32_t)age) : AOI_EVALUE;
        if (result != AOI_OK) return result == AOI_EVALUE ? refuse(fault, "a pair of a sight is in no state") : result;
    }
    return AOI_OK;
}

int aoi_sights_repeat(aoi_space *s, const aoi_load_options *o, aoi_record *r, const char **fault) {
    aoi_sight *g = aoi_sights_numbered(s, r->sight);
    const aoi_node node = aoi_find_node(s, aoi_find(s, r->id), r->node_id);
    if (r->what == AOI_CALL_OPEN_SIGHT) return open_again(s, r, fault);
    if (r->what == AOI_CALL_ADD_SIGHT_NODE) return add_node_again(s, o, r, fault);
    if (r->what == AOI_RECORD_PAIRS) return see_again(s, node, r, fault);
    if (r->what == AOI_CALL_OVERRIDE)
        return aoi_sight_of_node(s, node) ? aoi_override(s, node, aoi_find(s, r->target), (int)r->bits) : AOI_EVALUE;
    if (!g) return refuse(fault, "there is no sight of that number");
    switch (r->what) {
    case AOI_CALL_CLOSE_SIGHT:
        aoi_sight_close(g);
        return AOI_OK;
    case AOI_CALL_ADD_WALL:
        return add_wall_again(g, r, fault);
    case AOI_CALL_OPEN_WALL:
    case AOI_CALL_SHUT_WALL:
        return aoi_sight_open_wall(g, r->id, r->what == AOI_CALL_OPEN_WALL);
    case AOI_CALL_REMOVE_WALL:
        return aoi_sight_remove_wall(g, r->id);
    case AOI_CALL_TICK_SIGHT:
        r->id = g->sink != NULL;
        return aoi_sight_tick(g);
    default:
        return AOI_EVALUE;
    }
}

bool aoi_sights_show(aoi_space *s, aoi_entity client, aoi_entity target) {
    const uint32_t owner = aoi_entity_slot(s, client);
    bool sees = false;
    for (aoi_plugin *l = s->plugins; l && owner != AOI_NONE; l = l->next) {
        aoi_sight *g = aoi_sight_from(l);
        uint32_t k = g && g->sink && owner < g->thing_cap ? g->things[owner].watches : AOI_NONE;
        for (; k != AOI_NONE && !sees; k = g->watches[k]->next) {
            const uint32_t node = g->watches[k]->node;
            sees = aoi_sight_sees(g, (aoi_node){node, s->records.nodes[node].generation}, target);
        }
    }
    return sees;
}

aoi_sight *aoi_sights_adopt(const aoi_space *s) {
    aoi_sight *g;
    for (uint32_t number = 0; (g = sight_from(s, number, true)) != NULL; number = g->number + 1)
        if (g->stands_in && owns_walls(g)) break;
    if (g) g->stands_in = false;
    return g;
}
