/* crc32.h - the checksum of snapshots and journals: CRC-32 of zlib, PNG and Ethernet, polynomial 0xEDB88320 reflected.
 *
 * Eight bytes a step: table k holds the checksum of a byte that k zero bytes follow (Kounavis and Berry, 2005). */
#ifndef AOI_CRC32_H
#define AOI_CRC32_H

#include <stddef.h>
#include <stdint.h>

typedef struct aoi_crc32 {
    uint32_t table[8][256];
} aoi_crc32;

void aoi_crc32_open(aoi_crc32 *c); /* some microseconds */

/* Continues the checksum `before`, 0 at first, with these bytes. */
uint32_t aoi_crc32_of(const aoi_crc32 *c, uint32_t before, const void *bytes, size_t size);

#endif
