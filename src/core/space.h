/* space.h - the structure of a space and the functions that its own files share:
 *
 *   space.c       opening, closing, slots and handles; entities: enter, move, leave, kind
 *   areas.c       nodes: add, remove, radius, mask
 *   labels.c      names of nodes
 *   looks.c       kinds, layers and extents of entities; larges.c pairs of targets with an extent
 *   attach.c      passengers, which move with their carriers
 *   movers.c      moves that are judged together; the repair of an index whose batch was refused
 *   batch.c       many at once
 *   visibility.c  pairs before and after a change -> events and memories of pairs
 *   crossing.c    pairs that meet only on the way
 *   events.c      taking events
 *   plugins.c     nodes whose events go to src/sync/ or src/sight/
 *     query.c       questions; sweep.c the question of a moving ball
 *   check.c       brute force
 *
 * Every change goes through the same steps:
 *
 *   aoi_begin -> pairs that may change are judged, their events appended -> the index -> aoi_commit
 *                     | memory refused                        | refused
 *                     +---------------> aoi_rollback <--------+          the call has changed nothing
 *
 * A rollback cuts the queue back and plays the undo log of the pair table backwards.  The candidates of a move come
 * from the index, so the index has applied the move already when memory for its events is refused.  Then the entity
 * enters the list of movers and is put back before the next call that needs the index (aoi_settle); only that later
 * call can fail for it.  In a deferred space all moves wait in that list. */
#ifndef AOI_SPACE_H
#define AOI_SPACE_H

#include "core/broad_phase.h"
#include "core/crossing.h"
#include "core/event_queue.h"
#include "core/journal_hook.h"
#include "core/looks.h"
#include "core/node_index.h"
#include "core/observer_hook.h"
#include "core/override_table.h"
#include "core/pair_table.h"
#include "core/plugin_hook.h"
#include "core/rule.h"
#include "core/shape_pool.h"

enum { AOI_MOST_ENTITIES = 1 << 30 }; /* in one space */
enum { AOI_FEW_WATCHERS = 32 };       /* nodes that are tested one by one, so that a crowd beside them costs nothing */
enum { AOI_FIRST_LAYER = 1 };         /* the layer of entities without layers of their own */
#ifdef AOI_ASSERT
enum { AOI_WITNESS = 1 }; /* pairs that nodes report are noted, and aoi_check compares them with the rule */
#else
enum { AOI_WITNESS = 0 };
#endif

typedef struct aoi_pair_undo { /* one change of the pair table */
    uint32_t node, target;
    bool added;
} aoi_pair_undo;

enum {                    /* the next step for the movers */
       AOI_STAGE_NOTED,   /* waiting to be judged */
       AOI_STAGE_PLACING, /* the first `joined` are put in place, so far up to `moved`, then judged together */
       AOI_STAGE_TURNS,   /* the others are judged one after the other, so far up to `moved` */
       AOI_STAGE_REPAIR   /* put in place only: their events have been rolled back */
};

typedef struct aoi_mark { /* a point of a call to roll back to */
    uint32_t top, queue_undo, undo, sightings;
} aoi_mark;

typedef struct aoi_seat { /* the attachment of an entity, by slot: see attach.c */
    double offset[3];
    uint32_t carrier;     /* or AOI_NONE */
    uint32_t first, next; /* its first passenger; the next passenger of its carrier */
} aoi_seat;

typedef struct aoi_travel { /* of all movers */
    double lo[3], hi[3];    /* bounds of their positions before and after */
    double farthest;        /* upper bound of their distances on an axis */
} aoi_travel;

typedef struct aoi_frame { /* what a tick judges together: see tick/choose.c */
    double step, scale; /* longest move of a mover; fixed-point units per unit of length, 0: no node may see a change */
    double reach;       /* of nodes that are not wide */
    double low, high;   /* of all heights, two moves included */
    uint32_t usual;     /* the first node of one of the carriers of the usual areas, or AOI_NONE */
} aoi_frame;

typedef struct aoi_ranked { /* an entity and its sort key: a squared distance, or its x */
    double by;
    int64_t id; /* or its slot */
} aoi_ranked;

