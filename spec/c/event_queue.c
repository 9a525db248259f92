/* The event queue: order, cancellation, behaviour when memory runs out, memory that it gives back. */
#include "core/event_queue.h"

#include "host.h"

static aoi_memory memory = {.alloc = host_alloc};
static aoi_event_queue queue;

/* One event of the present call; true when it was appended, false when it cancelled another. */
static bool put_one(int kind, uint32_t node, uint32_t entity, uint32_t life) {
    EXPECT(aoi_queue_ready(&memory, &queue));
    if (aoi_queue_cancel(&queue, node, entity, life)) return false;
    aoi_queue_append(&queue, &(aoi_queued){.kind = (uint8_t)kind, .node = node, .entity = entity, .life = life});
    return true;
}

/* A call of the library with one event. */
static bool put(int kind, uint32_t node, uint32_t life) {
    aoi_queue_begin(&memory, &queue);
    bool appended = put_one(kind, node, 0, life);
    aoi_queue_commit(&memory, &queue);
    return appended;
}

/* Takes the oldest, which must be this one. */
static bool take(int kind, uint32_t node, uint32_t life) {
    const aoi_queued *e = aoi_queue_take(&queue);
    return e->kind == kind && e->node == node && e->entity == 0 && e->life == life;
}

static void undo_call(void) {
    while (aoi_queue_take_back(&queue, queue.call)) continue;
    while (aoi_queue_restore(&queue, 0)) continue;
}

static void start(void) {
    aoi_queue_open(&queue);
}

static void finish(void) {
    EXPECT(aoi_queue_check(&queue) == NULL);
    aoi_queue_close(&memory, &queue);
    EXPECT(host.used == 0 && memory.used == 0);
}

static void calls_that_are_taken_at_once_need_no_index(void) {
    start();
    for (int round = 0; round < 5; round++) {
        aoi_queue_begin(&memory, &queue);
        for (uint32_t i = 0; i < 50; i++) EXPECT(put_one(AOI_ENTER, i, i, 1));
        aoi_queue_commit(&memory, &queue);
        while (queue.count) (void)aoi_queue_take(&queue);
        EXPECT(queue.index.size == 0 && queue.undo == NULL);
    }
    EXPECT(put(AOI_LEAVE, 1, 1) && put(AOI_ENTER, 2, 1) && queue.index.count == 1);
    EXPECT(take(AOI_LEAVE, 1, 1) && take(AOI_ENTER, 2, 1) && queue.index.count == 0);
    finish();
}

/* A call of new pairs, or of leaves behind leaves, cancels nothing. */
static void calls_without_opposites_need_no_index(void) {
    start();
    for (uint32_t i = 0; i < 20; i++) {
        aoi_queue_begin(&memory, &queue);
        aoi_queue_only_leaves(&queue);
        EXPECT(put_one(AOI_LEAVE, i, 0, 1) && put_one(AOI_LEAVE, i, 1, 1));
        aoi_queue_commit(&memory, &queue);
    }
    for (uint32_t i = 0; i < 20; i++) {
        aoi_queue_begin(&memory, &queue);
        aoi_queue_only_new(&queue);
        EXPECT(put_one(AOI_ENTER, i, 0, 2));
        aoi_queue_commit(&memory, &queue);
    }
    EXPECT(queue.index.size == 0 && queue.undo == NULL && queue.count == 60);
    aoi_queue_begin(&memory, &queue); /* an enter waits: it may be the opposite */
    aoi_queue_only_leaves(&queue);
    EXPECT(!put_one(AOI_LEAVE, 7, 0, 2) && put_one(AOI_LEAVE, 7, 2, 1));
    aoi_queue_commit(&memory, &queue);
    EXPECT(queue.count == 60 && queue.index.count > 0);
    aoi_queue_begin(&memory, &queue);
    EXPECT(put_one(AOI_LEAVE, 8, 2, 1));
    undo_call();
    EXPECT(queue.count == 60);
    while (queue.count) (void)aoi_queue_take(&queue);
    aoi_queue_begin(&memory, &queue);
    aoi_queue_only_leaves(&queue);
    EXPECT(put_one(AOI_LEAVE, 1, 0, 3));
    aoi_queue_commit(&memory, &queue);
    aoi_queue_begin(&memory, &queue);
    aoi_queue_only_leaves(&queue);
    EXPECT(put_one(AOI_LEAVE, 2, 0, 3) && queue.index.count == 0);
    aoi_queue_commit(&memory, &queue);
    queue.events[0].kind = AOI_ENTER;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.events[0].kind = AOI_LEAVE;
    finish();
}

