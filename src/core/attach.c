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
    return AOI_GROW_FILLED(&s->records.memory, s->seats, s->seat_cap, entity + (size_t)1, &empty_seat);
}

static aoi_seat seat_of(const aoi_space *s, uint32_t entity) {
    return entity < s->seat_cap ? s->seats[entity] : empty_seat;
}

static void free_seats(aoi_space *s) {
    if (!s->attached) AOI_CLEAR(&s->records.memory, s->seats, s->seat_cap);
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
    while (s->seats[entity].first != AOI_NONE) {
        const uint32_t passenger = s->seats[entity].first;
        detach_passenger(s, passenger);
        aoi_plugins_seated(s->plugins, passenger);
    }
    free_seats(s);
}

/* Adds the offset to the carrier's position; false if the sum is not finite. */
static bool carried_to(const aoi_space *s, const double *carrier, const double *offset, double *to) {
    to[2] = 0;
    for (int a = 0; a < s->records.dims; a++) to[a] = carrier[a] + offset[a];
    return aoi_is_place(s, to);
}

int aoi_stage_passengers(aoi_space *s, size_t *n) {
    aoi_records *r = &s->records;
    for (size_t row = 0; row < *n; row++) {
        uint32_t p = seat_of(s, r->movers[r->mover_count + row]).first;
        for (; p != AOI_NONE; p = s->seats[p].next) {
            double to[3];
            if (!carried_to(s, aoi_staged(s, row), s->seats[p].offset, to)) return AOI_EVALUE;
            if (!aoi_stage_ready(s, *n + *n / 8 + 1)) return AOI_ENOMEM;
            r->movers[r->mover_count + *n] = p;
            memcpy(aoi_staged(s, *n), to, (size_t)r->dims * sizeof *to);
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
    s->records.movers[s->records.mover_count] = entity;
    memcpy(aoi_staged(s, 0), to, (size_t)s->records.dims * sizeof *to);
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
    memcpy(seat->offset, offset, (size_t)s->records.dims * sizeof *offset);
    seat->carrier = carrier;
    seat->next = s->seats[carrier].first;
    s->seats[carrier].first = entity;
    s->attached++;
}

static int attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset) {
    uint32_t e = aoi_entity_slot(s, passenger), c = aoi_entity_slot(s, carrier);
    double to[3];
    if (e == AOI_NONE || (c == AOI_NONE && !AOI_IS_NULL(carrier))) return AOI_EGONE;
    if (c == AOI_NONE) {
        if (seat_of(s, e).carrier == AOI_NONE) return AOI_OK;
        detach_passenger(s, e);
        aoi_plugins_seated(s->plugins, e);
        free_seats(s);
        return AOI_OK;
    }
    if (!offset || !aoi_is_place(s, offset) || !carried_to(s, aoi_position_now(s, c), offset, to)) return AOI_EVALUE;
    if (!may_attach(s, e, c)) return AOI_ECHAIN;
    if (!seats_ready(s, e > c ? e : c)) return AOI_ENOMEM;
    int result = aoi_move_with_passengers(s, e, to);
    if (result == AOI_OK) seat_on(s, e, c, offset);
    else free_seats(s);
    if (result == AOI_OK) aoi_plugins_seated(s->plugins, e);
    return result;
}

int aoi_attach(aoi_space *s, aoi_entity passenger, aoi_entity carrier, const double *offset) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_ATTACH, attach(s, passenger, carrier, offset), .entity = passenger,
                                     .target = carrier, .values = offset});
}

/* Lists an entity and all that it carries in s->ranked, carriers first; returns their number, 0 when memory is refused. */
size_t aoi_list_carried(aoi_space *s, uint32_t entity) {
    aoi_memory *m = &s->records.memory;
    size_t n = 1;
    if (!AOI_GROW(m, s->ranked, s->ranked_cap, n)) return 0;
    s->ranked[0].id = entity;
    for (size_t i = 0; i < n; i++)
        for (uint32_t p = seat_of(s, (uint32_t)s->ranked[i].id).first; p != AOI_NONE; p = s->seats[p].next) {
            if (!AOI_GROW(m, s->ranked, s->ranked_cap, n + 1)) return 0;
            s->ranked[n++].id = p;
        }
    return n;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

bool aoi_carrier(const aoi_space *s, aoi_entity passenger, aoi_entity *carrier, double *offset) {
    uint32_t e = aoi_entity_slot(s, passenger);
    aoi_seat seat = e == AOI_NONE ? empty_seat : seat_of(s, e);
    if (seat.carrier == AOI_NONE) return false;
    *carrier = (aoi_entity){seat.carrier, s->records.entities[seat.carrier].generation};
    for (int a = 0; a < s->records.dims && offset; a++) offset[a] = seat.offset[a];
    return true;
}

int aoi_passengers(aoi_space *s, aoi_entity carrier, const int64_t **ids, size_t *count) {
    uint32_t e = aoi_entity_slot(s, carrier);
    size_t all = 0;
    if (e == AOI_NONE) return AOI_EGONE;
    for (uint32_t p = seat_of(s, e).first; p != AOI_NONE; p = s->seats[p].next) all++;
    if (!aoi_answer_ready(s, all, false)) return AOI_ENOMEM;
    for (uint32_t p = seat_of(s, e).first; p != AOI_NONE; p = s->seats[p].next)
        s->ids_out[s->answer_count++] = s->records.entities[p].id;
    return aoi_give(s, ids, count);
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

const char *aoi_check_seats(const aoi_space *s) {
    const aoi_records *r = &s->records;
    double to[3];
    for (uint32_t e = 0; e < s->seat_cap; e++) {
        const aoi_seat *seat = s->seats + e;
        if (seat->carrier == AOI_NONE) continue;
        if (!aoi_is_live(r->entities[e].generation) || !aoi_is_live(r->entities[seat->carrier].generation))
            return "an entity that is gone is attached";
        if (!carried_to(s, r->entities[seat->carrier].pos, seat->offset, to) ||
            !aoi_same_place(r->dims, to, r->entities[e].pos))
            return "a passenger is not where its carrier is";
    }
    return NULL;
}
