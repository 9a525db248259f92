/* query.c - questions: they change nothing but the buffers of answers. */
#include <stdlib.h>

#include "core/space.h"

enum { VIEW_AHEAD = 8 }; /* hits whose records are prefetched */

/* ---- the grid's lookups, with unbounded nodes and large entities ------------------------------------------------- */

void aoi_find_targets(aoi_space *s, const double *at, const double *reach) {
    double lo[2] = {at[0] - reach[0], at[1] - reach[1]}, hi[2] = {at[0] + reach[0], at[1] + reach[1]};
    aoi_find_in_box(s, lo, hi);
}

void aoi_find_in_box(aoi_space *s, const double *lo, const double *hi) {
    aoi_world *w = &s->world;
    w->hit_count = 0;
    if (hi[0] <= DBL_MAX && hi[1] <= DBL_MAX && lo[0] >= -DBL_MAX && lo[1] >= -DBL_MAX) {
        aoi_grid_targets(&s->index.grid, lo, hi);
        if (s->larges.count) aoi_add_large_targets(s, lo, hi);
        return;
    }
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_is_live(w->entities[e].generation)) aoi_add_hit(w, e);
}

static void find_among_few(aoi_space *s) {
    const aoi_world *w = &s->world;
    for (uint32_t n = 0; n < w->node_top; n++)
        if (aoi_is_live(w->nodes[n].generation) && aoi_is_bounded(w->nodes + n)) aoi_add_hit(&s->world, n);
    s->world.steps += w->node_top;
}

/* Nodes that see what is outside of their areas see nearly all: every one is a hit, once. */
static void find_outside(aoi_space *s) {
    aoi_world *w = &s->world;
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->hit_count; i++)
        if (!w->nodes[w->hits[i]].outside) w->hits[others++] = w->hits[i];
    w->hit_count = others;
    for (uint32_t i = 0; i < s->outside_count; i++) aoi_add_hit(w, s->outside_nodes[i]);
}

void aoi_find_nodes(aoi_space *s, const double *at, double extent, bool idle, bool by_index) {
    aoi_world *w = &s->world;
    w->hit_count = 0;
    if (w->node_top <= AOI_FEW_WATCHERS && !by_index) find_among_few(s);
    else aoi_grid_watchers(&s->index.grid, &(aoi_grid_target){at, at, extent, 0, true}, idle);
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = w->nodes[n].home) aoi_add_hit(w, n);
    if (s->outside_count) find_outside(s);
}

void aoi_find_watchers(aoi_space *s, uint32_t entity, double extent, bool idle, bool by_index) {
    aoi_world *w = &s->world;
    aoi_find_nodes(s, w->entities[entity].pos, extent, idle, by_index);
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->hit_count; i++) /* an entity does not watch itself */
        if (w->nodes[w->hits[i]].owner != entity) w->hits[others++] = w->hits[i];
    w->hit_count = others;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

bool aoi_answer_ready(aoi_space *s, size_t count, bool pairs) {
    aoi_memory *m = &s->world.memory;
    bool ready = !s->world.failed && AOI_GROW(m, s->ids_out, s->ids_cap, count) &&
                 (!pairs || AOI_GROW(m, s->nodes_out, s->nodes_cap, count));
    s->world.failed = false;
    s->answer_count = 0;
    return ready;
}

bool aoi_node_sees(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->world.nodes + node;
    int how = aoi_override_of(s, node, target);
    if (how == AOI_SHOW) return true;
    if (target == n->owner || !aoi_pair_meets(s, node, target)) return false;
    aoi_zone z = aoi_pair_zone(s, node, target, aoi_position_now(s, n->owner), aoi_position_now(s, target));
    bool held = z == AOI_INSIDE || (z == AOI_BETWEEN && aoi_pair_table_has(&s->kept, node, target));
    return held != n->outside;
}

/* Whether the node sees a hit of the index, after all movers are judged.  Pairs with AOI_SHOW follow from the overrides
 * alone.  Most nodes are squares without exceptions: one comparison decides. */
static inline bool is_found(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    const aoi_entity_record *t = w->entities + target;
    if ((n->flags & (AOI_NODE_PLAIN | AOI_NODE_OVERRIDES)) == AOI_NODE_PLAIN && !aoi_is_large(s, target))
        return aoi_layers_meet(s, node, target) && (n->mask & t->kind) && target != n->owner &&
               aoi_in_box(w->dims, w->entities[n->owner].pos, t->pos, n->reach[0]);
    return aoi_override_of(s, node, target) != AOI_SHOW && aoi_node_sees(s, node, target);
}