static void a_call_puts_leaves_before_enters(void) {
    start();
    EXPECT(put(AOI_ENTER, 9, 1)); /* of a former call */
    aoi_queue_begin(&memory, &queue);
    for (uint32_t i = 0; i < 4; i++) EXPECT(put_one(i % 2 ? AOI_LEAVE : AOI_ENTER, i, 0, 1));
    aoi_queue_commit(&memory, &queue);
    EXPECT(aoi_queue_check(&queue) == NULL && take(AOI_ENTER, 9, 1));
    EXPECT(take(AOI_LEAVE, 1, 1) && take(AOI_LEAVE, 3, 1) && take(AOI_ENTER, 0, 1) && take(AOI_ENTER, 2, 1));
    EXPECT(queue.count == 0);
    finish();
}

static void what_comes_during_delivery_joins_the_end(void) {
    start();
    EXPECT(put(AOI_ENTER, 1, 1) && put(AOI_ENTER, 2, 1) && take(AOI_ENTER, 1, 1) && put(AOI_LEAVE, 3, 1));
    EXPECT(take(AOI_ENTER, 2, 1) && take(AOI_LEAVE, 3, 1));
    finish();
}

static void all_leaves_can_come_first(void) {
    start();
    aoi_queue_leaves_first(&memory, &queue); /* of an empty queue */
    EXPECT(put(AOI_ENTER, 1, 1) && put(AOI_LEAVE, 2, 1) && put(AOI_ENTER, 3, 1) && put(AOI_LEAVE, 4, 1));
    aoi_queue_leaves_first(&memory, &queue);
    EXPECT(aoi_queue_check(&queue) == NULL);
    EXPECT(!put(AOI_ENTER, 2, 1)); /* cancellation finds them where they are now */
    EXPECT(take(AOI_LEAVE, 4, 1));
    EXPECT(put(AOI_ENTER, 5, 1) && put(AOI_LEAVE, 6, 1));
    aoi_queue_leaves_first(&memory, &queue); /* what was in order before stays in front */
    EXPECT(take(AOI_ENTER, 1, 1) && take(AOI_ENTER, 3, 1) && take(AOI_LEAVE, 6, 1) && take(AOI_ENTER, 5, 1));
    finish();
}

/* Of one call or of many, whether or not there is room for a copy: kinds at random, nodes in the order of their calls. */
static void order_survives(void) {
    for (uint32_t n = 1; n < 140; n++) {
        bool one_call = n % 2;
        start();
        if (one_call) aoi_queue_begin(&memory, &queue);
        for (uint32_t i = 0; i < n; i++) {
            int kind = 1 + (int)random_below(2);
            EXPECT(one_call ? put_one(kind, i, 0, 1) : put(kind, i, 1));
        }
        if (!one_call && random_below(2)) EXPECT(!put(AOI_ENTER + AOI_LEAVE - queue.events[n / 2].kind, n / 2, 1));
        uint32_t cap = queue.cap, last = 0;
        int kind = AOI_LEAVE;
        if (random_below(2)) queue.cap = queue.top;
        if (one_call) aoi_queue_commit(&memory, &queue);
        else aoi_queue_leaves_first(&memory, &queue);
        queue.cap = cap;
        EXPECT(aoi_queue_check(&queue) == NULL);
        while (queue.count) {
            const aoi_queued *e = aoi_queue_take(&queue);
            if (e->kind != kind) last = 0;
            EXPECT((e->kind == kind || e->kind == AOI_ENTER) && e->node >= last);
            kind = e->kind;
            last = e->node;
        }
        finish();
    }
}

