-- hearing.lua: handlers of nodes with sight, whose events join those that a space has drained.
--
--   run.hears = hearing(run)     run.drained: a flat list as of space:drain; run.count: how many events it has
local aoi = require "aoi"

return function(run)
  local function put(kind)
    return function(watcher, target, node)
      table.move({ kind, watcher, target, node }, 1, 4, 4 * run.count + 1, run.drained)
      run.count = run.count + 1
    end
  end
  return { enter = put(aoi.ENTER), leave = put(aoi.LEAVE) }
end
