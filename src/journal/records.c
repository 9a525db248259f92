/* records.c - reads the records of a journal, one at a time: any bytes are a record, or refused; see journal.h. */
#include "journal/journal.h"

static const char *const call_names[] = {
    [AOI_CALL_ENTER] = "enter",
    [AOI_CALL_MOVE] = "move",
    [AOI_CALL_LEAVE] = "leave",
    [AOI_CALL_SET_KIND] = "set_kind",
    [AOI_CALL_MOVE_MANY] = "move_many",
    [AOI_CALL_ENTER_MANY] = "enter_many",
    [AOI_CALL_LEAVE_MANY] = "leave_many",
    [AOI_CALL_ADD_NODE] = "add_node",
    [AOI_CALL_ADOPT_NODE] = "adopt",
    [AOI_CALL_ADD_NODE_MANY] = "add_node_many",
    [AOI_CALL_REMOVE_NODE] = "remove_node",
    [AOI_CALL_SET_AREA] = "set_area",
    [AOI_CALL_SET_RADIUS] = "set_radius",
    [AOI_CALL_SET_FACING] = "set_facing",
    [AOI_CALL_SET_MASK] = "set_mask",
    [AOI_CALL_OVERRIDE] = "override",
    [AOI_CALL_FLUSH] = "flush",
    [AOI_CALL_ATTACH] = "attach",
    [AOI_CALL_SET_LAYERS] = "set_layers",
    [AOI_CALL_SET_EXTENT] = "set_extent",
    [AOI_CALL_PUT] = "put",
};

const char *aoi_call_name(int call) {
    return call >= AOI_CALL_ENTER && call < AOI_CALLS_END ? call_names[call] : NULL;
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

static void get_doubles(aoi_bytes *in, double *v, int n) {
    for (int i = 0; i < n; i++) v[i] = aoi_get_double(in);
}

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
    switch (r->what) {
    case AOI_CALL_ENTER:
    case AOI_CALL_MOVE:
    case AOI_CALL_LEAVE:
    case AOI_CALL_SET_KIND:
    case AOI_CALL_SET_LAYERS:
    case AOI_CALL_SET_EXTENT:
        r->id = aoi_get_signed(in);
        if (r->what == AOI_CALL_ENTER || r->what == AOI_CALL_SET_KIND || r->what == AOI_CALL_SET_LAYERS)
            r->bits = aoi_get_varint(in);
        if (r->what == AOI_CALL_SET_EXTENT) get_doubles(in, r->values, 1);
        if (r->what == AOI_CALL_ENTER || r->what == AOI_CALL_MOVE) get_doubles(in, r->values, dims);
        return NULL;
    case AOI_CALL_ATTACH:
        r->id = aoi_get_signed(in);
        r->bits = aoi_get_byte(in);
        if (r->bits > 1) return "an entity is attached in an unknown way";
        if (r->bits) {
            r->target = aoi_get_signed(in);
            get_doubles(in, r->values, dims);
        }
        return NULL;
    case AOI_CALL_MOVE_MANY:
    case AOI_CALL_ENTER_MANY:
        r->count = aoi_get_count(in, 1 + 8 * (size_t)dims);
        if (r->what == AOI_CALL_ENTER_MANY) r->bits = aoi_get_varint(in);
        skip_rows(in, dims, r);
        return NULL;
    case AOI_CALL_LEAVE_MANY:
        skip_ids(in, r);
        return NULL;
    case AOI_CALL_ADD_NODE_MANY:
        r->node_id = aoi_get_signed(in);
        fault = aoi_get_area(in, dims, r->points, &r->area);
        if (!fault) skip_ids(in, r);
        return fault;
    case AOI_CALL_PUT:
        r->bits = aoi_get_varint(in);
        skip_pieces(in, r);
        return NULL;
    case AOI_CALL_FLUSH:
        return NULL;
    default:
        break;
    }
    r->id = aoi_get_signed(in); /* of one node */
    r->node_id = aoi_get_signed(in);
    switch (r->what) {
    case AOI_CALL_ADD_NODE:
    case AOI_CALL_ADOPT_NODE:
    case AOI_CALL_SET_AREA:
        fault = aoi_get_area(in, dims, r->points, &r->area);
        if (!fault && r->what == AOI_CALL_ADOPT_NODE) skip_ids(in, r);
        return fault;
    case AOI_CALL_SET_RADIUS:
        get_doubles(in, r->values, 2);
        return NULL;
    case AOI_CALL_SET_FACING:
        get_doubles(in, r->values, 1);
        return NULL;
    case AOI_CALL_SET_MASK:
        r->bits = aoi_get_varint(in);
        return NULL;
    case AOI_CALL_OVERRIDE:
        r->target = aoi_get_signed(in);
        r->bits = aoi_get_byte(in);
        return NULL;
    default:
        return NULL;
    }
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
