-- The client library of the AOI service, for skynet services that move entities or watch them.
--
--   local aoi = require "aoi.skynet"
--   local service = aoi.start { interval = 10 }          -- or skynet.uniqueservice "aoi/skynet/service"
--   local map = aoi.open(service, "map-1")               -- or aoi.open("local", "map-1"): here, without messages;
--                                                        -- or aoi.open("node@name", "map-1"): over skynet's cluster
--   map:enter(id, x, y)
--   map:add_node(id, 1, 30, { enter = function(watcher, target) end, leave = function(watcher, target) end })
--   map:move(id, x, y); map:flush()                      -- all moves of a tick in one message

local skynet = require "skynet"
local core = require "skynet.core"
local Client = require "aoi.skynet.client"
local last_words = require "aoi.skynet.last_words"
local new_local = require "aoi.skynet.local"
local period = require "aoi.skynet.period"
local protocol = require "aoi.skynet.protocol"
local wire = require "aoi.skynet.wire"

local library = {}
local clients, locals = {}, {}

-- Messages stay as they are, a pointer and a length, until the client has read them.
local function as_it_is(message, size) return message, size end

-- The client whose handlers have been called and have not come back. Where that is so at the end of a dispatch, one of
-- them waits, and a message to this service itself has the others go on: to fork a coroutine for each message in
-- advance would cost as much as all its handlers.
local unfinished
local held_up = {}
local watched = false -- whether skynet calls our dispatch_message: not if it was started before this was loaded

local function go_on()
  local list = held_up
  held_up = {}
  for _, client in ipairs(list) do skynet.fork(client.continue) end
end

local ptype = protocol(function(_, source, message, size)
  local client = clients[source]
  if not client then return source == skynet.self() and go_on() or nil end
  unfinished = client.continue and client -- a world has an order of its own
  local ok, reason = client:receive(message, size)
  unfinished = nil
  if not ok then skynet.error(("aoi: bad message from %s: %s"):format(skynet.address(source), reason)) end
end, as_it_is)

local dispatch_message = skynet.dispatch_message
function skynet.dispatch_message(...)
  watched = true
  dispatch_message(...)
  if unfinished then
    held_up[#held_up + 1], unfinished = unfinished, nil
    core.send(skynet.self(), ptype, 0, "")
  end
end

--- Options as of aoi.skynet.service, by name. Returns the address.
function library.start(options)
  local words = {}
  for name, value in pairs(options or {}) do words[#words + 1] = name .. "=" .. tostring(value) end
  return skynet.newservice("aoi/skynet/service", table.unpack(words))
end

--- Ends the service: every client gets its last events, and its maps are closed.
function library.stop(service) skynet.call(service, "lua", "shutdown") end

local function answered(address, ok, ...)
  if ok then
    return ...
  end
  local reason = tostring((...)):gsub("^[^\n]-:%d+: ", "")
  return false, ("the AOI service %s is gone: %s"):format(skynet.address(address), reason)
end

-- For as long as the service is there: tells it that this one is, and notices when it is not.
local function beat(address, client)
  local _, far = skynet.harbor(address)
  repeat skynet.sleep(math.max(1, math.floor(client.heartbeat * 100))) until not client:beat(far)
end

local function new_client(address)
  local words
  local client = Client.new {
    send = function(message) return core.send(address, ptype, 0, message) end,
    call = function(...) return answered(address, pcall(skynet.call, address, "lua", ...)) end,
    log = skynet.error,
    fork = skynet.fork,
    text = skynet.tostring,
    watched = watched,
    name = function() return "the AOI service " .. skynet.address(address) end,
    gone = function()
      clients[address] = nil
      words.cancel()
    end,
  }
  -- This service may be killed; then the AOI service is told by its last breath.
  local _, far = skynet.harbor(address)
  words = last_words(function()
    if not far then core.send(address, ptype, 0, wire.gone()) end
  end)
  clients[address] = client
  return client
end

-- A local space has no service that ticks for it.
local function keep_ticking(space, interval)
  skynet.fork(period, interval, function()
    if space.closed then return false end
    space:tick()
  end)
end

local function open_local(name, options)
  local given, interval = { address = skynet.self() }, 10
  for key, value in pairs(options or {}) do
    if key == "interval" then
      interval = value
    else
      given[key] = value
    end
  end
  local space = locals[name]
  if space and not space.closed then return space end
  space = new_local(given, skynet.error)
  locals[name] = space
  if not given.drive then keep_ticking(space, interval) end
  return space
end

local function fail(n, text, ...) error(("bad argument #%d to 'open' (%s)"):format(n, text:format(...)), 3) end

-- A service by its address or local name; "node@name" is the relay here of a service there.
local function address_of(service)
  if type(service) == "string" then
    local node, name = service:match("^([^@]+)@(.+)$")
    if node then return skynet.call(skynet.uniqueservice("aoi/skynet/relays"), "lua", "open", node, name) end
    service = skynet.localname(service) or service
  end
  if math.type(service) ~= "integer" then fail(1, "no service '%s'", tostring(service)) end
  return service
end

--- options: engine, dimensions, cell, quantum; drive = true: this map's flush is the space's tick. For a space in the
-- AOI service of that address or name, of that name on another node of the cluster ("node@name"), or in the caller's
-- own: "local", where `interval` (1/100 s) is an option too.
function library.open(service, name, options)
  if options ~= nil and type(options) ~= "table" then fail(3, "table expected, got %s", type(options)) end
  if service == "local" then return open_local(name, options) end
  local address = address_of(service)
  local client = clients[address] or new_client(address)
  local ok, map = pcall(client.open, client, name, options)
  if not ok then error((tostring(map):gsub("^[^\n]-:%d+: ", "")), 2) end
  if not client.beating then
    client.beating = true
    skynet.fork(beat, address, client)
  end
  return map
end

--- Counters of the client library for that service, nil if it has none.
function library.info(service) return clients[service] and clients[service]:info() end

--- One world over many services and processes: options or its name; docs/world.md.
library.world = require("aoi.skynet.world")(clients)

return library
