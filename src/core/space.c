/* space.c - the space's life, and that of its entities. */
#include "core/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30 }; /* entities, and nodes, in one space */

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void *default_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    (void)ud, (void)osize;
    if (nsize > 0) return realloc(ptr, nsize);
    free(ptr);
    return NULL;
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
    aoi_memory m = {.alloc = o->alloc ? o->alloc : default_alloc, .ud = o->alloc ? o->alloc_ud : NULL};
    aoi_space *s = aoi_resize(&m, NULL, 0, sizeof *s);
    if (!s) return AOI_ENOMEM;
    *s = (aoi_space){.world = {.memory = m, .dims = o->dimensions ? o->dimensions : 2}};
    s->unused_entity = s->unused_node = s->fresh_node = s->everywhere = AOI_NONE;
    aoi_queue_open(&s->queue);
    aoi_pairs_open(&s->pairs);
    aoi_engine *g = aoi_resize(&s->world.memory, NULL, 0, class->size);
    if (g) {
        memset(g, 0, class->size);
        g->class = class;
        g->world = &s->world;
        if (class->open(g, o->cell) == AOI_OK) {
            s->engine = g;
            *out = s;
            return AOI_OK;
        }
        aoi_resize(&s->world.memory, g, class->size, 0);
    }
    aoi_close(s);
    return AOI_ENOMEM;
}

void aoi_close(aoi_space *s) {
    if (!s) return;
    aoi_memory *m = &s->world.memory;
    if (s->engine) {
        s->engine->class->close(s->engine);
        aoi_resize(m, s->engine, s->engine->class->size, 0);
    }
    aoi_queue_close(m, &s->queue);
    aoi_pairs_close(m, &s->pairs);
    aoi_index_free(m, &s->ids);
    AOI_FREE_LINES(m, s->world.entities, s->world.entity_cap);
    AOI_FREE_LINES(m, s->world.nodes, s->world.node_cap);
    AOI_FREE(m, s->world.extents, s->world.extent_cap);
    AOI_FREE(m, s->log.items, s->log.cap);
    AOI_FREE(m, s->found.items, s->found.cap);
    AOI_FREE(m, s->steps, s->step_cap);
    AOI_FREE(m, s->rows, s->row_cap);
    AOI_FREE(m, s->ids_out, s->ids_cap);
    AOI_FREE(m, s->nodes_out, s->nodes_cap);
    aoi_memory last = *m;
    aoi_resize(&last, s, sizeof *s, 0);
}

/* ---- slots, ids and handles ---------------------------------------------------------------------------------------- */

uint32_t aoi_entity_slot(const aoi_space *s, aoi_entity e) {
    uint32_t slot = (uint32_t)e - 1, generation = (uint32_t)(e >> 32);
    return slot < s->world.entity_top && aoi_alive(generation) && s->world.entities[slot].generation == generation
               ? slot
               : AOI_NONE;
}

/* Ids that follow one another share a line of the index: most hosts go through theirs in some order. */
static inline uint32_t aoi_id_hash(int64_t id) {
    return aoi_hash64((uint64_t)id >> 3) << 3 | (uint32_t)((uint64_t)id & 7);
}

uint32_t aoi_slot_of_id(const aoi_space *s, int64_t id) {
    uint32_t hash = aoi_id_hash(id), at = AOI_SEEK, e;
    while ((e = aoi_index_next(&s->ids, hash, &at)) != AOI_NONE)
        if (s->world.entities[e].id == id) break;
    return e;
}

aoi_entity aoi_find(const aoi_space *s, int64_t id) {
    uint32_t e = aoi_slot_of_id(s, id);
    return e == AOI_NONE ? 0 : aoi_handle(s->world.entities[e].generation, e);
}

bool aoi_finite(const aoi_space *s, const double *pos) {
    return isfinite(pos[0]) && isfinite(pos[1]) && (s->world.dims < 3 || isfinite(pos[2]));
}

static void place(aoi_space *s, uint32_t entity, const double *pos) {
    double *to = s->world.entities[entity].pos;
    to[0] = pos[0];
    to[1] = pos[1];
    if (s->world.dims == 3) to[2] = pos[2];
}

/* ---- one at a time --------------------------------------------------------------------------------------------------- */

