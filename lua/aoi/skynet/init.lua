-- The client library of the AOI service, for skynet services that move entities or watch them.
--
--   local aoi = require "aoi.skynet"
--   local service = aoi.start { interval = 10 }          -- or skynet.uniqueservice "aoi/skynet/service"
--   local map = aoi.open(service, "map-1")               -- or aoi.open("local", "map-1"): here, without messages
--   map:enter(id, x, y)
--   map:add_node(id, 1, 30, { enter = function(watcher, target) end, leave = function(watcher, target) end })
--   map:move(id, x, y); map:flush()                      -- all moves of a tick in one message

local skynet = require "skynet"
local Client = require "aoi.skynet.client"
local new_local = require "aoi.skynet.local"
local protocol = require "aoi.skynet.protocol"
local wire = require "aoi.skynet.wire"

local library = {}
local clients, locals = {}, {}

protocol(function(_, source, message)
  local client = clients[source]
  local ok, reason = true, nil
  if client then ok, reason = client:receive(message) end
  if not ok then skynet.error(("aoi: bad message from %s: %s"):format(skynet.address(source), reason)) end
end)

--- Options as of aoi.skynet.service, by name. Returns the address.
function library.start(options)
  local words = {}
  for name, value in pairs(options or {}) do words[#words + 1] = name .. "=" .. tostring(value) end
  return skynet.newservice("aoi/skynet/service", table.unpack(words))
end

--- Ends the service: every client gets its last events and a BYE message.
function library.stop(service) skynet.call(service, "lua", "shutdown") end

local function answered(address, ok, ...)
  if ok then
    return ...
  end
  local reason = tostring((...)):gsub("^[^\n]-:%d+: ", "")
  return false, ("the AOI service %s is gone: %s"):format(skynet.address(address), reason)
end

-- Waits until the service exits; then its spaces are closed, whether or not a BYE message came.
local function link(address, client)
  pcall(skynet.call, address, "debug", "LINK")
  clients[address] = nil
  client:receive(wire.bye(0))
end

local function client_of(address)
  local client = clients[address]
  if not client then
    client = Client.new {
      send = function(message) return skynet.rawsend(address, "aoi", message) end,
      call = function(...) return answered(address, pcall(skynet.call, address, "lua", ...)) end,
      log = skynet.error,
    }
    clients[address] = client
    skynet.fork(link, address, client)
  end
  return client
end

-- A local space has no service that ticks for it.
local function keep_ticking(space, interval)
  skynet.fork(function()
    while not space.closed do
      space:tick()
      skynet.sleep(interval)
    end
  end)
end

--- options: engine, dimensions, cell; drive = true: this client's flush is the space's tick. For a space in the AOI
-- service at that address, or in the caller's own: "local", where `interval` (1/100 s) is an option too.
function library.open(service, name, options)
  if service == "local" then
    if not locals[name] or locals[name].closed then
      local given, interval = {}, 10
      for key, value in pairs(options or {}) do
        if key == "interval" then
          interval = value
        else
          given[key] = value
        end
      end
      locals[name] = new_local(given, skynet.error)
      if not given.drive then keep_ticking(locals[name], interval) end
    end
    return locals[name]
  end
  local address = type(service) == "string" and skynet.localname(service) or service
  if math.type(address) ~= "integer" then
    error(("bad argument #1 to 'open' (no service '%s')"):format(tostring(service)), 2)
  end
  return client_of(address):open(name, options)
end

--- Counters of the client library for that service, nil if it has none.
function library.info(service) return clients[service] and clients[service]:info() end

return library
