/* journal.h - a journal: the state of a space and all later calls that changed it, as bytes.
 *
 *   "AOIJ" version  [ state | call | call | taken | mark | ... | check ]  [ state | ... | check ]  ...  end
 *
 * The records are those of snapshots, and more (snapshot/snapshot.h).  A check is the CRC-32 of all records since the last
 * check: one ends each piece that is handed over, so that a journal truncated by a crash is valid up to its last whole
 * record.  docs/journal.md describes the records. */
#ifndef AOI_JOURNAL_H
#define AOI_JOURNAL_H

#include "core/journal_hook.h"
#include "snapshot/snapshot.h"

#define AOI_JOURNAL_MAGIC "AOIJ"

enum {
    AOI_JOURNAL_VERSION = 1,
    AOI_JOURNAL_HEAD = 5, /* bytes before the first record */
    AOI_CHECK_BYTES = 5   /* of a check */
};

#endif
