/* near.c - questions around places: aoi_near, aoi_near_many, aoi_nearest. */
#include <stdlib.h>

#include "base/lattice.h"
#include "core/space.h"

/* ---- one place --------------------------------------------------------------------------------------------------- */

/* Whether a place is in the area, without a margin, around another. */
AOI_INLINE bool holds(int dims, int shape, const aoi_area_state *is, const double *at, const double *t) {
    return shape == AOI_SQUARE   ? aoi_in_box(dims, at, t, is->area.radius)
           : shape == AOI_CIRCLE ? aoi_in_ball(dims, at, t, is->area.radius)
                                 : aoi_shape_holds(dims, shape, &is->area, at, t, 0, 0);
}

/* The hits that are in an area around a place, of any kind if the mask is 0; how many. */
AOI_INLINE size_t hits_in(const aoi_world *w, const aoi_area_state *is, int shape, const double *at, int64_t *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < w->hit_count; i++) { /* which of them are inside is not predictable: written, maybe kept */
        const aoi_entity_record *t = w->entities + w->hits[i];
        out[n] = t->id;
        n += holds(w->dims, shape, is, at, t->pos) & (!is->mask || (t->kind & is->mask));
    }
    return n;
}

/* The same where targets may be large, or the area has layers. */
static size_t hits_by_looks(const aoi_space *s, const aoi_area_state *is, const double *at, int64_t *out) {
    const aoi_world *w = &s->world;
    size_t n = 0;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_entity_record *t = w->entities + w->hits[i];
        aoi_looks looks = aoi_looks_of(s, w->hits[i]);
        bool counts = (!is->mask || (looks.kind & is->mask)) && (!is->layered || (looks.layers & is->layers));
        if (counts && aoi_zone_grown(w->dims, is->shape, &is->area, at, t->pos, looks.extent) == AOI_INSIDE)
            out[n++] = t->id;
    }
    return n;
}

static bool asks_for_looks(const aoi_space *s, const aoi_area_state *is) {
    return s->larges.count || is->layered;
}

static size_t answer_hits(const aoi_space *s, const aoi_area_state *is, const double *pos, int64_t *out) {
    const aoi_world *w = &s->world;
    double at[3] = {pos[0], pos[1], w->dims == 3 ? pos[2] : 0}; /* the rule reads three */
    if (asks_for_looks(s, is)) return hits_by_looks(s, is, at, out);
    if (is->shape == AOI_SQUARE) return hits_in(w, is, AOI_SQUARE, at, out);
    if (is->shape == AOI_CIRCLE) return hits_in(w, is, AOI_CIRCLE, at, out);
    return hits_in(w, is, is->shape, at, out);
}

/* Half-extents without a margin. */
static void asked_reach(const aoi_area_state *is, double *reach) {
    reach[0] = is->reach[0];
    reach[1] = is->reach[1];
    if (!is->area.shape) reach[0] = reach[1] = aoi_outer_extent(is->shape, is->area.radius);
}

int aoi_near(aoi_space *s, const double *pos, const aoi_area *area, const int64_t **ids, size_t *count) {
    aoi_world *w = &s->world;
    aoi_area_state is;
    double reach[2];
    if (!aoi_finite(s, pos) || aoi_area_fault(w->dims, area)) return AOI_EVALUE;
    if (!aoi_settle(s) || !aoi_area_borrow(&w->memory, &w->shape_scratch, w->dims, area, &is)) return AOI_ENOMEM;
    asked_reach(&is, reach);
    aoi_find_targets(s, pos, reach);
    if (!aoi_answer_ready(s, w->hit_count, false)) return AOI_ENOMEM;
    s->answer_count = (uint32_t)answer_hits(s, &is, pos, s->ids_out);
    return aoi_give(s, ids, count);
}

/* ---- many places -------------------------------------------------------------------------------------------------
 *
 *   +-------+-------+     Places that share a square, four times as wide as the area, are a group.  The index is asked once
 *   |  . .  |       |     for the box around the areas of a group; what it finds is copied into rows of small squares, and
 *   | .     |     . |     each place of the group is compared with the squares that its area touches.  Answers are then
 *   +-------+-------+     put in the order of the places.  A group of one costs about what aoi_near costs. */

