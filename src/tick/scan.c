/* scan.c - compares watchers with the items around them: spans of the lines that a probe touches, sixteen at a time.
 *
 *   set of the watcher     is compared with                              finds
 *   usual, moves           the usual: its own from itself on, others      mutual pairs
 *                          each from one side
 *   moves                  all others                                     its own targets
 *   stands still           those that move, unless they are usual, too    the same */
#include "tick/lanes.h"

enum { JOIN_SPARSE = 4 }; /* a sparse set has fewer than one in so many items */
enum { JOIN_SEEN_AHEAD = 16, JOIN_SEEN_SOON = 8, JOIN_SEEN_NEXT = 4 }; /* watchers whose nodes are prefetched */

typedef struct join_route { /* a set to compare with */
    const uint32_t *first;
    uint64_t kinds;
    uint32_t flags; /* of its hits */
    bool forward;   /* from the watcher on */
    bool sparse;    /* few items: most spans may be empty */
} join_route;

static bool join_is_usual_class(int class) {
    return !(class & JOIN_ODD);
}

/* The route of the watchers of set s to set q; false: none is needed. */
static bool join_route_to(const join_tick *t, int s, int q, join_route *r) {
    const join_set *from = t->sets + s, *to = t->sets + q;
    bool usual = join_is_usual_class(from->class) && join_is_usual_class(to->class);
    bool moves = !(from->class & JOIN_STILL), others_move = !(to->class & JOIN_STILL);
    *r = (join_route){.first = t->first + to->cell, .kinds = to->kinds};
    r->sparse = r->first[t->bins * t->lines] - r->first[0] < t->count / JOIN_SPARSE;
    if (!usual) return moves || others_move;
    r->flags = JOIN_MUTUAL;
    r->kinds |= from->kinds;
    r->forward = s == q;
    return moves && (s <= q || !others_move);
}

typedef struct join_watchers { /* items of one line that have the same probe */
    const join_probe *probe;
    uint32_t index, line, item, end;
} join_watchers;

typedef struct join_spans { /* of items: in some lines those of the same bins */
    const uint32_t *row;    /* of the first line: by bin, its first item */
    uint32_t from, to, end; /* bins; offset of the last line's row from `row` */
    uint32_t stride, first; /* from row to row; the first item of all */
    uint32_t flags;         /* of its hits */
    bool sparse;            /* as of the set */
} join_spans;

/* A watcher reaches as far down as up, a line has at least 2^13 units, and three spans are six numbers. */
enum { JOIN_MOST_SEAM = 6 * ((2 * (JOIN_LARGEST + JOIN_ROUNDED) >> (JOIN_LINE_BITS - 1)) + 3) };

/* Lines and bins beyond an end wrap to the other: spans of any kind, as rows of two numbers. */
static AOI_NOINLINE void join_span_seam(const join_tick *t, const join_route *r, const int box[4], uint32_t item,
                                        int line, uint32_t *span, join_spans *s) {
    int bins = (int)t->bins, lines = (int)t->lines, from = box[0], to = box[1];
    uint32_t n = 0;
    for (int k = r->forward ? line : box[2]; k <= box[3]; k++) {
        const uint32_t *row = r->first + (size_t)(uint32_t)(k < 0 ? k + lines : k >= lines ? k - lines : k) * t->bins;
        bool own = r->forward && k == line;
        span[n++] = own ? item + 1 : row[from < 0 ? 0 : from], span[n++] = row[to > bins ? bins : to];
        if (from < 0 && !own) span[n++] = row[from + bins], span[n++] = row[bins];
        if (to > bins) span[n++] = row[0], span[n++] = row[to - bins];
    }
    *s = (join_spans){span, 0, 1, n - 2, 2, span[0], s->flags, s->sparse};
}

typedef struct join_reach { /* of the watchers of a line, in a set */
    const uint32_t *row;    /* their own line's */
    int left, right, low, high, bin_bits, line_bits, bins, line;
    bool forward, ends; /* ends: some reach beyond the first line, or the last */
} join_reach;

