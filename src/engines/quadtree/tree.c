/* tree.c - see tree.h. */
#include "engines/quadtree/tree.h"

enum { CROWD = 32, SPARSE = CROWD / 2 }; /* a leaf of more splits; siblings of no more in all merge */
enum { TOP = 64, BATCH = 16 };
enum { DEAD, LEAF, INNER };

#define HALF_STEPS 9223372036854775808.0 /* on one side of the origin */

/* ---- squares ----------------------------------------------------------------------------------------------------- */

/* Monotonic: comparing steps never contradicts comparing coordinates. */
static uint64_t step_of(const aoi_quads *t, double v) {
    const uint64_t middle = UINT64_C(1) << 63;
    double k = v * t->inverse;
    if (k >= -HALF_STEPS && k < HALF_STEPS) {
        int64_t i = (int64_t)k;
        return (uint64_t)(i - (k < (double)i)) + middle; /* floor */
    }
    return k > 0 ? UINT64_MAX : k < 0 ? 0 : middle; /* 0 times infinity: not a number */
}

static uint64_t last_of(int level) {
    return level == TOP ? UINT64_MAX : (UINT64_C(1) << level) - 1;
}

/* The level of the smallest square around places whose steps differ in these bits. */
static int level_around(uint64_t bits) {
    int level = 0;
    for (int half = 32; half; half /= 2)
        if (bits >> half) bits >>= half, level += half;
    return level + (bits != 0);
}

static bool holds(const aoi_quad *k, uint64_t x, uint64_t y) {
    return ((x ^ k->x) | (y ^ k->y)) <= last_of(k->level);
}

static uint32_t quadrant(const aoi_quad *k, uint64_t x, uint64_t y) {
    return (uint32_t)((x >> (k->level - 1) & 1) | (y >> (k->level - 1) & 1) << 1);
}

static void set_square(aoi_quad *k, uint64_t x, uint64_t y, int level) {
    k->x = x & ~last_of(level);
    k->y = y & ~last_of(level);
    k->level = (uint8_t)level;
}

static const double *x_of(const aoi_quad *k) {
    return k->items;
}
static const double *y_of(const aoi_quad *k) {
    return k->items + k->cap;
}
static uint32_t *refs_of(const aoi_quad *k) {
    return (uint32_t *)(void *)(k->items + 2 * (size_t)k->cap);
}
static uint32_t *classes_of(const aoi_quad *k) {
    return refs_of(k) + k->cap;
}

static size_t bytes_of(uint32_t cap) {
    return cap * (2 * sizeof(double) + 2 * sizeof(uint32_t));
}

/* Whole lanes, so that a scan may read them; a lone entity wastes nothing. */
static uint32_t cap_for(uint32_t count) {
    return count < AOI_SCAN_LANES ? count : (count + AOI_SCAN_LANES - 1) & ~(uint32_t)(AOI_SCAN_LANES - 1);
}

static void append(aoi_quads *t, uint32_t leaf, double x, double y, uint32_t entity, uint32_t classes) {
    aoi_quad *k = t->quads + leaf;
    uint32_t slot = k->count++;
    k->items[slot] = x;
    k->items[k->cap + slot] = y;
    refs_of(k)[slot] = entity;
    classes_of(k)[slot] = classes;
    k->classes |= classes;
    t->world->entities[entity].home = leaf;
    t->world->entities[entity].slot = slot;
}

/* All items of `from`, which gives up its storage, to the leaves in which `to` has them: itself, or its quadrants. */
static void hand_over(aoi_quads *t, aoi_quad *from, uint32_t to) {
    aoi_quad old = *from;
    from->items = NULL;
    from->count = from->cap = 0;
    for (uint32_t i = 0; i < old.count; i++) {
        double x = x_of(&old)[i], y = y_of(&old)[i];
        aoi_quad *k = t->quads + to;
        uint32_t leaf = k->state == LEAF ? to : k->child[quadrant(k, step_of(t, x), step_of(t, y))];
        append(t, leaf, x, y, refs_of(&old)[i], classes_of(&old)[i]);
    }
    aoi_resize(&t->world->memory, old.items, bytes_of(old.cap), 0);
}

/* Storage for so many, into which its own items move. */
static bool rehouse(aoi_quads *t, uint32_t leaf, uint32_t cap) {
    aoi_quad *k = t->quads + leaf, old = *k;
    double *items = aoi_resize(&t->world->memory, NULL, 0, bytes_of(cap));
    if (!items) return false;
    k->items = items;
    k->cap = cap;
    k->count = 0;
    hand_over(t, &old, leaf);
    return true;
}

