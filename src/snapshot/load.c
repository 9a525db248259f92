/* load.c - loads a space from bytes; see snapshot.h.
 *
 * Accepts exactly the bytes that aoi_save would write: numbers must have their shortest form, lists their order.  In
 * the new space the slots of entities and nodes are their indices in the lists, so that no ids are looked up.  No pairs
 * are evaluated: what nodes see follows from positions and kept pairs. */
#include <stdlib.h>

#include "core/state_hook.h"
#include "snapshot/snapshot.h"

typedef struct loader {
    aoi_bytes in;
    const aoi_load_options *o;
    aoi_space *s;
    const char *fault; /* the first one */
    bool no_memory;
    unsigned flags; /* of the head */
    uint32_t nodes, gone;
    int64_t *seen; /* pairs of events */
    uint32_t seen_cap;
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

static bool is_good(loader *l) {
    if (l->in.cut) return fail(l, "it is cut off");
    return l->in.padded ? fail(l, "a number is spelled too long") : true;
}

/* ---- head --------------------------------------------------------------------------------------------------------- */

static const char *known_engine(const unsigned char *name, unsigned length) {
    const char *known;
    for (int i = 0; (known = aoi_engine_name(i)) != NULL; i++)
        if (strlen(known) == length && !memcmp(known, name, length)) break;
    return known;
}

static bool load_head(loader *l) {
    aoi_bytes *in = &l->in;
    if (in->end - in->at < 8 || memcmp(in->at, AOI_SNAPSHOT_MAGIC, 4) != 0)
        return fail(l, "it does not begin as a snapshot does");
    const unsigned char *head = in->at;
    if (head[4] != AOI_SNAPSHOT_VERSION) return fail(l, "it is of a version that this library does not read");
    if (head[5] != 2 && head[5] != 3) return fail(l, "dimensions are neither 2 nor 3");
    if (head[6] & ~(AOI_SNAPSHOT_DEFERRED | AOI_SNAPSHOT_CARRIED | AOI_SNAPSHOT_LOOKS | AOI_SNAPSHOT_STATES |
                    AOI_SNAPSHOT_SIGHTS))
        return fail(l, "an unknown flag is set");
    l->flags = head[6];
    in->at += 8;
    if (in->end - in->at < head[7]) return fail(l, "it is cut off");
    const char *engine = known_engine(in->at, head[7]);
    in->at += head[7];
    aoi_options o = {.engine = l->o->engine ? l->o->engine : engine,
                     .dimensions = head[5],
                     .cell = aoi_get_double(in),
                     .deferred = (head[6] & AOI_SNAPSHOT_DEFERRED) != 0,
                     .alloc = l->o->alloc,
                     .alloc_ud = l->o->alloc_ud};
    uint64_t taken = aoi_get_varint(in);
    if (!engine) return fail(l, "it is of an engine that this library does not have");
    if (!is_good(l)) return false;
    if (!(o.cell >= 0)) return fail(l, "the cell size is negative or nan");
    int result = aoi_open(&o, &l->s);
    if (result == AOI_EVALUE) return fail(l, "there is no engine of that name to load it into");
    if (result != AOI_OK) return lacks_memory(l);
    l->s->taken = taken;
    return aoi_grid_begin_watch(&l->s->index.grid) || lacks_memory(l); /* while it is empty */
}

/* ---- entities and nodes -------------------------------------------------------------------------------------------- */

static bool load_entities(loader *l) {
    aoi_world *w = &l->s->world;
    aoi_bytes *in = &l->in;
    uint64_t count = aoi_get_count(in, 2 + 8 * (size_t)w->dims);
    uint64_t id = 0;
    if (count > AOI_MOST_ENTITIES) return fail(l, "it has too many entities");
    if (!AOI_GROW_LINES(&w->memory, w->entities, w->entity_cap, (size_t)count) ||
        !aoi_index_reserve(&w->memory, &l->s->ids, (size_t)(count + count / 2)))
        return lacks_memory(l);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t last = id;
        id = i ? id + aoi_get_varint(in) : (uint64_t)aoi_get_signed(in);
        uint64_t kind = aoi_get_varint(in);
        double pos[3] = {0};
        for (int a = 0; a < w->dims; a++) pos[a] = aoi_get_double(in);
        if (!is_good(l)) return false;
        if (i && (int64_t)id <= (int64_t)last) return fail(l, "ids of entities do not rise");
        if (!aoi_is_place(l->s, pos)) return fail(l, "a coordinate is nan or beyond 2^50");
        uint32_t e = aoi_new_entity(l->s, (int64_t)id, pos, kind);
        if (e == AOI_NONE || !aoi_broad_enter(&l->s->index, e)) return lacks_memory(l);
    }
    return is_good(l);
}

