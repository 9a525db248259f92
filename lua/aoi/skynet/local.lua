-- A space in the caller's own service: runs the logic of the service and of the client in one process. Messages are
-- delivered before the call that caused them returns.

local Client = require "aoi.skynet.client"
local Server = require "aoi.skynet.server"

local NO_WINDOW = 0x7fffffff -- messages without an acknowledgement

--- host: address of this service; log(text), now() in seconds, fork(f), as for Client.new; closed(): called when the
-- last map is closed. Returns open(name, options), which makes a map each time as Client:open does, and the client.
return function(host)
  local client, first, last = nil, 1, 0
  local messages = {}
  -- A server's `send` must not call back, so messages are queued. If a handler waits, another call delivers the rest.
  local function deliver(...)
    while first <= last do
      local message = messages[first]
      messages[first], first = nil, first + 1
      client:receive(message)
    end
    return ...
  end
  local server = Server.new {
    now = host.now, log = host.log, window = NO_WINDOW,
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
