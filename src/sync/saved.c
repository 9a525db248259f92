/* saved.c - fields for snapshots, journals and observers: core/state_hook.h. */
#include <stdlib.h>

#include "core/state_hook.h"
#include "sync/sync.h"

/* ---- synchronisers with fields ----------------------------------------------------------------------------------- */

/* The synchroniser with that number, or unless `exactly` the lowest number from it on; NULL: there is none. */
static aoi_sync *find_states(const aoi_space *s, uint32_t number, bool exactly) {
    aoi_sync *found = NULL;
    for (aoi_plugin *l = s->plugins; l; l = l->next) {
        aoi_sync *y = (aoi_sync *)l;
        if (l->class != &aoi_sync_plugin || !y->field_count || y->number < number) continue;
        if (exactly ? y->number == number : !found || y->number < found->number) found = y;
    }
    return found;
}

bool aoi_states_next(const aoi_space *s, uint32_t *number) {
    const aoi_sync *y = find_states(s, *number, false);
    if (y) *number = y->number;
    return y != NULL;
}

bool aoi_next_field(const aoi_space *s, aoi_entity e, uint64_t *cursor, aoi_news_value *out) {
    const aoi_sync *y = find_states(s, (uint32_t)(*cursor / AOI_MOST_FIELDS), false);
    uint32_t f = y && y->number == *cursor / AOI_MOST_FIELDS ? (uint32_t)(*cursor % AOI_MOST_FIELDS) : 0;
    if (!y || aoi_entity_slot(s, e) == AOI_NONE) return false;
    const aoi_field_plan *p = y->fields + f;
    *out = (aoi_news_value){.type = p->type, .name = (const char *)p->entry + 2, .name_size = p->entry[1]};
    (void)aoi_sync_value(y, e, f, &out->value);
    out->total = out->value.size;
    const bool last = f + 1 == y->field_count;
    *cursor = last ? (y->number + UINT64_C(1)) * AOI_MOST_FIELDS : (uint64_t)y->number * AOI_MOST_FIELDS + f + 1;
    return true;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static bool begin_saved(aoi_sync *y, uint64_t fields) {
    aoi_writer *w = &y->saved;
    *w = (aoi_writer){.bytes = w->bytes, .cap = w->cap, .axes = y->space->records.dims, .fields = fields};
    w->table = aoi_fields_table_size(y, fields);
    w->begin = w->end = AOI_WIRE_HEAD + w->table;
    return AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end);
}

static bool save_state(aoi_sync *y, uint32_t track, uint64_t mask) {
    aoi_writer *w = &y->saved;
    const size_t room = (size_t)AOI_WIRE_RECORD + aoi_state_bound(y, track, mask) + AOI_VARINT_ROOM;
    if (w->end > (uint32_t)INT32_MAX || !AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, w->end + room)) return false;
    unsigned char *p = aoi_put_id(w, w->bytes + w->end, AOI_TAG_STATE, y->tracks[track].id);
    w->end = (uint32_t)(aoi_state_put_values(y, track, mask, UINT64_MAX, p) - w->bytes);
    w->records++;
    return true;
}

static void end_saved(aoi_sync *y, bool anew, const unsigned char **bytes, size_t *size) {
    aoi_fields_put_table(y, &y->saved);
    *bytes = aoi_writer_head(&y->saved, AOI_SCALE_FLOATS, 0, anew);
    *size = (size_t)(y->saved.bytes + y->saved.end - *bytes);
}

/* Saves all fields that differ from the defaults, by rising id. */
static bool save_whole(aoi_sync *y) {
    aoi_space *s = y->space;
    uint32_t n = 0;
    if (!begin_saved(y, UINT64_MAX >> (AOI_MOST_FIELDS - y->field_count)) ||
        !AOI_GROW(&s->records.memory, s->ranked, s->ranked_cap, y->state_cap))
        return false;
    for (uint32_t t = 0; t < y->state_cap; t++)
        if (aoi_state_differs(y, t) && !(y->tracks[t].flags & AOI_TRACK_DEAD))
            s->ranked[n++] = (aoi_ranked){0, y->tracks[t].id};
    if (n) qsort(s->ranked, n, sizeof *s->ranked, aoi_by_rank);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t track = aoi_track_of(y, aoi_slot_of_id(s, s->ranked[i].id));
        if (!save_state(y, track, aoi_state_differs(y, track))) return false;
    }
    return true;
}