static bool load_carried(loader *l) {
    const aoi_world *w = &l->s->world;
    if (!(l->flags & AOI_SNAPSHOT_CARRIED)) return true;
    uint64_t count = aoi_get_count(&l->in, 2 + 8 * (size_t)w->dims), entity = 0;
    if (!count) return fail(l, "nothing is carried");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = aoi_get_varint(&l->in), carrier = aoi_get_varint(&l->in);
        double offset[3] = {0};
        for (int a = 0; a < w->dims; a++) offset[a] = aoi_get_double(&l->in);
        if (!is_good(l)) return false;
        if (gap >= w->entity_count - entity || (i && !gap) || carrier >= w->entity_count)
            return fail(l, "a passenger or its carrier is no entity");
        entity += gap;
        int result = aoi_restore_seat(l->s, (uint32_t)entity, (uint32_t)carrier, offset);
        if (result == AOI_ENOMEM) return lacks_memory(l);
        if (result != AOI_OK) return fail(l, "a passenger is not where its carrier is");
    }
    return is_good(l);
}

static bool load_looks(loader *l) {
    const aoi_world *w = &l->s->world;
    if (!(l->flags & AOI_SNAPSHOT_LOOKS)) return true;
    uint64_t count = aoi_get_count(&l->in, 10), entity = 0;
    if (!count) return fail(l, "nothing has layers or an extent");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = aoi_get_varint(&l->in), layers = aoi_get_varint(&l->in);
        double extent = aoi_get_double(&l->in);
        if (!is_good(l)) return false;
        if (gap >= w->entity_count - entity || (i && !gap)) return fail(l, "layers are of no entity");
        if (!aoi_is_coordinate(extent) || (extent == 0 && signbit(extent)))
            return fail(l, "an extent is no number, or beyond 2^50");
        if (layers == AOI_FIRST_LAYER && extent == 0) return fail(l, "layers are spelled out that are the usual ones");
        entity += gap;
        if (aoi_restore_looks(l->s, (uint32_t)entity, layers, extent) != AOI_OK) return lacks_memory(l);
    }
    return is_good(l);
}

/* Loads the messages of synchronisers, or of sights, which have their numbers within.  Refuses a message that differs
 * from the one that would be packed again. */
static bool load_messages(loader *l, bool sights) {
    if (!(l->flags & (sights ? AOI_SNAPSHOT_SIGHTS : AOI_SNAPSHOT_STATES))) return true;
    uint64_t count = aoi_get_count(&l->in, sights ? 5 : 6), least = 0;
    if (!count) return fail(l, sights ? "there is no sight" : "nothing has fields");
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t given = sights ? least : aoi_get_varint(&l->in);
        const size_t size = (size_t)aoi_get_count(&l->in, 1);
        const unsigned char *message = l->in.at, *again;
        const char *fault;
        size_t length;
        int64_t id;
        if (!is_good(l)) return false;
        if (given < least || given >= AOI_MOST_STATES) return fail(l, "numbers of states do not rise");
        uint32_t number = (uint32_t)given, found = number;
        const int result = sights ? aoi_sights_apply(l->s, message, size, &number, l->o, &fault)
                                  : aoi_states_apply(l->s, number, message, size, &id, &fault);
        if (result == AOI_ENOMEM) return lacks_memory(l);
        if (result != AOI_OK) return fail(l, fault);
        if (!sights && (!aoi_states_next(l->s, &found) || found != number)) return fail(l, "a state is of no fields");
        if (!(sights ? aoi_sights_pack(l->s, number, &again, &length)
                     : aoi_states_pack(l->s, number, NULL, &again, &length)))
            return lacks_memory(l);
        if (length != size || memcmp(again, message, size) != 0)
            return fail(l, sights ? "a sight is spelled in another way" : "a state is spelled in another way");
        l->in.at += size;
        least = given + 1;
    }
    return is_good(l);
}

/* The label within the bytes; NULL: it is truncated. */
static const char *get_label(aoi_bytes *in) {
    const unsigned char *begin = in->at, *end = memchr(begin, 0, (size_t)(in->end - begin));
    if (!end) in->cut = true;
    in->at = end ? end + 1 : in->end;
    return end ? (const char *)begin : NULL;
}

