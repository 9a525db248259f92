/* relevance.c - selects what a client is sent: limit, tiers, budget of bytes.
 *
 * Limit.  Of the seen records that are not pinned, the first `limit` in this order are known:
 *
 *     priority, falling                     a known record counts as a tenth nearer than it is, so that ranks do not
 *     distance, rising: known * 9/10        flap; a new record that is exactly a tenth nearer replaces it
 *     known before new if both are 0, else new before known; then by id
 *
 * Mostly nothing changes, which single precision proves: the last known record, made nearer by a tenth and by twice the
 * error of the figures, is nearer than all others.  Else the records in doubt, a few on both sides, are ranked exactly,
 * and the first of them found by Hoare's quickselect.
 *
 * Tiers.  A move is sent when (tick + phase) is a multiple of the tier's period; the phase is a hash of client and
 * target, so that updates spread over the ticks.  A move that has waited for the period, because the tier has changed
 * meanwhile, is due, too: no position is older than the period.
 *
 * Budget.  The most urgent first: priority times ticks since the last update.  That is the priority accumulator of
 * Glenn Fiedler's "State Synchronization" (gafferongames.com, 2015), which adds a priority a tick and is reset when the
 * object is sent, in closed form; Unreal's net prioritisation multiplies priority and time since an update likewise. */
#include <stdlib.h>

#include "sync/sync.h"

/* ---- distances and ranks ----------------------------------------------------------------------------------------- */

double aoi_client_distance2(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    const double *w = aoi_position_now(y->space, aoi_client_entity(c));
    const double *t = aoi_position_now(y->space, y->tracks[c->tracks[record]].entity);
    double square = 0;
    for (int a = 0; a < y->space->records.dims; a++) square += (t[a] - w[a]) * (t[a] - w[a]);
    return square;
}

double aoi_urgency(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    double priority = fmin(aoi_priority_for(c, c->tracks[record]), 0x1p990); /* the product is finite */
    return priority * (double)(uint32_t)(y->now - c->sent_at[record]);
}

