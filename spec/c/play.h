/* play.h - plays a fuzzer without libFuzzer: its corpus, in which every finding is kept, and random bytes.  With any C
 * compiler, on any machine; it aborts where it finds something. */
#ifndef PLAY_H
#define PLAY_H

#include <dirent.h>

#include "expect.h"

enum { PLAY_BYTES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void play_corpus(const char *folder) {
    DIR *dir = opendir(folder);
    int files = 0;
    if (!EXPECT(dir != NULL)) return;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char path[400];
        uint8_t bytes[PLAY_BYTES];
        if (d->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        FILE *file = fopen(path, "rb");
        if (!EXPECT(file != NULL)) continue;
        size_t n = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        EXPECT(LLVMFuzzerTestOneInput(bytes, n) == 0);
        files++;
    }
    closedir(dir);
    EXPECT(files > 0);
}

static inline void play_random(long rounds) {
    for (long round = 0; round < rounds; round++) {
        uint8_t bytes[PLAY_BYTES];
        size_t n = random_below(round % 10 ? 300 : PLAY_BYTES);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_below(256);
        EXPECT(LLVMFuzzerTestOneInput(bytes, n) == 0);
    }
}

#endif
