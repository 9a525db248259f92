-- The client library of the AOI service, for skynet services that move entities or watch them.
--
--   local aoi = require "aoi.skynet"
--   local service = aoi.start { interval = 10 }          -- or skynet.uniqueservice "aoi/skynet/service"
--   local map = aoi.open(service, "map-1")               -- or aoi.open("local", "map-1"): in this service itself;
--                                                        -- or aoi.open("node@name", "map-1"): over skynet's cluster
--   map:enter(id, x, y)
--   map:add_node(id, 1, 30, { enter = function(watcher, target) end, leave = function(watcher, target) end })
--   map:move(id, x, y); map:flush()                      -- all moves of a tick in one message

local skynet = require "skynet"
local core = require "skynet.core"
local argument = require "aoi.skynet.argument"
local Client = require "aoi.skynet.client"
local call = require "aoi.skynet.call"
local failures = require "aoi.skynet.failures"
local at_exit = require "aoi.skynet.at_exit"
local origin = require "aoi.skynet.origin"
local protocol = require "aoi.skynet.protocol"
local wire = require "aoi.skynet.wire"

local library = {}
local locals = {}
-- Address of a service -> the function that receives its events; that function -> its client, which may have ended.
local receivers, owners = {}, setmetatable({}, { __mode = "k" })

-- The client reads messages as a pointer and a length.
local function unpack_nothing(message, size) return message, size end

local function now() return skynet.now() / 100 end

local function client_of(address) return receivers[address] and owners[receivers[address]] end

local warn = failures.rate_limited(skynet.error, now)

local function settle(client, ok, reason)
  local source = client.address
  if not ok then warn(source, "aoi: bad message from %s: %s", skynet.address(source), reason) end
end

local ptype = protocol(function(_, source, message, size)
  local client = client_of(source)
  if client then settle(client, client:receive(message, size)) end
end, unpack_nothing)

local watched -- returns whether skynet calls our dispatch_message: not if it was started before this was loaded
skynet.dispatch_message, watched = require "aoi.skynet.one_coroutine"(skynet.dispatch_message, ptype, receivers,
  function(receive, message, size, ...)
    local client = owners[receive]
    settle(client, client:finish(message, size, ...))
  end,
  function(source)
    local client = client_of(source)
    if client then skynet.fork(client.continue) end
  end)

