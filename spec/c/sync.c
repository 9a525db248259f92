/* Client synchronisation through the C API: a decoder as the host would write it, every allocation refused once, and the
 * fuzzer of the reader on messages with flipped, cut and added bytes. */
#include "../../fuzz/sync_read.c"
#include "output.h"

enum { MOST = 64 };

/* What a client has been told, by id 0 .. MOST - 1. */
typedef struct picture {
    bool known[MOST];
    uint64_t kind[MOST];
    double pos[MOST][3];
    double hp[MOST];
    uint32_t name[MOST];   /* its length */
    int64_t carrier[MOST]; /* 0: none */
} picture;

static void picture_put(picture *p, aoi_reader *r, int64_t id) {
    aoi_news_value v;
    while (aoi_read_value(r, &v)) {
        if (v.type == AOI_I16) p->hp[id] = v.value.number;
        else if (v.value.size == v.total || v.offset + v.value.size == v.total) p->name[id] = v.total;
    }
}

static unsigned long messages; /* that were applied */

static void picture_apply(picture *p, const aoi_message *m, int dims) {
    aoi_reader r;
    aoi_news news;
    bool gone[MOST] = {false};
    messages++;
    if (!aoi_read_begin(&r, m->bytes, m->size) && r.anew) memset(p->known, 0, sizeof p->known);
    for (int pass = 0; pass < 2; pass++) { /* what is gone first: an id may be gone and have appeared */
        EXPECT(!aoi_read_begin(&r, m->bytes, m->size) && r.dimensions == dims);
        while (aoi_read_next(&r, &news)) {
            if (!EXPECT(news.id >= 0 && news.id < MOST) || (pass == 0) != (news.what == AOI_GONE)) continue;
            if (news.what == AOI_STATE && !p->known[news.id] && gone[news.id]) continue; /* its last */
            gone[news.id] |= news.what == AOI_GONE;
            EXPECT(p->known[news.id] == !(news.what & AOI_APPEARED));
            p->known[news.id] = news.what != AOI_GONE;
            if (news.what & AOI_APPEARED) p->hp[news.id] = p->name[news.id] = 0;
            picture_put(p, &r, news.id);
            if (news.what & (AOI_APPEARED | AOI_TOUCHED)) p->kind[news.id] = news.kind;
            if (news.what & (AOI_APPEARED | AOI_MOVED | AOI_RIDING)) {
                EXPECT(news.what & (AOI_APPEARED | AOI_RIDING) || !p->carrier[news.id]);
                memcpy(p->pos[news.id], news.pos, sizeof news.pos);
                p->carrier[news.id] = news.carrier;
                EXPECT(!news.carrier || news.carrier == m->client || p->known[news.carrier] || pass == 0);
            }
        }
        EXPECT(!r.fault);
    }
    for (int k = 0; k < MOST; k++) {
        const int64_t carrier = p->known[k] ? p->carrier[k] : 0;
        EXPECT(!carrier || carrier == m->client || p->known[carrier]);
    }
}

/* ---- a town: all clients, told without limits ---------------------------------------------------------------------- */

typedef struct town {
    bool several, riders; /* several: clients may have two views */
    aoi_space *space;
    aoi_sync *sync;
    picture pictures[MOST];
    double quantum, hp[MOST];
    int64_t team[MOST], side[MOST]; /* of entities, of clients */
    uint32_t name[MOST];
    int dims;
} town;

static bool town_open(town *t, const setup *u, double quantum, const aoi_relevance *r) {
    aoi_options o = options_of(u);
    memset(t, 0, sizeof *t);
    t->riders = random_below(2);
    t->dims = u->dims;
    t->quantum = quantum;
    if (aoi_open(&o, &t->space) != AOI_OK) return false;
    const aoi_field fields[] = {
        {"hp", AOI_I16, AOI_TO_ALL}, {"name", AOI_STRING, AOI_TO_TEAM}, {"bag", AOI_BYTES, AOI_TO_OWN}};
    aoi_sync_options so = {.quantum = quantum, .fields = fields, .field_count = 3, .riders = t->riders};
    if (r) so.clients = *r;
    return aoi_sync_open(t->space, &so, &t->sync) == AOI_OK;
}

