/* wire_inbox.c - see wire_inbox.h: applies messages of events to views, and records the changes as news. */
#include "skynet/wire_inbox.h"

enum { INDEX_FROM = 64 }; /* below, a linear scan of the contiguous ids is faster than a look-up */

/* ---- views -------------------------------------------------------------------------------------------------------- */

inbox_view *laoi_inbox_view(const inbox *x, uint32_t handle) {
    if (!handle) return NULL;
    for (uint32_t at = AOI_SEEK, v; (v = aoi_hash_index_next(&x->handles, aoi_hash64(handle), &at)) != AOI_NONE;)
        if (x->views[v].handle == handle) return x->views + v;
    return NULL;
}

void laoi_inbox_clear(inbox *x, inbox_view *v) {
    AOI_FREE(&x->memory, v->ids, v->cap);
    aoi_hash_index_free(&x->memory, &v->index);
    *v = (inbox_view){0};
}

void laoi_inbox_remove(inbox *x, inbox_view *v) {
    uint32_t slot = (uint32_t)(v - x->views);
    aoi_hash_index_remove(&x->handles, aoi_hash64(v->handle), slot);
    laoi_inbox_clear(x, v);
    v->next = x->removed_view;
    x->removed_view = slot;
}

inbox_view *laoi_inbox_add(inbox *x, uint32_t handle, uint32_t link) {
    if (!aoi_hash_index_reserve(&x->memory, &x->handles, (size_t)x->handles.count + 1)) return NULL;
    uint32_t slot = x->free_view;
    if (slot == AOI_NONE) {
        if (x->view_count == INBOX_SLOTS || !AOI_GROW(&x->memory, x->views, x->view_cap, x->view_count + 1))
            return NULL;
        slot = x->view_count++;
    } else x->free_view = x->views[slot].next;
    x->views[slot] = (inbox_view){.handle = handle, .link = link};
    aoi_hash_index_add(&x->handles, aoi_hash64(handle), slot);
    return x->views + slot;
}

uint32_t laoi_inbox_place(const inbox *x, const inbox_view *v, int64_t id) {
    if (!v->index.size) {
        for (uint32_t i = 0; i < v->count; i++)
            if (v->ids[i] == id) return i;
        return AOI_NONE;
    }
    for (uint32_t at = AOI_SEEK, i;
         (i = aoi_hash_index_next(&v->index, aoi_id_hash(&x->hash_key, id), &at)) != AOI_NONE;)
        if (v->ids[i] == id) return i;
    return AOI_NONE;
}

static bool view_grow(inbox *x, inbox_view *v, size_t need) {
    if (!AOI_GROW(&x->memory, v->ids, v->cap, need)) return false;
    if (need < INDEX_FROM) return true;
    bool had = v->index.size != 0;
    if (!aoi_hash_index_reserve(&x->memory, &v->index, need)) return false;
    for (uint32_t i = 0; i < v->count && !had; i++)
        aoi_hash_index_add(&v->index, aoi_id_hash(&x->hash_key, v->ids[i]), i);
    return true;
}

/* Reserves room for `more` ids. */
static bool view_room(inbox *x, inbox_view *v, uint32_t more) {
    size_t need = (size_t)v->count + more;
    return (need <= v->cap && need < INDEX_FROM) || view_grow(x, v, need);
}

static void view_add(const inbox *x, inbox_view *v, int64_t id) {
    if (v->index.size) aoi_hash_index_add(&v->index, aoi_id_hash(&x->hash_key, id), v->count);
    v->ids[v->count++] = id;
}

