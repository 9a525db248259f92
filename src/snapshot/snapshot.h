/* snapshot.h - the format of snapshots (docs/snapshot.md), for save.c and load.c.
 *
 *   head      "AOIS", version, dimensions, delivery, engine, cell, events delivered so far
 *   entities  by rising id: [ id - last | kind | x y (z) ] ...
 *   carried   only with its flag in the head: passengers [ entity - last | carrier | offset ] ...
 *   looks     only with its flag: layers and extents [ entity - last | layers | extent ] ...
 *   states    only with its flag: fields of synchronisers [ number | length | message ] ... (core/state_hook.h)
 *   nodes     by entity, those of one from old to new: [ entity - last | node id | area ] ...
 *   overrides, kept pairs     by node and target, which are indices of the lists above
 *   gone      nodes that were removed while events of them wait
 *   events    that wait, in order
 *   sights    only with its flag: [ length | message ] ... (core/state_hook.h)
 *   CRC-32 of all bytes before it
 *
 * A snapshot contains no data of the engine, no slot and no address: the bytes depend only on the contents of the space
 * and on the order of the events that wait. */
#ifndef AOI_SNAPSHOT_H
#define AOI_SNAPSHOT_H

#include "base/bytes.h"
#include "base/crc32.h"
#include "core/space.h"

#define AOI_SNAPSHOT_MAGIC "AOIS"

enum {
    AOI_SNAPSHOT_VERSION = 1,
    AOI_SNAPSHOT_DEFERRED = 1, /* flags of the head */
    AOI_SNAPSHOT_CARRIED = 2,
    AOI_SNAPSHOT_LOOKS = 4,
    AOI_SNAPSHOT_STATES = 8,
    AOI_SNAPSHOT_SIGHTS = 16,
    AOI_SNAPSHOT_CRC = 4, /* bytes */
    AOI_MOST_ENGINE_NAME = 31
};

/* The first byte of an area: its shape and flags of its data.  LABELLED: a label, ended by a 0, and the area follow;
 * OUTSIDE: the area follows whose outside the node sees. */
enum {
    AOI_AREA_OUTSIDE = 6,
    AOI_AREA_FIXED = 14,
    AOI_AREA_LABELLED = 7,
    AOI_AREA_SHAPE = 7,
    AOI_AREA_SILENT = 8,
    AOI_AREA_MASKED = 16, /* a mask follows; else all kinds */
    AOI_AREA_GROWN = 32,  /* keep of a square or circle, margin of the others */
    AOI_AREA_HEIGHT = 64, /* half_height of a sector or polygon */
    AOI_AREA_LAYERS = 128 /* layers of its own */
};

enum { AOI_AREA_ROOM = 64 + 16 * AOI_MOST_CORNERS + AOI_MOST_LABEL + 3 }; /* bytes of the longest area */

/* The first byte of an event: AOI_ENTER or AOI_LEAVE, and GONE: the target is gone, its id follows. */
enum { AOI_EVENT_KIND = 3, AOI_EVENT_GONE = 4, AOI_EVENT_BECAUSE = 8 };

/* Writes an area without fault; there must be room for AOI_AREA_ROOM bytes. */
unsigned char *aoi_put_area(unsigned char *p, int dims, const aoi_area *a);
/* Returns the fault or NULL; stores the corners of a polygon into points, which has room for AOI_MOST_CORNERS. */
const char *aoi_get_area(aoi_bytes *in, int dims, double *points, aoi_area *out);

#endif