/* One random call; AOI_OK, AOI_ENOMEM, or a refusal that has nothing to do with memory. */
typedef struct town_call {
    int verb;
    int64_t id, other;
    double pos[3], radius;
} town_call;

enum {
    ENTER,
    LEAVE,
    MOVE,
    KIND,
    ADD,
    REMOVE,
    RESEND,
    PIN,
    UNPIN,
    TOUCH,
    PRIORITY,
    PUT,
    TEAM,
    SIDE,
    FAVOUR,
    RIDE,
    VERBS
};

static town_call random_call(void) {
    town_call c = {.verb = (int)random_below(VERBS + 8), .id = random_below(MOST / 2), .other = random_below(MOST / 2)};
    if (c.verb >= VERBS) c.verb = c.verb % 2 ? MOVE : c.verb % 4 ? ENTER : ADD;
    for (int a = 0; a < 3; a++) c.pos[a] = (double)random_below(400) / 10 - 20;
    c.radius = 1 + random_below(20);
    return c;
}

static int town_do(town *t, const town_call *c) {
    aoi_entity e = aoi_find(t->space, c->id), other = aoi_find(t->space, c->other);
    aoi_area view = {.shape = AOI_CIRCLE, .mask = AOI_ALL_KINDS, .radius = c->radius, .margin = 3};
    aoi_area wide = {.shape = AOI_SQUARE, .mask = 2, .radius = 2 * c->radius};
    bool client = !AOI_IS_NULL(aoi_sync_view(t->sync, e, 0));
    int result = AOI_OK;
    switch (c->verb) {
    case ENTER:
        result = aoi_enter(t->space, c->id, c->pos, 1 + (uint64_t)c->other % 3, NULL);
        if (result == AOI_OK) t->hp[c->id] = t->name[c->id] = (uint32_t)(t->team[c->id] = 0);
        return result;
    case TEAM:
        result = aoi_sync_set_team(t->sync, e, c->other % 3);
        if (result == AOI_OK) t->team[c->id] = c->other % 3;
        return result;
    case SIDE: {
        aoi_relevance r;
        if (!aoi_sync_get(t->sync, e, &r)) return AOI_EGONE;
        r.team = c->other % 3;
        result = aoi_sync_set(t->sync, e, &r);
        if (result == AOI_OK) t->side[c->id] = r.team;
        return result;
    }
    case RIDE:
        return aoi_attach(t->space, e, c->radius < 8 ? (aoi_entity){0, 0} : other, c->pos);
    case FAVOUR:
        return aoi_sync_set_priority_for(t->sync, e, other, (double)((int)c->radius % 4));
    case PUT: {
        static const char bytes[200];
        const uint32_t field = (uint32_t)c->other % 3, size = (uint32_t)c->radius * 10;
        const aoi_value v = {.number = field ? 0 : c->pos[0] < 0 ? -300 : 7, .bytes = bytes, .size = size};
        result = aoi_sync_put(t->sync, e, field, &v);
        if (result == AOI_OK && field == 0) t->hp[c->id] = v.number;
        if (result == AOI_OK && field == 1) t->name[c->id] = size;
        return result;
    }
    case LEAVE:
        return aoi_leave(t->space, e);
    case MOVE:
        return aoi_move(t->space, e, c->pos);
    case KIND:
        return aoi_set_kind(t->space, e, (uint64_t)c->other % 3);
    case ADD:
        result = client ? AOI_EEXIST
                        : aoi_sync_add(t->sync, e, (aoi_area[]){view, wide}, t->several && c->other % 2 ? 2 : 1, NULL);
        if (result == AOI_OK) t->pictures[c->id] = (picture){0};
        if (result == AOI_OK) t->side[c->id] = 0;
        return result;
    case REMOVE:
        return aoi_sync_remove(t->sync, e);
    case RESEND:
        result = aoi_sync_resend(t->sync, e);
        if (result == AOI_OK) t->pictures[c->id] = (picture){0};
        return result;
    case PIN:
        return aoi_sync_pin(t->sync, e, other);
    case UNPIN:
        return aoi_sync_unpin(t->sync, e, other);
    case TOUCH:
        return aoi_sync_touch(t->sync, e);
    default:
        return aoi_sync_set_priority(t->sync, e, 1 + (double)(c->other % 3));
    }
}

