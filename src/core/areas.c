/* areas.c - nodes: the areas that entities carry. */
#include "core/rule.h"
#include "core/space.h"

enum { MOST = 1 << 30 };

/* ---- slots -------------------------------------------------------------------------------------------------------------- */

uint32_t aoi_node_slot(const aoi_space *s, aoi_node n) {
    uint32_t slot = (uint32_t)n - 1, generation = (uint32_t)(n >> 32);
    return slot < s->world.node_top && aoi_alive(generation) && s->world.nodes[slot].generation == generation
               ? slot
               : AOI_NONE;
}

uint32_t aoi_next_slot(const aoi_space *s) {
    if (s->unused_node != AOI_NONE) return s->unused_node;
    return s->fresh_node != AOI_NONE ? s->fresh_node : s->world.node_top;
}

static void take_slot(aoi_space *s, uint32_t slot, uint32_t next) {
    if (slot == s->unused_node) s->unused_node = next;
    else if (slot == s->fresh_node) s->fresh_node = next;
    else s->world.node_top++;
}

void aoi_node_release(aoi_space *s, uint32_t node) {
    s->world.nodes[node].home = s->fresh_node;
    s->fresh_node = node;
}

bool aoi_next_freed(aoi_space *s, uint32_t *slot) {
    uint32_t n = s->fresh_node;
    if (n == AOI_NONE) return false;
    s->fresh_node = s->world.nodes[n].home;
    s->world.nodes[n].home = s->unused_node;
    s->unused_node = n;
    *slot = n;
    return true;
}

static void everywhere_add(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->world.nodes;
    nodes[node].home = s->everywhere;
    nodes[node].slot = AOI_NONE;
    nodes[node].level = AOI_NONE;
    if (s->everywhere != AOI_NONE) nodes[s->everywhere].slot = node;
    s->everywhere = node;
}

static void everywhere_remove(aoi_space *s, uint32_t node) {
    aoi_node_record *nodes = s->world.nodes, *n = nodes + node;
    if (n->slot != AOI_NONE) nodes[n->slot].home = n->home;
    else s->everywhere = n->home;
    if (n->home != AOI_NONE) nodes[n->home].slot = n->slot;
}

static int attach(aoi_space *s, uint32_t node) {
    if (!isinf(s->world.nodes[node].reach)) return s->engine->class->attach(s->engine, node);
    everywhere_add(s, node);
    return AOI_OK;
}

static void detach(aoi_space *s, uint32_t node) {
    if (isinf(s->world.nodes[node].reach)) everywhere_remove(s, node);
    else s->engine->class->detach(s->engine, node);
}

/* The node is out of the index, out of its owner's chain, and all that it saw has been told or waits. */
void aoi_node_free(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->world.nodes + node;
    detach(s, node);
    s->node_count--;
    s->pair_nodes -= n->by_pair;
    if (++n->generation == 0) return; /* all generations used: the slot retires */
    if (n->pending == 0) aoi_node_release(s, node);
}

/* ---- verbs -------------------------------------------------------------------------------------------------------------- */

/* Fills in what may be left out; false if it is no area. */
static bool resolve(aoi_area *a) {
    if (!(a->radius >= 0) || isnan(a->keep) || (a->shape != AOI_SQUARE && a->shape != AOI_CIRCLE)) return false;
    if (a->keep == 0) a->keep = a->radius;
    return a->keep >= a->radius;
}

void aoi_node_set_area(aoi_space *s, uint32_t node, const aoi_area *a) {
    aoi_node_record *n = s->world.nodes + node;
    s->world.extents[node] = (aoi_extent){a->radius, a->keep};
    n->reach = aoi_reach(a);
    n->mask = a->mask;
    n->shape = (uint8_t)a->shape;
    n->silent = a->silent;
    n->tag = a->tag;
    n->by_pair = aoi_needs_pairs(a);
}

