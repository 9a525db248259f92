/* save.c - saves a space as bytes; see snapshot.h. */
#include <stdlib.h>

#include "snapshot/snapshot.h"

typedef struct saved_entity {
    int64_t id;
    uint32_t slot;
} saved_entity;

typedef struct saved_pair { /* of a node and a target, by their numbers */
    uint32_t node, target;
    int how; /* of an override */
} saved_pair;

typedef struct saver {
    aoi_output *out;
    aoi_space *s;
    const aoi_saved_as *as;
    saved_entity *entities; /* by rising id */
    uint32_t *entity_rank;  /* by slot: number in that order */
    uint32_t *nodes;        /* slots, by entity and age */
    uint32_t *node_rank;    /* by slot: number in that order; AOI_NONE: not saved */
    saved_pair *pairs;      /* as they are found, and behind them by node and target */
    uint32_t *pair_ends;    /* by node */
    uint32_t entity_cap, entity_rank_cap, node_cap, node_rank_cap, pair_cap, pair_end_cap, pair_count;
    uint32_t node_count;
} saver;

/* ---- areas -------------------------------------------------------------------------------------------------------- */

unsigned char *aoi_put_area(unsigned char *p, int dims, const aoi_area *a) {
    bool simple = a->shape == AOI_SQUARE || a->shape == AOI_CIRCLE;
    double grown = !simple ? a->margin : a->keep != 0 ? a->keep : a->radius + a->margin;
    bool grows = simple ? grown > a->radius : grown > 0;
    bool high = dims == 3 && (a->shape == AOI_SECTOR || a->shape == AOI_POLYGON) && isfinite(a->half_height);
    if (a->label) {
        size_t size = strlen(a->label) + 1;
        *p++ = AOI_AREA_LABELLED;
        p = (unsigned char *)memcpy(p, a->label, size) + size;
    }
    if (a->outside) *p++ = AOI_AREA_OUTSIDE;
    if (a->fixed) *p++ = AOI_AREA_FIXED;
    if (a->crosses) *p++ = AOI_AREA_CROSSES;
    if (aoi_area_has_offset(dims, a)) {
        *p++ = AOI_AREA_SHIFTED;
        p = aoi_put_doubles(p, a->offset, dims);
    }
    *p++ = (unsigned char)(a->shape | (a->silent ? AOI_AREA_SILENT : 0) |
                           (a->mask != AOI_ALL_KINDS ? AOI_AREA_MASKED : 0) | (grows ? AOI_AREA_GROWN : 0) |
                           (high ? AOI_AREA_HEIGHT : 0) | (a->layered ? AOI_AREA_LAYERS : 0));
    if (a->mask != AOI_ALL_KINDS) p = aoi_put_varint(p, a->mask);
    if (a->layered) p = aoi_put_varint(p, a->layers);
    if (a->shape == AOI_BOX) p = aoi_put_doubles(p, a->extents, dims);
    else if (a->shape == AOI_POLYGON)
        p = aoi_put_varint(aoi_put_varint(p, (uint64_t)a->corners), a->rings > 1 ? (uint64_t)a->rings : 0);
    else p = aoi_put_double(p, a->radius);
    if (a->shape == AOI_SECTOR) p = aoi_put_doubles(p, (double[2]){a->facing, a->angle}, 2);
    if (a->shape == AOI_CYLINDER || high) p = aoi_put_double(p, a->half_height);
    return grows ? aoi_put_double(p, grown) : p;
}

bool aoi_put_outline(unsigned char **p, const aoi_area *a, int *at) {
    const int rings = a->rings > 1 ? a->rings : 0, end = a->shape == AOI_POLYGON ? rings + a->corners : 0;
    if (*at == end) return false;
    for (int i = 0; i < AOI_OUTLINE_ROOM / 16 && *at < end; i++, ++*at)
        if (*at >= rings) *p = aoi_put_doubles(*p, a->points + 2 * (size_t)(*at - rings), 2);
        else *p = aoi_put_varint(*p, (uint64_t)(a->ends[*at] - (*at ? a->ends[*at - 1] : 0)));
    return true;
}