static int town_tick(town *t) {
    aoi_message m;
    int result = aoi_sync_begin(t->sync);
    while (result == AOI_OK && (result = aoi_sync_next(t->sync, &m)) == AOI_OK && m.bytes) {
        picture_apply(&t->pictures[m.client], &m, t->dims);
        EXPECT(aoi_sync_sent(t->sync));
    }
    return result;
}

/* The carrier that is sent of a target; 0: none. */
static int64_t carrier_of(const town *t, aoi_entity target, double *offset) {
    aoi_entity carrier;
    int64_t id = MOST;
    if (!t->riders || !aoi_carrier(t->space, target, &carrier, offset)) return 0;
    while (id > 0 && !AOI_EQUALS(aoi_find(t->space, id), carrier)) id--;
    return id;
}

/* Whether a client should know a target that it sees: so it does its carriers, too. */
static bool rides_along(const town *t, const picture *p, int64_t client, aoi_entity target) {
    const int64_t id = carrier_of(t, target, NULL);
    return !id || id == client || p->known[id];
}

static double rounded(const town *t, double v) {
    return t->quantum > 0 ? t->quantum * floor(v / t->quantum + 0.5) : (double)(float)v;
}

/* After a tick each client knows what its node sees, what is pinned aside. */
static void town_check(town *t) {
    const char *wrong = aoi_check(t->space);
    if (!EXPECT(!wrong)) fprintf(stderr, "%s\n", wrong);
    for (int64_t id = 0; id < MOST; id++) {
        aoi_entity e = aoi_find(t->space, id);
        aoi_node n = aoi_sync_view(t->sync, e, 0);
        for (int64_t k = 0; k < MOST && !AOI_IS_NULL(n); k++) {
            aoi_entity target = aoi_find(t->space, k);
            const picture *p = &t->pictures[id];
            EXPECT(p->known[k] == aoi_sync_knows(t->sync, e, target));
            if (!p->known[k]) {
                EXPECT(!rides_along(t, p, id, target) ||
                       (!aoi_sees(t->space, n, target) && !aoi_sees(t->space, aoi_sync_view(t->sync, e, 1), target)));
                continue;
            }
            double pos[3] = {0};
            uint64_t kind = 0;
            EXPECT(aoi_position(t->space, target, pos) && aoi_kind(t->space, target, &kind) && kind == p->kind[k]);
            double offset[3];
            const int64_t on = carrier_of(t, target, offset);
            EXPECT(p->carrier[k] == on && rides_along(t, p, id, target));
            for (int a = 0; a < t->dims; a++) EXPECT(p->pos[k][a] == rounded(t, on ? offset[a] : pos[a]));
            const bool shown = id == k || (t->side[id] && t->side[id] == t->team[k]);
            EXPECT(p->hp[k] == t->hp[k] && p->name[k] == (shown ? t->name[k] : 0));
        }
    }
}

static void histories(void) {
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        town *t = malloc(sizeof *t);
        if (!EXPECT(t && town_open(t, &u, i % 3 ? 0.05 : 0, NULL))) exit(expect_report("sync"));
        t->several = true;
        for (int step = 0; step < 120; step++) {
            for (int k = 0; k < 8; k++) {
                town_call c = random_call();
                (void)town_do(t, &c);
            }
            EXPECT(town_tick(t) == AOI_OK);
            town_check(t);
        }
        if (i % 2) aoi_sync_close(t->sync);
        close_space(t->space);
        free(t);
    }
}

