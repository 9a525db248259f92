/* items.c - entities as items: sets and bins, sorted by counting, and their columns. */
#include "tick/join.h"

#include <string.h>

#define JOIN_NOWHERE UINT32_MAX
#define JOIN_ABOVE (UINT32_C(1) << 30) /* what aoi_lanes_fixed adds */

/* ---- places in fixed point --------------------------------------------------------------------------------------- */

static int64_t join_fixed(const join_tick *t, int axis, double v) {
    double k = (v - t->origin[axis]) * t->scale, most = 4 * AOI_FRAME_FARTHEST;
    k = k > most ? most : k < -most ? -most : k;
    int64_t i = (int64_t)k;
    return i - (k < (double)i);
}

static inline uint32_t join_turn(int64_t k, uint32_t count) {
    int64_t r = k % (int64_t)count;
    return (uint32_t)(r < 0 ? r + count : r);
}

/* Whether a mover may be near: a still entity far from all movers is no item. */
AOI_INLINE bool join_in_window(const join_tick *t, const int64_t at[2]) {
    int64_t bin = at[0] >> t->bin_bits, line = at[1] >> t->line_bits;
    return (t->window[0] == INT64_MAX || (uint64_t)bin < (uint64_t)t->window[0]) &&
           (t->window[1] == INT64_MAX || (uint64_t)line < (uint64_t)t->window[1]);
}

/* An item before sorting: its places in fixed point, above 0. */
typedef struct join_note {
    int32_t at[2], was[2];
    uint16_t height, was_high;
    uint32_t cell, bin; /* cell: or NOWHERE */
} join_note;

static AOI_NOINLINE void join_note_any(const join_tick *t, const double *is, const double *was, bool moves,
                                       join_note *n) {
    int64_t at[2] = {join_fixed(t, 0, is[0]), join_fixed(t, 1, is[1])};
    int64_t bin = join_turn(at[0] >> t->bin_bits, t->bins), line = join_turn(at[1] >> t->line_bits, t->lines);
    if (!moves && !join_in_window(t, at)) return;
    for (int a = 0; a < 2; a++)
        n->at[a] = (uint16_t)at[a], n->was[a] = (uint16_t)join_fixed(t, a, was[a]); /* the columns have no more */
    n->bin = (uint32_t)bin;
    n->cell = (uint32_t)(line * t->bins + bin);
}

