/* query.c - questions.  They change nothing but the buffers in which the space leaves its answers. */
#include "core/rule.h"
#include "core/space.h"

/* ---- the engine's queries, with what the space keeps to itself -------------------------------------------------------- */

static void find_box(aoi_space *s, const double *lo, const double *hi) {
    s->found.count = 0;
    s->engine->class->targets(s->engine, lo, hi);
}

void aoi_find_targets(aoi_space *s, const double *at, double reach) {
    double lo[3], hi[3];
    for (int a = 0; a < s->world.dims; a++) {
        lo[a] = at[a] - reach;
        hi[a] = at[a] + reach;
    }
    if (!isinf(reach)) {
        find_box(s, lo, hi);
        return;
    }
    s->found.count = 0;
    for (uint32_t e = 0; e < s->world.entity_top; e++)
        if (aoi_alive(s->world.entities[e].generation)) aoi_found(&s->world, e);
}

void aoi_find_watchers(aoi_space *s, uint32_t entity) {
    s->found.count = 0;
    s->engine->class->watchers(s->engine, s->world.entities[entity].pos);
    for (uint32_t n = s->everywhere; n != AOI_NONE; n = s->world.nodes[n].home) aoi_found(&s->world, n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->found.count; i++) /* nobody watches himself */
        if (s->world.nodes[s->found.items[i]].owner != entity) s->found.items[kept++] = s->found.items[i];
    s->found.count = kept;
}

/* ---- answers ------------------------------------------------------------------------------------------------------------ */

static void answer(aoi_space *s, int64_t id, const int64_t *node_id) {
    aoi_memory *m = &s->world.memory;
    if (s->failed || !AOI_GROW(m, s->ids_out, s->ids_cap, s->answer_count + (size_t)1) ||
        (node_id && !AOI_GROW(m, s->nodes_out, s->nodes_cap, s->answer_count + (size_t)1))) {
        s->failed = true;
        return;
    }
    s->ids_out[s->answer_count] = id;
    if (node_id) s->nodes_out[s->answer_count] = *node_id;
    s->answer_count++;
}

static int answered(aoi_space *s, const int64_t **ids, size_t *count) {
    bool failed = s->failed;
    s->failed = false;
    if (failed) return AOI_ENOMEM;
    *ids = s->ids_out;
    *count = s->answer_count;
    return AOI_OK;
}

static bool plainly_sees(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->world.nodes + node;
    const aoi_entity_record *t = s->world.entities + target;
    aoi_area a = aoi_node_area(s, node);
    return target != n->owner && aoi_rule(s->world.dims, &a, s->world.entities[n->owner].pos, t->pos, t->kind, false);
}

int aoi_view(aoi_space *s, aoi_node handle, const int64_t **ids, size_t *count) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    const aoi_node_record *n = s->world.nodes + node;
    s->answer_count = 0;
    if (n->by_pair) {
        for (uint32_t i = n->targets; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_NODE])
            if (s->pairs.pairs[i].seen) answer(s, s->world.entities[s->pairs.pairs[i].end[AOI_BY_TARGET]].id, NULL);
    } else {
        aoi_find_targets(s, s->world.entities[n->owner].pos, n->reach);
        for (uint32_t i = 0; i < s->found.count; i++)
            if (plainly_sees(s, node, s->found.items[i])) answer(s, s->world.entities[s->found.items[i]].id, NULL);
    }
    return answered(s, ids, count);
}

int aoi_viewers(aoi_space *s, aoi_entity handle, const int64_t **ids, const int64_t **nodes, size_t *count) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e == AOI_NONE) return AOI_EGONE;
    s->answer_count = 0;
    for (uint32_t i = s->world.entities[e].watched; i != AOI_NONE; i = s->pairs.pairs[i].next[AOI_BY_TARGET]) {
        const aoi_node_record *n = s->world.nodes + s->pairs.pairs[i].end[AOI_BY_NODE];
        if (s->pairs.pairs[i].seen) answer(s, s->world.entities[n->owner].id, &n->node_id);
    }
    aoi_find_watchers(s, e);
    for (uint32_t i = 0; i < s->found.count; i++) {
        const aoi_node_record *n = s->world.nodes + s->found.items[i];
        if (!n->by_pair && plainly_sees(s, s->found.items[i], e))
            answer(s, s->world.entities[n->owner].id, &n->node_id);
    }
    *nodes = s->nodes_out;
    return answered(s, ids, count);
}

