/* layers.c - the chain of layers (layer_hook.h), and the sightings of their nodes. */
#include "core/space.h"

enum { NODES_AHEAD = 24, RECORDS_AHEAD = 16, NAMES_AHEAD = 8 }; /* sightings whose memory is prefetched */
enum { SIGHTINGS_KEPT = 1024 };                                 /* kept room when none waits */

/* ---- sightings --------------------------------------------------------------------------------------------------- */

/* Usually there is one layer: then the node's record is not read. */
uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target) {
    aoi_layer *layer = s->layers;
    if (layer->next) layer = aoi_layer_node_from(s->world.areas[node].user_data)->layer;
    return layer->class->name(layer, target);
}

/* NULL: the node has been removed since. */
static aoi_layer_node *node_of_sighting(const aoi_space *s, uint32_t i) {
    uint32_t node = s->sightings[i].node;
    const aoi_node_record *n = s->world.nodes + node;
    return n->flags & AOI_NODE_LAYER && aoi_is_live(n->generation) ? aoi_layer_node_from(s->world.areas[node].user_data)
                                                                   : NULL;
}

/* In three steps: the node, its record, the target. */
static void prefetch_sightings(const aoi_space *s, uint32_t i) {
    if (i + NODES_AHEAD < s->sighting_count) {
        AOI_PREFETCH(s->world.nodes + s->sightings[i + NODES_AHEAD].node);
        AOI_PREFETCH(s->world.areas + s->sightings[i + NODES_AHEAD].node);
    }
    const aoi_layer_node *n = i + RECORDS_AHEAD < s->sighting_count ? node_of_sighting(s, i + RECORDS_AHEAD) : NULL;
    if (n) {
        AOI_PREFETCH(n);
        AOI_PREFETCH((const char *)n + AOI_CACHE_LINE);
    }
    i += NAMES_AHEAD;
    n = i < s->sighting_count ? node_of_sighting(s, i) : NULL;
    if (n && n->layer->class->prefetch)
        n->layer->class->prefetch(n, s->sightings[i].name, s->sightings[i].node != s->sightings[i - 1].node);
}

bool aoi_layers_see(aoi_space *s) {
    uint32_t i = 0;
    for (; i < s->sighting_count; i++) {
        prefetch_sightings(s, i);
        aoi_layer_node *n = node_of_sighting(s, i);
        if (n && !n->layer->class->see(n, s->sightings[i].name, s->sightings[i].enters)) break;
    }
    s->sighting_count -= i;
    if (s->sighting_count) memmove(s->sightings, s->sightings + i, s->sighting_count * sizeof *s->sightings);
    else if (s->sighting_cap > SIGHTINGS_KEPT) AOI_CLEAR(&s->world.memory, s->sightings, s->sighting_cap);
    return !s->sighting_count;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

void aoi_layer_open(aoi_space *s, aoi_layer *layer, const aoi_layer_class *class) {
    *layer = (aoi_layer){.class = class, .space = s, .next = s->layers};
    s->layers = layer;
}

void aoi_layer_close(aoi_layer *layer) {
    aoi_layer **link = &layer->space->layers;
    while (*link != layer) link = &(*link)->next;
    *link = layer->next;
}

bool aoi_node_is_recorded(const aoi_space *s, uint32_t node) {
    return !(s->world.nodes[node].flags & AOI_NODE_LAYER) ||
           aoi_layer_node_from(s->world.areas[node].user_data)->layer->class->recorded;
}

void aoi_remove_layer_node(aoi_space *s, uint32_t node) {
    if (aoi_remove_node(s, (aoi_node){node, s->world.nodes[node].generation}) == AOI_OK) return;
    aoi_forget_pairs(s, &s->kept, node, 0);
    aoi_chain_remove(&s->world, &s->chains, node);
    aoi_free_node(s, node);
}

uint64_t aoi_layer_node_end(const aoi_space *s, uint32_t node) {
    aoi_layer_node *n = aoi_layer_node_from(s->world.areas[node].user_data);
    uint64_t user_data = n->user_data;
    n->layer->class->end(n);
    return user_data;
}

void aoi_layer_node_changed(const aoi_space *s, uint32_t node) {
    aoi_layer_node *n = aoi_layer_node_from(s->world.areas[node].user_data);
    if (n->layer->class->changed) n->layer->class->changed(n);
}

void aoi_layers_entered(aoi_layer *first, uint32_t entity) {
    for (aoi_layer *l = first; l; l = l->next)
        if (l->class->entered) l->class->entered(l, entity);
}

void aoi_layers_moved(aoi_layer *first, uint32_t entity) {
    for (aoi_layer *l = first; l; l = l->next) l->class->moved(l, entity);
}

/* Layers and extents change visibility, so layers handle them like a move. */
void aoi_layers_looked(aoi_layer *first, uint32_t entity, bool kind) {
    for (aoi_layer *l = first; l; l = l->next) {
        if (l->class->looked) l->class->looked(l, entity);
        if (!kind) l->class->moved(l, entity);
        else if (l->class->touched) l->class->touched(l, entity);
    }
}

void aoi_layers_left(aoi_layer *first, uint32_t entity) {
    for (aoi_layer *l = first; l; l = l->next) l->class->left(l, entity);
}

void aoi_layers_free(aoi_layer *first) {
    while (first) {
        aoi_layer *next = first->next;
        first->class->free(first);
        first = next;
    }
}

const aoi_queued *aoi_layers_take(aoi_space *s) {
    aoi_layer *l = s->layers;
    while (l && !aoi_layer_waiting(l)) l = l->next;
    return l ? aoi_take_from(s, l->queue) : NULL;
}

size_t aoi_layers_waiting(const aoi_layer *first) {
    size_t count = 0;
    for (const aoi_layer *l = first; l; l = l->next) count += aoi_layer_waiting(l);
    return count;
}

bool aoi_layers_owe(const aoi_layer *first) {
    while (first && !first->owes) first = first->next;
    return first != NULL;
}

const char *aoi_layers_check(const aoi_layer *first) {
    const char *wrong = NULL;
    for (const aoi_layer *l = first; l && !wrong; l = l->next) wrong = l->class->check(l);
    return wrong;
}
