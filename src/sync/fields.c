/* fields.c - state of entities: values of the host's fields, in addition to kind and position.
 *
 *   track --states--> [ put | changed: tick of each field | values, each in the width of its type, texts as blobs ]
 *
 *   scratch   [ mask, size | bytes | mask, size | bytes | ... ]    records of this tick without their ids
 *
 * A client lacks the fields that have changed since a tick.  As the knowers of an entity mostly lack the same set, its
 * last set and the set of all fields that differ from the defaults are packed once a tick and copied.  A state holds a
 * reference to its track until the entity leaves. */
#include <math.h>

#include "sync/sync.h"

typedef struct scratch_head {
    uint64_t mask;
    uint32_t size;
} scratch_head;

/* By type: bytes of a value in a state; of the longest value in a message, for texts without their bytes. */
static const uint8_t widths[AOI_TYPES] = {1, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, sizeof(aoi_blob *), sizeof(aoi_blob *)};
static const uint8_t lengths[AOI_TYPES] = {1, 1, 3, 5, 1, 3, 5, 4, 8, 1, 2, 3, 3};

/* ---- fields ------------------------------------------------------------------------------------------------------- */

bool aoi_fields_are_good(const aoi_field *fields, uint32_t count) {
    if (count > AOI_MOST_FIELDS) return false;
    for (uint32_t f = 0; f < count; f++) {
        size_t n = fields[f].name ? strlen(fields[f].name) : 0;
        if (!n || n > AOI_MOST_FIELD_NAME || fields[f].type < 0 || fields[f].type >= AOI_TYPES) return false;
        if (fields[f].to < AOI_TO_ALL || fields[f].to > AOI_TO_TEAM) return false;
        for (uint32_t k = 0; k < f; k++)
            if (!strcmp(fields[k].name, fields[f].name)) return false;
    }
    return true;
}

bool aoi_fields_open(aoi_sync *y, const aoi_field *fields, uint32_t count) {
    uint32_t at = sizeof(aoi_state) + count * (uint32_t)sizeof(uint32_t);
    if (!count) return true;
    if (!(y->fields = aoi_resize(aoi_sync_memory(y), NULL, 0, count * sizeof *y->fields))) return false;
    y->field_count = count;
    for (uint32_t f = 0; f < count; f++) {
        aoi_field_plan *p = y->fields + f;
        uint32_t n = (uint32_t)strlen(fields[f].name);
        *p = (aoi_field_plan){.type = (uint8_t)fields[f].type, .at = (uint16_t)at, .entry_size = (uint8_t)(n + 2)};
        at += widths[p->type];
        p->entry[0] = p->type;
        p->entry[1] = (unsigned char)n;
        memcpy(p->entry + 2, fields[f].name, n);
        if (fields[f].to == AOI_TO_OWN) y->own_fields |= UINT64_C(1) << f;
        if (fields[f].to == AOI_TO_TEAM) y->team_fields |= UINT64_C(1) << f;
        y->table_most += p->entry_size;
        uint32_t part = 3u * 3u + 1u, value = aoi_is_text(p->type) ? part : lengths[p->type];
        uint32_t piece = AOI_WIRE_ID + 2 * aoi_varint_size(UINT64_C(1) << f) + p->entry_size + value;
        if (piece > y->piece) y->piece = piece;
    }
    y->limited_fields = y->own_fields | y->team_fields;
    for (uint32_t f = 0; f < count && y->team_fields; f++) y->fields[f].at += (uint16_t)(2 * sizeof(uint32_t));
    y->table_most += AOI_MOST_VARINT;
    y->state_size = at + (y->team_fields ? 2 * (uint32_t)sizeof(uint32_t) : 0);
    return true;
}

void aoi_fields_close(aoi_sync *y) {
    AOI_FREE(aoi_sync_memory(y), y->fields, y->field_count);
    AOI_FREE(aoi_sync_memory(y), y->states, y->state_cap);
    AOI_FREE(aoi_sync_memory(y), y->scratch, y->scratch_cap);
    AOI_FREE(aoi_sync_memory(y), y->lacks_changes, y->lacks_change_cap);
}