size_t aoi_area_room(const aoi_area *a) {
    return AOI_AREA_ROOM + (a->shape == AOI_POLYGON ? 16 * ((size_t)a->corners + (size_t)a->rings) : 0);
}

unsigned char *aoi_put_whole_area(unsigned char *p, int dims, const aoi_area *a) {
    int at = 0;
    p = aoi_put_area(p, dims, a);
    while (aoi_put_outline(&p, a, &at)) continue;
    return p;
}

/* ---- numbering ---------------------------------------------------------------------------------------------------- */

static bool number_entities(saver *v) {
    const aoi_records *r = &v->s->records;
    aoi_memory *m = &v->s->records.memory;
    uint32_t n = 0;
    bool sorted = true;
    if (!AOI_GROW(m, v->entities, v->entity_cap, r->entity_count) ||
        !AOI_GROW(m, v->entity_rank, v->entity_rank_cap, r->entity_top))
        return false;
    for (uint32_t e = 0; e < r->entity_top; e++) {
        if (!aoi_is_live(r->entities[e].generation)) continue;
        sorted &= !n || v->entities[n - 1].id < r->entities[e].id;
        v->entities[n++] = (saved_entity){r->entities[e].id, e};
    }
    if (!sorted) qsort(v->entities, n, sizeof *v->entities, aoi_by_id);
    for (uint32_t i = 0; i < n; i++) v->entity_rank[v->entities[i].slot] = i;
    return true;
}

