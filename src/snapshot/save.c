/* save.c - saves a space as bytes; see snapshot.h. */
#include <stdlib.h>

#include "core/state_hook.h"
#include "snapshot/snapshot.h"

typedef struct saved_entity {
    int64_t id;
    uint32_t slot;
} saved_entity;

typedef struct saved_pair { /* of a node and a target, by their numbers in the snapshot */
    int64_t key;            /* node << 32 | target */
    int how;                /* of an override */
} saved_pair;

typedef struct saver {
    aoi_space *s;
    aoi_write write;
    void *ud;
    bool refused; /* by write */
    uint32_t crc, fill;
    saved_entity *entities; /* by rising id */
    uint32_t *entity_rank;  /* by slot: number in the snapshot */
    uint32_t *node_rank;    /* by slot: number in the snapshot, those of gone nodes last; AOI_NONE: not in it */
    saved_pair *pairs;
    uint32_t entity_cap, entity_rank_cap, node_rank_cap, pair_cap, pair_count;
    uint32_t node_count, gone_count;
    aoi_crc32 sums;
    unsigned char buffer[8192];
} saver;

/* ---- output ------------------------------------------------------------------------------------------------------- */

static void put_out(saver *v) {
    v->crc = aoi_crc32_of(&v->sums, v->crc, v->buffer, v->fill);
    if (v->fill && !v->refused) v->refused = !v->write(v->ud, v->buffer, v->fill);
    v->fill = 0;
}

/* Room for that many more bytes, and for the overshoot of a varint. */
static unsigned char *room_for(saver *v, uint32_t bytes) {
    if (v->fill + bytes + AOI_VARINT_ROOM > sizeof v->buffer) put_out(v);
    return v->buffer + v->fill;
}

static void wrote_to(saver *v, const unsigned char *p) {
    v->fill = (uint32_t)(p - v->buffer);
}

static void put_number(saver *v, uint64_t n) {
    wrote_to(v, aoi_put_varint(room_for(v, AOI_MOST_VARINT), n));
}

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
    *p++ = (unsigned char)(a->shape | (a->silent ? AOI_AREA_SILENT : 0) |
                           (a->mask != AOI_ALL_KINDS ? AOI_AREA_MASKED : 0) | (grows ? AOI_AREA_GROWN : 0) |
                           (high ? AOI_AREA_HEIGHT : 0) | (a->layered ? AOI_AREA_LAYERS : 0));
    if (a->mask != AOI_ALL_KINDS) p = aoi_put_varint(p, a->mask);
    if (a->layered) p = aoi_put_varint(p, a->layers);
    if (a->shape == AOI_BOX) p = aoi_put_doubles(p, a->extents, dims);
    else if (a->shape == AOI_POLYGON) {
        *p++ = (unsigned char)a->corners;
        p = aoi_put_doubles(p, a->points, 2 * a->corners);
    } else p = aoi_put_double(p, a->radius);
    if (a->shape == AOI_SECTOR) p = aoi_put_doubles(p, (double[2]){a->facing, a->angle}, 2);
    if (a->shape == AOI_CYLINDER || high) p = aoi_put_double(p, a->half_height);
    return grows ? aoi_put_double(p, grown) : p;
}

/* ---- numbering ---------------------------------------------------------------------------------------------------- */

static bool number_entities(saver *v) {
    const aoi_world *w = &v->s->world;
    aoi_memory *m = &v->s->world.memory;
    uint32_t n = 0;
    bool sorted = true;
    if (!AOI_GROW(m, v->entities, v->entity_cap, w->entity_count) ||
        !AOI_GROW(m, v->entity_rank, v->entity_rank_cap, w->entity_top))
        return false;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        if (!aoi_is_live(w->entities[e].generation)) continue;
        sorted &= !n || v->entities[n - 1].id < w->entities[e].id;
        v->entities[n++] = (saved_entity){w->entities[e].id, e};
    }
    if (!sorted) qsort(v->entities, n, sizeof *v->entities, aoi_by_id);
    for (uint32_t i = 0; i < n; i++) v->entity_rank[v->entities[i].slot] = i;
    return true;
}

/* Stores the nodes of an entity, without those of layers, from old to new into world.hits.  Returns their number, or
 * AOI_NONE when memory is refused. */
