-- What deaths leave behind: clients killed by the thousand, and the service killed under clients that only listen.
local skynet = require "skynet"
require "skynet.manager"
local aoi = require "aoi.skynet"

local role, service = ...

local function client()
  local map = aoi.open(tonumber(service), "map")
  local id = skynet.self()
  map:enter(id, id % 100, 0)
  map:add_node(id, 1, 5, {})
  local closed_at
  map:on_close(function() closed_at = skynet.now() end)
  skynet.dispatch("lua", function() skynet.ret(skynet.pack(closed_at)) end)
end

local function state(address)
  collectgarbage()
  skynet.send(address, "debug", "GC")
  return skynet.call(address, "debug", "MEM"), skynet.call(address, "debug", "STAT").task
end

local function main()
  service = aoi.start { interval = 10, heartbeat = 5 }
  local map = aoi.open(service, "map")
  for round = 0, 6 do
    for _ = 1, round == 0 and 0 or 500 do
      skynet.kill(skynet.newservice("deaths", "client", service))
    end
    skynet.sleep(50)
    local memory, tasks = state(service)
    skynet.error(("%d kills: %.0f kB, %d tasks, %d entities, %d subscribers"):format(500 * round, memory, tasks,
      map:count(), skynet.call(service, "debug", "INFO").service.subscribers))
  end
  local listeners = {}
  for i = 1, 50 do listeners[i] = skynet.newservice("deaths", "client", service) end
  skynet.sleep(50)
  local before = skynet.now()
  skynet.kill(service)
  skynet.sleep(1000)
  local heard, last = 0, 0
  for _, listener in ipairs(listeners) do
    local at = skynet.call(listener, "lua")
    if at then
      heard, last = heard + 1, math.max(last, at - before)
    end
  end
  skynet.error(("service killed: %d of 50 listeners have on_close, the last after %.2f s; heartbeat 5 s"):format(heard,
    last / 100))
  local again = aoi.start { interval = 10 }
  local other = aoi.open(again, "map")
  other:enter(1, 0, 0)
  local _, err = pcall(map.count, map)
  skynet.error(("opened again: %d entity; the old map: %s"):format(other:count(), err))
  skynet.sleep(50)
  skynet.abort()
end

skynet.start(role == "client" and client or main)