static void list(aoi_quads *t, uint32_t leaf) {
    aoi_quad *k = t->quads + leaf;
    if (k->listed) return;
    k->listed = true;
    k->next = t->todo;
    t->todo = leaf;
}

/* Something came or moved: where it is too crowded, tidy shall see. */
static void stir(aoi_quads *t, uint32_t leaf) {
    aoi_quad *k = t->quads + leaf;
    if (k->count <= CROWD) return;
    if (k->patience) k->patience--;
    else list(t, leaf);
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static bool reserve(aoi_quads *t, uint32_t n) {
    return AOI_GROW(&t->world->memory, t->quads, t->cap, t->top + (size_t)n);
}

static uint32_t new_quad(aoi_quads *t, int state) {
    uint32_t i = t->unused;
    if (i != AOI_NONE) t->unused = t->quads[i].next;
    else i = t->top++;
    t->used++;
    t->quads[i] = (aoi_quad){.state = (uint8_t)state, .child = {AOI_NONE, AOI_NONE, AOI_NONE, AOI_NONE}};
    return i;
}

static void reclaim(aoi_quads *t, uint32_t i) {
    t->quads[i].next = t->unused;
    t->unused = i;
}

static void discard(aoi_quads *t, uint32_t i) {
    aoi_quad *k = t->quads + i;
    aoi_resize(&t->world->memory, k->items, bytes_of(k->cap), 0);
    k->items = NULL;
    k->count = k->cap = 0;
    k->state = DEAD;
    t->used--;
    if (!k->listed) reclaim(t, i); /* else when its turn comes */
}

/* Hangs a square below another; a leaf takes up the whole quadrant. */
static void hang(aoi_quads *t, uint32_t parent, uint32_t i, uint64_t x, uint64_t y) {
    aoi_quad *k = t->quads + i, *p = parent != AOI_NONE ? t->quads + parent : NULL;
    k->parent = parent;
    if (p) p->child[quadrant(p, x, y)] = i;
    else t->root = i;
    if (k->state == LEAF) set_square(k, x, y, p ? p->level - 1 : TOP);
}

/* A new leaf for a place below `parent`, beside `other` if there is one in that quadrant already. */
static uint32_t plant(aoi_quads *t, uint32_t parent, uint32_t other, uint64_t x, uint64_t y) {
    if (!reserve(t, 2)) return AOI_NONE;
    if (other != AOI_NONE) {
        uint32_t i = new_quad(t, INNER);
        aoi_quad *k = t->quads + i, *o = t->quads + other;
        set_square(k, x, y, level_around((x ^ o->x) | (y ^ o->y)));
        k->classes = o->classes;
        hang(t, parent, i, x, y);
        hang(t, i, other, o->x, o->y);
        parent = i;
    }
    uint32_t leaf = new_quad(t, LEAF);
    hang(t, parent, leaf, x, y);
    list(t, leaf); /* it may stay empty */
    return leaf;
}

/* The smallest square around one nearby, and a place; AOI_NONE if the root does not hold it. */
static uint32_t square_around(const aoi_quads *t, uint32_t near, uint64_t x, uint64_t y) {
    while (near != AOI_NONE && !holds(t->quads + near, x, y)) near = t->quads[near].parent;
    return near;
}

uint32_t aoi_quads_ready(aoi_quads *t, uint32_t near, const double *at) {
    uint64_t x = step_of(t, at[0]), y = step_of(t, at[1]);
    uint32_t parent = AOI_NONE, i = square_around(t, near, x, y);
    if (i == AOI_NONE) i = t->root;
    while (i != AOI_NONE && t->quads[i].state == INNER && holds(t->quads + i, x, y)) {
        parent = i;
        i = t->quads[i].child[quadrant(t->quads + i, x, y)];
    }
    if (i == AOI_NONE || !holds(t->quads + i, x, y)) i = plant(t, parent, i, x, y);
    if (i == AOI_NONE) return AOI_NONE;
    const aoi_quad *k = t->quads + i;
    return k->count < k->cap || rehouse(t, i, cap_for(k->cap + k->cap / 2 + 1)) ? i : AOI_NONE;
}

static void raise_classes(aoi_quads *t, uint32_t i, uint32_t classes) {
    for (; i != AOI_NONE && (t->quads[i].classes & classes) != classes; i = t->quads[i].parent)
        t->quads[i].classes |= classes;
}

static uint32_t sum_classes(const aoi_quads *t, const aoi_quad *k) {
    uint32_t all = 0;
    if (k->state == LEAF)
        for (uint32_t i = 0; i < k->count && all != k->classes; i++) all |= classes_of(k)[i];
    else
        for (int d = 0; d < 4; d++) all |= k->child[d] != AOI_NONE ? t->quads[k->child[d]].classes : 0;
    return all;
}

static void lower_classes(aoi_quads *t, uint32_t i) {
    for (; i != AOI_NONE; i = t->quads[i].parent) {
        uint32_t all = sum_classes(t, t->quads + i);
        if (all == t->quads[i].classes) return;
        t->quads[i].classes = all;
    }
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

void aoi_quads_put(aoi_quads *t, uint32_t leaf, const double *at, uint32_t entity, uint32_t classes) {
    append(t, leaf, at[0], at[1], entity, classes);
    raise_classes(t, t->quads[leaf].parent, classes);
    stir(t, leaf);
    t->count++;
}

uint32_t aoi_quads_take(aoi_quads *t, uint32_t entity) {
    uint32_t leaf = t->world->entities[entity].home, slot = t->world->entities[entity].slot;
    aoi_quad *k = t->quads + leaf;
    uint32_t last = --k->count, classes = classes_of(k)[slot];
    if (slot != last) {
        k->items[slot] = k->items[last];
        k->items[k->cap + slot] = k->items[k->cap + last];
        refs_of(k)[slot] = refs_of(k)[last];
        classes_of(k)[slot] = classes_of(k)[last];
        t->world->entities[refs_of(k)[slot]].slot = slot;
    }
    t->count--;
    if (classes) lower_classes(t, leaf);
    if (k->count <= SPARSE) list(t, leaf);
    return classes;
}

bool aoi_quads_stay(aoi_quads *t, uint32_t entity, const double *at) {
    uint32_t leaf = t->world->entities[entity].home, slot = t->world->entities[entity].slot;
    aoi_quad *k = t->quads + leaf;
    if (!holds(k, step_of(t, at[0]), step_of(t, at[1]))) return false;
    k->items[slot] = at[0];
    k->items[k->cap + slot] = at[1];
    stir(t, leaf);
    return true;
}

uint32_t aoi_quads_classes(const aoi_quads *t, uint32_t entity) {
    const aoi_entity_record *e = t->world->entities + entity;
    return classes_of(t->quads + e->home)[e->slot];
}

void aoi_quads_classify(aoi_quads *t, uint32_t entity, uint32_t add, uint32_t remove) {
    const aoi_entity_record *e = t->world->entities + entity;
    uint32_t *classes = classes_of(t->quads + e->home) + e->slot;
    *classes = (*classes & ~remove) | add;
    if (add) raise_classes(t, e->home, add);
    if (remove) lower_classes(t, e->home);
}

/* ---- splitting and merging: refused memory leaves it for another time -------------------------------------------- */

static void split(aoi_quads *t, uint32_t leaf) {
    uint64_t x = 0, y = 0, bits = 0;
    uint32_t counts[4] = {0}, kids = 0;
    double *items[4] = {0};
    aoi_quad *k = t->quads + leaf;
    for (uint32_t i = 0; i < k->count; i++) {
        uint64_t ix = step_of(t, x_of(k)[i]), iy = step_of(t, y_of(k)[i]);
        if (!i) x = ix, y = iy;
        bits |= (x ^ ix) | (y ^ iy);
    }
    k->patience = k->count;
    if (!bits || !reserve(t, 4)) return;
    k = t->quads + leaf;
    aoi_quad square = {.state = INNER};
    set_square(&square, x, y, level_around(bits));
    for (uint32_t i = 0; i < k->count; i++) counts[quadrant(&square, step_of(t, x_of(k)[i]), step_of(t, y_of(k)[i]))]++;
    while (kids < 4) {
        items[kids] = aoi_resize(&t->world->memory, NULL, 0, bytes_of(cap_for(counts[kids])));
        if (counts[kids] && !items[kids]) break;
        kids++;
    }
    if (kids < 4) {
        while (kids-- > 0) aoi_resize(&t->world->memory, items[kids], bytes_of(cap_for(counts[kids])), 0);
        return;
    }
    k->state = INNER;
    k->patience = 0;
    set_square(k, x, y, square.level);
    for (uint32_t d = 0; d < 4; d++) {
        if (!counts[d]) continue;
        uint32_t i = new_quad(t, LEAF);
        uint64_t half = UINT64_C(1) << (k->level - 1);
        t->quads[i].items = items[d];
        t->quads[i].cap = cap_for(counts[d]);
        hang(t, leaf, i, k->x | (d & 1 ? half : 0), k->y | (d & 2 ? half : 0));
        if (counts[d] > CROWD) list(t, i);
    }
    hand_over(t, k, leaf);
}

/* Makes one leaf of an inner square with few entities. */
static bool merge(aoi_quads *t, uint32_t i) {
    aoi_quad *k = t->quads + i;
    uint32_t total = 0;
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        if (t->quads[k->child[d]].state != LEAF) return false;
        total += t->quads[k->child[d]].count;
    }
    if (total > SPARSE) return false;
    double *items = aoi_resize(&t->world->memory, NULL, 0, bytes_of(cap_for(total)));
    if (total && !items) return false;
    k->state = LEAF;
    k->items = items;
    k->cap = cap_for(total);
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        hand_over(t, t->quads + k->child[d], i);
        discard(t, k->child[d]);
        k->child[d] = AOI_NONE;
    }
    hang(t, k->parent, i, k->x, k->y);
    return true;
}

