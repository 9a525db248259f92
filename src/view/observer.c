/* observer.c - reports the changes of a whole space since the last call, as bytes.
 *
 *   entities  [ id, kind, position, looks, generation | ... ]   by slot, compared with the records
 *   nodes     [ ids, generation, hash of the record | ... ]
 *   walls     [ id, hash of the record | ... ]     by slot
 *   taken     events since the last call (core/observer_hook.h)
 *
 *   aoi_observe -->  [ R engine ] [ S message of aoi.sync ] [ L looks ] [ W walls ] [ N nodes ] [ E events ]     blocks; docs/viewer-wire.md
 *
 * Empty blocks are omitted; R is written if everything is written anew.  The space is only read: positions are those of
 * queries, and moves that wait are not evaluated. */
#include "view/observer.h"

enum { NODE_IS_GONE, NODE_IS_THERE };
enum { WALL_IS_GONE, WALL_IS_SHUT, WALL_IS_OPEN, WALLS_ARE_GONE };

/* ---- life and hooks ---------------------------------------------------------------------------------------------- */

int aoi_observer_open(aoi_space *s, const aoi_observer_options *options, aoi_observer **out) {
    aoi_memory m = s->records.memory;
    double q = options ? options->quantum : 0;
    if (!(q >= 0) || isinf(q)) return AOI_EVALUE;
    aoi_observer *o = aoi_resize(&m, NULL, 0, sizeof *o);
    if (!o) return AOI_ENOMEM;
    m.used = sizeof *o;
    *o = (aoi_observer){.space = s, .next = s->observers, .memory = m, .fresh = true};
    if (options) o->options = *options;
    s->observers = o;
    *out = o;
    return AOI_OK;
}

void aoi_observer_close(aoi_observer *o) {
    if (!o) return;
    aoi_memory m = o->memory;
    if (o->space) {
        aoi_observer **at = &o->space->observers;
        while (*at != o) at = &(*at)->next;
        *at = o->next;
    }
    AOI_FREE(&m, o->entities, o->entity_cap);
    AOI_FREE(&m, o->nodes, o->node_cap);
    AOI_FREE(&m, o->walls, o->wall_cap);
    AOI_FREE(&m, o->taken, o->taken_cap);
    AOI_FREE(&m, o->writer.bytes, o->writer.cap);
    aoi_resize(&m, o, sizeof *o, 0);
}

void aoi_observers_detach(aoi_observer *o) {
    for (aoi_observer *next; o; o = next) {
        next = o->next;
        o->space = NULL;
    }
}

void aoi_observers_took(aoi_observer *o, const aoi_queued *e) {
    for (; o; o = o->next)
        if (o->taken_count < o->options.events && AOI_GROW(&o->memory, o->taken, o->taken_cap, o->taken_count + 1u))
            o->taken[o->taken_count++] = *e;
        else o->dropped++;
}

void aoi_observer_restart(aoi_observer *o) {
    o->fresh = true;
}

/* ---- R and S: entities ------------------------------------------------------------------------------------------- */

/* Rounds a position to quanta, or copies it; true: it must be written as doubles. */
static bool round_place(const aoi_observer *o, int dims, const double *pos, double *out) {
    double quantum = o->options.quantum;
    bool wide = false;
    for (int a = 0; a < dims; a++) {
        out[a] = quantum > 0 ? floor(pos[a] / quantum + 0.5) : pos[a];
        double back = quantum > 0 ? quantum * out[a] : (double)(float)pos[a];
        if (!isfinite(back) || (quantum > 0 && !(fabs(out[a]) <= AOI_WIRE_QUANTA))) wide = true;
        if (o->options.exact && (back != pos[a] || (back == 0 && signbit(back) != signbit(pos[a])))) wide = true;
    }
    return wide;
}

static bool put_record(aoi_observer *o, int tag, int64_t id, uint64_t kind, const aoi_wire_place *at) {
    aoi_writer *w = &o->writer;
    if (!aoi_writer_ready(&o->memory, w)) return false;
    w->end = (uint32_t)(aoi_put_record(w, w->bytes + w->end, tag, id, kind, at) - w->bytes);
    w->records++;
    return true;
}