typedef struct aoi_near_scratch { /* of aoi_near_many */
    double *coordinates;          /* read from the host's tables */
    struct aoi_question *places;
    struct aoi_question_group *groups;
    uint32_t *order;        /* the places, group by group */
    struct aoi_item *items; /* of one group of places */
    uint16_t *columns;      /* of the items */
    int64_t *item_ids;
    int64_t *found;         /* group by group */
    uint32_t *ends;         /* of each place's answer among all */
    aoi_hash_index squares; /* of groups */
    uint32_t coordinate_cap, place_cap, group_cap, group_count, order_cap, item_cap, column_cap, item_id_cap, found_cap,
        end_cap;
} aoi_near_scratch;

struct aoi_space {
    aoi_records records;
    aoi_broad_phase index;
    aoi_hash_index ids;    /* entity slots by id */
    aoi_node_index chains; /* the nodes of each entity */
    uint32_t node_count;
    uint32_t unused_entity, unused_node;         /* chains of free slots */
    uint32_t entity_generation, node_generation; /* of the first use of a new slot */
    uint32_t freed_node, freed_last;             /* chain of slots that aoi_next_freed has not returned yet */
    uint32_t unbounded;                          /* chain of the nodes of infinite reach, by home and slot */
    uint32_t unbounded_positional;               /* count of those that do not see everything */
    double cell;                                 /* the hint, as it was given */
    bool deferred;
    uint16_t because;          /* while entities leave: 1 + the reason */
    const uint64_t *relayered; /* while entities and their passengers get these layers */
    aoi_travel moves;          /* while movers are judged together, of these alone */
    aoi_frame frame;
    uint32_t joined;  /* movers that are judged together */
    uint32_t *turned; /* nodes that have turned; they are judged with the movers */
    uint32_t turned_cap, turned_count;
    uint8_t stage;   /* of the movers: AOI_STAGE_NOTED ... */
    bool half_moved; /* movers[moved] is at its new place in the index, at its old one in its record */
    aoi_event_queue queue;
    uint32_t *outside_nodes; /* those that see what is outside of their areas */
    uint32_t outside_cap, outside_count;
    aoi_hash_index kept;     /* pairs that areas hold in the zone BETWEEN, and those marked AOI_PAIR_CHANGED */
    aoi_hash_index reported; /* pairs that nodes of no plugin have reported as seen, if AOI_WITNESS */
    aoi_candidate *changed;  /* what may be marked, in a deferred space */
    uint32_t changed_cap, changed_count;
    aoi_override_table overrides;
    uint64_t *entity_layers, *node_layers; /* NULL, or shorter than the records: the rest is on the first layer */
    uint32_t entity_layers_cap, node_layers_cap;
    char **labels; /* by slot of a node, or NULL */
    uint32_t label_cap;
    aoi_larges larges;
    aoi_crossings crossings;
    aoi_seat *seats; /* NULL: nothing is attached */
    uint32_t seat_cap, attached;
    aoi_plugin *plugins;                                  /* chain of the open ones */
    uint32_t sync_count;                                  /* synchronisers ever opened */
    uint64_t state_changes;                               /* of fields of entities */
    aoi_journal *journal;                                 /* the one that records this space, or NULL */
    aoi_observer *observers;                              /* chain of the open ones */
    aoi_sighting *sightings;                              /* of nodes of plugins, not applied yet */
    uint32_t sighting_cap, sighting_count, sighting_call; /* call: the first of the present call */
    aoi_pair_undo *undo;
    uint32_t undo_cap, undo_count;
    aoi_row *rows;
    aoi_ranked *ranked; /* hits of aoi_nearest and aoi_sweep, newcomers of a batch */
    aoi_near_scratch near;
    double last_nearest;          /* half-extent that the last aoi_nearest searched */
    int64_t *ids_out, *nodes_out; /* answers of questions */
    double *times_out;
    uint32_t row_cap, ids_cap, nodes_cap, times_cap, ranked_cap, answer_count;
    uint64_t taken, candidates;
    char why[200];
};

