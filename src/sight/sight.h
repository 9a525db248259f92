/* sight.h - a sight from inside:
 *
 *   walls.c        walls in a grid that lines walk through
 *   watches.c      nodes, the pairs that their areas see, what the space says of them
 *   recall.c       nodes that come from another space
 *   look.c         a tick: which pairs are tested, what has changed
 *   questions.c    what is seen now, and why
 *   sight_saved.c  a sight in a snapshot, and in a journal
 *   sight_check.c  every invariant
 *
 *   entity slot --things--> [ targets | watches | moved ]
 *                               |          |
 *                               v          v             a pair is in two chains: of its watch and of its target,
 *   pairs   [ watch | target | walls, ticks | chains ] <-- watch     and in an index by both
 *
 * The space reports which pairs an area gains and loses (core/layer_hook.h).  A pair waits in `due` to be looked at by the
 * next tick, when it is new or lost, when its target has moved, or while it lingers; a watch in `stale` with all its pairs,
 * when its owner has moved, its area has changed, or a wall near it. */
#ifndef AOI_SIGHT_INNER_H
#define AOI_SIGHT_INNER_H

#include "core/space.h"
#include "sight/walls.h"

/* flags of a pair */
enum {
    AOI_PAIR_AREA = 1,   /* the area sees the target */
    AOI_PAIR_WAS = 2,    /* it did at the last tick */
    AOI_PAIR_SEEN = 4,   /* the node saw it at the last tick: what events have said */
    AOI_PAIR_SEES = 8,   /* while a tick is made: it sees it now */
    AOI_PAIR_GONE = 16,  /* the node or the target has gone */
    AOI_PAIR_DUE = 32,   /* in the list */
    AOI_PAIR_CLEAR = 64, /* the line was clear when it was tested the last time */
    AOI_PAIR_FREE = 128,
    AOI_PAIR_SAVED = AOI_PAIR_AREA | AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_CLEAR
};

typedef struct aoi_sight_pair {
    int64_t id; /* of the target */
    uint32_t watch, target, life;
    uint32_t of_watch[2], of_target[2]; /* next and previous in the chains, AOI_NONE: none */
    uint32_t wall;                      /* slot of the one that hid it the last time */
    uint32_t clear;                     /* last tick at which the line was clear, where it is not */
    uint32_t name;                      /* the sink's for the target */
    uint8_t flags;
} aoi_sight_pair;

typedef struct aoi_watch { /* a node of the sight; it stays after the node until its leaves are reported */
    aoi_layer_node head;
    uint64_t client; /* the sink's */
    int64_t watcher, node_id;
    uint32_t number, node, owner;
    uint32_t next;   /* of the same owner */
    uint32_t pairs;  /* chain */
    uint32_t linger; /* ticks */
    bool stale, gone;
    bool holds; /* gone, and its node's slot is held for events that are not made yet */
} aoi_watch;

typedef struct aoi_thing { /* an entity that is a target or carries a watch */
    uint32_t targets, watches;
    bool moved; /* listed */
} aoi_thing;

/* A synchroniser has a sight of its own between its clients' nodes and their pictures: it takes what they gain and lose
 * instead of events. */
typedef struct aoi_sight_sink {
    /* The target, by its slot if it enters, by the name that it was given then if it leaves; false: memory refused. */
    bool (*see)(uint64_t client, uint32_t target, uint32_t *name, bool enters);
    void (*end)(uint64_t client); /* its node is being freed */
} aoi_sight_sink;

struct aoi_sight {
    aoi_layer layer;
    aoi_walls *walls;
    aoi_wall_changes changes;
    const aoi_sight_sink *sink; /* NULL: events */
    uint32_t number;            /* lower than those of all that were opened later */
    bool shares, stands_in;     /* the walls of another one; what has been loaded (core/state_hook.h) */
    uint32_t now;               /* tick */
    aoi_thing *things;          /* by entity slot */
    aoi_watch **watches;        /* by number; NULL: free */
    aoi_sight_pair *pairs;
    aoi_index index; /* pairs by watch and target */
    uint32_t *moved; /* entities; room for all things, as of the lists below for all watches and pairs */
    uint32_t *stale; /* watches */
    uint32_t *due;   /* pairs */
    uint32_t thing_cap, watch_cap, watch_top, watch_count, low_watch, pair_cap, pair_top, pair_count, free_pair;
    uint32_t moved_cap, moved_count, stale_cap, stale_count, due_cap, due_count;
    uint64_t seen, tested;
    aoi_event_queue queue;
    unsigned char *saved; /* the last message that was made of it */
    uint32_t saved_cap;
};