static bool put_entity(aoi_observer *o, bool appears, bool moved, bool touched, const aoi_entity_record *e,
                       uint64_t kind, const double *pos) {
    aoi_wire_place place = {{0}};
    double at[3];
    const bool wide = round_place(o, o->writer.axes, pos, at);
    for (int a = 0; a < o->writer.axes; a++) {
        if (wide) place.bits[a] = aoi_bits_of(pos[a]);
        else place.bits[a] = o->writer.quanta ? (uint64_t)(int64_t)at[a] : aoi_float_bits((float)at[a]);
    }
    if (appears) return put_record(o, wide ? AOI_TAG_APPEARED_WIDE : AOI_TAG_APPEARED, e->id, kind, &place);
    if (wide && moved && touched && !put_record(o, AOI_TAG_TOUCHED, e->id, kind, NULL)) return false;
    return put_record(o, aoi_tag_of(moved, touched, wide), e->id, kind, &place);
}

static bool write_entity(aoi_observer *o, uint32_t slot) {
    const aoi_entity_record *e = o->space->records.entities + slot;
    observer_entity *t = o->entities + slot;
    const double *pos = aoi_position_now(o->space, slot);
    uint64_t kind = aoi_kind_of(o->space, slot);
    bool lives = aoi_is_live(e->generation), same = lives && t->generation == e->generation;
    if (t->generation && !same && !put_record(o, AOI_TAG_GONE, t->id, 0, NULL)) return false;
    const bool moved = same && !aoi_same_place(o->writer.axes, t->pos, pos), touched = same && t->kind != kind;
    if ((lives && !same) || moved || touched)
        if (!put_entity(o, !same, moved, touched, e, kind, pos)) return false;
    if (!same || moved)
        for (int a = 0; a < o->writer.axes; a++) t->pos[a] = pos[a];
    if (!same) t->looks = 0;
    t->kind = kind;
    t->id = e->id;
    t->generation = lives ? e->generation : 0;
    return true;
}

/* Sets the origin of numbers of quanta to the position of the first entity. */
static void choose_origin(aoi_observer *o) {
    const aoi_records *r = &o->space->records;
    double at[3] = {0};
    uint32_t first = 0;
    while (first < r->entity_top && !aoi_is_live(r->entities[first].generation)) first++;
    bool any = first < r->entity_top;
    bool wide = any && round_place(o, r->dims, aoi_position_now(o->space, first), at);
    for (int a = 0; a < r->dims; a++) {
        bool quanta = o->options.quantum > 0 && any && (!wide || fabs(at[a]) <= AOI_WIRE_QUANTA);
        o->writer.origin[a] = quanta ? (int64_t)at[a] : 0;
    }
}

/* Packs the records behind room for the head, which is written later. */
static bool write_entities(aoi_observer *o) {
    const aoi_records *r = &o->space->records;
    aoi_writer *y = &o->writer;
    if (!AOI_GROW(&o->memory, o->entities, o->entity_cap, r->entity_top)) return false;
    if (o->entity_top < r->entity_top)
        memset(o->entities + o->entity_top, 0, (r->entity_top - o->entity_top) * sizeof *o->entities);
    o->entity_top = r->entity_top;
    y->last = 0;
    y->records = 0;
    y->axes = r->dims;
    y->quanta = o->options.quantum > 0;
    choose_origin(o);
    for (uint32_t e = 0; e < r->entity_top; e++)
        if (!write_entity(o, e)) return false;
    return true;
}

/* ---- records that are written where their bytes have changed -------------------------------------------------------- */

/* The first h must be a constant, so that each v is multiplied before the next one is combined. */
static inline uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t hash_bytes(const unsigned char *p, const unsigned char *end) {
    uint64_t h = 1, v;
    for (; end - p >= 8; p += 8) {
        memcpy(&v, p, sizeof v);
        h = mix(h, v);
    }
    v = 0;
    memcpy(&v, p, (size_t)(end - p));
    return mix(h, v) | 1;
}

/* Keeps the record from `begin` to p if its hash differs from *hash, and updates it. */
static void keep_record(aoi_observer *o, uint32_t begin, const unsigned char *p, uint64_t *hash) {
    const uint64_t is = hash_bytes(o->writer.bytes + begin, p);
    if (is != *hash) ends_at(o, p);
    *hash = is;
}

