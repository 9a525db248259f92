/* join.c - see join.h: a tick from its movers to recorded events. */
#include "tick/join.h"

#include <assert.h>

enum { JOIN_STRIP = 512 }; /* items, and the rest of their last line */

static void join_open_strip(join_strip *o, const join_tick *t) {
    o->tick = t;
    o->memory = &t->world->memory;
    o->failed = false;
    o->steps = o->judged = 0;
    o->probes = NULL, o->sides = NULL, o->changes = NULL;
    o->probe_cap = o->side_cap = o->change_cap = o->undecided_count = 0;
    o->probe_count = o->side_count = o->change_count = 0;
    memset(o->usual_place, 0, sizeof o->usual_place);
    for (int kind = 0; kind < JOIN_KINDS; kind++) o->hit[kind] = o->hits[kind];
    if (t->usual.node != AOI_NONE) aoi_join_probes_of(o, 0, t->world->nodes[t->usual.node].owner);
    else if (AOI_GROW(o->memory, o->probes, o->probe_cap, 1)) o->probe_count = 1; /* an unused one in its place */
    else o->failed = true;
    if (o->failed || t->usual.node == AOI_NONE) return;
    assert(o->probe_count == 1);
    o->probes->mask = t->usual.mask;
    for (int b = 0; b < o->probes->nodes; b++)
        for (uint32_t n = t->usual.node; n != o->probes->node[b]; n = t->world->nodes[n].next) o->usual_place[b]++;
}

static void join_close_strip(join_strip *o) {
    AOI_FREE(o->memory, o->probes, o->probe_cap);
    AOI_FREE(o->memory, o->sides, o->side_cap);
    AOI_FREE(o->memory, o->changes, o->change_cap);
}

/* Records the changes of a strip. */
static bool join_merge(join_tick *t, join_strip *o) {
    aoi_space *s = t->space;
    if (!o->failed) aoi_record_changes(s, o->changes, o->change_count);
    t->world->failed |= o->failed;
    s->world.steps += o->steps;
    s->candidates += o->judged + o->change_count;
    o->steps = o->judged = o->change_count = 0;
    return !t->world->failed;
}

static bool join_run_set(join_tick *t, join_strip *o, int set) {
    const uint32_t *row = t->first + t->sets[set].cell;
    for (uint32_t line = 0, end; line < t->lines; line = end) {
        for (end = line + 1; end < t->lines && row[end * t->bins] - row[line * t->bins] < JOIN_STRIP;) end++;
        if (row[end * t->bins] == row[line * t->bins]) continue;
        aoi_join_scan(o, set, line, end);
        if (!join_merge(t, o)) return false;
    }
    return true;
}

static bool join_run(join_tick *t) {
    join_strip o;
    join_open_strip(&o, t);
    bool good = !o.failed;
    for (int q = 0; q < t->set_count && good; q++) good = join_run_set(t, &o, q);
    if (good && t->wide_count) {
        aoi_join_judge_wide(&o);
        good = join_merge(t, &o);
    }
    join_close_strip(&o);
    return good;
}

bool aoi_tick_join(aoi_space *s) {
    join_tick t = {.space = s, .world = &s->world};
    bool good = true;
    if (s->frame.scale > 0) {
        aoi_join_lay(&t);
        good = aoi_join_sort(&t) && join_run(&t);
    }
    if (!good) s->world.failed = true;
    aoi_join_free(&t);
    if (good) aoi_judge_unjoined(s);
    return !s->world.failed;
}
