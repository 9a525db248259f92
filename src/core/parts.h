/* parts.h - the structure of an index for display: rectangles, and the entries in each. */
#ifndef AOI_PARTS_H
#define AOI_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of parts.  Entries come in the order of the index, list by list. */
enum {
    AOI_PART_ALL,   /* no index: everything */
    AOI_PART_CELL,  /* a cell and its entities */
    AOI_PART_NODES, /* a cell and the nodes of owners in it */
    AOI_PART_TOWER, /* a cell and the nodes that reach it */
    AOI_PART_TILE,  /* sorted lists, one for each axis, of points and of edges of boxes */
    AOI_PART_LEAF,  /* a leaf of a tree and its entities */
    AOI_PART_SQUARE /* an inner square of a tree */
};

/* kinds of entries: the slot of an entity, or of a node */
enum {
    AOI_ENTRY_ENTITY,
    AOI_ENTRY_NODE,  /* of a tower: its border runs through the cell */
    AOI_ENTRY_COVER, /* of a tower: it covers the cell wholly */
    AOI_ENTRY_LOW,   /* the low edge of a box */
    AOI_ENTRY_HIGH,
    AOI_ENTRY_BREAK, /* no entry: the border between two blocks of a list */
    AOI_ENTRY_KINDS
};

typedef struct aoi_part {
    uint8_t kind;
    uint32_t level;           /* parts of similar sides; in a tree the depth */
    double lo[2], hi[2];      /* may be infinite */
    uint32_t entities, nodes; /* counts; of a tile the points and edges in its lists */
} aoi_part;

typedef struct aoi_describer aoi_describer;
struct aoi_describer {
    double lo[2], hi[2];                                               /* only parts that touch this rectangle */
    bool (*part)(aoi_describer *, const aoi_part *);                   /* true: its entries are wanted */
    void (*entry)(aoi_describer *, int list, int kind, uint32_t slot); /* list: 0, or the axis of a tile's list */
};

/* Reports a part if it touches the rectangle; true: its entries are wanted. */
static inline bool aoi_report_part(aoi_describer *d, const aoi_part *p) {
    bool apart = p->lo[0] > d->hi[0] || p->lo[1] > d->hi[1] || p->hi[0] < d->lo[0] || p->hi[1] < d->lo[1];
    return !apart && d->part(d, p);
}

#endif
