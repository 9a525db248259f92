/* world_tiles.c - the tiles of a map, shared within a process by shards and their exchange, each of which has its own
 * Lua state and thread.
 *
 *   owners[]     by row * columns + column: the shard of each tile
 *   audience[]   by the same index: the set of all shards that own a tile within `halo` tiles, on either axis
 *   sets[]       distinct sets, so that two are compared by number
 *   maps         list of the shared maps of this process: immutable, reference-counted
 *
 * A changed map is a copy, which is replaced by a shared map that equals it, numbers of sets included: the same change
 * to the same map in several threads gives one map.
 *
 * Audiences are computed axis by axis: a union along each row, then along each column.  A line is processed as runs of
 * equal items; most windows lie within one run. */
#include "skynet/world.h"

#include <stdatomic.h>
#include <stdlib.h>

static void *process_memory(void *ud, void *ptr, size_t osize, size_t nsize) {
    (void)ud;
    (void)osize;
    if (nsize) return realloc(ptr, nsize);
    free(ptr);
    return NULL;
}

static aoi_memory shared_memory(void) { /* not a Lua state's: maps outlive states */
    return (aoi_memory){.alloc = process_memory};
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static int by_shard(const void *a, const void *b) {
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

void world_sort_shards(uint16_t *shards, uint32_t count) {
    qsort(shards, count, sizeof *shards, by_shard);
}

bool world_has_member(const world_map *m, uint32_t set, uint32_t shard) {
    const uint16_t *members = m->members + m->sets[set].first, key = (uint16_t)shard;
    return bsearch(&key, members, m->sets[set].count, sizeof *members, by_shard) != NULL;
}

/* The set of the `count` items behind the last member: an existing equal set, or a new one that includes them. */
static uint32_t intern_set(world_map *m, uint32_t count) {
    aoi_memory memory = shared_memory();
    const uint16_t *members = m->members + m->member_count;
    uint64_t key = count;
    for (uint32_t i = 0; i < count; i++) key = key * UINT64_C(1099511628211) + members[i];
    uint32_t hash = aoi_hash64(key), at = AOI_SEEK, s;
    while ((s = aoi_hash_index_next(&m->by_members, hash, &at)) != AOI_NONE)
        if (m->sets[s].count == count && !memcmp(m->members + m->sets[s].first, members, count * sizeof *members))
            return s;
    if (!AOI_GROW(&memory, m->sets, m->set_cap, m->set_count + (size_t)1) ||
        !aoi_hash_index_reserve(&memory, &m->by_members, m->set_count + (size_t)1))
        return AOI_NONE;
    m->sets[m->set_count] = (world_set){m->member_count, count};
    m->member_count += count;
    aoi_hash_index_add(&m->by_members, hash, m->set_count);
    return m->set_count++;
}

static uint32_t single_set(world_map *m, uint16_t shard) {
    aoi_memory memory = shared_memory();
    if (!AOI_GROW(&memory, m->members, m->member_cap, m->member_count + (size_t)1)) return AOI_NONE;
    m->members[m->member_count] = shard;
    return intern_set(m, 1);
}

typedef struct tile_run { /* a run of equal items of a line; last: index of its last item */
    uint32_t last, set;
} tile_run;

/* The union of the sets of runs; AOI_NONE when memory is refused. */
static uint32_t union_set(world_map *m, const tile_run *runs, uint32_t count) {
    aoi_memory memory = shared_memory();
    size_t room = 0;
    if (count == 1) return runs->set;
    for (uint32_t i = 0; i < count; i++) room += m->sets[runs[i].set].count;
    if (!AOI_GROW(&memory, m->members, m->member_cap, m->member_count + room)) return AOI_NONE;
    uint16_t *all = m->members + m->member_count;
    uint32_t n = 0, kept = 1;
    for (uint32_t i = 0; i < count; i++) {
        const world_set *s = m->sets + runs[i].set;
        memcpy(all + n, m->members + s->first, s->count * sizeof *all);
        n += s->count;
    }
    world_sort_shards(all, n);
    for (uint32_t i = 1; i < n; i++)
        if (all[i] != all[kept - 1]) all[kept++] = all[i];
    return intern_set(m, kept);
}

/* ---- audiences --------------------------------------------------------------------------------------------------- */

/* Replaces each item of a line by the union of the items within the halo.  runs: a buffer of `count` items. */
static bool widen_line(world_map *m, uint32_t *line, uint32_t count, uint32_t stride, tile_run *runs) {
    uint32_t n = 0, first = 0, last = 0, set = AOI_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (!i || line[(size_t)i * stride] != runs[n - 1].set) runs[n++] = (tile_run){i, line[(size_t)i * stride]};
        runs[n - 1].last = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = world_halo_low(m, i), right = world_halo_high(m, i, count);
        bool same = set != AOI_NONE;
        while (runs[first].last < left) first++, same = false;
        while (runs[last].last < right) last++, same = false;
        if (!same && (set = union_set(m, runs + first, last - first + 1)) == AOI_NONE) return false;
        line[(size_t)i * stride] = set;
    }
    return true;
}

static bool fill_window(world_map *m, uint32_t *window, const uint16_t *owners, uint32_t width, uint32_t height) {
    uint16_t last = 0;
    uint32_t set = AOI_NONE;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint16_t owner = owners[(size_t)y * m->columns + x];
            if (owner != last && (set = single_set(m, last = owner)) == AOI_NONE) return false;
            window[(size_t)y * width + x] = set;
        }
    return true;
}