const char *aoi_get_area(aoi_bytes *in, int dims, double *points, aoi_area *out) {
    unsigned head = aoi_get_byte(in);
    const char *label = head == AOI_AREA_LABELLED ? get_label(in) : NULL;
    if (label) head = aoi_get_byte(in);
    const bool outside = head == AOI_AREA_OUTSIDE;
    if (outside) head = aoi_get_byte(in);
    const bool fixed = head == AOI_AREA_FIXED;
    if (fixed) head = aoi_get_byte(in);
    *out = (aoi_area){.label = label,
                      .shape = (int)(head & AOI_AREA_SHAPE),
                      .outside = outside,
                      .fixed = fixed,
                      .silent = (head & AOI_AREA_SILENT) != 0,
                      .points = points};
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
        out->corners = (int)aoi_get_byte(in);
        for (int i = 0; i < 2 * out->corners && out->corners <= AOI_MOST_CORNERS; i++) points[i] = aoi_get_double(in);
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
    if (in->cut) return "it is cut off";
    return aoi_area_fault(dims, out);
}

/* Whether no two nodes of an entity have the same id. */
static bool are_unique(loader *l, uint32_t owner) {
    aoi_space *s = l->s;
    uint32_t count = 0, first = s->world.entities[owner].nodes;
    if (first == AOI_NONE || s->world.nodes[first].next == AOI_NONE) return true;
    for (uint32_t n = first; n != AOI_NONE; n = s->world.nodes[n].next) {
        if (!AOI_GROW(&s->world.memory, s->ids_out, s->ids_cap, count + (size_t)1)) return lacks_memory(l);
        s->ids_out[count++] = s->world.nodes[n].node_id;
    }
    qsort(s->ids_out, count, sizeof *s->ids_out, aoi_by_id);
    for (uint32_t i = 1; i < count; i++)
        if (s->ids_out[i] == s->ids_out[i - 1]) return fail(l, "an entity has two nodes of one id");
    return true;
}

static bool load_node(loader *l, uint32_t owner) {
    aoi_space *s = l->s;
    double points[2 * AOI_MOST_CORNERS] = {0};
    aoi_area area;
    aoi_loaded_node n = {.watcher = s->world.entities[owner].id, .node_id = aoi_get_signed(&l->in)};
    const char *fault = aoi_get_area(&l->in, s->world.dims, points, &area);
    uint32_t slot;
    if (!is_good(l)) return false;
    if (fault) return fail(l, fault);
    n.silent = area.silent;
    if (!aoi_host_takes(l->o, s, &n)) return fail(l, "the host has refused a node");
    area.silent = n.silent;
    area.user_data = n.user_data;
    return aoi_restore_node(s, owner, n.node_id, &area, &slot) == AOI_OK || lacks_memory(l);
}

static bool load_nodes(loader *l) {
    uint64_t count = aoi_get_count(&l->in, 11), owner = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = aoi_get_varint(&l->in);
        if (!is_good(l)) return false;
        if (gap >= l->s->world.entity_count - owner) return fail(l, "a node is carried by no entity");
        if (gap && i && !are_unique(l, (uint32_t)owner)) return false;
        owner += gap;
        if (!load_node(l, (uint32_t)owner)) return false;
    }
    l->nodes = (uint32_t)count;
    return is_good(l) && (!count || are_unique(l, (uint32_t)owner));
}

/* ---- pairs -------------------------------------------------------------------------------------------------------- */

/* Reads the next pair of a list in rising order. */
static bool next_pair(loader *l, uint64_t i, uint32_t *node, uint32_t *target) {
    uint64_t gap = aoi_get_varint(&l->in), to = aoi_get_varint(&l->in);
    if (!is_good(l)) return false;
    if (i && !gap && !to) return fail(l, "a pair stands there twice");
    if (gap >= l->nodes - *node) return fail(l, "a pair has no node");
    if (to >= l->s->world.entity_count - (gap ? 0 : *target)) return fail(l, "a pair has no target");
    *target = (uint32_t)to + (gap ? 0 : *target);
    *node += (uint32_t)gap;
    if (l->s->world.nodes[*node].owner == *target) return fail(l, "an entity watches itself");
    return true;
}

static bool load_overrides(loader *l) {
    aoi_space *s = l->s;
    uint64_t count = aoi_get_count(&l->in, 3);
    uint32_t node = 0, target = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!next_pair(l, i, &node, &target)) return false;
        unsigned how = aoi_get_byte(&l->in);
        if (!is_good(l)) return false;
        if (how < AOI_HIDE || how > (AOI_MATCH | AOI_TOLD)) return fail(l, "an override is of no kind");
        if (!aoi_overrides_reserve(&s->world.memory, &s->overrides)) return lacks_memory(l);
        aoi_overrides_set(&s->overrides, node, target, (int)how);
        s->world.nodes[node].flags |= AOI_NODE_OVERRIDES;
        aoi_mask_changed(s, node);
    }
    return is_good(l);
}

