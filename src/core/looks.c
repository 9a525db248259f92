/* looks.c - kinds, layers and extents of entities: what changes them, and questions that read them; see looks.h. */
#include "core/space.h"

static const uint64_t first_layer = AOI_FIRST_LAYER;

bool aoi_node_layers_ready(aoi_space *s, uint32_t node) {
    return AOI_GROW_FILLED(&s->records.memory, s->node_layers, s->node_layers_cap, node + (size_t)1, &first_layer);
}

void aoi_clear_looks(aoi_space *s, uint32_t entity) {
    if (entity < s->entity_layers_cap) s->entity_layers[entity] = AOI_FIRST_LAYER;
    if (aoi_is_large(s, entity)) aoi_larges_remove(s, entity);
}

void aoi_free_looks(aoi_space *s) {
    AOI_CLEAR(&s->records.memory, s->entity_layers, s->entity_layers_cap);
    AOI_CLEAR(&s->records.memory, s->node_layers, s->node_layers_cap);
    aoi_larges_free(s);
}

/* Makes room for a layer mask or an extent, which few entities have; false when memory is refused. */
static bool looks_ready(aoi_space *s, uint32_t e, const aoi_looks *is) {
    aoi_memory *m = &s->records.memory;
    if (is->extent != 0 && !aoi_larges_ready(s, e)) return false;
    return is->layers == AOI_FIRST_LAYER ||
           AOI_GROW_FILLED(m, s->entity_layers, s->entity_layers_cap, e + (size_t)1, &first_layer);
}

static void store_looks(aoi_space *s, uint32_t e, const aoi_looks *is) {
    uint64_t kind = is->extent != 0 ? 0 : is->kind; /* for the index */
    aoi_grid_set_kind(&s->index.grid, e, kind);
    s->records.entities[e].kind = kind;
    if (e < s->entity_layers_cap) s->entity_layers[e] = is->layers;
    aoi_larges_set(s, e, is);
}

/* Reserves room, judges, then stores, which cannot fail. */
static int set_looks(aoi_space *s, uint32_t e, const aoi_looks *is) {
    aoi_looks was = aoi_looks_of(s, e);
    if (!aoi_begin(s) || !looks_ready(s, e, is)) return AOI_ENOMEM;
    aoi_judge_target(s, e, &was, is);
    for (uint32_t n = was.layers == is->layers ? AOI_NONE : s->records.entities[e].nodes; n != AOI_NONE;
         n = s->records.nodes[n].next) {
        if (s->records.nodes[n].flags & AOI_NODE_LAYERED) continue;
        aoi_area_state before = aoi_state_of(s, n), after = before;
        after.layers = is->layers;
        aoi_judge_node(s, n, &before, &after);
    }
    if (s->records.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    store_looks(s, e, is);
    return AOI_OK;
}

static int change_looks(aoi_space *s, aoi_entity handle, int what, uint64_t bits, double extent) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_is_coordinate(extent)) return AOI_EVALUE;
    aoi_looks is = aoi_looks_of(s, e);
    if (what == AOI_CALL_SET_KIND) is.kind = bits;
    else if (what == AOI_CALL_SET_LAYERS) is.layers = bits;
    else is.extent = extent;
    int result = set_looks(s, e, &is);
    if (result != AOI_OK) return result;
    if (s->plugins) aoi_plugins_looked(s->plugins, e, what == AOI_CALL_SET_KIND);
    aoi_commit(s);
    return AOI_OK;
}

/* The new layers of an entity and of all that it carries, as one change: `mover` numbers them meanwhile, so that a pair of
 * two of them is judged once. */
static int set_layers_of_all(aoi_space *s, aoi_entity handle, uint64_t layers) {
    aoi_records *r = &s->records;
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    size_t n = aoi_list_carried(s, e);
    for (size_t i = 0; i < n; i++) {
        aoi_looks is = aoi_looks_of(s, e = (uint32_t)s->ranked[i].id);
        is.layers = layers;
        if (!looks_ready(s, e, &is)) n = 0;
    }
    for (size_t i = 0; i < n; i++) r->entities[s->ranked[i].id].mover = (uint32_t)i;
    s->relayered = &layers;
    for (size_t i = 0; i < n && !r->failed; i++) {
        aoi_looks was = aoi_looks_of(s, e = (uint32_t)s->ranked[i].id), is = was;
        is.layers = layers;
        aoi_judge_target(s, e, &was, &is);
        for (uint32_t node = r->entities[e].nodes; node != AOI_NONE; node = r->nodes[node].next) {
            aoi_area_state before = aoi_state_of(s, node), after = before;
            if (!before.layered) after.layers = layers;
            aoi_judge_node(s, node, &before, &after);
        }
    }
    s->relayered = NULL;
    for (size_t i = 0; i < n; i++) r->entities[s->ranked[i].id].mover = AOI_NONE;
    if (!n || r->failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        aoi_looks is = aoi_looks_of(s, e = (uint32_t)s->ranked[i].id);
        is.layers = layers;
        store_looks(s, e, &is);
        if (s->plugins) aoi_plugins_looked(s->plugins, e, false);
    }
    aoi_commit(s);
    return AOI_OK;
}

int aoi_set_layers_with_passengers(aoi_space *s, aoi_entity handle, uint64_t layers) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_LAYERS_OF_ALL, set_layers_of_all(s, handle, layers), .entity = handle,
                                     .bits = layers});
}

int aoi_set_kind(aoi_space *s, aoi_entity handle, uint64_t kind) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_KIND, change_looks(s, handle, AOI_CALL_SET_KIND, kind, 0),
                                     .entity = handle, .bits = kind});
}

int aoi_set_layers(aoi_space *s, aoi_entity handle, uint64_t layers) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_LAYERS, change_looks(s, handle, AOI_CALL_SET_LAYERS, layers, 0),
                                     .entity = handle, .bits = layers});
}

int aoi_set_extent(aoi_space *s, aoi_entity handle, double extent) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_EXTENT, change_looks(s, handle, AOI_CALL_SET_EXTENT, 0, extent),
                                     .entity = handle, .values = &extent});
}

/* It enters with kind 0, which no node sees, and gets its kind last: until then there is no event. */
int aoi_enter_with(aoi_space *s, int64_t id, const double *pos, uint64_t kind, uint64_t layers, double extent,
                   aoi_entity *out) {
    aoi_entity e;
    if (!aoi_is_coordinate(extent)) return AOI_EVALUE;
    int result = aoi_enter(s, id, pos, 0, &e);
    if (result != AOI_OK) return result;
    if (layers != AOI_FIRST_LAYER) result = aoi_set_layers(s, e, layers);
    if (result == AOI_OK && extent != 0) result = aoi_set_extent(s, e, extent);
    if (result == AOI_OK) result = aoi_set_kind(s, e, kind);
    if (result != AOI_OK) (void)aoi_leave(s, e);
    else if (out) *out = e;
    return result;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool aoi_kind(const aoi_space *s, aoi_entity handle, uint64_t *kind) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e != AOI_NONE) *kind = aoi_kind_of(s, e);
    return e != AOI_NONE;
}

bool aoi_layers(const aoi_space *s, aoi_entity handle, uint64_t *layers) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e != AOI_NONE) *layers = aoi_layers_of(s, e);
    return e != AOI_NONE;
}

bool aoi_extent(const aoi_space *s, aoi_entity handle, double *extent) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e != AOI_NONE) *extent = aoi_extent_of(s, e);
    return e != AOI_NONE;
}
