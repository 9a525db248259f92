rockspec_format = "3.0"
package = "aoi"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "Area of interest for game servers: who came near whom, exactly and fast",
  detailed = [[
    Entities move, and their areas of interest report who enters and who leaves them. C core with several engines
    that give the same events (orthogonal lists by default), any number of areas per entity, 2D and 3D.
  ]],
  license = "MIT",
  labels = { "game", "server", "aoi", "spatial" },
}
dependencies = {
  "lua >= 5.1",
}
build = {
  type = "builtin",
  modules = {
    ["aoi.core"] = {
      sources = {
        "src/base/hash_index.c",
        "src/base/memory.c",
        "src/core/areas.c",
        "src/core/check.c",
        "src/core/engines.c",
        "src/core/event_queue.c",
        "src/core/pair_table.c",
        "src/core/query.c",
        "src/core/space.c",
        "src/core/visibility.c",
        "src/engines/brute.c",
        "src/engines/grid/grid.c",
        "src/engines/grid/self_join.c",
        "src/engines/list/block_list.c",
        "src/engines/list/box_query.c",
        "src/engines/list/crossings.c",
        "src/engines/list/list.c",
        "src/engines/list/move.c",
        "src/engines/list/tiles.c",
        "src/engines/list/walks.c",
        "src/engines/quadtree/quadtree.c",
        "src/engines/quadtree/ring_scan.c",
        "src/engines/quadtree/tree.c",
        "src/engines/shared/points.c",
        "src/engines/shared/ring_query.c",
        "src/engines/shared/spatial_hash.c",
        "src/engines/tower.c",
        "src/lua/args.c",
        "src/lua/deliver.c",
        "src/lua/handlers.c",
        "src/lua/module.c",
      },
      incdirs = { "include", "src" },
      libraries = { "m" },
    },
    ["aoi"] = "lua/aoi/init.lua",
    ["aoi.meta"] = "lua/aoi/meta.lua",
    ["aoi.neighbors"] = "lua/aoi/neighbors.lua",
    ["aoi.reserved"] = "lua/aoi/reserved.lua",
    ["aoi.skynet"] = "lua/aoi/skynet/init.lua",
    ["aoi.skynet.argument"] = "lua/aoi/skynet/argument.lua",
    ["aoi.skynet.client"] = "lua/aoi/skynet/client.lua",
    ["aoi.skynet.delivery"] = "lua/aoi/skynet/delivery.lua",
    ["aoi.skynet.links"] = "lua/aoi/skynet/links.lua",
    ["aoi.skynet.local"] = "lua/aoi/skynet/local.lua",
    ["aoi.skynet.methods"] = "lua/aoi/skynet/methods.lua",
    ["aoi.skynet.protocol"] = "lua/aoi/skynet/protocol.lua",
    ["aoi.skynet.requests"] = "lua/aoi/skynet/requests.lua",
    ["aoi.skynet.server"] = "lua/aoi/skynet/server.lua",
    ["aoi.skynet.service"] = "lua/aoi/skynet/service.lua",
    ["aoi.skynet.wire"] = "lua/aoi/skynet/wire.lua",
    ["aoi.timers"] = "lua/aoi/timers.lua",
    ["aoi.tools.recording"] = "lua/aoi/tools/recording.lua",
    ["aoi.tools.replay"] = "lua/aoi/tools/replay.lua",
    ["aoi.trigger"] = "lua/aoi/trigger.lua",
    ["aoi.trigger.admission"] = "lua/aoi/trigger/admission.lua",
    ["aoi.trigger.events"] = "lua/aoi/trigger/events.lua",
    ["aoi.trigger.options"] = "lua/aoi/trigger/options.lua",
    ["aoi.trigger.registry"] = "lua/aoi/trigger/registry.lua",
    ["aoi.trigger.steps"] = "lua/aoi/trigger/steps.lua",
    ["aoi.trigger.visits"] = "lua/aoi/trigger/visits.lua",
  },
}
test = {
  type = "busted",
}
