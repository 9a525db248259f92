/* records.c - writes the records of snapshots and journals, and reads them, one at a time; accepts or refuses any bytes;
 * see snapshot.h. */
#include "snapshot/snapshot.h"

/* Common sets of fields; the order of the bytes in a record is that of the enum in snapshot.h. */
enum {
    OF_NODE = AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_BY_NODE,
    NEW_NODE = AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_AREA,
    COUNTED = AOI_CALL_IDS | AOI_CALL_BYTES | AOI_CALL_EVENTS | AOI_CALL_PAIRS
};

static const struct {
    const char *name;
    unsigned fields;
} calls[] = {
    [AOI_RECORD_FRESH] = {NULL, AOI_CALL_ID | AOI_CALL_NODE},
    [AOI_RECORD_WAY] = {NULL, AOI_CALL_ID | AOI_CALL_HOW | AOI_CALL_PLACE},
    [AOI_RECORD_KEPT] = {NULL, AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_IDS},
    [AOI_RECORD_CHANGED] = {NULL, AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_IDS},
    [AOI_RECORD_EVENTS] = {NULL, AOI_CALL_BITS | AOI_CALL_EVENTS},
    [AOI_RECORD_PAIRS] = {NULL, AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_PAIRS},
    [AOI_RECORD_TAKEN] = {NULL, AOI_CALL_EVENTS},
    [AOI_CALL_ENTER] = {"enter", AOI_CALL_ID | AOI_CALL_BITS | AOI_CALL_PLACE},
    [AOI_CALL_MOVE] = {"move", AOI_CALL_ID | AOI_CALL_PLACE},
    [AOI_CALL_LEAVE] = {"leave", AOI_CALL_ID},
    [AOI_CALL_SET_KIND] = {"set_kind", AOI_CALL_ID | AOI_CALL_BITS},
    [AOI_CALL_SET_LAYERS] = {"set_layers", AOI_CALL_ID | AOI_CALL_BITS},
    [AOI_CALL_SET_EXTENT] = {"set_extent", AOI_CALL_ID | AOI_CALL_VALUE},
    [AOI_CALL_ATTACH] = {"attach", AOI_CALL_ID | AOI_CALL_ATTACHED | AOI_CALL_TARGET | AOI_CALL_PLACE},
    [AOI_CALL_MOVE_MANY] = {"move_many", AOI_CALL_ROWS},
    [AOI_CALL_ENTER_MANY] = {"enter_many", AOI_CALL_ROWS | AOI_CALL_BITS},
    [AOI_CALL_LEAVE_MANY] = {"leave_many", AOI_CALL_IDS},
    [AOI_CALL_ADD_NODE] = {"add_node", NEW_NODE},
    [AOI_CALL_ADOPT_NODE] = {"adopt", NEW_NODE | AOI_CALL_IDS},
    [AOI_CALL_ADD_NODE_MANY] = {"add_node_many", AOI_CALL_NODE | AOI_CALL_AREA | AOI_CALL_IDS},
    [AOI_CALL_REMOVE_NODE] = {"remove_node", OF_NODE},
    [AOI_CALL_SET_AREA] = {"set_area", OF_NODE | AOI_CALL_AREA},
    [AOI_CALL_SET_RADIUS] = {"set_radius", OF_NODE | AOI_CALL_VALUES},
    [AOI_CALL_SET_FACING] = {"set_facing", OF_NODE | AOI_CALL_VALUE},
    [AOI_CALL_SET_MASK] = {"set_mask", OF_NODE | AOI_CALL_BITS},
    [AOI_CALL_OVERRIDE] = {"override", OF_NODE | AOI_CALL_TARGET | AOI_CALL_HOW},
    [AOI_CALL_FLUSH] = {"flush", 0},
    [AOI_CALL_PUT] = {"put", AOI_CALL_BITS | AOI_CALL_BYTES},
    [AOI_CALL_OPEN_SIGHT] = {"open_sight", AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_SIGHT | AOI_CALL_BITS},
    [AOI_CALL_CLOSE_SIGHT] = {"close_sight", AOI_CALL_SIGHT},
    [AOI_CALL_ADD_WALL] = {"add_wall", AOI_CALL_ID | AOI_CALL_SIGHT | AOI_CALL_HOW | AOI_CALL_WALL},
    [AOI_CALL_OPEN_WALL] = {"open_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_SHUT_WALL] = {"shut_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_REMOVE_WALL] = {"remove_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_ADD_SIGHT_NODE] = {"add_sight_node", NEW_NODE | AOI_CALL_SIGHT | AOI_CALL_BITS},
    [AOI_CALL_TICK_SIGHT] = {"tick_sight", AOI_CALL_SIGHT},
    [AOI_CALL_PIN] = {"pin", AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_SIGHT},
    [AOI_CALL_UNPIN] = {"unpin", AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_SIGHT},
    [AOI_CALL_SET_LAYERS_OF_ALL] = {"set_layers_of_all", AOI_CALL_ID | AOI_CALL_BITS},
    [AOI_CALL_JUMP] = {"jump", AOI_CALL_ID | AOI_CALL_PLACE},
    [AOI_CALL_LEAVE_BECAUSE] = {"leave_because", AOI_CALL_ID | AOI_CALL_HOW},
};

const char *aoi_call_name(int call) {
    return call >= 0 && call < AOI_CALLS_END ? calls[call].name : NULL;
}

unsigned aoi_record_fields(unsigned what) {
    return what < AOI_CALLS_END ? calls[what].fields : 0;
}

/* The number of doubles. */
static int values_of(unsigned fields, int dims) {
    if (fields & AOI_CALL_WALL) return dims == 3 ? 6 : 4;
    return fields & AOI_CALL_PLACE ? dims : fields & AOI_CALL_VALUES ? 2 : fields & AOI_CALL_VALUE ? 1 : 0;
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

void aoi_get_row(aoi_bytes *list, int dims, aoi_row *row) {
    *row = (aoi_row){.id = aoi_get_signed(list)};
    for (int a = 0; a < dims; a++) row->pos[a] = aoi_get_double(list);
}

static uint64_t difference(int64_t to, int64_t from) {
    return aoi_zigzag((uint64_t)to - (uint64_t)from);
}

unsigned char *aoi_put_event(unsigned char *p, aoi_saved_event *last, const aoi_saved_event *e) {
    *p++ = (unsigned char)e->how;
    if (e->how & AOI_EVENT_BECAUSE) *p++ = (unsigned char)e->because;
    p = aoi_put_signed(aoi_put_varint(p, difference(e->watcher, last->watcher)), e->node_id);
    p = aoi_put_varint(p, difference(e->target, last->target));
    *last = *e;
    return (e->how & AOI_EVENT_KIND) == AOI_CROSS ? aoi_put_double(p, e->t) : p;
}

static void get_difference(aoi_bytes *in, int64_t *id) {
    *id = (int64_t)((uint64_t)*id + (uint64_t)aoi_get_signed(in));
}

void aoi_get_event(aoi_bytes *list, aoi_saved_event *e) {
    e->how = aoi_get_byte(list);
    e->because = e->how & AOI_EVENT_BECAUSE ? aoi_get_byte(list) : 0;
    get_difference(list, &e->watcher);
    e->node_id = aoi_get_signed(list);
    get_difference(list, &e->target);
    e->t = (e->how & AOI_EVENT_KIND) == AOI_CROSS ? aoi_get_double(list) : 0;
}

static void skip_rows(aoi_bytes *in, int dims, aoi_record *r) {
    aoi_row row;
    r->list = *in;
    for (uint64_t i = 0; i < r->count && aoi_bytes_good(in); i++) aoi_get_row(in, dims, &row);
}

/* Skips `numbers` varints of each element. */
static void skip_numbers(aoi_bytes *in, aoi_record *r, unsigned numbers) {
    r->count = aoi_get_count(in, numbers);
    r->list = *in;
    for (uint64_t i = 0; i < r->count * numbers && aoi_bytes_good(in); i++) (void)aoi_get_varint(in);
}

static void skip_events(aoi_bytes *in, aoi_record *r) {
    aoi_saved_event e = {0};
    r->count = aoi_get_count(in, 4);
    r->list = *in;
    for (uint64_t i = 0; i < r->count && aoi_bytes_good(in); i++) aoi_get_event(in, &e);
}

static void skip_bytes(aoi_bytes *in, aoi_record *r) {
    r->count = aoi_get_count(in, 1);
    r->list = (aoi_bytes){.at = in->at, .end = in->at + r->count};
    in->at += r->count;
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static int64_t id_of(const aoi_space *s, aoi_entity e) {
    return s->records.entities[e.index].id;
}

static void put_rows(aoi_output *out, int dims, const aoi_call *c) {
    for (size_t i = 0; i < c->count; i++) {
        unsigned char *p = aoi_put_signed(aoi_room(out, AOI_MOST_VARINT + 3 * 8), c->rows[i].id);
        aoi_wrote(out, aoi_put_doubles(p, c->rows[i].pos, dims));
    }
}

static void put_ids(aoi_output *out, const aoi_space *s, const aoi_call *c) {
    for (size_t i = 0; i < c->count; i++) {
        const int64_t id = c->entities ? id_of(s, c->entities[i]) : c->ids[i];
        aoi_wrote(out, aoi_put_signed(aoi_room(out, AOI_MOST_VARINT), id));
    }
}

void aoi_write_record(aoi_output *out, const aoi_space *s, const aoi_call *c, int64_t id, int64_t node_id) {
    const int dims = s->records.dims;
    unsigned f = aoi_record_fields((unsigned)c->call);
    unsigned char *p = aoi_room(out, AOI_RECORD_ROOM);
    *p++ = (unsigned char)c->call;
    if (f & AOI_CALL_ID) p = aoi_put_signed(p, id);
    if (f & AOI_CALL_NODE) p = aoi_put_signed(p, node_id);
    if (f & AOI_CALL_SIGHT) p = aoi_put_varint(p, c->sight);
    if (f & AOI_CALL_ATTACHED) {
        *p++ = !AOI_IS_NULL(c->target);
        if (AOI_IS_NULL(c->target)) f = 0;
    }
    if (f & AOI_CALL_TARGET) p = aoi_put_signed(p, id_of(s, c->target));
    if (f & AOI_CALL_ROWS) p = aoi_put_varint(p, c->count);
    if (f & AOI_CALL_BITS) p = aoi_put_varint(p, c->bits);
    if (f & AOI_CALL_HOW) *p++ = (unsigned char)c->bits;
    p = aoi_put_doubles(p, c->values, values_of(f, dims));
    if (f & AOI_CALL_AREA) p = aoi_put_area(p, dims, c->area);
    aoi_wrote(out, p);
    for (int at = 0; f & AOI_CALL_AREA; aoi_wrote(out, p)) {
        p = aoi_room(out, AOI_OUTLINE_ROOM);
        if (!aoi_put_outline(&p, c->area, &at)) break;
    }
    if (f & COUNTED) aoi_wrote(out, aoi_put_varint(aoi_room(out, AOI_MOST_VARINT), c->count));
    if (f & AOI_CALL_ROWS) put_rows(out, dims, c);
    if (f & AOI_CALL_IDS) put_ids(out, s, c);
    if (f & AOI_CALL_BYTES) aoi_write_bytes(out, c->bytes, c->count);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static const char *get_refused(aoi_bytes *in, aoi_record *r) {
    r->call = aoi_get_byte(in);
    r->result = aoi_get_byte(in);
    r->count = aoi_get_byte(in);
    if (in->cut) return NULL;
    if (!aoi_call_name((int)r->call) || r->result == AOI_OK || r->result > AOI_ECHAIN || r->count > 2)
        return "a call is refused in an unknown way";
    int64_t ids[2] = {0, 0};
    for (uint64_t i = 0; i < r->count; i++) ids[i] = aoi_get_signed(in);
    r->id = ids[0];
    r->node_id = ids[1];
    return NULL;
}

static const char *get_call(aoi_bytes *in, int dims, aoi_record *r) {
    const char *fault = NULL;
    unsigned f = aoi_record_fields(r->what);
    if (f & AOI_CALL_ID) r->id = aoi_get_signed(in);
    if (f & AOI_CALL_NODE) r->node_id = aoi_get_signed(in);
    if (f & AOI_CALL_SIGHT) {
        const uint64_t number = aoi_get_varint(in);
        r->sight = (uint32_t)number;
        if (number >= AOI_MOST_STATES) return "a sight has too high a number";
    }
    if (f & AOI_CALL_ATTACHED) {
        r->bits = aoi_get_byte(in);
        if (r->bits > 1) return "an entity is attached in an unknown way";
        if (!r->bits) return NULL;
    }
    if (f & AOI_CALL_TARGET) r->target = aoi_get_signed(in);
    if (f & AOI_CALL_ROWS) r->count = aoi_get_count(in, 1 + 8 * (size_t)dims);
    if (f & AOI_CALL_BITS) r->bits = aoi_get_varint(in);
    if (f & AOI_CALL_HOW) r->bits = aoi_get_byte(in);
    for (int i = 0; i < values_of(f, dims); i++) r->values[i] = aoi_get_double(in);
    if (f & AOI_CALL_AREA) fault = aoi_get_area(in, dims, &r->outline, &r->area);
    if (fault) return fault;
    if (f & AOI_CALL_ROWS) skip_rows(in, dims, r);
    if (f & AOI_CALL_IDS) skip_numbers(in, r, 1);
    if (f & AOI_CALL_PAIRS) skip_numbers(in, r, 3);
    if (f & AOI_CALL_EVENTS) skip_events(in, r);
    if (f & AOI_CALL_BYTES) skip_bytes(in, r);
    return NULL;
}

/* Reads over the contents of a state, which has no state within. */
static const char *get_state(aoi_bytes *in, aoi_record *r) {
    const char *fault = NULL;
    aoi_record inner = {.what = AOI_RECORD_STATE, .outline = r->outline};
    r->list = *in;
    const unsigned dims = aoi_get_byte(in);
    aoi_skip_bytes(in, 1);
    aoi_skip_bytes(in, aoi_get_byte(in));
    (void)aoi_get_double(in);
    (void)aoi_get_varint(in);
    (void)aoi_get_varint(in);
    if (in->cut) return NULL;
    if (dims != 2 && dims != 3) return "dimensions are neither 2 nor 3";
    while (inner.what != AOI_RECORD_END) {
        if (in->at < in->end && *in->at == AOI_RECORD_STATE) return "a state is within another";
        const bool good = aoi_get_record(in, (int)dims, &inner, &fault);
        r->outline = inner.outline;
        if (good) continue;
        in->cut = !fault;
        return fault;
    }
    r->list.end = in->at;
    return NULL;
}

static const char *get_other(aoi_bytes *in, aoi_record *r) {
    switch (r->what) {
    case AOI_RECORD_STATE:
        return get_state(in, r);
    case AOI_RECORD_MARK:
        r->values[0] = aoi_get_double(in);
        return in->cut || isfinite(r->values[0]) ? NULL : "the time of a mark is not finite";
    case AOI_RECORD_CHECK:
        r->bits = aoi_get_bytes(in, 4);
        return NULL;
    case AOI_RECORD_ALL_TAKEN:
        r->count = aoi_get_varint(in);
        return NULL;
    case AOI_RECORD_REFUSED:
        return get_refused(in, r);
    case AOI_RECORD_END:
    case AOI_RECORD_SETTLED:
    case AOI_RECORD_HALF_SETTLED:
    case AOI_RECORD_KEPT_ORDER:
        return NULL;
    default:
        return "a record is of no kind";
    }
}

bool aoi_get_record(aoi_bytes *in, int dims, aoi_record *r, const char **fault) {
    const unsigned char *begin = in->at;
    *fault = NULL;
    if (in->at == in->end) return false;
    r->what = aoi_get_byte(in);
    r->count = 0;
    r->outline.refused = false;
    *fault = aoi_record_fields(r->what) || aoi_call_name((int)r->what) ? get_call(in, dims, r) : get_other(in, r);
    if (!in->cut && in->padded && !*fault) *fault = "a number is spelled too long";
    if (in->cut) *fault = NULL; /* not a whole record */
    if (!in->cut && !*fault) return true;
    in->at = begin;
    in->cut = in->padded = false;
    return false;
}
