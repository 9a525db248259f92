/* movers.c - entities that have moved and are judged together: a batch, or all moves since the last delivery.
 *
 *   movers   [ 3 | 9 | 4 | 7 | 1 ]    each with its target; its turn exchanges that with its old position, so that both
 *                      ^ moved        ends of its move are known for pairs of two movers (visibility.c)
 *
 * In turn: one move after the other.  Joined: all are put in place first, then all pairs are compared at once
 * (tick/join.h).  Where most can be joined, the few that go too far for that are behind the others, and have their turns
 * afterwards: for the join they stand still.
 *
 * A deferred space only records the targets of moves; the next call that needs the index or the events judges them.
 * When memory is refused, the next such call continues from there: until then no mover may change its target, so that
 * every pair is judged once, by the same two places.
 *
 * A batch of an immediate space is all or nothing.  It needs no undo in any engine: the records keep the old positions,
 * and the movers that the index holds elsewhere are moved back, by ordinary moves, before the next call. */
#include "tick/join.h"

enum { ENTITY_AHEAD = 12, FETCH_AHEAD = 8, FETCH_SOON = 4 }; /* movers whose memory is prefetched */

/* Room for no more movers than entities, unless rows name one twice. */
bool aoi_grow_movers(aoi_space *s, size_t n) {
    aoi_records *r = &s->records;
    uint32_t had = r->mover_cap;
    size_t to = (size_t)r->mover_cap + r->mover_cap / 8 + 16;
    if (to > r->entity_count) to = r->entity_count;
    if (to < n) to = n;
    bool good = AOI_GROW_TO(&r->memory, r->ends, r->end_cap, to * (size_t)r->dims) &&
                AOI_GROW_TO(&r->memory, r->movers, r->mover_cap, to);
    for (uint32_t i = had; i < r->mover_cap; i++) r->movers[i] = AOI_NONE;
    return good;
}

void aoi_free_movers(aoi_space *s) {
    AOI_CLEAR(&s->records.memory, s->records.movers, s->records.mover_cap);
    AOI_CLEAR(&s->records.memory, s->records.ends, s->records.end_cap);
}

AOI_INLINE void note_axis(aoi_travel *t, int a, double from, double to) {
    double step = fabs(to - from), low = to < from ? to : from, high = to > from ? to : from;
    t->farthest = step > t->farthest ? step : t->farthest;
    t->lo[a] = low < t->lo[a] ? low : t->lo[a];
    t->hi[a] = high > t->hi[a] ? high : t->hi[a];
}

AOI_INLINE void note_end(aoi_space *s, uint32_t entity, const double *to, aoi_travel *t) {
    aoi_records *r = &s->records;
    aoi_entity_record *e = r->entities + entity;
    if (e->mover == AOI_NONE) {
        e->mover = r->mover_count++;
        r->movers[e->mover] = entity;
    }
    if (s->crossings.node_count) aoi_note_way(s, entity, s->crossings.jumping);
    double *goes = aoi_mover_end(r, e->mover);
    note_axis(t, 0, e->pos[0], goes[0] = to[0]);
    note_axis(t, 1, e->pos[1], goes[1] = to[1]);
    if (r->dims == 3) note_axis(t, 2, e->pos[2], goes[2] = to[2]);
    if (s->plugins) aoi_plugins_moved(s->plugins, entity);
}

void aoi_note_mover(aoi_space *s, uint32_t entity, const double *to) {
    note_end(s, entity, to, &s->moves);
}

int aoi_note_turn(aoi_space *s, uint32_t node, double facing) {
    aoi_records *r = &s->records;
    aoi_node_record *n = r->nodes + node;
    if (!aoi_may_note(s) || !AOI_GROW(&r->memory, s->turned, s->turned_cap, s->turned_count + (size_t)1))
        return AOI_ENOMEM;
    aoi_shape *p = r->areas[node].shape;
    if (!(n->flags & AOI_NODE_TURNED)) {
        const double *at = r->entities[n->owner].pos;
        n->flags |= AOI_NODE_TURNED;
        s->turned[s->turned_count++] = node;
        p->was_fx = p->fx, p->was_fy = p->fy;
        for (int a = 0; a < r->dims; a++) note_axis(&s->moves, a, at[a], at[a]);
    }
    aoi_shape_turn(p, facing);
    return AOI_OK;
}

static void clear_turned(aoi_space *s) {
    while (s->turned_count > 0) s->records.nodes[s->turned[--s->turned_count]].flags &= (uint8_t)~AOI_NODE_TURNED;
}