/* ---- slots and handles ------------------------------------------------------------------------------------------- */

uint32_t aoi_entity_slot(const aoi_space *s, aoi_entity e); /* AOI_NONE: stale or null */
uint32_t aoi_node_slot(const aoi_space *s, aoi_node n);
uint32_t aoi_slot_of_id(const aoi_space *s, int64_t id);
bool aoi_is_place(const aoi_space *s, const double *pos);
int aoi_by_rank(const void *a, const void *b);         /* for qsort: aoi_ranked by number, then id */
int aoi_by_id(const void *a, const void *b);           /* for qsort: ids, or records that begin with one */
aoi_memory aoi_memory_from(aoi_alloc alloc, void *ud); /* realloc and free without an alloc */

/* The position of an entity for the host; that of a waiting mover is not in the index yet. */
static inline const double *aoi_position_now(const aoi_space *s, uint32_t entity) {
    const aoi_entity_record *e = s->records.entities + entity;
    bool waits = e->mover != AOI_NONE && e->mover >= s->records.moved;
    return waits ? aoi_mover_end(&s->records, e->mover) : e->pos;
}

static inline void aoi_place(aoi_space *s, uint32_t entity, const double *pos) {
    double *at = s->records.entities[entity].pos;
    at[0] = pos[0];
    at[1] = pos[1];
    if (s->records.dims == 3) at[2] = pos[2];
}

/* Empty bounds: there are no movers. */
static inline void aoi_clear_travel(aoi_travel *t) {
    *t = (aoi_travel){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};
}

/* The Chebyshev distance of two places: the greatest difference on an axis. */
static inline double aoi_chebyshev(int dims, const double *a, const double *b) {
    double x = fabs(a[0] - b[0]), y = fabs(a[1] - b[1]), most = x > y ? x : y;
    if (dims < 3) return most;
    double z = fabs(a[2] - b[2]);
    return z > most ? z : most;
}

static inline bool aoi_same_place(int dims, const double *a, const double *b) {
    return a[0] == b[0] && a[1] == b[1] && (dims < 3 || a[2] == b[2]);
}

uint32_t aoi_new_entity(aoi_space *s, int64_t id, const double *pos, uint64_t kind); /* not in the grid yet */
void aoi_free_entity(aoi_space *s, uint32_t entity);
void aoi_judge_leaving(aoi_space *s, uint32_t entity); /* records the leaves of all its pairs */
void aoi_release_storage(aoi_space *s);                /* frees the storage of an empty space */
void aoi_remove_entity(aoi_space *s, uint32_t entity); /* and its nodes, without judging their pairs */
void aoi_free_node(aoi_space *s, uint32_t node);       /* its slot stays in use until its events are taken */
void aoi_mask_changed(aoi_space *s, uint32_t node);    /* or its first exception was added: the index reads both */
void aoi_release_node(aoi_space *s, uint32_t node);    /* a dead node whose last event is gone */
bool aoi_report_all(aoi_space *s);                     /* a loaded space: what nodes see they have reported */
/* Forgets the pairs of a node with a bit or 0. */
void aoi_forget_pairs(const aoi_space *s, aoi_hash_index *pairs, uint32_t node, uint32_t bit);

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static inline const char *aoi_label_of(const aoi_space *s, uint32_t node) {
    return node < s->label_cap ? s->labels[node] : NULL;
}
/* Copies a label for that slot and makes room there; *copy is NULL for no label, and for the one that the node has
 * already.  False when memory is refused. */
