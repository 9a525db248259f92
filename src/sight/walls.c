/* walls.c - see walls.h. */
#include "sight/walls.h"

enum { MOST_CELLS = 32 };                 /* sides of a cell that a wall of its layer is long, at most */
enum { FEW_A_CELL = 2, MANY_A_CELL = 5 }; /* walls in a cell in use, between which the base is chosen */
enum { LEAST_TUNED = 8, MOST_TUNINGS = 12, LEAST_HEADS = 64 };
/* Exponents: from layer to layer; above that many further on; the farthest wall in cells from the origin; and all. */
enum { LAYER_STEP = 4, NEAR_STEPS = 16, FAR_STEP = 64, FARTHEST = 29, MOST_EXPONENT = 1020 };

/* ---- lines through cells ----------------------------------------------------------------------------------------- */

typedef bool wall_visit(void *ud, int32_t cx, int32_t cy); /* true: the walk ends */

static inline double more_of(double a, double b) {
    return a > b ? a : b;
}

static inline double less_of(double a, double b) {
    return a < b ? a : b;
}

static inline int32_t cell_floor(double v, int32_t lo, int32_t hi) {
    if (!(v > lo)) return lo;
    if (v >= hi) return hi;
    int32_t i = (int32_t)v;
    return i - (v < i);
}

/* Visits the cells of a span that the line from p to q may pass, those within a tolerance included, along the axis on
 * which it is longer.  -1: they are too many or too small to be told apart; else whether a visit ended the walk. */