int aoi_give(aoi_space *s, const int64_t **ids, size_t *count) {
    *ids = s->ids_out;
    *count = s->answer_count;
    return AOI_OK;
}

/* Whether the box and the kind decide for every target. */
static bool box_decides(const aoi_space *s, const aoi_node_record *n) {
    return (n->flags & (AOI_NODE_PLAIN | AOI_NODE_OVERRIDES)) == AOI_NODE_PLAIN && !s->larges.count &&
           !s->entity_layers && !s->node_layers;
}

/* Writes the hits that such a node sees: each is written, and kept if it counts. */
static void answer_in_box(aoi_space *s, const aoi_node_record *n) {
    const aoi_entity_record *entities = s->world.entities;
    const uint32_t *hits = s->world.hits, count = s->world.hit_count, owner = n->owner;
    const double *at = entities[owner].pos, reach = n->reach[0];
    const uint64_t mask = n->mask;
    const int dims = s->world.dims;
    int64_t *out = s->ids_out;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const aoi_entity_record *t = entities + hits[i];
        AOI_PREFETCH(entities + hits[i + VIEW_AHEAD < count ? i + VIEW_AHEAD : i]);
        out[found] = t->id;
        found += (uint32_t)aoi_in_box(dims, at, t->pos, reach) & ((t->kind & mask) != 0) & (hits[i] != owner);
    }
    s->answer_count = found;
}

int aoi_view(aoi_space *s, aoi_node handle, const int64_t **ids, size_t *count) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    const aoi_override_record *r;
    size_t shown = n->flags & AOI_NODE_OVERRIDES ? aoi_overrides_count(&s->overrides) : 0;
    aoi_find_targets(s, w->entities[n->owner].pos, aoi_seen_reach(n->reach, n->outside));
    if (!aoi_answer_ready(s, w->hit_count + shown, false)) return AOI_ENOMEM;
    if (box_decides(s, n)) answer_in_box(s, n);
    else
        for (uint32_t i = 0; i < w->hit_count; i++)
            if (is_found(s, node, w->hits[i])) s->ids_out[s->answer_count++] = w->entities[w->hits[i]].id;
    r = shown ? aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_NODE, node) : NULL;
    for (; r; r = aoi_overrides_next(&s->overrides, AOI_OVERRIDE_BY_NODE, r))
        if (aoi_how_of(r) == AOI_SHOW) s->ids_out[s->answer_count++] = w->entities[r->end[1]].id;
    return aoi_give(s, ids, count);
}

/* Writes the node, and keeps it if `counts`, which is not predictable. */
static inline void answer_viewer(aoi_space *s, uint32_t node, bool counts) {
    const aoi_node_record *n = s->world.nodes + node;
    s->ids_out[s->answer_count] = s->world.entities[n->owner].id;
    s->nodes_out[s->answer_count] = n->node_id;
    s->answer_count += counts;
}

int aoi_viewers(aoi_space *s, aoi_entity handle, const int64_t **ids, const int64_t **nodes, size_t *count) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    const aoi_world *w = &s->world;
    const aoi_override_record *r;
    size_t shown = aoi_overrides_count(&s->overrides);
    aoi_find_nodes(s, w->entities[e].pos, aoi_extent_of(s, e), true, false);
    if (!aoi_answer_ready(s, w->hit_count + shown, true)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < w->hit_count; i++) answer_viewer(s, w->hits[i], is_found(s, w->hits[i], e));
    r = shown ? aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_TARGET, e) : NULL;
    for (; r; r = aoi_overrides_next(&s->overrides, AOI_OVERRIDE_BY_TARGET, r))
        answer_viewer(s, r->end[0], aoi_how_of(r) == AOI_SHOW);
    *nodes = s->nodes_out;
    return aoi_give(s, ids, count);
}

