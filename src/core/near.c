/* near.c - the questions aoi_near and aoi_nearest. */
#include "core/near.h"

#include <stdlib.h>

/* ---- one place --------------------------------------------------------------------------------------------------- */

/* Writes the hits in an area around a place, of any kind if the mask is 0; returns how many. */
AOI_INLINE size_t hits_in(const aoi_records *r, const aoi_area_state *is, int shape, const double *at, int64_t *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) { /* unpredictable: each is written, and kept if inside */
        const aoi_entity_record *t = r->entities + r->hits[i];
        out[n] = t->id;
        n += aoi_near_holds(r->dims, shape, is, at, t->pos) & (!is->mask || (t->kind & is->mask));
    }
    return n;
}

/* The same if targets may be large, or the area has layers. */
static size_t hits_by_looks(const aoi_space *s, const aoi_area_state *is, const double *at, int64_t *out) {
    const aoi_records *r = &s->records;
    size_t n = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_entity_record *t = r->entities + r->hits[i];
        aoi_looks looks = aoi_looks_of(s, r->hits[i]);
        bool counts = (!is->mask || (looks.kind & is->mask)) && (!is->layered || (looks.layers & is->layers));
        if (counts && aoi_state_zone(s, is, at, r->hits[i]) == AOI_INSIDE) out[n++] = t->id;
    }
    return n;
}

size_t aoi_near_answer(const aoi_space *s, const aoi_area_state *is, const double *pos, int64_t *out) {
    const aoi_records *r = &s->records;
    double at[3] = {pos[0], pos[1], r->dims == 3 ? pos[2] : 0}; /* the rule reads three */
    if (aoi_near_needs_looks(s, is)) return hits_by_looks(s, is, at, out);
    if (is->shape == AOI_SQUARE) return hits_in(r, is, AOI_SQUARE, at, out);
    if (is->shape == AOI_CIRCLE) return hits_in(r, is, AOI_CIRCLE, at, out);
    return hits_in(r, is, is->shape, at, out);
}

void aoi_near_reach(const aoi_area_state *is, double *reach) {
    reach[0] = is->reach[0];
    reach[1] = is->reach[1];
    if (!is->area.shape) reach[0] = reach[1] = aoi_outer_extent(is->shape, is->area.radius);
}

int aoi_near(aoi_space *s, const double *pos, const aoi_area *area, const int64_t **ids, size_t *count) {
    aoi_records *r = &s->records;
    aoi_area_state is;
    double reach[2];
    if (!aoi_is_place(s, pos) || aoi_area_fault(r->dims, area) || area->outside) return AOI_EVALUE;
    if (!aoi_settle(s) || !aoi_area_borrow(r, area, &is)) return AOI_ENOMEM;
    aoi_near_reach(&is, reach);
    aoi_find_targets(s, pos, reach);
    if (!aoi_answer_ready(s, r->hit_count, false)) return AOI_ENOMEM;
    s->answer_count = (uint32_t)aoi_near_answer(s, &is, pos, s->ids_out);
    return aoi_give(s, ids, count);
}

/* ---- the nearest ------------------------------------------------------------------------------------------------- */

int aoi_by_rank(const void *a, const void *b) {
    const aoi_ranked *x = a, *y = b;
    if (x->by != y->by) return x->by < y->by ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

int aoi_by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Keeps the first n by rank in a heap with the last of them on top. */
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

/* Keeps the first n of s->ranked and the hits by distance, filtered by kind; false when memory is refused. */
static bool rank_hits(aoi_space *s, const double *pos, size_t n, const aoi_nearest_only *o, size_t *found) {
    const aoi_records *r = &s->records;
    size_t most = *found + r->hit_count < n ? *found + r->hit_count : n;
    if (r->failed || !AOI_GROW(&s->records.memory, s->ranked, s->ranked_cap, most)) return false;
    for (uint32_t i = 0; i < r->hit_count; i++) {
        const aoi_entity_record *t = r->entities + r->hits[i];
        double d2 = aoi_distance2(r->dims, pos, t->pos);
        if ((o->mask && !(aoi_kind_of(s, r->hits[i]) & o->mask)) || !(d2 <= o->radius * o->radius)) continue;
        if (d2 < o->least * o->least || (o->except && t->id == *o->except)) continue;
        if (*found < n || d2 <= s->ranked[0].by) keep_first(s->ranked, found, n, (aoi_ranked){d2, t->id});
    }
    return true;
}

/* Whether no entity at that squared distance or beyond can be one of the first n. */
static bool is_past(const aoi_space *s, double distance, size_t n, double radius, size_t found) {
    return distance > radius * radius || (found == n && s->ranked[0].by < distance);
}

/* Searches growing squares, which find a crowd around the place at once, then cell by cell by distance, for far or rare
 * entities.  Returns false when memory is refused. */
static bool find_nearest(aoi_space *s, const double *pos, size_t n, const aoi_nearest_only *o, size_t *found) {
    aoi_records *r = &s->records;
    aoi_grid *g = &s->index.grid;
    const double radius = o->radius;
    double within = s->last_nearest > 0 ? s->last_nearest : 2; /* the last answer predicts this one */
    for (; !aoi_grid_is_far(g, within); within *= r->hit_count ? 2 : 4) {
        double reach = fmin(within, aoi_outer_extent(AOI_CIRCLE, radius)), sure = within * (1 - 0x1p-40);
        *found = 0;
        aoi_find_targets(s, pos, (double[2]){reach, reach});
        if (!rank_hits(s, pos, n, o, found)) return false;
        if (r->hit_count != r->entity_count && !is_past(s, sure * sure, n, radius, *found)) continue;
        s->last_nearest = within;
        return true;
    }
    *found = 0;
    if (!aoi_grid_begin_outward(g, pos)) return false;
    for (double next; (next = aoi_grid_step_outward(g, pos)) < INFINITY && !is_past(s, next, n, radius, *found);)
        if (!rank_hits(s, pos, n, o, found)) return false;
    return !r->failed;
}

static bool is_nearest_radius(double v) {
    return v >= 0 && (v <= AOI_FARTHEST || isinf(v));
}

int aoi_nearest(aoi_space *s, const double *pos, size_t n, double radius, uint64_t mask, const int64_t **ids,
                size_t *count) {
    return aoi_nearest_of(s, pos, n, &(aoi_nearest_only){.radius = radius, .mask = mask}, ids, count);
}

int aoi_nearest_of(aoi_space *s, const double *pos, size_t n, const aoi_nearest_only *only, const int64_t **ids,
                   size_t *count) {
    size_t found = 0;
    if (!aoi_is_place(s, pos) || !is_nearest_radius(only->radius) || !is_nearest_radius(only->least)) return AOI_EVALUE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    if (n && !find_nearest(s, pos, n, only, &found)) s->records.failed = true;
    if (!aoi_answer_ready(s, found, false)) return AOI_ENOMEM;
    if (found) qsort(s->ranked, found, sizeof *s->ranked, aoi_by_rank);
    for (size_t i = 0; i < found; i++) s->ids_out[s->answer_count++] = s->ranked[i].id;
    return aoi_give(s, ids, count);
}
