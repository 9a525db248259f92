/* layer_hook.h - how a layer in C (src/sync/, src/sight/) owns nodes of the space and gets their changes.
 *
 *   record_event --(node flagged AOI_NODE_LAYER)--> sightings [ node, name, enters | ... ] --> class->see, not the queue
 *   entities that enter, moves, kinds, deaths --(space->layers != NULL)--> class->moved ...
 *
 *   areas[node].user_data --> aoi_layer_node, the head of what the layer keeps of the node --> aoi_layer --> its class
 *
 * Sightings wait for the tick of their layer, or until very many have come together.  A call that fails cuts its own off;
 * those of a node that goes are void.  In a sighting a target has the name that its layer gave it.  Several layers may be open on a space; without one each of these costs one predictable branch. */
#ifndef AOI_LAYER_HOOK_H
#define AOI_LAYER_HOOK_H

#include "core/event_queue.h"

enum { AOI_SIGHTINGS = 256, AOI_SIGHTINGS_A_NODE = 16 }; /* that wait, at most, before a call */

typedef struct aoi_sighting {
    uint32_t node;
    uint32_t name : 31; /* of the target */
    uint32_t enters : 1;
} aoi_sighting;

typedef struct aoi_layer aoi_layer;

typedef struct aoi_layer_node { /* the head of the record of a flagged node */
    aoi_layer *layer;
    uint64_t user_data; /* the host's for the node; 0: it knows nothing of it */
} aoi_layer_node;

typedef struct aoi_layer_class { /* those that may be NULL are marked so */
    /* A name for the target, less than 2^31, that is good until the sighting is applied; AOI_NONE: memory is
     * refused. */
    uint32_t (*name)(aoi_layer *, uint32_t target);
    bool (*see)(aoi_layer_node *, uint32_t name, bool enters); /* false: memory refused, nothing has changed */
    void (*prefetch)(const aoi_layer_node *, uint32_t name,
                     bool record);                        /* may be NULL: what `see` reads; the node's record */
    bool (*saw)(const aoi_layer_node *, uint32_t target); /* whether the node saw the target at the last tick */
    void (*end)(aoi_layer_node *);                        /* the node is being freed */
    void (*changed)(aoi_layer_node *);                    /* may be NULL: its area, its mask or its exceptions have */
    void (*entered)(aoi_layer *, uint32_t entity);        /* may be NULL */
    void (*moved)(aoi_layer *, uint32_t entity);          /* or is about to: where it is counts only at the tick */
    void (*touched)(aoi_layer *, uint32_t entity);        /* may be NULL: its kind has changed */
    void (*looked)(aoi_layer *, uint32_t entity);         /* may be NULL: its kind, its layers or its extent has */
    void (*left)(aoi_layer *, uint32_t entity);           /* its slot is being freed */
    void (*free)(aoi_layer *);                            /* the space closes */
    const char *(*check)(const aoi_layer *); /* NULL, or the invariant that does not hold; no sighting waits */
    bool recorded;                           /* journals have its nodes */
} aoi_layer_class;

struct aoi_layer { /* the head of a layer */
    const aoi_layer_class *class;
    aoi_space *space;
    aoi_layer *next;
    aoi_event_queue *queue; /* of events of its own that wait, or NULL */
    uint32_t held;          /* so many at the end of it wait for the next tick: a space was loaded that owed them */
    bool owes;              /* its next tick makes events that are in the queue of a space that is loaded meanwhile */
};

/* How many of its events may be taken.  A damaged journal may have taken held ones by name. */
static inline uint32_t aoi_layer_waiting(const aoi_layer *l) {
    return l->queue && l->queue->count > l->held ? l->queue->count - l->held : 0;
}

static inline aoi_layer_node *aoi_layer_node_from(uint64_t user_data) {
    return (aoi_layer_node *)(uintptr_t)user_data;
}

/* ---- layers.c ---------------------------------------------------------------------------------------------------- */

void aoi_layer_open(aoi_space *s, aoi_layer *layer, const aoi_layer_class *class);
void aoi_layer_close(aoi_layer *layer); /* out of the chain; it has no nodes any more */
/* One that cannot be removed for want of memory becomes a silent one of the space. */
int aoi_remove_layer_node(aoi_space *s, uint32_t node);
uint64_t aoi_layer_node_end(const aoi_space *s, uint32_t node); /* class->end; the host's user data */
void aoi_layer_node_changed(const aoi_space *s, uint32_t node); /* class->changed */
bool aoi_node_is_recorded(const aoi_space *s, uint32_t node);   /* by journals, as those of no layer are */

uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target);
bool aoi_layers_see(aoi_space *s); /* applies all sightings; false: memory refused, some wait */

/* To every layer of the chain. */
void aoi_layers_entered(aoi_layer *first, uint32_t entity);
void aoi_layers_moved(aoi_layer *first, uint32_t entity);
void aoi_layers_looked(aoi_layer *first, uint32_t entity, bool kind);
void aoi_layers_left(aoi_layer *first, uint32_t entity);
void aoi_layers_free(aoi_layer *first);
const aoi_queued *aoi_layers_take(aoi_space *s);   /* as aoi_take */
size_t aoi_layers_waiting(const aoi_layer *first); /* events, but for those that are held */
bool aoi_layers_owe(const aoi_layer *first);
const char *aoi_layers_check(const aoi_layer *first);

#endif
