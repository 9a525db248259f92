/* host.h - an allocator that keeps accounts and refuses on demand.
 *
 *   [ size | padding ] [ block ... ]    each block knows its size, so that a wrong `osize` is found at once
 *
 * host_refuse(n, m): the n-th request from now on, and m - 1 more after it, get NULL. Only what asks for more memory
 * is a request; shrinking and freeing cannot fail. */
#ifndef HOST_H
#define HOST_H

#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { HOST_HEAD = 16, HOST_FOR_EVER = 1 << 30 };

static struct {
    size_t used, blocks, peak; /* peak: most that was used at once, since it was set to `used` */
    long countdown, many;      /* refuse the request that finds countdown at 1, and as many as there are in all */
    unsigned refused;
} host;

static inline void host_refuse(long n, long many) {
    host.countdown = n;
    host.many = many;
    host.refused = 0;
}

/* How many were refused; from here on nothing is. */
static inline unsigned host_relent(void) {
    host.countdown = 0;
    return host.refused;
}

static inline bool host_refuses(void) {
    if (!host.countdown) return false;
    if (host.countdown > 1) {
        host.countdown--;
        return false;
    }
    if (--host.many == 0) host.countdown = 0;
    host.refused++;
    return true;
}

static inline void *host_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    char *block = ptr ? (char *)ptr - HOST_HEAD : NULL;
    (void)ud;
    if (block) {
        size_t size;
        memcpy(&size, block, sizeof size);
        EXPECT(size == osize);
        osize = size;
    } else {
        EXPECT(osize == 0);
    }
    if (nsize > osize && host_refuses()) return NULL;
    if (nsize == 0) {
        host.blocks -= block != NULL;
        host.used -= osize;
        free(block);
        return NULL;
    }
    /* Always moves the block, so that the use of an old pointer is found. */
    char *to = malloc(HOST_HEAD + nsize);
    if (!to) abort();
    memcpy(to, &nsize, sizeof nsize);
    if (block) memcpy(to + HOST_HEAD, ptr, osize < nsize ? osize : nsize);
    else host.blocks++;
    free(block);
    host.used += nsize - osize;
    if (host.used > host.peak) host.peak = host.used;
    return to + HOST_HEAD;
}

#endif
