/* What aoi_check is for: damage of every sort is reported, and gone when it is repaired. */
#include "core/space.h"

#include "fixture.h"

#include <math.h>

enum { PEOPLE = 40 };

static aoi_space *s;

/* Everybody on two axes, some with a node, some of those with a state for each pair. */
static void crowd(const setup *u) {
    s = open_space(u);
    for (int64_t id = 0; id < PEOPLE; id++) {
        aoi_entity e;
        EXPECT(aoi_enter(s, id, (double[3]){(double)(id % 8) * 10, (double)(id / 8) * 10, 0}, 1, &e) == AOI_OK);
        if (id % 4 == 0) add_node(s, e, 1, 12);
        if (id % 8 == 0) add_node(s, e, 3, 3);
        if (id % 5 == 0)
            EXPECT(aoi_add_node(s, e, 2, &(aoi_area){.radius = 11, .keep = 15, .mask = 1}, NULL) == AOI_OK);
    }
    EXPECT(aoi_check(s) == NULL);
}

static void is_reported(const char *what) {
    const char *wrong = aoi_check(s);
    if (!EXPECT(wrong != NULL)) fprintf(stderr, "  not reported: %s\n", what);
    if (wrong) EXPECT(strlen(wrong) > 10);
}

static void is_sound(const char *what) {
    const char *wrong = aoi_check(s);
    if (!EXPECT(wrong == NULL)) fprintf(stderr, "  after %s: %s\n", what, wrong);
}

#define DAMAGE(type, place, value)                                                                                     \
    do {                                                                                                               \
        type whole_ = (place);                                                                                         \
        (place) = (value);                                                                                             \
        is_reported(#place);                                                                                           \
        (place) = whole_;                                                                                              \
        is_sound(#place);                                                                                              \
    } while (0)

static void of_the_space(void) {
    aoi_entity_record *e = s->world.entities;
    aoi_node_record *n = s->world.nodes;
    DAMAGE(double, e[3].pos[0], NAN);
    DAMAGE(int64_t, e[3].id, 999);
    DAMAGE(uint32_t, e[3].generation, e[3].generation + 1);
    DAMAGE(uint32_t, s->entity_count, s->entity_count + 1);
    DAMAGE(uint32_t, s->node_count, s->node_count + 1);
    DAMAGE(uint32_t, s->node_count, 1);
    DAMAGE(uint32_t, n[3].owner, n[0].owner);
    DAMAGE(uint32_t, n[1].generation, n[1].generation + 1);
    DAMAGE(double, n[1].reach, n[1].reach * 2);
    DAMAGE(uint32_t, s->ids.count, s->ids.count - 1);
    DAMAGE(uint32_t, s->queue.count, s->queue.count - 1);
}

/* A node with a state for each pair, that sees somebody and has somebody else within reach, unseen. */
static void of_pairs(void) {
    aoi_pair *pairs = s->pairs.pairs;
    uint32_t seen = AOI_NONE, unseen = AOI_NONE;
    EXPECT(aoi_move(s, aoi_find(s, 1), (double[3]){0, 0, 0}) == AOI_OK); /* 2 stays unseen by 0, 1 is seen */
    for (uint32_t p = 0; p < s->pairs.top; p++) {
        if (pairs[p].seen && seen == AOI_NONE) seen = p;
        if (!pairs[p].seen && unseen == AOI_NONE) unseen = p;
    }
    if (!EXPECT(seen != AOI_NONE)) return;
    DAMAGE(bool, pairs[seen].seen, false);
    if (unseen != AOI_NONE) DAMAGE(bool, pairs[unseen].seen, true);
    DAMAGE(uint32_t, pairs[seen].end[AOI_BY_NODE], pairs[seen].end[AOI_BY_NODE] + 1);
    DAMAGE(uint32_t, pairs[seen].end[AOI_BY_TARGET], pairs[seen].end[AOI_BY_TARGET] + 1);
    DAMAGE(uint32_t, s->pairs.index.count, s->pairs.index.count + 1);
    uint32_t node = pairs[seen].end[AOI_BY_NODE], target = pairs[seen].end[AOI_BY_TARGET];
    uint32_t *by_node = &s->world.nodes[node].targets, *by_target = &s->world.entities[target].watched;
    DAMAGE(uint32_t, *by_node, AOI_NONE);
    aoi_pairs_remove(&s->pairs, seen, by_node, by_target);
    is_reported("a pair without a state");
    aoi_pairs_add(&s->pairs, node, target, true, by_node, by_target);
    is_sound("a pair without a state");
    uint32_t far = PEOPLE - 1;
    EXPECT(aoi_pairs_find(&s->pairs, node, far) == AOI_NONE && aoi_pairs_reserve(&s->world.memory, &s->pairs, 1));
    aoi_pairs_add(&s->pairs, node, far, false, by_node, &s->world.entities[far].watched);
    is_reported("a state without a reason");
    aoi_pairs_remove(&s->pairs, aoi_pairs_find(&s->pairs, node, far), by_node, &s->world.entities[far].watched);
    is_sound("a state without a reason");
}

static void finds_nobody(aoi_engine *g, const double *at) {
    (void)g, (void)at;
}

static void finds_none(aoi_engine *g, const double *lo, const double *hi) {
    (void)g, (void)lo, (void)hi;
}

/* An index that is in order, and yet does not find who is there. */
static void of_an_answer(void) {
    aoi_engine_class blind = *s->engine->class;
    blind.watchers = finds_nobody;
    DAMAGE(const aoi_engine_class *, s->engine->class, &blind);
    blind = *s->engine->class;
    blind.targets = finds_none;
    DAMAGE(const aoi_engine_class *, s->engine->class, &blind);
}

/* What an index believes and what the records say; brute force has none. */
static void of_an_index(void) {
    aoi_entity_record *e = s->world.entities;
    aoi_node_record *n = s->world.nodes;
    if (!strcmp(s->engine->class->name, "brute")) return;
    DAMAGE(double, e[3].pos[0], e[3].pos[0] + 3000); /* nobody's pairs, and in another cell of any size */
    DAMAGE(double, e[3].pos[1], e[3].pos[1] - 3000);
    aoi_extent *x = s->world.extents, extent = x[0];
    aoi_node_record whole = n[0];
    n[0].reach = x[0].radius = x[0].keep = 1e6; /* as if it had been resized behind its back */
    is_reported("a larger node");
    n[0].reach = x[0].radius = x[0].keep = 0.01;
    is_reported("a smaller node");
    n[0] = whole;
    x[0] = extent;
    is_sound("a resized node");
    if (!strcmp(s->engine->class->name, "quadtree")) DAMAGE(uint32_t, e[3].slot, e[3].slot + 1);
    if (!strcmp(s->engine->class->name, "tower")) DAMAGE(uint32_t, n[1].level, !n[1].level);
}

int main(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        crowd(&u);
        of_the_space();
        of_pairs();
        of_an_index();
        of_an_answer();
        close_space(s);
    }
    return expect_report("damage");
}
