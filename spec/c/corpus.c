/* Plays the corpus of the fuzzer of the C API, and random bytes, without libFuzzer: with any C compiler.
 *
 * Every finding of the fuzzer is kept in fuzz/corpus/c_api, and so is tested here. */
#include <dirent.h>

#include "../../fuzz/c_api.c"

enum { MOST_BYTES = 2000, ROUNDS = 400 };

static void play_corpus(const char *folder) {
    DIR *dir = opendir(folder);
    int files = 0;
    if (!EXPECT(dir != NULL)) return;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char path[400];
        uint8_t bytes[MOST_BYTES];
        if (d->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        FILE *file = fopen(path, "rb");
        if (!EXPECT(file != NULL)) continue;
        size_t n = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        EXPECT(LLVMFuzzerTestOneInput(bytes, n) == 0); /* it aborts where it finds something */
        files++;
    }
    closedir(dir);
    EXPECT(files > 10);
}

static void play_random(void) {
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t bytes[MOST_BYTES];
        size_t n = random_below(round % 10 ? 300 : MOST_BYTES);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_below(256);
        EXPECT(LLVMFuzzerTestOneInput(bytes, n) == 0);
    }
}

int main(void) {
    random_start("corpus");
    play_corpus("fuzz/corpus/c_api");
    play_random();
    return expect_report("corpus");
}
