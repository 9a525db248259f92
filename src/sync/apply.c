/* apply.c - the changes that a sent message makes to a client: nothing can fail.  Packing (tick.c) has marked the records
 * that it contains: PACKED, CUT, PLACED. */
#include "sync/sync.h"

/* Forgets the known records that were sent as gone; from the last one on, as others take their places. */
static void apply_gone(aoi_client *c, bool *left) {
    for (uint32_t i = c->known; i-- > c->sync->stay;) {
        if (!(c->flags[i] & AOI_RECORD_PACKED)) {
            *left = true;
            continue;
        }
        aoi_picture_forget(c, i);
        aoi_record_starts(c, c->known);
    }
}

/* Makes the records that were sent as appeared known, and drops unknown ones that do not stay. */
static void apply_appeared(aoi_client *c, bool *left) {
    for (uint32_t i = c->known, n = c->count; (i = aoi_next_flagged(c->flags, i, n, AOI_RECORD_PACKED, false)) < n;) {
        aoi_record_starts(c, i);
        c->flags[i] &= (uint8_t)~AOI_RECORD_PACKED;
        aoi_picture_know(c, i++);
    }
    for (uint32_t i = c->known; c->unseen && (i = aoi_next_unseen(c->flags, i, c->count)) < c->count;) {
        if (aoi_record_stays(c, i)) i++;
        else aoi_picture_drop(c, i);
    }
    *left |= !c->limit && !c->told && c->known < c->count;
}

/* Clamps waiting times to the longest period, because they wrap. */
static void stop_times(uint8_t *since, uint32_t n, uint8_t units) {
    for (uint32_t i = 0; i < n; i++) {
        uint8_t waited = (uint8_t)(units - since[i]);
        since[i] = (uint8_t)(units - (waited < AOI_MOST_UNITS ? waited : AOI_MOST_UNITS - 1));
    }
}

/* Clears the flags of news that were sent, by eights.  Packed records follow no pattern: no branch depends on them. */
static void apply_updates(aoi_client *c) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint32_t now = c->sync->now, stay = c->sync->stay;
    uint32_t *sent_at = c->sent_at;
    const uint32_t halved = c->sent_at ? c->sync->halved : AOI_NONE,
                   halved_at = halved != AOI_NONE ? sent_at[halved] : 0;
    uint64_t waits = 0;
    for (uint32_t i = 0; i < stay && c->sent_at; i++) sent_at[i] = c->flags[i] & AOI_RECORD_PLACED ? now : sent_at[i];
    if (halved != AOI_NONE) sent_at[halved] = halved_at; /* its state is as urgent as before */
    for (uint32_t i = 0; i < stay; i += sizeof waits) {
        uint64_t eight, mine = stay - i < 8 ? ~aoi_flags_from(stay - i) : ~UINT64_C(0);
        memcpy(&eight, c->flags + i, sizeof eight);
        uint64_t placed = eight & ones * AOI_RECORD_PLACED & mine, packed = eight & ones * AOI_RECORD_PACKED & mine;
        eight &= ~(placed | packed | placed / (AOI_RECORD_PLACED / AOI_RECORD_WAITS) |
                   packed / (AOI_RECORD_PACKED / AOI_RECORD_TOUCH));
        memcpy(c->flags + i, &eight, sizeof eight);
        waits |= eight & mine;
    }
    c->backlog |= (waits & ones * (AOI_RECORD_WAITS | AOI_RECORD_TOUCH)) != 0;
    if (c->tiers) stop_times(c->since, c->known, aoi_units_of(c->tiers, now));
}

/* Copies SEEN to SAW and clears the marks, by eights. */
static void settle_flags(uint8_t *flags, uint32_t n) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t past = ones * (AOI_RECORD_MARKS | AOI_RECORD_SAW);
    for (uint32_t i = 0; i < n; i += sizeof ones) { /* there is room */
        uint64_t eight;
        memcpy(&eight, flags + i, sizeof eight);
        eight = (eight & ~past) | (eight & ones * AOI_RECORD_SEEN) * AOI_RECORD_SAW;
        memcpy(flags + i, &eight, sizeof eight);
    }
}

void aoi_apply(aoi_client *c) {
    aoi_sync *y = c->sync;
    bool left = y->writer.full && c->changed;
    for (uint32_t i = 0; c->told && i < y->stay; i++)
        if (y->tracks[c->tracks[i]].flags & AOI_TRACK_RIDER && (!c->timed || c->flags[i] & AOI_RECORD_PLACED))
            aoi_seat_told(c, i);
    if (c->timed) apply_updates(c);
    if (c->lacks) aoi_apply_state(c);
    for (uint32_t k = 0; !c->timed && c->holds && k < y->stated_count; k++)
        aoi_record_holds(c, aoi_picture_find(c, y->stated[k]));
    if (c->changed) {
        apply_gone(c, &left);
        apply_appeared(c, &left);
        settle_flags(c->flags, c->count);
        if (c->sees) memcpy(c->saw, c->sees, c->count);
        y->overflows -= c->overflow;
        c->overflow = (c->limit || c->told) && c->known < c->count;
        y->overflows += c->overflow;
        aoi_picture_shrink(c);
    }
    c->changed = left;
    c->marked = c->anew = c->own_news = c->new_team = false;
    c->synced = y->now;
    aoi_client_unqueue(c);
    if (left || c->backlog) aoi_client_queue(c, y->now + 1);
    y->packed = NULL;
}
