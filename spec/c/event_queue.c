/* The queue of events: order, cancellation, what it does when memory runs out, and what it gives back. */
#include "core/event_queue.h"

#include "host.h"

static aoi_memory memory = {.alloc = host_alloc};
static aoi_queue queue;

/* One call of the library with one event; true when it was added, false when it cancelled another. */
static bool put(int kind, uint32_t node, uint32_t life) {
    EXPECT(aoi_queue_reserve(&memory, &queue, 1, true));
    return aoi_queue_put(&queue, kind, node, 0, life) != NULL;
}

/* Takes the oldest, which must be this one. */
static bool take(int kind, uint32_t node, uint32_t life) {
    const aoi_waiting *e = aoi_queue_take(&queue);
    return e->kind == kind && e->node == node && e->entity == 0 && e->life == life;
}

static void start(void) {
    aoi_queue_open(&queue);
}

static void finish(void) {
    EXPECT(aoi_queue_check(&queue) == NULL);
    aoi_queue_close(&memory, &queue);
    EXPECT(host.used == 0 && memory.used == 0);
}

static void one_change_alone_needs_no_index(void) {
    start();
    EXPECT(put(AOI_LEAVE, 1, 1) && !queue.hashed && put(AOI_ENTER, 2, 1) && queue.hashed);
    EXPECT(take(AOI_LEAVE, 1, 1) && take(AOI_ENTER, 2, 1) && !queue.hashed);
    EXPECT(put(AOI_LEAVE, 1, 1) && !queue.hashed && take(AOI_LEAVE, 1, 1));
    finish();
}

static void a_batch_puts_leaves_before_enters(void) {
    start();
    EXPECT(aoi_queue_reserve(&memory, &queue, 4, false));
    for (uint32_t i = 0; i < 4; i++) EXPECT(aoi_queue_put(&queue, i % 2 ? AOI_LEAVE : AOI_ENTER, i, 0, 1));
    aoi_queue_end_batch(&queue);
    EXPECT(aoi_queue_check(&queue) == NULL);
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
    aoi_queue_leaves_first(&queue); /* of an empty queue */
    EXPECT(put(AOI_ENTER, 1, 1) && put(AOI_LEAVE, 2, 1) && put(AOI_ENTER, 3, 1) && put(AOI_LEAVE, 4, 1));
    aoi_queue_leaves_first(&queue);
    EXPECT(aoi_queue_check(&queue) == NULL);
    EXPECT(!put(AOI_ENTER, 2, 1)); /* cancellation finds them where they are now */
    EXPECT(take(AOI_LEAVE, 4, 1));
    EXPECT(put(AOI_ENTER, 5, 1) && put(AOI_LEAVE, 6, 1));
    aoi_queue_leaves_first(&queue); /* what was in order before stays in front */
    EXPECT(take(AOI_ENTER, 1, 1) && take(AOI_ENTER, 3, 1) && take(AOI_LEAVE, 6, 1) && take(AOI_ENTER, 5, 1));
    finish();
}

/* Whether or not there is room for a copy: kinds at random, nodes in the order in which they were put. */
static void order_survives(void) {
    for (uint32_t n = 1; n < 70; n++) {
        start();
        for (uint32_t i = 0; i < n; i++) EXPECT(put(1 + (int)random_below(2), i, 1));
        if (random_below(2)) EXPECT(!put(AOI_ENTER + AOI_LEAVE - queue.events[n / 2].kind, n / 2, 1));
        uint32_t cap = queue.cap, last = 0;
        int kind = AOI_LEAVE;
        if (random_below(2)) queue.cap = queue.top;
        aoi_queue_leaves_first(&queue);
        queue.cap = cap;
        EXPECT(aoi_queue_check(&queue) == NULL);
        while (queue.count) {
            const aoi_waiting *e = aoi_queue_take(&queue);
            if (e->kind != kind) last = 0;
            EXPECT((e->kind == kind || e->kind == AOI_ENTER) && e->node >= last);
            kind = e->kind;
            last = e->node;
        }
        finish();
    }
}

static void opposites_cancel(void) {
    start();
    EXPECT(put(AOI_ENTER, 1, 1) && !put(AOI_LEAVE, 1, 1) && queue.count == 0);
    EXPECT(put(AOI_LEAVE, 1, 1) && !put(AOI_ENTER, 1, 1) && queue.count == 0);
    finish();
}

