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
local receivers = {} -- address of a service -> what its client takes events with

-- Messages stay as they are, a pointer and a length, until the client has read them.
local function as_it_is(message, size) return message, size end

local watched = false -- whether skynet calls our dispatch_message: not if it was started before this was loaded

local function settle(client, source, ok, reason)
  if not ok then client.warn("message", "aoi: bad message from %s: %s", skynet.address(source), reason) end
end

local ptype = protocol(function(_, source, message, size)
  local client = clients[source]
  if client then settle(client, source, client:receive(message, size)) end
end, as_it_is)

-- Events come more often than anything else and mostly find a handler or two: what skynet does for the coroutine of
-- each message costs more than to hear them. So one coroutine takes all of them, one by one, as long as no handler
-- waits in it; then another takes what comes. It is resumed as skynet does that, by the same functions, so that
-- handlers may call whatever they may call elsewhere. Where those are not found, or where skynet has been started
-- before, each message has a coroutine of its own.
local idle -- the coroutine that waits for the next message
local pcall, running, yield = pcall, coroutine.running, coroutine.yield

local function finish(client, source, message, size, left, ...)
  if left ~= true then settle(client, source, client:finish(message, size, left, ...)) end
end

local function listen(receive, client, source, message, size)
  local me = running()
  while true do
    finish(client, source, message, size, receive(message, size))
    if idle then return end
    idle = me
    receive, client, source, message, size = yield "SUSPEND"
  end
end

local function upvalues(f)
  local found, i = {}, 1
  repeat
    local name, value = debug.getupvalue(f, i)
    if name then found[name] = value end
    i = i + 1
  until not name
  return found
end

local function take_events(dispatch_message)
  local inner = upvalues(dispatch_message)
  local resume, suspend, forks = inner.coroutine_resume, inner.suspend, inner.fork_queue
  if not (resume and suspend and forks) then return dispatch_message end
  return function(kind, message, size, session, source)
    local receive = kind == ptype and receivers[source]
    if not receive then
      watched = true
      return dispatch_message(kind, message, size, session, source)
    end
    local client, co = clients[source], idle or coroutine.create(listen)
    idle = nil
    local ok, err = pcall(suspend, co, resume(co, receive, client, source, message, size))
    if not idle then skynet.fork(client.continue) end -- a handler waits, or has raised where none may
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them behind this
    if not ok then error(err, 0) end
  end
end

skynet.dispatch_message = take_events(skynet.dispatch_message)

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
    now = function() return skynet.now() / 100 end,
    fork = skynet.fork,
    text = skynet.tostring,
    watched = watched,
    name = function() return "the AOI service " .. skynet.address(address) end,
    gone = function()
      clients[address] = nil
      receivers[address] = nil
      words.cancel()
    end,
  }
  -- This service may be killed; then the AOI service is told by its last breath.
  local _, far = skynet.harbor(address)
  words = last_words(function()
    if not far then core.send(address, ptype, 0, wire.gone()) end
  end)
  clients[address] = client
  receivers[address] = client.receive_events
  return client
end

-- A local space has no service that ticks for it.
local function keep_ticking(space, interval)
  period.start(interval, function()
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
