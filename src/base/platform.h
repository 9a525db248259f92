/* platform.h - compiler extensions: inlining, prefetching, cache lines.  Without GNU extensions every macro
 * has a portable fallback with the same meaning. */
#ifndef AOI_PLATFORM_H
#define AOI_PLATFORM_H

enum { AOI_CACHE_LINE = 64 }; /* bytes */

/* Prefetches the cache line that holds the address; the address need not be valid.  The empty statement keeps GCC from
 * taking a function that only prefetches for one without effect, and dropping its calls. */
#ifdef __GNUC__
#define AOI_PREFETCH(p)                                                                                                \
    do {                                                                                                               \
        __builtin_prefetch(p);                                                                                         \
        __asm__ volatile("");                                                                                          \
    } while (0)
#else
#define AOI_PREFETCH(p) ((void)(p))
#endif

/* The address, which is a multiple of n: its loads need no instructions of their own. */
#ifdef __GNUC__
#define AOI_ALIGNED(p, n) __builtin_assume_aligned((p), (n))
#else
#define AOI_ALIGNED(p, n) (p)
#endif

/* A function that is compiled into each of its callers, so that constant arguments specialise it. */
#ifdef __GNUC__
#define AOI_INLINE static inline __attribute__((always_inline))
#else
#define AOI_INLINE static inline
#endif

/* A rarely called function that is kept out of its callers, which then save no registers for it. */
#ifdef __GNUC__
#define AOI_NOINLINE __attribute__((noinline))
#else
#define AOI_NOINLINE
#endif

#endif
