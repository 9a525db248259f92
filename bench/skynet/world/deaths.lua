-- deaths(open, heartbeat): kills what a world needs, one after the other, and says how long it takes until that is
-- noticed. Returns whether it was in time: a service of the world within one heartbeat, a client that gets no mail
-- within two.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local HEARTBEAT

local function seconds_since(at) return (skynet.hpc() - at) / 1e9 end

local function wait_until(f)
  local at = skynet.hpc()
  repeat skynet.sleep(2) until f() or seconds_since(at) > 5 * HEARTBEAT
  return seconds_since(at)
end

local function count_own(world)
  local n = 0
  for _, id in ipairs(world:ids()) do n = n + (id > 1000000 and 1 or 0) end
  return n
end

local function quiet_client(open)
  local world = open()
  local service = skynet.newservice("walker", 1000001, 100, 500, 0)
  skynet.call(service, "lua", "start")
  world:tick()
  local entered = count_own(world)
  skynet.kill(service)
  local took = wait_until(function() return count_own(world) == 0 end)
  skynet.error(("one: a killed client and its %d entities are gone after %.2f s"):format(entered, took))
  return entered == 100 and took <= 2 * HEARTBEAT
end

-- Meanwhile one coroutine waits for an epoch, one for an answer of each shard.
local function service_of(open, what, address_of)
  local world = open()
  local reason, returned = nil, 0
  world:on_close(function(why) reason = why end)
  for _, f in ipairs { world.tick, world.count } do
    skynet.fork(function()
      while pcall(f, world) do skynet.yield() end
      returned = returned + 1
    end)
  end
  skynet.sleep(100)
  skynet.kill(address_of(world))
  local took = wait_until(function() return reason and returned == 2 end)
  local words = "one: a killed %s is noticed after %.2f s, %d of 2 calls returned: %s"
  skynet.error(words:format(what, took, returned, reason))
  return took <= HEARTBEAT
end

-- A killed shard has a successor: nobody hears on_close, its entities are back.
local function shard_of(open)
  local world, reason = open(), nil
  world:on_close(function(why) reason = why end)
  local service = skynet.newservice("walker", 1000001, 100, 500, 0)
  skynet.call(service, "lua", "start")
  world:tick()
  local all, at = world:count(), skynet.hpc()
  skynet.kill(world.addresses[1])
  world:tick()
  local paused = seconds_since(at)
  local took = wait_until(function() return world:count() == all end)
  local words = "one: a killed shard: epochs go on after %.2f s, entities are back after %.2f s, %d of %d, on_close: %s"
  skynet.error(words:format(paused, paused + took, world:count(), all, tostring(reason)))
  local whole = world:count() == all and count_own(world) == 100
  skynet.kill(service)
  return whole and not reason and paused + took <= 2 * HEARTBEAT
end

-- The world is open already: its name is enough, the same options are the same world, another value is an error.
local function other_options(open)
  local world = open()
  local ok, err = pcall(open, { reach = 54 })
  skynet.error(("one: with another reach: %s"):format(err))
  return not ok and tostring(err):find("another value of option 'reach'", 1, true) and world == aoi.world "earth" and
    world == open()
end

-- A client of a large world keeps nothing of its size.
local function memory_of_client()
  local size = { shards = 1, size = 22528, reach = 55, name = "large" }
  local large, service = aoi.world(size), skynet.newservice("walker", 1, 0, 1, 0, "large")
  local before = skynet.call(service, "debug", "MEM")
  local at = skynet.hpc()
  skynet.call(service, "lua", "start")
  local took, after = (skynet.hpc() - at) / 1e6, skynet.call(service, "debug", "MEM")
  skynet.error(("one: a client of a large world takes %.2f ms and %.0f kB"):format(took, after - before))
  large:close()
  return after - before < 200
end

return function(open, heartbeat)
  HEARTBEAT = heartbeat
  local told, small = other_options(open), memory_of_client()
  local client = quiet_client(open)
  local shard = shard_of(open)
  local exchange = service_of(open, "exchange", function(world) return world.exchange end)
  local at = skynet.hpc()
  local world = open()
  world:tick()
  skynet.error(("one: open again after %.2f s"):format(seconds_since(at)))
  return told and small and client and shard and exchange
end
