/* play.c - reads a journal and repeats its calls on another space; see journal.h.
 *
 *   bytes   [ head | state | call | taken | call | mark | ... ]
 *                                      ^ at: behind the last call or mark that was played, and its events taken so far
 *
 * Opening a player reads all bytes once: checks, marks, snapshots, the number of each call.  The space belongs to the
 * caller, who may examine, save and load it between two steps. */
#include <stdlib.h>

#include "journal/journal.h"

typedef struct play_mark {
    double time;
    size_t at; /* behind its record */
} play_mark;

struct aoi_player {
    aoi_memory memory;
    const unsigned char *bytes;
    size_t at, end; /* end: of the last whole record */
    int dims;
    play_mark *marks;
    size_t *states; /* records, by place */
    uint32_t mark_cap, mark_count, state_cap, state_count;
    uint64_t to_take; /* events still to be taken for the current record */
    aoi_bytes takes;  /* AOI_RECORD_TAKEN: its list; AOI_RECORD_ALL_TAKEN: empty */
    aoi_saved_event taken;
    int64_t *ids;
    aoi_row *rows;
    uint32_t id_cap, row_cap;
    aoi_play_info info;
    aoi_record record;
};

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static aoi_bytes bytes_from(const aoi_player *p, size_t at) {
    return (aoi_bytes){.at = p->bytes + at, .end = p->bytes + p->end};
}

/* The dimensions stand at the beginning of the state, which is the first record. */
static const char *find_dims(aoi_player *p) {
    aoi_bytes in = bytes_from(p, AOI_JOURNAL_HEAD);
    if (aoi_get_byte(&in) != AOI_RECORD_STATE) return "it does not begin with a snapshot";
    p->dims = (int)aoi_get_byte(&in);
    if (in.cut) return "it is cut off within its first snapshot";
    return p->dims == 2 || p->dims == 3 ? NULL : "it does not begin with a snapshot";
}

static int note_mark(aoi_player *p, double time, size_t at) {
    aoi_play_info *i = &p->info;
    if (p->mark_count && !(time >= i->last)) return AOI_EVALUE;
    if (!AOI_GROW(&p->memory, p->marks, p->mark_cap, p->mark_count + (size_t)1)) return AOI_ENOMEM;
    if (!p->mark_count) i->first = time;
    i->last = time;
    i->marks++;
    p->marks[p->mark_count++] = (play_mark){time, at};
    return AOI_OK;
}

static int note_record(aoi_player *p, size_t begin, size_t at, const char **fault) {
    const aoi_record *r = &p->record;
    aoi_play_info *i = &p->info;
    int result = AOI_OK;
    if (r->what == AOI_RECORD_MARK) result = note_mark(p, r->values[0], at);
    else if (r->what == AOI_RECORD_STATE) {
        if (!AOI_GROW(&p->memory, p->states, p->state_cap, p->state_count + (size_t)1)) return AOI_ENOMEM;
        p->states[p->state_count++] = begin;
    } else if (r->what == AOI_RECORD_REFUSED) i->refused++;
    else if (r->what == AOI_RECORD_HALF_SETTLED) i->inexact = true;
    else if (r->what == AOI_RECORD_TAKEN || r->what == AOI_RECORD_ALL_TAKEN) i->events += r->count;
    else if (aoi_call_name((int)r->what)) {
        i->calls++;
        i->of_call[r->what]++;
    }
    if (result == AOI_EVALUE) *fault = "the time of its marks goes back";
    return result;
}

/* Whether only the check, or a part of it, follows the end record: a damaged byte may look like an end. */
static bool ends_there(const aoi_player *p, const unsigned char *rest) {
    size_t size = p->end - (size_t)(rest - p->bytes);
    return !size || (!p->info.whole && size < AOI_CHECK_BYTES && *rest == AOI_RECORD_CHECK);
}

