/* The hash index, compared with a plain array, with hashes that collide on purpose. */
#include "base/hash_index.h"

#include "host.h"

enum { VALUES = 400 };

static aoi_memory memory = {.alloc = host_alloc};

static void is_empty_at_first(void) {
    aoi_index ix = {0};
    uint32_t at = AOI_SEEK;
    EXPECT(aoi_index_next(&ix, 7, &at) == AOI_NONE);
    aoi_index_clear(&ix);
    aoi_index_remove(&ix, 7, 7);
    EXPECT(aoi_index_check(&ix) == NULL);
    aoi_index_free(&memory, &ix);
    EXPECT(host.used == 0);
}

/* How often the value is found under the hash. */
static int times(const aoi_index *ix, uint32_t hash, uint32_t value) {
    uint32_t at = AOI_SEEK, v, n = 0;
    while ((v = aoi_index_next(ix, hash, &at)) != AOI_NONE) n += v == value;
    return (int)n;
}

static void holds_what_was_put_in(uint32_t hashes) {
    aoi_index ix = {0};
    uint32_t hash[VALUES], count = 0;
    bool in[VALUES] = {false};
    expect_at("%u hashes", (unsigned)hashes);
    for (int step = 0; step < 4000; step++) {
        uint32_t v = random_below(VALUES), w = random_below(VALUES);
        if (!in[v]) {
            EXPECT(aoi_index_reserve(&memory, &ix, count + (size_t)1));
            /* the top of the range: probing goes over the end of the table */
            hash[v] = UINT32_MAX - random_below(hashes);
            aoi_index_add(&ix, hash[v], v);
            in[v] = true;
            count++;
        } else if (random_below(3) && !in[w]) {
            aoi_index_replace(&ix, hash[v], v, w);
            hash[w] = hash[v];
            in[w] = true;
            in[v] = false;
        } else {
            aoi_index_remove(&ix, hash[v], v);
            in[v] = false;
            count--;
        }
        EXPECT(ix.count == count);
        EXPECT(aoi_index_check(&ix) == NULL);
        for (v = 0; v < VALUES; v += 1 + random_below(7)) EXPECT(times(&ix, in[v] ? hash[v] : 0, v) == in[v]);
    }
    aoi_index_clear(&ix);
    EXPECT(ix.count == 0 && aoi_index_check(&ix) == NULL);
    for (uint32_t v = 0; v < VALUES; v++)
        if (in[v]) EXPECT(times(&ix, hash[v], v) == 0);
    aoi_index_free(&memory, &ix);
    EXPECT(host.used == 0 && memory.used == 0);
}

static void is_as_before_when_memory_runs_out(void) {
    aoi_index ix = {0};
    for (uint32_t v = 0; v < 100; v++) {
        host_refuse(1, 1);
        bool good = aoi_index_reserve(&memory, &ix, v + (size_t)1);
        EXPECT(host_relent() == !good);
        EXPECT(ix.count == v && aoi_index_check(&ix) == NULL);
        if (!good) EXPECT(aoi_index_reserve(&memory, &ix, v + (size_t)1));
        aoi_index_add(&ix, v * 3, v);
    }
    EXPECT(!aoi_index_reserve(&memory, &ix, (size_t)1 << 31)); /* more than an index can hold */
    EXPECT(ix.count == 100 && aoi_index_check(&ix) == NULL);
    aoi_index_free(&memory, &ix);
    EXPECT(host.used == 0);
}

static void reports_damage(void) {
    aoi_index ix = {0};
    EXPECT(aoi_index_reserve(&memory, &ix, 3));
    for (uint32_t v = 0; v < 3; v++) aoi_index_add(&ix, 5, v);
    ix.count++;
    EXPECT(aoi_index_check(&ix) != NULL);
    ix.count--;
    ix.slots[5].value = AOI_NONE; /* a gap in front of the others */
    EXPECT(aoi_index_check(&ix) != NULL);
    aoi_index_free(&memory, &ix);
}

int main(void) {
    random_start("hash_index");
    RUN(is_empty_at_first);
    holds_what_was_put_in(1000000);
    holds_what_was_put_in(40);
    holds_what_was_put_in(1);
    RUN(is_as_before_when_memory_runs_out);
    RUN(reports_damage);
    return expect_report("hash_index");
}
