/* The public headers in C++: they compile without a warning, their functions link, handles and options are plain values. */
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "aoi_history.h"
#include "aoi_journal.h"
#include "aoi_sight.h"
#include "aoi_sync.h"

static int failures = 0;
#define EXPECT(condition)                                                                                              \
    ((condition) ? (void)0                                                                                             \
                 : (void)(failures++, std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)))

static void plays_a_game() {
    aoi_space *space = nullptr;
    aoi_options options{};
    EXPECT(aoi_open(&options, &space) == AOI_OK);
    aoi_area area{};
    area.radius = 5;
    area.mask = AOI_ALL_KINDS;
    std::vector<aoi_row> rows;
    std::vector<aoi_entity> entities;
    for (int i = 0; i < 20; i++) rows.push_back({i, {double(i), 0, 0}});
    EXPECT(aoi_enter_many(space, rows.data(), rows.size(), 1, nullptr) == AOI_OK);
    for (const aoi_row &row : rows) entities.push_back(aoi_find(space, row.id));
    EXPECT(!AOI_IS_NULL(entities[3]) && AOI_IS_NULL(aoi_find(space, 99)) && !AOI_EQUALS(entities[3], entities[4]));
    EXPECT(aoi_add_node_many(space, entities.data(), entities.size(), 7, &area, nullptr) == AOI_OK);
    std::vector<aoi_event> events(aoi_pending(space));
    EXPECT(aoi_drain(space, events.data(), events.size()) == 170); /* 10 each, less at both ends */
    for (const aoi_event &e : events) EXPECT(e.kind == AOI_ENTER && std::abs(double(e.watcher - e.target)) <= 5);
    const double nowhere[2] = {std::numeric_limits<double>::quiet_NaN(), 0};
    EXPECT(aoi_move(space, entities[0], nowhere) == AOI_EVALUE);
    const int64_t ids[] = {0, 1, 1};
    std::size_t bad = 0;
    EXPECT(aoi_leave_many(space, ids, 3, &bad) == AOI_EGONE && bad == 2);
    EXPECT(aoi_leave_many(space, ids, 2, nullptr) == AOI_OK && aoi_count(space) == 18);
    EXPECT(aoi_check(space) == nullptr);
    aoi_close(space);
}

int main() {
    EXPECT(!std::strcmp(aoi_version(), AOI_VERSION));
    EXPECT(!std::strcmp(aoi_result_text(AOI_EEXIST), "id is already taken"));
    plays_a_game();
    std::printf("cplusplus: %d failures\n", failures);
    return failures != 0;
}