/* Those of an entity from old to new: they are chained the other way round. */
static bool number_nodes(saver *v) {
    const aoi_records *r = &v->s->records;
    aoi_memory *m = &v->s->records.memory;
    if (!AOI_GROW(m, v->node_rank, v->node_rank_cap, r->node_top) ||
        !AOI_GROW(m, v->nodes, v->node_cap, v->s->node_count))
        return false;
    for (uint32_t n = 0; n < r->node_top; n++) v->node_rank[n] = AOI_NONE;
    for (uint32_t i = 0; i < r->entity_count && v->s->node_count; i++) {
        const uint32_t newest = r->entities[v->entities[i].slot].nodes;
        uint32_t rank = v->node_count;
        for (uint32_t n = newest; n != AOI_NONE; n = r->nodes[n].next) rank += !(r->nodes[n].flags & AOI_NODE_PLUGIN);
        v->node_count = rank;
        for (uint32_t n = newest; n != AOI_NONE; n = r->nodes[n].next) {
            if (r->nodes[n].flags & AOI_NODE_PLUGIN) continue;
            v->nodes[--rank] = n;
            v->node_rank[n] = rank;
        }
    }
    return true;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static void put_saved(saver *v, const aoi_call *c) {
    aoi_write_record(v->out, v->s, c, c->id, c->node_id);
}

static void put_head(saver *v) {
    const aoi_space *s = v->s;
    const char *engine = v->as ? v->as->engine : s->index.class->name;
    const size_t length = strlen(engine);
    unsigned char *p = aoi_room(v->out, 64 + AOI_MOST_ENGINE_NAME);
    *p++ = AOI_RECORD_STATE;
    *p++ = (unsigned char)s->records.dims;
    *p++ = s->deferred;
    *p++ = (unsigned char)length;
    memcpy(p, engine, length);
    p = aoi_put_varint(aoi_put_double(p + length, s->cell), s->taken);
    aoi_wrote(v->out, aoi_put_varint(p, s->records.entity_count));
}

static aoi_entity entity_at(const aoi_space *s, uint32_t slot) {
    return (aoi_entity){slot, s->records.entities[slot].generation};
}

static void put_entities(saver *v) {
    const aoi_space *s = v->s;
    const uint32_t count = s->records.entity_count;
    for (uint32_t i = 0; i < count; i++) {
        const saved_entity e = v->entities[i];
        put_saved(v, &(aoi_call){.call = AOI_CALL_ENTER,
                                 .id = e.id,
                                 .bits = aoi_kind_of(s, e.slot),
                                 .values = s->records.entities[e.slot].pos});
    }
    for (uint32_t i = 0; i < count && s->attached; i++) {
        const saved_entity e = v->entities[i];
        if (aoi_is_attached(s, e.slot))
            put_saved(v, &(aoi_call){.call = AOI_CALL_ATTACH,
                                     .id = e.id,
                                     .target = entity_at(s, s->seats[e.slot].carrier),
                                     .values = s->seats[e.slot].offset});
    }
    for (uint32_t i = 0; i < count && (s->entity_layers || s->larges.count); i++) {
        const saved_entity e = v->entities[i];
        const aoi_looks looks = aoi_looks_of(s, e.slot);
        if (looks.layers != AOI_FIRST_LAYER)
            put_saved(v, &(aoi_call){.call = AOI_CALL_SET_LAYERS, .id = e.id, .bits = looks.layers});
        if (looks.extent != 0)
            put_saved(v, &(aoi_call){.call = AOI_CALL_SET_EXTENT, .id = e.id, .values = &looks.extent});
    }
}

static bool put_fields(saver *v) {
    aoi_call c = {.call = AOI_CALL_PUT};
    for (uint32_t number = 0; aoi_states_next(v->s, &number); number++) {
        const unsigned char *bytes;
        if (!aoi_states_pack(v->s, number, NULL, &bytes, &c.count)) return false;
        c.bits = number;
        c.bytes = bytes;
        put_saved(v, &c);
    }
    return true;
}

static void put_nodes(saver *v) {
    const aoi_records *r = &v->s->records;
    for (uint32_t i = 0; i < v->node_count; i++) {
        const uint32_t slot = v->nodes[i];
        const aoi_node_record *n = r->nodes + slot;
        aoi_area area;
        aoi_call c = {.id = r->entities[n->owner].id, .node_id = n->node_id, .area = &area};
        aoi_describe_node(v->s, slot, &area);
        if (v->as) {
            area.silent = v->as->nodes[slot] & AOI_AS_SILENT;
            area.crosses = v->as->nodes[slot] & AOI_AS_CROSSES;
        }
        c.call = AOI_CALL_ADD_NODE;
        put_saved(v, &c);
        c.call = AOI_RECORD_FRESH;
        if (n->fresh) put_saved(v, &c);
    }
}

/* Where everybody was at the last delivery. */
static void put_ways(saver *v) {
    static const double nowhere[3] = {0};
    const aoi_crossings *c = &v->s->crossings;
    for (uint32_t i = 0; i < v->s->records.entity_count && c->node_count && c->way_count; i++) {
        const saved_entity e = v->entities[i];
        const aoi_way *way = c->way_of[e.slot] == AOI_NONE ? NULL : c->ways + c->way_of[e.slot];
        if (way)
            put_saved(v, &(aoi_call){.call = AOI_RECORD_WAY,
                                     .id = e.id,
                                     .bits = way->broken,
                                     .values = way->broken ? nowhere : way->from});
    }
}

/* ---- pairs -------------------------------------------------------------------------------------------------------- */

static bool add_pair(saver *v, uint32_t node, uint32_t target, int how) {
    if (v->node_rank[node] == AOI_NONE) return true; /* node of a plugin */
    if (!AOI_GROW(&v->s->records.memory, v->pairs, v->pair_cap, v->pair_count + (size_t)1)) return false;
    v->pairs[v->pair_count++] = (saved_pair){v->node_rank[node], v->entity_rank[target], how};
    return true;
}

static int by_target(const void *a, const void *b) {
    const saved_pair *x = a, *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

/* Mostly a node has few. */
static void sort_by_target(saved_pair *pairs, uint32_t n) {
    enum { FEW = 24 };
    if (n > FEW) qsort(pairs, n, sizeof *pairs, by_target);
    for (uint32_t i = 1, k; n <= FEW && i < n; i++) {
        const saved_pair p = pairs[i];
        for (k = i; k && pairs[k - 1].target > p.target; k--) pairs[k] = pairs[k - 1];
        pairs[k] = p;
    }
}

static bool put_pairs_of_node(saver *v, int what, const saved_pair *pairs, uint32_t count) {
    aoi_space *s = v->s;
    const uint32_t slot = v->nodes[pairs->node];
    aoi_call c = {what, .id = s->records.entities[s->records.nodes[slot].owner].id,
                  .node_id = s->records.nodes[slot].node_id, .count = count};
    if (!AOI_GROW(&s->records.memory, s->ids_out, s->ids_cap, count)) return false;
    c.ids = s->ids_out;
    for (uint32_t i = 0; i < count; i++) {
        const saved_entity target = v->entities[pairs[i].target];
        s->ids_out[i] = target.id;
        if (what != AOI_CALL_OVERRIDE) continue;
        c.target = entity_at(s, target.slot);
        c.bits = (uint64_t)pairs[i].how;
        put_saved(v, &c);
    }
    if (what != AOI_CALL_OVERRIDE) put_saved(v, &c);
    return true;
}

/* Writes the pairs that were added, by node and target. */
static bool put_pairs(saver *v, int what) {
    aoi_memory *m = &v->s->records.memory;
    const uint32_t count = v->pair_count;
    uint32_t end = 0;
    v->pair_count = 0;
    if (!count) return true;
    if (!AOI_GROW(m, v->pairs, v->pair_cap, 2 * (size_t)count) ||
        !AOI_GROW(m, v->pair_ends, v->pair_end_cap, v->node_count))
        return false;
    memset(v->pair_ends, 0, v->node_count * sizeof *v->pair_ends);
    saved_pair *sorted = v->pairs + count;
    for (uint32_t i = 0; i < count; i++) v->pair_ends[v->pairs[i].node]++;
    for (uint32_t n = 0; n < v->node_count; n++) v->pair_ends[n] = end += v->pair_ends[n];
    for (uint32_t i = 0; i < count; i++) sorted[--v->pair_ends[v->pairs[i].node]] = v->pairs[i];
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && sorted[i + n].node == sorted[i].node;) n++;
        sort_by_target(sorted + i, n);
        if (!put_pairs_of_node(v, what, sorted + i, n)) return false;
    }
    return true;
}

