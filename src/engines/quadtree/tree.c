/* tree.c - see tree.h. */
#include "engines/quadtree/tree.h"

#include "base/simd.h"

enum { TREE_CROWD = 64, TREE_SPARSE = TREE_CROWD / 2 }; /* a leaf of more splits; siblings of no more in all merge */
enum { TREE_TOP = 64, TREE_BATCH = 16, TREE_HITS = 256 };
enum { TREE_DEAD, TREE_LEAF, TREE_INNER };

#define TREE_HALF_STEPS 9223372036854775808.0 /* on one side of the origin */

/* ---- squares ----------------------------------------------------------------------------------------------------- */

/* Monotonic: comparing steps never contradicts comparing coordinates. */
static uint64_t tree_step_of(const aoi_tree *t, double v) {
    const uint64_t middle = UINT64_C(1) << 63;
    double k = v * t->inverse;
    if (k >= -TREE_HALF_STEPS && k < TREE_HALF_STEPS) {
        int64_t i = (int64_t)k;
        return (uint64_t)(i - (k < (double)i)) + middle; /* floor */
    }
    return k > 0 ? UINT64_MAX : k < 0 ? 0 : middle; /* 0 times infinity: not a number */
}

static uint64_t tree_last_of(int level) {
    return level == TREE_TOP ? UINT64_MAX : (UINT64_C(1) << level) - 1;
}

/* The level of the smallest square around places whose steps differ in these bits. */
static int tree_level_around(uint64_t bits) {
    int level = 0;
    for (int half = 32; half; half /= 2)
        if (bits >> half) bits >>= half, level += half;
    return level + (bits != 0);
}

static bool tree_holds(const aoi_quad *k, uint64_t x, uint64_t y) {
    return ((x ^ k->x) | (y ^ k->y)) <= tree_last_of(k->level);
}

static uint32_t tree_quadrant(const aoi_quad *k, uint64_t x, uint64_t y) {
    return (uint32_t)((x >> (k->level - 1) & 1) | (y >> (k->level - 1) & 1) << 1);
}

static void tree_set_square(aoi_quad *k, uint64_t x, uint64_t y, int level) {
    k->x = x & ~tree_last_of(level);
    k->y = y & ~tree_last_of(level);
    k->level = (uint8_t)level;
}

static const float *tree_x(const aoi_quad *k) {
    return k->items;
}
static const float *tree_y(const aoi_quad *k) {
    return k->items + k->cap;
}
static uint32_t *tree_refs(const aoi_quad *k) {
    return (uint32_t *)(void *)(k->items + 2 * (size_t)k->cap);
}
static uint32_t *tree_classes(const aoi_quad *k) {
    return tree_refs(k) + k->cap;
}

static size_t tree_bytes(uint32_t cap) {
    return cap * (2 * sizeof(float) + 2 * sizeof(uint32_t));
}

/* Whole lanes, so that a scan may read them; a lone entity wastes nothing. */
static uint32_t tree_cap_for(uint32_t count) {
    return count < AOI_SCAN_WIDTH ? count : (count + AOI_SCAN_WIDTH - 1) & ~(uint32_t)(AOI_SCAN_WIDTH - 1);
}

static void tree_append(aoi_tree *t, uint32_t leaf, float x, float y, uint32_t entity, uint32_t classes) {
    aoi_quad *k = t->quads + leaf;
    uint32_t slot = k->count++;
    k->items[slot] = x;
    k->items[k->cap + slot] = y;
    tree_refs(k)[slot] = entity;
    tree_classes(k)[slot] = classes;
    k->classes |= classes;
    t->world->entities[entity].home = leaf;
    t->world->entities[entity].slot = slot;
}

