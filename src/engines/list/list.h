/* list.h - the structure of the list engine, and the functions that its files share; list.c describes the method. */
#ifndef AOI_LIST_H
#define AOI_LIST_H

#include "core/engine.h"
#include "core/rule.h"
#include "engines/list/tiles.h"
#include "grid/nine_grid.h"

typedef struct aoi_leaving { /* an entry whose new key is not in its block's interval */
    uint32_t *place;
    double to;
} aoi_leaving;

struct aoi_list {
    aoi_engine head;
    double hint;
    aoi_block_lists lists;
    uint32_t *edges; /* of each node: edge_places */
    uint32_t edge_cap;
    aoi_level levels[AOI_MOST_LEVELS];
    int order[AOI_MOST_LEVELS], level_count; /* levels in use, by side */
    aoi_leaving *leaving;
    uint32_t leaving_cap, leaving_count;
};

static inline aoi_memory *aoi_list_memory(aoi_list *g) {
    return &g->head.records->memory;
}

static inline int aoi_list_dims(const aoi_list *g) {
    return g->head.records->dims;
}

AOI_INLINE uint32_t *aoi_edge_places_in(const aoi_list *g, int dims, uint32_t node) {
    return g->edges + node * (size_t)aoi_edge_count(dims);
}

static inline uint32_t *aoi_edge_places(const aoi_list *g, uint32_t node) {
    return aoi_edge_places_in(g, aoi_list_dims(g), node);
}

/* A node's `part` is its level, from 1 on. */
static inline uint32_t aoi_list_level(const aoi_node_record *n) {
    return n->part - 1u;
}

static inline void aoi_list_reach(const aoi_records *r, uint32_t node, double reach[3]) {
    reach[0] = r->nodes[node].reach[0];
    reach[1] = r->nodes[node].reach[1];
    reach[2] = r->dims == 2 ? INFINITY : aoi_height_of(r, node);
}

/* ---- tiles.c: entries in the lists of tiles --------------------------------------------------------------------- */

/* Insertions need tiles and blocks: an unused block for each entry.  Each is false when memory is refused. */
bool aoi_point_ready(aoi_list *g, aoi_level *y, const double *at);
bool aoi_box_ready(aoi_list *g, aoi_level *y, const double *at, const double *reach);
void aoi_insert_point(aoi_list *g, aoi_level *y, uint32_t entity, const double *at);
void aoi_remove_point(aoi_list *g, aoi_level *y, uint32_t entity);
void aoi_insert_box(aoi_list *g, aoi_level *y, uint32_t node, const double *at, const double *reach);
void aoi_remove_box(aoi_list *g, aoi_level *y, uint32_t node);
void aoi_level_moved(void *list, uint32_t ref, const aoi_block *b, uint32_t place); /* for the lists */

aoi_level *aoi_level_for(aoi_list *g, double reach); /* found, or made with all entities; NULL: memory is refused */
bool aoi_level_is_native(const aoi_list *g, const aoi_level *y,
                         double reach);           /* its tiles are no larger than it needs */
double aoi_level_side(double hint, double least); /* of tiles */
void aoi_level_drop(aoi_list *g, int i);          /* the i-th of `order` */

/* ---- move.c, list_parts.c --------------------------------------------------------------------------------------- */

int aoi_list_move(aoi_engine *head, uint32_t entity, const double *to, bool propose);
uint32_t aoi_list_describe(const aoi_engine *head, aoi_describer *d);

#endif