static inline aoi_memory *aoi_sight_memory(const aoi_sight *g) {
    return &g->layer.space->world.memory;
}

/* ---- watches.c --------------------------------------------------------------------------------------------------- */

int aoi_sight_open_for(aoi_space *s, aoi_walls *walls, const aoi_sight_sink *sink,
                       aoi_sight **out); /* walls: NULL: new ones */
int aoi_watch_add(aoi_sight *g, aoi_entity e, int64_t node_id, const aoi_area *area, uint32_t linger, uint64_t client,
                  aoi_node *out);
aoi_watch *aoi_watch_of(const aoi_sight *g, uint32_t node);                  /* NULL: no node of this sight */
aoi_sight *aoi_sight_of_node(const aoi_space *s, aoi_node n);                /* NULL: it is none of a sight */
uint32_t aoi_pair_find(const aoi_sight *g, uint32_t watch, uint32_t target); /* AOI_NONE; gone ones are not found */
/* A new one that its area sees, due, with room for it in every list; false: memory refused. */
bool aoi_pair_add(aoi_sight *g, aoi_watch *n, uint32_t target, uint32_t *out);
void aoi_pair_free(aoi_sight *g, uint32_t pair);
/* As it was at the last tick, flags of AOI_PAIR_SAVED, and for so many ticks hidden if it lingers; whether its area sees it
 * now follows, but between two borders, where AREA says it.  AOI_EVALUE: a pair is in no such state; AOI_ENOMEM. */
int aoi_pair_restore(aoi_sight *g, aoi_watch *n, uint32_t target, int flags, uint32_t age);
void aoi_watch_free(aoi_sight *g, aoi_watch *n); /* it is gone and has no pairs */
void aoi_watch_stale(aoi_sight *g, aoi_watch *n);

static inline void aoi_pair_due(aoi_sight *g, uint32_t pair) {
    aoi_sight_pair *p = g->pairs + pair;
    if (p->flags & AOI_PAIR_DUE) return;
    p->flags |= AOI_PAIR_DUE;
    g->due[g->due_count++] = pair;
}

/* ---- recall.c ---------------------------------------------------------------------------------------------------- */

enum { AOI_SAW_PLAINLY = AOI_PAIR_WAS | AOI_PAIR_SEEN | AOI_PAIR_CLEAR };

/* What a node saw at the last tick, for another space: pairs of numbers, at most `room` of them; returns how many there
 * are. */
size_t aoi_sight_saw(const aoi_sight *g, aoi_node n, int64_t *out, size_t room);
/* A node that has just been added has seen these in another space.  Leaves of what is not here wait to be taken.
 * For a space without a journal.  AOI_EGONE, AOI_EVALUE, AOI_ENOMEM: some of it may be recalled. */
int aoi_sight_recall(aoi_sight *g, aoi_node n, const int64_t *saw, size_t count);

/* ---- look.c ------------------------------------------------------------------------------------------------------ */

/* Whether no wall hides the target, or the node is to see it through walls.  *wall: remembers what hid it. */
bool aoi_line_clear(const aoi_sight *g, uint32_t node, uint32_t target, uint32_t *wall);

extern const aoi_layer_class aoi_sight_layer;
static inline aoi_sight *aoi_sight_from(aoi_layer *l) { /* NULL: it is no sight */
    return l->class == &aoi_sight_layer ? (aoi_sight *)l : NULL;
}
aoi_sight *aoi_sights_adopt(const aoi_space *s); /* the first one that has been loaded; NULL: there is none */
void aoi_sight_opened(aoi_sight *g);             /* to the journal, if there is one */
const char *aoi_sight_check(const aoi_layer *layer);

#endif