int aoi_overrides(aoi_space *s, aoi_node handle, const int64_t **targets, const int64_t **hows, size_t *count) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    const aoi_override_record *r;
    if (!aoi_answer_ready(s, aoi_overrides_count(&s->overrides), true)) return AOI_ENOMEM;
    r = aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_NODE, node);
    for (; r; r = aoi_overrides_next(&s->overrides, AOI_OVERRIDE_BY_NODE, r)) {
        s->ids_out[s->answer_count] = s->world.entities[r->end[1]].id;
        s->nodes_out[s->answer_count] = aoi_how_of(r);
        s->answer_count += aoi_how_of(r) != AOI_BY_RULE;
    }
    *hows = s->nodes_out;
    return aoi_give(s, targets, count);
}

int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count) {
    const aoi_world *w = &s->world;
    if (!aoi_answer_ready(s, w->entity_count, false)) return AOI_ENOMEM;
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_is_live(w->entities[e].generation)) s->ids_out[s->answer_count++] = w->entities[e].id;
    return aoi_give(s, ids, count);
}

/* ---- one thing --------------------------------------------------------------------------------------------------- */

static aoi_node node_handle(const aoi_space *s, uint32_t n) {
    return n == AOI_NONE ? (aoi_node){0, 0} : (aoi_node){n, s->world.nodes[n].generation};
}

aoi_node aoi_find_node(const aoi_space *s, aoi_entity handle, int64_t node_id) {
    uint32_t e = aoi_entity_slot(s, handle);
    return node_handle(s, e == AOI_NONE ? AOI_NONE : aoi_node_of(&s->world, &s->chains, e, node_id));
}

aoi_node aoi_first_node(const aoi_space *s, aoi_entity handle) {
    uint32_t e = aoi_entity_slot(s, handle);
    return node_handle(s, e == AOI_NONE ? AOI_NONE : s->world.entities[e].nodes);
}

aoi_node aoi_next_node(const aoi_space *s, aoi_node handle) {
    uint32_t n = aoi_node_slot(s, handle);
    return node_handle(s, n == AOI_NONE ? AOI_NONE : s->world.nodes[n].next);
}

bool aoi_position(const aoi_space *s, aoi_entity handle, double *pos) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return false;
    const double *at = aoi_position_now(s, e);
    for (int a = 0; a < s->world.dims; a++) pos[a] = at[a];
    return true;
}

void aoi_describe_node(const aoi_space *s, uint32_t node, aoi_area *area) {
    aoi_area_state is = aoi_state_of(s, node);
    aoi_area_describe(&is, area);
    area->user_data = aoi_user_data_of(s, node);
    area->label = aoi_label_of(s, node);
    area->silent = (s->world.nodes[node].flags & AOI_NODE_SILENT) != 0;
}

bool aoi_area_of(const aoi_space *s, aoi_node handle, aoi_area *area) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) aoi_describe_node(s, n, area);
    return n != AOI_NONE;
}

bool aoi_node_id(const aoi_space *s, aoi_node handle, int64_t *node_id) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) *node_id = s->world.nodes[n].node_id;
    return n != AOI_NONE;
}

bool aoi_sees(aoi_space *s, aoi_node handle, aoi_entity target) {
    (void)aoi_settle(s);
    uint32_t node = aoi_node_slot(s, handle), t = aoi_entity_slot(s, target);
    return node != AOI_NONE && t != AOI_NONE && aoi_node_sees(s, node, t);
}

static void keep_lowest(int64_t id, int64_t from, int64_t *lowest) {
    if (id >= from && id < *lowest) *lowest = id;
}

void aoi_lowest_ids(const aoi_space *s, int64_t from, int64_t to, int64_t *entity, int64_t *node) {
    const aoi_world *w = &s->world;
    *entity = *node = to;
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (w->entities[e].generation & 1) keep_lowest(w->entities[e].id, from, entity);
    for (uint32_t n = 0; n < w->node_top; n++)
        if ((w->nodes[n].generation & 1) || w->nodes[n].pending) keep_lowest(w->nodes[n].node_id, from, node);
}

size_t aoi_count(const aoi_space *s) {
    return s->world.entity_count;
}

int aoi_dimensions(const aoi_space *s) {
    return s->world.dims;
}

void aoi_read_stats(const aoi_space *s, aoi_stats *out) {
    *out = (aoi_stats){.entities = s->world.entity_count,
                       .nodes = s->node_count,
                       .events = s->taken,
                       .pending = aoi_pending(s),
                       .memory = s->world.memory.used,
                       .candidates = s->candidates,
                       .steps = s->world.steps,
                       .pairs = s->kept.count};
    aoi_grid_stats(&s->index.grid, out);
}
