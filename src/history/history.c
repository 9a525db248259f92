/* history.c - see history.h.
 *
 * A tick is recorded in a column that no question reads before the end of the tick.  If memory is refused half way, all
 * entities stay dirty, and the next tick records the column again. */
#include "history/history.h"

#include "core/rule.h"

enum { SLOTS_AHEAD = 12, TRACES_AHEAD = 6 };   /* prefetch distances */
enum { USUAL_SHARE = 8, FEW_JUMPERS = 16 };    /* a usual step is an eighth of a cell's side; one jumper in so many */
enum { HISTORY_MOVED = 1, HISTORY_LOOKS = 2 }; /* why an entity is dirty; it may have entered, too */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static size_t place_bytes(const aoi_history *h) {
    return (size_t)h->plugin.space->records.dims * sizeof(double);
}

/* Makes the column of a tick with room for the position of each row. */
static bool column_ready(aoi_history *h, uint32_t tick, uint32_t rows) {
    aoi_memory *m = aoi_history_memory(h);
    uint32_t k = tick % h->columns;
    return AOI_GROW_FILLED(m, h->ring, h->ring_cap, k + (size_t)1, &(aoi_column){0}) &&
           AOI_GROW(m, h->ring[k].places, h->ring[k].cap, (size_t)rows * (size_t)h->plugin.space->records.dims);
}

/* Gives a trace a row, with its present position at all ticks of the window.  `tick` is the one being recorded. */
static bool give_row(aoi_history *h, uint32_t trace, uint32_t tick) {
    uint32_t row = h->unused_row != AOI_NONE ? h->unused_row : h->row_top;
    if (!AOI_GROW(aoi_history_memory(h), h->rows, h->row_cap, row + (size_t)1)) return false;
    for (uint32_t t = aoi_history_first(h); t <= tick; t++) {
        if (!column_ready(h, t, row + 1)) return false;
        memcpy(aoi_row_place(h, row, t % h->columns), h->traces[trace].rest, place_bytes(h));
    }
    if (row == h->row_top) h->row_top++;
    else h->unused_row = h->rows[row].moved;
    h->rows[row] = (aoi_past_row){trace, tick};
    h->row_count++;
    h->row_of[trace] = row;
    return true;
}

static void take_row(aoi_history *h, uint32_t trace, uint32_t tick) {
    uint32_t row = h->row_of[trace];
    if (row == AOI_NONE) return;
    memcpy(h->traces[trace].rest, aoi_row_place(h, row, tick % h->columns), place_bytes(h));
    h->rows[row] = (aoi_past_row){.trace = AOI_NONE, .moved = h->unused_row};
    h->unused_row = row;
    h->row_of[trace] = AOI_NONE;
    h->row_count--;
}

static void free_rows(aoi_history *h) {
    aoi_memory *m = aoi_history_memory(h);
    for (uint32_t k = 0; k < h->ring_cap; k++) AOI_FREE(m, h->ring[k].places, h->ring[k].cap);
    AOI_CLEAR(m, h->ring, h->ring_cap);
    AOI_CLEAR(m, h->rows, h->row_cap);
    h->row_top = h->row_count = 0;
    h->unused_row = AOI_NONE;
}

/* Moves rows into unused ones before them, and frees the storage behind the last. */
static void pack_rows(aoi_history *h) {
    uint32_t to = 0;
    for (uint32_t row = 0; row < h->row_top; row++) {
        if (h->rows[row].trace == AOI_NONE) continue;
        for (uint32_t k = 0; k < h->ring_cap && to != row; k++)
            if (h->ring[k].places) memcpy(aoi_row_place(h, to, k), aoi_row_place(h, row, k), place_bytes(h));
        h->rows[to] = h->rows[row];
        h->row_of[h->rows[to].trace] = to;
        to++;
    }
    h->row_top = to;
    h->unused_row = AOI_NONE;
    for (uint32_t k = 0; k < h->ring_cap; k++) {
        aoi_column *c = h->ring + k;
        size_t size = to * place_bytes(h);
        double *less = c->places ? aoi_resize(aoi_history_memory(h), c->places, c->cap * sizeof *less, size) : NULL;
        if (less) *c = (aoi_column){less, (uint32_t)(size / sizeof *less)};
    }
}