/* A record for the entity, in the index of ids, but in nobody's sight yet. */
static uint32_t new_entity(aoi_space *s, int64_t id, const double *pos, uint64_t kind) {
    aoi_world *w = &s->world;
    double at[3] = {pos[0], pos[1], w->dims == 3 ? pos[2] : 0}; /* pos may stand in the pool, which may move */
    uint32_t e = s->unused_entity;
    if (e == AOI_NONE) {
        if (w->entity_top == MOST || !AOI_GROW_LINES(&w->memory, w->entities, w->entity_cap, w->entity_top + (size_t)1))
            return AOI_NONE;
        e = w->entity_top;
        w->entities[e].generation = 0;
        w->entities[e].home = AOI_NONE; /* the end of the chain of unused ones */
    }
    /* half empty: lines of the index that meet are seldom */
    if (!aoi_index_reserve(&w->memory, &s->ids, s->ids.count + s->ids.count / 2 + (size_t)1)) return AOI_NONE;
    aoi_entity_record *r = w->entities + e;
    uint32_t generation = r->generation + 1;
    if (e == w->entity_top) w->entity_top++;
    else s->unused_entity = r->home;
    *r = (aoi_entity_record){.id = id, .kind = kind, .nodes = AOI_NONE, .watched = AOI_NONE, .generation = generation};
    place(s, e, at);
    aoi_index_add(&s->ids, aoi_id_hash(id), e);
    s->entity_count++;
    return e;
}

static void free_entity(aoi_space *s, uint32_t e) {
    aoi_entity_record *r = s->world.entities + e;
    aoi_index_remove(&s->ids, aoi_id_hash(r->id), e);
    s->entity_count--;
    if (++r->generation == 0) return; /* all generations used: the slot retires, or old handles would come alive */
    r->home = s->unused_entity;
    s->unused_entity = e;
}

/* Enters without applying the log: a batch does that at its end. */
static int enter_gathered(aoi_space *s, int64_t id, const double *pos, uint64_t kind, uint32_t *out) {
    uint32_t since = s->log.count, e = new_entity(s, id, pos, kind);
    if (e == AOI_NONE) return AOI_ENOMEM;
    aoi_gather_target(s, e, NULL, &kind);
    if (!aoi_log_pairs_ready(s, since) || s->engine->class->enter(s->engine, e) != AOI_OK) {
        aoi_log_drop(s, since);
        free_entity(s, e);
        return AOI_ENOMEM;
    }
    aoi_log_apply_pairs(s, since);
    *out = e;
    return AOI_OK;
}

int aoi_enter(aoi_space *s, int64_t id, const double *pos, uint64_t kind, aoi_entity *out) {
    if (!aoi_finite(s, pos)) return AOI_EVALUE;
    if (aoi_slot_of_id(s, id) != AOI_NONE) return AOI_EEXIST;
    uint32_t e;
    if (enter_gathered(s, id, pos, kind, &e) != AOI_OK) return AOI_ENOMEM;
    if (!aoi_queue_reserve(&s->world.memory, &s->queue, s->log.count, true)) {
        aoi_log_revert_pairs(s, 0);
        s->engine->class->leave(s->engine, e);
        free_entity(s, e);
        return AOI_ENOMEM;
    }
    aoi_log_apply_events(s, 0);
    s->engine->class->tidy(s->engine);
    if (out) *out = aoi_handle(s->world.entities[e].generation, e);
    return AOI_OK;
}

/* The usual move. */
static int move_directly(aoi_space *s, uint32_t e, const double *from, const double *to) {
    if (aoi_direct_begin(s) != AOI_OK) return AOI_ENOMEM;
    aoi_gather_move(s, e, from, to);
    if (s->failed || s->engine->class->relocate(s->engine, e, from, to) != AOI_OK) {
        aoi_direct_undo(s);
        return AOI_ENOMEM;
    }
    aoi_direct_settle(s);
    return AOI_OK;
}

static int move_logged(aoi_space *s, uint32_t e, const double *from, const double *to) {
    aoi_gather_move(s, e, from, to);
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    if (s->engine->class->relocate(s->engine, e, from, to) != AOI_OK) {
        aoi_log_drop(s, 0);
        return AOI_ENOMEM;
    }
    aoi_log_apply(s, 0);
    return AOI_OK;
}

enum { LARGE = 1 << 12, TRUSTED = 8 }; /* entities whose records no near cache holds; right guesses in a row */