static join_reach join_reach_of(const join_tick *t, const join_watchers *w, const join_route *q) {
    const join_probe *p = w->probe;
    int line = (int)w->line, top = line + ((((1 << t->line_bits) - 1) + p->high) >> t->line_bits);
    return (join_reach){q->first + (size_t)w->line * t->bins,
                        p->left,
                        p->right,
                        p->low,
                        p->high,
                        t->bin_bits,
                        t->line_bits,
                        (int)t->bins,
                        line,
                        q->forward,
                        line + (p->low >> t->line_bits) < 0 || top >= (int)t->lines};
}

/* The spans of one of them. */
AOI_INLINE join_spans join_spans_of(const join_tick *all, const join_tick *t, const join_route *q, const join_reach *r,
                                    uint32_t item, uint32_t *seam) {
    int x = t->bin[item] << r->bin_bits | (t->column[0][item] & ((1 << r->bin_bits) - 1));
    int y = t->column[1][item] & ((1 << r->line_bits) - 1);
    int from = (x + r->left) >> r->bin_bits, to = ((x + r->right) >> r->bin_bits) + 1;
    int low = r->forward ? 0 : (y + r->low) >> r->line_bits, high = (y + r->high) >> r->line_bits;
    join_spans s = {.flags = q->flags, .sparse = q->sparse};
    if ((from < 0) | (to > r->bins) | r->ends) {
        join_span_seam(all, q, (const int[4]){from, to, r->line + low, r->line + high}, item, r->line, seam, &s);
        return s;
    }
    s.row = r->row + low * r->bins;
    s.from = (uint32_t)from, s.to = (uint32_t)to, s.stride = (uint32_t)r->bins;
    s.end = (uint32_t)((high - low) * r->bins);
    s.first = r->forward ? item + 1 : s.row[from];
    return s;
}

/* Compares the items of all spans; returns their count.  Neither the length of a span nor a hit is predictable: usually
 * there is one turn without a branch.  In a sparse set empty spans mostly follow empty ones, so they are skipped. */
AOI_INLINE uint32_t join_scan_spans(join_strip *o, const join_tick *t, uint64_t watcher, const join_spans *s,
                                    const join_limits *l, int kind) {
    const uint32_t *row = s->row, *last = row + s->end, item = (uint32_t)watcher;
    uint32_t steps = 0;
    join_hit *hit = o->hit;
    for (uint32_t a = s->first;; a = row[s->from]) {
        uint32_t b = row[s->to];
        steps += b - a;
        for (bool some = !s->sparse | (a != b); some; some = a < b) {
            uint32_t left = b - a, bits = join_match(t, a, l, kind);
            bits &= (UINT32_C(1) << (left < JOIN_LANES ? left : JOIN_LANES)) - 1;
            if (kind & JOIN_SHAPED) /* the watcher itself, at the tip of a sector, is never sure */
                bits &= ~((uint32_t)(item - a < JOIN_LANES) << ((item - a) & 31));
            hit->watcher = watcher, hit->first = a, hit->bits = bits | s->flags;
            hit += bits != 0;
            if (hit == o->hits + JOIN_HITS) {
                o->hit = hit;
                aoi_join_propose(o);
                hit = o->hits;
            }
            a += JOIN_LANES;
        }
        if (row == last) break;
        row += s->stride;
    }
    o->hit = hit;
    return steps;
}

AOI_INLINE void join_scan_some(join_strip *o, const join_watchers *w, const join_route *r, const join_route *end,
                               int kind) {
    const join_tick t = *o->tick; /* in registers: writes might alias it */
    const uint64_t mask = w->probe->mask;
    join_limits limits;
    join_side_lanes room;
    uint32_t seam[JOIN_MOST_SEAM];
    uint64_t steps = 0;
    join_limits_of(w->probe, o->sides, &limits, room, kind);
    for (; r < end; r++) {
        if (!(mask & r->kinds) && mask != UINT64_MAX) continue; /* an override may be for any kind */
        const join_reach reach = join_reach_of(&t, w, r);
        for (uint32_t item = w->item; item < w->end; item++) {
            join_centre(&t, item, &limits, kind);
            join_spans spans = join_spans_of(o->tick, &t, r, &reach, item, seam);
            steps += join_scan_spans(o, &t, item | (uint64_t)w->index << 32, &spans, &limits, kind);
        }
    }
    o->steps += steps;
}