/* Copies the positions of rows that have not moved; a trace that has not moved for a window gives its row back. */
static void note_standing(aoi_history *h, uint32_t tick) {
    size_t bytes = place_bytes(h);
    uint32_t was = (tick - 1) % h->columns, is = tick % h->columns;
    for (uint32_t row = 0; row < h->row_top; row++) {
        const aoi_past_row *r = h->rows + row;
        if (r->moved == tick || r->trace == AOI_NONE) continue;
        if (tick - r->moved > h->ticks) take_row(h, r->trace, tick - 1);
        else memcpy(aoi_row_place(h, row, is), aoi_row_place(h, row, was), bytes);
    }
    if (!h->row_count) free_rows(h);
    else if (h->row_top > 64 && h->row_count < h->row_top / 4) pack_rows(h);
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

static uint32_t trace_hash(const aoi_history *h, int64_t id) {
    return aoi_id_hash(&h->plugin.space->records.hash_key, id);
}

static bool begin_trace(aoi_history *h, uint32_t entity, uint32_t tick) {
    aoi_memory *m = aoi_history_memory(h);
    const aoi_space *s = h->plugin.space;
    const double *pos = aoi_position_now(s, entity);
    uint32_t t = h->unused_trace != AOI_NONE ? h->unused_trace : h->trace_top;
    if (!AOI_GROW_FILLED(m, h->trace_of, h->trace_of_cap, entity + (size_t)1, &(uint32_t){AOI_NONE}) ||
        !aoi_hash_index_reserve(m, &h->ids, h->trace_count + (size_t)1) ||
        !AOI_GROW(m, h->traces, h->trace_cap, t + (size_t)1) || !AOI_GROW(m, h->row_of, h->row_of_cap, t + (size_t)1))
        return false;
    uint32_t unused = t == h->trace_top ? AOI_NONE : h->traces[t].next;
    h->traces[t] = (aoi_trace){.id = s->records.entities[entity].id,
                               .looks = aoi_looks_of(s, entity),
                               .rest = {pos[0], pos[1], s->records.dims == 3 ? pos[2] : 0},
                               .entered = tick,
                               .left = AOI_NONE,
                               .next = AOI_NONE,
                               .entity = entity};
    h->row_of[t] = AOI_NONE;
    if (t == h->trace_top) h->trace_top++;
    else h->unused_trace = unused;
    aoi_hash_index_add(&h->ids, trace_hash(h, h->traces[t].id), t);
    h->large_count += h->traces[t].looks.extent != 0;
    h->trace_count++;
    h->trace_of[entity] = t;
    return true;
}

/* Ends the trace at that tick; it is kept until the window has passed. */
static void end_trace(aoi_history *h, uint32_t entity, uint32_t tick) {
    uint32_t t = h->trace_of[entity];
    h->traces[t].left = tick;
    if (h->first_ended == AOI_NONE) h->first_ended = t;
    else h->traces[h->last_ended].next = t;
    h->last_ended = t;
    h->trace_of[entity] = AOI_NONE;
    h->traces[t].entity = AOI_NONE;
}

static void forget_traces(aoi_history *h, uint32_t first) {
    while (h->first_ended != AOI_NONE && h->traces[h->first_ended].left <= first) {
        uint32_t t = h->first_ended;
        aoi_trace *trace = h->traces + t;
        h->first_ended = trace->next;
        take_row(h, t, h->now);
        aoi_hash_index_remove(&h->ids, trace_hash(h, trace->id), t);
        h->large_count -= trace->looks.extent != 0;
        trace->next = h->unused_trace;
        trace->entered = trace->left = AOI_NONE;
        h->unused_trace = t;
        h->trace_count--;
    }
}

/* ---- noting ------------------------------------------------------------------------------------------------------ */

static void became_dirty(aoi_history *h, uint32_t entity, uint8_t why) {
    aoi_memory *m = aoi_history_memory(h);
    if (!AOI_GROW_FILLED(m, h->is_dirty, h->is_dirty_cap, entity + (size_t)1, &(uint8_t){0}) ||
        !AOI_GROW(m, h->dirty, h->dirty_cap, h->dirty_count + (size_t)1)) {
        h->all_dirty = true;
        return;
    }
    if (!h->is_dirty[entity]) h->dirty[h->dirty_count++] = entity;
    h->is_dirty[entity] |= why;
}

/* Lists a trace as a jumper.  Where memory is refused all counts as a step. */
static void note_jump(aoi_history *h, uint32_t trace) {
    aoi_trace *t = h->traces + trace;
    if (!t->jumped && !AOI_GROW(aoi_history_memory(h), h->jumpers, h->jumper_cap, h->jumper_count + (size_t)1)) {
        h->step = INFINITY;
        return;
    }
    if (!t->jumped) h->jumpers[h->jumper_count++] = trace;
    t->jumped = h->now + 1;
}

static void entity_moved(aoi_plugin *plugin, uint32_t entity) {
    aoi_history *h = (aoi_history *)plugin;
    if (entity >= h->is_dirty_cap || !h->is_dirty[entity]) became_dirty(h, entity, HISTORY_MOVED);
    const uint32_t t = entity < h->trace_of_cap ? h->trace_of[entity] : AOI_NONE;
    if (t == AOI_NONE) return;
    const double step = aoi_chebyshev(2, aoi_position_now(h->plugin.space, entity), aoi_trace_place(h, t, h->now));
    if (!(step > h->step)) return;
    if (step <= h->usual) h->step = step;
    else note_jump(h, t);
}

/* With another extent the grid finds it in other boxes. */
static void looks_changed(aoi_plugin *plugin, uint32_t entity) {
    aoi_history *h = (aoi_history *)plugin;
    became_dirty(h, entity, HISTORY_LOOKS);
    if (entity < h->trace_of_cap && h->trace_of[entity] != AOI_NONE) note_jump(h, h->trace_of[entity]);
}

static void entity_left(aoi_plugin *plugin, uint32_t entity) {
    aoi_history *h = (aoi_history *)plugin;
    if (entity < h->trace_of_cap && h->trace_of[entity] != AOI_NONE) end_trace(h, entity, h->now + 1);
}

static bool same_looks(const aoi_looks *a, const aoi_looks *b) {
    return a->kind == b->kind && a->layers == b->layers && a->extent == b->extent;
}

/* Records an entity after any change, or one that has only moved. */
static bool note_entity(aoi_history *h, uint32_t entity, uint32_t tick, int why) {
    const aoi_space *s = h->plugin.space;
    if (entity >= s->records.entity_top || !aoi_is_live(s->records.entities[entity].generation)) return true;
    const aoi_looks looks = why & HISTORY_LOOKS ? aoi_looks_of(s, entity) : (aoi_looks){0};
    uint32_t t = entity < h->trace_of_cap ? h->trace_of[entity] : AOI_NONE;
    if (t != AOI_NONE && why & HISTORY_LOOKS && !same_looks(&looks, &h->traces[t].looks)) {
        end_trace(h, entity, tick);
        t = AOI_NONE;
    }
    if (t == AOI_NONE) return begin_trace(h, entity, tick);
    const double *pos = aoi_position_now(s, entity);
    if (h->row_of[t] == AOI_NONE && memcmp(pos, h->traces[t].rest, place_bytes(h)) != 0 && !give_row(h, t, tick))
        return false;
    if (h->row_of[t] != AOI_NONE) {
        memcpy(aoi_row_place(h, h->row_of[t], tick % h->columns), pos, place_bytes(h));
        h->rows[h->row_of[t]].moved = tick;
    }
    return true;
}

static bool note_movers(aoi_history *h, uint32_t tick) {
    const uint32_t *dirty = h->dirty, count = h->dirty_count;
    for (uint32_t i = 0; i < count; i++) {
        if (i + SLOTS_AHEAD < count) AOI_PREFETCH(h->plugin.space->records.entities + dirty[i + SLOTS_AHEAD]);
        if (!note_entity(h, dirty[i], tick, h->is_dirty[dirty[i]])) return false;
        h->is_dirty[dirty[i]] = 0;
    }
    return true;
}

/* Records all entities, again those that an attempt without enough memory has recorded. */
static bool note_all(aoi_history *h, uint32_t tick) {
    for (uint32_t e = 0; e < h->plugin.space->records.entity_top; e++)
        if (!note_entity(h, e, tick, HISTORY_LOOKS)) return false;
    if (h->is_dirty) memset(h->is_dirty, 0, h->is_dirty_cap);
    return true;
}

/* Forgets jumps before the window, and chooses what is a jump from now on: what few entities do. */
static void sift_jumpers(aoi_history *h) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->jumper_count; i++) {
        aoi_trace *t = h->traces + h->jumpers[i];
        if (t->left == AOI_NONE && t->jumped > aoi_history_first(h)) h->jumpers[kept++] = h->jumpers[i];
        else t->jumped = 0;
    }
    h->jumper_count = kept;
    const double least = h->plugin.space->index.grid.points.side / USUAL_SHARE;
    h->usual = fmax(least, kept > h->trace_count / FEW_JUMPERS ? 2 * h->usual : h->usual * (1 - 1.0 / FEW_JUMPERS));
}

