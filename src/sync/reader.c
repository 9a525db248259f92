/* reader.c - reads messages (docs/sync-wire.md); accepts or refuses any bytes.
 *
 * Varints must have the shortest form, and all bytes must belong to the head or to the records that it counts: a
 * message that is truncated or padded is refused.  Repeated ids are not detected. */
#include <math.h>

#include "sync/sync.h"

static bool reader_fail(aoi_reader *r, const char *fault) {
    r->fault = fault;
    r->records = 0;
    return false;
}

static bool read_byte(aoi_reader *r, unsigned *out) {
    if (r->at == r->end) return reader_fail(r, "it is cut off");
    *out = *r->at++;
    return true;
}

/* Reads a number of at most `bits` bits. */
static bool read_varint(aoi_reader *r, unsigned bits, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned byte;
        if (!read_byte(r, &byte)) return false;
        if (shift >= bits || (bits - shift < 7 && (byte & 0x7F) >> (bits - shift)))
            return reader_fail(r, "a number is too large");
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte & 0x80) continue;
        if (!byte && shift) return reader_fail(r, "a number has more bytes than it needs");
        *out = v;
        return true;
    }
}

static bool read_double(aoi_reader *r, double *out) {
    if (r->end - r->at < 8) return reader_fail(r, "it is cut off");
    *out = aoi_peek_double(r->at);
    r->at += 8;
    return isfinite(*out) || reader_fail(r, "a number is not finite");
}

static bool read_float(aoi_reader *r, double *out) {
    if (r->end - r->at < 4) return reader_fail(r, "it is cut off");
    *out = aoi_number_of(AOI_F32, aoi_peek_bytes(r->at, 4));
    r->at += 4;
    return isfinite(*out) || reader_fail(r, "a number is not finite");
}

static double power_of(double base, int n) {
    double power = 1;
    while (n-- > 0) power *= base;
    return power;
}

static bool read_quantum(aoi_reader *r) {
    unsigned scale;
    if (!read_byte(r, &scale)) return false;
    if (scale == AOI_SCALE_FLOATS) r->quantum = 0;
    else if (scale < AOI_SCALE_TWO) r->quantum = 1 / power_of(10, (int)scale - AOI_SCALE_TEN);
    else if (scale < AOI_SCALE_TOP) r->quantum = 1 / power_of(2, (int)scale - AOI_SCALE_TWO);
    else if (scale != AOI_SCALE_OTHER) return reader_fail(r, "its quantum is unknown");
    else if (!read_double(r, &r->quantum)) return false;
    else if (!(r->quantum > 0)) return reader_fail(r, "its quantum is not positive");
    return true;
}

/* Reads a number of quanta relative to `from`. */
static bool read_quanta(aoi_reader *r, int64_t from, int64_t *out) {
    uint64_t z;
    if (!read_varint(r, 56, &z)) return false;
    *out = from + (int64_t)aoi_unzigzag(z);
    const int64_t most = (int64_t)AOI_WIRE_QUANTA; /* a double has no 2^53 + 1 */
    return (*out <= most && *out >= -most) || reader_fail(r, "a position is out of range");
}

/* Reads the names and types of fields. */
static bool read_fields(aoi_reader *r) {
    if (!read_varint(r, AOI_MOST_FIELDS, &r->fields)) return false;
    if (!r->fields) return reader_fail(r, "it has no fields");
    r->table = r->at;
    for (uint64_t rest = r->fields; rest; rest &= rest - 1) {
        unsigned type, size;
        if (!read_byte(r, &type) || !read_byte(r, &size)) return false;
        if (type >= AOI_TYPES) return reader_fail(r, "a field has an unknown type");
        if (!size || size > AOI_MOST_FIELD_NAME) return reader_fail(r, "the name of a field is empty or too long");
        if (size > (size_t)(r->end - r->at)) return reader_fail(r, "it is cut off");
        r->at += size;
    }
    return true;
}

