/* tree.h - a tree of squares with the entities in them, and with a summary of the nodes that they carry.
 *
 *   +-------+---+---+     leaf    a few entities, coordinates side by side, and the classes of the nodes they carry;
 *   |       | . |. .|             it takes up a whole quadrant of its parent
 *   |   .   +---+---+     inner   the smallest square around all that is below it: two or more of its quadrants are in
 *   |       |   | . |             use, and squares within squares are one step, however far they are apart
 *   +-------+---+---+     class   nodes of about one reach; bit c of a square: somebody in it carries a node of class c
 *   |     .     | . |
 *   +-----------+---+     Places are counted in steps of the finest side, 64 bits an axis; the outermost step takes all
 *                         that is beyond.  So the root needs no borders, and no path is longer than 64.
 *
 * A leaf that is crowded splits, and leaves that are nearly empty merge, but only in `tidy`: until then leaves are
 * added and get more room, nothing goes, so that what was done can be undone.  Where memory is refused they stay as
 * they are.  Method: Finkel and Bentley 1974, with buckets; compressed as in Clarkson 1983. */
#ifndef AOI_QUADS_H
#define AOI_QUADS_H

#include "core/engine.h"
#include "engines/quadtree/ring_scan.h"

enum { AOI_QUADS_CHUNK = 256 };

typedef struct aoi_quad {
    uint64_t x, y;     /* its lower corner; the side is 2^level steps */
    double *items;     /* of a leaf: x[cap], y[cap], ref[cap], classes[cap] */
    uint32_t child[4]; /* of an inner one; AOI_NONE where nobody is */
    uint32_t parent, classes;
    uint32_t count, cap;
    uint32_t patience; /* changes to wait for before a split is tried again that was in vain */
    uint32_t next;     /* the chain of those that tidy will look at, or of free ones */
    uint8_t level, state;
    bool listed;
} aoi_quad;

typedef struct aoi_quads {
    aoi_world *world; /* an entity's `home` and `slot`: its leaf, and its place there */
    aoi_scanner scan;
    double inverse; /* steps in a unit of length */
    aoi_quad *quads;
    uint32_t cap, top, used, unused, root, todo;
    uint32_t count;                    /* entities in all */
    uint32_t numbers[AOI_QUADS_CHUNK]; /* 0, 1, 2 ...: for scans, which then return places in a leaf */
} aoi_quads;

void aoi_quads_open(aoi_quads *t, aoi_world *world, double finest);
void aoi_quads_close(aoi_quads *t);

/* The leaf of a place, with room for one more; looked for from a square nearby, or AOI_NONE.  AOI_NONE when memory is
 * refused. */
uint32_t aoi_quads_ready(aoi_quads *t, uint32_t near, const double *at);
/* Puts an entity into its leaf, which is ready. */
void aoi_quads_put(aoi_quads *t, uint32_t leaf, const double *at, uint32_t entity, uint32_t classes);
/* Takes it out; returns its classes. */
uint32_t aoi_quads_take(aoi_quads *t, uint32_t entity);
/* New coordinates, if they are in the same leaf. */
bool aoi_quads_stay(aoi_quads *t, uint32_t entity, const double *at);
void aoi_quads_classify(aoi_quads *t, uint32_t entity, uint32_t add, uint32_t remove);
uint32_t aoi_quads_classes(const aoi_quads *t, uint32_t entity);
void aoi_quads_tidy(aoi_quads *t);

/* What to do with an entity that was hit, and that carries nodes of these classes. */
typedef void (*aoi_quads_visit)(const void *ud, uint32_t entity, uint32_t classes);

/* Visits everybody in the ring who carries nodes of one of the classes; of any, or none, if that is 0.  `near` is a
 * square about there, or AOI_NONE.  Returns the number of entities compared. */
uint64_t aoi_quads_sweep(const aoi_quads *t, uint32_t near, const aoi_ring *q, uint32_t classes, aoi_quads_visit visit,
                         const void *ud);

bool aoi_quads_has(const aoi_quads *t, uint32_t entity); /* for checks */
const char *aoi_quads_check(const aoi_quads *t);

#endif