/* Whether pairs can be verified exactly: sectors depend on the sine and cosine of the C library, which may differ. */
static bool is_exact(const aoi_space *s, uint32_t node) {
    return s->world.nodes[node].shape != AOI_SECTOR;
}

static bool load_kept(loader *l) {
    aoi_space *s = l->s;
    uint64_t count = aoi_get_count(&l->in, 2);
    uint32_t node = 0, target = 0;
    if (!aoi_index_reserve(&s->world.memory, &s->kept, (size_t)count)) return lacks_memory(l);
    for (uint64_t i = 0; i < count; i++) {
        if (!next_pair(l, i, &node, &target)) return false;
        const aoi_node_record *n = s->world.nodes + node;
        const aoi_entity_record *e = s->world.entities;
        bool meets = aoi_pair_meets(s, node, target);
        aoi_zone z = aoi_pair_zone(s, node, target, e[n->owner].pos, e[target].pos);
        if (meets && z == AOI_BETWEEN) aoi_pair_table_add(&s->kept, node, target);
        else if (!meets || is_exact(s, node)) return fail(l, "a pair is kept that is not between the borders");
    }
    return is_good(l);
}

/* In a deferred space. */
static bool load_changed(loader *l) {
    aoi_space *s = l->s;
    uint64_t count = aoi_get_count(&l->in, 2);
    uint32_t node = 0, target = 0;
    if (!aoi_index_reserve(&s->world.memory, &s->kept, s->kept.count + (size_t)count) ||
        !AOI_GROW(&s->world.memory, s->changed, s->changed_cap, (size_t)count))
        return lacks_memory(l);
    for (uint64_t i = 0; i < count; i++) {
        if (!next_pair(l, i, &node, &target)) return false;
        if (!s->world.nodes[node].outside) return fail(l, "a pair is marked that needs no mark");
        aoi_pair_table_add(&s->kept, node, target | AOI_PAIR_CHANGED);
        s->changed[s->changed_count++] = (aoi_candidate){node, target};
    }
    return is_good(l);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static bool load_gone(loader *l, int64_t **watchers) {
    aoi_space *s = l->s;
    uint64_t count = aoi_get_count(&l->in, 2);
    if (count && !AOI_GROW(&s->world.memory, s->ids_out, s->ids_cap, (size_t)count)) return lacks_memory(l);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t slot;
        aoi_loaded_node n = {.gone = true};
        n.watcher = aoi_get_signed(&l->in);
        n.node_id = aoi_get_signed(&l->in);
        if (!is_good(l)) return false;
        if (!aoi_host_takes(l->o, s, &n)) return fail(l, "the host has refused a node");
        if (!aoi_restore_gone_node(s, n.node_id, n.user_data, &slot)) return lacks_memory(l);
        s->ids_out[i] = n.watcher;
    }
    l->gone = (uint32_t)count;
    *watchers = s->ids_out;
    return is_good(l);
}

typedef struct loaded_event {
    unsigned kind;
    uint32_t node, target; /* target: AOI_NONE if it is gone */
    int64_t target_id;
    uint16_t because;
} loaded_event;

static bool read_waiting(loader *l, loaded_event *e) {
    unsigned head = aoi_get_byte(&l->in);
    e->because = (uint16_t)(head & AOI_EVENT_BECAUSE ? aoi_get_byte(&l->in) + 1 : 0);
    uint64_t node = aoi_get_varint(&l->in), target = 0;
    if (head & AOI_EVENT_GONE) e->target_id = aoi_get_signed(&l->in);
    else target = aoi_get_varint(&l->in);
    if (!is_good(l)) return false;
    e->kind = head & AOI_EVENT_KIND;
    if (head > 15 || (e->kind != AOI_LEAVE && (e->kind != AOI_ENTER || e->because)))
        return fail(l, "an event is of no kind");
    if (node >= (uint64_t)l->nodes + l->gone) return fail(l, "an event has no node");
    e->node = (uint32_t)node;
    e->target = AOI_NONE;
    if (!(head & AOI_EVENT_GONE)) {
        if (target >= l->s->world.entity_count) return fail(l, "an event has no target");
        e->target = (uint32_t)target;
        e->target_id = l->s->world.entities[target].id;
    }
    return true;
}