typedef struct aoi_question {
    int32_t cx, cy; /* its square */
    uint32_t next;  /* the next place of its group, AOI_NONE behind the last */
    bool first;     /* of its group */
    size_t start;   /* its answer among those in the order of the groups */
    uint32_t count;
} aoi_question;

typedef struct aoi_item { /* what the index has found */
    double pos[3];
    int64_t id;
} aoi_item;

void aoi_near_clear(aoi_memory *m, aoi_near_scratch *n) {
    AOI_CLEAR(m, n->coordinates, n->coordinate_cap);
    AOI_CLEAR(m, n->places, n->place_cap);
    AOI_CLEAR(m, n->items, n->item_cap);
    AOI_CLEAR(m, n->found, n->found_cap);
    AOI_CLEAR(m, n->ends, n->end_cap);
    aoi_index_free(m, &n->groups);
}

double *aoi_coordinate_buffer(aoi_space *s, size_t n) {
    aoi_near_scratch *t = &s->near;
    return AOI_GROW(&s->world.memory, t->coordinates, t->coordinate_cap, n * (size_t)s->world.dims) ? t->coordinates
                                                                                                    : NULL;
}

/* Chains the places into groups.  On the outermost squares of the lattice each is alone: they have no end. */
static bool group_places(aoi_space *s, const double *at, size_t n, const double *reach) {
    aoi_near_scratch *t = &s->near;
    double side = 8 * fmax(reach[0], reach[1]), inverse = 1 / (side > 1e-300 ? side : 1);
    aoi_index_free(&s->world.memory, &t->groups);
    for (size_t i = 0; i < n; i++) {
        const double *p = at + i * (size_t)s->world.dims;
        aoi_question *k = t->places + i;
        uint32_t seek = AOI_SEEK, head;
        *k = (aoi_question){aoi_cell_number(p[0], inverse), aoi_cell_number(p[1], inverse), AOI_NONE, true, 0, 0};
        uint32_t hash = aoi_cell_hash(k->cx, k->cy);
        bool alone = abs(k->cx) >= AOI_CELL_MOST || abs(k->cy) >= AOI_CELL_MOST;
        if (alone && reach[0] <= DBL_MAX) continue;
        while ((head = aoi_index_next(&t->groups, hash, &seek)) != AOI_NONE)
            if (t->places[head].cx == k->cx && t->places[head].cy == k->cy) break;
        if (head != AOI_NONE) {
            k->first = false;
            k->next = t->places[head].next;
            t->places[head].next = (uint32_t)i;
        } else if (aoi_index_reserve(&s->world.memory, &t->groups, t->groups.count + (size_t)1))
            aoi_index_add(&t->groups, hash, (uint32_t)i);
        else return false;
    }
    return true;
}

/* The items of a group in rows of small squares, so that what an area touches is a few runs. */
enum { FINE_MOST = 32, FINE_ITEMS = 32 }; /* squares a side; groups of fewer items are not worth it */
#define FINE_SHARE 0.75                   /* and the box may be no larger than so much of their areas together */

typedef struct aoi_fine {
    double lo[2], inverse[2];
    int n[2];
    uint32_t first[FINE_MOST * FINE_MOST + 2]; /* of the items of each square, row by row */
} aoi_fine;

/* Never falls while the coordinate rises. */
static inline int fine_of(const aoi_fine *f, int a, double v) {
    double k = (v - f->lo[a]) * f->inverse[a];
    return k >= f->n[a] ? f->n[a] - 1 : k > 0 ? (int)k : 0;
}

/* What may be in the area around any place of the group, unsorted behind room for as many; false: memory is refused. */
static bool gather_items(aoi_space *s, const double *lo, const double *hi, uint64_t mask, uint32_t *count) {
    aoi_world *w = &s->world;
    aoi_near_scratch *t = &s->near;
    aoi_find_in_box(s, lo, hi);
    *count = 0;
    if (w->failed || !AOI_GROW(&w->memory, t->items, t->item_cap, 2 * (size_t)w->hit_count + 1)) return false;
    aoi_item *out = t->items + w->hit_count;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_entity_record *e = w->entities + w->hits[i];
        out[*count] = (aoi_item){{e->pos[0], e->pos[1], e->pos[2]}, e->id};
        *count += !mask || (e->kind & mask);
    }
    return true;
}