int aoi_history_tick(aoi_history *h) {
    uint32_t tick = h->now + 1;
    if (tick == AOI_NONE || (h->row_top && !column_ready(h, tick, h->row_top))) return AOI_ENOMEM;
    if (!AOI_GROW(aoi_history_memory(h), h->steps, h->step_cap, tick % h->columns + (size_t)1)) return AOI_ENOMEM;
    bool noted = h->all_dirty ? note_all(h, tick) : note_movers(h, tick);
    h->all_dirty = !noted;
    h->dirty_count = 0;
    if (!noted) return AOI_ENOMEM;
    note_standing(h, tick);
    h->now = tick;
    h->steps[tick % h->columns] = h->step;
    h->step = 0;
    sift_jumpers(h);
    forget_traces(h, aoi_history_first(h));
    return AOI_OK;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

int aoi_history_position(const aoi_history *h, uint32_t ago, int64_t id, double *pos) {
    uint32_t hash = trace_hash(h, id), at = AOI_SEEK, t;
    if (ago > h->ticks) return AOI_EVALUE;
    if (ago > h->now) return AOI_EGONE;
    while ((t = aoi_hash_index_next(&h->ids, hash, &at)) != AOI_NONE)
        if (h->traces[t].id == id && aoi_trace_was(h->traces + t, h->now - ago)) break;
    if (t == AOI_NONE) return AOI_EGONE;
    const double *place = aoi_trace_place(h, t, h->now - ago);
    for (int a = 0; a < h->plugin.space->records.dims; a++) pos[a] = place[a];
    return AOI_OK;
}

/* Sets the hits to the traces of that tick that may be within reach of a place, and maybe others. */
static void find_traces(aoi_history *h, uint32_t tick, const double *at, double reach) {
    aoi_records *r = &h->plugin.space->records;
    uint32_t count = 0;
    for (uint32_t t = tick + 1; t <= h->now; t++) reach += h->steps[t % h->columns] * (1 + 0x1p-20);
    reach += h->step * (1 + 0x1p-20);
    aoi_find_targets(h->plugin.space, at, (const double[2]){reach, reach});
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const uint32_t e = r->hits[i], ahead = r->hits[i + SLOTS_AHEAD < r->hit_count ? i + SLOTS_AHEAD : i];
        const uint32_t t = e < h->trace_of_cap ? h->trace_of[e] : AOI_NONE;
        if (ahead < h->trace_of_cap)
            AOI_PREFETCH(h->trace_of + ahead); /* who entered since the tick may have no place */
        if (t != AOI_NONE && h->traces[t].jumped <= tick) r->hits[count++] = t;
    }
    r->hit_count = count;
    for (uint32_t i = 0; i < h->jumper_count; i++)
        if (h->traces[h->jumpers[i]].jumped > tick && h->traces[h->jumpers[i]].left == AOI_NONE)
            aoi_add_hit(r, h->jumpers[i]);
    for (uint32_t t = h->first_ended; t != AOI_NONE; t = h->traces[t].next)
        if (aoi_trace_was(h->traces + t, tick)) aoi_add_hit(r, t);
}

