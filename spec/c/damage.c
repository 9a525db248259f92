/* aoi_check reports what a stray write destroys, and nothing once it is repaired. */
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
    aoi_entity_record *e = s->records.entities;
    aoi_node_record *n = s->records.nodes;
    DAMAGE(double, e[3].pos[0], NAN);
    DAMAGE(int64_t, e[3].id, 999);
    DAMAGE(uint32_t, e[3].generation, e[3].generation + 1);
    DAMAGE(uint32_t, s->records.entity_count, s->records.entity_count + 1);
    DAMAGE(uint32_t, s->node_count, s->node_count + 1);
    DAMAGE(uint32_t, s->node_count, 1);
    DAMAGE(uint32_t, n[3].owner, n[0].owner);
    DAMAGE(uint32_t, n[1].generation, n[1].generation + 1);
    DAMAGE(double, n[1].reach[0], n[1].reach[0] * 2);
    DAMAGE(double, n[1].reach[1], n[1].reach[1] * 2);
    DAMAGE(double, s->records.areas[1].keep, s->records.areas[1].keep + 1);
    DAMAGE(double, s->records.areas[1].radius, s->records.areas[1].radius + 1);
    DAMAGE(uint8_t, n[1].shape, AOI_CIRCLE);
    DAMAGE(uint32_t, e[3].mover, 0);
    DAMAGE(uint32_t, s->ids.count, s->ids.count - 1);
}

static uint32_t node_of(int64_t id, int64_t node_id) {
    return aoi_node_slot(s, aoi_find_node(s, aoi_find(s, id), node_id));
}

/* The parameters of a box stand in a block of their own. */
static void of_a_shape(void) {
    aoi_node n = {0, 0};
    aoi_area box = {.shape = AOI_BOX, .mask = 4, .extents = {3, 4, 5}, .margin = 1};
    EXPECT(aoi_add_node(s, aoi_find(s, 6), 1, &box, &n) == AOI_OK);
    aoi_shape *p = s->records.areas[n.index].shape;
    DAMAGE(double, p->extents[0], 2);
    DAMAGE(double, p->extents[1], NAN);
    DAMAGE(double, p->margin, 2);
    DAMAGE(double, p->margin, 0);
    DAMAGE(double, p->inner[1], 2);
    DAMAGE(uint8_t, s->records.nodes[n.index].flags, 0);
    EXPECT(aoi_remove_node(s, n) == AOI_OK);
}

/* Kept pairs: only those BETWEEN the borders of a node that is there. */
static void of_pairs(void) {
    uint32_t node = node_of(0, 2), inside = 8, between = 1, outside = 7; /* 10, 10 and 14, and 70 away */
    EXPECT(aoi_move(s, aoi_find(s, 1), (double[3]){14, 0, 0}) == AOI_OK);
    EXPECT(aoi_pair_table_has(&s->kept, node, between) && s->kept.count == 1);
    EXPECT(aoi_hash_index_reserve(&s->records.memory, &s->kept, 2));
    const struct {
        uint32_t node, target;
        const char *what;
    } bad[] = {{node, inside, "an inner pair that is kept"},
               {node, outside, "an outer pair that is kept"},
               {node, 0, "a watcher that is kept by its own node"},
               {node, PEOPLE + 3, "a pair of no entity"},
               {s->records.node_top + 3, 2, "a pair of no node"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        aoi_pair_table_add(&s->kept, bad[i].node, bad[i].target);
        is_reported(bad[i].what);
        aoi_pair_table_remove(&s->kept, bad[i].node, bad[i].target);
        is_sound(bad[i].what);
    }
    aoi_pair_table_add(&s->reported, node, outside | AOI_PAIR_REPORTED);
    is_reported("an enter that the area denies");
    aoi_pair_table_remove(&s->reported, node, outside | AOI_PAIR_REPORTED);
    aoi_pair_table_remove(&s->reported, node, inside | AOI_PAIR_REPORTED);
    is_reported("a leave that the area denies");
    aoi_pair_table_add(&s->reported, node, inside | AOI_PAIR_REPORTED);
    DAMAGE(uint32_t, s->kept.count, 2);
    DAMAGE(uint64_t, s->records.entities[between].kind, 2); /* it does not meet the mask any more */
}

/* What an index believes and what the records say. */
static void of_an_index(void) {
    aoi_entity_record *e = s->records.entities;
    aoi_node_record *n = s->records.nodes;
    DAMAGE(double, e[3].pos[0], e[3].pos[0] + 3000); /* nobody's pairs, and in another cell of any size */
    DAMAGE(double, e[3].pos[1], e[3].pos[1] - 3000);
    aoi_area_record *x = s->records.areas, extent = x[0];
    aoi_node_record whole = n[0];
    for (int i = 0; i < 2; i++) { /* as if it had been resized behind its back */
        x[0].radius = x[0].keep = i ? 0.01 : 1e6;
        n[0].reach[0] = n[0].reach[1] = x[0].radius;
        is_reported(i ? "a smaller node" : "a larger node");
    }
    n[0] = whole;
    x[0] = extent;
    is_sound("a resized node");
}

int main(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        crowd(&u);
        of_the_space();
        of_a_shape();
        of_pairs();
        of_an_index();
        close_space(s);
    }
    return expect_report("damage");
}
