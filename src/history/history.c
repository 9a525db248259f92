/* history.c - notes tick by tick, and answers; see history.h.
 *
 * A tick is noted in a column that no question reads before it is over: where memory is refused half way the next one
 * notes it again, all that is dirty still being so. */
#include "history/history.h"

#include "core/rule.h"

enum { SLOTS_AHEAD = 8 };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static size_t numbers_of_row(const aoi_history *h) {
    return (size_t)h->columns * (size_t)h->layer.space->world.dims;
}

static inline double *place_in_row(const aoi_history *h, uint32_t row, uint32_t tick) {
    return h->places + row * numbers_of_row(h) + tick % h->columns * (size_t)h->layer.space->world.dims;
}

/* In which it has stood where it stands since ever. */
static bool give_row(aoi_history *h, aoi_trace *t) {
    aoi_memory *m = aoi_history_memory(h);
    uint32_t row = h->row_top;
    if (h->unused_row != AOI_NONE) row = h->unused_row;
    else if (!AOI_GROW(m, h->row_trace, h->row_trace_cap, row + (size_t)1) ||
             !AOI_GROW(m, h->row_moved, h->row_moved_cap, row + (size_t)1) ||
             !AOI_GROW(m, h->places, h->place_cap, (row + (size_t)1) * numbers_of_row(h)))
        return false;
    if (row == h->row_top) h->row_top++;
    else h->unused_row = h->row_moved[row];
    for (uint32_t k = 0; k < h->columns; k++)
        memcpy(place_in_row(h, row, k), t->pos, (size_t)h->layer.space->world.dims * sizeof *t->pos);
    h->row_trace[row] = (uint32_t)(t - h->traces);
    h->row_count++;
    t->row = row;
    return true;
}

static void take_row(aoi_history *h, aoi_trace *t) {
    if (t->row == AOI_NONE) return;
    h->row_trace[t->row] = AOI_NONE;
    h->row_moved[t->row] = h->unused_row;
    h->unused_row = t->row;
    t->row = AOI_NONE;
    h->row_count--;
}

static void free_rows(aoi_history *h) {
    aoi_memory *m = aoi_history_memory(h);
    AOI_CLEAR(m, h->row_trace, h->row_trace_cap);
    AOI_CLEAR(m, h->row_moved, h->row_moved_cap);
    AOI_CLEAR(m, h->places, h->place_cap);
    h->row_top = h->row_count = 0;
    h->unused_row = AOI_NONE;
}

/* Those at the end take the unused ones, and the storage behind them is given back. */
static void pack_rows(aoi_history *h) {
    size_t size = numbers_of_row(h);
    uint32_t to = 0;
    for (uint32_t row = 0; row < h->row_top; row++) {
        if (h->row_trace[row] == AOI_NONE) continue;
        if (to != row) memcpy(h->places + to * size, h->places + row * size, size * sizeof *h->places);
        h->row_trace[to] = h->row_trace[row];
        h->row_moved[to] = h->row_moved[row];
        h->traces[h->row_trace[to]].row = to;
        to++;
    }
    h->row_top = to;
    h->unused_row = AOI_NONE;
    double *less = aoi_resize(aoi_history_memory(h), h->places, h->place_cap * sizeof *less, to * size * sizeof *less);
    if (!less) return; /* it stands as it was */
    h->places = less;
    h->place_cap = (uint32_t)(to * size);
}

