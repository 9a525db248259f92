/* journal.c - feeds any bytes to the player of journals, with sums that fit: they are refused, or played on a space that
 * stays sound to the end, or to the call that does not fit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../spec/c/output.h"
#include "journal/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
    if (holds && !expect_state.failures) return;
    fprintf(stderr, "%s\n", holds ? "an expectation failed" : what);
    abort();
}

/* Records between two checks get the sum they need. */
static void repair(output *o) {
    aoi_bytes in = {.at = o->bytes + AOI_JOURNAL_HEAD, .end = o->bytes + o->size};
    const unsigned char *from = in.at, *begin = in.at;
    const int dims = o->size > AOI_JOURNAL_HEAD + 1 && in.at[1] == 3 ? 3 : 2;
    static aoi_memory memory;
    static aoi_record r = {.outline = {.memory = &memory}};
    memory = aoi_memory_from(NULL, NULL);
    const char *fault;
    for (; aoi_get_record(&in, dims, &r, &fault); begin = in.at) {
        if (r.what != AOI_RECORD_CHECK) continue;
        const uint32_t sum = output_sum(from, (size_t)(begin - from));
        unsigned char *to = o->bytes + (begin + 1 - o->bytes);
        from = in.at;
        for (int i = 0; i < 4; i++) to[i] = (unsigned char)(sum >> 8 * i);
    }
}

static void play_through(const output *o, aoi_player *p) {
    aoi_load_options lo = {.alloc = host_alloc};
    aoi_space *s = NULL;
    const char *fault = NULL;
    uint64_t steps = 0;
    bool good = aoi_play_start(p, 0, &lo, &s, &fault) == AOI_OK;
    require(good == (s != NULL) && (good || fault), "a refusal without a reason");
    for (aoi_step step = {.call = 1}; good && step.call; steps++) {
        aoi_event e = {.kind = 1};
        require(steps <= o->size, "more steps than bytes");
        good = aoi_play_step(p, s, NULL, &step) == AOI_OK;
        while (good && e.kind) good = aoi_play_next(p, s, &e) == AOI_OK;
    }
    const char *wrong = s ? aoi_check(s) : NULL;
    require(!wrong, wrong);
    aoi_close(s);
}

static void refuse_or_play(const output *o) {
    aoi_load_options lo = {.alloc = host_alloc};
    aoi_player *p = NULL;
    const char *fault = NULL;
    if (aoi_play_open(o->bytes, o->size, &lo, &p, &fault) == AOI_OK) play_through(o, p);
    else require(fault && !p, "a refusal without a reason");
    aoi_play_close(p);
    require(host.used == 0, "a leak");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    output o = {0};
    (void)output_write(&o, AOI_JOURNAL_MAGIC "\1", AOI_JOURNAL_HEAD);
    (void)output_write(&o, data, size);
    repair(&o);
    refuse_or_play(&o);
    output_free(&o);
    return 0;
}
