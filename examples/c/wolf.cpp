// wolf.cpp - the README's first example in C++: a wolf with an area of 10 around it, and Ann who passes by.
// The header declares C functions; a unique_ptr owns the space.
//
//   c++ wolf.cpp $(pkg-config --cflags --libs aoi) -o wolf
#include <aoi.h>
#include <iostream>
#include <memory>
#include <stdexcept>

static const int64_t WOLF = 1, ANN = 2, AGGRO = 1;

static void must(int code) {
    if (code != AOI_OK) throw std::runtime_error("aoi: error " + std::to_string(code));
}

static void tell(aoi_space *space) {
    aoi_event event;
    while (aoi_next(space, &event))
        std::cout << event.target << (event.kind == AOI_ENTER ? " came near " : " went away from ") << event.watcher << "\n";
}

int main() {
    aoi_options options = {};
    aoi_space *opened = nullptr;
    must(aoi_open(&options, &opened));
    std::unique_ptr<aoi_space, void (*)(aoi_space *)> space(opened, aoi_close);

    aoi_area area = {};
    area.radius = 10;
    area.mask = AOI_ALL_KINDS;
    const double den[] = {0, 0}, far[] = {30, 0}, near[] = {8, 5}, off[] = {8, 11};
    aoi_entity wolf, ann;
    must(aoi_enter(space.get(), WOLF, den, 1, &wolf));
    must(aoi_add_node(space.get(), wolf, AGGRO, &area, nullptr));
    must(aoi_enter(space.get(), ANN, far, 1, &ann));
    must(aoi_move(space.get(), ann, near));
    tell(space.get());
    must(aoi_move(space.get(), ann, off));
    tell(space.get());
    must(aoi_leave(space.get(), ann));
}