/* Whoever moved after this one the last time; AOI_NONE if that can no longer be. */
static uint32_t follower(const aoi_space *s, uint32_t e) {
    uint32_t next = e != AOI_NONE ? s->world.entities[e].row : AOI_NONE;
    return next < s->world.entity_top && aoi_alive(s->world.entities[next].generation) ? next : AOI_NONE;
}

/* Hosts often go through everybody in the same order, tick by tick.  While that can be told in advance, the memory of
 * those who come next is asked for: in a large crowd a move waits for memory more than for anything else. */
static void foresee(aoi_space *s, uint32_t e) {
    void (*fetch)(const aoi_engine *, uint32_t, bool) = s->engine->class->fetch;
    uint32_t *guess = &s->world.entities[s->mover.last].row;
    s->mover.right = *guess == e ? s->mover.right + (s->mover.right < TRUSTED) : 0;
    *guess = s->mover.last = e;
    if (s->mover.right < TRUSTED || !fetch) return;
    uint32_t next = follower(s, e), second = follower(s, next);
    if (next != AOI_NONE) fetch(s->engine, next, true);
    if (second == AOI_NONE) return;
    fetch(s->engine, second, false);
    uint32_t third = s->world.entities[second].row;
    if (third < s->world.entity_top) AOI_PREFETCH(s->world.entities + third);
}

int aoi_move(aoi_space *s, aoi_entity handle, const double *pos) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_finite(s, pos)) return AOI_EVALUE;
    const double *from = s->world.entities[e].pos;
    if (from[0] != pos[0] || from[1] != pos[1] || (s->world.dims == 3 && from[2] != pos[2])) {
        bool directly = !s->queue.count && !s->pair_nodes;
        if (s->entity_count >= LARGE) foresee(s, e);
        if ((directly ? move_directly : move_logged)(s, e, from, pos) != AOI_OK) return AOI_ENOMEM;
        s->engine->class->tidy(s->engine);
    }
    place(s, e, pos); /* also where only the sign of a zero differs */
    return AOI_OK;
}

int aoi_leave(aoi_space *s, aoi_entity handle) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    aoi_entity_record *r = s->world.entities + e;
    aoi_gather_target(s, e, &r->kind, NULL);
    for (uint32_t n = r->nodes; n != AOI_NONE; n = s->world.nodes[n].next) {
        aoi_area was = aoi_node_area(s, n);
        aoi_gather_node(s, n, &was, NULL);
    }
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    aoi_log_apply(s, 0);
    while (r->nodes != AOI_NONE) {
        uint32_t n = r->nodes;
        r->nodes = s->world.nodes[n].next;
        aoi_node_free(s, n);
    }
    s->engine->class->leave(s->engine, e);
    free_entity(s, e);
    s->engine->class->tidy(s->engine);
    return AOI_OK;
}

int aoi_set_kind(aoi_space *s, aoi_entity handle, uint64_t kind) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    aoi_gather_target(s, e, &s->world.entities[e].kind, &kind);
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    aoi_log_apply(s, 0);
    s->world.entities[e].kind = kind;
    return AOI_OK;
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

aoi_row *aoi_row_buffer(aoi_space *s, size_t n) {
    return AOI_GROW(&s->world.memory, s->rows, s->row_cap, n) ? s->rows : NULL;
}

/* Takes the rows back, last first; cannot fail, since `relocate` keeps its storage within a batch. */
static void unmove(aoi_space *s, size_t n) {
    s->world.undoing = true;
    while (n-- > 0) {
        const aoi_step *st = s->steps + n;
        aoi_log_revert_pairs(s, st->log);
        s->engine->class->relocate(s->engine, st->entity, s->world.entities[st->entity].pos, st->from);
        place(s, st->entity, st->from);
    }
    s->world.undoing = false;
    s->engine->class->tidy(s->engine);
}

static bool move_row(aoi_space *s, aoi_step *st, const double *to) {
    const double *from = s->world.entities[st->entity].pos;
    st->log = s->log.count;
    memcpy(st->from, from, sizeof st->from);
    aoi_gather_move(s, st->entity, from, to);
    if (!aoi_log_pairs_ready(s, st->log) || s->engine->class->relocate(s->engine, st->entity, from, to) != AOI_OK) {
        aoi_log_drop(s, st->log);
        return false;
    }
    aoi_log_apply_pairs(s, st->log);
    place(s, st->entity, to);
    return true;
}

