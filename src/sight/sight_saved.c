/* sight_saved.c - sights in snapshots and journals: core/state_hook.h.
 *
 *   number; number of the first sight with the same walls, -1: this one; number of synchronisers, -1: not of clients
 *   last id, walls   [ id | open | ends (heights) ] ...
 *   nodes            [ entity | node id | linger | area | exceptions [ target | how ] | pairs [ target | state, age ] ] ...
 *   events           [ kind | watcher | node id | target ] ... that wait, and leaves that the next tick makes
 *
 * Lists but events are by rising id; sights that share walls have no walls, those of clients no events.  Pairs are
 * those that the area or the node saw at the last tick; all others follow from positions.  A state has the flags of the
 * pair, AREA only between two borders; the age of one that lingers is in ticks since the line was clear.  Flags of an
 * event: target or node had an id that is in use again, so that it cancels no enter; it waits for the next tick. */
#include <stdlib.h>

#include "core/state_hook.h"
#include "sight/sight.h"
#include "snapshot/snapshot.h"

/* ---- saving ------------------------------------------------------------------------------------------------------ */

typedef struct saved_item { /* a wall, a watch, or a target, to be sorted by id */
    int64_t id, node_id;
    uint32_t slot;
} saved_item;

typedef struct saving {
    aoi_sight *g;
    aoi_space *s;
    size_t end;
    bool refused;
    saved_item *items; /* a stack */
    uint32_t item_cap, count;
} saving;

/* Reserves that many bytes behind the present ones; NULL: memory refused. */
static unsigned char *saving_room(saving *v, size_t bytes) {
    aoi_sight *g = v->g;
    v->refused = v->refused || !AOI_GROW(aoi_sight_memory(g), g->saved, g->saved_cap, v->end + bytes + AOI_VARINT_ROOM);
    return v->refused ? NULL : g->saved + v->end;
}

static void saved_to(saving *v, const unsigned char *p) {
    v->end = (size_t)(p - v->g->saved);
}

/* Appends n integers. */
static void save_numbers(saving *v, const int64_t *numbers, int n) {
    unsigned char *p = saving_room(v, (size_t)n * AOI_MOST_VARINT);
    for (int i = 0; i < n && p; i++) p = aoi_put_signed(p, numbers[i]);
    if (p) saved_to(v, p);
}