static int look_through(aoi_player *p, const char **fault) {
    aoi_crc32 sums;
    bool ended = false;
    aoi_bytes in = bytes_from(p, AOI_JOURNAL_HEAD);
    const unsigned char *summed = in.at, *begin = in.at;
    aoi_crc32_open(&sums);
    while (aoi_get_record(&in, p->dims, &p->record, fault)) {
        if (p->record.what == AOI_RECORD_CHECK) {
            if (aoi_crc32_of(&sums, 0, summed, (size_t)(begin - summed)) != p->record.bits)
                *fault = "a checksum is another: it has been damaged";
            summed = in.at;
            p->info.whole = ended;
        } else if (ended) *fault = "records follow its end";
        else {
            ended = p->record.what == AOI_RECORD_END;
            int result = note_record(p, (size_t)(begin - p->bytes), (size_t)(in.at - p->bytes), fault);
            if (result == AOI_ENOMEM) return AOI_ENOMEM;
        }
        if (*fault) break;
        begin = in.at;
        if (p->info.whole) break;
    }
    if (p->record.outline.refused) return AOI_ENOMEM;
    if (!*fault && ended && !ends_there(p, begin)) *fault = "records follow its end";
    if (!*fault && !p->state_count) *fault = "it is cut off within its first snapshot";
    p->end = (size_t)(begin - p->bytes);
    p->info.bytes = p->end;
    return *fault ? AOI_EVALUE : AOI_OK;
}

int aoi_play_open(const void *bytes, size_t size, const aoi_load_options *o, aoi_player **out, const char **fault) {
    const char *ignored;
    aoi_memory m = aoi_memory_from(o ? o->alloc : NULL, o ? o->alloc_ud : NULL);
    if (!fault) fault = &ignored;
    *fault = "it does not begin as a journal does";
    if (size < AOI_JOURNAL_HEAD || memcmp(bytes, AOI_JOURNAL_MAGIC, 4) != 0) return AOI_EVALUE;
    *fault = "it is of a version that this library does not read";
    if (((const unsigned char *)bytes)[4] != AOI_JOURNAL_VERSION) return AOI_EVALUE;
    *fault = NULL;
    aoi_player *p = aoi_resize(&m, NULL, 0, sizeof *p);
    if (!p) return AOI_ENOMEM;
    memset(p, 0, sizeof *p);
    p->memory = m;
    p->record.outline.memory = &p->memory;
    p->bytes = bytes;
    p->end = size;
    *fault = find_dims(p);
    int result = *fault ? AOI_EVALUE : look_through(p, fault);
    if (result == AOI_OK) *out = p;
    else aoi_play_close(p);
    return result;
}

void aoi_play_close(aoi_player *p) {
    if (!p) return;
    aoi_memory m = p->memory;
    AOI_FREE(&m, p->marks, p->mark_cap);
    AOI_FREE(&m, p->states, p->state_cap);
    AOI_FREE(&m, p->ids, p->id_cap);
    AOI_FREE(&m, p->rows, p->row_cap);
    p->record.outline.memory = &m;
    aoi_outline_free(&p->record.outline);
    aoi_resize(&m, p, sizeof *p, 0);
}

void aoi_play_read_info(const aoi_player *p, aoi_play_info *out) {
    *out = p->info;
}

bool aoi_play_mark(const aoi_player *p, size_t i, double *time, uint64_t *at) {
    if (i >= p->mark_count) return false;
    *time = p->marks[i].time;
    *at = p->marks[i].at;
    return true;
}

uint64_t aoi_play_tell(const aoi_player *p) {
    return p->at;
}

/* ---- places ------------------------------------------------------------------------------------------------------- */

