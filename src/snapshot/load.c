/* load.c - loads a space from the records of its state; see snapshot.h.
 *
 * No pair is evaluated: there is no node yet where entities enter, and what nodes see follows from positions and kept
 * pairs.  At the end the space is saved, and must give the bytes that were loaded: records
 * in another order, twice, or spelled in another way are refused by that. */
#include <stdlib.h>

#include "snapshot/snapshot.h"

enum { LOOKS = 3, SIGHTS = 12, WANTS_CROSSINGS = 128 }; /* stages of a state; the records of sights are the last one */

typedef struct loader {
    aoi_output again; /* first: hand_over receives its address; compares with the bytes from `at` on */
    const unsigned char *at, *end;
    bool differs;
    const aoi_load_options *o;
    aoi_space *s;
    const char *fault; /* the first one */
    bool no_memory;
    int64_t last_id; /* of slot_of */
    uint32_t last_slot;
    int stage;            /* of the last record; they do not go back */
    const char *engine;   /* these two as the bytes say */
    uint8_t *nodes;       /* AOI_AS_SILENT ... by slot; WANTS_CROSSINGS: the host does */
    aoi_candidate *slack; /* kept pairs of sectors that are not between borders here */
    uint32_t node_cap, slack_cap, slack_count;
    aoi_record record;
    unsigned char buffer[8192 + AOI_VARINT_ROOM];
} loader;

/* The functions of this file return whether to continue. */
static bool fail(loader *l, const char *fault) {
    if (!l->fault) l->fault = fault;
    return false;
}

static bool lacks_memory(loader *l) {
    l->no_memory = true;
    return false;
}

/* Whether a call has succeeded. */
static bool made(loader *l, int result, const char *fault) {
    return result == AOI_OK || (result == AOI_ENOMEM ? lacks_memory(l) : fail(l, fault));
}

/* ---- head --------------------------------------------------------------------------------------------------------- */

static const char *known_engine(const unsigned char *name, unsigned length) {
    const char *known;
    for (int i = 0; (known = aoi_engine_name(i)) != NULL; i++)
        if (strlen(known) == length && !memcmp(known, name, length)) break;
    return known;
}

static bool load_head(loader *l, aoi_bytes *in) {
    const int dims = (int)aoi_get_byte(in);
    const unsigned deferred = aoi_get_byte(in), length = aoi_get_byte(in);
    const unsigned char *name = in->at;
    aoi_skip_bytes(in, length);
    l->engine = in->cut ? NULL : known_engine(name, length);
    aoi_options o = {.engine = l->o->engine ? l->o->engine : l->engine,
                     .dimensions = dims,
                     .cell = aoi_get_double(in),
                     .deferred = deferred != 0,
                     .alloc = l->o->alloc,
                     .alloc_ud = l->o->alloc_ud};
    const uint64_t taken = aoi_get_varint(in), count = aoi_get_varint(in);
    if (in->cut) return fail(l, "it is cut off");
    if (dims != 2 && dims != 3) return fail(l, "dimensions are neither 2 nor 3");
    if (!l->engine) return fail(l, "it is of an engine that this library does not have");
    if (!(o.cell >= 0)) return fail(l, "the cell size is negative or nan");
    if (count > AOI_MOST_ENTITIES || count > (uint64_t)(in->end - in->at)) return fail(l, "it has too many entities");
    int result = aoi_open(&o, &l->s);
    if (result == AOI_EVALUE) return fail(l, "there is no engine of that name to load it into");
    if (result != AOI_OK) return lacks_memory(l);
    aoi_records *r = &l->s->records;
    l->s->taken = taken;
    return (aoi_grid_begin_watch(&l->s->index.grid) && /* while it is empty */
            AOI_GROW_LINES(&r->memory, r->entities, r->entity_cap, (size_t)count) &&
            aoi_hash_index_reserve(&r->memory, &l->s->ids, (size_t)(count + count / 2))) ||
           lacks_memory(l);
}

/* No node is there yet that might see it. */
static bool load_entity(loader *l, aoi_record *r) {
    aoi_space *s = l->s;
    const aoi_records *w = &s->records;
    if (w->entity_count && r->id <= w->entities[w->entity_count - 1].id) return fail(l, "ids of entities do not rise");
    if (!aoi_is_place(s, r->values)) return fail(l, "a coordinate is nan or beyond 2^50");
    const uint32_t e = aoi_new_entity(s, r->id, r->values, r->bits);
    return (e != AOI_NONE && aoi_broad_enter(&s->index, e)) || lacks_memory(l);
}

