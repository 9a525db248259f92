/* space.c - opens and closes spaces; enters, moves and removes entities. */
#include "core/space.h"

#include <stdlib.h>
#include <string.h>

/* ---- the library ------------------------------------------------------------------------------------------------- */

const char *aoi_version(void) {
    return AOI_VERSION;
}

const char *aoi_result_text(int result) {
    switch (result) {
    case AOI_OK:
        return "no error";
    case AOI_ENOMEM:
        return "not enough memory";
    case AOI_EGONE:
        return "no such entity or node";
    case AOI_EEXIST:
        return "id is already taken";
    case AOI_EVALUE:
        return "value out of range";
    case AOI_EATTACHED:
        return "it is attached, and moves with its carrier";
    case AOI_ECHAIN:
        return "a chain of carriers is a circle or too long";
    default:
        return "unknown result";
    }
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void *default_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    (void)ud, (void)osize;
    if (nsize > 0) return realloc(ptr, nsize);
    free(ptr);
    return NULL;
}

aoi_memory aoi_memory_from(aoi_alloc alloc, void *ud) {
    return (aoi_memory){.alloc = alloc ? alloc : default_alloc, .ud = alloc ? ud : NULL};
}

static const aoi_engine_class *class_named(const char *name) {
    if (!name) return aoi_engines[0];
    for (int i = 0; aoi_engines[i]; i++)
        if (!strcmp(aoi_engines[i]->name, name)) return aoi_engines[i];
    return NULL;
}

int aoi_open(const aoi_options *o, aoi_space **out) {
    const aoi_engine_class *class = class_named(o->engine);
    if (!class || !(o->dimensions == 0 || o->dimensions == 2 || o->dimensions == 3) || !(o->cell >= 0))
        return AOI_EVALUE;
    aoi_memory m = aoi_memory_from(o->alloc, o->alloc_ud);
    aoi_space *s = aoi_resize(&m, NULL, 0, sizeof *s);
    if (!s) return AOI_ENOMEM;
    *s = (aoi_space){
        .records = {.memory = m, .dims = o->dimensions ? o->dimensions : 2}, .cell = o->cell, .deferred = o->deferred};
    s->records.hash_key = aoi_new_hash_key(s);
    s->unused_entity = s->unused_node = s->freed_node = s->unbounded = AOI_NONE;
    aoi_clear_travel(&s->moves);
    aoi_queue_open(&s->queue);
    aoi_overrides_open(&s->overrides);
    if (aoi_broad_open(&s->index, &s->records, class, o->cell, o->deferred)) {
        *out = s;
        return AOI_OK;
    }
    aoi_close(s);
    return AOI_ENOMEM;
}

/* Frees scratch arrays, which are made again on demand, and the arrays of looks and labels. */
static void free_scratch(aoi_space *s) {
    aoi_records *r = &s->records;
    aoi_memory *m = &r->memory;
    AOI_CLEAR(m, r->candidates, r->candidate_cap);
    AOI_CLEAR(m, r->hits, r->hit_cap);
    AOI_CLEAR(m, s->turned, s->turned_cap);
    AOI_CLEAR(m, s->undo, s->undo_cap);
    AOI_CLEAR(m, s->rows, s->row_cap);
    AOI_CLEAR(m, s->ranked, s->ranked_cap);
    AOI_CLEAR(m, s->ids_out, s->ids_cap);
    AOI_CLEAR(m, s->nodes_out, s->nodes_cap);
    AOI_CLEAR(m, s->times_out, s->times_cap);
    aoi_near_clear(m, &s->near);
    aoi_free_looks(s);
    aoi_labels_free(s);
}

void aoi_close(aoi_space *s) {
    if (!s) return;
    if (s->journal) aoi_log_close(s);
    if (s->plugins) aoi_plugins_free(s->plugins);
    if (s->observers) aoi_observers_detach(s->observers);
    aoi_records *r = &s->records;
    aoi_memory *m = &r->memory;
    aoi_broad_close(&s->index);
    aoi_queue_close(m, &s->queue);
    aoi_hash_index_free(m, &s->kept);
    aoi_hash_index_free(m, &s->reported);
    AOI_FREE(m, s->outside_nodes, s->outside_cap);
    AOI_FREE(m, s->changed, s->changed_cap);
    aoi_overrides_free(m, &s->overrides);
    aoi_node_index_free(m, &s->chains);
    AOI_FREE(m, s->seats, s->seat_cap);
    for (uint32_t n = 0; n < r->node_top; n++)
        if (aoi_is_live(r->nodes[n].generation)) aoi_shape_drop(r, r->areas[n].shape);
    aoi_shapes_free(r);
    aoi_hash_index_free(m, &s->ids);
    AOI_FREE_LINES(m, r->entities, r->entity_cap);
    AOI_FREE_LINES(m, r->nodes, r->node_cap);
    AOI_FREE(m, r->areas, r->area_cap);
    aoi_free_movers(s);
    aoi_crossings_free(s);
    AOI_FREE(m, s->sightings, s->sighting_cap);
    free_scratch(s);
    aoi_memory last = *m;
    aoi_resize(&last, s, sizeof *s, 0);
}

