/* Pairs with a state: against a plain matrix, both chains walked after each step. */
#include "core/pair_table.h"

#include "host.h"

enum { NODES = 12, TARGETS = 15 };

static aoi_memory memory = {.alloc = host_alloc};
static aoi_pairs pairs;
static uint32_t by_node[NODES], by_target[TARGETS];
static int expected[NODES][TARGETS]; /* 0: no pair, 1: not seen, 2: seen */

static void check_chain(const uint32_t *heads, uint32_t i, int c) {
    uint32_t length = 0, wanted = 0, others = c == AOI_BY_NODE ? TARGETS : NODES, prev = AOI_NONE;
    for (uint32_t k = 0; k < others; k++) wanted += (c == AOI_BY_NODE ? expected[i][k] : expected[k][i]) != 0;
    for (uint32_t p = heads[i]; p != AOI_NONE && length <= others; prev = p, p = pairs.pairs[p].next[c], length++) {
        const aoi_pair *pair = pairs.pairs + p;
        EXPECT(pair->end[c] == i && pair->prev[c] == prev);
        EXPECT(expected[pair->end[0]][pair->end[1]] == (pair->seen ? 2 : 1));
    }
    EXPECT(length == wanted);
}

static void check_all(void) {
    for (uint32_t n = 0; n < NODES; n++) check_chain(by_node, n, AOI_BY_NODE);
    for (uint32_t t = 0; t < TARGETS; t++) check_chain(by_target, t, AOI_BY_TARGET);
    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t t = 0; t < TARGETS; t++)
            EXPECT((aoi_pairs_find(&pairs, n, t) != AOI_NONE) == (expected[n][t] != 0));
    EXPECT(aoi_index_check(&pairs.index) == NULL);
}

static void stand_in_both_chains(void) {
    aoi_pairs_open(&pairs);
    for (uint32_t n = 0; n < NODES; n++) by_node[n] = AOI_NONE;
    for (uint32_t t = 0; t < TARGETS; t++) by_target[t] = AOI_NONE;
    EXPECT(aoi_pairs_reserve(&memory, &pairs, 0) && pairs.cap == 0);
    for (int step = 0; step < 3000; step++) {
        uint32_t n = random_below(NODES), t = random_below(TARGETS), p = aoi_pairs_find(&pairs, n, t);
        bool seen = random_below(2);
        if (p != AOI_NONE) {
            aoi_pairs_remove(&pairs, p, by_node + n, by_target + t);
            expected[n][t] = 0;
        } else {
            host_refuse(1 + (long)random_below(2), 1);
            bool good = aoi_pairs_reserve(&memory, &pairs, 1);
            if (!good) EXPECT(host_relent() == 1 && aoi_pairs_reserve(&memory, &pairs, 1));
            host_relent();
            aoi_pairs_add(&pairs, n, t, seen, by_node + n, by_target + t);
            expected[n][t] = seen ? 2 : 1;
        }
        if (step % 10 == 0 || step < 100) check_all();
    }
    EXPECT(pairs.top <= NODES * TARGETS); /* records are used again */
    aoi_pairs_close(&memory, &pairs);
    EXPECT(host.used == 0 && memory.used == 0);
    EXPECT(aoi_pairs_find(&pairs, 0, 0) == AOI_NONE);
}

int main(void) {
    random_start("pair_table");
    RUN(stand_in_both_chains);
    return expect_report("pair_table");
}
