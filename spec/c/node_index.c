/* The nodes of an entity by id: few are a chain, many have an index. Against a plain array, with refused memory. */
#include "core/space.h"

#include "fixture.h"

enum { OWNERS = 3, IDS = 60 };

static const setup LIST = {.engine = "list", .dims = 2};

/* Every node is found by its id, and no other; the chain is from new to old. */
static void compare(aoi_space *s, aoi_entity owner, const int64_t *ids, uint32_t count) {
    for (int64_t id = 0; id < IDS; id++) {
        bool has = false;
        for (uint32_t i = 0; i < count; i++) has |= ids[i] == id;
        EXPECT(AOI_IS_NULL(aoi_find_node(s, owner, id)) == !has);
    }
    aoi_node n = aoi_first_node(s, owner);
    for (uint32_t i = count; i-- > 0; n = aoi_next_node(s, n)) {
        int64_t id = -1;
        EXPECT(aoi_node_id(s, n, &id) && id == ids[i]);
    }
    EXPECT(AOI_IS_NULL(n));
}

static void finds_what_was_added(void) {
    aoi_space *s = open_space(&LIST);
    const aoi_area area = {.radius = 5, .mask = AOI_ALL_KINDS};
    int64_t ids[OWNERS][IDS];
    uint32_t count[OWNERS] = {0}, refused = 0;
    aoi_entity owner[OWNERS];
    for (int o = 0; o < OWNERS; o++) owner[o] = enter(s, o, o);
    for (int step = 0; step < 6000; step++) {
        uint32_t o = random_below(OWNERS), k = 0;
        bool grows = step / 500 % 2 == 0;
        int64_t id = random_below(IDS);
        while (k < count[o] && ids[o][k] != id) k++;
        if (random_below(2)) host_refuse(1, 1);
        if (k == count[o] && (grows || random_below(3) == 0)) {
            int result = aoi_add_node(s, owner[o], id, &area, NULL);
            if (result == AOI_OK) ids[o][count[o]++] = id;
            refused += result == AOI_ENOMEM;
            EXPECT(result == AOI_OK || result == AOI_ENOMEM);
        } else if (k < count[o] && aoi_remove_node(s, aoi_find_node(s, owner[o], id)) == AOI_OK) {
            memmove(ids[o] + k, ids[o] + k + 1, (--count[o] - k) * sizeof *ids[o]);
        } else if (random_below(400) == 0 && aoi_leave(s, owner[o]) == AOI_OK) {
            host_relent();
            count[o] = 0;
            owner[o] = enter(s, o, o);
        }
        host_relent();
        aoi_event e;
        while (aoi_next(s, &e)) continue;
        compare(s, owner[o], ids[o], count[o]);
        const char *wrong = step % 50 ? NULL : aoi_check(s);
        if (wrong) expect_at("%s", wrong);
        EXPECT(wrong == NULL);
    }
    EXPECT(refused > 0);
    for (int o = 0; o < OWNERS; o++) EXPECT(aoi_leave(s, owner[o]) == AOI_OK);
    EXPECT(s->chains.by_id.count == 0 && s->chains.before == NULL);
    close_space(s);
}

/* A look-up in an index reads no chain: here it leads nowhere. */
static void does_not_walk_a_long_chain(void) {
    enum { MANY = 30000 };
    aoi_space *s = open_space(&LIST);
    aoi_entity owner = enter(s, 1, 0);
    for (int64_t id = 0; id < MANY; id++) add_node(s, owner, id, 5);
    uint32_t first = s->records.entities[owner.index].nodes, next = s->records.nodes[first].next;
    s->records.nodes[first].next = AOI_NONE;
    for (int64_t id = 0; id < MANY; id += 97) EXPECT(!AOI_IS_NULL(aoi_find_node(s, owner, id)));
    EXPECT(AOI_IS_NULL(aoi_find_node(s, owner, MANY)));
    s->records.nodes[first].next = next;
    for (int64_t id = 0; id < MANY; id++) EXPECT(aoi_remove_node(s, aoi_find_node(s, owner, id)) == AOI_OK);
    EXPECT(AOI_IS_NULL(aoi_first_node(s, owner)));
    close_space(s);
}

static void reports_damage(void) {
    aoi_space *s = open_space(&LIST);
    aoi_entity owner = enter(s, 1, 0);
    for (int64_t id = 0; id <= AOI_FEW_NODES; id++) add_node(s, owner, id, 5);
    uint32_t node = aoi_find_node(s, owner, 3).index;
    EXPECT(aoi_check(s) == NULL);
    s->records.nodes[node].node_id++;
    EXPECT(aoi_check(s) != NULL);
    s->records.nodes[node].node_id--;
    EXPECT(aoi_check(s) == NULL);
    close_space(s);
}

int main(void) {
    random_start("node_index");
    RUN(finds_what_was_added);
    RUN(does_not_walk_a_long_chain);
    RUN(reports_damage);
    return expect_report("node_index");
}