/* ---- slots, ids and handles -------------------------------------------------------------------------------------- */

uint32_t aoi_entity_slot(const aoi_space *s, aoi_entity e) {
    bool live = e.index < s->records.entity_top && aoi_is_live(e.generation) &&
                s->records.entities[e.index].generation == e.generation;
    return live ? e.index : AOI_NONE;
}

uint32_t aoi_slot_of_id(const aoi_space *s, int64_t id) {
    uint32_t hash = aoi_id_hash(&s->records.hash_key, id), at = AOI_SEEK, e;
    while ((e = aoi_hash_index_next(&s->ids, hash, &at)) != AOI_NONE)
        if (s->records.entities[e].id == id) break;
    return e;
}

aoi_entity aoi_find(const aoi_space *s, int64_t id) {
    uint32_t e = aoi_slot_of_id(s, id);
    return e == AOI_NONE ? (aoi_entity){0, 0} : (aoi_entity){e, s->records.entities[e].generation};
}

bool aoi_is_place(const aoi_space *s, const double *pos) {
    return aoi_is_coordinate(pos[0]) && aoi_is_coordinate(pos[1]) && (s->records.dims < 3 || aoi_is_coordinate(pos[2]));
}

/* Makes a record for the entity and adds it to the index of ids only. */
uint32_t aoi_new_entity(aoi_space *s, int64_t id, const double *pos, uint64_t kind) {
    aoi_records *w = &s->records;
    double at[3] = {pos[0], pos[1], w->dims == 3 ? pos[2] : 0}; /* pos may lie in memory that moves */
    uint32_t e = s->unused_entity;
    if (e == AOI_NONE) {
        if (w->entity_top == AOI_MOST_ENTITIES ||
            !AOI_GROW_LINES(&w->memory, w->entities, w->entity_cap, w->entity_top + (size_t)1))
            return AOI_NONE;
        e = w->entity_top;
        w->entities[e].generation = s->entity_generation;
        w->entities[e].home = AOI_NONE; /* the end of the chain of unused ones */
    }
    if (s->crossings.node_count && !aoi_ways_ready(s, e + 1)) return AOI_NONE;
    /* half empty: long runs of slots are rare */
    if (!aoi_hash_index_reserve(&w->memory, &s->ids, s->ids.count + s->ids.count / 2 + (size_t)1)) return AOI_NONE;
    aoi_entity_record *r = w->entities + e;
    uint32_t generation = r->generation + 1;
    if (e == w->entity_top) w->entity_top++;
    else s->unused_entity = r->home;
    *r = (aoi_entity_record){.id = id, .kind = kind, .nodes = AOI_NONE, .mover = AOI_NONE, .generation = generation};
    aoi_place(s, e, at);
    if (s->crossings.node_count && s->deferred) aoi_note_way(s, e, true);
    aoi_hash_index_add(&s->ids, aoi_id_hash(&s->records.hash_key, id), e);
    w->entity_count++;
    return e;
}

void aoi_free_entity(aoi_space *s, uint32_t e) {
    aoi_entity_record *r = s->records.entities + e;
    if (s->plugins) aoi_plugins_left(s->plugins, e);
    aoi_clear_looks(s, e);
    if (s->queue.crosses) aoi_drop_crossings(s, AOI_NONE, e);
    if (s->crossings.way_count && s->crossings.way_of[e] != AOI_NONE) aoi_note_way(s, e, true);
    aoi_hash_index_remove(&s->ids, aoi_id_hash(&s->records.hash_key, r->id), e);
    r->mover = AOI_NONE; /* it may have left in a batch */
    s->records.entity_count--;
    if (++r->generation == 0) return; /* all generations used: the slot retires, or old handles would come alive */
    r->home = s->unused_entity;
    s->unused_entity = e;
}