/* The last row counts for an entity that is a mover already, or is in several rows. */
void aoi_note_staged(aoi_space *s, size_t n) {
    const aoi_records *r = &s->records;
    aoi_travel t = s->moves;
    for (uint32_t i = r->mover_count, end = i + (uint32_t)n; i < end; i++) {
        if (i + ENTITY_AHEAD < end) AOI_PREFETCH(r->entities + r->movers[i + ENTITY_AHEAD]);
        note_end(s, r->movers[i], aoi_mover_end(r, i), &t);
    }
    s->moves = t;
}

static void clear_movers(aoi_space *s) {
    aoi_records *r = &s->records;
    for (uint32_t i = 0; i < r->mover_count; i++) r->entities[r->movers[i]].mover = AOI_NONE;
    if (r->mover_cap > AOI_QUEUE_KEEPS && r->mover_count < r->mover_cap / 8) aoi_free_movers(s); /* small ticks again */
    r->mover_count = r->moved = 0;
    clear_turned(s);
    s->larges.moved = true;
    aoi_clear_travel(&s->moves);
    s->stage = AOI_STAGE_NOTED;
}

/* ---- the index, without judging ---------------------------------------------------------------------------------- */

static bool put_in_place(aoi_space *s, uint32_t entity, const double *to) {
    return aoi_broad_move(&s->index, entity, to, false);
}

/* Prefetches what the movers some turns after the i-th read. */
AOI_INLINE void prefetch_ahead(const aoi_space *s, uint32_t i, int stage) {
    const aoi_records *r = &s->records;
    uint32_t left = r->mover_count - 1 - i;
    AOI_PREFETCH(r->entities + r->movers[i + (left < ENTITY_AHEAD ? left : ENTITY_AHEAD)]);
    if (left >= FETCH_AHEAD) aoi_grid_prefetch(&s->index.grid, r->movers[i + FETCH_AHEAD], stage);
}

