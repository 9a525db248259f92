/* batch.c - many at once: all or nothing, and the events are the net change.
 *
 *   movers   [ 3 | 9 | 4 | 7 | 1 ]    each with where it goes; its turn swaps that with where it was, so that both ends
 *                      ^ moved        of its move are at hand for the pairs of two movers (visibility.c)
 *
 * In turn: one move after the other.  Joined: all are put in place first, then the engine looks at all pairs at once;
 * that pays when at least half of the entities move and the engine supports it.
 *
 * A batch that is refused half way needs no undo in any engine: positions are the space's own, so the movers that the
 * index has elsewhere become the ones to be put in place, by ordinary means, before the next call (aoi_ready). */
#include "core/space.h"

enum { FIND_AHEAD = 8, FETCH_AHEAD = 4, FETCH_SOON = 2 }; /* rows for which memory is prefetched */

aoi_row *aoi_row_buffer(aoi_space *s, size_t n) {
    return AOI_GROW(&s->world.memory, s->rows, s->row_cap, n) ? s->rows : NULL;
}

/* ---- movers ------------------------------------------------------------------------------------------------------ */

static void forget_movers(aoi_world *w) {
    for (uint32_t i = 0; i < w->mover_count; i++) w->entities[w->movers[i].entity].mover = AOI_NONE;
    w->mover_count = w->moved = 0;
}

/* The rows as movers, each entity once: the last of its rows counts.  The result of the first bad row. */
static int find_movers(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    aoi_world *w = &s->world;
    for (size_t i = 0; i < n; i++) {
        *bad = i;
        if (i + FIND_AHEAD < n) aoi_index_fetch(&s->ids, aoi_id_hash(rows[i + FIND_AHEAD].id));
        uint32_t e = aoi_slot_of_id(s, rows[i].id);
        if (e == AOI_NONE) return AOI_EGONE;
        if (!aoi_finite(s, rows[i].pos)) return AOI_EVALUE;
        aoi_entity_record *r = w->entities + e;
        if (r->mover == AOI_NONE) {
            r->mover = w->mover_count++;
            w->movers[r->mover].entity = e;
        }
        for (int a = 0; a < w->dims; a++) w->movers[r->mover].pos[a] = rows[i].pos[a];
    }
    return AOI_OK;
}

/* The mover whose turn it is stands where it goes. */
static void take_turn(aoi_world *w) {
    aoi_mover *m = w->movers + w->moved++;
    double *pos = w->entities[m->entity].pos;
    for (int a = 0; a < w->dims; a++) {
        double from = pos[a];
        pos[a] = m->pos[a];
        m->pos[a] = from;
    }
}

/* ---- the index, put right ---------------------------------------------------------------------------------------- */

static int put_in_place(aoi_space *s, uint32_t entity, const double *to) {
    const aoi_engine_class *class = s->engine->class;
    if (class->place) return class->place(s->engine, entity, to);
    int result = class->move(s->engine, entity, to);
    s->world.candidate_count = 0;
    s->world.failed = false;
    return result;
}

bool aoi_ready(aoi_space *s) {
    aoi_world *w = &s->world;
    while (s->repairing && w->moved < w->mover_count) {
        const aoi_mover *m = w->movers + w->moved;
        if (put_in_place(s, m->entity, m->pos) != AOI_OK) return false;
        take_turn(w);
    }
    if (s->repairing) forget_movers(w);
    s->repairing = false;
    return true;
}