/* ---- areas -------------------------------------------------------------------------------------------------------- */

/* The label within the bytes; NULL: it is truncated. */
static const char *get_label(aoi_bytes *in) {
    const unsigned char *begin = in->at, *end = memchr(begin, 0, (size_t)(in->end - begin));
    if (!end) in->cut = true;
    in->at = end ? end + 1 : in->end;
    return end ? (const char *)begin : NULL;
}

void aoi_outline_free(aoi_outline *o) {
    AOI_FREE(o->memory, o->points, o->point_cap);
    AOI_FREE(o->memory, o->ends, o->end_cap);
}

static void get_outline(aoi_bytes *in, aoi_outline *o, aoi_area *out) {
    const uint32_t corners = (uint32_t)out->corners, rings = (uint32_t)out->rings;
    o->refused = !AOI_GROW(o->memory, o->points, o->point_cap, 2 * (size_t)corners) ||
                 !AOI_GROW(o->memory, o->ends, o->end_cap, (size_t)rings);
    in->cut |= o->refused;
    if (in->cut) return;
    for (uint32_t k = 0; k < rings; k++) {
        const uint64_t n = aoi_get_varint(in);
        o->ends[k] = (k ? o->ends[k - 1] : 0) + (int)(n < corners ? n : 0);
    }
    for (uint32_t i = 0; i < 2 * corners; i++) o->points[i] = aoi_get_double(in);
    out->points = o->points, out->ends = o->ends;
}

const char *aoi_get_area(aoi_bytes *in, int dims, aoi_outline *o, aoi_area *out) {
    unsigned head = aoi_get_byte(in);
    const char *label = head == AOI_AREA_LABELLED ? get_label(in) : NULL;
    if (label) head = aoi_get_byte(in);
    const bool outside = head == AOI_AREA_OUTSIDE;
    if (outside) head = aoi_get_byte(in);
    const bool fixed = head == AOI_AREA_FIXED;
    if (fixed) head = aoi_get_byte(in);
    const bool crosses = head == AOI_AREA_CROSSES;
    if (crosses) head = aoi_get_byte(in);
    const bool shifted = head == AOI_AREA_SHIFTED;
    double offset[3] = {0, 0, 0};
    for (int i = 0; i < dims && shifted; i++) offset[i] = aoi_get_double(in);
    if (shifted) head = aoi_get_byte(in);
    *out = (aoi_area){.label = label,
                      .shape = (int)(head & AOI_AREA_SHAPE),
                      .outside = outside,
                      .fixed = fixed,
                      .crosses = crosses,
                      .offset = {offset[0], offset[1], offset[2]},
                      .silent = (head & AOI_AREA_SILENT) != 0};
    if (shifted && !aoi_area_has_offset(dims, out)) return "an offset of 0 is spelled out";
    bool simple = out->shape == AOI_SQUARE || out->shape == AOI_CIRCLE;
    bool flat = out->shape == AOI_SECTOR || out->shape == AOI_POLYGON;
    if (!aoi_shape_name(out->shape) || ((head & AOI_AREA_HEIGHT) && (!flat || dims < 3)))
        return "an area is of no shape";
    out->mask = head & AOI_AREA_MASKED ? aoi_get_varint(in) : AOI_ALL_KINDS;
    if ((head & AOI_AREA_MASKED) && out->mask == AOI_ALL_KINDS) return "a mask of all kinds is spelled out";
    out->layered = (head & AOI_AREA_LAYERS) != 0;
    if (out->layered) out->layers = aoi_get_varint(in);
    out->half_height = INFINITY;
    if (out->shape == AOI_BOX) {
        for (int a = 0; a < dims; a++) out->extents[a] = aoi_get_double(in);
    } else if (out->shape == AOI_POLYGON) {
        const uint64_t corners = aoi_get_count(in, 16), rings = aoi_get_varint(in);
        if (corners > AOI_MOST_CORNERS || rings == 1 || 3 * rings > corners) return "a polygon is of no rings";
        out->corners = (int)corners, out->rings = (int)rings;
    } else out->radius = aoi_get_double(in);
    if (out->shape == AOI_SECTOR) {
        out->facing = aoi_get_double(in);
        out->angle = aoi_get_double(in);
    }
    if (out->shape == AOI_CYLINDER || (head & AOI_AREA_HEIGHT)) out->half_height = aoi_get_double(in);
    double grown = head & AOI_AREA_GROWN ? aoi_get_double(in) : 0;
    if (simple) out->keep = grown;
    else out->margin = grown;
    if ((head & AOI_AREA_GROWN) && !(grown > (simple ? out->radius : 0))) return "an area does not grow";
    if ((head & AOI_AREA_HEIGHT) && isinf(out->half_height)) return "an infinite height is spelled out";
    if (out->corners) get_outline(in, o, out);
    if (in->cut) return "it is cut off";
    return aoi_area_fault(dims, out);
}

