/* output.h - bytes on their way out: a buffer that hands them over when it is full. */
#ifndef AOI_OUTPUT_H
#define AOI_OUTPUT_H

#include "base/bytes.h"

typedef struct aoi_output aoi_output;
struct aoi_output {
    unsigned char *bytes; /* of `size`, and AOI_VARINT_ROOM more */
    uint32_t fill, size;
    void (*hand_over)(aoi_output *); /* empties the buffer */
};

/* Room for that many more bytes, at most `size`; the writer returns with aoi_wrote the place behind what it wrote. */
static inline unsigned char *aoi_room(aoi_output *o, uint32_t bytes) {
    if (o->size - o->fill < bytes) o->hand_over(o);
    return o->bytes + o->fill;
}

static inline void aoi_wrote(aoi_output *o, const unsigned char *behind) {
    o->fill = (uint32_t)(behind - o->bytes);
}

static inline void aoi_write_bytes(aoi_output *o, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    while (size) {
        (void)aoi_room(o, 1);
        const size_t room = o->size - o->fill, n = size < room ? size : room;
        memcpy(o->bytes + o->fill, from, n);
        o->fill += (uint32_t)n;
        from += n;
        size -= n;
    }
}

#endif
