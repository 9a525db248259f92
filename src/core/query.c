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
    aoi_records *r = &s->records;
    r->hit_count = 0;
    if (hi[0] <= DBL_MAX && hi[1] <= DBL_MAX && lo[0] >= -DBL_MAX && lo[1] >= -DBL_MAX) {
        aoi_grid_targets(&s->index.grid, lo, hi);
        if (s->larges.count) aoi_add_large_targets(s, lo, hi);
        return;
    }
    for (uint32_t e = 0; e < r->entity_top; e++)
        if (aoi_is_live(r->entities[e].generation)) aoi_add_hit(r, e);
}

bool aoi_find_changed(aoi_space *s, const aoi_area_state *was, const aoi_area_state *is, const double *at,
                      aoi_turn *turn) {
    double reach[2];
    if (was && is && was->mask == is->mask && was->layers == is->layers && !s->relayered && !s->larges.count &&
        aoi_turn_of(was, is, turn)) {
        aoi_find_in_box(s, (double[]){at[0] + turn->lo[0], at[1] + turn->lo[1]},
                        (double[]){at[0] + turn->hi[0], at[1] + turn->hi[1]});
        return true;
    }
    for (int i = 0; i < 2; i++) reach[i] = fmax(was ? was->reach[i] : 0, is ? is->reach[i] : 0);
    aoi_find_targets(s, at, aoi_seen_reach(reach, (was && was->outside) || (is && is->outside)));
    return false;
}

bool aoi_stays(const aoi_space *s, const aoi_area_state *was, const aoi_area_state *is, const double *at,
               uint32_t target) {
    if (!was || !is || was->mask != is->mask || was->layers != is->layers || was->outside != is->outside) return false;
    aoi_zone z = aoi_state_zone(s, was, at, target);
    return z != AOI_BETWEEN && aoi_state_zone(s, is, at, target) == z;
}

static void find_among_few(aoi_space *s) {
    const aoi_records *r = &s->records;
    for (uint32_t n = 0; n < r->node_top; n++)
        if (aoi_is_live(r->nodes[n].generation) && aoi_is_bounded(r->nodes + n)) aoi_add_hit(&s->records, n);
    s->records.steps += r->node_top;
}

/* Nodes that see what is outside of their areas see nearly all: every one is a hit, once. */
static void find_outside(aoi_space *s) {
    aoi_records *r = &s->records;
    uint32_t others = 0;
    for (uint32_t i = 0; i < r->hit_count; i++)
        if (!r->nodes[r->hits[i]].outside) r->hits[others++] = r->hits[i];
    r->hit_count = others;
    for (uint32_t i = 0; i < s->outside_count; i++) aoi_add_hit(r, s->outside_nodes[i]);
}

void aoi_find_nodes(aoi_space *s, const double *at, double extent, bool idle, bool by_index) {
    aoi_records *r = &s->records;
    r->hit_count = 0;
    if (r->node_top <= AOI_FEW_WATCHERS && !by_index) find_among_few(s);
    else aoi_grid_watchers(&s->index.grid, &(aoi_grid_target){at, at, extent, 0, true}, idle);
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = r->nodes[n].home) aoi_add_hit(r, n);
    if (s->outside_count) find_outside(s);
}

void aoi_find_watchers(aoi_space *s, uint32_t entity, double extent, bool idle, bool by_index) {
    aoi_records *r = &s->records;
    aoi_find_nodes(s, r->entities[entity].pos, extent, idle, by_index);
    uint32_t others = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) /* an entity does not watch itself */
        if (r->nodes[r->hits[i]].owner != entity) r->hits[others++] = r->hits[i];
    r->hit_count = others;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

bool aoi_answer_ready(aoi_space *s, size_t count, bool pairs) {
    aoi_memory *m = &s->records.memory;
    bool ready = !s->records.failed && AOI_GROW(m, s->ids_out, s->ids_cap, count) &&
                 (!pairs || AOI_GROW(m, s->nodes_out, s->nodes_cap, count));
    s->records.failed = false;
    s->answer_count = 0;
    return ready;
}

bool aoi_node_sees(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->records.nodes + node;
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
    const aoi_records *r = &s->records;
    const aoi_node_record *n = r->nodes + node;
    const aoi_entity_record *t = r->entities + target;
    if ((n->flags & (AOI_NODE_PLAIN | AOI_NODE_OVERRIDES)) == AOI_NODE_PLAIN && !aoi_is_large(s, target))
        return aoi_layers_meet(s, node, target) && (n->mask & t->kind) && target != n->owner &&
               aoi_in_box(r->dims, r->entities[n->owner].pos, t->pos, n->reach[0]);
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
    const aoi_entity_record *entities = s->records.entities;
    const uint32_t *hits = s->records.hits, count = s->records.hit_count, owner = n->owner;
    const double *at = entities[owner].pos, reach = n->reach[0];
    const uint64_t mask = n->mask;
    const int dims = s->records.dims;
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
    const aoi_records *w = &s->records;
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
    const aoi_node_record *n = s->records.nodes + node;
    s->ids_out[s->answer_count] = s->records.entities[n->owner].id;
    s->nodes_out[s->answer_count] = n->node_id;
    s->answer_count += counts;
}

