/* areas.c - nodes: the areas that entities carry. */
#include <string.h>

#include "core/space.h"

enum { MOST_NODES = 1 << 30 }; /* in one space */

/* ---- slots ------------------------------------------------------------------------------------------------------- */

uint32_t aoi_node_slot(const aoi_space *s, aoi_node n) {
    bool live =
        n.index < s->world.node_top && aoi_is_live(n.generation) && s->world.nodes[n.index].generation == n.generation;
    return live ? n.index : AOI_NONE;
}

/* The slot of the next node; the chain of unused ones first. */
static uint32_t next_slot(const aoi_space *s) {
    if (s->unused_node != AOI_NONE) return s->unused_node;
    return s->freed_node != AOI_NONE ? s->freed_node : s->world.node_top;
}

static void take_slot(aoi_space *s, uint32_t slot, uint32_t next) {
    if (slot == s->unused_node) s->unused_node = next;
    else if (slot == s->freed_node) s->freed_node = next;
    else s->world.node_top++;
}

static void reuse_slot(aoi_space *s, uint32_t node) {
    s->world.nodes[node].home = s->unused_node;
    s->unused_node = node;
}

/* A queue: slots are used again in one order, however many each call of aoi_next_freed is behind. */
void aoi_release_node(aoi_space *s, uint32_t node) {
    if (s->freed_node == AOI_NONE) s->freed_node = node;
    else s->world.nodes[s->freed_last].home = node;
    s->freed_last = node;
    s->world.nodes[node].home = AOI_NONE;
}

bool aoi_next_freed(aoi_space *s, uint64_t *user_data) {
    uint32_t n = s->freed_node;
    if (n == AOI_NONE) {
        aoi_release_storage(s);
        return false;
    }
    s->freed_node = s->world.nodes[n].home;
    reuse_slot(s, n);
    *user_data = s->world.areas[n].user_data;
    return true;
}

/* ---- in the index ------------------------------------------------------------------------------------------------ */

/* Infinite bounds, but not everything is inside. */
static bool is_unbounded_positional(const aoi_area_state *is) {
    bool simple = is->shape == AOI_SQUARE || is->shape == AOI_CIRCLE;
    return isinf(is->reach[0]) && !(simple && isinf(aoi_outer_extent(is->shape, is->area.radius)));
}

static void add_unbounded(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->world.nodes;
    nodes[node].home = s->unbounded;
    nodes[node].slot = AOI_NONE;
    nodes[node].level = AOI_NONE;
    if (s->unbounded != AOI_NONE) nodes[s->unbounded].slot = node;
    s->unbounded = node;
}

static void remove_unbounded(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->world.nodes, *n = nodes + node;
    if (n->slot != AOI_NONE) nodes[n->slot].home = n->home;
    else s->unbounded = n->home;
    if (n->home != AOI_NONE) nodes[n->home].slot = n->slot;
}

static int index_node(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->world.nodes + node)) return aoi_broad_add_node(&s->index, node) ? AOI_OK : AOI_ENOMEM;
    add_unbounded(s, node);
    return AOI_OK;
}

static void unindex_node(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->world.nodes + node)) aoi_broad_remove_node(&s->index, node);
    else remove_unbounded(s, node);
}

/* ---- nodes that see what is outside ------------------------------------------------------------------------------ */

