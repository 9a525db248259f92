-- What the Lua layer of triggers adds to the same moves with bare callbacks: 10,000 NPCs with two areas each, and
-- 500 players who walk.
--
--   lua bench/scripting.lua [engine ...]                          default: every engine but brute
--
-- Both sides run in one process, in turn, on the same moves; each handler counts. Bare: one table of enter and leave
-- for each of the two areas. Triggers, in three ways:
--   sleepers   wake: first and last                   alert: enter and leave
--   full       wake and alert: first, enter, leave and last
--   guards     wake: first and last                   alert: enter, dwell after 2 s, stay every 5 s, leave
-- Prints ns per move (the best of the rounds), what the layer adds (the median of the rounds), events per move, and
-- by how much memory grew in 1,000 ticks with the collector stopped.

local aoi = require "aoi"
local trigger = require "aoi.trigger"

local NPCS, PLAYERS, SIDE = 10000, 500, 2000
local WAKE, ALERT = 30, 10
local STEP, TICK = 2.5, 0.1 -- units a tick, seconds
local ROUNDS, TICKS, FLAT_TICKS = 21, 20, 1000
local PLAYER, NPC = 1, 2

-- The same walk on every Lua: Lehmer's generator.
local state
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local calls = 0
local function count() calls = calls + 1 end

local function handlers_of(...)
  local own = {}
  for _, event in ipairs { ... } do own[event] = count end
  return own
end

local ways = {
  { name = "sleepers", wake = handlers_of("first", "last"), alert = handlers_of("enter", "leave") },
  { name = "full", wake = handlers_of("first", "enter", "leave", "last"),
    alert = handlers_of("first", "enter", "leave", "last") },
  { name = "guards", wake = handlers_of("first", "last"), alert = handlers_of("enter", "dwell", "stay", "leave") },
}
ways[3].alert.after, ways[3].alert.interval = 2, 5

-- A world and its tick. Worlds are equal, move for move.
local function world(engine, way)
  state = 42
  local space = aoi.new { engine = engine }
  local triggers = way and trigger.new(space, { wake = way.wake, alert = way.alert })
  local bare = { enter = count, leave = count }
  local bare_alert = { enter = count, leave = count }
  local wake, alert = { radius = WAKE, mask = PLAYER }, { radius = ALERT, mask = PLAYER }
  for id = 1, NPCS do
    space:enter(id, random() * SIDE, random() * SIDE, NPC)
    if way then
      triggers:add(id, "wake", wake)
      triggers:add(id, "alert", alert)
    else
      space:add_node(id, 1, wake, bare)
      space:add_node(id, 2, alert, bare_alert)
    end
  end
  local x, y, dx, dy = {}, {}, {}, {}
  for i = 1, PLAYERS do
    x[i], y[i] = random() * SIDE, random() * SIDE
    local angle = random() * 2 * math.pi
    dx[i], dy[i] = math.cos(angle) * STEP, math.sin(angle) * STEP
    space:enter(NPCS + i, x[i], y[i], PLAYER)
  end
  local now = 0
  return function()
    now = now + TICK
    if triggers then triggers:update(now) end
    for i = 1, PLAYERS do
      local a, b = x[i] + dx[i], y[i] + dy[i]
      if a < 0 or a > SIDE then dx[i], a = -dx[i], x[i] end
      if b < 0 or b > SIDE then dy[i], b = -dy[i], y[i] end
      x[i], y[i] = a, b
      space:move(NPCS + i, a, b)
    end
  end, space
end

local function measure(tick)
  local start = os.clock()
  for _ = 1, TICKS do tick() end
  return (os.clock() - start) * 1e9 / (TICKS * PLAYERS)
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) / 2]
end

local function compare(engine, way)
  local bare, space = world(engine)
  local scripted = world(engine, way)
  local ratios, best_bare, best_scripted = {}, math.huge, math.huge
  for _ = 1, 5 * TICKS do bare() scripted() end
  collectgarbage()
  collectgarbage()
  local before = space:stats().events
  for i = 1, ROUNDS do
    local a, b
    if i % 2 == 0 then a, b = measure(bare), measure(scripted) else b, a = measure(scripted), measure(bare) end
    ratios[i] = b / a
    best_bare, best_scripted = math.min(best_bare, a), math.min(best_scripted, b)
  end
  local events = (space:stats().events - before) / (ROUNDS * TICKS * PLAYERS)
  collectgarbage()
  collectgarbage()
  collectgarbage("stop")
  local kilobytes = collectgarbage("count")
  for _ = 1, FLAT_TICKS do scripted() end
  kilobytes = collectgarbage("count") - kilobytes
  collectgarbage("restart")
  print(("%-10s %-10s %8.0f %10.0f %+8.0f%% %8.2f %10.1f"):format(engine, way.name, best_bare, best_scripted,
    (median(ratios) - 1) * 100, events, kilobytes))
end

local version = type(jit) == "table" and jit.version or _VERSION
print(("%s: %d NPCs with two areas each, %d players"):format(version, NPCS, PLAYERS))
print(("%-10s %-10s %8s %10s %9s %8s %10s"):format("engine", "triggers", "bare ns", "script ns", "added", "events",
  "grown KB"))
local engines = { ... }
if #engines == 0 then
  for _, engine in ipairs(aoi.engines()) do
    if engine ~= "brute" then engines[#engines + 1] = engine end
  end
end
for _, engine in ipairs(engines) do
  for _, way in ipairs(ways) do compare(engine, way) end
end
