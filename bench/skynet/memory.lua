-- What an agent costs beside a service that does nothing: memory once it has opened a map, with an entity and a node,
-- and the time until it has loaded the library.
local skynet = require "skynet"
require "skynet.manager"

local role, service = ...

local function bare() skynet.dispatch("lua", function() skynet.ret(skynet.pack(0)) end) end

local function agent()
  local started = skynet.hpc()
  local aoi = require "aoi.skynet"
  local seconds = (skynet.hpc() - started) / 1e9
  skynet.start(function()
    local map, id = aoi.open(tonumber(service), "map"), skynet.self()
    map:enter(id, id % 100, 0)
    map:add_node(id, 1, 5, {})
    map:move(id, 1, 1)
    map:flush()
    skynet.dispatch("lua", function() skynet.ret(skynet.pack(seconds)) end)
  end)
end

-- The least of 40, after a full collection.
local function cost(...)
  local kilobytes, seconds = math.huge, math.huge
  for _ = 1, 40 do
    local address = skynet.newservice("memory", ...)
    seconds = math.min(seconds, skynet.call(address, "lua"))
    skynet.send(address, "debug", "GC")
    skynet.call(address, "lua")
    kilobytes = math.min(kilobytes, (skynet.call(address, "debug", "MEM")))
  end
  return kilobytes, seconds
end

local function main()
  local there = require("aoi.skynet").start { interval = 10 }
  local without, with, seconds = cost "bare", cost("agent", there)
  skynet.error(("a bare service %.1f kB, an agent %.1f kB more; the library loads in %.2f ms"):format(without,
    with - without, 1000 * seconds))
  skynet.sleep(20)
  skynet.abort()
end

if role == "agent" then agent() else skynet.start(role == "bare" and bare or main) end
