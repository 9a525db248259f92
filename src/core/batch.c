/* batch.c - batches of entities that enter, move or leave: all or nothing, and the events are the net change. */
#include <stdlib.h>

#include "core/space.h"

aoi_row *aoi_row_buffer(aoi_space *s, size_t n) {
    return AOI_GROW(&s->records.memory, s->rows, s->row_cap, n) ? s->rows : NULL;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

bool aoi_stage_ready(aoi_space *s, size_t n) {
    return aoi_may_note(s) && n <= UINT32_MAX - s->records.mover_count &&
           aoi_movers_ready(s, s->records.mover_count + n);
}

/* Hosts pass the same rows in the same order, tick by tick: row i first tries the i-th mover of the last tick. */
int aoi_stage(aoi_space *s, size_t first, const aoi_row *rows, size_t n, size_t *bad) {
    const aoi_records *r = &s->records;
    uint32_t *staged = r->movers + r->mover_count + first;
    for (size_t i = 0; i < n; i++)
        AOI_PREFETCH((const void *)((uintptr_t)r->entities + staged[i] * sizeof *r->entities));
    for (size_t i = 0; i < n; i++) {
        if (staged[i] < r->entity_top && r->entities[staged[i]].id == rows[i].id &&
            aoi_is_live(r->entities[staged[i]].generation))
            continue;
        staged[i] = AOI_NONE;
        aoi_hash_index_fetch(&s->ids, aoi_id_hash(&s->records.hash_key, rows[i].id));
    }
    for (size_t i = 0; i < n; i++) {
        double *to = aoi_staged(s, first + i);
        *bad = first + i;
        if (staged[i] == AOI_NONE) staged[i] = aoi_slot_of_id(s, rows[i].id);
        if (staged[i] == AOI_NONE) return AOI_EGONE;
        if (!aoi_is_place(s, rows[i].pos)) return AOI_EVALUE;
        if (aoi_is_attached(s, staged[i])) return AOI_EATTACHED;
        for (int a = 0; a < r->dims; a++) to[a] = rows[i].pos[a];
    }
    return AOI_OK;
}

int aoi_move_staged(aoi_space *s, size_t n) {
    int result = s->attached ? aoi_stage_passengers(s, &n) : AOI_OK;
    if (!n || result != AOI_OK) return result;
    aoi_note_staged(s, n);
    if (s->deferred) return AOI_OK;
    aoi_open_call(s);
    if (!aoi_judge_movers(s)) {
        aoi_refuse_movers(s);
        return AOI_ENOMEM;
    }
    aoi_commit(s);
    return AOI_OK;
}

static int move_rows(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    size_t ignored;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (!n) return AOI_OK;
    if (!aoi_stage_ready(s, n)) return AOI_ENOMEM;
    int result = AOI_OK;
    for (size_t i = 0; i < n && result == AOI_OK; i += AOI_STAGED)
        result = aoi_stage(s, i, rows + i, n - i < AOI_STAGED ? n - i : AOI_STAGED, bad);
    return result == AOI_OK ? aoi_move_staged(s, n) : result;
}

int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_MOVE_MANY, move_rows(s, rows, n, bad), .rows = rows, .count = n});
}

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

/* Makes the entities of all rows, *made of them, which are in no grid yet: a batch that is refused because an id stands
 * in it twice leaves no trace, not even in the order of later events. */
static int make_rows(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *made) {
    for (*made = 0; *made < n; ++*made) {
        const aoi_row *row = rows + *made;
        if (aoi_slot_of_id(s, row->id) != AOI_NONE) return AOI_EEXIST;
        if (!aoi_is_place(s, row->pos)) return AOI_EVALUE;
        if (aoi_new_entity(s, row->id, row->pos, kind) == AOI_NONE) return AOI_ENOMEM;
    }
    return AOI_OK;
}