/* ---- nodes and pairs ---------------------------------------------------------------------------------------------- */

/* The slot of an entity; mostly that of the last one that was asked for, plus the difference of the ids. */
static uint32_t slot_of(loader *l, int64_t id) {
    const aoi_records *r = &l->s->records;
    const uint64_t guess = l->last_slot + ((uint64_t)id - (uint64_t)l->last_id);
    const uint32_t slot =
        guess < r->entity_top && r->entities[guess].id == id ? (uint32_t)guess : aoi_slot_of_id(l->s, id);
    if (slot == AOI_NONE) return slot;
    l->last_id = id;
    return l->last_slot = slot;
}

static bool load_node(loader *l, aoi_record *r) {
    aoi_space *s = l->s;
    const aoi_area a = r->area;
    aoi_loaded_node n = {.watcher = r->id, .node_id = r->node_id, .silent = a.silent, .crosses = a.crosses};
    const aoi_entity owner = aoi_find(s, r->id);
    uint32_t slot;
    if (AOI_IS_NULL(owner)) return fail(l, "a node is carried by no entity");
    if (!AOI_IS_NULL(aoi_find_node(s, owner, r->node_id))) return fail(l, "an entity has two nodes of one id");
    if (!aoi_host_takes(l->o, s, &n)) return fail(l, "the host has refused a node");
    r->area.silent = n.silent;
    r->area.user_data = n.user_data;
    if (aoi_restore_node(s, owner.index, r->node_id, &r->area, &slot) != AOI_OK ||
        !AOI_GROW(&s->records.memory, l->nodes, l->node_cap, slot + (size_t)1))
        return lacks_memory(l);
    l->nodes[slot] = (uint8_t)((a.silent ? AOI_AS_SILENT : 0) | (a.crosses ? AOI_AS_CROSSES : 0) |
                               (n.crosses ? WANTS_CROSSINGS : 0));
    return true;
}

/* Crossings are as the host wants them only now: ways are of nodes that the bytes say are crossed. */
static bool give_crossings(loader *l) {
    aoi_space *s = l->s;
    for (uint32_t n = 0; n < l->node_cap && n < s->records.node_top; n++) {
        aoi_node_record *r = s->records.nodes + n;
        const bool wanted = l->nodes[n] & WANTS_CROSSINGS;
        if (!aoi_is_live(r->generation) || r->flags & AOI_NODE_PLUGIN || r->crosses == wanted) continue;
        if (wanted && !aoi_crosser_ready(s)) return lacks_memory(l);
        if (wanted) aoi_add_crosser(s, n, false);
        else aoi_remove_crosser(s, n);
        r->crosses = wanted;
        r->fresh = 0;
    }
    return true;
}

/* The slot of the record's node. */
static bool find_node(loader *l, const aoi_record *r, uint32_t *node) {
    *node = aoi_node_slot(l->s, aoi_find_node(l->s, aoi_find(l->s, r->id), r->node_id));
    return *node != AOI_NONE || fail(l, "a pair has no node");
}

static bool find_target(loader *l, uint32_t node, int64_t id, uint32_t *target) {
    *target = slot_of(l, id);
    if (*target == AOI_NONE) return fail(l, "a pair has no target");
    return l->s->records.nodes[node].owner != *target || fail(l, "an entity watches itself");
}