/* Sorts the items by square (a counting sort). */
static void sort_items(aoi_near_scratch *t, aoi_fine *f, const aoi_item *in, uint32_t count) {
    uint32_t squares = (uint32_t)(f->n[0] * f->n[1]), *first = f->first;
    memset(first, 0, (squares + 2) * sizeof *first);
    for (uint32_t i = 0; i < count; i++)
        first[fine_of(f, 1, in[i].pos[1]) * f->n[0] + fine_of(f, 0, in[i].pos[0]) + 2]++;
    for (uint32_t c = 2; c < squares + 2; c++) first[c] += first[c - 1];
    for (uint32_t i = 0; i < count; i++)
        t->items[first[fine_of(f, 1, in[i].pos[1]) * f->n[0] + fine_of(f, 0, in[i].pos[0]) + 1]++] = in[i];
}

/* The box around the areas of the group; false if most of it is in none of them, so that each place is asked alone. */
static bool box_group(const aoi_space *s, const double *at, uint32_t head, const double *reach, double *lo,
                      double *hi) {
    uint32_t members = 0;
    lo[0] = lo[1] = INFINITY;
    hi[0] = hi[1] = -INFINITY;
    for (uint32_t i = head; i != AOI_NONE; i = s->near.places[i].next, members++)
        for (size_t a = 0; a < 2; a++) {
            lo[a] = fmin(lo[a], at[i * (size_t)s->world.dims + a] - reach[a]);
            hi[a] = fmax(hi[a], at[i * (size_t)s->world.dims + a] + reach[a]);
        }
    double most = members * (4 * FINE_SHARE) * reach[0] * reach[1];
    return reach[0] > DBL_MAX || (members > 1 && (hi[0] - lo[0]) * (hi[1] - lo[1]) <= most);
}

static bool prepare_group(aoi_space *s, const double *lo, const double *hi, const double *reach, uint64_t mask,
                          aoi_fine *f) {
    uint32_t count;
    if (!gather_items(s, lo, hi, mask, &count)) return false;
    for (int a = 0; a < 2; a++) {
        double size = hi[a] - lo[a];
        bool cut = count >= FINE_ITEMS && size > 0 && size <= DBL_MAX;
        f->n[a] = cut ? (int)fmax(fmin(2 * size / reach[a], FINE_MOST), 1) : 1;
        f->inverse[a] = cut ? f->n[a] / size : 0;
        f->lo[a] = lo[a] >= -DBL_MAX ? lo[a] : 0;
        if (!(f->inverse[a] <= DBL_MAX)) f->n[a] = 1, f->inverse[a] = 0;
    }
    sort_items(&s->near, f, s->near.items + s->world.hit_count, count);
    return true;
}

/* The places of a group against its items. */
AOI_INLINE bool answer_group(aoi_space *s, const aoi_area_state *is, int dims, int shape, const double *at,
                             uint32_t head, const double *reach, const aoi_fine *f, size_t *found) {
    aoi_near_scratch *t = &s->near;
    for (uint32_t i = head; i != AOI_NONE; i = t->places[i].next) {
        const double *p = at + i * (size_t)dims;
        double w[3] = {p[0], p[1], dims == 3 ? p[2] : 0};
        int x0 = fine_of(f, 0, p[0] - reach[0]), x1 = fine_of(f, 0, p[0] + reach[0]);
        int y0 = fine_of(f, 1, p[1] - reach[1]), y1 = fine_of(f, 1, p[1] + reach[1]);
        size_t n = 0, most = 0;
        for (int y = y0; y <= y1; y++) most += f->first[y * f->n[0] + x1 + 1] - f->first[y * f->n[0] + x0];
        if (!AOI_GROW(&s->world.memory, t->found, t->found_cap, *found + most + 1)) return false;
        int64_t *out = t->found + *found;
        for (int y = y0; y <= y1 && most; y++) {
            const aoi_item *k = t->items + f->first[y * f->n[0] + x0], *end = t->items + f->first[y * f->n[0] + x1 + 1];
            for (; k < end; k++) { /* as in hits_in */
                out[n] = k->id;
                n += holds(dims, shape, is, w, k->pos);
            }
        }
        t->places[i].start = *found;
        t->places[i].count = (uint32_t)n;
        *found += n;
    }
    return true;
}

