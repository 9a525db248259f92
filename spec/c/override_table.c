/* The table of overrides against a plain matrix: pairs, both chains, and what is left when a node or a target goes. */
#include "core/override_table.h"

#include "host.h"

enum { SLOTS = 24 };

static int matrix[SLOTS][SLOTS];

static uint32_t expected(int chain, uint32_t slot) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < SLOTS; k++)
        n += (chain == AOI_OVERRIDE_BY_NODE ? matrix[slot][k] : matrix[k][slot]) != AOI_BY_RULE;
    return n;
}

static void compare(const aoi_override_table *t) {
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (int c = 0; c < AOI_OVERRIDE_CHAINS; c++) {
            uint32_t n = 0;
            const aoi_override_record *r = aoi_overrides_first(t, c, slot);
            for (; r; r = aoi_overrides_next(t, c, r), n++)
                if (!EXPECT(r->end[c] == slot && matrix[r->end[0]][r->end[1]] == r->how)) return;
            EXPECT(n == expected(c, slot));
        }
}

int main(void) {
    aoi_memory m = {.alloc = host_alloc};
    aoi_override_table t;
    random_start("override_table");
    aoi_overrides_open(&t);
    for (int step = 0; step < 20000; step++) {
        uint32_t node = random_below(SLOTS), target = random_below(SLOTS), what = random_below(40);
        if (what == 0) {
            int chain = (int)random_below(2);
            aoi_overrides_drop(&m, &t, chain, node);
            for (uint32_t k = 0; k < SLOTS; k++)
                *(chain == AOI_OVERRIDE_BY_NODE ? &matrix[node][k] : &matrix[k][node]) = 0;
        } else {
            int how = (int)random_below(4);
            if (!EXPECT(aoi_overrides_reserve(&m, &t))) break;
            aoi_overrides_set(&t, node, target, how);
            matrix[node][target] = how;
        }
        EXPECT(aoi_overrides_get(&t, node, target) == matrix[node][target]);
        if (step % 16 == 0) compare(&t);
    }
    aoi_overrides_free(&m, &t);
    EXPECT(m.used == 0);
    return expect_report("override_table");
}