int aoi_near(aoi_space *s, const double *pos, double radius, uint64_t mask, const int64_t **ids, size_t *count) {
    if (!aoi_finite(s, pos) || !(radius >= 0)) return AOI_EVALUE;
    s->answer_count = 0;
    aoi_find_targets(s, pos, radius);
    for (uint32_t i = 0; i < s->found.count; i++) {
        const aoi_entity_record *t = s->world.entities + s->found.items[i];
        if ((t->kind & mask) && aoi_in_box(s->world.dims, pos, t->pos, radius)) answer(s, t->id, NULL);
    }
    return answered(s, ids, count);
}

int aoi_ids(aoi_space *s, const int64_t **ids, size_t *count) {
    s->answer_count = 0;
    for (uint32_t e = 0; e < s->world.entity_top; e++)
        if (aoi_alive(s->world.entities[e].generation)) answer(s, s->world.entities[e].id, NULL);
    return answered(s, ids, count);
}

/* ---- one thing --------------------------------------------------------------------------------------------------------- */

static aoi_node node_handle(const aoi_space *s, uint32_t n) {
    return n == AOI_NONE ? 0 : aoi_handle(s->world.nodes[n].generation, n);
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

aoi_node aoi_following_node(const aoi_space *s, aoi_node handle) {
    uint32_t n = aoi_node_slot(s, handle);
    return node_handle(s, n == AOI_NONE ? AOI_NONE : s->world.nodes[n].next);
}

const double *aoi_position(const aoi_space *s, aoi_entity handle) {
    uint32_t e = aoi_entity_slot(s, handle);
    return e == AOI_NONE ? NULL : s->world.entities[e].pos;
}

bool aoi_kind(const aoi_space *s, aoi_entity handle, uint64_t *kind) {
    uint32_t e = aoi_entity_slot(s, handle);
    if (e != AOI_NONE) *kind = s->world.entities[e].kind;
    return e != AOI_NONE;
}

bool aoi_area_of(const aoi_space *s, aoi_node handle, aoi_area *area) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) *area = aoi_node_area(s, n);
    return n != AOI_NONE;
}

bool aoi_node_id(const aoi_space *s, aoi_node handle, int64_t *node_id) {
    uint32_t n = aoi_node_slot(s, handle);
    if (n != AOI_NONE) *node_id = s->world.nodes[n].node_id;
    return n != AOI_NONE;
}

bool aoi_sees(const aoi_space *s, aoi_node handle, aoi_entity target) {
    uint32_t node = aoi_node_slot(s, handle), t = aoi_entity_slot(s, target);
    if (node == AOI_NONE || t == AOI_NONE) return false;
    if (!s->world.nodes[node].by_pair) return plainly_sees(s, node, t);
    uint32_t p = aoi_pairs_find(&s->pairs, node, t);
    return p != AOI_NONE && s->pairs.pairs[p].seen;
}

size_t aoi_count(const aoi_space *s) {
    return s->entity_count;
}

int aoi_dimensions(const aoi_space *s) {
    return s->world.dims;
}

void aoi_read_stats(const aoi_space *s, aoi_stats *out) {
    *out = (aoi_stats){.entities = s->entity_count,
                       .nodes = s->node_count,
                       .events = s->taken,
                       .pending = s->queue.count,
                       .memory = s->world.memory.used,
                       .candidates = s->candidates,
                       .steps = s->engine->steps,
                       .pairs = s->pairs.index.count};
    s->engine->class->stats(s->engine, out);
}
