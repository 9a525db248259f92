/* labels.c - labels of nodes: the host's names, which explanations, journals and viewers show beside ids.
 *
 *   labels   [ NULL | "alert" | NULL | "alert" | ... ]   by slot, up to the highest that was ever labelled
 *
 * Labels decide nothing.  A label is freed with its node. */
#include "core/space.h"

bool aoi_label_copy(aoi_space *s, uint32_t node, const char *label, char **copy) {
    *copy = NULL;
    if (!label || label == aoi_label_of(s, node)) return true;
    if (!AOI_GROW_FILLED(&s->records.memory, s->labels, s->label_cap, node + (size_t)1, &(char *){NULL})) return false;
    size_t size = strlen(label) + 1;
    if (!(*copy = aoi_resize(&s->records.memory, NULL, 0, size))) return false;
    memcpy(*copy, label, size);
    return true;
}

void aoi_label_drop(aoi_space *s, char *copy) {
    if (copy) aoi_resize(&s->records.memory, copy, strlen(copy) + 1, 0);
}

void aoi_label_put(aoi_space *s, uint32_t node, char *copy) {
    if (node >= s->label_cap) return;
    aoi_label_drop(s, s->labels[node]);
    s->labels[node] = copy;
}

void aoi_labels_free(aoi_space *s) {
    for (uint32_t n = 0; n < s->label_cap; n++) aoi_label_drop(s, s->labels[n]);
    AOI_CLEAR(&s->records.memory, s->labels, s->label_cap);
}