/* One place of no group, as aoi_near has it. */
static bool answer_alone(aoi_space *s, const aoi_area_state *is, const double *p, aoi_question *q, const double *reach,
                         size_t *found) {
    const aoi_world *w = &s->world;
    aoi_near_scratch *t = &s->near;
    aoi_find_targets(s, p, reach);
    if (w->failed || !AOI_GROW(&s->world.memory, t->found, t->found_cap, *found + w->hit_count + 1)) return false;
    q->start = *found;
    q->count = (uint32_t)answer_hits(s, is, p, t->found + *found);
    *found += q->count;
    return true;
}

static bool answer_by_shape(aoi_space *s, const aoi_area_state *is, const double *at, uint32_t head,
                            const double *reach, const aoi_fine *f, size_t *found) {
    int dims = s->world.dims;
    if (is->shape == AOI_SQUARE && dims == 2) return answer_group(s, is, 2, AOI_SQUARE, at, head, reach, f, found);
    if (is->shape == AOI_SQUARE) return answer_group(s, is, 3, AOI_SQUARE, at, head, reach, f, found);
    if (is->shape == AOI_CIRCLE) return answer_group(s, is, dims, AOI_CIRCLE, at, head, reach, f, found);
    return answer_group(s, is, dims, is->shape, at, head, reach, f, found);
}

static bool answer_places(aoi_space *s, const aoi_area_state *is, const double *at, size_t n, const double *reach) {
    aoi_near_scratch *t = &s->near;
    aoi_fine f;
    size_t found = 0, dims = (size_t)s->world.dims;
    double lo[2], hi[2];
    for (uint32_t i = 0; i < n; i++) {
        if (!t->places[i].first) continue;
        bool good = true;
        if (!asks_for_looks(s, is) && box_group(s, at, i, reach, lo, hi))
            good = prepare_group(s, lo, hi, reach, is->mask, &f) && answer_by_shape(s, is, at, i, reach, &f, &found);
        else
            for (uint32_t k = i; k != AOI_NONE && good; k = t->places[k].next)
                good = answer_alone(s, is, at + k * dims, t->places + k, reach, &found);
        if (!good) return false;
    }
    if (!aoi_answer_ready(s, found, false)) return false;
    for (size_t i = 0; i < n; i++) {
        const aoi_question *p = t->places + i;
        if (p->count) memcpy(s->ids_out + s->answer_count, t->found + p->start, p->count * sizeof *s->ids_out);
        s->answer_count += p->count;
        t->ends[i] = s->answer_count;
    }
    return true;
}

int aoi_near_many(aoi_space *s, const double *places, size_t n, const aoi_area *area, const int64_t **ids,
                  const uint32_t **ends, size_t *count) {
    aoi_world *w = &s->world;
    aoi_near_scratch *t = &s->near;
    aoi_area_state is;
    double reach[2];
    if (aoi_area_fault(w->dims, area) || n >= AOI_NONE) return AOI_EVALUE;
    for (size_t i = 0; i < n; i++)
        if (!aoi_finite(s, places + i * (size_t)w->dims)) return AOI_EVALUE;
    if (!aoi_settle(s) || !aoi_area_borrow(&w->memory, &w->shape_scratch, w->dims, area, &is)) return AOI_ENOMEM;
    asked_reach(&is, reach);
    bool done = AOI_GROW(&w->memory, t->places, t->place_cap, n) && AOI_GROW(&w->memory, t->ends, t->end_cap, n) &&
                group_places(s, places, n, reach) && answer_places(s, &is, places, n, reach);
    w->failed = false;
    if (!done) return AOI_ENOMEM;
    *ends = t->ends;
    return aoi_give(s, ids, count);
}

/* ---- the nearest ------------------------------------------------------------------------------------------------- */

