/* items.c - entities as items: which set and bin each is in, sorted by counting, and their columns. */
#include "tick/join.h"

#include <string.h>

enum { JOIN_AHEAD = 16, JOIN_SOON = 8 }; /* items whose entity, and whose way, is prefetched */
#define JOIN_NOWHERE UINT32_MAX
#define JOIN_FARTHEST                                                                                                  \
    0x1p49 /* beyond that a place in fixed point has no digits left, and a border is rounded by a unit */

/* ---- places in fixed point ---------------------------------------------------------------------------------------- */

static int64_t join_any_fixed(const join_tick *t, int axis, double v) {
    double k = (v - t->origin[axis]) * t->scale, most = 2 * JOIN_FARTHEST;
    k = k > most ? most : k < -most ? -most : k;
    int64_t i = (int64_t)k;
    return i - (k < (double)i);
}

/* On the first two axes; most places are near. */
AOI_INLINE void join_fixed(const join_tick *t, const double *at, int64_t out[2]) {
    int32_t near[2];
    if (aoi_lanes_floor(at, t->origin, t->scale, near)) out[0] = near[0], out[1] = near[1];
    else
        for (int a = 0; a < 2; a++) out[a] = join_any_fixed(t, a, at[a]);
}

static inline uint32_t join_turn(int64_t k, uint32_t count) {
    int64_t r = k % (int64_t)count;
    return (uint32_t)(r < 0 ? r + count : r);
}

/* The cell of a place, with ELSEWHERE where it is some turns around the torus away. */
AOI_INLINE uint32_t join_cell_of(const join_tick *t, const int64_t at[2]) {
    int64_t bin = at[0] >> t->bin_bits, line = at[1] >> t->line_bits;
    if ((uint64_t)bin < t->bins && (uint64_t)line < t->lines) return (uint32_t)line * t->bins + (uint32_t)bin;
    return (join_turn(line, t->lines) * t->bins + join_turn(bin, t->bins)) | JOIN_ELSEWHERE;
}

/* Whether a mover may be near: nothing else matters to what stands still. */
AOI_INLINE bool join_in_window(const join_tick *t, const int64_t at[2]) {
    int64_t bin = at[0] >> t->bin_bits, line = at[1] >> t->line_bits;
    return (t->window[0] == INT64_MAX || (uint64_t)bin < (uint64_t)t->window[0]) &&
           (t->window[1] == INT64_MAX || (uint64_t)line < (uint64_t)t->window[1]);
}

static bool join_is_lost(const join_tick *t, const double *at) {
    bool lost = false;
    for (int a = 0; a < t->world->dims; a++)
        lost |= !(fmax(fabs(at[a]), fabs(at[a] - t->origin[a])) * t->scale < JOIN_FARTHEST);
    return lost;
}

/* ---- sets --------------------------------------------------------------------------------------------------------- */

AOI_INLINE bool join_is_usual(const join_tick *t, const aoi_node_record *n) {
    const aoi_node_record *u = t->usual.node;
    if (!u || n->next != AOI_NONE || n->reach[0] != u->reach[0] || n->shape != u->shape || n->flags != u->flags)
        return false;
    if (!(n->flags & AOI_NODE_KEEPS)) return true;
    const aoi_area_record *a = t->world->areas + (n - t->world->nodes), *b = t->usual.area;
    return a->radius == b->radius && a->keep == b->keep;
}

/* The number of a class's set, which is made when the first of it is met; below 0 when memory is refused. */
static AOI_NOINLINE int join_new_set(join_tick *t, int class) {
    size_t cells = (size_t)t->bins * t->lines, to = cells * (size_t)(t->set_count + 1) + 1;
    if (!AOI_GROW_TO(&t->world->memory, t->first, t->first_cap, to)) return -1;
    if (!t->set_count) t->first[0] = 0;
    memset(t->first + to - cells, 0, cells * sizeof *t->first);
    t->sets[t->set_count] = (join_set){.class = (uint8_t) class, .cell = (uint32_t)(to - 1 - cells)};
    return t->set_of[class] = t->set_count++;
}

/* Counts an item; its cell among those of all sets, or NOWHERE when memory is refused. */
AOI_INLINE uint32_t join_count_item(join_tick *t, int class, uint64_t kind, uint32_t cell) {
    int set = t->set_of[class];
    if (set < 0 && (set = join_new_set(t, class)) < 0) return JOIN_NOWHERE;
    t->sets[set].kinds |= kind;
    cell += t->sets[set].cell;
    t->first[(cell & ~JOIN_ELSEWHERE) + 1]++;
    t->count++;
    return cell;
}

/* ---- all entities ------------------------------------------------------------------------------------------------- */

