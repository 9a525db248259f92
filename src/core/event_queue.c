/* event_queue.c - see event_queue.h. */
#include "core/event_queue.h"

#include <string.h>

void aoi_queue_open(aoi_event_queue *q) {
    *q = (aoi_event_queue){0};
}

void aoi_queue_close(aoi_memory *m, aoi_event_queue *q) {
    AOI_FREE(m, q->events, q->cap);
    AOI_FREE(m, q->undo, q->undo_cap);
    aoi_hash_index_free(m, &q->index);
    aoi_queue_open(q);
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

static uint32_t queue_hash(const aoi_queued *e) {
    return aoi_hash64(((uint64_t)e->node << 32 | e->entity) + (uint64_t)e->life * 0x10000001);
}

static void queue_clear_index(aoi_event_queue *q) {
    if (q->index.count) aoi_hash_index_clear(&q->index);
    q->indexed = 0;
}

/* Adds all waiting events of former calls to the index, and room for one more; false when memory is refused. */
static bool queue_index_ready(aoi_memory *m, aoi_event_queue *q) {
    if (q->indexed == q->call) return true;
    if (q->index.count > 2 * (size_t)q->count) queue_clear_index(q); /* most entries are of taken events */
    if (!aoi_hash_index_reserve(m, &q->index, q->index.count + (size_t)(q->call - q->indexed))) return false;
    for (uint32_t i = q->indexed > q->head ? q->indexed : q->head; i < q->call; i++)
        if (!q->events[i].cancelled && q->events[i].kind != AOI_CROSS)
            aoi_hash_index_add(&q->index, queue_hash(q->events + i), i);
    q->indexed = q->call;
    return true;
}

static uint32_t queue_find(const aoi_event_queue *q, uint32_t hash, uint32_t node, uint32_t entity, uint32_t life) {
    uint32_t at = AOI_SEEK, i;
    while ((i = aoi_hash_index_next(&q->index, hash, &at)) != AOI_NONE) {
        const aoi_queued *e = q->events + i;
        if (i >= q->head && e->node == node && e->entity == entity && e->life == life) break;
    }
    return i;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Moves the events from `from` on over taken and cancelled ones. */
static void queue_close_gaps(aoi_event_queue *q, uint32_t from) {
    uint32_t to = from, first = q->head > from ? q->head : from, ordered = from;
    for (uint32_t i = first; i < q->top; i++) {
        if (i == q->ordered_end) ordered = to;
        if (!q->events[i].cancelled) q->events[to++] = q->events[i];
    }
    if (q->ordered_end > from) q->ordered_end = q->ordered_end >= q->top ? to : ordered;
    q->top = to;
    q->parted_end = 0;
    if (q->head > from) q->head = from;
    if (q->indexed > from) queue_clear_index(q);
}

static void queue_reverse(aoi_queued *e, uint32_t n) {
    for (uint32_t i = 0; i < n / 2; i++) {
        aoi_queued other = e[i];
        e[i] = e[n - 1 - i];
        e[n - 1 - i] = other;
    }
}

/* Leaves before enters, stable and in place; returns the number of leaves. */
static uint32_t queue_stable_partition(aoi_queued *e, uint32_t n) {
    if (n < 2) return n && e->kind == AOI_LEAVE;
    uint32_t half = n / 2, a = queue_stable_partition(e, half), b = queue_stable_partition(e + half, n - half);
    queue_reverse(e + a, half - a); /* exchanges two blocks: reverses each, then both together */
    queue_reverse(e + half, b);
    queue_reverse(e + a, half - a + b);
    return a + b;
}

/* The same with room for the enters. */
static void queue_partition_aside(aoi_queued *e, uint32_t n, aoi_queued *room) {
    uint32_t leaves = 0, enters = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].kind == AOI_LEAVE) e[leaves++] = e[i];
        else room[enters++] = e[i];
    }
    if (enters) memcpy(e + leaves, room, enters * sizeof *room);
}

static void queue_partition(aoi_memory *m, aoi_event_queue *q, uint32_t begin) {
    const aoi_queued *e = q->events;
    uint32_t from = begin, late, enters, cap = 0;
    if (q->parted_end == q->top && q->parted <= begin) return;
    while (from < q->top && (e[from].cancelled || e[from].kind == AOI_LEAVE)) from++;
    for (late = from; late < q->top && (e[late].cancelled || e[late].kind != AOI_LEAVE);) late++;
    if (late < q->top) {
        if (q->count < q->top - q->head) queue_close_gaps(q, from);
        else if (q->indexed > from) queue_clear_index(q);
        aoi_queued *room = NULL;
        uint32_t n = q->top - from, i = from;
        for (enters = n > q->cap - q->top ? 0 : n; n > q->cap - q->top && i < q->top; i++)
            enters += q->events[i].kind != AOI_LEAVE;
        if (enters <= q->cap - q->top) queue_partition_aside(q->events + from, n, q->events + q->top);
        else if (AOI_GROW(m, room, cap, enters)) queue_partition_aside(q->events + from, n, room);
        else queue_stable_partition(q->events + from, n);
        AOI_FREE(m, room, cap);
    }
    q->parted = begin;
    q->parted_end = q->top;
}