/* All items of `from`, which gives up its storage, to the leaves in which `to` has them: itself, or its quadrants. */
static void tree_hand_over(aoi_tree *t, aoi_quad *from, uint32_t to) {
    aoi_quad old = *from;
    from->items = NULL;
    from->count = from->cap = 0;
    for (uint32_t i = 0; i < old.count; i++) {
        uint32_t entity = tree_refs(&old)[i];
        const double *at = t->world->entities[entity].pos;
        const aoi_quad *k = t->quads + to;
        uint32_t leaf =
            k->state == TREE_LEAF ? to : k->child[tree_quadrant(k, tree_step_of(t, at[0]), tree_step_of(t, at[1]))];
        tree_append(t, leaf, tree_x(&old)[i], tree_y(&old)[i], entity, tree_classes(&old)[i]);
    }
    aoi_resize(&t->world->memory, old.items, tree_bytes(old.cap), 0);
}

/* Storage for so many, into which its own items move. */
static bool tree_set_cap(aoi_tree *t, uint32_t leaf, uint32_t cap) {
    aoi_quad *k = t->quads + leaf, old = *k;
    float *items = aoi_resize(&t->world->memory, NULL, 0, tree_bytes(cap));
    if (!items) return false;
    k->items = items;
    k->cap = cap;
    k->count = 0;
    tree_hand_over(t, &old, leaf);
    return true;
}

static void tree_list(aoi_tree *t, uint32_t leaf) {
    aoi_quad *k = t->quads + leaf;
    if (k->listed) return;
    k->listed = t->world->untidy = true;
    k->next = t->todo;
    t->todo = leaf;
}