/* Once gaps are closed as many events as before are other ones: that leaves were before enters says nothing then. */
static void order_is_looked_at_anew(void) {
    start();
    aoi_queue_begin(&memory, &queue);
    for (uint32_t i = 0; i < 15; i++) EXPECT(put_one(i % 2 ? AOI_LEAVE : AOI_ENTER, i, 0, 1));
    aoi_queue_commit(&memory, &queue);
    aoi_queue_begin(&memory, &queue);
    for (uint32_t i = 0; i < 9; i++) EXPECT(!put_one(i % 2 ? AOI_ENTER : AOI_LEAVE, i, 0, 1));
    EXPECT(put_one(AOI_ENTER, 15, 0, 1) && queue.top == queue.cap && queue.count < queue.top / 2);
    aoi_queue_commit(&memory, &queue);
    aoi_queue_begin(&memory, &queue);
    EXPECT(queue.top == 7);
    for (uint32_t i = 20; i < 28; i++) EXPECT(put_one(i % 2 ? AOI_LEAVE : AOI_ENTER, i, 0, 1));
    aoi_queue_commit(&memory, &queue);
    while (queue.count > 8) (void)aoi_queue_take(&queue);
    for (uint32_t i = 21; i < 28; i += 2) EXPECT(take(AOI_LEAVE, i, 1));
    for (uint32_t i = 20; i < 28; i += 2) EXPECT(take(AOI_ENTER, i, 1));
    finish();
}

static void opposites_cancel(void) {
    start();
    EXPECT(put(AOI_ENTER, 1, 1) && !put(AOI_LEAVE, 1, 1) && queue.count == 0);
    EXPECT(put(AOI_LEAVE, 1, 1) && !put(AOI_ENTER, 1, 1) && queue.count == 0);
    EXPECT(put(AOI_LEAVE, 2, 1) && put(AOI_LEAVE, 1, 1) && !put(AOI_ENTER, 2, 1) && take(AOI_LEAVE, 1, 1));
    EXPECT(put(AOI_LEAVE, 1, 1) && put(AOI_LEAVE, 2, 1) && take(AOI_LEAVE, 1, 1));
    EXPECT(put(AOI_ENTER, 1, 1)); /* what has been taken is in the index still, and cancels nothing */
    EXPECT(take(AOI_LEAVE, 2, 1) && take(AOI_ENTER, 1, 1));
    finish();
}

static void lives_do_not_cancel_each_other(void) {
    start();
    EXPECT(put(AOI_LEAVE, 1, 1) && put(AOI_ENTER, 1, 3) && queue.count == 2);
    aoi_queue_clear(&queue);
    EXPECT(queue.count == 0 && queue.top == 0);
    finish();
}

/* ---- against a plain array ---------------------------------------------------------------------------------------- */

typedef struct item {
    int kind;
    uint32_t node, entity, life;
} item;

enum { MOST = 6000, MOST_IN_CALL = 24 };

static struct {
    item items[MOST];
    size_t count, ordered; /* ordered: from the front, those that keep their order */
} plain;

static size_t place_of(const item *key) {
    size_t at = 0;
    for (; at < plain.count; at++) {
        const item *i = plain.items + at;
        if (i->node == key->node && i->entity == key->entity && i->life == key->life) break;
    }
    return at;
}

static void plain_remove(size_t at) {
    memmove(plain.items + at, plain.items + at + 1, (--plain.count - at) * sizeof *plain.items);
    if (at < plain.ordered) plain.ordered--;
}

static void plain_leaves_first(size_t from) {
    static item enters[MOST];
    size_t to = from, n = 0;
    for (size_t i = from; i < plain.count; i++) {
        if (plain.items[i].kind == AOI_LEAVE) plain.items[to++] = plain.items[i];
        else enters[n++] = plain.items[i];
    }
    memcpy(plain.items + to, enters, n * sizeof *enters);
}

static void expect_equal(void) {
    uint32_t at = queue.head;
    EXPECT(queue.count == plain.count && aoi_queue_check(&queue) == NULL);
    for (size_t i = 0; i < plain.count; i++, at++) {
        const item *p = plain.items + i;
        at = aoi_queue_from(&queue, at);
        if (!EXPECT(at < queue.top)) return;
        const aoi_queued *e = queue.events + at;
        EXPECT(e->kind == p->kind && e->node == p->node && e->entity == p->entity && e->life == p->life);
        EXPECT(e->watcher == (int64_t)e->node * 3 && e->target == -(int64_t)e->entity);
    }
    EXPECT(aoi_queue_from(&queue, at) == queue.top);
}

