/* join.c - see join.h: a tick from its movers to recorded events. */
#include "tick/join.h"

#include <assert.h>
#include <stdlib.h>

enum { JOIN_STRIP = 512 }; /* items, and the rest of their last line */

static void join_open_strip(join_strip *o, const join_tick *t) {
    o->tick = t;
    o->memory = &t->records->memory;
    o->failed = false;
    o->steps = 0;
    o->probes = NULL, o->sides = NULL;
    o->probe_cap = o->side_cap = o->probe_count = o->side_count = 0;
    memset(o->usual_place, 0, sizeof o->usual_place);
    o->hit = o->hits;
    if (t->usual.node != AOI_NONE) aoi_join_probes_of(o, 0, t->records->nodes[t->usual.node].owner);
    else if (AOI_GROW(o->memory, o->probes, o->probe_cap, 1)) o->probe_count = 1; /* an unused one in its place */
    else o->failed = true;
    if (o->failed || t->usual.node == AOI_NONE) return;
    assert(o->probe_count == 1);
    o->probes->mask = t->usual.mask;
    for (int b = 0; b < o->probes->nodes; b++)
        for (uint32_t n = t->usual.node; n != o->probes->node[b]; n = t->records->nodes[n].next) o->usual_place[b]++;
}

static void join_close_strip(join_strip *o) {
    AOI_FREE(o->memory, o->probes, o->probe_cap);
    AOI_FREE(o->memory, o->sides, o->side_cap);
}

/* ---- hits -> candidates ------------------------------------------------------------------------------------------ */

/* The node of a border of a hit: the usual probe stores none. */
static inline uint32_t join_node_of(const join_strip *o, const join_hit *h, uint32_t watcher, int border) {
    const aoi_records *r = o->tick->records;
    uint32_t probe = join_probe_index(h);
    if (probe) return o->probes[probe].node[border];
    return join_nth_node(r, r->entities[watcher].nodes, o->usual_place[border]);
}

/* Of the borders of a probe with several nodes, a bit for each that an item may have passed. */
static uint32_t join_passed(const join_tick *t, const join_probe *p, uint32_t item, uint32_t k) {
    uint32_t in = 0, out = 0;
    for (int c = 0; c < 6; c += 3) {
        int d = p->kind & JOIN_ROUND ? 0 : INT16_MIN;
        for (int a = c; a < c + (p->kind & JOIN_TALL ? 3 : 2); a++) {
            int v = (int16_t)(t->column[a][k] - t->column[a][item]), beyond = abs(v) - p->extent[a - c];
            d = p->kind & JOIN_ROUND ? d + (v * v >> 16) : beyond > d ? beyond : d;
        }
        for (int b = 0; b < p->borders; b++)
            in |= (uint32_t)(d >= p->in[b]) << b, out |= (uint32_t)(d <= p->out[b]) << b;
    }
    return in & out;
}

void aoi_join_propose(join_strip *o) {
    const join_tick *t = o->tick;
    aoi_records *r = t->records;
    for (const join_hit *h = o->hits; h < o->hit; h++) {
        const uint32_t self = join_item_of(h), watcher = t->ref[self];
        const join_probe *p = o->probes + join_probe_index(h);
        for (uint32_t bits = h->bits & 0xffff; bits; bits &= bits - 1) {
            const uint32_t k = h->first + (uint32_t)aoi_lanes_first(bits), other = t->ref[k];
            uint32_t passed = k == self ? 0 : p->nodes > 1 ? join_passed(t, p, self, k) : 1;
            for (; passed; passed &= passed - 1) {
                const int b = aoi_lanes_first(passed);
                aoi_add_candidate(r, join_node_of(o, h, watcher, b), other);
                if (!(h->bits & JOIN_MUTUAL)) continue;
                aoi_add_candidate(r, join_nth_node(r, r->entities[other].nodes, o->usual_place[b]), watcher);
            }
        }
    }
    o->hit = o->hits;
}

/* The grid finds all targets around a node that reaches too far, as they moved no farther than `step`. */
static void join_propose_wide(const join_tick *t) {
    aoi_records *r = t->records;
    bool solid = r->dims == 3 && t->space->moves.lo[2] != t->space->moves.hi[2];
    for (uint32_t i = 0; i < t->wide_count; i++) {
        uint32_t node = t->wide[i], owner = r->nodes[node].owner;
        bool moves = r->entities[owner].mover < r->moved || join_has_turned(r, node);
        r->hit_count = 0;
        aoi_grid_passing(r->grid, node, aoi_position_before(r, owner), t->step, solid);
        for (uint32_t k = 0; k < r->hit_count; k++)
            if (r->hits[k] != owner && (moves || r->entities[r->hits[k]].mover < r->moved))
                aoi_add_candidate(r, node, r->hits[k]);
    }
}

/* ---- strips ------------------------------------------------------------------------------------------------------ */

/* Decides the candidates of a strip. */
static bool join_merge(join_tick *t, join_strip *o) {
    t->records->failed |= o->failed;
    t->records->steps += o->steps;
    o->steps = 0;
    aoi_judge_joined(t->space);
    return !t->records->failed;
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
        join_propose_wide(t);
        good = join_merge(t, &o);
    }
    join_close_strip(&o);
    return good;
}

bool aoi_tick_join(aoi_space *s) {
    join_tick t = {.space = s, .records = &s->records};
    bool good = true;
    if (s->frame.scale > 0) {
        aoi_join_lay(&t);
        good = aoi_join_sort(&t) && join_run(&t);
    }
    if (!good) s->records.failed = true;
    aoi_join_free(&t);
    if (good) aoi_judge_unjoined(s);
    return !s->records.failed;
}
