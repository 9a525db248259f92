-- Adds a node to a share of the walkers, its own process's or another's, and sums up what they hear.
local skynet = require "skynet"
local aoi = require "aoi.skynet"
local checksum = require "checksum"

local index, count, walkers, radius = ...
index, count, walkers, radius = math.tointeger(tonumber(index)), tonumber(count), tonumber(walkers), tonumber(radius)
local events, sum = 0, 0
local CMD = {}

local handlers = {}

function handlers.enter(watcher, target, node)
  events, sum = events + 1, sum + checksum(1, watcher, target, node)
end

function handlers.leave(watcher, target, node)
  events, sum = events + 1, sum + checksum(2, watcher, target, node)
end

local function add_all(world)
  local step = walkers // count
  for i = 0, count - 1 do
    local id = math.tointeger(i * step + index)
    while not pcall(world.add_node, world, id, index, { radius = radius, margin = 5 }, handlers) do
      if world.closed then return end
      skynet.sleep(10) -- whoever moves it has not entered it yet
    end
  end
end

function CMD.start()
  local world = aoi.world "earth"
  skynet.fork(add_all, world)
end

function CMD.result() return events, sum end

-- Everything stands still: how many nodes there are, and how many of them have not heard of what is in their radius, or
-- have heard of what is farther than what they keep.
function CMD.verify()
  local world, wrong, n = aoi.world "earth", 0, 0
  local step = walkers // count
  for i = 0, count - 1 do
    local id = math.tointeger(i * step + index)
    local x, y = world:position(id)
    local seen, heard = {}, { world:seen(id, index) }
    for k = 1, heard[2] do seen[heard[1][k]] = true end
    local near, few = world:near(x, y, radius)
    local kept, most = world:near(x, y, radius + 5)
    local good = heard[2] >= few - 1 and heard[2] <= most - 1
    for k = 1, few do good = good and (near[k] == id or seen[near[k]] == true) end
    for k = 1, most do seen[kept[k]] = nil end
    n, wrong = n + 1, wrong + (good and next(seen) == nil and 0 or 1)
  end
  return n, wrong
end

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name) skynet.retpack(CMD[name]()) end)
end)