AOI_INLINE int walk_cells(double inverse, const aoi_span *span, const double *p, const double *q, uint32_t most,
                          wall_visit *visit, void *ud) {
    double x0 = p[0] * inverse, y0 = p[1] * inverse, x1 = q[0] * inverse, y1 = q[1] * inverse;
    bool steep = fabs(y1 - y0) > fabs(x1 - x0);
    aoi_span s = *span;
    if (steep) {
        double x = x0, u = x1;
        x0 = y0, y0 = x, x1 = y1, y1 = u;
        s = (aoi_span){span->y0, span->x0, span->y1, span->x1};
    }
    if (x0 > x1) {
        double x = x0, y = y0;
        x0 = x1, y0 = y1, x1 = x, y1 = y;
    }
    double farthest = more_of(more_of(fabs(x0), fabs(x1)), more_of(fabs(y0), fabs(y1)));
    if (!(farthest < 0x1p44)) return -1;
    double within = 0x1p-20 + farthest * 0x1p-46, slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
    int32_t c = cell_floor(x0 - within, s.x0, s.x1), end = cell_floor(x1 + within, s.x0, s.x1);
    if ((double)end - c > most) return -1;
    if (x1 + within < s.x0 || x0 - within >= s.x1 + 1.0) return 0;
    for (; c <= end; c++) {
        double from = more_of(c - within, x0), to = less_of(c + 1 + within, x1);
        double a = y0 + (from - x0) * slope, b = y0 + (to - x0) * slope;
        double low = (slope < 0 ? b : a) - within, high = (slope < 0 ? a : b) + within;
        if (high < s.y0 || low >= s.y1 + 1.0) continue;
        int32_t r = cell_floor(low, s.y0, s.y1), last = cell_floor(high, s.y0, s.y1);
        for (; r <= last; r++)
            if (steep ? visit(ud, r, c) : visit(ud, c, r)) return 1;
    }
    return 0;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static uint32_t bucket_of(const aoi_walls *k, uint32_t layer, int32_t cx, int32_t cy) {
    return (aoi_cell_hash(cx, cy) + layer * 0x9E3779B9u) & (k->head_count - 1);
}

static void entry_link(aoi_walls *k, uint32_t layer, uint32_t e) {
    uint32_t *head = k->heads + bucket_of(k, layer, k->entries[e].cx, k->entries[e].cy);
    k->entries[e].next = *head;
    *head = e;
}

static void entry_free(aoi_walls *k, uint32_t e) {
    k->entries[e].next = k->free_entry;
    k->free_entry = e;
    k->entry_count--;
}

/* Twice as many buckets as entries: most cells on a line are empty, and their buckets as well. */
static bool heads_ready(aoi_walls *k, uint32_t entries) {
    if (entries <= k->head_count / 2) return true;
    uint32_t count = k->head_count ? k->head_count : LEAST_HEADS;
    while (count / 2 < entries) count *= 2;
    uint32_t *heads = aoi_resize(k->memory, NULL, 0, count * sizeof *heads), *old = k->heads, was = k->head_count;
    if (!heads) return false;
    memset(heads, 0xff, count * sizeof *heads); /* AOI_NONE */
    k->heads = heads;
    k->head_count = count;
    for (uint32_t i = 0, e, next; i < was; i++)
        for (e = old[i]; e != AOI_NONE; e = next) {
            next = k->entries[e].next;
            entry_link(k, k->records[k->entries[e].wall].layer, e);
        }
    AOI_FREE(k->memory, old, was);
    return true;
}

/* The entries of a wall: counted, filed, taken out. */
typedef struct wall_filing {
    aoi_walls *k;
    uint32_t wall, layer, count;
    aoi_span *span;
} wall_filing;

static bool count_cell(void *ud, int32_t cx, int32_t cy) {
    (void)cx, (void)cy;
    ((wall_filing *)ud)->count++;
    return false;
}

static bool file_cell(void *ud, int32_t cx, int32_t cy) {
    wall_filing *f = ud;
    aoi_walls *k = f->k;
    uint32_t e = k->free_entry;
    if (e != AOI_NONE) k->free_entry = k->entries[e].next;
    else e = k->entry_top++;
    k->entries[e] = (aoi_wall_entry){cx, cy, f->wall, AOI_NONE};
    entry_link(k, f->layer, e);
    k->entry_count++;
    aoi_span *s = f->span;
    if (cx < s->x0) s->x0 = cx;
    if (cx > s->x1) s->x1 = cx;
    if (cy < s->y0) s->y0 = cy;
    if (cy > s->y1) s->y1 = cy;
    return false;
}

static bool unfile_cell(void *ud, int32_t cx, int32_t cy) {
    wall_filing *f = ud;
    aoi_walls *k = f->k;
    uint32_t *link = k->heads + bucket_of(k, f->layer, cx, cy);
    for (; *link != AOI_NONE; link = &k->entries[*link].next) {
        const aoi_wall_entry *e = k->entries + *link;
        if (e->wall != f->wall || e->cx != cx || e->cy != cy) continue;
        uint32_t gone = *link;
        *link = e->next;
        entry_free(k, gone);
        return false;
    }
    return false;
}

static const aoi_span nowhere = {INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
static const aoi_span everywhere = {-AOI_CELL_MOST, -AOI_CELL_MOST, AOI_CELL_MOST, AOI_CELL_MOST};

static void walk_wall(wall_filing *f, double inverse, wall_visit *visit) {
    const aoi_wall *w = &f->k->records[f->wall].w;
    (void)walk_cells(inverse, &everywhere, w->a, w->b, UINT32_MAX, visit, f);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* The exponent of the side of the cells in which a wall is filed. */
static int exponent_for(int base, const aoi_wall *w) {
    double length = fmax(fabs(w->b[0] - w->a[0]), fabs(w->b[1] - w->a[1]));
    double far = fmax(fmax(fabs(w->a[0]), fabs(w->b[0])), fmax(fabs(w->a[1]), fabs(w->b[1])));
    double least = fmax(length / MOST_CELLS, ldexp(far, -FARTHEST));
    int e = base;
    while (least > ldexp(1, e) && e < MOST_EXPONENT) e += e - base < NEAR_STEPS * LAYER_STEP ? LAYER_STEP : FAR_STEP;
    return e < MOST_EXPONENT ? e : MOST_EXPONENT;
}

/* Its place, a new one if it must be: there are fewer exponents than places. */
static uint32_t layer_for(aoi_walls *k, int exponent) {
    for (uint32_t i = 0; i < k->layer_count; i++)
        if (k->layers[i].exponent == exponent) return i;
    uint32_t i = 0;
    while (i < k->layer_count && k->layers[i].count) i++;
    if (i == k->layer_count) k->layer_count++;
    k->layers[i] = (aoi_wall_layer){exponent, 0, ldexp(1, exponent), ldexp(1, -exponent), nowhere};
    return i;
}

/* Files a wall whose record is there; false when memory is refused. */
static bool file_wall(aoi_walls *k, uint32_t slot) {
    aoi_wall_record *r = k->records + slot;
    int e = exponent_for(k->base, &r->w);
    wall_filing f = {k, slot, layer_for(k, e), 0, NULL};
    aoi_wall_layer *layer = k->layers + f.layer;
    walk_wall(&f, layer->inverse, count_cell);
    if (!heads_ready(k, k->entry_count + f.count) ||
        !AOI_GROW(k->memory, k->entries, k->entry_cap, k->entry_count + (size_t)f.count))
        return false;
    f.span = &layer->span;
    r->layer = (uint8_t)f.layer;
    layer->count++;
    walk_wall(&f, layer->inverse, file_cell);
    return true;
}

static void unfile_wall(aoi_walls *k, uint32_t slot) {
    uint32_t layer = k->records[slot].layer;
    wall_filing f = {k, slot, layer, 0, NULL};
    walk_wall(&f, k->layers[layer].inverse, unfile_cell);
    k->layers[layer].count--;
}

/* ---- the base ---------------------------------------------------------------------------------------------------- */

static bool is_wall(const aoi_walls *k, uint32_t slot) {
    return k->records[slot].live;
}

/* All walls are filed anew, in cells of another base; false when memory is refused, and nothing has changed. */
static bool refile(aoi_walls *k, int base) {
    wall_filing f = {k, 0, 0, 0, NULL};
    for (f.wall = 0; f.wall < k->record_top; f.wall++)
        if (is_wall(k, f.wall)) walk_wall(&f, ldexp(1, -exponent_for(base, &k->records[f.wall].w)), count_cell);
    if (!heads_ready(k, f.count) || !AOI_GROW(k->memory, k->entries, k->entry_cap, f.count)) return false;
    memset(k->heads, 0xff, k->head_count * sizeof *k->heads);
    k->entry_top = k->entry_count = k->layer_count = 0;
    k->free_entry = AOI_NONE;
    k->base = base;
    for (uint32_t i = 0; i < k->record_top; i++)
        if (is_wall(k, i)) (void)file_wall(k, i); /* there is room */
    return true;
}

static uint32_t buckets_in_use(const aoi_walls *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->head_count; i++) n += k->heads[i] != AOI_NONE;
    return n;
}

/* Looks for a base where a cell in use has a few walls, when there are twice as many walls as the last time.  Where memory
 * is refused it stays as it is. */
static void tune(aoi_walls *k) {
    if (k->count < LEAST_TUNED || k->count < 2 * k->tuned_for) return;
    k->tuned_for = k->count;
    for (int i = 0, way = 0; i < MOST_TUNINGS; i++) {
        uint32_t used = buckets_in_use(k);
        int go = k->entry_count < FEW_A_CELL * used ? 1 : k->entry_count > MANY_A_CELL * used ? -1 : 0;
        int base = k->base + go;
        if (!go || go == -way || base < -MOST_EXPONENT || base > MOST_EXPONENT || !refile(k, base)) return;
        way = go;
    }
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

aoi_walls *aoi_walls_new(aoi_memory *m, int dims) {
    aoi_walls *k = aoi_resize(m, NULL, 0, sizeof *k);
    if (k) *k = (aoi_walls){.memory = m, .dims = dims, .free_record = AOI_NONE, .free_entry = AOI_NONE};
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
    AOI_FREE(m, k->heads, k->head_count);
    AOI_FREE(m, k->entries, k->entry_cap);
    aoi_index_free(m, &k->ids);
    aoi_resize(m, k, sizeof *k, 0);
}

static uint32_t wall_hash(int64_t id) {
    return aoi_hash64((uint64_t)id);
}

uint32_t aoi_wall_slot(const aoi_walls *k, int64_t id) {
    uint32_t at = AOI_SEEK, i, hash = wall_hash(id);
    while ((i = aoi_index_next(&k->ids, hash, &at)) != AOI_NONE && k->records[i].id != id) {
    }
    return i;
}

/* Room to say so to all sights; then what cannot fail. */
static bool changes_ready(aoi_walls *k) {
    for (aoi_wall_changes *c = k->listeners; c; c = c->next)
        if (c->wanted && !AOI_GROW(k->memory, c->boxes, c->cap, c->count + (size_t)1)) return false;
    return true;
}

static void note_change(aoi_walls *k, const aoi_wall *w) {
    struct aoi_wall_box box;
    for (int a = 0; a < 2; a++) {
        box.lo[a] = fmin(w->a[a], w->b[a]);
        box.hi[a] = fmax(w->a[a], w->b[a]);
    }
    for (aoi_wall_changes *c = k->listeners; c; c = c->next)
        if (c->wanted) c->boxes[c->count++] = box;
}

static bool is_segment(const aoi_walls *k, const aoi_wall *w) {
    bool finite = isfinite(w->a[0]) && isfinite(w->a[1]) && isfinite(w->b[0]) && isfinite(w->b[1]);
    return finite && (k->dims == 2 || w->z0 <= w->z1);
}

int aoi_walls_add(aoi_walls *k, const aoi_wall *wall, int64_t id, int64_t *out) {
    if (!is_segment(k, wall)) return AOI_EVALUE;
    if (!id) id = k->last_id + 1;
    uint32_t slot = k->free_record != AOI_NONE ? k->free_record : k->record_top;
    if (!AOI_GROW_LINES(k->memory, k->records, k->record_cap, slot + (size_t)1) ||
        !aoi_index_reserve(k->memory, &k->ids, k->ids.count + (size_t)1) || !changes_ready(k))
        return AOI_ENOMEM;
    aoi_wall_record *r = k->records + slot;
    uint32_t unused = slot == k->record_top ? AOI_NONE : r->next;
    *r = (aoi_wall_record){.w = *wall, .next = unused, .id = id};
    if (!k->count) (void)frexp(fmax(fabs(wall->b[0] - wall->a[0]), fabs(wall->b[1] - wall->a[1])), &k->base);
    if (!k->count && (k->base < -MOST_EXPONENT || k->base > MOST_EXPONENT)) k->base = 0;
    if (!file_wall(k, slot)) return AOI_ENOMEM;
    r->live = true;
    if (slot == k->record_top) k->record_top++;
    else k->free_record = unused;
    aoi_index_add(&k->ids, wall_hash(id), slot);
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
    uint32_t slot = aoi_wall_slot(k, id);
    if (slot == AOI_NONE) return AOI_EGONE;
    if (!changes_ready(k)) return AOI_ENOMEM;
    aoi_wall_record *r = k->records + slot;
    unfile_wall(k, slot);
    aoi_index_remove(&k->ids, wall_hash(id), slot);
    if (!r->w.open) note_change(k, &r->w);
    r->live = false;
    r->w.open = true; /* a pair that remembers it is not hidden by it */
    r->next = k->free_record;
    k->free_record = slot;
    k->count--;
    return AOI_OK;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct line_walk { /* a line, and what it has met */
    const aoi_walls *k;
    const double *w, *t;
    uint32_t layer, found;
    bool nearest; /* all walls on the line are looked at */
    double s;
} line_walk;

/* Whether the walk may end. */
static inline bool meet_wall(line_walk *l, uint32_t slot) {
    const aoi_wall_record *r = l->k->records + slot;
    double s;
    if (!aoi_wall_hides(&r->w, l->k->dims, l->w, l->t, &s)) return false;
    bool first = l->found == AOI_NONE || s < l->s || (s == l->s && r->id < l->k->records[l->found].id);
    if (first) {
        l->found = slot;
        l->s = s;
    }
    return !l->nearest;
}

AOI_INLINE bool meet_cell(line_walk *l, int32_t cx, int32_t cy) {
    const aoi_walls *k = l->k;
    for (uint32_t e = k->heads[bucket_of(k, l->layer, cx, cy)]; e != AOI_NONE; e = k->entries[e].next) {
        const aoi_wall_entry *entry = k->entries + e;
        if (entry->cx == cx && entry->cy == cy && meet_wall(l, entry->wall)) return true;
    }
    return false;
}

static bool visit_cell(void *ud, int32_t cx, int32_t cy) {
    return meet_cell(ud, cx, cy);
}

static void walk_line(line_walk *l) {
    const aoi_walls *k = l->k;
    for (l->layer = 0; l->layer < k->layer_count; l->layer++) {
        const aoi_wall_layer *layer = k->layers + l->layer;
        if (!layer->count) continue;
        int ended = walk_cells(layer->inverse, &layer->span, l->w, l->t, k->record_top, visit_cell, l);
        if (ended > 0) return;
        if (ended == 0) continue;
        for (uint32_t i = 0; i < k->record_top; i++)
            if (is_wall(k, i) && meet_wall(l, i)) return;
        return;
    }
}

uint32_t aoi_walls_hide(const aoi_walls *k, const double *w, const double *t, uint32_t first) {
    double s;
    if (first < k->record_top && aoi_wall_hides(&k->records[first].w, k->dims, w, t, &s)) return first;
    line_walk l = {k, w, t, 0, AOI_NONE, false, 0};
    walk_line(&l);
    return l.found;
}

int64_t aoi_walls_ray(const aoi_walls *k, const double *p, const double *q, double *at) {
    double from[3] = {p[0], p[1], k->dims == 3 ? p[2] : 0}, to[3] = {q[0], q[1], k->dims == 3 ? q[2] : 0};
    line_walk l = {k, from, to, 0, AOI_NONE, true, 0};
    walk_line(&l);
    if (l.found == AOI_NONE) return 0;
    for (int a = 0; a < k->dims; a++) {
        AOI_PRODUCT way = l.s * (to[a] - from[a]);
        at[a] = from[a] + way;
    }
    return k->records[l.found].id;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

typedef struct wall_search {
    const aoi_walls *k;
    uint32_t wall, layer, cells, found;
} wall_search;

static bool search_cell(void *ud, int32_t cx, int32_t cy) {
    wall_search *f = ud;
    f->cells++;
    for (uint32_t e = f->k->heads[bucket_of(f->k, f->layer, cx, cy)]; e != AOI_NONE; e = f->k->entries[e].next) {
        const aoi_wall_entry *entry = f->k->entries + e;
        f->found += entry->wall == f->wall && entry->cx == cx && entry->cy == cy;
    }
    return false;
}

const char *aoi_walls_check(const aoi_walls *k) {
    uint32_t walls = 0, entries = 0, per_layer[AOI_WALL_LAYERS] = {0};
    for (uint32_t i = 0; i < k->record_top; i++) {
        const aoi_wall_record *r = k->records + i;
        if (!r->live) continue;
        wall_search f = {k, i, r->layer, 0, 0};
        (void)walk_cells(k->layers[r->layer].inverse, &everywhere, r->w.a, r->w.b, UINT32_MAX, search_cell, &f);
        if (!f.cells || f.found != f.cells) return "a wall is not in the cells that it passes";
        if (aoi_wall_slot(k, r->id) != i) return "a wall is not found by its id";
        entries += f.found;
        per_layer[r->layer]++;
        walls++;
    }
    for (uint32_t i = 0; i < k->layer_count; i++)
        if (per_layer[i] != k->layers[i].count) return "a layer counts its walls wrongly";
    if (walls != k->count || entries != k->entry_count) return "walls are counted wrongly";
    return NULL;
}