bool aoi_label_copy(aoi_space *s, uint32_t node, const char *label, char **copy);
void aoi_label_drop(aoi_space *s, char *copy);               /* NULL is harmless */
void aoi_label_put(aoi_space *s, uint32_t node, char *copy); /* replaces the old label; NULL: none */
void aoi_labels_free(aoi_space *s);

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static inline uint64_t aoi_layers_of(const aoi_space *s, uint32_t entity) {
    return entity < s->entity_layers_cap ? s->entity_layers[entity] : AOI_FIRST_LAYER;
}
static inline uint64_t aoi_node_layers_of(const aoi_space *s, uint32_t node) {
    const aoi_node_record *n = s->records.nodes + node;
    return n->flags & AOI_NODE_LAYERED ? s->node_layers[node] : aoi_layers_of(s, n->owner);
}
static inline bool aoi_layers_meet(const aoi_space *s, uint32_t node, uint32_t target) {
    if (!s->entity_layers && !s->node_layers) return true;
    return (aoi_layers_of(s, target) & aoi_node_layers_of(s, node)) != 0;
}
static inline bool aoi_is_large(const aoi_space *s, uint32_t entity) {
    return entity < s->larges.of_cap && s->larges.of[entity] != AOI_NONE;
}
static inline double aoi_extent_of(const aoi_space *s, uint32_t entity) {
    return aoi_is_large(s, entity) ? s->larges.records[s->larges.of[entity]].extent : 0;
}
/* The kind that the host has set; the record of a large entity holds 0. */
static inline uint64_t aoi_kind_of(const aoi_space *s, uint32_t entity) {
    uint64_t kind = s->records.entities[entity].kind;
    return !kind && aoi_is_large(s, entity) ? s->larges.records[s->larges.of[entity]].kind : kind;
}
static inline aoi_looks aoi_looks_of(const aoi_space *s, uint32_t entity) {
    return (aoi_looks){aoi_kind_of(s, entity), aoi_layers_of(s, entity), aoi_extent_of(s, entity)};
}

bool aoi_node_layers_ready(aoi_space *s, uint32_t node); /* room for its layers; false when memory is refused */
void aoi_clear_looks(aoi_space *s, uint32_t entity);     /* before it leaves */
void aoi_free_looks(aoi_space *s);

bool aoi_larges_ready(aoi_space *s, uint32_t entity); /* room for it to be large */
void aoi_larges_set(aoi_space *s, uint32_t entity, const aoi_looks *looks);
void aoi_larges_remove(aoi_space *s, uint32_t entity);
void aoi_larges_free(aoi_space *s);
void aoi_large_moves(aoi_space *s, uint32_t entity, const double *to); /* no effect if it is not large */
/* Replaces the large entities among records.hits by those whose square meets the box. */
void aoi_add_large_targets(aoi_space *s, const double *lo, const double *hi);
/* Adds the pairs with a large target that a move, or the whole batch, may have changed as candidates, each once. */
void aoi_add_large_candidates(aoi_space *s, uint32_t entity, const double *from, const double *to);
void aoi_add_large_changes(aoi_space *s);

/* ---- crossings --------------------------------------------------------------------------------------------------- */

bool aoi_ways_ready(aoi_space *s, uint32_t entities); /* room for their ways, which are needed if nodes cross */
void aoi_note_way(aoi_space *s, uint32_t entity, bool broken); /* that it is about to move, or has entered or jumped */
void aoi_forget_ways(aoi_space *s);                            /* a delivery */
bool aoi_crosser_ready(aoi_space *s);                          /* room for one more node that crosses */
void aoi_add_crosser(aoi_space *s, uint32_t node, bool fresh);
void aoi_remove_crosser(aoi_space *s, uint32_t node);
void aoi_drop_crossings(aoi_space *s, uint32_t node, uint32_t target); /* waiting events of one, or about one */
void aoi_crossings_free(aoi_space *s);
/* Appends the crossings on all ways, in an open call, and forgets the ways; false when memory is refused. */
bool aoi_judge_crossings(aoi_space *s);

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

static inline int aoi_override_of(const aoi_space *s, uint32_t node, uint32_t target) {
    bool any = s->records.nodes[node].flags & AOI_NODE_OVERRIDES;
    return any ? aoi_overrides_get(&s->overrides, node, target) & ~AOI_TOLD : AOI_BY_RULE;
}

/* Whether the override and the mask let a node see a target of this kind by its position. */
static inline bool aoi_meets(int how, uint64_t kind, uint64_t mask) {
    return how == AOI_BY_RULE ? (kind & mask) != 0 : how == AOI_MATCH;
}

