/* grid.c - the nine-grid: cells record the entities that stand in them, nodes of like borders are layers (nine_grid.h).
 *
 * Cost, d entities in an area: move O(cells on the border + d), with a small constant; enter, leave, add_node O(1);
 * memory about 40 bytes an entity, and a rare node.  Cells are sparse (spatial_hash.h): memory follows the entities.
 * Method: the nine-grid of Chinese MMO servers, which is a spatial hash with per-radius layers and exact comparison. */
#include "engines/shared/nine_grid.h"

typedef struct aoi_grid {
    aoi_engine head;
    aoi_nine_grid nine;
} aoi_grid;

static aoi_nine_grid *grid_of(aoi_engine *head) {
    return &((aoi_grid *)(void *)head)->nine;
}

static const aoi_nine_grid *grid_within(const aoi_engine *head) {
    return &((const aoi_grid *)(const void *)head)->nine;
}

static int grid_open(aoi_engine *head, double cell) {
    aoi_nine_open(grid_of(head), head, cell);
    return AOI_OK;
}

static void grid_close(aoi_engine *head) {
    aoi_nine_close(grid_of(head));
}

static int grid_enter(aoi_engine *head, uint32_t entity) {
    return aoi_nine_enter(grid_of(head), entity) ? AOI_OK : AOI_ENOMEM;
}

static void grid_leave(aoi_engine *head, uint32_t entity) {
    aoi_nine_leave(grid_of(head), entity);
}

static int grid_set_kind(aoi_engine *head, uint32_t entity, uint64_t kind) {
    return aoi_nine_set_kind(grid_of(head), entity, kind) ? AOI_OK : AOI_ENOMEM;
}

static void grid_mask_changed(aoi_engine *head, uint32_t node) {
    aoi_nine_mask_changed(grid_of(head), node);
}

static int grid_add_node(aoi_engine *head, uint32_t node) {
    aoi_bounds b = aoi_bounds_of(head->world, node);
    return aoi_nine_insert_node(grid_of(head), node, &b) ? AOI_OK : AOI_ENOMEM;
}

static void grid_remove_node(aoi_engine *head, uint32_t node) {
    aoi_nine_remove_node(grid_of(head), node);
}

static int grid_resize_node(aoi_engine *head, uint32_t node, const aoi_bounds *now) {
    return aoi_nine_resize_node(grid_of(head), node, now) ? AOI_OK : AOI_ENOMEM;
}

static void grid_tidy(aoi_engine *head) {
    aoi_nine_tidy(grid_of(head));
}

static int grid_place(aoi_engine *head, uint32_t entity, const double *to) {
    return aoi_nine_relocate(grid_of(head), entity, to) ? AOI_OK : AOI_ENOMEM;
}

static int grid_move(aoi_engine *head, uint32_t entity, const double *to) {
    uint32_t had = head->world->candidate_count;
    aoi_nine_propose(grid_of(head), entity, to);
    if (aoi_nine_relocate(grid_of(head), entity, to)) return AOI_OK;
    head->world->candidate_count = had;
    return AOI_ENOMEM;
}

static void grid_prefetch(const aoi_engine *head, uint32_t entity, int stage) {
    aoi_nine_prefetch(grid_within(head), entity, stage);
}

static void grid_targets(aoi_engine *head, const double *lo, const double *hi) {
    aoi_nine_targets(grid_of(head), lo, hi);
}

static void grid_watchers(aoi_engine *head, const double *at, bool idle) {
    aoi_nine_watchers(grid_of(head), at, idle);
}

static double grid_nearest(aoi_engine *head, const double *at, double within, size_t count) {
    return aoi_nine_nearest(grid_of(head), at, within, count);
}

static const char *grid_check(aoi_engine *head) {
    return aoi_nine_check(grid_of(head));
}

static void grid_stats(const aoi_engine *head, aoi_stats *out) {
    aoi_nine_stats(grid_within(head), out);
}

static void grid_describe(const aoi_engine *head, aoi_describer *d) {
    aoi_nine_describe(grid_within(head), d, 0);
}

const aoi_engine_class aoi_engine_grid = {
    .name = "grid",
    .size = sizeof(aoi_grid),
    .open = grid_open,
    .close = grid_close,
    .enter = grid_enter,
    .leave = grid_leave,
    .add_node = grid_add_node,
    .remove_node = grid_remove_node,
    .resize_node = grid_resize_node,
    .set_kind = grid_set_kind,
    .mask_changed = grid_mask_changed,
    .move = grid_move,
    .tidy = grid_tidy,
    .prefetch = grid_prefetch,
    .place = grid_place,
    .targets = grid_targets,
    .watchers = grid_watchers,
    .nearest = grid_nearest,
    .check = grid_check,
    .stats = grid_stats,
    .describe = grid_describe,
};
