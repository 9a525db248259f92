/* The hash index, compared with a plain array, with hashes that collide on purpose; memory that it gives back; pairs in it;
 * ids that are crafted to collide. */
#include "core/pair_table.h"
#include "core/space.h"

#include <time.h>

#include "host.h"

enum { VALUES = 400 };

static aoi_memory memory = {.alloc = host_alloc};

static void is_empty_at_first(void) {
    aoi_hash_index ix = {0};
    uint32_t at = AOI_SEEK;
    EXPECT(aoi_hash_index_next(&ix, 7, &at) == AOI_NONE);
    aoi_hash_index_clear(&ix);
    aoi_hash_index_remove(&ix, 7, 7);
    aoi_hash_index_free(&memory, &ix);
    EXPECT(host.used == 0);
}

/* How often the value is found under the hash. */
static int times(const aoi_hash_index *ix, uint32_t hash, uint32_t value) {
    uint32_t at = AOI_SEEK, v, n = 0;
    while ((v = aoi_hash_index_next(ix, hash, &at)) != AOI_NONE) n += v == value;
    return (int)n;
}

static void holds_what_was_put_in(uint32_t hashes) {
    aoi_hash_index ix = {0};
    uint32_t hash[VALUES], count = 0;
    bool in[VALUES] = {false};
    expect_at("%u hashes", (unsigned)hashes);
    for (int step = 0; step < 4000; step++) {
        uint32_t v = random_below(VALUES), w = random_below(VALUES);
        if (!in[v]) {
            EXPECT(aoi_hash_index_reserve(&memory, &ix, count + (size_t)1));
            /* the top of the range: probing goes over the end of the table */
            hash[v] = UINT32_MAX - random_below(hashes);
            aoi_hash_index_add(&ix, hash[v], v);
            in[v] = true;
            count++;
        } else if (random_below(3) && !in[w]) {
            aoi_hash_index_replace(&ix, hash[v], v, w);
            hash[w] = hash[v];
            in[w] = true;
            in[v] = false;
        } else {
            aoi_hash_index_remove(&ix, hash[v], v);
            in[v] = false;
            count--;
        }
        if (random_below(50) == 0) {
            host_refuse(1, (long)random_below(2));
            aoi_hash_index_shrink(&memory, &ix); /* cannot fail: it may do without */
            host_relent();
        }
        EXPECT(ix.count == count);
        for (v = 0; v < VALUES; v += 1 + random_below(7)) EXPECT(times(&ix, in[v] ? hash[v] : 0, v) == in[v]);
    }
    aoi_hash_index_clear(&ix);
    EXPECT(ix.count == 0);
    for (uint32_t v = 0; v < VALUES; v++)
        if (in[v]) EXPECT(times(&ix, hash[v], v) == 0);
    aoi_hash_index_free(&memory, &ix);
    EXPECT(host.used == 0 && memory.used == 0);
}

static void is_as_before_when_memory_runs_out(void) {
    aoi_hash_index ix = {0};
    for (uint32_t v = 0; v < 100; v++) {
        host_refuse(1, 1);
        bool good = aoi_hash_index_reserve(&memory, &ix, v + (size_t)1);
        EXPECT(host_relent() == !good);
        EXPECT(ix.count == v);
        if (!good) EXPECT(aoi_hash_index_reserve(&memory, &ix, v + (size_t)1));
        aoi_hash_index_add(&ix, v * 3, v);
    }
    EXPECT(!aoi_hash_index_reserve(&memory, &ix, (size_t)1 << 31)); /* more than an index can hold */
    EXPECT(ix.count == 100);
    aoi_hash_index_free(&memory, &ix);
    EXPECT(host.used == 0);
}

/* As many as there is room for leave and come again. */
static void removes_and_adds_again_without_memory(void) {
    aoi_hash_index ix = {0};
    EXPECT(aoi_hash_index_reserve(&memory, &ix, 12) && ix.size == 16); /* full as far as it gets */
    for (uint32_t v = 0; v < 12; v++) aoi_hash_index_add(&ix, v * 5, v);
    host_refuse(1, HOST_FOR_EVER);
    for (uint32_t v = 0; v < 12; v++) aoi_hash_index_remove(&ix, v * 5, v);
    for (uint32_t v = 12; v-- > 0;) aoi_hash_index_add(&ix, v * 5, v);
    EXPECT(!host_relent() && ix.size == 16 && ix.count == 12);
    for (uint32_t v = 0; v < 12; v++) EXPECT(times(&ix, v * 5, v) == 1);
    aoi_hash_index_free(&memory, &ix);
}

