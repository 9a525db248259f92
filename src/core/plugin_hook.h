/* plugin_hook.h - how a plugin in C (src/sync/, src/sight/) owns nodes of the space and receives their changes.
 *
 *   record_event --(node flagged AOI_NODE_PLUGIN)--> sightings [ node, name, enters | ... ] --> class->see, not the queue
 *   entities that enter, moves, kinds, deaths --(space->plugins != NULL)--> class->moved ...
 *
 *   areas[node].user_data --> aoi_plugin_node, the head of what the plugin keeps of the node --> aoi_plugin --> its class
 *
 * Sightings wait for the tick of their plugin, or until there are very many.  A failed call removes its own; those of a
 * removed node are void.  A sighting holds its plugin's name of the target.  Without plugins a hook costs a branch. */
#ifndef AOI_PLUGIN_HOOK_H
#define AOI_PLUGIN_HOOK_H

#include "core/event_queue.h"

#define AOI_PLUGINS_ID (-INT64_C(4503599627370496)) /* ids of nodes from here down are those of plugins, Lua's too */
enum { AOI_SIGHTINGS = 256, AOI_SIGHTINGS_A_NODE = 16 }; /* most that wait before a call */

typedef struct aoi_sighting {
    uint32_t node;
    uint32_t name : 31; /* of the target */
    uint32_t enters : 1;
} aoi_sighting;

typedef struct aoi_plugin aoi_plugin;

typedef struct aoi_plugin_node { /* the head of the record of a flagged node */
    aoi_plugin *plugin;
    uint64_t user_data; /* the host's for the node, or 0 */
} aoi_plugin_node;

typedef struct aoi_plugin_class { /* optional members say so */
    /* A name for the target, less than 2^31, that stays valid until the sighting is applied; AOI_NONE: memory is
     * refused. */
    uint32_t (*name)(aoi_plugin *, uint32_t target);
    bool (*see)(aoi_plugin_node *, uint32_t name, bool enters); /* false: memory refused, nothing has changed */
    void (*prefetch)(const aoi_plugin_node *, uint32_t name,
                     bool record);                         /* may be NULL: what `see` reads; the node's record */
    bool (*saw)(const aoi_plugin_node *, uint32_t target); /* whether the node saw the target at the last tick */
    void (*end)(aoi_plugin_node *);                        /* the node is being freed */
    void (*changed)(aoi_plugin_node *);                    /* may be NULL: its area, mask or exceptions have changed */
    void (*entered)(aoi_plugin *, uint32_t entity);        /* may be NULL */
    void (*moved)(aoi_plugin *, uint32_t entity);   /* or is about to move: plugins read its position at the tick */
    void (*touched)(aoi_plugin *, uint32_t entity); /* may be NULL: its kind has changed */
    void (*looked)(aoi_plugin *, uint32_t entity);  /* may be NULL: its kind, layers or extent has changed */
    void (*seated)(aoi_plugin *, uint32_t entity);  /* may be NULL: it has been attached, or let go */
    void (*left)(aoi_plugin *, uint32_t entity);    /* its slot is being freed */
    void (*free)(aoi_plugin *);                     /* the space closes */
    const char *(*check)(const aoi_plugin *);       /* NULL, or the invariant that does not hold; no sighting waits */
    bool recorded;                                  /* journals have its nodes */
} aoi_plugin_class;

struct aoi_plugin { /* the head of a plugin */
    const aoi_plugin_class *class;
    aoi_space *space;
    aoi_plugin *next;
    aoi_event_queue *queue; /* of its own waiting events, or NULL */
    uint32_t held;          /* events at the end of it that wait for the next tick, as loaded */
    bool owes;              /* its next tick makes events that a snapshot taken now holds in the queue */
};

/* The count of its events that may be taken.  A damaged journal may have taken held ones by name. */
static inline uint32_t aoi_plugin_waiting(const aoi_plugin *l) {
    return l->queue && l->queue->count > l->held ? l->queue->count - l->held : 0;
}

static inline aoi_plugin_node *aoi_plugin_node_from(uint64_t user_data) {
    return (aoi_plugin_node *)(uintptr_t)user_data;
}

/* ---- plugins.c ---------------------------------------------------------------------------------------------------- */

void aoi_plugin_open(aoi_space *s, aoi_plugin *plugin, const aoi_plugin_class *class);
void aoi_plugin_close(aoi_plugin *plugin); /* removes it from the chain, after its nodes */
/* Needs no memory, as the sightings of a removed node are void. */
void aoi_remove_plugin_node(aoi_space *s, uint32_t node);
uint64_t aoi_plugin_node_end(const aoi_space *s, uint32_t node); /* class->end; the host's user data */
void aoi_plugin_node_changed(const aoi_space *s, uint32_t node); /* class->changed */
bool aoi_node_is_recorded(const aoi_space *s, uint32_t node);    /* by journals; true without a plugin */

uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target);
bool aoi_plugins_see(aoi_space *s); /* applies all sightings; false: memory is refused, some wait */

/* Notify every plugin of the chain. */
void aoi_plugins_entered(aoi_plugin *first, uint32_t entity);
void aoi_plugins_moved(aoi_plugin *first, uint32_t entity);
void aoi_plugins_looked(aoi_plugin *first, uint32_t entity, bool kind);
void aoi_plugins_seated(aoi_plugin *first, uint32_t entity);
void aoi_plugins_left(aoi_plugin *first, uint32_t entity);
void aoi_plugins_free(aoi_plugin *first);
const aoi_queued *aoi_plugins_take(aoi_space *s);    /* as aoi_take */
size_t aoi_plugins_waiting(const aoi_plugin *first); /* events that may be taken */
bool aoi_plugins_owe(const aoi_plugin *first);
const char *aoi_plugins_check(const aoi_plugin *first);

#endif
