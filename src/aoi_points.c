/* aoi_points.c - see aoi_points.h. */
#include "aoi_points.h"

static void settle(aoi_world *w, aoi_cells *points, uint32_t entity, uint32_t cell, const double *at) {
    aoi_entity_record *e = w->entities + entity;
    e->slot = aoi_cells_put(points, cell, at[0], at[1], entity);
    e->home = cell;
}

bool aoi_points_put(aoi_world *w, aoi_cells *points, uint32_t entity) {
    const double *at = w->entities[entity].pos;
    uint32_t cell = aoi_cells_ready(&w->memory, points, at[0], at[1]);
    if (cell != AOI_NONE) settle(w, points, entity, cell, at);
    return cell != AOI_NONE;
}

void aoi_points_take(aoi_world *w, aoi_cells *points, uint32_t entity) {
    const aoi_entity_record *e = w->entities + entity;
    uint32_t moved = aoi_cells_take(points, e->home, e->slot);
    if (moved != AOI_NONE) w->entities[moved].slot = e->slot;
}

uint32_t aoi_points_ready(aoi_world *w, aoi_cells *points, uint32_t entity, const double *to) {
    uint32_t home = w->entities[entity].home;
    const aoi_cell *k = points->cells + home;
    if (aoi_cell_of(points, to[0]) == k->cx && aoi_cell_of(points, to[1]) == k->cy) return home;
    return aoi_cells_ready(&w->memory, points, to[0], to[1]);
}

void aoi_points_move(aoi_world *w, aoi_cells *points, uint32_t entity, uint32_t cell, const double *to) {
    if (cell == w->entities[entity].home) {
        aoi_cells_set(points, cell, w->entities[entity].slot, to[0], to[1]);
        return;
    }
    aoi_points_take(w, points, entity);
    settle(w, points, entity, cell, to);
}

void aoi_points_resize(aoi_world *w, aoi_cells *points, double side) {
    aoi_cells next;
    aoi_cells_open(&next, side);
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const double *at = w->entities[e].pos;
        if (!aoi_alive(w->entities[e].generation)) continue;
        uint32_t cell = aoi_cells_ready(&w->memory, &next, at[0], at[1]);
        if (cell == AOI_NONE) {
            aoi_cells_close(&w->memory, &next);
            return;
        }
        aoi_cells_put(&next, cell, at[0], at[1], e);
    }
    aoi_cells_close(&w->memory, points);
    *points = next;
    for (uint32_t i = 0; i < next.top; i++)
        for (uint32_t k = 0; k < next.cells[i].count; k++) {
            aoi_entity_record *e = w->entities + aoi_cell_refs(next.cells + i)[k];
            e->home = i;
            e->slot = k;
        }
}

const char *aoi_points_check(const aoi_world *w, const aoi_cells *points) {
    uint32_t entities = 0;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const aoi_entity_record *r = w->entities + e;
        if (!aoi_alive(r->generation)) continue;
        entities++;
        const aoi_cell *k = points->cells + r->home;
        if (r->slot >= k->count || aoi_cell_refs(k)[r->slot] != e || aoi_cell_x(k)[r->slot] != r->pos[0] ||
            aoi_cell_y(k)[r->slot] != r->pos[1])
            return "an entity is not where its cell has it";
    }
    return entities == points->count ? aoi_cells_check(points) : "a field of cells counts its entities wrongly";
}
