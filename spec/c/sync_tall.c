/* The specs of sync.c with a core in which numbers of tracks and clients outgrow the lower half of sync/numbers.h at 8
 * instead of 65,536: pictures, their indexes and lists of knowers change their widths all the time.  And what the check
 * of a space finds in them. */
#define AOI_LOW_BITS 3
#include "aoi.c"

int sync_main(void);
#define add_node fixture_add_node /* the core has one, too */
#define main sync_main
#include "sync.c"
#undef main

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

enum { ROOM = 40 };

static void numbers(void) {
    uint16_t block[2 * ROOM] = {0}, other[2 * ROOM] = {0};
    uint32_t spread[ROOM], is[ROOM];
    for (int round = 0; round < 2000; round++) {
        bool tall = round % 2;
        uint32_t count = random_below(ROOM + 1), most = tall ? 1u << (3 + random_below(16)) : 8;
        aoi_numbers n = aoi_numbers_in(block, ROOM, tall), copy = aoi_numbers_in(other, ROOM, tall || round % 3);
        for (uint32_t i = 0; i < count; i++) aoi_number_put(n, i, is[i] = random_below(most));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t k = random_below(count), number = is[i];
            aoi_numbers_swap(n, i, k);
            is[i] = is[k];
            is[k] = number;
        }
        aoi_numbers_copy(copy, n, count);
        aoi_numbers_spread(copy, count, spread);
        for (uint32_t i = 0; i < count; i++) EXPECT(aoi_number_at(n, i) == is[i] && spread[i] == is[i]);
        for (uint32_t number = 0, i; number < 70; number++) {
            for (i = 0; i < count && is[i] != number;) i++;
            EXPECT(aoi_numbers_find(n, count, number) == i);
        }
    }
}

/* ---- what the check finds ------------------------------------------------------------------------------------------ */

static void damage(void) {
    setup u = {.engine = "grid", .dims = 2};
    aoi_space *s = open_space(&u);
    aoi_sync *y = NULL;
    aoi_message m;
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){0}, &y) == AOI_OK);
    for (int64_t id = 0; id < 400; id++) enter(s, id, (double)(id % 50));
    EXPECT(aoi_sync_add(y, aoi_find(s, 7), &(aoi_area){.radius = INFINITY, .mask = 1}, NULL) == AOI_OK);
    EXPECT(aoi_sync_begin(y) == AOI_OK && aoi_sync_next(y, &m) == AOI_OK && m.bytes && aoi_sync_sent(y));
    aoi_client *c = y->clients[0];
    EXPECT(!aoi_check(s) && c->tall && c->cap > INDEXED_FROM);

    uint32_t place = index_place(c, aoi_record_track(c, 9)), free_place = 0;
    while (aoi_number_at(picture_index(c), free_place)) free_place++;
    aoi_number_put(picture_index(c), place, 9); /* of another record */
    EXPECT(aoi_check(s));
    aoi_number_put(picture_index(c), place, 10);
    aoi_number_put(picture_index(c), free_place, 10);
    EXPECT(aoi_check(s));
    aoi_number_put(picture_index(c), free_place, 0);

    aoi_number_put(aoi_picture_tracks(c), 9, aoi_record_track(c, 9) ^ 8); /* in the upper half */
    EXPECT(aoi_check(s));
    aoi_number_put(aoi_picture_tracks(c), 9, aoi_record_track(c, 9) ^ 8);

    c->flags[9] |= AOI_RECORD_PACKED; /* of a message that was sent */
    EXPECT(aoi_check(s));
    c->flags[9] &= (uint8_t)~AOI_RECORD_PACKED;

    uint32_t *cap = &y->knower_caps[aoi_record_track(c, 0)], was = *cap;
    *cap = 0;
    EXPECT(aoi_check(s));
    *cap = was;
    EXPECT(!aoi_check(s));
    close_space(s);
}

int main(void) {
    random_start("sync_tall");
    RUN(numbers);
    RUN(damage);
    return sync_main() | expect_report("sync_tall");
}
