/* tree.h - a tree of squares with the entities in them, and with a summary of the nodes that they carry.
 *
 *   +-------+---+---+     leaf    a few entities, coordinates side by side, and the classes of the nodes they carry;
 *   |       | . |. .|             it takes up a whole quadrant of its parent
 *   |   .   +---+---+     inner   the smallest square around all that is below it: two or more of its quadrants are in
 *   |       |   | . |             use, and squares within squares are one step, however far they are apart
 *   +-------+---+---+     class   nodes of like borders; bit c of a square: an entity in it carries a node of class c
 *   |     .     | . |
 *   +-----------+---+     Places are counted in steps of the finest side, 64 bits an axis; the outermost step takes all
 *                         that is beyond.  So the root needs no borders, and no path is longer than 64.
 *
 * Crowded leaves split, and leaves that are nearly empty merge, in `tidy`, for which they are listed; where memory is
 * refused they stay as they are.  Method: Finkel and Bentley 1974, with buckets; compressed as in Clarkson 1983. */
#ifndef AOI_TREE_H
#define AOI_TREE_H

#include "core/engine.h"
#include "engines/quadtree/ring_scan.h"

typedef struct aoi_quad {
    uint64_t x, y;     /* its lower corner; the side is 2^level steps */
    float *items;      /* of a leaf: x[cap], y[cap], ref[cap], classes[cap]; exact positions are in the records */
    uint32_t child[4]; /* of an inner one; AOI_NONE where it is empty */
    uint32_t parent, classes;
    uint32_t count, cap;
    uint32_t patience; /* changes to wait for before a split is tried again that was in vain */
    uint32_t next;     /* the chain of those that tidy will look at, or of free ones */
    uint8_t level, state;
    bool listed;
} aoi_quad;

typedef struct aoi_tree {
    aoi_world *world; /* an entity's `home` and `slot`: its leaf, and its place there */
    double inverse;   /* steps in a unit of length */
    aoi_quad *quads;
    uint32_t cap, top, used, unused, root, todo;
    uint32_t count; /* entities in all */
} aoi_tree;

void aoi_tree_open(aoi_tree *t, aoi_world *world, double finest);
void aoi_tree_close(aoi_tree *t);
void aoi_tree_clear(aoi_tree *t); /* as when it was opened */

/* The leaf of a place, made if it is missing, with room for one more; looked for from a square nearby, or AOI_NONE.
 * AOI_NONE when memory is refused. */
uint32_t aoi_tree_reserve(aoi_tree *t, uint32_t near, const double *at);
/* Inserts an entity into a leaf that was reserved. */
void aoi_tree_insert(aoi_tree *t, uint32_t leaf, const double *at, uint32_t entity, uint32_t classes);
/* Removes it; returns its classes. */
uint32_t aoi_tree_remove(aoi_tree *t, uint32_t entity);
/* Stores new coordinates; false, and nothing stored, if they are not in the same leaf. */
bool aoi_tree_update(aoi_tree *t, uint32_t entity, const double *at);
void aoi_tree_classify(aoi_tree *t, uint32_t entity, uint32_t add, uint32_t remove);
uint32_t aoi_tree_classes(const aoi_tree *t, uint32_t entity);
/* Splits and merges the leaves that are listed. */
void aoi_tree_tidy(aoi_tree *t);

typedef struct aoi_tree_hit {
    uint32_t entity, classes; /* of the nodes that it carries */
} aoi_tree_hit;

typedef void (*aoi_tree_visit)(const void *ud, const aoi_tree_hit *hits, size_t count);

/* Visits all that the scan hits and that carry nodes of one of the classes, all it hits if that is 0, and maybe others.
 * `near` is a square about there, or AOI_NONE.  Returns the number of entities compared. */
uint64_t aoi_tree_query(const aoi_tree *t, uint32_t near, const aoi_scan *q, uint32_t classes, aoi_tree_visit visit,
                        const void *ud);

void aoi_tree_describe(const aoi_tree *t, aoi_describer *d);
bool aoi_tree_has(const aoi_tree *t, uint32_t entity); /* for checks */
const char *aoi_tree_check(const aoi_tree *t);

#endif
