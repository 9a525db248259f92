/* output.h - bytes that are written by a call of the C API, kept and damaged. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "fixture.h"

#include "base/crc32.h"

typedef struct output {
    unsigned char *bytes;
    size_t size, room;
    size_t most; /* bytes that it takes; 0: any number */
} output;

static inline bool output_write(void *ud, const void *bytes, size_t size) {
    output *o = ud;
    if (o->most && o->size + size > o->most) return false;
    if (o->size + size > o->room) {
        o->room = 2 * (o->size + size);
        o->bytes = realloc(o->bytes, o->room);
        if (!o->bytes) abort();
    }
    if (size) memcpy(o->bytes + o->size, bytes, size);
    o->size += size;
    return true;
}

static inline void output_free(output *o) {
    free(o->bytes);
    *o = (output){0};
}

static inline bool output_same(const output *a, const output *b) {
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static inline output output_copy(const output *from) {
    output o = {0};
    (void)output_write(&o, from->bytes, from->size);
    return o;
}

static inline output save(aoi_space *s) {
    output o = {0};
    EXPECT(aoi_save(s, output_write, &o) == AOI_OK && o.size > 0);
    return o;
}

static inline uint32_t output_sum(const unsigned char *bytes, size_t size) {
    static aoi_crc32 sums;
    if (!sums.table[0][1]) aoi_crc32_open(&sums);
    return aoi_crc32_of(&sums, 0, bytes, size);
}

/* One to four bytes become others, some are lost, some come twice, or the end is missing. */
static inline void output_damage(output *o) {
    size_t at = random_below((uint32_t)o->size), n = 1 + random_below(8);
    if (n > o->size - at) n = o->size - at;
    switch (random_below(6)) {
    case 0:
        o->size = at;
        break;
    case 1:
        memmove(o->bytes + at, o->bytes + at + n, o->size - at - n);
        o->size -= n;
        break;
    case 2: {
        output longer = {0};
        (void)output_write(&longer, o->bytes, at + n);
        (void)output_write(&longer, o->bytes + at, o->size - at);
        output_free(o);
        *o = longer;
        break;
    }
    case 3:
        o->bytes[at] ^= (unsigned char)(1u << random_below(8));
        break;
    default:
        for (uint32_t i = 1 + random_below(4); i > 0; i--) {
            static const unsigned char telling[] = {0, 1, 2, 3, 127, 128, 255};
            o->bytes[random_below((uint32_t)o->size)] =
                random_below(2) ? telling[random_below(7)] : (unsigned char)random_below(256);
        }
    }
}

#endif