/* Pairs with a state are judged where everybody has arrived, not on the way. */
static bool settle(aoi_space *s, size_t n) {
    for (size_t i = 0; i < n && s->pairs.index.count; i++) {
        uint32_t since = s->log.count;
        aoi_gather_settled(s, s->steps[i].entity);
        if (!aoi_log_pairs_ready(s, since)) return false;
        aoi_log_apply_pairs(s, since);
    }
    return true;
}

enum { AHEAD = 8 }; /* rows for which memory is asked */

typedef struct batch {
    size_t bad;      /* the row that is, and */
    int result;      /* why */
    bool once;       /* nobody stands in two rows */
    bool level;      /* nobody goes up or down */
    double farthest; /* on another axis */
} batch;

static void measure(batch *b, const aoi_step *st, const double *to, int dims) {
    double x = fabs(to[0] - st->from[0]), y = fabs(to[1] - st->from[1]), far = x > y ? x : y;
    b->farthest = far > b->farthest ? far : b->farthest;
    b->level = b->level & (dims < 3 || st->from[2] == to[2]);
}

/* Who moves, and from where; false where a row is bad. */
static bool find_movers(aoi_space *s, const aoi_row *rows, size_t n, batch *b) {
    *b = (batch){.once = true, .level = true};
    for (; b->bad < n; b->bad++) {
        size_t i = b->bad;
        aoi_step *st = s->steps + i;
        if (i + AHEAD < n) aoi_index_fetch(&s->ids, aoi_id_hash(rows[i + AHEAD].id));
        uint32_t e = st->entity = aoi_slot_of_id(s, rows[i].id);
        b->result = e == AOI_NONE ? AOI_EGONE : AOI_EVALUE;
        if (e == AOI_NONE || !aoi_finite(s, rows[i].pos)) return false;
        aoi_entity_record *r = s->world.entities + e;
        b->once = b->once && !(r->row < i && s->steps[r->row].entity == e);
        r->row = (uint32_t)i;
        memcpy(st->from, r->pos, sizeof st->from);
        measure(b, st, rows[i].pos, s->world.dims);
    }
    return true;
}

static void fetch_ahead(const aoi_space *s, size_t i, size_t n, bool soon) {
    void (*fetch)(const aoi_engine *, uint32_t, bool) = s->engine->class->fetch;
    if (i + AHEAD < n) AOI_PREFETCH(s->world.entities + s->steps[i + AHEAD].entity);
    if (fetch && i + AHEAD / 2 < n) fetch(s->engine, s->steps[i + AHEAD / 2].entity, false);
    if (fetch && soon && i + AHEAD / 4 < n) fetch(s->engine, s->steps[i + AHEAD / 4].entity, true);
}

/* One row after the other.  False, and so many moved as `row` tells, when memory is refused. */
static bool move_in_turn(aoi_space *s, const aoi_row *rows, size_t n) {
    bool good = true;
    s->mover.in_batch = true;
    for (; good && s->mover.row < n; s->mover.row += good) {
        fetch_ahead(s, s->mover.row, n, true);
        good = move_row(s, s->steps + s->mover.row, rows[s->mover.row].pos);
    }
    s->mover.in_batch = false;
    return good && settle(s, n);
}

/* The same, but nobody is asked about before all have arrived. */
static bool move_together(aoi_space *s, const aoi_row *rows, size_t n) {
    for (size_t i = 0; i < n; s->mover.row = ++i) {
        aoi_step *st = s->steps + i;
        fetch_ahead(s, i, n, false);
        st->log = s->log.count;
        if (s->engine->class->relocate(s->engine, st->entity, st->from, rows[i].pos) != AOI_OK) return false;
        place(s, st->entity, rows[i].pos);
    }
    return s->engine->class->propose_all(s->engine) && !s->failed;
}

/* Whether to: most move, and the engine would rather see them where they arrive. */
static bool go_together(const aoi_space *s, size_t n, const batch *b) {
    return s->engine->class->joins && b->level && n > 0 && n >= s->entity_count / 2 &&
           s->engine->class->joins(s->engine, b->farthest);
}

