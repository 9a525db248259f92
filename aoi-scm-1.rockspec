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
      sources = { "src/lua/core.c" }, -- includes all the others
      incdirs = { "include", "src" },
      libraries = { "m" },
    },
    ["aoi"] = "lua/aoi/init.lua",
    ["aoi.checks"] = "lua/aoi/checks.lua",
    ["aoi.meta.aoi"] = "lua/aoi/meta/aoi.lua",
    ["aoi.meta.area"] = "lua/aoi/meta/area.lua",
    ["aoi.meta.space"] = "lua/aoi/meta/space.lua",
    ["aoi.meta.sync"] = "lua/aoi/meta/sync.lua",
    ["aoi.meta.viewer"] = "lua/aoi/meta/viewer.lua",
    ["aoi.journal"] = "lua/aoi/journal.lua",
    ["aoi.meta.journal"] = "lua/aoi/meta/journal.lua",
    ["aoi.neighbors"] = "lua/aoi/neighbors.lua",
    ["aoi.reserved"] = "lua/aoi/reserved.lua",
    ["aoi.sync"] = "lua/aoi/sync.lua",
    ["aoi.skynet"] = "lua/aoi/skynet/init.lua",
    ["aoi.skynet.argument"] = "lua/aoi/skynet/argument.lua",
    ["aoi.skynet.client"] = "lua/aoi/skynet/client.lua",
    ["aoi.skynet.dispatch"] = "lua/aoi/skynet/dispatch.lua",
    ["aoi.skynet.handlers"] = "lua/aoi/skynet/handlers.lua",
    ["aoi.skynet.last_words"] = "lua/aoi/skynet/last_words.lua",
    ["aoi.skynet.links"] = "lua/aoi/skynet/links.lua",
    ["aoi.skynet.local"] = "lua/aoi/skynet/local.lua",
    ["aoi.skynet.map"] = "lua/aoi/skynet/map.lua",
    ["aoi.skynet.methods"] = "lua/aoi/skynet/methods.lua",
    ["aoi.skynet.packets"] = "lua/aoi/skynet/packets.lua",
    ["aoi.skynet.period"] = "lua/aoi/skynet/period.lua",
    ["aoi.skynet.protocol"] = "lua/aoi/skynet/protocol.lua",
    ["aoi.skynet.requests"] = "lua/aoi/skynet/requests.lua",
    ["aoi.skynet.server"] = "lua/aoi/skynet/server.lua",
    ["aoi.skynet.service"] = "lua/aoi/skynet/service.lua",
    ["aoi.skynet.viewer_host"] = "lua/aoi/skynet/viewer_host.lua",
    ["aoi.skynet.viewer_service"] = "lua/aoi/skynet/viewer_service.lua",
    ["aoi.skynet.wire"] = "lua/aoi/skynet/wire.lua",
    ["aoi.team"] = "lua/aoi/team.lua",
    ["aoi.timers"] = "lua/aoi/timers.lua",
    ["aoi.tools.recording"] = "lua/aoi/tools/recording.lua",
    ["aoi.tools.replay"] = "lua/aoi/tools/replay.lua",
    ["aoi.viewer"] = "lua/aoi/viewer.lua",
    ["aoi.viewer.assets"] = "lua/aoi/viewer/assets.lua",
    ["aoi.viewer.base64"] = "lua/aoi/viewer/base64.lua",
    ["aoi.viewer.blocks"] = "lua/aoi/viewer/blocks.lua",
    ["aoi.viewer.gate"] = "lua/aoi/viewer/gate.lua",
    ["aoi.viewer.json"] = "lua/aoi/viewer/json.lua",
    ["aoi.viewer.page"] = "lua/aoi/viewer/page.lua",
    ["aoi.viewer.session"] = "lua/aoi/viewer/session.lua",
    ["aoi.viewer.sha1"] = "lua/aoi/viewer/sha1.lua",
    ["aoi.viewer.sources"] = "lua/aoi/viewer/sources.lua",
    ["aoi.viewer.websocket"] = "lua/aoi/viewer/websocket.lua",
    ["aoi.trigger"] = "lua/aoi/trigger.lua",
    ["aoi.trigger.admission"] = "lua/aoi/trigger/admission.lua",
    ["aoi.trigger.events"] = "lua/aoi/trigger/events.lua",
    ["aoi.trigger.options"] = "lua/aoi/trigger/options.lua",
    ["aoi.trigger.registry"] = "lua/aoi/trigger/registry.lua",
    ["aoi.trigger.steps"] = "lua/aoi/trigger/steps.lua",
    ["aoi.trigger.visits"] = "lua/aoi/trigger/visits.lua",
  },
  install = {
    lua = { -- the page, beside its module
      ["aoi.viewer.assets.sync"] = "js/aoi-sync.js",
      ["aoi.viewer.assets.app"] = "js/viewer/app.js",
      ["aoi.viewer.assets.blocks"] = "js/viewer/blocks.js",
      ["aoi.viewer.assets.draw"] = "js/viewer/draw.js",
      ["aoi.viewer.assets.html"] = "js/viewer/page.html",
      ["aoi.viewer.assets.input"] = "js/viewer/input.js",
      ["aoi.viewer.assets.live"] = "js/viewer/live.js",
      ["aoi.viewer.assets.recording"] = "js/viewer/recording.js",
      ["aoi.viewer.assets.rule"] = "js/viewer/rule.js",
      ["aoi.viewer.assets.style"] = "js/viewer/page.css",
      ["aoi.viewer.assets.timeline"] = "js/viewer/timeline.js",
      ["aoi.viewer.assets.world"] = "js/viewer/world.js",
    },
  },
}
test = {
  type = "busted",
}
