/* sight.h - a sight from inside:
 *
 *   walls.c        walls in a grid that lines walk through
 *   watches.c      nodes, the pairs that their areas see, the hooks for the space
 *   recall.c       nodes that come from another space
 *   look.c         a tick: the pairs to be tested, and the changes since the last one
 *   questions.c    which targets are seen now, and why
 *   sight_saved.c  a sight in a snapshot, and in a journal
 *   sight_check.c  every invariant
 *
 *   entity slot --things--> [ watches | moved | seen by: numbers of watches ]
 *                                |
 *                                v
 *   watch [ pairs [ target | wall, ticks | place in `due` and in `seen by` ] ... ]
 *                                ^
 *   index by watch and target ---+
 *
 * The space reports the pairs that an area gains and loses (core/plugin_hook.h).  `due` lists pairs for the next tick:
 * new and lost ones, those with a target that has moved, and those that linger.  `stale` lists watches with all their
 * pairs: those with an owner that has moved, an area that has changed, or a changed wall nearby.  A pair keeps its place
 * in the array of its watch until one is freed: then the last one takes that place.
 *
 * Sight is equal: of two entities that see each other the line is tested once a tick, and the pair tested first tells the
 * one that looks back, its mirror.  A pair has the place of its mirror, which may be out of date, in the array of the
 * first watch of its target. */
#ifndef AOI_SIGHT_INNER_H
#define AOI_SIGHT_INNER_H

#include "core/space.h"
#include "sight/walls.h"

/* flags of a pair */
enum {
    AOI_PAIR_AREA = 1,   /* the area sees the target */
    AOI_PAIR_WAS = 2,    /* the area saw it at the last tick */
    AOI_PAIR_SEEN = 4,   /* the node saw it at the last tick, according to its events */
    AOI_PAIR_SEES = 8,   /* during a tick: the node sees it now */
    AOI_PAIR_GONE = 16,  /* the node or the target has gone */
    AOI_PAIR_TOLD = 32,  /* during a tick: the pair that looks back has told whether the line is clear */
    AOI_PAIR_CLEAR = 64, /* the line was clear when it was last tested */
    AOI_PAIR_SAVED = AOI_PAIR_AREA | AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_CLEAR
};

typedef struct aoi_sight_pair {
    int64_t id; /* of the target */
    uint32_t target, life;
    uint32_t wall;    /* slot of the wall that last hid it */
    uint32_t clear;   /* without CLEAR: the last tick at which the line was clear */
    uint32_t name;    /* name of the target that the sink has given */
    uint32_t due;     /* place in the list `due`, AOI_NONE: it is not in it */
    uint32_t at;      /* unless it is gone: place in the target's list of watches */
    uint32_t mirror;  /* place of the pair that looks back, perhaps; checked by use */
    uint16_t because; /* of what has gone, as in aoi_queued */
    uint8_t flags;
} aoi_sight_pair;

typedef struct aoi_watch { /* a node of the sight; it stays after the node until its leaves are reported */
    aoi_plugin_node head;
    uint64_t client; /* for the sink */
    int64_t watcher, node_id;
    uint32_t number, node, owner;
    uint32_t next;   /* watch of the same owner */
    uint32_t linger; /* ticks */
    aoi_sight_pair *pairs;
    uint32_t pair_count, pair_cap;
    uint8_t stale; /* AOI_LISTED, or AOI_LOOKED_AT */
    bool gone;
    bool holds; /* gone, but the slot of its node is reserved for events that the next tick makes */
} aoi_watch;

enum { AOI_LISTED = 1, AOI_LOOKED_AT = 2 }; /* in the list `stale`; its pairs have been tested by this tick */

typedef struct aoi_thing { /* an entity that is a target or carries a watch */
    uint32_t watches;
    bool moved; /* listed */
    uint32_t seen_count, seen_cap;
    uint32_t *seen_by; /* numbers of the watches that have it as target */
} aoi_thing;

typedef struct aoi_due {
    uint32_t watch, pair; /* number; index */
} aoi_due;

/* Receives the changes of a sight instead of events.  A synchroniser has such a sight between the nodes and the
 * pictures of its clients. */
typedef struct aoi_sight_sink {
    /* A target enters, given by its slot, and *name is set; or leaves, given by *name.  False: memory refused. */
    bool (*see)(uint64_t client, uint32_t target, uint32_t *name, bool enters);
    void (*end)(uint64_t client); /* the node is being freed */
} aoi_sight_sink;