/* Something came or moved: where it is too crowded, tidy shall see. */
static void tree_note_crowd(aoi_tree *t, uint32_t leaf) {
    aoi_quad *k = t->quads + leaf;
    if (k->count <= TREE_CROWD) return;
    if (k->patience) k->patience--;
    else tree_list(t, leaf);
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static bool tree_grow(aoi_tree *t, uint32_t n) {
    return AOI_GROW(&t->world->memory, t->quads, t->cap, t->top + (size_t)n);
}

static uint32_t tree_new_quad(aoi_tree *t, int state) {
    uint32_t i = t->unused;
    if (i != AOI_NONE) t->unused = t->quads[i].next;
    else i = t->top++;
    t->used++;
    t->quads[i] = (aoi_quad){.state = (uint8_t)state, .child = {AOI_NONE, AOI_NONE, AOI_NONE, AOI_NONE}};
    return i;
}

static void tree_reclaim(aoi_tree *t, uint32_t i) {
    t->quads[i].next = t->unused;
    t->unused = i;
}

static void tree_discard(aoi_tree *t, uint32_t i) {
    aoi_quad *k = t->quads + i;
    aoi_resize(&t->world->memory, k->items, tree_bytes(k->cap), 0);
    k->items = NULL;
    k->count = k->cap = 0;
    k->state = TREE_DEAD;
    t->used--;
    if (!k->listed) tree_reclaim(t, i); /* else when its turn comes */
}

/* Hangs a square below another; a leaf takes up the whole quadrant. */
static void tree_hang(aoi_tree *t, uint32_t parent, uint32_t i, uint64_t x, uint64_t y) {
    aoi_quad *k = t->quads + i, *p = parent != AOI_NONE ? t->quads + parent : NULL;
    k->parent = parent;
    if (p) p->child[tree_quadrant(p, x, y)] = i;
    else t->root = i;
    if (k->state == TREE_LEAF) tree_set_square(k, x, y, p ? p->level - 1 : TREE_TOP);
}

/* A new leaf for a place below `parent`, beside `other` if there is one in that quadrant already. */
static uint32_t tree_new_leaf(aoi_tree *t, uint32_t parent, uint32_t other, uint64_t x, uint64_t y) {
    if (!tree_grow(t, 2)) return AOI_NONE;
    if (other != AOI_NONE) {
        uint32_t i = tree_new_quad(t, TREE_INNER);
        aoi_quad *k = t->quads + i, *o = t->quads + other;
        tree_set_square(k, x, y, tree_level_around((x ^ o->x) | (y ^ o->y)));
        k->classes = o->classes;
        tree_hang(t, parent, i, x, y);
        tree_hang(t, i, other, o->x, o->y);
        parent = i;
    }
    uint32_t leaf = tree_new_quad(t, TREE_LEAF);
    tree_hang(t, parent, leaf, x, y);
    tree_list(t, leaf); /* it may stay empty */
    return leaf;
}

/* The smallest square around one nearby, and a place; AOI_NONE if the root does not hold it. */
static inline uint32_t tree_square_around(const aoi_tree *t, uint32_t near, uint64_t x, uint64_t y) {
    while (near != AOI_NONE && !tree_holds(t->quads + near, x, y)) near = t->quads[near].parent;
    return near;
}

uint32_t aoi_tree_reserve(aoi_tree *t, uint32_t near, const double *at) {
    uint64_t x = tree_step_of(t, at[0]), y = tree_step_of(t, at[1]);
    uint32_t parent = AOI_NONE, i = tree_square_around(t, near, x, y);
    if (i == AOI_NONE) i = t->root;
    while (i != AOI_NONE && t->quads[i].state == TREE_INNER && tree_holds(t->quads + i, x, y)) {
        parent = i;
        i = t->quads[i].child[tree_quadrant(t->quads + i, x, y)];
    }
    if (i == AOI_NONE || !tree_holds(t->quads + i, x, y)) i = tree_new_leaf(t, parent, i, x, y);
    if (i == AOI_NONE) return AOI_NONE;
    const aoi_quad *k = t->quads + i;
    return k->count < k->cap || tree_set_cap(t, i, tree_cap_for(k->cap + k->cap / 2 + 1)) ? i : AOI_NONE;
}

static void tree_raise_classes(aoi_tree *t, uint32_t i, uint32_t classes) {
    for (; i != AOI_NONE && (t->quads[i].classes & classes) != classes; i = t->quads[i].parent)
        t->quads[i].classes |= classes;
}

static uint32_t tree_sum_classes(const aoi_tree *t, const aoi_quad *k) {
    uint32_t all = 0;
    if (k->state == TREE_LEAF)
        for (uint32_t i = 0; i < k->count && all != k->classes; i++) all |= tree_classes(k)[i];
    else
        for (int d = 0; d < 4; d++) all |= k->child[d] != AOI_NONE ? t->quads[k->child[d]].classes : 0;
    return all;
}

static void tree_lower_classes(aoi_tree *t, uint32_t i) {
    for (; i != AOI_NONE; i = t->quads[i].parent) {
        uint32_t all = tree_sum_classes(t, t->quads + i);
        if (all == t->quads[i].classes) return;
        t->quads[i].classes = all;
    }
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

void aoi_tree_insert(aoi_tree *t, uint32_t leaf, const double *at, uint32_t entity, uint32_t classes) {
    tree_append(t, leaf, aoi_scan_float(at[0]), aoi_scan_float(at[1]), entity, classes);
    tree_raise_classes(t, t->quads[leaf].parent, classes);
    tree_note_crowd(t, leaf);
    t->count++;
}

uint32_t aoi_tree_remove(aoi_tree *t, uint32_t entity) {
    uint32_t leaf = t->world->entities[entity].home, slot = t->world->entities[entity].slot;
    aoi_quad *k = t->quads + leaf;
    uint32_t last = --k->count, classes = tree_classes(k)[slot];
    if (slot != last) {
        k->items[slot] = k->items[last];
        k->items[k->cap + slot] = k->items[k->cap + last];
        tree_refs(k)[slot] = tree_refs(k)[last];
        tree_classes(k)[slot] = tree_classes(k)[last];
        t->world->entities[tree_refs(k)[slot]].slot = slot;
    }
    t->count--;
    if (classes) tree_lower_classes(t, leaf);
    if (k->count <= TREE_SPARSE) tree_list(t, leaf);
    return classes;
}

bool aoi_tree_update(aoi_tree *t, uint32_t entity, const double *at) {
    uint32_t leaf = t->world->entities[entity].home, slot = t->world->entities[entity].slot;
    aoi_quad *k = t->quads + leaf;
    if (!tree_holds(k, tree_step_of(t, at[0]), tree_step_of(t, at[1]))) return false;
    k->items[slot] = aoi_scan_float(at[0]);
    k->items[k->cap + slot] = aoi_scan_float(at[1]);
    tree_note_crowd(t, leaf);
    return true;
}

uint32_t aoi_tree_classes(const aoi_tree *t, uint32_t entity) {
    const aoi_entity_record *e = t->world->entities + entity;
    return tree_classes(t->quads + e->home)[e->slot];
}

void aoi_tree_classify(aoi_tree *t, uint32_t entity, uint32_t add, uint32_t remove) {
    const aoi_entity_record *e = t->world->entities + entity;
    uint32_t *classes = tree_classes(t->quads + e->home) + e->slot;
    *classes = (*classes & ~remove) | add;
    if (add) tree_raise_classes(t, e->home, add);
    if (remove) tree_lower_classes(t, e->home);
}

/* ---- splitting and merging: refused memory leaves it for another time -------------------------------------------- */

/* Not while one of its entities is on its way to elsewhere: a move that is to be judged again. */
static void tree_split(aoi_tree *t, uint32_t leaf) {
    uint64_t x = 0, y = 0, bits = 0;
    uint32_t counts[4] = {0}, kids = 0;
    float *items[4] = {0};
    aoi_quad *k = t->quads + leaf;
    k->patience = k->count;
    for (uint32_t i = 0; i < k->count; i++) {
        const double *at = t->world->entities[tree_refs(k)[i]].pos;
        uint64_t ix = tree_step_of(t, at[0]), iy = tree_step_of(t, at[1]);
        if (!tree_holds(k, ix, iy)) return;
        if (!i) x = ix, y = iy;
        bits |= (x ^ ix) | (y ^ iy);
    }
    if (!bits || !tree_grow(t, 4)) return;
    k = t->quads + leaf;
    aoi_quad square = {.state = TREE_INNER};
    tree_set_square(&square, x, y, tree_level_around(bits));
    for (uint32_t i = 0; i < k->count; i++) {
        const double *at = t->world->entities[tree_refs(k)[i]].pos;
        counts[tree_quadrant(&square, tree_step_of(t, at[0]), tree_step_of(t, at[1]))]++;
    }
    while (kids < 4) {
        items[kids] = aoi_resize(&t->world->memory, NULL, 0, tree_bytes(tree_cap_for(counts[kids])));
        if (counts[kids] && !items[kids]) break;
        kids++;
    }
    if (kids < 4) {
        while (kids-- > 0) aoi_resize(&t->world->memory, items[kids], tree_bytes(tree_cap_for(counts[kids])), 0);
        return;
    }
    k->state = TREE_INNER;
    k->patience = 0;
    tree_set_square(k, x, y, square.level);
    for (uint32_t d = 0; d < 4; d++) {
        if (!counts[d]) continue;
        uint32_t i = tree_new_quad(t, TREE_LEAF);
        uint64_t half = UINT64_C(1) << (k->level - 1);
        t->quads[i].items = items[d];
        t->quads[i].cap = tree_cap_for(counts[d]);
        tree_hang(t, leaf, i, k->x | (d & 1 ? half : 0), k->y | (d & 2 ? half : 0));
        if (counts[d] > TREE_CROWD) tree_list(t, i);
    }
    tree_hand_over(t, k, leaf);
}

/* Makes one leaf of an inner square with few entities. */
static bool tree_merge(aoi_tree *t, uint32_t i) {
    aoi_quad *k = t->quads + i;
    uint32_t total = 0;
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        if (t->quads[k->child[d]].state != TREE_LEAF) return false;
        total += t->quads[k->child[d]].count;
    }
    if (total > TREE_SPARSE) return false;
    float *items = aoi_resize(&t->world->memory, NULL, 0, tree_bytes(tree_cap_for(total)));
    if (total && !items) return false;
    k->state = TREE_LEAF;
    k->items = items;
    k->cap = tree_cap_for(total);
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        tree_hand_over(t, t->quads + k->child[d], i);
        tree_discard(t, k->child[d]);
        k->child[d] = AOI_NONE;
    }
    tree_hang(t, k->parent, i, k->x, k->y);
    return true;
}