/* Prefetches for hits some positions after the i-th. */
static inline void fetch_ahead(const aoi_history *h, uint32_t tick, uint32_t i) {
    const aoi_records *r = &h->plugin.space->records;
    if (i + SLOTS_AHEAD < r->hit_count) AOI_PREFETCH(h->row_of + r->hits[i + SLOTS_AHEAD]);
    if (i + TRACES_AHEAD >= r->hit_count) return;
    AOI_PREFETCH(aoi_trace_place(h, r->hits[i + TRACES_AHEAD], tick));
    AOI_PREFETCH(h->traces + r->hits[i + TRACES_AHEAD]);
}

int aoi_history_near(aoi_history *h, uint32_t ago, const double *pos, const aoi_area *area, const int64_t **ids,
                     size_t *count) {
    aoi_space *s = h->plugin.space;
    aoi_records *r = &s->records;
    aoi_area_state is;
    size_t n = 0;
    if (ago > h->ticks || !aoi_is_place(s, pos) || aoi_area_fault(r->dims, area) || area->outside) return AOI_EVALUE;
    if (!aoi_settle(s) || !aoi_area_borrow(r, area, &is)) return AOI_ENOMEM;
    double at[3] = {pos[0], pos[1], r->dims == 3 ? pos[2] : 0};
    double reach = is.area.shape ? fmax(is.reach[0], is.reach[1]) : aoi_outer_extent(is.shape, is.area.radius);
    r->hit_count = 0;
    if (ago <= h->now) find_traces(h, h->now - ago, at, reach);
    if (!aoi_answer_ready(s, r->hit_count, false)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        fetch_ahead(h, h->now - ago, i);
        uint32_t t = r->hits[i];
        const aoi_trace *trace = h->traces + t;
        double extent = h->large_count && !is.fixed ? trace->looks.extent : 0;
        const double *place = aoi_trace_place(h, t, h->now - ago);
        if (!aoi_trace_was(trace, h->now - ago)) continue;
        if (aoi_zone_grown(r->dims, is.shape, &is.area, at, place, extent) != AOI_INSIDE) continue;
        bool counts = (!is.mask || (trace->looks.kind & is.mask)) && (!is.layered || (trace->looks.layers & is.layers));
        s->ids_out[n] = trace->id;
        n += counts;
    }
    s->answer_count = (uint32_t)n;
    return aoi_give(s, ids, count);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void free_history(aoi_plugin *plugin) {
    aoi_history *h = (aoi_history *)plugin;
    aoi_memory *m = aoi_history_memory(h);
    free_rows(h);
    AOI_FREE(m, h->steps, h->step_cap);
    AOI_FREE(m, h->jumpers, h->jumper_cap);
    aoi_hash_index_free(m, &h->ids);
    AOI_FREE(m, h->traces, h->trace_cap);
    AOI_FREE(m, h->row_of, h->row_of_cap);
    AOI_FREE(m, h->trace_of, h->trace_of_cap);
    AOI_FREE(m, h->is_dirty, h->is_dirty_cap);
    AOI_FREE(m, h->dirty, h->dirty_cap);
    aoi_resize(m, h, sizeof *h, 0);
}

/* Whether every entity that is no jumper has gone no farther than the steps since any tick of the window. */
static const char *check_steps(const aoi_history *h) {
    const aoi_space *s = h->plugin.space;
    for (uint32_t t = 0; t < h->trace_top && !h->all_dirty; t++) {
        const aoi_trace *trace = h->traces + t;
        double way = h->step;
        if (trace->entity == AOI_NONE) continue;
        for (uint32_t tick = h->now; tick >= trace->entered && tick >= trace->jumped; tick--) {
            const double *was = aoi_trace_place(h, t, tick), *is = aoi_position_now(s, trace->entity);
            if (aoi_chebyshev(2, was, is) > way * (1 + 0x1p-20)) return "a step of a history is too short";
            if (tick == aoi_history_first(h)) break;
            way += h->steps[tick % h->columns];
        }
    }
    return NULL;
}

static const char *check_history(const aoi_plugin *plugin) {
    const aoi_history *h = (const aoi_history *)plugin;
    const aoi_records *r = &h->plugin.space->records;
    for (uint32_t e = 0; e < r->entity_top; e++) {
        if (!aoi_is_live(r->entities[e].generation) || h->all_dirty) continue;
        bool is_dirty = e < h->is_dirty_cap && h->is_dirty[e];
        uint32_t t = e < h->trace_of_cap ? h->trace_of[e] : AOI_NONE;
        if (t == AOI_NONE ? !is_dirty : h->traces[t].id != r->entities[e].id)
            return "an entity has no trace of its own";
        const double *pos = aoi_position_now(h->plugin.space, e);
        if (!is_dirty && memcmp(pos, aoi_trace_place(h, t, h->now), place_bytes(h)) != 0)
            return "a move has not been noted";
    }
    return check_steps(h);
}

static const aoi_plugin_class history_class = {.entered = looks_changed,
                                               .moved = entity_moved,
                                               .looked = looks_changed,
                                               .left = entity_left,
                                               .free = free_history,
                                               .check = check_history};

int aoi_history_open(aoi_space *s, uint32_t ticks, aoi_history **out) {
    if (!ticks || ticks > AOI_MOST_TICKS) return AOI_EVALUE;
    aoi_history *h = aoi_resize(&s->records.memory, NULL, 0, sizeof *h);
    if (!h) return AOI_ENOMEM;
    *h = (aoi_history){.ticks = ticks, .columns = ticks + 2, .all_dirty = true};
    h->unused_trace = h->unused_row = h->first_ended = AOI_NONE;
    aoi_plugin_open(s, &h->plugin, &history_class);
    if (!note_all(h, 0)) {
        aoi_history_close(h);
        return AOI_ENOMEM;
    }
    h->all_dirty = false;
    sift_jumpers(h);
    *out = h;
    return AOI_OK;
}

void aoi_history_close(aoi_history *h) {
    if (!h) return;
    aoi_plugin_close(&h->plugin);
    free_history(&h->plugin);
}
