/* points.c - see points.h. */
#include "engines/shared/points.h"

static void settle(aoi_world *w, aoi_cells *points, uint32_t entity, uint32_t cell, const double *at) {
    aoi_entity_record *e = w->entities + entity;
    e->slot = aoi_cells_put(points, cell, at, entity);
    e->home = cell;
}

bool aoi_points_put(aoi_world *w, aoi_cells *points, uint32_t entity) {
    const double *at = w->entities[entity].pos;
    uint32_t cell = aoi_cells_ready(&w->memory, points, AOI_NONE, at);
    if (cell != AOI_NONE) settle(w, points, entity, cell, at);
    return cell != AOI_NONE;
}

void aoi_points_take(aoi_world *w, aoi_cells *points, uint32_t entity) {
    const aoi_entity_record *e = w->entities + entity;
    uint32_t moved = aoi_cells_take(points, e->home, e->slot);
    if (moved != AOI_NONE) w->entities[moved].slot = e->slot;
}

AOI_NOINLINE static bool change_cell(aoi_world *w, aoi_cells *points, uint32_t entity, const double *to) {
    uint32_t cell = aoi_cells_ready(&w->memory, points, w->entities[entity].home, to);
    if (cell == AOI_NONE) return false;
    aoi_points_take(w, points, entity);
    settle(w, points, entity, cell, to);
    return true;
}

bool aoi_points_move(aoi_world *w, aoi_cells *points, uint32_t entity, const double *to) {
    const aoi_entity_record *e = w->entities + entity;
    return aoi_cells_set(points, e->home, e->slot, to) || change_cell(w, points, entity, to);
}

void aoi_points_resize(aoi_world *w, aoi_cells *points, double side) {
    aoi_cells next;
    aoi_cells_open(&next, side);
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const double *at = w->entities[e].pos;
        if (!aoi_alive(w->entities[e].generation)) continue;
        uint32_t cell = aoi_cells_ready(&w->memory, &next, AOI_NONE, at);
        if (cell == AOI_NONE) {
            aoi_cells_close(&w->memory, &next);
            return;
        }
        aoi_cells_put(&next, cell, at, e);
    }
    aoi_cells_close(&w->memory, points);
    *points = next;
    for (uint32_t i = 0; i < next.top; i++)
        for (uint32_t l = next.cells[i].first[AOI_MIDDLE]; l != AOI_NONE; l = next.lines[l].next)
            for (uint32_t k = 0; k < next.lines[l].count; k++) {
                aoi_entity_record *e = w->entities + next.lines[l].ref[k];
                e->home = i;
                e->slot = l * AOI_LANES + k;
            }
}

const char *aoi_points_check(const aoi_world *w, const aoi_cells *points) {
    uint32_t entities = 0;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const aoi_entity_record *r = w->entities + e;
        if (!aoi_alive(r->generation)) continue;
        entities++;
        if (!aoi_cells_has(points, r->home, r->slot, r->pos, e)) return "an entity is not where its cell has it";
    }
    return entities == points->count ? aoi_cells_check(points) : "a field of cells counts its entities wrongly";
}
