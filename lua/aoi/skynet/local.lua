-- A space in the caller's own service: the service's logic and the client's, side by side. What the one sends the other
-- has before the call that caused it returns.

local Client = require "aoi.skynet.client"
local Server = require "aoi.skynet.server"

local MANY = 0x7fffffff -- messages: nothing need be acknowledged

--- host: address of the service itself, as others know it; log(text), now() in seconds, fork(f), as of Client.new;
-- closed(): no map is open any more. Returns open(name, options), as Client:open, which makes a map each time; and the
-- client.
return function(host)
  local client, first, last = nil, 1, 0
  local messages = {}
  -- A server's `send` must not call back; a handler may wait, and what comes meanwhile be taken by others.
  local function deliver(...)
    while first <= last do
      local message = messages[first]
      messages[first], first = nil, first + 1
      client:receive(message)
    end
    return ...
  end
  local server = Server.new {
    now = host.now, log = host.log, window = MANY,
    send = function(_, message)
      last = last + 1
      messages[last] = message
      return true
    end,
  }
  local function send(message) return server:receive(host.address, message) end
  client = Client.new {
    send = send, log = host.log, now = host.now, fork = host.fork,
    call = function(...) return deliver(server:call(host.address, ...)) end,
  }
  return function(name, options)
    local map = client:open(name, options)
    local flush, forget = map.flush, map.forget
    function map.flush(...)
      local ok, err = pcall(flush, ...)
      if not ok then error(err, 2) end
      return deliver()
    end
    function map.forget(...)
      forget(...)
      if next(client.maps) == nil then host.closed() end
    end
    return map
  end, client
end