/* The fields to save for changes after `since`, 0: all.  Numbers of changes wrap, so that old states may be repeated. */
static uint64_t put_since(const aoi_sync *y, uint32_t track, uint64_t since) {
    const aoi_state *s = y->states[track];
    const bool all = y->space->state_changes - since >= UINT64_C(1) << 31;
    return s && !(y->tracks[track].flags & AOI_TRACK_DEAD) &&
                   (all || !since || aoi_tick_after(s->change, (uint32_t)since))
               ? s->put
               : 0;
}

static bool save_since(aoi_sync *y, uint64_t since) {
    uint64_t fields = 0;
    for (uint32_t t = 0; t < y->state_cap; t++) fields |= put_since(y, t, since);
    if (!begin_saved(y, fields)) return false;
    for (uint32_t t = 0; t < y->state_cap && fields; t++) {
        const uint64_t mask = put_since(y, t, since);
        if (mask && !save_state(y, t, mask)) return false;
    }
    return true;
}

bool aoi_states_pack(aoi_space *s, uint32_t number, const uint64_t *since, const unsigned char **bytes, size_t *size) {
    aoi_sync *y = find_states(s, number, true);
    *size = 0;
    if (!(since ? save_since(y, *since) : save_whole(y))) return false;
    if (!since || y->saved.records) end_saved(y, !since, bytes, size);
    return true;
}

/* ---- for the journal --------------------------------------------------------------------------------------------- */

static void log_state(aoi_sync *y, const unsigned char *bytes, size_t size, bool saved) {
    const int result = saved ? AOI_OK : AOI_ENOMEM;
    aoi_log(y->space, &(aoi_call){AOI_CALL_PUT, result, .bits = y->number, .bytes = bytes, .count = size});
}

void aoi_states_put(aoi_sync *y, uint32_t track, uint32_t field) {
    const unsigned char *bytes = NULL;
    size_t size = 0;
    const uint64_t mask = UINT64_C(1) << field;
    const bool saved = begin_saved(y, mask) && save_state(y, track, mask);
    if (saved) end_saved(y, false, &bytes, &size);
    log_state(y, bytes, size, saved);
}

void aoi_states_opened(aoi_sync *y) {
    const unsigned char *bytes = NULL;
    size_t size = 0;
    const bool saved = aoi_states_pack(y->space, y->number, NULL, &bytes, &size);
    log_state(y, bytes, size, saved);
}

void aoi_states_closed(aoi_sync *y) {
    static const unsigned char none[] = {AOI_WIRE_VERSION, AOI_WIRE_ANEW, AOI_SCALE_FLOATS, 0};
    log_state(y, none, sizeof none, true);
}

/* ---- stand-ins ---------------------------------------------------------------------------------------------------- */

/* Opens a stand-in with the fields that a message names, which must be numbered from 0. */
static int stand_in(aoi_space *s, uint32_t number, const aoi_reader *r, const char **fault) {
    aoi_field fields[AOI_MOST_FIELDS];
    char names[AOI_MOST_FIELDS][AOI_MOST_FIELD_NAME + 1];
    const unsigned char *entry = r->table;
    uint32_t count = 0;
    for (uint64_t rest = r->fields; rest & 1; rest >>= 1, count++) {
        memcpy(names[count], entry + 2, entry[1]);
        names[count][entry[1]] = 0;
        fields[count] = (aoi_field){names[count], entry[0], AOI_TO_ALL};
        if (strlen(names[count]) != entry[1]) break;
        entry += 2 + entry[1];
    }
    aoi_sync *y;
    aoi_sync_options o = {.fields = fields, .field_count = count};
    *fault = "fields are not named in order";
    if (!count || r->fields != UINT64_MAX >> (AOI_MOST_FIELDS - count)) return AOI_EVALUE;
    const int result = aoi_sync_open_as(s, &o, number, &y);
    if (result != AOI_OK) return result;
    if (s->journal) aoi_states_opened(y);
    *fault = NULL;
    return AOI_OK;
}

