/* The unrolled lists: against a sorted array; and the list engine taking a batch back with not a block to spare. */
#include "aoi_space.h"
#include "aoi_tiles.h"

#include "every.h"

/* ---- one chain ------------------------------------------------------------------------------------------------------ */

enum { REFS = 300 };

static aoi_memory memory = {.alloc = host_alloc};
static aoi_chains chains;
static aoi_chain chain;
static uint32_t block_of[REFS]; /* as those who put entries in remember it */
static double key_of[REFS];
static bool is_in[REFS];

static void moved(void *ud, uint32_t ref, const aoi_block *b, uint32_t block) {
    (void)ud, (void)b;
    block_of[ref] = block;
}

static bool comes_before(uint32_t a, uint32_t b) {
    return aoi_entry_less(key_of[a], a, key_of[b], b);
}

/* Every entry is where its owner remembers it, and all stand in order. */
static void check_chain(uint32_t wanted) {
    uint32_t count = 0, last = AOI_NONE;
    EXPECT(aoi_chain_check(&chains, &chain) == NULL);
    for (uint32_t i = chain.head; i != AOI_NONE; i = aoi_block_at(&chains, i)->next) {
        const aoi_block *b = aoi_block_at(&chains, i);
        EXPECT(b->tile == 7 && b->axis == 1 && b->level == 3 && b->parity == 2);
        for (int k = 0; k < b->count; k++, count++) {
            uint32_t ref = b->ref[k];
            EXPECT(is_in[ref] && block_of[ref] == i && b->key[k] == key_of[ref] && aoi_entry_slot(b, ref) == k);
            EXPECT(last == AOI_NONE || comes_before(last, ref));
            last = ref;
        }
    }
    EXPECT(count == wanted);
}

static double random_key(void) {
    uint32_t k = random_below(40);
    return k == 0 ? -INFINITY : k == 1 ? INFINITY : (double)random_below(60) - 30; /* edges may have overflowed */
}

static uint32_t blocks_in_use(const aoi_chains *c) {
    return c->chunk_count * AOI_CHUNK - c->unused_count;
}

static void stay_sorted(void) {
    uint32_t count = 0, filled = REFS;
    chains.moved = moved;
    chain.head = chain.tail = AOI_NONE;
    EXPECT(aoi_chain_check(&chains, &chain) == NULL);
    for (int step = 0; step < 20000; step++) {
        uint32_t ref = random_below(filled), other = random_below(filled);
        if (step % 500 == 0) filled = 1 + random_below(REFS); /* fuller and emptier */
        host_refuse(1, 1);
        bool good = aoi_chains_reserve(&memory, &chains, 1);
        EXPECT(host_relent() == !good && (good || aoi_chains_reserve(&memory, &chains, 1)));
        if (!is_in[ref]) {
            key_of[ref] = random_key();
            uint32_t near = is_in[other] && random_below(2) ? block_of[other] : AOI_NONE;
            block_of[ref] = aoi_chain_insert(&chains, &chain, (aoi_label){7, 1, 3, 2}, near, key_of[ref], ref);
            is_in[ref] = true;
            count++;
        } else if (random_below(3) == 0 || ref >= filled) {
            aoi_chain_remove(&chains, &chain, block_of[ref], ref);
            is_in[ref] = false;
            count--;
        } else {
            key_of[ref] = random_below(3) ? key_of[ref] + (double)random_below(5) - 2 : random_key();
            uint32_t now = aoi_chain_rekey(&chains, &chain, block_of[ref], key_of[ref], ref);
            block_of[ref] = now;
        }
        if (random_below(200) == 0) {
            aoi_chain_pack(&chains, &chain);
            EXPECT(blocks_in_use(&chains) == (count + AOI_ENTRIES - 1) / AOI_ENTRIES);
        }
        check_chain(count);
        for (uint32_t r = filled; r < REFS; r++) /* whoever is beyond what is in play leaves */
            if (is_in[r]) {
                aoi_chain_remove(&chains, &chain, block_of[r], r);
                is_in[r] = false;
                count--;
            }
    }
    aoi_chains_close(&memory, &chains);
    EXPECT(host.used == 0 && memory.used == 0);
}

static void report_damage(void) {
    chain.head = chain.tail = AOI_NONE;
    EXPECT(aoi_chains_reserve(&memory, &chains, 20));
    for (uint32_t r = 0; r < 20; r++) {
        key_of[r] = r;
        block_of[r] = aoi_chain_insert(&chains, &chain, (aoi_label){7, 1, 3, 2}, AOI_NONE, r, r);
    }
    aoi_block *first = aoi_block_at(&chains, chain.head), *second = aoi_block_at(&chains, first->next);
    EXPECT(aoi_chain_check(&chains, &chain) == NULL);
    first->key[0] = 100; /* within a block */
    EXPECT(aoi_chain_check(&chains, &chain) != NULL);
    first->key[0] = 0;
    second->key[0] = -1; /* between two */
    EXPECT(aoi_chain_check(&chains, &chain) != NULL);
    second->key[0] = second->ref[0];
    second->count = 0;
    EXPECT(aoi_chain_check(&chains, &chain) != NULL);
    second->count = AOI_ENTRIES;
    second->prev = AOI_NONE;
    EXPECT(aoi_chain_check(&chains, &chain) != NULL);
    second->prev = chain.head;
    EXPECT(aoi_chain_check(&chains, &chain) == NULL);
    uint32_t tail = chain.tail;
    chain.tail = chain.head;
    EXPECT(aoi_chain_check(&chains, &chain) != NULL);
    chain.tail = tail;
    aoi_chains_close(&memory, &chains);
}

