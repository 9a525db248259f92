/* Saved bytes are the same with every C library: its `qsort` may put equal elements in any order. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aoi_sight.h"
#include "fixture.h"
#include "output.h"

static bool backwards;      /* equal elements change places */
static unsigned long sorts; /* so far */

/* By insertion. The core is linked with this one, as the program comes before the library. */
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    unsigned char *list = base, *one = malloc(size);
    sorts++;
    for (size_t i = 1, k; i < n && one; i++) {
        memcpy(one, list + i * size, size);
        for (k = i; k && compare(list + (k - 1) * size, one) > (backwards ? -1 : 0); k--)
            memcpy(list + k * size, list + (k - 1) * size, size);
        memcpy(list + k * size, one, size);
    }
    free(one);
}

/* Two nodes of a watcher, one of them in two lives, have seen what has left. */
static void leaves_that_a_sight_owes(void) {
    aoi_space *s = open_space(&(setup){"grid", 2, false});
    const aoi_area area = {.radius = 9, .mask = AOI_ALL_KINDS};
    const aoi_entity watcher = enter(s, 1, 0);
    aoi_sight *g = NULL;
    aoi_node node = {0, 0};
    aoi_event e;
    output o[2] = {{0}, {0}};
    EXPECT(aoi_sight_open(s, NULL, &g) == AOI_OK);
    (void)enter(s, 2, 1);
    for (int64_t k = 2; k > 0; k--) EXPECT(aoi_sight_add_node(g, watcher, k, &area, 0, &node) == AOI_OK);
    EXPECT(aoi_sight_tick(g) == AOI_OK);
    while (aoi_sight_next(g, &e)) EXPECT(e.kind == AOI_ENTER);
    EXPECT(aoi_leave(s, aoi_find(s, 2)) == AOI_OK);
    EXPECT(aoi_remove_node(s, node) == AOI_OK && aoi_sight_add_node(g, watcher, 1, &area, 0, &node) == AOI_OK);
    for (int k = 0; k < 2; k++) {
        backwards = k;
        EXPECT(aoi_save(s, output_write, o + k) == AOI_OK);
    }
    EXPECT(output_same(o, o + 1));
    for (int k = 0; k < 2; k++) output_free(o + k);
    close_space(s);
}

int main(void) {
    RUN(leaves_that_a_sight_owes);
    EXPECT(sorts > 0);
    return expect_report("any sort");
}
