/* adopt.c - a client that comes from the synchroniser of another space, with its picture.
 *
 *   known, in this space too     a known record
 *   known, and gone meanwhile    a known record of a dead track, which the next message sends as gone
 *   seen here, and not known     appears, as with any client
 *
 * Each record keeps its state: the news that wait, and since when; the views that saw it at the last tick.  A position or
 * a kind is sent again if it is different here.
 *
 *   bytes    [ 1 version | 1 anew | 4 records | records | pass ]   little-endian; times: ages at the last tick
 *   record   [ 8 id | 1 flags | 1 views that saw it | 8 kind | 24 place | 4 since sent_at | 1 units it waits | 1 lacks |
 *              8 carrier that the client has been told, 0: none ]
 *            place: numbers of quanta, the bits of floats, or, wide, those of doubles, 8 bytes each
 *            flag HOLDS: it has been sent team fields
 *            without flags: a target that a wall hides from that view, whose area held it
 *   pass     [ 8 id | 8 mask, 0: none | 4 since it began | 4 offset | 4 size | the text that is sent in pieces ] */
#include "sync/sync.h"

enum { VERSION = 2, HEAD = 6, RECORD = 56, PASS = 28 };
enum {
    KNOWN = AOI_RECORD_SEEN,
    WIDE = AOI_RECORD_PACKED,
    HOLDS = AOI_RECORD_CUT,
    KEPT = AOI_RECORD_SAW | AOI_RECORD_WAITS | AOI_RECORD_TOUCH
};
enum { ANY_FLAG = KNOWN | WIDE | HOLDS | KEPT | AOI_RECORD_PIN };

typedef struct past_record {
    int64_t id, carrier;
    unsigned flags, views, units, lacks; /* KNOWN, KEPT, PIN; WIDE: of the place */
    uint64_t kind;
    aoi_wire_place at;
    uint32_t age;
} past_record;

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static past_record past_of(const aoi_client *c, uint32_t i) {
    const aoi_sync *y = c->sync;
    const aoi_track *t = y->tracks + c->tracks[i];
    const bool known = i < c->known;
    past_record p = {.id = t->id, .at = t->at, .flags = c->flags[i] & (KEPT | AOI_RECORD_PIN)};
    if (known) p.flags |= KNOWN;
    if (known && (t->flags & AOI_TRACK_TOUCHED || aoi_tick_after(t->touched, c->synced))) p.flags |= AOI_RECORD_TOUCH;
    if (t->flags & AOI_TRACK_WIDE) p.flags |= WIDE;
    if (c->holds && c->holds[i]) p.flags |= HOLDS;
    if (!(t->flags & AOI_TRACK_DEAD)) p.kind = aoi_kind_of(y->space, t->entity);
    p.views = c->sees ? c->saw[i] : (c->flags[i] & AOI_RECORD_SAW) != 0;
    if (c->sent_at) p.age = y->now - c->sent_at[i];
    if (c->tiers && known) p.units = (uint8_t)(aoi_units_of(c->tiers, y->now) - c->since[i]);
    if (c->lacks) p.lacks = aoi_lacks_as_age(y, c->lacks[i]);
    if (c->told && c->told[i] != AOI_NONE) p.carrier = y->tracks[c->told[i]].id;
    return p;
}

static unsigned char *put_past(unsigned char *p, const past_record *r) {
    p = aoi_put_bytes(p, (uint64_t)r->id, 8);
    *p++ = (unsigned char)r->flags;
    *p++ = (unsigned char)r->views;
    p = aoi_put_bytes(p, r->kind, 8);
    for (int a = 0; a < 3; a++) p = aoi_put_bytes(p, r->at.bits[a], 8);
    p = aoi_put_bytes(p, r->age, 4);
    *p++ = (unsigned char)r->units;
    *p++ = (unsigned char)r->lacks;
    return aoi_put_bytes(p, (uint64_t)r->carrier, 8);
}

static past_record get_past(aoi_bytes *in) {
    past_record r = {.id = (int64_t)aoi_get_bytes(in, 8)};
    r.flags = aoi_get_byte(in);
    r.views = aoi_get_byte(in);
    r.kind = aoi_get_bytes(in, 8);
    for (int a = 0; a < 3; a++) r.at.bits[a] = aoi_get_bytes(in, 8);
    r.age = (uint32_t)aoi_get_bytes(in, 4);
    r.units = aoi_get_byte(in);
    r.lacks = aoi_get_byte(in);
    r.carrier = (int64_t)aoi_get_bytes(in, 8);
    return r;
}

