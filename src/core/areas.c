/* areas.c - nodes: the areas that entities carry. */
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

void aoi_release_node(aoi_space *s, uint32_t node) {
    s->world.nodes[node].home = s->freed_node;
    s->freed_node = node;
}

bool aoi_next_freed(aoi_space *s, uint64_t *user_data) {
    uint32_t n = s->freed_node;
    if (n == AOI_NONE) return false;
    s->freed_node = s->world.nodes[n].home;
    s->world.nodes[n].home = s->unused_node;
    s->unused_node = n;
    *user_data = s->world.areas[n].user_data;
    return true;
}

/* ---- in the index ------------------------------------------------------------------------------------------------ */

/* Of infinite reach, and yet positions decide.  A circle's reach is infinite where the square of its radius is. */
static bool is_unbounded_keeping(uint8_t shape, const aoi_area_record *a) {
    return isinf(aoi_outer_extent(shape, a->keep)) && !isinf(aoi_outer_extent(shape, a->radius));
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
    if (aoi_is_bounded(s->world.nodes + node)) return s->engine->class->add_node(s->engine, node);
    add_unbounded(s, node);
    return AOI_OK;
}

static void unindex_node(aoi_space *s, uint32_t node) {
    if (aoi_is_bounded(s->world.nodes + node)) s->engine->class->remove_node(s->engine, node);
    else remove_unbounded(s, node);
}

/* The node is out of its owner's chain, and all that it saw has been told or waits. */
void aoi_free_node(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->world.nodes + node;
    unindex_node(s, node);
    s->node_count--;
    s->unbounded_keeping -= is_unbounded_keeping(n->shape, s->world.areas + node);
    if (++n->generation == 0) return; /* all generations used: the slot retires */
    if (n->pending == 0) aoi_release_node(s, node);
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

/* Checks an area and fills in what may be left out; false if it is none. */
static bool resolve(const aoi_space *s, const aoi_area *a, aoi_area_state *out) {
    double keep = a->keep == 0 ? a->radius : a->keep;
    if (!(a->radius >= 0) || !(keep >= a->radius) || (a->shape != AOI_SQUARE && a->shape != AOI_CIRCLE)) return false;
    aoi_bounds b = aoi_bounds_from(s->world.dims, a->shape, a->radius, keep);
    *out = (aoi_area_state){.area = {.radius = a->radius,
                                     .keep = keep,
                                     .hole = {b.hole[0], b.hole[1]},
                                     .height = b.reach[2],
                                     .user_data = a->user_data},
                            .mask = a->mask,
                            .shape = b.shape};
    return true;
}

static void set_state(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    aoi_node_record *n = s->world.nodes + node;
    bool keeps = is->area.keep > is->area.radius;
    aoi_bounds b = aoi_bounds_from(s->world.dims, is->shape, is->area.radius, is->area.keep);
    s->world.areas[node] = is->area;
    n->reach[0] = b.reach[0];
    n->reach[1] = b.reach[1];
    n->mask = is->mask;
    n->shape = is->shape;
    n->flags &= AOI_NODE_SILENT;
    if (keeps) n->flags |= AOI_NODE_KEEPS;
    else if (is->shape == AOI_SQUARE) n->flags |= AOI_NODE_PLAIN;
}

/* ---- adding and removing ----------------------------------------------------------------------------------------- */

/* A record for the node, in no chain and no index yet; AOI_NONE when memory is refused. */
static uint32_t new_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area_state *is, bool silent) {
    aoi_world *w = &s->world;
    uint32_t node = next_slot(s);
    if (node == w->node_top) {
        if (node == MOST_NODES || !AOI_GROW(&w->memory, w->areas, w->area_cap, node + (size_t)1) ||
            !AOI_GROW_LINES(&w->memory, w->nodes, w->node_cap, node + (size_t)1))
            return AOI_NONE;
        w->nodes[node].generation = 0;
        w->nodes[node].home = AOI_NONE;
    }
    aoi_node_record *n = w->nodes + node;
    *n = (aoi_node_record){.node_id = node_id,
                           .owner = owner,
                           .next = w->entities[owner].nodes,
                           .generation = n->generation,
                           .home = n->home,
                           .flags = silent ? AOI_NODE_SILENT : 0};
    set_state(s, node, is);
    return node;
}

/* Everything but commit; what fails leaves no trace but events, which the caller rolls back. */
static int add_node(aoi_space *s, uint32_t owner, int64_t node_id, const aoi_area_state *is, bool silent,
                    uint32_t *out) {
    uint32_t node = *out = new_node(s, owner, node_id, is, silent);
    if (node == AOI_NONE) return AOI_ENOMEM;
    aoi_node_record *n = s->world.nodes + node;
    uint32_t unused = n->home;
    aoi_judge_node(s, node, NULL, is);
    if (s->world.failed || index_node(s, node) != AOI_OK) {
        n->home = unused;
        return AOI_ENOMEM;
    }
    take_slot(s, node, unused);
    n->generation++;
    s->world.entities[owner].nodes = node;
    s->node_count++;
    s->unbounded_keeping += is_unbounded_keeping(is->shape, &is->area);
    return AOI_OK;
}

