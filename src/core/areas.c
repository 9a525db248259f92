/* areas.c - nodes: the areas that entities carry. */
#include <string.h>

#include "core/space.h"

enum { MOST_NODES = 1 << 30 }; /* in one space */

/* ---- slots ------------------------------------------------------------------------------------------------------- */

uint32_t aoi_node_slot(const aoi_space *s, aoi_node n) {
    bool live = n.index < s->records.node_top && aoi_is_live(n.generation) &&
                s->records.nodes[n.index].generation == n.generation;
    return live ? n.index : AOI_NONE;
}

/* The slot of the next node; the chain of unused ones first. */
static uint32_t next_slot(const aoi_space *s) {
    if (s->unused_node != AOI_NONE) return s->unused_node;
    return s->freed_node != AOI_NONE ? s->freed_node : s->records.node_top;
}

static void take_slot(aoi_space *s, uint32_t slot, uint32_t next) {
    if (slot == s->unused_node) s->unused_node = next;
    else if (slot == s->freed_node) s->freed_node = next;
    else s->records.node_top++;
}

static void reuse_slot(aoi_space *s, uint32_t node) {
    s->records.nodes[node].home = s->unused_node;
    s->unused_node = node;
}

/* A queue: slots are used again in one order, however many each call of aoi_next_freed is behind. */
void aoi_release_node(aoi_space *s, uint32_t node) {
    if (s->freed_node == AOI_NONE) s->freed_node = node;
    else s->records.nodes[s->freed_last].home = node;
    s->freed_last = node;
    s->records.nodes[node].home = AOI_NONE;
}

bool aoi_next_freed(aoi_space *s, uint64_t *user_data) {
    uint32_t n = s->freed_node;
    if (n == AOI_NONE) {
        aoi_release_storage(s);
        return false;
    }
    s->freed_node = s->records.nodes[n].home;
    reuse_slot(s, n);
    *user_data = s->records.areas[n].user_data;
    return true;
}

/* ---- in the index ------------------------------------------------------------------------------------------------ */

/* Infinite bounds, but not everything is inside. */
static bool is_unbounded_positional(const aoi_area_state *is) {
    const int shape = is->area.shape ? (int)is->area.shape->of : is->shape;
    return isinf(is->reach[0]) && !((shape == AOI_SQUARE || shape == AOI_CIRCLE) && isinf(is->area.radius));
}

static void add_unbounded(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->records.nodes;
    nodes[node].home = s->unbounded;
    nodes[node].slot = AOI_NONE;
    nodes[node].level = AOI_NONE;
    if (s->unbounded != AOI_NONE) nodes[s->unbounded].slot = node;
    s->unbounded = node;
}

static void remove_unbounded(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->records.nodes, *n = nodes + node;
    if (n->slot != AOI_NONE) nodes[n->slot].home = n->home;
    else s->unbounded = n->home;
    if (n->home != AOI_NONE) nodes[n->home].slot = n->slot;
}

static int index_node(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->records.nodes + node)) return aoi_broad_add_node(&s->index, node) ? AOI_OK : AOI_ENOMEM;
    add_unbounded(s, node);
    return AOI_OK;
}

static void unindex_node(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->records.nodes + node)) aoi_broad_remove_node(&s->index, node);
    else remove_unbounded(s, node);
}

/* ---- nodes that see what is outside ------------------------------------------------------------------------------ */

static bool outside_ready(aoi_space *s, bool outside) {
    return !outside || AOI_GROW(&s->records.memory, s->outside_nodes, s->outside_cap, s->outside_count + (size_t)1);
}

/* Lists a node, or takes it off the list, as it becomes `outside` or ceases to be. */
static void list_outside(aoi_space *s, uint32_t node, bool was, bool is) {
    if (was == is) return;
    if (is) {
        s->outside_nodes[s->outside_count++] = node;
        return;
    }
    uint32_t i = s->outside_count - 1;
    while (s->outside_nodes[i] != node) i--;
    s->outside_nodes[i] = s->outside_nodes[--s->outside_count];
}

