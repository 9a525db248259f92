/* scan.c - watchers and what is around them: spans of the lines that a probe touches, sixteen items at a time.
 *
 *   set of the watcher     looks in                                      finds
 *   usual, moves           the usual: its own from itself on, others      couples
 *                          each from one side
 *   moves                  all others                                     what it sees itself
 *   stands still           those that move, unless they look for it       the same
 *   goes far               all, around both places                        what either sees of the other */
#include "tick/lanes.h"

enum { JOIN_SEEN_AHEAD = 16, JOIN_SEEN_SOON = 8, JOIN_SEEN_NEXT = 4 }; /* watchers whose nodes are prefetched */

typedef struct join_route { /* a set to look in */
    const uint32_t *first;
    uint64_t kinds;
    uint32_t flags; /* of its hits */
    bool forward;   /* from the watcher on */
} join_route;

typedef struct join_watcher {
    const join_probe *probe;
    uint32_t index, item, line;
} join_watcher;

static bool join_is_usual_class(int class) {
    return !(class & JOIN_ODD) && class < JOIN_ARRIVED;
}

/* Those of set s among those of set q. */
static bool join_route_to(const join_tick *t, int s, int q, join_route *r) {
    const join_set *from = t->sets + s, *to = t->sets + q;
    bool far = from->class >= JOIN_ARRIVED, usual = join_is_usual_class(from->class) && join_is_usual_class(to->class);
    bool moves = !(from->class & JOIN_STILL), others_move = !(to->class & JOIN_STILL);
    *r = (join_route){.first = t->first + to->cell, .kinds = to->kinds};
    if (far) return to->class < JOIN_ARRIVED || s == q;
    if (to->class >= JOIN_ARRIVED) return false;
    if (!usual) return moves || others_move;
    r->flags = JOIN_COUPLE;
    r->kinds |= from->kinds;
    r->forward = s == q;
    return moves && (s <= q || !others_move);
}

/* Items from a up to b, of which there may be none.  How many there are, and whether one of them hits, cannot be
 * predicted: most often there is one turn, and no branch. */
AOI_INLINE void join_scan_span(join_strip *o, const join_watcher *w, uint32_t a, uint32_t b, uint32_t flags,
                               const join_limits *l, int kind, int bucket) {
    o->steps += b - a;
    do {
        uint32_t left = b - a, bits = join_match(o->tick, a, l, kind);
        bits &= (UINT32_C(1) << (left < JOIN_LANES ? left : JOIN_LANES)) - 1;
        if (kind & JOIN_SHAPED) /* the tip of a sector is never sure of itself */
            bits &= ~((uint32_t)(w->item - a < JOIN_LANES) << ((w->item - a) & 31));
        *o->hit[bucket] = (join_hit){w->item, a, bits | flags, w->index};
        o->hit[bucket] += bits != 0;
        if (o->hit[bucket] == o->hits[bucket] + JOIN_HITS) join_look(o, bucket);
        a += JOIN_LANES;
    } while (a < b);
}

/* Lines and bins beyond an end go on at the other. */
AOI_INLINE void join_scan_probe(join_strip *o, const join_watcher *w, const join_route *r, const join_route *end,
                                const join_limits *l, int kind, int bucket) {
    const join_tick *t = o->tick;
    const join_probe *p = w->probe;
    int x = t->column[0][w->item] & ((1 << t->bin_bits) - 1), y = t->column[1][w->item] & ((1 << t->line_bits) - 1);
    int bin = t->bin[w->item], bins = (int)t->bins, lines = (int)t->lines, line = (int)w->line;
    int from = bin + ((x + p->left) >> t->bin_bits), to = bin + ((x + p->right) >> t->bin_bits) + 1;
    int low = line + ((y + p->low) >> t->line_bits), high = line + ((y + p->high) >> t->line_bits);
    bool around = (from < 0) | (to > bins) | (low < 0) | (high >= lines);
    uint32_t unsure = around || (t->ref[w->item] & JOIN_ELSEWHERE) ? JOIN_UNSURE : 0;
    for (; r < end; r++) {
        if (!(p->mask & r->kinds) && p->mask != UINT64_MAX) continue; /* an override may be for any kind */
        for (int k = r->forward ? line : low; k <= high; k++) {
            const uint32_t *row = r->first + (size_t)(uint32_t)(k < 0        ? k + lines
                                                                : k >= lines ? k - lines
                                                                             : k) *
                                                 t->bins;
            bool own = r->forward && k == line;
            uint32_t a = own ? w->item + 1 : row[from < 0 ? 0 : from], b = row[to > bins ? bins : to];
            join_scan_span(o, w, a, b, r->flags | unsure, l, kind, bucket);
            if (!around) continue;
            if (from < 0 && !own) join_scan_span(o, w, row[from + bins], row[bins], r->flags | unsure, l, kind, bucket);
            if (to > bins) join_scan_span(o, w, row[0], row[to - bins], r->flags | unsure, l, kind, bucket);
        }
    }
}

/* One version a kind. */
#define JOIN_SCAN(kind)                                                                                                \
    static AOI_NOINLINE void join_scan_##kind(join_strip *o, const join_watcher *w, const join_route *r,               \
                                              const join_route *end, join_limits *l, bool again) {                     \
        if (!again) join_limits_of(w->probe, o->sides, l, kind);                                                       \
        join_centre(o->tick, w->item, l, kind);                                                                        \
        join_scan_probe(o, w, r, end, l, kind, kind);                                                                  \
    }