static void note_item(saving *v, int64_t id, int64_t node_id, uint32_t slot) {
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

/* Sorts the items from `first` on, and appends their number. */
static void put_item_count(saving *v, uint32_t first) {
    if (v->count > first) qsort(v->items + first, v->count - first, sizeof *v->items, by_item);
    save_numbers(v, (int64_t[]){v->count - first}, 1);
}

static void save_walls(saving *v) {
    const aoi_walls *k = v->g->walls;
    const int dims = k->dims;
    save_numbers(v, &k->last_id, 1);
    for (uint32_t i = 0; i < k->record_top; i++)
        if (k->records[i].live) note_item(v, k->records[i].id, 0, i);
    put_item_count(v, 0);
    for (uint32_t i = 0; i < v->count; i++) {
        const aoi_wall_record *r = k->records + v->items[i].slot;
        save_numbers(v, (int64_t[]){r->id, r->w.open}, 2);
        const double values[] = {r->w.a[0], r->w.a[1], r->w.b[0], r->w.b[1], r->w.z0, r->w.z1};
        unsigned char *p = saving_room(v, sizeof values);
        for (int a = 0; a < (dims == 3 ? 6 : 4) && p; a++) p = aoi_put_double(p, values[a]);
        if (p) saved_to(v, p);
    }
    v->count = 0;
}

static void save_exceptions(saving *v, const aoi_watch *n) {
    const aoi_override_table *t = &v->s->overrides;
    const uint32_t first = v->count;
    if (v->s->world.nodes[n->node].flags & AOI_NODE_OVERRIDES)
        for (uint32_t i = 0; i < t->top; i++)
            if (t->records[i].how != AOI_BY_RULE && t->records[i].end[0] == n->node)
                note_item(v, v->s->world.entities[t->records[i].end[1]].id, 0, i);
    put_item_count(v, first);
    for (uint32_t i = first; i < v->count; i++)
        save_numbers(v, (int64_t[]){v->items[i].id, t->records[v->items[i].slot].how}, 2);
    v->count = first;
}

static void save_pairs(saving *v, const aoi_watch *n) {
    const aoi_sight *g = v->g;
    const uint32_t first = v->count;
    for (uint32_t i = 0; i < n->pair_count; i++)
        if (!(n->pairs[i].flags & AOI_PAIR_GONE) && n->pairs[i].flags & (AOI_PAIR_WAS | AOI_PAIR_SEEN))
            note_item(v, n->pairs[i].id, 0, i);
    put_item_count(v, first);
    for (uint32_t i = first; i < v->count; i++) {
        const aoi_sight_pair *p = n->pairs + v->items[i].slot;
        const bool lingers = p->flags & AOI_PAIR_SEEN && !(p->flags & AOI_PAIR_CLEAR);
        const bool kept = aoi_pair_table_has(&v->s->kept, n->node, p->target);
        const unsigned flags = p->flags & (kept ? AOI_PAIR_SAVED : AOI_PAIR_SAVED & ~AOI_PAIR_AREA);
        save_numbers(v, (int64_t[]){p->id, flags, lingers ? g->now - p->clear : 0}, 3);
    }
    v->count = first;
}

static void save_watches(saving *v) {
    aoi_space *s = v->s;
    const aoi_sight *g = v->g;
    for (uint32_t k = 0; k < g->watch_top; k++)
        if (g->watches[k] && !g->watches[k]->gone) note_item(v, g->watches[k]->watcher, g->watches[k]->node_id, k);
    put_item_count(v, 0);
    for (uint32_t i = 0, count = v->count; i < count && !v->refused; i++) {
        const aoi_watch *n = g->watches[v->items[i].slot];
        aoi_area area;
        aoi_describe_node(s, n->node, &area);
        save_numbers(v, (int64_t[]){n->watcher, n->node_id, n->linger}, 3);
        unsigned char *p = saving_room(v, AOI_AREA_ROOM);
        if (p) saved_to(v, aoi_put_area(p, s->world.dims, &area));
        save_exceptions(v, n);
        save_pairs(v, n);
    }
}

/* Whether no older sight of the host has the same walls: the host opens sights of clients and of shared walls again. */
static bool owns_walls(const aoi_sight *g) {
    bool owns = !g->sink;
    for (aoi_layer *l = g->layer.space->layers; l && owns; l = l->next) {
        const aoi_sight *o = aoi_sight_from(l);
        owns = !o || o->sink || o->walls != g->walls || o->number >= g->number;
    }
    return owns;
}

static bool is_saved(const aoi_sight *g) {
    return g->stands_in || owns_walls(g);
}

/* Whether the node is there when the events of the sight are restored: those of later sights are not. */
static bool is_before_events(const aoi_sight *g, aoi_node node) {
    const aoi_sight *of = aoi_sight_of_node(g->layer.space, node);
    return !of || of == g || (is_saved(of) && of->number < g->number);
}

enum {
    FORMER_TARGET = 4,
    FORMER_NODE = 8,
    OWED = 16,
    BECAUSE = 32
}; /* flags of the kind of an event, then its reason */

static void save_event(saving *v, int kind, const aoi_queued *e) {
    const aoi_space *s = v->s;
    const uint32_t target = aoi_slot_of_id(s, e->target);
    const aoi_node node = aoi_find_node(s, aoi_find(s, e->watcher), e->node_id);
    if (target != AOI_NONE && (target != e->entity || s->world.entities[target].generation != e->life))
        kind |= FORMER_TARGET;
    if (!AOI_IS_NULL(node) && node.index != e->node && is_before_events(v->g, node)) kind |= FORMER_NODE;
    save_numbers(v, (int64_t[]){kind + BECAUSE * e->because, e->watcher, e->node_id, e->target}, 4);
}

static void save_events(saving *v) {
    const aoi_sight *g = v->g;
    const aoi_event_queue *q = &g->queue;
    v->count = 0;
    for (uint32_t i = 0; i < g->due_count; i++) { /* what is gone is due */
        const aoi_watch *n = g->watches[g->due[i].watch];
        const aoi_sight_pair *p = n->pairs + g->due[i].pair;
        if ((p->flags & (AOI_PAIR_GONE | AOI_PAIR_SEEN)) == (AOI_PAIR_GONE | AOI_PAIR_SEEN))
            note_item(v, p->id, n->watcher, i);
    }
    if (v->count) qsort(v->items, v->count, sizeof *v->items, by_item);
    if (g->sink) v->count = 0; /* the sink has already been notified */
    save_numbers(v, (int64_t[]){(int64_t)q->count + v->count}, 1);
    uint32_t now = aoi_layer_waiting(&g->layer);
    for (uint32_t i = q->head; q->count && (i = aoi_queue_from(q, i)) < q->top; i++) {
        save_event(v, q->events[i].kind | (now ? 0 : OWED), q->events + i);
        now -= now > 0;
    }
    for (uint32_t i = 0; i < v->count; i++) {
        const aoi_watch *n = g->watches[g->due[v->items[i].slot].watch];
        const aoi_sight_pair *p = n->pairs + g->due[v->items[i].slot].pair;
        save_event(v, AOI_LEAVE | OWED,
                   &(aoi_queued){n->watcher, p->id, n->node_id, n->node, p->target, p->life, 0, false, p->because});
    }
}

/* The sight with the lowest number from that on, of all or only of those in snapshots; NULL: none. */
static aoi_sight *sight_from(const aoi_space *s, uint32_t number, bool saved) {
    aoi_sight *first = NULL, *g;
    for (aoi_layer *l = s->layers; l; l = l->next)
        if ((g = aoi_sight_from(l)) != NULL && g->number >= number && (!first || g->number < first->number) &&
            (!saved || is_saved(g)))
            first = g;
    return first;
}

bool aoi_sights_next(const aoi_space *s, uint32_t *number) {
    const aoi_sight *g = sight_from(s, *number, true);
    if (g) *number = g->number;
    return g != NULL;
}

aoi_sight *aoi_sights_numbered(const aoi_space *s, uint32_t number) {
    aoi_sight *g = sight_from(s, number, false);
    return g && g->number == number ? g : NULL;
}

/* The lowest sight with the same walls, of all or only of those in snapshots. */
static const aoi_sight *first_of(const aoi_sight *g, bool saved) {
    const aoi_sight *first = sight_from(g->layer.space, 0, saved);
    while (first->walls != g->walls) first = sight_from(g->layer.space, first->number + 1, saved);
    return first;
}

const aoi_sight *aoi_sights_with_walls(const aoi_space *s, uint32_t number) {
    const aoi_sight *g;
    while ((g = sight_from(s, number, false)) != NULL && first_of(g, false) != g) number = g->number + 1;
    return g;
}

bool aoi_sights_of_node(const aoi_space *s, uint32_t node, uint32_t *number, uint32_t *linger) {
    aoi_layer_node *n = aoi_layer_node_from(s->world.areas[node].user_data);
    const aoi_sight *g = s->world.nodes[node].flags & AOI_NODE_LAYER ? aoi_sight_from(n->layer) : NULL;
    if (!g) return false;
    *number = first_of(g, false)->number;
    *linger = ((aoi_watch *)n)->linger;
    return true;
}

bool aoi_sights_pack(aoi_space *s, uint32_t number, const unsigned char **bytes, size_t *size) {
    aoi_sight *g = aoi_sights_numbered(s, number);
    const aoi_sight *first = first_of(g, is_saved(g));
    saving v = {.g = g, .s = s};
    save_numbers(
        &v, (int64_t[]){number, first == g ? -1 : (int64_t)first->number, g->sink ? (int64_t)s->sync_count : -1}, 3);
    if (first == g) save_walls(&v);
    save_watches(&v);
    save_events(&v);
    AOI_FREE(&s->world.memory, v.items, v.item_cap);
    *bytes = g->saved;
    *size = v.end;
    return !v.refused;
}

/* Records the number and the contents of the sight in the journal. */
void aoi_sight_opened(aoi_sight *g) {
    aoi_space *s = g->layer.space;
    aoi_call c = {.call = AOI_CALL_OPEN_SIGHT, .sight = g->number};
    const unsigned char *bytes;
    if (!s->journal) return;
    if (!aoi_sights_pack(s, g->number, &bytes, &c.count)) c.result = AOI_ENOMEM;
    c.bytes = bytes;
    aoi_log(s, &c);
}

void aoi_sights_log(aoi_space *s) {
    aoi_sight *g;
    for (uint32_t number = 0; (g = sight_from(s, number, false)) != NULL; number = g->number + 1)
        if (!is_saved(g)) aoi_sight_opened(g);
}

/* ---- restoring --------------------------------------------------------------------------------------------------- */

typedef struct restoring {
    aoi_bytes in;
    aoi_sight *g;
    aoi_space *s;
    const aoi_load_options *o;
    const char *fault;
    int result;
} restoring;

static bool restore_fails(restoring *r, const char *fault) {
    if (r->result == AOI_OK) r->fault = fault;
    if (r->result == AOI_OK) r->result = fault ? AOI_EVALUE : AOI_ENOMEM;
    return false;
}

static bool restored(restoring *r, int result, const char *fault) {
    return result == AOI_OK || restore_fails(r, result == AOI_ENOMEM ? NULL : fault);
}

static bool restoring_ok(restoring *r) {
    return aoi_bytes_good(&r->in) || restore_fails(r, "a sight is cut off");
}

/* Reads the number of elements of at least `size` bytes; 0, and cut, if that many cannot follow. */
static uint64_t get_many(restoring *r, uint64_t size) {
    const int64_t n = aoi_get_signed(&r->in);
    if (n >= 0 && (uint64_t)n <= (uint64_t)(r->in.end - r->in.at) / size) return (uint64_t)n;
    r->in.cut = true;
    return 0;
}

static bool restore_walls(restoring *r) {
    aoi_walls *k = r->g->walls;
    const int64_t last = aoi_get_signed(&r->in);
    for (uint64_t n = get_many(r, 34); n; n--) {
        aoi_wall w = {.z0 = -INFINITY, .z1 = INFINITY};
        double *const to[] = {w.a, w.a + 1, w.b, w.b + 1, &w.z0, &w.z1};
        const int64_t id = aoi_get_signed(&r->in), open = aoi_get_signed(&r->in);
        for (int a = 0; a < (k->dims == 3 ? 6 : 4); a++) *to[a] = aoi_get_double(&r->in);
        if (!restoring_ok(r)) return false;
        w.open = open == 1;
        if ((open & ~INT64_C(1)) || id < 1 || id > last || aoi_wall_slot(k, id) != AOI_NONE)
            return restore_fails(r, "ids of walls are wrong");
        if (!restored(r, aoi_walls_add(k, &w, id, NULL), "a wall is no segment")) return false;
    }
    if (last < k->last_id) return restore_fails(r, "ids of walls are wrong");
    k->last_id = last;
    return restoring_ok(r);
}

/* Reads the id of a target, which must be higher than the last one. */
static bool restore_target(restoring *r, uint64_t i, int64_t *last, uint32_t owner, uint32_t *target) {
    const int64_t id = aoi_get_signed(&r->in);
    if (!restoring_ok(r)) return false;
    *target = aoi_slot_of_id(r->s, id);
    if (*target == AOI_NONE || *target == owner || (i && id <= *last))
        return restore_fails(r, "a sight sees what is not there");
    *last = id;
    return true;
}

static bool restore_exceptions(restoring *r, aoi_node node, uint32_t owner) {
    int64_t last = 0;
    uint32_t target;
    const uint64_t count = get_many(r, 2);
    for (uint64_t i = 0; i < count; i++) {
        if (!restore_target(r, i, &last, owner, &target)) return false;
        const int64_t how = aoi_get_signed(&r->in);
        if (how < AOI_HIDE || how > AOI_MATCH) return restore_fails(r, "an override is of no kind");
        const aoi_entity e = {target, r->s->world.entities[target].generation};
        if (!restored(r, aoi_override(r->s, node, e, (int)how), "an override is of no kind")) return false;
    }
    return restoring_ok(r);
}

static bool restore_pair(restoring *r, aoi_watch *n, uint32_t target, int64_t flags, int64_t age) {
    const bool good = flags >= 0 && flags <= UINT8_MAX && age >= 0 && age <= UINT32_MAX;
    const int result = good ? aoi_pair_restore(r->g, n, target, (int)flags, (uint32_t)age) : AOI_EVALUE;
    return restored(r, result, "a pair of a sight is in no state");
}

static bool restore_watch(restoring *r) {
    aoi_space *s = r->s;
    double points[2 * AOI_MOST_CORNERS] = {0};
    aoi_area area;
    const int64_t watcher = aoi_get_signed(&r->in), node_id = aoi_get_signed(&r->in), linger = aoi_get_signed(&r->in);
    aoi_loaded_node asked = {.watcher = watcher, .node_id = node_id};
    const char *fault = aoi_get_area(&r->in, s->world.dims, points, &area);
    aoi_node node;
    if (!restoring_ok(r)) return false;
    if (fault || linger < 0 || linger > UINT32_MAX)
        return restore_fails(r, fault ? fault : "a node lingers for too long");
    const uint32_t owner = aoi_slot_of_id(s, watcher);
    if (owner == AOI_NONE || area.silent) return restore_fails(r, "a node of a sight is carried by no entity");
    if (!aoi_host_takes(r->o, s, &asked)) return restore_fails(r, "the host has refused a node");
    area.user_data = asked.user_data;
    const aoi_entity e = {owner, s->world.entities[owner].generation};
    const int result = aoi_sight_add_node(r->g, e, node_id, &area, (uint32_t)linger, &node);
    if (!restored(r, result, "an entity has two nodes of one id")) return false;
    if (!restore_exceptions(r, node, owner)) return false;
    if (!aoi_layers_see(s)) return restore_fails(r, NULL);
    aoi_watch *n = aoi_watch_of(r->g, node.index);
    const uint64_t count = get_many(r, 3);
    int64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t target;
        if (!restore_target(r, i, &last, owner, &target)) return false;
        const int64_t flags = aoi_get_signed(&r->in), age = aoi_get_signed(&r->in);
        if (!restoring_ok(r) || !restore_pair(r, n, target, flags, age)) return false;
    }
    return restoring_ok(r);
}

