/* explain.c - why a node does or does not see a target. */
#include "core/space.h"

const char *aoi_why_text(int why) {
    static const char *const texts[] = {[AOI_WHY_NO_WATCHER] = "no watcher",
                                        [AOI_WHY_NO_NODE] = "no node",
                                        [AOI_WHY_NO_TARGET] = "no target",
                                        [AOI_WHY_SELF] = "self",
                                        [AOI_WHY_HIDDEN] = "hidden",
                                        [AOI_WHY_SHOWN] = "shown",
                                        [AOI_WHY_MASK] = "mask",
                                        [AOI_WHY_INSIDE] = "inside",
                                        [AOI_WHY_KEPT] = "kept",
                                        [AOI_WHY_OUTSIDE] = "outside",
                                        [AOI_WHY_WALL] = "wall",
                                        [AOI_WHY_LINGERS] = "lingers",
                                        [AOI_WHY_LAYERS] = "layers"};
    return why >= 0 && why <= AOI_WHY_LAYERS ? texts[why] : "unknown";
}

static int why_of(const aoi_space *s, uint32_t node, uint32_t target) {
    const aoi_node_record *n = s->records.nodes + node;
    int how = aoi_override_of(s, node, target);
    if (n->owner == target) return AOI_WHY_SELF;
    if (how == AOI_HIDE) return AOI_WHY_HIDDEN;
    if (how == AOI_SHOW) return AOI_WHY_SHOWN;
    if (!aoi_meets(how, aoi_kind_of(s, target), n->mask)) return AOI_WHY_MASK;
    if (!aoi_layers_meet(s, node, target)) return AOI_WHY_LAYERS;
    aoi_zone z = aoi_pair_zone(s, node, target, aoi_position_now(s, n->owner), aoi_position_now(s, target));
    if (z == AOI_INSIDE) return AOI_WHY_INSIDE;
    return z == AOI_BETWEEN && aoi_pair_table_has(&s->kept, node, target) ? AOI_WHY_KEPT : AOI_WHY_OUTSIDE;
}

bool aoi_is_pending(const aoi_event_queue *q, int64_t watcher, int64_t node_id, int64_t target) {
    for (uint32_t i = q->head; (i = aoi_queue_from(q, i)) < q->top; i++) {
        const aoi_queued *e = q->events + i;
        if (e->watcher == watcher && e->node_id == node_id && e->target == target) return true;
    }
    return false;
}

void aoi_explain(aoi_space *s, int64_t watcher, int64_t node_id, int64_t target, aoi_explanation *out) {
    (void)aoi_settle(s);
    aoi_entity w = aoi_find(s, watcher), t = aoi_find(s, target);
    uint32_t node = aoi_node_slot(s, aoi_find_node(s, w, node_id));
    *out = (aoi_explanation){.pending = aoi_is_pending(&s->queue, watcher, node_id, target)};
    out->why = AOI_IS_NULL(w)     ? AOI_WHY_NO_WATCHER
               : node == AOI_NONE ? AOI_WHY_NO_NODE
               : AOI_IS_NULL(t)   ? AOI_WHY_NO_TARGET
                                  : why_of(s, node, t.index);
    out->label = node == AOI_NONE ? NULL : aoi_label_of(s, node);
    if (out->why <= AOI_WHY_NO_TARGET) return;
    const double *from = aoi_position_now(s, w.index), *to = aoi_position_now(s, t.index);
    for (int a = 0; a < s->records.dims; a++) out->d[a] = to[a] - from[a];
    out->distance = sqrt(aoi_distance2(s->records.dims, from, to));
    out->sees = aoi_node_sees(s, node, t.index);
    out->outside = s->records.nodes[node].outside;
    out->shape = aoi_given_shape(&s->records, node);
    if (s->records.areas[node].shape) memcpy(out->offset, s->records.areas[node].shape->offset, sizeof out->offset);
    if (out->shape == AOI_SECTOR) out->facing = s->records.areas[node].shape->facing;
    out->kind = aoi_kind_of(s, t.index);
    out->layers = aoi_layers_of(s, t.index);
    out->node_layers = aoi_node_layers_of(s, node);
    out->extent = s->records.nodes[node].fixed ? 0 : aoi_extent_of(s, t.index);
    out->mask = s->records.nodes[node].mask;
}
