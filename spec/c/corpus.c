/* Plays the fuzzer of the C API: every engine against brute force. */
#include "../../fuzz/c_api.c"
#include "play.h"

int main(void) {
    random_start("corpus");
    play_corpus("fuzz/corpus/c_api");
    play_random(400);
    return expect_report("corpus");
}