static void view_remove(const inbox *x, inbox_view *v, uint32_t i) {
    uint32_t last = --v->count;
    if (v->index.size) {
        aoi_hash_index_remove(&v->index, aoi_id_hash(&x->hash_key, v->ids[i]), i);
        if (i != last) aoi_hash_index_replace(&v->index, aoi_id_hash(&x->hash_key, v->ids[last]), last, i);
    }
    v->ids[i] = v->ids[last];
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

static size_t bytes_of_enter(const wire_group *g) {
    return (size_t)g->width + (g->dims ? 8 + 8 * (size_t)g->dims : 0);
}

/* Reads the head of the group at p.  Returns the end of the group; or NULL, with the reason in *fault. */
static const unsigned char *read_group(const unsigned char *p, const unsigned char *end, wire_group *g,
                                       const char **fault) {
    size_t left = (size_t)(end - p);
    *fault = "group cut off";
    g->handle = wire_get32(p);
    g->flags = p[4];
    bool longer = g->flags & WIRE_LONG, opens = g->flags & WIRE_OPEN;
    if ((g->flags & WIRE_PLACE2 && g->flags & WIRE_PLACE3) || (g->flags & WIRE_WIDTH4 && g->flags & WIRE_WIDTH8)) {
        *fault = "impossible group flags";
        return NULL;
    }
    g->width = g->flags & WIRE_WIDTH8 ? 8 : g->flags & WIRE_WIDTH4 ? 4 : 2;
    g->dims = g->flags & WIRE_PLACE3 ? 3 : g->flags & WIRE_PLACE2 ? 2 : 0;
    size_t head = (longer ? WIRE_LONG_GROUP : WIRE_GROUP) + (opens ? 4 + 2 * (size_t)g->width : 0);
    if (left < head) return NULL;
    g->leaves = longer ? wire_get32(p + 5) : p[5];
    g->enters = longer ? wire_get32(p + 9) : p[6];
    g->lists = p + head;
    left -= head;
    if (g->leaves > left / g->width) return NULL;
    left -= g->leaves * (size_t)g->width;
    if (g->enters > left / bytes_of_enter(g)) return NULL;
    *fault = "a whole view with leaves";
    if (g->flags & WIRE_WHOLE && g->leaves) return NULL;
    return g->lists + g->leaves * (size_t)g->width + g->enters * bytes_of_enter(g);
}

/* The memory of a client is cold when a message arrives.  Prefetches by stages, each for all groups before the next:
 * the arrays (wire_dispatch.c), the index (laoi_inbox_parse), the views, their ids and handlers. */
static bool prepare_views(inbox *x) {
    bool room = true;
    for (uint32_t i = 0; i < x->group_count; i++) {
        wire_group *g = x->groups + i;
        uint32_t at = AOI_SEEK;
        g->view = g->handle ? aoi_hash_index_next(&x->handles, aoi_hash64(g->handle), &at) : AOI_NONE;
        if (g->view != AOI_NONE) AOI_PREFETCH(x->views + g->view);
    }
    for (uint32_t i = 0; i < x->group_count; i++) {
        wire_group *g = x->groups + i;
        if (g->view == AOI_NONE) continue;
        inbox_view *v = x->views + g->view;
        if (v->handle != g->handle && !(v = laoi_inbox_view(x, g->handle))) continue;
        g->view = (uint32_t)(v - x->views);
        for (uint32_t k = 0; k < v->count; k += 8) AOI_PREFETCH(v->ids + k);
        AOI_PREFETCH(v->handlers); /* usually a table */
        AOI_PREFETCH((const char *)v->handlers + AOI_CACHE_LINE);
        room = view_room(x, v, g->enters) && room;
    }
    return room;
}

const char *laoi_inbox_parse(inbox *x, const unsigned char *p, const unsigned char *end, bool *room) {
    uint32_t owed = 0;
    const char *fault;
    x->group_count = 0;
    *room = true;
    while (p < end) {
        if (end - p < WIRE_GROUP) return "record cut off";
        if (!AOI_GROW(&x->memory, x->groups, x->group_cap, x->group_count + 1)) {
            *room = false;
            return NULL;
        }
        wire_group *g = x->groups + x->group_count++;
        if (wire_get32(p) == 0) {
            if (end - p < WIRE_RESYNC) return "resync cut off";
            if (owed) return "a resync inside another";
            owed = wire_get32(p + 8);
            *g = (wire_group){.link = wire_get32(p + 4), .leaves = owed, .enters = wire_get32(p + 12)};
            p += WIRE_RESYNC;
            continue;
        }
        p = read_group(p, end, g, &fault);
        if (!p) return fault;
        aoi_hash_index_fetch(&x->handles, aoi_hash64(g->handle));
        if (owed) owed--;
    }
    if (owed) return "resync cut off";
    *room = prepare_views(x);
    return NULL;
}

/* ---- applying ----------------------------------------------------------------------------------------------------- */

static bool news_room(inbox *x, size_t more) {
    return AOI_GROW(&x->memory, x->news, x->news_cap, x->news_count + more);
}

/* news_room must have reserved the room. */
static void note_number(inbox *x, int64_t v) {
    x->news[x->news_count++] = v;
}

bool laoi_note_special(inbox *x, int what, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t values[] = {0, what, a, b, c, d};
    if (!news_room(x, 6)) return false;
    for (int i = 0; i < 6; i++) note_number(x, values[i]);
    return true;
}

/* Writes the head of an entry, after its lists; a single event without a place becomes the short form. */
static void set_entry_head(inbox *x, const inbox_view *v, uint32_t at, const wire_group *g, uint32_t leaves,
                           uint32_t enters) {
    int64_t *head = x->news + at, word = ((int64_t)(v - x->views) << 34) | ((int64_t)g->handle << 2);
    if (leaves + enters == 1 && (leaves || !g->dims)) {
        head[0] = word | (leaves ? FORM_LEAVES : FORM_ENTERS);
        head[1] = head[ENTRY_HEAD];
        x->news_count = at + 2;
        return;
    }
    head[0] = word | FORM_GROUP;
    head[1] = leaves;
    head[2] = enters;
    head[3] = g->dims ? 2 + g->dims : 1;
}

static uint32_t take_enters(inbox *x, inbox_view *v, const wire_group *g) {
    const unsigned char *p = g->lists + g->leaves * (size_t)g->width;
    uint32_t taken = 0;
    size_t each = bytes_of_enter(g);
    for (uint32_t i = 0; i < g->enters; i++, p += each) {
        int64_t id = wire_get_id(p, g->width);
        if (laoi_inbox_place(x, v, id) != AOI_NONE) continue;
        view_add(x, v, id);
        note_number(x, id);
        for (int k = 0; g->dims && k <= g->dims; k++) note_number(x, (int64_t)aoi_peek_bytes(p + g->width + 8 * k, 8));
        taken++;
    }
    return taken;
}

/* Removes and records the ids without a mark; marks NULL: all ids. */
static uint32_t take_unmarked(inbox *x, inbox_view *v, const unsigned char *marks) {
    uint32_t taken = 0;
    for (uint32_t i = v->count; i-- > 0;) {
        if (marks && marks[i]) continue;
        note_number(x, v->ids[i]);
        view_remove(x, v, i); /* moves the last id to i: that id has been examined */
        taken++;
    }
    return taken;
}

static uint32_t take_leaves(inbox *x, inbox_view *v, const wire_group *g) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < g->leaves; i++) {
        int64_t id = wire_get_id(g->lists + i * (size_t)g->width, g->width);
        uint32_t place = laoi_inbox_place(x, v, id);
        if (place == AOI_NONE) continue;
        view_remove(x, v, place);
        note_number(x, id);
        taken++;
    }
    return taken;
}

