-- The AOI service: skynet.newservice("aoi/skynet/service", "interval=10", ...). All its logic is in aoi.skynet.server.
--
--   interval     1/100 s between two ticks, as skynet.sleep counts; 0 = only clients that drive a space make ticks
--   window, max_message, heartbeat, silence: see aoi.skynet.server
--   viewer       a port: shows the spaces in a browser, http://127.0.0.1:PORT/?space=NAME (docs/viewer.md)

local skynet = require "skynet"
local Server = require "aoi.skynet.server"
local protocol = require "aoi.skynet.protocol"

local options = {
  send = function(address, message) return skynet.rawsend(address, "aoi", message) end,
  now = function() return skynet.now() / 100 end,
  clock = function() return skynet.hpc() / 1e9 end,
  log = skynet.error,
}
local interval = 10
local viewer_port

for _, word in ipairs { ... } do
  local name, value = word:match("^([%w_]+)=(%d+%.?%d*)$")
  if name == "interval" then
    interval = tonumber(value)
  elseif name == "window" or name == "max_message" or name == "heartbeat" or name == "silence" then
    options[name] = tonumber(value)
  elseif name == "viewer" then
    viewer_port = tonumber(value)
  else
    error(("aoi: unknown option '%s'"):format(word))
  end
end

local server = Server.new(options)
local linked = {}

-- Waits for the exit of a client. One that is killed is noticed by the next message to it.
local function link(address)
  if not linked[address] then
    linked[address] = true
    skynet.fork(function()
      pcall(skynet.call, address, "debug", "LINK")
      linked[address] = nil
      skynet.sleep(10) -- LINK returns before the service is gone
      server:probe(address)
    end)
  end
end

local function every(centiseconds, name)
  skynet.fork(function()
    while not server.closed do
      skynet.sleep(centiseconds)
      local ok, err = xpcall(server[name], debug.traceback, server)
      if not ok then skynet.error(err) end
    end
  end)
end

protocol(function(_, source, message)
  local ok, reason = server:receive(source, message)
  if not ok then skynet.error(("aoi: bad message from %s: %s"):format(skynet.address(source), reason)) end
end)

-- For the viewer: without a name the only space there is, or one of them.
local function find_space(name)
  local space
  if name then space = server.names[name] else space = select(2, next(server.names)) end
  return space and space.core
end

skynet.start(function()
  skynet.dispatch("lua", function(_, source, name, ...)
    if name == "shutdown" then
      server:shutdown()
      skynet.ret(skynet.pack(true))
      skynet.exit()
    end
    skynet.ret(skynet.pack(server:call(source, name, ...)))
    if name == "open" then link(source) end
  end)
  skynet.info_func(function() return server:info() end)
  if interval > 0 then every(interval, "tick") end
  if viewer_port then require("aoi.skynet.viewer_host").serve(find_space, { port = viewer_port }) end
  every(100, "probe_all")
end)