/* Writes the pass behind `used` bytes and sets *size to the new end; false: memory refused. */
static bool save_pass(const aoi_client *c, size_t used, size_t *size) {
    aoi_sync *y = c->sync;
    aoi_writer *w = &y->saved;
    const bool is = c->pass && c->pass->mask;
    const aoi_pass pass = is ? *c->pass : (aoi_pass){0};
    const aoi_blob *blob = pass.offset ? pass.blob : NULL;
    *size = used + PASS + (blob ? blob->size : 0);
    if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, *size)) return false;
    unsigned char *p = aoi_put_bytes(w->bytes + used, is ? (uint64_t)y->tracks[pass.track].id : 0, 8);
    p = aoi_put_bytes(p, pass.mask, 8);
    p = aoi_put_bytes(p, is ? y->now - pass.began : 0, 4);
    p = aoi_put_bytes(p, pass.offset, 4);
    p = aoi_put_bytes(p, blob ? blob->size : 0, 4);
    if (blob) memcpy(p, blob->bytes, blob->size);
    return true;
}

/* Appends records of the targets that walls hide from the client's views; false: memory refused. */
static bool save_hidden(aoi_sync *y, aoi_entity client, size_t *size) {
    aoi_memory *m = aoi_sync_memory(y);
    aoi_writer *w = &y->saved;
    for (uint32_t k = 0; y->sight && k < AOI_MOST_VIEWS; k++) {
        const aoi_node node = aoi_sync_view(y, client, k);
        const size_t n = aoi_sight_saw(y->sight, node, NULL, 0);
        int64_t *saw = n ? aoi_resize(m, NULL, 0, 2 * n * sizeof *saw) : NULL;
        if (!n) continue;
        if (!saw || !AOI_GROW(m, w->bytes, w->cap, *size + n * RECORD)) {
            aoi_resize(m, saw, saw ? 2 * n * sizeof *saw : 0, 0);
            return false;
        }
        (void)aoi_sight_saw(y->sight, node, saw, n);
        for (size_t i = 0; i < n; i++) {
            const past_record r = {.id = saw[2 * i], .views = 1u << k};
            if (saw[2 * i + 1] & AOI_PAIR_SEEN) continue;
            (void)put_past(w->bytes + *size, &r);
            *size += RECORD;
        }
        aoi_resize(m, saw, 2 * n * sizeof *saw, 0);
    }
    return true;
}

int aoi_sync_picture(aoi_sync *y, aoi_entity client, aoi_write write, void *ud) {
    const aoi_client *c = aoi_client_of(y, client);
    aoi_writer *w = &y->saved;
    if (!c) return AOI_EGONE;
    size_t size = HEAD + (size_t)c->count * RECORD;
    if (!AOI_GROW(aoi_sync_memory(y), w->bytes, w->cap, size)) return AOI_ENOMEM;
    unsigned char *p = w->bytes + HEAD;
    for (uint32_t i = 0; i < c->count; i++) {
        const past_record r = past_of(c, i);
        p = put_past(p, &r);
    }
    if (!save_hidden(y, client, &size)) return AOI_ENOMEM;
    w->bytes[0] = VERSION;
    w->bytes[1] = c->anew;
    (void)aoi_put_bytes(w->bytes + 2, (size - HEAD) / RECORD, 4);
    return save_pass(c, size, &size) && write(ud, w->bytes, size) ? AOI_OK : AOI_ENOMEM;
}

size_t aoi_picture_ids(const void *bytes, size_t size, int64_t *ids, size_t cap) {
    const unsigned char *p = bytes;
    if (aoi_picture_fault(bytes, size)) return 0;
    const size_t count = (size_t)aoi_peek_bytes(p + 2, 4);
    for (size_t i = 0; i < count && i < cap; i++) ids[i] = (int64_t)aoi_peek_bytes(p + HEAD + i * RECORD, 8);
    return count;
}

