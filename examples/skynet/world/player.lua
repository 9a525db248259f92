-- The agent of one player: stands somewhere and counts what it sees come and go.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local id, size = ...
id, size = math.tointeger(tonumber(id)), tonumber(size)
math.randomseed(id) -- services that start together may have one seed

skynet.start(function()
  local world = aoi.world "earth"
  local seen = 0
  world:enter(id, size / 2 + (math.random() - 0.5) * 200, size / 2 + (math.random() - 0.5) * 200)
  world:add_node(id, 1, { radius = 40, margin = 5 }, {
    enter = function(_, target)
      seen = seen + 1
      if target == 1 then skynet.error(("player %d sees the caravan"):format(id)) end
    end,
    leave = function(_, target)
      seen = seen - 1
      if target == 1 then skynet.error(("player %d sees the caravan no more"):format(id)) end
    end,
  })
end)