/* The same by kind and layers of the target. */
static inline bool aoi_pair_meets(const aoi_space *s, uint32_t node, uint32_t target) {
    int how = aoi_override_of(s, node, target);
    return aoi_meets(how, aoi_kind_of(s, target), s->records.nodes[node].mask) && aoi_layers_meet(s, node, target);
}
static inline aoi_zone aoi_pair_zone(const aoi_space *s, uint32_t node, uint32_t target, const double *w,
                                     const double *t) {
    const aoi_node_record *n = s->records.nodes + node;
    double extent = n->fixed ? 0 : aoi_extent_of(s, target), r = n->reach[0] + extent;
    if (n->flags & AOI_NODE_PLAIN) return r >= 0 && aoi_in_box(s->records.dims, w, t, r) ? AOI_INSIDE : AOI_OUTSIDE;
    return aoi_zone_grown(s->records.dims, n->shape, s->records.areas + node, w, t, extent);
}

/* The zone of a target for an area at that place. */
static inline aoi_zone aoi_state_zone(const aoi_space *s, const aoi_area_state *is, const double *at, uint32_t target) {
    double extent = is->fixed ? 0 : aoi_extent_of(s, target);
    return aoi_zone_grown(s->records.dims, is->shape, &is->area, at, s->records.entities[target].pos, extent);
}

/* Whether a change of an area leaves a target where it was, for a mask, layers and side that have not changed. */
bool aoi_stays(const aoi_space *s, const aoi_area_state *was, const aoi_area_state *is, const double *at,
               uint32_t target);

/* Whether the node sees the target at the positions that both have for the host. */
bool aoi_node_sees(const aoi_space *s, uint32_t node, uint32_t target);

/* The lowest ids of entities and of nodes in [from, to); `to` if there is none.  Removed nodes count while their events
 * wait.  O(all records). */
void aoi_lowest_ids(const aoi_space *s, int64_t from, int64_t to, int64_t *entity, int64_t *node);

/* ---- a call: begin, judge, commit or rollback -------------------------------------------------------------------- */

/* Judges all movers and puts them in place in the index; false when memory is refused. */
bool aoi_settle_movers(aoi_space *s);
static inline bool aoi_is_settled(const aoi_space *s) {
    return !s->records.mover_count && !s->turned_count;
}
static inline bool aoi_settle(aoi_space *s) {
    return aoi_is_settled(s) || aoi_settle_movers(s);
}
/* Makes sure that movers can be added: none of them is judged yet.  False when memory is refused. */
static inline bool aoi_may_note(aoi_space *s) {
    return s->stage == AOI_STAGE_NOTED || aoi_settle_movers(s);
}
bool aoi_grow_movers(aoi_space *s, size_t n);
void aoi_free_movers(aoi_space *s);
static inline bool aoi_movers_ready(aoi_space *s, size_t n) { /* room for n in all */
    return n <= s->records.mover_cap || aoi_grow_movers(s, n);
}
void aoi_note_mover(aoi_space *s, uint32_t entity, const double *to); /* room is reserved */
int aoi_note_turn(aoi_space *s, uint32_t node, double facing);        /* of a sector in a deferred space */
void aoi_note_staged(aoi_space *s, size_t n);                         /* n rows, staged as below */
#define AOI_FRAME_FARTHEST 0x1p48    /* units: beyond twice that a place in fixed point has no digits left */
bool aoi_judge_movers(aoi_space *s); /* false when memory is refused: call it again, or aoi_refuse_movers */
void aoi_refuse_movers(aoi_space *s);

/* A batch of moves is staged behind the movers without effect: first room for n rows, then the rows from `first` on, with
 * the result of the first bad one; aoi_move_staged moves them all. */
