/* riders.c - passengers of synchronisers with `riders`: they are known only while their carriers are.
 *
 *   told     [ | | | ]    by record: the track of the carrier that the client has been told; AOI_NONE: none
 *
 *   packing  known riders whose carriers do not stay are gone -> choice among the others -> riders of those cut are cut
 *            gone, riders before their carriers -> appeared -> riders of what is known now, level by level -> updates
 *
 * At any time each carrier that a client has been told is known to it, or is its own entity.  With a budget a carrier
 * therefore goes only after all that rode on it has gone, or its letting go has been sent. */
#include "sync/sync.h"

uint32_t aoi_find_carrier(const aoi_sync *y, uint32_t track) {
    const aoi_space *s = y->space;
    const aoi_track *t = y->tracks + track;
    if (!(t->flags & AOI_TRACK_RIDER) || t->flags & AOI_TRACK_DEAD || t->entity >= s->seat_cap) return AOI_NONE;
    const uint32_t carrier = s->seats[t->entity].carrier;
    if (carrier == AOI_NONE || !s->records.entities[carrier].id) return AOI_NONE;
    const uint32_t found = aoi_track_of(y, carrier);
    return found == AOI_NONE ? AOI_NOBODY : found;
}

const double *aoi_rider_offset(const aoi_sync *y, uint32_t entity) {
    const aoi_space *s = y->space;
    const bool rides = entity < s->seat_cap && s->seats[entity].carrier != AOI_NONE &&
                       s->records.entities[s->seats[entity].carrier].id;
    return rides ? s->seats[entity].offset : NULL;
}

void aoi_tracks_seated(aoi_plugin *plugin, uint32_t entity) {
    aoi_sync *y = (aoi_sync *)plugin;
    const uint32_t t = y->riders ? aoi_track_of(y, entity) : AOI_NONE;
    if (t == AOI_NONE) return;
    if (!(y->tracks[t].flags & AOI_TRACK_FRESH)) (void)aoi_track_relocate(y, t);
    y->tracks[t].moved = y->odd = y->reseated = y->now + 1; /* the next tick */
    y->changes++;
    aoi_track_list(y, t);
}

/* The record of a carrier, from aoi_carrier_track. */
static uint32_t carrier_record(const aoi_client *c, uint32_t carrier) {
    return carrier == AOI_NOBODY ? AOI_NONE : aoi_picture_find(c, carrier);
}

bool aoi_carriers_stay(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    for (uint32_t k = c->tracks[record]; (k = aoi_carrier_track(y, k)) != AOI_NONE && k != c->track;) {
        const uint32_t r = carrier_record(c, k);
        if (r == AOI_NONE || !aoi_record_stays(c, r)) return false;
    }
    return true;
}

/* Whether the client knows the carrier of the record, if it has one, when it has read the message so far: `packed`, or
 * all of it. */
static bool is_carrier_known(const aoi_client *c, uint32_t record, bool packed) {
    const uint32_t k = aoi_carrier_track(c->sync, c->tracks[record]);
    if (k == AOI_NONE || k == c->track) return true;
    const uint32_t r = carrier_record(c, k);
    if (r == AOI_NONE || r < c->known) return r < c->sync->stay;
    return c->flags[r] & AOI_RECORD_PACKED || !packed;
}

bool aoi_is_carrier_told(const aoi_client *c, uint32_t record) {
    return is_carrier_known(c, record, c->bytes);
}

bool aoi_find_named(const aoi_client *c, uint32_t record, int64_t *carrier) {
    const aoi_sync *y = c->sync;
    if (!(y->tracks[c->tracks[record]].flags & AOI_TRACK_RIDER)) return false;
    const uint32_t k = aoi_carrier_track(y, c->tracks[record]);
    *carrier = k < AOI_NOBODY ? y->tracks[k].id : 0;
    return k < AOI_NOBODY || c->told[record] != AOI_NONE;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Cuts known riders whose carriers a limit cuts, or leaves out; the n picks are to be known. */
void aoi_cut_riders(aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    for (uint32_t k = 0; k < n; k++) c->flags[y->picks[k].record] |= AOI_RECORD_PLACED;
    for (uint32_t i = 0; i < y->stay; i++) {
        uint32_t top = AOI_NONE, k = c->tracks[i];
        while ((k = aoi_carrier_track(y, k)) != AOI_NONE && k != c->track) top = k;
        if (top == AOI_NONE || k == c->track) continue;
        const uint32_t r = carrier_record(c, top), needed = r < c->known ? AOI_RECORD_CUT : AOI_RECORD_PLACED;
        if (!(c->flags[r] & needed) == (needed == AOI_RECORD_PLACED)) c->flags[i] |= AOI_RECORD_CUT;
    }
}

uint32_t aoi_pick_riders(const aoi_client *c) {
    aoi_sync *y = c->sync;
    uint32_t n = 0;
    for (uint32_t i = c->known; i < c->count && !y->writer.full; i++)
        if (!(c->flags[i] & AOI_RECORD_PACKED) && aoi_record_stays(c, i) &&
            aoi_carrier_track(y, c->tracks[i]) != AOI_NONE && is_carrier_known(c, i, true))
            y->picks[n++] = (aoi_pick){.record = i};
    return n;
}
