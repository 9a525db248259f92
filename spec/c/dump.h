/* dump.h - the whole observable state of a space as text: two dumps are equal exactly when the spaces are. */
#ifndef DUMP_H
#define DUMP_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/space.h"
#include "expect.h"

typedef struct text {
    char *bytes;
    size_t length, room;
} text;

static inline void text_add(text *t, const char *format, ...) {
    va_list args;
    if (t->room - t->length < 400) {
        t->room = t->room * 2 + 4000;
        t->bytes = realloc(t->bytes, t->room);
        if (!t->bytes) abort();
    }
    va_start(args, format);
    int n = vsnprintf(t->bytes + t->length, t->room - t->length, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->room - t->length) abort();
    t->length += (size_t)n;
}

static inline void text_free(text *t) {
    free(t->bytes);
    *t = (text){0};
}

static inline bool text_equal(const text *a, const text *b) {
    return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static inline int dump_compare(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* A list of ids, or of pairs, in order of value: engines may answer in any. */
static inline void dump_list(text *t, const char *name, const int64_t *ids, const int64_t *nodes, size_t n) {
    int64_t(*rows)[2] = malloc((n + 1) * sizeof *rows);
    if (!rows) abort();
    for (size_t i = 0; i < n; i++) {
        rows[i][0] = ids[i];
        rows[i][1] = nodes ? nodes[i] : 0;
    }
    qsort(rows, n, sizeof *rows, dump_compare);
    text_add(t, " %s", name);
    for (size_t i = 0; i < n; i++)
        text_add(t, nodes ? " %lld/%lld" : " %lld", (long long)rows[i][0], (long long)rows[i][1]);
    free(rows);
}

static inline void dump_node(text *t, aoi_space *s, aoi_node n) {
    const int64_t *ids, *hows;
    size_t count;
    int64_t node_id = 0;
    aoi_area a = {0};
    EXPECT(aoi_node_id(s, n, &node_id) && aoi_area_of(s, n, &a));
    text_add(t, "  node %lld radius %a keep %a mask %llx shape %d silent %d crosses %d data %llu", (long long)node_id,
             a.radius, a.keep, (unsigned long long)a.mask, a.shape, a.silent, a.crosses,
             (unsigned long long)a.user_data);
    text_add(t, " margin %a extents %a %a %a height %a facing %a angle %a", a.margin, a.extents[0], a.extents[1],
             a.extents[2], a.half_height, a.facing, a.angle);
    text_add(t, " offset %a %a %a", a.offset[0], a.offset[1], a.offset[2]);
    for (int i = 0; i < 2 * a.corners; i++) text_add(t, " %a", a.points[i]);
    for (int i = 0; i < a.rings; i++) text_add(t, " %d", a.ends[i]);
    if (a.layered) text_add(t, " layers %llx", (unsigned long long)a.layers);
    if (EXPECT(aoi_view(s, n, &ids, &count) == AOI_OK)) dump_list(t, "sees", ids, NULL, count);
    if (EXPECT(aoi_overrides(s, n, &ids, &hows, &count) == AOI_OK)) dump_list(t, "overrides", ids, hows, count);
    text_add(t, "\n");
}

static inline void dump_entity(text *t, aoi_space *s, int64_t id) {
    const int64_t *ids, *nodes;
    size_t count;
    uint64_t kind = 0;
    aoi_entity e = aoi_find(s, id);
    double p[3] = {0};
    if (!EXPECT(aoi_position(s, e, p) && aoi_kind(s, e, &kind))) return;
    text_add(t, "entity %lld at %a %a %a kind %llx", (long long)id, p[0], p[1], p[2], (unsigned long long)kind);
    if (EXPECT(aoi_viewers(s, e, &ids, &nodes, &count) == AOI_OK)) dump_list(t, "seen by", ids, nodes, count);
    uint64_t layers = 0;
    double extent = 0;
    EXPECT(aoi_layers(s, e, &layers) && aoi_extent(s, e, &extent));
    text_add(t, " layers %llx extent %a", (unsigned long long)layers, extent);
    aoi_entity carrier;
    double offset[3] = {0};
    if (aoi_carrier(s, e, &carrier, offset))
        text_add(t, " on %lld %a %a %a", (long long)s->records.entities[carrier.index].id, offset[0], offset[1],
                 offset[2]);
    if (EXPECT(aoi_passengers(s, e, &ids, &count) == AOI_OK)) dump_list(t, "carries", ids, NULL, count);
    text_add(t, "\n");
    for (aoi_node n = aoi_first_node(s, e); !AOI_IS_NULL(n); n = aoi_next_node(s, n)) dump_node(t, s, n);
}

static inline int dump_compare_events(const void *a, const void *b) {
    const aoi_event *x = a, *y = b;
    const int64_t difference[][2] = {
        {x->kind, y->kind}, {x->watcher, y->watcher}, {x->node_id, y->node_id}, {x->target, y->target}};
    for (int i = 0; i < 4; i++)
        if (difference[i][0] != difference[i][1]) return difference[i][0] < difference[i][1] ? -1 : 1;
    return (x->t > y->t) - (x->t < y->t); /* a pair may cross in several calls whose events wait */
}

static inline void dump_events(text *t, const aoi_space *s, bool in_order) {
    size_t all = s->queue.count, n = 0, more; /* without what the next flush looks at */
    static const char *const kinds[] = {"", "enter", "leave", "cross"};
    uint32_t cursor = 0;
    aoi_event *list = calloc(all + 1, sizeof *list);
    if (!list) abort();
    while (n < all && (more = aoi_peek(s, &cursor, list + n, all - n < 16 ? all - n : 16)) > 0) n += more;
    EXPECT(n == all);
    if (!in_order) qsort(list, n, sizeof *list, dump_compare_events);
    for (size_t i = 0; i < n; i++)
        text_add(t, "%s %lld/%lld > %lld data %llu t %a\n", kinds[list[i].kind], (long long)list[i].watcher,
                 (long long)list[i].node_id, (long long)list[i].target, (unsigned long long)list[i].user_data,
                 list[i].t);
    free(list);
}

/* Into a new text; the waiting events are read, not taken: as they wait, or sorted. The space must be sound. */
static inline text dump(aoi_space *s, bool in_order) {
    text t = {0};
    const int64_t *ids;
    size_t count;
    aoi_stats st;
    const char *wrong = aoi_check(s);
    if (!EXPECT(wrong == NULL)) fprintf(stderr, "  %s\n", wrong);
    aoi_read_stats(s, &st);
    text_add(&t, "entities %llu nodes %llu events %llu pending %llu pairs %llu\n", (unsigned long long)st.entities,
             (unsigned long long)st.nodes, (unsigned long long)st.events, (unsigned long long)st.pending,
             (unsigned long long)st.pairs);
    if (EXPECT(aoi_ids(s, &ids, &count) == AOI_OK)) {
        int64_t(*sorted)[2] = calloc(count + 1, sizeof *sorted);
        if (!sorted) abort();
        for (size_t i = 0; i < count; i++) sorted[i][0] = ids[i];
        qsort(sorted, count, sizeof *sorted, dump_compare);
        for (size_t i = 0; i < count; i++) dump_entity(&t, s, sorted[i][0]);
        free(sorted);
    }
    dump_events(&t, s, in_order);
    return t;
}

/* Prints the first line in which they differ. */
static inline bool dump_same(const text *a, const text *b) {
    size_t i = 0, line = 0;
    if (text_equal(a, b)) return true;
    for (; i < a->length && i < b->length && a->bytes[i] == b->bytes[i]; i++)
        if (a->bytes[i] == '\n') line = i + 1;
    fprintf(stderr, "  %.*s\n  %.*s\n", (int)strcspn(a->bytes + line, "\n"), a->bytes + line,
            (int)strcspn(b->bytes + line, "\n"), b->bytes + line);
    return false;
}

#endif