bool aoi_stage_ready(aoi_space *s, size_t n);
static inline double *aoi_staged(const aoi_space *s, size_t row) {
    return aoi_mover_end(&s->records, s->records.mover_count + (uint32_t)row);
}
int aoi_stage(aoi_space *s, size_t first, const aoi_row *rows, size_t n, size_t *bad);
int aoi_move_staged(aoi_space *s, size_t n);
/* Stages a row behind the n rows for each entity that they carry, and counts it in *n. */
int aoi_stage_passengers(aoi_space *s, size_t *n);
int aoi_move_with_passengers(aoi_space *s, uint32_t entity, const double *to);
static inline bool aoi_is_attached(const aoi_space *s, uint32_t entity) {
    return entity < s->seat_cap && s->seats[entity].carrier != AOI_NONE;
}
static inline bool aoi_carries(const aoi_space *s, uint32_t entity) {
    return entity < s->seat_cap && s->seats[entity].first != AOI_NONE;
}
size_t aoi_list_carried(aoi_space *s, uint32_t entity);
void aoi_unseat(aoi_space *s, uint32_t entity); /* removes it as a passenger and as a carrier */
const char *aoi_check_seats(const aoi_space *s);
enum { AOI_STAGED = 32 }; /* rows per call of aoi_stage that suit the cache */

static inline void aoi_open_call(aoi_space *s) {
    aoi_queue_begin(&s->records.memory, &s->queue);
    s->undo_count = 0;
    if (s->sighting_count > AOI_SIGHTINGS && s->sighting_count / AOI_SIGHTINGS_A_NODE > s->node_count)
        (void)aoi_plugins_see(s);
    s->sighting_call = s->sighting_count;
}
static inline bool aoi_begin(aoi_space *s) {
    if (!aoi_settle(s)) return false;
    aoi_open_call(s);
    return true;
}
static inline aoi_mark aoi_mark_of(const aoi_space *s) {
    return (aoi_mark){s->queue.top, s->queue.undo_count, s->undo_count, s->sighting_count};
}
void aoi_forget_changed(aoi_space *s); /* a delivery: what areas hold now is what they held */
void aoi_rollback_to(aoi_space *s, aoi_mark mark);
void aoi_rollback(aoi_space *s); /* the whole call */
void aoi_commit(aoi_space *s);
void aoi_tidy(aoi_space *s); /* lets the index release unneeded storage if it is untidy */

/* All pairs of an entity as a target: NULL before it enters or after it leaves, else its looks. */
void aoi_judge_target(aoi_space *s, uint32_t entity, const aoi_looks *was, const aoi_looks *is);
/* The pairs of all nodes with the entities that this call enters: slots sorted by x. */
void aoi_judge_entered(aoi_space *s, const aoi_ranked *entered, size_t n);
/* All pairs of a node: NULL before it is added or after it is removed, else its area. */
void aoi_judge_node(aoi_space *s, uint32_t node, const aoi_area_state *was, const aoi_area_state *is);
/* A pair whose override becomes this one. */
void aoi_judge_override(aoi_space *s, uint32_t node, uint32_t target, int how);
/* A leave about the end of a target that the node may not see. */
void aoi_record_end(aoi_space *s, uint32_t node, uint32_t target);
typedef struct aoi_seen { /* targets that an adopted node has seen */
    const int64_t *ids;   /* in any order, also several times */
    size_t count;
    int64_t *gone;   /* room for as many */
    uint64_t *marks; /* a bit for each entity's slot, all 0 */
} aoi_seen;

/* The pairs of a node that is added as if it had seen these.  O(count + targets around it). */
void aoi_judge_adopted(aoi_space *s, uint32_t node, const aoi_area_state *is, const aoi_seen *seen);
/* The candidates of a move from where the record has the entity to `to`. */
void aoi_judge_move(aoi_space *s, uint32_t entity, const double *to);
/* The same for a mover of a batch, records.movers[records.moved]. */
void aoi_judge_mover(aoi_space *s, uint32_t entity, const double *to);
/* After a tick: the candidates of the join; then the pairs that the join leaves out, of targets with an extent and of
 * nodes of infinite reach. */
void aoi_judge_joined(aoi_space *s);
void aoi_judge_unjoined(aoi_space *s);

/* aoi_add_node with flags: AOI_NODE_SILENT, or AOI_NODE_PLUGIN with the address of an aoi_plugin_node for user data. */
int aoi_add_flagged_node(aoi_space *s, aoi_entity e, int64_t node_id, const aoi_area *area, int flags, aoi_node *out);

