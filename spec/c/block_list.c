/* The unrolled lists, against a sorted array. */
#include "engines/list/block_list.h"

#include "host.h"

#include <float.h>

/* ---- one list ------------------------------------------------------------------------------------------------------- */

enum { REFS = 300 };

static aoi_memory memory = {.alloc = host_alloc};
static aoi_block_lists lists;
static aoi_block_list list;
static uint32_t place_of[REFS]; /* as those who put entries in remember it */
static double value_of[REFS];
static bool is_in[REFS];

static aoi_label label = {7, 1, 3, 2, 0};

static uint32_t ref_of(uint32_t i) {
    return aoi_ref_of((int)(i % 3), i);
}

static void moved(void *ud, uint32_t ref, const aoi_block *b, uint32_t place) {
    (void)ud;
    EXPECT(aoi_block_of(&lists, place) == b);
    place_of[ref & AOI_SLOT_MASK] = place;
}

/* Every entry is where its owner remembers it, in a block whose interval its key is in. */
static void check_list(uint32_t wanted) {
    uint32_t count = 0;
    EXPECT(aoi_block_check(&lists, &list) == NULL);
    for (uint32_t i = list.head; i != AOI_NONE; i = aoi_block_at(&lists, i)->next) {
        const aoi_block *b = aoi_block_at(&lists, i);
        EXPECT(b->tile == 7 && b->axis == 1 && b->level == 3 && b->parity == 2);
        count += (uint32_t)aoi_block_count(b);
    }
    EXPECT(count == wanted);
    for (uint32_t i = 0; i < REFS; i++) {
        if (!is_in[i]) continue;
        aoi_block *b = aoi_block_of(&lists, place_of[i]);
        uint32_t k = place_of[i] & AOI_PLACE_MASK;
        EXPECT(k < b->points || (k >= (uint32_t)aoi_block_cap(b) - b->edges && k < (uint32_t)aoi_block_cap(b)));
        EXPECT(aoi_block_refs(b)[k] == ref_of(i) && aoi_block_keys(b)[k] == aoi_block_key(b, value_of[i]));
    }
}

typedef struct field { /* where values are: those of whole numbers, or so close that many of them have one key */
    const char *name;
    double base, origin, unit;
    uint32_t span;
} field;

static double random_value(const field *f) {
    uint32_t k = random_below(40);
    if (k < 2) return k ? INFINITY : -INFINITY; /* edges may have overflowed */
    if (k < 4) return k == 2 ? DBL_MAX : -1e39; /* their keys overflow */
    return f->origin + ((double)random_below(f->span) - f->span / 2.0) * f->unit;
}

/* Whoever looks between two values finds all that are there, once, and of the others only those whose keys are. */
static void look_between(double from, double to) {
    bool found[REFS] = {false};
    if (list.head == AOI_NONE) return;
    aoi_block *b = aoi_block_at(&lists, list.head);
    float lo = aoi_block_key(b, from), hi = aoi_block_key(b, to);
    while (b->high < lo && b->next != AOI_NONE) b = aoi_block_at(&lists, b->next);
    EXPECT(b->low <= lo && lo <= b->high);
    for (;; b = aoi_block_at(&lists, b->next)) {
        for (int points = 0; points < 2; points++) {
            uint64_t bits = aoi_block_between(b, lo, hi, points);
            for (; bits; bits &= bits - 1) {
                uint32_t ref = aoi_block_refs(b)[aoi_lanes_first(bits)], i = ref & AOI_SLOT_MASK;
                EXPECT(aoi_ref_is_point(ref) == (points == 1) && !found[i]);
                found[i] = true;
            }
        }
        if (hi < b->high || b->next == AOI_NONE) break;
    }
    for (uint32_t i = 0; i < REFS; i++) {
        float key = aoi_block_key(b, value_of[i]);
        EXPECT(found[i] == (is_in[i] && lo <= key && key <= hi));
        EXPECT(found[i] || !is_in[i] || !(from <= value_of[i] && value_of[i] <= to));
    }
}

static uint32_t in_use(const aoi_block_lists *c, int size) {
    return c->pool.blocks[size].all - c->pool.blocks[size].count;
}

static void stay_sorted(const field *f) {
    uint32_t count = 0, filled = REFS;
    memset(is_in, 0, sizeof is_in);
    expect_at("sorted, %s", f->name);
    label.base = f->base;
    static uint64_t steps;
    lists.moved = moved;
    lists.steps = &steps;
    list.head = list.tail = AOI_NONE;
    EXPECT(aoi_block_check(&lists, &list) == NULL);
    for (int step = 0; step < 20000; step++) {
        uint32_t i = random_below(filled), other = random_below(filled);
        if (step % 500 == 0) filled = 1 + random_below(random_below(2) ? REFS : 30); /* fuller and emptier */
        host_refuse(1, 1);
        bool good = aoi_pool_reserve(&memory, &lists.pool, 1);
        EXPECT(host_relent() == !good && (good || aoi_pool_reserve(&memory, &lists.pool, 1)));
        if (!is_in[i]) {
            value_of[i] = random_value(f);
            uint32_t near = is_in[other] && random_below(2) ? place_of[other] : AOI_NONE;
            place_of[i] = aoi_block_insert(&lists, &list, label, near, value_of[i], ref_of(i));
            is_in[i] = true;
            count++;
        } else if (random_below(3) == 0) {
            aoi_block_remove(&lists, &list, place_of[i]);
            is_in[i] = false;
            count--;
        } else {
            value_of[i] = random_below(3) ? value_of[i] + ((double)random_below(5) - 2) * f->unit : random_value(f);
            uint32_t now = aoi_block_rekey(&lists, &list, place_of[i], value_of[i]);
            place_of[i] = now;
        }
        check_list(count);
        if (random_below(20) == 0) {
            double from = random_value(f), to = random_below(2) ? random_value(f) : from;
            look_between(from < to ? from : to, from < to ? to : from);
        }
        for (uint32_t r = filled; r < REFS; r++) /* whoever is beyond what is in play leaves */
            if (is_in[r]) {
                aoi_block_remove(&lists, &list, place_of[r]);
                is_in[r] = false;
                count--;
            }
    }
    aoi_pool_close(&memory, &lists.pool);
    EXPECT(host.used == 0 && memory.used == 0);
    label.base = 0;
}