/* Compiled once for each kind. */
#define JOIN_SCAN(kind)                                                                                                \
    static AOI_NOINLINE void join_scan_##kind(join_strip *o, const join_watchers *w, const join_route *r,              \
                                              const join_route *end) {                                                 \
        join_scan_some(o, w, r, end, kind);                                                                            \
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

static void (*const join_scans[JOIN_KINDS])(join_strip *, const join_watchers *, const join_route *,
                                            const join_route *) = {
    join_scan_0, join_scan_1, join_scan_2,  join_scan_3,  join_scan_4,  join_scan_5,  NULL, NULL,
    join_scan_8, join_scan_9, join_scan_10, join_scan_11, join_scan_12, join_scan_13, NULL, NULL};

/* ---- the watchers of a set --------------------------------------------------------------------------------------- */

static void join_scan_usual(join_strip *o, const join_route *r, const join_route *end, const uint32_t *row,
                            uint32_t line) {
    join_watchers w = {o->probes, 0, line, row[0], row[o->tick->bins]};
    if (w.item < w.end && !o->failed) join_scans[w.probe->kind](o, &w, r, end);
}

/* Scans all probes from the second on, and decides their hits. */
static void join_scan_probes(join_strip *o, const join_route *r, const join_route *end) {
    for (uint32_t i = 1; i < o->probe_count && !o->failed; i++) {
        const join_probe *p = o->probes + i;
        join_watchers w = {p, i, p->line, p->item, p->item + 1};
        join_scans[p->kind](o, &w, r, end);
    }
    aoi_join_propose(o);
    o->probe_count = 1;
    o->side_count = 0;
}

static void join_prefetch_watcher(const join_tick *t, uint32_t item, uint32_t last) {
    const aoi_records *r = t->records;
    uint32_t ahead = last - item > JOIN_SEEN_AHEAD ? item + JOIN_SEEN_AHEAD : last;
    uint32_t soon = r->entities[t->ref[last - item > JOIN_SEEN_SOON ? item + JOIN_SEEN_SOON : last]].nodes;
    uint32_t next = r->entities[t->ref[last - item > JOIN_SEEN_NEXT ? item + JOIN_SEEN_NEXT : last]].nodes;
    AOI_PREFETCH(r->entities + t->ref[ahead]);
    if (soon != AOI_NONE) {
        AOI_PREFETCH(r->nodes + soon);
        AOI_PREFETCH(r->areas + soon);
    }
    if (next != AOI_NONE) AOI_PREFETCH(r->areas[next].shape);
}

static void join_scan_odd(join_strip *o, const join_route *r, const join_route *end, const uint32_t *row,
                          uint32_t line) {
    const join_tick *t = o->tick;
    for (uint32_t item = row[0]; item < row[t->bins] && !o->failed; item++) {
        uint32_t had = o->probe_count;
        join_prefetch_watcher(t, item, t->count - 1);
        aoi_join_probes_of(o, item, t->ref[item]);
        for (uint32_t i = had; i < o->probe_count; i++) o->probes[i].line = line;
        if (o->probe_count > JOIN_PROBES) join_scan_probes(o, r, end);
    }
}

void aoi_join_scan(join_strip *o, int set, uint32_t line, uint32_t end) {
    const join_tick *t = o->tick;
    const join_set *s = t->sets + set;
    join_route routes[JOIN_CLASSES];
    int n = 0;
    for (int q = 0; q < t->set_count; q++) n += join_route_to(t, set, q, routes + n);
    for (const uint32_t *row = t->first + s->cell + (size_t)line * t->bins; line < end && n; line++, row += t->bins) {
        if (s->class & JOIN_ODD) join_scan_odd(o, routes, routes + n, row, line);
        else join_scan_usual(o, routes, routes + n, row, line);
    }
    join_scan_probes(o, routes, routes + n);
}
