/* The event queue: when it has an index, order, memory that it gives back.  What waits in it, and how calls are undone, is
 * compared in every history of corpus.c and faults.c. */
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
    finish();
}

/* Of one call or of many, whether or not there is room for a copy: kinds at random, nodes in the order of their calls. A
 * third of the rounds are calls of three. */
static void order_survives(void) {
    for (uint32_t round = 0; round < 420; round++) {
        uint32_t n = round % 3 ? round / 3 + 1 : 3;
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

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

/* Some events always wait, and what has been taken does not pile up in the index or before the head. */
static void the_index_forgets_what_was_taken(void) {
    enum { WAITING = 100 };
    start();
    for (uint32_t i = 0; i < WAITING; i++) EXPECT(put(AOI_ENTER, i, 1));
    for (uint32_t i = WAITING; i < 60000; i++) {
        EXPECT(put(AOI_ENTER, i, 1) && take(AOI_ENTER, i - WAITING, 1));
        EXPECT(queue.index.count <= 3 * WAITING + 3 && queue.index.size <= 1024 && queue.cap < 1024);
        if (i % 1000 == 0) EXPECT(!put(AOI_LEAVE, i, 1) && put(AOI_ENTER, i, 1));
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

int main(void) {
    random_start("event_queue");
    RUN(calls_that_are_taken_at_once_need_no_index);
    RUN(calls_without_opposites_need_no_index);
    RUN(order_survives);
    RUN(order_is_looked_at_anew);
    RUN(the_index_forgets_what_was_taken);
    RUN(cancelled_events_do_not_pile_up);
    RUN(gives_back_what_a_storm_needed);
    return expect_report("event_queue");
}
