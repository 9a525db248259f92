/* parts.h - what an index is made of, for those who want to look at it: rectangles, and what is filed in each. */
#ifndef AOI_PARTS_H
#define AOI_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of parts.  Entries come in the order of the index, list by list. */
enum {
    AOI_PART_ALL,    /* no index: everything */
    AOI_PART_CELL,   /* entities that stand in it */
    AOI_PART_NODES,  /* nodes whose owners stand in it */
    AOI_PART_TOWER,  /* nodes that reach it */
    AOI_PART_TILE,   /* sorted lists, one for each axis, of points and of edges of boxes */
    AOI_PART_LEAF,   /* a leaf of a tree and its entities */
    AOI_PART_SQUARE, /* an inner square of a tree */
    AOI_PART_KINDS
};

/* kinds of entries; of an entity its slot is given, of all others that of a node */
enum {
    AOI_ENTRY_ENTITY,
    AOI_ENTRY_NODE,  /* of a tower: its border runs through the cell */
    AOI_ENTRY_COVER, /* of a tower: it covers the cell wholly */
    AOI_ENTRY_LOW,   /* the low edge of a box */
    AOI_ENTRY_HIGH,
    AOI_ENTRY_BREAK, /* no entry: here one block of a list ends and the next begins */
    AOI_ENTRY_KINDS
};

typedef struct aoi_part {
    uint8_t kind;
    uint32_t layer;           /* parts of like sides; of a tree the depth */
    double lo[2], hi[2];      /* may be infinite */
    uint32_t entities, nodes; /* filed in it; of a tile the entries of its lists, points and edges */
} aoi_part;

typedef struct aoi_describer aoi_describer;
struct aoi_describer {
    double lo[2], hi[2];                             /* parts that this rectangle does not touch are left out */
    bool (*part)(aoi_describer *, const aoi_part *); /* true: its entries are wanted */
    void (*entry)(aoi_describer *, int list, int kind, uint32_t slot); /* list: 0, or the axis of a tile's list */
};

/* Reports a part if it is asked about; true: its entries are wanted. */
static inline bool aoi_report_part(aoi_describer *d, const aoi_part *p) {
    bool apart = p->lo[0] > d->hi[0] || p->lo[1] > d->hi[1] || p->hi[0] < d->lo[0] || p->hi[1] < d->lo[1];
    return !apart && d->part(d, p);
}

#endif
