/* attach.c - passengers: entities whose position is their carrier's plus an offset.
 *
 *   carrier  first -> [ passenger ] -> [ passenger ] ->      a seat for each entity, by slot: its carrier, its offset, the
 *                        | first                             first of its own passengers, and the chain it is in
 *                        v
 *                     [ passenger ] ->                       at most AOI_MOST_CHAIN entities from top to bottom
 *
 * A move of a carrier is a batch of its own row and one row for each entity that it carries (aoi_stage_passengers).  So
 * their pairs are judged together, and a refusal of memory leaves all of them in place.  Seats exist while something is
 * attached: without any the whole mechanism costs one branch a move. */
#include "core/space.h"

static const aoi_seat empty_seat = {.carrier = AOI_NONE, .first = AOI_NONE, .next = AOI_NONE};

static bool seats_ready(aoi_space *s, uint32_t entity) {
    return AOI_GROW_FILLED(&s->world.memory, s->seats, s->seat_cap, entity + (size_t)1, &empty_seat);
}

static aoi_seat seat_of(const aoi_space *s, uint32_t entity) {
    return entity < s->seat_cap ? s->seats[entity] : empty_seat;
}

static void free_seats(aoi_space *s) {
    if (!s->attached) AOI_CLEAR(&s->world.memory, s->seats, s->seat_cap);
}

static void detach_passenger(aoi_space *s, uint32_t passenger) {
    aoi_seat *seat = s->seats + passenger;
    uint32_t *link = &s->seats[seat->carrier].first;
    while (*link != passenger) link = &s->seats[*link].next;
    *link = seat->next;
    seat->carrier = seat->next = AOI_NONE;
    s->attached--;
}

void aoi_unseat(aoi_space *s, uint32_t entity) {
    if (entity >= s->seat_cap) return;
    if (s->seats[entity].carrier != AOI_NONE) detach_passenger(s, entity);
    while (s->seats[entity].first != AOI_NONE) detach_passenger(s, s->seats[entity].first);
    free_seats(s);
}

/* Adds the offset to the carrier's position; false if the sum is not finite. */
static bool carried_to(const aoi_space *s, const double *carrier, const double *offset, double *to) {
    to[2] = 0;
    for (int a = 0; a < s->world.dims; a++) to[a] = carrier[a] + offset[a];
    return aoi_is_place(s, to);
}

int aoi_stage_passengers(aoi_space *s, size_t *n) {
    aoi_world *w = &s->world;
    for (size_t row = 0; row < *n; row++) {
        uint32_t p = seat_of(s, w->movers[w->mover_count + row]).first;
        for (; p != AOI_NONE; p = s->seats[p].next) {
            double to[3];
            if (!carried_to(s, aoi_staged(s, row), s->seats[p].offset, to)) return AOI_EVALUE;
            if (!aoi_stage_ready(s, *n + *n / 8 + 1)) return AOI_ENOMEM;
            w->movers[w->mover_count + *n] = p;
            memcpy(aoi_staged(s, *n), to, (size_t)w->dims * sizeof *to);
            ++*n;
        }
    }
    return AOI_OK;
}

/* Whether all whom the entity carries would be at a finite place. */
static bool passengers_fit(const aoi_space *s, uint32_t carrier, const double *at) {
    double to[3];
    for (uint32_t p = seat_of(s, carrier).first; p != AOI_NONE; p = s->seats[p].next)
        if (!carried_to(s, at, s->seats[p].offset, to) || !passengers_fit(s, p, to)) return false;
    return true;
}

int aoi_move_fault(const aoi_space *s, const aoi_row *row) {
    uint32_t e = aoi_slot_of_id(s, row->id);
    if (e == AOI_NONE) return AOI_EGONE;
    if (!aoi_is_place(s, row->pos)) return AOI_EVALUE;
    if (aoi_is_attached(s, e)) return AOI_EATTACHED;
    return passengers_fit(s, e, row->pos) ? AOI_OK : AOI_EVALUE;
}

int aoi_move_with_passengers(aoi_space *s, uint32_t entity, const double *to) {
    if (!aoi_stage_ready(s, 1)) return AOI_ENOMEM;
    s->world.movers[s->world.mover_count] = entity;
    memcpy(aoi_staged(s, 0), to, (size_t)s->world.dims * sizeof *to);
    return aoi_move_staged(s, 1);
}

/* ---- attaching --------------------------------------------------------------------------------------------------- */

/* The count of entities in the longest chain from this one down; counting stops at one more than `most`. */
static int depth_of(const aoi_space *s, uint32_t entity, int most) {
    int depth = 0;
    for (uint32_t p = seat_of(s, entity).first; p != AOI_NONE && depth <= most; p = s->seats[p].next) {
        int below = depth_of(s, p, most - 1);
        if (below > depth) depth = below;
    }
    return depth + 1;
}

static bool may_attach(const aoi_space *s, uint32_t entity, uint32_t carrier) {
    int length = depth_of(s, entity, AOI_MOST_CHAIN);
    for (uint32_t c = carrier; c != AOI_NONE; c = seat_of(s, c).carrier, length++)
        if (c == entity) return false;
    return length <= AOI_MOST_CHAIN;
}