static uint32_t old_to_new(aoi_space *s, uint32_t entity) {
    aoi_world *w = &s->world;
    uint32_t count = 0;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (w->nodes[n].flags & AOI_NODE_LAYER) continue;
        if (!AOI_GROW(&w->memory, w->hits, w->hit_cap, count + (size_t)1)) return AOI_NONE;
        w->hits[count++] = n;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = w->hits[i];
        w->hits[i] = w->hits[count - 1 - i];
        w->hits[count - 1 - i] = other;
    }
    return count;
}

static bool number_nodes(saver *v) {
    aoi_world *w = &v->s->world;
    if (!AOI_GROW(&w->memory, v->node_rank, v->node_rank_cap, w->node_top)) return false;
    for (uint32_t n = 0; n < w->node_top; n++) v->node_rank[n] = AOI_NONE;
    for (uint32_t i = 0; i < w->entity_count && v->s->node_count; i++) {
        uint32_t count = old_to_new(v->s, v->entities[i].slot);
        if (count == AOI_NONE) return false;
        for (uint32_t k = 0; k < count; k++) v->node_rank[w->hits[k]] = v->node_count++;
    }
    return true;
}

/* Numbers a gone node at its first event; whether this is the first. */
static bool is_first_of_gone(saver *v, uint32_t node) {
    if (v->node_rank[node] != AOI_NONE) return false;
    v->node_rank[node] = v->node_count + v->gone_count++;
    return true;
}

/* ---- sections ----------------------------------------------------------------------------------------------------- */

static bool has_looks(const saver *v, uint32_t slot) {
    return aoi_layers_of(v->s, slot) != AOI_FIRST_LAYER || aoi_is_large(v->s, slot);
}

static uint32_t count_looks(const saver *v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->s->world.entity_count && (v->s->entity_layers || v->s->larges.count); i++)
        n += has_looks(v, v->entities[i].slot);
    return n;
}

static void put_head(saver *v, bool sights) {
    const char *engine = v->s->index.class->name;
    size_t length = strlen(engine);
    unsigned char *p = room_for(v, 32 + AOI_MOST_ENGINE_NAME);
    memcpy(p, AOI_SNAPSHOT_MAGIC, 4);
    p[4] = AOI_SNAPSHOT_VERSION;
    p[5] = (unsigned char)v->s->world.dims;
    p[6] = (unsigned char)((v->s->deferred ? AOI_SNAPSHOT_DEFERRED : 0) | (v->s->attached ? AOI_SNAPSHOT_CARRIED : 0) |
                           (count_looks(v) ? AOI_SNAPSHOT_LOOKS : 0) |
                           (aoi_states_next(v->s, &(uint32_t){0}) ? AOI_SNAPSHOT_STATES : 0) |
                           (sights ? AOI_SNAPSHOT_SIGHTS : 0));
    p[7] = (unsigned char)length;
    memcpy(p + 8, engine, length);
    wrote_to(v, aoi_put_double(p + 8 + length, v->s->cell));
    put_number(v, v->s->taken);
}

static void put_entities(saver *v) {
    const aoi_world *w = &v->s->world;
    uint64_t last = 0;
    put_number(v, w->entity_count);
    for (uint32_t i = 0; i < w->entity_count; i++) {
        const aoi_entity_record *e = w->entities + v->entities[i].slot;
        unsigned char *p = room_for(v, 2 * AOI_MOST_VARINT + 3 * 8);
        p = i ? aoi_put_varint(p, (uint64_t)e->id - last) : aoi_put_signed(p, e->id);
        p = aoi_put_varint(p, aoi_kind_of(v->s, v->entities[i].slot));
        wrote_to(v, aoi_put_doubles(p, e->pos, w->dims));
        last = (uint64_t)e->id;
    }
}

static void put_carried(saver *v) {
    const aoi_space *s = v->s;
    uint32_t last = 0;
    if (!s->attached) return;
    put_number(v, s->attached);
    for (uint32_t i = 0; i < s->world.entity_count; i++) {
        if (!aoi_is_attached(s, v->entities[i].slot)) continue;
        const aoi_seat *seat = s->seats + v->entities[i].slot;
        unsigned char *p = aoi_put_varint(room_for(v, 2 * AOI_MOST_VARINT + 3 * 8), i - last);
        p = aoi_put_varint(p, v->entity_rank[seat->carrier]);
        wrote_to(v, aoi_put_doubles(p, seat->offset, s->world.dims));
        last = i;
    }
}

