/* core.c - the Lua module aoi.core as one translation unit: the core and its binding.
 *
 * Here the functions of the C API are file-local (AOI_API, see aoi.h), so that those with one caller are compiled into
 * the method that calls them.  The module exports luaopen_aoi_core, its parts for skynet (module.c), and nothing else.
 *
 * An event makes some ten calls into Lua.  Directly through the table of addresses, without a stub for each function in
 * between (the PLT), they are a twentieth of a move faster. */
#define AOI_API static

#if defined(__ELF__) && defined(__GNUC__) && __GNUC__ >= 6 && !defined(__clang__)
#pragma GCC optimize("no-plt")
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-function" /* what only C programs call */
#endif

#include "aoi.c"

#include "lua/compat.h" /* and Lua's headers, before the binding is hidden as the core is */

#include <stdatomic.h>

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility push(hidden)
#endif

#include "lua/args.c"
#include "lua/classes.c"
#include "lua/deliver.c"
#include "lua/handlers.c"
#include "lua/helpers.c"
#include "lua/history_methods.c"
#include "lua/journal_methods.c"
#include "lua/module.c"
#include "lua/observe_methods.c"
#include "lua/queries.c"
#include "lua/shapes_args.c"
#include "lua/sight_methods.c"
#include "lua/snapshot_methods.c"
#include "lua/sync_explain.c"
#include "lua/sync_fields.c"
#include "lua/sync_methods.c"
#include "lua/sync_read.c"
#include "lua/wire_dispatch.c"
#include "lua/wire_inbox.c"
#include "lua/wire_moves.c"
#include "lua/wire_outbox.c"
#include "lua/wire_pack.c"
#include "lua/wire_post.c"
#include "lua/world_announce.c"
#include "lua/world_areas.c"
#include "lua/world_follow.c"
#include "lua/world_map.c"
#include "lua/world_outbox.c"
#include "lua/world_parts.c"
#include "lua/world_queries.c"
#include "lua/world_router.c"
#include "lua/world_tiles.c"

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility pop
#endif