/* aoi_remove_node without events: the node is adopted by another space.  For a space without a journal. */
int aoi_give_node(aoi_space *s, aoi_node n);

/* For a space that is being loaded: adds a node without judging it, since its view follows from positions and kept
 * pairs; and the record of a removed node, for its waiting events. */
int aoi_restore_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area *area, uint32_t *out);
bool aoi_restore_gone_node(aoi_space *s, int64_t node_id, uint64_t user_data, uint32_t *out);

aoi_area_state aoi_state_of(const aoi_space *s, uint32_t node);
void aoi_describe_node(const aoi_space *s, uint32_t node, aoi_area *out); /* its area as it was given */
/* The area of a node before it turned, copied into *area and *shape; its own record if it has not turned. */
static inline const aoi_area_record *aoi_area_before(const aoi_records *r, uint32_t node, aoi_area_record *area,
                                                     aoi_shape *shape) {
    if (!(r->nodes[node].flags & AOI_NODE_TURNED)) return r->areas + node;
    *area = r->areas[node];
    memcpy(shape, area->shape, sizeof *shape);
    shape->fx = shape->was_fx, shape->fy = shape->was_fy;
    area->shape = shape;
    return area;
}

/* flags: those of the node with this area. */
static inline aoi_bounds aoi_bounds_from(int dims, const aoi_area_state *is, int flags) {
    const aoi_shape *p = is->area.shape;
    double inner = aoi_inner_extent(dims, is->shape, is->area.radius);
    return (aoi_bounds){.reach = {is->reach[0], is->reach[1], p ? p->height : is->reach[0]},
                        .inner = {p ? p->inner[0] : inner, p ? p->inner[1] : inner},
                        .shape = is->shape,
                        .plain = aoi_is_plain_shape(is->shape, is->margined),
                        .idle = aoi_is_idle(flags, is->margined),
                        .round = aoi_is_round(is->shape, p, is->reach)};
}

static inline bool aoi_same_bounds(const aoi_bounds *a, const aoi_bounds *b) {
    return a->reach[0] == b->reach[0] && a->reach[1] == b->reach[1] && a->reach[2] == b->reach[2] &&
           a->inner[0] == b->inner[0] && a->inner[1] == b->inner[1] && a->shape == b->shape && a->plain == b->plain &&
           a->idle == b->idle && a->round == b->round;
}

/* ---- the grid's lookups, with unbounded nodes and large entities ------------------------------------------------- */

void aoi_find_targets(aoi_space *s, const double *at, const double *reach); /* into records.hits */
/* How far around a node targets are that it may see. */
static inline const double *aoi_seen_reach(const double *reach, bool outside) {
    static const double all[2] = {INFINITY, INFINITY};
    return outside ? all : reach;
}
void aoi_find_in_box(aoi_space *s, const double *lo, const double *hi); /* the same for lo..hi, which may be infinite */
/* The same for a change of an area at that place, or its begin or end: whom it may concern.  True: nothing but the facing
 * of a sector changes, as `turn` says. */
bool aoi_find_changed(aoi_space *s, const aoi_area_state *was, const aoi_area_state *is, const double *at,
                      aoi_turn *turn);
/* All nodes whose areas, grown by the extent, hold a place, and maybe others.  idle: idle nodes as well; by_index: uses
 * the grid even if testing each node is cheaper.  aoi_find_watchers leaves out the entity's own nodes. */
void aoi_find_nodes(aoi_space *s, const double *at, double extent, bool idle, bool by_index);
void aoi_find_watchers(aoi_space *s, uint32_t entity, double extent, bool idle, bool by_index);

/* The host's user data of a node, also of a removed one while its events wait. */
static inline uint64_t aoi_user_data_of(const aoi_space *s, uint32_t node) {
    const aoi_node_record *n = s->records.nodes + node;
    uint64_t user_data = s->records.areas[node].user_data;
    bool layered = n->flags & AOI_NODE_PLUGIN && aoi_is_live(n->generation);
    return layered ? aoi_plugin_node_from(user_data)->user_data : user_data;
}

