/* aoi_queue.c - see aoi_queue.h. */
#include "aoi_queue.h"

enum { KEEP = 1024 }; /* records that an empty queue always keeps */

void aoi_queue_open(aoi_queue *q) {
    *q = (aoi_queue){
        .unused = AOI_NONE, .head = AOI_NONE, .tail = AOI_NONE, .first_enter = AOI_NONE, .placed = AOI_NONE};
}

void aoi_queue_close(aoi_memory *m, aoi_queue *q) {
    AOI_FREE(m, q->events, q->cap);
    aoi_index_free(m, &q->index);
    aoi_queue_open(q);
}

static uint32_t hash_of(uint32_t node, uint32_t entity, uint32_t life) {
    return aoi_hash64(((uint64_t)node << 32 | entity) + (uint64_t)life * 0x10000001);
}

static uint32_t hash_at(const aoi_queue *q, uint32_t i) {
    return hash_of(q->events[i].node, q->events[i].entity, q->events[i].life);
}

bool aoi_queue_reserve(aoi_memory *m, aoi_queue *q, size_t n, bool alone) {
    if (!q->count && q->cap > KEEP && q->storm + n < q->cap / 8) aoi_queue_close(m, q); /* the storm is over */
    if (!AOI_GROW(m, q->events, q->cap, q->top + n)) return false;
    if (!q->hashed && !(alone && !q->count)) {
        if (!aoi_index_reserve(m, &q->index, q->count + n)) return false;
        for (uint32_t i = q->head; i != AOI_NONE; i = q->events[i].next) aoi_index_add(&q->index, hash_at(q, i), i);
        q->hashed = true;
    } else if (q->hashed && !aoi_index_reserve(m, &q->index, q->index.count + n)) return false;
    q->in_batch = !alone;
    q->batch += !alone;
    return true;
}

static void release(aoi_queue *q, uint32_t i) {
    aoi_waiting *e = q->events + i;
    if (e->prev != AOI_NONE) q->events[e->prev].next = e->next;
    else q->head = e->next;
    if (e->next != AOI_NONE) q->events[e->next].prev = e->prev;
    else q->tail = e->prev;
    if (q->first_enter == i) q->first_enter = e->next;
    if (q->placed == i) q->placed = e->prev;
    e->next = q->unused;
    q->unused = i;
}

static uint32_t find(const aoi_queue *q, uint32_t hash, uint32_t node, uint32_t entity, uint32_t life) {
    uint32_t at = AOI_SEEK, i;
    while ((i = aoi_index_next(&q->index, hash, &at)) != AOI_NONE) {
        const aoi_waiting *e = q->events + i;
        if (e->node == node && e->entity == entity && e->life == life) break;
    }
    return i;
}

aoi_waiting *aoi_queue_put(aoi_queue *q, int kind, uint32_t node, uint32_t entity, uint32_t life) {
    uint32_t hash = 0, i;
    if (q->hashed) {
        hash = hash_of(node, entity, life);
        if ((i = find(q, hash, node, entity, life)) != AOI_NONE) {
            aoi_waiting *e = q->events + i;
            if (e->cancelled) { /* it comes back */
                e->cancelled = false;
                q->cancelled--;
                q->count++;
                return e;
            }
            q->count--;
            if (q->in_batch && e->batch != q->batch) {
                e->cancelled = true;
                q->cancelled++;
            } else {
                aoi_index_remove(&q->index, hash, i);
                release(q, i);
            }
            return NULL;
        }
    }
    if ((i = q->unused) != AOI_NONE) q->unused = q->events[i].next;
    else i = q->top++;
    aoi_waiting *e = q->events + i;
    e->kind = (uint8_t)kind;
    e->cancelled = false;
    e->node = node;
    e->entity = entity;
    e->life = life;
    e->batch = q->batch;
    e->next = kind == AOI_LEAVE ? q->first_enter : AOI_NONE;
    e->prev = e->next != AOI_NONE ? q->events[e->next].prev : q->tail;
    if (e->prev != AOI_NONE) q->events[e->prev].next = i;
    else q->head = i;
    if (e->next != AOI_NONE) q->events[e->next].prev = i;
    else q->tail = i;
    if (kind == AOI_ENTER && q->first_enter == AOI_NONE) q->first_enter = i;
    if (q->hashed) aoi_index_add(&q->index, hash, i);
    q->count++;
    return e;
}

void aoi_queue_end_batch(aoi_queue *q) {
    q->in_batch = false;
    for (uint32_t i = q->head, next; q->cancelled; i = next) {
        next = q->events[i].next;
        if (!q->events[i].cancelled) continue;
        aoi_index_remove(&q->index, hash_at(q, i), i);
        release(q, i);
        q->cancelled--;
    }
}

/* An empty queue starts over. */
static void start_over(aoi_queue *q) {
    q->storm = q->top > q->storm ? q->top : q->storm - q->storm / 8;
    q->unused = q->head = q->tail = q->first_enter = q->placed = AOI_NONE;
    q->count = q->top = 0;
    q->hashed = false;
    aoi_index_clear(&q->index);
}

const aoi_waiting *aoi_queue_take(aoi_queue *q) {
    uint32_t i = q->head;
    if (q->hashed) aoi_index_remove(&q->index, hash_at(q, i), i);
    release(q, i);
    q->placed = q->tail;
    if (--q->count == 0) start_over(q);
    return q->events + i;
}

void aoi_queue_clear(aoi_queue *q) {
    start_over(q);
}

void aoi_queue_leaves_first(aoi_queue *q) {
    uint32_t first[3] = {AOI_NONE, AOI_NONE, AOI_NONE}, last[3] = {AOI_NONE, AOI_NONE, AOI_NONE}; /* by kind */
    for (uint32_t i = q->placed == AOI_NONE ? q->head : q->events[q->placed].next, next; i != AOI_NONE; i = next) {
        aoi_waiting *e = q->events + i;
        next = e->next;
        e->prev = last[e->kind];
        e->next = AOI_NONE;
        if (e->prev == AOI_NONE) first[e->kind] = i;
        else q->events[e->prev].next = i;
        last[e->kind] = i;
    }
    q->tail = q->placed;
    for (int k = AOI_LEAVE; k >= AOI_ENTER; k--) {
        if (first[k] == AOI_NONE) continue;
        q->events[first[k]].prev = q->tail;
        if (q->tail == AOI_NONE) q->head = first[k];
        else q->events[q->tail].next = first[k];
        q->tail = last[k];
    }
    q->placed = q->tail;
    q->first_enter = AOI_NONE;
}

const char *aoi_queue_check(const aoi_queue *q) {
    uint32_t n = 0, prev = AOI_NONE;
    for (uint32_t i = q->head; i != AOI_NONE; prev = i, i = q->events[i].next) {
        if (q->events[i].prev != prev) return "the queue's links disagree";
        if (q->events[i].cancelled) return "a cancelled event waits";
        if (++n > q->count) return "the queue is longer than its count";
    }
    if (n != q->count || q->tail != prev) return "the queue counts its events wrongly";
    if (q->hashed && q->index.count != n) return "the queue's index misses events";
    return aoi_index_check(&q->index);
}