const char *aoi_picture_fault(const void *bytes, size_t size) {
    aoi_bytes in = {.at = bytes, .end = (const unsigned char *)bytes + size};
    const unsigned version = aoi_get_byte(&in), anew = aoi_get_byte(&in);
    if (in.cut || version != VERSION || anew > 1) return "a picture expected";
    for (uint64_t n = aoi_get_bytes(&in, 4); n > 0 && !in.cut; n--) {
        const past_record r = get_past(&in);
        if (r.flags & ~(unsigned)ANY_FLAG) return "a picture with an impossible record";
    }
    (void)aoi_get_bytes(&in, 8);
    (void)aoi_get_bytes(&in, 8);
    (void)aoi_get_bytes(&in, 4);
    const uint64_t offset = aoi_get_bytes(&in, 4), text = aoi_get_bytes(&in, 4);
    if (text > AOI_MOST_VALUE || offset > text || !offset != !text) return "a picture with an impossible text";
    aoi_skip_bytes(&in, (size_t)text);
    return in.cut || in.at != in.end ? "a picture of another length" : NULL;
}

/* ---- records: false where memory is refused ------------------------------------------------------------------------ */

/* Makes the track known and returns its record, which may exist already, seen or pinned.  AOI_NONE: memory refused. */
static uint32_t know_track(aoi_client *c, uint32_t track) {
    aoi_sync *y = c->sync;
    if (track == AOI_NONE) return AOI_NONE;
    uint32_t record = aoi_picture_find(c, track);
    if (record < c->known) return record;
    bool room = aoi_track_reserve_knower(y, track) && (!c->tiers || aoi_picture_since_ready(c, c->known + 1));
    if (room && record == AOI_NONE) record = aoi_picture_append(c, track, 0);
    if (!room || record == AOI_NONE) {
        aoi_track_release(y, track);
        return AOI_NONE;
    }
    aoi_picture_know(c, record);
    return c->known - 1;
}

/* The record of a track that is only seen or pinned; likewise. */
static uint32_t see_track(aoi_client *c, uint32_t track) {
    if (track == AOI_NONE) return AOI_NONE;
    uint32_t record = aoi_picture_find(c, track);
    if (record == AOI_NONE && (record = aoi_picture_append(c, track, 0)) == AOI_NONE) aoi_track_release(c->sync, track);
    return record;
}

static bool adopt_gone(aoi_client *c, int64_t id) {
    return know_track(c, aoi_track_gone(c->sync, id)) != AOI_NONE;
}

/* Makes WAITS or TOUCH of a track news of the next tick for this client alone, not for all knowers of the track. */
static bool put_news(aoi_client *c, uint32_t track, unsigned flag) {
    aoi_sync *y = c->sync;
    const uint32_t i = aoi_picture_find(c, track);
    if (!aoi_client_time(c)) return false;
    const bool waits = c->flags[i] & AOI_RECORD_WAITS || (c->lacks && c->lacks[i]);
    if (c->tiers && !waits && flag == AOI_RECORD_WAITS) c->since[i] = aoi_units_of(c->tiers, y->now + 1);
    c->flags[i] |= (uint8_t)flag;
    if (!c->queued) aoi_client_queue(c, y->now + 1);
    return true;
}

/* put_news for all other knowers of the track. */
static bool put_news_of_others(const aoi_client *c, uint32_t track, unsigned flag) {
    const aoi_sync *y = c->sync;
    const aoi_track *t = y->tracks + track;
    bool done = true;
    for (uint32_t i = 0; i < t->knower_count && done; i++) {
        aoi_client *other = y->clients[t->knowers[i]];
        if (other != c) done = put_news(other, track, flag);
    }
    return done;
}

static bool is_past_place(const aoi_track *t, const past_record *p) {
    return !memcmp(&t->at, &p->at, sizeof t->at) && !(t->flags & AOI_TRACK_WIDE) == !(p->flags & WIDE);
}

/* Makes a position that changed in transit news of the next tick.  If the client knows the position of the last tick,
 * the tick itself finds a change.  Else the client's position is outdated, or that of the track. */
static bool compare_place(aoi_client *c, uint32_t track, const past_record *p) {
    aoi_sync *y = c->sync;
    aoi_track *t = y->tracks + track;
    const bool fresh = t->flags & AOI_TRACK_FRESH;
    if (!fresh && is_past_place(t, p)) return true;
    if (aoi_track_relocate(y, track) && !fresh && !put_news_of_others(c, track, AOI_RECORD_WAITS)) return false;
    if (is_past_place(t, p)) return true;
    if (!fresh && t->moved != y->now + 1) return put_news(c, track, AOI_RECORD_WAITS);
    t->moved = y->now + 1;
    return true;
}