/* ---- the list engine, taking back ------------------------------------------------------------------------------------- */

enum { PEOPLE = 200, ROWS = 120 };

typedef struct row {
    uint32_t entity;
    double from[3];
} row;

static void relocate(aoi_space *s, uint32_t e, const double *to) {
    double from[3];
    memcpy(from, s->world.entities[e].pos, sizeof from);
    EXPECT(s->engine->class->relocate(s->engine, e, from, to) == AOI_OK);
    memcpy(s->world.entities[e].pos, to, sizeof from);
}

/* The blocks that a move of this entity reserves, at least. */
static uint32_t reserved(const aoi_space *s, const aoi_list *g, uint32_t e) {
    uint32_t blocks = (uint32_t)(g->level_count * s->world.dims);
    for (uint32_t n = s->world.entities[e].nodes; n != AOI_NONE; n = s->world.nodes[n].next)
        blocks += aoi_tiles_frame_blocks(g);
    return blocks;
}

/* Takes all unused blocks away but so many; gives them back. */
typedef struct loan {
    uint32_t first, count;
} loan;

static loan take_away(aoi_chains *c, uint32_t but) {
    loan taken = {c->unused, c->unused_count - but};
    if (but) {
        uint32_t last = c->unused;
        for (uint32_t i = 1; i < but; i++) last = aoi_block_at(c, last)->next;
        taken.first = aoi_block_at(c, last)->next;
        aoi_block_at(c, last)->next = AOI_NONE;
    }
    c->unused_count = but;
    return taken;
}

static void give_back(aoi_chains *c, loan taken) {
    uint32_t last = c->unused;
    if (!taken.count) return;
    for (uint32_t i = 1; i < c->unused_count; i++) last = aoi_block_at(c, last)->next;
    if (c->unused_count) aoi_block_at(c, last)->next = taken.first;
    else c->unused = taken.first;
    c->unused_count += taken.count;
}

/* Villages far apart, so that whoever travels finds neighbours in tiles of any size. */
static void random_place(double *to) {
    double village = random_below(5) * 130;
    for (int a = 0; a < 3; a++) to[a] = village + (double)random_below(2000) / (random_below(4) ? 300 : 20);
}

/* As after a time without memory: then every move needs blocks, there and back. */
static void pack_everything(aoi_list *g) {
    for (int i = 0; i < g->level_count; i++)
        for (uint32_t k = 0; k < g->levels[g->order[i]].top; k++)
            for (int a = 0; a < g->head.world->dims; a++)
                aoi_chain_pack(&g->chains, g->levels[g->order[i]].tiles[k].axis + a);
}

/* What a batch had when it began each of its rows is the least that it can have when it takes them back. */
static void take_back(aoi_space *s, aoi_list *g) {
    static row rows[ROWS];
    uint32_t least = 0, n = 1 + random_below(random_below(2) ? 4 : ROWS);
    if (random_below(3)) pack_everything(g);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = rows[i].entity = random_below(PEOPLE), needs = blocks_in_use(&g->chains) + reserved(s, g, e);
        double to[3];
        random_place(to);
        memcpy(rows[i].from, s->world.entities[e].pos, sizeof to);
        relocate(s, e, to);
        if (needs > least) least = needs;
    }
    uint32_t used = blocks_in_use(&g->chains);
    loan taken = take_away(&g->chains, least > used ? least - used : 0);
    s->world.undoing = true;
    while (n-- > 0) relocate(s, rows[n].entity, rows[n].from);
    s->world.undoing = false;
    give_back(&g->chains, taken);
    const char *wrong = aoi_check(s);
    if (!EXPECT(wrong == NULL)) fprintf(stderr, "  %s\n", wrong);
}

static void batches_are_taken_back_with_no_block_to_spare(int dims) {
    setup u = {.engine = "list", .dims = dims};
    aoi_space *s = open_space(&u);
    aoi_list *g = (aoi_list *)s->engine;
    expect_at("taking back, %dD", dims);
    for (int64_t id = 0; id < PEOPLE; id++) {
        double at[3];
        aoi_entity e;
        random_place(at);
        EXPECT(aoi_enter(s, id, at, 1, &e) == AOI_OK);
        if (id % 10 == 0) add_node(s, e, 1, id % 20 ? 2 : 40); /* two levels */
    }
    aoi_take_all(s);
    for (int i = 0; i < 100; i++) {
        text before = i % 10 ? (text){0} : dump(s, true);
        take_back(s, g);
        if (before.bytes) {
            text after = dump(s, true);
            EXPECT(dump_same(&before, &after));
            text_free(&after);
        }
        text_free(&before);
    }
    close_space(s);
}

int main(void) {
    random_start("chains");
    RUN(stay_sorted);
    RUN(report_damage);
    for (int crowd = 0; crowd < 20; crowd++) batches_are_taken_back_with_no_block_to_spare(2);
    for (int crowd = 0; crowd < 4; crowd++) batches_are_taken_back_with_no_block_to_spare(3);
    return expect_report("chains");
}