--- Starts an AOI service. options: as for aoi.skynet.service, by name. Returns its address.
function library.start(options, ...)
  argument.nothing(2, "start", 2, ...)
  local words = {}
  for name, value in pairs(argument.options(1, "start", options, 2)) do
    local number, wrong = require("aoi.skynet.service_options").check(name, value)
    if not number then argument.fail(1, "start", 2, "%s", wrong) end
    words[#words + 1] = name .. "=" .. tostring(number)
  end
  return skynet.newservice("aoi/skynet/service", table.unpack(words))
end

-- Converts the results of aoi.skynet.call for the client's `call`. Another service may answer with any values.
local function answered(name, ok, first, ...)
  if ok then return first or false, ... end
  if ok == nil then return false, first end
  return nil, ("%s is gone: %s"):format(name, failures.reason(first))
end

-- Sends heartbeats to a service until it has ended.
local function beat(address, client)
  local _, far = skynet.harbor(address)
  repeat skynet.sleep(math.max(1, math.floor(client.heartbeat * 100))) until not client:beat(far)
end

-- name: of the service, for messages; on_gone() is called when it has ended.
local function new_client(address, name, on_gone)
  local words, client
  name = name or "the AOI service " .. skynet.address(address)
  client = Client.new {
    send = function(message) return core.send(address, ptype, 0, message) end,
    call = function(...) return answered(name, call(address, ...)) end,
    log = skynet.error,
    now = now, fork = skynet.fork,
    text = skynet.tostring,
    watched = watched(),
    name = function() return name end,
    origin = origin.here(),
    gone = function() -- again, where an `open` that waits fails: a relay may have another client by then
      if client_of(address) == client then receivers[address] = nil end
      words.cancel()
      if on_gone then on_gone() end
    end,
  }
  -- If this service is killed, a finalizer sends GONE to the AOI service.
  local _, far = skynet.harbor(address)
  words = at_exit(function()
    if not far then core.send(address, ptype, 0, wire.gone()) end
  end)
  client.address, receivers[address], owners[client.receive_events] = address, client.receive_events, client
  return client
end

local function keep_beating(address, client)
  if client.beating then return end
  client.beating = true
  skynet.fork(beat, address, client)
end

-- Makes the tick of local maps. In another coroutine, since a waiting handler must not delay the next tick.
local function tick_local(here)
  local maps = here.client.maps
  if next(maps) == nil then return false end
  for _, map in pairs(maps) do
    if map.drives then return end
  end
  local _, map = next(maps)
  skynet.fork(map.tick, map)
end

local function begin_local(name, interval)
  local here = { interval = interval }
  here.open, here.client = require "aoi.skynet.local" {
    address = skynet.self(), log = skynet.error, now = now, fork = skynet.fork,
    closed = function() locals[name] = nil end,
  }
  return here
end

local function open_local(name, options)
  local given, interval = {}, nil
  for key, value in pairs(options or {}) do
    if key == "interval" then interval = value else given[key] = value end
  end
  local here = locals[name]
  local number, wrong = require("aoi.skynet.service_options").check("interval", interval == nil and 10 or interval)
  if not number then error(("bad argument #3 to 'open' (%s)"):format(wrong), 0) end
  if here and interval ~= nil and number ~= here.interval then
    error(("bad argument #3 to 'open' (space '%s' has another interval)"):format(name), 0)
  end
  here = here or begin_local(name, number)
  local map = here.open(name, given)
  locals[name] = here
  if map.drives or here.interval == 0 or here.ticks then return map end
  here.ticks = true
  require("aoi.skynet.period").start(here.interval, function() return tick_local(here) end)
  return map
end

-- The address of a service given by address or local name; for "node@name" that of its relay here. nil: there is none.
local function address_of(service)
  if type(service) == "string" then
    local node, name = service:match("^([^@]+)@(.+)$")
    if node then return skynet.call(skynet.uniqueservice("aoi/skynet/relays"), "lua", "open", node, name) end
    service = skynet.localname(service)
  end
  return math.type(service) == "integer" and service or nil
end

-- The same for the method of that name; an error of its caller where there is none.
local function address_for(name, service)
  local address = address_of(service)
  if not address then argument.fail(1, name, 3, "no service '%s'", tostring(service)) end
  return address
end

--- Ends a service: every client receives its last events, and all maps are closed.
function library.stop(service, ...)
  argument.nothing(2, "stop", 2, ...)
  if not skynet.call(address_for("stop", service), "lua", "shutdown") then -- through a relay
    argument.fail(1, "stop", 2, "a service of another node is stopped there")
  end
end

local function open_there(service, address, open, ...)
  local far = type(service) == "string" and service:find("@", 2, true) -- the address is that of a relay
  local client = client_of(address) or new_client(address, far and "the AOI service " .. service or nil)
  client.opening = (client.opening or 0) + 1
  local ok, map = pcall(client[open], client, ...)
  client.opening = client.opening - 1
  if ok then
    keep_beating(address, client)
  elseif not client.beating and client.opening == 0 then
    client.on_gone()
  end
  return ok, map
end

-- Returns the map of a pcall, or raises its error in the caller of the function that returns this call.
local function opened(ok, map)
  if ok then return map end
  error(failures.reason(map), 2)
end

--- Opens a space in the AOI service of that address or name, of that name on another node of the cluster ("node@name"),
-- or in the caller's own service ("local"). options: engine, dimensions, cell, quantum; drive = true: this map's flush
-- is the space's tick; for "local" also interval (1/100 s; 0: only `flush` and `tick` are ticks).
function library.open(service, name, options, ...)
  argument.nothing(4, "open", 2, ...)
  argument.options(3, "open", options, 2)
  local address = service ~= "local" and address_for("open", service)
  if address then return opened(open_there(service, address, "open", name, options)) end
  return opened(pcall(open_local, name, options))
end

--- Opens a gate: this service receives events of nodes and messages of client views that other clients of the AOI
-- service send to it with `to`, without opening their maps. A gate has on_client, on_broadcast, on_resync, on_error,
-- on_close, listen, handlers_wait and close.
function library.gate(service, ...)
  argument.nothing(2, "gate", 2, ...)
  local address = address_for("gate", service)
  return opened(open_there(service, address, "open_gate"))
end

--- Counters of the client library for that service, nil if it has none.
function library.info(service, ...)
  argument.nothing(2, "info", 2, ...)
  local client = client_of(address_of(service))
  return client and client:info()
end

--- Starts or opens a world over many services and processes: docs/world.md. Loaded at the first call, since thousands
-- of agents require this library and most do not use it.
function library.world(...)
  library.world = require "aoi.skynet.world"(function(address, name, heartbeat, on_gone)
    local client = new_client(address, name, on_gone)
    client.heartbeat = heartbeat / 2
    keep_beating(address, client)
    return client
  end)
  return library.world(...)
end

return library