/* Removes and records the ids that a whole view does not contain. */
static uint32_t take_absent(inbox *x, inbox_view *v, const wire_group *g) {
    size_t each = bytes_of_enter(g);
    memset(x->marks, 0, v->count);
    for (uint32_t i = 0; i < g->enters; i++) {
        uint32_t place = laoi_inbox_place(x, v, wire_get_id(g->lists + i * each, g->width));
        if (place != AOI_NONE) x->marks[place] = 1;
    }
    return take_unmarked(x, v, x->marks);
}

/* Applies a group to its view.  False when memory is refused: then the view has not changed. */
static bool take_group(inbox *x, inbox_view *v, const wire_group *g) {
    uint32_t head = x->news_count;
    size_t most = ENTRY_HEAD + (size_t)v->count + g->leaves + (size_t)g->enters * (size_t)(g->dims ? 2 + g->dims : 1);
    if (!view_room(x, v, g->enters) || !AOI_GROW(&x->memory, x->marks, x->mark_cap, v->count + 1) ||
        !news_room(x, most))
        return false;
    x->news_count += ENTRY_HEAD;
    uint32_t leaves = g->flags & WIRE_WHOLE ? take_absent(x, v, g) : take_leaves(x, v, g);
    uint32_t enters = take_enters(x, v, g);
    x->events += leaves + enters;
    if (leaves || enters) set_entry_head(x, v, head, g, leaves, enters);
    else x->news_count = head;
    return true;
}