static bool read_head(aoi_reader *r) {
    unsigned version, flags;
    uint64_t records;
    if (!read_byte(r, &version) || !read_byte(r, &flags)) return false;
    if (version != AOI_WIRE_VERSION) return reader_fail(r, "it is of another version");
    if (flags & ~(unsigned)(AOI_WIRE_3D | AOI_WIRE_ANEW | AOI_WIRE_FIELDS | AOI_WIRE_REASONS | AOI_WIRE_RIDERS))
        return reader_fail(r, "it has unknown flags");
    r->dimensions = flags & AOI_WIRE_3D ? 3 : 2;
    r->anew = flags & AOI_WIRE_ANEW;
    r->reasons = flags & AOI_WIRE_REASONS;
    r->riders = flags & AOI_WIRE_RIDERS;
    if (!read_quantum(r) || !read_varint(r, 32, &records)) return false;
    for (int a = 0; a < r->dimensions && r->quantum > 0; a++)
        if (!read_quanta(r, 0, r->origin + a)) return false;
    if (flags & AOI_WIRE_FIELDS && !read_fields(r)) return false;
    if (records > (uint64_t)(r->end - r->at)) return reader_fail(r, "it is cut off");
    r->records = (uint32_t)records;
    return true;
}

const char *aoi_read_begin(aoi_reader *r, const void *bytes, size_t size) {
    *r = (aoi_reader){.at = bytes, .end = (const unsigned char *)bytes + size};
    if (read_head(r) && !r->records && r->at != r->end) (void)reader_fail(r, "bytes follow its last record");
    return r->fault;
}

/* from: in quanta, what the position is relative to. */
static bool read_position(aoi_reader *r, bool wide, const int64_t *from, double *pos) {
    for (int a = 0; a < r->dimensions; a++) {
        int64_t n;
        if (wide) {
            if (!read_double(r, pos + a)) return false;
        } else if (!(r->quantum > 0)) {
            if (!read_float(r, pos + a)) return false;
        } else {
            if (!read_quanta(r, from[a], &n)) return false;
            pos[a] = r->quantum * (double)n;
            if (!isfinite(pos[a])) return reader_fail(r, "a position is out of range");
        }
    }
    return true;
}

/* A position, or with riders what the form of a wide record says. */
static bool read_place(aoi_reader *r, bool wide, aoi_news *out) {
    static const int64_t none[3];
    unsigned form = AOI_FORM_WIDE;
    uint64_t z;
    if (!wide || !r->riders) return read_position(r, wide, r->origin, out->pos);
    if (!read_byte(r, &form)) return false;
    if (form < AOI_FORM_WIDE || form > (AOI_FORM_WIDE | AOI_FORM_CARRIER))
        return reader_fail(r, "a record has an unknown form");
    if (!(form & AOI_FORM_CARRIER)) return read_position(r, true, none, out->pos);
    if (!read_varint(r, 64, &z)) return false;
    out->carrier = (int64_t)((uint64_t)out->id + aoi_unzigzag(z));
    out->what |= AOI_RIDING;
    if (out->carrier) out->what &= ~AOI_MOVED;
    return read_position(r, form & AOI_FORM_WIDE, out->carrier ? none : r->origin, out->pos);
}

static bool read_id(aoi_reader *r, int *tag, int64_t *id) {
    unsigned first;
    uint64_t high = 0;
    if (!read_byte(r, &first)) return false;
    if (first & 0x80 && !read_varint(r, 60, &high)) return false;
    if (first & 0x80 && !high) return reader_fail(r, "a number has more bytes than it needs");
    *tag = (int)(first & 7);
    r->last = (int64_t)((uint64_t)r->last + aoi_unzigzag(high << 4 | (first >> 3 & 15)));
    *id = r->last;
    return true;
}

