/* sought.h - the few entities that most nodes look for, in cells of their own.
 *
 *   nodes      mask 1 | mask 1 | mask 1 | any | mask 1     most look for kinds that few entities are of: NPCs for players
 *   points     . . p . . . . . p . . . . . . . p . . .     all entities
 *   sought         p           p               p           those whose kind meets that mask, a second time
 *
 * A node whose mask is within that of the sought asks their cells, and never compares the crowd around it.  Chosen when
 * entities and nodes have doubled; where no mask is that of most nodes, or many entities meet it, there are none. */
#ifndef AOI_SOUGHT_H
#define AOI_SOUGHT_H

#include "engines/shared/spatial_hash.h"

typedef struct aoi_sought_place {
    uint32_t cell, slot;
} aoi_sought_place;

typedef struct aoi_sought {
    uint64_t mask; /* 0: there are none */
    aoi_spatial_hash cells;
    aoi_sought_place *places; /* by slot of entity */
    uint32_t cap;
    uint32_t looked; /* entities and nodes when they were chosen */
} aoi_sought;

static inline bool aoi_is_sought(const aoi_sought *s, uint64_t kind) {
    return (s->mask & kind) != 0;
}

/* Whether the node looks for nothing else. */
static inline bool aoi_seeks(const aoi_sought *s, const aoi_node_record *n) {
    return !(n->mask & ~s->mask) && !(n->flags & AOI_NODE_OVERRIDES);
}

/* Whether entities and nodes are so many that they are to be chosen anew. */
static inline bool aoi_sought_is_due(const aoi_sought *s, uint32_t size) {
    return size >= 2 * s->looked || size < s->looked / 4;
}

bool aoi_sought_insert(aoi_world *w, aoi_sought *s, uint32_t entity); /* false: memory refused, nothing changed */
void aoi_sought_remove(aoi_sought *s, uint32_t entity);
bool aoi_sought_move(aoi_world *w, aoi_sought *s, uint32_t entity, const double *to); /* false: as above */
bool aoi_sought_change(aoi_world *w, aoi_sought *s, uint32_t entity, uint64_t kind);  /* its kind; false: as above */
void aoi_sought_clear(aoi_world *w, aoi_sought *s);

/* Chooses anew if numbers have changed enough; nodes: how many are in the index; side: of the cells of all entities. */
void aoi_sought_tune(aoi_world *w, aoi_sought *s, uint32_t nodes, double side);
const char *aoi_sought_check(const aoi_world *w, const aoi_sought *s);

/* Puts the items of the cells into cells of at least this side, doubled until a few items share one; placed() is told
 * of each where it is.  Where memory is refused they stay. */
typedef const double *(*aoi_item_position)(const aoi_world *w, uint32_t ref);
typedef void (*aoi_item_placed)(void *ud, uint32_t ref, uint32_t cell, uint32_t slot);
void aoi_spatial_spread(aoi_world *w, aoi_spatial_hash *h, double side, aoi_item_position position,
                        aoi_item_placed placed, void *ud);

#endif