/* ---- every option of clients, changing while they run -------------------------------------------------------------- */

static void set_options(town *t, const aoi_relevance *r) {
    for (int64_t id = 0; id < MOST; id++) {
        aoi_entity e = aoi_find(t->space, id);
        const aoi_tier tiers[] = {{5, 1 + random_below(3), 0}, {20, 2 + random_below(9), 0}};
        const aoi_tier by_kind[] = {{5, 2, 1}, {20, 3, 1}, {8, 1 + random_below(5), 3}};
        const aoi_kind_limit limits[] = {{1, 3}, {3, random_below(4)}};
        const uint32_t least = aoi_sync_least_bytes(t->sync), which = random_below(4);
        const aoi_relevance other = {.limit = which || random_below(3) ? 0 : 1 + random_below(8),
                                     .limit_count = which == 1 ? 1 + random_below(2) : 0,
                                     .limits = limits,
                                     .bytes = random_below(3) ? 0 : least + random_below(100),
                                     .tier_count = random_below(which < 2 ? 3 : 4),
                                     .tiers = which < 2 ? tiers : by_kind,
                                     .self = random_below(2),
                                     .team = random_below(3)};
        if (AOI_IS_NULL(aoi_sync_view(t->sync, e, 0)) || (!r && random_below(8))) continue;
        EXPECT(aoi_sync_set(t->sync, e, r ? r : &other) == AOI_OK);
        t->side[id] = (r ? r : &other)->team;
    }
}

/* What a client has been told it knows, with every option; and all of it, without any. */
static void mixed(void) {
    enum { MESSAGES = 6000 };
    const unsigned long most = (unsigned long)random_steps(MESSAGES);
    setup u;
    for (unsigned long i = 0, begin = messages; messages - begin < most; i++) {
        if (!every_setup((int)(i % 10), &u)) continue;
        town *t = malloc(sizeof *t);
        if (!EXPECT(t && town_open(t, &u, i % 3 ? 0.05 : 0, NULL))) exit(expect_report("sync"));
        t->several = i % 2;
        for (int step = 1; step <= 90; step++) {
            for (int k = 0; k < 8; k++) {
                town_call c = random_call();
                (void)town_do(t, &c);
            }
            set_options(t, NULL);
            EXPECT(town_tick(t) == AOI_OK);
            for (int64_t id = 0; id < MOST; id++)
                for (int64_t k = 0; k < MOST && !AOI_IS_NULL(aoi_sync_view(t->sync, aoi_find(t->space, id), 0)); k++)
                    EXPECT(t->pictures[id].known[k] ==
                           aoi_sync_knows(t->sync, aoi_find(t->space, id), aoi_find(t->space, k)));
            if (step % 30) continue;
            set_options(t, &(aoi_relevance){0});
            for (int k = 0; k < 2; k++) EXPECT(town_tick(t) == AOI_OK);
            town_check(t);
        }
        close_space(t->space);
        free(t);
    }
}

/* ---- refused memory: call or tick n fails once, or for ever, and has no effect ------------------------------------- */

/* A tick that is refused memory tells the rest with the next one. */
static void refuse_tick(town *t) {
    for (long n = 1;; n++) {
        host_refuse(n, 1);
        int result = town_tick(t);
        bool refused = host_relent();
        EXPECT(result == AOI_OK || (refused && result == AOI_ENOMEM));
        if (!refused) break;
        if (result == AOI_OK) continue;
        EXPECT(!aoi_check(t->space));
    }
    EXPECT(town_tick(t) == AOI_OK);
}

