/* hash_index.h - a hash index: finds the number of a record by a hash of its key; the record holds the key itself.
 *
 *   slots  [ hash | value ] [ 0 | none ] [ hash | value ] ...    open addressing, linear probing, a power of two;
 *                                                                the whole hash is kept, so a removal can close the gap
 *                                                                (Knuth, TAOCP 3, 6.4, algorithm R) and growth needs no keys.
 * To look up:  for (uint32_t at = AOI_SEEK, v; (v = aoi_hash_index_next(ix, hash, &at)) != AOI_NONE;) if (key of v matches)
 * ...
 */
#ifndef AOI_INDEX_H
#define AOI_INDEX_H

#include "base/memory.h"

#define AOI_NONE UINT32_MAX /* no record */
#define AOI_SEEK UINT32_MAX /* start of a look-up */

typedef struct aoi_hash_index {
    struct aoi_slot {
        uint32_t hash, value;
    } * slots;
    uint32_t size, count; /* size: 0 or a power of two */
} aoi_hash_index;

static inline uint32_t aoi_hash64(uint64_t k) { /* multiply and fold: every bit of the key reaches the low bits */
    k ^= k >> 32;
    k *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(k >> 32) ^ (uint32_t)(k >> 15);
}

static inline uint32_t aoi_pair_hash(uint32_t a, uint32_t b) {
    return aoi_hash64((uint64_t)a << 32 | b);
}

/* For keys from outside, above all ids, which clients may choose so that they collide.  Under a secret key any two ids
 * collide as rarely as random numbers (pair-multiply-shift: Thorup, High speed hashing for integers and strings, 2015,
 * 3.5).  It spaces consecutive ids evenly, under some keys by a multiple of the index's size, so a bijective mix
 * follows.  Slots are assigned in order and cannot be chosen: pairs of slots use aoi_hash64. */
typedef struct aoi_hash_key {
    uint64_t a, b, c;
} aoi_hash_key;

static inline uint32_t aoi_hash_keyed(const aoi_hash_key *key, uint64_t k) {
    uint32_t h = (uint32_t)(((key->a + (k >> 32)) * (key->b + (uint32_t)k) + key->c) >> 32);
    h = (h ^ h >> 16) * UINT32_C(0x7FEB352D);
    return h ^ h >> 15;
}

/* Consecutive ids share a cache line of the index: most hosts process them in order. */
static inline uint32_t aoi_id_hash(const aoi_hash_key *key, int64_t id) {
    return aoi_hash_keyed(key, (uint64_t)id >> 3) << 3 | (uint32_t)((uint64_t)id & 7);
}

/* A new key at every call, from the time and the address of its owner.  It only affects the order of entries in an
 * index, and no index is ever walked. */
aoi_hash_key aoi_new_hash_key(const void *owner);

static inline uint32_t aoi_hash_index_next(const aoi_hash_index *ix, uint32_t hash, uint32_t *at) {
    if (!ix->size) return AOI_NONE;
    uint32_t mask = ix->size - 1;
    uint32_t i = *at == AOI_SEEK ? hash & mask : (*at + 1) & mask;
    for (;; i = (i + 1) & mask) {
        const struct aoi_slot *s = ix->slots + i;
        if (s->value == AOI_NONE) return AOI_NONE;
        if (s->hash == hash) {
            *at = i;
            return s->value;
        }
    }
}

/* Prefetches the slot of a look-up. */
static inline void aoi_hash_index_fetch(const aoi_hash_index *ix, uint32_t hash) {
    if (ix->size) AOI_PREFETCH(ix->slots + (hash & (ix->size - 1)));
}

bool aoi_hash_index_reserve(aoi_memory *m, aoi_hash_index *ix, size_t count);  /* room for count records in all */
void aoi_hash_index_add(aoi_hash_index *ix, uint32_t hash, uint32_t value);    /* after a reserve; cannot fail */
bool aoi_hash_index_remove(aoi_hash_index *ix, uint32_t hash, uint32_t value); /* false: it is not there */
uint32_t aoi_hash_index_seek(const aoi_hash_index *ix, uint32_t hash, uint32_t value); /* its slot, or AOI_NONE */
void aoi_hash_index_replace(aoi_hash_index *ix, uint32_t hash, uint32_t value, uint32_t by);
void aoi_hash_index_clear(aoi_hash_index *ix);
void aoi_hash_index_free(aoi_memory *m, aoi_hash_index *ix);
void aoi_hash_index_shrink(aoi_memory *m, aoi_hash_index *ix); /* if it is far too large */

#endif
