/* check.c - checks the invariants of the space and of its index, and the grid's answers against brute force. */
#include <stdarg.h>
#include <stdio.h>

#include "core/space.h"

const char *aoi_wrong(aoi_space *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return s->why;
}

/* Whether all points within the edges of a plain box are inside. */
static bool has_plain_edges(const aoi_world *w, uint32_t node) {
    aoi_bounds b = aoi_bounds_of(w, node);
    bool inside = true;
    for (int a = 0; a < w->dims && b.plain && b.reach[a] <= DBL_MAX; a++) {
        double at[3] = {0}, edge[3] = {0};
        edge[a] = b.reach[a];
        inside = inside && aoi_zone_of(w->dims, b.shape, w->areas + node, at, edge) == AOI_INSIDE;
    }
    return inside;
}

/* Whether the bounds follow from the area as it was given. */
static bool has_its_bounds(aoi_space *s, uint32_t node) {
    aoi_world *w = &s->world;
    aoi_area_state has = aoi_state_of(s, node), wanted;
    aoi_area given;
    aoi_area_describe(&has, &given);
    if (aoi_area_fault(w->dims, &given)) return false;
    if (!aoi_area_borrow(&w->memory, &w->shape_scratch, w->dims, &given, &wanted)) return w->failed = true;
    int flags = w->nodes[node].flags;
    aoi_bounds a = aoi_bounds_from(w->dims, &has, flags), b = aoi_bounds_from(w->dims, &wanted, flags);
    bool plain = wanted.shape == AOI_SQUARE && !wanted.margined;
    return aoi_same_bounds(&a, &b) && has.margined == wanted.margined && has_plain_edges(w, node) &&
           plain == ((flags & AOI_NODE_PLAIN) != 0);
}

static const char *check_node(aoi_space *s, uint32_t owner, uint32_t node) {
    const aoi_node_record *n = s->world.nodes + node;
    long long id = s->world.entities[owner].id;
    if (n->owner != owner || !aoi_is_live(n->generation))
        return aoi_wrong(s, "entity %lld carries a node of another", id);
    if (!has_its_bounds(s, node))
        return aoi_wrong(s, "node %lld of entity %lld has the wrong bounds", (long long)n->node_id, id);
    return NULL;
}

static const char *check_entities(aoi_space *s) {
    const aoi_world *w = &s->world;
    uint32_t live = 0, nodes = 0, indexed = 0;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        const aoi_entity_record *r = w->entities + e;
        if (!aoi_is_live(r->generation)) continue;
        live++;
        if (!aoi_is_place(s, r->pos)) return aoi_wrong(s, "entity %lld has no position", (long long)r->id);
        if (aoi_slot_of_id(s, r->id) != e) return aoi_wrong(s, "entity %lld is not found by its id", (long long)r->id);
        if (r->mover != AOI_NONE) return aoi_wrong(s, "entity %lld is left over from a batch", (long long)r->id);
        for (uint32_t n = r->nodes; n != AOI_NONE; n = w->nodes[n].next) {
            if (++nodes > s->node_count) return "the chains of nodes are longer than their count";
            const char *wrong = check_node(s, e, n);
            if (wrong) return wrong;
        }
        if (!aoi_chain_is_sound(w, &s->chains, e, &indexed))
            return aoi_wrong(s, "a node of entity %lld is not found by its id", (long long)r->id);
    }
    if (indexed != s->chains.by_id.count) return "nodes that are gone are in the index";
    if (live != w->entity_count || s->ids.count != live) return "entities are counted wrongly";
    if (nodes != s->node_count) return "nodes are counted wrongly";
    return aoi_shapes_check(w);
}

/* The zone of a live pair whose kind and mask meet; OUTSIDE for any other. */
static aoi_zone checked_zone(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_world *w = &s->world;
    const aoi_node_record *n = w->nodes + node;
    if (target == n->owner || !aoi_pair_meets(s, node, target)) return AOI_OUTSIDE;
    return aoi_pair_zone(s, node, target, w->entities[n->owner].pos, w->entities[target].pos);
}

