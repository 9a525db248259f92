/* query.c - questions.  They change nothing but the buffers in which the space leaves its answers. */
#include "core/space.h"

/* ---- the engine's queries, with what the space keeps to itself ---------------------------------------------------- */

void aoi_find_targets(aoi_space *s, const double *at, const double *reach) {
    aoi_world *w = &s->world;
    w->hit_count = 0;
    if (reach[0] <= DBL_MAX && reach[1] <= DBL_MAX) {
        double lo[2] = {at[0] - reach[0], at[1] - reach[1]}, hi[2] = {at[0] + reach[0], at[1] + reach[1]};
        s->engine->class->targets(s->engine, lo, hi);
        return;
    }
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_is_live(w->entities[e].generation)) aoi_add_hit(w, e);
}

void aoi_find_watchers(aoi_space *s, uint32_t entity) {
    aoi_world *w = &s->world;
    w->hit_count = 0;
    s->engine->class->watchers(s->engine, w->entities[entity].pos);
    for (uint32_t n = s->unbounded; n != AOI_NONE; n = w->nodes[n].home) aoi_add_hit(w, n);
    uint32_t others = 0;
    for (uint32_t i = 0; i < w->hit_count; i++) /* an entity does not watch itself */
        if (w->nodes[w->hits[i]].owner != entity) w->hits[others++] = w->hits[i];
    w->hit_count = others;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Room for all hits; false when memory is refused, now or when they were found. */
static bool answer_ready(aoi_space *s, size_t count, bool pairs) {
    aoi_memory *m = &s->world.memory;
    bool ready = !s->world.failed && AOI_GROW(m, s->ids_out, s->ids_cap, count) &&
                 (!pairs || AOI_GROW(m, s->nodes_out, s->nodes_cap, count));
    s->world.failed = false;
    s->answer_count = 0;
    return ready;
}

/* By where both are; the index may have them elsewhere for a while. */
static bool node_sees(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->world.nodes + node;
    if (target == n->owner || !(s->world.entities[target].kind & n->mask)) return false;
    aoi_zone z = aoi_zone_of(s->world.dims, n->shape, s->world.areas + node, aoi_position_now(s, n->owner),
                             aoi_position_now(s, target));
    return z == AOI_INSIDE || (z == AOI_BETWEEN && aoi_pair_table_has(&s->kept, node, target));
}

int aoi_view(aoi_space *s, aoi_node handle, const int64_t **ids, size_t *count) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    if (!aoi_ready(s)) return AOI_ENOMEM;
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    aoi_find_targets(s, w->entities[n->owner].pos, n->reach);
    if (!answer_ready(s, w->hit_count, false)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < w->hit_count; i++)
        if (node_sees(s, node, w->hits[i])) s->ids_out[s->answer_count++] = w->entities[w->hits[i]].id;
    *ids = s->ids_out;
    *count = s->answer_count;
    return AOI_OK;
}

int aoi_viewers(aoi_space *s, aoi_entity handle, const int64_t **ids, const int64_t **nodes, size_t *count) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_ready(s)) return AOI_ENOMEM;
    const aoi_world *w = &s->world;
    aoi_find_watchers(s, e);
    if (!answer_ready(s, w->hit_count, true)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_node_record *n = w->nodes + w->hits[i];
        if (!node_sees(s, w->hits[i], e)) continue;
        s->ids_out[s->answer_count] = w->entities[n->owner].id;
        s->nodes_out[s->answer_count++] = n->node_id;
    }
    *ids = s->ids_out;
    *nodes = s->nodes_out;
    *count = s->answer_count;
    return AOI_OK;
}

int aoi_near(aoi_space *s, const double *pos, double radius, uint64_t mask, const int64_t **ids, size_t *count) {
    if (!aoi_finite(s, pos) || !(radius >= 0)) return AOI_EVALUE;
    if (!aoi_ready(s)) return AOI_ENOMEM;
    const aoi_world *w = &s->world;
    aoi_find_targets(s, pos, (double[2]){radius, radius});
    if (!answer_ready(s, w->hit_count, false)) return AOI_ENOMEM;
    for (uint32_t i = 0; i < w->hit_count; i++) {
        const aoi_entity_record *t = w->entities + w->hits[i];
        if ((t->kind & mask) && aoi_in_box(w->dims, pos, t->pos, radius)) s->ids_out[s->answer_count++] = t->id;
    }
    *ids = s->ids_out;
    *count = s->answer_count;
    return AOI_OK;
}

int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count) {
    const aoi_world *w = &s->world;
    if (!answer_ready(s, w->entity_count, false)) return AOI_ENOMEM;
    for (uint32_t e = 0; e < w->entity_top; e++)
        if (aoi_is_live(w->entities[e].generation)) s->ids_out[s->answer_count++] = w->entities[e].id;
    *ids = s->ids_out;
    *count = s->answer_count;
    return AOI_OK;
}

/* ---- one thing --------------------------------------------------------------------------------------------------- */

static aoi_node node_handle(const aoi_space *s, uint32_t n) {
    return n == AOI_NONE ? (aoi_node){0, 0} : (aoi_node){n, s->world.nodes[n].generation};
}

aoi_node aoi_find_node(const aoi_space *s, aoi_entity handle, int64_t node_id) {
    uint32_t e = aoi_entity_slot(s, handle), n = e == AOI_NONE ? AOI_NONE : s->world.entities[e].nodes;
    while (n != AOI_NONE && s->world.nodes[n].node_id != node_id) n = s->world.nodes[n].next;
    return node_handle(s, n);
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

bool aoi_kind(const aoi_space *s, aoi_entity handle, uint64_t *kind) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e != AOI_NONE) *kind = s->world.entities[e].kind;
    return e != AOI_NONE;
}

bool aoi_area_of(const aoi_space *s, aoi_node handle, aoi_area *area) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n == AOI_NONE) return false;
    const aoi_node_record *r = s->world.nodes + n;
    const aoi_area_record *a = s->world.areas + n;
    *area = (aoi_area){.radius = a->radius,
                       .keep = a->keep,
                       .mask = r->mask,
                       .shape = r->shape,
                       .silent = (r->flags & AOI_NODE_SILENT) != 0,
                       .user_data = a->user_data};
    return true;
}

bool aoi_node_id(const aoi_space *s, aoi_node handle, int64_t *node_id) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) *node_id = s->world.nodes[n].node_id;
    return n != AOI_NONE;
}

bool aoi_sees(const aoi_space *s, aoi_node handle, aoi_entity target) {
    uint32_t node = aoi_node_slot(s, handle), t = aoi_entity_slot(s, target);
    return node != AOI_NONE && t != AOI_NONE && node_sees(s, node, t);
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
                       .pending = s->queue.count,
                       .memory = s->world.memory.used,
                       .candidates = s->candidates,
                       .steps = s->engine->steps,
                       .pairs = s->kept.count};
    s->engine->class->stats(s->engine, out);
}
