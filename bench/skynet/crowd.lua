-- Walks a crowd past subscribers, through the AOI service and through one that sends a message for everything, and
-- prints what each service has cost: the thread time that skynet counts for it.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local function number(name) return assert(tonumber(skynet.getenv(name))) end

local ENTITIES, SUBSCRIBERS = number("entities"), number("subscribers")
local TICKS, INTERVAL = number("ticks"), number("interval")
local RADIUS, STEP, NEIGHBOURS = 50, 2.5, 20
local SIDE = 2 * RADIUS * math.sqrt(ENTITIES / NEIGHBOURS)
local x, y = {}, {}

local state = 42
local function random()
  state = state * 16807 % 2147483647
  return state / 2147483647
end

local function walk(move)
  for id = 1, ENTITIES do
    x[id] = math.min(SIDE, math.max(0, x[id] + (2 * random() - 1) * STEP))
    y[id] = math.min(SIDE, math.max(0, y[id] + (2 * random() - 1) * STEP))
    move(id, x[id], y[id])
  end
end

local function run(name, service, map)
  state = 42
  for id = 1, ENTITIES do
    x[id], y[id] = random() * SIDE, random() * SIDE
    map:enter(id, x[id], y[id])
  end
  local watchers = {}
  for i = 1, SUBSCRIBERS do watchers[i] = skynet.newservice("watcher", name, service, i, RADIUS) end
  local function move(...) map:move(...) end
  local next_tick = skynet.now()
  local function tick(n)
    for _ = 1, n do
      walk(move)
      map:flush()
      next_tick = next_tick + INTERVAL
      skynet.sleep(math.max(0, next_tick - skynet.now()))
    end
  end
  tick(10)
  local before = skynet.call(service, "debug", "STAT")
  local heard, messages = 0, 0
  for _, watcher in ipairs(watchers) do skynet.call(watcher, "lua", "take") end
  tick(TICKS)
  local after = skynet.call(service, "debug", "STAT")
  for _, watcher in ipairs(watchers) do
    local events, n = skynet.call(watcher, "lua", "take")
    heard, messages = heard + events, messages + n
  end
  skynet.error(("%s: %.3f ms of CPU a tick in the service, %.1f messages to it, %.1f from it, %.1f events"):format(name,
    1000 * (after.cpu - before.cpu) / TICKS, (after.message - before.message) / TICKS, messages / TICKS, heard / TICKS))
  for _, watcher in ipairs(watchers) do skynet.kill(watcher) end
end

skynet.start(function()
  skynet.error(("%s, %d entities, %d subscribers, %d ticks"):format(_VERSION, ENTITIES, SUBSCRIBERS, TICKS))
  local service = aoi.start { interval = INTERVAL }
  run("packed", service, aoi.open(service, "map"))
  local info = skynet.call(service, "debug", "INFO")
  skynet.error(("packed: the tick alone %.3f ms, at most %.3f; %.0f bytes a tick from the service"):format(
    info.tick.mean_ms, info.tick.max_ms, info.service.bytes / info.service.ticks))
  aoi.stop(service)

  service = skynet.newservice("single")
  run("single", service, {
    enter = function(_, ...) skynet.call(service, "lua", "enter", ...) end,
    move = function(_, ...) skynet.send(service, "lua", "move", ...) end,
    flush = function() end,
  })
  skynet.sleep(20)
  skynet.abort()
end)