static void refusals(void) {
    const aoi_tier tiers[] = {{5, 1, 0}, {20, 2, 0}};
    const aoi_tier by_kind[] = {{5, 2, 1}, {20, 3, 3}};
    const aoi_kind_limit limits[] = {{1, 3}, {2, 2}};
    const aoi_relevance kinds[] = {{0},
                                   {.limit = 5},
                                   {.bytes = 120},
                                   {.limit = 6, .tier_count = 2, .tiers = tiers},
                                   {.limit_count = 2, .limits = limits, .tier_count = 2, .tiers = by_kind}};
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        town *t = malloc(sizeof *t);
        int kind = i % 5;
        if (!EXPECT(t && town_open(t, &u, 0.05, kinds + kind))) exit(expect_report("sync"));
        for (int step = 0; step < 60; step++) {
            for (int k = 0; k < 6; k++) {
                town_call c = random_call();
                for (long n = 1;; n++) {
                    host_refuse(n, step % 2 ? 1 : HOST_FOR_EVER);
                    int result = town_do(t, &c);
                    if (!host_relent() || result != AOI_ENOMEM) break;
                    if (n % 4 == 1) EXPECT(!aoi_check(t->space));
                }
            }
            refuse_tick(t);
            if (kind == 0) town_check(t);
            else EXPECT(!aoi_check(t->space));
        }
        close_space(t->space);
        free(t);
    }
}

/* A client has all of its views, or it is none. */
static void refused_views(void) {
    const aoi_area views[] = {{.radius = 5, .mask = 1}, {.radius = 9, .mask = 1}, {.radius = 2, .mask = 1}};
    setup u;
    for (int i = 0; every_setup(i, &u); i++) {
        aoi_space *s = open_space(&u);
        aoi_sync *y = NULL;
        bool again = true;
        EXPECT(aoi_sync_open(s, &(aoi_sync_options){0}, &y) == AOI_OK);
        for (int64_t id = 1; id < 9; id++) enter(s, id, (double)id);
        const aoi_entity e = aoi_find(s, 1);
        for (long n = 1; again; n++) {
            host_refuse(n, n % 2 ? HOST_FOR_EVER : 1);
            int result = aoi_sync_add(y, e, views, 3, &(aoi_relevance){.self = i % 2});
            again = result == AOI_ENOMEM;
            EXPECT(host_relent() || !again);
            EXPECT(AOI_IS_NULL(aoi_sync_view(y, e, 0)) == again);
            EXPECT(!aoi_check(s) && aoi_sync_begin(y) == AOI_OK);
            for (int k = 0; k < 3; k++) EXPECT(AOI_IS_NULL(aoi_sync_view(y, e, (uint32_t)k)) == again);
        }
        again = true;
        for (long n = 1; again; n++) {
            host_refuse(n, HOST_FOR_EVER);
            int result = aoi_sync_remove(y, e);
            again = host_relent() > 0 && result == AOI_ENOMEM;
            for (int k = 0; k < 3 && again; k++) EXPECT(!AOI_IS_NULL(aoi_sync_view(y, e, (uint32_t)k)));
            EXPECT(!aoi_check(s));
        }
        EXPECT(aoi_sync_begin(y) == AOI_OK);
        for (int k = 0; k < 3; k++) EXPECT(AOI_IS_NULL(aoi_sync_view(y, e, (uint32_t)k)));
        close_space(s);
    }
}

static void opening(void) {
    setup u;
    every_setup(0, &u);
    aoi_space *s = open_space(&u);
    aoi_sync *y = NULL;
    host_refuse(1, 1);
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){0}, &y) == AOI_ENOMEM && !y);
    host_relent();
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){.quantum = -1}, &y) == AOI_EVALUE);
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){.clients = {.bytes = 5}}, &y) == AOI_EVALUE);
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){0}, &y) == AOI_OK);
    EXPECT(aoi_sync_add(y, (aoi_entity){0, 0}, &(aoi_area){.radius = 1}, 1, NULL) == AOI_EGONE);
    EXPECT(!aoi_sync_sent(y));
    const aoi_field twice[] = {{"a", AOI_U8, AOI_TO_ALL}, {"a", AOI_U8, AOI_TO_ALL}};
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){.fields = twice, .field_count = 2}, &y) == AOI_EVALUE);
    for (long n = 1;; n++) {
        host_refuse(n, 1);
        int result = aoi_sync_open(s, &(aoi_sync_options){.fields = twice, .field_count = 1}, &y);
        if (!host_relent()) break;
        EXPECT(result == AOI_ENOMEM);
    }
    close_space(s); /* and the synchroniser with it */
}