int aoi_play_start(aoi_player *p, uint64_t before, const aoi_load_options *o, aoi_space **out, const char **fault) {
    uint32_t i = p->state_count;
    const char *ignored;
    if (!fault) fault = &ignored;
    *fault = NULL;
    while (i > 1 && p->states[i - 1] >= before) i--;
    aoi_bytes in = bytes_from(p, p->states[i - 1]);
    if (!aoi_get_record(&in, p->dims, &p->record, fault)) return p->record.outline.refused ? AOI_ENOMEM : AOI_EVALUE;
    aoi_space *s = NULL;
    int result = aoi_load_state(p->record.list, o, &s, fault);
    if (result == AOI_OK && s->records.dims != p->dims) {
        aoi_close(s);
        *fault = "a snapshot is of other dimensions";
        result = AOI_EVALUE;
    }
    if (result != AOI_OK) return result;
    p->at = (size_t)(in.at - p->bytes);
    p->to_take = 0;
    *out = s;
    return AOI_OK;
}

int aoi_play_goto(aoi_player *p, uint64_t at) {
    uint32_t from = 0, to = p->mark_count;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (p->marks[mid].at < at) from = mid + 1;
        else to = mid;
    }
    if (from == p->mark_count || p->marks[from].at != at) return AOI_EVALUE;
    p->at = (size_t)at;
    p->to_take = 0;
    return AOI_OK;
}

/* ---- repeating calls ---------------------------------------------------------------------------------------------- */

/* Converts the list of a record to the argument of the call; false when memory is refused. */
static bool read_ids(aoi_player *p, const aoi_record *r) {
    aoi_bytes in = r->list;
    if (!AOI_GROW(&p->memory, p->ids, p->id_cap, (size_t)r->count + 1)) return false;
    for (uint64_t i = 0; i < r->count; i++) p->ids[i] = aoi_get_signed(&in);
    return true;
}

static bool read_rows(aoi_player *p, const aoi_record *r) {
    aoi_bytes in = r->list;
    if (!AOI_GROW(&p->memory, p->rows, p->row_cap, (size_t)r->count + 1)) return false;
    for (uint64_t i = 0; i < r->count; i++) aoi_get_row(&in, p->dims, p->rows + i);
    return true;
}

static bool ask_of_node(const aoi_load_options *o, const aoi_space *s, int64_t watcher, aoi_record *r) {
    aoi_loaded_node n = {
        .watcher = watcher, .node_id = r->node_id, .silent = r->area.silent, .crosses = r->area.crosses};
    if (!aoi_host_takes(o, s, &n)) return false;
    r->area.silent = n.silent;
    r->area.user_data = n.user_data;
    return true;
}

/* Adds the nodes one by one, because `node` is called for each. */
static int add_many(aoi_player *p, aoi_space *s, const aoi_load_options *o, aoi_record *r) {
    int result = read_ids(p, r) ? AOI_OK : AOI_ENOMEM;
    for (uint64_t i = 0; i < r->count && result == AOI_OK; i++) {
        if (!ask_of_node(o, s, p->ids[i], r)) return AOI_EVALUE;
        result = aoi_add_node(s, aoi_find(s, p->ids[i]), r->node_id, &r->area, NULL);
    }
    return result == AOI_ENOMEM ? AOI_EVALUE : result; /* half done: the step cannot be repeated */
}

static int repeat_put(aoi_space *s, aoi_record *r) {
    const char *fault;
    if (r->bits >= AOI_MOST_STATES) return AOI_EVALUE;
    const int result = aoi_states_apply(s, (uint32_t)r->bits, r->list.at, (size_t)r->count, &r->id, &fault);
    return result == AOI_ENOMEM ? AOI_EVALUE : result; /* half done, as above */
}

