/* batch.c - batches of entities that enter, move or leave: all or nothing, and the events are the net change. */
#include <stdlib.h>

#include "core/space.h"

aoi_row *aoi_row_buffer(aoi_space *s, size_t n) {
    return AOI_GROW(&s->world.memory, s->rows, s->row_cap, n) ? s->rows : NULL;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

bool aoi_stage_ready(aoi_space *s, size_t n) {
    return aoi_may_note(s) && n <= UINT32_MAX - s->world.mover_count && aoi_movers_ready(s, s->world.mover_count + n);
}

/* Hosts pass the same rows in the same order, tick by tick: row i first tries the i-th mover of the last tick. */
int aoi_stage(aoi_space *s, size_t first, const int64_t *ids, size_t n, size_t *bad) {
    const aoi_world *w = &s->world;
    uint32_t *staged = w->movers + w->mover_count + first;
    for (size_t i = 0; i < n; i++)
        AOI_PREFETCH((const void *)((uintptr_t)w->entities + staged[i] * sizeof *w->entities));
    for (size_t i = 0; i < n; i++) {
        if (staged[i] < w->entity_top && w->entities[staged[i]].id == ids[i] &&
            aoi_is_live(w->entities[staged[i]].generation))
            continue;
        staged[i] = AOI_NONE;
        aoi_index_fetch(&s->ids, aoi_id_hash(&s->world.hash_key, ids[i]));
    }
    for (size_t i = 0; i < n; i++) {
        *bad = first + i;
        if (staged[i] == AOI_NONE) staged[i] = aoi_slot_of_id(s, ids[i]);
        if (staged[i] == AOI_NONE) return AOI_EGONE;
        if (!aoi_is_place(s, aoi_staged(s, first + i))) return AOI_EVALUE;
        if (aoi_is_attached(s, staged[i])) return AOI_EATTACHED;
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
    int64_t ids[AOI_STAGED];
    int result = AOI_OK;
    for (size_t i = 0, part = 0; i < n && result == AOI_OK; i += part) {
        for (part = 0; part < AOI_STAGED && i + part < n; part++) {
            ids[part] = rows[i + part].id;
            double *to = aoi_staged(s, i + part);
            for (int a = 0; a < s->world.dims; a++) to[a] = rows[i + part].pos[a];
        }
        result = aoi_stage(s, i, ids, part, bad);
    }
    return result == AOI_OK ? aoi_move_staged(s, n) : result;
}

int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_MOVE_MANY, move_rows(s, rows, n, bad), .rows = rows, .count = n});
}

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

/* judged: its pairs are judged at once. */
static int enter_row(aoi_space *s, const aoi_row *row, uint64_t kind, bool judged) {
    if (aoi_slot_of_id(s, row->id) != AOI_NONE) return AOI_EEXIST; /* twice in one batch */
    uint32_t e = aoi_new_entity(s, row->id, row->pos, kind);
    if (e == AOI_NONE) return AOI_ENOMEM;
    if (judged) aoi_judge_target(s, e, NULL, &(aoi_looks){kind, AOI_FIRST_LAYER, 0});
    if (!s->world.failed && aoi_broad_enter(&s->index, e)) return AOI_OK;
    aoi_free_entity(s, e);
    return AOI_ENOMEM;
}

/* Judges the pairs of all nodes with the newcomers, sorted by x: n newcomers on one spot cost O(n log n) in any engine,
 * since they are not compared with each other or with older entities. */
static int judge_newcomers(aoi_space *s, const aoi_row *rows, size_t n) {
    if (!s->node_count || !n) return AOI_OK;
    if (!AOI_GROW(&s->world.memory, s->ranked, s->ranked_cap, n)) return AOI_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t e = aoi_slot_of_id(s, rows[i].id);
        s->ranked[i] = (aoi_ranked){s->world.entities[e].pos[0], e};
    }
    qsort(s->ranked, n, sizeof *s->ranked, aoi_by_rank);
    aoi_judge_entered(s, s->ranked, n);
    return s->world.failed ? AOI_ENOMEM : AOI_OK;
}

enum { NODES_A_ROW = 4 }; /* up to this ratio nodes search the rows, above it rows search the nodes */

static int enter_rows(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    size_t ignored, i;
    int result = AOI_OK;
    bool by_node = s->node_count / NODES_A_ROW <= n;
    if (!bad) bad = &ignored;
    for (*bad = 0; *bad < n; ++*bad) {
        if (aoi_slot_of_id(s, rows[*bad].id) != AOI_NONE) return AOI_EEXIST;
        if (!aoi_is_place(s, rows[*bad].pos)) return AOI_EVALUE;
    }
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (i = 0; i < n && (result = enter_row(s, rows + i, kind, !by_node)) == AOI_OK;) i++;
    *bad = i;
    if (result == AOI_OK && by_node) result = judge_newcomers(s, rows, n);
    if (result == AOI_OK) {
        for (i = 0; i < n && s->layers; i++) aoi_layers_entered(s->layers, aoi_slot_of_id(s, rows[i].id));
        aoi_commit(s);
        return AOI_OK;
    }
    aoi_rollback(s);
    while (i-- > 0) {
        uint32_t e = aoi_slot_of_id(s, rows[i].id);
        aoi_broad_leave(&s->index, e);
        aoi_free_entity(s, e);
    }
    aoi_queue_commit(&s->world.memory, &s->queue);
    aoi_tidy(s); /* keeps the space's buffers: the caller's rows may be in one */
    return result;
}

int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    return aoi_logged(
        s, &(aoi_call){AOI_CALL_ENTER_MANY, enter_rows(s, rows, n, kind, bad), .rows = rows, .count = n, .bits = kind});
}

/* `mover` numbers the leaving entities meanwhile, so that a pair of two of them is judged once. */
static int leave_ids(aoi_space *s, const int64_t *ids, size_t n, size_t *bad) {
    aoi_world *w = &s->world;
    size_t ignored, i = 0;
    int result = AOI_OK;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n; i++) {
        uint32_t e = aoi_slot_of_id(s, ids[i]);
        if (e == AOI_NONE || w->entities[e].mover != AOI_NONE) break; /* not there, or twice in one batch */
        w->entities[e].mover = (uint32_t)i;
    }
    *bad = i;
    if (i < n) result = AOI_EGONE;
    s->because = 1;
    for (size_t k = 0; k < n && result == AOI_OK; k++) {
        aoi_judge_leaving(s, aoi_slot_of_id(s, ids[k]));
        if (w->failed) result = AOI_ENOMEM;
    }
    if (result != AOI_OK) aoi_rollback(s);
    while (result != AOI_OK && i-- > 0) w->entities[aoi_slot_of_id(s, ids[i])].mover = AOI_NONE;
    for (size_t k = 0; k < n && result == AOI_OK; k++) aoi_remove_entity(s, aoi_slot_of_id(s, ids[k]));
    s->because = 0;
    if (result == AOI_OK) aoi_commit(s);
    return result;
}

int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad) {
    return aoi_logged(s, &(aoi_call){AOI_CALL_LEAVE_MANY, leave_ids(s, ids, n, bad), .ids = ids, .count = n});
}
