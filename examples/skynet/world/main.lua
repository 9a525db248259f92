-- One of two processes, each with two shards of four. Both have 1,000 animals that wander about, moved by one service,
-- and 100 players, each with an agent of its own that sees what comes near. In world_b a caravan starts, which walks
-- through all regions: wherever it is, the same two handlers hear of it. At the end world_b goes, with all that it has
-- entered, and world_a goes on: it gets the shards of world_b.
local skynet = require "skynet"
require "skynet.manager"
local cluster = require "skynet.cluster"
local aoi = require "aoi.skynet"

local NODE = skynet.getenv "node"
local SIZE, ANIMALS, PLAYERS = 1024, 1000, 100
local FIRST = NODE == "world_a" and 1000000 or 2000000 -- ids of this process
local CARAVAN = 1

local function open()
  if NODE == "world_a" then
    return aoi.world { name = "earth", node = NODE, nodes = { world_a = 2, world_b = 2 }, size = SIZE, reach = 55,
                       heartbeat = 1 }
  end
  return aoi.world { name = "earth", node = NODE, director = "world_a" }
end

local function wander(world)
  local x, y = {}, {}
  for i = 1, ANIMALS do
    x[i], y[i] = math.random() * SIZE, math.random() * SIZE
    world:enter(FIRST + i, x[i], y[i])
  end
  return function()
    for i = 1, ANIMALS do
      x[i] = math.min(SIZE, math.max(0, x[i] + 10 * math.random() - 5))
      y[i] = math.min(SIZE, math.max(0, y[i] + 10 * math.random() - 5))
      world:move(FIRST + i, x[i], y[i])
    end
    world:flush()
  end
end

-- Around the middle, where four regions meet.
local function lead(world)
  local met, shard = 0, nil
  world:enter(CARAVAN, SIZE / 4, SIZE / 4) -- far off, at first
  world:add_node(CARAVAN, 1, 50, function() met = met + 1 end)
  return function(tick)
    local angle = 2 * math.pi * tick / 100
    world:move(CARAVAN, SIZE / 2 - SIZE / 16 * math.cos(angle), SIZE / 2 - SIZE / 16 * math.sin(angle))
    world:flush()
    local now, process = world:where(CARAVAN)
    if now ~= shard then
      skynet.error(("the caravan is with shard %d in %s; it sees %d, and has met %d"):format(now, process,
        select(2, world:view(CARAVAN, 1)), met))
      shard = now
    end
  end
end

local function finish()
  skynet.sleep(20) -- the log is written
  skynet.abort()
end

skynet.start(function()
  cluster.open(NODE)
  local world = open()
  skynet.error(("%s: the world is there, of %d shards"):format(NODE, world.shards))
  local step = wander(world)
  for i = 1, PLAYERS do skynet.newservice("player", FIRST + ANIMALS + i, SIZE) end
  local walk = NODE == "world_b" and lead(world)
  for tick = 1, 120 do
    step()
    if walk then walk(tick) end
    skynet.sleep(10)
  end
  world:tick()
  local info = world:info()
  for shard, process in ipairs(world.process_of) do
    local numbers = info["shard " .. shard]
    if process == NODE then
      skynet.error(("shard %d: %d of its own, %d ghosts, %d handed over, %d events"):format(shard, numbers.reals,
        numbers.ghosts, numbers.handed, numbers.events))
    end
  end
  skynet.error(("%s: %d epochs, the longest %.0f ms"):format(NODE, info.world.epochs, 1000 * info.world.epoch_max))
  if NODE == "world_b" then
    skynet.sleep(100)
    skynet.error "world_b goes"
    return finish()
  end
  local function is_alone()
    for _, process in ipairs(world.process_of) do
      if process ~= NODE then return false end
    end
    return true
  end
  for _ = 1, 300 do
    if not is_alone() then skynet.sleep(10) end
  end
  assert(is_alone(), "world_a has not got the shards of world_b")
  world:tick()
  skynet.error(("world_a goes on with all %d shards, and %d entities of its own"):format(world.shards, world:count()))
  finish()
end)