static int repeat_call(aoi_player *p, aoi_space *s, const aoi_load_options *o, aoi_record *r) {
    aoi_entity e = aoi_find(s, r->id);
    aoi_node n = aoi_find_node(s, e, r->node_id);
    size_t count = (size_t)r->count;
    const char *fault;
    switch (r->what) {
    case AOI_CALL_ENTER:
        return aoi_enter(s, r->id, r->values, r->bits, NULL);
    case AOI_CALL_MOVE:
        return aoi_move(s, e, r->values);
    case AOI_CALL_JUMP:
        return aoi_jump(s, e, r->values);
    case AOI_CALL_LEAVE:
    case AOI_CALL_LEAVE_BECAUSE:
        return aoi_leave_because(s, e, r->what == AOI_CALL_LEAVE ? 0 : (int)r->bits);
    case AOI_CALL_SET_KIND:
        return aoi_set_kind(s, e, r->bits);
    case AOI_CALL_SET_LAYERS:
        return aoi_set_layers(s, e, r->bits);
    case AOI_CALL_SET_LAYERS_OF_ALL:
        return aoi_set_layers_with_passengers(s, e, r->bits);
    case AOI_CALL_SET_EXTENT:
        return aoi_set_extent(s, e, r->values[0]);
    case AOI_CALL_ATTACH:
        if (!r->bits) return aoi_attach(s, e, (aoi_entity){0, 0}, NULL);
        if (aoi_slot_of_id(s, r->target) == AOI_NONE) return AOI_EGONE;
        return aoi_attach(s, e, aoi_find(s, r->target), r->values);
    case AOI_CALL_MOVE_MANY:
        return read_rows(p, r) ? aoi_move_many(s, p->rows, count, NULL) : AOI_ENOMEM;
    case AOI_CALL_ENTER_MANY:
        return read_rows(p, r) ? aoi_enter_many(s, p->rows, count, r->bits, NULL) : AOI_ENOMEM;
    case AOI_CALL_LEAVE_MANY:
        return read_ids(p, r) ? aoi_leave_many(s, p->ids, count, NULL) : AOI_ENOMEM;
    case AOI_CALL_ADD_NODE:
        return ask_of_node(o, s, r->id, r) ? aoi_add_node(s, e, r->node_id, &r->area, NULL) : AOI_EVALUE;
    case AOI_CALL_ADOPT_NODE:
        if (!read_ids(p, r)) return AOI_ENOMEM;
        if (!ask_of_node(o, s, r->id, r)) return AOI_EVALUE;
        return aoi_adopt_node(s, e, r->node_id, &r->area, p->ids, count, NULL);
    case AOI_CALL_ADD_NODE_MANY:
        return add_many(p, s, o, r);
    case AOI_CALL_REMOVE_NODE:
        return aoi_remove_node(s, n);
    case AOI_CALL_SET_AREA:
        return aoi_set_area(s, n, &r->area);
    case AOI_CALL_SET_RADIUS:
        return aoi_set_radius(s, n, r->values[0], r->values[1]);
    case AOI_CALL_SET_FACING:
        return aoi_set_facing(s, n, r->values[0]);
    case AOI_CALL_SET_MASK:
        return aoi_set_mask(s, n, r->bits);
    case AOI_CALL_PUT:
        return repeat_put(s, r);
    case AOI_CALL_OVERRIDE:
        return aoi_override(s, n, aoi_find(s, r->target), (int)r->bits);
    case AOI_CALL_FLUSH:
        return aoi_flush(s);
    case AOI_CALL_PIN:
    case AOI_CALL_UNPIN:
        return AOI_OK; /* pins change no space; the program that plays reads them */
    default:
        return aoi_call_name((int)r->what) ? aoi_sights_repeat(s, o, r, &fault) : AOI_EVALUE;
    }
}

/* ---- stepping ----------------------------------------------------------------------------------------------------- */

static uint64_t events_waiting(const aoi_space *s) {
    return (uint64_t)s->queue.count + aoi_plugins_waiting(s->plugins);
}

static bool take_any(aoi_space *s, aoi_event *out) {
    const aoi_queued *e = aoi_take(s);
    if (!e) e = aoi_plugins_take(s);
    if (e) aoi_read_event(s, e, out);
    return e != NULL;
}

/* Processes a record that belongs to the step before: events that were taken, moves that were evaluated between calls.
 * False if the next record does not, or on an error in *result. */