/* The others stand where they stood; what has stood for as long as is asked about needs no row. */
static void note_rows(aoi_history *h, uint32_t tick) {
    size_t bytes = (size_t)h->layer.space->world.dims * sizeof *h->places;
    for (uint32_t row = 0; row < h->row_top; row++) {
        if (h->row_trace[row] == AOI_NONE || h->row_moved[row] == tick) continue;
        if (tick - h->row_moved[row] > h->ticks) take_row(h, h->traces + h->row_trace[row]);
        else memcpy(place_in_row(h, row, tick), place_in_row(h, row, tick - 1), bytes);
    }
    if (!h->row_count) free_rows(h);
    else if (h->row_top > 64 && h->row_count < h->row_top / 4) pack_rows(h);
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

static bool begin_trace(aoi_history *h, uint32_t entity, uint32_t tick) {
    aoi_memory *m = aoi_history_memory(h);
    const aoi_entity_record *e = h->layer.space->world.entities + entity;
    const double *pos = aoi_position_now(h->layer.space, entity);
    uint32_t had = h->trace_of_cap, t = h->unused_trace;
    if (!AOI_GROW(m, h->trace_of, h->trace_of_cap, entity + (size_t)1)) return false;
    for (uint32_t k = had; k < h->trace_of_cap; k++) h->trace_of[k] = AOI_NONE;
    if (!aoi_index_reserve(m, &h->ids, h->trace_count + (size_t)1)) return false;
    if (aoi_is_large(h->layer.space, entity) && !AOI_GROW(m, h->larges, h->large_cap, h->large_count + (size_t)1))
        return false;
    if (t == AOI_NONE && !AOI_GROW(m, h->traces, h->trace_cap, h->trace_top + (size_t)1)) return false;
    if (t == AOI_NONE) t = h->trace_top;
    uint32_t unused = t == h->trace_top ? AOI_NONE : h->traces[t].next;
    h->traces[t] = (aoi_trace){.id = e->id,
                               .looks = aoi_looks_of(h->layer.space, entity),
                               .pos = {pos[0], pos[1], h->layer.space->world.dims == 3 ? pos[2] : 0},
                               .entered = tick,
                               .left = AOI_NONE,
                               .row = AOI_NONE,
                               .stay = AOI_NONE,
                               .next = AOI_NONE};
    if (!aoi_past_put(h, t, pos, tick)) {
        h->traces[t].next = unused;
        return false;
    }
    if (t == h->trace_top) h->trace_top++;
    else h->unused_trace = unused;
    aoi_index_add(&h->ids, aoi_hash64((uint64_t)e->id), t);
    if (h->traces[t].looks.extent > 0) h->larges[h->large_count++] = t;
    h->trace_count++;
    h->trace_of[entity] = t;
    return true;
}

/* It is not there as of that tick; until the window has passed it remains. */
static void end_trace(aoi_history *h, uint32_t entity, uint32_t tick) {
    uint32_t t = h->trace_of[entity];
    h->traces[t].left = tick;
    if (h->ended.first == AOI_NONE) h->ended.first = t;
    else h->traces[h->ended.last].next = t;
    h->ended.last = t;
    h->trace_of[entity] = AOI_NONE;
    aoi_past_end(h, t, tick);
}

static void forget_traces(aoi_history *h, uint32_t first) {
    while (h->ended.first != AOI_NONE && h->traces[h->ended.first].left <= first) {
        uint32_t t = h->ended.first;
        aoi_trace *trace = h->traces + t;
        h->ended.first = trace->next;
        take_row(h, trace);
        for (uint32_t i = 0; i < h->large_count && trace->looks.extent > 0; i++)
            if (h->larges[i] == t) h->larges[i] = h->larges[--h->large_count];
        aoi_index_remove(&h->ids, aoi_hash64((uint64_t)trace->id), t);
        trace->next = h->unused_trace;
        trace->entered = trace->left = AOI_NONE;
        h->unused_trace = t;
        h->trace_count--;
    }
}

/* ---- noting ------------------------------------------------------------------------------------------------------ */

static void became_dirty(aoi_layer *layer, uint32_t entity) {
    aoi_history *h = (aoi_history *)layer;
    aoi_memory *m = aoi_history_memory(h);
    uint32_t had = h->is_dirty_cap;
    if (entity < had && h->is_dirty[entity]) return;
    if (!AOI_GROW(m, h->is_dirty, h->is_dirty_cap, entity + (size_t)1) ||
        !AOI_GROW(m, h->dirty, h->dirty_cap, h->dirty_count + (size_t)1)) {
        h->all_dirty = true;
        return;
    }
    if (h->is_dirty_cap > had) memset(h->is_dirty + had, 0, h->is_dirty_cap - had);
    h->is_dirty[entity] = 1;
    h->dirty[h->dirty_count++] = entity;
}

static void entity_left(aoi_layer *layer, uint32_t entity) {
    aoi_history *h = (aoi_history *)layer;
    if (entity < h->trace_of_cap && h->trace_of[entity] != AOI_NONE) end_trace(h, entity, h->now + 1);
}

static bool same_looks(const aoi_space *s, uint32_t entity, const aoi_looks *looks) {
    aoi_looks now = aoi_looks_of(s, entity);
    return now.kind == looks->kind && now.layers == looks->layers && now.extent == looks->extent;
}

static bool note_entity(aoi_history *h, uint32_t entity, uint32_t tick) {
    const aoi_space *s = h->layer.space;
    const aoi_world *w = &s->world;
    if (entity >= w->entity_top || !aoi_is_live(w->entities[entity].generation)) return true;
    uint32_t number = entity < h->trace_of_cap ? h->trace_of[entity] : AOI_NONE;
    if (number != AOI_NONE && !same_looks(s, entity, &h->traces[number].looks)) {
        end_trace(h, entity, tick);
        number = AOI_NONE;
    }
    if (number == AOI_NONE) return begin_trace(h, entity, tick);
    aoi_trace *t = h->traces + number;
    const double *pos = aoi_position_now(s, entity);
    size_t bytes = (size_t)w->dims * sizeof *pos;
    if (t->row == AOI_NONE) {
        if (!memcmp(pos, t->pos, bytes)) return true;
        if (!give_row(h, t)) return false;
    }
    if (!aoi_past_put(h, number, pos, tick)) return false;
    memcpy(t->pos, pos, bytes);
    memcpy(place_in_row(h, t->row, tick), pos, bytes);
    h->row_moved[t->row] = tick;
    return true;
}

static bool note_all(aoi_history *h, uint32_t tick) {
    const aoi_world *w = &h->layer.space->world;
    if (h->all_dirty) {
        for (uint32_t e = 0; e < w->entity_top; e++)
            if (!note_entity(h, e, tick)) return false;
        return true;
    }
    for (uint32_t i = 0; i < h->dirty_count; i++) {
        if (i + SLOTS_AHEAD < h->dirty_count) AOI_PREFETCH(w->entities + h->dirty[i + SLOTS_AHEAD]);
        if (!note_entity(h, h->dirty[i], tick)) return false;
    }
    return true;
}

int aoi_history_tick(aoi_history *h) {
    uint32_t tick = h->now + 1;
    if (tick == AOI_NONE || !note_all(h, tick)) return AOI_ENOMEM;
    note_rows(h, tick);
    for (uint32_t i = 0; i < h->dirty_count; i++) h->is_dirty[h->dirty[i]] = 0;
    h->dirty_count = 0;
    h->all_dirty = false;
    h->now = tick;
    aoi_past_forget(h, aoi_history_first(h));
    forget_traces(h, aoi_history_first(h));
    return AOI_OK;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

int aoi_history_position(const aoi_history *h, uint32_t ago, int64_t id, double *pos) {
    uint32_t hash = aoi_hash64((uint64_t)id), at = AOI_SEEK, t;
    if (ago > h->ticks) return AOI_EVALUE;
    if (ago > h->now) return AOI_EGONE;
    while ((t = aoi_index_next(&h->ids, hash, &at)) != AOI_NONE)
        if (h->traces[t].id == id && aoi_trace_was(h->traces + t, h->now - ago)) break;
    if (t == AOI_NONE) return AOI_EGONE;
    const double *place = aoi_trace_place(h, h->traces + t, h->now - ago);
    for (int a = 0; a < h->layer.space->world.dims; a++) pos[a] = place[a];
    return AOI_OK;
}

static inline bool is_inside(int dims, const aoi_area_state *is, const double *at, const double *t, double extent) {
    if (is->shape == AOI_SQUARE) return aoi_in_box(dims, at, t, is->area.radius + extent);
    if (is->shape == AOI_CIRCLE) return aoi_in_ball(dims, at, t, is->area.radius + extent);
    return aoi_shape_holds(dims, is->shape, &is->area, at, t, 0, extent);
}

int aoi_history_near(aoi_history *h, uint32_t ago, const double *pos, const aoi_area *area, const int64_t **ids,
                     size_t *count) {
    aoi_space *s = h->layer.space;
    aoi_world *w = &s->world;
    aoi_area_state is;
    size_t n = 0;
    if (ago > h->ticks || !aoi_finite(s, pos) || aoi_area_fault(w->dims, area)) return AOI_EVALUE;
    if (!aoi_area_borrow(&w->memory, &s->scratch, w->dims, area, &is)) return AOI_ENOMEM;
    double at[3] = {pos[0], pos[1], w->dims == 3 ? pos[2] : 0};
    double reach = is.area.shape ? fmax(is.reach[0], is.reach[1]) : aoi_outer_extent(is.shape, is.area.radius);
    w->hit_count = 0;
    bool found = ago > h->now || aoi_past_find(h, h->now - ago, at, reach);
    if (!found || w->failed || !AOI_GROW(&w->memory, s->ids_out, s->ids_cap, w->hit_count)) {
        w->failed = false;
        return AOI_ENOMEM;
    }
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_trace *t = h->traces + w->hits[i];
        const double *place = aoi_trace_place(h, t, h->now - ago);
        bool counts = (!is.mask || (t->looks.kind & is.mask)) && (!is.layered || (t->looks.layers & is.layers));
        s->ids_out[n] = t->id;
        n += counts && is_inside(w->dims, &is, at, place, t->looks.extent);
    }
    *ids = s->ids_out;
    *count = n;
    return AOI_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void free_history(aoi_layer *layer) {
    aoi_history *h = (aoi_history *)layer;
    aoi_memory *m = aoi_history_memory(h);
    free_rows(h);
    aoi_past_free(h);
    aoi_index_free(m, &h->ids);
    AOI_FREE(m, h->traces, h->trace_cap);
    AOI_FREE(m, h->larges, h->large_cap);
    AOI_FREE(m, h->trace_of, h->trace_of_cap);
    AOI_FREE(m, h->is_dirty, h->is_dirty_cap);
    AOI_FREE(m, h->dirty, h->dirty_cap);
    aoi_resize(m, h, sizeof *h, 0);
}

static const char *check_history(const aoi_layer *layer) {
    const aoi_history *h = (const aoi_history *)layer;
    const aoi_world *w = &h->layer.space->world;
    uint32_t rows = 0, traces = 0;
    for (uint32_t t = 0; t < h->trace_top; t++) {
        const aoi_trace *trace = h->traces + t;
        if (trace->entered == AOI_NONE) continue;
        traces++;
        if (trace->entered > trace->left) return "a trace ends before it begins";
        if (trace->row == AOI_NONE) continue;
        if (trace->row >= h->row_top || h->row_trace[trace->row] != t) return "a trace has the row of another";
        rows++;
    }
    for (uint32_t e = 0; e < w->entity_top; e++) {
        if (!aoi_is_live(w->entities[e].generation) || h->all_dirty) continue;
        bool is_dirty = e < h->is_dirty_cap && h->is_dirty[e];
        uint32_t t = e < h->trace_of_cap ? h->trace_of[e] : AOI_NONE;
        if (t == AOI_NONE ? !is_dirty : h->traces[t].id != w->entities[e].id)
            return "an entity has no trace of its own";
        const double *pos = aoi_position_now(h->layer.space, e);
        if (!is_dirty && memcmp(pos, h->traces[t].pos, (size_t)w->dims * sizeof *pos) != 0)
            return "a move has not been noted";
    }
    if (rows != h->row_count || traces != h->trace_count) return "rows or traces are counted wrongly";
    return aoi_past_check(h);
}

static const aoi_layer_class history_class = {.entered = became_dirty,
                                              .moved = became_dirty,
                                              .touched = became_dirty,
                                              .left = entity_left,
                                              .free = free_history,
                                              .check = check_history};

int aoi_history_open(aoi_space *s, uint32_t ticks, aoi_history **out) {
    if (!ticks || ticks > AOI_MOST_TICKS) return AOI_EVALUE;
    aoi_history *h = aoi_resize(&s->world.memory, NULL, 0, sizeof *h);
    if (!h) return AOI_ENOMEM;
    *h = (aoi_history){.ticks = ticks, .columns = ticks + 2, .all_dirty = true};
    h->unused_trace = h->unused_row = h->unused_stay = h->unused_cell = AOI_NONE;
    h->ended.first = h->over.first = AOI_NONE;
    aoi_layer_open(s, &h->layer, &history_class);
    if (!note_all(h, 0)) {
        aoi_history_close(h);
        return AOI_ENOMEM;
    }
    h->all_dirty = false;
    *out = h;
    return AOI_OK;
}

void aoi_history_close(aoi_history *h) {
    if (!h) return;
    aoi_layer_close(&h->layer);
    free_history(&h->layer);
}