/* Computes the audiences of the tiles of a rectangle, edges included, from the owners of the tiles within the halo. */
bool world_find_audiences(world_map *m, uint32_t left, uint32_t low, uint32_t right, uint32_t high) {
    aoi_memory memory = shared_memory();
    uint32_t x0 = world_halo_low(m, left), width = world_halo_high(m, right, m->columns) - x0 + 1;
    uint32_t y0 = world_halo_low(m, low), height = world_halo_high(m, high, m->rows) - y0 + 1;
    size_t cells = (size_t)width * height, longest = width > height ? width : height;
    uint32_t *window = aoi_resize(&memory, NULL, 0, cells * sizeof *window);
    tile_run *runs = aoi_resize(&memory, NULL, 0, longest * sizeof *runs);
    bool done = window && runs && fill_window(m, window, m->owners + (size_t)y0 * m->columns + x0, width, height);
    for (uint32_t y = 0; done && y < height; y++) done = widen_line(m, window + (size_t)y * width, width, 1, runs);
    for (uint32_t x = left - x0; done && x <= right - x0; x++) done = widen_line(m, window + x, height, width, runs);
    for (uint32_t y = low; done && y <= high; y++)
        memcpy(m->audience + (size_t)y * m->columns + left, window + (size_t)(y - y0) * width + (left - x0),
               (right - left + 1) * sizeof *window);
    aoi_resize(&memory, window, cells * sizeof *window, 0);
    aoi_resize(&memory, runs, longest * sizeof *runs, 0);
    return done;
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

void world_drop_map(world_map *m) {
    aoi_memory memory = shared_memory();
    uint32_t tiles = m->columns * m->rows;
    AOI_FREE(&memory, m->owners, tiles);
    AOI_FREE(&memory, m->audience, tiles);
    AOI_FREE(&memory, m->sets, m->set_cap);
    AOI_FREE(&memory, m->members, m->member_cap);
    aoi_hash_index_free(&memory, &m->by_members);
    aoi_resize(&memory, m, sizeof *m, 0);
}

/* A copy of a block of `cap` bytes with `size` used ones; NULL: memory refused, and *done is false. */
static void *copy_block(const void *from, size_t size, size_t cap, bool *done) {
    aoi_memory memory = shared_memory();
    void *block = cap ? aoi_resize(&memory, NULL, 0, cap) : NULL;
    *done = *done && (block || !cap);
    if (block && from) memcpy(block, from, size);
    return block;
}

world_map *world_new_map(const world_map *like) {
    bool done = true;
    world_map *m = copy_block(like, sizeof *m, sizeof *m, &done);
    size_t tiles = (size_t)like->columns * like->rows;
    if (!m) return NULL;
    m->owners = copy_block(like->owners, tiles * sizeof *m->owners, tiles * sizeof *m->owners, &done);
    m->audience = copy_block(like->audience, tiles * sizeof *m->audience, tiles * sizeof *m->audience, &done);
    m->sets = copy_block(like->sets, like->set_count * sizeof *m->sets, like->set_cap * sizeof *m->sets, &done);
    m->members = copy_block(like->members, like->member_count * sizeof *m->members,
                            like->member_cap * sizeof *m->members, &done);
    m->by_members.slots = copy_block(like->by_members.slots, like->by_members.size * sizeof *m->by_members.slots,
                                     like->by_members.size * sizeof *m->by_members.slots, &done);
    if (done) return m;
    world_drop_map(m);
    return NULL;
}

static atomic_flag maps_busy = ATOMIC_FLAG_INIT; /* protects the list and the counts of users; held briefly */
static world_map *maps;

static void lock_maps(void) {
    while (atomic_flag_test_and_set_explicit(&maps_busy, memory_order_acquire)) continue;
}

static void unlock_maps(void) {
    atomic_flag_clear_explicit(&maps_busy, memory_order_release);
}

static uint64_t hash_of(const world_map *m) {
    uint64_t h = m->columns * UINT64_C(31) + m->set_count;
    for (size_t i = 0, n = (size_t)m->columns * m->rows; i < n; i++) h = h * UINT64_C(1099511628211) + m->owners[i];
    return h;
}

static bool are_equal(const world_map *a, const world_map *b) {
    size_t tiles = (size_t)a->columns * a->rows;
    return a->hash == b->hash && a->columns == b->columns && a->rows == b->rows && a->tile == b->tile &&
           a->hysteresis == b->hysteresis && a->first[0] == b->first[0] && a->first[1] == b->first[1] &&
           a->halo == b->halo && a->shards == b->shards && a->set_count == b->set_count &&
           a->member_count == b->member_count && !memcmp(a->owners, b->owners, tiles * sizeof *a->owners) &&
           !memcmp(a->audience, b->audience, tiles * sizeof *a->audience) &&
           !memcmp(a->sets, b->sets, a->set_count * sizeof *a->sets) &&
           !memcmp(a->members, b->members, a->member_count * sizeof *a->members);
}

world_map *world_share_map(world_map *m) {
    m->hash = hash_of(m);
    lock_maps();
    world_map *same = maps;
    while (same && !are_equal(same, m)) same = same->next;
    if (same) same->users++;
    else {
        m->users = 1;
        m->next = maps;
        maps = m;
    }
    unlock_maps();
    if (same) world_drop_map(m);
    return same ? same : m;
}

void world_release_map(world_map *m) {
    lock_maps();
    bool last = --m->users == 0;
    world_map **link = &maps;
    while (last && *link != m) link = &(*link)->next;
    if (last) *link = m->next;
    unlock_maps();
    if (last) world_drop_map(m);
}