int aoi_viewers(aoi_space *s, aoi_entity handle, const int64_t **ids, const int64_t **nodes, size_t *count) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_settle(s)) return AOI_ENOMEM;
    const aoi_records *w = &s->records;
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
        s->ids_out[s->answer_count] = s->records.entities[r->end[1]].id;
        s->nodes_out[s->answer_count] = aoi_how_of(r);
        s->answer_count += aoi_how_of(r) != AOI_BY_RULE;
    }
    *hows = s->nodes_out;
    return aoi_give(s, targets, count);
}

int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count) {
    const aoi_records *r = &s->records;
    if (!aoi_answer_ready(s, r->entity_count, false)) return AOI_ENOMEM;
    for (uint32_t e = 0; e < r->entity_top; e++)
        if (aoi_is_live(r->entities[e].generation)) s->ids_out[s->answer_count++] = r->entities[e].id;
    return aoi_give(s, ids, count);
}

/* ---- one thing --------------------------------------------------------------------------------------------------- */

static aoi_node node_handle(const aoi_space *s, uint32_t n) {
    return n == AOI_NONE ? (aoi_node){0, 0} : (aoi_node){n, s->records.nodes[n].generation};
}

aoi_node aoi_find_node(const aoi_space *s, aoi_entity handle, int64_t node_id) {
    uint32_t e = aoi_entity_slot(s, handle);
    return node_handle(s, e == AOI_NONE ? AOI_NONE : aoi_node_of(&s->records, &s->chains, e, node_id));
}

aoi_node aoi_first_node(const aoi_space *s, aoi_entity handle) {
    uint32_t e = aoi_entity_slot(s, handle);
    return node_handle(s, e == AOI_NONE ? AOI_NONE : s->records.entities[e].nodes);
}

aoi_node aoi_next_node(const aoi_space *s, aoi_node handle) {
    uint32_t n = aoi_node_slot(s, handle);
    return node_handle(s, n == AOI_NONE ? AOI_NONE : s->records.nodes[n].next);
}

bool aoi_position(const aoi_space *s, aoi_entity handle, double *pos) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return false;
    const double *at = aoi_position_now(s, e);
    for (int a = 0; a < s->records.dims; a++) pos[a] = at[a];
    return true;
}

void aoi_describe_node(const aoi_space *s, uint32_t node, aoi_area *area) {
    aoi_area_state is = aoi_state_of(s, node);
    aoi_area_describe(&is, area);
    area->user_data = aoi_user_data_of(s, node);
    area->label = aoi_label_of(s, node);
    area->silent = (s->records.nodes[node].flags & AOI_NODE_SILENT) != 0;
    area->crosses = s->records.nodes[node].crosses;
}

bool aoi_area_of(const aoi_space *s, aoi_node handle, aoi_area *area) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) aoi_describe_node(s, n, area);
    return n != AOI_NONE;
}

bool aoi_node_id(const aoi_space *s, aoi_node handle, int64_t *node_id) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) *node_id = s->records.nodes[n].node_id;
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
    const aoi_records *r = &s->records;
    *entity = *node = to;
    for (uint32_t e = 0; e < r->entity_top; e++)
        if (r->entities[e].generation & 1) keep_lowest(r->entities[e].id, from, entity);
    for (uint32_t n = 0; n < r->node_top; n++)
        if ((r->nodes[n].generation & 1) || r->nodes[n].pending) keep_lowest(r->nodes[n].node_id, from, node);
}

size_t aoi_count(const aoi_space *s) {
    return s->records.entity_count;
}

int aoi_dimensions(const aoi_space *s) {
    return s->records.dims;
}

void aoi_read_stats(const aoi_space *s, aoi_stats *out) {
    *out = (aoi_stats){.entities = s->records.entity_count,
                       .nodes = s->node_count,
                       .events = s->taken,
                       .pending = aoi_pending(s),
                       .memory = s->records.memory.used,
                       .candidates = s->candidates,
                       .steps = s->records.steps,
                       .pairs = s->kept.count};
    aoi_grid_stats(&s->index.grid, out);
}