int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    batch b;
    if (!AOI_GROW(&s->world.memory, s->steps, s->step_cap, n)) return AOI_ENOMEM;
    bool found = find_movers(s, rows, n, &b);
    if (bad) *bad = b.bad;
    if (!found) return b.result;
    bool directly = b.once && !s->queue.count && !s->pair_nodes;
    if (directly && aoi_direct_begin(s) != AOI_OK) return AOI_ENOMEM;
    s->mover.rows = b.once ? rows : NULL;
    s->mover.row_count = n;
    s->mover.row = 0;
    bool good = directly && go_together(s, n, &b) ? move_together(s, rows, n) : move_in_turn(s, rows, n);
    if (!good || !(directly || aoi_queue_reserve(&s->world.memory, &s->queue, s->log.count, false))) {
        unmove(s, s->mover.row);
        if (directly) aoi_direct_undo(s);
        return AOI_ENOMEM;
    }
    if (directly) aoi_direct_settle(s);
    else aoi_log_apply_events(s, 0);
    s->engine->class->tidy(s->engine);
    return AOI_OK;
}

/* Takes the entered rows out again, last first. */
static void unenter(aoi_space *s, size_t n) {
    while (n-- > 0) {
        aoi_log_revert_pairs(s, s->steps[n].log);
        s->engine->class->leave(s->engine, s->steps[n].entity);
        free_entity(s, s->steps[n].entity);
    }
    s->engine->class->tidy(s->engine);
}

int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    size_t ignored, i;
    if (!bad) bad = &ignored;
    if (!AOI_GROW(&s->world.memory, s->steps, s->step_cap, n)) return AOI_ENOMEM;
    for (*bad = 0; *bad < n; ++*bad) {
        if (aoi_slot_of_id(s, rows[*bad].id) != AOI_NONE) return AOI_EEXIST;
        if (!aoi_finite(s, rows[*bad].pos)) return AOI_EVALUE;
    }
    int result = AOI_OK;
    for (i = 0; i < n && result == AOI_OK; i++) {
        aoi_step *st = s->steps + i;
        st->log = s->log.count;
        if (aoi_slot_of_id(s, rows[i].id) != AOI_NONE) { /* twice in one batch */
            *bad = i;
            result = AOI_EEXIST;
        } else result = enter_gathered(s, rows[i].id, rows[i].pos, kind, &st->entity);
    }
    if (result != AOI_OK) i--; /* the row that failed has left no trace */
    else if (!aoi_queue_reserve(&s->world.memory, &s->queue, s->log.count, false)) result = AOI_ENOMEM;
    if (result != AOI_OK) {
        unenter(s, i);
        return result;
    }
    aoi_log_apply_events(s, 0);
    s->engine->class->tidy(s->engine);
    return AOI_OK;
}

/* ---- events ------------------------------------------------------------------------------------------------------------ */

size_t aoi_pending(const aoi_space *s) {
    return s->queue.count;
}

void aoi_leaves_first(aoi_space *s) {
    aoi_queue_leaves_first(&s->queue);
}

void aoi_keep_order(aoi_space *s) {
    s->queue.placed = s->queue.top;
}

static void read_event(const aoi_space *s, const aoi_waiting *w, aoi_event *out) {
    out->kind = w->kind;
    out->watcher = w->watcher;
    out->target = w->target;
    out->node_id = w->node_id;
    out->slot = w->node;
    out->tag = s->world.nodes[w->node].tag;
    out->last = false;
}

/* True if it was the last of a node that is gone. */
static bool taken(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->world.nodes + node;
    s->taken++;
    if (--n->pending > 0 || aoi_alive(n->generation)) return false;
    if (n->generation != 0) aoi_node_release(s, node); /* 0: it retires */
    return true;
}

bool aoi_next(aoi_space *s, aoi_event *out) {
    if (!s->queue.count) return false;
    read_event(s, aoi_queue_take(&s->queue), out);
    out->last = taken(s, out->slot);
    return true;
}

static void fetch_node(const aoi_space *s, uint32_t event) {
    if (event < s->queue.top) AOI_PREFETCH(s->world.nodes + s->queue.events[event].node);
}

size_t aoi_peek(const aoi_space *s, uint32_t *cursor, aoi_event *out, size_t max) {
    const aoi_queue *q = &s->queue;
    size_t n = 0;
    uint32_t i = *cursor > q->head ? *cursor : q->head;
    for (; n < max && (i = aoi_queue_from(q, i)) < q->top; i++) {
        fetch_node(s, i + AHEAD);
        read_event(s, q->events + i, out + n++);
    }
    *cursor = i;
    return n;
}

void aoi_take_all(aoi_space *s) {
    aoi_queue *q = &s->queue;
    for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        fetch_node(s, i + AHEAD);
        taken(s, q->events[i].node);
    }
    aoi_queue_clear(q);
}