/* A node that has gone gets a slot, which is reserved until its event is taken. */
static bool restore_event(restoring *r) {
    aoi_space *s = r->s;
    const int64_t first = aoi_get_signed(&r->in), how = first & (BECAUSE - 1), because = first / BECAUSE;
    const int64_t watcher = aoi_get_signed(&r->in);
    const int64_t node_id = aoi_get_signed(&r->in), target = aoi_get_signed(&r->in);
    if (!restoring_ok(r)) return false;
    const int64_t kind = how & ~(int64_t)(FORMER_TARGET | FORMER_NODE | OWED);
    if ((kind != AOI_ENTER || how & OWED) && kind != AOI_LEAVE) return restore_fails(r, "an event is of no kind");
    if (first < 0 || because > 1 + AOI_MOST_REASON || (because && kind == AOI_ENTER))
        return restore_fails(r, "an event is of no kind");
    if (r->g->layer.held && !(how & OWED))
        return restore_fails(r, "an event that waits is behind one of the next tick");
    uint32_t node = aoi_node_slot(s, aoi_find_node(s, aoi_find(s, watcher), node_id));
    uint32_t t = how & FORMER_TARGET ? AOI_NONE : aoi_slot_of_id(s, target);
    if (how & FORMER_NODE || !aoi_watch_of(r->g, node)) {
        aoi_loaded_node gone = {.watcher = watcher, .node_id = node_id, .gone = true};
        if (!aoi_host_takes(r->o, s, &gone)) return restore_fails(r, "the host has refused a node");
        if (!aoi_restore_gone_node(s, node_id, gone.user_data, &node)) return restore_fails(r, NULL);
    }
    if (!aoi_queue_ready(&s->world.memory, &r->g->queue)) return restore_fails(r, NULL);
    const uint32_t life = t == AOI_NONE ? 2 * r->g->queue.top : s->world.entities[t].generation; /* even: no entity */
    aoi_append(s, &r->g->queue,
               &(aoi_queued){watcher, target, node_id, node, t, life, (uint8_t)kind, false, (uint16_t)because});
    r->g->layer.held += (how & OWED) != 0;
    r->g->layer.owes |= (how & OWED) != 0;
    return true;
}