int aoi_by_rank(const void *a, const void *b) {
    const aoi_ranked *x = a, *y = b;
    if (x->by != y->by) return x->by < y->by ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Keeps the n that come first by rank, as a heap with the last of them on top. */
static void keep_first(aoi_ranked *heap, size_t *count, size_t n, aoi_ranked r) {
    size_t i = 0;
    if (*count < n) {
        for (i = (*count)++; i && aoi_by_rank(&r, heap + (i - 1) / 2) > 0; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    } else if (aoi_by_rank(&r, heap) > 0) return;
    else
        for (size_t k = 1; k < n; k = 2 * i + 1) {
            if (k + 1 < n && aoi_by_rank(heap + k + 1, heap + k) > 0) k++;
            if (aoi_by_rank(heap + k, &r) < 0) break;
            heap[i] = heap[k];
            i = k;
        }
    heap[i] = r;
}

/* The first n by distance, of a kind, of what is in s->ranked and the hits; false when memory is refused. */
static bool rank_hits(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, size_t *found) {
    const aoi_world *w = &s->world;
    size_t most = *found + w->hit_count < n ? *found + w->hit_count : n;
    if (w->failed || !AOI_GROW(&s->world.memory, s->ranked, s->ranked_cap, most)) return false;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_entity_record *t = w->entities + w->hits[i];
        double dx = t->pos[0] - pos[0], dy = t->pos[1] - pos[1], dz = w->dims == 3 ? t->pos[2] - pos[2] : 0;
        AOI_PRODUCT xx = dx * dx, yy = dy * dy, zz = dz * dz;
        double d2 = w->dims == 3 ? xx + yy + zz : xx + yy;
        if ((mask && !(aoi_kind_of(s, w->hits[i]) & mask)) || !(d2 <= radius * radius)) continue;
        if (*found < n || d2 <= s->ranked[0].by) keep_first(s->ranked, found, n, (aoi_ranked){d2, t->id});
    }
    return true;
}

/* Whether nothing that is that far away, squared, may be one of the first n. */
static bool is_past(const aoi_space *s, double distance, size_t n, double radius, size_t found) {
    return distance > radius * radius || (found == n && s->ranked[0].by < distance);
}

/* In growing squares, which find the crowd around a place at once, then cell by cell in the order of their distances, for
 * what is far away or seldom.  Returns false when memory is refused. */
static bool find_nearest(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, size_t *found) {
    aoi_world *w = &s->world;
    aoi_grid *g = &s->index.grid;
    double within = s->last_nearest > 0 ? s->last_nearest : 2; /* what is near now was near the last time */
    for (; !aoi_grid_is_far(g, within); within *= w->hit_count ? 2 : 4) {
        double reach = fmin(within, aoi_outer_extent(AOI_CIRCLE, radius)), sure = within * (1 - 0x1p-40);
        *found = 0;
        aoi_find_targets(s, pos, (double[2]){reach, reach});
        if (!rank_hits(s, pos, n, radius, mask, found)) return false;
        if (w->hit_count != w->entity_count && !is_past(s, sure * sure, n, radius, *found)) continue;
        s->last_nearest = within;
        return true;
    }
    *found = 0;
    if (!aoi_grid_begin_outward(g, pos)) return false;
    for (double next; (next = aoi_grid_step_outward(g, pos)) < INFINITY && !is_past(s, next, n, radius, *found);)
        if (!rank_hits(s, pos, n, radius, mask, found)) return false;
    return !w->failed;
}

int aoi_nearest(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, const int64_t **ids,
                size_t *count) {
    size_t found = 0;
    if (!aoi_finite(s, pos) || !(radius >= 0)) return AOI_EVALUE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    if (n && !find_nearest(s, pos, n, radius, mask, &found)) s->world.failed = true;
    if (!aoi_answer_ready(s, found, false)) return AOI_ENOMEM;
    if (found) qsort(s->ranked, found, sizeof *s->ranked, aoi_by_rank);
    for (size_t i = 0; i < found; i++) s->ids_out[s->answer_count++] = s->ranked[i].id;
    return aoi_give(s, ids, count);
}
