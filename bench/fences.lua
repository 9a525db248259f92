-- Square regions that report what comes in and goes: the same walk for this library and, as commands, for a server.
--
--   lua bench/fences.lua [REGIONS WALKERS TICKS [engine ...]]       ns a move, and events; a call for each move
--   lua bench/fences.lua REGIONS WALKERS TICKS resp                     the commands, for bench/tile38.js
--
-- The map is 60 by 60, which a fence server takes as degrees around the equator; regions are boxes, so that both sides
-- compare the same doubles.
local aoi = require "aoi"

local regions, walkers, ticks = tonumber(arg[1]) or 1000, tonumber(arg[2]) or 1000, tonumber(arg[3]) or 20
local SIDE, STEP = 60, 0.05

-- Lehmer's generator: the same walk on every Lua.
local state
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

-- Calls region(id, x, y, half), place(id, x, y) for everything and, tick by tick, move(id, x, y); `tick` after each.
local function play(region, place, move, tick)
  state = 42
  local half = 0.5 * SIDE / math.sqrt(regions) -- a place is in one region, on the average
  for id = 1, regions do region(id, random() * SIDE - 30, random() * SIDE - 30, half * (0.5 + random())) end
  local xs, ys = {}, {}
  for id = 1, walkers do
    xs[id], ys[id] = random() * SIDE - 30, random() * SIDE - 30
    place(id, xs[id], ys[id])
  end
  for _ = 1, ticks do
    for id = 1, walkers do
      xs[id] = math.max(-30, math.min(30, xs[id] + (2 * random() - 1) * STEP))
      ys[id] = math.max(-30, math.min(30, ys[id] + (2 * random() - 1) * STEP))
      move(id, xs[id], ys[id])
    end
    if tick then tick() end
  end
end

if arg[4] == "resp" then
  local function say(...) print(table.concat({ ... }, " ")) end
  local function number(v) return ("%.17g"):format(v) end
  local function set(id, x, y) say("SET", "walkers", id, "POINT", number(y), number(x)) end
  play(function(id, x, y, half)
    say("SETCHAN", "r" .. id, "WITHIN", "walkers", "FENCE", "DETECT", "enter,exit", "BOUNDS",
      number(y - half), number(x - half), number(y + half), number(x + half))
  end, set, set, function() say "TICK" end)
  return
end

local engines = { select(4, (table.unpack or unpack)(arg)) } -- luacheck: ignore 143
if not engines[1] then engines = { "grid", "list" } end
for _, engine in ipairs(engines) do
  local space, events, enters = aoi.new { engine = engine }, 0, 0
  local handlers = { enter = function() events = events + 1 end, leave = function() events = events + 1 end }
  local rows, n, least = {}, 0, math.huge
  play(function(id, x, y, half)
    space:enter(-id, x, y, 0)
    space:add_node(-id, 1, half, handlers)
  end, function(id, x, y)
    space:enter(id, x, y)
    enters = events
  end, function(id, x, y)
    rows[n + 1], rows[n + 2], rows[n + 3] = id, x, y
    n = n + 3
  end, function()
    local start = os.clock()
    for i = 1, n, 3 do space:move(rows[i], rows[i + 1], rows[i + 2]) end
    least, n = math.min(least, os.clock() - start), 0
  end)
  print(("%-8s %d regions, %d walkers: %.0f ns a move, events %d when they came and %d on the way")
    :format(engine, regions, walkers, least * 1e9 / walkers, enters, events - enters))
end