static bool null_see(uint64_t client, uint32_t target, uint32_t *name, bool enters) {
    (void)client, (void)target, (void)name, (void)enters;
    return true;
}

static void null_end(uint64_t client) {
    (void)client;
}

static const aoi_sight_sink null_sink = {null_see, null_end}; /* for clients that do not exist */

/* Opens the sight, with the walls of the given one or its own. */
static bool restore_sight(restoring *r) {
    aoi_space *s = r->s;
    const int64_t number = aoi_get_signed(&r->in), walls = aoi_get_signed(&r->in), syncs = aoi_get_signed(&r->in);
    if (!restoring_ok(r)) return false;
    const aoi_sight *of = walls < 0 || walls >= AOI_MOST_STATES ? NULL : aoi_sights_numbered(s, (uint32_t)walls);
    if (number < 0 || number >= AOI_MOST_STATES || aoi_sights_numbered(s, (uint32_t)number))
        return restore_fails(r, "the number of a sight is taken");
    if (walls < -1 || (walls >= 0 && !of) || syncs < -1 || syncs >= AOI_MOST_STATES)
        return restore_fails(r, "a sight shares the walls of none");
    if (aoi_sight_open_for(s, of ? of->walls : NULL, syncs < 0 ? NULL : &null_sink, &r->g) != AOI_OK)
        return restore_fails(r, NULL);
    r->g->number = (uint32_t)number;
    r->g->stands_in = true;
    if (syncs >= 0 && s->sync_count < (uint32_t)syncs) s->sync_count = (uint32_t)syncs; /* their node ids are in use */
    return of || restore_walls(r);
}