void aoi_queue_leaves_first(aoi_memory *m, aoi_event_queue *q) {
    queue_partition(m, q, q->ordered_end > q->head ? q->ordered_end : q->head);
    q->ordered_end = q->top;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

void aoi_queue_tidy(aoi_memory *m, aoi_event_queue *q) {
    if (!q->count) {
        if (q->top) aoi_queue_clear(q); /* all events have been cancelled */
        if (q->cap > AOI_QUEUE_KEEPS && q->peak < q->cap / 8) aoi_queue_close(m, q);
        q->peak /= 2; /* of calls that begin without events, quiet ones too */
    } else if (q->top == q->cap && q->count < q->top / 2) queue_close_gaps(q, 0);
}

bool aoi_queue_grow(aoi_memory *m, aoi_event_queue *q) {
    if (!AOI_GROW(m, q->events, q->cap, q->top + (size_t)1)) return false;
    return q->call == q->head || q->alone ||
           (AOI_GROW(m, q->undo, q->undo_cap, q->undo_count + (size_t)1) && queue_index_ready(m, q));
}

bool aoi_queue_cancel(aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life) {
    aoi_queued key = {.node = node, .entity = entity, .life = life};
    uint32_t hash, i;
    if (q->call == q->head || q->alone) return false;
    i = queue_find(q, hash = queue_hash(&key), node, entity, life);
    if (i == AOI_NONE) return false;
    q->events[i].cancelled = true;
    q->count--;
    aoi_hash_index_remove(&q->index, hash, i);
    q->undo[q->undo_count++] = i;
    return true;
}

int aoi_queue_waiting(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life) {
    aoi_queued key = {.node = node, .entity = entity, .life = life};
    if (q->call == q->head) return 0;
    if (!queue_index_ready(m, q)) return -1;
    uint32_t i = queue_find(q, queue_hash(&key), node, entity, life);
    return i == AOI_NONE ? 0 : q->events[i].kind;
}

const aoi_queued *aoi_queue_take_back(aoi_event_queue *q, uint32_t top) {
    if (q->top == top) return NULL;
    q->count--;
    return q->events + --q->top;
}

const aoi_queued *aoi_queue_restore(aoi_event_queue *q, uint32_t undo_count) {
    if (q->undo_count == undo_count) return NULL;
    uint32_t i = q->undo[--q->undo_count];
    q->events[i].cancelled = false;
    q->count++;
    aoi_hash_index_add(&q->index, queue_hash(q->events + i), i); /* its slot was freed by the removal */
    return q->events + i;
}

void aoi_queue_commit(aoi_memory *m, aoi_event_queue *q) {
    if (q->late) queue_partition(m, q, q->call);
}

void aoi_queue_remove(aoi_event_queue *q, uint32_t i) {
    if (i < q->indexed) aoi_hash_index_remove(&q->index, queue_hash(q->events + i), i);
    q->events[i].cancelled = true;
    q->ordered_end = q->top;
    if (--q->count == 0) aoi_queue_clear(q);
}

bool aoi_queue_withdraw(aoi_memory *m, aoi_event_queue *q, uint32_t node, uint32_t entity, uint32_t life) {
    aoi_queued key = {.node = node, .entity = entity, .life = life};
    uint32_t i = q->head;
    if (!q->count) return false;
    q->call = q->top;
    if (queue_index_ready(m, q)) i = queue_find(q, queue_hash(&key), node, entity, life);
    else
        while ((i = aoi_queue_from(q, i)) < q->top && (q->events[i].node != node || q->events[i].entity != entity ||
                                                       q->events[i].life != life || q->events[i].kind == AOI_CROSS))
            i++;
    if (i >= q->top || q->events[i].kind != AOI_ENTER) return false; /* AOI_NONE is beyond the top */
    aoi_queue_remove(q, i);
    return true;
}

void aoi_queue_clear(aoi_event_queue *q) {
    q->peak = q->top > q->peak ? q->top : q->peak;
    q->head = q->top = q->count = q->call = q->ordered_end = q->parted_end = 0;
    q->enters = q->entered = q->crosses = false;
    queue_clear_index(q);
}