/* Distances are compared as 81 d^2 of known records and 100 d^2 of new ones. */
static aoi_pick pick_of(const aoi_client *c, uint32_t record) {
    const aoi_sync *y = c->sync;
    bool known = record < c->known;
    return (aoi_pick){.weight = aoi_priority_for(c, c->tracks[record]),
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

/* Defines name(p, n, most), Hoare's quickselect, which moves the first `most` of n to the front, in no order, as
 * before(a, b) says.  No branch depends on how two compare. */
#define DEFINE_SELECT(name, type, before)                                                                              \
    static void name(type *p, uint32_t n, uint32_t most) {                                                             \
        while (n > 1 && most > 0 && most < n) {                                                                        \
            const type pivot = p[n / 2];                                                                               \
            uint32_t i = 0; /* so many are before the pivot */                                                         \
            p[n / 2] = p[n - 1];                                                                                       \
            for (uint32_t k = 0; k + 1 < n; k++) {                                                                     \
                const type each = p[k];                                                                                \
                p[k] = p[i];                                                                                           \
                p[i] = each;                                                                                           \
                i += before(&each, &pivot);                                                                            \
            }                                                                                                          \
            p[n - 1] = p[i];                                                                                           \
            p[i] = pivot;                                                                                              \
            if (most > i) p += i + 1, n -= i + 1, most -= i + 1;                                                       \
            else n = i;                                                                                                \
        }                                                                                                              \
    }

DEFINE_SELECT(select_known, aoi_pick, pick_before)

/* ---- in single precision ----------------------------------------------------------------------------------------- */

/* A single precision number that is certainly above, or below, the square of a distance. */
static float square_above(double distance) {
    return distance < 0 ? 0 : (float)(distance * distance * (1 + 0x1p-20));
}

static float square_below(double distance) {
    return distance < 0 ? 0 : (float)(distance * distance * (1 - 0x1p-20));
}

/* An error bound, with room to spare: three coordinates are rounded twice, each by at most 2^-24 of the largest, and
 * squares below 2^-149 become 0. */
static void scope_open(const aoi_client *c, aoi_scope *scope) {
    const aoi_sync *y = c->sync;
    const double *p = aoi_position_now(y->space, aoi_client_entity(c));
    double z = y->space->records.dims == 3 ? p[2] : 0;
    scope->at = (aoi_spot){(float)p[0], (float)p[1]};
    scope->height = (float)z;
    scope->error = fmax(y->far, fmax(fabs(p[0]), fmax(fabs(p[1]), fabs(z)))) * 0x1p-21 + 0x1p-70;
    for (uint32_t i = 0; i + 1 < aoi_tier_count(c); i++) {
        scope->inside[i] = square_below(c->tiers->as_set[i].distance - scope->error);
        scope->outside[i] = square_above(c->tiers->as_set[i].distance + scope->error);
    }
}

bool aoi_measure(aoi_client *c, uint32_t n, aoi_scope *scope) {
    aoi_sync *y = c->sync;
    if (!AOI_GROW(aoi_sync_memory(y), y->near2, y->near_cap, n + (size_t)AOI_LANE)) return false;
    scope_open(c, scope);
    aoi_lanes_distances2(&y->spots->x, c->tracks, n, scope->at.x, scope->at.y, y->near2);
    for (uint32_t i = 0; i < n && y->heights; i++) {
        float dz = y->heights[c->tracks[i]] - scope->height;
        y->near2[i] += dz * dz;
    }
    for (uint32_t i = n; i < n + AOI_LANE; i++) y->near2[i] = 0; /* whole lanes are read */
    return true;
}

/* ---- limit ------------------------------------------------------------------------------------------------------- */

/* The first index in i..n-1 whose number is not between low and high, or n.  Reads whole lanes. */
static uint32_t next_outside(const float *numbers, uint32_t i, uint32_t n, float low, float high) {
    for (; i < n; i += AOI_LANE) {
        unsigned outside = ~aoi_lanes_plain(numbers + i, low, high) & ((1u << AOI_LANE) - 1);
        if (!outside) continue;
        i += (uint32_t)aoi_lanes_first(outside);
        return i < n ? i : n;
    }
    return n;
}

/* An upper bound of the distance of the farthest known record that is not pinned, and their number. */
static double last_distance(const aoi_client *c, const aoi_scope *scope, uint32_t *count) {
    const uint8_t *flags = c->flags;
    float last = 0;
    *count = 0;
    for (uint32_t i = 0, end; i < c->sync->stay; i = end + 1) {
        end = aoi_next_flagged(flags, i, c->sync->stay, AOI_RECORD_PIN, false);
        last = aoi_lanes_most(last, aoi_lanes_greatest(c->sync->near2 + i, end - i));
        *count += end - i;
    }
    return sqrt((double)last) + scope->error;
}

/* Adds new records that may be before a known one at `last` to the picks.  Returns a lower bound of their distances. */
static double pick_newcomers(const aoi_client *c, const aoi_scope *scope, double last, uint32_t *n) {
    aoi_sync *y = c->sync;
    const float beyond = nextafterf(square_above(0.9 * last + scope->error), INFINITY);
    float nearest = INFINITY;
    for (uint32_t i = c->known; (i = next_outside(y->near2, i, c->count, beyond, FLT_MAX)) < c->count; i++) {
        if (c->flags[i] & AOI_RECORD_PIN || !aoi_record_stays(c, i)) continue;
        y->picks[(*n)++] = pick_of(c, i);
        nearest = y->near2[i] > FLT_MAX ? 0 : aoi_lanes_least(nearest, y->near2[i]);
    }
    return sqrt((double)nearest) - scope->error;
}

/* Adds known records that may be behind new ones at that distance to the picks. */
static void pick_known(const aoi_client *c, const aoi_scope *scope, double nearest, uint32_t *n) {
    aoi_sync *y = c->sync;
    const float safe = nextafterf(square_below(nearest / 0.9 - scope->error), -1);
    for (uint32_t i = 0; (i = next_outside(y->near2, i, c->sync->stay, 0, safe)) < c->sync->stay; i++)
        if (!(c->flags[i] & AOI_RECORD_PIN)) y->picks[(*n)++] = pick_of(c, i);
}

/* Of n picks the first `most` are to be known: marks the other known ones CUT, returns the number of new ones. */
static uint32_t choose_first(aoi_client *c, aoi_pick *p, uint32_t n, uint32_t most) {
    uint32_t kept = 0;
    select_known(p, n, most);
    for (uint32_t i = 0; i < n; i++) {
        if (i < most && !p[i].known) p[kept++] = p[i];
        else if (i >= most && p[i].known) c->flags[p[i].record] |= AOI_RECORD_CUT;
    }
    return kept;
}

static uint32_t choose_within_limit(aoi_client *c, const aoi_scope *scope) {
    uint32_t known, n = 0;
    double last = last_distance(c, scope, &known);
    bool full = known >= c->limit;
    double nearest = pick_newcomers(c, scope, full ? last : INFINITY, &n);
    if (!n && known <= c->limit) return 0;
    uint32_t newcomers = n;
    pick_known(c, scope, known <= c->limit ? nearest : -1, &n);
    return choose_first(c, c->sync->picks, n, c->limit - (known - (n - newcomers)));
}

uint32_t aoi_limit_of(const aoi_client *c, uint32_t track) {
    const uint64_t kind = aoi_kind_of(c->sync->space, c->sync->tracks[track].entity);
    uint32_t k = 0;
    while (k < c->limit_count && !(c->limits[k].kinds & kind)) k++;
    return k;
}

/* By kind, or with riders, which count with their carriers: the records are ranked exactly. */
static uint32_t choose_by_kind(aoi_client *c) {
    aoi_sync *y = c->sync;
    uint32_t kept = 0;
    for (uint32_t k = 0; k <= c->limit_count; k++) {
        const uint32_t limit = !c->limits                                 ? c->limit
                               : k < c->limit_count && c->limits[k].limit ? c->limits[k].limit
                                                                          : UINT32_MAX;
        uint32_t n = 0;
        for (uint32_t i = 0; i < c->count; i++) {
            const bool stays = i < y->stay || (i >= c->known && aoi_record_stays(c, i));
            if (stays && aoi_carrier_track(y, c->tracks[i]) == AOI_NONE && !(c->flags[i] & AOI_RECORD_PIN) &&
                aoi_limit_of(c, c->tracks[i]) == k)
                y->picks[kept + n++] = pick_of(c, i);
        }
        kept += choose_first(c, y->picks + kept, n, limit);
    }
    return kept;
}

/* Adds the unknown records that stay, with a limit only pinned ones. */
static uint32_t pick_unknown(const aoi_client *c, uint32_t n) {
    aoi_sync *y = c->sync;
    const uint8_t flag = c->limit ? AOI_RECORD_PIN : AOI_RECORD_PIN | AOI_RECORD_SEEN;
    const bool riders = c->told;
    for (uint32_t i = c->known; (i = aoi_next_flagged(c->flags, i, c->count, flag, false)) < c->count; i++)
        if (aoi_record_stays(c, i) && (!riders || aoi_find_carrier(y, c->tracks[i]) == AOI_NONE))
            y->picks[n++] = (aoi_pick){.record = i};
    return n;
}

uint32_t aoi_choose(aoi_client *c, const aoi_scope *scope) {
    if (!c->limit && c->known == c->count) return 0;
    if (!AOI_GROW(aoi_sync_memory(c->sync), c->sync->picks, c->sync->pick_cap, c->count)) return AOI_NONE;
    const bool exact = c->limits || (c->limit && c->told);
    const uint32_t n = pick_unknown(c, exact ? choose_by_kind(c) : c->limit ? choose_within_limit(c, scope) : 0);
    if (exact && c->told) aoi_cut_riders(c, n);
    return n;
}

/* ---- tiers ------------------------------------------------------------------------------------------------------- */

static uint32_t exact_tier(const aoi_client *c, uint32_t record) {
    const aoi_tier *tiers = c->tiers->as_set;
    const double distance2 = aoi_client_distance2(c, record);
    const uint32_t count = aoi_tier_count(c);
    const uint64_t kind = aoi_kind_of(c->sync->space, c->sync->tracks[c->tracks[record]].entity);
    uint32_t tier = 0;
    while (tier < count && tiers[tier].kinds && !(tiers[tier].kinds & kind)) tier++;
    const uint64_t kinds = tier < count ? tiers[tier].kinds : 0;
    while (tier + 1 < count && tiers[tier + 1].kinds == kinds &&
           distance2 > tiers[tier].distance * tiers[tier].distance)
        tier++;
    return tier;
}

static bool is_tier_in_doubt(const aoi_client *c, const aoi_scope *scope, float near2) {
    bool doubt = !(near2 <= FLT_MAX);
    for (uint32_t k = 0; k + 1 < aoi_tier_count(c); k++)
        doubt |= near2 >= scope->inside[k] && near2 <= scope->outside[k];
    return doubt;
}

bool aoi_find_tiers(const aoi_client *c, const aoi_scope *scope, uint32_t n) {
    aoi_sync *y = c->sync;
    if (!AOI_GROW(aoi_sync_memory(y), y->tier_of, y->tier_cap, n + (size_t)AOI_LANE)) return false;
    const bool by_kind = c->tiers->as_set[0].kinds;
    for (uint32_t i = 0; i < n && by_kind; i++) y->tier_of[i] = exact_tier(c, i);
    if (by_kind || !aoi_lanes_steps(y->near2, n, scope->inside, scope->outside, aoi_tier_count(c) - 1, y->tier_of))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (is_tier_in_doubt(c, scope, y->near2[i])) y->tier_of[i] = exact_tier(c, i);
    return true;
}

/* ---- budget ------------------------------------------------------------------------------------------------------ */

enum { FIRST_PICKS = 32, FIRST_KEYS = 16 }; /* sorted at first: mostly enough to fill the message */

static uint32_t sorted_next(uint32_t ready, uint32_t count, uint32_t first) {
    const uint32_t most = ready > first ? ready : first;
    return most < count - ready ? most : count - ready;
}

static bool pick_is_more_urgent(const aoi_pick *a, const aoi_pick *b) {
    return (a->weight > b->weight) | ((a->weight == b->weight) & ((a->distance2 < b->distance2) |
                                                                  ((a->distance2 == b->distance2) & (a->id < b->id))));
}

static int pick_compare(const void *a, const void *b) {
    return pick_is_more_urgent(a, b) ? -1 : pick_is_more_urgent(b, a);
}

DEFINE_SELECT(select_urgent, aoi_pick, pick_is_more_urgent)

uint32_t aoi_order_picks(aoi_sync *y, uint32_t ready, uint32_t count) {
    const uint32_t most = sorted_next(ready, count, FIRST_PICKS);
    select_urgent(y->picks + ready, count - ready, most);
    qsort(y->picks + ready, most, sizeof *y->picks, pick_compare);
    return ready + most;
}

/* ---- updates: ranks as integer keys --------------------------------------------------------------------------------- */

/* Mostly no track has a priority of its own, and ids are small.  Then a rank is one integer:
 *
 *     [ 65535 - ticks : 16 | id + 2^31 : 32 | record, due : 16 ]      rising */
bool aoi_list_keys(const aoi_client *c, uint32_t n) {
    const aoi_sync *y = c->sync;
    const aoi_track *tracks = y->tracks;
    const uint32_t *due = y->due, *sent_at = c->sent_at, now = y->now;
    uint64_t *keys = y->keys, beyond = y->stay >> 15;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = due[k] / 2, ticks = now - sent_at[i];
        const aoi_track *t = tracks + c->tracks[i];
        uint64_t id = (uint64_t)t->id + (UINT64_C(1) << 31);
        beyond |= (ticks >> 16) | (id >> 32) | (t->flags & AOI_TRACK_RANKED);
        keys[k] = (uint64_t)(UINT16_MAX - (ticks & UINT16_MAX)) << 48 | (id & UINT32_MAX) << 16 | due[k];
    }
    return !beyond;
}

static inline bool key_before(const uint64_t *a, const uint64_t *b) {
    return *a < *b;
}

static int key_compare(const void *a, const void *b) {
    return key_before(a, b) ? -1 : key_before(b, a);
}

DEFINE_SELECT(select_keys, uint64_t, key_before)

uint32_t aoi_order_keys(aoi_sync *y, uint32_t ready, uint32_t count) {
    const uint32_t most = sorted_next(ready, count, FIRST_KEYS);
    select_keys(y->keys + ready, count - ready, most);
    qsort(y->keys + ready, most, sizeof *y->keys, key_compare);
    return ready + most;
}