/* The node is no longer in its owner's chain, and all leaves of its pairs are recorded. */
void aoi_free_node(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->records.nodes + node;
    if (AOI_WITNESS)
        aoi_forget_pairs(s, &s->reported, node, AOI_PAIR_REPORTED); /* those of a node that is given away */
    unindex_node(s, node);
    list_outside(s, node, n->outside, false);
    if (n->crosses) aoi_remove_crosser(s, node);
    if (s->queue.crosses) aoi_drop_crossings(s, node, AOI_NONE);
    n->crosses = 0;
    s->node_count--;
    aoi_area_state was = aoi_state_of(s, node);
    s->unbounded_positional -= is_unbounded_positional(&was);
    aoi_shape_drop(&s->records, s->records.areas[node].shape);
    s->records.areas[node].shape = NULL;
    aoi_label_put(s, node, NULL);
    if (n->flags & AOI_NODE_OVERRIDES)
        aoi_overrides_drop(&s->records.memory, &s->overrides, AOI_OVERRIDE_BY_NODE, node);
    if (n->flags & AOI_NODE_PLUGIN) s->records.areas[node].user_data = aoi_plugin_node_end(s, node);
    if (++n->generation == 0) return; /* all generations used: the slot retires */
    if (n->pending == 0) aoi_release_node(s, node);
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

static void set_state(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    aoi_node_record *n = s->records.nodes + node;
    s->records.areas[node] = is->area;
    n->reach[0] = is->reach[0];
    n->reach[1] = is->reach[1];
    n->mask = is->mask;
    n->shape = is->shape;
    n->outside = is->outside;
    n->fixed = is->fixed;
    if (is->layered) s->node_layers[node] = is->layers;
    n->flags &= AOI_NODE_SILENT | AOI_NODE_OVERRIDES | AOI_NODE_PLUGIN | AOI_NODE_INDEXED;
    if (is->margined) n->flags |= AOI_NODE_KEEPS;
    else if (is->shape == AOI_SQUARE) n->flags |= AOI_NODE_PLAIN;
    if (is->layered) n->flags |= AOI_NODE_LAYERED;
}

/* ---- adding and removing ----------------------------------------------------------------------------------------- */

static bool node_ready(aoi_records *r, uint32_t node) {
    return node < MOST_NODES && AOI_GROW(&r->memory, r->areas, r->area_cap, node + (size_t)1) &&
           AOI_GROW_LINES(&r->memory, r->nodes, r->node_cap, node + (size_t)1);
}

/* A record for the node, in no chain and no index yet; AOI_NONE when memory is refused. */
static uint32_t new_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area_state *is, int flags) {
    aoi_records *r = &s->records;
    uint32_t node = next_slot(s);
    char *label;
    if (!outside_ready(s, is->outside) || (is->layered && !aoi_node_layers_ready(s, node))) return AOI_NONE;
    if (node == r->node_top) {
        if (!node_ready(r, node)) return AOI_NONE;
        r->nodes[node].generation = s->node_generation;
        r->nodes[node].home = AOI_NONE;
    }
    if (!aoi_label_copy(s, node, is->label, &label)) return AOI_NONE;
    aoi_label_put(s, node, label);
    aoi_node_record *n = r->nodes + node;
    *n = (aoi_node_record){.node_id = node_id,
                           .owner = owner,
                           .next = r->entities[owner].nodes,
                           .generation = n->generation,
                           .home = n->home,
                           .flags = (uint8_t)flags};
    set_state(s, node, is);
    return node;
}

typedef struct new_area { /* the arguments of adding a node */
    aoi_area_state is;
    int flags;            /* as in the node's record */
    const aoi_seen *seen; /* NULL: nothing */
    bool restored;        /* its view is restored: nothing is judged */
    bool crosses;
} new_area;