static void put_looks(saver *v) {
    uint32_t last = 0, count = count_looks(v);
    if (count) put_number(v, count);
    for (uint32_t i = 0; i < v->s->world.entity_count && count; i++) {
        uint32_t slot = v->entities[i].slot;
        if (!has_looks(v, slot)) continue;
        unsigned char *p = aoi_put_varint(room_for(v, 2 * AOI_MOST_VARINT + 8), i - last);
        wrote_to(v, aoi_put_double(aoi_put_varint(p, aoi_layers_of(v->s, slot)), aoi_extent_of(v->s, slot)));
        last = i;
    }
}

static void put_all_of(saver *v, const unsigned char *bytes, size_t size) {
    enum { PIECE = 4096 };
    for (; size; size -= size < PIECE ? size : PIECE, bytes += PIECE) {
        const size_t n = size < PIECE ? size : PIECE;
        wrote_to(v, (unsigned char *)memcpy(room_for(v, PIECE), bytes, n) + n);
    }
}

/* Writes the messages of synchronisers, or of sights, which have their numbers within; nothing if there are none. */
static bool put_messages(saver *v, bool sights) {
    bool (*const next)(const aoi_space *, uint32_t *) = sights ? aoi_sights_next : aoi_states_next;
    const unsigned char *bytes;
    uint32_t count = 0;
    size_t size;
    for (uint32_t number = 0; next(v->s, &number); number++) count++;
    if (count) put_number(v, count);
    for (uint32_t number = 0; next(v->s, &number); number++) {
        if (!(sights ? aoi_sights_pack(v->s, number, &bytes, &size)
                     : aoi_states_pack(v->s, number, NULL, &bytes, &size)))
            return false;
        if (!sights) put_number(v, number);
        put_number(v, size);
        put_all_of(v, bytes, size);
    }
    return true;
}

static bool put_nodes(saver *v) {
    aoi_space *s = v->s;
    const aoi_world *w = &s->world;
    uint32_t last = 0;
    put_number(v, v->node_count);
    for (uint32_t i = 0; i < w->entity_count && v->node_count; i++) {
        uint32_t count = old_to_new(s, v->entities[i].slot);
        if (count == AOI_NONE) return false;
        for (uint32_t k = 0; k < count; k++) {
            const aoi_node_record *n = w->nodes + w->hits[k];
            aoi_area area;
            aoi_describe_node(s, w->hits[k], &area);
            unsigned char *p = room_for(v, 2 * AOI_MOST_VARINT + AOI_AREA_ROOM);
            p = aoi_put_signed(aoi_put_varint(p, i - last), n->node_id);
            wrote_to(v, aoi_put_area(p, w->dims, &area));
            last = i;
        }
    }
    return true;
}

static bool add_pair(saver *v, uint32_t node, uint32_t target, int how) {
    if (v->node_rank[node] == AOI_NONE) return true; /* node of a layer */
    if (!AOI_GROW(&v->s->world.memory, v->pairs, v->pair_cap, v->pair_count + (size_t)1)) return false;
    v->pairs[v->pair_count++] = (saved_pair){(int64_t)aoi_pair_key(v->node_rank[node], v->entity_rank[target]), how};
    return true;
}

static void put_pairs(saver *v, bool hows) {
    uint64_t node = 0, target = 0;
    if (v->pair_count) qsort(v->pairs, v->pair_count, sizeof *v->pairs, aoi_by_id);
    put_number(v, v->pair_count);
    for (uint32_t i = 0; i < v->pair_count; i++) {
        uint64_t key = (uint64_t)v->pairs[i].key, gap = (key >> 32) - node;
        unsigned char *p = aoi_put_varint(room_for(v, 3 * AOI_MOST_VARINT), gap);
        p = aoi_put_varint(p, (key & UINT32_MAX) - (gap ? 0 : target));
        if (hows) *p++ = (unsigned char)v->pairs[i].how;
        wrote_to(v, p);
        node = key >> 32;
        target = key & UINT32_MAX;
    }
    v->pair_count = 0;
}