static void lives_do_not_cancel_each_other(void) {
    start();
    EXPECT(put(AOI_LEAVE, 1, 1) && put(AOI_ENTER, 1, 3) && queue.count == 2);
    aoi_queue_clear(&queue);
    EXPECT(queue.count == 0 && queue.top == 0);
    finish();
}

/* What waited before a batch, is cancelled by it and comes back in it, has never been away. */
static void batches_bring_back_what_they_cancelled(void) {
    start();
    EXPECT(put(AOI_ENTER, 1, 1) && put(AOI_ENTER, 2, 1) && put(AOI_ENTER, 3, 1));
    EXPECT(aoi_queue_reserve(&memory, &queue, 5, false));
    EXPECT(!aoi_queue_put(&queue, AOI_LEAVE, 1, 0, 1) && !aoi_queue_put(&queue, AOI_LEAVE, 2, 0, 1));
    EXPECT(aoi_queue_put(&queue, AOI_ENTER, 4, 0, 1) && !aoi_queue_put(&queue, AOI_LEAVE, 4, 0, 1)); /* its own */
    EXPECT(aoi_queue_put(&queue, AOI_ENTER, 1, 0, 1));
    aoi_queue_end_batch(&queue);
    EXPECT(queue.count == 2 && aoi_queue_check(&queue) == NULL);
    EXPECT(take(AOI_ENTER, 1, 1) && take(AOI_ENTER, 3, 1));
    finish();
}

typedef struct item {
    int kind;
    uint32_t node;
} item;

static size_t place_of(const item *list, size_t count, uint32_t node) {
    size_t at = 0;
    while (at < count && list[at].node != node) at++;
    return at;
}

/* Against a plain array: put, cancel and take at random, memory refused now and then. */
static void agrees_with_an_array(void) {
    enum { MOST = 5000, PAIRS = 60 };
    static item list[MOST];
    size_t count = 0;
    start();
    for (int step = 0; step < 20000; step++) {
        if (count && random_below(100) < 45) {
            EXPECT(take(list[0].kind, list[0].node, 1));
            memmove(list, list + 1, --count * sizeof *list);
            continue;
        }
        uint32_t pair = random_below(PAIRS);
        size_t same = place_of(list, count, pair);
        int kind = same < count ? AOI_ENTER + AOI_LEAVE - list[same].kind : 1 + (int)random_below(2);
        host_refuse(1, 1);
        bool good = aoi_queue_reserve(&memory, &queue, 1, random_below(2));
        EXPECT(host_relent() == !good && queue.count == count && aoi_queue_check(&queue) == NULL);
        if (!good) continue;
        EXPECT((aoi_queue_put(&queue, kind, pair, 0, 1) != NULL) == (same == count));
        aoi_queue_end_batch(&queue);
        if (same == count) list[count++] = (item){.kind = kind, .node = pair};
        else memmove(list + same, list + same + 1, (--count - same) * sizeof *list);
        EXPECT(queue.count == count && aoi_queue_check(&queue) == NULL);
    }
    finish();
}

static void gives_back_what_a_storm_needed(void) {
    start();
    EXPECT(aoi_queue_reserve(&memory, &queue, 100000, true));
    for (uint32_t i = 0; i < 100000; i++) aoi_queue_put(&queue, AOI_ENTER, i, 0, 1);
    size_t storm = memory.used;
    while (queue.count) aoi_queue_take(&queue);
    for (int calm = 0; calm < 100; calm++) EXPECT(put(AOI_ENTER, 1, 1) && take(AOI_ENTER, 1, 1));
    EXPECT(memory.used < storm / 10);
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
    queue.events[1].sleeps = true;
    EXPECT(aoi_queue_check(&queue) != NULL);
    queue.events[1].sleeps = false;
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
    RUN(one_change_alone_needs_no_index);
    RUN(a_batch_puts_leaves_before_enters);
    RUN(what_comes_during_delivery_joins_the_end);
    RUN(all_leaves_can_come_first);
    RUN(order_survives);
    RUN(opposites_cancel);
    RUN(lives_do_not_cancel_each_other);
    RUN(batches_bring_back_what_they_cancelled);
    RUN(agrees_with_an_array);
    RUN(gives_back_what_a_storm_needed);
    RUN(reports_damage);
    return expect_report("event_queue");
}