/* Everything but commit; a failure leaves nothing behind but events, which the caller rolls back. */
static int add_node(aoi_space *s, uint32_t owner, int64_t node_id, new_area *a, uint32_t *out) {
    aoi_area_state *is = &a->is;
    if (!aoi_grid_begin_watch(&s->index.grid) || (a->crosses && !aoi_crosser_ready(s))) return AOI_ENOMEM;
    uint32_t node = *out = new_node(s, owner, node_id, is, a->flags);
    if (node == AOI_NONE) return AOI_ENOMEM;
    aoi_node_record *n = s->records.nodes + node;
    uint32_t unused = n->home;
    if (!is->layered) is->layers = aoi_layers_of(s, owner);
    if (a->seen) aoi_judge_adopted(s, node, is, a->seen);
    else if (!a->restored) aoi_judge_node(s, node, NULL, is);
    if (s->records.failed || !aoi_chain_reserve(&s->records, &s->chains, owner, node) ||
        index_node(s, node) != AOI_OK) {
        n->home = unused;
        aoi_label_put(s, node, NULL);
        return AOI_ENOMEM;
    }
    take_slot(s, node, unused);
    n->generation++;
    aoi_chain_add(&s->records, &s->chains, node);
    s->node_count++;
    s->unbounded_positional += is_unbounded_positional(is);
    list_outside(s, node, false, is->outside);
    n->crosses = a->crosses;
    if (a->crosses) aoi_add_crosser(s, node, s->deferred && !a->restored);
    return AOI_OK;
}

/* Removes a node whose call is refused: it has no events, so its slot is free at once unless it retires. */
static void drop_node(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->records.nodes + node;
    aoi_chain_remove(&s->records, &s->chains, node);
    n->pending = 1; /* holds its slot, which aoi_next_freed must not return */
    aoi_free_node(s, node);
    n->pending = 0;
    if (n->generation != 0) reuse_slot(s, node);
}

static new_area plain_area(const aoi_area *area) {
    return (new_area){.flags = area->silent ? AOI_NODE_SILENT : 0, .crosses = area->crosses};
}

static int add_one(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, new_area a, aoi_node *out) {
    uint32_t owner = aoi_entity_slot(s, handle), node;
    if (owner == AOI_NONE) return AOI_EGONE;
    if (aoi_area_fault(s->records.dims, area) || (area->outside && a.flags & AOI_NODE_PLUGIN)) return AOI_EVALUE;
    if (!AOI_IS_NULL(aoi_find_node(s, handle, node_id))) return AOI_EEXIST;
    if (!aoi_begin(s) || !aoi_area_resolve(&s->records, area, &a.is)) return AOI_ENOMEM;
    aoi_queue_only_new(&s->queue);
    if (add_node(s, owner, node_id, &a, &node) != AOI_OK) {
        aoi_rollback(s);
        aoi_shape_drop(&s->records, a.is.area.shape);
        return AOI_ENOMEM;
    }
    aoi_commit(s);
    if (out) *out = (aoi_node){node, s->records.nodes[node].generation};
    return AOI_OK;
}

int aoi_add_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, aoi_node *out) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ADD_NODE, add_one(s, handle, node_id, area, plain_area(area), out),
                                     .entity = handle, .node_id = node_id, .area = area});
}

int aoi_add_flagged_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, int flags,
                         aoi_node *out) {
    return add_one(s, handle, node_id, area, (new_area){.flags = flags}, out);
}

int aoi_restore_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area *area, uint32_t *out) {
    new_area a = plain_area(area);
    a.restored = true;
    if (!aoi_area_resolve(&s->records, area, &a.is)) return AOI_ENOMEM;
    int result = add_node(s, owner, node_id, &a, out);
    if (result != AOI_OK) aoi_shape_drop(&s->records, a.is.area.shape);
    return result;
}