/* The same for the kind: TOUCHED is set if it has changed since the last tick of this space. */
static bool compare_kind(aoi_client *c, uint32_t track, const past_record *p) {
    aoi_sync *y = c->sync;
    aoi_track *t = y->tracks + track;
    const bool same = aoi_kind_of(y->space, t->entity) == p->kind, touched = t->flags & AOI_TRACK_TOUCHED;
    if (same && touched) {
        t->flags &= AOI_TRACK_FLAGS ^ AOI_TRACK_TOUCHED;
        return put_news_of_others(c, track, AOI_RECORD_TOUCH);
    }
    if (same) return true;
    if (!touched && !(t->flags & AOI_TRACK_FRESH) && t->touched != y->now + 1)
        return put_news(c, track, AOI_RECORD_TOUCH);
    t->touched = y->odd = y->now + 1;
    return true;
}

static void resume_record(aoi_client *c, uint32_t i, const past_record *p) {
    aoi_sync *y = c->sync;
    const bool own = c->tracks[i] == c->track; /* pinned by `self` */
    c->flags[i] |= (uint8_t)(p->flags & (own ? KEPT : KEPT | AOI_RECORD_PIN));
    if (c->sees) c->saw[i] = (uint8_t)p->views;
    if (c->holds) c->holds[i] = (p->flags & HOLDS) != 0;
    if (c->sent_at) c->sent_at[i] = y->now - p->age;
    if (c->lacks) c->lacks[i] = aoi_lacks_of_age(y, p->lacks);
    if (c->tiers && i < c->known) {
        const unsigned units = p->units < AOI_MOST_UNITS ? p->units : AOI_MOST_UNITS - 1;
        c->since[i] = (uint8_t)(aoi_units_of(c->tiers, y->now) - units);
    }
}

/* gone: the id belongs to another entity here. */
static bool adopt_record(aoi_client *c, const past_record *p, bool gone) {
    aoi_sync *y = c->sync;
    const uint32_t slot = aoi_slot_of_id(y->space, p->id);
    if (gone || slot == AOI_NONE) return !(p->flags & KNOWN) || adopt_gone(c, p->id);
    if (!(p->flags & (KNOWN | AOI_RECORD_SAW | AOI_RECORD_PIN))) return true;
    const uint32_t track = aoi_track_ready(y, slot);
    const uint32_t record = p->flags & KNOWN ? know_track(c, track) : see_track(c, track);
    if (record == AOI_NONE) return false;
    resume_record(c, record, p);
    return !(p->flags & KNOWN) || (compare_kind(c, track, p) && compare_place(c, track, p));
}

/* What a known rider has been told to ride on, if that is known here, too; a difference is news. */
static bool adopt_seat(aoi_client *c, const past_record *p) {
    const aoi_sync *y = c->sync;
    const uint32_t track = aoi_track_of(y, aoi_slot_of_id(y->space, p->id));
    const uint32_t i = c->told && track != AOI_NONE ? aoi_picture_find(c, track) : AOI_NONE;
    if (i >= c->known) return true;
    c->told[i] = AOI_NONE;
    if (p->carrier == aoi_client_id(c)) c->told[i] = c->track;
    for (uint32_t k = 0; k < c->known && p->carrier && c->told[i] == AOI_NONE; k++)
        if (y->tracks[c->tracks[k]].id == p->carrier) c->told[i] = c->tracks[k];
    if (p->carrier) y->tracks[track].flags |= AOI_TRACK_RIDER;
    return c->told[i] == aoi_carrier_track(y, track) || put_news(c, track, AOI_RECORD_WAITS);
}

/* ---- views with a margin ------------------------------------------------------------------------------------------ */

/* Evaluates pairs again that were seen at the last tick: when the views were added they had seen nothing before. */
static bool judge_views(aoi_client *c) {
    aoi_space *s = c->sync->space;
    if (!aoi_begin(s)) return false;
    for (uint32_t i = 0; i < c->count && !s->records.failed; i++) {
        const uint32_t target = c->sync->tracks[c->tracks[i]].entity;
        if (target == AOI_NONE || !(c->flags[i] & AOI_RECORD_SAW)) continue;
        for (const aoi_client_view *v = &c->view; v && !s->records.failed; v = v->next)
            if (target != s->records.nodes[v->node].owner)
                aoi_judge_override(s, v->node, target, aoi_override_of(s, v->node, target));
    }
    const bool done = !s->records.failed;
    if (done) aoi_commit(s);
    else aoi_rollback(s);
    return done;
}

static bool is_gone(const int64_t *ids, size_t count, int64_t id) {
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id) return true;
    return false;
}

