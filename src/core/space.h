/* space.h - the space from inside, for the files that make it up:
 *
 *   space.c   opening and closing; entities: enter, move, leave, kind, batches
 *   areas.c   nodes: add, remove, radius, mask
 *   visibility.c  the log of what changes: asked of the rule, made sure of memory, then applied or dropped whole
 *   query.c   questions
 *   check.c   every invariant, and brute force
 *
 * Every change goes the same way: gather (read only) -> aoi_log_ready (all memory) -> the engine's structure, which may
 * still refuse -> aoi_log_apply (cannot fail).  Nothing is touched before everything that can fail has succeeded. */
#ifndef AOI_SPACE_H
#define AOI_SPACE_H

#include "core/engine.h"
#include "core/event_queue.h"
#include "core/pair_table.h"

enum { AOI_PAIR_SAME, AOI_PAIR_ADD, AOI_PAIR_ADD_SEEN, AOI_PAIR_DROP };

typedef struct aoi_change { /* what a call does to one pair */
    uint32_t node, target;
    uint8_t event; /* 0, AOI_ENTER or AOI_LEAVE */
    uint8_t pair;  /* what becomes of the pair's state, if its node needs one */
} aoi_change;

typedef struct aoi_step { /* one row of a batch: whom it moves, and from where */
    uint32_t entity;
    uint32_t log; /* the log's length before it */
    double from[3];
} aoi_step;

struct aoi_space {
    aoi_world world; /* first: engines hand it back to aoi_propose and aoi_found */
    aoi_engine *engine;
    aoi_index ids; /* entity slots by id */
    uint32_t entity_count, node_count;
    uint32_t unused_entity, unused_node; /* chains of free slots */
    uint32_t fresh_node;                 /* free too, but not told by aoi_next_freed yet */
    uint32_t everywhere;                 /* chain of the nodes of infinite reach */
    uint32_t pair_nodes;                 /* nodes with a state for each pair */
    bool failed;                         /* failed: memory ran out while gathering */
    bool direct;                         /* what is gathered needs no log: it is put into the queue, which was empty */
    aoi_queue queue;
    aoi_pairs pairs;
    struct {
        aoi_change *items;
        uint32_t cap, count;
        uint32_t added; /* pairs that want a state, not applied yet */
    } log;
    struct {
        uint32_t *items;
        uint32_t cap, count;
    } found; /* what the engine found */
    struct {
        uint32_t entity;
        const double *to;
        bool in_batch;
        const aoi_row *rows; /* of the batch, if everybody stands in it once, else NULL */
        size_t row, row_count;
        uint32_t last, right; /* who moved last, alone; so many were guessed */
    } mover;                  /* whom aoi_propose takes to be moving, and where to */
    aoi_step *steps;
    aoi_row *rows;
    int64_t *ids_out, *nodes_out; /* answers of questions */
    uint32_t step_cap, row_cap, ids_cap, nodes_cap, answer_count;
    uint64_t taken, candidates;
    char why[200];
};

/* A node's area, put together and taken apart. */
static inline aoi_area aoi_node_area(const aoi_space *s, uint32_t node) {
    const aoi_node_record *n = s->world.nodes + node;
    const aoi_extent *x = s->world.extents + node;
    return (aoi_area){
        .radius = x->radius, .keep = x->keep, .mask = n->mask, .shape = n->shape, .silent = n->silent, .tag = n->tag};
}
void aoi_node_set_area(aoi_space *s, uint32_t node, const aoi_area *a);

/* slots and handles */
static inline uint64_t aoi_handle(uint32_t generation, uint32_t slot) {
    return (uint64_t)generation << 32 | (slot + 1);
}
uint32_t aoi_entity_slot(const aoi_space *s, aoi_entity e); /* AOI_NONE: stale or null */
uint32_t aoi_node_slot(const aoi_space *s, aoi_node n);
uint32_t aoi_slot_of_id(const aoi_space *s, int64_t id);
bool aoi_finite(const aoi_space *s, const double *pos);

/* the log; `since` is where the present change began in it */
void aoi_log_add(aoi_space *s, uint32_t node, uint32_t target, int event, int pair);
int aoi_log_ready(aoi_space *s, uint32_t since, bool single);
void aoi_log_apply(aoi_space *s, uint32_t since);
void aoi_log_drop(aoi_space *s, uint32_t since);
bool aoi_log_pairs_ready(aoi_space *s, uint32_t since);
void aoi_log_apply_pairs(aoi_space *s, uint32_t since);
void aoi_log_revert_pairs(aoi_space *s, uint32_t since);
void aoi_log_apply_events(aoi_space *s, uint32_t since);
void aoi_node_release(aoi_space *s, uint32_t node); /* a dead node whose last event is gone */

/* Without the log, for a move where no event waits and no pair has a state: aoi_gather_move may run out of memory half
 * way, so what it has put can be taken back until it is settled. */
int aoi_direct_begin(aoi_space *s);
void aoi_direct_undo(aoi_space *s);
void aoi_direct_settle(aoi_space *s);

/* gathering: what changes for all pairs of one entity or node */
void aoi_gather_move(aoi_space *s, uint32_t entity, const double *from, const double *to);
/* the same for pairs with a state, after a batch in which it moved */
void aoi_gather_settled(aoi_space *s, uint32_t entity);
/* as a target: NULL before it enters or after it leaves, else its kind */
void aoi_gather_target(aoi_space *s, uint32_t entity, const uint64_t *was, const uint64_t *is);
/* its area: NULL before it is added or after it is removed */
void aoi_gather_node(aoi_space *s, uint32_t node, const aoi_area *was, const aoi_area *is);

/* Runs the engine's query into s->found. */
void aoi_find_targets(aoi_space *s, const double *at, double reach);
void aoi_find_watchers(aoi_space *s, uint32_t entity);

void aoi_node_free(aoi_space *s,
                   uint32_t node); /* takes it out of the index; its slot is free once its events are taken */

#endif
