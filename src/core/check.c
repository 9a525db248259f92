/* check.c - every invariant of the space, its engine's own, and the engine's answers against brute force. */
#include <stdarg.h>
#include <stdio.h>

#include "core/rule.h"
#include "core/space.h"

static const char *say(aoi_space *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return s->why;
}

static const char *check_entities(aoi_space *s) {
    uint32_t alive = 0, nodes = 0, pair_nodes = 0;
    for (uint32_t e = 0; e < s->world.entity_top; e++) {
        const aoi_entity_record *r = s->world.entities + e;
        if (!aoi_alive(r->generation)) continue;
        alive++;
        if (!aoi_finite(s, r->pos)) return say(s, "entity %lld has no finite position", (long long)r->id);
        if (aoi_slot_of_id(s, r->id) != e) return say(s, "entity %lld is not found by its id", (long long)r->id);
        for (uint32_t n = r->nodes; n != AOI_NONE; n = s->world.nodes[n].next) {
            const aoi_node_record *k = s->world.nodes + n;
            if (++nodes > s->node_count) return say(s, "the chains of nodes are longer than their count");
            pair_nodes += k->by_pair;
            if (k->owner != e || !aoi_alive(k->generation))
                return say(s, "entity %lld carries a node that is not its own", (long long)r->id);
            aoi_area a = aoi_node_area(s, n);
            if (k->reach != aoi_reach(&a) || k->by_pair != aoi_needs_pairs(&a))
                return say(s, "node %lld of entity %lld has the wrong reach", (long long)k->node_id, (long long)r->id);
        }
    }
    if (alive != s->entity_count || s->ids.count != alive) return say(s, "entities are counted wrongly");
    if (nodes != s->node_count || pair_nodes != s->pair_nodes) return say(s, "nodes are counted wrongly");
    return aoi_index_check(&s->ids);
}

static const char *check_pairs(aoi_space *s) {
    uint32_t by_node = 0, by_target = 0, count = s->pairs.index.count;
    for (uint32_t n = 0; n < s->world.node_top; n++) {
        const aoi_node_record *k = s->world.nodes + n;
        if (!aoi_alive(k->generation)) continue;
        for (uint32_t p = k->targets; p != AOI_NONE; p = s->pairs.pairs[p].next[AOI_BY_NODE])
            if (s->pairs.pairs[p].end[AOI_BY_NODE] != n || ++by_node > count)
                return say(s, "the chain of pairs of node %lld is broken", (long long)k->node_id);
    }
    for (uint32_t e = 0; e < s->world.entity_top; e++) {
        const aoi_entity_record *r = s->world.entities + e;
        if (!aoi_alive(r->generation)) continue;
        for (uint32_t p = r->watched; p != AOI_NONE; p = s->pairs.pairs[p].next[AOI_BY_TARGET])
            if (s->pairs.pairs[p].end[AOI_BY_TARGET] != e || ++by_target > count)
                return say(s, "the chain of pairs of entity %lld is broken", (long long)r->id);
    }
    if (by_node != count || by_target != count) return say(s, "pairs are counted wrongly");
    return aoi_index_check(&s->pairs.index);
}

/* A pair with a state must be there exactly when it should, and `seen` must be what the rule allows. */
static const char *check_pair(aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->world.nodes + node;
    const aoi_entity_record *w = s->world.entities + n->owner, *t = s->world.entities + target;
    uint32_t p = aoi_pairs_find(&s->pairs, node, target);
    aoi_area a = aoi_node_area(s, node);
    bool seen = p != AOI_NONE && s->pairs.pairs[p].seen, match = (t->kind & a.mask) != 0;
    bool needed = n->by_pair && match && aoi_in_box(s->world.dims, w->pos, t->pos, n->reach);
    if (n->by_pair && aoi_rule(s->world.dims, &a, w->pos, t->pos, t->kind, seen) != seen)
        return say(s, "node %lld of entity %lld %s %lld", (long long)n->node_id, (long long)w->id,
                   seen ? "still sees" : "misses", (long long)t->id);
    if ((p != AOI_NONE) != (needed || seen))
        return say(s, "node %lld of entity %lld: wrong state for %lld", (long long)n->node_id, (long long)w->id,
                   (long long)t->id);
    return NULL;
}

static bool found(const aoi_space *s, uint32_t slot) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < s->found.count; i++) times += s->found.items[i] == slot;
    return times == 1;
}

/* Every node against every entity: the engine must find all that are inside, each once. */
static const char *check_engine(aoi_space *s) {
    const aoi_world *w = &s->world;
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!aoi_alive(w->nodes[n].generation)) continue;
        const aoi_entity_record *owner = w->entities + w->nodes[n].owner;
        aoi_find_targets(s, owner->pos, w->nodes[n].reach);
        for (uint32_t e = 0; e < w->entity_top; e++) {
            if (!aoi_alive(w->entities[e].generation) || e == w->nodes[n].owner) continue;
            if (aoi_in_box(w->dims, owner->pos, w->entities[e].pos, w->nodes[n].reach) && !found(s, e))
                return say(s, "engine %s does not find entity %lld near entity %lld", s->engine->class->name,
                           (long long)w->entities[e].id, (long long)owner->id);
            const char *wrong = check_pair(s, n, e);
            if (wrong) return wrong;
        }
    }
    for (uint32_t e = 0; e < w->entity_top; e++) {
        if (!aoi_alive(w->entities[e].generation)) continue;
        aoi_find_watchers(s, e);
        for (uint32_t n = 0; n < w->node_top; n++) {
            const aoi_node_record *k = w->nodes + n;
            if (!aoi_alive(k->generation) || k->owner == e) continue;
            if (aoi_in_box(w->dims, w->entities[k->owner].pos, w->entities[e].pos, k->reach) && !found(s, n))
                return say(s, "engine %s does not find node %lld of entity %lld around entity %lld",
                           s->engine->class->name, (long long)k->node_id, (long long)w->entities[k->owner].id,
                           (long long)w->entities[e].id);
        }
    }
    return NULL;
}

const char *aoi_check(aoi_space *s) {
    const char *wrong = check_entities(s);
    if (!wrong) wrong = check_pairs(s);
    if (!wrong) wrong = aoi_queue_check(&s->queue);
    if (!wrong) wrong = s->engine->class->check(s->engine);
    if (!wrong) wrong = check_engine(s);
    if (s->failed) { /* memory ran out in a query: no verdict */
        s->failed = false;
        return "not enough memory";
    }
    return wrong;
}