/* ---- an empty space ---------------------------------------------------------------------------------------------- */

enum { EMPTY_KEEPS = 1024 }; /* records that an empty space keeps */

/* The greater of two even generations, with which new records begin so that old handles stay stale; 0: some slot has
 * retired, or soon may. */
static uint32_t later_generation(uint32_t most, uint32_t generation) {
    if (!most || !generation || generation > UINT32_MAX / 2) return 0;
    return generation > most ? generation : most;
}

static void release_entities(aoi_space *s) {
    aoi_records *r = &s->records;
    uint32_t most = s->entity_generation | 2;
    for (uint32_t e = 0; e < r->entity_top; e++) most = later_generation(most, r->entities[e].generation);
    if (!most) return;
    AOI_FREE_LINES(&r->memory, r->entities, r->entity_cap);
    r->entities = NULL;
    r->entity_cap = r->entity_top = 0;
    s->entity_generation = most;
    s->unused_entity = AOI_NONE;
}

static void release_nodes(aoi_space *s) {
    aoi_records *r = &s->records;
    uint32_t most = s->node_generation | 2;
    for (uint32_t n = 0; n < r->node_top; n++)
        most = later_generation(r->nodes[n].pending ? 0 : most, r->nodes[n].generation);
    if (!most) return;
    AOI_FREE_LINES(&r->memory, r->nodes, r->node_cap);
    AOI_CLEAR(&r->memory, r->areas, r->area_cap);
    r->nodes = NULL;
    r->node_cap = r->node_top = 0;
    s->node_generation = most;
    s->unused_node = AOI_NONE;
}

void aoi_release_storage(aoi_space *s) {
    aoi_records *r = &s->records;
    aoi_memory *m = &r->memory;
    if (r->entity_count || (r->entity_cap <= EMPTY_KEEPS && r->node_cap <= EMPTY_KEEPS)) return;
    aoi_broad_tidy(&s->index);
    if (!s->sighting_count) release_entities(s);
    if (!s->sighting_count && s->freed_node == AOI_NONE) release_nodes(s);
    if (!s->ids.count) aoi_hash_index_free(m, &s->ids);
    if (!r->mover_count) aoi_free_movers(s);
    if (!s->queue.count) aoi_queue_close(m, &s->queue);
    free_scratch(s);
}

/* ---- one at a time ----------------------------------------------------------------------------------------------- */

static int enter_entity(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out) {
    if (!aoi_is_place(s, pos)) return AOI_EVALUE;
    if (aoi_slot_of_id(s, id) != AOI_NONE) return AOI_EEXIST;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_queue_only_new(&s->queue);
    uint32_t e = aoi_new_entity(s, id, pos, kind);
    if (e == AOI_NONE) return AOI_ENOMEM;
    aoi_judge_target(s, e, NULL, &(aoi_looks){kind, AOI_FIRST_LAYER, 0});
    if (s->records.failed || !aoi_broad_enter(&s->index, e)) {
        aoi_rollback(s);
        aoi_free_entity(s, e);
        return AOI_ENOMEM;
    }
    if (s->plugins) aoi_plugins_entered(s->plugins, e);
    aoi_commit(s);
    if (out) *out = (aoi_entity){e, s->records.entities[e].generation};
    return AOI_OK;
}

int aoi_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ENTER, enter_entity(s, id, pos, kind, out), .named = true, .id = id,
                                     .bits = kind, .values = pos});
}

/* Memory for the events is refused after the index has moved the entity: it is put back before the next call. */
static int refuse_move(aoi_space *s, uint32_t e, const double *to) {
    aoi_rollback(s);
    aoi_note_mover(s, e, s->records.entities[e].pos);
    aoi_forget_ways(s);
    aoi_place(s, e, to);
    s->stage = AOI_STAGE_REPAIR;
    s->larges.moved = true;
    return AOI_ENOMEM;
}

/* Adds a mover, to be judged with the others at the next delivery. */
static int note_move(aoi_space *s, uint32_t e, const double *to) {
    if (!aoi_may_note(s) || !aoi_movers_ready(s, s->records.mover_count + (size_t)1)) return AOI_ENOMEM;
    aoi_note_mover(s, e, to);
    return AOI_OK;
}