int aoi_add_node(aoi_space *s, aoi_entity handle, int64_t node_id, const aoi_area *area, aoi_node *out) {
    aoi_world *w = &s->world;
    uint32_t owner = aoi_entity_slot(s, handle), node = aoi_next_slot(s);
    aoi_area a = *area;
    if (owner == AOI_NONE) return AOI_EGONE;
    if (!resolve(&a)) return AOI_EVALUE;
    if (aoi_find_node(s, handle, node_id)) return AOI_EEXIST;
    if (node == w->node_top) {
        if (node == MOST || !AOI_GROW(&w->memory, w->extents, w->extent_cap, node + (size_t)1) ||
            !AOI_GROW_LINES(&w->memory, w->nodes, w->node_cap, node + (size_t)1))
            return AOI_ENOMEM;
        w->nodes[node].generation = 0;
        w->nodes[node].home = AOI_NONE;
    }
    aoi_node_record *n = w->nodes + node;
    uint32_t unused = n->home;
    *n = (aoi_node_record){.node_id = node_id,
                           .owner = owner,
                           .next = w->entities[owner].nodes,
                           .generation = n->generation,
                           .targets = AOI_NONE,
                           .home = unused};
    aoi_node_set_area(s, node, &a);
    aoi_gather_node(s, node, NULL, &a);
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    if (attach(s, node) != AOI_OK) {
        n->home = unused;
        aoi_log_drop(s, 0);
        return AOI_ENOMEM;
    }
    take_slot(s, node, unused);
    n->generation++;
    w->entities[owner].nodes = node;
    s->node_count++;
    s->pair_nodes += n->by_pair;
    aoi_log_apply(s, 0);
    s->engine->class->tidy(s->engine);
    if (out) *out = aoi_handle(n->generation, node);
    return AOI_OK;
}

int aoi_remove_node(aoi_space *s, aoi_node handle) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    aoi_node_record *n = s->world.nodes + node;
    aoi_area was = aoi_node_area(s, node);
    aoi_gather_node(s, node, &was, NULL);
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    aoi_log_apply(s, 0);
    uint32_t *link = &s->world.entities[n->owner].nodes;
    while (*link != node) link = &s->world.nodes[*link].next;
    *link = n->next;
    aoi_node_free(s, node);
    s->engine->class->tidy(s->engine);
    return AOI_OK;
}

/* Its place in the index for another reach; where it may fail, nothing has changed. */
static int resize(aoi_space *s, uint32_t node, double reach) {
    aoi_node_record *n = s->world.nodes + node;
    double old = n->reach;
    if (reach == old) return AOI_OK;
    if (!isinf(reach) && !isinf(old)) return s->engine->class->resize(s->engine, node, reach);
    if (isinf(reach)) {
        s->engine->class->detach(s->engine, node);
        everywhere_add(s, node);
        return AOI_OK;
    }
    everywhere_remove(s, node);
    n->reach = reach;
    int result = s->engine->class->attach(s->engine, node);
    n->reach = old;
    if (result != AOI_OK) everywhere_add(s, node);
    return result;
}

static int set_area(aoi_space *s, uint32_t node, const aoi_area *a) {
    aoi_area was = aoi_node_area(s, node);
    aoi_gather_node(s, node, &was, a);
    if (aoi_log_ready(s, 0, true) != AOI_OK) return AOI_ENOMEM;
    if (resize(s, node, aoi_reach(a)) != AOI_OK) {
        aoi_log_drop(s, 0);
        return AOI_ENOMEM;
    }
    s->pair_nodes -= s->world.nodes[node].by_pair;
    aoi_node_set_area(s, node, a);
    s->pair_nodes += s->world.nodes[node].by_pair;
    aoi_log_apply(s, 0);
    s->engine->class->tidy(s->engine);
    return AOI_OK;
}

int aoi_set_radius(aoi_space *s, aoi_node handle, double radius, double keep) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    aoi_area a = aoi_node_area(s, node);
    a.radius = radius;
    a.keep = keep;
    return resolve(&a) ? set_area(s, node, &a) : AOI_EVALUE;
}

int aoi_set_mask(aoi_space *s, aoi_node handle, uint64_t mask) {
    uint32_t node = aoi_node_slot(s, handle);
    if (node == AOI_NONE) return AOI_EGONE;
    aoi_area a = aoi_node_area(s, node);
    a.mask = mask;
    return set_area(s, node, &a);
}
