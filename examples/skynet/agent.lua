-- A player: stands in the meadow and says whom it sees. Bob goes home when the wolf has come close to him.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local service, name, id, x = ...
local NAMES = { [1] = "ann", [2] = "bob", [100] = "the wolf" }

-- Looked up at each event: replace a field, and the next event runs the new code.
local handlers = {}

function handlers.enter(_, target)
  skynet.error(("%s sees %s"):format(name, NAMES[target]))
  if name == "bob" and target == 100 then
    skynet.error("bob goes home")
    skynet.exit()
  end
end

function handlers.leave(_, target)
  skynet.error(("%s sees %s no more"):format(name, NAMES[target]))
end

skynet.start(function()
  local meadow = aoi.open(tonumber(service), "meadow")
  meadow:enter(tonumber(id), tonumber(x), 0)
  meadow:add_node(tonumber(id), 1, name == "ann" and 20 or 8, handlers)
  meadow:on_close(function() skynet.error(name .. " hears that the meadow is closed") end)
end)