/* Makes a removed node: no entity carries it, and its slot is free once its last event is taken. */
bool aoi_restore_gone_node(aoi_space *s, int64_t node_id, uint64_t user_data, uint32_t *out) {
    aoi_records *r = &s->records;
    uint32_t node = *out = r->node_top;
    if (!node_ready(r, node)) return false;
    r->nodes[node] = (aoi_node_record){.node_id = node_id, .generation = 2};
    r->areas[node] = (aoi_area_record){.user_data = user_data};
    r->node_top++;
    return true;
}

int aoi_adopt_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, const int64_t *seen,
                   size_t count, aoi_node *out) {
    aoi_memory *m = &s->records.memory;
    if (!count && !area->outside) return aoi_add_node(s, handle, node_id, area, out);
    size_t marks = (s->records.entity_top + (size_t)63) / 64;
    if (count > SIZE_MAX / sizeof(int64_t) - marks) return AOI_ENOMEM;
    size_t size = count * sizeof(int64_t) + marks * sizeof(uint64_t);
    int64_t *room = aoi_resize(m, NULL, 0, size);
    if (!room) return AOI_ENOMEM;
    const aoi_seen saw = {seen, count, room, (uint64_t *)(room + count)};
    memset(saw.marks, 0, marks * sizeof(uint64_t));
    new_area a = plain_area(area);
    a.seen = &saw;
    int result = add_one(s, handle, node_id, area, a, out);
    aoi_resize(m, room, size, 0);
    return aoi_logged(s, &(aoi_call){AOI_CALL_ADOPT_NODE, result, .entity = handle, .node_id = node_id, .area = area,
                                     .ids = seen, .count = count});
}

static int add_to_each(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                       size_t *bad) {
    new_area a = plain_area(area);
    size_t ignored, i = 0;
    int result = AOI_OK;
    uint32_t node;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (aoi_area_fault(s->records.dims, area)) return AOI_EVALUE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n && result == AOI_OK; i += result == AOI_OK) {
        uint32_t owner = aoi_entity_slot(s, entities[i]);
        if (owner == AOI_NONE) result = AOI_EGONE;
        else if (!AOI_IS_NULL(aoi_find_node(s, entities[i], node_id))) result = AOI_EEXIST;
        else if (!aoi_area_resolve(&s->records, area, &a.is)) result = AOI_ENOMEM;
        else if ((result = add_node(s, owner, node_id, &a, &node)) != AOI_OK)
            aoi_shape_drop(&s->records, a.is.area.shape);
    }
    if (result == AOI_OK) {
        aoi_commit(s);
        return AOI_OK;
    }
    *bad = i;
    aoi_rollback(s);
    while (i-- > 0) drop_node(s, aoi_node_slot(s, aoi_find_node(s, entities[i], node_id)));
    aoi_commit(s);
    return result;
}

int aoi_add_node_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                      size_t *bad) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ADD_NODE_MANY, add_to_each(s, entities, n, node_id, area, bad),
                                     .node_id = node_id, .area = area, .entities = entities, .count = n});
}