static bool outside_ready(aoi_space *s, bool outside) {
    return !outside || AOI_GROW(&s->world.memory, s->outside_nodes, s->outside_cap, s->outside_count + (size_t)1);
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
    aoi_node_record *n = s->world.nodes + node;
    if (AOI_WITNESS)
        aoi_forget_pairs(s, &s->reported, node, AOI_PAIR_REPORTED); /* those of a node that is given away */
    unindex_node(s, node);
    list_outside(s, node, n->outside, false);
    s->node_count--;
    aoi_area_state was = aoi_state_of(s, node);
    s->unbounded_positional -= is_unbounded_positional(&was);
    aoi_shape_drop(&s->world, s->world.areas[node].shape);
    s->world.areas[node].shape = NULL;
    aoi_label_put(s, node, NULL);
    if (n->flags & AOI_NODE_OVERRIDES) aoi_overrides_drop(&s->world.memory, &s->overrides, AOI_OVERRIDE_BY_NODE, node);
    if (n->flags & AOI_NODE_LAYER) s->world.areas[node].user_data = aoi_layer_node_end(s, node);
    if (++n->generation == 0) return; /* all generations used: the slot retires */
    if (n->pending == 0) aoi_release_node(s, node);
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

static void set_state(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    aoi_node_record *n = s->world.nodes + node;
    s->world.areas[node] = is->area;
    n->reach[0] = is->reach[0];
    n->reach[1] = is->reach[1];
    n->mask = is->mask;
    n->shape = is->shape;
    n->outside = is->outside;
    n->fixed = is->fixed;
    if (is->layered) s->node_layers[node] = is->layers;
    n->flags &= AOI_NODE_SILENT | AOI_NODE_OVERRIDES | AOI_NODE_LAYER | AOI_NODE_INDEXED;
    if (is->margined) n->flags |= AOI_NODE_KEEPS;
    else if (is->shape == AOI_SQUARE) n->flags |= AOI_NODE_PLAIN;
    if (is->layered) n->flags |= AOI_NODE_LAYERED;
}

/* ---- adding and removing ----------------------------------------------------------------------------------------- */

static bool node_ready(aoi_world *w, uint32_t node) {
    return node < MOST_NODES && AOI_GROW(&w->memory, w->areas, w->area_cap, node + (size_t)1) &&
           AOI_GROW_LINES(&w->memory, w->nodes, w->node_cap, node + (size_t)1);
}

/* A record for the node, in no chain and no index yet; AOI_NONE when memory is refused. */
static uint32_t new_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area_state *is, int flags) {
    aoi_world *w = &s->world;
    uint32_t node = next_slot(s);
    char *label;
    if (!outside_ready(s, is->outside) || (is->layered && !aoi_node_layers_ready(s, node))) return AOI_NONE;
    if (node == w->node_top) {
        if (!node_ready(w, node)) return AOI_NONE;
        w->nodes[node].generation = s->node_generation;
        w->nodes[node].home = AOI_NONE;
    }
    if (!aoi_label_copy(s, node, is->label, &label)) return AOI_NONE;
    aoi_label_put(s, node, label);
    aoi_node_record *n = w->nodes + node;
    *n = (aoi_node_record){.node_id = node_id,
                           .owner = owner,
                           .next = w->entities[owner].nodes,
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
} new_area;

/* Everything but commit; a failure leaves nothing behind but events, which the caller rolls back. */
static int add_node(aoi_space *s, uint32_t owner, int64_t node_id, new_area *a, uint32_t *out) {
    aoi_area_state *is = &a->is;
    if (!aoi_grid_begin_watch(&s->index.grid)) return AOI_ENOMEM;
    uint32_t node = *out = new_node(s, owner, node_id, is, a->flags);
    if (node == AOI_NONE) return AOI_ENOMEM;
    aoi_node_record *n = s->world.nodes + node;
    uint32_t unused = n->home;
    if (!is->layered) is->layers = aoi_layers_of(s, owner);
    if (a->seen) aoi_judge_adopted(s, node, is, a->seen);
    else if (!a->restored) aoi_judge_node(s, node, NULL, is);
    if (s->world.failed || !aoi_chain_reserve(&s->world, &s->chains, owner, node) || index_node(s, node) != AOI_OK) {
        n->home = unused;
        aoi_label_put(s, node, NULL);
        return AOI_ENOMEM;
    }
    take_slot(s, node, unused);
    n->generation++;
    aoi_chain_add(&s->world, &s->chains, node);
    s->node_count++;
    s->unbounded_positional += is_unbounded_positional(is);
    list_outside(s, node, false, is->outside);
    return AOI_OK;
}

/* Removes a node whose call is refused: it has no events, so its slot is free at once unless it retires. */
static void drop_node(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->world.nodes + node;
    aoi_chain_remove(&s->world, &s->chains, node);
    n->pending = 1; /* holds its slot, which aoi_next_freed must not return */
    aoi_free_node(s, node);
    n->pending = 0;
    if (n->generation != 0) reuse_slot(s, node);
}

static int silence_of(const aoi_area *area) {
    return area->silent ? AOI_NODE_SILENT : 0;
}

static int add_one(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, new_area a, aoi_node *out) {
    uint32_t owner = aoi_entity_slot(s, handle), node;
    if (owner == AOI_NONE) return AOI_EGONE;
    if (aoi_area_fault(s->world.dims, area) || (area->outside && a.flags & AOI_NODE_LAYER)) return AOI_EVALUE;
    if (!AOI_IS_NULL(aoi_find_node(s, handle, node_id))) return AOI_EEXIST;
    if (!aoi_begin(s) || !aoi_area_resolve(&s->world, area, &a.is)) return AOI_ENOMEM;
    aoi_queue_only_new(&s->queue);
    if (add_node(s, owner, node_id, &a, &node) != AOI_OK) {
        aoi_rollback(s);
        aoi_shape_drop(&s->world, a.is.area.shape);
        return AOI_ENOMEM;
    }
    aoi_commit(s);
    if (out) *out = (aoi_node){node, s->world.nodes[node].generation};
    return AOI_OK;
}

int aoi_add_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, aoi_node *out) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ADD_NODE,
                                     add_one(s, handle, node_id, area, (new_area){.flags = silence_of(area)}, out),
                                     .entity = handle, .node_id = node_id, .area = area});
}

