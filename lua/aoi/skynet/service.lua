-- The AOI service: skynet.newservice("aoi/skynet/service", "interval=10", ...). All its logic is in aoi.skynet.server.
--
--   interval     1/100 s between two ticks, a fixed rate; 0 = only clients that drive a space make ticks
--   window, max_message, heartbeat, silence: see aoi.skynet.server
--   viewer       a port: shows the spaces in a browser, http://127.0.0.1:PORT/?space=NAME (docs/viewer.md)

local skynet = require "skynet"
local core = require "skynet.core"
local Remote = require "aoi.skynet.remote"
local Server = require "aoi.skynet.server"
local at_exit = require "aoi.skynet.at_exit"
local option_of = require "aoi.skynet.service_options"
local origin = require "aoi.skynet.origin"
local period = require "aoi.skynet.period"
local protocol = require "aoi.skynet.protocol"
local wire = require "aoi.skynet.wire"

local ptype
local remote = Remote.new()
local options = {
  send = function(address, message)
    if address > 0xffffffff then return remote:send(address, message) end -- behind a relay
    return core.send(address, ptype, 0, message)
  end,
  now = function() return skynet.now() / 100 end,
  clock = function() return skynet.hpc() / 1e9 end,
  log = skynet.error,
  queue = skynet.mqlen,
  text = skynet.tostring,
  remote = function(address)
    if Remote.has(address) then return false end
    local _, far = skynet.harbor(address)
    return far
  end,
}
local interval = 10
local viewer_port

for _, word in ipairs { ... } do
  local name, text = word:match("^([^=]*)=(.*)$")
  local value, wrong = option_of.check(name or word, text)
  if not value then error("aoi: " .. wrong, 0) end
  if name == "interval" then
    interval = value
  elseif name == "viewer" then
    viewer_port = value
  else
    options[name] = value
  end
end

local server = Server.new(options)
remote.server, remote.heartbeat = server, server.heartbeat

local function guarded(name)
  return function()
    if server.closed then return false end
    local ok, err = xpcall(server[name], debug.traceback, server)
    if not ok then skynet.error(err) end
  end
end

local function late(skipped)
  server.counters.late = server.counters.late + 1
  server.counters.skipped = server.counters.skipped + skipped
end

local function receive(_, source, message, size)
  local ok, reason = server:receive(source, message, size)
  if not ok then server.warn("message", "aoi: bad message from %s: %s", skynet.address(source), reason) end
end

ptype = protocol(receive)

-- Moves are the most frequent messages and need no coroutine: they are processed before skynet makes one. A timer's
-- message is queued behind any number of others: so an overdue tick is made between two messages.
local function take_messages(ticks)
  local dispatch, taken = skynet.dispatch_message, 0
  core.callback(function(kind, message, size, session, source)
    if kind == ptype then
      receive(session, source, message, size)
      taken = taken + 1
      if taken % 64 == 0 and ticks and skynet.now() >= ticks.due + ticks.interval then ticks:step() end
    else
      dispatch(kind, message, size, session, source)
    end
  end)
end

skynet.start(function()
  skynet.dispatch("lua", function(_, source, name, ...)
    if remote:command(name, ...) then return end
    local fault = (name == "open" or name == "gate") and origin.fault(source, (select(3, ...)))
    if fault then
      skynet.ret(skynet.pack(false, fault))
    elseif name == "shutdown" then
      server:shutdown()
      skynet.sleep(0) -- sends the last pieces to relays
      remote:close()
      skynet.ret(skynet.pack(true))
      skynet.exit()
    elseif name == "subscriber" then
      skynet.ret(skynet.pack(server:subscriber_info(...)))
    else
      skynet.ret(skynet.pack(server:call(source, name, ...)))
    end
  end)
  skynet.info_func(function() return server:info() end)
  if viewer_port then
    require("aoi.skynet.viewer_host").serve(function(name) return server:find_core(name) end, { port = viewer_port })
  end
  local ticks = interval > 0 and period.start(interval, guarded "tick", late)
  period.start(100, guarded "probe_all")
  period.start(50, function()
    if server.closed then return false end
    remote:beat()
  end)
  take_messages(ticks)
  -- If this service is killed, a finalizer sends BYE to its clients.
  at_exit(function()
    if server.closed then return end
    for address, subscriber in pairs(server.subscribers) do
      if not subscriber.remote and not Remote.has(address) then core.send(address, ptype, 0, wire.bye(0)) end
    end
    remote:close()
  end)
end)
