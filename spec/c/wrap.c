/* Generations near their wrap: a slot that has used all of them retires, so that no old handle comes alive again.
 *
 * Living 2^31 lives takes too long, so the spec starts a record just before its last ones. */
#include "core/space.h"

#include "fixture.h"

enum { LIVES = 4 };

static void entities_retire(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity old[LIVES], e = enter(s, 1, 0);
    double at[3];
    uint32_t slot = e.index;
    s->records.entities[slot].generation = UINT32_MAX - 2 * (LIVES - 1); /* it has this life and LIVES - 1 more */
    for (int i = 0; i < LIVES; i++) {
        old[i] = aoi_find(s, 1);
        EXPECT(old[i].index == slot && aoi_position(s, old[i], at));
        EXPECT(aoi_check(s) == NULL);
        EXPECT(aoi_leave(s, old[i]) == AOI_OK);
        enter(s, 1, i);
    }
    EXPECT(aoi_find(s, 1).index != slot);
    for (int64_t id = 2; id < 100; id++) enter(s, id, 0); /* whoever comes now, nobody is taken for an old one */
    for (int i = 0; i < LIVES; i++)
        EXPECT(!aoi_position(s, old[i], at) && aoi_move(s, old[i], (double[3]){1}) == AOI_EGONE);
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

/* `waiting`: each life of the node ends with an event that is still to be taken. */
static void nodes_retire(const setup *u, bool waiting) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0);
    aoi_node old[LIVES];
    aoi_event e;
    enter(s, 2, 1);
    add_node(s, a, 1, waiting ? 5 : 0);
    s->records.nodes[0].generation = UINT32_MAX - 2 * (LIVES - 1);
    for (int i = 0; i < LIVES; i++) {
        while (aoi_next(s, &e)) continue; /* its enter is taken, its leave will wait */
        old[i] = aoi_find_node(s, a, 1);
        EXPECT(old[i].index == 0 && aoi_check(s) == NULL);
        EXPECT(aoi_remove_node(s, old[i]) == AOI_OK);
        EXPECT(aoi_pending(s) == waiting);
        while (aoi_next(s, &e)) continue;
        add_node(s, a, 1, waiting ? 5 : 0);
    }
    EXPECT(s->records.nodes[0].generation == 0 && aoi_find_node(s, a, 1).index != 0);
    for (int64_t id = 2; id < 50; id++) add_node(s, a, id, 5);
    for (int i = 0; i < LIVES; i++) EXPECT(aoi_set_mask(s, old[i], 0) == AOI_EGONE);
    EXPECT(s->records.nodes[0].generation == 0 && aoi_check(s) == NULL);
    close_space(s);
}

/* A node whose add is refused never lived, in its last life too: its slot retires, and no slot that is free and was not
 * told of is lost with it. */
static void refused_nodes_retire(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity list[3] = {enter(s, 1, 0), enter(s, 2, 1), {0, 0}};
    aoi_area area = {.radius = 5, .mask = AOI_ALL_KINDS, .user_data = 1};
    uint64_t data, told = 0;
    EXPECT(aoi_add_node_many(s, list, 2, 1, &area, NULL) == AOI_OK);
    area.user_data = 2;
    EXPECT(aoi_add_node_many(s, list, 2, 2, &area, NULL) == AOI_OK);
    aoi_take_all(s);
    for (int64_t k = 1; k <= 2; k++)
        for (int i = 0; i < 2; i++) EXPECT(aoi_remove_node(s, aoi_find_node(s, list[i], k)) == AOI_OK);
    while (aoi_next_freed(s, &data)) EXPECT(false); /* events wait */
    aoi_event e;
    while (aoi_next(s, &e)) continue;
    for (int i = 0; i < 2; i++) EXPECT(aoi_next_freed(s, &data)); /* two are told, two are free and not told */
    for (uint32_t n = 0; n < s->records.node_top; n++)
        if (n == s->unused_node) s->records.nodes[n].generation = UINT32_MAX - 1;
    uint32_t last = s->unused_node;
    EXPECT(aoi_add_node_many(s, list, 3, 1, &area, NULL) == AOI_EGONE);
    EXPECT(s->records.nodes[last].generation == 0 && aoi_check(s) == NULL);
    while (aoi_next_freed(s, &data)) told++;
    EXPECT(told == 2);
    for (int64_t k = 0; k < 40; k++) add_node(s, list[0], k, 1);
    EXPECT(s->records.nodes[last].generation == 0 && aoi_check(s) == NULL);
    close_space(s);
}

/* An undelivered leave of the last life must not cancel the enter of a new one. */
static void lives_are_told_apart(const setup *u) {
    aoi_space *s = open_space(u);
    aoi_entity a = enter(s, 1, 0), b = enter(s, 2, 1);
    s->records.entities[b.index].generation = UINT32_MAX - 2;
    add_node(s, a, 1, 5);
    aoi_take_all(s);
    for (int i = 0; i < 3; i++) {
        EXPECT(aoi_leave(s, aoi_find(s, 2)) == AOI_OK);
        enter(s, 2, 2);
        EXPECT(aoi_pending(s) == 2);
        expect_event(s, AOI_LEAVE, 1, 1, 2);
        expect_event(s, AOI_ENTER, 1, 1, 2);
    }
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

int main(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        entities_retire(&u);
        nodes_retire(&u, false);
        nodes_retire(&u, true);
        refused_nodes_retire(&u);
        lives_are_told_apart(&u);
    }
    return expect_report("wrap");
}
