/* shape_pool.c - see shape_pool.h. */
#include "core/shape_pool.h"

#include <string.h>

#include "base/hash_index.h"

/* The compared parameters of a block; `inner` depends on the radius of a cylinder. */
enum { PARAMETERS = 8 };
static void parameters_of(const aoi_shape *p, double out[PARAMETERS]) {
    const double all[PARAMETERS] = {p->height,   p->half_height, p->margin,     p->inner[0],
                                    p->inner[1], p->extents[0],  p->extents[1], p->extents[2]};
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

/* A block with those parameters, of which the caller owns one use; NULL: memory is refused.  If only the pool cannot
 * grow, the block is not shared. */
static aoi_shape *take_block(aoi_world *w, const aoi_shape *like, bool shared) {
    aoi_memory *m = &w->memory;
    const uint32_t hash = shared ? block_hash(like) : 0;
    uint32_t at = AOI_SEEK, i = shared ? aoi_index_next(&w->shape_index, hash, &at) : AOI_NONE;
    while (i != AOI_NONE && !is_same_block(w->shapes[i], like)) i = aoi_index_next(&w->shape_index, hash, &at);
    if (i != AOI_NONE) {
        w->shapes[i]->uses++;
        return w->shapes[i];
    }
    aoi_shape *p = aoi_resize(m, NULL, 0, aoi_shape_bytes(like->corners));
    if (!p) return NULL;
    memcpy(p, like, aoi_shape_bytes(like->corners));
    p->uses = 1;
    p->place = AOI_NONE;
    if (shared && AOI_GROW(m, w->shapes, w->shape_cap, w->shape_count + (size_t)1) &&
        aoi_index_reserve(m, &w->shape_index, w->shape_count + (size_t)1)) {
        p->place = w->shape_count++;
        w->shapes[p->place] = p;
        aoi_index_add(&w->shape_index, hash, p->place);
    }
    return p;
}

bool aoi_area_resolve(aoi_world *w, const aoi_area *a, aoi_area_state *out) {
    if (!aoi_area_borrow(&w->memory, &w->shape_scratch, w->dims, a, out)) return false;
    if (!out->area.shape) return true;
    out->area.shape = take_block(w, out->area.shape, a->shape != AOI_SECTOR);
    return out->area.shape != NULL;
}

/* The last block of the pool takes the place of a removed one. */
void aoi_shape_drop(aoi_world *w, aoi_shape *p) {
    if (!p || --p->uses) return;
    if (p->place != AOI_NONE) {
        aoi_shape *last = w->shapes[--w->shape_count];
        aoi_index_remove(&w->shape_index, block_hash(p), p->place);
        if (last != p) aoi_index_replace(&w->shape_index, block_hash(last), last->place, p->place);
        last->place = p->place;
        w->shapes[p->place] = last;
    }
    aoi_resize(&w->memory, p, aoi_shape_bytes(p->corners), 0);
}

void aoi_shapes_free(aoi_world *w) {
    AOI_FREE(&w->memory, w->shapes, w->shape_cap);
    aoi_index_free(&w->memory, &w->shape_index);
    if (w->shape_scratch) aoi_resize(&w->memory, w->shape_scratch, aoi_shape_bytes(AOI_MOST_CORNERS), 0);
}

const char *aoi_shapes_check(const aoi_world *w) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < w->shape_count; i++) {
        uint32_t hash = block_hash(w->shapes[i]), at = AOI_SEEK, k;
        while ((k = aoi_index_next(&w->shape_index, hash, &at)) != AOI_NONE && k != i) {
        }
        if (k != i || w->shapes[i]->place != i) return "a block of parameters is not where it is sought";
        uses += w->shapes[i]->uses;
    }
    for (uint32_t n = 0; n < w->node_top; n++)
        uses -= aoi_is_live(w->nodes[n].generation) && w->areas[n].shape && w->areas[n].shape->place != AOI_NONE;
    return uses || w->shape_index.count != w->shape_count ? "blocks of parameters are counted wrongly" : NULL;
}