/* ---- L: layers, extents, carriers ------------------------------------------------------------------------------- */

static bool write_look(aoi_observer *o, uint32_t slot) {
    const aoi_space *s = o->space;
    const aoi_entity self = {slot, s->records.entities[slot].generation};
    const aoi_looks looks = aoi_looks_of(s, slot);
    aoi_entity carrier = {0, 0};
    const bool carried = aoi_carrier(s, self, &carrier, NULL);
    const bool usual = looks.layers == AOI_FIRST_LAYER && looks.extent == 0 && !carried;
    o->looked |= !usual;
    if (usual && !o->entities[slot].looks) return true;
    if (!observer_room(o, 3 * OBSERVER_NUMBER + 8 + 1)) return false;
    unsigned char *p = aoi_put_signed(o->writer.bytes + o->writer.end, o->entities[slot].id);
    p = aoi_put_double(aoi_put_varint(p, looks.layers), looks.extent);
    *p++ = carried;
    if (carried) p = aoi_put_signed(p, s->records.entities[carrier.index].id);
    keep_record(o, o->writer.end, p, &o->entities[slot].looks);
    if (usual) o->entities[slot].looks = 0;
    return true;
}

static bool write_looks(aoi_observer *o) {
    const aoi_space *s = o->space;
    if (!s->entity_layers && !s->larges.count && !s->attached && !o->looked) return true;
    if (!observer_room(o, OBSERVER_BLOCK)) return false;
    uint32_t block = begin_block(o, 'L');
    o->looked = false;
    for (uint32_t e = 0; e < o->entity_top; e++)
        if (o->entities[e].generation && !write_look(o, e)) return false;
    end_block(o, block);
    return true;
}

/* ---- S: fields, a block for each synchroniser that has some --------------------------------------------------------- */

static bool write_fields(aoi_observer *o, bool all) {
    aoi_space *s = o->space;
    const uint64_t since = all ? 0 : o->stated;
    const unsigned char *bytes;
    size_t size;
    for (uint32_t number = 0; s->state_changes > since && aoi_states_next(s, &number); number++) {
        if (!aoi_states_pack(s, number, &since, &bytes, &size) || !observer_room(o, OBSERVER_BLOCK + size))
            return false;
        uint32_t block = begin_block(o, 'S');
        if (size) memcpy(o->writer.bytes + o->writer.end, bytes, size);
        o->writer.end += (uint32_t)size;
        end_block(o, block);
    }
    o->stated = s->state_changes;
    return true;
}

/* ---- W: walls ---------------------------------------------------------------------------------------------------- */

static bool write_wall(aoi_observer *o, uint32_t number, const aoi_wall_record *r, observer_wall *t) {
    if (!observer_room(o, 2 * (1 + 2 * OBSERVER_NUMBER) + 6 * 8)) return false;
    unsigned char *p = o->writer.bytes + o->writer.end;
    if (t->id && !(r->live && r->id == t->id)) {
        *p++ = WALL_IS_GONE;
        ends_at(o, p = aoi_put_signed(aoi_put_varint(p, number), t->id));
        *t = (observer_wall){0};
    }
    if (!r->live) return true;
    *p++ = r->w.open ? WALL_IS_OPEN : WALL_IS_SHUT;
    p = aoi_put_signed(aoi_put_varint(p, number), t->id = r->id);
    double values[6];
    aoi_wall_values(&r->w, values);
    for (int i = 0; i < 2 * o->space->records.dims; i++) p = aoi_put_double(p, values[i]);
    keep_record(o, o->writer.end, p, &t->hash);
    return true;
}