static bool place_first(aoi_space *s, uint32_t count) {
    aoi_records *r = &s->records;
    for (; r->moved < count; aoi_take_turn(r)) {
        prefetch_ahead(s, r->moved, AOI_FETCH_PLACE);
        if (!put_in_place(s, r->movers[r->moved], aoi_mover_end(r, r->moved))) return false;
    }
    return true;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Judges the movers one after the other.  False when memory is refused; then the mover at `moved` is not judged. */
static bool move_in_turn(aoi_space *s) {
    aoi_records *r = &s->records;
    while (r->moved < r->mover_count) {
        aoi_mark mark = aoi_mark_of(s);
        uint32_t entity = r->movers[r->moved];
        const double *to = aoi_mover_end(r, r->moved);
        prefetch_ahead(s, r->moved, 0);
        if (r->moved + FETCH_SOON < r->mover_count) /* what only a judged move reads */
            aoi_grid_prefetch(&s->index.grid, r->movers[r->moved + FETCH_SOON], 1);
        if (!aoi_same_place(r->dims, r->entities[entity].pos, to)) {
            if (!aoi_broad_move(&s->index, entity, to, true)) r->failed = true;
            else {
                if (!r->failed) aoi_judge_mover(s, entity, to);
                s->half_moved = r->failed;
            }
            if (r->failed) {
                aoi_rollback_to(s, mark);
                return false;
            }
        }
        aoi_take_turn(r);
    }
    return true;
}

/* Moves the mover for which memory was refused back in the index, so that it can be judged again. */
static bool move_half_back(aoi_space *s) {
    aoi_records *r = &s->records;
    if (!s->half_moved) return true;
    uint32_t entity = r->movers[r->moved];
    const double *from = aoi_mover_end(r, r->moved);
    aoi_swap_places(r, r->moved); /* the record must agree with the index */
    bool placed = put_in_place(s, entity, from);
    aoi_swap_places(r, r->moved);
    s->half_moved = !placed;
    return placed;
}

enum { JOIN_ONE_IN = 8 }; /* share of movers from which on the join costs less than single moves */

/* Never for an engine that takes all nodes: tests compare its single moves with the join. */
static bool join_pays(const aoi_space *s, uint32_t count) {
    const aoi_records *r = &s->records;
    return r->takes != AOI_TAKES_ALL && count >= 16 && count >= r->entity_count / JOIN_ONE_IN;
}

static bool suits_frame(const aoi_space *s, uint32_t mover) {
    const aoi_records *r = &s->records;
    const double *is = r->entities[r->movers[mover]].pos, *end = aoi_mover_end(r, mover);
    bool near = aoi_chebyshev(r->dims, is, end) <= s->frame.step;
    for (int a = 0; a < r->dims; a++) near &= fmax(fabs(is[a]), fabs(end[a])) * s->frame.scale < AOI_FRAME_FARTHEST;
    return near;
}

static void exchange_movers(aoi_records *r, uint32_t a, uint32_t b) {
    uint32_t first = r->movers[a], second = r->movers[b];
    for (int i = 0; i < r->dims; i++) {
        double v = aoi_mover_end(r, a)[i];
        aoi_mover_end(r, a)[i] = aoi_mover_end(r, b)[i];
        aoi_mover_end(r, b)[i] = v;
    }
    r->movers[a] = second, r->movers[b] = first;
    r->entities[second].mover = a, r->entities[first].mover = b;
}

/* Puts the movers that suit the frame of the tick first; returns how many they are. */
static uint32_t part_movers(aoi_space *s) {
    aoi_records *r = &s->records;
    uint32_t count = 0;
    aoi_clear_travel(&s->moves);
    for (uint32_t i = 0; i < r->mover_count; i++) {
        if (!suits_frame(s, i)) continue;
        exchange_movers(r, i, count);
        const double *is = r->entities[r->movers[count]].pos, *end = aoi_mover_end(r, count);
        for (int a = 0; a < r->dims; a++) note_axis(&s->moves, a, is[a], end[a]);
        count++;
    }
    return count;
}

/* Judges the nodes that have turned before anything moves, each as a call of its own, because a move may cause the
 * opposite event of the same pair. */
static bool turn_in_turn(aoi_space *s) {
    aoi_records *r = &s->records;
    for (; s->turned_count > 0; s->turned_count--) {
        uint32_t node = s->turned[s->turned_count - 1];
        aoi_shape shape;
        aoi_area_state is = aoi_state_of(s, node), was = is;
        (void)aoi_area_before(r, node, &was.area, &shape);
        aoi_open_call(s);
        aoi_judge_node(s, node, &was, &is);
        if (r->failed) {
            aoi_rollback(s);
            return false;
        }
        r->nodes[node].flags &= (uint8_t)~AOI_NODE_TURNED;
        aoi_commit(s);
    }
    return true;
}

/* False: memory is refused to a node that has turned; then no mover is judged, and a next call chooses again. */
static bool choose_stage(aoi_space *s) {
    uint32_t count = s->records.mover_count;
    bool joins = join_pays(s, count), all = joins && aoi_tick_choose(s);
    if (!all && !turn_in_turn(s)) return false;
    s->joined = all ? count : joins ? part_movers(s) : 0;
    if (!join_pays(s, s->joined)) s->joined = 0;
    s->stage = s->joined ? AOI_STAGE_PLACING : AOI_STAGE_TURNS;
    return true;
}

bool aoi_judge_movers(aoi_space *s) {
    if (s->stage == AOI_STAGE_NOTED && !choose_stage(s)) return false;
    if (s->stage == AOI_STAGE_PLACING) {
        aoi_mark mark = aoi_mark_of(s);
        if (!place_first(s, s->joined)) return false;
        if (!aoi_tick_join(s)) {
            aoi_rollback_to(s, mark);
            return false;
        }
        s->stage = AOI_STAGE_TURNS;
    }
    if (!move_half_back(s) || !move_in_turn(s)) return false;
    if (!s->deferred && s->crossings.way_count && !aoi_judge_crossings(s)) return false;
    clear_movers(s);
    return true;
}

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

void aoi_refuse_movers(aoi_space *s) {
    aoi_records *r = &s->records;
    aoi_rollback(s);
    aoi_forget_ways(s);
    r->candidate_count = 0;
    if (s->half_moved) aoi_take_turn(r);
    for (uint32_t i = r->moved; i < r->mover_count; i++) r->entities[r->movers[i]].mover = AOI_NONE;
    r->mover_count = r->moved;
    r->moved = 0;
    s->half_moved = false;
    s->stage = AOI_STAGE_REPAIR;
    (void)aoi_settle(s); /* now, if there is memory; else before the next call */
}

/* ---- before a call ----------------------------------------------------------------------------------------------- */

bool aoi_settle_movers(aoi_space *s) {
    if (s->stage == AOI_STAGE_REPAIR) {
        bool placed = place_first(s, s->records.mover_count);
        if (placed) clear_movers(s);
        aoi_tidy(s);
        return placed;
    }
    bool chosen = s->stage != AOI_STAGE_NOTED || choose_stage(s);
    aoi_open_call(s);
    bool judged = chosen && aoi_judge_movers(s);
    aoi_commit(s);
    if (s->journal) aoi_log_settled(s, judged);
    return judged;
}