struct aoi_sight {
    aoi_plugin plugin;
    aoi_walls *walls;
    aoi_wall_changes changes;
    const aoi_sight_sink *sink; /* NULL: events */
    uint32_t number;            /* lower than those of all sights opened later */
    bool stands_in;             /* was loaded (core/state_hook.h) */
    uint32_t now;               /* tick */
    aoi_thing *things;          /* by entity slot */
    aoi_watch **watches;        /* by number; NULL: free */
    aoi_hash_index index;       /* pairs, in the array of their watch, by watch and target */
    uint32_t *moved;            /* entities; room for all things, as the lists below have for all watches and pairs */
    uint32_t *stale;            /* watches */
    aoi_due *due;
    uint32_t thing_cap, watch_cap, watch_top, watch_count, low_watch, pair_count;
    uint32_t moved_cap, moved_count, stale_cap, stale_count, due_cap, due_count;
    uint64_t seen, tested;
    aoi_event_queue queue;
};

static inline aoi_memory *aoi_sight_memory(const aoi_sight *g) {
    return &g->plugin.space->records.memory;
}

/* ---- watches.c --------------------------------------------------------------------------------------------------- */

/* A sight of that number, AOI_NONE: the next one; walls: NULL: new ones. */
int aoi_sight_open_for(aoi_space *s, uint32_t number, aoi_walls *walls, const aoi_sight_sink *sink, aoi_sight **out);
int aoi_sight_add_wall_as(aoi_sight *g, const aoi_wall *w, int64_t id, int64_t *out); /* id: as of aoi_walls_add */
int aoi_watch_add(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger, uint64_t client,
                  aoi_node *out);
aoi_watch *aoi_watch_of(const aoi_sight *g, uint32_t node);   /* NULL: no node of this sight */
aoi_sight *aoi_sight_of_node(const aoi_space *s, aoi_node n); /* NULL: no node of a sight */
/* NULL: no pair, or a gone one. */
aoi_sight_pair *aoi_pair_find(const aoi_sight *g, const aoi_watch *n, uint32_t target);
void aoi_pair_free(aoi_sight *g, aoi_watch *n, aoi_sight_pair *p); /* the last one of the watch takes its place */
/* The pair of the first watch of the target that looks back at the owner, and that watch; NULL: none is known. */
aoi_sight_pair *aoi_pair_mirror(const aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p, aoi_watch **of);
/* Gives a pair its state at the last tick: flags of AOI_PAIR_SAVED, and if it lingers the ticks for which it has been
 * hidden.  Positions determine whether the area sees it now; between two borders AREA does.  AOI_EVALUE, AOI_ENOMEM. */
int aoi_pair_restore(aoi_sight *g, aoi_watch *n, uint32_t target, int flags, uint32_t age);
void aoi_watch_free(aoi_sight *g, aoi_watch *n); /* it must be gone and have no pairs */
void aoi_watch_stale(aoi_sight *g, aoi_watch *n);

static inline void aoi_pair_due(aoi_sight *g, const aoi_watch *n, aoi_sight_pair *p) {
    if (p->due != AOI_NONE) return;
    p->due = g->due_count;
    g->due[g->due_count++] = (aoi_due){n->number, (uint32_t)(p - n->pairs)};
}

/* Whether the node holds on to the target that it saw at the last tick, now that area or line have lost it. */
static inline bool aoi_pair_lingers(const aoi_sight *g, const aoi_watch *n, const aoi_sight_pair *p) {
    return n->linger && (p->flags & (AOI_PAIR_SEEN | AOI_PAIR_GONE)) == AOI_PAIR_SEEN &&
           aoi_override_of(g->plugin.space, n->node, p->target) != AOI_HIDE;
}

/* ---- recall.c ---------------------------------------------------------------------------------------------------- */

enum { AOI_SAW_PLAINLY = AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_CLEAR };

/* Stores up to `room` targets that a node saw at the last tick, two numbers each (recall.c), for another space; returns
 * the number of all. */
size_t aoi_sight_saw(const aoi_sight *g, aoi_node n, int64_t *out, size_t room);
/* Gives a node that has just been added these targets, seen in another space; those that are not in this space make
 * leaves.  Only for a space without a journal.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM: a part may have been applied. */
int aoi_sight_recall(aoi_sight *g, aoi_node n, const int64_t *saw, size_t count);

/* ---- look.c ------------------------------------------------------------------------------------------------------ */

extern const aoi_plugin_class aoi_sight_plugin;
static inline aoi_sight *aoi_sight_from(aoi_plugin *l) { /* NULL: the plugin is no sight */
    return l->class == &aoi_sight_plugin ? (aoi_sight *)l : NULL;
}
aoi_sight *aoi_sights_adopt(const aoi_space *s); /* the first sight that was loaded; NULL: there is none */
void aoi_sight_opened(const aoi_sight *g);       /* records it in the journal, if there is one */
const char *aoi_sight_check(const aoi_plugin *plugin);

#endif