/* Whether the event that waits agrees with what the node sees. */
static bool event_agrees(loader *l, const loaded_event *e) {
    const aoi_space *s = l->s;
    bool here = e->node < l->nodes && e->target != AOI_NONE;
    if (!here) return e->kind == AOI_LEAVE || fail(l, "something that is gone enters");
    if (s->world.nodes[e->node].owner == e->target) return fail(l, "an entity watches itself");
    if (is_exact(s, e->node) && aoi_node_sees(s, e->node, e->target) != (e->kind == AOI_ENTER))
        return fail(l, "an event tells what is not so");
    return true;
}

static bool load_events(loader *l, const int64_t *watchers) {
    aoi_space *s = l->s;
    aoi_memory *m = &s->world.memory;
    uint64_t count = aoi_get_count(&l->in, 3), ordered = aoi_get_varint(&l->in);
    uint32_t gone = 0, pairs = 0;
    if (ordered > count) return fail(l, "more events are in order than there are");
    if (count && (!AOI_GROW(m, s->queue.events, s->queue.cap, (size_t)count) ||
                  !AOI_GROW(m, l->seen, l->seen_cap, (size_t)count)))
        return lacks_memory(l);
    for (uint32_t i = 0; i < count; i++) {
        loaded_event e;
        if (!read_waiting(l, &e) || !event_agrees(l, &e)) return false;
        if (e.node == l->nodes + gone) gone++;
        if (e.node >= l->nodes + gone) return fail(l, "nodes that are gone do not stand in the order of events");
        uint32_t life = e.target == AOI_NONE ? i : s->world.entities[e.target].generation;
        const aoi_node_record *n = s->world.nodes + e.node;
        const int64_t watcher = e.node < l->nodes ? s->world.entities[n->owner].id : watchers[e.node - l->nodes];
        aoi_append(
            s, &s->queue,
            &(aoi_queued){watcher, e.target_id, n->node_id, e.node, e.target, life, (uint8_t)e.kind, false, e.because});
        if (e.target != AOI_NONE) l->seen[pairs++] = (int64_t)aoi_pair_key(e.node, e.target);
    }
    if (gone != l->gone) return fail(l, "a node that is gone has no event");
    if (pairs) qsort(l->seen, pairs, sizeof *l->seen, aoi_by_id);
    for (uint32_t i = 1; i < pairs; i++)
        if (l->seen[i] == l->seen[i - 1]) return fail(l, "two events wait for one pair");
    s->queue.ordered_end = (uint32_t)ordered;
    return is_good(l);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* Verified first, because a wrong checksum is a clearer fault than a damaged byte.  load_head refuses other bytes. */
static bool checksum_matches(loader *l) {
    const unsigned char *p = l->in.at;
    const size_t size = (size_t)(l->in.end - p);
    aoi_crc32 sums;
    if (size <= AOI_SNAPSHOT_CRC + 4 || memcmp(p, AOI_SNAPSHOT_MAGIC, 4) != 0 || p[4] != AOI_SNAPSHOT_VERSION)
        return true;
    l->in.end -= AOI_SNAPSHOT_CRC;
    aoi_crc32_open(&sums);
    return aoi_crc32_of(&sums, 0, p, size - AOI_SNAPSHOT_CRC) == aoi_peek_bytes(l->in.end, AOI_SNAPSHOT_CRC) ||
           fail(l, "its checksum is another: it is damaged or cut off");
}

static bool load_all(loader *l) {
    int64_t *watchers = NULL;
    return checksum_matches(l) && load_head(l) && load_entities(l) && load_carried(l) && load_looks(l) &&
           load_messages(l, false) && load_nodes(l) && load_overrides(l) && load_kept(l) &&
           (!l->s->deferred || load_changed(l)) && load_gone(l, &watchers) && load_events(l, watchers) &&
           load_messages(l, true) && (l->in.at == l->in.end || fail(l, "bytes follow its end")) &&
           (aoi_report_all(l->s) || lacks_memory(l));
}

int aoi_load(const void *bytes, size_t size, const aoi_load_options *o, aoi_space **out, const char **fault) {
    static const aoi_load_options none = {0};
    const unsigned char *begin = bytes;
    loader l = {.in = {.at = begin, .end = begin + size}, .o = o ? o : &none};
    bool loaded = load_all(&l);
    if (l.s) {
        AOI_FREE(&l.s->world.memory, l.seen, l.seen_cap);
        l.s->index.grid.watched = l.s->node_count > 0;
        if (loaded) aoi_tidy(l.s);
        else aoi_close(l.s);
    }
    if (fault) *fault = l.fault;
    if (!loaded) return l.no_memory ? AOI_ENOMEM : AOI_EVALUE;
    *out = l.s;
    return AOI_OK;
}