/* Empties the answer and makes room for `count` ids, and for as many nodes if `pairs`; false when memory is refused,
 * now or by the search for hits. */
bool aoi_answer_ready(aoi_space *s, size_t count, bool pairs);
int aoi_give(aoi_space *s, const int64_t **ids, size_t *count); /* the answer; AOI_OK */
void aoi_near_clear(aoi_memory *m, aoi_near_scratch *n);

/* Formats into s->why, for checks of invariants. */
const char *aoi_wrong(aoi_space *s, const char *format, ...);

/* Records a call that is over if there is a journal; returns its result. */
static inline int aoi_logged(aoi_space *s, const aoi_call *c) {
    if (s->journal) aoi_log(s, c);
    return c->result;
}

/* ---- what the Lua binding needs beside aoi.h --------------------------------------------------------------------- */

/* Of a node that is there: as it was given. */
static inline int aoi_shape_of(const aoi_space *s, aoi_node n) {
    return aoi_given_shape(&s->records, n.index);
}

/* Room for the coordinates of n places, NULL when memory is refused. */
double *aoi_coordinate_buffer(aoi_space *s, size_t n);

/* Appends an event to a queue that has room; it holds its node's slot until it is taken. */
static inline void aoi_append(aoi_space *s, aoi_event_queue *q, const aoi_queued *e) {
    aoi_queue_append(q, e);
    s->records.nodes[e->node].pending++;
}
/* Releases one hold on the slot of a node: an event that was taken, or another user of the slot. */
static inline void aoi_let_go(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->records.nodes + node;
    if (--n->pending > 0 || aoi_is_live(n->generation)) return;
    if (n->generation != 0) aoi_release_node(s, node); /* 0: the slot retires */
}
static inline void aoi_count_taken(aoi_space *s, uint32_t node) {
    s->taken++;
    aoi_let_go(s, node);
}
void aoi_notify_taken(aoi_space *s, const aoi_queued *e); /* observers and the journal */
/* Takes the oldest event, NULL if none waits.  The queue's own record of it is valid until the next call. */
static inline const aoi_queued *aoi_take_from(aoi_space *s, aoi_event_queue *q) {
    if (!q->count) return NULL;
    const aoi_queued *e = aoi_queue_take(q);
    if (s->observers || s->journal) aoi_notify_taken(s, e);
    aoi_count_taken(s, e->node);
    return e;
}
static inline const aoi_queued *aoi_take(aoi_space *s) {
    return aoi_take_from(s, &s->queue);
}
bool aoi_is_pending(const aoi_event_queue *q, int64_t watcher, int64_t node_id, int64_t target); /* for explain */
void aoi_read_event(const aoi_space *s, const aoi_queued *e, aoi_event *out);
/* Whether aoi_next_freed has work to do. */
static inline bool aoi_has_freed(const aoi_space *s) {
    return s->freed_node != AOI_NONE || !s->records.entity_count;
}
/* The user data of the next removed node whose last event has been taken; false when there is none left. */
bool aoi_next_freed(aoi_space *s, uint64_t *user_data);
/* Reads up to max events from *cursor on without taking them, and advances *cursor, which starts at 0.  Returns how
 * many it has read.  No other call is allowed between the reads. */
size_t aoi_peek(const aoi_space *s, uint32_t *cursor, aoi_event *out, size_t max);
/* The same for one event: the queue's own record, without user data; NULL if there is none. */
static inline const aoi_queued *aoi_peek_one(const aoi_space *s, uint32_t *cursor) {
    uint32_t i = aoi_queue_from(&s->queue, *cursor > s->queue.head ? *cursor : s->queue.head);
    *cursor = i + 1;
    return i < s->queue.top ? s->queue.events + i : NULL;
}
void aoi_take_all(aoi_space *s); /* takes all waiting events after aoi_peek */
/* Takes the oldest event that equals `which`, anywhere in the queue or in a plugin's; false if there is none.  For the
 * journal. */
bool aoi_take_event(aoi_space *s, const aoi_event *which, aoi_event *out);

#endif