/* Its nodes that are looked at one by one; false when memory is refused. */
static bool join_note_wide(join_tick *t, uint32_t entity, bool all) {
    const aoi_world *w = t->world;
    for (uint32_t n = w->entities[entity].nodes; n != AOI_NONE; n = w->nodes[n].next) {
        if (!join_is_watching(w->nodes + n) || !(all || aoi_join_is_wide(t, n))) continue;
        if (!AOI_GROW(&t->world->memory, t->wide, t->wide_cap, t->wide_count + (size_t)1)) return false;
        t->wide[t->wide_count++] = n;
    }
    return true;
}

static AOI_NOINLINE bool join_note_far(join_tick *t, uint32_t entity, bool lost) {
    aoi_memory *m = &t->world->memory;
    if (lost) {
        if (!AOI_GROW(m, t->lost, t->lost_cap, t->lost_count + (size_t)1)) return false;
        t->lost[t->lost_count++] = entity;
    } else {
        if (!AOI_GROW(m, t->far, t->far_cap, t->far_count + (size_t)1)) return false;
        t->far[t->far_count++] = entity;
    }
    return join_note_wide(t, entity, lost);
}

/* The set and cell of an entity in *cell, NOWHERE if it is no item; false when memory is refused. */
AOI_INLINE bool join_count_entity(join_tick *t, const join_tick *f, uint32_t entity, bool some_go_far, uint32_t *cell) {
    const aoi_world *w = f->world;
    const aoi_entity_record *r = w->entities + entity;
    bool moves = r->mover < w->moved;
    int64_t at[2];
    join_fixed(f, r->pos, at);
    if (moves) {
        bool lost = join_is_lost(t, r->pos);
        const double *was = some_go_far ? aoi_way_of(w, r->mover) : r->pos;
        if (lost || !(aoi_way_length(w->dims, r->pos, was) <= f->way)) {
            return join_note_far(t, entity, lost || join_is_lost(t, was));
        }
    }
    const aoi_node_record *n = r->nodes == AOI_NONE ? NULL : w->nodes + r->nodes;
    bool usual = n && join_is_usual(f, n);
    if (usual) t->usual.mask |= n->mask;
    else if (n && !join_note_wide(t, entity, false)) return false;
    if (!moves && !join_in_window(f, at)) return true;
    int class = (moves ? 0 : JOIN_STILL) | (r->kind & ~f->seldom ? 0 : JOIN_SELDOM) | (usual ? 0 : JOIN_ODD);
    return (*cell = join_count_item(t, class, r->kind, join_cell_of(f, at))) != JOIN_NOWHERE;
}

static bool join_count_all(join_tick *t, uint32_t *cell_of) {
    const aoi_world *w = t->world;
    bool some_go_far = t->space->moves.farthest > t->way;
    const join_tick frame = *t; /* in registers: what is counted might be any number of it */
    for (uint32_t e = 0; e < w->entity_top; e++) {
        cell_of[e] = JOIN_NOWHERE;
        if (!aoi_is_live(w->entities[e].generation)) continue;
        if (!join_count_entity(t, &frame, e, some_go_far, cell_of + e)) return false;
    }
    return true;
}

/* ---- sorting ------------------------------------------------------------------------------------------------------ */

static void join_place_item(join_tick *t, uint32_t cell, uint32_t entity) {
    t->ref[t->first[(cell & ~JOIN_ELSEWHERE) + 1]++] = entity | (cell & JOIN_ELSEWHERE);
}

static const double *join_place_of(const join_tick *t, uint32_t entity, int class) {
    return class == JOIN_GONE ? aoi_position_before(t->world, entity) : t->world->entities[entity].pos;
}

/* Those that go far have two items, one at either place; counted, or placed. */
static bool join_add_far(join_tick *t, bool place) {
    for (uint32_t i = 0; i < t->far_count; i++)
        for (int class = JOIN_ARRIVED; class <= JOIN_GONE; class ++) {
            uint32_t e = t->far[i];
            int64_t at[2];
            join_fixed(t, join_place_of(t, e, class), at);
            uint32_t cell = join_cell_of(t, at);
            if (place) join_place_item(t, cell + t->sets[t->set_of[class]].cell, e);
            else if (join_count_item(t, class, t->world->entities[e].kind, cell) == JOIN_NOWHERE) return false;
        }
    return true;
}

