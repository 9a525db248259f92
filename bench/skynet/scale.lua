-- What an epoch of a world costs in which all walkers move once: thread time of the shards, and the clock from the
-- beginning of the epoch to its end. The interval is so long that whoever moves them has done so when an epoch begins.
--
--   SHARDS=2 bench/skynet/run.sh SKYNET scale
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local WALKERS, SERVICES, RADIUS, NEIGHBOURS, WATCHED = 125000, 4, 50, 20, 10
local SIDE, STEP = 2 * RADIUS * math.sqrt(WALKERS / NEIGHBOURS), 2.5
local PARTS = { "read", "close", "apply", "drain" }
local WARM_UP, EPOCHS = 20, 40 -- the first ones hold the events of everybody's entering

local role, first = ...

-- A share of the walkers, no faster than the world; one in ten watches.
local function walk()
  local world, x, y, rows, count = aoi.world "earth", {}, {}, {}, WALKERS // SERVICES
  local function step(v) return math.min(SIDE, math.max(0, v + (2 * math.random() - 1) * STEP)) end
  math.randomseed(math.tointeger(tonumber(first)))
  for i = 1, count do
    x[i], y[i] = math.random() * SIDE, math.random() * SIDE
    rows[3 * i - 2], rows[3 * i - 1], rows[3 * i] = first + i, x[i], y[i]
  end
  world:enter_many(rows)
  local handlers = { enter = function() end, leave = function() end }
  for i = 1, count, WATCHED do world:add_node(first + i, 1, { radius = RADIUS, margin = 5 }, handlers) end
  skynet.fork(function()
    while not world.closed do
      for i = 1, count do
        x[i], y[i] = step(x[i]), step(y[i])
        world:move(first + i, x[i], y[i])
      end
      world:flush()
      world:tick()
    end
  end)
end

local function counters(world, shards)
  local info, list = world:info(), {}
  for shard = 1, shards do list[shard] = info["shard " .. shard] end
  return list
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

-- Milliseconds an epoch of each part, in all shards, and of the busiest shard and of all; moves an epoch.
local function thread_times(before, after)
  local of, busiest, all, moves = {}, 0, 0, 0
  for shard, now in ipairs(after) do
    local was, busy = before[shard], 0
    local epochs = now.epoch - was.epoch
    for _, part in ipairs(PARTS) do
      local ms = 1000 * (now[part .. "_seconds"] - was[part .. "_seconds"]) / epochs
      of[part] = (of[part] or 0) + ms
      busy = busy + ms
    end
    busiest, all, moves = math.max(busiest, busy), all + busy, moves + (now.moves - was.moves) / epochs
  end
  return of, busiest, all, moves
end

local function main()
  local shards = tonumber(skynet.getenv "shards")
  local world = aoi.world {
    name = "earth", size = SIDE, reach = 55, interval = 50, heartbeat = 2, engine = "grid", shards = shards,
    measure = true,
  }
  for i = 0, SERVICES - 1 do
    skynet.call(skynet.newservice("scale", "walker", i * (WALKERS // SERVICES)), "lua")
  end
  local function pass(epochs) for _ = 1, epochs do world:tick() end end
  pass(WARM_UP)
  world.measured()
  local before = counters(world, shards)
  pass(EPOCHS)
  local of, busiest, all, moves = thread_times(before, counters(world, shards))
  local lengths, closing, parts = {}, {}, {}
  for i, epoch in ipairs(world.measured()) do lengths[i], closing[i] = 1000 * epoch[2], 1000 * epoch[4] end
  for i, part in ipairs(PARTS) do parts[i] = ("%s %.1f"):format(part, of[part]) end
  local words = "%d shards, %.0f moves an epoch: thread time of the busiest %.1f ms, of all %.1f (%s); an epoch lasts "
    .. "%.1f ms, of which closing %.1f (median of %d)"
  skynet.error(words:format(shards, moves, busiest, all, table.concat(parts, ", "), median(lengths), median(closing),
    #lengths))
  skynet.sleep(50) -- the log is written
  skynet.abort()
end

local function walker() skynet.dispatch("lua", function() skynet.retpack(walk()) end) end

skynet.start(role == "walker" and walker or main)
