-- Walks a crowd past subscribers, through the AOI service and through services written by hand around the same core,
-- and prints what each service has cost: the thread time that skynet counts for it. Kinds: "aoi" moves one by one,
-- "rows" all in one call, "literal" has a table of handlers for each node instead of one for all, "pair" two functions;
-- by hand, without the library, "thirty" and "single". Rounds are interleaved; minima are shown.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local ROUNDS, TICKS = tonumber(skynet.getenv "rounds"), tonumber(skynet.getenv "ticks")
local ONLY = skynet.getenv "only"
local RADIUS, NEIGHBOURS = 50, 20

local CASES = {
  { name = "5,000 entities, 500 watchers", entities = 5000, watchers = 500, services = 500, interval = 10 },
  { name = "5,000, all watch, 200 subscribers", entities = 5000, watchers = 5000, services = 200, interval = 10 },
  { name = "20,000, 500 watchers", entities = 20000, watchers = 500, services = 500, interval = 10 },
  { name = "20,000, 2,000 watchers", entities = 20000, watchers = 2000, services = 2000, interval = 10 },
}
local KINDS = {}
for kind in skynet.getenv("kinds"):gmatch "%a+" do KINDS[#KINDS + 1] = kind end

local function cpu(addresses)
  local total = 0
  for _, address in ipairs(addresses) do total = total + skynet.call(address, "debug", "STAT").cpu end
  return total
end

local function measure(case, kind)
  local ours = kind ~= "thirty" and kind ~= "single"
  local service = ours and aoi.start { interval = 0 } or skynet.newservice(kind)
  local driver = skynet.newservice("driver", kind)
  local side = 2 * RADIUS * math.sqrt(case.entities / NEIGHBOURS)
  skynet.call(driver, "lua", "open", service, case.entities, side)
  local watchers, each = {}, case.watchers // case.services
  for i = 1, case.services do
    watchers[i] = skynet.newservice("watcher", kind)
    local ids = {}
    for k = 1, each do ids[k] = (i - 1) * each + k end
    skynet.call(watchers[i], "lua", "watch", service, ids, RADIUS)
  end
  skynet.call(driver, "lua", "walk", 10, case.interval)
  for _, watcher in ipairs(watchers) do skynet.call(watcher, "lua", "take") end
  local result = { cpu { service }, cpu { driver }, cpu(watchers) }
  skynet.call(driver, "lua", "walk", TICKS, case.interval)
  skynet.sleep(20)
  for i, now in ipairs { cpu { service }, cpu { driver }, cpu(watchers) } do
    result[i] = 1000 * (now - result[i]) / TICKS
  end
  result.events = 0
  for _, watcher in ipairs(watchers) do result.events = result.events + skynet.call(watcher, "lua", "take") end
  result.events = result.events / TICKS
  for _, watcher in ipairs(watchers) do skynet.kill(watcher) end
  skynet.kill(driver)
  skynet.kill(service)
  skynet.sleep(20)
  return result
end

skynet.start(function()
  local title = "%s, %d rounds of %d ticks; ms of CPU a tick: service / driver / watchers"
  skynet.error(title:format(_VERSION, ROUNDS, TICKS))
  for _, case in ipairs(CASES) do
    local best = {}
    if ONLY == "" or case.name:find(ONLY, 1, true) then
      for _ = 1, ROUNDS do
        for _, kind in ipairs(KINDS) do
          local result = measure(case, kind)
          best[kind] = best[kind] or result
          for i = 1, 3 do best[kind][i] = math.min(best[kind][i], result[i]) end
        end
      end
      for _, kind in ipairs(KINDS) do
        local b, hand = best[kind], best.thirty or best[kind]
        local line = "%-36s %-7s %6.2f / %6.2f / %6.2f   of thirty lines: %.2f / %.2f / %.2f   %.0f events a tick"
        skynet.error(line:format(case.name, kind, b[1], b[2], b[3], b[1] / hand[1], b[2] / hand[2], b[3] / hand[3],
          b.events))
      end
    end
  end
  skynet.sleep(50) -- the log is written
  skynet.abort()
end)