static void seat_on(aoi_space *s, uint32_t entity, uint32_t carrier, const double *offset) {
    aoi_seat *seat = s->seats + entity;
    if (seat->carrier != AOI_NONE) detach_passenger(s, entity);
    memcpy(seat->offset, offset, (size_t)s->world.dims * sizeof *offset);
    seat->carrier = carrier;
    seat->next = s->seats[carrier].first;
    s->seats[carrier].first = entity;
    s->attached++;
}

int aoi_restore_seat(aoi_space *s, uint32_t entity, uint32_t carrier, const double *offset) {
    const aoi_entity_record *e = s->world.entities;
    double to[3];
    if (!aoi_is_place(s, offset) || !carried_to(s, e[carrier].pos, offset, to)) return AOI_EVALUE;
    if (!aoi_same_place(s->world.dims, to, e[entity].pos)) return AOI_EVALUE;
    if (!may_attach(s, entity, carrier)) return AOI_ECHAIN;
    if (!seats_ready(s, entity > carrier ? entity : carrier)) return AOI_ENOMEM;
    seat_on(s, entity, carrier, offset);
    return AOI_OK;
}

static int attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset) {
    uint32_t e = aoi_entity_slot(s, passenger), c = aoi_entity_slot(s, carrier);
    double to[3];
    if (e == AOI_NONE || (c == AOI_NONE && !AOI_IS_NULL(carrier))) return AOI_EGONE;
    if (c == AOI_NONE) {
        if (seat_of(s, e).carrier != AOI_NONE) detach_passenger(s, e);
        free_seats(s);
        return AOI_OK;
    }
    if (!aoi_is_place(s, offset) || !carried_to(s, aoi_position_now(s, c), offset, to)) return AOI_EVALUE;
    if (!may_attach(s, e, c)) return AOI_ECHAIN;
    if (!seats_ready(s, e > c ? e : c)) return AOI_ENOMEM;
    int result = aoi_move_with_passengers(s, e, to);
    if (result == AOI_OK) seat_on(s, e, c, offset);
    else free_seats(s);
    return result;
}

int aoi_attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ATTACH, attach(s, passenger, carrier, offset), .entity = passenger,
                                     .target = carrier, .values = offset});
}

int aoi_set_layers_with_passengers(aoi_space *s, aoi_entity carrier, uint64_t layers) {
    int result = aoi_set_layers(s, carrier, layers);
    uint32_t p = result == AOI_OK ? seat_of(s, carrier.index).first : AOI_NONE;
    for (; p != AOI_NONE && result == AOI_OK; p = s->seats[p].next)
        result = aoi_set_layers_with_passengers(s, (aoi_entity){p, s->world.entities[p].generation}, layers);
    return result;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool aoi_carrier(const aoi_space *s, aoi_entity passenger, aoi_entity *carrier, double *offset) {
    uint32_t e = aoi_entity_slot(s, passenger);
    aoi_seat seat = e == AOI_NONE ? empty_seat : seat_of(s, e);
    if (seat.carrier == AOI_NONE) return false;
    *carrier = (aoi_entity){seat.carrier, s->world.entities[seat.carrier].generation};
    for (int a = 0; a < s->world.dims && offset; a++) offset[a] = seat.offset[a];
    return true;
}

int aoi_passengers(aoi_space *s, aoi_entity carrier, const int64_t **ids, size_t *count) {
    uint32_t e = aoi_entity_slot(s, carrier);
    size_t all = 0;
    if (e == AOI_NONE) return AOI_EGONE;
    for (uint32_t p = seat_of(s, e).first; p != AOI_NONE; p = s->seats[p].next) all++;
    if (!aoi_answer_ready(s, all, false)) return AOI_ENOMEM;
    for (uint32_t p = seat_of(s, e).first; p != AOI_NONE; p = s->seats[p].next)
        s->ids_out[s->answer_count++] = s->world.entities[p].id;
    return aoi_give(s, ids, count);
}

/* ---- the invariants ---------------------------------------------------------------------------------------------- */

const char *aoi_check_seats(const aoi_space *s) {
    const aoi_world *w = &s->world;
    uint32_t attached = 0, chained = 0;
    double to[3];
    for (uint32_t e = 0; e < s->seat_cap; e++) {
        const aoi_seat *seat = s->seats + e;
        bool live = e < w->entity_top && aoi_is_live(w->entities[e].generation);
        if (!live && (seat->carrier != AOI_NONE || seat->first != AOI_NONE))
            return "an entity that is gone is attached";
        for (uint32_t p = seat->first; p != AOI_NONE; p = s->seats[p].next) {
            if (s->seats[p].carrier != e || ++chained > s->attached) return "a chain of passengers is broken";
        }
        if (seat->carrier == AOI_NONE) continue;
        attached++;
        if (depth_of(s, e, AOI_MOST_CHAIN) > AOI_MOST_CHAIN) return "a chain of carriers is too long";
        if (!carried_to(s, w->entities[seat->carrier].pos, seat->offset, to) ||
            !aoi_same_place(w->dims, to, w->entities[e].pos))
            return "a passenger is not where its carrier is";
    }
    return attached == s->attached && chained == attached ? NULL : "passengers are counted wrongly";
}
