/* crc32.c - see crc32.h. */
#include "base/crc32.h"

#include "base/bytes.h"

void aoi_crc32_open(aoi_crc32 *c) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++) v = v >> 1 ^ (v & 1 ? 0xEDB88320u : 0);
        c->table[0][i] = v;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++) {
            uint32_t v = c->table[k - 1][i];
            c->table[k][i] = v >> 8 ^ c->table[0][v & 0xFF];
        }
}

uint32_t aoi_crc32_of(const aoi_crc32 *c, uint32_t before, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    uint32_t v = ~before;
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t lo = v ^ (uint32_t)aoi_peek_bytes(p, 4), hi = (uint32_t)aoi_peek_bytes(p + 4, 4);
        v = c->table[7][lo & 0xFF] ^ c->table[6][lo >> 8 & 0xFF] ^ c->table[5][lo >> 16 & 0xFF] ^
            c->table[4][lo >> 24] ^ c->table[3][hi & 0xFF] ^ c->table[2][hi >> 8 & 0xFF] ^
            c->table[1][hi >> 16 & 0xFF] ^ c->table[0][hi >> 24];
    }
    for (; size > 0; size--, p++) v = v >> 8 ^ c->table[0][(v ^ *p) & 0xFF];
    return ~v;
}
