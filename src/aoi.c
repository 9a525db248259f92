/* aoi.c - the C core as one translation unit.
 *
 * Core and engines are compiled as one program, so that the optimiser sees through the calls between them, whatever the
 * build system: `cc -O2 -Iinclude -Isrc -c src/aoi.c` is a complete build.  Each file compiles alone, too; names that
 * are local to a file are therefore unique over all of src.  `make lint` checks that every source is here once.
 *
 * Floating point.  The rule of visibility is evaluated in IEEE double exactly as written, so that every engine, compiler
 * and machine gives the same events.  A fused multiply-add rounds once where the source rounds twice, and compilers fuse
 * by default (GCC) or within expressions (clang) where the processor can: the pragmas forbid it.  GCC's is only given
 * where the processor can, because functions on either side of it are not inlined into each other.
 *
 * Visibility.  Functions that the core's files share are hidden, so that a shared object exports only the C API and
 * calls between files are direct.  System headers come first, because their functions are not hidden.
 *
 * Assertions check invariants that cost little.  They are compiled in with -DAOI_ASSERT, as `make test` does for
 * the C specs, and cost nothing otherwise. */
#if !defined(AOI_ASSERT) && !defined(NDEBUG)
#define NDEBUG
#endif
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__FAST_MATH__)
#error "aoi needs IEEE arithmetic: compile without -ffast-math"
#elif defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
#error "aoi needs IEEE doubles, not x87 registers: compile with -msse2 -mfpmath=sse"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && (defined(__FP_FAST_FMA) || defined(__FP_FAST_FMAF))
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility push(hidden)
#endif

#include "base/crc32.c"
#include "base/hash_index.c"
#include "base/memory.c"

#include "core/broad_phase.c"
#include "core/engines.c"
#include "core/shape_pool.c"
#include "core/shapes.c"
#include "core/side_tree.c"
#include "engines/brute.c"
#include "engines/grid.c"
#include "engines/list/block_list.c"
#include "engines/list/list.c"
#include "engines/list/list_parts.c"
#include "engines/list/move.c"
#include "engines/list/tiles.c"
#include "engines/quadtree.c"
#include "engines/tower.c"
#include "grid/candidates.c"
#include "grid/lookups.c"
#include "grid/nine_grid.c"
#include "grid/node_levels.c"
#include "grid/outward.c"
#include "grid/ring.c"
#include "grid/ring_query.c"
#include "grid/spatial_hash.c"
#include "grid/tuning.c"

#ifndef AOI_ENGINES_ALONE /* spec/c/engine_contract.c stands in for the space */
#include "core/areas.c"
#include "core/attach.c"
#include "core/batch.c"
#include "core/check.c"
#include "core/crossing.c"
#include "core/event_queue.c"
#include "core/events.c"
#include "core/explain.c"
#include "core/labels.c"
#include "core/larges.c"
#include "core/looks.c"
#include "core/movers.c"
#include "core/near.c"
#include "core/near_many.c"
#include "core/node_index.c"
#include "core/override_table.c"
#include "core/plugins.c"
#include "core/query.c"
#include "core/space.c"
#include "core/sweep.c"
#include "core/visibility.c"

#include "history/history.c"

#include "journal/play.c"
#include "journal/record.c"

#include "snapshot/load.c"
#include "snapshot/records.c"
#include "snapshot/save.c"

#include "sight/look.c"
#include "sight/questions.c"
#include "sight/recall.c"
#include "sight/sight_check.c"
#include "sight/sight_saved.c"
#include "sight/wall_cells.c"
#include "sight/walls.c"
#include "sight/watches.c"

#include "sync/adopt.c"
#include "sync/apply.c"
#include "sync/clients.c"
#include "sync/fields.c"
#include "sync/lacking.c"
#include "sync/picture.c"
#include "sync/reader.c"
#include "sync/relevance.c"
#include "sync/riders.c"
#include "sync/saved.c"
#include "sync/sightings.c"
#include "sync/sync_check.c"
#include "sync/targets.c"
#include "sync/tick.c"
#include "sync/tracks.c"
#include "sync/why.c"

#include "tick/choose.c"
#include "tick/items.c"
#include "tick/join.c"
#include "tick/probes.c"
#include "tick/scan.c"

#include "view/observer.c"
#include "view/structure.c"
#endif

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility pop
#endif