/* Records leaves of all ids of the view, and the end of its node. */
static bool close_view(inbox *x, inbox_view *v) {
    const wire_group g = {.handle = v->handle};
    uint32_t head = x->news_count;
    if (!news_room(x, ENTRY_HEAD + (size_t)v->count + 6)) return false;
    if (v->count) {
        x->news_count += ENTRY_HEAD;
        uint32_t leaves = take_unmarked(x, v, NULL);
        x->events += leaves;
        set_entry_head(x, v, head, &g, leaves, 0);
    }
    v->ended = true;
    return laoi_note_special(x, INBOX_CLOSED, g.handle, 0, 0, 0);
}

/* The view of a group, or NULL.  Earlier groups of the message may have opened or closed it. */
static inbox_view *view_of_group(const inbox *x, const wire_group *g) {
    inbox_view *v = g->view == AOI_NONE ? NULL : x->views + g->view;
    return v && v->handle == g->handle ? v : laoi_inbox_view(x, g->handle);
}

static bool apply_group(inbox *x, const wire_group *g) {
    inbox_view *v = view_of_group(x, g);
    if (!v && g->flags & WIRE_OPEN) {
        const unsigned char *named = g->lists - 2 * g->width;
        uint32_t link = wire_get32(named - 4);
        v = laoi_inbox_add(x, g->handle, link);
        if (!v) return false;
        v->watcher = wire_get_id(named, g->width);
        v->node = wire_get_id(named + g->width, g->width);
        if (!laoi_note_special(x, INBOX_OPENED, link, v->watcher, v->node, g->handle)) return false;
    }
    if (!v || v->ended) return true; /* the map is closed */
    return take_group(x, v, g) && (!(g->flags & WIRE_CLOSE) || close_view(x, v));
}

/* Ends the nodes of the link that the resync does not contain, except those added after its epoch.  They end before the
 * groups of the resync, which follow `resync`, are applied: these may open a node of the same id again. */
static bool begin_resync(inbox *x, const wire_group *resync) {
    x->stamp++;
    for (uint32_t i = 1; i <= resync->leaves; i++) {
        inbox_view *v = view_of_group(x, resync + i);
        if (v) v->stamp = x->stamp;
    }
    for (uint32_t i = 0; i < x->view_count; i++) {
        inbox_view *v = x->views + i;
        bool ends = v->handle && !v->ended && v->link == resync->link && v->stamp != x->stamp;
        if (ends && v->since <= resync->enters && !close_view(x, v)) return false;
    }
    return true;
}

bool laoi_inbox_apply(inbox *x) {
    uint32_t owed = 0, link = 0;
    for (uint32_t i = 0; i < x->group_count; i++) {
        const wire_group *g = x->groups + i;
        bool begins = g->handle == 0;
        if (!(begins ? begin_resync(x, g) : apply_group(x, g))) return false;
        if (begins) {
            link = g->link;
            owed = g->leaves;
        }
        bool ends = begins ? owed == 0 : owed > 0 && --owed == 0;
        if (ends && !laoi_note_special(x, INBOX_RESYNCED, link, 0, 0, 0)) return false;
    }
    return true;
}
