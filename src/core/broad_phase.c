/* broad_phase.c - see broad_phase.h. */
#include "core/broad_phase.h"

#include <assert.h>

static const aoi_engine_class takes_nothing = {.size = sizeof(aoi_engine)};

static aoi_engine *open_engine(aoi_records *r, const aoi_engine_class *class, double cell) {
    aoi_engine *g = aoi_resize(&r->memory, NULL, 0, class->size);
    if (!g) return NULL;
    memset(g, 0, class->size);
    g->class = class;
    g->records = r;
    if (!class->open || class->open(g, cell) == AOI_OK) return g;
    aoi_resize(&r->memory, g, class->size, 0);
    return NULL;
}

static void close_engine(aoi_engine *g) {
    const aoi_engine_class *class = g->class;
    aoi_memory *m = &g->records->memory;
    if (class->close) class->close(g);
    aoi_resize(m, g, class->size, 0);
}

bool aoi_broad_open(aoi_broad_phase *b, aoi_records *r, const aoi_engine_class *class, double cell, bool deferred) {
    b->records = r;
    b->class = class;
    b->cell = cell;
    if (deferred && class->takes != AOI_TAKES_ALL) class = &takes_nothing;
    r->grid = &b->grid;
    r->takes = class->takes;
    aoi_grid_open(&b->grid, r, cell);
    b->engine = open_engine(r, class, cell);
    return b->engine != NULL;
}

void aoi_broad_close(aoi_broad_phase *b) {
    if (!b->engine) return;
    close_engine(b->engine);
    aoi_grid_close(&b->grid);
}

bool aoi_broad_enter(aoi_broad_phase *b, uint32_t entity) {
    const aoi_engine_class *class = b->engine->class;
    if (!aoi_grid_enter(&b->grid, entity)) return false;
    if (!class->enter || class->enter(b->engine, entity) == AOI_OK) return true;
    aoi_grid_leave(&b->grid, entity);
    return false;
}

void aoi_broad_leave(aoi_broad_phase *b, uint32_t entity) {
    const aoi_engine_class *class = b->engine->class;
    if (class->leave) class->leave(b->engine, entity);
    aoi_grid_leave(&b->grid, entity);
}

static bool set_node(aoi_broad_phase *b, uint32_t node, const aoi_bounds *bounds) {
    const aoi_engine_class *class = b->engine->class;
    return !class->set_node || !aoi_is_taken(b->records, bounds) || class->set_node(b->engine, node, bounds) == AOI_OK;
}

static void remove_taken(aoi_broad_phase *b, uint32_t node, const aoi_bounds *bounds) {
    const aoi_engine_class *class = b->engine->class;
    if (class->remove_node && aoi_is_taken(b->records, bounds)) class->remove_node(b->engine, node);
}

bool aoi_broad_add_node(aoi_broad_phase *b, uint32_t node) {
    aoi_bounds bounds = aoi_bounds_of(b->records, node);
    assert(aoi_is_bounded(b->records->nodes + node));
    if (!aoi_grid_add_node(&b->grid, node, &bounds)) return false;
    if (set_node(b, node, &bounds)) return true;
    aoi_grid_remove_node(&b->grid, node);
    return false;
}

void aoi_broad_remove_node(aoi_broad_phase *b, uint32_t node) {
    aoi_bounds bounds = aoi_bounds_of(b->records, node);
    assert(aoi_is_bounded(b->records->nodes + node));
    remove_taken(b, node, &bounds);
    aoi_grid_remove_node(&b->grid, node);
}

bool aoi_broad_resize_node(aoi_broad_phase *b, uint32_t node, const aoi_bounds *now) {
    aoi_bounds was = aoi_bounds_of(b->records, node);
    aoi_grid_place place;
    assert(aoi_is_bounded(b->records->nodes + node) && now->reach[0] <= DBL_MAX);
    if (!aoi_grid_reserve(&b->grid, node, now, &place) || !set_node(b, node, now)) return false;
    if (!aoi_is_taken(b->records, now)) remove_taken(b, node, &was);
    aoi_grid_resize_node(&b->grid, node, now, place);
    return true;
}

bool aoi_broad_move(aoi_broad_phase *b, uint32_t entity, const double *to, bool propose) {
    const aoi_engine_class *class = b->engine->class;
    aoi_records *r = b->records;
    uint32_t had = r->candidate_count;
    assert(aoi_is_live(r->entities[entity].generation) && isfinite(to[0]) && isfinite(to[1]));
    if (propose) aoi_grid_propose(&b->grid, entity, to, false);
    if (aoi_grid_relocate(&b->grid, entity, to)) {
        if (!class->move || class->move(b->engine, entity, to, propose) == AOI_OK) return true;
        (void)aoi_grid_relocate(&b->grid, entity, r->entities[entity].pos); /* its old place has room */
    }
    r->candidate_count = had;
    return false;
}

void aoi_broad_tidy(aoi_broad_phase *b) {
    const aoi_engine_class *class = b->engine->class;
    aoi_grid_tidy(&b->grid);
    if (!b->records->entity_count && class->close) class->close(b->engine);
    else if (class->tidy) class->tidy(b->engine);
}

/* Fills an engine with all entities and nodes; false when memory is refused. */
static bool fill_engine(aoi_engine *g) {
    const aoi_engine_class *class = g->class;
    const aoi_records *r = g->records;
    for (uint32_t e = 0; e < r->entity_top && class->enter; e++)
        if (aoi_is_live(r->entities[e].generation) && class->enter(g, e) != AOI_OK) return false;
    for (uint32_t n = 0; n < r->node_top && class->set_node; n++) {
        if (!aoi_is_live(r->nodes[n].generation) || !aoi_is_bounded(r->nodes + n)) continue;
        aoi_bounds bounds = aoi_bounds_of(r, n);
        if (aoi_is_taken(r, &bounds) && class->set_node(g, n, &bounds) != AOI_OK) return false;
    }
    return true;
}

/* Describes the engine that a deferred space leaves out: it is built for this question and freed again. */
static uint32_t describe_absent(aoi_broad_phase *b, aoi_describer *d) {
    aoi_records *r = b->records;
    aoi_engine *g = open_engine(r, b->class, b->cell);
    if (!g) return 0;
    r->takes = b->class->takes;
    uint32_t levels = fill_engine(g) && b->class->describe ? b->class->describe(g, d) : 0;
    r->takes = AOI_TAKES_NONE;
    close_engine(g);
    for (uint32_t n = 0; n < r->node_top; n++) r->nodes[n].part = 0;
    return levels;
}

void aoi_broad_describe(aoi_broad_phase *b, aoi_describer *d) {
    const aoi_engine_class *class = b->engine->class;
    uint32_t levels = class != b->class ? describe_absent(b, d) : class->describe ? class->describe(b->engine, d) : 0;
    if (levels != AOI_NONE) aoi_grid_describe(&b->grid, d, levels);
}