static bool load_fresh(loader *l, const aoi_record *r) {
    uint32_t node;
    if (!find_node(l, r, &node)) return false;
    if (!l->s->deferred || !l->s->records.nodes[node].crosses) return fail(l, "a node is new, and need not be");
    l->s->records.nodes[node].fresh = l->s->crossings.fresh = true;
    return true;
}

static bool load_way(loader *l, const aoi_record *r) {
    aoi_crossings *c = &l->s->crossings;
    const uint32_t entity = slot_of(l, r->id);
    if (entity == AOI_NONE || !c->node_count || !l->s->deferred) return fail(l, "a way is of no entity");
    if (r->bits > 1 || !aoi_is_place(l->s, r->values)) return fail(l, "a way begins nowhere");
    aoi_note_way(l->s, entity, r->bits);
    if (!r->bits) memcpy(c->ways[c->way_of[entity]].from, r->values, (size_t)l->s->records.dims * sizeof(double));
    return true;
}

static bool load_override(loader *l, const aoi_record *r) {
    aoi_space *s = l->s;
    uint32_t node, target;
    if (!find_node(l, r, &node) || !find_target(l, node, r->target, &target)) return false;
    if (r->bits < AOI_HIDE || r->bits > (AOI_MATCH | AOI_TOLD)) return fail(l, "an override is of no kind");
    if (!aoi_overrides_reserve(&s->records.memory, &s->overrides)) return lacks_memory(l);
    aoi_overrides_set(&s->overrides, node, target, (int)r->bits);
    s->records.nodes[node].flags |= AOI_NODE_OVERRIDES;
    aoi_mask_changed(s, node);
    return true;
}

/* Whether pairs can be verified exactly: sectors depend on the sine and cosine of the C library, which may differ. */
static bool is_exact(const aoi_space *s, uint32_t node) {
    return aoi_given_shape(&s->records, node) != AOI_SECTOR;
}

static bool load_kept(loader *l, uint32_t node, uint32_t target) {
    aoi_space *s = l->s;
    const aoi_entity_record *e = s->records.entities;
    const bool meets = aoi_pair_meets(s, node, target);
    if (aoi_pair_table_has(&s->kept, node, target)) return fail(l, "a pair stands there twice");
    aoi_pair_table_add(&s->kept, node, target);
    if (meets && aoi_pair_zone(s, node, target, e[s->records.nodes[node].owner].pos, e[target].pos) == AOI_BETWEEN)
        return true;
    if (!meets || is_exact(s, node)) return fail(l, "a pair is kept that is not between the borders");
    if (!AOI_GROW(&s->records.memory, l->slack, l->slack_cap, l->slack_count + (size_t)1)) return lacks_memory(l);
    l->slack[l->slack_count++] = (aoi_candidate){node, target};
    return true;
}

static bool load_changed(loader *l, uint32_t node, uint32_t target) {
    aoi_space *s = l->s;
    if (!s->deferred || !s->records.nodes[node].outside) return fail(l, "a pair is marked that needs no mark");
    if (aoi_pair_table_has(&s->kept, node, target | AOI_PAIR_CHANGED)) return fail(l, "a pair stands there twice");
    if (!AOI_GROW(&s->records.memory, s->changed, s->changed_cap, s->changed_count + (size_t)1)) return lacks_memory(l);
    aoi_pair_table_add(&s->kept, node, target | AOI_PAIR_CHANGED);
    s->changed[s->changed_count++] = (aoi_candidate){node, target};
    return true;
}