/* Takes out an empty leaf, and its parent where that has one child left: which is returned. */
static uint32_t prune(aoi_quads *t, uint32_t leaf) {
    uint32_t p = t->quads[leaf].parent, left = AOI_NONE, kids = 0;
    discard(t, leaf);
    if (p == AOI_NONE) t->root = AOI_NONE;
    for (int d = 0; p != AOI_NONE && d < 4; d++) {
        uint32_t *child = t->quads[p].child + d;
        if (*child == leaf) *child = AOI_NONE;
        else if (*child != AOI_NONE) left = *child, kids++;
    }
    if (kids != 1) return AOI_NONE;
    hang(t, t->quads[p].parent, left, t->quads[left].x, t->quads[left].y);
    discard(t, p);
    return left;
}

void aoi_quads_tidy(aoi_quads *t) {
    uint32_t i;
    while ((i = t->todo) != AOI_NONE) {
        t->todo = t->quads[i].next;
        t->quads[i].listed = false;
        if (t->quads[i].state == DEAD) reclaim(t, i);
        while (i != AOI_NONE && t->quads[i].state == LEAF) {
            const aoi_quad *k = t->quads + i;
            uint32_t parent = k->parent;
            if (k->count > CROWD) {
                if (!k->patience) split(t, i);
                break;
            }
            if (k->cap > 4 * CROWD) rehouse(t, i, cap_for(k->count)); /* a crowd has gone */
            if (parent != AOI_NONE && merge(t, parent)) i = parent;
            else i = t->quads[i].count ? AOI_NONE : prune(t, i);
        }
    }
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

typedef struct tour {
    const aoi_quads *t;
    const aoi_ring *q;
    aoi_quads_visit visit;
    const void *ud;
    uint64_t steps;
    uint32_t classes, count, leaves[BATCH]; /* scanned together: all are asked for before the first is read */
} tour;

static void scan_leaf(tour *o, const aoi_quad *k) {
    uint32_t hits[AOI_QUADS_CHUNK], n;
    for (uint32_t at = 0; at < k->count; at += n) {
        n = k->count - at < AOI_QUADS_CHUNK ? k->count - at : AOI_QUADS_CHUNK;
        size_t found = o->t->scan(o->q, &(aoi_run){x_of(k) + at, y_of(k) + at, o->t->numbers, n}, 1, hits);
        for (size_t i = 0; i < found; i++) {
            uint32_t classes = classes_of(k)[at + hits[i]];
            if (classes & o->classes || !o->classes) o->visit(o->ud, refs_of(k)[at + hits[i]], classes);
        }
    }
    o->steps += k->count;
}

static void scan_leaves(tour *o) {
    for (uint32_t i = 0; i < o->count; i++) scan_leaf(o, o->t->quads + o->leaves[i]);
    o->count = 0;
}

static void add_leaf(tour *o, uint32_t leaf) {
    const aoi_quad *k = o->t->quads + leaf;
    if (!k->count) return;
    AOI_PREFETCH(x_of(k));
    AOI_PREFETCH(y_of(k));
    AOI_PREFETCH(refs_of(k));
    if (o->count == BATCH) scan_leaves(o);
    o->leaves[o->count++] = leaf;
}

/* In steps: a ring, and the hole in it. */
typedef struct frame {
    uint64_t x0, y0, x1, y1;
} frame;

static frame frame_of(const aoi_quads *t, const double *center, const double *half) {
    return (frame){step_of(t, center[0] - half[0]), step_of(t, center[1] - half[1]), step_of(t, center[0] + half[0]),
                   step_of(t, center[1] + half[1])};
}

static bool touches(const aoi_quad *k, const frame *f) {
    uint64_t side = last_of(k->level);
    return k->x <= f->x1 && f->x0 <= k->x + side && k->y <= f->y1 && f->y0 <= k->y + side;
}

/* Strictly, since steps never contradict coordinates: what is in the square lies between the bounds. */
static bool is_within(const aoi_quad *k, const frame *f) {
    uint64_t side = last_of(k->level);
    return f->x0 < k->x && k->x + side < f->x1 && f->y0 < k->y && k->y + side < f->y1;
}

uint64_t aoi_quads_sweep(const aoi_quads *t, uint32_t near, const aoi_ring *q, uint32_t classes, aoi_quads_visit visit,
                         const void *ud) {
    frame outer = frame_of(t, q->center, q->outer), hole = {0};
    uint32_t stack[3 * TOP + 4], depth = 0;
    tour o = {.t = t, .q = q, .visit = visit, .ud = ud, .classes = classes};
    if (q->inner[0] >= 0 && q->inner[1] >= 0) hole = frame_of(t, q->center, q->inner);
    near = square_around(t, square_around(t, near, outer.x0, outer.y0), outer.x1, outer.y1);
    if (near == AOI_NONE) near = t->root;
    if (near != AOI_NONE) stack[depth++] = near;
    while (depth) {
        uint32_t i = stack[--depth];
        const aoi_quad *k = t->quads + i;
        if ((classes && !(k->classes & classes)) || !touches(k, &outer) || is_within(k, &hole)) continue;
        if (k->state == LEAF) {
            add_leaf(&o, i);
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
    scan_leaves(&o);
    return o.steps;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void aoi_quads_open(aoi_quads *t, aoi_world *world, double finest) {
    *t = (aoi_quads){.world = world, .scan = aoi_best_scanner(), .inverse = 1 / finest};
    t->unused = t->root = t->todo = AOI_NONE;
    for (uint32_t i = 0; i < AOI_QUADS_CHUNK; i++) t->numbers[i] = i;
}

void aoi_quads_close(aoi_quads *t) {
    for (uint32_t i = 0; i < t->top; i++)
        aoi_resize(&t->world->memory, t->quads[i].items, bytes_of(t->quads[i].cap), 0);
    AOI_FREE(&t->world->memory, t->quads, t->cap);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static const char *check_quad(const aoi_quads *t, uint32_t i) {
    const aoi_quad *k = t->quads + i, *p = k->parent != AOI_NONE ? t->quads + k->parent : NULL;
    uint32_t kids = 0;
    if (k->state == DEAD) return "a square has died in the tree";
    if (p ? !holds(p, k->x, k->y) || p->child[quadrant(p, k->x, k->y)] != i : t->root != i)
        return "a square hangs in the wrong place";
    if (k->state == LEAF && k->level != (p ? p->level - 1 : TOP)) return "a leaf does not take up its quadrant";
    if (k->count > k->cap || (k->state == INNER && k->cap)) return "a square holds more than it has room for";
    for (uint32_t s = 0; s < k->count; s++) {
        if (!holds(k, step_of(t, x_of(k)[s]), step_of(t, y_of(k)[s]))) return "an entity stands in the wrong leaf";
        const aoi_entity_record *e = t->world->entities + refs_of(k)[s];
        if (e->home != i || e->slot != s || e->pos[0] != x_of(k)[s] || e->pos[1] != y_of(k)[s])
            return "an entity is not where its leaf has it";
    }
    for (int d = 0; d < 4; d++) {
        if (k->child[d] == AOI_NONE) continue;
        if (k->state == LEAF || t->quads[k->child[d]].parent != i) return "a square does not know its parent";
        kids++;
    }
    if (k->state == INNER && kids < 2) return "an inner square has too few quadrants in use";
    if (k->classes != sum_classes(t, k)) return "a square is wrong about the classes in it";
    return NULL;
}

bool aoi_quads_has(const aoi_quads *t, uint32_t entity) {
    const aoi_entity_record *e = t->world->entities + entity;
    const aoi_quad *k = t->quads + (e->home < t->top ? e->home : 0);
    return e->home < t->top && k->state == LEAF && e->slot < k->count && refs_of(k)[e->slot] == entity;
}

const char *aoi_quads_check(const aoi_quads *t) {
    uint32_t used = 0, count = 0;
    for (uint32_t i = 0; i < t->top; i++) {
        if (t->quads[i].state == DEAD) continue;
        const char *wrong = check_quad(t, i);
        if (wrong) return wrong;
        used++;
        count += t->quads[i].count;
    }
    return used == t->used && count == t->count ? NULL : "squares are counted wrongly";
}