/* Writes walls in the order of their slots; if the slots of the sights have changed, all anew. */
static bool write_walls(aoi_observer *o, bool all) {
    const aoi_space *s = o->space;
    const aoi_sight *g;
    uint32_t top = 0, at = 0, number;
    uint64_t layout = 1;
    for (number = 0; (g = aoi_sights_with_walls(s, number)) != NULL; number = g->number + 1) {
        layout = mix(mix(layout, g->number), g->walls->record_top);
        top += g->walls->record_top;
    }
    if (!AOI_GROW(&o->memory, o->walls, o->wall_cap, top) || !observer_room(o, OBSERVER_BLOCK + 1)) return false;
    uint32_t block = begin_block(o, 'W');
    if (all || layout != o->walled) {
        if (top) memset(o->walls, 0, top * sizeof *o->walls);
        if (!all) o->writer.bytes[o->writer.end++] = WALLS_ARE_GONE;
        o->walled = layout;
    }
    for (number = 0; (g = aoi_sights_with_walls(s, number)) != NULL; number = g->number + 1)
        for (uint32_t i = 0; i < g->walls->record_top; i++)
            if (!write_wall(o, g->number, g->walls->records + i, o->walls + at++)) return false;
    end_block(o, block);
    return true;
}

/* ---- N: nodes ---------------------------------------------------------------------------------------------------- */

/* Writes the record of a node behind the writer's end, without moving that; NULL: memory refused. */
static unsigned char *put_node(aoi_observer *o, uint32_t node) {
    const aoi_space *s = o->space;
    const aoi_node_record *n = s->records.nodes + node;
    const aoi_override_record *first = NULL, *r;
    uint32_t count = 0, number, linger;
    aoi_area area;
    aoi_describe_node(s, node, &area);
    if (n->flags & AOI_NODE_OVERRIDES) first = aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_NODE, node);
    for (r = first; r; r = aoi_overrides_next(&s->overrides, AOI_OVERRIDE_BY_NODE, r))
        count += aoi_how_of(r) != AOI_BY_RULE;
    if (!observer_room(o, 1 + 2 * OBSERVER_NUMBER + aoi_area_room(&area) + 3 * 8 + 3 * OBSERVER_NUMBER +
                              11 * (size_t)count))
        return NULL;
    unsigned char *p = o->writer.bytes + o->writer.end;
    *p++ = NODE_IS_THERE;
    p = aoi_put_signed(aoi_put_signed(p, s->records.entities[n->owner].id), n->node_id);
    p = aoi_put_whole_area(p, s->records.dims, &area);
    if (area.shape == AOI_SECTOR) {
        const aoi_shape *sector = s->records.areas[node].shape;
        p = aoi_put_double(aoi_put_double(aoi_put_double(p, sector->fx), sector->fy), sector->c);
    }
    p = aoi_put_varint(p, count);
    for (r = first; r; r = aoi_overrides_next(&s->overrides, AOI_OVERRIDE_BY_NODE, r)) {
        if (aoi_how_of(r) == AOI_BY_RULE) continue;
        p = aoi_put_signed(p, s->records.entities[r->end[1]].id);
        *p++ = (unsigned char)aoi_how_of(r);
    }
    if (!aoi_sights_of_node(s, node, &number, &linger)) return aoi_put_varint(p, 0);
    return aoi_put_varint(aoi_put_varint(p, number + (uint64_t)1), linger);
}

/* Omits the record if a new node has these ids: its own record replaces that of the gone one. */
static bool put_gone_node(aoi_observer *o, const observer_node *t) {
    if (!AOI_IS_NULL(aoi_find_node(o->space, aoi_find(o->space, t->owner), t->node_id))) return true;
    if (!observer_room(o, 1 + 2 * OBSERVER_NUMBER)) return false;
    unsigned char *p = o->writer.bytes + o->writer.end;
    *p++ = NODE_IS_GONE;
    ends_at(o, aoi_put_signed(aoi_put_signed(p, t->owner), t->node_id));
    return true;
}

static bool write_node(aoi_observer *o, uint32_t slot) {
    const aoi_node_record *n = o->space->records.nodes + slot;
    observer_node *t = o->nodes + slot;
    bool lives = aoi_is_live(n->generation), same = lives && t->generation == n->generation;
    if (t->generation && !same && !put_gone_node(o, t)) return false;
    t->generation = 0; /* until it is written */
    if (!same) t->hash = 0;
    const unsigned char *p = lives ? put_node(o, slot) : NULL;
    if (lives && !p) return false;
    if (lives) keep_record(o, o->writer.end, p, &t->hash);
    t->generation = lives ? n->generation : 0;
    if (lives && !same) {
        t->owner = o->space->records.entities[n->owner].id;
        t->node_id = n->node_id;
    }
    return true;
}

