-- A scene of 40,000 walkers at ten ticks a second: does it hold, on one core each for the scene and the service?
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local ENTITIES, WATCHERS, RADIUS, NEIGHBOURS = 40000, 500, 50, 20

skynet.start(function()
  local ticks = tonumber(skynet.getenv "ticks")
  local service, driver = aoi.start { interval = 0 }, skynet.newservice("driver", "aoi")
  local side = 2 * RADIUS * math.sqrt(ENTITIES / NEIGHBOURS)
  skynet.call(driver, "lua", "open", service, ENTITIES, side)
  for i = 1, WATCHERS do
    skynet.call(skynet.newservice("watcher", "aoi"), "lua", "watch", service, { i }, RADIUS)
  end
  skynet.call(driver, "lua", "walk", 10, 10)
  local function cpu(a) return skynet.call(a, "debug", "STAT").cpu end
  local before, before_driver = cpu(service), cpu(driver)
  local seconds, late = skynet.call(driver, "lua", "walk", ticks, 10)
  local line = "%s, %d walkers: %.1f ticks a second, %d of %d late; service %.1f ms a tick, scene %.1f"
  skynet.error(line:format(_VERSION, ENTITIES, ticks / seconds, late, ticks, 1000 * (cpu(service) - before) / ticks,
    1000 * (cpu(driver) - before_driver) / ticks))
  skynet.sleep(50)
  skynet.abort()
end)
