/* snapshot.h - a space as bytes: the format, which docs/snapshot.md describes, for the files that write and read it.
 *
 *   head      "AOIS", version, dimensions, delivery, engine, cell, events delivered so far
 *   entities  by rising id: [ id - last | kind | x y (z) ] ...
 *   carried   only where the head says so: passengers [ entity - last | carrier | offset ] ...
 *   looks     only where the head says so: layers and extents [ entity - last | layers | extent ] ...
 *   states    only where the head says so: fields of synchronisers [ number | length | message ] ... (core/state_hook.h)
 *   nodes     by entity, those of one from old to new: [ entity - last | node id | area ] ...
 *   overrides, kept pairs     by node and target, which are numbers of the lists above
 *   gone      nodes that are no more, but whose events wait
 *   events    that wait, in order
 *   sights    only where the head says so: [ length | message ] ... (core/state_hook.h)
 *   CRC-32 of all before it
 *
 * Nothing of an engine is in it, no slot and no address: the bytes depend on what the space is, and the events on the
 * order in which they are delivered. */
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

/* The byte that begins an area: its shape, and what is written of it.  One of no shape: a label, which a 0 ends, and then
 * the area. */
enum {
    AOI_AREA_LABELLED = 7,
    AOI_AREA_SHAPE = 7,
    AOI_AREA_SILENT = 8,
    AOI_AREA_MASKED = 16, /* a mask follows; else all kinds */
    AOI_AREA_GROWN = 32,  /* keep of a square or circle, margin of the others */
    AOI_AREA_HEIGHT = 64, /* half_height of a sector or polygon */
    AOI_AREA_LAYERS = 128 /* layers of its own */
};

enum { AOI_AREA_ROOM = 64 + 16 * AOI_MOST_CORNERS + AOI_MOST_LABEL + 2 }; /* bytes of the longest area */

/* The byte that begins an event: AOI_ENTER or AOI_LEAVE, and whether the target is gone: then its id follows. */
enum { AOI_EVENT_KIND = 3, AOI_EVENT_GONE = 4 };

/* An area without fault as bytes, for which there is room. */
unsigned char *aoi_put_area(unsigned char *p, int dims, const aoi_area *a);
/* NULL, or what is wrong; the corners of a polygon go to points, room for AOI_MOST_CORNERS. */
const char *aoi_get_area(aoi_bytes *in, int dims, double *points, aoi_area *out);

#endif