static int restore_all(restoring *r) {
    bool good = restore_sight(r);
    for (uint64_t n = good ? get_many(r, 13) : 0; n && good; n--) good = restore_watch(r);
    for (uint64_t n = good ? get_many(r, 4) : 0; n && good; n--) good = restore_event(r);
    if (good && restoring_ok(r) && r->in.at < r->in.end) (void)restore_fails(r, "bytes follow a sight");
    if (r->g) r->g->queue.ordered_end = r->g->queue.top;
    return r->result;
}

int aoi_sights_apply(aoi_space *s, const void *bytes, size_t size, uint32_t *number, const aoi_load_options *o,
                     const char **fault) {
    const unsigned char *begin = bytes;
    restoring r = {.in = {.at = begin, .end = begin + size}, .s = s, .o = o};
    aoi_journal *journal = s->journal;
    s->journal = NULL; /* one record has all of it */
    const int result = restore_all(&r);
    s->journal = journal;
    if (r.g) *number = r.g->number;
    if (result == AOI_OK) aoi_sight_opened(r.g);
    *fault = r.fault;
    return result;
}

bool aoi_sights_of_clients(const aoi_sight *g) {
    return g->sink != NULL;
}

bool aoi_sights_show(aoi_space *s, aoi_entity client, aoi_entity target) {
    const uint32_t owner = aoi_entity_slot(s, client);
    bool sees = false;
    for (aoi_layer *l = s->layers; l && owner != AOI_NONE; l = l->next) {
        aoi_sight *g = aoi_sight_from(l);
        uint32_t k = g && g->sink && owner < g->thing_cap ? g->things[owner].watches : AOI_NONE;
        for (; k != AOI_NONE && !sees; k = g->watches[k]->next) {
            const uint32_t node = g->watches[k]->node;
            sees = aoi_sight_sees(g, (aoi_node){node, s->world.nodes[node].generation}, target);
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