/* Those that had their turn go back; the others have not moved. */
static void refuse_batch(aoi_space *s) {
    aoi_world *w = &s->world;
    aoi_rollback(s);
    w->candidate_count = 0;
    for (uint32_t i = w->moved; i < w->mover_count; i++) w->entities[w->movers[i].entity].mover = AOI_NONE;
    w->mover_count = w->moved;
    w->moved = 0;
    s->repairing = true;
    (void)aoi_ready(s); /* now, if there is memory; else before the next call */
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

static void prefetch_ahead(const aoi_space *s, uint32_t i) {
    const aoi_world *w = &s->world;
    void (*prefetch)(const aoi_engine *, uint32_t, int) = s->engine->class->prefetch;
    if (i + FIND_AHEAD < w->mover_count) AOI_PREFETCH(w->entities + w->movers[i + FIND_AHEAD].entity);
    if (!prefetch) return;
    if (i + FETCH_AHEAD < w->mover_count) prefetch(s->engine, w->movers[i + FETCH_AHEAD].entity, 0);
    if (i + FETCH_SOON < w->mover_count) prefetch(s->engine, w->movers[i + FETCH_SOON].entity, 1);
}

/* One mover after the other; false when memory is refused. */
static bool move_in_turn(aoi_space *s) {
    aoi_world *w = &s->world;
    while (w->moved < w->mover_count) {
        const aoi_mover *m = w->movers + w->moved;
        prefetch_ahead(s, w->moved);
        if (!aoi_same_place(w->dims, w->entities[m->entity].pos, m->pos)) {
            if (s->engine->class->move(s->engine, m->entity, m->pos) != AOI_OK) return false;
            if (!w->failed) aoi_judge_mover(s, m->entity, m->pos);
        }
        take_turn(w);
        if (w->failed) return false;
    }
    return true;
}

/* All are put in place, then pairs are looked at. */
static bool move_together(aoi_space *s) {
    aoi_world *w = &s->world;
    while (w->moved < w->mover_count) {
        const aoi_mover *m = w->movers + w->moved;
        prefetch_ahead(s, w->moved);
        if (s->engine->class->place(s->engine, m->entity, m->pos) != AOI_OK) return false;
        take_turn(w);
    }
    if (s->engine->class->join(s->engine) != AOI_OK) return false;
    aoi_judge_unbounded_couples(s);
    return !w->failed;
}

/* Whether to: at least half of the entities move, none of them up or down, and the engine supports it. */
static bool join_pays(const aoi_space *s) {
    const aoi_world *w = &s->world;
    double farthest = 0;
    if (!s->engine->class->join || !w->mover_count || w->mover_count < w->entity_count / 2) return false;
    for (uint32_t i = 0; i < w->mover_count; i++) {
        const double *from = w->entities[w->movers[i].entity].pos, *to = w->movers[i].pos;
        double x = fabs(to[0] - from[0]), y = fabs(to[1] - from[1]), far = x > y ? x : y;
        farthest = far > farthest ? far : farthest;
        if (w->dims == 3 && from[2] != to[2]) return false;
    }
    return s->engine->class->supports_join(s->engine, farthest);
}

int aoi_move_many(aoi_space *s, const aoi_row *rows, size_t n, size_t *bad) {
    aoi_world *w = &s->world;
    size_t ignored;
    if (!bad) bad = &ignored;
    *bad = 0;
    if (!n) return AOI_OK;
    if (!aoi_begin(s) || !AOI_GROW(&w->memory, w->movers, w->mover_cap, n)) return AOI_ENOMEM;
    int result = find_movers(s, rows, n, bad);
    if (result != AOI_OK) {
        forget_movers(w);
        return result;
    }
    if (!(join_pays(s) ? move_together(s) : move_in_turn(s))) {
        refuse_batch(s);
        return AOI_ENOMEM;
    }
    forget_movers(w);
    aoi_commit(s);
    return AOI_OK;
}

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

static int enter_row(aoi_space *s, const aoi_row *row, uint64_t kind) {
    if (aoi_slot_of_id(s, row->id) != AOI_NONE) return AOI_EEXIST; /* twice in one batch */
    uint32_t e = aoi_new_entity(s, row->id, row->pos, kind);
    if (e == AOI_NONE) return AOI_ENOMEM;
    aoi_judge_target(s, e, NULL, &kind);
    if (!s->world.failed && s->engine->class->enter(s->engine, e) == AOI_OK) return AOI_OK;
    aoi_free_entity(s, e);
    return AOI_ENOMEM;
}

int aoi_enter_many(aoi_space *s, const aoi_row *rows, size_t n, uint64_t kind, size_t *bad) {
    size_t ignored, i;
    int result = AOI_OK;
    if (!bad) bad = &ignored;
    for (*bad = 0; *bad < n; ++*bad) {
        if (aoi_slot_of_id(s, rows[*bad].id) != AOI_NONE) return AOI_EEXIST;
        if (!aoi_finite(s, rows[*bad].pos)) return AOI_EVALUE;
    }
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (i = 0; i < n && (result = enter_row(s, rows + i, kind)) == AOI_OK;) i++;
    if (result == AOI_OK) {
        aoi_commit(s);
        return AOI_OK;
    }
    *bad = i;
    aoi_rollback(s);
    while (i-- > 0) {
        uint32_t e = aoi_slot_of_id(s, rows[i].id);
        s->engine->class->leave(s->engine, e);
        aoi_free_entity(s, e);
    }
    aoi_commit(s);
    return result;
}

/* A pair of two that leave together is judged once: while they are judged `mover` numbers them. */
int aoi_leave_many(aoi_space *s, const int64_t *ids, size_t n, size_t *bad) {
    aoi_world *w = &s->world;
    size_t ignored, i = 0;
    int result = AOI_OK;
    if (!bad) bad = &ignored;
    if (!aoi_begin(s)) return AOI_ENOMEM;
    for (; i < n; i++) {
        uint32_t e = aoi_slot_of_id(s, ids[i]);
        if (e == AOI_NONE || w->entities[e].mover != AOI_NONE) break; /* not there, or twice in one batch */
        w->entities[e].mover = (uint32_t)i;
    }
    *bad = i;
    if (i < n) result = AOI_EGONE;
    for (size_t k = 0; k < n && result == AOI_OK; k++) {
        aoi_judge_leaving(s, aoi_slot_of_id(s, ids[k]));
        if (w->failed) result = AOI_ENOMEM;
    }
    if (result != AOI_OK) {
        aoi_rollback(s);
        while (i-- > 0) w->entities[aoi_slot_of_id(s, ids[i])].mover = AOI_NONE;
        return result;
    }
    for (size_t k = 0; k < n; k++) aoi_take_out(s, aoi_slot_of_id(s, ids[k]));
    aoi_commit(s);
    return AOI_OK;
}