int aoi_add_flagged_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, int flags,
                         aoi_node *out) {
    return add_one(s, handle, node_id, area, (new_area){.flags = flags}, out);
}

int aoi_restore_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area *area, uint32_t *out) {
    new_area a = {.flags = silence_of(area), .restored = true};
    if (!aoi_area_resolve(&s->world, area, &a.is)) return AOI_ENOMEM;
    int result = add_node(s, owner, node_id, &a, out);
    if (result != AOI_OK) aoi_shape_drop(&s->world, a.is.area.shape);
    return result;
}

/* Makes a removed node: no entity carries it, and its slot is free once its last event is taken. */
bool aoi_restore_gone_node(aoi_space *s, int64_t node_id, uint64_t user_data, uint32_t *out) {
    aoi_world *w = &s->world;
    uint32_t node = *out = w->node_top;
    if (!node_ready(w, node)) return false;
    w->nodes[node] = (aoi_node_record){.node_id = node_id, .generation = 2};
    w->areas[node] = (aoi_area_record){.user_data = user_data};
    w->node_top++;
    return true;
}

int aoi_adopt_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, const int64_t *seen,
                   size_t count, aoi_node *out) {
    aoi_memory *m = &s->world.memory;
    if (!count && !area->outside) return aoi_add_node(s, handle, node_id, area, out);
    size_t marks = (s->world.entity_top + (size_t)63) / 64;
    if (count > SIZE_MAX / sizeof(int64_t) - marks) return AOI_ENOMEM;
    size_t size = count * sizeof(int64_t) + marks * sizeof(uint64_t);
    int64_t *room = aoi_resize(m, NULL, 0, size);
    if (!room) return AOI_ENOMEM;
    const aoi_seen saw = {seen, count, room, (uint64_t *)(room + count)};
    memset(saw.marks, 0, marks * sizeof(uint64_t));
    int result = add_one(s, handle, node_id, area, (new_area){.flags = silence_of(area), .seen = &saw}, out);
    aoi_resize(m, room, size, 0);
    return aoi_logged(s, &(aoi_call){AOI_CALL_ADOPT_NODE, result, .entity = handle, .node_id = node_id, .area = area,
                                     .ids = seen, .count = count});
}