/* The crossings of a single move, for which the record is at its end. */
static void judge_way(aoi_space *s, uint32_t e, const double *to) {
    const double *at = s->records.entities[e].pos, from[3] = {at[0], at[1], at[2]};
    aoi_note_way(s, e, false);
    aoi_place(s, e, to);
    (void)aoi_judge_crossings(s);
    aoi_place(s, e, from);
}

static int move_entity(aoi_space *s, aoi_entity handle, const double *pos) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_is_place(s, pos)) return AOI_EVALUE;
    double to[3] = {pos[0], pos[1], s->records.dims == 3 ? pos[2] : 0};
    if (aoi_is_attached(s, e)) return AOI_EATTACHED;
    if (aoi_carries(s, e)) return aoi_move_with_passengers(s, e, to);
    if (s->deferred) return note_move(s, e, to);
    if (!aoi_begin(s) || !aoi_movers_ready(s, s->records.mover_count + (size_t)1)) return AOI_ENOMEM;
    if (!aoi_same_place(s->records.dims, s->records.entities[e].pos, to)) {
        if (!aoi_broad_move(&s->index, e, to, true)) {
            s->records.failed = false;
            return AOI_ENOMEM;
        }
        if (!s->records.failed) aoi_judge_move(s, e, to);
        if (s->crossings.node_count && !s->records.failed && !s->crossings.jumping) judge_way(s, e, to);
        if (s->records.failed) return refuse_move(s, e, to);
    }
    aoi_place(s, e, to); /* also where only the sign of a zero differs */
    if (s->plugins) aoi_plugins_moved(s->plugins, e);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_move(aoi_space *s, aoi_entity handle, const double *pos) {
    int result = move_entity(s, handle, pos);
    if (s->journal) aoi_log(s, &(aoi_call){AOI_CALL_MOVE, result, .entity = handle, .values = pos});
    return result;
}

int aoi_jump(aoi_space *s, aoi_entity handle, const double *pos) {
    s->crossings.jumping = true;
    int result = move_entity(s, handle, pos);
    s->crossings.jumping = false;
    return aoi_logged(s, &(aoi_call){AOI_CALL_JUMP, result, .entity = handle, .values = pos});
}

void aoi_judge_leaving(aoi_space *s, uint32_t e) {
    const aoi_entity_record *r = s->records.entities + e;
    aoi_looks was = aoi_looks_of(s, e);
    aoi_judge_target(s, e, &was, NULL);
    for (uint32_t n = r->nodes; n != AOI_NONE; n = s->records.nodes[n].next) {
        aoi_area_state had = aoi_state_of(s, n);
        aoi_judge_node(s, n, &had, NULL);
    }
}

void aoi_remove_entity(aoi_space *s, uint32_t e) {
    aoi_entity_record *r = s->records.entities + e;
    while (r->nodes != AOI_NONE) {
        uint32_t n = r->nodes;
        aoi_chain_remove(&s->records, &s->chains, n);
        aoi_free_node(s, n);
    }
    if (aoi_overrides_count(&s->overrides))
        aoi_overrides_drop(&s->records.memory, &s->overrides, AOI_OVERRIDE_BY_TARGET, e);
    if (s->attached) aoi_unseat(s, e);
    aoi_broad_leave(&s->index, e);
    aoi_free_entity(s, e);
}

static int leave_entity(aoi_space *s, aoi_entity handle, int reason) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (reason < 0 || reason > AOI_MOST_REASON) return AOI_EVALUE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_queue_only_leaves(&s->queue);
    s->because = (uint16_t)(1 + reason);
    aoi_judge_leaving(s, e);
    bool failed = s->records.failed;
    if (failed) aoi_rollback(s);
    else aoi_remove_entity(s, e);
    s->because = 0;
    if (failed) return AOI_ENOMEM;
    aoi_commit(s);
    return AOI_OK;
}

int aoi_leave_because(aoi_space *s, aoi_entity handle, int reason) {
    uint32_t e = s->journal ? aoi_entity_slot(s, handle) : AOI_NONE;
    int64_t id = e == AOI_NONE ? 0 : s->records.entities[e].id; /* its record may be given back */
    return aoi_logged(s, &(aoi_call){reason ? AOI_CALL_LEAVE_BECAUSE : AOI_CALL_LEAVE, leave_entity(s, handle, reason),
                                     .named = e != AOI_NONE, .id = id, .bits = (uint64_t)reason});
}

int aoi_leave(aoi_space *s, aoi_entity handle) {
    return aoi_leave_because(s, handle, 0);
}