static bool write_nodes(aoi_observer *o, bool all) {
    const aoi_records *r = &o->space->records;
    if (!AOI_GROW(&o->memory, o->nodes, o->node_cap, r->node_top) || !observer_room(o, OBSERVER_BLOCK)) return false;
    if (o->node_top < r->node_top) memset(o->nodes + o->node_top, 0, (r->node_top - o->node_top) * sizeof *o->nodes);
    o->node_top = r->node_top;
    uint32_t share = all || !o->options.share ? 1 : o->options.share, part = o->turn++ % share;
    uint32_t from = (uint32_t)((uint64_t)r->node_top * part / share);
    uint32_t to = (uint32_t)((uint64_t)r->node_top * (part + 1) / share), block = begin_block(o, 'N');
    for (uint32_t n = from; n < to; n++)
        if (!write_node(o, n)) return false;
    end_block(o, block);
    return true;
}

/* ---- E: events --------------------------------------------------------------------------------------------------- */

static bool write_events(aoi_observer *o) {
    if (!o->taken_count && !o->dropped) return true;
    if (!observer_room(o, OBSERVER_BLOCK + 2 * OBSERVER_NUMBER + o->taken_count * (1 + 3 * (size_t)OBSERVER_NUMBER)))
        return false;
    uint32_t block = begin_block(o, 'E');
    unsigned char *p = o->writer.bytes + o->writer.end;
    p = aoi_put_varint(aoi_put_varint(p, o->taken_count), o->dropped);
    for (uint32_t i = 0; i < o->taken_count; i++) {
        const aoi_queued *e = o->taken + i;
        *p++ = e->kind;
        p = aoi_put_signed(aoi_put_signed(aoi_put_signed(p, e->watcher), e->target), e->node_id);
    }
    ends_at(o, p);
    end_block(o, block);
    o->taken_count = 0;
    o->dropped = 0;
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static unsigned char *put_reset(const aoi_observer *o, unsigned char *p) {
    const char *name = o->space->index.class->name;
    size_t length = strlen(name);
    *p++ = 1; /* version */
    *p++ = (unsigned char)o->space->records.dims;
    *p++ = (unsigned char)length;
    memcpy(p, name, length);
    return p + length;
}

static bool write_all(aoi_observer *o, uint32_t *begin) {
    enum { RESET = 64 }; /* room in front for R, and the type and length of S */
    aoi_writer *w = &o->writer;
    bool fresh = o->fresh;
    w->end = 0;
    if (!observer_room(o, RESET + AOI_WIRE_HEAD + OBSERVER_BLOCK)) return false;
    if (fresh) {
        o->entity_top = o->node_top = 0; /* nothing has been written */
        uint32_t block = begin_block(o, 'R');
        ends_at(o, put_reset(o, w->bytes + w->end));
        end_block(o, block);
    }
    uint32_t front = w->end;
    w->begin = AOI_WIRE_HEAD + RESET;
    w->end = w->begin;
    o->fresh = true; /* until all is written: after a failure the next call writes everything anew */
    if (!write_entities(o)) return false;
    *begin = 0;
    if (w->records) { /* the head precedes the records, the block's type the head, and block R that */
        unsigned char *head = aoi_writer_head(w, aoi_scale_of(o->options.quantum), o->options.quantum, false);
        unsigned char *block = head - OBSERVER_BLOCK;
        *block = 'S';
        (void)aoi_put_bytes(block + 1, w->end - (uint32_t)(head - w->bytes), 4);
        memmove(block - front, w->bytes, front);
        *begin = (uint32_t)(block - w->bytes) - front;
    } else w->end = front;
    if (!write_looks(o) || !write_fields(o, fresh) || !write_walls(o, fresh) || !write_nodes(o, fresh) ||
        !write_events(o))
        return false;
    o->fresh = false;
    return true;
}

int aoi_observe(aoi_observer *o, const unsigned char **bytes, size_t *size) {
    uint32_t begin;
    if (!o->space) return AOI_EGONE;
    if (!write_all(o, &begin)) return AOI_ENOMEM;
    *bytes = o->writer.bytes + begin;
    *size = o->writer.end - begin;
    return AOI_OK;
}
