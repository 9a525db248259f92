/* engine.h - the contract between the space and an engine.
 *
 *        space                 broad phase (broad_phase.h)
 *   records (space_records.h)  -->     grid     every entity and every bounded node: answers all questions, and proposes the
 *   the rule (rule.h)  <--              candidates of single moves of those nodes that the engine does not take
 *                              engine   proposes those of the nodes that it takes, in a structure of its own
 *
 * A candidate is a pair (node, target) whose visibility may have changed.  Neither grid nor engine decides visibility, so
 * engines cannot differ in meaning.  The pairs of a tick that moves many the space finds itself (tick/join.h); of the index
 * it only wants that everything is put in place.  A sixth engine is one new file that defines
 * `const aoi_engine_class aoi_engine_NAME`, its line in engines.c and the line of the file in aoi.c.
 *
 * Bounds.  To an index the area of a node is a box around its owner, half-extents `reach`, bounds inclusive in IEEE double
 * exactly as written: pos - reach <= t && t <= pos + reach.  Outside of the box a target is surely not seen, or never loses
 * or gains by moving.  Within the rectangle of half-extents `inner` around the owner (first two axes) a target is surely
 * inside as long as the heights do not change; inner < 0: there is no such rectangle.  Squares and boxes without a margin are
 * plain: only the box's border matters, on every axis.  That does not follow from inner == reach, since a margin may be lost
 * to rounding on the first two axes and not on the third.  Nodes of infinite reach are the space's own affair: an engine is
 * never called about them.
 *
 * Memory.  A verb that returns AOI_ENOMEM has changed nothing that can be observed, except that candidates may have been
 * added.  Storage may be released in any verb or in `tidy`. */
#ifndef AOI_ENGINE_H
#define AOI_ENGINE_H

#include "core/parts.h"
#include "core/space_records.h"

typedef struct aoi_engine_class aoi_engine_class;

typedef struct aoi_engine { /* the head of every engine's own structure */
    const aoi_engine_class *class;
    aoi_world *world;
} aoi_engine;

/* Verbs may be NULL where there is nothing to do. */
struct aoi_engine_class {
    const char *name;
    size_t size;     /* of its structure, whose head is aoi_engine; the rest is zeroed before open */
    aoi_takes takes; /* the nodes whose moves it answers for */

    int (*open)(aoi_engine *, double cell); /* cell: the hint, 0 if there is none */
    void (*close)(aoi_engine *); /* gives all memory back: at the end, and where no entity is left, as new after it */

    /* Structure.  The grid has the entity or the node already when it enters, and still when it goes.  The entity's record
     * holds the position. */
    int (*enter)(aoi_engine *, uint32_t entity);
    void (*leave)(aoi_engine *, uint32_t entity); /* it has no nodes any more */
    /* A node that it takes gets these bounds; one that it has already, by its record's `part`, has others so far. */
    int (*set_node)(aoi_engine *, uint32_t node, const aoi_bounds *bounds);
    void (*remove_node)(aoi_engine *, uint32_t node);

    /* Moves the entity in the engine's structure from where its record has it to `to`; the grid has it there already.
     * propose: adds a candidate for every pair of it and a node of another entity, or of a node of its own and another
     * entity, that passes the border of the box, of nodes that the engine takes; not those whose target the node does not
     * look for (aoi_node_matches).  Each pair at most once; others may be among them. */
    int (*move)(aoi_engine *, uint32_t entity, const double *to, bool propose);

    void (*tidy)(aoi_engine *); /* while there are entities: gives back what is not needed any more */

    const char *(*check)(aoi_engine *); /* NULL, or the invariant that does not hold */
    /* Reports its parts, in layers from 0 on, and returns how many layers; AOI_NONE: they have all entities, so that the
     * grid's cells need not be shown. */
    uint32_t (*describe)(const aoi_engine *, aoi_describer *);
};

/* The table of engines, ended by NULL; the first is the default. */
extern const aoi_engine_class *const aoi_engines[];

#endif
