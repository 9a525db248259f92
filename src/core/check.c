/* check.c - what nodes have reported, pairs that are kept and answers of the grid, all compared with brute force; and of
 * the records what a stray write would destroy. */
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
static bool has_plain_edges(const aoi_records *r, uint32_t node) {
    aoi_bounds b = aoi_bounds_of(r, node);
    bool inside = true;
    for (int a = 0; a < r->dims && b.plain && b.reach[a] <= DBL_MAX; a++) {
        double at[3] = {0}, edge[3] = {0};
        edge[a] = b.reach[a];
        inside = inside && aoi_zone_of(r->dims, b.shape, r->areas + node, at, edge) == AOI_INSIDE;
    }
    return inside;
}

/* Whether the bounds follow from the area as it was given. */
static bool has_its_bounds(aoi_space *s, uint32_t node) {
    aoi_records *r = &s->records;
    aoi_area_state has = aoi_state_of(s, node), wanted;
    aoi_area given;
    aoi_area_describe(&has, &given);
    if (aoi_area_fault(r->dims, &given)) return false;
    if (!aoi_area_borrow(r, &given, &wanted)) return r->failed = true;
    int flags = r->nodes[node].flags;
    aoi_bounds a = aoi_bounds_from(r->dims, &has, flags), b = aoi_bounds_from(r->dims, &wanted, flags);
    bool plain = wanted.shape == AOI_SQUARE && !wanted.margined;
    return aoi_same_bounds(&a, &b) && has.margined == wanted.margined && has_plain_edges(r, node) &&
           plain == ((flags & AOI_NODE_PLAIN) != 0);
}

static const char *check_node(aoi_space *s, uint32_t owner, uint32_t node) {
    const aoi_node_record *n = s->records.nodes + node;
    long long id = s->records.entities[owner].id;
    if (n->owner != owner || !aoi_is_live(n->generation))
        return aoi_wrong(s, "entity %lld carries a node of another", id);
    if (aoi_node_of(&s->records, &s->chains, owner, n->node_id) != node)
        return aoi_wrong(s, "a node of entity %lld is not found by its id", id);
    if (!has_its_bounds(s, node))
        return aoi_wrong(s, "node %lld of entity %lld has the wrong bounds", (long long)n->node_id, id);
    return NULL;
}

static const char *check_entities(aoi_space *s) {
    const aoi_records *w = &s->records;
    uint32_t live = 0, nodes = 0;
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
    }
    if (live != w->entity_count || s->ids.count != live) return "entities are counted wrongly";
    if (nodes != s->node_count) return "nodes are counted wrongly";
    return NULL;
}

/* The zone of a live pair whose kind and mask meet; OUTSIDE for any other. */
static aoi_zone checked_zone(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_records *r = &s->records;
    const aoi_node_record *n = r->nodes + node;
    if (target == n->owner || !aoi_pair_meets(s, node, target)) return AOI_OUTSIDE;
    return aoi_pair_zone(s, node, target, r->entities[n->owner].pos, r->entities[target].pos);
}

/* Only pairs in the zone BETWEEN are kept. */
static const char *check_kept(aoi_space *s) {
    const aoi_records *r = &s->records;
    uint32_t count = 0;
    for (uint32_t n = 0; n < r->node_top && s->kept.count; n++) {
        if (!aoi_is_live(r->nodes[n].generation)) continue;
        for (uint32_t e = 0; e < r->entity_top; e++) {
            if (!aoi_is_live(r->entities[e].generation)) continue;
            bool changed = aoi_pair_table_has(&s->kept, n, e | AOI_PAIR_CHANGED);
            if (changed && !(s->deferred && r->nodes[n].outside)) return "a pair is marked that needs no mark";
            count += changed;
            if (!aoi_pair_table_has(&s->kept, n, e)) continue;
            count++;
            if (checked_zone(s, n, e) != AOI_BETWEEN)
                return aoi_wrong(s, "node %lld of entity %lld keeps %lld, which is not between its borders",
                                 (long long)r->nodes[n].node_id, (long long)r->entities[r->nodes[n].owner].id,
                                 (long long)r->entities[e].id);
        }
    }
    return count == s->kept.count ? NULL : "pairs of dead nodes or entities are kept";
}

static bool is_witnessed(const aoi_node_record *n) {
    return aoi_is_live(n->generation) && !(n->flags & (AOI_NODE_SILENT | AOI_NODE_PLUGIN));
}

/* What has been reported of every pair is what its node sees; plugins compare what their own nodes have reported. */
static const char *check_reported(aoi_space *s) {
    const aoi_records *r = &s->records;
    uint32_t count = 0;
    for (uint32_t n = 0; n < r->node_top && AOI_WITNESS; n++)
        for (uint32_t e = 0; e < r->entity_top && is_witnessed(r->nodes + n); e++) {
            if (!aoi_is_live(r->entities[e].generation)) continue;
            bool reported = aoi_pair_table_has(&s->reported, n, e | AOI_PAIR_REPORTED);
            count += reported;
            if (reported != aoi_node_sees(s, n, e))
                return aoi_wrong(s, "node %lld of entity %lld has reported the %s of %lld wrongly",
                                 (long long)r->nodes[n].node_id, (long long)r->entities[r->nodes[n].owner].id,
                                 reported ? "enter" : "leave", (long long)r->entities[e].id);
        }
    return count == s->reported.count ? NULL : "pairs of dead nodes or entities are reported";
}

