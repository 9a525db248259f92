-- A process under trouble: opens the world "earth" whenever chaos.lua asks for it.
local skynet = require "skynet"
local aoi = require "aoi.skynet"
local viewed = require "viewed"

local NODE, SHARDS, SIDE, HEARTBEAT = skynet.getenv "node", tonumber(skynet.getenv "shards"), 490, 2
local nodes = {}
for name in skynet.getenv "nodes":gmatch "%S+" do nodes[#nodes + 1] = name end

local function open(others)
  if NODE ~= nodes[1] then return aoi.world { name = "earth", node = NODE, director = nodes[1] } end
  local options = {
    name = "earth", size = SIDE, reach = 55, interval = 10, heartbeat = HEARTBEAT, engine = "grid",
    quantum = viewed.quantum, fields = viewed.fields, shards = #nodes == 1 and SHARDS or nil,
  }
  if #nodes > 1 then
    options.node, options.nodes = NODE, {}
    for _, name in ipairs(nodes) do options.nodes[name] = SHARDS // #nodes end
  end
  for name, value in pairs(others) do options[name] = value end
  return aoi.world(options)
end

skynet.start(function()
  if #nodes > 1 then require("skynet.cluster").open(NODE) end
  require "chaos"(open, NODE, nodes, SIDE)
end)