bool aoi_sync_field(const aoi_sync *y, const char *name, size_t size, uint32_t *field, int *type) {
    for (uint32_t f = 0; f < y->field_count; f++) {
        const aoi_field_plan *p = y->fields + f;
        if (p->entry[1] != size || memcmp(p->entry + 2, name, size) != 0) continue;
        *field = f;
        *type = p->type;
        return true;
    }
    return false;
}

uint32_t aoi_fields_table_size(const aoi_sync *y, uint64_t mask) {
    uint32_t size = mask ? aoi_varint_size(mask) : 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) size += y->fields[aoi_lanes_first(rest)].entry_size;
    return size;
}

/* Writes the table right before the records. */
void aoi_fields_put_table(const aoi_sync *y, aoi_writer *w) {
    unsigned char mask[AOI_MOST_VARINT + AOI_VARINT_ROOM], *p = w->bytes + w->begin - w->table;
    if (!w->fields) return;
    size_t n = (size_t)(aoi_put_varint(mask, w->fields) - mask);
    memcpy(p, mask, n);
    p += n;
    for (uint64_t rest = w->fields; rest; rest &= rest - 1) {
        const aoi_field_plan *f = y->fields + aoi_lanes_first(rest);
        memcpy(p, f->entry, f->entry_size);
        p += f->entry_size;
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static uint64_t state_bits(const aoi_state *s, const aoi_field_plan *p) {
    return aoi_peek_bytes((const unsigned char *)s + p->at, widths[p->type]);
}

static void state_set_bits(aoi_state *s, const aoi_field_plan *p, uint64_t bits) {
    for (uint32_t i = 0; i < widths[p->type]; i++) ((unsigned char *)s)[p->at + i] = (unsigned char)(bits >> 8 * i);
}

aoi_blob *aoi_state_blob(const aoi_sync *y, const aoi_state *s, uint32_t field) {
    aoi_blob *blob;
    memcpy(&blob, (const unsigned char *)s + y->fields[field].at, sizeof blob);
    return blob;
}

aoi_blob *aoi_blob_new(aoi_sync *y, const void *text, uint32_t size) {
    aoi_blob *blob = aoi_resize(aoi_sync_memory(y), NULL, 0, sizeof *blob + size);
    if (!blob) return NULL;
    *blob = (aoi_blob){.refs = 1, .size = size};
    memcpy(blob->bytes, text, size);
    return blob;
}

void aoi_blob_release(aoi_sync *y, aoi_blob *blob) {
    if (blob && !--blob->refs) aoi_resize(aoi_sync_memory(y), blob, sizeof *blob + blob->size, 0);
}

static bool bits_of_integer(double v, double least, double most, uint64_t *bits) {
    if (!(v >= least && v <= most) || v != floor(v)) return false;
    *bits = (uint64_t)(int64_t)v;
    return true;
}

static bool bits_of_angle(double v, int bits_a_turn, uint64_t *bits) {
    double turns = v / (2 * AOI_PI);
    if (!isfinite(v)) return false;
    turns -= floor(turns);
    *bits = (uint64_t)floor(ldexp(turns, bits_a_turn) + 0.5) & ((UINT64_C(1) << bits_a_turn) - 1);
    return true;
}

/* False if the type cannot hold the number.  -0 becomes 0. */
static bool bits_of(int type, double v, uint64_t *bits) {
    float f = (float)v + 0.0f;
    switch (type) {
    case AOI_BOOL:
        return bits_of_integer(v, 0, 1, bits);
    case AOI_U8:
        return bits_of_integer(v, 0, UINT8_MAX, bits);
    case AOI_U16:
        return bits_of_integer(v, 0, UINT16_MAX, bits);
    case AOI_U32:
        return bits_of_integer(v, 0, UINT32_MAX, bits);
    case AOI_I8:
        return bits_of_integer(v, INT8_MIN, INT8_MAX, bits);
    case AOI_I16:
        return bits_of_integer(v, INT16_MIN, INT16_MAX, bits);
    case AOI_I32:
        return bits_of_integer(v, INT32_MIN, INT32_MAX, bits);
    case AOI_F32:
        *bits = aoi_float_bits(f);
        return isfinite(f);
    case AOI_F64:
        *bits = aoi_bits_of(v + 0.0);
        return isfinite(v);
    case AOI_ANGLE8:
        return bits_of_angle(v, 8, bits);
    default:
        return bits_of_angle(v, 16, bits);
    }
}

double aoi_number_of(int type, uint64_t bits) {
    float f;
    double d;
    uint32_t bits32 = (uint32_t)bits;
    switch (type) {
    case AOI_I8:
        return (double)(int8_t)bits;
    case AOI_I16:
        return (double)(int16_t)bits;
    case AOI_I32:
        return (double)(int32_t)bits32;
    case AOI_F32:
        memcpy(&f, &bits32, sizeof f);
        return (double)f;
    case AOI_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    case AOI_ANGLE8:
        return (double)bits32 * AOI_PI / 128;
    case AOI_ANGLE16:
        return (double)bits32 * AOI_PI / 32768;
    default:
        return (double)bits32;
    }
}

/* ---- states ------------------------------------------------------------------------------------------------------- */

static aoi_state *state_of(const aoi_sync *y, uint32_t track) {
    return track < y->state_cap ? y->states[track] : NULL;
}

bool aoi_state_end(aoi_sync *y, uint32_t track) {
    const aoi_state *s = state_of(y, track);
    if (!s || !s->news || y->stands_in) return false;
    y->tracks[track].refs--; /* from now on the track has it, not the other way round */
    return true;
}

/* Called when the track's entity leaves, a dead track is freed, or the synchroniser ends. */
void aoi_state_free(aoi_sync *y, uint32_t track) {
    aoi_state *s = state_of(y, track);
    if (!s) return;
    for (uint32_t f = 0; f < y->field_count; f++)
        if (aoi_is_text(y->fields[f].type)) aoi_blob_release(y, aoi_state_blob(y, s, f));
    aoi_resize(aoi_sync_memory(y), s, y->state_size, 0);
    y->states[track] = NULL;
    y->tracks[track].refs -= !(y->tracks[track].flags & AOI_TRACK_DEAD);
}

static aoi_state *state_ready(aoi_sync *y, uint32_t track) {
    aoi_memory *m = aoi_sync_memory(y);
    aoi_state *s = state_of(y, track);
    if (s) return s;
    if (!AOI_GROW_FILLED(m, y->states, y->state_cap, track + (size_t)1, &(aoi_state *){NULL})) return NULL;
    s = aoi_resize(m, NULL, 0, y->state_size);
    if (!s) return NULL;
    memset(s, 0, y->state_size);
    s->packed_in = y->scratch_epoch - 1;
    y->states[track] = s;
    y->tracks[track].refs++;
    return s;
}

/* Stores a new value, changed `ago` ticks ago; 0 is since the last tick. */
static void state_change(aoi_sync *y, uint32_t track, uint32_t field, uint64_t bits, aoi_blob *blob, uint32_t ago) {
    aoi_state *s = y->states[track];
    const aoi_field_plan *p = y->fields + field;
    const uint64_t bit = UINT64_C(1) << field;
    if (aoi_is_text(p->type)) {
        aoi_blob_release(y, aoi_state_blob(y, s, field));
        memcpy((unsigned char *)s + p->at, &blob, sizeof blob);
    } else state_set_bits(s, p, bits);
    s->put |= bit;
    s->changed[field] = y->now + 1 - ago;
    s->change = (uint32_t)++y->space->state_changes;
    if (!ago) s->news |= y->own_fields & bit ? AOI_NEWS_OWN : AOI_NEWS_PUBLIC;
    y->changes++;
    aoi_track_list(y, track);
}

void aoi_state_turned(aoi_sync *y, uint32_t track) {
    aoi_state *s = state_of(y, track);
    if (!s || !(s->put & y->team_fields)) return;
    s->news |= AOI_NEWS_PUBLIC;
    aoi_track_list(y, track);
}

static int put_blob(aoi_sync *y, uint32_t track, uint32_t field, const aoi_value *v, uint32_t ago) {
    aoi_state *s = state_of(y, track);
    const aoi_blob *old = s ? aoi_state_blob(y, s, field) : NULL;
    aoi_blob *blob = NULL;
    if (!ago && v->size == (old ? old->size : 0) && (!old || !memcmp(old->bytes, v->bytes, v->size))) return AOI_OK;
    if (v->size && !(blob = aoi_blob_new(y, v->bytes, v->size))) return AOI_ENOMEM;
    if (!state_ready(y, track)) {
        aoi_blob_release(y, blob);
        return AOI_ENOMEM;
    }
    state_change(y, track, field, 0, blob, ago);
    return AOI_OK;
}

static int put_plain(aoi_sync *y, uint32_t track, uint32_t field, uint64_t bits, uint32_t ago) {
    aoi_state *s = state_of(y, track);
    const uint64_t all =
        widths[y->fields[field].type] < 8 ? (UINT64_C(1) << 8 * widths[y->fields[field].type]) - 1 : UINT64_MAX;
    if (!ago && (bits & all) == (s ? state_bits(s, y->fields + field) : 0)) return AOI_OK;
    if (!state_ready(y, track)) return AOI_ENOMEM;
    state_change(y, track, field, bits, NULL, ago);
    return AOI_OK;
}

bool aoi_sync_holds(const aoi_sync *y, uint32_t field, const aoi_value *value) {
    uint64_t bits;
    if (field >= y->field_count) return false;
    const int type = y->fields[field].type;
    return aoi_is_text(type) ? value->size <= AOI_MOST_VALUE : bits_of(type, value->number, &bits);
}

aoi_sync *aoi_sync_after(const aoi_space *s, const aoi_sync *after) {
    aoi_plugin *l = after ? after->plugin.next : s->plugins;
    while (l && (l->class != &aoi_sync_plugin || ((aoi_sync *)(void *)l)->stands_in)) l = l->next;
    return (aoi_sync *)(void *)l;
}

int aoi_sync_put(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value) {
    return aoi_sync_put_past(y, entity, field, value, 0);
}

int aoi_sync_put_past(aoi_sync *y, aoi_entity entity, uint32_t field, const aoi_value *value, uint32_t ago) {
    uint32_t slot = aoi_entity_slot(y->space, entity), track;
    uint64_t bits = 0;
    if (slot == AOI_NONE) return AOI_EGONE;
    if (!aoi_sync_holds(y, field, value)) return AOI_EVALUE;
    const bool text = aoi_is_text(y->fields[field].type);
    if (!text) (void)bits_of(y->fields[field].type, value->number, &bits);
    if ((track = aoi_track_ready(y, slot)) == AOI_NONE) return AOI_ENOMEM;
    const uint64_t changes = y->changes;
    int result = text ? put_blob(y, track, field, value, ago) : put_plain(y, track, field, bits, ago);
    if (y->space->journal && y->changes != changes) aoi_states_put(y, track, field);
    aoi_track_release(y, track);
    return result;
}

int aoi_sync_value(const aoi_sync *y, aoi_entity entity, uint32_t field, aoi_value *out) {
    uint32_t slot = aoi_entity_slot(y->space, entity);
    *out = (aoi_value){.bytes = ""};
    if (slot == AOI_NONE) return AOI_EGONE;
    if (field >= y->field_count) return AOI_EVALUE;
    const aoi_state *s = state_of(y, aoi_track_of(y, slot));
    if (!s) return AOI_OK;
    const aoi_field_plan *p = y->fields + field;
    const aoi_blob *blob = aoi_is_text(p->type) ? aoi_state_blob(y, s, field) : NULL;
    if (blob) *out = (aoi_value){.bytes = blob->bytes, .size = blob->size};
    else if (!aoi_is_text(p->type)) out->number = aoi_number_of(p->type, state_bits(s, p));
    return AOI_OK;
}

/* ---- sets of fields ----------------------------------------------------------------------------------------------- */

uint64_t aoi_state_changed(const aoi_sync *y, uint32_t track, uint32_t since) {
    const aoi_state *s = state_of(y, track);
    uint64_t mask = 0;
    for (uint64_t rest = s ? s->put : 0; rest; rest &= rest - 1) {
        uint32_t f = (uint32_t)aoi_lanes_first(rest);
        if (aoi_tick_after(s->changed[f], since)) mask |= UINT64_C(1) << f;
    }
    return mask;
}

uint64_t aoi_state_put(const aoi_sync *y, uint32_t track) {
    const aoi_state *s = state_of(y, track);
    return s ? s->put : 0;
}

uint64_t aoi_state_differs(const aoi_sync *y, uint32_t track) {
    const aoi_state *s = state_of(y, track);
    uint64_t mask = 0;
    for (uint64_t rest = s ? s->put : 0; rest; rest &= rest - 1)
        if (state_bits(s, y->fields + aoi_lanes_first(rest))) mask |= rest & (0 - rest);
    return mask;
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

uint32_t aoi_state_bound(const aoi_sync *y, uint32_t track, uint64_t mask) {
    uint32_t size = AOI_MOST_VARINT;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        uint32_t f = (uint32_t)aoi_lanes_first(rest);
        const aoi_blob *blob = aoi_is_text(y->fields[f].type) ? aoi_state_blob(y, y->states[track], f) : NULL;
        size += lengths[y->fields[f].type] + (blob ? blob->size : 0);
    }
    return size;
}

/* There must be room for AOI_VARINT_ROOM more bytes. */
unsigned char *aoi_state_put_value(const aoi_sync *y, uint32_t track, uint32_t field, bool shown, unsigned char *p) {
    const aoi_state *s = y->states[track];
    const aoi_field_plan *plan = y->fields + field;
    if (aoi_is_text(plan->type)) {
        const aoi_blob *blob = shown ? aoi_state_blob(y, s, field) : NULL;
        p = aoi_put_varint(p, (blob ? blob->size : 0) * UINT64_C(2));
        if (blob) memcpy(p, blob->bytes, blob->size);
        return p + (blob ? blob->size : 0);
    }
    uint64_t bits = shown ? state_bits(s, plan) : 0;
    if (plan->type == AOI_U16 || plan->type == AOI_U32) return aoi_put_varint(p, bits);
    if (plan->type == AOI_I16 || plan->type == AOI_I32)
        return aoi_put_signed(p, (int64_t)aoi_number_of(plan->type, bits));
    for (uint32_t i = 0; i < widths[plan->type]; i++) *p++ = (unsigned char)(bits >> 8 * i);
    return p;
}

unsigned char *aoi_state_put_values(const aoi_sync *y, uint32_t track, uint64_t mask, uint64_t shown,
                                    unsigned char *p) {
    p = aoi_put_varint(p, mask);
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t f = (uint32_t)aoi_lanes_first(rest);
        p = aoi_state_put_value(y, track, f, shown >> f & 1, p);
    }
    return p;
}

void aoi_scratch_clear(aoi_sync *y) {
    y->scratch_epoch++;
    y->scratch_end = 0;
    AOI_CLEAR(aoi_sync_memory(y), y->scratch, y->scratch_cap);
}

/* entry: where it is remembered, or NULL. */
AOI_NOINLINE static const unsigned char *pack_anew(aoi_sync *y, uint32_t track, uint64_t mask, uint64_t shown,
                                                   uint32_t *entry, uint32_t *size) {
    scratch_head head = {mask, 0};
    size_t need = y->scratch_end + sizeof head + (size_t)aoi_state_bound(y, track, mask) + AOI_VARINT_ROOM;
    if (need > INT32_MAX || !AOI_GROW(aoi_sync_memory(y), y->scratch, y->scratch_cap, need)) return NULL;
    unsigned char *begin = y->scratch + y->scratch_end + sizeof head;
    *size = head.size = (uint32_t)(aoi_state_put_values(y, track, mask, shown, begin) - begin);
    if (!entry) return begin;
    memcpy(begin - sizeof head, &head, sizeof head);
    *entry = y->scratch_end;
    y->scratch_end += (uint32_t)sizeof head + head.size;
    return begin;
}

const unsigned char *aoi_state_pack(aoi_sync *y, uint32_t track, uint64_t mask, uint64_t shown, bool whole,
                                    uint32_t *size) {
    aoi_state *s = y->states[track];
    uint32_t *const teams = s->changed + y->field_count, *entry = s->packed + whole;
    if (s->packed_in != y->scratch_epoch) {
        s->packed_in = y->scratch_epoch;
        s->packed[0] = s->packed[1] = AOI_NONE;
        if (y->team_fields) teams[0] = teams[1] = AOI_NONE;
    }
    if (mask & y->limited_fields) {
        const bool alone = ((mask & y->own_fields) | (mask & ~shown)) != 0; /* for one client, or few */
        entry = alone ? NULL : mask & y->team_fields ? teams + whole : entry;
    }
    if (entry && *entry != AOI_NONE) {
        scratch_head head;
        memcpy(&head, y->scratch + *entry, sizeof head);
        *size = head.size;
        if (head.mask == mask) return y->scratch + *entry + sizeof head;
    }
    return pack_anew(y, track, mask, shown, entry, size);
}
