/* sync_read.c - feeds any bytes to the reader of client messages: they are read or refused, and nothing is read beyond them.
 * What is read is finite, and there is not more of it than there are bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoi_sync.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoi_reader r;
    aoi_news news;
    size_t records = 0;
    const char *fault = aoi_read_begin(&r, data, size);
    while (!fault && aoi_read_next(&r, &news)) {
        aoi_news_value v;
        require(news.what != 0 && ++records <= size);
        while (aoi_read_value(&r, &v)) {
            require(v.name_size > 0 && isfinite(v.value.number) && v.offset + v.value.size <= v.total);
            const unsigned char *bytes = v.value.bytes;
            require(!v.value.size || (bytes >= data && bytes + v.value.size <= data + size));
        }
        for (int a = 0; a < r.dimensions; a++) require(isfinite(news.pos[a]));
    }
    require(fault || r.fault || r.at == data + size);
    require(!aoi_read_next(&r, &news)); /* past the end, or after a fault */
    return 0;
}