/* The events of a call, each pair at most once, each the opposite of one that waits for the same pair. */
static size_t random_items(item *out, size_t most, uint32_t pairs) {
    size_t n = 0;
    for (size_t k = random_below((uint32_t)most + 1); k > 0; k--) {
        item i = {1 + (int)random_below(2), random_below(pairs), random_below(3), 1 + 2 * (random_below(9) == 0)};
        size_t at = place_of(&i), same = 0;
        if (at < plain.count) i.kind = AOI_ENTER + AOI_LEAVE - plain.items[at].kind;
        while (same < n && (out[same].node != i.node || out[same].entity != i.entity || out[same].life != i.life))
            same++;
        if (same == n) out[n++] = i;
    }
    return n;
}

/* As the space does it; false where memory was refused. */
static bool queue_put(const item *i) {
    if (!aoi_queue_ready(&memory, &queue)) return false;
    if (queue.call && aoi_queue_cancel(&queue, i->node, i->entity, i->life)) return true;
    aoi_queue_append(&queue, &(aoi_queued){.watcher = (int64_t)i->node * 3,
                                           .target = -(int64_t)i->entity,
                                           .node = i->node,
                                           .entity = i->entity,
                                           .life = i->life,
                                           .kind = (uint8_t)i->kind});
    return true;
}

static bool queue_call(const item *items, size_t n) {
    aoi_queue_begin(&memory, &queue);
    for (size_t k = 0; k < n; k++)
        if (!queue_put(items + k)) return false;
    return true;
}

static void plain_call(const item *items, size_t n) {
    size_t first = plain.count;
    for (size_t k = 0; k < n; k++) {
        size_t at = place_of(items + k);
        if (at == plain.count) plain.items[plain.count++] = items[k];
        else plain_remove(at), first--;
    }
    plain_leaves_first(first);
}

/* One call, first begun and undone after each of its events, and with each of its allocations refused. */
static void one_call(uint32_t pairs, bool undo) {
    item items[MOST_IN_CALL];
    size_t n = random_items(items, MOST_IN_CALL, pairs);
    for (size_t k = 0; undo && k <= n; k++) {
        EXPECT(queue_call(items, k));
        undo_call();
        expect_equal();
    }
    for (long at = 1; undo; at++) {
        host_refuse(at, random_below(2) ? 1 : HOST_FOR_EVER);
        bool good = queue_call(items, n);
        host_relent();
        undo_call(); /* a call may be given up for other reasons, too */
        expect_equal();
        if (good) break;
    }
    EXPECT(queue_call(items, n));
    aoi_queue_commit(&memory, &queue);
    plain_call(items, n);
    expect_equal();
}

static void take_some(size_t n) {
    for (; n > 0 && plain.count; n--) {
        const aoi_queued *e = aoi_queue_take(&queue);
        const item *p = plain.items;
        EXPECT(e->kind == p->kind && e->node == p->node && e->entity == p->entity && e->life == p->life);
        plain_remove(0);
        plain.ordered = plain.count;
    }
}

static void history(int steps, uint32_t pairs, uint32_t takes) {
    start();
    plain.count = plain.ordered = 0;
    for (int step = 0; step < steps; step++) {
        uint32_t what = random_below(100);
        if (what < 60 && plain.count < MOST - MOST_IN_CALL) {
            one_call(pairs, random_below(4) == 0);
        } else if (what < 90) {
            take_some(random_below(takes));
        } else if (what < 94) {
            aoi_queue_leaves_first(&memory, &queue);
            plain_leaves_first(plain.ordered);
            plain.ordered = plain.count;
        } else if (what < 98) {
            queue.ordered_end = queue.top; /* as aoi_keep_order does */
            plain.ordered = plain.count;
        } else if (what < 99) {
            take_some(plain.count);
        } else {
            aoi_queue_clear(&queue);
            plain.count = plain.ordered = 0;
        }
        expect_equal();
    }
    finish();
}