static int put_values(aoi_sync *y, aoi_reader *r, int64_t id, const char **fault) {
    aoi_news_value v;
    const aoi_entity e = aoi_find(y->space, id);
    *fault = "a state is of no entity";
    if (AOI_IS_NULL(e)) return AOI_EVALUE;
    while (aoi_read_value(r, &v)) {
        uint32_t field;
        int type;
        *fault = "a state has another field";
        if (!aoi_sync_field(y, v.name, v.name_size, &field, &type) || type != v.type || v.total != v.value.size)
            return AOI_EVALUE;
        const int result = aoi_sync_put(y, e, field, &v.value);
        if (result != AOI_OK) return result;
    }
    *fault = NULL;
    return AOI_OK;
}

int aoi_states_apply(aoi_space *s, uint32_t number, const void *bytes, size_t size, int64_t *id, const char **fault) {
    aoi_reader r;
    aoi_news n;
    aoi_sync *y = find_states(s, number, true);
    *fault = aoi_read_begin(&r, bytes, size);
    if (!*fault && ((y && !y->stands_in) || number >= AOI_MOST_STATES)) *fault = "its number is taken";
    if (*fault) return AOI_EVALUE;
    if (r.anew) aoi_sync_close(y);
    if (r.anew && r.fields) {
        const int result = stand_in(s, number, &r, fault);
        if (result != AOI_OK) return result;
    }
    y = find_states(s, number, true);
    *id = 0;
    while (aoi_read_next(&r, &n)) {
        *fault = "a state is of no fields";
        if (!y || n.what != AOI_STATE) return AOI_EVALUE;
        const int result = put_values(y, &r, *id = n.id, fault);
        if (result != AOI_OK) return result;
    }
    *fault = r.fault;
    return r.fault ? AOI_EVALUE : AOI_OK;
}

static bool take_values(aoi_sync *y, const aoi_sync *from) {
    for (uint32_t t = 0; t < from->state_cap; t++) {
        const uint32_t slot = from->states[t] ? from->tracks[t].entity : AOI_NONE;
        if (slot == AOI_NONE) continue;
        const aoi_entity e = {slot, y->space->records.entities[slot].generation};
        for (uint32_t f = 0, field; f < from->field_count; f++) {
            const aoi_field_plan *p = from->fields + f;
            aoi_value v;
            int type;
            if (!aoi_sync_field(y, (const char *)p->entry + 2, p->entry[1], &field, &type) || type != p->type) continue;
            (void)aoi_sync_value(from, e, f, &v);
            if (aoi_sync_put(y, e, field, &v) != AOI_OK) return false;
        }
    }
    return true;
}

/* Uses public calls, so that `own` fields stay own and journals record the values.  Numbers are swapped, so that
 * snapshots keep the order. */
bool aoi_states_adopt(aoi_sync *y) {
    aoi_space *s = y->space;
    aoi_sync *from = NULL;
    const uint32_t own = y->number;
    for (uint32_t number = 0; aoi_states_next(s, &number) && !from; number++) {
        from = find_states(s, number, true);
        if (!from->stands_in) from = NULL;
    }
    if (from) {
        y->number = from->number;
        from->number = own;
    }
    if (s->journal) aoi_states_opened(y);
    if (from && !take_values(y, from)) {
        from->number = y->number;
        y->number = own;
        if (s->journal) aoi_states_opened(from);
        return false;
    }
    aoi_sync_close(from);
    return true;
}