JOIN_SCAN(0)
JOIN_SCAN(1)
JOIN_SCAN(2)
JOIN_SCAN(3)
JOIN_SCAN(4)
JOIN_SCAN(5)
JOIN_SCAN(8)
JOIN_SCAN(9)
JOIN_SCAN(10)
JOIN_SCAN(11)
JOIN_SCAN(12)
JOIN_SCAN(13)

/* again: the limits are those of the probe before. */
static void (*const join_scans[JOIN_KINDS])(join_strip *, const join_watcher *, const join_route *, const join_route *,
                                            join_limits *, bool) = {
    join_scan_0, join_scan_1, join_scan_2,  join_scan_3,  join_scan_4,  join_scan_5,  NULL, NULL,
    join_scan_8, join_scan_9, join_scan_10, join_scan_11, join_scan_12, join_scan_13, NULL, NULL};

/* ---- the watchers of a set ---------------------------------------------------------------------------------------- */

static void join_scan_usual(join_strip *o, const join_route *r, const join_route *end, const uint32_t *row,
                            uint32_t line) {
    join_limits l;
    for (uint32_t item = row[0]; item < row[o->tick->bins] && !o->failed; item++) {
        join_watcher w = {o->probes, 0, item, line};
        join_scans[o->probes->kind](o, &w, r, end, &l, item > row[0]);
    }
}

/* All probes from the second on, and what they have hit. */
static void join_scan_probes(join_strip *o, const join_route *r, const join_route *end) {
    join_limits l;
    for (uint32_t i = 1; i < o->probe_count && !o->failed; i++) {
        const join_probe *p = o->probes + i;
        join_watcher w = {p, i, p->item, p->line};
        join_scans[p->kind](o, &w, r, end, &l, false);
    }
    for (int kind = 0; kind < JOIN_KINDS; kind++) join_look(o, kind);
    o->probe_count = 1;
    o->side_count = 0;
}

static void join_prefetch_watcher(const join_tick *t, uint32_t item, uint32_t last) {
    const aoi_world *w = t->world;
    uint32_t ahead = last - item > JOIN_SEEN_AHEAD ? item + JOIN_SEEN_AHEAD : last;
    uint32_t soon = w->entities[join_entity(t, last - item > JOIN_SEEN_SOON ? item + JOIN_SEEN_SOON : last)].nodes;
    uint32_t next = w->entities[join_entity(t, last - item > JOIN_SEEN_NEXT ? item + JOIN_SEEN_NEXT : last)].nodes;
    AOI_PREFETCH(w->entities + join_entity(t, ahead));
    if (soon != AOI_NONE) {
        AOI_PREFETCH(w->nodes + soon);
        AOI_PREFETCH(w->areas + soon);
    }
    if (next != AOI_NONE) AOI_PREFETCH(w->areas[next].shape);
}

static void join_scan_odd(join_strip *o, const join_route *r, const join_route *end, const uint32_t *row,
                          uint32_t line) {
    const join_tick *t = o->tick;
    for (uint32_t item = row[0]; item < row[t->bins] && !o->failed; item++) {
        uint32_t had = o->probe_count;
        join_prefetch_watcher(t, item, t->count - 1);
        join_probes_of(o, item, join_entity(t, item));
        for (uint32_t i = had; i < o->probe_count; i++) o->probes[i].line = line;
        if (o->probe_count > JOIN_PROBES) join_scan_probes(o, r, end);
    }
}

/* As a box as large as any area that is not wide, of which nothing is surely inside. */
static void join_scan_far(join_strip *o, const join_route *r, const join_route *end, const uint32_t *row,
                          uint32_t line) {
    const join_tick *t = o->tick;
    int reach = (int)(t->reach * t->scale) + 3;
    join_limits l;
    join_probe p = {.mask = UINT64_MAX, .extent = {(int16_t)reach, (int16_t)reach}, .out = {1}, .in = {INT16_MIN}};
    p.left = p.low = (int16_t)-t->range, p.right = p.high = (int16_t)t->range;
    join_limits_of(&p, NULL, &l, 0);
    for (uint32_t item = row[0]; item < row[t->bins] && !o->failed; item++) {
        join_watcher w = {&p, 0, item, line};
        join_centre(t, item, &l, 0);
        join_scan_probe(o, &w, r, end, &l, 0, JOIN_FAR);
    }
}

void join_scan(join_strip *o, int set, uint32_t line, uint32_t end) {
    const join_tick *t = o->tick;
    const join_set *s = t->sets + set;
    join_route routes[JOIN_CLASSES];
    int n = 0;
    for (int q = 0; q < t->set_count; q++) n += join_route_to(t, set, q, routes + n);
    for (const uint32_t *row = t->first + s->cell + (size_t)line * t->bins; line < end && n; line++, row += t->bins) {
        if (s->class >= JOIN_ARRIVED) join_scan_far(o, routes, routes + n, row, line);
        else if (s->class & JOIN_ODD) join_scan_odd(o, routes, routes + n, row, line);
        else join_scan_usual(o, routes, routes + n, row, line);
    }
    join_scan_probes(o, routes, routes + n);
    join_judge_doubts(o);
}
