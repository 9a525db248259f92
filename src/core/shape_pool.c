/* shape_pool.c - see shape_pool.h. */
#include "core/shape_pool.h"

#include <string.h>

#include "base/hash_index.h"

enum { LEAST_POOL = 8 };

/* What is compared of a block: with a cylinder's radius its hole. */
enum { PARAMETERS = 8 };
static void parameters_of(const aoi_shape *p, double out[PARAMETERS]) {
    const double all[PARAMETERS] = {p->height,  p->half_height, p->margin,     p->hole[0],
                                    p->hole[1], p->extents[0],  p->extents[1], p->extents[2]};
    memcpy(out, all, sizeof all);
}

static uint32_t block_hash(const aoi_shape *p) {
    double all[PARAMETERS];
    uint64_t bits, hash = p->corners;
    parameters_of(p, all);
    for (uint32_t i = 0; i < PARAMETERS + 2 * p->corners; i++) {
        memcpy(&bits, i < PARAMETERS ? all + i : p->points + i - PARAMETERS, sizeof bits);
        hash = (uint64_t)aoi_hash64(hash ^ bits) << 32 | (uint32_t)(bits >> 20);
    }
    return aoi_hash64(hash);
}

static bool is_same_block(const aoi_shape *p, const aoi_shape *q) {
    double of_p[PARAMETERS], of_q[PARAMETERS];
    parameters_of(p, of_p);
    parameters_of(q, of_q);
    return p->corners == q->corners && !memcmp(of_p, of_q, sizeof of_p) &&
           !memcmp(p->points, q->points, 2 * p->corners * sizeof *p->points);
}

static aoi_shape **block_link(const aoi_world *w, uint32_t hash) {
    return w->shape_heads + (hash & (w->shape_head_count - 1));
}

/* As many heads as blocks; where memory is refused chains become longer. */
static void grow_pool(aoi_world *w) {
    const uint32_t was = w->shape_head_count, count = was ? 2 * was : LEAST_POOL;
    aoi_shape **heads = aoi_resize(&w->memory, NULL, 0, count * sizeof *heads), **old = w->shape_heads;
    if (!heads) return;
    memset(heads, 0, count * sizeof *heads);
    w->shape_heads = heads;
    w->shape_head_count = count;
    for (uint32_t i = 0; i < was; i++)
        for (aoi_shape *p = old[i], *next; p; p = next) {
            aoi_shape **link = block_link(w, block_hash(p));
            next = p->next;
            p->next = *link;
            *link = p;
        }
    AOI_FREE(&w->memory, old, was);
}

/* A block with those parameters, one use of which is the caller's; NULL: memory is refused. */
static aoi_shape *take_block(aoi_world *w, const aoi_shape *like, bool shared) {
    aoi_shape *p = NULL, **link = NULL;
    if (shared && w->shape_count >= w->shape_head_count) grow_pool(w);
    if (shared && w->shape_heads) link = block_link(w, block_hash(like));
    for (p = link ? *link : NULL; p && !is_same_block(p, like);) p = p->next;
    if (p) {
        p->uses++;
        return p;
    }
    p = aoi_resize(&w->memory, NULL, 0, aoi_shape_bytes(like->corners));
    if (!p) return NULL;
    memcpy(p, like, aoi_shape_bytes(like->corners));
    p->uses = 1;
    p->shared = link != NULL;
    p->next = link ? *link : NULL;
    if (link) *link = p;
    w->shape_count += link != NULL;
    return p;
}

bool aoi_area_resolve(aoi_world *w, const aoi_area *a, aoi_area_state *out) {
    if (!aoi_area_borrow(&w->memory, &w->shape_scratch, w->dims, a, out)) return false;
    if (!out->area.shape) return true;
    out->area.shape = take_block(w, out->area.shape, a->shape != AOI_SECTOR);
    return out->area.shape != NULL;
}

void aoi_shape_drop(aoi_world *w, aoi_shape *p) {
    if (!p || --p->uses) return;
    if (p->shared) {
        aoi_shape **link = block_link(w, block_hash(p));
        while (*link != p) link = &(*link)->next;
        *link = p->next;
        w->shape_count--;
    }
    aoi_resize(&w->memory, p, aoi_shape_bytes(p->corners), 0);
}

void aoi_shapes_free(aoi_world *w) {
    AOI_FREE(&w->memory, w->shape_heads, w->shape_head_count);
    aoi_scratch_free(&w->memory, w->shape_scratch);
}

const char *aoi_shapes_check(const aoi_world *w) {
    uint32_t uses = 0, blocks = 0;
    for (uint32_t i = 0; i < w->shape_head_count; i++)
        for (const aoi_shape *p = w->shape_heads[i]; p; p = p->next) {
            if (block_link(w, block_hash(p)) != w->shape_heads + i)
                return "a block of parameters is not where it is sought";
            uses += p->uses;
            blocks++;
        }
    for (uint32_t n = 0; n < w->node_top; n++)
        if (aoi_is_live(w->nodes[n].generation) && w->areas[n].shape && w->areas[n].shape->shared) uses--;
    return uses || blocks != w->shape_count ? "blocks of parameters are counted wrongly" : NULL;
}
