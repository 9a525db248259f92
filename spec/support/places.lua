-- places.lua: the same map in the caller's own service, in the AOI service, and as a world of four shards in two
-- processes, which are 32 wide.
--
--   local place = places.service { fields = ... }    or places.here, places.world; options: those of all of them
--   place.run(f)                                     f(map, far, other, third) as a coroutine: the map as services have
--                                                    it, far: of another process, where it is here, one; then all that
--                                                    was sent has arrived
--   place.tick()                                     what has happened is told
--   place.services[i]                                by what `to` names them, place.addresses[i]: as `knowers` does
--   place.kill(i)                                    that service is gone
--   place.logged                                     of the first one: errors and refusals that no handler took
local network = require "spec.world.network"
local new_local = require "aoi.skynet.local"
local transport = require "spec.support.transport"

local places = {}

local function finish(place)
  function place.tick() return place.run(function(map) return map:tick() end) end
  return place
end

function places.here(options)
  local logged, forks = {}, {}
  local map = new_local {
    address = 1, now = os.time, log = function(text) logged[#logged + 1] = text end, closed = function() end,
    fork = function(f) forks[#forks + 1] = f end,
  }("earth", options)
  return finish { logged = logged, run = function(f)
    local results = table.pack(f(map))
    while forks[1] do coroutine.wrap(table.remove(forks, 1))() end
    return table.unpack(results, 1, results.n)
  end }
end

function places.service(options)
  local net, maps, services, logged = transport.new(3), {}, { 2, 3, 4, 5 }, nil
  local server = net:serve(1)
  for i, address in ipairs(services) do
    local client = net:client(address, 1)
    maps[i], logged = net:run(function() return client:open("earth", options) end), logged or client.logged
  end
  return finish {
    services = services, addresses = services, logged = logged,
    run = function(f) return net:run(function() return f(table.unpack(maps)) end) end,
    kill = function(i)
      net:kill(services[i])
      server:drop(services[i])
      net:run()
    end,
  }
end

function places.world(options)
  local given = {
    seed = 1, plan = { size = 64, reach = 20, extent = 12, tile = 8, shards = { 2, 2 } }, processes = { 2, 2 },
    patience = 1,
  }
  local net = network.with(given)(options)
  local maps, services, addresses = { net:member(1), net:member(2), net:member(1), net:member(1) }, {}, {}
  for i, member in ipairs(maps) do services[i], addresses[i] = member.service, member.address end
  return finish {
    services = services, addresses = addresses, logged = maps[1].logged,
    run = function(f)
      local results
      net:finish(function() results = table.pack(f(table.unpack(maps))) end)
      return table.unpack(results, 1, results.n)
    end,
    kill = function(i)
      net:kill_client(maps[i])
      net:run(3)
    end,
  }
end

return places
