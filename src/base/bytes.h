/* bytes.h - numbers as bytes, the same on every machine: little-endian, doubles by their bits, integers as varints.
 *
 *   300  ->  [ 1 0101100 | 0 0000010 ]    seven bits a byte, the lowest first; the top bit: more follow
 *
 * Zigzag folds a sign into the lowest bit, so that small negative numbers are short, too.  Writers append at a pointer
 * and return the one behind; readers know the end, and read 0 once something is missing. */
#ifndef AOI_BYTES_H
#define AOI_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/platform.h"

enum {
    AOI_MOST_VARINT = 10, /* bytes of any number */
    AOI_VARINT_ROOM = 4   /* aoi_put_varint may write that many, whatever the length */
};

static inline uint64_t aoi_zigzag(uint64_t v) { /* 0, -1, 1, -2 ... -> 0, 1, 2, 3 ... */
    return v << 1 ^ (uint64_t) - (int64_t)(v >> 63);
}

static inline uint64_t aoi_unzigzag(uint64_t z) {
    return z >> 1 ^ (uint64_t) - (int64_t)(z & 1);
}

static inline unsigned char *aoi_put_bytes(unsigned char *p, uint64_t v, int n) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, (size_t)n); /* one store: n is a constant */
#else
    for (int i = 0; i < n; i++) p[i] = (unsigned char)(v >> 8 * i);
#endif
    return p + n;
}

static inline uint64_t aoi_bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline uint32_t aoi_float_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline unsigned char *aoi_put_double(unsigned char *p, double v) {
    return aoi_put_bytes(p, aoi_bits_of(v), 8);
}

static inline unsigned char *aoi_put_doubles(unsigned char *p, const double *v, int n) {
    for (int i = 0; i < n; i++) p = aoi_put_double(p, v[i]);
    return p;
}

/* Lengths vary from one number to the next: up to three bytes are written without a branch that depends on them. */
AOI_INLINE unsigned char *aoi_put_varint(unsigned char *p, uint64_t v) {
    if (v < 1u << 21) {
        uint64_t two = (0x7F - v) >> 63, three = (0x3FFF - v) >> 63;
        v += v & ~UINT64_C(0x7F); /* shifts the bits above the lowest seven by one */
        v += v & ~UINT64_C(0x7FFF);
        (void)aoi_put_bytes(p, v | two << 7 | three << 15, 4);
        return p + 1 + two + three;
    }
    for (; v >= 0x80; v >>= 7) *p++ = (unsigned char)(v | 0x80);
    *p++ = (unsigned char)v;
    return p;
}

static inline unsigned char *aoi_put_signed(unsigned char *p, int64_t v) {
    return aoi_put_varint(p, aoi_zigzag((uint64_t)v));
}

static inline uint32_t aoi_varint_size(uint64_t v) {
    uint32_t n = 1;
    for (; v >= 0x80; v >>= 7) n++;
    return n;
}

/* ---- reading what is known to be there --------------------------------------------------------------------------- */

static inline uint64_t aoi_peek_bytes(const unsigned char *p, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static inline double aoi_peek_double(const unsigned char *p) {
    uint64_t bits = aoi_peek_bytes(p, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct aoi_bytes {
    const unsigned char *at, *end;
    bool cut;    /* the message is too short */
    bool padded; /* a varint had more than it needs, or more than 64 bits */
} aoi_bytes;

static inline bool aoi_bytes_good(const aoi_bytes *b) {
    return !b->cut && !b->padded;
}

static inline unsigned aoi_get_byte(aoi_bytes *b) {
    if (b->at < b->end) return *b->at++;
    b->cut = true;
    return 0;
}

static inline uint64_t aoi_get_varint(aoi_bytes *b) {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned byte = aoi_get_byte(b);
        if (shift == 63 && byte > 1) {
            b->padded = true;
            return 0;
        }
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte & 0x80) continue;
        if (!byte && shift) b->padded = true;
        return v;
    }
}

static inline int64_t aoi_get_signed(aoi_bytes *b) {
    return (int64_t)aoi_unzigzag(aoi_get_varint(b));
}

/* A count of items of `size` bytes, no more than can still follow, so that room may be made for them. */
static inline uint64_t aoi_get_count(aoi_bytes *b, size_t size) {
    uint64_t n = aoi_get_varint(b);
    if (n <= (uint64_t)(b->end - b->at) / size) return n;
    b->cut = true;
    return 0;
}

static inline uint64_t aoi_get_bytes(aoi_bytes *b, int n) {
    if (b->end - b->at < n) {
        b->at = b->end;
        b->cut = true;
        return 0;
    }
    b->at += n;
    return aoi_peek_bytes(b->at - n, n);
}

static inline void aoi_skip_bytes(aoi_bytes *b, size_t n) {
    b->cut |= (size_t)(b->end - b->at) < n;
    b->at = b->cut ? b->end : b->at + n;
}

static inline double aoi_get_double(aoi_bytes *b) {
    aoi_skip_bytes(b, 8);
    return b->cut ? 0 : aoi_peek_double(b->at - 8);
}

#endif
