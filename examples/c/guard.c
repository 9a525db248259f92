/* guard.c - two guards with two areas each, and a thief who walks by: the C API in one file.
 *
 *   cc guard.c $(pkg-config --cflags --libs aoi) -o guard && ./guard
 *
 *            anna                 bert                 Each guard hears what is within 8 and grabs what is within 2.
 *        (    x    )          (    x    )              A step of the thief is one call of aoi_move; what it changes
 *   thief ------------------------------------->       waits as events until they are taken. */
#include <aoi.h>
#include <stdio.h>
#include <stdlib.h>

enum { THIEF = 1, GUARD = 2 }; /* kinds: bits that the masks of areas look for */
enum { HEARS = 1, GRABS = 2 }; /* node ids: one per area of a guard */

static const char *const names[] = {"nobody", "anna", "bert", "the thief"}; /* by entity id */

/* Every call that can fail says so by its result, and then has changed nothing. */
static void must(int result, const char *what) {
    if (result == AOI_OK) return;
    fprintf(stderr, "%s: %s\n", what, aoi_result_text(result));
    exit(EXIT_FAILURE);
}

static void add_guard(aoi_space *space, int64_t id, double x, double y) {
    const double at[2] = {x, y};
    aoi_area hears = {0}, grabs = {0}; /* zero is always the default */
    aoi_entity guard;
    must(aoi_enter(space, id, at, GUARD, &guard), "enter");
    hears.shape = AOI_CIRCLE;
    hears.radius = 8;
    hears.margin = 1; /* goes on hearing until 9, so that it does not flicker at the border */
    hears.mask = THIEF;
    must(aoi_add_node(space, guard, HEARS, &hears, NULL), "add_node");
    grabs.shape = AOI_SQUARE;
    grabs.radius = 2;
    grabs.mask = THIEF;
    must(aoi_add_node(space, guard, GRABS, &grabs, NULL), "add_node");
}

static void tell(const aoi_event *e) {
    const char *guard = names[e->watcher], *thief = names[e->target];
    if (e->node_id == GRABS) printf("  %s %s %s\n", guard, e->kind == AOI_ENTER ? "can grab" : "lets go of", thief);
    else printf("  %s %s %s\n", guard, e->kind == AOI_ENTER ? "hears" : "has lost", thief);
}

/* Takes all events that wait, a few at a time. */
static void tell_events(aoi_space *space) {
    aoi_event events[8];
    size_t n;
    while ((n = aoi_drain(space, events, sizeof events / sizeof *events)) > 0)
        for (size_t i = 0; i < n; i++) tell(events + i);
}

/* Questions may be asked at any time; the answer is the space's, and valid until the next call. */
static void tell_viewers(aoi_space *space, aoi_entity thief) {
    const int64_t *watchers, *nodes;
    size_t n;
    must(aoi_viewers(space, thief, &watchers, &nodes, &n), "viewers");
    printf("  %d of 4 areas have %s\n", (int)n, names[3]);
}

int main(void) {
    aoi_space *space;
    aoi_options options = {0}; /* the list engine, two dimensions, malloc */
    aoi_entity thief;
    double at[2] = {-12, 1};
    must(aoi_open(&options, &space), "open");
    add_guard(space, 1, 0, 0);
    add_guard(space, 2, 14, 0);
    must(aoi_enter(space, 3, at, THIEF, &thief), "enter");

    for (at[0] = -12; at[0] <= 26; at[0] += 2) {
        must(aoi_move(space, thief, at), "move");
        if (aoi_pending(space) > 0) printf("x = %g\n", at[0]);
        tell_events(space);
        if (at[0] == 6) tell_viewers(space, thief);
    }

    at[0] = 14; /* and once more, from nowhere: a teleport is an ordinary move */
    must(aoi_move(space, thief, at), "move");
    printf("back to x = %g\n", at[0]);
    tell_events(space);
    must(aoi_leave(space, thief), "leave");
    printf("caught\n");
    tell_events(space);

    printf("a stale handle: %s\n", aoi_result_text(aoi_move(space, thief, at)));
    aoi_close(space);
    return EXIT_SUCCESS;
}
