/* shape_pool.c - see shape_pool.h. */
#include "core/shape_pool.h"

#include <string.h>

#include "base/hash_index.h"

/* The compared parameters of a block; `inner` depends on the radius of a cylinder. */
enum { PARAMETERS = 11 };
static void parameters_of(const aoi_shape *p, double out[PARAMETERS]) {
    const double all[PARAMETERS] = {p->height,    p->half_height, p->margin,     p->inner[0],
                                    p->inner[1],  p->extents[0],  p->extents[1], p->extents[2],
                                    p->offset[0], p->offset[1],   p->offset[2]};
    memcpy(out, all, sizeof all);
}

static uint32_t block_hash(const aoi_shape *p) {
    double all[PARAMETERS];
    uint64_t bits, hash = p->corners + (uint64_t)p->rings + p->of;
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
    return p->bytes == q->bytes && p->rings == q->rings && p->of == q->of && !memcmp(of_p, of_q, sizeof of_p) &&
           !memcmp(p->points, q->points, p->bytes - sizeof *p);
}

/* A block with those parameters, of which the caller owns one use; NULL: memory is refused.  If only the pool cannot
 * grow, the block is not shared. */
static aoi_shape *take_block(aoi_records *r, const aoi_shape *like, bool shared) {
    aoi_memory *m = &r->memory;
    const uint32_t hash = shared ? block_hash(like) : 0;
    uint32_t at = AOI_SEEK, i = shared ? aoi_hash_index_next(&r->shape_index, hash, &at) : AOI_NONE;
    while (i != AOI_NONE && !is_same_block(r->shapes[i], like)) i = aoi_hash_index_next(&r->shape_index, hash, &at);
    if (i != AOI_NONE) {
        r->shapes[i]->uses++;
        return r->shapes[i];
    }
    aoi_shape *p = aoi_resize(m, NULL, 0, like->bytes);
    if (!p) return NULL;
    memcpy(p, like, like->bytes);
    p->uses = 1;
    p->place = AOI_NONE;
    if (shared && AOI_GROW(m, r->shapes, r->shape_cap, r->shape_count + (size_t)1) &&
        aoi_hash_index_reserve(m, &r->shape_index, r->shape_count + (size_t)1)) {
        p->place = r->shape_count++;
        r->shapes[p->place] = p;
        aoi_hash_index_add(&r->shape_index, hash, p->place);
    }
    return p;
}

bool aoi_area_resolve(aoi_records *r, const aoi_area *a, aoi_area_state *out) {
    if (!aoi_area_borrow(r, a, out)) return false;
    if (!out->area.shape) return true;
    out->area.shape = take_block(r, out->area.shape, a->shape != AOI_SECTOR);
    return out->area.shape != NULL;
}

/* The last block of the pool takes the place of a removed one. */
void aoi_shape_drop(aoi_records *r, aoi_shape *p) {
    if (!p || --p->uses) return;
    if (p->place != AOI_NONE) {
        aoi_shape *last = r->shapes[--r->shape_count];
        aoi_hash_index_remove(&r->shape_index, block_hash(p), p->place);
        if (last != p) aoi_hash_index_replace(&r->shape_index, block_hash(last), last->place, p->place);
        last->place = p->place;
        r->shapes[p->place] = last;
    }
    aoi_resize(&r->memory, p, p->bytes, 0);
}

void aoi_shapes_free(aoi_records *r) {
    AOI_FREE(&r->memory, r->shapes, r->shape_cap);
    aoi_hash_index_free(&r->memory, &r->shape_index);
    AOI_FREE(&r->memory, r->shape_scratch, r->scratch_cap);
}