/* Only pairs in the zone BETWEEN are kept. */
static const char *check_kept(aoi_space *s) {
    const aoi_world *w = &s->world;
    uint32_t count = 0;
    for (uint32_t n = 0; n < w->node_top && s->kept.count; n++) {
        if (!aoi_is_live(w->nodes[n].generation)) continue;
        for (uint32_t e = 0; e < w->entity_top; e++) {
            if (!aoi_is_live(w->entities[e].generation)) continue;
            bool changed = aoi_pair_table_has(&s->kept, n, e | AOI_PAIR_CHANGED);
            if (changed && !(s->deferred && w->nodes[n].outside)) return "a pair is marked that needs no mark";
            count += changed;
            if (!aoi_pair_table_has(&s->kept, n, e)) continue;
            count++;
            if (checked_zone(s, n, e) != AOI_BETWEEN)
                return aoi_wrong(s, "node %lld of entity %lld keeps %lld, which is not between its borders",
                                 (long long)w->nodes[n].node_id, (long long)w->entities[w->nodes[n].owner].id,
                                 (long long)w->entities[e].id);
        }
    }
    return count == s->kept.count ? NULL : "pairs of dead nodes or entities are kept";
}

static bool is_witnessed(const aoi_node_record *n) {
    return aoi_is_live(n->generation) && !(n->flags & (AOI_NODE_SILENT | AOI_NODE_LAYER));
}

/* What has been reported of every pair is what its node sees; layers compare what their own nodes have reported. */
static const char *check_reported(aoi_space *s) {
    const aoi_world *w = &s->world;
    uint32_t count = 0;
    for (uint32_t n = 0; n < w->node_top && AOI_WITNESS; n++)
        for (uint32_t e = 0; e < w->entity_top && is_witnessed(w->nodes + n); e++) {
            if (!aoi_is_live(w->entities[e].generation)) continue;
            bool reported = aoi_pair_table_has(&s->reported, n, e | AOI_PAIR_REPORTED);
            count += reported;
            if (reported != aoi_node_sees(s, n, e))
                return aoi_wrong(s, "node %lld of entity %lld has reported the %s of %lld wrongly",
                                 (long long)w->nodes[n].node_id, (long long)w->entities[w->nodes[n].owner].id,
                                 reported ? "enter" : "leave", (long long)w->entities[e].id);
        }
    return count == s->reported.count ? NULL : "pairs of dead nodes or entities are reported";
}

bool aoi_report_all(aoi_space *s) {
    const aoi_world *w = &s->world;
    for (uint32_t n = 0; n < w->node_top && AOI_WITNESS; n++)
        for (uint32_t e = 0; e < w->entity_top && is_witnessed(w->nodes + n); e++) {
            if (!aoi_is_live(w->entities[e].generation) || !aoi_node_sees(s, n, e)) continue;
            if (!aoi_index_reserve(&s->world.memory, &s->reported, s->reported.count + (size_t)1)) return false;
            aoi_pair_table_add(&s->reported, n, e | AOI_PAIR_REPORTED);
        }
    return true;
}

void aoi_forget_pairs(const aoi_space *s, aoi_index *pairs, uint32_t node, uint32_t bit) {
    for (uint32_t e = 0; e < s->world.entity_top; e++) (void)aoi_pair_table_remove(pairs, node, e | bit);
}

/* Overrides are of live nodes, which are flagged, and of live targets. */
static const char *check_overrides(aoi_space *s) {
    const aoi_world *w = &s->world;
    uint32_t flagged = 0, live = 0;
    for (uint32_t i = 0; i < s->overrides.top; i++) {
        const aoi_override_record *r = s->overrides.records + i;
        if (!r->how) continue;
        live += aoi_is_live(w->nodes[r->end[0]].generation) && aoi_is_live(w->entities[r->end[1]].generation);
        flagged += (w->nodes[r->end[0]].flags & AOI_NODE_OVERRIDES) != 0;
    }
    if (live != aoi_overrides_count(&s->overrides) || flagged != live) return "overrides of what is gone";
    return aoi_overrides_check(&s->overrides);
}

