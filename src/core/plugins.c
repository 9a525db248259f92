/* plugins.c - the chain of plugins (plugin_hook.h), and the sightings of their nodes. */
#include "core/space.h"

enum { NODES_AHEAD = 24, RECORDS_AHEAD = 16, NAMES_AHEAD = 8 }; /* sightings whose memory is prefetched */
enum { SIGHTINGS_KEPT = 1024 };                                 /* kept room when none waits */

/* ---- sightings --------------------------------------------------------------------------------------------------- */

/* Usually there is one plugin: then the node's record is not read. */
uint32_t aoi_sighting_name(const aoi_space *s, uint32_t node, uint32_t target) {
    aoi_plugin *plugin = s->plugins;
    if (plugin->next) plugin = aoi_plugin_node_from(s->records.areas[node].user_data)->plugin;
    return plugin->class->name(plugin, target);
}

/* NULL: the node has been removed since. */
static aoi_plugin_node *node_of_sighting(const aoi_space *s, uint32_t i) {
    uint32_t node = s->sightings[i].node;
    const aoi_node_record *n = s->records.nodes + node;
    return n->flags & AOI_NODE_PLUGIN && aoi_is_live(n->generation)
               ? aoi_plugin_node_from(s->records.areas[node].user_data)
               : NULL;
}

/* In three steps: the node, its record, the target. */
static void prefetch_sightings(const aoi_space *s, uint32_t i) {
    if (i + NODES_AHEAD < s->sighting_count) {
        AOI_PREFETCH(s->records.nodes + s->sightings[i + NODES_AHEAD].node);
        AOI_PREFETCH(s->records.areas + s->sightings[i + NODES_AHEAD].node);
    }
    const aoi_plugin_node *n = i + RECORDS_AHEAD < s->sighting_count ? node_of_sighting(s, i + RECORDS_AHEAD) : NULL;
    if (n) {
        AOI_PREFETCH(n);
        AOI_PREFETCH((const char *)n + AOI_CACHE_LINE);
    }
    i += NAMES_AHEAD;
    n = i < s->sighting_count ? node_of_sighting(s, i) : NULL;
    if (n && n->plugin->class->prefetch)
        n->plugin->class->prefetch(n, s->sightings[i].name, s->sightings[i].node != s->sightings[i - 1].node);
}

bool aoi_plugins_see(aoi_space *s) {
    uint32_t i = 0;
    for (; i < s->sighting_count; i++) {
        prefetch_sightings(s, i);
        aoi_plugin_node *n = node_of_sighting(s, i);
        if (n && !n->plugin->class->see(n, s->sightings[i].name, s->sightings[i].enters)) break;
    }
    s->sighting_count -= i;
    if (s->sighting_count) memmove(s->sightings, s->sightings + i, s->sighting_count * sizeof *s->sightings);
    else if (s->sighting_cap > SIGHTINGS_KEPT) AOI_CLEAR(&s->records.memory, s->sightings, s->sighting_cap);
    return !s->sighting_count;
}

/* ---- plugins ------------------------------------------------------------------------------------------------------ */

void aoi_plugin_open(aoi_space *s, aoi_plugin *plugin, const aoi_plugin_class *class) {
    *plugin = (aoi_plugin){.class = class, .space = s, .next = s->plugins};
    s->plugins = plugin;
}

void aoi_plugin_close(aoi_plugin *plugin) {
    aoi_plugin **link = &plugin->space->plugins;
    while (*link != plugin) link = &(*link)->next;
    *link = plugin->next;
}

bool aoi_node_is_recorded(const aoi_space *s, uint32_t node) {
    return !(s->records.nodes[node].flags & AOI_NODE_PLUGIN) ||
           aoi_plugin_node_from(s->records.areas[node].user_data)->plugin->class->recorded;
}

void aoi_remove_plugin_node(aoi_space *s, uint32_t node) {
    if (aoi_remove_node(s, (aoi_node){node, s->records.nodes[node].generation}) == AOI_OK) return;
    aoi_forget_pairs(s, &s->kept, node, 0);
    aoi_chain_remove(&s->records, &s->chains, node);
    aoi_free_node(s, node);
}

uint64_t aoi_plugin_node_end(const aoi_space *s, uint32_t node) {
    aoi_plugin_node *n = aoi_plugin_node_from(s->records.areas[node].user_data);
    uint64_t user_data = n->user_data;
    n->plugin->class->end(n);
    return user_data;
}

void aoi_plugin_node_changed(const aoi_space *s, uint32_t node) {
    aoi_plugin_node *n = aoi_plugin_node_from(s->records.areas[node].user_data);
    if (n->plugin->class->changed) n->plugin->class->changed(n);
}

void aoi_plugins_entered(aoi_plugin *first, uint32_t entity) {
    for (aoi_plugin *l = first; l; l = l->next)
        if (l->class->entered) l->class->entered(l, entity);
}

void aoi_plugins_moved(aoi_plugin *first, uint32_t entity) {
    for (aoi_plugin *l = first; l; l = l->next) l->class->moved(l, entity);
}

/* Layers and extents change visibility, so plugins handle them like a move. */
void aoi_plugins_looked(aoi_plugin *first, uint32_t entity, bool kind) {
    for (aoi_plugin *l = first; l; l = l->next) {
        if (l->class->looked) l->class->looked(l, entity);
        if (!kind) l->class->moved(l, entity);
        else if (l->class->touched) l->class->touched(l, entity);
    }
}

void aoi_plugins_seated(aoi_plugin *first, uint32_t entity) {
    for (aoi_plugin *l = first; l; l = l->next)
        if (l->class->seated) l->class->seated(l, entity);
}

void aoi_plugins_left(aoi_plugin *first, uint32_t entity) {
    for (aoi_plugin *l = first; l; l = l->next) l->class->left(l, entity);
}

void aoi_plugins_free(aoi_plugin *first) {
    while (first) {
        aoi_plugin *next = first->next;
        first->class->free(first);
        first = next;
    }
}

const aoi_queued *aoi_plugins_take(aoi_space *s) {
    aoi_plugin *l = s->plugins;
    while (l && !aoi_plugin_waiting(l)) l = l->next;
    return l ? aoi_take_from(s, l->queue) : NULL;
}

size_t aoi_plugins_waiting(const aoi_plugin *first) {
    size_t count = 0;
    for (const aoi_plugin *l = first; l; l = l->next) count += aoi_plugin_waiting(l);
    return count;
}

bool aoi_plugins_owe(const aoi_plugin *first) {
    while (first && !first->owes) first = first->next;
    return first != NULL;
}

const char *aoi_plugins_check(const aoi_plugin *first) {
    const char *wrong = NULL;
    for (const aoi_plugin *l = first; l && !wrong; l = l->next) wrong = l->class->check(l);
    return wrong;
}