bool aoi_report_all(aoi_space *s) {
    const aoi_records *r = &s->records;
    for (uint32_t n = 0; n < r->node_top && AOI_WITNESS; n++)
        for (uint32_t e = 0; e < r->entity_top && is_witnessed(r->nodes + n); e++) {
            if (!aoi_is_live(r->entities[e].generation) || !aoi_node_sees(s, n, e)) continue;
            if (!aoi_hash_index_reserve(&s->records.memory, &s->reported, s->reported.count + (size_t)1)) return false;
            aoi_pair_table_add(&s->reported, n, e | AOI_PAIR_REPORTED);
        }
    return true;
}

void aoi_forget_pairs(const aoi_space *s, aoi_hash_index *pairs, uint32_t node, uint32_t bit) {
    for (uint32_t e = 0; e < s->records.entity_top; e++) (void)aoi_pair_table_remove(pairs, node, e | bit);
}

static bool is_hit_once(const aoi_records *r, uint32_t slot) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < r->hit_count; i++) times += r->hits[i] == slot;
    return times == 1;
}

/* In the box on the first two axes: where engines look for targets. */
static bool in_box(const aoi_records *r, uint32_t node, const double *at) {
    const aoi_node_record *n = r->nodes + node;
    const double *p = r->entities[n->owner].pos;
    return aoi_in_side(p[0], at[0], n->reach[0]) & aoi_in_side(p[1], at[1], n->reach[1]);
}

/* Whether the target is inside or between the borders: a search for watchers must find such a pair. */
static bool in_reach(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_entity_record *e = s->records.entities;
    return aoi_pair_zone(s, node, target, e[s->records.nodes[node].owner].pos, e[target].pos) != AOI_OUTSIDE;
}

/* Every node against every entity: the grid must find each target within bounds once, and each entity where it is. */
static const char *check_targets(aoi_space *s) {
    const aoi_records *r = &s->records;
    for (uint32_t e = 0; e < r->entity_top; e++) {
        if (!aoi_is_live(r->entities[e].generation)) continue;
        aoi_find_in_box(s, r->entities[e].pos, r->entities[e].pos);
        if (!is_hit_once(r, e))
            return aoi_wrong(s, "the grid does not find entity %lld where it is", (long long)r->entities[e].id);
    }
    for (uint32_t n = 0; n < r->node_top; n++) {
        if (!aoi_is_live(r->nodes[n].generation)) continue;
        const aoi_entity_record *owner = r->entities + r->nodes[n].owner;
        aoi_find_targets(s, owner->pos, r->nodes[n].reach);
        for (uint32_t e = 0; e < r->entity_top; e++) {
            if (!aoi_is_live(r->entities[e].generation) || e == r->nodes[n].owner) continue;
            bool near = aoi_is_large(s, e) ? in_reach(s, n, e) : in_box(r, n, r->entities[e].pos);
            if (near && !is_hit_once(r, e))
                return aoi_wrong(s, "the grid does not find entity %lld near entity %lld", (long long)r->entities[e].id,
                                 (long long)owner->id);
        }
    }
    return NULL;
}

static const char *check_watchers(aoi_space *s) {
    const aoi_records *r = &s->records;
    for (uint32_t e = 0; e < r->entity_top; e++) {
        if (!aoi_is_live(r->entities[e].generation)) continue;
        aoi_find_watchers(s, e, aoi_extent_of(s, e), true, true);
        for (uint32_t n = 0; n < r->node_top; n++) {
            const aoi_node_record *k = r->nodes + n;
            if (!aoi_is_live(k->generation) || k->owner == e) continue;
            if ((k->outside || in_reach(s, n, e)) && !is_hit_once(r, n))
                return aoi_wrong(s, "the grid does not find node %lld of entity %lld around entity %lld",
                                 (long long)k->node_id, (long long)r->entities[k->owner].id,
                                 (long long)r->entities[e].id);
        }
    }
    return NULL;
}

const char *aoi_check(aoi_space *s) {
    const char *wrong = aoi_settle(s) ? check_entities(s) : "not enough memory";
    if (!wrong) wrong = check_kept(s);
    if (!wrong) wrong = check_reported(s);
    if (!wrong) wrong = aoi_check_seats(s);
    if (!wrong && s->plugins) wrong = aoi_plugins_see(s) ? aoi_plugins_check(s->plugins) : "not enough memory";
    if (!wrong) wrong = check_targets(s);
    if (!wrong) wrong = check_watchers(s);
    if (s->records.failed) { /* memory ran out in a query: no verdict */
        s->records.failed = false;
        return "not enough memory";
    }
    return wrong;
}
