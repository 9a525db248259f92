/* why.c - why a client knows a target or not, and which of its fields the client lacks. */
#include "sync/sync.h"

const char *aoi_sync_why_text(int why) {
    static const char *const texts[] = {
        [AOI_SYNC_WHY_NO_CLIENT] = "no client", [AOI_SYNC_WHY_NO_TARGET] = "no target", [AOI_SYNC_WHY_SELF] = "self",
        [AOI_SYNC_WHY_GOES] = "goes",           [AOI_SYNC_WHY_UNSEEN] = "unseen",       [AOI_SYNC_WHY_KNOWN] = "known",
        [AOI_SYNC_WHY_NEXT] = "next tick",      [AOI_SYNC_WHY_CARRIER] = "carrier",     [AOI_SYNC_WHY_LIMIT] = "limit",
        [AOI_SYNC_WHY_BYTES] = "bytes"};
    return why >= AOI_SYNC_WHY_NO_CLIENT && why <= AOI_SYNC_WHY_BYTES ? texts[why] : "unknown";
}

const char *aoi_field_name(const aoi_sync *y, uint32_t field, uint32_t *size) {
    if (field >= y->field_count) return NULL;
    *size = y->fields[field].entry[1];
    return (const char *)y->fields[field].entry + 2;
}

/* Why a record that was in view at the last tick already is not known: limit or budget. */
static int kept_out(const aoi_client *c, const aoi_sync_explanation *e) {
    if (!c->limit || e->pinned) return c->bytes ? AOI_SYNC_WHY_BYTES : AOI_SYNC_WHY_NEXT;
    return c->bytes && !c->overflow ? AOI_SYNC_WHY_BYTES : AOI_SYNC_WHY_LIMIT;
}

static void explain_record(const aoi_client *c, uint32_t i, uint32_t track, aoi_sync_explanation *out) {
    const uint8_t flags = c->flags[i];
    out->knows = i < c->known;
    out->seen = flags & AOI_RECORD_SEEN;
    out->pinned = flags & AOI_RECORD_PIN;
    out->moved = out->knows && flags & AOI_RECORD_WAITS;
    out->waits = c->sent_at ? c->sync->now - c->sent_at[i] : 0;
    const bool rides = aoi_rides_along(c, i);
    if (!aoi_record_stays(c, i) || (out->knows && !rides))
        out->why = out->knows ? AOI_SYNC_WHY_GOES : AOI_SYNC_WHY_UNSEEN;
    else if (out->knows) out->why = AOI_SYNC_WHY_KNOWN;
    else if (!rides) out->why = AOI_SYNC_WHY_CARRIER;
    else out->why = flags & AOI_RECORD_SAW || (out->pinned && !c->changed) ? kept_out(c, out) : AOI_SYNC_WHY_NEXT;
    if (out->knows) out->lacks = aoi_fields_lacking(c, i, track);
}

void aoi_sync_explain(aoi_sync *y, aoi_entity client, aoi_entity target, aoi_sync_explanation *out) {
    (void)(aoi_settle(y->space) && aoi_plugins_see(y->space));
    const aoi_client *c = aoi_client_of(y, client);
    const uint32_t slot = aoi_entity_slot(y->space, target), track = aoi_track_of(y, slot);
    *out = (aoi_sync_explanation){.why = !c ? AOI_SYNC_WHY_NO_CLIENT : AOI_SYNC_WHY_NO_TARGET};
    if (!c || slot == AOI_NONE) return;
    out->known = c->known;
    (void)aoi_sync_get(y, client, &out->relevance);
    if (c->limits && track != AOI_NONE) {
        const uint32_t k = aoi_limit_of(c, track);
        out->relevance.limit = k < c->limit_count ? c->limits[k].limit : 0;
    }
    out->why = slot == aoi_client_entity(c) ? AOI_SYNC_WHY_SELF : AOI_SYNC_WHY_UNSEEN;
    const uint32_t i = track == AOI_NONE ? AOI_NONE : aoi_picture_find(c, track);
    if (i != AOI_NONE) explain_record(c, i, track, out);
}