/* ---- large pictures: the index, growing and shrinking -------------------------------------------------------------- */

/* ---- ticks that the host begins and does not end: what waits is due, however many they were ------------------------- */

static bool hears(aoi_sync *y) {
    aoi_message m = {0};
    EXPECT(aoi_sync_begin(y) == AOI_OK && aoi_sync_next(y, &m) == AOI_OK);
    return m.bytes && EXPECT(aoi_sync_sent(y));
}

static void unfinished(void) {
    setup u = {.engine = "grid", .dims = 2};
    const aoi_tier tier = {100, 100, 0};
    aoi_space *s = open_space(&u);
    aoi_sync *y = NULL;
    EXPECT(aoi_sync_open(s, &(aoi_sync_options){.clients = {.tier_count = 1, .tiers = &tier}}, &y) == AOI_OK);
    aoi_entity client = enter(s, 1, 0), target = enter(s, 2, 1);
    EXPECT(aoi_sync_add(y, client, &(aoi_area){.radius = 50, .mask = 1}, 1, NULL) == AOI_OK && hears(y));
    for (int ticks = 100; ticks < 1000; ticks += 50) {
        do EXPECT(aoi_move(s, target, (double[3]){1, random_below(1u << 20) / 32768.0}) == AOI_OK);
        while (hears(y));
        for (int k = 0; k < ticks; k++) EXPECT(aoi_sync_begin(y) == AOI_OK);
        EXPECT(hears(y));
    }
    close_space(s);
}

/* ---- the reader ---------------------------------------------------------------------------------------------------- */

static void damaged_messages_are_refused(void) {
    setup u = {.engine = "list", .dims = 3};
    const double quanta[] = {0, 0.01, 0.25, 0.3};
    for (int q = 0; q < 4; q++) {
        aoi_space *s = open_space(&u);
        aoi_sync *y = NULL;
        aoi_message m = {0};
        output whole = {0};
        EXPECT(aoi_sync_open(s, &(aoi_sync_options){.quantum = quanta[q]}, &y) == AOI_OK);
        for (int64_t id = 0; id < 20; id++) enter(s, id * id * id, (double)id);
        enter(s, INT64_MIN, 0x1p50);
        EXPECT(aoi_sync_add(y, aoi_find(s, 0), &(aoi_area){.radius = INFINITY, .mask = 1}, 1, NULL) == AOI_OK);
        EXPECT(aoi_sync_begin(y) == AOI_OK && aoi_sync_next(y, &m) == AOI_OK && m.size);
        (void)output_write(&whole, m.bytes, m.size);
        for (long k = 0; k < random_steps(20000); k++) {
            output o = output_copy(&whole);
            if (k > 0) output_damage(&o);
            unsigned char *bytes = realloc(o.bytes, o.size ? o.size : 1); /* a sanitizer sees what is read beyond it */
            if (!bytes) exit(1);
            o.bytes = bytes;
            EXPECT(LLVMFuzzerTestOneInput(o.bytes, o.size) == 0);
            output_free(&o);
        }
        output_free(&whole);
        close_space(s);
    }
}

int main(void) {
    random_start("sync");
    RUN(opening);
    RUN(histories);
    RUN(mixed);
    RUN(unfinished);
    RUN(damaged_messages_are_refused);
    RUN(refusals);
    RUN(refused_views);
    return expect_report("sync");
}
