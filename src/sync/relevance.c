/* relevance.c - what a client is told when not everything: limit, tiers, budget of bytes.
 *
 * Limit.  Among what is seen and not pinned, the first `limit` in this order are known:
 *
 *     priority, falling                     a known record counts as a tenth nearer than it is, so that ranks do not
 *     distance, rising: known * 9/10        flap; a newcomer that is exactly a tenth nearer takes the room
 *     known before new if both are 0, else new before known; then by id
 *
 * One pass finds the last of the known; newcomers behind it drop out at once, so that nothing is ordered where nothing
 * changes.  Else the first ones are found by Hoare's quickselect, in O(view).
 *
 * Tiers.  A move is told when (tick + phase) is a multiple of the tier's period; the phase is a hash of client and
 * target, so that updates spread over the ticks.  A move that waits as long as the period, because the tier has changed
 * meanwhile, is due, too: a position is never older.
 *
 * Budget.  The most urgent first: priority times ticks since the last update.  That is the priority accumulator of Glenn
 * Fiedler's "State Synchronization" (gafferongames.com, 2015), which adds a priority a tick and is reset when the object
 * is sent, in closed form; Unreal's net prioritisation multiplies priority and time since the last update likewise. */
#include <stdlib.h>

#include "sync/sync.h"

/* ---- distances and ranks ------------------------------------------------------------------------------------------ */

double aoi_client_distance2(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    const double *w = aoi_position_now(y->space, c->entity);
    const double *t = aoi_position_now(y->space, y->tracks[c->tracks[record]].entity);
    double dx = t[0] - w[0], dy = t[1] - w[1], dz = y->space->world.dims == 3 ? t[2] - w[2] : 0;
    return dx * dx + dy * dy + dz * dz;
}

double aoi_urgency(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    return aoi_track_priority(y, c->tracks[record]) * (double)(uint32_t)(y->now - c->told_at[record]);
}

/* Distances are compared as 81 d^2 of known records and 100 d^2 of new ones. */
static aoi_pick pick_of(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    bool known = record < c->told;
    return (aoi_pick){.weight = aoi_track_priority(y, c->tracks[record]),
                      .distance2 = aoi_client_distance2(c, record) * (known ? 81 : 100),
                      .id = y->tracks[c->tracks[record]].id,
                      .record = record,
                      .known = known};
}

static bool pick_before(const aoi_pick *a, const aoi_pick *b) {
    if (a->weight != b->weight) return a->weight > b->weight;
    if (a->distance2 != b->distance2) return a->distance2 < b->distance2;
    if (a->known != b->known) return a->distance2 > 0 ? b->known : a->known;
    return a->id < b->id;
}

static void pick_swap(aoi_pick *a, aoi_pick *b) {
    aoi_pick other = *a;
    *a = *b;
    *b = other;
}

/* The first `most` of n in order come to the front, themselves in no order. */
static void pick_select(aoi_pick *p, uint32_t n, uint32_t most) {
    while (n > 1 && most > 0 && most < n) {
        uint32_t i = 0;
        pick_swap(p + n / 2, p + n - 1);
        for (uint32_t k = 0; k + 1 < n; k++)
            if (pick_before(p + k, p + n - 1)) pick_swap(p + k, p + i++);
        pick_swap(p + i, p + n - 1); /* the pivot: i are before it */
        if (most <= i) n = i;
        else {
            p += i + 1;
            n -= i + 1;
            most -= i + 1;
        }
    }
}

/* ---- limit -------------------------------------------------------------------------------------------------------- */

static bool picks_ready(aoi_sync *y, size_t count) {
    return AOI_GROW(aoi_sync_memory(y), y->picks, y->pick_cap, count);
}

/* Among the picks are the known records, and newcomers that may take their place: cuts and keeps. */
static uint32_t choose_first(aoi_client *c, uint32_t n) {
    aoi_pick *p = c->sync->picks;
    uint32_t kept = 0;
    pick_select(p, n, c->limit);
    for (uint32_t i = 0; i < n; i++) {
        if (i < c->limit && !p[i].known) p[kept++] = p[i];
        else if (i >= c->limit && p[i].known) c->flags[p[i].record] |= AOI_RECORD_CUT;
    }
    return kept;
}

/* Everything untold that stays: without a limit, or what is pinned. */
static uint32_t pick_untold(const aoi_client *c, uint32_t n, bool pinned_only) {
    aoi_sync *y = c->sync;
    for (uint32_t i = c->told; i < c->count; i++) {
        if (pinned_only && !(c->flags[i] & AOI_RECORD_PIN)) continue;
        if (aoi_record_stays(c, i)) y->picks[n++] = (aoi_pick){.record = i};
    }
    return n;
}

uint32_t aoi_choose(aoi_client *c) {
    aoi_sync *y = c->sync;
    uint32_t n = 0, worst = AOI_NONE, known;
    if (!c->limit && c->told == c->count) return 0;
    if (!picks_ready(y, c->count)) return AOI_NONE;
    if (!c->limit) return pick_untold(c, 0, false);
    aoi_pick *p = y->picks;
    for (uint32_t i = 0; i < c->stay; i++) {
        if (c->flags[i] & AOI_RECORD_PIN) continue;
        p[n] = pick_of(c, i);
        if (worst == AOI_NONE || pick_before(p + worst, p + n)) worst = n;
        n++;
    }
    known = n;
    bool room = known < c->limit;
    aoi_pick last = worst == AOI_NONE ? (aoi_pick){0} : p[worst];
    for (uint32_t i = c->told; i < c->count; i++) {
        if (c->flags[i] & AOI_RECORD_PIN || !aoi_record_stays(c, i)) continue;
        p[n] = pick_of(c, i);
        if (room || pick_before(p + n, &last)) n++;
    }
    n = n > known || n > c->limit ? choose_first(c, n) : 0;
    return pick_untold(c, n, true);
}

/* ---- tiers -------------------------------------------------------------------------------------------------------- */

bool aoi_tier_due(const aoi_client *c, uint32_t record) {
    if (!c->tier_count) return true;
    uint32_t now = c->sync->now, i = 0;
    double distance2 = aoi_client_distance2(c, record);
    while (i + 1 < c->tier_count && distance2 > c->tiers[i].distance * c->tiers[i].distance) i++;
    uint32_t every = c->tiers[i].every;
    if (every == 1) return true;
    uint32_t phase = (c->tracks[record] * UINT32_C(0x9E3779B9) + c->number * UINT32_C(0x85EBCA6B)) >> 16;
    return (now + phase) % every == 0 || now - c->since[record] + 1 >= every;
}

/* ---- budget ------------------------------------------------------------------------------------------------------- */

static int pick_compare(const void *a, const void *b) {
    const aoi_pick *p = a, *q = b;
    if (p->weight != q->weight) return p->weight > q->weight ? -1 : 1;
    if (p->distance2 != q->distance2) return p->distance2 < q->distance2 ? -1 : 1;
    return p->id < q->id ? -1 : p->id > q->id;
}

void aoi_order_picks(aoi_sync *y, uint32_t count) {
    qsort(y->picks, count, sizeof *y->picks, pick_compare);
}
