/* engine.h - the contract between the space and an engine.
 *
 *        space                 broad phase (broad_phase.h)
 *   records (space_records.h)  -->     grid     every entity and every bounded node: answers all questions, and proposes the
 *   the rule (rule.h)  <--              candidates of single moves of those nodes that the engine does not take
 *                              engine   proposes those of the nodes that it takes, in a structure of its own
 *
 * A candidate is a pair (node, target) whose visibility may have changed.  Neither grid nor engine decides visibility, so
 * engines cannot differ in meaning.  The pairs of a tick with many movers are found by the space itself (tick/join.h),
 * which only needs the index to put the movers in place.  A sixth engine is one new file that defines
 * `const aoi_engine_class aoi_engine_NAME`, its line in engines.c and the line of the file in aoi.c.
 *
 * Bounds.  To an index the area of a node is a box around its owner, half-extents `reach`, bounds inclusive in IEEE double
 * exactly as written: pos - reach <= t && t <= pos + reach.  Outside of the box a target is surely not seen, or never loses
 * or gains by moving.  Within the rectangle of half-extents `inner` around the owner (first two axes) a target is surely
 * inside as long as the heights do not change; inner < 0: there is none.  Squares and boxes without a margin are
 * plain: only the border of the box matters.  That does not follow from inner == reach, since a margin may be lost
 * to rounding on the first two axes alone.  The space itself handles nodes of infinite reach.
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
    aoi_records *records;
} aoi_engine;

/* Verbs may be NULL where there is nothing to do. */
struct aoi_engine_class {
    const char *name;
    size_t size;     /* of its structure, whose head is aoi_engine; the rest is zeroed before open */
    aoi_takes takes; /* the nodes for which it proposes candidates */

    int (*open)(aoi_engine *, double cell); /* cell: the hint, 0 if there is none */
    void (*close)(aoi_engine *);            /* leaves an empty engine: at the end, and when no entity is left */

    /* Structure.  The grid holds the entity or node already when it is added here, and still when it is removed.  The
     * entity's record holds the position. */
    int (*enter)(aoi_engine *, uint32_t entity);
    void (*leave)(aoi_engine *, uint32_t entity); /* after its nodes are removed */
    /* Adds a node that the engine takes, or, if its `part` is not 0, changes its bounds. */
    int (*set_node)(aoi_engine *, uint32_t node, const aoi_bounds *bounds);
    void (*remove_node)(aoi_engine *, uint32_t node);

    /* Moves the entity in the engine's structure from the position in its record to `to`, where the grid has it
     * already.  propose: adds a candidate for every pair of the entity and another entity's node, or of its own node
     * and another entity, that passes the border of the box of a node that the engine takes and matches the target
     * (aoi_node_matches).  Each pair at most once; others may be among them. */
    int (*move)(aoi_engine *, uint32_t entity, const double *to, bool propose);

    void (*tidy)(aoi_engine *); /* releases unneeded storage; there are entities */

    /* Reports its parts, in levels from 0 on, and returns the count of levels; AOI_NONE: the parts hold all entities,
     * so the grid's cells need not be shown. */
    uint32_t (*describe)(const aoi_engine *, aoi_describer *);
};

/* The table of engines, ended by NULL; the first is the default. */
extern const aoi_engine_class *const aoi_engines[];

#endif