static bool load_pairs(loader *l, aoi_record *r) {
    aoi_space *s = l->s;
    uint32_t node, target;
    if (!find_node(l, r, &node)) return false;
    if (!aoi_hash_index_reserve(&s->records.memory, &s->kept, s->kept.count + (size_t)r->count)) return lacks_memory(l);
    for (uint64_t i = 0; i < r->count; i++) {
        if (!find_target(l, node, aoi_get_signed(&r->list), &target)) return false;
        if (!(r->what == AOI_RECORD_KEPT ? load_kept : load_changed)(l, node, target)) return false;
    }
    return true;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/* The slot of the event's node, found or made again. */
static bool node_of(loader *l, const aoi_saved_event *e, uint32_t *node) {
    aoi_space *s = l->s;
    aoi_loaded_node gone = {.watcher = e->watcher, .node_id = e->node_id, .gone = true};
    if (!(e->how & AOI_EVENT_NODE_GONE)) {
        *node = aoi_node_slot(s, aoi_find_node(s, aoi_find(s, e->watcher), e->node_id));
        return *node != AOI_NONE || fail(l, "an event has no node");
    }
    if (!aoi_host_takes(l->o, s, &gone)) return fail(l, "the host has refused a node");
    return aoi_restore_gone_node(s, e->node_id, gone.user_data, node) || lacks_memory(l);
}

/* Whether the node is of the space, or of the sight; and of the space, whether the event agrees with what it sees. */
static bool event_agrees(loader *l, const aoi_queued *e, const aoi_plugin *of) {
    const aoi_space *s = l->s;
    const aoi_node_record *n = s->records.nodes + e->node;
    const bool lives = aoi_is_live(n->generation), layered = n->flags & AOI_NODE_PLUGIN;
    if (lives && (layered ? aoi_plugin_node_from(s->records.areas[e->node].user_data)->plugin : NULL) != of)
        return fail(l, "an event has no node");
    if (of) return true; /* its ticks decide */
    if (!lives || e->entity == AOI_NONE) return e->kind == AOI_LEAVE || fail(l, "something that is gone enters");
    if (n->owner == e->entity) return fail(l, "an entity watches itself");
    return e->kind == AOI_CROSS || !is_exact(s, e->node) ||
           aoi_node_sees(s, e->node, e->entity) == (e->kind == AOI_ENTER) || fail(l, "an event tells what is not so");
}

static bool load_event(loader *l, const aoi_saved_event *e, uint32_t node, aoi_plugin *of) {
    aoi_space *s = l->s;
    aoi_event_queue *q = of ? of->queue : &s->queue;
    const unsigned kind = e->how & AOI_EVENT_KIND;
    const bool because = e->how & AOI_EVENT_BECAUSE, owed = e->how & AOI_EVENT_OWED;
    const bool gone = e->how & AOI_EVENT_TARGET_GONE;
    const bool crosses = kind == AOI_CROSS;
    if (e->how > 63 || !kind || (kind != AOI_LEAVE && (because || owed)) || (owed && !of) ||
        (crosses && (of || !(e->t > 0 && e->t < 1))))
        return fail(l, "an event is of no kind");
    const uint32_t target = gone ? AOI_NONE : slot_of(l, e->target);
    if (target == AOI_NONE && !gone) return fail(l, "an event has no target");
    if (!aoi_queue_ready(&s->records.memory, q)) return lacks_memory(l);
    const uint32_t life = gone ? 2 * q->top : s->records.entities[target].generation; /* even: no entity */
    const aoi_queued queued = {e->watcher,    e->target, e->node_id,
                               node,          target,    life,
                               (uint8_t)kind, false,     (uint16_t)(because ? e->because + 1 : 0),
                               e->t};
    if (!event_agrees(l, &queued, of)) return false;
    if (of && of->held && !owed) return fail(l, "an event that waits is behind one of the next tick");
    q->call = q->top; /* those before it are of former calls */
    const int other = crosses ? 0 : aoi_queue_waiting(&s->records.memory, q, node, target, life);
    if (other) return other < 0 ? lacks_memory(l) : fail(l, "two events wait for one pair");
    aoi_append(s, q, &queued);
    q->crosses |= crosses;
    if (owed) {
        of->held++;
        of->owes = true;
    }
    return true;
}

static bool load_events(loader *l, aoi_record *r) {
    aoi_space *s = l->s;
    const uint32_t number = (uint32_t)(r->bits - 1);
    aoi_plugin *of =
        r->bits && r->bits <= AOI_MOST_STATES ? (aoi_plugin *)(void *)aoi_sights_numbered(s, number) : NULL;
    aoi_saved_event e = {0}, last = {0};
    uint32_t node = AOI_NONE;
    if (!of != !r->bits || !of != (l->stage < SIGHTS)) return fail(l, "events wait for no sight");
    for (uint64_t i = 0; i < r->count; i++, last = e) {
        aoi_get_event(&r->list, &e);
        const bool same = i && e.watcher == last.watcher && e.node_id == last.node_id && e.target != last.target &&
                          !((e.how ^ last.how) & AOI_EVENT_NODE_GONE);
        if (!same && !node_of(l, &e, &node)) return false;
        if (!load_event(l, &e, node, of)) return false;
    }
    if (of) of->queue->ordered_end = of->queue->top;
    return true;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* 0: not of a state. */
static int stage_of(unsigned what) {
    static const uint8_t stages[AOI_CALLS_END] = {[AOI_CALL_ENTER] = 1,
                                                  [AOI_CALL_ATTACH] = 2,
                                                  [AOI_CALL_SET_LAYERS] = LOOKS,
                                                  [AOI_CALL_SET_EXTENT] = LOOKS,
                                                  [AOI_CALL_PUT] = 4,
                                                  [AOI_CALL_ADD_NODE] = 5,
                                                  [AOI_RECORD_FRESH] = 5,
                                                  [AOI_RECORD_WAY] = 6,
                                                  [AOI_CALL_OVERRIDE] = 7,
                                                  [AOI_RECORD_KEPT] = 8,
                                                  [AOI_RECORD_CHANGED] = 9,
                                                  [AOI_RECORD_EVENTS] = 10,
                                                  [AOI_RECORD_KEPT_ORDER] = 10,
                                                  [AOI_CALL_OPEN_SIGHT] = SIGHTS,
                                                  [AOI_CALL_ADD_WALL] = SIGHTS,
                                                  [AOI_CALL_ADD_SIGHT_NODE] = SIGHTS,
                                                  [AOI_RECORD_PAIRS] = SIGHTS,
                                                  [AOI_RECORD_END] = SIGHTS};
    return what < AOI_CALLS_END ? stages[what] : 0;
}

static bool load_sight_record(loader *l, aoi_record *r) {
    const char *fault = "a record is of no sight";
    if (r->what == AOI_RECORD_EVENTS) return load_events(l, r);
    if (r->what == AOI_CALL_OPEN_SIGHT && aoi_sights_numbered(l->s, r->sight))
        return fail(l, "the number of a sight is taken");
    return made(l, aoi_sights_repeat(l->s, l->o, r, &fault), fault);
}

static bool load_record(loader *l, aoi_record *r) {
    aoi_space *s = l->s;
    const int stage = stage_of(r->what), before = l->stage;
    const char *fault = NULL;
    int64_t id;
    if (stage == 0) return fail(l, "a record is of no state");
    if (stage < before && before < SIGHTS) return fail(l, "records are not in order");
    if (stage > before) l->stage = stage;
    if (before < LOOKS && stage >= LOOKS && !aoi_settle(s)) return lacks_memory(l); /* passengers */
    if (r->what == AOI_RECORD_END) return true;
    if (l->stage == SIGHTS) return load_sight_record(l, r);
    switch (r->what) {
    case AOI_CALL_ENTER:
        return load_entity(l, r);
    case AOI_CALL_ATTACH:
        if (!r->bits || aoi_slot_of_id(s, r->target) == AOI_NONE) return fail(l, "a passenger has no carrier");
        return made(l, aoi_attach(s, aoi_find(s, r->id), aoi_find(s, r->target), r->values),
                    "a passenger cannot be with its carrier");
    case AOI_CALL_SET_LAYERS:
        return made(l, aoi_set_layers(s, aoi_find(s, r->id), r->bits), "layers are of no entity");
    case AOI_CALL_SET_EXTENT:
        return made(l, aoi_set_extent(s, aoi_find(s, r->id), r->values[0]), "an extent is no number, or beyond 2^50");
    case AOI_CALL_PUT:
        if (r->bits >= AOI_MOST_STATES) return fail(l, "numbers of states do not rise");
        return made(l, aoi_states_apply(s, (uint32_t)r->bits, r->list.at, (size_t)r->count, &id, &fault), fault);
    case AOI_CALL_ADD_NODE:
        return load_node(l, r);
    case AOI_RECORD_FRESH:
        return load_fresh(l, r);
    case AOI_RECORD_WAY:
        return load_way(l, r);
    case AOI_CALL_OVERRIDE:
        return load_override(l, r);
    case AOI_RECORD_EVENTS:
        return load_events(l, r);
    case AOI_RECORD_KEPT_ORDER:
        s->queue.ordered_end = s->queue.top;
        return true;
    default: /* KEPT, CHANGED */
        return load_pairs(l, r);
    }
}

static void compare_again(aoi_output *out) {
    loader *l = (loader *)(void *)out;
    l->differs = l->differs || (size_t)(l->end - l->at) < out->fill || memcmp(l->at, l->buffer, out->fill) != 0;
    if (!l->differs) l->at += out->fill;
    out->fill = 0;
}

/* Whether the space is saved as it was loaded; what only another C library has made is dropped then. */
static bool is_saved_again(loader *l) {
    aoi_space *s = l->s;
    const aoi_saved_as as = {l->engine, l->nodes};
    l->again = (aoi_output){l->buffer, 0, sizeof l->buffer - AOI_VARINT_ROOM, compare_again};
    if (!aoi_settle(s) || !aoi_plugins_see(s) || !aoi_put_state(&l->again, s, true, &as)) return lacks_memory(l);
    compare_again(&l->again);
    if (l->differs || l->at != l->end) return fail(l, "it is spelled in another way");
    while (l->slack_count--)
        (void)aoi_pair_table_remove(&s->kept, l->slack[l->slack_count].node, l->slack[l->slack_count].target);
    return give_crossings(l) && (aoi_report_all(s) || lacks_memory(l));
}

static bool load_all(loader *l, aoi_bytes in) {
    bool good = load_head(l, &in);
    if (good) l->record.outline.memory = &l->s->records.memory;
    while (good && l->record.what != AOI_RECORD_END) {
        good = aoi_get_record(&in, l->s->records.dims, &l->record, &l->fault) && load_record(l, &l->record);
        l->no_memory |= l->record.outline.refused;
        if (!good && !l->no_memory) (void)fail(l, "it is cut off");
    }
    return good && (in.at == l->end || fail(l, "bytes follow its end")) && is_saved_again(l);
}

int aoi_load_state(aoi_bytes in, const aoi_load_options *o, aoi_space **out, const char **fault) {
    static const aoi_load_options none = {0};
    loader l = {.at = in.at - 1, .end = in.end, .o = o ? o : &none}; /* with the byte that begins the record */
    const bool loaded = load_all(&l, in);
    if (l.s) {
        aoi_memory *m = &l.s->records.memory;
        if (l.record.outline.memory) aoi_outline_free(&l.record.outline);
        AOI_FREE(m, l.nodes, l.node_cap);
        AOI_FREE(m, l.slack, l.slack_cap);
        l.s->index.grid.watched = l.s->node_count > 0;
        if (loaded) aoi_tidy(l.s);
        else aoi_close(l.s);
    }
    *fault = l.fault;
    if (!loaded) return l.no_memory ? AOI_ENOMEM : AOI_EVALUE;
    *out = l.s;
    return AOI_OK;
}

/* The checksum first, because a wrong one is a clearer fault than a damaged byte. */
static const char *open_snapshot(aoi_bytes *in) {
    const size_t size = (size_t)(in->end - in->at);
    const unsigned char *begin = in->at;
    aoi_crc32 sums;
    if (size < AOI_SNAPSHOT_HEAD + AOI_SNAPSHOT_CRC || memcmp(begin, AOI_SNAPSHOT_MAGIC, 4) != 0)
        return "it does not begin as a snapshot does";
    if (begin[4] != AOI_SNAPSHOT_VERSION) return "it is of a version that this library does not read";
    in->at += AOI_SNAPSHOT_HEAD;
    in->end -= AOI_SNAPSHOT_CRC;
    aoi_crc32_open(&sums);
    if (aoi_crc32_of(&sums, 0, begin, size - AOI_SNAPSHOT_CRC) != aoi_peek_bytes(in->end, AOI_SNAPSHOT_CRC))
        return "its checksum is another: it is damaged or cut off";
    return NULL;
}

int aoi_load(const void *bytes, size_t size, const aoi_load_options *o, aoi_space **out, const char **fault) {
    aoi_bytes in = {.at = bytes, .end = (const unsigned char *)bytes + size};
    const char *ignored;
    if (!fault) fault = &ignored;
    *fault = open_snapshot(&in);
    if (!*fault && aoi_get_byte(&in) != AOI_RECORD_STATE) *fault = "it has no state";
    return *fault ? AOI_EVALUE : aoi_load_state(in, o, out, fault);
}
