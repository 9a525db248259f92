/* structure.c - the parts of an index as a block of bytes: docs/viewer-wire.md, G.
 *
 *   aoi_broad_describe --part--> its rectangle, kind and counts --entry--> entities and nodes, in the order of the index */
#include "view/observer.h"

typedef struct structure_writer {
    aoi_describer d; /* first: callbacks receive its address */
    aoi_observer *o;
    const double *at;
    uint32_t most, written, left_out;
    bool open, failed; /* open: entries are being written */
} structure_writer;

enum { STRUCTURE_PART = 2 + 4 * 8 + 3 * 10, STRUCTURE_ENTRY = 1 + 2 * 10 };

static void close_part(structure_writer *y) {
    if (y->open) y->o->writer.bytes[y->o->writer.end++] = 0; /* there is room */
    y->open = false;
}

static bool write_part(aoi_describer *d, const aoi_part *part) {
    structure_writer *y = (structure_writer *)(void *)d;
    close_part(y);
    if (y->written == y->most) {
        y->left_out++;
        return false;
    }
    y->failed = y->failed || !observer_room(y->o, STRUCTURE_PART + 1 + STRUCTURE_ENTRY);
    if (y->failed) return false;
    y->written++;
    bool wanted = !y->at || (part->lo[0] <= y->at[0] && y->at[0] <= part->hi[0] && part->lo[1] <= y->at[1] &&
                             y->at[1] <= part->hi[1]);
    unsigned char *p = y->o->writer.bytes + y->o->writer.end;
    *p++ = (unsigned char)(part->kind + 1);
    *p++ = wanted;
    p = aoi_put_varint(aoi_put_varint(aoi_put_varint(p, part->level), part->entities), part->nodes);
    for (int a = 0; a < 2; a++) p = aoi_put_double(aoi_put_double(p, part->lo[a]), part->hi[a]);
    ends_at(y->o, p);
    y->open = wanted;
    return wanted;
}

static void write_entry(aoi_describer *d, int list, int kind, uint32_t slot) {
    structure_writer *y = (structure_writer *)(void *)d;
    const aoi_records *r = &y->o->space->records;
    y->failed = y->failed || !observer_room(y->o, STRUCTURE_ENTRY + 1);
    if (y->failed) return;
    unsigned char *p = y->o->writer.bytes + y->o->writer.end;
    *p++ = (unsigned char)(1 + list * AOI_ENTRY_KINDS + kind);
    if (kind == AOI_ENTRY_ENTITY) p = aoi_put_signed(p, r->entities[slot].id);
    else if (kind != AOI_ENTRY_BREAK)
        p = aoi_put_signed(aoi_put_signed(p, r->entities[r->nodes[slot].owner].id), r->nodes[slot].node_id);
    ends_at(y->o, p);
}

int aoi_observe_structure(aoi_observer *o, const double *lo, const double *hi, const double *at, uint32_t most,
                          const unsigned char **bytes, size_t *size) {
    if (!o->space) return AOI_EGONE;
    structure_writer y = {.d = {.part = write_part, .entry = write_entry}, .o = o, .at = at, .most = most};
    for (int a = 0; a < 2; a++) y.d.lo[a] = lo[a], y.d.hi[a] = hi[a];
    o->writer.end = 0;
    if (!observer_room(o, OBSERVER_BLOCK + 1 + OBSERVER_NUMBER)) return AOI_ENOMEM;
    uint32_t block = begin_block(o, 'G');
    aoi_broad_describe(&o->space->index, &y.d);
    close_part(&y);
    if (y.failed || !observer_room(o, 1 + OBSERVER_NUMBER)) return AOI_ENOMEM;
    unsigned char *p = o->writer.bytes + o->writer.end;
    *p++ = 0;
    ends_at(o, aoi_put_varint(p, y.left_out));
    end_block(o, block);
    *bytes = o->writer.bytes;
    *size = o->writer.end;
    return AOI_OK;
}
