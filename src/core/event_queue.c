/* event_queue.c - see event_queue.h. */
#include "core/event_queue.h"

#include <string.h>

void aoi_queue_open(aoi_queue *q) {
    *q = (aoi_queue){0};
}

void aoi_queue_close(aoi_memory *m, aoi_queue *q) {
    AOI_FREE(m, q->events, q->cap);
    aoi_index_free(m, &q->index);
    aoi_queue_open(q);
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t node, uint32_t entity, uint32_t life) {
    return aoi_hash64(((uint64_t)node << 32 | entity) + (uint64_t)life * 0x10000001);
}

static uint32_t hash_at(const aoi_queue *q, uint32_t i) {
    return hash_of(q->events[i].node, q->events[i].entity, q->events[i].life);
}

static void forget_index(aoi_queue *q) {
    aoi_index_clear(&q->index);
    q->hashed = false;
}

static bool index_ready(aoi_memory *m, aoi_queue *q, size_t n) {
    if (q->index.count > 2 * q->count) forget_index(q); /* most are of events that have been taken */
    if (!aoi_index_reserve(m, &q->index, (q->hashed ? q->index.count : q->count) + n)) return false;
    for (uint32_t i = q->head; !q->hashed && i < q->top; i++)
        if (!q->events[i].cancelled) aoi_index_add(&q->index, hash_at(q, i), i);
    q->hashed = true;
    return true;
}

static uint32_t find(const aoi_queue *q, uint32_t hash, uint32_t node, uint32_t entity, uint32_t life) {
    uint32_t at = AOI_SEEK, i;
    while ((i = aoi_index_next(&q->index, hash, &at)) != AOI_NONE) {
        const aoi_waiting *e = q->events + i;
        if (i >= q->head && e->node == node && e->entity == entity && e->life == life) break;
    }
    return i;
}

/* ---- putting ----------------------------------------------------------------------------------------------------- */

/* Moves the events to `from` over those that are taken or cancelled. */
static void close_gaps(aoi_queue *q, uint32_t from) {
    uint32_t to = from, first = q->head > from ? q->head : from, placed = from;
    for (uint32_t i = first; i < q->top; i++) {
        if (i == q->placed) placed = to;
        if (!q->events[i].cancelled) q->events[to++] = q->events[i];
    }
    q->placed = q->placed >= q->top ? to : placed;
    q->top = to;
    if (q->head > from) q->head = from;
    forget_index(q);
}

bool aoi_queue_make_room(aoi_memory *m, aoi_queue *q, size_t n, bool alone) {
    if (!q->count && q->hashed) aoi_queue_clear(q); /* all that waited has been cancelled */
    if (!q->count && q->cap > AOI_QUEUE_KEEPS && q->storm + n < q->cap / 8)
        aoi_queue_close(m, q); /* the storm is over */
    if (q->top + n > q->cap && q->count < q->top / 2) close_gaps(q, 0);
    if (!AOI_GROW(m, q->events, q->cap, q->top + n)) return false;
    if ((q->count || !alone) && !index_ready(m, q, n)) return false;
    q->in_batch = !alone;
    q->batch = q->top;
    return true;
}

aoi_waiting *aoi_queue_cancel_or_add(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life) {
    uint32_t hash = hash_of(node, entity, life), i = find(q, hash, node, entity, life);
    if (i == AOI_NONE) {
        aoi_index_add(&q->index, hash, q->top);
        return aoi_queue_add(q, kind, node, entity, life);
    }
    aoi_waiting *e = q->events + i;
    if (e->sleeps) { /* it comes back */
        e->cancelled = e->sleeps = false;
        q->sleeping--;
        q->count++;
        return e;
    }
    e->cancelled = true;
    q->count--;
    if (q->in_batch && i < q->batch) {
        e->sleeps = true;
        q->sleeping++;
    } else aoi_index_remove(&q->index, hash, i);
    return NULL;
}

void aoi_queue_end_batch(aoi_queue *q) {
    if (!q->in_batch) return;
    q->in_batch = false;
    for (uint32_t i = q->head; q->sleeping; i++) {
        if (!q->events[i].sleeps) continue;
        aoi_index_remove(&q->index, hash_at(q, i), i);
        q->events[i].sleeps = false;
        q->sleeping--;
    }
    aoi_queue_part(q, q->batch);
}

void aoi_queue_clear(aoi_queue *q) {
    q->storm = q->top > q->storm ? q->top : q->storm - q->storm / 8;
    q->head = q->top = q->count = q->placed = 0;
    if (q->hashed) forget_index(q);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static void reverse(aoi_waiting *e, uint32_t n) {
    for (uint32_t i = 0; i < n / 2; i++) {
        aoi_waiting other = e[i];
        e[i] = e[n - 1 - i];
        e[n - 1 - i] = other;
    }
}

/* Leaves before enters, in place; returns how many leaves. */
static uint32_t part(aoi_waiting *e, uint32_t n) {
    if (n < 2) return n && e->kind == AOI_LEAVE;
    uint32_t half = n / 2, a = part(e, half), b = part(e + half, n - half);
    reverse(e + a, half - a); /* two blocks change places: each is turned, then both together */
    reverse(e + half, b);
    reverse(e + a, half - a + b);
    return a + b;
}

/* The same with room for the enters. */
static void part_aside(aoi_waiting *e, uint32_t n, aoi_waiting *room) {
    uint32_t leaves = 0, enters = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].kind == AOI_LEAVE) e[leaves++] = e[i];
        else room[enters++] = e[i];
    }
    if (enters) memcpy(e + leaves, room, enters * sizeof *room);
}

void aoi_queue_part(aoi_queue *q, uint32_t from) {
    uint32_t enters = 0, late = 0;
    for (uint32_t i = from; i < q->top; i++) {
        if (q->events[i].cancelled) continue;
        if (q->events[i].kind == AOI_ENTER) enters++;
        else late += enters > 0;
    }
    if (!late) return;
    close_gaps(q, from);
    if (enters <= q->cap - q->top) part_aside(q->events + from, q->top - from, q->events + q->top);
    else part(q->events + from, q->top - from);
}

void aoi_queue_leaves_first(aoi_queue *q) {
    aoi_queue_part(q, q->placed > q->head ? q->placed : q->head);
    q->placed = q->top;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

const char *aoi_queue_check(const aoi_queue *q) {
    uint32_t n = 0;
    if (q->head > q->top || q->top > q->cap || q->placed > q->top) return "the queue has lost its place";
    for (uint32_t i = q->head; i < q->top; i++) {
        const aoi_waiting *e = q->events + i;
        if (e->sleeps) return "an event sleeps after its batch";
        if (e->cancelled) continue;
        n++;
        if (q->hashed && find(q, hash_at(q, i), e->node, e->entity, e->life) != i)
            return "the queue's index misses events";
    }
    if (n != q->count) return "the queue counts its events wrongly";
    return aoi_index_check(&q->index);
}
