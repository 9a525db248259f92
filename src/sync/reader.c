/* reader.c - reads messages (docs/sync-wire.md): any bytes are read or refused.
 *
 * A varint has the shortest form, and all bytes belong to the head or to the records it counts: a message that is cut
 * off or padded is refused.  Whether ids are told twice is the host's affair. */
#include <math.h>

#include "sync/message.h"

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

/* At most `bits` bits. */
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
    uint64_t bits = 0;
    if (r->end - r->at < 8) return reader_fail(r, "it is cut off");
    for (int i = 0; i < 8; i++) bits |= (uint64_t)*r->at++ << 8 * i;
    memcpy(out, &bits, sizeof *out);
    return isfinite(*out) || reader_fail(r, "a number is not finite");
}

static bool read_float(aoi_reader *r, double *out) {
    uint32_t bits = 0;
    float f;
    if (r->end - r->at < 4) return reader_fail(r, "it is cut off");
    for (int i = 0; i < 4; i++) bits |= (uint32_t)*r->at++ << 8 * i;
    memcpy(&f, &bits, sizeof f);
    *out = (double)f;
    return isfinite(f) || reader_fail(r, "a number is not finite");
}

static uint64_t from_zigzag(uint64_t z) {
    return z >> 1 ^ (uint64_t) - (int64_t)(z & 1);
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

/* A number of quanta from the origin. */
static bool read_quanta(aoi_reader *r, int64_t from, int64_t *out) {
    uint64_t z;
    if (!read_varint(r, 56, &z)) return false;
    *out = from + (int64_t)from_zigzag(z);
    return fabs((double)*out) <= AOI_WIRE_QUANTA || reader_fail(r, "a position is out of range");
}

static bool read_head(aoi_reader *r) {
    unsigned version, flags;
    uint64_t records;
    if (!read_byte(r, &version) || !read_byte(r, &flags)) return false;
    if (version != AOI_WIRE_VERSION) return reader_fail(r, "it is of another version");
    if (flags & ~(unsigned)(AOI_WIRE_3D | AOI_WIRE_ANEW)) return reader_fail(r, "it has unknown flags");
    r->dimensions = flags & AOI_WIRE_3D ? 3 : 2;
    r->anew = flags & AOI_WIRE_ANEW;
    if (!read_quantum(r) || !read_varint(r, 32, &records)) return false;
    for (int a = 0; a < r->dimensions && r->quantum > 0; a++)
        if (!read_quanta(r, 0, r->origin + a)) return false;
    if (records > (uint64_t)(r->end - r->at)) return reader_fail(r, "it is cut off");
    r->records = (uint32_t)records;
    return true;
}

const char *aoi_read_begin(aoi_reader *r, const void *bytes, size_t size) {
    *r = (aoi_reader){.at = bytes, .end = (const unsigned char *)bytes + size};
    if (read_head(r) && !r->records && r->at != r->end) (void)reader_fail(r, "bytes follow its last record");
    return r->fault;
}

static bool read_position(aoi_reader *r, bool wide, double *pos) {
    for (int a = 0; a < r->dimensions; a++) {
        int64_t n;
        if (wide) {
            if (!read_double(r, pos + a)) return false;
        } else if (!(r->quantum > 0)) {
            if (!read_float(r, pos + a)) return false;
        } else {
            if (!read_quanta(r, r->origin[a], &n)) return false;
            pos[a] = r->quantum * (double)n;
            if (!isfinite(pos[a])) return reader_fail(r, "a position is out of range");
        }
    }
    return true;
}

static bool read_id(aoi_reader *r, int *tag, int64_t *id) {
    unsigned first;
    uint64_t high = 0;
    if (!read_byte(r, &first)) return false;
    if (first & 0x80 && !read_varint(r, 60, &high)) return false;
    if (first & 0x80 && !high) return reader_fail(r, "a number has more bytes than it needs");
    *tag = (int)(first & 7);
    r->last = (int64_t)((uint64_t)r->last + from_zigzag(high << 4 | (first >> 3 & 15)));
    *id = r->last;
    return true;
}

bool aoi_read_next(aoi_reader *r, aoi_news *out) {
    static const int what[] = {AOI_MOVED,   AOI_MOVED | AOI_TOUCHED, AOI_TOUCHED, AOI_APPEARED, AOI_GONE, AOI_MOVED,
                               AOI_APPEARED};
    int tag;
    if (!r->records) return false;
    *out = (aoi_news){0};
    if (!read_id(r, &tag, &out->id)) return false;
    if (tag > AOI_TAG_APPEARED_WIDE) return reader_fail(r, "a record has an unknown tag");
    bool wide = tag == AOI_TAG_MOVED_WIDE || tag == AOI_TAG_APPEARED_WIDE;
    out->what = what[tag];
    if (out->what & (AOI_APPEARED | AOI_TOUCHED) && !read_varint(r, 64, &out->kind)) return false;
    if (out->what & (AOI_APPEARED | AOI_MOVED) && !read_position(r, wide, out->pos)) return false;
    if (--r->records == 0 && r->at != r->end) return reader_fail(r, "bytes follow its last record");
    return true;
}