static bool follow(aoi_player *p, aoi_space *s, int *result) {
    const char *fault;
    aoi_bytes in = bytes_from(p, p->at);
    *result = AOI_OK;
    if (!aoi_get_record(&in, p->dims, &p->record, &fault)) {
        if (p->record.outline.refused) *result = AOI_ENOMEM;
        return false;
    }
    switch (p->record.what) {
    case AOI_RECORD_TAKEN:
        p->to_take = p->record.count;
        p->takes = p->record.list;
        p->taken = (aoi_saved_event){0};
        break;
    case AOI_RECORD_ALL_TAKEN:
        p->to_take = p->record.count;
        p->takes = (aoi_bytes){0};
        if (p->info.inexact) p->to_take = events_waiting(s);
        if (events_waiting(s) != p->to_take) *result = AOI_EVALUE;
        break;
    case AOI_RECORD_SETTLED:
    case AOI_RECORD_HALF_SETTLED:
        if (!aoi_settle(s)) *result = AOI_ENOMEM;
        break;
    case AOI_RECORD_KEPT_ORDER:
        aoi_keep_order(s);
        break;
    case AOI_RECORD_CHECK:
    case AOI_RECORD_STATE:
        break;
    default:
        return false;
    }
    if (*result != AOI_OK) {
        p->to_take = 0;
        return false;
    }
    p->at = (size_t)(in.at - p->bytes);
    return true;
}

int aoi_play_next(aoi_player *p, aoi_space *s, aoi_event *e) {
    int result = AOI_OK;
    *e = (aoi_event){0};
    for (;;) {
        while (!p->to_take)
            if (!follow(p, s, &result)) return result;
        p->to_take--;
        if (!p->takes.at) return take_any(s, e) ? AOI_OK : AOI_EVALUE;
        aoi_saved_event *t = &p->taken;
        aoi_get_event(&p->takes, t);
        const aoi_event wanted = {
            .kind = (int)t->how, .watcher = t->watcher, .target = t->target, .node_id = t->node_id};
        if (aoi_take_event(s, &wanted, e)) return AOI_OK;
        if (!p->info.inexact) return AOI_EVALUE;
    }
}

static void describe(const aoi_record *r, aoi_step *out) {
    bool refused = r->what == AOI_RECORD_REFUSED;
    const uint64_t count = aoi_record_fields(r->what) & AOI_CALL_SIGHT ? r->sight : r->count;
    *out = (aoi_step){.call = (int)(refused ? r->call : r->what),
                      .result = refused ? (int)r->result : AOI_OK,
                      .id = r->id,
                      .node_id = r->node_id,
                      .count = refused ? 0 : count};
}

int aoi_play_step(aoi_player *p, aoi_space *s, const aoi_load_options *o, aoi_step *out) {
    aoi_event ignored;
    const char *fault;
    int result;
    do {
        if ((result = aoi_play_next(p, s, &ignored)) != AOI_OK) return result;
    } while (ignored.kind);
    aoi_bytes in = bytes_from(p, p->at);
    *out = (aoi_step){0};
    p->record.id = p->record.node_id = p->record.target = 0;
    if (!aoi_get_record(&in, p->dims, &p->record, &fault)) return p->record.outline.refused ? AOI_ENOMEM : AOI_OK;
    aoi_record *r = &p->record;
    size_t behind = (size_t)(in.at - p->bytes);
    if (r->what == AOI_RECORD_END) return AOI_OK;
    if (r->what == AOI_RECORD_MARK) *out = (aoi_step){.call = AOI_STEP_MARK, .time = r->values[0]};
    else {
        if (r->what != AOI_RECORD_REFUSED && (result = repeat_call(p, s, o, r)) != AOI_OK)
            return result == AOI_ENOMEM ? AOI_ENOMEM : AOI_EVALUE;
        describe(r, out);
    }
    p->at = behind;
    return AOI_OK;
}