static bool join_sort_items(join_tick *t) {
    aoi_world *w = t->world;
    uint32_t *cell_of = NULL, cap = 0, sum = 0;
    bool good = AOI_GROW_TO(&w->memory, cell_of, cap, w->entity_top) && join_count_all(t, cell_of) &&
                join_add_far(t, false) && AOI_GROW_TO(&w->memory, t->ref, t->ref_cap, t->count);
    if (good && t->count) {
        for (size_t c = 1, end = (size_t)t->bins * t->lines * (size_t)t->set_count; c <= end; c++) {
            uint32_t n = t->first[c];
            t->first[c] = sum;
            sum += n;
        }
        for (uint32_t e = 0; e < w->entity_top; e++)
            if (cell_of[e] != JOIN_NOWHERE) join_place_item(t, cell_of[e], e);
        (void)join_add_far(t, true);
    }
    AOI_FREE(&w->memory, cell_of, cap);
    return good;
}

/* ---- columns ------------------------------------------------------------------------------------------------------ */

AOI_INLINE void join_fill_item(join_tick *t, uint32_t k, const double *is, const double *was, bool tall) {
    int64_t at[2], before[2];
    join_fixed(t, is, at);
    join_fixed(t, was, before);
    int64_t bin = at[0] >> t->bin_bits;
    t->bin[k] = (uint16_t)((uint64_t)bin < t->bins ? (uint32_t)bin : join_turn(bin, t->bins));
    t->column[0][k] = (uint16_t)at[0], t->column[1][k] = (uint16_t)at[1];
    t->column[3][k] = (uint16_t)before[0], t->column[4][k] = (uint16_t)before[1];
    if (!tall) return;
    int64_t z = join_any_fixed(t, 2, is[2]);
    if (z != (int32_t)z) t->ref[k] |= JOIN_ELSEWHERE;
    t->height[k] = (int32_t)(uint32_t)(uint64_t)z;
    t->column[2][k] = (uint16_t)z;
    t->column[5][k] = (uint16_t)join_any_fixed(t, 2, was[2]);
}

AOI_INLINE void join_fill(join_tick *all, uint32_t from, uint32_t to, int class, bool tall) {
    join_tick frame = *all, *t = &frame;
    const aoi_world *w = t->world;
    uint32_t last = to - 1;
    for (uint32_t k = from; k < to; k++) {
        uint32_t e = join_entity(t, k);
        AOI_PREFETCH(w->entities + join_entity(t, last - k > JOIN_AHEAD ? k + JOIN_AHEAD : last));
        uint32_t mover = w->entities[join_entity(t, last - k > JOIN_SOON ? k + JOIN_SOON : last)].mover;
        AOI_PREFETCH(aoi_way_of(w, mover < w->moved ? mover : 0));
        if (class >= JOIN_ARRIVED) join_fill_item(t, k, join_place_of(t, e, class), join_place_of(t, e, class), tall);
        else join_fill_item(t, k, w->entities[e].pos, aoi_position_before(w, e), tall);
    }
}

static bool join_fill_columns(join_tick *t) {
    aoi_memory *m = &t->world->memory;
    bool tall = t->world->dims == 3;
    size_t n = (size_t)t->count + JOIN_LANES, cells = (size_t)t->bins * t->lines; /* lanes are read beyond the end */
    bool good = AOI_GROW_TO(m, t->bin, t->bin_cap, n) && (!tall || AOI_GROW_TO(m, t->height, t->height_cap, n));
    for (int c = 0; c < 6; c++)
        if (tall || c % 3 < 2) good = good && AOI_GROW_TO(m, t->column[c], t->column_cap[c], n);
    if (!good) return false;
    for (int c = 0; c < 6; c++)
        if (t->column[c]) memset(t->column[c] + t->count, 0, JOIN_LANES * sizeof **t->column);
    for (int q = 0; q < t->set_count; q++) {
        uint32_t from = t->first[t->sets[q].cell], to = t->first[t->sets[q].cell + cells];
        if (from == to) continue;
        if (tall) join_fill(t, from, to, t->sets[q].class, true);
        else join_fill(t, from, to, t->sets[q].class, false);
    }
    return true;
}

bool aoi_join_sort(join_tick *t) {
    for (int c = 0; c < JOIN_CLASSES; c++) t->set_of[c] = -1;
    return join_sort_items(t) && (!t->count || join_fill_columns(t));
}

void aoi_join_free(join_tick *t) {
    aoi_memory *m = &t->world->memory;
    AOI_FREE(m, t->first, t->first_cap);
    AOI_FREE(m, t->ref, t->ref_cap);
    for (int c = 0; c < 6; c++) AOI_FREE(m, t->column[c], t->column_cap[c]);
    AOI_FREE(m, t->bin, t->bin_cap);
    AOI_FREE(m, t->height, t->height_cap);
    AOI_FREE(m, t->far, t->far_cap);
    AOI_FREE(m, t->lost, t->lost_cap);
    AOI_FREE(m, t->wide, t->wide_cap);
}
