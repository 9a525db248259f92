-- The map: starts the AOI service and two players, and lets a wolf walk past them.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local WOLF = 100

skynet.start(function()
  local service = aoi.start { interval = 10 }
  local meadow = aoi.open(service, "meadow")
  meadow:enter(WOLF, -30, 0)

  skynet.newservice("agent", service, "ann", 1, -10)
  skynet.newservice("agent", service, "bob", 2, 10)

  for x = -30, 30 do
    meadow:move(WOLF, x, 0)
    meadow:flush()
    skynet.sleep(5)
  end

  for topic, values in pairs(skynet.call(service, "debug", "INFO")) do
    local words = {}
    for name, value in pairs(values) do words[#words + 1] = name .. "=" .. tostring(value) end
    table.sort(words)
    skynet.error(topic .. ": " .. table.concat(words, " "))
  end
  aoi.stop(service)
  skynet.sleep(10) -- the players say goodbye
  skynet.abort()
end)
