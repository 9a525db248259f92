/* wolf.c - the README's first example in C: a wolf with an area of 10 around it, and Ann who passes by.
 *
 *   cc wolf.c $(pkg-config --cflags --libs aoi) -o wolf                         with the shared library
 *   cc wolf.c $(pkg-config --cflags aoi) /usr/local/lib/libaoi.a -lm -o wolf    with the static one
 */
#include <aoi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WOLF = 1, ANN = 2, AGGRO = 1 };

/* Whatever a call returns other than AOI_OK has changed nothing. */
static void must(int code) {
    if (code == AOI_OK) return;
    fprintf(stderr, "aoi: error %d\n", code);
    exit(EXIT_FAILURE);
}

/* Calls never call back: what they changed waits as events. */
static void tell(aoi_space *space) {
    aoi_event event;
    while (aoi_next(space, &event))
        printf("%" PRId64 " %s %" PRId64 "\n", event.target, event.kind == AOI_ENTER ? "came near" : "went away from",
               event.watcher);
}

int main(void) {
    aoi_options options = {0}; /* two dimensions, the default engine, realloc and free */
    aoi_area area = {.radius = 10, .mask = AOI_ALL_KINDS};
    aoi_space *space;
    aoi_entity wolf, ann;
    must(aoi_open(&options, &space));
    must(aoi_enter(space, WOLF, (double[]){0, 0}, 1, &wolf));
    must(aoi_add_node(space, wolf, AGGRO, &area, NULL));
    must(aoi_enter(space, ANN, (double[]){30, 0}, 1, &ann));
    must(aoi_move(space, ann, (double[]){8, 5}));
    tell(space);
    must(aoi_move(space, ann, (double[]){8, 11}));
    tell(space);
    must(aoi_leave(space, ann));
    aoi_close(space);
    return EXIT_SUCCESS;
}
