-- A world of regions that stand still and walkers who go through them: what 100,000 regions cost 10,000 walkers who
-- would be as well among 100. Regions are triggers of the Lua layer, moves are one batch a tick.
--
--   lua bench/regions.lua [engine ...]                            default: every engine but brute
--
-- Prints ns per walker and tick, the best of the rounds, with `move_many`, `flush` and `update`, and the ratio.

local aoi = require "aoi"
local trigger = require "aoi.trigger"

local WALKERS, SIDE, RADIUS, STEP, ROUNDS = 10000, 10000, 10, 1, 15
local FEW, MANY = 100, 100000
local PLAYER = 1

-- The same walk on every Lua: Lehmer's generator.
local state
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local function world(engine, regions)
  state = 42
  local space, events = aoi.new { engine = engine, delivery = "deferred" }, 0
  local function count() events = events + 1 end
  local zone = { shape = "circle", radius = RADIUS, mask = PLAYER, enter = count, leave = count }
  local triggers = trigger.new(space, { zone = zone })
  for _ = 1, regions do triggers:region("zone", { x = random() * SIDE, y = random() * SIDE }) end
  local rows, now = {}, 0
  for id = 1, WALKERS do
    local at = 3 * id - 2
    rows[at], rows[at + 1], rows[at + 2] = id, random() * SIDE, random() * SIDE
  end
  space:enter_many(rows, nil, PLAYER)
  space:flush()
  events = 0
  local function step()
    now = now + 1
    for at = 2, 3 * WALKERS, 3 do
      rows[at] = (rows[at] + (2 * random() - 1) * STEP) % SIDE
      rows[at + 1] = (rows[at + 1] + (2 * random() - 1) * STEP) % SIDE
    end
  end
  return function()
    step()
    local start = os.clock()
    space:move_many(rows)
    space:flush()
    triggers:update(now)
    return (os.clock() - start) * 1e9 / WALKERS
  end, function() return events end
end

local function compare(engine)
  local few = world(engine, FEW)
  local many, events_of = world(engine, MANY)
  local best_few, best_many = math.huge, math.huge
  for _ = 1, ROUNDS do
    best_few = math.min(best_few, few())
    best_many = math.min(best_many, many())
  end
  local many_events = events_of() / ROUNDS
  print(("%-9s %7.0f ns among %d regions, %7.0f among %d, ratio %.2f, %.0f events a tick"):format(engine, best_few, FEW,
    best_many, MANY, best_many / best_few, many_events))
end

local engines = { ... }
if #engines == 0 then
  for _, name in ipairs(aoi.engines()) do
    if name ~= "brute" then engines[#engines + 1] = name end
  end
end
for _, engine in ipairs(engines) do compare(engine) end