/* judged: its pairs are judged at once. */
static bool enter_row(aoi_space *s, const aoi_row *row, uint64_t kind, bool judged) {
    const uint32_t e = aoi_slot_of_id(s, row->id);
    if (judged) aoi_judge_target(s, e, NULL, &(aoi_looks){kind, AOI_FIRST_LAYER, 0});
    return !s->records.failed && aoi_broad_enter(&s->index, e);
}

/* Judges the pairs of all nodes with the newcomers, sorted by x: n newcomers on one spot cost O(n log n) in any engine,
 * since they are not compared with each other or with older entities. */
static int judge_newcomers(aoi_space *s, const aoi_row *rows, size_t n) {
    if (!s->node_count || !n) return AOI_OK;
    if (!AOI_GROW(&s->records.memory, s->ranked, s->ranked_cap, n)) return AOI_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t e = aoi_slot_of_id(s, rows[i].id);
        s->ranked[i] = (aoi_ranked){s->records.entities[e].pos[0], e};
    }
    qsort(s->ranked, n, sizeof *s->ranked, aoi_by_rank);
    aoi_judge_entered(s, s->ranked, n);
    return s->records.failed ? AOI_ENOMEM : AOI_OK;
}

enum { NODES_A_ROW = 4 }; /* up to this ratio nodes search the rows, above it rows search the nodes */

static int enter_rows(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    size_t made, entered = 0;
    const bool by_node = s->node_count / NODES_A_ROW <= n;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    int result = make_rows(s, rows, n, kind, &made);
    while (result == AOI_OK && entered < n)
        if (enter_row(s, rows + entered, kind, !by_node)) entered++;
        else result = AOI_ENOMEM;
    if (bad) *bad = made < n ? made : entered;
    if (result == AOI_OK && by_node) result = judge_newcomers(s, rows, n);
    if (result == AOI_OK) {
        for (size_t i = 0; i < n && s->plugins; i++) aoi_plugins_entered(s->plugins, aoi_slot_of_id(s, rows[i].id));
        aoi_commit(s);
        return AOI_OK;
    }
    aoi_rollback(s);
    while (made-- > 0) {
        uint32_t e = aoi_slot_of_id(s, rows[made].id);
        if (made < entered) aoi_broad_leave(&s->index, e);
        aoi_free_entity(s, e);
    }
    aoi_queue_commit(&s->records.memory, &s->queue);
    aoi_tidy(s); /* keeps the space's buffers: the caller's rows may be in one */
    return result;
}

int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    return aoi_logged(
        s, &(aoi_call){AOI_CALL_ENTER_MANY, enter_rows(s, rows, n, kind, bad), .rows = rows, .count = n, .bits = kind});
}

/* `mover` numbers the leaving entities meanwhile, so that a pair of two of them is judged once. */
static int leave_ids(aoi_space *s, const int64_t *ids, size_t n, size_t *bad) {
    aoi_records *r = &s->records;
    size_t ignored, i = 0;
    int result = AOI_OK;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n; i++) {
        uint32_t e = aoi_slot_of_id(s, ids[i]);
        if (e == AOI_NONE || r->entities[e].mover != AOI_NONE) break; /* not there, or twice in one batch */
        r->entities[e].mover = (uint32_t)i;
    }
    *bad = i;
    if (i < n) result = AOI_EGONE;
    s->because = 1;
    for (size_t k = 0; k < n && result == AOI_OK; k++) {
        aoi_judge_leaving(s, aoi_slot_of_id(s, ids[k]));
        if (r->failed) result = AOI_ENOMEM;
    }
    if (result != AOI_OK) aoi_rollback(s);
    while (result != AOI_OK && i-- > 0) r->entities[aoi_slot_of_id(s, ids[i])].mover = AOI_NONE;
    for (size_t k = 0; k < n && result == AOI_OK; k++) aoi_remove_entity(s, aoi_slot_of_id(s, ids[k]));
    s->because = 0;
    if (result == AOI_OK) aoi_commit(s);
    return result;
}

int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_LEAVE_MANY, leave_ids(s, ids, n, bad), .ids = ids, .count = n});
}