static int add_to_each(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                       size_t *bad) {
    new_area a = {.flags = silence_of(area)};
    size_t ignored, i = 0;
    int result = AOI_OK;
    uint32_t node;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (aoi_area_fault(s->world.dims, area)) return AOI_EVALUE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n && result == AOI_OK; i += result == AOI_OK) {
        uint32_t owner = aoi_entity_slot(s, entities[i]);
        if (owner == AOI_NONE) result = AOI_EGONE;
        else if (!AOI_IS_NULL(aoi_find_node(s, entities[i], node_id))) result = AOI_EEXIST;
        else if (!aoi_area_resolve(&s->world, area, &a.is)) result = AOI_ENOMEM;
        else if ((result = add_node(s, owner, node_id, &a, &node)) != AOI_OK)
            aoi_shape_drop(&s->world, a.is.area.shape);
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
    uint8_t flags = s->world.nodes[node].flags;
    s->world.nodes[node].flags |= (uint8_t)silent;
    aoi_judge_node(s, node, &was, NULL);
    s->world.nodes[node].flags = flags;
    if (s->world.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    aoi_chain_remove(&s->world, &s->chains, node);
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
    const aoi_node_record *n = s->world.nodes + node;
    return (aoi_area_state){.area = s->world.areas[node],
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
    aoi_node_record *n = s->world.nodes + node;
    aoi_bounds from = aoi_bounds_of(&s->world, node), to = aoi_bounds_from(s->world.dims, is, n->flags);
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
    if (aoi_is_bounded(s->world.nodes + node)) aoi_grid_mask_changed(&s->index.grid, node);
}

/* On success the node owns the state's block of parameters, else the caller does. */
static int change_area(aoi_space *s, uint32_t node, aoi_area_state *is) {
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node);
    char *label;
    if (!outside_ready(s, is->outside) || (is->layered && !aoi_node_layers_ready(s, node))) return AOI_ENOMEM;
    if (!aoi_label_copy(s, node, is->label, &label)) return AOI_ENOMEM;
    if (!is->layered) is->layers = aoi_layers_of(s, s->world.nodes[node].owner);
    aoi_judge_node(s, node, &was, is);
    if (s->world.failed || resize(s, node, is) != AOI_OK) {
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
    if (was.area.shape != is->area.shape) aoi_shape_drop(&s->world, was.area.shape);
    if (s->world.nodes[node].flags & AOI_NODE_LAYER) aoi_layer_node_changed(s, node);
    aoi_commit(s);
    return AOI_OK;
}

static int set_area(aoi_space *s, aoi_node handle, const aoi_area *area) {
    uint32_t node = aoi_node_slot(s, handle);
    aoi_area_state is;
    if (node == AOI_NONE) return AOI_EGONE;
    if (aoi_area_fault(s->world.dims, area) || (area->outside && s->world.nodes[node].flags & AOI_NODE_LAYER))
        return AOI_EVALUE;
    if (!aoi_area_resolve(&s->world, area, &is)) return AOI_ENOMEM;
    const aoi_shape *was = s->world.areas[node].shape;
    is.area.user_data = s->world.areas[node].user_data;
    int result = change_area(s, node, &is);
    if (result != AOI_OK || is.area.shape == was) aoi_shape_drop(&s->world, is.area.shape);
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

static int set_facing(aoi_space *s, aoi_node handle, double facing) {
    uint32_t node = aoi_node_slot(s, handle);
    aoi_area a;
    if (!aoi_area_of(s, handle, &a)) return AOI_EGONE;
    if (a.shape != AOI_SECTOR || !isfinite(facing)) return AOI_EVALUE;
    if (s->deferred && !(s->world.nodes[node].flags & AOI_NODE_LAYER)) return aoi_note_turn(s, node, facing);
    a.facing = facing;
    return set_area(s, handle, &a);
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
    if (how < AOI_BY_RULE || how > AOI_TELL_NOW || s->world.nodes[node].owner == t) return AOI_EVALUE;
    if (how > AOI_MATCH && s->world.nodes[node].flags & AOI_NODE_LAYER) return AOI_EVALUE;
    const int had = aoi_overrides_get(&s->overrides, node, t), told = had & AOI_TOLD;
    const int now = how > AOI_MATCH ? (had - told) | (how == AOI_TELL_END ? AOI_TOLD : 0) : how | told;
    if (now == had) return AOI_OK;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    if (!aoi_overrides_reserve(&s->world.memory, &s->overrides)) s->world.failed = true;
    else if (how <= AOI_MATCH) aoi_judge_override(s, node, t, how);
    else if (how == AOI_TELL_NOW) aoi_record_end(s, node, t);
    if (s->world.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    aoi_overrides_set(&s->overrides, node, t, now);
    if (!aoi_overrides_count(&s->overrides)) aoi_overrides_free(&s->world.memory, &s->overrides);
    s->world.nodes[node].flags &= (uint8_t)~AOI_NODE_OVERRIDES;
    if (aoi_overrides_first(&s->overrides, AOI_OVERRIDE_BY_NODE, node))
        s->world.nodes[node].flags |= AOI_NODE_OVERRIDES;
    aoi_mask_changed(s, node);
    if (s->world.nodes[node].flags & AOI_NODE_LAYER) aoi_layer_node_changed(s, node);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_override(aoi_space *s, aoi_node handle, aoi_entity target, int how) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_OVERRIDE, override(s, handle, target, how), .node = handle,
                                     .target = target, .bits = (uint64_t)how});
}