/* silent: AOI_NODE_SILENT suppresses the leaves of its targets; else 0. */
static int remove_node(aoi_space *s, aoi_node handle, int silent) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_queue_only_leaves(&s->queue);
    aoi_area_state was = aoi_state_of(s, node);
    uint8_t flags = s->records.nodes[node].flags;
    s->records.nodes[node].flags |= (uint8_t)silent;
    aoi_judge_node(s, node, &was, NULL);
    s->records.nodes[node].flags = flags;
    if (s->records.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    aoi_chain_remove(&s->records, &s->chains, node);
    aoi_free_node(s, node);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_remove_node(aoi_space *s, aoi_node handle) {
    const uint32_t node = s->journal ? aoi_node_slot(s, handle) : AOI_NONE;
    const bool recorded = node == AOI_NONE || aoi_node_is_recorded(s, node); /* as long as it is there */
    int result = remove_node(s, handle, 0);
    if (s->journal && recorded) aoi_log(s, &(aoi_call){AOI_CALL_REMOVE_NODE, result, .node = handle});
    return result;
}

int aoi_give_node(aoi_space *s, aoi_node handle) {
    return remove_node(s, handle, AOI_NODE_SILENT);
}

aoi_area_state aoi_state_of(const aoi_space *s, uint32_t node) {
    const aoi_node_record *n = s->records.nodes + node;
    return (aoi_area_state){.area = s->records.areas[node],
                            .mask = n->mask,
                            .shape = n->shape,
                            .margined = (n->flags & AOI_NODE_KEEPS) != 0,
                            .outside = n->outside,
                            .fixed = n->fixed,
                            .layered = (n->flags & AOI_NODE_LAYERED) != 0,
                            .layers = aoi_node_layers_of(s, node),
                            .reach = {n->reach[0], n->reach[1]}};
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* Moves the node in the index to other bounds; a failure changes nothing. */
static int resize(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    aoi_node_record *n = s->records.nodes + node;
    aoi_bounds from = aoi_bounds_of(&s->records, node), to = aoi_bounds_from(s->records.dims, is, n->flags);
    bool was_bounded = aoi_is_bounded(n), bounded = to.reach[0] <= DBL_MAX;
    if (aoi_same_bounds(&from, &to)) return AOI_OK;
    if (was_bounded && bounded) return aoi_broad_resize_node(&s->index, node, &to) ? AOI_OK : AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node);
    unindex_node(s, node);
    set_state(s, node, is);
    int result = index_node(s, node);
    set_state(s, node, &was);
    if (result != AOI_OK) add_unbounded(s, node); /* back again: only bounded nodes need memory */
    return result;
}

void aoi_mask_changed(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->records.nodes + node)) aoi_grid_mask_changed(&s->index.grid, node);
}

/* On success the node owns the state's block of parameters, else the caller does. */
static int change_area(aoi_space *s, uint32_t node, aoi_area_state *is) {
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node);
    char *label;
    if (!outside_ready(s, is->outside) || (is->layered && !aoi_node_layers_ready(s, node))) return AOI_ENOMEM;
    if (!aoi_label_copy(s, node, is->label, &label)) return AOI_ENOMEM;
    if (!is->layered) is->layers = aoi_layers_of(s, s->records.nodes[node].owner);
    aoi_judge_node(s, node, &was, is);
    if (s->records.failed || resize(s, node, is) != AOI_OK) {
        aoi_rollback(s);
        aoi_label_drop(s, label);
        return AOI_ENOMEM;
    }
    s->unbounded_positional -= is_unbounded_positional(&was);
    set_state(s, node, is);
    list_outside(s, node, was.outside, is->outside);
    if (was.mask != is->mask) aoi_mask_changed(s, node);
    s->unbounded_positional += is_unbounded_positional(is);
    if (label) aoi_label_put(s, node, label);
    if (was.area.shape != is->area.shape) aoi_shape_drop(&s->records, was.area.shape);
    if (s->records.nodes[node].flags & AOI_NODE_PLUGIN) aoi_plugin_node_changed(s, node);
    aoi_commit(s);
    return AOI_OK;
}

static int set_area(aoi_space *s, aoi_node handle, const aoi_area *area) {
    uint32_t node = aoi_node_slot(s, handle);
    aoi_area_state is;
    if (node == AOI_NONE) return AOI_EGONE;
    if (aoi_area_fault(s->records.dims, area) || (area->outside && s->records.nodes[node].flags & AOI_NODE_PLUGIN))
        return AOI_EVALUE;
    if (!aoi_area_resolve(&s->records, area, &is)) return AOI_ENOMEM;
    const aoi_shape *was = s->records.areas[node].shape;
    is.area.user_data = s->records.areas[node].user_data;
    int result = change_area(s, node, &is);
    if (result != AOI_OK || is.area.shape == was) aoi_shape_drop(&s->records, is.area.shape);
    return result;
}

int aoi_set_area(aoi_space *s, aoi_node handle, const aoi_area *area) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_AREA, set_area(s, handle, area), .node = handle, .area = area});
}

