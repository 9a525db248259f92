/* walls.c - see walls.h. */
#include "sight/walls.h"

#include "base/lattice.h"

enum { FEW_A_CELL = 2, MANY_A_CELL = 5 }; /* bounds of the mean number of walls in a used cell */
enum { LEAST_TUNED = 8, MOST_TUNINGS = 12 };

/* ---- the base ---------------------------------------------------------------------------------------------------- */

static bool is_wall(const aoi_walls *k, uint32_t slot) {
    return k->records[slot].live;
}

/* Files all walls anew, in cells of another base; false when memory is refused, and nothing has changed. */
static bool refile(aoi_walls *k, int base) {
    aoi_wall_cells cells;
    aoi_wall_cells_open(&cells, base);
    for (uint32_t i = 0; i < k->record_top; i++) {
        if (!is_wall(k, i) || aoi_wall_cells_add(k->memory, &cells, &k->records[i].w, i)) continue;
        aoi_wall_cells_free(k->memory, &cells);
        return false;
    }
    aoi_wall_cells_free(k->memory, &k->cells);
    k->cells = cells;
    return true;
}

/* Searches for a base with a few walls in each used cell, whenever the number of walls has doubled or
 * fallen to a quarter.  The base is kept
 * if memory is refused. */
static void tune(aoi_walls *k) {
    if (k->count < LEAST_TUNED || !aoi_chooses_anew(k->count, &k->tuned_for)) return;
    for (int i = 0, way = 0; i < MOST_TUNINGS; i++) {
        uint32_t used = aoi_wall_cells_used(&k->cells);
        int go = k->cells.filed < FEW_A_CELL * used ? 1 : k->cells.filed > MANY_A_CELL * used ? -1 : 0;
        if (!go || go == -way || !refile(k, k->cells.base + go)) return;
        way = go;
    }
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

aoi_walls *aoi_walls_new(aoi_memory *m, int dims) {
    aoi_walls *k = aoi_resize(m, NULL, 0, sizeof *k);
    if (!k) return NULL;
    *k = (aoi_walls){.memory = m, .dims = dims, .free_record = AOI_NONE};
    aoi_wall_cells_open(&k->cells, 0);
    return k;
}

void aoi_walls_join(aoi_walls *k, aoi_wall_changes *c) {
    c->next = k->listeners;
    k->listeners = c;
}

void aoi_walls_part(aoi_walls *k, aoi_wall_changes *c) {
    aoi_memory *m = k->memory;
    aoi_wall_changes **link = &k->listeners;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    AOI_CLEAR(m, c->boxes, c->cap);
    if (k->listeners) return;
    AOI_FREE_LINES(m, k->records, k->record_cap);
    aoi_wall_cells_free(m, &k->cells);
    aoi_hash_index_free(m, &k->ids);
    aoi_hash_index_free(m, &k->slopes);
    aoi_resize(m, k, sizeof *k, 0);
}

static uint32_t wall_hash(int64_t id) {
    return aoi_hash64((uint64_t)id);
}

uint32_t aoi_wall_slot(const aoi_walls *k, int64_t id) {
    uint32_t at = AOI_SEEK, i, hash = wall_hash(id);
    while ((i = aoi_hash_index_next(&k->ids, hash, &at)) != AOI_NONE && k->records[i].id != id) {
    }
    return i;
}

/* Hashes the slope of a line, between -1 and 1, as a whole number of 2^-21; false: the line is parallel to an axis. */
static inline bool slope_of(const double *a, const double *b, double off, uint32_t *hash) {
    double x = b[0] - a[0], y = b[1] - a[1], slope = fabs(x) < fabs(y) ? x / y : y / x;
    if (!(x != 0 && y != 0 && fabs(slope) <= 1)) return false;
    *hash = aoi_hash64((uint64_t)(int64_t)(slope * 0x1p21 + 0x1p22 + off));
    return true;
}

/* The hashes of the slopes from which that of a wall differs by less than 2^-23: none, one or two. */
static uint32_t wall_slopes(const aoi_wall *w, uint32_t hash[2]) {
    if (!slope_of(w->a, w->b, -0.25, hash) || !slope_of(w->a, w->b, 0.25, hash + 1)) return 0;
    return hash[0] == hash[1] ? 1 : 2;
}

/* Reserves room for a change in all sights, so that note_change cannot fail. */
static bool changes_ready(aoi_walls *k) {
    for (aoi_wall_changes *c = k->listeners; c; c = c->next)
        if (c->wanted && !AOI_GROW(k->memory, c->boxes, c->cap, c->count + (size_t)1)) return false;
    return true;
}

static void note_change(aoi_walls *k, const aoi_wall *w) {
    const bool anywhere = aoi_products_underflow(w->a, w->b);
    struct aoi_wall_box box;
    for (int a = 0; a < 2; a++) {
        box.lo[a] = anywhere ? -AOI_FARTHEST : fmin(w->a[a], w->b[a]);
        box.hi[a] = anywhere ? AOI_FARTHEST : fmax(w->a[a], w->b[a]);
    }
    for (aoi_wall_changes *c = k->listeners; c; c = c->next)
        if (c->wanted) c->boxes[c->count++] = box;
}

static bool is_segment(const aoi_walls *k, const aoi_wall *w) {
    bool good = true;
    for (int i = 0; i < 2; i++) good &= aoi_is_coordinate(w->a[i]) && aoi_is_coordinate(w->b[i]);
    if (k->dims == 2 || !good) return good;
    return w->z0 <= w->z1 && (isinf(w->z0) || aoi_is_coordinate(w->z0)) && (isinf(w->z1) || aoi_is_coordinate(w->z1));
}

int aoi_walls_add(aoi_walls *k, const aoi_wall *wall, int64_t id, int64_t *out) {
    if (!is_segment(k, wall)) return AOI_EVALUE;
    if (!id && k->last_id == INT64_MAX) return AOI_EVALUE; /* possible after loading a snapshot */
    if (!id) id = k->last_id + 1;
    uint32_t slot = k->free_record != AOI_NONE ? k->free_record : k->record_top, slopes[2];
    if (!AOI_GROW_LINES(k->memory, k->records, k->record_cap, slot + (size_t)1) ||
        !aoi_hash_index_reserve(k->memory, &k->ids, k->ids.count + (size_t)1) ||
        !aoi_hash_index_reserve(k->memory, &k->slopes, k->slopes.count + (size_t)2) || !changes_ready(k))
        return AOI_ENOMEM;
    aoi_wall_record *r = k->records + slot;
    uint32_t unused = slot == k->record_top ? AOI_NONE : r->next;
    if (!k->count) { /* the first wall determines the size of cells */
        int base;
        (void)frexp(fmax(fabs(wall->b[0] - wall->a[0]), fabs(wall->b[1] - wall->a[1])), &base);
        aoi_wall_cells_free(k->memory, &k->cells);
        aoi_wall_cells_open(&k->cells, base);
    }
    if (!aoi_wall_cells_add(k->memory, &k->cells, wall, slot)) return AOI_ENOMEM;
    *r = (aoi_wall_record){.w = *wall, .next = AOI_NONE, .live = true, .id = id};
    if (slot == k->record_top) k->record_top++;
    else k->free_record = unused;
    aoi_hash_index_add(&k->ids, wall_hash(id), slot);
    for (uint32_t n = wall_slopes(wall, slopes); n;) aoi_hash_index_add(&k->slopes, slopes[--n], slot);
    k->count++;
    if (id > k->last_id) k->last_id = id;
    if (out) *out = id;
    if (!wall->open) note_change(k, wall);
    tune(k);
    return AOI_OK;
}

int aoi_walls_set_open(aoi_walls *k, int64_t id, bool open) {
    uint32_t slot = aoi_wall_slot(k, id);
    if (slot == AOI_NONE) return AOI_EGONE;
    if (k->records[slot].w.open == open) return AOI_OK;
    if (!changes_ready(k)) return AOI_ENOMEM;
    k->records[slot].w.open = open;
    note_change(k, &k->records[slot].w);
    return AOI_OK;
}

int aoi_walls_remove(aoi_walls *k, int64_t id) {
    uint32_t slot = aoi_wall_slot(k, id), slopes[2];
    if (slot == AOI_NONE) return AOI_EGONE;
    if (!changes_ready(k)) return AOI_ENOMEM;
    aoi_wall_record *r = k->records + slot;
    aoi_wall_cells_remove(&k->cells, &r->w, slot);
    aoi_hash_index_remove(&k->ids, wall_hash(id), slot);
    for (uint32_t n = wall_slopes(&r->w, slopes); n;) aoi_hash_index_remove(&k->slopes, slopes[--n], slot);
    if (!r->w.open) note_change(k, &r->w);
    r->live = false;
    r->w.open = true; /* so that it hides no pair that still refers to it */
    r->next = k->free_record;
    k->free_record = slot;
    k->count--;
    return AOI_OK;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct wall_line { /* a line, and the wall found on it */
    const aoi_walls *k;
    const double *w, *t; /* in the order of the rule */
    uint32_t found;
    int nearest; /* finds of all walls on the line the nearest to w, -1: to t, 0: any */
    double s;
} wall_line;

static wall_line line_between(const aoi_walls *k, const double *p, const double *q, bool nearest) {
    const bool ordered = aoi_ends_ordered(k->dims, p, q);
    return (wall_line){k, ordered ? p : q, ordered ? q : p, AOI_NONE, !nearest ? 0 : ordered ? 1 : -1, 0};
}

/* Whether the walk may end. */
static bool meet_wall(void *ud, uint32_t slot) {
    wall_line *l = ud;
    const aoi_wall_record *r = l->k->records + slot;
    double s;
    if (!aoi_wall_hides(&r->w, l->k->dims, l->w, l->t, &s)) return false;
    bool nearer = l->nearest < 0 ? s > l->s : s < l->s;
    bool first = l->found == AOI_NONE || nearer || (s == l->s && r->id < l->k->records[l->found].id);
    if (first) {
        l->found = slot;
        l->s = s;
    }
    return !l->nearest;
}

/* The error of a cross product is at most 2^-50 of its products: segments more than 2^-26 of the line's length apart
 * are taken for crossed only if both are slanted, with slopes that differ by less than 2^-23, and collinear. */
static bool is_along_a_wall(const aoi_walls *k, const double *w, const double *t) {
    uint32_t hash, at = AOI_SEEK;
    return k->slopes.count && slope_of(w, t, 0, &hash) && aoi_hash_index_next(&k->slopes, hash, &at) != AOI_NONE;
}

static void walk_line(wall_line *l) {
    const aoi_walls *k = l->k;
    int met = aoi_wall_cells_walk(&k->cells, l->w, l->t, false, k->record_top, meet_wall, l);
    if (!met && is_along_a_wall(k, l->w, l->t))
        met = aoi_wall_cells_walk(&k->cells, l->w, l->t, true, k->record_top, meet_wall, l);
    if (met >= 0) return;
    for (uint32_t i = 0; i < k->record_top; i++)
        if (is_wall(k, i) && meet_wall(l, i)) return;
}

uint32_t aoi_walls_hide(const aoi_walls *k, const double *w, const double *t, uint32_t first) {
    wall_line l = line_between(k, w, t, false);
    if (first < k->record_top && aoi_wall_hides(&k->records[first].w, k->dims, l.w, l.t, &l.s)) return first;
    walk_line(&l);
    return l.found;
}

int64_t aoi_walls_ray(const aoi_walls *k, const double *p, const double *q, double *at) {
    double from[3] = {p[0], p[1], k->dims == 3 ? p[2] : 0}, to[3] = {q[0], q[1], k->dims == 3 ? q[2] : 0};
    wall_line l = line_between(k, from, to, true);
    walk_line(&l);
    if (l.found == AOI_NONE) return 0;
    for (int a = 0; a < k->dims; a++) {
        AOI_PRODUCT way = l.s * (l.t[a] - l.w[a]);
        at[a] = l.w[a] + way;
    }
    return k->records[l.found].id;
}
