/* layer_hook.h - how a layer in C (src/sync/, src/sight/) owns nodes of the space and receives their changes.
 *
 *   record_event --(node flagged AOI_NODE_LAYER)--> sightings [ node, name, enters | ... ] --> class->see, not the queue
 *   entities that enter, moves, kinds, deaths --(space->layers != NULL)--> class->moved ...
 *
 *   areas[node].user_data --> aoi_layer_node, the head of what the layer keeps of the node --> aoi_layer --> its class
 *
 * Sightings wait for the tick of their layer, or until there are very many.  A failed call removes its own; those of a
 * removed node are void.  A sighting holds its layer's name of the target.  Without layers a hook costs a branch. */
#ifndef AOI_LAYER_HOOK_H
#define AOI_LAYER_HOOK_H

#include "core/event_queue.h"

#define AOI_LAYERS_ID (-INT64_C(4503599627370496)) /* ids of nodes from here down are those of layers, Lua's too */
enum { AOI_SIGHTINGS = 256, AOI_SIGHTINGS_A_NODE = 16 }; /* most that wait before a call */

typedef struct aoi_sighting {
    uint32_t node;
    uint32_t name : 31; /* of the target */
    uint32_t enters : 1;
} aoi_sighting;

typedef struct aoi_layer aoi_layer;

typedef struct aoi_layer_node { /* the head of the record of a flagged node */
    aoi_layer *layer;
    uint64_t user_data; /* the host's for the node, or 0 */
} aoi_layer_node;

typedef struct aoi_layer_class { /* optional members say so */
    /* A name for the target, less than 2^31, that stays valid until the sighting is applied; AOI_NONE: memory is
     * refused. */
    uint32_t (*name)(aoi_layer *, uint32_t target);
    bool (*see)(aoi_layer_node *, uint32_t name, bool enters); /* false: memory refused, nothing has changed */
    void (*prefetch)(const aoi_layer_node *, uint32_t name,
                     bool record);                        /* may be NULL: what `see` reads; the node's record */
    bool (*saw)(const aoi_layer_node *, uint32_t target); /* whether the node saw the target at the last tick */
    void (*end)(aoi_layer_node *);                        /* the node is being freed */
    void (*changed)(aoi_layer_node *);                    /* may be NULL: its area, mask or exceptions have changed */
    void (*entered)(aoi_layer *, uint32_t entity);        /* may be NULL */
    void (*moved)(aoi_layer *, uint32_t entity);   /* or is about to move: layers read its position at the tick */
    void (*touched)(aoi_layer *, uint32_t entity); /* may be NULL: its kind has changed */
    void (*looked)(aoi_layer *, uint32_t entity);  /* may be NULL: its kind, layers or extent has changed */
    void (*left)(aoi_layer *, uint32_t entity);    /* its slot is being freed */
    void (*free)(aoi_layer *);                     /* the space closes */
    const char *(*check)(const aoi_layer *);       /* NULL, or the invariant that does not hold; no sighting waits */
    bool recorded;                                 /* journals have its nodes */
} aoi_layer_class;

struct aoi_layer { /* the head of a layer */
    const aoi_layer_class *class;
    aoi_space *space;
    aoi_layer *next;
    aoi_event_queue *queue; /* of its own waiting events, or NULL */
    uint32_t held;          /* events at the end of it that wait for the next tick, as loaded */
    bool owes;              /* its next tick makes events that a snapshot taken now holds in the queue */
};

/* The count of its events that may be taken.  A damaged journal may have taken held ones by name. */
static inline uint32_t aoi_layer_waiting(const aoi_layer *l) {
    return l->queue && l->queue->count > l->held ? l->queue->count - l->held : 0;
}

static inline aoi_layer_node *aoi_layer_node_from(uint64_t user_data) {
    return (aoi_layer_node *)(uintptr_t)user_data;
}

/* ---- layers.c ---------------------------------------------------------------------------------------------------- */

void aoi_layer_open(aoi_space *s, aoi_layer *layer, const aoi_layer_class *class);
void aoi_layer_close(aoi_layer *layer); /* removes it from the chain, after its nodes */
/* Needs no memory, as the sightings of a removed node are void. */
void aoi_remove_layer_node(aoi_space *s, uint32_t node);
uint64_t aoi_layer_node_end(const aoi_space *s, uint32_t node); /* class->end; the host's user data */
void aoi_layer_node_changed(const aoi_space *s, uint32_t node); /* class->changed */
bool aoi_node_is_recorded(const aoi_space *s, uint32_t node);   /* by journals; true without a layer */

uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target);
bool aoi_layers_see(aoi_space *s); /* applies all sightings; false: memory is refused, some wait */

/* Notify every layer of the chain. */
void aoi_layers_entered(aoi_layer *first, uint32_t entity);
void aoi_layers_moved(aoi_layer *first, uint32_t entity);
void aoi_layers_looked(aoi_layer *first, uint32_t entity, bool kind);
void aoi_layers_left(aoi_layer *first, uint32_t entity);
void aoi_layers_free(aoi_layer *first);
const aoi_queued *aoi_layers_take(aoi_space *s);   /* as aoi_take */
size_t aoi_layers_waiting(const aoi_layer *first); /* events that may be taken */
bool aoi_layers_owe(const aoi_layer *first);
const char *aoi_layers_check(const aoi_layer *first);

#endif