static int set_radius(aoi_space *s, aoi_node handle, double radius, double keep) {
    aoi_area a;
    if (!aoi_area_of(s, handle, &a)) return AOI_EGONE;
    if (a.shape != AOI_SQUARE && a.shape != AOI_CIRCLE) return AOI_EVALUE;
    a.radius = radius;
    a.keep = keep;
    return set_area(s, handle, &a);
}

int aoi_set_radius(aoi_space *s, aoi_node handle, double radius, double keep) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_RADIUS, set_radius(s, handle, radius, keep), .node = handle,
                                     .values = (double[]){radius, keep}});
}

/* A sector turns where it is: nothing but its parameters changes, which no other node shares. */
static int set_facing(aoi_space *s, aoi_node handle, double facing) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    if (aoi_given_shape(&s->records, node) != AOI_SECTOR || !isfinite(facing)) return AOI_EVALUE;
    if (s->deferred && !(s->records.nodes[node].flags & AOI_NODE_PLUGIN)) return aoi_note_turn(s, node, facing);
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node), is = was;
    aoi_shape had = *was.area.shape;
    was.area.shape = &had;
    aoi_shape_turn(is.area.shape, facing);
    aoi_judge_node(s, node, &was, &is);
    if (s->records.failed) {
        *is.area.shape = had;
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    if (s->records.nodes[node].flags & AOI_NODE_PLUGIN) aoi_plugin_node_changed(s, node);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_set_facing(aoi_space *s, aoi_node handle, double facing) {
    return aoi_logged(
        s, &(aoi_call){AOI_CALL_SET_FACING, set_facing(s, handle, facing), .node = handle, .values = &facing});
}

static int set_mask(aoi_space *s, aoi_node handle, uint64_t mask) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    aoi_area_state is = aoi_state_of(s, node);
    is.mask = mask;
    return change_area(s, node, &is);
}

int aoi_set_mask(aoi_space *s, aoi_node handle, uint64_t mask) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_SET_MASK, set_mask(s, handle, mask), .node = handle, .bits = mask});
}

/* ---- exceptions for one pair ------------------------------------------------------------------------------------- */

static int override(aoi_space *s, aoi_node handle, aoi_entity target, int how) {
    uint32_t node = aoi_node_slot(s, handle), t = aoi_entity_slot(s, target);
    if (node == AOI_NONE || t == AOI_NONE) return AOI_EGONE;
    if (how < AOI_BY_RULE || how > AOI_TELL_NOW || s->records.nodes[node].owner == t) return AOI_EVALUE;
    if (how > AOI_MATCH && s->records.nodes[node].flags & AOI_NODE_PLUGIN) return AOI_EVALUE;
    const int had = aoi_overrides_get(&s->overrides, node, t), told = had & AOI_TOLD;
    const int now = how > AOI_MATCH ? (had - told) | (how == AOI_TELL_END ? AOI_TOLD : 0) : how | told;
    if (now == had) return AOI_OK;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    if (!aoi_overrides_reserve(&s->records.memory, &s->overrides)) s->records.failed = true;
    else if (how <= AOI_MATCH) aoi_judge_override(s, node, t, how);
    else if (how == AOI_TELL_NOW) aoi_record_end(s, node, t);
    if (s->records.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    aoi_overrides_set(&s->overrides, node, t, now);
    if (!aoi_overrides_count(&s->overrides)) aoi_overrides_free(&s->records.memory, &s->overrides);
    s->records.nodes[node].flags &= (uint8_t)~AOI_NODE_OVERRIDES;
    if (aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_NODE, node))
        s->records.nodes[node].flags |= AOI_NODE_OVERRIDES;
    aoi_mask_changed(s, node);
    if (s->records.nodes[node].flags & AOI_NODE_PLUGIN) aoi_plugin_node_changed(s, node);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_override(aoi_space *s, aoi_node handle, aoi_entity target, int how) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_OVERRIDE, override(s, handle, target, how), .node = handle,
                                     .target = target, .bits = (uint64_t)how});
}
