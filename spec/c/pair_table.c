/* The set of pairs: against a plain matrix, while it grows, while pairs leave gaps, and after it was tidied. */
#include "core/pair_table.h"

#include "host.h"

enum { NODES = 40, TARGETS = 50 };

static aoi_memory memory = {.alloc = host_alloc};
static aoi_index table;
static bool expected[NODES][TARGETS];
static uint32_t expected_count;

/* Slots far apart as well, so that keys differ in their high and in their low bits. */
static uint32_t node_slot(uint32_t n) {
    return n % 2 ? n : n * 50000000u;
}

static bool has(uint32_t n, uint32_t t) {
    EXPECT(aoi_pair_table_node(aoi_pair_table_hash(node_slot(n), t), t) == node_slot(n));
    return aoi_pair_table_has(&table, node_slot(n), t);
}

static void check_all(void) {
    uint32_t used = 0;
    EXPECT(table.count == expected_count);
    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t t = 0; t < TARGETS; t++) EXPECT(has(n, t) == expected[n][t]);
    for (uint32_t i = 0; i < table.size; i++) used += table.slots[i].value != AOI_NONE;
    EXPECT(used == expected_count && (table.size == 0 || used < table.size)); /* a search ends */
    EXPECT((table.size & (table.size - 1)) == 0 && memory.used == table.size * sizeof *table.slots);
}

static void start(void) {
    table = (aoi_index){0};
    memset(expected, 0, sizeof expected);
    expected_count = 0;
}

static void finish(void) {
    check_all();
    aoi_index_free(&memory, &table);
    EXPECT(host.used == 0 && memory.used == 0 && table.size == 0 && table.count == 0);
    EXPECT(!has(0, 0));
}

/* Room for one more, now and then refused first: then nothing has changed. */
static void make_room(void) {
    uint32_t size = table.size;
    host_refuse(1 + (long)random_below(2), 1);
    bool good = aoi_index_reserve(&memory, &table, expected_count + 1);
    if (!host_relent() || good) return;
    EXPECT(table.size == size && table.count == expected_count);
    EXPECT(aoi_index_reserve(&memory, &table, expected_count + 1));
}

static void change(uint32_t n, uint32_t t) {
    if (expected[n][t]) {
        EXPECT(aoi_pair_table_remove(&table, node_slot(n), t));
        expected_count--;
    } else {
        EXPECT(!aoi_pair_table_remove(&table, node_slot(n), t)); /* what is not there stays away */
        make_room();
        aoi_pair_table_add(&table, node_slot(n), t);
        expected_count++;
    }
    expected[n][t] = !expected[n][t];
    EXPECT(has(n, t) == expected[n][t]);
}

static void an_empty_set_has_nothing(void) {
    start();
    EXPECT(!has(0, 0) && aoi_index_reserve(&memory, &table, 0) && table.size == 0);
    aoi_index_shrink(&memory, &table);
    EXPECT(table.size == 0);
    change(3, 4);
    EXPECT(!has(4, 3) && !has(3, 3));
    change(3, 4);
    EXPECT(table.size > 0);
    aoi_index_shrink(&memory, &table);
    EXPECT(table.size == 0 && !has(3, 4));
    finish();
}

/* Sizes that swell and shrink: mostly added, then mostly removed, in waves. */
static void agrees_with_a_matrix(void) {
    start();
    for (int step = 0; step < 60000; step++) {
        uint32_t n = random_below(NODES), t = random_below(TARGETS);
        bool swells = step / 5000 % 2 == 0;
        if (expected[n][t] == swells && random_below(8)) continue;
        change(n, t);
        if (random_below(50) == 0) {
            host_refuse(1, (long)random_below(2));
            aoi_index_shrink(&memory, &table); /* cannot fail: it may do without */
            host_relent();
        }
        if (step % 500 == 0) check_all();
    }
    finish();
}

/* Every set of a few pairs whose probe sequences meet, and wrap at the end of the slots; each removed in turn. */
static void removals_close_gaps(void) {
    uint32_t found[8], count = 0;
    start();
    for (uint32_t t = 0; count < 8; t++) /* eight pairs that have the last two of 16 slots as their home */
        if ((aoi_pair_table_hash(1, t) & 15) >= 14) found[count++] = t;
    for (uint32_t set = 0; set < 256; set++)
        for (uint32_t gone = 0; gone < 8; gone++) {
            if (!(set >> gone & 1)) continue;
            EXPECT(aoi_index_reserve(&memory, &table, 8));
            for (uint32_t i = 0; i < 8; i++)
                if (set >> i & 1) aoi_pair_table_add(&table, 1, found[i]);
            EXPECT(table.size == 16);
            aoi_pair_table_remove(&table, 1, found[gone]);
            for (uint32_t i = 0; i < 8; i++)
                EXPECT(aoi_pair_table_has(&table, 1, found[i]) == ((set >> i & 1) && i != gone));
            aoi_index_free(&memory, &table);
        }
    finish();
}

static void removes_and_adds_again_without_memory(void) {
    start();
    for (uint32_t t = 0; t < 12; t++) change(1, t);
    EXPECT(table.size == 16 && table.count == 12); /* full as far as it gets */
    host_refuse(1, HOST_FOR_EVER);
    for (uint32_t t = 0; t < 12; t++) aoi_pair_table_remove(&table, node_slot(1), t);
    for (uint32_t t = 12; t-- > 0;) aoi_pair_table_add(&table, node_slot(1), t);
    EXPECT(!host_relent());
    finish();
}

static void gives_back_what_many_needed(void) {
    enum { MANY = 100000 };
    start();
    EXPECT(aoi_index_reserve(&memory, &table, MANY));
    for (uint32_t i = 0; i < MANY; i++) aoi_pair_table_add(&table, i, i / 2);
    size_t most = memory.used;
    EXPECT(table.count == MANY && most <= MANY / 3 * 4 * 2 * sizeof *table.slots);
    for (uint32_t i = 5; i < MANY; i++) {
        aoi_pair_table_remove(&table, i, i / 2);
        if (i % 10 == 0) aoi_index_shrink(&memory, &table);
    }
    EXPECT(memory.used < most / 1000 && table.count == 5);
    for (uint32_t i = 0; i < MANY; i++) EXPECT(aoi_pair_table_has(&table, i, i / 2) == (i < 5));
    for (uint32_t i = 0; i < 5; i++) aoi_pair_table_remove(&table, i, i / 2);
    aoi_index_shrink(&memory, &table);
    EXPECT(memory.used == 0);
    finish();
}

int main(void) {
    random_start("pair_table");
    RUN(an_empty_set_has_nothing);
    RUN(agrees_with_a_matrix);
    RUN(removals_close_gaps);
    RUN(removes_and_adds_again_without_memory);
    RUN(gives_back_what_many_needed);
    return expect_report("pair_table");
}