static bool put_overrides(saver *v) {
    const aoi_override_table *t = &v->s->overrides;
    for (uint32_t i = 0; i < t->top; i++) {
        const aoi_override_record *r = t->records + i;
        if (r->how && !add_pair(v, r->end[0], r->end[1], r->how)) return false;
    }
    put_pairs(v, true);
    return true;
}

/* Those that are kept, or those that are marked AOI_PAIR_CHANGED. */
static bool put_kept(saver *v, bool marked) {
    const aoi_index *t = &v->s->kept;
    for (uint32_t i = 0; i < t->size && t->count; i++) {
        const uint32_t value = t->slots[i].value;
        if (value == AOI_NONE || (value >= AOI_PAIR_CHANGED) != marked) continue;
        if (!add_pair(v, aoi_pair_table_node(t->slots[i].hash, value), value & ~AOI_PAIR_CHANGED, 0)) return false;
    }
    put_pairs(v, false);
    return true;
}

/* Whether the target of the event is still in the space; *rank: its number. */
static bool is_there(const saver *v, const aoi_queued *e, uint32_t *rank) {
    const aoi_world *w = &v->s->world;
    if (e->entity >= w->entity_top || w->entities[e->entity].generation != e->life) return false;
    *rank = v->entity_rank[e->entity];
    return true;
}

static void put_gone(saver *v) {
    const aoi_event_queue *q = &v->s->queue;
    uint32_t i;
    for (i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) (void)is_first_of_gone(v, q->events[i].node);
    put_number(v, v->gone_count);
    uint32_t next = v->node_count;
    for (i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        const aoi_queued *e = q->events + i;
        if (v->node_rank[e->node] != next) continue;
        next++;
        wrote_to(v, aoi_put_signed(aoi_put_signed(room_for(v, 2 * AOI_MOST_VARINT), e->watcher), e->node_id));
    }
}

static void put_events(saver *v) {
    const aoi_event_queue *q = &v->s->queue;
    uint32_t ordered = 0, i;
    for (i = q->head; (i = aoi_queue_from(q, i)) < q->ordered_end; i++) ordered++;
    put_number(v, q->count);
    put_number(v, ordered);
    for (i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        const aoi_queued *e = q->events + i;
        uint32_t rank = 0;
        bool there = is_there(v, e, &rank);
        unsigned char *p = room_for(v, 4 * AOI_MOST_VARINT);
        *p++ = (unsigned char)(e->kind | (there ? 0 : AOI_EVENT_GONE) | (e->because ? AOI_EVENT_BECAUSE : 0));
        if (e->because) *p++ = (unsigned char)(e->because - 1);
        p = aoi_put_varint(p, v->node_rank[e->node]);
        wrote_to(v, there ? aoi_put_varint(p, rank) : aoi_put_signed(p, e->target));
    }
}

/* False when memory is refused. */
static bool put_all(saver *v) {
    uint32_t sight = 0;
    if (!number_entities(v) || !number_nodes(v)) return false;
    put_head(v, aoi_sights_next(v->s, &sight));
    put_entities(v);
    put_carried(v);
    put_looks(v);
    if (!put_messages(v, false) || !put_nodes(v) || !put_overrides(v) || !put_kept(v, false)) return false;
    if (v->s->deferred && !put_kept(v, true)) return false;
    put_gone(v);
    put_events(v);
    if (!put_messages(v, true)) return false;
    put_out(v);
    wrote_to(v, aoi_put_bytes(room_for(v, AOI_SNAPSHOT_CRC), v->crc, AOI_SNAPSHOT_CRC));
    put_out(v);
    return true;
}

int aoi_save(aoi_space *s, aoi_write write, void *ud) {
    aoi_memory *m = &s->world.memory;
    if (!aoi_settle(s) || !aoi_layers_see(s)) return AOI_ENOMEM;
    saver v = {.s = s, .write = write, .ud = ud};
    aoi_crc32_open(&v.sums);
    bool all = put_all(&v);
    AOI_FREE(m, v.entities, v.entity_cap);
    AOI_FREE(m, v.entity_rank, v.entity_rank_cap);
    AOI_FREE(m, v.node_rank, v.node_rank_cap);
    AOI_FREE(m, v.pairs, v.pair_cap);
    if (!all) return AOI_ENOMEM;
    return v.refused ? AOI_EVALUE : AOI_OK;
}