static void unchain(aoi_space *s, uint32_t node) {
    const aoi_node_record *n = s->world.nodes + node;
    uint32_t *link = &s->world.entities[n->owner].nodes;
    while (*link != node) link = &s->world.nodes[*link].next;
    *link = n->next;
}

/* A node whose call is refused: there is nothing to tell of it, so that its slot is free at once unless it retires. */
static void drop_node(aoi_space *s, uint32_t node) {
    uint64_t user_data;
    unchain(s, node);
    aoi_free_node(s, node);
    if (s->world.nodes[node].generation != 0) (void)aoi_next_freed(s, &user_data);
}

int aoi_add_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, aoi_node *out) {
    uint32_t owner = aoi_entity_slot(s, handle), node;
    aoi_area_state is;
    if (owner == AOI_NONE) return AOI_EGONE;
    if (!resolve(s, area, &is)) return AOI_EVALUE;
    if (!AOI_IS_NULL(aoi_find_node(s, handle, node_id))) return AOI_EEXIST;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    if (add_node(s, owner, node_id, &is, area->silent, &node) != AOI_OK) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    aoi_commit(s);
    if (out) *out = (aoi_node){node, s->world.nodes[node].generation};
    return AOI_OK;
}

int aoi_add_node_many(aoi_space *s, const aoi_entity *entities, size_t n, int64_t node_id, const aoi_area *area,
                      size_t *bad) {
    aoi_area_state is;
    size_t ignored, i = 0;
    int result = AOI_OK;
    uint32_t node;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (!resolve(s, area, &is)) return AOI_EVALUE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n && result == AOI_OK; i += result == AOI_OK) {
        uint32_t owner = aoi_entity_slot(s, entities[i]);
        if (owner == AOI_NONE) result = AOI_EGONE;
        else if (!AOI_IS_NULL(aoi_find_node(s, entities[i], node_id))) result = AOI_EEXIST;
        else result = add_node(s, owner, node_id, &is, area->silent, &node);
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

int aoi_remove_node(aoi_space *s, aoi_node handle) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node);
    aoi_judge_node(s, node, &was, NULL);
    if (s->world.failed) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    unchain(s, node);
    aoi_free_node(s, node);
    aoi_commit(s);
    return AOI_OK;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* Its place in the index for other bounds; where it fails nothing has changed. */
static int resize(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    aoi_node_record *n = s->world.nodes + node;
    aoi_bounds to = aoi_bounds_from(s->world.dims, is->shape, is->area.radius, is->area.keep);
    aoi_bounds from = aoi_bounds_of(&s->world, node);
    bool was_bounded = aoi_is_bounded(n), bounded = to.reach[0] <= DBL_MAX;
    if (aoi_same_bounds(&from, &to)) return AOI_OK;
    if (was_bounded && bounded) return s->engine->class->resize_node(s->engine, node, &to);
    aoi_area_state was = aoi_state_of(s, node);
    unindex_node(s, node);
    set_state(s, node, is);
    int result = index_node(s, node);
    set_state(s, node, &was);
    if (result != AOI_OK) add_unbounded(s, node); /* where it was: only bounded nodes need memory */
    return result;
}

static int set_area(aoi_space *s, uint32_t node, const aoi_area_state *is) {
    if (!aoi_begin(s)) return AOI_ENOMEM;
    aoi_area_state was = aoi_state_of(s, node);
    aoi_judge_node(s, node, &was, is);
    if (s->world.failed || resize(s, node, is) != AOI_OK) {
        aoi_rollback(s);
        return AOI_ENOMEM;
    }
    s->unbounded_keeping -= is_unbounded_keeping(was.shape, &was.area);
    set_state(s, node, is);
    s->unbounded_keeping += is_unbounded_keeping(is->shape, &is->area);
    aoi_commit(s);
    return AOI_OK;
}

int aoi_set_radius(aoi_space *s, aoi_node handle, double radius, double keep) {
    aoi_area a;
    aoi_area_state is;
    if (!aoi_area_of(s, handle, &a)) return AOI_EGONE;
    a.radius = radius;
    a.keep = keep;
    return resolve(s, &a, &is) ? set_area(s, aoi_node_slot(s, handle), &is) : AOI_EVALUE;
}

int aoi_set_mask(aoi_space *s, aoi_node handle, uint64_t mask) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    aoi_area_state is = aoi_state_of(s, node);
    is.mask = mask;
    return set_area(s, node, &is);
}