static bool put_overrides(saver *v) {
    const aoi_override_table *t = &v->s->overrides;
    for (uint32_t i = 0; i < t->top; i++) {
        const aoi_override_record *r = t->records + i;
        if (r->how && !add_pair(v, r->end[0], r->end[1], r->how)) return false;
    }
    return put_pairs(v, AOI_CALL_OVERRIDE);
}

/* Those that are kept, or those that are marked AOI_PAIR_CHANGED. */
static bool put_kept(saver *v, int what) {
    const aoi_hash_index *t = &v->s->kept;
    for (uint32_t i = 0; i < t->size && t->count; i++) {
        const uint32_t value = t->slots[i].value;
        if (value == AOI_NONE || (value >= AOI_PAIR_CHANGED) != (what == AOI_RECORD_CHANGED)) continue;
        if (!add_pair(v, aoi_pair_table_node(t->slots[i].hash, value), value & ~AOI_PAIR_CHANGED, 0)) return false;
    }
    return put_pairs(v, what);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

void aoi_put_waiting(aoi_output *out, const aoi_space *s, const aoi_queued *q, unsigned how, aoi_saved_event *last) {
    const aoi_records *r = &s->records;
    aoi_saved_event e = {how | q->kind, q->because - 1u, q->watcher, q->node_id, q->target, q->t};
    if (q->entity >= r->entity_top || r->entities[q->entity].generation != q->life) e.how |= AOI_EVENT_TARGET_GONE;
    if (!aoi_is_live(r->nodes[q->node].generation)) e.how |= AOI_EVENT_NODE_GONE;
    if (q->because) e.how |= AOI_EVENT_BECAUSE;
    aoi_wrote(out, aoi_put_event(aoi_room(out, AOI_EVENT_ROOM), last, &e));
}

/* Writes events up to `end` as a record, if there are any; whether there are. */
static bool put_events(saver *v, uint32_t from, uint32_t end) {
    const aoi_event_queue *q = &v->s->queue;
    aoi_saved_event last = {0};
    aoi_call c = {.call = AOI_RECORD_EVENTS};
    for (uint32_t i = from; (i = aoi_queue_from(q, i)) < end; i++) c.count++;
    if (c.count) put_saved(v, &c);
    for (uint32_t i = from; (i = aoi_queue_from(q, i)) < end; i++)
        aoi_put_waiting(v->out, v->s, q->events + i, 0, &last);
    return c.count > 0;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

bool aoi_put_state(aoi_output *out, aoi_space *s, bool all, const aoi_saved_as *as) {
    aoi_memory *m = &s->records.memory;
    const aoi_event_queue *q = &s->queue;
    saver v = {.out = out, .s = s, .as = as};
    bool done = number_entities(&v) && number_nodes(&v);
    if (done) {
        put_head(&v);
        put_entities(&v);
    }
    done = done && put_fields(&v);
    if (done) {
        put_nodes(&v);
        put_ways(&v);
    }
    done = done && put_overrides(&v) && put_kept(&v, AOI_RECORD_KEPT) &&
           (!s->changed_count || put_kept(&v, AOI_RECORD_CHANGED));
    if (done) {
        const uint32_t ordered = q->ordered_end > q->head ? q->ordered_end : q->head;
        if (put_events(&v, q->head, ordered)) put_saved(&v, &(aoi_call){.call = AOI_RECORD_KEPT_ORDER});
        (void)put_events(&v, ordered, q->top);
    }
    done = done && aoi_sights_put(s, out, all);
    if (done) put_saved(&v, &(aoi_call){.call = AOI_RECORD_END});
    AOI_FREE(m, v.entities, v.entity_cap);
    AOI_FREE(m, v.entity_rank, v.entity_rank_cap);
    AOI_FREE(m, v.nodes, v.node_cap);
    AOI_FREE(m, v.node_rank, v.node_rank_cap);
    AOI_FREE(m, v.pairs, v.pair_cap);
    AOI_FREE(m, v.pair_ends, v.pair_end_cap);
    return done;
}

typedef struct snapshot_output {
    aoi_output out; /* first: hand_over receives its address */
    aoi_write write;
    void *ud;
    bool refused;
    uint32_t crc;
    aoi_crc32 sums;
    unsigned char buffer[8192 + AOI_VARINT_ROOM];
} snapshot_output;

static void write_on(aoi_output *out) {
    snapshot_output *o = (snapshot_output *)(void *)out;
    o->crc = aoi_crc32_of(&o->sums, o->crc, o->buffer, out->fill);
    if (out->fill && !o->refused) o->refused = !o->write(o->ud, o->buffer, out->fill);
    out->fill = 0;
}

int aoi_save(aoi_space *s, aoi_write write, void *ud) {
    snapshot_output o = {.write = write, .ud = ud};
    o.out = (aoi_output){o.buffer, 0, sizeof o.buffer - AOI_VARINT_ROOM, write_on};
    if (!aoi_settle(s) || !aoi_plugins_see(s)) return AOI_ENOMEM;
    aoi_crc32_open(&o.sums);
    aoi_write_bytes(&o.out, AOI_SNAPSHOT_MAGIC "\1", AOI_SNAPSHOT_HEAD);
    if (!aoi_put_state(&o.out, s, false, NULL)) return AOI_ENOMEM;
    write_on(&o.out);
    aoi_wrote(&o.out, aoi_put_bytes(o.buffer, o.crc, AOI_SNAPSHOT_CRC));
    write_on(&o.out);
    return o.refused ? AOI_EVALUE : AOI_OK;
}
