/* recall.c - a node of a sight that comes from another space, with the pairs that it had there.
 *
 *   saw   [ id | state ] ...     a pair as it was at the last tick there
 *                                state = AOI_PAIR_WAS, _SEEN, _CLEAR of the pair | ticks since the line was clear << 8
 *
 *   seen there, not in this space         a leave waits
 *   in the area there, but hidden         the area keeps the target between two borders
 *   seen there, in sight here or not      the next tick finds the difference */
#include "sight/sight.h"

enum { AGE_SHIFT = 8, PAIR_STATE = AOI_SAW_PLAINLY };

/* Queues the leave of an entity that is not in this space. */
static int leave_absent(aoi_sight *g, const aoi_watch *n, int64_t id) {
    aoi_space *s = g->plugin.space;
    aoi_event_queue *q = &g->queue;
    if (!aoi_queue_ready(&s->records.memory, q)) return AOI_ENOMEM;
    aoi_append(s, q, &(aoi_queued){n->watcher, id, n->node_id, n->node, AOI_NONE, q->top, AOI_LEAVE, false, 0, 0});
    q->ordered_end = q->top;
    return AOI_OK;
}

static int recall(aoi_sight *g, aoi_watch *n, const int64_t *saw, size_t count) {
    aoi_space *s = g->plugin.space;
    int result = AOI_OK;
    for (size_t i = 0; i < count && result == AOI_OK; i++) {
        const uint64_t state = (uint64_t)saw[2 * i + 1], age = state >> AGE_SHIFT;
        const uint32_t target = aoi_slot_of_id(s, saw[2 * i]);
        const int flags = (int)(state & ((1 << AGE_SHIFT) - 1));
        if ((flags & ~PAIR_STATE) || age > UINT32_MAX || target == n->owner) result = AOI_EVALUE;
        else if (target != AOI_NONE)
            result = aoi_pair_restore(g, n, target, flags | (flags & AOI_PAIR_WAS ? AOI_PAIR_AREA : 0), (uint32_t)age);
        else if (flags & AOI_PAIR_SEEN) result = leave_absent(g, n, saw[2 * i]);
    }
    return result;
}

int aoi_sight_recall(aoi_sight *g, aoi_node node, const int64_t *saw, size_t count) {
    aoi_space *s = g->plugin.space;
    aoi_watch *n = aoi_watch_of(g, aoi_node_slot(s, node));
    if (!n) return AOI_EGONE;
    if (!aoi_settle(s) || !aoi_plugins_see(s)) return AOI_ENOMEM;
    return recall(g, n, saw, count);
}

size_t aoi_sight_saw(const aoi_sight *g, aoi_node node, int64_t *out, size_t room) {
    const aoi_watch *n = aoi_watch_of(g, aoi_node_slot(g->plugin.space, node));
    size_t count = 0;
    for (uint32_t i = 0; n && i < n->pair_count; i++) {
        const aoi_sight_pair *pair = n->pairs + i;
        const bool lingers = pair->flags & AOI_PAIR_SEEN && !(pair->flags & AOI_PAIR_CLEAR);
        if (pair->flags & AOI_PAIR_GONE || !(pair->flags & (AOI_PAIR_WAS | AOI_PAIR_SEEN))) continue;
        if (count < room) {
            out[2 * count] = pair->id;
            out[2 * count + 1] = pair->flags & PAIR_STATE;
            if (lingers) out[2 * count + 1] |= (int64_t)(g->now - pair->clear) << AGE_SHIFT;
        }
        count++;
    }
    return count;
}