/* A list of many equal keys, entered from the end that costs most: every block but the last stays full enough. */
static void equals_are_spread(void) {
    memset(is_in, 0, sizeof is_in);
    list.head = list.tail = AOI_NONE;
    for (uint32_t i = 0; i < REFS; i++) {
        EXPECT(aoi_pool_reserve(&memory, &lists.pool, 1));
        value_of[i] = i % 50 ? 5 : i;
        place_of[i] = aoi_block_insert(&lists, &list, label, AOI_NONE, value_of[i], ref_of(i));
        is_in[i] = true;
        check_list(i + 1);
    }
    EXPECT(in_use(&lists, AOI_LARGEST) <= REFS / (AOI_BLOCK_MOST / 2));
    for (uint32_t i = 0; i < REFS; i++) {
        aoi_block_remove(&lists, &list, place_of[i]);
        is_in[i] = false;
        check_list(REFS - 1 - i);
    }
    for (int size = 0; size < AOI_BLOCK_SIZES; size++) EXPECT(in_use(&lists, size) == 0);
    aoi_pool_close(&memory, &lists.pool);
}

static void is_damage(void) {
    EXPECT(aoi_block_check(&lists, &list) != NULL);
}

static void report_damage(void) {
    list.head = list.tail = AOI_NONE;
    EXPECT(aoi_pool_reserve(&memory, &lists.pool, 20));
    for (uint32_t i = 0; i < 100; i++) place_of[i] = aoi_block_insert(&lists, &list, label, AOI_NONE, i, ref_of(i));
    aoi_block *first = aoi_block_at(&lists, list.head), *second = aoi_block_at(&lists, first->next);
    EXPECT(aoi_block_check(&lists, &list) == NULL);
    float key = aoi_block_keys(first)[0], high = first->high;
    aoi_block_keys(first)[0] = 1000; /* not within the bounds */
    is_damage();
    aoi_block_keys(first)[0] = key;
    first->high++; /* bounds that do not meet */
    is_damage();
    first->high = high;
    second->base++; /* keys that count from elsewhere */
    is_damage();
    second->base--;
    uint32_t ref = aoi_block_refs(first)[0], edges = second->edges, points = second->points;
    aoi_block_refs(first)[0] = aoi_ref_of(AOI_LOW, 0); /* an edge among the points */
    is_damage();
    aoi_block_refs(first)[0] = ref;
    second->edges = second->points = 0;
    is_damage();
    second->edges = edges & 255U;
    second->points = points & 255U;
    second->size = 1;
    is_damage();
    second->size = AOI_LARGEST;
    second->prev = AOI_NONE;
    is_damage();
    second->prev = list.head;
    uint32_t tail = list.tail;
    aoi_block_at(&lists, tail)->high = 1000;
    is_damage();
    aoi_block_at(&lists, tail)->high = INFINITY;
    EXPECT(aoi_block_check(&lists, &list) == NULL);
    list.tail = list.head;
    is_damage();
    list.tail = tail;
    aoi_pool_close(&memory, &lists.pool);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

enum { KEYS = 56 };

/* Small whole numbers, of which many are equal, and what may stand behind the entries of a block. */
static float random_key(void) {
    static const float odd[] = {INFINITY, -INFINITY, NAN, -0.0f};
    uint32_t k = random_below(40);
    return k < 4 ? odd[k] : (float)k - 20;
}

static uint64_t keys_between(const float *key, int n, float lo, float hi) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) bits |= (uint64_t)(lo <= key[i] && key[i] <= hi) << i;
    return bits;
}

/* All versions give the same bits. */
static void kernels_agree(void) {
    float keys[KEYS];
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < KEYS; i++) keys[i] = random_key();
        float a = random_key(), b = random_key(), lo = aoi_lanes_least(a, b), hi = aoi_lanes_most(a, b);
        EXPECT(aoi_lanes_keys(keys, 16, lo, hi) == keys_between(keys, 16, lo, hi));
        EXPECT(aoi_lanes_keys(keys, KEYS, lo, hi) == keys_between(keys, KEYS, lo, hi));
    }
}

int main(void) {
    random_start("block_list");
    static const field fields[] = {
        {"whole numbers", 0, 0, 1, 60},
        {"far from zero, near the base", 1e9, 1e9, 0x1p-22, 60},
        {"far from the base", -3, 0x1p30, 1, 1000}, /* 64 values to a key, or 128 */
        {"all of one key", 0, 0x1p60, 0x1p10, 60},
        {"below what a float can tell from zero", 0, 0, 0x1p-160, 60},
        {"around what a float can hold", 0, FLT_MAX, FLT_MAX * 0x1p-26, 1000},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) stay_sorted(fields + i);
    RUN(equals_are_spread);
    RUN(report_damage);
    RUN(kernels_agree);
    return expect_report("block_list");
}
