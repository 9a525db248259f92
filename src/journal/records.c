/* records.c - reads the records of a journal, one at a time; accepts or refuses any bytes; see journal.h. */
#include "core/state_hook.h"
#include "journal/journal.h"

/* Common sets of fields; the order of the bytes in a record is that of the enum in journal.h. */
enum {
    OF_NODE = AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_BY_NODE,
    NEW_NODE = AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_AREA
};

static const struct {
    const char *name;
    unsigned fields;
} calls[] = {
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
    [AOI_CALL_PUT] = {"put", AOI_CALL_BITS | AOI_CALL_PIECES},
    [AOI_CALL_OPEN_SIGHT] = {"open_sight", AOI_CALL_SIGHT | AOI_CALL_PIECES},
    [AOI_CALL_CLOSE_SIGHT] = {"close_sight", AOI_CALL_SIGHT},
    [AOI_CALL_ADD_WALL] = {"add_wall", AOI_CALL_SIGHT | AOI_CALL_HOW | AOI_CALL_WALL},
    [AOI_CALL_OPEN_WALL] = {"open_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_SHUT_WALL] = {"shut_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_REMOVE_WALL] = {"remove_wall", AOI_CALL_ID | AOI_CALL_SIGHT},
    [AOI_CALL_ADD_SIGHT_NODE] = {"add_sight_node", NEW_NODE | AOI_CALL_SIGHT | AOI_CALL_BITS},
    [AOI_CALL_TICK_SIGHT] = {"tick_sight", AOI_CALL_SIGHT},
    [AOI_CALL_PIN] = {"pin", AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_SIGHT},
    [AOI_CALL_UNPIN] = {"unpin", AOI_CALL_ID | AOI_CALL_NODE | AOI_CALL_SIGHT},
    [AOI_CALL_LEAVE_BECAUSE] = {"leave_because", AOI_CALL_ID | AOI_CALL_HOW},
};

const char *aoi_call_name(int call) {
    return call >= AOI_CALL_ENTER && call < AOI_CALLS_END ? calls[call].name : NULL;
}

unsigned aoi_call_fields(int call) {
    return calls[call].fields;
}

int aoi_call_values(unsigned fields, int dims) {
    if (fields & AOI_CALL_WALL) return dims == 3 ? 6 : 4;
    return fields & AOI_CALL_PLACE ? dims : fields & AOI_CALL_VALUES ? 2 : fields & AOI_CALL_VALUE ? 1 : 0;
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

void aoi_get_row(aoi_bytes *list, int dims, aoi_row *row) {
    *row = (aoi_row){.id = aoi_get_signed(list)};
    for (int a = 0; a < dims; a++) row->pos[a] = aoi_get_double(list);
}

void aoi_get_event(aoi_bytes *list, aoi_event *e) {
    *e = (aoi_event){.kind = (int)aoi_get_byte(list)};
    e->watcher = aoi_get_signed(list);
    e->node_id = aoi_get_signed(list);
    e->target = aoi_get_signed(list);
}

static void skip_rows(aoi_bytes *in, int dims, aoi_record *r) {
    aoi_row row;
    r->list = *in;
    for (uint64_t i = 0; i < r->count && aoi_bytes_good(in); i++) aoi_get_row(in, dims, &row);
}

static void skip_ids(aoi_bytes *in, aoi_record *r) {
    r->count = aoi_get_count(in, 1);
    r->list = *in;
    for (uint64_t i = 0; i < r->count && aoi_bytes_good(in); i++) (void)aoi_get_signed(in);
}

static void skip_events(aoi_bytes *in, aoi_record *r) {
    aoi_event e;
    r->count = aoi_get_count(in, 4);
    r->list = *in;
    for (uint64_t i = 0; i < r->count && aoi_bytes_good(in); i++) aoi_get_event(in, &e);
}

static void skip_pieces(aoi_bytes *in, aoi_record *r) {
    uint64_t n;
    r->list = *in;
    while ((n = aoi_get_count(in, 1)) > 0) in->at += n;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

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
    unsigned f = aoi_call_fields((int)r->what);
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
    for (int i = 0; i < aoi_call_values(f, dims); i++) r->values[i] = aoi_get_double(in);
    if (f & AOI_CALL_AREA) fault = aoi_get_area(in, dims, r->points, &r->area);
    if (fault) return fault;
    if (f & AOI_CALL_ROWS) skip_rows(in, dims, r);
    if (f & AOI_CALL_IDS) skip_ids(in, r);
    if (f & AOI_CALL_PIECES) skip_pieces(in, r);
    return NULL;
}

static const char *get_other(aoi_bytes *in, aoi_record *r) {
    switch (r->what) {
    case AOI_RECORD_SNAPSHOT:
        skip_pieces(in, r);
        return NULL;
    case AOI_RECORD_MARK:
        r->values[0] = aoi_get_double(in);
        return in->cut || isfinite(r->values[0]) ? NULL : "the time of a mark is not finite";
    case AOI_RECORD_CHECK:
        r->bits = aoi_get_bytes(in, 4);
        return NULL;
    case AOI_RECORD_ALL_TAKEN:
        r->count = aoi_get_varint(in);
        return NULL;
    case AOI_RECORD_TAKEN:
        skip_events(in, r);
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
    *fault = aoi_call_name((int)r->what) ? get_call(in, dims, r) : get_other(in, r);
    if (!in->cut && in->padded && !*fault) *fault = "a number is spelled too long";
    if (in->cut) *fault = NULL; /* not a whole record */
    if (!in->cut && !*fault) return true;
    in->at = begin;
    in->cut = in->padded = false;
    return false;
}