/* Most are near. */
AOI_INLINE void join_note_place(const join_tick *t, const double *is, const double *was, bool moves, join_note *n) {
    bool near = aoi_lanes_fixed(is, t->origin, t->scale, n->at);
    near &= aoi_lanes_fixed(was, t->origin, t->scale, n->was);
    uint32_t bin = (uint32_t)(n->at[0] >> t->bin_bits) - (JOIN_ABOVE >> t->bin_bits);
    uint32_t line = (uint32_t)(n->at[1] >> t->line_bits) - (JOIN_ABOVE >> t->line_bits);
    n->cell = JOIN_NOWHERE;
    if (near & (bin < t->bins) & (line < t->lines)) n->cell = line * t->bins + bin, n->bin = bin;
    else join_note_any(t, is, was, moves, n);
    if (t->records->dims != 3) return;
    n->height = (uint16_t)join_fixed(t, 2, is[2]);
    n->was_high = (uint16_t)join_fixed(t, 2, was[2]);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* Makes the set of a class at its first item; returns its number, below 0 when memory is refused. */
static AOI_NOINLINE int join_new_set(join_tick *t, int class) {
    size_t cells = (size_t)t->bins * t->lines, to = cells * (size_t)(t->set_count + 1) + 1;
    if (!AOI_GROW_TO(&t->records->memory, t->first, t->first_cap, to)) return -1;
    if (!t->set_count) t->first[0] = 0;
    memset(t->first + to - cells, 0, cells * sizeof *t->first);
    t->sets[t->set_count] = (join_set){.class = (uint8_t) class, .cell = (uint32_t)(to - 1 - cells)};
    return t->set_of[class] = t->set_count++;
}

/* Counts an item, and turns its cell in the set into a cell among all sets; false when memory is refused. */
AOI_INLINE bool join_count_item(join_tick *t, int class, uint64_t kind, join_note *n) {
    int set = t->set_of[class];
    if (set < 0 && (set = join_new_set(t, class)) < 0) return false;
    t->sets[set].kinds |= kind;
    n->cell += t->sets[set].cell;
    t->first[n->cell + 1]++;
    t->count++;
    return true;
}

/* ---- all entities ------------------------------------------------------------------------------------------------ */

/* Lists its nodes that are judged one by one; false when memory is refused. */
static bool join_note_wide(join_tick *t, uint32_t entity) {
    const aoi_records *r = t->records;
    for (uint32_t n = r->entities[entity].nodes; n != AOI_NONE; n = r->nodes[n].next) {
        if (!join_is_watching(r->nodes + n) || !aoi_join_is_wide(t, n)) continue;
        if (!AOI_GROW(&t->records->memory, t->wide, t->wide_cap, t->wide_count + (size_t)1)) return false;
        t->wide[t->wide_count++] = n;
    }
    return true;
}

/* Notes an entity, NOWHERE if it is no item; false when memory is refused. */
AOI_INLINE bool join_note_entity(join_tick *t, const join_tick *f, uint32_t entity, join_note *note) {
    const aoi_records *w = f->records;
    const aoi_entity_record *r = w->entities + entity;
    bool moves = r->mover < w->moved;
    const double *was = moves ? aoi_mover_end(w, r->mover) : r->pos;
    for (uint32_t n = r->nodes; !moves && n != AOI_NONE; n = w->nodes[n].next) moves = join_has_turned(w, n);
    bool usual = r->nodes != AOI_NONE && join_are_alike(w, r->nodes, f->usual.node);
    if (!usual && !join_note_wide(t, entity)) return false;
    for (uint32_t n = r->nodes; usual && n != AOI_NONE; n = w->nodes[n].next) t->usual.mask |= w->nodes[n].mask;
    join_note_place(f, r->pos, was, moves, note);
    int class = (moves ? 0 : JOIN_STILL) | (usual ? 0 : JOIN_ODD);
    return note->cell == JOIN_NOWHERE || join_count_item(t, class, r->kind, note);
}

static bool join_note_all(join_tick *t, join_note *notes) {
    const aoi_records *r = t->records;
    const join_tick frame = *t; /* in registers: the counters might alias it */
    for (uint32_t e = 0; e < r->entity_top; e++) {
        notes[e].cell = JOIN_NOWHERE;
        if (!aoi_is_live(r->entities[e].generation)) continue;
        if (!join_note_entity(t, &frame, e, notes + e)) return false;
    }
    return true;
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

AOI_INLINE void join_place_item(join_tick *t, const join_note *n, uint32_t entity, bool tall) {
    uint32_t k = t->first[n->cell + 1]++;
    t->ref[k] = entity;
    t->bin[k] = (uint16_t)n->bin;
    t->column[0][k] = (uint16_t)n->at[0], t->column[1][k] = (uint16_t)n->at[1];
    t->column[3][k] = (uint16_t)n->was[0], t->column[4][k] = (uint16_t)n->was[1];
    if (!tall) return;
    t->column[2][k] = n->height, t->column[5][k] = n->was_high;
}

static bool join_columns_ready(join_tick *t) {
    aoi_memory *m = &t->records->memory;
    bool tall = t->records->dims == 3, good = AOI_GROW_TO(m, t->ref, t->ref_cap, t->count);
    size_t n = (size_t)t->count + JOIN_LANES; /* lanes are read beyond the end */
    good = good && AOI_GROW_TO(m, t->bin, t->bin_cap, n);
    for (int c = 0; c < 6; c++)
        if (tall || c % 3 < 2) good = good && AOI_GROW_TO(m, t->column[c], t->column_cap[c], n);
    for (int c = 0; c < 6 && good; c++)
        if (t->column[c]) memset(t->column[c] + t->count, 0, JOIN_LANES * sizeof **t->column);
    return good;
}

static void join_place_all(join_tick *t, const join_note *notes) {
    uint32_t sum = 0;
    for (size_t c = 1, end = (size_t)t->bins * t->lines * (size_t)t->set_count; c <= end; c++) {
        uint32_t n = t->first[c];
        t->first[c] = sum;
        sum += n;
    }
    join_tick frame = *t;
    for (uint32_t e = 0; e < t->records->entity_top; e++)
        if (notes[e].cell != JOIN_NOWHERE) join_place_item(&frame, notes + e, e, t->records->dims == 3);
}

bool aoi_join_sort(join_tick *t) {
    aoi_memory *m = &t->records->memory;
    join_note *notes = NULL;
    uint32_t cap = 0;
    for (int c = 0; c < JOIN_CLASSES; c++) t->set_of[c] = -1;
    bool good = AOI_GROW_TO(m, notes, cap, t->records->entity_top) && join_note_all(t, notes);
    if (good && t->count && (good = join_columns_ready(t))) join_place_all(t, notes);
    AOI_FREE(m, notes, cap);
    return good;
}

void aoi_join_free(join_tick *t) {
    aoi_memory *m = &t->records->memory;
    AOI_FREE(m, t->first, t->first_cap);
    AOI_FREE(m, t->ref, t->ref_cap);
    for (int c = 0; c < 6; c++) AOI_FREE(m, t->column[c], t->column_cap[c]);
    AOI_FREE(m, t->bin, t->bin_cap);
    AOI_FREE(m, t->wide, t->wide_cap);
}
