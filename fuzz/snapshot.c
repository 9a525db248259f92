/* snapshot.c - feeds any bytes to aoi_load, with the right checksum behind them: they are refused, or a sound space that is
 * saved as these very bytes, and lives on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../spec/c/output.h"
#include "aoi_sight.h"
#include "aoi_sync.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
    if (holds && !expect_state.failures) return;
    fprintf(stderr, "%s\n", holds ? "an expectation failed" : what);
    abort();
}

static aoi_space *try_load(const output *o, const char *engine) {
    aoi_load_options lo = {.engine = engine, .alloc = host_alloc};
    const char *fault = NULL;
    aoi_space *s = NULL;
    if (aoi_load(o->bytes, o->size, &lo, &s, &fault) == AOI_OK) return s;
    require(fault && !s && host.used == 0, "a refusal without a reason, or a leak");
    return NULL;
}

/* Each call is judged by brute force. */
static void go_on(aoi_space *s) {
    const int64_t *ids = NULL;
    size_t count = 0;
    require(aoi_ids(s, &ids, &count) == AOI_OK, "no ids");
    int64_t some[6];
    size_t n = count < 6 ? count : 6;
    if (n) memcpy(some, ids, n * sizeof *some);
    for (size_t i = 0; i < n; i++) {
        aoi_entity e = aoi_find(s, some[i]);
        const int moved = aoi_move(s, e, (double[3]){(double)i, 1, 2});
        require(moved == AOI_OK || moved == AOI_EATTACHED, "it does not move");
        if (i % 3 == 0) require(aoi_set_kind(s, e, i) == AOI_OK, "it does not change");
        if (i % 3 == 1) require(aoi_leave(s, e) == AOI_OK, "it does not leave");
        require(aoi_check(s) == NULL, "it is not sound later");
    }
    aoi_sight *g = NULL;
    require(aoi_sight_open(s, NULL, &g) == AOI_OK && aoi_sight_tick(g) == AOI_OK, "no tick of a sight");
    require(aoi_check(s) == NULL, "its sight is not sound");
    require(aoi_flush(s) == AOI_OK, "no flush");
    aoi_take_all(s);
    require(aoi_check(s) == NULL, "it is not sound at the end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    output o = {0};
    uint32_t sum = output_sum(data, size);
    unsigned char bytes[4] = {(unsigned char)sum, (unsigned char)(sum >> 8), (unsigned char)(sum >> 16),
                              (unsigned char)(sum >> 24)};
    (void)output_write(&o, data, size);
    (void)output_write(&o, bytes, sizeof bytes);
    aoi_space *s = try_load(&o, NULL);
    if (s) {
        const char *wrong = aoi_check(s);
        require(!wrong, wrong);
        output again = save(s);
        require(output_same(&o, &again), "it is saved as other bytes");
        output_free(&again);
        go_on(s);
        aoi_close(s);
        s = try_load(&o, "brute");
        require(s && !aoi_check(s), "another engine does not take it");
        aoi_close(s);
    }
    output_free(&o);
    require(host.used == 0, "a leak");
    return 0;
}