static void agrees_with_an_array(void) {
    history(3000, 20, 30);  /* few pairs: most events cancel others */
    history(3000, 300, 40); /* about as many are taken as come */
    history(1500, 4000, 8); /* the queue swells */
    history(1500, 3, 4);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

/* Some events always wait, and what has been taken does not pile up in the index or before the head. */
static void the_index_forgets_what_was_taken(void) {
    enum { WAITING = 100 };
    start();
    for (uint32_t i = 0; i < WAITING; i++) EXPECT(put(AOI_ENTER, i, 1));
    for (uint32_t i = WAITING; i < 60000; i++) {
        EXPECT(put(AOI_ENTER, i, 1) && take(AOI_ENTER, i - WAITING, 1));
        EXPECT(queue.index.count <= 3 * WAITING + 3 && queue.index.size <= 1024 && queue.cap < 1024);
        if (i % 1000 == 0) EXPECT(aoi_queue_check(&queue) == NULL && !put(AOI_LEAVE, i, 1) && put(AOI_ENTER, i, 1));
    }
    EXPECT(queue.count == WAITING);
    for (uint32_t i = 60000 - WAITING; i < 60000; i++) EXPECT(!put(AOI_LEAVE, i, 1));
    EXPECT(queue.count == 0);
    finish();
}

/* All that waited is cancelled again and again, and never taken. */
static void cancelled_events_do_not_pile_up(void) {
    start();
    for (uint32_t i = 0; i < 20000; i++) {
        EXPECT(put(AOI_ENTER, i, 1) && (i % 3 == 0 || !put(AOI_LEAVE, i, 1)));
        if (i % 3 == 0) EXPECT(put(AOI_ENTER, i, 3) && !put(AOI_LEAVE, i, 1) && !put(AOI_LEAVE, i, 3));
        EXPECT(queue.count == 0 && queue.cap <= 64);
    }
    finish();
}

static void gives_back_what_a_storm_needed(void) {
    start();
    aoi_queue_begin(&memory, &queue);
    for (uint32_t i = 0; i < 100000; i++) EXPECT(put_one(AOI_ENTER, i, 0, 1));
    aoi_queue_commit(&memory, &queue);
    aoi_queue_begin(&memory, &queue);
    for (uint32_t i = 0; i < 50000; i++) EXPECT(!put_one(AOI_LEAVE, i, 0, 1)); /* index and undo log, too */
    aoi_queue_commit(&memory, &queue);
    size_t storm = memory.used;
    while (queue.count) aoi_queue_take(&queue);
    for (int calm = 0; calm < 100; calm++) EXPECT(put(AOI_ENTER, 1, 1) && take(AOI_ENTER, 1, 1));
    EXPECT(memory.used < storm / 100);
    finish();
}

static void reports_damage(void) {
    start();
    for (uint32_t i = 0; i < 4; i++) EXPECT(put(AOI_ENTER, i, 1));
    EXPECT(aoi_queue_check(&queue) == NULL);
    queue.count++;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.count -= 2;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.count++;
    queue.head = queue.top + 1;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.head = 0;
    queue.ordered_end = queue.top + 1;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.ordered_end = 0;
    queue.events[1].node += 50; /* another pair than the one that is in the index */
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.events[1].node -= 50;
    queue.events[2].cancelled = true;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.events[2].cancelled = false;
    queue.index.count--;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.index.count++;
    finish();
}

int main(void) {
    random_start("event_queue");
    RUN(calls_that_are_taken_at_once_need_no_index);
    RUN(calls_without_opposites_need_no_index);
    RUN(a_call_puts_leaves_before_enters);
    RUN(what_comes_during_delivery_joins_the_end);
    RUN(all_leaves_can_come_first);
    RUN(order_survives);
    RUN(order_is_looked_at_anew);
    RUN(opposites_cancel);
    RUN(lives_do_not_cancel_each_other);
    RUN(agrees_with_an_array);
    RUN(the_index_forgets_what_was_taken);
    RUN(cancelled_events_do_not_pile_up);
    RUN(gives_back_what_a_storm_needed);
    RUN(reports_damage);
    return expect_report("event_queue");
}