static bool is_hit_once(const aoi_world *w, uint32_t slot) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < w->hit_count; i++) times += w->hits[i] == slot;
    return times == 1;
}

/* In the box on the first two axes: where engines look for targets. */
static bool in_box(const aoi_world *w, uint32_t node, const double *at) {
    const aoi_node_record *n = w->nodes + node;
    const double *p = w->entities[n->owner].pos;
    return aoi_in_side(p[0], at[0], n->reach[0]) & aoi_in_side(p[1], at[1], n->reach[1]);
}

/* Whether the target is inside or between the borders: a search for watchers must find such a pair. */
static bool in_reach(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_entity_record *e = s->world.entities;
    return aoi_pair_zone(s, node, target, e[s->world.nodes[node].owner].pos, e[target].pos) != AOI_OUTSIDE;
}

/* Every node against every entity: the grid must find each target within bounds once, and each entity where it is. */
static const char *check_targets(aoi_space *s) {
    const aoi_world *w = &s->world;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        if (!aoi_is_live(w->entities[e].generation)) continue;
        aoi_find_in_box(s, w->entities[e].pos, w->entities[e].pos);
        if (!is_hit_once(w, e))
            return aoi_wrong(s, "the grid does not find entity %lld where it is", (long long)w->entities[e].id);
    }
    for (uint32_t n = 0; n < w->node_top; n++) {
        if (!aoi_is_live(w->nodes[n].generation)) continue;
        const aoi_entity_record *owner = w->entities + w->nodes[n].owner;
        aoi_find_targets(s, owner->pos, w->nodes[n].reach);
        for (uint32_t e = 0; e < w->entity_top; e++) {
            if (!aoi_is_live(w->entities[e].generation) || e == w->nodes[n].owner) continue;
            bool near = aoi_is_large(s, e) ? in_reach(s, n, e) : in_box(w, n, w->entities[e].pos);
            if (near && !is_hit_once(w, e))
                return aoi_wrong(s, "the grid does not find entity %lld near entity %lld", (long long)w->entities[e].id,
                                 (long long)owner->id);
        }
    }
    return NULL;
}

static const char *check_watchers(aoi_space *s) {
    const aoi_world *w = &s->world;
    for (uint32_t e = 0; e < w->entity_top; e++) {
        if (!aoi_is_live(w->entities[e].generation)) continue;
        aoi_find_watchers(s, e, aoi_extent_of(s, e), true, true);
        for (uint32_t n = 0; n < w->node_top; n++) {
            const aoi_node_record *k = w->nodes + n;
            if (!aoi_is_live(k->generation) || k->owner == e) continue;
            if ((k->outside || in_reach(s, n, e)) && !is_hit_once(w, n))
                return aoi_wrong(s, "the grid does not find node %lld of entity %lld around entity %lld",
                                 (long long)k->node_id, (long long)w->entities[k->owner].id,
                                 (long long)w->entities[e].id);
        }
    }
    return NULL;
}

const char *aoi_check(aoi_space *s) {
    const char *wrong = aoi_settle(s) ? check_entities(s) : "not enough memory";
    if (!wrong) wrong = check_kept(s);
    if (!wrong) wrong = check_reported(s);
    if (!wrong) wrong = check_overrides(s);
    if (!wrong) wrong = aoi_check_seats(s);
    if (!wrong) wrong = aoi_check_looks(s);
    if (!wrong) wrong = aoi_queue_check(&s->queue);
    if (!wrong && s->layers) wrong = aoi_layers_see(s) ? aoi_layers_check(s->layers) : "not enough memory";
    if (!wrong) wrong = aoi_broad_check(&s->index);
    if (!wrong) wrong = check_targets(s);
    if (!wrong) wrong = check_watchers(s);
    if (s->world.failed) { /* memory ran out in a query: no verdict */
        s->world.failed = false;
        return "not enough memory";
    }
    return wrong;
}