/* The same for views with walls; in: begins with the n records. */
static bool recall_held(aoi_sync *y, aoi_entity client, aoi_bytes in, size_t n, const int64_t *gone,
                        size_t gone_count) {
    aoi_memory *m = aoi_sync_memory(y);
    const size_t bytes = 2 * n * sizeof(int64_t);
    int64_t *saw = n ? aoi_resize(m, NULL, 0, bytes) : NULL;
    int result = n && !saw ? AOI_ENOMEM : AOI_OK;
    for (uint32_t k = 0; k < AOI_MOST_VIEWS && result == AOI_OK; k++) {
        aoi_bytes rest = in;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            const past_record p = get_past(&rest);
            if (!(p.views >> k & 1) || is_gone(gone, gone_count, p.id)) continue;
            if (aoi_slot_of_id(y->space, p.id) == aoi_entity_slot(y->space, client)) continue;
            saw[2 * count] = p.id;
            saw[2 * count++ + 1] = AOI_PAIR_WAS;
        }
        if (count) result = aoi_sight_recall(y->sight, aoi_sync_view(y, client, k), saw, count);
        if (result == AOI_EGONE) result = AOI_OK; /* the client has fewer views here */
    }
    aoi_resize(m, saw, saw ? bytes : 0, 0);
    return result == AOI_OK;
}

/* Continues the record that is sent in pieces, if it is known here and has those fields. */
static bool resume_pass(aoi_client *c, aoi_bytes in, const int64_t *gone, size_t gone_count) {
    aoi_sync *y = c->sync;
    const int64_t id = (int64_t)aoi_get_bytes(&in, 8);
    const uint64_t mask = aoi_get_bytes(&in, 8);
    const uint32_t age = (uint32_t)aoi_get_bytes(&in, 4), offset = (uint32_t)aoi_get_bytes(&in, 4);
    const uint32_t size = (uint32_t)aoi_get_bytes(&in, 4), track = aoi_track_of(y, aoi_slot_of_id(y->space, id));
    if (!mask || !c->bytes || !c->lacks || track == AOI_NONE || is_gone(gone, gone_count, id)) return true;
    if (aoi_picture_find(c, track) >= c->known || mask & ~aoi_state_put(y, track)) return true;
    if (offset && !aoi_is_text(y->fields[aoi_lanes_first(mask)].type)) return true;
    return aoi_pass_resume(c, &(aoi_pass){.track = track, .began = y->now - age, .offset = offset, .mask = mask}, in.at,
                           size);
}

/* ---- clients ------------------------------------------------------------------------------------------------------- */

int aoi_sync_adopt(aoi_sync *y, aoi_entity client, const void *bytes, size_t size, const int64_t *gone,
                   size_t gone_count) {
    aoi_client *c = aoi_client_of(y, client);
    aoi_bytes in = {.at = bytes, .end = (const unsigned char *)bytes + size};
    if (!c) return AOI_EGONE;
    if (!c->anew || c->known || aoi_picture_fault(bytes, size)) return AOI_EVALUE;
    (void)aoi_get_byte(&in);
    const bool anew = aoi_get_byte(&in) != 0;
    const uint64_t records = aoi_get_bytes(&in, 4);
    bool done = true, waits = false;
    const aoi_bytes all = in;
    aoi_bytes rest = in;
    for (uint64_t i = 0; i < records; i++) {
        const past_record p = get_past(&rest);
        waits |= (p.flags & (AOI_RECORD_WAITS | AOI_RECORD_TOUCH)) || p.lacks;
    }
    if (waits) done = aoi_client_time(c);
    for (uint64_t i = 0; i < records && done; i++) {
        const past_record p = get_past(&in);
        done = adopt_record(c, &p, is_gone(gone, gone_count, p.id));
    }
    rest = all;
    for (uint64_t i = 0; i < records && done; i++) {
        const past_record p = get_past(&rest);
        if (!is_gone(gone, gone_count, p.id)) done = adopt_seat(c, &p);
    }
    if (done) done = y->sight ? recall_held(y, client, all, (size_t)records, gone, gone_count) : judge_views(c);
    if (done) done = resume_pass(c, rest, gone, gone_count);
    if (!done) {
        (void)aoi_sync_resend(y, client);
        return AOI_ENOMEM;
    }
    c->anew = anew;
    c->new_team = true; /* teams here may be others */
    aoi_client_changed(c);
    return AOI_OK;
}