static bool read_text(aoi_reader *r, aoi_news_value *out) {
    uint64_t length, offset = 0, total;
    if (!read_varint(r, 17, &length)) return false;
    bool part = length & 1;
    total = length /= 2;
    if (part && (!read_varint(r, 16, &offset) || !read_varint(r, 16, &total))) return false;
    if (part && (!length || length >= total || offset + length > total))
        return reader_fail(r, "a part of a value does not fit into it");
    if (length > AOI_MOST_VALUE) return reader_fail(r, "a value is too long");
    if (length > (uint64_t)(r->end - r->at)) return reader_fail(r, "it is cut off");
    out->value.bytes = r->at;
    out->value.size = (uint32_t)length;
    out->offset = (uint32_t)offset;
    out->total = (uint32_t)total;
    r->at += length;
    return true;
}

static bool read_number(aoi_reader *r, int type, double *out) {
    uint64_t bits = 0;
    unsigned low, high = 0;
    switch (type) {
    case AOI_F32:
        return read_float(r, out);
    case AOI_F64:
        return read_double(r, out);
    case AOI_U16:
    case AOI_I16:
    case AOI_U32:
    case AOI_I32:
        if (!read_varint(r, type == AOI_U16 || type == AOI_I16 ? 16 : 32, &bits)) return false;
        if (type == AOI_I16 || type == AOI_I32) bits = aoi_unzigzag(bits);
        break;
    default:
        if (!read_byte(r, &low) || (type == AOI_ANGLE16 && !read_byte(r, &high))) return false;
        if (type == AOI_BOOL && low > 1) return reader_fail(r, "a bool is neither 0 nor 1");
        bits = low | high << 8;
    }
    *out = aoi_number_of(type, bits);
    return true;
}

static bool read_value(aoi_reader *r, unsigned field, aoi_news_value *out) {
    const unsigned char *entry = r->table;
    for (uint64_t before = r->fields & ((UINT64_C(1) << field) - 1); before; before &= before - 1)
        entry += 2 + entry[1];
    *out = (aoi_news_value){.type = entry[0], .name = (const char *)entry + 2, .name_size = entry[1]};
    return aoi_is_text(out->type) ? read_text(r, out) : read_number(r, out->type, &out->value.number);
}

/* Verifies all values of a record; aoi_read_value reads them again one by one. */
static bool read_values(aoi_reader *r) {
    aoi_news_value value;
    if (!read_varint(r, AOI_MOST_FIELDS, &r->values)) return false;
    if (!r->values || r->values & ~r->fields) return reader_fail(r, "a record has unknown fields");
    r->value = r->at;
    for (uint64_t rest = r->values; rest; rest &= rest - 1)
        if (!read_value(r, (unsigned)aoi_lanes_first(rest), &value)) return false;
    return true;
}

bool aoi_read_value(aoi_reader *r, aoi_news_value *out) {
    const unsigned char *at = r->at;
    if (!r->values || r->fault) return false;
    r->at = r->value;
    (void)read_value(r, (unsigned)aoi_lanes_first(r->values), out); /* it has been read once */
    r->value = r->at;
    r->values &= r->values - 1;
    r->at = at;
    return true;
}

bool aoi_read_next(aoi_reader *r, aoi_news *out) {
    static const int what[] = {
        AOI_MOVED, AOI_MOVED | AOI_TOUCHED, AOI_TOUCHED, AOI_APPEARED, AOI_GONE, AOI_MOVED, AOI_APPEARED, AOI_STATE};
    int tag;
    r->values = 0;
    if (!r->records) return false;
    *out = (aoi_news){0};
    if (!read_id(r, &tag, &out->id)) return false;
    bool wide = tag == AOI_TAG_MOVED_WIDE || tag == AOI_TAG_APPEARED_WIDE;
    out->what = what[tag];
    if (out->what & (AOI_APPEARED | AOI_TOUCHED) && !read_varint(r, 64, &out->kind)) return false;
    if (out->what & (AOI_APPEARED | AOI_MOVED) && !read_place(r, wide, out)) return false;
    if (out->what == AOI_STATE && !read_values(r)) return false;
    unsigned reason = 0;
    if (out->what == AOI_GONE && r->reasons && !read_byte(r, &reason)) return false;
    out->reason = (int)reason;
    if (--r->records == 0 && r->at != r->end) return reader_fail(r, "bytes follow its last record");
    return true;
}
