/* layers.c - what the nodes of layers (layer_hook.h) see, and the layers themselves.
 *
 *   as they come      [ 7 -> 3 | 2 <- 9 | 7 <- 1 | 4 -> 3 | 7 -> 5 ]     node, enters or leaves, name of the target
 *   when a tick       [ 2 <- 9 | 4 -> 3 | 7 -> 3 | 7 <- 1 | 7 -> 5 ]     by node: what is one node's lies together
 *   begins            [   ..   2 ..     4 ..                       ]     where the sightings of each node end
 *
 * A layer may apply those of one node right before it uses its record, which then comes into the cache once for both.
 * Whatever adds further sightings meanwhile, or needs all records as they are, has all of them applied. */
#include "core/space.h"

enum { NODES_AHEAD = 24, RECORDS_AHEAD = 16, NAMES_AHEAD = 8 }; /* sightings whose memory is prefetched */
enum { SIGHTINGS_KEPT = 1024 };                                 /* there is room for so many when none waits */
enum { NODES_A_SIGHTING = 16 }; /* where there are more, sorting costs more than it saves */

/* ---- sightings --------------------------------------------------------------------------------------------------- */

/* Of the only layer, as a rule: then the node's record is not looked at. */
uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target) {
    aoi_layer *layer = s->layers;
    if (layer->next) layer = aoi_layer_node_from(s->world.areas[node].user_data)->layer;
    return layer->class->name(layer, target);
}

/* NULL: it is applied already, or the node has been removed since. */
static aoi_layer_node *node_of_sighting(const aoi_space *s, uint32_t i) {
    uint32_t node = s->sightings[i].node;
    const aoi_node_record *n = s->world.nodes + node;
    bool is = s->sightings[i].name != AOI_SIGHTING_DONE && n->flags & AOI_NODE_LAYER && aoi_is_live(n->generation);
    return is ? aoi_layer_node_from(s->world.areas[node].user_data) : NULL;
}

/* False when memory is refused: then it still waits. */
static bool apply_sighting(aoi_layer_node *n, aoi_sighting *sighting) {
    if (!n->layer->class->see(n, sighting->name, sighting->enters)) return false;
    sighting->name = AOI_SIGHTING_DONE;
    return true;
}

/* A counting sort, which leaves where those of each node end.  False if it does not pay or memory is refused. */
static bool sort_sightings(aoi_space *s) {
    aoi_world *w = &s->world;
    uint32_t n = s->sighting_count, at = 0;
    if (n < w->node_top / NODES_A_SIGHTING ||
        !AOI_GROW(&w->memory, s->sighting_ends, s->sighting_end_cap, w->node_top + (size_t)1))
        return false;
    aoi_sighting *sorted = aoi_resize(&w->memory, NULL, 0, n * sizeof *sorted);
    if (!sorted) return false;
    uint32_t *ends = s->sighting_ends;
    memset(ends, 0, w->node_top * sizeof *ends);
    for (uint32_t i = 0; i < n; i++) ends[s->sightings[i].node]++;
    for (uint32_t k = 0; k < w->node_top; k++) {
        uint32_t count = ends[k];
        ends[k] = at;
        at += count;
    }
    for (uint32_t i = 0; i < n; i++) sorted[ends[s->sightings[i].node]++] = s->sightings[i];
    AOI_FREE(&w->memory, s->sightings, s->sighting_cap);
    s->sightings = sorted;
    s->sighting_cap = n;
    return true;
}

/* All are applied. */
static void forget_sightings(aoi_space *s) {
    s->sighting_count = s->sightings_sorted = s->sightings_left = 0;
    if (s->sighting_cap > SIGHTINGS_KEPT) AOI_CLEAR(&s->world.memory, s->sightings, s->sighting_cap);
}

bool aoi_layers_group(aoi_space *s) {
    if ((s->sightings_sorted && !aoi_layers_see(s)) || !s->sighting_count) return !s->sighting_count;
    if (!sort_sightings(s)) return aoi_layers_see(s);
    for (uint32_t i = 0; i < s->sighting_count; i = s->sighting_ends[s->sightings[i].node]) {
        aoi_layer_node *n = node_of_sighting(s, i);
        if (n && n->layer->class->grouped) n->layer->class->grouped(n);
    }
    s->sightings_sorted = s->sightings_left = s->sighting_count;
    s->sighting_nodes = s->world.node_top;
    return true;
}

static uint32_t group_begin(const aoi_space *s, uint32_t node) {
    return node ? s->sighting_ends[node - 1] : 0;
}

static void prefetch_sighting(const aoi_space *s, uint32_t i, bool record) {
    const aoi_layer_node *n = node_of_sighting(s, i);
    if (n && n->layer->class->prefetch) n->layer->class->prefetch(n, s->sightings[i].name, record);
}

bool aoi_layer_see(aoi_space *s, uint32_t node, uint32_t next) {
    if (s->sighting_count > s->sightings_sorted) return aoi_layers_see(s);
    if (!s->sighting_count || node >= s->sighting_nodes) return true;
    for (uint32_t i = next < s->sighting_nodes ? group_begin(s, next) : UINT32_MAX;
         next < s->sighting_nodes && i < s->sighting_ends[next]; i++)
        prefetch_sighting(s, i, false);
    for (uint32_t i = group_begin(s, node); i < s->sighting_ends[node]; i++) {
        if (s->sightings[i].name == AOI_SIGHTING_DONE) continue;
        if (!apply_sighting(aoi_layer_node_from(s->world.areas[node].user_data), s->sightings + i)) return false;
        s->sightings_left--;
    }
    if (!s->sightings_left) forget_sightings(s);
    return true;
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
    if (i < s->sighting_count) prefetch_sighting(s, i, s->sightings[i].node != s->sightings[i - 1].node);
}

bool aoi_layers_see(aoi_space *s) {
    if (!s->sighting_count) return true;
    if (!s->sightings_sorted || s->sighting_count > s->sightings_sorted) (void)sort_sightings(s);
    s->sightings_sorted = s->sightings_left = 0;
    for (uint32_t i = 0; i < s->sighting_count; i++) {
        prefetch_sightings(s, i);
        aoi_layer_node *n = node_of_sighting(s, i);
        if (n && !apply_sighting(n, s->sightings + i)) return false;
    }
    forget_sightings(s);
    return true;
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

int aoi_remove_layer_node(aoi_space *s, uint32_t node) {
    aoi_node_record *n = s->world.nodes + node;
    int result = aoi_remove_node(s, (aoi_node){node, n->generation});
    if (result == AOI_OK) return result;
    s->world.areas[node].user_data = aoi_layer_node_end(s, node);
    n->flags = (uint8_t)((n->flags & ~AOI_NODE_LAYER) | AOI_NODE_SILENT);
    return result;
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

/* What a node sees of it may change as if it had moved. */
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