/* Pairs of a node and a target: the node follows from both hash and target. */
static void gives_back_what_many_pairs_needed(void) {
    enum { MANY = 100000 };
    aoi_hash_index ix = {0};
    EXPECT(aoi_hash_index_reserve(&memory, &ix, MANY));
    for (uint32_t i = 0; i < MANY; i++) aoi_pair_table_add(&ix, i * 40000u, i / 2);
    size_t most = memory.used;
    EXPECT(ix.count == MANY && most <= MANY / 3 * 4 * 2 * sizeof *ix.slots);
    for (uint32_t i = 5; i < MANY; i++) {
        EXPECT(aoi_pair_table_node(aoi_pair_table_hash(i * 40000u, i / 2), i / 2) == i * 40000u);
        EXPECT(aoi_pair_table_remove(&ix, i * 40000u, i / 2) && !aoi_pair_table_remove(&ix, i * 40000u, i / 2));
        if (i % 10 == 0) aoi_hash_index_shrink(&memory, &ix);
    }
    EXPECT(memory.used < most / 1000 && ix.count == 5);
    for (uint32_t i = 0; i < MANY; i++) EXPECT(aoi_pair_table_has(&ix, i * 40000u, i / 2) == (i < 5));
    for (uint32_t i = 0; i < 5; i++) aoi_pair_table_remove(&ix, i * 40000u, i / 2);
    aoi_hash_index_shrink(&memory, &ix);
    EXPECT(memory.used == 0);
}

/* Slots that a search for each entry looks at, all in all. */
static double probes(const aoi_hash_index *ix) {
    double sum = 0;
    for (uint32_t i = 0; i < ix->size; i++)
        if (ix->slots[i].value != AOI_NONE) sum += 1 + ((i - ix->slots[i].hash) & (ix->size - 1));
    return sum;
}

enum { CRAFTED = 20000 };

/* Ids that collide under hashes that do without a key, and under those that add or xor one before or behind. */
static int64_t crafted_id(int how, uint32_t i) {
    static uint64_t next;
    uint64_t v = (uint64_t)i << 47;
    if (i == 0) next = 0;
    if (how == 0) return (int64_t)((v ^ v >> 32) << 3); /* folded by 32 they differ in the highest bits alone */
    if (how == 1) return (int64_t)v;
    for (;; next++) /* fold and multiply, searched for */
        if (!(aoi_hash64(next) & 0xFF)) return (int64_t)(next++ << 3);
}

/* How many probes an id of a space costs, of ids that are given by `how`; -1: random ones. */
static double probes_of_ids(int how) {
    aoi_options o = {.alloc = host_alloc};
    aoi_space *s;
    EXPECT(aoi_open(&o, &s) == AOI_OK);
    for (uint32_t i = 0; i < CRAFTED; i++) {
        int64_t id = how < 0 ? (int64_t)((uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX))
                             : crafted_id(how, i);
        EXPECT(aoi_enter(s, id, (double[]){100.0 * i, 0}, 1, NULL) == AOI_OK);
    }
    double each = probes(&s->ids) / CRAFTED;
    aoi_close(s);
    return each;
}

static void ids_that_are_crafted_cost_no_more(void) {
    double usual = probes_of_ids(-1);
    for (int how = 0; how < 3; how++) {
        double each = probes_of_ids(how);
        expect_at("crafted by %u", (unsigned)how);
        EXPECT(each < 3 * usual);
    }
}

/* The ids that hosts deal out themselves, under any key. */
static void ids_that_follow_one_another_are_spread(void) {
    enum { COUNT = 10000, STEPS = 4 };
    static const uint32_t step[STEPS] = {1, 8, 1000, 65536};
    for (int round = 0; round < 200; round++) {
        aoi_hash_index ix = {0};
        aoi_hash_key key = {random_mix((uint64_t)round + 1), random_mix(~(uint64_t)round), 1};
        EXPECT(aoi_hash_index_reserve(&memory, &ix, COUNT * 3 / 2));
        for (uint32_t i = 0; i < COUNT; i++)
            aoi_hash_index_add(&ix, aoi_id_hash(&key, (int64_t)i * step[round % STEPS]), i);
        expect_at("step %u", (unsigned)step[round % STEPS]);
        EXPECT(probes(&ix) / COUNT < 5);
        aoi_hash_index_free(&memory, &ix);
    }
}

/* Of two spaces at the same address, too. */
static void every_space_has_another_key(void) {
    aoi_hash_key last = {0};
    for (int i = 0; i < 3; i++) {
        aoi_options o = {.alloc = host_alloc};
        aoi_space *s;
        for (clock_t t = clock(); clock() == t;) continue;
        EXPECT(aoi_open(&o, &s) == AOI_OK);
        EXPECT(s->records.hash_key.a != last.a && s->records.hash_key.b != last.b);
        last = s->records.hash_key;
        aoi_close(s);
    }
}

int main(void) {
    random_start("hash_index");
    RUN(is_empty_at_first);
    holds_what_was_put_in(1000000);
    holds_what_was_put_in(40);
    holds_what_was_put_in(1);
    RUN(is_as_before_when_memory_runs_out);
    RUN(removes_and_adds_again_without_memory);
    RUN(gives_back_what_many_pairs_needed);
    RUN(ids_that_are_crafted_cost_no_more);
    RUN(ids_that_follow_one_another_are_spread);
    RUN(every_space_has_another_key);
    return expect_report("hash_index");
}
