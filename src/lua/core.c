/* core.c - the Lua module aoi.core as one translation unit: the core and its binding.
 *
 * The functions of the C API are file-local here (AOI_API, see aoi.h), so that the compiler inlines functions with a
 * single caller.  The module exports only luaopen_aoi_core and its parts for skynet (module.c).
 *
 * An event makes about ten calls into Lua: through the GOT, without the stubs of the PLT, a move takes 5% less time. */
#define AOI_API static

#if defined(__ELF__) && defined(__GNUC__) && __GNUC__ >= 6 && !defined(__clang__)
#pragma GCC optimize("no-plt")
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-function" /* functions for C programs only */
#endif

#include "aoi.c"

#include "lua/compat.h" /* includes the headers of Lua, which must precede the pragma below */

#include <stdatomic.h>

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility push(hidden)
#endif

#include "lua/args.c"
#include "lua/batches.c"
#include "lua/classes.c"
#include "lua/deliver.c"
#include "lua/handlers.c"
#include "lua/helpers.c"
#include "lua/history_methods.c"
#include "lua/journal_methods.c"
#include "lua/module.c"
#include "lua/observe_methods.c"
#include "lua/options.c"
#include "lua/queries.c"
#include "lua/shapes_args.c"
#include "lua/sight_methods.c"
#include "lua/snapshot_methods.c"
#include "lua/sync_explain.c"
#include "lua/sync_fields.c"
#include "lua/sync_methods.c"
#include "lua/sync_read.c"
#include "skynet/wire_dispatch.c"
#include "skynet/wire_inbox.c"
#include "skynet/wire_moves.c"
#include "skynet/wire_outbox.c"
#include "skynet/wire_pack.c"
#include "skynet/wire_post.c"
#include "skynet/world_announce.c"
#include "skynet/world_areas.c"
#include "skynet/world_follow.c"
#include "skynet/world_map.c"
#include "skynet/world_outbox.c"
#include "skynet/world_parts.c"
#include "skynet/world_queries.c"
#include "skynet/world_router.c"
#include "skynet/world_tiles.c"

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility pop
#endif