/* Takes out an empty leaf, and its parent where that has one child left: which is returned. */
static uint32_t tree_prune(aoi_tree *t, uint32_t leaf) {
    uint32_t p = t->quads[leaf].parent, left = AOI_NONE, kids = 0;
    tree_discard(t, leaf);
    if (p == AOI_NONE) t->root = AOI_NONE;
    for (int d = 0; p != AOI_NONE && d < 4; d++) {
        uint32_t *child = t->quads[p].child + d;
        if (*child == leaf) *child = AOI_NONE;
        else if (*child != AOI_NONE) left = *child, kids++;
    }
    if (kids != 1) return AOI_NONE;
    tree_hang(t, t->quads[p].parent, left, t->quads[left].x, t->quads[left].y);
    tree_discard(t, p);
    return left;
}

void aoi_tree_tidy(aoi_tree *t) {
    uint32_t i;
    while ((i = t->todo) != AOI_NONE) {
        t->todo = t->quads[i].next;
        t->quads[i].listed = false;
        if (t->quads[i].state == TREE_DEAD) tree_reclaim(t, i);
        while (i != AOI_NONE && t->quads[i].state == TREE_LEAF) {
            const aoi_quad *k = t->quads + i;
            uint32_t parent = k->parent;
            if (k->count > TREE_CROWD) {
                if (!k->patience) tree_split(t, i);
                break;
            }
            if (k->cap > 4 * TREE_CROWD) tree_set_cap(t, i, tree_cap_for(k->count)); /* a crowd has gone */
            if (parent != AOI_NONE && tree_merge(t, parent)) i = parent;
            else i = t->quads[i].count ? AOI_NONE : tree_prune(t, i);
        }
    }
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

typedef struct tree_query {
    const aoi_tree *t;
    const aoi_scan *q;
    aoi_tree_visit visit;
    const void *ud;
    uint64_t steps;
    uint32_t classes, count, leaves[TREE_BATCH]; /* scanned together: all are prefetched before the first is read */
    size_t found;
    aoi_tree_hit hits[TREE_HITS]; /* gathered before they are visited, and their records prefetched */
} tree_query;

static void tree_flush(tree_query *o) {
    if (o->found) o->visit(o->ud, o->hits, o->found);
    o->found = 0;
}

static void tree_scan_leaf(tree_query *o, const aoi_quad *k) {
    const uint32_t *refs = tree_refs(k), *classes = tree_classes(k);
    for (uint32_t at = 0; at < k->count; at += AOI_SCAN_MOST) {
        uint32_t n = k->count - at < AOI_SCAN_MOST ? k->count - at : AOI_SCAN_MOST;
        for (uint64_t bits = aoi_ring_scan(o->q, tree_x(k) + at, tree_y(k) + at, n); bits; bits &= bits - 1) {
            uint32_t i = at + (uint32_t)aoi_lanes_first(bits);
            o->hits[o->found] = (aoi_tree_hit){refs[i], classes[i]};
            o->found += !o->classes || classes[i] & o->classes; /* without a branch: written, and kept if it counts */
            AOI_PREFETCH(o->t->world->entities + refs[i]);
        }
        if (o->found > TREE_HITS - AOI_SCAN_MOST) tree_flush(o);
    }
    o->steps += k->count;
}

static void tree_scan_leaves(tree_query *o) {
    for (uint32_t i = 0; i < o->count; i++) tree_scan_leaf(o, o->t->quads + o->leaves[i]);
    o->count = 0;
}

static void tree_add_leaf(tree_query *o, uint32_t leaf) {
    const aoi_quad *k = o->t->quads + leaf;
    if (!k->count) return;
    AOI_PREFETCH(tree_x(k));
    AOI_PREFETCH(tree_y(k));
    AOI_PREFETCH(tree_refs(k));
    if (o->count == TREE_BATCH) tree_scan_leaves(o);
    o->leaves[o->count++] = leaf;
}

/* In steps: a ring, and the hole in it. */
typedef struct tree_span {
    uint64_t x0, y0, x1, y1;
} tree_span;

static tree_span tree_span_of(const aoi_tree *t, const double *center, const double *half) {
    return (tree_span){tree_step_of(t, center[0] - half[0]), tree_step_of(t, center[1] - half[1]),
                       tree_step_of(t, center[0] + half[0]), tree_step_of(t, center[1] + half[1])};
}

static bool tree_touches(const aoi_quad *k, const tree_span *f) {
    uint64_t side = tree_last_of(k->level);
    return k->x <= f->x1 && f->x0 <= k->x + side && k->y <= f->y1 && f->y0 <= k->y + side;
}

/* Strictly, since steps never contradict coordinates: what is in the square lies between the bounds. */
static bool tree_is_within(const aoi_quad *k, const tree_span *f) {
    uint64_t side = tree_last_of(k->level);
    return f->x0 < k->x && k->x + side < f->x1 && f->y0 < k->y && k->y + side < f->y1;
}

/* The smallest square known to be around the span; AOI_NONE in an empty tree. */
static inline uint32_t tree_square_around_span(const aoi_tree *t, uint32_t near, const tree_span *f) {
    near = tree_square_around(t, tree_square_around(t, near, f->x0, f->y0), f->x1, f->y1);
    return near != AOI_NONE ? near : t->root;
}

uint64_t aoi_tree_query(const aoi_tree *t, uint32_t near, const aoi_scan *q, uint32_t classes, aoi_tree_visit visit,
                        const void *ud) {
    const aoi_ring *r = &q->box;
    tree_span outer = tree_span_of(t, r->center, r->outer), hole = {0};
    uint32_t stack[3 * TREE_TOP + 4], depth = 0;
    tree_query o;
    o.t = t, o.q = q, o.visit = visit, o.ud = ud, o.classes = classes, o.steps = o.found = o.count = 0;
    if (r->inner[0] >= 0 && r->inner[1] >= 0) hole = tree_span_of(t, r->center, r->inner);
    near = tree_square_around_span(t, near, &outer);
    if (near != AOI_NONE) stack[depth++] = near;
    while (depth) {
        uint32_t i = stack[--depth];
        const aoi_quad *k = t->quads + i;
        if ((classes && !(k->classes & classes)) || !tree_touches(k, &outer) || tree_is_within(k, &hole)) continue;
        if (k->state == TREE_LEAF) {
            tree_add_leaf(&o, i);
            continue;
        }
        uint64_t half = UINT64_C(1) << (k->level - 1), x = k->x + half, y = k->y + half;
        uint32_t out = (outer.x0 >= x ? 5u : 0) | (outer.x1 < x ? 10u : 0) | (outer.y0 >= y ? 3u : 0) |
                       (outer.y1 < y ? 12u : 0); /* the quadrants that the ring does not touch, not even read */
        for (int d = 4; d-- > 0;) {
            if (out >> d & 1 || k->child[d] == AOI_NONE) continue;
            AOI_PREFETCH(t->quads + k->child[d]);
            stack[depth++] = k->child[d];
        }
    }
    tree_scan_leaves(&o);
    tree_flush(&o);
    return o.steps;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void aoi_tree_open(aoi_tree *t, aoi_world *world, double finest) {
    *t = (aoi_tree){.world = world, .inverse = 1 / finest};
    t->unused = t->root = t->todo = AOI_NONE;
}

void aoi_tree_close(aoi_tree *t) {
    for (uint32_t i = 0; i < t->top; i++)
        aoi_resize(&t->world->memory, t->quads[i].items, tree_bytes(t->quads[i].cap), 0);
    AOI_FREE(&t->world->memory, t->quads, t->cap);
}

void aoi_tree_clear(aoi_tree *t) {
    double inverse = t->inverse;
    aoi_tree_close(t);
    aoi_tree_open(t, t->world, 1);
    t->inverse = inverse;
}

/* ---- to look at -------------------------------------------------------------------------------------------------- */

/* Bounds of a square on one axis: what is beyond the outermost step is in it, too. */
static void tree_interval(const aoi_tree *t, uint64_t from, int level, double *lo, double *hi) {
    uint64_t last = from + tree_last_of(level);
    double begin = (double)(int64_t)(from - (UINT64_C(1) << 63)),
           side = level == TREE_TOP ? 2 * TREE_HALF_STEPS : ldexp(1, level);
    *lo = from == 0 ? (double)-INFINITY : begin / t->inverse;
    *hi = last == UINT64_MAX ? (double)INFINITY : (begin + side) / t->inverse;
}

static uint32_t tree_depth(const aoi_tree *t, const aoi_quad *k) {
    uint32_t depth = 0;
    for (; k->parent != AOI_NONE; k = t->quads + k->parent) depth++;
    return depth;
}

void aoi_tree_describe(const aoi_tree *t, aoi_describer *d) {
    for (uint32_t i = 0; i < t->top; i++) {
        const aoi_quad *k = t->quads + i;
        if (k->state == TREE_DEAD) continue;
        aoi_part p = {.kind = k->state == TREE_LEAF ? AOI_PART_LEAF : AOI_PART_SQUARE, .entities = k->count};
        p.layer = tree_depth(t, k);
        tree_interval(t, k->x, k->level, p.lo, p.hi);
        tree_interval(t, k->y, k->level, p.lo + 1, p.hi + 1);
        if (!aoi_tell_part(d, &p)) continue;
        for (uint32_t s = 0; s < k->count; s++) d->entry(d, 0, AOI_ENTRY_ENTITY, tree_refs(k)[s]);
    }
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *tree_check_quad(const aoi_tree *t, uint32_t i) {
    const aoi_quad *k = t->quads + i, *p = k->parent != AOI_NONE ? t->quads + k->parent : NULL;
    uint32_t kids = 0;
    if (k->state == TREE_DEAD) return "a square has died in the tree";
    if (p ? !tree_holds(p, k->x, k->y) || p->child[tree_quadrant(p, k->x, k->y)] != i : t->root != i)
        return "a square hangs in the wrong place";
    if (k->state == TREE_LEAF && k->level != (p ? p->level - 1 : TREE_TOP))
        return "a leaf does not take up its quadrant";
    if (k->count > k->cap || (k->state == TREE_INNER && k->cap)) return "a square holds more than it has room for";
    for (uint32_t s = 0; s < k->count; s++) {
        const aoi_entity_record *e = t->world->entities + tree_refs(k)[s];
        if (!tree_holds(k, tree_step_of(t, e->pos[0]), tree_step_of(t, e->pos[1])))
            return "an entity stands in the wrong leaf";
        if (e->home != i || e->slot != s || aoi_scan_float(e->pos[0]) != tree_x(k)[s] ||
            aoi_scan_float(e->pos[1]) != tree_y(k)[s])
            return "an entity is not where its leaf has it";
    }
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        if (k->state == TREE_LEAF || t->quads[k->child[d]].parent != i) return "a square does not know its parent";
        kids++;
    }
    if (k->state == TREE_INNER && kids < 2) return "an inner square has too few quadrants in use";
    if (k->classes != tree_sum_classes(t, k)) return "a square is wrong about the classes in it";
    return NULL;
}

bool aoi_tree_has(const aoi_tree *t, uint32_t entity) {
    const aoi_entity_record *e = t->world->entities + entity;
    const aoi_quad *k = t->quads + (e->home < t->top ? e->home : 0);
    return e->home < t->top && k->state == TREE_LEAF && e->slot < k->count && tree_refs(k)[e->slot] == entity;
}

const char *aoi_tree_check(const aoi_tree *t) {
    uint32_t used = 0, count = 0;
    for (uint32_t i = 0; i < t->top; i++) {
        if (t->quads[i].state == TREE_DEAD) continue;
        const char *wrong = tree_check_quad(t, i);
        if (wrong) return wrong;
        used++;
        count += t->quads[i].count;
    }
    return used == t->used && count == t->count ? NULL : "squares are counted wrongly";
}
